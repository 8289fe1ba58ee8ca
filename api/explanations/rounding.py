"""Why this bit pattern: one rounding taken apart.

`explain` computes nothing of its own: every result comes from `halfulp.fp_formats.scalar`, the specification; here the
exact value is set beside its two neighbours in the format, and the rule that decided is put into words.
"""

from __future__ import annotations

import decimal
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache, cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

from halfulp.explanations.rounding_steps import code_at
from halfulp.explanations.rules import bare_nan, infinity_rule, nan_rule, rounding_rule
from halfulp.fp_formats import scalar
from halfulp.fp_formats.formats import FORMATS, FloatFormat
from halfulp.fp_formats.policy import Flags, Rounding
from halfulp.fp_formats.spelling import (
    binary_text,
    bits_text,
    decimal_text,
    fields_text,
    fraction_text,
    hex_text,
    number_text,
    signed_text,
    value_text,
)
from halfulp.interp.ir.errors import InputError, Unsupported
from halfulp.semantics import casts, emulated
from halfulp.semantics.profile import PROFILES, SPEC, Profile, as_profile, profile_choices

if TYPE_CHECKING:
    from halfulp.interp.ir.types import Type
    from halfulp.interp.values.value import Value

MODES: Mapping[str, Rounding] = {mode.spelling: mode for mode in Rounding if mode is not Rounding.STOCHASTIC}
"""The five deterministic rounding modes by MLIR's keywords."""

_F64 = FORMATS["f64"]
_DECIMAL = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)
_FRACTION = re.compile(r"([+-]?\d+)\s*/\s*(\d+)", re.ASCII)
_BITS = re.compile(r"0[xX][0-9a-fA-F]+")
_SPECIAL = re.compile(r"[+-]?(nan|inf)", re.IGNORECASE)
_MOST_DIGITS = 4300


# --- what is rounded --------------------------------------------------------------------------------------------------


class Found(NamedTuple):
    """What a computation gives: a code, None for poison, and its flags, None where they are not known."""

    code: int | None
    flags: Flags | None


def found(result: scalar.Result, flagged: bool = True) -> Found:
    """A result of the specification."""
    return Found(None if result.poison else result.code, Flags(result.flags) if flagged else None)


@dataclass(frozen=True, slots=True)
class Given:
    """A number to be rounded: how it was written, how that was read, its exact value (None: NaN or infinite).

    ``round``: what it gives in a format, a mode and a profile. ``code``: the bits of the type itself, which are not
    rounded. ``bare``: of a NaN, why it has neither sign nor payload.
    """

    text: str
    reading: str
    exact: Fraction | None
    negative: bool
    infinite: bool
    round: Callable[[FloatFormat, Rounding, Profile], Found]
    code: int | None = None
    bare: str = ""


def given_code(text: str, reading: str, source: FloatFormat, code: int) -> Given:
    """A code of a format, to be converted."""

    def convert(fmt: FloatFormat, mode: Rounding, profile: Profile) -> Found:
        mode = casts.mode(mode, profile)
        if emulated.emulates(profile, source, fmt):
            return found(emulated.convert(source, fmt, profile.conversions)[0](code), flagged=False)
        return found(scalar.convert(source, fmt, code, mode, profile.conversions))

    negative = source.sign_mask is not None and bool(code & source.sign_mask)
    exact, bare = scalar.value(source, code), bare_nan(source, code)
    return Given(text, reading, exact, negative, source.is_infinite(code), convert, bare=bare)


def given_integer(text: str, reading: str, number: int) -> Given:
    """An integer, to be converted."""

    def convert(fmt: FloatFormat, mode: Rounding, profile: Profile) -> Found:
        if emulated.emulates(profile, fmt):
            return found(emulated.from_integer()[0](fmt, number, mode, profile.conversions), flagged=False)
        return found(scalar.from_integer(fmt, number, mode, profile.conversions))

    return Given(text, reading, Fraction(number), number < 0, False, convert)


def given_fraction(text: str, number: Fraction) -> Given:
    """A rational number, to be rounded. It is of no type from which a profile could take a detour."""

    def round_(fmt: FloatFormat, mode: Rounding, profile: Profile) -> Found:
        return found(scalar.from_fraction(fmt, number, mode, profile.conversions))

    return Given(text, "", number, number < 0, False, round_)


def given_bits(text: str, fmt: FloatFormat, code: int) -> Given:
    """A code of the very format that is explained: it is not rounded, and not even a signalling NaN is quieted."""
    article = "an" if fmt.name[0] == "f" else "a"
    given = given_code(text, f"the bits of {article} {fmt.name}", fmt, code)
    return replace(given, round=lambda *_: Found(code, Flags(0)), code=code)


def _f64_code(number: float) -> int:
    from halfulp.interp.ir.literals import double_bits

    return double_bits(number)


def _given_text(text: str, fmt: FloatFormat) -> Given:
    if len(text) > _MOST_DIGITS:
        raise InputError(f"a number of {len(text)} characters is too long; at most {_MOST_DIGITS}")
    if fraction := _FRACTION.fullmatch(text):
        if not int(fraction[2]):
            raise InputError(f"'{text}' divides by zero")
        return given_fraction(text, Fraction(int(fraction[1]), int(fraction[2])))
    if _BITS.fullmatch(text):
        code = int(text, 16)
        if code >> fmt.bits:
            raise InputError(f"the bit pattern {text} does not fit the {fmt.bits} bits of {fmt.name}")
        return given_bits(text, fmt, code)
    if _SPECIAL.fullmatch(text):
        return given_code(text, "", _F64, _f64_code(float(text)))
    if _DECIMAL.fullmatch(text):
        number = float(text)
        # Decimal compares exactly, however large the exponents.
        exact = abs(number) != float("inf") and decimal.Decimal(text) == decimal.Decimal(number)
        reading = "" if exact else "read as the nearest f64, as every MLIR literal is; a fraction such as 3/10 is exact"
        return given_code(text, reading, _F64, _f64_code(number))
    raise InputError(f"'{text}' is not a number: write a decimal, a fraction such as 1/3, nan, inf, or raw bits 0x…")


def typed_text(text: str) -> tuple[str, str] | None:
    """The element and the type of ``f32=0.3`` or ``0.3 : f32``; None for text without a type."""
    head, equals, element = text.partition("=")
    if equals:
        return element.strip(), head.strip()
    element, colon, type_ = text.rpartition(":")
    return (element.strip(), type_.strip()) if colon else None


def _given_value(text: str, value: Value) -> Given:
    from halfulp.fp_formats.codes import codes_to_ints
    from halfulp.interp.ir import types as ty
    from halfulp.interp.values.value import element_width, numeric

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
        return given_code(text, reading, element.format, code)
    signed = not (isinstance(element, ty.IntegerType) and (element.signedness == "unsigned" or element.width == 1))
    return given_integer(text, reading, code - (1 << width) if signed and width and code >> (width - 1) else code)


def given_number(value: Any, fmt: FloatFormat) -> Given:
    """What `explain` takes as a number. Raises InputError for anything else."""
    import numpy as np

    from halfulp.interp.values.value import Value

    match value:
        case Value():
            return _given_value(repr(value), value)
        case str():
            text = value.strip()
            typed = typed_text(text)
            if typed is None:
                return _given_text(text, fmt)
            from halfulp.interp.values.spelling import parse_type_head, parse_value

            return _given_value(text, parse_value(parse_type_head(typed[1]), typed[0]))
        case np.generic() | np.ndarray():
            return _given_value(repr(value), Value.from_numpy(value))
        case bool():
            raise InputError(f"{value} is not a number to be rounded")
        case int():
            return given_integer(fraction_text(Fraction(value)), "", value)
        case float():
            return given_code(repr(value), "", _F64, _f64_code(value))
        case Fraction():
            return given_fraction(fraction_text(value), value)
        case decimal.Decimal():
            if not value.is_finite():
                return given_code(str(value), "", _F64, _f64_code(float(str(value).replace("sNaN", "NaN"))))
            if abs(value.adjusted()) > _MOST_DIGITS * 4:
                raise InputError(f"the exponent of {value} is too large")
            return given_fraction(str(value), Fraction(value))
    raise InputError(f"explain takes a number, its text, or a scalar Value, not {type(value).__name__}")


def _in_its_own_type(value: Any) -> tuple[Given, FloatFormat]:
    """A number that brings its type: its bits, or for decimals such as ``0.3 : f32`` how they are rounded to it."""
    import numpy as np

    from halfulp.fp_formats.codes import codes_to_ints
    from halfulp.interp.values.value import Value

    if isinstance(value, str):
        typed = typed_text(value.strip())
        if typed is None:
            raise InputError(f"'{value.strip()}' has no type", hint="name one: explain(0.3, 'f8E4M3FN'), or 0.3 : f32")
        fmt = format_of(typed[1])
        return replace(_given_text(typed[0], fmt), text=value.strip()), fmt
    if isinstance(value, np.generic | np.ndarray):
        value = Value.from_numpy(value)
    if not isinstance(value, Value):
        raise InputError(f"{value!r} has no type", hint="name one: explain(0.3, 'f8E4M3FN')")
    fmt = format_of(value.element_type)
    _given_value(repr(value), value)  # raises what is wrong with it
    return given_bits(repr(value), fmt, codes_to_ints(value.bits.reshape((1, *value.bits.shape)), fmt.bits)[0]), fmt


# --- the explanation --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Rounded:
    """A rounded result: its code (None: poison), the exact value of that (None: NaN or infinite), and the IEEE flags
    (None: not known, of profiles that compute in another format).

    ``error``: result minus exact value in units in the last place; ``relative``: over the exact value; both None where
    one of the two is no finite number, ``relative`` also for an exact zero.
    """

    code: int | None
    value: Fraction | None
    flags: Flags | None
    error: Fraction | None
    relative: Fraction | None = None


@dataclass(frozen=True, slots=True)
class ProfileGroup:
    """Profiles that give one result for one reason: its code (None: poison), and the fields that decide."""

    profiles: tuple[str, ...]
    code: int | None
    fields: tuple[str, ...]


@dataclass(frozen=True, repr=False)
class Explanation:
    """One rounding, taken apart; ``str`` puts it into words, notebooks show bits and a number line.

    ``exact``: the value to be rounded, None for NaN and infinities. ``result``: what ``rounding`` gives under
    ``profile``; ``modes``: what each mode gives, empty for what knows no modes. ``below``, ``above``: codes of the
    nearest finite values strictly on either side of the exact one, None beyond the ends of the format. ``midpoint``:
    halfway between the two between which it lies, None when it is a value of the format. ``ulp``: the distance of those
    two. ``rule``: which rule of profile ``spec`` decided; ``profile_rule``: where ``profile`` departs from that, else
    empty. ``profiles``: what every named profile gives, grouped by result, that of spec first.
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
    profiles: tuple[ProfileGroup, ...]

    @cached_property
    def _lines(self) -> list[str]:
        lines = [f"{self.given} in {self.format.name}, {self.rounding}, profile {self.profile.name}", ""]
        lines.append(f"given     {self.given}{f'  ({self.reading})' if self.reading else ''}")
        return lines + self.body()

    def body(self, formula: str = "") -> list[str]:
        """The lines of the text from the exact value on, which ``formula`` gives."""
        fmt, result = self.format, self.result
        lines = [] if self.exact is None else [f"exact     {formula}{number_text(self.exact)}"]
        lines.append(f"result    {code_text(fmt, result.code)}")
        if result.code is not None:
            value = number_text(result.value) if result.value else value_text(fmt, result.code)
            lines += [f"          {fields_text(fmt, result.code)}", f"value     {value}"]
            if result.value is not None:
                lines.append(f"          {binary_text(fmt, result.code)} in binary")
        lines.append(f"flags     {flags_text(result.flags)}")
        if self.exact is not None:
            lines += ["", f"below     {self._neighbour(self.below, 'no smaller finite value')}"]
            if self.midpoint is not None:
                lines.append(f"midpoint  {decimal_text(self.midpoint)}  ({self.midpoint_text()})")
            lines.append(f"above     {self._neighbour(self.above, 'no larger finite value')}")
        lines += ["", f"rule      {self.rule}"]
        if self.profile_rule:
            lines.append(f"          {self.profile_rule}")
        lines += [f"error     {part}" if not k else f"          {part}" for k, part in enumerate(self.error_texts())]
        if self.modes:
            lines += ["", *table_lines(self.mode_rows())]
        if self.profiles:
            lines += ["", *profile_lines(self.profile_rows())]
        return lines

    def profile_rows(self) -> list[tuple[str, ...]]:
        """What the profiles give, as rows of a table with a head."""
        fmt = self.format
        return profile_rows(self.profiles, lambda code: hex_text(fmt, code), lambda code: value_text(fmt, code))

    def _neighbour(self, code: int | None, absent: str) -> str:
        return absent if code is None else f"{code_text(self.format, code)}  {value_text(self.format, code)}"

    def midpoint_text(self) -> str:
        """Between which codes the midpoint lies, and on which side of it the exact value."""
        assert self.midpoint is not None
        assert self.exact is not None
        ends = [hex_text(self.format, code) for code in (self.below, self.above) if code is not None]
        place = f"between {ends[0]} and {ends[1]}" if len(ends) == 2 else f"between {ends[0]} and what would be next"
        side = "exactly on" if self.exact == self.midpoint else "below" if self.exact < self.midpoint else "above"
        return f"{place}; the exact value lies {side} it"

    def error_texts(self) -> list[str]:
        """The error in ulp, and relative to the exact value."""
        result = self.result
        if result.error is None:
            return ["not a finite number"]
        if not result.error:
            return ["0 ulp"]
        assert self.ulp is not None
        texts = [f"{signed_text(result.error)} ulp; an ulp is {decimal_text(self.ulp)} here"]
        return texts if result.relative is None else [*texts, f"{signed_text(result.relative)} relative"]

    def mode_rows(self) -> list[tuple[str, ...]]:
        """What each mode gives, as rows of a table with a head."""
        rows: list[tuple[str, ...]] = [("mode", "code", "value", "error in ulp", "flags")]
        for mode, rounded in self.modes.items():
            code = "poison" if rounded.code is None else hex_text(self.format, rounded.code)
            value = "" if rounded.code is None else value_text(self.format, rounded.code)
            error = "" if rounded.error is None else signed_text(rounded.error)
            rows.append((mode, code, value, error, flags_text(rounded.flags)))
        return rows

    def __str__(self) -> str:
        return "\n".join(self._lines)

    def __repr__(self) -> str:
        # What a terminal shows of it, and a notebook where styles are stripped.
        return str(self)

    def _repr_html_(self) -> str:
        from halfulp.explanations.html import explanation_html

        return explanation_html(self)


def code_text(fmt: FloatFormat, code: int | None) -> str:
    """A code in hexadecimal and in binary, its fields separated; or ``poison``."""
    return "poison" if code is None else f"{hex_text(fmt, code)}  {bits_text(fmt, code)}"


def table_lines(rows: Sequence[tuple[str, ...]]) -> list[str]:
    """Rows of text as lines with aligned columns."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return ["  ".join(map(str.ljust, row, widths)).rstrip() for row in rows]


def profile_rows(
    groups: Sequence[ProfileGroup], hexadecimal: Callable[[int], str], value_of: Callable[[int], str]
) -> list[tuple[str, ...]]:
    """Groups of profiles as rows of a table with a head."""
    rows: list[tuple[str, ...]] = [("code", "value", "profiles", "fields that decide")]
    for group in groups:
        code = "poison" if group.code is None else hexadecimal(group.code)
        value = "" if group.code is None else value_of(group.code)
        rows.append((code, value, ", ".join(group.profiles), ", ".join(group.fields)))
    return rows


def profile_lines(rows: Sequence[tuple[str, ...]]) -> list[str]:
    """What the profiles give, as lines of text."""
    return table_lines(rows) if len(rows) > 2 else ["profiles  all of them give this"]


_FLAG_NAMES = {flag: (flag.name or "").lower().replace("_", " ") for flag in Flags}


def flags_text(flags: Flags | None) -> str:
    """The names of IEEE exception flags, or ``none``."""
    if flags is None:
        return "not known"
    return ", ".join(name for flag, name in _FLAG_NAMES.items() if flag & flags) or "none"


def explain(
    value: Any,
    type: str | FloatFormat | Type | None = None,
    rounding: str = "to_nearest_even",
    profile: Profile | str = "spec",
) -> Explanation:
    """Explain how one number is rounded to a float type.

    ``value``: a Python or NumPy number, a `fractions.Fraction` or `decimal.Decimal`, a scalar `Value`, or text: a
    decimal number (read through f64, as MLIR reads a literal), a fraction such as ``1/3``, ``nan``, ``inf``, raw bits
    ``0x7F`` of the type itself, or a typed element such as ``f32=0x7F800001`` or ``0x7F800001 : f32``. ``type``: a
    float type; it may be left out where the value has one (``0x7F : f8E4M3FN``). ``rounding``: one of the five modes by
    MLIR's keyword. ``profile``: a name, ``name,field=value``, or a `Profile`.

    Raises InputError for what is no number or mode, Unsupported for a type that is no float type, ValueError for an
    unknown profile.
    """
    if rounding not in MODES:
        raise InputError(f"rounding is {rounding!r}, but must be one of {', '.join(MODES)}")
    chosen = as_profile(profile)
    if type is None:
        given, fmt = _in_its_own_type(value)
    else:
        fmt = format_of(type)
        given = _given_bits_of(value, fmt) or given_number(value, fmt)
    return explained(given, fmt, rounding, chosen, MODES)


def _given_bits_of(value: Any, fmt: FloatFormat) -> Given | None:
    """Raw bits that are typed as the very format to which they would be rounded."""
    typed = typed_text(value.strip()) if isinstance(value, str) else None
    if typed is None or typed[1] != fmt.name or "=" in value or not _BITS.fullmatch(typed[0]):
        return None
    return replace(_given_text(typed[0], fmt), text=value.strip())


def explained(
    given: Given,
    fmt: FloatFormat,
    rounding: str,
    profile: Profile,
    modes: Iterable[str],
    rule: str | None = None,
    others: bool = True,
) -> Explanation:
    """The explanation of one rounding, with the modes that are to be listed, and ``others``: with other profiles.

    ``rule``: for a result that is not the exact value rounded, the rule that gave it.
    """
    mode = MODES[rounding]
    place = _place(fmt, given.exact)
    ulp = None if given.exact is None else _ulp(fmt, given.exact, place)

    def rounded(found: Found) -> Rounded:
        if found.code is None:
            return Rounded(None, None, found.flags, None)
        value = scalar.value(fmt, found.code)
        if value is None or given.exact is None or ulp is None:
            return Rounded(found.code, value, found.flags, None)
        error = value - given.exact
        relative = error / abs(given.exact) if given.exact else None
        return Rounded(found.code, value, found.flags, error / ulp, relative)

    by_mode = {name: given.round(fmt, MODES[name], profile) for name in modes if given.code is None}
    result = by_mode[rounding] if rounding in by_mode else given.round(fmt, mode, profile)
    spec = result if profile is SPEC else given.round(fmt, mode, SPEC)
    midpoint = None
    if given.exact is not None and ulp is not None and not place.exact:
        midpoint = _midpoint(fmt, place, ulp)
    if rule is None:
        rule = _rule(fmt, given, mode, spec, midpoint)

    def compute(other: Profile) -> Found:
        return given.round(fmt, mode, other)

    return Explanation(
        given.text,
        given.reading,
        given.exact,
        fmt,
        rounding,
        profile,
        rounded(result),
        place.below,
        place.above,
        midpoint,
        ulp,
        rule,
        profile_rule(compute, spec, profile, lambda code: hex_text(fmt, code)),
        {name: rounded(found) for name, found in by_mode.items()},
        profile_groups(compute, spec, profile) if others and given.code is None else (),
    )


def _rule(fmt: FloatFormat, given: Given, mode: Rounding, spec: Found, midpoint: Fraction | None) -> str:
    if given.code is not None:
        return "a bit pattern is not rounded"
    if given.exact is not None:
        return rounding_rule(fmt, given.exact, not given.exact and given.negative, mode, spec.code, midpoint)
    return infinity_rule(fmt, given.negative) if given.infinite else nan_rule(fmt, given.bare)


def format_of(type_: str | FloatFormat | Type) -> FloatFormat:
    """The format of a float type. Raises ParseError for text that is no type, Unsupported for any other type."""
    if isinstance(type_, FloatFormat):
        return type_
    if isinstance(type_, str) and type_ in FORMATS:
        return FORMATS[type_]
    from halfulp.interp.ir import types as ty
    from halfulp.interp.values.value import as_type

    parsed = as_type(type_)
    if not isinstance(parsed, ty.FloatType):
        raise Unsupported(f"explain rounds to float types ({', '.join(FORMATS)}), not to '{parsed}'")
    return parsed.format


# --- neighbours -------------------------------------------------------------------------------------------------------


class _Place(NamedTuple):
    """Where a number lies: the finite values strictly below and above; ``exact``: it is a value itself."""

    below: int | None
    above: int | None
    exact: bool


def _floor(fmt: FloatFormat, number: Fraction) -> tuple[int, bool]:
    """The magnitude of the largest value not above a positive number, were the exponent unbounded upward, and whether
    it is that number; -1 below the smallest value of a format without zero.
    """
    numerator, denominator = number.numerator, number.denominator
    exponent = numerator.bit_length() - denominator.bit_length()
    if numerator << max(-exponent, 0) < denominator << max(exponent, 0):
        exponent -= 1
    if exponent < fmt.emin and not fmt.zero:
        return -1, False
    exponent = max(exponent, fmt.emin)
    unit = exponent - fmt.mantissa_bits
    kept, rest = divmod(numerator << max(-unit, 0), denominator << max(unit, 0))
    # As in scalar.round_pack: the integer bit of a normal value moves into the exponent field by itself.
    magnitude = (exponent - fmt.emin << fmt.mantissa_bits) + kept
    return magnitude if fmt.zero else magnitude - (1 << fmt.mantissa_bits), not rest


def _place(fmt: FloatFormat, number: Fraction | None) -> _Place:
    if number is None:
        return _Place(None, None, False)
    lowest, highest = -fmt.max_magnitude if fmt.signed else 0, fmt.max_magnitude
    floor, exact = _floor(fmt, abs(number)) if number else (0 if fmt.zero else -1, fmt.zero)
    inner, outer = floor - exact, floor + 1
    below, above = (-outer, -inner) if number < 0 else (inner, outer)
    if not fmt.signed and number < 0:
        below, above, exact = -1, 0, False
    return _Place(
        code_at(fmt, min(below, highest)) if below >= lowest else None,
        code_at(fmt, max(above, lowest)) if above <= highest else None,
        exact and lowest <= (floor if number >= 0 else -floor) <= highest,
    )


def _ulp(fmt: FloatFormat, exact: Fraction, place: _Place) -> Fraction:
    """The distance of the two values between which ``exact`` lies; at and beyond an end of the format, the last one."""
    if place.below is not None and place.above is not None:
        low, high = scalar.value(fmt, place.below), scalar.value(fmt, place.above)
        assert low is not None
        assert high is not None
        if not place.exact:
            return high - low
        # At a power of two the two distances differ: the one away from zero is the ulp.
        return high - exact if exact >= 0 else exact - low
    if place.below is None and not fmt.signed:
        return Fraction(2) ** (fmt.emin - fmt.mantissa_bits)
    # From the largest finite value to the next one, were the exponent unbounded.
    return Fraction(2) ** (fmt.emax - fmt.mantissa_bits)


def _midpoint(fmt: FloatFormat, place: _Place, ulp: Fraction) -> Fraction | None:
    """Halfway between the neighbours; beyond the largest value, between it and what would be next."""
    if place.below is None and not fmt.signed:
        return None
    inner = place.below if place.below is not None else place.above
    assert inner is not None
    value = scalar.value(fmt, inner)
    assert value is not None
    return value + ulp / 2 if place.below is not None else value - ulp / 2


# --- profiles ---------------------------------------------------------------------------------------------------------


@cache
def _changed(profile: Profile) -> Mapping[str, str]:
    """The fields in which a profile differs from spec."""
    return {field: choice for field in profile_choices() if (choice := getattr(profile, field)) != getattr(SPEC, field)}


@cache
def _alone(field: str, choice: str) -> Profile:
    values: dict[str, Any] = {field: choice}
    return Profile(base="spec", **values)


@cache
def _without(profile: Profile, field: str) -> Profile:
    values: dict[str, Any] = {**_changed(profile), field: getattr(SPEC, field)}
    return Profile(base="spec", **values)


def deciding_fields(compute: Callable[[Profile], Any], profile: Profile) -> tuple[str, ...]:
    """The fields behind what a profile gives where that is not what spec gives, as ``field=choice``.

    Those that alone make the difference; else those without which the result would be another; else all of them.
    """
    result, changed = compute(profile), _changed(profile)
    alone = [field for field, choice in changed.items() if compute(_alone(field, choice)) == result]
    needed = alone or [field for field in changed if compute(_without(profile, field)) != result]
    return tuple(f"{field}={changed[field]}" for field in needed or changed)


def profile_groups(compute: Callable[[Profile], Found], spec: Found, chosen: Profile) -> tuple[ProfileGroup, ...]:
    """What the named profiles, and the chosen one, give, grouped by result and by what decides; spec comes first."""
    profiles = {**PROFILES, chosen.name: chosen}
    groups: dict[int | None, dict[tuple[str, ...], list[str]]] = {}
    for name, profile in profiles.items():
        code = spec.code if profile is SPEC else compute(profile).code
        fields = () if code == spec.code else deciding_fields(lambda other: compute(other).code, profile)
        groups.setdefault(code, {}).setdefault(fields, []).append(name)
    return tuple(
        ProfileGroup(tuple(names), code, fields) for code, by in groups.items() for fields, names in by.items()
    )


def profile_rule(
    compute: Callable[[Profile], Found], spec: Found, profile: Profile, hexadecimal: Callable[[int], str]
) -> str:
    """Where a profile departs from ``spec``, and by which of its fields; empty where it does not."""
    if profile is SPEC:
        return ""
    result = compute(profile)
    if result == spec or (result.code == spec.code and result.flags is None):
        return ""
    usual, other = ("poison" if code is None else hexadecimal(code) for code in (spec.code, result.code))
    same = result.code == spec.code
    what = "raises other flags" if same else f"gives {other} instead of {usual}"
    key: Callable[[Profile], Any] = compute if same else lambda chosen: compute(chosen).code
    return f"profile {profile.name} {what}: {', '.join(deciding_fields(key, profile))}"
