"""halfulp run --batch: what inputs mean, what comes out, and how undefined behaviour is told."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from command import halfulp

DIVIDE = """func.func @main(%a: i32, %b: i32) -> i32 {
  %q = arith.divsi %a, %b : i32
  return %q : i32
}
"""


@pytest.fixture
def divide(tmp_path: Path) -> str:
    (tmp_path / "divide.mlir").write_text(DIVIDE)
    np.save(tmp_path / "a.npy", np.array([7, 8, 9], np.int32))
    return str(tmp_path / "divide.mlir")


@pytest.mark.parametrize("first", ["3xi32=7 8 9", "7 8 9", "7, 8, 9", "dense<[7, 8, 9]> : tensor<3xi32>", "@"])
def test_inputs_have_an_element_per_lane_or_one_for_all(divide: str, first: str) -> None:
    given = f"@{Path(divide).parent / 'a.npy'}" if first == "@" else first
    done = halfulp("run", divide, "--batch", f"--input={given}", "--input=2", "--expected_output=3 4 4")
    assert (done.code, done.out, done.err) == (0, "result[0]: 3xi32=3 4 4\n", "")
    done = halfulp("run", divide, "--batch", f"--input={given}", "--input=i32=2", "--expected_output=3xi32=3 4 5")
    assert done.code == 1
    assert "[2]: expected 5" in done.err


def test_undefined_behaviour_names_the_lane(divide: str) -> None:
    lanes = ("--input=7 8 9", "--input=1 0 0")
    done = halfulp("run", divide, "--batch", *lanes)
    assert done.code == 4
    assert "division by zero: lhs = 8, rhs = 0 (lane 1; 2 of 3 lanes)" in done.err
    done = halfulp("run", divide, "--batch", "--on-ub=poison", *lanes)
    assert (done.code, done.out) == (0, "result[0]: 3xi32=7 poison poison\n")
    assert "2 poison elements, the first at [1]" in done.err


def test_what_cannot_be_a_batch_says_why(divide: str, tmp_path: Path) -> None:
    done = halfulp("run", divide, "--batch", "--input=1", "--input=2")
    assert (done.code, "no argument of @main has lanes" in done.err) == (2, True)
    done = halfulp("run", divide, "--batch", "--input=1 2 3", "--input=1 2")
    assert (done.code, "argument 1 of @main has 2 lanes, but an argument before it has 3" in done.err) == (2, True)
    tensors = tmp_path / "tensors.mlir"
    tensors.write_text("func.func @main(%a: tensor<2xi8>) -> tensor<2xi8> { return %a : tensor<2xi8> }")
    done = halfulp("run", str(tensors), "--batch", "--input=1 2")
    assert (done.code, "a batch runs functions on scalars" in done.err) == (3, True)
