"""Run a function of a module, once or for many lanes at once, and the options of a run.

The options are described once: for `run`, `trace`, `workgroups` and the command line.
"""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import MISSING, dataclass, field, fields
from inspect import Parameter, signature
from typing import TYPE_CHECKING, Any, TypedDict, TypeVar, Unpack

from halfulp.inputs import refuse_other_arguments
from halfulp.interp.ir import attributes as at
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.errors import HalfulpError, InputError, TypeMismatch, Unsupported, wrong_count
from halfulp.interp.ir.operations import FUNCTIONS, Module, Operation, argument_types, result_types
from halfulp.interp.ir.types import code_layout, element_width, runtime_shape
from halfulp.interp.run.evaluators import Launched, evaluator_of
from halfulp.interp.run.program import program_for
from halfulp.interp.run.settings import (
    External,
    FpFusion,
    IndexWidth,
    Listener,
    OnUb,
    Settings,
    Swizzle,
    about,
    host_values,
)
from halfulp.interp.values.buffers import Buffer, to_argument
from halfulp.interp.values.coerce import as_array, as_type
from halfulp.interp.values.lanes import over_lanes, repeated
from halfulp.interp.values.value import Value, retyped, to_value
from halfulp.loading import Runnable, program_of
from halfulp.register import user_functions
from halfulp.semantics.profile import Profile, as_profile

if TYPE_CHECKING:
    from halfulp.interp.dialects.llvm.abi import Convention
    from halfulp.semantics.matrix_units.accumulator import Accumulator

# --- options ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class RunOptions(Settings):
    """The settings of a run, and which function runs, once or for many lanes."""

    function: str | None = field(
        default=None,
        metadata=about(
            "the function's name, ``@a::@b`` in a nested module; it may be left out if only one public function has "
            "a body"
        ),
    )
    batch: bool = field(default=False, metadata=about("run the function for many lanes at once"))
    signature: str | None = field(
        default=None,
        metadata=about(
            "the MLIR type of the function before it was lowered to the llvm dialect, ``(tensor<4xf32>) -> f32``: the "
            "arguments and results then have these types"
        ),
    )


class CallKeywords(TypedDict, total=False):
    """The keywords of `workgroups` and `compare`, for type checkers. A test compares the classes with `RunOptions`."""

    function: str | None
    profile: Profile | str | None
    on_ub: OnUb
    index_width: IndexWidth
    vscale: int | None
    externals: Mapping[str, External] | None
    max_steps: int
    max_depth: int
    max_bytes: int


class TraceKeywords(CallKeywords, total=False):
    """The keywords of `trace` for the run of the function."""

    batch: bool
    mma: str | Accumulator
    grid: tuple[int, ...] | int | None
    fp_fusion: FpFusion
    random: str | None
    swizzle: Swizzle
    check_hints: bool


class RunKeywords(TraceKeywords, total=False):
    """The keywords of `run`."""

    track_open: bool
    signature: str | None
    listeners: Sequence[Listener]


_AS_GIVEN: Mapping[str, tuple[Any, str]] = {
    "profile": (
        None,
        ": a name, ``name,field=value``, or a `Profile`; by default that of the `profile` block, and spec outside of a "
        "block",
    ),
    "externals": (None, ""),
}
"""Options that callers give in another form than `RunOptions` has: the default, and their description."""


def run_options(function: str, keywords: type[Any], given: Mapping[str, Any]) -> RunOptions:
    """Make the options of a run from keywords, with the Python functions that users registered.

    ``function``: the name of the function that has these keywords. ``keywords``: the class with their names. Raise
    TypeError for any other name, ValueError for a value that is not one of the choices.
    """
    refuse_other_arguments(function, given)
    unknown = next((name for name in given if name not in keywords.__annotations__), None)
    if unknown is not None:
        raise TypeError(f"{function}() got an unexpected keyword argument {unknown!r}")
    externals, casts = user_functions(given.get("externals"))
    own = {"externals": externals, "casts": casts, "profile": as_profile(given.get("profile"))}
    return RunOptions(**{**given, **own, "listeners": tuple(given.get("listeners", ()))})


Takes = TypeVar("Takes", bound=Callable[..., Any])


def takes(keywords: type[Any]) -> Callable[[Takes], Takes]:
    """Return a decorator for a function with ``**options``: the keywords appear in its signature, and in its docstring
    in place of ``{options}``.
    """

    def shown(function: Takes) -> Takes:
        plain = signature(function)
        own = [each for each in plain.parameters.values() if each.kind is not each.VAR_KEYWORD]
        parameters = [_parameter(name, hint) for name, hint in keywords.__annotations__.items()]
        function.__signature__ = plain.replace(parameters=[*own, *parameters])  # type: ignore[attr-defined]
        if function.__doc__:
            function.__doc__ = function.__doc__.replace("{options}", _described(keywords).strip())
        return function

    return shown


def _parameter(name: str, hint: Any) -> Parameter:
    annotation = getattr(hint, "__forward_arg__", hint)
    return Parameter(name, Parameter.KEYWORD_ONLY, default=_default(name), annotation=annotation)


def _default(name: str) -> Any:
    if name in _AS_GIVEN:
        return _AS_GIVEN[name][0]
    default = _FIELDS[name].default
    assert default is not MISSING
    return default


def _described(keywords: type[Any]) -> str:
    """Return the meanings of options as lines of a docstring."""
    lines = []
    for name in keywords.__annotations__:
        text = f"``{name}``: {_FIELDS[name].metadata['meaning']}{_AS_GIVEN.get(name, (None, ''))[1]}."
        lines += textwrap.wrap(text, 120, initial_indent="    ", subsequent_indent="    ", break_on_hyphens=False)
    return "\n".join(lines)


_FIELDS = {each.name: each for each in fields(RunOptions)}


# --- running ----------------------------------------------------------------------------------------------------------


@takes(RunKeywords)
def run(module: Runnable, *arguments: Any, **options: Unpack[RunKeywords]) -> tuple[Value, ...]:
    """Call a function of a module, and return a tuple of its results, also for a single result.

    ``module``: the result of `load`, any input of `load`, or a function of JAX or a module of torch, which is lowered
    for these arguments.
    ``arguments``: NumPy or ml_dtypes arrays, Python numbers for scalars, or `Value`s, of exactly the function's
    argument types. For a memref, a `Buffer` is possible, too: after the run it has the elements that the function
    stored. Any other argument is copied. For a pointer of a kernel of Triton give an array, a CPU tensor or a `Buffer`
    of its elements: the kernel writes into it. For a tuple give a tuple or list of values, for a token of StableHLO
    None. The parts of a tuple are results of their own; tokens are left out.

    {options}

    An external function named "iree_codegen.query_tile_sizes" gets one argument, a tensor type: an object with
    ``shape`` and ``element``. It returns one integer for each result of the op.

    In a batch, each argument has one more leading axis, with an entry for each lane. An argument without this axis is
    the same for all lanes. Each result is a tensor with this axis. Each lane has its own memory: if the argument for a
    memref is an array, each lane gets a copy of its entry; if it is a `Buffer` with the leading axis, it has the
    elements that the lanes stored after the run. Each lane takes its own way through branches, loops and calls, and
    gets exactly the results of a run of this lane alone. Undefined behaviour and poison count only in the lanes that
    reach them: an error names the first of these lanes and their number, and its attribute ``lanes`` has all of them.
    An op that several lanes run together counts as one step. User functions (externals, registered ops and conversions)
    are called once for each lane. A value has the same shape in all lanes. A distributed `iree_codegen.inner_tiled` is
    computed by all lanes of a subgroup together: for a kind with 64 lanes, lanes 0 to 63 of the batch are one subgroup,
    64 to 127 the next.

    A loaded module is compiled in its first run. Do not change it afterwards.

    Raises TypeMismatch for an argument of a wrong type, ValueError for an option that is not one of its choices,
    Unsupported, UndefinedBehavior and LimitExceeded if the run stops, and the errors of `load`.
    """
    return run_with(module, arguments, run_options("run", RunKeywords, options))


def run_with(module: Runnable, arguments: Sequence[Any], options: RunOptions) -> tuple[Value, ...]:
    """Run a function as `run` does, with these options."""
    module, arguments = program_of(module, arguments)
    function = find_entry(module, options.function)
    lowered = None if options.signature is None else lowered_from(function, options.signature)
    if options.batch and lowered is not None:
        raise Unsupported("signature=… cannot be used in a batch", hint="leave out signature=… or batch=True")
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
    results = _only_values(function, program_for(module, options).run(function, values))
    if (launched := _launched(function)) is not None:
        for index, (argument, value) in enumerate(zip(arguments, values, strict=True)):
            launched.check(argument, value, f"argument {index} of {name}")
    return results


def _launched(function: Operation) -> Launched | None:
    """Return how a call runs a function several times, if it does."""
    evaluator = evaluator_of(function)
    return evaluator if isinstance(evaluator, Launched) else None


def _only_values(function: Operation, results: tuple[Any, ...]) -> tuple[Value, ...]:
    """Return the results, and in place of tuples their parts. Raises Unsupported for pointers and aggregates of the
    llvm dialect.
    """
    values = []
    for part, type_ in _parts(results, result_types(function)):
        if not isinstance(part, Value):
            raise Unsupported(
                f"@{function.symbol_name} returns '{type_}', which is not a value outside of the program",
                location=function.location,
                hint='name the type that the function had before it was lowered: signature="…" (--signature=…)',
            )
        values.append(part)
    return tuple(values)


def _parts(values: Sequence[Any], types: Sequence[ty.Type]) -> Iterator[tuple[Any, ty.Type]]:
    """Yield values with their types, of a tuple its parts; not tokens, which hold nothing."""
    for value, type_ in zip(values, types, strict=True):
        if isinstance(type_, ty.TupleType):
            yield from _parts(value, type_.elements)
        elif type_ != _TOKEN:
            yield value, type_


_TOKEN = ty.DialectType("stablehlo", "token")


def given_arguments(function: Operation, arguments: Sequence[Any], options: RunOptions) -> list[Value | Buffer]:
    """Return the arguments of a run as values and buffers. Raises TypeMismatch, LimitExceeded."""
    lowered = None if options.signature is None else lowered_from(function, options.signature)
    types = argument_types(function) if lowered is None else lowered.source.inputs
    _check_count(function, arguments, types)
    values, launched = [], _launched(function)
    for index, (argument, type_) in enumerate(zip(arguments, types, strict=True)):
        what = f"argument {index} of @{function.symbol_name}"
        try:
            pointee = type_.pointee if isinstance(type_, ty.DialectType) else None
            if launched is not None and pointee is not None:
                values.append(launched.memory(argument, type_, what))
            else:
                values.append(_given(argument, type_, what, options))
        except HalfulpError as error:
            error.message = error.message.replace(what, f"{what}{_label_of(function, index)}", 1)
            raise
    return values


def _given(argument: Any, type_: ty.Type, what: str, options: RunOptions) -> Any:
    """Return an argument as a value or buffer; for a tuple, a tuple of them; for a token, which holds nothing, ()."""
    if isinstance(type_, ty.TupleType):
        if not isinstance(argument, tuple | list) or len(argument) != len(type_.elements):
            raise TypeMismatch(f"{what}: expected a tuple or list of {len(type_.elements)} values, for '{type_}'")
        parts = enumerate(zip(argument, type_.elements, strict=True))
        return tuple(_given(each, part, f"{what}[{index}]", options) for index, (each, part) in parts)
    if type_ == _TOKEN:
        if argument is not None:
            raise TypeMismatch(f"{what}: expected None, for '{type_}'")
        return ()
    given = to_argument(argument, type_, what, options.vscale, max_bytes=options.max_bytes)
    return options.accepted(given, what)


def _label_of(function: Operation, index: int) -> str:
    """Return the name that an argument has in the user's program, in brackets; "" without one."""
    named = [each.label for block in function.blocks[:1] for each in block.arguments[index : index + 1]]
    return f" ({named[0]})" if named and named[0] else ""


def _check_count(function: Operation, arguments: Sequence[Any], types: Sequence[ty.Type]) -> None:
    if len(arguments) != len(types):
        raise TypeMismatch(
            wrong_count(f"@{function.symbol_name}", "argument", types, len(arguments)), location=function.location
        )


def lowered_from(function: Operation, signature: str) -> Convention:
    """Return how a function of the llvm dialect takes and returns values of the types that it had before its lowering.

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
    if _launched(function) is not None:
        raise Unsupported(
            f"a batch does not run {name}, a kernel of Triton", location=function.location, hint="give a larger grid"
        )
    types = argument_types(function), result_types(function)
    for type_ in (*types[0], *types[1]):
        reason = no_lanes(type_)
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


def no_lanes(type_: ty.Type) -> str | None:
    """Return why values of a type cannot have one more axis, over lanes; None if they can."""
    element = ty.element_type(type_)
    if ty.shape_of(type_) is None:
        return "whose rank is not known, so an axis over lanes cannot be seen"
    if isinstance(element, ty.UniformQuantizedType) and element.along_axes:
        return "whose scales belong to axes"
    part = element.element if isinstance(element, ty.ComplexType) else element
    return "whose elements are not numbers" if element_width(part) is None else None


def _lane_argument(argument: Any, type_: ty.Type, what: str, vscale: int | None) -> Value | Buffer:
    """Make a value of a type, or a value with one more leading axis, over lanes. For a memref it is a tensor, or a
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
    return retyped(value, type_)


def find_entry(module: Module, entry: str | None = None) -> Operation:
    """Return the function to run: the one named, else the only public one with a body, else @main. Raise InputError."""
    if entry is not None:
        found = module.lookup(entry)
        if found is None or found.name not in FUNCTIONS:
            raise InputError(f"there is no function '{entry}'; {_choices(module)}")
        return found
    public = next(filter(None, (_public(module, name) for name in FUNCTIONS)), [])
    if len(public) > 1:  # as JAX makes them: the comparators that approx_max_k passes by name are public
        public = [op for op in public if op.symbol_name == "main"] or public
    if len(public) != 1:
        named = any(op.name in FUNCTIONS for op in module.walk())
        hint = 'name it: function="…" (--function=…)' if named else None
        raise InputError(f"missing the name of the function: {_choices(module)}", hint=hint)
    return public[0]


def _public(module: Module, name: str) -> list[Operation]:
    """Return the public functions with a body that are ops of that name."""
    return [op for op in module.body if op.name == name and op.regions[0].blocks and _visibility(op) != "private"]


def function_path(function: Operation) -> str:
    """Return the name by which ``function=`` finds a function: the names of the modules around it, without the
    outermost module, and then its own name.
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
