"""The command ``halfulp explore``: one page of HTML that shows any rounding."""

from __future__ import annotations

import argparse
import sys
from typing import Any

from halfulp.command.common import EXIT_CODES, SUCCESS, Sources, report

_ABOUT = """\
Write one HTML page that shows any rounding to any float type: click bits, type a number, choose the mode. Open the
file in a browser. It needs no server and no network.
"""


def register(commands: Any, style: dict[str, Any]) -> None:
    """Add the command to a parser's subcommands."""
    explore = commands.add_parser(
        "explore",
        help="write a page that shows any rounding: halfulp explore -o page.html",
        description=_ABOUT,
        epilog=EXIT_CODES,
        **style,
    )
    explore.add_argument(
        "-o", "--output", required=True, metavar="FILE", help="the file to write, or - for the standard output"
    )
    explore.set_defaults(command=_explore)


def _explore(arguments: argparse.Namespace) -> int:
    from halfulp.explore.page import page
    from halfulp.files import write_file
    from halfulp.interp.ir.errors import HalfulpError

    data = page().encode()
    if arguments.output == "-":
        sys.stdout.buffer.write(data)
        return SUCCESS
    try:
        write_file(arguments.output, data)
    except HalfulpError as error:
        return report(error, Sources(arguments))
    return SUCCESS
