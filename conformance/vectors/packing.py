"""Pack elements that do not fill bytes, and blocks of elements with a common scale (OCP MX).

A type does not determine its layout: OCP's specification fixes none, and tools differ. So a file says which one it
uses.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import gcd
from typing import Any, Literal, get_args

import numpy as np
import numpy.typing as npt

from halfulp.fp_formats.formats import LIMB_BITS, Codes, code_shape, element_shape, limb_count, storage_dtype

# --- names ------------------------------------------------------------------------------------------------------------
#
# The names of levels, formats and layouts of vectors. The help of commands needs them, so nothing is loaded here.

BoundsName = Literal["tosa"]
"""The names of bounds within which results may differ from the expected ones."""
LevelName = Literal["1", "2", "exhaustive", "random", "weighted", "hard"]
LEVELS: tuple[LevelName, ...] = get_args(LevelName)

FORMAT_NAMES = ("testfloat", "readmemh", "npz", "npy", "bin", "c", "sv", "coe", "csv", "jsonl", "runs", "mlir")
"""The formats of files; the module of each in `halfulp.conformance.vectors.formats` has the same name."""

NO_SHARDS = ("mlir",)
"""Formats without sweeps: nobody can use a program of millions of calls."""
ONLY_DIGESTS = "digest"
"""The format of a sweep that keeps the digests of its shards, and no rows."""

Unmarked = Literal["refuse", "drop", "canonical"]
UNMARKED: tuple[Unmarked, ...] = get_args(Unmarked)
"""The treatments of rows with poison or unspecified bits, in a format without a place for them."""

PACKINGS = ("containers", "dense", "dense-high")
"""The layouts of elements in the format ``bin``."""

ScalePlace = Literal["separate", "first", "last"]
SCALE_PLACES: tuple[ScalePlace, ...] = get_args(ScalePlace)
"""The places of the scales of blocks in the format ``bin``."""

# --- packing ----------------------------------------------------------------------------------------------------------

Bytes = npt.NDArray[np.uint8]


@dataclass(frozen=True)
class Packing:
    """``dense``: elements follow each other bit by bit, so that two f4 share a byte and four f6 share three; otherwise
    each has a container of 8, 16, 32 bits or whole 64-bit words, zero-extended. ``first``: whether element 0 is in the
    least significant ("low") or the most significant ("high") bits of the first byte; it does not apply to containers,
    which are little-endian.
    """

    dense: bool = False
    first: Literal["low", "high"] = "low"

    def __post_init__(self) -> None:
        if self.first not in ("low", "high"):
            raise ValueError(f"packing: first is {self.first!r}, but must be 'low' or 'high'")

    def size(self, width: int, count: int) -> int:
        """Return the number of bytes of ``count`` elements; zeros fill the last byte."""
        if self.dense:
            return -(-width * count // 8)
        return storage_dtype(width).itemsize * limb_count(width) * count

    def to_json(self) -> dict[str, Any]:
        """Return the packing as the metadata holds it."""
        return {"dense": self.dense, **({"first": self.first} if self.dense else {})}


CONTAINERS = Packing()
"""Every element in its own container: the layout of a NumPy array of codes."""


def packing_named(name: str) -> Packing:
    """Return the packing of one of `halfulp.conformance.vectors.packing.PACKINGS`."""
    return {"containers": CONTAINERS, "dense": Packing(True), "dense-high": Packing(True, "high")}[name]


def pack(codes: Codes, width: int, packing: Packing) -> Bytes:
    """Return the bytes of a flat array of codes of ``width`` bits."""
    if not packing.dense:
        return np.ascontiguousarray(codes, codes.dtype.newbyteorder("<")).reshape(-1).view(np.uint8)
    if width > 8:
        return _pack_bits(codes, width, packing)
    count, (group, size) = len(codes), _group(width)
    whole = -(-count // group) * group
    padded = np.zeros(whole, np.uint64)
    padded[:count] = codes
    words = np.zeros(whole // group, np.uint64)
    for k in range(group):
        words |= padded[k::group] << np.uint64(_shift(k, group, width, packing))
    return _word_bytes(words, size, packing).reshape(-1)[: packing.size(width, count)]


def unpack(data: Bytes, width: int, count: int, packing: Packing) -> Codes:
    """Return the first ``count`` codes of ``width`` bits in packed bytes. Raises ValueError for too few bytes."""
    if len(data) < packing.size(width, count):
        raise ValueError(f"{count} elements of {width} bits take {packing.size(width, count)} bytes, not {len(data)}")
    data = np.ascontiguousarray(data[: packing.size(width, count)])
    dtype = storage_dtype(width)
    if not packing.dense:
        return data.view(dtype.newbyteorder("<")).astype(dtype).reshape(code_shape((count,), width))
    if width > 8:
        return _unpack_bits(data, width, count, packing)
    group, size = _group(width)
    groups = -(-count // group)
    padded = np.zeros((groups, 8), np.uint8)
    filled = np.zeros(groups * size, np.uint8)
    filled[: len(data)] = data
    padded[:, :size] = filled.reshape(groups, size)[:, :: 1 if packing.first == "low" else -1]
    words = padded.view("<u8").reshape(groups)
    codes = np.empty((groups, group), dtype)
    for k in range(group):
        codes[:, k] = words >> np.uint64(_shift(k, group, width, packing)) & np.uint64((1 << width) - 1)
    return codes.reshape(-1)[:count]


def _group(width: int) -> tuple[int, int]:
    """Return the least number of elements of up to 8 bits that fill whole bytes, and the number of bytes."""
    elements = 8 // gcd(width, 8) if width else 8
    return elements, elements * width // 8


def _shift(k: int, group: int, width: int, packing: Packing) -> int:
    return width * (k if packing.first == "low" else group - 1 - k)


def _word_bytes(words: npt.NDArray[np.uint64], size: int, packing: Packing) -> Bytes:
    """Return the ``size`` bytes of each group, the byte with element 0 first."""
    data = words.astype("<u8").view(np.uint8).reshape(len(words), 8)[:, :size]
    return data if packing.first == "low" else data[:, ::-1]


def _pack_bits(codes: Codes, width: int, packing: Packing) -> Bytes:
    count = element_shape(codes, width)[0]
    data = np.ascontiguousarray(codes, codes.dtype.newbyteorder("<")).reshape(-1).view(np.uint8)
    stored = storage_dtype(width).itemsize * limb_count(width) * 8
    bits = np.unpackbits(data, bitorder="little").reshape(count, stored)[:, :width]
    if packing.first == "low":
        return np.packbits(bits, bitorder="little")
    return np.packbits(bits[:, ::-1], bitorder="big")


def _unpack_bits(data: Bytes, width: int, count: int, packing: Packing) -> Codes:
    order: Literal["little", "big"] = "little" if packing.first == "low" else "big"
    dtype = storage_dtype(width)
    bits = np.zeros((count, dtype.itemsize * limb_count(width) * 8), np.uint8)
    packed = np.unpackbits(data, count=count * width, bitorder=order).reshape(count, width)
    bits[:, :width] = packed if packing.first == "low" else packed[:, ::-1]
    codes = np.packbits(bits, axis=1, bitorder="little").view(dtype.newbyteorder("<")).astype(dtype)
    return codes.reshape(code_shape((count,), width))


# --- MX blocks --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class BlockLayout:
    """The layout of blocks in a file: ``elements`` elements of ``width`` bits share a scale of ``scale_width`` bits.
    Scales are in an array of their own ("separate"), or right before ("first") or after ("last") their elements. Scales
    have containers of whole bytes; elements are packed as ``packing`` says, and fill whole bytes in each block.
    """

    width: int
    elements: int = 32
    scale_width: int = 8
    scales: ScalePlace = "separate"
    packing: Packing = Packing(dense=True)

    def __post_init__(self) -> None:
        if self.scales not in SCALE_PLACES:
            raise ValueError(f"scales is {self.scales!r}, but must be one of {', '.join(SCALE_PLACES)}")
        if self.elements < 1 or not 1 <= self.width <= LIMB_BITS or not 1 <= self.scale_width <= LIMB_BITS:
            raise ValueError("a block has at least 1 element; elements and the scale have 1 to 64 bits")

    @property
    def element_bytes(self) -> int:
        """Return the bytes of the elements of a block."""
        return self.packing.size(self.width, self.elements)

    @property
    def scale_bytes(self) -> int:
        """Return the bytes of a scale."""
        return storage_dtype(self.scale_width).itemsize


@dataclass(frozen=True)
class Blocks:
    """Two columns of a set that are stored in blocks: every ``elements`` consecutive rows have one code in the column
    ``scale``, which is written once per block, in position ``scales`` next to the codes of the column ``element``.
    """

    element: str
    scale: str
    elements: int = 32
    scales: ScalePlace = "separate"

    def layout(self, widths: Mapping[str, int], packing: Packing) -> BlockLayout:
        """Return the layout, given the width of each column. Raises ValueError for an unknown column and for a column
        that is too wide.
        """
        missing = [name for name in (self.element, self.scale) if name not in widths]
        if missing:
            raise ValueError(f"there is no column {missing[0]!r} to store in blocks")
        return BlockLayout(widths[self.element], self.elements, widths[self.scale], self.scales, packing)

    def to_json(self) -> dict[str, Any]:
        """Return the blocks as the metadata holds them."""
        return {"element": self.element, "scale": self.scale, "elements": self.elements, "scales": self.scales}


def pack_blocks(scales: Codes, elements: Codes, layout: BlockLayout) -> tuple[Bytes, ...]:
    """Return the bytes of blocks: one array, or with separate scales the array of the elements and that of the scales.

    ``scales``: codes, one per block. ``elements``: codes of shape (blocks, elements per block). Raises ValueError for
    other shapes.
    """
    blocks = len(scales)
    if elements.shape != (blocks, layout.elements):
        raise ValueError(f"{blocks} scales need elements of shape {(blocks, layout.elements)}, not {elements.shape}")
    packed = _packed_rows(elements, layout)
    scale = pack(scales, layout.scale_width, CONTAINERS).reshape(blocks, layout.scale_bytes)
    if layout.scales == "separate":
        return packed.reshape(-1), scale.reshape(-1)
    return (np.concatenate([scale, packed] if layout.scales == "first" else [packed, scale], axis=1).reshape(-1),)


def unpack_blocks(parts: tuple[Bytes, ...], blocks: int, layout: BlockLayout) -> tuple[Codes, Codes]:
    """Return the scales and the elements of bytes that `pack_blocks` gave.

    Raises ValueError for a wrong number of bytes.
    """
    in_block, scale_bytes = layout.element_bytes, layout.scale_bytes
    sizes = (
        [in_block * blocks, scale_bytes * blocks]
        if layout.scales == "separate"
        else [(in_block + scale_bytes) * blocks]
    )
    if [len(part) for part in parts] != sizes:
        raise ValueError(f"{blocks} blocks take {sizes} bytes, not {[len(part) for part in parts]}")
    if layout.scales == "separate":
        packed, scale = parts[0].reshape(blocks, in_block), parts[1]
    else:
        rows = parts[0].reshape(blocks, in_block + scale_bytes)
        cut = scale_bytes if layout.scales == "first" else in_block
        scale, packed = (rows[:, :cut], rows[:, cut:]) if layout.scales == "first" else (rows[:, cut:], rows[:, :cut])
    scales = unpack(np.ascontiguousarray(scale).reshape(-1), layout.scale_width, blocks, CONTAINERS)
    filled = _filled(layout)
    padded = np.zeros((blocks, layout.packing.size(layout.width, filled)), np.uint8)
    padded[:, :in_block] = packed
    elements = unpack(padded.reshape(-1), layout.width, blocks * filled, layout.packing)
    return scales, elements.reshape(blocks, filled)[:, : layout.elements]


def _filled(layout: BlockLayout) -> int:
    """Return the elements of a block, padded so that they take whole bytes."""
    return -(-layout.elements // 8) * 8


def _packed_rows(elements: Codes, layout: BlockLayout) -> Bytes:
    padded = np.zeros((len(elements), _filled(layout)), elements.dtype)
    padded[:, : layout.elements] = elements
    size = layout.packing.size(layout.width, _filled(layout))
    return pack(padded.reshape(-1), layout.width, layout.packing).reshape(-1, size)[:, : layout.element_bytes]
