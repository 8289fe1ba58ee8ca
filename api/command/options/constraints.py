"""The options of ``halfulp constraints``."""

from __future__ import annotations

import argparse
from dataclasses import dataclass

from halfulp.command.console import EXIT_CODES
from halfulp.command.option import CommandHelp, option
from halfulp.command.options.calls import SOURCE_FILE, DiagnosticsOption

_ABOUT = """\
Evaluate every iree_codegen.smt.constraints of a file, and print a verdict for each of its asserts:

  halfulp constraints file.mlir --knob wg_m=32 --dim 128 --dim 256
  halfulp constraints file.mlir --dim n=256 --set 0 --model iree

holds, FAILS, or unknown, with the reasons: the knobs and dimensions that are not given, or what has no value, such as a
division by zero. An unknown verdict is no failure, unless --strict says so.

What is not given is taken from the module where it says it: dimensions that are constants; knobs from the
lowering_config of the op marked with the set's root_op, and from the function's translation_info.

models: smt     SMT-LIB: unbounded integers, Euclidean division
        solver  as smt, but a lookup gives its last value for any other key, as in what IREE gives to solvers
        iree    IREE's evaluator: 64 bits, truncating division, fewer ops; without --knob it evaluates only what the
                module's configuration fits
"""

_CODES = f"""\
constraints exits with 1 when an assert FAILS; with --strict also when one is unknown.

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
        help="a knob: a number, or of a one_of_knob the index or the spelling of an option; repeated for each",
    )
    dim: tuple[str, ...] = option(
        "--dim",
        action="append",
        metavar="[NAME=]VALUE",
        help="a problem dimension: in order, or by the name or position of the block argument; repeated for each",
    )
    set: int | None = option(
        "--set",
        type=_number_of_set,
        metavar="N",
        help="only constraints of this set of root ops (target = <set = N>)",
    )
    function: str | None = option("--function", metavar="NAME", help="only constraints in this function")
    model: str = option(
        "--model",
        default="smt",
        metavar="MODEL",
        help="smt (default), solver or iree; with ,FIELD=VALUE for other choices, as in smt,lookup_miss=last",
    )
    strict: bool = option("--strict", action="store_true", help="exit with 1 when a verdict is unknown, too")
    json: bool = option("--json", action="store_true", help="one JSON object per assert")


COMMAND = CommandHelp(ConstraintsArguments, _ABOUT, _CODES)
