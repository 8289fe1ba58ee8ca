"""Structured ops, of whatever dialect: their iteration space, and the evaluation of their bodies on whole arrays."""
