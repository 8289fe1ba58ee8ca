"""Golden vectors: their inputs, their columns and files, and what is written beside them."""
