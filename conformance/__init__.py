"""The proof that halfulp is right: comparison with other implementations."""
