"""Figures, axes and coordinates of pictures, and the pictures of formats. It imports no other folder of `api`."""
