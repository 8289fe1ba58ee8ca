"""Chains whose inputs have so few bits that one table holds the results of all ops."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from halfulp.fp_formats.codes import Codes
from halfulp.fp_formats.paths.array_loop import Plan, cost
from halfulp.interp.run.compiled.chain_plan import Link, computed
from halfulp.semantics import tabled_words
from halfulp.semantics.kernel import Outcome

_PAYS = 20
"""The `cost` of an element from which a table is quicker."""


def worth(plan: Plan) -> bool:
    """Tell whether one table is quicker than a chain. One that writes nothing has no table: only its faults matter."""
    bits = [width for width, splat in zip(plan.widths, plan.splats, strict=True) if not splat]
    short = len(bits) in (1, 2) and sum(bits) <= tabled_words.MOST
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

    implementation = tabled_words.described(array, [plan.widths[number] for number in moving], results)
    link = Link(implementation, array, tuple(moving), tuple(results))
    first = len(plan.widths)
    return plan._replace(links=[link], outputs=range(first, first + len(results)))
