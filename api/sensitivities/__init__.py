"""Rank the ops of a program by the effect of their formats on the results: run copies with one change at a time."""
