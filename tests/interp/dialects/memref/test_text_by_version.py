"""The attributes of memory accesses as text: MLIR 22 has them in the dictionary, LLVM 24 in front of it."""

from __future__ import annotations

from collections.abc import Callable
from subprocess import run

import pytest

import halfulp as hu
from halfulp.interp.declare.declarations import Schema
from halfulp.interp.text.printer import print_module

MLIR22 = """\
#map = affine_map<(d0)[s0] -> (d0 + s0)>
module {
  func.func @f(%arg0: index, %arg1: index) -> memref<?xf32> {
    %alloc = memref.alloc(%arg0) {alignment = 4096 : i64} : memref<?xf32>
    %alloca = memref.alloca(%arg0) {alignment = 8 : i64, mark.here} : memref<?xf32>
    %c0 = arith.constant 0 : index
    %0 = memref.load %alloc[%c0] {nontemporal = true} : memref<?xf32>
    %1 = memref.load %alloc[%c0] {alignment = 8 : i64, mark.here, nontemporal = true} : memref<?xf32>
    memref.store %0, %alloc[%c0] {nontemporal = true} : memref<?xf32>
    memref.store %0, %alloc[%c0] {alignment = 8 : i64} : memref<?xf32>
    %alloc_0 = memref.alloc()[%arg1] : memref<4xf32, #map>
    %alloca_1 = memref.alloca()[%arg1] {alignment = 8 : i64} : memref<4xf32, #map>
    %alloc_2 = memref.alloc(%arg0)[%arg1] {alignment = 8 : i64} : memref<?xf32, #map>
    %2 = vector.load %alloc[%c0] {nontemporal = true} : memref<?xf32>, vector<4xf32>
    %3 = vector.load %alloc[%c0] {alignment = 8 : i64, mark.here, nontemporal = true} : memref<?xf32>, vector<4xf32>
    vector.store %2, %alloc[%c0] {nontemporal = true} : memref<?xf32>, vector<4xf32>
    vector.store %2, %alloc[%c0] {alignment = 16 : i64, nontemporal = true} : memref<?xf32>, vector<4xf32>
    return %alloc : memref<?xf32>
  }
}
"""
LLVM24 = """\
#map = affine_map<(d0)[s0] -> (d0 + s0)>
module {
  func.func @f(%arg0: index, %arg1: index) -> memref<?xf32> {
    %alloc = memref.alloc(%arg0) alignment = 4096 : memref<?xf32>
    %alloca = memref.alloca(%arg0) alignment = 8 {mark.here} : memref<?xf32>
    %c0 = arith.constant 0 : index
    %0 = memref.load %alloc[%c0] nontemporal(true) : memref<?xf32>
    %1 = memref.load %alloc[%c0] alignment(8) nontemporal(true) {mark.here} : memref<?xf32>
    memref.store %0, %alloc[%c0] nontemporal(true) : memref<?xf32>
    memref.store %0, %alloc[%c0] alignment(8) : memref<?xf32>
    %alloc_0 = memref.alloc()[%arg1] : memref<4xf32, #map>
    %alloca_1 = memref.alloca()[%arg1] alignment = 8 : memref<4xf32, #map>
    %alloc_2 = memref.alloc(%arg0)[%arg1] alignment = 8 : memref<?xf32, #map>
    %2 = vector.load %alloc[%c0] nontemporal = true : memref<?xf32>, vector<4xf32>
    %3 = vector.load %alloc[%c0] alignment = 8 nontemporal = true {mark.here} : memref<?xf32>, vector<4xf32>
    vector.store %2, %alloc[%c0] nontemporal = true : memref<?xf32>, vector<4xf32>
    vector.store %2, %alloc[%c0] alignment = 16 nontemporal = true : memref<?xf32>, vector<4xf32>
    return %alloc : memref<?xf32>
  }
}
"""


@pytest.mark.parametrize("text", [MLIR22, LLVM24])
def test_each_version_has_its_own_text(text: str) -> None:
    """Both are read, and each is printed for its version: by default that of MLIR 22."""
    module = hu.load(text)
    assert print_module(module) == print_module(module, schema=Schema.MLIR22) == MLIR22
    assert print_module(module, schema=Schema.LLVM24) == LLVM24


def test_false_is_left_out() -> None:
    load = "func.func @f(%m: memref<f32>) {{\n  %0 = memref.load %m[]{} : memref<f32>\n  return\n}}\n"
    module = hu.load(load.format(" {nontemporal = false, invariant = false}"))
    plain = print_module(hu.load(load.format("")))
    assert print_module(module) == print_module(module, schema=Schema.LLVM24) == plain
    assert "<{invariant = false, nontemporal = false}>" in print_module(module, generic=True)


def test_invariant_belongs_to_llvm_24() -> None:
    module = hu.load(
        "func.func @f(%m: memref<f32>) {\n  %0 = memref.load %m[] invariant(true) : memref<f32>\n  return\n}"
    )
    assert "memref.load %arg0[] invariant(true) :" in print_module(module, schema=Schema.LLVM24)
    assert "memref.load %arg0[] {invariant = true} :" in print_module(module)
    with pytest.raises(hu.Unsupported, match="the property 'invariant' of 'memref.load' does not exist in MLIR 22"):
        print_module(module, schema=Schema.MLIR22)


def test_mlir_22_prints_the_same(mlir_opt: Callable[..., str]) -> None:
    assert mlir_opt(MLIR22).strip() == MLIR22.strip()


def test_llvm_24_prints_the_same(iree_opt: str) -> None:
    theirs = run([iree_opt], input=LLVM24, capture_output=True, text=True, check=True, timeout=60)
    assert theirs.stdout.strip() == LLVM24.strip()
