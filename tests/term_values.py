"""Compare the terms of a function, with numbers in place of their variables, with what the executor gives."""

from collections.abc import Iterable, Sequence
from functools import partial
from typing import Any

import pytest

import halfulp as hu
from halfulp.conformance.proving.proof import Proof, Version, prove
from halfulp.conformance.proving.solving import Condition, Deadline, Scalar, bit
from halfulp.conformance.proving.walk import Behaviour, behaviour
from halfulp.conformance.whole_programs.arguments import generated, one_input
from halfulp.conformance.whole_programs.validation import ValidationReport, validate
from halfulp.fp_formats.formats import codes_to_ints, ints_to_codes
from halfulp.interp.ir.errors import AssertionFailed, UndefinedBehavior
from halfulp.interp.ir.operations import argument_types, result_types
from halfulp.interp.ir.types import element_width
from halfulp.interp.run.program import program_for
from halfulp.interp.run.settings import Settings
from halfulp.interp.values.value import Value

z3: Any = pytest.importorskip("z3", reason="the extra `prove` is not installed")

Outcome = tuple[int | str, ...] | str
"""The codes of the results, in which "poison" may stand, or "undefined"."""


class Function:
    """A function of scalars, once as terms, once to be run."""

    def __init__(self, text: str, settings: Settings | None = None) -> None:
        self.settings = settings or Settings()
        self.module = hu.parse(text)
        self.op = next(op for op in self.module.body if op.symbol_name == "f")
        self.types = argument_types(self.op)
        self.widths = [element_width(type_) or 0 for type_ in self.types]
        widths = [self.settings.width(type_) for type_ in self.types]
        self.variables = [z3.BitVec(f"x{k}", width) if width else z3.BitVecVal(0, 1) for k, width in enumerate(widths)]
        elements = [(Scalar(variable),) for variable in self.variables]
        self.behaviour: Behaviour = behaviour(self.module, self.op, elements, self.settings, Deadline(60))
        self.scalars = [scalar for elements in self.behaviour.results for scalar in elements]
        conditions: list[Condition] = [self.behaviour.undefined, *(scalar.poison for scalar in self.scalars)]
        self._packed = z3.Concat(*map(bit, conditions), *(scalar.bits for scalar in self.scalars))
        self._program = program_for(self.module, self.settings)

    def by_terms(self, codes: Sequence[int]) -> Outcome:
        """Return the outcome that the terms give for arguments of these codes."""
        pairs = [(v, z3.BitVecVal(code, v.size())) for v, code in zip(self.variables, codes, strict=True)]
        packed = z3.simplify(z3.substitute(self._packed, *pairs)).as_long()
        results: list[int | str] = []
        for scalar in reversed(self.scalars):
            packed, code = divmod(packed, 1 << scalar.width)
            results.append(code)
        for index in range(len(results)):
            packed, poison = divmod(packed, 2)
            results[index] = "poison" if poison else results[index]
        return "undefined" if packed else tuple(reversed(results))

    def by_executor(self, codes: Sequence[int]) -> Outcome:
        """Return the outcome of a run."""
        arguments = [
            Value(type_, ints_to_codes([code], width, ()))
            for type_, width, code in zip(self.types, self.widths, codes, strict=True)
        ]
        try:
            values = self._program.run(self.op, arguments)
        except (UndefinedBehavior, AssertionFailed):
            return "undefined"
        results: list[int | str] = []
        for value, type_ in zip(values, result_types(self.op), strict=True):
            width = self.settings.width(type_) if not value.shape else element_width(value.element_type) or 0
            flat = codes_to_ints(value.bits, width)
            poisoned = value.poisoned.reshape(-1)
            results += ["poison" if lost else code for code, lost in zip(flat, poisoned, strict=True)]
        return tuple(results)

    def disagreements(self, inputs: Iterable[Sequence[int]]) -> list[tuple[Sequence[int], Outcome, Outcome]]:
        """Return the inputs for which terms and executor disagree, with both outcomes."""
        found = []
        for codes in inputs:
            terms, run = self.by_terms(codes), self.by_executor(codes)
            if terms != run:
                found.append((codes, terms, run))
        return found


# --- proofs -----------------------------------------------------------------------------------------------------------
#
# Two decisions about two versions of a function: by the solver, and by a run of every input.

pytest.importorskip("z3", reason="the extra `prove` is not installed")


def proof_and_run(before: str, after: str) -> tuple[Proof, ValidationReport]:
    """Return the decision of the solver, and the report of a run of every input, for the only functions of two texts."""
    one, two = hu.parse(before), hu.parse(after)
    first, second = (one, one.body[0]), (two, two.body[0])
    run = validate(first, second, generated(argument_types(one.body[0]), 1), Settings())
    assert run.exhaustive
    return prove(first, second, Settings(), 60, partial(_confirmed, first, second)), run


def _confirmed(before: Version, after: Version, values: tuple[Value, ...]) -> ValidationReport:
    return validate(before, after, one_input(values, [value.type for value in values]), Settings())
