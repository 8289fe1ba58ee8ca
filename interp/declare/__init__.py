"""Declarations of ops, of their types and of their constraints."""
