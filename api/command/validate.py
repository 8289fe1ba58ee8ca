"""``halfulp validate``: test the claims of passes with random programs."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from halfulp.command.console import DIFFERENT, SUCCESS, UNSUPPORTED, WRONG_USE, fail, ranked, say, write
from halfulp.command.fuzz import PASS_SECONDS, shown
from halfulp.command.options.validate import ValidateArguments
from halfulp.command.passes import pass_pipeline
from halfulp.command.programs import known_divergences
from halfulp.command.progress import progress_bar
from halfulp.command.sources import Sources
from halfulp.conformance.whole_programs.fuzz_functions import MAX_FINDINGS, FunctionFinding, PassFuzzReport, fuzz_pass
from halfulp.conformance.whole_programs.generator.grower import NAME
from halfulp.conformance.whole_programs.generator.structured import STARTS, programs_from
from halfulp.conformance.whole_programs.known_by_pass import KnownByPass
from halfulp.conformance.whole_programs.pass_claims import Claim, claim_named, claims_of
from halfulp.conformance.whole_programs.pass_differences import reduced
from halfulp.inputs import write_file
from halfulp.interp.ir.errors import plural
from halfulp.interp.run.settings import Settings

CUSTOM_FORM = "22"
"""The version of MLIR whose custom form halfulp writes. Programs of other versions are given the generic form."""

COLUMNS = (
    "programs",
    "unchanged",
    "refined",
    "known",
    "different",
    "undefined",
    "not compared",
    "refused",
    "crashed",
    "not lowered",
)


class _Row(NamedTuple):
    """A pass, the programs that it was given, and what came of them. ``not_lowered``: those that it was not given."""

    claim: Claim
    start: str
    found: PassFuzzReport
    not_lowered: Counter[str]


def execute(arguments: ValidateArguments, sources: Sources) -> int:
    """Execute the command, and return its exit code. Raise HalfulpError."""
    if not arguments.passes:
        return fail("test which pass? give --pass=NAME, or --pass=all")
    unknown = next((start for start in arguments.starts if start not in STARTS), None)
    if unknown is not None:
        return fail(f"there are no programs {unknown!r}: choose of {', '.join(STARTS)}")
    every = "all" in arguments.passes
    claims = claims_of(pass_pipeline("", arguments).tool) if every else list(map(claim_named, arguments.passes))
    rows: list[_Row] = []
    codes = []
    for claim in claims:
        for start in arguments.starts or claim.starts:
            row = _tested(claim, start, arguments)
            found = row.found
            rows.append(row)
            write((json.dumps(_record(row)) if arguments.json else _text(row)) + "\n")
            findings: list[FunctionFinding] = [*found.findings, *found.broken]
            pipeline = pass_pipeline(claim.pipeline, arguments)
            for finding in findings:
                (say if arguments.json else write)(shown(finding, pipeline, as_found=arguments.no_reduce))
            codes += [DIFFERENT] if found.findings else [WRONG_USE] if found.broken else []
            codes.append(SUCCESS if found.compared else UNSUPPORTED)
            if arguments.output is not None:  # with what there is, since all passes take hours
                write_file(arguments.output, ("\n".join(_chapter(rows, arguments)) + "\n").encode())
            if found.stopped == "interrupted":
                raise KeyboardInterrupt
    return ranked(codes)


def _tested(claim: Claim, start: str, arguments: ValidateArguments) -> _Row:
    pipeline = replace(pass_pipeline(claim.pipeline, arguments), seconds=PASS_SECONDS)
    pipeline = replace(pipeline, in_generic_form=not pipeline.tool.version.startswith(CUSTOM_FORM))
    pipeline.apply("builtin.module {}\n")  # a pass that mlir-opt does not know would refuse every program
    programs = programs_from(start, pipeline.tool)
    known = KnownByPass(pipeline, *known_divergences(arguments), Settings(max_steps=programs.kind.max_steps))
    with progress_bar(f"{claim.name}, {start}") as progress:
        found = fuzz_pass(
            pipeline,
            arguments.n,
            arguments.seed,
            kind=programs.kind,
            seconds=arguments.seconds,
            most_failures=MAX_FINDINGS,
            known=known,
            reduce=None if arguments.no_reduce else lambda one: reduced(pipeline, one.before, NAME, one.arguments),
            progress=progress,
        )
    return _Row(claim, start, found, programs.not_lowered)


def _counts(row: _Row) -> tuple[int, ...]:
    """Return the programs by what came of them, as `COLUMNS` name them; then those that were not lowered."""
    found = row.found
    return (
        found.programs,
        found.unchanged,
        found.equal,
        found.known_programs,
        found.differing,
        found.undefined,
        found.skipped.total(),
        found.refused.total(),
        found.crashed,
        row.not_lowered.total(),
    )


def _text(row: _Row) -> str:
    """Return the counts of a row for people: a line, and what was known, and why programs were not compared."""
    found = row.found
    counts = dict(zip(COLUMNS, _counts(row), strict=True))
    total = counts.pop("programs")
    rest = ", ".join(f"{count:,} {word}" for word, count in counts.items() if count)
    rate = found.programs / (sum(found.seconds.values()) or 1)
    early = f"; {found.stopped}" * bool(found.stopped)
    lines = [f"{row.claim.name}, {row.start}: {plural(total, 'program')}: {rest or '0'}; {rate:.0f} programs/s{early}"]
    reasons = {
        "known": found.known,
        "refused": found.refused,
        "not compared": found.skipped,
        "not lowered": row.not_lowered,
    }
    for word, counter in reasons.items():
        lines += [f"  {word}: {name} ({plural(count, 'program')})" for name, count in counter.most_common()]
    return "\n".join(lines)


def _record(row: _Row) -> dict[str, Any]:
    found = row.found
    return {
        "pass": row.claim.name,
        "from": row.start,
        "version": found.version,
        **dict(zip(COLUMNS, _counts(row), strict=True)),
        "known divergences": dict(found.known),
        "seconds": round(sum(found.seconds.values()), 3),
        "stopped": found.stopped,
    }


def _chapter(rows: Sequence[_Row], arguments: ValidateArguments) -> Iterator[str]:
    """Yield the lines of a Markdown page."""
    total = sum(row.found.programs for row in rows)
    version = rows[0].found.version if rows else ""
    passes = len({row.claim.name for row in rows})
    yield from (
        f"# Passes of {_program(version)}",
        "",
        "Each pass claims that the program after it does only what the program before it allows. Random programs ran",
        "before and after each pass, on the same inputs. The columns count programs:",
        "",
        "- *unchanged*: the pass left the text as it was.",
        "- *refined*: all results of all inputs are allowed.",
        "- *known*: rows of `divergences.toml` predict every wrong bit.",
        "- *different*: a wrong result that no row predicts. [Findings](findings.md) has the programs.",
        "- *undefined*: [undefined behaviour](glossary.md#undefined-behaviour) on every input, before the pass.",
        "- *not compared*: halfulp does not run an op after the pass, or the signature changed too much.",
        f"- *refused*, *crashed*: {_program(version)} reported an error, or crashed.",
        "- *not lowered*: mlir-opt does not lower the program to this stage, so the pass was not given it. *programs*",
        "  does not count it.",
        "",
        f"{passes} passes, {plural(total, 'program')}, seed {arguments.seed}, {version}.",
        "",
        f"| pass | from | {' | '.join(COLUMNS)} |",
        f"| --- | --- |{' --: |' * len(COLUMNS)}",
    )
    for row in rows:
        numbers = " | ".join(f"{count:,}" for count in _counts(row))
        yield f"| `{row.claim.name}` | {row.start} | {numbers} |"
    names = sorted({name for row in rows for name in row.found.known})
    if names:
        yield from (
            "",
            "Known [divergences](glossary.md#divergence) that were met:",
            "",
            *(f"- {name}" for name in names),
        )


def _program(version: str) -> str:
    """Return the name of the program without its version: mlir-opt of "mlir-opt-22 22.1.8"."""
    return re.sub(r"-\d+$", "", version.partition(" ")[0]) or "mlir-opt"
