"""Structs and arrays as values, with poison of each element of its own."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import halfulp as hu

PAIR = "!llvm.struct<(i8, array<2 x i8>)>"


def _run(body: str, *arguments: int, result: str = "i8", batch: bool = False) -> hu.Value:
    program = f"llvm.func @main(%a: i8, %b: i8) -> {result} {{\n{body}\n  llvm.return %r : {result}\n}}"
    given: list[Any] = [np.int8(each) for each in arguments]
    if batch:
        given = [np.array([each, 1], np.int8) for each in arguments]
    return hu.run(program, *given, batch=batch)[0]


BUILT = f"""
  %u = llvm.mlir.undef : {PAIR}
  %v = llvm.insertvalue %a, %u[1, 0] : {PAIR}
  %w = llvm.insertvalue %b, %v[1, 1] : {PAIR}
"""


@pytest.mark.parametrize(("position", "expected"), [("1, 0", 5), ("1, 1", -7)])
def test_what_was_inserted_is_extracted(position: str, expected: int) -> None:
    assert _run(f"{BUILT}  %r = llvm.extractvalue %w[{position}] : {PAIR}", 5, -7).item() == expected


def test_an_element_that_was_not_inserted_stays_poison() -> None:
    found = _run(f"{BUILT}  %r = llvm.extractvalue %w[0] : {PAIR}", 5, -7)
    assert found.poisoned.all()
    assert "mlir.undef" in str(found.origin())


def test_inserting_does_not_change_the_operand() -> None:
    body = f"{BUILT}  %x = llvm.insertvalue %b, %w[1, 0] : {PAIR}\n  %r = llvm.extractvalue %w[1, 0] : {PAIR}"
    assert _run(body, 5, -7).item() == 5


def test_an_aggregate_goes_through_an_aggregate() -> None:
    array = "!llvm.array<2 x i8>"
    body = f"""{BUILT}
  %part = llvm.extractvalue %w[1] : {PAIR}
  %zero = llvm.mlir.zero : {PAIR}
  %y = llvm.insertvalue %part, %zero[1] : {PAIR}
  %z = llvm.extractvalue %y[1] : {PAIR}
  %r = llvm.extractvalue %z[1] : {array}"""
    assert _run(body, 5, -7).item() == -7


@pytest.mark.parametrize(
    ("constant", "type_", "position", "expected"),
    [
        ("dense<[[1, 2], [3, 4]]> : tensor<2x2xi8>", "!llvm.array<2 x array<2 x i8>>", "1, 0", 3),
        ("dense<9> : tensor<2x2xi8>", "!llvm.array<2 x array<2 x i8>>", "1, 1", 9),
        ('"ab"', "!llvm.array<2 x i8>", "1", ord("b")),
        ("[1 : i8, 2 : i8]", "!llvm.struct<(i8, i8)>", "1", 2),
    ],
)
def test_constants(constant: str, type_: str, position: str, expected: int) -> None:
    body = f"  %c = llvm.mlir.constant({constant}) : {type_}\n  %r = llvm.extractvalue %c[{position}] : {type_}"
    assert _run(body, 0, 0).item() == expected


@pytest.mark.parametrize("name", ["sadd", "uadd", "ssub", "usub", "smul", "umul"])
def test_overflow_is_told(name: str) -> None:
    """All pairs of some numbers, against exact integers."""
    checked = "!llvm.struct<(vector<64xi8>, vector<64xi1>)>"
    program = f"""llvm.func @main(%a: vector<64xi8>, %b: vector<64xi8>) -> vector<64xi8> {{
      %c = "llvm.intr.{name}.with.overflow"(%a, %b) : (vector<64xi8>, vector<64xi8>) -> {checked}
      %low = llvm.extractvalue %c[0] : {checked}
      %flag = llvm.extractvalue %c[1] : {checked}
      %one = llvm.sext %flag : vector<64xi1> to vector<64xi8>
      %r = llvm.WHICH
      llvm.return %r : vector<64xi8>
    }}"""
    some = np.array([-128, -127, -1, 0, 1, 2, 64, 127])
    dtype = np.int8 if name[0] == "s" else np.uint8
    a, b = (grid.reshape(-1).astype(np.int8) for grid in np.meshgrid(some, some))
    wide = [each.view(dtype).astype(int) for each in (a, b)]
    exact = {"add": np.add, "sub": np.subtract, "mul": np.multiply}[name[1:]](*wide)
    limits = np.iinfo(dtype)
    overflows = (exact < limits.min) | (exact > limits.max)
    low = hu.run(program.replace("WHICH", "or %low, %low : vector<64xi8>"), a, b)[0].numpy()
    flags = hu.run(program.replace("WHICH", "or %one, %one : vector<64xi8>"), a, b)[0].numpy()
    assert (low == exact.astype(np.int8)).all()
    assert (flags == -overflows.astype(np.int8)).all()


@pytest.mark.parametrize("batch", [False, True])
def test_scalars_with_overflow(batch: bool) -> None:
    body = """  %c = "llvm.intr.sadd.with.overflow"(%a, %b) : (i8, i8) -> !llvm.struct<(i8, i1)>
  %o = llvm.extractvalue %c[1] : !llvm.struct<(i8, i1)>
  %r = llvm.zext %o : i1 to i8"""
    assert np.array_equal(_run(body, 100, 100, batch=batch).numpy(), [1, 0] if batch else 1)


def test_poison_spoils_the_result_and_the_flag() -> None:
    body = """  %p = llvm.mlir.poison : i8
  %c = "llvm.intr.sadd.with.overflow"(%a, %p) : (i8, i8) -> !llvm.struct<(i8, i1)>
  %o = llvm.extractvalue %c[1] : !llvm.struct<(i8, i1)>
  %r = llvm.zext %o : i1 to i8"""
    assert _run(body, 1, 1).poisoned.all()
