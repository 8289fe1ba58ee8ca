"""IREE's codegen dialect."""
