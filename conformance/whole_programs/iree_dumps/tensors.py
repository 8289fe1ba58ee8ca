"""The tensors of IREE's dispatches: memory of a static shape, of which parts are loaded and stored."""

from __future__ import annotations

import re

from halfulp.conformance.whole_programs.iree_dumps.making import inherent, made, numbers, segments
from halfulp.interp.declare.operands import SEGMENTS
from halfulp.interp.ir import attributes as at
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.base import Attribute
from halfulp.interp.ir.operations import Operation, SSAValue
from halfulp.interp.text.parser import parse_type

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
    part = made(
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
    part = made(
        "tensor.insert_slice",
        op,
        [value, whole.results[0], *(each for group in places for each in group)],
        [whole.results[0].type],
        {**_places(op), SEGMENTS: _sizes(1, 1, *map(len, places))},
    )
    return [whole, part, store_whole(part.results[0], target, op)]


def load_whole(memory: SSAValue, op: Operation) -> Operation:
    """Return the op that loads all of some memory."""
    return made("iree_codegen.load_from_buffer", op, [memory], [_tensor(memory.type)])


def store_whole(tensor: SSAValue, memory: SSAValue, op: Operation) -> Operation:
    """Return the op that stores a tensor into memory."""
    return made("iree_codegen.store_to_buffer", op, [tensor, memory])


def allocated(tensor: ty.Type, op: Operation) -> Operation | None:
    """Return the op that allocates memory for a tensor; None for dynamic sizes, and for another type."""
    if not isinstance(tensor, ty.TensorType) or tensor.encoding is not None:
        return None
    if tensor.shape is None or None in tensor.shape:
        return None
    return made("memref.alloc", op, results=[_memory(tensor)], properties={SEGMENTS: _sizes(0, 0)})


def _is_whole(op: Operation, memory: ty.MemRefType) -> bool:
    offsets, sizes, strides = (numbers(inherent(op)[name]) for name in _PLACES)
    return not any(offsets) and sizes == memory.shape and all(stride == 1 for stride in strides)


def _places(op: Operation) -> dict[str, Attribute]:
    given = inherent(op)
    return {name: given[name] for name in _PLACES}


def _sizes(*counts: int) -> at.DenseArrayAttr:
    return at.DenseArrayAttr(ty.IntegerType(32), counts)
