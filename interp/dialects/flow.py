"""IREE's flow dialect (release 3.13): constants, and other shapes. Other ops are kept as written."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt

from halfulp.fp_formats.formats import Codes, ints_to_codes
from halfulp.interp.declare import declarations as d
from halfulp.interp.declare.operands import SEGMENTS
from halfulp.interp.dialects.arith.constants import attribute_value
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.base import narrowed
from halfulp.interp.ir.errors import Unsupported
from halfulp.interp.ir.operations import Operation, undefined
from halfulp.interp.ir.types import width_of
from halfulp.interp.run.evaluators import Compiler, OnValues
from halfulp.interp.run.frames import Function, Run
from halfulp.interp.run.settings import Settings, check_allocation
from halfulp.interp.values.value import Value, retyped

flow = d.Dialect("flow", partial=True)


def _constant(op: Operation, compiler: Compiler) -> Function:
    attribute, type_ = op.properties["value"], op.results[0].type
    given = getattr(attribute, "type", None)
    assert isinstance(type_, ty.TensorType)
    if not isinstance(given, ty.TensorType) or given.element != type_.element or not _fits(given.shape, type_.shape):
        raise Unsupported(f"{attribute} is not a value of type '{type_}'", location=op.location, op=op.name)
    value = attribute_value(attribute, given, op, compiler)
    made = retyped(value, type_)
    return lambda run, operands: (made,)


def _fits(sizes: Sequence[int | None] | None, declared: Sequence[int | None] | None) -> bool:
    if sizes is None or declared is None or len(sizes) != len(declared):
        return False
    return all(size in (None, known) for known, size in zip(sizes, declared, strict=True))


flow.op(
    "tensor.constant",
    "attr-dict $value",
    results={"result": d.RANKED_TENSOR},
    properties=(d.Property("value", d.TYPED_ATTR),),
    type_rules=(d.type_of_property("result", "value", "failed to verify that all of {value, result} have same type"),),
    evaluate=OnValues(_constant, of_module=True),
)
flow.op(
    "tensor.dynamic_constant",
    "attr-dict $value `->` type($result)",
    results={"result": d.RANKED_TENSOR},
    properties=(d.Property("value", d.TYPED_ATTR),),
    evaluate=OnValues(_constant, of_module=True),
)


# --- shapes and bits --------------------------------------------------------------------------------------------------

_DIMS = ("source_dims", "result_dims")


def _moved(op: Operation, settings: Settings) -> Function:
    """Return the function that gives the bits of a tensor, as IREE stores them, another shape and element type."""
    source, target = (value.type for value in (op.operands[0], op.results[0]))
    assert isinstance(source, ty.TensorType)
    assert isinstance(target, ty.TensorType)
    widths = [_stored_bits(type_, op) for type_ in (source, target)]
    bits = width_of(target.element)
    sources = op.numbers(SEGMENTS)[1]

    def move(run: Run, operands: tuple[Any, ...]) -> tuple[Any, ...]:
        value: Value = operands[0]
        shape = _run_time_shape(target, [int(size.bits) for size in operands[1 + sources :]])
        check_allocation(target, shape, settings)
        needed, given = prod(shape) * widths[1], value.size * widths[0]
        if -(-needed // 8) != -(-given // 8):
            raise undefined(op, f"{-(-given // 8)} bytes are not a value of {-(-needed // 8)} bytes")
        codes = _regrouped(value.bits.reshape(-1), widths[0], widths[1], prod(shape))
        made = ints_to_codes([code & ((1 << bits) - 1) for code in codes.tolist()], bits, shape)
        if value.poison is None:
            return (Value(target, made, None, None, value.origins),)
        lost = np.repeat(value.poison.reshape(-1), widths[0])
        lost = np.resize(np.append(lost, np.zeros(8, lost.dtype)), prod(shape) * widths[1])
        return (Value(target, made, lost.reshape(*shape, widths[1]).max(axis=-1), None, value.origins),)

    return move


def _stored_bits(type_: ty.TensorType, op: Operation) -> int:
    """Return the number of bits of an element in memory: 8 for an i1, unless the encoding of the type packs them."""
    width = width_of(type_.element)
    if width == 1 and type_.encoding is None:
        return 8
    if width not in (1, 2, 4, 8, 16, 32, 64):
        raise Unsupported(f"the bits of '{type_}' in memory are not known", location=op.location, op=op.name)
    return width


def _regrouped(codes: Codes, width: int, wanted: int, count: int) -> npt.NDArray[np.uint64]:
    """Return codes of another width with the same bits, lowest first. Missing bits at the end are 0."""
    bits = (codes.astype(np.uint64)[:, None] >> np.arange(width, dtype=np.uint64)) & np.uint64(1)
    flat = np.append(bits.reshape(-1), np.zeros(8, np.uint64))[: count * wanted]
    return np.asarray((flat.reshape(count, wanted) << np.arange(wanted, dtype=np.uint64)).sum(axis=-1, dtype=np.uint64))


def _run_time_shape(type_: ty.TensorType, dims: Sequence[int]) -> tuple[int, ...]:
    given = iter(dims)
    return tuple(next(given) if size is None else size for size in type_.shape or ())


for _name in ("tensor.reshape", "tensor.bitcast"):
    flow.op(
        _name,
        "$source `:` type($source) (`{` $source_dims^ `}`)? `->` type($result) (`{` $result_dims^ `}`)? "
        "attr-dict-with-keyword",
        operands=(
            d.Slot("source", d.RANKED_TENSOR),
            *(d.variadic(dims, d.INDEX) for dims in _DIMS),
        ),
        results={"result": d.RANKED_TENSOR},
        traits=(d.Trait.ATTR_SIZED_OPERAND_SEGMENTS,),
        evaluate=OnValues(_moved),
    )


def _tied(op: Operation, settings: Settings) -> Function:
    type_ = narrowed(op.results[0].type, ty.TensorType)

    def tie(run: Run, operands: tuple[Any, ...]) -> tuple[Any, ...]:
        shape = _run_time_shape(type_, [int(size.bits) for size in operands[1:]])
        if operands[0].shape != shape:
            sizes = ["x".join(map(str, sizes)) for sizes in (operands[0].shape, shape)]
            raise undefined(op, f"the shape is {sizes[0]}, not {sizes[1]}")
        return operands[:1]

    return tie


flow.op(
    "tensor.tie_shape",
    "$operand attr-dict `:` type($result) (`{` $dynamic_dims^ `}`)?",
    operands=(d.Slot("operand", d.RANKED_TENSOR), d.variadic("dynamic_dims", d.INDEX)),
    results={"result": d.RANKED_TENSOR},
    type_rules=(d.same_type("operand", "result"),),
    evaluate=OnValues(_tied),
)
