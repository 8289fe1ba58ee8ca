"""``halfulp explain-error``: walk back from an element of a result to where its error came from."""

from __future__ import annotations

import json

from halfulp.command import running
from halfulp.command.console import SUCCESS, write
from halfulp.command.options.explain_error import ExplainErrorArguments
from halfulp.command.running import run_keywords
from halfulp.command.sources import Sources, read
from halfulp.interp.ir.errors import InputError
from halfulp.run_options import TraceKeywords, run_options
from halfulp.traces.error_report import beside_reals
from halfulp.traces.error_text import json_record, story_lines


def execute(arguments: ExplainErrorArguments, sources: Sources) -> int:
    """Execute the command, and return its exit code. Raise HalfulpError."""
    module = read(arguments.file, sources).program()
    values = running.arguments_of(module, arguments, sources)
    options = run_options("trace", TraceKeywords, {**run_keywords(arguments), "entry": arguments.function})
    _, report = beside_reals(module, values, options)
    result = int(arguments.result) if arguments.result.isdecimal() else arguments.result
    element = None if arguments.element is None else _element(arguments.element)
    end = report.error_of(result, element)
    story = report.explain(result, end.element)
    if arguments.json:
        write(json.dumps({"end": json_record(end), "steps": [json_record(step) for step in story]}) + "\n")
    else:
        write("".join(f"{line}\n" for line in story_lines(end, story, chosen=element is not None)))
    return SUCCESS


def _element(text: str) -> tuple[int, ...]:
    try:
        return tuple([int(part) for part in text.strip("[]").split(",") if part.strip()])
    except ValueError:
        raise InputError(f"--element: {text!r} is no list of integers", hint="write --element=3,1") from None
