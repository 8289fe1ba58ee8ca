"""``halfulp run``: run a function of an MLIR file."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from halfulp.command import running
from halfulp.command.console import fail, worst, write
from halfulp.command.options.run import RunArguments
from halfulp.command.running import run_keywords
from halfulp.command.sources import Sources, read, report
from halfulp.interp.ir.errors import HalfulpError, InputError
from halfulp.interp.ir.operations import Module
from halfulp.interp.values.value import Value
from halfulp.run_options import RunKeywords, run_options
from halfulp.running import run


def execute(arguments: RunArguments, sources: Sources) -> int:
    """Execute the command, and return its exit code. Raise HalfulpError."""
    keywords = run_keywords(arguments)
    running.check_outputs(arguments)
    program = read(arguments.file, sources)
    parts = program.parts(arguments.split_input_file)
    if len(parts) > 1 and arguments.output:
        return fail(f"--output takes the results of one run, but the file has {len(parts)} parts")
    codes = []
    for part in parts:
        try:
            module = program.program(part)
            if module.body or len(parts) == 1:
                given = running.given(module, arguments, sources, arguments.signature)
                results, lines = _run(module, given.values, arguments, keywords)
                codes.append(running.deliver(results, given.expected, arguments, given=given.values))
                write("".join(f"{line}\n" for line in lines))
        except HalfulpError as error:
            codes.append(report(error, sources))
    return worst(codes)


def _run(
    module: Module, values: Sequence[Any], arguments: RunArguments, keywords: dict[str, Any]
) -> tuple[tuple[Value, ...], Iterable[str]]:
    """Return the results, and what is known of their errors or flags as lines."""
    shadow = arguments.shadow or arguments.shadow_in
    if not (shadow or arguments.flags):
        return run(module, *values, entry=arguments.function, **keywords), ()
    options = run_options("run", RunKeywords, {**keywords, "entry": arguments.function})
    if not shadow:
        from halfulp.traces import error_report as flag_report

        found = flag_report.flags_of_run(module, values, options)
        return found.results, found.lines()
    if arguments.flags:
        raise InputError("--flags and --shadow cannot be combined", hint="give one of them at a time")
    from halfulp.traces import error_report

    results, errors = error_report.beside_reals(module, values, options, arguments.shadow_in or "")
    return results, errors.lines()
