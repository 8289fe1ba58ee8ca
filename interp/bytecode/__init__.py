"""MLIR bytecode: `reader` and `writer`, on the tables of `codes` and the layouts of `properties`."""
