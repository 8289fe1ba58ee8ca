"""Races: two iterations of a parallel loop that write one element with different bits.

Iterations run one after the other. A log notes, for each element, the first iteration that wrote it; a second one may
write the same bits again. What an iteration reads of what another wrote is not reported.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from halfulp.interp.ir import types as ty
from halfulp.interp.ir.errors import UndefinedBehavior
from halfulp.interp.ir.operations import Operation, SSAValue
from halfulp.interp.run.frames import Run
from halfulp.interp.values.buffers import Allocation, Buffer

_WATCHED = "memory with a log of writes"

View = Callable[[npt.NDArray[Any]], npt.NDArray[Any]]


class Writes:
    """The iteration that wrote each element of a shape first, in one run of a loop.

    ``ranges``: the values of the induction variables. `iteration` is the number of the current one, in row-major order.
    ``outer``: the log of the loop around it.
    """

    __slots__ = ("_first", "_op", "_ranges", "iteration", "outer")

    def __init__(self, op: Operation, ranges: Sequence[range], shape: tuple[int, ...], outer: Writes | None) -> None:
        self.outer = outer
        self.iteration = 0
        self._op = op
        self._ranges = ranges
        self._first = np.full(shape, -1, np.int64)

    def note(self, view: View, index: Any, differs: Any) -> None:
        """Note that the current iteration writes elements, ``view(array)[index]`` of an array of the shape.

        ``differs``: the elements whose bits change. Raises UndefinedBehavior for a race.
        """
        first = np.asarray(view(self._first)[index])
        wrong = np.asarray(differs) & (first >= 0) & (first != self.iteration)
        if wrong.any():
            raise self._race(int(first[wrong][0]))
        view(self._first)[index] = np.where(first < 0, self.iteration, first)
        if self.outer is not None:
            self.outer.note(view, index, differs)

    def _race(self, before: int) -> UndefinedBehavior:
        first, second = self._point(before), self._point(self.iteration)
        return UndefinedBehavior(
            f"{self._op.name}: undefined behaviour: a race: the iterations {first} and {second} write one element, "
            "with different bits",
            location=self._op.location,
            op=self._op.name,
        )

    def _point(self, number: int) -> list[int]:
        point = []
        for values in reversed(self._ranges):
            number, position = divmod(number, len(values))
            point.append(values[position])
        return point[::-1]


Watched = Sequence[tuple[Allocation, Writes]]
"""Memory with the log of its writes."""


def watched(run: Run, op: Operation, ranges: Sequence[range], buffers: Sequence[Any]) -> Watched:
    """Begin to log what a loop writes to the memory of some buffers, and return the memory with its logs."""
    found: dict[int, tuple[Allocation, Writes]] = {}
    for buffer in buffers:
        if isinstance(buffer, Buffer) and id(buffer.allocation) not in found:
            memory = buffer.allocation
            outer = memory.log if isinstance(memory.log, Writes) else None
            memory.log = writes = Writes(op, ranges, (len(memory),), outer)
            found[id(memory)] = memory, writes
    run.kept.setdefault(_WATCHED, []).extend(memory for memory, _ in found.values())
    return list(found.values())


def left(watched_memory: Watched) -> None:
    """End the logs of a loop: those of the loop around it go on."""
    for memory, writes in watched_memory:
        memory.log = writes.outer


def forget(run: Run) -> None:
    """End all logs of a run, which an error may have stopped inside a loop."""
    for memory in run.kept.pop(_WATCHED, ()):
        memory.log = None


def memory_used(op: Operation) -> list[SSAValue]:
    """Return the memrefs from outside that the regions of an op use."""
    inside: set[SSAValue] = set()
    used: dict[SSAValue, None] = {}
    for each in op.walk():
        inside.update(each.results)
        for region in each.regions:
            for block in region.blocks:
                inside.update(block.arguments)
        passed = (value for _, values in each.successors for value in values)
        used.update((value, None) for value in (*each.operands, *passed) if isinstance(value.type, ty.MemRefType))
    return [value for value in used if value not in inside]
