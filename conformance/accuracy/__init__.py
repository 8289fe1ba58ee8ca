"""How wrong another implementation is: its results against the correctly rounded and the exact ones."""
