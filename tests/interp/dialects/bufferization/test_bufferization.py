"""Tensors and buffers become each other; memory is freed where it is owned and not retained."""

from typing import Any

import numpy as np
import pytest

import halfulp as hu

MODULE = hu.parse("""
func.func @copies(%t: tensor<?xi32>, %i: index, %v: i32) -> (tensor<?xi32>, tensor<?xi32>, tensor<?xi32>) {
  %m = bufferization.to_buffer %t : tensor<?xi32> to memref<?xi32, strided<[?], offset: ?>>
  %c = bufferization.clone %m : memref<?xi32, strided<[?], offset: ?>> to memref<?xi32>
  memref.store %v, %m[%i] : memref<?xi32, strided<[?], offset: ?>>
  %0 = bufferization.to_tensor %m restrict : memref<?xi32, strided<[?], offset: ?>> to tensor<?xi32>
  %1 = bufferization.to_tensor %c : memref<?xi32> to tensor<?xi32>
  memref.dealloc %c : memref<?xi32>
  return %0, %1, %t : tensor<?xi32>, tensor<?xi32>, tensor<?xi32>
}
func.func @dealloc(%a: i1, %b: i1) -> (i1, i1, i32) {
  %zero = arith.constant 0 : index
  %seven = arith.constant 7 : i32
  %x = memref.alloc() : memref<2xi32>
  %y = memref.alloc() : memref<2xi32>
  %part = memref.subview %x[1] [1] [1] : memref<2xi32> to memref<1xi32, strided<[1], offset: 1>>
  memref.store %seven, %y[%zero] : memref<2xi32>
  %0:2 = bufferization.dealloc (%x, %y, %y : memref<2xi32>, memref<2xi32>, memref<2xi32>) if (%a, %b, %b)
    retain (%part, %x : memref<1xi32, strided<[1], offset: 1>>, memref<2xi32>)
  %1 = memref.load %y[%zero] : memref<2xi32>
  return %0#0, %0#1, %1 : i1, i1, i32
}
func.func @materialize(%s: tensor<?xi32>, %d: tensor<?xi32>, %m: memref<?xi32>) -> tensor<?xi32> {
  %0 = bufferization.materialize_in_destination %s in %d : (tensor<?xi32>, tensor<?xi32>) -> tensor<?xi32>
  bufferization.materialize_in_destination %s in writable %m : (tensor<?xi32>, memref<?xi32>) -> ()
  return %0 : tensor<?xi32>
}
func.func @alloc(%t: tensor<?xi32>, %n: index) -> (tensor<?xi32>, tensor<?xi32>) {
  %0 = bufferization.alloc_tensor(%n) : tensor<?xi32>
  %1 = bufferization.alloc_tensor() copy(%t) : tensor<?xi32>
  bufferization.dealloc_tensor %0 : tensor<?xi32>
  return %0, %1 : tensor<?xi32>, tensor<?xi32>
}
""")
THREE = np.arange(3, dtype=np.int32)


def run(entry: str, *arguments: Any) -> tuple[hu.Value, ...]:
    return hu.run(MODULE, *arguments, function=entry)


def test_a_buffer_of_a_tensor_is_a_copy() -> None:
    written, cloned, tensor = run("copies", THREE, 1, 50)
    assert [each.numpy().tolist() for each in (written, cloned, tensor)] == [[0, 50, 2], [0, 1, 2], [0, 1, 2]]


@pytest.mark.parametrize("shape", [(3, 5), (5, 3), (1, 4), (4, 1), (0, 2)])
def test_a_clone_puts_no_two_elements_in_one_place(shape: tuple[int, int]) -> None:
    """The stride that the type leaves open is one of columns: those of rows would run into each other."""
    text = """#map = affine_map<(d0, d1)[s0] -> (d0 + d1 * s0)>
    func.func @f(%m: memref<?x?xi32>) -> (memref<?x?xi32, #map>, memref<?x?xi32, strided<[1, ?]>>) {
      %t = memref.transpose %m (d0, d1) -> (d1, d0) : memref<?x?xi32> to memref<?x?xi32, #map>
      %c = bufferization.clone %t : memref<?x?xi32, #map> to memref<?x?xi32, #map>
      %d = bufferization.clone %t : memref<?x?xi32, #map> to memref<?x?xi32, strided<[1, ?]>>
      return %c, %d : memref<?x?xi32, #map>, memref<?x?xi32, strided<[1, ?]>>
    }"""
    given = np.arange(shape[0] * shape[1], dtype=np.int32).reshape(shape)
    for clone in hu.run(text, given):
        assert clone.numpy().tolist() == given.T.tolist()


def test_retained_memory_stays_and_its_owner_is_told() -> None:
    assert [each.item() for each in run("dealloc", True, False)] == [True, True, 7]
    assert [each.item() for each in run("dealloc", False, False)] == [False, False, 7]
    with pytest.raises(hu.UndefinedBehavior, match=r"was freed by bufferization\.dealloc"):
        run("dealloc", False, True)


def test_a_destination_gets_the_elements() -> None:
    buffer = hu.Buffer.from_numpy(THREE)
    (tensor,) = run("materialize", THREE + 5, THREE, buffer)
    assert tensor.numpy().tolist() == buffer.numpy().tolist() == [5, 6, 7]
    with pytest.raises(hu.UndefinedBehavior, match="the source has the shape 3, the destination 2"):
        run("materialize", THREE, THREE[:2], buffer)


def test_an_allocated_tensor_is_poison_or_a_copy() -> None:
    fresh, copied = run("alloc", THREE, 2)
    assert fresh.poisoned.all()
    assert copied.numpy().tolist() == [0, 1, 2]
    with pytest.raises(hu.errors.LimitExceeded):
        run("alloc", THREE, 1 << 50)


RETAINED = """func.func @f(%c: i1, %a: i32) -> i32 {
  %0 = arith.constant 0 : index
  %true = arith.constant true
  %m = memref.alloc() : memref<2xi32>
  memref.store %a, %m[%0] : memref<2xi32>
  %r = scf.if %c -> memref<2xi32> {
    %n = memref.alloc() : memref<2xi32>
    memref.copy %m, %n : memref<2xi32> to memref<2xi32>
    %base, %offset, %size, %stride = memref.extract_strided_metadata %n : memref<2xi32> -> memref<i32>, index, index, index
    %k = bufferization.dealloc (%base : memref<i32>) if (%true) retain (%n : memref<2xi32>)
    scf.yield %n : memref<2xi32>
  } else {
    scf.yield %m : memref<2xi32>
  }
  %x = memref.load %r[%0] : memref<2xi32>
  return %x : i32
}
"""


def test_retained_memory_stays_in_a_batch_too() -> None:
    (result,) = hu.run(RETAINED, np.array([True, False, True]), np.array([1, 2, 3], np.int32), batch=True)
    assert result.numpy().tolist() == [1, 2, 3]
