"""The attribute ``#complex.number<:f64 1.0, 2.0>``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from halfulp.interp.ir import attributes as at
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.dialect_attributes import (
    AttributeDefinition,
    DialectAttr,
    Parameter,
    ParameterForm,
    ParameterKind,
)
from halfulp.interp.ir.literals import spell_float
from halfulp.interp.text.token_parser import TokenParser


def _read(p: TokenParser) -> tuple[Any, ...]:
    p.expect("<")
    p.expect(":")
    at_type = p.pos
    element = p.type()
    if not isinstance(element, ty.FloatType):
        p.error("invalid kind of type specified: expected float", at_type)
    real = _part(p, element)
    p.expect(",")
    imaginary = _part(p, element)
    p.expect(">")
    if p.take(":"):
        at_type = p.pos
        written = p.type()
        if written != ty.ComplexType(element):
            p.error(f"the number has the type 'complex<{element}>', not '{written}'", at_type)
    return real, imaginary


def _part(p: TokenParser, element: ty.FloatType) -> at.FloatAttr:
    where = p.pos
    found = p.attribute(element)
    if not isinstance(found, at.FloatAttr) or found.type != element:
        p.error("expected floating point literal", where)
    return found


def _spell(value: DialectAttr, names: Mapping[object, str]) -> str:
    real, imaginary = value.values
    texts = [spell_float(part.type.format, part.code) for part in (real, imaginary)]
    type_ = real.type.spell(names)
    return f"<:{type_} {', '.join(texts)}> : complex<{type_}>"


_PART = ParameterKind(lambda p: p.attribute(), lambda value, names: value.spell_nested(names))
NUMBER = AttributeDefinition(
    name="complex.number",
    form=ParameterForm(_read, _spell),
    parameters=(Parameter("real", _PART), Parameter("imag", _PART)),
)
