"""What an older MLIR does not have: checked before a module is printed for it."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

from halfulp.interp.attributes import Attribute
from halfulp.interp.dialect import EnumDefinition, OpDefinition, Property, Schema
from halfulp.interp.errors import Unsupported
from halfulp.interp.ir import Module, Operation
from halfulp.interp.text.nested import parts
from halfulp.interp.types import AnyQuantizedType, QuantileType, Type, UniformQuantizedType

NAMES = {Schema.MLIR22: "MLIR 22", Schema.LLVM24: "LLVM 24"}


def check_schema(module: Module, schema: Schema) -> None:
    """Raise Unsupported for the first op, property or type that MLIR of that version does not know."""
    # By identity: what the module holds is shared among ops, and stays alive.
    seen: set[int] = set()
    for operation in module.walk():
        definition = operation.definition
        if definition is not None:
            if definition.since > schema:
                _refuse(operation, f"the op '{operation.name}'", schema)
            for prop in _newer(definition, schema):
                if prop.name not in operation.properties:
                    continue
                default = (
                    prop.kind.attribute(prop.default)
                    if isinstance(prop.kind, EnumDefinition) and prop.default is not None
                    else None
                )
                if operation.properties[prop.name] != default:
                    _refuse(operation, f"the property '{prop.name}' of '{operation.name}'", schema)
        for thing in _things(operation):
            if id(thing) not in seen:
                seen.add(id(thing))
                for type in _types_in(thing):
                    _check_type(operation, type, schema)


@lru_cache(maxsize=4096)
def _newer(definition: OpDefinition, schema: Schema) -> tuple[Property, ...]:
    return tuple(prop for prop in definition.properties if prop.since > schema)


def _things(operation: Operation) -> list[Attribute | Type]:
    things: list[Attribute | Type] = [result.type for result in operation.results]
    for region in operation.regions:
        things += [argument.type for block in region.blocks for argument in block.arguments]
    things += operation.properties.values()
    things += operation.attributes.values()
    if operation.raw_properties is not None:
        things.append(operation.raw_properties)
    return things


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
