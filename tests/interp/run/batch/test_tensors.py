"""Batches of tensors and vectors: values of each lane, values that lanes share, and values that lanes cannot have."""

from typing import Any

import numpy as np
import pytest
from tables import each_row

from halfulp.interp.ir.errors import AssertionFailed, LimitExceeded, TypeMismatch, UndefinedBehavior, Unsupported
from halfulp.interp.run.settings import Listener
from halfulp.interp.values.buffers import Buffer
from halfulp.interp.values.value import Value
from halfulp.register import op
from halfulp.running import run
from halfulp.traces.trace import trace

ADD = "func.func @main(%a: {0}, %b: {0}) -> {0} {{ %0 = arith.addi %a, %b : {0}\n return %0 : {0} }}"
DIVIDE = ADD.replace("addi", "divsi").format("tensor<2xi8>")


def i8(*rows: Any) -> Any:
    return np.array(rows, np.int8)


# --- arguments and results --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("type_", ["tensor<2xi8>", "tensor<?xi8>", "vector<2xi8>"])
def test_an_axis_more_is_that_over_the_lanes_and_without_it_all_have_the_same(type_: str) -> None:
    lanes, same = i8([1, 2], [3, 4], [5, 6]), i8(10, 20)
    for one, other in ((lanes, same), (same, lanes), (Value.from_numpy(lanes), Value.from_numpy(same))):
        (result,) = run(ADD.format(type_), one, other, batch=True)
        assert str(result.type) == "tensor<3x2xi8>"
        assert result.numpy().tolist() == [[11, 22], [13, 24], [15, 26]]


def test_results_that_all_lanes_have_alike_have_the_axis_too() -> None:
    text = """func.func @main(%a: i8) -> (vector<2xi8>, tensor<2xi8>) {
      %c = arith.constant dense<[3, 4]> : vector<2xi8>
      %p = ub.poison : tensor<2xi8>
      return %c, %p : vector<2xi8>, tensor<2xi8>
    }"""
    vector, tensor = run(text, i8(1, 2, 3), batch=True)
    assert str(vector.type) == str(tensor.type) == "tensor<3x2xi8>"
    assert vector.numpy().tolist() == [[3, 4]] * 3
    assert tensor.poisoned.all()


def test_wide_elements_have_their_limbs_last() -> None:
    text = ADD.format("tensor<2xi128>")
    bits = np.arange(12, dtype=np.uint64).reshape(3, 2, 2)
    (result,) = run(text, bits, bits[0], batch=True)
    assert result.bits.tolist() == (bits + bits[0]).tolist()
    (result,) = run(text, np.array([[1, 2**100], [3, 4]], object), np.array([5, 6], object), batch=True)
    assert result.numpy().tolist() == [[6, 2**100 + 6], [8, 10]]


def test_scalable_vectors_have_the_elements_that_the_machine_has() -> None:
    text = ADD.format("vector<[2]xi8>")
    lanes = np.arange(12, dtype=np.int8).reshape(3, 4)
    (result,) = run(text, lanes, lanes[1], batch=True, vscale=2)
    assert np.array_equal(result.numpy(), lanes + lanes[1])


def test_no_lanes_have_results_without_elements() -> None:
    text = "func.func @main(%a: tensor<?x2xi8>) -> tensor<?x2xi8> { return %a : tensor<?x2xi8> }"
    (result,) = run(text, np.zeros((0, 3, 2), np.int8), batch=True)
    assert str(result.type) == "tensor<0x0x2xi8>"


@pytest.mark.parametrize("shape", [(2, 3), (3, 2, 2), ()])
def test_arguments_of_other_ranks_and_shapes_are_refused(shape: tuple[int, ...]) -> None:
    with pytest.raises(TypeMismatch, match="argument 1 of @main: .*<[?]x2xi8>"):
        run(ADD.format("tensor<2xi8>"), np.zeros((3, 2), np.int8), np.zeros(shape, np.int8), batch=True)


def test_a_buffer_is_no_argument_of_lanes() -> None:
    buffer = Buffer.from_numpy(np.zeros((3, 2), np.int8))
    with pytest.raises(TypeMismatch, match="expected 'tensor<2xi8>', got a buffer of type 'memref<3x2xi8>'"):
        run(ADD.format("tensor<2xi8>"), np.zeros((3, 2), np.int8), buffer, batch=True)


def test_lanes_of_another_number_are_refused() -> None:
    with pytest.raises(TypeMismatch, match="argument 1 of @main has 2 lanes, but an argument before it has 3"):
        run(ADD.format("tensor<2xi8>"), np.zeros((3, 2), np.int8), np.zeros((2, 2), np.int8), batch=True)
    with pytest.raises(TypeMismatch, match="no argument of @main has lanes"):
        run(ADD.format("tensor<2xi8>"), i8(1, 2), i8(1, 2), batch=True)


# --- undefined behaviour and poison -----------------------------------------------------------------------------------


def test_undefined_behaviour_names_the_lane_and_what_it_reports_alone() -> None:
    a, b = i8([7, 8], [9, 10], [11, 12]), i8([1, 1], [1, 0], [0, 0])
    with pytest.raises(UndefinedBehavior) as alone:
        run(DIVIDE, a[1], b[1])
    with pytest.raises(UndefinedBehavior) as caught:
        run(DIVIDE, a, b, batch=True)
    assert caught.value.message == f"{alone.value.message} (lane 1; 2 of 3 lanes)"
    assert "at element [1]: lhs = 10, rhs = 0 (1 of 2 elements)" in alone.value.message
    assert caught.value.lanes is not None
    assert caught.value.lanes.tolist() == [1, 2]


def test_poison_is_told_of_with_its_place_among_all_lanes() -> None:
    born: list[tuple[tuple[int, ...], int]] = []

    class Births(Listener):
        def poison_born(self, op: Any, origin: Any, count: int) -> None:
            born.append((origin.element, count))

    a, b = i8([7, 8], [9, 10], [11, 12]), i8([1, 1], [1, 0], [0, 0])
    (result,) = run(DIVIDE, a, b, batch=True, on_ub="poison", listeners=[Births()])
    assert result.poisoned.tolist() == [[False, False], [False, True], [True, True]]
    origin = result.origin(2, 0)
    assert origin is not None
    assert origin.element == (1, 1)
    assert born == [((1, 1), 3)]


def test_poison_that_an_op_makes_lane_by_lane_is_told_of_with_its_lane() -> None:
    text = """func.func @main(%n: index) -> tensor<?xi8> {
      %e = tensor.empty(%n) : tensor<?xi8>
      return %e : tensor<?xi8>
    }"""
    (result,) = run(text, np.array([2, 2], np.int64), batch=True)
    assert result.poisoned.all()
    origin = result.origin(1, 1)
    assert origin is not None
    assert origin.element == (0, 0)


def test_lanes_without_poison_have_none_after_they_part_from_others() -> None:
    text = """func.func @main(%a: vector<2xi8>, %b: vector<2xi8>, %p: i1) -> vector<2xi8> {
      %s = arith.shli %a, %b : vector<2xi8>
      %r = scf.if %p -> (vector<2xi8>) {
        scf.yield %s : vector<2xi8>
      } else {
        scf.yield %a : vector<2xi8>
      }
      return %r : vector<2xi8>
    }"""
    (result,) = run(text, i8([1, 2], [3, 4]), i8([1, 1], [9, 1]), np.array([True, False]), batch=True)
    assert result.poison is None
    assert result.numpy().tolist() == [[2, 4], [3, 4]]
    (result,) = run(text, i8([1, 2], [3, 4]), i8([1, 1], [9, 1]), np.array([False, True]), batch=True)
    assert result.poisoned.tolist() == [[False, False], [True, False]]


@each_row(([-1, 1 << 40, -5], UndefinedBehavior), ([1 << 40, -1, 1 << 41], LimitExceeded))
def test_lanes_that_fail_otherwise_are_not_named_with_the_first(sizes: list[int], error: Any) -> None:
    text = """func.func @main(%n: index) -> tensor<?xi8> {
      %e = tensor.empty(%n) : tensor<?xi8>
      return %e : tensor<?xi8>
    }"""
    with pytest.raises(error, match=r"\(lane 0; 2 of 3 lanes\)") as caught:
        run(text, np.array(sizes, np.int64), batch=True)
    assert caught.value.lanes.tolist() == [0, 2]


def test_an_index_outside_in_some_lanes_names_these() -> None:
    text = """func.func @main(%t: tensor<2xi8>, %i: index) -> i8 {
      %x = tensor.extract %t[%i] : tensor<2xi8>
      return %x : i8
    }"""
    t = i8([1, 2], [3, 4], [5, 6], [7, 8])
    assert run(text, t, np.array([0, 1, 1, 0]), batch=True)[0].numpy().tolist() == [1, 4, 6, 7]
    with pytest.raises(
        UndefinedBehavior, match=r"index \[5\] is outside the shape 2 \(lane 1; 2 of 4 lanes\)"
    ) as caught:
        run(text, t, np.array([0, 5, 1, 9]), batch=True)
    assert caught.value.lanes is not None
    assert caught.value.lanes.tolist() == [1, 3]
    with pytest.raises(UndefinedBehavior, match=r"\(lane 0; 4 of 4 lanes\)"):
        run(text, t, 5, batch=True)


def test_shapes_that_disagree_are_told_without_the_lanes() -> None:
    text = ADD.format("tensor<?xi8>")
    with pytest.raises(UndefinedBehavior, match=r"different shapes at run time: '2' and '3' \(lane 0; 4 of 4 lanes\)"):
        run(text, np.zeros((4, 2), np.int8), np.zeros((4, 3), np.int8), batch=True)
    with pytest.raises(UndefinedBehavior, match=r"different shapes at run time: '2' and '3' \(lane 0; 4 of 4 lanes\)"):
        run(text, np.zeros((4, 2), np.int8), np.zeros(3, np.int8), batch=True)
    select = """func.func @main(%c: i1, %a: tensor<?xi8>, %b: tensor<?xi8>) -> tensor<?xi8> {
      %0 = arith.select %c, %a, %b : tensor<?xi8>
      return %0 : tensor<?xi8>
    }"""
    a, b = np.arange(8, dtype=np.int8).reshape(4, 2), i8(-1, -2)
    c = np.array([True, False, False, True])
    assert run(select, c, a, b, batch=True)[0].numpy().tolist() == [[0, 1], [-1, -2], [-1, -2], [6, 7]]
    assert run(select, True, a, b, batch=True)[0].numpy().tolist() == a.tolist()
    for condition in (c, True):
        with pytest.raises(UndefinedBehavior, match=r"'2' and '3' \(lane 0; 4 of 4 lanes\)"):
            run(select, condition, a, np.zeros(3, np.int8), batch=True)


def test_a_scalar_that_stands_for_all_elements_stands_for_those_of_its_lane() -> None:
    text = """func.func @main(%t: tensor<2xf4E2M1FN>, %s: f8E8M0FNU) -> tensor<2xf32> {
      %0 = arith.scaling_extf %t, %s : tensor<2xf4E2M1FN>, f8E8M0FNU to tensor<2xf32>
      return %0 : tensor<2xf32>
    }"""
    codes, scales = np.array([[2, 4], [3, 6]], np.uint8), np.array([127, 130], np.uint8)
    numbers = np.array([[1, 2], [1.5, 4]], np.float32)
    t, s = Value.from_bits(codes, "f4E2M1FN"), Value.from_bits(scales, "f8E8M0FNU")
    one, same = Value.from_bits(128, "f8E8M0FNU"), Value.from_bits(codes[0], "f4E2M1FN")
    assert run(text, t, s, batch=True)[0].numpy().tolist() == (numbers * [[1], [8]]).tolist()
    assert run(text, t, one, batch=True)[0].numpy().tolist() == (numbers * 2).tolist()
    assert run(text, same, s, batch=True)[0].numpy().tolist() == [[1, 2], [8, 16]]


# --- control flow -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["parallel", "reduction"])
def test_a_body_reads_a_tensor_without_dimensions_of_its_lane(kind: str) -> None:
    out, rank = ("3x", "d0") if kind == "parallel" else ("", "")
    text = f"""func.func @main(%a: tensor<3xi8>, %o: tensor<{out}i8>, %c: tensor<i8>) -> tensor<{out}i8> {{
      %r = linalg.generic {{indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> ({rank})>],
          iterator_types = ["{kind}"]}} ins(%a : tensor<3xi8>) outs(%o : tensor<{out}i8>) {{
      ^bb0(%x: i8, %y: i8):
        %e = tensor.extract %c[] : tensor<i8>
        %m = arith.muli %x, %e : i8
        %s = arith.addi %m, %y : i8
        linalg.yield %s : i8
      }} -> tensor<{out}i8>
      return %r : tensor<{out}i8>
    }}"""
    a, c = i8([1, 2, 3], [4, 5, 6]), i8(10, -1)
    zeros = np.zeros((2, 3) if out else 2, np.int8)
    (result,) = run(text, a, zeros, c, batch=True)
    assert result.numpy().tolist() == ([[10, 20, 30], [-4, -5, -6]] if out else [60, -15])


def test_tensors_are_carried_through_branches_loops_and_calls() -> None:
    text = """
    func.func private @twice(%t: tensor<2xi32>) -> tensor<2xi32> {
      %r = arith.addi %t, %t : tensor<2xi32>
      return %r : tensor<2xi32>
    }
    func.func @main(%t: tensor<2xi32>, %n: index) -> tensor<2xi32> {
      %zero = arith.constant 0 : index
      %one = arith.constant 1 : index
      %two = arith.constant 2 : index
      %r = scf.for %i = %zero to %n step %one iter_args(%x = %t) -> tensor<2xi32> {
        %odd = arith.remui %i, %two : index
        %c = arith.cmpi eq, %odd, %one : index
        %y = scf.if %c -> tensor<2xi32> {
          %z = func.call @twice(%x) : (tensor<2xi32>) -> tensor<2xi32>
          scf.yield %z : tensor<2xi32>
        } else {
          %z = arith.addi %x, %t : tensor<2xi32>
          scf.yield %z : tensor<2xi32>
        }
        scf.yield %y : tensor<2xi32>
      }
      return %r : tensor<2xi32>
    }"""

    def expected(row: list[int], n: int) -> list[int]:
        x = list(row)
        for i in range(n):
            x = [2 * v for v in x] if i % 2 else [v + w for v, w in zip(x, row, strict=True)]
        return x

    t, n = np.arange(20, dtype=np.int32).reshape(10, 2), np.arange(10) % 7
    (result,) = run(text, t, n, batch=True)
    assert result.numpy().tolist() == [expected(row.tolist(), int(k)) for row, k in zip(t, n, strict=True)]


def test_lanes_of_different_shapes_are_refused() -> None:
    text = """func.func @main(%n: index) -> tensor<?xi8> {
      %one = arith.constant 1 : i8
      %t = tensor.splat %one[%n] : tensor<?xi8>
      return %t : tensor<?xi8>
    }"""
    assert run(text, np.array([3, 3]), batch=True)[0].shape == (2, 3)
    with pytest.raises(
        Unsupported, match=r"cannot hold values of type 'tensor<\?xi8>' of different shapes: '2' and '3'"
    ):
        run(text, np.array([2, 3]), batch=True)


def test_an_unranked_tensor_over_lanes_has_its_rank() -> None:
    text = """func.func @main(%t: tensor<2xi8>) -> tensor<2xi8> {
      %u = tensor.cast %t : tensor<2xi8> to tensor<*xi8>
      %v = arith.addi %u, %u : tensor<*xi8>
      %w = tensor.cast %v : tensor<*xi8> to tensor<2xi8>
      return %w : tensor<2xi8>
    }"""
    assert run(text, i8([1, 2], [3, 4]), batch=True)[0].numpy().tolist() == [[2, 4], [6, 8]]
    assert run(text, i8([1, 2]), batch=True)[0].numpy().tolist() == [[2, 4]]


def test_scales_that_go_with_an_axis_go_with_that_of_each_lane() -> None:
    text = """
    !q = !quant.uniform<i8:f32:0, {1.0, 2.0}>
    func.func @main(%t: tensor<2xf32>) -> tensor<2xi8> {
      %q = quant.qcast %t : tensor<2xf32> to tensor<2x!q>
      %s = quant.scast %q : tensor<2x!q> to tensor<2xi8>
      return %s : tensor<2xi8>
    }"""
    (result,) = run(text, np.array([[4, 4], [8, 8], [100, 100]], np.float32), batch=True)
    assert result.numpy().tolist() == [[4, 2], [8, 4], [100, 50]]


def test_all_lanes_together_are_one_value_for_the_limit_of_its_bytes() -> None:
    text = """func.func @main(%a: i8) -> tensor<1000xi8> {
      %t = tensor.splat %a : tensor<1000xi8>
      return %t : tensor<1000xi8>
    }"""
    assert run(text, i8(1, 2, 3), batch=True, max_bytes=3000)[0].shape == (3, 1000)
    with pytest.raises(LimitExceeded, match="takes 3000 bytes; the limit is 2999"):
        run(text, i8(1, 2, 3), batch=True, max_bytes=2999)


def test_an_assertion_and_functions_of_ones_own_see_one_lane() -> None:
    op(
        "batchtensors.turn",
        lambda x: x.numpy()[::-1],
        operands=["x"],
        assembly="$x attr-dict `:` type($x) `->` type($result)",
    )
    text = """
    func.func private @host(tensor<2xi8>) -> tensor<2xi8>
    func.func @main(%t: tensor<2xi8>) -> tensor<2xi8> {
      %zero = arith.constant 0 : index
      %none = arith.constant 0 : i8
      %x = tensor.extract %t[%zero] : tensor<2xi8>
      %c = arith.cmpi ne, %x, %none : i8
      cf.assert %c, "the first is zero"
      %0 = func.call @host(%t) : (tensor<2xi8>) -> tensor<2xi8>
      %1 = batchtensors.turn %0 : tensor<2xi8> -> tensor<2xi8>
      return %1 : tensor<2xi8>
    }"""
    seen: list[list[int]] = []

    def host(x: Value) -> Any:
        seen.append(x.numpy().tolist())
        return x.numpy() * np.int8(2)

    (result,) = run(text, i8([1, 2], [3, 4]), batch=True, externals={"host": host})
    assert (seen, result.numpy().tolist()) == ([[1, 2], [3, 4]], [[4, 2], [8, 6]])
    with pytest.raises(AssertionFailed, match=r"the first is zero \(lane 1; 1 of 2 lanes\)"):
        run(text, i8([1, 2], [0, 4]), batch=True, externals={"host": host})


# --- events -----------------------------------------------------------------------------------------------------------


def test_listeners_and_traces_see_all_lanes_that_run_an_op() -> None:
    text = """func.func @main(%t: tensor<2xi8>, %c: i1) -> tensor<2xi8> {
      %r = scf.if %c -> tensor<2xi8> {
        %x = arith.divsi %t, %t : tensor<2xi8>
        scf.yield %x : tensor<2xi8>
      } else {
        scf.yield %t : tensor<2xi8>
      }
      return %r : tensor<2xi8>
    }"""
    told: list[Any] = []

    class Operands(Listener):
        def op_will_run(self, op: Any, operands: Any) -> None:
            if op.name == "arith.divsi":
                told.append([value.numpy().tolist() for value in operands])

    t, c = i8([1, 2], [0, 4], [5, 0]), np.array([True, False, True])
    run(text, t, c, batch=True, on_ub="poison", listeners=[Operands()])
    assert told == [[[[1, 2], [5, 0]]] * 2]
    traced = trace(text, t, c, batch=True, on_ub="poison")
    (step,) = [step for step in traced.steps if step.op == "arith.divsi"]
    assert (step.lanes, step.results[0].text) == ((2, (0, 2)), "2x2xi8=[1 1][1 poison]")
    assert [(birth.origin.element, birth.count) for birth in step.births] == [((2, 1), 1)]
    assert "2x2xi8=[1 1][1 poison]" in str(traced)
    assert "2x2xi8=[1 1][1 poison]" in traced.html()
    assert traced.results[0].poisoned.tolist() == [[False, False], [False, False], [False, True]]
