"""Two decisions about two versions of a function: by the solver, and by a run of every input."""

from __future__ import annotations

from functools import partial

import pytest

import halfulp as hu
from halfulp.conformance.proving.proof import Proof, Version, prove
from halfulp.conformance.whole_programs.arguments import generated, one_input
from halfulp.conformance.whole_programs.validation import ValidationReport, validate
from halfulp.interp.ir.operations import argument_types
from halfulp.interp.run.settings import Settings
from halfulp.interp.values.value import Value

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
