"""MLIR text: reading it and printing it."""
