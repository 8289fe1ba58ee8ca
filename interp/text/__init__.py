"""The text form of MLIR: its parser and its printer."""
