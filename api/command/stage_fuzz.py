"""``halfulp fuzz --stages``: random programs on tensors, lowered to each stage, and run there or by mlir-runner."""

from __future__ import annotations

import json

from halfulp.command.console import DIFFERENT, SUCCESS, UNSUPPORTED, WRONG_USE, fail, ranked, say, write
from halfulp.command.options.fuzz import FuzzArguments
from halfulp.command.pass_fuzz import fuzz_passes
from halfulp.command.progress import progress_bar
from halfulp.conformance.oracles.closed_programs import text_of
from halfulp.conformance.oracles.jit_tensors import TensorRunner
from halfulp.conformance.oracles.oracle import Unavailable
from halfulp.conformance.whole_programs.counterexamples import counterexample_lines
from halfulp.conformance.whole_programs.generator.programs import KINDS
from halfulp.conformance.whole_programs.pass_fuzz import MAX_FINDINGS
from halfulp.conformance.whole_programs.runner_fuzz import RunnerReport, fuzz_runner
from halfulp.conformance.whole_programs.stages import RUNNERS, STAGES, pipeline
from halfulp.interp.ir.counts import plural

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
    write(json.dumps(_record(found, stage)) + "\n" if arguments.json else "\n".join(_lines(found, stage)) + "\n")
    for finding in found.findings:
        lines = counterexample_lines(finding.program.main, finding.example)
        title = f"program {finding.program.index} of seed {finding.program.seed} differs"
        text = "\n".join([title, *lines[1:]]) + "\n" + text_of(finding.program.module)
        (say if arguments.json else write)(text)
    codes = [DIFFERENT] if found.findings else [WRONG_USE] if found.failed else []
    return ranked([*codes, SUCCESS if found.runs else UNSUPPORTED])


def _lines(found: RunnerReport, stage: str) -> list[str]:
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


def _record(found: RunnerReport, stage: str) -> dict[str, object]:
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
