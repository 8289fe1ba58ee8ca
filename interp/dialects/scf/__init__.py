"""The scf dialect."""
