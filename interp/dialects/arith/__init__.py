"""The arith dialect."""
