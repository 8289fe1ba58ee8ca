"""The layout of an op's inherent attributes in bytecode, from its declaration.

Each is the number of an attribute, in the order of their names. An optional one has a bit that tells whether it is
there. Flags follow, a byte each, and then what MLIR keeps as plain numbers. The numbers of operands per declared
operand, where an op stores them, come last as plain integers since version 6; before, they are an attribute among the
others.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

from halfulp.interp.bytecode.encoding import SEGMENT_ARRAYS, ByteCursor, Emitter
from halfulp.interp.declare.declarations import OpDefinition, Schema, Trait
from halfulp.interp.declare.operands import SEGMENTS
from halfulp.interp.ir.attributes import Attribute, DenseArrayAttr
from halfulp.interp.ir.types import I32

MAX_SPARSE_POSITION = 256
"""The position from which MLIR writes every number of operands."""


class Layout(NamedTuple):
    """The layout of an op's properties: their names and whether they are required, how many numbers of operands follow,
    and the names of the flags and of the plain numbers between them.
    """

    fields: tuple[tuple[str, bool], ...]
    segments: int | None = None
    flags: tuple[str, ...] = ()
    numbers: tuple[str, ...] = ()


@lru_cache(maxsize=4096)
def layout_of(definition: OpDefinition, schema: Schema, version: int) -> Layout:
    """Return the layout that MLIR of that schema writes in that version of the format."""
    fields = [
        (prop.name, not prop.optional and prop.default is None)
        for prop in definition.properties
        if prop.since <= schema and not prop.flag and not prop.number
    ]
    flags = tuple(prop.name for prop in definition.properties if prop.flag)
    numbers = tuple(prop.name for prop in definition.properties if prop.number)
    if Trait.ATTR_SIZED_OPERAND_SEGMENTS not in definition.traits:
        return Layout(tuple(sorted(fields)), None, flags, numbers)
    if version >= SEGMENT_ARRAYS:
        return Layout(tuple(sorted(fields)), len(definition.operands), flags, numbers)
    return Layout(tuple(sorted([*fields, (SEGMENTS, True)])), None, flags, numbers)


def read_segments(cursor: ByteCursor, count: int) -> DenseArrayAttr:
    """Read numbers of operands: all of them, or only those that are not 0, with their positions in the low bits."""
    start = cursor.pos
    length, sparse = cursor.flagged()
    if length > count:
        cursor.fail(f"{length} numbers of operands, but the op has {count}", start)
    if not sparse:
        sizes = [cursor.varint() for _ in range(length)]
        if length != count:
            cursor.fail(f"{length} numbers of operands, but the op has {count}", start)
    else:
        sizes = [0] * count
        bits = cursor.varint() if length else 0
        if bits > 8:
            cursor.fail(f"positions have {bits} bits, but the limit is 8", start)
        for _ in range(length):
            value = cursor.varint()
            position = value & (1 << bits) - 1
            if position >= count:
                cursor.fail(f"a number for operand {position}, but the op has {count}", start)
            sizes[position] = value >> bits
    if any(size >= 1 << 31 for size in sizes):
        cursor.fail("a number of operands has more than 31 bits", start)
    return DenseArrayAttr(I32, tuple(sizes))


def segments_of(sizes: Attribute | None) -> bytes:
    """Write numbers of operands as `read_segments` reads them. MLIR omits the zeros where at least half are zero."""
    assert isinstance(sizes, DenseArrayAttr)
    numbers = sizes.values
    present = [(position, size) for position, size in enumerate(numbers) if size]
    last = present[-1][0] if present else 0
    emitter = Emitter()
    if last > MAX_SPARSE_POSITION or len(present) > len(numbers) // 2:
        emitter.flagged(len(numbers), False)
        for size in numbers:
            emitter.varint(size)
        return bytes(emitter.data)
    emitter.flagged(len(present), True)
    if present:
        bits = last.bit_length()
        emitter.varint(bits)
        for position, size in present:
            emitter.varint(size << bits | position)
    return bytes(emitter.data)
