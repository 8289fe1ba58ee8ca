"""A grid of processes: the functions of `interpreter.run_parallel` run side by side, and meet in collective ops.

Each process is a stack of frames. A process that reaches a collective op waits there until all processes of its group
have come; then each gets its results. Processes run in the order of their numbers, so that a program has one result.
The order in a group is that of ``replica_groups``. A program that runs outside of a grid is a grid of one process.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice, pairwise
from math import prod
from typing import Any

import numpy as np

from halfulp.interp.dialects.elements import combined, picked
from halfulp.interp.dialects.stablehlo.attributes import pairs_of
from halfulp.interp.dialects.stablehlo.indexing import as_list, elementwise_body, with_shape
from halfulp.interp.dialects.stablehlo.loops import converted, zeros
from halfulp.interp.dialects.stablehlo.moving import signed_numbers
from halfulp.interp.dialects.stablehlo.quantized import quantized_numbers
from halfulp.interp.dialects.stablehlo.reducing import multiply_and_add
from halfulp.interp.ir import attributes as at
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.dialect_attributes import DialectAttr
from halfulp.interp.ir.errors import Unsupported
from halfulp.interp.ir.operations import Operation, undefined
from halfulp.interp.ir.types import code_layout
from halfulp.interp.run.evaluators import Compiler, OnFrames
from halfulp.interp.run.frames import Action, Frame, FunctionCode, Run, Segment, lift
from halfulp.interp.values.value import Value, retyped
from halfulp.semantics.profile import SPEC

Process = tuple[int, int]
"""The numbers of a process: its replica, its partition."""
Group = tuple[Process, ...]
_Way = tuple[int, Process | None]
"""A channel, and the process to which it leads; None if the process that waits first gets what is sent."""
_GRID = "the grid of processes"


@dataclass
class _Waiting:
    """A process in a collective op: its frame, the op, its operands, the slots of its results, and how it combines
    operands.
    """

    frame: Frame
    op: Operation
    operands: tuple[Value, ...]
    results: tuple[int, ...]
    fold: Any = None

    def resume(self, values: Sequence[Any]) -> None:
        """Write the results."""
        for slot, value in zip(self.results, values, strict=True):
            self.frame.slots[slot] = value


@dataclass
class Grid:
    """The processes of one `interpreter.run_parallel`."""

    replicas: int
    partitions: int
    #: The frame of the op, to which the processes return.
    parent: Frame | None = None
    #: The first frames of the processes, by identity.
    roots: dict[int, Process] = field(default_factory=dict)
    ready: list[Frame] = field(default_factory=list)
    waiting: dict[Any, dict[Process, _Waiting]] = field(default_factory=dict)
    #: What was sent through each channel, to one process or to any, and not received yet, and who waits for more.
    sent: dict[_Way, list[list[Any]]] = field(default_factory=dict)
    receivers: dict[_Way, list[_Waiting]] = field(default_factory=dict)
    #: The functions that give the values of infeed, in order.
    feeds: list[Operation] = field(default_factory=list)

    def process_of(self, frame: Frame | None) -> Process:
        """Return the process to which a frame belongs."""
        while frame is not None:
            if id(frame) in self.roots:
                return self.roots[id(frame)]
            frame = frame.parent
        return 0, 0

    def groups(self, op: Operation, lists: Sequence[Sequence[int]]) -> list[Group]:
        """Return the groups of processes in which an op runs, by its channel and ``use_global_device_ids``. ``lists``:
        the numbers of the processes in each group, as the op states them; an empty list stands for one group of all
        processes.
        """
        handle = op.properties.get("channel_handle")
        channel = int(handle["handle"]) if isinstance(handle, DialectAttr) else 0
        replicas, partitions = range(self.replicas), range(self.partitions)
        if "use_global_device_ids" in op.properties:
            everyone = range(self.replicas * self.partitions)
            return [tuple(divmod(k, self.partitions) for k in row) for row in lists or [everyone]]
        if channel <= 0:
            return [tuple((k, p) for k in row) for row in lists or [replicas] for p in partitions]
        if op.name in _BY_PARTITION:
            return [tuple((r, k) for k in row) for row in lists or [partitions] for r in replicas]
        return [tuple((k, p) for p in partitions for k in row) for row in lists or [replicas]]


_BY_PARTITION = frozenset(
    f"stablehlo.{name}"
    for name in ("all_to_all", "collective_broadcast", "collective_permute", "collective_reduce", "send", "recv")
)
"""The ops whose groups are of partitions if they have a channel."""

# --- groups -----------------------------------------------------------------------------------------------------------


def _groups_named(op: Operation, compiler: Compiler) -> Sequence[Sequence[int]]:
    """Return the groups that an op names, as numbers of replicas, partitions or devices. Raises Unsupported."""
    written = op.properties["replica_groups"]
    if isinstance(written, at.DenseElementsAttr):
        return [row for numbers in pairs_of(written) if (row := tuple(k for k in numbers if k >= 0))]
    assert isinstance(written, DialectAttr)
    mesh = written["mesh"]
    if isinstance(mesh, at.SymbolRefAttr):
        holder = compiler.module.lookup(mesh, op)
        known = {} if holder is None else {**holder.properties, **holder.attributes}
        mesh = known.get("mesh") or known.get("stablehlo.mesh")
        if not isinstance(mesh, DialectAttr | at.DictionaryAttr):
            raise Unsupported(
                f"the symbol of the mesh of '{op.name}' has no attribute stablehlo.mesh with axes",
                location=op.location, op=op.name,
            )  # fmt: skip
    return _groups_of_axes(mesh, written["axes"].elements)


def _field(attribute: Any, name: str) -> Any:
    """Return a field of an attribute of StableHLO, or of a dictionary that stands for one."""
    if isinstance(attribute, DialectAttr):
        return attribute[name]
    found = dict(attribute.entries).get(name)
    return found.elements if isinstance(found, at.ArrayAttr) else getattr(found, "value", found)


def _groups_of_axes(mesh: DialectAttr | at.DictionaryAttr, axes: Sequence[Any]) -> list[tuple[int, ...]]:
    """Return the devices along some axes of a mesh, in the order of these axes, for each place on the others.

    ``axes``: references to axes, or to parts of them: an axis of size a * b * c is split into three.
    """
    whole: list[tuple[str, int]] = [(_field(axis, "name"), _field(axis, "size")) for axis in _field(mesh, "axes")]
    wanted = []
    for axis in axes:
        part = axis["sub_axis_info"]
        size = dict(whole)[axis["name"]]
        wanted.append((axis["name"], *((1, size) if part is None else (part["pre_size"], part["size"]))))
    # Each axis falls into pieces, from one cut to the next.
    pieces: list[tuple[str, int, int]] = []
    for name, size in whole:
        cuts = {1, size}.union(*({before, before * part} for axis, before, part in wanted if axis == name))
        ordered = sorted(cuts)
        if any(after % before for before, after in pairwise(ordered)):
            raise Unsupported(f"the parts of the axis {name} of a mesh, which has the size {size}, do not fit together")
        pieces += [(name, before, after // before) for before, after in pairwise(ordered)]
    ids = _field(mesh, "device_ids")
    numbers = np.arange(prod(size for _, size in whole)) if ids is None else ids.array().reshape(-1).astype(np.int64)
    inner = [
        place
        for name, before, part in wanted
        for place, (axis, start, _) in enumerate(pieces)
        if axis == name and before <= start < before * part
    ]
    outer = [place for place in range(len(pieces)) if place not in inner]
    grid = numbers.reshape([size for _, _, size in pieces]).transpose([*outer, *inner])
    return [tuple(map(int, row)) for row in grid.reshape(-1, prod(pieces[place][2] for place in inner))]


# --- meeting ----------------------------------------------------------------------------------------------------------

Fold = Callable[[Run, Sequence[Value]], Value]
"""Combines the operands of several processes by the body of an op, in their order."""
Exchange = Callable[[Operation, Run, Fold, int, Sequence[tuple[Value, ...]]], Sequence[Any]]
"""From the operands of all processes of a group, the results of the process at a place in it."""


def meeting(exchange: Exchange, alone: bool = False) -> OnFrames:
    """Return the evaluator of a collective op. ``exchange``: computes the results of one process from the operands of
    its group. ``alone``: a process that is in no group gets zeros; without it, this is an error.
    """

    def build(op: Operation, compiler: Compiler) -> Action:
        operands, results, after = compiler.slots(op.operands), compiler.slots(op.results), compiler.after()
        lists, folding = _groups_named(op, compiler), _folding(op, compiler)

        def meet(frame: Frame) -> Segment | None:
            run: Run = frame.slots[0]
            grid: Grid = run.kept.get(_GRID) or Grid(1, 1)
            process, groups = grid.process_of(frame), grid.groups(op, lists)
            here = _Waiting(frame, op, tuple(frame.slots[slot] for slot in operands), results, folding(frame))
            group = next((group for group in groups if process in group), None)
            if group is None:
                if not alone:
                    raise undefined(op, f"the process {process} is in no group")
                here.resume([_zeros(value) for value in here.operands])
                return after
            frame.segment = after
            key = op.name, str(op.properties.get("channel_handle")), group
            met = grid.waiting.setdefault(key, {})
            met[process] = here
            if len(met) < len(group):
                if not grid.ready:
                    _stuck(grid, op)
                run.frame = grid.ready.pop(0)
                return None
            del grid.waiting[key]
            values = [met[each].operands for each in group]
            for place, each in enumerate(group):
                met[each].resume(exchange(met[each].op, run, met[each].fold, place, values))
            grid.ready[:0] = [met[each].frame for each in group if each != process]
            return after

        return meet

    return OnFrames(build, no_lanes=True)


def _stuck(grid: Grid, op: Operation) -> None:
    if grid.parent is None or len(grid.roots) < 2:
        raise Unsupported(
            f"'{op.name}' needs more than one process; run the program with 'interpreter.run_parallel'",
            location=op.location,
            op=op.name,
        )
    raise undefined(op, "the processes wait for each other")


def _zeros(value: Value) -> Value:
    element = ty.element_type(value.type)
    if isinstance(element, ty.UniformQuantizedType):
        zeros = np.zeros(value.bits.shape, code_layout(element.expressed)[0])
        return Value(value.type, quantized_numbers(element, zeros, SPEC))
    return Value(value.type, np.zeros_like(value.bits))


# --- exchanges --------------------------------------------------------------------------------------------------------


def _concatenated(run: Run, values: Sequence[Value], type_: ty.Type, axis: int) -> Value:
    return combined(run, values, type_, lambda arrays: np.concatenate(arrays, axis=axis))


def gathered(op: Operation, run: Run, fold: Fold, place: int, values: Sequence[tuple[Value, ...]]) -> list[Any]:
    """Return the operands of all processes, joined in their order (all_gather). ``place``: the place of the process in
    its group.
    """
    axis = op.number("all_gather_dim")
    columns = zip(op.results, zip(*values, strict=True), strict=True)
    return [_concatenated(run, column, result.type, axis) for result, column in columns]


def _part(value: Value, axis: int, place: int, count: int, type_: ty.Type) -> Value:
    size = value.shape[axis] // count
    return picked(value, (*[slice(None)] * axis, slice(place * size, (place + 1) * size)), type_)


def exchanged(op: Operation, run: Run, fold: Fold, place: int, values: Sequence[tuple[Value, ...]]) -> list[Any]:
    """Return the parts of the operands of all processes that are for this process (all_to_all). ``place``: the place of
    the process in its group.
    """
    split, count, axis = op.number("split_dimension"), op.number("split_count"), op.number("concat_dimension")
    made = []
    for result, column in zip(op.results, zip(*values, strict=True), strict=True):
        parts = [_part(value, split, place, count, value.type) for value in column]
        made.append(_concatenated(run, parts, result.type, axis))
    return made


def broadcast(op: Operation, run: Run, fold: Fold, place: int, values: Sequence[tuple[Value, ...]]) -> list[Any]:
    """Return the operands of the first process of the group, or of the one that the last operand names
    (collective_broadcast).
    """
    return [values[root][number] for number, root in enumerate(_roots(op, values, place))]


def _roots(op: Operation, values: Sequence[tuple[Value, ...]], place: int) -> list[int]:
    """Return for each result the place of its root in the group."""
    if "has_dynamic_root" not in op.properties:
        return [0] * len(op.results)
    roots = [int(root) for root in signed_numbers(op, values[place][-1], "a root")]
    for root in roots:
        if not 0 <= root < len(values):
            raise undefined(op, f"the root {root} is not a place in a group of {len(values)} processes")
    return roots


def reduced(op: Operation, run: Run, fold: Fold, place: int, values: Sequence[tuple[Value, ...]]) -> list[Any]:
    """Return the operands of all processes combined by the body of the op, in their order (all_reduce)."""
    return [
        retyped(fold(run, [column[number] for column in values]), result.type)
        for number, result in enumerate(op.results)
    ]


def _folding(op: Operation, compiler: Compiler) -> Callable[[Frame], Fold | None]:
    """Return the function that gives the `Fold` of an op in a frame, which has what the body takes from outside."""
    if op.name == _SUM:
        element = ty.element_type(op.operands[0].type)
        block = multiply_and_add([ty.TensorType((), element)] * 2, compiler.settings.profile)
    elif op.regions:
        block = op.regions[0].blocks[0]
    else:
        return lambda frame: None
    body, outside = elementwise_body(op, block, compiler)
    given, made = block.arguments[0].type, ty.element_type(block.operations[-1].operands[0].type)

    def of_frame(frame: Frame) -> Fold:
        captured = [lift(frame.slots[slot], type_) for slot, type_ in outside]

        def fold(run: Run, values: Sequence[Value]) -> Value:
            lists = [as_list(converted(op, value, given, run)) for value in values]
            total = lists[0]
            start = zeros(total.shape, ty.TensorType((None,), made))
            for each in lists[1:]:
                (total,) = body.run(run, [total, each, start], captured)
            return with_shape(total, values[0].shape, ty.with_element(values[0].type, made))

        return fold

    return of_frame


_SUM = "stablehlo.cross-replica-sum"


def reduced_at_root(op: Operation, run: Run, fold: Fold, place: int, values: Sequence[tuple[Value, ...]]) -> list[Any]:
    """Return the result of all_reduce if this process is the root of the result, and zeros if it is not
    (collective_reduce).
    """
    found = zip(reduced(op, run, fold, place, values), _roots(op, values, place), strict=True)
    return [value if root == place else _zeros(value) for value, root in found]


def scattered(op: Operation, run: Run, fold: Fold, place: int, values: Sequence[tuple[Value, ...]]) -> list[Any]:
    """Return the part of the result of all_reduce that is for this process (reduce_scatter)."""
    axis = op.number("scatter_dimension")
    whole = fold(run, [column[0] for column in values])
    return [_part(whole, axis, place, len(values), op.results[0].type)]


# --- channels ---------------------------------------------------------------------------------------------------------

_TOKEN: tuple[Any, ...] = ()


def _send(op: Operation, compiler: Compiler) -> Action:
    operands, results, after = compiler.slots(op.operands), compiler.slots(op.results), compiler.after()
    channel = _channel(op)

    def act(frame: Frame) -> Segment:
        grid = _grid_of(frame, op)
        values = [frame.slots[slot] for slot in operands[:-1]]
        pairs, process = _pairs(op), grid.process_of(frame)
        named = [target for source, target in grid.groups(op, pairs) if source == process] if pairs else []
        targets: list[Process | None] = [*named] if pairs else [None]
        for target in targets:
            receivers = grid.receivers.get((channel, target))
            if receivers:
                receiver = receivers.pop(0)
                receiver.resume([*values, _TOKEN])
                grid.ready.append(receiver.frame)
            else:
                grid.sent.setdefault((channel, target), []).append(values)
        frame.slots[results[0]] = _TOKEN
        return after

    return act


def _receive(op: Operation, compiler: Compiler) -> Action:
    results, after = compiler.slots(op.results), compiler.after()
    channel = _channel(op)

    def act(frame: Frame) -> Segment | None:
        run, grid = frame.slots[0], _grid_of(frame, op)
        here, process = _Waiting(frame, op, (), results), grid.process_of(frame)
        pairs = _pairs(op)
        if pairs and all(pair[1] != process for pair in grid.groups(op, pairs)):
            raise undefined(op, f"process {process} receives, but is not a target of source_target_pairs")
        way = channel, process if pairs else None
        if grid.sent.get(way):
            here.resume([*grid.sent[way].pop(0), _TOKEN])
            return after
        if not grid.ready:
            _stuck(grid, op)
        grid.receivers.setdefault(way, []).append(here)
        frame.segment, run.frame = after, grid.ready.pop(0)
        return None

    return act


def _pairs(op: Operation) -> list[tuple[int, ...]]:
    """Return the pairs of processes that exchange values; none if the first that waits gets what is sent."""
    written = op.properties.get("source_target_pairs")
    return [] if written is None else [tuple(pair) for pair in pairs_of(written)]


def _channel(op: Operation) -> int:
    handle = op.prop("channel_handle", DialectAttr)
    return int(handle["handle"])


def _grid_of(frame: Frame, op: Operation) -> Grid:
    grid: Grid | None = frame.slots[0].kept.get(_GRID)
    if grid is None:
        raise Unsupported(
            f"'{op.name}' needs a grid of processes; run the program with 'interpreter.run_parallel'",
            location=op.location,
            op=op.name,
        )
    return grid


def _infeed(op: Operation, compiler: Compiler) -> Action:
    """Make the action of infeed: it calls the next function of ``infeed`` of the op that made the grid."""
    results, after = compiler.slots(op.results), compiler.after()

    def act(frame: Frame) -> Segment | None:
        run, grid = frame.slots[0], _grid_of(frame, op)
        if not grid.feeds:
            raise undefined(op, "nothing is left in the feed")
        frame.slots[results[-1]] = _TOKEN
        frame.segment = after
        run.frame = compiler.new_frame(compiler.code_of(grid.feeds.pop(0)), run, frame, results[:-1], op)
        return None

    return act


def _outfeed(op: Operation, compiler: Compiler) -> Action:
    results, after = compiler.slots(op.results), compiler.after()

    def act(frame: Frame) -> Segment:
        _grid_of(frame, op)
        frame.slots[results[0]] = _TOKEN
        return after

    return act


CHANNELS: Mapping[str, OnFrames] = {
    "send": OnFrames(_send, no_lanes=True),
    "recv": OnFrames(_receive, no_lanes=True),
    "infeed": OnFrames(_infeed, no_lanes=True),
    "outfeed": OnFrames(_outfeed, no_lanes=True),
}
"""The evaluators of the ops that send and receive. What leaves through outfeed is not kept."""


def _permute(op: Operation, compiler: Compiler) -> Action:
    """Make the action of collective_permute: a meeting of all processes, in which pairs exchange values."""
    operands, results, after = compiler.slots(op.operands), compiler.slots(op.results), compiler.after()

    def meet(frame: Frame) -> Segment | None:
        run: Run = frame.slots[0]
        grid: Grid = run.kept.get(_GRID) or Grid(1, 1)
        process = grid.process_of(frame)
        everyone = tuple((r, p) for r in range(grid.replicas) for p in range(grid.partitions))
        frame.segment = after
        key = op.name, str(op.properties.get("channel_handle"))
        met = grid.waiting.setdefault(key, {})
        met[process] = _Waiting(frame, op, tuple(frame.slots[slot] for slot in operands), results)
        if len(met) < len(everyone):
            if not grid.ready:
                _stuck(grid, op)
            run.frame = grid.ready.pop(0)
            return None
        del grid.waiting[key]
        sources = {target: source for source, target in grid.groups(op, pairs_of(op.properties["source_target_pairs"]))}
        for each, there in met.items():
            found = met[sources[each]].operands if each in sources else [_zeros(value) for value in there.operands]
            there.resume(found)
        grid.ready[:0] = [met[each].frame for each in everyone if each != process]
        return after

    return meet


permuted = OnFrames(_permute, no_lanes=True)
"""The evaluator of collective_permute."""


def number_of_process(axis: int) -> OnFrames:
    """Return the evaluator of replica_id (``axis`` 0) or partition_id (1)."""

    def build(op: Operation, compiler: Compiler) -> Action:
        (result,), after = compiler.slots(op.results), compiler.after()

        def act(frame: Frame) -> Segment:
            grid: Grid = frame.slots[0].kept.get(_GRID) or Grid(1, 1)
            number = grid.process_of(frame)[axis]
            frame.slots[result] = Value(op.results[0].type, np.array(number, np.uint32))
            return after

        return act

    return OnFrames(build, no_lanes=True)


# --- run_parallel -----------------------------------------------------------------------------------------------------


def programs_of(op: Operation) -> list[list[at.SymbolRefAttr]]:
    """Return the names of the functions that a grid runs: a list for each replica, with a name for each partition."""
    rows = op.prop("programs", at.ArrayAttr).elements
    return [
        [each for each in row.elements if isinstance(each, at.SymbolRefAttr)]
        for row in rows
        if isinstance(row, at.ArrayAttr)
    ]


def feeds_of(op: Operation) -> list[at.SymbolRefAttr]:
    """Return the names of the functions whose results are the input of the infeeds of a grid."""
    names = op.properties.get("infeed")
    given = names.elements if isinstance(names, at.ArrayAttr) else ()
    return [each for each in given if isinstance(each, at.SymbolRefAttr)]


def in_turn(op: Operation, ended: Action) -> Segment:
    """Return the segment that runs the processes of the grid of ``op`` in turn. ``ended``: acts after the last one."""
    schedule = Segment()
    schedule.steps, schedule.cost, schedule.op = (), 1, op

    def go_on(frame: Frame) -> Segment | None:
        run: Run = frame.slots[0]
        grid: Grid = run.kept[_GRID]
        if grid.ready:
            frame.segment = schedule
            run.frame = grid.ready.pop(0)
            return None
        if grid.waiting or any(grid.receivers.values()):
            raise undefined(op, "a process waits for one that has ended")
        del run.kept[_GRID]
        return ended(frame)

    schedule.control = go_on
    return schedule


def begun(frame: Frame, op: Operation, replicas: int, partitions: int) -> Grid:
    """Begin a grid of processes, which will return to ``frame``. Raises Unsupported inside of another grid."""
    kept = frame.slots[0].kept
    if _GRID in kept:
        raise Unsupported(
            f"'{op.name}' runs in a process of another grid; halfulp runs one grid at a time",
            location=op.location, op=op.name,
        )  # fmt: skip
    grid = kept[_GRID] = Grid(replicas, partitions, frame)
    return grid


def run_parallel(op: Operation, compiler: Compiler) -> Action:
    """Return the action that runs interpreter.run_parallel."""
    operands, results, after = compiler.slots(op.operands), compiler.slots(op.results), compiler.after()
    rows = programs_of(op)
    functions = [compiler.module.lookup(name, op) for row in rows for name in row]
    feeds = [compiler.module.lookup(name, op) for name in feeds_of(op)]
    schedule = in_turn(op, lambda frame: after)

    def start(frame: Frame) -> Segment:
        run: Run = frame.slots[0]
        grid = begun(frame, op, len(rows), len(rows[0]))
        grid.feeds = [function for function in feeds if function is not None]
        given, made = iter(operands), iter(results)
        for number, function in enumerate(functions):
            assert function is not None
            code: FunctionCode = compiler.code_of(function)
            type_ = function.prop("function_type", at.TypeAttr).type
            count = len(type_.results) if isinstance(type_, ty.FunctionType) else 0
            root = compiler.new_frame(code, run, frame, tuple(islice(made, count)), op)
            for slot, operand in zip(code.entry.arguments, islice(given, len(code.entry.arguments)), strict=True):
                root.slots[slot] = frame.slots[operand]
            grid.roots[id(root)] = divmod(number, len(rows[0]))
            grid.ready.append(root)
        return schedule

    return start
