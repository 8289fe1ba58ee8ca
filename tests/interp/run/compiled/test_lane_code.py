"""Batches by machine code give what the executor gives; the lanes that stop there are run by the executor."""

from typing import Any

import numpy as np
import pytest

import halfulp as hu
from halfulp.fp_formats.paths import llvm
from halfulp.interp.run.compiled import program

pytest.importorskip("llvmlite", reason="llvmlite is not installed")

GCD = """func.func @gcd(%a: i32, %b: i32) -> (i32, f32) {
  %zero = arith.constant 0 : i32
  %r:2 = scf.while (%x = %a, %y = %b) : (i32, i32) -> (i32, i32) {
    %c = arith.cmpi ne, %y, %zero : i32
    scf.condition(%c) %x, %y : i32, i32
  } do {
  ^bb0(%x: i32, %y: i32):
    %m = arith.remui %x, %y : i32
    scf.yield %y, %m : i32, i32
  }
  %f = arith.sitofp %r#0 : i32 to f32
  return %r#0, %f : i32, f32
}"""
DIVISION = """func.func @f(%a: i32, %b: i32) -> i32 {
  %s = arith.addi %a, %b overflow<nsw> : i32
  %q = arith.divsi %a, %b : i32
  %x = arith.xori %s, %q : i32
  return %x : i32
}"""


@pytest.fixture(autouse=True)
def stopped(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The count of lanes that stopped in each batch by machine code."""
    counts: list[int] = []
    original = program.LaneCode.run

    def counting(code: program.LaneCode, arguments: Any, lanes: int) -> Any:
        found = original(code, arguments, lanes)
        counts.append(int(np.count_nonzero(found[1])))
        return found

    monkeypatch.setattr(program.LaneCode, "run", counting)
    return counts


def outcomes(text: str, *arguments: Any, **options: Any) -> list[Any]:
    """Return what NumPy and machine code give: results with their poison, or an error with its lanes."""
    found: list[Any] = []
    for backend in ("numpy", "llvm"):
        llvm.use(backend)
        try:
            values = hu.run(hu.parse(text), *arguments, batch=True, **options)
            found.append(
                (values, [[str(value.origin(k)) for k in np.flatnonzero(value.poisoned).tolist()] for value in values])
            )
        except hu.HalfulpError as error:
            found.append((type(error), str(error), np.asarray(error.lanes).tolist()))
    return found


def test_lanes_that_part(stopped: list[int]) -> None:
    a, b = np.random.default_rng(1).integers(0, 2**31 - 1, (2, 500)).astype(np.int32)
    first, second = outcomes(GCD, a, b)
    assert first == second
    assert first[0][0].numpy().tolist() == np.gcd(a, b).tolist()
    assert stopped == [0]


def test_an_argument_for_all_lanes(stopped: list[int]) -> None:
    first, second = outcomes(GCD, np.arange(100, dtype=np.int32), 36)
    assert first == second
    assert stopped == [0]


def test_lanes_with_poison(stopped: list[int]) -> None:
    a = np.array([1, 2**31 - 1, 5, 2**31 - 1, 7], np.int32)
    first, second = outcomes(DIVISION, a, np.array([1, 1, 2, 3, 4], np.int32))
    assert first == second
    assert first[0][0].poisoned.tolist() == [False, True, False, True, False]
    assert stopped == [2]


def test_lanes_with_errors(stopped: list[int]) -> None:
    first, second = outcomes(DIVISION, np.arange(6, dtype=np.int32), np.array([1, 0, 2, 0, 3, 0], np.int32))
    assert first == second
    assert first[0] is hu.UndefinedBehavior
    assert first[2] == [1, 3, 5]


def test_endless_lanes(stopped: list[int]) -> None:
    text = """func.func @f(%a: i1) -> i1 {
      cf.br ^loop
    ^loop:
      cf.cond_br %a, ^loop, ^end
    ^end:
      return %a : i1
    }"""
    first, second = outcomes(text, np.array([False, True, False, True]), max_steps=1000)
    assert first == second
    assert issubclass(first[0], hu.errors.LimitExceeded)


def test_small_batches_wait(stopped: list[int]) -> None:
    llvm.use("auto")
    module = hu.parse(GCD)
    lanes = np.arange(1 << 14, dtype=np.int32)
    for _ in range(3):
        hu.run(module, lanes, lanes, batch=True)
    assert not stopped
    hu.run(module, lanes, lanes, batch=True)
    assert stopped == [0]
