"""Batches: every lane gets what it gets alone, through branches, loops, calls, poison and undefined behaviour."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import ml_dtypes
import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from halfulp.interp.ir.errors import (
    AssertionFailed,
    HalfulpError,
    LimitExceeded,
    TypeMismatch,
    UndefinedBehavior,
    Unsupported,
)
from halfulp.interp.run.batch import ordered
from halfulp.interp.run.events import Listener
from halfulp.interp.text.parser import parse_module
from halfulp.interp.values.value import Value
from halfulp.runtime import register_cast, register_op, run


def alone(text: Any, columns: Sequence[Sequence[Any]], **options: Any) -> list[tuple[Value, ...] | HalfulpError]:
    """What each lane gives alone: its results, or its error."""
    outcomes: list[tuple[Value, ...] | HalfulpError] = []
    for row in zip(*columns, strict=True):
        try:
            outcomes.append(run(text, *row, **options))
        except HalfulpError as error:
            outcomes.append(error)
    return outcomes


def agree(text: Any, *columns: npt.NDArray[Any], **options: Any) -> None:
    """A batch gives for every lane what the lane gives alone: type, bits, poison with its reason, openness, and
    undefined behaviour in the lanes that have it.
    """
    module = parse_module(text) if isinstance(text, str) else text
    expected = alone(module, [list(column) for column in columns], **options)
    failing = {lane for lane, outcome in enumerate(expected) if isinstance(outcome, HalfulpError)}
    # All lanes together may run as many ops as each may run alone.
    if "max_steps" in options:
        options["max_steps"] *= max(1, len(expected))
    # A batch reports the lanes that fail at one place; without these the next run reports those of another.
    running, reported = np.arange(len(expected)), set[int]()
    while len(reported) < len(failing):
        with pytest.raises(HalfulpError) as caught:
            run(module, *(column[running] for column in columns), batch=True, **options)
        lanes = caught.value.lanes
        assert lanes is not None
        assert f"(lane {lanes[0]}; {len(lanes)} of {len(running)} lanes)" in caught.value.message
        for lane in running[lanes].tolist():
            one = expected[lane]
            assert isinstance(one, HalfulpError)
            assert (type(caught.value), caught.value.op, caught.value.location) == (type(one), one.op, one.location)
            reported.add(lane)
        running = np.delete(running, lanes)
    assert reported == failing
    columns = tuple(column[running] for column in columns)
    expected = [expected[int(lane)] for lane in running]
    if not expected:
        return
    results = run(module, *columns, batch=True, **options)
    for number, result in enumerate(results):
        assert result.shape[:1] == (len(expected),)
        for lane, outcome in enumerate(expected):
            assert not isinstance(outcome, HalfulpError)
            one = outcome[number]
            sizes = "".join(f"{size}x" for size in (len(expected), *one.shape))
            assert str(result.type) == f"tensor<{sizes}{one.element_type}>"
            assert np.array_equal(result.poisoned[lane], one.poisoned)
            assert np.array_equal(result.bits[lane], one.bits), (lane, result.bits[lane], one.bits)
            none = np.zeros(one.shape, np.uint8)
            assert np.array_equal(
                none if result.open is None else result.open[lane], none if one.open is None else one.open
            )
            for place in np.ndindex(one.shape):
                mine, theirs = result.origin(lane, *place), one.origin(*place)
                assert (mine and (mine.op, mine.location, mine.reason)) == (
                    theirs and (theirs.op, theirs.location, theirs.reason)
                )


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


def test_many_lanes_that_part_again_and_again_find_their_places() -> None:
    """Large groups of lanes look their places up in a table, small ones by bisection."""
    a, b = random(15, 0, 10**6, 50_000, np.int32), random(16, 0, 10**6, 50_000, np.int32)
    assert np.array_equal(numbers(GCD, a, b), np.gcd(a, b))
    n = np.arange(1, 20_001, dtype=np.int64)
    steps = np.array(numbers(COLLATZ, n))
    halved = np.where(n % 2 == 0, n // 2, 1)
    assert np.array_equal(steps[n % 2 == 0], steps[halved[n % 2 == 0] - 1] + 1)
    assert steps[26] == 111


def test_each_lane_of_a_kernel_gets_what_it_gets_alone() -> None:
    agree(COLLATZ, random(4, 1, 5000, 40, np.int64))
    agree(GCD, random(5, 0, 200, 60, np.int32), random(6, 0, 200, 60, np.int32))
    agree(BITS, random(7, -(2**31), 2**31, 60, np.int32))
    agree(FIBONACCI, random(8, 0, 10, 25, np.int32))
    special = np.array([0.0, -0.0, np.inf, np.nan, -4.0, 1e-45, 3e38, 2.0], np.float32)
    agree(SQRT, special)
    agree(SWITCH, np.arange(256, dtype=np.uint8).view(np.int8), random(9, -128, 128, 256, np.int8))


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
        (least, most, max(1, most)),
        (most - 1, most, 1),
        (least, least + 1, max(1, most)),
        (most, least, 1),
        (least, most, max(1, most // 3 + 1)),
        (0, most, max(1, most - 1)),
        (most, most, 1),
    ]
    if width == 1:  # no step is positive
        rows = [(a, b, 1) for a in (0, 1) for b in (0, 1)]
    columns = [np.array([code & ((1 << width) - 1) for code in column], object) for column in zip(*rows, strict=True)]
    values = [[Value.from_bits(int(code), type_) for code in column] for column in columns]
    batch = [Value.from_bits(np.array(list(column), object), type_) for column in columns]
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


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ('cf.assert %c, "no"\n return %a : i8', r"cf.assert: no \(lane 1; 2 of 4 lanes\)"),
        ("cf.cond_br %c, ^x, ^y\n^x: return %a : i8\n^y: ub.unreachable", r"it was reached \(lane 1; 2 of 4 lanes\)"),
    ],
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


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            (np.zeros(2, np.int8), np.zeros(3, np.int8)),
            "argument 1 of @main has 3 lanes, but an argument before it has 2",
        ),
        ((1, 2), "no argument of @main has lanes"),
        ((np.zeros(2, np.int16), 1), "argument 0 of @main: expected"),
        ((np.zeros((2, 2), np.int8), 1), "argument 0 of @main: expected"),
        ((Value.from_numpy(np.zeros(2, np.int16)), 1), "argument 0 of @main: expected"),
    ],
)
def test_arguments_that_do_not_fit_are_named(arguments: tuple[Any, ...], message: str) -> None:
    with pytest.raises(TypeMismatch, match=message):
        run(ADD.format("i8"), *arguments, batch=True)


@pytest.mark.parametrize(
    ("type_", "reason"),
    [
        ("memref<2xi8>", "and lanes have no memory of their own"),
        ("tensor<*xi8>", "which does not say whether an array has an axis over lanes"),
        ("tensor<2x!quant.uniform<i8:f32:0, {1.0, 2.0}>>", "whose scales go with axes"),
        ("tensor<2xcomplex<f32>>", "which is carried, not computed with"),
    ],
)
def test_types_that_lanes_cannot_have(type_: str, reason: str) -> None:
    text = f"func.func @main(%a: {type_}) {{ return }}"
    with pytest.raises(Unsupported, match="a batch runs functions on scalars, tensors and vectors") as caught:
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


# --- random programs --------------------------------------------------------------------------------------------------

INTEGERS = ("i8", "i32")
FLOATS = ("f32", "f8E4M3FN")
SHAPED = {"tensor<2x3xi8>": "i8", "tensor<?xi32>": "i32", "vector<4xf32>": "f32"}
BINARY = {
    **dict.fromkeys(
        INTEGERS,
        ("addi", "subi", "muli", "divsi", "divui", "remsi", "remui", "floordivsi", "andi", "xori", "shrui", "maxsi"),
    ),
    **dict.fromkeys(FLOATS, ("addf", "subf", "mulf", "divf", "remf", "maximumf", "minnumf")),
}
FLAGS = {"addi": " overflow<nsw>", "muli": " overflow<nuw>", "mulf": " fastmath<nnan>", "divf": " fastmath<ninf>"}
CASTS = (
    ("extsi", "i8", "i32"),
    ("trunci", "i32", "i8"),
    ("sitofp", "i8", "f32"),
    ("fptosi", "f32", "i8"),
    ("truncf", "f32", "f8E4M3FN"),
    ("extf", "f8E4M3FN", "f32"),
    ("uitofp", "i32", "f8E4M3FN"),
)
HELPERS = """
func.func private @gcd(%a: i8, %b: i8) -> i8 {
  %zero = arith.constant 0 : i8
  %done = arith.cmpi eq, %b, %zero : i8
  cf.cond_br %done, ^stop, ^go
^stop:
  return %a : i8
^go:
  %r = arith.remsi %a, %b : i8
  %g = call @gcd(%b, %r) : (i8, i8) -> i8
  return %g : i8
}
func.func private @factorial(%n: i8) -> i8 {
  %one = arith.constant 1 : i8
  %fifteen = arith.constant 15 : i8
  %low = arith.andi %n, %fifteen : i8
  %small = arith.cmpi sle, %low, %one : i8
  %r = scf.if %small -> i8 {
    scf.yield %one : i8
  } else {
    %less = arith.subi %low, %one : i8
    %f = func.call @factorial(%less) : (i8) -> i8
    %p = arith.muli %f, %low : i8
    scf.yield %p : i8
  }
  return %r : i8
}
"""


class Writer:
    """Writes a random function; ``values`` are those in scope, by type. ``shaped``: tensors and vectors as well."""

    def __init__(self, draw: Callable[[st.SearchStrategy[Any]], Any], shaped: bool) -> None:
        self.draw = draw
        self.shaped = tuple(SHAPED) if shaped else ()
        self.lines: list[str] = []
        self.values: dict[str, list[str]] = {type_: [] for type_ in (*INTEGERS, *FLOATS, *self.shaped, "i1")}
        self.count = 0

    def choose(self, choices: Sequence[Any]) -> Any:
        return choices[self.draw(st.integers(0, len(choices) - 1))]

    def name(self) -> str:
        self.count += 1
        return f"%v{self.count}"

    def any(self, type_: str) -> str:
        return str(self.choose(self.values[type_]))

    def new(self, type_: str, text: str) -> str:
        name = self.name()
        self.lines.append(f"{name} = {text}")
        self.values[type_].append(name)
        return name

    def type(self) -> str:
        return str(self.choose((*INTEGERS, *FLOATS, *self.shaped, *self.shaped)))

    def condition(self) -> str:
        type_ = str(self.choose((*INTEGERS, *FLOATS)))
        if type_ in INTEGERS:
            text = f"arith.cmpi {self.choose(('eq', 'slt', 'uge'))}, {self.any(type_)}, {self.any(type_)} : {type_}"
        else:
            text = f"arith.cmpf {self.choose(('oeq', 'olt', 'uge'))}, {self.any(type_)}, {self.any(type_)} : {type_}"
        return self.new("i1", text)

    def scoped(self, statements: int, depth: int, type_: str) -> str:
        """Some statements in a region of their own; a value of the type they are to yield."""
        outer = {key: list(names) for key, names in self.values.items()}
        self.statements(statements, depth)
        result = self.any(type_)
        self.values = outer
        return result

    def statements(self, count: int, depth: int) -> None:
        kinds = [self.binary, self.binary, self.cast, self.select, self.call]
        kinds += [self.by_elements, self.extract, self.insert, self.broadcast, self.dim] if self.shaped else []
        nested = [self.if_, self.for_, self.while_, self.diamond, self.cf_loop, self.switch] if depth else []
        for _ in range(count):
            kind = self.choose([*kinds, *nested, *nested])
            kind(depth - 1) if kind in nested else kind()

    def binary(self) -> None:
        type_ = self.type()
        op = self.choose(BINARY[SHAPED.get(type_, type_)])
        flags = self.choose(("", FLAGS.get(op, "")))
        self.new(type_, f"arith.{op} {self.any(type_)}, {self.any(type_)}{flags} : {type_}")

    def cast(self) -> None:
        op, source, target = self.choose(CASTS)
        self.new(target, f"arith.{op} {self.any(source)} : {source} to {target}")

    def select(self) -> None:
        type_ = self.type()
        condition = self.choose([*self.values["i1"], self.condition()])
        self.new(type_, f"arith.select {condition}, {self.any(type_)}, {self.any(type_)} : {type_}")

    def by_elements(self) -> None:
        """arith.select with a condition for each element."""
        type_ = str(self.choose(self.shaped))
        element, condition = SHAPED[type_], self.name()
        compare = "cmpf olt" if element == "f32" else "cmpi slt"
        self.lines.append(f"{condition} = arith.{compare}, {self.any(type_)}, {self.any(type_)} : {type_}")
        types = f"{type_.replace(element, 'i1')}, {type_}"
        self.new(type_, f"arith.select {condition}, {self.any(type_)}, {self.any(type_)} : {types}")

    def place(self, type_: str) -> str:
        """An element of a tensor or vector, or, of the tensor of two rows, sometimes none."""
        indices = []
        for mask in ("%two", "%two") if type_ == "tensor<2x3xi8>" else ("%two",):
            masked, index = self.new("i8", f"arith.andi {self.any('i8')}, {mask} : i8"), self.name()
            self.lines.append(f"{index} = arith.index_cast {masked} : i8 to index")
            indices.append(index)
        if type_ == "tensor<2x3xi8>" and self.draw(st.booleans()):
            indices[0] = "%first"
        return f"[{', '.join(indices)}]"

    def extract(self) -> None:
        type_ = str(self.choose(self.shaped))
        element, place = SHAPED[type_], self.place(type_)
        types = f"{element} from {type_}" if type_.startswith("vector") else type_
        self.new(element, f"{type_[:6]}.extract {self.any(type_)}{place} : {types}")

    def insert(self) -> None:
        type_ = str(self.choose(self.shaped))
        element, place = SHAPED[type_], self.place(type_)
        if type_.startswith("vector"):
            self.new(type_, f"vector.insert {self.any(element)}, {self.any(type_)} {place} : {element} into {type_}")
        else:
            self.new(type_, f"tensor.insert {self.any(element)} into {self.any(type_)}{place} : {type_}")

    def broadcast(self) -> None:
        type_ = self.choose(("tensor<2x3xi8>", "vector<4xf32>"))
        if type_ == "vector<4xf32>":
            self.new(type_, f"vector.broadcast {self.any('f32')} : f32 to {type_}")
        elif self.draw(st.booleans()):
            self.new(type_, f"tensor.splat {self.any('i8')} : {type_}")
        else:
            self.new(type_, f"tensor.from_elements {', '.join(self.any('i8') for _ in range(6))} : {type_}")

    def dim(self) -> None:
        size = self.name()
        self.lines.append(f"{size} = tensor.dim {self.any('tensor<?xi32>')}, %first : tensor<?xi32>")
        self.new("i8", f"arith.index_cast {size} : index to i8")

    def call(self) -> None:
        if self.draw(st.booleans()):
            self.new("i8", f"func.call @gcd({self.any('i8')}, {self.any('i8')}) : (i8, i8) -> i8")
        else:
            self.new("i8", f"func.call @factorial({self.any('i8')}) : (i8) -> i8")

    def if_(self, depth: int) -> None:
        type_, condition, name = self.type(), self.condition(), self.name()
        self.lines.append(f"{name} = scf.if {condition} -> {type_} {{")
        self.lines.append(f"scf.yield {self.scoped(2, depth, type_)} : {type_} }} else {{")
        self.lines.append(f"scf.yield {self.scoped(2, depth, type_)} : {type_} }}")
        self.values[type_].append(name)

    def for_(self, depth: int) -> None:
        type_, name, induction, carried = self.type(), self.name(), self.name(), self.name()
        step = self.choose(("%forty", "%forty", self.any("i8")))
        head = f"{name} = scf.for {induction} = {self.any('i8')} to {self.any('i8')} step {step}"
        self.lines.append(f"{head} iter_args({carried} = {self.any(type_)}) -> {type_} : i8 {{")
        outer = {key: list(names) for key, names in self.values.items()}
        self.values["i8"].append(induction)
        self.values[type_].append(carried)
        self.lines.append(f"scf.yield {self.scoped(2, depth, type_)} : {type_} }}")
        self.values = outer
        self.values[type_].append(name)

    def while_(self, depth: int) -> None:
        """Shifts a number to zero."""
        type_, name, number, carried, more, after, kept = self.type(), *(self.name() for _ in range(6))
        signature = f"({number} = {self.any('i8')}, {carried} = {self.any(type_)}) : (i8, {type_}) -> (i8, {type_})"
        self.lines.append(f"{name}:2 = scf.while {signature} {{")
        self.lines.append(f"{more} = arith.cmpi ne, {number}, %zero : i8")
        self.lines.append(f"scf.condition({more}) {number}, {carried} : i8, {type_} }} do {{")
        self.lines.append(f"^bb0({after}: i8, {kept}: {type_}):")
        outer = {key: list(names) for key, names in self.values.items()}
        self.values["i8"].append(after)
        self.values[type_].append(kept)
        result = self.scoped(2, depth, type_)
        self.values = outer
        shifted = self.name()
        self.lines.append(f"{shifted} = arith.shrui {after}, %two : i8")
        self.lines.append(f"scf.yield {shifted}, {result} : i8, {type_} }}")
        self.values["i8"].append(f"{name}#0")
        self.values[type_].append(f"{name}#1")

    def diamond(self, depth: int) -> None:
        type_, condition, name, left, right, argument = self.type(), self.condition(), *(self.name() for _ in range(4))
        left, right, end = (f"^{label[1:]}" for label in (left, right, argument))
        self.lines.append(f"{name} = scf.execute_region -> {type_} {{ cf.cond_br {condition}, {left}, {right}")
        for label, others in ((left, (right, end)), (right, (end,))):
            self.lines.append(f"{label}:")
            result, target = self.scoped(2, depth, type_), self.choose(others)
            passed = f"({result} : {type_})" if target == end else ""
            self.lines.append(f"cf.br {target}{passed}")
        self.lines.append(f"{end}({argument}: {type_}): scf.yield {argument} : {type_} }}")
        self.values[type_].append(name)

    def cf_loop(self, depth: int) -> None:
        """A loop of blocks that leaves from its middle, its exit written first."""
        type_, start, name, number, carried = self.type(), self.any("i8"), *(self.name() for _ in range(3))
        head, body, end = (f"^{self.name()[1:]}" for _ in range(3))
        initial, more, shifted = self.any(type_), self.name(), self.name()
        self.lines.append(f"{name} = scf.execute_region -> {type_} {{")
        self.lines.append(f"cf.br {head}({start}, {initial} : i8, {type_})")
        self.lines.append(f"{end}: scf.yield {carried} : {type_}")
        self.lines.append(f"{head}({number}: i8, {carried}: {type_}):")
        self.lines.append(f"{more} = arith.cmpi ne, {number}, %zero : i8")
        self.lines.append(f"cf.cond_br {more}, {body}, {end}")
        self.lines.append(f"{body}:")
        outer = {key: list(names) for key, names in self.values.items()}
        self.values[type_].append(carried)
        result = self.scoped(2, depth, type_)
        self.values = outer
        self.lines.append(f"{shifted} = arith.shrui {number}, %two : i8")
        self.lines.append(f"cf.br {head}({shifted}, {result} : i8, {type_}) }}")
        self.values[type_].append(name)

    def switch(self, depth: int) -> None:
        type_, flag, name, argument = self.type(), self.any("i8"), self.name(), self.name()
        one, end = (f"^{self.name()[1:]}" for _ in range(2))
        self.lines.append(f"{name} = scf.execute_region -> {type_} {{")
        passed = [f"({self.any(type_)} : {type_})" for _ in range(2)]
        cases = f"default: {end}{passed[0]}, 0: {one}, 1: {end}{passed[1]}, 7: {one}"
        self.lines.append(f"cf.switch {flag} : i8, [ {cases} ]")
        self.lines.append(f"{one}:")
        self.lines.append(f"cf.br {end}({self.scoped(2, depth, type_)} : {type_})")
        self.lines.append(f"{end}({argument}: {type_}): scf.yield {argument} : {type_} }}")
        self.values[type_].append(name)


ARGUMENTS = {"%a": "i8", "%b": "i8", "%c": "i32", "%d": "f32", "%e": "f8E4M3FN"}
SHAPED_ARGUMENTS = {"%t": "tensor<2x3xi8>", "%u": "tensor<?xi32>", "%w": "vector<4xf32>"}
CONSTANTS = {"%zero": 0, "%two": 2, "%seven": 7, "%forty": 40}


@st.composite
def programs(draw: Callable[[st.SearchStrategy[Any]], Any], shaped: bool = False) -> str:
    writer = Writer(draw, shaped)
    arguments = ARGUMENTS | (SHAPED_ARGUMENTS if shaped else {})
    writer.lines.append("%first = arith.constant 0 : index")
    for name, value in CONSTANTS.items():
        writer.lines.append(f"{name} = arith.constant {value} : i8")
        writer.values["i8"].append(name)
    for name, type_ in arguments.items():
        writer.values[type_].append(name)
    writer.statements(draw(st.integers(1, 6)), 2)
    types = [type_ for type_ in writer.values if writer.values[type_]]
    returned = [writer.values[type_][-1] for type_ in types]
    signature = ", ".join(f"{name}: {type_}" for name, type_ in arguments.items())
    spelled = ", ".join(types)
    end = f"return {', '.join(returned)} : {spelled}"
    return f"{HELPERS}func.func @main({signature}) -> ({spelled}) {{\n" + "\n".join([*writer.lines, end]) + "\n}"


SPECIAL = np.array([0, 0x80000000, 0x7F800000, 0x7FC00001, 0x3F800000, 0xC0200000, 0x42C80000, 1], np.uint32)


def lanes_of(seed: int, count: int) -> tuple[npt.NDArray[Any], ...]:
    rng = np.random.default_rng(seed)
    small = rng.integers(-8, 9, count).astype(np.int8)
    wide = np.where(rng.random(count) < 0.5, rng.integers(-(2**31), 2**31, count), small).astype(np.int32)
    codes = rng.integers(0, 256, count).astype(np.uint8)
    return (
        rng.integers(-128, 128, count).astype(np.int8),
        small,
        wide,
        rng.choice(SPECIAL, count).view(np.float32),
        codes,
    )


@settings(max_examples=120, deadline=None, suppress_health_check=list(HealthCheck))
@given(programs(), st.integers(0, 1000), st.sampled_from(["raise", "poison"]), st.booleans())
def test_every_lane_of_a_random_program_gets_what_it_gets_alone(
    text: str, seed: int, on_ub: str, track_open: bool
) -> None:
    *columns, codes = lanes_of(seed, 12)
    eighth = codes.view(np.dtype(ml_dtypes.float8_e4m3fn))
    agree(text, *columns, eighth, on_ub=on_ub, track_open=track_open, max_steps=20_000, max_depth=60)


@settings(max_examples=120, deadline=None, suppress_health_check=list(HealthCheck))
@given(programs(shaped=True), st.integers(0, 1000), st.sampled_from(["raise", "poison"]), st.booleans())
def test_every_lane_of_a_random_program_on_tensors_and_vectors_gets_what_it_gets_alone(
    text: str, seed: int, on_ub: str, track_open: bool
) -> None:
    *columns, codes = lanes_of(seed, 8)
    eighth = codes.view(np.dtype(ml_dtypes.float8_e4m3fn))
    rng = np.random.default_rng(seed)
    shaped = (
        rng.integers(-4, 5, (8, 2, 3)).astype(np.int8),
        rng.integers(-(2**31), 2**31, (8, 3)).astype(np.int32),
        rng.choice(SPECIAL, (8, 4)).view(np.float32),
    )
    agree(text, *columns, eighth, *shaped, on_ub=on_ub, track_open=track_open, max_steps=20_000, max_depth=60)


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
        calls.append(x.item())
        return x.item() ** 2

    c = np.array([True, False, True, True])
    assert numbers(text, np.arange(4, dtype=np.int32), c, externals={"host": host}) == [0, 1, 4, 9]
    assert calls == [0, 2, 3]


def test_registered_ops_and_conversions_work_in_lanes() -> None:
    register_op(
        "batchtest.flip", lambda x: ~x.numpy(), operands=["x"], assembly="$x attr-dict `:` type($x) `->` type($result)"
    )
    text = "func.func @main(%a: i8) -> i8 { %0 = batchtest.flip %a : i8 -> i8\n return %0 : i8 }"
    assert numbers(text, np.array([0, 5, -1], np.int8)) == [-1, -6, 0]
    register_cast("i24", "i12", lambda x: x.item() % 100)
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
            events.append((op.name, [value.numpy().tolist() for value in operands]))

        def op_did_run(self, op: Any, operands: Any, results: Any) -> None:
            if results:
                events.append((op.name, "gave", [value.numpy().tolist() for value in results]))

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
