"""A program of vector ops prints what mlir-runner prints after mlir-opt has lowered it, and so does each stage."""

from __future__ import annotations

from io import StringIO

import pytest

import halfulp as hu
from halfulp.conformance.oracles.jit import UTILITIES, library
from halfulp.conformance.oracles.tool import find_tool
from halfulp.interp.run.program import program_for
from halfulp.interp.run.settings import Settings

PROGRAM = """
func.func @main() {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c5 = arith.constant 5 : index
  %f = arith.constant 9.5 : f32
  %four = arith.constant 4 : index
  %m = memref.alloc() : memref<4x6xf32>
  %z44 = arith.constant dense<0.0> : vector<4x4xf32>
  %k6 = vector.create_mask %four : vector<6xi1>
  %gi = arith.constant dense<[0, 3, -1, 2]> : vector<4xi32>
  %gm = arith.constant dense<[true,true,true,false]> : vector<4xi1>
  %gp = arith.constant dense<7.0> : vector<4xf32>
  %st = vector.step : vector<6xindex>
  %sti = arith.index_cast %st : vector<6xindex> to vector<6xi32>
  %stf = arith.sitofp %sti : vector<6xi32> to vector<6xf32>
  scf.for %i = %c0 to %four step %c1 {
    %ii = arith.index_cast %i : index to i32
    %if = arith.sitofp %ii : i32 to f32
    %b = vector.broadcast %if : f32 to vector<6xf32>
    %ten = arith.constant dense<10.0> : vector<6xf32>
    %r = vector.fma %b, %ten, %stf : vector<6xf32>
    vector.transfer_write %r, %m[%i, %c0] {in_bounds=[true]} : vector<6xf32>, memref<4x6xf32>
  }
  %v = vector.transfer_read %m[%c1, %c1], %f : memref<4x6xf32>, vector<4x8xf32>
  vector.print %v : vector<4x8xf32>
  %vt = vector.transfer_read %m[%c1, %c1], %f {permutation_map = affine_map<(d0,d1)->(d1,d0)>} : memref<4x6xf32>, vector<4x5xf32>
  vector.print %vt : vector<4x5xf32>
  %vb = vector.transfer_read %m[%c1, %c1], %f {permutation_map = affine_map<(d0,d1)->(d1,0)>, in_bounds=[false,true]} : memref<4x6xf32>, vector<8x2xf32>
  vector.print %vb : vector<8x2xf32>
  %k = vector.create_mask %c1, %c5 : vector<4x8xi1>
  vector.print %k : vector<4x8xi1>
  %vm = vector.transfer_read %m[%c0, %c0], %f, %k : memref<4x6xf32>, vector<4x8xf32>
  vector.print %vm : vector<4x8xf32>
  %s = vector.shape_cast %v : vector<4x8xf32> to vector<32xf32>
  %sh = vector.shuffle %s, %s [0, 33, 5, 40] : vector<32xf32>, vector<32xf32>
  vector.print %sh : vector<4xf32>
  %red = vector.reduction <add>, %s : vector<32xf32> into f32
  vector.print %red : f32
  %acc = arith.constant dense<1.0> : vector<4xf32>
  %mr = vector.multi_reduction <mul>, %v, %acc [1] : vector<4x8xf32> to vector<4xf32>
  vector.print %mr : vector<4xf32>
  %op = vector.outerproduct %acc, %stf : vector<4xf32>, vector<6xf32>
  vector.print %op : vector<4x6xf32>
  %bc = vector.bitcast %acc : vector<4xf32> to vector<8xi16>
  vector.print %bc : vector<8xi16>
  %bb = vector.bitcast %bc : vector<8xi16> to vector<2xi64>
  vector.print %bb : vector<2xi64>
  %i1, %i2 = vector.deinterleave %bc : vector<8xi16> -> vector<4xi16>
  vector.print %i1 : vector<4xi16>
  %il = vector.interleave %i2, %i1 : vector<4xi16> -> vector<8xi16>
  vector.print %il : vector<8xi16>
  %tt = vector.transpose %vt, [1, 0] : vector<4x5xf32> to vector<5x4xf32>
  vector.print %tt : vector<5x4xf32>
  %cc = vector.contract {indexing_maps = [affine_map<(i,j,k)->(i,k)>, affine_map<(i,j,k)->(k,j)>, affine_map<(i,j,k)->(i,j)>], iterator_types = ["parallel","parallel","reduction"]} %vt, %tt, %z44 : vector<4x5xf32>, vector<5x4xf32> into vector<4x4xf32>
  vector.print %cc : vector<4x4xf32>
  %mk = vector.mask %k6 { vector.reduction <maximumf>, %stf : vector<6xf32> into f32 } : vector<6xi1> -> f32
  vector.print %mk : f32
  %ga = vector.gather %m[%c1, %c1] [%gi], %gm, %gp : memref<4x6xf32>, vector<4xi32>, vector<4xi1>, vector<4xf32> into vector<4xf32>
  vector.print %ga : vector<4xf32>
  return
}
"""
MASKS = "func.func(lower-vector-mask)"
REDUCTIONS = "func.func(lower-vector-multi-reduction)"
TRANSFERS = "func.func(convert-vector-to-scf)"
UNROLLED = "func.func(convert-vector-to-scf{full-unroll})"
REST = (
    "convert-scf-to-cf,expand-strided-metadata,lower-affine,convert-vector-to-llvm,finalize-memref-to-llvm,"
    "convert-to-llvm,reconcile-unrealized-casts"
)


def printed(text: str) -> str:
    output = StringIO()
    program = program_for(hu.load(text), Settings(write=output.write))
    program.run(program.module.body[-1], ())
    return output.getvalue()


@pytest.mark.mlir
def test_every_stage_of_a_lowering_prints_the_same() -> None:
    opt, runner = (find_tool(f"mlir-{name}-22", f"HALFULP_MLIR_{name.upper()}", "22") for name in ("opt", "runner"))

    def lowered(*passes: str) -> str:
        return opt.run([f"--pass-pipeline=builtin.module({','.join(passes)})"], PROGRAM)

    libraries = f"--shared-libs={library(runner, UTILITIES)}"
    arguments = ["-e", "main", "--entry-point-result=void", libraries]
    wanted = runner.run(arguments, lowered(MASKS, REDUCTIONS, TRANSFERS, REST))
    assert len(wanted.splitlines()) > 12
    stages = [(), (MASKS,), (MASKS, REDUCTIONS), (MASKS, REDUCTIONS, TRANSFERS), (MASKS, REDUCTIONS, UNROLLED)]
    for passes in stages:
        assert printed(lowered(*passes) if passes else PROGRAM) == wanted, passes
