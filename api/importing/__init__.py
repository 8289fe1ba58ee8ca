"""Make modules of programs in other languages: JAX functions, ONNX models and StableHLO, lowered by IREE to linalg."""
