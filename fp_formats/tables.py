"""Lookup tables of whole operations on narrow formats, each made by `exact` when first needed, then kept."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from halfulp.fp_formats import exact
from halfulp.fp_formats.formats import FloatFormat
from halfulp.fp_formats.policy import FloatPolicy

EXACT_OPERATIONS = ("maximum", "minimum", "maximum_number", "minimum_number")
CHUNK = 1 << 16  # elements: the indices of one chunk stay in the second-level cache


class Table(NamedTuple):
    """Result codes by operand code, or by the first operand's code * 2**bits + the second's; and which are poison."""

    codes: npt.NDArray[Any]
    poison: npt.NDArray[np.bool_] | None


@lru_cache(maxsize=256)
def pairs(operation: str, fmt: FloatFormat, rounding: int, policy: FloatPolicy) -> Table:
    """The table of a binary operation of `exact` on a format of up to 8 bits: at most 64 KiB of codes."""
    every = np.arange(1 << fmt.bits, dtype=fmt.storage_dtype)
    a, b = np.repeat(every, every.size), np.tile(every, every.size)
    modes = () if operation in EXACT_OPERATIONS else (rounding,)
    result = getattr(exact, operation)(fmt, a, b, *modes, policy)
    return Table(result.codes, result.poison)


@lru_cache(maxsize=64)
def conversions(src: FloatFormat, dst: FloatFormat, rounding: int, policy: FloatPolicy) -> Table:
    """The table of a conversion from a format of up to 16 bits to one of up to 64."""
    result = exact.convert(src, dst, np.arange(1 << src.bits, dtype=src.storage_dtype), rounding, policy)
    return Table(result.codes, result.poison)


def look_up(table: Table, shape: tuple[int, ...], bits: int, *operands: npt.NDArray[Any]) -> exact.Result:
    """Results for operands of a format of that many bits, broadcast to the shape."""
    flat = [np.broadcast_to(codes, shape).reshape(-1) for codes in operands]
    size = flat[0].size
    codes = np.empty(size, table.codes.dtype)
    poison = None if table.poison is None else np.empty(size, np.bool_)
    index = np.empty(min(size, CHUNK), np.intp)
    for start in range(0, size, CHUNK):
        part = slice(start, start + CHUNK)
        where = index[: len(flat[0][part])]
        where[:] = flat[0][part]
        for operand in flat[1:]:
            where <<= bits
            where |= operand[part]
        np.take(table.codes, where, out=codes[part], mode="wrap")
        if poison is not None and table.poison is not None:
            np.take(table.poison, where, out=poison[part], mode="wrap")
    mask = None if poison is None or not poison.any() else poison.reshape(shape)
    return exact.Result(codes.reshape(shape), mask)
