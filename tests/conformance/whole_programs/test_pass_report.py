"""Reports of passes: complete, in the words of MLIR, and shown by mlir-runner where it can run the program."""

import re
import shlex
import subprocess
from pathlib import Path

import pytest
from present import present

import halfulp as hu
from halfulp.command.values import read_value
from halfulp.conformance.oracles.jit import library
from halfulp.conformance.oracles.mlir_opt import find_mlir_opt
from halfulp.conformance.oracles.tool import PassPipeline, Tool
from halfulp.conformance.whole_programs.arguments import one_input
from halfulp.conformance.whole_programs.counterexamples import Counterexample
from halfulp.conformance.whole_programs.pass_differences import PassReport, find_runner, pass_report
from halfulp.conformance.whole_programs.validation import Inputs, Pair, common_functions, compare
from halfulp.interp.ir.operations import Module, argument_types
from halfulp.interp.values.value import Value

NARROW = """\
func.func @f(%c: i1) -> i1 {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c128 = arith.constant 128 : i32
  %x = arith.select %c, %c1, %c0 : i32
  %r = arith.cmpi slt, %x, %c128 : i32
  return %r : i1
}
func.func @other(%x: i8) -> i8 {
  return %x : i8
}
"""
NARROWING = "builtin.module(func.func(arith-int-range-narrowing{int-bitwidths-supported=8,16,32}))"

MAXIMUM = """\
func.func private @twice(%x: vector<2xf32>) -> vector<2xf32> {
  return %x : vector<2xf32>
}
func.func @f(%x: vector<2xf32>, %y: vector<2xf32>) -> (i64, vector<2xf32>) {
  %k = arith.constant 5 : i64
  %0 = arith.maximumf %x, %y : vector<2xf32>
  %1 = call @twice(%0) : (vector<2xf32>) -> vector<2xf32>
  return %k, %1 : i64, vector<2xf32>
}
"""

CASTS = """\
func.func @f(%x: index) -> index {
  %0 = arith.index_cast %x : index to i8
  %1 = arith.index_cast %0 : i8 to index
  return %1 : index
}
"""

DIVIDED = """\
func.func @f(%x: index, %y: index) -> i64 {
  %0 = arith.index_cast %x : index to i8
  %1 = arith.index_cast %0 : i8 to index
  %2 = arith.floordivsi %1, %y : index
  %3 = arith.index_cast %2 : index to i64
  return %3 : i64
}
"""

TENSOR = """\
func.func @f(%x: tensor<2xindex>) -> tensor<2xindex> {
  %0 = arith.index_cast %x : tensor<2xindex> to tensor<2xi8>
  %1 = arith.index_cast %0 : tensor<2xi8> to tensor<2xindex>
  return %1 : tensor<2xindex>
}
"""

TINY = """\
func.func @f(%x: tensor<2xf32>) -> tensor<2xf8E8M0FNU> {
  %0 = arith.truncf %x : tensor<2xf32> to tensor<2xf8E8M0FNU>
  return %0 : tensor<2xf8E8M0FNU>
}
"""


def counterexample(before: Module, after: Module, pair: Pair, values: list[Value]) -> Counterexample:
    """Return the difference for one input."""
    inputs = Inputs(given=one_input(values, argument_types(pair[0])))
    (example,) = compare(before, after, pair, inputs).counterexamples
    return example


def reported(
    text: str, pipeline: str, *inputs: str, runner: bool = True, function: str = "f", opt: str | None = None
) -> PassReport:
    passes = PassPipeline(find_mlir_opt(opt), pipeline)
    before = hu.parse(text, "p.mlir")
    after = passes.read(passes.apply(text), "<after>")
    (pair,) = common_functions(before, after, function)
    values = [read_value(each, None, "<input>", {}) for each in inputs]
    example = counterexample(before, after, pair, values)
    return pass_report(passes, before, pair[0], example, find_runner(passes.tool) if runner else None)


def blocks(report: PassReport, kind: str) -> list[str]:
    return re.findall(rf"```{kind}\n(.*?)```", report.text, re.DOTALL)


def outputs(report: PassReport, folder: Path) -> list[str]:
    """Run the commands of a report, and return the lines that they print; check that the report has the same lines."""
    program, _ = blocks(report, "mlir")
    (folder / "input.mlir").write_text(program, encoding="utf-8")
    opt = find_mlir_opt()
    runner = present(find_runner(opt))
    (console,) = blocks(report, "console")
    commands, shown = console.splitlines()[::2], console.splitlines()[1::2]
    printed = []
    for command in commands:
        text = command.removeprefix("$ ")
        for name in ("libmlir_runner_utils.so", "libmlir_c_runner_utils.so"):
            text = text.replace(name, library(runner, name))
        text = re.sub(r"\bmlir-opt\b", shlex.quote(opt.path), text)
        text = re.sub(r"\bmlir-runner\b", shlex.quote(runner.path), text)
        done = subprocess.run(text, shell=True, cwd=folder, capture_output=True, text=True, timeout=300, check=True)
        printed.append(done.stdout.rstrip("\n"))
    assert printed == shown
    return printed


@pytest.mark.mlir
@pytest.mark.parametrize(
    ("text", "pipeline", "inputs", "prints"),
    [
        (NARROW, NARROWING, ["i1=true"], ["1", "0"]),
        (
            MAXIMUM,
            "builtin.module(func.func(arith-expand))",
            ["vector<2xf32>=1 0", "vector<2xf32>=2 -0"],
            ["0", "2147483648"],
        ),
        (CASTS, "builtin.module(canonicalize)", ["index=256"], ["0", "256"]),
        (
            CASTS.replace("@f", "@main").replace("index_cast ", "index_castui "),
            "builtin.module(canonicalize)",
            ["index=259"],
            ["3", "259"],
        ),
        (DIVIDED, "builtin.module(canonicalize)", ["index=-300", "index=7"], ["-7", "-43"]),
        (TENSOR, "builtin.module(canonicalize)", ["2xindex=256 5"], ["0", "256"]),
    ],
    ids=["i1", "vector of floats", "index", "main", "expanded", "tensor"],
)
def test_the_commands_of_a_report_print_what_it_says(
    text: str, pipeline: str, inputs: list[str], prints: list[str], tmp_path: Path
) -> None:
    report = reported(text, pipeline, *inputs, function="main" if "@main" in text else "f")
    assert report.shown
    assert outputs(report, tmp_path) == prints
    assert f"--pass-pipeline='{pipeline}'" in report.text
    assert "LLVM version " in report.text
    assert "halfulp" not in report.text
    assert "@other" not in report.text


@pytest.mark.mlir
def test_a_report_has_the_program_the_result_and_the_exact_value() -> None:
    report = reported(NARROW, NARROWING, "i1=true")
    program, after = blocks(report, "mlir")
    assert "func.func @main()" in program
    assert "%c-128_i8" in after
    assert (
        "The arguments of `@f` are `true`.\n"
        "The exact value of result 0, of type `i1`, is `0x1 (true)`. After the passes, it is `0x0 (false)`.\n"
    ) in report.text


@pytest.mark.mlir
def test_a_program_that_mlir_runner_cannot_run_is_reported_without_it() -> None:
    report = reported(TINY, "builtin.module(func.func(arith-expand{include-f8e8m0=true}))", "2xf32=2 1.9")
    assert not report.shown
    assert "@main" not in report.text
    assert "The arguments of `@f` are `dense<[2.000000e+00, 1.900000e+00]> : tensor<2xf32>`." in report.text
    assert (
        "result 0 at element [1], of type `f8E8M0FNU`, is `0x80 (2)`. After the passes, it is `0x7F (1)`."
        in report.text
    )
    assert not reported(NARROW, NARROWING, "i1=true", runner=False).shown


@pytest.mark.mlir
def test_a_runner_that_prints_something_else_shows_nothing(tmp_path: Path) -> None:
    opt = find_mlir_opt()
    present(find_runner(opt))
    fake = tmp_path / "bin" / "mlir-runner"
    fake.parent.mkdir()
    (tmp_path / "lib").mkdir()
    for name in ("libmlir_runner_utils.so", "libmlir_c_runner_utils.so"):
        (tmp_path / "lib" / name).touch()
    fake.write_text("#!/bin/sh\necho 1\n", encoding="utf-8")
    fake.chmod(0o755)
    passes = PassPipeline(opt, NARROWING)
    before = hu.parse(NARROW)
    after = passes.read(passes.apply(NARROW), "<after>")
    (pair,) = common_functions(before, after, "f")
    example = counterexample(before, after, pair, [read_value("i1=true", None, "x", {})])
    assert not pass_report(passes, before, pair[0], example, Tool(str(fake), "22")).shown


PRINTS = (
    NARROW
    + """\
func.func @main() {
  %t = arith.constant true
  %r = call @f(%t) : (i1) -> i1
  vector.print str "it is "
  vector.print %r : i1
  return
}
"""
)


@pytest.mark.mlir
def test_a_program_that_prints_is_reported_with_its_output(tmp_path: Path) -> None:
    report = reported(PRINTS, NARROWING, function="main")
    assert report.shown
    assert outputs(report, tmp_path) == ["it is 1", "it is 0"]
    assert (
        "`@main` must print:\n\n```\nit is 1\n```\n\nAfter the passes, it prints:\n\n```\nit is 0\n```\n" in report.text
    )


def test_a_program_that_stops_after_the_passes_is_reported(tmp_path: Path) -> None:
    text = "func.func @f(%x: i32) -> i32 {\n  %0 = arith.remui %x, %x : i32\n  return %0 : i32\n}\n"
    zero = "  %c = arith.constant 0 : i32\n  %0 = arith.remui %x, %c"
    after = tmp_path / "after.mlir"
    after.write_text(text.replace("  %0 = arith.remui %x, %x", zero), encoding="utf-8")
    opt = tmp_path / "my-opt"
    version = 'if [ "$1" = --version ]; then echo "LLVM version 99.1.0git"; exit 0; fi'
    opt.write_text(f"#!/bin/sh\n{version}\ncat '{after}'\n", encoding="utf-8")
    opt.chmod(0o755)
    report = reported(text, "builtin.module(x)", "i32=5", runner=False, opt=str(opt))
    assert not report.shown
    assert "Without the passes, `@f` returns `0 : i32`. After them: " in report.text
    assert "by zero" in report.text
    assert "LLVM version 99.1.0git.\n" in report.text
