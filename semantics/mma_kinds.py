"""The kinds of tile operation that matrix units have, as data: shapes, element types, and where each lane holds what.

Names are those of IREE's ``#iree_gpu.mma_layout``, ``virtual_mma_layout`` and ``scaled_mma_layout`` (release 3.13), and
say the rest: ``FAMILY_C_MxNxK_A[_B]``, with ``xNB`` after K where N independent tiles share the lanes. A tile operation
is C += A B, with A of shape (M, K), B of (K, N) and C of (M, N), each with a leading axis of blocks if there are any;
a scaled kind has K split into (K / 32, 32) and one scale per block of 32.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from math import prod
from typing import Literal

Family = Literal["mma", "virtual", "scaled"]
Shape = tuple[int, ...]

SCALE_BLOCK = 32
"""How many elements along K share a scale."""


@dataclass(frozen=True, slots=True)
class Layout:
    """Where the lanes hold the elements of an operand, per dimension of its tile.

    Lane ``l`` holds, for every ``o < outer`` and ``e < element``, the element at the coordinate
    ``o * thread * element + (l // stride % thread) * element + e`` (a stride of 0: every lane the first), in row-major
    order over (o, e) of the first dimension, then of the second, and so on.
    """

    outer: Shape
    thread: Shape
    strides: Shape
    element: Shape

    @property
    def shape(self) -> Shape:
        """The shape of the whole tile."""
        return tuple(o * t * e for o, t, e in zip(self.outer, self.thread, self.element, strict=True))

    @property
    def per_lane(self) -> int:
        """How many elements each lane holds."""
        return prod(self.outer) * prod(self.element)


@dataclass(frozen=True, slots=True)
class MmaKind:
    """One kind. ``types``: the names of the element types of A, B and C (A and B of a scaled kind are chosen where it
    is used: None). ``shape``: M, N, K. ``blocks``: how many independent tiles, or 0 where the tile has no axis of
    blocks. ``layouts``: of A, B and C, of a scaled kind A, B, the scales of A, those of B, and C; None where nobody has
    said what lane holds what.
    """

    name: str
    family: Family
    code: int
    types: tuple[str | None, str | None, str]
    shape: tuple[int, int, int]
    blocks: int
    lanes: int
    layouts: tuple[Layout, ...] | None

    @property
    def tile_shapes(self) -> tuple[Shape, ...]:
        """The shape of each operand's tile as the whole subgroup has it, in the order of ``layouts``."""
        m, n, k = self.shape
        if self.family == "scaled":
            count = k // SCALE_BLOCK
            return (m, count, SCALE_BLOCK), (count, SCALE_BLOCK, n), (m, count), (count, n), (m, n)
        blocks = (self.blocks,) if self.blocks else ()
        return (*blocks, m, k), (*blocks, k, n), (*blocks, m, n)

    @property
    def lane_shapes(self) -> tuple[Shape, ...] | None:
        """The shape of each operand's share of one lane, or None without a layout.

        Lanes of ``VDMFMA`` kinds that would hold the same elements of A split them instead.
        """
        if self.layouts is None:
            return None
        if self.name.startswith("NV_MMA_SYNC"):
            return tuple((prod(layout.outer), prod(layout.element)) for layout in self.layouts)
        if self.name.startswith("VDMFMA"):
            return tuple((layout.per_lane * prod(layout.thread) // self.lanes,) for layout in self.layouts)
        return tuple((layout.per_lane,) for layout in self.layouts)


@cache
def mma_kinds() -> Mapping[str, MmaKind]:
    """Every kind by its name."""
    return {kind.name: kind for family, groups in _GROUPS.items() for group in groups for kind in _kinds(family, group)}


@dataclass(frozen=True, slots=True)
class _Group:
    """Kinds with the same layouts, each with the number IREE gives it. A layout is spelled ``outer thread strides
    element``.
    """

    lanes: int
    layouts: tuple[str, ...]
    codes: Mapping[str, int]


_NAME = re.compile(
    r"(?:V?D?MFMA|WMMAR3|WMMAR4|WMMA|NV_MMA_SYNC|NV_WMMA|MFMA_SCALE)"
    r"_([A-Z]+\d+)_(\d+)x(\d+)x(\d+)(?:x(\d+)(B?))?_([A-Z0-9]+)(?:_([A-Z0-9]+))?"
)


def _kinds(family: Family, group: _Group) -> list[MmaKind]:
    layouts = tuple(_layout(text) for text in group.layouts) or None
    return [_kind(name, family, code, group.lanes, layouts) for name, code in group.codes.items()]


def _layout(text: str) -> Layout:
    return Layout(*(tuple(int(number) for number in part.split(",")) for part in text.split()))


def _kind(name: str, family: Family, code: int, lanes: int, layouts: tuple[Layout, ...] | None) -> MmaKind:
    match = _NAME.fullmatch(name)
    assert match is not None, name
    c, m, n, k, times, is_blocks, a, b = match.groups()
    shape = int(m), int(n), int(k)
    if family == "scaled":
        return MmaKind(name, family, code, (None, None, _type(c)), shape, 0, lanes, layouts)
    types = _type(a), _type(b or a), _type(c)
    return MmaKind(name, family, code, types, shape, int(times) if is_blocks else 0, lanes, layouts)


def _type(text: str) -> str:
    """``F8E4M3FN`` in a name is the type f8E4M3FN; ``BF16`` is bf16, ``I8`` i8."""
    return text[0].lower() + text[1:] if text.startswith("F8") else text.lower()


_MMA = (
    _Group(32, (), {"NV_WMMA_F32_16x16x16_F16": 0x2120, "NV_WMMA_F16_16x16x16_F16": 0x2121}),
    _Group(
        64,
        ("1,1 16,4 1,16 1,1", "1,1 4,16 16,1 1,1", "1,1 4,16 16,1 4,1"),
        {
            "MFMA_F32_16x16x4_F32": 0x1010,
        },
    ),
    _Group(
        64,
        ("1,1,1 4,4,4 4,1,16 1,1,1", "1,1,1 4,4,4 4,16,1 1,1,1", "1,1,1 4,4,4 4,16,1 1,1,1"),
        {
            "MFMA_F64_4x4x4x4B_F64": 0x1200,
        },
    ),
    _Group(
        64,
        ("1,1 16,4 1,16 1,1", "1,1 4,16 16,1 1,1", "4,1 4,16 16,1 1,1"),
        {
            "MFMA_F64_16x16x4_F64": 0x1100,
        },
    ),
    _Group(
        64,
        ("1,1 16,4 1,16 1,2", "1,1 4,16 16,1 2,1", "1,1 4,16 16,1 4,1"),
        {
            "MFMA_F32_16x16x8_BF16": 0x1120,
        },
    ),
    _Group(
        64,
        ("1,1 32,2 1,32 1,2", "1,1 2,32 32,1 2,1", "4,1 2,32 32,1 4,1"),
        {
            "MFMA_F32_32x32x4_BF16": 0x1121,
        },
    ),
    _Group(
        64,
        ("1,1,1 16,4,1 4,1,64 1,1,4", "1,1,1 16,1,4 4,64,1 1,4,1", "1,1,1 16,1,4 4,64,1 1,4,1"),
        {
            "MFMA_F32_4x4x4x16B_F16": 0x1222,
            "MFMA_F32_4x4x4x16B_BF16": 0x1225,
            "MFMA_I32_4x4x4x16B_I8": 0x12C2,
        },
    ),
    _Group(
        64,
        ("1,1,1 16,4,1 4,1,64 1,1,1", "1,1,1 16,1,4 4,64,1 1,1,1", "1,1,1 16,1,4 4,64,1 1,4,1"),
        {
            "MFMA_F32_4x4x1x16B_F32": 0x1210,
        },
    ),
    _Group(
        64,
        ("1,1,1 4,16,1 16,1,64 1,1,4", "1,1,1 4,1,16 16,64,1 1,4,1", "1,1,1 1,4,16 64,16,1 4,4,1"),
        {
            "MFMA_F32_16x16x4x4B_F16": 0x1223,
            "MFMA_F32_16x16x4x4B_BF16": 0x1226,
            "MFMA_I32_16x16x4x4B_I8": 0x12C3,
        },
    ),
    _Group(
        64,
        ("1,1,1 4,16,1 16,1,64 1,1,1", "1,1,1 4,1,16 16,64,1 1,1,1", "1,1,1 1,4,16 64,16,1 4,4,1"),
        {
            "MFMA_F32_16x16x1x4B_F32": 0x1211,
        },
    ),
    _Group(
        64,
        ("1,1,1 2,32,1 32,1,64 1,1,4", "1,1,1 2,1,32 32,64,1 1,4,1", "1,4,1 1,2,32 64,32,1 2,4,1"),
        {
            "MFMA_F32_32x32x4x2B_F16": 0x1224,
            "MFMA_F32_32x32x4x2B_BF16": 0x1227,
            "MFMA_I32_32x32x4x2B_I8": 0x12C4,
        },
    ),
    _Group(
        64,
        ("1,1,1 2,32,1 32,1,64 1,1,1", "1,1,1 2,1,32 32,64,1 1,1,1", "1,4,1 1,2,32 64,32,1 2,4,1"),
        {
            "MFMA_F32_32x32x1x2B_F32": 0x1212,
        },
    ),
    _Group(
        64,
        ("1,1 16,4 1,16 1,4", "1,1 4,16 16,1 4,1", "1,1 4,16 16,1 4,1"),
        {
            "MFMA_I32_16x16x16_I8": 0x10C0,
            "MFMA_F32_16x16x16_F16": 0x1020,
            "MFMA_F32_16x16x16_BF16": 0x1220,
        },
    ),
    _Group(
        64,
        ("1,1 32,2 1,32 1,4", "1,1 2,32 32,1 4,1", "4,1 2,32 32,1 4,1"),
        {
            "MFMA_I32_32x32x8_I8": 0x10C1,
            "MFMA_F32_32x32x8_F16": 0x1021,
            "MFMA_F32_32x32x8_BF16": 0x1221,
        },
    ),
    _Group(
        64,
        ("1,1 16,4 1,16 1,8", "1,1 4,16 16,1 8,1", "1,1 4,16 16,1 4,1"),
        {
            "MFMA_F32_16x16x32_F16": 0x1320,
            "MFMA_F32_16x16x32_BF16": 0x1322,
            "MFMA_F32_16x16x32_F8E4M3FNUZ": 0x1232,
            "MFMA_F32_16x16x32_F8E5M2FNUZ": 0x1230,
            "MFMA_F32_16x16x32_F8E4M3FNUZ_F8E5M2FNUZ": 0x1233,
            "MFMA_F32_16x16x32_F8E5M2FNUZ_F8E4M3FNUZ": 0x1231,
            "MFMA_F32_16x16x32_F8E4M3FN": 0x1332,
            "MFMA_F32_16x16x32_F8E5M2": 0x1330,
            "MFMA_F32_16x16x32_F8E4M3FN_F8E5M2": 0x1333,
            "MFMA_F32_16x16x32_F8E5M2_F8E4M3FN": 0x1331,
            "MFMA_I32_16x16x32_I8": 0x12C0,
        },
    ),
    _Group(
        64,
        ("1,1 32,2 1,32 1,8", "1,1 2,32 32,1 8,1", "4,1 2,32 32,1 4,1"),
        {
            "MFMA_F32_32x32x16_F16": 0x1321,
            "MFMA_F32_32x32x16_BF16": 0x1323,
            "MFMA_F32_32x32x16_F8E4M3FNUZ": 0x1236,
            "MFMA_F32_32x32x16_F8E5M2FNUZ": 0x1234,
            "MFMA_F32_32x32x16_F8E4M3FNUZ_F8E5M2FNUZ": 0x1237,
            "MFMA_F32_32x32x16_F8E5M2FNUZ_F8E4M3FNUZ": 0x1235,
            "MFMA_F32_32x32x16_F8E4M3FN": 0x1336,
            "MFMA_F32_32x32x16_F8E5M2": 0x1334,
            "MFMA_F32_32x32x16_F8E4M3FN_F8E5M2": 0x1337,
            "MFMA_F32_32x32x16_F8E5M2_F8E4M3FN": 0x1335,
            "MFMA_I32_32x32x16_I8": 0x12C1,
        },
    ),
    _Group(
        64,
        ("1,1 16,4 1,16 1,16", "1,1 4,16 16,1 16,1", "1,1 4,16 16,1 4,1"),
        {
            "MFMA_I32_16x16x64_I8": 0x13C0,
        },
    ),
    _Group(
        64,
        ("1,1 32,2 1,32 1,16", "1,1 2,32 32,1 16,1", "4,1 2,32 32,1 4,1"),
        {
            "MFMA_I32_32x32x32_I8": 0x13C1,
        },
    ),
    _Group(
        64,
        ("1,1 16,4 1,16 1,32", "1,1 4,16 16,1 32,1", "1,1 4,16 16,1 4,1"),
        {
            "MFMA_F32_16x16x128_F8E5M2": 0x1338,
            "MFMA_F32_16x16x128_F8E5M2_F8E4M3FN": 0x1339,
            "MFMA_F32_16x16x128_F8E4M3FN": 0x133A,
            "MFMA_F32_16x16x128_F8E4M3FN_F8E5M2": 0x133B,
        },
    ),
    _Group(
        64,
        ("1,1 32,2 1,32 1,32", "1,1 2,32 32,1 32,1", "4,1 2,32 32,1 4,1"),
        {
            "MFMA_F32_32x32x64_F8E5M2": 0x133C,
            "MFMA_F32_32x32x64_F8E5M2_F8E4M3FN": 0x133D,
            "MFMA_F32_32x32x64_F8E4M3FN": 0x133E,
            "MFMA_F32_32x32x64_F8E4M3FN_F8E5M2": 0x133F,
        },
    ),
    _Group(
        32,
        ("1,1 16,1 1,0 1,16", "1,1 1,16 0,1 16,1", "8,1 2,16 16,1 1,1"),
        {
            "WMMAR3_F32_16x16x16_F16": 0x1820,
            "WMMAR3_F32_16x16x16_BF16": 0x1822,
            "WMMAR3_I32_16x16x16_I8": 0x18C0,
            "WMMAR3_F16_16x16x16_F16": 0x1821,
            "WMMAR3_BF16_16x16x16_BF16": 0x1823,
        },
    ),
    _Group(
        32,
        ("1,1 16,2 1,16 1,8", "1,1 2,16 16,1 8,1", "1,1 2,16 16,1 8,1"),
        {
            "WMMAR4_F32_16x16x16_F16": 0x1920,
            "WMMAR4_F32_16x16x16_BF16": 0x1922,
            "WMMAR4_F32_16x16x16_F8E5M2": 0x1930,
            "WMMAR4_F32_16x16x16_F8E5M2_F8E4M3FN": 0x1931,
            "WMMAR4_F32_16x16x16_F8E4M3FN": 0x1932,
            "WMMAR4_F32_16x16x16_F8E4M3FN_F8E5M2": 0x1933,
            "WMMAR4_I32_16x16x16_I8": 0x19C0,
            "WMMAR4_F16_16x16x16_F16": 0x1921,
            "WMMAR4_BF16_16x16x16_BF16": 0x1923,
        },
    ),
    _Group(
        32,
        ("1,1 16,2 1,16 1,2", "1,1 2,16 16,1 2,1", "1,1 2,16 16,1 8,1"),
        {
            "WMMA_F32_16x16x4_F32": 0x1A10,
        },
    ),
    _Group(
        32,
        ("1,1 16,2 1,16 1,16", "1,1 2,16 16,1 16,1", "1,1 2,16 16,1 8,1"),
        {
            "WMMA_F32_16x16x32_F16": 0x1A20,
            "WMMA_F32_16x16x32_BF16": 0x1A21,
            "WMMA_F16_16x16x32_F16": 0x1A22,
            "WMMA_BF16_16x16x32_BF16": 0x1A23,
        },
    ),
    _Group(
        32,
        ("1,1 16,2 1,16 1,32", "1,1 2,16 16,1 32,1", "1,1 2,16 16,1 8,1"),
        {
            "WMMA_F32_16x16x64_F8E4M3FN": 0x1A30,
            "WMMA_F32_16x16x64_F8E4M3FN_F8E5M2": 0x1A31,
            "WMMA_F32_16x16x64_F8E5M2": 0x1A32,
            "WMMA_F32_16x16x64_F8E5M2_F8E4M3FN": 0x1A33,
            "WMMA_F16_16x16x64_F8E4M3FN": 0x1A34,
            "WMMA_F16_16x16x64_F8E4M3FN_F8E5M2": 0x1A35,
            "WMMA_F16_16x16x64_F8E5M2": 0x1A36,
            "WMMA_F16_16x16x64_F8E5M2_F8E4M3FN": 0x1A37,
            "WMMA_I32_16x16x64_I8": 0x1AC0,
        },
    ),
    _Group(
        32,
        ("1,1 16,2 1,16 1,64", "1,1 2,16 16,1 64,1", "1,1 2,16 16,1 8,1"),
        {
            "WMMA_F32_16x16x128_F8E5M2": 0x1A38,
            "WMMA_F32_16x16x128_F8E5M2_F8E4M3FN": 0x1A39,
            "WMMA_F32_16x16x128_F8E4M3FN": 0x1A3A,
            "WMMA_F32_16x16x128_F8E4M3FN_F8E5M2": 0x1A3B,
            "WMMA_F16_16x16x128_F8E5M2": 0x1A3C,
            "WMMA_F16_16x16x128_F8E5M2_F8E4M3FN": 0x1A3D,
            "WMMA_F16_16x16x128_F8E4M3FN": 0x1A3E,
            "WMMA_F16_16x16x128_F8E4M3FN_F8E5M2": 0x1A3F,
        },
    ),
    _Group(
        32,
        ("2,2 8,4 4,1 1,2", "2,1 4,8 1,4 2,1", "2,1 8,4 4,1 1,2"),
        {
            "NV_MMA_SYNC_F32_16x8x16_F16": 0x2020,
            "NV_MMA_SYNC_F16_16x8x16_F16": 0x2021,
            "NV_MMA_SYNC_F32_16x8x16_BF16": 0x2022,
        },
    ),
    _Group(
        32,
        ("2,2 8,4 4,1 1,4", "2,1 4,8 1,4 4,1", "2,1 8,4 4,1 1,2"),
        {
            "NV_MMA_SYNC_F32_16x8x32_F8E4M3FN": 0x2023,
            "NV_MMA_SYNC_F32_16x8x32_F8E5M2": 0x2024,
        },
    ),
)
_VIRTUAL = (
    _Group(
        64,
        ("1,1 16,4 1,16 1,8", "1,1 4,16 16,1 8,1", "1,1 4,16 16,1 4,1"),
        {
            "VMFMA_F32_16x16x32_F16": 0x0000,
        },
    ),
    _Group(
        64,
        ("1,2 16,4 1,16 1,4", "2,1 4,16 16,1 4,1", "1,1 4,16 16,1 4,1"),
        {
            "VMFMA_F32_16x16x32_F8E4M3FNUZ": 0x0002,
        },
    ),
    _Group(
        64,
        ("1,1 32,2 1,32 1,8", "1,1 2,32 32,1 8,1", "4,1 2,32 32,1 4,1"),
        {
            "VMFMA_F32_32x32x16_F16": 0x0001,
        },
    ),
    _Group(
        64,
        ("1,2 32,2 1,32 1,4", "2,1 2,32 32,1 4,1", "4,1 2,32 32,1 4,1"),
        {
            "VMFMA_F32_32x32x16_F8E4M3FNUZ": 0x0003,
        },
    ),
    _Group(
        64,
        ("1,1 8,4 2,16 1,16", "1,1 4,16 16,1 16,1", "1,1 4,16 16,1 2,1"),
        {
            "VDMFMA_F32_8x16x64x2_F16": 0x0004,
            "VDMFMA_F32_8x16x64x2_BF16": 0x0006,
            "VDMFMA_F32_8x16x64x1_F16": 0x000F,
            "VDMFMA_F32_8x16x64x1_BF16": 0x0010,
        },
    ),
    _Group(
        64,
        ("1,1 8,4 2,16 1,32", "1,1 4,16 16,1 32,1", "1,1 4,16 16,1 2,1"),
        {
            "VDMFMA_I32_8x16x128x2_I8": 0x0005,
            "VDMFMA_I32_8x16x128x1_I8": 0x0011,
            "VDMFMA_F32_8x16x128x2_F8E5M2FNUZ": 0x0007,
            "VDMFMA_F32_8x16x128x2_F8E5M2FNUZ_F8E4M3FNUZ": 0x0008,
            "VDMFMA_F32_8x16x128x2_F8E4M3FNUZ_F8E5M2FNUZ": 0x0009,
            "VDMFMA_F32_8x16x128x2_F8E4M3FNUZ": 0x000A,
            "VDMFMA_F32_8x16x128x1_F8E5M2": 0x000B,
            "VDMFMA_F32_8x16x128x1_F8E5M2_F8E4M3FN": 0x000C,
            "VDMFMA_F32_8x16x128x1_F8E4M3FN_F8E5M2": 0x000D,
            "VDMFMA_F32_8x16x128x1_F8E4M3FN": 0x000E,
        },
    ),
)
_SCALED = (
    _Group(
        64,
        (
            "1,1,1 16,4,1 1,16,1 1,1,32",
            "1,1,1 4,1,16 16,1,1 1,32,1",
            "1,1 16,4 1,16 1,1",
            "1,1 4,16 16,1 1,1",
            "1,1 4,16 16,1 4,1",
        ),
        {
            "MFMA_SCALE_F32_16x16x128_B32": 0x1000,
        },
    ),
    _Group(
        64,
        (
            "1,1,1 32,2,1 1,32,1 1,1,32",
            "1,1,1 2,1,32 32,1,1 1,32,1",
            "1,1 32,2 1,32 1,1",
            "1,1 2,32 32,1 1,1",
            "4,1 2,32 32,1 4,1",
        ),
        {
            "MFMA_SCALE_F32_32x32x64_B32": 0x1001,
        },
    ),
)
_GROUPS: Mapping[Family, tuple[_Group, ...]] = {"mma": _MMA, "virtual": _VIRTUAL, "scaled": _SCALED}
