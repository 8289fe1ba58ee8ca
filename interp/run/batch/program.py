"""Run a function of a compiled module for many lanes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from halfulp.fp_formats.formats import Codes, Mask, code_shape
from halfulp.fp_formats.paths import llvm
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.attributes import SymbolRefAttr
from halfulp.interp.ir.errors import HalfulpError, TypeMismatch, Unsupported
from halfulp.interp.ir.operations import Module, Operation, argument_types, result_types
from halfulp.interp.run.batch.compiler import LaneCompiler
from halfulp.interp.run.batch.frames import LaneFrame, scattered
from halfulp.interp.run.batch.run import LaneRun
from halfulp.interp.run.evaluators import Entry, OnFrames, OnValues, evaluator_of
from halfulp.interp.run.frames import Frame, Lanes, Run, lift, of_lanes
from halfulp.interp.run.limits import NotCompiled, may_compile
from halfulp.interp.run.program import CompiledModule
from halfulp.interp.run.settings import Settings, check_allocation
from halfulp.interp.run.tiering import is_covered
from halfulp.interp.values.buffers import CALLER, GAP, Buffer, buffer_of, store_at
from halfulp.interp.values.elements import rearranged
from halfulp.interp.values.lanes import LaneBuffer, heap_for, lanes_of, over_lanes, ranked, repeated
from halfulp.interp.values.memref_layout import chosen_layout, is_injective, spanned
from halfulp.interp.values.value import Value, retyped
from halfulp.semantics.random_sources import Words

if TYPE_CHECKING:
    from halfulp.interp.run.compiled.program import LaneCode

# --- blocked lanes ----------------------------------------------------------------------------------------------------
#
# Large batches of scalars by the executor: some lanes after the others, so that their values stay in a cache.

BLOCK = 1 << 17
"""The lanes of a block: their values are in memory that is used again, mostly in a cache."""


def goes_in_blocks(op: Operation, lanes: int) -> bool:
    """Tell whether it saves time to run the lanes in blocks: there are many, and they may part, which takes memory in
    each iteration of a loop.
    """
    parts = len(op.regions[0].blocks) > 1 or any(each.regions for each in op.walk() if each is not op)
    return lanes > BLOCK and parts


def run_in_blocks(
    program: CompiledModule, op: Operation, arguments: Sequence[Value], lanes: int
) -> tuple[Value, ...] | None:
    """Run the lanes of a function in blocks, and return the results. Its lanes only compute, without effects.

    Return None if the results, or an error, might differ from those of one run of all lanes: a block fails, a result
    has poison, or the blocks together take more steps than a run may take. All lanes in one run take at most as many
    steps.
    """
    found: list[list[Codes]] = []
    types = result_types(op)
    widths = [program.settings.width(type_) for type_ in types]
    steps = program.settings.max_steps
    for start in range(0, lanes, BLOCK):
        part = slice(start, min(start + BLOCK, lanes))
        size = part.stop - part.start
        run = LaneRun(program.settings, Lanes(np.arange(size), size))
        run.steps = steps
        given = [_part(value, part) for value in arguments]
        try:
            results = program.finish(op, run, LaneFrame(program.compiled(op, LaneCompiler), run, None, (), None), given)
        except HalfulpError:
            return None
        if any(value.poison is not None or value.open is not None for value in results):
            return None
        steps = run.steps
        shapes = [code_shape((size,), width) for width in widths]
        found.append([np.broadcast_to(value.bits, shape) for value, shape in zip(results, shapes, strict=True)])
    blocks = zip(*found, strict=True)
    return tuple([Value(ranked(type_, ()), np.concatenate(each)) for type_, each in zip(types, blocks, strict=True)])


def _part(value: Any, part: slice) -> Any:
    return rearranged(value, lambda array: array[part]) if over_lanes(value) else value


# --- compiled lanes ---------------------------------------------------------------------------------------------------
#
# Batches by machine code: one lane after the other, so that lanes which part cost nothing.

PAYS = 1 << 16
"""The lanes from which machine code pays."""


class CompiledLanes:
    """A function of a program, with the number of lanes that it has run for, and its machine code as soon as that saves
    time.
    """

    def __init__(self, program: CompiledModule, op: Operation) -> None:
        self._program = program
        self._op = op
        self._spent = 0
        self._codes: dict[tuple[bool, ...], LaneCode] = {}
        self._outputs = result_types(op)
        self._failed = False

    @cached_property
    def promising(self) -> bool:
        """Whether the lanes use only scalars and only compute, so that machine code may run them."""
        settings, types = self._program.settings, [*argument_types(self._op), *self._outputs]
        if not may_compile(settings) or settings.externals or settings.track_open or not self._outputs:
            return False
        scalars = all(isinstance(type_, ty.IntegerType | ty.FloatType | ty.IndexType) for type_ in types)
        # Lanes with memory of different shapes are refused by the executor.
        return scalars and is_covered(self._program, self._op, (ty.MemRefType,))

    def run(self, arguments: Sequence[Any], lanes: int) -> tuple[tuple[Value, ...], npt.NDArray[np.bool_]] | None:
        """Return the results of all lanes, and the mask of the lanes that stopped, whose results must not be used. None
        if machine code does not save time or cannot be made, or if an argument is not clean.
        """
        if not lanes or self._failed or not llvm.machine_code_allowed() or not self.promising:
            return None
        if self._spent + lanes < PAYS and not llvm.at_once():
            self._spent += lanes
            return None
        codes = [_clean(value) for value in arguments]
        if any(each is None for each in codes):
            return None
        splats = tuple([not over_lanes(value) for value in arguments])
        given = [each for each in codes if each is not None]
        try:
            found, stopped = self._code(splats).run(given, lanes)
        except (NotCompiled, HalfulpError):
            self._failed = True
            return None
        values = [Value(ranked(type_, ()), each) for type_, each in zip(self._outputs, found, strict=True)]
        return tuple(values), stopped

    def _code(self, splats: tuple[bool, ...]) -> LaneCode:
        """Return the code for arguments; some of them may be shared by all lanes. Raises NotCompiled."""
        from halfulp.interp.run.compiled.program import LaneCode

        code = self._codes.get(splats)
        if code is None:
            code = self._codes[splats] = LaneCode(self._program, self._op, splats)
        return code


def _clean(value: Any) -> Codes | None:
    """Return the codes of an argument; None if it is not clean."""
    if not isinstance(value, Value) or value.poison is not None or value.open is not None:
        return None
    return np.ascontiguousarray(value.bits)


# --- lane by lane -----------------------------------------------------------------------------------------------------
#
# Batches of functions with ops that do not know of lanes: one lane after the other.

_DRAWING = ("arith.", "cf.", "func.", "index.", "math.", "scf.", "ub.")
"""The beginnings of the names of ops that give each lane random bits of its own, or need none."""
_KEEPING = frozenset({"tensor.empty", "tensor.extract", "tensor.insert", "memref.alloc", "memref.load", "memref.store"})


def goes_alone(module: Module, function: Operation, draws: bool) -> bool:
    """Tell whether the lanes must run one by one: the function, or one that it names, has an op that cannot run in
    lanes. ``draws``: whether ops take random bits.
    """
    for op in _reached(module, function):
        evaluator = evaluator_of(op)
        if isinstance(evaluator, Entry) or (isinstance(evaluator, OnFrames | OnValues) and evaluator.no_lanes):
            return True
        if draws and not op.name.startswith(_DRAWING) and op.name not in _KEEPING:
            return True
    return False


def accesses_together(module: Module, function: Operation, settings: Settings) -> bool:
    """Tell whether the lanes of a function run together, and all ops on memory that it may reach can run in lanes."""
    if goes_alone(module, function, False):
        return False
    for op in _reached(module, function):
        evaluator = evaluator_of(op)
        memory = any(isinstance(value.type, ty.MemRefType) for value in (*op.operands, *op.results))
        if not memory or isinstance(evaluator, OnFrames):
            continue
        known = isinstance(evaluator, OnValues) and (
            evaluator.of_module or evaluator.in_lanes(op, settings) is not None
        )
        if not known:
            return False
    return True


def _reached(module: Module, function: Operation) -> Iterator[Operation]:
    """Yield the ops of a function, and of the functions that it names."""
    waiting, seen = [function], {function}
    while waiting:
        for op in waiting.pop().walk():
            yield op
            for symbol in op.properties.values():
                named = module.lookup(symbol.root) if isinstance(symbol, SymbolRefAttr) else None
                if named is not None and named not in seen:
                    seen.add(named)
                    waiting.append(named)


def lane_by_lane(
    program: CompiledModule, function: Operation, arguments: Sequence[Any], batch: LaneRun, runs: Words | None
) -> tuple[Value, ...]:
    """Run the lanes of a batch one after the other, and return the results over all lanes. ``runs``: the number of the
    run for each lane.

    Raises the error of the first lane that fails; it names all lanes that fail in the same way at the same place.
    """
    types = argument_types(function)
    rows: list[tuple[Value, ...]] = []
    failed: dict[int, HalfulpError] = {}
    steps = program.settings.max_steps
    for position, lane in enumerate(batch.lanes.numbers.tolist()):
        for listener in program.settings.listeners:
            listener.lanes(np.array([lane]))
        run = Run(program.settings)
        run.draws = program.draws(0 if runs is None else int(runs[lane]))
        run.steps = steps
        frame = Frame(program.function(function), run, None, (), None)
        given = [_of_lane(value, type_, lane) for value, type_ in zip(arguments, types, strict=True)]
        try:
            rows.append(program.finish(function, run, frame, given))
        except HalfulpError as error:
            failed[position] = error
        steps = run.steps
        if steps < 0:
            break
    if failed:
        raise of_lanes(failed, batch.lanes)
    kinds = [value.type for value in rows[0]]
    results = [lift(value, kind) for value, kind in zip(batch.stacked(rows, kinds), kinds, strict=True)]
    if len(batch.lanes) < batch.lanes.total:
        size, numbers = batch.lanes.total, batch.lanes.numbers
        results = [
            scattered([(numbers, value)], size, kind, batch) if over_lanes(value) else value
            for value, kind in zip(results, kinds, strict=True)
        ]
    return tuple(results)


def _of_lane(value: Any, type_: ty.Type, lane: int) -> Any:
    """Return the argument of one lane. Of a buffer with the axis over lanes, this is the part of the lane."""
    if isinstance(value, Buffer):
        start = value.offset + lane * value.strides[0]
        assert isinstance(type_, ty.MemRefType)
        return value.part(type_, start, value.shape[1:], value.strides[1:], value.is_view)
    value = lanes_of(value, lane) if over_lanes(value) else value
    return buffer_of(value, type_, "an argument") if isinstance(type_, ty.MemRefType) else value


# --- program ----------------------------------------------------------------------------------------------------------


def run_batch(
    program: CompiledModule,
    op: Operation,
    arguments: Sequence[Any],
    lanes: int,
    active: Mask | None = None,
    runs: npt.NDArray[Any] | None = None,
) -> tuple[Value, ...]:
    """Call a function with `Value`s for a batch of ``lanes`` lanes and return its results.

    An argument is a `Value` of its type with one more leading axis, over these lanes, or a `Value` without it for all
    lanes; results are the same. For a memref it is a `Value` of a tensor type, from which each lane gets its own
    memory, or a `Buffer` with the axis, which after the run has the elements that the lanes stored. ``active``: a mask
    of the lanes that run; the results of the other lanes must not be used. ``runs``: the number of the run for each
    lane, which determines its random bits; by default the number of the lane. Raises the errors of
    `halfulp.interp.ir.errors`.

    If a function may reach an op that cannot run in lanes, its lanes run one after the other; all lanes together have
    the limit of steps of one run.
    """
    if program.settings.recorder is not None:
        raise Unsupported("a batch keeps no lineage and no shadows")
    if active is None:
        compiled: CompiledLanes = program.made((op, CompiledLanes), lambda: CompiledLanes(program, op))
        found = compiled.run(arguments, lanes)
        if found is not None:
            return _completed(program, op, arguments, *found)
        if goes_in_blocks(op, lanes) and compiled.promising and not goes_alone(program.module, op, False):
            results = run_in_blocks(program, op, arguments, lanes)
            if results is not None:
                return results
    chosen = np.arange(lanes) if active is None else np.flatnonzero(active)
    run = LaneRun(program.settings, Lanes(chosen, lanes))
    numbers = None
    if program.settings.random is not None:
        numbers = np.arange(lanes, dtype=np.uint64) if runs is None else runs.astype(np.uint64)
        run.draws = program.draws(numbers)
    if len(chosen) and goes_alone(program.module, op, run.draws is not None):
        return lane_by_lane(program, op, arguments, run, numbers)
    frame = LaneFrame(program.compiled(op, LaneCompiler), run, None, (), None)
    given = [_given(run, value, type_, active) for value, type_ in zip(arguments, argument_types(op), strict=True)]
    try:
        return program.finish(op, run, frame, given)
    finally:
        for value, held in zip(arguments, given, strict=True):
            if isinstance(value, Buffer):
                store_at(value.allocation, value.places()[chosen], held.load(), value.allocation.origins)


def _completed(
    program: CompiledModule, op: Operation, arguments: Sequence[Any], values: tuple[Value, ...], stopped: Mask
) -> tuple[Value, ...]:
    """Return the results of machine code, with those of the executor for the lanes where it stopped."""
    if not stopped.any():
        return values
    exact = run_batch(program, op, arguments, len(stopped), stopped)
    return tuple(_merged(stopped, first, second) for first, second in zip(exact, values, strict=True))


def _merged(chosen: Mask, first: Value, second: Value) -> Value:
    """Take the chosen lanes from one value, which may be the same for all lanes, and the other lanes from another
    value.
    """
    bits = np.where(chosen, first.bits, second.bits)
    poison = None if first.poison is None else np.where(chosen, first.poison, np.uint16(0))
    return Value(second.type, bits, poison, None, first.origins)


def _given(run: LaneRun, value: Any, type_: ty.Type, active: Mask | None) -> Any:
    """Return an argument for the lanes that run."""
    numbers = run.lanes.numbers
    if isinstance(value, Buffer):
        held = value.load()
        tensor = ty.TensorType(value.shape[1:], value.type.element)
        value = retyped(held, tensor)
    if active is not None and over_lanes(value):
        value = lanes_of(value, numbers)
    return lane_memory(run, value, type_) if isinstance(type_, ty.MemRefType) else value


def lane_memory(run: LaneRun, value: Value, type_: ty.MemRefType) -> LaneBuffer:
    """Return a memref over the lanes of a run, with a copy of a value in the memory of each lane.

    Raises TypeMismatch if the layout of the type does not fit.
    """
    lanes = len(run.lanes)
    value = value if over_lanes(value) else repeated(value, lanes)
    shape = value.shape[1:]
    strides, offset = chosen_layout(type_, shape)
    size = spanned(shape, strides, offset)[1]
    check_allocation(type_, (lanes, size), run.settings)
    heap = heap_for(run.kept, type_.element, run.origins)
    gap = 0 if size <= prod(shape) else run.origins.id_of(GAP)
    buffer = LaneBuffer.over(type_, heap, heap.take(lanes, size, CALLER, gap), offset, shape, strides)
    buffer.store(value, run.origins)
    if not is_injective(shape, strides) and buffer.load(value.type, run.origins) != value:
        raise TypeMismatch(f"'{type_}' puts several elements at one place, but the elements given for it differ")
    return buffer
