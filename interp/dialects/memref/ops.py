"""The memref dialect (`MemRefOps.td`): the ops that make buffers, view them and move elements."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from halfulp.interp.declare import constraints as c
from halfulp.interp.declare.declarations import (
    Arity,
    AttributeConstraint,
    Dialect,
    OpDefinition,
    Property,
    RegionSlot,
    Schema,
    Slot,
    Trait,
    TypeConstraint,
)
from halfulp.interp.declare.type_rules import TypeRule, derived_type, same_type
from halfulp.interp.dialects.atomic_kinds import ATOMIC_KIND
from halfulp.interp.dialects.memref import atomics, forms, global_memory, in_lanes, memory, rules, views, words
from halfulp.interp.dialects.memref import evaluate as ops
from halfulp.interp.dialects.memref.layouts import is_strided
from halfulp.interp.dialects.reassociation import REASSOCIATION_ATTR
from halfulp.interp.dialects.regions import yielded
from halfulp.interp.dialects.slices import FORM, OPERANDS, PROPERTIES
from halfulp.interp.ir import attributes as at
from halfulp.interp.ir import types as ty
from halfulp.interp.run.evaluators import OnFrames, OnValues, Words

memref = Dialect("memref")

# --- constraints ------------------------------------------------------------------------------------------------------


def _ranked(description: str, accepts: Callable[[ty.MemRefType], bool]) -> TypeConstraint:
    """Return the constraint of ranked memrefs for which ``accepts`` holds."""
    return TypeConstraint(
        description,
        lambda type_: isinstance(type_, ty.MemRefType) and type_.shape is not None and accepts(type_),
        c.MEMREF_KIND,
    )


def _is_number(type_: ty.Type) -> bool:
    return isinstance(type_, ty.FloatType) or (isinstance(type_, ty.IntegerType) and type_.signedness == "signless")


def _is_shape(type_: ty.Type) -> bool:
    return isinstance(type_, ty.IndexType) or (isinstance(type_, ty.IntegerType) and type_.signedness == "signless")


MEMREF = _ranked("memref of any type values", lambda type_: True)
_STRIDED = _ranked("strided memref of any type values", is_strided)
_BASE = _ranked("strided memref of any type values of rank 0", lambda type_: type_.shape == ())
_LIST = _ranked("1D memref of any type values", lambda type_: len(type_.shape or ()) == 1)
_SHAPE = _ranked(
    "1D memref of signless integer or index values",
    lambda type_: len(type_.shape or ()) == 1 and _is_shape(type_.element),
)
_BYTES = _ranked(
    "1D memref of 8-bit signless integer values",
    lambda type_: len(type_.shape or ()) == 1 and type_.element == ty.IntegerType(8),
)
_NUMBERS = _ranked("memref of signless integer or floating-point values", lambda type_: _is_number(type_.element))
_NUMBER = TypeConstraint("signless integer or floating-point", _is_number)
_WITH_DIMENSIONS = TypeConstraint(
    "unranked.memref of any type values or non-0-ranked.memref of any type values",
    lambda type_: isinstance(type_, ty.MemRefType) and type_.shape != (),
)
ANY_MEMREF = TypeConstraint("ranked or unranked memref of any type values", lambda t: isinstance(t, ty.MemRefType))

_MEMREF_TYPE_ATTR = AttributeConstraint(
    "memref type attribute",
    lambda attribute: isinstance(attribute, at.TypeAttr) and c.MEMREF_KIND.accepts(attribute.type),
)


def _numbers(description: str, type_: ty.Type, accepts: Callable[[int], bool]) -> AttributeConstraint:
    return AttributeConstraint(
        description,
        lambda attribute: (
            isinstance(attribute, at.IntegerAttr) and attribute.type == type_ and accepts(attribute.value)
        ),
    )


_ALIGNMENT_ATTR = _numbers(
    "64-bit signless integer attribute whose value is positive and whose value is a power of two > 0",
    ty.I64,
    lambda number: number > 0 and not number & (number - 1),
)
_POSITIVE_ATTR = _numbers(
    "32-bit signless integer attribute whose value is positive", ty.I32, lambda number: number > 0
)
_LOCALITY_ATTR = _numbers(
    "32-bit signless integer attribute whose minimum value is 0 whose maximum value is 3",
    ty.I32,
    lambda number: 0 <= number <= 3,
)

_INDICES = Slot("indices", c.INDEX, Arity.VARIADIC)
_RESULTS = Slot("results", c.ANY, Arity.VARIADIC)
_ALIGNMENT = Property("alignment", _ALIGNMENT_ATTR, optional=True)


def _element_of(name: str, source: str) -> TypeRule:
    def solve(types: dict[str, Any], properties: Mapping[str, Any]) -> None:
        if source in types:
            types.setdefault(name, ty.element_type(types[source]))

    def holds(types: Mapping[str, Any], properties: Mapping[str, Any]) -> bool:
        return bool(types[name] == ty.element_type(types[source]))

    what = "result type" if name == "result" else f"type of '{name}'"
    return TypeRule(f"failed to verify that {what} matches element type of '{source}'", solve, holds)


def _view(build: Callable[[Any, Any], Any], described: Words | None = None) -> OnValues:
    return OnValues(build, raw=True, in_lanes=in_lanes.view(build), words=described)


# --- memory -----------------------------------------------------------------------------------------------------------


def _alloc(mnemonic: str, verify: Callable[[Any], str | None]) -> OpDefinition:
    return memref.op(
        mnemonic,
        "`(` $dynamicSizes `)` (`` `[` $symbolOperands^ `]`)? newer(`alignment` `=` $alignment) attr-dict "
        "`:` type($memref)",
        operands=(
            Slot("dynamicSizes", c.INDEX, Arity.VARIADIC),
            Slot("symbolOperands", c.INDEX, Arity.VARIADIC),
        ),
        results={"memref": MEMREF},
        properties=(_ALIGNMENT,),
        traits=(Trait.ATTR_SIZED_OPERAND_SEGMENTS,),
        verify=verify,
        named_results=(mnemonic,),
        evaluate=OnValues(memory.allocate, raw=True, in_lanes=in_lanes.allocate, words=words.allocate),
    )


_alloc("alloc", rules.verify_alloc)
_alloc("alloca", rules.verify_alloca)
memref.op(
    "alloca_scope",
    custom=forms.ALLOCA_SCOPE,
    results=(_RESULTS,),
    regions=(RegionSlot("bodyRegion"),),
    traits=(Trait.SINGLE_BLOCK,),
    implicit_terminator="memref.alloca_scope.return",
    verify=rules.verify_alloca_scope,
    verify_regions=rules.verify_alloca_scope_regions,
    evaluate=OnFrames(memory.scope),
)
memref.op(
    "alloca_scope.return",
    "attr-dict ($results^ `:` type($results))?",
    operands=(_RESULTS,),
    traits=(Trait.TERMINATOR, Trait.RETURN_LIKE),
    verify=rules.verify_alloca_scope_return,
    evaluate=OnFrames(yielded),
)
memref.op(
    "realloc",
    "$source (`(` $dynamicResultSize^ `)`)? attr-dict `:` type($source) `to` type($result)",
    operands=(Slot("source", _LIST), Slot("dynamicResultSize", c.INDEX, Arity.OPTIONAL)),
    results={"result": _LIST},
    properties=(_ALIGNMENT,),
    verify=rules.verify_realloc,
    evaluate=OnValues(memory.reallocate, raw=True, words=words.refused),
)
memref.op(
    "dealloc",
    "$memref attr-dict `:` type($memref)",
    operands={"memref": ANY_MEMREF},
    evaluate=OnValues(memory.free, raw=True, in_lanes=in_lanes.free, words=words.free),
)
memref.op(
    "global",
    custom=forms.GLOBAL,
    properties=(
        _ALIGNMENT,
        Property("constant", c.UNIT_ATTR, optional=True),
        Property("initial_value", c.ANY_ATTR, optional=True),
        Property("sym_name", c.STRING_ATTR),
        Property("sym_visibility", c.STRING_ATTR, optional=True),
        Property("type", _MEMREF_TYPE_ATTR),
    ),
    traits=(Trait.SYMBOL,),
    verify=rules.verify_global,
)
memref.op(
    "get_global",
    "$name `:` type($result) attr-dict",
    results={"result": MEMREF},
    properties=(Property("name", c.FLAT_SYMBOL_REF_ATTR),),
    verify_symbols=rules.verify_get_global,
    evaluate=OnValues(
        global_memory.get,
        raw=True,
        of_module=True,
        in_lanes=in_lanes.global_memory,
    ),
)
memref.op(
    "assume_alignment",
    "$memref `,` $alignment attr-dict `:` type($memref)",
    operands={"memref": MEMREF},
    results={"result": MEMREF},
    properties=(Property("alignment", _POSITIVE_ATTR),),
    type_rules=(same_type("memref", "result"),),
    verify=rules.verify_assume_alignment,
    named_results=("assume_align",),
    evaluate=_view(memory.assume_alignment),
)
memref.op(
    "distinct_objects",
    "$operands attr-dict `:` type($operands)",
    operands=(Slot("operands", MEMREF, Arity.VARIADIC),),
    results=(Slot("results", MEMREF, Arity.VARIADIC),),
    type_rules=(same_type("operands", "results", message="operand types and result types must match"),),
    verify=rules.verify_distinct_objects,
    evaluate=OnValues(memory.distinct, raw=True),
)

# --- elements ---------------------------------------------------------------------------------------------------------

_FALSE = at.IntegerAttr(0, ty.I1)
_ACCESS_PROPERTIES = (
    _ALIGNMENT,
    Property("nontemporal", c.BOOL_ATTR, optional=True, elided=_FALSE),
)
_LOAD_PROPERTIES = (
    *_ACCESS_PROPERTIES,
    Property("invariant", c.BOOL_ATTR, optional=True, elided=_FALSE, since=Schema.LLVM24),
)


def _clauses(properties: tuple[Property, ...]) -> str:
    return f"newer({' | '.join(f'`{prop.name}` `(` ${prop.name} `)`' for prop in properties)})"


memref.op(
    "load",
    f"$memref `[` $indices `]` {_clauses(_LOAD_PROPERTIES)} attr-dict `:` type($memref)",
    operands=(Slot("memref", MEMREF), _INDICES),
    results={"result": c.ANY},
    properties=_LOAD_PROPERTIES,
    type_rules=(_element_of("result", "memref"),),
    verify=rules.verify_indices(0, "incorrect number of indices for load"),
    evaluate=OnValues(ops.load, raw=True, in_lanes=in_lanes.load, words=words.load),
)
memref.op(
    "store",
    f"$value `,` $memref `[` $indices `]` {_clauses(_ACCESS_PROPERTIES)} attr-dict `:` type($memref)",
    operands=(Slot("value", c.ANY), Slot("memref", MEMREF), _INDICES),
    properties=_ACCESS_PROPERTIES,
    type_rules=(_element_of("value", "memref"),),
    verify=rules.verify_indices(1, "store index operand count not equal to memref rank"),
    evaluate=OnValues(ops.store, raw=True, in_lanes=in_lanes.store, words=words.store),
)
memref.op(
    "prefetch",
    custom=forms.PREFETCH,
    operands=(Slot("memref", MEMREF), _INDICES),
    properties=(
        Property("isDataCache", c.BOOL_ATTR),
        Property("isWrite", c.BOOL_ATTR),
        Property("localityHint", _LOCALITY_ATTR),
    ),
    verify=rules.verify_prefetch,
    evaluate=OnValues(ops.prefetch, raw=True),
)
memref.op(
    "atomic_rmw",
    "$kind $value `,` $memref `[` $indices `]` attr-dict `:` `(` type($value) `,` type($memref) `)` `->` type($result)",
    operands=(Slot("value", _NUMBER), Slot("memref", _NUMBERS), _INDICES),
    results={"result": _NUMBER},
    properties=(Property("kind", ATOMIC_KIND),),
    type_rules=(
        same_type("value", "result"),
        derived_type(
            "value", "memref", ty.element_type, "failed to verify that value type matches element type of memref"
        ),
    ),
    verify=rules.verify_atomic,
    evaluate=OnValues(atomics.combine, raw=True),
)
memref.op(
    "generic_atomic_rmw",
    custom=forms.GENERIC_ATOMIC_RMW,
    operands=(Slot("memref", _NUMBERS), _INDICES),
    results={"result": _NUMBER},
    regions=(RegionSlot("atomic_body"),),
    type_rules=(
        derived_type(
            "result", "memref", ty.element_type, "failed to verify that result type matches element type of memref"
        ),
    ),
    verify_regions=rules.verify_generic_atomic,
    evaluate=OnFrames(atomics.apply),
)
memref.op(
    "atomic_yield",
    "$result attr-dict `:` type($result)",
    operands={"result": c.ANY},
    traits=(Trait.TERMINATOR,),
    verify=rules.verify_atomic_yield,
    evaluate=OnFrames(yielded),
)

# --- copies -----------------------------------------------------------------------------------------------------------

memref.op(
    "copy",
    "$source `,` $target attr-dict `:` type($source) `to` type($target)",
    operands={"source": ANY_MEMREF, "target": ANY_MEMREF},
    verify=rules.verify_copy,
    evaluate=OnValues(ops.copy, raw=True),
)
memref.op(
    "dma_start",
    custom=forms.DMA_START,
    operands=(Slot("operands", c.ANY, Arity.VARIADIC),),
    verify=rules.verify_dma_start,
)
memref.op(
    "dma_wait",
    "$tagMemRef `[` $tagIndices `]` `,` $numElements attr-dict `:` type($tagMemRef)",
    operands=(Slot("tagMemRef", MEMREF), Slot("tagIndices", c.INDEX, Arity.VARIADIC), Slot("numElements", c.INDEX)),
    verify=rules.verify_dma_wait,
)

# --- shapes and addresses ---------------------------------------------------------------------------------------------

memref.op(
    "dim",
    "attr-dict $source `,` $index `:` type($source)",
    operands=(Slot("source", _WITH_DIMENSIONS), Slot("index", c.INDEX)),
    results={"result": c.INDEX},
    named_results=("dim",),
    evaluate=_view(views.dimension, words.dimension),
)
memref.op(
    "rank",
    "$memref attr-dict `:` type($memref)",
    operands={"memref": ANY_MEMREF},
    results={"result": c.INDEX},
    evaluate=_view(views.rank),
)
memref.op(
    "extract_aligned_pointer_as_index",
    "$source `:` type($source) `->` type($aligned_pointer) attr-dict",
    operands={"source": ANY_MEMREF},
    results={"aligned_pointer": c.INDEX},
    named_results=("intptr",),
    evaluate=OnValues(memory.address, raw=True),
)
memref.op(
    "extract_strided_metadata",
    "$source `:` type($source) `->` type(results) attr-dict",
    operands={"source": _STRIDED},
    results=(
        Slot("base_buffer", _BASE),
        Slot("offset", c.INDEX),
        Slot("sizes", c.INDEX, Arity.VARIADIC),
        Slot("strides", c.INDEX, Arity.VARIADIC),
    ),
    verify=rules.verify_metadata,
    named_results=views.names_of_metadata,
    evaluate=_view(views.metadata),
)

# --- views ------------------------------------------------------------------------------------------------------------

memref.op(
    "cast",
    "$source attr-dict `:` type($source) `to` type($dest)",
    operands={"source": ANY_MEMREF},
    results={"dest": ANY_MEMREF},
    verify=rules.verify_cast,
    named_results=("cast",),
    evaluate=_view(views.cast),
)
memref.op(
    "memory_space_cast",
    "$source attr-dict `:` type($source) `to` type($dest)",
    operands={"source": ANY_MEMREF},
    results={"dest": ANY_MEMREF},
    verify=rules.verify_space_cast,
    named_results=("memspacecast",),
    evaluate=_view(views.cast),
)
memref.op(
    "subview",
    f"$source `` {FORM} attr-dict `:` type($source) `to` type($result)",
    operands=(Slot("source", MEMREF), *OPERANDS),
    results={"result": MEMREF},
    properties=PROPERTIES,
    traits=(Trait.ATTR_SIZED_OPERAND_SEGMENTS,),
    verify=rules.verify_subview,
    named_results=("subview",),
    evaluate=_view(views.subview),
)
memref.op(
    "reinterpret_cast",
    "$source `to` `offset` `` `:` custom<DynamicIndexList>($offsets, $static_offsets) `` `,` `sizes` `` `:` "
    "custom<DynamicIndexList>($sizes, $static_sizes) `` `,` `strides` `` `:` "
    "custom<DynamicIndexList>($strides, $static_strides) attr-dict `:` type($source) `to` type($result)",
    operands=(Slot("source", ANY_MEMREF), *OPERANDS),
    results={"result": MEMREF},
    properties=PROPERTIES,
    traits=(Trait.ATTR_SIZED_OPERAND_SEGMENTS,),
    verify=rules.verify_reinterpret_cast,
    named_results=("reinterpret_cast",),
    evaluate=_view(views.reinterpret),
)
memref.op(
    "reshape",
    "$source `(` $shape `)` attr-dict `:` functional-type(operands, results)",
    operands={"source": ANY_MEMREF, "shape": _SHAPE},
    results={"result": ANY_MEMREF},
    verify=rules.verify_reshape,
    named_results=("reshape",),
    evaluate=OnValues(views.reshape, raw=True),
)
memref.op(
    "expand_shape",
    "$src $reassociation `output_shape` custom<DynamicIndexList>($output_shape, $static_output_shape) attr-dict "
    "`:` type($src) `into` type($result)",
    operands=(Slot("src", _STRIDED), Slot("output_shape", c.INDEX, Arity.VARIADIC)),
    results={"result": _STRIDED},
    properties=(
        Property("reassociation", REASSOCIATION_ATTR),
        Property("static_output_shape", c.INTEGER_64_ARRAY_ATTR),
    ),
    verify=rules.verify_expand,
    named_results=("expand_shape",),
    evaluate=_view(views.expand),
)
memref.op(
    "collapse_shape",
    "$src $reassociation attr-dict `:` type($src) `into` type($result)",
    operands={"src": _STRIDED},
    results={"result": _STRIDED},
    properties=(Property("reassociation", REASSOCIATION_ATTR),),
    verify=rules.verify_collapse,
    named_results=("collapse_shape",),
    evaluate=_view(views.collapse),
)
memref.op(
    "transpose",
    custom=forms.TRANSPOSE,
    operands={"in": _STRIDED},
    results={"result": _STRIDED},
    properties=(Property("permutation", c.AFFINE_MAP_ATTR),),
    verify=rules.verify_transpose,
    named_results=("transpose",),
    evaluate=_view(views.transpose),
)
memref.op(
    "view",
    "$source `[` $byte_shift `]` `` `[` $sizes `]` attr-dict `:` type($source) `to` type($result)",
    operands=(Slot("source", _BYTES), Slot("byte_shift", c.INDEX), Slot("sizes", c.INDEX, Arity.VARIADIC)),
    results={"result": MEMREF},
    verify=rules.verify_view,
    named_results=("view",),
    evaluate=OnValues(views.view, raw=True),
)
