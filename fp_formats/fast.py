"""The operations of `exact`, with the same signatures and results, by quicker paths where one is proven.

A path is taken only inside its domain, which `path_of` declares and the tests enumerate against `exact`. Native paths
never trust NumPy's NaNs: the result is searched for NaNs, and those elements are computed by `exact`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache, lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from halfulp.fp_formats import exact, tables
from halfulp.fp_formats.exact import Codes, Random, Result, flush
from halfulp.fp_formats.formats import FORMATS, FloatFormat
from halfulp.fp_formats.policy import SPEC, FloatPolicy
from halfulp.fp_formats.scalar import RNE, RZ, STOCHASTIC

__all__ = [
    "add",
    "compare",
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

NATIVE: dict[FloatFormat, np.dtype[Any]] = {FORMATS["f32"]: np.dtype("f4"), FORMATS["f64"]: np.dtype("f8")}
THROUGH_F32 = (FORMATS["bf16"], FORMATS["f16"])
NATIVE_INTEGERS = {8: "i1", 16: "i2", 32: "i4", 64: "i8"}
# Below these sizes making a table costs more than it saves.
PAIR_TABLE_SIZE = 1 << 11
CONVERSION_TABLE_SIZE = 1 << 14

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
_CHUNK = 1 << 16


@cache
def cpu_keeps_subnormals() -> bool:
    """Whether float arithmetic neither takes subnormals for zero nor makes them zero, tried once per process."""
    for fmt, dtype in NATIVE.items():
        smallest = np.full(64, 1, fmt.storage_dtype).view(dtype)
        normal = np.full(64, fmt.min_normal_code, fmt.storage_dtype).view(dtype)
        half = np.full(64, 0.5, dtype)
        kept = (smallest + smallest, normal * half, normal - smallest, smallest / half)
        if not all(result.all() for result in kept):
            return False
    return True


@lru_cache(maxsize=4096)
def path_of(operation: str, fmt: FloatFormat, rounding: int = RNE, policy: FloatPolicy = SPEC) -> str | None:
    """The quicker path of an operation of `exact` on a format (of a conversion: its source), or None.

    native: NumPy's arithmetic of that format, to nearest even; NaN results, and the sign of zero in minimum and
    maximum, apart.
    through_f32: the same in f32, rounded again to nearest even, which for bf16 and f16 equals rounding once.
    table: a table of all pairs, in any mode and policy.
    bits: integer operations on codes; comparisons of bf16 and f16 take place in f32.
    No path gives flags or rounds stochastically.
    """
    if operation == "negate":
        return "bits" if fmt.signed and fmt.has_negative_zero and fmt.limbs == 1 else None
    if operation in (*_ARITHMETIC, *_EXTREMA, "remainder") and fmt.bits <= 8 and rounding != STOCHASTIC:
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


def _repair(result: Codes, bad: npt.NDArray[np.bool_], recompute: Callable[..., Result], *operands: Codes) -> Result:
    """Replace the marked elements of a result by what ``recompute`` gives for their operands. The formats keep NaN."""
    result[bad] = recompute(*(np.broadcast_to(codes, result.shape)[bad] for codes in operands)).codes
    return Result(result)


def _has_nan(floats: npt.NDArray[Any]) -> bool:
    return floats.size > 0 and bool(np.isnan(floats.max()))


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
    path = None if want_flags else path_of(operation, fmt, rounding, policy)
    if path == "native":
        dtype = NATIVE[fmt]
        codes = np.empty(np.broadcast_shapes(a.shape, b.shape), fmt.storage_dtype)
        floats = codes.view(dtype)
        with np.errstate(all="ignore"):
            _ARITHMETIC[operation](a.view(dtype), b.view(dtype), out=floats)
        if not _has_nan(floats):
            return Result(codes)
        return _repair(codes, np.isnan(floats), lambda x, y: getattr(exact, operation)(fmt, x, y, RNE, policy), a, b)
    if path == "through_f32":
        return _through_f32(operation, fmt, a, b, policy)
    if path == "table":
        shape = np.broadcast_shapes(a.shape, b.shape)
        if math.prod(shape) >= PAIR_TABLE_SIZE:
            return tables.look_up(tables.pairs(operation, fmt, int(rounding), policy), shape, fmt.bits, a, b)
    result: Result = getattr(exact, operation)(fmt, a, b, rounding, policy, random, want_flags)
    return result


def _to_f32(fmt: FloatFormat, codes: Codes) -> npt.NDArray[np.float32]:
    if fmt.name == "f16":
        return codes.view(np.float16).astype(np.float32)
    wide = codes.astype(np.uint32)
    wide <<= 16
    return wide.view(np.float32)


def _from_f32(fmt: FloatFormat, floats: npt.NDArray[np.float32]) -> Codes:
    """To nearest even; NaNs give nonsense."""
    if fmt.name == "f16":
        return floats.astype(np.float16).view(np.uint16)
    bits = floats.view(np.uint32)
    odd = bits >> 16
    odd &= 1
    odd += 0x7FFF
    odd += bits
    odd >>= 16
    return odd.astype(np.uint16)


def _through_f32(operation: str, fmt: FloatFormat, a: Codes, b: Codes, policy: FloatPolicy) -> Result:
    shape = np.broadcast_shapes(a.shape, b.shape)
    x, y = np.broadcast_to(a, shape).reshape(-1), np.broadcast_to(b, shape).reshape(-1)
    codes = np.empty(x.size, fmt.storage_dtype)
    with np.errstate(all="ignore"):
        for start in range(0, x.size, _CHUNK):
            part = slice(start, start + _CHUNK)
            floats = _ARITHMETIC[operation](_to_f32(fmt, x[part]), _to_f32(fmt, y[part]))
            codes[part] = _from_f32(fmt, floats)
            if _has_nan(floats):
                index = np.flatnonzero(np.isnan(floats))
                exactly = getattr(exact, operation)(fmt, x[part][index], y[part][index], RNE, policy)
                codes[part][index] = exactly.codes
    return Result(codes.reshape(shape))


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
    if want_flags or path_of("negate", fmt, RNE, policy) is None:
        return exact.negate(fmt, a, policy, want_flags)
    codes = np.bitwise_xor(a, fmt.storage_dtype.type(fmt.sign_mask or 0))
    return Result(np.asarray(codes))


def _extremum(operation: str, fmt: FloatFormat, a: Codes, b: Codes, policy: FloatPolicy, want_flags: bool) -> Result:
    path = None if want_flags else path_of(operation, fmt, RNE, policy)
    if path == "table":
        shape = np.broadcast_shapes(a.shape, b.shape)
        if math.prod(shape) >= PAIR_TABLE_SIZE:
            return tables.look_up(tables.pairs(operation, fmt, RNE, policy), shape, fmt.bits, a, b)
    if path == "bits":
        return _extremum_of_keys(operation, fmt, a, b, policy)
    if path != "native":
        result: Result = getattr(exact, operation)(fmt, a, b, policy, want_flags)
        return result
    choose, of_equals = _EXTREMA[operation]
    dtype, shape = NATIVE[fmt], np.broadcast_shapes(a.shape, b.shape)
    x, y = np.broadcast_to(a, shape).reshape(-1), np.broadcast_to(b, shape).reshape(-1)
    codes = np.empty(x.size, fmt.storage_dtype)
    scratch = np.empty(min(x.size, _CHUNK), dtype)
    with np.errstate(all="ignore"):
        for start in range(0, x.size, _CHUNK):
            part = slice(start, start + _CHUNK)
            p, q, chunk = x[part], y[part], codes[part]
            floats = chunk.view(dtype)
            choose(p.view(dtype), q.view(dtype), out=floats)
            if np.absolute(floats, out=scratch[: floats.size]).min() > 0:  # neither zero nor NaN
                continue
            nan = np.isnan(floats)
            np.copyto(chunk, of_equals(p, q), where=p.view(dtype) == q.view(dtype))
            if nan.any():
                index = np.flatnonzero(nan)
                chunk[index] = getattr(exact, operation)(fmt, p[index], q[index], policy).codes
    return Result(codes.reshape(shape))


def _keys(codes: npt.NDArray[np.uint16]) -> npt.NDArray[np.int16]:
    """Integers in the order of the 16-bit values, with -0 < +0; its own inverse."""
    signed = codes.view(np.int16)
    return signed ^ ((signed >> 15) & np.int16(0x7FFF))


def _extremum_of_keys(operation: str, fmt: FloatFormat, a: Codes, b: Codes, policy: FloatPolicy) -> Result:
    choose, _ = _EXTREMA[operation]
    shape = np.broadcast_shapes(a.shape, b.shape)
    x, y = np.broadcast_to(a, shape).reshape(-1), np.broadcast_to(b, shape).reshape(-1)
    codes = np.empty(x.size, np.uint16)
    infinity = fmt.infinity_code or 0
    for start in range(0, x.size, _CHUNK):
        part = slice(start, start + _CHUNK)
        p, q = _keys(x[part]), _keys(y[part])
        codes[part] = _keys(choose(p, q).view(np.uint16)).view(np.uint16)
        if max(p.max(), q.max()) > infinity or min(p.min(), q.min()) < ~infinity:
            nan = (np.maximum(p, q) > infinity) | (np.minimum(p, q) < ~infinity)
            codes[part][nan] = getattr(exact, operation)(fmt, x[part][nan], y[part][nan], policy).codes
    return Result(codes.reshape(shape))


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


# By MLIR's number: a comparison of NumPy's, all of which are ordered except not_equal, and whether to negate it.
_COMPARISONS: dict[int, tuple[Callable[..., Any], bool]] = {
    1: (np.equal, False),
    2: (np.greater, False),
    3: (np.greater_equal, False),
    4: (np.less, False),
    5: (np.less_equal, False),
    9: (np.less_equal, True),
    10: (np.less, True),
    11: (np.greater_equal, True),
    12: (np.greater, True),
    13: (np.equal, True),
}


def compare(
    fmt: FloatFormat, predicate: int, a: Codes, b: Codes, policy: FloatPolicy = SPEC, want_flags: bool = False
) -> Result:
    """See `exact.compare`."""
    known = _COMPARISONS.get(predicate)
    if known is None or want_flags or path_of("compare", fmt, RNE, policy) is None:
        return exact.compare(fmt, predicate, a, b, policy, want_flags)
    relation, negated = known
    holds = np.empty(np.broadcast_shapes(a.shape, b.shape), np.bool_)
    with np.errstate(all="ignore"):
        x, y = (codes.view(NATIVE[fmt]) if fmt in NATIVE else _to_f32(fmt, codes) for codes in (a, b))
        relation(x, y, out=holds)
    if negated:
        np.logical_not(holds, out=holds)
    return Result(holds.view(np.uint8))


def convert(
    src: FloatFormat,
    dst: FloatFormat,
    a: Codes,
    rounding: int = RNE,
    policy: FloatPolicy = SPEC,
    random: Random = None,
    want_flags: bool = False,
) -> Result:
    """See `exact.convert`.

    Tables serve sources of up to 16 bits, and f32 to formats of up to 6 bits of precision. NumPy converts between f32
    and f64, and from f32 to f16 (to bf16 by bits), where nothing is flushed or saturated.
    """

    def exactly(x: Codes) -> Result:
        return exact.convert(src, dst, x, rounding, policy, random, want_flags)

    if want_flags or rounding == STOCHASTIC or dst.limbs > 1:
        return exactly(a)
    if src.bits <= 16 and a.size >= min(CONVERSION_TABLE_SIZE, 1 << (src.bits + 3)):
        return tables.look_up(tables.conversions(src, dst, int(rounding), policy), a.shape, src.bits, a)
    if src == FORMATS["f32"] and dst.precision + 2 <= FORMATS["bf16"].precision and a.size >= CONVERSION_TABLE_SIZE:
        # The upper half, with its lowest bit set if the lower half is not zero, is bf16 rounded to odd: it rounds to a
        # format that is at least two bits less precise as the f32 value does, in every mode.
        odd = (a >> 16).astype(np.uint16) | (a.astype(np.uint16) != 0)
        return tables.look_up(tables.conversions(FORMATS["bf16"], dst, int(rounding), policy), a.shape, 16, odd)
    if src in NATIVE and _converts_natively(src, dst, int(rounding), policy):
        floats = a.view(NATIVE[src])
        with np.errstate(all="ignore"):
            if dst in NATIVE:
                codes = np.asarray(floats.astype(NATIVE[dst])).view(dst.storage_dtype)
            else:
                codes = np.asarray(_from_f32(dst, np.asarray(floats)))
        return _repair(codes, np.isnan(floats), exactly, a) if _has_nan(floats) else Result(codes)
    return exactly(a)


@lru_cache(maxsize=1024)
def _converts_natively(src: FloatFormat, dst: FloatFormat, rounding: int, policy: FloatPolicy) -> bool:
    """Whether NumPy's conversion of values that are not NaN is ours."""
    known = (src in NATIVE and dst in NATIVE and src != dst) or (src.name == "f32" and dst in THROUGH_F32)
    plain = rounding == RNE and policy.denormals == "ieee" and policy.conversion_overflow == "format"
    return known and plain and cpu_keeps_subnormals()


def from_integer(
    dst: FloatFormat,
    a: Codes,
    width: int,
    signed: bool,
    rounding: int = RNE,
    policy: FloatPolicy = SPEC,
    random: Random = None,
    want_flags: bool = False,
) -> Result:
    """See `exact.from_integer`; NumPy converts 8, 16, 32 and 64 bits to f32 and f64 to nearest even."""
    if want_flags or rounding != RNE or dst not in NATIVE or width not in NATIVE_INTEGERS:
        return exact.from_integer(dst, a, width, signed, rounding, policy, random, want_flags)
    numbers = a.view(NATIVE_INTEGERS[width]) if signed else a
    return Result(np.asarray(numbers.astype(NATIVE[dst])).view(dst.storage_dtype))


def to_integer(
    src: FloatFormat,
    a: Codes,
    width: int,
    signed: bool,
    rounding: int = RZ,
    policy: FloatPolicy = SPEC,
    random: Random = None,
    want_flags: bool = False,
) -> Result:
    """See `exact.to_integer`; NumPy converts f32 and f64 to 8, 16, 32 and 64 bits toward zero if all are in range."""
    if not want_flags and rounding == RZ and src in NATIVE and width in NATIVE_INTEGERS and a.size:
        floats = a.view(NATIVE[src])
        # Powers of two, so exact in either format; a NaN makes both comparisons false.
        if signed:
            in_range = floats.min() >= -(2.0 ** (width - 1)) and floats.max() < 2.0 ** (width - 1)
        else:
            in_range = floats.min() > -1.0 and floats.max() < 2.0**width
        if in_range:
            dtype = np.dtype(NATIVE_INTEGERS[width] if signed else NATIVE_INTEGERS[width].replace("i", "u"))
            return Result(np.asarray(floats.astype(dtype)).view(exact.storage_of(width)[0]))
    return exact.to_integer(src, a, width, signed, rounding, policy, random, want_flags)
