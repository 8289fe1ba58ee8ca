"""The graphs of torch.export as torch-mlir needs them: with the places of the user's program, without ops that it would
lower to something else.
"""

from __future__ import annotations

import os
import re
import traceback
from collections.abc import Callable, Iterator, Sequence
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


def decompositions() -> dict[Any, Callable[..., Any]]:
    """Return ops as others where torch-mlir lowers them wrongly: to linalg, it drops a padding whose sizes add to 0."""
    torch: Any = import_module("torch")

    def padded(x: Any, sizes: Sequence[Any], value: Any = 0) -> Any:
        if not any(isinstance(each, int) and each < 0 for each in sizes):
            return NotImplemented
        for k in range(len(sizes) // 2):
            low, high = (max(-each, 0) for each in sizes[2 * k : 2 * k + 2])
            x = torch.narrow(x, -1 - k, low, x.shape[-1 - k] - low - high)
        return torch.ops.aten.constant_pad_nd(x, [max(each, 0) for each in sizes], value)

    return {torch.ops.aten.constant_pad_nd.default: padded}


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
