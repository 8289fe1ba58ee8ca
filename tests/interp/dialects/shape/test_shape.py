"""Computations with shapes: broadcasting as NumPy does it, errors, and constraints."""

from itertools import product
from typing import Any

import numpy as np
import pytest
from tables import each_row

import halfulp as hu

MODULE = hu.parse("""
func.func @extents(%a: tensor<?xindex>, %b: tensor<?xindex>) -> (tensor<?xindex>, index, i1, i1) {
  %0 = shape.broadcast %a, %b : tensor<?xindex>, tensor<?xindex> -> tensor<?xindex>
  %n = shape.num_elements %0 : tensor<?xindex> -> index
  %e = shape.shape_eq %a, %b : tensor<?xindex>, tensor<?xindex>
  %f = shape.is_broadcastable %a, %b : tensor<?xindex>, tensor<?xindex>
  return %0, %n, %e, %f : tensor<?xindex>, index, i1, i1
}
func.func @fits(%a: tensor<?xindex>, %b: tensor<?xindex>) -> i1 {
  %0 = shape.is_broadcastable %a, %b : tensor<?xindex>, tensor<?xindex>
  return %0 : i1
}
func.func @assuming(%a: tensor<?x?xf32>, %b: tensor<?xf32>, %c: i1) -> index {
  %0 = shape.shape_of %a : tensor<?x?xf32> -> !shape.shape
  %1 = shape.shape_of %b : tensor<?xf32> -> !shape.shape
  %w = shape.cstr_broadcastable %0, %1 : !shape.shape, !shape.shape
  %v = shape.cstr_require %c, "the caller promised"
  %all = shape.assuming_all %w, %v
  %r = shape.assuming %all -> index {
    %2 = shape.broadcast %0, %1 : !shape.shape, !shape.shape -> !shape.shape
    %s = shape.num_elements %2 : !shape.shape -> !shape.size
    %i = shape.size_to_index %s : !shape.size
    shape.assuming_yield %i : index
  }
  return %r : index
}
func.func @reduce(%a: tensor<?x?xf32>) -> (index, tensor<2xindex>) {
  %s = shape.shape_of %a : tensor<?x?xf32> -> !shape.shape
  %one = shape.const_size 1
  %n = shape.reduce(%s, %one) : !shape.shape -> !shape.size {
  ^bb0(%index: index, %extent: !shape.size, %acc: !shape.size):
    %i = shape.index_to_size %index
    %0 = shape.add %extent, %i : !shape.size, !shape.size -> !shape.size
    %1 = shape.mul %acc, %0 : !shape.size, !shape.size -> !shape.size
    shape.yield %1 : !shape.size
  }
  %r = shape.size_to_index %n : !shape.size
  %e = shape.to_extent_tensor %s : !shape.shape -> tensor<2xindex>
  return %r, %e : index, tensor<2xindex>
}
func.func @split(%k: index) -> (tensor<?xindex>, tensor<?xindex>) {
  %s = shape.const_shape [2, 3, 4] : !shape.shape
  %h, %t = "shape.split_at"(%s, %k) : (!shape.shape, index) -> (!shape.shape, !shape.shape)
  %a = shape.to_extent_tensor %h : !shape.shape -> tensor<?xindex>
  %b = shape.to_extent_tensor %t : !shape.shape -> tensor<?xindex>
  return %a, %b : tensor<?xindex>, tensor<?xindex>
}
func.func @div(%a: index, %b: index) -> index {
  %0 = shape.div %a, %b : index, index -> index
  return %0 : index
}
func.func @meet(%a: tensor<?xindex>, %b: tensor<?xindex>) -> tensor<?xindex> {
  %0 = shape.meet %a, %b, error = "the batch sizes differ" : tensor<?xindex>, tensor<?xindex> -> tensor<?xindex>
  return %0 : tensor<?xindex>
}
func.func @said(%a: tensor<?xf32>) -> tensor<?x1xf32> {
  %zero = arith.constant 0 : index
  %n = shape.dim %a, %zero : tensor<?xf32>, index -> index
  %one = shape.const_size 1
  %s = shape.from_extents %n, %one : index, !shape.size
  %v = shape.with_shape %a, %s : tensor<?xf32>, !shape.shape
  %r = shape.value_of %v : tensor<?x1xf32>
  return %r : tensor<?x1xf32>
}
""")


def run(entry: str, *arguments: Any, **options: Any) -> tuple[hu.Value, ...]:
    return hu.run(MODULE, *arguments, function=entry, **options)


def sizes(*numbers: int) -> Any:
    return np.array(numbers, np.int64)


def zeros(*shape: int) -> Any:
    return np.zeros(shape, np.float32)


def test_broadcasting_is_that_of_numpy() -> None:
    for one, other in product(product((0, 1, 3), repeat=2), [(), (1,), (3,), (2,), (3, 1), (1, 3, 0), (2, 1, 1)]):
        try:
            wanted = np.broadcast_shapes(one, other)
        except ValueError:
            assert not run("fits", sizes(*one), sizes(*other))[0].item()
            with pytest.raises(hu.UndefinedBehavior, match="cannot be broadcast"):
                run("extents", sizes(*one), sizes(*other))
            continue
        shape, count, equal, fits = run("extents", sizes(*one), sizes(*other))
        assert tuple(shape.numpy().tolist()) == wanted
        assert (count.item(), equal.item(), fits.item()) == (np.prod(wanted), one == other, True)


def test_constraints_are_checked_where_they_are_assumed() -> None:
    assert run("assuming", zeros(3, 4), zeros(4), True)[0].item() == 12
    with pytest.raises(hu.UndefinedBehavior, match=r"does not hold: the shapes \[3, 4\] and \[3\] cannot be broadcast"):
        run("assuming", zeros(3, 4), zeros(3), True)
    with pytest.raises(hu.UndefinedBehavior, match="does not hold: the caller promised"):
        run("assuming", zeros(3, 4), zeros(4), False)
    assert run("assuming", zeros(2, 3, 4), zeros(2, 4), True, batch=True)[0].numpy().tolist() == [12, 12]
    with pytest.raises(hu.UndefinedBehavior, match="the caller promised"):
        run("assuming", zeros(2, 3, 4), zeros(2, 4), np.array([True, False]), batch=True)


def test_a_reduction_sees_each_extent_and_its_index() -> None:
    count, shape = run("reduce", zeros(3, 4))
    assert (count.item(), shape.numpy().tolist()) == (3 * (4 + 1), [3, 4])


@pytest.mark.parametrize(("at", "head"), [(0, []), (1, [2]), (3, [2, 3, 4]), (-1, [2, 3]), (-3, [])])
def test_shapes_are_split_also_from_the_end(at: int, head: list[int]) -> None:
    first, rest = run("split", at)
    assert first.numpy().tolist() == head
    assert rest.numpy().tolist() == [2, 3, 4][len(head) :]


def test_an_error_becomes_undefined_where_the_type_has_none() -> None:
    with pytest.raises(hu.UndefinedBehavior, match="a shape of rank 3 cannot be split at 4"):
        run("split", 4)
    with pytest.raises(hu.UndefinedBehavior, match="the batch sizes differ"):
        run("meet", sizes(2, 3), sizes(2, 4))
    assert run("meet", sizes(2, 3), sizes(2, 3))[0].numpy().tolist() == [2, 3]
    with pytest.raises(hu.UndefinedBehavior, match="1 is divided by 0"):
        run("div", 1, 0)


@pytest.mark.parametrize(("one", "other"), [(7, -2), (-7, 2), (7, 2), (-7, -2), (6, 3)])
def test_division_rounds_down(one: int, other: int) -> None:
    assert run("div", one, other)[0].item() == one // other


def test_a_value_with_another_shape() -> None:
    assert run("said", np.array([1, 2], np.float32))[0].numpy().tolist() == [[1], [2]]


@each_row(
    "%p = ub.poison : !shape.size\n%r = shape.size_to_index %p : !shape.size",
    "%p = ub.poison : !shape.shape\n%s = shape.num_elements %p : !shape.shape -> !shape.size\n"
    "%r = shape.size_to_index %s : !shape.size",
    "%p = ub.poison : !shape.witness\n%r = shape.assuming %p -> index { shape.assuming_yield %i : index }",
)
def test_poison_has_no_shape(body: str) -> None:
    with pytest.raises(hu.UndefinedBehavior, match=r"is poison: ub\.poison"):
        hu.run(f"func.func @f(%i: index) -> index {{ {body}\nreturn %r : index }}", 1)
