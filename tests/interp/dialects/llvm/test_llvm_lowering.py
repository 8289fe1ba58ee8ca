"""Values in the llvm dialect's types, and back: bits, poison and marks."""

from __future__ import annotations

import numpy as np
import pytest

import halfulp as hu
from halfulp.interp.dialects.llvm.descriptor_memory import conversion
from halfulp.interp.dialects.llvm.lowering import lowered, raised
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.operations import argument_types
from halfulp.interp.run.frames import lift
from halfulp.semantics.kernel import Origin, Origins

F32 = ty.F("f32")


def argument_type(text: str) -> ty.Type:
    (type_,) = argument_types(hu.parse(f"func.func private @f({text})").body[0])
    return type_


def test_rows_of_a_vector() -> None:
    origins = Origins()
    lost = origins.id_of(Origin("a.b", "", "made up", ()))
    bits = np.arange(6, dtype=np.uint32).reshape(2, 3)
    poison, open_ = (np.zeros((2, 3), dtype) for dtype in (np.uint16, np.uint8))
    poison[1, 2], open_[0, 1] = lost, 4
    value = hu.Value(ty.VectorType((2, 3), F32), bits, poison, open_, origins)
    rows = lowered(value)
    assert [row.bits.tolist() for row in rows] == [[0, 1, 2], [3, 4, 5]]
    assert rows[0].poison is None
    assert rows[1].poisoned.tolist() == [False, False, True]
    back = raised(rows, value.type)
    assert back.bits.tolist() == bits.tolist()
    assert back.poisoned.tolist() == [[False] * 3, [False, False, True]]
    assert back.open is not None
    assert back.open.tolist() == open_.tolist()
    assert str(back.origin(1, 2)) == str(value.origin(1, 2))


@pytest.mark.parametrize("marks", [(0, 4), (4, 0), (2, 4)])
def test_a_complex_number_is_as_unspecified_as_its_parts(marks: tuple[int, int]) -> None:
    parts = tuple(hu.Value(F32, np.array(7, np.uint32), None, np.array(mark, np.uint8)) for mark in marks)
    whole = raised(parts, ty.ComplexType(F32))
    assert whole.open is not None
    assert int(whole.open) == marks[0] | marks[1]
    assert [int(lift(part, F32).open) for part in lowered(whole)] == [marks[0] | marks[1]] * 2


@pytest.mark.parametrize("pair", [("vector<2x!llvm.ptr>", "vector<2xi64>"), ("vector<[4]xf32>", "vector<[4]xf32>")])
def test_what_has_no_conversion(pair: tuple[str, str]) -> None:
    assert conversion(*map(argument_type, pair)) is None
