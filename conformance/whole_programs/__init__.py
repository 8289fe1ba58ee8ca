"""Whole programs: compare, validate, reduce and generate them."""
