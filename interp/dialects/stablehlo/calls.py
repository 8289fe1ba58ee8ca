"""The ops of StableHLO that call what is not an op: custom_call, and composite, which has a decomposition."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from halfulp.fp_formats.formats import FORMATS, Codes, FloatFormat, Mask
from halfulp.fp_formats.neighbours import steps_between
from halfulp.fp_formats.paths import fast
from halfulp.interp.declare import declarations as d
from halfulp.interp.declare.operands import move_inherent
from halfulp.interp.dialects.check import Agree, compared
from halfulp.interp.dialects.stablehlo.types import stablehlo
from halfulp.interp.ir import attributes as at
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.base import spell_symbol
from halfulp.interp.ir.errors import Unsupported
from halfulp.interp.ir.operations import Operation
from halfulp.interp.run.evaluators import OnValues
from halfulp.interp.run.frames import Function, Run
from halfulp.interp.run.settings import Settings
from halfulp.interp.text.op_parser import OpParser, OpPrinter
from halfulp.interp.values.value import Value

# --- checks -----------------------------------------------------------------------------------------------------------
#
# The functions `check.*` that StableHLO's own tests call (`reference/CheckOps.cpp`, `tests/CheckOps.td`).

_ULPS = 3
_ALMOST = 1e-3


def _agreeing(near: Callable[[FloatFormat, Codes, Codes], Any]) -> Agree:
    """Return a comparison of elements: integers are equal, and floats, or the parts of complex numbers, ``near``."""

    def agree(given: Value, expected: Value) -> Mask:
        element = ty.number_type(ty.element_type(given.type))
        same = given.bits == expected.bits
        if isinstance(element, ty.FloatType):
            same = near(element.format, given.bits, expected.bits)
        return np.asarray(same.all(axis=-1) if same.ndim > given.ndim else same)

    return agree


def _both_nan(fmt: FloatFormat, one: Codes, other: Codes) -> Mask:
    return fast.is_nan(fmt, one) & fast.is_nan(fmt, other)


def _almost(fmt: FloatFormat, one: Codes, other: Codes) -> Mask:
    doubles = [fast.convert(fmt, FORMATS["f64"], each).codes.view(np.float64) for each in (one, other)]
    with np.errstate(all="ignore"):
        near = np.abs(doubles[0] - doubles[1]) <= _ALMOST
    return np.asarray(near | (doubles[0] == doubles[1]) | _both_nan(fmt, one, other))


CHECKS: Mapping[str, Agree] = {
    # +0 is -0, and a NaN is not equal to anything.
    "check.expect_eq": _agreeing(lambda fmt, one, other: steps_between(fmt, one, other) == 0),
    "check.expect_close": _agreeing(
        lambda fmt, one, other: (steps_between(fmt, one, other) <= _ULPS) | _both_nan(fmt, one, other)
    ),
    "check.expect_almost_eq": _agreeing(_almost),
}


# --- custom_call ------------------------------------------------------------------------------------------------------


def _target(op: Operation) -> str:
    return op.prop("call_target_name", at.StringAttr).value


def _custom_call(op: Operation, settings: Settings) -> Function:
    check = CHECKS.get(_target(op))

    def call(run: Run, operands: tuple[Value, ...]) -> tuple[Any, ...]:
        if check is not None and len(operands) == 2:
            return compared(op, *operands, check)
        raise Unsupported(f"halfulp does not know the function @{_target(op)} that stablehlo.custom_call calls")

    return call


def _parse_custom_call(p: OpParser, at_: int, definition: d.OpDefinition) -> Operation:
    name = p.symbol_reference()
    p.expect("(")
    tokens = p.operand_tokens()
    p.expect(")")
    attributes = p.optional_dictionary()
    p.expect(":")
    type_ = p.function_type()
    if len(type_.inputs) != len(tokens):
        p.error(
            f"custom op '{definition.name}' number of operands and types do not match: got {len(tokens)} operands and "
            f"{len(type_.inputs)} types",
            at_,
        )
    properties: dict[str, at.Attribute] = {"call_target_name": at.StringAttr(name.root)}
    move_inherent(definition, properties, attributes)
    operands = [p.use(token, each) for token, each in zip(tokens, type_.inputs, strict=True)]
    return p.placed(Operation(definition.name, definition, operands, type_.results, properties, attributes), at_)


def _print_custom_call(printer: OpPrinter, op: Operation) -> str:
    assert op.definition is not None
    implied = {prop.name: prop.elided for prop in op.definition.properties}
    shown = {
        name: value
        for name, value in op.properties.items()
        if name != "call_target_name" and value != implied.get(name)
    } | op.attributes
    text = f" {spell_symbol(_target(op))}({', '.join(map(printer.name, op.operands))})"
    types = ty.FunctionType(tuple(value.type for value in op.operands), tuple(value.type for value in op.results))
    return f"{text}{f' {printer.dictionary(shown)}' if shown else ''} : {printer.type(types)}"


_EMPTY = at.ArrayAttr(())

stablehlo.op(
    "custom_call",
    custom=d.CustomForm(_parse_custom_call, _print_custom_call),
    operands=(d.variadic("inputs", d.ANY),),
    results=(d.variadic("result", d.ANY),),
    properties=(
        d.Property("api_version", d.ANY_ATTR, optional=True, elided=at.IntegerAttr(1, ty.I32)),
        d.Property("backend_config", d.ANY_ATTR, optional=True),
        d.Property("call_target_name", d.STRING_ATTR),
        d.Property("called_computations", d.ARRAY_ATTR, optional=True, elided=_EMPTY),
        d.Property("has_side_effect", d.BOOL_ATTR, optional=True, elided=at.BoolAttr(False)),
        d.Property("operand_layouts", d.ARRAY_ATTR, optional=True),
        d.Property("output_operand_aliases", d.ARRAY_ATTR, optional=True, elided=_EMPTY),
        d.Property("result_layouts", d.ARRAY_ATTR, optional=True),
    ),
    evaluate=OnValues(_custom_call),
)
