"""Reductions of few lanes on Python integers: the ops that depend on the accumulators, one point after the other.

An op on an array of a few elements takes as long as one on thousands.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from halfulp.interp.dialects.linalg.body import Body, Step
from halfulp.interp.ir import types as ty
from halfulp.interp.values.element_layout import code_layout
from halfulp.interp.values.value import Value

LANES = 16
"""Up to so many lanes, this is faster than arrays."""

Compute = Callable[..., Any]


class Scalars:
    """The bound steps of a body as functions of codes."""

    def __init__(self, body: Body, inputs: int) -> None:
        self._steps = [(_scalar(step), step.operands, step.results[0]) for step in body.bound]
        self._yields = body.yields
        self._inputs = inputs

    @classmethod
    def of(cls, body: Body, inputs: int) -> Scalars | None:
        """Return the steps; None if one of them has no such function."""
        return cls(body, inputs) if all(_scalar(step) is not None for step in body.bound) else None

    def run(self, totals: dict[int, int], rows: dict[int, Sequence[int]], count: int) -> dict[int, int] | None:
        """Return the accumulators of one lane after all rows; None where an op fails.

        ``totals``: the accumulators, by number. ``rows``: for each value that the steps read, the codes of all points.
        """
        env = dict(totals)
        steps, moves = self._steps, [(number, self._yields[number - self._inputs]) for number in totals]
        columns = list(rows.items())
        for row in range(count):
            for number, codes in columns:
                env[number] = codes[row]
            for compute, operands, result in steps:
                assert compute is not None
                code = compute(*[env[number] for number in operands])
                if code.__class__ is not int:
                    return None
                env[result] = code
            for (number, _), code in zip(moves, [env[source] for _, source in moves], strict=True):
                env[number] = code
        return {number: env[number] for number in totals}


def _scalar(step: Step) -> Compute | None:
    types = [value.type for value in (*step.op.operands, *step.op.results)]
    if len(step.results) != 1 or not all(map(is_plain, types)):
        return None
    if step.op.name == "arith.select":
        return lambda condition, yes, no: yes if condition else no
    return None if step.pointwise is None else step.pointwise.kernel.scalar


def is_plain(type_: ty.Type) -> bool:
    """Tell whether a code of a type is one word."""
    return isinstance(type_, ty.IntegerType | ty.IndexType | ty.FloatType) and not code_layout(type_)[1]


def columns(value: Value, lanes: int) -> list[list[int]]:
    """Return the codes of rows [n, lanes] as lists, one for each lane."""
    flat = np.ascontiguousarray(value.bits.reshape(-1, lanes).T)
    found: list[list[int]] = flat.tolist()
    return found
