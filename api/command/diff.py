"""``halfulp diff``: compare whole programs with other implementations, or two versions with each other."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass
from functools import partial
from typing import Any

from halfulp.command import programs as comparing
from halfulp.command.calls import SOURCE_FILE
from halfulp.command.ci_reports import Checked, ReportOptions, write_ci_reports
from halfulp.command.console import DIFFERENT, SUCCESS, UNSUPPORTED, WRONG_USE, fail, need_one, ranked, write
from halfulp.command.execution import Sources, rendered
from halfulp.command.option import Command, duration
from halfulp.command.values import profile_named
from halfulp.conformance.comparing.refinement import Verdict
from halfulp.conformance.oracles import check_mlir
from halfulp.conformance.oracles.tool import PassPipeline
from halfulp.conformance.proving.proof import SECONDS, Decision, with_proof
from halfulp.conformance.proving.solving import installed, require
from halfulp.conformance.whole_programs import diff, validation
from halfulp.conformance.whole_programs.arguments import parse_assumption
from halfulp.conformance.whole_programs.counterexamples import (
    counterexample_lines,
    counterexample_record,
    difference_lines,
    difference_record,
)
from halfulp.conformance.whole_programs.diff import against
from halfulp.conformance.whole_programs.known_by_pass import KnownByPass
from halfulp.conformance.whole_programs.printed import Calls
from halfulp.conformance.whole_programs.two_runs import MAX_STEPS
from halfulp.described import amount, argument, first_given, flag, option, repeated
from halfulp.inputs import check_apart, check_place
from halfulp.interp.ir.base import file_position
from halfulp.interp.ir.errors import HalfulpError, InputError, plural
from halfulp.interp.ir.operations import Module, Operation
from halfulp.interp.run.settings import Settings
from halfulp.interp.run.stochastic import refuse_stochastic

_DIFF = """\
Compare the results of a program, bit for bit. Only results that the language does not allow count as differences:

  halfulp diff program.mlir --against mlir-fold,mlir-native   halfulp and other implementations
  halfulp diff before.mlir after.mlir                         two versions, both run by halfulp
  halfulp diff before.mlir --pass-pipeline "builtin.module(canonicalize)"   mlir-opt makes the second version

Without --input, the arguments are generated. If they have at most 16 bits together, every combination is tested (for
other implementations: if -n is large enough), else corner cases and random values. For a difference, the command names
the first op whose result is wrong for its operands. If the first version, or the program in halfulp, has undefined
behaviour, every result is allowed.

Two versions of a function are compared by their results, by the contents of memrefs after the run, and by what they
print. The first line for each function says what was shown: proven (every input), proven (solver), tested (n inputs),
known differences, nothing was compared, or not compared.

With --uninterpreted, ops that no dialect has and functions without a body are unknown functions, the same ones in both
versions. Both versions must call them in the same order, with operands that agree. halfulp chooses their results.
"""


@dataclass(frozen=True, kw_only=True)
class DiffArguments(ReportOptions, comparing.PassOptions, comparing.ContractOption, comparing.ProgramOptions):
    """The options of ``halfulp diff``."""

    file: str = argument("FILE", SOURCE_FILE)
    after: str | None = argument("AFTER", "the second version of the program", nargs="?")
    against: str | None = option("ORACLE[,ORACLE...]", "the implementations to compare with, as for verify")
    pass_pipeline: str | None = option("PIPELINE", "make the second version with these passes of mlir-opt")
    repeat: int = amount("run the passes N times; if they do not always print the same module, that is a difference", 1)
    keep: str | None = option("DIR", "write the second version into this directory, and name that file in messages")
    report: str | None = option("FILE", "write a report of the first difference, for the developers of the passes")
    n: int | None = amount("the number of inputs to generate (default: 100 for oracles, else 1000)")
    assume: tuple[str, ...] = repeated(
        "RANGE", 'for two versions: the range of an argument, as in "%%0 in [0, 10]" (repeat it for more arguments)'
    )
    vscale: int | None = amount("for two versions: the factor of the size of scalable vectors")
    uninterpreted: bool = flag(
        "for two versions: run ops that no dialect has, and calls of declarations, as unknown functions"
    )
    max_steps: int | None = amount("for two versions: the largest number of ops of one run (default: 200000)")
    require_all: bool = flag("for two versions: exit with 3 if any function was not compared, not only if none was")
    prove_seconds: float | None = option(
        "S",
        "for two versions: the time for the proof of one function; 0: no proof (default: 5 if z3 is installed)",
        type=duration,
    )
    json: bool = flag("print one JSON object per oracle or function")


PASS_OPTIONS = ("repeat", "keep", "report")
"""Options that need --pass-pipeline."""


SHOWN = 5
"""The most differences that are printed for one oracle."""


def diff_programs(arguments: DiffArguments, sources: Sources) -> int:
    """Execute the command, and return its exit code. Raise HalfulpError."""
    modes = [arguments.against, arguments.after, arguments.pass_pipeline]
    count = sum(mode is not None for mode in modes)
    if count != 1:
        return need_one("--against, a second file and --pass-pipeline", count)
    lone = None if arguments.pass_pipeline is not None else first_given(arguments, PASS_OPTIONS)
    if lone is not None:
        return fail(f"{lone} can be used only with --pass-pipeline")
    if arguments.against is not None and arguments.mlir is not None:
        check_mlir(arguments.against.split(","))
    if arguments.file == arguments.after == "-":
        return fail("only one of the two versions can be the standard input")
    files = ("junit", "sarif", "report")
    for name in files:
        if (file := getattr(arguments, name)) is not None:
            check_place(f"--{name}", file)
    check_apart([("the program", arguments.file), ("the second version", arguments.after)], arguments, *files)
    checked: list[Checked] = []
    try:
        if arguments.against is None:
            return _diff_versions(arguments, sources, checked)
        return _diff_oracles(arguments.against, arguments, sources, checked)
    except HalfulpError as error:
        place = None if error.location is None else file_position(error.location)
        checked.append(Checked(arguments.file, place, error.exit_code, str(error), type(error)))
        if arguments.json and error.exit_code == DIFFERENT:  # a pass crashed or made an invalid op
            write(json.dumps({"function": None, "basis": "failed", "problem": str(error)}) + "\n")
        raise
    except BaseException as error:  # an interrupt, a full disk: a report without this would look complete
        checked.append(Checked(arguments.file, None, WRONG_USE, f"not finished: {str(error) or type(error).__name__}"))
        raise
    finally:
        write_ci_reports(arguments.file, checked, arguments)


DIFF = Command(DiffArguments, diff_programs, _DIFF, comparing.COMPARISON_CODES)


def _diff_oracles(spelling: str, arguments: DiffArguments, sources: Sources, checked: list[Checked]) -> int:
    programs = comparing.programs_of(arguments.file, arguments, sources, arguments.n or 100)
    profile = refuse_stochastic(profile_named(arguments.profile), "diff")
    oracles, codes = comparing.oracles_named(spelling, arguments.mlir)
    for oracle in oracles:
        rows, pairs = comparing.known_divergences(arguments)
        found = against(oracle, programs, rows, profile, pairs)
        text = "\n".join(_oracle_lines(found))
        write((json.dumps(_oracle_record(found)) if arguments.json else text) + "\n")
        codes.append(_oracle_code(found))
        place = file_position(programs[0].module.operation.location) if programs else None
        checked.append(Checked(oracle.name, place, codes[-1], text))
    return ranked(codes)


def _oracle_code(found: diff.DiffReport) -> int:
    failed = [WRONG_USE] if found.failures else []
    return DIFFERENT if found.differences else ranked([*failed, SUCCESS if found.compared else UNSUPPORTED])


def _counts(found: diff.DiffReport | validation.ValidationReport) -> str:
    words = {Verdict.EQUAL: "equal", Verdict.OPEN: "open", Verdict.APART: "apart", Verdict.MISMATCH: "different"}
    words[Verdict.UNANSWERED] = "unanswered"
    present = [f"{found.verdicts[verdict]:,} {word}" for verdict, word in words.items() if found.verdicts[verdict]]
    return ", ".join(present) or "nothing to compare"


def _oracle_lines(found: diff.DiffReport) -> list[str]:
    lines = [f"{found.oracle} {found.version}: {plural(found.programs, 'input')}; elements: {_counts(found)}"]
    if found.undefined:
        given = f"; {found.oracle} has values for {found.undefined_answered:,}" if found.undefined_answered else ""
        lines.append(f"  undefined here, so that anything is allowed: {plural(found.undefined, 'input')}{given}")
    lines += found.undefined_by.lines("   ", "input")
    lines += found.poison_by.lines("  poison here, so that any value is allowed:", "element")
    lines += [f"  unanswered: {why} ({count:,})" for why, count in found.unanswered.most_common()]
    lines += [f"  known divergence: {name} ({plural(count, 'input')})" for name, count in found.known.most_common()]
    if found.explained:
        lines.append(f"  all results are those of profile {' and of '.join(found.explained)}")
    lines += [f"  failed: {failure}" for failure in found.failures]
    for difference in found.differences[:SHOWN]:
        lines += difference_lines(difference, found.oracle)
    if len(found.differences) > SHOWN:
        lines.append(f"... and {plural(len(found.differences) - SHOWN, 'input')} more with differences")
    return lines


def _oracle_record(found: diff.DiffReport) -> dict[str, Any]:
    return {
        "oracle": found.oracle,
        "version": found.version,
        "inputs": found.programs,
        "undefined": found.undefined,
        "undefined_by": dict(found.undefined_by.counts),
        "poison_by": dict(found.poison_by.counts),
        "undefined_answered": found.undefined_answered,
        "elements": {verdict.name.lower(): count for verdict, count in found.verdicts.items()},
        "unanswered": dict(found.unanswered),
        "known": dict(found.known),
        "profiles": found.explained,
        "failures": found.failures,
        "differences": [difference_record(difference) for difference in found.differences],
    }


def _diff_versions(arguments: DiffArguments, sources: Sources, checked: list[Checked]) -> int:
    before = comparing.readable(arguments.file, arguments, sources)
    if arguments.after is not None:
        return _diff_with(
            arguments, sources, before, comparing.readable(arguments.after, arguments, sources), None, checked
        )
    pipeline = comparing.pass_pipeline(arguments.pass_pipeline or "", arguments)
    modules, unstable = comparing.after_passes(pipeline, before, arguments.repeat, arguments.keep, sources)
    if not arguments.json:
        write(f"{pipeline.version}: {pipeline.pipeline}\n{unstable}")
    codes = [_diff_with(arguments, sources, before, after, pipeline, checked) for after in modules]
    if unstable:
        checked.append(Checked("the passes", file_position(before.operation.location), DIFFERENT, unstable))
    return ranked([*codes, *([DIFFERENT] if unstable else [])], arguments.require_all)


def _diff_with(
    arguments: DiffArguments,
    sources: Sources,
    before: Module,
    after: Module,
    pipeline: PassPipeline | None,
    checked: list[Checked],
) -> int:
    """Compare all functions of two versions. ``pipeline``: the passes that made the second version."""
    profile = refuse_stochastic(profile_named(arguments.profile), "diff")
    pairs = validation.common_functions(before, after, arguments.function)
    if arguments.input and len(pairs) > 1:
        raise InputError("--input is for one function: name it with --function")
    max_steps = arguments.max_steps or MAX_STEPS
    known = None
    if pipeline is not None:
        settings = Settings(profile, vscale=arguments.vscale, max_steps=max_steps)
        known = KnownByPass(pipeline, *comparing.known_divergences(arguments), settings)
    inputs = validation.Inputs(
        count=arguments.n or 1000,
        seed=arguments.seed,
        vscale=arguments.vscale,
        assumptions=tuple(map(parse_assumption, arguments.assume)),
        given=comparing.given_arguments(arguments, pairs[0][0], sources, arguments.vscale, memory=True),
        max_steps=max_steps,
        unknown=Calls if arguments.uninterpreted else None,
        fp_contract=arguments.fp_contract,
    )
    seconds = _seconds(arguments)
    codes = []
    solver: Counter[str] = Counter()
    reported = False
    for one, two in pairs:
        explain = None if known is None else partial(known.explained, before, one.symbol_name or "")
        found = validation.compare(before, after, (one, two), inputs, profile, explain)
        found = with_proof(found, before, after, (one, two), inputs, profile, seconds, explain)
        solver[found.solver] += 1
        codes.append(_version_code(found))
        source = None if pipeline is None else sources[after.filename]
        text = "\n".join(_version_lines(found, two or one, sources, source, arguments.prove_seconds is not None))
        _write_version(found, text, arguments)
        if arguments.report is not None and pipeline is not None and found.counterexamples and not reported:
            comparing.write_report(arguments.report, pipeline, before, one, found.counterexamples[0])
            reported = True
        checked.append(Checked(f"@{found.function}", file_position(one.location), codes[-1], text))
    for found in validation.left_out(before) if arguments.function is None else ():
        assert found.problem is not None
        place = found.problem.location
        codes.append(_version_code(found))
        text = "\n".join(_problem_lines(found, sources))
        _write_version(found, text, arguments)
        checked.append(Checked(f"@{found.function}", None if place is None else file_position(place), codes[-1], text))
    del solver[""]
    if solver and not arguments.json and (arguments.prove_seconds is not None or solver[Decision.UNKNOWN.value]):
        write(f"solver: {', '.join(f'{count:,} {decision}' for decision, count in solver.most_common())}\n")
    return ranked(codes, arguments.require_all)


def _seconds(arguments: DiffArguments) -> float:
    """Return the time for the proof of one function; 0 for no proof. Raise InputError if the proof needs z3."""
    if arguments.prove_seconds is None:
        return SECONDS if installed() else 0.0
    if arguments.prove_seconds:
        require()
    return arguments.prove_seconds


def _version_code(found: validation.ValidationReport) -> int:
    """Return the exit code for one function."""
    if found.problem is not None:
        return found.problem.exit_code
    if found.differing:
        return DIFFERENT
    return UNSUPPORTED if found.basis is validation.Basis.NOTHING else SUCCESS


def _write_version(found: validation.ValidationReport, text: str, arguments: DiffArguments) -> None:
    write((json.dumps(_version_record(found)) if arguments.json else text) + "\n")


def _problem_lines(found: validation.ValidationReport, sources: Sources) -> list[str]:
    """Return the first line for one function, and why it was not compared."""
    problem = [] if found.problem is None else rendered(found.problem, sources).split("\n")
    return [f"@{found.function}: {_headline(found)}", *(f"  {line}" for line in problem)]


def _version_lines(
    found: validation.ValidationReport, function: Operation, sources: Sources, source: str | None, why: bool
) -> list[str]:
    """Describe the result for one function.

    ``source``: the text of the second version, whose lines are shown. ``why``: always say why there is no proof.
    """
    lines = _problem_lines(found, sources)
    lines += [f"  {note}" for note in found.notes]
    if found.unproven and (why or found.solver == Decision.UNKNOWN.value):
        lines.append(f"  no proof: {found.unproven}")
    lines += found.undefined_by.lines("  undefined before, so that anything is allowed:", "input")
    lines += found.poison_by.lines("  poison before, so that any value is allowed:", "element")
    lines += [f"  not run: {why} ({plural(count, 'input')})" for why, count in found.skipped.most_common()]
    if found.loosened:
        lines.append(f"  unspecified by the language in the second version alone: {plural(found.loosened, 'element')}")
    lines += [f"  permitted: {ground} ({plural(count, 'input')})" for ground, count in found.permitted.most_common()]
    if found.apart:
        lines.append(f"  left open by fast-math flags, and not looked at one by one: {plural(found.apart, 'input')}")
    if found.reason:
        lines.append(f"  the first difference: {found.reason}")
    for names, count in found.known.most_common():
        lines.append(f"  known divergence: {'; '.join(names)} ({plural(count, 'input')})")
    if found.unsearched:
        lines.append(f"  differing, but not looked up among the known divergences: {plural(found.unsearched, 'input')}")
    for example in found.counterexamples:
        lines += counterexample_lines(function, example, source)
    more = found.differing - len(found.counterexamples)
    return [*lines, f"... and {plural(more, 'input')} more with differences"] if more else lines


def _headline(found: validation.ValidationReport) -> str:
    """Say how much the comparison shows, and count the elements."""
    tested = plural(found.tested, "input")
    if found.problem is not None:
        return found.basis.value
    if found.differing:
        every = " (every input)" if found.exhaustive else ""
        return f"differs for {found.differing:,} of {tested}{every}; elements: {_counts(found)}"
    if found.basis is validation.Basis.NOTHING:
        return f"nothing was compared ({tested})"
    if found.basis is validation.Basis.KNOWN:
        how = f"known differences for {found.known.total():,} of {tested}"
    elif found.basis is validation.Basis.PERMITTED:
        how = f"permitted differences for {found.permitted.total() + found.apart:,} of {tested}"
    else:
        how = f"tested ({tested})" if found.basis is validation.Basis.SAMPLES else f"{found.basis.value}, {tested}"
    return f"{how}; elements: {_counts(found)}"


def _version_record(found: validation.ValidationReport) -> dict[str, Any]:
    return {
        "function": found.function,
        "basis": found.basis.value,
        "solver": found.solver or None,
        "unproven": found.unproven or None,
        "problem": None if found.problem is None else str(found.problem),
        "notes": list(found.notes),
        "inputs": found.inputs,
        "exhaustive": found.exhaustive,
        "undefined": found.undefined,
        "undefined_by": dict(found.undefined_by.counts),
        "poison_by": dict(found.poison_by.counts),
        "differing": found.differing,
        "known": {"; ".join(names): count for names, count in found.known.items()},
        "permitted": dict(found.permitted),
        "apart": found.apart,
        "reason": found.reason or None,
        "elements": {verdict.name.lower(): count for verdict, count in found.verdicts.items()},
        "skipped": dict(found.skipped),
        "loosened": found.loosened,
        "counterexamples": [counterexample_record(example) for example in found.counterexamples],
    }
