"""Operands in memory that share elements: where the order of reads and writes matters."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from halfulp.interp.dialects.linalg.structure import Structure
from halfulp.interp.values.buffers import Buffer
from halfulp.interp.values.memref_layout import is_injective

_WORK = 1 << 10
"""The effort to find out whether two views share an element; beyond it they count as if they did."""


def may_be_arrays(buffers: Sequence[Buffer | None], structure: Structure) -> bool:
    """Tell whether reading all operands before anything is written gives what the loops give.

    A buffer that is written may share memory with another operand only if every point reads there just the element that
    it writes.
    """
    inputs = len(structure.inputs)
    for number, written in enumerate(buffers[inputs:], inputs):
        if written is None or written.mapped is not None or not is_injective(written.shape, written.strides):
            return False
        for other, buffer in enumerate(buffers):
            if other == number or buffer is None or not _overlap(written, buffer):
                continue
            same = (written.layout, written.shape) == (buffer.layout, buffer.shape)
            map_ = structure.maps[number]
            every_point = len(map_.results) == map_.dimensions
            if other >= inputs or not same or structure.maps[other] != map_ or not every_point:
                return False
    return True


def _overlap(one: Buffer, other: Buffer) -> bool:
    try:
        return np.shares_memory(one.view(), other.view(), _WORK)  # type: ignore[arg-type]
    except np.exceptions.TooHardError:
        return True
