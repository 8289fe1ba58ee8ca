"""Tile operations D = A * B + C on arrays of codes: a mathematical model, an IEEE one, and those of real chips.

Arrays are A [..., M, K], B [..., K, N], C [..., M, N] with the same leading dimensions, and scales [..., M, K / block]
and [..., K / block, N]. The models:

- ``exact``: the exact sum of C and all products, rounded once to nearest even. NaN operands, infinity times zero and
  infinities of both signs give the default NaN.
- ``ieee``: fused multiply-adds in the order of K in C's format, into which A and B convert exactly. Scaled elements are
  scaled first and rounded to C's format, as `arith.scaling_extf` does.
- ``chip:<name>``: what a matrix unit computes, by the rows of `tiled_chips`.

Integers are added exactly in all of them, modulo the width of C.

Inside, tiles are the last dimension: arrays are [K, M, N, tiles], as many tiles at a time as stay in the cache.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from halfulp.fp_formats import exact, fast, scalar
from halfulp.fp_formats.formats import FORMATS, FloatFormat
from halfulp.fp_formats.limbs import Wide
from halfulp.fp_formats.policy import SPEC
from halfulp.fp_formats.scalar import OVERFLOW, RNE, RZ
from halfulp.semantics.kernel import Codes, Mask
from halfulp.semantics.tiled_chips import CHIPS, Rule
from halfulp.semantics.tiled_kinds import KINDS, Kind

Integers = npt.NDArray[np.int64]

F16, F32 = FORMATS["f16"], FORMATS["f32"]
BLOCK = 1 << 16  # products: what is made of them at a time stays in the second-level cache
ZERO_EXPONENT = -126  # that of a zero in an alignment, whatever its format
MODELS = ("exact", "ieee", *(f"chip:{name}" for name in CHIPS))
"""The names of all models."""


class Unpublished(Exception):
    """Nobody has published how hardware computes this operation. ``model`` and ``operation`` name both."""

    def __init__(self, model: str, operation: str, what: str = "") -> None:
        super().__init__(f"{model}: how hardware computes {operation}{what} is not published")
        self.model, self.operation = model, operation


@dataclass(frozen=True)
class TileOp:
    """A tile operation. ``a`` to ``d`` are element types; ``scale`` is that of scales, one for ``block`` elements of K.

    ``unit`` is the name of the instruction, ``shape`` its M, N and K: by them a chip's rule is found. M and N of the
    arrays may be others, and K a multiple: several instructions then. ``order``: the elements along K as the hardware
    sees them, if that is not their own order.
    """

    name: str
    a: str
    b: str
    c: str
    d: str
    shape: tuple[int, int, int]
    blocks: int = 1
    unit: str = "mma"
    scale: str = ""
    block: int = 0
    order: tuple[int, ...] | None = None

    def __str__(self) -> str:
        return self.name


UNITS = {"NV_MMA_SYNC": "mma", "MFMA": "mfma", "VMFMA": "mfma"}
"""Instructions by the first part of a kind's name; others have a name of their own, of which no chip knows."""


def operation_of(kind: Kind, a: str = "", b: str = "", scale: str = "f8E8M0FNU") -> TileOp:
    """The operation of a kind; ``a`` and ``b`` are the element types that a scaled kind leaves open."""
    family = kind.name.partition("_F")[0].partition("_I")[0].partition("_BF")[0]
    types = (kind.types[0] or a, kind.types[1] or b, kind.types[2])
    order = tuple(kind.k_order.tolist()) if kind.slices_of else None
    shape = KINDS[kind.slices_of].shape if kind.slices_of else kind.shape
    scales = (scale, kind.block) if kind.block else ("", 0)
    return TileOp(
        kind.name, *types, kind.types[2], shape, kind.blocks, UNITS.get(family, family.lower()), *scales, order
    )


# What is recorded for explanations.


@dataclass(frozen=True)
class Alignment:
    """One sum of aligned terms: each is an integer times 2**(exponent - fraction_bits).

    ``labels`` name the terms. ``kept``: the terms as integers in units of 2**(largest - bits), ``down`` or toward zero;
    ``total`` is their sum.
    """

    labels: tuple[str, ...]
    significands: tuple[int, ...]
    exponents: tuple[int, ...]
    fraction_bits: tuple[int, ...]
    largest: int
    bits: tuple[int, ...]
    down: bool
    kept: tuple[int, ...]
    unit: int
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
    for x in (a, b, *scales):
        if x.nan is not None:
            nan |= np.broadcast_to(x.nan, shape).any(axis=0)
    infinite = np.zeros(shape, np.bool_)
    for x, y in ((a, b), (b, a)):
        if x.infinite is not None:
            nan |= (x.infinite & (y.significand == 0)).any(axis=0)
            infinite |= x.infinite
    if infinite.any():
        minus = (a.significand < 0) ^ (b.significand < 0)
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

    It is in units of 2**(largest - bits).
    """
    largest = products.exponent.max(axis=0)
    if addend is not None:
        largest = np.maximum(largest, addend.exponent)
    kept = aligned(products, largest, bits)
    total = kept.sum(axis=0)
    of_addend = None
    if addend is not None:
        of_addend = aligned(addend, largest, bits)
        total += of_addend
    if trace is not None:
        labels = [f"{label} {number}" for number in range(len(kept))]
        _record(
            trace, (*labels, *(["c"] if addend else [])), (products, *([addend] if addend else [])), largest,
            (bits,), False, (kept, *([of_addend] if of_addend is not None else [])), bits, total,
        )  # fmt: skip
    return total, largest


def _record(
    trace: Trace,
    labels: tuple[str, ...],
    terms: tuple[Numbers, ...],
    largest: Integers,
    bits: tuple[int, ...],
    down: bool,
    kept: tuple[Integers, ...],
    unit_bits: int,
    total: Integers,
) -> None:
    def ints(arrays: Iterable[Any]) -> tuple[int, ...]:
        return tuple(int(each) for array in arrays for each in np.asarray(array).reshape(-1))

    top = int(largest.reshape(-1)[0])
    trace.append(
        Alignment(
            labels,
            ints(x.significand for x in terms),
            ints(x.exponent for x in terms),
            tuple(x.fraction_bits for x in terms for _ in range(x.significand.size)),
            top,
            bits,
            down,
            ints(kept),
            top - unit_bits,
            int(total.reshape(-1)[0]),
        )
    )


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
        kept = tuple(aligned(part, largest, rule.bits, down=True) for part in parts)
        total = kept[0] + kept[1]
        if trace is not None:
            bits = (rule.bits,) * 2
            _record(trace, ("even k", "odd k"), tuple(parts), largest, bits, True, kept, rule.bits, total)
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
        bits = (wide, rule.bits)
        _record(
            trace, ("products", "c"), (partial, addend), highest, bits, True, (of_partial, of_addend), wide, total
        )  # fmt: skip
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


def _flushed(fmt: FloatFormat, codes: Codes, signed: bool) -> Codes:
    """Zeros, of their sign or positive ones, for what is below the smallest normal number, zeros included."""
    magnitude = codes & codes.dtype.type(fmt.code_mask >> 1)
    zeros = codes & codes.dtype.type(fmt.sign_mask or 0) if signed else codes.dtype.type(0)
    return np.where(magnitude < fmt.min_normal_code, zeros, codes)


def tree(rule: Rule, fmt: FloatFormat, a: Codes, b: Codes, c: Codes, trace: Trace | None) -> Codes:
    """See `Rule`: one group of factors, as codes of C's format."""

    def done(label: str, codes: Codes) -> Codes:
        codes = _flushed(fmt, codes, signed=True) if rule.flush else codes
        if trace is not None:
            for each in codes.reshape(len(codes), -1):
                trace.rounded(label, fmt, each)
        return codes

    sums = done("product", fast.multiply(fmt, a, b).codes)
    while len(sums) > 1:
        sums = done("sum of two", fast.add(fmt, sums[0::2], sums[1::2]).codes)
    if rule.flush:
        c = _flushed(fmt, c, signed=False)
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


# Models: what they do with a chunk of tiles, [K, M, 1, tiles], [K, 1, N, tiles] and [M, N, tiles].

Chunk = Callable[[Codes, Codes, Codes, "tuple[Codes, ...]", "Trace | None"], Codes]


def _slices(k: int, size: int) -> Iterator[slice]:
    for start in range(0, k, size):
        yield slice(start, start + size)


def _chip(op: TileOp, rule: Rule) -> Chunk:
    fmt_a, fmt_b, fmt = (FORMATS[name] for name in (op.a, op.b, op.d))
    group = min(rule.group or op.shape[2], op.shape[2])

    def aligning(a: Codes, b: Codes, c: Codes, scales: tuple[Codes, ...], trace: Trace | None) -> Codes:
        x, y = decode(fmt_a, a), decode(fmt_b, b)
        z = tuple(decode(FORMATS[op.scale], scale) for scale in scales)
        step = fused if rule.how == "fused" else late
        for part in _slices(len(a), group):
            c = step(rule, fmt, Group(x.at(part), y.at(part), tuple(scale.at(part) for scale in z)), c, trace)
            if trace is not None:
                trace.rounded("sum", fmt, c)
        return c

    def rounding(a: Codes, b: Codes, c: Codes, scales: tuple[Codes, ...], trace: Trace | None) -> Codes:
        if rule.flush:
            a, b = _flushed(fmt_a, a, signed=False), _flushed(fmt_b, b, signed=False)
        a, b = fast.convert(fmt_a, fmt, a).codes, fast.convert(fmt_b, fmt, b).codes
        if rule.how == "chain":
            return chain(fmt, a, b, c, trace)
        for part in _slices(len(a), group):
            c = tree(rule, fmt, a[part], b[part], c, trace)
        return _flushed(fmt, c, signed=True) if rule.flush else c

    each = aligning if rule.how in ("fused", "late") else rounding

    def model(a: Codes, b: Codes, c: Codes, scales: tuple[Codes, ...], trace: Trace | None) -> Codes:
        for part in _slices(len(a), op.shape[2]):
            c = each(a[part], b[part], c, tuple(scale[part] for scale in scales), trace)
        return c

    return model


def _ieee(op: TileOp) -> Chunk:
    fmt_a, fmt_b, fmt = (FORMATS[name] for name in (op.a, op.b, op.d))

    def model(a: Codes, b: Codes, c: Codes, scales: tuple[Codes, ...], trace: Trace | None) -> Codes:
        a, b = fast.convert(fmt_a, fmt, a).codes, fast.convert(fmt_b, fmt, b).codes
        if scales:
            factors = [fast.convert(FORMATS[op.scale], fmt, scale).codes for scale in scales]
            a, b = (fast.multiply(fmt, x, factor).codes for x, factor in zip((a, b), factors, strict=True))
        return chain(fmt, a, b, c, trace)

    return model


# The exact model: sums as integers in digits of 32 bits, of which each may hold more for a while.

DIGIT = np.int64((1 << 32) - 1)


def _exact(op: TileOp) -> tuple[Chunk, int]:
    """The model, and how many digits it keeps for each element."""
    fmt_a, fmt_b, fmt = (FORMATS[name] for name in (op.a, op.b, op.d))
    formats = [fmt_a, fmt_b, *([FORMATS[op.scale]] * 2 if op.scale else [])]
    # The places of the lowest bit of any term, and of a bit above the sum of 2**32 of the largest.
    lowest = min(sum(each.emin - each.mantissa_bits for each in formats), fmt.emin - fmt.mantissa_bits)
    highest = max(sum(each.emax + 1 for each in formats), fmt.emax + 1) + 32
    length = (highest - lowest) // 32 + 4

    def model(a: Codes, b: Codes, c: Codes, scales: tuple[Codes, ...], trace: Trace | None) -> Codes:
        x, y, addend = decode(fmt_a, a), decode(fmt_b, b), decode(fmt, c)
        z = tuple(decode(FORMATS[op.scale], scale) for scale in scales)
        digits = np.zeros((length, c.size), np.int64)
        for p, p_place in _pieces(x):
            for q, q_place in _pieces(y):
                products, places = p * q, p_place + q_place
                for scale in z:
                    products, places = products * scale.significand, places + scale.exponent - scale.fraction_bits
                for product, place in zip(products, np.broadcast_to(places, products.shape), strict=True):
                    _add(digits, product, place - lowest)
        for piece, place in _pieces(addend):
            _add(digits, piece, place - lowest)
        if trace is not None:
            trace.append(_exact_sum(op, a, b, c, scales))
        codes = _rounded_digits(fmt, digits, lowest).reshape(c.shape)
        # Of exact zeros only the sum of negative ones is negative.
        minus = (_negative(fmt_a, a) ^ _negative(fmt_b, b)).all(axis=0) & _negative(fmt, c)
        codes = np.where((codes == 0) & minus, fmt.sign_mask or 0, codes)
        specials = specials_of(x, y, addend, z)
        if specials is not None:
            codes = specials.into(fmt, codes, fmt.nan_code or 0)
        return codes.astype(fmt.storage_dtype)

    return model, length


def _negative(fmt: FloatFormat, codes: Codes) -> Mask:
    return np.asarray(exact.sign_of(fmt, codes.astype(np.uint64)) != 0)


def _pieces(x: Numbers) -> list[tuple[Integers, Integers]]:
    """Significands in signed pieces of up to 31 bits, each with the place of its lowest bit."""
    place = x.exponent - x.fraction_bits
    if x.fraction_bits < 31:
        return [(x.significand, place)]
    sign = np.sign(x.significand)
    magnitude = np.abs(x.significand)
    return [(sign * (magnitude & ((1 << 27) - 1)), place), (sign * (magnitude >> 27), place + 27)]


def _add(digits: Integers, value: Integers, place: Integers) -> None:
    """Add one value below 2**62, times 2**place, to each column."""
    value, place = value.reshape(-1), np.where(value == 0, 0, place).reshape(-1)  # a zero's exponent may be any
    column = np.arange(value.size)
    digit, shift = place >> 5, place & 31
    magnitude, negative = np.abs(value), value < 0
    low, high = (magnitude & DIGIT) << shift, (magnitude >> 32) << shift
    for step, part in enumerate((low & DIGIT, (low >> 32) + (high & DIGIT), high >> 32)):
        digits[digit + step, column] += np.where(negative, -part, part)


def _carried(digits: Integers) -> None:
    """Bring all digits but the last into their range."""
    for lower, upper in itertools.pairwise(digits):
        upper += lower >> 32
        lower &= DIGIT


def _rounded_digits(fmt: FloatFormat, digits: Integers, lowest: int) -> Codes:
    """Codes of each column, in units of 2**lowest: its three leading digits, and whether anything is below them."""
    _carried(digits)
    negative = digits[-1] < 0
    if negative.any():
        digits[:, negative] *= -1
        _carried(digits)
    column = np.arange(digits.shape[1])
    top = np.maximum(len(digits) - 1 - (digits[::-1] != 0).argmax(axis=0), 2)
    first, second, third = (digits[top - step, column].view(np.uint64) for step in range(3))
    below = np.concatenate([np.zeros((1, digits.shape[1]), np.bool_), np.logical_or.accumulate(digits != 0)])
    rest = below[top - 2, column]
    significand = Wide(first, second << np.uint64(32) | third) | rest.astype(np.uint64)
    exponent = (top - 2) * 32 + lowest
    how = exact.How(RNE, SPEC, want_flags=False)
    packed = exact.round_pack(fmt, negative.astype(np.uint64), significand, exponent, how)
    return np.asarray(packed.codes.lo if isinstance(packed.codes, Wide) else packed.codes)


def _exact_sum(op: TileOp, a: Codes, b: Codes, c: Codes, scales: tuple[Codes, ...]) -> ExactSum:
    def values(name: str, codes: Codes) -> list[Fraction]:
        return [scalar.value(FORMATS[name], int(code)) or Fraction(0) for code in codes.reshape(-1)]

    products = [x * y for x, y in zip(values(op.a, a), values(op.b, b), strict=True)]
    if scales:
        pairs = zip(*(values(op.scale, scale) for scale in scales), strict=True)
        products = [product * x * y for product, (x, y) in zip(products, pairs, strict=True)]
    terms = (*products, *values(op.d, c))
    return ExactSum(terms, sum(terms, Fraction(0)))


# Integers.


def _integers(op: TileOp, a: Codes, b: Codes, c: Codes) -> Codes:
    """Exact, modulo the width of C."""

    def signed(name: str, codes: Codes) -> Integers:
        unused = 64 - int(name[1:])
        return np.asarray(codes.astype(np.uint64).view(np.int64) << unused >> unused)

    total = np.matmul(signed(op.a, a), signed(op.b, b)) + signed(op.c, c)
    return np.asarray((total & ((1 << int(op.d[1:])) - 1)).astype(c.dtype))


# The front.


def rule_of(model: str, op: TileOp) -> Rule:
    """The rule by which a chip, ``chip:<name>``, computes an operation. Raises `Unpublished` where none is known."""
    m, n, k = op.shape
    shape = f"{m}x{n}x{k}" + (f"x{op.blocks}B" if op.blocks > 1 else "")
    scales = f"{op.scale},{op.block}" if op.scale else ""
    for row in CHIPS[model.removeprefix("chip:")]:
        if row.covers(op.unit, f"{op.a},{op.b}", f"{op.c},{op.d}", shape, scales):
            return row.rule
    raise Unpublished(model, op.name)


def supports(model: str, op: TileOp) -> bool:
    """Whether a model computes an operation."""
    try:
        _model(model, op)
    except Unpublished:
        return False
    return True


class Model(NamedTuple):
    """What computes chunks of tiles, None for integers; the rule that a chip follows; and array elements per result."""

    chunk: Chunk | None
    rule: Rule | None = None
    elements: int = 1


@lru_cache(maxsize=256)
def _model(model: str, op: TileOp) -> Model:
    if model not in MODELS:
        raise ValueError(f"unknown model {model!r}: choose one of {', '.join(MODELS)}")
    if op.name.startswith("VDMFMA"):
        raise Unpublished(model, op.name)
    rule = rule_of(model, op) if model.startswith("chip:") else None
    if op.d not in FORMATS:
        return Model(None, rule)
    if rule is not None:
        return Model(_chip(op, rule), rule)
    if model == "ieee":
        return Model(_ieee(op))
    chunk, digits = _exact(op)
    return Model(chunk, None, digits // 4)  # fewer passes by longer arrays


def multiply_accumulate(
    model: str,
    op: TileOp,
    a: Codes,
    b: Codes,
    c: Codes,
    scale_a: Codes | None = None,
    scale_b: Codes | None = None,
    trace: Trace | None = None,
) -> Codes:
    """A * B + C of tiles, as codes of D; see the module. ``trace``: of a single element, the steps are added to it.

    Raises `Unpublished` for what is not known of a chip, and ValueError for shapes that do not fit.
    """
    chunk, rule, elements = _model(model, op)
    scales = () if scale_a is None or scale_b is None else (scale_a, scale_b)
    _check_shapes(op, a, b, c, scales)
    if chunk is None:
        return _integers(op, a, b, c)
    if rule is not None:
        if not rule.specials and any(_any_special(name, x) for name, x in ((op.a, a), (op.b, b), (op.c, c))):
            raise Unpublished(model, op.name, " with infinite or NaN operands")
        if op.order is not None:
            a, b = a[..., list(op.order)], b[..., list(op.order), :]
    if op.c != op.d:
        c = fast.convert(FORMATS[op.c], FORMATS[op.d], c).codes
    *lead, m, k = a.shape
    n, tiles = b.shape[-1], math.prod(lead)
    a, b, c = a.reshape(tiles, m, k), b.reshape(tiles, k, n), c.reshape(tiles, m, n)
    if scales:
        x, y = (scale.reshape(tiles, *scale.shape[-2:]) for scale in scales)
        scales = np.repeat(x, op.block, axis=2), np.repeat(y, op.block, axis=1)
    out = np.empty((tiles, m, n), FORMATS[op.d].storage_dtype)
    step = max(1, BLOCK // max(1, m * n * max(k, elements)))
    for start in range(0, tiles, step):
        part = slice(start, start + step)
        left, right = (_of_rows(a[part]), _of_columns(b[part]))
        factors = (_of_rows(scales[0][part]), _of_columns(scales[1][part])) if scales else ()
        held = np.ascontiguousarray(c[part].transpose(1, 2, 0))
        out[part] = chunk(left, right, held, factors, trace).transpose(2, 0, 1)
    return out.reshape(*lead, m, n)


def _of_rows(x: Codes) -> Codes:
    return np.ascontiguousarray(x.transpose(2, 1, 0))[:, :, None, :]


def _of_columns(x: Codes) -> Codes:
    return np.ascontiguousarray(x.transpose(1, 2, 0))[:, None, :, :]


def _any_special(name: str, codes: Codes) -> bool:
    if name not in FORMATS:
        return False
    special = exact.specials_of(FORMATS[name], codes.astype(np.uint64))
    return special is not None and bool(special.any())


def _check_shapes(op: TileOp, a: Codes, b: Codes, c: Codes, scales: tuple[Codes, ...]) -> None:
    *lead, m, k = a.shape
    n = b.shape[-1]
    groups = k // op.block if op.block else 0
    expected = [(b, (k, n)), (c, (m, n)), *zip(scales, ((m, groups), (groups, n)), strict=False)]
    if any(x.shape != (*lead, *shape) for x, shape in expected) or k % op.shape[2] or bool(scales) != bool(op.scale):
        shapes = ", ".join(str(x.shape) for x in (a, b, c, *scales))
        raise ValueError(f"{op.name}: operands of shapes {shapes} do not go together")


def explain(
    model: str,
    op: TileOp,
    row: Codes,
    column: Codes,
    c: int,
    scale_row: Codes | None = None,
    scale_column: Codes | None = None,
) -> tuple[int, Trace]:
    """One element: a row of A [K], a column of B [K] and C's code to D's, and the steps that the model went through."""
    trace = Trace()
    dtype = FORMATS[op.c].storage_dtype if op.c in FORMATS else np.dtype(np.uint32)
    row, column = row.reshape(1, -1), column.reshape(-1, 1)
    left = None if scale_row is None else scale_row.reshape(1, -1)
    right = None if scale_column is None else scale_column.reshape(-1, 1)
    result = multiply_accumulate(model, op, row, column, np.array([[c]], dtype), left, right, trace)
    return int(result[0, 0]), trace
