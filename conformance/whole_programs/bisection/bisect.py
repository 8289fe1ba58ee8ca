"""Find the first stage of a compilation whose results are no refinement of those of the stage before."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace

from halfulp.conformance.comparing.exact_reference import Truth, truth_of_run
from halfulp.conformance.oracles.oracle import Runner
from halfulp.conformance.whole_programs.bisection.first_op import first_other_op
from halfulp.conformance.whole_programs.bisection.results import Bisection, Judgement, StageResult, difference_text
from halfulp.conformance.whole_programs.bisection.runs import Comparison, StageRun, StageRunner
from halfulp.conformance.whole_programs.bisection.stages import Compilation, Stage
from halfulp.interp.ir.errors import HalfulpError
from halfulp.interp.ir.operations import Module
from halfulp.interp.run.lineage import Lineage
from halfulp.interp.values.value import Value

Judge = Callable[[Stage, Stage, Comparison, StageRunner], tuple[Judgement, str] | None]
"""Judges the difference between two stages: permitted or known, and the ground; None if it is neither."""


def bisect(
    compilation: Compilation,
    runner: StageRunner,
    judges: Sequence[Judge] = (),
    progress: Callable[[int, int], object] = lambda done, total: None,
    fallback: Callable[[], Runner | None] = lambda: None,
) -> Bisection:
    """Run all stages of a compilation, each on the inputs of the runner, and judge each by the one before it that ran.

    ``progress``: is told the number of stages that are done, and of all. Stages with the same text run once. An
    interrupt ends the run with what there is.

    ``fallback``: finds the tool that runs a stage that cannot run here. Where it gives what the stage before allows,
    that is the judgement. Where it gives other bits, which may be its own or those of the pass, the stage counts as not
    run.
    """
    work = _Work(runner, judges, fallback)
    end = compilation.end
    try:
        for number, stage in enumerate(compilation.stages):
            work.add(number, stage)
            progress(number + 1, len(compilation.stages))
    except KeyboardInterrupt:
        end = "interrupted"
    return Bisection(runner.function.symbol_name or "", tuple(work.results), end)


class _Work:
    def __init__(self, runner: StageRunner, judges: Sequence[Judge], fallback: Callable[[], Runner | None]) -> None:
        self._fallback = fallback
        self.results: list[StageResult] = []
        self._runner = runner
        self._judges = judges
        self._last: tuple[int, Stage, StageRun] | None = None
        self._first: Module | None = None
        self._histories: dict[int, tuple[Lineage, tuple[Value, ...]] | None] = {}

    def add(self, number: int, stage: Stage) -> None:
        """Run a stage, judge it, and note the result."""
        start = time.perf_counter()
        before = self.results[-1] if self.results else None
        if before is not None and before.stage.text == stage.text:
            again = before.judgement is Judgement.NOT_RUN
            unchanged = StageResult(stage, Judgement.UNCHANGED, against=number - 1, notes=before.notes)
            self.results.append(replace(before, stage=stage, seconds=0.0) if again else unchanged)
            return
        try:
            if isinstance(stage.module, HalfulpError):
                raise stage.module
            run = self._runner.run(stage.module, None if self._last is None else self._last[2])
        except HalfulpError as error:
            found = self._elsewhere(stage, error.message)
            self.results.append(replace(found, seconds=time.perf_counter() - start))
            return
        last = self._last
        if run.ends:
            self._last = number, stage, run
        if last is None:
            self._first = stage.module
            self.results.append(
                StageResult(stage, Judgement.FIRST, seconds=time.perf_counter() - start, notes=run.version.notes)
            )
            return
        against, old, old_run = last
        comparison = self._runner.compare(old_run, run)
        judgement, ground = self._judged(old, stage, comparison)
        if judgement is Judgement.DIFFERENT and not comparison.examples:
            comparison = replace(comparison, examples=tuple((each.number, each.example) for each in comparison.doubts))
        truth = self._truth(comparison)
        seconds = time.perf_counter() - start
        first_op = self._first_op(old, stage, comparison) if judgement is Judgement.DIFFERENT else ""
        self.results.append(
            StageResult(stage, judgement, ground, against, comparison, seconds, run.version.notes, first_op, truth)
        )

    def _truth(self, found: Comparison) -> Truth | None:
        """Return how far the first element that differs was from the exact number of the first stage, and is now."""
        examples = [*found.examples, *((each.number, each.example) for each in found.doubts)]
        if not examples or self._first is None:
            return None
        number, example = examples[0]
        if example.mismatch is None or example.trap or example.texts is not None:
            return None
        if number not in self._histories:
            try:
                self._histories = {number: self._runner.recorded(self._first, number)}
            except HalfulpError:
                self._histories = {number: None}
        history = self._histories[number]
        return None if history is None else truth_of_run(*history, example.mismatch)

    def _first_op(self, before: Stage, after: Stage, found: Comparison) -> str:
        """Describe the first op with another value, if this is the first stage that differs."""
        if any(one.judgement is Judgement.DIFFERENT for one in self.results) or not found.examples:
            return ""
        number, example = found.examples[0]
        if example.mismatch is None or example.trap or example.texts is not None:
            return ""
        assert isinstance(before.module, Module)
        assert isinstance(after.module, Module)
        return first_other_op(self._runner, before.module, after.module, number, example.mismatch)

    def _elsewhere(self, stage: Stage, reason: str) -> StageResult:
        """Judge a stage that does not run here, by the tool that may run it. ``reason``: why it does not run."""
        tool = self._fallback() if self._last is not None and isinstance(stage.module, Module) else None
        if tool is None or self._last is None or not isinstance(stage.module, Module):
            return StageResult(stage, Judgement.NOT_RUN, reason)
        against, _, before = self._last
        try:
            comparison = self._runner.compare(before, self._runner.by(tool, stage.module))
        except HalfulpError as error:
            return StageResult(stage, Judgement.NOT_RUN, f"{reason}; {error.message}")
        examples = [*(example for _, example in comparison.examples), *(each.example for each in comparison.doubts)]
        if examples:
            other = f"{tool.name} gives other bits: {difference_text(examples[0])}"
            return StageResult(stage, Judgement.NOT_RUN, f"{reason}; {other}")
        if comparison.report.undefined == comparison.report.inputs:
            return StageResult(stage, Judgement.NOT_RUN, f"{reason}; all inputs are undefined before it")
        judgement = Judgement.IDENTICAL if comparison.same else Judgement.REFINED
        return StageResult(stage, judgement, f"by {tool.name}, since {reason}", against, comparison)

    def _judged(self, before: Stage, after: Stage, comparison: Comparison) -> tuple[Judgement, str]:
        if comparison.examples or comparison.doubts:
            found = (judge(before, after, comparison, self._runner) for judge in self._judges)
            return next((one for one in found if one is not None), (Judgement.DIFFERENT, ""))
        return (Judgement.IDENTICAL if comparison.same else Judgement.REFINED), ""
