"""The ops of a chain, for the code that runs them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from halfulp.fp_formats.formats import Codes, Mask
from halfulp.fp_formats.paths.array_loop import Plan, cost
from halfulp.fp_formats.paths.words import Implementation
from halfulp.semantics import integer_kernels
from halfulp.semantics.kernel import ArrayImplementation, Fault, Outcome


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


# --- chain tables -----------------------------------------------------------------------------------------------------
#
# Chains whose inputs have so few bits that one table holds the results of all ops.

_PAYS = 20
"""The `cost` of an element from which a table is quicker."""


def worth(plan: Plan) -> bool:
    """Tell whether one table is quicker than a chain. One that writes nothing has no table: only its faults matter."""
    bits = [width for width, splat in zip(plan.widths, plan.splats, strict=True) if not splat]
    short = len(bits) in (1, 2) and sum(bits) <= integer_kernels.MOST
    return bool(plan.outputs) and short and cost(plan) >= _PAYS


def tabled(links: Sequence[Link], plan: Plan, inputs: Sequence[Codes], results: Sequence[int]) -> Plan:
    """Return a plan of one link, which looks up the results of the links of another. ``inputs``: those that are splats
    are used; the table is of these codes. ``results``: the bits of the outputs.
    """
    moving = [number for number, splat in enumerate(plan.splats) if not splat]
    fixed = {number: inputs[number].copy() for number, splat in enumerate(plan.splats) if splat}

    def array(*codes: Codes) -> Outcome:
        given = {**fixed, **dict(zip(moving, codes, strict=True))}
        values = [given[number] for number in range(len(plan.widths))]
        with np.errstate(all="ignore"):
            faults = computed(links, values)
        return Outcome(tuple([values[number] for number in plan.outputs]), tuple(faults))

    implementation = integer_kernels.described(array, [plan.widths[number] for number in moving], results)
    link = Link(implementation, array, tuple(moving), tuple(results))
    first = len(plan.widths)
    return plan._replace(links=[link], outputs=range(first, first + len(results)))
