"""The graphs of torch.export as torch-mlir needs them: with the places of the user's program, without ops that it would
lower to something else.
"""

from __future__ import annotations

import os
import re
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib import import_module
from typing import Any

from halfulp.importing.common import OWN
from halfulp.interp.ir.base import CallSiteLoc, FileLineCol, Location, NameLoc
from halfulp.interp.ir.errors import TypeMismatch, Unsupported
from halfulp.interp.values.coerce import is_tensor

MODEL = "model"
"""The name of the user's module inside of the module that is exported."""

# --- locations --------------------------------------------------------------------------------------------------------
#
# torch-mlir writes the lines of a trace as locations, and no names. The importer gets the name of the module of torch
# as a part of the name of the file, and here it becomes a name around the place.

_MARK = "\x1f"
"""What separates the path of a module of torch from the path of the file."""


def marked(file: str) -> tuple[str, str]:
    """Return the path of a module of torch and the file that are in the name of a file."""
    module, mark, path = file.replace("\\1F", _MARK).rpartition(_MARK)
    return (module, path) if mark else ("", file)


def of_user(location: Location) -> Location:
    """Return a location with the name of the module of torch around it."""
    if isinstance(location, NameLoc):
        return NameLoc(location.name, of_user(location.child))
    if isinstance(location, CallSiteLoc):
        callee, caller = of_user(location.callee), of_user(location.caller)
        if isinstance(callee, NameLoc):  # the name belongs to the whole
            return NameLoc(callee.name, CallSiteLoc(callee.child, caller))
        return CallSiteLoc(callee, caller)
    if isinstance(location, FileLineCol):
        module, path = marked(location.file)
        place = FileLineCol(path, location.line, max(location.column, 1))
        return NameLoc(module, place) if module else place
    return location


_FRAME = re.compile(r'File "([^"\n]+)", line (\d+)')


def user_frames(trace: str, hidden: Sequence[str]) -> list[tuple[str, int]]:
    """Return the files and lines of a stack trace, outermost first, without those in hidden folders. If all are hidden,
    return the innermost one, which is not in torch's own machinery if there is another.
    """
    frames = [(file, int(line)) for file, line in _FRAME.findall(trace)]
    found = [each for each in frames if not each[0].startswith(tuple(hidden))]
    return found or [each for each in frames if not _MACHINERY.search(each[0])][-1:] or frames[-1:]


_MACHINERY = re.compile(r"[/\\]torch[/\\](?:fx|export|utils|_\w+)[/\\.]")


def mark_places(program: Any) -> None:
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
        module = modules[-1].removeprefix(MODEL).removeprefix(".") if modules else ""
        frames[-1] = (f"{module}{_MARK}{frames[-1][0]}" if module else frames[-1][0], frames[-1][1])
        node.meta["stack_trace"] = "\n".join(f'File "{file}", line {line}, in f' for file, line in frames)


@contextmanager
def all_frames() -> Iterator[None]:
    """Let torch keep all frames below that of halfulp in stack traces. By itself it keeps those of methods with the
    name forward, so that a line of a function would be that of its caller.
    """
    tracer: Any = import_module("torch.fx.proxy").TracerBase
    usual = getattr(tracer, _FILTER, None)
    if usual is None:  # another version of torch
        yield
        return

    def below(self: Any, frames: Any) -> Any:
        own = [k for k, frame in enumerate(frames) if frame.filename.startswith(OWN)]
        return traceback.StackSummary.from_list(frames[own[-1] + 1 :]) if own else usual(self, frames)

    setattr(tracer, _FILTER, below)
    try:
        yield
    finally:
        setattr(tracer, _FILTER, usual)


_FILTER = "_filter_traceback_frames"

# --- ops --------------------------------------------------------------------------------------------------------------

_ONE_DTYPE = frozenset(
    ("linear", "matmul", "mm", "addmm", "bmm", "baddbmm", "mv", "addmv", "dot", "bilinear", "convolution")
).union(f"conv{kind}{rank}d" for kind in ("", "_transpose") for rank in (1, 2, 3))
"""The ops whose operands must have the same dtype when they run, which torch.export does not always check."""


def refuse_mixed(program: Any, name: str) -> None:
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


def decompositions(to: str) -> dict[Any, Callable[..., Any]]:
    """Return ops as others where torch-mlir lowers them wrongly to a dialect: to linalg, it drops a padding whose sizes
    add to 0; to StableHLO, a remainder has the sign of the dividend, as in C; and fmod is made of a rounded quotient.
    Products and quotients of f16 or bf16 and a number are computed in f32, as by torch; torch-mlir rounds the number.
    To linalg, a sum of booleans wraps around.
    """
    torch: Any = import_module("torch")
    aten = torch.ops.aten
    within = False

    def padded(x: Any, sizes: Sequence[Any], value: Any = 0) -> Any:
        if not any(isinstance(each, int) and each < 0 for each in sizes):
            return NotImplemented
        for k in range(len(sizes) // 2):
            low, high = (max(-each, 0) for each in sizes[2 * k : 2 * k + 2])
            x = torch.narrow(x, -1 - k, low, x.shape[-1 - k] - low - high)
        return aten.constant_pad_nd(x, [max(each, 0) for each in sizes], value)

    def lowered(a: Any, b: Any) -> Any:
        """The remainder as torch-mlir lowers it."""
        nonlocal within
        within = True
        try:
            return torch.remainder(a, b)
        finally:
            within = False

    def remainder(a: Any, b: Any) -> Any:
        if within:
            return NotImplemented
        rest = lowered(a, b)
        if is_tensor(b):
            wrong = torch.logical_and(rest != 0, torch.logical_xor(rest < 0, b < 0))
        else:
            wrong = rest > 0 if b < 0 else rest < 0
        return torch.where(wrong, rest + b, rest)

    def fmod(a: Any, b: Any) -> Any:
        if not (is_tensor(a) and a.is_floating_point()) or (is_tensor(b) and b.dtype != a.dtype):
            return NotImplemented
        rest = lowered(a.abs(), abs(b))  # of numbers that are not negative, so the two kinds of remainder are equal
        return torch.where(a < 0, -rest, torch.where(a == 0, rest * a, rest))  # the product is a zero with its sign

    def in_f32(op: Any) -> Callable[..., Any]:
        def computed(a: Any, *others: Any, **numbers: Any) -> Any:
            narrow = is_tensor(a) and a.dtype in (torch.float16, torch.bfloat16)
            if not narrow or any(map(is_tensor, others)):
                return NotImplemented
            return op(a.to(torch.float32), *others, **numbers).to(a.dtype)

        return computed

    def either(a: Any, b: Any, **numbers: Any) -> Any:
        booleans = all(each.dtype == torch.bool if is_tensor(each) else isinstance(each, bool) for each in (a, b))
        if not booleans or numbers or not is_tensor(a):
            return NotImplemented
        return torch.logical_or(a, b if is_tensor(b) else torch.full_like(a, b))

    with_numbers = (aten.mul.Tensor, aten.div.Tensor, aten.leaky_relu.default, aten.elu.default)
    found: dict[Any, Callable[..., Any]] = {
        aten.constant_pad_nd.default: padded,
        **{op: in_f32(op) for op in with_numbers},
        aten.add.Tensor: either,
    }
    if to == "stablehlo":
        found |= {aten.remainder.Scalar: remainder, aten.remainder.Tensor: remainder}
    if to != "tosa":  # which has no remainder of floats
        found |= {aten.fmod.Scalar: fmod, aten.fmod.Tensor: fmod}
    return found


_FOLDED = re.compile(
    "add|sub|rsub|mul|div|eq|ne|lt|le|gt|ge|floor|ceil|round|trunc|sign|sgn|remainder|fmod|floor_divide|where|clamp|"
    "minimum|maximum|neg|abs|_to_copy|(logical|bitwise)_(not|and|or|xor)"
)
"""The ops that torch-mlir computes of constants, or others of the same kind: their results need no function whose
rounding is a choice.
"""
_MOVED = re.compile("clone|lift_fresh_copy|index_select|index|repeat|flip|roll|gather")
"""The ops, beside views, whose results have only elements of their first operand."""
_FILLED = {"full": None, "full_like": None, "ones": 1, "ones_like": 1, "zeros": 0, "zeros_like": 0}
"""The ops that make tensors of one number: this, or else the second argument."""


def fold_constants(program: Any) -> None:
    """Compute ops of tensors whose elements are one number that the program has, and put the number in their place.
    torch-mlir computes them at any size, and some wrongly: a remainder as in C, ``True + True`` as False, f64 with
    numbers of f32. Of each tensor one element is computed, by torch.
    """
    torch: Any = import_module("torch")
    signature = program.graph_signature
    tensors = {**program.state_dict, **program.constants}
    held = {
        each.arg.name: tensors[each.target]
        for each in signature.input_specs
        if each.kind.name in ("PARAMETER", "BUFFER", "CONSTANT_TENSOR") and is_tensor(tensors.get(each.target))
    }
    known: dict[Any, Any] = {}
    for node in list(program.graph.nodes):
        value = node.meta.get("val")
        if not is_tensor(value) or not all(isinstance(each, int) for each in value.shape) or value.is_complex():
            continue
        if node.op == "placeholder":
            tensor = held.get(node.name)
            if tensor is not None and tensor.numel() == 1 and not tensor.is_meta:
                known[node] = tensor.detach().reshape((1,) * value.ndim)
            continue
        name = getattr(getattr(node.target, "_schema", None), "name", "").removeprefix("aten::")
        operands = node.all_input_nodes
        if name in _FILLED:
            number = node.args[1] if _FILLED[name] is None else _FILLED[name]
            if not isinstance(number, bool | int | float):
                continue
            known[node] = torch.full((1,) * value.ndim, number, dtype=value.dtype)
        elif operands and operands[0] in known and (_MOVED.fullmatch(name) or getattr(node.target, "is_view", False)):
            if known[operands[0]].dtype == value.dtype:
                known[node] = known[operands[0]].reshape((1,) * value.ndim)
        elif _FOLDED.fullmatch(name) and operands and all(each in known for each in operands):
            result = _computed(node, known)
            if result is None or result.dtype != value.dtype:
                continue
            known[node] = result.reshape((1,) * value.ndim)
            with program.graph.inserting_before(node):
                options = {"dtype": value.dtype, "device": value.device, "pin_memory": False}
                full = torch.ops.aten.full.default
                literal = program.graph.call_function(full, (list(value.shape), result.item()), options)
            literal.meta = dict(node.meta)
            known[literal] = known[node]
            node.replace_all_uses_with(literal)
            for output in signature.output_specs:
                if getattr(output.arg, "name", None) == node.name:
                    output.arg = type(output.arg)(name=literal.name)
            program.graph.erase_node(node)


def _computed(node: Any, known: Mapping[Any, Any]) -> Any:
    """Return the result of a node of known operands; None if it is undefined: a number out of the range of integers,
    or a quotient of integers by 0.
    """
    torch: Any = import_module("torch")
    args, kwargs = torch.fx.node.map_arg((node.args, node.kwargs), known.__getitem__)
    try:
        result = node.target(*args, **kwargs)
    except RuntimeError:
        return None
    source = args[0]
    if node.target is torch.ops.aten._to_copy.default and source.is_floating_point():
        kind = result.dtype
        if not kind.is_floating_point and kind != torch.bool:
            number, limits = source.item(), torch.iinfo(kind)
            if not limits.min - 1 < number < limits.max + 1:
                return None
    return result


def write_numbers(program: Any) -> None:
    """Write numbers among the arguments of ops as torch-mlir needs them: the end of a slice as the size of the axis,
    since it makes indices up to 2^63 - 1, and a number that floats are compared with as a float of their dtype, as
    torch rounds it, since it compares with the number itself, and floats that are all equal with the bits of an
    integer.
    """
    torch: Any = import_module("torch")
    aten = torch.ops.aten
    ends = {aten.slice.Tensor: 3, aten.slice_scatter.default: 4}
    compared = [getattr(aten, name).Scalar for name in ("eq", "ne", "lt", "le", "gt", "ge")]
    for node in program.graph.nodes:
        place = ends.get(node.target, 1 if node.target in compared else len(node.args))
        number: Any = node.args[place] if len(node.args) > place else None
        if type(number) not in (int, float):
            continue
        tensor = node.args[0].meta["val"]
        if node.target in compared:
            if tensor.is_floating_point():
                exact = torch.tensor(number, dtype=torch.int64 if isinstance(number, int) else torch.float64)
                node.update_arg(place, exact.to(tensor.dtype).item())
            continue
        size = tensor.shape[node.args[place - 2]]
        if isinstance(size, int) and number > size:
            node.update_arg(place, size)


def refuse_random(program: Any, name: str) -> None:
    """Raise Unsupported if an op of a program draws random numbers: TOSA would have constants for them."""
    torch: Any = import_module("torch")
    for node in program.graph.nodes:
        if torch.Tag.nondeterministic_seeded in getattr(node.target, "tags", ()):
            raise Unsupported(
                f"{name} draws random numbers by {node.target}",
                location=place_of(node),
                hint="call eval() of a module with dropout, or make the numbers an argument",
            )


def sized_by_numbers(program: Any) -> Any:
    """Return the first node of a program with a size that only a run knows; None if there is none."""
    unbacked = import_module("torch.fx.experimental.symbolic_shapes").free_unbacked_symbols
    for node in program.graph.nodes:
        values = node.meta.get("val")
        for each in values if isinstance(values, list | tuple) else [values]:
            if is_tensor(each) and unbacked(each.size()):
                return node
    return None


def place_of(node: Any) -> Location | None:
    """Return the place of a node in the user's file, as `mark_places` left it."""
    frames = _FRAME.findall(node.meta.get("stack_trace") or "")
    return FileLineCol(marked(frames[-1][0])[1], int(frames[-1][1]), 1) if frames else None
