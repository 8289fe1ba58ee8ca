"""What each value of a program costs in other formats: the values, their names, and the runs with one of them changed.

One copy of the program has an op behind each value that may be put in a format. In a run, each of these ops changes its
value in the lanes that ask for it, and gives it on as it is in all others. So one batch tries many changes at once.
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
from halfulp.interp.dialects.linalg.structure import REDUCTION, inputs_and_inits, is_structured, iterators_of, maps_of
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.affine_expressions import Dimension
from halfulp.interp.ir.attributes import DenseElementsAttr
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
from halfulp.sensitivities.holding import has_all_numbers
from halfulp.traces.error_report import ends_of
from halfulp.traces.error_text import labelled, name_of

# --- formats ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Target:
    """A format that values are put in. ``element``: the type of the numbers; ``recipe``: that of blocks with scales;
    None for the numbers alone.
    """

    name: str
    element: str
    recipe: str | None = None

    @property
    def meaning(self) -> str:
        """What the name stands for, if it does not say that itself."""
        return "" if self.recipe is None else f"{self.name}: blocks of {self.element}, recipe {self.recipe}"

    def holds(self, own: FloatFormat) -> bool:
        """Tell whether the format changes no number of another one: it has all of them, and no scale."""
        wide = None if self.recipe else float_format(self.element)
        return wide is not None and (wide is own or has_all_numbers(wide, own))

    def put(self, value: Value, axis: int, profile: Profile) -> Value:
        """Return the numbers of a value in the format, again in the type of the value. Raises what `convert` and
        `quantize_blocks` raise.
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
    """A value that can be put in a format: an input, a weight or what an op computed.

    ``op``: the name of what computed it; empty for a weight and an input. ``axis``: that of its blocks. ``at``: the op
    that computed it, or takes it first.
    """

    kind: str
    name: str
    op: str
    value: SSAValue
    axis: int
    at: Operation | None


Note = Callable[[str], None]


def places(function: Operation, ops: Sequence[Operation], module: Module, note: Note) -> Iterator[Place]:
    """Yield the arguments of a function, the constants, and the results of ops that round. ``note``: takes what is left
    out, and why.
    """
    uses: dict[SSAValue, list[flows.Use]] = {}
    for op in module.walk():
        for index, value in enumerate(op.operands):
            uses.setdefault(value, []).append(flows.Use(op, index))

    def place(kind: str, value: SSAValue, op: Operation | None = None) -> Place:
        axis, taken = _summed_axis(value, uses), uses.get(value)
        name = (value.label or name_of(value)) if op is None else _op_name(op)
        at = op or (taken[0].op if taken else None)
        return Place(kind, name, "" if op is None else _computing(op), value, -1 if axis is None else axis, at)

    for argument in function.regions[0].blocks[0].arguments:
        if flows.is_memory(argument):
            note(f"{labelled(argument)}: the memory of an argument stays in its type")
        elif flows.format_of(argument):
            kind = "weight" if argument.label and "[" in argument.label else "input"
            yield place(kind, argument)
    numbers = 0
    for op in ops:
        found = [value for value in op.results if flows.format_of(value) and not flows.is_memory(value)]
        if op.name == "arith.constant" and found:
            if found[0].label is None and not _is_array(op):
                numbers += 1
                continue
            yield place("weight", found[0])
        elif _is_inside(op):
            continue
        elif found and _computes(op, module):
            for value in found:
                yield place("op", value, op)
        elif flows.rounds(op):
            note(f"{op.name} ({name_of(op.operands[-1])}): it writes into memory, which stays in its type")
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
    """Tell whether an op is part of the body of a structured one, which runs it element by element."""
    around = op.parent_op
    while around is not None and not is_structured(around):
        around = around.parent_op
    return around is not None


def _computes(op: Operation, module: Module) -> bool:
    """Tell whether an op computes the floats that it gives, and rounds them."""
    if op.name in flows.EXPLICIT:
        return any(flows.rounds(inner) for inner in op.walk() if inner is not op)
    return flows.rounds(op) or (flows.why_not(op, module) is not None and op.name != "func.call")


def _op_name(op: Operation) -> str:
    """Name an op as its source does, and the weight that it takes."""
    labels = [label for value in op.operands if (label := _label_behind(value)) is not None]
    name = _source_name(op.location) or _computing(op)
    return f"{name} of {labels[0]}" if labels else name


def _computing(op: Operation) -> str:
    """Return the name of an op, or, of one with its body in the text, those of the ops there that round."""
    inner = [each.name for each in op.walk() if flows.rounds(each)] if op.name in flows.EXPLICIT else []
    return ", ".join(dict.fromkeys(inner)) or op.name


def _source_name(location: Location) -> str | None:
    """Return the last part of the name in ``loc("jit(f)/dot_general"(…))``."""
    while isinstance(location, CallSiteLoc):
        location = location.callee
    return location.name.rpartition("/")[2] if isinstance(location, NameLoc) else None


def _label_behind(value: SSAValue) -> str | None:
    """Return what a value is called in the source; of one that was moved only, what the first is called."""
    while value.label is None and isinstance(value, OpResult) and value.owner.operands:
        op = value.owner
        moves = op.name in flows.MOVES or (op.name in flows.EXPLICIT and len(op.regions[0].blocks[0].operations) == 1)
        if not moves:
            return None
        value = op.operands[0]
    return value.label


def _summed_axis(value: SSAValue, uses: Mapping[SSAValue, Sequence[flows.Use]], depth: int = 8) -> int | None:
    """Return the axis that a product of matrices, or a like op, sums over: that of the blocks of MX formats in
    hardware. None if there is no such op.
    """
    for use in uses.get(value, ()) if depth else ():
        op = use.op
        if is_structured(op):
            maps, iterators, (inputs, _) = maps_of(op), iterators_of(op), inputs_and_inits(op)
            axes = [
                (axis, each.position)
                for axis, each in enumerate(maps[use.index].results)
                if isinstance(each, Dimension)
            ]
            summed = [axis for axis, position in axes if iterators[position] == REDUCTION]
            if summed and len(inputs) > 1 and use.index < len(inputs):
                shape = ty.shape_of(value.type) or ()
                return max(summed, key=lambda axis: shape[axis] or 0)
            if op.results and REDUCTION not in iterators and not flows.rounds(op):
                after = _summed_axis(op.results[0], uses, depth - 1)
                given = maps[-1].results[after] if after is not None else None
                found = [axis for axis, position in axes if isinstance(given, Dimension) and given.position == position]
                if found:
                    return found[0]
    return None


# --- runs -------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False, slots=True)
class Placing:
    """A value in a format."""

    place: Place
    target: Target

    def put(self, value: Value, settings: Settings) -> Value:
        """Return what stands for a value. Raises InputError where the format cannot hold it."""
        try:
            return self.target.put(value, self.place.axis, settings.profile)
        except ValueError as error:
            raise InputError(str(error)) from None


Ends = Mapping[str, Value]
"""The float results of a run, by their names."""
_MOST_BYTES = 1 << 27
"""The most bytes of a batch, by the sizes of all values."""


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
        """Put an op behind each value that may change."""
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
        """Divide runs into batches. A value that changes in one lane has memory in all of them."""
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
        """Run a batch; one by one where that fails, since an error of a lane stops all of them."""
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
    """Return about how many bytes a value takes: dimensions that are not known count as one."""
    width = element_width(ty.element_type(value.type)) or 64
    return prod(size or 1 for size in ty.shape_of(value.type) or ()) * (width + 7 >> 3)
