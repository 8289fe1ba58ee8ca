"""Evaluation of the ops that only move elements. Poison and unspecified elements move along with the bits."""

from __future__ import annotations

from collections.abc import Callable
from math import lcm
from typing import Any

import numpy as np
import numpy.typing as npt

from halfulp.fp_formats.formats import LIMB_BITS, Codes, ints_to_codes
from halfulp.interp.declare import declarations as d
from halfulp.interp.dialects import elements as el
from halfulp.interp.ir import attributes as at
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.base import narrowed
from halfulp.interp.ir.dialect_attributes import EnumAttr, EnumDefinition
from halfulp.interp.ir.operations import Operation, unsupported
from halfulp.interp.ir.types import code_layout, runtime_shape
from halfulp.interp.run.frames import Run
from halfulp.interp.run.settings import Settings, check_allocation
from halfulp.interp.values.buffers import of_bytes
from halfulp.interp.values.value import Value, retyped
from halfulp.semantics.kernel import PoisonIds

# --- attributes -------------------------------------------------------------------------------------------------------
#
# The vector dialect itself, with its enums and the constraints on types and attributes that its ops share.

vector = d.Dialect("vector")

PUNCTUATION = vector.enum(
    EnumDefinition(
        "::mlir::vector::PrintPunctuation",
        {"no_punctuation": 0, "newline": 1, "comma": 2, "open": 3, "close": 4},
        mnemonic="vector.punctuation",
    )
)
_KINDS = ("add", "mul", "minui", "minsi", "minnumf", "maxui", "maxsi", "maxnumf", "and", "or", "xor", "maximumf")
KIND = vector.enum(
    EnumDefinition(
        "::mlir::vector::CombiningKind",
        {name: number for number, name in enumerate((*_KINDS, "minimumf", "minimumnumf", "maximumnumf"))},
        mnemonic="vector.kind",
    )
)
ITERATOR_TYPE = vector.enum(
    EnumDefinition("::mlir::vector::IteratorType", {"parallel": 0, "reduction": 1}, mnemonic="vector.iterator_type")
)

# --- types ------------------------------------------------------------------------------------------------------------


def _vectors(description: str, accepts: Callable[[ty.VectorType], bool]) -> d.TypeConstraint:
    return d.TypeConstraint(
        description, lambda type_: isinstance(type_, ty.VectorType) and accepts(type_), d.VECTOR.kind
    )


def is_fixed(type_: ty.VectorType) -> bool:
    """Tell whether no dimension of a vector is scalable."""
    return not any(type_.scalable)


def scalable_dimensions(type_: ty.VectorType) -> tuple[bool, ...]:
    """Return for each dimension whether it is scalable."""
    return type_.scalable or (False,) * len(type_.shape)


def vector_of(shape: tuple[int, ...], element: ty.Type, scalable: tuple[bool, ...] = ()) -> ty.VectorType:
    """Return a vector type; ``scalable`` may be all False."""
    return ty.VectorType(shape, element, scalable if any(scalable) else ())


RANKED = _vectors("vector of any type values", lambda type_: bool(type_.shape))
"""Vectors of rank 1 and more, which MLIR describes as it does all vectors."""
FIXED = _vectors("fixed-length vector of any type values", is_fixed)
# MLIR's description of the two has no text where other descriptions name the kind of vector.
SCALABLE_1D = _vectors(" of ranks 1", lambda type_: len(type_.shape) == 1 and any(type_.scalable))
RANK_1 = _vectors(" of ranks 1", lambda type_: len(type_.shape) == 1)
MASK = _vectors("vector of 1-bit signless integer values", lambda type_: type_.element == ty.I1)
RANKED_MASK = _vectors(
    "vector of 1-bit signless integer values", lambda type_: bool(type_.shape) and type_.element == ty.I1
)
FLOATS = _vectors("vector of floating-point values", lambda type_: isinstance(type_.element, ty.FloatType))
INDICES = _vectors(
    "vector of integer or index values",
    lambda type_: bool(type_.shape) and isinstance(type_.element, ty.IntegerType | ty.IndexType),
)


def _counts(element: ty.Type) -> bool:
    if isinstance(element, ty.IntegerType):
        return element.signedness == "signless" and element.width >= 8
    return isinstance(element, ty.IndexType)


STEPS = _vectors(
    "vector of index or signless integer of at least 8 bits values of ranks 1",
    lambda type_: len(type_.shape) == 1 and _counts(type_.element),
)
SHAPED = d.TypeConstraint("shaped of any type values", lambda type_: isinstance(type_, ty.ShapedType))
TENSOR_OR_MEMREF = d.TypeConstraint(
    "Tensor or MemRef of any type values", lambda type_: isinstance(type_, ty.TensorType | ty.MemRefType)
)
STATIC_MEMREF = d.TypeConstraint(
    "statically shaped memref of any type values",
    lambda type_: isinstance(type_, ty.MemRefType) and type_.shape is not None and None not in type_.shape,
    d.MEMREF_KIND,
)

# --- attributes -------------------------------------------------------------------------------------------------------


def integers(attribute: at.Attribute | None) -> tuple[int, ...]:
    """Return the numbers of an array attribute of integers: of a dense array, or of an array of integer attributes."""
    if isinstance(attribute, at.DenseArrayAttr):
        return attribute.values
    assert isinstance(attribute, at.ArrayAttr)
    return tuple(entry.value for entry in attribute.elements if isinstance(entry, at.IntegerAttr))


def kind_of(attribute: at.Attribute | None) -> str:
    """Return the name of a combining kind."""
    assert isinstance(attribute, EnumAttr)
    return attribute.keywords


def _array_of(accepts: Callable[[at.Attribute], bool]) -> Callable[[at.Attribute], bool]:
    return lambda attribute: isinstance(attribute, at.ArrayAttr) and all(map(accepts, attribute.elements))


FLAGS = d.AttributeConstraint("1-bit boolean array attribute", _array_of(d.BOOL_ATTR.accepts))
INTEGERS = d.AttributeConstraint("64-bit integer array attribute", _array_of(d.INTEGER_64_ATTR.accepts))
ITERATORS = d.AttributeConstraint("Iterator type should be an enum.", _array_of(ITERATOR_TYPE.accepts))
MAPS = d.AttributeConstraint(
    "AffineMap array attribute", _array_of(lambda attribute: isinstance(attribute, at.AffineMapAttr))
)


# --- moves ------------------------------------------------------------------------------------------------------------


def static_shape(type_: ty.Type, settings: Settings) -> tuple[int, ...]:
    """Return the shape of the values of a vector or scalar type. Raises LimitExceeded for a shape that is too large."""
    shape = tuple(size or 0 for size in runtime_shape(type_, settings.vscale) or ())
    check_allocation(type_, shape, settings)
    return shape


def _moving(build: Callable[[Operation, tuple[int, ...]], el.Move]) -> Callable[[Operation, Settings], el.Function]:
    """Return the builder of functions that run an op which moves the elements of its operand. ``build`` takes the shape
    of the result.
    """

    def function(op: Operation, settings: Settings) -> el.Function:
        type_ = op.results[0].type

        def move(run: Run, operands: el.Operands) -> tuple[Any, ...]:
            return (el.rearranged(operands[0], type_, build(op, static_shape(type_, settings))),)

        return move

    return function


def _transposition(op: Operation, shape: tuple[int, ...]) -> el.Move:
    axes = integers(op.properties["permutation"])
    return lambda array, trailing: array.transpose(*axes, *range(len(axes), array.ndim)).copy()


def _slice(op: Operation, shape: tuple[int, ...]) -> el.Move:
    starts = integers(op.properties["offsets"])
    place = tuple(slice(start, start + size) for start, size in zip(starts, shape, strict=False))
    return lambda array, trailing: array[place].copy()


transpose = _moving(_transposition)
extract_slice = _moving(_slice)


def broadcast(op: Operation, settings: Settings) -> el.Function:
    """Return the function that runs vector.broadcast: it adds leading axes, and repeats axes of one element."""
    type_ = op.results[0].type

    def repeat(run: Run, operands: el.Operands) -> tuple[Any, ...]:
        return (el.repeated(operands[0], static_shape(type_, settings), type_, len(operands[0].shape)),)

    return repeat


def shape_cast(op: Operation, settings: Settings) -> el.Function:
    """Return the function that runs vector.shape_cast: the elements stay in row-major order."""
    type_ = op.results[0].type

    def cast(run: Run, operands: el.Operands) -> tuple[Any, ...]:
        shape = static_shape(type_, settings)
        if np.prod(shape, dtype=object) != operands[0].size:
            raise unsupported(op, f"'{operands[0].type}' and '{type_}' have different numbers of elements")
        return (el.reshaped(operands[0], type_, shape),)

    return cast


def bitcast(op: Operation, settings: Settings) -> el.Function:
    """Return the function that runs vector.bitcast: the bits of the last dimension, the lowest of the first element
    first. An element that has a bit of a poisoned element is poison.
    """
    type_ = op.results[0].type
    source, target = (ty.element_type(value.type) for value in (op.operands[0], op.results[0]))

    def cast(run: Run, operands: el.Operands) -> tuple[Any, ...]:
        (value,) = operands
        before, after = ty.width_of(source), ty.width_of(target)
        if before == after:
            return (retyped(value, type_),)
        shape = static_shape(type_, settings)
        group = lcm(before, after)

        def packed(codes: Any) -> Any:
            return _packed(_unpacked(codes, before).reshape(len(codes), group // after, after), target)

        def spread(marks: Any) -> Any:
            return of_bytes(marks.repeat(before, axis=-1).reshape(len(marks), group // after, after))

        def regrouped(array: Any, convert: Callable[[Any], Any]) -> Any:
            """Convert groups of elements, each the smallest that has all bits of one or more whole elements of the
            other type; many groups at a time.
            """
            if array is None:
                return None
            groups = array.reshape(-1, group // before, *array.shape[value.ndim :])
            many = max(1, _BITS_AT_ONCE // group)
            parts = [convert(groups[start : start + many]) for start in range(0, max(1, len(groups)), many)]
            return np.concatenate(parts).reshape(shape + parts[0].shape[2:])

        poison, open_ = regrouped(value.poison, spread), regrouped(value.open, spread)
        return (Value(type_, regrouped(value.bits, packed), poison, open_, value.origins),)

    return cast


_BITS_AT_ONCE = 1 << 20
"""The bits of a vector that are taken apart at the same time."""


def _unpacked(codes: Codes, width: int) -> npt.NDArray[np.uint8]:
    """Return the bits of codes along a new last axis, the lowest first."""
    limbs = codes if width > LIMB_BITS else codes[..., np.newaxis]
    bits = (limbs[..., np.newaxis] >> np.arange(limbs.itemsize * 8, dtype=limbs.dtype)) & limbs.dtype.type(1)
    flat: npt.NDArray[np.uint8] = bits.astype(np.uint8).reshape(*limbs.shape[:-1], -1)
    return flat[..., :width]


def _packed(bits: npt.NDArray[np.uint8], element: ty.Type) -> Codes:
    """Return the codes of elements whose bits lie along the last axis, the lowest first."""
    dtype, trailing = code_layout(element)
    size = dtype.itemsize * 8
    whole = np.zeros((*bits.shape[:-1], (trailing[0] if trailing else 1) * size), dtype)
    whole[..., : bits.shape[-1]] = bits
    limbs = whole.reshape(*bits.shape[:-1], -1, size) << np.arange(size, dtype=dtype)
    codes: Codes = np.bitwise_or.reduce(limbs, axis=-1)
    return codes if trailing else codes[..., 0]


def insert_slice(op: Operation, settings: Settings) -> el.Function:
    """Return the function that runs vector.insert_strided_slice. The slice lies in the last dimensions."""
    starts = integers(op.properties["offsets"])

    def insert(run: Run, operands: el.Operands) -> tuple[Any, ...]:
        part, whole = operands
        behind = len(whole.shape) - len(part.shape)
        place = tuple(slice(at, at + size) for at, size in zip(starts[behind:], part.shape, strict=True))
        return (el.replaced(run, whole, (*starts[:behind], *place), part),)

    return insert


def _joined(operands: el.Operands, type_: ty.Type, run: Run, move: Callable[[Any, Any], Any]) -> Value:
    """Return a value that takes its elements from two others by ``move``, which is called for each kind of array."""
    one, other = operands

    def masks(first: Any, second: Any) -> Any:
        if first is None and second is None:
            return None
        dtype = (second if first is None else first).dtype
        parts = (
            np.zeros(value.shape, dtype) if mask is None else mask for value, mask in ((one, first), (other, second))
        )
        return move(*parts)

    poison = masks(one.poison, other.poison)
    if poison is not None and not poison.any():
        poison = None
    open_ = masks(one.open, other.open)
    return Value(type_, move(one.bits, other.bits), poison, open_, None if poison is None else run.origins)


def shuffle(op: Operation, settings: Settings) -> el.Function:
    """Return the function that runs vector.shuffle. A place of -1 in the mask is poison."""
    type_ = op.results[0].type
    mask = np.array(integers(op.properties["mask"]), np.int64)
    lost = mask < 0
    ranks = [len(ty.shape_of(value.type) or ()) for value in op.operands]

    def leading(array: Any, rank: int) -> Any:
        return array if rank else array[np.newaxis]

    def move(one: Any, other: Any) -> Any:
        return np.concatenate([leading(one, ranks[0]), leading(other, ranks[1])])[np.where(lost, 0, mask)]

    def shuffled(run: Run, operands: el.Operands) -> tuple[Any, ...]:
        value = _joined(operands, type_, run, move)
        if not lost.any():
            return (value,)
        where = np.broadcast_to(lost.reshape(-1, *(1,) * (len(value.shape) - 1)), value.shape)
        ids = el.poison_ids(op, run, settings, where, "the place in the mask is -1")
        return (spoiled(value, ids, where, run),)

    return shuffled


def spoiled(value: Value, ids: PoisonIds | None, where: npt.NDArray[np.bool_], run: Run) -> Value:
    """Return a value in which the elements that the mask ``where`` selects are new poison. ``ids``: the poison before
    it.
    """
    if ids is None:
        return value
    kept = 0 if value.poison is None else value.poison
    merged = np.where(where, ids, kept).astype(np.uint16)
    limbs = value.bits.ndim - where.ndim
    bits = np.where(where.reshape(where.shape + (1,) * limbs), value.bits.dtype.type(0), value.bits)
    return Value(value.type, bits, merged, value.open, run.origins)


def interleave(op: Operation, settings: Settings) -> el.Function:
    """Return the function that runs vector.interleave: elements of two vectors in turn, along the last dimension."""
    type_ = op.results[0].type

    def interleaved(run: Run, operands: el.Operands) -> tuple[Any, ...]:
        rank = len(operands[0].shape)
        shape = static_shape(type_, settings)

        def move(one: Any, other: Any) -> Any:
            return np.stack([one, other], axis=rank).reshape(shape + one.shape[rank:])

        return (_joined(operands, type_, run, move),)

    return interleaved


def deinterleave(op: Operation, settings: Settings) -> el.Function:
    """Return the function that runs vector.deinterleave: the elements at even places, and those at odd ones."""
    types = [result.type for result in op.results]

    def parts(run: Run, operands: el.Operands) -> tuple[Any, ...]:
        outer = (slice(None),) * (len(operands[0].shape) - 1)
        return tuple(
            el.picked(operands[0], (*outer, slice(start, None, 2)), type_) for start, type_ in enumerate(types)
        )

    return parts


def from_elements(op: Operation, settings: Settings) -> el.Function:
    """Return the function that runs vector.from_elements."""
    type_ = op.results[0].type

    def make(run: Run, elements: el.Operands) -> tuple[Any, ...]:
        shape = static_shape(type_, settings)
        if not elements:
            dtype, trailing = code_layout(ty.element_type(type_))
            return (Value(type_, np.zeros(shape + trailing, dtype)),)
        return (el.stacked(run, elements, shape, type_),)

    return make


def to_elements(op: Operation, settings: Settings) -> el.Function:
    """Return the function that runs vector.to_elements."""

    def take(run: Run, operands: el.Operands) -> tuple[Any, ...]:
        whole = operands[0]
        element = whole.element_type
        return tuple(el.picked(whole, index, element) for index in np.ndindex(whole.shape))

    return take


def step(op: Operation, settings: Settings) -> el.Function:
    """Return the function that runs vector.step: 0, 1, 2 and so on, of which integers keep the low bits."""
    type_ = op.results[0].type
    width = settings.width(ty.element_type(type_))

    def count(run: Run, operands: el.Operands) -> tuple[Any, ...]:
        (size,) = static_shape(type_, settings)
        return (Value(type_, ints_to_codes([number % (1 << width) for number in range(size)], width, (size,))),)

    return count


def vscale_of(op: Operation, settings: Settings) -> int:
    """Return vscale, the factor in the sizes of scalable vectors. Raises Unsupported if the settings do not have it."""
    if settings.vscale is None:
        raise unsupported(op, "the multiple of scalable vectors depends on the machine", "give vscale=N (--vscale=N)")
    return settings.vscale


def vscale(op: Operation, settings: Settings) -> el.Function:
    """Return the function that runs vector.vscale."""
    return lambda run, operands: (Value(ty.INDEX, np.array(vscale_of(op, settings), np.uint64)),)


def _scalable_place(op: Operation, part: tuple[int, ...], fixed: bool, settings: Settings) -> slice:
    """Return the place of a part of a scalable vector; the position of a scalable part counts in units of vscale."""
    start = op.number("pos") * (1 if fixed else settings.vscale or 1)
    return slice(start, start + part[0])


def scalable_extract(op: Operation, settings: Settings) -> el.Function:
    """Return the function that runs vector.scalable.extract. Elements beyond the end of the vector are poison."""
    type_ = narrowed(op.results[0].type, ty.VectorType)

    def take(run: Run, operands: el.Operands) -> tuple[Any, ...]:
        shape = static_shape(type_, settings)
        place = _scalable_place(op, shape, is_fixed(type_), settings)
        if place.stop > operands[0].shape[0]:
            return (el.poisoned(op, run, settings, type_, "the part leaves the vector"),)
        return (el.picked(operands[0], (place,), type_),)

    return take


def scalable_insert(op: Operation, settings: Settings) -> el.Function:
    """Return the function that runs vector.scalable.insert. If the part does not fit into the vector, the whole result
    is poison.
    """

    def put(run: Run, operands: el.Operands) -> tuple[Any, ...]:
        part, whole = operands
        place = _scalable_place(op, part.shape, is_fixed(narrowed(part.type, ty.VectorType)), settings)
        if place.stop > whole.shape[0]:
            return (el.poisoned(op, run, settings, whole.type, "the part leaves the vector"),)
        return (el.replaced(run, whole, (place,), part),)

    return put
