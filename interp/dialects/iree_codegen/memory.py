"""iree_codegen on buffers: copies between tensors and memrefs, the numbers of a memref, and swizzled memory.

With the setting ``swizzle="physical"``, the memref that `swizzle_hint` returns is swizzled: elements and vectors that
ops load from it or store to it directly are at their physical place, so that other users of the same memory see them
permuted. The hint has no effect on a tensor, on a memref of another rank than 1, or on one whose elements are not
contiguous. It also ends at memref.cast, memref.subview, load_from_buffer and store_to_buffer, and where its result
passes through a call, a branch, a loop or a selection.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from halfulp.interp.dialects.indices import undefined
from halfulp.interp.dialects.memref.evaluate import buffer_in, living
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.dialect_attributes import DialectAttr
from halfulp.interp.ir.errors import Unsupported
from halfulp.interp.ir.operations import Operation
from halfulp.interp.run.frames import Function, Run
from halfulp.interp.run.settings import Settings, check_allocation
from halfulp.interp.run.slots import lift
from halfulp.interp.values.buffers import Buffer
from halfulp.interp.values.element_layout import shape_conflict, spell_shape
from halfulp.semantics.swizzle import RotateRows, Swizzle, XorShuffle

Slots = Sequence[Any]


def load_from_buffer(op: Operation, settings: Settings) -> Function:
    """Return the function that copies a memref into a tensor. The actual dimensions must fit both types."""
    type_ = op.results[0].type

    def load(run: Run, slots: Slots) -> tuple[Any, ...]:
        buffer = living(op, slots[0], 0)
        conflict = shape_conflict(type_, buffer.shape)
        if conflict:
            raise undefined(op, conflict)
        check_allocation(type_, buffer.shape, settings)
        return (buffer.load(type_, run.origins),)

    return load


def store_to_buffer(op: Operation, settings: Settings) -> Function:
    """Return the function that copies a tensor into a memref of the same shape."""
    type_ = op.operands[0].type

    def store(run: Run, slots: Slots) -> tuple[Any, ...]:
        buffer, value = living(op, slots[1], 1), lift(slots[0], type_)
        if value.shape != buffer.shape:
            shapes = f"{spell_shape(value.shape)} into a memref of shape {spell_shape(buffer.shape)}"
            raise undefined(op, f"a tensor of shape {shapes}")
        buffer.store(value, run.origins)
        return ()

    return store


def extract_strided_metadata(op: Operation, settings: Settings) -> Function:
    """Return the function that takes a memref apart: its memory as a memref of rank 0, then the offset, the sizes and
    the strides at run time.

    They are those of the buffer, not those of its type. The offset is counted from the first element of the memory.
    """
    base = op.results[0].type
    assert isinstance(base, ty.MemRefType)
    mask = (1 << settings.index_width) - 1

    def extract(run: Run, slots: Slots) -> tuple[Any, ...]:
        buffer = buffer_in(op, slots[0], 0)
        start = Buffer(base, buffer.allocation, 0, (), ())
        return (start, *(number & mask for number in (buffer.offset, *buffer.shape, *buffer.strides)))

    return extract


def swizzle_hint(op: Operation, settings: Settings) -> Function:
    """Return the function that returns the operand itself, swizzled where the settings ask for it and it is possible.
    Of a hint on a hint, the outer one counts.
    """
    swizzle = op.properties["swizzle"]
    if settings.swizzle == "hint" or not isinstance(op.operands[0].type, ty.MemRefType):
        return lambda run, slots: (slots[0],)
    assert isinstance(swizzle, DialectAttr)

    def swizzled(run: Run, slots: Slots) -> tuple[Any, ...]:
        buffer = slots[0]
        if not isinstance(buffer, Buffer) or len(buffer.shape) != 1 or not buffer.is_contiguous:
            return (buffer,)
        return (replace(buffer, swizzle=_permutation(swizzle)),)

    return swizzled


def _permutation(found: DialectAttr) -> Swizzle:
    """Return the permutation of offsets of an attribute. Raises Unsupported for widths that make none."""
    given = dict(zip([parameter.name for parameter in found.definition.parameters], found.values, strict=True))
    if found.definition.name == "iree_codegen.xor_shuffle":
        stride, phase = given.pop("row_stride"), given.pop("per_phase")
        given |= {
            "row_stride": given["row_width"] if stride is None else stride,
            "per_phase": 1 if phase is None else phase,
        }
    if any(number <= 0 for number in given.values()):
        raise Unsupported(f"elements cannot be moved by '{found}': its numbers must be positive")
    return RotateRows(**given) if len(given) == 2 else XorShuffle(**given)
