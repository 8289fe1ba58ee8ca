"""The options of ``halfulp constraints``."""

from __future__ import annotations

import argparse
from dataclasses import dataclass

from halfulp.command.console import EXIT_CODES
from halfulp.command.option import CommandHelp
from halfulp.command.options.calls import SOURCE_FILE, DiagnosticsOption
from halfulp.described import option

_ABOUT = """\
Evaluate every iree_codegen.smt.constraints of a file, and print a result for each of its asserts:

  halfulp constraints file.mlir --knob wg_m=32 --dim 128 --dim 256
  halfulp constraints file.mlir --dim n=256 --set 0 --model iree

A result is holds, FAILS or unknown. For unknown, the reasons follow: the knobs and dimensions that are not given, or an
expression without a value, such as a division by zero. Unknown is not a failure, except with --strict.

Values that are not given come from the module, if it has them: constant dimensions; knobs in the lowering_config of the
op that is marked with the root_op of the set, and in the translation_info of the function.

models: smt     SMT-LIB: unbounded integers, Euclidean division
        solver  like smt, but a lookup with any other key gives its last value, as in IREE's formulas for solvers
        iree    IREE's evaluator: 64 bits, truncating division, fewer ops; without --knob it evaluates only constraints
                that the configuration of the module fits
"""

_CODES = f"""\
constraints exits with 1 if an assert FAILS, and with --strict also if one is unknown.

{EXIT_CODES}"""

MAX_DIGITS = 4000


def _number_of_set(text: str) -> int:
    number = integer(text)
    if number is None:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number")
    return number


def integer(text: str) -> int | None:
    """Read a decimal number; return None for anything else."""
    digits = text.removeprefix("-")
    return int(text) if digits.isascii() and digits.isdecimal() and len(digits) <= MAX_DIGITS else None


@dataclass(frozen=True, kw_only=True)
class ConstraintsArguments(DiagnosticsOption):
    """The options of ``halfulp constraints``."""

    file: str = option(metavar="FILE", help=SOURCE_FILE)
    knob: tuple[str, ...] = option(
        "--knob",
        action="append",
        metavar="NAME=VALUE",
        help="a knob: a number; for a one_of_knob, the index or the spelling of an option. Repeat it for each knob",
    )
    dim: tuple[str, ...] = option(
        "--dim",
        action="append",
        metavar="[NAME=]VALUE",
        help="a problem dimension: in order, or by the name or position of its block argument. Repeat it for each",
    )
    set: int | None = option(
        "--set",
        type=_number_of_set,
        metavar="N",
        help="check only constraints of this set of root ops (target = <set = N>)",
    )
    function: str | None = option("--function", metavar="NAME", help="check only constraints in this function")
    model: str = option(
        "--model",
        default="smt",
        metavar="MODEL",
        help="smt (default), solver or iree; change single choices with ,FIELD=VALUE, as in smt,lookup_miss=last",
    )
    strict: bool = option("--strict", action="store_true", help="exit with 1 also if a result is unknown")
    json: bool = option("--json", action="store_true", help="print one JSON object per assert")


COMMAND = CommandHelp(ConstraintsArguments, _ABOUT, _CODES)
