"""Explain the differences that a pass pipeline makes by the known divergences of its passes."""

from __future__ import annotations

import time
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from halfulp.conformance.comparing.divergences import Cancellation, Divergence, of_passes
from halfulp.conformance.comparing.op_case import OpCase
from halfulp.conformance.oracles.oracle import ClosedProgram, OracleError
from halfulp.conformance.oracles.pass_pipeline import PassPipeline
from halfulp.conformance.whole_programs.arguments import Arguments, Part, given
from halfulp.conformance.whole_programs.op_search import Finding, Search
from halfulp.conformance.whole_programs.outcomes import NoMeaning, answer_of, mismatches_of, results_of, run_here
from halfulp.conformance.whole_programs.printed import prints, silent
from halfulp.conformance.whole_programs.replaced_ops import Operands, ReplacedOps, replaced_ops
from halfulp.conformance.whole_programs.rewrite import case_of
from halfulp.conformance.whole_programs.transformed import NAME, Transformed
from halfulp.conformance.whole_programs.two_runs import MAX_STEPS
from halfulp.conformance.whole_programs.validation import validate
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.errors import HalfulpError
from halfulp.interp.ir.operations import Module
from halfulp.interp.run.batch.program import run_batch
from halfulp.interp.run.program import program_for
from halfulp.interp.run.settings import Settings
from halfulp.interp.run.signature import argument_types
from halfulp.interp.values.buffers import to_argument
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
        if not inputs or not (self._cases(module) or self._casts(module)):
            return found
        together = len(inputs) > 1 and _alike(inputs)
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

    def _cases(self, module: Module) -> Collection[OpCase]:
        """Return the ops of the module that rows are about. Most programs have none, and need no search."""
        cases = {case for case in map(case_of, module.walk()) if case is not None and case.op != "arith.select"}
        version = self._pipeline.tool.version
        return {case for case in cases if any(row.applies(NAME, version, case) for row in self._rows)}

    def _casts(self, module: Module) -> bool:
        """Tell whether the module has two casts of which the passes may take one for the inverse of the other."""
        names = {op.name for op in module.walk()}
        version = self._pipeline.tool.version
        return any(
            pair.applies(NAME, version, outer, inner) for pair in self._pairs for outer in names for inner in names
        )

    def _work_on(self, module: Module) -> _Work:
        """Return what was made for a module. Only that for the last module is kept."""
        if self._work is None or self._work.module is not module:
            after = Transformed(self._pipeline, self._settings)
            search = Search(after, self._rows, self._settings.profile, self._pairs)
            self._work = _Work(module, self._cases(module), after, search)
        return self._work

    def _names(self, module: Module, function: str, inputs: Inputs) -> tuple[str, ...] | None:
        """Return the names of the rows that explain these inputs; None if they do not explain all of them."""
        work = self._work_on(module)
        find = self._by_search if _straight(module, function) else self._by_replacement
        try:
            findings = find(work, function, inputs)
        except (HalfulpError, OracleError):
            return None
        if not findings or not all(finding.known for finding in findings):
            return None
        return tuple(dict.fromkeys(name for finding in findings for name in finding.known))

    def _by_search(self, work: _Work, function: str, inputs: Inputs) -> Sequence[Finding]:
        """Return the ops that differ, of a function whose values can all be returned; none if they do not explain its
        results.
        """
        part = _part(work.module, function, inputs)
        program = ClosedProgram(work.module, function, inputs[0] if part.count == 1 else part.lanes())
        here = run_here(program, self._settings.profile)
        (reply,) = work.after.run([program])
        if isinstance(here, NoMeaning) or not isinstance(reply, tuple):
            return ()
        differing = {mismatch.result for mismatch, _ in mismatches_of(here, reply)}
        (study,) = work.search.studies([program], [reply])
        return study.findings if differing and study.failure is None and study.explains(differing) else ()

    def _by_replacement(self, work: _Work, function: str, inputs: Inputs) -> Sequence[Finding]:
        """Return the ops that differ among those of the rows; none if the program does not do what it does after the
        passes once these ops alone do. That shows that nothing else differs: in regions, in memory, in printed text.
        """
        replaced, (after,) = work.replaced, work.after.after([work.module])
        if replaced is None or not isinstance(after, Module):
            return ()
        one, two = replaced.module.lookup(function), after.lookup(function)
        if one is None or two is None or not two.regions or not two.regions[0].blocks:
            return ()
        settings = replace(self._settings, max_steps=min(self._settings.max_steps, MAX_STEPS))
        part = _part(work.module, function, inputs)
        report = validate((replaced.module, one), (after, two), Arguments((part,)), settings)
        if report.differing or report.undefined or report.skipped:
            return ()
        operands = Operands(replaced.ops)
        watched = program_for(replaced.module, replace(settings, listeners=(operands,), write=silent))
        if part.count == 1:
            watched.run(one, part.fresh(0))
        else:
            run_batch(watched, one, part.lanes(), part.count)
        plain = program_for(replaced.module, settings)
        found = []
        for call, columns in operands.columns():
            answers = list(map(answer_of, results_of(plain, replaced.functions[call], columns)))
            op = replaced.ops[call]
            case = case_of(op)
            assert case is not None
            finding = work.search.judged_case(case, op, columns, answers)
            found += [] if finding is None else [finding]
        return found


@dataclass
class _Work:
    """What is made for one module. ``cases``: its ops with a row."""

    module: Module
    cases: Collection[OpCase]
    after: Transformed
    search: Search

    @cached_property
    def replaced(self) -> ReplacedOps | None:
        """The module with these ops as they are after the passes."""
        return replaced_ops(self.module, self.cases, self.after)


def _straight(module: Module, name: str) -> bool:
    """Tell whether a function has one block, no regions, no calls and no memory, and prints nothing."""
    function = module.lookup(name)
    blocks = [] if function is None else function.regions[0].blocks
    if function is None or len(blocks) != 1 or prints(module, function):
        return False
    values = [*blocks[0].arguments, *(value for op in blocks[0].operations for value in op.results)]
    inner = any(op.regions or op.name == "func.call" for op in blocks[0].operations)
    return not inner and not any(isinstance(value.type, ty.MemRefType) for value in values)


def _alike(inputs: Inputs) -> bool:
    """Tell whether the inputs can stand beside each other as values over lanes."""
    first = inputs[0]
    if not first or any(ty.shape_of(value.type) is None or isinstance(value.type, ty.MemRefType) for value in first):
        return False
    return all([value.shape for value in row] == [value.shape for value in first] for row in inputs)


def _part(module: Module, name: str, inputs: Inputs) -> Part:
    """Return the inputs of a function as a part."""
    function = module.lookup(name)
    assert function is not None
    types = argument_types(function)
    pairs = zip(inputs[0], types, strict=True)
    (one,) = given([to_argument(value, type_, f"argument {k}") for k, (value, type_) in enumerate(pairs)], types).parts
    columns = tuple(np.stack([value.bits for value in column]) for column in zip(*inputs, strict=True))
    return replace(one, columns=columns, count=len(inputs))
