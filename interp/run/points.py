"""Elementwise ops for all points of an iteration space at once.

A value of a body is an array with an axis for each dimension of the space, of size 1 along a dimension that it does not
depend on. So what is computed from one operand alone is computed once for each of its elements, not for each point.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt

from halfulp.fp_formats.formats import Mask
from halfulp.interp.ir.base import Location, UnknownLoc
from halfulp.interp.ir.operations import Operation
from halfulp.interp.run.elementwise import ElementwiseStep, Places
from halfulp.interp.run.evaluators import Elementwise
from halfulp.interp.run.frames import Lanes, Run
from halfulp.interp.run.settings import Settings
from halfulp.interp.values.value import Value
from halfulp.semantics.kernel import Kernel


class Points(Places):
    """The names of the points of a part of an iteration space: their indices.

    ``axes``: for each axis of the arrays after that over lanes, the dimension of the space and its indices in this
    part. ``fixed``: the indices in the other dimensions. ``sizes``: of the space.
    """

    __slots__ = ("_axes", "_fixed", "_sizes")

    def __init__(
        self,
        lanes: Lanes | None,
        lead: int,
        axes: Sequence[tuple[int, slice]],
        fixed: Sequence[tuple[int, int]],
        sizes: tuple[int, ...],
    ) -> None:
        super().__init__(lanes, lead)
        self._axes = axes
        self._fixed = fixed
        self._sizes = sizes

    def at(self, fixed: Sequence[tuple[int, int]]) -> Points:
        """Return the names where the axes of some dimensions are gone because their indices are fixed."""
        gone = {dimension for dimension, _ in fixed}
        return Points(self.lanes, self.lead, [axis for axis in self._axes if axis[0] not in gone], fixed, self._sizes)

    def numbers(self) -> npt.NDArray[np.uint64]:
        """Return the numbers of the points in the order of the loops."""
        steps = [prod(self._sizes[dimension + 1 :]) for dimension in range(len(self._sizes))]
        first = sum(index * steps[dimension] for dimension, index in self._fixed)
        along = [np.arange(range_.start, range_.stop, dtype=np.uint64) for _, range_ in self._axes]
        rows = np.ix_(*[part * np.uint64(steps[axis[0]]) for part, axis in zip(along, self._axes, strict=True)])
        return np.asarray(sum(rows, np.uint64(first)))

    def _point(self, where: tuple[int, ...]) -> tuple[int, ...]:
        point = dict(self._fixed)
        # What depends on no point and no lane has no axes.
        indices = where[self.lead :] or (0,) * len(self._axes)
        for (dimension, range_), index in zip(self._axes, indices, strict=True):
            point[dimension] = range_.start + index
        return tuple(point[dimension] for dimension in sorted(point))

    def origin(self, where: tuple[int, ...]) -> tuple[int, ...]:
        """Return the name of a point as the place where poison was born."""
        point = self._point(where)
        return (
            point if self.lanes is None else (int(self.lanes.numbers[where[0] if self.lead and where else 0]), *point)
        )

    def text(self, where: tuple[int, ...], offending: Mask) -> tuple[str, str]:
        """Return the name of the first offending point for an error."""
        return f" at iteration {list(self._point(where))}", ""


class PointwiseStep(ElementwiseStep):
    """Runs one elementwise op for the points of a part of an iteration space.

    ``around``: the op whose body it belongs to. Its place stands for that of an op without one. ``turn``: of the ops of
    the body that take random bits, the number of this one, and how many there are.
    """

    __slots__ = ("around", "turn")

    def __init__(
        self, op: Operation, evaluator: Elementwise, kernel: Kernel, settings: Settings, around: Operation
    ) -> None:
        super().__init__(op, evaluator, kernel, settings)
        self.around = around
        self.turn = 0, 1

    @property
    def location(self) -> Location:
        """The place that poison and errors of the op name."""
        own = self.op.location
        return self.around.location if isinstance(own, UnknownLoc) else own

    @property
    def behalf(self) -> Operation:
        """The op whose body it belongs to."""
        return self.around

    def run_at(self, run: Run, operands: Sequence[Value], places: Places) -> tuple[Value, ...]:
        """Return the results for operands whose shapes broadcast. Raises UndefinedBehavior."""
        numbers = places.numbers() if self.stochastic else None
        if numbers is not None:
            # Each point rounds by itself, also where the operands are the same.
            whole = np.broadcast_shapes(numbers.shape, *[value.shape for value in operands])
            operands = [broadcast(value, whole) for value in operands]
        shapes = [value.shape for value in operands]
        shape = np.broadcast_shapes(*shapes)
        full = tuple(
            value if len(own) == len(shape) else _of_rank(value, len(shape))
            for value, own in zip(operands, shapes, strict=True)
        )
        codes = tuple([value.bits for value in full])
        if not self.noticed:
            self.notice(codes)
        kernel = self._drawing(run, shape, numbers) if self.stochastic else self.kernel
        return self._applied(run, kernel, full, codes, shape, places)

    def _drawing(self, run: Run, shape: tuple[int, ...], numbers: npt.NDArray[np.uint64] | None = None) -> Kernel:
        """Return the kernel that rounds by the next random bits of the run, or by those of points of a loop."""
        if numbers is None:
            return super()._drawing(run, shape)
        assert run.draws is not None
        return run.draws.kernel_at(self.op, self.behalf, numbers, self.turn, self.settings.profile)


def broadcast(value: Value, shape: tuple[int, ...]) -> Value:
    """Return a value repeated to a shape, without a copy."""
    own = value.shape
    if own == shape:
        return value
    rank = len(own)

    def spread(array: Any) -> Any:
        if array is None:
            return None
        trailing = array.shape[rank:]
        return np.broadcast_to(array.reshape((1,) * (len(shape) - rank) + array.shape), shape + trailing)

    return Value(value.type, spread(value.bits), spread(value.poison), spread(value.open), value.origins)


def _of_rank(value: Value, rank: int) -> Value:
    """Return a value with more leading axes of size 1."""
    new = (1,) * (rank - value.ndim)
    poison = None if value.poison is None else value.poison.reshape(new + value.poison.shape)
    open_ = None if value.open is None else value.open.reshape(new + value.open.shape)
    return Value(value.type, value.bits.reshape(new + value.bits.shape), poison, open_, value.origins)
