"""Functions that make computations and recipes of vectors from options of the command line or arguments of Python. A
computation is an op with its types, or a program. Operands may also be arrays and texts of the user.
"""

from __future__ import annotations

import argparse
import hashlib
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np

from halfulp.codegen.tile_names import SPELLING, model_for, names_tile, operation_named
from halfulp.conformance.comparing.op_case import OpCase, op_case
from halfulp.conformance.vectors.columns import Column, Role, type_of
from halfulp.conformance.vectors.computation import Computation, OpComputation, ProgramComputation
from halfulp.conformance.vectors.formats.format import too_wide
from halfulp.conformance.vectors.launches import Launch
from halfulp.conformance.vectors.op_inputs import chosen_models
from halfulp.conformance.vectors.packing import LEVELS, BoundsName, LevelName
from halfulp.conformance.vectors.recipe import OF_ONE_OP, Recipe, usual_level
from halfulp.conformance.vectors.stimulus.grammar import ARRAY
from halfulp.conformance.vectors.stimulus.mixture import Group, Mixture, Target
from halfulp.conformance.vectors.tiles import TileComputation
from halfulp.conformance.vectors.tosa_drawing import OPERATORS, drawn_operator
from halfulp.described import (
    Keywords,
    amount,
    argument,
    choice,
    first_given,
    flag,
    option,
    profile_option,
    repeated,
    written,
)
from halfulp.fp_formats.formats import Codes, code_shape, ints_to_codes, storage_dtype
from halfulp.fp_formats.policy import Rounding, as_rounding
from halfulp.inputs import as_value
from halfulp.interp.declare.registry import default_registry
from halfulp.interp.dialects.math.functions import IN_FIXED_POINT
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.errors import HalfulpError, InputError, TypeMismatch
from halfulp.interp.ir.operations import Module
from halfulp.interp.run.evaluators import OnValues
from halfulp.interp.run.settings import Settings
from halfulp.interp.text.printer import print_module
from halfulp.interp.values.coerce import as_type
from halfulp.interp.values.value import Value
from halfulp.loading import Source, is_text, load
from halfulp.running import find_entry, function_path
from halfulp.semantics.profile import as_profile

# --- options ----------------------------------------------------------------------------------------------------------
#
# What describes golden vectors and their check, once: the options of ``halfulp vectors make``, ``vectors check`` and
# ``sweep``, and the arguments of `halfulp.vectors`, `halfulp.check` and `halfulp.cocotb.Reference`.

FIELDS: Mapping[str, str] = {
    "denormals": "flushing of subnormals: ieee, flush_operands, flush_results, flush_both, "
    "flush_delivered or flush_both_delivered",
    "nan_result": "payload, canonical (RISC-V), canonical_signed, negative (x86), canonical_bf16, all_ones (NVIDIA), "
    "signalling_first (Arm) or largest (x87)",
    "tininess": "the detection of underflow: after or before rounding",
    "float_to_int": "poison, saturate (Arm), saturate_nan_max (RISC-V), saturate_nan_top (NVIDIA), "
    "modular, indefinite (x87) or indefinite_wrapped (x86)",
}
"""Fields of the profile that have an option of their own; ``--profile`` takes all fields."""


def seed(text: str) -> int:
    """Read the seed from the text of an option. Raise argparse.ArgumentTypeError for anything else."""
    number = int(text) if text.isascii() and text.isdecimal() and len(text) <= 20 else 1 << 64
    if number >= 1 << 64:
        raise argparse.ArgumentTypeError(f"{text!r} is not a seed: an integer from 0 to 2**64 - 1")
    return number


def about_field(field: str) -> str:
    """Return the help text of the option for a field of the profile."""
    return f"this field of the profile: {FIELDS[field]}"


@dataclass(frozen=True, kw_only=True)
class ComputationOptions:
    """The computation: an op with its types and properties, or a function of a program."""

    type: Any = option("TYPE[,TYPE...]", "the element type of the operands; for a cast, of its result")
    source: Any = option("TYPE[,TYPE...]", "for a cast: the element types of the operands", name="--from")
    attr: tuple[str, ...] = repeated("NAME[=VALUE]", "a property, as for eval: fastmath=nsz predicate=slt")
    rounding: str | None = option("MODE", "the rounding mode of the op; with stochastic, the random bits are a column")
    random_bits: int | None = amount("the random bits per row for stochastic rounding (default: 16)")
    random: str | None = option(
        "SOURCE",
        "for a program with program_rounding=stochastic: philox:seed=1 (the number of each row's run is a column) "
        "or lfsr:width=16,taps=16+14+13+11,seed=1",
    )
    function: str | None = option("NAME", "for a program: the function (default: the only public one, or @main)")
    grid: Any = option("X,Y,Z", "for a kernel of Triton: the number of programs; Y and Z may be left out")
    arguments: Any = repeated(
        "TYPE[=VALUE]",
        "for a kernel: each argument in order; 8x128xf32 for the shape of memory and i32 for a scalar that rows vary, "
        "i32=1000 or 16xi32=0 for what they do not",
        name="--input",
    )
    fp_fusion: Literal["on", "off"] | None = choice(
        ("on", "off"), "for a kernel with a target: fuse products into additions as LLVM does (default: on)"
    )
    mma: Any = option(
        "MODEL", "for tile operations: the model that adds: exact (default), ieee, chip:NAME or custom:FIELD=VALUE,..."
    )
    profile: Any = profile_option()
    denormals: str | None = option("VALUE", about_field("denormals"))
    nan_result: str | None = option("VALUE", about_field("nan_result"))
    tininess: str | None = option("VALUE", about_field("tininess"))
    float_to_int: str | None = option("VALUE", about_field("float_to_int"))
    keep_ub: bool = flag("keep rows with undefined behaviour, as poison (default: leave them out)")
    flags: bool | None = option(
        None,
        "a column of exception flags (default: if the op has flags, and every format can store them)",
        action=argparse.BooleanOptionalAction,
    )


@dataclass(frozen=True, kw_only=True)
class RecipeOptions(ComputationOptions):
    """The computation and its operands."""

    level: LevelName | None = choice(
        LEVELS,
        "the operands: TestFloat's corner cases 1 (default) or 2, every operand, uniform bits, a mixture, or the "
        "hardest arguments of an elementary function",
    )
    models: Any = option(
        "B1[,B3...]",
        "FPgen models, F1 to F6 of elementary functions, and M1 of multiply-adds: their vectors come first, or "
        "alone without --level; all: every model that applies",
    )
    operands: Any = option(
        "SOURCE",
        "operands of your own, instead of --level and --models: rows of a .npy, .npz, .safetensors or .txt file, "
        "a distribution such as normal:scale=2, one source for each operand (a=SOURCE;b=SOURCE), or a mixture "
        "with shares in percent (normal@70,corners@20,B1@10)",
    )
    draw: int | None = amount(
        "for an op of TOSA: make vectors of a whole operator; N and --seed choose its shapes and attributes (default: "
        "1 if it is not elementwise)"
    )
    n: int | None = amount("the number of random rows; for other levels, the largest number of rows")
    seed: int = option("N", "the seed of everything random, 0 to 2**64 - 1 (default: 0)", 0, type=seed)


@dataclass(frozen=True, kw_only=True)
class RecipeKeywords(Keywords, RecipeOptions):
    """The options of `RecipeOptions` as arguments of a Python function, with types of Python: element types, arrays, a
    `Profile`.
    """

    profile: Any = None


@dataclass(frozen=True, kw_only=True)
class CheckOptions:
    """The file to check, and the rules for equality."""

    file: str = argument("FILE", "the file to check, or - for the standard input")
    format: str | None = option("NAME", "the format of the file (default: by its name, else by its content)")
    metadata: str | None = option("FILE.json", "the metadata of the file (default: the name of the file with .json)")
    op: str | None = option("OP|FILE.mlir", "the computation, if there is no metadata")
    columns: str | None = option(
        "NAME[,NAME...]",
        "the columns of the file, if some are missing; with metadata, even all operands can be missing",
    )
    nan: Literal["exact", "any"] | None = choice(
        ("exact", "any"), "any: accept every NaN if a NaN is expected (default: by the metadata)"
    )
    bounds: BoundsName | None = choice(
        ("tosa",), "tosa: accept results within the bounds that TOSA's specification allows for an op of TOSA"
    )
    ignore_flags: bool = flag("do not compare the flags in the file")
    partial: bool = flag("allow fewer rows than in the metadata, and other rows")
    max: int = amount("the number of different rows to show in full (default: 1)", 1)


# --- recipes ----------------------------------------------------------------------------------------------------------

OF_A_KERNEL = ("grid", "arguments", "fp_fusion")
"""The options of a kernel of Triton."""

RANDOM_BITS = 16
"""The random bits of stochastic rounding, unless a number is given."""


class Program(NamedTuple):
    """A program whose function is computed."""

    module: Module
    #: Its MLIR text.
    text: str
    name: str


# --- computations -----------------------------------------------------------------------------------------------------


def keywords(type: Any, to: Any, **others: Any) -> RecipeKeywords:
    """Make the options from Python arguments. ``to``: for a cast, the type of the result."""
    cast = type is not None and to is not None
    return RecipeKeywords(type=to if cast else type, source=type if cast else to, **others)


def computation_for(of: Source | Module, options: RecipeKeywords, properties: Mapping[str, Any]) -> Computation:
    """Return the computation of an op, a tile operation or a program in any form. See `halfulp.vectors`."""
    if isinstance(of, str) and not is_text(of) and not names_program(of):
        return computation_of(of, options, properties)

    def loaded() -> Program:
        module = of if isinstance(of, Module) else load(of)
        name = Path(of).name if isinstance(of, str | os.PathLike) and not is_text(of) else "<program>"
        return Program(module, print_module(module), name)

    return computation_of(loaded, options, properties)


def names_program(name: str) -> bool:
    """Tell whether a name is that of a file with a program."""
    return name.endswith((".mlir", ".mlirbc", ".ttir", ".ttgir"))


def computation_of(
    of: str | Callable[[], Program], options: ComputationOptions, properties: Mapping[str, Any] | None = None
) -> Computation:
    """Return the computation of an op or a tile operation by its name, or of a function of a program, which is loaded
    only after the options were found to fit a program.

    ``properties``: those of the op. Raises HalfulpError, and ValueError for an unknown rounding mode or profile.
    """
    wrong = first_given(options, ("source", "attr", "rounding", "random_bits"))
    wrong = wrong or (written(options, "flags") if options.flags else next(iter(properties or {}), None))
    if not isinstance(of, str):
        wrong = first_given(options, ("type",)) or wrong
        if wrong is not None:
            raise InputError(f"{wrong} can be used only with an op, not with a program")
        return _of_program(of(), options)
    if isinstance(options, RecipeOptions) and _is_drawn(of, options):
        if given := wrong or first_given(options, ("function", "random", "mma", *OF_A_KERNEL)):
            raise InputError(
                f"{given} can be used only with an elementwise op; the shapes and attributes of '{of}' are drawn"
            )
        return _drawn(of, options)
    tile = names_tile(of)
    if given := first_given(options, ("function", "random", *OF_A_KERNEL)):
        what = "a tile operation" if tile else "an op"
        raise InputError(
            f"{given} can be used only with a program, but '{of}' is {what}", hint="the path of a program ends in .mlir"
        )
    if tile:
        if wrong is not None:
            raise InputError(f"{wrong} can be used only with an op, but '{of}' is a tile operation")
        operation = operation_named(of, *_types_of_tile(options.type))
        return TileComputation(operation, model_for(options.mma or "exact", operation), options.keep_ub)
    if options.mma is not None:
        raise InputError(
            f"{written(options, 'mma')} can be used only with a tile operation or a program, but '{of}' is an op",
            hint=f"name a tile operation, as in {SPELLING}",
        )
    return _of_op(of, options, dict(properties or {}))


def _is_drawn(op: str, options: RecipeOptions) -> bool:
    """Tell whether shapes and attributes of an op are drawn, because the user says so, or because rows of single
    elements do not say what it computes.
    """
    if options.draw is not None:
        return True
    name = op.removeprefix("tosa.")
    known = default_registry().find(op) if op.startswith("tosa.") and name in OPERATORS and name != "select" else None
    return known is not None and isinstance(known.evaluate, OnValues)


def _drawn(op: str, options: RecipeOptions) -> Computation:
    types = _several(options.type or ())
    if len(types) > 1:
        raise InputError(f"{len(types)} types are given, but of '{op}' only the first is chosen: the others are drawn")
    found = drawn_operator(op, str(as_type(types[0])) if types else None, options.seed, options.draw or 1)
    return ProgramComputation(
        found.text, found.function, found.name, as_profile(options.profile), options.keep_ub, operands=found.operands
    )


def _types_of_tile(types: Any) -> tuple[str | None, str | None]:
    """Return the types of A and B, if they are given: one type for both, or two."""
    spelled = [None if one is None else _word(one) for one in _several(types)]
    if len(spelled) > 2:
        raise InputError(f"{len(spelled)} types are given: give two types, for A and B, or one for both")
    return spelled[0], spelled[-1]


def _word(type: Any) -> str:
    """Return the text of a type of A or B; names of PTX and unknown names are unchanged, for `operation_named`."""
    try:
        return str(as_type(type))
    except HalfulpError:
        return str(type)


def _several(types: Any) -> Sequence[Any]:
    return types if isinstance(types, Sequence) and not isinstance(types, str) else (types,)


def _of_program(program: Program, options: ComputationOptions) -> Computation:
    path = function_path(find_entry(program.module, options.function)).removeprefix("@")
    model, profile = model_for(options.mma or "exact"), as_profile(options.profile)
    launch = None
    if first_given(options, OF_A_KERNEL):
        for name, example in (("grid", "4,1"), ("arguments", "1024xf32")):
            if getattr(options, name) in (None, ()):
                raise InputError(
                    f"{first_given(options, OF_A_KERNEL)} also needs {written(options, name)}",
                    hint=f"as in {written(options, name, example)}",
                )
        try:
            grid = Settings(grid=options.grid).grid
        except ValueError as error:
            raise InputError(str(error)) from None
        assert isinstance(grid, tuple)
        launch = Launch(grid, tuple(map(str, options.arguments)), options.fp_fusion or "on")
    return ProgramComputation(
        program.text,
        path,
        program.name,
        profile,
        options.keep_ub,
        model,
        options.random,
        launch=launch,
        _parsed=program.module,
    )


def _of_op(op: str, options: ComputationOptions, properties: dict[str, Any]) -> Computation:
    mode = None if options.rounding is None else as_rounding(options.rounding)
    stochastic = mode is Rounding.STOCHASTIC
    if options.random_bits is not None and not stochastic:
        with_mode = written(options, "rounding", "stochastic")
        raise InputError(f"{written(options, 'random_bits')} can be used only with {with_mode}")
    if mode is not None and not stochastic:
        properties["rounding"] = mode.spelling
    in_python = isinstance(options, Keywords)
    case = case_of_types(op, options.type, options.source, properties, in_python)
    bits = (options.random_bits or RANDOM_BITS) if stochastic else None
    profile = as_profile(options.profile)
    try:
        computation = OpComputation(case, profile, options.keep_ub, options.flags is not False, bits)
    except ValueError as error:
        raise InputError(str(error)) from None
    if options.flags and not any(column.role is Role.FLAGS for column in computation.outputs):
        raise InputError(f"{'flags=True' if in_python else '--flags'}: {case} sets no exception flags")
    return computation


def case_of_types(op: str, type: Any, source: Any, properties: Mapping[str, Any], in_python: bool = False) -> OpCase:
    """Return the case of an op on element types.

    ``type``: the type of all operands, or a list with one type for each operand. For a cast, ``source`` is the type of
    the operand, and ``type`` that of the result. ``in_python``: errors name arguments of Python, not options.
    """
    given = [as_type(one) for one in (*_several(type or ()), *_several(source or ()))]
    if op not in IN_FIXED_POINT and any(isinstance(one, ty.FixedType) for one in given):
        raise InputError(f"'{op}' does not compute in fixed point", hint=f"these ops do: {', '.join(IN_FIXED_POINT)}")
    definition = default_registry().require(op)
    if type is None:
        give = "type=…, the type of the operands, and for a cast to=…" if in_python else "--type, and for a cast --from"
        raise InputError(f"the type is missing: give {give}", op=op)
    operands = [str(as_type(one)) for one in _several(type if source is None else source)]
    if len(operands) not in (1, len(definition.operands)):
        raise InputError(f"{op} has {len(definition.operands)} operands, but {len(operands)} types are given")
    to = None if source is None else str(as_type(type))
    try:
        return op_case(op, operands[0] if len(operands) == 1 else operands, to, **properties)
    except TypeMismatch as error:
        if to is None and not in_python and "does not follow" in error.message:
            error.hint = "--from says the type of the operand, --type that of the result"
        raise


# --- recipes ----------------------------------------------------------------------------------------------------------


def recipe_of(computation: Computation, options: RecipeOptions, block: int | None = None) -> Recipe:
    """Return the recipe of a computation with the operands that the options describe, checked.

    ``block``: the number of rows that share a scale. Raises HalfulpError.
    """
    if isinstance(computation, ProgramComputation) and not (options.operands or options.level or options.models):
        options = replace(options, operands=computation.operands)
    names = options.models.split(",") if isinstance(options.models, str) else tuple(options.models or ())
    if options.operands is None:
        models = _chosen(computation, names, options) if names else ()
        level = options.level or usual_level(computation, models)
        return _checked(Recipe(computation, level, models, options.seed, options.n, block), options)
    other = "level" if options.level is not None else "models" if names else None
    if other is not None:
        raise InputError(
            f"{written(options, other)} and {written(options, 'operands')} both say what the operands are",
            hint=f"a mixture has both: {written(options, 'operands', 'normal@80,corners@10,B1@10')}",
        )
    bare = Recipe(computation, None, (), options.seed, options.n, block)
    with _naming(options, "operands"):
        return _checked(replace(bare, operands=mixture_of(options.operands, bare.target)), options)


def _chosen(computation: Computation, names: Sequence[str], options: RecipeOptions) -> tuple[str, ...]:
    with _naming(options, "models"):
        if not isinstance(computation, OpComputation):
            raise InputError(OF_ONE_OP)
        return chosen_models(computation.case, names)


def _checked(recipe: Recipe, options: RecipeOptions) -> Recipe:
    """Return a recipe whose operands can be made. Raises InputError and Unsupported."""
    try:
        _ = recipe.rows
    except HalfulpError:
        raise
    except ValueError as error:
        hint = f"{written(options, 'n')} says how many" if "need a count" in str(error) else None
        raise InputError(str(error), hint=hint) from None
    return recipe


@contextmanager
def _naming(options: RecipeOptions, name: str) -> Iterator[None]:
    """Add the option of the command line to errors that are raised inside, if they have no place."""
    try:
        yield
    except HalfulpError as error:
        if error.location is None and not isinstance(options, Keywords):
            error.message = f"{written(options, name)}: {error.message}"
        raise


# --- operands of one's own --------------------------------------------------------------------------------------------


def codes_of(column: Column, array: Any) -> Codes:
    """Return the codes of a column: of a `Value` or an array of its type, or of codes as unsigned integers.

    Raises TypeMismatch for other values, and InputError for codes of too many bits.
    """
    if isinstance(array, Value):
        if array.element_type != type_of(column):
            raise TypeMismatch(f"'{column.name}' has the type {column.type}, but '{array.element_type}' is given")
        codes = np.asarray(array.bits)
        return codes.reshape(code_shape((array.size,), column.width))
    if isinstance(array, list | tuple) and all(isinstance(code, int) for code in array):
        if any(not 0 <= int(code) >> column.width < 1 for code in array):
            raise InputError(f"'{column.name}' has {column.width} bits: a code is from 0 to 2**{column.width} - 1")
        return ints_to_codes([int(code) for code in array], column.width, (len(array),))
    found = np.asarray(array)
    if found.dtype.kind != "u":
        return codes_of(column, as_value(array, type_of(column), what=f"'{column.name}'"))
    shape = found.shape[1:] if column.width > 64 else ()
    if found.shape[1:] != shape or found.ndim < 1 or (shape and shape != code_shape((0,), column.width)[1:]):
        raise TypeMismatch(f"'{column.name}' takes one code for each row, but the array has the shape {found.shape}")
    dtype = storage_dtype(column.width)
    codes = found.astype(dtype)
    wide = too_wide(codes, column.width)
    if not np.array_equal(codes, found) or (wide is not None and wide.any()):
        raise InputError(f"'{column.name}' has {column.width} bits: a code is from 0 to 2**{column.width} - 1")
    return codes


def mixture_of(operands: Any, target: Target) -> Mixture:
    """Return the user's own operands: a text, or for each operand by name a text or an array, as `codes_of` takes it.

    If an argument has several elements, the first axis of an array is over the rows. Raises InputError and
    TypeMismatch.
    """
    if isinstance(operands, str):
        return Mixture.named(operands)
    if not isinstance(operands, Mapping):
        raise InputError(
            "operands takes a text, as in 'normal:scale=2', or a source for each operand",
            hint="operands={'a': array, 'b': 'normal:scale=2'}",
        )
    groups = {group.name: group for group in target.groups}
    unknown = [name for name in operands if name not in groups]
    if unknown:
        raise InputError(f"there is no operand '{unknown[0]}': the operands are {', '.join(groups)}")
    texts, arrays = [], {}
    for name, given in operands.items():
        if isinstance(given, str):
            texts.append(f"{name}={given}")
            continue
        group = groups[name]
        columns = target.columns[group.first :][: len(group.types)]
        codes = _columns_of(columns, given, group)
        digest = hashlib.sha256(b"".join(np.ascontiguousarray(one).tobytes() for one in codes)).hexdigest()
        texts.append(f"{name}={ARRAY}:sha256={digest}")
        arrays[digest] = codes
    return Mixture.named(";".join(texts), arrays)


def _columns_of(columns: tuple[Column, ...], given: Any, group: Group) -> tuple[Codes, ...]:
    if len(columns) == 1:
        codes = codes_of(columns[0], given)
        found: tuple[Codes, ...] = (codes,)
    else:
        array = given if isinstance(given, Value) else np.asarray(given)
        shape = tuple(array.shape)
        if not group.flat(shape):
            raise TypeMismatch(
                f"'{group.name}' has {len(columns)} elements in a row, but the array has the shape {shape}",
                hint=group.wanted,
            )
        flat = array.reshape(shape[0], len(columns))
        found = tuple(codes_of(column, flat[:, k]) for k, column in enumerate(columns))
    if not len(found[0]):
        raise InputError(f"'{group.name}': the array has no elements")
    return found
