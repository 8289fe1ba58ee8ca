"""Chains: elementwise ops on tensors that follow one another. They run as one loop of machine code as soon as that
saves time.

Intermediate results are never whole arrays. Elements that the loop refuses, such as NaNs, are computed by the kernels.
If a value is not clean, or an op has a fault, the whole chain runs op by op: so poison, errors and their order are
those of the ops.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from math import prod
from typing import Any, NamedTuple

import numpy as np

from halfulp.fp_formats.formats import Codes, Mask, ints_to_codes
from halfulp.fp_formats.paths import llvm
from halfulp.fp_formats.paths.array_loop import ArrayLoop, Plan, cost
from halfulp.fp_formats.paths.words import Implementation
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.operations import Operation, SSAValue
from halfulp.interp.ir.types import code_layout, width_of
from halfulp.interp.run.frames import Slots, Step
from halfulp.interp.run.limits import may_compile
from halfulp.interp.run.settings import Settings
from halfulp.interp.run.steps import letting_go
from halfulp.interp.values.value import Value
from halfulp.semantics import integer_kernels
from halfulp.semantics.kernel import ArrayImplementation, Fault, Kernel, Outcome

# --- links ------------------------------------------------------------------------------------------------------------


class Link(NamedTuple):
    """An op of a chain: two implementations of its kernel, the numbers of its operands among the values of the chain,
    and the bits of its results, which are the next values.
    """

    implementation: Implementation
    array: ArrayImplementation
    operands: tuple[int, ...]
    widths: tuple[int, ...]


def computed(links: Iterable[Link], values: list[Codes]) -> list[tuple[Fault, Mask]]:
    """Compute the links of a chain by their kernels. Append the results to ``values``, which begins with the inputs of
    the chain, and return the faults.
    """
    faults: list[tuple[Fault, Mask]] = []
    for link in links:
        outcome = link.array(*[values[number] for number in link.operands])
        faults += outcome.faults
        values += outcome.results
    return faults


# --- tables -----------------------------------------------------------------------------------------------------------
#
# Chains whose inputs have so few bits that one table holds the results of all ops.

_TABLE_COST = 20
"""The `cost` of an element from which a table is quicker."""


def worth(plan: Plan) -> bool:
    """Tell whether one look-up in a table is faster than the loop of a chain. A chain without outputs gets no table,
    because only its faults are needed.
    """
    bits = [width for width, splat in zip(plan.widths, plan.splats, strict=True) if not splat]
    short = len(bits) in (1, 2) and sum(bits) <= integer_kernels.MOST
    return bool(plan.outputs) and short and cost(plan) >= _TABLE_COST


def tabled(links: Sequence[Link], plan: Plan, inputs: Sequence[Codes], results: Sequence[int]) -> Plan:
    """Return a plan with one link, which looks up the results of all links of another plan. ``inputs``: the inputs that
    are splats; the table is made for their codes. ``results``: the bits of the outputs.
    """
    moving = [number for number, splat in enumerate(plan.splats) if not splat]
    fixed = {number: inputs[number].copy() for number, splat in enumerate(plan.splats) if splat}

    def array(*codes: Codes) -> Outcome:
        given = {**fixed, **dict(zip(moving, codes, strict=True))}
        values = [given[number] for number in range(len(plan.widths))]
        with np.errstate(all="ignore"):
            faults = computed(links, values)
        return Outcome(tuple([values[number] for number in plan.outputs]), tuple(faults))

    implementation = integer_kernels.described(array, [plan.widths[number] for number in moving], results)
    link = Link(implementation, array, tuple(moving), tuple(results))
    first = len(plan.widths)
    return plan._replace(links=[link], outputs=range(first, first + len(results)))


# --- chains -----------------------------------------------------------------------------------------------------------

PAYS = 1 << 22
"""The ops on elements from which machine code pays: NumPy takes as long for them as compilation does."""
TABLE_PAYS = 1 << 18
"""The elements from which a table of a whole chain pays."""
_MOST = 16
"""The loops that a chain keeps: those of tables depend on the codes of splats."""
_LARGE = 1 << 12
"""The elements from which a chain is worth a loop of its own."""
SHORTEST = 2
"""The ops from which a chain is worth a loop of its own."""


class Output(NamedTuple):
    """A value that is needed after a chain: its number, slot and type."""

    number: int
    slot: int
    type: ty.Type


class Chain:
    """Some ops that follow one another, all on values of one static shape, or on scalars over lanes or points.

    ``kept``: tells whether a value is needed after the chain. ``slot``: returns the slot of a value. ``steps``: the
    steps that compute the same, op by op.
    """

    def __init__(
        self,
        ops: Sequence[tuple[Operation, Kernel]],
        kept: Callable[[SSAValue], bool],
        slot: Callable[[SSAValue], int],
        steps: Sequence[Step],
    ) -> None:
        made = {result for op, _ in ops for result in op.results}
        inputs = list(dict.fromkeys(value for op, _ in ops for value in op.operands if value not in made))
        numbers = {value: number for number, value in enumerate(inputs)}
        self._links: list[Link] = []
        for op, kernel in ops:
            operands = tuple([numbers[value] for value in op.operands])
            for result in op.results:
                numbers[result] = len(numbers)
            assert kernel.words is not None
            widths = tuple([width_of(ty.element_type(result.type)) for result in op.results])
            self._links.append(Link(kernel.words, kernel.array, operands, widths))
        self._inputs = [slot(value) for value in inputs]
        self._widths = [width_of(ty.element_type(value.type)) for value in inputs]
        kept_values = [value for value in numbers if value in made and kept(value)]
        self._outputs = [Output(numbers[value], slot(value), value.type) for value in kept_values]
        self._steps = tuple(steps)
        shaped = isinstance(inputs[0].type, ty.ShapedType)
        self._in_lanes = bool(steps) and not shaped
        self._static = ty.static_shape(inputs[0].type) if shaped else None
        self._spent = 0
        self._loops: dict[tuple[Any, ...], ArrayLoop] = {}
        self._short: dict[tuple[bool, ...], bool] = {}
        self._looked_up: dict[tuple[bytes, ...], int] = {}

    def __call__(self, slots: Slots) -> None:
        """Run the chain."""
        if not self.at_once(slots):
            for step in self._steps:
                step(slots)

    def at_once(self, slots: Slots) -> bool:
        """Run the loop. Return False, with nothing done, if that does not save time yet, if there is no machine code,
        if a value is not clean, or if an op has a fault.
        """
        shape = self._shape_of(slots)
        size = prod(shape)
        if size < _LARGE or not llvm.machine_code_allowed():
            return False
        if self._spent < PAYS and not llvm.at_once():
            self._spent += size * len(self._links)
            if self._spent < PAYS:
                return False
        inputs = self._clean(slots, shape)
        if inputs is None:
            return False
        splats = tuple([size > 1 and not any(codes.strides) for codes in inputs])
        flat = [codes.reshape(-1)[: 1 if splat else size] for codes, splat in zip(inputs, splats, strict=True)]
        made = [np.empty(size, code_layout(ty.element_type(output.type))[0]) for output in self._outputs]
        for some in self._loop(splats, flat).run(flat, made, size):
            values = [codes if splat else codes[some] for codes, splat in zip(flat, splats, strict=True)]
            if not self._by_kernels(values, made, some):
                return False
        shared = self._shared(splats) if self._in_lanes else ()
        for out, output in zip(made, self._outputs, strict=True):
            one = output.number in shared
            slots[output.slot] = int(out[0]) if one else Value(output.type, out.reshape(shape))
        return True

    def _shared(self, splats: tuple[bool, ...]) -> set[int]:
        """Return the numbers of the values that are the same for all lanes. What depends on them, such as the bounds of
        a loop, then takes less time.
        """
        shared = {number for number, splat in enumerate(splats) if splat}
        number = len(splats)
        for link in self._links:
            results = range(number, number + len(link.widths))
            shared.update(results if shared.issuperset(link.operands) else ())
            number = results.stop
        return shared

    def _shape_of(self, slots: Slots) -> tuple[int, ...]:
        """Return the shape of all values; for scalars, the shape of the lanes or points, or () if they are all the
        same.
        """
        if self._static is not None:
            return self._static
        values = (slots[number] for number in self._inputs)
        return next((value.bits.shape for value in values if value.__class__ is Value and value.bits.size > 1), ())

    def _loop(self, splats: tuple[bool, ...], inputs: Sequence[Codes]) -> ArrayLoop:
        """Return the loop for inputs; some of them may be one code for all elements."""
        plan = Plan(self._links, self._widths, splats, [output.number for output in self._outputs])
        key: tuple[Any, ...] = (splats,)
        if self._is_short(plan):
            codes = tuple([codes.tobytes() for codes, splat in zip(inputs, splats, strict=True) if splat])
            if len(self._looked_up) >= _MOST:
                self._looked_up.clear()
            seen = self._looked_up[codes] = self._looked_up.get(codes, 0) + max(map(len, inputs))
            if seen >= TABLE_PAYS:
                key = splats, codes
        loop = self._loops.get(key)
        if loop is None:
            if len(self._loops) >= _MOST:
                self._loops.clear()
            loop = self._loops[key] = ArrayLoop(plan if len(key) == 1 else self._tabled(plan, inputs))
        return loop

    def _is_short(self, plan: Plan) -> bool:
        """Tell whether one table for all ops is worthwhile."""
        found = self._short.get(plan.splats)
        if found is None:
            found = self._short[plan.splats] = worth(plan)
        return found

    def _tabled(self, plan: Plan, inputs: Sequence[Codes]) -> Plan:
        widths = [width_of(ty.element_type(output.type)) for output in self._outputs]
        return tabled(self._links, plan, inputs, widths)

    def _clean(self, slots: Slots, shape: tuple[int, ...]) -> list[Codes] | None:
        """Return the codes of the inputs; None if one is not clean."""
        codes = []
        for number, width in zip(self._inputs, self._widths, strict=True):
            value = slots[number]
            if value.__class__ is int:
                codes.append(ints_to_codes([value], width, ()))
                continue
            if value.__class__ is not Value or value.poison is not None or value.open is not None:
                return None
            if value.bits.shape != shape and value.bits.size == 1:
                codes.append(value.bits.reshape(()))
                continue
            if value.bits.shape != shape:
                return None
            codes.append(value.bits if not any(value.bits.strides) else np.ascontiguousarray(value.bits))
        return codes

    def _by_kernels(self, values: list[Codes], made: Sequence[Codes], where: Any) -> bool:
        """Compute some elements; return False if an op has a fault."""
        if computed(self._links, values):
            return False
        for out, output in zip(made, self._outputs, strict=True):
            out[where] = values[output.number]
        return True


class ChainPieces:
    """A collector of the steps of ops that follow one another. It makes chains of them.

    ``dying``: returns the values that are not needed after an op. ``slot``: returns the slot of a value.
    """

    def __init__(self, dying: Mapping[Operation, Sequence[SSAValue]], slot: Callable[[SSAValue], int]) -> None:
        self._dying = dying
        self._slot = slot
        self._ops: list[tuple[Operation, Kernel]] = []
        self._steps: list[Step] = []

    def add(self, op: Operation, kernel: Kernel | None, steps: Sequence[Step]) -> list[Step]:
        """Add the steps of the next op. Return the steps of earlier ops that are now complete. ``kernel``: the kernel
        of the op if it can be part of a chain, else None.
        """
        if kernel is None or kernel.words is None:
            # A constant makes no step, and does not end a chain.
            return [*self.taken(), *steps] if steps else []
        before = self.taken() if self._ops and _shape(self._ops[0][0]) != _shape(op) else []
        self._ops.append((op, kernel))
        self._steps += steps
        return before

    def taken(self) -> list[Step]:
        """Return the steps of all ops that were added since the last call."""
        ops, steps, self._ops, self._steps = self._ops, self._steps, [], []
        if len(ops) < SHORTEST:
            return steps
        dying = [value for op, _ in ops for value in self._dying.get(op, ())]
        made = {result for op, _ in ops for result in op.results}
        dead = set(dying)
        chain = Chain(ops, lambda value: value not in dead, self._slot, steps)
        released = tuple([self._slot(value) for value in dying if value not in made])
        return [chain, letting_go(released)] if released else [chain]


def _shape(op: Operation) -> tuple[int | None, ...] | None:
    return ty.shape_of(op.operands[0].type)


def can_join(op: Operation, settings: Settings) -> bool:
    """Tell whether an elementwise op can be part of a chain: tensors or vectors of one large static shape, of elements
    of up to 64 bits.
    """
    shape = ty.shape_of(op.operands[0].type) if op.operands else None
    if not shape or None in shape or prod(size or 0 for size in shape) < _LARGE or not _may_join(settings):
        return False
    for value in (*op.operands, *op.results):
        type_ = value.type
        if not isinstance(type_, ty.TensorType | ty.VectorType) or type_.shape != shape:
            return False
        if any(getattr(type_, "scalable", ())) or code_layout(type_.element)[1]:
            return False
    return True


def can_join_as_scalars(op: Operation, settings: Settings) -> bool:
    """Tell whether an elementwise op can be part of a chain over lanes or points: scalars of up to 64 bits."""
    values = (*op.operands, *op.results)
    scalars = all(isinstance(value.type, ty.IntegerType | ty.FloatType | ty.IndexType) for value in values)
    wide = scalars and any(code_layout(value.type)[1] for value in values)
    return bool(op.operands) and scalars and not wide and _may_join(settings)


def _may_join(settings: Settings) -> bool:
    return may_compile(settings) and not settings.track_open
