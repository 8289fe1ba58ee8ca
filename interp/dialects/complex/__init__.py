"""The complex dialect."""
