"""Run a function of a compiled module for many lanes."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt

from halfulp.fp_formats.codes import Mask
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.errors import TypeMismatch, Unsupported
from halfulp.interp.ir.operations import Operation
from halfulp.interp.run.batch.blocked_lanes import goes_in_blocks, run_in_blocks
from halfulp.interp.run.batch.compiled_lanes import CompiledLanes
from halfulp.interp.run.batch.compiler import LaneCompiler
from halfulp.interp.run.batch.frames import LaneFrame
from halfulp.interp.run.batch.lane_by_lane import goes_alone, lane_by_lane
from halfulp.interp.run.batch.run import LaneRun
from halfulp.interp.run.frames import Lanes
from halfulp.interp.run.program import CompiledModule
from halfulp.interp.run.settings import check_allocation
from halfulp.interp.run.signature import argument_types
from halfulp.interp.values.buffers import CALLER, GAP, Buffer, store_at
from halfulp.interp.values.lanes import LaneBuffer, heap_for, over_lanes, repeated, taken
from halfulp.interp.values.memref_layout import chosen_layout, is_injective, spanned
from halfulp.interp.values.value import Value


def run_batch(
    program: CompiledModule,
    op: Operation,
    arguments: Sequence[Any],
    lanes: int,
    active: Mask | None = None,
    runs: npt.NDArray[Any] | None = None,
) -> tuple[Value, ...]:
    """Call a function with `Value`s for a batch of ``lanes`` lanes and return its results.

    An argument is a `Value` of its type with one more leading axis of these lanes, or one without it for all lanes, and
    so is a result. For a memref it is a `Value` of a tensor type, from which each lane gets memory of its own, or a
    `Buffer` with the axis, which holds afterwards what the lanes stored. ``active``: a mask of the lanes that run; the
    results mean nothing in the others. ``runs``: the number of the run that each lane stands for, for its random bits;
    by default that of the lane. Raises the errors of `halfulp.interp.ir.errors`.

    A function that may reach an op that does not know of lanes runs lane by lane, with the steps of one run for all.
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
    """Take the chosen lanes from one value, which may be the same for all, and the others from another."""
    bits = np.where(chosen, first.bits, second.bits)
    poison = None if first.poison is None else np.where(chosen, first.poison, np.uint16(0))
    return Value(second.type, bits, poison, None, first.origins)


def _given(run: LaneRun, value: Any, type_: ty.Type, active: Mask | None) -> Any:
    """Return an argument for the lanes that run."""
    numbers = run.lanes.numbers
    if isinstance(value, Buffer):
        held = value.load()
        tensor = ty.TensorType(value.shape[1:], value.type.element)
        value = Value(tensor, held.bits, held.poison, held.open, held.origins)
    if active is not None and over_lanes(value):
        value = taken(value, numbers)
    return lane_memory(run, value, type_) if isinstance(type_, ty.MemRefType) else value


def lane_memory(run: LaneRun, value: Value, type_: ty.MemRefType) -> LaneBuffer:
    """Return a memref over the lanes of a run, with a copy of a value in the memory of each lane.

    Raises TypeMismatch where the layout of the type does not fit.
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
