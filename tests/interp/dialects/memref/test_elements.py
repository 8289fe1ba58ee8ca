"""Elements of memrefs: loads, stores and accesses out of bounds."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from memref_functions import run, undefined

import halfulp as hu
from halfulp.interp.ir.types import element_width
from halfulp.interp.values.coerce import as_type

COPY = """\
  %n = memref.dim %x, %c0 : memref<?xTYPE>
  scf.for %i = %c0 to %n step %c1 {
    %e = memref.load %x[%i] : memref<?xTYPE>
    memref.store %e, %y[%i] : memref<?xTYPE>
  }
  return"""


@pytest.mark.parametrize("element", ["i8", "f32", "f80", "i128", "i1", "f4E2M1FN", "index", "i0"])
def test_elements_of_any_type_go_in_and_out(element: str) -> None:
    width = element_width(as_type(element))
    assert width is not None
    codes = [int.from_bytes(np.random.default_rng(k).bytes(16), "little") & ((1 << width) - 1) for k in range(3)]
    value = hu.Value.from_bits(codes, f"tensor<3x{element}>")
    out = hu.Buffer.from_numpy(hu.Value.from_bits([0, 0, 0], value.type))
    run(f"(%x: memref<?x{element}>, %y: memref<?x{element}>)", COPY.replace("TYPE", element), value, out)
    assert out.load() == value


def test_complex_elements_go_in_and_out() -> None:
    type_ = as_type("tensor<3xcomplex<f32>>")
    value = hu.Value(type_, np.arange(6, dtype=np.uint32).reshape(3, 2))
    out = hu.Buffer.from_numpy(hu.Value(type_, np.zeros((3, 2), np.uint32)))
    run("(%x: memref<?xcomplex<f32>>, %y: memref<?xcomplex<f32>>)", COPY.replace("TYPE", "complex<f32>"), value, out)
    assert out.load() == value


@pytest.mark.parametrize("element", ["i8", "i128"])
def test_what_was_loaded_does_not_change_with_the_memory(element: str) -> None:
    body = f"""\
  %a = memref.load %m[%c1] : memref<2x{element}>
  memref.store %x, %m[%c1] : memref<2x{element}>
  return %a : {element}"""
    memory = hu.Buffer.from_numpy(hu.Value.from_bits([5, 6], f"tensor<2x{element}>"))
    (before,) = run(f"(%m: memref<2x{element}>, %x: {element}) -> {element}", body, memory, 9)
    assert before.item() == 6
    assert memory.numpy().tolist() == [5, 9]


def test_poison_is_stored_and_loaded_with_its_origin() -> None:
    body = """\
  %m = memref.alloc() : memref<2xi8>
  %sum = arith.addi %a, %b overflow<nsw> : i8
  memref.store %sum, %m[%c0] : memref<2xi8>
  %v = memref.load %m[%c0] : memref<2xi8>
  memref.store %a, %m[%c0] : memref<2xi8>
  %w = memref.load %m[%c0] : memref<2xi8>
  return %v, %w : i8, i8"""
    poisoned, clean = run("(%a: i8, %b: i8) -> (i8, i8)", body, 100, 100)
    assert "arith.addi at <string>:9:10" in str(poisoned.origin())
    assert clean.item() == 100
    assert clean.poison is None


def test_what_is_open_stays_open_in_memory() -> None:
    body = """\
  %z = arith.mulf %a, %b fastmath<nsz> : f32
  memref.store %z, %m[%c1] : memref<2xf32>
  %v = memref.load %m[%c1] : memref<2xf32>
  %w = memref.load %m[%c0] : memref<2xf32>
  return %v, %w : f32, f32"""
    memory = hu.Buffer.from_numpy(np.ones(2, np.float32))
    signature = "(%a: f32, %b: f32, %m: memref<2xf32>) -> (f32, f32)"
    zero, other = run(signature, body, 0.0, 1.0, memory, track_open=True)
    assert zero.open is not None
    assert zero.open.any()
    assert other.open is None
    assert memory.load().open is not None


@pytest.mark.parametrize("on_ub", ["raise", "poison"])
@pytest.mark.parametrize(
    ("access", "arguments", "message"),
    [
        ("%v = memref.load %m[%i, %j] : memref<2x3xi8>", (2, 0), "load: .*index [2, 0] is outside the shape 2x3"),
        ("%v = memref.load %m[%i, %j] : memref<2x3xi8>", (0, -1), "load: .*index [0, -1] is outside the shape 2x3"),
        ("memref.store %x, %m[%i, %j] : memref<2x3xi8>", (1, 3), "store: .*index [1, 3] is outside the shape 2x3"),
        (
            "%v = vector.load %m[%i, %j] : memref<2x3xi8>, vector<2xi8>",
            (1, 2),
            "load: .*the vector of shape 2 from index [1, 2] on is outside the shape 2x3",
        ),
        (
            "%v = vector.load %m[%i, %j] : memref<2x3xi8>, vector<2x2xi8>",
            (1, 0),
            "load: .*the vector of shape 2x2 from index [1, 0] on is outside the shape 2x3",
        ),
        (
            "%v = vector.load %m[%i, %j] : memref<2x3xi8>, vector<1xi8>",
            (-1, 0),
            "load: .*the vector of shape 1 from index [-1, 0] on is outside the shape 2x3",
        ),
    ],
)
def test_accesses_outside_are_undefined(access: str, arguments: tuple[int, int], message: str, on_ub: Any) -> None:
    signature = "(%m: memref<2x3xi8>, %x: i8, %i: index, %j: index)"
    pattern = re.escape(message).replace(r"\.\*", ".*")
    for width in (64, 32):
        found = undefined(
            signature, f"  {access}\n  return", np.zeros((2, 3), np.int8), 1, *arguments, on_ub=on_ub, index_width=width
        )
        assert re.search(pattern, found)
        assert "undefined behaviour" in found


@pytest.mark.parametrize("access", ["%v = memref.load %m[%p]", "memref.store %x, %m[%p]"])
def test_an_index_that_is_poison_is_undefined(access: str) -> None:
    body = (
        f"  %big = arith.constant 64 : index\n  %p = arith.shli %c1, %big : index\n  {access} : memref<2xi8>\n  return"
    )
    message = undefined("(%m: memref<2xi8>, %x: i8)", body, np.zeros(2, np.int8), 1)
    assert "an index is poison" in message
    assert "arith.shli" in message


def test_a_memref_that_is_poison_is_undefined() -> None:
    message = undefined("()", "  %m = ub.poison : memref<2xi8>\n  %v = memref.load %m[%c0] : memref<2xi8>\n  return")
    assert "the memref is poison" in message


def test_a_memref_that_is_poison_is_returned_as_a_tensor() -> None:
    (value,) = run("() -> memref<2xi8>", "  %m = ub.poison : memref<2xi8>\n  return %m : memref<2xi8>")
    assert str(value.type) == "tensor<2xi8>"
    assert value.poisoned.all()


def test_negative_numbers_with_32_bits_of_index() -> None:
    memory = hu.Buffer.from_numpy(np.array([-1, 5], np.int64), "index")
    (value,) = run(
        "(%m: memref<2xindex>) -> index",
        "  %v = memref.load %m[%c0] : memref<2xindex>\n  %w = arith.addi %v, %c2 : index\n  return %w : index",
        memory,
        index_width=32,
    )
    assert value.item() == 1
    with pytest.raises(hu.TypeMismatch, match="does not fit the 32 bits"):
        run("(%m: memref<1xindex>)", "  return", np.array([1 << 40], np.int64), index_width=32)
