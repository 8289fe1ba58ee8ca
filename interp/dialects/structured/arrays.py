"""The evaluation of structured ops on whole arrays.

The dimensions of the iteration space have two kinds: a reduction is a dimension that some init does not have; all
others are parallel. The parallel dimensions are divided into blocks. All points of a block are computed at once. Along
reductions, their accumulators are combined with one point after the other, in the order of the loops. Values that do
not depend on the accumulators are computed before, for many of these points at once. So a constant number of arrays of
a bounded size is enough memory.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import product
from math import prod
from typing import Any, NamedTuple

import numpy as np

from halfulp.interp.dialects.structured.body import Body, Part, Step, Values
from halfulp.interp.dialects.structured.space import Block, Space, View, blocks, checked_sizes
from halfulp.interp.dialects.structured.structure import Structure, is_point
from halfulp.interp.ir import attributes as at
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.affine_expressions import AffineConstant, Dimension
from halfulp.interp.ir.operations import Operation
from halfulp.interp.ir.types import code_layout
from halfulp.interp.run.elementwise import Points, broadcast
from halfulp.interp.run.evaluators import Compiler
from halfulp.interp.run.folding import Fold
from halfulp.interp.run.folding import part as part_of
from halfulp.interp.run.frames import STEP_POINTS, Run
from halfulp.interp.run.settings import Settings, check_allocation
from halfulp.interp.values.lanes import over_lanes
from halfulp.interp.values.value import Value

# --- scalars ----------------------------------------------------------------------------------------------------------
#
# Reductions of few lanes on Python integers: the ops that depend on the accumulators, one point after the other.
#
# An op on an array of a few elements takes as long as one on thousands.

LANES = 16
"""Up to so many lanes, this is faster than arrays."""

Compute = Callable[..., Any]


class Scalars:
    """The steps of a body that depend on accumulators, as functions of codes."""

    def __init__(self, body: Body, inputs: int) -> None:
        self._steps = [(_scalar(step), step.operands, step.results[0]) for step in body.bound]
        self._yields = body.yields
        self._inputs = inputs

    @classmethod
    def of(cls, body: Body, inputs: int) -> Scalars | None:
        """Return the steps; None if one of them has no such function."""
        return cls(body, inputs) if all(_scalar(step) is not None for step in body.bound) else None

    def run(self, totals: dict[int, int], rows: dict[int, Sequence[int]], count: int) -> dict[int, int] | None:
        """Return the accumulators of one lane after all rows; None if an op fails.

        ``totals``: the accumulators, by number. ``rows``: for each value that the steps read, the codes of all points.
        """
        env = dict(totals)
        steps, moves = self._steps, [(number, self._yields[number - self._inputs]) for number in totals]
        columns = list(rows.items())
        for row in range(count):
            for number, codes in columns:
                env[number] = codes[row]
            for compute, operands, result in steps:
                assert compute is not None
                code = compute(*[env[number] for number in operands])
                if code.__class__ is not int:
                    return None
                env[result] = code
            for (number, _), code in zip(moves, [env[source] for _, source in moves], strict=True):
                env[number] = code
        return {number: env[number] for number in totals}


def _scalar(step: Step) -> Compute | None:
    types = step.op.types
    if len(step.results) != 1 or not all(map(is_plain, types)):
        return None
    if step.op.name in ("arith.select", "stablehlo.select"):
        return lambda condition, yes, no: yes if condition else no
    return None if step.pointwise is None else step.pointwise.kernel.scalar


def is_plain(type_: ty.Type) -> bool:
    """Tell whether one word holds a code of a type."""
    element = ty.element_type(type_) if is_point(type_) else type_
    return isinstance(element, ty.IntegerType | ty.IndexType | ty.FloatType) and not code_layout(element)[1]


def columns(value: Value, lanes: int) -> list[list[int]]:
    """Return the codes of an array [n, lanes] as lists, one list for each lane."""
    flat = np.ascontiguousarray(value.bits.reshape(-1, lanes).T)
    found: list[list[int]] = flat.tolist()
    return found


# --- arrays -----------------------------------------------------------------------------------------------------------

ONE_BLOCK = 1 << 22  # points up to which a space without reductions is one block
AT_ONCE = 1 << 20  # points of a block of a space with reductions
USUAL = 1 << 6
"""The bytes of the values of one point, up to which blocks have this size."""
MOST_DIMENSIONS = 60
"""NumPy's limit of 64 axes, less those over lanes and of one element."""


class Plan(NamedTuple):
    """The dimensions of a space by their use.

    ``full``: for each init, True if every point writes a different element; otherwise the points along ``reductions``
    share an element.
    """

    reductions: tuple[int, ...]
    parallel: tuple[int, ...]
    full: tuple[bool, ...]


def plan_of(structure: Structure) -> Plan | None:
    """Return the plan for running an op on arrays; None if its inits are written in a way that the plan does not
    cover.
    """
    rank = len(structure.iterators)
    if rank > MOST_DIMENSIONS:
        return None
    missing: set[int] = set()
    full = []
    for init, map_ in zip(structure.inits, structure.maps[len(structure.inputs) :], strict=True):
        dimensions = [expr.position for expr in map_.results if isinstance(expr, Dimension)]
        if len(set(dimensions)) + len(_single_axes(map_, init.type)) != len(map_.results):
            return None
        absent = set(range(rank)).difference(dimensions)
        full.append(not absent)
        if absent and missing and absent != missing:
            return None
        missing |= absent
    return Plan(tuple(sorted(missing)), tuple([d for d in range(rank) if d not in missing]), tuple(full))


def _single_axes(map_: at.AffineMapAttr, type_: ty.Type) -> list[int]:
    """Return the axes of size 1 of an operand whose index is the constant 0."""
    sizes = ty.shape_of(type_) or ()
    zeros = enumerate(zip(map_.results, sizes, strict=False))
    return [axis for axis, (expr, size) in zeros if isinstance(expr, AffineConstant) and expr.value == 0 and size == 1]


class OnArrays:
    """A structured op that is compiled to run on arrays.

    Raises Unsupported for a body with ops that cannot be run.
    """

    def __init__(self, op: Operation, structure: Structure, plan: Plan, compiler: Compiler) -> None:
        self._op = op
        self._structure = structure
        self._plan = plan
        self._settings: Settings = compiler.settings
        inputs = len(structure.inputs)
        self._inits = range(inputs, inputs + len(structure.inits))
        self._reduced = [number for number, full in zip(self._inits, plan.full, strict=True) if not full]
        self.body = Body(op, structure, self._reduced, compiler)
        self._fold = self._simple_fold()
        written = [number for number, full in zip(self.body.yields, plan.full, strict=True) if full]
        alone = self.body.dependent.isdisjoint(written)
        words = all(is_plain(structure.arguments[number].type) for number in self._reduced)
        plain = alone and words and not self._settings.marks_elements and not self.body.drawing
        self._scalars = Scalars.of(self.body, inputs) if plain else None
        self._elements = [argument.type for argument in structure.arguments]

    def _simple_fold(self) -> Fold | None:
        """Return the fold by one op, if nothing else depends on the accumulator."""
        body = self.body
        if len(self._reduced) != 1 or len(body.bound) != 1:
            return None
        (accumulator,), (step,) = self._reduced, body.bound
        yielded = body.yields[accumulator - len(self._structure.inputs)]
        others = [number for number, full in zip(body.yields, self._plan.full, strict=True) if full]
        if step.pointwise is None or step.results != (yielded,) or yielded in others or len(step.operands) != 2:
            return None
        if step.operands.count(accumulator) != 1 or accumulator in others:
            return None
        types = set(step.op.types)
        if len(types) != 1:
            return None
        order = self._settings.profile.reduction_order
        return Fold(step.pointwise, step.operands[1] == accumulator, order)

    def run(self, run: Run, operands: Sequence[Value], outside: Sequence[Value]) -> list[Value]:
        """Return the new values of the inits. ``operands``: the values of the operands; a scalar has no axes.
        ``outside``: the values from outside that the body uses, in the order of `Body.outside`.

        Raises UndefinedBehavior and LimitExceeded.
        """
        return _Execution(self, run, operands, outside).results()


class _Execution:
    """One execution of a structured op."""

    def __init__(self, compiled: OnArrays, run: Run, operands: Sequence[Value], outside: Sequence[Value]) -> None:
        self._compiled = compiled
        self._run = run
        self._operands = operands
        self._body = compiled.body
        self._plan = compiled._plan
        structure = compiled._structure
        self._maps = structure.maps
        lanes = next((value.shape[0] for value in (*operands, *outside) if over_lanes(value)), 0)
        shapes = [value.shape[1:] if over_lanes(value) else value.shape for value in operands]
        sizes = checked_sizes(compiled._op, self._maps, shapes, run.lanes)
        plan = self._plan
        self._space = Space(sizes, plan.reductions + plan.parallel, lanes)
        self._parallel = Space(sizes, plan.parallel, lanes)
        self._inits = compiled._inits
        self._shapes = shapes
        steps = len(self._body.free) + len(self._body.bound) + 1
        run.charge(compiled._op, steps * (prod(sizes) * max(1, lanes) + STEP_POINTS))
        self._views = {
            number: View(value, map_, self._parallel if number in compiled._reduced else self._space)
            for number, (value, map_) in enumerate(zip(operands, self._maps, strict=True))
            if number in self._body.used
        }
        self._template: Values = [None] * self._body.size
        rank = self._space.lead + len(sizes)
        for number, value in self._body.constants:
            self._template[number] = value
        self._template_at_point = self._template.copy()
        for (_, number, type_), value in zip(self._body.outside, outside, strict=True):
            in_lanes = is_point(type_) and over_lanes(value)
            self._template[number] = _over_space(value, rank) if in_lanes else value
            # One point of the reductions has the axes of the parallel dimensions only.
            fewer = self._parallel.lead + len(plan.parallel)
            self._template_at_point[number] = _over_space(value, fewer) if in_lanes else value

    def results(self) -> list[Value]:
        """Compute all blocks."""
        sizes, plan, lanes = self._space.sizes, self._plan, max(1, self._space.lanes)
        parallel = [sizes[d] for d in plan.parallel]
        reduced = [sizes[d] for d in plan.reductions]
        outs = [_Out(self, number) for number in self._inits]
        fold = self._compiled._fold
        # Larger elements, or more values at a time, make smaller blocks.
        lanes *= max(1, self._body.weight // USUAL)
        if not plan.reductions:
            most, along = ONE_BLOCK // lanes, 1
        elif fold is not None and fold.needs_all:
            along = max(1, prod(reduced))
            check_allocation(self._compiled._elements[-1], (along,), self._run.settings)
            most = AT_ONCE // along // lanes
        else:
            most = AT_ONCE // lanes
            along = max(1, AT_ONCE // min(max(1, prod(parallel)), max(1, most)) // lanes)
        for block in blocks(parallel, max(1, most)):
            if plan.reductions:
                self._reduce(block, list(blocks(reduced, along)) if 0 not in reduced else [], outs)
            else:
                values = self._computed(block)
                for out, number in zip(outs, self._body.yields, strict=True):
                    out.put(block, values[number])
        if self._body.drawing:
            assert self._run.draws is not None
            self._run.draws.pass_points(self._body.drawing, self._compiled._op, prod(sizes))
        return [out.result() for out in outs]

    def _computed(self, block: Block) -> Values:
        """Run the steps that do not depend on accumulators for a block of the whole space."""
        part = self._part(self._space, block)
        values = self._template.copy()
        for number, view in self._views.items():
            if number not in self._compiled._reduced:
                values[number] = view.block(block)
        chain = self._body.chain
        if chain is None or not chain.at_once(values):
            self._steps(self._body.free, values, part)
        return values

    def _steps(self, steps: Sequence[Step], values: Values, part: Part) -> None:
        run = self._run
        for step in steps:
            results = step.compute(run, values, part)
            for number, value in zip(step.results, results, strict=True):
                values[number] = value
            for number in step.dying:
                values[number] = None

    def _part(self, space: Space, block: Block, fixed: Sequence[tuple[int, int]] = ()) -> Part:
        axes = list(zip(space.order, block, strict=True))
        return Part(space, block, Points(self._run.lanes, space.lead, axes, fixed, space.sizes))

    # --- reductions ---

    def _reduce(self, block: Block, along: Sequence[Block], outs: Sequence[_Out]) -> None:
        """Compute a block of the parallel dimensions, along the reductions."""
        compiled, fold = self._compiled, self._compiled._fold
        inputs = len(compiled._structure.inputs)
        totals: Values = [None] * self._body.size
        for number in compiled._reduced:
            view = self._views.get(number)
            totals[number] = None if view is None else view.block(block)
            if not along and view is None:
                map_ = self._maps[number]
                totals[number] = View(self._operands[number], map_, self._parallel).block(block)
        for ranges in along:
            whole = (*ranges, *block)
            values = self._computed(whole)
            if fold is not None:
                (number,) = compiled._reduced
                totals[number] = self._folded(fold, totals[number], values, block, ranges)
                self._put_full(outs, values, whole)
            elif self._in_scalars(totals, values, block, ranges):
                self._put_full(outs, values, whole)
            else:
                self._in_steps(totals, values, block, ranges, outs)
            # The next ones can take this memory.
            values.clear()
        for number in compiled._reduced:
            outs[number - inputs].put(block, totals[number])

    def _folded(self, fold: Fold, total: Value, values: Values, block: Block, ranges: Block) -> Value:
        (step,) = self._body.bound
        (accumulator,) = self._compiled._reduced
        (element,) = [number for number in step.operands if number != accumulator]
        counts = [range_.stop - range_.start for range_ in ranges]
        lead = self._space.lead
        shape = tuple([range_.stop - range_.start for range_ in block])
        lanes = (self._space.lanes,) * lead
        rows = _as_rows(values[element], counts, lead, lanes + shape)
        names = self._part(self._space, (*ranges, *block)).points
        starts = [range_.start for range_ in ranges]

        def named(number: int) -> Points:
            point = np.unravel_index(number, counts)
            fixed = [(d, start + int(k)) for d, start, k in zip(self._plan.reductions, starts, point, strict=True)]
            return names.at(fixed)

        return fold(self._run, broadcast(total, lanes + shape), rows, named)

    def _put_full(self, outs: Sequence[_Out], values: Values, whole: Block) -> None:
        for out, number, full in zip(outs, self._body.yields, self._plan.full, strict=True):
            if full:
                out.put(whole, values[number])

    def _in_scalars(self, totals: Values, values: Values, block: Block, ranges: Block) -> bool:
        """Combine the accumulators of few lanes on integers. Returns False, with nothing done, if that is not
        possible.
        """
        scalars, space, body = self._compiled._scalars, self._space, self._body
        shape = (space.lanes,) * space.lead + tuple([range_.stop - range_.start for range_ in block])
        lanes = prod(shape)
        if scalars is None or lanes > LANES:
            return False
        counts = [range_.stop - range_.start for range_ in ranges]
        reduced = self._compiled._reduced
        wanted = {number for step in body.bound for number in step.operands}
        wanted |= {body.yields[number - self._inits.start] for number in reduced}
        rows = {number: values[number] for number in sorted(wanted - body.dependent)}
        first = {number: totals[number] for number in reduced}
        if any(value is None or value.poison is not None for value in (*rows.values(), *first.values())):
            return False
        codes = {number: columns(_as_rows(value, counts, space.lead, shape), lanes) for number, value in rows.items()}
        start = {number: broadcast(value, shape).bits.reshape(-1).tolist() for number, value in first.items()}
        results = [
            scalars.run(
                {number: each[lane] for number, each in start.items()},
                {number: each[lane] for number, each in codes.items()},
                prod(counts),
            )
            for lane in range(lanes)
        ]
        if None in results:
            return False
        for number, value in first.items():
            ends = [result[number] for result in results if result is not None]
            totals[number] = Value(value.type, np.array(ends, value.bits.dtype).reshape(shape))
        return True

    def _in_steps(self, totals: Values, values: Values, block: Block, ranges: Block, outs: Sequence[_Out]) -> None:
        """Combine the accumulators with one point after the other, by all ops that depend on the accumulators."""
        body, plan, lead = self._body, self._plan, self._space.lead
        reduced = self._compiled._reduced
        inputs = len(self._compiled._structure.inputs)
        wanted = {number for step in body.bound for number in step.operands} | set(body.yields)
        outside = {number for _, number, _ in body.outside} | {number for number, _ in body.constants}
        free = [n for n in wanted if n not in body.dependent and n not in outside and values[n] is not None]
        for point in product(*(range(range_.start, range_.stop) for range_ in ranges)):
            fixed = list(zip(plan.reductions, point, strict=True))
            index = tuple([k - range_.start for k, range_ in zip(point, ranges, strict=True)])
            now: Values = self._template_at_point.copy()
            for number in free:
                now[number] = _at(values[number], index, lead)
            for number in reduced:
                now[number] = totals[number]
            self._steps(body.bound, now, self._part(self._parallel, block, fixed))
            here = tuple([slice(k, k + 1) for k in point]) + block
            for out, number, full in zip(outs, body.yields, plan.full, strict=True):
                if full:
                    out.put(here, _with_axes(now[number], len(index), lead))
            for number in reduced:
                totals[number] = now[body.yields[number - inputs]]


class _Out:
    """An init that is being written: codes, poison and unspecified elements in the order of the space's axes."""

    def __init__(self, execution: _Execution, number: int) -> None:
        compiled = execution._compiled
        self._execution = execution
        self._init = execution._operands[number]
        self._run = execution._run
        self._element = compiled._elements[number]
        full = compiled._plan.full[number - compiled._inits.start]
        space = execution._space if full else execution._parallel
        map_ = execution._maps[number]
        self._order = [expr.position for expr in map_.results if isinstance(expr, Dimension)]
        self._single = [axis for axis, expr in enumerate(map_.results) if not isinstance(expr, Dimension)]
        self._space = space
        self._lanes = (space.lanes,) * space.lead
        self._shape = self._lanes + tuple([space.sizes[d] for d in space.order])
        self._type = self._init.type
        self._value: Value | None = None
        self._bits: Any = None
        self._poison: Any = None
        self._open: Any = None

    def put(self, block: Block, value: Value) -> None:
        """Write a block; the value is broadcast to its shape."""
        lead = self._space.lead
        shape = self._lanes + tuple([range_.stop - range_.start for range_ in block])
        value = broadcast(value, shape)
        if shape == self._shape:
            self._value = value
            return
        if self._bits is None:
            check_allocation(self._type, self._shape, self._run.settings)
            self._bits = np.empty(self._shape + value.bits.shape[len(shape) :], value.bits.dtype)
        where = (slice(None),) * lead + block
        self._bits[where] = value.bits
        self._poison = _put(self._poison, self._shape, where, value.poison)
        self._open = _put(self._open, self._shape, where, value.open)

    def result(self) -> Value:
        """Return the new value of the init."""
        value = self._value
        if value is None and self._bits is None:
            return self._init  # there was no point
        arrays = (self._bits, self._poison, self._open) if value is None else (value.bits, value.poison, value.open)
        lead, order = self._space.lead, list(self._space.order)
        axes = [*range(lead), *(lead + order.index(d) for d in self._order)]

        def moved(array: Any) -> Any:
            if array is None:
                return None
            ordered = array.transpose(*axes, *range(len(axes), array.ndim))
            return np.expand_dims(ordered, [lead + axis for axis in self._single]) if self._single else ordered

        bits, poison, open_ = map(moved, arrays)
        if poison is not None and not poison.any():
            poison = None
        return Value(self._type, bits, poison, open_, None if poison is None else self._run.origins)


def _put(array: Any, shape: tuple[int, ...], where: tuple[slice, ...], part: Any) -> Any:
    if part is None:
        if array is not None:
            array[where] = 0
        return array
    if array is None:
        array = np.zeros(shape, part.dtype)
    array[where] = part
    return array


def _over_space(value: Value, rank: int) -> Value:
    """Return the scalars of all lanes with an axis for each dimension of the space."""

    def shaped(array: Any) -> Any:
        return None if array is None else array.reshape(len(array), *(1,) * (rank - 1), *array.shape[1:])

    poison = None if value.poison is None else shaped(value.poison)
    return Value(value.type, shaped(value.bits), poison, shaped(value.open), value.origins)


def _as_rows(value: Value, counts: Sequence[int], lead: int, lanes: tuple[int, ...]) -> Value:
    """Return a value over reductions and parallel dimensions as [n, lanes]."""
    shape = (*lanes[:lead], *counts, *lanes[lead:])
    full = broadcast(value, shape)
    rows = len(counts)

    def moved(array: Any) -> Any:
        if array is None:
            return None
        if lead:
            array = np.moveaxis(array, 0, rows)
        return array.reshape(prod(counts), *array.shape[rows:])

    return Value(value.type, moved(full.bits), moved(full.poison), moved(full.open), value.origins)


def _at(value: Value, index: tuple[int, ...], lead: int) -> Value:
    """Return the elements of a value at one point of the reductions."""
    if value.ndim == 0:
        return value
    place = (slice(None),) * lead + tuple(
        [min(k, size - 1) for k, size in zip(index, value.shape[lead:], strict=False)]
    )
    return part_of(value, place)


def _with_axes(value: Value, count: int, lead: int) -> Value:
    """Return a value over the parallel dimensions with an axis of size 1 for each reduction."""
    if value.ndim == 0:
        return value
    return part_of(value, (slice(None),) * lead + (np.newaxis,) * count)
