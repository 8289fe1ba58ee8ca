"""The body of a structured op, compiled to run for all points of a block of the iteration space at once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any, NamedTuple

import numpy as np

from halfulp.interp.dialects.structured.space import Block, Space
from halfulp.interp.dialects.structured.structure import Structure, is_point
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.operations import Operation, SSAValue, undefined
from halfulp.interp.ir.types import code_layout, spell_shape
from halfulp.interp.run.chains import SHORTEST, Chain, can_join_as_scalars
from halfulp.interp.run.elementwise import Points, PointwiseStep, broadcast
from halfulp.interp.run.evaluators import Compiler, Constant, Elementwise, evaluator_of
from halfulp.interp.run.frames import Run, lift
from halfulp.interp.run.settings import Settings
from halfulp.interp.values.lanes import over_lanes
from halfulp.interp.values.value import Value
from halfulp.semantics.kernel import first_place

Values = list[Any]
"""The values of a body, by their numbers; None for one that is not computed yet, or not needed any more."""


class Part(NamedTuple):
    """The part of the space for which a body runs: its block, and the names of its points."""

    space: Space
    block: Block
    points: Points


Compute = Callable[[Run, Values, Part], tuple[Value, ...]]


class Step(NamedTuple):
    """One op of a body: the numbers of its operands and results, and of the values that are not needed after it."""

    op: Operation
    compute: Compute
    operands: tuple[int, ...]
    results: tuple[int, ...]
    dying: tuple[int, ...]
    pointwise: PointwiseStep | None


def runs_on_arrays(structure: Structure) -> bool:
    """Tell whether every op of a body can run for many points at once."""
    if not all(is_point(argument.type) for argument in structure.arguments):
        return False
    return all(_runs(op) for op in structure.block.operations[:-1])


def _runs(op: Operation) -> bool:
    evaluator = evaluator_of(op)
    if op.name == "tensor.extract" or isinstance(evaluator, Constant):
        return True
    points = all(is_point(value.type) for value in (*op.operands, *op.results))
    return points and (op.name in _OTHERS or isinstance(evaluator, Elementwise))


class Body:
    """The compiled body of a structured op. Its values have numbers: first those of the block's arguments.

    ``outside``: the slots, numbers and types of values from outside that the body uses. ``yields``: the numbers of the
    values that it yields. ``free``: the steps that do not depend on accumulators; ``chain``: the same as one loop, if
    that is possible. ``bound``: the steps that depend on accumulators. ``drawing``: the ops that take random bits.
    """

    def __init__(self, op: Operation, structure: Structure, accumulators: Sequence[int], compiler: Compiler) -> None:
        self._numbers: dict[SSAValue, int] = {}
        self.outside: list[tuple[int, int, ty.Type]] = []
        self.constants: list[tuple[int, Value]] = []
        block = structure.block
        for argument in structure.arguments:
            self._number(argument)
        steps = [self._step(op, each, compiler) for each in block.operations[:-1]]
        self.yields = tuple([self._used(value, compiler) for value in block.operations[-1].operands])
        self.size = len(self._numbers)
        drawing = [s.pointwise for s in steps if s is not None and s.pointwise is not None and s.pointwise.stochastic]
        for number, pointwise in enumerate(drawing):
            pointwise.turn = number, len(drawing)
        self.drawing = tuple([pointwise.op for pointwise in drawing])
        dependent = set(accumulators)
        free: list[Step] = []
        bound: list[Step] = []
        for step in steps:
            if step is None:
                continue
            if dependent.intersection(step.operands):
                dependent.update(step.results)
                bound.append(step)
            else:
                free.append(step)
        self.dependent = frozenset(dependent)
        kept = {*self.yields, *(number for number, _ in self.constants), *(number for _, number, _ in self.outside)}
        needed = {number for step in bound for number in step.operands}
        self.free = _with_deaths(free, kept | needed)
        self.bound = _with_deaths(bound, kept)
        self.chain = self._chain(kept | needed, compiler.settings)
        self.weight = _weight((*self.free, *self.bound), structure.arguments)
        self.used = frozenset(number for step in (*free, *bound) for number in step.operands) | set(self.yields)

    def _chain(self, kept: set[int], settings: Settings) -> Chain | None:
        """Return the free steps as one loop, which computes what is kept; None if some step cannot be part of it."""
        ops = [(step.op, step.pointwise.kernel) for step in self.free if step.pointwise is not None]
        joins = all(kernel.words is not None and can_join_as_scalars(op, settings) for op, kernel in ops)
        if len(ops) < SHORTEST or len(ops) < len(self.free) or not joins:
            return None
        return Chain(ops, lambda value: self._numbers[value] in kept, self._numbers.__getitem__, ())

    def _number(self, value: SSAValue) -> int:
        return self._numbers.setdefault(value, len(self._numbers))

    def _used(self, value: SSAValue, compiler: Compiler) -> int:
        """Return the number of an operand; an operand that the body does not make comes from outside."""
        known = self._numbers.get(value)
        if known is None:
            known = self._number(value)
            self.outside.append((compiler.slot(value), known, value.type))
        return known

    def _step(self, around: Operation, op: Operation, compiler: Compiler) -> Step | None:
        evaluator = evaluator_of(op)
        if isinstance(evaluator, Constant):
            value = lift(evaluator.build(op, compiler), op.results[0].type)
            self.constants.append((self._number(op.results[0]), value))
            return None
        operands = tuple([self._used(value, compiler) for value in op.operands])
        pointwise = None
        if op.name in _OTHERS:
            compute = _OTHERS[op.name](op, operands, compiler.settings)
        else:
            kernel = compiler.kernel(op, evaluator)
            pointwise = PointwiseStep(op, evaluator, kernel, compiler.settings, around)
            compute = _elementwise(pointwise, operands)
        results = tuple([self._number(value) for value in op.results])
        return Step(op, compute, operands, results, (), pointwise)


def _with_deaths(steps: Sequence[Step], kept: set[int]) -> list[Step]:
    """Note after which step each value is no longer needed."""
    seen = set(kept)
    found = []
    for step in reversed(steps):
        dying = [number for number in dict.fromkeys((*step.operands, *step.results)) if number not in seen]
        seen.update(dying)
        found.append(step._replace(dying=tuple(dying)))
    return found[::-1]


def _weight(steps: Sequence[Step], arguments: Sequence[SSAValue]) -> int:
    """Return the largest number of bytes that the values of one point take at the same time."""
    held = most = sum(_bytes(argument.type) for argument in arguments)
    sizes: dict[int, int] = {}
    for step in steps:
        for number, result in zip(step.results, step.op.results, strict=True):
            sizes[number] = _bytes(result.type)
            held += sizes[number]
        most = max(most, held)
        held -= sum(sizes.get(number, 0) for number in step.dying)
    return most


def _bytes(type_: ty.Type) -> int:
    dtype, trailing = code_layout(ty.element_type(type_))
    return dtype.itemsize * prod(trailing)


def _elementwise(step: PointwiseStep, operands: tuple[int, ...]) -> Compute:
    def compute(run: Run, values: Values, part: Part) -> tuple[Value, ...]:
        return step.run_at(run, [values[number] for number in operands], part.points)

    return compute


# --- other ops --------------------------------------------------------------------------------------------------------


def _index(op: Operation, operands: tuple[int, ...], settings: Settings) -> Compute:
    dimension = op.number("dim")

    def compute(run: Run, values: Values, part: Part) -> tuple[Value, ...]:
        space, block, _ = part
        axis = space.order.index(dimension)
        shape = [1] * (space.lead + len(space.order))
        shape[space.lead + axis] = -1
        range_ = block[axis]
        return (Value(ty.INDEX, np.arange(range_.start, range_.stop, dtype=np.uint64).reshape(shape)),)

    return compute


def _extract(op: Operation, operands: tuple[int, ...], settings: Settings) -> Compute:
    """Return the function that runs tensor.extract at the indices of all points."""
    whole, *indices = operands
    type_ = op.results[0].type

    def compute(run: Run, values: Values, part: Part) -> tuple[Value, ...]:
        source: Value = values[whole]
        over = over_lanes(source)
        shape = source.shape[1:] if over else source.shape
        places: list[Any] = []
        for axis, number in enumerate(indices):
            index: Value = values[number]
            if index.poison is not None:
                where = first_place(index.poison != 0)
                at_point, _ = part.points.text(where, index.poisoned)
                error = undefined(op, f"an index is poison{at_point}: {index.origin(*where)}")
                raise part.points.complete(error, index.poisoned)
            outside = index.bits >= np.uint64(shape[axis])
            if outside.any():
                outside = np.broadcast_to(outside, np.broadcast_shapes(*(values[each].shape for each in indices)))
                where = first_place(outside)
                point = [_signed_at(values[each], where, settings.index_width) for each in indices]
                raise part.points.complete(
                    undefined(
                        op,
                        f"index {point} is outside the shape {spell_shape(shape)}{part.points.text(where, outside)[0]}",
                    ),
                    outside,
                )
            places.append(index.bits.astype(np.intp))
        if over and not indices:  # it has an axis for each dimension already, as all points have
            return (Value(type_, source.bits, source.poison, source.open, source.origins),)
        rank = part.space.lead + len(part.space.order)
        if over:
            places.insert(0, np.arange(source.shape[0]).reshape(-1, *(1,) * (rank - 1)))

        def taken(array: Any) -> Any:
            if array is None:
                return None
            found = array[tuple(places)]
            return found if places else found.reshape((1,) * rank + found.shape)

        poison = taken(source.poison)
        if poison is not None and not poison.any():
            poison = None
        return (Value(type_, taken(source.bits), poison, taken(source.open), source.origins),)

    return compute


def _signed_at(value: Value, where: tuple[int, ...], width: int) -> int:
    place = tuple([min(k, size - 1) for k, size in zip(where, value.shape, strict=False)])
    code = int(value.bits[place])
    return code - (1 << width) if code >> (width - 1) else code


def _whole(op: Operation, operands: tuple[int, ...], settings: Settings) -> Compute:
    """Return the function that runs an op that is not a kernel, on operands of one shape."""
    function = evaluator_of(op).build(op, settings)

    def compute(run: Run, values: Values, part: Part) -> tuple[Value, ...]:
        given: list[Value] = [values[number] for number in operands]
        shape = np.broadcast_shapes(*[value.shape for value in given])
        results: tuple[Value, ...] = function(run, tuple([broadcast(value, shape) for value in given]))
        return results

    return compute


_OTHERS: dict[str, Callable[[Operation, tuple[int, ...], Settings], Compute]] = {
    "arith.select": _whole,
    "linalg.index": _index,
    "stablehlo.select": _whole,
    "tensor.extract": _extract,
    "ub.poison": _whole,
}
