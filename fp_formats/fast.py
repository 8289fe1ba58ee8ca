"""The operations of `exact`, with the same signatures and results, by quicker paths where one is proven.

A path is taken only inside its domain, which `path_of` and `conversion_path` declare and the tests enumerate against
`exact`. Native paths never trust NumPy's NaNs: results are searched for NaNs, and those elements computed by `exact`.
All paths go through their operands in chunks, so that nothing of their size is made but the result.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from halfulp.fp_formats import exact
from halfulp.fp_formats.exact import Codes, Random, Result
from halfulp.fp_formats.fast_conversions import (
    F32,
    NATIVE,
    SUMS,
    conversion_path,
    convert,
    cpu_keeps_subnormals,
    dtype_of,
    from_integer,
    narrow,
    to_integer,
)
from halfulp.fp_formats.formats import FORMATS, FloatFormat
from halfulp.fp_formats.policy import SPEC, FloatPolicy
from halfulp.fp_formats.scalar import RNE, STOCHASTIC
from halfulp.fp_formats.tables import CHUNK, LONG_CHUNK, Mask, by_pairs, by_table, common_shape, in_chunks, table_of

__all__ = [
    "add",
    "compare",
    "conversion_path",
    "convert",
    "divide",
    "flush",
    "from_integer",
    "maximum",
    "maximum_number",
    "minimum",
    "minimum_number",
    "multiply",
    "negate",
    "path_of",
    "remainder",
    "subtract",
    "to_integer",
]

THROUGH_F32 = (FORMATS["bf16"], FORMATS["f16"])

_ARITHMETIC: dict[str, Callable[..., Any]] = {
    "add": np.add,
    "subtract": np.subtract,
    "multiply": np.multiply,
    "divide": np.divide,
}
_EXTREMA: dict[str, tuple[Callable[..., Any], Callable[..., Any]]] = {
    # The operation, and what it does to the bits of equal operands, which are zeros where they differ.
    "maximum": (np.maximum, np.bitwise_and),
    "minimum": (np.minimum, np.bitwise_or),
    "maximum_number": (np.maximum, np.bitwise_and),
    "minimum_number": (np.minimum, np.bitwise_or),
}


@lru_cache(maxsize=4096)
def path_of(operation: str, fmt: FloatFormat, rounding: int = RNE, policy: FloatPolicy = SPEC) -> str | None:
    """The quicker path of an operation of `exact` on a format, or None; for conversions see `conversion_path`.

    native: NumPy's arithmetic of that format, to nearest even; NaN results, and the sign of zero in minimum and
    maximum, apart.
    through_f32: the same in f32, rounded again to nearest even, which for bf16 and f16 equals rounding once.
    table: a table of all operands, or all pairs, in any mode and policy.
    bits: integer operations on codes; comparisons of bf16 and f16 take place in f32.
    No path gives flags or rounds stochastically.
    """
    if operation == "negate" and fmt.signed and fmt.has_negative_zero and fmt.limbs == 1:
        return "bits"
    if operation in ("negate", "flush"):
        return "table" if fmt.bits <= 16 else None
    if fmt.bits <= 8 and rounding != STOCHASTIC:
        return "table"
    if policy.denormals != "ieee" or not cpu_keeps_subnormals():
        return None
    if operation in _ARITHMETIC and rounding == RNE:
        return "native" if fmt in NATIVE else "through_f32" if fmt in THROUGH_F32 else None
    if operation in _EXTREMA and policy.extrema != "value":
        return None
    if operation in _EXTREMA or operation == "compare":
        return "native" if fmt in NATIVE else "bits" if fmt in THROUGH_F32 else None
    return None


def _arithmetic(
    operation: str,
    fmt: FloatFormat,
    a: Codes,
    b: Codes,
    rounding: int,
    policy: FloatPolicy,
    random: Random,
    want_flags: bool,
) -> Result:
    def exactly(x: Codes, y: Codes) -> Result:
        result: Result = getattr(exact, operation)(fmt, x, y, rounding, policy, random, want_flags)
        return result

    path = None if want_flags else path_of(operation, fmt, int(rounding), policy)
    if path == "table":
        key = (operation, fmt, int(rounding), policy)
        return by_pairs(key, fmt.bits, exactly, a, b) or exactly(a, b)
    if path is None:
        return exactly(a, b)
    shape = common_shape(a, b)
    floats = _native if path == "native" else _through_f32
    compute = floats(_ARITHMETIC[operation], fmt, math.prod(shape))

    def work(out: Codes, x: Codes, y: Codes) -> Mask | None:
        result = compute(out, x, y)
        if np.isnan(np.maximum.reduce(result)):
            index = np.flatnonzero(np.isnan(result))
            out[index] = exactly(x[index], y[index]).codes
        return None

    with np.errstate(all="ignore"):
        return in_chunks(shape, fmt.storage_dtype, work, a, b, longest=LONG_CHUNK if path == "native" else CHUNK)


def _native(ufunc: Callable[..., Any], fmt: FloatFormat, elements: int) -> Callable[..., npt.NDArray[Any]]:
    """How to fill an array with the codes of results, which are returned as floats."""
    dtype = NATIVE[fmt]

    def compute(out: Codes, x: Codes, y: Codes) -> npt.NDArray[Any]:
        result = out.view(dtype)
        ufunc(x.view(dtype), y.view(dtype), out=result)
        return result

    return compute


def _through_f32(ufunc: Callable[..., Any], fmt: FloatFormat, elements: int) -> Callable[..., npt.NDArray[Any]]:
    """The same in f32; the results that are returned are those before the second rounding."""
    dtype = dtype_of(fmt)
    first, second = np.empty((2, min(elements, CHUNK)), np.float32)
    index = np.empty(first.size, np.intp)
    # NumPy widens f16 slower than a table does.
    table = fmt.name == "f16" and table_of(("f32", fmt), 16, lambda x: exact.convert(fmt, F32, x), elements)

    def widen(codes: Codes, out: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
        if table:
            index[: codes.size] = codes
            np.take(table.codes, index[: codes.size], out=out.view(np.uint32), mode="wrap")
        else:
            out[...] = codes.view(dtype)
        return out

    def compute(out: Codes, x: Codes, y: Codes) -> npt.NDArray[Any]:
        p, q = widen(x, first[: x.size]), widen(y, second[: y.size])
        ufunc(p, q, out=p)
        if (F32.name, fmt.name) in SUMS:
            narrow(F32, fmt, p.view(np.uint32), out)
        else:
            np.copyto(out.view(dtype), p, casting="unsafe")
        return p

    return compute


def add(
    fmt: FloatFormat,
    a: Codes,
    b: Codes,
    rounding: int = RNE,
    policy: FloatPolicy = SPEC,
    random: Random = None,
    want_flags: bool = False,
) -> Result:
    """See `exact.add`."""
    return _arithmetic("add", fmt, a, b, rounding, policy, random, want_flags)


def subtract(
    fmt: FloatFormat,
    a: Codes,
    b: Codes,
    rounding: int = RNE,
    policy: FloatPolicy = SPEC,
    random: Random = None,
    want_flags: bool = False,
) -> Result:
    """See `exact.subtract`."""
    return _arithmetic("subtract", fmt, a, b, rounding, policy, random, want_flags)


def multiply(
    fmt: FloatFormat,
    a: Codes,
    b: Codes,
    rounding: int = RNE,
    policy: FloatPolicy = SPEC,
    random: Random = None,
    want_flags: bool = False,
) -> Result:
    """See `exact.multiply`."""
    return _arithmetic("multiply", fmt, a, b, rounding, policy, random, want_flags)


def divide(
    fmt: FloatFormat,
    a: Codes,
    b: Codes,
    rounding: int = RNE,
    policy: FloatPolicy = SPEC,
    random: Random = None,
    want_flags: bool = False,
) -> Result:
    """See `exact.divide`."""
    return _arithmetic("divide", fmt, a, b, rounding, policy, random, want_flags)


def remainder(
    fmt: FloatFormat,
    a: Codes,
    b: Codes,
    rounding: int = RNE,
    policy: FloatPolicy = SPEC,
    random: Random = None,
    want_flags: bool = False,
) -> Result:
    """See `exact.remainder`."""
    return _arithmetic("remainder", fmt, a, b, rounding, policy, random, want_flags)


def negate(fmt: FloatFormat, a: Codes, policy: FloatPolicy = SPEC, want_flags: bool = False) -> Result:
    """See `exact.negate`."""
    path = None if want_flags else path_of("negate", fmt, RNE, policy)
    if path == "bits":
        return Result(np.asarray(np.bitwise_xor(a, fmt.storage_dtype.type(fmt.sign_mask or 0))))
    return _unary("negate", fmt, a, policy, want_flags)


def flush(fmt: FloatFormat, a: Codes, policy: FloatPolicy = SPEC, want_flags: bool = False) -> Result:
    """See `exact.flush`."""
    return _unary("flush", fmt, a, policy, want_flags)


def _unary(operation: str, fmt: FloatFormat, a: Codes, policy: FloatPolicy, want_flags: bool) -> Result:
    def exactly(x: Codes) -> Result:
        result: Result = getattr(exact, operation)(fmt, x, policy, want_flags)
        return result

    if want_flags or path_of(operation, fmt, RNE, policy) is None:
        return exactly(a)
    return by_table((operation, fmt, policy), fmt.bits, exactly, a) or exactly(a)


def _extremum(operation: str, fmt: FloatFormat, a: Codes, b: Codes, policy: FloatPolicy, want_flags: bool) -> Result:
    def exactly(x: Codes, y: Codes) -> Result:
        result: Result = getattr(exact, operation)(fmt, x, y, policy, want_flags)
        return result

    path = None if want_flags else path_of(operation, fmt, RNE, policy)
    if path is None:
        return exactly(a, b)
    if path == "table":
        return by_pairs((operation, fmt, policy), fmt.bits, exactly, a, b) or exactly(a, b)
    choose, of_equals = _EXTREMA[operation]
    infinity = fmt.infinity_code or 0

    def native(out: Codes, p: Codes, q: Codes) -> Mask | None:
        x, y, floats = p.view(dtype), q.view(dtype), out.view(dtype)
        choose(x, y, out=floats)
        if np.absolute(floats).min() > 0:  # neither zero nor NaN
            return None
        nan = np.isnan(floats)
        np.copyto(out, of_equals(p, q), where=x == y)
        if nan.any():
            index = np.flatnonzero(nan)
            out[index] = exactly(p[index], q[index]).codes
        return None

    def bits(out: Codes, p: Codes, q: Codes) -> Mask | None:
        x, y = _keys(p), _keys(q)
        out[...] = _keys(choose(x, y).view(np.uint16)).view(np.uint16)
        if max(x.max(), y.max()) > infinity or min(x.min(), y.min()) < ~infinity:
            index = np.flatnonzero((np.maximum(x, y) > infinity) | (np.minimum(x, y) < ~infinity))
            out[index] = exactly(p[index], q[index]).codes
        return None

    dtype = dtype_of(fmt)
    with np.errstate(all="ignore"):
        shape = common_shape(a, b)
        return in_chunks(shape, fmt.storage_dtype, native if path == "native" else bits, a, b)


def _keys(codes: npt.NDArray[np.uint16]) -> npt.NDArray[np.int16]:
    """Integers in the order of the 16-bit values, with -0 < +0; its own inverse."""
    signed = codes.view(np.int16)
    return signed ^ ((signed >> 15) & np.int16(0x7FFF))


def maximum(fmt: FloatFormat, a: Codes, b: Codes, policy: FloatPolicy = SPEC, want_flags: bool = False) -> Result:
    """See `exact.maximum`."""
    return _extremum("maximum", fmt, a, b, policy, want_flags)


def minimum(fmt: FloatFormat, a: Codes, b: Codes, policy: FloatPolicy = SPEC, want_flags: bool = False) -> Result:
    """See `exact.minimum`."""
    return _extremum("minimum", fmt, a, b, policy, want_flags)


def maximum_number(
    fmt: FloatFormat, a: Codes, b: Codes, policy: FloatPolicy = SPEC, want_flags: bool = False
) -> Result:
    """See `exact.maximum_number`."""
    return _extremum("maximum_number", fmt, a, b, policy, want_flags)


def minimum_number(
    fmt: FloatFormat, a: Codes, b: Codes, policy: FloatPolicy = SPEC, want_flags: bool = False
) -> Result:
    """See `exact.minimum_number`."""
    return _extremum("minimum_number", fmt, a, b, policy, want_flags)


# By MLIR's number: the comparisons of NumPy one of which must hold, all false of NaNs, or the opposite of those.
_ORDERED: dict[int, tuple[Callable[..., Any], ...]] = {
    1: (np.equal,),
    2: (np.greater,),
    3: (np.greater_equal,),
    4: (np.less,),
    5: (np.less_equal,),
    6: (np.less, np.greater),
    7: (np.less_equal, np.greater),
}
_OPPOSITES = {8: 6, 9: 5, 10: 4, 11: 3, 12: 2, 13: 1, 14: 7}


def compare(
    fmt: FloatFormat, predicate: int, a: Codes, b: Codes, policy: FloatPolicy = SPEC, want_flags: bool = False
) -> Result:
    """See `exact.compare`."""

    def exactly(x: Codes, y: Codes) -> Result:
        return exact.compare(fmt, predicate, x, y, policy, want_flags)

    path = None if want_flags else path_of("compare", fmt, RNE, policy)
    if path == "table":
        return by_pairs(("compare", predicate, fmt, policy), fmt.bits, exactly, a, b) or exactly(a, b)
    relations = _ORDERED.get(_OPPOSITES.get(predicate, predicate))
    if path is None or relations is None:
        return exactly(a, b)
    dtype, narrow = dtype_of(fmt), fmt not in NATIVE

    def work(out: Codes, p: Codes, q: Codes) -> Mask | None:
        x, y = p.view(dtype), q.view(dtype)
        if narrow:
            x, y = x.astype(np.float32), y.astype(np.float32)
        holds = out.view(np.bool_)
        relations[0](x, y, out=holds)
        for relation in relations[1:]:
            np.logical_or(holds, relation(x, y), out=holds)
        if predicate in _OPPOSITES:
            np.logical_not(holds, out=holds)
        return None

    with np.errstate(all="ignore"):
        return in_chunks(common_shape(a, b), np.dtype(np.uint8), work, a, b)
