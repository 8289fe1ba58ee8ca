"""Runs that keep unspecified results: scalar by scalar they give the masks that runs in lanes give."""

from __future__ import annotations

import numpy as np
import pytest

import halfulp as hu
from halfulp.interp.ir import types as ty
from halfulp.interp.run.batch.program import run_batch
from halfulp.interp.run.program import program_for
from halfulp.interp.run.settings import Settings
from halfulp.interp.values.value import Value


@pytest.mark.parametrize(
    "op",
    [
        f"arith.{name} %a, %b{flags}"
        for name in ("addf", "divf", "maxnumf", "maximumf")
        for flags in ("", " fastmath<nsz>", " fastmath<nnan>", " fastmath<reassoc>")
    ],
)
def test_floats(op: str) -> None:
    element = "f4E2M1FN" if "maximumf" in op else "f8E5M2"
    text = (
        f"func.func @f(%a: {element}, %b: {element}) -> {element} {{ %0 = {op} : {element}\n return %0 : {element} }}"
    )
    module = hu.parse(text)
    type_ = ty.F(element)
    codes = np.array([0, 1, 0x3C, 0x40, 0x7B, 0x7C, 0x7D, 0x7F, 0x80, 0x81, 0xBC, 0xFC, 0xFF], np.uint8)
    codes = codes if element == "f8E5M2" else np.arange(16, dtype=np.uint8)
    left, right = (grid.reshape(-1) for grid in np.meshgrid(codes, codes))
    program = program_for(module, Settings(track_open=True))
    (lanes,) = run_batch(program, module.body[0], (Value(type_, left), Value(type_, right)), len(left))
    expected = [(lanes.bits[k], lanes.open is not None and lanes.open[k], lanes.poisoned[k]) for k in range(len(left))]
    found = []
    for pair in zip(left, right, strict=True):
        (value,) = program.run(module.body[0], [Value(type_, np.array(code)) for code in pair])
        found.append((value.bits, value.open is not None and value.open, value.poisoned))
    assert found == expected
    assert any(open_ for _, open_, _ in expected) is (element == "f8E5M2" or "nsz" in op or "reassoc" in op)


def test_integers_are_never_unspecified() -> None:
    module = hu.parse("func.func @f(%a: i8) -> i8 { %0 = arith.addi %a, %a : i8\n return %0 : i8 }")
    (value,) = program_for(module, Settings(track_open=True)).run(
        module.body[0], [Value(ty.IntegerType(8), np.array(200, np.uint8))]
    )
    assert (int(value.bits), value.open) == (144, None)


def test_an_unspecified_value_makes_what_follows_unspecified() -> None:
    text = """\
func.func @f(%a: f8E5M2, %b: f8E5M2) -> i1 {
  %0 = arith.addf %a, %b : f8E5M2
  %1 = arith.bitcast %0 : f8E5M2 to i8
  %c = arith.constant 0 : i8
  %2 = arith.cmpi slt, %1, %c : i8
  return %2 : i1
}
"""
    module = hu.parse(text)
    nan = Value(ty.F("f8E5M2"), np.array(0x7F, np.uint8))
    (value,) = program_for(module, Settings(track_open=True)).run(module.body[0], [nan, nan])
    assert value.open is not None
    assert value.open.any()
