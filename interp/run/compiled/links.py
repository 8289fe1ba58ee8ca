"""The ops of a chain, for the code that runs them."""

from __future__ import annotations

from typing import NamedTuple

from halfulp.fp_formats.paths.words import Face

BLOCK = 1 << 12
"""The elements of a block: where one of them is refused, the whole block goes the general way."""


class Link(NamedTuple):
    """An op of a chain: its description, and the numbers of its operands and results among the values of the chain."""

    face: Face
    operands: tuple[int, ...]
    results: tuple[int, ...]
