"""The options that say which vectors are meant: shared by ``vectors``, ``check-vectors`` and ``sweep``."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, cast

from halfulp.command.common import Sources, positive, profile_named, properties_of, read

if TYPE_CHECKING:
    from halfulp.conformance.comparing.op_case import Task
    from halfulp.conformance.vectors.computation import Subject
    from halfulp.conformance.vectors.inputs import LevelName
    from halfulp.conformance.vectors.recipe import Recipe
    from halfulp.semantics.profile import Profile

LEVELS = ("1", "2", "exhaustive", "random", "weighted")
"""`halfulp.conformance.vectors.recipe.LEVELS`, known here without importing anything."""

FIELDS: Mapping[str, str] = {
    "denormals": "flushing of subnormals: ieee, flush_operands, flush_results or flush_both",
    "nan_result": "payload, canonical (RISC-V), canonical_signed, negative or canonical_bf16",
    "tininess": "the detection of underflow: after or before rounding",
    "float_to_int": "poison, saturate (Arm), saturate_nan_max (RISC-V) or modular",
}
"""Fields of the profile that have an option of their own; ``--profile`` takes all."""

_FOR_AN_OP = ("type", "source", "attr", "rounding", "random_bits", "models", "flags")
_SPELLED = {"source": "--from"}

_WHERE_THERE_IS_PLACE = "if the op has flags, and every format can hold them"


def seed(text: str) -> int:
    """A seed of an option. Raises argparse.ArgumentTypeError."""
    number = int(text) if text.isascii() and text.isdecimal() and len(text) <= 20 else 1 << 64
    if number >= 1 << 64:
        raise argparse.ArgumentTypeError(f"{text!r} is no seed: an integer from 0 to 2**64 - 1")
    return number


def add_subject_options(parser: Any, flags: str = _WHERE_THERE_IS_PLACE) -> None:
    """The options that say what is computed; the command has a positional ``subject`` itself.

    ``flags``: what the help says of no option about flags.
    """
    add = parser.add_argument
    add("--type", metavar="TYPE[,TYPE...]", help="the element type of the operands; for a cast, of its result")
    add("--from", dest="source", metavar="TYPE[,TYPE...]", help="for a cast: the element types of the operands")
    add("--attr", action="append", metavar="NAME[=VALUE]", help="a property, as for eval: fastmath=nsz predicate=slt")
    add("--rounding", metavar="MODE", help="the rounding mode of the op; with stochastic, the random bits are a column")
    add(
        "--random-bits",
        type=positive,
        metavar="N",
        help="the random bits per row for stochastic rounding (default: 16)",
    )
    add("--function", metavar="NAME", help="for a program: the function (default: the only public one)")
    add(
        "--profile",
        default="spec",
        metavar="NAME[,FIELD=VALUE...]",
        help="the profile: the semantics where documents differ (default: spec)",
    )
    for field, about in FIELDS.items():
        add(f"--{field.replace('_', '-')}", metavar="VALUE", help=f"this field of the profile: {about}")
    add(
        "--keep-ub", action="store_true", help="keep rows with undefined behaviour, as poison (default: leave them out)"
    )
    add(
        "--flags",
        action=argparse.BooleanOptionalAction,
        help=f"with or without a column of exception flags (default: {flags})",
    )


def add_recipe_options(parser: Any, flags: str = _WHERE_THERE_IS_PLACE) -> None:
    """The options that say which vectors: those of the subject, and those of the operands."""
    add_subject_options(parser, flags)
    add = parser.add_argument
    add(
        "--level",
        choices=LEVELS,
        help="the operands: TestFloat's corner cases 1 (default) or 2, every operand, uniform bits, or a mixture",
    )
    add(
        "--models",
        metavar="B1[,B3...]",
        help="FPgen models: their vectors come first, or alone without --level; all: every model that applies",
    )
    add(
        "-n", type=positive, metavar="N", help="the number of random rows; for other levels, the largest number of rows"
    )
    add("--seed", type=seed, default=0, metavar="N", help="the seed of everything random, 0 to 2**64 - 1 (default: 0)")


def types_in(text: str) -> list[str]:
    """Types between commas that stand outside of brackets."""
    types, depth = [""], 0
    for character in text:
        depth += (character in "<{[(") - (character in ">}])")
        if character == "," and not depth:
            types.append("")
        else:
            types[-1] += character
    return [spelling.strip() for spelling in types]


def task_named(op: str, arguments: argparse.Namespace, sources: Sources, **properties: Any) -> Task:
    """The task of an op with the types and properties of the options. Raises HalfulpError."""
    from halfulp.command.values import naming
    from halfulp.conformance.comparing.op_case import task
    from halfulp.interp.declare.declarations import default_registry
    from halfulp.interp.ir.errors import InputError, TypeMismatch
    from halfulp.interp.values.value import as_type

    definition = default_registry().require(op)
    if arguments.type is None:
        raise InputError("which type? give --type, and for a cast --from", op=op)
    operands = types_in(arguments.source or arguments.type)
    for spelling in (*operands, *([arguments.type] if arguments.source else [])):
        with naming("<type>", spelling, sources):
            as_type(spelling)
    if len(operands) not in (1, len(definition.operands)):
        raise InputError(f"{op} has {len(definition.operands)} operands, but {len(operands)} types are given")
    given = {**properties_of(op, arguments.attr or [], sources), **properties}
    to = arguments.type if arguments.source else None
    try:
        return task(op, operands[0] if len(operands) == 1 else operands, to, **given)
    except TypeMismatch as error:
        if to is None and "does not follow" in error.message:
            error.hint = "--from says the type of the operand, --type that of the result"
        raise


def profile_of(arguments: argparse.Namespace) -> Profile:
    """The profile of the options. Raises InputError."""
    given = {field: getattr(arguments, field) for field in FIELDS if getattr(arguments, field) is not None}
    return profile_named(",".join([arguments.profile, *(f"{field}={value}" for field, value in given.items())]))


def subject_of(named: str, arguments: argparse.Namespace, sources: Sources) -> Subject:
    """The op or program (a file that ends in .mlir or .mlirbc, or ``-``) of a command. Raises HalfulpError."""
    from halfulp.conformance.vectors.columns import Role
    from halfulp.conformance.vectors.computation import OpSubject
    from halfulp.interp.ir.errors import InputError

    profile = profile_of(arguments)
    if named == "-" or named.endswith((".mlir", ".mlirbc")):
        return _program(named, arguments, profile, sources)
    if arguments.function is not None:
        raise InputError(f"--function goes with a program, but '{named}' is an op", hint="a program ends in .mlir")
    stochastic = arguments.rounding == "stochastic"
    if arguments.random_bits is not None and not stochastic:
        raise InputError("--random-bits goes with --rounding=stochastic")
    rounding = {} if arguments.rounding is None or stochastic else {"rounding": arguments.rounding}
    asked = task_named(named, arguments, sources, **rounding)
    bits = (arguments.random_bits or 16) if stochastic else None
    try:
        subject = OpSubject(asked, profile, arguments.keep_ub, arguments.flags is not False, bits)
    except ValueError as error:
        raise InputError(str(error)) from None
    if arguments.flags and not any(column.role is Role.FLAGS for column in subject.outputs):
        raise InputError(f"--flags: {asked} has no exception flags")
    return subject


def _program(named: str, arguments: argparse.Namespace, profile: Profile, sources: Sources) -> Subject:
    from pathlib import Path

    from halfulp.conformance.vectors.computation import ProgramSubject
    from halfulp.interp.ir.errors import InputError
    from halfulp.interp.text.printer import print_module
    from halfulp.runtime import find_entry, function_path

    misplaced = [name for name in _FOR_AN_OP if getattr(arguments, name, None) not in (None, False)]
    if misplaced:
        option = _SPELLED.get(misplaced[0], "--" + misplaced[0].replace("_", "-"))
        raise InputError(f"{option} goes with an op, but '{named}' is a program")
    program = read(named, sources)
    module = program.module()
    function = find_entry(module, arguments.function)
    text = program.text if program.text is not None else print_module(module)
    name = Path(program.name).name if named != "-" else program.name
    return ProgramSubject(text, function_path(function).removeprefix("@"), name, profile, arguments.keep_ub, module)


def recipe_of(named: str, arguments: argparse.Namespace, sources: Sources) -> Recipe:
    """The vectors that a command asks for. Raises HalfulpError, those of its operands too."""
    from halfulp.conformance.vectors.recipe import Recipe
    from halfulp.interp.ir.errors import InputError

    subject = subject_of(named, arguments, sources)
    models = _models(subject, arguments.models)
    level = cast("LevelName | None", arguments.level or (None if models else "1"))
    recipe = Recipe(subject, level, models, arguments.seed, arguments.n, getattr(arguments, "block", None))
    try:
        _ = recipe.rows
    except ValueError as error:
        hint = "-n says how many" if "need a count" in str(error) else None
        raise InputError(str(error), hint=hint) from None
    return recipe


def _models(subject: Subject, spelling: str | None) -> tuple[str, ...]:
    """The models that are named, each once. Raises InputError for one that does not apply to the subject."""
    from halfulp.conformance.vectors.computation import OpSubject
    from halfulp.conformance.vectors.intermediate import case_of
    from halfulp.conformance.vectors.models import models_for
    from halfulp.interp.ir.errors import InputError

    if spelling is None or not isinstance(subject, OpSubject):
        return ()
    case, names = case_of(subject.task), tuple(dict.fromkeys(spelling.split(",")))
    applying = () if case is None else tuple(model.name for model in models_for(case))
    if spelling == "all":
        names = applying
    try:
        wanted = () if case is None else tuple(model.name for model in models_for(case, names))
    except ValueError as error:
        raise InputError(f"--models: {error}") from None
    missing = [name for name in names if name not in wanted]
    if missing or not names:
        choices = f"those that do are {', '.join(applying)}" if applying else "no model does"
        raise InputError(f"--models: {'none' if not names else missing[0]} does not apply to {subject.task}; {choices}")
    return names
