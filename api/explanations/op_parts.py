"""The input of an op's explanation, and the parts that it adds to the result."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from halfulp.explanations.application import Application
from halfulp.explanations.records import ExplanationStep, GivenOperand
from halfulp.explanations.roundable import GivenNumber
from halfulp.explanations.rounding import RoundingExplanation, explained
from halfulp.explanations.special_operands import RNE, Compute, rounded_operation
from halfulp.fp_formats.formats import FORMATS, FloatFormat
from halfulp.fp_formats.policy import Rounding
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.types import width_of
from halfulp.number_reader import MODES
from halfulp.semantics.kernel import Fault
from halfulp.semantics.profile import SPEC, Profile

E8M0 = ty.FloatType(FORMATS["f8E8M0FNU"])


@dataclass(frozen=True)
class OpContext:
    """The input of an op's explanation."""

    application: Application
    operands: tuple[GivenOperand, ...]
    result: ty.Type
    mode: str
    profile: Profile
    properties: Mapping[str, Any]

    @property
    def format(self) -> FloatFormat:
        """Return the format of a float result."""
        assert isinstance(self.result, ty.FloatType)
        return self.result.format

    @property
    def fault(self) -> Fault | None:
        """Return why the result has no value in profile spec; None if it has one."""
        outcome = self.application.outcome(SPEC)
        return outcome if isinstance(outcome, Fault) else None

    @property
    def faults(self) -> tuple[Fault, ...]:
        """Return the faults that the op can have with these flags."""
        return self.application.kernel(RNE, SPEC).faults

    @property
    def modes(self) -> tuple[str, ...]:
        """Return the rounding modes that the op can have."""
        return tuple(MODES) if self.application.has_modes else ()


@dataclass(frozen=True)
class OpParts:
    """The parts that the explanation of an op adds to its result."""

    rule: str
    rounding: RoundingExplanation | None = None
    exact: Fraction | None = None
    steps: tuple[ExplanationStep, ...] = ()
    story: tuple[tuple[str, str], ...] = ()


Explainer = Callable[[OpContext], OpParts]


def parts_of_rounding(rounding: RoundingExplanation, steps: tuple[ExplanationStep, ...] = ()) -> OpParts:
    """Return the parts of an op whose result is one rounding."""
    return OpParts(rounding.rule, rounding, None if steps else rounding.exact, steps)


def integer_range(stored: ty.Type, signed: bool) -> tuple[int, int]:
    """Return the least and the greatest integer of a type."""
    width = width_of(stored)
    return (-(1 << width >> 1), (1 << width >> 1) - 1) if signed and width else (0, (1 << width) - 1)


def whole_number(number: Fraction, mode: Rounding) -> int:
    """Round a number to an integer."""
    numerator, denominator = abs(number.numerator), number.denominator
    kept, rest = divmod(numerator, denominator)
    up = {
        Rounding.TO_NEAREST_EVEN: 2 * rest > denominator - (kept & 1),
        Rounding.TO_NEAREST_AWAY: 2 * rest >= denominator,
        Rounding.TOWARD_ZERO: False,
        Rounding.UPWARD: rest > 0 < number,
        Rounding.DOWNWARD: rest > 0 > number,
    }[mode]
    return (-1 if number < 0 else 1) * (kept + (up and rest > 0))


class StepList:
    """The steps of an op, each under the profile. After a poison step there is nothing to compute."""

    def __init__(self, profile: Profile) -> None:
        self.profile = profile
        self.steps: list[ExplanationStep] = []

    def take(self, title: str, formula: str, explanation: RoundingExplanation) -> GivenOperand:
        """Note a rounded step, and return its result as an operand of the next step."""
        type_, result = ty.FloatType(explanation.format), explanation.result
        rule = explanation.rule + (f"; {explanation.profile_rule}" if explanation.profile_rule else "")
        self.steps.append(ExplanationStep(title, formula, type_, result.code, rule, explanation))
        return GivenOperand(title, type_, result.code, result.value)

    def note(self, title: str, formula: str, type_: ty.Type, code: int | None, rule: str) -> None:
        """Note a step that does not round to a float."""
        self.steps.append(ExplanationStep(title, formula, type_, code, rule))

    def convert(
        self, title: str, x: GivenOperand, fmt: FloatFormat, compute: Compute, mode: str = "to_nearest_even"
    ) -> GivenOperand:
        """Note a conversion."""
        given = GivenNumber(x.short, f"of type {x.type}", x.value, x.negative, x.infinite, compute, bare=x.bare)
        return self.take(title, x.short, explained(given, fmt, mode, self.profile, (), others=False))

    def operate(self, title: str, operation: str, x: GivenOperand, y: GivenOperand, compute: Compute) -> GivenOperand:
        """Note an operation that rounds to nearest even."""
        given, rule = rounded_operation(operation, x, y, compute, RNE)
        explanation = explained(given, x.format, "to_nearest_even", self.profile, (), rule, others=False)
        return self.take(title, given.text, explanation)


def last_rounding(context: OpContext, steps: tuple[ExplanationStep, ...]) -> OpParts:
    """Explain the last step, with the results of the whole op in other modes and profiles."""
    last = steps[-1].explanation
    assert last is not None
    whole = GivenNumber(last.given, last.reading, last.exact, False, False, context.application)
    op = explained(whole, last.format, context.mode, context.profile, context.modes, last.rule)
    return OpParts(last.rule, op, None, steps)
