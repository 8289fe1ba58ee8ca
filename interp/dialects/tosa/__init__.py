"""The dialect tosa, as MLIR has it and as its specification computes."""
