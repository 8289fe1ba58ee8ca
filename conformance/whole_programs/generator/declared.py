"""Types and properties of random ops, from the declarations of the ops."""

from __future__ import annotations

import random
from functools import cache
from itertools import product
from typing import Any

from halfulp.conformance.whole_programs.rewrite import definition_of
from halfulp.interp.declare import constraints as c
from halfulp.interp.declare.declarations import Arity, OpDefinition, Property, Schema, Trait
from halfulp.interp.declare.registry import default_registry
from halfulp.interp.ir import attributes as at
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.dialect_attributes import EnumDefinition
from halfulp.interp.ir.operations import Operation, SSAValue
from halfulp.interp.run.evaluators import Elementwise
from halfulp.interp.verifier import problem_of

Types = tuple[ty.Type, ...]

DIALECTS = ("arith", "quant")
"""The dialects whose elementwise ops programs have."""


@cache
def elementwise_ops() -> tuple[OpDefinition, ...]:
    """Return the ops of MLIR 22 that compute each element by itself, and that a row of names and types describes."""
    found = [op for name in DIALECTS for op in default_registry().dialects[name].ops.values()]
    return tuple(op for op in found if op.since is Schema.MLIR22 and _is_elementwise(op))


def _is_elementwise(op: OpDefinition) -> bool:
    slots = (*op.operands, *op.results)
    known = all(isinstance(prop.kind, EnumDefinition) or prop.optional for prop in op.properties)
    runs = isinstance(op.evaluate, Elementwise) or Trait.ELEMENTWISE in op.traits
    return runs and known and bool(op.operands) and all(slot.arity is Arity.ONE for slot in slots)


@cache
def cases(name: str, anchor: int, type_: ty.Type, elements: Types) -> tuple[tuple[Types, Types], ...]:
    """Return the types of operands and results that an op takes where operand ``anchor`` has a type.

    ``elements``: the element types that types may have which do not follow.
    """
    op = definition_of(name)
    if not op.operands[anchor].constraint.accepts(type_):
        return ()
    types: dict[str, Any] = {op.operands[anchor].name: type_}
    for rule in op.type_rules:
        rule.solve(types, {})
    alike = [ty.with_element(type_, element) for element in elements if _holds(type_, element)]
    choices = []
    for slot in (*op.operands, *op.results):
        if slot.name in types:
            choices.append([types[slot.name]])
        else:
            free = alike if slot in op.results else list(dict.fromkeys([*alike, *elements]))
            choices.append([choice for choice in free if slot.constraint.accepts(choice)])
    count = len(op.operands)
    made = ((chosen[:count], chosen[count:]) for chosen in product(*choices))
    return tuple((operands, results) for operands, results in made if _fits(name, operands, results))


def _holds(container: ty.Type, element: ty.Type) -> bool:
    """Tell whether values of a container of that element type can be made: quantised types have no vectors."""
    return not (isinstance(container, ty.VectorType) and isinstance(element, ty.QuantizedType))


@cache
def _fits(name: str, operands: Types, results: Types) -> bool:
    op = definition_of(name)
    plain = {prop.name: least(prop) for prop in op.properties if not prop.optional}
    made = Operation(name, op, [SSAValue(type_) for type_ in operands], results, plain)
    return problem_of(made) is None


def least(prop: Property) -> at.Attribute:
    """Return the attribute of a property that must be there: its default, or else its first case."""
    assert isinstance(prop.kind, EnumDefinition)
    return prop.implied or prop.kind.attribute(next(iter(prop.kind.cases.values())))


def random_properties(op: OpDefinition, rng: random.Random, often: float) -> dict[str, at.Attribute]:
    """Choose the properties of an op: always those without a default, and flags as ``often`` says."""
    found: dict[str, at.Attribute] = {}
    for prop in op.properties:
        if prop.since is not Schema.MLIR22:
            continue
        chosen = rng.random() < often
        if isinstance(prop.kind, EnumDefinition):
            required = not prop.optional and prop.default is None
            if chosen or required:
                found[prop.name] = prop.kind.attribute(_random_case(prop.kind, rng))
            elif (implied := prop.implied) is not None:
                found[prop.name] = implied
        elif chosen and prop.kind is c.UNIT_ATTR:
            found[prop.name] = at.UnitAttr()
    return found


def _random_case(enum: EnumDefinition, rng: random.Random) -> int:
    values = list(enum.cases.values())
    if not enum.flags:
        return rng.choice(values)
    chosen = 0
    for _ in range(rng.choice((1, 1, 2))):
        chosen |= rng.choice([value for value in values if value])
    return chosen
