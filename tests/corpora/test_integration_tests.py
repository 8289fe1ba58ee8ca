"""An integration test of LLVM by the real tools and by halfulp."""

from pathlib import Path

import pytest
from corpora.answers import Answers
from corpora.integration_tests import Execution, Program, Result, counted, executions, output, results, table
from corpora.lit_script import Command, LitTools, Stage, in_mlir_22, pipelines, run_lines, script
from corpora.lit_script import TestCalls as Known
from corpora.pass_tests import Cached, Case, Worker, cases, functions
from tables import each_row

import halfulp as hu
from halfulp.conformance.oracles.tool import Tool, find_tool
from halfulp.conformance.whole_programs.validation import Inputs, ValidationReport, common_functions, compare
from halfulp.interp.loading import parse_module

PROGRAM = """\
func.func @main() {
  %a = arith.constant dense<[1, 2, 3]> : vector<3xi32>
  vector.print %a : vector<3xi32>
  return
}
func.func @returns() -> f32 {
  %b = arith.constant 1.5 : f32
  vector.print %b : f32
  return %b : f32
}
"""

RUN = """\
// RUN: mlir-opt %s -convert-vector-to-scf -convert-scf-to-cf -convert-vector-to-llvm -convert-func-to-llvm \\
// RUN:   -convert-cf-to-llvm -convert-arith-to-llvm -reconcile-unrealized-casts | \\
// RUN: mlir-runner -e main -entry-point-result=void -shared-libs=%mlir_c_runner_utils | FileCheck %s
// RUN: echo nothing
"""


def test_the_result_of_the_entry_is_printed_as_mlir_runner_prints_it() -> None:
    assert output(PROGRAM, "main", "void") == "( 1, 2, 3 )\n"
    assert output(PROGRAM, "returns", "void") == "1.5\n"
    assert output(PROGRAM, "returns", "f32") == "1.5\n1.500000e+00\n"


def test_a_test_has_the_outcome_of_its_worst_line() -> None:
    found = [
        Result("A/a", 0, True, "pass"),
        Result("A/a", 1, True, "wrong"),
        Result("A/b", 0, True, "pass"),
        Result("B/c", 0, False, "pass"),
    ]
    assert counted(found) == {"A": {"wrong": 1, "pass": 1}, "B": {"tools fail": 1}}
    assert table(counted(found))[2:] == ["| A | 2 | 0 | 1 | 1 |", "| B | 1 | 1 | 0 | 0 |", "| all | 3 | 1 | 1 | 1 |"]


@pytest.mark.mlir
def test_a_line_passes_by_the_real_tools_and_here(tmp_path: Path) -> None:
    # FileCheck does not come with mlir-opt: grep stands for it here.
    check = tmp_path / "check"
    check.write_text('#!/bin/sh\nfor flag; do [ "$flag" != --fail ] || exit 1; done\ngrep -q "^( 1, 2, 3 )$"\n')
    check.chmod(0o755)
    opt, runner = (find_tool(f"mlir-{name}-22", f"HALFULP_MLIR_{name.upper()}", "22.") for name in ("opt", "runner"))
    tools = LitTools(opt, runner, Tool(str(check), ""), Answers(tmp_path, opt.version))
    test = tmp_path / "a.mlir"

    def outcomes(text: str) -> list[tuple[int, bool, str, str]]:
        test.write_text(text)
        return [(one.line, one.tools, one.outcome, one.stage) for one in results(test, "a", tools, every=True)]

    assert outcomes(RUN + PROGRAM) == [(0, True, "pass", "source"), (1, True, "unsupported", "")]
    assert outcomes(RUN + PROGRAM.replace("2, 3]", "2, 4]"))[0] == (0, False, "as tools", "source")
    stages = tools.stages(PROGRAM, [["--convert-vector-to-scf", "--convert-scf-to-cf", "--convert-func-to-llvm"]])
    assert [name for name, _ in stages] == ["convert-vector-to-scf", "convert-scf-to-cf"]
    assert all("llvm." not in text for _, text in stages)
    assert tools.disagreement(["--fail"], "( 1, 2, 3 )\n") == "FileCheck failed"


# --- pass tests -------------------------------------------------------------------------------------------------------
#
# A test of LLVM through the commands of its RUN lines.

TEST = """\
// RUN: mlir-opt %s -canonicalize -split-input-file | FileCheck %s
func.func @folds(%a: i8) -> i8 {
  %c = arith.constant 0 : i8
  %0 = arith.addi %a, %c : i8
  return %0 : i8
}
func.func @is_rejected() {
  %0 = arith.no_such_op : i8
}
func.func @calls(%a: i8) {
  "test.use"(%a) : (i8) -> ()
  return
}
// -----
func.func @has_no_results(%a: i8) {
  return
}
func.func @stores(%m: memref<?xi8>) -> memref<?xi8> {
  return %m : memref<?xi8>
}
"""


@pytest.mark.mlir
def test_each_function_has_an_outcome(tmp_path: Path) -> None:
    tool = Cached(find_tool("mlir-opt-22", "HALFULP_MLIR_OPT", "22."), tmp_path)
    worker = Worker()
    try:
        found = list(cases("A/x.mlir", TEST, tool, worker))
    finally:
        worker.close()
    assert {(case.function, case.outcome) for case in found} == {
        ("folds", "proven"),
        ("is_rejected", "rejected"),
        ("calls", "equal"),
        ("has_no_results", "silent"),
        ("stores", "equal"),
    }
    assert all(isinstance(case, Case) and case.command == "-canonicalize" for case in found)
    assert list(tmp_path.iterdir())


# --- lit script -------------------------------------------------------------------------------------------------------
#
# The RUN lines of LLVM's tests as commands of a shell.

TEXT = """\
// DEFINE: %{compile} = mlir-opt %s -one \\
// DEFINE:     -two -o %t
// DEFINE: %{entry} = first
// DEFINE: %{run} = mlir-runner %t -e %{entry} -shared-libs=%lib
// RUN: %{compile} && %{run} | FileCheck %s
// REDEFINE: %{entry} = second
// RUN: %{run} 2>&1 | \\
// RUN:   FileCheck %s --check-prefix=SECOND
"""


def test_words_are_replaced_by_what_is_defined_at_that_line() -> None:
    assert script(TEXT, {"%s": "a.mlir", "%t": "b", "%lib": "l.so"}) == [
        "mlir-opt a.mlir -one -two -o b && mlir-runner b -e first -shared-libs=l.so | FileCheck a.mlir",
        "mlir-runner b -e second -shared-libs=l.so 2>&1 | FileCheck a.mlir --check-prefix=SECOND",
    ]


def test_a_line_is_taken_apart_into_commands() -> None:
    assert pipelines("rm -f t && a 'b c' 2>&1 | d > e; f") == [
        (Command(("rm", "-f", "t")),),
        (Command(("a", "b c"), both=True), Command(("d", "-o", "e"))),
        (Command(("f",)),),
    ]


def test_an_execution_knows_its_program_entry_and_checks(tmp_path: Path) -> None:
    test = tmp_path / "a.mlir"
    test.write_text("text")
    line = f"mlir-opt {test} -one -o t && mlir-opt t -two | mlir-runner -e=f -entry-point-result=void | FileCheck x --y"
    assert list(executions(line, test)) == [
        Execution(Program("text", (("-one",), ("-two",))), "f", "void", (("x", "--y"),))
    ]
    assert list(executions(f"mlir-opt {test} | FileCheck {test}", test)) == []


# --- run lines --------------------------------------------------------------------------------------------------------
#
# The RUN lines of LLVM's tests.


@each_row(
    ("// RUN: mlir-opt %s -canonicalize | FileCheck %s", [Stage(("-canonicalize",))]),
    ("// RUN: mlir-opt %s | mlir-opt | FileCheck %s", [Stage(()), Stage(())]),
    (
        "// RUN: mlir-opt -p=\"a{b=1 c=2},d\" -split-input-file %s 2>&1 \\\n// RUN:   --cse -verify-diagnostics",
        [Stage(("-p=a{b=1 c=2},d", "--cse"), split=True)]
    ),
    ("// RUN: mlir-opt %s -pass-pipeline='builtin.module(cse)' -o /dev/null",
     [Stage(("-pass-pipeline=builtin.module(cse)",))]),
    ("// RUN: not mlir-opt %s -cse", [Stage(("-cse",))]),
)  # fmt: skip
def test_a_run_line_names_the_commands_of_mlir_opt(text: str, stages: list[Stage]) -> None:
    assert run_lines(text) == [tuple(stages)]


def test_flags_are_a_pipeline() -> None:
    stage = Stage(("-allow-unregistered-dialect", "--arith-expand=include-bf16=true include-f8e8m0=true", "-cse"))
    passes = "arith-expand{include-bf16=true include-f8e8m0=true},cse"
    assert stage.pipelines() == (f"builtin.module({passes})", f"builtin.module(func.func({passes}))")
    assert Stage(("-pass-pipeline=any(cse)",)).pipelines() == ("any(cse)",)


def test_other_tools_are_not_commands() -> None:
    assert run_lines("// RUN: FileCheck %s\n// RUN: mlir-translate %s | mlir-opt\n// CHECK: mlir-opt\n") == []


def test_functions_are_found_in_a_text_that_is_not_valid() -> None:
    text = '// func.func @no()\nfunc.func @a( {\n func.func private @b(i32)\n  func.func @"c d"() {'
    assert functions(text) == ["a", "b", "c d"]


# --- test ops ---------------------------------------------------------------------------------------------------------
#
# The ops of MLIR's test dialect that have a meaning.

BOUNDED = '"test.with_bounds"() <{{smin = {0} : i8, smax = {1} : i8, umin = {0} : i8, umax = {1} : i8}}> : () -> i8'


def compared(before: str, after: str, result: str) -> ValidationReport:
    one, two = (hu.parse(f"func.func @f(%a: i8) -> {result} {{\n{body}\n}}") for body in (before, after))
    (pair,) = common_functions(one, two)
    return compare(one, two, pair, Inputs(count=64, unknown=Known))


@pytest.mark.parametrize(("limit", "holds"), [(8, True), (7, False)])
def test_a_value_with_bounds_lies_inside(limit: int, holds: bool) -> None:
    before = f"  %0 = {BOUNDED.format(3, 8)}\n  %c = arith.constant {limit} : i8\n"
    before += "  %1 = arith.cmpi ule, %0, %c : i8\n  return %1 : i1"
    report = compared(before, "  %1 = arith.constant true\n  return %1 : i1", "i1")
    assert (report.tested, report.differing == 0) == (64, holds)


@pytest.mark.parametrize(("high", "right"), [(8, True), (7, False)])
def test_bounds_that_a_pass_writes_are_checked(high: int, right: bool) -> None:
    value = f"  %0 = {BOUNDED.format(3, 8)}\n"
    before = value + '  %1 = "test.reflect_bounds"(%0) : (i8) -> i8\n  return %1 : i8'
    bounds = f"<{{smin = 3 : i8, smax = {high} : i8, umin = 3 : i8, umax = {high} : i8}}>"
    after = value + f'  %1 = "test.reflect_bounds"(%0) {bounds} : (i8) -> i8\n  return %1 : i8'
    assert (compared(before, after, "i8").differing == 0) == right


def test_an_equal_bound_is_the_value() -> None:
    body = '  %i = arith.index_cast %a : i8 to index\n  %0 = "test.reify_bound"(%i){} : (index) -> index\n  return %0 : index'
    same = "  %i = arith.index_cast %a : i8 to index\n  return %i : index"
    assert compared(body.format(""), same, "index").differing == 0
    lower = compared(body.format(' {type = "LB"}'), same, "index")
    assert (lower.compared, list(lower.skipped)) == (0, ["a bound that is not the value"])


# --- removed ops ------------------------------------------------------------------------------------------------------
#
# Ops that MLIR 22 does not have, in terms of those that it has.

REMOVED_OPS_TEXT = """\
!t = vector<2x3xf32>
func.func @f(%a: f32, %i: i32, %k: index, %v: vector<8xf32>, %w: vector<f32>) {
  %0 = vector.splat %a : !t
  %1 = vector.insertelement %a, %v[%i : i32] : vector<8xf32>
  %2 = vector.extractelement %w[] : vector<f32>
  %3 = vector.extractelement %v[%k : index]: vector<8xf32>
  return
}
"""


def test_removed_ops_are_replaced() -> None:
    lines = [line.strip() for line in in_mlir_22(REMOVED_OPS_TEXT).splitlines()[2:6]]
    assert lines == [
        "%0 = vector.broadcast %a : f32 to !t",
        "%place_1 = arith.index_cast %i : i32 to index %1 = vector.insert %a, %v [%place_1] : f32 into vector<8xf32>",
        "%2 = vector.extract %w[] : f32 from vector<f32>",
        "%3 = vector.extract %v[%k] : f32 from vector<8xf32>",
    ]
    assert [op.name for op in parse_module(in_mlir_22(REMOVED_OPS_TEXT), "test.mlir").walk()].count(
        "vector.extract"
    ) == 2


@pytest.mark.parametrize("line", ["// no ops", "vector.print %0 : f32"])
def test_other_text_stays(line: str) -> None:
    assert in_mlir_22(line) == line
