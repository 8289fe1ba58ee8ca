"""The ops that make, choose and take apart values: constants, poison, select, and those of vectors and tensors."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from math import prod
from types import MappingProxyType

from halfulp.conformance.proving.solving import (
    Condition,
    Elements,
    Instance,
    Loose,
    NotProvable,
    Scalar,
    all_of,
    bits_of_term,
    either,
    is_true,
    merged,
    negation,
    number,
    some,
    z3,
)
from halfulp.fp_formats.formats import codes_to_ints
from halfulp.interp.ir import attributes as at
from halfulp.interp.ir import types as ty
from halfulp.interp.run.settings import Settings
from halfulp.interp.values.element_layout import runtime_shape

MAX_ELEMENTS = 64
"""Most elements of one value."""

DYNAMIC = -(1 << 63)
"""The mark in ``static_position`` for an index that an operand gives."""


def shape(type_: ty.Type, settings: Settings) -> tuple[int, ...]:
    """Return the shape of a value; () for a scalar.

    Raises NotProvable for memory, and for a size that is not known or too large.
    """
    if isinstance(type_, ty.MemRefType):
        raise NotProvable("there are no terms for memory")
    if not isinstance(type_, ty.VectorType | ty.TensorType):
        return ()
    scalable = isinstance(type_, ty.VectorType) and type_.scalable
    sizes = None if scalable and settings.vscale is None else runtime_shape(type_, settings.vscale)
    if sizes is None or None in sizes:
        raise NotProvable(f"the size of '{type_}' is not known")
    known = tuple(size for size in sizes if size is not None)
    if prod(known) > MAX_ELEMENTS:
        raise NotProvable(f"'{type_}' has more than {MAX_ELEMENTS} elements")
    return known


def _operand_shape(instance: Instance, number: int) -> tuple[int, ...]:
    return shape(instance.op.operands[number].type, instance.settings)


def _result_shape(instance: Instance) -> tuple[int, ...]:
    return shape(instance.op.results[0].type, instance.settings)


@dataclass(frozen=True, slots=True)
class ResultTerms:
    """The result of an op on whole values. ``undefined``: the condition of undefined behaviour."""

    elements: Elements
    undefined: Condition = False


Maker = Callable[[Instance, tuple[Elements, ...]], ResultTerms]


def _constant(instance: Instance, operands: tuple[Elements, ...]) -> ResultTerms:
    attribute, type_ = instance.op.properties["value"], instance.op.results[0].type
    bits, count = bits_of_term(type_, instance.settings), prod(_result_shape(instance))
    if isinstance(attribute, at.IntegerAttr | at.FloatAttr):
        codes = [attribute.code]
    elif isinstance(attribute, at.DenseElementsAttr):
        stored = ty.width_of(ty.element_type(type_))
        codes = codes_to_ints(attribute.codes, stored) if count else []
    else:
        raise NotProvable("there are no terms for constants other than numbers")
    if bits < ty.width_of(ty.element_type(type_)):
        half = 1 << (bits - 1)
        if any(not -half <= at.integer_of_code(code, ty.element_type(type_)) < half for code in codes):
            raise NotProvable(f"a constant does not fit an index of {bits} bits")
    elements = tuple(Scalar(number(code, bits)) for code in codes)
    return ResultTerms(elements * count if len(elements) == 1 else elements)  # a splat repeats its one element


def _poison(instance: Instance, operands: tuple[Elements, ...]) -> ResultTerms:
    poison = Scalar(number(0, bits_of_term(instance.op.results[0].type, instance.settings)), True)
    return ResultTerms((poison,) * prod(_result_shape(instance)))


def _select(instance: Instance, operands: tuple[Elements, ...]) -> ResultTerms:
    conditions, yes, no = operands
    if len(conditions) != len(yes):
        conditions *= len(yes)  # an i1 chooses between whole values
    return ResultTerms(tuple(_selected(c, a, b) for c, a, b in zip(conditions, yes, no, strict=True)))


def _selected(condition: Scalar, yes: Scalar, no: Scalar) -> Scalar:
    chosen = is_true(condition.bits)
    found = merged(chosen, yes, no)
    loose = Loose(found.loose.nan, found.loose.sign, some(found.loose.value, condition.loose.any))
    return Scalar(found.bits, some(condition.poison, either(chosen, yes.poison, no.poison)), loose)


@dataclass(frozen=True, slots=True)
class _Position:
    """A position among the leading dimensions of a value: an integer or an index for each."""

    indices: Sequence[int | Scalar]
    sizes: tuple[int, ...]

    @property
    def places(self) -> list[tuple[int, Condition]]:
        """The numbers of all positions, in row-major order, each with the condition that it is this one."""
        found = []
        for at_, place in enumerate(product(*map(range, self.sizes))):
            same = [
                index == k if isinstance(index, int) else index.bits == number(k, index.width)
                for index, k in zip(self.indices, place, strict=True)
            ]
            found.append((at_, all_of(*same)))
        return found

    @property
    def outside(self) -> Condition:
        """The condition that the position is outside, or poison."""
        return some(
            *(
                not 0 <= index < size if isinstance(index, int) else some(index.poison, negation(_below(index, size)))
                for index, size in zip(self.indices, self.sizes, strict=True)
            )
        )

    @property
    def loose(self) -> Condition:
        """The condition that the language leaves the position unspecified."""
        return some(*(index.loose.any for index in self.indices if isinstance(index, Scalar)))


def _below(index: Scalar, size: int) -> Condition:
    return z3.ULT(index.bits, number(size, index.width))


def _loosened(scalar: Scalar, condition: Condition) -> Scalar:
    loose = scalar.loose
    return Scalar(scalar.bits, scalar.poison, Loose(loose.nan, loose.sign, some(loose.value, condition)))


def _taken(whole: Elements, position: _Position) -> ResultTerms:
    """Return the part of a value at a position."""
    if not prod(position.sizes):
        raise NotProvable("there are no terms for values without elements")
    size = len(whole) // prod(position.sizes)
    part: Elements | None = None
    for place, here in position.places:
        own = whole[place * size : (place + 1) * size]
        part = own if part is None else tuple(merged(here, a, b) for a, b in zip(own, part, strict=True))
    assert part is not None
    return ResultTerms(tuple(_loosened(element, position.loose) for element in part), position.outside)


def _put(part: Elements, whole: Elements, position: _Position) -> ResultTerms:
    """Return a value with another part at a position."""
    size = len(part)
    elements = list(whole)
    for place, here in position.places:
        for k, element in enumerate(part, place * size):
            elements[k] = merged(here, element, whole[k])
    return ResultTerms(tuple(_loosened(element, position.loose) for element in elements), position.outside)


def _vector_position(instance: Instance, type_: ty.Type, dynamic: Sequence[Elements]) -> _Position:
    written = instance.op.properties["static_position"]
    assert isinstance(written, at.DenseArrayAttr)
    given = iter(dynamic)
    indices = [next(given)[0] if index == DYNAMIC else index for index in written.values]
    if -1 in indices:
        raise NotProvable("there are no terms for the poison index of vector.extract and vector.insert")
    return _Position(indices, shape(type_, instance.settings)[: len(indices)])


def _vector_extract(instance: Instance, operands: tuple[Elements, ...]) -> ResultTerms:
    whole, *dynamic = operands
    return _taken(whole, _vector_position(instance, instance.op.operands[0].type, dynamic))


def _vector_insert(instance: Instance, operands: tuple[Elements, ...]) -> ResultTerms:
    part, whole, *dynamic = operands
    made = _put(part, whole, _vector_position(instance, instance.op.operands[1].type, dynamic))
    if len(made.elements) != len(whole):
        raise NotProvable("there are no terms for vector.insert of a part of another shape")
    return made


def _tensor_extract(instance: Instance, operands: tuple[Elements, ...]) -> ResultTerms:
    whole, *indices = operands
    return _taken(whole, _Position([index[0] for index in indices], _operand_shape(instance, 0)))


def _tensor_insert(instance: Instance, operands: tuple[Elements, ...]) -> ResultTerms:
    part, whole, *indices = operands
    return _put(part, whole, _Position([index[0] for index in indices], _operand_shape(instance, 1)))


def _broadcast(instance: Instance, operands: tuple[Elements, ...]) -> ResultTerms:
    """Return the value with leading dimensions added, and dimensions of one element repeated."""
    (elements,) = operands
    own, result = (
        _operand_shape(instance, 0),
        _result_shape(instance),
    )
    own = (1,) * (len(result) - len(own)) + own
    found = []
    for place in product(*map(range, result)):
        index = 0
        for k, size in zip(place, own, strict=True):
            index = index * size + (k if size > 1 else 0)
        found.append(elements[index])
    return ResultTerms(tuple(found))


def _splat(instance: Instance, operands: tuple[Elements, ...]) -> ResultTerms:
    return ResultTerms(operands[0] * prod(_result_shape(instance)))


def _from_elements(instance: Instance, operands: tuple[Elements, ...]) -> ResultTerms:
    return ResultTerms(tuple(operand[0] for operand in operands))


STRUCTURE_OPS: Mapping[str, Maker] = MappingProxyType(
    {
        "arith.constant": _constant,
        "arith.select": _select,
        "ub.poison": _poison,
        "vector.broadcast": _broadcast,
        "vector.extract": _vector_extract,
        "vector.insert": _vector_insert,
        "tensor.extract": _tensor_extract,
        "tensor.insert": _tensor_insert,
        "tensor.splat": _splat,
        "tensor.from_elements": _from_elements,
    }
)
"""The ops on whole values that have terms; each has one result."""
