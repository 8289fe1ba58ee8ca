"""The StableHLO dialect."""
