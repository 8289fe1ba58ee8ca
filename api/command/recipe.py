"""Computations and vectors from the options of ``vectors``, ``check-vectors``, ``sweep`` and ``verify``."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any, cast

from halfulp.codegen.tile_names import SPELLING, model_for, names_tile, operation_named
from halfulp.command.option import first_given
from halfulp.command.options.recipe import FIELDS, ComputationOptions, RecipeOptions
from halfulp.command.options.verify import VerifyArguments
from halfulp.command.semantics import model_of, profile_named, properties_of, source_of_bits
from halfulp.command.sources import Sources, read
from halfulp.command.values import naming
from halfulp.conformance.comparing.op_case import OpCase, op_case
from halfulp.conformance.vectors.columns import Role
from halfulp.conformance.vectors.computation import Computation, OpComputation, ProgramComputation
from halfulp.conformance.vectors.inputs import LevelName, chosen_models
from halfulp.conformance.vectors.recipe import Recipe
from halfulp.conformance.vectors.stimulus.mixture import Mixture
from halfulp.conformance.vectors.tiles import TileComputation
from halfulp.fp_formats.policy import Rounding, as_rounding
from halfulp.interp.declare.registry import default_registry
from halfulp.interp.ir.errors import HalfulpError, InputError, TypeMismatch
from halfulp.interp.text.printer import print_module
from halfulp.interp.values.coerce import as_type
from halfulp.running import find_entry, function_path
from halfulp.semantics.profile import Profile

_FOR_AN_OP = ("type", "source", "attr", "rounding", "random_bits", "models", "flags")
_NOT_FOR_A_TILE = ("source", "attr", "rounding", "random_bits", "models", "flags", "function", "random")


def types_in(text: str) -> list[str]:
    """Split types at the commas that stand outside of brackets."""
    types, depth = [""], 0
    for character in text:
        depth += (character in "<{[(") - (character in ">}])")
        if character == "," and not depth:
            types.append("")
        else:
            types[-1] += character
    return [spelling.strip() for spelling in types]


def case_named(op: str, arguments: ComputationOptions | VerifyArguments, sources: Sources, **properties: Any) -> OpCase:
    """Return the case of an op with the types and properties of the options. Raise HalfulpError."""
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
        return op_case(op, operands[0] if len(operands) == 1 else operands, to, **given)
    except TypeMismatch as error:
        if to is None and "does not follow" in error.message:
            error.hint = "--from says the type of the operand, --type that of the result"
        raise


def profile_of(arguments: ComputationOptions) -> Profile:
    """Return the profile of the options. Raise InputError for an unknown one."""
    given = {field: getattr(arguments, field) for field in FIELDS if getattr(arguments, field) is not None}
    return profile_named(",".join([arguments.profile, *(f"{field}={value}" for field, value in given.items())]))


def computation_of(named: str, arguments: ComputationOptions, sources: Sources) -> Computation:
    """Return the computation that a command names: an op, or a program (a file that ends in .mlir or .mlirbc, or
    ``-``). Raise HalfulpError.
    """
    profile = profile_of(arguments)
    if named == "-" or named.endswith((".mlir", ".mlirbc")):
        return _program(named, arguments, profile, sources)
    if names_tile(named):
        return _tile(named, arguments)
    if arguments.mma is not None:
        hint = f"name a tile operation, as in {SPELLING}"
        raise InputError(f"--mma goes with a tile operation or a program, but '{named}' is an op", hint=hint)
    option = first_given(arguments, ("function", "random"))
    if option is not None:
        raise InputError(f"{option} goes with a program, but '{named}' is an op", hint="a program ends in .mlir")
    try:
        mode = None if arguments.rounding is None else as_rounding(arguments.rounding)
    except ValueError as error:
        raise InputError(f"--rounding: {error}") from None
    stochastic = mode is Rounding.STOCHASTIC
    if arguments.random_bits is not None and not stochastic:
        raise InputError("--random-bits goes with --rounding=stochastic")
    rounding = {} if mode is None or stochastic else {"rounding": mode.spelling}
    asked = case_named(named, arguments, sources, **rounding)
    bits = (arguments.random_bits or 16) if stochastic else None
    try:
        computation = OpComputation(asked, profile, arguments.keep_ub, arguments.flags is not False, bits)
    except ValueError as error:
        raise InputError(str(error)) from None
    if arguments.flags and not any(column.role is Role.FLAGS for column in computation.outputs):
        raise InputError(f"--flags: {asked} has no exception flags")
    return computation


def _tile(named: str, arguments: ComputationOptions) -> Computation:
    option = first_given(replace(arguments, flags=arguments.flags or None), _NOT_FOR_A_TILE)
    if option is not None:
        raise InputError(f"{option} goes with an op, but '{named}' is a tile operation")
    types = types_in(arguments.type) if arguments.type is not None else [None]
    if len(types) > 2:
        raise InputError(f"{len(types)} types are given: those of A and B are two, or one for both")
    op = operation_named(named, types[0], types[-1])
    return TileComputation(op, model_for(arguments.mma or "exact", op), arguments.keep_ub)


def _program(named: str, arguments: ComputationOptions, profile: Profile, sources: Sources) -> Computation:
    option = first_given(replace(arguments, flags=arguments.flags or None), _FOR_AN_OP)
    if option is not None:
        raise InputError(f"{option} goes with an op, but '{named}' is a program")
    program = read(named, sources)
    module = program.program()
    function = find_entry(module, arguments.function)
    text = program.text if program.text is not None else print_module(module)
    name = Path(program.name).name if named != "-" else program.name
    path, mma = function_path(function).removeprefix("@"), model_of(arguments.mma or "exact")
    random = None if arguments.random is None else source_of_bits(arguments.random)
    return ProgramComputation(text, path, name, profile, arguments.keep_ub, mma, random, module)


def recipe_of(named: str, arguments: RecipeOptions, sources: Sources, block: int | None = None) -> Recipe:
    """Return the recipe for the vectors that the options describe. Raise HalfulpError, also for its operands."""
    computation = computation_of(named, arguments, sources)
    if arguments.operands is not None:
        return _of_own(computation, arguments, block)
    models = _models(computation, arguments.models)
    usual = "weighted" if isinstance(computation, TileComputation) else None if models else "1"
    level = cast("LevelName | None", arguments.level or usual)
    recipe = Recipe(computation, level, models, arguments.seed, arguments.n, block)
    try:
        _ = recipe.rows
    except ValueError as error:
        hint = "-n says how many" if "need a count" in str(error) else None
        raise InputError(str(error), hint=hint) from None
    return recipe


def _of_own(computation: Computation, arguments: RecipeOptions, block: int | None) -> Recipe:
    option = first_given(arguments, ("level", "models"))
    if option is not None:
        raise InputError(
            f"{option} and --operands both say what the operands are",
            hint="a mixture has both: --operands normal@80,corners@10,B1@10",
        )
    try:
        mixture = Mixture.named(arguments.operands or "")
        recipe = Recipe(computation, None, (), arguments.seed, arguments.n, block, mixture)
        _ = recipe.rows
    except HalfulpError as error:
        if error.location is None:
            error.message = f"--operands: {error.message}"
        raise
    return recipe


def _models(computation: Computation, spelling: str | None) -> tuple[str, ...]:
    """Return the models that are named, each once. Raise InputError for one that does not apply to the computation."""
    if spelling is None or not isinstance(computation, OpComputation):
        return ()
    try:
        return chosen_models(computation.case, spelling.split(","))
    except InputError as error:
        error.message = f"--models: {error.message}"
        raise
