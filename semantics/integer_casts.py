"""Conversions between integer types: what a number becomes that the target does not have."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Literal

import numpy as np
import numpy.typing as npt

from halfulp.fp_formats.codes import (
    Codes,
    Mask,
    codes_to_ints,
    element_shape,
    ints_to_codes,
    signed_integers,
    storage_dtype,
)
from halfulp.semantics.kernel import Kernel, Outcome, Scalar, faults_of, poison

Overflow = Literal["wrap", "saturate", "poison"]
OVERFLOWS: Sequence[Overflow] = ("wrap", "saturate", "poison")
"""A number out of range modulo 2**width, the nearest number of the type, or poison."""


def limits(width: int, signed: bool) -> tuple[int, int]:
    """Return the smallest and the largest integer of a type."""
    return (-(1 << width >> 1), (1 << width >> 1) - 1) if signed and width else (0, (1 << width) - 1)


@lru_cache(maxsize=4096)
def convert(source: int, source_signed: bool, target: int, target_signed: bool, overflow: Overflow) -> Kernel:
    """Return the kernel that converts integers of ``source`` bits to ``target`` bits."""
    low, high = limits(target, target_signed)
    least, most = limits(source, source_signed)
    mask = (1 << target) - 1
    lost = poison(f"a value outside the range of {'a signed' if target_signed else 'an unsigned'} i{target}")

    def number_of(code: int) -> int:
        return code - (1 << source) if source_signed and source and code >> (source - 1) else code

    def scalar_implementation(code: int) -> Scalar:
        number = number_of(code)
        if not low <= number <= high and overflow == "poison":
            return lost
        return (min(max(number, low), high) if overflow == "saturate" else number) & mask

    def array_implementation(codes: Codes) -> Outcome:
        wide = source > 64 or target > 64
        below, above = (_outside_wide if wide else _outside)(codes, source, source_signed, low, high)
        if wide:
            numbers = [number_of(code) & mask for code in codes_to_ints(codes, source)]
            result = ints_to_codes(numbers, target, element_shape(codes, source))
        else:
            words = _extended(codes, source, source_signed) & np.uint64(mask)
            result = np.asarray(words, storage_dtype(target))
        if overflow == "saturate":
            for wrong, end in ((below, low), (above, high)):
                if wrong.any():
                    result[wrong] = ints_to_codes([end & mask], target, (1,))[0]
        if overflow != "poison":
            return Outcome((result,))
        result[below | above] = 0
        return Outcome((result,), faults_of([(lost, below | above)]))

    always_fits = low <= least and most <= high
    return Kernel(
        scalar_implementation, array_implementation, faults=() if always_fits or overflow != "poison" else (lost,)
    )


def outside(
    codes: Codes, source: int, source_signed: bool, target: int, target_signed: bool
) -> tuple[tuple[int, ...], int] | None:
    """Return the place and the number of the first element that the target does not have; None if it has all."""
    ends = limits(target, target_signed)
    find = _outside_wide if source > 64 or target > 64 else _outside
    below, above = find(codes, source, source_signed, *ends)
    places = np.argwhere(below | above)
    if not len(places):
        return None
    place = tuple(int(k) for k in places[0])
    code = codes_to_ints(codes[place][np.newaxis], source)[0]
    return place, code - (1 << source) if source_signed and code >> (source - 1) else code


def _extended(codes: Codes, width: int, signed: bool) -> npt.NDArray[np.uint64]:
    """Return codes of up to 64 bits, extended to 64 bits by sign or by zeros."""
    return signed_integers(codes, width).view(np.uint64) if signed else np.array(codes, np.uint64)


def _outside(codes: Codes, width: int, signed: bool, low: int, high: int) -> tuple[Mask, Mask]:
    """Return which elements are less than ``low``, and which are more than ``high``; all of up to 64 bits."""
    words = _extended(codes, width, signed)
    if not signed:
        return np.zeros(words.shape, np.bool_), np.asarray(words > np.uint64(high))
    numbers = words.view(np.int64)
    below = np.asarray(numbers < np.int64(low))
    return below, np.asarray((numbers >= 0) & (words > np.uint64(high)))


def _outside_wide(codes: Codes, width: int, signed: bool, low: int, high: int) -> tuple[Mask, Mask]:
    half = 1 << width >> 1
    numbers = [code - (half << 1) if signed and code & half else code for code in codes_to_ints(codes, width)]
    shape = element_shape(codes, width)
    ends = ([number < low for number in numbers], [number > high for number in numbers])
    below, above = (np.array(end, np.bool_).reshape(shape) for end in ends)
    return below, above
