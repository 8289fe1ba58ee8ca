"""The cf dialect."""
