"""An integration test of LLVM by the real tools and by halfulp."""

from __future__ import annotations

from pathlib import Path

import pytest
from corpora.answers import Answers
from corpora.integration_tests import Result, counted, output, results, table
from corpora.lit_tools import LitTools

from halfulp.conformance.oracles.tool import Tool, find_tool

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
