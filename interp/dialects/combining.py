"""Elementwise ops that run on behalf of ops of other dialects, such as the combinations of reductions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from halfulp.fp_formats import scalar
from halfulp.fp_formats.codes import ints_to_codes
from halfulp.fp_formats.formats import FloatFormat
from halfulp.interp.declare.operands import add_defaults
from halfulp.interp.declare.registry import default_registry
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.attributes import Attribute
from halfulp.interp.ir.operations import Operation, SSAValue
from halfulp.interp.run.evaluators import Elementwise, evaluator_of
from halfulp.interp.run.points import PointwiseStep
from halfulp.interp.run.settings import Settings
from halfulp.interp.values.value import Value


def elementwise_op(
    name: str, operands: Sequence[ty.Type], result: ty.Type, properties: Mapping[str, Attribute] | None = None
) -> Operation:
    """Return an elementwise op, such as one of arith, that stands in no block."""
    definition = default_registry().find(name)
    assert definition is not None
    assert isinstance(definition.evaluate, Elementwise)
    op = Operation(name, definition, [SSAValue(type_) for type_ in operands], [result], dict(properties or {}))
    add_defaults(definition, op.properties)
    return op


def elementwise_step(
    op: Operation,
    name: str,
    operands: Sequence[ty.Type],
    result: ty.Type,
    settings: Settings,
    properties: Mapping[str, Attribute] | None = None,
) -> PointwiseStep:
    """Return the step of an elementwise op. Poison and errors name the place of ``op``."""
    inner = elementwise_op(name, operands, result, properties)
    evaluator = evaluator_of(inner)
    return PointwiseStep(inner, evaluator, evaluator.build(inner, settings), settings, op)


def neutral(name: str, type_: ty.Type) -> Value:
    """Return what a combination of no elements by an op of arith gives: +0 for a sum, else the element that changes no
    other.
    """
    width = ty.width_of(type_)
    mnemonic = name.partition(".")[2]
    if isinstance(type_, ty.FloatType):
        code = _neutral_float(mnemonic, type_.format)
    else:
        top = (1 << width) - 1
        codes = {"andi": top, "minui": top, "muli": 1, "minsi": top >> 1, "maxsi": top ^ (top >> 1)}
        code = codes.get(mnemonic, 0) & top
    return Value(type_, ints_to_codes([code], width, ()))


def _neutral_float(mnemonic: str, fmt: FloatFormat) -> int:
    if mnemonic in ("addf", "mulf"):
        return scalar.from_integer(fmt, int(mnemonic == "mulf")).code
    if mnemonic in ("minnumf", "maxnumf") and fmt.nan_code is not None:
        return fmt.nan_code
    smallest = mnemonic.startswith("max")
    if smallest and not fmt.signed:
        return 0
    largest = fmt.max_code if fmt.infinity_code is None else fmt.infinity_code
    return scalar.with_sign(fmt, int(smallest), largest)
