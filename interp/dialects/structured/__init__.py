"""Structured ops of all dialects: their iteration space, and the evaluation of their bodies on whole arrays."""
