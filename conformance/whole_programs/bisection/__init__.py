"""Stages of a compilation: read them, run each on the same inputs, and name the pass that changed the results."""
