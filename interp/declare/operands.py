"""Flat lists of operands and attributes, as the generic form and bytecode have them, divided among declared ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from itertools import accumulate

from halfulp.interp.declare.declarations import Arity, OpDefinition, Schema, Slot, SuccessorSlot, Trait
from halfulp.interp.ir.attributes import Attribute, BoolAttr, DenseArrayAttr
from halfulp.interp.ir.operations import Operation, SSAValue, Successor
from halfulp.interp.ir.types import I32

SEGMENTS = "operandSegmentSizes"


def move_inherent(definition: OpDefinition, properties: dict[str, Attribute], attributes: dict[str, Attribute]) -> None:
    """Move the inherent attributes out of the plain dictionary, where MLIR accepts them too, and add the defaults."""
    for name in list(attributes):
        if is_inherent(definition, name):
            properties[name] = attributes.pop(name)
    add_defaults(definition, properties)


def is_inherent(definition: OpDefinition, name: str, schema: Schema | None = None, late: bool = True) -> bool:
    """Tell whether an attribute of that name is a property of the op, in MLIR of this schema or in any; with those that
    some builds do not have if ``late``.
    """
    sized = Trait.ATTR_SIZED_OPERAND_SEGMENTS in definition.traits
    prop = definition.property_named(name)
    return (prop is not None and late >= prop.late and (schema is None or prop.is_in(schema))) or (
        sized and name == SEGMENTS
    )


@cache
def renewed(definition: OpDefinition, schema: Schema) -> Mapping[str, tuple[str, Attribute]]:
    """Return the properties that MLIR of this schema has as a value of another property, by name."""
    return {
        prop.name: prop.renewed for prop in definition.properties if prop.renewed is not None and not prop.is_in(schema)
    }


@cache
def plain_names(definition: OpDefinition, schema: Schema, late: bool = True) -> frozenset[str]:
    """Return the names of the properties that MLIR of this schema has as attributes like any other. ``late``: False for
    builds that do not have the late ones.
    """
    return frozenset(
        prop.name
        for prop in definition.properties
        if prop.is_attribute_in(schema) or (prop.plain and prop.late and not late)
    )


def add_defaults(definition: OpDefinition, properties: dict[str, Attribute]) -> None:
    """Add the default of each property that has one and is absent to ``properties``."""
    for name, attribute in default_properties(definition):
        if name not in properties:
            properties[name] = attribute


@cache
def default_properties(definition: OpDefinition) -> tuple[tuple[str, Attribute], ...]:
    """Return the properties that have a default, as pairs of name and default."""
    found: list[tuple[str, Attribute]] = []
    for prop in definition.properties:
        if prop.flag:
            found.append((prop.name, BoolAttr(False)))
        elif (implied := prop.implied) is not None:
            found.append((prop.name, implied))
    return tuple(found)


def operand_segments(definition: OpDefinition) -> str | None:
    """Return the name of the property that says how many operands each declared operand has; None if there is none."""
    return SEGMENTS if Trait.ATTR_SIZED_OPERAND_SEGMENTS in definition.traits else None


def result_segments(definition: OpDefinition) -> str | None:
    """Return the name of the property that says how many results each declared result has; None if there is none."""
    return next((prop.name for prop in definition.properties if prop.groups), None)


def operand_sizes(operation: Operation, definition: OpDefinition) -> list[int] | None:
    """Return the number of operands that belong to each declared operand; None if the numbers do not match."""
    segments = operation.properties.get(SEGMENTS)
    slots = definition.operands
    count = len(operation.operands)
    if Trait.ATTR_SIZED_OPERAND_SEGMENTS in definition.traits:
        if not isinstance(segments, DenseArrayAttr) or segments.element != I32:
            return None
        sizes = list(segments.values)
        return sizes if len(sizes) == len(slots) and sum(sizes) == count and min(sizes, default=0) >= 0 else None
    return spread(slots, count)


def operand_groups(operation: Operation) -> list[list[SSAValue]]:
    """Return the operands that belong to each declared operand; all are empty if the numbers do not match."""
    definition = operation.definition
    assert definition is not None
    sizes = operand_sizes(operation, definition) or [0] * len(definition.operands)
    return [operation.operands[end - size : end] for size, end in zip(sizes, accumulate(sizes), strict=True)]


def spread(slots: Sequence[Slot], count: int) -> list[int] | None:
    """Divide ``count`` values among the slots, and return the number for each; None if that is not possible. Slots of
    variable size all get the same number (`SameVariadicOperandSize`).
    """
    variable = [index for index, slot in enumerate(slots) if slot.arity is not Arity.ONE]
    sizes = [1] * len(slots)
    if not variable:
        return sizes if len(slots) == count else None
    share, rest = divmod(count - (len(slots) - len(variable)), len(variable))
    if share < 0 or rest or (share > 1 and slots[variable[0]].arity is Arity.OPTIONAL):
        return None
    for index in variable:
        sizes[index] = share
    return sizes


def shares_name(slot: SuccessorSlot) -> str:
    """Return the name of the property that holds, for a variadic successor, the number of values that each
    block gets.
    """
    return f"{slot.name}_operand_segments"


def shares_of(operation: Operation, slot: SuccessorSlot) -> tuple[int, ...]:
    """Return how many values each block of a variadic successor gets."""
    sizes = operation.properties.get(shares_name(slot))
    return sizes.values if isinstance(sizes, DenseArrayAttr) and sizes.element == I32 else ()


def split_successor_operands(operation: Operation) -> list[list[SSAValue]]:
    """Give each successor its operands, which the generic form lists among the operands of the op. Return these lists.

    No list is returned if the op has no successor operands, or if their numbers do not match; the verifier then reports
    it.
    """
    definition = operation.definition
    if definition is None:
        return []
    sizes = operand_sizes(operation, definition)
    if sizes is None:
        return []
    wanted = dict(zip((slot.name for slot in definition.operands), sizes, strict=True))
    for successor in definition.successors:
        if successor.arity is not Arity.ONE:
            shares = shares_of(operation, successor)
            if min(shares, default=0) < 0 or sum(shares) != wanted.get(f"{successor.name}Operands", 0):
                return []
    rest: list[SSAValue] = []
    passed: dict[str, list[SSAValue]] = {}
    start = 0
    names = {f"{slot.name}Operands" for slot in definition.successors}
    for slot, size in zip(definition.operands, sizes, strict=True):
        values = operation.operands[start : start + size]
        start += size
        if slot.name in names:
            passed[slot.name] = values
        else:
            rest += values
    operation.operands = rest
    operation.successors = _with_operands(operation, definition, passed)
    return [rest, *(values for _, values in operation.successors)]


def _with_operands(
    operation: Operation, definition: OpDefinition, passed: Mapping[str, list[SSAValue]]
) -> list[Successor]:
    """Return the successors of an op with the values for each. A property, ``case_operand_segments``, has the number of
    values for each block of a variadic successor.
    """
    shares: list[list[SSAValue]] = []
    for slot in definition.successors:
        values = passed.get(f"{slot.name}Operands", [])
        if slot.arity is Arity.ONE:
            shares.append(values)
            continue
        start = 0
        for size in shares_of(operation, slot):
            shares.append(values[start : start + size])
            start += size
    blocks = [block for block, _ in operation.successors]
    return list(zip(blocks, [*shares, *([] for _ in blocks[len(shares) :])], strict=False))


def all_operands(operation: Operation) -> list[SSAValue]:
    """Return the operands in MLIR's order: the op's own ones, and those of its successors at the position where these
    are declared.
    """
    if not operation.successors:
        return operation.operands
    definition = operation.definition
    passed = [values for _, values in operation.successors]
    if definition is None or not definition.successors:
        return [*operation.operands, *(value for values in passed for value in values)]
    by_slot: dict[str, list[SSAValue]] = {f"{slot.name}Operands": [] for slot in definition.successors}
    last = len(definition.successors) - 1
    for index, values in enumerate(passed):
        by_slot[f"{definition.successors[min(index, last)].name}Operands"] += values
    own = iter(operation.operands)
    operands: list[SSAValue] = []
    for slot in definition.operands:
        if slot.name in by_slot:
            operands += by_slot[slot.name]
        else:
            operands += [value for value in (next(own, None),) if value is not None]
    return [*operands, *own]
