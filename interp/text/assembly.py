"""An op's custom form: its assembly format, compiled into a parser and a printer on first use.

A parser is a list of closures, one for each element of the format (`halfulp.interp.text.directives`). The types that
the text does not write then follow from the type rules of the op. They are found once for each combination of written
types.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any

from halfulp.interp.declare.declarations import Arity, OpDefinition, Slot, Trait, only_type
from halfulp.interp.declare.operands import SEGMENTS, default_properties
from halfulp.interp.declare.parameters import Out, read_format
from halfulp.interp.ir.attributes import DenseArrayAttr
from halfulp.interp.ir.base import Attribute, Type
from halfulp.interp.ir.dialect_attributes import EnumDefinition
from halfulp.interp.ir.operations import Operation, SSAValue, Successor
from halfulp.interp.ir.types import I32
from halfulp.interp.text.directives import ElementForm, OpReading, Slots, compile_elements
from halfulp.interp.text.op_parser import OpParser, OpPrinter, ParseOp, PrintOp

Solve = Callable[[OpParser, int, list[Any], Mapping[str, Attribute]], list[Any]]


@cache
def _parts_of(definition: OpDefinition) -> tuple[Slots, tuple[ElementForm, ...]]:
    assert definition.assembly is not None
    slots = Slots(definition)
    return slots, compile_elements(read_format(definition.assembly), slots)


@cache
def compile_parser(definition: OpDefinition) -> ParseOp | None:
    """Return the parser of an op's custom form; None for an op that has only the generic one."""
    if definition.custom is not None:
        parse = definition.custom.parse
        return lambda p, at: parse(p, at, definition)
    if definition.assembly is None:
        return None
    slots, parts = _parts_of(definition)
    return _finisher(definition, slots, parts)


@cache
def compile_printer(definition: OpDefinition) -> PrintOp | None:
    """Return the printer of the text after an op's name; None for an op that has only the generic form."""
    if definition.custom is not None:
        return definition.custom.print
    if definition.assembly is None:
        return None
    prints = tuple(part.print for part in _parts_of(definition)[1])

    def print_op(printer: OpPrinter, operation: Operation) -> str:
        out = Out()
        for print_ in prints:
            print_(printer, operation, out)
        return out.text

    return print_op


def _finisher(definition: OpDefinition, slots: Slots, parts: tuple[ElementForm, ...]) -> ParseOp:
    name = definition.name
    steps = tuple(part.read for part in parts)
    operand_count, slot_count = len(slots.operands), len(slots.all)
    solve = _solver(definition, slots)
    # True if no attribute with a type contributes to the types that are solved.
    cacheable = all(isinstance(prop.kind, EnumDefinition) for prop in definition.properties)
    plain = slots.plain and not definition.regions
    defaults = default_properties(definition)
    sized = Trait.ATTR_SIZED_OPERAND_SEGMENTS in definition.traits
    passed = slots.passed
    buildable = [only_type(slot.constraint) for slot in slots.operands]
    known: dict[tuple[Any, ...], list[Any]] = {}
    segments: dict[tuple[int, ...], DenseArrayAttr] = {}

    def parse(p: OpParser, at: int) -> Operation:
        state = OpReading(operand_count, slot_count, at)
        for step in steps:
            step(p, state)
        properties = state.properties
        for key, default in defaults:
            if key not in properties:
                properties[key] = default
        types = state.types
        if None in types:
            if cacheable:
                written = tuple(types)
                solved = known.get(written)
                if solved is None:
                    solved = known[written] = solve(p, at, types, properties)
                types = solved
            else:
                types = solve(p, at, types, properties)
        if state.named is not None:
            properties.update(state.named)
        if plain:
            values = p.values
            tokens = p.tokens
            operands = []
            for token, type in zip(state.operands, types, strict=False):
                value = values.get(tokens[token])
                if value is None or value.type is not type:
                    value = p.use(token, type)
                operands.append(value)
            operation = Operation(name, definition, operands, types[operand_count:], properties, state.attributes)
        else:
            groups = [
                _resolve(p, name, slot, names, type, only)
                for slot, names, type, only in zip(slots.operands, state.operands, types, buildable, strict=False)
            ]
            shares: list[Sequence[Type]] = [
                (type,) if slot.arity is Arity.ONE else type or ()
                for slot, type in zip(slots.results, types[operand_count:], strict=True)
            ]
            results = [type for share in shares for type in share]
            if slots.grouped is not None:
                properties[slots.grouped] = DenseArrayAttr(I32, tuple(map(len, shares)))
            operands = [value for index, group in enumerate(groups) if index not in passed for value in group]
            successors: list[Successor] = [(block, []) for block in state.successors]
            for index, successor in passed.items():
                successors[successor] = (successors[successor][0], groups[index])
                if p.forward:
                    p.pending.append(groups[index])
            if sized:
                sizes = tuple(len(group) for group in groups)
                if sizes not in segments:
                    segments[sizes] = DenseArrayAttr(I32, sizes)
                properties[SEGMENTS] = segments[sizes]
            operation = Operation(
                name, definition, operands, results, properties, state.attributes, state.regions, successors
            )
        return p.placed(operation, at)

    return parse


def _resolve(p: OpParser, op: str, slot: Slot, names: Any, types: Any, only: Type | None) -> list[SSAValue]:
    """Return the values of a slot. ``only``: the type of each of them, if the constraint allows only one."""
    if slot.arity is Arity.ONE:
        return [p.use(names, types)]
    names = names or []
    if slot.arity is Arity.OPTIONAL and not names:
        return []
    if types is None:
        types = () if only is None else (only,) * len(names)
    return p.uses(op, names, types, names[0] if names else None)


def _solver(definition: OpDefinition, slots: Slots) -> Solve:
    """Return a function that completes a list of types by slot from the constraints and the type rules."""
    fixed = {slot.name: only for slot in slots.all if slot.arity is Arity.ONE and (only := only_type(slot.constraint))}
    rules = definition.type_rules
    # Slots that may be empty, or whose type is fixed.
    optional = {
        slot.name
        for slot in slots.all
        if slot.arity is not Arity.ONE and (only_type(slot.constraint) or not definition.type_rules)
    }

    def solve(p: OpParser, at: int, types: list[Any], properties: Mapping[str, Attribute]) -> list[Any]:
        known = {slot.name: type for slot, type in zip(slots.all, types, strict=True) if type is not None}
        for name, type in fixed.items():
            known.setdefault(name, type)
        before = -1
        while before != len(known):
            before = len(known)
            for rule in rules:
                rule.solve(known, properties)
        solved = [known.get(slot.name) for slot in slots.all]
        for slot, found in zip(slots.all, solved, strict=True):
            if found is None and slot.name not in optional:
                for source, type in zip(slots.all, types, strict=True):
                    if source.arity is Arity.ONE and type is not None and not source.constraint.accepts(type):
                        p.wrong(
                            definition.name,
                            f"'{source.name}' must be {source.constraint.description}, but got '{type}'",
                            at,
                        )
            if found is None and slot.arity is Arity.ONE:
                p.error(f"'{definition.name}' op: the type of '{slot.name}' does not follow from those written", at)
        return solved

    return solve
