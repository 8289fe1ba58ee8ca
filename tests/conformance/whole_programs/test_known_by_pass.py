"""Known divergences of passes: a row explains the difference that its pass makes, and no other one."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest
from named_programs import ALL, EXPAND, PIPELINES, Rows, closed, example, example_of_two
from present import present

import halfulp as hu
from halfulp.command.values import read_value
from halfulp.conformance.comparing.check import bounds_of_passes
from halfulp.conformance.comparing.divergences import Cancellation, Divergence, in_range, of_passes
from halfulp.conformance.comparing.op_case import op_case
from halfulp.conformance.oracles.mlir_opt import find_mlir_opt
from halfulp.conformance.oracles.oracle import ClosedProgram
from halfulp.conformance.oracles.tool import PassFailure, PassPipeline, Tool
from halfulp.conformance.whole_programs import known_by_pass
from halfulp.conformance.whole_programs.arguments import one_input, taken_from
from halfulp.conformance.whole_programs.known_by_pass import KnownByPass, Operands
from halfulp.conformance.whole_programs.validation import Inputs, common_functions, compare
from halfulp.interp.ir.operations import Module, Operation, argument_types
from halfulp.interp.ir.types import MemRefType
from halfulp.interp.loading import parse_module
from halfulp.interp.run.settings import Settings
from halfulp.interp.values.buffers import Allocation, Buffer
from halfulp.interp.values.value import Value


def known_by(pipeline: str, rows: Rows = ALL) -> KnownByPass:
    return KnownByPass(PassPipeline(find_mlir_opt(), f"builtin.module({pipeline})"), *rows, Settings())


def explained(known: KnownByPass, module: Module, name: str, inputs: Sequence[tuple[Value, ...]]) -> list[Any]:
    """Return the rows that explain each of these inputs of a function."""
    function = present(module.lookup(name))
    parts = [taken_from(each, argument_types(function)).parts[0] for each in inputs]
    columns = tuple(np.concatenate(column) for column in zip(*(part.columns for part in parts), strict=True))
    return known.explained(module, name, replace(parts[0], columns=columns, count=len(parts)))


def value(text: str) -> Value:
    return read_value(text, None, "<input>", {})


FOLDED = "negative f8E8M0FNU"
"""The row of a number that MLIR prints, once it is folded, as a negative literal, which halfulp does not read. So its
example is a tensor below.
"""


@pytest.mark.mlir
@pytest.mark.parametrize(
    "row",
    [row for row in ALL[0] if row.passes and in_range("22", row.versions) and row.name != FOLDED],
    ids=lambda row: row.name,
)
def test_a_pass_does_what_the_row_says(row: Divergence) -> None:
    module, arguments = example(row)
    program = ClosedProgram(module, "eval", arguments)
    for pattern in row.passes:
        if pattern == "*":
            program = closed(module, "eval", arguments)
        found = [
            explained(known_by(pipeline, ([row], ())), program.module, "eval", [program.arguments])
            for pipeline in PIPELINES[pattern]
        ]
        assert [(row.name,)] in found


IN_TENSOR = """\
func.func @f() -> tensor<2xf8E8M0FNU> {
  %x = arith.constant dense<[-0.125, 2.0]> : tensor<2xf32>
  %0 = arith.truncf %x : tensor<2xf32> to tensor<2xf8E8M0FNU>
  return %0 : tensor<2xf8E8M0FNU>
}
"""
IN_REGION = """\
func.func @f(%c: i1) -> f32 {
  %r = scf.if %c -> f32 {
    %x = arith.constant 0x7F800002 : f32
    %y = arith.constant 0.0 : f32
    %0 = arith.maxnumf %x, %y : f32
    scf.yield %0 : f32
  } else {
    %y = arith.constant 1.0 : f32
    scf.yield %y : f32
  }
  return %r : f32
}
"""

FROM_LOOP = """
func.func @f(%x: f32) -> f32 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %nan = arith.constant 0x7FBFFFFF : f32
  %one = arith.constant 1.0 : f32
  %y = scf.for %i = %c0 to %c1 step %c1 iter_args(%c = %x) -> f32 {
    scf.yield %one : f32
  }
  %r = arith.minnumf %nan, %y : f32
  return %r : f32
}
"""


@pytest.mark.mlir
def test_passes_fold_constants_in_tensors_and_in_regions() -> None:
    known = known_by("canonicalize")
    assert explained(known, parse_module(IN_TENSOR), "f", [()]) == [(FOLDED,)]
    quieted = "maxnumf and minnumf return a signalling NaN quieted"
    assert explained(known, parse_module(IN_REGION), "f", [(value("i1=true"),)]) == [(quieted,)]
    assert explained(known, parse_module(FROM_LOOP), "f", [(value("f32=2"),)]) == [(quieted,)]
    # The C library gives 0x3FDBF0A8; 1.7182818 rounds to 0x3FDBF0A9.
    text = """func.func @f() -> f32 {
      %one = arith.constant 1.0 : f32
      %r = math.expm1 %one : f32
      return %r : f32
    }"""
    assert explained(known, parse_module(text), "f", [()]) == [("math.expm1 of f32: at most 1 ulp",)]
    assert explained(known_by("canonicalize", ((), ())), parse_module(text), "f", [()]) == [()]
    # pow(-inf, 0.5) is inf, but the root of -inf is a NaN. No folder did this.
    text = """func.func @f(%x: f32) -> f32 {
      %half = arith.constant 0.5 : f32
      %r = math.powf %x, %half : f32
      return %r : f32
    }"""
    known = known_by("func.func(test-math-algebraic-simplification)")
    assert explained(known, parse_module(text), "f", [(value("f32=-inf"),)]) == [()]


@pytest.mark.mlir
@pytest.mark.parametrize("row", ALL[1], ids=lambda row: row.name)
def test_a_pass_takes_two_casts_for_none(row: Cancellation) -> None:
    module, given = example_of_two(row)
    assert row.passes
    for pattern in row.passes:
        found = [explained(known_by(pipeline, ((), [row])), module, "main", [given]) for pipeline in PIPELINES[pattern]]
        assert [(row.name,)] in found


@pytest.mark.iree
def test_the_ranges_of_rows_are_right_for_the_llvm_of_iree(iree_opt: str) -> None:
    """iree-opt 3.13 is LLVM 24.0.0git. It has few of the passes."""
    tool = find_mlir_opt(iree_opt)
    pipeline = PassPipeline(tool, "builtin.module(canonicalize)")
    seen = set()
    every: tuple[Divergence | Cancellation, ...] = (*ALL[0], *ALL[1])
    for row in every:
        if not {"*", "canonicalize", "*canonicalize"}.isdisjoint(row.passes):
            if isinstance(row, Cancellation):
                module, arguments = example_of_two(row)
                program = ClosedProgram(module, "main", arguments)
                rows: Rows = ((), [replace(row, versions=">=22")])
            else:
                module, arguments = example(row)
                program = closed(module, "eval", arguments)
                rows = ([replace(row, versions=">=22")], ())
            found = explained(
                KnownByPass(pipeline, *rows, Settings()), program.module, program.function, [program.arguments]
            )
            # What LLVM 24 does not determine may be what LLVM 22 gives; and this 24.0.0git is not that of torch-mlir.
            holds = in_range(tool.version, row.versions) or row.name == "x / 0 in f4 and f6 is zero"
            holds &= row.name not in (FOLDED, "NaN of f8E8M0FNU widened is infinity")
            assert found == [(row.name,) if holds else ()]
            seen.add(holds)
    assert seen == {True, False}


NARROW = """\
func.func @f(%x: f32) -> f8E8M0FNU {
  %0 = arith.truncf %x : f32 to f8E8M0FNU
  return %0 : f8E8M0FNU
}
"""
CUT = "floats to f8E8M0FNU are their exponent field"


@pytest.mark.mlir
def test_many_inputs_are_explained_together(monkeypatch: pytest.MonkeyPatch) -> None:
    module = hu.parse(NARROW)
    inputs = [(value(f"f32={number}"),) for number in ("1.9", "-1", "0.99999994", "-3")]
    assert explained(known_by(EXPAND), module, "f", inputs) == [(CUT,)] * 4
    assert explained(known_by(EXPAND, ((), ())), module, "f", inputs) == [()] * 4


@pytest.mark.mlir
def test_programs_that_are_searched_print_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    module = hu.parse(NARROW.replace("  return", "  vector.print %0 : f8E8M0FNU\n  vector.print %x : f32\n  return"))
    assert explained(known_by(EXPAND), module, "f", [(value("f32=1.9"),)]) == [(CUT,)]
    assert capsys.readouterr().out == ""


@pytest.mark.mlir
def test_an_input_that_does_not_differ_is_not_explained() -> None:
    inputs = [(value("f32=1.9"),), (value("f32=2"),), (value("f32=-1"),)]
    assert explained(known_by(EXPAND), hu.parse(NARROW), "f", inputs[1:2]) == [()]


@pytest.mark.mlir
@pytest.mark.parametrize("container", ["tensor<3xf32>", "vector<3xf32>"])
def test_tensors_and_vectors_are_explained(container: str) -> None:
    result = container.replace("f32", "f8E8M0FNU")
    module = hu.parse(
        NARROW.replace(": f8E8M0FNU", f": {result}")
        .replace("f32", container, 2)
        .replace("to f8E8M0FNU", f"to {result}")
        .replace("-> f8E8M0FNU", f"-> {result}")
    )
    inputs = [(value("3xf32=1.9 -1 2"),), (value("3xf32=2 2 -3"),)]
    inputs = [(Value(argument_types(module.body[0])[0], one.bits),) for (one,) in inputs]
    assert explained(known_by(EXPAND), module, "f", inputs) == [(CUT,)] * 2


BLOCKS = """\
func.func @f(%x: f32, %c: i1) -> (f8E8M0FNU, i32) {
  %k = arith.constant 7 : i32
  cf.cond_br %c, ^a, ^b
^a:
  %0 = arith.truncf %x : f32 to f8E8M0FNU
  return %0, %k : f8E8M0FNU, i32
^b:
  %1 = arith.constant 1.0 : f8E8M0FNU
  return %1, %k : f8E8M0FNU, i32
}
"""

IN_IF = """\
func.func @f(%x: f32, %c: i1) -> f8E8M0FNU {
  %one = arith.constant 1.0 : f8E8M0FNU
  %r = scf.if %c -> f8E8M0FNU {
    %0 = arith.truncf %x : f32 to f8E8M0FNU
    scf.yield %0 : f8E8M0FNU
  } else {
    scf.yield %one : f8E8M0FNU
  }
  return %r : f8E8M0FNU
}
"""

CALLED = """\
func.func private @g(%x: f32) -> f8E8M0FNU {
  %0 = arith.truncf %x : f32 to f8E8M0FNU
  return %0 : f8E8M0FNU
}
func.func @f(%x: f32, %c: i1) -> f8E8M0FNU {
  %0 = call @g(%x) : (f32) -> f8E8M0FNU
  return %0 : f8E8M0FNU
}
"""


@pytest.mark.mlir
@pytest.mark.parametrize("text", [BLOCKS, IN_IF, CALLED], ids=["blocks", "if", "call"])
def test_ops_inside_control_flow_are_explained(text: str) -> None:
    inputs = [(value("f32=1.9"), value("i1=true")), (value("f32=-1"), value("i1=true"))]
    assert explained(known_by(EXPAND), hu.parse(text), "f", inputs) == [(CUT,)] * 2


IN_GENERIC = """\
func.func @f(%x: tensor<4x3xf32>) -> tensor<4x3xf8E8M0FNU> {
  %e = tensor.empty() : tensor<4x3xf8E8M0FNU>
  %r = linalg.generic {
    indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>],
    iterator_types = ["parallel", "parallel"]
  } ins(%x : tensor<4x3xf32>) outs(%e : tensor<4x3xf8E8M0FNU>) {
  ^body(%in: f32, %out: f8E8M0FNU):
    %0 = arith.truncf %in : f32 to f8E8M0FNU
    linalg.yield %0 : f8E8M0FNU
  } -> tensor<4x3xf8E8M0FNU>
  return %r : tensor<4x3xf8E8M0FNU>
}
"""

IN_MEMORY = """\
func.func @f(%x: memref<4x3xf32>, %y: memref<4x3xf8E8M0FNU>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %c4 = arith.constant 4 : index
  scf.for %i = %c0 to %c4 step %c1 {
    scf.for %j = %c0 to %c3 step %c1 {
      %0 = memref.load %x[%i, %j] : memref<4x3xf32>
      %1 = arith.truncf %0 : f32 to f8E8M0FNU
      memref.store %1, %y[%i, %j] : memref<4x3xf8E8M0FNU>
    }
  }
  return
}
"""

PRINTED = """\
func.func @f(%x: f32) {
  %0 = arith.truncf %x : f32 to f8E8M0FNU
  vector.print %0 : f8E8M0FNU
  return
}
"""

NUMBERS = "4x3xf32=1.9 -1 2 2 2 2 2 2 2 2 2 -3"
FILLED = "4x3xf8E8M0FNU=1 1 1 1 1 1 1 1 1 1 1 1"


@pytest.mark.mlir
@pytest.mark.parametrize(
    ("text", "inputs"),
    [(IN_GENERIC, [NUMBERS]), (IN_MEMORY, [NUMBERS, FILLED]), (PRINTED, ["f32=1.9"])],
    ids=["generic", "memory", "printed"],
)
def test_ops_on_elements_and_in_memory_and_printed_values_are_explained(
    text: str, inputs: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    module = hu.parse(text)
    given = tuple(map(value, inputs))
    assert explained(known_by(EXPAND), module, "f", [given]) == [(CUT,)]
    assert explained(known_by(EXPAND, ((), ())), module, "f", [given]) == [()]
    assert capsys.readouterr().out == ""


@pytest.mark.mlir
def test_the_inputs_of_a_structured_op_are_explained_together(monkeypatch: pytest.MonkeyPatch) -> None:
    module = hu.parse(IN_GENERIC)
    rows = [(value(NUMBERS.replace("1.9", str(number))),) for number in (1.9, 1.75, 3.5, 7)]
    counts: list[int] = []

    def counted(self: Operands) -> Iterator[tuple[Operation, tuple[Value, ...]]]:
        found = list(columns(self))
        counts.extend(len(operands[0].bits) for _, operands in found)
        return iter(found)

    columns = Operands.columns
    monkeypatch.setattr(Operands, "columns", counted)
    assert explained(known_by(EXPAND), module, "f", rows) == [(CUT,)] * 4
    assert len(counts) == 1


@dataclass(frozen=True)
class Replacing(PassPipeline):
    """A pipeline that also replaces one text by another one, which no row knows."""

    change: tuple[str, str] = ("", "")

    def apply_all(self, texts: Sequence[str]) -> list[str | PassFailure]:
        pattern, instead = self.change
        return [re.sub(pattern, instead, str(text)) for text in super().apply_all(texts)]


def replacing(passes: str, *change: str) -> KnownByPass:
    pattern, instead = change
    pipeline = Replacing(find_mlir_opt(), f"builtin.module({passes})", change=(pattern, instead))
    return KnownByPass(pipeline, *ALL, Settings())


@pytest.mark.mlir
def test_a_wrong_store_beside_a_known_divergence_is_found() -> None:
    square = IN_MEMORY.replace("4x3", "3x3").replace("to %c4", "to %c3")
    before = value("3x3xf8E8M0FNU=1")
    one, symmetric = (value(f"3x3xf32=1.9 {number} 1 1 1 1 1 1 1") for number in (4, 1))
    exchanged = replacing(EXPAND, r"(memref.store .*)\[(.*), (.*)\]", r"\1[\3, \2]")
    # Where the matrix equals its transpose, nothing but the known divergence is seen.
    assert explained(exchanged, hu.parse(square), "f", [(one, before), (symmetric, before)]) == [(), (CUT,)]


@pytest.mark.mlir
def test_another_text_beside_a_known_divergence_is_found() -> None:
    known = replacing(EXPAND, "    return", "    vector.print %arg0 : f32\n    return")
    assert explained(known, hu.parse(PRINTED), "f", [(value("f32=1.9"),)]) == [()]


@pytest.mark.mlir
def test_too_many_operands_are_not_explained(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(known_by_pass, "MOST_ELEMENTS", 3)
    assert explained(known_by(EXPAND), hu.parse(IN_GENERIC), "f", [(value(NUMBERS),)]) == [()]
    assert explained(known_by(EXPAND), hu.parse(IN_GENERIC), "f", [(value(NUMBERS.replace("-3", "2")),)]) == [(CUT,)]


LAYOUT = """\
func.func @f(%m: memref<?xf32, strided<[?], offset: ?>>) -> (f8E8M0FNU, index) {
  %base, %offset, %size, %stride = memref.extract_strided_metadata %m
    : memref<?xf32, strided<[?], offset: ?>> -> memref<f32>, index, index, index
  %k = arith.constant 1.9 : f32
  %0 = arith.truncf %k : f32 to f8E8M0FNU
  return %0, %offset : f8E8M0FNU, index
}
"""


@pytest.mark.mlir
def test_memory_keeps_its_layout_in_the_search() -> None:
    module = hu.parse(LAYOUT)
    (type_,) = argument_types(module.body[0])
    assert isinstance(type_, MemRefType)
    loose = Buffer(type_, Allocation(hu.Value.from_numpy(np.float32(0)).type, 8), 5, (2,), (1,))
    part = one_input([loose], [type_]).parts[0]
    wrong = replacing(EXPAND, r"return (%\w+), %offset", r"%zero = arith.constant 0 : index\n    return \1, %zero")
    assert wrong.explained(module, "f", part) == [()]
    assert known_by(EXPAND).explained(module, "f", part) == [(CUT,)]


OPEN = """\
func.func private @g(%0: f16) -> f16 {
  %1 = math.absf %0 : f16
  %2 = arith.negf %1 : f16
  return %2 : f16
}
func.func @f(%x: f16) -> f16 {
  %r = func.call @g(%x) : (f16) -> f16
  return %r : f16
}
"""
QUIET = "math by f32 makes a NaN quiet, and rounds twice"


@pytest.mark.mlir
def test_bits_that_the_language_leaves_open_after_a_known_divergence_hide_no_other_one() -> None:
    module = hu.parse(OPEN)
    inputs = [(value(f"f16={code}"),) for code in ("0x7C01", "0x7E00", "0xFC01")]
    assert explained(known_by("math-extend-to-supported-types"), module, "f", [inputs[0], inputs[2]]) == [(QUIET,)] * 2
    change = r"(%\w+) = arith.negf (%\w+) : f16", r"%zero = arith.constant -0.0 : f16\n \1 = arith.subf %zero, \2 : f16"
    wrong = replacing("math-extend-to-supported-types", *change)
    assert explained(wrong, module, "f", inputs) == [()] * 3  # it loses the sign of a NaN
    assert explained(wrong, module, "f", inputs[:1]) == [()]


@pytest.mark.mlir
def test_the_time_of_a_search_is_that_of_all_inputs_together(monkeypatch: pytest.MonkeyPatch) -> None:
    module = hu.parse(IN_MEMORY)
    known = known_by(EXPAND)
    inputs = [tuple(map(value, (NUMBERS, FILLED)))] * 3
    monkeypatch.setattr(known_by_pass, "MOST_STUDIES", 4)
    assert explained(known, module, "f", inputs) == [(CUT,)] * 3
    assert explained(known, module, "f", inputs) == [(CUT,), None, None]
    assert explained(known, hu.parse(IN_MEMORY), "f", inputs) == [(CUT,)] * 3


@pytest.mark.mlir
def test_inputs_that_nobody_looked_up_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(known_by_pass, "MOST_STUDIES", 2)
    before = hu.parse(
        "func.func @f(%m: memref<f32>) -> f8E8M0FNU {\n  %x = memref.load %m[] : memref<f32>\n"
        "  %0 = arith.truncf %x : f32 to f8E8M0FNU\n  return %0 : f8E8M0FNU\n}"
    )
    pipeline = PassPipeline(find_mlir_opt(), f"builtin.module({EXPAND})")
    after = pipeline.read(pipeline.apply(hu.print_module(before)), "<after>")
    known = KnownByPass(pipeline, *ALL, Settings())
    (pair,) = common_functions(before, after)
    found = compare(before, after, pair, Inputs(40), explain=lambda part: known.explained(before, "f", part))
    assert found.known.total() == 2
    assert found.unsearched == found.differing > 0


@pytest.mark.mlir
def test_a_program_may_have_functions_of_any_name() -> None:
    text = CALLED.replace("@g", "@after_passes_0")
    assert explained(known_by(EXPAND), hu.parse(text), "f", [(value("f32=1.9"), value("i1=true"))]) == [(CUT,)]


CALLS_LIBRARY = """\
func.func @f(%x: tensor<3xf16>) -> tensor<3xf16> {
  %r = tensor.generate {
  ^body(%i: index):
    %0 = tensor.extract %x[%i] : tensor<3xf16>
    %1 = math.absf %0 : f16
    tensor.yield %1 : f16
  } : tensor<3xf16>
  return %r : tensor<3xf16>
}
"""


@pytest.mark.mlir
def test_what_a_replaced_op_calls_comes_along() -> None:
    row = "math by f32 makes a NaN quiet, and rounds twice"
    given = value("3xf16=0x7C01 -1 0")
    assert explained(known_by("convert-math-to-libm"), hu.parse(CALLS_LIBRARY), "f", [(given,)]) == [(row,)]


BESIDE = """\
func.func @f(%x: f32, %y: i32) -> (f8E8M0FNU, i32) {
  %0 = arith.truncf %x : f32 to f8E8M0FNU
  %1 = arith.addi %y, %y : i32
  return %0, %1 : f8E8M0FNU, i32
}
"""


@pytest.mark.mlir
def test_a_known_divergence_hides_no_other_difference() -> None:
    known = replacing(EXPAND, "arith.addi", "arith.subi")
    inputs = [(value("f32=-1"), value(f"i32={number}")) for number in (0, 1, 0, 2)]
    # 0 + 0 is 0 - 0: there, nothing but the known divergence is seen.
    assert explained(known, hu.parse(BESIDE), "f", inputs) == [(CUT,), (), (CUT,), ()]


HIDDEN = """\
func.func @f(%x: f32, %y: i32, %c: i1) -> i32 {
  cf.cond_br %c, ^a, ^b
^a:
  %0 = arith.truncf %x : f32 to f8E8M0FNU
  %1 = arith.bitcast %0 : f8E8M0FNU to i8
  %2 = arith.extui %1 : i8 to i32
  %3 = arith.addi %2, %y : i32
  return %3 : i32
^b:
  return %y : i32
}
"""


@pytest.mark.mlir
def test_a_result_that_depends_on_a_known_divergence_hides_no_other_difference() -> None:
    module = hu.parse(HIDDEN)
    inputs = [(value("f32=1.9"), value(f"i32={number}"), value("i1=true")) for number in (3, 0)]
    assert explained(known_by(EXPAND), module, "f", inputs) == [(CUT,)] * 2
    # 127 + 0 is 127 - 0: there, nothing but the known divergence is seen.
    assert explained(replacing(EXPAND, "arith.addi", "arith.subi"), module, "f", inputs) == [(), (CUT,)]


@pytest.mark.mlir
def test_a_wrong_branch_beside_a_known_divergence_is_found() -> None:
    known = replacing(EXPAND, r"\^bb1, \^bb2", "^bb2, ^bb1")
    assert explained(known, hu.parse(HIDDEN), "f", [(value("f32=1.9"), value("i32=3"), value("i1=true"))]) == [()]


def test_a_program_without_the_ops_of_a_row_needs_no_run_of_the_passes() -> None:
    pipeline = PassPipeline(Tool("/nowhere/mlir-opt", "22.1.8"), f"builtin.module({EXPAND})")
    module = hu.parse("func.func @f(%x: i32) -> i32 {\n  %0 = arith.addi %x, %x : i32\n  return %0 : i32\n}")
    assert explained(KnownByPass(pipeline, *ALL, Settings()), module, "f", [(value("i32=1"),)] * 3) == [()] * 3


def test_rows_of_other_passes_and_versions_explain_nothing() -> None:
    assert of_passes(ALL[0], ["cse"], "x") == of_passes(ALL[0], ["gvn"], "x")
    names = {row.name for row in of_passes(ALL[0], ["arith-expand"], "x")}
    assert CUT in names
    assert CUT not in {row.name for row in of_passes(ALL[0], ["cse"], "x")}
    row = next(row for row in of_passes(ALL[0], ["arith-expand"], "x") if row.name == CUT)
    case = op_case("arith.truncf", "f32", "f8E8M0FNU")
    assert row.applies("x", "22.1.8", case)
    assert row.applies("x", "23.0.0git", case)
    assert not row.applies("x", "21.1.8", case)
    assert not row.applies("mlir-expand", "22.1.8", case)
    (bound,) = (each for each in bounds_of_passes(["cse"], "x") if each.name.startswith("math.sinh of f32"))
    cases = [op_case(op, "f32") for op in ("math.sinh", "math.cosh")]
    assert [bound.applies(tool, "22.1.8", case) for tool in ("x", "mlir-fold") for case in cases] == [
        True,
        *[False] * 3,
    ]
