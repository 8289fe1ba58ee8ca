"""``halfulp iree``: judge the constraints of IREE's tuner, and count the workgroups of a function."""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from dataclasses import dataclass

from halfulp.codegen.constraints import Constraints, constraints
from halfulp.codegen.workgroups import Workgroups, find_dispatch, named, workgroups
from halfulp.command import calls
from halfulp.command.calls import SOURCE_FILE, CallOptions, DiagnosticsOption, SemanticsOptions, run_keywords
from halfulp.command.console import DIFFERENT, EXIT_CODES, SUCCESS, say, write
from halfulp.command.execution import Sources, read
from halfulp.command.option import Command
from halfulp.described import argument, flag, option, repeated
from halfulp.interp.dialects.iree_codegen.verdicts import ConstraintVerdict
from halfulp.interp.ir.errors import UNPRINTABLE, InputError, TypeMismatch, spell_place, wrong_count
from halfulp.interp.ir.operations import Module, argument_types
from halfulp.semantics.smt import as_model

_CONSTRAINTS = """\
Evaluate every iree_codegen.smt.constraints of a file, and print a result for each of its asserts:

  halfulp iree constraints file.mlir --knob wg_m=32 --dim 128 --dim 256
  halfulp iree constraints file.mlir --dim n=256 --set 0 --model iree

A result is holds, FAILS or unknown. For unknown, the reasons follow: the knobs and dimensions that are not given, or an
expression without a value, such as a division by zero. Unknown is not a failure, except with --strict.

Values that are not given come from the module, if it has them: constant dimensions; knobs in the lowering_config of the
op that is marked with the root_op of the set, and in the translation_info of the function.

models: smt     SMT-LIB: unbounded integers, Euclidean division
        solver  like smt, but a lookup with any other key gives its last value, as in IREE's formulas for solvers
        iree    IREE's evaluator: 64 bits, truncating division, fewer ops; without --knob it evaluates only constraints
                that the configuration of the module fits
"""

_CONSTRAINTS_CODES = f"""\
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
    """The options of ``halfulp iree constraints``."""

    file: str = argument("FILE", SOURCE_FILE)
    knob: tuple[str, ...] = repeated(
        "NAME=VALUE",
        "a knob: a number; for a one_of_knob, the index or the spelling of an option. Repeat it for each knob",
    )
    dim: tuple[str, ...] = repeated(
        "[NAME=]VALUE",
        "a problem dimension: in order, or by the name or position of its block argument. Repeat it for each",
    )
    set: int | None = option(
        "N", "check only constraints of this set of root ops (target = <set = N>)", type=_number_of_set
    )
    function: str | None = option("NAME", "check only constraints in this function")
    model: str = option(
        "MODEL",
        "smt (default), solver or iree; change single choices with ,FIELD=VALUE, as in smt,lookup_miss=last",
        "smt",
    )
    strict: bool = flag("exit with 1 also if a result is unknown")
    json: bool = flag("print one JSON object per assert")


# One line for each assert, even where its message has several.
_ONE_LINE = {**UNPRINTABLE, ord("\n"): " "}


def judge_constraints(arguments: ConstraintsArguments, sources: Sources) -> int:
    """Execute the command, and return its exit code. Raise HalfulpError."""
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
        function=arguments.function,
        target=arguments.set,
    )
    failing = ("FAILS", "unknown") if arguments.strict else ("FAILS",)
    code = SUCCESS
    for one in found:
        for verdict in one.verdicts:
            write((_verdict_record(one, verdict) if arguments.json else str(verdict).translate(_ONE_LINE)) + "\n")
            code = DIFFERENT if verdict.verdict in failing else code
        if not sources.json:
            _note(one)
    return code


CONSTRAINTS = Command(ConstraintsArguments, judge_constraints, _CONSTRAINTS, _CONSTRAINTS_CODES)


def _verdict_record(one: Constraints, verdict: ConstraintVerdict) -> str:
    """Return a verdict as a JSON object."""
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
    """Print on stderr what is unusual about these constraints as a whole."""
    place = spell_place(one.location)
    where = f"{place}: " if place else ""
    if not one.verdicts:
        say(f"{where}note: these constraints assert nothing")
    elif one.unconfigured is not None and any(value is None for _, value in one.knobs):
        say(f"{where}note: no knob is taken from the module: {one.unconfigured}")


def _knobs(given: Sequence[str]) -> dict[str, int | str]:
    """Return the values of knobs by name. Raise InputError for a text that is not NAME=VALUE, and for a name that is
    given twice.
    """
    knobs: dict[str, int | str] = {}
    for text in given:
        name, equals, value = (part.strip() for part in text.partition("="))
        if not name or not equals or not value:
            raise InputError(f"--knob {text}: write --knob NAME=VALUE")
        if name in knobs:
            raise InputError(f"--knob {name} is given twice")
        number = integer(value)
        knobs[name] = value if number is None else number
    return knobs


def _dims(given: Sequence[str]) -> dict[str | int, int | None] | list[int | None]:
    """Return the dimensions, by name or in order. Raise InputError for a text that is not a number, and for a dimension
    that is given twice.
    """
    ordered: list[int | None] = []
    named: dict[str | int, int | None] = {}
    for text in given:
        name, equals, value = (part.strip() for part in text.rpartition("="))
        number = integer(value)
        if number is None or (equals and not name):
            raise InputError(f"--dim {text}: write --dim NUMBER or --dim NAME=NUMBER")
        if not equals:
            ordered.append(number)
        elif name in named:
            raise InputError(f"--dim {name} is given twice")
        else:
            named[name] = number
    return {**dict(enumerate(ordered)), **named} if named else ordered


# --- workgroups -------------------------------------------------------------------------------------------------------


_WORKGROUPS = """\
The iree_codegen.dispatch_config of the function computes the count from the workload. If there is none, the function
runs, and each iree_codegen.workgroup_count_hint that runs gives a count. The result is the largest count in each
dimension.

  halfulp iree workgroups dispatch.mlir --function=matmul --input=128 --input=128 --input=1000
  count: 4 1 1
  workgroup_size: 64 16 1
  subgroup_size: 64

--input: the workload values of the dispatch_config, or the arguments of the function, as for halfulp run
"""


@dataclass(frozen=True, kw_only=True)
class WorkgroupsArguments(CallOptions, SemanticsOptions):
    """The options of ``halfulp iree workgroups``."""

    file: str = argument("FILE", SOURCE_FILE)
    function: str | None = option(
        "NAME", "the function (default: the only one with a dispatch_config, or the only public one, or @main)"
    )
    input: tuple[str, ...] = repeated("VALUE", "the next workload value or argument")
    json: bool = flag("print one JSON object")


def count_workgroups(arguments: WorkgroupsArguments, sources: Sources) -> int:
    """Execute the command, and return its exit code. Raise HalfulpError."""
    found = _workgroups(read(arguments.file, sources).module(), arguments, sources)
    known = found.known()
    if arguments.json:
        write(json.dumps(known) + "\n")
        return SUCCESS
    for name, value in known.items():
        write(f"{name}: {' '.join(map(str, value)) if isinstance(value, tuple) else value}\n")
    return SUCCESS


WORKGROUPS = Command(
    WorkgroupsArguments,
    count_workgroups,
    "Compute the number of workgroups of a function, from its dispatch_config or its hints.",
    f"{_WORKGROUPS}\n{EXIT_CODES}",
)


def _workgroups(module: Module, arguments: WorkgroupsArguments, sources: Sources) -> Workgroups:
    """Compute the workgroups that the options describe. Raise HalfulpError."""
    dispatch = find_dispatch(module, arguments.function)
    types = argument_types(dispatch)
    if len(arguments.input) != len(types):
        raise TypeMismatch(
            wrong_count(named(dispatch), "value", types, len(arguments.input)),
            location=dispatch.location,
            hint="give each with --input",
        )
    values = calls.read_inputs(arguments.input, types, arguments.max_bytes, arguments.vscale, sources)
    return workgroups(module, *values, **run_keywords(arguments))
