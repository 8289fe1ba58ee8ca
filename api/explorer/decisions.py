"""The result of rounding in every situation, as a table in which the page looks results up.

The result of rounding a number to a format depends on a few facts: its sign, the mode, its place between the two values
around it, whether the lower value is even, and the place of these values in the format. A `MagnitudeRange` is a
sequence of consecutive magnitudes (see `halfulp.fp_formats.formats`) for which no other facts matter. Every entry of
its table is the result of `halfulp.fp_formats.scalar` for one number in that situation, with the words of
`halfulp.explanations.rules`. The page compares numbers, exactly, to find the situation of a number; it rounds nothing.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from halfulp.explanations.applications import FIRST, nan_operand_words, rounded_operation, special_rule
from halfulp.explanations.explaining import explain, explain_op
from halfulp.explanations.records import GivenOperand
from halfulp.explanations.rules import (
    CodeAndFlags,
    bare_nan,
    default_nan,
    infinity_rule,
    nan_rule,
    rounding_rule,
    stochastic_rule,
)
from halfulp.fp_formats import scalar
from halfulp.fp_formats.formats import FORMATS, FloatFormat
from halfulp.fp_formats.paths import elementary
from halfulp.fp_formats.policy import Rounding
from halfulp.fp_formats.spelling import bit_fields
from halfulp.interp.ir import types as ty
from halfulp.number_reader import MODES, read_text

# --- ways -------------------------------------------------------------------------------------------------------------
#
# The ways to round: the five modes, and stochastic rounding with random bits that decide differently.

_WIDTH = 64


class Way(NamedTuple):
    """A rounding mode. For stochastic rounding, ``away`` tells whether the random bits are less than the discarded
    fraction, and ``least`` whether they are the smallest possible bits.

    ``least`` is necessary for a number just below the first normal value: the test for underflow rounds it with one
    more bit of precision, and so the discarded fraction is different.
    """

    mode: Rounding
    away: bool | None = None
    least: bool = False

    @property
    def word(self) -> Rounding:
        """The mode for the rule of a result that is not rounded: to nearest even in place of stochastic rounding."""
        return Rounding.TO_NEAREST_EVEN if self.away is not None else self.mode

    def random(self, part: Fraction | None) -> tuple[int, int] | None:
        """Return random bits for this rounding: value and width. ``part``: the place of the number after the value
        below it, as a part of the distance to the next value; None if it has no effect.
        """
        if self.away is None:
            return None
        discarded = 0 if part is None else part - int(part)
        if self.least or (self.away and not discarded):
            return 0, _WIDTH
        # The largest value that is less than the fraction, or the largest of all.
        return (int(discarded * (1 << _WIDTH)) - 1 if self.away else (1 << _WIDTH) - 1), _WIDTH


WAYS = (
    *map(Way, MODES.values()),
    Way(Rounding.STOCHASTIC, away=True, least=True),
    Way(Rounding.STOCHASTIC, away=True),
    Way(Rounding.STOCHASTIC, away=False),
)
"""The columns of the tables."""


# --- special operands -------------------------------------------------------------------------------------------------
#
# The results of arithmetic that do not follow from the exact result alone: of NaN, infinities and zeros, as a table.
#
# A class of operands is a letter: ``z`` zero, ``i`` infinity, ``f`` any other finite number; a capital letter is
# negative. The page looks up a pair of letters. Two finite numbers have an entry for an exact result of zero. Any pair
# without an entry is computed exactly and rounded.


class Operation(NamedTuple):
    """An operation of the page: the function that computes it, its name on the page, and its sign."""

    compute: Callable[..., scalar.Result]
    name: str
    sign: str


OPERATIONS: Mapping[str, Operation] = {
    "addf": Operation(scalar.add, "add", "+"),
    "subf": Operation(scalar.subtract, "subtract", "−"),
    "mulf": Operation(scalar.multiply, "multiply", "×"),
    "divf": Operation(scalar.divide, "divide", "÷"),
    "remf": Operation(scalar.remainder, "remainder", "rem"),
}
"""The operations of the page, by the names of arith."""
Row = Callable[[scalar.Result, str], int]
"""A function that returns the number of the row for a result and its rule."""


def _classes(fmt: FloatFormat) -> dict[str, GivenOperand]:
    """Return one operand of each class, by the letters of the class."""
    one = min(max(fmt.bias << fmt.mantissa_bits, fmt.min_normal_magnitude), fmt.max_magnitude)
    codes = {"f": fmt.from_magnitude(one)}
    if fmt.zero:
        codes["z"] = 0
    if fmt.infinity_code is not None:
        codes["i"] = fmt.infinity_code
    if fmt.sign_mask is not None:
        negative = {letter.upper(): code | fmt.sign_mask for letter, code in codes.items()}
        codes |= {letter: code for letter, code in negative.items() if letter != "Z" or fmt.has_negative_zero}
    type_ = ty.FloatType(fmt)
    return {letter: GivenOperand("", type_, code, scalar.value(fmt, code)) for letter, code in codes.items()}


def _not_computed(*_: Any) -> CodeAndFlags:
    raise AssertionError("this rounding gives only its rule, not a result")


def _outcome(fmt: FloatFormat, operation: Operation, x: GivenOperand, y: GivenOperand, way: Way) -> tuple[Any, str]:
    """Return the result of an operation, and its rule."""
    result = operation.compute(fmt, x.known, y.known, way.mode, random=way.random(None))
    given, rule = rounded_operation(operation.name, x, y, _not_computed, way.word)
    if rule is None:
        assert given.exact is not None
        rule = rounding_rule(fmt, given.exact, given.negative, way.word, result.code, None)
    return result, rule


def _follows_from_classes(operation: Operation, x: GivenOperand, y: GivenOperand) -> bool:
    """Tell whether all pairs of operands of these classes have the same result; for classes of finite numbers, the
    given pairs.
    """
    special = special_rule(operation.name, x, y)
    if special is not None:
        return special[1] != FIRST or x.zero
    given, _ = rounded_operation(operation.name, x, y, _not_computed, WAYS[0].mode)
    return not given.exact


def operation_rows(fmt: FloatFormat, row: Row) -> dict[str, dict[str, int | list[int]]]:
    """Return, for each operation, the results that follow from the classes of its operands alone.

    The key of a result has the letters of both classes (see `_classes`). The result is a list with one row for each of
    `WAYS`, or a single row if all of them are equal.
    """
    classes = _classes(fmt)
    found: dict[str, dict[str, int | list[int]]] = {}
    for op, operation in OPERATIONS.items():
        found[op] = {}
        for a, x in classes.items():
            for b, y in classes.items():
                if _follows_from_classes(operation, x, y):
                    rows = [row(*_outcome(fmt, operation, x, y, way)) for way in WAYS]
                    found[op][a + b] = rows if len(set(rows)) > 1 else rows[0]
    return found


def nan_words(fmt: FloatFormat) -> dict[str, str]:
    """Return the rules for NaNs. A NaN has the payload of an operand, so the page itself makes its code."""
    type_ = ty.FloatType(fmt)
    words = {"converted": nan_rule(fmt), "default": default_nan(fmt)}
    if fmt.nan_code is not None:
        words["operand"] = f"a NaN operand: {nan_operand_words(GivenOperand('', type_, fmt.nan_code, None))}"
        words["bare"] = bare_nan(fmt, fmt.nan_code)
    if fmt.explicit_integer_bit:
        invalid = 1 << fmt.precision  # an exponent, and no integer bit
        words["invalidOperand"] = f"a NaN operand: {nan_operand_words(GivenOperand('', type_, invalid, None))}"
        words["bareInvalid"] = bare_nan(fmt, invalid)
    return words


# --- decisions --------------------------------------------------------------------------------------------------------

LOWER, UPPER, POISON = "lower", "upper", "poison"
"""Results: the value toward zero, the one away from zero, or none. Every other result is a code in hexadecimal."""

_HALF, _THREE_QUARTERS, _WHOLE = 2, 3, 4


@dataclass(frozen=True)
class MagnitudeRange:
    """Magnitudes ``first`` to ``last``: in the gap after each of them, numbers are rounded by the same rules.

    ``cuts``: the places in a gap, in quarters of it, at which the result changes. Positions are counted by cuts: 0
    before the first cut, 1 at it, 2 after it, and so on.
    """

    first: int
    last: int
    cuts: tuple[int, ...]

    @property
    def positions(self) -> Iterator[Fraction]:
        """Yield one point of the gap for each position, in order, as a part of the gap."""
        end = _WHOLE if self.cuts[-1] < _WHOLE else _WHOLE + 2
        following = (*self.cuts[1:], end)
        yield Fraction(self.cuts[0], 8)
        for cut, after in zip(self.cuts, following, strict=True):
            yield Fraction(cut, 4)
            yield Fraction(cut + after, 8)


def regions(fmt: FloatFormat) -> tuple[MagnitudeRange, ...]:
    """Return the ranges of magnitudes of a format, which together contain all its magnitudes."""
    normal, largest = fmt.min_normal_magnitude, fmt.max_magnitude
    rows = (
        MagnitudeRange(0, normal - 2, (_HALF,)),
        # A number just below the first normal value does not underflow where it rounds to that value with one bit more
        # of precision: this changes at three quarters of the way.
        MagnitudeRange(normal - 1, normal - 1, (_HALF, _THREE_QUARTERS)),
        MagnitudeRange(normal, largest - 1, (_HALF,)),
        # Beyond the largest value. From the next value on, which does not exist, every mode overflows.
        MagnitudeRange(largest, largest, (_HALF, _WHOLE)),
    )
    return tuple(row for row in rows if 0 <= row.first <= row.last)


def _step(fmt: FloatFormat, magnitude: int) -> tuple[Fraction, Fraction]:
    """Return the value of a magnitude, and its distance to the next value; for the largest value, to the next one that
    the format would have.
    """
    x = scalar.unpack(fmt, fmt.from_magnitude(magnitude))
    unit = Fraction(2) ** x.exponent
    return x.significand * unit, unit


def _magnitude_near_one(fmt: FloatFormat, first: int, last: int) -> int:
    return min(max(fmt.bias << fmt.mantissa_bits, first), last)


class _Outcomes:
    """The different results of a format in the order of their first use. Each has a result, flags and a rule."""

    def __init__(self, fmt: FloatFormat) -> None:
        self.fmt = fmt
        self.rows: dict[tuple[str, int, str], int] = {}

    def row(self, result: scalar.Result, rule: str, names: Mapping[int, str] = MappingProxyType({})) -> int:
        """Return the number of the row of a result. ``names``: the names of codes."""
        name = POISON if result.poison else names.get(result.code, hex(result.code))
        return self.rows.setdefault((name, result.flags, rule), len(self.rows))

    def of_code(self, source: FloatFormat, code: int) -> list[int]:
        """Convert a code of another format that is NaN, infinite or zero in each way; return numbers of rows."""
        number = scalar.value(source, code)
        negative = bool(code >> (source.bits - 1))

        def rule(way: Way, result: scalar.Result) -> str:
            if number is not None:
                return rounding_rule(self.fmt, number, negative, way.word, result.code, None)
            return infinity_rule(self.fmt, negative) if source.is_infinite(code) else nan_rule(self.fmt)

        results = ((way, scalar.convert(source, self.fmt, code, way.mode, random=way.random(None))) for way in WAYS)
        return [self.row(result, rule(way, result)) for way, result in results]

    def of_number(
        self, number: Fraction, midpoint: Fraction | None, names: Mapping[int, str], part: Fraction | None = None
    ) -> list[int]:
        """Round a number other than zero in each way; return numbers of rows. ``part``: how far the number lies after
        the value before it, as a part of the way to the next value, if that decides.
        """

        def rule(way: Way, result: scalar.Result) -> str:
            if way.away is None:
                return rounding_rule(self.fmt, number, False, way.mode, result.code, midpoint)
            return stochastic_rule(self.fmt, number, False, result.code, midpoint, way.away)

        results = ((way, scalar.from_fraction(self.fmt, number, way.mode, random=way.random(part))) for way in WAYS)
        return [self.row(result, rule(way, result), names) for way, result in results]

    def signs(self, magnitude: int, position: Fraction) -> list[list[int]]:
        """Return the results of each sign and way at a position after a magnitude."""
        value, step = _step(self.fmt, magnitude)
        number, midpoint = value + step * position, value + step / 2
        found = []
        for sign, unit in enumerate((1, -1)):
            names = {self._code(sign, magnitude): LOWER}
            if magnitude < self.fmt.max_magnitude:
                names[self._code(sign, magnitude + 1)] = UPPER
            found.append(self.of_number(unit * number, unit * midpoint if position else None, names, position))
        return found

    def _code(self, sign: int, magnitude: int) -> int:
        if not (magnitude or self.fmt.has_negative_zero):
            sign = 0
        return scalar.with_sign(self.fmt, sign, self.fmt.from_magnitude(magnitude))

    def region(self, region: MagnitudeRange) -> list[list[list[list[int]]] | None]:
        """Return the results by parity of the magnitude (None for a parity that does not occur), position, sign and
        way.
        """
        start = _magnitude_near_one(self.fmt, region.first, max(region.first, region.last - 1))
        found: list[list[list[list[int]]] | None] = [None, None]
        for magnitude in range(start, min(start + 1, region.last) + 1):
            found[magnitude & 1] = [self.signs(magnitude, position) for position in region.positions]
        return found

    def special(self) -> dict[str, list[list[int]]]:
        """Return the results of each sign and way outside of all regions, by situation."""
        fmt, f64 = self.fmt, FORMATS["f64"]
        codes = {"nan": f64.nan_code or 0, "inf": f64.infinity_code or 0, "zero": 0}
        signs = (0, f64.sign_mask or 0)
        found = {name: [self.of_code(f64, code | sign) for sign in signs] for name, code in codes.items()}
        one = _magnitude_near_one(fmt, fmt.min_normal_magnitude, fmt.max_magnitude)
        found["exact"] = self.signs(one, Fraction(0))
        if not fmt.zero:
            below = _step(fmt, 0)[0] / 3
            found["below"] = [self.of_number(number, None, {}) for number in (below, -below)]
        return found


def _hex(number: int | None) -> str | None:
    return None if number is None else hex(number)


def format_row(fmt: FloatFormat) -> dict[str, Any]:
    """Return a format as the page reads it: the meaning of its codes, and the results of rounding to it. Codes are in
    hexadecimal.
    """
    outcomes = _Outcomes(fmt)
    special = outcomes.special()
    between = [
        {"last": hex(region.last), "cuts": region.cuts, "outcomes": outcomes.region(region)} for region in regions(fmt)
    ]
    return {
        "name": fmt.name,
        "bits": fmt.bits,
        "fields": list(bit_fields(fmt).items()),
        "signed": fmt.signed,
        "exponentBits": fmt.exponent_bits,
        "mantissaBits": fmt.mantissa_bits,
        "integerBit": fmt.explicit_integer_bit,
        "bias": fmt.bias,
        "zero": fmt.zero,
        "negativeZero": fmt.has_negative_zero,
        "nanHasPayload": fmt.nan_has_payload,
        "quietBit": hex(fmt.quiet_bit),
        "nanCode": _hex(fmt.nan_code),
        "minNormalMagnitude": hex(fmt.min_normal_magnitude),
        "maxMagnitude": hex(fmt.max_magnitude),
        "infinityMagnitude": _hex(fmt.infinity_magnitude),
        "readingOfBits": read_text("0x0", fmt).reading,
        "special": special,
        "regions": between,
        "operations": operation_rows(fmt, outcomes.row),
        "nanRules": nan_words(fmt),
        "outcomes": list(outcomes.rows),
    }


def tables() -> dict[str, Any]:
    """Return all data that the page uses: modes, formats, and the words of `explanations.rounding` that all formats
    share.
    """
    f64 = FORMATS["f64"]
    formats = [format_row(fmt) for fmt in FORMATS.values()]
    # Many rules occur many times.
    rules = {rule: 0 for row in formats for _, _, rule in row["outcomes"]}
    rules = {rule: number for number, rule in enumerate(rules)}
    for row in formats:
        row["outcomes"] = [(result, flags, rules[rule]) for result, flags, rule in row["outcomes"]]
    return {
        "modes": list(MODES),
        "operations": {op: [operation.name, operation.sign] for op, operation in OPERATIONS.items()},
        "ruleOfBits": explain("0x0", f64).rule,
        "rules": list(rules),
        "formats": formats,
    }


# --- function tables --------------------------------------------------------------------------------------------------
#
# The elementary functions of the page: where the exact result of every code of a format of up to 8 bits lies.
#
# The page computes no function. `function_tables` finds the place of each result from results that halfulp rounded to
# f64, downward and upward. A number between them rounds to the small format as the exact result does, for the midpoints
# of small formats are f64s. The page then looks the rounding up in the tables that it has for numbers. Results that are
# no such number (NaN, infinities, zeros, what an unsigned format does not hold) are stored as halfulp gave them, by
# mode.
#
# ``functions.json`` holds all of it; ``tests/explorer_functions.py`` writes that file.

FUNCTIONS = (
    "exp",
    "exp2",
    "log",
    "log2",
    "sin",
    "cos",
    "tanh",
    "sigmoid",
    "silu",
    "gelu",
    "sqrt",
    "rsqrt",
    "reciprocal",
    "erf",
)
"""The functions of the page: those of hardware units."""
MOST_BITS = 8
"""Formats of more bits than this have no tables of functions."""
_SPECIAL, _SIGN = 0x80, 0x40
"""The bits of the second byte of an entry: the first byte is the number of a special row; the result is negative."""
_F64 = FORMATS["f64"]


def small_formats() -> list[FloatFormat]:
    """Return the formats that have tables of functions."""
    return [fmt for fmt in FORMATS.values() if fmt.bits <= MOST_BITS]


def results_of(name: str, fmt: FloatFormat) -> list[list[tuple[int | None, int]]]:
    """Return the code (None: poison) and the flags of every result of a function, by code and mode."""
    codes = np.arange(1 << fmt.bits, dtype=np.uint8)
    columns = []
    for mode in MODES.values():
        found = elementary.unary(name, fmt, codes, mode, want_flags=True)
        assert found.flags is not None
        poison = np.zeros(codes.shape, bool) if found.poison is None else found.poison
        columns.append(
            [
                (None if lost else int(code), int(flags))
                for code, flags, lost in zip(found.codes, found.flags, poison, strict=True)
            ]
        )
    return [list(row) for row in zip(*columns, strict=True)]


def _between(down: int, up: int) -> Fraction | None:
    """Return a number that stands for an exact result, given the codes of f64 to which the result rounds down and up.

    No value or midpoint of a small format lies between the number and the exact result. None for NaN, infinities and
    zeros.
    """
    low, high = scalar.value(_F64, down), scalar.value(_F64, up)
    if low is None or high is None:
        end = high if low is None else low
        return end and 2 * end  # beyond the largest f64
    return (low + high) / 2 or None


def _place(fmt: FloatFormat, number: Fraction) -> tuple[int, int] | None:
    """Return the place of a number: the magnitude before it, and its position there: 0 for the value itself, else one
    more than the position in the tables. None for numbers below the smallest magnitude.
    """
    size = abs(number)
    values = [scalar.value(fmt, fmt.from_magnitude(m)) or Fraction(0) for m in range(fmt.max_magnitude + 1)]
    below = [m for m, value in enumerate(values) if value <= size]
    if not below:
        return None
    magnitude = below[-1]
    step = Fraction(2) ** scalar.unpack(fmt, fmt.from_magnitude(magnitude)).exponent
    way = (size - values[magnitude]) / step
    if not way:
        return magnitude, 0
    region = next(region for region in regions(fmt) if magnitude <= region.last)
    return magnitude, 1 + sum((4 * way >= cut) + (4 * way > cut) for cut in region.cuts)


def _rules(name: str, fmt: FloatFormat, code: int) -> list[str]:
    """Return what `explain_op` says of a result in each mode, with ``{call}`` for the function of its operand."""
    rules = [explain_op(name, hex(code), type=fmt, rounding=mode).rule for mode in MODES]
    return [re.sub(rf"\b{name}\([^)]*\)", "{call}", rule) for rule in rules]


def function_tables() -> dict[str, Any]:
    """Compute the tables of all functions.

    Each format has an entry of two bytes for each function and code, and special rows. A special row has the code
    (null: poison), the flags and the number of a rule for each mode, or once if they are the same for all modes.
    """
    rules: dict[str, int] = {}
    formats = {}
    for fmt in small_formats():
        special: dict[tuple[tuple[int | None, int, int], ...], int] = {}
        entries = bytearray()
        codes = np.arange(1 << fmt.bits, dtype=np.uint8)
        for name in FUNCTIONS:
            ends = [
                elementary.unary(name, fmt, codes, mode, dst=_F64).codes
                for mode in (Rounding.DOWNWARD, Rounding.UPWARD)
            ]
            for code, results in enumerate(results_of(name, fmt)):
                number = _between(*(int(end[code]) for end in ends))
                place = None
                if number is not None and (fmt.signed or number > 0):
                    place = _place(fmt, number)
                if number is not None and place is not None:
                    magnitude, position = place
                    entries += bytes([magnitude, position | (_SIGN if number < 0 else 0)])
                    continue
                said = _rules(name, fmt, code)
                rows = [
                    (result, flags, rules.setdefault(rule, len(rules)))
                    for (result, flags), rule in zip(results, said, strict=True)
                ]
                alike = all(a == b for a, b in pairwise(rows))
                row = tuple(rows[:1] if alike else rows)
                entries += bytes([special.setdefault(row, len(special)), _SPECIAL])
        formats[fmt.name] = {"entries": base64.b64encode(entries).decode(), "special": list(special)}
    return {"functions": FUNCTIONS, "rules": list(rules), "formats": formats}
