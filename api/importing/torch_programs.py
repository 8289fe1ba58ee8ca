"""Modules of MLIR from programs of PyTorch: `from_torch`, by torch.export and torch-mlir.

torch.export traces the module of torch, torch-mlir's importer writes the ops of the trace in the torch dialect, and
the passes of torch-mlir lower these to StableHLO, linalg or TOSA. The passes run in a child process, which may die.
"""

from __future__ import annotations

import inspect
import os
import re
import traceback
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from halfulp.conformance.oracles.mlir_opt import find_bindings
from halfulp.conformance.oracles.oracle import OracleError, Unavailable
from halfulp.importing.common import INSTALL, OWN, as_printed, name_arguments, name_constants, require
from halfulp.interp.ir.base import CallSiteLoc, FileLineCol, Location, NameLoc, quoted
from halfulp.interp.ir.errors import HalfulpError, InputError, LimitExceeded, TypeMismatch, UnknownOp, Unsupported
from halfulp.interp.ir.operations import Module
from halfulp.interp.values.coerce import as_array, is_tensor
from halfulp.interp.values.value import Value
from halfulp.loading import load_named

To = Literal["stablehlo", "linalg", "tosa"]
"""The dialect of a program of PyTorch or of an ONNX model."""
Weights = Literal["constants", "arguments"]
"""What parameters and buffers of a module of torch become: constants of the program, or its first arguments."""

SECONDS = 300.0
"""The most seconds that the passes may take."""

# --- lowering ---------------------------------------------------------------------------------------------------------

_FROM: Mapping[str, str] = {
    "torch": (
        "func.func(torch-match-quantized-custom-ops),torchdynamo-export-to-torch-backend-pipeline{extra-library=}"
    ),
    "onnx": "func.func(convert-torch-onnx-to-torch),torch-lower-to-backend-contract,func.func(canonicalize,cse)",
}
"""The passes to the part of the torch dialect that is lowered further, from each of two languages."""

_TO: Mapping[str, str] = {
    # torch-mlir's own pipeline also replaces the functions of chlo, such as erf, by polynomials. halfulp computes them.
    "stablehlo": (
        "func.func(convert-torch-to-stablehlo,convert-torch-to-arith,canonicalize,cse),"
        "torch-func-backend-type-conversion,func.func(canonicalize,torch-finalizing-backend-type-conversion)"
    ),
    "linalg": "torch-backend-to-linalg-on-tensors-backend-pipeline",
    "tosa": "torch-backend-to-tosa-backend-pipeline",
}
"""The passes from there to each dialect."""


def checked_to(to: str) -> None:
    """Raise InputError for the name of a dialect that programs are not lowered to."""
    if to not in _TO:
        raise InputError(f"to is {to!r}, but must be one of {', '.join(_TO)}")


def lowered_by_torch_mlir(text: str, name: str, source: Literal["torch", "onnx"], to: To) -> Module:
    """Return the module that torch-mlir lowers a program of the torch dialect to.

    ``text``: the program. ``name``: its file in errors. ``source``: the language that it comes from: "torch", or "onnx"
    for ops ``torch.operator "onnx.…"``.

    Raises Unsupported if torch-mlir is not installed, or if it has no lowering for an op; LimitExceeded if it takes too
    long.
    """
    try:
        tool = find_bindings()
    except Unavailable as reason:
        raise Unsupported(f"{name}: {reason}", hint=INSTALL["torch_mlir"]) from None
    passes = f"--pass-pipeline=builtin.module({_FROM[source]},{_TO[to]})"
    try:
        done = tool.finished([passes, "--mlir-print-debuginfo"], text, SECONDS)
    except OracleError as error:
        kind = LimitExceeded if error.kind == "hang" else Unsupported
        raise kind(f"torch-mlir cannot lower {name} to {to}: {error}") from None
    if done.code:
        raise _failure(done.said, name, to)
    # A quote inside of a string is escaped, so only a location reads like this.
    printed = done.printed.replace(f'loc("{_STDIN}":', f"loc({quoted(name)}:")
    try:
        module = load_named(printed, f"{name} (lowered)")
    except UnknownOp as error:
        left = re.search(r"torch\.(?:aten|prim|operator)\S*", done.printed)
        raise _without_lowering(name, to, f"no pass lowers '{left[0] if left else error.op}'") from None
    return as_printed(module, _of_user)


_ERROR = re.compile(r'^(?:"?(?P<file>[^"\n]*?)"?:(?P<line>\d+)(?::\d+)?: )?error: (?P<message>.*)$', re.MULTILINE)


def _failure(said: str, name: str, to: str) -> HalfulpError:
    """Return the error for a program that the passes reject, with the place in the user's file."""
    found = _ERROR.search(said)
    message = found["message"] if found else said.partition("\n")[0]
    message, _, rest = message.partition(" that was explicitly marked illegal")
    if operator := _OPERATOR.search(rest):
        message = f"failed to legalize operation '{operator[1]}'"
    file = _marked(found["file"])[1] if found and found["line"] else _UNKNOWN
    file = name if file == _STDIN else file
    location = FileLineCol(file, int(found["line"]), 1) if found and file != _UNKNOWN else None
    return _without_lowering(name, to, message, location)


_UNKNOWN, _STDIN = "<unknown>", "<stdin>"
_OPERATOR = re.compile(r'"torch\.operator".*?name = "([\w.]+)"')


def _without_lowering(name: str, to: str, message: str, location: Location | None = None) -> Unsupported:
    others = " or ".join(f'to="{each}"' for each in _TO if each != to)
    return Unsupported(
        f"torch-mlir cannot lower {name} to {to}: {message}",
        location=location,
        hint=f"try {others}, write the op with others, or compute it outside of the program",
    )


# --- locations --------------------------------------------------------------------------------------------------------
#
# torch-mlir writes the lines of a trace as locations, and no names. The importer gets the name of the module of torch
# as a part of the name of the file, and here it becomes a name around the place.

_MARK = "\x1f"
"""What separates the path of a module of torch from the path of the file."""


def _marked(file: str) -> tuple[str, str]:
    """Return the path of a module of torch and the file that are in the name of a file."""
    module, mark, path = file.replace("\\1F", _MARK).rpartition(_MARK)
    return (module, path) if mark else ("", file)


def _of_user(location: Location) -> Location:
    """Return a location with the name of the module of torch around it."""
    if isinstance(location, NameLoc):
        return NameLoc(location.name, _of_user(location.child))
    if isinstance(location, CallSiteLoc):
        callee, caller = _of_user(location.callee), _of_user(location.caller)
        if isinstance(callee, NameLoc):  # the name belongs to the whole
            return NameLoc(callee.name, CallSiteLoc(callee.child, caller))
        return CallSiteLoc(callee, caller)
    if isinstance(location, FileLineCol):
        module, path = _marked(location.file)
        place = FileLineCol(path, location.line, max(location.column, 1))
        return NameLoc(module, place) if module else place
    return location


_FRAME = re.compile(r'File "([^"\n]+)", line (\d+)')


def user_frames(trace: str, hidden: Sequence[str]) -> list[tuple[str, int]]:
    """Return the files and lines of a stack trace, outermost first, without those in hidden folders. If all are hidden,
    return the innermost one.
    """
    frames = [(file, int(line)) for file, line in _FRAME.findall(trace)]
    return [each for each in frames if not each[0].startswith(tuple(hidden))] or frames[-1:]


def _mark_places(program: Any) -> None:
    """Leave only the user's frames in the stack traces of a program's nodes, and put the path of the module of torch
    into the innermost.
    """
    torch: Any = import_module("torch")
    hidden = (os.path.join(os.path.dirname(torch.__file__), ""), "torch/", OWN)
    for node in program.graph.nodes:
        frames = user_frames(node.meta.get("stack_trace") or "", hidden)
        if not frames:
            continue
        modules = [path for path, _ in (node.meta.get("nn_module_stack") or {}).values() if isinstance(path, str)]
        module = modules[-1].removeprefix(_MODEL).removeprefix(".") if modules else ""
        frames[-1] = (f"{module}{_MARK}{frames[-1][0]}" if module else frames[-1][0], frames[-1][1])
        node.meta["stack_trace"] = "\n".join(f'File "{file}", line {line}, in f' for file, line in frames)


_ONE_DTYPE = frozenset(
    ("linear", "matmul", "mm", "addmm", "bmm", "baddbmm", "mv", "addmv", "dot", "bilinear", "convolution")
).union(f"conv{kind}{rank}d" for kind in ("", "_transpose") for rank in (1, 2, 3))
"""The ops whose operands must have the same dtype when they run, which torch.export does not always check."""


def _refuse_mixed(program: Any, name: str) -> None:
    """Raise TypeMismatch if a program has a product of operands of several dtypes, which torch-mlir would convert."""
    for node in program.graph.nodes:
        op = getattr(getattr(node.target, "_schema", None), "name", "").removeprefix("aten::")
        operands = [each.meta["val"] for each in node.all_input_nodes] if op in _ONE_DTYPE else []
        dtypes = dict.fromkeys(str(each.dtype).removeprefix("torch.") for each in operands if is_tensor(each))
        if len(dtypes) > 1:
            raise TypeMismatch(
                f"{name}: torch computes {op} of operands of one dtype, not {', '.join(dtypes)}",
                hint="convert them to one dtype; numbers of NumPy are float64 by default: x.astype(np.float32)",
            )


@contextmanager
def _all_frames() -> Iterator[None]:
    """Let torch keep all frames below that of halfulp in stack traces. By itself it keeps those of methods with the
    name forward, so that a line of a function would be that of its caller.
    """
    tracer: Any = import_module("torch.fx.proxy").TracerBase
    usual = getattr(tracer, _FILTER, None)
    if usual is None:  # another version of torch
        yield
        return

    def below(self: Any, frames: Any) -> Any:
        own = [k for k, frame in enumerate(frames) if frame.filename == __file__]
        return traceback.StackSummary.from_list(frames[own[-1] + 1 :]) if own else usual(self, frames)

    setattr(tracer, _FILTER, below)
    try:
        yield
    finally:
        setattr(tracer, _FILTER, usual)


_FILTER = "_filter_traceback_frames"

# --- arguments --------------------------------------------------------------------------------------------------------


def as_torch(leaf: Any, what: str = "an argument") -> Any:
    """Return an array or value as a tensor with the same bits; a tensor as it is, and anything else."""
    if is_tensor(leaf):
        return leaf
    if not (isinstance(leaf, np.ndarray | np.generic | Value) or hasattr(leaf, "__array__")):
        return leaf
    torch: Any = import_module("torch")
    array = np.array(as_array(leaf, what))  # a copy, which torch may write to
    if array.dtype.kind != "V" and array.dtype.isbuiltin == 1:
        return torch.from_numpy(array) if array.ndim else torch.tensor(array)
    dtype = getattr(torch, array.dtype.name, None)
    if dtype is None:
        raise TypeMismatch(f"{what} has the dtype {array.dtype}, which torch does not have")
    return torch.from_numpy(array.view(f"u{array.itemsize}").astype(f"i{array.itemsize}")).view(dtype)


def named_leaves(tree: Any) -> list[tuple[str, Any]]:
    """Return the leaves of nested lists, tuples and dicts, and of what else torch calls a tree, with their places, such
    as ``['layers'][0]``.
    """
    pytree: Any = import_module("torch.utils._pytree")
    return [(pytree.keystr(path), leaf) for path, leaf in pytree.tree_flatten_with_path(tree)[0]]


def _names_of(f: Callable[..., Any], count: int) -> list[str]:
    """Return the names of the positional parameters of a function for so many arguments."""
    try:
        parameters = list(inspect.signature(f).parameters.values())
    except (TypeError, ValueError):
        parameters = []
    names = [each.name for each in parameters if each.kind in (each.POSITIONAL_ONLY, each.POSITIONAL_OR_KEYWORD)]
    rest = next((each.name for each in parameters if each.kind is each.VAR_POSITIONAL), "args")
    return [names[k] if k < len(names) else f"{rest}[{k - len(names)}]" for k in range(count)]


def _shapes_of(arguments: Any, spec: Any, what: str) -> Iterator[Any]:
    """Yield what ``dynamic_shapes`` says of each tensor in nested arguments: a dict of dimensions, or None."""
    if is_tensor(arguments):
        yield spec
    elif isinstance(arguments, Mapping):
        for key, each in arguments.items():
            yield from _shapes_of(each, spec.get(key) if isinstance(spec, Mapping) else None, f"{what}[{key!r}]")
    elif isinstance(arguments, list | tuple):
        if spec is not None and (not isinstance(spec, list | tuple) or len(spec) != len(arguments)):
            raise InputError(
                f"dynamic_shapes of {what} must have {len(arguments)} entries, one for each part",
                hint='write {0: torch.export.Dim("n")} for a tensor, and None for one whose sizes are fixed',
            )
        for k, each in enumerate(arguments):
            yield from _shapes_of(each, None if spec is None else spec[k], f"{what}[{k}]")


# --- programs ---------------------------------------------------------------------------------------------------------

_MODEL = "model"
"""The name of the user's module inside of the module that is exported."""


@dataclass(frozen=True)
class Exported:
    """A program of PyTorch as a module.

    ``weights``: the tensors that come before the user's arguments.
    """

    name: str
    module: Module
    weights: tuple[Any, ...] = ()

    def inputs(self, arguments: Sequence[Any]) -> tuple[Any, ...]:
        """Return the arguments of the module: the weights, and the tensors in nested arguments of the user, as arrays.

        Raises the errors of `as_array`.
        """
        leaves = [as_torch(leaf) for _, leaf in named_leaves(tuple(arguments))]
        return tuple(as_array(each, "an argument") for each in (*self.weights, *filter(is_tensor, leaves)))


def is_exported(f: object) -> bool:
    """Tell whether an object is a program of torch.export."""
    return type(f).__name__ == "ExportedProgram" and type(f).__module__.startswith("torch.")


def from_torch(
    f: Any,
    /,
    *args: Any,
    to: To = "stablehlo",
    weights: Weights = "constants",
    dynamic_shapes: Sequence[Any] | Mapping[str, Any] | None = None,
    **others: Any,
) -> Module:
    """Return a program of PyTorch as a module, whose function is ``@main``.

    ``f``: a `torch.nn.Module`, a function of tensors, or a program of ``torch.export``, for which ``args`` and
    ``dynamic_shapes`` are left out. Call ``eval()`` of a module with dropout or batch normalization before.
    ``args``: its arguments: tensors, arrays, values, and lists, tuples and dicts of them. The arguments of ``@main``
    are the tensors in them, in this order, and have the names of those of ``f``. Numbers, strings and None are
    constants. Results in lists, tuples and dicts are flattened in the same way.
    ``to``: the dialect: "stablehlo" with chlo, "linalg" on tensors, or "tosa".
    ``weights``: "constants", or "arguments": the tensors of ``f.state_dict()`` come first, in its order.
    ``dynamic_shapes``: the dimensions whose sizes are open, as torch.export takes them: for each argument, a dict such
    as ``{0: torch.export.Dim("n")}`` or None, nested as the arguments are.

    The ops have the lines of the user's Python files as locations, around them the path of the module of torch, such as
    ``layers.0.up``. Constants have the names of their parameters.

        >>> module = hu.from_torch(net, x)
        >>> hu.run(module, x)

    Raises Unsupported if a package is not installed, with the command that installs it, or if torch-mlir cannot lower
    an op, with its line; InputError for an unknown value of an option; and the errors of torch.export for a function
    that it cannot trace.
    """
    if others:
        raise TypeError(
            f"from_torch() got an unexpected keyword argument {next(iter(others))!r}: bind arguments by name before "
            "the call, as in functools.partial(f, axis=1)"
        )
    return exported(f, args, to, weights, dynamic_shapes).module


def exported(
    f: Any,
    args: Sequence[Any],
    to: To = "stablehlo",
    weights: Weights = "constants",
    dynamic_shapes: Sequence[Any] | Mapping[str, Any] | None = None,
) -> Exported:
    """Lower a program of PyTorch. Raise the errors of `from_torch`."""
    checked_to(to)
    if weights not in ("constants", "arguments"):
        raise InputError(f"weights is {weights!r}, but must be one of constants, arguments")
    if not callable(f) and not is_exported(f):
        raise TypeMismatch(
            f"hu.from_torch takes a module or function of torch and its arguments, not {type(f).__name__}",
            hint='hu.convert(x, "bf16") makes a Value of a tensor',
        )
    require("torch", "hu.from_torch")
    require("torch_mlir", "hu.from_torch")
    torch: Any = import_module("torch")
    if isinstance(f, torch.jit.ScriptModule):
        raise TypeMismatch(
            "torch.export takes no module of TorchScript", hint="give the module that torch.jit.script was given"
        )
    first: tuple[Any, ...] = ()
    if is_exported(f):
        if args or dynamic_shapes is not None or weights != "constants":
            raise InputError("a program of torch.export has its arguments and weights: give only to=… beside it")
        name, program = "program", f
        names = [
            each.arg.name
            for each in f.graph_signature.input_specs
            if each.kind.name == "USER_INPUT" and _is_tensor(each)
        ]
    else:
        name = getattr(f, "__name__", type(f).__name__)
        program, names, first = _traced(f, args, weights, dynamic_shapes)
    text, constants = _imported(program, name)
    module = lowered_by_torch_mlir(text, f"<torch {name}>", "torch", to)
    name_arguments(module, names)
    name_constants(module, constants)
    return Exported(name, module, first)


def _traced(
    f: Any, args: Sequence[Any], weights: Weights, dynamic_shapes: Any
) -> tuple[Any, list[str], tuple[Any, ...]]:
    """Trace a function by torch.export as a function of tensors. Return the program, the names of its arguments, and
    the weights that come first.
    """
    torch: Any = import_module("torch")
    pytree: Any = import_module("torch.utils._pytree")
    called = f.forward if isinstance(f, torch.nn.Module) else f
    given = pytree.tree_map(as_torch, tuple(args))
    parameters = _names_of(called, len(given))
    named = [
        (parameter + place, leaf)
        for parameter, arg in zip(parameters, given, strict=True)
        for place, leaf in named_leaves(arg)
    ]
    leaves, tree = pytree.tree_flatten(given)
    state = f.state_dict() if weights == "arguments" and isinstance(f, torch.nn.Module) else {}
    places = [k for k, leaf in enumerate(leaves) if is_tensor(leaf)]

    def call(*tensors: Any) -> tuple[Any, ...]:
        filled = list(leaves)
        for place, tensor in zip(places, tensors[len(state) :], strict=True):
            filled[place] = tensor
        again = pytree.tree_unflatten(filled, tree)
        values = dict(zip(state, tensors, strict=False))
        result = torch.func.functional_call(f, values, again) if state else f(*again)
        return tuple(leaf for leaf in pytree.tree_leaves(result) if is_tensor(leaf))

    class Called(torch.nn.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            if isinstance(f, torch.nn.Module) and not state:
                setattr(self, _MODEL, f)

        def forward(self, *tensors: Any) -> tuple[Any, ...]:
            return call(*tensors)

    tensors = (*(each.detach() for each in state.values()), *(leaves[place] for place in places))
    shapes = None
    if dynamic_shapes is not None:
        spec = (
            [dynamic_shapes.get(each) for each in parameters] if isinstance(dynamic_shapes, Mapping) else dynamic_shapes
        )
        shapes = ((*(None for _ in state), *_shapes_of(given, spec, "the arguments")),)
    wrapper = Called()
    wrapper.train(getattr(f, "training", False))
    try:
        with torch.no_grad(), _all_frames(), _quiet():
            program = torch.export.export(wrapper, tensors, dynamic_shapes=shapes, strict=False)
    except Exception as error:
        error.add_note(_TRACED)
        raise
    return program, [*state, *(label for label, leaf in named if is_tensor(leaf))], tuple(state.values())


@contextmanager
def _quiet() -> Iterator[None]:
    """Leave out the warnings of torch about its own code."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", r".*(treespec|LeafSpec)", FutureWarning)
        yield


_TRACED = (
    "halfulp traces the function with torch.export: in it, compute with torch; bind arguments by name before the call, "
    "as in functools.partial(f, axis=1)"
)


def _is_tensor(spec: Any) -> bool:
    return type(spec.arg).__name__ == "TensorArgument"


def _imported(program: Any, name: str) -> tuple[str, dict[str, npt.NDArray[Any]]]:
    """Return a program of torch.export as text in the torch dialect, and its weights by their names."""
    fx, importer = import_module("torch_mlir.fx"), import_module("torch_mlir.extras.fx_importer")
    ir: Any = import_module("torch_mlir.ir")
    dialect: Any = import_module("torch_mlir.dialects.torch")
    _refuse_mixed(program, name)  # decompositions convert the operands
    with _quiet():
        program = program.run_decompositions(fx.get_decomposition_table())
    _mark_places(program)
    signature = program.graph_signature
    # A program returns tensors: numbers and None are known before.
    signature.output_specs[:] = [each for each in signature.output_specs if _is_tensor(each)]
    changed = [*signature.buffers_to_mutate.values(), *signature.user_inputs_to_mutate.values()]
    if changed:
        raise Unsupported(
            f"{name} changes {changed[0].removeprefix(_MODEL + '.')} in place, but a program returns what it computes",
            hint="call eval() of the module before, or return the new value",
        )
    context = ir.Context()
    dialect.register_dialect(context)
    made = importer.FxImporter(context=context)
    try:
        made.import_program(program, func_name="main")
    except (NotImplementedError, AssertionError, ValueError, TypeError) as error:
        raise Unsupported(f"torch-mlir cannot import {name}: {error or type(error).__name__}") from error
    constants = {
        key.removeprefix(_MODEL + "."): as_array(tensor, key)
        for key, tensor in (*program.state_dict.items(), *program.constants.items())
        if is_tensor(tensor)
    }
    return made.module.operation.get_asm(enable_debug_info=True), constants
