"""How matrix units add: numbers aligned to the largest exponent, cut off, added, and rounded by `fp_formats`.

Arrays are [k, M, N, tiles], or broadcast to that, and [M, N, tiles] for C and sums. The rules that say what is aligned,
in which groups and with how many bits are rows of `tiled_chips`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from halfulp.fp_formats import exact
from halfulp.fp_formats.formats import FORMATS, FloatFormat
from halfulp.fp_formats.paths import fast
from halfulp.fp_formats.policy import SPEC
from halfulp.fp_formats.scalar import OVERFLOW, RNE, RZ
from halfulp.semantics.kernel import Codes, Mask
from halfulp.semantics.matrix_units.chips import Rule

Integers = npt.NDArray[np.int64]

F16, F32 = FORMATS["f16"], FORMATS["f32"]
ZERO_EXPONENT = -126  # that of a zero in an alignment, whatever its format

# What is recorded for explanations.


@dataclass(frozen=True)
class Alignment:
    """One sum of aligned terms: each is an integer times 2**(exponent - fraction_bits).

    ``labels`` name the terms. ``kept``: the terms as integers in units of 2**unit, cut off toward zero, or ``down``;
    ``total`` is their sum, and ``largest`` the exponent that they were aligned to.
    """

    labels: tuple[str, ...]
    significands: tuple[int, ...]
    exponents: tuple[int, ...]
    fraction_bits: tuple[int, ...]
    kept: tuple[int, ...]
    largest: int
    unit: int
    down: bool
    total: int

    @property
    def lost(self) -> tuple[Fraction, ...]:
        """What each term has more than what was kept of it."""
        unit = Fraction(2) ** self.unit
        terms = zip(self.significands, self.exponents, self.fraction_bits, self.kept, strict=True)
        return tuple(s * Fraction(2) ** (e - f) - kept * unit for s, e, f, kept in terms)


@dataclass(frozen=True)
class Rounded:
    """A rounded intermediate or final result, as a code of the format; ``label`` says of what."""

    label: str
    format: str
    code: int


@dataclass(frozen=True)
class ExactSum:
    """The exact products, then C, and their sum; of finite operands."""

    terms: tuple[Fraction, ...]
    total: Fraction


Step = Alignment | Rounded | ExactSum


class Trace(list[Step]):
    """The steps that led to one element, filled by the models themselves."""

    def rounded(self, label: str, fmt: FloatFormat, codes: Codes) -> None:
        """Note a rounded number."""
        self.append(Rounded(label, fmt.name, int(codes.reshape(-1)[0])))

    def aligned(
        self,
        labels: Sequence[str],
        terms: Sequence[Numbers],
        kept: Sequence[Integers],
        largest: Integers,
        unit_bits: int,
        total: Integers,
        down: bool = False,
    ) -> None:
        """Note an alignment; arrays of terms follow one another, and units are 2**(largest - unit_bits)."""

        def ints(arrays: Iterable[Any]) -> tuple[int, ...]:
            return tuple(int(each) for array in arrays for each in np.asarray(array).reshape(-1))

        (top,), (whole,) = ints([largest]), ints([total])
        fraction_bits = tuple(x.fraction_bits for x in terms for _ in range(x.significand.size))
        significands, exponents = ints(x.significand for x in terms), ints(x.exponent for x in terms)
        kept_terms = ints(kept)
        self.append(
            Alignment(
                tuple(labels), significands, exponents, fraction_bits, kept_terms, top, top - unit_bits, down, whole
            )
        )


# Decoding.


class Numbers(NamedTuple):
    """Finite codes as significand * 2**(exponent - fraction_bits), where a normal significand has an integer bit.

    ``nan`` and ``infinite`` are masks, or None where there is neither; there the numbers are nonsense, but for the sign
    of an infinity.
    """

    significand: Integers
    exponent: Integers
    fraction_bits: int
    nan: Mask | None = None
    infinite: Mask | None = None

    def at(self, index: Any) -> Numbers:
        """A part."""
        nan = None if self.nan is None else self.nan[index]
        infinite = None if self.infinite is None else self.infinite[index]
        return Numbers(self.significand[index], self.exponent[index], self.fraction_bits, nan, infinite)


def decode(fmt: FloatFormat, codes: Codes) -> Numbers:
    """Take codes of a format of up to 64 bits apart."""
    lifted = codes.astype(np.uint64)
    sign, significand, exponent = exact.unpack(fmt, lifted)
    signed = significand.view(np.int64)
    exponent = np.where(signed == 0, ZERO_EXPONENT, exponent + fmt.mantissa_bits)
    signed = np.where(sign != 0, -signed, signed)
    special = exact.specials_of(fmt, lifted)
    if special is None or not special.any():
        return Numbers(signed, exponent, fmt.mantissa_bits)
    nan = exact.nans_of(fmt, lifted)
    infinite = special if nan is None else special & ~nan
    return Numbers(signed, exponent, fmt.mantissa_bits, nan, infinite)


class Specials(NamedTuple):
    """Where a sum of products has NaN, +infinity and -infinity among its terms."""

    nan: Mask
    positive: Mask
    negative: Mask

    def into(self, fmt: FloatFormat, codes: Codes, nan_code: int) -> Codes:
        """Codes of the format with the results of these."""
        infinity, sign = fmt.infinity_code or 0, fmt.sign_mask or 0
        codes = np.where(self.positive, infinity, np.where(self.negative, infinity | sign, codes))
        return np.where(self.nan | (self.positive & self.negative), nan_code, codes)


def specials_of(a: Numbers, b: Numbers, c: Numbers, scales: tuple[Numbers, ...] = ()) -> Specials | None:
    """The special terms of sum(a * b, axis 0) + c, or None where there are none."""
    if all(x.nan is None and x.infinite is None for x in (a, b, c, *scales)):
        return None
    shape = np.broadcast_shapes(a.significand.shape, b.significand.shape)
    nan, positive, negative = (np.zeros(shape[1:], np.bool_) for _ in range(3))
    infinite, zero, minus = (np.zeros(shape, np.bool_) for _ in range(3))
    for x in (a, b, *scales):
        zero |= x.significand == 0
        minus ^= x.significand < 0
        if x.nan is not None:
            nan |= np.broadcast_to(x.nan, shape).any(axis=0)
        if x.infinite is not None:
            infinite |= x.infinite
    if infinite.any():
        nan |= (infinite & zero).any(axis=0)
        positive |= (infinite & ~minus).any(axis=0)
        negative |= (infinite & minus).any(axis=0)
    if c.nan is not None:
        nan |= c.nan
    if c.infinite is not None:
        positive |= c.infinite & (c.significand > 0)
        negative |= c.infinite & (c.significand < 0)
    return Specials(nan, positive, negative)


# The core: align, cut off, add.


def aligned(x: Numbers, largest: Integers, bits: int, down: bool = False) -> Integers:
    """Numbers in units of 2**(largest - bits), cut off toward zero, or downward; no exponent is above ``largest``."""
    extra = bits - x.fraction_bits
    shift = largest - x.exponent
    significand = x.significand
    if extra > 0:
        significand = significand << extra
    else:
        shift -= extra
    if down:
        return np.asarray(significand >> shift)
    negative = significand >> 63  # -1 or 0: the magnitude is shifted
    magnitude = significand ^ negative
    magnitude -= negative
    magnitude >>= shift
    magnitude ^= negative
    magnitude -= negative
    return magnitude


def aligned_sum(
    products: Numbers, bits: int, trace: Trace | None, addend: Numbers | None = None, label: str = "product"
) -> tuple[Integers, Integers]:
    """The sum along the first axis, and of the addend, of terms cut off toward zero; and the largest exponent.

    It is in units of 2**(largest - bits). In a trace, products are numbered within their group.
    """
    terms = [products] if addend is None else [products, addend]
    largest = products.exponent.max(axis=0)
    if addend is not None:
        largest = np.maximum(largest, addend.exponent)
    kept = [aligned(term, largest, bits) for term in terms]
    total = kept[0].sum(axis=0)
    if addend is not None:
        total += kept[1]
    if trace is not None:
        labels = [f"{label} {number}" for number in range(len(kept[0]))]
        trace.aligned([*labels, "c"] if addend is not None else labels, terms, kept, largest, bits, total)
    return total, largest


def rounded(fmt: FloatFormat, total: Integers, exponent: Integers, rounding: int) -> tuple[Codes, Mask]:
    """Codes of total * 2**exponent, and which of them overflow."""
    packed = exact.round_pack(
        fmt,
        (total < 0).reshape(-1).astype(np.uint64),
        np.abs(total).reshape(-1).view(np.uint64),
        exponent.reshape(-1),
        exact.How(rounding, SPEC, want_flags=True),
    )
    assert packed.flags is not None
    return packed.codes.reshape(total.shape), (packed.flags & OVERFLOW != 0).reshape(total.shape)


def products_of(a: Numbers, b: Numbers) -> Numbers:
    """The exact products; zeros count with the exponents that their factors have."""
    return Numbers(a.significand * b.significand, a.exponent + b.exponent, a.fraction_bits + b.fraction_bits)


# Rules. Each takes one group of factors at a time and the accumulator's codes, in D's format.


class Group(NamedTuple):
    """Factors [k, M, 1, tiles] and [k, 1, N, tiles], and their scales."""

    a: Numbers
    b: Numbers
    scales: tuple[Numbers, ...] = ()


def fused(rule: Rule, fmt: FloatFormat, group: Group, c: Codes, trace: Trace | None) -> Codes:
    """See `Rule`. NaN results are all ones but the sign, and zeros positive; overflow gives infinity."""
    addend = decode(fmt, c)
    products = scaled_products(rule, group) if group.scales else products_of(group.a, group.b)
    total, largest = aligned_sum(products, rule.bits, trace, addend)
    if fmt == F16:
        codes, _ = rounded(F16, total, largest - rule.bits, RNE)
    else:
        result = _cut_format(rule.fraction)
        codes, over = rounded(result, total, largest - rule.bits, RZ)
        codes = np.where(over, codes + 1, codes) << np.uint64(F32.mantissa_bits - rule.fraction)
    codes = np.where(codes == fmt.sign_mask, 0, codes)
    specials = specials_of(group.a, group.b, addend, group.scales)
    if specials is not None:
        codes = specials.into(fmt, codes, fmt.code_mask >> 1)
    return codes.astype(fmt.storage_dtype)


@lru_cache
def _cut_format(fraction: int) -> FloatFormat:
    return FloatFormat(f"f32 with {fraction} fraction bits", F32.exponent_bits, fraction, F32.bias)


def scaled_products(rule: Rule, group: Group) -> Numbers:
    """Products times their scales, which are never negative; or exact sums of ``dot`` of them with the same scales."""
    scale = products_of(*group.scales)
    if rule.dot == 1:
        products = products_of(group.a, group.b)
        return products._replace(exponent=products.exponent + scale.exponent)
    # f4E2M1FN: a number is its significand shifted by its exponent, 0 to 2; a zero's does not matter.
    a, b = (x.significand << np.maximum(x.exponent, 0) for x in (group.a, group.b))
    products_in_units = a * b
    dots = products_in_units.reshape(-1, rule.dot, *products_in_units.shape[1:]).sum(axis=1)
    every = scale.at(slice(None, None, rule.dot))
    return Numbers(
        dots * np.abs(every.significand),
        np.broadcast_to(every.exponent, dots.shape),
        group.a.fraction_bits + group.b.fraction_bits + every.fraction_bits,
    )


def late(rule: Rule, fmt: FloatFormat, group: Group, c: Codes, trace: Trace | None) -> Codes:
    """See `Rule`. Products of 2**128 and more are infinite."""
    addend = decode(fmt, c)
    products = products_of(group.a, group.b)
    if rule.interleaved:
        halves = [products.at(slice(start, None, 2)) for start in (0, 1)]
        parts = [
            Numbers(*aligned_sum(half, rule.bits, trace, label=label), rule.bits)
            for half, label in zip(halves, ("product of even k", "product of odd k"), strict=True)
        ]
        largest = np.maximum(parts[0].exponent, parts[1].exponent)
        kept = [aligned(part, largest, rule.bits, down=True) for part in parts]
        total = kept[0] + kept[1]
        if trace is not None:
            trace.aligned(("even k", "odd k"), parts, kept, largest, rule.bits, total, down=True)
    else:
        total, largest = aligned_sum(products, rule.bits, trace)
    partial = Numbers(total, largest, rule.bits)
    highest = np.maximum(largest, addend.exponent)
    wide = rule.bits + 7
    of_partial = aligned(partial, highest, wide, down=True)
    of_addend = aligned(addend, highest, rule.bits, down=True)
    if rule.interleaved:
        of_addend = np.where(addend.exponent < highest - 25, 0, of_addend)
    of_addend = of_addend << 7
    total = of_partial + of_addend
    if trace is not None:
        terms, parts_kept = (partial, addend), (of_partial, of_addend)
        trace.aligned(("products", "c"), terms, parts_kept, highest, wide, total, down=True)
    codes, _ = rounded(fmt, total, highest - wide, RNE)
    specials = _late_specials(products, addend)
    if specials is not None:
        codes = specials.into(fmt, codes, fmt.nan_code or 0)
    return codes.astype(fmt.storage_dtype)


def _late_specials(products: Numbers, c: Numbers) -> Specials | None:
    """Products that overflow, and an accumulator that did in an earlier group."""
    emax, none = F32.emax, np.zeros(c.significand.shape, np.bool_)
    if products.exponent.max() < emax and c.infinite is None and c.nan is None:
        return None
    size = np.abs(products.significand) >> products.fraction_bits  # 1 to 3, or 0 below 1
    over = ((products.exponent == emax) & (size >= 2)) | ((products.exponent > emax) & (products.significand != 0))
    infinite = none if c.infinite is None else c.infinite
    return Specials(
        none if c.nan is None else c.nan,
        (over & (products.significand > 0)).any(axis=0) | (infinite & (c.significand > 0)),
        (over & (products.significand < 0)).any(axis=0) | (infinite & (c.significand < 0)),
    )


def flushed(fmt: FloatFormat, codes: Codes, signed: bool) -> Codes:
    """Zeros, of their sign or positive ones, for what is below the smallest normal number, zeros included."""
    magnitude = codes & codes.dtype.type(fmt.code_mask >> 1)
    zeros = codes & codes.dtype.type(fmt.sign_mask or 0) if signed else codes.dtype.type(0)
    return np.where(magnitude < fmt.min_normal_code, zeros, codes)


def tree(rule: Rule, fmt: FloatFormat, a: Codes, b: Codes, c: Codes, trace: Trace | None) -> Codes:
    """See `Rule`: one group of factors, as codes of C's format."""

    def done(label: str, codes: Codes) -> Codes:
        codes = flushed(fmt, codes, signed=True) if rule.flush else codes
        if trace is not None:
            for each in codes.reshape(len(codes), -1):
                trace.rounded(label, fmt, each)
        return codes

    sums = done("product", fast.multiply(fmt, a, b).codes)
    while len(sums) > 1:
        sums = done("sum of two", fast.add(fmt, sums[0::2], sums[1::2]).codes)
    if rule.flush:
        c = flushed(fmt, c, signed=False)
    c = fast.add(fmt, c, sums[0]).codes
    if trace is not None:
        trace.rounded("sum with c", fmt, c)
    return c


def chain(fmt: FloatFormat, a: Codes, b: Codes, c: Codes, trace: Trace | None) -> Codes:
    """Fused multiply-adds along the first axis, of codes of C's format."""
    for left, right in zip(a, b, strict=True):
        c = fast.fma(fmt, left, right, c).codes
        if trace is not None:
            trace.rounded("fma", fmt, c)
    return c
