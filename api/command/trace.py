"""``halfulp trace``: every op of a run, with its values."""

from __future__ import annotations

import argparse
from typing import Any

from halfulp.command import running as cli_running
from halfulp.command.common import EXIT_CODES, Sources, positive, profile_named, read, report, write

_TRACE = """\
Without --html and --npz the trace goes to stdout, step by step, then the results as run prints them. Of values of more
than 16 elements it has the first ones, minimum, maximum, and counts of NaNs, infinities and poison. A program that
stops has a trace up to there.

  --html page.html   one page that needs nothing else: the source, and the steps of each line
  --npz DIR          DIR/values.npz: the raw codes of every value; DIR/index.json: op, place, type and poison of each
"""


def register(commands: Any, style: dict[str, Any]) -> None:
    """Add the command."""
    trace = commands.add_parser(
        "trace",
        help="run a function and show every op that runs",
        parents=[cli_running.options()],
        description="Run a function of an MLIR file, and show every op with its line, its values, and where poison "
        "was born.",
        epilog=f"{_TRACE}\n{cli_running.VALUES}\n{EXIT_CODES}",
        **style,
    )
    cli_running.function_options(trace)
    add = trace.add_argument
    add("--html", metavar="FILE", help="write the trace as a page")
    add("--npz", metavar="DIR", help="write all values of the trace")
    add("--max-rows", type=positive, metavar="N", help="how many steps are kept (default: 5000)")
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
