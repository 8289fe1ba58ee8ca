"""MLIR in, values out: the IR, its text form, the dialects and the executor."""
