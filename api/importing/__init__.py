"""Make modules of programs in other languages: JAX functions, ONNX models, StableHLO, and kernels of Triton."""
