"""Run a function of a compiled module for many lanes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from halfulp.fp_formats.codes import Mask
from halfulp.interp.ir.operations import Operation
from halfulp.interp.run.batch.compiler import LaneCompiler
from halfulp.interp.run.batch.frames import LaneFrame
from halfulp.interp.run.batch.run import LaneRun
from halfulp.interp.run.frames import Lanes
from halfulp.interp.run.program import CompiledModule
from halfulp.interp.values.lanes import over_lanes, taken
from halfulp.interp.values.value import Value


def run_batch(
    program: CompiledModule, op: Operation, arguments: Sequence[Any], lanes: int, active: Mask | None = None
) -> tuple[Value, ...]:
    """Call a function with `Value`s for a batch of ``lanes`` lanes and return its results.

    An argument is a `Value` of its type with one more leading axis of these lanes, or one without it for all lanes, and
    so is a result. ``active``: a mask of the lanes that run; the results mean nothing in the others. Raises the errors
    of `halfulp.interp.ir.errors`.
    """
    chosen = np.arange(lanes) if active is None else np.flatnonzero(active)
    run = LaneRun(program.settings, Lanes(chosen, lanes))
    frame = LaneFrame(program.compiled(op, LaneCompiler), run, None, (), None)
    if active is not None:
        arguments = [taken(value, chosen) if over_lanes(value) else value for value in arguments]
    return program.finish(op, run, frame, arguments)
