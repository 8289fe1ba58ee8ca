"""The rules of the llvm dialect's ops, with MLIR's words (`LLVMDialect.cpp`)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from halfulp.interp.declare import declarations as d
from halfulp.interp.dialects.func.ops import wrong_attributes, wrong_entry
from halfulp.interp.dialects.llvm import debug_info, forms
from halfulp.interp.dialects.llvm import types as llvm
from halfulp.interp.dialects.llvm.attributes import MODULE_FLAG
from halfulp.interp.dialects.llvm.debug_info import SUBPROGRAM
from halfulp.interp.dialects.llvm.forms import DYNAMIC
from halfulp.interp.dialects.llvm.function_forms import callee_operands, function_type
from halfulp.interp.ir import attributes as at
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.base import FusedLoc, Location, UnknownLoc
from halfulp.interp.ir.dialect_attributes import AttributeDefinition, DialectAttr, EnumAttr, parts
from halfulp.interp.ir.operations import Operation

# --- constraints ------------------------------------------------------------------------------------------------------
#
# The type and attribute constraints of the llvm dialect, with MLIR's descriptions (`LLVMOpBase.td`).

_VECTOR_KIND = d.TypeKind("builtin.vector", lambda type_: isinstance(type_, ty.VectorType))


def _is_pointer(type_: ty.Type) -> bool:
    return isinstance(type_, llvm.PointerType)


def _is_vector(type_: ty.Type) -> bool:
    return isinstance(type_, ty.VectorType) and len(type_.shape) == 1


def _scalar_or_vector(words: str, test: Callable[[ty.Type], bool]) -> d.TypeConstraint:
    return d.TypeConstraint(
        f"{words} or LLVM dialect-compatible vector of {words}",
        lambda type_: test(type_) or (_is_vector(type_) and test(ty.element_type(type_))),
    )


def _vector_of(words: str, test: Callable[[ty.Type], bool]) -> d.TypeConstraint:
    return d.TypeConstraint(
        f"LLVM dialect-compatible vector of {words}",
        lambda type_: _is_vector(type_) and test(ty.element_type(type_)),
        _VECTOR_KIND,
    )


def _has_size(type_: ty.Type) -> bool:
    if isinstance(type_, llvm.StructType):
        return type_.body is not None
    return llvm.is_outer(type_) and type_ != llvm.VOID and not isinstance(type_, llvm.FunctionType)


INTEGER = d.TypeConstraint("signless integer", ty.is_signless)
FLOAT = d.TypeConstraint("floating-point", lambda type_: isinstance(type_, ty.FloatType))
BOOL = d.BOOL
BYTE = d.TypeConstraint("8-bit signless integer", lambda type_: type_ == ty.IntegerType(8))
POINTER = d.TypeConstraint("LLVM pointer type", _is_pointer)
ANY = d.TypeConstraint("LLVM dialect-compatible type", llvm.is_outer)
PRIMITIVE = d.TypeConstraint(
    "primitive LLVM type",
    lambda type_: llvm.is_outer(type_) and type_ != llvm.VOID and not isinstance(type_, llvm.FunctionType),
)
LOADABLE = d.TypeConstraint("LLVM type with size", _has_size)
AGGREGATE = d.TypeConstraint("LLVM aggregate type", lambda type_: isinstance(type_, llvm.StructType | llvm.ArrayType))
NON_AGGREGATE = d.TypeConstraint(
    "LLVM-compatible non-aggregate type",
    lambda type_: llvm.is_outer(type_) and not isinstance(type_, llvm.StructType | llvm.ArrayType),
)
VECTOR = d.TypeConstraint("LLVM dialect-compatible vector type", _is_vector, _VECTOR_KIND)
INTEGER_LIKE = _scalar_or_vector("signless integer", ty.is_signless)
BOOL_LIKE = _scalar_or_vector("1-bit signless integer", lambda type_: type_ == ty.I1)
LLVM_FLOAT = d.TypeConstraint("floating point LLVM type", llvm.is_float)
FLOAT_LIKE = _scalar_or_vector("floating point LLVM type", llvm.is_float)
POINTER_LIKE = _scalar_or_vector("LLVM pointer type", _is_pointer)
COMPARABLE = d.TypeConstraint(
    f"{INTEGER_LIKE.description} or {POINTER_LIKE.description}",
    lambda type_: INTEGER_LIKE.accepts(type_) or POINTER_LIKE.accepts(type_),
)
INTEGER_VECTOR = _vector_of("signless integer", ty.is_signless)
BOOL_VECTOR = _vector_of("1-bit signless integer", lambda type_: type_ == ty.I1)
POINTER_VECTOR = _vector_of("LLVM pointer type", _is_pointer)
FLOAT_VECTOR = _vector_of("floating-point", lambda type_: isinstance(type_, ty.FloatType))
LLVM_FLOAT_VECTOR = _vector_of("floating point LLVM type", llvm.is_float)


STRUCT = d.TypeConstraint(
    "LLVM structure type",
    lambda type_: isinstance(type_, llvm.StructType),
    d.TypeKind("llvm.struct", lambda type_: isinstance(type_, llvm.StructType)),
)
EXCHANGED = d.TypeConstraint(
    "signless integer or LLVM pointer type", lambda type_: ty.is_signless(type_) or _is_pointer(type_)
)
COMBINED = d.TypeConstraint(
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


TYPE_ATTR = d.AttributeConstraint("any type attribute", lambda attribute: isinstance(attribute, at.TypeAttr))
FUNCTION_TYPE_ATTR = d.AttributeConstraint("type attribute of LLVM function type", _is_function_type)
INTEGER_32_ATTR = d.AttributeConstraint(
    "32-bit signless integer attribute",
    lambda attribute: isinstance(attribute, at.IntegerAttr) and attribute.type == ty.I32,
)
ADDRESS_SPACE_ATTR = d.AttributeConstraint(
    "32-bit signless integer attribute whose value is non-negative",
    lambda attribute: isinstance(attribute, at.IntegerAttr) and attribute.type == ty.I32 and attribute.value >= 0,
)


def _of(definition: AttributeDefinition) -> d.AttributeConstraint:
    return d.AttributeConstraint(
        f"#{definition.name} attribute",
        lambda attribute: isinstance(attribute, DialectAttr) and attribute.definition is definition,
        first="#",
    )


LOCAL_VARIABLE, LABEL, EXPRESSION = map(_of, (debug_info.LOCAL_VARIABLE, debug_info.LABEL, debug_info.EXPRESSION))


# --- parameter attributes ---------------------------------------------------------------------------------------------
#
# The attributes of arguments and results that LLVM knows, and where each may stand, with MLIR's words.
#
# Source: `LLVMDialect::verifyParameterAttribute` and `verifyRegionResultAttribute`, as mlir-opt 22 answers.

_POINTER, _INTEGER = ("pointer", llvm.PointerType), ("integer", ty.IntegerType)
_UNIT, _NUMBER, _TYPE = ("a unit", at.UnitAttr), ("an integer", at.IntegerAttr), ("a type", at.TypeAttr)

_KINDS: Mapping[str, tuple[tuple[str, type[at.Attribute]], tuple[str, type[ty.Type]] | None]] = {
    **{
        f"llvm.{name}": (_UNIT, _POINTER)
        for name in ("nest", "noalias", "nocapture", "nofree", "nonnull", "readnone", "readonly", "writeonly")
    },
    **{f"llvm.{name}": (_UNIT, None) for name in ("inreg", "noundef", "returned")},
    **{f"llvm.{name}": (_UNIT, _INTEGER) for name in ("signext", "zeroext")},
    **{f"llvm.{name}": (_NUMBER, _POINTER) for name in ("align", "dereferenceable", "dereferenceable_or_null")},
    "llvm.alignstack": (_NUMBER, None),
    **{
        f"llvm.{name}": (_TYPE, _POINTER)
        for name in ("byref", "byval", "elementtype", "inalloca", "preallocated", "sret")
    },
}
"""What each attribute must be, and the types that it is for; None for any."""
_OF_ARGUMENTS = frozenset(
    f"llvm.{name}"
    for name in (
        "alignstack", "allocalign", "allocptr", "byref", "byval", "inalloca", "nest", "nocapture", "nofree",
        "preallocated", "readnone", "readonly", "returned", "sret", "writeonly",
    )
)  # fmt: skip
"""The attributes that results do not have."""


def wrong_attribute(attributes: at.Attribute, type_: ty.Type, of_result: bool) -> d.Unprefixed | None:
    """Return what is wrong with the attributes of one argument or result, or None."""
    entries = attributes.entries if isinstance(attributes, at.DictionaryAttr) else ()
    for name, value in entries:
        if of_result and name in _OF_ARGUMENTS:
            return d.Unprefixed(f'"{name}" is not a valid result attribute')
        if name not in _KINDS:
            continue
        (kind, class_), place = _KINDS[name]
        if not isinstance(value, class_):
            return d.Unprefixed(f'"{name}" should be {kind} attribute')
        if place is not None and not isinstance(type_, place[1]):
            return d.Unprefixed(f'"{name}" attribute attached to non-{place[0]} LLVM type')
    return None


# --- casts ------------------------------------------------------------------------------------------------------------


def verify_extension(op: Operation) -> str | None:
    """Return what is wrong with an extension of integers, or None."""
    given, made = (value.type for value in (op.operands[0], op.results[0]))
    if isinstance(given, ty.VectorType) != isinstance(made, ty.VectorType):
        kind = "vector" if isinstance(given, ty.VectorType) else "scalar"
        return d.Unprefixed(
            f"input type is a {kind} but output type is {'an integer' if kind == 'vector' else 'a vector'}"
        )
    if ty.shape_of(given) != ty.shape_of(made):
        return d.Unprefixed("input and output vectors are of incompatible shape")
    widths = [ty.element_width(ty.element_type(type_)) for type_ in (given, made)]
    if None not in widths and widths[1] <= widths[0]:  # type: ignore[operator]
        return d.Unprefixed(
            "integer width of the output type is smaller or equal to the integer width of the input type"
        )
    return None


# --- aggregates -------------------------------------------------------------------------------------------------------


def inner_type(container: ty.Type, position: Sequence[int]) -> tuple[ty.Type | None, str]:
    """Return the type at a position in an aggregate, with an empty text; or None, with the text of what is wrong."""
    if not isinstance(container, llvm.StructType | llvm.ArrayType):
        return None, f"expected LLVM IR Dialect type, got '{container}'"
    type_: ty.Type = container
    for index in position:
        if isinstance(type_, llvm.ArrayType):
            if not 0 <= index < type_.size:
                return None, f"position out of bounds: {index}"
            type_ = type_.element
        elif isinstance(type_, llvm.StructType) and type_.body is not None:
            if not 0 <= index < len(type_.body):
                return None, f"position out of bounds: {index}"
            type_ = type_.body[index]
        else:
            return None, f"expected LLVM IR structure/array type, got: '{type_}'"
    return type_, ""


def _positions(properties: Mapping[str, at.Attribute]) -> Sequence[int]:
    position = properties.get("position")
    return position.values if isinstance(position, at.DenseArrayAttr) else ()


def type_in(slot: str) -> d.TypeRule:
    """Return the rule that derives the type of ``slot`` from the container and the position. It only adds a missing
    type.
    """

    def solve(types: dict[str, Any], properties: Mapping[str, at.Attribute]) -> None:
        if "container" in types:
            found = inner_type(types["container"], _positions(properties))[0]
            # The verifier reports a wrong position: any type will do for it.
            types.setdefault(slot, found or types["container"])

    return d.TypeRule("", solve, lambda types, properties: True)


def verify_extract(op: Operation) -> str | None:
    """Return what is wrong with the position or the result of extractvalue, or None."""
    container, result = op.operands[0].type, op.results[0].type
    found, problem = inner_type(container, _positions(op.properties))
    if found is None:
        return problem
    if found != result:
        return f"Type mismatch: extracting from '{container}' should produce '{found}' but this op returns '{result}'"
    return None


def verify_insert(op: Operation) -> str | None:
    """Return what is wrong with the position or the value of insertvalue, or None."""
    container, value = op.operands[0].type, op.operands[1].type
    found, problem = inner_type(container, _positions(op.properties))
    if found is None:
        return problem
    return None if found == value else f"Type mismatch: cannot insert '{value}' into '{container}'"


def shuffled(types: dict[str, Any], properties: Mapping[str, at.Attribute]) -> None:
    """Add the type of the result of shufflevector to ``types``: it has as many elements as the mask."""
    vector, mask = types.get("v1"), properties.get("mask")
    if isinstance(vector, ty.VectorType) and isinstance(mask, at.DenseArrayAttr):
        scalable = vector.scalable[:1]
        types.setdefault("res", ty.VectorType((len(mask.values),), vector.element, scalable))


SHUFFLED = d.TypeRule("", shuffled, lambda types, properties: True)


def verify_shuffle(op: Operation) -> str | None:
    """Return what is wrong with the mask of shufflevector, or None."""
    mask, vector = op.prop("mask", at.DenseArrayAttr), op.operands[0].type
    if isinstance(vector, ty.VectorType) and any(vector.scalable) and any(mask.values):
        return "expected a splat operation for scalable vectors"
    return None


def verify_address(op: Operation) -> str | None:
    """Return what is wrong with the indices of getelementptr, or None."""
    raw, element, flags = (op.properties[name] for name in ("rawConstantIndices", "elem_type", "noWrapFlags"))
    assert isinstance(raw, at.DenseArrayAttr)
    assert isinstance(element, at.TypeAttr)
    if raw.values.count(DYNAMIC) != len(op.operands) - 1:
        return "expected as many dynamic indices as specified in 'rawConstantIndices'"
    if getattr(flags, "value", 0) == 1:
        return "'inbounds_flag' cannot be used directly."
    type_ = element.type
    for place, index in enumerate(raw.values[1:], 1):
        if isinstance(type_, llvm.StructType):
            if index == DYNAMIC:
                return f"expected index {place} indexing a struct to be constant"
            if not 0 <= index < len(type_.body or ()):
                return f"index {place} indexing a struct is out of bounds"
            type_ = (type_.body or ())[index]
        elif isinstance(type_, ty.VectorType | llvm.ArrayType):
            type_ = type_.element
        else:
            return f"type '{type_}' cannot be indexed (index #{place})"
    return None


# --- constants and globals --------------------------------------------------------------------------------------------


def _elements(type_: ty.Type) -> int:
    if isinstance(type_, llvm.ArrayType):
        return type_.size * _elements(type_.element)
    if isinstance(type_, ty.VectorType):
        return ty.element_count(type_) or 0
    return 1


def verify_constant(op: Operation) -> str | None:
    """Return what is wrong with the value of a constant for its type, or None."""
    value, type_ = op.properties["value"], op.results[0].type
    if isinstance(value, at.StringAttr):
        size = len(value.value.encode("utf-8", "surrogateescape"))
        fits = isinstance(type_, llvm.ArrayType) and (type_.size, type_.element) == (size, ty.IntegerType(8))
        return None if fits else f"expected array type of {size} i8 elements for the string constant"
    if isinstance(type_, llvm.StructType):
        return _verify_struct(value, type_)
    if isinstance(value, at.IntegerAttr):
        return None if isinstance(type_, ty.IntegerType) else "expected integer type"
    if isinstance(value, at.FloatAttr):
        width = ty.width_of(value.type)
        if isinstance(type_, ty.FloatType) and ty.width_of(type_) != width:
            return f"expected float type of width {width}"
        if isinstance(type_, ty.IntegerType) and type_.width != width:
            return f"expected integer type of width {width}"
        return None
    if isinstance(value, at.DenseElementsAttr | at.DenseResourceAttr | at.SparseElementsAttr):
        return _verify_elements(value, type_)
    if isinstance(value, at.ArrayAttr):
        return None if isinstance(type_, llvm.ArrayType) else "expected array type"
    return "only supports integer, float, string or elements attributes"


def _verify_struct(value: at.Attribute, type_: llvm.StructType) -> str | None:
    if not isinstance(value, at.ArrayAttr):
        return "expected array attribute for a struct constant"
    body = type_.body or ()
    if len(value.elements) != len(body):
        return f"expected array attribute of size {len(body)}"
    if not all(isinstance(part, ty.IntegerType | ty.FloatType) for part in body):
        return "expected struct element types to be floating point type or integer type"
    for index, (element, part) in enumerate(zip(value.elements, body, strict=True)):
        if not isinstance(element, at.IntegerAttr | at.FloatAttr):
            return "expected struct element attribute types to be floating point type or integer type"
        if element.type != part:
            return f"struct element at index {index} is of wrong type"
    return None


def _verify_elements(
    value: at.DenseElementsAttr | at.DenseResourceAttr | at.SparseElementsAttr, type_: ty.Type
) -> str | None:
    if isinstance(type_, ty.VectorType) and any(type_.scalable):
        return None if getattr(value, "splat", False) else "scalable vector type requires a splat attribute"
    if not isinstance(type_, ty.VectorType | llvm.ArrayType):
        return "expected vector or array type"
    given, wanted = ty.element_count(value.type), _elements(type_)
    if given != wanted:
        return f"type and attribute have a different number of elements: {wanted} vs. {given}"
    return None


def verify_global(op: Operation) -> str | None:
    """Return what is wrong with the type or the value of a global, or None."""
    attribute, value, alignment = (op.properties.get(name) for name in ("global_type", "value", "alignment"))
    assert isinstance(attribute, at.TypeAttr)
    type_ = attribute.type
    if not llvm.is_outer(type_) or type_ in (llvm.VOID, llvm.TOKEN, llvm.METADATA, llvm.LABEL):
        return "expects type to be a valid element type for an LLVM global"
    if op.parent_op is not None and op.parent_op.name not in ("builtin.module", "gpu.module"):
        return "must appear at the module level"
    if isinstance(value, at.StringAttr):
        size = len(value.value.encode("utf-8", "surrogateescape"))
        if not (isinstance(type_, llvm.ArrayType) and (type_.size, type_.element) == (size, ty.IntegerType(8))):
            return "requires an i8 array type of the length equal to that of the string attribute"
    linkage = _keywords(op, "linkage")
    if linkage == "appending" and not isinstance(type_, llvm.ArrayType):
        return "expected array type for 'appending' linkage"
    if isinstance(alignment, at.IntegerAttr) and (alignment.value <= 0 or alignment.value & (alignment.value - 1)):
        return d.Unprefixed("alignment attribute is not a power of 2")
    return None


def _keywords(op: Operation, name: str) -> str:
    attribute = op.properties.get(name)
    return attribute.keywords if isinstance(attribute, EnumAttr) else ""


def verify_initializer(op: Operation) -> str | None:
    """Return what is wrong with the region of a global, or None."""
    blocks = op.regions[0].blocks
    if not blocks or not blocks[0].operations:
        return None
    type_ = op.prop("global_type", at.TypeAttr)
    returned = blocks[0].operations[-1].operands
    if not returned:
        return "initializer region cannot return void"
    if returned[0].type != type_.type:
        return f"initializer region type '{returned[0].type}' does not match global type '{type_.type}'"
    return "cannot have both initializer value and region" if "value" in op.properties else None


def verify_address_of(op: Operation, symbols: Mapping[str, Operation]) -> None:
    """Raise VerifyError unless addressof names a global, an alias or a function."""
    target = symbols.get(op.prop("global_name", at.SymbolRefAttr).root)
    if target is None or target.name not in ("llvm.mlir.global", "llvm.mlir.alias", "llvm.func"):
        raise op.rule_broken("must reference a global defined by 'llvm.mlir.global', 'llvm.mlir.alias' or 'llvm.func'")
    space, type_ = target.properties.get("addr_space"), op.results[0].type
    if isinstance(space, at.IntegerAttr) and isinstance(type_, llvm.PointerType) and space.value != type_.space:
        raise op.rule_broken("pointer address space must match address space of the referenced global or alias")


def verify_comdat(op: Operation) -> str | None:
    """Return what is wrong with the region of llvm.comdat, or None."""
    blocks = op.regions[0].blocks
    if len(blocks) != 1:
        return "region #0 ('body') failed to verify constraint: region with 1 blocks"
    if blocks[0].arguments:
        return "region should have no arguments"
    return None


def verify_in_comdat(op: Operation) -> None:
    """Raise VerifyError for an op in llvm.comdat that is not allowed there."""
    for inner in op.children:
        if inner.name != "llvm.comdat_selector":
            raise inner.rule_broken(d.Unprefixed("only comdat selector symbols can appear in a comdat region"))


def verify_comdat_of(op: Operation, symbols: Mapping[str, Operation]) -> None:
    """Raise VerifyError unless the comdat of a function or a global, if it has one, names an llvm.comdat_selector."""
    named = op.properties.get("comdat")
    if named is None:
        return
    target = None
    if isinstance(named, at.SymbolRefAttr):
        target = symbols.get(named.root)
        for name in named.nested:
            target = None if target is None else next((op for op in target.children if op.symbol_name == name), None)
    if target is None or target.name != "llvm.comdat_selector":
        raise op.rule_broken(d.Unprefixed("expected comdat symbol"))


# --- functions --------------------------------------------------------------------------------------------------------


def verify_function(op: Operation) -> str | None:
    """Return what is wrong with the signature, the linkage or the body of a function, or None."""
    type_ = function_type(op)
    if type_ is None:
        return None
    problem = wrong_attributes(op, len(type_.inputs), len(type_.results)) or _wrong_attribute(op, type_)
    if problem is not None:
        return problem
    linkage = _keywords(op, "linkage")
    if linkage == "common":
        return "functions cannot have 'common' linkage"
    if not op.regions[0].blocks:
        if linkage not in ("external", "extern_weak"):
            return "external functions must have 'external' or 'extern_weak' linkage"
        return None
    if (problem := wrong_entry(op.regions[0].blocks[0], type_.inputs)) is not None:
        return problem
    if "no_inline" in op.properties and "always_inline" in op.properties:
        return d.Unprefixed("no_inline and always_inline attributes are incompatible")
    if "optimize_none" in op.properties and "no_inline" not in op.properties:
        return "with optimize_none must also be no_inline"
    return None


def _wrong_attribute(op: Operation, type_: llvm.FunctionType) -> str | None:
    """Return what is wrong with an attribute of an argument or a result, or None."""
    for name, types in (("arg_attrs", type_.inputs), ("res_attrs", type_.results)):
        attributes = op.properties.get(name)
        if isinstance(attributes, at.ArrayAttr):
            for each, part in zip(attributes.elements, types, strict=True):
                problem = wrong_attribute(each, part, of_result=name == "res_attrs")
                if problem is not None:
                    return problem
    return None


def verify_return(op: Operation) -> str | None:
    """Return what is wrong with the returned value, or None."""
    parent = op.parent_op
    while parent is not None and parent.name != "llvm.func":
        parent = parent.parent_op
    type_ = None if parent is None else function_type(parent)
    if type_ is None:
        return None
    if len(op.operands) != len(type_.results):
        return "expected no operands" if op.operands else "expected 1 operand"
    if op.operands and op.operands[0].type != type_.result:
        return "mismatching result types"
    return None


def verify_module_flags(op: Operation) -> str | None:
    """Return what is wrong with the flags of a module, or None."""
    flags = op.properties["flags"]
    found = flags.elements if isinstance(flags, at.ArrayAttr) else ()
    if not all(isinstance(flag, DialectAttr) and flag.definition is MODULE_FLAG for flag in found):
        return "expected a module flag attribute"
    return None


def verify_bundles(op: Operation) -> str | None:
    """Return what is wrong with the operand bundles of a call or an assumption, or None."""
    sizes, tags = op.properties.get("op_bundle_sizes"), op.properties.get("op_bundle_tags")
    counts = sizes.values if isinstance(sizes, at.DenseArrayAttr) else ()
    words = tags.elements if isinstance(tags, at.ArrayAttr) else ()
    passed = len(op.operands) - (1 if op.name == "llvm.intr.assume" else len(callee_operands(op)))
    if min(counts, default=0) < 0 or sum(counts) != passed:
        return (
            f"op_bundle_operands count ({passed}) does not match with the total size ({sum(counts)}) specified in "
            "attribute 'op_bundle_sizes'"
        )
    if not all(isinstance(word, at.StringAttr) for word in words):
        return d.Unprefixed("operand bundle tag must be a StringAttr")
    if len(counts) != len(words):
        return d.Unprefixed(f"expected {len(counts)} operand bundle tags, but actually got {len(words)}")
    return None


def verify_call(op: Operation, symbols: Mapping[str, Operation]) -> None:
    """Raise VerifyError unless a call fits the function that it names."""
    operands = callee_operands(op)
    problem = _verify_variadic(op, len(operands) - ("callee" not in op.properties))
    callee = op.properties.get("callee")
    if problem is not None:
        raise op.rule_broken(problem)
    if not isinstance(callee, at.SymbolRefAttr):
        if not operands:
            raise op.rule_broken("must have either a `callee` attribute or at least an operand")
        if not isinstance(operands[0].type, llvm.PointerType):
            raise op.rule_broken(f"indirect call expects a pointer as callee: '{operands[0].type}'")
        return
    target = symbols.get(callee.root)
    if target is None:
        raise op.rule_broken(f"'{callee.root}' does not reference a symbol in the current scope")
    type_ = function_type(target)
    if target.name != "llvm.func" or type_ is None:
        raise op.rule_broken(f"'{callee.root}' does not reference a valid LLVM function")
    problem = _verify_signature(op, type_) or _verify_place(op, target)
    if problem is not None:
        raise op.rule_broken(problem)


def _verify_place(op: Operation, target: Operation) -> str | None:
    """Return a message if a call has no location although both functions have debug information; else None. LLVM could
    not inline such a call.
    """
    if not isinstance(op.location, UnknownLoc) or not target.regions[0].blocks:
        return None
    caller = op.parent_op
    while caller is not None and caller.name not in ("llvm.func", "func.func"):
        caller = caller.parent_op
    if caller is None or not all(map(_has_subprogram, (caller.location, target.location))):
        return None
    return d.Unprefixed("inlinable function call in a function with a DISubprogram location must have a debug location")


def _has_subprogram(location: Location) -> bool:
    """Tell whether a part of a location names a function by its debug information."""
    metadata = location.metadata if isinstance(location, FusedLoc) else None
    if isinstance(metadata, DialectAttr) and metadata.definition is SUBPROGRAM:
        return True
    return any(_has_subprogram(part) for part in parts(location) if isinstance(part, Location))


def _verify_variadic(op: Operation, count: int) -> str | None:
    attribute = op.properties.get("var_callee_type")
    if not isinstance(attribute, at.TypeAttr) or not isinstance(attribute.type, llvm.FunctionType):
        return None
    type_ = attribute.type
    if not type_.variadic:
        return "expected var_callee_type to be a variadic function type"
    if len(type_.inputs) > count:
        return f"expected var_callee_type to have at most {count} parameters"
    arguments = callee_operands(op)[-count:] if count else []
    for input_, value in zip(type_.inputs, arguments, strict=False):
        if input_ != value.type:
            return f"var_callee_type parameter type mismatch: '{input_}' != '{value.type}'"
    if not op.results:
        return None if type_.result == llvm.VOID else "expected var_callee_type to return void"
    if op.results[0].type != type_.result:
        return f"var_callee_type return type mismatch: '{type_.result}' != '{op.results[0].type}'"
    return None


def _verify_signature(op: Operation, type_: llvm.FunctionType) -> str | None:
    operands = callee_operands(op)
    count, wanted = len(operands), len(type_.inputs)
    if type_.variadic and "var_callee_type" not in op.properties:
        return "missing var_callee_type attribute for vararg call"
    if not type_.variadic and count != wanted:
        return f"incorrect number of operands ({count}) for callee (expecting: {wanted})"
    if count < wanted:
        return f"incorrect number of operands ({count}) for varargs callee (expecting at least: {wanted})"
    for number, (value, input_) in enumerate(zip(operands, type_.inputs, strict=False)):
        if value.type != input_:
            return f"operand type mismatch for operand {number}: '{value.type}' != '{input_}'"
    if not op.results and type_.results:
        return "expected function call to produce a value"
    if op.results and not type_.results:
        return "calling function with void result must not produce values"
    if op.results and op.results[0].type != type_.result:
        return f"result type mismatch: '{op.results[0].type}' != '{type_.result}'"
    return None


# --- memory and branches ----------------------------------------------------------------------------------------------


def verify_access(*refused: str) -> Any:
    """Return the function that verifies a load or a store. ``refused``: the orderings that the op cannot have."""

    def verify(op: Operation) -> str | None:
        ordering = _ordering(op)
        if not ordering:
            return "expected syncscope to be null for non-atomic access" if "syncscope" in op.properties else None
        value = op.results[0] if op.results else op.operands[0]
        if not _suits_atomic(value.type):
            return f"unsupported type '{value.type}' for atomic access"
        word = forms.ORDERING.names[ordering]
        if word in refused:
            return f"unsupported ordering '{word}'"
        return None if "alignment" in op.properties else "expected alignment for atomic access"

    return verify


def _suits_atomic(type_: ty.Type) -> bool:
    """Tell whether an atomic op may exchange values of a type: its bits are a power of two, at least 8."""
    if isinstance(type_, llvm.PointerType):
        return True
    width = ty.element_width(type_)
    return not isinstance(type_, ty.ShapedType) and width is not None and width >= 8 and not width & (width - 1)


_ORDERINGS = forms.ORDERING.cases


def _ordering(op: Operation, name: str = "ordering") -> int:
    return int(getattr(op.properties.get(name), "value", 0))


def verify_atomic(op: Operation) -> str | None:
    """Return what is wrong with the type or the ordering of atomicrmw, or None."""
    type_ = op.operands[1].type
    operation = forms.ATOMIC_OPERATION.names[getattr(op.properties["bin_op"], "value", 0)]
    if operation in ("fadd", "fsub", "fmax", "fmin", "fmaximum", "fminimum"):
        if isinstance(type_, ty.VectorType):
            if any(type_.scalable):
                return "expected LLVM IR fixed vector type"
            if not llvm.is_float(type_.element):
                return "expected LLVM IR floating point type for vector element"
        elif not llvm.is_float(type_):
            return "expected LLVM IR floating point type"
    elif operation == "xchg":
        if not _suits_atomic(type_):
            return "unexpected LLVM IR type for 'xchg' bin_op"
    elif not isinstance(type_, ty.IntegerType) or type_.width not in (8, 16, 32, 64):
        return "expected LLVM IR integer type"
    return None if _ordering(op) >= _ORDERINGS["monotonic"] else "expected at least 'monotonic' ordering"


def verify_exchange(op: Operation) -> str | None:
    """Return what is wrong with the type or the orderings of cmpxchg, or None."""
    if not _suits_atomic(op.operands[2].type):
        return "unexpected LLVM IR type"
    success, failure = _ordering(op, "success_ordering"), _ordering(op, "failure_ordering")
    if min(success, failure) < _ORDERINGS["monotonic"]:
        return "ordering must be at least 'monotonic'"
    if failure in (_ORDERINGS["release"], _ORDERINGS["acq_rel"]):
        return "failure ordering cannot be 'release' or 'acq_rel'"
    return None


def verify_fence(op: Operation) -> str | None:
    """Return what is wrong with the ordering of a fence, or None."""
    if _ordering(op) > _ORDERINGS["monotonic"]:
        return None
    return "can be given only acquire, release, acq_rel, and seq_cst orderings"


def _value_and_bool(type_: ty.Type) -> llvm.StructType:
    return llvm.StructType(body=(type_, ty.I1))


def _solve_exchanged(types: dict[str, Any], properties: Mapping[str, at.Attribute]) -> None:
    if "val" in types and EXCHANGED.accepts(types["val"]):
        types.setdefault("res", _value_and_bool(types["val"]))


EXCHANGE_RESULT = d.TypeRule(
    "failed to verify that result #0 has an LLVM struct type consisting of the type of operand #2 and a bool",
    _solve_exchanged,
    lambda types, properties: bool(types["res"] == _value_and_bool(types["val"])),
)


def verify_sincos(op: Operation) -> str | None:
    """Return what is wrong with the result of sincos, or None."""
    given, made = op.operands[0].type, op.results[0].type
    if isinstance(made, llvm.StructType) and made.body == (given, given):
        return None
    return (
        "expected result type to be an homogeneous struct with two elements matching the operand type, but got "
        f"'{made}'"
    )


def verify_switch(op: Operation) -> str | None:
    """Return what is wrong with the values of the cases, or None."""
    values = op.properties.get("case_values")
    cases = len(op.successors) - 1
    given = (ty.element_count(values.type) or 0) if isinstance(values, at.DenseElementsAttr) else 0
    if given != cases:
        return "expects number of case values to match number of case destinations"
    if isinstance(values, at.DenseElementsAttr) and values.type.element != op.operands[0].type:
        return d.Unprefixed("expects case value type to match condition value type")
    weights = op.properties.get("branch_weights")
    if isinstance(weights, at.DenseArrayAttr) and len(weights.codes) != len(op.successors):
        count = f"{len(weights.codes)} vs {len(op.successors)}"
        return d.Unprefixed(f"expects number of branch weights to match number of successors: {count}")
    return None
