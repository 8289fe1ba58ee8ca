"""The RUN lines of LLVM's tests as commands of a shell."""

from __future__ import annotations

from pathlib import Path

from corpora.integration_tests import Execution, Program, executions
from corpora.lit_script import Command, pipelines, script

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
