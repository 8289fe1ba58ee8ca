"""Which of two results is nearer to the truth: to what exact real arithmetic gives for the same numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf, isfinite

import numpy as np
from flint import arb

from halfulp.conformance.comparing.op_case import OpCase
from halfulp.conformance.comparing.refinement import Mismatch
from halfulp.fp_formats.codes import codes_to_ints
from halfulp.fp_formats.formats import FloatFormat
from halfulp.fp_formats.reals.enclosing import bits_of_precision
from halfulp.fp_formats.ulps import ulp_of_float
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.errors import HalfulpError
from halfulp.interp.run.attribution import Attribution, value_of
from halfulp.interp.run.lineage import Lineage
from halfulp.interp.values.value import Value
from halfulp.semantics.ball_rules import BALLS
from halfulp.semantics.meanings import Computes
from halfulp.semantics.profile import SPEC, Profile

_BITS = 512
"""Bits of the balls of ops: of more cancellation than they hold, the exact number is not known."""
_MOST_BITS = 8192
"""Bits for differences from an exact number: at least those of its ball."""


@dataclass(frozen=True)
class Truth:
    """The exact number beside two results. ``exact``: the f64 next to it. ``expected``, ``got``: the distance of each
    result from it in ulp of the exact number; infinite for a result that is no finite number. ``nearer``: which of them
    is nearer, "" if neither is.
    """

    exact: float
    expected: float
    got: float
    nearer: str

    def text(self, expected: str, got: str) -> str:
        """Say which result is nearer. ``expected``, ``got``: their names."""
        return f"exactly {self.exact:.17g}; {self.distances(expected, got)}"

    def distances(self, expected: str, got: str) -> str:
        """Say how far both results are from the exact number, and which is nearer."""
        names = {"expected": expected, "got": got, "": "neither"}
        texts = [ulps_text(self.expected), ulps_text(self.got)]
        if self.nearer and texts[0] == texts[1]:
            texts = [ulps_text(size, 17) for size in (self.expected, self.got)]
        sizes = f"{expected} {texts[0]}, {got} {texts[1]}"
        return f"from the exact number: {sizes}; {names[self.nearer]} is nearer"


def record_of(truth: Truth | None) -> dict[str, object] | None:
    """Return the fields for JSON, which has no infinities; None for none."""
    if truth is None:
        return None
    sizes = {"expected": truth.expected, "got": truth.got}
    return {
        "exact": truth.exact,
        "ulps": {name: size if isfinite(size) else None for name, size in sizes.items()},
        "nearer": truth.nearer or None,
    }


def ulps_text(size: float, digits: int = 3) -> str:
    """Spell a distance."""
    return f"{size:.{digits}g} ulp" if isfinite(size) else "no finite number"


def truth_of_op(case: OpCase, mismatch: Mismatch, profile: Profile = SPEC) -> Truth | None:
    """Return the truth about one element of an op; None where the op has no exact number, or it is not known."""
    try:
        meaning = case.kernel((), profile).real
    except HalfulpError:
        return None
    if (
        not isinstance(meaning, Computes)
        or meaning.rule not in BALLS
        or len(meaning.operands) != len(mismatch.operands)
        or not isinstance(meaning.result, FloatFormat)
    ):
        return None
    with bits_of_precision(_BITS):
        operands = (value_of(kind, code) for kind, code in zip(meaning.operands, mismatch.operands, strict=True))
        return _truth(BALLS[meaning.rule](*operands), meaning.result, mismatch)


def truth_of_run(lineage: Lineage, outputs: Sequence[Value], mismatch: Mismatch) -> Truth | None:
    """Return the truth about one element of what a run gave; None where it is no float, or nothing is known of it.

    ``outputs``: the outputs of the run that gave the expected result, with the ids of ``lineage``. The element may lack
    axes of size 1 that an output begins with.
    """
    value = outputs[mismatch.result]
    place = (0,) * (len(value.shape) - len(mismatch.element)) + mismatch.element
    exact = exact_number(lineage, value, place)
    return None if exact is None else _truth(exact, value.element_type.format, mismatch)  # type: ignore[attr-defined]


def exact_number(lineage: Lineage, value: Value, place: tuple[int, ...]) -> arb | None:
    """Return a ball with the exact number of one element of what a run gave, with the ids of ``lineage``; None where it
    is no float, or nothing is known of it.
    """
    element = value.element_type
    if not isinstance(element, ty.FloatType):
        return None
    code = codes_to_ints(np.asarray(value.bits[place]), ty.width_of(element))[0]
    try:
        found = Attribution(lineage, 0 if value.open is None else int(value.open[place]), element, code)
    except HalfulpError:  # a history that is too long
        return None
    if found.end is not None:
        exact = found.end.exact
    elif found.is_unknown:
        return None
    else:
        exact = value_of(element.format, code)
    return exact if exact.is_finite() else None


def distance_of(exact: arb, number: float) -> float:
    """Return an exact number less another one."""
    with bits_of_precision(_MOST_BITS):
        return float((exact - number).mid())


def _truth(exact: arb, fmt: FloatFormat, mismatch: Mismatch) -> Truth | None:
    """Judge the two results by a ball that holds the exact number; None if that is too wide to tell, or both are it."""
    if not exact.is_finite():
        return None
    with bits_of_precision(_MOST_BITS):
        return _judged(exact, fmt, mismatch)


def _judged(exact: arb, fmt: FloatFormat, mismatch: Mismatch) -> Truth | None:
    number = float(exact.mid())
    ulp = ulp_of_float(fmt, number)
    if not float(exact.rad()) < ulp / 1024:
        return None
    expected, got = (_distance(exact, fmt, code) for code in (mismatch.expected, mismatch.actual))
    if expected == 0 and got == 0:  # zeros of two signs, or two codes of one number
        return None
    nearer = "expected" if expected < got else "got" if got < expected else ""
    from_expected, from_got = (float(each.mid()) / ulp if each.is_finite() else inf for each in (expected, got))
    return Truth(number, from_expected, from_got, nearer)


def _distance(exact: arb, fmt: FloatFormat, code: int | None) -> arb:
    value = arb.nan() if code is None else value_of(fmt, code)
    return abs(exact - value) if value.is_finite() else arb.pos_inf()
