"""The vector dialect (`VectorOps.td`): its ops."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt

from halfulp.interp.declare import declarations as d
from halfulp.interp.dialects.arith.ops import FASTMATH
from halfulp.interp.dialects.elements import Function, Operands, data_movement
from halfulp.interp.dialects.memref.evaluate import load_vector, store_vector
from halfulp.interp.dialects.memref.ops import ACCESS_PROPERTIES, ALIGNMENT, INDICES, MEMREF
from halfulp.interp.dialects.memref.views import type_cast
from halfulp.interp.dialects.regions import declare_yield
from halfulp.interp.dialects.vector import forms, masking, memory, moves, reductions, rules, shapes
from halfulp.interp.dialects.vector.forms import TRANSFER
from halfulp.interp.dialects.vector.moves import vector
from halfulp.interp.ir import attributes as at
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.base import narrowed
from halfulp.interp.ir.dialect_attributes import EnumAttr
from halfulp.interp.ir.errors import LimitExceeded
from halfulp.interp.ir.operations import Operation, Rule
from halfulp.interp.run.evaluators import OnFrames, OnValues
from halfulp.interp.run.frames import Run
from halfulp.interp.run.printing import show
from halfulp.interp.run.settings import Settings
from halfulp.interp.values.memref_layout import strides_and_offset
from halfulp.interp.values.spelling import printed
from halfulp.interp.values.value import Value

# --- access -----------------------------------------------------------------------------------------------------------
#
# Verification of vector.load and vector.store, and of vector.type_cast.


def _is_of_one_element(type_: ty.VectorType) -> bool:
    return not any(type_.scalable) and prod(type_.shape) == 1


def verify_access(op: Operation) -> str | None:
    """Return an error message for vector.load and vector.store unless the vector's elements lie one after the other
    along the last dimension.
    """
    loads = op.name == "vector.load"
    base = op.operands[0 if loads else 1].type
    given = narrowed((op.results if loads else op.operands)[0].type, ty.VectorType)
    assert isinstance(base, ty.MemRefType)
    shape = base.shape or ()
    known = strides_and_offset(base)
    dense = known is not None and known[0][-1:] in ((), (1,))
    if not dense and not _is_of_one_element(given):
        return "most minor memref dim must have unit stride"
    if len(shape) < len(given.shape):
        memref, vector = ("destination", "result vector") if loads else ("source", "vector to store")
        return f"{memref} memref has lower rank than the {vector}"
    held = base.element
    if isinstance(held, ty.VectorType) and held != given:
        return f"base memref and {'result' if loads else 'valueToStore'} vector types should match"
    if given.element != (held.element if isinstance(held, ty.VectorType) else held):
        return f"base and {'result element types' if loads else 'valueToStore element type'} should match"
    indices = len(op.operands) - (1 if loads else 2)
    return None if indices == len(shape) else f"requires {len(shape)} indices"


def _extents(type_: ty.MemRefType) -> tuple[int | None, ...]:
    """Return the dimensions of a memref, then those of the vectors in it."""
    return (type_.shape or ()) + (type_.element.shape if isinstance(type_.element, ty.VectorType) else ())


def _has_layout(type_: ty.MemRefType) -> bool:
    layout = type_.layout
    return layout is not None and not getattr(layout, "is_identity", False)


def verify_type_cast(op: Operation) -> str | None:
    """Return an error message unless both memrefs have the same elements in the same order."""
    source, result = narrowed(op.operands[0].type, ty.MemRefType), narrowed(op.results[0].type, ty.MemRefType)
    if _has_layout(source):
        return "expects operand to be a memref with identity layout"
    if _has_layout(result):
        return "expects result to be a memref with identity layout"
    if source.memory_space != result.memory_space:
        return "expects result in same memory space"
    if ty.element_type(source.element) != ty.element_type(result.element):
        return f"expects result and operand with same underlying scalar type: '{result}'"
    if _extents(source) != _extents(result):
        return f"expects concatenated result and operand shapes to be equal: '{result}'"
    return None


# --- masks ------------------------------------------------------------------------------------------------------------
#
# The ops that make masks: vector.create_mask and vector.constant_mask.


def verify_create(op: Operation) -> str | None:
    """Return an error message unless there is an operand for each dimension, and one for a vector of rank 0."""
    shape = ty.shape_of(op.results[0].type) or ()
    if not shape and len(op.operands) != 1:
        return "must specify exactly one operand for 0-D create_mask"
    if shape and len(op.operands) != len(shape):
        return "must specify an operand for each result vector dimension"
    return None


def verify_constant(op: Operation) -> str | None:
    """Return an error message unless the sizes lie inside the vector, and all are 0 if one of them is."""
    type_ = narrowed(op.results[0].type, ty.VectorType)
    sizes = moves.integers(op.properties["mask_dim_sizes"])
    if not type_.shape:
        if len(sizes) != 1:
            return d.Unprefixed("array attr must have length 1 for 0-D vectors")
        return None if sizes[0] in (0, 1) else d.Unprefixed("mask dim size must be either 0 or 1 for 0-D vectors")
    if len(sizes) != len(type_.shape):
        return "must specify array attr of size equal vector result rank"
    for size, extent, scalable in zip(sizes, type_.shape, moves.scalable_dimensions(type_), strict=True):
        if not 0 <= size <= extent:
            return "array attr of size out of bounds of vector result dimension size"
        if scalable and size not in (0, extent):
            return "only supports 'none set' or 'all set' scalable dimensions"
    if 0 in sizes and any(sizes):
        return "expected all mask dim sizes to be zeros, as a result of conjunction with zero mask dim"
    return None


def _leading(shape: tuple[int, ...], sizes: list[int]) -> npt.NDArray[np.uint8]:
    """Return a mask that is set where each index is below the size for its dimension."""
    mask = np.zeros(shape, np.uint8)
    place = tuple(slice(0, min(max(size, 0), extent)) for size, extent in zip(sizes, shape, strict=False))
    if place:
        mask[place] = 1
    else:
        mask[...] = sizes[0] > 0
    return mask


def create(op: Operation, settings: Settings) -> Function:
    """Return the function that runs vector.create_mask. A size that is poison makes the whole mask poison."""
    type_ = op.results[0].type
    half = 1 << (settings.index_width - 1)

    def make(run: Run, operands: Operands) -> tuple[Any, ...]:
        shape = moves.static_shape(type_, settings)
        ids = max((int(size.poison) for size in operands if size.poison is not None), default=0)
        if ids:
            poison = np.full(shape, ids, np.uint16)
            return (Value(type_, np.zeros(shape, np.uint8), poison, None, run.origins),)
        sizes = [int(size.bits) for size in operands]
        return (Value(type_, _leading(shape, [size - 2 * half if size & half else size for size in sizes])),)

    return make


def constant(op: Operation, settings: Settings) -> Function:
    """Return the function that runs vector.constant_mask."""
    type_ = narrowed(op.results[0].type, ty.VectorType)
    sizes = moves.integers(op.properties["mask_dim_sizes"])
    flags = moves.scalable_dimensions(type_)

    def make(run: Run, operands: Operands) -> tuple[Any, ...]:
        scaled = [
            size * (settings.vscale or 1) if scalable else size
            for size, scalable in zip(sizes, flags or (False,), strict=True)
        ]
        return (Value(type_, _leading(moves.static_shape(type_, settings), scaled)),)

    return make


# --- ops --------------------------------------------------------------------------------------------------------------

_MOST_ELEMENTS = 1 << 20
"""The most results that a vector.to_elements may have."""

# --- rules ------------------------------------------------------------------------------------------------------------


def _elements_of(shaped: str, limited: bool = False) -> d.TypeRule:
    """Return the rule that there are as many operands as a vector has elements, of its element type. ``limited``: they
    are results.
    """

    def solve(types: dict[str, Any], properties: Mapping[str, at.Attribute]) -> None:
        whole = types.get(shaped)
        if isinstance(whole, ty.VectorType) and not any(whole.scalable):
            count = ty.element_count(whole) or 0
            if limited and count > _MOST_ELEMENTS:
                raise LimitExceeded(f"the op has {count} results; the limit is {_MOST_ELEMENTS}")
            types.setdefault("elements", d.Repeated(whole.element, count))

    def holds(types: Mapping[str, Any], properties: Mapping[str, at.Attribute]) -> bool:
        whole, elements = types[shaped], types["elements"]
        return len(elements) == ty.element_count(whole) and all(type_ == whole.element for type_ in elements)

    return d.TypeRule(
        f"failed to verify that shaped type '{shaped}' matches 'elements' element count and types", solve, holds
    )


def _same_accumulator() -> d.TypeRule:
    def solve(types: dict[str, Any], properties: Mapping[str, at.Attribute]) -> None:
        if "dest" in types:
            types.setdefault("acc", (types["dest"],))

    def holds(types: Mapping[str, Any], properties: Mapping[str, at.Attribute]) -> bool:
        return all(type_ == types["dest"] for type_ in types["acc"])

    return d.TypeRule("failed to verify that dest and acc have the same type", solve, holds)


# --- printing ---------------------------------------------------------------------------------------------------------

_NEWLINE = 1
_PUNCTUATION_TEXT = ("", "\n", ", ", "( ", " )")


def _print(op: Operation, settings: Settings) -> Function:
    literal, mark = op.properties.get("stringLiteral"), op.properties.get("punctuation")
    ending = _PUNCTUATION_TEXT[mark.value] if isinstance(mark, EnumAttr) else "\n"

    def print_(run: Run, operands: Operands) -> tuple[Any, ...]:
        if isinstance(literal, at.StringAttr):
            # As in C, the string ends before its first NUL. Punctuation follows values, not strings.
            show(op, settings, literal.value.partition("\0")[0])
        else:
            show(op, settings, "".join(map(printed, operands)) + ending, operands)
        return ()

    return print_


def _verify_print(op: Operation) -> str | None:
    mark = op.properties.get("punctuation")
    marked = isinstance(mark, EnumAttr) and mark.value != _NEWLINE
    if "stringLiteral" in op.properties and (op.operands or marked):
        return "failed to verify that `source` or `punctuation` are not set when printing strings"
    return None


vector.op(
    "print",
    "($source^ `:` type($source))? oilist(`str` $stringLiteral | `punctuation` $punctuation) attr-dict",
    operands=(d.optional("source", d.PRINTABLE),),
    properties=(
        d.Property("punctuation", moves.PUNCTUATION, default=_NEWLINE),
        d.Property("stringLiteral", d.STRING_ATTR, optional=True),
    ),
    verify=_verify_print,
    evaluate=OnValues(_print),
)

# --- elements and their places ----------------------------------------------------------------------------------------

_POSITION = (d.Property("static_position", d.POSITION_ARRAY_ATTR),)
_DYNAMIC_POSITION = d.variadic("dynamic_position", d.INDEX)

vector.op(
    "extract",
    "$source `` custom<DynamicIndexList>($dynamic_position, $static_position) attr-dict "
    "`:` type($result) `from` type($source)",
    operands=(d.Slot("source", d.VECTOR), _DYNAMIC_POSITION),
    results={"result": d.ANY},
    properties=_POSITION,
    type_rules=(rules.part_of("result", "source", "source", "operand and result"),),
    verify=rules.verify_position,
    verify_regions=rules.verify_extracted,
    evaluate=data_movement(rules.extract, 1, rules.axes, words=reductions.moved),
)
vector.op(
    "insert",
    "$valueToStore `,` $dest custom<DynamicIndexList>($dynamic_position, $static_position) attr-dict "
    "`:` type($valueToStore) `into` type($dest)",
    operands=(d.Slot("valueToStore", d.ANY), d.Slot("dest", d.VECTOR), _DYNAMIC_POSITION),
    results={"result": d.VECTOR},
    properties=_POSITION,
    type_rules=(
        rules.part_of("valueToStore", "dest", "result", "source operand and result"),
        d.same_type("dest", "result"),
    ),
    verify=rules.verify_position,
    evaluate=data_movement(rules.insert, 2, rules.axes, words=reductions.moved),
)
vector.op(
    "from_elements",
    "$elements attr-dict `:` type($dest)",
    operands=(d.variadic("elements", d.ANY),),
    results={"dest": moves.FIXED},
    type_rules=(_elements_of("dest"),),
    evaluate=data_movement(moves.from_elements, words=reductions.moved),
)
vector.op(
    "to_elements",
    "$source attr-dict `:` type($source)",
    operands={"source": d.VECTOR},
    results=(d.variadic("elements", d.ANY),),
    type_rules=(_elements_of("source", limited=True),),
    evaluate=data_movement(moves.to_elements, words=reductions.moved),
)
vector.op(
    "broadcast",
    "$source attr-dict `:` type($source) `to` type($vector)",
    operands={"source": d.ANY},
    results={"vector": d.VECTOR},
    verify=shapes.verify_broadcast,
    evaluate=data_movement(moves.broadcast, words=reductions.moved),
)


def _converted(mnemonic: str, verify: Rule, evaluate: OnValues, clauses: str = "", **more: Any) -> None:
    """Declare an op that makes a vector of another type from one vector."""
    vector.op(
        mnemonic,
        f"$source {clauses} attr-dict `:` type($source) `to` type($result)",
        operands={"source": d.VECTOR},
        results={"result": d.VECTOR},
        verify=verify,
        evaluate=evaluate,
        **more,
    )


_converted("shape_cast", shapes.verify_shape_cast, data_movement(moves.shape_cast, words=reductions.moved))
_converted(
    "bitcast", shapes.verify_bitcast, OnValues(moves.bitcast), type_rules=(shapes.same_rank("source", "result"),)
)
vector.op(
    "transpose",
    "$vector `,` $permutation attr-dict `:` type($vector) `to` type($result)",
    operands={"vector": d.VECTOR},
    results={"result": d.VECTOR},
    properties=(d.Property("permutation", d.INTEGER_64_ARRAY_ATTR),),
    type_rules=(d.same_element("vector", "result", "operand and result"),),
    verify=shapes.verify_transpose,
    evaluate=data_movement(moves.transpose, words=reductions.moved),
)
vector.op(
    "shuffle",
    "$v1 `,` $v2 $mask attr-dict `:` type($v1) `,` type($v2)",
    operands={"v1": moves.FIXED, "v2": moves.FIXED},
    results={"vector": moves.RANKED},
    properties=(d.Property("mask", d.INTEGER_64_ARRAY_ATTR),),
    type_rules=(shapes.SHUFFLED, d.same_element("v2", "vector", "second operand v2 and result")),
    verify=shapes.verify_shuffle,
    evaluate=data_movement(moves.shuffle, words=reductions.moved),
)
vector.op(
    "interleave",
    "$lhs `,` $rhs attr-dict `:` type($lhs) `->` type($result)",
    operands={"lhs": d.VECTOR, "rhs": d.VECTOR},
    results={"result": moves.RANKED},
    type_rules=(d.same_type("lhs", "rhs"), shapes.DOUBLED),
    evaluate=data_movement(moves.interleave, words=reductions.moved),
)
vector.op(
    "deinterleave",
    "$source attr-dict `:` type($source) `->` type($res1)",
    operands={"source": moves.RANKED},
    results={"res1": moves.RANKED, "res2": moves.RANKED},
    type_rules=(shapes.EVEN, shapes.HALVED, d.same_type("res1", "res2")),
    named_results=("res1", "res2"),
    evaluate=data_movement(moves.deinterleave, words=reductions.moved),
)
_converted(
    "extract_strided_slice",
    shapes.verify_extract_slice,
    data_movement(moves.extract_slice, words=reductions.moved, scales=True),
    "newer(`offsets` `=` $offsets `,` `sizes` `=` $sizes `,` `strides` `=` $strides)",
    properties=tuple(d.Property(name, moves.INTEGERS) for name in ("offsets", "sizes", "strides")),
    type_rules=(d.same_element("source", "result", "operand and result"),),
)
vector.op(
    "insert_strided_slice",
    "$valueToStore `,` $dest newer(`offsets` `=` $offsets `,` `strides` `=` $strides) attr-dict `:` "
    "type($valueToStore) `into` type($dest)",
    operands={"valueToStore": d.VECTOR, "dest": d.VECTOR},
    results={"result": d.VECTOR},
    properties=tuple(d.Property(name, moves.INTEGERS) for name in ("offsets", "strides")),
    type_rules=(d.same_element("valueToStore", "result", "operand #0 and result"), d.same_type("dest", "result")),
    verify=shapes.verify_insert_slice,
    evaluate=data_movement(moves.insert_slice, words=reductions.moved),
)
vector.op(
    "scalable.extract",
    "$source `[` $pos `]` attr-dict `:` type($result) `from` type($source)",
    operands={"source": moves.SCALABLE_1D},
    results={"result": moves.RANK_1},
    properties=(d.Property("pos", d.INTEGER_64_ATTR),),
    type_rules=(
        d.same_element("source", "result", "all of {source, result}"),
        shapes.multiple_of("result", "result length"),
    ),
    evaluate=data_movement(moves.scalable_extract, scales=True),
)
vector.op(
    "scalable.insert",
    "$valueToStore `,` $dest `[` $pos `]` attr-dict `:` type($valueToStore) `into` type($dest)",
    operands={"valueToStore": moves.RANK_1, "dest": moves.SCALABLE_1D},
    results={"result": moves.SCALABLE_1D},
    properties=(d.Property("pos", d.INTEGER_64_ATTR),),
    type_rules=(
        d.same_element("valueToStore", "dest", "all of {valueToStore, dest}"),
        shapes.multiple_of("valueToStore", "source length"),
        d.same_type("dest", "result"),
    ),
    evaluate=data_movement(moves.scalable_insert, scales=True),
)
vector.op("step", "attr-dict `:` type($result)", results={"result": moves.STEPS}, evaluate=OnValues(moves.step))
vector.op(
    "vscale",
    "attr-dict",
    results={"res": d.INDEX},
    named_results=("vscale",),
    evaluate=OnValues(moves.vscale),
)

# --- masks ------------------------------------------------------------------------------------------------------------

vector.op(
    "create_mask",
    "$operands attr-dict `:` type($result)",
    operands=(d.variadic("operands", d.INDEX),),
    results={"result": moves.MASK},
    verify=verify_create,
    evaluate=OnValues(create),
)
vector.op(
    "constant_mask",
    "$mask_dim_sizes attr-dict `:` type($result)",
    results={"result": moves.MASK},
    properties=(d.Property("mask_dim_sizes", d.INTEGER_64_ARRAY_ATTR),),
    verify=verify_constant,
    evaluate=OnValues(constant),
)
vector.op(
    "mask",
    custom=forms.MASK,
    operands=(d.Slot("mask", moves.RANKED_MASK), d.optional("passthru", d.ANY)),
    results=(d.variadic("results", d.ANY),),
    regions=(d.RegionSlot("maskRegion"),),
    traits=(d.Trait.SINGLE_BLOCK,),
    verify=masking.verify,
    evaluate=OnFrames(masking.mask),
)
declare_yield(vector)

# --- memory -----------------------------------------------------------------------------------------------------------

_ALIGNED = "newer(`alignment` `=` $alignment)"
_CLAUSES = "newer(`alignment` `=` $alignment | `nontemporal` `=` $nontemporal)"

vector.op(
    "load",
    f"$base `[` $indices `]` {_CLAUSES} attr-dict `:` type($base) `,` type($result)",
    operands=(d.Slot("base", MEMREF), INDICES),
    results={"result": d.VECTOR},
    properties=ACCESS_PROPERTIES,
    verify=verify_access,
    evaluate=OnValues(load_vector, raw=True, words=reductions.load),
)
vector.op(
    "store",
    f"$valueToStore `,` $base `[` $indices `]` {_CLAUSES} attr-dict `:` type($base) `,` type($valueToStore)",
    operands=(d.Slot("valueToStore", d.VECTOR), d.Slot("base", MEMREF), INDICES),
    properties=ACCESS_PROPERTIES,
    verify=verify_access,
    evaluate=OnValues(store_vector, raw=True, words=reductions.load),
)


def _load(
    mnemonic: str, mask: d.TypeConstraint, evaluate: Callable[..., Function], what: str = "result", shapes: str = "dim"
) -> None:
    vector.op(
        mnemonic,
        f"$base `[` $indices `]` `,` $mask `,` $pass_thru {_ALIGNED} attr-dict `:` type($base) `,` type($mask) `,` "
        "type($pass_thru) `into` type($result)",
        operands=(d.Slot("base", MEMREF), INDICES, d.Slot("mask", mask), d.Slot("pass_thru", moves.RANKED)),
        results={"result": moves.RANKED},
        properties=(ALIGNMENT,),
        verify=memory.verifier("pass_thru", what, shapes=shapes),
        evaluate=OnValues(evaluate),
    )


def _store(mnemonic: str, mask: d.TypeConstraint, evaluate: Callable[..., Function], shapes: str = "dim") -> None:
    vector.op(
        mnemonic,
        f"$base `[` $indices `]` `,` $mask `,` $valueToStore {_ALIGNED} attr-dict `:` type($base) `,` type($mask) `,` "
        "type($valueToStore)",
        operands=(d.Slot("base", MEMREF), INDICES, d.Slot("mask", mask), d.Slot("valueToStore", moves.RANKED)),
        properties=(ALIGNMENT,),
        verify=memory.verifier("valueToStore", "valueToStore", shapes=shapes),
        evaluate=OnValues(evaluate),
    )


_load("maskedload", moves.RANKED_MASK, memory.masked_load, shapes="shape")
_load("expandload", moves.RANKED_MASK, memory.expand_load)
_store("maskedstore", moves.RANKED_MASK, memory.masked_store, shapes="shape")
_store("compressstore", moves.RANKED_MASK, memory.compress_store)

_GATHERED = (d.variadic("offsets", d.INDEX), d.Slot("indices", moves.INDICES))
vector.op(
    "gather",
    f"$base `[` $offsets `]` `[` $indices `]` `,` $mask `,` $pass_thru {_ALIGNED} attr-dict `:` type($base) `,` "
    "type($indices) `,` type($mask) `,` type($pass_thru) `into` type($result)",
    operands=(
        d.Slot("base", moves.TENSOR_OR_MEMREF),
        *_GATHERED,
        d.Slot("mask", moves.MASK),
        d.Slot("pass_thru", d.VECTOR),
    ),
    results={"result": d.VECTOR},
    properties=(ALIGNMENT,),
    verify=memory.verifier("pass_thru", "result", indexed=True),
    evaluate=masking.maskable("gather"),
)
vector.op(
    "scatter",
    f"$base `[` $offsets `]` `[` $indices `]` `,` $mask `,` $valueToStore {_ALIGNED} attr-dict `:` type($base) `,` "
    "type($indices) `,` type($mask) `,` type($valueToStore) (`->` type($result)^)?",
    operands=(
        d.Slot("base", moves.TENSOR_OR_MEMREF),
        *_GATHERED,
        d.Slot("mask", moves.MASK),
        d.Slot("valueToStore", d.VECTOR),
    ),
    results=(d.optional("result", d.TENSOR),),
    properties=(ALIGNMENT,),
    verify=memory.verifier("valueToStore", "valueToStore", indexed=True),
    evaluate=OnValues(memory.scatter),
)

_TRANSFER: dict[str, Any] = {
    "custom": TRANSFER,
    "properties": (
        d.Property("in_bounds", moves.FLAGS),
        d.Property("permutation_map", d.AFFINE_MAP_ATTR),
    ),
    "traits": (d.Trait.ATTR_SIZED_OPERAND_SEGMENTS,),
    "verify": forms.verify,
}
_MASK_OF_TRANSFER = d.optional("mask", moves.MASK)
vector.op(
    "transfer_read",
    operands=(d.Slot("base", moves.SHAPED), INDICES, d.Slot("padding", d.ANY), _MASK_OF_TRANSFER),
    results={"vector": d.VECTOR},
    evaluate=masking.maskable("transfer_read", reductions.transfer),
    **_TRANSFER,
)
vector.op(
    "transfer_write",
    operands=(d.Slot("valueToStore", d.VECTOR), d.Slot("base", moves.SHAPED), INDICES, _MASK_OF_TRANSFER),
    results=(d.optional("result", d.RANKED_TENSOR),),
    evaluate=masking.maskable("transfer_write", reductions.transfer),
    **_TRANSFER,
)
vector.op(
    "type_cast",
    "$memref attr-dict `:` type($memref) `to` type($result)",
    operands={"memref": moves.STATIC_MEMREF},
    results={"result": MEMREF},
    verify=verify_type_cast,
    evaluate=OnValues(type_cast, raw=True),
)

# --- combinations of elements -----------------------------------------------------------------------------------------

vector.op(
    "fma",
    "$lhs `,` $rhs `,` $acc attr-dict `:` type($lhs)",
    operands=dict.fromkeys(("lhs", "rhs", "acc"), moves.FLOATS),
    results={"result": moves.FLOATS},
    type_rules=(d.same_type("lhs", "rhs", "acc", "result"),),
    evaluate=reductions.FMA,
)
vector.op(
    "reduction",
    "$kind `,` $vector (`,` $acc^)? (`fastmath` `` $fastmath^)? attr-dict `:` type($vector) `into` type($dest)",
    operands=(d.Slot("vector", d.VECTOR), d.optional("acc", d.ANY)),
    results={"dest": d.ANY},
    properties=(d.Property("fastmath", FASTMATH, default=0), d.Property("kind", moves.KIND)),
    type_rules=(d.same_element("vector", "dest", "source operand and result"), _same_accumulator()),
    verify=rules.verify_reduction,
    evaluate=masking.maskable("reduction", reductions.reduction),
)
vector.op(
    "multi_reduction",
    "$kind `,` $source `,` $acc attr-dict $reduction_dims `:` type($source) `to` type($dest)",
    operands={"source": d.VECTOR, "acc": d.ANY},
    results={"dest": d.ANY},
    properties=(d.Property("kind", moves.KIND), d.Property("reduction_dims", d.INTEGER_64_ARRAY_ATTR)),
    type_rules=(d.same_type("dest", "acc"), d.same_element("source", "dest", "source operand and result")),
    verify=rules.verify_multi_reduction,
    evaluate=masking.maskable("multi_reduction", reductions.multi_reduction),
)
vector.op(
    "scan",
    "$kind `,` $source `,` $initial_value newer(`reduction_dim` `=` $reduction_dim `,` `inclusive` `=` $inclusive) "
    "attr-dict `:` type($source) `,` type($initial_value)",
    operands={"source": moves.RANKED, "initial_value": d.VECTOR},
    results={"dest": moves.RANKED, "accumulated_value": d.VECTOR},
    properties=(
        d.Property("inclusive", d.BOOL_ATTR),
        d.Property("kind", moves.KIND),
        d.Property("reduction_dim", d.INTEGER_64_ATTR),
    ),
    type_rules=(d.same_type("source", "dest"), d.same_type("initial_value", "accumulated_value")),
    verify=rules.verify_scan,
    named_results=("dest", "accumulated_value"),
    evaluate=OnValues(reductions.scan),
)
vector.op(
    "contract",
    custom=forms.CONTRACT,
    operands={"lhs": d.VECTOR, "rhs": d.VECTOR, "acc": d.ANY},
    results={"result": d.ANY},
    properties=(
        d.Property("fastmath", FASTMATH, default=0, since=d.Schema.LLVM24),
        d.Property("indexing_maps", moves.MAPS),
        d.Property("iterator_types", moves.ITERATORS),
        d.Property("kind", moves.KIND, default=0),
    ),
    type_rules=(
        d.same_element("lhs", "rhs", "lhs and rhs"),
        d.same_element("acc", "result", "third operand acc and result"),
    ),
    verify=rules.verify_contract,
    evaluate=masking.maskable("contract"),
)
vector.op(
    "outerproduct",
    custom=forms.OUTER_PRODUCT,
    operands=(d.Slot("lhs", moves.RANKED), d.Slot("rhs", d.ANY), d.optional("acc", moves.RANKED)),
    results={"result": moves.RANKED},
    properties=(d.Property("kind", moves.KIND, default=0),),
    type_rules=(
        d.same_element("lhs", "result", "lhs operand and result"),
        d.same_element("rhs", "result", "rhs operand and result"),
    ),
    verify=rules.verify_outer,
    evaluate=masking.maskable("outerproduct"),
)
