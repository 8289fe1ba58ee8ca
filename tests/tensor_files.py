"""Files of gguf, built by hand."""

import struct

import numpy as np

Q8 = np.array([0.5], np.float16).tobytes() + bytes(range(32))
"""A block of Q8_0: the scale 0.5, and the integers from 0 on."""


def text(given: str) -> bytes:
    """Return a string of gguf."""
    return struct.pack("<Q", len(given)) + given.encode()


def gguf(*tensors: tuple[str, tuple[int, ...], int, bytes], metadata: bytes = b"", pairs: int = 0) -> bytes:
    """Return a file of gguf. A tensor: its name, its shape with the last dimension first, its type and its data."""
    rows, data = b"", b""
    for name, shape, type_, held in tensors:
        rows += text(name) + struct.pack(f"<I{len(shape)}QIQ", len(shape), *shape, type_, len(data))
        data += held + bytes(-len(held) % 32)
    head = b"GGUF" + struct.pack("<IQQ", 3, len(tensors), pairs) + metadata + rows
    return head + bytes(-len(head) % 32) + data
