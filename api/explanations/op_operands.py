"""The operands of an explained op: their codes, the exact numbers as typed, and the rounding between the two."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

from halfulp.explanations.records import GivenOperand
from halfulp.explanations.roundable import given_number
from halfulp.explanations.rounding import explained
from halfulp.fp_formats.codes import codes_to_ints
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.errors import InputError
from halfulp.interp.ir.types import element_width, width_of
from halfulp.interp.values.element_layout import numeric
from halfulp.interp.values.parsing import parse_element, parse_type_head
from halfulp.interp.values.value import Value, to_value
from halfulp.number_reader import Code, bits_of, read_number, read_text, real_of, typed_text
from halfulp.semantics.profile import SPEC
from halfulp.texts import integer_of


def one_channel(type_: ty.Type | None, channel: int | None) -> ty.Type | None:
    """Return a quantised type with one scale: that of the channel, for a type with several."""
    several = isinstance(type_, ty.UniformQuantizedType) and len(type_.scales) > 1
    if not isinstance(type_, ty.UniformQuantizedType) or (channel is None and not several):
        return type_
    count = len(type_.scales)
    if channel is None or not 0 <= channel < count:
        given = "" if channel is None else f", not {channel}"
        raise InputError(f"'{type_}' has {count} scales: channel=… (--channel) is 0 to {count - 1}{given}")
    return replace(
        type_,
        scales=(type_.scales[channel],),
        zero_points=(type_.zero_points[channel],),
        axis=None,
        block_sizes=None,
        parameter_shape=(),
    )


def operand_of(name: str, type_: ty.Type, value: Any) -> GivenOperand:
    """Return an operand in its type. A typed text and a `Value` keep their own type. Raises InputError."""
    typed = typed_text(value) if isinstance(value, str) else None
    real = real_of(value)
    if typed is not None:
        type_, value = parse_type_head(typed[1]), typed[0]
    if isinstance(value, Value):
        type_ = value.type
    if isinstance(type_, ty.FloatType):
        return _float_operand(name, type_, value, real, literal=typed is not None)
    if isinstance(type_, ty.ShapedType) or element_width(type_) is None:
        raise InputError(f"{name} must be one number, not of type '{type_}'")
    if isinstance(value, str):
        code = parse_element(type_, value.strip())
    else:
        code = _code_of(value if isinstance(value, Value) else to_value(value, type_, name))
    number = None if code is None else Fraction(integer_of(numeric(type_), code))
    return GivenOperand(name, type_, code, number, real=number)


def _code_of(value: Value) -> int:
    if value.shape or value.poison is not None:
        raise InputError(f"an operand is one number without poison, not {value!r}")
    return codes_to_ints(value.bits.reshape((1, *value.bits.shape)), width_of(value.element_type))[0]


def _float_operand(name: str, type_: ty.FloatType, value: Any, real: Fraction | None, literal: bool) -> GivenOperand:
    fmt = type_.format
    if isinstance(value, Value):
        read = bits_of(repr(value), Code(fmt, _code_of(value)))
    else:
        read = read_text(value.strip(), fmt, literal=True) if literal else read_number(value, fmt)
    given = given_number(read)
    explanation = explained(given, fmt, "to_nearest_even", SPEC, (), others=False)
    real = given.exact if real is None else real
    return GivenOperand(name, type_, explanation.result.code, explanation.result.value, explanation, real)
