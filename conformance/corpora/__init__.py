"""Corpora of modules, and the recorded answers of real tools. Only tests use them; the wheel leaves them out."""
