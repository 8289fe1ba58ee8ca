"""The bufferization dialect."""
