"""The ops of a chain, for the code that runs them."""

from __future__ import annotations

from typing import NamedTuple

from halfulp.fp_formats.paths.words import Face
from halfulp.semantics.kernel import ArrayFace


class Link(NamedTuple):
    """An op of a chain: two faces of its kernel, the numbers of its operands among the values of the chain, and the
    bits of its results, which are the next values.
    """

    face: Face
    array: ArrayFace
    operands: tuple[int, ...]
    widths: tuple[int, ...]
