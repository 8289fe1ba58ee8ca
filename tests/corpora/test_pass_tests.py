"""A test of LLVM through the commands of its RUN lines."""

from __future__ import annotations

from pathlib import Path

import pytest
from corpora.pass_tests import Cached, Case, Worker, cases

from halfulp.conformance.oracles.tool import find_tool

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
