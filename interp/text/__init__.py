"""MLIR text: lexer, parser, printer and declarative assembly formats."""
