"""The encoding of the attributes that dialects declare, from their definitions."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

from halfulp.interp.bytecode.code import Code
from halfulp.interp.bytecode.fields import OPTIONAL_ATTRIBUTE, Field, list_of, optional
from halfulp.interp.ir.dialect_attributes import AttributeDefinition, DialectAttr

_LIST = optional(list_of(OPTIONAL_ATTRIBUTE))
_FIELDS: Mapping[str, Field] = {
    "optional": OPTIONAL_ATTRIBUTE,
    "list": Field(
        lambda source, before: _LIST.read(source, before) or (),
        lambda sink, value, before: _LIST.write(sink, value or None, before),
    ),
}
"""How bytecode holds a parameter, by the word in its declaration. An empty list is absent."""


@lru_cache(maxsize=256)
def code_of(definition: AttributeDefinition) -> Code:
    """Return the row of an attribute that has a code."""
    assert definition.code is not None

    fields = tuple(_FIELDS[parameter.encoded] for parameter in definition.parameters)
    return Code(
        definition.code,
        DialectAttr,
        fields,
        lambda *values: DialectAttr(definition, values),
        lambda attribute: attribute.values,
    )
