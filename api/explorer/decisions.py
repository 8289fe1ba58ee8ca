"""The result of rounding in every situation, as a table in which the page looks results up.

The result of rounding a number to a format depends on a few facts: its sign, the mode, its place between the two values
around it, whether the lower one of these is even, and where in the format they are. A `MagnitudeRange` is a run of
magnitudes (see `halfulp.fp_formats.formats`) in which nothing else matters. Every entry of its table is the result of
`halfulp.fp_formats.scalar` for one number in that situation, with the words of `halfulp.explanations.rules`. The page
compares numbers, exactly, to find the situation of a number; it rounds nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from types import MappingProxyType
from typing import Any

from halfulp.explanations.explaining import explain
from halfulp.explanations.rules import infinity_rule, nan_rule, rounding_rule, stochastic_rule
from halfulp.explorer.special_operands import OPERATIONS, nan_words, operation_rows
from halfulp.explorer.ways import WAYS, Way
from halfulp.fp_formats import scalar
from halfulp.fp_formats.formats import FORMATS, FloatFormat
from halfulp.fp_formats.spelling import bit_fields
from halfulp.number_reader import MODES, read_text

LOWER, UPPER, POISON = "lower", "upper", "poison"
"""Results: the value toward zero, the one away from zero, or none. Every other result is a code in hexadecimal."""

_HALF, _THREE_QUARTERS, _WHOLE = 2, 3, 4


@dataclass(frozen=True)
class MagnitudeRange:
    """Magnitudes ``first`` to ``last``: the numbers between two neighbours of them are all rounded alike.

    ``cuts``: the places, in quarters of the way, where the result changes. Positions are counted by cuts: 0 before the
    first cut, 1 at it, 2 after it, and so on.
    """

    first: int
    last: int
    cuts: tuple[int, ...]

    @property
    def positions(self) -> Iterator[Fraction]:
        """Yield one point of the way for each position, in order."""
        end = _WHOLE if self.cuts[-1] < _WHOLE else _WHOLE + 2
        following = (*self.cuts[1:], end)
        yield Fraction(self.cuts[0], 8)
        for cut, after in zip(self.cuts, following, strict=True):
            yield Fraction(cut, 4)
            yield Fraction(cut + after, 8)


def regions(fmt: FloatFormat) -> tuple[MagnitudeRange, ...]:
    """Return the regions of a format, which together hold all its magnitudes."""
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
    """The different results of a format, in the order of their first use: result, flags, rule."""

    def __init__(self, fmt: FloatFormat) -> None:
        self.fmt = fmt
        self.rows: dict[tuple[str, int, str], int] = {}

    def row(self, result: scalar.Result, rule: str, names: Mapping[int, str] = MappingProxyType({})) -> int:
        """Return the number of the row of a result. ``names``: of codes."""
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
        """Round a number other than zero in each way; return numbers of rows. ``part``: of the way after the value
        before it, if that decides.
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
    """Return all that the page looks up: modes, formats, and the words of `explanations.rounding` that all formats
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
