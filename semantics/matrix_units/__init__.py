"""Tile operations D = A * B + C, as exact sums and as the matrix units of real chips."""
