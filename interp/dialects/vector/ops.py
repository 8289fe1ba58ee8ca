"""The vector dialect (`VectorOps.td`): its ops."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from halfulp.interp.declare import constraints as c
from halfulp.interp.declare.declarations import Arity, Property, RegionSlot, Slot, Trait, TypeConstraint
from halfulp.interp.declare.type_rules import Repeated, TypeRule, same_element, same_type
from halfulp.interp.dialects.arith.ops import FASTMATH
from halfulp.interp.dialects.elements import Operands
from halfulp.interp.dialects.memref.evaluate import load_vector, store_vector
from halfulp.interp.dialects.memref.ops import MEMREF
from halfulp.interp.dialects.memref.views import type_cast
from halfulp.interp.dialects.moving import moving
from halfulp.interp.dialects.vector import (
    access,
    attributes,
    forms,
    masking,
    masks,
    memory,
    moves,
    positions,
    reduction_rules,
    reductions,
    shapes,
    transfer_rules,
    words,
)
from halfulp.interp.dialects.vector.attributes import ITERATORS, KIND, PUNCTUATION, RANKED, vector
from halfulp.interp.dialects.vector.transfer_forms import TRANSFER
from halfulp.interp.ir import attributes as at
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.dialect_attributes import EnumAttr
from halfulp.interp.ir.errors import LimitExceeded
from halfulp.interp.ir.operations import Operation
from halfulp.interp.run.evaluators import OnFrames, OnValues
from halfulp.interp.run.frames import Function, Run
from halfulp.interp.run.printing import show
from halfulp.interp.run.settings import Settings
from halfulp.interp.values.printing import printed

_MOST_ELEMENTS = 1 << 20
"""The most results that a vector.to_elements may have."""

# --- rules ------------------------------------------------------------------------------------------------------------


def _elements_of(shaped: str, limited: bool = False) -> TypeRule:
    """Require as many elements as a vector has, of its element type. ``limited``: they are results."""

    def solve(types: dict[str, Any], properties: Mapping[str, at.Attribute]) -> None:
        whole = types.get(shaped)
        if isinstance(whole, ty.VectorType) and not any(whole.scalable):
            count = ty.element_count(whole) or 0
            if limited and count > _MOST_ELEMENTS:
                raise LimitExceeded(f"an op with {count} results; the limit is {_MOST_ELEMENTS}")
            types.setdefault("elements", Repeated(whole.element, count))

    def holds(types: Mapping[str, Any], properties: Mapping[str, at.Attribute]) -> bool:
        whole, elements = types[shaped], types["elements"]
        return len(elements) == ty.element_count(whole) and all(type_ == whole.element for type_ in elements)

    return TypeRule(
        f"failed to verify that shaped type '{shaped}' matches 'elements' element count and types", solve, holds
    )


def _same_accumulator() -> TypeRule:
    def solve(types: dict[str, Any], properties: Mapping[str, at.Attribute]) -> None:
        if "dest" in types:
            types.setdefault("acc", (types["dest"],))

    def holds(types: Mapping[str, Any], properties: Mapping[str, at.Attribute]) -> bool:
        return all(type_ == types["dest"] for type_ in types["acc"])

    return TypeRule("failed to verify that dest and acc have the same type", solve, holds)


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
    operands=(Slot("source", c.PRINTABLE, Arity.OPTIONAL),),
    properties=(
        Property("punctuation", PUNCTUATION, default=_NEWLINE),
        Property("stringLiteral", c.STRING_ATTR, optional=True),
    ),
    verify=_verify_print,
    evaluate=OnValues(_print),
)

# --- elements and their places ----------------------------------------------------------------------------------------

_POSITION = (Property("static_position", c.POSITION_ARRAY_ATTR),)
_DYNAMIC_POSITION = Slot("dynamic_position", c.INDEX, Arity.VARIADIC)

vector.op(
    "extract",
    "$source `` custom<DynamicIndexList>($dynamic_position, $static_position) attr-dict "
    "`:` type($result) `from` type($source)",
    operands=(Slot("source", c.VECTOR), _DYNAMIC_POSITION),
    results={"result": c.ANY},
    properties=_POSITION,
    type_rules=(positions.part_of("result", "source", "source", "operand and result"),),
    verify=positions.verify_position,
    verify_regions=positions.verify_extracted,
    evaluate=moving(positions.extract, 1, positions.axes, words=words.moved),
)
vector.op(
    "insert",
    "$valueToStore `,` $dest custom<DynamicIndexList>($dynamic_position, $static_position) attr-dict "
    "`:` type($valueToStore) `into` type($dest)",
    operands=(Slot("valueToStore", c.ANY), Slot("dest", c.VECTOR), _DYNAMIC_POSITION),
    results={"result": c.VECTOR},
    properties=_POSITION,
    type_rules=(
        positions.part_of("valueToStore", "dest", "result", "source operand and result"),
        same_type("dest", "result"),
    ),
    verify=positions.verify_position,
    evaluate=moving(positions.insert, 2, positions.axes, words=words.moved),
)
vector.op(
    "from_elements",
    "$elements attr-dict `:` type($dest)",
    operands=(Slot("elements", c.ANY, Arity.VARIADIC),),
    results={"dest": attributes.FIXED},
    type_rules=(_elements_of("dest"),),
    evaluate=moving(moves.from_elements, words=words.moved),
)
vector.op(
    "to_elements",
    "$source attr-dict `:` type($source)",
    operands={"source": c.VECTOR},
    results=(Slot("elements", c.ANY, Arity.VARIADIC),),
    type_rules=(_elements_of("source", limited=True),),
    evaluate=moving(moves.to_elements, words=words.moved),
)
vector.op(
    "broadcast",
    "$source attr-dict `:` type($source) `to` type($vector)",
    operands={"source": c.ANY},
    results={"vector": c.VECTOR},
    verify=shapes.verify_broadcast,
    evaluate=moving(moves.broadcast, words=words.moved),
)
vector.op(
    "shape_cast",
    "$source attr-dict `:` type($source) `to` type($result)",
    operands={"source": c.VECTOR},
    results={"result": c.VECTOR},
    verify=shapes.verify_shape_cast,
    evaluate=moving(moves.shape_cast, words=words.moved),
)
vector.op(
    "bitcast",
    "$source attr-dict `:` type($source) `to` type($result)",
    operands={"source": c.VECTOR},
    results={"result": c.VECTOR},
    type_rules=(shapes.same_rank("source", "result"),),
    verify=shapes.verify_bitcast,
    evaluate=OnValues(moves.bitcast),
)
vector.op(
    "transpose",
    "$vector `,` $permutation attr-dict `:` type($vector) `to` type($result)",
    operands={"vector": c.VECTOR},
    results={"result": c.VECTOR},
    properties=(Property("permutation", c.INTEGER_64_ARRAY_ATTR),),
    type_rules=(same_element("vector", "result", "operand and result"),),
    verify=shapes.verify_transpose,
    evaluate=moving(moves.transpose, words=words.moved),
)
vector.op(
    "shuffle",
    "$v1 `,` $v2 $mask attr-dict `:` type($v1) `,` type($v2)",
    operands={"v1": attributes.FIXED, "v2": attributes.FIXED},
    results={"vector": RANKED},
    properties=(Property("mask", c.INTEGER_64_ARRAY_ATTR),),
    type_rules=(shapes.SHUFFLED, same_element("v2", "vector", "second operand v2 and result")),
    verify=shapes.verify_shuffle,
    evaluate=moving(moves.shuffle, words=words.moved),
)
vector.op(
    "interleave",
    "$lhs `,` $rhs attr-dict `:` type($lhs) `->` type($result)",
    operands={"lhs": c.VECTOR, "rhs": c.VECTOR},
    results={"result": RANKED},
    type_rules=(same_type("lhs", "rhs"), shapes.DOUBLED),
    evaluate=moving(moves.interleave, words=words.moved),
)
vector.op(
    "deinterleave",
    "$source attr-dict `:` type($source) `->` type($res1)",
    operands={"source": RANKED},
    results={"res1": RANKED, "res2": RANKED},
    type_rules=(shapes.EVEN, shapes.HALVED, same_type("res1", "res2")),
    named_results=("res1", "res2"),
    evaluate=moving(moves.deinterleave, words=words.moved),
)
vector.op(
    "extract_strided_slice",
    "$source attr-dict `:` type($source) `to` type($result)",
    operands={"source": c.VECTOR},
    results={"result": c.VECTOR},
    properties=tuple(Property(name, attributes.INTEGERS) for name in ("offsets", "sizes", "strides")),
    type_rules=(same_element("source", "result", "operand and result"),),
    verify=shapes.verify_extract_slice,
    evaluate=moving(moves.extract_slice, words=words.moved),
)
vector.op(
    "insert_strided_slice",
    "$valueToStore `,` $dest attr-dict `:` type($valueToStore) `into` type($dest)",
    operands={"valueToStore": c.VECTOR, "dest": c.VECTOR},
    results={"result": c.VECTOR},
    properties=tuple(Property(name, attributes.INTEGERS) for name in ("offsets", "strides")),
    type_rules=(same_element("valueToStore", "result", "operand #0 and result"), same_type("dest", "result")),
    verify=shapes.verify_insert_slice,
    evaluate=moving(moves.insert_slice, words=words.moved),
)
vector.op(
    "scalable.extract",
    "$source `[` $pos `]` attr-dict `:` type($result) `from` type($source)",
    operands={"source": attributes.SCALABLE_1D},
    results={"result": attributes.RANK_1},
    properties=(Property("pos", c.INTEGER_64_ATTR),),
    type_rules=(
        same_element("source", "result", "all of {source, result}"),
        shapes.multiple_of("result", "result length"),
    ),
    evaluate=moving(moves.scalable_extract),
)
vector.op(
    "scalable.insert",
    "$valueToStore `,` $dest `[` $pos `]` attr-dict `:` type($valueToStore) `into` type($dest)",
    operands={"valueToStore": attributes.RANK_1, "dest": attributes.SCALABLE_1D},
    results={"result": attributes.SCALABLE_1D},
    properties=(Property("pos", c.INTEGER_64_ATTR),),
    type_rules=(
        same_element("valueToStore", "dest", "all of {valueToStore, dest}"),
        shapes.multiple_of("valueToStore", "source length"),
        same_type("dest", "result"),
    ),
    evaluate=moving(moves.scalable_insert),
)
vector.op("step", "attr-dict `:` type($result)", results={"result": attributes.STEPS}, evaluate=OnValues(moves.step))
vector.op("vscale", "attr-dict", results={"res": c.INDEX}, named_results=("vscale",), evaluate=OnValues(moves.vscale))

# --- masks ------------------------------------------------------------------------------------------------------------

vector.op(
    "create_mask",
    "$operands attr-dict `:` type($result)",
    operands=(Slot("operands", c.INDEX, Arity.VARIADIC),),
    results={"result": attributes.MASK},
    verify=masks.verify_create,
    evaluate=OnValues(masks.create),
)
vector.op(
    "constant_mask",
    "$mask_dim_sizes attr-dict `:` type($result)",
    results={"result": attributes.MASK},
    properties=(Property("mask_dim_sizes", c.INTEGER_64_ARRAY_ATTR),),
    verify=masks.verify_constant,
    evaluate=OnValues(masks.constant),
)
vector.op(
    "mask",
    custom=forms.MASK,
    operands=(Slot("mask", attributes.RANKED_MASK), Slot("passthru", c.ANY, Arity.OPTIONAL)),
    results=(Slot("results", c.ANY, Arity.VARIADIC),),
    regions=(RegionSlot("maskRegion"),),
    traits=(Trait.SINGLE_BLOCK,),
    verify=masking.verify,
    evaluate=OnFrames(masking.mask),
)
vector.op(
    "yield",
    "attr-dict ($operands^ `:` type($operands))?",
    operands=(Slot("operands", c.ANY, Arity.VARIADIC),),
    traits=(Trait.TERMINATOR, Trait.RETURN_LIKE),
    evaluate=OnFrames(masking.leave),
)

# --- memory -----------------------------------------------------------------------------------------------------------

_INDICES = Slot("indices", c.INDEX, Arity.VARIADIC)
_ALIGNMENT = Property("alignment", attributes.ALIGNMENT, optional=True)
_ACCESS = (_ALIGNMENT, Property("nontemporal", c.BOOL_ATTR, optional=True, elided=at.IntegerAttr(0, ty.I1)))
_CLAUSES = "newer(`alignment` `=` $alignment | `nontemporal` `=` $nontemporal)"

vector.op(
    "load",
    f"$base `[` $indices `]` {_CLAUSES} attr-dict `:` type($base) `,` type($result)",
    operands=(Slot("base", MEMREF), _INDICES),
    results={"result": c.VECTOR},
    properties=_ACCESS,
    verify=access.verify_access,
    evaluate=OnValues(load_vector, raw=True, words=words.load),
)
vector.op(
    "store",
    f"$valueToStore `,` $base `[` $indices `]` {_CLAUSES} attr-dict `:` type($base) `,` type($valueToStore)",
    operands=(Slot("valueToStore", c.VECTOR), Slot("base", MEMREF), _INDICES),
    properties=_ACCESS,
    verify=access.verify_access,
    evaluate=OnValues(store_vector, raw=True, words=words.load),
)


def _load(
    mnemonic: str, mask: TypeConstraint, evaluate: Callable[..., Function], what: str = "result", shapes: str = "dim"
) -> None:
    vector.op(
        mnemonic,
        "$base `[` $indices `]` `,` $mask `,` $pass_thru attr-dict `:` type($base) `,` type($mask) `,` "
        "type($pass_thru) `into` type($result)",
        operands=(Slot("base", MEMREF), _INDICES, Slot("mask", mask), Slot("pass_thru", RANKED)),
        results={"result": RANKED},
        properties=(_ALIGNMENT,),
        verify=memory.verifier("pass_thru", what, shapes=shapes),
        evaluate=OnValues(evaluate),
    )


def _store(mnemonic: str, mask: TypeConstraint, evaluate: Callable[..., Function], shapes: str = "dim") -> None:
    vector.op(
        mnemonic,
        "$base `[` $indices `]` `,` $mask `,` $valueToStore attr-dict `:` type($base) `,` type($mask) `,` "
        "type($valueToStore)",
        operands=(Slot("base", MEMREF), _INDICES, Slot("mask", mask), Slot("valueToStore", RANKED)),
        properties=(_ALIGNMENT,),
        verify=memory.verifier("valueToStore", "valueToStore", shapes=shapes),
        evaluate=OnValues(evaluate),
    )


_load("maskedload", attributes.RANKED_MASK, memory.masked_load, shapes="shape")
_load("expandload", attributes.FIXED_MASK, memory.expand_load)
_store("maskedstore", attributes.RANKED_MASK, memory.masked_store, shapes="shape")
_store("compressstore", attributes.FIXED_MASK, memory.compress_store)

_GATHERED = (Slot("offsets", c.INDEX, Arity.VARIADIC), Slot("indices", attributes.INDICES))
vector.op(
    "gather",
    "$base `[` $offsets `]` `[` $indices `]` `,` $mask `,` $pass_thru attr-dict `:` type($base) `,` type($indices) "
    "`,` type($mask) `,` type($pass_thru) `into` type($result)",
    operands=(
        Slot("base", attributes.TENSOR_OR_MEMREF),
        *_GATHERED,
        Slot("mask", attributes.MASK),
        Slot("pass_thru", c.VECTOR),
    ),
    results={"result": c.VECTOR},
    properties=(_ALIGNMENT,),
    verify=memory.verifier("pass_thru", "result", indexed=True),
    evaluate=masking.maskable("gather"),
)
vector.op(
    "scatter",
    "$base `[` $offsets `]` `[` $indices `]` `,` $mask `,` $valueToStore attr-dict `:` type($base) `,` type($indices) "
    "`,` type($mask) `,` type($valueToStore) (`->` type($result)^)?",
    operands=(
        Slot("base", attributes.TENSOR_OR_MEMREF),
        *_GATHERED,
        Slot("mask", attributes.MASK),
        Slot("valueToStore", c.VECTOR),
    ),
    results=(Slot("result", c.TENSOR, Arity.OPTIONAL),),
    properties=(_ALIGNMENT,),
    verify=memory.verifier("valueToStore", "valueToStore", indexed=True),
    evaluate=OnValues(memory.scatter),
)

_TRANSFER: dict[str, Any] = {
    "custom": TRANSFER,
    "properties": (
        Property("in_bounds", attributes.FLAGS),
        Property("permutation_map", c.AFFINE_MAP_ATTR),
    ),
    "traits": (Trait.ATTR_SIZED_OPERAND_SEGMENTS,),
    "verify": transfer_rules.verify,
}
_MASK_OF_TRANSFER = Slot("mask", attributes.MASK, Arity.OPTIONAL)
vector.op(
    "transfer_read",
    operands=(Slot("base", attributes.SHAPED), _INDICES, Slot("padding", c.ANY), _MASK_OF_TRANSFER),
    results={"vector": c.VECTOR},
    evaluate=masking.maskable("transfer_read", words.transfer),
    **_TRANSFER,
)
vector.op(
    "transfer_write",
    operands=(Slot("valueToStore", c.VECTOR), Slot("base", attributes.SHAPED), _INDICES, _MASK_OF_TRANSFER),
    results=(Slot("result", c.RANKED_TENSOR, Arity.OPTIONAL),),
    evaluate=masking.maskable("transfer_write", words.transfer),
    **_TRANSFER,
)
vector.op(
    "type_cast",
    "$memref attr-dict `:` type($memref) `to` type($result)",
    operands={"memref": attributes.STATIC_MEMREF},
    results={"result": MEMREF},
    verify=access.verify_type_cast,
    evaluate=OnValues(type_cast, raw=True),
)

# --- combinations of elements -----------------------------------------------------------------------------------------

vector.op(
    "fma",
    "$lhs `,` $rhs `,` $acc attr-dict `:` type($lhs)",
    operands=dict.fromkeys(("lhs", "rhs", "acc"), attributes.FLOATS),
    results={"result": attributes.FLOATS},
    type_rules=(same_type("lhs", "rhs", "acc", "result"),),
    evaluate=reductions.FMA,
)
vector.op(
    "reduction",
    "$kind `,` $vector (`,` $acc^)? (`fastmath` `` $fastmath^)? attr-dict `:` type($vector) `into` type($dest)",
    operands=(Slot("vector", c.VECTOR), Slot("acc", c.ANY, Arity.OPTIONAL)),
    results={"dest": c.ANY},
    properties=(Property("fastmath", FASTMATH, default=0), Property("kind", KIND)),
    type_rules=(same_element("vector", "dest", "source operand and result"), _same_accumulator()),
    verify=reduction_rules.verify_reduction,
    evaluate=masking.maskable("reduction", words.reduction),
)
vector.op(
    "multi_reduction",
    "$kind `,` $source `,` $acc attr-dict $reduction_dims `:` type($source) `to` type($dest)",
    operands={"source": c.VECTOR, "acc": c.ANY},
    results={"dest": c.ANY},
    properties=(Property("kind", KIND), Property("reduction_dims", c.INTEGER_64_ARRAY_ATTR)),
    type_rules=(same_type("dest", "acc"), same_element("source", "dest", "source operand and result")),
    verify=reduction_rules.verify_multi_reduction,
    evaluate=masking.maskable("multi_reduction", words.multi_reduction),
)
vector.op(
    "scan",
    "$kind `,` $source `,` $initial_value attr-dict `:` type($source) `,` type($initial_value)",
    operands={"source": RANKED, "initial_value": c.VECTOR},
    results={"dest": RANKED, "accumulated_value": c.VECTOR},
    properties=(
        Property("inclusive", c.BOOL_ATTR),
        Property("kind", KIND),
        Property("reduction_dim", c.INTEGER_64_ATTR),
    ),
    type_rules=(same_type("source", "dest"), same_type("initial_value", "accumulated_value")),
    verify=reduction_rules.verify_scan,
    named_results=("dest", "accumulated_value"),
    evaluate=OnValues(reductions.scan),
)
vector.op(
    "contract",
    custom=forms.CONTRACT,
    operands={"lhs": c.VECTOR, "rhs": c.VECTOR, "acc": c.ANY},
    results={"result": c.ANY},
    properties=(
        Property("indexing_maps", attributes.MAPS),
        Property("iterator_types", ITERATORS),
        Property("kind", KIND, default=0),
    ),
    type_rules=(
        same_element("lhs", "rhs", "lhs and rhs"),
        same_element("acc", "result", "third operand acc and result"),
    ),
    verify=reduction_rules.verify_contract,
    evaluate=masking.maskable("contract"),
)
vector.op(
    "outerproduct",
    custom=forms.OUTER_PRODUCT,
    operands=(Slot("lhs", RANKED), Slot("rhs", c.ANY), Slot("acc", RANKED, Arity.OPTIONAL)),
    results={"result": RANKED},
    properties=(Property("kind", KIND, default=0),),
    type_rules=(
        same_element("lhs", "result", "lhs operand and result"),
        same_element("rhs", "result", "rhs operand and result"),
    ),
    verify=reduction_rules.verify_outer,
    evaluate=masking.maskable("outerproduct"),
)
