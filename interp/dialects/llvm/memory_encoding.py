"""The bytes of values: how a value of each type is read from memory, and written to it.

A number or a vector whose width is not a multiple of 8 is written with zeros above it. If the bytes have other bits
there when it is read, it is poison. The elements of a vector lie bit after bit, those of an aggregate where its layout
says; a store makes the padding between them poison. Bytes keep poison bit by bit, and a stored pointer keeps the
allocation that it points into.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from halfulp.fp_formats.formats import codes_to_ints, ints_to_codes
from halfulp.interp.dialects.llvm import types as llvm
from halfulp.interp.dialects.llvm.memory import Memory, Pointer, address_of, pointer_at, poison_at, poison_of
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.errors import Unsupported
from halfulp.interp.run.frames import Run, lift
from halfulp.interp.values.buffers import of_bytes
from halfulp.interp.values.elements import Marks
from halfulp.interp.values.value import Value
from halfulp.semantics.kernel import Origin

# --- layout -----------------------------------------------------------------------------------------------------------
#
# The layout of LLVM's types in memory: sizes, alignments, and the offsets of the parts of aggregates.
#
# It is that of a little-endian machine with pointers of 64 bits (x86-64 on Linux), on which mlir-runner runs as well.

POINTER_BYTES = 8
_WIDEST_SCALAR = 16


def aligned(number: int, alignment: int) -> int:
    """Return the smallest multiple of ``alignment`` that is not below ``number``."""
    return -(-number // alignment) * alignment


@lru_cache(maxsize=1024)
def bits_of(type_: ty.Type) -> int:
    """Return the number of bits of a value of a type; for an aggregate, the number that it takes in memory. Raises
    Unsupported.
    """
    if isinstance(type_, llvm.PointerType):
        return POINTER_BYTES * 8
    if isinstance(type_, ty.VectorType) and not any(type_.scalable):
        (count,) = type_.shape
        return count * bits_of(type_.element)
    if isinstance(type_, llvm.ArrayType):
        return 8 * type_.size * size_of(type_.element)
    if isinstance(type_, llvm.StructType) and type_.body is not None and not type_.enclosing:
        return 8 * _struct(type_)[1]
    width = ty.element_width(type_) if isinstance(type_, ty.IntegerType | ty.FloatType) else None
    if width is None:
        raise Unsupported(f"values of type '{type_}' have no size")
    return width


def stored_bytes(type_: ty.Type) -> int:
    """Return the number of bytes that a load reads and a store writes."""
    return -(-bits_of(type_) // 8)


@lru_cache(maxsize=1024)
def alignment_of(type_: ty.Type) -> int:
    """Return the alignment in bytes of the address of a value, unless an op states another one."""
    if isinstance(type_, llvm.ArrayType):
        return alignment_of(type_.element)
    if isinstance(type_, llvm.StructType):
        return 1 if type_.packed else max((alignment_of(part) for part in type_.body or ()), default=1)
    size = 1 << max(stored_bytes(type_) - 1, 0).bit_length()
    return size if isinstance(type_, ty.VectorType) else min(size, _WIDEST_SCALAR)


@lru_cache(maxsize=1024)
def size_of(type_: ty.Type) -> int:
    """Return the distance in bytes between two consecutive values in an array."""
    return aligned(stored_bytes(type_), alignment_of(type_))


def offsets_of(type_: llvm.StructType) -> tuple[int, ...]:
    """Return the offset in bytes of each part of a struct."""
    return _struct(type_)[0]


@lru_cache(maxsize=1024)
def _struct(type_: llvm.StructType) -> tuple[tuple[int, ...], int]:
    offsets, end = [], 0
    for part in type_.body or ():
        start = end if type_.packed else aligned(end, alignment_of(part))
        offsets.append(start)
        end = start + size_of(part)
    return tuple(offsets), aligned(end, alignment_of(type_))


def parts_of(type_: ty.Type) -> tuple[tuple[int, ty.Type], ...] | None:
    """Return the offset and the type of each part of an aggregate; None for any other type."""
    if isinstance(type_, llvm.ArrayType):
        step = size_of(type_.element)
        return tuple((step * index, type_.element) for index in range(type_.size))
    if isinstance(type_, llvm.StructType) and type_.body is not None:
        return tuple(zip(offsets_of(type_), type_.body, strict=True))
    return None


# --- contents ---------------------------------------------------------------------------------------------------------

ReadPlace = Callable[[Run, Memory, int], Any]
"""Gives the value at a place of memory, as a slot holds it."""
WritePlace = Callable[[Run, Memory, int, Any], None]
"""Writes a value, as a slot holds it, to a place of memory."""

SPARE = Origin("memory", "", "the bits above a number in memory are not those that a store of its type writes")
PADDING = Origin("memory", "", "padding of an aggregate that was stored")


def _number(data: Any, at: int, size: int) -> int:
    return int.from_bytes(data[at : at + size], "little")


def first_lost(run: Run, memory: Memory, at: int, lost: int) -> int:
    """Return the id of the poison of the lowest bit that is set in ``lost``, a mask of bits that begins at the byte
    ``at``.
    """
    memory.adopted(run.origins)
    return poison_at(memory, at + ((lost & -lost).bit_length() - 1) // 8)


def _marks_at(marks: Marks, places: Iterable[tuple[int, int]]) -> Marks | None:
    """Return the marks of elements, each with the place and the number of its bytes; None if none is set."""
    each: Any = np.array([of_bytes(marks[at : at + size]) for at, size in places])
    return each if each.any() else None


def put(run: Run, memory: Memory, at: int, size: int, bits: int, lost: int = 0, poison_id: int = 0) -> None:
    """Write ``size`` bytes of ``bits`` at the byte ``at``. ``lost``: the mask of the bits that are poison;
    ``poison_id``: the id of the origin of this poison.
    """
    memory.data[at : at + size] = bits.to_bytes(size, "little")
    memory.lost[at : at + size] = lost.to_bytes(size, "little")
    if lost:
        memory.ids_to_write(run.origins)[at : at + size] = poison_id
    if memory.open is not None:
        memory.open[at : at + size] = 0


# --- numbers ----------------------------------------------------------------------------------------------------------


def _scalar(type_: ty.Type) -> tuple[ReadPlace, WritePlace]:
    width, size = bits_of(type_), stored_bytes(type_)
    whole = (1 << 8 * size) - 1
    spare = whole >> width << width

    def read(run: Run, memory: Memory, at: int) -> Any:
        bits, lost = _number(memory.data, at, size), _number(memory.lost, at, size)
        if lost:
            return poison_of(type_, first_lost(run, memory, at, lost), run)
        if bits & spare:
            return poison_of(type_, run.origins.id_of(SPARE), run)
        marks = None if memory.open is None else _marks_at(memory.open, ((at, size),))
        return bits if marks is None else Value(type_, ints_to_codes([bits], width, ()), None, marks.reshape(()))

    def write(run: Run, memory: Memory, at: int, slot: Any) -> None:
        if slot.__class__ is int:
            put(run, memory, at, size, slot)
            return
        value = lift(slot, type_)
        if value.poison is not None:
            put(run, memory, at, size, 0, whole, int(own_ids(run, value)))
        else:
            put(run, memory, at, size, codes_to_ints(value.bits, width)[0])
        if value.open is not None and value.open.any():
            memory.mark_open(at, size, value.open[()])

    return read, write


def own_ids(run: Run, value: Value) -> Any:
    """Return the ids of a value's poison in the table of the run."""
    assert value.poison is not None
    same = value.origins is None or value.origins is run.origins
    return value.poison if same else run.origins.adopt(value.poison, value.origins)  # type: ignore[arg-type]


def _vector(type_: ty.VectorType) -> tuple[ReadPlace, WritePlace]:
    (count,), width, size = type_.shape, bits_of(type_.element), stored_bytes(type_)
    mask, end = (1 << width) - 1, width * count
    firsts = [width * index // 8 for index in range(count)]
    whole = width % 8 == 0

    def read(run: Run, memory: Memory, at: int) -> Value:
        bits, lost = _number(memory.data, at, size), _number(memory.lost, at, size)
        if (bits | lost) >> end:
            return poison_of(type_, run.origins.id_of(SPARE), run)
        steps = range(0, end, width)
        codes = ints_to_codes([bits >> step & mask for step in steps], width, (count,))
        poison = open_ = None
        if lost:
            ids = np.zeros(count, np.uint16)
            for index, step in enumerate(steps):
                part = lost >> step & mask
                if part:
                    ids[index] = first_lost(run, memory, at, part << step)
            poison = ids if ids.any() else None
        if memory.open is not None:
            open_ = _marks_at(memory.open, [(at + first, -(-width // 8)) for first in firsts])
        return Value(type_, codes, poison, open_, None if poison is None else run.origins)

    def write(run: Run, memory: Memory, at: int, slot: Any) -> None:
        value = lift(slot, type_)
        bits = lost = 0
        ids = None if value.poison is None else own_ids(run, value)
        for index, code in enumerate(codes_to_ints(value.bits, width)):
            if ids is None or not ids[index]:
                bits |= code << width * index
            else:
                lost |= mask << width * index
        put(run, memory, at, size, bits, lost)
        if ids is not None:
            kept = memory.ids_to_write(run.origins)
            for index, first in enumerate(firsts):
                if ids[index]:
                    kept[at + first : at + first + -(-width // 8)] = ids[index]
        if value.open is not None and value.open.any():
            for first, mark in zip(firsts, value.open, strict=True):
                if mark or whole:
                    memory.mark_open(at + first, -(-width // 8), mark)

    return read, write


# --- pointers and aggregates ------------------------------------------------------------------------------------------


def _pointer(type_: ty.Type) -> tuple[ReadPlace, WritePlace]:
    size = POINTER_BYTES

    def read(run: Run, memory: Memory, at: int) -> Any:
        bits, lost = _number(memory.data, at, size), _number(memory.lost, at, size)
        if lost:
            return poison_of(type_, first_lost(run, memory, at, lost), run)
        stored = memory.pointers.get(at)
        # Other bytes may have been written over it.
        return stored if stored is not None and address_of(run, stored) == bits else pointer_at(run, bits)

    def write(run: Run, memory: Memory, at: int, slot: Any) -> None:
        if slot.__class__ is Pointer:
            put(run, memory, at, size, address_of(run, slot))
            memory.pointers[at] = slot
        else:
            put(run, memory, at, size, 0, (1 << 64) - 1, int(own_ids(run, slot)))

    return read, write


def _gaps(parts: Sequence[tuple[int, ty.Type]], size: int) -> list[tuple[int, int]]:
    """Return the place and the size of each padding of an aggregate, except for padding inside its parts."""
    ends = [0, *(offset + stored_bytes(part) for offset, part in parts)]
    starts = [*(offset for offset, _ in parts), size]
    return [(end, start - end) for end, start in zip(ends, starts, strict=True) if start > end]


def _aggregate(parts: tuple[tuple[int, ty.Type], ...], size: int) -> tuple[ReadPlace, WritePlace]:
    each = [(offset, *contents_of(part)) for offset, part in parts]
    gaps = [(start, length, (1 << 8 * length) - 1) for start, length in _gaps(parts, size)]

    def read(run: Run, memory: Memory, at: int) -> Any:
        return tuple([read_part(run, memory, at + offset) for offset, read_part, _ in each])

    def write(run: Run, memory: Memory, at: int, slot: Any) -> None:
        for (offset, _, write_part), part in zip(each, slot, strict=True):
            write_part(run, memory, at + offset, part)
        for start, length, lost in gaps:
            put(run, memory, at + start, length, 0, lost, run.origins.id_of(PADDING))

    return read, write


@lru_cache(maxsize=1024)
def contents_of(type_: ty.Type) -> tuple[ReadPlace, WritePlace]:
    """Return the functions that read and write values of a type. Raises Unsupported for a type without a size."""
    size = size_of(type_)
    parts = parts_of(type_)
    if parts is not None:
        return _aggregate(parts, size)
    if isinstance(type_, llvm.PointerType):
        return _pointer(type_)
    if isinstance(type_, ty.VectorType):
        return _vector(type_)
    return _scalar(type_)
