"""Every op against every oracle, and the report on it."""
