"""Run a program with one value at a time in another format: the values, their names, and the runs.

One copy of the program has an extra op after each value that may change. In a run, this op converts the value in some
lanes and leaves it unchanged in all others. So one batch tries many changes at once.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

from halfulp.conformance.whole_programs.rewrite import copied
from halfulp.converting import convert
from halfulp.fp_formats.aliases import did_you_mean, float_format, with_hint
from halfulp.fp_formats.formats import FloatFormat
from halfulp.interp.declare.declarations import ANY, Dialect
from halfulp.interp.dialects.structured.structure import (
    REDUCTION,
    STRUCTURES,
    inputs_and_inits,
    is_structured,
    written_iterators,
    written_maps,
)
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.affine_expressions import Dimension
from halfulp.interp.ir.attributes import AffineMapAttr, ArrayAttr, DenseArrayAttr, DenseElementsAttr
from halfulp.interp.ir.base import CallSiteLoc, Location, NameLoc, UnknownLoc
from halfulp.interp.ir.errors import HalfulpError, InputError, Unsupported
from halfulp.interp.ir.operations import Module, Operation, OpResult, SSAValue, argument_types, result_types
from halfulp.interp.ir.types import element_width
from halfulp.interp.run.batch.program import run_batch
from halfulp.interp.run.batch.run import LaneRun
from halfulp.interp.run.evaluators import OnValues
from halfulp.interp.run.frames import Function, Run, lift
from halfulp.interp.run.program import program_for
from halfulp.interp.run.settings import Settings
from halfulp.interp.values.lanes import lanes_of, over_lanes
from halfulp.interp.values.value import Value
from halfulp.quantizing.blocks import BLOCK_FORMATS, quantize_blocks
from halfulp.running import RunOptions, given_arguments, no_lanes, run_with
from halfulp.semantics.profile import Profile
from halfulp.sensitivities import flow as flows
from halfulp.sensitivities.holding import GENERIC, has_all_numbers
from halfulp.traces.error_report import ends_of
from halfulp.traces.error_text import labelled, name_of

# --- formats ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Target:
    """A format to which values are converted. ``element``: the type of the elements. ``recipe``: the recipe for blocks
    with scales; None if there are no scales.
    """

    name: str
    element: str
    recipe: str | None = None

    @property
    def meaning(self) -> str:
        """A text that explains the name of the format; empty if the name explains itself."""
        return "" if self.recipe is None else f"{self.name}: blocks of {self.element}, recipe {self.recipe}"

    def holds(self, own: FloatFormat) -> bool:
        """Tell whether the format has all numbers of another format and no scales, so that a conversion from that
        format changes nothing.
        """
        wide = None if self.recipe else float_format(self.element)
        return wide is not None and (wide is own or has_all_numbers(wide, own))

    def put(self, value: Value, axis: int, profile: Profile) -> Value:
        """Convert the numbers of a value to the format, and back to the type of the value. Raises the errors of
        `convert` and `quantize_blocks`.
        """
        own = value.element_type
        if self.recipe is None:
            found = convert(convert(value, self.element, profile=profile), own, profile=profile)
        else:
            found = quantize_blocks(value, self.element, self.recipe, axis=axis, ragged="short").dequantize(own)
        return Value(value.type, found.bits, found.poison, None, found.origins)


def target_of(given: Any) -> Target:
    """Return the format of a name, or of an element type and a recipe for blocks. Raises InputError."""
    if isinstance(given, tuple):
        return _checked(Target("/".join(map(str, given)), *given))
    if given in BLOCK_FORMATS:
        return _checked(Target(given, *BLOCK_FORMATS[given]))
    try:
        return Target(given, float_format(given).name)
    except ValueError as error:
        blocks = ", ".join(BLOCK_FORMATS)
        near = did_you_mean(str(given), BLOCK_FORMATS)
        raise InputError(with_hint(str(error), near), hint=f"formats with blocks are {blocks}") from None


def _checked(target: Target) -> Target:
    try:
        quantize_blocks(np.zeros(1, np.float32), target.element, target.recipe or "", ragged="short")
    except (ValueError, HalfulpError) as error:
        raise InputError(f"{target.name}: {error}") from None
    return target


# --- values -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False, slots=True)
class Place:
    """A value that can be converted to a format: an input, a weight or the result of an op.

    ``op``: the name of the op that computed it; empty for a weight and an input. ``axis``: the axis of its
    blocks. ``at``: the op that computed it, or the first op that takes it.
    """

    kind: str
    name: str
    op: str
    value: SSAValue
    axis: int
    at: Operation | None


Note = Callable[[str], None]


def places(function: Operation, ops: Sequence[Operation], module: Module, note: Note) -> Iterator[Place]:
    """Yield the arguments of a function, the constants, and the results of ops that round. ``note``: a function that is
    called with the values that are left out, and the reasons.
    """
    axes, first_use = _summed_axes(module), dict[SSAValue, Operation]()
    for op in module.walk():
        for value in op.operands:
            first_use.setdefault(value, op)

    def place(kind: str, value: SSAValue, op: Operation | None = None) -> Place:
        last = len(ty.shape_of(value.type) or ()) - 1
        name = (value.label or name_of(value)) if op is None else _op_name(op)
        at = op or first_use.get(value)
        return Place(kind, name, "" if op is None else _computing(op), value, axes.get(value, last), at)

    for argument in function.regions[0].blocks[0].arguments:
        if flows.is_memory(argument):
            note(f"{labelled(argument)}: the memory of an argument stays in its type")
        elif flows.format_of(argument):
            yield place("weight" if _is_weight(argument) else "input", argument)
    numbers = 0
    for op in ops:
        found = [value for value in op.results if flows.format_of(value) and not flows.is_memory(value)]
        if op.name in flows.CONSTANTS and found:
            if found[0].label is None and not _is_array(op):
                numbers += 1
                continue
            yield place("weight", found[0])
        elif _is_inside(op):
            continue
        elif found and (_rounds(op) or flows.why_not(op, module) is not None) and op.name != "func.call":
            for value in found:
                yield place("op", value, op)
        elif _rounds(op):
            note(f"{_computing(op)} ({name_of(op.operands[-1])}): it writes into memory, which stays in its type")
        elif op.name == "memref.get_global" and flows.format_of(op.results[0]):
            note(f"{name_of(op.results[0])}: the memory of a global stays in its type")
        elif (reason := flows.why_not(op, module)) is not None:
            note(f"{op.name}: {reason}")
    if numbers:
        note(f"constants of one number stay as they are: {numbers}")


def _is_array(op: Operation) -> bool:
    """Tell whether a constant has several numbers."""
    value = op.properties.get("value")
    spread = isinstance(value, DenseElementsAttr) and value.splat
    return isinstance(op.results[0].type, ty.ShapedType) and not spread


def _is_inside(op: Operation) -> bool:
    """Tell whether an op is part of the body of a structured op, which runs it for each element."""
    around = op.parent_op
    while around is not None and not is_structured(around) and around.name not in flows.EXPLICIT:
        around = around.parent_op
    return around is not None


def _rounds(op: Operation) -> bool:
    """Tell whether an op, or an op in its body, computes floats and rounds them."""
    return flows.rounds(op) or (op.name in flows.EXPLICIT and any(map(flows.rounds, op.walk())))


def _op_name(op: Operation) -> str:
    """Return the name of an op as its source has it, with the name of the weight that it takes."""
    weights = [value.label for value in map(_first, op.operands) if _is_weight(value)]
    name = _source_name(op.location) or _computing(op)
    return f"{name} of {weights[0]}" if weights else name


def _is_weight(value: SSAValue) -> bool:
    """Tell whether a value with a name is a constant, or an argument that is part of a container."""
    return value.label is not None and (isinstance(value, OpResult) or "[" in value.label)


def _computing(op: Operation) -> str:
    """Return the name of an op; if its body is in the text, the names of the ops in the body that round."""
    inner = [each.name for each in op.walk() if flows.rounds(each)] if op.name in flows.EXPLICIT else []
    return ", ".join(dict.fromkeys(inner)) or op.name


def _source_name(location: Location) -> str | None:
    """Return the last part of the name in ``loc("jit(f)/dot_general"(…))``."""
    while isinstance(location, CallSiteLoc):
        location = location.callee
    return location.name.rpartition("/")[2] if isinstance(location, NameLoc) else None


_MOVED = frozenset(
    {
        *("linalg.transpose", "linalg.broadcast", "linalg.copy", "arith.extf", "stablehlo.transpose"),
        *("stablehlo.reshape", "stablehlo.broadcast_in_dim"),
    }
)
"""Ops whose results are the numbers of their first operand in another shape or a wider type. Some ops of ``tensor`` do
the same.
"""


def _first(value: SSAValue) -> SSAValue:
    """Return the value from which a value comes by ops that only move, reshape or broadcast numbers."""
    while isinstance(value, OpResult):
        op = value.owner
        if op.name == GENERIC and len(op.blocks[0].operations) == 1:
            given = op.blocks[0].operations[0].operands[0]
            number = op.blocks[0].arguments.index(given) if given in op.blocks[0].arguments else -1
        else:
            number = 0 if op.name in _MOVED or (op.name in flows.MOVES and op.name.startswith("tensor.")) else -1
        if number < 0 or sum(flows.format_of(each) is not None for each in op.operands) > 1 + is_structured(op):
            break
        value = op.operands[number]
    return value


# --- axes -------------------------------------------------------------------------------------------------------------


def _summed_axes(module: Module) -> dict[SSAValue, int]:
    """Return, for each value, the axis over which a product of matrices or a similar op sums it: in hardware, the
    blocks of MX formats lie along this axis. If an op keeps the axes of a value, the axis of its result is that of the
    value too. The first use in the program counts, and a sum counts before an op that keeps axes.
    """
    found: dict[SSAValue, int] = {}
    passed: dict[SSAValue, int] = {}
    for op in reversed(list(module.walk())):
        after = next((axis for value in op.results if (axis := found.get(value, passed.get(value))) is not None), None)
        for index, value in enumerate(op.operands):
            summed = _summed(op, index)
            axis = None if after is None else _axis_before(op, index, after)
            if summed is not None:
                found[value] = summed
            elif axis is not None:
                passed[value] = axis
    return passed | found


_PRODUCTS = {"vector.contract": (written_maps, written_iterators)}
"""For ops on vectors that compute products: the functions that return their indexing maps and iterators."""


def _space(op: Operation) -> tuple[Sequence[AffineMapAttr], Sequence[int]] | None:
    """Return the indexing maps and the iterators of an op that computes along loops; None for another op."""
    reader = STRUCTURES.get(op.name) or _PRODUCTS.get(op.name)
    return None if reader is None else (reader[0](op), reader[1](op))


def _dimensions(map_: AffineMapAttr) -> list[tuple[int, int]]:
    """Return pairs of an axis of a map and the number of the loop along which it runs."""
    return [(axis, each.position) for axis, each in enumerate(map_.results) if isinstance(each, Dimension)]


def _summed(op: Operation, index: int) -> int | None:
    """Return the axis of an operand over which an op of several operands sums it up: of several ones the longest."""
    if op.name == "stablehlo.dot_general":
        numbers: Any = op.properties["dot_dimension_numbers"]
        axes = [*numbers[("lhs_contracting_dimensions", "rhs_contracting_dimensions")[index]]]
    else:
        space, inputs = _space(op), len(inputs_and_inits(op)[0])
        if space is None or index >= inputs or inputs < 2:
            return None
        maps, iterators = space
        axes = [axis for axis, loop in _dimensions(maps[index]) if iterators[loop] == REDUCTION]
    shape = ty.shape_of(op.operands[index].type) or ()
    return max(axes, key=lambda axis: shape[axis] or 0, default=None)


def _axis_before(op: Operation, index: int, after: int) -> int | None:
    """Return the axis of an operand that becomes an axis of the result; None if there is none."""
    if (space := _space(op)) is not None:
        maps, _ = space
        loops = [loop for axis, loop in _dimensions(maps[-1]) if axis == after]
        return next((axis for axis, loop in _dimensions(maps[index]) if loop in loops), None)
    if op.name in ("vector.transpose", "stablehlo.transpose") and isinstance(
        order := op.properties["permutation"], DenseArrayAttr
    ):
        return int(order.values[after])
    groups = op.properties.get("reassociation")
    if isinstance(groups, ArrayAttr):
        axes: list[list[int]] = [[axis.value for axis in group.elements] for group in groups.elements]  # type: ignore[attr-defined]
        if op.name == "tensor.collapse_shape":
            return axes[after][-1]
        return next((number for number, group in enumerate(axes) if after in group), None)
    same = [ty.shape_of(value.type) for value in (op.operands[index], *op.results[:1])]
    return after if same[0] == same[-1] and (flows.is_scalar_op(op) or op.name == "tensor.cast") else None


# --- runs -------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False, slots=True)
class Placing:
    """A value of a program, and the format to which a run converts it."""

    place: Place
    target: Target

    def put(self, value: Value, settings: Settings) -> Value:
        """Return the value that replaces another value in the format. Raises InputError if the format cannot represent
        it.
        """
        try:
            return self.target.put(value, self.place.axis, settings.profile)
        except ValueError as error:
            raise InputError(str(error)) from None


Ends = Mapping[str, Value]
"""The float results of a run, by name."""
_MOST_BYTES = 1 << 27
"""The most bytes of a batch, from the sizes of all values."""


class Runs:
    """The copy of a program, and its runs with one value, or one in each lane, in another format.

    ``places``: the values that may change. ``arguments``: as for `run`. Raises what `given_arguments` raises.
    """

    def __init__(
        self,
        module: Module,
        function: Operation,
        places: Sequence[Place],
        arguments: Sequence[Any],
        options: RunOptions,
    ) -> None:
        twins: dict[SSAValue, SSAValue] = {}
        root = copied(module.operation, twins)
        self._module = Module(root, module.source)
        self._module.resources, self._module.dialect_versions = module.resources, module.dialect_versions
        self._function = next(twin for op, twin in zip(module.walk(), root.walk(), strict=True) if op is function)
        self._arguments, self._options = given_arguments(function, arguments, options), options
        types = [*argument_types(function), *result_types(function)]
        self._together = not any(no_lanes(type_) or isinstance(type_, ty.MemRefType) for type_ in types)
        self._places: dict[Operation, Place] = {}
        self._placings: list[Placing] = []
        self._insert(places, twins)
        self._bytes = sum(_bytes(result) for op in root.walk() for result in op.results)

    def _insert(self, places: Sequence[Place], twins: Mapping[SSAValue, SSAValue]) -> None:
        """Insert an op after each value that may change."""
        evaluator = OnValues(self._for_one, in_lanes=self._for_lanes)
        definition = Dialect("halfulp").op("put", operands={"value": ANY}, results={"put": ANY}, evaluate=evaluator)
        instead: dict[SSAValue, SSAValue] = {}
        for place in places:
            twin = twins[place.value]
            put = Operation(definition.name, definition, [twin], [twin.type], location=UnknownLoc())
            self._places[put], instead[twin] = place, put.results[0]
            if isinstance(twin, OpResult):
                put.parent, at = twin.owner.parent, twin.owner.parent.operations.index(twin.owner) + 1  # type: ignore[union-attr]
            else:
                put.parent, at = self._function.blocks[0], 0
            put.parent.operations.insert(at, put)  # type: ignore[union-attr]
        for op in self._module.walk():
            for use in () if op in self._places else flows.uses_of(op):
                use.operands[use.index] = instead.get(use.value, use.value)

    def results(self, placings: Sequence[Placing]) -> Iterator[tuple[Placing, Ends | HalfulpError]]:
        """Yield the float results of a run with each value in its format, or the error that stops it."""
        for part in self._parts(placings):
            yield from zip(part, self._results(part), strict=True)

    def _parts(self, placings: Sequence[Placing]) -> Iterator[list[Placing]]:
        """Divide runs into batches. A value that changes in one lane takes memory in all of them."""
        part: list[Placing] = []
        size, changed = self._bytes, set[Place]()
        for placing in placings:
            new = 0 if placing.place in changed else _bytes(placing.place.value)
            if part and (not self._together or (size + new) * (len(part) + 1) > _MOST_BYTES):
                yield part
                part, size, changed = [], self._bytes, set()
            size += new
            changed.add(placing.place)
            part.append(placing)
        if part:
            yield part

    def _results(self, part: Sequence[Placing]) -> list[Ends | HalfulpError]:
        """Run a batch. If it fails, run the lanes one by one, because an error in one lane stops all of them."""
        try:
            if len(part) > 1:
                return self._batch(part)
        except HalfulpError:
            return [found for placing in part for found in self._results([placing])]
        self._placings, given = [*part], copy.deepcopy(self._arguments)
        try:
            return [dict(ends_of(run_with(self._module, given, self._options), given))]
        except HalfulpError as error:
            return [error]

    def _batch(self, part: Sequence[Placing]) -> list[Ends | HalfulpError]:
        self._placings = [*part]
        found = run_batch(program_for(self._module, self._options), self._function, self._arguments, len(part))
        rows = ([lanes_of(each, k) if over_lanes(each) else each for each in found] for k in range(len(part)))
        return [dict(ends_of(row, ())) for row in rows]

    def _for_one(self, op: Operation, settings: Settings) -> Function:
        place = self._places[op]

        def put(run: Run, operands: tuple[Any, ...]) -> tuple[Any, ...]:
            if len(self._placings) > 1:
                raise Unsupported("the program has an op that runs one lane after the other")
            (placing,) = self._placings
            return (placing.put(operands[0], settings),) if placing.place is place else operands

        return put

    def _for_lanes(self, op: Operation, settings: Settings) -> Function:
        place = self._places[op]

        def put(run: Run, operands: tuple[Any, ...]) -> tuple[Any, ...]:
            lanes = run.lanes.numbers.tolist() if run.lanes is not None else []
            chosen = [self._placings[lane] if self._placings[lane].place is place else None for lane in lanes]
            if not any(chosen):
                return operands
            assert isinstance(run, LaneRun)
            given = lift(operands[0], place.value.type)
            values = [lanes_of(given, k) if over_lanes(given) else given for k in range(len(lanes))]
            rows = [
                (value if one is None else one.put(value, settings),) for value, one in zip(values, chosen, strict=True)
            ]
            return run.stacked(rows, [place.value.type])

        return put


def _bytes(value: SSAValue) -> int:
    """Return the approximate number of bytes of a value. Unknown dimensions count as one."""
    width = element_width(ty.element_type(value.type)) or 64
    return prod(size or 1 for size in ty.shape_of(value.type) or ()) * (width + 7 >> 3)
