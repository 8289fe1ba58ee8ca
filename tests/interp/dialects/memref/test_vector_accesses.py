"""Loads and stores of vectors in memrefs."""

from __future__ import annotations

import numpy as np
import pytest
from memref_functions import module_of, run, undefined

import halfulp as hu
from halfulp.conformance.oracles.tool import find_tool


def test_vectors_of_any_rank() -> None:
    array = np.arange(24, dtype=np.int16).reshape(2, 3, 4)
    body = """\
  %a = vector.load %m[%c1, %c1, %c2] : memref<2x3x4xi16>, vector<2xi16>
  %b = vector.load %m[%c0, %c1, %c1] : memref<2x3x4xi16>, vector<2x3xi16>
  %c = vector.load %m[%c1, %c2, %c3] : memref<2x3x4xi16>, vector<i16>
  %d = vector.load %m[%c0, %c0, %c0] : memref<2x3x4xi16>, vector<2x1x4xi16>
  vector.store %b, %m[%c1, %c0, %c1] : memref<2x3x4xi16>, vector<2x3xi16>
  return %a, %b, %c, %d : vector<2xi16>, vector<2x3xi16>, vector<i16>, vector<2x1x4xi16>"""
    memory = hu.Buffer.from_numpy(array)
    types = "vector<2xi16>, vector<2x3xi16>, vector<i16>, vector<2x1x4xi16>"
    a, b, c, d = run(f"(%m: memref<2x3x4xi16>) -> ({types})", body, memory)
    assert a.numpy().tolist() == array[1, 1, 2:].tolist()
    assert b.numpy().tolist() == array[0, 1:3, 1:4].tolist()
    assert c.numpy() == array[1, 2, 3]
    assert d.numpy().tolist() == array[:, :1].tolist()
    array[1, 0:2, 1:4] = b.numpy()
    assert memory.numpy().tolist() == array.tolist()


def test_scalable_vectors_need_the_multiple() -> None:
    signature = "(%m: memref<8xi8>) -> vector<[2]xi8>"
    body = "  %v = vector.load %m[%c2] : memref<8xi8>, vector<[2]xi8>\n  return %v : vector<[2]xi8>"
    (value,) = run(signature, body, np.arange(8, dtype=np.int8), vscale=3)
    assert value.numpy().tolist() == [2, 3, 4, 5, 6, 7]
    with pytest.raises(hu.Unsupported, match="give vscale=N"):
        run(signature, body, np.arange(8, dtype=np.int8))
    assert "outside the shape 8" in undefined(signature, body, np.arange(8, dtype=np.int8), vscale=4)


def test_vectors_keep_poison_and_strides() -> None:
    body = """\
  %m = memref.alloc() : memref<2x4xi8>
  %v = memref.subview %m[0, 1] [2, 2] [1, 1] : memref<2x4xi8> to memref<2x2xi8, strided<[4, 1], offset: 1>>
  vector.store %x, %v[%c1, %c0] : memref<2x2xi8, strided<[4, 1], offset: 1>>, vector<2xi8>
  %r = vector.load %m[%c1, %c0] : memref<2x4xi8>, vector<4xi8>
  return %r : vector<4xi8>"""
    (value,) = run("(%x: vector<2xi8>) -> vector<4xi8>", body, np.array([5, 6], np.int8))
    assert value.poisoned.tolist() == [True, False, False, True]
    assert value.numpy(poison=0)[1:3].tolist() == [5, 6]


@pytest.mark.parametrize(
    ("access", "message"),
    [
        ("%v = vector.load %m[%c0, %c0] : memref<8xf32>, vector<4xf32>", "requires 1 indices"),
        ("%v = vector.load %m[%c0] : memref<8xf32>, vector<4xf64>", "base and result element types should match"),
        (
            "%v = vector.load %m[%c0] : memref<8xf32>, vector<2x4xf32>",
            "destination memref has lower rank than the result",
        ),
        (
            "%v = vector.load %s[%c0] : memref<8xf32, strided<[2]>>, vector<4xf32>",
            "most minor memref dim must have unit",
        ),
        ("vector.store %x, %m[] : memref<8xf32>, vector<4xf32>", "requires 1 indices"),
        ("vector.store %x, %i[%c0] : memref<8xi32>, vector<4xf32>", "base and valueToStore element type should match"),
        (
            "vector.store %y, %m[%c0] : memref<8xf32>, vector<2x4xf32>",
            "source memref has lower rank than the vector to",
        ),
        (
            "vector.store %x, %s[%c0] : memref<8xf32, strided<[2]>>, vector<4xf32>",
            "most minor memref dim must have unit",
        ),
        (
            "vector.store %x, %m[%c0] {alignment = 3 : i64} : memref<8xf32>, vector<4xf32>",
            "whose value is a power of two",
        ),
        (
            "vector.store %x, %v[%c0] : memref<2xvector<8xf32>>, vector<4xf32>",
            "base memref and valueToStore vector types",
        ),
    ],
)
def test_vector_accesses_that_mlir_refuses(access: str, message: str) -> None:
    signature = (
        "(%m: memref<8xf32>, %i: memref<8xi32>, %s: memref<8xf32, strided<[2]>>, %x: vector<4xf32>, "
        "%y: vector<2x4xf32>, %v: memref<2xvector<8xf32>>)"
    ).replace("%v:", "%v:" if "%v = " not in access else "%w:")
    with pytest.raises(hu.VerifyError, match=message):
        module_of(signature, f"  {access}\n  return")


NEWER = """\
func.func @f(%m: memref<8xf32>, %i: index, %v: vector<4xf32>) {
  %0 = vector.load %m[%i] nontemporal = true alignment = 16 : memref<8xf32>, vector<4xf32>
  %1 = vector.load %m[%i] alignment = 8 {foo} : memref<8xf32>, vector<4xf32>
  vector.store %v, %m[%i] nontemporal = false : memref<8xf32>, vector<4xf32>
  return
}
"""


def test_the_newer_form_of_vector_accesses_is_read() -> None:
    # iree-opt 3.13 has alignment and nontemporal in front of the dictionary.
    printed = hu.print_module(hu.load(NEWER))
    assert "vector.load %arg0[%arg1] {alignment = 16 : i64, nontemporal = true} :" in printed
    assert "vector.load %arg0[%arg1] {alignment = 8 : i64, foo} :" in printed
    assert "vector.store %arg2, %arg0[%arg1] :" in printed
    with pytest.raises(hu.ParseError, match="`alignment` clause can appear at most once"):
        hu.load(NEWER.replace("nontemporal = true", "alignment = 4"))
    with pytest.raises(hu.VerifyError, match="whose value is a power of two > 0"):
        hu.load(NEWER.replace("alignment = 8", "alignment = 12"))


ACCESSES = """\
func.func @f(%m: memref<8x8xf32>, %i: index, %v: vector<4xf32>, %w: vector<2x4xf32>, %r: memref<f32>) {
  %0 = vector.load %m[%i, %i] : memref<8x8xf32>, vector<4xf32>
  %1 = vector.load %m[%i, %i] {nontemporal = true, alignment = 16} : memref<8x8xf32>, vector<2x4xf32>
  %2 = vector.load %m[%i, %i] {nontemporal = false} : memref<8x8xf32>, vector<[4]xf32>
  %3 = vector.load %r[] : memref<f32>, vector<f32>
  vector.store %v, %m[%i, %i] : memref<8x8xf32>, vector<4xf32>
  vector.store %w, %m[%i, %i] {nontemporal = true, foo} : memref<8x8xf32>, vector<2x4xf32>
  return
}
"""


@pytest.mark.mlir
def test_vector_accesses_print_as_mlir_prints_them() -> None:
    module = hu.load(ACCESSES)
    optimizer = find_tool("mlir-opt-22", "HALFULP_MLIR_OPT", "22")
    for generic in (False, True):
        theirs = optimizer.run(["--mlir-print-op-generic"] if generic else [], ACCESSES)
        assert hu.print_module(module, generic=generic).strip() == theirs.strip()
        assert hu.print_module(hu.load(theirs), generic=generic).strip() == theirs.strip()
