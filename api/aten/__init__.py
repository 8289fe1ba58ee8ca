"""The ops of PyTorch beside exact results: the table of ops that are judged, and the mode that judges a program."""
