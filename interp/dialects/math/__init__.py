"""The math dialect, and the functions that it lacks."""
