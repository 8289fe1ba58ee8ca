"""The builtin dialect."""
