"""Golden vectors in Python: make them, and check the results of a device."""
