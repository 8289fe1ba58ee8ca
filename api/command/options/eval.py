"""The options of ``halfulp eval``."""

from __future__ import annotations

from dataclasses import dataclass

from halfulp.command.console import EXIT_CODES
from halfulp.command.option import CommandHelp
from halfulp.command.options.calls import INPUTS, OUTPUTS, ResultOptions
from halfulp.described import option


@dataclass(frozen=True, kw_only=True)
class EvalArguments(ResultOptions):
    """The options of ``halfulp eval``."""

    op: str = option(metavar="OP", help="the full name of the op, such as arith.addf")
    to: str | None = option("--to", metavar="TYPE", help="for casts: the type, or element type, of the result")
    attr: tuple[str, ...] = option(
        "--attr",
        action="append",
        metavar="NAME[=VALUE]",
        help="a property: fastmath=nnan,ninf rounding=upward predicate=slt overflow=nsw exact; others in MLIR's syntax",
    )
    flags: bool = option(
        "--flags",
        action="store_true",
        help="show the exception flags: by name, for several elements as the sum of 1 inexact, 2 underflow, "
        "4 overflow, 8 division by zero, 16 invalid",
    )


COMMAND = CommandHelp(
    EvalArguments,
    "Evaluate one op: halfulp eval arith.addf --input=f8E4M3FN=1.375 --input=f8E4M3FN=2.25",
    f"{INPUTS}\n{OUTPUTS}\n{EXIT_CODES}",
)
