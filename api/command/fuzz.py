"""``halfulp fuzz``: compare random programs with other implementations, after passes, and in stages of lowering."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from halfulp.command.console import DIFFERENT, SUCCESS, UNSUPPORTED, WRONG_USE, fail, ranked, say, write
from halfulp.command.options.fuzz import FuzzArguments
from halfulp.command.passes import pass_pipeline
from halfulp.command.programs import known_divergences, oracles_named
from halfulp.command.progress import progress_bar
from halfulp.command.reduced import reduced_by_passes, reduced_text
from halfulp.command.sources import Sources
from halfulp.conformance.comparing.divergences import cancellations, divergences
from halfulp.conformance.oracles.closed_programs import text_of
from halfulp.conformance.oracles.jit_tensors import TensorRunner
from halfulp.conformance.oracles.oracle import ProgramOracle, Unavailable
from halfulp.conformance.oracles.tool import PassPipeline
from halfulp.conformance.whole_programs.counterexamples import counterexample_lines, counterexample_record
from halfulp.conformance.whole_programs.fuzz import MAX_FAILURES, Failure, as_json, fuzz, lines
from halfulp.conformance.whole_programs.fuzz_functions import (
    MAX_FINDINGS,
    BrokenPass,
    FunctionFinding,
    PassFuzzReport,
    RunnerReport,
    fuzz_pass,
    fuzz_runner,
)
from halfulp.conformance.whole_programs.generator.grower import NAME, RandomFunction
from halfulp.conformance.whole_programs.generator.structured import KINDS, MIXED, ProgramKind
from halfulp.conformance.whole_programs.interesting import SameDifference
from halfulp.conformance.whole_programs.known_by_pass import KnownByPass
from halfulp.conformance.whole_programs.op_search import Search
from halfulp.conformance.whole_programs.pass_differences import reduced
from halfulp.conformance.whole_programs.reduce import Reducer
from halfulp.conformance.whole_programs.stages import RUNNERS, STAGES, pipeline
from halfulp.inputs import make_directory
from halfulp.interp.ir.errors import plural
from halfulp.interp.run.settings import Settings
from halfulp.semantics.kernel import FaultKind

# --- passes of mlir-opt -----------------------------------------------------------------------------------------------


PASS_SECONDS = 6.0
"""Most seconds of mlir-opt for one batch of programs. They take less than one."""

COLUMNS = ("programs", "changed", "ops_changed", "equal", "known", "undefined", "differing")


def fuzz_passes(pipeline_text: str, arguments: FuzzArguments, kind: ProgramKind = MIXED) -> int:
    """Test the passes with programs of a kind, print what was found, and return the exit code. Raise HalfulpError."""
    pipeline = replace(pass_pipeline(pipeline_text, arguments), seconds=PASS_SECONDS)
    pipeline.apply("builtin.module {}\n")  # a pipeline that mlir-opt cannot read would refuse every program
    folder = None if arguments.emit is None else Path(arguments.emit)
    if folder is not None:
        make_directory(folder)

    def emit(program: RandomFunction, before: str, after: str | None) -> None:
        if folder is not None:
            stem = f"seed{program.seed}-{program.index:06}"
            (folder / f"{stem}.mlir").write_text(before, encoding="utf-8")
            if after is not None:
                (folder / f"{stem}.after.mlir").write_text(after, encoding="utf-8")

    known = KnownByPass(pipeline, *known_divergences(arguments), Settings(max_steps=kind.max_steps))
    with progress_bar("programs") as progress:
        found = fuzz_pass(
            pipeline,
            arguments.n,
            arguments.seed,
            arguments.first,
            kind=kind,
            seconds=arguments.seconds,
            most_failures=arguments.max_failures or MAX_FINDINGS,
            emit=emit,
            known=known,
            reduce=None if arguments.no_reduce else lambda one: reduced(pipeline, one.before, NAME, one.arguments),
            progress=progress,
        )
    _summary(arguments, lambda: _pass_record(found), lambda: _pass_lines(found, arguments.statistics))
    if found.interrupted:
        raise KeyboardInterrupt
    findings: list[FunctionFinding] = [*found.findings, *found.broken]
    for finding in findings:
        text = shown(finding, pipeline, as_found=arguments.no_reduce)
        (say if arguments.json else write)(text)
    codes = [DIFFERENT] if found.findings else [WRONG_USE] if found.broken else []
    return ranked([*codes, SUCCESS if found.compared else UNSUPPORTED])


def _pass_lines(found: PassFuzzReport, statistics: bool) -> list[str]:
    """Return the counts of a run as lines for people."""
    changed = {
        "equal": found.equal,
        "differing": found.differing,
        "known": found.known_programs,
        "undefined on every input": found.undefined,
        "not compared": found.skipped.total(),
    }
    broken = {"refused": found.refused.total(), "broken": found.crashed}
    rate = found.programs / (sum(found.seconds.values()) or 1)
    lines = [
        f"{found.pipeline} of {found.version}, seed {found.seed}: "
        f"{plural(found.programs, 'program')}, {plural(found.steps, 'op')}"
        + (f"; {found.stopped}" * bool(found.stopped)),
        f"  unchanged {found.unchanged:,}, changed {found.changed:,}: {_counted(changed)}",
    ]
    if any(broken.values()):
        lines.append(f"  no result: {_counted(broken)}")
    undefined = found.undefined_inputs / (found.inputs or 1)
    exhaustive = f"{plural(found.exhaustive, 'program')} on every input"
    lines.append(f"  {plural(found.inputs, 'input')}, {undefined:.1%} undefined; {exhaustive}")
    seconds = ", ".join(f"{work} {spent:.1f} s" for work, spent in found.seconds.items())
    lines.append(f"  {rate:.1f} programs/s: {seconds}")
    for what, counter in (("known", found.known), ("refused", found.refused), ("not compared", found.skipped)):
        lines += [f"  {what}: {why} ({plural(count, 'program')})" for why, count in counter.most_common()]
    lines += [f"  again: {kind} ({plural(count, 'program')})" for kind, count in found.again.most_common()]
    return [*lines, *_op_table(found)] if statistics else lines


def _counted(counts: dict[str, int]) -> str:
    return ", ".join(f"{count:,} {word}" for word, count in counts.items() if count) or "0"


def _op_table(found: PassFuzzReport) -> list[str]:
    """Return a line for each op: the number of programs that have it, by what came of them."""
    width = max((len(name) for name in found.ops), default=2)
    lines = [f"{'op':{width}}" + "".join(f"{column.replace('_', ' '):>13}" for column in COLUMNS)]
    for name, counts in sorted(found.ops.items()):
        lines.append(f"{name:{width}}" + "".join(f"{getattr(counts, column):13,}" for column in COLUMNS))
    return lines


def _pass_record(found: PassFuzzReport) -> dict[str, Any]:
    counts = ("pipeline", "version", "seed", "first", "programs", "steps", "unchanged", "changed", "equal", "undefined")
    more = ("differing", "crashed", "exhaustive", "inputs", "undefined_inputs", "stopped")
    return {
        **{name: getattr(found, name) for name in (*counts, *more)},
        "refused": dict(found.refused),
        "skipped": dict(found.skipped),
        "known": dict(found.known),
        "seconds": {work: round(spent, 3) for work, spent in found.seconds.items()},
        "ops": {name: asdict(counts) for name, counts in sorted(found.ops.items())},
        "findings": [
            {
                "program": finding.program.index,
                "before": finding.before,
                "after": finding.after,
                "counterexample": counterexample_record(finding.example),
            }
            for finding in found.findings
        ],
        "broken": [
            {"program": broken.program.index, "before": broken.before, "why": broken.failure.message}
            for broken in found.broken
        ],
    }


def shown(finding: FunctionFinding, pipeline: PassPipeline, as_found: bool) -> str:
    """Return a finding as text, reduced unless ``as_found``."""
    program = finding.program
    title = f"program {program.index} of seed {program.seed}"
    if isinstance(finding, BrokenPass):
        head = f"{title}: {finding.failure.message}\n"
    else:
        lines = counterexample_lines(program.main, finding.example)
        head = "\n".join([f"{title} differs", *lines[1:]]) + "\n"
    if finding.reduced is None:
        alone = "" if as_found else "there is no difference when this input runs alone\n"
        return head + alone + finding.before
    return head + reduced_by_passes(finding.reduced, pipeline, None)


# --- stages: programs on tensors are lowered, and run there or by mlir-runner -----------------------------------------


_STRUCTURED = KINDS["structured"]

STAGE_NAMES = (*STAGES, *(f"runner:{stage}" for stage in RUNNERS))
"""The stages by their names on the command line."""


def fuzz_stages(spelled: str, arguments: FuzzArguments) -> int:
    """Test the stages one after the other, and return the exit code. Raise HalfulpError."""
    names = STAGE_NAMES if spelled == "all" else tuple(spelled.split(","))
    unknown = next((name for name in names if name not in STAGE_NAMES), None)
    if unknown is not None:
        return fail(f"there is no stage {unknown!r}: choose of {', '.join(STAGE_NAMES)}, or all")
    return ranked([_fuzz_stage(name, arguments) for name in names])


def _fuzz_stage(name: str, arguments: FuzzArguments) -> int:
    tool, _, stage = name.rpartition(":")
    if not tool:
        return fuzz_passes(pipeline(stage), arguments, _STRUCTURED)
    try:
        runner = TensorRunner(stage)
    except Unavailable as why:
        return fail(str(why))
    with progress_bar("programs") as progress:
        most = arguments.max_failures or MAX_FINDINGS
        found = fuzz_runner(runner, _STRUCTURED, arguments.n, arguments.seed, arguments.first, most, progress)
    _summary(arguments, lambda: _runner_record(found, stage), lambda: _runner_lines(found, stage))
    if found.interrupted:
        raise KeyboardInterrupt
    for finding in found.findings:
        lines = counterexample_lines(finding.program.main, finding.example)
        title = f"program {finding.program.index} of seed {finding.program.seed} differs"
        text = "\n".join([title, *lines[1:]]) + "\n" + text_of(finding.program.module)
        (say if arguments.json else write)(text)
    codes = [DIFFERENT] if found.findings else [WRONG_USE] if found.failed else []
    return ranked([*codes, SUCCESS if found.runs else UNSUPPORTED])


def _runner_lines(found: RunnerReport, stage: str) -> list[str]:
    """Return the counts of a run as lines for people."""
    elements = ", ".join(f"{count:,} {verdict.name.lower()}" for verdict, count in found.elements.items() if count)
    lines = [
        f"{found.tool} from {stage}, seed {found.seed}: {plural(found.programs, 'program')}, "
        f"{plural(found.steps, 'op')}, {plural(found.runs, 'run')} compared, {found.undefined:,} undefined",
        f"  elements: {elements or '0'}",
    ]
    for what, counter in (("unanswered", found.unanswered), ("failed", found.failed), ("not compared", found.skipped)):
        lines += [f"  {what}: {why} ({plural(count, 'run')})" for why, count in counter.most_common()]
    return lines


def _runner_record(found: RunnerReport, stage: str) -> dict[str, Any]:
    counts = ("tool", "seed", "programs", "steps", "runs", "undefined")
    counters = ("unanswered", "failed", "skipped")
    return {
        "stage": stage,
        **{name: getattr(found, name) for name in counts},
        "elements": {verdict.name.lower(): count for verdict, count in found.elements.items()},
        **{name: dict(getattr(found, name)) for name in counters},
        "findings": [
            {"program": finding.program.index, "text": text_of(finding.program.module)} for finding in found.findings
        ],
    }


# --- the command, and implementations ---------------------------------------------------------------------------------


def execute(arguments: FuzzArguments, sources: Sources) -> int:
    """Execute the command, and return its exit code. Raise HalfulpError."""
    if [arguments.against, arguments.pass_pipeline, arguments.stages].count(None) != 2:
        return fail("test what? give one of --against, --pass-pipeline and --stages")
    if arguments.pass_pipeline is not None:
        return fuzz_passes(arguments.pass_pipeline, arguments)
    if arguments.stages is not None:
        return fuzz_stages(arguments.stages, arguments)
    assert arguments.against is not None
    return _fuzz_oracles(arguments.against, arguments)


def _fuzz_oracles(spellings: str, arguments: FuzzArguments) -> int:
    oracles, codes = oracles_named(spellings)
    if not oracles:
        return ranked(codes)
    rows, pairs = known_divergences(arguments)
    kinds = {"poison": FaultKind.POISON, "undefined": FaultKind.UNDEFINED}
    allowed = [kinds[word] for word in arguments.allow]
    by_name = {
        oracle.name: (oracle, spelling)
        for spelling in spellings.split(",")
        for oracle in oracles
        if oracle.name == spelling.partition("=")[0]
    }
    with progress_bar("programs") as progress:
        found = fuzz(
            oracles,
            arguments.n,
            arguments.seed,
            arguments.first,
            rows,
            pairs,
            allowed,
            arguments.max_failures or MAX_FAILURES,
            progress,
        )
    _summary(arguments, lambda: as_json(found), lambda: lines(found))
    for failure in found.failures:
        text = "\n".join(failure.lines()) + "\n"
        if not (arguments.no_reduce or found.interrupted):
            text += _reduced_failure(failure, *by_name[failure.oracle])
        (say if arguments.json else write)(text)
    if found.interrupted:
        raise KeyboardInterrupt
    for counts in found.counts:
        codes += [DIFFERENT] if counts.failures else [WRONG_USE] if counts.broken else []
        codes.append(SUCCESS if counts.tally.compared else UNSUPPORTED)
    return ranked(codes)


def _summary(
    arguments: FuzzArguments, record: Callable[[], dict[str, Any]], lines: Callable[[], Iterable[str]]
) -> None:
    """Print what a search counted: as one JSON object, or as lines for people."""
    write(json.dumps(record()) + "\n" if arguments.json else "\n".join(lines()) + "\n")


def _reduced_failure(failure: Failure, oracle: ProgramOracle, spelling: str) -> str:
    same = SameDifference(Search(oracle, divergences(), pairs=cancellations()))
    difference = same.differences([failure.program], lambda finding: finding.case == failure.case)[0]
    if difference is None or difference.finding is None or difference.finding.case != failure.case:
        return "it does not differ when the program is asked again\n"
    same.watch(difference)
    program = Reducer(same).reduce(difference.program, difference)
    return reduced_text(program, same.differences([program])[0] or difference, oracle, None, spelling)
