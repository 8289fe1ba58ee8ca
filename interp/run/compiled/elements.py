"""Vectors inside of compiled code: one word for each element."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from halfulp.fp_formats.paths.words import Word
from halfulp.interp.ir import types as ty

MOST = 64
"""The elements of the longest vector: each op on it becomes instructions for each of them."""


@dataclass(frozen=True, slots=True)
class Elements:
    """A vector: its elements in row-major order."""

    type: ty.VectorType
    words: tuple[Word, ...]


def made_of(type_: ty.Type, words: Sequence[Word]) -> Word | Elements:
    """Return a scalar or a vector of its elements."""
    return Elements(type_, tuple(words)) if isinstance(type_, ty.VectorType) else words[0]


def count_of(type_: ty.Type) -> int | None:
    """Return the number of elements of a scalar or a vector; None for one of no static size, or one that is too
    long.
    """
    if not isinstance(type_, ty.VectorType):
        return None if isinstance(type_, ty.ShapedType) else 1
    count = prod(type_.shape)
    return None if any(type_.scalable) or count > MOST else count
