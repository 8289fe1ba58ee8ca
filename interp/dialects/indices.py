"""Index operands, constants among them, and positions in a shape."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from halfulp.interp.ir import types as ty
from halfulp.interp.ir.attributes import IntegerAttr
from halfulp.interp.ir.errors import UndefinedBehavior
from halfulp.interp.ir.operations import Operation, OpResult, SSAValue
from halfulp.interp.run.settings import Settings
from halfulp.interp.run.slots import lift
from halfulp.interp.values.element_layout import spell_shape

DYNAMIC = -(1 << 63)
"""The mark in a list of static numbers for one that an operand gives."""


def constant(value: SSAValue) -> int | None:
    """Return the number that an `arith.constant` makes; None for any other value."""
    if not isinstance(value, OpResult) or value.owner.name != "arith.constant":
        return None
    found = value.owner.properties.get("value")
    return found.value if isinstance(found, IntegerAttr) else None


def undefined(op: Operation, message: str) -> UndefinedBehavior:
    """Return the error for an op that is undefined on its operands."""
    return UndefinedBehavior(f"{op.name}: undefined behaviour: {message}", location=op.location, op=op.name)


def numbers(op: Operation, slots: Sequence[Any], settings: Settings) -> tuple[int, ...]:
    """Return index operands, as slots hold them, as signed numbers. Raises UndefinedBehavior for poison."""
    half = 1 << (settings.index_width - 1)
    result = []
    for slot in slots:
        code = slot
        if code.__class__ is not int:
            value = lift(slot, ty.INDEX)
            if value.poison is not None:
                raise undefined(op, f"an index is poison: {value.origin()}")
            code = int(value.bits)
        result.append(code - 2 * half if code & half else code)
    return tuple(result)


def element_at(op: Operation, shape: tuple[int, ...], indices: tuple[int, ...]) -> tuple[int, ...]:
    """Return the indices if they lie inside the shape. Raises UndefinedBehavior."""
    if len(indices) != len(shape) or any(not 0 <= k < n for k, n in zip(indices, shape, strict=True)):
        raise undefined(op, f"index {list(indices)} is outside the shape {spell_shape(shape)}")
    return indices
