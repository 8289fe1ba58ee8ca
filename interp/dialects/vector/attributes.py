"""The vector dialect itself, with its enums and the constraints on types and attributes that its ops share."""

from __future__ import annotations

from collections.abc import Callable

from halfulp.interp.declare import constraints as c
from halfulp.interp.declare.declarations import AttributeConstraint, Dialect, TypeConstraint
from halfulp.interp.ir import attributes as at
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.dialect_attributes import EnumAttr, EnumDefinition

vector = Dialect("vector")

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
        {name: number for number, name in enumerate((*_KINDS, "minimumf"))},
        mnemonic="vector.kind",
    )
)
ITERATOR_TYPE = vector.enum(
    EnumDefinition("::mlir::vector::IteratorType", {"parallel": 0, "reduction": 1}, mnemonic="vector.iterator_type")
)

# --- types ------------------------------------------------------------------------------------------------------------


def _vectors(description: str, accepts: Callable[[ty.VectorType], bool]) -> TypeConstraint:
    return TypeConstraint(description, lambda type_: isinstance(type_, ty.VectorType) and accepts(type_), c.VECTOR.kind)


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
FIXED_RANKED = _vectors("fixed-length vector of any type values", lambda type_: bool(type_.shape) and is_fixed(type_))
# MLIR's description of the two has no text where other descriptions name the kind of vector.
SCALABLE_1D = _vectors(" of ranks 1", lambda type_: len(type_.shape) == 1 and any(type_.scalable))
RANK_1 = _vectors(" of ranks 1", lambda type_: len(type_.shape) == 1)
MASK = _vectors("vector of 1-bit signless integer values", lambda type_: type_.element == ty.I1)
RANKED_MASK = _vectors(
    "vector of 1-bit signless integer values", lambda type_: bool(type_.shape) and type_.element == ty.I1
)
FIXED_MASK = _vectors(
    "fixed-length vector of 1-bit signless integer values",
    lambda type_: bool(type_.shape) and is_fixed(type_) and type_.element == ty.I1,
)
FLOATS = _vectors("vector of floating-point values", lambda type_: isinstance(type_.element, ty.FloatType))
INDICES = _vectors(
    "vector of integer or index values",
    lambda type_: bool(type_.shape) and isinstance(type_.element, ty.IntegerType | ty.IndexType),
)
STEPS = _vectors(
    "vector of index values of ranks 1",
    lambda type_: len(type_.shape) == 1 and isinstance(type_.element, ty.IndexType),
)
SHAPED = TypeConstraint("shaped of any type values", lambda type_: isinstance(type_, ty.ShapedType))
TENSOR_OR_MEMREF = TypeConstraint(
    "Tensor or MemRef of any type values", lambda type_: isinstance(type_, ty.TensorType | ty.MemRefType)
)
STATIC_MEMREF = TypeConstraint(
    "statically shaped memref of any type values",
    lambda type_: isinstance(type_, ty.MemRefType) and type_.shape is not None and None not in type_.shape,
    c.MEMREF_KIND,
)

# --- attributes -------------------------------------------------------------------------------------------------------


def integers(attribute: at.Attribute | None) -> tuple[int, ...]:
    """Return the numbers of an array of integers, in either form that MLIR has for it."""
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


def _is_power_of_two(attribute: at.Attribute) -> bool:
    number = attribute.value if isinstance(attribute, at.IntegerAttr) and attribute.type == ty.I64 else 0
    return number > 0 and number.bit_count() == 1


ALIGNMENT = AttributeConstraint(
    "64-bit signless integer attribute whose value is positive and whose value is a power of two > 0",
    _is_power_of_two,
)
FLAGS = AttributeConstraint("1-bit boolean array attribute", _array_of(c.BOOL_ATTR.accepts))
INTEGERS = AttributeConstraint("64-bit integer array attribute", _array_of(c.INTEGER_64_ATTR.accepts))
ITERATORS = AttributeConstraint("Iterator type should be an enum.", _array_of(ITERATOR_TYPE.accepts))
MAPS = AttributeConstraint(
    "AffineMap array attribute", _array_of(lambda attribute: isinstance(attribute, at.AffineMapAttr))
)
