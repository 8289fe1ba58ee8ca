"""A program of vector ops prints what mlir-runner prints after mlir-opt has lowered it, and so does each stage."""

import json
from collections.abc import Sequence
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from amounts import thinned
from tables import each_row

import halfulp as hu
from halfulp.conformance.oracles.jit import UTILITIES, library
from halfulp.conformance.oracles.tool import find_tool
from halfulp.fp_formats.formats import ints_to_codes
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.operations import Operation
from halfulp.interp.ir.types import width_of
from halfulp.interp.run.program import program_for
from halfulp.interp.run.settings import Listener, Settings
from halfulp.interp.values.coerce import as_type
from halfulp.interp.values.value import Value

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
  %mn = vector.multi_reduction <mul>, %mr, %acc [] : vector<4xf32> to vector<4xf32>
  vector.print %mn : vector<4xf32>
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


# --- print ------------------------------------------------------------------------------------------------------------
#
# `vector.print` prints what mlir-runner 22 prints, and tells the listeners the values.

RECORD = json.loads((Path(__file__).parents[3] / "data" / "printed.json").read_text(encoding="utf-8"))
ROWS: list[tuple[str, list[int], str, str]] = [tuple(row) for row in RECORD["rows"]]
# mlir-runner prints the NaN of f8E8M0FNU as inf (LLVM issue 214919).
NOT_INFINITE = 0xFF


class Printed(Listener):
    """The events of printing."""

    def __init__(self) -> None:
        self.events: list[tuple[str, tuple[Any, ...]]] = []

    def printed(self, op: Operation, text: str, values: Sequence[Any]) -> None:
        self.events.append((text, tuple(values)))


def output_of(text: str, *arguments: Value, listener: Listener | None = None) -> str:
    """Run @f, and return what it prints."""
    module = hu.load(text)
    parts: list[str] = []
    settings = Settings(write=parts.append, listeners=() if listener is None else (listener,))
    function = module.lookup("f")
    assert function is not None
    program_for(module, settings).run(function, arguments)
    return "".join(parts)


def value(type_: str, codes: Sequence[int]) -> Value:
    parsed = as_type(type_)
    shape = tuple(size or 0 for size in ty.shape_of(parsed) or ())
    return Value(parsed, ints_to_codes(codes, width_of(ty.element_type(parsed)), shape))


def test_the_record_is_broad() -> None:
    elements = {type_.rpartition("x")[2].strip("<>").removeprefix("vector<") for type_, *_ in ROWS}
    assert len(ROWS) > 900
    assert len(elements) == 43
    assert sum(len(codes) for _, codes, *_ in ROWS) > 7000
    assert {mark for _, _, mark, _ in ROWS} == {"", "no_punctuation", "newline", "comma", "open", "close"}


@pytest.mark.parametrize(
    "element", thinned(sorted({ty.element_type(as_type(type_)) for type_, *_ in ROWS}, key=str), 4), ids=str
)
def test_values_print_as_mlir_runner_prints_them(element: ty.Type) -> None:
    rows = [row for row in ROWS if ty.element_type(as_type(row[0])) == element]
    for type_, codes, mark, theirs in rows:
        punctuation = f" punctuation <{mark}>" if mark else ""
        program = f"func.func @f(%v: {type_}) {{\n  vector.print %v : {type_}{punctuation}\n  return\n}}"
        expected = theirs
        if str(element) == "f8E8M0FNU" and NOT_INFINITE in codes:
            assert "inf" in theirs
            expected = theirs.replace("inf", "nan")
        assert output_of(program, value(type_, codes)) == expected


# Types that mlir-runner cannot print are spelled alike.
@each_row(
    ("i65", (1 << 65) - 1, "-1"),
    ("ui128", (1 << 128) - 1, "340282366920938463463374607431768211455"),
    ("tf32", 0x1FC00, "1"),
    ("f80", 0x3FFF8000000000000000, "1"),
    ("f80", 0x7FFEFFFFFFFFFFFFFFFF, "1.18973e+4932"),
    ("f80", 1, "3.6452e-4951"),
    ("f128", 0xBFFF << 112, "-1"),
    ("f128", 1, "6.47518e-4966"),
    ("f128", 0x7FFF8 << 108, "nan"),
)
def test_wider_types(type_: str, code: int, text: str) -> None:
    program = f"func.func @f(%v: {type_}) {{\n  vector.print %v : {type_}\n  return\n}}"
    assert output_of(program, value(type_, [code])) == f"{text}\n"


PIECES = """\
func.func @{}() {{
  vector.print str "a\\00b"
  vector.print str "x\\0A"
  vector.print punctuation <open>
  vector.print punctuation <comma>
  vector.print punctuation <close>
  vector.print punctuation <no_punctuation>
  vector.print
  vector.print punctuation <newline>
  %c = arith.constant -1 : index
  vector.print %c : index punctuation <no_punctuation>
  return
}}
"""
PRINTED = "ax\n( ,  )\n\n18446744073709551615"


def test_strings_and_punctuation() -> None:
    assert output_of(PIECES.format("f")) == PRINTED


@pytest.mark.mlir
def test_mlir_runner_prints_the_same() -> None:
    optimizer = find_tool("mlir-opt-22", "HALFULP_MLIR_OPT", "22")
    runner = find_tool("mlir-runner-22", "HALFULP_MLIR_RUNNER", "22")
    lowered = optimizer.run([f"--pass-pipeline={RECORD['pipeline']}"], PIECES.format("main"))
    options = ["-e", "main", "--entry-point-result=void", f"--shared-libs={library(runner, UTILITIES)}"]
    assert runner.run(options, lowered) == PRINTED


def test_listeners_get_the_values() -> None:
    listener = Printed()
    program = (
        "func.func @f(%v: vector<2xi8>, %x: i1) {\n  vector.print %v : vector<2xi8> punctuation <comma>\n"
        '  vector.print %x : i1\n  vector.print str "end"\n  return\n}'
    )
    vector, flag = value("vector<2xi8>", [1, 255]), value("i1", [1])
    assert output_of(program, vector, flag, listener=listener) == "( 1, -1 ), 1\nend"
    assert listener.events == [("( 1, -1 ), ", (vector,)), ("1\n", (flag,)), ("end", ())]


def test_poison_is_named() -> None:
    program = (
        "func.func @f(%v: vector<2xi8>) {\n  %c = arith.constant dense<[8, 1]> : vector<2xi8>\n"
        "  %s = arith.shli %v, %c : vector<2xi8>\n  vector.print %s : vector<2xi8>\n  return\n}"
    )
    assert output_of(program, value("vector<2xi8>", [1, 1])) == "( poison, 2 )\n"


def test_every_lane_prints(capsys: pytest.CaptureFixture[str]) -> None:
    program = (
        'func.func @f(%v: i8, %x: i8) {\n  vector.print str "<"\n  vector.print %v : i8 punctuation <comma>\n'
        "  vector.print %x : i8\n  return\n}"
    )
    hu.run(program, np.array([1, 2], np.int8), np.int8(5), batch=True)
    assert capsys.readouterr().out == "<<1, 2, 5\n5\n"
