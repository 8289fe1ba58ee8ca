"""Raw little-endian bytes, one column after the other, so that IREE reads each with ``--input=…=@file.bin`` and the
next with ``+file.bin``. `Options.packing` says how elements are laid out in a column; each column starts at a whole
byte.

`Options.blocks` names two columns that are stored in blocks of elements with their scale, as in OCP's MX formats. These
come first, then the other columns.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from itertools import accumulate
from math import lcm
from typing import IO, BinaryIO

import numpy as np

from halfulp.conformance.vectors.columns import Chunk, Column, VectorSet, rechunked
from halfulp.conformance.vectors.formats.format import Format, Options, malformed, required_columns, seekable
from halfulp.conformance.vectors.formats.npz import Aside, checked_widths, exactly
from halfulp.conformance.vectors.packing import BlockLayout, Bytes, pack, pack_blocks, unpack, unpack_blocks
from halfulp.fp_formats.formats import Codes
from halfulp.interp.ir.errors import InputError


class _Layout:
    """The parts of a file: those of the blocks, then one for each column."""

    def __init__(self, columns: Sequence[Column], options: Options) -> None:
        self.columns, self.options, self.packing = tuple(columns), options, options.packing
        names = [column.name for column in columns]
        self.blocks: BlockLayout | None = None
        self.single = list(range(len(columns)))
        if options.blocks is not None:
            widths = {column.name: column.width for column in columns}
            try:
                self.blocks = options.blocks.layout(widths, options.packing)
            except ValueError as error:
                raise InputError(f"{options.file}: {error}") from None
            self.element, self.scale = names.index(options.blocks.element), names.index(options.blocks.scale)
            self.single = [k for k in self.single if k not in (self.element, self.scale)]
        # A multiple of 8 elements of any width fills whole bytes, so that chunks can be packed one by one.
        whole = lcm(8, 1 if self.blocks is None else self.blocks.elements)
        self.rows = -(-options.rows // whole) * whole

    def sizes(self, count: int) -> list[int]:
        """Return the bytes of each part for that many rows."""
        sizes = []
        if self.blocks is not None:
            blocks = count // self.blocks.elements
            sizes = [self.blocks.element_bytes * blocks, self.blocks.scale_bytes * blocks]
            sizes = sizes if self.blocks.scales == "separate" else [sum(sizes)]
        return sizes + [self.packing.size(self.columns[k].width, count) for k in self.single]

    def packed(self, chunk: Chunk, done: int) -> list[Bytes]:
        """Return the bytes of each part of a chunk that follows ``done`` rows."""
        parts: list[Bytes] = []
        if self.blocks is not None:
            size = self.blocks.elements
            self._check_rows(done + len(chunk[0]))
            elements, scales = chunk[self.element].reshape(-1, size), chunk[self.scale].reshape(-1, size)
            if (scales != scales[:, :1]).any():
                row = done + size * int((scales != scales[:, :1]).any(axis=1).argmax())
                raise InputError(f"{self.options.file}: the {size} rows from row {row} have more than one scale")
            parts += pack_blocks(scales[:, 0], elements, self.blocks)
        return parts + [pack(chunk[k], self.columns[k].width, self.packing) for k in self.single]

    def unpacked(self, parts: Sequence[Bytes], count: int) -> Chunk:
        """Return the columns of bytes that `packed` gave, for that many rows."""
        found: dict[int, Codes] = {}
        if self.blocks is not None:
            own = len(parts) - len(self.single)
            size = self.blocks.elements
            scales, elements = unpack_blocks(tuple(parts[:own]), count // size, self.blocks)
            found = {self.element: elements.reshape(-1), self.scale: np.repeat(scales, size)}
            parts = parts[own:]
        for k, part in zip(self.single, parts, strict=True):
            found[k] = unpack(part, self.columns[k].width, count, self.packing)
        return tuple(found[k] for k in range(len(self.columns)))

    def count(self, size: int) -> int:
        """Return the number of rows in a file of so many bytes. Raises InputError if it is unclear or does not fit."""
        count = self.options.count
        if count is None:
            if self.packing.dense or self.blocks is not None:
                raise malformed(
                    "the number of vectors must be given where they are densely packed, or in blocks", self.options
                )
            count = size // sum(self.sizes(1))
        self._check_rows(count)
        if size != sum(self.sizes(count)):
            raise malformed(f"{count} vectors take {sum(self.sizes(count))} bytes, but there are {size}", self.options)
        return count

    def _check_rows(self, count: int) -> None:
        if self.blocks is not None and count % self.blocks.elements:
            raise malformed(f"{count} vectors do not fill blocks of {self.blocks.elements}", self.options)


def write(vectors: VectorSet, file: BinaryIO, options: Options) -> None:
    """Write the bytes of every part, packed as the options say."""
    layout, done = _Layout(vectors.columns, options), 0
    with Aside(len(layout.sizes(0))) as aside:
        for chunk in rechunked(vectors.columns, vectors, layout.rows):
            for k, data in enumerate(layout.packed(chunk, done)):
                aside.add(k, data.tobytes())
            done += len(chunk[0])
        for k in range(len(layout.sizes(0))):
            aside.copy(k, file)


def read(file: BinaryIO, columns: tuple[Column, ...] | None, options: Options) -> VectorSet:
    """Read the columns of a file that holds only these columns. Dense packing and blocks need `Options.count`."""
    known = required_columns(columns, "bin", options)
    layout = _Layout(known, options)
    source = seekable(file)
    begin = source.tell()
    count = layout.count(source.seek(0, os.SEEK_END) - begin)
    return VectorSet(known, checked_widths(known, _chunks(source, begin, layout, count), options), count)


def _chunks(source: IO[bytes], begin: int, layout: _Layout, count: int) -> Iterator[Chunk]:
    starts = list(accumulate(layout.sizes(count), initial=begin))
    for first in range(0, count, layout.rows):
        rows = min(layout.rows, count - first)
        parts = []
        for start, before, size in zip(starts, layout.sizes(first), layout.sizes(rows), strict=False):
            source.seek(start + before)
            parts.append(np.frombuffer(exactly(source, size, layout.options), np.uint8))
        yield layout.unpacked(parts, rows)


FORMAT = Format("bin", ".bin", write, read)
