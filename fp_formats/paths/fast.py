"""The operations of `exact`, with the same signatures and results, by quicker paths that tests prove equal.

A path is taken only inside its domain, which `path_of` and `conversion_path` declare and the tests enumerate against
`exact`. NumPy's NaNs are never trusted: results are searched for NaNs, and `exact` computes those elements. All paths
go through their operands in chunks, so that only the result is an array of full size.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from halfulp.fp_formats import mixed, scalar
from halfulp.fp_formats.exact import arithmetic, comparisons, conversions, encoding
from halfulp.fp_formats.exact.core import FEW, ArrayResult, Random, by_scalar
from halfulp.fp_formats.formats import Codes, FloatFormat, Mask, NanEncoding, slices
from halfulp.fp_formats.paths import error_free, llvm, quad, word_flags, word_floats
from halfulp.fp_formats.paths.array_loop import applied
from halfulp.fp_formats.paths.domains import (
    F32,
    F64,
    NATIVE,
    SUMS,
    between_flushes,
    conversion_path,
    dtype_of,
    path_of,
)
from halfulp.fp_formats.paths.error_free import Index, Kernel
from halfulp.fp_formats.paths.fast_conversions import convert, from_integer, narrow, to_integer
from halfulp.fp_formats.paths.tables import CHUNK, by_pairs, by_table, common_shape, in_chunks, table_of
from halfulp.fp_formats.policy import SPEC, FloatPolicy
from halfulp.fp_formats.scalar import RD, RNA, RNE, RU, RZ, STOCHASTIC

__all__ = ["conversion_path", "convert", "from_integer", "path_of", "to_integer"]  # what other files define

_OWN = sys.modules[__name__]
NATIVE_CHUNK = 1 << 21  # bytes: results are still in a cache when they are searched, and few calls are needed


_ARITHMETIC: dict[str, Callable[..., Any]] = {
    "add": np.add,
    "subtract": np.subtract,
    "multiply": np.multiply,
    "divide": np.divide,
}
EXTREMA: dict[str, tuple[np.ufunc, np.ufunc]] = {
    # The operation, and its effect on the bits of equal operands; equal operands with different bits are zeros.
    "maximum": (np.maximum, np.bitwise_and),
    "minimum": (np.minimum, np.bitwise_or),
    "maximum_number": (np.maximum, np.bitwise_and),
    "minimum_number": (np.minimum, np.bitwise_or),
}
# The types of codes by extremum and size, those whose least number is the wrong zero, and that number.
_ZEROS: dict[tuple[np.ufunc, int], tuple[np.dtype[Any], np.dtype[Any], int]] = {
    (choose, size): (np.dtype(f"u{size}"), integers, int(np.iinfo(integers).min))
    for size in (4, 8)
    for choose, integers in ((np.maximum, np.dtype(f"i{size}")), (np.minimum, np.dtype(f"u{size}")))
}


def _arithmetic(
    operation: str,
    fmt: FloatFormat,
    a: Codes,
    b: Codes,
    rounding: int = RNE,
    policy: FloatPolicy = SPEC,
    random: Random = None,
    want_flags: bool = False,
) -> ArrayResult:
    def exactly(x: Codes, y: Codes) -> ArrayResult:
        if plain and x.size <= FEW and y.size <= FEW:
            one = getattr(scalar, operation)
            return by_scalar(
                lambda p, q: one(fmt, p, q, rounding, policy), fmt.bits, False, (x, fmt.bits), (y, fmt.bits)
            )
        result: ArrayResult = getattr(arithmetic, operation)(fmt, x, y, rounding, policy, random, want_flags)
        return result

    plain = not want_flags and rounding != STOCHASTIC
    if want_flags:
        described = None
        if operation in mixed.OPERATIONS:
            described = word_flags.arithmetic(operation, (fmt,) * 2, fmt, int(rounding), policy)
        return applied(described, (fmt.bits,) * 2, (a, b), exactly, flags=True) or exactly(a, b)
    path = path_of(operation, fmt, int(rounding), policy)
    kept = None if path is not None else between_flushes(operation, fmt, int(rounding), policy)
    if kept is not None:
        return _with_flushes(
            fmt, policy, lambda x, y: _arithmetic(operation, fmt, x, y, rounding, kept), (a, b), exactly
        )
    if path is None:
        described = quad.binary(operation, fmt, int(rounding), policy)
        if described is None and operation in mixed.OPERATIONS:
            described = word_flags.code_of(word_flags.arithmetic(operation, (fmt,) * 2, fmt, int(rounding), policy))
        return applied(described, (fmt.bits,) * 2, (a, b), exactly) or exactly(a, b)

    def in_arrays(x: Codes, y: Codes) -> ArrayResult:
        return _in_arrays(operation, path, fmt, x, y, int(rounding), policy, exactly)

    if path == "native" or not llvm.may_pay(a.size * b.size):
        return in_arrays(a, b)
    described = word_floats.binary(operation, fmt, int(rounding), policy)
    return applied(described, (fmt.bits,) * 2, (a, b), in_arrays) or in_arrays(a, b)


def _in_arrays(
    operation: str,
    path: str,
    fmt: FloatFormat,
    a: Codes,
    b: Codes,
    rounding: int,
    policy: FloatPolicy,
    exactly: Callable[[Codes, Codes], ArrayResult],
) -> ArrayResult:
    """Compute by NumPy, on a path of `path_of`."""
    if path == "table":
        key = (operation, fmt, rounding, policy)
        return by_pairs(key, fmt.bits, exactly, a, b)
    shape = common_shape(a, b)
    if path == "native" and a.shape != b.shape:
        return _repeating(_ARITHMETIC[operation], NATIVE[fmt], exactly, shape, a, b)
    kernel, longest = _KERNELS[path](operation, fmt, rounding, math.prod(shape))

    def work(out: Codes, x: Codes, y: Codes) -> Mask | None:
        index = kernel(out, x, y)
        if index is not None:
            out[index] = exactly(x[index], y[index]).codes
        return None

    with np.errstate(all="ignore"):
        return in_chunks(shape, fmt.storage_dtype, work, a, b, longest=longest)


def _repeating(
    ufunc: Callable[..., Any],
    dtype: npt.DTypeLike,
    exactly: Callable[[Codes, Codes], ArrayResult],
    shape: tuple[int, ...],
    a: Codes,
    b: Codes,
) -> ArrayResult:
    """Compute natively on operands of different shapes. Unlike chunks, they are not copied to one shape."""
    x, y = np.broadcast_to(a, shape), np.broadcast_to(b, shape)
    codes = np.empty(shape, a.dtype)
    rows = max(1, NATIVE_CHUNK // max(1, codes[:1].nbytes))
    with np.errstate(all="ignore"):
        for some in slices(len(codes) if codes.size else 0, rows):
            out = codes[some]
            index = nans_of(ufunc(x[some].view(dtype), y[some].view(dtype), out=out.view(dtype)).reshape(-1))
            if index is not None:
                where = np.unravel_index(index, out.shape)
                out[where] = exactly(x[some][where], y[some][where]).codes
    return ArrayResult(codes)


def _with_flushes(
    fmt: FloatFormat,
    policy: FloatPolicy,
    compute: Callable[..., ArrayResult],
    operands: tuple[Codes, ...],
    exactly: Callable[..., ArrayResult] | None = None,
) -> ArrayResult:
    """Compute on flushed operands, and flush results that are certainly tiny: subnormal ones. ``exactly`` computes
    those that may be: the least normal number, and -0 where it may be a positive zero; None: no result is tiny.
    """
    rule = policy.flushing(fmt)
    sign, least = (fmt.storage_dtype.type(code or 0) for code in (fmt.sign_mask, fmt.min_normal_code))
    one, zero = fmt.storage_dtype.type(1), fmt.storage_dtype.type(0)

    def flushed(codes: Codes) -> Codes:
        magnitude = codes & ~sign
        small = (magnitude != zero) & (magnitude < least)
        return np.where(small, zero if rule.positive else codes & sign, codes) if small.any() else codes

    found = compute(*(flushed(each) if rule.operands else each for each in operands))
    if exactly is None or not rule.results:
        return found
    codes = found.codes.reshape(-1)
    magnitude = codes & ~sign
    small = magnitude - one < least
    if rule.positive:
        small |= codes == sign
    index = np.flatnonzero(small)
    if not index.size:
        return found
    size = magnitude[index]
    subnormal = size - one < least - one
    tiny = index[subnormal]
    codes[tiny] = zero if rule.positive else codes[tiny] & sign
    unsure = index[(size == 0) | ((size == least) & (not rule.delivered))]
    if unsure.size:
        rows = [np.broadcast_to(each, found.codes.shape).reshape(-1)[unsure] for each in operands]
        codes[unsure] = exactly(*rows).codes
    return ArrayResult(codes.reshape(found.codes.shape))


# Kernels, as in `error_free`, each with the longest chunk that suits it.


def _native(operation: str, fmt: FloatFormat, rounding: int, elements: int) -> tuple[Kernel, int]:
    dtype, ufunc = NATIVE[fmt], _ARITHMETIC[operation]

    def kernel(out: Codes, x: Codes, y: Codes) -> Index | None:
        return nans_of(ufunc(x.view(dtype), y.view(dtype), out=out.view(dtype)))

    return kernel, NATIVE_CHUNK // dtype.itemsize


def _error_free(operation: str, fmt: FloatFormat, rounding: int, elements: int) -> tuple[Kernel, int]:
    return error_free.kernel(operation, fmt, rounding, elements), error_free.CHUNK


def _through_f32(operation: str, fmt: FloatFormat, rounding: int, elements: int) -> tuple[Kernel, int]:
    dtype, ufunc = dtype_of(fmt), _ARITHMETIC[operation]
    longest = CHUNK if rounding == RNE else error_free.CHUNK
    first, second, third = np.empty((3, min(elements, longest)), np.float32)
    index = np.empty(first.size, np.intp)
    # A table widens f16 faster than NumPy does.
    table = fmt.name == "f16" and table_of(("f32", fmt), 16, lambda x: conversions.convert(fmt, F32, x), elements)

    def widen(codes: Codes, out: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
        if table:
            index[: codes.size] = codes
            np.take(table.codes, index[: codes.size], out=out.view(np.uint32), mode="wrap")
        else:
            out[...] = codes.view(dtype)
        return out

    def to_nearest_even(out: Codes, x: Codes, y: Codes) -> Index | None:
        p, q = widen(x, first[: x.size]), widen(y, second[: y.size])
        ufunc(p, q, out=p)
        if (F32.name, fmt.name) in SUMS:
            narrow(F32, fmt, p.view(np.uint32), out)
        else:
            np.copyto(out.view(dtype), p, casting="unsafe")
        return nans_of(p)

    if rounding == RNE:
        return to_nearest_even, longest
    to_odd = error_free.kernel(operation, F32, rounding, elements, odd=True)

    def by_odd(out: Codes, x: Codes, y: Codes) -> Index | None:
        p, q, result = widen(x, first[: x.size]), widen(y, second[: y.size]), third[: x.size].view(np.uint32)
        unknown = to_odd(result, p.view(np.uint32), q.view(np.uint32))
        out[...] = convert(F32, fmt, result, rounding).codes
        return unknown

    return by_odd, longest


def nans_of(floats: npt.NDArray[Any]) -> Index | None:
    """Return the indices of NaNs, or None if there are none; the case without NaNs is faster."""
    largest = np.maximum.reduce(floats)
    return np.flatnonzero(np.isnan(floats)) if largest != largest else None


_KERNELS = {"native": _native, "error_free": _error_free, "through_f32": _through_f32}


# What `exact.arithmetic` returns under the same names.
add = partial(_arithmetic, "add")
subtract = partial(_arithmetic, "subtract")
multiply = partial(_arithmetic, "multiply")
divide = partial(_arithmetic, "divide")
remainder = partial(_arithmetic, "remainder")


def fma(
    fmt: FloatFormat,
    a: Codes,
    b: Codes,
    c: Codes,
    rounding: int = RNE,
    policy: FloatPolicy = SPEC,
    random: Random = None,
    want_flags: bool = False,
) -> ArrayResult:
    """Return what `exact.arithmetic.fma` returns."""
    described = word_flags.arithmetic("fma", (fmt,) * 3, fmt, int(rounding), policy)
    if not want_flags:
        described = word_flags.code_of(described)

    def general(x: Codes, y: Codes, z: Codes) -> ArrayResult:
        if want_flags:
            return arithmetic.fma(fmt, x, y, z, rounding, policy, random, want_flags)
        return _fma_in_arrays(fmt, x, y, z, rounding, policy, random)

    def by_words(x: Codes, y: Codes, z: Codes) -> ArrayResult:
        return applied(described, (fmt.bits,) * 3, (x, y, z), general, flags=want_flags) or general(x, y, z)

    native = None if want_flags else word_floats.fma(fmt, int(rounding), policy)
    return applied(native, (fmt.bits,) * 3, (a, b, c), by_words) or by_words(a, b, c)


def _fma_in_arrays(
    fmt: FloatFormat, a: Codes, b: Codes, c: Codes, rounding: int, policy: FloatPolicy, random: Random
) -> ArrayResult:
    kept = between_flushes("fma", fmt, int(rounding), policy)
    if kept is not None:
        return _with_flushes(
            fmt,
            policy,
            lambda x, y, z: _fma_in_arrays(fmt, x, y, z, rounding, kept, random),
            (a, b, c),
            lambda x, y, z: arithmetic.fma(fmt, x, y, z, rounding, policy),
        )
    if path_of("fma", fmt, int(rounding), policy) is None:
        return arithmetic.fma(fmt, a, b, c, rounding, policy, random)
    dtype, shape = dtype_of(fmt), np.broadcast_shapes(a.shape, b.shape, c.shape)
    size = min(math.prod(shape), error_free.CHUNK)
    to_odd = error_free.kernel("add", F64, int(rounding), size, odd=True)
    products, addends, sums = np.empty((3, size))

    def work(out: Codes, x: Codes, y: Codes, z: Codes) -> Mask | None:
        product, addend, total = products[: x.size], addends[: x.size], sums[: x.size].view(np.uint64)
        product[...] = x.view(dtype)
        addend[...] = y.view(dtype)
        np.multiply(product, addend, out=product)
        addend[...] = z.view(dtype)
        unknown = to_odd(total, product.view(np.uint64), addend.view(np.uint64))
        out[...] = convert(F64, fmt, total, rounding).codes
        if unknown is not None:
            out[unknown] = arithmetic.fma(fmt, x[unknown], y[unknown], z[unknown], rounding, policy).codes
        return None

    with np.errstate(all="ignore"):
        return in_chunks(shape, fmt.storage_dtype, work, a, b, c, longest=error_free.CHUNK)


def operate(
    name: str,
    sources: tuple[FloatFormat, ...],
    dst: FloatFormat,
    operands: tuple[Codes, ...],
    rounding: int = RNE,
    policy: FloatPolicy = SPEC,
    want_flags: bool = False,
) -> ArrayResult:
    """Return what `exact.comparisons.operate` returns, without random bits."""

    def general(*codes: Codes) -> ArrayResult:
        own: dict[str, Any] = {"want_flags": True} if want_flags else {"operations": _OWN, "convert": convert}
        return comparisons.operate(name, sources, dst, codes, rounding, policy, **own)

    described = word_flags.arithmetic(name, sources, dst, int(rounding), policy)
    if not want_flags:
        described = word_flags.code_of(described)
    widths = tuple(fmt.bits for fmt in sources)
    return applied(described, widths, operands, general, flags=want_flags) or general(*operands)


def negate(fmt: FloatFormat, a: Codes, policy: FloatPolicy = SPEC, want_flags: bool = False) -> ArrayResult:
    """Return what `exact.arithmetic.negate` returns."""
    path = None if want_flags else path_of("negate", fmt, RNE, policy)
    if path == "bits":
        return ArrayResult(np.asarray(np.bitwise_xor(a, fmt.storage_dtype.type(fmt.sign_mask or 0))))
    return _unary("negate", fmt, a, policy, want_flags)


def flush(fmt: FloatFormat, a: Codes, policy: FloatPolicy = SPEC, want_flags: bool = False) -> ArrayResult:
    """Return what `exact.arithmetic.flush` returns."""
    return _unary("flush", fmt, a, policy, want_flags)


def next_codes(fmt: FloatFormat, a: Codes, down: bool = False) -> ArrayResult:
    """Return what `exact.encoding.next_codes` returns."""
    if fmt.bits > 16:
        return encoding.next_codes(fmt, a, down)
    key = ("next_codes", fmt, down)
    return by_table(key, fmt.bits, lambda x: encoding.next_codes(fmt, x, down), a)


def _unary(operation: str, fmt: FloatFormat, a: Codes, policy: FloatPolicy, want_flags: bool) -> ArrayResult:
    def exactly(x: Codes) -> ArrayResult:
        result: ArrayResult = getattr(arithmetic, operation)(fmt, x, policy, want_flags)
        return result

    if want_flags or path_of(operation, fmt, RNE, policy) is None:
        return exactly(a)
    return by_table((operation, fmt, policy), fmt.bits, exactly, a)


_ROUND_TO_INTEGRAL: dict[int, Callable[..., Any]] = {RNE: np.rint, RD: np.floor, RU: np.ceil, RZ: np.trunc}


def to_integral(
    fmt: FloatFormat,
    a: Codes,
    rounding: int = RNE,
    policy: FloatPolicy = SPEC,
    want_flags: bool = False,
) -> ArrayResult:
    """Return what `exact.conversions.to_integral` returns."""

    def exactly(x: Codes) -> ArrayResult:
        return conversions.to_integral(fmt, x, rounding, policy, want_flags)

    if want_flags:
        described = word_flags.to_integral(fmt, int(rounding), policy)
        return applied(described, (fmt.bits,), (a,), exactly, flags=True) or exactly(a)
    path = path_of("to_integral", fmt, int(rounding), policy)
    if path == "table":
        return by_table(("to_integral", fmt, int(rounding), policy), fmt.bits, exactly, a)
    if path is None:
        return exactly(a)
    dtype = NATIVE[fmt]

    def work(out: Codes, x: Codes) -> Mask | None:
        numbers, results = x.view(dtype), out.view(dtype)
        if rounding == RNA:
            np.trunc(numbers, out=results)
            results += np.copysign(np.abs(numbers - results) >= 0.5, numbers)
        else:
            _ROUND_TO_INTEGRAL[int(rounding)](numbers, out=results)
        index = nans_of(results)
        if index is not None:
            out[index] = exactly(x[index]).codes
        return None

    with np.errstate(all="ignore"):
        return in_chunks(a.shape, fmt.storage_dtype, work, a, longest=NATIVE_CHUNK // dtype.itemsize)


def to_integral_exact(fmt: FloatFormat, a: Codes, rounding: int = RNE, policy: FloatPolicy = SPEC) -> ArrayResult:
    """Return a rounding to integers with flags, where inexact is raised if a fraction is dropped (IEEE 754, 5.9)."""

    def exactly(x: Codes) -> ArrayResult:
        found = conversions.to_integral(fmt, x, rounding, policy, want_flags=True)
        given = flush(fmt, x, policy).codes if policy.flushing(fmt).operands else x
        number = ~(comparisons.is_nan(fmt, given) | comparisons.is_infinite(fmt, given))
        same = comparisons.compare(fmt, scalar.OEQ, given, found.codes).codes != 0
        assert found.flags is not None
        return found._replace(flags=np.asarray(found.flags | (number & ~same) * np.uint8(scalar.INEXACT)))

    flagged = word_flags.to_integral(fmt, int(rounding), policy, says_inexact=True)
    return applied(flagged, (fmt.bits,), (a,), exactly, flags=True) or exactly(a)


def _extremum(
    operation: str, fmt: FloatFormat, a: Codes, b: Codes, policy: FloatPolicy = SPEC, want_flags: bool = False
) -> ArrayResult:
    def exactly(x: Codes, y: Codes) -> ArrayResult:
        result: ArrayResult = getattr(arithmetic, operation)(fmt, x, y, policy, want_flags)
        return result

    if want_flags:
        flagged = word_flags.extremum(operation, fmt, policy)
        return applied(flagged, (fmt.bits,) * 2, (a, b), exactly, flags=True) or exactly(a, b)
    path = path_of(operation, fmt, RNE, policy)
    kept = None if path is not None else between_flushes(operation, fmt, RNE, policy)
    if kept is not None:
        return _with_flushes(fmt, policy, lambda x, y: _extremum(operation, fmt, x, y, kept), (a, b))
    if path is None:
        return exactly(a, b)

    def in_arrays(x: Codes, y: Codes) -> ArrayResult:
        return _extremum_in_arrays(operation, path, fmt, x, y, policy, exactly)

    described = None if path == "native" else word_floats.binary(operation, fmt, RNE, policy)
    return applied(described, (fmt.bits,) * 2, (a, b), in_arrays) or in_arrays(a, b)


def _extremum_in_arrays(
    operation: str,
    path: str,
    fmt: FloatFormat,
    a: Codes,
    b: Codes,
    policy: FloatPolicy,
    exactly: Callable[[Codes, Codes], ArrayResult],
) -> ArrayResult:
    if path == "table":
        return by_pairs((operation, fmt, policy), fmt.bits, exactly, a, b)
    choose, _ = EXTREMA[operation]
    infinity = fmt.infinity_code or 0

    def native(out: Codes, p: Codes, q: Codes) -> Mask | None:
        unknown = nans_of(extremum_of_numbers(operation, p.view(dtype), q.view(dtype), out.view(dtype)))
        if unknown is not None:
            out[unknown] = exactly(p[unknown], q[unknown]).codes
        return None

    def bits(out: Codes, p: Codes, q: Codes) -> Mask | None:
        x, y = _keys(p), _keys(q)
        out[...] = _keys(choose(x, y).view(np.uint16)).view(np.uint16)
        if max(x.max(), y.max()) > infinity or min(x.min(), y.min()) < ~infinity:
            index = np.flatnonzero((np.maximum(x, y) > infinity) | (np.minimum(x, y) < ~infinity))
            out[index] = exactly(p[index], q[index]).codes
        return None

    dtype = dtype_of(fmt)
    kernel, longest = (native, NATIVE_CHUNK // dtype.itemsize) if path == "native" else (bits, CHUNK)
    with np.errstate(all="ignore"):
        return in_chunks(common_shape(a, b), fmt.storage_dtype, kernel, a, b, longest=longest)


def extremum_of_numbers(
    operation: str, x: npt.NDArray[Any], y: npt.NDArray[Any], out: npt.NDArray[Any]
) -> npt.NDArray[Any]:
    """Write the extrema of numbers of f32 or f64, where -0 < +0, to ``out``, and return ``out``. If an operand is a
    NaN, the result is some NaN.
    """
    choose, of_equals = EXTREMA[operation]
    choose(x, y, out=out)
    # For zeros of both signs NumPy gives either. The wrong one, if it occurs, is the least of all codes: -0 as a signed
    # integer for the maximum, +0 as an unsigned one for the minimum.
    codes, integers, wrong_zero = _ZEROS[choose, out.itemsize]
    if np.minimum.reduce(out.view(integers)) == wrong_zero:
        np.copyto(out.view(codes), of_equals(x.view(codes), y.view(codes)), where=x == y)
    return out


def reduced_extremum(operation: str, fmt: FloatFormat, rows: Codes) -> tuple[Codes, Mask]:
    """Return the extremum of each lane of ``rows`` [n, lanes], n > 0, and a mask of the lanes in which it is not known:
    it is a NaN, or a zero whose sign depends on the order. The extrema of the format must be native (see `path_of`).
    """
    choose, _ = EXTREMA[operation]
    with np.errstate(all="ignore"):
        found = choose.reduce(rows.view(NATIVE[fmt]), axis=0)
    return found.view(rows.dtype), np.isnan(found) | (found == 0)


def _keys(codes: npt.NDArray[np.uint16]) -> npt.NDArray[np.int16]:
    """Map 16-bit codes to integers in the order of their values, with -0 < +0. The map is its own inverse."""
    signed = codes.view(np.int16)
    return signed ^ ((signed >> 15) & np.int16(0x7FFF))


maximum = partial(_extremum, "maximum")
minimum = partial(_extremum, "minimum")
maximum_number = partial(_extremum, "maximum_number")
minimum_number = partial(_extremum, "minimum_number")


# By MLIR's number: comparisons of NumPy, all false for NaNs, of which one must hold; and the opposites of these.
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
    fmt: FloatFormat,
    predicate: int,
    a: Codes,
    b: Codes,
    policy: FloatPolicy = SPEC,
    want_flags: bool = False,
) -> ArrayResult:
    """Return what `exact.comparisons.compare` returns."""

    def exactly(x: Codes, y: Codes) -> ArrayResult:
        return comparisons.compare(fmt, predicate, x, y, policy, want_flags)

    if want_flags:
        flagged = word_flags.compare(predicate, fmt, policy)
        return applied(flagged, (fmt.bits,) * 2, (a, b), exactly, flags=True) or exactly(a, b)
    path = path_of("compare", fmt, RNE, policy)
    kept = None if path is not None else between_flushes("compare", fmt, RNE, policy)
    if kept is not None:
        return _with_flushes(fmt, policy, lambda x, y: compare(fmt, predicate, x, y, kept), (a, b))
    if path is None:
        return exactly(a, b)

    def in_arrays(x: Codes, y: Codes) -> ArrayResult:
        return _compare_in_arrays(fmt, predicate, path, x, y, policy, exactly)

    described = None if path == "native" else word_floats.compare(predicate, fmt, policy)
    return applied(described, (fmt.bits,) * 2, (a, b), in_arrays) or in_arrays(a, b)


def compare_signalling(fmt: FloatFormat, predicate: int, a: Codes, b: Codes, policy: FloatPolicy = SPEC) -> ArrayResult:
    """Return a comparison with flags that any NaN makes invalid, not signalling ones alone (IEEE 754, 5.6.1)."""

    def exactly(x: Codes, y: Codes) -> ArrayResult:
        nans = comparisons.is_nan(fmt, x) | comparisons.is_nan(fmt, y)
        return compare(fmt, predicate, x, y, policy)._replace(
            flags=np.where(nans, np.uint8(scalar.INVALID), np.uint8(0))
        )

    flagged = word_flags.compare(predicate, fmt, policy, any_nan=True)
    return applied(flagged, (fmt.bits,) * 2, (a, b), exactly, flags=True) or exactly(a, b)


def _compare_in_arrays(
    fmt: FloatFormat,
    predicate: int,
    path: str,
    a: Codes,
    b: Codes,
    policy: FloatPolicy,
    exactly: Callable[[Codes, Codes], ArrayResult],
) -> ArrayResult:
    if path == "table":
        return by_pairs(("compare", predicate, fmt, policy), fmt.bits, exactly, a, b)
    relations = _ORDERED.get(_OPPOSITES.get(predicate, predicate))
    if relations is None:
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


# Classes of codes.


def is_nan(fmt: FloatFormat, codes: Codes) -> Mask:
    """Return what `exact.comparisons.is_nan` returns. If all codes beyond infinity are NaNs, or only one code of each
    sign is, one comparison finds them.
    """
    if fmt.nan_code is None or fmt.limbs > 1 or (fmt.nan is NanEncoding.IEEE and fmt.infinity_code is None):
        return comparisons.is_nan(fmt, codes)
    if fmt in NATIVE:
        return np.asarray(np.isnan(codes.view(NATIVE[fmt])))
    kind = codes.dtype.type
    # A NaN that would be -0 has its sign; the sign of others is shifted out.
    unused = kind(8 * codes.itemsize - fmt.bits + (fmt.signed and fmt.nan is not NanEncoding.NEGATIVE_ZERO))
    if fmt.nan is NanEncoding.IEEE:
        return np.asarray(codes << unused > kind(fmt.infinity_code) << unused)
    return np.asarray(codes << unused == kind(fmt.nan_code) << unused)
