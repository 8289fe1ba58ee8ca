"""The type and attribute constraints of the llvm dialect, with MLIR's descriptions (`LLVMOpBase.td`)."""

from __future__ import annotations

from collections.abc import Callable

from halfulp.interp.declare import constraints as c
from halfulp.interp.declare.declarations import AttributeConstraint, TypeConstraint, TypeKind
from halfulp.interp.dialects.llvm import debug_info
from halfulp.interp.dialects.llvm import types as llvm
from halfulp.interp.ir import attributes as at
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.dialect_attributes import AttributeDefinition, DialectAttr

_VECTOR_KIND = TypeKind("builtin.vector", lambda type_: isinstance(type_, ty.VectorType))


def _is_integer(type_: ty.Type) -> bool:
    return isinstance(type_, ty.IntegerType) and type_.signedness == "signless"


def _is_pointer(type_: ty.Type) -> bool:
    return isinstance(type_, llvm.PointerType)


def _is_vector(type_: ty.Type) -> bool:
    return isinstance(type_, ty.VectorType) and len(type_.shape) == 1


def _scalar_or_vector(words: str, test: Callable[[ty.Type], bool]) -> TypeConstraint:
    return TypeConstraint(
        f"{words} or LLVM dialect-compatible vector of {words}",
        lambda type_: test(type_) or (_is_vector(type_) and test(ty.element_type(type_))),
    )


def _vector_of(words: str, test: Callable[[ty.Type], bool]) -> TypeConstraint:
    return TypeConstraint(
        f"LLVM dialect-compatible vector of {words}",
        lambda type_: _is_vector(type_) and test(ty.element_type(type_)),
        _VECTOR_KIND,
    )


def _has_size(type_: ty.Type) -> bool:
    if isinstance(type_, llvm.StructType):
        return type_.body is not None
    return llvm.is_outer(type_) and type_ != llvm.VOID and not isinstance(type_, llvm.FunctionType)


INTEGER = TypeConstraint("signless integer", _is_integer)
FLOAT = TypeConstraint("floating-point", lambda type_: isinstance(type_, ty.FloatType))
BOOL = c.BOOL
BYTE = TypeConstraint("8-bit signless integer", lambda type_: type_ == ty.IntegerType(8))
POINTER = TypeConstraint("LLVM pointer type", _is_pointer)
ANY = TypeConstraint("LLVM dialect-compatible type", llvm.is_outer)
PRIMITIVE = TypeConstraint(
    "primitive LLVM type",
    lambda type_: llvm.is_outer(type_) and type_ != llvm.VOID and not isinstance(type_, llvm.FunctionType),
)
LOADABLE = TypeConstraint("LLVM type with size", _has_size)
AGGREGATE = TypeConstraint("LLVM aggregate type", lambda type_: isinstance(type_, llvm.StructType | llvm.ArrayType))
NON_AGGREGATE = TypeConstraint(
    "LLVM-compatible non-aggregate type",
    lambda type_: llvm.is_outer(type_) and not isinstance(type_, llvm.StructType | llvm.ArrayType),
)
VECTOR = TypeConstraint("LLVM dialect-compatible vector type", _is_vector, _VECTOR_KIND)
INTEGER_LIKE = _scalar_or_vector("signless integer", _is_integer)
BOOL_LIKE = _scalar_or_vector("1-bit signless integer", lambda type_: type_ == ty.I1)
FLOAT_LIKE = _scalar_or_vector("floating point LLVM type", llvm.is_float)
POINTER_LIKE = _scalar_or_vector("LLVM pointer type", _is_pointer)
COMPARABLE = TypeConstraint(
    f"{INTEGER_LIKE.description} or {POINTER_LIKE.description}",
    lambda type_: INTEGER_LIKE.accepts(type_) or POINTER_LIKE.accepts(type_),
)
INTEGER_VECTOR = _vector_of("signless integer", _is_integer)
BOOL_VECTOR = _vector_of("1-bit signless integer", lambda type_: type_ == ty.I1)
POINTER_VECTOR = _vector_of("LLVM pointer type", _is_pointer)
FLOAT_VECTOR = _vector_of("floating-point", lambda type_: isinstance(type_, ty.FloatType))
LLVM_FLOAT_VECTOR = _vector_of("floating point LLVM type", llvm.is_float)


STRUCT = TypeConstraint(
    "LLVM structure type",
    lambda type_: isinstance(type_, llvm.StructType),
    TypeKind("llvm.struct", lambda type_: isinstance(type_, llvm.StructType)),
)
EXCHANGED = TypeConstraint(
    "signless integer or LLVM pointer type", lambda type_: _is_integer(type_) or _is_pointer(type_)
)
COMBINED = TypeConstraint(
    "floating point LLVM type or LLVM pointer type or signless integer or LLVM dialect-compatible fixed-length vector "
    "type",
    lambda type_: (
        llvm.is_float(type_)
        or EXCHANGED.accepts(type_)
        or (isinstance(type_, ty.VectorType) and _is_vector(type_) and not any(type_.scalable))
    ),
)


def _is_function_type(attribute: at.Attribute) -> bool:
    return isinstance(attribute, at.TypeAttr) and isinstance(attribute.type, llvm.FunctionType)


TYPE_ATTR = AttributeConstraint("any type attribute", lambda attribute: isinstance(attribute, at.TypeAttr))
FUNCTION_TYPE_ATTR = AttributeConstraint("type attribute of LLVM function type", _is_function_type)
INTEGER_32_ATTR = AttributeConstraint(
    "32-bit signless integer attribute",
    lambda attribute: isinstance(attribute, at.IntegerAttr) and attribute.type == ty.I32,
)
ADDRESS_SPACE_ATTR = AttributeConstraint(
    "32-bit signless integer attribute whose value is non-negative",
    lambda attribute: isinstance(attribute, at.IntegerAttr) and attribute.type == ty.I32 and attribute.value >= 0,
)


def _of(definition: AttributeDefinition) -> AttributeConstraint:
    return AttributeConstraint(
        f"#{definition.name} attribute",
        lambda attribute: isinstance(attribute, DialectAttr) and attribute.definition is definition,
        first="#",
    )


LOCAL_VARIABLE, LABEL, EXPRESSION = map(_of, (debug_info.LOCAL_VARIABLE, debug_info.LABEL, debug_info.EXPRESSION))
