"""The options of ``halfulp explain-error``."""

from __future__ import annotations

from dataclasses import dataclass

from halfulp.command.console import EXIT_CODES
from halfulp.command.option import CommandHelp
from halfulp.command.options.calls import INPUTS, FunctionOptions
from halfulp.described import option

_STORY = """\
The program runs beside exact real numbers. From an element of a result the command walks back to where its error came
from, always to the operand that brings the most of it. All errors are in ulp of the result, computed less exact.

  halfulp explain-error softmax.mlir --input=@x.npy --result=0 --element=3,1
"""


@dataclass(frozen=True, kw_only=True)
class ExplainErrorArguments(FunctionOptions):
    """The options of ``halfulp explain-error``."""

    result: str = option(
        "--result",
        default="0",
        metavar="NAME",
        help="the result: its number, or argument[1] for what memory holds after the run (default: 0)",
    )
    element: str | None = option(
        "--element", metavar="I,J,...", help="the element (default: that with the largest error)"
    )
    json: bool = option("--json", action="store_true", help="print one JSON object")


COMMAND = CommandHelp(
    ExplainErrorArguments,
    "Walk back from an element of a result to where its error came from.",
    f"{_STORY}\n{INPUTS}\n{EXIT_CODES}",
)
