"""Modules of MLIR from programs of PyTorch: `from_torch`, by torch.export and torch-mlir.

torch.export traces the module of torch, torch-mlir's importer writes the ops of the trace in the torch dialect, and
the passes of torch-mlir lower these to StableHLO, linalg or TOSA. The passes run in a child process, which may die.
"""

from __future__ import annotations

import inspect
import io
import logging
import re
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from contextlib import contextmanager, redirect_stderr
from dataclasses import dataclass, replace
from importlib import import_module
from operator import attrgetter
from typing import Any, Literal, get_args

import numpy as np
import numpy.typing as npt

from halfulp.conformance.oracles.mlir_opt import find_bindings
from halfulp.conformance.oracles.oracle import OracleError, Unavailable
from halfulp.importing.common import INSTALL, as_printed, name_arguments, name_constants, require
from halfulp.importing.torch_graphs import (
    MODEL,
    all_frames,
    decompositions,
    fold_constants,
    mark_places,
    marked,
    of_user,
    place_of,
    refuse_mixed,
    refuse_random,
    sized_by_numbers,
    write_numbers,
)
from halfulp.interp.ir.attributes import ArrayAttr, DictionaryAttr, StringAttr
from halfulp.interp.ir.base import FileLineCol, Location, quoted
from halfulp.interp.ir.errors import (
    HalfulpError,
    InputError,
    LimitExceeded,
    TypeMismatch,
    UnknownOp,
    Unsupported,
    plural,
)
from halfulp.interp.ir.operations import Module, result_types
from halfulp.interp.values.coerce import as_array, is_tensor
from halfulp.interp.values.value import Value
from halfulp.loading import load_named
from halfulp.running import find_entry

To = Literal["stablehlo", "linalg", "tosa"]
"""The dialect of a program of PyTorch or of an ONNX model."""
Weights = Literal["constants", "arguments", "state"]
"""What parameters and buffers of a module of torch become: constants of the program, or its first arguments; or only
those that the program writes become arguments.
"""

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

    def passed(passes: str, text: str) -> str:
        try:
            done = tool.finished([f"--pass-pipeline=builtin.module({passes})", "--mlir-print-debuginfo"], text, SECONDS)
        except OracleError as error:
            kind = LimitExceeded if error.kind == "hang" else Unsupported
            said = (error.said or "").strip().rpartition("\n")[2]  # of a traceback, the error itself
            why = f"it failed with {said}" if said and "Traceback" in str(error) else error
            raise kind(f"torch-mlir cannot lower {name} to {to}: {why}") from None
        if done.code:
            raise _failure(done.said, name, to)
        return done.printed

    passes = f"{_FROM[source]},{_TO[to]}"
    printed = passed(passes, text)
    if _OWN_OP.search(printed):
        printed = passed(f"{passes},{_OWN_TO_LOOPS}", text)
    # A quote inside of a string is escaped, so only a location reads like this.
    printed = printed.replace(f'loc("{_STDIN}":', f"loc({quoted(name)}:")
    try:
        module = load_named(printed, f"{name} (lowered)")
    except UnknownOp as error:
        left = re.search(r"torch\.(?:aten|prim|operator)\S*", printed)
        raise _without_lowering(name, to, f"no pass lowers '{left[0] if left else error.op}'") from None
    _read_after_loops(module)
    return as_printed(module, of_user)


_OWN_OP = re.compile(r"= tm_tensor\.")
_OWN_TO_LOOPS = "func.func(tm-tensor-bufferize,tm-tensor-to-loops,canonicalize)"
"""The passes that lower torch-mlir's own ops on tensors to loops over memory: scatter, scan, sort, top-k."""


def _read_after_loops(module: Module) -> None:
    """Make tensors of buffers where they are first used. The lowering to loops makes them before the loops write the
    buffers, which is undefined.
    """
    for op in [each for each in module.walk() if each.name == "bufferization.to_tensor"]:
        block = op.parent
        assert block is not None
        block.operations.remove(op)
        users = (k for k, each in enumerate(block.operations) if any(op.results[0] in u.operands for u in each.walk()))
        block.operations.insert(next(users, len(block.operations) - 1), op)


_ERROR = re.compile(r'^(?:"?(?P<file>[^"\n]*?)"?:(?P<line>\d+)(?::\d+)?: )?error: (?P<message>.*)$', re.MULTILINE)


def _failure(said: str, name: str, to: str) -> HalfulpError:
    """Return the error for a program that the passes reject, with the place in the user's file."""
    found = _ERROR.search(said)
    message = found["message"] if found else said.partition("\n")[0]
    message, _, rest = message.partition(" that was explicitly marked illegal")
    if operator := _OPERATOR.search(rest):
        message = f"failed to legalize operation '{operator[1]}'"
    file = marked(found["file"])[1] if found and found["line"] else _UNKNOWN
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


# --- arguments --------------------------------------------------------------------------------------------------------


def as_torch(leaf: Any, what: str = "an argument") -> Any:
    """Return an array or value as a tensor with the same bits; a tensor as it is, and anything else."""
    if is_tensor(leaf):
        return leaf
    if not (isinstance(leaf, np.ndarray | np.generic | Value) or hasattr(leaf, "__array__")):
        return leaf
    torch: Any = import_module("torch")
    array = np.array(as_array(leaf, what))  # a copy, which torch may write to
    if array.dtype.kind in "biufc" and array.dtype.isbuiltin == 1:
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
        if isinstance(spec, Mapping) and any(not isinstance(k, int) or not 0 <= k < arguments.ndim for k in spec):
            raise InputError(
                f"dynamic_shapes of {what} has the axes {', '.join(map(str, spec))}, but the rank is {arguments.ndim}",
                hint='write {0: torch.export.Dim("n")}, with numbers of axes from 0 as keys',
            )
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


def _by_position(dynamic_shapes: Any, parameters: Sequence[str]) -> Any:
    """Return what ``dynamic_shapes`` says of each argument in a list. Raises InputError for a name of none."""
    if not isinstance(dynamic_shapes, Mapping):
        return dynamic_shapes
    for name in dynamic_shapes:
        if name not in parameters:
            raise InputError(
                f"dynamic_shapes has the key {name!r}, but the arguments are {', '.join(parameters)}",
                hint='write ({0: torch.export.Dim("n")},), with an entry for each argument, or their names as keys',
            )
    return [dynamic_shapes.get(each) for each in parameters]


def _check_call(f: Callable[..., Any], name: str, args: Sequence[Any]) -> None:
    """Raise TypeMismatch if a function does not take a number of arguments."""
    if isinstance(f, type):
        raise TypeMismatch(f"{name} is a class, not a module", hint=f"give a module: {name}(…)")
    try:
        signature = inspect.signature(f)
    except (TypeError, ValueError):
        return
    try:
        signature.bind(*args)
    except TypeError as error:
        raise TypeMismatch(
            f"{name}{signature} does not take {plural(len(args), 'argument')}: {error}",
            hint="give its arguments in order, and bind others by name before: functools.partial(f, axis=1)",
        ) from None


def _check_kind(label: str, leaf: Any) -> None:
    """Raise TypeMismatch for a tensor that programs of torch.export do not take."""
    torch: Any = import_module("torch")
    if not is_tensor(leaf):
        return
    kind, way = "", "x.to_dense()"
    if leaf.is_nested:
        kind, way = "nested", "torch.nested.to_padded_tensor(x, 0)"
    elif leaf.is_quantized:
        kind, way = "quantized", "x.int_repr()"
    elif leaf.layout is not torch.strided:
        kind = str(leaf.layout)
    if kind:
        raise TypeMismatch(f"{label} is a tensor of the kind {kind}, which has no type in MLIR", hint=f"give {way}")
    if leaf.device.type not in ("cpu", "meta"):
        raise TypeMismatch(f"{label} is on the device {leaf.device}", hint="give x.cpu(), and model.cpu() for a module")


def _on_cpu(leaf: Any) -> Any:
    """Return a tensor without values as one on the CPU, since only its type is traced."""
    torch: Any = import_module("torch")
    return torch.empty_like(leaf, device="cpu") if is_tensor(leaf) and leaf.is_meta else leaf


def _check_result(result: Any, f: Any) -> None:
    """Raise TypeMismatch if a result holds tensors in an object that torch does not open."""
    pytree: Any = import_module("torch.utils._pytree")
    for leaf in pytree.tree_leaves(result):
        inside = list(leaf) if isinstance(leaf, Set) else getattr(leaf, "__dict__", None)
        if not is_tensor(leaf) and any(map(is_tensor, pytree.tree_leaves(inside))):
            raise TypeMismatch(
                f"{getattr(f, '__name__', type(f).__name__)} returns tensors in a {type(leaf).__name__}, which torch "
                "does not open",
                hint="return lists, tuples and dicts, or call torch.export.register_dataclass for the class",
            )


# --- programs ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Written:
    """A tensor that a program of PyTorch writes, whose new value is a result of the module, after its own results.

    ``name``: that of the buffer or parameter, such as ``norm.running_mean``, or of the argument.
    ``argument``: the number of the argument among the tensors in the user's arguments; None for a buffer or parameter.
    """

    name: str
    argument: int | None = None


@dataclass(frozen=True)
class Exported:
    """A program of PyTorch as a module.

    ``weights``: the tensors that come before the user's arguments.
    ``written``: what the last results are the new values of.
    """

    name: str
    module: Module
    weights: tuple[Any, ...] = ()
    written: tuple[Written, ...] = ()

    def inputs(self, arguments: Sequence[Any]) -> tuple[Any, ...]:
        """Return the arguments of the module: the weights, and the tensors in nested arguments of the user, as arrays.

        Raises the errors of `as_array`.
        """
        return tuple(as_array(each, "an argument") for each in (*self.weights, *tensors_in(arguments)))


def tensors_in(arguments: Sequence[Any]) -> list[Any]:
    """Return the tensors in nested arguments, and their arrays and values as tensors."""
    return [tensor for _, leaf in named_leaves(tuple(arguments)) if is_tensor(tensor := as_torch(leaf))]


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
    ``dynamic_shapes`` are left out. Call ``eval()`` of a module with dropout before.
    ``args``: its arguments: tensors, arrays, values, and lists, tuples and dicts of them. The arguments of ``@main``
    are the tensors in them, in this order, and have the names of those of ``f``. Numbers, strings and None are
    constants. Results in lists, tuples and dicts are flattened in the same way. After them come the new values of the
    buffers and then of the arguments that ``f`` writes. Their names are the attributes ``halfulp.result_info`` of these
    results.
    ``to``: the dialect: "stablehlo" with chlo, "linalg" on tensors, or "tosa".
    ``weights``: "constants"; "arguments": the tensors of ``f.state_dict()`` come first, in its order; "state": of them
    only those that ``f`` writes come first, in the order of their new values among the results. Buffers that are not in
    ``state_dict()`` are arguments, after the others, only if ``f`` writes them. If modules share a tensor, the program
    uses the last of its arguments.
    ``dynamic_shapes``: the dimensions whose sizes are open, as torch.export takes them: for each argument, a dict such
    as ``{0: torch.export.Dim("n")}`` or None, nested as the arguments are.

    The ops have the lines of the user's Python files as locations, around them the path of the module of torch, such as
    ``layers.0.up``. Constants have the names of their parameters.

        >>> module = hu.from_torch(net, x)
        >>> hu.run(module, x)

    Raises Unsupported if a package is not installed, with the command that installs it, or if torch-mlir cannot lower
    an op, with its line; InputError for an unknown value of an option; TypeMismatch for a tensor of another kind, a
    wrong number of arguments, and a result without tensors; and the errors of torch.export for a function that it
    cannot trace.
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
    if weights not in get_args(Weights):
        raise InputError(f"weights is {weights!r}, but must be one of {', '.join(get_args(Weights))}")
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
    assigned: tuple[str, ...] = ()
    if is_exported(f):
        if args or dynamic_shapes is not None:
            raise InputError("a program of torch.export has its arguments: give only to=… and weights=… beside it")
        name, program = "program", f
        names = [each.arg.name for each in f.graph_signature.input_specs if _is(each, "USER_INPUT")]
    else:
        name = getattr(f, "__name__", type(f).__name__)
        program, names, assigned = _traced(f, args, dynamic_shapes)
    text, constants, first, written, sized = _imported(program, name, names, weights, assigned, to)
    try:
        module = lowered_by_torch_mlir(text, f"<torch {name}>", "torch", to)
    except Unsupported as error:
        if sized is None:
            raise
        raise Unsupported(
            f"torch-mlir cannot lower {name} to {to}: the size of the result of {sized.target} is known only in a run",
            location=place_of(sized),
            hint=_SIZES,
        ) from error
    if not result_types(find_entry(module)):
        raise TypeMismatch(f"{name} returns no tensor", hint="return what it computes")
    name_arguments(module, [*first, *names])
    name_constants(module, constants)
    _name_results(module, written)
    return Exported(name, module, tuple(first.values()), written)


def _traced(f: Any, args: Sequence[Any], dynamic_shapes: Any) -> tuple[Any, list[str], tuple[str, ...]]:
    """Trace a function by torch.export as a function of tensors. Return the program, the names of its arguments, and
    the buffers whose new values are its last results, because the function assigns them.
    """
    torch: Any = import_module("torch")
    pytree: Any = import_module("torch.utils._pytree")
    is_module = isinstance(f, torch.nn.Module)
    given = pytree.tree_map(as_torch, tuple(args))
    _check_call(f.forward if is_module else f, getattr(f, "__name__", type(f).__name__), given)
    parameters = _names_of(f.forward if is_module else f, len(given))
    named = [
        (parameter + place, leaf)
        for parameter, arg in zip(parameters, given, strict=True)
        for place, leaf in named_leaves(arg)
    ]
    weights = (*f.named_parameters(), *f.named_buffers()) if is_module else ()
    for label, leaf in (*named, *weights):
        _check_kind(label, leaf)
    for label, leaf in weights:
        as_array(leaf, label)
    leaves, tree = pytree.tree_flatten(pytree.tree_map(_on_cpu, given))
    places = [k for k, leaf in enumerate(leaves) if is_tensor(leaf)]
    assigned: list[str] = []

    def call(*tensors: Any) -> tuple[Any, ...]:
        filled = list(leaves)
        for place, tensor in zip(places, tensors, strict=True):
            filled[place] = tensor
        with _assignments(f if is_module else None) as buffers:
            result = f(*pytree.tree_unflatten(filled, tree))
        found = [leaf for leaf in pytree.tree_leaves(result) if is_tensor(leaf)]
        _check_result(result, f)
        assigned[:] = buffers
        return (*found, *buffers.values())

    class Called(torch.nn.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            if is_module:
                setattr(self, MODEL, f)

        def forward(self, *tensors: Any) -> tuple[Any, ...]:
            return call(*tensors)

    shapes = None
    if dynamic_shapes is not None:
        shapes = (tuple(_shapes_of(given, _by_position(dynamic_shapes, parameters), "the arguments")),)
    wrapper = Called()
    wrapper.training = getattr(f, "training", False)  # train() would also set the modules in it
    with _explained():
        program = torch.export.export(
            wrapper, tuple(leaves[place] for place in places), dynamic_shapes=shapes, strict=False
        )
    return program, [label for label, leaf in named if is_tensor(leaf)], tuple(assigned)


@contextmanager
def _assignments(module: Any) -> Iterator[dict[str, Any]]:
    """Collect the new tensors that a module assigns to its buffers and attributes meanwhile, by their names, and give
    it back its own. torch.export loses those of modules inside of a module.
    """
    found: dict[str, Any] = {}
    modules = [] if module is None else list(module.named_modules())
    kept = [(name, each, dict(each._buffers), dict(vars(each))) for name, each in modules]
    try:
        yield found
        for name, each, buffers, attributes in kept:
            before, dot = {**attributes, **buffers}, f"{name}." if name else ""
            for key, new in (*vars(each).items(), *each._buffers.items()):
                if is_tensor(new) and new is not before.get(key):
                    found[dot + key] = new
    finally:
        for _, each, buffers, attributes in kept:
            each._buffers.update(buffers)
            vars(each).update(attributes)


@contextmanager
def unchanged(module: Any, written: Sequence[Written]) -> Iterator[None]:
    """Give a module back what it writes meanwhile, with the values of before."""
    torch: Any = import_module("torch")
    held = [attrgetter(each.name)(module) for each in written if each.argument is None]
    before = [(tensor, tensor.detach().clone()) for tensor in held if is_tensor(tensor)]
    with torch.no_grad(), _assignments(module):
        yield
    with torch.no_grad():
        for tensor, values in before:
            tensor.copy_(values)


@contextmanager
def _explained() -> Iterator[None]:
    """Trace without gradients, with the lines of the user, without what torch says of its own code, and with a note on
    errors.
    """
    torch: Any = import_module("torch")
    try:
        with torch.no_grad(), all_frames(), _quiet():
            yield
    except HalfulpError:
        raise
    except Exception as error:
        note = next((note for sign, note in _NOTES if sign in f"{type(error).__name__}: {error}"), _TRACED)
        error.add_note(note)
        raise


@contextmanager
def _quiet() -> Iterator[None]:
    """Leave out the warnings of torch about its own code, and what it tells on standard error of one that it raises."""
    disabled = logging.root.manager.disable
    logging.disable()
    try:
        with warnings.catch_warnings(), redirect_stderr(io.StringIO()):
            warnings.filterwarnings("ignore", r".*(treespec|LeafSpec)", FutureWarning)
            yield
    finally:
        logging.disable(disabled)


_TRACED = (
    "halfulp traces the function with torch.export: in it, compute with torch; bind arguments by name before the call, "
    "as in functools.partial(f, axis=1)"
)
_GRADIENTS = "give torch.fx.experimental.proxy_tensor.make_fx(f)(x), which has the ops of the gradients"
_SIZES = "write torch.where(condition, a, b) in place of if and of x[condition], and fixed sizes"
_NOTES = (
    ("data-dependent", f"the program decides by numbers that only a run knows: {_SIZES}"),
    ("fake tensor in the exported program", f"torch.export cannot trace gradients: {_GRADIENTS}"),
    (
        "you marked",
        "the program works only for this size: leave it out of dynamic_shapes, or give an example of 2 and more",
    ),
)
"""Notes on errors of torch.export, by a part of their names or texts."""


def _is(spec: Any, kind: str) -> bool:
    """Tell whether an input or output of a program is a tensor of a kind."""
    return spec.kind.name == kind and type(spec.arg).__name__ == "TensorArgument"


def _imported(
    program: Any, name: str, names: Sequence[str], weights: Weights, assigned: Sequence[str], to: To
) -> tuple[str, dict[str, npt.NDArray[Any]], dict[str, Any], tuple[Written, ...], Any]:
    """Return a program of torch.export as text in the torch dialect, its constants by their names, the weights that are
    its first arguments, what its last results are the new values of, and its first node with a size that depends on
    numbers.
    """
    fx, importer = import_module("torch_mlir.fx"), import_module("torch_mlir.extras.fx_importer")
    ir: Any = import_module("torch_mlir.ir")
    dialect: Any = import_module("torch_mlir.dialects.torch")
    tensors = {
        key.removeprefix(MODEL + "."): tensor
        for key, tensor in (*program.state_dict.items(), *program.constants.items())
        if is_tensor(tensor)
    }
    try:
        constants = {key: as_array(tensor, key) for key, tensor in tensors.items()}
    except RuntimeError as error:  # a tensor of the trace, without storage
        raise Unsupported(f"torch.export cannot trace the gradients in {name}", hint=_GRADIENTS) from error
    refuse_mixed(program, name)  # decompositions convert the operands
    with _explained():
        program = program.run_decompositions(fx.get_decomposition_table() | decompositions(to))
    mark_places(program)
    write_numbers(program)
    refuse_random(program, name)
    places, written = _rearranged(program, names, weights, assigned)
    fold_constants(program)
    context = ir.Context()
    dialect.register_dialect(context)
    made = importer.FxImporter(context=context)
    try:
        made.import_program(program, func_name="main")
    except (NotImplementedError, AssertionError, ValueError, TypeError) as error:
        raise Unsupported(f"torch-mlir cannot import {name}: {error or type(error).__name__}") from error
    first = {key: tensors[key] for key in places}
    return made.module.operation.get_asm(enable_debug_info=True), constants, first, written, sized_by_numbers(program)


def _rearranged(
    program: Any, names: Sequence[str], weights: Weights, assigned: Sequence[str]
) -> tuple[list[str], tuple[Written, ...]]:
    """Make the new values of tensors that a program writes its last results, and the chosen weights its first
    arguments. Return the names of these weights, and what is written.
    """
    signature = program.graph_signature
    target = {id(each): (each.target or "").removeprefix(MODEL + ".") for each in signature.input_specs}
    kinds = ("PARAMETER", "BUFFER", "CONSTANT_TENSOR")
    held = {target[id(each)]: each for each in signature.input_specs if any(_is(each, kind) for kind in kinds)}
    given = [each.arg.name for each in signature.input_specs if _is(each, "USER_INPUT")]
    # A program returns tensors: numbers and None are known before.
    outputs = [each for each in signature.output_specs if type(each.arg).__name__ == "TensorArgument"]
    own = [each for each in outputs if each.kind.name == "USER_OUTPUT"]
    own, news = own[: len(own) - len(assigned)], own[len(own) - len(assigned) :]
    changed = {each.target: each for each in outputs if each.kind.name.endswith("_MUTATION")}
    state = {key.removeprefix(MODEL + "."): each for key, each in changed.items() if key not in given}
    state |= dict(zip(assigned, news, strict=True))
    # The order of the state: that of state_dict(), then what is not in it.
    saved = {key.removeprefix(MODEL + "."): None for key in program.state_dict}
    order = list(saved | dict.fromkeys((*held, *state)))
    last = [(Written(key), state[key]) for key in order if key in state]
    last += [(Written(names[k], k), changed[each]) for k, each in enumerate(given) if each in changed]
    wanted = {"constants": {}, "arguments": saved | state, "state": state}[weights]
    chosen = [key for key in order if key in held and key in wanted]
    in_kind = type(signature.input_specs[0].kind) if signature.input_specs else None
    first = [replace(held[key], kind=in_kind and in_kind["USER_INPUT"], target=None, persistent=None) for key in chosen]
    kept = [each for each in signature.input_specs if target[id(each)] not in chosen]
    signature.input_specs = [*first, *kept]
    signature.output_specs = [
        *own,
        *(replace(each, kind=type(each.kind)["USER_OUTPUT"], target=None) for _, each in last),
    ]
    return chosen, tuple(each for each, _ in last)


def _name_results(module: Module, written: Sequence[Written]) -> None:
    """Give the results of a module's function that are new values of tensors their names, as attributes."""
    if written:
        function = find_entry(module)
        own = [DictionaryAttr(())] * (len(result_types(function)) - len(written))
        names = [DictionaryAttr(((_RESULT, StringAttr(each.name)),)) for each in written]
        function.properties["res_attrs"] = ArrayAttr((*own, *names))


_RESULT = "halfulp.result_info"
