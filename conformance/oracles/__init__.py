"""Other implementations of the same arithmetic, called to compare with."""
