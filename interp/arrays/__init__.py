"""Files of arrays: .npy, .npz and .safetensors. The arrays of a file that stores them as they are, are views of it."""
