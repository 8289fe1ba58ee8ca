"""Which ops have a meaning on real numbers: all ops on elements whose results are floats, except complex numbers."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

import pytest

from halfulp.conformance.comparing.op_case import OpCase, op_case
from halfulp.interp.declare.registry import default_registry
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.errors import HalfulpError
from halfulp.interp.run.evaluators import Elementwise
from halfulp.interp.run.settings import Settings
from halfulp.semantics.ball_rules import BALLS
from halfulp.semantics.judging import STEPS
from halfulp.semantics.kernel import Computes, Reinterprets
from halfulp.semantics.profile import SPEC
from halfulp.semantics.shadows import RULES

QUANTIZED = "!quant.uniform<i8:f32, 0.5:3>"
OPERANDS = ("f32", "i32", "f8E8M0FNU", QUANTIZED)
RESULTS = (None, "f16", "bf16", "f64", QUANTIZED)


def cases(name: str) -> Iterator[OpCase]:
    """Yield the cases of an op, those that it accepts."""
    for count in (1, 2, 3):
        for types, to in product(product(OPERANDS, repeat=count), RESULTS):
            try:
                yield op_case(name, list(types), to)
            except (HalfulpError, ValueError):
                continue


def names() -> list[str]:
    """Return the ops of arith, math and quant that work on elements."""
    registry = default_registry()
    found = [name for dialect in ("arith", "math", "quant") for name in registry.dialects[dialect].ops]
    return [name for name in found if isinstance(registry.require(name).evaluate, Elementwise)]


@pytest.mark.long
@pytest.mark.parametrize("name", names())
def test_every_float_has_a_meaning(name: str) -> None:
    for case in cases(name):
        evaluator = case.definition.evaluate
        assert isinstance(evaluator, Elementwise)
        kernel = evaluator.build(case.operation((1,)), Settings(SPEC))
        for number, type_ in enumerate(case.result_types):
            if isinstance(type_, ty.IntegerType | ty.IndexType):
                continue
            meaning = kernel.meaning(number)
            assert isinstance(meaning, Computes | Reinterprets), str(case)
            if isinstance(meaning, Computes):
                assert meaning.rule in BALLS, str(case)
                assert meaning.rule in RULES or meaning.rule in STEPS, str(case)
