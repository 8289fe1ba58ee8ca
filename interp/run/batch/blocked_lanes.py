"""Large batches of scalars by the executor: some lanes after the others, so that their values stay in a cache."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from halfulp.fp_formats.codes import Codes, code_shape
from halfulp.interp.ir.errors import HalfulpError
from halfulp.interp.ir.operations import Operation
from halfulp.interp.run.batch.compiler import LaneCompiler
from halfulp.interp.run.batch.frames import LaneFrame
from halfulp.interp.run.batch.run import LaneRun
from halfulp.interp.run.frames import Lanes
from halfulp.interp.run.program import CompiledModule
from halfulp.interp.run.signature import result_types
from halfulp.interp.values.lanes import over_lanes, ranked
from halfulp.interp.values.value import Value

BLOCK = 1 << 17
"""The lanes of a block: their values are in memory that is used again, mostly in a cache."""


def goes_in_blocks(op: Operation, lanes: int) -> bool:
    """Tell whether blocks save time: there are many lanes, and they may part, which takes memory in each trip."""
    parts = len(op.regions[0].blocks) > 1 or any(each.regions for each in op.walk() if each is not op)
    return lanes > BLOCK and parts


def run_in_blocks(
    program: CompiledModule, op: Operation, arguments: Sequence[Value], lanes: int
) -> tuple[Value, ...] | None:
    """Return the results of a function whose lanes do nothing but compute.

    Return None where they, or an error, might not be those of one run with all lanes: a block fails, a result has
    poison, or the blocks together take more steps than a run may. All lanes at once take at most as many.
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
    if not over_lanes(value):
        return value
    poison, open_ = (None if each is None else each[part] for each in (value.poison, value.open))
    return Value(value.type, value.bits[part], poison, open_, value.origins)
