"""Verification of vector.load and vector.store, and of vector.type_cast."""

from __future__ import annotations

from math import prod

from halfulp.interp.ir import types as ty
from halfulp.interp.ir.operations import Operation
from halfulp.interp.values.memref_layout import strides_and_offset


def _is_of_one_element(type_: ty.VectorType) -> bool:
    return not any(type_.scalable) and prod(type_.shape) == 1


def verify_access(op: Operation) -> str | None:
    """Check for vector.load and vector.store that the vector's elements lie one after the other along the last
    dimension.
    """
    loads = op.name == "vector.load"
    base = op.operands[0 if loads else 1].type
    given = (op.results if loads else op.operands)[0].type
    assert isinstance(base, ty.MemRefType)
    assert isinstance(given, ty.VectorType)
    shape = base.shape or ()
    known = strides_and_offset(base)
    dense = known is not None and known[0][-1:] in ((), (1,))
    if not dense and not _is_of_one_element(given):
        return "most minor memref dim must have unit stride"
    if len(shape) < len(given.shape):
        memref, vector = ("destination", "result vector") if loads else ("source", "vector to store")
        return f"{memref} memref has lower rank than the {vector}"
    held = base.element
    if isinstance(held, ty.VectorType) and held != given:
        return f"base memref and {'result' if loads else 'valueToStore'} vector types should match"
    if given.element != (held.element if isinstance(held, ty.VectorType) else held):
        return f"base and {'result element types' if loads else 'valueToStore element type'} should match"
    indices = len(op.operands) - (1 if loads else 2)
    return None if indices == len(shape) else f"requires {len(shape)} indices"


def _extents(type_: ty.MemRefType) -> tuple[int | None, ...]:
    """Return the dimensions of a memref, then those of the vectors in it."""
    return (type_.shape or ()) + (type_.element.shape if isinstance(type_.element, ty.VectorType) else ())


def _has_layout(type_: ty.MemRefType) -> bool:
    layout = type_.layout
    return layout is not None and not getattr(layout, "is_identity", False)


def verify_type_cast(op: Operation) -> str | None:
    """Check that both memrefs have the same elements in the same order."""
    source, result = op.operands[0].type, op.results[0].type
    assert isinstance(source, ty.MemRefType)
    assert isinstance(result, ty.MemRefType)
    if _has_layout(source):
        return "expects operand to be a memref with identity layout"
    if _has_layout(result):
        return "expects result to be a memref with identity layout"
    if source.memory_space != result.memory_space:
        return "expects result in same memory space"
    if ty.element_type(source.element) != ty.element_type(result.element):
        return f"expects result and operand with same underlying scalar type: '{result}'"
    if _extents(source) != _extents(result):
        return f"expects concatenated result and operand shapes to be equal: '{result}'"
    return None
