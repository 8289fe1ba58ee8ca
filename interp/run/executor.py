"""Runs a function: every block compiled once to a list of steps, an explicit stack of frames, limits and events.

A step is a closure over slot numbers that reads and writes the slots of a frame. A slot holds a Python integer for a
clean scalar (its code), a `Value` for everything else, or a `Cast` for the result of an unresolved conversion. Where a
scalar step meets anything but integers, or its kernel reports a fault, the same op runs by the general path on
`Value`s, which knows about poison, undefined behaviour, openness and lanes; so the fast path needs to know of none of
these.

Slot 0 of each frame holds the `Run`: what belongs to one execution, so that compiled code can be shared between
threads.

An op's declaration names one of four evaluators: `Constant`, `Elementwise`, `Pure` or `Control`.

In a batch a slot may hold a value over lanes: a `Value` whose arrays have one more leading axis than its type, with an
entry for each running lane. A value without it, or an integer, is the same in all lanes. `halfulp.interp.run.batch`
compiles and schedules such code.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from math import prod
from operator import itemgetter
from typing import Any, TypeVar
from weakref import WeakKeyDictionary

import numpy as np
import numpy.typing as npt

from halfulp.fp_formats.codes import codes_to_ints, ints_to_codes
from halfulp.fp_formats.paths import cpu
from halfulp.interp.declare.declarations import Arity
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.errors import (
    HalfulpError,
    LimitExceeded,
    TypeMismatch,
    UndefinedBehavior,
    Unsupported,
    spell_place,
)
from halfulp.interp.ir.operations import Block, BlockArgument, Module, Operation, OpResult, Region, SSAValue
from halfulp.interp.run.events import Listener
from halfulp.interp.run.function_attributes import settings_of
from halfulp.interp.run.gc_pause import paused_collector
from halfulp.interp.values.buffers import Buffer, to_argument
from halfulp.interp.values.spelling import spell_element
from halfulp.interp.values.value import (
    Value,
    alike,
    code_layout,
    concrete,
    element_width,
    narrowed_index,
    over_lanes,
    shape_conflict,
    shape_problem,
    spell_shape,
)
from halfulp.semantics.kernel import Codes, Fault, FaultKind, Kernel, Mask, Open
from halfulp.semantics.poison import Origin, Origins, PoisonIds
from halfulp.semantics.profile import SPEC, Profile

Slots = list[Any]
Step = Callable[[Slots], None]
External = Callable[..., Any]
Caster = Callable[..., Any]
Reported = TypeVar("Reported", bound=HalfulpError)
Given = TypeVar("Given", Value, Buffer, Value | Buffer)
Function = Callable[["Run", tuple[Any, ...]], tuple[Any, ...]]
"""What an op on whole values computes: results from operands."""
Action = Callable[["Frame"], "Segment | None"]
"""What a control op does in a frame: the segment that goes on there; None where another frame does, `Run.frame`."""
Yield = Callable[[Sequence[int]], Action]
"""Makes the action of a region's terminator, which is up to the op around the region, from its operands' slots."""


@dataclass(frozen=True, slots=True)
class Limits:
    """Bounds of one run: ops executed, frames on the stack, bytes of one constant or result."""

    steps: int = 10_000_000
    depth: int = 1_000
    bytes: int = 1 << 28


@dataclass(frozen=True)
class Settings:
    """Everything a run depends on besides module and arguments.

    ``on_ub``: "raise", or "poison" to make only the offending elements poison. ``index_width``: 64 or 32. ``vscale``:
    the multiple of scalable vectors. ``track_open``: keep the masks of elements that the language leaves open.
    ``externals``: Python functions for declarations, by symbol name; ``casts``: functions for
    builtin.unrealized_conversion_cast, by the spelling of operand and result types. ``write``: where vector.print
    prints. ``mma``: the model of tile operations, one of `matrix_units.models.MODELS`. ``swizzle``: "hint", or
    "physical" where iree_codegen.swizzle_hint moves elements in memory.
    ``check_hints``: whether iree_codegen.index_hint looks in a batch at whether its claim about the lanes holds.
    """

    profile: Profile = SPEC
    on_ub: str = "raise"
    index_width: int = 64
    vscale: int | None = None
    track_open: bool = False
    limits: Limits = Limits()
    listeners: tuple[Listener, ...] = ()
    externals: Mapping[str, External] = field(default_factory=dict)
    casts: Mapping[tuple[tuple[str, ...], tuple[str, ...]], Caster] = field(default_factory=dict)
    write: Callable[[str], object] = lambda text: sys.stdout.write(text)
    mma: str = "exact"
    swizzle: str = "hint"
    check_hints: bool = False

    def __post_init__(self) -> None:
        if self.on_ub not in ("raise", "poison"):
            raise ValueError(f"on_ub is {self.on_ub!r}, but must be 'raise' or 'poison'")
        if self.index_width not in (32, 64):
            raise ValueError(f"index_width is {self.index_width!r}, but must be 32 or 64")
        if self.swizzle not in ("hint", "physical"):
            raise ValueError(f"swizzle is {self.swizzle!r}, but must be 'hint' or 'physical'")
        if self.mma != "exact":
            from halfulp.semantics.matrix_units.models import MODELS

            if self.mma not in MODELS:
                raise ValueError(f"mma is {self.mma!r}, but must be one of {', '.join(MODELS)}")

    def width(self, element: ty.Type) -> int:
        """Bits of an element's value: an index wraps at ``index_width``."""
        if isinstance(element, ty.IndexType):
            return self.index_width
        width = element_width(element)
        if width is None:
            raise Unsupported(f"values of type '{element}' are carried, not computed with")
        return width

    def accepted(self, value: Given, what: str) -> Given:
        """A value from outside as the program sees it: an index is narrowed where it wraps at 32 bits; in a buffer, for
        all who use it.
        """
        if self.index_width == 64 or not isinstance(ty.element_type(value.type), ty.IndexType):
            return value
        if isinstance(value, Buffer):
            value.store(self.accepted(value.load(), what))
            return value
        return Value(value.type, narrowed_index(value.bits, what), value.poison, value.open, value.origins)

    def _compile_key(self) -> tuple[Any, ...]:
        casts = tuple(sorted((key, id(function)) for key, function in self.casts.items()))
        sizes = (self.index_width, self.vscale, self.limits.bytes)
        choices = (self.on_ub, self.track_open, self.check_hints)
        return (self.profile, *choices, *sizes, casts, self.write, self.mma, self.swizzle)


# --- evaluators -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Constant:
    """An op with no operands whose value is known when its block is compiled."""

    build: Callable[[Operation, Compiler], Any]


@dataclass(frozen=True, slots=True, eq=False)
class Elementwise:
    """An op that does the same to every element: ``build`` makes the kernel for the op's types and attributes.

    All operands have one shape, but for those in ``may_be_scalar``, whose one element stands for all.
    """

    build: Callable[[Operation, Settings], Kernel]
    may_be_scalar: frozenset[int] = frozenset()


@dataclass(frozen=True, slots=True)
class Pure:
    """An op on whole values: ``build`` makes a function from operands to a tuple of results.

    ``raw``: the function sees what the slots hold (integers, unresolved casts) instead of `Value`s, and in a batch
    values over lanes; any other function is called lane by lane there, unless ``in_lanes`` makes one for an op that
    sees the `Value`s of all lanes that run it.
    """

    build: Callable[[Operation, Settings], Function]
    raw: bool = False
    in_lanes: Callable[[Operation, Settings], Function | None] = lambda op, settings: None


@dataclass(frozen=True, slots=True)
class Control:
    """An op that acts on frames: ``build`` makes its action.

    ``decides``: the i1 operand by which it chooses where to go on; in a batch the lanes that have it 0 part there from
    those that have it 1. ``in_lanes``: what makes its action in a batch, where that differs.
    """

    build: Callable[[Operation, Compiler], Action]
    decides: int | None = None
    in_lanes: Callable[[Operation, Any], Action] | None = None


# --- compiled code ----------------------------------------------------------------------------------------------------


class Segment:
    """A run of steps that ends in a control op, filled in when its block is compiled.

    ``arguments``: where the arguments of the block go that it begins. ``plan``: what a batch needs to know about it
    (`halfulp.interp.run.batch.Plan`).
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
    """Some lanes of a batch: their numbers, ascending, and the number of all lanes of the batch."""

    __slots__ = ("numbers", "total")

    def __init__(self, numbers: npt.NDArray[np.intp], total: int) -> None:
        self.numbers = numbers
        self.total = total

    def __len__(self) -> int:
        return len(self.numbers)

    def subset(self, positions: npt.NDArray[np.intp]) -> Lanes:
        """The lanes at these positions, which ascend."""
        return Lanes(self.numbers[positions], self.total)

    def positions(self, others: Lanes) -> npt.NDArray[np.intp]:
        """Where ``others``, all of which are among these, have their places."""
        if len(self) == self.total:
            return others.numbers
        if len(others) < _FEW_LANES:
            return np.searchsorted(self.numbers, others.numbers)
        places = np.empty(self.total, np.intp)
        places[self.numbers] = np.arange(len(self))
        return places[others.numbers]

    def offending(self, mask: Mask | None = None) -> npt.NDArray[np.intp]:
        """The numbers of the lanes in a mask over these; of all these where the mask is None or of rank 0."""
        return self.numbers if mask is None or not mask.ndim else self.numbers[mask]


_FEW_LANES = 4096
"""So many are looked up by bisection; for more of them a table is quicker."""


class Run:
    """What belongs to one execution: the frame on top of the stack, the table of poison origins, and what is left of
    the limits. ``lanes``: in a batch, those that are running; else None.
    """

    __slots__ = ("frame", "lanes", "origins", "program", "results", "settings", "steps")

    def __init__(self, program: Program, lanes: Lanes | None = None) -> None:
        self.program = program
        self.settings = program.settings
        self.origins = Origins()
        self.lanes = lanes
        self.steps = program.settings.limits.steps
        self.results: tuple[Any, ...] = ()
        self.frame: Frame | None = None

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
        """The results of a user's function, called ``source`` in errors; in a batch it is called for each lane."""
        return host_values(function(*values), types, source, self.settings)

    def out_of_steps(self, op: Operation) -> LimitExceeded:
        """The error of a run that would execute more ops than it may, the first of them just before ``op``."""
        return LimitExceeded(
            f"the program ran more than {self.settings.limits.steps} ops",
            location=op.location,
            op=op.name,
            hint="raise the limit with max_steps (--max-steps)",
        )


@dataclass(frozen=True, slots=True)
class Cast:
    """A result of builtin.unrealized_conversion_cast nobody has resolved: only another cast can use it.

    ``source`` and ``source_types``: the values the chain of casts began with. ``types``: what the last cast made of
    them; this is number ``index`` of those.
    """

    source: tuple[Any, ...]
    source_types: tuple[ty.Type, ...]
    types: tuple[ty.Type, ...]
    index: int


def lift(slot: Any, type_: ty.Type) -> Any:
    """What a slot holds as a `Value` (or buffer). Raises Unsupported for an unresolved cast."""
    if slot.__class__ is int:
        return _scalar_value(slot, type_)
    if isinstance(slot, Cast):
        raise Unsupported(_unresolved(slot))
    return slot


def _unresolved(cast: Cast) -> str:
    source = ", ".join(f"'{t}'" for t in cast.source_types) or "no values"
    return (
        f"the result of builtin.unrealized_conversion_cast from {source} to '{cast.types[cast.index]}' is used, "
        "and no function is registered for this pair of types"
    )


def _scalar_value(code: int, type_: ty.Type) -> Value:
    width = element_width(type_)
    assert width is not None
    return Value(type_, ints_to_codes([code], width, ()))


def lower(value: Any) -> Any:
    """The form a slot holds: a clean scalar of a computable type as an integer, anything else as it is."""
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


def decided(value: Any, op: Operation) -> bool:
    """The i1 that a control op decides by, the same in all lanes. Raises UndefinedBehavior for poison, whatever
    ``on_ub`` says.
    """
    if value.__class__ is int:
        return bool(value)
    if value.poison is None:
        return bool(value.bits.flat[0])
    raise undecided(value, op, "condition")


def number(value: Any, type_: ty.Type, op: Operation, name: str, settings: Settings, signed: bool = True) -> int:
    """An integer or index operand of a control op as a number. Raises UndefinedBehavior for poison."""
    if value.__class__ is not int:
        if value.poison is not None:
            raise undecided(value, op, name)
        value = codes_to_ints(value.bits, settings.width(type_))[0]
    width = settings.width(type_)
    return int(value) - (1 << width) if signed and width and value >> (width - 1) else int(value)


def undecided(value: Value, op: Operation, name: str, lanes: Lanes | None = None) -> UndefinedBehavior:
    """The report of a control op whose operand ``name`` is poison, in some of the lanes where there are any."""
    where = np.argwhere(value.poisoned)[0] if value.shape else ()
    report = UndefinedBehavior(
        f"{op.name}: undefined behaviour: the {name} is poison: {value.origin(*where)}",
        location=op.location,
        op=op.name,
        values=(value,),
    )
    return in_lanes(report, lanes, value.poisoned)


def in_lanes(error: Reported, lanes: Lanes | None, mask: Mask | None = None) -> Reported:
    """An error that says in which lanes it happened; unchanged outside of a batch."""
    if lanes is not None:
        error.lanes = lanes.offending(mask)
        error.message += f" ({_lanes_text(error.lanes, lanes)})"
    return error


def _lanes_text(offending: npt.NDArray[np.intp], lanes: Lanes) -> str:
    return f"lane {offending[0]}; {len(offending)} of {lanes.total} lanes"


# --- the general path of an elementwise op ----------------------------------------------------------------------------


class ElementwiseStep:
    """Runs one elementwise op on `Value`s: shapes, poison, undefined behaviour, openness and lanes."""

    __slots__ = ("evaluator", "kernel", "narrow_index", "op", "operand_types", "result_types", "settings", "shaped")

    def __init__(self, op: Operation, evaluator: Elementwise, kernel: Kernel, settings: Settings) -> None:
        self.op = op
        self.evaluator = evaluator
        self.kernel = kernel
        self.settings = settings
        self.operand_types = tuple(operand.type for operand in op.operands)
        self.result_types = tuple(result.type for result in op.results)
        self.narrow_index = settings.index_width == 32
        self.shaped = any(isinstance(type_, ty.ShapedType) for type_ in (*self.operand_types, *self.result_types))

    def run(self, run: Run, operands: tuple[Value, ...]) -> tuple[Value, ...]:
        """The results for these operands. Raises UndefinedBehavior."""
        lanes, lead = run.lanes, 0
        if lanes is not None and self.shaped and any(map(over_lanes, operands)):
            operands, lead = self._over_lanes(operands), 1
        shape = self._common_shape(run, lead, operands)
        if self.shaped:
            for type_ in self.result_types:
                conflict = shape_conflict(type_, shape[lead:], self.settings.vscale)
                if conflict:
                    raise _undefined(self.op, f"{self.op.name}: {conflict}", run)
        elif lanes is not None:
            lead = len(shape)
        ids = _merged_poison(operands, shape)
        codes = tuple(value.bits for value in operands)
        if ids is not None and self.kernel.worst is not None:
            codes = self._with_worst(operands, codes)
        codes = self._aligned(operands, codes, shape)
        outcome = self.kernel.array(*codes)
        if outcome.faults:
            ids = self._with_faults(run, lead, operands, shape, ids, outcome.faults)
        open_ = self._open(operands, codes, outcome.results, shape) if self.settings.track_open else None
        return tuple(
            self._result(ranked(type_, shape[lead:]) if lead else type_, bits, ids, open_, run)
            for type_, bits in zip(self.result_types, outcome.results, strict=True)
        )

    def _over_lanes(self, operands: tuple[Value, ...]) -> tuple[Value, ...]:
        """All operands over lanes; a scalar that stands for all elements of its lane, once for each of them."""
        operands = alike(*operands)
        shape = next(value.shape for value in operands if isinstance(value.type, ty.ShapedType))
        return tuple(
            value if isinstance(value.type, ty.ShapedType) else _for_elements(value, shape) for value in operands
        )

    def _result(self, type_: ty.Type, bits: Codes, ids: PoisonIds | None, open_: Any, run: Run) -> Value:
        if self.narrow_index and isinstance(ty.element_type(type_), ty.IndexType):
            bits = bits.astype(np.uint64)  # an index is stored in 64 bits also where it wraps at 32
        if ids is not None:
            # Bits under poison mean nothing; zero keeps outputs deterministic.
            spoiled = ids != 0
            extra = (1,) * (bits.ndim - spoiled.ndim)
            bits = np.where(spoiled.reshape(spoiled.shape + extra), bits.dtype.type(0), bits)
        return Value(type_, bits, ids, open_, None if ids is None else run.origins)

    def _common_shape(self, run: Run, lead: int, operands: tuple[Value, ...]) -> tuple[int, ...]:
        mixed = run.lanes is not None and not self.shaped
        shape: tuple[int, ...] | None = None
        for index, value in enumerate(operands):
            own = value.shape
            if shape is None and index not in self.evaluator.may_be_scalar:
                shape = own
            elif shape is not None and own != shape:
                if own == () and (index in self.evaluator.may_be_scalar or mixed):
                    continue
                if shape == () and mixed:
                    shape = own
                    continue
                shapes = " and ".join(f"'{spell_shape(v.shape[lead:])}'" for v in operands)
                raise _undefined(self.op, f"{self.op.name}: operands have different shapes at run time: {shapes}", run)
        if shape is None:
            return operands[0].shape if operands else ()
        return shape

    def _aligned(
        self, operands: tuple[Value, ...], codes: tuple[Codes, ...], shape: tuple[int, ...]
    ) -> tuple[Codes, ...]:
        """Give a scalar that stands for all elements the axes of the others, so that NumPy repeats it."""
        return tuple(
            bits if value.shape == shape else bits.reshape((1,) * len(shape) + bits.shape)
            for value, bits in zip(operands, codes, strict=True)
        )

    def _with_worst(self, operands: tuple[Value, ...], codes: tuple[Codes, ...]) -> tuple[Codes, ...]:
        """Poison may be any value: put the one in its place for which the op is undefined if it is for any."""
        assert self.kernel.worst is not None
        replaced = []
        for value, bits, worst, type_ in zip(operands, codes, self.kernel.worst, self.operand_types, strict=True):
            if value.poison is not None:
                width = element_width(ty.element_type(type_))
                assert width is not None
                spoiled = value.poisoned
                spoiled = spoiled.reshape(spoiled.shape + (1,) * (bits.ndim - spoiled.ndim))
                bits = np.where(spoiled, ints_to_codes([worst], width, ()), bits)
            replaced.append(bits)
        return tuple(replaced)

    def _with_faults(
        self,
        run: Run,
        lead: int,
        operands: tuple[Value, ...],
        shape: tuple[int, ...],
        ids: PoisonIds | None,
        faults: tuple[tuple[Fault, Mask], ...],
    ) -> PoisonIds | None:
        spoiling: list[tuple[str, Mask]] = []
        undefined: list[tuple[Fault, Mask]] = []
        for fault, mask in faults:
            mask = np.broadcast_to(mask, shape)
            if fault.kind is FaultKind.POISON:
                spoiling.append((fault.reason, mask))
                continue
            undefined.append((fault, mask))
        if undefined:
            report = self._report(run.lanes, lead, operands, shape, undefined)
            if self.settings.on_ub == "raise":
                raise report
            for listener in self.settings.listeners:
                listener.undefined_behavior(self.op, report)
            spoiling += [(f"undefined behaviour: {fault.reason}", mask) for fault, mask in undefined]
        return self._spoil(run, lead, shape, ids, spoiling)

    def _spoil(
        self,
        run: Run,
        lead: int,
        shape: tuple[int, ...],
        ids: PoisonIds | None,
        spoiling: Sequence[tuple[str, Mask]],
    ) -> PoisonIds | None:
        merged = np.zeros(shape, np.uint16) if ids is None else ids.copy()
        for reason, mask in spoiling:
            fresh = mask & (merged == 0)
            count = int(np.count_nonzero(fresh))
            if count:
                first = _first(fresh)
                if run.lanes is not None:
                    first = int(run.lanes.numbers[first[0] if lead else 0]), *first[lead:]
                origin = Origin(self.op.name, spell_place(self.op.location), reason, first)
                merged[fresh] = run.origins.id_of(origin)
                for listener in self.settings.listeners:
                    listener.poison_born(self.op, origin, count)
        return merged if merged.any() else None

    def _report(
        self,
        lanes: Lanes | None,
        lead: int,
        operands: tuple[Value, ...],
        shape: tuple[int, ...],
        undefined: Sequence[tuple[Fault, Mask]],
    ) -> UndefinedBehavior:
        together = np.logical_or.reduce([mask for _, mask in undefined])
        where = _first(together)
        reason = next(fault.reason for fault, mask in undefined if mask[where])
        values = []
        for value, name in zip(operands, _operand_names(self.op), strict=False):
            index = where if value.shape == shape else ()
            values.append(f"{name} = {_element_text(value, index)}")
        at = count = ""
        if where[lead:]:  # of the first lane, where there are any
            at = f" at element {list(where[lead:])}"
            count = f" ({np.count_nonzero(together[where[:lead]])} of {prod(shape[lead:])} elements)"
        report = UndefinedBehavior(
            f"{self.op.name}: undefined behaviour: {reason}{at}: {', '.join(values)}{count}",
            location=self.op.location,
            op=self.op.name,
            values=values,
        )
        return in_lanes(report, lanes, together.reshape(len(together), -1).any(axis=1) if lead else None)

    def _open(
        self,
        operands: tuple[Value, ...],
        codes: tuple[Codes, ...],
        results: tuple[Codes, ...],
        shape: tuple[int, ...],
    ) -> Any:
        mask: npt.NDArray[np.uint8] | None = None
        if self.kernel.open is not None:
            mask = self.kernel.open(codes, results)
        for value in operands:
            if value.open is not None and value.open.any():
                # A result that follows from an open operand may be anything that follows from any of its values.
                spread = np.where(value.open != 0, np.uint8(Open.VALUE.value), np.uint8(0))
                mask = spread if mask is None else mask | spread
        return mask if mask is None or mask.shape == shape else np.broadcast_to(mask, shape)


def ranked(type_: ty.Type, shape: tuple[int, ...]) -> ty.Type:
    """The type of a value over lanes, each of which has this shape: an unranked one would not show the lanes."""
    return type_ if ty.shape_of(type_) is not None else ty.TensorType((None,) * len(shape), ty.element_type(type_))


def _for_elements(value: Value, shape: tuple[int, ...]) -> Value:
    """A scalar over lanes as one for each element of values over lanes, which have this shape."""

    def repeated(array: npt.NDArray[Any] | None, trailing: tuple[int, ...]) -> Any:
        if array is None:
            return None
        return np.broadcast_to(array.reshape(len(array), *(1,) * (len(shape) - 1), *trailing), shape + trailing)

    bits = repeated(value.bits, value.bits.shape[1:])
    return Value(value.type, bits, repeated(value.poison, ()), repeated(value.open, ()), value.origins)


def _operand_names(op: Operation) -> list[str]:
    """What to call the operands of an elementwise op, of which the last declared may stand for any number."""
    names = [slot.name for slot in op.definition.operands] if op.definition else []
    rest = len(op.operands) - len(names)
    if op.definition and op.definition.operands and op.definition.operands[-1].arity is not Arity.ONE:
        last = names.pop()
        names += [f"{last}[{index}]" for index in range(rest + 1)]
    return names


def _element_text(value: Value, index: tuple[int, ...]) -> str:
    if value.poison is not None and value.poison[index]:
        return "poison"
    element = value.element_type
    width = element_width(element)
    assert width is not None
    return spell_element(element, codes_to_ints(value.bits[index].reshape(-1), width)[0])


def _first(mask: Mask) -> tuple[int, ...]:
    return tuple(int(k) for k in np.unravel_index(int(np.argmax(mask)), mask.shape)) if mask.ndim else ()


def _merged_poison(operands: tuple[Value, ...], shape: tuple[int, ...]) -> PoisonIds | None:
    merged: PoisonIds | None = None
    for value in operands:
        if value.poison is not None:
            merged = value.poison if merged is None else np.maximum(merged, value.poison)
    if merged is not None and merged.shape != shape:
        merged = np.broadcast_to(merged, shape)
    return merged


def _undefined(op: Operation, message: str, run: Run) -> UndefinedBehavior:
    return in_lanes(UndefinedBehavior(message, location=op.location, op=op.name), run.lanes)


# --- compiling --------------------------------------------------------------------------------------------------------


class Compiler:
    """Compiles one function to slots and steps. Control ops use it to find slots, blocks and other functions.

    ``one_at_a_time``: no frame waits for another in the middle of a function, so that what a branch or a call has
    taken from a slot need not stay there.
    """

    one_at_a_time = True

    def __init__(self, program: Program, function: Operation) -> None:
        self.program = program
        self.settings = settings_of(function, program.settings)
        self._kernels = program.kernels.setdefault(self.settings.profile, {})
        self.function = function
        self._slots: dict[SSAValue, int] = {}
        self._template: Slots = [None]
        self._blocks: dict[Block, Segment] = {}
        self._dying = self._last_uses()
        self._after = Segment()
        self.on_yield: Yield | None = None
        self.new_frame: type[Frame] = Frame
        self.code_of = program.function

    def large(self, type_: ty.Type) -> bool:
        """Whether a value of this type may hold so much memory that it is let go after its last use."""
        return isinstance(type_, ty.ShapedType)

    def _home(self, value: SSAValue) -> Block | None:
        """The block whose ops may let a value go: that of its op; of an argument, one of the function's own blocks."""
        if isinstance(value, OpResult):
            return value.owner.parent
        if not self.one_at_a_time or not isinstance(value, BlockArgument):
            return None
        return value.block if value.block.parent is self.function.regions[0] else None

    def _last_uses(self) -> dict[Operation, list[SSAValue]]:
        """By op: the large values that nothing needs after it.

        What an op with regions uses, or an op of another block, is kept, and so is a constant: nothing would compute it
        again in a loop.
        """
        last: dict[SSAValue, Operation | None] = {}
        for op in self.function.walk():
            evaluator = None if op.definition is None else op.definition.evaluate
            control = isinstance(evaluator, Control)
            stays = control and (op.regions or not self.one_at_a_time)
            passed_to = {id(argument) for block, _ in op.successors for argument in block.arguments}
            for value in (*op.operands, *(value for _, passed in op.successors for value in passed)):
                if self.large(value.type):
                    here = not stays and self._home(value) is op.parent and id(value) not in passed_to
                    here = here and last.get(value, op) is not None
                    last[value] = op if here else None
            for result in () if control else op.results:
                if self.large(result.type):
                    last.setdefault(result, None if isinstance(evaluator, Constant) else op)
        dying: dict[Operation, list[SSAValue]] = {}
        for value, final in last.items():
            if final is not None:
                dying.setdefault(final, []).append(value)
        return dying

    def slot(self, value: SSAValue) -> int:
        """The slot of a value."""
        slot = self._slots.get(value)
        if slot is None:
            slot = self._slots[value] = len(self._template)
            self._template.append(None)
        return slot

    def slots(self, values: Sequence[SSAValue]) -> tuple[int, ...]:
        """The slots of several values."""
        return tuple([self.slot(value) for value in values])

    def block(self, block: Block) -> Segment:
        """Where a block of this function begins; it may not be filled in yet while compiling."""
        code = self._blocks.get(block)
        if code is None:
            code = self._blocks[block] = Segment(self.slots(block.arguments))
        return code

    def after(self) -> Segment:
        """What follows the control op being compiled in its block."""
        return self._after

    def hidden_slot(self) -> int:
        """A slot of a control op's own, for what it keeps between visits."""
        self._template.append(None)
        return len(self._template) - 1

    def compile(self) -> FunctionCode:
        """The whole function."""
        return FunctionCode(self.function, self._template, self.region(self.function.regions[0]))

    def region(self, region: Region, on_yield: Yield | None = None) -> Segment:
        """Compile the blocks of a region; its entry. ``on_yield``: what becomes of the operands of its terminators."""
        outer, self.on_yield = self.on_yield, on_yield
        for block in region.blocks:
            self._fill(block, self.block(block))
        self.on_yield = outer
        return self.block(region.blocks[0])

    def resume(self, op: Operation) -> Yield:
        """What ends ``op``, the control op with regions being compiled: its results, then the place after it."""
        after, results = self._after, self.slots(op.results)
        types, listeners = [result.type for result in op.results], self.settings.listeners

        def tell(slots: Slots) -> None:
            values = [seen(slots[slot], type_) for slot, type_ in zip(results, types, strict=True)]
            for listener in listeners:
                listener.op_did_run(op, (), values)

        return lambda sources: passing((*moves(sources, results), *((tell,) if listeners else ())), after)

    def leaving(self, operands: tuple[int, ...]) -> Action:
        """The action of func.return: the caller goes on, with these slots as the results of its call."""

        def return_(frame: Frame) -> None:
            slots = frame.slots
            run: Run = slots[0]
            parent = run.frame = frame.parent
            if parent is None:
                run.results = tuple([slots[slot] for slot in operands])
                return
            if operands:
                values = parent.slots
                for slot, operand in zip(frame.results, operands, strict=True):
                    values[slot] = slots[operand]

        return return_

    def _fill(self, block: Block, segment: Segment) -> None:
        """The steps of a block, cut at its control ops."""
        outer = self._after
        steps: list[Step] = []
        cost = begin = 0
        for index, op in enumerate(block.operations):
            cost += 1
            evaluator = None if op.definition is None else op.definition.evaluate
            if isinstance(evaluator, Control):
                after = self._after = Segment()
                segment.op, segment.steps, segment.cost = op, tuple(steps), cost
                segment.control = self._control(op, evaluator)
                self._cut(segment, block.operations[begin:index], op, after)
                segment = after
                steps, cost, begin = [], 0, index + 1
            else:
                try:
                    step = self._step(op, evaluator)
                except HalfulpError as error:
                    raise _located(error, op) from None
                if step is not None:
                    steps.append(step)
                if op in self._dying:
                    steps.append(_letting_go(self.slots(self._dying[op])))
        if cost or not block.operations:
            raise Unsupported(
                "the block ends without a terminator that halfulp executes", location=self.function.location
            )
        self._after = outer

    def _cut(self, segment: Segment, before: Sequence[Operation], control: Operation, after: Segment) -> None:
        """A segment is complete: some ops, then the control op, then ``after``, where the block does not end."""

    def _control(self, op: Operation, evaluator: Control) -> Action:
        action = self._action(op, evaluator)
        used = [*op.operands, *(value for _, passed in op.successors for value in passed)]
        if any(is_cast(value) for value in used):
            action = _refusing_casts(op, self.slots(used), action)
        if self.settings.listeners:
            action = self._watched(op, action)
        if op in self._dying:
            action = _then(action, _letting_go(self.slots(self._dying[op])))
        return action

    def _action(self, op: Operation, evaluator: Control) -> Action:
        return evaluator.build(op, self)

    def _watched(self, op: Operation, action: Action) -> Action:
        """A control op's action, of which the listeners are told, and of the end of the call that it ends."""
        operands, types = self.slots(op.operands), [value.type for value in op.operands]
        watched = observed_control(op, operands, action)

        def observed(frame: Frame) -> Segment | None:
            following = watched(frame)
            call, run = frame.call, frame.slots[0]
            if following is None and run.frame is frame.parent and call is not None and call.results:
                results = [seen(frame.slots[slot], type_) for slot, type_ in zip(operands, types, strict=True)]
                for listener in run.settings.listeners:
                    listener.op_did_run(call, (), results)
            return following

        return observed

    def _step(self, op: Operation, evaluator: Any) -> Step | None:
        operands, results = self.slots(op.operands), self.slots(op.results)
        step: Step | None
        match evaluator:
            case Constant():
                value = evaluator.build(op, self)
                self._template[results[0]] = lower(value)
                step = None
            case Elementwise():
                step = self._elementwise_step(op, evaluator, operands, results)
            case Pure():
                make = raw_step if evaluator.raw else general_step
                step = make(self._function(op, evaluator), op, operands, results)
            case _:
                step = unsupported_step(op)
        if self.settings.listeners:
            step = _observed(op, operands, results, step)
        return step

    def _function(self, op: Operation, evaluator: Pure) -> Function:
        return evaluator.build(op, self.settings)

    def _elementwise_step(
        self, op: Operation, evaluator: Elementwise, operands: tuple[int, ...], results: tuple[int, ...]
    ) -> Step:
        if any(isinstance(value.type, ty.MemRefType) for value in op.operands):
            return unsupported_step(op, "halfulp does not execute it on memrefs")
        kernel = self._kernel(op, evaluator)
        values = (*op.operands, *op.results)
        slow = _GeneralPath(op, evaluator, kernel, self.settings, operands, results)
        if self.settings.track_open or any(isinstance(value.type, ty.ShapedType) for value in values):
            return slow
        return _scalar_step(kernel.scalar, operands, results, slow)

    def _kernel(self, op: Operation, evaluator: Elementwise) -> Kernel:
        # Types are compared by identity: equal ones read from one text are one object.
        types = tuple([id(value.type) for value in (*op.operands, *op.results)])
        key = (evaluator, types, tuple(op.properties.items()))
        kernel = self._kernels.get(key)
        if kernel is None:
            kernel = self._kernels[key] = evaluator.build(op, self.settings)
        return kernel


def moves(sources: Sequence[int], targets: Sequence[int]) -> tuple[Step, ...]:
    """The steps, one or none, that copy some slots to others, all at once."""
    pairs = [(source, target) for source, target in zip(sources, targets, strict=True) if source != target]
    if not pairs:
        return ()
    if len(pairs) == 1:
        ((source, target),) = pairs

        def move_one(slots: Slots) -> None:
            slots[target] = slots[source]

        return (move_one,)
    read = itemgetter(*(source for source, _ in pairs))
    written = [target for _, target in pairs]

    def move(slots: Slots) -> None:
        for slot, value in zip(written, read(slots), strict=True):
            slots[slot] = value

    return (move,)


def _letting_go(dead: tuple[int, ...]) -> Step:
    """The step after which some slots hold nothing, so that the next result can take the memory of these."""

    def let_go(slots: Slots) -> None:
        for slot in dead:
            slots[slot] = None

    return let_go


def _then(action: Action, step: Step) -> Action:
    def both(frame: Frame) -> Segment | None:
        following = action(frame)
        step(frame.slots)
        return following

    return both


def passing(steps: Sequence[Step], target: Segment) -> Action:
    """The action that runs some steps and goes on at ``target``."""
    if not steps:
        return lambda frame: target
    if len(steps) == 1:
        (only,) = steps

        def run_one(frame: Frame) -> Segment:
            only(frame.slots)
            return target

        return run_one

    def run(frame: Frame) -> Segment:
        for step in steps:
            step(frame.slots)
        return target

    return run


def is_cast(value: SSAValue) -> bool:
    """Whether a value is the result of a conversion cast, of which a slot may hold a `Cast`."""
    owner = getattr(value, "owner", None)
    return owner is not None and owner.name == "builtin.unrealized_conversion_cast"


def _refusing_casts(op: Operation, operands: tuple[int, ...], action: Action) -> Action:
    def checked(frame: Frame) -> Segment | None:
        for slot in operands:
            if isinstance(frame.slots[slot], Cast):
                raise _located(Unsupported(_unresolved(frame.slots[slot])), op)
        return action(frame)

    return checked


def unsupported_step(op: Operation, why: str = "") -> Step:
    """A step that refuses the op when it runs."""
    known = op.definition is not None
    why = why or ("halfulp does not execute it" if known else "no dialect that is registered has it")

    def step(slots: Slots) -> None:
        raise Unsupported(f"cannot execute '{op.name}': {why}", location=op.location, op=op.name)

    return step


def _located(error: HalfulpError, op: Operation) -> HalfulpError:
    """Say where an error happened that was raised below, unless it knows already."""
    if error.location is None:
        error.location = op.location
    if error.op is None:
        error.op = op.name
    return error


class _GeneralPath:
    """The step of an elementwise op on `Value`s, made when it is first needed: most scalar ops never do."""

    __slots__ = ("_parts", "_step")

    def __init__(self, *parts: Any) -> None:
        self._parts = parts
        self._step: Step | None = None

    def __call__(self, slots: Slots) -> None:
        if self._step is None:
            op, evaluator, kernel, settings, operands, results = self._parts
            self._step = general_step(ElementwiseStep(op, evaluator, kernel, settings).run, op, operands, results)
        self._step(slots)


def general_step(function: Function, op: Operation, operands: tuple[int, ...], results: tuple[int, ...]) -> Step:
    """A step that gives the function `Value`s."""
    types = tuple(value.type for value in op.operands)

    def step(slots: Slots) -> None:
        run: Run = slots[0]
        try:
            values = tuple([lift(slots[slot], type_) for slot, type_ in zip(operands, types, strict=True)])
            produced = function(run, values)
        except HalfulpError as error:
            raise _located(error, op) from None
        for slot, value in zip(results, produced, strict=True):
            slots[slot] = lower(value)

    return step


def raw_step(function: Function, op: Operation, operands: tuple[int, ...], results: tuple[int, ...]) -> Step:
    """A step that sees what the slots hold, unresolved casts included."""

    def step(slots: Slots) -> None:
        try:
            produced = function(slots[0], tuple([slots[slot] for slot in operands]))
        except HalfulpError as error:
            raise _located(error, op) from None
        for slot, value in zip(results, produced, strict=True):
            slots[slot] = lower(value)

    return step


def _scalar_step(scalar: Callable[..., Any], operands: tuple[int, ...], results: tuple[int, ...], slow: Step) -> Step:
    """The fast path: integers in, integers out, for the common numbers of operands and results."""
    if len(results) == 1 and len(operands) == 2:
        return _binary_step(scalar, *operands, results[0], slow)
    if len(results) == 1 and len(operands) == 1:
        return _unary_step(scalar, operands[0], results[0], slow)

    def step(slots: Slots) -> None:
        codes = [slots[slot] for slot in operands]
        if all(code.__class__ is int for code in codes):
            produced = scalar(*codes)
            if produced.__class__ is tuple:
                for slot, code in zip(results, produced, strict=True):
                    slots[slot] = code
                return
            if produced.__class__ is int:
                slots[results[0]] = produced
                return
        slow(slots)

    return step


def _binary_step(scalar: Callable[..., Any], left: int, right: int, result: int, slow: Step) -> Step:
    def step(slots: Slots) -> None:
        a = slots[left]
        b = slots[right]
        if a.__class__ is int and b.__class__ is int:
            code = scalar(a, b)
            if code.__class__ is int:
                slots[result] = code
                return
        slow(slots)

    return step


def _unary_step(scalar: Callable[..., Any], operand: int, result: int, slow: Step) -> Step:
    def step(slots: Slots) -> None:
        a = slots[operand]
        if a.__class__ is int:
            code = scalar(a)
            if code.__class__ is int:
                slots[result] = code
                return
        slow(slots)

    return step


# --- events -----------------------------------------------------------------------------------------------------------


def seen(slot: Any, type_: ty.Type) -> Any:
    """What listeners see of a slot."""
    return _scalar_value(slot, type_) if slot.__class__ is int else slot


def _report_stop(op: Operation, listeners: Sequence[Listener], report: UndefinedBehavior) -> None:
    """Tell the listeners of undefined behaviour that is about to stop the run."""
    for listener in listeners:
        listener.undefined_behavior(op, report)


def _observed(op: Operation, operands: tuple[int, ...], results: tuple[int, ...], step: Step | None) -> Step:
    operand_types = [value.type for value in op.operands]
    result_types = [value.type for value in op.results]

    def observed(slots: Slots) -> None:
        listeners = slots[0].settings.listeners
        before = [seen(slots[slot], type_) for slot, type_ in zip(operands, operand_types, strict=True)]
        for listener in listeners:
            listener.op_will_run(op, before)
        if step is not None:
            try:
                step(slots)
            except UndefinedBehavior as report:
                _report_stop(op, listeners, report)
                raise
        after = [seen(slots[slot], type_) for slot, type_ in zip(results, result_types, strict=True)]
        for listener in listeners:
            listener.op_did_run(op, before, after)

    return observed


def observed_control(op: Operation, operands: tuple[int, ...], action: Action) -> Action:
    """An action of which the listeners are told: before, and, but for calls and ops with regions, after."""
    types = [value.type for value in op.operands]

    def observed(frame: Frame) -> Segment | None:
        listeners = frame.slots[0].settings.listeners
        before = [seen(frame.slots[slot], type_) for slot, type_ in zip(operands, types, strict=True)]
        for listener in listeners:
            listener.op_will_run(op, before)
        try:
            following = action(frame)
        except UndefinedBehavior as report:
            _report_stop(op, listeners, report)
            raise
        if not op.results and not op.regions:
            for listener in listeners:
                listener.op_did_run(op, before, ())
        return following

    return observed


# --- programs ---------------------------------------------------------------------------------------------------------


class Program:
    """A module compiled for one set of settings, function by function as they are first called."""

    def __init__(self, module: Module, settings: Settings) -> None:
        self.module = module
        self.settings = settings
        self.kernels: dict[Profile, dict[Any, Kernel]] = {}
        self._functions: dict[tuple[Operation, type[Compiler]], FunctionCode] = {}
        self._lock = threading.RLock()

    def function(self, op: Operation) -> FunctionCode:
        """The code of a function with a body."""
        return self.compiled(op, Compiler)

    def compiled(self, op: Operation, compiler: type[Compiler]) -> FunctionCode:
        """The code that a compiler makes of a function with a body, made once."""
        code = self._functions.get((op, compiler))
        if code is None:
            with self._lock:
                code = self._functions.get((op, compiler))
                if code is None:
                    with paused_collector():
                        code = self._functions[op, compiler] = compiler(self, op).compile()
        return code

    def run(
        self, op: Operation, arguments: Sequence[Any], lanes: int | None = None, active: Mask | None = None
    ) -> tuple[Value, ...]:
        """Call a function with `Value`s (or buffers) of its argument types; the results are `Value`s.

        ``lanes``: run a batch of so many lanes. An argument is then a `Value` of its type with one more leading axis
        of these lanes, or one without it for all lanes, and so is a result. ``active``: a mask of the lanes that run;
        the results mean nothing in the others. Raises the errors of `halfulp.interp.ir.errors`.
        """
        if lanes is None:
            run = Run(self)
            frame = Frame(self.function(op), run, None, (), None)
        else:
            from halfulp.interp.run.batch import start

            run, frame, arguments = start(self, op, arguments, lanes, active)
        for slot, value in zip(frame.segment.arguments, arguments, strict=True):
            frame.slots[slot] = lower(self._argument(run, value))
        for listener in self.settings.listeners:
            listener.run_will_start(op, arguments)
        try:
            run.execute(frame)
        except MemoryError as error:
            raise LimitExceeded("the machine has not enough memory for this program") from error
        return tuple(
            self._result(run, slot, type_, arguments) for slot, type_ in zip(run.results, result_types(op), strict=True)
        )

    def _argument(self, run: Run, value: Any) -> Any:
        if isinstance(value, Value) and value.poison is not None and value.origins is not None:
            return Value(
                value.type, value.bits, run.origins.adopt(value.poison, value.origins), value.open, run.origins
            )
        return value

    def _result(self, run: Run, slot: Any, type_: ty.Type, arguments: Sequence[Any]) -> Value:
        value = lift(slot, type_)
        if isinstance(value, Buffer):
            value = value.load()
        if isinstance(type_, ty.MemRefType):
            type_ = ty.TensorType(value.shape, type_.element)
        bits = value.bits
        if any(isinstance(a, Value) and np.may_share_memory(a.bits, bits) for a in arguments):
            bits = bits.copy()
        origins = poison = None
        if value.poison is not None:
            origins = Origins()
            poison = origins.adopt(value.poison, value.origins)
        type_ = ranked(type_, value.shape[1:]) if over_lanes(value) else concrete(type_, value.shape)
        return Value(type_, bits, poison, value.open, origins)


_programs: WeakKeyDictionary[Module, dict[tuple[Any, ...], Program]] = WeakKeyDictionary()
_programs_lock = threading.Lock()
cpu.on_change(_programs.clear)


def program_for(module: Module, settings: Settings) -> Program:
    """The module compiled for these settings, kept with the module. A module must not be changed once it has run."""
    cpu.check()
    if settings.listeners or settings.externals:
        return Program(module, settings)
    key = (settings._compile_key(), settings.limits)
    with _programs_lock:
        programs = _programs.setdefault(module, {})
        program = programs.get(key)
        if program is None:
            program = programs[key] = Program(module, settings)
        return program


def argument_types(function: Operation) -> tuple[ty.Type, ...]:
    """The argument types of a func.func, or of the region of another op that runs by itself."""
    return _function_type(function).inputs


def result_types(function: Operation) -> tuple[ty.Type, ...]:
    """The result types of a func.func, or what the region of another op yields."""
    return _function_type(function).results


def _function_type(function: Operation) -> ty.FunctionType:
    attribute = function.properties.get("function_type")
    if attribute is None:
        block = function.regions[0].blocks[0]
        arguments, yielded = block.arguments, block.operations[-1].operands
        return ty.FunctionType(tuple([value.type for value in arguments]), tuple([value.type for value in yielded]))
    type_ = getattr(attribute, "type", None)
    assert isinstance(type_, ty.FunctionType)
    return type_


def host_values(produced: Any, types: Sequence[ty.Type], source: str, settings: Settings) -> tuple[Any, ...]:
    """What a user's Python function returned, as values, or buffers, of the declared types.

    Arrays are copied, since the function may keep them. ``source`` names the function in errors. Raises TypeMismatch.
    """
    given = () if produced is None and not types else produced if isinstance(produced, tuple) else (produced,)
    if len(given) != len(types):
        raise TypeMismatch(f"{source} returned {len(given)} values; {len(types)} are declared")
    values = []
    for index, (value, type_) in enumerate(zip(given, types, strict=True)):
        what = f"result {index} of {source}"
        argument = to_argument(value, type_, what, settings.vscale, copy=True, max_bytes=settings.limits.bytes)
        values.append(settings.accepted(argument, what))
    return tuple(values)


def check_allocation(type_: ty.Type, shape: tuple[int, ...], settings: Settings) -> None:
    """Refuse a value too large to be held. Raises LimitExceeded with both numbers."""
    problem = shape_problem(shape)
    if problem:
        raise LimitExceeded(f"a value of type '{type_}' {problem}")
    dtype, trailing = code_layout(ty.element_type(type_))
    size = prod(shape) * prod(trailing) * dtype.itemsize
    if size > settings.limits.bytes:
        raise LimitExceeded(
            f"a value of type '{type_}' takes {size} bytes; the limit is {settings.limits.bytes}",
            hint="raise the limit with max_bytes (--max-bytes)",
        )
