"""Find the first op of a stage whose value the stage before it does not have."""

from __future__ import annotations

from collections import defaultdict

import numpy as np
import numpy.typing as npt

from halfulp.conformance.comparing.compare import Mismatch
from halfulp.conformance.whole_programs.bisection.histories import number_at
from halfulp.conformance.whole_programs.bisection.runs import StageRunner
from halfulp.conformance.whole_programs.difference_text import code_text
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.errors import HalfulpError
from halfulp.interp.ir.operations import Module
from halfulp.interp.run.lineage import Lineage, Node

MOST_OPS = 200_000
"""The most ops of one history that are looked at."""

_WIDEST = 64


def first_other_op(runner: StageRunner, before: Module, after: Module, number: int, mismatch: Mismatch) -> str:
    """Describe the first op in the history of a wrong number whose value no op before the pass has; "" without one.

    ``number``: the input. Each operand of that op is a value that the stage before has too. A wrong index, and an op on
    integers that do not depend on an argument, leave no such op.
    """
    try:
        right, _ = runner.recorded(before, number)
        lineage, values = runner.recorded(after, number)
    except HalfulpError:
        return ""
    known = _codes(right)
    waiting, seen = [number_at(values[mismatch.result], (0, *mismatch.element))], set[int]()
    first: tuple[int, Node] | None = None
    while waiting and len(seen) < MOST_OPS:
        one = waiting.pop()
        if one.id in seen:
            continue
        seen.add(one.id)
        made = lineage.history(one.id, one.type, one.code)
        if not isinstance(made, Node):
            continue
        waiting += made.operands
        if not _has(known, one.type, one.code) and (first is None or one.id < first[0]):
            first = one.id, made
    return "" if first is None or len(seen) >= MOST_OPS else _described(first[1])


def _described(made: Node) -> str:
    operands = ", ".join(code_text(each.type, each.code) for each in made.operands)
    value = "poison" if made.poison else code_text(made.type, made.code)
    return f"{made.op.name} of {operands} gives {value} ({made.location})"


def _codes(lineage: Lineage) -> dict[ty.Type, npt.NDArray[np.uint64]]:
    """Return all codes of a run by their types."""
    found = defaultdict(list)
    for batch in lineage.batches:
        for result, codes in zip(batch.op.results, batch.results, strict=True):
            type_ = ty.element_type(result.type)
            if (ty.element_width(ty.number_type(type_)) or _WIDEST + 1) <= _WIDEST:
                found[type_].append(np.unique(codes).astype(np.uint64))
    return {type_: np.unique(np.concatenate(codes)) for type_, codes in found.items()}


def _has(known: dict[ty.Type, npt.NDArray[np.uint64]], type_: ty.Type, code: int) -> bool:
    """Tell whether a run has a code. Of a type whose codes are not known, it has all."""
    codes = known.get(type_)
    if codes is None:
        return (ty.element_width(ty.number_type(type_)) or _WIDEST + 1) > _WIDEST
    place = int(np.searchsorted(codes, np.uint64(code)))
    return place < len(codes) and int(codes[place]) == code
