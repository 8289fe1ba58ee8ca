"""The front door: load a module, run it, evaluate one op, convert between types, register one's own ops."""

from __future__ import annotations

import mmap
import os
import stat
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from halfulp.fp_formats.paths import cpu
from halfulp.fp_formats.policy import Rounding
from halfulp.interp.bytecode.encoding import MAGIC
from halfulp.interp.declare.build import completed, single_op_module
from halfulp.interp.declare.constraints import ANY
from halfulp.interp.declare.declarations import Dialect, OpDefinition, Schema, TypeConstraint, default_registry
from halfulp.interp.ir import attributes as at
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.errors import InputError, TypeMismatch, Unsupported
from halfulp.interp.ir.operations import Block, Module, Operation, Region, SSAValue
from halfulp.interp.run.events import Listener
from halfulp.interp.run.executor import (
    Control,
    Elementwise,
    ElementwiseStep,
    Limits,
    Program,
    Pure,
    Run,
    Settings,
    argument_types,
    host_values,
    program_for,
    result_types,
)
from halfulp.interp.run.stochastic import stochastic_kernel
from halfulp.interp.text.parser import parse_module
from halfulp.interp.values.buffers import Buffer, to_argument
from halfulp.interp.values.value import (
    Value,
    as_array,
    as_type,
    code_layout,
    element_width,
    over_lanes,
    repeated,
    runtime_shape,
    shape_conflict,
    to_value,
)
from halfulp.semantics import casts
from halfulp.semantics.kernel import Kernel
from halfulp.semantics.profile import Profile, as_profile

MAX_FILE_BYTES = 1 << 30

Source = str | os.PathLike[str] | bytes | bytearray | memoryview
_SCHEMAS: Mapping[str, Schema] = {"mlir22": Schema.MLIR22, "llvm24": Schema.LLVM24}
_casts: dict[tuple[tuple[str, ...], tuple[str, ...]], Callable[..., Any]] = {}
_externals: dict[str, Callable[..., Any]] = {}


# --- modules ----------------------------------------------------------------------------------------------------------


def load(source: Source) -> Module:
    """Read and verify a module: a path, MLIR text, or bytes. A file or bytes may be text or MLIR bytecode.

    A string that has a newline, a brace, a bracket or a quote is text; any other string is a path. Raises InputError
    when a file cannot be read, ParseError, BytecodeError or VerifyError with the place when it is no valid MLIR.
    """
    if isinstance(source, str) and (any(mark in source for mark in '\n{("') or not source.strip()):
        return parse_module(source)
    return _from_bytes(*_opened(source))


def read_bytecode(source: Source, *, schema: str | None = None, allow_unregistered: bool = True) -> Module:
    """Read and verify MLIR bytecode, versions 0 to 6, from a path or bytes.

    ``schema``: "mlir22" or "llvm24", whose ops and codes the file uses; None for what its producer says.
    ``allow_unregistered``: keep ops of dialects that are not known. A file is mapped: its resources are not copied.

    Raises BytecodeError with the offset at which the file is wrong, InputError and VerifyError.
    """
    from halfulp.interp.bytecode import reader

    data, name = _opened(source)
    return reader.read_bytecode(data, name, allow_unregistered, schema=None if schema is None else _schema(schema))


def _opened(source: Any) -> tuple[bytes | memoryview, str]:
    """The bytes of a path, or of an object that holds some, in place where nobody can change them; their name."""
    if isinstance(source, bytes):
        return source, "<bytes>"
    try:
        view = memoryview(source)
    except TypeError:
        return open_file(source), os.fspath(source)
    return view.cast("B") if view.readonly and view.c_contiguous else view.tobytes(), "<bytes>"


def write_bytecode(module: Module, version: int = 6, schema: str = "mlir22", producer: str | None = None) -> bytes:
    """A module as MLIR bytecode: for mlir22 the bytes that mlir-opt 22 writes, but for the name of the producer.

    ``version``: of the format, 0 to 6. ``schema``: "mlir22" or "llvm24", the MLIR that is to read it; both read
    version 4. ``producer``: the name in the file, by which halfulp knows the schema again (default: MLIR22-halfulp or
    MLIR24-halfulp). Raises InputError for a version that does not exist, Unsupported for what the schema does not have.
    """
    from halfulp.interp.bytecode import writer

    return writer.write_bytecode(module, version, _schema(schema), producer)


def _schema(name: str) -> Schema:
    if name not in _SCHEMAS:
        raise ValueError(f"schema is {name!r}, but must be one of {', '.join(_SCHEMAS)}")
    return _SCHEMAS[name]


def open_file(path: str | os.PathLike[str]) -> bytes | memoryview:
    """What `read_file` gives; bytecode in a regular file is mapped instead of read, however large it is.

    The file must not be changed while the module, or anything computed from its resources, lives.
    """
    try:
        with Path(path).open("rb") as file:
            if stat.S_ISREG(os.fstat(file.fileno()).st_mode) and file.read(len(MAGIC)) == MAGIC:
                return memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
    except (OSError, ValueError):
        # What cannot be opened, `read_file` says why; what cannot be mapped, it reads.
        pass
    return read_file(path)


def read_file(path: str | os.PathLike[str]) -> bytes:
    """The bytes of a file or pipe. Raises InputError when it cannot be read or is larger than a gigabyte."""
    name = os.fspath(path)
    try:
        with Path(path).open("rb") as file:
            kind = os.fstat(file.fileno())
            # A device such as /dev/zero never ends.
            if not (stat.S_ISREG(kind.st_mode) or stat.S_ISFIFO(kind.st_mode)):
                raise InputError(f"cannot read {name!r}: it is no regular file")
            if kind.st_size > MAX_FILE_BYTES:
                raise InputError(f"cannot read {name!r}: it is larger than {MAX_FILE_BYTES} bytes")
            data = file.read(MAX_FILE_BYTES + 1 if stat.S_ISFIFO(kind.st_mode) else -1)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise InputError(f"cannot read {name!r}: {reason}") from None
    if len(data) > MAX_FILE_BYTES:
        raise InputError(f"cannot read {name!r}: it is larger than {MAX_FILE_BYTES} bytes")
    return data


def is_bytecode(data: bytes | memoryview) -> bool:
    """Whether bytes are MLIR bytecode, by their first four."""
    return bytes(data[: len(MAGIC)]) == MAGIC


def decode_text(data: bytes | memoryview) -> str:
    """The MLIR text of a file's bytes; what is not UTF-8 is kept as surrogates."""
    return bytes(data).decode("utf-8", "surrogateescape")


def _from_bytes(data: bytes | memoryview, name: str) -> Module:
    if is_bytecode(data):
        from halfulp.interp.bytecode import reader

        return reader.read_bytecode(data, name)
    return parse_module(decode_text(data), name)


# --- running ----------------------------------------------------------------------------------------------------------


def run(
    module: Module | Source,
    *arguments: Any,
    entry: str | None = None,
    profile: Profile | str = "spec",
    on_ub: Literal["raise", "poison"] = "raise",
    index_width: Literal[64, 32] = 64,
    vscale: int | None = None,
    track_open: bool = False,
    externals: Mapping[str, Callable[..., Any]] | None = None,
    listeners: Sequence[Listener] = (),
    batch: bool = False,
    mma: str = "exact",
    swizzle: Literal["hint", "physical"] = "hint",
    check_hints: bool = False,
    max_steps: int = Limits().steps,
    max_depth: int = Limits().depth,
    max_bytes: int = Limits().bytes,
) -> tuple[Value, ...]:
    """Call a function of a module, and return its results, always as a tuple.

    ``module``: what `load` returned, or anything `load` takes. ``arguments``: NumPy or ml_dtypes arrays, Python numbers
    for scalars, or `Value`s, of exactly the function's argument types; for a memref also a `Buffer`, which has
    afterwards what was stored into it, while anything else is copied. ``entry``: the function's name (``@a::@b`` for a
    nested module); it may be left out where there is just one public function with a body. ``profile``: a name,
    ``name,field=value``, or a `Profile`. ``on_ub``: what undefined behaviour does: "raise" stops with
    `UndefinedBehavior`, "poison" makes the offending elements poison where arithmetic is undefined; a branch on poison
    and an access outside of memory stop all the same. ``index_width``: bits at which index wraps. ``vscale``: the
    multiple of scalable vectors.
    ``track_open``: keep masks of elements the language leaves open. ``externals``: Python functions for declarations,
    by name; and one by the name "iree_codegen.query_tile_sizes", which gets a tensor type, an object with ``shape`` and
    ``element``, and returns as many integers as the op has results.
    ``listeners``: what happens, as it happens. ``batch``: run a function for many lanes at once (below).
    ``mma``: how `iree_codegen.inner_tiled` adds up: "exact" (rounded once), "ieee" (fused multiply-adds one after the
    other) or "chip:hopper" and others, as the chip's matrix unit does.
    ``swizzle``: "physical" makes loads and stores of what `iree_codegen.swizzle_hint` returns go to the swizzled place
    in memory, which others that use this memory see; "hint" ignores it.
    ``check_hints``: in a batch, `iree_codegen.index_hint` is undefined where its claim about the lanes does not hold.
    ``max_steps``, ``max_depth``, ``max_bytes``: limits on ops executed, nested calls, and bytes of one value.

    In a batch each argument, a scalar, tensor or vector, has one more leading axis, with an entry for each lane, or is
    what it is for all lanes; each result is a tensor with such an axis. Lanes go their own ways through branches,
    loops and calls; each gets exactly what it gets alone. Undefined behaviour and poison count only in the lanes that
    come to it: errors name the first lane, how many there are, and, in ``lanes``, all of them. An op that lanes run
    together counts as one step. Functions of one's own (externals, registered ops and conversions) are called for each
    lane. Lanes cannot have values of different shapes, nor memory.
    A distributed `iree_codegen.inner_tiled` is what all lanes of a subgroup do together: of a kind for 64 lanes, lanes
    0 to 63 of the batch are one subgroup, 64 to 127 the next.

    A loaded module is compiled on its first run and must not be changed afterwards.

    Raises TypeMismatch for an argument that does not fit, Unsupported, UndefinedBehavior, LimitExceeded, and the errors
    of `load`.
    """
    if not isinstance(module, Module):
        module = load(module)
    settings = Settings(
        as_profile(profile),
        on_ub,
        index_width,
        vscale,
        track_open,
        Limits(max_steps, max_depth, max_bytes),
        tuple(listeners),
        *user_functions(externals),
        mma=mma,
        swizzle=swizzle,
        check_hints=check_hints,
    )
    function = find_entry(module, entry)
    types = argument_types(function)
    name = f"@{function.symbol_name}"
    if len(arguments) != len(types):
        raise TypeMismatch(
            f"{name} takes {len(types)} arguments ({', '.join(map(str, types))}), but {len(arguments)} are given",
            location=function.location,
        )
    if batch:
        return _run_lanes(module, function, arguments, settings)
    values = []
    for index, (argument, type_) in enumerate(zip(arguments, types, strict=True)):
        what = f"argument {index} of {name}"
        given = to_argument(argument, type_, what, vscale, max_bytes=settings.limits.bytes)
        values.append(settings.accepted(given, what))
    if not function.regions[0].blocks:
        external = settings.externals.get(function.symbol_name or "")
        if external is None:
            raise Unsupported(f"'{name}' is a declaration without a body", location=function.location)
        produced = host_values(external(*values), result_types(function), f"the function bound to {name}", settings)
        return tuple(value.load() if isinstance(value, Buffer) else value for value in produced)
    return program_for(module, settings).run(function, values)


def _run_lanes(module: Module, function: Operation, arguments: Sequence[Any], settings: Settings) -> tuple[Value, ...]:
    """Call a function for each lane of its arguments."""
    name = f"@{function.symbol_name}"
    types = argument_types(function), result_types(function)
    for type_ in (*types[0], *types[1]):
        reason = _no_lanes(type_)
        if reason is not None:
            raise Unsupported(
                f"a batch runs functions on scalars, tensors and vectors, but {name} has an argument or result of type "
                f"'{type_}', {reason}",
                location=function.location,
                hint="leave out batch=True (--batch)",
            )
    if not function.regions[0].blocks:
        raise Unsupported(f"'{name}' is a declaration: a batch needs a body", location=function.location)
    values, lanes = [], None
    for index, (argument, type_) in enumerate(zip(arguments, types[0], strict=True)):
        what = f"argument {index} of {name}"
        value = settings.accepted(_lane_argument(argument, type_, what, settings.vscale), what)
        if over_lanes(value):
            lanes = value.shape[0] if lanes is None else lanes
            if value.shape[0] != lanes:
                raise TypeMismatch(f"{what} has {value.shape[0]} lanes, but an argument before it has {lanes}")
        values.append(value)
    if lanes is None:
        raise TypeMismatch(
            f"no argument of {name} has lanes: a batch needs at least one array with a leading axis over them",
            location=function.location,
        )
    results = program_for(module, settings).run(function, values, lanes)
    return tuple(
        Value(ty.TensorType(full.shape, full.element_type), full.bits, full.poison, full.open, full.origins)
        for value in results
        for full in [value if over_lanes(value) else repeated(value, lanes)]
    )


def _no_lanes(type_: ty.Type) -> str | None:
    """Why values of a type cannot have one more axis over lanes; None where they can."""
    element = ty.element_type(type_)
    if isinstance(type_, ty.MemRefType):
        return "and lanes have no memory of their own"
    if ty.shape_of(type_) is None:
        return "which does not say whether an array has an axis over lanes"
    if isinstance(element, ty.UniformQuantizedType) and element.along_axes:
        return "whose scales go with axes"
    return "which is carried, not computed with" if element_width(element) is None else None


def _lane_argument(argument: Any, type_: ty.Type, what: str, vscale: int | None) -> Value:
    """A value of a type, or one that has a leading axis over lanes more than that."""
    if isinstance(argument, Buffer):
        raise TypeMismatch(f"{what}: expected '{type_}', got a buffer of type '{argument.type}'")
    shape = runtime_shape(type_, vscale)
    assert shape is not None
    element = ty.element_type(type_)
    if isinstance(argument, Value):
        rank = len(argument.shape)
    elif isinstance(argument, bool | int | float):
        rank = 0
    else:
        argument = as_array(argument, what)
        rank = argument.ndim - (0 if argument.dtype == object else len(code_layout(element)[1]))
    if rank == len(shape):
        return to_value(argument, type_, what, vscale)
    value = to_value(argument, ty.TensorType((None, *shape), element), what)
    return Value(type_, value.bits, value.poison, value.open, value.origins)


def find_entry(module: Module, entry: str | None = None) -> Operation:
    """The function to run: the one named, or the only public one with a body. Raises InputError, listing the
    choices.
    """
    if entry is not None:
        found = module.lookup(entry)
        if found is None or found.name != "func.func":
            raise InputError(f"there is no function '{entry}'; {_choices(module)}")
        return found
    public = [
        op for op in module.body if op.name == "func.func" and op.regions[0].blocks and _visibility(op) != "private"
    ]
    if len(public) != 1:
        named = any(op.name == "func.func" for op in module.walk())
        hint = 'name it: entry="…" (--function=…)' if named else None
        raise InputError(f"which function is to run? {_choices(module)}", hint=hint)
    return public[0]


def function_path(function: Operation) -> str:
    """The name by which ``entry`` finds a function: those of the modules around it, but the outermost, and its own."""
    names, op = [], function
    while op.parent_op is not None:
        names.append(f"@{op.symbol_name}")
        op = op.parent_op
    return "::".join(reversed(names))


def _visibility(op: Operation) -> str:
    visibility = op.properties.get("sym_visibility")
    return visibility.value if isinstance(visibility, at.StringAttr) else "public"


def _choices(module: Module) -> str:
    names = [function_path(op) for op in module.walk() if op.name == "func.func"]
    return f"the functions are {', '.join(names)}" if names else "the module has no functions"


# --- one op -----------------------------------------------------------------------------------------------------------


def eval(
    op: str,
    *operands: Any,
    type: str | ty.Type | Sequence[str | ty.Type | None] | None = None,
    to: str | ty.Type | None = None,
    profile: Profile | str = "spec",
    on_ub: Literal["raise", "poison"] = "raise",
    index_width: Literal[64, 32] = 64,
    track_open: bool = False,
    random: npt.NDArray[Any] | None = None,
    mma: str = "exact",
    **properties: Any,
) -> Any:
    """Evaluate one op without writing MLIR; its result as a `Value`, or a tuple of them where it has several.

    ``op``: the full name, as in "arith.addf". ``operands``: arrays, numbers or `Value`s. ``type``: the element type (or
    whole type) of the operands, one for all or one for each; None where the dtype says it. ``to``: the element type of
    the result of a cast. ``properties``: the op's properties by name, enums by keyword (``fastmath="nnan"``,
    ``predicate="slt"``,
    ``rounding="upward"``, ``overflow="nsw"``, ``exact=True``), other attributes as MLIR spells them or as lists.
    ``rounding="stochastic"`` needs ``random``: one unsigned integer per element, compared with the discarded fraction
    at the width of its dtype. ``mma``: as for `run`.

    Where several operands of an op stand for any number of values, the one way to divide those given that the op
    accepts is taken; ``operandSegmentSizes=[2, 1]`` says it where there are several.
    `iree_codegen.inner_tiled` needs ``kind="#iree_gpu.mma_layout<MFMA_F32_16x16x16_F16>"`` only: without
    ``indexing_maps`` it has no loops (one tile), without ``iterator_types`` loops of the last map are parallel and the
    others reductions, without ``semantics`` it is neither distributed nor opaque; and its element types are the kind's.

    Raises what `run` raises, and VerifyError where the op does not accept these types.
    """
    definition = default_registry().require(op)
    if isinstance(definition.evaluate, Control) or definition.regions or not definition.results:
        raise Unsupported(f"'{op}' cannot be evaluated on its own")
    wanted = type if isinstance(type, Sequence) and not isinstance(type, str) else [type] * len(operands)
    if len(wanted) != len(operands):
        raise TypeMismatch(f"{len(wanted)} types are given for {len(operands)} operands of {op}")
    stochastic = properties.get("rounding", properties.get("roundingmode")) == "stochastic"
    if stochastic:
        for name in ("rounding", "roundingmode"):
            properties.pop(name, None)
    attributes, implied = completed(definition, properties, len(operands))
    if len(implied) == len(wanted):
        wanted = [element if spelling is None else spelling for spelling, element in zip(wanted, implied, strict=True)]
    values = [
        _operand(definition, index, operand, spelling)
        for index, (operand, spelling) in enumerate(zip(operands, wanted, strict=True))
    ]
    module = single_op_module(
        definition, [value.type for value in values], attributes, None if to is None else as_type(to)
    )
    function = module.body[0]
    if stochastic:
        return _stochastically(function, values, as_profile(profile), random)
    settings = Settings(as_profile(profile), on_ub, index_width, track_open=track_open, casts=dict(_casts), mma=mma)
    values = [settings.accepted(value, f"operand {index} of {op}") for index, value in enumerate(values)]
    results = program_for(module, settings).run(function, values)
    return results[0] if len(results) == 1 else results


def _operand(definition: OpDefinition, index: int, operand: Any, spelling: str | ty.Type | None) -> Value:
    what = f"operand {index} of {definition.name}"
    operand = operand.load() if isinstance(operand, Buffer) else operand
    if isinstance(operand, Value):
        return operand
    slots = definition.operands
    given = None if spelling is None else as_type(spelling)
    slot = slots[index] if index < len(slots) else slots[-1] if slots else None
    if given is not None and slot is not None and not slot.constraint.accepts(given):
        given = ty.I1 if slot.constraint.accepts(ty.I1) else given  # the condition of select
    if given is None:
        return Value.from_numpy(operand)
    shape = np.shape(operand)
    if given is ty.element_type(given) and shape:
        trailing = np.asarray(operand).dtype == np.uint64 and _limbs(given)
        given = ty.TensorType(shape[:-1] if trailing else shape, given)
    return to_value(operand, given, what)


def _limbs(element: ty.Type) -> bool:
    from halfulp.interp.values.value import code_layout

    return bool(code_layout(element)[1])


# --- stochastic rounding ----------------------------------------------------------------------------------------------


def _random_bits(random: npt.NDArray[Any] | None, shape: tuple[int, ...]) -> tuple[npt.NDArray[Any], int]:
    if random is None:
        raise InputError("stochastic rounding needs random=…: one unsigned integer per element")
    bits = np.asarray(random)
    if bits.dtype.kind != "u" or bits.shape != shape:
        raise TypeMismatch(
            f"random: expected unsigned integers of shape {shape}, got {bits.dtype} of shape {bits.shape}"
        )
    return bits, 8 * bits.dtype.itemsize


def _stochastically(
    function: Operation, values: Sequence[Value], profile: Profile, random: npt.NDArray[Any] | None
) -> Value:
    op = function.regions[0].blocks[0].operations[0]
    kernel = stochastic_kernel(op, _random_bits(random, values[0].shape), profile)
    return _apply(kernel, op.name, values, op.results[0].type)


def _apply(kernel: Kernel, name: str, values: Sequence[Value], result: ty.Type) -> Value:
    """A kernel applied outside any program: the general path of the executor, for an op that exists for the moment.

    Where nothing is poison, there is nothing for the executor to do: it would take longer than small arrays do.
    """
    if len(values) == 1 and values[0].poison is None:
        outcome = kernel.array(values[0].bits)
        if not outcome.faults:
            return Value(result, outcome.results[0])
        kernel = replace(kernel, array=lambda *codes: outcome)
    op = Operation(name, default_registry().find(name), [SSAValue(value.type) for value in values], [result])
    program = _no_program()
    step = ElementwiseStep(op, Elementwise(lambda op, settings: kernel), kernel, program.settings)
    return step.run(Run(program), tuple(values))[0]


@cache
def _no_program() -> Program:
    """The program around an op that is in none: made once, since that takes longer than small arrays do."""
    return Program(Module(Operation("builtin.module", regions=[Region([Block()])])), Settings())


# --- conversions ------------------------------------------------------------------------------------------------------


_MODES = {mode.spelling: mode for mode in Rounding}


def convert(
    x: Any,
    to: str | ty.Type,
    *,
    rounding: str | None = None,
    type: str | ty.Type | None = None,
    profile: Profile | str = "spec",
    random: npt.NDArray[Any] | None = None,
) -> Value:
    """Convert an array, number or `Value` to another element type, rounding once.

    ``to``: a float or integer type. ``rounding``: to_nearest_even (the default into floats), downward, upward,
    toward_zero (the default into integers), to_nearest_away, or stochastic, which needs ``random``: one unsigned
    integer per element.
    ``type``: the source's element type, where its dtype does not say it. Elements that have no value in the target (NaN
    in f4E2M1FN; NaN or out of range in an integer) are poison, or what the profile says.

    Raises TypeMismatch for types that cannot be converted, ValueError for an unknown rounding mode.
    """
    cpu.check()
    x = x.load() if isinstance(x, Buffer) else x
    source = x if isinstance(x, Value) else _source(x, type)
    target = as_type(to)
    from_, element = source.element_type, ty.element_type(target)
    result = ty.with_element(source.type, element) if target is element else target
    conflict = shape_conflict(result, source.shape)
    if conflict:
        raise TypeMismatch(f"convert: {conflict}")
    if rounding is not None and rounding not in _MODES:
        raise ValueError(f"rounding is {rounding!r}, but must be one of {', '.join(_MODES)}")
    mode = None if rounding is None else _MODES[rounding]
    kernel = _conversion(source, from_, element, mode, as_profile(profile), random)
    return _apply(kernel, "convert", [source], result)


def _source(x: Any, spelling: str | ty.Type | None) -> Value:
    if spelling is None:
        value = Value.from_numpy(x, copy=False)
        element = value.element_type
        # What has no sign in NumPy has none here: an unsigned dtype and bool are unsigned integers.
        if isinstance(element, ty.IntegerType) and (as_array(x, "x").dtype.name.startswith("uint") or element == ty.I1):
            unsigned = ty.IntegerType(element.width, "unsigned")
            return Value(ty.with_element(value.type, unsigned), value.bits)
        return value
    type_ = as_type(spelling)
    shape = np.shape(x)
    if type_ is ty.element_type(type_) and shape:
        trailing = np.asarray(x).dtype == np.uint64 and _limbs(type_)
        type_ = ty.TensorType(shape[:-1] if trailing else shape, type_)
    return to_value(x, type_)


def _conversion(
    source: Value,
    from_: ty.Type,
    to: ty.Type,
    mode: Rounding | None,
    profile: Profile,
    random: npt.NDArray[Any] | None,
) -> Kernel:
    into_floats = Rounding.TO_NEAREST_EVEN if mode is None else mode
    match from_, to:
        case ty.FloatType(), ty.FloatType():
            if mode is Rounding.STOCHASTIC:
                return casts.convert_stochastically(
                    from_.format, to.format, _random_bits(random, source.shape), profile
                )
            return casts.convert(from_.format, to.format, into_floats, 0, profile)
        case ty.IntegerType(), ty.FloatType() if mode is not Rounding.STOCHASTIC:
            signed = from_.signedness != "unsigned"
            return casts.from_integer(from_.width, signed, to.format, profile, rounding=into_floats)
        case ty.FloatType(), ty.IntegerType() if mode is not Rounding.STOCHASTIC:
            return casts.to_integer(from_.format, to.width, to.signedness != "unsigned", profile, rounding=mode)
    how = "" if mode is not Rounding.STOCHASTIC else " with stochastic rounding"
    raise TypeMismatch(f"cannot convert '{from_}' to '{to}'{how}")


# --- registration -----------------------------------------------------------------------------------------------------


def register_dialect(dialect: Dialect) -> None:
    """Add a dialect, or more ops to a known one. Raises ValueError when an op of that name exists."""
    default_registry().register(dialect)


def register_op(
    name: str,
    function: Callable[..., Any],
    *,
    operands: Mapping[str, TypeConstraint] | Sequence[str] = (),
    results: Mapping[str, TypeConstraint] | Sequence[str] = ("result",),
    assembly: str | None = None,
    **declaration: Any,
) -> OpDefinition:
    """Declare an op of one's own and what it computes.

    ``name``: ``dialect.mnemonic``. ``function`` gets the operands as `Value`s and the op's properties and attributes as
    keywords; it returns one result, or a tuple of them, as `Value`s, arrays or numbers of the declared result types.
    ``operands``, ``results``: names, or names with type constraints. ``assembly``: MLIR's declarative assembly format;
    without it the op has only its generic form. ``declaration``: further fields of
    `halfulp.interp.declare.declarations.OpDefinition`.

    Raises ValueError when the op exists.
    """
    dialect_name, dot, mnemonic = name.partition(".")
    if not dot:
        raise ValueError(f"{name!r} is not dialect.mnemonic")
    named = [
        dict.fromkeys(slots, ANY) if not isinstance(slots, Mapping) else dict(slots) for slots in (operands, results)
    ]

    def build(op: Operation, settings: Settings) -> Callable[[Run, tuple[Any, ...]], tuple[Any, ...]]:
        types = [value.type for value in op.results]
        keywords = {**op.attributes, **op.properties}

        def apply(run: Run, values: tuple[Any, ...]) -> tuple[Any, ...]:
            return host_values(function(*values, **keywords), types, f"the function behind '{name}'", settings)

        return apply

    dialect = Dialect(dialect_name)
    definition = dialect.op(
        mnemonic, assembly, operands=named[0], results=named[1], evaluate=Pure(build), **declaration
    )
    default_registry().register(dialect)
    return definition


def register_cast(
    source: str | ty.Type | Sequence[str | ty.Type],
    target: str | ty.Type | Sequence[str | ty.Type],
    function: Callable[..., Any],
) -> None:
    """Say what builtin.unrealized_conversion_cast from these types to those computes: values in, values (or arrays)
    out.
    """
    _casts[_spellings(source), _spellings(target)] = function


def _spellings(types: str | ty.Type | Sequence[str | ty.Type]) -> tuple[str, ...]:
    several = types if isinstance(types, Sequence) and not isinstance(types, str) else [types]
    return tuple(str(as_type(type_)) for type_ in several)


def register_external(name: str, function: Callable[..., Any]) -> None:
    """Bind a Python function to every declaration of that name: it gets `Value`s and returns values, arrays or
    numbers.
    """
    _externals[name.removeprefix("@")] = function


def user_functions(
    externals: Mapping[str, Callable[..., Any]] | None,
) -> tuple[dict[str, Callable[..., Any]], dict[tuple[tuple[str, ...], tuple[str, ...]], Callable[..., Any]]]:
    """What a run calls in Python: for declarations, those registered and, before them, ``externals``; for casts."""
    return {**_externals, **(externals or {})}, dict(_casts)
