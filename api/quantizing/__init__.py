"""Quantise arrays: by a scale per tensor, channel or block of MLIR's quant types, and by recipes of block scaling."""
