"""The command ``halfulp constraints``: whether the constraints of a module hold for given dimensions and knobs."""

from __future__ import annotations

import argparse
import json
from typing import TYPE_CHECKING, Any

from halfulp.command.common import (
    DIFFERENT,
    EXIT_CODES,
    SUCCESS,
    UNPRINTABLE,
    Sources,
    diagnostics_option,
    read,
    report,
    say,
    write,
)

if TYPE_CHECKING:
    from halfulp.codegen.constraints import Constraints
    from halfulp.interp.dialects.iree_codegen.verdicts import Verdict

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

# A line per assert, whatever its message has.
_ONE_LINE = {**UNPRINTABLE, ord("\n"): " "}
MAX_DIGITS = 4000


def register(commands: Any, style: dict[str, Any]) -> None:
    """Add the command to a parser's subcommands."""
    constraints = commands.add_parser(
        "constraints",
        help="check the asserts of constraints",
        description=_ABOUT,
        epilog=_CODES,
        **style,
    )
    add = constraints.add_argument
    add("file", metavar="FILE", help="MLIR text or bytecode, or - for the standard input")
    add(
        "--knob",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="a knob: a number; for a one_of_knob, the index or the spelling of an option. Repeat it for each knob",
    )
    add(
        "--dim",
        action="append",
        default=[],
        metavar="[NAME=]VALUE",
        help="a problem dimension: in order, or by the name or position of its block argument. Repeat it for each",
    )
    add(
        "--set",
        type=_number_of_set,
        metavar="N",
        help="check only constraints of this set of root ops (target = <set = N>)",
    )
    add("--function", metavar="NAME", help="check only constraints in this function")
    add(
        "--model",
        default="smt",
        metavar="MODEL",
        help="smt (default), solver or iree; change single choices with ,FIELD=VALUE, as in smt,lookup_miss=last",
    )
    add("--strict", action="store_true", help="exit with 1 also if a result is unknown")
    add("--json", action="store_true", help="print one JSON object per assert")
    diagnostics_option(constraints)
    constraints.set_defaults(command=_constraints)


def _number_of_set(text: str) -> int:
    number = _integer(text)
    if number is None:
        raise argparse.ArgumentTypeError(f"{text!r} is no number")
    return number


def _integer(text: str) -> int | None:
    """A decimal number; None for anything else."""
    digits = text.removeprefix("-")
    return int(text) if digits.isascii() and digits.isdecimal() and len(digits) <= MAX_DIGITS else None


def _constraints(arguments: argparse.Namespace) -> int:
    from halfulp.codegen.constraints import constraints
    from halfulp.interp.ir.errors import HalfulpError, InputError
    from halfulp.semantics.smt import as_model

    sources = Sources(arguments)
    try:
        try:
            model = as_model(arguments.model)
        except ValueError as error:
            raise InputError(f"--model: {error}") from None
        knobs, dims = _knobs(arguments.knob), _dims(arguments.dim)
        found = constraints(
            read(arguments.file, sources).module(),
            knobs=knobs or None,
            dims=dims,
            model=model,
            entry=arguments.function,
            target=arguments.set,
        )
    except HalfulpError as error:
        return report(error, sources)
    failing = ("FAILS", "unknown") if arguments.strict else ("FAILS",)
    code = SUCCESS
    for one in found:
        for verdict in one.verdicts:
            write((_record(one, verdict) if arguments.json else str(verdict).translate(_ONE_LINE)) + "\n")
            code = DIFFERENT if verdict.verdict in failing else code
        if not sources.json:
            _note(one)
    return code


def _record(one: Constraints, verdict: Verdict) -> str:
    """A verdict as a JSON object."""
    from halfulp.interp.ir.errors import spell_place

    known = {
        "function": one.function,
        "set": one.target,
        "location": spell_place(verdict.location) or None,
        "verdict": verdict.verdict,
        "text": verdict.text,
        "values": verdict.values,
        "because": verdict.because,
    }
    return json.dumps(known)


def _note(one: Constraints) -> None:
    """Say on stderr what is remarkable about constraints as a whole."""
    from halfulp.interp.ir.errors import spell_place

    place = spell_place(one.location)
    where = f"{place}: " if place else ""
    if not one.verdicts:
        say(f"{where}note: these constraints assert nothing")
    elif one.unconfigured is not None and any(value is None for _, value in one.knobs):
        say(f"{where}note: no knob is taken from the module: {one.unconfigured}")


def _knobs(given: list[str]) -> dict[str, int | str]:
    """Raises InputError for what is no NAME=VALUE, or given twice."""
    from halfulp.interp.ir.errors import InputError

    knobs: dict[str, int | str] = {}
    for text in given:
        name, equals, value = (part.strip() for part in text.partition("="))
        if not name or not equals or not value:
            raise InputError(f"--knob {text}: write --knob NAME=VALUE")
        if name in knobs:
            raise InputError(f"--knob {name} is given twice")
        number = _integer(value)
        knobs[name] = value if number is None else number
    return knobs


def _dims(given: list[str]) -> dict[str | int, int | None] | list[int | None]:
    """Those without a name are numbered. Raises InputError for what is no number, or given twice."""
    from halfulp.interp.ir.errors import InputError

    ordered: list[int | None] = []
    named: dict[str | int, int | None] = {}
    for text in given:
        name, equals, value = (part.strip() for part in text.rpartition("="))
        number = _integer(value)
        if number is None or (equals and not name):
            raise InputError(f"--dim {text}: write --dim NUMBER or --dim NAME=NUMBER")
        if not equals:
            ordered.append(number)
        elif name in named:
            raise InputError(f"--dim {name} is given twice")
        else:
            named[name] = number
    return {**dict(enumerate(ordered)), **named} if named else ordered
