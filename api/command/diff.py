"""``halfulp diff``: compare whole programs with other implementations, or two versions with each other."""

from __future__ import annotations

import json
from typing import Any

from halfulp.command.console import DIFFERENT, SUCCESS, UNSUPPORTED, WRONG_USE, fail, ranked, write
from halfulp.command.options.diff import DiffArguments
from halfulp.command.passes import pass_pipeline
from halfulp.command.programs import given_arguments, known_divergences, oracles_named, parse, plural, programs_of
from halfulp.command.semantics import profile_named
from halfulp.command.sources import Sources
from halfulp.conformance.comparing.compare import Verdict
from halfulp.conformance.whole_programs import diff, validation
from halfulp.conformance.whole_programs.arguments import generated
from halfulp.conformance.whole_programs.diff import against
from halfulp.conformance.whole_programs.difference_text import difference_lines, difference_record
from halfulp.conformance.whole_programs.validation import (
    common_functions,
    counterexample_lines,
    counterexample_record,
    validate,
)
from halfulp.interp.ir.errors import InputError
from halfulp.interp.ir.operations import Module, Operation
from halfulp.interp.run.signature import argument_types
from halfulp.interp.text.printer import print_module

SHOWN = 5
"""The most differences of one oracle that are printed."""


def execute(arguments: DiffArguments, sources: Sources) -> int:
    """Execute the command, and return its exit code. Raise HalfulpError."""
    modes = [arguments.against, arguments.after, arguments.pass_pipeline]
    if sum(mode is not None for mode in modes) != 1:
        return fail("compare with what? give --against, a second file, or --pass-pipeline")
    if arguments.mlir_opt is not None and arguments.pass_pipeline is None:
        return fail("--mlir-opt goes with --pass-pipeline")
    if arguments.against is None:
        return _diff_versions(arguments, sources)
    return _diff_oracles(arguments.against, arguments, sources)


def _diff_oracles(spelling: str, arguments: DiffArguments, sources: Sources) -> int:
    programs = programs_of(arguments, sources, arguments.n or 100)
    profile = profile_named(arguments.profile)
    oracles, codes = oracles_named(spelling)
    for oracle in oracles:
        rows, pairs = known_divergences(arguments)
        found = against(oracle, programs, rows, profile, pairs)
        if arguments.json:
            write(json.dumps(_oracle_record(found)) + "\n")
        else:
            write("\n".join(_oracle_lines(found)) + "\n")
        codes.append(_oracle_code(found))
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
        "undefined_answered": found.undefined_answered,
        "elements": {verdict.name.lower(): count for verdict, count in found.verdicts.items()},
        "unanswered": dict(found.unanswered),
        "known": dict(found.known),
        "profiles": found.explained,
        "failures": found.failures,
        "differences": [difference_record(difference) for difference in found.differences],
    }


def _diff_versions(arguments: DiffArguments, sources: Sources) -> int:
    profile = profile_named(arguments.profile)
    before = parse(arguments.file, sources)
    after = _second_version(arguments, before, sources)
    pairs = common_functions(before, after, arguments.function)
    if arguments.input and len(pairs) > 1:
        raise InputError("--input is for one function: name it with --function")
    codes = []
    for one, two in pairs:
        inputs = given_arguments(arguments, one, sources)
        if inputs is None:
            inputs = generated(argument_types(one), arguments.n or 1000, arguments.seed)
        found = validate((before, one), (after, two), inputs, profile)
        if arguments.json:
            write(json.dumps(_version_record(found)) + "\n")
        else:
            write("\n".join(_version_lines(found, two)) + "\n")
        codes.append(DIFFERENT if found.differing else SUCCESS if found.compared else UNSUPPORTED)
    return ranked(codes)


def _second_version(arguments: DiffArguments, before: Module, sources: Sources) -> Module:
    """Return the module of the second file, or the first version as mlir-opt transforms it. Raise HalfulpError."""
    if arguments.after is not None:
        return parse(arguments.after, sources)
    pipeline = pass_pipeline(arguments.pass_pipeline or "", arguments)
    given = print_module(before) if before.text is None else before.text
    after = pipeline.read(pipeline.apply(given, before.filename), "<after>")
    sources["<after>"] = after.text or ""
    if not arguments.json:
        write(f"{pipeline.version}: {arguments.pass_pipeline}\n")
    return after


def _version_lines(found: validation.ValidationReport, function: Operation) -> list[str]:
    every = "every input, " if found.exhaustive else ""
    lines = [f"@{found.function}: {every}{plural(found.inputs, 'input')}; elements: {_counts(found)}"]
    if found.undefined:
        lines.append(f"  undefined before, so that anything is allowed: {plural(found.undefined, 'input')}")
    if not found.compared:
        lines.append("  nothing was compared")
    lines += [f"  not run: {why} ({plural(count, 'input')})" for why, count in found.skipped.most_common()]
    for example in found.counterexamples:
        lines += counterexample_lines(function, example)
    more = found.differing - len(found.counterexamples)
    return [*lines, f"... and {plural(more, 'input')} more with differences"] if more else lines


def _version_record(found: validation.ValidationReport) -> dict[str, Any]:
    return {
        "function": found.function,
        "inputs": found.inputs,
        "exhaustive": found.exhaustive,
        "undefined": found.undefined,
        "differing": found.differing,
        "elements": {verdict.name.lower(): count for verdict, count in found.verdicts.items()},
        "skipped": dict(found.skipped),
        "counterexamples": [counterexample_record(example) for example in found.counterexamples],
    }
