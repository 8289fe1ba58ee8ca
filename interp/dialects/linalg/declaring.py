"""The dialect linalg, and what all of its structured ops share: enumerations, rules and their declaration."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain

from halfulp.interp.declare import declarations as d
from halfulp.interp.declare.declarations import Unprefixed
from halfulp.interp.dialects.linalg.bodies import NEWER_UNARY
from halfulp.interp.dialects.linalg.forms import MEMOIZED, argument_names
from halfulp.interp.dialects.structured.evaluate import STRUCTURED
from halfulp.interp.dialects.structured.structure import (
    STRUCTURES,
    Reader,
    has_elements,
    inputs_and_inits,
    is_structured,
    iterators_of,
    loop_of,
    maps_of,
    type_in_body,
)
from halfulp.interp.ir import attributes as at
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.affine_expressions import Dimension, evaluated, spell
from halfulp.interp.ir.base import NO_NAMES
from halfulp.interp.ir.dialect_attributes import EnumDefinition
from halfulp.interp.ir.operations import Operation, Rule, SSAValue


def wrong_attribute(op: Operation, name: str, attribute: at.Attribute) -> str | None:
    """Return what is wrong with an attribute of the dialect on an op, or None."""
    return None if name == MEMOIZED else d.Unprefixed(f"attribute '\"{name}\"' not supported by the linalg dialect")


linalg = d.Dialect("linalg")
linalg.attribute_rule = wrong_attribute

_FUNCTIONS = {
    "Unary": (
        *("exp", "log", "abs", "ceil", "floor", "negf"),
        *("reciprocal", "round", "sqrt", "rsqrt", "square", "tanh", "erf"),
    ),
    "Binary": (
        *("add", "sub", "mul", "div", "div_unsigned"),
        *("max_signed", "min_signed", "max_unsigned", "min_unsigned", "powf"),
    ),
    "Ternary": ("select",),
}
# The kinds of LLVM 24 stand last here. Their numbers are not written anywhere.
_KINDS = (*(name for names in _FUNCTIONS.values() for name in names), *NEWER_UNARY)


def _numbered(names: Sequence[str]) -> dict[str, int]:
    return {name: number for number, name in enumerate(names)}


ITERATOR_TYPE = linalg.enum(
    EnumDefinition("::mlir::utils::IteratorType", {"parallel": 0, "reduction": 1}, mnemonic="linalg.iterator_type")
)
TYPE_FN = linalg.enum(
    EnumDefinition("::mlir::linalg::TypeFn", {"cast_signed": 0, "cast_unsigned": 1}, mnemonic="linalg.type_fn")
)
ELEMENTWISE_KIND = linalg.enum(
    EnumDefinition(
        "::mlir::linalg::ElementwiseKind",
        _numbered(_KINDS),
        mnemonic="linalg.elementwise_kind",
    )
)
for _arity, _names in _FUNCTIONS.items():
    linalg.enum(
        EnumDefinition(f"::mlir::linalg::{_arity}Fn", _numbered(_names), mnemonic=f"linalg.{_arity.lower()}_fn")
    )
ITERATOR_TYPES_ATTR = d.array_of_enum("Iterator type should be an enum.", ITERATOR_TYPE)


# --- rules ------------------------------------------------------------------------------------------------------------
#
# The rules of structured ops, in MLIR's words (`LinalgInterfaces.cpp`, `DestinationStyleOpInterface.cpp`).


def _shape(value: SSAValue) -> tuple[int | None, ...]:
    return (has_elements(value.type) and ty.shape_of(value.type)) or ()


def verify_blocks(op: Operation) -> str | None:
    """Return an error message if the region of a structured op has a second block, else None."""
    for number, region in enumerate(op.regions):
        if len(region.blocks) > 1:
            return f"expects region #{number} to have 0 or 1 blocks"
    return None


def verify_structured(op: Operation) -> str | None:
    """Return what is wrong with operands, results, maps and the body of a structured op, or None."""
    _, inits = inputs_and_inits(op)
    return (
        verify_destinations(op, inits)
        or _pure_semantics(op, inits)
        or _maps_fit(op)
        or _loops_fit(op)
        or _body_fits(op)
    )


def verify_destinations(op: Operation, inits: Sequence[SSAValue]) -> str | None:
    """Return an error message unless the op has a result of the same type for each init that is a tensor."""
    first = len(op.operands) - len(inits)
    tensors = []
    for number, value in enumerate(inits, first):
        if isinstance(value.type, ty.TensorType):
            tensors.append((number, value))
        elif not isinstance(value.type, ty.MemRefType):
            return f"expected that operand #{number} is a tensor or a memref"
    if len(op.results) != len(tensors):
        return (
            f"expected the number of tensor results ({len(op.results)}) to be equal to the number of output tensors "
            f"({len(tensors)})"
        )
    for (number, value), result in zip(tensors, op.results, strict=True):
        if value.type != result.type:
            return (
                f"expected type of operand #{number} ('{value.type}') to match type of corresponding result "
                f"('{result.type}')"
            )
    return None


def _pure_semantics(op: Operation, inits: Sequence[SSAValue]) -> str | None:
    kinds = {
        isinstance(value.type, ty.TensorType)
        for value in op.operands
        if isinstance(value.type, ty.TensorType | ty.MemRefType)
    }
    return "expected to have pure tensor or buffer semantics" if len(kinds) > 1 else None


def _maps_fit(op: Operation) -> str | None:
    maps = maps_of(op)
    if len(maps) != len(op.operands):
        return (
            f"expected the number of indexing_map ({len(maps)}) to be equal to the number of input/output operands "
            f"({len(op.operands)})"
        )
    for number, (map_, value) in enumerate(zip(maps, op.operands, strict=True)):
        if map_.symbols:
            return f"unexpected symbols in indexing_map #{number}"
        rank = len(_shape(value))
        if len(map_.results) != rank:
            return (
                f"expected operand #{number} rank ({rank}) to match the result rank of indexing_map "
                f"({len(map_.results)})"
            )
    loops = loop_of(maps)
    if None in loops:
        inputs = ", ".join(f"d{number}" for number in range(len(loops)))
        results = ", ".join(spell(expr) for expr in chain.from_iterable(map_.results for map_ in maps))
        return f"invalid indexing maps are non-invertible: (({inputs}) -> ({results}))"
    sizes = [_shape(op.operands[loop[0]])[loop[1]] for loop in loops if loop is not None]
    known = [size for size in sizes if size is not None]
    return _shapes_fit(op, maps, known) if len(known) == len(sizes) else None


def _shapes_fit(op: Operation, maps: Sequence[at.AffineMapAttr], sizes: Sequence[int]) -> str | None:
    """Return what is wrong with the first and the last index of each axis, or None."""
    first, last = [0] * len(sizes), [size - 1 for size in sizes]
    for number, (map_, value) in enumerate(zip(maps, op.operands, strict=True)):
        for axis, (expr, size) in enumerate(zip(map_.results, _shape(value), strict=False)):
            if not size:
                continue
            try:
                ends = evaluated(expr, first), evaluated(expr, last)
            except ZeroDivisionError:
                return f"indexing_map #{number} divides by zero"
            needed = max(ends) + 1
            if min(ends) < 0:
                return f"unexpected result less than 0 at expression #{axis} in {_spell(map_)}"
            what = f"inferred input/output operand #{number} has shape's dimension #{axis} to be"
            if isinstance(expr, Dimension) and needed != size:
                return f"{what} {needed}, but found {size}"
            if needed > size:
                return f"{what} greater than or equal to {needed}, but found {size}"
    return None


def _spell(map_: at.AffineMapAttr) -> str:
    return map_.spell(NO_NAMES).removeprefix("affine_map<").removesuffix(">")


def _loops_fit(op: Operation) -> str | None:
    loops = len(iterators_of(op))
    for number, map_ in enumerate(maps_of(op)):
        if map_.dimensions != loops:
            return f"expected indexing_map #{number} to have {loops} dim(s) to match the number of loops"
    return None


def _body_fits(op: Operation) -> str | None:
    if len(op.regions) != 1 or len(op.regions[0].blocks) != 1:
        return "expects to have 1 region with 1 block"
    arguments = op.regions[0].blocks[0].arguments
    if len(arguments) != len(op.operands):
        return "expected as many non-induction variable region arguments as the number of input/output operands"
    for number, (value, argument) in enumerate(zip(op.operands, arguments, strict=True)):
        if type_in_body(value.type) != argument.type:
            return (
                f"expected type of bb argument #{number} ('{argument.type}') to match element or self type of the "
                f"corresponding operand ('{type_in_body(value.type)}')"
            )
    return None


def verify_yield(op: Operation) -> str | None:
    """Return an error message unless linalg.yield gives an element of each init of the structured op around it."""
    parent = op.parent_op
    if parent is None or len(parent.regions) != 1 or not parent.regions[0].blocks:
        return "expected single non-empty parent region"
    if not is_structured(parent):
        return "expected parent op with LinalgOp interface"
    _, inits = inputs_and_inits(parent)
    if len(op.operands) != len(inits):
        return (
            f"expected number of yield values ({len(op.operands)}) to match the number of inits / outs operands of the "
            f"enclosing LinalgOp ({len(inits)})"
        )
    for number, (value, init) in enumerate(zip(op.operands, inits, strict=True), 1):
        if value.type != type_in_body(init.type):
            return (
                f"type of yield operand {number} ('{value.type}') doesn't match the element type of the enclosing "
                f"linalg.generic op ('{type_in_body(init.type)}')"
            )
    return None


def verify_index(op: Operation) -> str | None:
    """Return an error message unless linalg.index names a dimension of the structured op around it."""
    parent = op.parent_op
    if not is_structured(parent):
        return "expected parent op with LinalgOp interface"
    assert parent is not None
    dim, loops = op.prop("dim", at.IntegerAttr), len(iterators_of(parent))
    if dim.value >= loops:
        return f"expected dim ({dim.value}) to be lower than the number of loops ({loops}) of the enclosing LinalgOp"
    return None


def verify_fill(op: Operation) -> str | None:
    """Return an error message unless the value of a fill has the type of the elements that it writes."""
    inputs, inits = inputs_and_inits(op)
    if len(inputs) == 1 and len(inits) == 1:
        if isinstance(inputs[0].type, ty.MemRefType | ty.TensorType):
            return Unprefixed("expected op with scalar input")
        value, element = inputs[0].type, type_in_body(inits[0].type)
        if value != element:
            return f"expected fill value type ('{value}') to match output element type ('{element}')"
    return verify_blocks(op)


# --- declaring --------------------------------------------------------------------------------------------------------


def structured(
    mnemonic: str,
    reader: Reader,
    custom: d.CustomForm,
    properties: Sequence[d.Property] = (),
    verify: Rule = verify_blocks,
    verify_regions: Rule = verify_structured,
) -> d.OpDefinition:
    """Declare a structured op. ``reader``: the functions from the op to its maps and to its iterators."""
    STRUCTURES[f"linalg.{mnemonic}"] = reader
    return linalg.op(
        mnemonic,
        custom=custom,
        operands=(d.variadic("inputs", d.ANY), d.variadic("outputs", d.SHAPED)),
        results=(d.variadic("result_tensors", d.RANKED_TENSOR),),
        properties=tuple(properties),
        regions=(d.RegionSlot("region"),),
        traits=(d.Trait.ATTR_SIZED_OPERAND_SEGMENTS,),
        named_arguments=argument_names,
        verify=verify,
        verify_regions=verify_regions,
        evaluate=STRUCTURED,
    )
