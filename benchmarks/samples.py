"""The operands of measurements, the same in every run, and the dtypes and peers for float types."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

import halfulp as hu
from halfulp.fp_formats.formats import FORMATS


@lru_cache
def dtype_of(name: str) -> np.dtype[Any]:
    """Return the dtype of NumPy or ml_dtypes for a float type."""
    dtype: np.dtype[Any] = hu.convert(np.ones(1, np.float32), name).numpy().dtype
    return dtype


def peer_of(*names: str) -> str:
    return "NumPy" if set(names) <= {"f16", "f32", "f64"} else "ml_dtypes"


def random(seed: int) -> np.random.Generator:
    return np.random.Generator(np.random.Philox(seed))


def sample(name: str, count: int) -> Any:
    """Return a sample of a normal distribution; for formats of up to 8 bits, all codes equally often."""
    fmt = FORMATS[name]
    if fmt.bits <= 8:
        return random(2).integers(0, 1 << fmt.bits, count, np.uint8).view(dtype_of(name))
    return random(2).standard_normal(count).astype(dtype_of(name))


def positive(name: str, count: int) -> tuple[Any, Any]:
    """Return two operands between 1/2 and 2: ten ops on them neither overflow nor underflow."""
    numbers = random(1)
    x, y = (numbers.uniform(0.5, 2, count).astype(dtype_of(name)) for _ in range(2))
    return x, y
