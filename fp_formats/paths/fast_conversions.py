"""The conversions of `exact`, with the same signatures and results, by quicker paths that tests prove equal.

`conversion_path` declares which path a conversion takes; the tests enumerate each against `exact`.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from functools import cache, lru_cache, partial
from typing import Any

import numpy as np
import numpy.typing as npt

from halfulp.fp_formats import scalar
from halfulp.fp_formats.exact import arithmetic, conversions
from halfulp.fp_formats.exact.core import FEW, ArrayResult, Random, by_scalar
from halfulp.fp_formats.formats import FORMATS, Codes, FloatFormat, Mask, storage_dtype
from halfulp.fp_formats.paths import domains, llvm, word_flags, word_floats
from halfulp.fp_formats.paths.array_loop import applied
from halfulp.fp_formats.paths.tables import CHUNK, LONG_CHUNK, by_table, in_chunks, look_up, positions_of, table_of
from halfulp.fp_formats.policy import SPEC, FloatPolicy
from halfulp.fp_formats.scalar import RD, RNE, RU, RZ, STOCHASTIC


def convert(
    src: FloatFormat,
    dst: FloatFormat,
    a: Codes,
    rounding: int = RNE,
    policy: FloatPolicy = SPEC,
    random: Random = None,
    want_flags: bool = False,
) -> ArrayResult:
    """Return what `exact.conversions.convert` returns."""
    if rounding == STOCHASTIC and random is not None:
        return _drawn(src, dst, a, policy, random, want_flags)
    if want_flags:
        flagged = word_flags.convert(src, dst, int(rounding), policy)
        exactly = partial(
            conversions.convert, src, dst, rounding=rounding, policy=policy, random=random, want_flags=True
        )
        return applied(flagged, (src.bits,), (a,), exactly, flags=True) or exactly(a)
    path = domains.conversion_path(src, dst, int(rounding), policy)
    if path is domains.FLUSHED:
        if policy.flushing(src).operands:
            a = arithmetic.flush(src, a, policy).codes
        return convert(src, dst, a, rounding, policy.without_f32)
    if rounding == STOCHASTIC:
        return conversions.convert(src, dst, a, rounding, policy, random)  # it says what is missing
    if llvm.may_pay(a.size):
        described = word_floats.convert(src, dst, int(rounding), policy)
        found = applied(described, (src.bits,), (a,), lambda x: _in_arrays(src, dst, x, int(rounding), policy))
        if found is not None:
            return found
    return _in_arrays(src, dst, a, int(rounding), policy)


def _drawn(
    src: FloatFormat, dst: FloatFormat, a: Codes, policy: FloatPolicy, random: tuple[Any, int], want_flags: bool
) -> ArrayResult:
    """Convert with stochastic rounding."""
    bits, count = np.asarray(random[0]), random[1]

    def exactly(codes: Codes, some: Codes) -> ArrayResult:
        return conversions.convert(src, dst, codes, STOCHASTIC, policy, (some, count), want_flags)

    described = None
    if bits.dtype.kind == "u" and src.limbs == 1 and bits.shape == a.shape:
        described = word_flags.convert(src, dst, int(STOCHASTIC), policy, count)
    if not want_flags:
        described = word_flags.code_of(described)
    widths = src.bits, 8 * bits.dtype.itemsize
    return applied(described, widths, (a, bits), exactly, flags=want_flags) or exactly(a, bits)


def _in_arrays(src: FloatFormat, dst: FloatFormat, a: Codes, rounding: int, policy: FloatPolicy) -> ArrayResult:
    """Convert by NumPy."""
    path = domains.conversion_path(src, dst, rounding, policy)
    if path.kind in ("native", "sum"):
        return _cast(path.kind, src, dst, a, policy)
    if path.kind == "through_f32":
        return in_chunks(
            a.shape,
            dst.storage_dtype,
            lambda out, x: put(
                convert(domains.F32, dst, convert(src, domains.F32, x, RNE, policy).codes, rounding, policy), out
            ),
            a,
        )
    return _tabled(path, dst, a, rounding, policy) or _exactly(src, dst, a, rounding, policy)


def _exactly(src: FloatFormat, dst: FloatFormat, a: Codes, rounding: int, policy: FloatPolicy) -> ArrayResult:
    """Convert by `exact`, or a few elements by `scalar`."""
    if a.size <= FEW:
        return by_scalar(lambda code: scalar.convert(src, dst, code, rounding, policy), dst.bits, False, (a, src.bits))
    return conversions.convert(src, dst, a, rounding, policy)


def _tabled(
    path: domains.ConversionPath, dst: FloatFormat, a: Codes, rounding: int, policy: FloatPolicy
) -> ArrayResult | None:
    """Convert by the table of the path, if it has one and that saves time; else return None."""
    head = path.head
    if head is None:
        return None
    key = ("convert", head, dst, int(rounding), policy)
    table = table_of(key, head.bits, lambda codes: conversions.convert(head, dst, codes, rounding, policy), a.size)
    return None if table is None else look_up(table, a, path.shift)


def put(result: ArrayResult, out: Codes) -> Mask | None:
    """Write the codes of a result to ``out``, and return the mask of its poison elements, or None."""
    out[...] = result.codes
    return result.poison


def _cast(kind: str, src: FloatFormat, dst: FloatFormat, a: Codes, policy: FloatPolicy) -> ArrayResult:
    from_, to = domains.dtype_of(src), domains.dtype_of(dst)
    widens = src.bits < dst.bits
    limit = _largest(src, dst) if policy.conversion_saturation(dst).numbers else np.inf
    table = domains.table_path(src, dst)
    if table.head is not None and table.head.bits > domains.BESIDE_BITS:
        table = domains.EXACT
    nans, signalling = domains.nans_of(src, dst, policy), _signalling(src, dst, policy)

    met = False  # once a NaN was met, NaNs are looked for at once

    def work(out: Codes, x: Codes) -> None:
        nonlocal met
        values = x.view(from_)
        if kind == "sum":
            narrow(src, dst, x, out)
        else:
            np.copyto(out.view(to), values, casting="unsafe")
        searched = out.view(to) if widens else values
        # A NaN makes every comparison false.
        inside = not met and np.maximum.reduce(searched) <= limit
        if inside and (limit == np.inf or np.minimum.reduce(searched) >= -limit):
            return
        if nans is None or limit != np.inf:
            index = np.flatnonzero(~(np.absolute(searched) <= limit))
            found = _tabled(table, dst, x[index], RNE, policy) or _exactly(src, dst, x[index], RNE, policy)
            out[index] = found.codes
            return
        met, suspect = True, mask[: x.size]
        if signalling is None:
            np.not_equal(searched, searched, out=suspect)
        else:
            np.equal(np.bitwise_and(x, signalling[0], out=bits[: x.size]), signalling[1], out=suspect)
        if suspect.any():
            index = positions_of(suspect)
            index = index if signalling is None else index[np.isnan(searched[index])]
            out[index] = nans.convert(x[index])

    # Casts are so quick that the calls for a chunk count.
    longest = CHUNK if kind == "sum" else 2 * LONG_CHUNK
    mask, bits = np.empty(min(a.size, longest), np.bool_), np.empty(min(a.size, longest), a.dtype)

    with np.errstate(all="ignore"):
        return in_chunks(a.shape, dst.storage_dtype, work, a, longest=longest)


@llvm.forgotten
@lru_cache(maxsize=256)
def _signalling(src: FloatFormat, dst: FloatFormat, policy: FloatPolicy) -> tuple[int, int] | None:
    """Return a test (mask, value), ``code & mask == value``, for the NaNs whose conversion from bf16 to f32 does not
    only move bits: the signalling ones. The test also holds for infinities.
    """
    nans = domains.nans_of(src, dst, policy)
    infinity, quiet = src.infinity_code or 0, 1 << src.mantissa_bits >> 1
    if nans is None or (src, dst) != (FORMATS["bf16"], domains.F32):
        return None
    codes = np.arange(infinity | quiet, infinity + (1 << src.mantissa_bits), dtype=src.storage_dtype)
    codes = np.concatenate([codes, codes | codes.dtype.type(src.sign_mask or 0)])
    moved = codes.astype(dst.storage_dtype) << nans.dst.mantissa_bits - src.mantissa_bits
    return (infinity | quiet, infinity) if np.array_equal(nans.convert(codes), moved) else None


def narrow(src: FloatFormat, dst: FloatFormat, codes: Codes, out: Codes) -> None:
    """Convert codes of f32 or f64 to a format of `SUMS`, to nearest even, and write the results to ``out``. The code
    for a NaN has no meaning.

    Add a power of two to the magnitude, so large that the last fraction bit of the sum is the last bit of the result:
    the addition rounds as the result must round. The bits by which the sum exceeds that power are the result's
    significand.
    """
    unsigned, real, one = codes.dtype.type, domains.NATIVE[src].type, 1 << src.mantissa_bits
    surplus = src.mantissa_bits - dst.mantissa_bits
    lowest = dst.emin + src.bias
    magnitude = codes & unsigned(src.magnitude_mask)
    floats = magnitude.view(real)
    # NumPy takes three times longer for the minimum of integers.
    np.minimum(floats, real(2.0 ** (dst.emax + 1)), out=floats)
    power = magnitude & unsigned(src.magnitude_mask - src.fraction_mask)
    np.maximum(power.view(real), real(2.0**dst.emin), out=power.view(real))
    power += unsigned(surplus * one)
    floats += power.view(real)
    magnitude -= power
    power -= unsigned((lowest + surplus) * one)
    power >>= unsigned(surplus)
    magnitude += power  # the integer bit moves into the exponent field
    sign = codes >> unsigned(src.bits - dst.bits)
    sign &= unsigned(dst.sign_mask or 0)
    magnitude |= sign
    np.copyto(out, magnitude, casting="unsafe")


# Integers.


def from_integer(
    dst: FloatFormat,
    a: Codes,
    width: int,
    signed: bool,
    rounding: int = RNE,
    policy: FloatPolicy = SPEC,
    random: Random = None,
    want_flags: bool = False,
) -> ArrayResult:
    """Return what `exact.conversions.from_integer` returns.

    NumPy converts to f32 and f64, to nearest even. Integers of up to 16 bits have tables. Wider integers are rounded to
    odd to f64 and then converted from f64.
    """

    def exactly(codes: Codes) -> ArrayResult:
        return conversions.from_integer(dst, codes, width, signed, rounding, policy, random, want_flags)

    if want_flags:
        flagged = word_flags.from_integer(dst, width, signed, int(rounding), policy)
        return applied(flagged, (width,), (a,), exactly, flags=True) or exactly(a)
    if rounding == STOCHASTIC or dst.limbs > 1:
        return exactly(a)
    described = word_floats.from_integer(dst, width, signed, int(rounding), policy)
    by_words = applied(
        described, (width,), (a,), lambda x: _from_integer_in_arrays(dst, x, width, signed, int(rounding), policy)
    )
    return by_words or _from_integer_in_arrays(dst, a, width, signed, int(rounding), policy)


def _from_integer_in_arrays(
    dst: FloatFormat, a: Codes, width: int, signed: bool, rounding: int, policy: FloatPolicy
) -> ArrayResult:
    def exactly(codes: Codes) -> ArrayResult:
        return conversions.from_integer(dst, codes, width, signed, rounding, policy)

    dtype = np.dtype(domains.NATIVE_INTEGERS[width]) if signed and width in domains.NATIVE_INTEGERS else a.dtype
    if rounding == RNE and dst in domains.NATIVE and width in domains.NATIVE_INTEGERS:
        return ArrayResult(np.asarray(a.view(dtype).astype(domains.NATIVE[dst])).view(dst.storage_dtype))
    if width <= 16:
        key = ("from_integer", dst, width, signed, int(rounding), policy)
        return by_table(key, width, exactly, a)
    if width not in domains.NATIVE_INTEGERS or dst.precision > _PRECISION_OF_ODD:
        return exactly(a)
    once, twice = _of_integers(policy), scalar.through_f32(dst, policy)

    def work(out: Codes, x: Codes) -> Mask | None:
        if twice:
            return put(
                convert(domains.F32, dst, from_integer(domains.F32, x, width, signed).codes, rounding, policy), out
            )
        return put(convert(domains.F64, dst, _to_f64(x.view(dtype)), rounding, once), out)

    return in_chunks(a.shape, dst.storage_dtype, work, a)


_PRECISION_OF_ODD = 40  # up to this precision, rounding the results of `_to_f64` equals rounding once


@lru_cache(maxsize=256)
def _of_integers(policy: FloatPolicy) -> FloatPolicy:
    """Reset the fields of a policy that are only about floats."""
    return dataclasses.replace(policy, float_to_zeroless="rounded", float_to_nanless="rounded", wide_source="once")


def _to_f64(integers: npt.NDArray[Any]) -> Codes:
    """Convert integers to codes of f64: exactly, or, above 53 bits, rounded to odd without their eleven lowest bits."""
    if integers.itemsize == 8:
        top = integers >> 53
        large = (top != 0) & (top != -1)
        if large.any():
            low = (1 << 11) - 1
            odd = (integers | low) - low | ((integers & low != 0).astype(integers.dtype) << 11)
            integers = np.where(large, odd, integers)
    return np.asarray(integers.astype(np.float64)).view(np.uint64)


def to_integer(
    src: FloatFormat,
    a: Codes,
    width: int,
    signed: bool,
    rounding: int = RZ,
    policy: FloatPolicy = SPEC,
    random: Random = None,
    want_flags: bool = False,
) -> ArrayResult:
    """Return what `exact.conversions.to_integer` returns.

    Formats of up to 21 bits have tables. For f32 and f64, NumPy rounds all values and converts those in range. Values
    out of range are clamped if the policy says so and the bounds are floats; `exact` converts the rest, such as NaN.
    """

    def exactly(codes: Codes) -> ArrayResult:
        return conversions.to_integer(src, codes, width, signed, rounding, policy, random, want_flags)

    if want_flags:
        flagged = word_flags.to_integer(src, width, signed, int(rounding), policy)
        return applied(flagged, (src.bits,), (a,), exactly, flags=True) or exactly(a)
    if rounding == STOCHASTIC or width > 64:
        return exactly(a)
    described = word_floats.to_integer(src, width, signed, int(rounding))
    by_words = applied(
        described, (src.bits,), (a,), lambda x: _to_integer_in_arrays(src, x, width, signed, int(rounding), policy)
    )
    return by_words or _to_integer_in_arrays(src, a, width, signed, int(rounding), policy)


def _to_integer_in_arrays(
    src: FloatFormat, a: Codes, width: int, signed: bool, rounding: int, policy: FloatPolicy
) -> ArrayResult:
    def exactly(codes: Codes) -> ArrayResult:
        return conversions.to_integer(src, codes, width, signed, rounding, policy)

    if src.bits <= domains.TABLE_BITS:
        key = ("to_integer", src, width, signed, int(rounding), policy)
        return by_table(key, src.bits, exactly, a)
    if src not in domains.NATIVE or not width or not rounds_natively(src, rounding, policy):
        return exactly(a)
    dtype, round_ = domains.NATIVE[src], ROUNDERS[rounding]
    storage = storage_dtype(width)
    integers = np.dtype(f"i{storage.itemsize}") if signed else storage
    # Powers of two are exact in either format; a NaN makes both comparisons false.
    low, above = (-(2.0 ** (width - 1)), 2.0 ** (width - 1)) if signed else (0.0, 2.0**width)
    clamps = policy.float_to_int.startswith("saturate") and width <= src.precision
    unused = storage.type(-(1 << width) & (1 << 8 * storage.itemsize) - 1) if signed else storage.type(0)
    space = np.empty(min(a.size, LONG_CHUNK), dtype)

    def work(out: Codes, x: Codes) -> Mask | None:
        whole = round_(x.view(dtype), out=space[: x.size])
        apart = None
        if not (low <= whole.min() and whole.max() < above):
            if clamps:
                np.clip(whole, low, above - 1, out=whole)
            apart = np.flatnonzero(~((low <= whole) & (whole < above)))
            whole[apart] = 0
        np.copyto(out.view(integers), whole, casting="unsafe")
        if unused:
            np.bitwise_and(out, ~unused, out=out)
        if apart is None or not apart.size:
            return None
        result = exactly(x[apart])
        out[apart] = result.codes
        if result.poison is None:
            return None
        poison = np.zeros(x.size, np.bool_)
        poison[apart] = result.poison
        return poison

    with np.errstate(all="ignore"):
        return in_chunks(a.shape, storage, work, a, longest=LONG_CHUNK)


ROUNDERS: dict[int, Callable[..., npt.NDArray[Any]]] = {RNE: np.rint, RZ: np.trunc, RD: np.floor, RU: np.ceil}


def rounds_natively(src: FloatFormat, rounding: int, policy: FloatPolicy) -> bool:
    """Tell whether NumPy can round numbers of ``src`` to integers in a mode under this policy. In the modes other than
    to nearest even and toward zero, it cannot do so if subnormals are flushed.
    """
    if rounding in (RNE, RZ):
        return True
    return rounding in ROUNDERS and not policy.flushing(src).operands and llvm.keeps_subnormals()


@cache
def _largest(src: FloatFormat, dst: FloatFormat) -> float:
    """Return the largest value that both formats have."""
    return min(float(scalar.value(fmt, fmt.max_code) or 0) for fmt in (src, dst))
