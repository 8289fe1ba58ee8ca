"""The index dialect."""
