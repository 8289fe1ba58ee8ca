"""The options of ``halfulp explore``."""

from __future__ import annotations

from dataclasses import dataclass

from halfulp.command.option import CommandHelp
from halfulp.described import option

_ABOUT = """\
Write one HTML page that shows any rounding to any float type: click bits, type a number, choose the mode. Open the
file in a browser. It needs no server and no network.
"""


@dataclass(frozen=True, kw_only=True)
class ExploreArguments:
    """The options of ``halfulp explore``."""

    output: str = option(
        "-o", "--output", required=True, metavar="FILE", help="the file to write, or - for the standard output"
    )


COMMAND = CommandHelp(ExploreArguments, _ABOUT)
