"""Poison with its origins: where the poison of each element came from.

A value's poison mask is a uint16 array: 0 is clean, k names the k-th origin of a table. All values of one run share one
table, so that the ids of two operands merge by `np.maximum`; a value that leaves the run gets its own table.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from halfulp.fp_formats.codes import Codes, Mask

PoisonIds = npt.NDArray[np.uint16]

OTHER = 65535
"""The id of every origin after the 65,534th."""


@dataclass(frozen=True, slots=True)
class Origin:
    """The origin of poison: the op, its place in the source, the reason, and the first element in row-major order.

    ``location`` is ``file:line:col``, or empty where there is none.
    """

    op: str
    location: str
    reason: str
    element: tuple[int, ...] = ()

    def __str__(self) -> str:
        place = f" at {self.location}" if self.location else ""
        where = f", element {list(self.element)}" if self.element else ""
        return f"{self.reason} ({self.op}{place}{where})"


_OVERFLOW = Origin("other", "unknown", "one of more than 65,534 origins")


class Origins:
    """The table of origins of one run. Ids are per (op, location, reason), so that loops do not make it grow.

    ``place``: the place in a whole of the array that is computed now. It stands in front of the element of new origins.
    """

    __slots__ = ("_ids", "_table", "place")

    def __init__(self) -> None:
        self.place: tuple[int, ...] = ()
        self._table: list[Origin] = []
        self._ids: dict[tuple[str, str, str], int] = {}

    def __setstate__(self, state: tuple[None, dict[str, Any]]) -> None:
        """Restore a table, also one of a pickle in which ``place`` had another name."""
        for name, value in state[1].items():
            setattr(self, "place" if name == "_place" else name, value)

    def __getitem__(self, poison_id: int) -> Origin:
        """Return the origin of a non-zero id."""
        return _OVERFLOW if poison_id == OTHER else self._table[poison_id - 1]

    @contextmanager
    def inside(self, place: int) -> Iterator[None]:
        """Record origins of elements of the array at ``place`` of a whole as origins in the whole."""
        self.place = (place,)
        try:
            yield
        finally:
            self.place = ()

    def id_of(self, origin: Origin) -> int:
        """Return the id of ``origin``. A later one of the same op, location and reason keeps the first one's
        element.
        """
        key = (origin.op, origin.location, origin.reason)
        known = self._ids.get(key)
        if known is None:
            known = len(self._table) + 1
            if known >= OTHER:
                return OTHER
            self._table.append(replace(origin, element=(*self.place, *origin.element)) if self.place else origin)
            self._ids[key] = known
        return known

    def known(self) -> tuple[Origin, ...]:
        """Return the origins by their ids, from 1."""
        return tuple(self._table)

    def adopt(self, ids: PoisonIds, origins: Origins) -> PoisonIds:
        """Translate ``ids`` of another table into ids of this one."""
        if origins is self:
            return ids
        used, inverse = np.unique(ids, return_inverse=True)
        mine = np.array([0 if k == 0 else self.id_of(origins[int(k)]) for k in used], dtype=np.uint16)
        return mine[inverse].reshape(ids.shape)


def merged_ids(ids: Iterable[PoisonIds | None], shape: tuple[int, ...]) -> PoisonIds | None:
    """Return the poison of an elementwise result: an element is poison if one of its operands is."""
    merged: PoisonIds | None = None
    for each in ids:
        if each is not None:
            merged = each if merged is None else np.maximum(merged, each)
    return merged if merged is None or merged.shape == shape else np.broadcast_to(merged, shape)


def with_faults(
    ids: PoisonIds | None,
    faults: Iterable[tuple[str, Mask]],
    shape: tuple[int, ...],
    born: Callable[[str, Mask], int],
) -> PoisonIds | None:
    """Return poison after faults: pairs of a reason and the mask of its elements.

    ``born`` returns the id of the origin of new poison, from the reason and the mask of the elements that were not
    poison before.
    """
    merged = np.zeros(shape, np.uint16) if ids is None else ids.copy()
    for reason, mask in faults:
        fresh = np.broadcast_to(mask, shape) & (merged == 0)
        if fresh.any():
            merged[fresh] = born(reason, fresh)
    return merged if merged.any() else None


def zeroed(bits: Codes, ids: PoisonIds) -> Codes:
    """Return codes with zero under poison, where bits mean nothing, so that outputs are deterministic."""
    spoiled: Any = ids != 0
    return np.where(spoiled.reshape(spoiled.shape + (1,) * (bits.ndim - spoiled.ndim)), bits.dtype.type(0), bits)


def first_place(mask: Mask) -> tuple[int, ...]:
    """Return the place of the first True in row-major order; () for a scalar."""
    return tuple(int(k) for k in np.unravel_index(int(np.argmax(mask)), mask.shape)) if mask.ndim else ()
