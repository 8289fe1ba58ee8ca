"""The accuracy of whole programs: against fractions, and with an implementation whose errors are planted."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np
import pytest
from tree import ROOT

import halfulp as hu
from halfulp.conformance.accuracy.programs import exact_results, measured_programs
from halfulp.conformance.oracles.oracle import Answer, ClosedProgram, Reply, Status, Unanswered

SUM = """func.func @f(%x: tensor<4xf16>, %n: i32) -> (i32, tensor<4xf16>) {
  %0 = arith.addf %x, %x : tensor<4xf16>
  %1 = arith.addf %0, %x : tensor<4xf16>
  %2 = arith.addf %1, %x : tensor<4xf16>
  %3 = arith.addf %2, %x : tensor<4xf16>
  return %n, %3 : i32, tensor<4xf16>
}"""


class Planted:
    """Gives the results of halfulp, with some added to the codes of the second one, and others left out."""

    name, version = "planted", "1"

    def __init__(self, steps: Sequence[int], missing: int = -1) -> None:
        self.steps, self.missing = np.array(steps, np.uint16), missing

    def run(self, programs: Sequence[ClosedProgram]) -> list[Reply]:
        """Return the results; see the class."""
        found: list[Reply] = []
        for number, program in enumerate(programs):
            if number == self.missing:
                found.append(Unanswered("it is tired"))
                continue
            first, second = hu.run(program.module, *program.arguments)
            status = np.zeros(second.shape, np.uint8)
            status[3] = Status.POISON
            found.append((Answer(first.bits), Answer(second.bits + self.steps, status)))
        return found


def closed(*rows: Sequence[float]) -> list[ClosedProgram]:
    module = hu.parse(SUM)
    return [ClosedProgram(module, "f", (hu.convert(list(row), "f16"), hu.convert(3, "i32"))) for row in rows]


def errors_of(row: Sequence[float], steps: Sequence[int] = (0, 0, 0, 0)) -> list[float]:
    """Return the error of 5 x in ulp, of what f16 gives, so many steps of its format off, by fractions."""
    found = []
    for number, step in zip(row, steps, strict=True):
        x = np.float16(number)
        total = np.float16(0)
        for _ in range(5):
            total = np.float16(total + x)
        given = (np.array(total).view(np.uint16) + np.uint16(step)).view(np.float16)
        exact = 5 * Fraction(float(x))
        ulp = Fraction(2) ** (int(np.floor(np.log2(float(exact)))) - 10)
        found.append(float(abs(Fraction(float(given)) - exact) / ulp))
    return found


def test_errors_are_those_of_fractions() -> None:
    rows = [(0.1, 0.2, 0.3, 0.7), (1.1, 2.3, 3.3, 1.0)]
    steps = (0, 1, 3, 9)
    found = measured_programs(closed(*rows), [Planted(steps)])  # type: ignore[list-item]
    ours, planted = found.runs
    right = [size for row in rows for size in errors_of(row)]
    assert (ours.elements, ours.special, ours.unanswered) == (8, 0, 0)
    assert ours.nearest == sum(size <= 0.5 for size in right)
    assert ours.max_ulp == max(right)
    assert ours.mean_ulp == pytest.approx(sum(right) / 8)
    assert ours.histogram.sum() == 8
    wrong = [size for row in rows for size in errors_of(row, steps)[:3]]
    assert (planted.elements, planted.unanswered) == (6, 2)
    assert planted.max_ulp == max(wrong)
    assert planted.mean_ulp == pytest.approx(sum(wrong) / 6)
    assert planted.worst is not None
    at = wrong.index(max(wrong))
    assert planted.worst == (at // 3, 1, (at % 3,))


def test_what_has_no_answer_is_counted() -> None:
    found = measured_programs(closed((1, 2, 3, 4), (1, 2, 3, 4)), [Planted((0, 0, 0, 0), missing=1)])  # type: ignore[list-item]
    run = found.runs[1]
    assert (run.elements, run.unanswered, run.why) == (3, 5, "it is tired")
    assert "planted: 5 elements without an answer: it is tired" in repr(found)


def test_infinities_and_unknown_numbers_are_no_errors_of_0() -> None:
    found = measured_programs(closed((60000, np.inf, np.nan, 1)), [])
    (ours,) = found.runs
    assert (ours.elements, ours.special) == (1, 1)  # 300,000 is no f16
    assert found.unknown == 2
    assert "halfulp: 1 infinities and NaNs for finite numbers" in repr(found)
    assert not found.within(1.0)


def test_numbers_that_their_shadow_does_not_know_come_from_their_history() -> None:
    """x - x + x - x ... of 40 terms near 1e300 and one small one: far more bits than two f64 have."""
    text = """func.func @f(%a: f64, %b: f64) -> f64 {
      %0 = arith.mulf %a, %a : f64
      %1 = arith.mulf %b, %b : f64
      %2 = arith.mulf %0, %0 : f64
      %3 = arith.mulf %1, %1 : f64
      %4 = arith.mulf %2, %2 : f64
      %5 = arith.mulf %3, %3 : f64
      %6 = arith.subf %4, %5 : f64
      return %6 : f64
    }"""
    a, b = 1 + 2.0**-52, 1.0
    module = hu.parse(text)
    (exact,) = exact_results(ClosedProgram(module, "f", (hu.convert(a, "f64"), hu.convert(b, "f64")))) or []
    truth = Fraction(a) ** 8 - Fraction(b) ** 8
    assert abs(Fraction(float(exact.numbers.high)) + Fraction(float(exact.numbers.low)) - truth) <= abs(truth) / 2**100


@pytest.mark.mlir
def test_mlir_runner_has_other_errors_than_we_where_its_functions_are_not_correctly_rounded() -> None:
    found = hu.program_accuracy(str(ROOT / "examples" / "attention.mlir"), against=["mlir-runner"], n=4)
    ours, theirs = found.runs
    assert theirs.elements == ours.elements == 128
    assert theirs.max_ulp > 0
