"""Large batches in blocks beside one run with all lanes."""

from typing import Any

import numpy as np
import pytest

import halfulp as hu
from halfulp.fp_formats.formats import codes_to_ints
from halfulp.interp.ir.errors import OutOfSteps
from halfulp.interp.run.batch import program

pytestmark = pytest.mark.backend("numpy")

COUNT = 100
ALL = 1 << 30

# The lanes with a zero divisor divide by it in the first trip.
DIGITS = """func.func @main(%n: i32, %base: i32) -> (i32, f32) {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %start = arith.constant 0.5 : f32
  %r:3 = scf.while (%x = %n, %count = %zero, %f = %start) : (i32, i32, f32) -> (i32, i32, f32) {
    %c = arith.cmpi ne, %x, %zero : i32
    scf.condition(%c) %x, %count, %f : i32, i32, f32
  } do {
  ^body(%x: i32, %count: i32, %f: f32):
    %rest = arith.divui %x, %base : i32
    %more = arith.addi %count, %one : i32
    %g = arith.addf %f, %f : f32
    scf.yield %rest, %more, %g : i32, i32, f32
  }
  return %r#1, %r#2 : i32, f32
}
"""


@pytest.fixture
def blocks(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The number of blocks of each run that went in blocks: -1 where it gave no results."""
    seen: list[int] = []
    original = program.run_in_blocks

    def run_in_blocks(whole: Any, op: Any, arguments: Any, lanes: int) -> Any:
        results = original(whole, op, arguments, lanes)
        seen.append(-1 if results is None else -(-lanes // program.BLOCK))
        return results

    monkeypatch.setattr("halfulp.interp.run.batch.program.run_in_blocks", run_in_blocks)
    return seen


def both(monkeypatch: pytest.MonkeyPatch, text: str, *arguments: Any, **options: Any) -> Any:
    """Run in blocks of 7 lanes and with all at once, which must agree, and return the results or the error."""
    outcomes: list[Any] = []
    for size in (7, ALL):
        monkeypatch.setattr(program, "BLOCK", size)
        try:
            outcomes.append(hu.run(text, *arguments, batch=True, **options))
        except hu.HalfulpError as error:
            outcomes.append((type(error), str(error), getattr(error, "lanes", None)))
    first, second = outcomes
    if isinstance(first[0], type):
        assert first[:2] == second[:2]
        np.testing.assert_array_equal(first[2], second[2])
    else:
        assert first == second
    return first


def numbers(low: int = 0) -> Any:
    return np.random.default_rng(1).integers(low, 100_000, COUNT, np.int32)


def test_results(monkeypatch: pytest.MonkeyPatch, blocks: list[int]) -> None:
    n = numbers()
    count, power = both(monkeypatch, DIGITS, n, np.int32(10))
    digits = [len(str(k)) if k else 0 for k in n.tolist()]
    assert count.numpy().tolist() == digits
    assert power.numpy().tolist() == [0.5 * 2**k for k in digits]
    assert blocks == [15]


POWERS = {
    "i128": [1 << k for k in range(9)],
    "f80": [16383 + k << 64 | 1 << 63 for k in range(9)],
    "f128": [16383 + k << 112 for k in range(9)],
}
"""The codes of powers of two, from 1 on."""


@pytest.mark.parametrize("type_", POWERS)
def test_results_of_several_limbs(monkeypatch: pytest.MonkeyPatch, blocks: list[int], type_: str) -> None:
    """The third result is the same for all lanes."""
    one, op = ("1", "addi") if type_ == "i128" else ("1.0", "addf")
    text = f"""func.func @main(%n: i32) -> (i32, {type_}, {type_}) {{
  %zero = arith.constant 0 : i32
  %first = arith.constant {one} : {type_}
  %r:2 = scf.while (%i = %n, %x = %first) : (i32, {type_}) -> (i32, {type_}) {{
    %c = arith.cmpi ne, %i, %zero : i32
    scf.condition(%c) %i, %x : i32, {type_}
  }} do {{
  ^body(%i: i32, %x: {type_}):
    %down = arith.constant -1 : i32
    %j = arith.addi %i, %down : i32
    %y = arith.{op} %x, %x : {type_}
    scf.yield %j, %y : i32, {type_}
  }}
  return %r#0, %r#1, %first : i32, {type_}, {type_}
}}
"""
    _, power, first = both(monkeypatch, text, np.arange(COUNT, dtype=np.int32) % 9)
    assert codes_to_ints(power.bits, 128) == [POWERS[type_][k % 9] for k in range(COUNT)]
    assert codes_to_ints(first.bits, 128) == [POWERS[type_][0]] * COUNT
    assert blocks == [15]


def test_errors_name_all_lanes(monkeypatch: pytest.MonkeyPatch, blocks: list[int]) -> None:
    base = np.where(np.arange(COUNT) % 30 == 29, 0, 10).astype(np.int32)
    _, message, _ = both(monkeypatch, DIGITS, numbers(1), base)
    assert "division by zero" in message
    assert "lane 29; 3 of 100 lanes" in message
    assert blocks == [-1]


def test_poison(monkeypatch: pytest.MonkeyPatch, blocks: list[int]) -> None:
    text = DIGITS.replace("arith.addi %count, %one :", "arith.addi %count, %one overflow<nuw> :").replace(
        "%zero = arith.constant 0 : i32", "%zero = arith.constant 0 : i32\n  %last = arith.constant -1 : i32"
    )
    text = text.replace("%count = %zero", "%count = %last")
    count, _ = both(monkeypatch, text, numbers(1), np.int32(10))
    assert count.poisoned.all()
    assert count.origin(0).op == "arith.addi"
    assert blocks == [-1]


def test_steps(monkeypatch: pytest.MonkeyPatch, blocks: list[int]) -> None:
    """The limit is that of one run with all lanes: not the sum of all blocks, and not less."""
    n = numbers(1)
    few = 50  # enough for all at once
    assert not isinstance(both(monkeypatch, DIGITS, n, np.int32(10), max_steps=few)[0], type)
    assert both(monkeypatch, DIGITS, n, np.int32(10), max_steps=10)[0] is OutOfSteps
    assert blocks == [-1, -1]


def test_straight_lines_do_not_go_in_blocks(monkeypatch: pytest.MonkeyPatch, blocks: list[int]) -> None:
    text = "func.func @main(%x: i32) -> i32 {\n  %y = arith.addi %x, %x : i32\n  return %y : i32\n}\n"
    (found,) = both(monkeypatch, text, numbers())
    assert found.numpy().tolist() == (2 * numbers()).tolist()
    assert blocks == []


# --- lane by lane -----------------------------------------------------------------------------------------------------

LOOPS = """
func.func @main(%x: f32, %n: index, %m: memref<4xf32>) -> (f32, i32, f32) {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %four = arith.constant 4 : index
  %start = arith.constant 0.0 : f32
  %sum = affine.for %i = 0 to %n iter_args(%a = %start) -> f32 {
    %b = arith.addf %a, %x : f32
    affine.yield %b : f32
  }
  scf.parallel (%i) = (%zero) to (%four) step (%one) {
    %v = memref.load %m[%i] : memref<4xf32>
    %w = arith.addf %v, %x : f32
    memref.store %w, %m[%i] : memref<4xf32>
  }
  %chosen = scf.index_switch %n -> i32
  case 2 {
    %c = arith.constant 20 : i32
    scf.yield %c : i32
  }
  default {
    %c = arith.constant 0 : i32
    scf.yield %c : i32
  }
  %e = memref.load %m[%one] : memref<4xf32>
  return %sum, %chosen, %e : f32, i32, f32
}"""


def test_every_lane_has_its_own_results_and_memory() -> None:
    x, n = np.array([1, 2, 3], np.float32), np.array([1, 2, 3])
    memory = hu.Buffer.from_numpy(np.zeros((3, 4), np.float32))
    together = hu.run(LOOPS, x, n, memory, batch=True)
    for lane in range(3):
        alone = hu.run(LOOPS, x[lane], n[lane], np.zeros(4, np.float32))
        assert [value.bits[lane] for value in together] == [value.bits for value in alone]
    assert memory.numpy().tolist() == [[1] * 4, [2] * 4, [3] * 4]


def test_the_error_names_the_lanes() -> None:
    program = """
func.func @main(%x: i32) -> i32 {
  affine.for %i = 0 to 2 {
    %q = arith.divsi %x, %x : i32
  }
  return %x : i32
}"""
    with pytest.raises(hu.UndefinedBehavior, match=r"division by zero.*\(lane 1; 2 of 4 lanes\)") as caught:
        hu.run(program, np.array([1, 0, 3, 0], np.int32), batch=True)
    assert caught.value.lanes is not None
    assert caught.value.lanes.tolist() == [1, 3]


def test_the_error_names_only_lanes_that_fail_at_its_place() -> None:
    program = """
func.func @main(%m: memref<2xi32>, %n: index, %s: index) -> i32 {
  %c0 = arith.constant 0 : index
  %z = arith.constant 0 : i32
  %r = scf.parallel (%i) = (%c0) to (%n) step (%s) init (%z) -> i32 {
    %v = memref.load %m[%i] : memref<2xi32>
    scf.reduce(%v : i32) {
    ^bb0(%a: i32, %b: i32):
      %t = arith.addi %a, %b : i32
      scf.reduce.return %t : i32
    }
  }
  return %r : i32
}"""
    given = np.ones((4, 2), np.int32), np.array([2, 3, 2, 5]), np.array([1, 1, 0, 1])
    with pytest.raises(hu.UndefinedBehavior, match="outside the shape 2") as caught:
        hu.run(program, *given, batch=True)
    assert caught.value.lanes is not None
    assert caught.value.lanes.tolist() == [1, 3]
