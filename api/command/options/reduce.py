"""The options of ``halfulp reduce``."""

from __future__ import annotations

from dataclasses import dataclass

from halfulp.command.option import CommandHelp
from halfulp.command.options.calls import SOURCE_FILE
from halfulp.command.options.programs import PassOptions, ProgramOptions
from halfulp.described import option, positive

_REDUCE = """\
Make a program smaller, as long as the same op differs, on the same types, for the same known reason (or for none):

  halfulp reduce program.mlir --against mlir-fold -o small.mlir
  halfulp reduce program.mlir --pass-pipeline "builtin.module(canonicalize)"
  halfulp reduce program.mlir --test ./interesting.sh     exit code 0 of the script: the file is interesting

With --pass-pipeline, the passes must still change a result in the same way, for the same arguments. If mlir-opt
crashes, it must still crash in the same place.

With --undefined, the command looks for another thing: undefined behaviour for which the implementation has a value.

The command removes functions, results and ops, reduces shapes to the element that differs, and makes values simpler.
The printed program is complete: its arguments become constants, if the difference remains with them. Comments show the
difference, and the command that reproduces it.
"""

_CODES = "exit codes: 0 reduced, 2 usage, parse, verify or I-O error, 3 nothing differs\n"


@dataclass(frozen=True, kw_only=True)
class ReduceArguments(ProgramOptions, PassOptions):
    """The options of ``halfulp reduce``."""

    file: str = option(metavar="FILE", help=SOURCE_FILE)
    against: str | None = option("--against", metavar="ORACLE", help="the implementation whose difference must remain")
    undefined: bool = option(
        "--undefined",
        action="store_true",
        help="instead of a difference, keep undefined behaviour for which the implementation has a value",
    )
    pass_pipeline: str | None = option(
        "--pass-pipeline", metavar="PIPELINE", help="the passes of mlir-opt whose difference must remain"
    )
    test: str | None = option(
        "--test", metavar="PROGRAM", help="a program that gets a file, and exits with 0 if the file is interesting"
    )
    n: int = option(
        "-n",
        type=positive,
        default=100,
        metavar="N",
        help="the number of inputs to generate, to find one that differs (default: 100)",
    )
    max_tests: int = option(
        "--max-tests",
        type=positive,
        default=2000,
        metavar="N",
        help="the largest number of programs to try (default: 2000)",
    )
    output: str | None = option("-o", metavar="FILE", help="write the program to this file instead of stdout")


COMMAND = CommandHelp(ReduceArguments, _REDUCE, _CODES)
