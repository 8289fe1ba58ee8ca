"""Batches: every lane gets what it gets alone, through branches, loops, calls, poison and undefined behaviour."""

import math
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from batches import agree, alone
from tables import each_row

from halfulp.interp.ir.errors import (
    AssertionFailed,
    HalfulpError,
    LimitExceeded,
    TypeMismatch,
    UndefinedBehavior,
    Unsupported,
)
from halfulp.interp.loading import parse_module
from halfulp.interp.run.batch.compiler import ordered
from halfulp.interp.run.settings import Listener
from halfulp.interp.values.value import Value
from halfulp.register import cast, op
from halfulp.running import run

# --- kernels ----------------------------------------------------------------------------------------------------------

SQRT = """
func.func @main(%a: f32) -> f32 {
  %half = arith.constant 0.5 : f32
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %trips = arith.constant 6 : index
  %r = scf.for %i = %zero to %trips step %one iter_args(%x = %a) -> f32 {
    %q = arith.divf %a, %x : f32
    %s = arith.addf %x, %q : f32
    %next = arith.mulf %s, %half : f32
    scf.yield %next : f32
  }
  return %r : f32
}"""

COLLATZ = """
func.func @main(%n: i64) -> i64 {
  %zero = arith.constant 0 : i64
  %one = arith.constant 1 : i64
  %two = arith.constant 2 : i64
  %three = arith.constant 3 : i64
  %r:2 = scf.while (%x = %n, %steps = %zero) : (i64, i64) -> (i64, i64) {
    %go = arith.cmpi ne, %x, %one : i64
    scf.condition(%go) %x, %steps : i64, i64
  } do {
  ^bb0(%x: i64, %steps: i64):
    %bit = arith.andi %x, %one : i64
    %odd = arith.cmpi eq, %bit, %one : i64
    %next = scf.if %odd -> i64 {
      %t = arith.muli %x, %three : i64
      %u = arith.addi %t, %one : i64
      scf.yield %u : i64
    } else {
      %h = arith.divui %x, %two : i64
      scf.yield %h : i64
    }
    %s = arith.addi %steps, %one : i64
    scf.yield %next, %s : i64, i64
  }
  return %r#1 : i64
}"""

GCD = """
func.func @main(%a: i32, %b: i32) -> i32 {
  %zero = arith.constant 0 : i32
  %done = arith.cmpi eq, %b, %zero : i32
  cf.cond_br %done, ^stop, ^go
^stop:
  return %a : i32
^go:
  %r = arith.remui %a, %b : i32
  %g = call @main(%b, %r) : (i32, i32) -> i32
  return %g : i32
}"""

BITS = """
func.func @main(%n: i32) -> i32 {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  cf.br ^head(%n, %zero : i32, i32)
^done:
  return %count : i32
^head(%x: i32, %count: i32):
  %end = arith.cmpi eq, %x, %zero : i32
  cf.cond_br %end, ^done, ^body
^body:
  %less = arith.subi %x, %one : i32
  %rest = arith.andi %x, %less : i32
  %more = arith.addi %count, %one : i32
  cf.br ^head(%rest, %more : i32, i32)
}"""

FIBONACCI = """
func.func @main(%n: i32) -> i32 {
  %one = arith.constant 1 : i32
  %two = arith.constant 2 : i32
  %small = arith.cmpi slt, %n, %two : i32
  %r = scf.if %small -> i32 {
    scf.yield %n : i32
  } else {
    %a = arith.subi %n, %one : i32
    %b = arith.subi %n, %two : i32
    %x = func.call @main(%a) : (i32) -> i32
    %y = func.call @main(%b) : (i32) -> i32
    %s = arith.addi %x, %y : i32
    scf.yield %s : i32
  }
  return %r : i32
}"""

FOR = """
func.func @main(%lo: i8, %hi: i8, %step: i8) -> (i32, i32) {
  %zero = arith.constant 0 : i32
  %r:2 = scf.for %i = %lo to %hi step %step iter_args(%s = %zero, %last = %zero) -> (i32, i32) : i8 {
    %w = arith.extsi %i : i8 to i32
    %t = arith.addi %s, %w : i32
    scf.yield %t, %s : i32, i32
  }
  return %r#0, %r#1 : i32, i32
}"""

SWITCH = """
func.func @main(%flag: i8, %x: i8) -> i8 {
  cf.switch %flag : i8, [
    default: ^other(%flag : i8),
    3: ^add(%x : i8),
    5: ^double(%x : i8),
    255: ^add(%flag : i8)
  ]
^other(%a: i8):
  return %a : i8
^add(%b: i8):
  %s = arith.addi %b, %flag : i8
  cf.br ^double(%s : i8)
^double(%c: i8):
  %d = arith.addi %c, %c : i8
  return %d : i8
}"""


def collatz(n: int) -> int:
    steps = 0
    while n != 1:
        n = 3 * n + 1 if n & 1 else n // 2
        steps += 1
    return steps


def random(seed: int, low: int, high: int, count: int, dtype: npt.DTypeLike) -> npt.NDArray[Any]:
    return np.random.default_rng(seed).integers(low, high, count).astype(dtype)


def numbers(text: str, *columns: Any, **options: Any) -> list[Any]:
    answers = [value.numpy().tolist() for value in run(text, *columns, batch=True, **options)]
    return answers[0] if len(answers) == 1 else answers


@pytest.mark.long
def test_kernels_on_many_lanes_compute_what_they_are_named_for() -> None:
    n = np.arange(1, 3001, dtype=np.int64)
    assert numbers(COLLATZ, n) == [collatz(int(k)) for k in n]
    a, b = random(1, 0, 10**6, 3000, np.int32), random(2, 0, 10**6, 3000, np.int32)
    assert numbers(GCD, a, b) == [math.gcd(int(x), int(y)) for x, y in zip(a, b, strict=True)]
    x = random(3, -(2**31), 2**31, 3000, np.int32)
    assert numbers(BITS, x) == [(int(k) & 0xFFFFFFFF).bit_count() for k in x]
    fibonacci = [0, 1]
    for _ in range(12):
        fibonacci.append(fibonacci[-1] + fibonacci[-2])
    assert numbers(FIBONACCI, np.arange(13, dtype=np.int32)[::-1].copy()) == fibonacci[12::-1]
    squares = np.arange(1.0, 100.0, dtype=np.float32)
    assert np.allclose(numbers(SQRT, squares), np.sqrt(squares), rtol=1e-2)


@pytest.mark.long
def test_many_lanes_that_part_again_and_again_find_their_places() -> None:
    """Large groups of lanes look their places up in a table, small ones by bisection."""
    a, b = random(15, 0, 10**6, 50_000, np.int32), random(16, 0, 10**6, 50_000, np.int32)
    assert np.array_equal(numbers(GCD, a, b), np.gcd(a, b))
    n = np.arange(1, 20_001, dtype=np.int64)
    steps = np.array(numbers(COLLATZ, n))
    halved = np.where(n % 2 == 0, n // 2, 1)
    assert np.array_equal(steps[n % 2 == 0], steps[halved[n % 2 == 0] - 1] + 1)
    assert steps[26] == 111


@pytest.mark.long
def test_each_lane_of_a_kernel_gets_what_it_gets_alone() -> None:
    agree(COLLATZ, random(4, 1, 5000, 40, np.int64))
    agree(GCD, random(5, 0, 200, 60, np.int32), random(6, 0, 200, 60, np.int32))
    agree(BITS, random(7, -(2**31), 2**31, 60, np.int32))
    agree(FIBONACCI, random(8, 0, 10, 25, np.int32))
    special = np.array([0.0, -0.0, np.inf, np.nan, -4.0, 1e-45, 3e38, 2.0], np.float32)
    agree(SQRT, special)
    agree(SWITCH, np.arange(256, dtype=np.uint8).view(np.int8), random(9, -128, 128, 256, np.int8))


@pytest.mark.long
def test_loops_with_bounds_of_their_own_in_each_lane() -> None:
    low, high = random(10, -128, 128, 300, np.int8), random(11, -128, 128, 300, np.int8)
    agree(FOR, low, high, random(12, 1, 128, 300, np.int8))
    agree(FOR, low[:40], high[:40], random(13, -2, 6, 40, np.int8))  # steps that are not positive
    unsigned = FOR.replace("scf.for %i", "scf.for unsigned %i")
    agree(unsigned, low[:100], high[:100], random(14, 20, 256, 100, np.uint8).view(np.int8))
    sums = [sum(range(int(a), int(b))) for a, b in zip(low, high, strict=True)]
    assert numbers(FOR, low, high, 1)[0] == sums


@pytest.mark.parametrize("type_", ["i64", "i65", "i128", "index", "i1", "i7"])
def test_loops_of_any_width_count_right_up_to_the_ends_of_their_range(type_: str) -> None:
    width = 64 if type_ == "index" else int(type_[1:])
    text = f"""
    func.func @main(%lo: {type_}, %hi: {type_}, %step: {type_}) -> ({type_}, i8) {{
      %zero = arith.constant 0 : i8
      %one = arith.constant 1 : i8
      %r:2 = scf.for %i = %lo to %hi step %step iter_args(%last = %hi, %n = %zero) -> ({type_}, i8) : {type_} {{
        %m = arith.addi %n, %one : i8
        scf.yield %i, %m : {type_}, i8
      }}
      return %r#0, %r#1 : {type_}, i8
    }}"""
    text = text.replace(" : index {", " {")
    least, most = -(1 << width - 1), (1 << width - 1) - 1
    rows = [
        (least, most - 1, most),
        (most - 1, most, 1),
        (least, least + 1, max(1, most)),
        (most, least, 1),
        (least, least + 2 * (most // 3 + 1) + 1, most // 3 + 1),
        (0, most - 1, most - 1),
        (most, most, 1),
    ]
    beyond = [(least, most, most), (0, most, most - 1), (1, most, most)]
    if width == 1:  # no step is positive
        rows = [(a, b, 1) for a in (0, 1) for b in (0, 1)]

    def given(rows: list[tuple[int, int, int]]) -> tuple[list[list[Value]], list[Value]]:
        columns = [
            np.array([code & ((1 << width) - 1) for code in column], object) for column in zip(*rows, strict=True)
        ]
        each = [[Value.from_bits(int(code), type_) for code in column] for column in columns]
        return each, [Value.from_bits(np.array(list(column), object), type_) for column in columns]

    values, batch = given(rows)
    module = parse_module(text)
    expected = alone(module, values)
    if width == 1:
        assert all(isinstance(outcome, UndefinedBehavior) for outcome in expected)
        with pytest.raises(UndefinedBehavior, match=r"the step must be positive \(lane 0; 4 of 4 lanes\)"):
            run(module, *batch, batch=True)
        return
    results = run(module, *batch, batch=True)
    for lane, outcome in enumerate(expected):
        assert not isinstance(outcome, HalfulpError)
        assert [result.bits[lane].tolist() for result in results] == [one.bits.tolist() for one in outcome]
    values, batch = given(beyond)
    assert all(isinstance(outcome, UndefinedBehavior) for outcome in alone(module, values))
    with pytest.raises(
        UndefinedBehavior,
        match=r"does not have the induction variable after the last iteration \(lane 0; 3 of 3 lanes\)",
    ):
        run(module, *batch, batch=True)


# --- undefined behaviour and poison -----------------------------------------------------------------------------------

GUARDED = """
func.func @main(%a: i8, %b: i8) -> i8 {
  %zero = arith.constant 0 : i8
  %safe = arith.cmpi ne, %b, %zero : i8
  %r = scf.if %safe -> i8 {
    %q = arith.divsi %a, %b : i8
    scf.yield %q : i8
  } else {
    scf.yield %a : i8
  }
  %s = arith.addi %r, %r overflow<nsw> : i8
  return %s : i8
}"""


def test_undefined_behaviour_counts_only_in_lanes_that_come_to_it() -> None:
    a, b = np.array([7, 8, -128, 9, -128], np.int8), np.array([0, 2, -1, 0, -1], np.int8)
    assert run(GUARDED, a[[0, 1, 3]], b[[0, 1, 3]], batch=True)[0].numpy().tolist() == [14, 8, 18]
    with pytest.raises(UndefinedBehavior) as caught:
        run(parse_module(GUARDED, "k.mlir"), a, b, batch=True)
    assert str(caught.value) == (
        "k.mlir:6:10: error: arith.divsi: undefined behaviour: signed division overflow "
        "(minimum value divided by -1): lhs = -128, rhs = -1 (lane 2; 2 of 5 lanes)"
    )
    assert caught.value.lanes is not None
    assert caught.value.lanes.tolist() == [2, 4]
    (result,) = run(GUARDED, a, b, batch=True, on_ub="poison")
    assert result.poisoned.tolist() == [False, False, True, False, True]
    origin = result.origin(4)
    assert origin is not None
    assert (origin.op, origin.element) == ("arith.divsi", (2,))


def test_poison_and_openness_stay_in_their_lanes() -> None:
    a, b = random(20, -128, 128, 200, np.int8), random(21, -3, 4, 200, np.int8)
    agree(GUARDED, a, b)
    agree(GUARDED, a, b, on_ub="poison")
    agree(GUARDED, a, b, on_ub="poison", track_open=True)
    text = """
    func.func @main(%a: f32, %b: f32) -> (f32, f32) {
      %zero = arith.constant 0.0 : f32
      %p = arith.addf %a, %b fastmath<nnan> : f32
      %m = arith.maxnumf %a, %b : f32
      %up = arith.cmpf olt, %a, %b : f32
      cf.cond_br %up, ^one(%p : f32), ^two(%m : f32)
    ^one(%x: f32):
      %y = arith.subf %x, %m : f32
      cf.br ^two(%y : f32)
    ^two(%z: f32):
      %w = arith.select %up, %z, %zero : f32
      return %z, %w : f32, f32
    }"""
    special = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 1.0, -2.0], np.float32)
    left, right = (axis.ravel() for axis in np.meshgrid(special, special))
    agree(text, left, right)
    agree(text, left, right, track_open=True)


def test_a_branch_on_poison_stops_only_for_lanes_that_come_to_it() -> None:
    text = """
    func.func @main(%a: i8, %b: i8, %skip: i1) -> i8 {
      cf.cond_br %skip, ^end(%a : i8), ^go
    ^go:
      %s = arith.addi %a, %b overflow<nsw> : i8
      %c = arith.cmpi slt, %s, %a : i8
      cf.cond_br %c, ^end(%b : i8), ^end(%s : i8)
    ^end(%r: i8):
      return %r : i8
    }"""
    a, b = np.array([100, 100, 1, 100], np.int8), np.array([100, 100, 2, 100], np.int8)
    skip = np.array([True, False, False, False])
    agree(text, a, b, skip)
    for on_ub in ("raise", "poison"):
        message = r"the condition is poison: signed overflow with nsw .* \(lane 1; 2 of 4 lanes\)"
        with pytest.raises(UndefinedBehavior, match=message) as caught:
            run(text, a, b, skip, batch=True, on_ub=on_ub)
        assert caught.value.lanes is not None
        assert caught.value.lanes.tolist() == [1, 3]


@each_row(
    ('cf.assert %c, "no"\n return %a : i8', r"cf.assert: no \(lane 1; 2 of 4 lanes\)"),
    ("cf.cond_br %c, ^x, ^y\n^x: return %a : i8\n^y: ub.unreachable", r"it was reached \(lane 1; 2 of 4 lanes\)"),
)
def test_what_must_not_be_reached_names_the_lanes_that_reach_it(body: str, message: str) -> None:
    text = f"func.func @main(%a: i8, %c: i1) -> i8 {{\n {body}\n}}"
    a = np.arange(4, dtype=np.int8)
    with pytest.raises((UndefinedBehavior, AssertionFailed), match=message):
        run(text, a, np.array([True, False, True, False]), batch=True)
    assert numbers(text, a, np.ones(4, np.bool_)) == [0, 1, 2, 3]


def test_what_all_lanes_have_alike_is_undefined_in_all_of_them() -> None:
    text = "func.func @main(%a: i8, %b: i8) -> i8 { %q = arith.divsi %b, %b : i8\n return %q : i8 }"
    with pytest.raises(UndefinedBehavior, match=r"lhs = 0, rhs = 0 \(lane 0; 3 of 3 lanes\)"):
        run(text, np.ones(3, np.int8), 0, batch=True)
    (result,) = run(text, np.ones(3, np.int8), 0, batch=True, on_ub="poison")
    assert result.poisoned.all()
    assert result.shape == (3,)


# --- limits -----------------------------------------------------------------------------------------------------------


def test_a_loop_in_which_no_lane_is_costs_nothing_and_an_endless_one_stops() -> None:
    text = """
    func.func @main(%a: i8, %c: i1) -> i8 {
      cf.cond_br %c, ^spin, ^end
    ^spin:
      cf.br ^spin
    ^end:
      return %a : i8
    }"""
    a = np.arange(3, dtype=np.int8)
    assert numbers(text, a, np.zeros(3, np.bool_), max_steps=2) == [0, 1, 2]
    with pytest.raises(LimitExceeded, match="more than 1000 ops"):
        run(text, a, np.array([False, True, False]), batch=True, max_steps=1000)


def test_an_op_that_lanes_run_together_is_one_step() -> None:
    text = "func.func @main(%a: i8) -> i8 { %0 = arith.addi %a, %a : i8\n return %0 : i8 }"
    a = np.arange(100, dtype=np.int8)
    assert numbers(text, a, max_steps=2) == [(2 * k + 128) % 256 - 128 for k in range(100)]
    with pytest.raises(LimitExceeded):
        run(text, a, batch=True, max_steps=1)
    # Trip for trip all lanes of a loop run together: the longest one decides, not their sum.
    n = np.arange(1, 1001, dtype=np.int32)
    assert numbers(BITS, n, max_steps=3 + 9 * 7 + 3) == [int(k).bit_count() for k in n]


def test_lanes_that_part_run_together_again_where_they_meet() -> None:
    """After a branch every op runs once, for all lanes; what leaves a loop trip by trip goes on together after it."""
    seen: dict[str, list[int]] = {}

    class Counter(Listener):
        def lanes(self, numbers: Any) -> None:
            self.running = numbers

        def op_did_run(self, op: Any, operands: Any, results: Any) -> None:
            seen.setdefault(op.name, []).append(len(self.running))

    run(GUARDED, np.arange(10, dtype=np.int8), np.arange(10, dtype=np.int8) % 2, batch=True, listeners=[Counter()])
    assert seen["arith.divsi"] == [5]
    assert seen["arith.addi"] == [10]
    seen.clear()
    run(BITS, np.arange(256, dtype=np.int32), batch=True, listeners=[Counter()])
    assert seen["func.return"] == [256]
    assert seen["arith.subi"] == [255, 247, 219, 163, 93, 37, 9, 1]


def test_recursion_is_bounded_by_its_deepest_lane() -> None:
    a, b = np.array([8, 13, 89]), np.array([8, 8, 55])
    assert numbers(GCD, a.astype(np.int32), b.astype(np.int32), max_depth=9) == [8, 1, 1]
    with pytest.raises(LimitExceeded, match="nested more than 8 deep"):
        run(GCD, a.astype(np.int32), b.astype(np.int32), batch=True, max_depth=8)


@pytest.mark.long
def test_segments_are_ordered_with_what_follows_a_loop_after_it() -> None:
    # 0 -> loop 1 2 3 with an inner loop 2 3 -> 4; the exit is met first.
    assert ordered([0, 4, 3, 2, 1], {0: [1], 1: [4, 2], 2: [3], 3: [2, 1], 4: []}) == [0, 1, 2, 3, 4]
    deep = {n: [n + 1, n] for n in range(5000)} | {5000: []}
    assert ordered(list(range(5001)), deep) == list(range(5001))
    nest = {n: [n + 1, max(0, n - 1)] for n in range(2000)} | {2000: [0]}
    assert sorted(ordered(list(range(2001)), nest)) == list(range(2001))


# --- arguments and results --------------------------------------------------------------------------------------------

ADD = "func.func @main(%a: {0}, %b: {0}) -> {0} {{ %0 = arith.addi %a, %b : {0}\n return %0 : {0} }}"


def test_arguments_are_arrays_tensor_values_or_one_number_for_all_lanes() -> None:
    i8 = ADD.format("i8")
    a = np.array([1, 2, 3], np.int8)
    for array in (a, Value.from_numpy(a), Value.from_bits([1, 2, 3], "i8"), a.view(np.uint8)):
        (result,) = run(i8, array, 5, batch=True)
        assert str(result.type) == "tensor<3xi8>"
        assert result.numpy().tolist() == [6, 7, 8]
    for one in (5, np.int8(5), np.array(5, np.int8), Value.from_numpy(np.int8(5))):
        assert numbers(i8, one, a) == [6, 7, 8]
    f80 = "func.func @main(%a: f80) -> f80 { %0 = arith.addf %a, %a : f80\n return %0 : f80 }"
    bits = np.array([[0x8000000000000000, 0x3FFF], [0xC000000000000000, 0x4000]], np.uint64)
    assert run(f80, bits, batch=True)[0].bits.tolist() == [[0x8000000000000000, 0x4000], [0xC000000000000000, 0x4001]]
    i128 = ADD.format("i128")
    assert numbers(i128, np.array([1, 2**100, 5], object), 1) == [2, 2**100 + 1, 6]


def test_results_that_are_the_same_in_all_lanes_have_all_lanes_too() -> None:
    text = """
    func.func @main(%a: i8, %c: i1) -> (i8, i8, i8) {
      %seven = arith.constant 7 : i8
      %p = ub.poison : i8
      cf.cond_br %c, ^x(%seven : i8), ^x(%p : i8)
    ^x(%m: i8):
      return %seven, %p, %m : i8, i8, i8
    }"""
    seven, poison, mixed = run(text, np.zeros(2, np.int8), np.array([True, False]), batch=True)
    assert seven.numpy().tolist() == [7, 7]
    assert poison.poisoned.tolist() == [True, True]
    assert mixed.poisoned.tolist() == [False, True]
    assert mixed.bits.tolist() == [7, 0]


def test_no_lanes_run_nothing() -> None:
    (result,) = run("func.func @main(%a: i8) -> i8 { cf.br ^a\n^a: cf.br ^a }", np.zeros(0, np.int8), batch=True)
    assert str(result.type) == "tensor<0xi8>"


def test_an_input_array_is_neither_written_to_nor_returned() -> None:
    a = np.arange(4, dtype=np.int8)
    (result,) = run("func.func @main(%a: i8) -> i8 { return %a : i8 }", a, batch=True)
    assert not np.may_share_memory(result.bits, a)
    assert a.flags.writeable


@each_row(
    ((np.zeros(2, np.int8), np.zeros(3, np.int8)), "argument 1 of @main has 3 lanes, but an argument before it has 2"),
    ((1, 2), "no argument of @main has lanes"),
    ((np.zeros(2, np.int16), 1), "argument 0 of @main: expected"),
    ((np.zeros((2, 2), np.int8), 1), "argument 0 of @main: expected"),
    ((Value.from_numpy(np.zeros(2, np.int16)), 1), "argument 0 of @main: expected"),
)
def test_arguments_that_do_not_fit_are_named(arguments: tuple[Any, ...], message: str) -> None:
    with pytest.raises(TypeMismatch, match=message):
        run(ADD.format("i8"), *arguments, batch=True)


@each_row(
    ("memref<*xi8>", "whose rank is not known, so an axis over lanes cannot be seen"),
    ("tensor<*xi8>", "whose rank is not known, so an axis over lanes cannot be seen"),
    ("tensor<2x!quant.uniform<i8:f32:0, {1.0, 2.0}>>", "whose scales belong to axes"),
    ("none", "whose elements are not numbers"),
)
def test_types_that_lanes_cannot_have(type_: str, reason: str) -> None:
    text = f"func.func @main(%a: {type_}) {{ return }}"
    with pytest.raises(Unsupported, match="a batch runs functions on scalars, tensors, vectors and memrefs") as caught:
        run(text, np.zeros((3, 2), np.int8), batch=True)
    assert caught.value.message.endswith(reason)


def test_tensors_that_all_lanes_have_alike_are_fine() -> None:
    text = """func.func @main(%a: i8) -> i8 {
      %t = arith.constant dense<[1, 2]> : tensor<2xi8>
      %u = arith.muli %t, %t : tensor<2xi8>
      %one = arith.constant 1 : index
      %x = tensor.extract %u[%one] : tensor<2xi8>
      %r = arith.addi %a, %x : i8
      return %r : i8
    }"""
    assert numbers(text, np.arange(3, dtype=np.int8)) == [4, 5, 6]


# --- functions of one's own -------------------------------------------------------------------------------------------


def test_functions_of_ones_own_are_called_for_each_lane() -> None:
    text = """
    func.func private @host(i32) -> i32
    func.func @main(%a: i32, %c: i1) -> i32 {
      %r = scf.if %c -> i32 {
        %x = func.call @host(%a) : (i32) -> i32
        scf.yield %x : i32
      } else {
        scf.yield %a : i32
      }
      return %r : i32
    }"""
    calls: list[int] = []

    def host(x: Value) -> int:
        number = int(x.item())
        calls.append(number)
        return number * number

    c = np.array([True, False, True, True])
    assert numbers(text, np.arange(4, dtype=np.int32), c, externals={"host": host}) == [0, 1, 4, 9]
    assert calls == [0, 2, 3]


def test_registered_ops_and_conversions_work_in_lanes() -> None:
    op("batchtest.flip", lambda x: ~x.numpy(), operands=["x"], assembly="$x attr-dict `:` type($x) `->` type($result)")
    text = "func.func @main(%a: i8) -> i8 { %0 = batchtest.flip %a : i8 -> i8\n return %0 : i8 }"
    assert numbers(text, np.array([0, 5, -1], np.int8)) == [-1, -6, 0]
    cast("i24", "i12", lambda x: x.item() % 100)
    agree_cast = """
    func.func @main(%a: i24, %c: i1) -> (i12, i24) {
      %0 = builtin.unrealized_conversion_cast %a : i24 to i12
      %1:2 = builtin.unrealized_conversion_cast %a : i24 to i3, i5
      cf.cond_br %c, ^x, ^y
    ^x:
      cf.br ^y
    ^y:
      %2 = builtin.unrealized_conversion_cast %1#0, %1#1 : i3, i5 to i24
      return %0, %2 : i12, i24
    }"""
    a = Value.from_bits([1, 250, 399], "i24")
    assert numbers(agree_cast, a, np.array([True, False, True])) == [[1, 50, 99], [1, 250, 399]]


# --- events -----------------------------------------------------------------------------------------------------------


def test_listeners_hear_which_lanes_run_each_op() -> None:
    events: list[Any] = []

    class Recorder(Listener):
        def lanes(self, numbers: Any) -> None:
            events.append(numbers.tolist())

        def op_will_run(self, op: Any, operands: Any) -> None:
            events.append((op.name, [value.numpy(poison=0).tolist() for value in operands]))

        def op_did_run(self, op: Any, operands: Any, results: Any) -> None:
            if results:
                events.append((op.name, "gave", [value.numpy(poison=0).tolist() for value in results]))

        def branch(self, op: Any, target: Any) -> None:
            events.append(("to", target.label))

        def poison_born(self, op: Any, origin: Any, count: int) -> None:
            events.append(("poison", count))

        def undefined_behavior(self, op: Any, report: UndefinedBehavior) -> None:
            assert report.lanes is not None
            events.append(("undefined", report.lanes.tolist()))

    text = """
    func.func private @half(%x: i8) -> i8 {
      %q = arith.divui %x, %x : i8
      return %q : i8
    }
    func.func @main(%a: i8, %c: i1) -> i8 {
      cf.cond_br %c, ^x, ^y(%a : i8)
    ^x:
      %h = call @half(%a) : (i8) -> i8
      cf.br ^y(%h : i8)
    ^y(%r: i8):
      return %r : i8
    }"""
    run(
        text,
        np.array([4, 0, 0], np.int8),
        np.array([True, False, True]),
        batch=True,
        listeners=[Recorder()],
        on_ub="poison",
    )
    assert events == [
        [0, 1, 2],
        [0, 2],
        ("cf.cond_br", [True]),
        ("to", "x"),
        [1],
        ("cf.cond_br", [False]),
        ("to", "y"),
        [0, 2],
        ("func.call", [[4, 0]]),
        ("arith.divui", [[4, 0], [4, 0]]),
        ("undefined", [2]),
        ("poison", 1),
        ("arith.divui", "gave", [[1, 0]]),
        ("func.return", [[1, 0]]),
        ("func.call", "gave", [[1, 0]]),
        ("cf.br", []),
        ("to", "y"),
        [0, 1, 2],
        ("func.return", [[1, 0, 0]]),
    ]


def test_the_limit_on_steps_names_the_lanes_that_run() -> None:
    text = """func.func @main(%a: i8) -> i8 {
      %c = arith.constant 4 : i8
      %p = arith.cmpi slt, %a, %c : i8
      cf.cond_br %p, ^end, ^loop
    ^loop:
      cf.br ^loop
    ^end:
      return %a : i8
    }"""
    with pytest.raises(LimitExceeded) as caught:
        run(text, np.arange(8, dtype=np.int8), batch=True, max_steps=1000)
    assert caught.value.lanes is not None
    assert caught.value.lanes.tolist() == [4, 5, 6, 7]
