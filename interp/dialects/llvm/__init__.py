"""The llvm dialect, as far as MLIR's standard pipelines produce it."""
