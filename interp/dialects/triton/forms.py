"""Parts of the declarations of Triton's ops: properties, types without their prefix, and rows of signatures."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from halfulp.interp.declare import declarations as d
from halfulp.interp.declare import parameters as kinds
from halfulp.interp.dialects.triton import types
from halfulp.interp.ir import attributes as at
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.dialect_attributes import EnumDefinition, ParameterKind
from halfulp.interp.ir.operations import Operation
from halfulp.interp.text.directives import CUSTOM_DIRECTIVES, ElementForm, OpReading, Slots
from halfulp.interp.text.op_parser import OpParser, OpPrinter

# --- properties -------------------------------------------------------------------------------------------------------

FALSE, TRUE = at.IntegerAttr(0, ty.I1), at.IntegerAttr(1, ty.I1)


def _integer_of(width: int) -> d.AttributeConstraint:
    type_ = ty.IntegerType(width)
    return d.AttributeConstraint(
        f"{width}-bit signless integer attribute",
        lambda attribute: isinstance(attribute, at.IntegerAttr) and attribute.type == type_,
        form=ParameterKind(lambda p: p.attribute(type_), lambda value, names: str(value.value)),
    )


I32_ATTR, I16_ATTR = _integer_of(32), _integer_of(16)


def flag(name: str) -> d.Property:
    """Return the property of a unit attribute, which may be absent."""
    return d.Property(name, d.UNIT_ATTR, optional=True)


def number(name: str, default: int | None = None, optional: bool = False) -> d.Property:
    """Return the property of a 32-bit integer."""
    implied = None if default is None else at.IntegerAttr(default, ty.I32)
    return d.Property(name, I32_ATTR, optional=optional, default=implied)


def truth(name: str, default: at.IntegerAttr | None = None, optional: bool = False) -> d.Property:
    """Return the property of a truth value."""
    return d.Property(name, d.BOOL_ATTR, optional=optional, default=default)


# --- directives -------------------------------------------------------------------------------------------------------

_READERS: Mapping[d.TypeConstraint, Callable[[OpParser], ty.Type]] = {
    types.POINTER: types.read_pointer,
    types.DESCRIPTOR: types.read_descriptor,
    types.MEMDESC: types.read_memdesc,
}


def _stripped(slots: Slots, name: str) -> ElementForm:
    """Compile the type of a value without its name, ``<f32>``: where only one class of types may stand."""
    index = slots.index[name]
    read_inner = _READERS[slots.all[index].constraint]

    def read(p: OpParser, state: OpReading) -> None:
        state.types[index] = p.type() if p.at_type() else read_inner(p)

    def print_(printer: OpPrinter, operation: Operation, out: kinds.Out) -> None:
        (value,) = slots.values(operation, index)
        type_ = value.type
        assert isinstance(type_, types.PointerType | types.DescriptorType | types.MemDescType)
        printer.type(type_)
        out.value(type_.inner(printer.names))

    return ElementForm(read, print_)


_WORD = (1 << 32) - 1


def _integers(slots: Slots, name: str) -> ElementForm:
    """Compile the numbers of an array, with commas between them."""

    def read(p: OpParser, state: OpReading) -> None:
        values = p.separated(p.integer) if p.tokens[p.pos] != "]" else []
        state.properties[name] = at.DenseArrayAttr(ty.I32, tuple([value & _WORD for value in values]))

    def print_(printer: OpPrinter, operation: Operation, out: kinds.Out) -> None:
        out.value(operation.prop(name, at.DenseArrayAttr).values_text())

    return ElementForm(read, print_)


def _flags(slots: Slots, name: str) -> ElementForm:
    """Compile the words of flags, with bars between them and without brackets."""
    definition = slots.properties[name].kind
    assert isinstance(definition, EnumDefinition)

    def read(p: OpParser, state: OpReading) -> None:
        value = 0
        while True:
            at_ = p.pos
            word = kinds.identifier(p)
            if word not in definition.cases:
                p.error(f"expected one of: {', '.join(definition.cases)}", at_, hint=p.similar(word, definition.cases))
            value |= definition.cases[word]
            if not p.take("|"):
                break
        state.properties[name] = definition.attribute(value)

    def print_(printer: OpPrinter, operation: Operation, out: kinds.Out) -> None:
        out.value(definition.spell(operation.prop(name, at.IntegerAttr).value))

    return ElementForm(read, print_)


CUSTOM_DIRECTIVES.update({"Stripped": _stripped, "Integers": _integers, "BareFlags": _flags})

# --- rows -------------------------------------------------------------------------------------------------------------

_CONSTRAINTS: Mapping[str, d.TypeConstraint] = {
    "any": d.ANY,
    "bools": types.BOOL_TENSOR,
    "desc": types.DESCRIPTOR,
    "floats": types.FLOAT_TENSOR,
    "i1": d.BOOL,
    "i16": types.I16,
    "i32": types.I32,
    "i64": types.I64,
    "integers": types.INTEGER_TENSOR,
    "iv": d.INTEGER_OR_INDEX,
    "mem": types.MEMDESC,
    "numbers": types.NUMBER_TENSOR,
    "offsets": types.OFFSETS,
    "operand": types.TENSOR_OR_MEMDESC,
    "ptr": types.POINTER,
    "ptrs": types.POINTER_TENSOR,
    "tensor": types.TENSOR,
    "token": types.TOKEN,
    "value": types.VALUE,
}
_ARITIES = {"?": d.Arity.OPTIONAL, "*": d.Arity.VARIADIC}


class Row(NamedTuple):
    """The declaration of an op in one line.

    ``values``: its operands and results, as in ``"src:ptr mask:bools? -> result:tensor"``: a name and a word for the
    type, with ``?`` if the value may be left out and ``*`` if there may be any number.
    """

    mnemonic: str
    values: str
    assembly: str | None = None
    properties: Sequence[d.Property] = ()
    more: Mapping[str, Any] = {}


def _slots(text: str) -> tuple[d.Slot, ...]:
    found = []
    for each in text.split():
        name, _, word = each.partition(":")
        found.append(d.Slot(name, _CONSTRAINTS[word.rstrip("?*")], _ARITIES.get(word[-1], d.Arity.ONE)))
    return tuple(found)


def declare_rows(dialect: d.Dialect, rows: Sequence[Row]) -> None:
    """Declare the ops of some rows, with the sizes that Triton allows for their tensors."""
    for row in rows:
        operands, _, results = row.values.partition("->")
        several = sum(slot.arity is not d.Arity.ONE for slot in _slots(operands)) > 1
        traits = {d.Trait.ATTR_SIZED_OPERAND_SEGMENTS} if several else set()
        declaration = {"verify": types.verify_sizes, **row.more}
        declaration["traits"] = traits | set(declaration.get("traits", ()))
        dialect.op(
            row.mnemonic,
            row.assembly,
            operands=_slots(operands),
            results=_slots(results),
            properties=tuple(row.properties),
            **declaration,
        )
