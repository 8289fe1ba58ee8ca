"""The number that is rounded, the bounds of an irrational number, and the rule that decides a rounding, in words."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple

from halfulp.fp_formats import numbers, scalar
from halfulp.fp_formats.formats import FloatFormat, double_bits
from halfulp.fp_formats.policy import Flags, Rounding
from halfulp.fp_formats.spelling import decimal_text, signed_text, value_text
from halfulp.number_reader import Code, ReadNumber
from halfulp.semantics import casts, emulated
from halfulp.semantics.profile import Profile

# --- bounds of irrational numbers -------------------------------------------------------------------------------------


DIGITS = 30
"""The number of digits to which an irrational number is computed."""
_FAR, _FAR_TEXT, _NEAR_TEXT = Fraction(10) ** 300, "1e300", "1e-300"


@dataclass(frozen=True)
class Turn:
    """One turn of Ziv's loop: the bits of precision, the ball, and whether it settled the rounding in each mode."""

    precision: int
    ball: str
    settled: bool


@dataclass(frozen=True)
class Enclosure:
    """Two rational numbers between which an irrational number lies.

    ``low``, ``high``: the bounds. They agree in all digits that an explanation shows. ``grid``: the exponent of the
    grid of `turns`: a ball between two of its points settles the rounding. ``turns``: the turns of Ziv's loop; empty if
    no ball is needed. ``crude``: the number is beyond all formats, or so close to a rational number that its distance
    has no digits here.
    """

    low: Fraction
    high: Fraction
    grid: int = 0
    turns: tuple[Turn, ...] = ()
    crude: bool = False

    @property
    def text(self) -> str:
        """The digits that both bounds have; the bounds if these differ."""
        low, high = (decimal_text(bound, 2 * DIGITS, DIGITS) for bound in (self.low, self.high))
        if low == high:
            return low
        return f"between {_bound_text(self.low)} and {_bound_text(self.high)}"

    def rows(self) -> list[str]:
        """Return the turns of Ziv's loop in words."""
        settled = f"between two multiples of 2^{self.grid}, so settled in every mode"
        return [
            f"{turn.precision} bits: {turn.ball}, {settled if turn.settled else 'not settled: more bits are needed'}"
            for turn in self.turns
        ]

    def difference_text(self, number: Fraction) -> str:
        """Return the text of a difference from the number, such as an error in ulp."""
        size = abs(number)
        if not self.crude or not number or 1 / _FAR < size < _FAR:
            return signed_text(number)
        bound = f"{'-' if number < 0 else '+'}{_FAR_TEXT if size > 1 else _NEAR_TEXT}"
        return f"{'beyond' if size > 1 else 'within'} {bound}"


def _bound_text(number: Fraction) -> str:
    size = abs(number)
    if not size or 1 / _FAR < size < _FAR:
        return decimal_text(number, 2 * DIGITS)
    exponent = size.numerator.bit_length() - size.denominator.bit_length()
    return f"{'-' if number < 0 else ''}2^{exponent}"


# --- rules in words ---------------------------------------------------------------------------------------------------


_DIRECTED: Mapping[Rounding, str] = {
    Rounding.DOWNWARD: "downward: toward -infinity",
    Rounding.UPWARD: "upward: toward +infinity",
    Rounding.TOWARD_ZERO: "toward zero",
}
EXACT = "the value is exact in this format: nothing is rounded"
AS_READ: Mapping[str, str] = {
    "infinite": "too large for an f64, so it is read as infinity: ",
    "zero": "too small for an f64, so it is read as zero: ",
    "exact zero": "too small for an f64, so it is read as zero, which is a value of this format",
    "exact": "the f64 that is read is exact in this format: only the reading rounded",
}
"""Words for a decimal that is not an f64, if reading it as f64 changes the result more than the rounding does."""


def rounding_rule(
    fmt: FloatFormat,
    exact: Fraction,
    negative_zero: bool,
    mode: Rounding,
    code: int | None,
    midpoint: Fraction | None,
) -> str:
    """Return the rule that rounds a finite exact value, in words. ``code``: the result; ``midpoint``: the midpoint of
    the two neighbours of the exact value.
    """
    if not exact and not fmt.zero:
        return f"{fmt.name} has no zero: the smallest value, in every mode"
    if negative_zero and not fmt.has_negative_zero:
        return f"{fmt.name} has no -0: +0"
    if exact < 0 and not fmt.signed:
        return negative_rule(fmt)
    rounded = None if code is None else scalar.value(fmt, code)
    if rounded == exact:
        return EXACT
    if midpoint is None:
        return f"below the smallest value of {fmt.name}, which has no zero: that value, in every mode"
    if abs(exact) > _largest(fmt):
        return _overflow_rule(fmt, exact, mode, rounded, midpoint)
    assert rounded is not None
    side = "above" if rounded > exact else "below"
    if mode in _DIRECTED:
        return f"{_DIRECTED[mode]}, so the value {side}"
    if exact == midpoint:
        return f"{_tie_rule(fmt, mode, abs(rounded) > abs(exact))}: the value {side}"
    return f"to nearest: the value {side} is nearer"


def stochastic_rule(
    fmt: FloatFormat, exact: Fraction, negative_zero: bool, code: int | None, midpoint: Fraction | None, away: bool
) -> str:
    """Return the rule that rounds a finite exact value stochastically, in words. ``away``: whether the random bits are
    less than the discarded fraction.
    """
    largest = _largest(fmt)
    negative = exact < 0 and not fmt.signed
    if midpoint is None or negative or abs(exact) >= 2 * abs(midpoint) - largest > largest:
        return rounding_rule(fmt, exact, negative_zero, Rounding.TO_NEAREST_EVEN, code, midpoint)
    drawn = f"the random bits are {'less' if away else 'not less'} than the discarded fraction"
    if abs(exact) > largest:
        end = f"overflow; {instead_of_infinity(fmt)}" if away else "the largest finite value"
        return f"beyond the largest finite value {value_text(fmt, fmt.max_code)}; {drawn}: {end}"
    side = "above" if away == (exact > 0) else "below"
    return f"{drawn}: {'away from' if away else 'toward'} zero, so the value {side}"


def rule_as_read(rule: str, exact: Fraction | None) -> str:
    """Return the rule for a decimal that f64 cannot represent, and so is rounded to f64 first. ``exact``: the value of
    this f64, None if it is infinite.
    """
    if exact is None:
        return AS_READ["infinite"] + rule
    if not exact:
        return AS_READ["exact zero"] if rule == EXACT else AS_READ["zero"] + rule
    return AS_READ["exact"] if rule == EXACT else rule


def nan_rule(fmt: FloatFormat, bare: str = "") -> str:
    """Return the rule that converts a NaN, in words. ``bare``: why it has neither sign nor payload; empty if it has
    them.
    """
    if fmt.nan_code is None:
        return lost_nan_rule(fmt)
    if bare:
        return f"{bare}: {default_nan(fmt)}"
    if fmt.quiet_bit:
        return "NaN stays NaN: quieted, sign kept, payload aligned to the left and cut"
    if fmt.signed and fmt.nan_has_payload:
        return "NaN stays NaN: its sign is kept"
    return f"NaN becomes the one NaN of {fmt.name}"


def bare_nan(fmt: FloatFormat, code: int) -> str:
    """Return the reason why a NaN has neither sign nor payload to keep; an empty text if it has them, and for other
    values.
    """
    if fmt.is_invalid(code):
        return f"an invalid encoding of {fmt.name} counts as a signalling NaN"
    marked = fmt.nan_has_payload and (fmt.signed or fmt.mantissa_bits)
    return "" if marked or not fmt.is_nan(code) else f"the NaN of {fmt.name} has neither sign nor payload"


def default_nan(fmt: FloatFormat) -> str:
    """Return words for the NaN result of an operation if its NaN operands, if any, have no sign and payload."""
    if fmt.nan_code is None:
        return lost_nan_rule(fmt)
    if not (fmt.nan_has_payload and fmt.signed):
        return f"the NaN of {fmt.name}"
    return "a positive, quiet NaN without payload" if fmt.quiet_bit else "a positive NaN"


def lost_nan_rule(fmt: FloatFormat) -> str:
    """Return words for the result of a NaN in a format without NaN."""
    return f"NaN is not representable in {fmt.name}: poison"


def infinity_rule(fmt: FloatFormat, negative: bool) -> str:
    """Return the rule that converts an infinity, in words."""
    if negative and not fmt.signed:
        return negative_rule(fmt)
    return f"infinity stays infinity in {fmt.name}" if fmt.infinities else f"infinity: {instead_of_infinity(fmt)}"


def negative_rule(fmt: FloatFormat) -> str:
    """Return words for the result of a negative number in a format without a sign."""
    return f"{fmt.name} has no negative values: NaN{'' if fmt.nan_code is not None else f'. {lost_nan_rule(fmt)}'}"


def instead_of_infinity(fmt: FloatFormat) -> str:
    """Return words for the result that a format has in place of an infinity."""
    if fmt.infinities:
        return "infinity"
    if fmt.nan_code is not None:
        return f"{fmt.name} has no infinities: NaN{', of the same sign' if fmt.signed and fmt.nan_has_payload else ''}"
    return f"{fmt.name} has neither infinities nor NaN: the largest finite value"


def _largest(fmt: FloatFormat) -> Fraction:
    largest = scalar.value(fmt, fmt.max_code)
    assert largest is not None
    return largest


def _tie_rule(fmt: FloatFormat, mode: Rounding, away: bool) -> str:
    if mode is Rounding.TO_NEAREST_AWAY:
        return "a tie: away from zero"
    if away and not fmt.mantissa_bits:
        return "a tie: every significand is odd, so away from zero"
    return "a tie: to the even significand"


def _overflow_rule(fmt: FloatFormat, exact: Fraction, mode: Rounding, rounded: Fraction | None, mid: Fraction) -> str:
    inward = mode is Rounding.TOWARD_ZERO or mode is (Rounding.DOWNWARD if exact > 0 else Rounding.UPWARD)
    within = inward if mode in _DIRECTED else abs(exact) < abs(mid)
    # Formats with neither infinity nor NaN give the largest value, whether they overflow or not.
    stays = rounded is not None and (within or fmt.infinities or fmt.nan_code is not None)
    beyond = f"beyond the largest finite value {value_text(fmt, fmt.max_code)}"
    if mode in _DIRECTED:
        how = _DIRECTED[mode]
    elif exact == mid:
        how = _tie_rule(fmt, mode, not stays)
    else:
        following = decimal_text(2 * abs(mid) - _largest(fmt))
        how = f"nearer to it than to {following}" if within else f"it would round to {following} or more"
        how += ", which does not exist"
    return f"{beyond}; {how}: {'the largest finite value' if stays else 'overflow; ' + instead_of_infinity(fmt)}"


# --- numbers to be rounded --------------------------------------------------------------------------------------------


class CodeAndFlags(NamedTuple):
    """The result of a computation: a code (None: poison) and its flags (None: not known)."""

    code: int | None
    flags: Flags | None


def code_and_flags(result: scalar.Result, flagged: bool = True) -> CodeAndFlags:
    """Return the code and the flags of a result of the specification. ``flagged``: False if the flags are not known."""
    return CodeAndFlags(None if result.poison else result.code, Flags(result.flags) if flagged else None)


@dataclass(frozen=True, slots=True)
class GivenNumber:
    """A number to be rounded: its text, how the text was read, and its exact value."""

    text: str
    reading: str
    #: the exact value; None for NaN and infinities
    exact: Fraction | None
    negative: bool
    infinite: bool
    #: a function that returns the result in a format, a mode and a profile
    round: Callable[[FloatFormat, Rounding, Profile], CodeAndFlags]
    #: bits of the explained type itself, which are not rounded
    code: int | None = None
    #: why a NaN has neither sign nor payload
    bare: str = ""
    #: a function that returns the result of stochastic rounding, from random bits and their width; None if no random
    #: bits matter
    draw: Callable[[FloatFormat, Profile, tuple[int, int]], CodeAndFlags] | None = None
    #: the bounds of an irrational number; `exact` lies between them
    enclosure: Enclosure | None = None
    #: why the exact value is rational, irrational or a zero
    reason: str = ""


def given_number(read: ReadNumber) -> GivenNumber:
    """Return a number that a user gave, as it is to be rounded."""
    match read.number:
        case Code(source, bits) if read.is_bits:
            return _given_bits(read, source, bits)
        case Code(source, bits):
            return given_code(read.text, read.reading, source, bits)
        case int():
            return given_integer(read.text, read.reading, read.number)
        case number:
            return given_exact(read.text, number)


def _given_bits(read: ReadNumber, source: FloatFormat, code: int) -> GivenNumber:
    negative = source.sign_mask is not None and bool(code & source.sign_mask)

    def same(fmt: FloatFormat, mode: Rounding, profile: Profile) -> CodeAndFlags:
        return CodeAndFlags(code, Flags(0))

    return GivenNumber(
        read.text, read.reading, read.exact, negative, source.is_infinite(code), same, code, bare_nan(source, code)
    )


def given_code(text: str, reading: str, source: FloatFormat, code: int) -> GivenNumber:
    """Return a code of ``source`` as a number that is converted."""

    def convert(fmt: FloatFormat, mode: Rounding, profile: Profile) -> CodeAndFlags:
        mode = casts.mode(mode, profile)
        if emulated.emulates(profile, source, fmt):
            return code_and_flags(emulated.convert(source, fmt, profile.conversions)[0](code), flagged=False)
        return code_and_flags(scalar.convert(source, fmt, code, mode, profile.conversions))

    def draw(fmt: FloatFormat, profile: Profile, random: tuple[int, int]) -> CodeAndFlags:
        return code_and_flags(scalar.convert(source, fmt, code, Rounding.STOCHASTIC, profile.conversions, random))

    negative = source.sign_mask is not None and bool(code & source.sign_mask)
    exact, bare = scalar.value(source, code), bare_nan(source, code)
    return GivenNumber(text, reading, exact, negative, source.is_infinite(code), convert, bare=bare, draw=draw)


def given_integer(text: str, reading: str, number: int) -> GivenNumber:
    """Return an integer of an integer type as a number that is converted."""

    def convert(fmt: FloatFormat, mode: Rounding, profile: Profile) -> CodeAndFlags:
        if emulated.emulates(profile, fmt):
            return code_and_flags(emulated.from_integer()[0](fmt, number, mode, profile.conversions), flagged=False)
        return code_and_flags(scalar.from_integer(fmt, number, mode, profile.conversions))

    def draw(fmt: FloatFormat, profile: Profile, random: tuple[int, int]) -> CodeAndFlags:
        return code_and_flags(scalar.from_integer(fmt, number, Rounding.STOCHASTIC, profile.conversions, random))

    return GivenNumber(text, reading, Fraction(number), number < 0, False, convert, draw=draw)


def given_exact(text: str, number: numbers.Exact) -> GivenNumber:
    """Return an exact number, as it is to be rounded. It has no type, so no profile rounds it to another format
    first.
    """

    def convert(fmt: FloatFormat, mode: Rounding, profile: Profile) -> CodeAndFlags:
        return code_and_flags(numbers.round_to_format(fmt, number, mode, profile.conversions))

    def draw(fmt: FloatFormat, profile: Profile, random: tuple[int, int]) -> CodeAndFlags:
        return code_and_flags(numbers.round_to_format(fmt, number, Rounding.STOCHASTIC, profile.conversions, random))

    exact, bare, infinite = numbers.fraction_of(number), "", False
    if isinstance(number, float):
        bare, infinite = bare_nan(numbers.F64, double_bits(number)), not numbers.is_nan(number)
    return GivenNumber(text, "", exact, numbers.is_negative(number), infinite, convert, bare=bare, draw=draw)
