"""A coverage model, and operands that fill its buckets.

A model names buckets, which are sets of operands. By exact arithmetic it tells to which buckets operands belong, and it
constructs operands for each bucket. Buckets without operands are reported. If there are few possible operands, all are
tried; this proves that no operands exist for an empty bucket. ``p`` in the texts of models is the precision of the
format that is rounded to.
"""

from __future__ import annotations

import zlib
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import product
from typing import ClassVar

from halfulp.conformance.vectors import intermediate
from halfulp.conformance.vectors.intermediate import Dice, ExactResult, Integer, ModelCase
from halfulp.fp_formats import scalar
from halfulp.fp_formats.formats import FloatFormat, NanEncoding

Bucket = tuple[str | int, ...]

Operands = tuple[int, ...]

TRIES = 400
"""Rounds of construction for the buckets that are still empty."""

ARITHMETIC = ("add", "subtract", "multiply", "divide")

SUMS = ("add", "subtract")

ROUNDED = (*ARITHMETIC, "multiply-add", "convert", "from integer")

SIGNS = "+-"

TINY_BEFORE_ALONE = "tiny before rounding alone"
"""The bucket of results that are tiny before rounding but not after it: rounded to nearest even with any exponent, they
become the smallest normal value.
"""


class CoverageModel(ABC):
    """A coverage model: the base class. Subclasses have the model's number as name; ``_B22`` is the model B22."""

    #: What it covers, for people.
    target: ClassVar[str]
    #: The kinds of cases it applies to.
    kinds: ClassVar[tuple[str, ...]]

    @property
    def name(self) -> str:
        """Return its name."""
        return type(self).__name__.removeprefix("_")

    @abstractmethod
    def buckets(self, case: ModelCase) -> Iterable[Bucket]:
        """Return all buckets, without those that the range of the op excludes."""

    @abstractmethod
    def fits(self, case: ModelCase, row: Operands) -> Iterable[Bucket]:
        """Return the buckets to which operands belong."""

    @abstractmethod
    def aim(self, case: ModelCase, bucket: Bucket, dice: Dice) -> Iterator[Operands]:
        """Yield operands that probably belong to a bucket; `fits` decides whether they do."""


@dataclass(frozen=True)
class Filled:
    """Operands made for a model. ``hits``: the number of rows in each bucket, which may be 0. ``proven``: all operands
    were tried, so that no operands exist for an empty bucket.
    """

    rows: tuple[Operands, ...]
    hits: Mapping[Bucket, int]
    proven: bool

    @property
    def empty(self) -> list[Bucket]:
        """Return the buckets without a row."""
        return [bucket for bucket, count in self.hits.items() if not count]

    @property
    def reason(self) -> str:
        """Say why some buckets are empty; the empty string if none is."""
        if not self.empty:
            return ""
        return "no combination of operands falls there" if self.proven else "no operands were found"


def coverage(model: CoverageModel, case: ModelCase, rows: Iterable[Operands]) -> dict[Bucket, int]:
    """Count the rows in each bucket of a model."""
    hits = dict.fromkeys(model.buckets(case), 0)
    for row in rows:
        for bucket in model.fits(case, row):
            if bucket in hits:
                hits[bucket] += 1
    return hits


@lru_cache(maxsize=256)
def applies(model: CoverageModel, case: ModelCase) -> bool:
    """Tell whether a model has any bucket for a case."""
    return case.kind in model.kinds and any(True for _ in model.buckets(case))


EACH = 2
"""The rows for every bucket, unless another number is asked for."""


@lru_cache(maxsize=32)
def fill(model: CoverageModel, case: ModelCase, seed: int = 0, each: int = EACH) -> Filled:
    """Make operands for a model: ``each`` rows for every bucket, if that many are found. The same seed gives the same
    rows.
    """
    dice = Dice(seed, zlib.crc32(f"{model.name} {case}".encode()) | 1 << 32)
    hits: Counter[Bucket] = Counter()
    wanted = dict.fromkeys(model.buckets(case))
    rows: dict[Operands, None] = {}

    def consider(row: Operands) -> None:
        if row in rows:
            return
        fitting = [bucket for bucket in model.fits(case, row) if bucket in wanted]
        if any(hits[bucket] < each for bucket in fitting):
            rows[row] = None
            hits.update(fitting)

    open_buckets, enough = list(wanted), TRIES // 20 * -(-each // EACH)
    for tried in range(max(TRIES, enough)):
        for bucket in open_buckets:
            if hits[bucket] < each:
                for row in model.aim(case, bucket, dice):
                    consider(row)
        # A bucket with one row does not get many more rounds: a second row may not exist.
        open_buckets = [bucket for bucket in open_buckets if hits[bucket] < (each if tried < enough else 1)]
        if not open_buckets or (case.enumerable and tried >= enough):
            break
    proven = False
    if case.enumerable and open_buckets:
        for row in product(*(range(1 << width) for width in case.widths)):
            consider(row)
            if all(hits[bucket] for bucket in open_buckets):
                break
        else:
            proven = True
    return Filled(tuple(rows), {bucket: hits[bucket] for bucket in wanted}, proven)


# --- codes ------------------------------------------------------------------------------------------------------------
#
# Operand codes of interest: FPgen's basic types, and special patterns of the fraction bits.

_Test = Callable[[FloatFormat, int], bool]


def magnitude_of(fmt: FloatFormat, code: int) -> int:
    """Return a code without its sign."""
    return code & (fmt.code_mask >> fmt.signed)


def _is(code_of: Callable[[FloatFormat], int | None]) -> _Test:
    def test(fmt: FloatFormat, code: int) -> bool:
        return not fmt.is_nan(code) and magnitude_of(fmt, code) == code_of(fmt)

    return test


def sign_of(fmt: FloatFormat, code: int) -> str:
    """Return the sign of a code; + in a format without signs."""
    return SIGNS[code >> fmt.bits - 1 if fmt.signed else 0]


def code_of_one(fmt: FloatFormat) -> int | None:
    """Return the code of 1, or None if the format has none."""
    return intermediate.encoded(fmt, 0, 1, 0)


def largest_subnormal(fmt: FloatFormat) -> int | None:
    """Return the code of the largest subnormal, or None if the format has none."""
    return fmt.fraction_mask if fmt.zero and fmt.mantissa_bits else None


def smallest_subnormal(fmt: FloatFormat) -> int | None:
    """Return the code of the smallest subnormal, or None if the format has none."""
    return 1 if fmt.zero and fmt.mantissa_bits else None


def _is_normal(fmt: FloatFormat, code: int) -> bool:
    return not (fmt.is_nan(code) or fmt.is_infinite(code) or fmt.is_zero(code) or fmt.is_subnormal(code))


BASIC_TYPES: Mapping[str, _Test] = {
    "zero": FloatFormat.is_zero,
    "one": _is(code_of_one),
    "smallest subnormal": _is(smallest_subnormal),
    "subnormal": FloatFormat.is_subnormal,
    "largest subnormal": _is(largest_subnormal),
    "smallest normal": _is(lambda fmt: fmt.min_normal_code),
    "normal": _is_normal,
    "largest": _is(lambda fmt: fmt.max_code),
    "infinity": FloatFormat.is_infinite,
    "default NaN": lambda fmt, code: (
        fmt.is_nan(code) and magnitude_of(fmt, code) == magnitude_of(fmt, fmt.nan_code or 0)
    ),
    "quiet NaN": lambda fmt, code: fmt.is_nan(code) and not fmt.is_signalling(code),
    "signalling NaN": FloatFormat.is_signalling,
}
"""FPgen's basic types of an operand."""


@lru_cache(maxsize=4096)
def basic_types(fmt: FloatFormat, code: int) -> tuple[str, ...]:
    """Return the names of the basic types that a code has, each with its sign."""
    sign = sign_of(fmt, code)
    return tuple(sign + name for name, test in BASIC_TYPES.items() if test(fmt, code))


@lru_cache(maxsize=128)
def basic_codes(fmt: FloatFormat) -> tuple[int, ...]:
    """Return codes that include each basic type of the format, with each sign."""
    one = code_of_one(fmt)
    found = {0, 1, 2, 3, fmt.min_normal_code, fmt.max_code, fmt.max_code - 1, fmt.min_normal_code + 1}
    found |= {
        fmt.fraction_mask,
        fmt.fraction_mask >> 1,
        fmt.from_magnitude(fmt.min_normal_magnitude + fmt.max_magnitude >> 1),
    }
    found |= {code for code in (one, fmt.infinity_code, fmt.nan_code) if code is not None}
    if fmt.nan is NanEncoding.IEEE:
        top = fmt.max_code + 1 if fmt.infinity_code is None else fmt.infinity_code
        found |= {top | 1, top | fmt.quiet_bit - 1, top | fmt.quiet_bit | 1, top | fmt.fraction_mask}
    signs = (0, fmt.sign_mask) if fmt.sign_mask else (0,)
    return tuple(sorted({code & fmt.code_mask | sign for code in found for sign in signs}))


@lru_cache(maxsize=128)
def present_types(fmt: FloatFormat) -> dict[str, list[int]]:
    """Return the codes of `basic_codes` by the basic types that the format has."""
    present: dict[str, list[int]] = {}
    for code in basic_codes(fmt):
        for name in basic_types(fmt, code):
            present.setdefault(name, []).append(code)
    return present


def float_sources(case: ModelCase) -> list[FloatFormat]:
    """Return the formats of the operands; an empty list unless all are floats."""
    formats = [source for source in case.sources if isinstance(source, FloatFormat)]
    return formats if len(formats) == len(case.sources) else []


def _fraction_classes(bits: int) -> dict[int, set[str]]:
    """Return special fractions with the names of their patterns; one may have several."""
    every = (1 << bits) - 1
    classes: dict[int, set[str]] = {}

    def add(name: str, patterns: Iterable[int]) -> None:
        for pattern in patterns:
            classes.setdefault(pattern & every, set()).add(name)

    add("all zeros", [0])
    add("all ones", [every])
    add("one 1", (1 << k for k in range(bits)))
    add("one 0", (every ^ 1 << k for k in range(bits)))
    add("leading ones", (every ^ (1 << k) - 1 for k in range(1, bits)))
    add("trailing ones", ((1 << k) - 1 for k in range(1, bits)))
    if bits > 2:
        add("checkerboard", (int((word * bits)[:bits], 2) for word in ("01", "10", "0011", "1100", "011", "100")))
    if bits > 4:
        third = max(bits // 4, 1)
        add("long run of ones", [(1 << bits - third) - 1 ^ (1 << third) - 1, every ^ 1 << bits - 1 ^ 1])
        add("long run of zeros", [1 << bits - 1 | 1, every ^ (1 << bits - third) - 1 | (1 << third) - 1])
    return classes


@lru_cache(maxsize=128)
def fraction_patterns(bits: int) -> dict[str, list[int]]:
    """Return special fractions of that many bits by the name of their pattern."""
    by_name: dict[str, list[int]] = {}
    for pattern, names in _fraction_classes(bits).items():
        for name in sorted(names):
            by_name.setdefault(name, []).append(pattern)
    return by_name


pattern_names = lru_cache(maxsize=128)(_fraction_classes)


def normal_fraction(fmt: FloatFormat, code: int) -> int | None:
    """Return the fraction bits of a normal number; None for any other code."""
    return code & fmt.fraction_mask if _is_normal(fmt, code) else None


# --- results ----------------------------------------------------------------------------------------------------------
#
# Exact results of a case: their range, and operands that give a wanted one.


def float_target(case: ModelCase) -> FloatFormat:
    """Return the format that is rounded to."""
    assert isinstance(case.target, FloatFormat)
    return case.target


def nonzero_result(case: ModelCase, row: Operands) -> ExactResult | None:
    """Return the exact result of operands; None if it is zero or not a number."""
    result = intermediate.exact(case, row)
    return result if result is not None and result.significand else None


def exponent_range(case: ModelCase) -> tuple[int, int]:
    """Return the exponents that an exact result can have."""
    low, high = case.extent
    return floor_log2(low), floor_log2(high)


def largest_result(case: ModelCase, sign: int) -> Fraction:
    """Return the largest magnitude of an exact result of that sign."""
    source = case.sources[0]
    if isinstance(source, Integer):
        return Fraction(-source.lowest if sign else source.highest)
    return case.extent[1]


def reaches(case: ModelCase, low: Fraction, high: Fraction) -> bool:
    """Tell whether a conversion has an operand with a magnitude of at least ``low`` and less than ``high``."""
    source = case.sources[0]
    if isinstance(source, Integer):
        return -(-low.numerator // low.denominator) < high
    above = scalar.value(source, scalar.from_fraction(source, low, scalar.RU).code)
    return above is not None and low <= above < high


def floor_log2(number: Fraction) -> int:
    """Return the exponent of the largest power of 2 that is not above a positive number."""
    guess = number.numerator.bit_length() - number.denominator.bit_length()
    return guess if number >= Fraction(2) ** guess else guess - 1


def _some_lead(case: ModelCase, dice: Dice, bits: int) -> int:
    """Return the exponent of a result in its range: often a moderate one, else one near the lower end, where results
    are subnormal. For an integer to be rounded, ``bits`` bits must be below the last kept bit.
    """
    low, high = exponent_range(case)
    if isinstance(case.target, Integer):
        return dice.between(0, max(case.target.width - 2, 1))
    target, source = case.target, case.sources[0]
    if case.kind == "convert" and bits > case.float_source.precision - target.precision and target.zero:
        lowest = target.emin - target.mantissa_bits
        return lowest + dice.between(0, case.float_source.mantissa_bits - bits)
    if isinstance(source, Integer):
        top = min(source.highest.bit_length() - 1, target.emax)
        return dice.between(min(target.mantissa_bits + bits, top), top)
    lowest = max(low, target.emin - target.mantissa_bits)
    top = min(high, target.emax - 1)
    turn = dice.below(4)
    if turn == 0:
        return dice.between(lowest, max(min(target.emin, top), lowest))
    if turn == 1:
        return dice.between(lowest, top)
    return dice.between(max(lowest, -8), min(top, 8))


def with_tail(case: ModelCase, dice: Dice, sign: int, kept_bit: int | None, tail: int, bits: int) -> Iterator[Operands]:
    """Yield operands whose exact result has this last kept bit (None: any), and below it ``bits`` bits, those of
    ``tail``.
    """
    lead = _some_lead(case, dice, bits)
    lowest = intermediate.quantum(case.target, lead)
    kept = _random_kept(case, dice, lead, lowest)
    if kept_bit is not None:
        kept = kept & ~1 | kept_bit
    yield from intermediate.operands_for(case, dice, sign, kept << bits | tail, lowest - bits)


def _random_kept(case: ModelCase, dice: Dice, lead: int, lowest: int) -> int:
    length = max(lead - lowest, 0)
    kept = 1 << length | dice.bits(length)
    # Exact products and quotients with a tail need a short significand.
    return kept if dice.below(2) else kept >> (cut := dice.below(length + 1)) << cut


def with_lead(case: ModelCase, dice: Dice, sign: int, lead: int) -> Iterator[Operands]:
    """Yield operands of a random result of that sign and leading exponent."""
    length = dice.below(fmt.precision if isinstance(fmt := case.sources[0], FloatFormat) else max(lead + 1, 1))
    yield from intermediate.operands_for(case, dice, sign, 1 << length | dice.bits(length), lead - length)
