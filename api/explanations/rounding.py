"""Explain one bit pattern: one rounding, step by step.

`explained` computes nothing itself: every result comes from `halfulp.fp_formats.scalar`, the specification. Here the
exact value stands beside its two neighbours in the format, with the deciding rule in words.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction

from halfulp.explanations.by_profile import profile_groups, profile_rule
from halfulp.explanations.html import rounding_html
from halfulp.explanations.records import ExplainedRounding, RoundedNumber
from halfulp.explanations.roundable import Found, GivenNumber
from halfulp.explanations.rules import infinity_rule, nan_rule, rounding_rule, rule_as_read
from halfulp.fp_formats import scalar
from halfulp.fp_formats.formats import FloatFormat
from halfulp.fp_formats.neighbours import midpoint_of, neighbours
from halfulp.fp_formats.policy import Rounding
from halfulp.fp_formats.spelling import hex_text
from halfulp.fp_formats.steps import ulp_at
from halfulp.number_reader import MODES, READ_AS_F64
from halfulp.semantics.profile import SPEC, Profile


@dataclass(frozen=True, repr=False)
class RoundingExplanation(ExplainedRounding):
    """One explained rounding: print it, or show it in a notebook, with bits and a number line."""

    def _repr_html_(self) -> str:
        return rounding_html(self)


def explained(
    given: GivenNumber,
    fmt: FloatFormat,
    rounding: str,
    profile: Profile,
    modes: Iterable[str],
    rule: str | None = None,
    others: bool = True,
) -> RoundingExplanation:
    """Explain one rounding. ``modes``: those to list. ``others``: list the other profiles too.

    ``rule``: for a result that is not the rounded exact value, the rule that gave it.
    """
    mode = MODES[rounding]
    place = neighbours(fmt, given.exact)
    ulp = None if given.exact is None else ulp_at(fmt, given.exact)

    def rounded(found: Found) -> RoundedNumber:
        if found.code is None:
            return RoundedNumber(None, None, found.flags, None)
        value = scalar.value(fmt, found.code)
        if value is None or given.exact is None or ulp is None:
            return RoundedNumber(found.code, value, found.flags, None)
        error = value - given.exact
        relative = error / abs(given.exact) if given.exact else None
        return RoundedNumber(found.code, value, found.flags, error / ulp, relative)

    by_mode = {name: given.round(fmt, MODES[name], profile) for name in modes if given.code is None}
    result = by_mode[rounding] if rounding in by_mode else given.round(fmt, mode, profile)
    spec = result if profile is SPEC else given.round(fmt, mode, SPEC)
    midpoint = None
    if given.exact is not None and ulp is not None and not place.exact:
        midpoint = midpoint_of(fmt, place, ulp)
    if rule is None:
        rule = _rule(fmt, given, mode, spec, midpoint)

    def compute(other: Profile) -> Found:
        return given.round(fmt, mode, other)

    return RoundingExplanation(
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
        given.infinite,
        given.enclosure,
        given.reason,
    )


def _rule(fmt: FloatFormat, given: GivenNumber, mode: Rounding, spec: Found, midpoint: Fraction | None) -> str:
    if given.code is not None:
        return "a bit pattern is not rounded"
    if given.exact is not None:
        rule = rounding_rule(fmt, given.exact, not given.exact and given.negative, mode, spec.code, midpoint)
    else:
        rule = infinity_rule(fmt, given.negative) if given.infinite else nan_rule(fmt, given.bare)
    return rule_as_read(rule, given.exact) if given.reading == READ_AS_F64 else rule
