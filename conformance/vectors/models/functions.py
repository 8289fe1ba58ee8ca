"""F1 to F6: models of elementary functions, whose exact results are mostly irrational.

The buckets are those for which a search finds operands, since nobody knows beforehand which buckets of an elementary
function have any. Searches are deterministic. For one operand of up to 16 bits, they examine every argument.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from fractions import Fraction
from functools import lru_cache
from itertools import pairwise, product, zip_longest
from typing import TYPE_CHECKING

from halfulp.conformance.vectors.intermediate import Dice, Integer, ModelCase, encoded
from halfulp.conformance.vectors.models import model
from halfulp.conformance.vectors.models.model import Bucket, CoverageModel, Operands
from halfulp.fp_formats import scalar
from halfulp.fp_formats.formats import FloatFormat, codes_to_ints, ints_to_codes
from halfulp.fp_formats.neighbours import code_at, floor_exponent, lowest_rank, rank_of
from halfulp.fp_formats.paths import elementary as paths
from halfulp.interp.ir.base import narrowed

if TYPE_CHECKING:
    from halfulp.fp_formats.reals.hard_cases import Distance

FUNCTIONS = ("function", "function of two", "function of an integer")
"""The kinds of cases that are elementary functions: of a float, of two floats, of a float and an integer."""
_STREAM = 1 << 41
"""The Philox stream of the searches; their results do not depend on the seed of a set."""
_ENUMERATED = 16
_ENUMERATED_PAIRS = 12
_BINADES = 64
"""Most binades of arguments in which multiples of pi / 2 are approached."""
_SAMPLES = 512
"""Number of places, evenly spread over the codes, between which steps of the result are searched."""
_GAPS = 8
"""Most places that a bisection follows for each pair of classes."""
_DEEPEST = 24


def _target_codes(case: ModelCase, rows: Sequence[Operands]) -> list[int]:
    """Return the results of operands, rounded to nearest even."""
    if not rows:
        return []
    columns = [
        ints_to_codes(column, source.bits, (len(rows),))
        for column, source in zip(zip(*rows, strict=True), case.sources, strict=True)
    ]
    target, name, fmt = model.float_target(case), case.function, case.float_source
    if case.kind == "function":
        found = paths.unary(name, fmt, columns[0], dst=target)
    elif case.kind == "function of two":
        found = paths.binary(name, fmt, columns[0], columns[1], dst=target)
    else:
        found = paths.of_integer(name, fmt, columns[0], columns[1], case.sources[1].bits, dst=target)
    return codes_to_ints(found.codes, target.bits)


# --- F1: hard cases ---------------------------------------------------------------------------------------------------


def _asked(case: ModelCase, row: Operands) -> tuple[str, list[FloatFormat | None], list[int], FloatFormat]:
    """Return the arguments of `hard_cases.distance` for operands: integers as themselves."""
    formats = [source if isinstance(source, FloatFormat) else None for source in case.sources]
    operands = [
        source.number(code) if isinstance(source, Integer) else code
        for source, code in zip(case.sources, row, strict=True)
    ]
    return case.function, formats, operands, model.float_target(case)


def _distance(case: ModelCase, row: Operands) -> Distance | None:
    from halfulp.fp_formats.reals import hard_cases

    return hard_cases.distance(*_asked(case, row))


@lru_cache(maxsize=8)
def hard_rows(case: ModelCase, effort: int = 512) -> tuple[tuple[Operands, Distance], ...]:
    """Return operands of a function with the distances of their results from a boundary, the shortest first.

    All operands are examined for one argument of up to 16 bits, and for two of up to 12 bits together; else those that
    a search finds. ``effort``: the number of intervals that it searches for one argument; for two, it searches 4 times
    as many pairs of operands.
    """
    from halfulp.fp_formats.reals import hard_cases

    dice = Dice(0, _STREAM)
    if case.kind == "function":
        found = hard_cases.search(case.function, case.float_source, model.float_target(case), dice.below, effort)
        return tuple(((one.code,), one.distance) for one in found)
    if _enumerated(case):
        rows: Iterable[Operands] = product(*(range(1 << width) for width in case.widths))
    else:
        rows = dict.fromkeys(tuple(_some_code(source, dice) for source in case.sources) for _ in range(4 * effort))
    placed = ((row, _distance(case, row)) for row in rows)
    known = [(row, distance) for row, distance in placed if distance is not None]
    return tuple(sorted(known, key=lambda found: (found[1].ulps, found[0])))


def hardest(case: ModelCase, count: int | None) -> list[Operands]:
    """Return the hardest operands that a search finds, at most ``count``. Their results lie, in turns, next to a value
    and next to a midpoint, above and below it, and are positive and negative.
    """
    groups: dict[Bucket, list[Operands]] = {}
    for row, distance in hard_rows(case, 512 if count is None else max(512, 2 * count)):
        groups.setdefault(_place(model.float_target(case), distance), []).append(row)
    # Last the results that are near a value for a reason, such as 1 + x: they are many, and much the same.
    turns = zip_longest(*(groups[place] for place in sorted(groups, key=lambda place: place[1] == "a hair")))
    return [row for turn in turns for row in turn if row is not None][:count]


def _enumerated(case: ModelCase) -> bool:
    return sum(case.widths) <= (_ENUMERATED if len(case.widths) == 1 else _ENUMERATED_PAIRS)


def _some_code(source: FloatFormat | Integer, dice: Dice) -> int:
    """Return a random operand near 1, where powers, angles and distances are neither huge nor tiny."""
    if isinstance(source, Integer):
        return dice.between(max(-20, source.lowest), min(20, source.highest)) & (1 << source.width) - 1
    lead = dice.between(max(source.emin, -4), min(source.emax, 3))
    field = lead - source.emin + int(source.zero)
    code = source.from_magnitude(field << source.mantissa_bits | dice.bits(source.mantissa_bits))
    sign = (source.sign_mask or 0) if dice.below(4) == 0 else 0
    return code | sign


def _depth(case: ModelCase) -> int:
    """Return the depth d for which results within 2**-d ulp of a boundary count as near, because searches find them."""
    if case.kind != "function":
        return min(sum(case.widths), 16) // 2 - 1
    bits = case.float_source.bits
    return max(bits // 2 - 1, 2) if bits <= _ENUMERATED else min(case.float_source.precision // 3 + 2, _DEEPEST)


def _f1_bucket(case: ModelCase, distance: Distance) -> Bucket | None:
    if distance.ulps * (1 << _depth(case)) >= 1:
        return None
    return _place(model.float_target(case), distance)


def _place(target: FloatFormat, distance: Distance) -> Bucket:
    boundary = "a midpoint" if distance.midpoint else "a value"
    near = "a hair" if distance.ulps * (1 << 2 * target.precision) < 1 else "just"
    return model.SIGNS[distance.sign], near, "above" if distance.beyond else "below", boundary


class _F1(CoverageModel):
    target = "results just above and just below a value and a midpoint: the hardest cases that a search finds"
    kinds = FUNCTIONS

    def buckets(self, case: ModelCase) -> Iterator[Bucket]:
        found = (_f1_bucket(case, distance) for _, distance in hard_rows(case))
        yield from dict.fromkeys(bucket for bucket in found if bucket is not None)

    def fits(self, case: ModelCase, row: Operands) -> Iterator[Bucket]:
        distance = _distance(case, row)
        bucket = None if distance is None else _f1_bucket(case, distance)
        if bucket is not None:
            yield bucket

    def aim(self, case: ModelCase, bucket: Bucket, dice: Dice) -> Iterator[Operands]:
        matching = [row for row, distance in hard_rows(case) if _f1_bucket(case, distance) == bucket]
        yield from matching[:2]
        yield matching[dice.below(len(matching))]


# --- F2, F5: steps of the result --------------------------------------------------------------------------------------


def _class_of(fmt: FloatFormat, code: int) -> str:
    sign = model.sign_of(fmt, code)
    if fmt.is_nan(code):
        return "NaN"
    if fmt.is_infinite(code) or fmt.is_zero(code):
        return sign + ("infinity" if fmt.is_infinite(code) else "zero")
    magnitude = model.magnitude_of(fmt, code)
    if magnitude == encoded(fmt, 0, 1, 0):
        return f"{sign}1"
    return sign + ("subnormal" if fmt.is_subnormal(code) else "largest" if magnitude == fmt.max_code else "normal")


def _lead_of(fmt: FloatFormat, code: int) -> str:
    """Return the leading exponent of a subnormal value; the empty string for other values."""
    if fmt.is_nan(code) or not fmt.is_subnormal(code):
        return ""
    number = scalar.value(fmt, code)
    assert number is not None
    return f"{'-' if number < 0 else '+'}2^{floor_exponent(number)}"


Classify = Callable[[FloatFormat, int], str]


def _moved(case: ModelCase, row: Operands, by: int) -> Operands | None:
    """Return operands with the last one moved to the next value up or down; None beyond the last value, and for a
    NaN.
    """
    source, code = case.sources[-1], row[-1]
    if isinstance(source, Integer):
        number = source.number(code) + by
        inside = source.lowest <= number <= source.highest
        return (*row[:-1], number & (1 << source.width) - 1) if inside else None
    rank = rank_of(source, code)
    if rank is None or not lowest_rank(source) <= rank + by <= source.max_magnitude:
        return None
    return (*row[:-1], code_at(source, rank + by))


def _ranks(source: FloatFormat | Integer) -> tuple[int, int]:
    if isinstance(source, Integer):
        return source.lowest, source.highest
    return lowest_rank(source), source.max_magnitude


def _rank(case: ModelCase, row: Operands) -> int:
    source = case.sources[-1]
    if isinstance(source, Integer):
        return source.number(row[-1])
    rank = rank_of(source, row[-1])
    assert rank is not None
    return rank


def _at(case: ModelCase, prefix: Operands, rank: int) -> Operands:
    source = case.sources[-1]
    if isinstance(source, Integer):
        return (*prefix, rank & (1 << source.width) - 1)
    return (*prefix, code_at(source, rank))


@lru_cache(maxsize=16)
def steps(case: ModelCase, classify: Classify) -> Mapping[Bucket, tuple[Operands, ...]]:
    """Return the places at which the class of the result changes between two consecutive last operands. They are sorted
    by the classes below and above; each place is given by the operands on both sides.

    For a format of up to 16 bits these are all places; else those that bisection finds between `_SAMPLES` places.
    """
    found: dict[Bucket, dict[Operands, None]] = {}
    # A bisection between places of one class finds nothing: the ends of the subnormal results are more places.
    ends = [] if classify is _class_of else [row for rows in steps(case, _class_of).values() for row in rows]
    for prefix in _prefixes(case):
        places = {_rank(case, row) for row in ends if row[:-1] == prefix}
        for below, above, one, other in _changes(case, prefix, classify, places):
            rows = found.setdefault((one or "other", "to", other or "other"), {})
            rows |= dict.fromkeys((_at(case, prefix, below), _at(case, prefix, above)))
    return {bucket: tuple(rows) for bucket, rows in found.items()}


def _prefixes(case: ModelCase) -> list[Operands]:
    """Return the first operands for which a step in the last operand is searched for."""
    if len(case.sources) == 1:
        return [()]
    more = (scalar.from_fraction(case.float_source, number).code for number in (Fraction(3), Fraction(1, 3)))
    return [(code,) for code in (*model.basic_codes(case.float_source), *more)]


def _changes(
    case: ModelCase, prefix: Operands, classify: Classify, more: Set[int]
) -> Iterator[tuple[int, int, str, str]]:
    """Yield neighbouring ranks of the last operand with results of two classes, and the classes."""
    low, high = _ranks(case.sources[-1])
    alone = not prefix
    if high - low < (1 << _ENUMERATED if alone else _SAMPLES):
        places = list(range(low, high + 1))
    else:
        count = _SAMPLES if alone else _SAMPLES // 8
        even = (low + (high - low) * k // count for k in range(count + 1))
        places = sorted({*even, *_corners(case.sources[-1]), *more})
    known = dict(zip(places, _classes(case, prefix, places, classify), strict=True))
    gaps = [(one, other) for one, other in pairwise(places) if known[one] != known[other]]
    while gaps:
        yield from ((one, other, known[one], known[other]) for one, other in gaps if other - one == 1)
        wide = [(one, other) for one, other in gaps if other - one > 1]
        middles = [(one + other) // 2 for one, other in wide]
        known |= dict(zip(middles, _classes(case, prefix, middles, classify), strict=True))
        halves = [half for (one, other), k in zip(wide, middles, strict=True) for half in ((one, k), (k, other))]
        gaps = _few(halves, known)


def _few(gaps: Iterable[tuple[int, int]], known: Mapping[int, str]) -> list[tuple[int, int]]:
    """Return the gaps between two classes, at most `_GAPS` for each pair: a periodic function has too many."""
    chosen: dict[tuple[str, str], list[tuple[int, int]]] = {}
    for one, other in gaps:
        same = chosen.setdefault((known[one], known[other]), [])
        if known[one] != known[other] and len(same) < _GAPS:
            same.append((one, other))
    return [gap for same in chosen.values() for gap in same]


def _classes(case: ModelCase, prefix: Operands, ranks: Sequence[int], classify: Classify) -> list[str]:
    codes = _target_codes(case, [_at(case, prefix, rank) for rank in ranks])
    return [classify(model.float_target(case), code) for code in codes]


def _corners(source: FloatFormat | Integer) -> Iterator[int]:
    if isinstance(source, Integer):
        yield from (n for n in range(-4, 5) if source.lowest <= n <= source.highest)
        return
    for code in model.basic_codes(source):
        rank = rank_of(source, code)
        if rank is not None and abs(rank) <= source.max_magnitude:
            yield rank


class _Steps(CoverageModel):
    """A model of the places where the class of the result changes."""

    kinds = FUNCTIONS

    @staticmethod
    @abstractmethod
    def classify(fmt: FloatFormat, code: int) -> str:
        """Return the class of a result."""

    def buckets(self, case: ModelCase) -> Iterator[Bucket]:
        yield from steps(case, self.classify)

    def fits(self, case: ModelCase, row: Operands) -> Iterator[Bucket]:
        around = [_moved(case, row, -1), row, _moved(case, row, 1)]
        there = [place for place in around if place is not None]
        classes = [self.classify(model.float_target(case), code) or "other" for code in _target_codes(case, there)]
        yield from ((one, "to", other) for one, other in pairwise(classes) if one != other)

    def aim(self, case: ModelCase, bucket: Bucket, dice: Dice) -> Iterator[Operands]:
        rows = steps(case, self.classify)[bucket]
        start = 2 * dice.below(len(rows) // 2) if len(rows) > 1 else 0
        yield from rows[start : start + 2]


def _tiny_before_alone(case: ModelCase, row: Operands, code: int) -> Bucket | None:
    """Return the bucket of a result that is tiny before rounding and not after it; None for any other result.

    ``code``: the rounded result. The exact one is at most a quarter of an ulp below the smallest normal value.
    """
    fmt = model.float_target(case)
    if (
        not fmt.zero
        or not fmt.mantissa_bits
        or fmt.is_nan(code)
        or model.magnitude_of(fmt, code) != fmt.min_normal_code
    ):
        return None
    distance = _distance(case, row)
    if distance is None or distance.midpoint or distance.beyond:
        return None
    return model.TINY_BEFORE_ALONE, model.SIGNS[distance.sign]


@lru_cache(maxsize=16)
def _tiny_rows(case: ModelCase) -> Mapping[Bucket, tuple[Operands, ...]]:
    """Return the rows beside the ends of the subnormal results that are tiny before rounding alone, by bucket."""
    rows = list(dict.fromkeys(row for places in steps(case, _class_of).values() for row in places))
    found: dict[Bucket, list[Operands]] = {}
    for row, code in zip(rows, _target_codes(case, rows), strict=True):
        bucket = _tiny_before_alone(case, row, code)
        if bucket is not None:
            found.setdefault(bucket, []).append(row)
    return {bucket: tuple(places) for bucket, places in found.items()}


class _F2(_Steps):
    target = (
        "the last operand before and after overflow, underflow, the ends of the domain, and results of 1; results that "
        "are tiny before rounding alone"
    )
    classify = staticmethod(_class_of)

    def buckets(self, case: ModelCase) -> Iterator[Bucket]:
        yield from super().buckets(case)
        yield from _tiny_rows(case)

    def fits(self, case: ModelCase, row: Operands) -> Iterator[Bucket]:
        yield from super().fits(case, row)
        bucket = _tiny_before_alone(case, row, _target_codes(case, [row])[0])
        if bucket is not None:
            yield bucket

    def aim(self, case: ModelCase, bucket: Bucket, dice: Dice) -> Iterator[Operands]:
        rows = _tiny_rows(case).get(bucket)
        if rows is None:
            yield from super().aim(case, bucket, dice)
        else:
            yield rows[dice.below(len(rows))]


class _F5(_Steps):
    target = "the last operand before and after each leading bit of subnormal results"
    classify = staticmethod(_lead_of)


# --- F3: multiples of pi / 2 ------------------------------------------------------------------------------------------

_OF_ANGLES = ("sin", "cos", "tan")


class _F3(CoverageModel):
    target = "arguments next to multiples of pi / 2, in each binade or in 64 of them"
    kinds = ("function",)

    def buckets(self, case: ModelCase) -> Iterator[Bucket]:
        if case.function in _OF_ANGLES:
            exponents = range(max(0, case.float_source.emin), case.float_source.emax + 1)
            for exponent in exponents[:: -(-len(exponents) // _BINADES)]:
                if _near_multiples(case.float_source, exponent):
                    yield "from", f"2^{exponent}"

    def fits(self, case: ModelCase, row: Operands) -> Iterator[Bucket]:
        from halfulp.fp_formats.reals import hard_cases

        fmt = case.float_source
        part = hard_cases.from_quarter_turns(fmt, row[0])
        number = scalar.value(fmt, row[0])
        if part is not None and number and abs(number) >= 1 and part * (1 << fmt.mantissa_bits) <= 2:
            yield "from", f"2^{floor_exponent(number)}"

    def aim(self, case: ModelCase, bucket: Bucket, dice: Dice) -> Iterator[Operands]:
        fmt = case.float_source
        for code in _near_multiples(fmt, int(str(bucket[1])[2:])):
            yield ((code | (fmt.sign_mask or 0) * dice.bits(1)),)


@lru_cache(maxsize=512)
def _near_multiples(fmt: FloatFormat, exponent: int) -> tuple[int, ...]:
    from halfulp.fp_formats.reals import hard_cases

    codes = hard_cases.near_quarter_turns(fmt, exponent)
    return tuple(code for code in codes if rank_of(fmt, code) is not None and abs(code) <= fmt.max_code)


# --- F4: exact results ------------------------------------------------------------------------------------------------


def _plain_numbers(fmt: FloatFormat) -> list[int]:
    """Return codes at which functions are likely rational: small integers, halves, and powers."""
    numbers = {Fraction(n, d) for n in range(-12, 33) for d in (1, 2)}
    numbers |= {Fraction(n) ** k for n in range(1, 33) for k in (2, 3, 4)}
    numbers |= {Fraction(10) ** k for k in range(-4, 28)}
    exponents = range(fmt.emin - fmt.mantissa_bits, fmt.emax + 1)
    numbers |= {Fraction(2) ** e for e in (*exponents[:: -(-len(exponents) // 64)], *range(-16, 17))}
    half = fmt.precision // 2
    numbers |= {Fraction((1 << half) - n) ** 2 for n in range(1, 1 + min(8, 1 << half - 1))}
    codes = (
        encoded(fmt, int(number < 0), abs(number.numerator), -(number.denominator.bit_length() - 1))
        for number in sorted(numbers)
        if not number.denominator & number.denominator - 1
    )
    return sorted({code for code in codes if code is not None})


@lru_cache(maxsize=8)
def exact_rows(case: ModelCase) -> Mapping[Bucket, tuple[Operands, ...]]:
    """Return operands whose results are values or midpoints of the format: among all operands, as in `hard_rows`, else
    among plain numbers.
    """
    rows: Iterable[Operands]
    if _enumerated(case):
        rows = product(*(range(1 << width) for width in case.widths))
    else:
        fmt = case.float_source
        plain = _plain_numbers(fmt)
        if case.kind == "function":
            rows = ((code,) for code in plain)
        else:
            second = case.sources[1]
            few = [*plain[:: max(1, len(plain) // 40)], *_codes_of_plain(fmt), *_square_roots(fmt)]
            others = _codes_of_plain(second)
            rows = product(dict.fromkeys(few), others)
    found: dict[Bucket, list[Operands]] = {}
    for row in rows:
        for bucket in _F4().fits(case, row):
            found.setdefault(bucket, []).append(row)
    return {bucket: tuple(rows) for bucket, rows in found.items()}


def _codes_of_plain(source: FloatFormat | Integer) -> list[int]:
    numbers = [Fraction(n, d) for n in (-3, -2, -1, 0, 1, 2, 3, 4, 5, 12) for d in (1, 2)]
    codes = (
        encoded(source, int(number < 0), abs(number.numerator), -(number.denominator.bit_length() - 1))
        for number in numbers
    )
    return sorted({code for code in codes if code is not None})


def _square_roots(fmt: FloatFormat) -> list[int]:
    """Return odd significands whose squares have one bit more than the format and so are midpoints."""
    half = (fmt.precision + 2) // 2
    codes = (encoded(fmt, 0, (1 << half) - 1 - 2 * k, 0) for k in range(4))
    return [code for code in codes if code is not None]


class _F4(CoverageModel):
    target = "results that are exactly a value or exactly a midpoint"
    kinds = FUNCTIONS

    def fits(self, case: ModelCase, row: Operands) -> Iterator[Bucket]:
        from halfulp.fp_formats.reals import hard_cases

        placed = hard_cases.magnitude_of(*_asked(case, row))
        if placed is not None and placed[0].denominator == 1:
            yield model.SIGNS[placed[1] < 0], "a midpoint" if placed[0].numerator % 2 else "a value"

    def buckets(self, case: ModelCase) -> Iterator[Bucket]:
        yield from exact_rows(case)

    def aim(self, case: ModelCase, bucket: Bucket, dice: Dice) -> Iterator[Operands]:
        rows = exact_rows(case)[bucket]
        yield rows[dice.below(len(rows))]


# --- F6: special operands with integers -------------------------------------------------------------------------------


def _integers(source: Integer) -> dict[str, int]:
    named = {str(n): n for n in (0, 1, 2, 3, -1, -2, -3)} | {"lowest": source.lowest, "highest": source.highest}
    return {name: n & (1 << source.width) - 1 for name, n in named.items() if source.lowest <= n <= source.highest}


class _F6(CoverageModel):
    target = "basic types of the float, crossed with small integers and the ends of their range"
    kinds = ("function of an integer",)

    def buckets(self, case: ModelCase) -> Iterator[Bucket]:
        exponent = narrowed(case.sources[1], Integer)
        yield from product(model.present_types(case.float_source), _integers(exponent))

    def fits(self, case: ModelCase, row: Operands) -> Iterator[Bucket]:
        exponent = narrowed(case.sources[1], Integer)
        names = [name for name, codes in model.present_types(case.float_source).items() if row[0] in codes]
        yield from product(names, [name for name, code in _integers(exponent).items() if code == row[1]])

    def aim(self, case: ModelCase, bucket: Bucket, dice: Dice) -> Iterator[Operands]:
        exponent = narrowed(case.sources[1], Integer)
        codes = model.present_types(case.float_source)[str(bucket[0])]
        yield codes[dice.below(len(codes))], _integers(exponent)[str(bucket[1])]


MODELS = (_F1(), _F2(), _F3(), _F4(), _F5(), _F6())
