"""The types of the shape dialect, and the constraints on operands and results that are made of them."""

from __future__ import annotations

from halfulp.interp.declare.declarations import TypeConstraint
from halfulp.interp.ir import types as ty

SHAPE = ty.DialectType("shape", "shape")
SIZE = ty.DialectType("shape", "size")
VALUE_SHAPE = ty.DialectType("shape", "value_shape")
WITNESS = ty.DialectType("shape", "witness")
EXTENTS = ty.TensorType((None,), ty.INDEX)


def is_extent_tensor(type_: ty.Type) -> bool:
    """Tell whether a type is a list of sizes: a tensor of index with one dimension."""
    return isinstance(type_, ty.TensorType) and len(type_.shape or ()) == 1 and type_.element == ty.INDEX


def is_shape(type_: ty.Type) -> bool:
    """Tell whether values of a type are shapes."""
    return type_ == SHAPE or is_extent_tensor(type_)


def is_size(type_: ty.Type) -> bool:
    """Tell whether values of a type are sizes."""
    return type_ in (SIZE, ty.INDEX)


def may_be_error(type_: ty.Type) -> bool:
    """Tell whether a value of a type may be an error."""
    return type_ in (SHAPE, SIZE, VALUE_SHAPE)


def _integers(type_: ty.Type) -> bool:
    plain = isinstance(type_, ty.TensorType) and isinstance(type_.element, ty.IntegerType | ty.IndexType)
    return plain and len(ty.shape_of(type_) or ()) == 1


# MLIR has no words for these types.
THE_SHAPE = TypeConstraint("", lambda type_: type_ == SHAPE, builds=SHAPE)
THE_SIZE = TypeConstraint("", lambda type_: type_ == SIZE, builds=SIZE)
THE_VALUE_SHAPE = TypeConstraint("", lambda type_: type_ == VALUE_SHAPE, builds=VALUE_SHAPE)
THE_WITNESS = TypeConstraint("", lambda type_: type_ == WITNESS, builds=WITNESS)
SHAPE_OR_EXTENTS = TypeConstraint("shape or extent tensor", is_shape)
SIZE_OR_INDEX = TypeConstraint("size or index", is_size)
SHAPE_OR_SIZE = TypeConstraint("shape or size", lambda type_: type_ in (SHAPE, SIZE))
ANY_SHAPE_OR_SIZE = TypeConstraint("any shape or size", lambda type_: is_shape(type_) or is_size(type_))
EXTENT_TENSOR = TypeConstraint("1D tensor of index values", is_extent_tensor)
INDEX_TENSOR = TypeConstraint(
    "tensor of index values", lambda type_: isinstance(type_, ty.TensorType) and type_.element == ty.INDEX
)
SHAPED = TypeConstraint("shaped of any type values", lambda type_: isinstance(type_, ty.ShapedType))
SHAPED_OR_VALUE_SHAPE = TypeConstraint(
    "shaped of any type values or ", lambda type_: isinstance(type_, ty.ShapedType) or type_ == VALUE_SHAPE
)
NUMBERS_OR_VALUE_SHAPE = TypeConstraint(
    "1D tensor of integer or index values or ", lambda type_: _integers(type_) or type_ == VALUE_SHAPE
)
