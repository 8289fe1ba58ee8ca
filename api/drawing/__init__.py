"""Figures, axes and coordinates of pictures, and the pictures of formats. It knows no other room."""
