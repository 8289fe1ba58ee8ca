"""halfulp runs MLIR numerics bit for bit: MLIR in, exact values out."""
