"""The implementations that are measured, each behind one interface."""
