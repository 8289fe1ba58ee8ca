"""The smt dialect."""
