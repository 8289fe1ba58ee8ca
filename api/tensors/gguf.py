"""Files of gguf, the weights of llama.cpp: their tensors as values, or as blocks with their scales.

Source: docs/gguf.md of ggml, versions 2 and 3. The package gguf reads files without a check of their lengths, and a
damaged one can keep it busy for hours, so it is not used here.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import prod

import numpy as np

from halfulp.interp.arrays.layouts import Entry, Stored, check_shape, container, value_of
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.errors import InputError, Unsupported
from halfulp.interp.values.coerce import as_type
from halfulp.interp.values.value import Value
from halfulp.quantizing.packed import PackedBlocks
from halfulp.semantics.gguf_blocks import BLOCK_TYPES

_GGUF_MAGIC = b"GGUF"
_PLAIN: Mapping[int, tuple[str, Stored]] = {
    code: (name, Stored(element := as_type(spelling), ty.width_of(element)))
    for code, name, spelling in (
        (0, "F32", "f32"),
        (1, "F16", "f16"),
        (24, "I8", "i8"),
        (25, "I16", "i16"),
        (26, "I32", "i32"),
        (27, "I64", "i64"),
        (28, "F64", "f64"),
        (30, "BF16", "bf16"),
    )
}
_BLOCKS = {row.code: row for row in BLOCK_TYPES.values()}
# Types of ggml without a reader here, so that an error can name them.
_OTHER_TYPES = {
    9: "Q8_1", 15: "Q8_K", 16: "IQ2_XXS", 17: "IQ2_XS", 18: "IQ3_XXS", 19: "IQ1_S", 20: "IQ4_NL", 21: "IQ3_S",
    22: "IQ2_S", 23: "IQ4_XS", 29: "IQ1_M", 34: "TQ1_0", 35: "TQ2_0", 41: "Q1_0",
}  # fmt: skip
# The bytes of each type of a value; a string and an array have their own length.
_SIZES = {0: 1, 1: 1, 2: 2, 3: 2, 4: 4, 5: 4, 6: 4, 7: 1, 10: 8, 11: 8, 12: 8}
_U32, _STRING, _ARRAY = 4, 8, 9
_MOST_DIMENSIONS = 4
_MOST_NESTED = 8


class _Cursor:
    """A place in a file. Each step is checked against the end of the file."""

    def __init__(self, data: memoryview) -> None:
        self.data = data
        self.at = 0

    def take(self, count: int) -> memoryview:
        """Return the next bytes. Raise InputError if there are fewer."""
        if count > len(self.data) - self.at:
            raise InputError(f"it is cut short: {count} bytes are promised at byte {self.at} of {len(self.data)}")
        self.at += count
        return self.data[self.at - count : self.at]

    def number(self, size: int) -> int:
        """Read an unsigned number of ``size`` bytes."""
        return int.from_bytes(self.take(size), "little")

    def text(self) -> str:
        """Read a string. Bytes that are not UTF-8 are kept as surrogates."""
        return bytes(self.take(self.number(8))).decode("utf-8", "surrogateescape")

    def skip(self, kind: int, depth: int = 0) -> None:
        """Go past a value of the metadata."""
        if kind in _SIZES:
            self.take(_SIZES[kind])
        elif kind == _STRING:
            self.take(self.number(8))
        elif kind == _ARRAY and depth < _MOST_NESTED:
            inner, count = self.number(4), self.number(8)
            if inner in _SIZES:
                self.take(_SIZES[inner] * count)
            else:
                for _ in range(count):
                    self.skip(inner, depth + 1)
        else:
            raise InputError(f"its metadata has a value of the unknown type {kind} at byte {self.at}")


def read_gguf(data: memoryview) -> dict[str, Entry[Value | PackedBlocks]]:
    """Return the tensors of a gguf file. Raises InputError for a file that breaks the format's rules, and Unsupported
    for one in the other byte order.
    """
    cursor = _Cursor(data)
    if bytes(cursor.take(4)) != _GGUF_MAGIC:
        raise InputError("it does not begin with GGUF")
    version = cursor.number(4)
    if version and not version & 0xFFFF:
        raise Unsupported("its numbers have their highest bytes first", hint="gguf-convert-endian turns them round")
    if version not in (2, 3):
        raise InputError(f"its version is {version}, but must be 2 or 3")
    tensors, pairs = cursor.number(8), cursor.number(8)
    alignment = 32
    for _ in range(pairs):
        key, kind = cursor.text(), cursor.number(4)
        if key == "general.alignment" and kind == _U32:
            alignment = cursor.number(4)
        else:
            cursor.skip(kind)
    if not alignment or alignment & (alignment - 1):
        raise InputError(f"its alignment is {alignment}, but must be a power of two")
    rows = [_gguf_row(cursor) for _ in range(tensors)]
    start = -(-cursor.at // alignment) * alignment
    entries: dict[str, Entry[Value | PackedBlocks]] = {}
    for name, shape, code, offset in rows:
        if name in entries:
            raise InputError(f"two tensors have the name {name!r}")
        if offset % alignment:
            raise InputError(f"the tensor {name!r} begins at byte {offset}, which is not a multiple of {alignment}")
        entries[name] = _gguf_entry(name, shape, code, data, start + offset)
    return entries


def _gguf_row(cursor: _Cursor) -> tuple[str, tuple[int, ...], int, int]:
    """Read the name of a tensor, its shape (in files the last dimension is first), its type and its place."""
    name, rank = cursor.text(), cursor.number(4)
    if rank > _MOST_DIMENSIONS:
        raise InputError(f"the tensor {name!r} has {rank} dimensions, but at most {_MOST_DIMENSIONS} are possible")
    shape = tuple(cursor.number(8) for _ in range(rank))[::-1]
    check_shape(shape, name)
    return name, shape, cursor.number(4), cursor.number(8)


def _gguf_entry(name: str, shape: tuple[int, ...], code: int, data: memoryview, at: int) -> Entry[Value | PackedBlocks]:
    known = _BLOCKS.get(code)
    if known is None and code not in _PLAIN:
        if code not in _OTHER_TYPES:
            raise InputError(f"the tensor {name!r} has the unknown type {code}")
        return Entry(_OTHER_TYPES[code], None, lambda: _refused(name, _OTHER_TYPES[code]))
    count = prod(shape)
    if known is None:
        format, stored = _PLAIN[code]
        needed = count * stored.bits // 8
    else:
        format = known.name
        if not shape or shape[-1] % known.size:
            raise InputError(f"the tensor {name!r} has rows of {shape[-1:]} elements, but {format} has {known.size}")
        needed = count // known.size * known.bytes
    if at + needed > len(data):
        raise InputError(f"the tensor {name!r} ends at byte {at + needed}, but the file has {len(data)}")
    view = data[at : at + needed]
    if known is None:
        return Entry(format, container(shape, stored.element), lambda: value_of(view, shape, stored))
    blocks = np.frombuffer(view, np.uint8)
    return Entry(format, container(shape, ty.F("f32")), lambda: PackedBlocks.from_bytes(format, blocks, shape))


def _refused(name: str, format: str) -> Value:
    supported = ", ".join(BLOCK_TYPES)
    raise Unsupported(
        f"the tensor {name!r} has blocks of {format}, which halfulp does not read", hint=f"it reads {supported}"
    )
