"""The options of ``halfulp diff``."""

from __future__ import annotations

from dataclasses import dataclass

from halfulp.command.option import CommandHelp, option, positive
from halfulp.command.options.calls import SOURCE_FILE
from halfulp.command.options.programs import COMPARISON_CODES, ProgramOptions

_DIFF = """\
Compare what a program computes, bit for bit, by what the language allows:

  halfulp diff program.mlir --against mlir-fold,mlir-native   here and by other implementations
  halfulp diff before.mlir after.mlir                         two versions, both run here
  halfulp diff before.mlir --pass-pipeline "builtin.module(canonicalize)"   the second made by mlir-opt

Without --input the arguments are made up: every combination where they have at most 16 bits together (for other
implementations: where -n suffices), else corner cases and random ones. A difference is traced to the first op that is
wrong for the operands it was given. Where the first version, or the program here, has undefined behaviour, anything is
allowed.
"""


@dataclass(frozen=True, kw_only=True)
class DiffArguments(ProgramOptions):
    """The options of ``halfulp diff``."""

    file: str = option(metavar="FILE", help=SOURCE_FILE)
    after: str | None = option(nargs="?", metavar="AFTER", help="a second version of it")
    against: str | None = option(
        "--against", metavar="ORACLE[,ORACLE...]", help="the implementations to ask, as for verify"
    )
    pass_pipeline: str | None = option(
        "--pass-pipeline", metavar="PIPELINE", help="make the second version with mlir-opt"
    )
    n: int | None = option(
        "-n", type=positive, metavar="N", help="inputs to make up (default: 100 for oracles, else 1000)"
    )
    json: bool = option("--json", action="store_true", help="one JSON object per oracle or function")


COMMAND = CommandHelp(DiffArguments, _DIFF, COMPARISON_CODES)
