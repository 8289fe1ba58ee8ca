"""Values over lanes: a batch gives a value one more leading axis than its type has, with an entry for each lane.

So all lanes have the same shape, where the type leaves it open. Values over lanes never have an unranked type, which
would not show that axis.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from halfulp.interp.ir import types as ty
from halfulp.interp.values.lane_memory import LaneBuffer
from halfulp.interp.values.value import Value

Positions = npt.NDArray[np.intp]
"""Places along the axis over lanes."""


def over_lanes(slot: object) -> bool:
    """Tell whether this is a value with an axis over lanes, or a memref over lanes; anything else is the same in all
    lanes.
    """
    if not isinstance(slot, Value):
        return isinstance(slot, LaneBuffer)
    rank = ty.shape_of(slot.type)
    return rank is not None and len(slot.shape) > len(rank)


def alike(*values: Value) -> tuple[Value, ...]:
    """Repeat the values that are the same in all lanes where others are over lanes, so that all are."""
    lanes = next((value.shape[0] for value in values if over_lanes(value)), None)
    return tuple(value if lanes is None or over_lanes(value) else repeated(value, lanes) for value in values)


def repeated(value: Value, lanes: int) -> Value:
    """Return the value over lanes that is this one in each, without repeating it in memory."""

    def spread(array: npt.NDArray[Any] | None) -> Any:
        return None if array is None else np.broadcast_to(array, (lanes, *array.shape))

    return Value(value.type, spread(value.bits), spread(value.poison), spread(value.open), value.origins)


def taken(value: Any, positions: Positions | int) -> Any:
    """Take some lanes of a value or memref, or one, which then has no axis over them."""
    if isinstance(value, LaneBuffer):
        return value.of_lane(positions) if isinstance(positions, int) else value.taken(positions)
    poison = None if value.poison is None else value.poison[positions]
    if poison is not None and not poison.any():
        poison = None
    open_ = None if value.open is None else value.open[positions]
    bits = value.bits[positions, ...] if isinstance(positions, int) else value.bits.take(positions, 0)
    return Value(value.type, bits, poison, open_, None if poison is None else value.origins)


def ranked(type_: ty.Type, shape: tuple[int, ...]) -> ty.Type:
    """Return the type for values over lanes of which each has this shape: an unranked type becomes a ranked one."""
    return type_ if ty.shape_of(type_) is not None else ty.TensorType((None,) * len(shape), ty.element_type(type_))


def for_elements(value: Value, shape: tuple[int, ...]) -> Value:
    """Repeat the scalar of each lane for every element of values over lanes that have this shape."""

    def spread(array: npt.NDArray[Any] | None, trailing: tuple[int, ...]) -> Any:
        if array is None:
            return None
        return np.broadcast_to(array.reshape(len(array), *(1,) * (len(shape) - 1), *trailing), shape + trailing)

    bits = spread(value.bits, value.bits.shape[1:])
    return Value(value.type, bits, spread(value.poison, ()), spread(value.open, ()), value.origins)
