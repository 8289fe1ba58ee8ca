"""The options of ``halfulp trace``."""

from __future__ import annotations

from dataclasses import dataclass

from halfulp.command.console import EXIT_CODES
from halfulp.command.option import CommandHelp
from halfulp.command.options.calls import BATCHES, INPUTS, OUTPUTS, FunctionResultOptions
from halfulp.described import option, positive

_TRACE = """\
Without --html and --npz the trace goes to stdout, step by step. The results follow, as run prints them. For a value of
more than 16 elements, the trace shows the first elements, the minimum, the maximum, and the counts of NaNs, infinities
and poison. If the program stops early, the trace ends there.

  --html page.html   one page without other files: the source, and the steps of each line
  --npz DIR          DIR/values.npz: the raw codes of every value; DIR/index.json: op, place, type and poison of each
"""


@dataclass(frozen=True, kw_only=True)
class TraceArguments(FunctionResultOptions):
    """The options of ``halfulp trace``."""

    html: str | None = option("--html", metavar="FILE", help="write the trace as an HTML page")
    npz: str | None = option("--npz", metavar="DIR", help="write all values of the trace to this folder")
    shadow: bool = option(
        "--shadow", action="store_true", help="run beside exact real numbers, and show the errors of ops and results"
    )
    shadow_in: str | None = option(
        "--shadow-in",
        choices=("f64", "f128"),
        help="the same with numbers of that format for the exact ones: cheaper, and their own errors are not known",
    )
    max_rows: int | None = option(
        "--max-rows", type=positive, metavar="N", help="the number of steps to keep (default: 5000)"
    )


COMMAND = CommandHelp(
    TraceArguments,
    ("Run a function of an MLIR file. Show every op that runs: its line, its values, and the poison that it creates."),
    f"{_TRACE}\n{INPUTS}{BATCHES}\n{OUTPUTS}\n{EXIT_CODES}",
)
