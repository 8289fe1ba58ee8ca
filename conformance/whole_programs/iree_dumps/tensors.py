"""Ops in place of IREE's, and the tensors of its dispatches: memory of a static shape, of which parts are loaded and
stored.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from halfulp.interp.declare.operands import SEGMENTS
from halfulp.interp.declare.registry import default_registry
from halfulp.interp.ir import attributes as at
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.base import Attribute
from halfulp.interp.ir.operations import Block, Operation, Region, SSAValue
from halfulp.interp.text.parser import parse_type


def build_op(
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
    return build_op("func.func", like, properties=properties, regions=[region])


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
    return build_op("arith.constant", op, results=[ty.INDEX], properties={"value": at.IntegerAttr(value, ty.INDEX)})


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


# --- tensors ----------------------------------------------------------------------------------------------------------

_TENSOR = re.compile(r"!iree_tensor_ext\.dispatch\.tensor<\w+:(.*)>")
_PLACES = ("static_offsets", "static_sizes", "static_strides")


def memory_of(type_: ty.Type) -> ty.MemRefType | None:
    """Return the memory that holds a tensor of a dispatch; None for another type, and for dynamic sizes."""
    found = _TENSOR.fullmatch(str(type_)) if isinstance(type_, ty.OpaqueType) else None
    tensor = None if found is None else parse_type(found[1])
    if not isinstance(tensor, ty.TensorType) or tensor.encoding is not None:
        return None
    return _memory(tensor) if tensor.shape is not None and None not in tensor.shape else None


def _memory(tensor: ty.TensorType) -> ty.MemRefType:
    return ty.MemRefType(tensor.shape, tensor.element)


def _tensor(memory: ty.Type) -> ty.TensorType:
    assert isinstance(memory, ty.MemRefType)
    return ty.TensorType(memory.shape, memory.element)


def loaded(op: Operation) -> list[Operation]:
    """Return ops that load what iree_tensor_ext.dispatch.tensor.load does. Its source is memory already."""
    (source,), dims, *places = segments(op)
    if dims or not isinstance(source.type, ty.MemRefType):
        return [op]
    whole = load_whole(source, op)
    if _is_whole(op, source.type):
        return [whole]
    part = build_op(
        "tensor.extract_slice",
        op,
        [whole.results[0], *(value for group in places for value in group)],
        [op.results[0].type],
        {**_places(op), SEGMENTS: _sizes(1, *map(len, places))},
    )
    return [whole, part]


def stored(op: Operation) -> list[Operation]:
    """Return ops that store what iree_tensor_ext.dispatch.tensor.store does. Its target is memory already."""
    (value,), (target,), dims, *places = segments(op)
    if dims or not isinstance(target.type, ty.MemRefType):
        return [op]
    if _is_whole(op, target.type):
        return [store_whole(value, target, op)]
    whole = load_whole(target, op)
    part = build_op(
        "tensor.insert_slice",
        op,
        [value, whole.results[0], *(each for group in places for each in group)],
        [whole.results[0].type],
        {**_places(op), SEGMENTS: _sizes(1, 1, *map(len, places))},
    )
    return [whole, part, store_whole(part.results[0], target, op)]


def load_whole(memory: SSAValue, op: Operation) -> Operation:
    """Return the op that loads all of some memory."""
    return build_op("iree_codegen.load_from_buffer", op, [memory], [_tensor(memory.type)])


def store_whole(tensor: SSAValue, memory: SSAValue, op: Operation) -> Operation:
    """Return the op that stores a tensor into memory."""
    return build_op("iree_codegen.store_to_buffer", op, [tensor, memory])


def allocated(tensor: ty.Type, op: Operation) -> Operation | None:
    """Return the op that allocates memory for a tensor; None for dynamic sizes, and for another type."""
    if not isinstance(tensor, ty.TensorType) or tensor.encoding is not None:
        return None
    if tensor.shape is None or None in tensor.shape:
        return None
    return build_op("memref.alloc", op, results=[_memory(tensor)], properties={SEGMENTS: _sizes(0, 0)})


def _is_whole(op: Operation, memory: ty.MemRefType) -> bool:
    offsets, sizes, strides = (numbers(inherent(op)[name]) for name in _PLACES)
    return not any(offsets) and sizes == memory.shape and all(stride == 1 for stride in strides)


def _places(op: Operation) -> dict[str, Attribute]:
    given = inherent(op)
    return {name: given[name] for name in _PLACES}


def _sizes(*counts: int) -> at.DenseArrayAttr:
    return at.DenseArrayAttr(ty.IntegerType(32), counts)
