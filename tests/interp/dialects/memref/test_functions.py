"""Memrefs in functions: calls, control flow and batches; a whole program as `mlir-runner` runs it."""

from __future__ import annotations

import numpy as np
import pytest
from memref_functions import run, undefined

import halfulp as hu
from halfulp.conformance.oracles.jit import UTILITIES, library
from halfulp.conformance.oracles.tool import find_tool


def test_memrefs_go_through_calls_loops_and_branches() -> None:
    module = hu.load("""\
func.func private @put(%m: memref<?xi8>, %i: index, %x: i8) {
  memref.store %x, %m[%i] : memref<?xi8>
  return
}
func.func @main(%a: memref<?xi8>, %b: memref<?xi8>, %n: index, %which: i1) -> memref<?xi8> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %x = arith.constant 7 : i8
  %last, %other = scf.for %i = %c0 to %n step %c1 iter_args(%p = %a, %q = %b) -> (memref<?xi8>, memref<?xi8>) {
    func.call @put(%p, %i, %x) : (memref<?xi8>, index, i8) -> ()
    scf.yield %q, %p : memref<?xi8>, memref<?xi8>
  }
  cf.cond_br %which, ^bb1(%last : memref<?xi8>), ^bb1(%other : memref<?xi8>)
^bb1(%r: memref<?xi8>):
  return %r : memref<?xi8>
}""")
    one, two = (hu.Buffer.from_numpy(np.zeros(4, np.int8)) for _ in range(2))
    (value,) = hu.run(module, one, two, 3, True, function="main")
    assert one.numpy().tolist() == [7, 0, 7, 0]
    assert two.numpy().tolist() == [0, 7, 0, 0]
    assert value.numpy().tolist() == two.numpy().tolist()


def test_functions_of_the_caller_get_buffers_and_return_them() -> None:
    module = hu.load("""\
func.func private @fill(memref<2xi8>) -> memref<?xi8>
func.func @main(%m: memref<2xi8>) -> (memref<?xi8>, i8) {
  %c1 = arith.constant 1 : index
  %r = call @fill(%m) : (memref<2xi8>) -> memref<?xi8>
  %x = memref.load %m[%c1] : memref<2xi8>
  return %r, %x : memref<?xi8>, i8
}""")

    def fill(memory: hu.Buffer) -> hu.Buffer:
        memory.store(hu.Value.from_bits([3, 4], "i8"))
        return memory

    given = np.zeros(2, np.int8)
    result, element = hu.run(module, given, externals={"fill": fill})
    assert result.numpy().tolist() == [3, 4]
    assert element.item() == 4
    assert given.tolist() == [0, 0]
    (direct,) = hu.run(module, given, function="fill", externals={"fill": fill})
    assert str(direct.type) == "tensor<2xi8>"


def test_a_memref_is_selected_like_any_value() -> None:
    signature = "(%c: i1, %a: memref<2xi8>, %b: memref<2xi8>)"
    body = """\
  %r = arith.select %c, %a, %b : memref<2xi8>
  %x = arith.constant 9 : i8
  memref.store %x, %r[%c0] : memref<2xi8>
  return"""
    one, two = (hu.Buffer.from_numpy(np.zeros(2, np.int8)) for _ in range(2))
    run(signature, body, False, one, two)
    assert one.numpy().tolist() == [0, 0]
    assert two.numpy().tolist() == [9, 0]
    poison = hu.run("func.func @f() -> i1 { %p = ub.poison : i1 return %p : i1 }")[0]
    assert "arith.select: undefined behaviour: the condition is poison" in undefined(signature, body, poison, one, two)


@pytest.mark.parametrize(("op", "one", "other"), [("bitcast", "f32", "i32"), ("index_cast", "i64", "index")])
def test_casts_of_memrefs_share_the_memory(op: str, one: str, other: str) -> None:
    body = f"""\
  %r = arith.{op} %m : memref<2x{one}> to memref<2x{other}>
  %a = memref.load %r[%c0] : memref<2x{other}>
  memref.store %a, %r[%c1] : memref<2x{other}>
  %b = memref.load %m[%c1] : memref<2x{one}>
  return %a, %b : {other}, {one}"""
    given = np.array([1.5, 2], np.float32) if one == "f32" else np.array([-3, 4])
    results = run(f"(%m: memref<2x{one}>) -> ({other}, {one})", body, given)
    assert [int(result.bits) for result in results] == [int(given[:1].view(f"u{given.itemsize}")[0])] * 2


def test_a_cast_of_a_memref_to_other_widths_has_no_meaning() -> None:
    body = "  %r = arith.index_cast %m : memref<2xi32> to memref<2xindex>\n  return"
    with pytest.raises(hu.Unsupported, match="no document says what memory of elements of 64 bits"):
        run("(%m: memref<2xi32>)", body, np.zeros(2, np.int32))


# --- against MLIR -----------------------------------------------------------------------------------------------------

PROGRAM = """\
func.func @main() {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c3 = arith.constant 3 : index
  %c4 = arith.constant 4 : index
  %c5 = arith.constant 5 : index
  %m = memref.alloc(%c4) : memref<?x5xi32>
  scf.for %i = %c0 to %c4 step %c1 {
    scf.for %j = %c0 to %c5 step %c1 {
      %a = arith.muli %i, %c5 : index
      %b = arith.addi %a, %j : index
      %x = arith.index_cast %b : index to i32
      memref.store %x, %m[%i, %j] : memref<?x5xi32>
    }
  }
  %s = memref.subview %m[%c1, 0] [%c3, 3] [1, %c2] : memref<?x5xi32> to memref<?x3xi32, strided<[5, ?], offset: ?>>
  %t = memref.subview %s[0, %c1] [2, 1] [%c2, 1] : memref<?x3xi32, strided<[5, ?], offset: ?>>
    to memref<2xi32, strided<[?], offset: ?>>
  %k = arith.constant -7 : i32
  memref.store %k, %t[%c1] : memref<2xi32, strided<[?], offset: ?>>
  %u = memref.cast %s : memref<?x3xi32, strided<[5, ?], offset: ?>> to memref<3x3xi32, strided<[?, 2], offset: 5>>
  scf.for %i = %c0 to %c3 step %c1 {
    scf.for %j = %c0 to %c3 step %c1 {
      %x = memref.load %u[%i, %j] : memref<3x3xi32, strided<[?, 2], offset: 5>>
      vector.print %x : i32
    }
  }
  %v = vector.load %m[%c1, %c1] : memref<?x5xi32>, vector<3xi32>
  vector.print %v : vector<3xi32>
  vector.store %v, %m[%c2, %c0] : memref<?x5xi32>, vector<3xi32>
  %w = vector.load %m[%c3, %c0] : memref<?x5xi32>, vector<5xi32>
  vector.print %w : vector<5xi32>
  %d = memref.dim %s, %c0 : memref<?x3xi32, strided<[5, ?], offset: ?>>
  vector.print %d : index
  memref.dealloc %m : memref<?x5xi32>
  return
}
"""
PASSES = (
    "--convert-scf-to-cf --convert-vector-to-scf --expand-strided-metadata --convert-vector-to-llvm --lower-affine "
    "--convert-scf-to-cf --convert-arith-to-llvm --finalize-memref-to-llvm --convert-index-to-llvm --convert-cf-to-llvm "
    "--convert-func-to-llvm --convert-ub-to-llvm --reconcile-unrealized-casts"
)


@pytest.mark.mlir
def test_a_program_prints_what_mlir_runner_prints(capsys: pytest.CaptureFixture[str]) -> None:
    optimizer, runner = (
        find_tool(f"mlir-{name}-22", f"HALFULP_MLIR_{name.upper()}", "22") for name in ("opt", "runner")
    )
    lowered = optimizer.run(PASSES.split(), PROGRAM)
    libraries = f"--shared-libs={library(runner, UTILITIES)}"
    theirs = runner.run(["--entry-point-result=void", libraries], lowered)
    hu.run(PROGRAM)
    assert capsys.readouterr().out == theirs
