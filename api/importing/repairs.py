"""Corrections of IREE's lowering of StableHLO: of what it drops, gets wrong or hides. They are made in the text before
the lowering, and in the module after it.

The lowering drops the algorithm of a dot, and the accuracy of a function. The dot gets operands of the types that the
algorithm names; what cannot be kept is refused.

IREE lowers ``reduce_precision`` to operations on bits. A shadow cannot know that they round, so they are replaced by
one op.

IREE inlines the functions of a ``select_and_scatter`` in a loop that compares each element of a window with the
selected one. It gets three things wrong: the first comparison reads an element that was never written; the operands are
in the other order; and the answer is used the other way round, so that of equal elements the last is selected.
"""

from __future__ import annotations

import re
from functools import cache
from typing import Any

from halfulp.conformance.whole_programs.iree_dumps.dispatches import (
    build_op,
    number,
    put,
    remove_unused,
    replace_values,
)
from halfulp.fp_formats.formats import FloatFormat, NanEncoding
from halfulp.interp.ir import attributes as at
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.base import FileLineCol
from halfulp.interp.ir.errors import Unsupported
from halfulp.interp.ir.operations import Block, BlockArgument, Module, Operation, OpResult, SSAValue

# --- before the lowering ----------------------------------------------------------------------------------------------

_VALUE, _TENSOR = r"%[\w$.#-]+", r"tensor<[^()]*>"
_DOT = re.compile(
    rf"\s*(?P<result>{_VALUE}) = (?P<op>\"?stablehlo\.dot_general[\"( ]*)(?P<lhs>{_VALUE}), (?P<rhs>{_VALUE})"
    rf"(?P<rest>.*) : \((?P<lhs_type>{_TENSOR}), (?P<rhs_type>{_TENSOR})\) -> (?P<type>{_TENSOR})"
    r"\s*(?P<location>loc\(.*\))?\s*"
)
_OP = re.compile(r'"?stablehlo\.')
_ALGORITHM = re.compile(r", algorithm = <[^>]*>|algorithm = #stablehlo.dot_algorithm<[^>]*>,? ?")
_FIELD = re.compile(r"(\w+) = (\w+)")
_ELEMENT = re.compile(r"(?P<before>tensor<(?:[\d?]+x)*)(?P<element>\w+)(?P<after>.*>)")
_HINT = "compute the parts in the program, or drop the algorithm"


def explicit(text: str, name: str) -> str:
    """Return StableHLO in which the operands and results of each dot have the types that its algorithm names, line by
    line.

    Raises Unsupported for an algorithm of several products, and for the accuracy of a function that becomes a formula.
    """
    if "lhs_precision_type" not in text and "result_accuracy" not in text:
        return text
    lines = text.split("\n")
    for index, line in enumerate(lines):
        if line.lstrip().startswith("//"):
            continue
        start = _OP.search(line)
        place = FileLineCol(name, index + 1, start.start() + 1 if start else 1)
        if "lhs_precision_type" in line:
            lines[index] = _explicit_dot(line, place)
        if "stablehlo.logistic" in line and "TOLERANCE" in line:
            raise Unsupported(
                "stablehlo.logistic has a result_accuracy, but IREE's compiler lowers it to 1 / (1 + exp(-x)), whose "
                "error has no bound",
                location=place,
                hint="remove result_accuracy",
            )
    return "\n".join(lines)


def _explicit_dot(line: str, place: FileLineCol) -> str:
    """Return the line of a dot with an algorithm, with the conversions around it that the algorithm asks for."""
    dot = _DOT.fullmatch(line)
    fields = dict(_FIELD.findall(line))
    if dot is None:
        message = "the algorithm of stablehlo.dot_general is read only if the op is alone on one line"
        raise Unsupported(message, location=place, hint="print the program with one op on each line, as MLIR does")
    parts = [fields.get(each) for each in ("lhs_component_count", "rhs_component_count", "num_primitive_operations")]
    if parts != ["1", "1", "1"]:
        raise Unsupported(
            f"stablehlo.dot_general has an algorithm of {parts[2]} products of {fields['lhs_precision_type']}; "
            "StableHLO does not define its bits, and IREE's compiler drops it",
            location=place,
            hint=_HINT,
        )
    where = dot["location"] or f'loc("<stdin>":{place.line}:{place.column})'
    unique = f"%halfulp_{place.line}"
    lhs, lhs_type, before = _converted(dot["lhs"], dot["lhs_type"], fields["lhs_precision_type"], f"{unique}_l", place)
    rhs, rhs_type, and_before = _converted(
        dot["rhs"], dot["rhs_type"], fields["rhs_precision_type"], f"{unique}_r", place
    )
    _, sum_type, after = _converted(f"{unique}_sum", dot["type"], fields["accumulation_type"], "", place)
    result = f"{unique}_sum" if after else dot["result"]
    ops = [
        *before,
        *and_before,
        f"{result} = {dot['op']}{lhs}, {rhs}{_ALGORITHM.sub('', dot['rest'])} : ({lhs_type}, {rhs_type}) -> {sum_type}",
        *([f"{dot['result']} = stablehlo.convert {result} : ({sum_type}) -> {dot['type']}"] if after else []),
    ]
    return " ".join(f"{op} {where}" for op in ops)


def _converted(value: str, type_: str, wanted: str, new: str, place: FileLineCol) -> tuple[str, str, list[str]]:
    """Return a value in an element type, its type, and the ops that convert it to that."""
    shape = _ELEMENT.fullmatch(type_)
    if shape is None or (wanted == "tf32" and shape["element"] not in ("f32", "bf16", "f16")):
        message = f"the algorithm of stablehlo.dot_general names {wanted}, but the dot has '{type_}'"
        raise Unsupported(message, location=place, hint="give f32 operands")
    stored = "f32" if wanted == "tf32" else wanted
    if wanted == "tf32" and shape["element"] == "f32":
        return new, type_, [f"{new} = stablehlo.reduce_precision {value}, format = e8m10 : {type_}"]
    if stored == shape["element"]:
        return value, type_, []
    target = f"{shape['before']}{stored}{shape['after']}"
    return new, target, [f"{new} = stablehlo.convert {value} : ({type_}) -> {target}"]


# --- after the lowering -----------------------------------------------------------------------------------------------

_EQUAL = at.IntegerAttr(0, ty.IntegerType(64))
"""The predicate of arith.cmpi."""


def repair(module: Module) -> None:
    """Correct a module that IREE lowered, in place."""
    replaced = False
    for op in list(module.walk()):
        if op.name == "arith.ori":
            _keep_the_selected(op)
        elif op.name == "arith.select":
            replaced |= _reduce_precision(op)
    if replaced:
        remove_unused(module.operation, _REDUCING)


# --- select_and_scatter -----------------------------------------------------------------------------------------------


def _keep_the_selected(either: Operation) -> None:
    """Correct the choice of select_and_scatter, if the op makes it: ``select(new, selected) or nothing is selected``
    becomes ``nothing is selected or not select(selected, new)``.

    StableHLO keeps the selected element as long as ``select(selected, new)`` is true. A choice by ``arith.select``
    ignores the comparison of the first element, whose operand was never written.
    """
    block = either.parent
    assert block is not None
    asked, first = either.operands
    if not _is_first(first) or not isinstance(asked, OpResult) or len(block.arguments) != 4:
        return
    new, _, selected, _ = block.arguments
    swapped: dict[SSAValue, SSAValue] = {new: selected, selected: new}
    for op in _inside(asked, block.operations):
        op.operands[:] = [swapped.get(value, value) for value in op.operands]
    refused = build_op("arith.cmpi", either, [asked, first], [ty.I1], {"predicate": _EQUAL})
    chosen = build_op("arith.select", either, [first, first, refused.results[0]], [ty.I1])
    _replace(block, either, [refused, chosen])


def _is_first(value: SSAValue) -> bool:
    """Tell whether a value says that no element of a window is selected: its index is still -1."""
    if not isinstance(value, OpResult) or value.owner.name != "arith.cmpi":
        return False
    index, none = value.owner.operands
    is_argument = isinstance(index, BlockArgument) and index.index == 3
    return is_argument and isinstance(none, OpResult) and number(none.owner.properties.get("value")) == -1


def _inside(value: OpResult, operations: list[Operation]) -> list[Operation]:
    """Return the ops of a block that compute a value."""
    found, wanted = [], {value.owner}
    for op in reversed(operations):
        if op in wanted:
            found.append(op)
            wanted |= {operand.owner for operand in op.operands if isinstance(operand, OpResult)}
    return found


def _replace(block: Block, op: Operation, instead: list[Operation]) -> None:
    """Put ops in place of one op; the result of the last op takes the place of its result."""
    place = block.operations.index(op)
    put(block, [*block.operations[:place], *instead, *block.operations[place + 1 :]])
    for around in block.operations:
        replace_values(around, {op.results[0]: instead[-1].results[0]})


# --- reduce_precision -------------------------------------------------------------------------------------------------

Term = str | int | tuple[Any, ...]
"""What computes a value: the number that is rounded, a constant, or the name of an op, its predicate and its terms."""

_NUMBER = "the number"
_ABOVE, _AT_MOST = 8, 7
"""The predicates ugt and ule of arith.cmpi."""


_REDUCING = [f"arith.{name}" for name in ("addi", "andi", "bitcast", "cmpi", "constant", "ori", "select", "shrui")]
"""The ops that reductions are lowered to."""


def _reduce_precision(op: Operation) -> bool:
    """Put halfulp.reduce_precision, which gives the same bits, in the place of a lowered reduction that ends with this
    op. Tell whether the op ends one.
    """
    number, type_ = op.operands[1], op.results[0].type
    if not isinstance(type_, ty.FloatType) or type_.format.nan is not NanEncoding.IEEE or type_.format.bits > 64:
        return False
    if not isinstance(op.operands[2], OpResult) or op.operands[2].owner.name != "arith.bitcast":
        return False
    fields = _fields_by_term(type_.format).get(_term(op.results[0], number, (1 << type_.format.bits) - 1))
    if fields is None:
        return False
    names = ("exponent_bits", "mantissa_bits")
    properties = {name: at.IntegerAttr(bits, ty.I64) for name, bits in zip(names, fields, strict=True)}
    assert op.parent is not None
    _replace(op.parent, op, [build_op("halfulp.reduce_precision", op, [number], [type_], properties)])
    return True


def _term(value: SSAValue, number: SSAValue, mask: int, depth: int = 12) -> Term | None:
    """Return the expression by which a value is computed from a number; None if it uses ops that a lowered reduction
    does not have.
    """
    if value is number:
        return _NUMBER
    if not isinstance(value, OpResult) or depth == 0:
        return None
    op = value.owner
    if op.name == "arith.constant":
        constant = op.properties.get("value")
        return constant.value & mask if isinstance(constant, at.IntegerAttr) else None
    predicate = op.properties.get("predicate")
    terms = [_term(operand, number, mask, depth - 1) for operand in op.operands]
    return (op.name, *([predicate.value] if isinstance(predicate, at.IntegerAttr) else []), *terms)


@cache
def _fields_by_term(fmt: FloatFormat) -> dict[Term | None, tuple[int, int]]:
    """Return the exponent and mantissa bits of each reduction of a format, by what IREE lowers it to."""
    fields = [(e, m) for e in range(1, fmt.exponent_bits + 1) for m in range(fmt.mantissa_bits + 1)]
    return {_lowered(fmt, *each): each for each in fields[:-1]}


def _lowered(fmt: FloatFormat, exponent: int, mantissa: int) -> Term:
    """Return what IREE lowers a reduction to, as in ``ReducePrecisionOp`` of its conversions of StableHLO."""
    mask, sign, infinity = (1 << fmt.bits) - 1, 1 << fmt.bits - 1, fmt.infinity_code
    code: Term = ("arith.bitcast", _NUMBER)
    is_nan = ("arith.cmpi", _ABOVE, ("arith.andi", code, sign - 1), infinity)
    rounded = result = code
    shift = fmt.mantissa_bits - mantissa
    if shift:
        last: Term = ("arith.shrui", ("arith.andi", code, 1 << shift), shift)
        below = (1 << shift - 1) - 1
        rounded = ("arith.addi", code, ("arith.addi", last, below) if below else last)
        result = ("arith.andi", rounded, mask & -(1 << shift))
    if exponent < fmt.exponent_bits:
        reach = (1 << exponent - 1) - 1
        least, largest = (fmt.bias + step << fmt.mantissa_bits for step in (-reach, reach))
        exponents, zero = ("arith.andi", rounded, infinity), ("arith.andi", rounded, sign)
        overflow = ("arith.cmpi", _ABOVE, exponents, largest)
        result = ("arith.select", overflow, ("arith.ori", zero, infinity), result)
        result = ("arith.select", ("arith.cmpi", _AT_MOST, exponents, least), zero, result)
    return ("arith.select", is_nan, _NUMBER, ("arith.bitcast", result))
