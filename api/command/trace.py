"""``halfulp trace``: run a function and show every op that runs."""

from __future__ import annotations

from halfulp.command import running
from halfulp.command.console import write
from halfulp.command.options.trace import TraceArguments
from halfulp.command.running import run_keywords
from halfulp.command.sources import Sources, read, report
from halfulp.inputs import write_file
from halfulp.traces.page import step_lines
from halfulp.traces.trace import MOST_ROWS, trace
from halfulp.traces.values import summary


def execute(arguments: TraceArguments, sources: Sources) -> int:
    """Execute the command, and return its exit code. Raise HalfulpError."""
    keywords = run_keywords(arguments)
    running.check_outputs(arguments)
    module = read(arguments.file, sources).program()
    given = running.given(module, arguments, sources)
    traced = trace(
        module,
        *given.values,
        entry=arguments.function,
        limit=arguments.max_rows or MOST_ROWS,
        npz=arguments.npz,
        shadow=arguments.shadow_in or arguments.shadow,
        **keywords,
    )
    if arguments.html is not None:
        write_file(arguments.html, traced.html().encode("utf-8"))
    if arguments.html is None and arguments.npz is None:
        write("".join(f"{line}\n" for line in step_lines(traced)))
    if traced.error is not None:
        return report(traced.error, sources)
    code = running.deliver(traced.results, given.expected, arguments, summary, given.values)
    if arguments.html is None and arguments.npz is None and traced.errors is not None:
        write("".join(f"{line}\n" for line in traced.errors.lines()))
    return code
