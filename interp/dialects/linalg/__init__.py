"""The linalg dialect."""
