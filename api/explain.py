"""Why this bit pattern: one rounding taken apart.

`explain` computes nothing of its own: every result comes from `halfulp.fp_formats.scalar`, the specification; here the
exact value is set beside its two neighbours in the format, and the rule that decided is put into words.
"""

from __future__ import annotations

import decimal
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any

from halfulp.fp_formats import scalar
from halfulp.fp_formats.formats import FORMATS, FloatFormat
from halfulp.fp_formats.policy import SPEC, Flags, FloatPolicy, Rounding
from halfulp.interp.errors import InputError, Unsupported
from halfulp.semantics.profile import Profile, as_profile, profile_choices

if TYPE_CHECKING:
    from halfulp.interp.types import Type
    from halfulp.interp.values import Value

MODES: Mapping[str, Rounding] = {mode.spelling: mode for mode in Rounding if mode is not Rounding.STOCHASTIC}
"""The five deterministic rounding modes by MLIR's keywords."""

_F64 = FORMATS["f64"]
_DECIMAL = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")
_FRACTION = re.compile(r"([+-]?\d+)\s*/\s*(\d+)")
_BITS = re.compile(r"0[xX][0-9a-fA-F]+")
_SPECIAL = re.compile(r"[+-]?(nan|inf)", re.IGNORECASE)
_MOST_DIGITS = 4300


# --- numbers as text --------------------------------------------------------------------------------------------------


def decimal_text(number: Fraction, digits: int = 60) -> str:
    """A rational number in decimals: exact where ``digits`` suffice, else cut after half as many, with ``...``."""
    if not number:
        return "0"
    context = decimal.Context(digits, decimal.ROUND_DOWN, decimal.MIN_EMIN, decimal.MAX_EMAX, traps=[])
    with decimal.localcontext(context) as context:
        text = decimal.Decimal(number.numerator) / decimal.Decimal(number.denominator)
        exact = not context.flags[decimal.Inexact]
        if not exact:
            context.prec = max(1, digits // 2)
            text = decimal.Decimal(number.numerator) / decimal.Decimal(number.denominator)
        plain = -8 < text.adjusted() < 21
        mantissa, _, exponent = f"{text.normalize():{'f' if plain else 'e'}}".partition("e")
    return mantissa + ("" if exact else "...") + (f"e{exponent}" if exponent else "")


def fraction_text(number: Fraction) -> str:
    """``5/16``; an odd integer times a power of two where that is shorter."""
    if max(abs(number.numerator), number.denominator) < 1 << 64:
        return str(number)
    power = (number.numerator & -number.numerator).bit_length() - number.denominator.bit_length()
    odd = number / Fraction(2) ** power
    return f"{odd} * 2^{power}" if odd.denominator == 1 else str(number)


def _number_text(number: Fraction) -> str:
    decimal_, fraction = decimal_text(number), fraction_text(number)
    return decimal_ if decimal_ == fraction else f"{decimal_} = {fraction}"


def hex_text(fmt: FloatFormat, code: int) -> str:
    """A code in hexadecimal, all its digits."""
    return f"0x{code:0{-(-fmt.bits // 4)}X}"


def bit_fields(fmt: FloatFormat) -> dict[str, int]:
    """The fields of a code from the top with their widths, those without bits left out."""
    widths = {
        "sign": int(fmt.signed),
        "exponent": fmt.exponent_bits,
        "integer bit": int(fmt.explicit_integer_bit),
        "significand": fmt.mantissa_bits,
    }
    return {name: width for name, width in widths.items() if width}


def bits_text(fmt: FloatFormat, code: int) -> str:
    """A code in binary, its fields separated by spaces."""
    digits, parts, start = f"{code:0{fmt.bits}b}", [], 0
    for width in bit_fields(fmt).values():
        parts.append(digits[start : start + width])
        start += width
    return " ".join(parts)


def binary_text(fmt: FloatFormat, code: int) -> str:
    """A finite value as sign, binary significand and power of two: ``1.010 * 2^-2``."""
    x = scalar.unpack(fmt, code)
    if not x.significand:
        return "0"
    digits = f"{x.significand:0{fmt.precision}b}"
    point = f"{digits[0]}.{digits[1:]}" if fmt.mantissa_bits else digits
    return f"{'-' if x.sign else ''}{point} * 2^{x.exponent + fmt.mantissa_bits}"


def value_text(fmt: FloatFormat, code: int) -> str:
    """What a code stands for: an exact decimal number, ``inf``, ``nan``."""
    exact = scalar.value(fmt, code)
    negative = fmt.sign_mask is not None and bool(code & fmt.sign_mask)
    if exact:
        return decimal_text(exact)
    if exact is not None:
        return "-0" if negative else "0"
    if fmt.is_infinite(code):
        return "-inf" if negative else "inf"
    kind = "signalling nan" if fmt.is_signalling(code) else "nan"
    return f"-{kind}" if negative and fmt.nan_has_payload else kind


# --- what is rounded --------------------------------------------------------------------------------------------------

_Rounder = Callable[[FloatFormat, int, FloatPolicy], scalar.Result]


@dataclass(frozen=True, slots=True)
class _Given:
    """A number to be rounded: how it was written, how that was read, its exact value (None: NaN or infinite)."""

    text: str
    reading: str
    exact: Fraction | None
    negative: bool
    infinite: bool
    round: _Rounder


def _given_code(text: str, reading: str, source: FloatFormat, code: int) -> _Given:
    negative = source.sign_mask is not None and bool(code & source.sign_mask)
    return _Given(
        text,
        reading,
        scalar.value(source, code),
        negative,
        source.is_infinite(code),
        lambda fmt, mode, policy: scalar.convert(source, fmt, code, mode, policy),
    )


def _given_integer(text: str, reading: str, number: int) -> _Given:
    return _Given(
        text,
        reading,
        Fraction(number),
        number < 0,
        False,
        lambda fmt, mode, policy: scalar.from_integer(fmt, number, mode, policy),
    )


def _given_fraction(text: str, number: Fraction) -> _Given:
    return _Given(
        text,
        "",
        number,
        number < 0,
        False,
        lambda fmt, mode, policy: scalar.from_fraction(fmt, number, mode, policy),
    )


def _f64_code(number: float) -> int:
    from halfulp.interp.literals import double_bits

    return double_bits(number)


def _given_text(text: str, fmt: FloatFormat) -> _Given:
    text = text.strip()
    if len(text) > _MOST_DIGITS:
        raise InputError(f"a number of {len(text)} characters is too long; at most {_MOST_DIGITS}")
    if fraction := _FRACTION.fullmatch(text):
        if not int(fraction[2]):
            raise InputError(f"'{text}' divides by zero")
        return _given_fraction(text, Fraction(int(fraction[1]), int(fraction[2])))
    if _BITS.fullmatch(text):
        code = int(text, 16)
        if code >> fmt.bits:
            raise InputError(f"the bit pattern {text} does not fit the {fmt.bits} bits of {fmt.name}")
        given = _given_code(text, f"the bits of an {fmt.name}", fmt, code)
        # A code is not rounded: not even a signalling NaN is quieted.
        return replace(given, round=lambda *_: scalar.Result(code))
    if _SPECIAL.fullmatch(text):
        return _given_code(text, "", _F64, _f64_code(float(text)))
    if _DECIMAL.fullmatch(text):
        number = float(text)
        # Decimal compares exactly, however large the exponents.
        exact = abs(number) != float("inf") and decimal.Decimal(text) == decimal.Decimal(number)
        reading = "" if exact else "read as the nearest f64, as every MLIR literal is; a fraction such as 3/10 is exact"
        return _given_code(text, reading, _F64, _f64_code(number))
    raise InputError(f"'{text}' is not a number: write a decimal, a fraction such as 1/3, nan, inf, or raw bits 0x…")


def _given_value(text: str, value: Value) -> _Given:
    from halfulp.fp_formats.codes import codes_to_ints
    from halfulp.interp import types as ty
    from halfulp.interp.values import element_width, numeric

    if value.shape:
        raise InputError(f"explain takes one number; {value!r} has {value.bits.size}")
    if value.poison is not None:
        raise InputError(f"the value is poison: {value.origin()}")
    element = numeric(value.element_type)
    width = element_width(element)
    if width is None:
        raise Unsupported(f"explain cannot round values of type '{value.type}'")
    code = codes_to_ints(value.bits.reshape((1, *value.bits.shape)), width)[0]
    reading = f"of type {value.type}"
    if isinstance(element, ty.FloatType):
        return _given_code(text, reading, element.format, code)
    signed = not (isinstance(element, ty.IntegerType) and (element.signedness == "unsigned" or element.width == 1))
    return _given_integer(text, reading, code - (1 << width) if signed and width and code >> (width - 1) else code)


def _given(value: Any, fmt: FloatFormat) -> _Given:
    import numpy as np

    from halfulp.interp.values import Value

    match value:
        case Value():
            return _given_value(repr(value), value)
        case str():
            head, equals, element = value.partition("=")
            if not equals:
                return _given_text(value, fmt)
            from halfulp.interp.spelling import parse_type_head, parse_value

            return _given_value(value, parse_value(parse_type_head(head), element))
        case np.generic() | np.ndarray():
            return _given_value(repr(value), Value.from_numpy(value))
        case bool():
            raise InputError(f"{value} is not a number to be rounded")
        case int():
            return _given_integer(str(value), "", value)
        case float():
            return _given_code(repr(value), "", _F64, _f64_code(value))
        case Fraction():
            return _given_fraction(str(value), value)
        case decimal.Decimal():
            if not value.is_finite():
                return _given_code(str(value), "", _F64, _f64_code(float(str(value).replace("sNaN", "NaN"))))
            if abs(value.adjusted()) > _MOST_DIGITS * 4:
                raise InputError(f"the exponent of {value} is too large")
            return _given_fraction(str(value), Fraction(value))
    raise InputError(f"explain takes a number, its text, or a scalar Value, not {type(value).__name__}")


# --- the explanation --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Rounded:
    """A rounded result: its code (None: poison), the exact value of that (None: NaN or infinite), and the IEEE flags.

    ``error``: result minus exact value in units in the last place, where both are finite.
    """

    code: int | None
    value: Fraction | None
    flags: Flags
    error: Fraction | None


@dataclass(frozen=True)
class Explanation:
    """One rounding, taken apart; ``str`` puts it into words.

    ``exact``: the value to be rounded, None for NaN and infinities. ``result``: what ``rounding`` gives under
    ``profile``; ``modes``: what each mode gives. ``below``, ``above``: codes of the nearest finite values strictly on
    either side of the exact one, None beyond the ends of the format. ``midpoint``: halfway between the two between
    which it lies, None when it is a value of the format. ``ulp``: the distance of those two. ``rule``: which rule of
    profile ``spec`` decided; ``profile_rule``: where ``profile`` departs from that, else empty.
    """

    given: str
    reading: str
    exact: Fraction | None
    format: FloatFormat
    rounding: str
    profile: Profile
    result: Rounded
    below: int | None
    above: int | None
    midpoint: Fraction | None
    ulp: Fraction | None
    rule: str
    profile_rule: str
    modes: Mapping[str, Rounded]

    @cached_property
    def _lines(self) -> list[str]:
        fmt = self.format
        layout = ", ".join(f"{name} {width}" for name, width in bit_fields(fmt).items())
        lines = [f"{self.given} in {fmt.name}, {self.rounding}, profile {self.profile.name}", ""]
        lines.append(f"given     {self.given}{f'  ({self.reading})' if self.reading else ''}")
        if self.exact is not None:
            lines.append(f"exact     {_number_text(self.exact)}")
        lines += [f"result    {self._code_text(self.result.code)}", f"          fields: {layout} bits"]
        if self.result.value is not None and self.result.code is not None:
            value = _number_text(self.result.value) if self.result.value else value_text(fmt, self.result.code)
            lines.append(f"value     {value}")
            lines.append(f"          {binary_text(fmt, self.result.code)} in binary")
        elif self.result.code is not None:
            lines.append(f"value     {value_text(fmt, self.result.code)}")
        lines.append(f"flags     {flags_text(self.result.flags)}")
        if self.exact is not None:
            lines += ["", f"below     {self._neighbour(self.below, 'no smaller finite value')}"]
            if self.midpoint is not None:
                lines.append(f"midpoint  {self._midpoint_text()}")
            lines.append(f"above     {self._neighbour(self.above, 'no larger finite value')}")
        lines += ["", f"rule      {self.rule}"]
        if self.profile_rule:
            lines.append(f"          {self.profile_rule}")
        lines += [f"error     {self._error_text()}", ""]
        return lines + self._table()

    def _code_text(self, code: int | None) -> str:
        return "poison" if code is None else f"{hex_text(self.format, code)}  {bits_text(self.format, code)}"

    def _neighbour(self, code: int | None, absent: str) -> str:
        return absent if code is None else f"{self._code_text(code)}  {value_text(self.format, code)}"

    def _midpoint_text(self) -> str:
        assert self.midpoint is not None
        assert self.exact is not None
        side = "exactly" if self.exact == self.midpoint else "below" if self.exact < self.midpoint else "above"
        return f"{decimal_text(self.midpoint)}  (the exact value lies {side}{' on' if side == 'exactly' else ''} it)"

    def _error_text(self) -> str:
        error = self.result.error
        if error is None:
            return "not a finite number"
        if not error:
            return "0 ulp"
        assert self.ulp is not None
        return f"{_signed(error)} ulp; an ulp is {decimal_text(self.ulp)} here"

    def _table(self) -> list[str]:
        rows = [("mode", "code", "value", "error in ulp", "flags")]
        for mode, rounded in self.modes.items():
            code = "poison" if rounded.code is None else hex_text(self.format, rounded.code)
            value = "" if rounded.code is None else value_text(self.format, rounded.code)
            error = "" if rounded.error is None else _signed(rounded.error)
            rows.append((mode, code, value, error, flags_text(rounded.flags)))
        return table_lines(rows)

    def __str__(self) -> str:
        return "\n".join(self._lines)


def table_lines(rows: Sequence[tuple[str, ...]]) -> list[str]:
    """Rows of text as lines with aligned columns."""
    widths = [max(len(row[k]) for row in rows) for k in range(len(rows[0]))]
    return ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]


def flags_text(flags: Flags) -> str:
    """The names of IEEE exception flags, or ``none``."""
    return ", ".join(flag.name.lower().replace("_", " ") for flag in Flags if flag in flags and flag.name) or "none"


def _signed(number: Fraction) -> str:
    return ("+" if number > 0 else "") + decimal_text(number, 12)


def explain(
    value: Any,
    type: str | FloatFormat | Type,
    rounding: str = "to_nearest_even",
    profile: Profile | str = "spec",
) -> Explanation:
    """Explain how one number is rounded to a float type.

    ``value``: a Python or NumPy number, a `fractions.Fraction` or `decimal.Decimal`, a scalar `Value`, or text: a
    decimal number (read through f64, as MLIR reads a literal), a fraction such as ``1/3``, ``nan``, ``inf``, raw bits
    ``0x7F`` of the type itself, or a typed element such as ``f32=0x7F800001``. ``type``: a float type. ``rounding``:
    one of the five modes by MLIR's keyword. ``profile``: a name, ``name,field=value``, or a `Profile`.

    Raises InputError for what is no number or mode, Unsupported for a type that is no float type, ValueError for an
    unknown profile.
    """
    fmt = format_of(type)
    if rounding not in MODES:
        raise InputError(f"rounding is {rounding!r}, but must be one of {', '.join(MODES)}")
    chosen = as_profile(profile)
    given = _given(value, fmt)
    mode = MODES[rounding]
    below, above = _neighbours(fmt, given.exact)
    ulp = _ulp(fmt, given.exact, below, above)
    modes = {
        name: _rounded(fmt, given, given.round(fmt, each, chosen.conversions), ulp) for name, each in MODES.items()
    }
    spec = given.round(fmt, mode, SPEC)
    midpoint = None
    if given.exact is not None and ulp is not None and not _is_value(fmt, given.exact):
        midpoint = _midpoint(fmt, below, above, ulp)
    return Explanation(
        given.text,
        given.reading,
        given.exact,
        fmt,
        rounding,
        chosen,
        modes[rounding],
        below,
        above,
        midpoint,
        ulp,
        _rule(fmt, given, mode, spec, midpoint),
        _profile_rule(fmt, given, mode, spec, chosen),
        modes,
    )


def format_of(type_: str | FloatFormat | Type) -> FloatFormat:
    """The format of a float type. Raises ParseError for text that is no type, Unsupported for any other type."""
    if isinstance(type_, FloatFormat):
        return type_
    if isinstance(type_, str) and type_ in FORMATS:
        return FORMATS[type_]
    from halfulp.interp import types as ty
    from halfulp.interp.values import as_type

    parsed = as_type(type_)
    if not isinstance(parsed, ty.FloatType):
        raise Unsupported(f"explain rounds to float types ({', '.join(FORMATS)}), not to '{parsed}'")
    return parsed.format


def _rounded(fmt: FloatFormat, given: _Given, result: scalar.Result, ulp: Fraction | None) -> Rounded:
    if result.poison:
        return Rounded(None, None, Flags(result.flags), None)
    value = scalar.value(fmt, result.code)
    error = None if value is None or given.exact is None or ulp is None else (value - given.exact) / ulp
    return Rounded(result.code, value, Flags(result.flags), error)


# --- neighbours -------------------------------------------------------------------------------------------------------


def _code_at(fmt: FloatFormat, rank: int) -> int:
    """The code of finite value number ``rank``, counted from zero, or from the smallest value where there is none."""
    return scalar.with_sign(fmt, int(rank < 0), fmt.from_magnitude(abs(rank)))


def _value_at(fmt: FloatFormat, rank: int) -> Fraction:
    value = scalar.value(fmt, _code_at(fmt, rank))
    assert value is not None
    return value


def _neighbours(fmt: FloatFormat, exact: Fraction | None) -> tuple[int | None, int | None]:
    """The codes of the largest finite value below ``exact`` and of the smallest above."""
    if exact is None:
        return None, None
    lowest, highest = -fmt.max_magnitude if fmt.signed else 0, fmt.max_magnitude
    # The number of finite values below `exact`, and of those not above it, by bisection: codes are ordered like values.
    first, last = lowest, highest + 1
    while first < last:
        middle = (first + last) // 2
        if _value_at(fmt, middle) < exact:
            first = middle + 1
        else:
            last = middle
    following = first + (first <= highest and _value_at(fmt, first) == exact)
    below = _code_at(fmt, first - 1) if first > lowest else None
    return below, _code_at(fmt, following) if following <= highest else None


def _is_value(fmt: FloatFormat, exact: Fraction) -> bool:
    result = scalar.from_fraction(fmt, exact)
    return not result.poison and scalar.value(fmt, result.code) == exact


def _step_at_the_top(fmt: FloatFormat) -> Fraction:
    """From the largest finite value to the next one, were the exponent unbounded."""
    return Fraction(2) ** (fmt.emax - fmt.mantissa_bits)


def _ulp(fmt: FloatFormat, exact: Fraction | None, below: int | None, above: int | None) -> Fraction | None:
    """The distance of the two values between which ``exact`` lies; at and beyond an end of the format, the last one."""
    if exact is None:
        return None
    if below is not None and above is not None:
        low, high = scalar.value(fmt, below), scalar.value(fmt, above)
        assert low is not None
        assert high is not None
        if not _is_value(fmt, exact):
            return high - low
        # At a power of two the two distances differ: the one away from zero is the ulp.
        return high - exact if exact >= 0 else exact - low
    if below is None and not fmt.signed:
        return Fraction(2) ** (fmt.emin - fmt.mantissa_bits)
    return _step_at_the_top(fmt)


def _midpoint(fmt: FloatFormat, below: int | None, above: int | None, ulp: Fraction) -> Fraction | None:
    """Halfway between the neighbours; beyond the largest value, between it and what would be next."""
    if below is None and not fmt.signed:
        return None
    inner = below if below is not None else above
    assert inner is not None
    value = scalar.value(fmt, inner)
    assert value is not None
    return value + ulp / 2 if below is not None else value - ulp / 2


# --- rules ------------------------------------------------------------------------------------------------------------


def _rule(fmt: FloatFormat, given: _Given, mode: Rounding, result: scalar.Result, midpoint: Fraction | None) -> str:
    """Which rule of the profile ``spec`` gave ``result``."""
    exact = given.exact
    if given.reading.startswith("the bits of"):
        return "a bit pattern is not rounded"
    if exact is None:
        return _special_rule(fmt, given)
    if not exact and not fmt.zero:
        return f"{fmt.name} has no zero: the smallest value, in every mode"
    if not exact and given.negative and not fmt.has_negative_zero:
        return f"{fmt.name} has no -0: +0"
    if exact < 0 and not fmt.signed:
        return f"{fmt.name} has no negative values: NaN"
    if scalar.value(fmt, result.code) == exact:
        return "the value is exact in this format: nothing is rounded"
    if midpoint is None:
        return f"below the smallest value of {fmt.name}, which has no zero: that value, in every mode"
    largest = scalar.value(fmt, fmt.max_code)
    assert largest is not None
    if abs(exact) > largest:
        return _overflow_rule(fmt, exact, mode, result, midpoint)
    return _inner_rule(fmt, exact, mode, result, midpoint)


def _special_rule(fmt: FloatFormat, given: _Given) -> str:
    if given.infinite:
        if given.negative and not fmt.signed:
            return f"{fmt.name} has no negative values: NaN"
        return f"infinity stays infinity in {fmt.name}" if fmt.infinities else f"infinity: {_replacement(fmt)}"
    if fmt.nan_code is None:
        return f"NaN is not representable in {fmt.name}: poison"
    if fmt.quiet_bit:
        return "NaN stays NaN: quieted, sign kept, payload aligned to the left and cut"
    if fmt.signed and fmt.nan_has_payload:
        return "NaN stays NaN: its sign is kept"
    return f"NaN becomes the one NaN of {fmt.name}"


def _replacement(fmt: FloatFormat) -> str:
    if fmt.infinities:
        return "infinity"
    if fmt.nan_code is not None:
        return f"{fmt.name} has no infinities: NaN{', of the same sign' if fmt.signed and fmt.nan_has_payload else ''}"
    return f"{fmt.name} has neither infinities nor NaN: the largest finite value"


_DIRECTED = {
    Rounding.DOWNWARD: "downward: toward -infinity",
    Rounding.UPWARD: "upward: toward +infinity",
    Rounding.TOWARD_ZERO: "toward zero",
}


def _tie_rule(fmt: FloatFormat, mode: Rounding, away: bool) -> str:
    if mode is Rounding.TO_NEAREST_AWAY:
        return "a tie: away from zero"
    if away and not fmt.mantissa_bits:
        return "a tie: every significand is odd, so away from zero"
    return "a tie: to the even significand"


def _overflow_rule(fmt: FloatFormat, exact: Fraction, mode: Rounding, result: scalar.Result, midpoint: Fraction) -> str:
    largest = scalar.value(fmt, result.code)
    stays = largest is not None and fmt.nan_code is not None  # formats with neither infinity nor NaN always give it
    beyond = f"beyond the largest finite value {value_text(fmt, fmt.max_code)}"
    if mode in _DIRECTED:
        how = _DIRECTED[mode]
    elif exact == midpoint:
        how = _tie_rule(fmt, mode, not stays)
    else:
        nearer = abs(exact) < abs(midpoint)
        how = f"nearer to {'it' if nearer else 'the next value'}, were the exponent unbounded"
    return f"{beyond}; {how}: {'the largest finite value' if stays else 'overflow; ' + _replacement(fmt)}"


def _inner_rule(fmt: FloatFormat, exact: Fraction, mode: Rounding, result: scalar.Result, midpoint: Fraction) -> str:
    chosen = scalar.value(fmt, result.code)
    assert chosen is not None
    side = "above" if chosen > exact else "below"
    if mode in _DIRECTED:
        return f"{_DIRECTED[mode]}, so the value {side}"
    if exact == midpoint:
        return f"{_tie_rule(fmt, mode, abs(chosen) > abs(exact))}: the value {side}"
    return f"to nearest: the value {side} is nearer"


def _profile_rule(fmt: FloatFormat, given: _Given, mode: Rounding, spec: scalar.Result, profile: Profile) -> str:
    """Where a profile departs from ``spec`` here: the fields that change the result on their own."""
    result = given.round(fmt, mode, profile.conversions)
    if result == spec:
        return ""
    own = profile_choices()
    changed = {
        field: choice
        for field, choice in vars(profile.conversions).items()
        if field in own and choice != getattr(SPEC, field)
    }
    causes = [
        f"{field}={choice}"
        for field, choice in changed.items()
        if given.round(fmt, mode, FloatPolicy(**{field: choice})) != spec
    ] or [f"{field}={choice}" for field, choice in changed.items()]
    usual = "poison" if spec.poison else hex_text(fmt, spec.code)
    other = "poison" if result.poison else hex_text(fmt, result.code)
    same = (result.code, result.poison) == (spec.code, spec.poison)
    what = "raises other flags" if same else f"gives {other} instead of {usual}"
    return f"profile {profile.name} {what}: {', '.join(causes)}"
