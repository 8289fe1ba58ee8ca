"""halfulp measured beside its peers: ``python -m benchmarks``, from the root of the tree. It is never installed."""
