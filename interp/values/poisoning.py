"""Bring the poison of values to one table of origins."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from halfulp.interp.values.parts import Elements
from halfulp.semantics.poison import Origin, Origins, PoisonIds, first_place


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


def unknown_origins(ids: PoisonIds) -> tuple[PoisonIds, Origins]:
    """Return poison that came without a table of origins, with one."""
    table = Origins()
    if not ids.any():
        return ids, table
    one = table.id_of(Origin("input", "", "poison that was given", first_place(ids != 0)))
    return np.where(ids != 0, np.uint16(one), np.uint16(0)), table
