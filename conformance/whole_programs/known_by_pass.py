"""Explain the differences that a pass pipeline makes by the known divergences of its passes."""

from __future__ import annotations

import time
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

import numpy as np

from halfulp.conformance.comparing.divergences import Cancellation, Divergence, of_passes
from halfulp.conformance.comparing.op_case import OpCase
from halfulp.conformance.oracles.oracle import Answer, ClosedProgram, OracleError
from halfulp.conformance.oracles.pass_pipeline import PassPipeline
from halfulp.conformance.whole_programs.op_search import Finding, Search, observed
from halfulp.conformance.whole_programs.outcomes import NoMeaning, mismatches_of, run_here
from halfulp.conformance.whole_programs.rewrite import captured, case_of, copied, definition_of, isolated, module_with
from halfulp.conformance.whole_programs.transformed import NAME, Transformed
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.attributes import SymbolRefAttr
from halfulp.interp.ir.errors import HalfulpError
from halfulp.interp.ir.operations import Module
from halfulp.interp.run.settings import Settings
from halfulp.interp.values.value import Value

MOST_STUDIES, MOST_FAILED, SECONDS = 5000, 50, 10.0
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
        self._work: _Work | None = None

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

    def _work_on(self, module: Module) -> _Work:
        """Return what was made for a module. Only that for the last module is kept."""
        if self._work is None or self._work.module is not module:
            after = Transformed(self._pipeline, self._settings)
            search = Search(after, self._rows, self._settings.profile, self._pairs)
            self._work = _Work(module, after, search)
        return self._work

    def _names(self, module: Module, function: str, inputs: Inputs) -> tuple[str, ...] | None:
        """Return the names of the rows that explain these inputs; None if they do not explain all of them."""
        arguments = inputs[0] if len(inputs) == 1 else _over_lanes(inputs)
        program = ClosedProgram(module, function, arguments)
        work = self._work_on(module)
        try:
            here = run_here(program, self._settings.profile)
            (reply,) = work.after.run([program])
            if isinstance(here, NoMeaning) or not isinstance(reply, tuple):
                return None
            differing = {mismatch.result for mismatch, _ in mismatches_of(here, reply)}
            (study,) = work.search.studies([program], [reply])
            if not differing or study.failure is not None or not study.explains(differing):
                return None
            if not _straight(module, function) and not self._predicted(program, study.findings, reply):
                return None
        except (HalfulpError, OracleError):
            return None
        return tuple(dict.fromkeys(name for finding in study.findings for name in finding.known))

    def _predicted(self, program: ClosedProgram, findings: Sequence[Finding], reply: Sequence[Answer]) -> bool:
        """Tell whether the program gives these results if only the ops with known divergences are as after the passes.

        The search judges ops inside calls, regions and branches alone. This shows that nothing else differs.
        """
        work = self._work_on(program.module)
        cases = frozenset(finding.case for finding in findings)
        if cases not in work.replaced:
            work.replaced[cases] = _replaced(program.module, cases, work.after)
        module = work.replaced[cases]
        if module is None:
            return False
        here = run_here(ClosedProgram(module, program.function, program.arguments), self._settings.profile)
        return not isinstance(here, NoMeaning) and not mismatches_of(here, reply)


@dataclass
class _Work:
    """The results for one module. ``replaced``: the module with calls instead of the ops of some cases."""

    module: Module
    after: Transformed
    search: Search
    replaced: dict[frozenset[OpCase | None], Module | None] = field(default_factory=dict)


def _straight(module: Module, name: str) -> bool:
    """Tell whether a function has one block, no regions and no calls."""
    function = module.lookup(name)
    blocks = [] if function is None else function.regions[0].blocks
    return len(blocks) == 1 and not any(op.regions or op.name == "func.call" for op in blocks[0].operations)


def _replaced(module: Module, cases: Collection[OpCase | None], after: Transformed) -> Module | None:
    """Return the module with a call instead of each op of these cases: of a function that has the op after the passes,
    alone. None if that is not possible.
    """
    copy = module_with(module.body, module)
    chosen = [op for op in copy.walk() if (case := case_of(op)) is not None and case in cases]
    names = [f"after_passes_{number}" for number in range(len(chosen))]
    made = after.after([isolated(copy, op, name) for op, name in zip(chosen, names, strict=True)])
    top = copy.operation.regions[0].blocks[0]
    for op, name, function in zip(chosen, names, made, strict=True):
        target = function.lookup(name) if isinstance(function, Module) else None
        if target is None or module.lookup(name) is not None:
            return None
        top.append(copied(target, {}))
        op.operands, op.attributes = captured(op), {}
        op.name, op.definition, op.properties = "func.call", definition_of("func.call"), {"callee": SymbolRefAttr(name)}
    return copy if chosen else None


def _alike(inputs: Inputs) -> bool:
    """Tell whether the inputs can stand beside each other as values over lanes."""
    first = inputs[0]
    if not first or any(ty.shape_of(value.type) is None or isinstance(value.type, ty.MemRefType) for value in first):
        return False
    return all([value.shape for value in row] == [value.shape for value in first] for row in inputs)


def _over_lanes(inputs: Inputs) -> tuple[Value, ...]:
    columns = zip(*inputs, strict=True)
    return tuple(Value(column[0].type, np.stack([value.bits for value in column])) for column in columns)
