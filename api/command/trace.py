"""``halfulp trace``: every op of a run, with its values."""

from __future__ import annotations

import argparse
from typing import Any

from halfulp.command import running as cli_running
from halfulp.command.common import EXIT_CODES, Sources, positive, profile_named, read, report, write

_TRACE = """\
Without --html and --npz the trace goes to stdout, step by step. The results follow, as run prints them. For a value of
more than 16 elements, the trace shows the first elements, the minimum, the maximum, and the counts of NaNs, infinities
and poison. If the program stops early, the trace ends there.

  --html page.html   one page without other files: the source, and the steps of each line
  --npz DIR          DIR/values.npz: the raw codes of every value; DIR/index.json: op, place, type and poison of each
"""


def register(commands: Any, style: dict[str, Any]) -> None:
    """Add the command."""
    trace = commands.add_parser(
        "trace",
        help="run a function and show every op that runs",
        parents=[cli_running.options()],
        description="Run a function of an MLIR file. Show every op that runs: its line, its values, and the poison "
        "that it creates.",
        epilog=f"{_TRACE}\n{cli_running.VALUES}\n{EXIT_CODES}",
        **style,
    )
    cli_running.function_options(trace)
    add = trace.add_argument
    add("--html", metavar="FILE", help="write the trace as an HTML page")
    add("--npz", metavar="DIR", help="write all values of the trace to this folder")
    add("--max-rows", type=positive, metavar="N", help="the number of steps to keep (default: 5000)")
    trace.set_defaults(command=_trace)


def _trace(arguments: argparse.Namespace) -> int:
    from halfulp.files import write_file
    from halfulp.interp.ir.errors import HalfulpError
    from halfulp.traces.text import step_lines
    from halfulp.traces.trace import MOST_ROWS, trace
    from halfulp.traces.values import summary

    sources = Sources(arguments)
    try:
        profile = profile_named(arguments.profile)
        cli_running.check_outputs(arguments)
        module = read(arguments.file, sources).module()
        given = cli_running.given(module, arguments, sources)
        traced = trace(
            module,
            *given.values,
            profile=profile,
            limit=arguments.max_rows or MOST_ROWS,
            npz=arguments.npz,
            **given.keywords,
        )
        if arguments.html is not None:
            write_file(arguments.html, traced.html().encode("utf-8"))
    except HalfulpError as error:
        return report(error, sources)
    if arguments.html is None and arguments.npz is None:
        write("".join(f"{line}\n" for line in step_lines(traced)))
    if traced.error is not None:
        return report(traced.error, sources)
    return cli_running.deliver(traced.results, given.expected, arguments, summary, given.values)
