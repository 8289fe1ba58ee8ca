"""The dialect chlo, which JAX emits beside StableHLO: functions that StableHLO lacks, and top_k (`dialect/ChloOps.td`).

Functions are exact, rounded once, as in the math dialect. The ops that broadcast their operands are not here yet.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from halfulp.interp.declare import declarations as d
from halfulp.interp.dialects.arith.constants import constant_value
from halfulp.interp.dialects.elements import Function, Operands, data_movement, first_origin, picked
from halfulp.interp.dialects.stablehlo.attributes import COUNT
from halfulp.interp.dialects.stablehlo.elementwise import Makes, constant_name, evaluated, function_of_one
from halfulp.interp.dialects.stablehlo.moving import signed_numbers
from halfulp.interp.dialects.stablehlo.types import Kind, compatible, same_shape, tensor_of
from halfulp.interp.ir import attributes as at
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.operations import Operation, undefined
from halfulp.interp.run.evaluators import Constant
from halfulp.interp.run.frames import Run
from halfulp.interp.run.settings import Settings
from halfulp.interp.text.op_parser import OpParser, OpPrinter
from halfulp.interp.values.value import Value
from halfulp.semantics import casts, complex_numbers, float_unit
from halfulp.semantics import stablehlo as semantics

chlo = d.Dialect("chlo")

# --- functions --------------------------------------------------------------------------------------------------------

_ROWS: Mapping[str, tuple[str, str, Makes]] = {
    **{
        name: ("FC", "FC", function_of_one(name))
        for name in ("acos", "acosh", "asin", "asinh", "atan", "atanh", "cosh", "sinh", "tan")
    },
    "bessel_i1e": ("FC", "FC", {}),
    "conj": ("FC", "FC", {
        Kind.FLOAT: lambda e: casts.bitcast(),
        Kind.COMPLEX: lambda e: complex_numbers.conjugate(e.format, 0, e.profile),
    }),
    **{name: ("F", "F", function_of_one(name)) for name in ("erf", "erfc", "lgamma")},
    **{name: ("F", "F", {}) for name in ("digamma", "erf_inv")},
    "is_inf": ("F", "B", {Kind.FLOAT: lambda e: float_unit.class_test("isinf", e.format)}),
    "is_neg_inf": ("F", "B", {Kind.FLOAT: lambda e: semantics.is_infinity(e.format, negative=True)}),
    "is_pos_inf": ("F", "B", {Kind.FLOAT: lambda e: semantics.is_infinity(e.format, negative=False)}),
    "square": ("FC", "FC", {
        Kind.FLOAT: lambda e: semantics.square(e.format, e.profile, of_complex=False),
        Kind.COMPLEX: lambda e: semantics.square(e.format, e.profile, of_complex=True),
    }),
}  # fmt: skip
"""The letters for the elements of the operand and of the result, and the kernels."""

for _mnemonic, (_letters, _result, _makes) in _ROWS.items():
    chlo.op(
        _mnemonic,
        "$operand attr-dict `:` type($operand) `->` type($result)",
        operands={"operand": tensor_of(_letters)},
        results={"result": tensor_of(_result)},
        traits=(d.Trait.ELEMENTWISE,),
        verify=same_shape if _result == "B" else compatible,
        evaluate=evaluated(_makes),
    )

_PAIRS: Mapping[str, Makes] = {
    "next_after": {Kind.FLOAT: lambda e: semantics.next_after(e.format)},
    "polygamma": {},
    "zeta": {},
}

for _mnemonic, _makes in _PAIRS.items():
    chlo.op(
        _mnemonic,
        "$x `,` $y attr-dict `:` type($x) `,` type($y) `->` type($result)",
        operands={"x": tensor_of("F"), "y": tensor_of("F")},
        results={"result": tensor_of("F")},
        traits=(d.Trait.ELEMENTWISE,),
        verify=compatible,
        evaluate=evaluated(_makes),
    )

chlo.op(
    "constant",
    "attr-dict $value",
    results={"output": tensor_of("FBICQ")},
    properties=(d.Property("value", d.TYPED_ATTR),),
    traits=(d.Trait.CONSTANT_LIKE,),
    type_rules=(d.inferred_type_of_property("output", "value"),),
    named_results=constant_name,
    evaluate=Constant(constant_value),
)

# --- top_k ------------------------------------------------------------------------------------------------------------


def _parse_top_k(p: OpParser, at_: int, definition: d.OpDefinition) -> Operation:
    p.expect("(")
    token = p.operand_token()
    p.expect(",")
    p.keyword(definition, "k")
    p.expect("=")
    properties: dict[str, at.Attribute] = {"k": at.IntegerAttr(p.integer(), ty.I64), "is_stable": at.BoolAttr(True)}
    if p.take(","):
        p.keyword(definition, "is_stable")
        p.expect("=")
        properties["is_stable"] = p.attribute()
    p.expect(")")
    attributes = p.optional_dictionary()
    p.expect(":")
    operand = p.type()
    p.expect("->")
    results = p.type_list_parens()
    return p.placed(
        Operation(definition.name, definition, [p.use(token, operand)], results, properties, attributes), at_
    )


def _print_top_k(printer: OpPrinter, op: Operation) -> str:
    stable = op.properties["is_stable"]
    more = "" if stable == at.BoolAttr(True) else f", is_stable = {printer.attribute(stable)}"
    extra = f" {printer.dictionary(op.attributes)}" if op.attributes else ""
    results = ", ".join(printer.type(result.type) for result in op.results)
    name, type_ = printer.name(op.operands[0]), printer.type(op.operands[0].type)
    return f"({name}, k = {op.prop('k', at.IntegerAttr).value}{more}){extra} : {type_} -> ({results})"


def _top_k(op: Operation, settings: Settings) -> Function:
    k, types = op.prop("k", at.IntegerAttr).value, [result.type for result in op.results]
    element = ty.element_type(op.operands[0].type)

    def largest(run: Run, operands: Operands) -> tuple[Any, ...]:
        (value,) = operands
        if isinstance(element, ty.FloatType):
            if value.poison is not None:
                raise undefined(op, f"an element is poison: {first_origin(value)}")
            keys = semantics.total_order(element.format, value.bits).astype(np.uint64)
        else:
            keys = signed_numbers(op, value, "an element").view(np.uint64) ^ np.uint64(1 << 63)
        # Of equal elements, the first one comes first.
        order = np.argsort(~keys, axis=-1, kind="stable")[..., :k]
        grids = np.meshgrid(*map(np.arange, order.shape), indexing="ij", sparse=True)[:-1]
        return picked(value, (*grids, order), types[0]), Value(types[1], order.astype(np.uint32))

    return largest


def _verify_top_k(op: Operation) -> str | None:
    shape, k = ty.shape_of(op.operands[0].type) or (), op.prop("k", at.IntegerAttr).value
    if not shape:
        return "operand's rank must be at least 1"
    if shape[-1] is not None and shape[-1] < k:
        return f"operand's last dimension must be at least {k}"
    return None


chlo.op(
    "top_k",
    custom=d.CustomForm(_parse_top_k, _print_top_k),
    operands={"operand": tensor_of("FBICQ")},
    results={"values": tensor_of("FBICQ"), "indices": tensor_of("S")},
    properties=(d.Property("is_stable", d.BOOL_ATTR, default=at.BoolAttr(True)), d.Property("k", COUNT)),
    named_results=("values", "indices"),
    verify=_verify_top_k,
    evaluate=data_movement(_top_k, elements=0),
)
