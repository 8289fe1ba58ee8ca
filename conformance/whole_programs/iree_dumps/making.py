"""Ops in place of IREE's, and what their properties say."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from halfulp.interp.declare.registry import default_registry
from halfulp.interp.ir import attributes as at
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.base import Attribute
from halfulp.interp.ir.operations import Block, Operation, Region, SSAValue


def made(
    name: str,
    op: Operation,
    operands: Sequence[SSAValue] = (),
    results: Sequence[ty.Type] = (),
    properties: Mapping[str, Attribute] | None = None,
    regions: Sequence[Region] = (),
) -> Operation:
    """Make an op at the location of another."""
    definition = default_registry().find(name)
    return Operation(
        name,
        definition,
        list(operands),
        list(results),
        dict(properties or {}),
        regions=list(regions),
        location=op.location,
    )


def function(
    name: str, block: Block, like: Operation, results: Sequence[ty.Type] = (), private: bool = False
) -> Operation:
    """Make a function of one block, which has its terminator already."""
    return function_of(name, Region([block]), like, results, private)


def function_of(
    name: str, region: Region, like: Operation, results: Sequence[ty.Type] = (), private: bool = False
) -> Operation:
    """Make a function with this body."""
    inputs = tuple(argument.type for argument in region.blocks[0].arguments)
    properties: dict[str, Attribute] = {
        "sym_name": at.StringAttr(name),
        "function_type": at.TypeAttr(ty.FunctionType(inputs, tuple(results))),
    }
    if private:
        properties["sym_visibility"] = at.StringAttr("private")
    return made("func.func", like, properties=properties, regions=[region])


def inherent(op: Operation) -> Mapping[str, Attribute]:
    """Return the properties of an op of IREE, whether halfulp has a declaration of it or not."""
    given = op.raw_properties
    raw = given.mapping if isinstance(given, at.DictionaryAttr) else {}
    return {**op.attributes, **op.properties, **raw}


def segments(op: Operation) -> tuple[list[SSAValue], ...]:
    """Return the operands of an op by the groups that it declares."""
    sizes = inherent(op)["operandSegmentSizes"]
    assert isinstance(sizes, at.DenseArrayAttr)
    operands, found = list(op.operands), []
    for size in sizes.values:
        found.append(operands[: int(size)])
        del operands[: int(size)]
    return tuple(found)


def number(attribute: Attribute | None) -> int | None:
    """Return the number that an attribute is; None if it is none."""
    return attribute.value if isinstance(attribute, at.IntegerAttr) else None


def numbers(attribute: Attribute | None) -> tuple[int, ...]:
    """Return the numbers of an array."""
    assert isinstance(attribute, at.DenseArrayAttr)
    return tuple(int(value) for value in attribute.values)


def index_constant(value: int, op: Operation) -> Operation:
    """Make a constant of type index."""
    return made("arith.constant", op, results=[ty.INDEX], properties={"value": at.IntegerAttr(value, ty.INDEX)})


def replace_values(function: Operation, instead: Mapping[SSAValue, SSAValue]) -> None:
    """Put other values in place of some, in all ops inside."""

    def now(value: SSAValue) -> SSAValue:
        while value in instead:
            value = instead[value]
        return value

    for op in function.walk():
        op.operands[:] = [now(value) for value in op.operands]
        op.successors = [(target, [now(value) for value in values]) for target, values in op.successors]


def blocks_of(function: Operation) -> list[Block]:
    """Return all blocks inside an op."""
    return [block for op in function.walk() for region in op.regions for block in region.blocks]


def put(block: Block, operations: Sequence[Operation]) -> None:
    """Give a block these operations."""
    block.operations[:] = operations
    for op in operations:
        op.parent = block
