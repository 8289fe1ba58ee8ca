"""The ops of a chain, for the code that runs them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from halfulp.fp_formats.codes import Codes, Mask
from halfulp.fp_formats.paths.words import Implementation
from halfulp.semantics.kernel import ArrayImplementation, Fault


class Link(NamedTuple):
    """An op of a chain: two implementations of its kernel, the numbers of its operands among the values of the chain,
    and the bits of its results, which are the next values.
    """

    implementation: Implementation
    array: ArrayImplementation
    operands: tuple[int, ...]
    widths: tuple[int, ...]


def computed(links: Iterable[Link], values: list[Codes]) -> list[tuple[Fault, Mask]]:
    """Add the results of the kernels to the values of a chain, which are its inputs; return the faults."""
    faults: list[tuple[Fault, Mask]] = []
    for link in links:
        outcome = link.array(*[values[number] for number in link.operands])
        faults += outcome.faults
        values += outcome.results
    return faults
