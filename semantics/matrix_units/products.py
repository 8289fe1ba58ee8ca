"""Matrix products by a matrix unit: K is cut into instructions, which add to C one after the other."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from halfulp.fp_formats.codes import Codes, storage_dtype
from halfulp.fp_formats.formats import FORMATS
from halfulp.semantics.matrix_units.kinds import TileOp
from halfulp.semantics.matrix_units.models import multiply_accumulate

AT_ONCE = 1 << 20  # products at a time


class MatrixUnit(NamedTuple):
    """An operation, and the model that computes it: "exact", "ieee" or "chip:<name>"."""

    operation: TileOp
    model: str = "exact"

    @property
    def depth(self) -> int:
        """The elements along K of one instruction."""
        op = self.operation
        return op.shape[2] if op.order is None else len(op.order)


def multiply_by_unit(unit: MatrixUnit, a: Codes, b: Codes) -> Codes:
    """Return products of a [tiles, M, K] and b [tiles, K, N], either with one tile for all: codes of D [tiles, M, N].

    C is +0 at first, then the result of the instruction before. If K is not a multiple of an instruction's, A and B are
    filled up with +0. M and N do not matter, since the elements of a tile do not depend on each other. Raises
    `Unpublished` where the results of a chip are not known.
    """
    op, depth = unit.operation, unit.depth
    tiles, m, n = np.broadcast_shapes((a.shape[0], a.shape[1], 1), (b.shape[0], 1, b.shape[2]))
    missing = -a.shape[2] % depth
    a = np.pad(np.broadcast_to(a, (tiles, *a.shape[1:])), ((0, 0), (0, 0), (0, missing)))
    b = np.pad(np.broadcast_to(b, (tiles, *b.shape[1:])), ((0, 0), (0, missing), (0, 0)))
    d = np.zeros((tiles, m, n), FORMATS[op.d].storage_dtype if op.d in FORMATS else storage_dtype(int(op.d[1:])))
    step = max(1, AT_ONCE // max(1, n * depth))
    for start in range(0, a.shape[2], depth):
        ks = slice(start, start + depth)
        for row in range(0, m, step):
            rows = slice(row, row + step)
            d[:, rows] = multiply_accumulate(unit.model, op, a[:, rows, ks], b[:, ks], d[:, rows])
    return d
