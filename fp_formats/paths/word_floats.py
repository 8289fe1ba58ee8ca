"""Float operations on machine words: the paths of `fast` and `fast_conversions` that a compiler can take.

Each function returns a description (see `words`) whose results, where it does not refuse, are those of `scalar`; None
where there is no path. NaN results are refused, so that `scalar` alone decides their bits. `word_flags` describes the
same operations with exception flags, for all formats, modes and policies.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from halfulp.fp_formats.exact import arithmetic, comparisons, conversions
from halfulp.fp_formats.exact.core import ArrayResult
from halfulp.fp_formats.formats import FORMATS, FloatFormat, storage_dtype
from halfulp.fp_formats.paths import domains, llvm
from halfulp.fp_formats.paths.domains import flushes
from halfulp.fp_formats.paths.words import F32, F64, Implementation, Real, Word
from halfulp.fp_formats.policy import SPEC, FloatPolicy
from halfulp.fp_formats.scalar import RD, RNA, RNE, RU, RZ, STOCHASTIC

_BF16, _F16 = FORMATS["bf16"], FORMATS["f16"]

Table = npt.NDArray[Any]


@llvm.forgotten
@lru_cache(maxsize=4096)
def binary(name: str, fmt: FloatFormat, rounding: int, policy: FloatPolicy) -> Implementation | None:
    """Return the description of an operation with two operands and a result of one format, named as in `scalar`."""
    path = domains.path_of(name, fmt, rounding, policy)
    if path == "table" and fmt.bits <= 8:
        return _by_pairs(name, fmt, rounding, policy)
    if name in domains.ARITHMETIC and rounding == RNE and path in ("native", "through_f32"):
        return _arithmetic(name, fmt)
    if name in domains.MAXIMA + domains.MINIMA and path in ("native", "bits"):
        return _extremum(name in domains.MAXIMA, fmt)
    return None


def _arithmetic(name: str, fmt: FloatFormat) -> Implementation:
    """Return the description of a sum, difference, product or quotient, to nearest even. NaNs are refused."""

    def implementation(a: Word, b: Word) -> Word:
        x, y = widened(fmt, a), widened(fmt, b)
        result = x.computed(name, y)
        if fmt == _BF16:
            # Their NaNs end with 16 zeros, and so does the NaN of an operation on numbers: rounding keeps it.
            return _coded(_rounded_to_bf16(result).settled(), fmt)
        return _narrowed(result) if fmt == _F16 else result.settled().code()

    return implementation


@llvm.forgotten
@lru_cache(maxsize=64)
def fma(fmt: FloatFormat, rounding: int, policy: FloatPolicy) -> Implementation | None:
    """Return the description of a fused multiply-add of f32 or f64, to nearest even, by the instruction of the
    processor. NaNs are refused.
    """
    native = fmt in domains.NATIVE and rounding == RNE and domains.path_of("add", fmt, rounding, policy) == "native"
    if not native or not llvm.fuses():
        return None
    return lambda a, b, c: a.real(fmt).fused(b.real(fmt), c.real(fmt)).settled().code()


def _extremum(largest: bool, fmt: FloatFormat) -> Implementation:
    """Return the description of minimum or maximum, where -0 < +0. A NaN is refused."""
    return lambda a, b: _coded(widened(fmt, a).extremum(widened(fmt, b), largest), fmt)


def negate(fmt: FloatFormat, policy: FloatPolicy) -> Implementation | None:
    """Return the description of a negation."""
    mask = fmt.sign_mask or 0
    return (lambda a: a ^ mask) if domains.path_of("negate", fmt, RNE, policy) == "bits" else None


_RELATIONS: dict[int, Callable[[Real, Real], Word]] = {
    1: lambda x, y: x.equals(y),
    2: lambda x, y: y.less(x),
    3: lambda x, y: y.at_most(x),
    4: lambda x, y: x.less(y),
    5: lambda x, y: x.at_most(y),
    6: lambda x, y: x.less(y) | y.less(x),
    7: lambda x, y: x.at_most(y) | y.less(x),
}
"""The ordered comparisons, by MLIR's number. An unordered one is the opposite of an ordered one."""
_OPPOSITES = {8: 6, 9: 5, 10: 4, 11: 3, 12: 2, 13: 1, 14: 7}


@llvm.forgotten
@lru_cache(maxsize=4096)
def compare(predicate: int, fmt: FloatFormat, policy: FloatPolicy) -> Implementation | None:
    """Return the description of a comparison. ``predicate``: MLIR's number."""
    path = domains.path_of("compare", fmt, RNE, policy)
    if path == "table":
        operation = lambda a, b: comparisons.compare(fmt, predicate, a, b, policy)  # noqa: E731
        return _pairs(fmt, operation, ("compare", predicate, fmt, policy), 1)
    relation = _RELATIONS.get(_OPPOSITES.get(predicate, predicate))
    if path is None or relation is None:
        return None

    def implementation(a: Word, b: Word) -> Word:
        holds = relation(widened(fmt, a), widened(fmt, b))
        return ~holds if predicate in _OPPOSITES else holds

    return implementation


# --- conversions ------------------------------------------------------------------------------------------------------


def widened(fmt: FloatFormat, a: Word) -> Real:
    """Return the number that a code of f16, bf16, f32 or f64 represents; a number of f16 or bf16 is given in f32."""
    if a.known is not None and a.known[0] == fmt:
        return a.known[1]
    if fmt == _BF16:
        return (a.resized(32) << 16).real(F32)
    if fmt != _F16:
        return a.real(fmt)
    bits = a.resized(32)
    magnitude = (bits & 0x7FFF) << 13
    # The exponent is too small by the difference of the biases; a product corrects it for subnormals as well.
    special = ~magnitude.less(0x7C00 << 13, signed=False)
    finite = (magnitude.real(F32) * 2.0**112).code()
    return (special.choose(magnitude | 0x7F800000, finite) | ((bits & 0x8000) << 16)).real(F32)


@llvm.forgotten
@lru_cache(maxsize=4096)
def convert(src: FloatFormat, dst: FloatFormat, rounding: int, policy: FloatPolicy) -> Implementation | None:
    """Return the description of a conversion between floats."""
    path = domains.conversion_path(src, dst, rounding, policy)
    if rounding == STOCHASTIC or src.limbs > 1 or dst.limbs > 1 or path.kind == "through_f32":
        return None
    if domains.only_moves(src, dst, rounding, policy):
        return lambda a: _moved_up(a, src, dst)
    nans = domains.nans_of(src, dst, policy)
    if (src, dst) == (_BF16, F32) and nans is not None and nans.sign in (0, dst.sign_mask) and _plain(src, dst, policy):
        return lambda a: _appended(a, nans)
    cuts = src in domains.NATIVE and (src.exponent_bits, src.bias) == (dst.exponent_bits, dst.bias) and rounding == RNE
    if cuts and nans is not None and nans.shift > 0 and _plain(src, dst, policy):
        return lambda a: _shortened(a, nans)
    if src in (_BF16, _F16) and dst in domains.NATIVE and _plain(src, dst, policy):
        return lambda a: _converted(widened(src, a), dst)
    if src in (_BF16, _F16) and src != dst and not flushes(src, dst, policy) and _same_nans(src, dst, policy):
        of_f32 = domains.sums_of(F32, dst, rounding, policy)
        if of_f32 is not None:
            return lambda a: _by_sums(widened(src, a).code(), F32, of_f32)
    if path.kind == "native" and {src, dst} == {F32, F64} and not policy.conversion_saturation(dst).numbers:
        return lambda a: _converted(a.real(src), dst)
    sums = domains.sums_of(src, dst, rounding, policy)
    if sums is not None:
        return lambda a: _by_sums(a, src, sums)
    if path.kind == "table" and path.head is not None:
        return _by_table(path.head, path.shift, dst, rounding, policy)
    return None


def _same_nans(src: FloatFormat, dst: FloatFormat, policy: FloatPolicy) -> bool:
    """Tell whether NaNs and infinities of f16 or bf16 become what the corresponding ones of f32 become."""
    infinity, up = src.infinity_code or 0, F32.mantissa_bits - src.mantissa_bits
    codes = np.arange(infinity, infinity + (1 << src.mantissa_bits), dtype=np.uint16)
    codes = np.concatenate([codes, codes | np.uint16(src.sign_mask or 0)])
    bits = codes.astype(np.uint32)
    wide = (bits & 0x8000) << 16 | np.uint32(F32.infinity_code or 0) | (bits & src.fraction_mask) << up
    found = [conversions.convert(fmt, dst, each, RNE, policy) for fmt, each in ((src, codes), (F32, wide))]
    poison = [np.zeros(codes.size, np.bool_) if each.poison is None else each.poison for each in found]
    return np.array_equal(found[0].codes, found[1].codes) and np.array_equal(poison[0], poison[1])


def _converted(number: Real, dst: FloatFormat) -> Word:
    """Return the code of a number in f32 or f64; refuse a NaN."""
    return number.converted(dst).settled().code()


def _plain(src: FloatFormat, dst: FloatFormat, policy: FloatPolicy) -> bool:
    """Tell whether a conversion changes only NaNs and the numbers that ``dst`` cannot represent."""
    flushes = policy.flushing(src).operands or policy.flushing(dst).results
    return not flushes and not policy.conversion_saturation(dst).numbers and llvm.keeps_subnormals()


def _rounded_to_bf16(number: Real) -> Real:
    """Round a number of f32 to nearest even. For a NaN whose upper 16 bits are all ones the result is any number."""
    bits = number.code()
    return ((bits + 0x7FFF + (bits.shift_right(16) & 1)) & 0xFFFF0000).real(F32)


def _narrowed(number: Real) -> Word:
    """Round a number of f32 to f16, to nearest even; refuse a NaN."""
    bits = number.settled().code()
    # The last fraction bit of a sum with this power is the last bit of the result.
    magnitude = _least(bits & F32.magnitude_mask, _ABOVE_F16)
    power = _largest(magnitude & 0x7F800000, _NORMAL_F16) + (13 << 23)
    total = magnitude.real(F32).computed("add", power.real(F32)).computed("subtract", power.real(F32))
    # What is above the largest value overflows to infinity; anything else stays.
    total = total * 2.0**112 * 2.0**-112
    return _coded((total.code() | (bits & 1 << 31)).real(F32), _F16)


_ABOVE_F16, _NORMAL_F16 = 0x47800000, 0x38800000  # 2**16 and 2**-14 in f32


def _least(a: Word, bound: int) -> Word:
    return a.less(bound, signed=False).choose(a, a.of(bound))


def _largest(a: Word, bound: int) -> Word:
    return a.less(bound, signed=False).choose(a.of(bound), a)


def _coded(number: Real, fmt: FloatFormat) -> Word:
    """Return the code of a number that is a value of f16, bf16, f32 or f64; a value of f16 or bf16 is given in f32."""
    bits = number.code()
    if number.fmt == fmt:
        return bits
    if fmt == _BF16:
        code = bits.shift_right(16)
    else:
        scaled = _least(bits & F32.magnitude_mask, _ABOVE_F16).real(F32) * 2.0**-112
        code = scaled.code().shift_right(13) | (bits.shift_right(16) & 0x8000)
    return replace(code.resized(16), known=(fmt, number))


def _by_sums(a: Word, src: FloatFormat, sums: domains.Sums) -> Word:
    """Round a code of f32 or f64 to nearest even. The results for overflow, infinities and NaNs, which sums do not
    give, are selected afterwards.
    """
    magnitude, width = a & src.magnitude_mask, sums.result.bits
    negative = a.shift_right(src.bits - 1).equals(1)
    result = _rounded(a.real(src).converted(sums.fmt), sums)
    if sums.minus_zero is not None:
        result = a.equals(src.sign_mask or 0).choose(result.of(sums.minus_zero), result)
    for above, codes in sums.ends:
        beyond = ~magnitude.at_most(above, signed=False)
        if codes is None:
            beyond.refuse()
            continue
        plus, minus = (result.of(code) for code in codes)
        result = beyond.choose(plus if codes[0] == codes[1] else negative.choose(minus, plus), result)
    if sums.nans is not None:
        nan = ~magnitude.at_most(src.infinity_code or 0, signed=False)
        result = nan.choose(_nan(a, sums.nans).resized(result.width), result)
    return result.resized(width)


def _nan(a: Word, nans: domains.Nans) -> Word:
    """Return the code of a NaN in a shorter format, in a word as long as that of the longer one."""
    sign = a.shift_right(a.width - nans.dst.bits) & nans.sign
    return (a.shift_right(nans.shift) & nans.payload) | sign | nans.nan


def _shortened(a: Word, nans: domains.Nans) -> Word:
    """Round a code to nearest even to a format with as many exponent bits: a carry moves into the exponent."""
    below = (1 << nans.shift >> 1) - 1
    rounded = (a + below + (a.shift_right(nans.shift) & 1)).shift_right(nans.shift)
    nan = ~(a & nans.src.magnitude_mask).at_most(nans.src.infinity_code or 0, signed=False)
    return nan.choose(_nan(a, nans), rounded).resized(nans.dst.bits)


def _moved_up(a: Word, src: FloatFormat, dst: FloatFormat) -> Word:
    """Convert a code that is nothing but an exponent: it becomes the exponent of the new code. See `only_moves`."""
    wide, half = a.resized(dst.bits), 1 << dst.mantissa_bits - 1
    ends = (a + 1).at_most(1, signed=False)
    return (wide << dst.mantissa_bits) | ends.choose(wide.of(half), wide.of(0))


def _appended(a: Word, nans: domains.Nans) -> Word:
    """Append zeros to the fraction of a code of bf16; a NaN gets the bits that a NaN of f32 has."""
    wide = a.resized(nans.dst.bits) << -nans.shift
    nan = ~(wide & nans.dst.magnitude_mask).at_most(nans.dst.infinity_code or 0, signed=False)
    return nan.choose((wide & (nans.payload | nans.sign)) | nans.nan, wide)


def _rounded(number: Real, sums: domains.Sums) -> Word:
    """Add a power of two, so large that the last fraction bit of the sum is the last bit of the result: the addition
    rounds as the result must round. The bits by which the sum exceeds that power are the result's significand; the
    integer bit moves into the exponent.
    """
    code = number.code()
    value = (code & sums.fmt.magnitude_mask).real(sums.fmt)
    value = value.less(sums.largest).choose(value, value.of(sums.largest))
    if sums.smallest:
        value = value.less(sums.smallest).choose(value.of(sums.smallest), value)
    exponent = value.code() & sums.exponents
    power = exponent.less(sums.least, signed=False).choose(exponent.of(sums.least), exponent) + sums.up
    total = (value + power.real(sums.fmt)).code() - power
    total = total + (power - sums.lowest).shift_right(sums.surplus)
    sign = sums.result.sign_mask
    if sign == sums.negative:
        negative = code.shift_right(code.width - sums.result.bits) & sign
    else:
        negative = code.shift_right(code.width - 1).equals(1).choose(total.of(sums.negative), total.of(0))
    result = total | negative
    if sums.hole < 1 << sums.result.bits:
        result = result.equals(sums.hole).choose(result.of(0), result)
    return result


@llvm.forgotten
@lru_cache(maxsize=4096)
def from_integer(
    dst: FloatFormat, width: int, signed: bool, rounding: int, policy: FloatPolicy
) -> Implementation | None:
    """Return the description of a conversion of integers to floats."""
    # These fields are about floats that are converted; the way by f64 would apply them to integers.
    if not 0 < width <= 64 or any(getattr(policy, field) != getattr(SPEC, field) for field in _OF_FLOATS):
        return None
    if dst in domains.NATIVE and rounding == RNE:
        return lambda a: a.number(signed, dst).code()
    # f64 has every integer of so many bits.
    narrow = convert(F64, dst, rounding, policy) if width <= F64.precision and dst != F64 else None
    return None if narrow is None else lambda a: narrow(a.number(signed, F64).code())


_OF_FLOATS = ("float_to_nanless", "float_to_zeroless", "wide_source")


@llvm.forgotten
@lru_cache(maxsize=1024)
def to_integral(fmt: FloatFormat, rounding: int, policy: FloatPolicy) -> Implementation | None:
    """Return the description of a rounding to an integer, in f32 or f64."""
    if domains.path_of("to_integral", fmt, rounding, policy) != "native" or rounding not in _UNITS:
        return None
    magic = 2.0 ** (fmt.precision - 1)  # the numbers from here on are integers

    def implementation(a: Word) -> Word:
        a.real(fmt).settled()
        magnitude = a & fmt.magnitude_mask
        size = magnitude.real(fmt)
        nearest = (size + magic) - magic
        moved = _UNITS[rounding](size, nearest, (a & (fmt.sign_mask or 0)).differs(0))
        whole = size.less(magic).choose(moved.code(), magnitude)
        return whole | (a & (fmt.sign_mask or 0))

    return implementation


def _cut(size: Real, nearest: Real) -> Real:
    """Return the integer at or below a size, given the integer that is nearest to it."""
    return size.less(nearest).choose(nearest - 1.0, nearest)


def _up(size: Real, nearest: Real) -> Real:
    return nearest.less(size).choose(nearest + 1.0, nearest)


_UNITS: dict[int, Callable[[Real, Real, Word], Real]] = {
    RNE: lambda size, nearest, negative: nearest,
    RZ: lambda size, nearest, negative: _cut(size, nearest),
    RNA: lambda size, nearest, negative: (
        (size - _cut(size, nearest)).less(0.5).choose(_cut(size, nearest), _cut(size, nearest) + 1.0)
    ),
    RU: lambda size, nearest, negative: negative.choose(_cut(size, nearest), _up(size, nearest)),
    RD: lambda size, nearest, negative: negative.choose(_up(size, nearest), _cut(size, nearest)),
}
"""By rounding mode: the integer for the size of a number, from the nearest one, and whether the number is negative."""


@lru_cache(maxsize=4096)
def to_integer(src: FloatFormat, width: int, signed: bool, rounding: int) -> Implementation | None:
    """Return the description of a conversion to integers, toward zero. Numbers out of range are refused."""
    if src not in (*domains.NATIVE, _BF16, _F16) or rounding != RZ or not 0 < width <= 64:
        return None
    # A number fits if it is above the integer before the least one. Where the format lacks that integer, it has none
    # between it and the least one.
    least, above = (-(2.0 ** (width - 1)), 2.0 ** (width - 1)) if signed else (0.0, 2.0**width)
    before = not signed or width <= src.precision

    def implementation(a: Word) -> Word:
        x = widened(src, a)
        high_enough = x.of(least - 1).less(x) if before else x.of(least).at_most(x)
        outside = ~(high_enough & x.less(above))
        outside.refuse()
        # Processors and LLVM give anything outside; what follows may use it as an index.
        return outside.choose(x.of(0.0), x).integer(width, signed)

    return implementation


# --- tables -----------------------------------------------------------------------------------------------------------


@lru_cache(maxsize=256)
def _entries(key: Any, bits: int, operation: Callable[[Table], ArrayResult]) -> tuple[Table, Table | None]:
    """Return the table of an operation on codes of this many bits, and the table of its poison. ``key``: what the
    tables are kept by.
    """
    found = operation(np.arange(1 << bits, dtype=storage_dtype(bits)))
    poison = None if found.poison is None or not found.poison.any() else found.poison.astype(np.uint8)
    return np.ascontiguousarray(found.codes), poison


class _Of:
    """An operation with a key, so that its tables are made once for all operations with equal keys."""

    def __init__(self, key: Any, operation: Callable[[Table], ArrayResult]) -> None:
        self.key, self.operation = key, operation

    def __call__(self, codes: Table) -> ArrayResult:
        return self.operation(codes)

    def __hash__(self) -> int:
        return hash(self.key)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Of) and self.key == other.key


def _read(key: Any, bits: int, operation: Callable[[Table], ArrayResult], index: Word, width: int) -> Word:
    """Look up the result of an operation on codes of ``bits`` bits; poison is refused."""
    codes, poison = _entries(key, bits, _Of(key, operation))
    if poison is not None:
        index.entry(poison).equals(1).refuse()
    return index.entry(codes).resized(width)


def _by_pairs(name: str, fmt: FloatFormat, rounding: int, policy: FloatPolicy) -> Implementation:
    arguments: tuple[Any, ...] = (rounding, policy) if name in (*domains.ARITHMETIC, "remainder") else (policy,)
    operation = getattr(arithmetic, name)
    return _pairs(fmt, lambda a, b: operation(fmt, a, b, *arguments), (name, fmt, rounding, policy), fmt.bits)


def _pairs(fmt: FloatFormat, operation: Callable[[Table, Table], ArrayResult], key: Any, width: int) -> Implementation:
    """Return the description of a look-up of the result for two codes of up to 8 bits."""
    bits, mask = fmt.bits, fmt.code_mask

    def of_both(index: Table) -> ArrayResult:
        storage = fmt.storage_dtype
        return operation((index >> bits).astype(storage), (index & mask).astype(storage))

    return lambda a, b: _read(key, 2 * bits, of_both, (a.resized(2 * bits) << bits) | b.resized(2 * bits), width)


def _by_table(head: FloatFormat, shift: int, dst: FloatFormat, rounding: int, policy: FloatPolicy) -> Implementation:
    def implementation(a: Word) -> Word:
        index = a
        if shift:
            below = (1 << shift) - 1
            index = (a | ((a & below) + below)).shift_right(shift).resized(head.bits)
        key = ("convert", head, dst, rounding, policy)
        operation = lambda codes: conversions.convert(head, dst, codes, rounding, policy)  # noqa: E731
        return _read(key, head.bits, operation, index, dst.bits)

    return implementation
