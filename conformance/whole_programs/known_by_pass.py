"""Explain the differences that a pass pipeline makes by the known divergences of its passes."""

from __future__ import annotations

import time
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import zip_longest

import numpy as np

from halfulp.conformance.comparing.divergences import Cancellation, Divergence, of_passes
from halfulp.conformance.comparing.op_case import OpCase
from halfulp.conformance.comparing.refinement import answer_of, judge, judged
from halfulp.conformance.oracles.oracle import ClosedProgram, OracleError
from halfulp.conformance.oracles.tool import PassPipeline
from halfulp.conformance.whole_programs.arguments import Arguments, Part
from halfulp.conformance.whole_programs.op_search import Finding, NoMeaning, Search, results_of, run_here
from halfulp.conformance.whole_programs.printed import elements, prints, silent
from halfulp.conformance.whole_programs.replaced_ops import NAME, Operands, ReplacedOps, Transformed, replaced_ops
from halfulp.conformance.whole_programs.rewrite import case_of
from halfulp.conformance.whole_programs.signatures import signature
from halfulp.conformance.whole_programs.two_runs import Outcome, Piece, Ran, TwoRuns, one_lane
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.errors import HalfulpError
from halfulp.interp.ir.operations import Module
from halfulp.interp.run.batch.program import run_batch
from halfulp.interp.run.program import program_for
from halfulp.interp.run.settings import Settings
from halfulp.interp.values.value import Value

MOST_STUDIES, MOST_FAILED, SECONDS = 5000, 50, 10.0
"""The most searches of one function for the ops that differ, the most inputs that they do not explain, and the time
after which no search starts. Then nothing is known of the inputs that are left.
"""

MORE_STEPS = 10
"""The steps of a program whose ops are calls, for each step of the program."""

Names = tuple[str, ...]


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

    def explained(self, module: Module, function: str, part: Part) -> list[Names | None]:
        """Return the names of the rows that explain each input; none if they do not explain it, None if that took too
        long to find out.

        ``part``: inputs for which the function differs after the passes.
        """
        found: list[Names | None] = [()] * part.count
        work = self._work_on(module)
        if not part.count or not (work.cases or work.has_casts):
            return found
        search = work.searches.setdefault(function, _Search())
        waiting = [(0, part.count)] if part.has_lanes else [(k, k + 1) for k in reversed(range(part.count))]
        began = time.monotonic()
        while waiting and not search.ended(time.monotonic() - began):
            start, stop = waiting.pop()
            names = self._names(work, function, part.chosen(range(start, stop)))
            search.studies += 1
            if names is None and stop - start > 1:
                middle = (start + stop) // 2
                waiting += [(middle, stop), (start, middle)]
                continue
            search.failed += names is None
            found[start:stop] = [names or ()] * (stop - start)
        for start, stop in waiting:
            found[start:stop] = [None] * (stop - start)
        search.seconds += time.monotonic() - began
        return found

    def _cases(self, module: Module) -> Collection[OpCase]:
        """Return the ops of the module that rows are about. Most programs have none, and need no search.

        No row is about a choice between two values, which takes a condition for all elements, too.
        """
        cases = {case for case in map(case_of, module.walk()) if case is not None and case.op != "arith.select"}
        version = self._pipeline.tool.version
        return {case for case in cases if any(row.applies(NAME, version, case) for row in self._rows)}

    def _has_casts(self, module: Module) -> bool:
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
            self._work = _Work(module, self._cases(module), self._has_casts(module), after, search)
        return self._work

    def _names(self, work: _Work, function: str, part: Part) -> Names | None:
        """Return the names of the rows that explain these inputs; None if they do not explain all of them."""
        find = self._by_search if _straight(work.module, function) else self._by_replacement
        try:
            findings = find(work, function, part)
        except (HalfulpError, OracleError):
            return None
        if not findings or not all(finding.known for finding in findings):
            return None
        return tuple(dict.fromkeys(name for finding in findings for name in finding.known))

    def _by_search(self, work: _Work, function: str, part: Part) -> Sequence[Finding]:
        """Return the ops that differ, of a function whose values can all be returned; none if they do not explain its
        results.
        """
        program = ClosedProgram(work.module, function, part.row(0) if part.count == 1 else part.lanes())
        here = run_here(program, self._settings.profile)
        (reply,) = work.after.run([program])
        if isinstance(here, NoMeaning) or not isinstance(reply, tuple):
            return ()
        differing = {one.index for one in judge(here, reply) if one.wrong.any()}
        (study,) = work.search.studies([program], [reply])
        return study.findings if differing and study.failure is None and study.explains(differing) else ()

    def _by_replacement(self, work: _Work, function: str, part: Part) -> Sequence[Finding]:
        """Return the ops that differ among those of the rows; none if the program, once these ops alone are as after
        the passes, has other bits than after the passes in an element that differs. So nothing else makes elements
        differ: in regions, in memory, in printed values.
        """
        replaced, (after,) = work.replaced, work.after.after([work.module])
        if replaced is None or not isinstance(after, Module):
            return ()
        one, two, three = (each.lookup(function) for each in (work.module, after, replaced.module))
        if one is None or two is None or three is None or not two.regions or not two.regions[0].blocks:
            return ()
        whole, alone = (
            TwoRuns((work.module, one), second, Arguments((part,)), signature(one, second[1]), self._settings)
            for second in ((after, two), (replaced.module, three))
        )
        covered = 0
        for pieces in zip_longest(whole.pieces(), alone.pieces()):
            if not _same_change(*pieces):
                return ()
            covered += len(pieces[0].rows)
        if covered < part.count:
            return ()
        operands = Operands(replaced.ops)
        steps = MORE_STEPS * self._settings.max_steps  # the runs above have shown that it ends
        settings = replace(self._settings, listeners=(operands,), write=silent, max_steps=steps)
        watched = program_for(replaced.module, settings)
        if part.count == 1:
            watched.run(three, part.fresh(0))
        else:
            run_batch(watched, three, part.lanes(), part.count)
        plain = program_for(replaced.module, self._settings)
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
class _Search:
    """What the search for one function has taken so far."""

    studies: int = 0
    failed: int = 0
    seconds: float = 0.0

    def ended(self, now: float) -> bool:
        """Tell whether no further search starts. ``now``: the seconds that are not yet counted."""
        return self.studies >= MOST_STUDIES or self.failed >= MOST_FAILED or self.seconds + now >= SECONDS


@dataclass
class _Work:
    """What is made for one module. ``cases``: its ops with a row. ``has_casts``: whether two casts may be taken for
    inverse ones. ``searches``: by function.
    """

    module: Module
    cases: Collection[OpCase]
    has_casts: bool
    after: Transformed
    search: Search
    searches: dict[str, _Search] = field(default_factory=dict)

    @cached_property
    def replaced(self) -> ReplacedOps | None:
        """The module with these ops as they are after the passes."""
        return replaced_ops(self.module, self.cases, self.after)


def _same_change(whole: Piece | None, alone: Piece | None) -> bool:
    """Tell whether two second versions have the same bits and poison wherever one, ``whole``, does what the first does
    not allow, and whether it does so for each input.
    """
    if whole is None or alone is None or not np.array_equal(whole.rows, alone.rows):
        return False
    first, *both = (_outputs(each) for each in (whole.before, whole.after, alone.after))
    if first is None or None in both:
        return False
    differs = np.zeros(len(whole.rows), np.bool_)
    for one, two, three in zip_longest(first, *(each for each in both if each is not None)):
        shapes = {None if each is None else (each.element_type, each.shape) for each in (one, two, three)}
        if len(shapes) > 1:
            return False
        mask = judged(one, two).wrong
        bits = (two.bits == three.bits).all(tuple(range(mask.ndim, two.bits.ndim)))
        same = np.where(two.poisoned, three.poisoned, bits & ~three.poisoned)
        if (mask & ~same).any():
            return False
        differs |= mask.any(tuple(range(1, mask.ndim)))
    return bool(differs.all())


def _outputs(outcome: Outcome | None) -> list[Value] | None:
    """Return the results, the memory, and the elements that are printed, over lanes; None for a run that stopped."""
    return [*outcome.values, *one_lane(elements(outcome.printed))] if isinstance(outcome, Ran) else None


def _straight(module: Module, name: str) -> bool:
    """Tell whether a function has one block, no regions, no calls and no memory, and prints nothing."""
    function = module.lookup(name)
    blocks = [] if function is None else function.regions[0].blocks
    if function is None or len(blocks) != 1 or prints(module, function):
        return False
    values = [*blocks[0].arguments, *(value for op in blocks[0].operations for value in op.results)]
    inner = any(op.regions or op.name == "func.call" for op in blocks[0].operations)
    return not inner and not any(isinstance(value.type, ty.MemRefType) for value in values)
