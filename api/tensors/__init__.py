"""Files of named tensors: safetensors, gguf, npz, files of torch, and columns of arrow and parquet."""
