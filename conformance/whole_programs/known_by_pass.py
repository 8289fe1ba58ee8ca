"""Explain the differences that a pass pipeline makes by the known divergences of its passes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from halfulp.conformance.comparing.divergences import Cancellation, Divergence, of_passes
from halfulp.conformance.oracles.oracle import ClosedProgram, OracleError
from halfulp.conformance.oracles.pass_pipeline import PassPipeline
from halfulp.conformance.whole_programs.diff import Wrong, differences
from halfulp.conformance.whole_programs.op_search import Search, observed
from halfulp.conformance.whole_programs.outcomes import NoMeaning, mismatches_of, run_here
from halfulp.conformance.whole_programs.transformed import NAME, Transformed
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.errors import HalfulpError
from halfulp.interp.ir.operations import Module
from halfulp.interp.run.settings import Settings
from halfulp.interp.values.value import Value

MOST_STUDIES, MOST_FAILED = 5000, 50
"""The most searches of one function for the ops that differ, and the most inputs that they do not explain. Then the
inputs that are left count as not explained either.
"""

Inputs = Sequence[tuple[Value, ...]]


class KnownByPass:
    """The known divergences of a pipeline's passes. They explain an input if each op of the program, after the passes,
    gives the result that the language allows for its operands, or the one that a row predicts.
    """

    def __init__(
        self,
        pipeline: PassPipeline,
        rows: Sequence[Divergence],
        pairs: Sequence[Cancellation],
        settings: Settings,
    ) -> None:
        self._rows = of_passes(rows, pipeline.passes, NAME)
        self._pairs = of_passes(pairs, pipeline.passes, NAME)
        self._after = Transformed(pipeline, settings)
        self._search = Search(self._after, self._rows, settings.profile, self._pairs)

    def explained(self, module: Module, function: str, inputs: Inputs) -> list[tuple[str, ...]]:
        """Return the names of the rows that explain each input; none if they do not explain it.

        ``inputs``: arguments for which the function differs after the passes.
        """
        found: list[tuple[str, ...]] = [()] * len(inputs)
        if not self._rows and not self._pairs:
            return found
        together = len(inputs) > 1 and _alike(inputs) and observed(module, function) is not None
        waiting = [(0, len(inputs))] if together else [(k, k + 1) for k in reversed(range(len(inputs)))]
        studies = failed = 0
        while waiting and studies < MOST_STUDIES and failed < MOST_FAILED:
            start, stop = waiting.pop()
            names = self._names(module, function, inputs[start:stop])
            studies += 1
            if names is not None:
                found[start:stop] = [names] * (stop - start)
                continue
            if stop - start == 1:
                failed += 1
                continue
            middle = (start + stop) // 2
            waiting += [(middle, stop), (start, middle)]
        return found

    def _names(self, module: Module, function: str, inputs: Inputs) -> tuple[str, ...] | None:
        """Return the names of the rows that explain these inputs; None if they do not explain all of them."""
        arguments = inputs[0] if len(inputs) == 1 else _over_lanes(inputs)
        program = ClosedProgram(module, function, arguments)
        try:
            here = run_here(program, self._search.profile)
            (reply,) = self._after.run([program])
            if isinstance(here, NoMeaning) or not isinstance(reply, tuple):
                return None
            mismatches = mismatches_of(here, reply)
            if not mismatches:
                return None
            ((difference, failure),) = differences(self._search, [Wrong(program, 0, reply, mismatches)])
        except (HalfulpError, OracleError):
            return None
        return difference.known if failure is None and difference.known else None


def _alike(inputs: Inputs) -> bool:
    """Tell whether the inputs can stand beside each other as values over lanes."""
    first = inputs[0]
    if not first or any(ty.shape_of(value.type) is None or isinstance(value.type, ty.MemRefType) for value in first):
        return False
    return all([value.shape for value in row] == [value.shape for value in first] for row in inputs)


def _over_lanes(inputs: Inputs) -> tuple[Value, ...]:
    columns = zip(*inputs, strict=True)
    return tuple(Value(column[0].type, np.stack([value.bits for value in column])) for column in columns)
