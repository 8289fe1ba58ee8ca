"""Operands of the user's own: files, distributions, levels and models, mixed by shares."""
