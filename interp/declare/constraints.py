"""Type and attribute constraints that the dialects share, with MLIR's descriptions (`CommonTypeConstraints.td`)."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

from halfulp.interp.declare.declarations import AttributeConstraint, TypeConstraint, TypeKind
from halfulp.interp.ir import attributes as at
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.dialect_attributes import EnumDefinition


def _is_float(type_: ty.Type) -> bool:
    return isinstance(type_, ty.FloatType)


def _is_signless(type_: ty.Type) -> bool:
    return isinstance(type_, ty.IntegerType) and type_.signedness == "signless"


def _is_signless_or_index(type_: ty.Type) -> bool:
    return _is_signless(type_) or isinstance(type_, ty.IndexType)


def _is_bool(type_: ty.Type) -> bool:
    return type_ == ty.I1


def _like(test: Callable[[ty.Type], bool]) -> Callable[[ty.Type], bool]:
    """Return a test for the type itself, or a vector or tensor of it."""

    def accepts(type_: ty.Type) -> bool:
        return test(type_.element if isinstance(type_, ty.VectorType | ty.TensorType) else type_)

    return accepts


def _like_or_memref(test: Callable[[ty.Type], bool]) -> Callable[[ty.Type], bool]:
    def accepts(type_: ty.Type) -> bool:
        unranked = isinstance(type_, ty.MemRefType) and type_.shape is None
        return not unranked and test(ty.element_type(type_))

    return accepts


def _scalar_or_tensor(test: Callable[[ty.Type], bool]) -> Callable[[ty.Type], bool]:
    def accepts(type_: ty.Type) -> bool:
        return test(type_.element if isinstance(type_, ty.TensorType) else type_)

    return accepts


def _is_quantized(type_: ty.Type) -> bool:
    return isinstance(type_, ty.UniformQuantizedType | ty.AnyQuantizedType | ty.CalibratedQuantizedType)


def _is_function(type_: ty.Type) -> bool:
    return isinstance(type_, ty.FunctionType)


_RANKED = TypeKind("builtin.tensor", lambda type_: isinstance(type_, ty.TensorType) and type_.shape is not None)
_TENSOR = TypeKind("", lambda type_: isinstance(type_, ty.TensorType))
_VECTOR = TypeKind("builtin.vector", lambda type_: isinstance(type_, ty.VectorType))
_FUNCTION = TypeKind("builtin.function", _is_function)

MEMREF_KIND = TypeKind("builtin.memref", lambda type_: isinstance(type_, ty.MemRefType) and type_.shape is not None)

ANY = TypeConstraint("any type", lambda type_: True)
INTEGER_OR_INDEX = TypeConstraint("signless integer or index", _is_signless_or_index)
SHAPED = TypeConstraint("shaped of any type values", lambda type_: isinstance(type_, ty.ShapedType))
INTEGER = TypeConstraint("integer", lambda type_: isinstance(type_, ty.IntegerType))
BOOL = TypeConstraint("1-bit signless integer", _is_bool)
FUNCTION = TypeConstraint("function type", _is_function, _FUNCTION)
FLOAT_LIKE = TypeConstraint("floating-point-like", _like(_is_float))
INTEGER_LIKE = TypeConstraint("signless-integer-like", _like(_is_signless_or_index))
FIXED_WIDTH_INTEGER_LIKE = TypeConstraint("signless-fixed-width-integer-like", _like(_is_signless))
BOOL_LIKE = TypeConstraint("bool-like", _like(_is_bool))
BITCASTABLE = TypeConstraint(
    "signless-integer-or-float-like or memref of signless-integer or float",
    _like_or_memref(lambda type_: _is_signless(type_) or _is_float(type_)),
)
INDEX_CASTABLE = TypeConstraint(
    "signless-integer-like or memref of signless-integer", _like_or_memref(_is_signless_or_index)
)
INDEX = TypeConstraint("index", lambda type_: isinstance(type_, ty.IndexType))
TENSOR = TypeConstraint("tensor of any type values", lambda type_: isinstance(type_, ty.TensorType), _TENSOR)
RANKED_TENSOR = TypeConstraint(
    "ranked tensor of any type values",
    lambda type_: isinstance(type_, ty.TensorType) and type_.shape is not None,
    _RANKED,
)
NON_ZERO_RANK_TENSOR = TypeConstraint(
    "non-0-ranked or unranked tensor", lambda type_: isinstance(type_, ty.TensorType) and type_.shape != (), _TENSOR
)
STATIC_TENSOR = TypeConstraint(
    "statically shaped tensor of any type values",
    lambda type_: isinstance(type_, ty.TensorType) and ty.element_count(type_) is not None,
    _RANKED,
)
VECTOR = TypeConstraint("vector of any type values", lambda type_: isinstance(type_, ty.VectorType), _VECTOR)
# MLIR describes it by nothing.
PRINTABLE = TypeConstraint(
    "",
    lambda type_: isinstance(
        type_.element if isinstance(type_, ty.VectorType) else type_, ty.IntegerType | ty.IndexType | ty.FloatType
    ),
)
FLOAT_OR_TENSOR = TypeConstraint("scalar or tensor of floating-point", _scalar_or_tensor(_is_float))
QUANTIZED_OR_TENSOR = TypeConstraint("scalar or tensor of quantized type", _scalar_or_tensor(_is_quantized))
STORAGE_OR_TENSOR = TypeConstraint(
    "scalar or tensor of signless integer or quantized type",
    _scalar_or_tensor(lambda type_: _is_signless(type_) or _is_quantized(type_)),
)


def _of(*kinds: type[at.Attribute]) -> Callable[[at.Attribute], bool]:
    return lambda attribute: isinstance(attribute, kinds)


def _array_of(kind: type[at.Attribute]) -> Callable[[at.Attribute], bool]:
    return lambda attribute: (
        isinstance(attribute, at.ArrayAttr) and all(isinstance(e, kind) for e in attribute.elements)
    )


def _is_function_type(attribute: at.Attribute) -> bool:
    return isinstance(attribute, at.TypeAttr) and isinstance(attribute.type, ty.FunctionType)


def _is_typed(attribute: at.Attribute) -> bool:
    return isinstance(getattr(attribute, "type", None), ty.Type) and not isinstance(attribute, at.TypeAttr)


UNIT_ATTR = AttributeConstraint("unit attribute", _of(at.UnitAttr))
BOOL_ATTR = AttributeConstraint(
    "bool attribute", lambda attribute: isinstance(attribute, at.IntegerAttr) and attribute.type == ty.I1
)
STRING_ATTR = AttributeConstraint("string attribute", _of(at.StringAttr))
SYMBOL_REF_ATTR = AttributeConstraint("symbol reference attribute", _of(at.SymbolRefAttr))
FLAT_SYMBOL_REF_ATTR = AttributeConstraint(
    "flat symbol reference attribute",
    lambda attribute: isinstance(attribute, at.SymbolRefAttr) and not attribute.nested,
)
FUNCTION_TYPE_ATTR = AttributeConstraint("type attribute of function type", _is_function_type)
DICTIONARY_ARRAY_ATTR = AttributeConstraint("Array of dictionary attributes", _array_of(at.DictionaryAttr))
TYPED_ATTR = AttributeConstraint("TypedAttr instance", _is_typed)
INTEGER_ELEMENTS_ATTR = AttributeConstraint("integer elements attribute", _of(at.DenseElementsAttr))
POSITION_ARRAY_ATTR = AttributeConstraint("i64 dense array attribute", _of(at.DenseArrayAttr))
INTEGER_ARRAY_ATTR = AttributeConstraint(
    "i32 dense array attribute",
    lambda attribute: isinstance(attribute, at.DenseArrayAttr) and attribute.element == ty.I32,
)
INTEGER_64_ARRAY_ATTR = AttributeConstraint(
    "i64 dense array attribute",
    lambda attribute: isinstance(attribute, at.DenseArrayAttr) and attribute.element == ty.I64,
)
INTEGER_64_ATTR = AttributeConstraint(
    "64-bit signless integer attribute",
    lambda attribute: isinstance(attribute, at.IntegerAttr) and attribute.type == ty.I64,
)
NON_NEGATIVE_ATTR = AttributeConstraint(
    "64-bit signless integer attribute whose minimum value is 0",
    lambda attribute: isinstance(attribute, at.IntegerAttr) and attribute.type == ty.I64 and attribute.value >= 0,
)
INDEX_ATTR = AttributeConstraint(
    "index attribute",
    lambda attribute: isinstance(attribute, at.IntegerAttr) and isinstance(attribute.type, ty.IndexType),
)


def array_of_enum(description: str, enum: EnumDefinition) -> AttributeConstraint:
    """Return the constraint of an array of cases of an enum."""
    return AttributeConstraint(
        description,
        lambda attribute: isinstance(attribute, at.ArrayAttr) and all(map(enum.accepts, attribute.elements)),
    )


AFFINE_MAP_ATTR = AttributeConstraint("AffineMap attribute", _of(at.AffineMapAttr))
INTEGER_SET_ATTR = AttributeConstraint("IntegerSet attribute", _of(at.IntegerSetAttr))
AFFINE_MAP_ARRAY_ATTR = AttributeConstraint("indexing affine maps", _array_of(at.AffineMapAttr))
ARRAY_ATTR = AttributeConstraint("array attribute", _of(at.ArrayAttr))
DICTIONARY_ATTR = AttributeConstraint("dictionary of named attribute values", _of(at.DictionaryAttr))
ANY_ATTR = AttributeConstraint("any attribute", lambda attribute: True)

_SAMPLES = (ty.I1, ty.I32, ty.I64, ty.INDEX, ty.F("f32"), ty.F("f64"))


@cache
def only_type(constraint: TypeConstraint) -> ty.Type | None:
    """Return the only type that a constraint allows, or None: an operand of such a type needs no type in the text."""
    if constraint.builds is not None:
        return constraint.builds
    accepted = [type for type in _SAMPLES if constraint.accepts(type)]
    return accepted[0] if len(accepted) == 1 and "like" not in constraint.description else None
