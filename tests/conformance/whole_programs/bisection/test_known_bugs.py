"""Known bugs of mlir-opt 22 are found again by name: bisection names the pass that makes each."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from named_programs import ALL, PIPELINES, closed, example, example_of_two
from present import present

import halfulp as hu
from halfulp.conformance.comparing.divergences import in_range
from halfulp.conformance.whole_programs.bisection.bisect import Judgement
from halfulp.interp.ir.operations import Module

pytestmark = pytest.mark.mlir


def _programs() -> Iterator[Any]:
    """Yield each row of MLIR 22 and pass, the program, its arguments, and pipelines of which one makes the wrong bits."""
    for row in ALL[0]:
        if not in_range("22", row.versions):
            continue
        for pattern in row.passes:
            if (row.name, pattern) == ("negative f8E8M0FNU", "*"):
                continue  # MLIR prints the folded number as a negative literal, which halfulp does not read
            module, arguments = example(row)
            if pattern == "*":
                module, arguments = closed(module, "eval", arguments).module, ()
            yield pytest.param(row.name, module, arguments, pattern, id=f"{row.name}, {pattern}")
    for pair in ALL[1]:
        for pattern in pair.passes:
            yield pytest.param(pair.name, *example_of_two(pair), pattern, id=f"{pair.name}, {pattern}")


@pytest.mark.parametrize(("name", "module", "arguments", "pattern"), list(_programs()))
def test_a_row_is_named_at_the_stage_of_its_pass(
    name: str, module: Module, arguments: tuple[Any, ...], pattern: str
) -> None:
    met = []
    for passes in PIPELINES[pattern]:
        found = hu.bisect(module, *arguments, pipeline=f"builtin.module(symbol-dce,{passes},symbol-dce)")
        assert found.guilty is None
        met += [one for one in found.results if one.judgement is Judgement.KNOWN and name in one.ground]
        assert all(one.judgement in (Judgement.KNOWN, Judgement.IDENTICAL) for one in met)
    assert met
    assert {one.stage.argument for one in met} <= {"arith-expand", *PIPELINES, "sccp"}


CEIL = """
func.func @f(%x: f32) -> f32 {
  %r = math.ceil %x : f32
  return %r : f32
}"""
QCAST = """
!q = !quant.uniform<i8:f32, 1.0>
func.func @f(%x: f32) -> i8 {
  %0 = quant.qcast %x : f32 to !q
  %r = quant.scast %0 : !q to i8
  return %r : i8
}"""


@pytest.mark.parametrize(
    ("text", "argument", "passes", "before", "after"),
    [
        # llvm/llvm-project issue 218111: the sign of a zero is lost.
        (CEIL, -0.5, "math-expand-ops", 0x80000000, 0x00000000),
        # Its lowering ends with arith.fptosi, which rounds toward zero.
        (QCAST, 2.75, "lower-quant-ops", 3, 2),
    ],
)
def test_public_reports(text: str, argument: float, passes: str, before: int, after: int) -> None:
    pipeline = f"builtin.module(canonicalize,func.func({passes}),cse)"
    found = hu.bisect(text, np.float32(argument), pipeline=pipeline)
    wrong = next(one for one in found.results if one.judgement in (Judgement.KNOWN, Judgement.DIFFERENT))
    assert wrong.stage.argument == passes
    assert wrong.comparison is not None
    mismatch = present(wrong.comparison.examples[0][1].mismatch)
    assert (mismatch.expected, mismatch.actual) == (before, after)
