"""Layouts that are not sums of strides, memory of vectors, and bytes seen as other elements."""

from collections.abc import Callable
from subprocess import run as subprocess_run

import numpy as np
import pytest
from memref_functions import module_of, run, undefined

import halfulp as hu
from halfulp.interp.declare.declarations import Schema
from halfulp.interp.text.printer import print_module

TILES = "affine_map<(d0, d1) -> (d0 floordiv 2, d1 floordiv 4, d0 mod 2, d1 mod 4)>"


def test_elements_lie_where_the_map_says() -> None:
    given = np.arange(40, dtype=np.int32).reshape(5, 8)
    buffer = hu.Buffer.from_numpy(given, f"memref<5x8xi32, {TILES}>")
    assert buffer.numpy().tolist() == given.tolist()
    # The tiles lie one after the other: an array of 3x2x2x4, with an unused row.
    whole = np.zeros((6, 8), np.int32)
    whole[:5] = given
    tiled = whole.reshape(3, 2, 2, 4).transpose(0, 2, 1, 3).reshape(-1)
    assert buffer.allocation.bits.view(np.int32).tolist() == tiled.tolist()
    assert buffer.places_at((4, 7)).item() == tiled.tolist().index(given[4, 7])


def test_memory_with_a_map_is_read_written_copied_and_returned() -> None:
    type_ = f"memref<5x8xi32, {TILES}>"
    body = f"""\
  %m = memref.alloc() : {type_}
  memref.copy %g, %m : {type_} to {type_}
  memref.store %x, %m[%i, %j] : {type_}
  %d = memref.cast %m : {type_} to memref<*xi32>
  %e = memref.cast %d : memref<*xi32> to {type_}
  %r = memref.atomic_rmw addi %x, %e[%i, %j] : (i32, {type_}) -> i32
  return %r, %m : i32, {type_}"""
    signature = f"(%g: {type_}, %x: i32, %i: index, %j: index) -> (i32, {type_})"
    given = np.arange(40, dtype=np.int32).reshape(5, 8)
    old, memory = run(signature, body, given, 50, 4, 7)
    expected = given.copy()
    expected[4, 7] = 100
    assert (old.item(), memory.numpy().tolist()) == (50, expected.tolist())
    assert "index [5, 0] is outside the shape 5x8" in undefined(signature, body, given, 50, 5, 0)


def test_indices_that_share_a_place_share_an_element() -> None:
    type_ = "memref<6xi32, affine_map<(d0) -> (d0 mod 3)>>"
    body = f"""\
  %m = memref.alloc() : {type_}
  memref.store %x, %m[%c1] : {type_}
  %r = memref.load %m[%c4] : {type_}
  %p = memref.load %m[%c2] : {type_}
  return %r, %p : i32, i32"""
    shared, unwritten = run("(%x: i32) -> (i32, i32)", body, 7)
    assert (shared.item(), bool(unwritten.poisoned)) == (7, True)


def test_symbols_of_a_map_are_operands() -> None:
    type_ = "memref<?xi32, affine_map<(d0)[s0] -> (d0 floordiv s0, d0 mod s0)>>"
    body = f"""\
  %m = memref.alloc(%c5)[%s] : {type_}
  memref.store %x, %m[%c4] : {type_}
  %r = memref.load %m[%c4] : {type_}
  return %r : i32"""
    signature = "(%x: i32, %s: index) -> i32"
    assert run(signature, body, 7, 3)[0].item() == 7
    assert "the symbols [0] of the layout" in undefined(signature, body, 7, 0)
    with pytest.raises(hu.Unsupported, match="the symbols of the layout .* are not known"):
        run(f"(%m: {type_})", "  return", np.zeros(4, np.int32))


def test_a_map_that_needs_more_memory_than_there_is_has_no_memory() -> None:
    body = "  %m = memref.alloc() : memref<3xi8, affine_map<(d0) -> ((d0 mod 3) * 4611686018427387904)>>\n  return"
    with pytest.raises(hu.errors.LimitExceeded, match="spans 9223372036854775809 elements"):
        run("()", body)


def test_memory_may_hold_vectors() -> None:
    body = """\
  %a = memref.alloc() : memref<3xvector<2xf32>>
  memref.store %v, %a[%c1] : memref<3xvector<2xf32>>
  %f = vector.type_cast %a : memref<3xvector<2xf32>> to memref<3x2xf32>
  memref.store %x, %f[%c1, %c0] : memref<3x2xf32>
  %l = memref.load %a[%c1] : memref<3xvector<2xf32>>
  return %l, %a : vector<2xf32>, memref<3xvector<2xf32>>"""
    signature = "(%v: vector<2xf32>, %x: f32) -> (vector<2xf32>, memref<3xvector<2xf32>>)"
    vector, memory = run(signature, body, np.array([1, 2], np.float32), 5)
    assert vector.numpy().tolist() == [5, 2]
    assert str(memory) == "Value(3x2xf32=[poison poison][5 2][poison poison])"
    given = np.arange(6, dtype=np.float32).reshape(3, 2)
    body = "  %l = memref.load %m[%c2] : memref<3xvector<2xf32>>\n  return %l : vector<2xf32>"
    assert run("(%m: memref<3xvector<2xf32>>) -> vector<2xf32>", body, given)[0].numpy().tolist() == [4, 5]


def test_memory_of_an_argument_is_written_as_vectors() -> None:
    """Nothing in it is poison before."""
    body = """\
  %t = vector.type_cast %m : memref<4xf32> to memref<vector<4xf32>>
  memref.store %v, %t[] : memref<vector<4xf32>>
  return %m : memref<4xf32>"""
    signature = "(%m: memref<4xf32>, %v: vector<4xf32>) -> memref<4xf32>"
    given = np.zeros(4, np.float32), np.arange(4, dtype=np.float32)
    assert run(signature, body, *given)[0].numpy().tolist() == [0, 1, 2, 3]
    spoiled = "  %p = ub.poison : vector<4xf32>\n" + body.replace("store %v", "store %p")
    assert run(signature, spoiled, *given)[0].poisoned.all()


BYTES = """\
  %b = memref.alloc() : memref<16xi8>
  %f = memref.view %b[%c1][%n] : memref<16xi8> to memref<?xf32>
  memref.store %x, %f[%c1] : memref<?xf32>
  memref.store %y, %b[%c5] : memref<16xi8>
  %r = memref.load %f[%c1] : memref<?xf32>
  %p = memref.load %f[%c0] : memref<?xf32>
  memref.store %x, %f[%c0] : memref<?xf32>
  %i = memref.view %b[%c3][] : memref<16xi8> to memref<1xi16>
  %q = memref.load %i[%c0] : memref<1xi16>
  return %r, %p, %q, %b : f32, f32, i16, memref<16xi8>"""


def test_bytes_keep_their_poison_when_they_are_seen_as_other_elements() -> None:
    signature = "(%x: f32, %y: i8, %n: index) -> (f32, f32, i16, memref<16xi8>)"
    changed, unwritten, half, memory = run(signature, BYTES, 1.5, 1, 3)
    assert changed.numpy().view(np.uint32).item() == 0x3FC00001
    assert bool(unwritten.poisoned)
    assert "memref.alloc was never written" in str(unwritten.origin())
    # The upper half of 1.5.
    assert half.item() == 0x3FC0
    assert memory.poisoned.tolist() == [True] + [False] * 8 + [True] * 7
    assert "bytes 1 to 16 are outside of a memref of 16 bytes" in undefined(signature, BYTES, 1.5, 1, 4)


def test_bytes_of_elements_with_spare_bits_are_not_known() -> None:
    body = "  %v = memref.view %b[%c0][] : memref<16xi8> to memref<2xi4>\n  return"
    with pytest.raises(hu.Unsupported, match="memory of bytes as elements of type 'i4'"):
        run("(%b: memref<16xi8>)", body, np.zeros(16, np.int8))


def test_a_global_begins_each_run_with_its_initial_value() -> None:
    module = hu.load("""
    memref.global @counter : memref<1xi32> = dense<5>
    memref.global constant @fixed : memref<2xi32> = dense<[1, 2]>
    memref.global "private" @outside : memref<1xi32>
    func.func @next() -> i32 {
      %c0 = arith.constant 0 : index
      %m = memref.get_global @counter : memref<1xi32>
      %one = arith.constant 1 : i32
      %old = memref.atomic_rmw addi %one, %m[%c0] : (i32, memref<1xi32>) -> i32
      %new = memref.load %m[%c0] : memref<1xi32>
      return %new : i32
    }
    func.func @write(%x: i32) {
      %c0 = arith.constant 0 : index
      %m = memref.get_global @fixed : memref<2xi32>
      memref.store %x, %m[%c0] : memref<2xi32>
      return
    }
    func.func @read() -> i32 {
      %c0 = arith.constant 0 : index
      %m = memref.get_global @outside : memref<1xi32>
      %x = memref.load %m[%c0] : memref<1xi32>
      return %x : i32
    }""")
    assert [hu.run(module, function="next")[0].item() for _ in range(2)] == [6, 6]
    with pytest.raises(hu.UndefinedBehavior, match="the memory of memref.global @fixed is constant, but is written"):
        hu.run(module, 3, function="write")
    with pytest.raises(hu.Unsupported, match="'@outside' is declared, but its memory is defined nowhere"):
        hu.run(module, function="read")


def test_views_must_stay_in_their_memory() -> None:
    signature = "(%m: memref<6xi8>, %n: index)"
    body = """\
  %v = memref.reinterpret_cast %m to offset: [1], sizes: [%n], strides: [2] : memref<6xi8> to memref<?xi8, strided<[2], offset: 1>>
  return"""
    run(signature, body, np.zeros(6, np.int8), 3)
    problem = undefined(signature, body, np.zeros(6, np.int8), 4)
    assert "the view has elements 1 to 7 of memory with 6 elements" in problem
    module = module_of(
        "(%m: memref<?x?xi8, strided<[?, 1]>>) -> memref<?xi8>",
        """\
  %v = memref.collapse_shape %m [[0, 1]] : memref<?x?xi8, strided<[?, 1]>> into memref<?xi8, strided<[?]>>
  %w = memref.cast %v : memref<?xi8, strided<[?]>> to memref<?xi8>
  return %w : memref<?xi8>""",
    )
    assert hu.run(module, np.arange(6, dtype=np.int8).reshape(2, 3))[0].numpy().tolist() == list(range(6))
    gaps = hu.Buffer.from_numpy(np.zeros((2, 3), np.int8), "memref<2x3xi8, strided<[4, 1]>>")
    with pytest.raises(hu.UndefinedBehavior, match=r"with strides \[4, 1\] are not contiguous"):
        hu.run(module, gaps)


def test_a_view_that_repeats_elements_has_a_limit() -> None:
    signature = "(%m: memref<4xf32>, %n: index)"
    type_ = "memref<?x?xf32, strided<[0, 0]>>"
    body = f"""\
  %v = memref.reinterpret_cast %m to offset: [0], sizes: [%n, %n], strides: [0, 0] : memref<4xf32> to {type_}
  memref.copy %v, %v : {type_} to {type_}
  return"""
    run(signature, body, np.ones(4, np.float32), 3)
    for size in (10**5, 10**11):
        with pytest.raises(hu.errors.LimitExceeded):
            run(signature, body, np.ones(4, np.float32), size)


# --- text by version --------------------------------------------------------------------------------------------------
#
# The attributes of memory accesses as text: MLIR 22 has them in the dictionary, LLVM 24 in front of it.

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
    theirs = subprocess_run([iree_opt], input=LLVM24, capture_output=True, text=True, check=True, timeout=60)
    assert theirs.stdout.strip() == LLVM24.strip()
