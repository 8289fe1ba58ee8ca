"""The builtin dialect: `builtin.module` and `builtin.unrealized_conversion_cast` (reference: the Builtin dialect's
document).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from halfulp.interp.declare import declarations as d
from halfulp.interp.ir.attributes import StringAttr
from halfulp.interp.ir.base import Attribute, spell_symbol
from halfulp.interp.ir.operations import Block, Operation
from halfulp.interp.run.evaluators import OnValues
from halfulp.interp.run.frames import Cast, Run, lift
from halfulp.interp.run.settings import Settings, SlotConversion
from halfulp.interp.text.op_parser import OpParser, OpPrinter

# --- forms ------------------------------------------------------------------------------------------------------------
#
# The custom form of `builtin.module`, which MLIR writes by hand.


def _parse_module(p: OpParser, at: int, definition: d.OpDefinition) -> Operation:
    properties: dict[str, Attribute] = {}
    if p.tokens[p.pos][:1] == "@":
        properties["sym_name"] = StringAttr(p.symbol())
    if p.take("<"):
        _read_properties(p, properties)
    attributes: dict[str, Attribute] = {}
    if p.take("attributes"):
        p.dictionary(attributes)
    for name in ("sym_name", "sym_visibility"):
        if name in attributes:
            properties[name] = attributes.pop(name)
    region = p.region(definition.name)
    if not region.blocks:
        region.append(Block())
    return p.placed(Operation(definition.name, definition, None, (), properties, attributes, [region]), at)


def _read_properties(p: OpParser, properties: dict[str, Attribute]) -> None:
    """Read the properties of a module between angle brackets, where only newer MLIR has a place for them."""
    if p.tokens[p.pos] == "{":
        p.dictionary(properties)
    else:
        while True:
            name = p.tokens[p.pos]
            if name not in _BRACKETED:
                p.error(f"custom op 'builtin.module' has no property '{name}' here")
            p.pos += 1
            p.expect("=")
            properties[name] = p.attribute()
            if not p.take(","):
                break
    p.expect(">")


_BRACKETED = ("sym_visibility", "dlti")


def _print_module(printer: OpPrinter, operation: Operation) -> str:
    text = ""
    name = operation.properties.get("sym_name")
    if isinstance(name, StringAttr):
        text += f" {spell_symbol(name.value)}"
    extra = dict(operation.attributes)
    bracketed = {name: operation.properties[name] for name in _BRACKETED if name in operation.properties}
    if printer.newer or "dlti" in bracketed:
        shown = ", ".join(f"{name} = {printer.attribute(value)}" for name, value in bracketed.items())
        text += f" <{shown}>" if shown else ""
    else:
        extra |= bracketed
    if extra:
        text += f" attributes {printer.dictionary(extra)}"
    return f"{text} {printer.region(operation.regions[0], operation)}"


MODULE = d.CustomForm(_parse_module, _print_module)


# --- ops --------------------------------------------------------------------------------------------------------------

builtin = d.Dialect("builtin")


def _verify_module(module: Operation) -> str | None:
    if module.regions[0].blocks[0].arguments:
        return "region should have no arguments"
    foreign = next((name for name in module.attributes if "." not in name), None)
    return foreign and f"can only contain attributes with dialect-prefixed names, found: '{foreign}'"


builtin.op(
    "module",
    custom=MODULE,
    properties=(
        d.Property("dlti", d.ANY_ATTR, optional=True, since=d.Schema.LLVM24, late=True),
        d.Property("sym_name", d.STRING_ATTR, optional=True),
        d.Property("sym_visibility", d.STRING_ATTR, optional=True),
    ),
    regions=(d.RegionSlot("bodyRegion"),),
    traits=(
        d.Trait.SYMBOL,
        d.Trait.SYMBOL_TABLE,
        d.Trait.NO_TERMINATOR,
        d.Trait.SINGLE_BLOCK,
        d.Trait.ISOLATED_FROM_ABOVE,
        d.Trait.GRAPH_REGION,
    ),
    default_dialect="builtin",
    verify=_verify_module,
)


def _conversion(op: Operation, settings: Settings) -> Callable[[Run, tuple[Any, ...]], tuple[Any, ...]]:
    """Return the function that runs a conversion: it undoes a chain of casts, calls a registered function, or leaves
    the conversion to a later cast.
    """
    operand_types = tuple(value.type for value in op.operands)
    types = tuple(value.type for value in op.results)
    key = tuple(map(str, operand_types)), tuple(map(str, types))
    function = settings.casts.get(key)

    def convert(run: Run, slots: tuple[Any, ...]) -> tuple[Any, ...]:
        source, source_types = _begin_of_chain(slots, operand_types)
        if source_types == types:
            return source
        if isinstance(function, SlotConversion):
            return function.convert(run, slots)
        if function is not None:
            values = [lift(slot, type_) for slot, type_ in zip(slots, operand_types, strict=True)]
            return run.host(function, values, types, "the registered conversion")
        return tuple(Cast(source, source_types, types, index) for index in range(len(types)))

    return convert


def _begin_of_chain(slots: tuple[Any, ...], types: tuple[Any, ...]) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
    """Return the values at the start of a chain of casts, if these are all the results of one cast in order; else these
    values.
    """
    first = slots[0] if slots else None
    if not isinstance(first, Cast):
        return slots, types
    whole = len(first.types) == len(slots) and all(
        isinstance(slot, Cast) and slot.index == index and slot.source is first.source
        for index, slot in enumerate(slots)
    )
    return (first.source, first.source_types) if whole else (slots, types)


builtin.op(
    "unrealized_conversion_cast",
    "($inputs^ `:` type($inputs))? `to` type($outputs) attr-dict",
    operands=(d.variadic("inputs", d.ANY),),
    results=(d.variadic("outputs", d.ANY),),
    verify=lambda op: None if op.results else "expected at least one result for cast operation",
    evaluate=OnValues(_conversion, raw=True, casts=True),
)
