"""Compiled code and its activations: segments, frames, lanes, and the run that executes them.

A step is a closure over slot numbers that reads and writes the slots of a frame. Slot 0 of each frame holds the `Run`,
which has everything that belongs to one execution; so threads can share compiled code. `lift` and `lower` say what the
other slots hold.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar
from weakref import ref

import numpy as np
import numpy.typing as npt

from halfulp.fp_formats.formats import Mask, codes_to_ints, ints_to_codes
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.errors import HalfulpError, OutOfSteps, UndefinedBehavior, Unsupported
from halfulp.interp.ir.operations import Operation, SSAValue, captured
from halfulp.interp.ir.types import element_width, width_of
from halfulp.interp.run.settings import Settings, host_values
from halfulp.interp.run.stochastic import Draws
from halfulp.interp.values.buffers import Allocation, Buffer
from halfulp.interp.values.value import Value
from halfulp.semantics.kernel import Origins

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

    ``arguments``: the slots of the arguments of the block that it begins. ``cost``: the number of its ops. ``plan``:
    the facts about it that a batch needs (`halfulp.interp.run.batch.frames.Plan`).
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
    """One activation of a function: its slots, and the segment at which it begins, or continues after a call."""

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

    ``within``: other lanes that include these, and the positions of these lanes among them.
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
        """Return the positions of ``others`` among these lanes, which include all of them."""
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
        """Return the numbers of those lanes that a mask over these lanes selects; of all these lanes if the mask is
        None or of rank 0.
        """
        return self.numbers if mask is None or not mask.ndim else self.numbers[mask]


_FEW_LANES = 4096
"""Fewer are looked up by bisection; for this many or more a table is quicker."""
_MANY_LANES = 1 << 18
"""The positions of this many or more are not kept: new memory for them takes longer than looking them up."""


STEP_POINTS = 1 << 10
"""The points of an op on whole arrays that count as one step of the run."""


class Run:
    """The state of one execution: the frame on top of the stack, the table of poison origins, and the steps left.

    ``lanes``: in a batch, the running lanes; else None. ``outside``: runs ops and functions that the program does not
    define. ``kept``: data that ops keep for the whole run, such as the memory of globals. ``tries``: True if the
    executor runs a function to find out whether machine code saves time. ``draws``: the random bits of stochastic
    rounding; None without it.
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
        """Call a function that cannot run in lanes; in a batch, once for each lane."""
        return function(self, operands)

    def charge(self, op: Operation, points: int) -> None:
        """Count the points of an op on whole arrays as steps. Raises LimitExceeded."""
        self.steps -= points // STEP_POINTS
        if self.steps < 0:
            raise self.out_of_steps(op)

    def out_of_steps(self, op: Operation) -> OutOfSteps:
        """Return the error of a run that would execute more ops than it may. The error names ``op`` and its place."""
        return OutOfSteps(
            f"the program ran more than {self.settings.max_steps} ops",
            location=op.location,
            op=op.name,
            hint="raise the limit with max_steps (--max-steps)",
        )


# --- races ------------------------------------------------------------------------------------------------------------
#
# Races: two iterations of a parallel loop that write one element with different bits.
#
# Iterations run one after the other. A log notes, for each element, the first iteration that wrote it; a second one may
# write the same bits again. What an iteration reads of what another wrote is not reported.

_WATCHED = "memory with a log of writes"

View = Callable[[npt.NDArray[Any]], npt.NDArray[Any]]


class Writes:
    """A log of the writes in one run of a loop: for each element of an array, the first iteration that wrote it.

    ``ranges``: the values of the induction variables. `iteration` is the number of the current iteration, in row-major
    order. ``outer``: the log of the loop around it.
    """

    __slots__ = ("_first", "_op", "_ranges", "iteration", "outer")

    def __init__(self, op: Operation, ranges: Sequence[range], shape: tuple[int, ...], outer: Writes | None) -> None:
        self.outer = outer
        self.iteration = 0
        self._op = op
        self._ranges = ranges
        self._first = np.full(shape, -1, np.int64)

    def note(self, view: View, index: Any, differs: Any) -> None:
        """Record that the current iteration writes the elements ``view(array)[index]`` of an array.

        ``differs``: a mask of the elements whose bits change. Raises UndefinedBehavior for a race.
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
    """Begin to log the writes of a loop to the memory of some buffers. Return the memory with its logs."""
    found: dict[int, tuple[Allocation, Writes]] = {}
    for buffer in buffers:
        if isinstance(buffer, Buffer) and id(buffer.allocation) not in found:
            memory = buffer.allocation
            outer = memory.log if isinstance(memory.log, Writes) else None
            memory.log = writes = Writes(op, ranges, (len(memory),), outer)
            found[id(memory)] = memory, writes
    run.kept.setdefault(_WATCHED, []).extend(memory for memory, _ in found.values())
    return list(found.values())


def end_logs(watched_memory: Watched) -> None:
    """End the logs of a loop; the logs of the loop around it continue."""
    for memory, writes in watched_memory:
        memory.log = writes.outer


def forget(run: Run) -> None:
    """End all logs of a run, which an error may have stopped inside a loop."""
    for memory in run.kept.pop(_WATCHED, ()):
        memory.log = None


def memory_used(op: Operation) -> list[SSAValue]:
    """Return the memrefs from outside that the regions of an op use."""
    return [value for value in captured(op) if isinstance(value.type, ty.MemRefType)]


# --- reports ----------------------------------------------------------------------------------------------------------
#
# Errors of a run, completed by the op, the place and the lanes in which they happened.

Reported = TypeVar("Reported", bound=HalfulpError)


def in_lanes(error: Reported, lanes: Lanes | None, mask: Mask | None = None) -> Reported:
    """Add the lanes in which it happened to an error, and return the error. Outside of a batch it is returned
    unchanged.
    """
    if lanes is not None:
        error.lanes = lanes.offending(mask)
        error.message += f" ({_lanes_text(error.lanes, lanes)})"
    return error


def of_lanes(failed: Mapping[int, HalfulpError], lanes: Lanes) -> HalfulpError:
    """Return the error of the first lane that failed. It names all lanes that failed in the same way at the same place.

    ``failed``: the errors by the positions of their lanes, which ascend.
    """
    first = next(iter(failed.values()))
    like = [position for position, error in failed.items() if _failure(error) == _failure(first)]
    return in_lanes(first, lanes, np.isin(np.arange(len(lanes)), like))


def _failure(error: HalfulpError) -> tuple[object, ...]:
    return error.__class__, error.op, error.location


def _lanes_text(offending: npt.NDArray[np.intp], lanes: Lanes) -> str:
    return f"lane {offending[0]}; {len(offending)} of {lanes.total} lanes"


def located(error: HalfulpError, op: Operation) -> HalfulpError:
    """Add the location and the op to an error that has none, and return the error."""
    if error.location is None:
        error.location = op.location
    if error.op is None:
        error.op = op.name
    return error


# --- slots ------------------------------------------------------------------------------------------------------------
#
# Slots: the forms that values take in a frame, and how control ops read them.
#
# A slot holds a Python integer for a clean scalar (its code), a `Value` for everything else, or a `Cast` for the result
# of an unresolved conversion. In a batch a slot may hold a value over lanes (`halfulp.interp.values.lanes`); an
# integer, or a value without that axis, is the same in all lanes.


@dataclass(frozen=True, slots=True)
class Cast:
    """An unresolved result of builtin.unrealized_conversion_cast: only another cast can use it.

    ``source`` and ``source_types``: the values with which the chain of casts began. ``types``: the result types of the
    last cast; this is result number ``index``.
    """

    source: tuple[Any, ...]
    source_types: tuple[ty.Type, ...]
    types: tuple[ty.Type, ...]
    index: int


def lift(slot: Any, type_: ty.Type) -> Any:
    """Return the content of a slot as a `Value` (or buffer). Raises Unsupported for an unresolved cast."""
    if slot.__class__ is int:
        return _scalar_value(slot, type_)
    if isinstance(slot, Cast):
        raise Unsupported(unresolved(slot))
    return slot


def unresolved(cast: Cast) -> str:
    """Return the error for the use of an unresolved cast, with its types."""
    source = ", ".join(f"'{t}'" for t in cast.source_types) or "no values"
    return (
        f"the result of builtin.unrealized_conversion_cast from {source} to '{cast.types[cast.index]}' is used, "
        "and no function is registered for this pair of types"
    )


def _scalar_value(code: int, type_: ty.Type) -> Value:
    return Value(type_, ints_to_codes([code], width_of(type_), ()))


def lower(value: Any) -> Any:
    """Return a value in the form of slots: a clean scalar of a computable type as an integer, any other value
    unchanged.
    """
    if (
        isinstance(value, Value)
        and value.poison is None
        and value.open is None
        and not isinstance(value.type, ty.ShapedType)
        and value.shape == ()
    ):
        width = element_width(value.type)
        if width is not None:
            return int(value.bits) if value.bits.ndim == 0 else codes_to_ints(value.bits, width)[0]
    return value


def is_cast(value: SSAValue) -> bool:
    """Tell whether a value is the result of a conversion cast, for which a slot may hold a `Cast`."""
    owner = getattr(value, "owner", None)
    return owner is not None and owner.name == "builtin.unrealized_conversion_cast"


def listener_view(slot: Any, type_: ty.Type) -> Any:
    """Return the content of a slot for listeners: a `Value` for an integer, any other content unchanged."""
    return _scalar_value(slot, type_) if slot.__class__ is int else slot


def decided(value: Any, op: Operation) -> bool:
    """Return the condition of a control op as a bool; it is an i1 that is the same in all lanes.

    If it is poison, UndefinedBehavior is raised for every value of the setting ``on_ub``.
    """
    if value.__class__ is int:
        return bool(value)
    if value.poison is None:
        return bool(value.bits.flat[0])
    raise undecided(value, op, "condition")


def number(value: Any, type_: ty.Type, op: Operation, name: str, settings: Settings, signed: bool = True) -> int:
    """Return an integer or index operand of a control op as a number. Raises UndefinedBehavior for poison."""
    if value.__class__ is not int:
        if value.poison is not None:
            raise undecided(value, op, name)
        value = codes_to_ints(value.bits, settings.width(type_))[0]
    width = settings.width(type_)
    return int(value) - (1 << width) if signed and width and value >> (width - 1) else int(value)


def undecided(value: Value, op: Operation, name: str, lanes: Lanes | None = None) -> UndefinedBehavior:
    """Return the error for a control op whose operand ``name`` is poison. In a batch it names the lanes."""
    where = np.argwhere(value.poisoned)[0] if value.shape else ()
    report = UndefinedBehavior(
        f"{op.name}: undefined behaviour: the {name} is poison: {value.origin(*where)}",
        location=op.location,
        op=op.name,
        values=(value,),
    )
    return in_lanes(report, lanes, value.poisoned)
