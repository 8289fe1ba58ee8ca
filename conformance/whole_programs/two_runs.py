"""Run two versions of a function on the same inputs: scalar functions in lanes, all others one input at a time.

The first part handles signatures that a pass has changed without a change of bits: values of one type are passed as
values of another type. Each rule of `_RULES` says when values of one type can be passed as values of another, and how.
If no rule applies, the functions are not compared.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property, partial
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt

from halfulp.conformance.whole_programs.arguments import Arguments, Part
from halfulp.conformance.whole_programs.printed import (
    Output,
    Printed,
    UnknownFunctions,
    is_uninterpreted,
    prints,
    silent,
)
from halfulp.fp_formats.formats import Mask, codes_to_ints, ints_to_codes
from halfulp.interp.dialects.llvm.abi import Convention, convention_of
from halfulp.interp.dialects.llvm.descriptor_memory import conversion
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.errors import (
    AssertionFailed,
    HalfulpError,
    LimitExceeded,
    OutOfSteps,
    UndefinedBehavior,
    Unsupported,
)
from halfulp.interp.ir.operations import Module, Operation, argument_types, result_types
from halfulp.interp.ir.types import concrete, element_width, width_of
from halfulp.interp.run.batch.program import accesses_together, run_batch
from halfulp.interp.run.evaluators import Launched, evaluator_of
from halfulp.interp.run.frames import Frame, Run
from halfulp.interp.run.lineage import Lineage
from halfulp.interp.run.program import CompiledModule, program_for
from halfulp.interp.run.settings import CastTypes, Settings, SlotConversion
from halfulp.interp.values.buffers import Buffer, buffer_of, to_argument
from halfulp.interp.values.lanes import lanes_of, over_lanes, repeated
from halfulp.interp.values.value import Value
from halfulp.semantics.kernel import Origin, Origins

Masks = npt.NDArray[Any]
Convert = Callable[[Value, ty.Type, tuple[int, ...]], Value]
"""A function that converts a value to a type and a shape. Axes over lanes stay in front of the shape."""


@dataclass(frozen=True)
class CarriedType:
    """A type of the first version, the type that holds its values in the second version, and a description of the
    conversion; "" if both are equal.
    """

    source: ty.Type
    target: ty.Type
    how: str = ""
    forth: Convert | None = None
    back: Convert | None = None

    def to_target(self, value: Value) -> Value:
        """Return a value of the first version as a value of the second version. Leading axes for lanes stay."""
        return value if self.forth is None else _converted(self.forth, value, self.target)

    def to_source(self, value: Value) -> Value:
        """Return a value of the second version as a value of the first version."""
        return value if self.back is None else _converted(self.back, value, self.source)

    def __str__(self) -> str:
        return f"{self.source} -> {self.target}, {self.how}"


def _converted(convert: Convert, value: Value, type_: ty.Type) -> Value:
    """Convert a value to a type; dynamic sizes are those of the value."""
    shape = ty.shape_of(type_)
    assert shape is not None
    own = value.shape[_lanes(value) :]
    sizes = tuple(own[axis] if size is None else size for axis, size in enumerate(shape))
    held = ty.TensorType(sizes, type_.element) if isinstance(type_, ty.MemRefType) else concrete(type_, sizes)
    return convert(value, held, sizes)


def _lanes(value: Value) -> int:
    """Return the number of leading axes that the type does not have."""
    rank = ty.shape_of(value.type)
    return 0 if rank is None else len(value.shape) - len(rank)


def _reshaped(value: Value, type_: ty.Type, shape: tuple[int, ...]) -> Value:
    """Return the same bits, in row-major order, as a value of another shape."""
    shape = value.shape[: _lanes(value)] + shape

    def put(array: Masks | None) -> Any:
        return None if array is None else array.reshape(shape + array.shape[len(value.shape) :])

    return Value(type_, put(value.bits), put(value.poison), put(value.open), value.origins)


def _halved(value: Value, type_: ty.Type, shape: tuple[int, ...]) -> Value:
    """Return the halves of integers along a new last axis, the low half first."""
    width = width_of(ty.element_type(type_))
    mask = (1 << width) - 1
    halves = [half for code in codes_to_ints(value.bits, 2 * width) for half in (code & mask, code >> width)]

    def twice(array: Masks | None) -> Any:
        return None if array is None else np.repeat(array[..., np.newaxis], 2, axis=-1)

    bits = ints_to_codes(halves, width, (*value.shape, 2))
    return Value(type_, bits, twice(value.poison), twice(value.open), value.origins)


def _joined(value: Value, type_: ty.Type, shape: tuple[int, ...]) -> Value:
    """Return the integers whose two halves are along the last axis. An integer is poison if one of its halves is."""
    width = width_of(value.element_type)
    halves = codes_to_ints(value.bits, width)
    codes = [low | high << width for low, high in zip(halves[::2], halves[1::2], strict=True)]
    poison = None if value.poison is None else value.poison.max(axis=-1)
    open_ = None if value.open is None else np.bitwise_or.reduce(value.open, axis=-1)
    return Value(type_, ints_to_codes(codes, 2 * width, value.shape[:-1]), poison, open_, value.origins)


def _has_halves(source: ty.Type, target: ty.Type) -> bool:
    """Tell whether the target has the halves of integers along one more axis."""
    one, two = ty.element_type(source), ty.element_type(target)
    shapes = ty.shape_of(source), ty.shape_of(target)
    if not (isinstance(one, ty.IntegerType) and isinstance(two, ty.IntegerType)) or None in shapes:
        return False
    return one.width == 2 * two.width and two.width > 0 and shapes[1] == (*(shapes[0] or ()), 2)


def _has_the_same_bits(source: ty.Type, target: ty.Type) -> bool:
    """Tell whether both have the same shape and width, or as many elements of the same type."""
    one, two = ty.element_type(source), ty.element_type(target)
    width = element_width(one)
    first, second = ty.shape_of(source), ty.shape_of(target)
    if width is None or width != element_width(two) or first is None or second is None:
        return False
    if first == second:
        return True
    counts = [prod(size or 0 for size in shape) for shape in (first, second)]
    return one == two and None not in first + second and counts[0] == counts[1]


_RULES = (
    (_has_halves, "low half first", _halved, _joined),
    (_has_the_same_bits, "the same bits", _reshaped, _reshaped),
)


def carried_type(source: ty.Type, target: ty.Type) -> CarriedType | None:
    """Return the rule by which a type holds the values of another type; None if there is no rule."""
    if source == target:
        return CarriedType(source, target)
    if any(isinstance(type_, ty.VectorType) and type_.scalable for type_ in (source, target)):
        return None
    return next((CarriedType(source, target, *row[1:]) for row in _RULES if row[0](source, target)), None)


@dataclass(frozen=True)
class Signature:
    """The way in which the arguments and results of one version hold those of another.

    ``out``: the numbers of results that the second version stores into memory given by its last arguments.
    """

    arguments: tuple[CarriedType, ...]
    results: tuple[CarriedType, ...]
    out: tuple[int, ...] = ()

    @property
    def returned(self) -> tuple[int, ...]:
        """The numbers of the results that the second version returns."""
        return tuple(number for number in range(len(self.results)) if number not in self.out)

    @property
    def notes(self) -> tuple[str, ...]:
        """Texts for the user about how arguments and results are passed."""
        texts = []
        for what, all_ in (("argument", self.arguments), ("result", self.results)):
            texts += [f"{what} {number}: {each}" for number, each in enumerate(all_) if each.how]
        texts += [f"result {number}: an argument of the second version" for number in self.out]
        return (f"mapped: {'; '.join(texts)}",) if texts else ()


def signature(before: Operation, after: Operation) -> Signature:
    """Return how the signature of one version holds that of another. Raises Unsupported if there is no rule."""
    inputs, results = argument_types(before), result_types(before)
    later, given = argument_types(after), result_types(after)
    own, extra = later[: len(inputs)], later[len(inputs) :]
    shaped = [number for number, type_ in enumerate(results) if isinstance(type_, ty.MemRefType | ty.TensorType)]
    out = tuple(shaped) if extra and len(extra) == len(shaped) == len(results) - len(given) else ()
    found = None
    if len(later) == len(inputs) + len(out) and len(given) == len(results) - len(out):
        stored, returned = iter(extra), iter(given)
        targets = [next(stored) if number in out else next(returned) for number in range(len(results))]
        kept = [carried_type(*pair) for pair in zip(inputs, own, strict=True)]
        made = [carried_type(*pair) for pair in zip(results, targets, strict=True)]
        # The contents of memory are compared after the run, so the second version must have it too.
        lost = any(ty.is_memory(one) and not ty.is_memory(two) for one, two in zip(inputs, own, strict=True))
        if not lost and None not in kept and None not in made and all(map(_is_static_memory, extra)):
            found = Signature(_all(kept), _all(made), out)
    if found is None:
        one, two = ty.FunctionType(inputs, results), ty.FunctionType(later, given)
        raise Unsupported(
            f"the type of @{before.symbol_name} has changed from '{one}' to '{two}'",
            location=after.location,
            notes=[(before.location, "it was declared here")],
        )
    return found


def _all(found: Sequence[CarriedType | None]) -> tuple[CarriedType, ...]:
    return tuple(each for each in found if each is not None)


def _is_static_memory(type_: ty.Type) -> bool:
    shape = ty.shape_of(type_)
    return ty.is_memory(type_) and shape is not None and None not in shape


# --- input transfer ---------------------------------------------------------------------------------------------------
#
# Carry inputs from one version of a function to another, and what that returns and stores back.


@dataclass(frozen=True)
class Call:
    """The arguments of one run, and the function that turns what it returned into outputs of the first version."""

    arguments: Sequence[Any]
    outputs: Callable[[Sequence[Value]], tuple[Value, ...]]


class Carrier:
    """Passes single inputs to a version of a function, whose signature may differ from that of the first version, and
    converts its results to those of the first version.
    """

    def __init__(self, signature: Signature, after: Operation) -> None:
        self.signature = signature
        self._extra = argument_types(after)[len(signature.arguments) :]

    @property
    def notes(self) -> tuple[str, ...]:
        """Texts for the user about how arguments and results are passed."""
        return self.signature.notes

    @property
    def lanes(self) -> Carrier:
        """The carrier of many inputs at once."""
        return self

    @property
    def has_memory(self) -> bool:
        """Tell whether the version has memory among its arguments and results."""
        return any(ty.is_memory(each.target) for each in (*self.signature.arguments, *self.signature.results))

    def call(self, part: Part, row: int) -> Call:
        """Return one input as a call of the version."""
        given = self.given(part, row)
        return Call(given, partial(self.outputs, given))

    def given(self, part: Part, row: int) -> tuple[Value | Buffer, ...]:
        """Return one input as the arguments of the version, with new memory for each memref."""
        values = [
            value if not each.how else to_argument(each.to_target(held), each.target, "a made-up argument")
            for each, value, held in zip(self.signature.arguments, part.fresh(row), part.row(row), strict=True)
        ]
        return (*values, *map(_unwritten, self._extra))

    def outputs(self, given: Sequence[Value | Buffer], returned: Sequence[Value]) -> tuple[Value, ...]:
        """Return the outcome of the version as values of the first version: its results, then the contents of
        memory. ``given``: the arguments of the run. ``returned``: the values that it returned.
        """
        mapped = self.signature
        stored = dict(zip(mapped.out, map(_loaded, given[len(mapped.arguments) :]), strict=True))
        values = iter(returned)
        results = [stored[number] if number in stored else next(values) for number in range(len(mapped.results))]
        contents = [
            each.to_source(_loaded(buffer))
            for each, buffer in zip(mapped.arguments, given, strict=False)
            if ty.is_memory(each.source)
        ]
        return (*self.returned(results), *contents)

    def returned(self, values: Sequence[Value]) -> tuple[Value, ...]:
        """Return the results of the version as those of the first version."""
        return tuple(each.to_source(value) for each, value in zip(self.signature.results, values, strict=True))

    def left(self, values: Sequence[Value]) -> tuple[Value, ...]:
        """Return the results of the version, and the contents of memory after the run, as those of the first
        version.
        """
        memory = [each for each in self.signature.arguments if isinstance(each.target, ty.MemRefType)]
        count = len(self.signature.results)
        contents = [
            each.to_source(value)
            for each, value in zip(memory, values[count:], strict=True)
            if isinstance(each.source, ty.MemRefType)
        ]
        return (*self.returned(values[:count]), *contents)


class LoweredCarrier:
    """Passes single inputs to a function of the llvm dialect by the convention that it follows, and converts its
    results back.
    """

    def __init__(self, before: Operation, after: Operation) -> None:
        source = ty.FunctionType(argument_types(before), result_types(before))
        self._how: Convention = convention_of(source, after)
        self.lanes: Carrier | None = None
        """The carrier for many inputs at once; None if values are not passed as they are."""
        with suppress(Unsupported):
            self.lanes = Carrier(signature(before, after), after)

    @property
    def notes(self) -> tuple[str, ...]:
        """Texts for the user about how arguments and results are passed."""
        return (f"mapped: to the llvm dialect, {self._how.name}",)

    def call(self, part: Part, row: int) -> Call:
        """Return one input as a call of the version. Raises Unsupported for values that cannot be passed like this."""
        values = part.fresh(row)
        entered = self._how.enter(values)

        def outputs(returned: Sequence[Value]) -> tuple[Value, ...]:
            results = entered.leave(returned)
            return (*results, *(value.load() for value in values if isinstance(value, Buffer)))

        return Call(entered.arguments, outputs)


CAST = "builtin.unrealized_conversion_cast"


def casts_of(module: Module) -> dict[CastTypes, SlotConversion]:
    """Return the conversions of a module between types of MLIR and of the llvm dialect."""
    found: dict[CastTypes, SlotConversion] = {}
    for op in module.walk():
        if op.name == CAST and len(op.operands) == len(op.results) == 1:
            one, two = op.operands[0].type, op.results[0].type
            how = conversion(one, two)
            if how is not None:
                found[(str(one),), (str(two),)] = how
    return found


def carrier(before: Operation, after: Operation) -> Carrier | LoweredCarrier:
    """Return the carrier from one version of a function to another. Raises Unsupported if there is none."""
    if after.name == "llvm.func" and before.name != "llvm.func":
        return LoweredCarrier(before, after)
    return Carrier(signature(before, after), after)


def _unwritten(type_: ty.Type) -> Buffer:
    """Return new memory of a static type, every element of it poison."""
    assert isinstance(type_, ty.MemRefType)
    buffer = Buffer.allocate(type_, ty.static_shape(type_))
    buffer.allocation.spoil(Origin("memory", "", "an element of a result was never written"), Origins())
    return buffer


def _over_lanes(value: Value, type_: ty.MemRefType, lanes: int) -> Buffer:
    """Return new memory with the contents of a memref in each lane."""
    held = value if over_lanes(value) else repeated(value, lanes)
    contents = Value(ty.TensorType(held.shape, type_.element), held.bits, held.poison, held.open, held.origins)
    return buffer_of(contents, ty.MemRefType(held.shape, type_.element), "a made-up argument")


def _loaded(value: Value | Buffer) -> Value:
    return value.load() if isinstance(value, Buffer) else value


# --- two runs ---------------------------------------------------------------------------------------------------------
#
# Inputs that are undefined, endless or not supported cost little. In lanes, one run finds all lanes that are undefined
# at an op; alone, all runs share a budget of steps.

MAX_STEPS = 200_000
"""Most steps of one run: generated inputs may make a loop endless."""

BATCH_STEPS = 5_000
"""Most steps of one run in lanes; the lanes that have not ended run alone."""

PROBES = 4
"""The most inputs of a function on memory that run alone, until one ends. Lanes may then take 10 times its steps."""

ENDLESS_RUNS = 2
"""When endless runs have taken this number times the most steps of one run, runs are short: at most 10 times the
longest run that ended.
"""

SHORT_STEPS = 1_000
"""The least limit of steps of a short run."""

ALL_RUNS = 20
"""All runs of one input together take at most this number times the most steps of one run."""

ROUNDS = 64
"""Most runs in lanes, each without the lanes that were undefined before."""

ENDLESS_ROUNDS = 2
"""Most runs in lanes that take too many steps."""

REFUSED = 16
"""After this number of inputs that are not supported, if none was supported, no further inputs are tried."""


@dataclass(frozen=True)
class Ran:
    """What a run of several inputs gave: the results, then the contents of memory after the run, all over lanes; and
    what was printed.
    """

    values: tuple[Value, ...]
    printed: tuple[Printed, ...] = ()


Outcome = Ran | HalfulpError


@dataclass(frozen=True)
class Piece:
    """Some inputs of a part, by number, and the outcomes of both versions. None: the first version is undefined."""

    part: Part
    rows: npt.NDArray[np.intp]
    before: Outcome
    after: Outcome | None


class Version:
    """One version of a function, ready to run."""

    def __init__(
        self,
        module: Module,
        function: Operation,
        settings: Settings,
        watched: bool,
        unknown: UnknownFunctions | None = None,
    ) -> None:
        self.function = function
        self._unknown = unknown
        self.output = Output() if watched else None
        if self.output is not None:
            settings = replace(settings, listeners=(self.output,))
        self._module, self._settings = module, settings
        self._in_lanes: dict[int, CompiledModule] = {}

    @cached_property
    def _alone(self) -> CompiledModule:
        return program_for(self._module, self._settings)

    def in_lanes(self, arguments: Sequence[Value], active: Mask, steps: int) -> tuple[Value, ...]:
        """Run the active lanes. Return the results, then the contents of memory. Raises the errors of `run_batch`."""
        program = self._in_lanes.get(steps)
        if program is None:
            # Conversions to the llvm dialect are of single values.
            settings = replace(self._settings, max_steps=min(self._settings.max_steps, steps), casts={})
            program = self._in_lanes[steps] = program_for(self._module, settings)
        types = argument_types(self.function)
        given = [
            _over_lanes(value, type_, len(active)) if isinstance(type_, ty.MemRefType) else value
            for value, type_ in zip(arguments, types, strict=True)
        ]
        results = run_batch(program, self.function, given, len(active), active)
        held = [
            (value, buffer.load()) for value, buffer in zip(arguments, given, strict=True) if isinstance(buffer, Buffer)
        ]
        return (*results, *(Value(v.type, now.bits, now.poison, now.open, now.origins) for v, now in held))

    def alone(self, arguments: Sequence[Value | Buffer], steps: int, number: int) -> tuple[tuple[Value, ...], int]:
        """Run input ``number``. Return the results, and the number of steps. Raises HalfulpError."""
        run = Run(self._alone.settings)
        if self.output is not None:
            self.output.items = []
            run.outside = None if self._unknown is None else self._unknown(number, self.output.items)
        if isinstance(evaluator_of(self.function), Launched):
            return self._alone.run(self.function, arguments, run.outside), 0
        run.steps = steps
        frame = Frame(self._alone.function(self.function), run, None, (), None)
        try:
            return self._alone.finish(self.function, run, frame, arguments), steps - run.steps
        except LimitExceeded as error:
            if run.steps < 0:
                raise OutOfSteps(f"the program ran more than {steps} ops", location=error.location) from None
            raise

    @property
    def printed(self) -> tuple[Printed, ...]:
        """The texts and values that the last run printed."""
        return () if self.output is None else tuple(self.output.items)


@dataclass
class Settled:
    """Lanes after their runs: ``stopped`` by an error, ``left`` over to be run alone, or ``done`` with results."""

    done: Mask
    left: Mask
    stopped: list[tuple[Mask, HalfulpError]]
    results: tuple[Value, ...] = ()


class _Budget:
    """The steps that the runs of single inputs may take."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._endless = ENDLESS_RUNS * most
        self._left = ALL_RUNS * most
        self.longest = 0

    @property
    def is_long(self) -> bool:
        """True while a run that the limit of steps stops counts as endless."""
        return self._endless > 0

    @property
    def steps(self) -> int:
        """The most steps of the next run."""
        return self._most if self.is_long else min(self._most, max(SHORT_STEPS, 10 * self.longest))

    @property
    def spent(self) -> str:
        """Why no further input is run; "" as long as inputs are run."""
        return "" if self._left > 0 else f"the inputs before took {ALL_RUNS * self._most:,} steps"

    def ended(self, steps: int) -> None:
        """Note a run that ended."""
        self.longest = max(self.longest, steps)
        self._left -= steps

    def endless(self, steps: int) -> None:
        """Note a run that did not end."""
        self._endless -= steps
        self._left -= steps


class TwoRuns:
    """The runs of both versions. ``skipped``: inputs that were not compared, by the reason."""

    def __init__(
        self,
        before: tuple[Module, Operation],
        after: tuple[Module, Operation],
        arguments: Arguments,
        way: Carrier | LoweredCarrier,
        settings: Settings,
        unknown: UnknownFunctions | None = None,
    ) -> None:
        watched = any(prints(*version) or (unknown and is_uninterpreted(*version)) for version in (before, after))
        settings = replace(settings, write=silent, track_open=True)
        self._second = after
        self._first, self._settings = before, replace(settings, track_open=False)
        self.before = Version(*before, settings, watched, unknown)
        self.after = Version(*after, replace(settings, casts=casts_of(after[0])), watched, unknown)
        self.skipped: Counter[str] = Counter()
        self._arguments = arguments
        self._carrier = way
        lanes = way.lanes
        self._memory = lanes is not None and lanes.has_memory
        self._together = None if watched or lanes is None or lanes.signature.out else lanes
        if self._memory and not all(accesses_together(*version, settings) for version in (before, after)):
            self._together = None
        self._budget = _Budget(settings.max_steps)
        self._most_steps = settings.max_steps
        self._has_arrays = any(map(_on_arrays, before[1].walk()))
        # Consecutive inputs that were not supported, from the first on; -1 once one was. The reason of the last skip.
        self._refused = 0
        self._reason = ""

    def pieces(self) -> Iterator[Piece]:
        """Yield all inputs that are not skipped, some at a time, with the outcome of both versions."""
        for part in self._arguments.parts:
            if self._together is not None and part.has_lanes_of_memory and part.count > 1:
                first = 0
                while self._memory and first < min(PROBES, part.count) and not self._budget.longest:
                    yield from self._alone(part, [first])
                    first += 1
                yield from self._in_lanes(part, self._together, np.arange(part.count) >= first)
            else:
                yield from self._alone(part, range(part.count))

    def recorded(self, part: Part, row: int) -> tuple[Lineage, tuple[Value, ...]]:
        """Run one input by the first version and record the lineage of its outputs. Raises HalfulpError."""
        lineage, values = Lineage(), part.fresh(row)
        program = program_for(self._first[0], replace(self._settings, recorder=lineage))
        results = program.run(self._first[1], values)
        return lineage, (*results, *(each.load() for each in values if isinstance(each, Buffer)))

    def recorded_after(self, part: Part, row: int) -> tuple[Lineage, tuple[Value, ...]]:
        """Run one input by the second version and record the lineage of its outputs, as those of the first version."""
        lineage, call = Lineage(), self._carrier.call(part, row)
        casts = casts_of(self._second[0])
        program = program_for(self._second[0], replace(self._settings, recorder=lineage, casts=casts))
        return lineage, call.outputs(program.run(self._second[1], call.arguments))

    # --- in lanes ---

    def _in_lanes(self, part: Part, way: Carrier, active: Mask) -> Iterator[Piece]:
        arguments, steps = part.lanes(), max(BATCH_STEPS, 10 * self._budget.longest if self._memory else 0)
        first = settled(self.before, arguments, active, steps)
        for mask, error in first.stopped:
            yield Piece(part, np.flatnonzero(mask), error, None)
        alone = first.left
        if first.done.any():
            if self._memory:  # a lane that is left may run alone for as long as all lanes together
                self._budget.longest = max(self._budget.longest, steps // 10)
            carried = [each.to_target(value) for each, value in zip(way.signature.arguments, arguments, strict=True)]
            second = settled(self.after, carried, first.done, steps)
            for mask, error in second.stopped:
                rows = np.flatnonzero(mask)
                yield Piece(part, rows, _of_rows(first.results, rows, part.count), error)
            rows = np.flatnonzero(second.done)
            if len(rows):
                expected = _of_rows(first.results, rows, part.count)
                given = _of_rows(second.results, rows, part.count).values
                yield Piece(part, rows, expected, Ran(way.left(given)))
            alone = alone | second.left
        yield from self._alone(part, np.flatnonzero(alone).tolist())

    # --- alone ---

    def _alone(self, part: Part, rows: Sequence[int]) -> Iterator[Piece]:
        for done, row in enumerate(rows):
            if self._refused < REFUSED and not self._budget.spent:
                yield from self._one(part, row)
                continue
            self.skipped[self._budget.spent or self._reason] += len(rows) - done
            return

    def _one(self, part: Part, row: int) -> Iterator[Piece]:
        values = part.fresh(row)
        memory = [value for value in values if isinstance(value, Buffer)]
        rows = np.array([row])
        before, used = self._outcome(self.before, values, row)
        if isinstance(before, UndefinedBehavior | AssertionFailed):
            self._refused = -1
            yield Piece(part, rows, before, None)
            return
        if isinstance(before, HalfulpError):
            self._skip(before, "")
            return
        expected = one_lane((*before, *(buffer.load() for buffer in memory))), self.before.printed
        long = self._budget.is_long
        after, _ = self._carried(part, row, 10 * used)
        # A step of the first version may compute a whole array, for which the second one takes a step per element.
        long = long and (not self._has_arrays or 10 * used * _most_elements([*values, *before]) <= self._most_steps)
        if isinstance(after, Unsupported) or (isinstance(after, LimitExceeded) and not long):
            self._skip(after, "second version: ")
            return
        self._refused = -1
        found = after if isinstance(after, HalfulpError) else Ran(one_lane(after), self.after.printed)
        yield Piece(part, rows, Ran(*expected), found)

    def error_of(self, part: Part, row: int) -> HalfulpError | None:
        """Return the error with which the second version ends for one input; None if it ends without one."""
        outcome, _ = self._carried(part, row)
        return outcome if isinstance(outcome, HalfulpError) else None

    def _carried(self, part: Part, row: int, least: int = 0) -> tuple[tuple[Value, ...] | HalfulpError, int]:
        """Run one input by the second version. Return its outputs as values of the first version, and the number of
        steps.
        """
        try:
            call = self._carrier.call(part, row)
            returned, steps = self._outcome(self.after, call.arguments, row, least)
            return (returned if isinstance(returned, HalfulpError) else call.outputs(returned)), steps
        except (UndefinedBehavior, Unsupported) as error:  # what it was given, or returned, is not carried
            return error, 0

    def _skip(self, error: HalfulpError, which: str) -> None:
        self._reason = which + error.message
        self.skipped[self._reason] += 1
        if isinstance(error, Unsupported) and self._refused >= 0:
            self._refused += 1

    def _outcome(
        self, version: Version, values: Sequence[Value | Buffer], number: int, least: int = 0
    ) -> tuple[tuple[Value, ...] | HalfulpError, int]:
        """Run input ``number`` with at least ``least`` steps allowed. Return the outcome and the number of steps."""
        steps = max(self._budget.steps, least)
        try:
            results, used = version.alone(values, steps, number)
        except LimitExceeded as error:
            self._budget.endless(steps)
            return error, steps
        except (UndefinedBehavior, AssertionFailed, Unsupported) as error:
            return error, 0
        self._budget.ended(used)
        return results, used


def settled(version: Version, arguments: Sequence[Value], active: Mask, steps: int) -> Settled:
    """Run lanes, each time with at most ``steps``, until all lanes that are left return. Each round leaves out the
    lanes that stopped the run before it.
    """
    nothing, endless = np.zeros(len(active), np.bool_), 0
    found = Settled(nothing, nothing, [])
    for _ in range(ROUNDS):
        if not active.any():
            return found
        try:
            results = version.in_lanes(arguments, active, steps)
        except (UndefinedBehavior, AssertionFailed, LimitExceeded) as error:
            hit = nothing.copy()
            if error.lanes is not None:
                hit[error.lanes] = True
            hit &= active
            endless += isinstance(error, LimitExceeded)
            if not hit.any() or endless > ENDLESS_ROUNDS:  # the error does not say which, or each time other ones
                break
            if isinstance(error, LimitExceeded):
                found.left = found.left | hit
            else:
                found.stopped.append((hit, error))
            active = active & ~hit
        except Unsupported:  # an op that lanes cannot run together
            break
        else:
            found.done, found.results = active, results
            return found
    found.left = found.left | active
    return found


def _on_arrays(op: Operation) -> bool:
    """Tell whether one step of an op may compute many elements."""
    types = [value.type for value in (*op.operands, *op.results)]
    return any(isinstance(type_, ty.TensorType | ty.VectorType) for type_ in types) or op.name.startswith("linalg.")


def _most_elements(values: Sequence[Value | Buffer]) -> int:
    return max((prod(value.shape) for value in values), default=1)


def _of_rows(values: Sequence[Value], rows: npt.NDArray[np.intp], count: int) -> Ran:
    """Return the values of some lanes; values that are the same for all lanes are repeated."""
    full = [value if over_lanes(value) else repeated(value, count) for value in values]
    return Ran(tuple(full if len(rows) == count else [lanes_of(value, rows) for value in full]))


def one_lane(values: Sequence[Value]) -> tuple[Value, ...]:
    """Return the values of one input as values over one lane."""
    return tuple(repeated(value, 1) for value in values)
