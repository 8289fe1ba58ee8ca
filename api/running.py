"""Run a function of a module: once, or for many lanes at once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Unpack

from halfulp.interp.ir import attributes as at
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.errors import InputError, TypeMismatch, Unsupported, wrong_count
from halfulp.interp.ir.operations import FUNCTIONS, Module, Operation, argument_types, result_types
from halfulp.interp.ir.types import element_width
from halfulp.interp.run.program import program_for
from halfulp.interp.run.settings import Settings, host_values
from halfulp.interp.values.buffers import Buffer, to_argument
from halfulp.interp.values.coerce import as_array, as_type
from halfulp.interp.values.element_layout import code_layout, runtime_shape
from halfulp.interp.values.lanes import over_lanes, repeated
from halfulp.interp.values.value import Value, to_value
from halfulp.loading import Source, load
from halfulp.run_options import RunKeywords, RunOptions, run_options, takes

if TYPE_CHECKING:
    from halfulp.interp.dialects.llvm.abi import Convention


@takes(RunKeywords)
def run(module: Module | Source, *arguments: Any, **options: Unpack[RunKeywords]) -> tuple[Value, ...]:
    """Call a function of a module, and return its results, always as a tuple.

    ``module``: the result of `load`, or anything that `load` takes. ``arguments``: NumPy or ml_dtypes arrays, Python
    numbers for scalars, or `Value`s, of exactly the function's argument types. A memref also takes a `Buffer`, which
    holds afterwards what was stored into it; anything else is copied.

    {options}

    An external function of the name "iree_codegen.query_tile_sizes" gets a tensor type, an object with ``shape`` and
    ``element``, and returns as many integers as the op has results.

    In a batch, each argument has one more leading axis, with an entry for each lane. An argument without this axis is
    the same for all lanes. Each result is a tensor with this axis. Each lane has memory of its own: from an array for a
    memref each gets a copy of its entry, and a `Buffer` with the axis holds afterwards what they stored. Each lane
    takes its own way through branches, loops and calls, and gets exactly the results that it gets alone. Undefined
    behaviour and poison count only in the lanes that reach them: errors name the first lane, the number of lanes, and,
    in ``lanes``, all of them. An op that lanes run together counts as one step. User functions (externals, registered
    ops and conversions) are called for each lane. Lanes cannot have values of different shapes.
    A distributed `iree_codegen.inner_tiled` is computed by all lanes of a subgroup together: for a kind with 64 lanes,
    lanes 0 to 63 of the batch are one subgroup, 64 to 127 the next.

    A loaded module is compiled on its first run and must not be changed afterwards.

    Raises TypeMismatch for an argument that does not fit, Unsupported, UndefinedBehavior, LimitExceeded, ValueError for
    an option that is not one of its choices, and the errors of `load`.
    """
    return run_with(module, arguments, run_options("run", RunKeywords, options))


def run_with(module: Module | Source, arguments: Sequence[Any], options: RunOptions) -> tuple[Value, ...]:
    """Run a function as `run` does, with these options."""
    if not isinstance(module, Module):
        module = load(module)
    function = find_entry(module, options.function)
    lowered = None if options.signature is None else lowered_from(function, options.signature)
    if options.batch and lowered is not None:
        raise Unsupported("a batch calls functions by their own types", hint="leave out signature= or batch=True")
    if options.batch:
        _check_count(function, arguments, argument_types(function))
        return _run_lanes(module, function, arguments, options)
    values, name = given_arguments(function, arguments, options), f"@{function.symbol_name}"
    if not function.regions[0].blocks:
        external = options.externals.get(function.symbol_name or "")
        if external is None:
            raise Unsupported(f"'{name}' is a declaration without a body", location=function.location)
        produced = host_values(external(*values), result_types(function), f"the function bound to {name}", options)
        return tuple(value.load() if isinstance(value, Buffer) else value for value in produced)
    if lowered is not None:
        entered = lowered.enter(values)
        return entered.leave(program_for(module, options).run(function, entered.arguments))
    return _only_values(function, program_for(module, options).run(function, values))


def _only_values(function: Operation, results: tuple[Any, ...]) -> tuple[Value, ...]:
    """Return the results. Raises Unsupported for pointers and aggregates of the llvm dialect."""
    for value, type_ in zip(results, result_types(function), strict=True):
        if not isinstance(value, Value):
            raise Unsupported(
                f"@{function.symbol_name} returns '{type_}', which is not a value outside of the program",
                location=function.location,
                hint='name the type that the function had before it was lowered: signature="…" (--signature=…)',
            )
    return results


def given_arguments(function: Operation, arguments: Sequence[Any], options: RunOptions) -> list[Value | Buffer]:
    """Return the arguments of a run as values and buffers. Raises TypeMismatch, LimitExceeded."""
    lowered = None if options.signature is None else lowered_from(function, options.signature)
    types = argument_types(function) if lowered is None else lowered.source.inputs
    _check_count(function, arguments, types)
    values = []
    for index, (argument, type_) in enumerate(zip(arguments, types, strict=True)):
        what = f"argument {index} of @{function.symbol_name}"
        given = to_argument(argument, type_, what, options.vscale, max_bytes=options.max_bytes)
        values.append(options.accepted(given, what))
    return values


def _check_count(function: Operation, arguments: Sequence[Any], types: Sequence[ty.Type]) -> None:
    if len(arguments) != len(types):
        raise TypeMismatch(
            wrong_count(f"@{function.symbol_name}", "argument", types, len(arguments)), location=function.location
        )


def lowered_from(function: Operation, signature: str) -> Convention:
    """Return how a function of the llvm dialect takes and returns values of the types that it had.

    Raises TypeMismatch for a signature that is not a type of functions, ParseError, and Unsupported for any other
    function, a declaration, and a function that follows no known convention.
    """
    from halfulp.interp.dialects.llvm.abi import convention_of

    source = as_type(signature)
    if not isinstance(source, ty.FunctionType):
        raise TypeMismatch(
            f"the signature '{signature}' is not a type of functions",
            hint="write (tensor<4xf32>, i32) -> tensor<4xf32>",
        )
    if function.name != "llvm.func" or not function.regions[0].blocks:
        raise Unsupported(
            f"@{function.symbol_name} is not a function of the llvm dialect with a body: a signature is for these",
            location=function.location,
        )
    return convention_of(source, function)


def _run_lanes(module: Module, function: Operation, arguments: Sequence[Any], settings: Settings) -> tuple[Value, ...]:
    """Call a function for each lane of its arguments."""
    from halfulp.interp.run.batch.program import run_batch

    name = f"@{function.symbol_name}"
    types = argument_types(function), result_types(function)
    for type_ in (*types[0], *types[1]):
        reason = _no_lanes(type_)
        if reason is not None:
            raise Unsupported(
                f"a batch runs functions on scalars, tensors, vectors and memrefs, but {name} has an argument or "
                f"result of type '{type_}', {reason}",
                location=function.location,
                hint="leave out batch=True (--batch)",
            )
    if not function.regions[0].blocks:
        raise Unsupported(f"'{name}' is a declaration: a batch needs a body", location=function.location)
    values: list[Value | Buffer] = []
    lanes = None
    for index, (argument, type_) in enumerate(zip(arguments, types[0], strict=True)):
        what = f"argument {index} of {name}"
        value = settings.accepted(_lane_argument(argument, type_, what, settings.vscale), what)
        if over_lanes(value) or isinstance(value, Buffer):
            lanes = value.shape[0] if lanes is None else lanes
            if value.shape[0] != lanes:
                raise TypeMismatch(f"{what} has {value.shape[0]} lanes, but an argument before it has {lanes}")
        values.append(value)
    if lanes is None:
        raise TypeMismatch(
            f"no argument of {name} has lanes: a batch needs at least one array with a leading axis over them",
            location=function.location,
        )
    results = run_batch(program_for(module, settings), function, values, lanes)
    return tuple(
        Value(ty.TensorType(full.shape, full.element_type), full.bits, full.poison, full.open, full.origins)
        for value in results
        for full in [value if over_lanes(value) else repeated(value, lanes)]
    )


def _no_lanes(type_: ty.Type) -> str | None:
    """Say why values of a type cannot have one more axis, over lanes; return None where they can."""
    element = ty.element_type(type_)
    if ty.shape_of(type_) is None:
        return "which does not say whether an array has an axis over lanes"
    if isinstance(element, ty.UniformQuantizedType) and element.along_axes:
        return "whose scales go with axes"
    part = element.element if isinstance(element, ty.ComplexType) else element
    return "which is carried, not computed with" if element_width(part) is None else None


def _lane_argument(argument: Any, type_: ty.Type, what: str, vscale: int | None) -> Value | Buffer:
    """Make a value of a type, or one with a leading axis over lanes more than that. For a memref it is a tensor, or a
    buffer with that axis.
    """
    if isinstance(type_, ty.MemRefType):
        type_ = ty.contents_type(type_)
        if isinstance(argument, Buffer):
            _lane_argument(argument.load(), type_, what, vscale)
            if len(argument.shape) == len(type_.shape or ()):
                raise TypeMismatch(
                    f"{what}: in a batch each lane has memory of its own: a buffer needs a leading axis over them",
                    hint="pass the elements as an array or value, which each lane gets a copy of",
                )
            return argument
    if isinstance(argument, Buffer):
        raise TypeMismatch(f"{what}: expected '{type_}', got a buffer of type '{argument.type}'")
    shape = runtime_shape(type_, vscale)
    assert shape is not None
    element = ty.element_type(type_)
    if isinstance(argument, Value):
        rank = len(argument.shape)
    elif isinstance(argument, bool | int | float | complex):
        rank = 0
    else:
        argument = as_array(argument, what)
        whole = argument.dtype == object or argument.dtype.kind == "c"
        rank = argument.ndim - (0 if whole else len(code_layout(element)[1]))
    if rank == len(shape):
        return to_value(argument, type_, what, vscale)
    value = to_value(argument, ty.TensorType((None, *shape), element), what)
    return Value(type_, value.bits, value.poison, value.open, value.origins)


def find_entry(module: Module, entry: str | None = None) -> Operation:
    """Return the function to run: the one named, or the only public one with a body. Raise InputError."""
    if entry is not None:
        found = module.lookup(entry)
        if found is None or found.name not in FUNCTIONS:
            raise InputError(f"there is no function '{entry}'; {_choices(module)}")
        return found
    public = _public(module, "func.func") or _public(module, "llvm.func")
    if len(public) != 1:
        named = any(op.name in FUNCTIONS for op in module.walk())
        hint = 'name it: function="…" (--function=…)' if named else None
        raise InputError(f"missing the name of the function: {_choices(module)}", hint=hint)
    return public[0]


def _public(module: Module, name: str) -> list[Operation]:
    """Return the public functions with a body that are ops of that name."""
    return [op for op in module.body if op.name == name and op.regions[0].blocks and _visibility(op) != "private"]


def function_path(function: Operation) -> str:
    """Return the name by which ``function=`` finds a function: its own after those of the modules around it, without
    the outermost.
    """
    names, op = [], function
    while op.parent_op is not None:
        names.append(f"@{op.symbol_name}")
        op = op.parent_op
    return "::".join(reversed(names))


def _visibility(op: Operation) -> str:
    visibility = op.properties.get("sym_visibility")
    return visibility.value if isinstance(visibility, at.StringAttr) else "public"


def _choices(module: Module) -> str:
    names = [function_path(op) for op in module.walk() if op.name in FUNCTIONS]
    return f"the functions are {', '.join(names)}" if names else "the module has no functions"
