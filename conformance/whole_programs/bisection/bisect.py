"""Find the first stage of a compilation whose results are not a refinement of those of the stage before."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from functools import partial
from itertools import takewhile
from typing import Any

from halfulp.conformance.comparing.divergences import Cancellation, Divergence
from halfulp.conformance.comparing.refinement import Truth, Verdict, record_of, truth_of_run, ulps_away, ulps_text
from halfulp.conformance.oracles.oracle import Runner
from halfulp.conformance.oracles.tool import PassFailure, PassPipeline
from halfulp.conformance.whole_programs import pass_differences
from halfulp.conformance.whole_programs.bisection.explaining import NO_RULE, permission
from halfulp.conformance.whole_programs.bisection.runs import (
    Compilation,
    Stage,
    StageComparison,
    StageRun,
    StageRunner,
    first_other_op,
)
from halfulp.conformance.whole_programs.counterexamples import (
    Counterexample,
    code_text,
    counterexample_record,
    given_text,
)
from halfulp.conformance.whole_programs.known_by_pass import KnownByPass
from halfulp.conformance.whole_programs.two_runs import signature
from halfulp.interp.ir.errors import HalfulpError, Unsupported, plural
from halfulp.interp.ir.operations import Module, Operation, argument_types
from halfulp.interp.run.lineage import Lineage
from halfulp.interp.run.settings import Settings
from halfulp.interp.values.spelling import spell_value
from halfulp.interp.values.value import Value

# --- results ----------------------------------------------------------------------------------------------------------

_WIDEST = 72
"""The greatest width of the column with the names of stages, in characters."""

SHOWN = 3
"""The most inputs of one stage whose differences are reported."""


class Judgement(Enum):
    """How the results of a stage relate to those of the last stage before it that ran."""

    FIRST = "first"
    UNCHANGED = "unchanged"  # the text is the same: nothing ran
    IDENTICAL = "identical"
    REFINED = "refined"
    PERMITTED = "permitted"
    KNOWN = "known divergence"
    DIFFERENT = "DIFFERENT"
    INVALID = "INVALID"  # the pass made an op that the verifier rejects
    CRASHED = "CRASHED"  # mlir-opt crashed in the pass
    NOT_RUN = "not run"


_FAILED = {"invalid": Judgement.INVALID, "crash": Judgement.CRASHED}
"""The judgement of a stage whose pass failed, by the kind of the failure."""


@dataclass(frozen=True)
class StageResult:
    """A stage and its judgement.

    ``ground``: why the difference is permitted or known, or why the stage did not run.
    ``comparison``: the comparison with the stage of number ``against``.
    ``seconds``: the time of the run and the comparison.
    ``notes``: how its signature passes the arguments and results of the first stage.
    ``first_op``: in the first stage that differs, the first op whose value the stage before does not have; "" if it is
    not known.
    ``truth``: how far the first differing element was from the exact number of the first stage, and how far it is now;
    None if that is not known, or nothing differs.
    ``vacuous``: no value was compared, so that the stage shows nothing.
    """

    stage: Stage
    judgement: Judgement
    ground: str = ""
    against: int | None = None
    comparison: StageComparison | None = None
    seconds: float = 0.0
    notes: tuple[str, ...] = ()
    first_op: str = ""
    truth: Truth | None = None
    vacuous: bool = False

    @property
    def ulps(self) -> int | None:
        """The largest distance of a float from that of the stage before; None if there is no such number."""
        if self.comparison is None:
            return None
        examples = [example for _, example in self.comparison.examples]
        found = [
            ulps_away(one.type, one.mismatch) for one in examples if one.type is not None and one.mismatch is not None
        ]
        return max((ulps for ulps in found if ulps is not None), default=None)


@dataclass(frozen=True)
class Bisection:
    """The stages of a compilation with their judgements. ``end``: the reason why the compilation stopped early, or
    "".
    """

    function: str
    results: tuple[StageResult, ...]
    end: str = ""

    @property
    def guilty(self) -> int | None:
        """The number of the first stage that differs, or whose pass crashed or made an invalid op; None if there is no
        such stage.
        """
        wrong = (Judgement.DIFFERENT, *_FAILED.values())
        return next((k for k, one in enumerate(self.results) if one.judgement in wrong), None)

    @property
    def compared(self) -> int:
        """The number of stages in which a value was compared with that of another stage."""
        apart = (Judgement.FIRST, Judgement.NOT_RUN, *_FAILED.values())
        return sum(one.judgement not in apart and not one.vacuous for one in self.results)

    def suspects(self, number: int) -> Sequence[StageResult]:
        """Return the stages that may have caused the difference at a stage: that stage, and the stages that were not
        run between it and the stage with which it was compared.
        """
        *passed, guilty = self.results[(self.results[number].against or 0) + 1 : number + 1]
        return (*(one for one in passed if one.judgement is Judgement.NOT_RUN), guilty)

    def __str__(self) -> str:
        return "\n".join(bisection_lines(self))


def bisection_lines(found: Bisection) -> Iterator[str]:
    """Yield the report as lines: a line for each stage, what differs first, and the pass that is guilty."""
    width = min(_WIDEST, max((len(str(one.stage)) for one in found.results), default=0))
    digits = len(str(len(found.results)))
    notes: tuple[str, ...] = ()
    for number, one in enumerate(found.results):
        if one.notes != notes and one.judgement is not Judgement.NOT_RUN:
            notes = one.notes
            yield from (f"{'':{digits}}  {note}" for note in notes)
        yield f"{number:{digits}}  {one.stage!s:{width}}  {judged(one)}"
    if found.end:
        yield f"stopped early: {found.end}"
    yield from conclusion(found)


def judged(one: StageResult) -> str:
    """Return the judgement of a stage as a line of text: the reason, the distance, and the time."""
    text = one.judgement.value
    if one.ground:
        text += f": {one.ground}"
    if one.comparison is not None:
        text += "".join(f"; {line}" for line in _valueless(one.comparison))
    if one.ulps:
        text += f", {plural(one.ulps, 'ulp')}"
    if one.truth is not None:
        text += f"; from the exact result {ulps_text(one.truth.expected)} before, {ulps_text(one.truth.got)} after"
    return f"{text}  ({one.seconds:.2f} s)" if one.seconds else text


def _valueless(found: StageComparison) -> Iterator[str]:
    """Yield the inputs and elements for which the stage before allows anything, and why."""
    yield from found.report.undefined_by.lines("undefined before:", "input")
    yield from found.report.poison_by.lines("poison before:", "element")


def conclusion(found: Bisection) -> Iterator[str]:
    """Yield the last lines: an input with a difference and the guilty pass, or that there is none."""
    if found.guilty is None:
        left = sum(one.judgement is Judgement.NOT_RUN for one in found.results)
        out = f"; {plural(left, 'stage')} did not run" if left else ""
        known = [str(one.stage) for one in found.results if one.judgement is Judgement.KNOWN]
        if found.compared:
            but = f" but known ones, after {', '.join(known)}," * bool(known)
            yield f"no difference{but} in {plural(found.compared, 'stage')}{out}"
        else:
            yield f"nothing was compared{out}"
        return
    one = found.results[found.guilty]
    if one.judgement in _FAILED.values():
        yield one.ground
        return
    assert one.comparison is not None
    example = one.comparison.examples[0][1]
    yield from (f"  argument {k}: {spell_value(value, limit=16)}" for k, value in enumerate(example.arguments))
    if one.first_op:
        yield f"first op with another value: {one.first_op}"
    if one.truth is not None:
        yield f"  {one.truth.text('before', 'after')}"
    yield f"first difference: after {one.stage}, {difference_text(example)}"
    others = [str(each.stage) for each in found.suspects(found.guilty)[:-1]]
    if others:
        yield f"  or after a pass before it that did not run here: {', '.join(others)}"


def difference_text(example: Counterexample) -> str:
    """Return a text that says what an element was, and what it became: ``result[0] [3, 1]: 0x3F800000 (1) became
    0x3F800001``.
    """
    if example.trap:
        values = ", ".join(spell_value(value, limit=4) for value in example.expected) or "it returned"
        return f"{values} became undefined: {example.trap}"
    if example.texts is not None or example.mismatch is None or example.type is None:
        before, after = example.texts or ("", "")
        return "the printed text {} became {}".format(*_excerpts(before, after))
    mismatch, type_ = example.mismatch, example.type
    place = f" {list(mismatch.element)}" if mismatch.element else ""
    given = given_text(type_, mismatch) if mismatch.actual is None else code_text(type_, mismatch.actual)
    name = f"result[{mismatch.result}]" if example.output.startswith("result ") else example.output
    ulps = ulps_away(type_, mismatch)
    away = f", {plural(ulps, 'ulp')} away" if ulps else ""
    return f"{name}{place}: {code_text(type_, mismatch.expected)} became {given}{away}"


_EXCERPT, _BEFORE = 60, 20
"""The number of characters of a printed text that are shown. If the first difference is far from the beginning, the
second number of them stands before it.
"""


def _excerpts(*texts: str) -> Iterator[str]:
    """Return the same part of both texts in quotes, around their first difference."""
    first = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(*texts, strict=False)))
    start = first - _BEFORE if first >= _EXCERPT else 0
    return (f"{'... ' if start else ''}{text[start : start + _EXCERPT]!r}" for text in texts)


def bisection_record(found: Bisection) -> dict[str, Any]:
    """Return the stages as data for JSON."""
    return {
        "function": found.function,
        "stages": [_record(one) for one in found.results],
        "guilty": found.guilty,
        "end": found.end or None,
    }


def _record(one: StageResult) -> dict[str, Any]:
    comparison = one.comparison
    return {
        "pass": one.stage.name,
        "argument": one.stage.argument or None,
        "verdict": one.judgement.value,
        "ground": one.ground or None,
        "against": one.against,
        "ulps": one.ulps,
        "truth": record_of(one.truth),
        "seconds": round(one.seconds, 3),
        "notes": list(one.notes),
        "first_op": one.first_op or None,
        "inputs": None if comparison is None else comparison.report.inputs,
        "undefined": None if comparison is None else comparison.report.undefined,
        "undefined_by": {} if comparison is None else dict(comparison.report.undefined_by.counts),
        "poison_by": {} if comparison is None else dict(comparison.report.poison_by.counts),
        "differing": None if comparison is None else comparison.report.differing,
        "elements": {}
        if comparison is None
        else {k.name.lower(): n for k, n in comparison.report.verdicts.items() if n},
        "counterexamples": [
            # The truth of a stage is that about its first counterexample.
            {"input": number} | counterexample_record(example if place else replace(example, truth=one.truth))
            for place, (number, example) in enumerate(() if comparison is None else comparison.examples[:SHOWN])
        ],
    }


# --- bisection --------------------------------------------------------------------------------------------------------

Judge = Callable[[Stage, Stage, StageComparison, StageRunner], tuple[Judgement, str] | None]
"""Judges the difference between two stages: permitted or known, and the ground; None if it is neither."""


def bisect(
    compilation: Compilation,
    runner: StageRunner,
    judges: Sequence[Judge] = (),
    progress: Callable[[int, int], object] = lambda done, total: None,
    fallback: Callable[[], Runner | None] = lambda: None,
) -> Bisection:
    """Run all stages of a compilation, each on the inputs of the runner, and judge each by the one before it that ran.

    ``progress``: a function that gets the number of stages that are done, and of all stages. Stages with the same text
    run once. After an interrupt the result has the stages that are done.

    ``fallback``: finds the tool that runs a stage that cannot run here. If its results are allowed by the stage before,
    that is the judgement. If it gives other bits, they may come from the tool or from the pass, so the stage counts as
    not run.
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
            empty = self._last is not None and not self._last[2].has_values
            ground = _NOTHING if empty else ""
            unchanged = StageResult(
                stage, Judgement.UNCHANGED, ground, against=number - 1, notes=before.notes, vacuous=empty
            )
            self.results.append(replace(before, stage=stage, seconds=0.0) if again else unchanged)
            return
        try:
            if isinstance(stage.module, PassFailure) and stage.module.guilty:
                self.results.append(StageResult(stage, _FAILED[stage.module.kind], stage.module.message))
                return
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
            StageResult(
                stage,
                judgement,
                ground,
                against,
                comparison,
                seconds,
                run.version.notes,
                first_op,
                truth,
                vacuous=not comparison.report.compared,
            )
        )

    def _truth(self, found: StageComparison) -> Truth | None:
        """Return how far the first differing element was from the exact number of the first stage, and how far it is
        now.
        """
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

    def _first_op(self, before: Stage, after: Stage, found: StageComparison) -> str:
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
            also = "" if error.message == reason else f"; {error.message}"
            return StageResult(stage, Judgement.NOT_RUN, f"{reason}{also}")
        examples = [*(example for _, example in comparison.examples), *(each.example for each in comparison.doubts)]
        if examples:
            other = f"{tool.name} gives other bits: {difference_text(examples[0])}"
            return StageResult(stage, Judgement.NOT_RUN, f"{reason}; {other}")
        if not comparison.report.compared:
            return StageResult(stage, Judgement.NOT_RUN, f"{reason}; {_NOTHING}", comparison=comparison)
        judgement = _agreement(comparison)
        return StageResult(stage, judgement, f"by {tool.name}, since {reason}", against, comparison)

    def _judged(self, before: Stage, after: Stage, comparison: StageComparison) -> tuple[Judgement, str]:
        if comparison.examples or comparison.doubts:
            found = (judge(before, after, comparison, self._runner) for judge in self._judges)
            return next((one for one in found if one is not None), (Judgement.DIFFERENT, ""))
        return _agreement(comparison), "" if comparison.report.compared else _NOTHING


_NOTHING = "nothing was compared"


def _agreement(found: StageComparison) -> Judgement:
    """Judge two stages without a difference: if nothing has a value in the first stage, they are not called
    identical.
    """
    return Judgement.IDENTICAL if found.same and found.report.verdicts[Verdict.EQUAL] else Judgement.REFINED


# --- the guilty pass alone --------------------------------------------------------------------------------------------

_NESTING, _OPTIONS = "()", "{}"


def single_passes(pipeline: str) -> Iterator[tuple[str, str]]:
    """Yield the passes of a pipeline in order: the name of each, and the pipeline with it alone.

    ``builtin.module(cse,func.func(a{x=1}))`` has ``builtin.module(cse)`` and ``builtin.module(func.func(a{x=1}))``.
    """
    around: list[str] = []
    word, braces = "", 0
    for character in f"{pipeline},":
        braces += (character == "{") - (character == "}")
        if braces or character == "}" or character not in ",()":
            word += character
            continue
        word = word.strip()
        if character == "(":
            around.append(word)
        elif word:
            alone = word
            for anchor in reversed(around):
                alone = f"{anchor}({alone})"
            yield word.partition("{")[0].strip(), alone
        if character == ")" and around:
            around.pop()
        word = ""


def pass_alone(stages: Sequence[Stage], number: int, pipeline: str) -> str:
    """Return the pipeline with only the pass of a stage, and with the options that it has there."""
    stage = stages[number]
    same = [alone for name, alone in single_passes(pipeline) if name == stage.argument]
    if not same:  # a pass of a pipeline with a name of its own
        inside = stage.argument if stage.op in ("", "builtin.module") else f"{stage.op}({stage.argument})"
        return f"builtin.module({inside})"
    before = sum(one.argument == stage.argument for one in stages[1:number])
    return same[min(before, len(same) - 1)]


def report_of_guilty(found: Bisection, pipeline: PassPipeline, first: Operation) -> pass_differences.PassReport:
    """Shrink the program while the guilty pass stays guilty, and return a report of it.

    Raises Unsupported if the pass alone does not make the difference.
    """
    assert found.guilty is not None
    one = found.results[found.guilty]
    if one.judgement in _FAILED.values():
        raise Unsupported(
            "a crash or an invalid op does not depend on the input: there is no input to show",
            hint="halfulp reduce --pass-pipeline shrinks the program",
        )
    assert one.against is not None
    assert one.comparison is not None
    before = found.results[one.against].stage
    alone = replace(
        pipeline, pipeline=pass_alone([each.stage for each in found.results], found.guilty, pipeline.pipeline)
    )
    arguments = _arguments_at(before, first, one.comparison.examples[0][1].arguments)
    small = pass_differences.reduced(alone, before.text, found.function, arguments)
    if not isinstance(small, pass_differences.PassDifference):
        raise Unsupported(f"{alone.command} alone does not change the result of the stage before")
    runner = pass_differences.find_runner(pipeline.tool)
    return pass_differences.pass_report(alone, small.program.module, small.program.operation, small.example, runner)


def _arguments_at(stage: Stage, first: Operation, arguments: tuple[Value, ...]) -> tuple[Value, ...]:
    """Return the arguments of the first stage as those of another stage, with memory as its contents."""
    assert isinstance(stage.module, Module)
    function = stage.module.lookup(first.symbol_name or "")
    assert function is not None
    mapped = signature(first, function)
    if mapped.out:
        raise Unsupported("a program that writes its results into arguments cannot be reduced")
    return tuple(each.to_target(value) for each, value in zip(mapped.arguments, arguments, strict=True))


# --- judges -----------------------------------------------------------------------------------------------------------


def known_judge(
    pipeline: PassPipeline,
    stages: Sequence[Stage],
    rows: Sequence[Divergence],
    pairs: Sequence[Cancellation],
    settings: Settings,
) -> Judge:
    """Return the judge of differences that rows of the table of known divergences predict. ``stages``: all stages of
    the pipeline.
    """
    numbers = {id(stage): number for number, stage in enumerate(stages)}

    def judge(before: Stage, after: Stage, found: StageComparison, runner: StageRunner) -> tuple[Judgement, str] | None:
        if not after.argument or not isinstance(before.module, Module) or not found.examples:
            return None
        function = before.module.lookup(runner.function.symbol_name or "")
        if function is None or argument_types(function) != argument_types(runner.function):
            return None  # the inputs of the search are those of the first stage
        alone = pass_alone(stages, numbers[id(after)], pipeline.pipeline)
        known = KnownByPass(replace(pipeline, pipeline=alone), rows, pairs, settings)
        names = [
            known.explained(before.module, function.symbol_name or "", part)[0]
            for part in (runner.input(number) for number, _ in found.examples)
        ]
        if not all(names):
            return None
        return Judgement.KNOWN, "; ".join(dict.fromkeys(name for each in names for name in each or ()))

    return judge


def permission_judge(
    before: Stage, after: Stage, found: StageComparison, runner: StageRunner, fp_contract: str = "on"
) -> tuple[Judgement, str] | None:
    """Return the judgement and its reason if the histories of both versions explain each element that differs by
    something that is allowed; None if they do not.

    Elements whose bits fast-math flags leave unspecified are judged too: a wrong op has no explanation.
    """
    explained = {doubt.number for doubt in found.doubts}
    if not isinstance(before.module, Module) or not isinstance(after.module, Module):
        return None
    if any(number not in explained for number, _ in found.examples):
        return None
    runs = [
        (partial(runner.recorded, before.module, doubt.number), partial(runner.recorded, after.module, doubt.number))
        for doubt in found.doubts
    ]
    masks = [doubt.masks for doubt in found.doubts]
    allowed, text = permission(runs, masks, fp_contract)
    permitted = Judgement.PERMITTED if allowed else Judgement.DIFFERENT
    return permitted, ("" if found.examples else NO_RULE) if text is None else text
