"""One file per dialect; each op is one declaration."""
