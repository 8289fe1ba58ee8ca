"""Explain one rounding, to a mode or by random bits: the exact number between its neighbours, and the results.

`explained` computes nothing itself: every result comes from `halfulp.fp_formats.scalar`, the specification. Here the
exact value stands beside its two neighbours in the format, with the deciding rule in words.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, cached_property, partial
from html import escape
from math import ceil, floor
from types import MappingProxyType
from typing import Any

import numpy as np

from halfulp.explanations.records import ProfileGroup, RoundedNumber, RoundingExplanation
from halfulp.explanations.rules import CodeAndFlags, GivenNumber, infinity_rule, nan_rule, rounding_rule, rule_as_read
from halfulp.fp_formats import scalar
from halfulp.fp_formats.formats import FloatFormat
from halfulp.fp_formats.neighbours import floor_exponent, midpoint_of, neighbours, ulp_at
from halfulp.fp_formats.policy import Rounding
from halfulp.fp_formats.spelling import (
    decimal_text,
    fraction_text,
    fragment,
    hex_text,
    number_text,
    signed_text,
    table,
    title,
    value_text,
)
from halfulp.interp.ir.errors import InputError, Unsupported
from halfulp.number_reader import MODES, READ_AS_F64
from halfulp.semantics.profile import PROFILE_FIELDS, PROFILES, SPEC, Profile
from halfulp.texts import code_text, flags_text

# --- results by profile -----------------------------------------------------------------------------------------------


@cache
def _changed(profile: Profile) -> Mapping[str, str]:
    """Return the fields in which a profile differs from spec."""
    return {field: choice for field in PROFILE_FIELDS if (choice := getattr(profile, field)) != getattr(SPEC, field)}


@cache
def _alone(field: str, choice: str) -> Profile:
    values: dict[str, Any] = {field: choice}
    return Profile(base="spec", **values)


@cache
def _without(profile: Profile, field: str) -> Profile:
    values: dict[str, Any] = {**_changed(profile), field: getattr(SPEC, field)}
    return Profile(base="spec", **values)


def deciding_fields(compute: Callable[[Profile], Any], profile: Profile) -> tuple[str, ...]:
    """Return the fields that make a profile's result differ from that of spec, as ``field=choice``.

    A deciding field is one that makes the difference by itself. If there is no such field, the deciding fields are
    those without which the result would change. If there are none of these either, they are all fields that differ.
    """
    result, changed = compute(profile), _changed(profile)
    alone = [field for field, choice in changed.items() if compute(_alone(field, choice)) == result]
    needed = alone or [field for field in changed if compute(_without(profile, field)) != result]
    return tuple(f"{field}={changed[field]}" for field in needed or changed)


def profile_groups(
    compute: Callable[[Profile], CodeAndFlags], spec: CodeAndFlags, chosen: Profile
) -> tuple[ProfileGroup, ...]:
    """Return the named profiles and the chosen one in groups with the same result and the same deciding fields. The
    group of spec comes first.
    """
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
    compute: Callable[[Profile], CodeAndFlags], spec: CodeAndFlags, profile: Profile, hexadecimal: Callable[[int], str]
) -> str:
    """Return a text that says how the result of a profile differs from ``spec``, and which fields decide it; an empty
    text if it does not differ.
    """
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


# --- one rounding -----------------------------------------------------------------------------------------------------


def explained(
    given: GivenNumber,
    fmt: FloatFormat,
    rounding: str,
    profile: Profile,
    modes: Iterable[str],
    rule: str | None = None,
    others: bool = True,
) -> RoundingExplanation:
    """Return the explanation of one rounding. ``modes``: the modes to list. ``others``: whether the other profiles are
    listed too.

    ``rule``: for a result that is not the rounded exact value, the rule that gave it.
    """
    mode = MODES[rounding]
    place = neighbours(fmt, given.exact)
    ulp = None if given.exact is None else ulp_at(fmt, given.exact)

    rounded = partial(_rounded_number, fmt, given.exact, ulp)
    by_mode = {name: given.round(fmt, MODES[name], profile) for name in modes if given.code is None}
    result = by_mode[rounding] if rounding in by_mode else given.round(fmt, mode, profile)
    spec = result if profile is SPEC else given.round(fmt, mode, SPEC)
    midpoint = None
    if given.exact is not None and ulp is not None and not place.exact:
        midpoint = midpoint_of(fmt, place, ulp)
    if rule is None:
        rule = _rule(fmt, given, mode, spec, midpoint)

    def compute(other: Profile) -> CodeAndFlags:
        return given.round(fmt, mode, other)

    return RoundingExplanation(
        given.text, given.reading, given.exact, fmt, rounding, profile, rounded(result), place.below, place.above,
        midpoint, ulp, rule,
        profile_rule(compute, spec, profile, lambda code: hex_text(fmt, code)),
        {name: rounded(found) for name, found in by_mode.items()},
        profile_groups(compute, spec, profile) if others and given.code is None else (),
        given.infinite, given.enclosure, given.reason,
    )  # fmt: skip


def _rounded_number(
    fmt: FloatFormat, exact: Fraction | None, ulp: Fraction | None, found: CodeAndFlags
) -> RoundedNumber:
    """Return a result with its error against the exact value."""
    value = None if found.code is None else scalar.value(fmt, found.code)
    if value is None or exact is None or ulp is None:
        return RoundedNumber(found.code, value, found.flags, None)
    error = value - exact
    return RoundedNumber(found.code, value, found.flags, error / ulp, error / abs(exact) if exact else None)


def _rule(fmt: FloatFormat, given: GivenNumber, mode: Rounding, spec: CodeAndFlags, midpoint: Fraction | None) -> str:
    if given.code is not None:
        return "a bit pattern is not rounded"
    if given.exact is not None:
        rule = rounding_rule(fmt, given.exact, not given.exact and given.negative, mode, spec.code, midpoint)
    else:
        rule = infinity_rule(fmt, given.negative) if given.infinite else nan_rule(fmt, given.bare)
    return rule_as_read(rule, given.exact) if given.reading == READ_AS_F64 else rule


# --- stochastic rounding ----------------------------------------------------------------------------------------------
# Explain stochastic rounding: both outcomes, their probabilities, and the decision by random bits.
#
# The rule of the profile says how random bits decide. Both outcomes come from the specification,
# `halfulp.fp_formats.scalar`, and so does the decision.


_MOST_WIDTH = 64
_INTEGERS: Mapping[str, tuple[str, Callable[[Fraction], int]]] = MappingProxyType(
    {
        "less": ("ceil({})", ceil),
        "p3109_a": ("floor({})", floor),
        "p3109_b": ("floor({} + 1/2)", lambda scaled: floor(scaled + Fraction(1, 2))),
        "p3109_c": ("ties_to_even({})", round),
    }
)
"""For each rule, a function of the discarded fraction times 2**k, as text and code. It returns how many of the 2**k
random numbers round away from zero.
"""


@dataclass(frozen=True, repr=False)
class StochasticExplanation:
    """One stochastic rounding; its text explains it.

    ``exact``: the value to be rounded, None for NaN and infinities.
    ``fraction``: the position of the value between its two neighbours in the format, from 0 (the neighbour nearer to
    zero) to 1; 0 if the value is exact.
    ``toward``, ``away``: the results toward zero and away from zero.
    ``width``: the number of random bits, None for infinitely many.
    ``random``: these bits as an integer, None if they are not given.
    ``probability``: the exact probability of ``away``.
    ``result``: the result for these bits; None if it depends on bits that are not given.
    """

    title: str
    rows: tuple[tuple[str, str], ...]
    exact: Fraction | None
    format: FloatFormat
    profile: Profile
    fraction: Fraction
    toward: RoundedNumber
    away: RoundedNumber
    width: int | None
    random: int | None
    probability: Fraction
    result: RoundedNumber | None
    rounding: str = "stochastic"

    @cached_property
    def lines(self) -> list[tuple[str, str]]:
        """The rows of the text, as pairs of a name and a text."""
        rows = list(self.rows)
        if self.exact is not None:
            rows.append(("exact", number_text(self.exact)))
        if not self.fraction:
            return [
                *rows,
                ("result", self._number(self.toward)),
                ("rule", "nothing is rounded: random bits change nothing"),
            ]
        rows.append(("fraction", f"{number_text(self.fraction)} of the distance is discarded"))
        for name, number, chance in (
            ("toward 0", self.toward, 1 - self.probability),
            ("away", self.away, self.probability),
        ):
            rows.append((name, f"{self._number(number)}  probability {_chance(chance)}"))
        rows.append(("rule", self.rule))
        if self.result is not None:
            rows.append(("result", self._number(self.result)))
            rows.append(("flags", flags_text(self.result.flags)))
        return rows

    @property
    def rule(self) -> str:
        """The rule by which the bits decide, and the decision if bits are given."""
        fraction, policy = decimal_text(self.fraction, 24), self.profile.conversions
        complement, less = policy.stochastic_bits == "complement", policy.stochastic == "less"
        if self.width is None:
            drawn = "the random number from 0 to 1"
            drawn = f"(1 minus {drawn})" if complement else drawn
            holds = f"{drawn} is less than {fraction}" if less else f"{fraction} plus {drawn} is at least 1"
            return f"away from zero if {holds}; toward zero otherwise"
        numbers, count = 1 << self.width, int(self.probability * (1 << self.width))
        words = _INTEGERS[policy.stochastic][0].format(f"{fraction} * 2^{self.width}")
        if self.random is None:
            drawn = f"(2^{self.width} - 1 - random)" if complement else "random"
            holds = f"{drawn} / 2^{self.width} is less than {fraction}"
            if not less:
                holds = f"{words} + {drawn} is at least 2^{self.width}"
            return f"away from zero if {holds}: for {count} of {numbers} numbers"
        taken = numbers - 1 - self.random if complement else self.random
        drawn = f"(2^{self.width} - 1 - {self.random})" if complement else str(self.random)
        if less:
            away, part = taken < count, decimal_text(Fraction(taken, numbers), 24)
            holds = f"{drawn} / 2^{self.width} = {part} is {'' if away else 'not '}less than {fraction}"
        else:
            away = count + taken >= numbers
            holds = f"{words} + {drawn} = {count + taken} is {'at least' if away else 'less than'} 2^{self.width}"
        return f"{holds}: {'away from' if away else 'toward'} zero"

    def _number(self, number: RoundedNumber) -> str:
        if number.code is None:
            return "poison"
        error = "" if number.error is None else f"  {signed_text(number.error)} ulp" if number.error else "  exact"
        return f"{code_text(self.format, number.code)}  {value_text(self.format, number.code)}{error}"

    def __str__(self) -> str:
        return "\n".join([self.title, "", *(f"{name:<10}{text}" for name, text in self.lines)])

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        rows = [(escape(name), escape(text)) for name, text in self.lines]
        return fragment(title(self.title), table(rows, named=True))

    def to_dict(self) -> dict[str, Any]:
        """Return the numbers as a dictionary for JSON; fractions are text."""

        def number(rounded: RoundedNumber | None) -> dict[str, Any] | None:
            if rounded is None:
                return None
            code = None if rounded.code is None else hex_text(self.format, rounded.code)
            return {"code": code, "value": None if rounded.value is None else fraction_text(rounded.value)}

        return {
            "title": self.title,
            "format": self.format.name,
            "profile": self.profile.name,
            "exact": None if self.exact is None else fraction_text(self.exact),
            "fraction": fraction_text(self.fraction),
            "toward": number(self.toward),
            "away": number(self.away),
            "width": self.width,
            "random": self.random,
            "probability": fraction_text(self.probability),
            "result": number(self.result),
        }


def _chance(chance: Fraction) -> str:
    return f"{fraction_text(chance)} = {decimal_text(chance, 12)}" if chance.denominator > 1 else str(chance)


def random_and_width(random: Any, bits: int | None) -> tuple[int | None, int | None]:
    """Return the random bits as an integer, and their width; each is None if it is not given.

    ``random``: an unsigned integer of NumPy, whose dtype is the width, or a Python integer with ``bits``. Raises
    InputError.
    """
    if bits is not None and (isinstance(bits, bool) or not isinstance(bits, int) or not 1 <= bits <= _MOST_WIDTH):
        raise InputError(f"bits={bits!r} must be the number of random bits, 1 to {_MOST_WIDTH}")
    if random is None:
        return None, bits
    if isinstance(random, np.ndarray) and not random.shape:
        random = random[()]
    if isinstance(random, np.unsignedinteger):
        bits, random = bits or 8 * random.dtype.itemsize, int(random)
    if isinstance(random, bool) or not isinstance(random, int):
        raise InputError(
            f"random={random!r} must be one unsigned integer, as in random=np.uint8(5), or random=5, bits=8"
        )
    if bits is None:
        raise InputError("random is a Python integer without a width", hint=f"write random={random}, bits=8")
    if not 0 <= random < 1 << bits:
        raise InputError(f"random={random} does not fit {bits} bits: it must be 0 to {(1 << bits) - 1}")
    return random, bits


def discarded_fraction(fmt: FloatFormat, exact: Fraction | None) -> Fraction:
    """Return the part of the last place that rounding toward zero discards, as if the exponent had no upper limit."""
    if not exact:
        return Fraction(0)
    unit = max(floor_exponent(exact), fmt.emin) - fmt.mantissa_bits
    return abs(exact) / Fraction(2) ** unit % 1


def explained_stochastically(
    given: GivenNumber,
    fmt: FloatFormat,
    profile: Profile,
    random: Any,
    bits: int | None,
    heading: str,
    rows: tuple[tuple[str, str], ...],
) -> StochasticExplanation:
    """Return the explanation of one stochastic rounding. Raises InputError for wrong random bits, Unsupported for a
    profile that rounds in several steps.
    """
    number, width = random_and_width(random, bits)
    fraction = discarded_fraction(fmt, given.exact)
    ulp = None if given.exact is None else ulp_at(fmt, given.exact)

    def draw(value: int, size: int) -> CodeAndFlags:
        if given.draw is None:
            return given.round(fmt, scalar.RZ, profile)
        return given.draw(fmt, profile, (value, size))

    rounded = partial(_rounded_number, fmt, given.exact, ulp)
    policy = profile.conversions
    integer = _INTEGERS[policy.stochastic][1]

    def decided(number: int) -> CodeAndFlags:
        """Return the result for random bits that the rule counts as ``number``. Larger numbers round away from zero."""
        return draw(policy.stochastic_rule.taken(number, enough), enough)

    enough = fraction.denominator.bit_length() + 1
    toward, away = decided(0), decided((1 << enough) - 1)
    if given.code is not None:
        fraction = Fraction(0)
    elif toward.code != away.code:
        # The claimed fraction is checked where the specification changes its result. Flags may change elsewhere: the
        # same bits, one place further down, decide whether a result is tiny.
        first = (1 << enough) - integer(fraction * (1 << enough))
        if not fraction or decided(first).code != away.code or decided(first - 1).code != toward.code:
            raise Unsupported(
                f"stochastic rounding under profile {profile.name} is not explained: it rounds this number "
                "several times",
                hint='use profile="spec"',
            )
    probability = fraction if width is None else Fraction(integer(fraction * (1 << width)), 1 << width)
    result = rounded(toward) if toward.code == away.code else None
    if number is not None and width is not None:
        result = rounded(draw(number, width))
    return StochasticExplanation(
        heading, rows, given.exact, fmt, profile, fraction, rounded(toward), rounded(away), width, number, probability,
        result,
    )  # fmt: skip
