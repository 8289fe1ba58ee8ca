"""Answers to questions about formats and errors: spacing, errors of rounding, comparison of formats, scales."""
