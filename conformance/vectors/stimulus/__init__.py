"""Operands of one's own: files, distributions, levels and models, mixed by share."""
