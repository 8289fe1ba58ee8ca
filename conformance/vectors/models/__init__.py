"""FPgen's coverage models by family, and the table of them all."""
