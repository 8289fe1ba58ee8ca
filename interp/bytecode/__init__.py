"""MLIR bytecode: `reader` and `writer`, with the tables of `codes` and the layouts of properties in `numbering`."""
