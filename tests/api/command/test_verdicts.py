"""What the comparing commands say, and their exit codes, where no value was compared or where the verdict needs a reason."""

from __future__ import annotations

import json
from typing import Any

import pytest
from command import Command

DIVIDED = """func.func @f(%x: i8, %y: i8) -> i8 {
  %z = arith.constant 0 : i8
  %r = arith.divsi %x, %z : i8
  return %r : i8
}
"""
REMAINDER = DIVIDED.replace("divsi", "remsi")
SHIFTED = """func.func @f(%x: i8, %y: i8) -> i8 {
  %r = arith.shli %x, %y : i8
  return %r : i8
}
"""
FIRST = "func.func @f(%x: i8, %y: i8) -> i8 {\n  return %x : i8\n}\n"
ASSERTED = """func.func @f(%x: i8, %y: i8) -> i8 {
  %no = arith.constant false
  cf.assert %no, "never"
  return %x : i8
}
"""
LOADED = """func.func @f(%x: i8, %y: i8) -> i8 {
  %m = memref.alloca() : memref<4xi8>
  %i = arith.constant 7 : index
  %r = memref.load %m[%i] : memref<4xi8>
  return %r : i8
}
"""
UNWRITTEN = """func.func @f(%x: i8, %y: i8) -> tensor<4xi8> {
  %r = tensor.empty() : tensor<4xi8>
  return %r : tensor<4xi8>
}
"""
WRITTEN = UNWRITTEN.replace("tensor.empty()", "arith.constant dense<0>")
NOTHING = "func.func @f(%x: i8, %y: i8) {\n  return\n}\n"
EMPTY = """func.func @f(%x: i8, %y: i8) -> tensor<0xi8> {
  %r = tensor.empty() : tensor<0xi8>
  return %r : tensor<0xi8>
}
"""

ZERO = "arith.divsi: undefined behaviour: division by zero: lhs = "


@pytest.mark.parametrize(
    ("before", "after", "why"),
    [
        (DIVIDED, REMAINDER, "(at a.mlir:3:8)"),
        (DIVIDED, FIRST, ZERO),
        (DIVIDED, DIVIDED, ""),
        (ASSERTED, FIRST, "cf.assert: never (at a.mlir:3:3)"),
        (LOADED, FIRST, "a.mlir:4:8"),
        (NOTHING, f"// changed\n{NOTHING}", ""),
        (EMPTY, f"// changed\n{EMPTY}", ""),
    ],
)
def test_where_nothing_is_compared_nothing_is_equal(
    command: Command, write: Any, before: str, after: str, why: str
) -> None:
    files = [write("a.mlir", before), write("b.mlir", after)]
    for name in ("bisect", "diff"):
        code, out, _ = command(name, *files)
        assert code == 3
        assert "nothing was compared" in out
        assert "identical" not in out
        assert "equal" not in out
        assert "no difference" not in out
        assert name == "diff" or why in out
    record = json.loads(command("bisect", *files, "--json")[1])
    assert [one["verdict"] for one in record["stages"]] == ["first", "unchanged" if before == after else "refined"]


def test_a_stage_counts_again_once_values_are_compared(command: Command, write: Any) -> None:
    files = [write("a.mlir", DIVIDED), write("b.mlir", FIRST), write("c.mlir", f"// changed\n{FIRST}")]
    code, out, _ = command("bisect", *files)
    assert code == 0
    assert out.endswith("no difference in 1 stage\n")


@pytest.mark.parametrize(
    ("before", "after", "why"),
    [
        (SHIFTED, FIRST, "shift amount is not less than the bit width (arith.shli at a.mlir:2:8)"),
        (DIVIDED, FIRST, f"{ZERO}-128, rhs = 0 (at a.mlir:3:8)"),
        (ASSERTED, FIRST, "cf.assert: never (at a.mlir:3:3)"),
        (UNWRITTEN, WRITTEN, "an element of tensor.empty was never written (tensor.empty at a.mlir:2:8)"),
    ],
)
def test_what_allows_any_value_is_named(command: Command, write: Any, before: str, after: str, why: str) -> None:
    one = ["--input=i8=-128", "--input=i8=9"]
    files = [write("a.mlir", before), write("b.mlir", after)]
    _, out, _ = command("diff", *files, *one)
    assert f"{why} (" in out
    record = json.loads(command("diff", *files, *one, "--json")[1])
    assert why in {**record["undefined_by"], **record["poison_by"]}
    _, out, _ = command("bisect", *files, *one)
    assert f" before: {why} (" in out


@pytest.mark.parametrize(
    ("after", "why"),
    [
        (SHIFTED, "poison: shift amount is not less than the bit width (arith.shli at b.mlir:2:8)"),
        (DIVIDED, f"{ZERO}-128, rhs = 0 (at b.mlir:3:8)"),
        (ASSERTED, "cf.assert: never (at b.mlir:3:3)"),
        (LOADED, "b.mlir:4:8"),
    ],
)
def test_a_new_poison_or_undefined_behaviour_is_named(command: Command, write: Any, after: str, why: str) -> None:
    files = [write("a.mlir", FIRST), write("b.mlir", after), "--input=i8=-128", "--input=i8=9"]
    for name in ("diff", "bisect"):
        code, out, _ = command(name, *files)
        assert code == 1
        assert why in out


def test_the_origin_of_poison_in_an_element_of_a_batch_has_no_number_of_a_lane(command: Command, write: Any) -> None:
    files = [write("a.mlir", SHIFTED), write("b.mlir", FIRST.replace("%x :", "%y :"))]
    _, out, _ = command("diff", *files)
    assert "(arith.shli at a.mlir:2:8) (63,488 elements)" in out
    assert "lane" not in out
