"""Values and buffers at run time, and their text."""
