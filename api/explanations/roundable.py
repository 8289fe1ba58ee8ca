"""Numbers to be rounded: each with the function that rounds it, as the specification does."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple

from halfulp.explanations.enclosures import Enclosure
from halfulp.explanations.rules import bare_nan
from halfulp.fp_formats import numbers, scalar
from halfulp.fp_formats.formats import FloatFormat
from halfulp.fp_formats.policy import Flags, Rounding
from halfulp.number_reader import Code, ReadNumber
from halfulp.semantics import casts, emulated
from halfulp.semantics.profile import Profile


class Found(NamedTuple):
    """The result of a computation: a code (None: poison) and its flags (None: not known)."""

    code: int | None
    flags: Flags | None


def found(result: scalar.Result, flagged: bool = True) -> Found:
    """Take a result of the specification."""
    return Found(None if result.poison else result.code, Flags(result.flags) if flagged else None)


@dataclass(frozen=True, slots=True)
class GivenNumber:
    """A number to be rounded: its text, how that was read, and its exact value."""

    text: str
    reading: str
    #: None: NaN or infinite
    exact: Fraction | None
    negative: bool
    infinite: bool
    #: returns its result in a format, a mode and a profile
    round: Callable[[FloatFormat, Rounding, Profile], Found]
    #: bits of the explained type itself, which are not rounded
    code: int | None = None
    #: why a NaN has neither sign nor payload
    bare: str = ""
    #: returns its result by stochastic rounding, from random bits and their width; None where no random bits matter
    draw: Callable[[FloatFormat, Profile, tuple[int, int]], Found] | None = None
    #: the bounds of an irrational number, of which `exact` is one within
    enclosure: Enclosure | None = None
    #: why the exact value is what it is
    reason: str = ""


def given_number(read: ReadNumber) -> GivenNumber:
    """Take a number as a user gave it."""
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

    def same(fmt: FloatFormat, mode: Rounding, profile: Profile) -> Found:
        return Found(code, Flags(0))

    return GivenNumber(
        read.text, read.reading, read.exact, negative, source.is_infinite(code), same, code, bare_nan(source, code)
    )


def given_code(text: str, reading: str, source: FloatFormat, code: int) -> GivenNumber:
    """Take a code of ``source``, which is converted."""

    def convert(fmt: FloatFormat, mode: Rounding, profile: Profile) -> Found:
        mode = casts.mode(mode, profile)
        if emulated.emulates(profile, source, fmt):
            return found(emulated.convert(source, fmt, profile.conversions)[0](code), flagged=False)
        return found(scalar.convert(source, fmt, code, mode, profile.conversions))

    def draw(fmt: FloatFormat, profile: Profile, random: tuple[int, int]) -> Found:
        return found(scalar.convert(source, fmt, code, Rounding.STOCHASTIC, profile.conversions, random))

    negative = source.sign_mask is not None and bool(code & source.sign_mask)
    exact, bare = scalar.value(source, code), bare_nan(source, code)
    return GivenNumber(text, reading, exact, negative, source.is_infinite(code), convert, bare=bare, draw=draw)


def given_integer(text: str, reading: str, number: int) -> GivenNumber:
    """Take an integer of an integer type, which is converted."""

    def convert(fmt: FloatFormat, mode: Rounding, profile: Profile) -> Found:
        if emulated.emulates(profile, fmt):
            return found(emulated.from_integer()[0](fmt, number, mode, profile.conversions), flagged=False)
        return found(scalar.from_integer(fmt, number, mode, profile.conversions))

    def draw(fmt: FloatFormat, profile: Profile, random: tuple[int, int]) -> Found:
        return found(scalar.from_integer(fmt, number, Rounding.STOCHASTIC, profile.conversions, random))

    return GivenNumber(text, reading, Fraction(number), number < 0, False, convert, draw=draw)


def given_exact(text: str, number: numbers.Exact) -> GivenNumber:
    """Take an exact number, which is rounded. It has no type from which a profile could take a detour."""

    def convert(fmt: FloatFormat, mode: Rounding, profile: Profile) -> Found:
        return found(numbers.round_to_format(fmt, number, mode, profile.conversions))

    def draw(fmt: FloatFormat, profile: Profile, random: tuple[int, int]) -> Found:
        return found(numbers.round_to_format(fmt, number, Rounding.STOCHASTIC, profile.conversions, random))

    exact, bare, infinite = numbers.fraction_of(number), "", False
    if isinstance(number, float):
        bare, infinite = bare_nan(numbers.F64, numbers.double_bits(number)), not numbers.is_nan(number)
    return GivenNumber(text, "", exact, numbers.is_negative(number), infinite, convert, bare=bare, draw=draw)
