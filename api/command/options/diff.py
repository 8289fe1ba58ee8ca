"""The options of ``halfulp diff``."""

from __future__ import annotations

from dataclasses import dataclass

from halfulp.command.option import CommandHelp, duration
from halfulp.command.options.calls import SOURCE_FILE
from halfulp.command.options.programs import COMPARISON_CODES, PassOptions, ProgramOptions
from halfulp.described import option, positive

_DIFF = """\
Compare the results of a program, bit for bit. Only results that the language does not allow count as differences:

  halfulp diff program.mlir --against mlir-fold,mlir-native   halfulp and other implementations
  halfulp diff before.mlir after.mlir                         two versions, both run by halfulp
  halfulp diff before.mlir --pass-pipeline "builtin.module(canonicalize)"   mlir-opt makes the second version

Without --input, the arguments are generated. If they have at most 16 bits together, every combination is tested (for
other implementations: if -n is large enough), else corner cases and random values. For a difference, the command names
the first op whose result is wrong for its operands. If the first version, or the program in halfulp, has undefined
behaviour, every result is allowed.

Two versions of a function are compared by their results, by the contents of memrefs after the run, and by what they
print. The first line for each function says what was shown: proven (every input), proven (solver), tested (n inputs),
known differences, nothing was compared, or not compared.

With --uninterpreted, ops that no dialect has and functions without a body are unknown functions, the same ones in both
versions. Both versions must call them in the same order, with operands that agree. Their results are made up.
"""


@dataclass(frozen=True, kw_only=True)
class DiffArguments(PassOptions, ProgramOptions):
    """The options of ``halfulp diff``."""

    file: str = option(metavar="FILE", help=SOURCE_FILE)
    after: str | None = option(nargs="?", metavar="AFTER", help="the second version of the program")
    against: str | None = option(
        "--against", metavar="ORACLE[,ORACLE...]", help="the implementations to compare with, as for verify"
    )
    pass_pipeline: str | None = option(
        "--pass-pipeline", metavar="PIPELINE", help="make the second version with these passes of mlir-opt"
    )
    repeat: int = option(
        "--repeat",
        type=positive,
        default=1,
        metavar="N",
        help="run the passes N times; if they do not always print the same module, that is a difference",
    )
    keep: str | None = option(
        "--keep", metavar="DIR", help="write the second version into this directory, and name that file in messages"
    )
    report: str | None = option(
        "--report", metavar="FILE", help="write a report of the first difference, for the developers of the passes"
    )
    junit: str | None = option("--junit", metavar="FILE", help="write the results as a JUnit file, for CI")
    github: bool = option(
        "--github", action="store_true", help="print the results also as annotations of GitHub Actions"
    )
    n: int | None = option(
        "-n", type=positive, metavar="N", help="the number of inputs to generate (default: 100 for oracles, else 1000)"
    )
    assume: tuple[str, ...] = option(
        "--assume",
        action="append",
        metavar="RANGE",
        help='for two versions: the range of an argument, as in "%%0 in [0, 10]" (repeat it for more arguments)',
    )
    vscale: int | None = option(
        "--vscale", type=positive, metavar="N", help="for two versions: the factor of the size of scalable vectors"
    )
    uninterpreted: bool = option(
        "--uninterpreted",
        action="store_true",
        help="for two versions: run ops that no dialect has, and calls of declarations, as unknown functions",
    )
    max_steps: int | None = option(
        "--max-steps",
        type=positive,
        metavar="N",
        help="for two versions: the largest number of ops of one run (default: 200000)",
    )
    require_all: bool = option(
        "--require-all",
        action="store_true",
        help="for two versions: exit with 3 if any function was not compared, not only if none was",
    )
    prove_seconds: float | None = option(
        "--prove-seconds",
        type=duration,
        metavar="S",
        help="for two versions: the time for the proof of one function; 0: no proof (default: 5 if z3 is installed)",
    )
    json: bool = option("--json", action="store_true", help="print one JSON object per oracle or function")


COMMAND = CommandHelp(DiffArguments, _DIFF, COMPARISON_CODES)

PASS_OPTIONS = ("repeat", "keep", "report")
"""Options that need --pass-pipeline."""
