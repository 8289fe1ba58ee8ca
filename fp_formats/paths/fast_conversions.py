"""The conversions of `exact`, with the same signatures and results, by quicker paths where one is proven.

`conversion_path` declares which path a conversion takes; the tests enumerate each against `exact`.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from functools import cache, lru_cache
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from halfulp.fp_formats import scalar
from halfulp.fp_formats.codes import Codes, Mask, storage_dtype
from halfulp.fp_formats.exact import arithmetic, conversions
from halfulp.fp_formats.exact.core import ArrayResult, Random
from halfulp.fp_formats.formats import FORMATS, FloatFormat, NanEncoding
from halfulp.fp_formats.paths import compiled, cpu
from halfulp.fp_formats.paths.tables import AT_ONCE, CHUNK, LONG_CHUNK, Ahead, by_table, in_chunks, in_turns
from halfulp.fp_formats.policy import SPEC, FloatPolicy
from halfulp.fp_formats.scalar import RD, RNE, RU, RZ, STOCHASTIC

F32, F64 = FORMATS["f32"], FORMATS["f64"]
NATIVE: dict[FloatFormat, np.dtype[Any]] = {F32: np.dtype("f4"), F64: np.dtype("f8")}
NATIVE_INTEGERS = {8: "i1", 16: "i2", 32: "i4", 64: "i8"}
# Casts that NumPy (for bf16: ml_dtypes) rounds once, to nearest even. NumPy's casts to f16 are not among them: an
# element that overflows or underflows takes hundreds of nanoseconds.
CASTS = (("f32", "f64"), ("f64", "f32"), ("f32", "bf16"), ("bf16", "f32"))
SUMS = (("f32", "f16"), ("f64", "f16"), ("f64", "bf16"))
TABLE_BITS = 21  # the longest codes that index a table: f16 needs this many bits of f32
BESIDE_BITS = 18  # the longest codes that index a table which only takes the elements that a cast cannot convert


@cache
def dtype_of(fmt: FloatFormat) -> np.dtype[Any]:
    """Return the dtype of NumPy or ml_dtypes whose values are those of f16, bf16, f32 or f64."""
    if fmt == FORMATS["bf16"]:
        import ml_dtypes  # only here: importing it takes time

        bf16: np.dtype[Any] = np.dtype(ml_dtypes.bfloat16)
        return bf16
    return np.dtype(np.float16) if fmt == FORMATS["f16"] else NATIVE[fmt]


class ConversionPath(NamedTuple):
    """A path of a conversion: its kind, and for a table its format and the bits that it drops.

    native: a cast of `CASTS`. `exact` does NaNs and, where overflow saturates, numbers above a format's maximum.
    sum: the same for `SUMS`, by adding a power of two, which rounds (see `narrow`).
    table: a table of the source's codes, rounded to odd to the format ``head``, which drops ``shift`` bits.
    through_f32: two conversions, since the policy says to round twice.
    flushed: flush the subnormals of f32 first, where a policy flushes those of f32 but not those of the destination.
    exact: no quicker path.
    """

    kind: str
    head: FloatFormat | None = None
    shift: int = 0


EXACT, FLUSHED = ConversionPath("exact"), ConversionPath("flushed")


@cpu.forgotten
@lru_cache(maxsize=4096)
def conversion_path(
    src: FloatFormat, dst: FloatFormat, rounding: int = RNE, policy: FloatPolicy = SPEC
) -> ConversionPath:
    """Return the path of conversions from ``src`` to ``dst``. Only `EXACT` gives flags or rounds stochastically."""
    if rounding == STOCHASTIC or src.limbs > 1 or dst.limbs > 1:
        return EXACT
    if src == F32 and dst != F32 and policy.without_f32 is not policy:
        return FLUSHED if policy.flushing(F32).operands or not policy.flushing(dst).operands else EXACT
    plain = rounding == RNE and not _flushes(src, dst, policy) and cpu.keeps_subnormals()
    if src.bits > 32 and (scalar.through_f32(dst, policy) or scalar.cuts(dst, policy)):
        return ConversionPath("through_f32") if src == F64 else EXACT
    if plain and src in FORMATS.values() and dst in FORMATS.values():
        for kind, pairs in (("native", CASTS), ("sum", SUMS)):
            if (src.name, dst.name) in pairs:
                return ConversionPath(kind)
    return table_path(src, dst)


def _flushes(src: FloatFormat, dst: FloatFormat, policy: FloatPolicy) -> bool:
    return policy.flushing(src).operands or policy.flushing(dst).results


@lru_cache(maxsize=4096)
def table_path(src: FloatFormat, dst: FloatFormat) -> ConversionPath:
    """Return the path by a table, for all modes and policies, or `EXACT`.

    Codes of up to 16 bits are indices themselves. Longer codes are first rounded to odd, to the sign, the exponent and
    the leading fraction bits. Two bits more than the destination can tell apart anywhere are enough: they round like
    the source in every mode, and keep the part of a NaN that the destination shows.
    """
    if src.bits <= 16:
        return ConversionPath("table", src)
    kept = dst.mantissa_bits + 2 + max(0, src.emin - dst.emin)
    bits = src.signed + src.exponent_bits + kept
    splits = src.nan is NanEncoding.IEEE and src.zero and not src.explicit_integer_bit
    if splits and kept < src.mantissa_bits and bits <= TABLE_BITS:
        head = FloatFormat(f"head of {src.name}", src.exponent_bits, kept, src.bias, src.signed)
        return ConversionPath("table", head, src.mantissa_bits - kept)
    return ConversionPath("table", src) if src.bits <= TABLE_BITS else EXACT


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
    path = EXACT if want_flags else conversion_path(src, dst, int(rounding), policy)
    if path is FLUSHED:
        if policy.flushing(src).operands:
            a = arithmetic.flush(src, a, policy).codes
        return convert(src, dst, a, rounding, policy.without_f32)
    ahead = None if path is EXACT else _compiled_ahead(src, dst, int(rounding), policy, a.size)
    if path is not EXACT and ahead is None:
        moved = _moved_up(src, dst, a, int(rounding), policy)
        if moved is not None:
            return moved
    if path.kind in ("native", "sum"):
        return _cast(path.kind, src, dst, a, policy, ahead)
    if path.kind == "through_f32":
        return in_chunks(
            a.shape,
            dst.storage_dtype,
            lambda out, x: put(convert(F32, dst, convert(src, F32, x, RNE, policy).codes, rounding, policy), out),
            a,
        )
    found = _tabled(path, dst, a, rounding, policy, ahead)
    return conversions.convert(src, dst, a, rounding, policy, random, want_flags) if found is None else found


def _tabled(
    path: ConversionPath, dst: FloatFormat, a: Codes, rounding: int, policy: FloatPolicy, ahead: Ahead | None = None
) -> ArrayResult | None:
    """Convert by the table of the path, if it has one and that saves time; else return None."""
    head = path.head
    if head is None:
        return None
    key = ("convert", head, dst, int(rounding), policy)
    return by_table(
        key, head.bits, lambda codes: conversions.convert(head, dst, codes, rounding, policy), a, path.shift, ahead
    )


def put(result: ArrayResult, out: Codes) -> Mask | None:
    """Write the codes of a result to ``out``; return its poison."""
    out[...] = result.codes
    return result.poison


def _cast(
    kind: str, src: FloatFormat, dst: FloatFormat, a: Codes, policy: FloatPolicy, ahead: Ahead | None = None
) -> ArrayResult:
    from_, to = dtype_of(src), dtype_of(dst)
    widens = src.bits < dst.bits
    limit = _largest(src, dst) if policy.conversion_saturation(dst).numbers else np.inf
    table = table_path(src, dst)
    if table.head is not None and table.head.bits > BESIDE_BITS:
        table = EXACT
    nans, signalling = nans_of(src, dst, policy), _signalling(src, dst, policy)

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
            found = _tabled(table, dst, x[index], RNE, policy)
            out[index] = (conversions.convert(src, dst, x[index], RNE, policy) if found is None else found).codes
            return
        met, suspect = True, mask[: x.size]
        if signalling is None:
            np.not_equal(searched, searched, out=suspect)
        else:
            np.equal(np.bitwise_and(x, signalling[0], out=bits[: x.size]), signalling[1], out=suspect)
        if suspect.any():
            index = _few(suspect)
            index = index if signalling is None else index[np.isnan(searched[index])]
            out[index] = nans.convert(x[index])

    # Casts are so quick that the calls for a chunk count.
    longest = CHUNK if kind == "sum" else LONG_CHUNK if ahead else 2 * LONG_CHUNK
    mask, bits = np.empty(min(a.size, longest), np.bool_), np.empty(min(a.size, longest), a.dtype)

    with np.errstate(all="ignore"):
        if ahead is None:
            return in_chunks(a.shape, dst.storage_dtype, work, a, longest=longest)

        def both(out: Codes, x: Codes) -> None:
            in_turns(ahead, lambda codes, part: work(part, codes), x, out, longest)

        return in_chunks(a.shape, dst.storage_dtype, both, a, longest=AT_ONCE)


def _few(mask: Mask) -> npt.NDArray[np.intp]:
    """Return where a mask holds; several times faster than NumPy where it rarely does."""
    whole = mask.size & ~7
    rows = np.flatnonzero(mask[:whole].view(np.uint64) != 0)
    if mask.size > whole or rows.size > whole >> 6:
        return np.flatnonzero(mask)
    places: npt.NDArray[np.intp] = (rows[:, np.newaxis] * 8 + np.arange(8)).reshape(-1)
    return np.asarray(places[mask[places]])


def _moved_up(src: FloatFormat, dst: FloatFormat, a: Codes, rounding: int, policy: FloatPolicy) -> ArrayResult | None:
    """Convert codes that are nothing but an exponent by moving them up. The first and the last code also get the
    highest bit of the fraction. None if that is not the conversion.
    """
    if not _only_moves(src, dst, rounding, policy):
        return None
    size, up = min(a.size, LONG_CHUNK), dst.mantissa_bits
    ends, first, second = np.empty(size, np.uint8), *np.empty((2, size), np.uint16)

    def work(out: Codes, x: Codes) -> None:
        end, wide, extra = (each[: x.size] for each in (ends, first, second))
        np.add(x, 1, out=end)
        np.less_equal(end, 1, out=end.view(np.bool_))
        if not end.any():
            np.copyto(out, x)
            np.left_shift(out, up, out=out)
            return
        np.copyto(wide, x)
        np.copyto(extra, end)
        np.add(wide, wide, out=wide)
        np.bitwise_or(wide, extra, out=wide)
        np.copyto(out, wide)
        np.left_shift(out, up - 1, out=out)

    return in_chunks(a.shape, dst.storage_dtype, work, a, longest=LONG_CHUNK)


@cpu.forgotten
@lru_cache(maxsize=256)
def _only_moves(src: FloatFormat, dst: FloatFormat, rounding: int, policy: FloatPolicy) -> bool:
    """Tell whether `_moved_up` does a conversion."""
    if ahead_of(src, dst, rounding, policy) != "exponents" or src.bits != 8 or dst.bits < 9:
        return False
    ends = (0, 1), (src.code_mask, 2 * src.code_mask + 1)
    return all(
        scalar.convert(src, dst, code, rounding, policy).code == wanted << dst.mantissa_bits - 1
        for code, wanted in ends
    )


@cpu.forgotten
@lru_cache(maxsize=256)
def _signalling(src: FloatFormat, dst: FloatFormat, policy: FloatPolicy) -> tuple[int, int] | None:
    """Return a test (mask, value) that ``code & mask == value`` for the NaNs that a conversion from bf16 to f32 does
    not just move up: those that signal. It holds for infinities, too.
    """
    nans = nans_of(src, dst, policy)
    infinity, quiet = src.infinity_code or 0, 1 << src.mantissa_bits >> 1
    if nans is None or ahead_of(src, dst, RNE, policy) != "widen":
        return None
    codes = np.arange(infinity | quiet, infinity + (1 << src.mantissa_bits), dtype=src.storage_dtype)
    codes = np.concatenate([codes, codes | codes.dtype.type(src.sign_mask or 0)])
    moved = codes.astype(dst.storage_dtype) << nans.dst.mantissa_bits - src.mantissa_bits
    return (infinity | quiet, infinity) if np.array_equal(nans.convert(codes), moved) else None


class Nans(NamedTuple):
    """The constants that turn NaNs of one format into NaNs of another.

    The results have the bits ``nan``; negative ones get ``sign``; ``payload`` are the bits that come from the fraction,
    which is ``shift`` bits longer than the result's.
    """

    src: FloatFormat
    dst: FloatFormat
    nan: int
    sign: int
    payload: int
    shift: int

    def convert(self, codes: Codes) -> Codes:
        """Convert codes that are NaNs."""
        if self.shift == self.src.bits - self.dst.bits > 0:  # one shift also moves the sign
            kept = (codes >> self.shift) & (self.payload | self.sign)
            return np.asarray((kept | self.nan).astype(self.dst.storage_dtype))
        wider = codes if self.shift > 0 else codes.astype(self.dst.storage_dtype)
        unsigned = wider.dtype.type
        payload = wider >> unsigned(self.shift) if self.shift > 0 else wider << unsigned(-self.shift)
        negative = codes >> codes.dtype.type(self.src.bits - 1)
        # A sign is one bit, so that the product is the sign or nothing.
        result = (payload & unsigned(self.payload)) | (negative.astype(unsigned) * unsigned(self.sign))
        return np.asarray((result | unsigned(self.nan)).astype(self.dst.storage_dtype))


@lru_cache(maxsize=4096)
def nans_of(src: FloatFormat, dst: FloatFormat, policy: FloatPolicy) -> Nans | None:
    """Return how NaNs are converted, if both formats have a sign and NaNs like those of IEEE 754, in one word."""
    code = src.nan_code
    if not all(fmt.signed and fmt.nan is NanEncoding.IEEE and fmt.limbs == 1 for fmt in (src, dst)) or code is None:
        return None
    nan, negative, full = (
        scalar.convert(src, dst, each, RNE, policy).code
        for each in (code, code | (src.sign_mask or 0), src.magnitude_mask)
    )
    return Nans(src, dst, nan, nan ^ negative, nan ^ full, src.mantissa_bits - dst.mantissa_bits)


def narrow(src: FloatFormat, dst: FloatFormat, codes: Codes, out: Codes) -> None:
    """Round codes of f32 or f64 to nearest even into ``out``, to a format of `SUMS`. A NaN gives any code.

    Add a power of two to the magnitude, so large that the last fraction bit of the sum is the last bit of the result:
    the addition rounds as the result must round. The bits by which the sum exceeds that power are the result's
    significand.
    """
    unsigned, real, one = codes.dtype.type, NATIVE[src].type, 1 << src.mantissa_bits
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


@cache
def _largest(src: FloatFormat, dst: FloatFormat) -> float:
    """Return the largest value that both formats have."""
    return min(float(scalar.value(fmt, fmt.max_code) or 0) for fmt in (src, dst))


# Compiled loops without a table. They go on until they meet a number above the limit, which is the destination's
# maximum if larger numbers do not become infinity, or a NaN that `Nans` does not describe. From there on the
# conversion takes its `ConversionPath`.


@cpu.forgotten
@lru_cache(maxsize=4096)
def ahead_of(src: FloatFormat, dst: FloatFormat, rounding: int = RNE, policy: FloatPolicy = SPEC) -> str | None:
    """Return the compiled loop that does the first part of a conversion that is not `EXACT`, where numba is installed.

    widen: bf16 to f32: append zeros to the fraction.
    shorten: f32 to bf16, and others with one exponent field: round the code itself, to nearest even; the carry moves
        into the exponent.
    exponents: from formats with nothing but an exponent, which the destination has as well; in all modes.
    f32 or f64: by the sums of `narrow`, in this format, to nearest even; from f32 and f64 to formats of up to 16 bits,
        if all powers of two that are added are normal values.
    """
    if not (src.zero or src.signed or src.mantissa_bits) and src.nan is NanEncoding.ALL_ONES:
        same = (dst.exponent_bits, dst.bias, dst.nan, dst.zero) == (src.exponent_bits, src.bias, NanEncoding.IEEE, True)
        return "exponents" if same and dst.limbs == 1 and rounding != STOCHASTIC else None
    if rounding != RNE or dst.even_code or _flushes(src, dst, policy) or not cpu.keeps_subnormals():
        return None
    if (src, dst) == (FORMATS["bf16"], F32):
        return "widen"
    return "shorten" if _shortens(src, dst) else _sums(src, dst, policy)


def _shortens(src: FloatFormat, dst: FloatFormat) -> bool:
    same = (dst.exponent_bits, dst.bias, dst.signed, dst.nan) == (src.exponent_bits, src.bias, True, NanEncoding.IEEE)
    return same and src in NATIVE and dst.bits <= 16 and dst.zero and dst.has_negative_zero


def _sums(src: FloatFormat, dst: FloatFormat, policy: FloatPolicy) -> str | None:
    """Return the format whose sums round to nearest even to ``dst``; None without one."""
    rules = (
        src in NATIVE and dst.bits <= 16 and not dst.explicit_integer_bit,
        src == F32 or not (scalar.through_f32(dst, policy) or scalar.cuts(dst, policy)),
        dst.nan is not NanEncoding.NONE or policy.float_to_nanless == "rounded",
        dst.signed or (dst.nan is NanEncoding.ALL_ONES and policy.negative_to_unsigned == "nan"),
        dst.zero or (policy.zero_to_zeroless == "smallest" and policy.float_to_zeroless == "rounded"),
    )
    if not all(rules):
        return None
    for sums in dict.fromkeys((src, F64)):
        surplus = sums.mantissa_bits - dst.mantissa_bits
        if surplus > 0 and sums.emin <= dst.emin and dst.emax + 1 + surplus <= sums.emax:
            return sums.name
    return None


class Sums(NamedTuple):
    """The constants of rounding by sums (see `narrow`) from f32 or f64 to a format of up to 16 bits.

    ``result``: that format. ``fmt``: the format of the sums. Codes with a magnitude above ``limit``, and the code
    ``apart``, are not rounded. Magnitudes are clamped to ``smallest`` and ``largest``. The power that is added to a
    number with these bits of ``exponents`` has at least the bits ``least``, and ``up`` more; ``lowest`` and ``surplus``
    turn it into the exponent of the result. Codes of negative numbers get the bits ``negative``; the code ``hole``
    becomes 0.
    """

    result: FloatFormat
    fmt: FloatFormat
    limit: int
    apart: int
    smallest: float
    largest: float
    exponents: int
    least: int
    up: int
    lowest: int
    surplus: int
    negative: int
    hole: int


@cpu.forgotten
@lru_cache(maxsize=4096)
def sums_of(src: FloatFormat, dst: FloatFormat, rounding: int = RNE, policy: FloatPolicy = SPEC) -> Sums | None:
    """Return how a conversion is done by sums; None if it is not, or `ahead_of` names no loop."""
    kind = ahead_of(src, dst, rounding, policy)
    kind = _sums(src, dst, policy) if kind == "shorten" else kind
    if kind not in ("f32", "f64"):
        return None
    sums, sign = FORMATS[kind], dst.sign_mask or 0
    one = 1 << sums.mantissa_bits
    surplus = sums.mantissa_bits - dst.mantissa_bits
    least, up = (dst.emin + sums.bias) * one, surplus * one
    return Sums(
        dst,
        sums,
        _highest(src, dst, policy),
        # Without a sign every negative value but -0 is NaN, all ones; with a sign only NaNs are special.
        src.code_mask if sign else src.sign_mask or 0,
        0.0 if dst.zero else 2.0**dst.emin,
        2.0 ** (dst.emax + 1),
        sums.magnitude_mask - sums.fraction_mask,
        least,
        up,
        least + up + one - dst.min_normal_magnitude * (one >> dst.mantissa_bits),
        surplus,
        sign or dst.code_mask,
        sign if sign and not dst.has_negative_zero else 1 << 31,
    )


def _highest(src: FloatFormat, dst: FloatFormat, policy: FloatPolicy) -> int:
    """Return the magnitude above which a compiled loop stops: that of the infinity, or of the largest value if larger
    ones do not become infinity.
    """
    if dst.nan is not NanEncoding.IEEE or policy.conversion_saturation(dst).numbers:
        return min(scalar.convert(dst, src, dst.max_code).code, src.max_code)
    return src.infinity_code or 0


@lru_cache(maxsize=4096)
def _ahead(
    src: FloatFormat, dst: FloatFormat, rounding: int, policy: FloatPolicy
) -> tuple[compiled.Loop, tuple[float, ...]] | None:
    """Return the loop, and its arguments between the operand and the result."""
    kind = ahead_of(src, dst, rounding, policy)
    if kind is None:
        return None
    codes, results = src.storage_dtype, dst.storage_dtype
    kinds: tuple[Any, ...]
    limit, nans = _highest(src, dst, policy), nans_of(src, dst, policy)
    infinity = src.infinity_code
    if nans is None or infinity is None or limit != infinity:
        infinity, nans = src.magnitude_mask, Nans(src, dst, 0, 0, 0, 0)  # a NaN stops the loop
    else:
        limit = src.magnitude_mask
    special = src.magnitude_mask, limit, infinity, nans.sign | nans.payload, nans.nan
    if kind == "widen":
        shift = dst.mantissa_bits - src.mantissa_bits
        kinds = (codes,), results, codes, codes, codes, results, results, (results,)
        return compiled.loop(compiled.widen, *kinds), (shift, *special)
    if kind == "shorten":
        shift = src.mantissa_bits - dst.mantissa_bits
        kinds = (codes,), codes, codes, codes, codes, codes, codes, codes, (results,)
        return compiled.loop(compiled.shorten, *kinds), (shift, (1 << shift >> 1) - 1, *special)
    if kind == "exponents":
        ends = [scalar.convert(src, dst, code, rounding, policy).code for code in (0, src.code_mask)]
        assert ends[1] == ends[1] | src.code_mask << dst.mantissa_bits  # NaN and infinity have all bits of the exponent
        loop = compiled.loop(compiled.widen_exponents, (codes,), "u4", codes, results, results, (results,))
        return loop, (dst.mantissa_bits, src.code_mask, *ends)
    sums = sums_of(src, dst, rounding, policy)
    assert sums is not None
    code, real = sums.fmt.storage_dtype, NATIVE[sums.fmt]
    kinds = (codes,), (NATIVE[src],), codes, codes, codes, real, real, *[code] * 5, codes, "u4", "u4"
    of_nans = codes, codes, "u4", "u4", "u4"
    function = compiled.round_by_f32_sums if sums.fmt == F32 else compiled.round_by_f64_sums
    return compiled.loop(function, *kinds, *of_nans, (results,)), (
        src.magnitude_mask,
        limit,
        *sums[3:-2],
        src.bits - 1,
        *sums[-2:],
        infinity,
        nans.shift,
        nans.payload,
        nans.sign,
        nans.nan,
    )


def _compiled_ahead(
    src: FloatFormat, dst: FloatFormat, rounding: int, policy: FloatPolicy, elements: int
) -> Ahead | None:
    found = _ahead(src, dst, rounding, policy)
    if found is None:
        return None
    loop, constants = found
    ahead = loop.get(elements)
    if ahead is None:
        return None
    if loop.function in (compiled.round_by_f32_sums, compiled.round_by_f64_sums):
        return lambda codes, out: ahead(codes, codes.view(NATIVE[src]), *constants, out)
    return lambda codes, out: ahead(codes, *constants, out)


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

    NumPy converts to f32 and f64, to nearest even. Integers of up to 16 bits have tables. Wider ones are rounded to odd
    to f64 and then converted from f64.
    """

    def exactly(codes: Codes) -> ArrayResult:
        return conversions.from_integer(dst, codes, width, signed, rounding, policy, random, want_flags)

    if want_flags or rounding == STOCHASTIC or dst.limbs > 1:
        return exactly(a)
    dtype = np.dtype(NATIVE_INTEGERS[width]) if signed and width in NATIVE_INTEGERS else a.dtype
    if rounding == RNE and dst in NATIVE and width in NATIVE_INTEGERS:
        return ArrayResult(np.asarray(a.view(dtype).astype(NATIVE[dst])).view(dst.storage_dtype))
    if width <= 16:
        key = ("from_integer", dst, width, signed, int(rounding), policy)
        found = by_table(key, width, exactly, a)
        return exactly(a) if found is None else found
    if width not in NATIVE_INTEGERS or dst.precision > _PRECISION_OF_ODD:
        return exactly(a)
    once, twice = _of_integers(policy), scalar.through_f32(dst, policy)

    def work(out: Codes, x: Codes) -> Mask | None:
        if twice:
            return put(convert(F32, dst, from_integer(F32, x, width, signed).codes, rounding, policy), out)
        return put(convert(F64, dst, _to_f64(x.view(dtype)), rounding, once), out)

    return in_chunks(a.shape, dst.storage_dtype, work, a)


_PRECISION_OF_ODD = 40  # up to this precision, rounding the results of `_to_f64` equals rounding once


@lru_cache(maxsize=256)
def _of_integers(policy: FloatPolicy) -> FloatPolicy:
    """Reset the fields of a policy that are about floats alone."""
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

    if want_flags or rounding == STOCHASTIC or width > 64:
        return exactly(a)
    if src.bits <= TABLE_BITS:
        key = ("to_integer", src, width, signed, int(rounding), policy)
        found = by_table(key, src.bits, exactly, a)
        return exactly(a) if found is None else found
    if src not in NATIVE or not width or not rounds_natively(src, rounding, policy):
        return exactly(a)
    dtype, round_ = NATIVE[src], ROUNDERS[rounding]
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
    """Tell whether NumPy rounds to an integer as the mode says. To nearest and toward zero, subnormals do not
    matter.
    """
    if rounding in (RNE, RZ):
        return True
    return rounding in ROUNDERS and not policy.flushing(src).operands and cpu.keeps_subnormals()
