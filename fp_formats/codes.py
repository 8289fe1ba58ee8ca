"""Store element codes in arrays: the dtype and the limbs that a width needs, and the way to and from Python integers.

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
    """Return the dtype of codes of ``width`` bits; above 64 bits it is the dtype of one limb."""
    for bits, dtype in _STORAGE:
        if width <= bits:
            return dtype
    return _LIMB


def limb_count(width: int) -> int:
    """Return the count of `storage_dtype` numbers in one code: 1 up to 64 bits, then one for each 64 bits or part of
    them.
    """
    return max(1, -(-width // LIMB_BITS))


def code_shape(shape: tuple[int, ...], width: int) -> tuple[int, ...]:
    """Return the array shape of codes whose element shape is ``shape``: above 64 bits a limb axis is appended."""
    return (*shape, limb_count(width)) if width > LIMB_BITS else shape


def element_shape(codes: Codes, width: int) -> tuple[int, ...]:
    """Return the element shape of an array of codes: its shape without the limb axis."""
    return codes.shape[:-1] if width > LIMB_BITS else codes.shape


def signed_integers(codes: Codes, width: int) -> npt.NDArray[np.int64]:
    """Return codes of signed integers of 0 to 64 bits as numbers."""
    if not width:
        return np.zeros(codes.shape, np.int64)
    spare = np.int64(LIMB_BITS - width)
    return np.asarray((codes.astype(np.uint64).view(np.int64) << spare) >> spare)


def limbs_to_ints(limbs: Codes) -> list[int]:
    """Convert an array with a trailing limb axis to Python integers, flat, in row-major order."""
    size = limbs.shape[-1] * 8
    data = np.ascontiguousarray(limbs, dtype="<u8").tobytes()
    return [int.from_bytes(data[start : start + size], "little") for start in range(0, len(data), size)]


def codes_to_ints(codes: Codes, width: int) -> list[int]:
    """Convert an array of codes of any width to Python integers, flat, in row-major order."""
    ints: list[int] = limbs_to_ints(codes) if width > LIMB_BITS else codes.ravel().tolist()
    return ints


def ints_to_codes(ints: Sequence[int], width: int, shape: tuple[int, ...]) -> Codes:
    """Make an array of codes with element shape ``shape`` from integers in row-major order, each in 0 .. 2**width -
    1.
    """
    if width <= LIMB_BITS:
        return np.array(ints, dtype=storage_dtype(width)).reshape(shape)
    size = limb_count(width) * 8
    data = b"".join([code.to_bytes(size, "little") for code in ints])
    return np.frombuffer(data, dtype="<u8").astype(_LIMB).reshape(code_shape(shape, width))
