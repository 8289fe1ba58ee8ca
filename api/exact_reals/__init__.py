"""Functions of exact real numbers, rounded once: `round`, and `round_rows` for functions of whole rows."""
