"""The coverage models of IBM's FPgen, B1 to B13 and B19 to B29, by what they ask of the result before it is rounded.

A model names buckets, says in which of them operands fall (by exact arithmetic), and constructs operands for each. What
it could not fill is told; over few operands all are tried, so that there an empty bucket is proven to be empty.
B14 to B18 are about fused multiply-add. ``p``: the precision of the format that is rounded to.
"""

from __future__ import annotations

import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import product

from halfulp.conformance.vectors.intermediate import (
    ExactResult,
    Integer,
    ModelCase,
    encoded,
    exact,
    nearest,
    operand,
    operands_for,
    pieces,
    quantum,
    random_normal,
    smallest,
)
from halfulp.conformance.vectors.philox import Dice
from halfulp.conformance.vectors.testfloat_levels import significands
from halfulp.fp_formats import scalar
from halfulp.fp_formats.formats import FloatFormat, NanEncoding
from halfulp.fp_formats.policy import SPEC

Bucket = tuple[str | int, ...]
Operands = tuple[int, ...]

TRIES = 400
"""Rounds of construction for the buckets that are still empty."""

_ARITHMETIC = ("add", "subtract", "multiply", "divide")
_SUMS = ("add", "subtract")
_ROUNDED = (*_ARITHMETIC, "convert", "from integer")
_SIGN = "+-"


@dataclass(frozen=True)
class CoverageModel:
    """One coverage model.

    ``target``: what it asks for. ``kinds``: the kinds of cases it applies to. ``buckets(case)``: all it asks for, but
    for what the range of the op excludes by itself. ``fits(case, operands)``: the buckets that operands fall in.
    ``aim(case, bucket, dice)``: operands that should fall in a bucket; what comes is judged by ``fits``.
    """

    name: str
    target: str
    kinds: tuple[str, ...]
    buckets: Callable[[ModelCase], Iterable[Bucket]]
    fits: Callable[[ModelCase, Operands], Iterable[Bucket]]
    aim: Callable[[ModelCase, Bucket, Dice], Iterator[Operands]]


@dataclass(frozen=True)
class Filled:
    """Operands made for a model. ``hits``: how many rows fall in each bucket, 0 where none does. ``proven``: all
    operands were tried, so what is empty cannot be filled.
    """

    rows: tuple[Operands, ...]
    hits: Mapping[Bucket, int]
    proven: bool

    @property
    def empty(self) -> list[Bucket]:
        """Buckets that no row falls in."""
        return [bucket for bucket, count in self.hits.items() if not count]

    @property
    def reason(self) -> str:
        """Why some buckets are empty; nothing where none is."""
        if not self.empty:
            return ""
        return "none of all combinations of operands falls there" if self.proven else "no operands were found"


def coverage(model: CoverageModel, case: ModelCase, rows: Iterable[Operands]) -> dict[Bucket, int]:
    """How many of the rows fall in each bucket of a model."""
    hits = dict.fromkeys(model.buckets(case), 0)
    for row in rows:
        for bucket in model.fits(case, row):
            if bucket in hits:
                hits[bucket] += 1
    return hits


def coverage_table(filled: Mapping[str, Filled]) -> str:
    """A line for each model: how many of its buckets are hit, by how many rows, and its target; then what is empty."""
    lines = []
    for name, made in filled.items():
        asked, empty = len(made.hits), made.empty
        lines.append(f"{name:<4} {asked - len(empty):>6} of {asked:<6} {len(made.rows):>6} rows  {MODELS[name].target}")
        lines += [f"            {' '.join(map(str, bucket))}: {made.reason}" for bucket in empty]
    return "\n".join(lines)


def applies(model: CoverageModel, case: ModelCase) -> bool:
    """Whether a model has anything to ask of a case."""
    return case.kind in model.kinds and any(True for _ in model.buckets(case))


@lru_cache(maxsize=32)
def fill(model: CoverageModel, case: ModelCase, seed: int = 0, each: int = 2) -> Filled:
    """Operands for a model: ``each`` rows for every bucket where that many are found. The same for the same seed."""
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

    open_buckets = list(wanted)
    for tried in range(TRIES):
        for bucket in open_buckets:
            if hits[bucket] < each:
                for row in model.aim(case, bucket, dice):
                    consider(row)
        # A bucket with one row is not worth many rounds more: it may have no second one.
        open_buckets = [bucket for bucket in open_buckets if hits[bucket] < (each if tried < TRIES // 20 else 1)]
        if not open_buckets or (case.enumerable and tried >= TRIES // 20):
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


# Common parts.


def _target(case: ModelCase) -> FloatFormat:
    assert isinstance(case.target, FloatFormat)
    return case.target


def _nonzero(case: ModelCase, row: Operands) -> ExactResult | None:
    result = exact(case, row)
    return result if result is not None and result.significand else None


def _leads(case: ModelCase) -> tuple[int, int]:
    """The exponents that an exact result can have."""
    low, high = case.extent
    return _log2(low), _log2(high)


def _most(case: ModelCase, sign: int) -> Fraction:
    """The largest magnitude of an exact result of that sign."""
    source = case.sources[0]
    if isinstance(source, Integer):
        return Fraction(-source.lowest if sign else source.highest)
    return case.extent[1]


def _reaches(case: ModelCase, low: Fraction, high: Fraction) -> bool:
    """Whether a conversion has an operand of a magnitude from ``low`` up to, not including, ``high``."""
    source = case.sources[0]
    if isinstance(source, Integer):
        return -(-low.numerator // low.denominator) < high
    above = scalar.value(source, scalar.from_fraction(source, low, scalar.RU).code)
    return above is not None and low <= above < high


def _log2(number: Fraction) -> int:
    guess = number.numerator.bit_length() - number.denominator.bit_length()
    return guess if number >= Fraction(2) ** guess else guess - 1


def _some_lead(case: ModelCase, dice: Dice, bits: int) -> int:
    """The exponent of a result in its range: often a moderate one, else at the lower end, where results are subnormal.
    Of an integer to be rounded, ``bits`` bits must lie below the last kept one.
    """
    low, high = _leads(case)
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


def _with_tail(
    case: ModelCase, dice: Dice, sign: int, kept_bit: int | None, tail: int, bits: int
) -> Iterator[Operands]:
    """Operands of a result with that last kept bit (None: any), and below it ``tail``, of ``bits`` bits."""
    lead = _some_lead(case, dice, bits)
    lowest = quantum(case.target, lead)
    kept = _random_kept(case, dice, lead, lowest)
    if kept_bit is not None:
        kept = kept & ~1 | kept_bit
    yield from operands_for(case, dice, sign, kept << bits | tail, lowest - bits)


def _random_kept(case: ModelCase, dice: Dice, lead: int, lowest: int) -> int:
    length = max(lead - lowest, 0)
    kept = 1 << length | dice.bits(length)
    # A short significand is what exact products and quotients with a tail need.
    return kept if dice.below(2) else kept >> (cut := dice.below(length + 1)) << cut


# B1, B2, B9, B10 to B13, B19: operands and exactly known results.

_Test = Callable[[FloatFormat, int], bool]


def _magnitude(fmt: FloatFormat, code: int) -> int:
    return code & (fmt.code_mask >> fmt.signed)


def _is(code_of: Callable[[FloatFormat], int | None]) -> _Test:
    def test(fmt: FloatFormat, code: int) -> bool:
        return not fmt.is_nan(code) and _magnitude(fmt, code) == code_of(fmt)

    return test


def _one(fmt: FloatFormat) -> int | None:
    return encoded(fmt, 0, 1, 0)


def _largest_subnormal(fmt: FloatFormat) -> int | None:
    return fmt.fraction_mask if fmt.zero and fmt.mantissa_bits else None


def _smallest_subnormal(fmt: FloatFormat) -> int | None:
    return 1 if fmt.zero and fmt.mantissa_bits else None


def _is_normal(fmt: FloatFormat, code: int) -> bool:
    return not (fmt.is_nan(code) or fmt.is_infinite(code) or fmt.is_zero(code) or fmt.is_subnormal(code))


BASIC_TYPES: Mapping[str, _Test] = {
    "zero": FloatFormat.is_zero,
    "one": _is(_one),
    "smallest subnormal": _is(_smallest_subnormal),
    "subnormal": FloatFormat.is_subnormal,
    "largest subnormal": _is(_largest_subnormal),
    "smallest normal": _is(lambda fmt: fmt.min_normal_code),
    "normal": _is_normal,
    "largest": _is(lambda fmt: fmt.max_code),
    "infinity": FloatFormat.is_infinite,
    "default NaN": lambda fmt, code: fmt.is_nan(code) and _magnitude(fmt, code) == _magnitude(fmt, fmt.nan_code or 0),
    "quiet NaN": lambda fmt, code: fmt.is_nan(code) and not fmt.is_signalling(code),
    "signalling NaN": FloatFormat.is_signalling,
}
"""FPgen's basic types of an operand."""


@lru_cache(maxsize=4096)
def _basic_types(fmt: FloatFormat, code: int) -> tuple[str, ...]:
    sign = _SIGN[code >> fmt.bits - 1 if fmt.signed else 0]
    return tuple(sign + name for name, test in BASIC_TYPES.items() if test(fmt, code))


@lru_cache(maxsize=128)
def basic_codes(fmt: FloatFormat) -> tuple[int, ...]:
    """Codes among which each basic type that the format has is found, with each sign."""
    one = _one(fmt)
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
def _present_types(fmt: FloatFormat) -> dict[str, list[int]]:
    present: dict[str, list[int]] = {}
    for code in basic_codes(fmt):
        for name in _basic_types(fmt, code):
            present.setdefault(name, []).append(code)
    return present


def _floats(case: ModelCase) -> list[FloatFormat]:
    """The formats of the operands; none unless all are floats."""
    formats = [source for source in case.sources if isinstance(source, FloatFormat)]
    return formats if len(formats) == len(case.sources) else []


def _b1_buckets(case: ModelCase) -> Iterator[Bucket]:
    formats = _floats(case)
    if formats:
        yield from product(*(_present_types(fmt) for fmt in formats))


def _b1_fits(case: ModelCase, row: Operands) -> Iterator[Bucket]:
    yield from product(*(_basic_types(fmt, code) for fmt, code in zip(_floats(case), row, strict=True)))


def _b1_aim(case: ModelCase, bucket: Bucket, dice: Dice) -> Iterator[Operands]:
    lists = [_present_types(fmt)[str(name)] for fmt, name in zip(_floats(case), bucket, strict=True)]
    yield tuple(codes[dice.below(len(codes))] for codes in lists)


def _bases(fmt: FloatFormat) -> dict[str, int]:
    bases = {
        "zero": 0 if fmt.zero else None,
        "one": _one(fmt),
        "smallest subnormal": _smallest_subnormal(fmt),
        "largest subnormal": _largest_subnormal(fmt),
        "smallest normal": fmt.min_normal_code,
        "largest": fmt.max_code,
    }
    return {name: code for name, code in bases.items() if code is not None}


@lru_cache(maxsize=256)
def _b2_codes(case: ModelCase) -> dict[int, tuple[Bucket, ...]]:
    """By magnitude of the result, the buckets: its base and the bit that was flipped, -1 for none."""
    fmt = _target(case)
    low, high = case.extent
    codes: dict[int, list[Bucket]] = {}
    for name, base in _bases(fmt).items():
        for bit in range(-1, fmt.mantissa_bits):
            code = base ^ (1 << bit if bit >= 0 else 0)
            number = None if fmt.is_nan(code) or fmt.is_infinite(code) else scalar.value(fmt, code)
            if number is None or number > high or (0 < number < low):
                continue
            if len(case.sources) == 1 and not _converts_to(case, code):
                continue
            codes.setdefault(code, []).append((name, bit))
    return {code: tuple(buckets) for code, buckets in codes.items()}


def _converts_to(case: ModelCase, code: int) -> bool:
    """Whether the operand closest to a value is converted to it; if that is not, none is."""
    fmt = _target(case)
    _, _, significand, exponent = scalar.unpack(fmt, code)
    closest = nearest(case.sources[0], 0, significand, exponent)
    number = None if closest is None else operand(case.sources[0], closest)
    if number is None:
        return False
    return scalar.round_pack(fmt, 0, number.significand, number.exponent, scalar.RNE, SPEC).code == code


def _b2_buckets(case: ModelCase) -> Iterator[Bucket]:
    for code, buckets in _b2_codes(case).items():
        for sign in case.signs if code else (0,):
            for bucket in buckets:
                yield _SIGN[sign], *bucket


def _b2_fits(case: ModelCase, row: Operands) -> Iterator[Bucket]:
    result, fmt = exact(case, row), _target(case)
    if result is None:
        return
    if result.significand:
        # The magnitude is rounded: a sign may have no code in the target.
        code = scalar.round_pack(fmt, 0, result.significand, result.exponent, scalar.RNE, SPEC).code
    elif fmt.zero:
        code = 0
    else:
        return
    for bucket in _b2_codes(case).get(code, ()):
        yield _SIGN[result.sign if result.significand else 0], *bucket


def _b2_aim(case: ModelCase, bucket: Bucket, dice: Dice) -> Iterator[Operands]:
    sign, name, bit = bucket
    code = _bases(_target(case))[str(name)] ^ (1 << int(bit) if int(bit) >= 0 else 0)
    _, _, significand, exponent = scalar.unpack(_target(case), code)
    yield from operands_for(case, dice, _SIGN.index(str(sign)), significand, exponent)


def _fraction_classes(bits: int) -> dict[int, set[str]]:
    """Special fractions and the patterns they show; one may show several."""
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
def _patterns(bits: int) -> dict[str, list[int]]:
    by_name: dict[str, list[int]] = {}
    for pattern, names in _fraction_classes(bits).items():
        for name in sorted(names):
            by_name.setdefault(name, []).append(pattern)
    return by_name


_classes_of = lru_cache(maxsize=128)(_fraction_classes)


def _normal_fraction(fmt: FloatFormat, code: int) -> int | None:
    return code & fmt.fraction_mask if _is_normal(fmt, code) else None


def _b9_buckets(case: ModelCase) -> Iterator[Bucket]:
    formats = _floats(case)
    if not formats:
        return
    yield from product(*(_patterns(fmt.mantissa_bits) for fmt in formats))
    for place, fmt in enumerate(formats):
        for pattern in significands(fmt.mantissa_bits, 2):
            yield "operand", place, pattern


def _b9_fits(case: ModelCase, row: Operands) -> Iterator[Bucket]:
    formats = _floats(case)
    fractions = [_normal_fraction(fmt, code) for fmt, code in zip(formats, row, strict=True)]
    names = []
    for place, (fmt, fraction) in enumerate(zip(formats, fractions, strict=True)):
        if fraction is None:
            return
        yield "operand", place, fraction
        names.append(_classes_of(fmt.mantissa_bits).get(fraction, ()))
    yield from product(*names)


def _b9_aim(case: ModelCase, bucket: Bucket, dice: Dice) -> Iterator[Operands]:
    formats = _floats(case)
    row = []
    for place, fmt in enumerate(formats):
        bits = fmt.mantissa_bits
        if bucket[0] == "operand":
            listed = significands(bits, 2)
            fraction = int(bucket[2]) if bucket[1] == place else listed[dice.below(len(listed))]
        else:
            choices = _patterns(bits)[str(bucket[place])]
            fraction = choices[dice.below(len(choices))]
        lead = dice.between(max(fmt.emin, -4), min(fmt.emax, 4))
        code = encoded(fmt, dice.bits(1) if fmt.signed else 0, 1 << bits | fraction, lead - bits)
        if code is None:
            return
        row.append(code)
    yield tuple(row)


def _exponent(fmt: FloatFormat, code: int) -> int | None:
    """The exponent that an operand is aligned by: of a subnormal the smallest; None for 0 and what is no number."""
    number = operand(fmt, code)
    if number is None or not number.significand:
        return None
    return max(number.lead, fmt.emin)


def _shifts(case: ModelCase) -> range:
    fmt = case.float_source
    most = min(fmt.precision + 4, fmt.emax - fmt.emin)
    return range(-most, most + 1)


def _shift(case: ModelCase, row: Operands) -> int | None:
    fmt = case.float_source
    one, other = _exponent(fmt, row[0]), _exponent(fmt, row[1])
    return None if one is None or other is None else one - other


def _b10_buckets(case: ModelCase) -> Iterator[Bucket]:
    fmt = case.float_source
    for shift in _shifts(case):
        yield "shift", shift
    if fmt.emax - fmt.emin > fmt.precision + 4:
        yield from (("shift", "less"), ("shift", "more"))


def _b10_fits(case: ModelCase, row: Operands) -> Iterator[Bucket]:
    shift = _shift(case, row)
    if shift is not None:
        limit = case.float_source.precision + 4
        yield "shift", shift if abs(shift) <= limit else "less" if shift < 0 else "more"


def _shifted_leads(case: ModelCase, shift: int | str, dice: Dice) -> tuple[int, int]:
    fmt = case.float_source
    limit = fmt.precision + 4
    if isinstance(shift, str):
        far = dice.between(limit + 1, fmt.emax - fmt.emin)
        shift = far if shift == "more" else -far
    first = dice.between(max(fmt.emin, fmt.emin + shift), min(fmt.emax, fmt.emax + shift))
    return first, first - shift


def _b10_aim(case: ModelCase, bucket: Bucket, dice: Dice) -> Iterator[Operands]:
    one, other = (random_normal(case.float_source, dice, lead) for lead in _shifted_leads(case, bucket[1], dice))
    if one is not None and other is not None:
        yield one, other


def _effective(case: ModelCase, row: Operands) -> str:
    fmt = case.float_source
    differ = fmt.signed and bool((row[0] ^ row[1]) >> fmt.bits - 1)
    return "difference" if differ != (case.kind == "subtract") else "sum"


def _b11_buckets(case: ModelCase) -> Iterator[Bucket]:
    fmt = case.float_source
    patterns = _patterns(fmt.mantissa_bits)
    effects = ("sum", "difference") if fmt.signed else ("difference" if case.kind == "subtract" else "sum",)
    yield from product((shift for _, shift in _b10_buckets(case)), patterns, patterns, effects)


def _b11_fits(case: ModelCase, row: Operands) -> Iterator[Bucket]:
    fmt = case.float_source
    one, other = (_normal_fraction(fmt, code) for code in row)
    if one is None or other is None:
        return
    classes = _classes_of(fmt.mantissa_bits)
    for _, shift in _b10_fits(case, row):
        yield from product((shift,), classes.get(one, ()), classes.get(other, ()), (_effective(case, row),))


def _b11_aim(case: ModelCase, bucket: Bucket, dice: Dice) -> Iterator[Operands]:
    fmt = case.float_source
    shift, *names, effect = bucket
    row = []
    sign = dice.bits(1) if fmt.signed else 0
    flip = int((effect == "difference") != (case.kind == "subtract"))
    leads = _shifted_leads(case, shift, dice)
    for name, lead, own in zip(names, leads, (sign, sign ^ flip), strict=True):
        choices = _patterns(fmt.mantissa_bits)[str(name)]
        fraction = choices[dice.below(len(choices))]
        code = encoded(fmt, own, 1 << fmt.mantissa_bits | fraction, lead - fmt.mantissa_bits)
        if code is None:
            return
        row.append(code)
    yield tuple(row)


def _cancellation(case: ModelCase, row: Operands) -> tuple[int, int] | None:
    """How far the leading bit of a sum is from that of the larger operand, and where it is."""
    result = _nonzero(case, row)
    numbers = [operand(source, code) for source, code in zip(case.sources, row, strict=True)]
    leads = [number.lead for number in numbers if number is not None and number.significand]
    return None if result is None else (result.lead - max(leads), result.lead)


def _b12_buckets(case: ModelCase) -> Iterator[Bucket]:
    fmt = case.float_source
    lowest = -min(fmt.precision, fmt.emax - fmt.emin + (fmt.mantissa_bits if fmt.zero else 0))
    for moved in range(lowest, 2):
        if fmt.signed or (moved == 1) == (case.kind == "add") or moved == 0:
            yield "moved", moved


def _b12_fits(case: ModelCase, row: Operands) -> Iterator[Bucket]:
    found = _cancellation(case, row)
    if found is not None:
        yield "moved", found[0]


def _cancelling(case: ModelCase, lead: int, moved: int, dice: Dice) -> Iterator[Operands]:
    """Operands of a sum with that leading exponent, the larger of them ``moved`` below it."""
    fmt = case.float_source
    larger = lead - moved
    ulp = (max(larger, fmt.emin) if fmt.zero else larger) - fmt.mantissa_bits
    flip = int(case.kind == "subtract")
    sign = dice.bits(1) if fmt.signed else 0
    least = fmt.emin - fmt.mantissa_bits
    for finer in (0, 1):  # the smaller operand may lie a binade below, with a finer ulp
        unit = max(ulp - finer, least)
        length = lead - unit
        if length < 0:
            continue
        wanted = 1 << length | dice.bits(length)
        top = 1 << larger - unit
        for big in (
            top,
            top | dice.bits(max(larger - unit, 0)) >> finer << finer,
            top + (wanted >> 1 >> finer << finer),
        ):
            rest = wanted - big
            a = encoded(fmt, sign, big, unit)
            b = encoded(fmt, sign ^ (rest < 0) ^ flip if fmt.signed else 0, abs(rest), unit)
            if a is not None and b is not None and (fmt.signed or (rest < 0) == bool(flip)):
                yield a, b


def _b12_aim(case: ModelCase, bucket: Bucket, dice: Dice) -> Iterator[Operands]:
    fmt = case.float_source
    moved = int(bucket[1])
    lead = dice.between(max(fmt.emin + moved, fmt.emin - (fmt.mantissa_bits if fmt.zero else 0)), fmt.emax + moved)
    yield from _cancelling(case, min(lead, fmt.emax + (moved == 1)), moved, dice)


def _b13_buckets(case: ModelCase) -> Iterator[Bucket]:
    fmt = case.float_source
    if not fmt.zero:
        return
    for lead in range(fmt.emin - fmt.mantissa_bits, fmt.emin):
        for moved in range(-fmt.precision, 2):
            # Operands are multiples of the smallest subnormal, and one binade below the larger one ulps are finer.
            finest = max(lead - moved - 1, fmt.emin) - fmt.mantissa_bits
            if finest <= lead and lead - moved <= fmt.emax and lead - moved >= fmt.emin - fmt.mantissa_bits:
                yield "subnormal", lead, moved


def _b13_fits(case: ModelCase, row: Operands) -> Iterator[Bucket]:
    found = _cancellation(case, row)
    if found is not None and found[1] < case.float_source.emin:
        yield "subnormal", found[1], found[0]


def _b13_aim(case: ModelCase, bucket: Bucket, dice: Dice) -> Iterator[Operands]:
    _, lead, moved = bucket
    yield from _cancelling(case, int(lead), int(moved), dice)


def _b19_kind(fmt: FloatFormat, code: int) -> tuple[str, int, int] | None:
    number = operand(fmt, code)
    if number is None:
        return None
    sign = _SIGN[number.sign]
    magnitude = code & fmt.magnitude_mask
    if not number.significand:
        return "zero", 0, 0
    if fmt.is_subnormal(code):
        return f"{sign}subnormal", fmt.emin - 1, magnitude & fmt.fraction_mask
    return f"{sign}normal", number.lead, code & fmt.fraction_mask


def _relation(a: int, b: int) -> str:
    return "<" if a < b else "=" if a == b else ">"


def _b19_fits(case: ModelCase, row: Operands) -> Iterator[Bucket]:
    fmt = case.float_source
    one, other = _b19_kind(fmt, row[0]), _b19_kind(fmt, row[1])
    if one is None or other is None:
        return
    exponents = (fmt.emin - 1 if kind == "zero" else exponent for kind, exponent, _ in (one, other))
    yield one[0], other[0], _relation(*exponents), _relation(one[2], other[2])


def _b19_buckets(case: ModelCase) -> Iterator[Bucket]:
    fmt = case.float_source
    signs = _SIGN if fmt.signed else "+"
    kinds = {"normal": signs, "subnormal": signs if fmt.zero and fmt.mantissa_bits else "", "zero": " " * fmt.zero}
    names = [name if name == "zero" else sign + name for name, signs in kinds.items() for sign in signs]
    small = fmt.mantissa_bits
    for one, other in product(names, names):
        lower = [name.lstrip(_SIGN) != "normal" for name in (one, other)]
        order = _relation(*(0 if low else 1 for low in lower))
        orders = "<=>" if lower == [False, False] and fmt.emax > fmt.emin else order
        for exponents, fractions in product(orders, "<=>"):
            if _b19_possible(one.lstrip(_SIGN), other.lstrip(_SIGN), fractions, small):
                yield one, other, exponents, fractions


def _b19_possible(one: str, other: str, fractions: str, bits: int) -> bool:
    """Whether fractions of these kinds of operands can be in that relation; those of subnormals are not 0."""
    every = (1 << bits) - 1
    ranges = {"zero": (0, 0), "subnormal": (1, every), "normal": (0, every)}
    (low, high), (least, most) = ranges[one], ranges[other]
    return {"<": low < most, ">": high > least, "=": max(low, least) <= min(high, most)}[fractions]


def _b19_aim(case: ModelCase, bucket: Bucket, dice: Dice) -> Iterator[Operands]:
    fmt = case.float_source
    one, other, exponents, fractions = map(str, bucket)
    # Only a fraction of 0 equals that of zero.
    fraction = dice.bits(fmt.mantissa_bits) if fractions != "=" or dice.below(2) else 0
    step = 1 if dice.below(2) else 1 + dice.bits(fmt.mantissa_bits)
    second = fraction + {"<": step, "=": 0, ">": -step}[fractions] & fmt.fraction_mask
    field = dice.between(int(fmt.zero), (fmt.max_magnitude >> fmt.mantissa_bits) - 1)
    ahead = field + {"<": 1, "=": 0, ">": -1}[exponents]
    row = []
    for name, place, bits in ((one, field, fraction), (other, ahead, second)):
        if name == "zero":
            row.append(0)
            continue
        normal = name.endswith("normal") and not name.endswith("subnormal")
        code = fmt.from_magnitude((max(place, int(fmt.zero)) if normal else 0) << fmt.mantissa_bits | bits)
        row.append(code | (fmt.sign_mask or 0) * (name[0] == "-"))
    yield tuple(row)


# B3 to B8: what is rounded.


def _last_bits(case: ModelCase) -> tuple[int, ...]:
    """What the last kept bit can be: if it is the only one, 1, unless a result can lie below the smallest value."""
    target = case.target
    if isinstance(target, FloatFormat) and target.precision == 1 and case.extent[0] >= smallest(target):
        return (1,)
    return (0, 1)


def _rounding_buckets(case: ModelCase) -> Iterator[Bucket]:
    below = 2
    if case.kind == "from integer" or (case.kind == "convert" and case.extent[0] >= smallest(_target(case))):
        below = case.extra
    if below < 1:
        return
    signs = (_SIGN[sign] for sign in case.signs)
    for bucket in product(signs, _last_bits(case), (0, 1), (0, 1) if below > 1 else (0,)):
        # Of one kept bit, that is 0 only below the smallest value, where something has to follow.
        if any(bucket[1:]) or not isinstance(case.target, FloatFormat) or case.target.precision > 1:
            yield bucket


def _rounding_fits(case: ModelCase, row: Operands) -> Iterator[Bucket]:
    result = _nonzero(case, row)
    if result is not None:
        parts = pieces(case.target, result)
        yield _SIGN[result.sign], parts.kept & 1, parts.guard, parts.sticky


def _rounding_aim(case: ModelCase, bucket: Bucket, dice: Dice) -> Iterator[Operands]:
    sign, last, guard, sticky = bucket
    bits = 1 + dice.below(max(case.extra, 2))
    tail = int(guard) << bits - 1
    if sticky:
        tail |= dice.bits(bits - 1) or 1 << max(bits - 2, 0)
    yield from _with_tail(case, dice, _SIGN.index(str(sign)), int(last), tail, bits)


def _ulps(case: ModelCase, row: Operands, place: int) -> tuple[str, int] | None:
    """The sign of a result and its magnitude in whole units of 2**place."""
    result = exact(case, row)
    return None if result is None else (_SIGN[result.sign], pieces(case.target, result, place).kept)


def _top(fmt: FloatFormat) -> tuple[int, int]:
    """The largest value, as a number of its ulps, and the exponent of its ulp."""
    _, _, significand, exponent = scalar.unpack(fmt, fmt.max_code)
    return significand, exponent


def _b4_buckets(case: ModelCase) -> Iterator[Bucket]:
    fmt = _target(case)
    top, place = _top(fmt)
    for number in case.signs:
        sign, high = _SIGN[number], _most(case, number)
        for ulps in range(-3, 4):
            bound = (top + ulps) * Fraction(2) ** place
            within = len(case.sources) > 1 or _reaches(case, bound, bound + Fraction(2) ** place)
            if 0 < bound <= high and within:
                yield "near", sign, ulps
        for away in range(-3, 4):
            if _leads(case)[0] <= fmt.emax + away <= _log2(high):
                yield "exponent", sign, away
        if high >= (top + 4) * Fraction(2) ** place:
            yield "beyond", sign


def _b4_fits(case: ModelCase, row: Operands) -> Iterator[Bucket]:
    fmt = _target(case)
    top, place = _top(fmt)
    result = _nonzero(case, row)
    if result is None or result.lead < fmt.emax - 3:
        return
    sign = _SIGN[result.sign]
    ulps = pieces(fmt, result, place).kept - top
    yield "near", sign, ulps
    yield "exponent", sign, result.lead - fmt.emax
    if ulps > 3:
        yield "beyond", sign


def _b4_aim(case: ModelCase, bucket: Bucket, dice: Dice) -> Iterator[Operands]:
    fmt = _target(case)
    top, place = _top(fmt)
    what, sign = str(bucket[0]), _SIGN.index(str(bucket[1]))
    bits = dice.below(max(case.extra, 1) + 1)
    if what == "near":
        yield from operands_for(case, dice, sign, top + int(bucket[2]) << bits | dice.bits(bits), place - bits)
        return
    lead = fmt.emax + int(bucket[2]) if what == "exponent" else dice.between(fmt.emax, _leads(case)[1])
    yield from _with_lead(case, dice, sign, lead)


def _with_lead(case: ModelCase, dice: Dice, sign: int, lead: int) -> Iterator[Operands]:
    length = dice.below(fmt.precision if isinstance(fmt := case.sources[0], FloatFormat) else max(lead + 1, 1))
    yield from operands_for(case, dice, sign, 1 << length | dice.bits(length), lead - length)


def _tiny(case: ModelCase) -> tuple[int, int]:
    """The exponent of the smallest positive value, and the smallest normal one as a number of these."""
    fmt = _target(case)
    return (fmt.emin - fmt.mantissa_bits, 1 << fmt.mantissa_bits) if fmt.zero else (fmt.emin, 1)


def _b5_buckets(case: ModelCase) -> Iterator[Bucket]:
    fmt = _target(case)
    place, normal = _tiny(case)
    low, high = case.extent
    unit = Fraction(2) ** place
    for sign in (_SIGN[sign] for sign in case.signs):
        for ulps in sorted({*range(1, 5), *range(max(normal - 3, 1), normal + 4)}):
            within = len(case.sources) > 1 or _reaches(case, ulps * unit, (ulps + 1) * unit)
            if low < (ulps + 1) * unit and ulps * unit <= high and within:
                yield "ulps", sign, ulps
        for away in range(6):
            if _leads(case)[0] <= fmt.emin + away <= min(_leads(case)[1], fmt.emax):
                yield "exponent", sign, away
        if low < unit:
            yield "below", sign


def _b5_fits(case: ModelCase, row: Operands) -> Iterator[Bucket]:
    result = _nonzero(case, row)
    fmt = _target(case)
    if result is None or result.lead > fmt.emin + 6:
        return
    sign = _SIGN[result.sign]
    ulps = pieces(fmt, result, _tiny(case)[0]).kept
    yield "ulps", sign, ulps
    yield "exponent", sign, result.lead - fmt.emin
    if not ulps:
        yield "below", sign


def _b5_aim(case: ModelCase, bucket: Bucket, dice: Dice) -> Iterator[Operands]:
    place, _ = _tiny(case)
    what, sign = str(bucket[0]), _SIGN.index(str(bucket[1]))
    bits = dice.below(max(case.extra, 1) + 1)
    if what == "ulps":
        yield from operands_for(case, dice, sign, int(bucket[2]) << bits | dice.bits(bits), place - bits)
    elif what == "below":
        yield from _with_lead(case, dice, sign, dice.between(_leads(case)[0], place - 1))
    else:
        yield from _with_lead(case, dice, sign, _target(case).emin + int(bucket[2]))


_PARTS = ("below 1/4", "1/4", "1/4 to 1/2", "1/2", "1/2 to 3/4", "3/4", "above 3/4")


def _b6_buckets(case: ModelCase) -> Iterator[Bucket]:
    unit = smallest(_target(case))
    low, _ = case.extent
    if low >= unit or case.kind in _SUMS:
        return
    for sign in (_SIGN[sign] for sign in case.signs):
        for number, name in enumerate(_PARTS):
            # Results of conversions are multiples of the source's smallest value, each part needs one within.
            if case.kind != "convert" or low <= unit / (8 if number % 2 == 0 else 2 if number == 3 else 4):
                yield sign, name


def _b6_fits(case: ModelCase, row: Operands) -> Iterator[Bucket]:
    result = _nonzero(case, row)
    place, _ = _tiny(case)
    if result is None or result.lead >= place:
        return
    parts = pieces(_target(case), result, place - 2)
    yield _SIGN[result.sign], _PARTS[2 * parts.kept + (parts.rest != 0) - 1]


def _b6_aim(case: ModelCase, bucket: Bucket, dice: Dice) -> Iterator[Operands]:
    sign, name = bucket
    place, _ = _tiny(case)
    number = _PARTS.index(str(name)) + 1
    bits = 1 + dice.below(case.float_source.precision) if number % 2 else 0
    tail = dice.bits(bits) | 1 if bits else 0
    yield from operands_for(case, dice, _SIGN.index(str(sign)), (number >> 1) << bits | tail, place - 2 - bits)


def _b7_buckets(case: ModelCase) -> Iterator[Bucket]:
    if case.extra > 1:
        yield from (("sticky", place) for place in range(case.extra))


def _b7_fits(case: ModelCase, row: Operands) -> Iterator[Bucket]:
    result = _nonzero(case, row)
    if result is None or result.sign:
        return
    parts = pieces(case.target, result)
    if parts.guard or not parts.kept:
        return
    below = parts.below_guard
    # A quotient with a tail mostly has no end, so only its first bit is looked at.
    if not below:
        yield "sticky", 0
    elif case.kind == "divide" or not below & below - 1:
        yield "sticky", parts.shift - below.bit_length()


def _b7_aim(case: ModelCase, bucket: Bucket, dice: Dice) -> Iterator[Operands]:
    place = int(bucket[1])
    yield from _with_tail(case, dice, 0, None, int(place > 0), 1 + place)


_SIDES = ("above 0", "below 1/2", "above 1/2", "below 1")


def _b8_depth(case: ModelCase) -> int:
    """Within 2**-depth ulp of a boundary counts as near: the three smallest tails of most ops."""
    return max(case.extra - 2, 1)


def _b8_buckets(case: ModelCase) -> Iterator[Bucket]:
    if case.extra > 2:
        yield from product((_SIGN[sign] for sign in case.signs), _last_bits(case), _SIDES)


def _b8_fits(case: ModelCase, row: Operands) -> Iterator[Bucket]:
    result = _nonzero(case, row)
    if result is None:
        return
    parts = pieces(case.target, result)
    depth = _b8_depth(case) + 1  # of the part below the guard bit
    if parts.shift < 2:
        return
    half, sign = 1 << parts.shift - 1, _SIGN[result.sign]
    below = parts.below_guard
    if 0 < below << depth <= 2 * half:
        yield sign, parts.kept & 1, _SIDES[2 * parts.guard]
    if 0 < (half - below) << depth <= 2 * half and below:
        yield sign, parts.kept & 1, _SIDES[2 * parts.guard + 1]


def _b8_aim(case: ModelCase, bucket: Bucket, dice: Dice) -> Iterator[Operands]:
    sign, last, side = bucket
    # A kept bit of 0 needs another one before it, which may be taken from the tail.
    bits = max(case.extra - 1 + int(last), 2)
    step = 1 + dice.below(3)
    tail = (step, (1 << bits - 1) - step, (1 << bits - 1) + step, (1 << bits) - step)[_SIDES.index(str(side))]
    yield from _with_tail(case, dice, _SIGN.index(str(sign)), int(last), max(tail, 0), bits)


# B20, B21: division.


def _quotient(case: ModelCase, row: Operands) -> ExactResult | None:
    result = exact(case, row, "divide")
    return result if result is not None and result.significand else None


def _b20_buckets(case: ModelCase) -> Iterator[Bucket]:
    yield from (("significant bits", bits) for bits in range(1, case.float_source.precision + 1))


def _b20_fits(case: ModelCase, row: Operands) -> Iterator[Bucket]:
    result = _quotient(case, row)
    if result is not None:
        significand = result.significand
        yield "significant bits", (significand // (significand & -significand)).bit_length()


def _b20_aim(case: ModelCase, bucket: Bucket, dice: Dice) -> Iterator[Operands]:
    fmt = case.float_source
    bits = int(bucket[1])
    quotient = 1 << bits - 1 | dice.bits(bits - 1) | 1
    room = max(fmt.precision - bits, 1)
    divisor = 1 << room - 1 | dice.bits(room - 1)
    dividend = quotient * divisor
    lead = dice.between(max(fmt.emin, -8), min(fmt.emax, 8))
    sign, other = (dice.bits(1), dice.bits(1)) if fmt.signed else (0, 0)
    a = encoded(fmt, sign, dividend, lead - dividend.bit_length() + 1)
    b = encoded(fmt, other, divisor, dice.between(max(fmt.emin, -8), min(fmt.emax, 8)) - room + 1)
    if a is not None and b is not None:
        yield a, b


def _b21_kind(fmt: FloatFormat, code: int) -> str:
    sign = _SIGN[code >> fmt.bits - 1 if fmt.signed else 0]
    if fmt.is_nan(code):
        return "NaN"
    return sign + ("zero" if fmt.is_zero(code) else "infinity" if fmt.is_infinite(code) else "number")


def _b21_buckets(case: ModelCase) -> Iterator[Bucket]:
    fmt = case.float_source
    kinds = dict.fromkeys(_b21_kind(fmt, code) for code in basic_codes(fmt))
    yield from product(kinds, kinds)


def _b21_fits(case: ModelCase, row: Operands) -> Iterator[Bucket]:
    yield tuple(_b21_kind(case.float_source, code) for code in row)


def _b21_aim(case: ModelCase, bucket: Bucket, dice: Dice) -> Iterator[Operands]:
    fmt = case.float_source
    codes = {name: [code for code in basic_codes(fmt) if _b21_kind(fmt, code) == name] for name in map(str, bucket)}
    yield tuple(codes[str(name)][dice.below(len(codes[str(name)]))] for name in bucket)


# B22 to B29: conversions.


def _integer(case: ModelCase) -> Integer:
    target = case.target if isinstance(case.target, Integer) else case.sources[0]
    assert isinstance(target, Integer)
    return target


def _b22_buckets(case: ModelCase) -> Iterator[Bucket]:
    low, high = _leads(case)
    width = _integer(case).width
    for sign in (_SIGN[sign] for sign in case.signs):
        yield from ((sign, lead) for lead in range(max(low, -3), min(high, width + 3) + 1))
        if low < -3:
            yield sign, "smaller"
        if high > width + 3:
            yield sign, "larger"


def _b22_fits(case: ModelCase, row: Operands) -> Iterator[Bucket]:
    result = _nonzero(case, row)
    if result is not None:
        lead = result.lead
        yield _SIGN[result.sign], "smaller" if lead < -3 else "larger" if lead > _integer(case).width + 3 else lead


def _b22_aim(case: ModelCase, bucket: Bucket, dice: Dice) -> Iterator[Operands]:
    sign, lead = bucket
    low, high = _leads(case)
    if lead == "smaller":
        lead = dice.between(low, -4)
    elif lead == "larger":
        lead = dice.between(_integer(case).width + 4, high)
    yield from _with_lead(case, dice, _SIGN.index(str(sign)), int(lead))


def _listed(case: ModelCase, listed: Mapping[Bucket, int]) -> dict[int, list[Bucket]]:
    by_code: dict[int, list[Bucket]] = {}
    for bucket, code in listed.items():
        by_code.setdefault(code, []).append(bucket)
    return by_code


@lru_cache(maxsize=256)
def _b23_codes(case: ModelCase) -> dict[Bucket, int]:
    """Quarters around the ends of the integer range, as far as the source has them, and its values next to them."""
    fmt, integer = case.float_source, _integer(case)
    listed: dict[Bucket, int] = {}
    for name, bound in (("largest", integer.highest), ("smallest", integer.lowest), ("- largest", -integer.highest)):
        for quarters in range(-4, 5):
            number = 4 * bound + quarters
            code = encoded(fmt, int(number < 0), abs(number), -2) if number else None
            if code is not None:
                listed[name, "quarters", quarters] = code
        middle = nearest(fmt, int(bound < 0), abs(bound), 0) if bound else None
        if middle is not None and scalar.value(fmt, middle):
            for step in range(-2, 3):
                code = middle + step
                if (
                    0 <= code <= fmt.code_mask
                    and scalar.value(fmt, code) is not None
                    and code ^ middle < fmt.code_mask >> 1
                ):
                    listed[name, "neighbour", step] = code
    return listed


@lru_cache(maxsize=256)
def _b24_codes(case: ModelCase) -> dict[Bucket, int]:
    fmt = case.float_source
    listed: dict[Bucket, int] = {}
    for sign, quarters in product(case.signs, range(8)):
        code = encoded(fmt, sign, quarters, -2)
        if code is None or (sign and not quarters and not fmt.has_negative_zero):
            continue
        listed[_SIGN[sign], quarters] = code
    return listed


def _listed_model(
    codes: Callable[[ModelCase], dict[Bucket, int]],
) -> tuple[
    Callable[[ModelCase], Iterable[Bucket]],
    Callable[[ModelCase, Operands], Iterable[Bucket]],
    Callable[[ModelCase, Bucket, Dice], Iterator[Operands]],
]:
    """The functions of a model of one operand that asks for certain values."""
    by_code = lru_cache(maxsize=256)(lambda case: _listed(case, codes(case)))

    def aim(case: ModelCase, bucket: Bucket, _: Dice) -> Iterator[Operands]:
        yield (codes(case)[bucket],)

    return codes, lambda case, row: by_code(case).get(row[0], ()), aim


def _b25_buckets(case: ModelCase) -> Iterator[Bucket]:
    integer = _integer(case)
    names = ["largest", "0", "other"]
    names += ["1"] if integer.highest > 1 else []
    names += ["smallest", "-1", "- largest"] if integer.signed and integer.width > 2 else []
    if integer.width > 2:
        yield from ((name,) for name in names)


def _b25_fits(case: ModelCase, row: Operands) -> Iterator[Bucket]:
    integer = _integer(case)
    number = integer.number(row[0])
    named = {0: "0", 1: "1", -1: "-1", -integer.highest: "- largest", integer.lowest: "smallest"}
    named |= {integer.highest: "largest", 0: "0"}
    yield (named.get(number, "other"),)


def _b25_aim(case: ModelCase, bucket: Bucket, dice: Dice) -> Iterator[Operands]:
    integer = _integer(case)
    named = {"0": 0, "1": 1, "-1": -1, "largest": integer.highest, "smallest": integer.lowest}
    number = named.get(str(bucket[0]), -integer.highest if bucket[0] == "- largest" else dice.bits(integer.width))
    yield (number & (1 << integer.width) - 1,)


def _b26_buckets(case: ModelCase) -> Iterator[Bucket]:
    integer = _integer(case)
    yield from (("+", bits) for bits in range(integer.highest.bit_length() + 1))
    if integer.signed:
        yield from (("-", bits) for bits in range(1, integer.width + 1))


def _b26_fits(case: ModelCase, row: Operands) -> Iterator[Bucket]:
    number = _integer(case).number(row[0])
    yield _SIGN[number < 0], abs(number).bit_length()


def _b26_aim(case: ModelCase, bucket: Bucket, dice: Dice) -> Iterator[Operands]:
    sign, length = str(bucket[0]), int(bucket[1])
    number = 1 << length - 1 | dice.bits(length - 1) if length else 0
    if sign == "-":
        number = min(number, -_integer(case).lowest)
    yield ((-number if sign == "-" else number) & (1 << _integer(case).width) - 1,)


def _payload_bits(case: ModelCase) -> tuple[int, int]:
    """Payload bits of a NaN that the target keeps, the quiet bit aside, and those it loses."""
    source, target = case.float_source, case.target
    if source.nan is not NanEncoding.IEEE or not isinstance(target, FloatFormat):
        return 0, 0
    upper = max(min(source.mantissa_bits, target.mantissa_bits) - 1, 0)
    return upper, source.mantissa_bits - 1 - upper


def _b27_buckets(case: ModelCase) -> Iterator[Bucket]:
    source = case.float_source
    if source.nan_code is None:
        return
    upper, lower = _payload_bits(case)
    quiet = (0, 1) if source.quiet_bit else (1,)
    for bit, above, below in product(quiet, (0, 1) if upper else (0,), (0, 1) if lower else (0,)):
        if bit or above or below:
            yield "quiet" if bit else "signalling", above, below


def _b27_fits(case: ModelCase, row: Operands) -> Iterator[Bucket]:
    source, code = case.float_source, row[0]
    if source.is_nan(code) and not source.is_invalid(code):
        _, lower = _payload_bits(case)
        payload = code & max(source.quiet_bit - 1, 0)
        quiet = "signalling" if source.is_signalling(code) else "quiet"
        yield quiet, int(payload >> lower != 0), int(payload & (1 << lower) - 1 != 0)


def _b27_aim(case: ModelCase, bucket: Bucket, dice: Dice) -> Iterator[Operands]:
    source = case.float_source
    quiet, above, below = bucket
    upper, lower = _payload_bits(case)
    code = source.nan_code or 0
    if source.nan is NanEncoding.IEEE:
        assert source.infinity_code is not None
        payload = (dice.bits(upper) or 1) << lower if above else 0
        payload |= (dice.bits(lower) or 1) if below else 0
        code = source.infinity_code | payload | (source.quiet_bit if quiet == "quiet" else 0)
        code |= (source.sign_mask or 0) * dice.bits(1)
    yield (code,)


def _b28_fits(case: ModelCase, row: Operands) -> Iterator[Bucket]:
    source, code = case.float_source, row[0]
    sign = _SIGN[code >> source.bits - 1 if source.signed else 0]
    if source.is_nan(code):
        yield ("NaN",)
        return
    if source.is_infinite(code):
        yield sign, "infinity"
        return
    number = operand(source, code)
    assert number is not None
    parts = pieces(Integer(1, False), number, -2)
    if not parts.rest and (4 <= parts.kept <= 11 or not parts.kept):
        yield sign, "quarters", parts.kept
    if number.significand and number.lead < 0:
        yield sign, "below 1"
    if number.significand and 0 <= number.lead < source.precision:
        yield sign, "with a fraction" if parts.kept & 3 or parts.rest else "whole"
    if number.significand == (1 << source.precision) - 1 and not number.exponent:
        yield sign, "all bits before the point"


@lru_cache(maxsize=256)
def _b28_codes(case: ModelCase) -> dict[Bucket, int]:
    """One code for each bucket; those of random values are the ends of their ranges, and `_b28_aim` draws others."""
    source = case.float_source
    dice = Dice(0, 1 << 33)
    codes = [*basic_codes(source)]
    for sign in case.signs:
        codes += [code for quarters in range(12) if (code := encoded(source, sign, quarters, -2)) is not None]
        codes += [code for k in range(1, 8) if (code := encoded(source, sign, 4 * k + 2, -2)) is not None]
        codes += [code for k in range(2, 8) if (code := encoded(source, sign, k, 0)) is not None]
        last = encoded(source, sign, (1 << source.precision) - 1, 0)
        codes += [] if last is None else [last]
    codes += [code for _ in range(20) if (code := random_normal(source, dice, dice.between(-3, 3))) is not None]
    return {bucket: code for code in codes for bucket in _b28_fits(case, (code,))}


def _b28_buckets(case: ModelCase) -> Iterator[Bucket]:
    source = case.float_source
    if source.nan_code is not None:
        yield ("NaN",)
    low, high = case.extent
    for sign in (_SIGN[sign] for sign in case.signs):
        if source.infinities:
            yield sign, "infinity"
        for quarters in (0, *range(4, 12)):
            if encoded(source, 0, quarters, -2) is not None and (quarters or sign == "+" or source.has_negative_zero):
                yield sign, "quarters", quarters
        if low < 1:
            yield sign, "below 1"
        if high >= Fraction(3, 2) and source.precision > 1:
            yield sign, "with a fraction"
        if high >= 1:
            yield sign, "whole"
        if encoded(source, 0, (1 << source.precision) - 1, 0) is not None:
            yield sign, "all bits before the point"


def _b28_aim(case: ModelCase, bucket: Bucket, dice: Dice) -> Iterator[Operands]:
    source = case.float_source
    if bucket in _b28_codes(case):
        yield (_b28_codes(case)[bucket],)
    if bucket[-1] in ("below 1", "with a fraction", "whole"):
        span = (source.emin, -1) if bucket[-1] == "below 1" else (0, min(source.precision - 1, source.emax))
        code = random_normal(source, dice, dice.between(*span), 1 + dice.below(source.precision))
        if code is not None:
            yield (code,)


_B23, _B24 = _listed_model(_b23_codes), _listed_model(_b24_codes)

MODELS: Mapping[str, CoverageModel] = {
    model.name: model
    for model in (
        CoverageModel(
            "B1",
            "basic types of the operands with both signs, crossed",
            (*_ARITHMETIC, "remainder", "compare", "convert", "to integer", "other"),
            _b1_buckets,
            _b1_fits,
            _b1_aim,
        ),
        CoverageModel(
            "B2",
            "results one flipped fraction bit away from 0, 1 and the ends of the subnormal and normal range",
            (*_ROUNDED, "remainder"),
            _b2_buckets,
            _b2_fits,
            _b2_aim,
        ),
        CoverageModel(
            "B3",
            "every combination of sign, last kept bit, guard bit and sticky bit",
            _ROUNDED,
            _rounding_buckets,
            _rounding_fits,
            _rounding_aim,
        ),
        CoverageModel(
            "B4",
            "within 3 ulp of the largest value, each exponent within 3 of its, and beyond",
            _ROUNDED,
            _b4_buckets,
            _b4_fits,
            _b4_aim,
        ),
        CoverageModel(
            "B5",
            "within 3 ulp of the smallest subnormal and the smallest normal value, the exponents above, and below all",
            _ROUNDED,
            _b5_buckets,
            _b5_fits,
            _b5_aim,
        ),
        CoverageModel(
            "B6",
            "between 0 and the smallest value: at its quarters and between them",
            ("multiply", "divide", "convert"),
            _b6_buckets,
            _b6_fits,
            _b6_aim,
        ),
        CoverageModel(
            "B7",
            "positive, guard bit 0, and one bit that makes sticky at each place, or none",
            _ROUNDED,
            _b7_buckets,
            _b7_fits,
            _b7_aim,
        ),
        CoverageModel(
            "B8",
            "just above and just below a value and a midpoint, with each last kept bit",
            _ROUNDED,
            _b8_buckets,
            _b8_fits,
            _b8_aim,
        ),
        CoverageModel(
            "B9",
            "special significands of the operands: runs, walking bits, checkerboards, crossed",
            (*_ARITHMETIC, "remainder", "compare", "convert", "to integer"),
            _b9_buckets,
            _b9_fits,
            _b9_aim,
        ),
        CoverageModel(
            "B10",
            "every difference of exponents from -(p + 4) to p + 4, and beyond",
            _SUMS,
            _b10_buckets,
            _b10_fits,
            _b10_aim,
        ),
        CoverageModel(
            "B11",
            "every difference of exponents with special significands, effectively added and subtracted",
            _SUMS,
            _b11_buckets,
            _b11_fits,
            _b11_aim,
        ),
        CoverageModel(
            "B12",
            "every cancellation: the sum's exponent against the larger operand's, from -p to 1",
            _SUMS,
            _b12_buckets,
            _b12_fits,
            _b12_aim,
        ),
        CoverageModel(
            "B13",
            "every cancellation with every exponent of a subnormal sum",
            _SUMS,
            _b13_buckets,
            _b13_fits,
            _b13_aim,
        ),
        CoverageModel(
            "B19",
            "normal, subnormal and zero operands with every order of exponents and of fractions",
            ("compare",),
            _b19_buckets,
            _b19_fits,
            _b19_aim,
        ),
        CoverageModel(
            "B20",
            "exact quotients of every number of significant bits",
            ("divide", "remainder"),
            _b20_buckets,
            _b20_fits,
            _b20_aim,
        ),
        CoverageModel(
            "B21",
            "zero, number, infinity and NaN divided by each of these",
            ("divide", "remainder"),
            _b21_buckets,
            _b21_fits,
            _b21_aim,
        ),
        CoverageModel(
            "B22",
            "every exponent from -3 to the integer's width + 3, and beyond",
            ("to integer",),
            _b22_buckets,
            _b22_fits,
            _b22_aim,
        ),
        CoverageModel(
            "B23", "quarters around the ends of the integer range, and the values next to them", ("to integer",), *_B23
        ),
        CoverageModel("B24", "quarters around 0 and 1", ("to integer",), *_B24),
        CoverageModel(
            "B25", "the ends of the integer range, 0, 1, -1", ("from integer",), _b25_buckets, _b25_fits, _b25_aim
        ),
        CoverageModel(
            "B26",
            "every number of significant bits of the integer",
            ("from integer",),
            _b26_buckets,
            _b26_fits,
            _b26_aim,
        ),
        CoverageModel(
            "B27",
            "NaNs: quiet and signalling, payload bits that are kept and that are lost",
            ("convert",),
            _b27_buckets,
            _b27_fits,
            _b27_aim,
        ),
        CoverageModel(
            "B28",
            "values around which rounding to a whole number changes, up to the last one with a fraction",
            ("to integer",),
            _b28_buckets,
            _b28_fits,
            _b28_aim,
        ),
        CoverageModel(
            "B29",
            "every combination of sign, last kept bit, guard bit and sticky bit of a number rounded to an integer",
            ("to integer",),
            _rounding_buckets,
            _rounding_fits,
            _rounding_aim,
        ),
    )
}
"""The models by name. B14 to B18 are about fused multiply-add."""


def models_for(case: ModelCase, names: Sequence[str] | None = None) -> list[CoverageModel]:
    """The models that apply to a case, or those of them that are named. Raises ValueError for an unknown name."""
    unknown = [name for name in names or () if name not in MODELS]
    if unknown:
        raise ValueError(f"unknown model {unknown[0]!r}; choose of {', '.join(MODELS)}")
    return [model for name, model in MODELS.items() if (names is None or name in names) and applies(model, case)]
