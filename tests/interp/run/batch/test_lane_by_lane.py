"""Functions with ops that do not know of lanes: a batch gives each lane what it gets alone."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from batches import agree

import halfulp as hu
from halfulp.fp_formats.formats import codes_to_ints
from halfulp.fp_formats.paths import llvm
from halfulp.interp.ir.errors import OutOfSteps
from halfulp.interp.run.batch import program
from halfulp.interp.run.batch.run import LaneRun
from halfulp.interp.run.settings import Listener
from halfulp.running import run

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


# --- blocked lanes ----------------------------------------------------------------------------------------------------
#
# Large batches in blocks beside one run with all lanes.

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


@pytest.fixture(autouse=True)
def _by_executor() -> Iterator[None]:
    before = llvm.backend()
    llvm.use("numpy")
    yield
    llvm.use(before)


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


# --- moving -----------------------------------------------------------------------------------------------------------
#
# Batches of ops that move elements: every lane gets what it gets alone, without a call for each lane.

LANES = 7
RNG = np.random.default_rng(3)


def bytes_of(*shape: int) -> npt.NDArray[np.int8]:
    return RNG.integers(-128, 128, (LANES, *shape), dtype=np.int8)


def places(size: int) -> npt.NDArray[np.int64]:
    return RNG.integers(0, size, LANES)


def function(arguments: str, result: str, body: str) -> str:
    return f"func.func @main({arguments}) -> {result} {{\n{body}\n  return %r : {result}\n}}"


T, S, AT, BY = bytes_of(3, 4), bytes_of(2, 4), places(3), places(4)

PROGRAMS: dict[str, tuple[str, tuple[Any, ...]]] = {
    "tensor.extract": (
        function("%t: tensor<3x4xi8>, %i: index, %j: index", "i8", "%r = tensor.extract %t[%i, %j] : tensor<3x4xi8>"),
        (T, AT, BY),
    ),
    "tensor.extract at a place of all lanes": (
        function(
            "%t: tensor<3x4xi8>, %i: index",
            "i8",
            "%c = arith.constant 2 : index\n%r = tensor.extract %t[%c, %c] : tensor<3x4xi8>",
        ),
        (T, AT),
    ),
    "tensor.extract from a tensor of all lanes": (
        function(
            "%i: index, %j: index",
            "i8",
            "%t = arith.constant dense<[[1, 2, 3, 4], [5, 6, 7, 8], [9, 10, 11, 12]]> : tensor<3x4xi8>\n"
            "%r = tensor.extract %t[%i, %j] : tensor<3x4xi8>",
        ),
        (AT, BY),
    ),
    "tensor.insert": (
        function(
            "%t: tensor<3x4xi8>, %x: i8, %i: index, %j: index",
            "tensor<3x4xi8>",
            "%r = tensor.insert %x into %t[%i, %j] : tensor<3x4xi8>",
        ),
        (T, bytes_of(), AT, BY),
    ),
    "tensor.insert at a place of all lanes": (
        function(
            "%t: tensor<3x4xi8>, %x: i8",
            "tensor<3x4xi8>",
            "%c = arith.constant 1 : index\n%r = tensor.insert %x into %t[%c, %c] : tensor<3x4xi8>",
        ),
        (T, bytes_of()),
    ),
    "tensor.insert into a tensor of all lanes": (
        function(
            "%x: i8, %i: index",
            "tensor<3xi8>",
            "%t = arith.constant dense<[1, 2, 3]> : tensor<3xi8>\n%r = tensor.insert %x into %t[%i] : tensor<3xi8>",
        ),
        (bytes_of(), AT),
    ),
    "tensor.extract_slice": (
        function(
            "%t: tensor<3x4xi8>, %i: index, %j: index",
            "tensor<2xi8>",
            "%r = tensor.extract_slice %t[%i, %j] [1, 2] [1, 2] : tensor<3x4xi8> to tensor<2xi8>",
        ),
        (T, AT, BY % 2),
    ),
    "tensor.extract_slice backwards": (
        function(
            "%t: tensor<4xi8>, %i: index, %s: index",
            "tensor<2xi8>",
            "%m = arith.constant -2 : index\n%r = tensor.extract_slice %t[%i] [2] [%m] : tensor<4xi8> to tensor<2xi8>",
        ),
        (bytes_of(4), 2 + BY % 2, AT),
    ),
    "tensor.extract_slice of nothing": (
        function(
            "%t: tensor<4xi8>, %i: index",
            "tensor<0xi8>",
            "%r = tensor.extract_slice %t[%i] [0] [1] : tensor<4xi8> to tensor<0xi8>",
        ),
        (bytes_of(4), BY + 3),
    ),
    "tensor.insert_slice": (
        function(
            "%s: tensor<2xi8>, %t: tensor<3x4xi8>, %i: index, %j: index",
            "tensor<3x4xi8>",
            "%r = tensor.insert_slice %s into %t[%i, %j] [1, 2] [1, 2] : tensor<2xi8> into tensor<3x4xi8>",
        ),
        (bytes_of(2), T, AT, BY % 2),
    ),
    "sizes from lanes": (
        function(
            "%t: tensor<4xi8>, %n: index",
            "tensor<?xi8>",
            "%r = tensor.extract_slice %t[0] [%n] [1] : tensor<4xi8> to tensor<?xi8>",
        ),
        (bytes_of(4), np.full(LANES, 3)),
    ),
    "shapes": (
        function(
            "%t: tensor<3x4xi8>, %s: tensor<2x4xi8>",
            "tensor<?xi8>",
            """%a = tensor.concat dim(0) %t, %s : (tensor<3x4xi8>, tensor<2x4xi8>) -> tensor<5x4xi8>
            %b = tensor.collapse_shape %a [[0, 1]] : tensor<5x4xi8> into tensor<20xi8>
            %c = tensor.expand_shape %b [[0, 1]] output_shape [4, 5] : tensor<20xi8> into tensor<4x5xi8>
            %d = tensor.cast %c : tensor<4x5xi8> to tensor<*xi8>
            %e = tensor.cast %d : tensor<*xi8> to tensor<?x5xi8>
            %n = arith.constant dense<[20]> : tensor<1xindex>
            %r = tensor.reshape %e(%n) : (tensor<?x5xi8>, tensor<1xindex>) -> tensor<?xi8>""",
        ),
        (T, S),
    ),
    "tensor.concat with a tensor of all lanes": (
        function(
            "%t: tensor<2xi8>",
            "tensor<4xi8>",
            "%c = arith.constant dense<[1, 2]> : tensor<2xi8>\n"
            "%r = tensor.concat dim(0) %c, %t : (tensor<2xi8>, tensor<2xi8>) -> tensor<4xi8>",
        ),
        (bytes_of(2),),
    ),
    "dimensions": (
        function(
            "%t: tensor<?x4xi8>, %i: index",
            "index",
            "%d = tensor.dim %t, %i : tensor<?x4xi8>\n%k = tensor.rank %t : tensor<?x4xi8>\n"
            "%r = arith.addi %d, %k : index",
        ),
        (T, AT % 2),
    ),
    "scalars in tensors": (
        function(
            "%x: i8, %y: i8",
            "tensor<4xi8>",
            "%s = tensor.splat %x : tensor<2xi8>\n%e = tensor.from_elements %y, %x : tensor<2xi8>\n"
            "%r = tensor.concat dim(0) %s, %e : (tensor<2xi8>, tensor<2xi8>) -> tensor<4xi8>",
        ),
        (bytes_of(), bytes_of()),
    ),
    "tensor.gather and tensor.scatter": (
        function(
            "%t: tensor<3x4xi8>",
            "tensor<3x4xi8>",
            "%i = arith.constant dense<[[2], [0]]> : tensor<2x1xindex>\n"
            "%g = tensor.gather %t[%i] gather_dims([0]) : (tensor<3x4xi8>, tensor<2x1xindex>) -> tensor<2x4xi8>\n"
            "%j = arith.constant dense<[[1], [2]]> : tensor<2x1xindex>\n"
            "%r = tensor.scatter %g into %t[%j] scatter_dims([0]) unique "
            ": (tensor<2x4xi8>, tensor<3x4xi8>, tensor<2x1xindex>) -> tensor<3x4xi8>",
        ),
        (T,),
    ),
    "vector.extract and vector.insert": (
        function(
            "%v: vector<3x4xi8>, %i: index, %j: index",
            "vector<3x4xi8>",
            """%row = vector.extract %v[%i] : vector<4xi8> from vector<3x4xi8>
            %x = vector.extract %v[1, %j] : i8 from vector<3x4xi8>
            %y = vector.extract %row[3] : i8 from vector<4xi8>
            %a = vector.insert %x, %row[%i] : i8 into vector<4xi8>
            %b = vector.insert %y, %a[0] : i8 into vector<4xi8>
            %r = vector.insert %b, %v[%i] : vector<4xi8> into vector<3x4xi8>""",
        ),
        (T, AT, BY),
    ),
    "vectors": (
        function(
            "%v: vector<2x4xi8>, %x: i8",
            "vector<2x4xi8>",
            """%t = vector.transpose %v, [1, 0] : vector<2x4xi8> to vector<4x2xi8>
            %c = vector.shape_cast %t : vector<4x2xi8> to vector<8xi8>
            %a, %b = vector.deinterleave %c : vector<8xi8> -> vector<4xi8>
            %d = vector.interleave %b, %a : vector<4xi8> -> vector<8xi8>
            %e = vector.shuffle %c, %d [15, 0, 8, 7, 1, 2, 3, 14] : vector<8xi8>, vector<8xi8>
            %f = vector.extract_strided_slice %e {offsets = [1], sizes = [4], strides = [1]} : vector<8xi8> to vector<4xi8>
            %g = vector.broadcast %f : vector<4xi8> to vector<2x4xi8>
            %h:4 = vector.to_elements %f : vector<4xi8>
            %k = vector.from_elements %h#3, %x : vector<2xi8>
            %r = vector.insert_strided_slice %k, %g {offsets = [1, 2], strides = [1]} : vector<2xi8> into vector<2x4xi8>""",
        ),
        (S, bytes_of()),
    ),
    "limbs": (
        function(
            "%t: tensor<3xf80>, %i: index",
            "tensor<3xf80>",
            "%x = tensor.extract %t[%i] : tensor<3xf80>\n%c = arith.constant 1 : index\n"
            "%r = tensor.insert %x into %t[%c] : tensor<3xf80>",
        ),
        (RNG.integers(0, 1 << 16, (LANES, 3, 2), dtype=np.uint64), AT),
    ),
}


@pytest.fixture
def no_lane_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    def alone(*_: Any) -> Any:
        raise AssertionError("a function was called for each lane")

    monkeypatch.setattr(LaneRun, "rows", alone)


ONE_BY_ONE = {"tensor.extract_slice backwards", "tensor.extract_slice of nothing", "sizes from lanes", "dimensions"}
"""Programs that fall back on a call for each lane."""


@pytest.mark.parametrize("name", PROGRAMS)
def test_every_lane_gets_what_it_gets_alone(name: str) -> None:
    text, columns = PROGRAMS[name]
    agree(text, *columns)
    agree(text, *columns, track_open=True)


@pytest.mark.parametrize("name", [name for name in PROGRAMS if name not in ONE_BY_ONE])
def test_no_function_is_called_for_each_lane(name: str, no_lane_alone: None) -> None:
    text, columns = PROGRAMS[name]
    run(text, *columns, batch=True)


@pytest.mark.parametrize(
    "name", ["tensor.extract", "tensor.insert", "tensor.extract_slice", "vector.extract and vector.insert"]
)
def test_lanes_with_an_index_outside_are_named(name: str) -> None:
    text, (*columns, i, j) = PROGRAMS[name]
    outside, negative = i.copy(), j.copy()
    outside[[1, 4]] = 3, 1 << 40
    negative[5] = -1
    agree(text, *columns, outside, negative)


POISONED = """func.func @main(%v: vector<4xi8>, %i: index, %s: i8, %p: i8) -> (vector<4xi8>, i8, vector<3xi8>) {
  %b = vector.broadcast %s : i8 to vector<4xi8>
  %w = arith.shli %v, %b : vector<4xi8>
  %x = vector.extract %w[%i] : i8 from vector<4xi8>
  %r = vector.insert %p, %w[%i] : i8 into vector<4xi8>
  %t = vector.shuffle %w, %w [0, -1, 5] : vector<4xi8>, vector<4xi8>
  return %r, %x, %t : vector<4xi8>, i8, vector<3xi8>
}"""


def test_poison_moves_with_its_reason() -> None:
    """A shift of 8 or more is poison, and so is a place that a shuffle leaves out."""
    agree(POISONED, bytes_of(4), BY, np.array([0, 9, 1, 8, 2, 3, 12], np.int8), bytes_of())


def test_poison_in_an_index_is_undefined_in_its_lanes() -> None:
    text = function(
        "%t: tensor<3xi8>, %i: index, %s: index",
        "i8",
        "%k = arith.shli %i, %s : index\n%r = tensor.extract %t[%k] : tensor<3xi8>",
    )
    agree(text, bytes_of(3), AT, np.array([0, 0, 64, 0, 70, 0, 0]))


def test_listeners_hear_of_the_poison_of_each_lane() -> None:
    born: list[tuple[tuple[int, ...], int]] = []

    class Births(Listener):
        def poison_born(self, op: Any, origin: Any, count: int) -> None:
            born.append((origin.element, count))

    text = function(
        "%v: vector<2xi8>", "vector<2xi8>", "%r = vector.shuffle %v, %v [1, -1] : vector<2xi8>, vector<2xi8>"
    )
    (result,) = run(text, bytes_of(2), batch=True, listeners=[Births()])
    assert result.poisoned.tolist() == [[False, True]] * LANES
    assert born == [((1,), 1)] * LANES


def test_scales_along_an_axis_stay_with_it() -> None:
    text = """
    !q = !quant.uniform<i8:f32:0, {1.0, 2.0}>
    func.func @main(%t: tensor<2xi8>) -> tensor<2xf32> {
      %q = quant.scast %t : tensor<2xi8> to tensor<2x!q>
      %c = tensor.cast %q : tensor<2x!q> to tensor<?x!q>
      %s = tensor.cast %c : tensor<?x!q> to tensor<2x!q>
      %r = quant.dcast %s : tensor<2x!q> to tensor<2xf32>
      return %r : tensor<2xf32>
    }"""
    agree(text, bytes_of(2))
