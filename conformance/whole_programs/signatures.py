"""Signatures that a pass has changed so that the bits stay: values of one type carried by values of another.

Each rule of `_RULES` says when a type carries another, and how. Where no rule holds, the functions are not compared.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt

from halfulp.conformance.whole_programs.arguments import Part
from halfulp.fp_formats.formats import codes_to_ints, ints_to_codes
from halfulp.interp.dialects.llvm.abi import Convention, convention_of
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.errors import Unsupported
from halfulp.interp.ir.operations import Operation, argument_types, result_types
from halfulp.interp.ir.types import element_width, width_of
from halfulp.interp.values.buffers import Buffer, to_argument
from halfulp.interp.values.element_layout import concrete
from halfulp.interp.values.value import Value
from halfulp.semantics.kernel import Origin, Origins

Masks = npt.NDArray[Any]
Convert = Callable[[Value, ty.Type, tuple[int, ...]], Value]
"""Makes a value of a type and of a shape, which lanes go before."""


@dataclass(frozen=True)
class CarriedType:
    """A type of the first version, the type that carries its values in the second, and how; "" if both are equal."""

    source: ty.Type
    target: ty.Type
    how: str = ""
    forth: Convert | None = None
    back: Convert | None = None

    def to_target(self, value: Value) -> Value:
        """Return the value of the second version; leading axes over lanes stay."""
        return value if self.forth is None else _converted(self.forth, value, self.target)

    def to_source(self, value: Value) -> Value:
        """Return the value of the first version."""
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
    """Return the integers whose halves are along the last axis: poison if one half is."""
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
    """Return how values of one type are carried by another; None if no rule says how."""
    if source == target:
        return CarriedType(source, target)
    if any(isinstance(type_, ty.VectorType) and type_.scalable for type_ in (source, target)):
        return None
    return next((CarriedType(source, target, *row[1:]) for row in _RULES if row[0](source, target)), None)


@dataclass(frozen=True)
class Signature:
    """How the arguments and results of one version are carried by those of another.

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
        """Describe the mapping for the user."""
        texts = []
        for what, all_ in (("argument", self.arguments), ("result", self.results)):
            texts += [f"{what} {number}: {each}" for number, each in enumerate(all_) if each.how]
        texts += [f"result {number}: an argument of the second version" for number in self.out]
        return (f"mapped: {'; '.join(texts)}",) if texts else ()


def signature(before: Operation, after: Operation) -> Signature:
    """Return how the signature of one version is carried by another. Raises Unsupported if no rule says how."""
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
        lost = any(_is_memory(one) and not _is_memory(two) for one, two in zip(inputs, own, strict=True))
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


def _is_memory(type_: ty.Type) -> bool:
    return isinstance(type_, ty.MemRefType)


def _is_static_memory(type_: ty.Type) -> bool:
    shape = ty.shape_of(type_)
    return _is_memory(type_) and shape is not None and None not in shape


# --- input transfer ---------------------------------------------------------------------------------------------------
#
# Carry inputs from one version of a function to another, and what that returns and stores back.


@dataclass(frozen=True)
class Call:
    """The arguments of one run, and the function that makes outputs of the first version of what it returned."""

    arguments: Sequence[Any]
    outputs: Callable[[Sequence[Value]], tuple[Value, ...]]


class Carrier:
    """The way of single inputs to a version of a function, whose signature may be another one, and back."""

    def __init__(self, signature: Signature, after: Operation) -> None:
        self.signature = signature
        self._extra = argument_types(after)[len(signature.arguments) :]

    @property
    def notes(self) -> tuple[str, ...]:
        """Describe the way for the user."""
        return self.signature.notes

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
        """Return what the version has done as values of the first one: its results, then the contents of memory.

        ``given``: the arguments of the run. ``returned``: what it returned.
        """
        mapped = self.signature
        stored = dict(zip(mapped.out, map(_loaded, given[len(mapped.arguments) :]), strict=True))
        values = iter(returned)
        results = [stored[number] if number in stored else next(values) for number in range(len(mapped.results))]
        contents = [
            each.to_source(_loaded(buffer))
            for each, buffer in zip(mapped.arguments, given, strict=False)
            if isinstance(each.source, ty.MemRefType)
        ]
        return (*self.returned(results), *contents)

    def returned(self, values: Sequence[Value]) -> tuple[Value, ...]:
        """Return the results of the version as those of the first one."""
        return tuple(each.to_source(value) for each, value in zip(self.signature.results, values, strict=True))


class LoweredCarrier:
    """The way of single inputs to a function of the llvm dialect, by the convention that it follows, and back."""

    def __init__(self, before: Operation, after: Operation) -> None:
        source = ty.FunctionType(argument_types(before), result_types(before))
        self._how: Convention = convention_of(source, after)

    @property
    def notes(self) -> tuple[str, ...]:
        """Describe the way for the user."""
        return (f"mapped: to the llvm dialect, {self._how.name}",)

    def call(self, part: Part, row: int) -> Call:
        """Return one input as a call of the version. Raises Unsupported for values that are not passed so."""
        values = part.fresh(row)
        entered = self._how.enter(values)

        def outputs(returned: Sequence[Value]) -> tuple[Value, ...]:
            results = entered.leave(returned)
            return (*results, *(value.load() for value in values if isinstance(value, Buffer)))

        return Call(entered.arguments, outputs)


def carrier(before: Operation, after: Operation) -> Carrier | LoweredCarrier:
    """Return the way from one version of a function to another. Raises Unsupported if there is none."""
    if after.name == "llvm.func" and before.name != "llvm.func":
        return LoweredCarrier(before, after)
    return Carrier(signature(before, after), after)


def _unwritten(type_: ty.Type) -> Buffer:
    """Return new memory of a static type, every element of it poison."""
    assert isinstance(type_, ty.MemRefType)
    buffer = Buffer.allocate(type_, tuple(size or 0 for size in type_.shape or ()))
    buffer.allocation.spoil(Origin("memory", "", "an element of a result was never written"), Origins())
    return buffer


def _loaded(value: Value | Buffer) -> Value:
    return value.load() if isinstance(value, Buffer) else value
