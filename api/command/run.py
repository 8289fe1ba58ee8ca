"""``halfulp run``: run a function of an MLIR file."""

from __future__ import annotations

from halfulp.command import running
from halfulp.command.console import fail, worst
from halfulp.command.options.run import RunArguments
from halfulp.command.running import run_keywords
from halfulp.command.sources import Sources, read, report
from halfulp.interp.ir.errors import HalfulpError
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
                given = running.given(module, arguments, sources)
                results = run(module, *given.values, entry=arguments.function, **keywords)
                codes.append(running.deliver(results, given.expected, arguments, given=given.values))
        except HalfulpError as error:
            codes.append(report(error, sources))
    return worst(codes)
