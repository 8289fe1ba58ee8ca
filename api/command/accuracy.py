"""``halfulp accuracy``: measure how wrong an implementation of a function or an op is."""

from __future__ import annotations

import json

from halfulp import plot
from halfulp.accuracies import accuracy
from halfulp.command.console import DIFFERENT, SUCCESS, UNSUPPORTED, say, write
from halfulp.command.options.accuracy import AccuracyArguments
from halfulp.command.semantics import profile_named, properties_of
from halfulp.command.sources import Sources
from halfulp.conformance.accuracy.report import Accuracy
from halfulp.fp_formats.policy import as_rounding
from halfulp.interp.ir.errors import InputError


def execute(arguments: AccuracyArguments, sources: Sources) -> int:
    """Execute the command, and return its exit code. Raise HalfulpError."""
    try:
        as_rounding(arguments.rounding)
    except ValueError as error:
        raise InputError(f"--rounding: {error}") from None
    if arguments.plot is not None:
        plot.ending_of(arguments.plot)
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
        plot.save(plot.accuracy(found, dark=arguments.dark), arguments.plot)
    if arguments.json:
        write(json.dumps({**found.to_dict(), "max_ulp_allowed": arguments.max_ulp}) + "\n")
    else:
        write("".join(f"{line}\n" for line in found.lines()) + _verdict(found, arguments.max_ulp))
    accepted = found.correct if arguments.max_ulp is None else found.within(arguments.max_ulp)
    if accepted and found.tally.unanswered:
        say(f"{found.tally.unanswered:,} arguments have no answer, so nothing is known of them")
        return UNSUPPORTED
    return SUCCESS if accepted else DIFFERENT


def _verdict(found: Accuracy, most: float | None) -> str:
    if most is None:
        return ""
    return f"{'within' if found.within(most) else 'NOT within'} {most:g} ulp\n"
