"""Batches of ops that move elements: every lane gets what it gets alone, without a call for each lane."""

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from batches import agree
from tables import each_row

from halfulp.interp.run.batch.run import LaneRun
from halfulp.interp.run.settings import Listener
from halfulp.running import run

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


@each_row("tensor.extract", "tensor.insert", "tensor.extract_slice", "vector.extract and vector.insert")
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
    shuffled = "%r = vector.shuffle %v, %v [1, -1] : vector<2xi8>, vector<2xi8>"  # of values without poison
    agree(function("%v: vector<2xi8>", "vector<2xi8>", shuffled), bytes_of(2))


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
