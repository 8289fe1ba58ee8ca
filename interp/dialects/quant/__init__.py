"""The quant dialect."""
