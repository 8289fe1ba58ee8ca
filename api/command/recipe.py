"""Computations and vectors from the options of ``vectors``, ``vectors check``, ``sweep`` and ``verify``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from halfulp.codegen.tile_names import names_tile
from halfulp.command.execution import Sources, read
from halfulp.command.values import grid_of, naming, profile_named, properties_of, source_of_bits, types_in
from halfulp.conformance.comparing.op_case import OpCase
from halfulp.conformance.vectors.computation import Computation
from halfulp.conformance.vectors.recipe import Recipe
from halfulp.fp_formats.policy import as_rounding
from halfulp.golden import recipes
from halfulp.golden.recipes import FIELDS, ComputationOptions, Program, RecipeOptions, case_of_types, names_program
from halfulp.interp.ir.errors import InputError
from halfulp.interp.ir.types import Type
from halfulp.interp.text.printer import print_module
from halfulp.interp.values.coerce import as_type
from halfulp.semantics.profile import Profile


def _types(type: str | None, source: str | None, sources: Sources) -> tuple[Any, Any]:
    """Return the values of ``--type`` and ``--from`` as types. Raise HalfulpError, which points into the text."""

    def read_type(spelling: str) -> Type:
        with naming("<type>", spelling, sources):
            return as_type(spelling)

    if source is None:
        return None if type is None else [read_type(one) for one in types_in(type)], None
    return None if type is None else read_type(type), [read_type(one) for one in types_in(source)]


def case_named(op: str, type: str | None, source: str | None, attr: Sequence[str], sources: Sources) -> OpCase:
    """Return the case of an op with the values of ``--type``, ``--from`` and ``--attr``. Raise HalfulpError."""
    types, sources_of_cast = _types(type, source, sources)
    return case_of_types(op, types, sources_of_cast, properties_of(op, attr, sources))


def _profile(arguments: ComputationOptions) -> Profile:
    """Return the profile of the options. Raise InputError for an unknown one."""
    given = {field: getattr(arguments, field) for field in FIELDS if getattr(arguments, field) is not None}
    return profile_named(",".join([arguments.profile, *(f"{field}={value}" for field, value in given.items())]))


def computation_of(named: str, arguments: ComputationOptions, sources: Sources) -> Computation:
    """Return the computation that a command names: an op, or a program (a file that ends in .mlir or .mlirbc, or
    ``-``). Raise HalfulpError.
    """
    options = replace(arguments, profile=_profile(arguments))
    if named == "-" or names_program(named):
        if arguments.grid is not None:
            options = replace(options, grid=grid_of(arguments.grid))
        if arguments.random is not None:
            options = replace(options, random=source_of_bits(arguments.random))
        return recipes.computation_of(lambda: _program(named, sources), options)
    if names_tile(named):
        types = None if arguments.type is None else types_in(arguments.type)
        return recipes.computation_of(named, replace(options, type=types))
    type, source = _types(arguments.type, arguments.source, sources)
    try:
        rounding = None if arguments.rounding is None else as_rounding(arguments.rounding).spelling
    except ValueError as error:
        raise InputError(f"--rounding: {error}") from None
    options = replace(options, type=type, source=source, rounding=rounding, attr=())
    return recipes.computation_of(named, options, properties_of(named, arguments.attr, sources))


def _program(named: str, sources: Sources) -> Program:
    source = read(named, sources)
    module = source.program()
    text = source.text if source.text is not None else print_module(module)
    return Program(module, text, Path(source.name).name if named != "-" else source.name)


def recipe_of(named: str, arguments: RecipeOptions, sources: Sources, block: int | None = None) -> Recipe:
    """Return the recipe for the vectors that the options describe. Raise HalfulpError, also for its operands."""
    return recipes.recipe_of(computation_of(named, arguments, sources), arguments, block)
