"""The options of ``halfulp trace``."""

from __future__ import annotations

from dataclasses import dataclass

from halfulp.command.console import EXIT_CODES
from halfulp.command.option import CommandHelp, option, positive
from halfulp.command.options.calls import INPUTS, FunctionOptions

_TRACE = """\
Without --html and --npz the trace goes to stdout, step by step, then the results as run prints them. Of values of more
than 16 elements it has the first ones, minimum, maximum, and counts of NaNs, infinities and poison. A program that
stops has a trace up to there.

  --html page.html   one page that needs nothing else: the source, and the steps of each line
  --npz DIR          DIR/values.npz: the raw codes of every value; DIR/index.json: op, place, type and poison of each
"""


@dataclass(frozen=True, kw_only=True)
class TraceArguments(FunctionOptions):
    """The options of ``halfulp trace``."""

    html: str | None = option("--html", metavar="FILE", help="write the trace as a page")
    npz: str | None = option("--npz", metavar="DIR", help="write all values of the trace")
    max_rows: int | None = option(
        "--max-rows", type=positive, metavar="N", help="how many steps are kept (default: 5000)"
    )


COMMAND = CommandHelp(
    TraceArguments,
    "Run a function of an MLIR file, and show every op with its line, its values, and where poison was born.",
    f"{_TRACE}\n{INPUTS}\n{EXIT_CODES}",
)
