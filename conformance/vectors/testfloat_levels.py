"""Corner cases as Berkeley TestFloat builds them: exponents of interest combined with significand patterns, and
weighted random values in between. The same construction serves every format and, from TestFloat's integers, every
width.

TestFloat 3e: level 1 combines few patterns, level 2 every run and walk of ones and zeros; an op with one operand gets
more exponents than one with several. In level 1, one case in three (one operand), six or nine consists of corners; in
level 2 one in two. TestFloat's random values come from the C library; here they come from Philox, by the position of
the row.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import prod
from typing import Literal, Protocol

import numpy as np

from halfulp.conformance.comparing.operand_ranges import OperandRange
from halfulp.conformance.vectors.intermediate import chosen
from halfulp.conformance.vectors.rows import Rows
from halfulp.fp_formats.formats import LIMB_BITS, Codes, FloatFormat, ints_to_codes, limb_count, storage_dtype
from halfulp.semantics.random_sources import uniform, words

Level = Literal[1, 2]

STREAMS = 4
"""Number of Philox streams of each operand: bits, choices, and two spare ones."""

RANDOM_CORNERS: Mapping[Level, int] = {1: 50_000, 2: 1_000_000}
"""Number of rows of corners that are drawn for more than three operands."""

_INTEGER_EXPONENTS = (29, 30, 31, 32, 61, 62, 63, 64)
_NARROWER_BOUNDS = (-1025, -1024, -1023, -1022, -129, -128, -127, -126, 127, 128, 129, 1023, 1024, 1025)
"""Exponents at the limits of i32, i64, f32 and f64, of interest for conversions to these types."""


@dataclass(frozen=True)
class Peculiar:
    """The parameters in which TestFloat's tables for a format differ from the rule of all other formats.

    ``reach``: the exponents +-reach stand in place of +-precision. ``negative_top``: the largest exponent of negative
    values. ``without``: a significand pattern that is missing.
    """

    reach: int | None = None
    negative_top: int | None = None
    without: int | None = None


PECULIAR: Mapping[str, Peculiar] = {
    "bf16": Peculiar(reach=24, negative_top=126),
    "f32": Peculiar(negative_top=126),
    "f128": Peculiar(without=((1 << 112) - 1) ^ (1 << 64)),
}


class OperandKind(Protocol):
    """What the type of an operand contributes: corners, and random values by position."""

    @property
    def width(self) -> int:
        """Return the bits of a code."""

    def corners(self, level: Level, alone: bool) -> list[int]:
        """Return codes in TestFloat's order, without duplicates. ``alone``: the op has no other
        operand.
        """

    def random(self, seed: int, stream: int, start: int, count: int) -> Codes:
        """Return weighted random codes of rows ``start`` to ``start + count``."""


@lru_cache(maxsize=256)
def significands(bits: int, level: Level) -> tuple[int, ...]:
    """Return fraction patterns: level 1 the ends and their neighbours; level 2 walking ones, leading ones, walking
    zeros, trailing ones.
    """
    every = (1 << bits) - 1
    if level == 1:
        patterns = [0, 1, every, every - 1]
    else:
        patterns = [0, *(1 << k for k in range(bits)), *(every ^ ((1 << k) - 1) for k in range(bits - 2, 0, -1)), every]
        patterns += [*(every ^ (1 << k) for k in range(1, bits - 1)), *((1 << k) - 1 for k in range(bits - 1, 1, -1))]
    return tuple(dict.fromkeys(pattern for pattern in patterns if 0 <= pattern <= every))


def exponent_fields(fmt: FloatFormat, alone: bool) -> list[int]:
    """Return interesting combinations of sign and exponent field, each as one number: first the positive ones in
    ascending order, then the negative ones.
    """
    peculiar = PECULIAR.get(fmt.name, Peculiar())
    reach = peculiar.reach or fmt.precision
    top = (1 << fmt.exponent_bits) - 1
    special = fmt.infinity_code is not None or fmt.nan_code is not None
    inner = {-2, -1, 0, 1, 2, -reach, reach}
    if alone:
        inner |= {-4, -3, 3, 4, fmt.emin + 1, fmt.emax - 1, *_INTEGER_EXPONENTS, *_NARROWER_BOUNDS}
    exponents = {fmt.emin, fmt.emax, *(exponent for exponent in inner if fmt.emin < exponent < fmt.emax)}
    fields = sorted({0, *(exponent + fmt.bias for exponent in exponents), *([top] if special else [])})
    if not fmt.signed:
        return fields
    negative = fields
    if peculiar.negative_top is not None and not alone:
        negative = sorted({*fields, peculiar.negative_top + fmt.bias} - {fmt.emax + fmt.bias})
    return [*fields, *(field | 1 << fmt.exponent_bits for field in negative)]


@dataclass(frozen=True)
class FloatKind:
    """A float operand."""

    format: FloatFormat

    @property
    def width(self) -> int:
        """Return the bits of a code."""
        return self.format.bits

    def corners(self, level: Level, alone: bool) -> list[int]:
        """Return exponents of interest with every significand pattern: the outer loop is over exponents, the inner loop
        over patterns.
        """
        return list(_float_corners(self.format, level, alone))

    def random(self, seed: int, stream: int, start: int, count: int) -> Codes:
        """Return TestFloat's mixture: exponents of interest or near 0 with sums of two patterns (6 of 8) or any
        fraction (2 of 8).
        """
        fmt = self.format
        choice = words(seed, stream + 1, start, count)
        kind = choice & np.uint64(7)
        place = (choice >> np.uint64(3)) & np.uint64((1 << 13) - 1)
        listed = np.array(exponent_fields(fmt, True), np.uint64)
        offsets, masks = _exponent_weights(fmt)
        weight = chosen(place, 13, len(masks))
        drawn = choice >> np.uint64(64 - 16)
        fields = np.where(
            kind < np.uint64(4), listed[chosen(place, 13, len(listed))], (drawn & masks[weight]) + offsets[weight]
        )
        sums = _sum_of_patterns(fmt, choice >> np.uint64(16), choice >> np.uint64(32))
        anything = _as_limbs(uniform(seed, stream, fmt.mantissa_bits, start, count), 2)
        fractions = np.where((kind & np.uint64(3) == 3)[:, None], anything, sums)
        return _assembled(fmt, fields, fractions)


@lru_cache(maxsize=64)
def _float_corners(fmt: FloatFormat, level: Level, alone: bool) -> tuple[int, ...]:
    absent = PECULIAR.get(fmt.name, Peculiar()).without
    shift = fmt.mantissa_bits + fmt.explicit_integer_bit
    exponents = (1 << fmt.exponent_bits) - 1
    codes = [
        field << shift | (fmt.explicit_integer_bit and field & exponents != 0) << fmt.mantissa_bits | pattern
        for field in exponent_fields(fmt, alone)
        for pattern in significands(fmt.mantissa_bits, level)
        if pattern != absent or level == 1
    ]
    return tuple(dict.fromkeys(codes))


def _exponent_weights(fmt: FloatFormat) -> tuple[Codes, Codes]:
    """Return offsets and masks of the exponent field: the whole range twice, then narrower and narrower ranges in
    the middle.
    """
    bits = fmt.exponent_bits
    sign = int(fmt.signed) << bits
    kept = [bits, bits, *range(bits - 1, 2, -1)]
    offsets = [(1 << bits >> 1) - (1 << k >> 1) if k < bits else 0 for k in kept]
    return np.array(offsets, np.uint64), np.array([sign | ((1 << k) - 1) for k in kept], np.uint64)


def _sum_of_patterns(fmt: FloatFormat, first: Codes, second: Codes) -> Codes:
    """Return sums of two level 2 patterns within the fraction, as two limbs; the low 16 bits of each argument choose
    them.
    """
    patterns = significands(fmt.mantissa_bits, 2)
    table = ints_to_codes(patterns, 2 * LIMB_BITS, (len(patterns),))
    low = np.uint64((1 << 16) - 1)
    total = _add(table[chosen(first & low, 16, len(patterns))], table[chosen(second & low, 16, len(patterns))])
    return total & _limbs_of(fmt.fraction_mask, 2)


def _assembled(fmt: FloatFormat, fields: Codes, fractions: Codes) -> Codes:
    """Return codes of sign and exponent fields and fractions of two limbs; the integer bit follows from
    the exponent.
    """
    shift = fmt.mantissa_bits + fmt.explicit_integer_bit
    wide = fractions.copy()
    if fmt.explicit_integer_bit:
        normal = (fields & np.uint64((1 << fmt.exponent_bits) - 1)) != 0
        limb, bit = divmod(fmt.mantissa_bits, LIMB_BITS)
        wide[:, limb] |= normal.astype(np.uint64) << np.uint64(bit)
    limb, bit = divmod(shift, LIMB_BITS)
    wide[:, limb] |= fields << np.uint64(bit)
    if bit and not limb:
        wide[:, 1] |= fields >> np.uint64(LIMB_BITS - bit)
    return wide if fmt.bits > LIMB_BITS else wide[:, 0].astype(fmt.storage_dtype)


@dataclass(frozen=True)
class IntegerKind:
    """An integer operand: ``width`` bits, two's complement. ``amount``: it is the number of bits of a shift."""

    width: int
    amount: bool = False

    def corners(self, level: Level, alone: bool) -> list[int]:
        """Return the codes of integers that are likely to show errors.

        The only operand of an op gets TestFloat's patterns and the neighbors of powers of two; in level 2 also sums of
        two patterns. One of several operands gets fewer: 0, +-1, the ends of both ranges with their neighbors,
        alternating bits, and walking ones; in level 2, all that an only operand has in level 1. A shift amount gets all
        amounts below the width, those next to it, and walking ones.
        """
        return list(_integer_corners(self.width, level, alone, self.amount))

    def random(self, seed: int, stream: int, start: int, count: int) -> Codes:
        """Return TestFloat's mixture: sums of three patterns, or numbers within ever narrower ranges around 0."""
        width, limbs = self.width, limb_count(self.width)
        if not width:
            return np.zeros(count, storage_dtype(0))
        choice = words(seed, stream + 1, start, count)
        every = (1 << width) - 1
        patterns = significands(width, 2)
        table = np.stack([_limbs_of(pattern, limbs) for pattern in patterns])
        total = np.zeros((count, limbs), np.uint64)
        for shift in (16, 32, 48):
            field = (choice >> np.uint64(shift)) & np.uint64((1 << 16) - 1)
            total = _add(total, table[chosen(field, 16, len(patterns))])
        ranges = range(max(width - 3, 1))
        masks = np.stack([_limbs_of(every >> k, limbs) for k in ranges])
        offsets = np.stack([_limbs_of(-(1 << (width - k) >> 1) & every if k else 0, limbs) for k in ranges])
        place = chosen((choice >> np.uint64(3)) & np.uint64((1 << 13) - 1), 13, len(ranges))
        bits = _as_limbs(uniform(seed, stream, width, start, count), limbs)
        near = _add(bits & masks[place], offsets[place])
        wide = np.where((choice & np.uint64(1) == 0)[:, None], total, near) & _limbs_of(every, limbs)
        return wide if width > LIMB_BITS else wide[:, 0].astype(storage_dtype(width))


@dataclass(frozen=True)
class RangeKind:
    """An integer operand whose codes lie in a range, such as a multiplier. ``width``: the bits of a code, up to 64."""

    width: int
    range: OperandRange

    def corners(self, level: Level, alone: bool) -> list[int]:
        """Return the corners of the range; all of a small range."""
        return self.range.corners()

    def random(self, seed: int, stream: int, start: int, count: int) -> Codes:
        """Return codes of the range; they are uniform, except for a part of 2**-32 or less."""
        bits = words(seed, stream, start, count) % np.uint64(self.range.count)
        return (bits * np.uint64(self.range.step) + np.uint64(self.range.least)).astype(storage_dtype(self.width))


@lru_cache(maxsize=256)
def _integer_corners(width: int, level: Level, alone: bool, amount: bool) -> tuple[int, ...]:
    if not width:
        return (0,)
    every, top = (1 << width) - 1, 1 << width >> 1
    walking = [1 << k for k in range(width)]
    alternating = [int("01" * width, 2), int("10" * width, 2), int("0011" * width, 2)]
    few = [0, 1, every, every - 1, top, top + 1, top - 1, top - 2, *alternating, *walking]
    if amount:
        return _within([*range(min(width, 256) + 2), 2 * width, every, every - 1, top, top - 1, *walking], every)
    if not alone and level == 1:
        return _within([*few, *(every ^ one for one in walking[:: max(width // 8, 1)])], every)
    patterns = [*significands(width, 2), *few]
    patterns += [sign * one + step for one in walking for sign in (1, -1) for step in (-1, 1)]
    if alone and level == 2:
        base = significands(width, 2)
        patterns += [one + other for place, one in enumerate(base) for other in base[place:]]
    return _within(patterns, every)


def _within(codes: Sequence[int], every: int) -> tuple[int, ...]:
    return tuple(dict.fromkeys(code & every for code in codes))


def _limbs_of(code: int, limbs: int) -> Codes:
    return np.array([code >> LIMB_BITS * k & (1 << LIMB_BITS) - 1 for k in range(limbs)], np.uint64)


def _as_limbs(codes: Codes, limbs: int) -> Codes:
    """Return codes of any storage as rows of ``limbs`` limbs."""
    wide = codes.reshape(len(codes), -1).astype(np.uint64, copy=False)
    missing = limbs - wide.shape[1]
    return np.pad(wide, ((0, 0), (0, missing))) if missing else wide


def _add(first: Codes, second: Codes) -> Codes:
    """Add numbers in limbs; the carry out of the highest limb is lost."""
    total = np.empty_like(first)
    carry: Codes = np.zeros(first.shape[:-1], np.bool_)
    for limb in range(first.shape[-1]):
        plain = first[..., limb] + second[..., limb]
        total[..., limb] = plain + carry
        carry = (plain < first[..., limb]) | (total[..., limb] < plain)
    return total


_MIXTURES: Mapping[tuple[Level, int], tuple[str, ...]] = {
    (1, 1): ("r", "r", "c"),
    (1, 2): ("rr", "cr", "rr", "rc", "rr", "cc"),
    (1, 3): ("rrc", "ccr", "rrr", "rcc", "crr", "rcr", "crc", "rrr", "ccc"),
    (2, 1): ("r", "c"),
    (2, 2): ("rr", "cc"),
    (2, 3): ("rrr", "ccc"),
}
"""By level and number of operands: the kinds of the operands of consecutive rows, corners (c) or random (r)."""


def corner_rows(kinds: Sequence[OperandKind], level: Level, seed: int = 0) -> Rows:
    """Return TestFloat's cases of an op on one to three operands: every combination of corners, the last operand
    fastest.

    More operands have too many combinations: half of the values of each are corners, drawn at random.
    """
    if len(kinds) > 3:
        return drawn_corners(kinds, level, RANDOM_CORNERS[level], seed)
    mixture = _MIXTURES[level, len(kinds)]
    tables = _corner_tables(kinds, level, len(kinds) == 1)
    count = len(mixture) * prod(map(len, tables))
    is_corner = [np.array([row[place] == "c" for row in mixture]) for place in range(len(kinds))]

    def make(start: int, stop: int) -> tuple[Codes, ...]:
        index = np.arange(start, stop, dtype=np.int64)
        case, turn = np.divmod(index, len(mixture))
        columns = []
        for place in reversed(range(len(kinds))):
            kind, table = kinds[place], tables[place]
            case, position = np.divmod(case, len(table))
            codes = kind.random(seed, STREAMS * place, start, stop - start)
            corner = is_corner[place][turn]
            codes[corner] = table[position[corner]]
            columns.append(codes)
        return tuple(reversed(columns))

    return Rows(tuple(kind.width for kind in kinds), count, make)


def drawn_corners(kinds: Sequence[OperandKind], level: Level, count: int, seed: int = 0, first_stream: int = 0) -> Rows:
    """Return rows of random operands, half of which are corners."""
    tables = _corner_tables(kinds, level, False)

    def draw(place: int, stream: int, start: int, rows: int) -> Codes:
        table, codes = tables[place], kinds[place].random(seed, stream, start, rows)
        choice = words(seed, stream + 2, start, rows)
        corner = choice & np.uint64(1) == 1
        picked = chosen(choice >> np.uint64(32), 32, len(table))
        codes[corner] = table[picked[corner]]
        return codes

    return _drawn([kind.width for kind in kinds], count, first_stream, draw)


def weighted_rows(kinds: Sequence[OperandKind], count: int, seed: int = 0, first_stream: int = 0) -> Rows:
    """Return ``count`` rows of weighted random operands."""

    def draw(place: int, stream: int, start: int, rows: int) -> Codes:
        return kinds[place].random(seed, stream, start, rows)

    return _drawn([kind.width for kind in kinds], count, first_stream, draw)


def uniform_rows(widths: Sequence[int], count: int, seed: int = 0, first_stream: int = 0) -> Rows:
    """Return ``count`` rows of uniform bits."""

    def draw(place: int, stream: int, start: int, rows: int) -> Codes:
        return uniform(seed, stream, widths[place], start, rows)

    return _drawn(widths, count, first_stream, draw)


def _drawn(widths: Sequence[int], count: int, first_stream: int, draw: Callable[[int, int, int, int], Codes]) -> Rows:
    """Return a table of operands that ``draw(place, stream, start, rows)`` gives, each operand from its own streams."""

    def make(start: int, stop: int) -> tuple[Codes, ...]:
        return tuple(draw(k, first_stream + STREAMS * k, start, stop - start) for k in range(len(widths)))

    return Rows(tuple(widths), count, make)


def _corner_tables(kinds: Sequence[OperandKind], level: Level, alone: bool) -> list[Codes]:
    lists = [kind.corners(level, alone) for kind in kinds]
    return [ints_to_codes(codes, kind.width, (len(codes),)) for codes, kind in zip(lists, kinds, strict=True)]
