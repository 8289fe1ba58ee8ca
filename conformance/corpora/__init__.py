"""Corpora of modules and what real tools answered, recorded; used by the tests, left out of the wheel."""
