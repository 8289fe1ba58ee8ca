"""Rules of the ops of the bufferization dialect, in the words of MLIR."""

from __future__ import annotations

from halfulp.interp.declare.declarations import Unprefixed
from halfulp.interp.declare.operands import operand_sizes
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.operations import Operation


def verify_alloc_tensor(op: Operation) -> str | None:
    """Check the sizes and the copied tensor of bufferization.alloc_tensor."""
    assert op.definition is not None
    sizes, copied, _ = operand_sizes(op, op.definition) or (0, 0, 0)
    type_ = op.results[0].type
    if copied and sizes:
        return Unprefixed("dynamic sizes not needed when copying a tensor")
    if copied and op.operands[sizes].type != type_:
        return Unprefixed("expected that `copy` and return type match")
    needed = sum(size is None for size in ty.shape_of(type_) or ())
    if not copied and sizes != needed:
        return f"incorrect number of dynamic sizes, has {sizes}, expected {needed}"
    return None


def verify_same_shape(op: Operation) -> str | None:
    """Check that a tensor and its buffer have one shape and one element type."""
    one, other = op.operands[0].type, op.results[0].type
    if ty.shape_of(one) != ty.shape_of(other):
        return Unprefixed("shapes do not match")
    if ty.element_type(one) != ty.element_type(other):
        return Unprefixed("element types do not match")
    return None


def verify_materialize(op: Operation) -> str | None:
    """Check the types and the flags of bufferization.materialize_in_destination."""
    source, dest = (value.type for value in op.operands)
    if not isinstance(dest, ty.TensorType | ty.MemRefType):
        return "'dest' must be a tensor or a memref"
    if isinstance(dest, ty.TensorType):
        if len(op.results) != 1:
            return "tensor 'dest' implies exactly one tensor result"
        if op.results[0].type != dest:
            return "result and 'dest' types must match"
    elif op.results:
        return "memref 'dest' implies zero results"
    if "restrict" in op.properties and isinstance(dest, ty.TensorType):
        return "'restrict' is valid only for memref destinations"
    if ("writable" in op.properties) != isinstance(dest, ty.MemRefType):
        return "'writable' must be specified if and only if the destination is of memref type"
    one, other = ty.shape_of(source), ty.shape_of(dest)
    if (one is None) != (other is None):
        return "source/destination shapes are incompatible"
    if one is None or other is None:
        return None
    if len(one) != len(other):
        return "rank mismatch between source and destination shape"
    if any(a is not None and b is not None and a != b for a, b in zip(one, other, strict=True)):
        return "source/destination shapes are incompatible"
    return None


def verify_dealloc(op: Operation) -> str | None:
    """Check the numbers of operands and results of bufferization.dealloc."""
    assert op.definition is not None
    memrefs, conditions, retained = operand_sizes(op, op.definition) or (0, 0, 0)
    if memrefs != conditions:
        return "must have the same number of conditions as memrefs to deallocate"
    if len(op.results) != retained:
        return "must have the same number of updated conditions (results) as retained operands"
    return None
