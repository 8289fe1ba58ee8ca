"""Ops that no dialect has, and calls of declarations, given to the function that stands for what is outside."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

import halfulp as hu
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.operations import Operation
from halfulp.interp.run.program import program_for
from halfulp.interp.run.settings import Settings

TEXT = """
func.func private @g(i8) -> i8
func.func @f(%a: i8) -> (i8, tensor<2xi8>) {
  %x = call @g(%a) : (i8) -> i8
  %y = "foo.pair"(%x, %a) {k = 1 : i32} : (i8, i8) -> tensor<2xi8>
  return %x, %y : i8, tensor<2xi8>
}
"""


def test_what_is_outside_gets_the_operands_and_gives_the_results() -> None:
    seen: list[tuple[str, list[int]]] = []

    def outside(op: Operation, operands: tuple[Any, ...], types: Sequence[ty.Type]) -> Sequence[Any]:
        seen.append((op.name, [int(value.bits) for value in operands]))
        return [hu.Value.from_bits([4, 5], "tensor<2xi8>") if op.name == "foo.pair" else hu.Value.from_bits(7, "i8")]

    module = hu.parse(TEXT)
    argument = hu.Value.from_bits(3, "i8")
    x, y = program_for(module, Settings()).run(module.body[1], [argument], outside)
    assert (int(x.bits), y.bits.tolist()) == (7, [4, 5])
    assert seen == [("func.call", [3]), ("foo.pair", [7, 3])]


def test_without_it_such_an_op_is_unsupported() -> None:
    with pytest.raises(hu.Unsupported, match="'@g' is a declaration"):
        hu.run(TEXT, 3, function="f")
