"""How ops, their types and their constraints are declared."""
