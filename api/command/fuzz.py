"""``halfulp fuzz``: compare random programs with other implementations, after passes, and in stages of lowering."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

from halfulp.command import console
from halfulp.command import programs as comparing
from halfulp.command.execution import Sources
from halfulp.command.option import Command
from halfulp.conformance.comparing.divergences import cancellations, divergences
from halfulp.conformance.oracles.closed_programs import text_of
from halfulp.conformance.oracles.jit import TensorRunner
from halfulp.conformance.oracles.oracle import ProgramOracle, Unavailable
from halfulp.conformance.oracles.tool import PassPipeline
from halfulp.conformance.whole_programs import fuzz_functions as functions
from halfulp.conformance.whole_programs.counterexamples import counterexample_lines, counterexample_record
from halfulp.conformance.whole_programs.diff import SameDifference
from halfulp.conformance.whole_programs.fuzz import MAX_FAILURES, Failure, as_json, fuzz, lines
from halfulp.conformance.whole_programs.generator.grower import NAME, RandomFunction
from halfulp.conformance.whole_programs.generator.kinds import (
    KINDS,
    MIXED,
    MUTATED,
    SEEDS,
    STARTS,
    ProgramKind,
    programs_from,
    seeds_of,
)
from halfulp.conformance.whole_programs.generator.mutated import Seed
from halfulp.conformance.whole_programs.known_by_pass import KnownByPass
from halfulp.conformance.whole_programs.op_search import Search
from halfulp.conformance.whole_programs.pass_claims import RUNNERS, STAGES, Claim, claim_named, claims_of, pipeline
from halfulp.conformance.whole_programs.pass_differences import reduced
from halfulp.conformance.whole_programs.reduce import Reducer
from halfulp.described import amount, flag, option, repeated
from halfulp.inputs import make_directory, write_file
from halfulp.interp.ir.errors import HalfulpError, plural
from halfulp.interp.run.settings import Settings
from halfulp.semantics.kernel import FaultKind

_FUZZ = """\
Compare random programs with other implementations, or test a pass of mlir-opt with them:

  halfulp fuzz --against mlir-fold,mlir-native -n 20000 --seed 1
  halfulp fuzz --pass-pipeline "builtin.module(canonicalize)" --seconds 600
  halfulp fuzz --stages all -n 1000

With --against, the programs have arith, quant and func ops, without undefined behaviour and without poison. Every
result of every op is compared, for the operands that the op had. Results that an implementation does not give are
counted separately.

With --pass-pipeline, the programs are functions of arguments with control flow, memory, vectors and tensors. halfulp
runs each program before and after the passes. If the arguments have few bits, it runs on every input, else on corner
cases and random values. A crash of mlir-opt is a finding too.

With --stages, the programs are functions of tensors with linalg ops, slices, reshapes and loops. mlir-opt lowers each
program to the stages, and halfulp runs it there. `runner:STAGE` stands for mlir-runner, which runs what is lowered from
that stage to machine code. All results must have the bits of the program on tensors.

A program with an unexplained difference is reduced, unless it was run by mlir-runner.

--pass tests the claims of passes; halfulp fuzz --pass --help has its options.
"""


@dataclass(frozen=True, kw_only=True)
class FuzzArguments(comparing.KnownOption, comparing.ContractOption, comparing.PassOptions):
    """The options of ``halfulp fuzz``."""

    against: str | None = option("ORACLE[,ORACLE...]", "the implementations to compare with, as for verify")
    pass_pipeline: str | None = option("PIPELINE", "test these passes of mlir-opt with the programs")
    stages: str | None = option(
        "STAGE[,STAGE...]",
        "lower programs on tensors to these stages: loops, vectorized, runner:loops and others, or all; a wrong "
        "name lists them",
    )
    n: int = amount("the number of programs (default: 1000)", 1000)
    seconds: float | None = option("S", "with --pass-pipeline: make no more programs after this time", type=float)
    seed: int = option("N", "the seed of all programs (default: 1)", 1, type=int)
    first: int = option("I", "the number of the first program; program i of a seed is always the same", 0, type=int)
    allow: tuple[str, ...] = repeated(None, "allow programs with this kind of result", choices=("poison", "undefined"))
    max_failures: int | None = amount(
        "stop using an oracle after this number of failures (default: 5), or the passes after this number of "
        "kinds of findings (default: 20)",
        metavar="K",
    )
    no_reduce: bool = flag("print failing programs as they were found")
    emit: str | None = option("DIR", "with --pass-pipeline: write each program, before and after the passes, to it")
    statistics: bool = flag("with --pass-pipeline: print a table of the ops of the programs")
    json: bool = flag("print one JSON object with all counts")


# --- passes of mlir-opt -----------------------------------------------------------------------------------------------


PASS_SECONDS = 10.0
"""Most seconds of mlir-opt for one batch of programs. They take about one at most."""

OP_COLUMNS = ("programs", "changed", "ops_changed", "equal", "open", "permitted", "known", "undefined", "differing")


def fuzz_passes(pipeline_text: str, arguments: FuzzArguments, kind: ProgramKind = MIXED) -> int:
    """Test the passes with programs of a kind, print what was found, and return the exit code. Raise HalfulpError."""
    pipeline = replace(comparing.pass_pipeline(pipeline_text, arguments), seconds=PASS_SECONDS)
    pipeline.apply("builtin.module {}\n")  # a pipeline that mlir-opt cannot read would refuse every program
    folder = None if arguments.emit is None else Path(arguments.emit)
    if folder is not None:
        make_directory(folder)

    def emit(program: RandomFunction, before: str, after: str | None) -> None:
        assert folder is not None
        stem = f"seed{program.seed}-{program.index:06}"
        write_file(folder / f"{stem}.mlir", before.encode(), follow=False)
        if after is not None:
            write_file(folder / f"{stem}.after.mlir", after.encode(), follow=False)

    known = KnownByPass(pipeline, *comparing.known_divergences(arguments), Settings(max_steps=kind.max_steps))
    with console.progress_bar("programs") as progress:
        found = functions.fuzz_pass(
            pipeline,
            arguments.n,
            arguments.seed,
            arguments.first,
            kind=kind,
            seconds=arguments.seconds,
            most_failures=arguments.max_failures or functions.MAX_FINDINGS,
            emit=None if folder is None else emit,
            known=known,
            fp_contract=arguments.fp_contract,
            reduce=_reducing(pipeline, arguments),
            progress=progress,
        )
    _summary(arguments, lambda: _pass_record(found), lambda: _pass_lines(found, arguments.statistics))
    if found.interrupted:
        raise KeyboardInterrupt
    findings: list[functions.FunctionFinding] = [*found.findings, *found.broken]
    for finding in findings:
        text = shown(finding, pipeline, arguments)
        (console.say if arguments.json else console.write)(text)
    codes = _finding_codes(found)
    return console.ranked([*codes, console.SUCCESS if found.compared else console.UNSUPPORTED])


def _reducing(pipeline: PassPipeline, arguments: FuzzArguments | ValidateArguments) -> functions.Reduce | None:
    """Return the function that reduces findings; None if they are printed as they were found."""
    if arguments.no_reduce:
        return None
    return lambda one: reduced(pipeline, one.before, NAME, one.arguments, arguments.fp_contract)


def _finding_codes(found: functions.PassFuzzReport) -> list[int]:
    """Return the exit code of findings, in a list: DIFFERENT if there are findings, or if a pass crashes or makes an
    invalid op; WRONG_USE for another failure of mlir-opt, such as a time limit; an empty list if there are none.
    """
    if found.findings or any(broken.failure.guilty for broken in found.broken):
        return [console.DIFFERENT]
    return [console.WRONG_USE] if found.broken else []


def _pass_lines(found: functions.PassFuzzReport, statistics: bool) -> list[str]:
    """Return the counts of a run as lines for people."""
    changed = {
        "equal": found.equal,
        "open in every result": found.open,
        "permitted by flags": found.permitted,
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


def _op_table(found: functions.PassFuzzReport) -> list[str]:
    """Return a line for each op: the number of programs that have it, by the outcome of their comparison."""
    width = max((len(name) for name in found.ops), default=2)
    lines = [f"{'op':{width}}" + "".join(f"{column.replace('_', ' '):>13}" for column in OP_COLUMNS)]
    for name, counts in sorted(found.ops.items()):
        lines.append(f"{name:{width}}" + "".join(f"{getattr(counts, column):13,}" for column in OP_COLUMNS))
    return lines


def _pass_record(found: functions.PassFuzzReport) -> dict[str, Any]:
    counts = ("pipeline", "version", "seed", "first", "programs", "steps", "unchanged", "changed", "equal", "open")
    more = ("permitted", "undefined", "differing", "crashed", "exhaustive", "inputs", "undefined_inputs", "stopped")
    return {
        **{name: getattr(found, name) for name in (*counts, *more)},
        "patterns": len(found.patterns),
        "refused": dict(found.refused),
        "skipped": dict(found.skipped),
        "known": dict(found.known),
        "again": {str(kind): count for kind, count in found.again.items()},
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


def shown(
    finding: functions.FunctionFinding, pipeline: PassPipeline, arguments: FuzzArguments | ValidateArguments
) -> str:
    """Return a finding as text, reduced unless the options say otherwise."""
    program = finding.program
    title = f"program {program.index} of seed {program.seed}"
    if isinstance(finding, functions.BrokenPass):
        head = f"{title}: {finding.failure.message}\n"
    else:
        lines = counterexample_lines(program.main, finding.example)
        head = "\n".join([f"{title} differs", *lines[1:]]) + "\n"
    if finding.reduced is None:
        alone = "" if arguments.no_reduce else "there is no difference when this input runs alone\n"
        return head + alone + finding.before
    return head + comparing.reduced_by_passes(finding.reduced, pipeline, None, arguments)


# --- stages: programs on tensors are lowered, and run there or by mlir-runner -----------------------------------------


_STRUCTURED = KINDS["structured"]

STAGE_NAMES = (*STAGES, *(f"runner:{stage}" for stage in RUNNERS))
"""The stages by their names on the command line."""


def fuzz_stages(spelled: str, arguments: FuzzArguments) -> int:
    """Test the stages one after the other, and return the exit code. Raise HalfulpError."""
    names = STAGE_NAMES if spelled == "all" else tuple(spelled.split(","))
    unknown = next((name for name in names if name not in STAGE_NAMES), None)
    if unknown is not None:
        return console.fail(f"there is no stage {unknown!r}: choose one of {', '.join(STAGE_NAMES)}, or all")
    return console.ranked([_fuzz_stage(name, arguments) for name in names])


def _fuzz_stage(name: str, arguments: FuzzArguments) -> int:
    tool, _, stage = name.rpartition(":")
    if not tool:
        return fuzz_passes(pipeline(stage), arguments, _STRUCTURED)
    try:
        runner = TensorRunner(stage, arguments.mlir)
    except Unavailable as why:
        return console.fail(str(why))
    with console.progress_bar("programs") as progress:
        most = arguments.max_failures or functions.MAX_FINDINGS
        found = functions.fuzz_runner(runner, _STRUCTURED, arguments.n, arguments.seed, arguments.first, most, progress)
    _summary(arguments, lambda: _runner_record(found, stage), lambda: _runner_lines(found, stage))
    if found.interrupted:
        raise KeyboardInterrupt
    for finding in found.findings:
        lines = counterexample_lines(finding.program.main, finding.example)
        title = f"program {finding.program.index} of seed {finding.program.seed} differs"
        text = "\n".join([title, *lines[1:]]) + "\n" + text_of(finding.program.module)
        (console.say if arguments.json else console.write)(text)
    codes = [console.DIFFERENT] if found.findings else [console.WRONG_USE] if found.failed else []
    return console.ranked([*codes, console.SUCCESS if found.runs else console.UNSUPPORTED])


def _runner_lines(found: functions.RunnerReport, stage: str) -> list[str]:
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


def _runner_record(found: functions.RunnerReport, stage: str) -> dict[str, Any]:
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


def fuzz_programs(arguments: FuzzArguments, sources: Sources) -> int:
    """Execute the command, and return its exit code. Raise HalfulpError."""
    count = sum(given is not None for given in (arguments.against, arguments.pass_pipeline, arguments.stages))
    if count != 1:
        return console.need_one("--against, --pass-pipeline, --stages and --pass", count)
    if arguments.pass_pipeline is not None:
        return fuzz_passes(arguments.pass_pipeline, arguments)
    if arguments.stages is not None:
        return fuzz_stages(arguments.stages, arguments)
    assert arguments.against is not None
    return _fuzz_oracles(arguments.against, arguments)


FUZZ = Command(FuzzArguments, fuzz_programs, _FUZZ, comparing.COMPARISON_CODES)


def _fuzz_oracles(spellings: str, arguments: FuzzArguments) -> int:
    oracles, codes = comparing.oracles_named(spellings, arguments.mlir)
    if not oracles:
        return console.ranked(codes)
    rows, pairs = comparing.known_divergences(arguments)
    kinds = {"poison": FaultKind.POISON, "undefined": FaultKind.UNDEFINED}
    allowed = [kinds[word] for word in arguments.allow]
    by_name = {
        oracle.name: (oracle, spelling)
        for spelling in spellings.split(",")
        for oracle in oracles
        if oracle.name == spelling.partition("=")[0]
    }
    with console.progress_bar("programs") as progress:
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
            text += _reduced_failure(failure, *by_name[failure.oracle], arguments)
        (console.say if arguments.json else console.write)(text)
    if found.interrupted:
        raise KeyboardInterrupt
    for counts in found.counts:
        codes += [console.DIFFERENT] if counts.failures else [console.WRONG_USE] if counts.broken else []
        codes.append(console.SUCCESS if counts.tally.compared else console.UNSUPPORTED)
    return console.ranked(codes)


def _summary(
    arguments: FuzzArguments, record: Callable[[], dict[str, Any]], lines: Callable[[], Iterable[str]]
) -> None:
    """Print the counts of a search: as one JSON object, or as lines for people."""
    console.write(json.dumps(record()) + "\n" if arguments.json else "\n".join(lines()) + "\n")


def _reduced_failure(failure: Failure, oracle: ProgramOracle, spelling: str, arguments: FuzzArguments) -> str:
    same = SameDifference(Search(oracle, divergences(), pairs=cancellations()))
    difference = same.differences([failure.program], lambda finding: finding.case == failure.case)[0]
    if difference is None or difference.finding is None or difference.finding.case != failure.case:
        return "it does not differ when the program is asked again\n"
    same.watch(difference)
    program = Reducer(same).reduce(difference.program, difference)
    final = same.differences([program])[0] or difference
    return comparing.reduced_text(program, final, oracle, None, spelling, arguments)


# --- validate ---------------------------------------------------------------------------------------------------------


_VALIDATE = """\
Test the claim of a pass of mlir-opt: the program after it gives only results that the program before it allows. Random
programs run before and after the pass, on the same inputs:

  halfulp fuzz --pass=canonicalize -n 5000
  halfulp fuzz --pass="affine-loop-tile{tile-size=4}" --from=affine
  halfulp fuzz --pass=all -o passes.md
  halfulp fuzz --pass=lower-vector-mask --seeds=llvm-project/mlir/test/Dialect/Vector

A pass is given programs of the kinds that it works on: mixed (scalars with control flow, memory, vectors and tensors),
structured (tensors with linalg ops, slices and loops), and structured programs lowered to a stage: generalized, fused,
bufferized, loops, parallel-loops, affine, vectorized, branches. Programs that the pass does not change test nothing,
and are counted separately. So are programs that mlir-opt cannot lower to the stage. A program with an unexplained
difference is reduced. A crash of mlir-opt is a finding, too. With --mlir-opt=iree-opt, --pass=all means the passes of
IREE.

With --from=mutated, programs are changed instead of grown: --seeds names files with them, such as the tests of MLIR.
Without --seeds, they are small ones that halfulp has, and small ones of the kinds above. An edit puts an op on the way
to an operand, replaces an op, a constant, an attribute, an element type or a size, adds a mask, a cast, a branch, a
loop or a function. A program after which the pass does something new, such as to make an op that it has not made
before, is changed again. All run on a few inputs: most programs are tried, not most inputs. With --from=tosa, small
programs of TOSA are changed in this way.
"""


@dataclass(frozen=True, kw_only=True)
class ValidateArguments(comparing.KnownOption, comparing.ContractOption, comparing.PassOptions):
    """The options of ``halfulp fuzz --pass``."""

    passes: tuple[str, ...] = repeated(
        "PASS",
        "the pass, with its options in braces if it has any (repeat it for more); all for every known pass",
        name="--pass",
    )
    starts: tuple[str, ...] = repeated(
        "START", "give the pass only these programs (default: those it works on)", name="--from"
    )
    seeds: tuple[str, ...] = repeated(
        "PATH", "change the functions of this MLIR file, or of the .mlir files of this folder (for --from=mutated)"
    )
    n: int = amount("the number of programs for each --from (default: 1000)", 1000)
    seconds: float | None = option("S", "for each --from: make no more programs after this time", type=float)
    seed: int = option("N", "the seed of all programs (default: 1)", 1, type=int)
    no_reduce: bool = flag("print failing programs as they were found")
    output: str | None = option("FILE", "write the table as Markdown into a file", name="-o --output")
    json: bool = flag("print one JSON object per pass and start")


CUSTOM_FORM = "22"
"""The version of MLIR whose custom form halfulp writes. Programs of other versions are given the generic form."""

CLAIM_COLUMNS = (
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
    "patterns",
    "findings",
)


class _ClaimRow(NamedTuple):
    """A pass, the programs that it got, and their outcomes. ``not_lowered``: the programs that could not be lowered for
    it.
    """

    claim: Claim
    start: str
    found: functions.PassFuzzReport
    not_lowered: Counter[str]


def fuzz_claims(arguments: ValidateArguments, sources: Sources) -> int:
    """Execute the command, and return its exit code. Raise HalfulpError."""
    unknown = next((start for start in arguments.starts if start not in STARTS), None)
    if unknown is not None:
        return console.fail(f"--from: there is no kind of programs {unknown!r}: choose one of {', '.join(STARTS)}")
    if arguments.seeds and arguments.starts and MUTATED not in arguments.starts:
        return console.fail("--seeds can be used only with --from=mutated, or without --from")
    every = "all" in arguments.passes
    claims = (
        claims_of(comparing.pass_pipeline("", arguments).tool) if every else list(map(claim_named, arguments.passes))
    )
    rows: list[_ClaimRow] = []
    codes = []
    seeds = seeds_of([Path(path) for path in arguments.seeds]) if arguments.seeds else ()
    for claim in claims:
        for start in arguments.starts or ((MUTATED,) if arguments.seeds else claim.starts):
            try:
                row = _test_claim(claim, start, arguments, seeds)
            except HalfulpError as error:
                if not every:
                    raise
                console.say(f"{claim.name}, {start}: {error.message}")  # such as a pass that this MLIR does not have
                continue
            found = row.found
            rows.append(row)
            console.write((json.dumps(_claim_record(row)) if arguments.json else _claim_text(row)) + "\n")
            findings: list[functions.FunctionFinding] = [*found.findings, *found.broken]
            pipeline = comparing.pass_pipeline(claim.pipeline, arguments)
            for finding in findings:
                (console.say if arguments.json else console.write)(shown(finding, pipeline, arguments))
            codes += _finding_codes(found)
            codes.append(console.SUCCESS if found.compared else console.UNSUPPORTED)
            if arguments.output is not None:  # with what there is, since all passes take hours
                write_file(arguments.output, ("\n".join(_claims_page(rows, arguments)) + "\n").encode())
            if found.stopped == "interrupted":
                raise KeyboardInterrupt
    return console.ranked(codes)


VALIDATE = Command(ValidateArguments, fuzz_claims, _VALIDATE, comparing.COMPARISON_CODES)


def _test_claim(claim: Claim, start: str, arguments: ValidateArguments, seeds: Sequence[Seed]) -> _ClaimRow:
    pipeline = replace(comparing.pass_pipeline(claim.pipeline, arguments), seconds=PASS_SECONDS)
    generic = start in SEEDS or not pipeline.tool.version.startswith(CUSTOM_FORM)
    pipeline = replace(pipeline, in_generic_form=generic)
    pipeline.apply("builtin.module {}\n")  # a pass that mlir-opt does not know would refuse every program
    programs = programs_from(start, pipeline.tool, claim.starts, seeds, claim.name)
    known = KnownByPass(pipeline, *comparing.known_divergences(arguments), Settings(max_steps=programs.kind.max_steps))
    with console.progress_bar(f"{claim.name}, {start}") as progress:
        found = functions.fuzz_pass(
            pipeline,
            arguments.n,
            arguments.seed,
            kind=programs.kind,
            seconds=arguments.seconds,
            most_failures=functions.MAX_FINDINGS,
            known=known,
            fp_contract=arguments.fp_contract,
            reduce=_reducing(pipeline, arguments),
            progress=progress,
        )
    return _ClaimRow(claim, start, found, programs.not_lowered)


def _claim_counts(row: _ClaimRow) -> tuple[int, ...]:
    """Return how many programs each of `CLAIM_COLUMNS` counts, in their order."""
    found = row.found
    return (
        found.programs,
        found.unchanged,
        found.allowed,
        found.known_programs,
        found.differing,
        found.undefined,
        found.skipped.total(),
        found.refused.total(),
        found.crashed,
        row.not_lowered.total(),
        len(found.patterns),
        len(found.findings) + len(found.broken),
    )


def _claim_text(row: _ClaimRow) -> str:
    """Return the counts of a row for people: a line, then the known divergences, and why programs were not compared."""
    found = row.found
    counts = dict(zip(CLAIM_COLUMNS, _claim_counts(row), strict=True))
    total = counts.pop("programs")
    rest = ", ".join(f"{count:,} {word}" for word, count in counts.items() if count and word != "findings")
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


def _claim_record(row: _ClaimRow) -> dict[str, Any]:
    found = row.found
    return {
        "pass": row.claim.name,
        "from": row.start,
        "version": found.version,
        **dict(zip(CLAIM_COLUMNS, _claim_counts(row), strict=True)),
        "known divergences": dict(found.known),
        "seconds": round(sum(found.seconds.values()), 3),
        "stopped": found.stopped,
    }


def _claims_page(rows: Sequence[_ClaimRow], arguments: ValidateArguments) -> Iterator[str]:
    """Yield the lines of a Markdown page."""
    total = sum(row.found.programs for row in rows)
    version = rows[0].found.version if rows else ""
    passes = len({row.claim.name for row in rows})
    yield from (
        f"# Passes of {_program_name(version)}",
        "",
        "Each pass claims that the program after it gives only results that the program before it allows. To test",
        "this, random programs ran before and after each pass, on the same inputs. The column *from* has the kind of",
        "the programs; [the command line](command-line.md#fuzz) describes the kinds. The other columns count",
        "programs:",
        "",
        "- *unchanged*: the pass did not change the text, or moved, joined or removed constants only.",
        "- *refined*: the pass changed the text, and all results for all inputs are allowed.",
        "- *known*: results are wrong, and rows of `divergences.toml` predict every wrong bit.",
        "- *different*: a result is wrong, and no row predicts it. [Bugs found in MLIR](findings.md) has the programs.",
        "- *undefined*: before the pass, the program has [undefined behaviour](glossary.md#undefined-behaviour) on",
        "  every input.",
        "- *not compared*: halfulp cannot run an op after the pass, or the pass changed the signature too much.",
        f"- *refused*, *crashed*: {_program_name(version)} reported an error, or crashed.",
        "- *not lowered*: mlir-opt cannot lower the program to the stage that the pass needs. The column *programs*",
        "  does not count these programs.",
        "- *patterns*: what the pass did, and not a number of programs: pairs of an op that it removed and of one that",
        "  it made in the same program, each pair once; either may be none.",
        "- *findings*: the kinds of wrong results and crashes.",
        "",
        f"{passes} passes, {plural(total, 'program')}, seed {arguments.seed}, {version}.",
        "",
        f"| pass | from | {' | '.join(CLAIM_COLUMNS)} |",
        f"| --- | --- |{' --: |' * len(CLAIM_COLUMNS)}",
    )
    for row in rows:
        numbers = " | ".join(f"{count:,}" for count in _claim_counts(row))
        yield f"| `{row.claim.name}` | {row.start} | {numbers} |"
    names = sorted({name for row in rows for name in row.found.known})
    if names:
        yield from (
            "",
            "These known [divergences](glossary.md#divergence) occurred:",
            "",
            *(f"- {name}" for name in names),
        )


def _program_name(version: str) -> str:
    """Return the name of the program without its version: mlir-opt of "mlir-opt-22 22.1.8"."""
    return re.sub(r"-\d+$", "", version.partition(" ")[0]) or "mlir-opt"
