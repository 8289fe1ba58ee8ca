"""The RUN lines of LLVM's tests."""

from __future__ import annotations

import pytest
from corpora.pass_tests import functions
from corpora.run_lines import Stage, run_lines


@pytest.mark.parametrize(
    ("text", "stages"),
    [
        ("// RUN: mlir-opt %s -canonicalize | FileCheck %s", [Stage(("-canonicalize",))]),
        ("// RUN: mlir-opt %s | mlir-opt | FileCheck %s", [Stage(()), Stage(())]),
        (
            "// RUN: mlir-opt -p=\"a{b=1 c=2},d\" -split-input-file %s 2>&1 \\\n// RUN:   --cse -verify-diagnostics",
            [Stage(("-p=a{b=1 c=2},d", "--cse"), split=True)],
        ),
        ("// RUN: mlir-opt %s -pass-pipeline='builtin.module(cse)' -o /dev/null",
         [Stage(("-pass-pipeline=builtin.module(cse)",))]),
        ("// RUN: not mlir-opt %s -cse", [Stage(("-cse",))]),
    ],
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
