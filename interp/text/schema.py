"""Checks for ops, properties and types that an older MLIR does not have, before a module is printed for it."""

from __future__ import annotations

from collections.abc import Iterator

from halfulp.interp.declare.declarations import OpDefinition, Property, Schema
from halfulp.interp.ir.attributes import Attribute
from halfulp.interp.ir.errors import Unsupported
from halfulp.interp.ir.nested import parts
from halfulp.interp.ir.operations import Module, Operation
from halfulp.interp.ir.types import AnyQuantizedType, QuantileType, Type, UniformQuantizedType

NAMES = {Schema.MLIR22: "MLIR 22", Schema.LLVM24: "LLVM 24"}


def check_schema(module: Module, schema: Schema) -> None:
    """Raise Unsupported for the first op, property or type that this version of MLIR does not have."""
    # By identity: the attributes and types of a module are shared among ops, and stay alive.
    seen: set[int] = set()
    newer: dict[OpDefinition | None, tuple[Property, ...]] = {None: ()}
    for operation in module.walk():
        definition = operation.definition
        if definition not in newer:
            assert definition is not None
            newer[definition] = tuple(prop for prop in definition.properties if prop.since > schema)
            if definition.since > schema:
                _refuse(operation, f"the op '{operation.name}'", schema)
        for prop in newer[definition]:
            _check_property(operation, prop, schema)
        things: list[Attribute | Type] = [result.type for result in operation.results]
        if operation.properties:
            things += operation.properties.values()
        if operation.attributes or operation.regions or operation.raw_properties is not None:
            things += _rarer(operation)
        for thing in things:
            if id(thing) not in seen:
                seen.add(id(thing))
                for type in _types_in(thing):
                    _check_type(operation, type, schema)


def _check_property(operation: Operation, prop: Property, schema: Schema) -> None:
    """Raise Unsupported for a newer property, unless it has its default: its absence means the same."""
    if prop.name not in operation.properties:
        return
    if operation.properties[prop.name] != prop.implied:
        _refuse(operation, f"the property '{prop.name}' of '{operation.name}'", schema)


def _rarer(operation: Operation) -> Iterator[Attribute | Type]:
    yield from operation.attributes.values()
    if operation.raw_properties is not None:
        yield operation.raw_properties
    for region in operation.regions:
        for block in region.blocks:
            for argument in block.arguments:
                yield argument.type


def _types_in(thing: Attribute | Type) -> Iterator[Type]:
    if isinstance(thing, Type):
        yield thing
        return
    for part in parts(thing):
        yield from _types_in(part)


def _check_type(operation: Operation, type: Type, schema: Schema) -> None:
    stack: list[Attribute | Type] = [type]
    while stack and schema < Schema.LLVM24:
        thing = stack.pop()
        new = isinstance(thing, QuantileType) or (
            isinstance(thing, UniformQuantizedType | AnyQuantizedType) and thing.storage is not None
        )
        if new:
            _refuse(operation, f"the type '{thing}'", schema)
        stack.extend(parts(thing))


def _refuse(operation: Operation, what: str, schema: Schema) -> None:
    raise Unsupported(
        f"{what} does not exist in {NAMES[schema]}",
        location=operation.location,
        op=operation.name,
        hint="print with the newer schema, or lower it first",
    )
