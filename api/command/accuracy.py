"""``halfulp accuracy``: measure how wrong an implementation of a function or an op is."""

from __future__ import annotations

import json
import os

from halfulp.accuracies import accuracy, draw_accuracy, program_accuracy
from halfulp.command.console import DIFFERENT, SUCCESS, UNSUPPORTED, fail, say, write
from halfulp.command.options.accuracy import AccuracyArguments
from halfulp.command.semantics import profile_named, properties_of
from halfulp.command.sources import Sources, read
from halfulp.command.values import read_value
from halfulp.conformance.accuracy.report import Accuracy
from halfulp.described import first_given
from halfulp.drawing.figures import ending_of, save
from halfulp.fp_formats.policy import as_rounding
from halfulp.interp.ir.errors import InputError, TypeMismatch, wrong_count
from halfulp.interp.ir.operations import argument_types
from halfulp.running import find_entry

PROGRAM_FILES = (".mlir", ".mlirbc")
"""The ends of the names of programs."""


def execute(arguments: AccuracyArguments, sources: Sources) -> int:
    """Execute the command, and return its exit code. Raise HalfulpError."""
    if arguments.op.endswith(PROGRAM_FILES) or os.path.isfile(arguments.op):
        return _of_program(arguments, sources)
    given = first_given(arguments, ("function", "input"))
    if given is not None:
        return fail(f"{given} goes with a program")
    if arguments.type is None or arguments.against is None:
        return fail("--type and --against are needed for a function and an op")
    try:
        as_rounding(arguments.rounding)
    except ValueError as error:
        raise InputError(f"--rounding: {error}") from None
    if arguments.plot is not None:
        ending_of(arguments.plot)
    found = accuracy(
        arguments.op,
        arguments.type,
        arguments.against,
        source=arguments.source,
        rounding=arguments.rounding,
        profile=profile_named(arguments.profile),
        samples=arguments.samples,
        seed=arguments.seed,
        exhaustive=arguments.exhaustive,
        between=arguments.between,
        seconds=arguments.seconds,
        **properties_of(arguments.op, arguments.attr, sources),
    )
    if arguments.plot is not None:
        save(draw_accuracy(found, dark=arguments.dark), arguments.plot)
    if arguments.json:
        write(json.dumps({**found.to_dict(), "max_ulp_allowed": arguments.max_ulp}) + "\n")
    else:
        write("".join(f"{line}\n" for line in found.lines()) + _verdict(found, arguments.max_ulp))
    accepted = found.correct if arguments.max_ulp is None else found.within(arguments.max_ulp)
    if accepted and found.tally.unanswered:
        say(f"{found.tally.unanswered:,} arguments have no answer, so nothing is known of them")
        return UNSUPPORTED
    return SUCCESS if accepted else DIFFERENT


def _of_program(arguments: AccuracyArguments, sources: Sources) -> int:
    given = first_given(arguments, ("type", "source", "attr", "rounding", "exhaustive", "between", "plot"))
    if given is not None:
        return fail(f"{given} does not go with a program")
    module = read(arguments.op, sources).program()
    function = find_entry(module, arguments.function)
    types = argument_types(function)
    values = []
    if arguments.input:
        if len(arguments.input) != len(types):
            raise TypeMismatch(wrong_count(f"@{function.symbol_name}", "argument", types, len(arguments.input)))
        pairs = enumerate(zip(arguments.input, types, strict=True))
        values = [read_value(text, type_, f"<input {k}>", sources) for k, (text, type_) in pairs]
    found = program_accuracy(
        module,
        *values,
        against=[] if arguments.against is None else arguments.against.split(","),
        entry=arguments.function,
        samples=arguments.samples or 100,
        seed=arguments.seed,
        profile=profile_named(arguments.profile),
    )
    write(json.dumps(found.to_dict()) + "\n" if arguments.json else "".join(f"{line}\n" for line in found.lines()))
    if arguments.max_ulp is not None and not found.within(arguments.max_ulp):
        return DIFFERENT
    return UNSUPPORTED if any(not run.elements for run in found.runs) else SUCCESS


def _verdict(found: Accuracy, most: float | None) -> str:
    if most is None:
        return ""
    return f"{'within' if found.within(most) else 'NOT within'} {most:g} ulp\n"
