"""Merge the poison of operands, and add that of faults."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from halfulp.fp_formats.codes import Codes, Mask
from halfulp.interp.values.parts import Elements
from halfulp.semantics.poison import Origin, Origins, PoisonIds


def common_origins(values: Sequence[Elements]) -> tuple[list[PoisonIds | None], Origins | None]:
    """Return the poison of values as ids of one table, and the table; None if nothing is poison.

    The table is that of the values if they share one, else a new one: theirs never change.
    """
    tables = {id(value.origins): value.origins for value in values if value.poison is not None}
    if len(tables) <= 1:
        return [value.poison for value in values], next(iter(tables.values()), None)
    together = Origins()
    ids = [
        None if value.poison is None or value.origins is None else together.adopt(value.poison, value.origins)
        for value in values
    ]
    return ids, together


def merged_ids(ids: Iterable[PoisonIds | None], shape: tuple[int, ...]) -> PoisonIds | None:
    """Return the poison of an elementwise result: an element is poison if one of its operands is."""
    merged: PoisonIds | None = None
    for each in ids:
        if each is not None:
            merged = each if merged is None else np.maximum(merged, each)
    return merged if merged is None or merged.shape == shape else np.broadcast_to(merged, shape)


def with_faults(
    op: str, faults: Iterable[tuple[str, Mask]], ids: PoisonIds | None, origins: Origins | None, shape: tuple[int, ...]
) -> tuple[PoisonIds | None, Origins | None]:
    """Return poison and its table after faults: pairs of a reason and the mask of its elements."""
    merged = np.zeros(shape, np.uint16) if ids is None else ids.copy()
    table = Origins()
    if ids is not None and origins is not None:
        merged = table.adopt(merged, origins)
    for reason, mask in faults:
        fresh = np.broadcast_to(mask, shape) & (merged == 0)
        if fresh.any():
            merged[fresh] = table.id_of(Origin(op, "", reason, first_place(fresh)))
    return (merged, table) if merged.any() else (None, None)


def unknown_origins(ids: PoisonIds) -> tuple[PoisonIds, Origins]:
    """Return poison that came without a table of origins, with one."""
    table = Origins()
    if not ids.any():
        return ids, table
    one = table.id_of(Origin("input", "", "poison that was given", first_place(ids != 0)))
    return np.where(ids != 0, np.uint16(one), np.uint16(0)), table


def zeroed(bits: Codes, ids: PoisonIds) -> Codes:
    """Return codes with zero under poison, where bits mean nothing, so that outputs are deterministic."""
    spoiled: Any = ids != 0
    return np.where(spoiled.reshape(spoiled.shape + (1,) * (bits.ndim - spoiled.ndim)), bits.dtype.type(0), bits)


def first_place(mask: Mask) -> tuple[int, ...]:
    """Return the place of the first True in row-major order; () for a scalar."""
    return tuple(int(k) for k in np.unravel_index(int(np.argmax(mask)), mask.shape)) if mask.ndim else ()
