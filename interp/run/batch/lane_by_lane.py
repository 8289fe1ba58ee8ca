"""Batches of functions with ops that do not know of lanes: one lane after the other."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from halfulp.interp.ir import types as ty
from halfulp.interp.ir.attributes import SymbolRefAttr
from halfulp.interp.ir.errors import HalfulpError
from halfulp.interp.ir.operations import Module, Operation
from halfulp.interp.run.batch.run import LaneRun
from halfulp.interp.run.batch.slots import scattered
from halfulp.interp.run.evaluators import Entry, OnFrames, OnValues, evaluator_of
from halfulp.interp.run.frames import Frame, Run
from halfulp.interp.run.program import CompiledModule
from halfulp.interp.run.reports import of_lanes
from halfulp.interp.run.signature import argument_types
from halfulp.interp.run.slots import lift
from halfulp.interp.values.buffers import Buffer, buffer_of
from halfulp.interp.values.lanes import over_lanes, taken
from halfulp.interp.values.value import Value
from halfulp.semantics.random_sources import Words

_DRAWING = ("arith.", "cf.", "func.", "index.", "math.", "scf.", "ub.")
"""The beginnings of the names of ops that give each lane random bits of its own, or need none."""
_KEEPING = frozenset({"tensor.empty", "tensor.extract", "tensor.insert", "memref.alloc", "memref.load", "memref.store"})


def goes_alone(module: Module, function: Operation, draws: bool) -> bool:
    """Tell whether a function, or one that it names, has an op that does not know of lanes. ``draws``: ops take random
    bits.
    """
    waiting, seen = [function], {function}
    while waiting:
        for op in waiting.pop().walk():
            evaluator = evaluator_of(op)
            if isinstance(evaluator, Entry) or (isinstance(evaluator, OnFrames | OnValues) and evaluator.alone):
                return True
            if draws and not op.name.startswith(_DRAWING) and op.name not in _KEEPING:
                return True
            for symbol in op.properties.values():
                named = module.lookup(symbol.root) if isinstance(symbol, SymbolRefAttr) else None
                if named is not None and named not in seen:
                    seen.add(named)
                    waiting.append(named)
    return False


def lane_by_lane(
    program: CompiledModule, function: Operation, arguments: Sequence[Any], batch: LaneRun, runs: Words | None
) -> tuple[Value, ...]:
    """Run the lanes of a batch one after the other, and return the results over all lanes. ``runs``: the numbers of the
    runs that the lanes stand for.

    Raises the error of the first lane that fails; it names all lanes that fail so, at the same place.
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
    """Return the argument of one lane. A buffer with the axis over lanes is seen at this lane."""
    if isinstance(value, Buffer):
        start = value.offset + lane * value.strides[0]
        assert isinstance(type_, ty.MemRefType)
        return value.part(type_, start, value.shape[1:], value.strides[1:], value.is_view)
    value = taken(value, lane) if over_lanes(value) else value
    return buffer_of(value, type_, "an argument") if isinstance(type_, ty.MemRefType) else value
