"""Convert the programs and dispatches that IREE's compiler prints to functions without IREE's own ops."""
