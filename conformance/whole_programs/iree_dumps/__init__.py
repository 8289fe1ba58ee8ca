"""Make plain functions of what IREE's compiler prints: its programs, and its dispatches."""
