"""The encoding of the attributes that dialects declare, from their definitions."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from halfulp.interp.bytecode.code import Code
from halfulp.interp.bytecode.fields import (
    ATTRIBUTE,
    BOOL,
    OPTIONAL_ATTRIBUTE,
    VARINT,
    CodeSink,
    CodeSource,
    Field,
    list_of,
    optional,
)
from halfulp.interp.declare.declarations import Schema
from halfulp.interp.ir.attributes import StringAttr
from halfulp.interp.ir.dialect_attributes import AttributeDefinition, DialectAttr
from halfulp.interp.ir.errors import Unsupported
from halfulp.interp.text.schema import NAMES


def _list(element: Field) -> Field:
    """Return the field of a list. An empty one is absent."""
    several = optional(list_of(element))
    return Field(
        lambda source, before: several.read(source, before) or (),
        lambda sink, value, before: several.write(sink, value or None, before),
    )


def _write_text(sink: CodeSink, value: StringAttr, before: tuple[Any, ...]) -> None:
    if value.type is not None:
        raise Unsupported(f"bytecode cannot hold the type of {value} in debug information", hint="leave the type out")
    sink.string(value.value)


def _read_optional_number(source: CodeSource, before: tuple[Any, ...]) -> int | None:
    value, present = source.cursor.flagged()
    return value if present else None


def _write_optional_number(sink: CodeSink, value: int | None, before: tuple[Any, ...]) -> None:
    sink.varint(0 if value is None else value << 1 | 1)


_FIELDS: Mapping[str, Field] = {
    "attribute": ATTRIBUTE,
    "optional": OPTIONAL_ATTRIBUTE,
    "list": _list(OPTIONAL_ATTRIBUTE),
    "boolean": BOOL,
    "number": VARINT,
    "optional number": Field(_read_optional_number, _write_optional_number),
    "numbers": _list(VARINT),
    "text": Field(lambda source, _: StringAttr(source.string()), _write_text),
}
"""How bytecode holds a parameter, by the word in its declaration."""


@lru_cache(maxsize=256)
def code_of(definition: AttributeDefinition, schema: Schema) -> Code:
    """Return the row of an attribute that has a code, in a version of MLIR. Raises Unsupported if it is not known."""
    assert definition.code is not None
    if definition.until is not None and schema >= definition.until:
        raise Unsupported(
            f"halfulp does not know how the bytecode of {NAMES[schema]} holds #{definition.name}", hint="use text"
        )
    held = tuple(parameter for parameter in definition.parameters if parameter.since <= schema)

    def make(*values: Any) -> DialectAttr:
        given = dict(zip(held, values, strict=True))
        return DialectAttr(
            definition, tuple(given.get(parameter, parameter.default) for parameter in definition.parameters)
        )

    def take(attribute: DialectAttr) -> tuple[Any, ...]:
        given = dict(zip(definition.parameters, attribute.values, strict=True))
        for parameter, value in given.items():
            if parameter.since > schema and value != parameter.default:
                raise Unsupported(
                    f"the bytecode of {NAMES[schema]} cannot hold '{parameter.name}' of #{definition.name}",
                    hint=f"leave '{parameter.name}' out, or write text",
                )
        return tuple(given[parameter] for parameter in held)

    return Code(definition.code, DialectAttr, tuple(_FIELDS[parameter.encoded] for parameter in held), make, take)


def write_declared(sink: CodeSink, attribute: DialectAttr) -> None:
    """Write the code of an attribute and its parameters. Raises Unsupported for what the version of MLIR does not
    hold.
    """
    code = code_of(attribute.definition, sink.schema)
    values = code.take(attribute)
    assert values is not None
    code.write(sink, values)
