"""The general way to run an elementwise op on `Value`s, with poison, undefined behaviour, unspecified elements and
lanes.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from itertools import repeat
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt

from halfulp.fp_formats.formats import Codes, Mask, codes_to_ints
from halfulp.interp.declare.declarations import Arity
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.base import Location, UnknownLoc
from halfulp.interp.ir.errors import ScaleWarning, UndefinedBehavior, spell_place
from halfulp.interp.ir.operations import Operation
from halfulp.interp.ir.types import code_layout, shape_conflict, spell_shape, width_of
from halfulp.interp.run.evaluators import Elementwise
from halfulp.interp.run.frames import Lanes, Run, in_lanes
from halfulp.interp.run.settings import OpRun, Settings
from halfulp.interp.run.stochastic import rounds_stochastically
from halfulp.interp.values.elements import apply, rearranged
from halfulp.interp.values.lanes import alike, for_elements, over_lanes, ranked, repeated
from halfulp.interp.values.spelling import spell_element
from halfulp.interp.values.value import Value
from halfulp.semantics.kernel import (
    Fault,
    FaultKind,
    Kernel,
    Open,
    Origin,
    Outcome,
    PoisonIds,
    first_place,
    select,
    spread,
    with_faults,
    zeroed,
)


class Places:
    """The names that elements of a step have in the origins of poison and in error messages.

    ``lead``: 1 if the first axis of the arrays goes over lanes, else 0.
    """

    __slots__ = ("lanes", "lead")

    def __init__(self, lanes: Lanes | None, lead: int) -> None:
        self.lanes = lanes
        self.lead = lead

    def origin(self, where: tuple[int, ...]) -> tuple[int, ...]:
        """Return the indices that name the element at ``where`` in an origin of poison."""
        if self.lanes is None:
            return where
        return (int(self.lanes.numbers[where[0] if self.lead else 0]), *where[self.lead :])

    def text(self, where: tuple[int, ...], offending: Mask) -> tuple[str, str]:
        """Return the name of the first element that ``offending`` selects, for a message, and the text of how many
        there are. In a batch it is the first one of the first lane.
        """
        lead = self.lead
        if not where[lead:]:
            return "", ""
        count = f" ({np.count_nonzero(offending[where[:lead]])} of {prod(offending.shape[lead:])} elements)"
        return f" at element {list(where[lead:])}", count

    def numbers(self) -> npt.NDArray[np.uint64] | None:
        """Return the numbers of the points of a loop, in its order; None if the elements belong to an op that runs
        once.
        """
        return None

    def complete(self, error: UndefinedBehavior, offending: Mask) -> UndefinedBehavior:
        """Add to an error the lanes in which it happened. In arrays that all lanes share, the first axis has one
        element.
        """
        by_lane = None
        if self.lead and self.lanes is not None and offending.shape[:1] == (len(self.lanes),):
            by_lane = np.asarray(offending.reshape(len(offending), -1).any(axis=1))
        return in_lanes(error, self.lanes, by_lane)


class ElementwiseStep:
    """Runs one elementwise op on `Value`s: shapes, poison, undefined behaviour, unspecified elements and lanes."""

    __slots__ = (
        "evaluator",
        "kernel",
        "marked",
        "narrow_index",
        "noticed",
        "op",
        "operand_types",
        "result_types",
        "settings",
        "shaped",
        "stochastic",
    )

    def __init__(self, op: Operation, evaluator: Elementwise, kernel: Kernel, settings: Settings) -> None:
        self.op = op
        self.evaluator = evaluator
        self.kernel = kernel
        self.settings = settings
        self.operand_types = tuple(operand.type for operand in op.operands)
        self.result_types = tuple(result.type for result in op.results)
        self.narrow_index = settings.index_width == 32
        self.marked = settings.marks_elements
        self.stochastic = settings.random is not None and rounds_stochastically(op, settings.profile)
        self.noticed = kernel.notice is None  # or users were told
        self.shaped = any(isinstance(type_, ty.ShapedType) for type_ in (*self.operand_types, *self.result_types))

    @property
    def location(self) -> Location:
        """The place that poison and errors of the op name."""
        return self.op.location

    @property
    def behalf(self) -> Operation:
        """The op that the step belongs to: its own op, unless that is a part of another op."""
        return self.op

    def run(self, run: Run, operands: tuple[Value, ...]) -> tuple[Value, ...]:
        """Return the results for these operands. Raises UndefinedBehavior."""
        lanes, lead = run.lanes, 0
        if lanes is not None and self.stochastic and not any(map(over_lanes, operands)):
            # Each lane has random bits of its own.
            operands = (repeated(operands[0], len(lanes)), *operands[1:])
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
        codes = self._aligned(operands, shape)
        if not self.noticed:
            self.notice(codes)
        kernel = self._drawing(run, shape) if self.stochastic else self.kernel
        by_scalar = self.marked and not (shape or self.stochastic)
        return self._applied(run, kernel, operands, codes, shape, None, lead, by_scalar)

    def _applied(
        self,
        run: Run,
        kernel: Kernel,
        operands: tuple[Value, ...],
        codes: tuple[Codes, ...],
        shape: tuple[int, ...],
        places: Places | None,
        lead: int = 0,
        by_scalar: bool = False,
    ) -> tuple[Value, ...]:
        """Return the results of a kernel for operands and their aligned codes; ``by_scalar``: see `_alone`."""
        found = apply(kernel, codes, [value.poison for value in operands], shape, self._alone if by_scalar else None)
        ids, codes = found.poison, found.operands
        if found.faults:
            ids = self.with_faults(run, operands, shape, ids, found.faults, places or Places(run.lanes, lead))
        marks = self._marks(kernel, operands, codes, found.results, shape, ids) if self.marked else repeat(None)
        return tuple(
            self._result(ranked(type_, shape[lead:]) if lead else type_, bits, ids, mark, run)
            for type_, bits, mark in zip(self.result_types, found.results, marks, strict=False)
        )

    def _alone(self, *codes: Codes) -> Outcome:
        """Return the outcome of the kernel's `scalar` implementation, which is quicker for scalars. It is not used if
        there is a fault, or codes have more than 64 bits. Kernels that cannot be described may have tables, which are
        quicker still.
        """
        layouts = [code_layout(ty.element_type(type_)) for type_ in self.result_types]
        if self.kernel.words is None or any(each.ndim for each in codes) or any(trailing for _, trailing in layouts):
            return self.kernel.array(*codes)
        found = self.kernel.scalar(*[code.item() for code in codes])
        if isinstance(found, Fault):
            return self.kernel.array(*codes)
        results = found if isinstance(found, tuple) else (found,)
        return Outcome(tuple([np.array(each, dtype) for each, (dtype, _) in zip(results, layouts, strict=True)]))

    def _drawing(self, run: Run, shape: tuple[int, ...]) -> Kernel:
        """Return the kernel that rounds by the next random bits of the run."""
        assert run.draws is not None
        return run.draws.kernel(self.op, self.behalf, shape, self.settings.profile, run.lanes)

    def notice(self, codes: tuple[Codes, ...]) -> None:
        """Warn users, once, if the op treats these operands in a way that they may not expect."""
        assert self.kernel.notice is not None
        text = self.kernel.notice(*codes)
        if text is not None:
            self.noticed = True
            warnings.warn(ScaleWarning(f"{self.op.name}: {text}", self.location), stacklevel=2)

    def _over_lanes(self, operands: tuple[Value, ...]) -> tuple[Value, ...]:
        """Return all operands over lanes; a scalar, or a tensor without dimensions that may stand for one, is repeated
        for all elements of its lane.
        """
        operands = alike(*operands)
        scalars = self.evaluator.may_be_scalar
        shapes = [
            value.shape
            for index, value in enumerate(operands)
            if index not in scalars and isinstance(value.type, ty.ShapedType)
        ]
        shape = shapes[0] if shapes else next(v.shape for v in operands if isinstance(v.type, ty.ShapedType))
        return tuple(
            for_elements(value, shape)
            if not isinstance(value.type, ty.ShapedType) or (index in scalars and value.ndim == 1)
            else value
            for index, value in enumerate(operands)
        )

    def _result(self, type_: ty.Type, bits: Codes, ids: PoisonIds | None, open_: Any, run: Run) -> Value:
        if self.narrow_index and isinstance(ty.element_type(type_), ty.IndexType):
            bits = bits.astype(np.uint64)  # an index is stored in 64 bits also where it wraps at 32
        if ids is not None:
            bits = zeroed(bits, ids)
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

    def _aligned(self, operands: tuple[Value, ...], shape: tuple[int, ...]) -> tuple[Codes, ...]:
        """Return the codes. Those of a scalar that stands for all elements get the axes of the others."""
        return tuple(
            value.bits if value.shape == shape else value.bits.reshape((1,) * len(shape) + value.bits.shape)
            for value in operands
        )

    def with_faults(
        self,
        run: Run,
        operands: tuple[Value, ...],
        shape: tuple[int, ...],
        ids: PoisonIds | None,
        faults: tuple[tuple[Fault, Mask], ...],
        places: Places,
    ) -> PoisonIds | None:
        """Return the poison of the results, as ids, after faults were added. Raises UndefinedBehavior for a fault of
        that kind.
        """
        spoiling: list[tuple[str, Mask]] = []
        undefined: list[tuple[Fault, Mask]] = []
        for fault, mask in faults:
            mask = np.broadcast_to(mask, shape)
            if fault.kind is FaultKind.POISON:
                spoiling.append((fault.reason, mask))
                continue
            undefined.append((fault, mask))
        if undefined:
            report = self._report(operands, undefined, places)
            if self.settings.on_ub == "raise":
                raise report
            for listener in self.settings.listeners:
                listener.undefined_behavior(self.op, report)
            spoiling += [(f"undefined behaviour: {fault.reason}", mask) for fault, mask in undefined]

        def born(reason: str, fresh: Mask) -> int:
            origin = Origin(self.op.name, spell_place(self.location), reason, places.origin(first_place(fresh)))
            for listener in self.settings.listeners:
                listener.poison_born(self.op, origin, int(np.count_nonzero(fresh)))
            return run.origins.id_of(origin)

        return with_faults(ids, spoiling, shape, born)

    def _report(
        self, operands: tuple[Value, ...], undefined: Sequence[tuple[Fault, Mask]], places: Places
    ) -> UndefinedBehavior:
        together = np.logical_or.reduce([mask for _, mask in undefined])
        where = first_place(together)
        reason = next(fault.reason for fault, mask in undefined if mask[where])
        values = []
        for value, name in zip(operands, _operand_names(self.op), strict=False):
            # An axis of one element stands for all.
            index = tuple([min(k, size - 1) for k, size in zip(where, value.shape, strict=False)])
            values.append(f"{name} = {_element_text(value, index)}")
        at, count = places.text(where, together)
        report = UndefinedBehavior(
            f"{self.op.name}: undefined behaviour: {reason}{at}: {', '.join(values)}{count}",
            location=self.location,
            op=self.op.name,
            values=values,
        )
        return places.complete(report, together)

    def _marks(
        self,
        kernel: Kernel,
        operands: tuple[Value, ...],
        codes: tuple[Codes, ...],
        results: tuple[Codes, ...],
        shape: tuple[int, ...],
        ids: PoisonIds | None,
    ) -> Sequence[Any]:
        """Return, for each result, the marks of its elements: those of unspecified elements, or those of a recorder."""
        recorder = self.settings.recorder
        if recorder is None:
            return (self.opened(operands, codes, results, shape),) * len(results)
        made = self.op, self.behalf, kernel, self.location, results
        return recorder.record(OpRun(operands, codes, shape, ids, *made))

    def opened(
        self,
        operands: tuple[Value, ...],
        codes: tuple[Codes, ...],
        results: tuple[Codes, ...],
        shape: tuple[int, ...],
    ) -> Any:
        """Return the marks of the elements that the language leaves unspecified; None if there are none."""
        mask: npt.NDArray[np.uint8] | None = None
        if self.kernel.open is not None:
            mask = self.kernel.open(codes, results)
        for value in operands:
            if value.open is not None and value.open.any():
                # An unspecified operand may have any value, so the result may be the result for any of these.
                spread = np.where(value.open != 0, np.uint8(Open.VALUE.value), np.uint8(0))
                mask = spread if mask is None else mask | spread
        return mask if mask is None or mask.shape == shape else np.broadcast_to(mask, shape)


def _operand_names(op: Operation) -> list[str]:
    """Name the operands of an elementwise op. If the last declared operand stands for several, number these."""
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
    return spell_element(element, codes_to_ints(value.bits[index].reshape(-1), width_of(element))[0])


def _undefined(op: Operation, message: str, run: Run) -> UndefinedBehavior:
    return in_lanes(UndefinedBehavior(message, location=op.location, op=op.name), run.lanes)


# --- points -----------------------------------------------------------------------------------------------------------
#
# Elementwise ops for all points of an iteration space at once.
#
# A value of a body is an array with an axis for each dimension of the space, of size 1 along a dimension that it does
# not depend on. So what is computed from one operand alone is computed once for each of its elements, not for each
# point.


class Points(Places):
    """The names of points in a part of an iteration space. A point is named by its indices.

    ``axes``: for each axis of the arrays after the axis over lanes, the dimension of the space and its indices in this
    part. ``fixed``: the indices in the other dimensions. ``sizes``: the sizes of the space.
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
        """Return the names for arrays that have no axis for some dimensions. ``fixed``: pairs of such a dimension and
        the index in it.
        """
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
        """Return the indices that name a point in an origin of poison."""
        point = self._point(where)
        return (
            point if self.lanes is None else (int(self.lanes.numbers[where[0] if self.lead and where else 0]), *point)
        )

    def text(self, where: tuple[int, ...], offending: Mask) -> tuple[str, str]:
        """Return the name of the first point with an error, for a message."""
        return f" at iteration {list(self._point(where))}", ""


class PointwiseStep(ElementwiseStep):
    """Runs one elementwise op for the points of a part of an iteration space.

    ``around``: the op whose body it belongs to; errors of an op without a place name the place of that op. ``turn``:
    the number of this op among the ops of the body that take random bits, and how many of these there are.
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

    new = (1,) * (len(shape) - rank)
    return rearranged(
        value, lambda array: np.broadcast_to(array.reshape(new + array.shape), shape + array.shape[rank:])
    )


def _of_rank(value: Value, rank: int) -> Value:
    """Return a value with more leading axes of size 1."""
    new = (1,) * (rank - value.ndim)
    return rearranged(value, lambda array: array.reshape(new + array.shape))


def chosen_marks(settings: Settings, condition: Value, yes: Value, no: Value) -> Any:
    """Return the marks of elements that a condition chooses from values of one shape; None if there are none."""
    if not settings.marks_elements or condition.open is yes.open is no.open is None:
        return None
    clean = next(arm.open for arm in (yes, no, condition) if arm.open is not None).dtype.type(0)
    mask = select(
        condition.bits,
        np.broadcast_to(clean if yes.open is None else yes.open, yes.shape),
        np.broadcast_to(clean if no.open is None else no.open, no.shape),
    )
    if settings.track_open and condition.open is not None:  # the chosen arm is unspecified
        mask = mask | np.where(spread(condition.open, mask.ndim) != 0, np.uint8(Open.VALUE.value), clean)
    return mask
