"""Running functions: the executor, batches, events."""
