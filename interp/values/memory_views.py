"""Memory seen in another way: bytes as any elements, vectors as other vectors or numbers, all of it from a place on."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from halfulp.interp.ir import types as ty
from halfulp.interp.ir.errors import Unsupported
from halfulp.interp.values.buffers import Allocation
from halfulp.interp.values.element_layout import code_layout
from halfulp.semantics.poison import Origins


def bytes_of(element: ty.Type) -> int:
    """Return the number of bytes that an element takes in memory."""
    dtype, trailing = code_layout(element)
    return dtype.itemsize * prod(trailing)


class _Seen(Allocation):
    """Memory that is another piece of memory, with its elements taken together in another way."""

    __slots__ = ("_base",)

    def __init__(self, base: Allocation) -> None:
        self._base = base
        self.log = None

    def _mask(self, mask: Any) -> Any:
        """Return a mask of the other piece as a writable view with a row for each element of this one."""
        raise NotImplementedError

    @property
    def poison(self) -> Any:
        """The ids of the origins."""
        return None if self._base.poison is None else self._mask(self._base.poison)

    @poison.setter
    def poison(self, mask: Any) -> None:
        if self._base.poison is None:
            if mask is None:
                return
            self._base.poison = np.zeros((len(self._base), *self._base.inner), np.uint16)
        self.poison[...] = 0 if mask is None else mask

    @property
    def open(self) -> Any:
        """The mask of unspecified elements."""
        return None if self._base.open is None else self._mask(self._base.open)

    @open.setter
    def open(self, mask: Any) -> None:
        if mask is not None:
            if self._base.open is None:
                self._base.open = np.zeros((len(self._base), *self._base.inner), mask.dtype)
            elif self._base.open.dtype != mask.dtype:
                self._base.open = self._base.open.astype(mask.dtype)  # nothing was marked
            self.open[...] = mask

    @property
    def origins(self) -> Origins | None:
        """The table of the ids."""
        return self._base.origins

    @origins.setter
    def origins(self, origins: Origins | None) -> None:
        self._base.origins = origins

    @property
    def freed(self) -> str | None:  # type: ignore[override]
        """The op that freed the memory and its place; None while it can be used."""
        return self._base.freed

    @property
    def source(self) -> str:  # type: ignore[override]
        """The op that made the memory."""
        return self._base.source

    @property
    def constant(self) -> bool:  # type: ignore[override]
        """True if the memory must not be written."""
        return self._base.constant

    @property
    def root(self) -> Allocation:
        """The memory that this is."""
        return self._base.root

    def adopted(self, origins: Origins) -> None:
        """Use this table for the origins of poison from now on."""
        self._base.adopted(origins)


class Bytes(_Seen):
    """A part of memory of bytes, read and written as elements of another type.

    A mask of the memory has an entry for each byte. Here it has a row for each element: an element is poison if one of
    its bytes is, and writing it writes the whole row. ``first``: the first byte of the memory.
    """

    __slots__ = ("_rows", "first")

    first: int

    def __init__(self, base: Allocation, first: int, element: ty.Type, count: int) -> None:
        """See ``count`` elements from the byte ``first`` of ``base``.

        Raises Unsupported for elements whose bytes have spare bits.
        """
        size = bytes_of(element)
        number = ty.number_type(element)
        width = 0 if isinstance(element, ty.VectorType) else ty.element_width(number) or 0
        if width * (1 + isinstance(element, ty.ComplexType)) != size * 8:
            raise Unsupported(f"halfulp does not run memory of bytes as elements of type '{element}'")
        if isinstance(base, Bytes):
            first += base.first
            base = base._base
        super().__init__(base)
        self.first = first
        self.inner = ()
        self._rows = (count, size)
        dtype, trailing = code_layout(element)
        self.bits = self._part(base.bits).view(dtype).reshape(count, *trailing)
        # The masks exist from now on, so that no element is read or written without them.
        if base.poison is None:
            base.poison = np.zeros(len(base), np.uint16)
        if base.open is None:
            base.open = np.zeros(len(base), np.uint8)

    def _part(self, array: Any) -> Any:
        count, size = self._rows
        return array[self.first : self.first + count * size]

    def _mask(self, mask: Any) -> Any:
        return self._part(mask).reshape(self._rows)


class Regrouped(_Seen):
    """Memory of vectors, whose numbers are taken together to other vectors, or each alone."""

    __slots__ = ()

    def __init__(self, base: Allocation, inner: tuple[int, ...]) -> None:
        super().__init__(base)
        self.inner = inner
        self.bits = base.bits.reshape(-1, *inner, *base.bits.shape[1 + len(base.inner) :])

    def _mask(self, mask: Any) -> Any:
        return mask.reshape(-1, *self.inner)


class Rest(_Seen):
    """Memory from one of its elements on."""

    __slots__ = ("_first",)

    def __init__(self, base: Allocation, first: int) -> None:
        super().__init__(base)
        self.inner = base.inner
        self.bits = base.bits[first:]
        self._first = first

    def _mask(self, mask: Any) -> Any:
        return mask[self._first :]
