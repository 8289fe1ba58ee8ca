"""Storage of element codes: which dtype and how many limbs a width needs, and the way to and from Python integers.

A code is the raw bit pattern of an element, unsigned. Up to 64 bits it lives in the smallest of uint8/16/32/64 that
holds it (width 0 in uint8, always zero); wider codes have one more trailing axis of uint64 limbs, least significant
first. Bits above the width are zero.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

Codes = npt.NDArray[Any]
"""Raw bit patterns of elements: unsigned integers of `storage_dtype`, with a trailing axis of limbs above 64 bits."""
Mask = npt.NDArray[np.bool_]
"""One truth value for each element."""

LIMB_BITS = 64

_STORAGE = tuple((bits, np.dtype(f"uint{bits}")) for bits in (8, 16, 32))
_LIMB = np.dtype(np.uint64)


def storage_dtype(width: int) -> np.dtype[Any]:
    """The dtype of codes of ``width`` bits; for more than 64 bits that of one limb."""
    for bits, dtype in _STORAGE:
        if width <= bits:
            return dtype
    return _LIMB


def limb_count(width: int) -> int:
    """How many numbers of `storage_dtype` one code takes: 1 up to 64 bits, then one per 64 bits begun."""
    return max(1, -(-width // LIMB_BITS))


def code_shape(shape: tuple[int, ...], width: int) -> tuple[int, ...]:
    """The array shape of codes whose element shape is ``shape``: a limb axis is appended above 64 bits."""
    return (*shape, limb_count(width)) if width > LIMB_BITS else shape


def element_shape(codes: Codes, width: int) -> tuple[int, ...]:
    """The element shape of an array of codes: its shape without the limb axis."""
    return codes.shape[:-1] if width > LIMB_BITS else codes.shape


def limbs_to_ints(limbs: Codes) -> list[int]:
    """The codes of an array with a trailing limb axis as Python integers, flat, in row-major order."""
    size = limbs.shape[-1] * 8
    data = np.ascontiguousarray(limbs, dtype="<u8").tobytes()
    return [int.from_bytes(data[start : start + size], "little") for start in range(0, len(data), size)]


def codes_to_ints(codes: Codes, width: int) -> list[int]:
    """The codes of an array of any width as Python integers, flat, in row-major order."""
    ints: list[int] = limbs_to_ints(codes) if width > LIMB_BITS else codes.ravel().tolist()
    return ints


def ints_to_codes(ints: Sequence[int], width: int, shape: tuple[int, ...]) -> Codes:
    """A new array of codes with element shape ``shape`` from codes in row-major order, each in 0 .. 2**width - 1."""
    if width <= LIMB_BITS:
        return np.array(ints, dtype=storage_dtype(width)).reshape(shape)
    size = limb_count(width) * 8
    data = b"".join([code.to_bytes(size, "little") for code in ints])
    return np.frombuffer(data, dtype="<u8").astype(_LIMB).reshape(code_shape(shape, width))
