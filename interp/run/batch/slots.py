"""Slots of a batch: set aside where the lanes of a frame part, put together where frames join."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from halfulp.fp_formats.codes import ints_to_codes
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.errors import Unsupported
from halfulp.interp.ir.types import width_of
from halfulp.interp.run.frames import Lanes, Run
from halfulp.interp.run.settings import check_allocation
from halfulp.interp.values.buffers import Buffer
from halfulp.interp.values.element_layout import code_layout, spell_shape
from halfulp.interp.values.lanes import LaneBuffer, Positions, heap_for, over_lanes, ranked, together
from halfulp.interp.values.value import Value


@dataclass(frozen=True, slots=True, eq=False)
class Elsewhere:
    """The content of a slot from before the lanes of its frame parted: a value over more lanes than run now."""

    held: Any
    lanes: Lanes


def joined(parts: Sequence[tuple[Positions | int, Any]], size: int, type_: ty.Type, run: Run) -> Any:
    """Join one slot of several frames.

    ``parts``: for each frame, the positions of its lanes among ``size`` lanes, and what its slot held.

    The result is None where the slot of a part is still empty: nothing after the place where they meet reads it. Raises
    Unsupported for content that cannot differ between lanes, such as functions.
    """
    first = parts[0][1]
    slots = [slot for _, slot in parts]
    if all(slot is first for slot in slots):
        return first
    kinds = {slot.__class__ for slot in slots}
    if type(None) in kinds:
        return None
    if kinds <= {Buffer, LaneBuffer}:
        assert isinstance(type_, ty.MemRefType)
        heap = heap_for(run.kept, type_.element, run.origins)
        return together(parts, size, heap, type_)
    if not kinds <= {int, Value}:
        if len(kinds) == 1 and all(slot == first for slot in slots):
            return first
        raise Unsupported(f"in a batch, lanes cannot hold different values of type '{type_}'")
    if kinds == {int} and all(slot == first for slot in slots):
        return first
    if isinstance(type_, ty.ShapedType) and all(_clean_for_all(slot) and slot == first for slot in slots):
        return first
    return scattered(parts, size, type_, run)


def _clean_for_all(value: Value) -> bool:
    """Tell whether a value is the same in all lanes and has neither poison nor unspecified elements."""
    return value.poison is None and value.open is None and not over_lanes(value)


def scattered(parts: Sequence[tuple[Positions | int, Any]], size: int, type_: ty.Type, run: Run) -> Value:
    """Put the parts together as one value over ``size`` lanes, zero in lanes that no part has."""
    shape = _shape_of_all([slot for _, slot in parts], type_)
    lanes_type = ranked(type_, shape)
    dtype, trailing = code_layout(ty.element_type(type_))
    if shape:
        check_allocation(lanes_type, (size, *shape), run.settings)
    bits = np.zeros((size, *shape, *trailing), dtype)
    poison = open_ = None
    for positions, slot in parts:
        if slot.__class__ is int:
            bits[positions] = ints_to_codes([slot], width_of(type_), ())
            continue
        bits[positions] = slot.bits[()]  # an element that is an object is stored, not an array of it
        if slot.poison is not None:
            poison = np.zeros((size, *shape), np.uint16) if poison is None else poison
            poison[positions] = slot.poison
        if slot.open is not None:
            open_ = np.zeros((size, *shape), slot.open.dtype) if open_ is None else open_
            open_[positions] = slot.open
    return Value(lanes_type, bits, poison, open_, None if poison is None else run.origins)


def _shape_of_all(slots: Sequence[Any], type_: ty.Type) -> tuple[int, ...]:
    """Return the shape that each lane has. Raises Unsupported where lanes have different shapes."""
    if not isinstance(type_, ty.ShapedType):
        return ()
    shapes = {slot.shape[1:] if over_lanes(slot) else slot.shape: None for slot in slots}
    if len(shapes) > 1:
        spelled = " and ".join(f"'{spell_shape(shape)}'" for shape in list(shapes)[:2])
        raise Unsupported(f"in a batch, lanes cannot hold values of type '{type_}' of different shapes: {spelled}")
    return next(iter(shapes))


def union(parts: Sequence[Lanes], all_: Lanes) -> Lanes:
    """Unite several disjoint sets of lanes, which are all among ``all_``."""
    size = sum(map(len, parts))
    if size == len(all_):
        return all_
    numbers = np.concatenate([part.numbers for part in parts])
    if size < all_.total >> 5:
        numbers.sort()
        return Lanes(numbers, all_.total)
    present = np.zeros(all_.total, np.bool_)
    present[numbers] = True
    return Lanes(np.flatnonzero(present), all_.total)
