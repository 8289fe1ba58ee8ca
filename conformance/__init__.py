"""The proof: comparison with other implementations."""
