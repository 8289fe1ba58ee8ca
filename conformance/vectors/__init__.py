"""Golden vectors: their inputs, columns and files, and the metadata beside them."""
