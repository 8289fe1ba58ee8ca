"""The options of ``halfulp reduce``."""

from __future__ import annotations

from dataclasses import dataclass

from halfulp.command.option import CommandHelp, option, positive
from halfulp.command.options.calls import SOURCE_FILE
from halfulp.command.options.programs import ProgramOptions

_REDUCE = """\
Shrink a program while it differs in the same op, on the same types, for the same known reason or none:

  halfulp reduce program.mlir --against mlir-fold -o small.mlir
  halfulp reduce program.mlir --test ./interesting.sh     exit code 0 of the script: the file it is given is interesting

With --undefined, what stays is that the implementation has a value for a program without a meaning.

Functions, results and ops are removed, shapes shrink to the element that differs, values become simpler. What is
printed stands alone: its arguments are constants where the difference stays with them, and comments say what differs
and which command shows it.
"""

_CODES = "exit codes: 0 reduced, 2 usage, parse, verify or I-O error, 3 nothing differs\n"


@dataclass(frozen=True, kw_only=True)
class ReduceArguments(ProgramOptions):
    """The options of ``halfulp reduce``."""

    file: str = option(metavar="FILE", help=SOURCE_FILE)
    against: str | None = option("--against", metavar="ORACLE", help="the implementation whose difference is to stay")
    undefined: bool = option(
        "--undefined",
        action="store_true",
        help="keep a value for what is undefined here, instead of a difference",
    )
    test: str | None = option(
        "--test", metavar="PROGRAM", help="a program that exits with 0 if the file it is given is interesting"
    )
    n: int = option("-n", type=positive, default=100, metavar="N", help="inputs to make up until one differs")
    max_tests: int = option("--max-tests", type=positive, default=2000, metavar="N", help="programs to try")
    output: str | None = option("-o", metavar="FILE", help="write the program there instead of to stdout")


COMMAND = CommandHelp(ReduceArguments, _REDUCE, _CODES)
