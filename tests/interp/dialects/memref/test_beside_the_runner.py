"""The ops of memref, beside mlir-runner."""

import pytest

import halfulp as hu
from halfulp.conformance.oracles.jit import UTILITIES, library
from halfulp.conformance.oracles.tool import find_tool

KINDS = ("addi", "andi", "assign", "maxs", "maxu", "mins", "minu", "ori", "xori")
"""Those that mlir-opt lowers for integers."""
FLOAT_KINDS = ("addf", "assign", "maximumf", "minimumf", "maxnumf", "minnumf")


def atomics(kinds: tuple[str, ...], type_: str) -> str:
    """Apply each kind to an element, and print what it was and what it is."""
    return "".join(
        f"""
  %{type_}_{k} = memref.atomic_rmw {kind} %v_{type_}, %m_{type_}[%c{k % 4}] : ({type_}, memref<4x{type_}>) -> {type_}
  %{type_}_n{k} = memref.load %m_{type_}[%c{k % 4}] : memref<4x{type_}>
  vector.print %{type_}_{k} : {type_}
  vector.print %{type_}_n{k} : {type_}"""
        for k, kind in enumerate(kinds)
    )


ATOMICS = f"""
memref.global @numbers : memref<4xi32> = dense<[5, -6, 7, -8]>
memref.global @floats : memref<4xf32> = dense<[1.5, -2.0, 3.0, -0.0]>
func.func @main() {{
{"".join(f"  %c{k} = arith.constant {k} : index{chr(10)}" for k in range(5))}
  %m_i32 = memref.get_global @numbers : memref<4xi32>
  %m_f32 = memref.get_global @floats : memref<4xf32>
  %v_i32 = arith.constant -3 : i32
  %v_f32 = arith.constant 0.75 : f32{atomics(KINDS, "i32")}{atomics(FLOAT_KINDS, "f32")}
  %old = memref.generic_atomic_rmw %m_i32[%c2] : memref<4xi32> {{
  ^bb0(%x: i32):
    %y = arith.muli %x, %v_i32 : i32
    memref.atomic_yield %y : i32
  }}
  vector.print %old : i32
  %new = memref.load %m_i32[%c2] : memref<4xi32>
  vector.print %new : i32
  return
}}
"""

VIEWS = """
memref.global constant @table : memref<2x6xi32> = dense<[[1, 2, 3, 4, 5, 6], [7, 8, 9, 10, 11, 12]]>
func.func @show(%m: memref<?xi32, strided<[?], offset: ?>>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = memref.dim %m, %c0 : memref<?xi32, strided<[?], offset: ?>>
  vector.print %n : index
  scf.for %i = %c0 to %n step %c1 {
    %x = memref.load %m[%i] : memref<?xi32, strided<[?], offset: ?>>
    vector.print %x : i32
  }
  return
}
func.func @main() {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c3 = arith.constant 3 : index
  %c4 = arith.constant 4 : index
  %c6 = arith.constant 6 : index
  %table = memref.get_global @table : memref<2x6xi32>
  %m = memref.alloc() : memref<2x6xi32>
  memref.copy %table, %m : memref<2x6xi32> to memref<2x6xi32>
  %e = memref.expand_shape %m [[0], [1, 2]] output_shape [2, 2, 3] : memref<2x6xi32> into memref<2x2x3xi32>
  %t = memref.transpose %e (a, b, c) -> (c, a, b) : memref<2x2x3xi32> to memref<3x2x2xi32, strided<[1, 6, 3]>>
  %s = memref.subview %t[%c1, 0, 0] [1, 2, 2] [1, 1, 1] : memref<3x2x2xi32, strided<[1, 6, 3]>>
    to memref<2x2xi32, strided<[6, 3], offset: ?>>
  %j = memref.collapse_shape %s [[0, 1]] : memref<2x2xi32, strided<[6, 3], offset: ?>>
    into memref<4xi32, strided<[3], offset: ?>>
  %g = memref.cast %j : memref<4xi32, strided<[3], offset: ?>> to memref<?xi32, strided<[?], offset: ?>>
  func.call @show(%g) : (memref<?xi32, strided<[?], offset: ?>>) -> ()
  %b, %o, %sizes:2, %strides:2 = memref.extract_strided_metadata %s : memref<2x2xi32, strided<[6, 3], offset: ?>>
    -> memref<i32>, index, index, index, index, index
  vector.print %o : index
  vector.print %sizes#1 : index
  vector.print %strides#0 : index
  %r = memref.reinterpret_cast %b to offset: [%o], sizes: [%c3], strides: [%c2]
    : memref<i32> to memref<?xi32, strided<[?], offset: ?>>
  func.call @show(%r) : (memref<?xi32, strided<[?], offset: ?>>) -> ()
  %shape = memref.alloca() : memref<1xindex>
  %c12 = arith.constant 12 : index
  memref.store %c12, %shape[%c0] : memref<1xindex>
  %w = memref.reshape %m(%shape) : (memref<2x6xi32>, memref<1xindex>) -> memref<12xi32>
  %h = memref.cast %w : memref<12xi32> to memref<?xi32, strided<[?], offset: ?>>
  func.call @show(%h) : (memref<?xi32, strided<[?], offset: ?>>) -> ()
  %u = memref.cast %w : memref<12xi32> to memref<*xi32>
  %rank = memref.rank %u : memref<*xi32>
  vector.print %rank : index
  %bytes = memref.alloc() : memref<16xi8>
  %v = memref.view %bytes[%c4][%c2] : memref<16xi8> to memref<?xi32>
  %x = arith.constant 0x01020304 : i32
  memref.store %x, %v[%c1] : memref<?xi32>
  %lane = arith.constant 9 : index
  %byte = memref.load %bytes[%lane] : memref<16xi8>
  vector.print %byte : i8
  %five = arith.constant 5 : i8
  memref.store %five, %bytes[%lane] : memref<16xi8>
  %back = memref.load %v[%c1] : memref<?xi32>
  vector.print %back : i32
  %list = memref.alloc(%c2) : memref<?xi32>
  memref.store %x, %list[%c1] : memref<?xi32>
  %longer = memref.realloc %list(%c6) : memref<?xi32> to memref<?xi32>
  %kept = memref.load %longer[%c1] : memref<?xi32>
  vector.print %kept : i32
  memref.dealloc %longer : memref<?xi32>
  %scoped = memref.alloca_scope -> (i32) {
    %a = memref.alloca() : memref<2xi32>
    memref.store %kept, %a[%c1] : memref<2xi32>
    %y = memref.load %a[%c1] : memref<2xi32>
    memref.alloca_scope.return %y : i32
  }
  vector.print %scoped : i32
  %i = arith.bitcast %w : memref<12xi32> to memref<12xf32>
  %aligned = memref.assume_alignment %w, 4 : memref<12xi32>
  memref.prefetch %aligned[%c1], read, locality<3>, data : memref<12xi32>
  %vectors = memref.alloc() : memref<2xvector<3xi32>>
  %dense = arith.constant dense<[4, 5, 6]> : vector<3xi32>
  memref.store %dense, %vectors[%c1] : memref<2xvector<3xi32>>
  %loaded = memref.load %vectors[%c1] : memref<2xvector<3xi32>>
  vector.print %loaded : vector<3xi32>
  return
}
"""
PASSES = (
    "--expand-realloc --convert-vector-to-scf --convert-scf-to-cf --expand-strided-metadata --memref-expand "
    "--convert-vector-to-llvm --lower-affine --convert-scf-to-cf --convert-arith-to-llvm --finalize-memref-to-llvm "
    "--convert-index-to-llvm --convert-cf-to-llvm --convert-func-to-llvm --convert-ub-to-llvm "
    "--reconcile-unrealized-casts"
)


@pytest.mark.mlir
@pytest.mark.parametrize("program", [ATOMICS, VIEWS], ids=["atomics", "views"])
def test_a_program_prints_what_mlir_runner_prints(program: str, capsys: pytest.CaptureFixture[str]) -> None:
    optimizer, runner = (
        find_tool(f"mlir-{name}-22", f"HALFULP_MLIR_{name.upper()}", "22") for name in ("opt", "runner")
    )
    lowered = optimizer.run(PASSES.split(), program)
    libraries = f"--shared-libs={library(runner, UTILITIES)}"
    expected = runner.run(["-e", "main", "--entry-point-result=void", libraries], lowered)
    capsys.readouterr()
    hu.run(program, function="main")
    assert capsys.readouterr().out == expected
    assert len(expected.splitlines()) > 20
