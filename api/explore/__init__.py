"""The page of ``halfulp explore``: one file of HTML that shows any rounding, without a server or a network."""
