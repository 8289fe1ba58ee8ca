"""Chains of elementwise ops as NumPy calls on blocks of elements that stay in a cache."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from halfulp.fp_formats.codes import Codes, storage_dtype
from halfulp.fp_formats.paths.array_loop import Plan
from halfulp.fp_formats.paths.blocks import Program
from halfulp.fp_formats.paths.recorder import NotRecorded, Recorder, natural
from halfulp.fp_formats.paths.words import Word
from halfulp.interp.run.compiled.links import Link
from halfulp.semantics.kernel import ArrayFace

_MANY = 40
"""The calls from which a kernel is quicker than its description: it has tables, or paths for arrays."""


class ChainBlocks:
    """The same as `ArrayLoop`, without machine code."""

    def __init__(self, plan: Plan) -> None:
        recorder = Recorder()
        values = [
            recorder.input(number, width, splat)
            for number, (width, splat) in enumerate(zip(plan.widths, plan.splats, strict=True))
        ]
        for link in plan.links:
            operands = [values[number] for number in link.operands]
            values += _described(recorder, link, operands) or _by_kernel(recorder, link, operands)
        self._program = Program(recorder, [values[number].held for number in plan.outputs])

    @property
    def cost(self) -> float:
        """The cost of one element, as `Program` tells it."""
        return self._program.cost

    def run(self, inputs: Sequence[Codes], made: Sequence[Codes], count: int) -> npt.NDArray[np.intp]:
        """Fill the outputs. Returns the indices of the refused elements: what they got is wrong."""
        return self._program.run(inputs, made, count)


def _described(recorder: Recorder, link: Link, operands: Sequence[Word]) -> tuple[Word, ...] | None:
    """Note the calls of the description of an op; None if these are too many, or the description has wider words."""
    before, refused, settled = recorder.calls, dict(recorder.refused), dict(recorder.settled)
    try:
        found = link.face(*operands)
        if recorder.calls - before < _MANY:
            return found if isinstance(found, tuple) else (found,)
    except NotRecorded:
        pass
    recorder.refused, recorder.settled = refused, settled
    return None


def _by_kernel(recorder: Recorder, link: Link, operands: Sequence[Word]) -> tuple[Word, ...]:
    """Note one call of the kernel for each result of an op."""
    results = []
    codes = [recorder.unsigned(operand.held) for operand in operands]
    for number, width in enumerate(link.widths):
        storage = storage_dtype(width)
        compute = partial(_compute, link.array, number)
        found = recorder.call(compute, storage, 8 * storage.itemsize, *codes, reports=True)
        results.append(recorder.word(recorder.shown(found, natural(width), width)))
    return tuple(results)


def _compute(array: ArrayFace, number: int, found: list[Any], *codes: Codes) -> None:
    *operands, out = codes
    outcome = array(*operands)
    found += [np.flatnonzero(np.broadcast_to(mask, out.shape)) for _, mask in outcome.faults]
    out[...] = outcome.results[number]
