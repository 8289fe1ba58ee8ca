"""Traces: every op of a run with its values, as text, HTML and files."""
