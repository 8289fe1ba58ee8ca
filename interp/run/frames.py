"""Compiled code and its activations: segments, frames, lanes, and the run that executes them.

A step is a closure over slot numbers that reads and writes the slots of a frame. Slot 0 of each frame holds the `Run`:
what belongs to one execution, so that compiled code can be shared between threads. `halfulp.interp.run.slots` says what
the other slots hold.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any
from weakref import ref

import numpy as np
import numpy.typing as npt

from halfulp.fp_formats.codes import Mask
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.errors import OutOfSteps
from halfulp.interp.ir.operations import Operation
from halfulp.interp.run.host import host_values
from halfulp.interp.run.settings import Settings
from halfulp.interp.run.stochastic import Draws
from halfulp.semantics.poison import Origins

Slots = list[Any]
Step = Callable[[Slots], None]
Function = Callable[["Run", tuple[Any, ...]], tuple[Any, ...]]
"""The meaning of an op on whole values: results from operands."""
Action = Callable[["Frame"], "Segment | None"]
"""The effect of a control op on a frame. It returns the segment that goes on there, or None: another frame,
`Run.frame`, goes on.
"""
Yield = Callable[[Sequence[int]], Action]
"""Makes the action of a region's terminator, which the op around the region defines, from its operands' slots."""
Outside = Callable[[Operation, tuple[Any, ...], Sequence[ty.Type]], Sequence[Any]]
"""Gives the results of an op that no dialect has, or of a call of a declaration, for operands and result types."""


class Segment:
    """A sequence of steps that ends in a control op, filled in when its block is compiled.

    ``arguments``: the slots of the arguments of the block that it begins. ``cost``: its ops. ``plan``: what a batch
    needs to know about it (`halfulp.interp.run.batch.frames.Plan`).
    """

    __slots__ = ("arguments", "control", "cost", "op", "plan", "steps")

    control: Action
    cost: int
    op: Operation
    plan: Any
    steps: tuple[Step, ...]

    def __init__(self, arguments: tuple[int, ...] = ()) -> None:
        self.arguments = arguments


@dataclass(slots=True)
class FunctionCode:
    """A compiled function: the initial slots (constants in place) and the entry block."""

    op: Operation
    template: Slots
    entry: Segment


class Frame:
    """One activation of a function: its slots, and the segment at which it begins or goes on after a call."""

    __slots__ = ("call", "depth", "parent", "results", "segment", "slots")

    def __init__(
        self, code: FunctionCode, run: Run, parent: Frame | None, results: tuple[int, ...], call: Operation | None
    ) -> None:
        self.slots = code.template.copy()
        self.slots[0] = run
        self.segment = code.entry
        self.parent = parent
        self.results = results
        self.call = call
        self.depth: int = 0 if parent is None else parent.depth + 1


class Lanes:
    """Some lanes of a batch: their numbers, ascending, and the number of all lanes of the batch.

    ``within``: lanes of which these are a part, for as long as they exist, and the positions of these among them.
    """

    __slots__ = ("__weakref__", "numbers", "total", "within")

    def __init__(
        self,
        numbers: npt.NDArray[np.intp],
        total: int,
        within: tuple[ref[Lanes], npt.NDArray[np.intp]] | None = None,
    ) -> None:
        self.numbers = numbers
        self.total = total
        self.within = within

    def __len__(self) -> int:
        return len(self.numbers)

    def subset(self, positions: npt.NDArray[np.intp]) -> Lanes:
        """Return the lanes at these positions, which ascend."""
        numbers = positions if len(self) == self.total else self.numbers.take(positions)
        return Lanes(numbers, self.total, (ref(self), positions) if len(positions) < _MANY_LANES else None)

    def positions(self, others: Lanes) -> npt.NDArray[np.intp]:
        """Return the positions of ``others``, all of which are among these lanes."""
        if len(self) == self.total:
            return others.numbers
        if others.within is not None and others.within[0]() is self:
            return others.within[1]
        if len(others) < _FEW_LANES:
            return np.searchsorted(self.numbers, others.numbers)
        places = np.empty(self.total, np.intp)
        places[self.numbers] = np.arange(len(self))
        return places[others.numbers]

    def offending(self, mask: Mask | None = None) -> npt.NDArray[np.intp]:
        """Return the numbers of the lanes in a mask over these; of all these where the mask is None or of rank 0."""
        return self.numbers if mask is None or not mask.ndim else self.numbers[mask]


_FEW_LANES = 4096
"""Fewer are looked up by bisection; for this many or more a table is quicker."""
_MANY_LANES = 1 << 18
"""The positions of this many or more are not kept: new memory for them takes longer than looking them up."""


STEP_POINTS = 1 << 10
"""The points of an op on whole arrays that count as one step of the run."""


class Run:
    """The state of one execution: the frame on top of the stack, the table of poison origins, and the steps left.

    ``lanes``: in a batch, those that are running; else None. ``outside``: what runs that the program does not define.
    ``kept``: what ops keep for the whole run, such as the memory of globals. ``tries``: the executor runs a function to
    find out whether it is worth code. ``draws``: the random bits of stochastic rounding; None without it.
    """

    __slots__ = ("draws", "frame", "kept", "lanes", "origins", "outside", "results", "settings", "steps", "tries")

    def __init__(self, settings: Settings, lanes: Lanes | None = None, outside: Outside | None = None) -> None:
        self.settings = settings
        self.outside = outside
        self.origins = Origins()
        self.lanes = lanes
        self.steps = settings.max_steps
        self.results: tuple[Any, ...] = ()
        self.frame: Frame | None = None
        self.kept: dict[Any, Any] = {}
        self.tries = False
        self.draws: Draws | None = None

    def execute(self, frame: Frame | None) -> None:
        """Run until the first frame returns."""
        while frame is not None:
            slots = frame.slots
            segment: Segment | None = frame.segment
            while segment is not None:
                self.steps -= segment.cost
                if self.steps < 0:
                    raise self.out_of_steps(segment.op)
                for step in segment.steps:
                    step(slots)
                segment = segment.control(frame)
            frame = self.frame

    def host(
        self, function: Callable[..., Any], values: Sequence[Any], types: Sequence[ty.Type], source: str
    ) -> tuple[Any, ...]:
        """Call a user's function, named ``source`` in errors, and return its results; in a batch once for each lane."""
        produced = host_values(function(*values), types, source, self.settings)
        recorder = self.settings.recorder
        return produced if recorder is None else tuple([recorder.unknown(source, value) for value in produced])

    def each(self, function: Function, operands: tuple[Any, ...], types: Sequence[ty.Type]) -> tuple[Any, ...]:
        """Call a function that does not know of lanes; in a batch once for each lane."""
        return function(self, operands)

    def charge(self, op: Operation, points: int) -> None:
        """Count the points of an op on whole arrays as steps. Raises LimitExceeded."""
        self.steps -= points // STEP_POINTS
        if self.steps < 0:
            raise self.out_of_steps(op)

    def out_of_steps(self, op: Operation) -> OutOfSteps:
        """Make the error of a run that would execute more ops than it may, the first of them just before ``op``."""
        return OutOfSteps(
            f"the program ran more than {self.settings.max_steps} ops",
            location=op.location,
            op=op.name,
            hint="raise the limit with max_steps (--max-steps)",
        )
