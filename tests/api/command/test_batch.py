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


def test_what_cannot_be_a_batch_says_why(divide: str) -> None:
    done = halfulp("run", divide, "--batch", "--input=1", "--input=2")
    assert (done.code, "no argument of @main has lanes" in done.err) == (2, True)
    done = halfulp("run", divide, "--batch", "--input=1 2 3", "--input=1 2")
    assert (done.code, "argument 1 of @main has 2 lanes, but an argument before it has 3" in done.err) == (2, True)


def test_each_lane_has_memory_of_its_own(tmp_path: Path) -> None:
    memory = tmp_path / "memory.mlir"
    memory.write_text("""func.func @main(%a: memref<2xi8>, %b: memref<2xi8>, %i: index) {
      %0 = memref.load %a[%i] : memref<2xi8>
      memref.store %0, %b[%i] : memref<2xi8>
      return
    }""")
    done = halfulp("run", str(memory), "--batch", "--input=2xi8=1 2", "--input=0 0 0 0", "--input=1 0")
    assert (done.code, done.out) == (0, "argument[1]: 2x2xi8=[0 2][1 0]\n"), done.err


TENSORS = """func.func @main(%a: tensor<2xi8>, %b: vector<2xi8>) -> (tensor<2xi8>, vector<2xi8>) {
  %0 = arith.addi %a, %a : tensor<2xi8>
  %1 = arith.divsi %b, %b : vector<2xi8>
  return %0, %1 : tensor<2xi8>, vector<2xi8>
}
"""


@pytest.mark.long
@pytest.mark.parametrize("first", ["3x2xi8=1 2 3 4 5 6", "[1 2][3 4][5 6]", "1 2 3 4 5 6", "@"])
@pytest.mark.parametrize("second", ["2xi8=7 7", "7 7", "7", "vector<2xi8>=7"])
def test_tensors_and_vectors_have_an_axis_over_the_lanes_or_none(tmp_path: Path, first: str, second: str) -> None:
    (tmp_path / "t.mlir").write_text(TENSORS)
    np.save(tmp_path / "a.npy", np.array([[1, 2], [3, 4], [5, 6]], np.int8))
    given = f"@{tmp_path / 'a.npy'}" if first == "@" else first
    expected = ("--expected_output=[2 4][6 8][10 12]", "--expected_output=3x2xi8=1")
    done = halfulp("run", str(tmp_path / "t.mlir"), "--batch", f"--input={given}", f"--input={second}", *expected)
    assert done.err == ""
    assert (done.code, done.out) == (0, "result[0]: 3x2xi8=[2 4][6 8][10 12]\nresult[1]: 3x2xi8=[1 1][1 1][1 1]\n")


def test_undefined_behaviour_in_a_tensor_names_the_lane_and_the_element(tmp_path: Path) -> None:
    (tmp_path / "t.mlir").write_text(TENSORS)
    inputs = ("--input=0 0", "--input=[7 7][0 7][0 0]")
    done = halfulp("run", str(tmp_path / "t.mlir"), "--batch", *inputs)
    assert done.code == 4
    assert "division by zero at element [0]: lhs = 0, rhs = 0 (1 of 2 elements) (lane 1; 2 of 3 lanes)" in done.err
    done = halfulp("run", str(tmp_path / "t.mlir"), "--batch", "--on-ub=poison", *inputs)
    assert (done.code, done.out.splitlines()[1]) == (0, "result[1]: 3x2xi8=[1 1][poison 1][poison poison]")
    assert "3 poison elements, the first at [1, 0]" in done.err
    assert "element [1, 0]" in done.err


def test_the_shape_of_a_file_says_whether_it_has_lanes(tmp_path: Path) -> None:
    (tmp_path / "t.mlir").write_text(TENSORS)
    for name, shape in (("one", (2,)), ("three", (3, 2)), ("wrong", (3, 3)), ("deep", (1, 3, 2))):
        np.save(tmp_path / f"{name}.npy", np.ones(shape, np.int8))

    def run(first: str, second: str) -> tuple[int, str]:
        inputs = [f"--input=@{tmp_path / name}.npy" for name in (first, second)]
        done = halfulp("run", str(tmp_path / "t.mlir"), "--batch", *inputs)
        return done.code, done.err

    assert run("one", "three") == run("three", "one") == run("three", "three") == (0, "")
    code, err = run("one", "one")
    assert (code, "no argument of @main has lanes" in err) == (2, True)
    for name, told in (("wrong", "3x3"), ("deep", "1x3x2")):
        code, err = run("three", name)
        assert code == 2
        assert "argument 1 of @main: expected" in err
        assert told in err
