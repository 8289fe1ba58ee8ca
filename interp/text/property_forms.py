"""Forms of properties: an attribute is written bare where its constraint leaves only one way to read it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from halfulp.interp.declare.declarations import AttributeConstraint, Property
from halfulp.interp.ir.attributes import (
    DenseArrayAttr,
    IntegerAttr,
    StringAttr,
    SymbolRefAttr,
    TypeAttr,
    UnitAttr,
)
from halfulp.interp.ir.base import Attribute
from halfulp.interp.ir.dialect_attributes import EnumAttr, EnumDefinition
from halfulp.interp.ir.types import I1, I32, I64, INDEX, NoneType, TensorType
from halfulp.interp.text.op_parser import OpParser
from halfulp.interp.text.op_printer import OpPrinter

UNIT = UnitAttr()
_TYPE = TypeAttr(TensorType((), I32))

Read = Callable[[OpParser], Attribute]


class PropertyForm(NamedTuple):
    """The form of a property. ``begins`` tells whether a token can be its first one; None where no token tells it."""

    read: Read
    print: Callable[[OpPrinter, Attribute], str]
    begins: Callable[[str], bool] | None


class _Shape(NamedTuple):
    """A way to write an attribute. ``read``: None to read it as any other attribute. ``first``: its first character, if
    fixed.
    """

    read: Read | None
    print: Callable[[OpPrinter, Any], str]
    first: str = ""


def _read_string(p: OpParser) -> Attribute:
    if p.tokens[p.pos][:1] != '"':
        at = p.pos
        attribute = p.attribute(NoneType())
        p.error(f"invalid kind of attribute specified: expected builtin.string, but found '{attribute}'", at)
    return StringAttr(p.string())


_ANY = _Shape(None, lambda printer, attribute: printer.attribute(attribute))
_SHAPES: Mapping[str, _Shape] = {
    "any": _ANY,
    "unit": _ANY,
    "string": _Shape(_read_string, _ANY.print, '"'),
    "symbol": _Shape(lambda p: p.symbol_reference(), lambda printer, attribute: str(attribute), "@"),
    "array": _Shape(lambda p: p.array_values(I32), lambda printer, attribute: f"[{attribute.values_text()}]", "["),
    "i64 array": _Shape(lambda p: p.array_values(I64), lambda printer, attribute: f"[{attribute.values_text()}]", "["),
    "bool": _Shape(lambda p: p.attribute(I1), _ANY.print),
    "i32": _Shape(lambda p: p.attribute(I32), lambda printer, attribute: str(attribute.value)),
    "i64": _Shape(lambda p: p.attribute(I64), lambda printer, attribute: str(attribute.value)),
    "index": _Shape(lambda p: p.attribute(INDEX), lambda printer, attribute: str(attribute.value)),
}


def _shape_of(kind: AttributeConstraint) -> str:
    accepts_i64 = kind.accepts(IntegerAttr(1, I64))
    if kind.accepts(UNIT):
        return "any" if accepts_i64 else "unit"
    if kind.accepts(StringAttr("")) and not accepts_i64:
        return "string"
    if kind.accepts(SymbolRefAttr("a")):
        return "symbol"
    if kind.accepts(DenseArrayAttr(I32, ())) and not accepts_i64:
        return "array"
    if kind.accepts(DenseArrayAttr(I64, ())) and not accepts_i64:
        return "i64 array"
    if kind.accepts(IntegerAttr(0, I32)):
        return "any"
    if kind.accepts(IntegerAttr(1, I1)) and not accepts_i64:
        return "bool"
    if kind.accepts(IntegerAttr(1, I32)):
        return "i32"
    return "i64" if accepts_i64 else "index" if kind.accepts(IntegerAttr(0, INDEX)) else "any"


def is_unit(prop: Property) -> bool:
    """Tell whether a property is a unit attribute. It is not written: the optional group around it is."""
    return isinstance(prop.kind, AttributeConstraint) and _shape_of(prop.kind) == "unit"


def property_form(prop: Property, prefix: str) -> PropertyForm:
    """Return the form of a property; ``prefix`` stands in front of the messages of its errors."""
    kind = prop.kind
    if isinstance(kind, EnumDefinition):
        return PropertyForm(_enum_reader(prop.name, kind, prefix), _print_enum(kind), kind.cases.__contains__)
    shape = _SHAPES[_shape_of(kind)]
    first = kind.first or shape.first
    return PropertyForm(
        _checked(kind, shape.read, prefix), shape.print, (lambda token: token[:1] == first) if first else None
    )


def _checked(kind: AttributeConstraint | EnumDefinition, special: Read | None, prefix: str) -> Read:
    # In MLIR a string has a type. The op's own rules report a wrong string, a wrong type where the op needs a type, and
    # a wrong number.
    left_to_the_op: tuple[type, ...] = (IntegerAttr,) if special is not None else (StringAttr,)
    if special is None and kind.accepts(_TYPE):
        left_to_the_op = (StringAttr, TypeAttr)

    def read(p: OpParser) -> Attribute:
        at = p.pos
        attribute = special(p) if special is not None else p.attribute()
        if not kind.accepts(attribute) and not isinstance(attribute, left_to_the_op):
            p.error(f"{prefix}invalid kind of attribute specified", at)
        return attribute

    return read


def _enum_reader(name: str, kind: EnumDefinition, prefix: str) -> Read:
    if kind.storage_width is None or kind.flags:
        whole = _checked(kind, None, prefix)
        # An attribute without keywords is written as any other, and each may be.
        if "" in kind.cases:
            return whole
        return lambda p: whole(p) if p.tokens[p.pos][:1] == "#" else p.enum_brackets(kind, prefix)
    attributes = {case: kind.attribute(value) for case, value in kind.cases.items()}

    def keyword(p: OpParser) -> Attribute:
        token = p.tokens[p.pos]
        attribute = attributes.get(token) or attributes.get(token.strip('"'))
        if attribute is None:
            p.error(
                f"{prefix}expected string or keyword containing one of the following enum values for attribute "
                f"'{name}' [{', '.join(attributes)}]"
            )
        p.pos += 1
        return attribute

    return keyword


def _print_enum(kind: EnumDefinition) -> Callable[[OpPrinter, Attribute], str]:
    names = kind.names

    def spell(printer: OpPrinter, attribute: Attribute) -> str:
        if isinstance(attribute, EnumAttr):
            return f"<{attribute.keywords}>" if attribute.keywords else printer.attribute(attribute)
        assert isinstance(attribute, IntegerAttr)
        if kind.flags:
            return f"<{kind.spell(attribute.value)}>"
        return names[attribute.value]

    return spell
