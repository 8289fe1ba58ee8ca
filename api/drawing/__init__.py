"""Figures, axes and coordinates of pictures, and the pictures of formats. This folder imports no other
folder of `api`.
"""
