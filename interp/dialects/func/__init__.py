"""The func dialect."""
