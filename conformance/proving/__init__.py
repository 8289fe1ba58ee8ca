"""Prove by a solver that a second version of a function does what the first allows, on every input."""
