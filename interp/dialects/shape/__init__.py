"""The shape dialect."""
