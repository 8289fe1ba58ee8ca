"""``halfulp fuzz --pass-pipeline``: test passes of mlir-opt with random programs."""

from __future__ import annotations

import json
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from halfulp.command.console import DIFFERENT, SUCCESS, UNSUPPORTED, WRONG_USE, ranked, say, write
from halfulp.command.options.fuzz import FuzzArguments
from halfulp.command.passes import pass_pipeline
from halfulp.command.programs import known_divergences
from halfulp.command.progress import progress_bar
from halfulp.command.reduced import reduced_by_passes
from halfulp.conformance.oracles.pass_pipeline import PassPipeline
from halfulp.conformance.whole_programs.counterexamples import counterexample_lines, counterexample_record
from halfulp.conformance.whole_programs.generator.grower import NAME, RandomFunction
from halfulp.conformance.whole_programs.generator.programs import MIXED, ProgramKind
from halfulp.conformance.whole_programs.known_by_pass import KnownByPass
from halfulp.conformance.whole_programs.pass_differences import reduced
from halfulp.conformance.whole_programs.pass_fuzz import (
    MAX_FINDINGS,
    BrokenPass,
    Finding,
    PassFuzzReport,
    fuzz_pass,
)
from halfulp.files import make_directory
from halfulp.interp.ir.counts import plural
from halfulp.interp.run.settings import Settings

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
    write(
        json.dumps(_record(found)) + "\n" if arguments.json else "\n".join(_lines(found, arguments.statistics)) + "\n"
    )
    if found.stopped == "interrupted":
        raise KeyboardInterrupt
    findings: list[Finding] = [*found.findings, *found.broken]
    for finding in findings:
        text = shown(finding, pipeline, as_found=arguments.no_reduce)
        (say if arguments.json else write)(text)
    codes = [DIFFERENT] if found.findings else [WRONG_USE] if found.broken else []
    return ranked([*codes, SUCCESS if found.compared else UNSUPPORTED])


def _lines(found: PassFuzzReport, statistics: bool) -> list[str]:
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
    return [*lines, *_table(found)] if statistics else lines


def _counted(counts: dict[str, int]) -> str:
    return ", ".join(f"{count:,} {word}" for word, count in counts.items() if count) or "0"


def _table(found: PassFuzzReport) -> list[str]:
    """Return a line for each op: the number of programs that have it, by what came of them."""
    width = max((len(name) for name in found.ops), default=2)
    lines = [f"{'op':{width}}" + "".join(f"{column.replace('_', ' '):>13}" for column in COLUMNS)]
    for name, counts in sorted(found.ops.items()):
        lines.append(f"{name:{width}}" + "".join(f"{getattr(counts, column):13,}" for column in COLUMNS))
    return lines


def _record(found: PassFuzzReport) -> dict[str, Any]:
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


def shown(finding: Finding, pipeline: PassPipeline, as_found: bool) -> str:
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
