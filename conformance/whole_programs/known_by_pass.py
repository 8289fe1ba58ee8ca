"""Explain the differences that a pass pipeline makes by the known divergences of its passes."""

from __future__ import annotations

import time
from collections.abc import Sequence

import numpy as np

from halfulp.conformance.comparing.divergences import Cancellation, Divergence, of_passes
from halfulp.conformance.oracles.oracle import ClosedProgram, OracleError
from halfulp.conformance.oracles.pass_pipeline import PassPipeline
from halfulp.conformance.whole_programs.diff import Wrong, differences
from halfulp.conformance.whole_programs.op_search import Search, observed
from halfulp.conformance.whole_programs.outcomes import NoMeaning, mismatches_of, run_here
from halfulp.conformance.whole_programs.rewrite import case_of
from halfulp.conformance.whole_programs.transformed import NAME, Transformed
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.errors import HalfulpError
from halfulp.interp.ir.operations import Module
from halfulp.interp.run.settings import Settings
from halfulp.interp.values.value import Value

MOST_STUDIES, MOST_FAILED, SECONDS = 5000, 50, 20.0
"""The most searches of one function for the ops that differ, the most inputs that they do not explain, and the time
after which no search starts. Then the inputs that are left count as not explained either.
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
        self._pipeline = pipeline
        self._settings = settings
        self._search: tuple[Module, Search] | None = None

    def explained(self, module: Module, function: str, inputs: Inputs) -> list[tuple[str, ...]]:
        """Return the names of the rows that explain each input; none if they do not explain it.

        ``inputs``: arguments for which the function differs after the passes.
        """
        found: list[tuple[str, ...]] = [()] * len(inputs)
        if not inputs or not self._concern(module):
            return found
        together = len(inputs) > 1 and _alike(inputs) and observed(module, function) is not None
        waiting = [(0, len(inputs))] if together else [(k, k + 1) for k in reversed(range(len(inputs)))]
        studies = failed = 0
        deadline = time.monotonic() + SECONDS
        while waiting and studies < MOST_STUDIES and failed < MOST_FAILED and time.monotonic() < deadline:
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

    def _concern(self, module: Module) -> bool:
        """Tell whether a row is about an op of the module. Most programs have none, and need no search."""
        ops = list(module.walk())
        cases = [case for case in map(case_of, ops) if case is not None]
        names = {op.name for op in ops}
        version = self._pipeline.tool.version
        return any(row.applies(NAME, version, case) for row in self._rows for case in cases) or any(
            pair.applies(NAME, version, outer, inner) for pair in self._pairs for outer in names for inner in names
        )

    def _search_of(self, module: Module) -> Search:
        """Return the search in a module. It keeps what it made for the last module only."""
        if self._search is None or self._search[0] is not module:
            after = Transformed(self._pipeline, self._settings)
            self._search = module, Search(after, self._rows, self._settings.profile, self._pairs)
        return self._search[1]

    def _names(self, module: Module, function: str, inputs: Inputs) -> tuple[str, ...] | None:
        """Return the names of the rows that explain these inputs; None if they do not explain all of them."""
        arguments = inputs[0] if len(inputs) == 1 else _over_lanes(inputs)
        program = ClosedProgram(module, function, arguments)
        search = self._search_of(module)
        try:
            here = run_here(program, search.profile)
            (reply,) = search.oracle.run([program])
            if isinstance(here, NoMeaning) or not isinstance(reply, tuple):
                return None
            mismatches = mismatches_of(here, reply)
            if not mismatches:
                return None
            ((difference, failure),) = differences(search, [Wrong(program, 0, reply, mismatches)])
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
