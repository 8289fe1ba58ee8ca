"""A model of one op in plain C99, for test benches that call C (DPI-C): integers alone, any format of up to 64 bits.

``c_model.c`` has the functions: those that all ops share, and for each kind of op a function ``compute``. A model
consists of those that its op needs, with the formats and the choices of the profile as constants.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import BinaryIO

from halfulp.conformance.comparing.op_case import OpCase
from halfulp.conformance.files import open_new, temporary_name
from halfulp.conformance.vectors import metadata
from halfulp.conformance.vectors.c_parts import (
    SYSTEMVERILOG_TYPES,
    WIDEST,
    CModel,
    c_type,
    constant,
    format_constant,
    size,
    specialised,
    too_wide,
)
from halfulp.conformance.vectors.c_tiles import TileModel
from halfulp.conformance.vectors.columns import Chunk, Role, VectorSet
from halfulp.conformance.vectors.compressed import compressing
from halfulp.conformance.vectors.computation import OpComputation, ProgramComputation
from halfulp.conformance.vectors.formats import format_named
from halfulp.conformance.vectors.formats.c import SYSTEMVERILOG, C, check_names
from halfulp.conformance.vectors.formats.c import write as write_array
from halfulp.conformance.vectors.formats.format import Options, SetInFormat, Written
from halfulp.conformance.vectors.formats.mlir import function_of_case, function_of_program
from halfulp.conformance.vectors.packing import CONTAINERS, Unmarked
from halfulp.conformance.vectors.recipe import Recipe
from halfulp.conformance.vectors.tiles import TileComputation
from halfulp.fp_formats.formats import NanEncoding, storage_dtype
from halfulp.fp_formats.mixed import FUSED
from halfulp.fp_formats.policy import POLICY_FIELDS, SPEC, FloatPolicy, Rounding
from halfulp.fp_formats.scalar import PREDICATES
from halfulp.interp.declare.build import property_of
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.dialect_attributes import EnumDefinition
from halfulp.interp.ir.errors import InputError, Unsupported
from halfulp.semantics.fixed_point import sum_format
from halfulp.semantics.integer_functions import DIRECTIONS

# --- produce ----------------------------------------------------------------------------------------------------------
#
# Make sets of vectors by recipes and write them: to a stream, or as whole files with their metadata in a folder.

Progress = Callable[[int, int], object]
"""A function that is told the number of finished rows, and of all rows."""


@dataclass(frozen=True)
class Order:
    """A set of vectors to make: its recipe and the formats of its files.

    All files hold the same columns, so that they have one digest: those columns that every format has a place for.
    ``options``: the options of the formats; those of ``mlir`` are added. ``unmarked``: the treatment of poison and
    unspecified bits that have no column. ``any_nan``: a checker accepts any NaN if a result is a NaN. ``compress``: the
    ending of files that are compressed, ``.gz`` or ``.zst``; empty: they are not.
    """

    recipe: Recipe
    formats: tuple[str, ...]
    options: Options = field(default_factory=Options)
    unmarked: Unmarked = "refuse"
    any_nan: bool = False
    compress: str = ""

    @property
    def carried(self) -> frozenset[Role]:
        """The roles of columns that all of its formats can hold."""
        return carried_by(self.formats)

    @property
    def names(self) -> list[str]:
        """The names of its files in a folder: one for each format, and the metadata last."""
        data = [self.options.name + format_named(each).suffix + self.compress for each in self.formats]
        return [*data, f"{self.options.name}.json"]


def carried_by(formats: Sequence[str]) -> frozenset[Role]:
    """Return the roles of columns that every one of these formats has a place for. Raises InputError for an unknown
    format.
    """
    return frozenset(Role).intersection(*(format_named(name).carries for name in formats))


@dataclass
class ProducedSet:
    """A set that was written: its columns, rows and digest, the number of rows left out for undefined behaviour, its
    anchors.
    """

    written: Written
    undefined: int
    anchors: list[metadata.Document]


def write_stream(order: Order, format: str, file: BinaryIO, progress: Progress | None = None) -> ProducedSet:
    """Compute the set and write it in one of its formats, in constant memory.

    Raises InputError for rows and columns that the format has no place for, and the errors of the operands.
    """
    recipe, chosen = order.recipe, format_named(format)
    undefined = 0

    def left_out(rows: int) -> None:
        nonlocal undefined
        undefined += rows

    anchors = metadata.Anchors(recipe.columns)
    chunks = anchors.watch(_told(recipe.chunks(left_out=left_out), recipe.rows.count, progress))
    carried = SetInFormat(VectorSet(recipe.columns, chunks), replace(chosen, carries=order.carried), order.unmarked)
    options = order.options
    if format == "mlir":
        options = replace(options, function=_function(recipe))
    chosen.write(carried.set(), file, options)
    return ProducedSet(carried.written, undefined, anchors.rows())


def _told(chunks: Iterator[Chunk], count: int, progress: Progress | None) -> Iterator[Chunk]:
    done = 0
    for chunk in chunks:
        yield chunk
        done += len(chunk[0])
        if progress is not None:
            progress(min(done, count), count)


def _function(recipe: Recipe) -> str:
    computation = recipe.computation
    if isinstance(computation, OpComputation):
        unwritten = computation.case.unwritten()
        if unwritten is not None:
            raise InputError(f"the format 'mlir' calls the op, but {unwritten}")
        return function_of_case(computation.case)
    if isinstance(computation, TileComputation):
        raise InputError("the format 'mlir' calls an op or a function, and a tile operation is neither")
    assert isinstance(computation, ProgramComputation)
    if not computation.scalars:
        raise InputError(f"the format 'mlir' checks functions of scalars, and '@{computation.function}' is not one")
    return function_of_program(computation.text, computation.function)


def document(order: Order, made: ProducedSet, names: Sequence[str | None]) -> metadata.Document:
    """Return the metadata of a set whose files, one for each format, have these names (None: a pipe)."""
    files = [
        metadata.VectorFile(format, name, order.options.packing if format == "bin" else CONTAINERS)
        for format, name in zip(order.formats, names, strict=True)
    ]
    return metadata.document(
        made.written,
        files,
        order.recipe.computation,
        order.recipe.inputs(),
        unmarked=order.unmarked,
        anchors=made.anchors,
        any_nan=order.any_nan,
        blocks=order.options.blocks,
        undefined=made.undefined,
    )


def write_folder(order: Order, folder: Path, progress: Progress | None = None) -> ProducedSet:
    """Write the set into a folder, which is made if needed: a file per format, and the metadata, NAME.json.

    Files have temporary names until they are complete. Then the metadata of an earlier set is removed, the data files
    get their names, and the metadata last: so metadata never describes other data. Raises InputError if a file cannot
    be written, and what `write_stream` raises. No incomplete file remains, unless the process is killed.
    """
    names = order.names[:-1]
    with whole_files(folder, order.names) as files:
        sets = []
        for format, file, told in zip(order.formats, files[:-1], names, strict=False):
            with compressing(file, order.compress, told) as sink:
                sets.append(write_stream(order, format, sink, progress))
        if len({made.written.digest for made in sets}) > 1:
            raise RuntimeError("two files of one set have different digests")
        files[-1].write(metadata.to_text(document(order, sets[0], names)).encode())
    return sets[0]


@contextmanager
def whole_files(folder: Path, names: Sequence[str]) -> Iterator[list[BinaryIO]]:
    """A context manager that opens files in a folder under temporary names. At its end they get their names, in this
    order. The last file marks the set as complete, so its old version is removed first.

    Raises an InputError that names the file that cannot be written.
    """
    partial = [temporary_name(folder / name) for name in names]
    open_files: list[BinaryIO] = []
    was_there = folder.exists()
    with _cannot_write(folder):
        folder.mkdir(parents=True, exist_ok=True)
    try:
        for name, path in zip(names, partial, strict=True):
            if (folder / name).is_dir():
                raise InputError(f"cannot write '{folder / name}': it is a folder")
            with _cannot_write(folder):
                open_files.append(open_new(path))
        with _cannot_write(folder):
            yield open_files
            for file in open_files:
                file.close()
            (folder / names[-1]).unlink(missing_ok=True)
            for name, path in zip(names, partial, strict=True):
                path.replace(folder / name)
    finally:
        for file in open_files:
            with suppress(OSError):
                file.close()
        for path in partial:
            with suppress(OSError):
                path.unlink()
        if not was_there:
            with suppress(OSError):  # it holds the written data, unless writing failed
                folder.rmdir()


@contextmanager
def _cannot_write(folder: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise InputError(f"cannot write into '{folder}': {error.strerror or error}") from None


# --- c model ----------------------------------------------------------------------------------------------------------

TESTED, BLOCK = 1 << 12, 1 << 6
"""The most rows of a self-test. Of more rows, blocks of so many are taken, spread over all of them."""

CELLS = 1 << 18
"""The most numbers of a self-test."""

_OPS_OF_KINDS = (
    ("addf", "arith.addf"),
    ("subf", "arith.subf"),
    ("mulf", "arith.mulf"),
    ("divf", "arith.divf"),
    ("fma", "math.fma"),
    ("compare", "arith.cmpf"),
    ("convert", "arith.extf arith.truncf arith.convertf"),
    ("from_integer", "arith.sitofp arith.uitofp"),
    ("to_integer", "arith.fptosi arith.fptoui"),
    ("addf", "fadd"),
    ("subf", "fsub"),
    ("mulf", "fmul"),
    ("divf", "fdiv"),
    ("fma", "fmadd fmsub fnmsub fnmadd"),
    ("convert", "fcvt"),
    ("from_integer", "fcvt_from_si fcvt_from_ui"),
    ("to_integer", "fcvt_to_si fcvt_to_ui"),
    ("sqrt", "math.sqrt"),
    ("extremum", "arith.maximumf arith.minimumf arith.maxnumf arith.minnumf arith.maximumnumf arith.minimumnumf"),
    ("to_integral", "math.roundeven math.round math.trunc math.ceil math.floor fround froundnx"),
    ("compare", "fcmps"),
    ("classify", "fclass"),
    ("fixed", "fixed_add fixed_sub fixed_mul fixed_convert"),
)
"""The parts of ``c_model.c`` that compute ops, and the ops of each."""

_KINDS: Mapping[str, str] = {op: kind for kind, ops in _OPS_OF_KINDS for op in ops.split()}


def _kind(case: OpCase) -> str | None:
    """Return the part that computes an op. A number in fixed point becomes a float as an integer does."""
    kind = _KINDS.get(case.op)
    return "from_integer" if kind == "fixed" and isinstance(case.result_types[0], ty.FloatType) else kind


_EXACT = ("compare", "extremum", "classify", "fixed")
"""Kinds that take no rounding mode."""

_CONVERSIONS = ("convert", "from_integer", "to_integer")
_OF_ONE_FORMAT = ("convert", "to_integer", "compare", "classify", "fixed")
"""Kinds whose operands all have the format FROM. Those of others have that of the result, TO, or one of their own."""

_CONCERNS: Mapping[str, tuple[str, ...]] = {
    "fma_undefined": ("fma",),
    "negated_nan": ("fma",),
    "float_to_int": ("to_integer",),
    "wide_source": ("convert", "from_integer"),
    "nan_converted": ("convert",),
    "number_of_signalling": ("extremum",),
    "extrema": ("extremum",),
}
"""Choices of a policy that do nothing for kinds beside these."""

_SIGNED = ("arith.sitofp", "arith.fptosi", "fcvt_from_si", "fcvt_to_si")
_ROUNDING_KEYS = ("rounding", "roundingmode")

_CHOICES: Mapping[str, tuple[str, Mapping[str, str]]] = {
    "nan_result": (
        "NAN_RESULT",
        {
            "payload": "PAYLOAD",
            "canonical": "CANONICAL",
            "canonical_signed": "CANONICAL_SIGNED",
            "negative": "NEGATIVE",
        },
    ),
    "nan_to_nanless": (
        "NAN_WITHOUT_CODE",
        {"poison": "POISON", "zero": "ZERO", "zero_inverted": "ZERO_INVERTED", "max": "LARGEST"},
    ),
    "infinity_to_nanless": ("INFINITY_WITHOUT_CODE", {"max": "LARGEST", "zero": "ZERO"}),
    "divide_by_zero_nanless": ("QUOTIENT_BY_ZERO", {"max": "LARGEST", "zero": "ZERO"}),
    "negative_to_unsigned": ("NEGATIVE_WITHOUT_CODE", {"nan": "NAN_OF_INVALID", "sign_bit": "SIGN_BIT"}),
    "zero_to_zeroless": ("ZERO_WITHOUT_CODE", {"smallest": "LEAST", "nan": "NAN_OF_INVALID"}),
    "extrema": (
        "EXTREMA",
        {"value": "BY_VALUE", "selected": "SELECTED", "number_selected": "NUMBER_SELECTED", "second": "SECOND"},
    ),
    "number_of_signalling": ("QUIETS_SIGNALLING", {"number": "0", "quieted": "1"}),
    "tininess": ("TININESS", {"after": "AFTER_ROUNDING", "before": "BEFORE_ROUNDING"}),
    "conversion_overflow": ("SATURATE", {"format": "0", "saturate": "1"}),
    "float_to_int": (
        "OUT_OF_RANGE",
        {
            "poison": "NO_VALUE",
            "saturate": "SATURATED",
            "saturate_nan_max": "SATURATED_NAN_LARGEST",
            "modular": "MODULAR",
        },
    ),
}
"""The choices of a policy that a model can make: the constant of each, and its values in C."""

_RANDOM = ("stochastic", "stochastic_bits")
"""Choices that say how random bits decide."""

_FLUSHING = ("denormals", "denormal_zero", "denormals_f32", "denormal_zero_f32")
"""Choices that are part of the formats."""

_MODES = {mode.spelling: mode.name for mode in Rounding if mode is not Rounding.STOCHASTIC}


def c_model(recipe: Recipe, name: str) -> CModel:
    """Return the model of the op of a recipe; some of its rows are those of the self-test.

    Raises Unsupported for an op, a format or a profile without a model, InputError for a program, and for a name that C
    or SystemVerilog does not allow.
    """
    if not (name.isidentifier() and name.isascii()):
        raise InputError(f"the name of a model must be an identifier, not {name!r}")
    check_names("C", C, [name])
    check_names("SystemVerilog", SYSTEMVERILOG, [name])
    computation = recipe.computation
    if isinstance(computation, TileComputation):
        tile = TileModel(computation, name)
        about, pieces, function, test = tile.head, [*tile.parts], tile.function, _test_of_tiles(tile, name)
        arguments = tile.package_arguments
    elif isinstance(computation, OpComputation):
        about = f"{computation.case}, profile {computation.profile.name}"
        pieces = [*_model(computation)]
        function, test = _c_function(computation, name), _test_of_op(computation, name)
        arguments = _package_arguments(computation)
    else:
        raise InputError(
            "a model in C computes one op or tile operation, not a program",
            hint="a test bench can compare with files of vectors, as --format readmemh or testfloat writes them",
        )
    head = (
        f"// {about}: integers in plain C99, made by halfulp.\n"
        f"// Self-test: cc -std=c99 -D{name.upper()}_SELF_TEST {name}.c && ./a.out\n"
        "#include <stdint.h>"
    )
    source = "\n\n".join([head, *pieces, function, _self_test(recipe, name, *test)])
    return CModel(name, source, _package(about, name, arguments))


def write_model(model: CModel, folder: Path) -> None:
    """Write NAME.c and NAME_dpi.sv into a folder. Raises InputError if they cannot be written."""
    with whole_files(folder, [f"{model.name}.c", f"{model.name}_dpi.sv"]) as files:
        files[0].write(model.source.encode())
        files[1].write(model.package.encode())


def _refusal(case: OpCase, why: str) -> Unsupported:
    return Unsupported(f"{case} has no model in C: {why}")


# --- the functions and constants --------------------------------------------------------------------------------------


def _model(computation: OpComputation) -> Iterator[str]:
    """Yield declarations, the constants that are used, and the functions that an op needs."""
    case, kind = computation.case, _kind(computation.case)
    if kind is None:
        raise _refusal(case, f"the ops that have one are {', '.join(_KINDS)}")
    if kind != "extremum" and any(column.role is Role.OPEN for column in computation.outputs):
        raise _refusal(case, "bits of its results may have either value")
    constants = {**dict(_formats(case, _policy(computation))), **dict(_settings(computation, kind))}
    yield from specialised([kind], _body(computation), constants)


def _policy(computation: OpComputation) -> FloatPolicy:
    """Return the policy of an op, with the usual value for choices that do nothing for it."""
    case, profile, kind = computation.case, computation.profile, _kind(computation.case)
    if kind == "classify":
        return SPEC  # it flushes nothing
    if kind == "fixed":  # which is exact before it is brought into the format
        return replace(SPEC, **{field: getattr(profile.conversions, field) for field in _FLUSHING})
    policy = profile.conversions if kind in _CONVERSIONS else profile.arithmetic
    formats = [t.format for t in (case.operand_types[0], case.result_types[0]) if isinstance(t, ty.FloatType)]
    idle = ["remainder"]
    idle += [field for field, kinds in _CONCERNS.items() if kind not in kinds]
    result = case.result_types[0]
    target = result.format if isinstance(result, ty.FloatType) else None
    if target is None or target.nan is not NanEncoding.NONE:
        idle += ["nan_to_nanless"]
    if target is None or target.infinities:
        idle += ["infinity_to_nanless", "divide_by_zero_nanless"]
    if target is None or target.signed:
        idle += ["negative_to_unsigned"]
    if all(fmt.zero for fmt in formats):
        idle += ["zeroless_nan_widened", "zeroless_smallest_widened", "float_to_zeroless"]
    changed = {field: getattr(SPEC, field) for field in idle}
    if policy.nan_result == "canonical_bf16":
        to_bf16 = kind == "convert" and formats[-1].name == "bf16" != formats[0].name
        changed["nan_result"] = "canonical" if to_bf16 else "payload"
    if policy.nan_result == "signalling_first" and len(case.operand_types) == 1:
        changed["nan_result"] = "payload"
    return replace(policy, **changed)


def _formats(case: OpCase, policy: FloatPolicy) -> Iterator[tuple[str, str]]:
    """Yield the formats of the operands and of the result, by the names of their constants."""
    operands = [(_format_of(case, k), type_) for k, type_ in enumerate(case.operand_types)]
    for name, type_ in (("FROM", case.operand_types[0]), *operands, ("TO", case.result_types[0])):
        if isinstance(type_, ty.FloatType):
            if (why := too_wide(type_.format)) is not None:
                raise _refusal(case, why)
            yield name, format_constant(name, type_.format, policy)


def _format_of(case: OpCase, operand: int) -> str:
    """Return the name of the constant with the format of an operand."""
    if _kind(case) in _OF_ONE_FORMAT:
        return "FROM"
    return "TO" if case.operand_types[operand] == case.result_types[0] else f"OPERAND_{operand}"


def _settings(computation: OpComputation, kind: str) -> Iterator[tuple[str, str]]:
    """Yield the constants of an op and its profile by name."""
    case, policy = computation.case, _policy(computation)
    fixed = POLICY_FIELDS.keys() - {*_CHOICES, *_FLUSHING, *_RANDOM}
    wrong = next((field for field in fixed if getattr(policy, field) != getattr(SPEC, field)), None)
    if wrong is not None or computation.profile.narrow_floats != "own":
        field = wrong or "narrow_floats"
        raise _refusal(case, f"the profile has {field}={getattr(computation.profile, field)}")
    for field, (name, values) in _CHOICES.items():
        value = getattr(policy, field)
        if value not in values:
            raise _refusal(case, f"the profile has {field}={value}")
        yield name, constant(name, values[value])
    yield "MODE", constant("MODE", _mode(computation, kind))
    rule = policy.stochastic_rule
    yield "RANDOM_BITS", size("RANDOM_BITS", computation.random_bits or 0)
    yield "RANDOM_FRACTION", constant("RANDOM_FRACTION", rule.fraction.name)
    yield "RANDOM_FLIPPED", constant("RANDOM_FLIPPED", int(rule.complement))
    yield "IS_MAXIMUM", constant("IS_MAXIMUM", int("max" in case.op))
    yield "NUMBER_WINS", constant("NUMBER_WINS", int("num" in case.op))
    given = {name: value for name, value in case.properties if name not in _ROUNDING_KEYS and value != "none"}
    if kind == "compare":
        yield "HOLDS_FOR", constant("HOLDS_FOR", PREDICATES[_predicate(case, given.pop("predicate"))])
    if given:
        raise _refusal(case, "models have no properties except a rounding mode and a predicate")
    integers = [t for t in (case.operand_types[0], case.result_types[0]) if not isinstance(t, ty.FloatType)]
    if kind in ("from_integer", "to_integer"):
        width = ty.width_of(integers[0])
        if not 1 <= width <= WIDEST:
            raise _refusal(case, f"integers have 1 to {WIDEST} bits in models")
        own = integers[0].format if isinstance(integers[0], ty.FixedType) else None
        yield "INTEGER_BITS", size("INTEGER_BITS", width)
        yield "IS_SIGNED", constant("IS_SIGNED", int(case.op in _SIGNED if own is None else own.signed))
        yield "PLACES", constant("PLACES", 0 if own is None else own.fraction_bits)
    if kind == "fixed":
        yield from _fixed_settings(case)
    yield "SIGNALS", constant("SIGNALS", int(case.op == "fcmps"))
    yield "SAYS_INEXACT", constant("SAYS_INEXACT", int(case.op == "froundnx"))
    for name, negates in zip(("NEGATES_PRODUCT", "NEGATES_ADDEND"), FUSED.get(case.op, (0, 0)), strict=True):
        yield name, constant(name, negates)


def _fixed_settings(case: OpCase) -> Iterator[tuple[str, str]]:
    """Yield the constants of the result of an op in fixed point."""
    sources = [t.format for t in case.operand_types if isinstance(t, ty.FixedType)]
    (target,) = (t.format for t in case.result_types if isinstance(t, ty.FixedType))
    if max(fmt.width for fmt in (*sources, target)) > WIDEST:
        raise _refusal(case, f"numbers in fixed point have 1 to {WIDEST} bits in models")
    if _FIXED[case.op] == "sum_of_fixed" and sum_format(sources[0], sources[1]).width > SUM_OF_FIXED:
        raise _refusal(case, f"exact sums have up to {SUM_OF_FIXED} bits in models")
    yield "INTEGER_BITS", size("INTEGER_BITS", target.width)
    yield "IS_SIGNED", constant("IS_SIGNED", int(target.signed))
    yield "PLACES", constant("PLACES", target.fraction_bits)
    yield "QUANTIZATION", constant("QUANTIZATION", target.rounding)
    yield "HOW_TO_FIT", constant("HOW_TO_FIT", target.overflow)


SUM_OF_FIXED = 128
"""The most bits of the format of an exact sum in fixed point: its magnitudes have one bit less, or no sign."""

_FIXED: Mapping[str, str] = {
    "fixed_add": "sum_of_fixed",
    "fixed_sub": "sum_of_fixed",
    "fixed_mul": "product_of_fixed",
    "fixed_convert": "",
}
"""The functions that compute exact results in fixed point."""


def _mode(computation: OpComputation, kind: str) -> str:
    """Return the rounding mode of an op in C."""
    profile, given = computation.profile, dict(computation.case.properties)
    if computation.random_bits is not None:
        return Rounding.STOCHASTIC.name
    direction = computation.case.op.removeprefix("math.")
    if direction in DIRECTIONS:
        return DIRECTIONS[direction].name
    mode = next((given[key] for key in _ROUNDING_KEYS if key in given), None)
    if mode is None or (kind == "convert" and profile.conversion_rounding == "to_nearest_even"):
        by_profile = kind == "to_integer" and computation.case.op.startswith("arith.")
        mode = profile.to_integer_rounding if by_profile else Rounding.TO_NEAREST_EVEN.spelling
    if mode not in _MODES:
        raise _refusal(computation.case, f"models round {', '.join(_MODES)}, not {mode}")
    return _MODES[mode]


def _predicate(case: OpCase, spelled: str) -> int:
    declared = property_of(case.definition, "predicate")
    assert declared is not None
    assert isinstance(declared.kind, EnumDefinition)
    return next(number for number, name in declared.kind.names.items() if name == spelled)


# --- what is made of them ---------------------------------------------------------------------------------------------


def _prototype(computation: OpComputation, name: str) -> str:
    inputs = [f"{c_type(column)} {column.name}" for column in computation.inputs]
    outputs = [f"{c_type(column)} *{column.name}" for column in computation.outputs]
    return f"void {name}({', '.join([*inputs, *outputs])})"


_RETURNED = {Role.RESULT: "r.code", Role.FLAGS: "r.flags", Role.POISON: "r.poison", Role.OPEN: "open_bits(codes)"}


def _body(computation: OpComputation) -> str:
    """Return the body of the function that test benches call."""
    kind, case = _kind(computation.case), computation.case
    operands = computation.inputs[: len(computation.operand_types)]
    codes = [f"{column.name} & bits_of_ones({column.width})" for column in operands]
    lines = ["{", "    outcome r;"]
    arguments = ["x"]
    if kind == "from_integer":
        arguments = codes
    else:
        lines.insert(1, f"    number x[{len(operands)}];")
        for k, (code, type_) in enumerate(zip(codes, case.operand_types, strict=False)):
            if isinstance(type_, ty.FixedType):
                own = type_.format
                lines.append(f"    x[{k}] = of_fixed({code}, {own.width}, {int(own.signed)}, {own.fraction_bits});")
                continue
            fmt = _format_of(case, k)
            lines.append(f"    x[{k}] = unpacked(&{fmt}, {code});")
            if fmt not in ("FROM", "TO"):
                lines.append(f"    x[{k}] = aligned(&TO, &{fmt}, x[{k}]);")
    if kind == "extremum":
        arguments.append("codes")
        lines.insert(2, f"    uint64_t codes[{len(operands)}];")
        lines += [f"    codes[{k}] = {code};" for k, code in enumerate(codes)]
    if case.op == "fixed_sub":
        lines.append("    x[1].sign ^= 1;")
    if kind not in _EXACT:
        arguments.append("how")
        lines.insert(1, "    rounding how = by(MODE);")
    if computation.random_bits is not None:
        (random,) = computation.inputs[len(operands) :]
        bits = f"bits_of_ones({random.width})"
        lines.append(f"    how.random = ({random.name} ^ (RANDOM_FLIPPED ? {bits} : 0)) & {bits};")
    if kind == "fixed":
        exact = f"{_FIXED[case.op]}(x[0], x[1])" if _FIXED[case.op] else "x[0]"
        lines.append(f"    r = fitted({exact});")
    else:
        lines.append(f"    r = compute({', '.join(arguments)});")
    lines += [f"    *{c.name} = ({c_type(c)}){_RETURNED[c.role]};" for c in computation.outputs]
    return "\n".join([*lines, "}"])


def _c_function(computation: OpComputation, name: str) -> str:
    prototype = _prototype(computation, name)
    return f"""\
// Codes of the operands, and where to put the outputs. Verilator compiles C as C++.
#ifdef __cplusplus
extern "C"
#endif
{prototype};

{prototype}
{_body(computation)}"""


def _rows(recipe: Recipe) -> Iterator[Chunk]:
    count, most = recipe.rows.count, max(BLOCK, min(TESTED, CELLS // len(recipe.columns)))
    if count <= most:
        yield from recipe.chunks()
        return
    blocks = most // BLOCK
    for k in range(blocks):
        start = k * (count - BLOCK) // max(1, blocks - 1)
        yield from recipe.chunks(start, start + BLOCK)


def _test_of_op(computation: OpComputation, name: str) -> tuple[Sequence[str], str]:
    """Return the lines that call the model for a row, and whether the row differs."""
    outputs = computation.outputs
    arguments = [f"row.{c.name}" for c in computation.inputs] + [f"&{c.name}" for c in outputs]
    poison = next((c.name for c in outputs if c.role is Role.POISON), None)
    free = next((f" & ~row.{c.name}" for c in outputs if c.role is Role.OPEN), "")
    differs = " || ".join(
        f"(({c.name} ^ row.{c.name}){free}) != 0" if free and c.role is Role.RESULT else f"{c.name} != row.{c.name}"
        for c in outputs
        if c.role is not Role.POISON
    )
    if poison is not None:
        differs = f"{poison} != row.{poison} || (!{poison} && ({differs}))"
    return [*(f"{c_type(c)} {c.name};" for c in outputs), f"{name}({', '.join(arguments)});"], differs


def _test_of_tiles(tile: TileModel, name: str) -> tuple[Sequence[str], str]:
    """Return the same for a tile operation, whose arguments are arrays."""
    *given, (result, columns) = tile.arrays
    lines = [
        f"const {c_type(each[0])} {array}[] = {{{', '.join(f'row.{column.name}' for column in each)}}};"
        for array, each in given
    ]
    lines.append(f"{c_type(columns[0])} {result}[{len(columns)}];")
    lines.append(f"{name}({', '.join(array for array, _ in tile.arrays)});")
    return lines, " || ".join(f"{result}[{k}] != row.{column.name}" for k, column in enumerate(columns))


def _self_test(recipe: Recipe, name: str, lines: Sequence[str], differs: str) -> str:
    """Return a program that compares the model with golden rows."""
    file = io.BytesIO()
    rows = f"{name}_golden"
    write_array(VectorSet(recipe.columns, _rows(recipe)), file, Options(rows))
    done = "\n".join(f"        {line}" for line in lines)
    return f"""\
#ifdef {name.upper()}_SELF_TEST
#include <stdio.h>

{file.getvalue().decode().rstrip()}

int main(void)
{{
    long differing = 0, k;
    for (k = 0; k < {rows.upper()}_COUNT; k++) {{
        const struct {rows}_row row = {rows}[k];
{done}
        if ({differs}) {{
            if (differing == 0)
                printf("row %ld differs\\n", k);
            differing++;
        }}
    }}
    printf("%ld of %ld rows differ\\n", differing, (long){rows.upper()}_COUNT);
    return differing != 0;
}}
#endif
"""


def _package_arguments(computation: OpComputation) -> Iterator[str]:
    sides = [*(("input", column) for column in computation.inputs), *(("output", c) for c in computation.outputs)]
    for k, (side, c) in enumerate(sides):
        type_ = SYSTEMVERILOG_TYPES[storage_dtype(c.width).itemsize * 8]
        comma = "," if k + 1 < len(sides) else ""
        yield f"      {side:<6} {type_} unsigned {c.name}{comma}  // {c.type}, {c.width} bits"


def _package(about: str, name: str, arguments: Iterable[str]) -> str:
    """Return the package that imports the function into SystemVerilog."""
    lines = "\n".join(arguments)
    return f"""\
// {about}: the model in {name}.c, made by halfulp.
package {name}_dpi;
  import "DPI-C" function void {name}(
{lines}
  );
endpackage
"""
