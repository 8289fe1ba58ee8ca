"""The bytes of MLIR bytecode: integers of variable length, strings, aligned sections.

A file is the magic number, a version, the producer's name and sections; see "MLIR Bytecode Format" of the MLIR
documentation. Offsets in errors count from the start of the file.
"""

from __future__ import annotations

from enum import IntEnum
from typing import NoReturn

from halfulp.interp.ir.errors import BytecodeError

MAX_VERSION = 6

# The versions of the format since which ...
DIALECT_VERSIONS = 1  # a dialect may have a version
ISOLATED_SECTIONS = 2  # regions that use nothing from outside are in sections of their own
USE_LISTS = 3  # the orders of uses are kept
ELIDED_LOCATIONS = 4  # a bit tells that a block argument has no location
NATIVE_PROPERTIES = 5  # inherent attributes have a layout of their own
SEGMENT_ARRAYS = 6  # numbers of operands are plain integers, not an attribute

PADDING = 0xCB


class Section(IntEnum):
    """The numbers that identify the sections of a file."""

    STRING = 0
    DIALECT = 1
    ATTR_TYPE = 2
    ATTR_TYPE_OFFSET = 3
    IR = 4
    RESOURCE = 5
    RESOURCE_OFFSET = 6
    DIALECT_VERSIONS = 7
    PROPERTIES = 8


class OpMask(IntEnum):
    """The parts of an op that follow its name, as bits of a mask."""

    ATTRIBUTES = 0x01
    RESULTS = 0x02
    OPERANDS = 0x04
    SUCCESSORS = 0x08
    REGIONS = 0x10
    USE_LISTS = 0x20
    PROPERTIES = 0x40


class ResourceKind(IntEnum):
    """The kinds of resources."""

    BLOB = 0
    BOOL = 1
    STRING = 2


def zigzag(value: int) -> int:
    """Encode a signed 64-bit integer as an unsigned one, so that integers near zero become small."""
    return ((value << 1) ^ (value >> 63)) & (1 << 64) - 1


def varint(value: int) -> bytes:
    """Return the bytes of an unsigned integer of up to 64 bits, as `ByteCursor.varint` reads them."""
    if value < 0x80:
        return bytes((value << 1 | 1,))
    size = (value.bit_length() + 6) // 7
    if size > 8:
        return b"\0" + value.to_bytes(8, "little")
    return ((value << 1 | 1) << (size - 1)).to_bytes(size, "little")


class Varints(dict[int, bytes]):
    """A cache of the bytes that `varint` returns for an integer."""

    def __missing__(self, value: int) -> bytes:
        code = self[value] = varint(value)
        return code


class ByteCursor:
    """A position in some bytes of a file, from ``start`` to ``end``. Methods raise BytecodeError with the offset."""

    __slots__ = ("data", "end", "pos")

    def __init__(self, data: bytes | memoryview, start: int = 0, end: int | None = None) -> None:
        self.data = data
        self.pos = start
        self.end = len(data) if end is None else end

    def fail(self, message: str, offset: int | None = None) -> NoReturn:
        """Raise BytecodeError at an offset, by default the present one."""
        raise BytecodeError(message, offset=self.pos if offset is None else offset)

    @property
    def left(self) -> int:
        """The number of bytes that are left."""
        return self.end - self.pos

    def byte(self) -> int:
        """Read one byte."""
        pos = self.pos
        if pos >= self.end:
            self.fail("unexpected end of the section")
        self.pos = pos + 1
        return self.data[pos]

    def varint(self) -> int:
        """Read an unsigned integer of up to 64 bits.

        The trailing zeros of the first byte are the number of further bytes; a first byte of zero means eight.
        """
        pos = self.pos
        if pos >= self.end:
            self.fail("unexpected end of the section in an integer")
        first = self.data[pos]
        if first & 1:
            self.pos = pos + 1
            return first >> 1
        more = (first & -first).bit_length() - 1 if first else 8
        if pos + more >= self.end:
            self.fail("unexpected end of the section in an integer")
        self.pos = pos + 1 + more
        if not first:
            return int.from_bytes(self.data[pos + 1 : pos + 9], "little")
        return int.from_bytes(self.data[pos : pos + 1 + more], "little") >> (more + 1)

    def varint_at(self, pos: int) -> tuple[int, int]:
        """Return the integer at ``pos`` and the position after it. It is `varint` for loops that keep the position
        themselves.

        If the integer is short, its end may lie beyond the section; the loop must check this. Raises IndexError at the
        end of the file.
        """
        data = self.data
        first = data[pos]
        if first & 1:
            return first >> 1, pos + 1
        if first & 2:
            return (first | data[pos + 1] << 8) >> 2, pos + 2
        if first & 4:
            return (first | data[pos + 1] << 8 | data[pos + 2] << 16) >> 3, pos + 3
        self.pos = pos
        value = self.varint()
        return value, self.pos

    def svarint(self) -> int:
        """Read a signed integer of up to 64 bits."""
        value = self.varint()
        return (value >> 1) ^ -(value & 1)

    def flagged(self) -> tuple[int, bool]:
        """Read an integer whose lowest bit is a flag; return the other bits, and the flag."""
        value = self.varint()
        return value >> 1, bool(value & 1)

    def below(self, number: int, count: int, what: str, start: int) -> int:
        """Return ``number`` if it is below ``count``. Else raise BytecodeError at the offset ``start``, with ``what``
        as the name of the number.
        """
        if number >= count:
            self.fail(f"{what} {number} does not exist: there are {count}", start)
        return number

    def number(self, count: int, what: str) -> int:
        """Read a number that must be below ``count``; ``what`` names it in the error."""
        start = self.pos
        return self.below(self.varint(), count, what, start)

    def count(self, size: int = 1) -> int:
        """Read a number of things, each of which takes at least ``size`` bytes. Raises BytecodeError if the remaining
        bytes cannot hold so many.
        """
        pos = self.pos
        value = self.varint()
        if value * size > self.end - self.pos:
            self.fail(f"{value} elements cannot be in the {self.left} bytes that are left", pos)
        return value

    def take(self, size: int) -> bytes | memoryview:
        """Read ``size`` bytes. If the file was given as a memoryview, the result is one too."""
        pos = self.pos
        if size > self.end - pos:
            self.fail(f"{size} bytes are needed, but only {self.end - pos} are left")
        self.pos = pos + size
        return self.data[pos : pos + size]

    def terminated(self) -> bytes:
        """Read bytes up to a zero byte, and return them without it."""
        start, size = self.pos, 256
        while True:  # in growing steps: most strings are short, and a view of a large file cannot be searched
            found = bytes(self.data[start : min(self.end, start + size)])
            stop = found.find(0)
            if stop >= 0:
                self.pos = start + stop + 1
                return found[:stop]
            if start + size >= self.end:
                self.fail("a string does not end")
            size *= 8

    def align(self, alignment: int) -> None:
        """Skip the padding up to a multiple of the alignment in the file."""
        if alignment < 1 or alignment & (alignment - 1) or alignment >= 1 << 32:
            self.fail(f"alignment {alignment} is not a power of two below 2^32")
        padding = -self.pos % alignment
        at = self.pos
        if padding > self.left or bytes(self.take(padding)).strip(bytes((PADDING,))):
            self.fail("the padding has wrong bytes, or does not fit", at)

    def section(self) -> tuple[int, ByteCursor]:
        """Read the head of the next section; return its number and its content."""
        head = self.byte()
        length = self.varint()
        if head & 0x80:
            self.align(self.varint())
        start = self.pos
        self.take(length)
        return head & 0x7F, ByteCursor(self.data, start, self.pos)

    def finish(self, what: str) -> None:
        """Raise BytecodeError if anything is left."""
        if self.pos != self.end:
            self.fail(f"{self.left} bytes are left over in {what}")


class Emitter:
    """A buffer to which the bytes of a section are written. ``alignment``: the largest alignment of its parts."""

    __slots__ = ("alignment", "data")

    def __init__(self) -> None:
        self.data = bytearray()
        self.alignment = 1

    def byte(self, value: int) -> None:
        """Write one byte."""
        self.data.append(value)

    def varint(self, value: int) -> None:
        """Write an unsigned integer of up to 64 bits."""
        self.data += varint(value)

    def flagged(self, value: int, flag: bool) -> None:
        """Write an integer with a flag in its lowest bit."""
        self.varint(value << 1 | flag)

    def align(self, alignment: int) -> None:
        """Pad to a multiple of the alignment. The section must then be aligned in its file as well."""
        if alignment > 1:
            self.data += bytes((PADDING,)) * (-len(self.data) % alignment)
            self.alignment = max(self.alignment, alignment)

    def section(self, number: Section, content: Emitter) -> None:
        """Write a section with its head. The head states an alignment only if the content needs padding for it."""
        start = len(self.data)
        self.byte(number)
        self.varint(len(content.data))
        if len(self.data) % content.alignment:
            self.data[start] |= 0x80
            self.varint(content.alignment)
            self.align(content.alignment)
        self.alignment = max(self.alignment, content.alignment)
        self.data += content.data
