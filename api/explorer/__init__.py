"""The page of ``halfulp formats --explore``: one HTML file that shows any rounding, without a server or a network."""
