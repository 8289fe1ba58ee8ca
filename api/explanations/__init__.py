"""Explanations of single results: one rounding, one op, one dot product."""
