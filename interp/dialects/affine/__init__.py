"""The affine dialect."""
