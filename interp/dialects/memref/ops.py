"""The memref dialect (`MemRefOps.td`): the ops that make buffers, view them and move elements."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import combinations
from typing import Any

from halfulp.interp.declare import constraints as c
from halfulp.interp.declare.declarations import (
    Arity,
    Dialect,
    OpDefinition,
    Property,
    Schema,
    Slot,
    Trait,
    TypeConstraint,
    Unprefixed,
)
from halfulp.interp.declare.operands import operand_sizes
from halfulp.interp.declare.type_rules import TypeRule
from halfulp.interp.dialects.memref import evaluate as ops
from halfulp.interp.dialects.slices import FORM, OPERANDS, PROPERTIES, verify_inside, verify_written, written
from halfulp.interp.ir import attributes as at
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.affine_expressions import known_product, known_sum
from halfulp.interp.ir.operations import Operation
from halfulp.interp.run.evaluators import Pure
from halfulp.interp.values.memref_layout import Strides, strides_and_offset

memref = Dialect("memref", partial=True)

MEMREF = TypeConstraint(
    "memref of any type values",
    lambda type_: isinstance(type_, ty.MemRefType) and type_.shape is not None,
    c.MEMREF_KIND,
)
_WITH_DIMENSIONS = TypeConstraint(
    "unranked.memref of any type values or non-0-ranked.memref of any type values",
    lambda type_: isinstance(type_, ty.MemRefType) and type_.shape != (),
)
ANY_MEMREF = TypeConstraint("ranked or unranked memref of any type values", lambda t: isinstance(t, ty.MemRefType))

_INDICES = Slot("indices", c.INDEX, Arity.VARIADIC)

# --- layouts ----------------------------------------------------------------------------------------------------------


def is_strided(type_: ty.Type) -> bool:
    """Tell whether a type is a ranked memref whose elements lie at a sum of strides."""
    return isinstance(type_, ty.MemRefType) and type_.shape is not None and strides_and_offset(type_) is not None


def with_layout(
    type_: ty.MemRefType, shape: tuple[int | None, ...], strides: tuple[int | None, ...], offset: int | None
) -> ty.MemRefType:
    """Return a memref type of these strides, with the element type and memory space of ``type_``."""
    return ty.MemRefType(shape, type_.element, at.StridedLayoutAttr(strides, offset), type_.memory_space)


def viewed_type(
    type_: ty.MemRefType,
    offsets: tuple[int | None, ...],
    sizes: tuple[int | None, ...],
    steps: tuple[int | None, ...],
) -> ty.MemRefType | None:
    """Return the type of the view that a subview takes, with all dimensions; None where the source is not strided."""
    known = strides_and_offset(type_)
    if known is None:
        return None
    strides, offset = known
    for start, stride in zip(offsets, strides, strict=True):
        offset = known_sum(offset, known_product(start, stride))
    stepped = tuple(map(known_product, steps, strides))
    return with_layout(type_, sizes, stepped, offset)


def _reduced(type_: ty.MemRefType, rank: int) -> Iterator[ty.MemRefType]:
    """Yield the types that remain where dimensions of size 1 are dropped until there are ``rank``."""
    shape = type_.shape or ()
    layout = type_.layout
    assert isinstance(layout, at.StridedLayoutAttr)
    ones = [axis for axis, size in enumerate(shape) if size == 1]
    for dropped in combinations(ones, len(shape) - rank):
        kept = [axis for axis in range(len(shape)) if axis not in dropped]
        yield with_layout(
            type_, tuple(shape[axis] for axis in kept), tuple(layout.strides[axis] for axis in kept), layout.offset
        )


def _same_place(one: ty.MemRefType, other: ty.MemRefType) -> bool:
    return (one.shape, one.element, one.memory_space, strides_and_offset(one)) == (
        other.shape,
        other.element,
        other.memory_space,
        strides_and_offset(other),
    )


# --- rules ------------------------------------------------------------------------------------------------------------


def _element_of(name: str, source: str) -> TypeRule:
    def solve(types: dict[str, Any], properties: Mapping[str, Any]) -> None:
        if source in types:
            types.setdefault(name, ty.element_type(types[source]))

    def holds(types: Mapping[str, Any], properties: Mapping[str, Any]) -> bool:
        return bool(types[name] == ty.element_type(types[source]))

    what = "result type" if name == "result" else f"type of '{name}'"
    return TypeRule(f"failed to verify that {what} matches element type of '{source}'", solve, holds)


def _verify_alloc(op: Operation) -> str | None:
    type_ = op.results[0].type
    assert isinstance(type_, ty.MemRefType)
    assert op.definition is not None
    dynamic, symbols = operand_sizes(op, op.definition) or (0, 0)
    if dynamic != sum(size is None for size in type_.shape or ()):
        wanted = sum(size is None for size in type_.shape or ())
        return f"incorrect number of dynamic sizes, has {dynamic}, expected {wanted}"
    wanted = _symbols_of(type_)
    if symbols != wanted:
        return f"symbol operand count does not equal memref symbol count: expected {wanted}, got {symbols}"
    return None


def _symbols_of(type_: ty.MemRefType) -> int:
    """Count the numbers that a layout leaves dynamic."""
    if isinstance(type_.layout, at.StridedLayoutAttr):
        return (type_.layout.offset, *type_.layout.strides).count(None)
    return type_.layout.symbols if isinstance(type_.layout, at.AffineMapAttr) else 0


def _verify_indices(which: int) -> Any:
    def verify(op: Operation) -> str | None:
        rank = len(ty.shape_of(op.operands[which].type) or ())
        given = len(op.operands) - which - 1
        problem = f"invalid number of indices for accessed memref, expected {rank} but got {given}"
        return None if given == rank else problem

    return verify


def _compatible_strides(one: Strides | None, other: Strides | None) -> bool:
    if one is None or other is None:
        return one == other
    pairs = zip((*one[0], one[1]), (*other[0], other[1]), strict=True)
    return all(a is None or b is None or a == b for a, b in pairs)


def are_cast_compatible(one: ty.Type, other: ty.Type) -> bool:
    """Tell whether `memref.cast` may convert one memref type to another."""
    assert isinstance(one, ty.MemRefType)
    assert isinstance(other, ty.MemRefType)
    if one.element != other.element or one.memory_space != other.memory_space:
        return False
    if one.shape is None or other.shape is None:
        return one.shape is not None or other.shape is not None
    if len(one.shape) != len(other.shape):
        return False
    fits = all(a is None or b is None or a == b for a, b in zip(one.shape, other.shape, strict=True))
    return fits and _compatible_strides(strides_and_offset(one), strides_and_offset(other))


def _verify_cast(op: Operation) -> str | None:
    one, other = op.operands[0].type, op.results[0].type
    if are_cast_compatible(one, other):
        return None
    return f"operand type '{one}' and result type '{other}' are cast incompatible"


def _verify_subview(op: Operation) -> str | None:
    source, result = op.operands[0].type, op.results[0].type
    assert isinstance(source, ty.MemRefType)
    assert isinstance(result, ty.MemRefType)
    assert op.definition is not None
    rank = len(source.shape or ())
    given = operand_sizes(op, op.definition) or [1, 0, 0, 0]
    lists = written(op)
    problem = verify_written(lists, rank, given[1:]) or verify_inside(lists, source.shape or ())
    if problem:
        return problem
    expected = viewed_type(source, *lists)
    if expected is None:
        return f"base type '{source}' is not strided"
    fitting = (
        [expected, *_reduced(expected, len(result.shape or ()))] if len(result.shape or ()) <= rank else [expected]
    )
    if any(_same_place(result, type_) for type_ in fitting):
        return None
    return Unprefixed(f"expected result type to be '{expected}' or a rank-reduced version, but got '{result}'")


# --- declarations -----------------------------------------------------------------------------------------------------


def _alloc(mnemonic: str) -> OpDefinition:
    return memref.op(
        mnemonic,
        "`(` $dynamicSizes `)` (`` `[` $symbolOperands^ `]`)? newer(`alignment` `=` $alignment) attr-dict "
        "`:` type($memref)",
        operands=(
            Slot("dynamicSizes", c.INDEX, Arity.VARIADIC),
            Slot("symbolOperands", c.INDEX, Arity.VARIADIC),
        ),
        results={"memref": MEMREF},
        properties=(Property("alignment", c.INTEGER_64_ATTR, optional=True),),
        traits=(Trait.ATTR_SIZED_OPERAND_SEGMENTS,),
        verify=_verify_alloc,
        named_results=(mnemonic,),
        evaluate=Pure(ops.allocate, raw=True),
    )


_FALSE = at.IntegerAttr(0, ty.I1)
_ACCESS_PROPERTIES = (
    Property("alignment", c.INTEGER_64_ATTR, optional=True),
    Property("nontemporal", c.BOOL_ATTR, optional=True, elided=_FALSE),
)
_LOAD_PROPERTIES = (
    *_ACCESS_PROPERTIES,
    Property("invariant", c.BOOL_ATTR, optional=True, elided=_FALSE, since=Schema.LLVM24),
)


def _clauses(properties: tuple[Property, ...]) -> str:
    return f"newer({' | '.join(f'`{prop.name}` `(` ${prop.name} `)`' for prop in properties)})"


_alloc("alloc")
_alloc("alloca")
memref.op(
    "dealloc",
    "$memref attr-dict `:` type($memref)",
    operands={"memref": ANY_MEMREF},
    evaluate=Pure(ops.free, raw=True),
)
memref.op(
    "load",
    f"$memref `[` $indices `]` {_clauses(_LOAD_PROPERTIES)} attr-dict `:` type($memref)",
    operands=(Slot("memref", MEMREF), _INDICES),
    results={"result": c.ANY},
    properties=_LOAD_PROPERTIES,
    type_rules=(_element_of("result", "memref"),),
    verify=_verify_indices(0),
    evaluate=Pure(ops.load, raw=True),
)
memref.op(
    "store",
    f"$value `,` $memref `[` $indices `]` {_clauses(_ACCESS_PROPERTIES)} attr-dict `:` type($memref)",
    operands=(Slot("value", c.ANY), Slot("memref", MEMREF), _INDICES),
    properties=_ACCESS_PROPERTIES,
    type_rules=(_element_of("value", "memref"),),
    verify=_verify_indices(1),
    evaluate=Pure(ops.store, raw=True),
)
memref.op(
    "dim",
    "attr-dict $source `,` $index `:` type($source)",
    operands=(Slot("source", _WITH_DIMENSIONS), Slot("index", c.INDEX)),
    results={"result": c.INDEX},
    named_results=("dim",),
    evaluate=Pure(ops.dimension, raw=True),
)
memref.op(
    "cast",
    "$source attr-dict `:` type($source) `to` type($dest)",
    operands={"source": ANY_MEMREF},
    results={"dest": ANY_MEMREF},
    verify=_verify_cast,
    named_results=("cast",),
    evaluate=Pure(ops.cast, raw=True),
)
memref.op(
    "subview",
    f"$source `` {FORM} attr-dict `:` type($source) `to` type($result)",
    operands=(Slot("source", MEMREF), *OPERANDS),
    results={"result": MEMREF},
    properties=PROPERTIES,
    traits=(Trait.ATTR_SIZED_OPERAND_SEGMENTS,),
    verify=_verify_subview,
    named_results=("subview",),
    evaluate=Pure(ops.subview, raw=True),
)
