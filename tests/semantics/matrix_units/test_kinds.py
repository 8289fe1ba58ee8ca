"""The table of kinds against the names of the kinds, which say types and shapes, and what lanes hold."""

import math
import re
from collections import Counter
from itertools import product

import numpy as np
import pytest
from tables import each_row

from halfulp.fp_formats.formats import FORMATS
from halfulp.semantics.matrix_units.kinds import KINDS, LaneLayout, TileKind, distribute, gather

NAME = re.compile(
    r"(?P<family>[A-Z_0-9]+?)_(?P<c>[FIB]+\d+)_(?P<shape>\d+x\d+x\d+)(?:x(?P<n>\d+)(?P<b>B?))?_(?P<ab>.+)"
)
LANES = {"MFMA": 64, "VMFMA": 64, "VDMFMA": 64, "MFMA_SCALE": 64}
WITH_LAYOUT = [kind for kind in KINDS.values() if kind.layouts is not None]
FLOATS = {name.upper(): name for name in FORMATS}


def types_of(text: str) -> tuple[str, str]:
    """Return the element types of A and B by the end of a name, which has one of them where both are the same."""
    first, _, second = text.partition("_")
    a, b = (FLOATS.get(each, each.lower()) for each in (first, second or first))
    return a, b


def test_counts() -> None:
    assert Counter(kind.attribute for kind in KINDS.values()) == {
        "mma_layout": 98, "virtual_mma_layout": 18, "scaled_mma_layout": 2,
    }  # fmt: skip
    mma = [kind for kind in KINDS.values() if kind.attribute == "mma_layout"]
    assert sum(kind.layouts is not None for kind in mma) == 96
    assert [kind.name for kind in mma if kind.layouts is None] == [
        "NV_WMMA_F32_16x16x16_F16", "NV_WMMA_F16_16x16x16_F16",
    ]  # fmt: skip
    for attribute in ("mma_layout", "virtual_mma_layout", "scaled_mma_layout"):
        codes = [kind.code for kind in KINDS.values() if kind.attribute == attribute]
        assert len(codes) == len(set(codes)), attribute
    families = Counter(name.split("_F")[0].split("_I")[0].split("_BF")[0] for name in KINDS)
    assert families == {
        "MFMA": 55, "WMMAR3": 5, "WMMAR4": 9, "WMMA": 22, "NV_MMA_SYNC": 5, "NV_WMMA": 2, "VMFMA": 4, "VDMFMA": 14,
        "MFMA_SCALE": 2,
    }  # fmt: skip
    assert len(set(KINDS)) == len(KINDS) == 118


@each_row(*KINDS.values())
def test_row_says_what_the_name_says(kind: TileKind) -> None:
    match = NAME.fullmatch(kind.name)
    assert match
    a, b = ("", "") if kind.block else types_of(match["ab"])
    assert kind.types == (a, b, types_of(match["c"])[0])
    assert kind.shape == tuple(map(int, match["shape"].split("x")))
    assert kind.blocks == (int(match["n"]) if match["b"] else 1)
    assert kind.lanes == LANES.get(match["family"], 32)


@each_row(*WITH_LAYOUT)
def test_layouts_cover_their_tiles(kind: TileKind) -> None:
    assert kind.layouts is not None
    copies = []
    for layout, shape in zip(kind.layouts, kind.operand_shapes, strict=True):
        assert layout.shape == shape
        positions = layout.positions(kind.lanes)
        assert positions.shape == (kind.lanes, layout.registers)
        assert not positions.flags.writeable
        counts = np.bincount(positions.reshape(-1), minlength=math.prod(shape))
        assert len(counts) == math.prod(shape)
        assert len(set(counts.tolist())) == 1  # each element is held by as many lanes as any other
        copies.append(int(counts[0]))
    if kind.name.startswith("WMMAR3"):
        assert copies == [2, 2, 1]
    elif kind.name.startswith("VDMFMA"):
        assert copies == [2, 1, 1]  # two lanes hold a row of A between them
    else:
        assert set(copies) == {1}


def test_lanes_of_a_kind_by_hand() -> None:
    """MFMA 32x32x8: lane 37 holds row 5 of A, K 4 to 7; of C column 5, rows 4-7, 12-15, 20-23, 28-31."""
    a, b, c = KINDS["MFMA_F32_32x32x8_F16"].layouts or ()
    assert a.positions(64)[37].tolist() == [5 * 8 + k for k in (4, 5, 6, 7)]
    assert b.positions(64)[37].tolist() == [k * 32 + 5 for k in (4, 5, 6, 7)]
    rows = [8 * block + 4 + row for block in range(4) for row in range(4)]
    assert c.positions(64)[37].tolist() == [row * 32 + 5 for row in rows]
    # mma.sync m16n8k16: lane 6 is the third of the second group of four: rows 1 and 9, columns 4, 5, 12, 13.
    a, b, c = KINDS["NV_MMA_SYNC_F32_16x8x16_F16"].layouts or ()
    assert a.positions(32)[6].tolist() == [row * 16 + k for row in (1, 9) for k in (4, 5, 12, 13)]
    assert b.positions(32)[6].tolist() == [k * 8 + 1 for k in (4, 5, 12, 13)]
    assert c.positions(32)[6].tolist() == [row * 8 + n for row in (1, 9) for n in (4, 5)]
    # Four blocks: lane 21 holds row 5 of block 1.
    a, _, _ = KINDS["MFMA_F32_16x16x4x4B_F16"].layouts or ()
    assert a.positions(64)[21].tolist() == [(16 + 5) * 4 + k for k in range(4)]


@each_row(*WITH_LAYOUT)
def test_distributed_and_gathered(kind: TileKind) -> None:
    rng = np.random.default_rng(kind.code)
    for layout in kind.layouts or ():
        for each in (layout, layout.transposed):
            tile = rng.integers(0, 1 << 16, (2, 3, *each.shape), dtype=np.uint16)
            held = distribute(tile, each, kind.lanes)
            assert held.shape == (2, 3, kind.lanes, each.registers)
            np.testing.assert_array_equal(gather(held, each), tile)


@pytest.mark.parametrize(
    ("name", "registers"),
    [
        ("MFMA_F32_32x32x8_F16", (4, 4, 16)),
        ("WMMAR3_F32_16x16x16_F16", (16, 16, 8)),
        ("NV_MMA_SYNC_F32_16x8x32_F8E5M2", (16, 8, 4)),
        ("NV_WMMA_F32_16x16x16_F16", ()),
        ("VDMFMA_F32_8x16x64x2_F16", (8, 16, 2)),
        ("VDMFMA_I32_8x16x128x1_I8", (16, 32, 2)),
        ("MFMA_SCALE_F32_32x32x64_B32", (32, 32, 1, 1, 16)),
    ],
)
def test_registers(name: str, registers: tuple[int, ...]) -> None:
    assert KINDS[name].registers == registers


def test_first_of_several_lanes_counts() -> None:
    layout = (KINDS["WMMAR3_F32_16x16x16_F16"].layouts or ())[0]
    tile = np.arange(256, dtype=np.uint16).reshape(16, 16)
    held = distribute(tile, layout, 32)
    np.testing.assert_array_equal(held[:16], held[16:])
    held[16:] = 999
    np.testing.assert_array_equal(gather(held, layout), tile)


def test_transposed_layout() -> None:
    layout = LaneLayout((1, 2), (8, 4), (4, 1), (1, 2))
    assert layout.shape == (8, 16)
    turned = layout.transposed
    assert turned.shape == (16, 8)
    tile = np.arange(128, dtype=np.uint16).reshape(8, 16)
    # The same lanes hold the same elements of the transposed tile.
    np.testing.assert_array_equal(distribute(tile.T, turned, 32), distribute(tile, layout, 32))


def test_order_along_k() -> None:
    for kind in KINDS.values():
        order = kind.k_order
        assert sorted(order.tolist()) == list(range(kind.shape[2])), kind.name
        if not kind.slices_of:
            assert order.tolist() == list(range(kind.shape[2]))
    # Four lanes of 8 elements, of which each hands over 4 at a time.
    order = KINDS["VMFMA_F32_16x16x32_F16"].k_order
    assert order[:16].tolist() == [8 * lane + k for lane in range(4) for k in range(4)]
    assert order[16:].tolist() == [8 * lane + 4 + k for lane in range(4) for k in range(4)]
    # A lane's 8 elements are 4 of each half of K.
    order = KINDS["VMFMA_F32_16x16x32_F8E4M3FNUZ"].k_order
    assert order.tolist() == [16 * half + 4 * lane + k for lane in range(4) for half in range(2) for k in range(4)]


def test_errors() -> None:
    layout = (KINDS["MFMA_F32_16x16x16_F16"].layouts or ())[0]
    with pytest.raises(ValueError, match=r"\(16, 16\), not \(16, 8\)"):
        distribute(np.zeros((16, 8), np.uint16), layout, 64)
    with pytest.raises(ValueError, match="4 elements of the tile, not 5"):
        gather(np.zeros((64, 5), np.uint16), layout)


def coordinates(layout: LaneLayout, lane: int) -> list[tuple[int, ...]]:
    """Return the places of one lane's elements in the tile, from the definition of a layout."""
    axes = []
    for o_count, threads, stride, e_count in zip(
        layout.outer, layout.thread, layout.strides, layout.element, strict=True
    ):
        thread = lane // stride % threads if stride else 0
        axes.append([(o * threads + thread) * e_count + e for o in range(o_count) for e in range(e_count)])
    return list(product(*axes))


@each_row(*WITH_LAYOUT)
def test_each_layout_covers_its_tile_evenly(kind: TileKind) -> None:
    for layout, shape in zip(kind.layouts or (), kind.operand_shapes, strict=True):
        assert layout.shape == shape
        held = Counter(place for lane in range(kind.lanes) for place in coordinates(layout, lane))
        assert set(held) == set(product(*map(range, shape)))
        assert set(held.values()) == {kind.lanes * layout.registers // math.prod(shape)}


def test_kinds_by_hand() -> None:
    kind = KINDS["MFMA_F32_32x32x8_F16"]
    assert (kind.types, kind.shape, kind.blocks, kind.lanes) == (("f16", "f16", "f32"), (32, 32, 8), 1, 64)
    assert kind.lane_shapes == ((4,), (4,), (16,))
    assert kind.layouts is not None
    # The accumulator: a lane's column is lane % 32; its rows come in four groups of four, eight apart.
    assert coordinates(kind.layouts[2], 33)[:5] == [(4, 1), (5, 1), (6, 1), (7, 1), (12, 1)]
    mixed = KINDS["MFMA_F32_16x16x128_F8E4M3FN_F8E5M2"]
    assert mixed.types == ("f8E4M3FN", "f8E5M2", "f32")
    blocks = KINDS["MFMA_I32_16x16x4x4B_I8"]
    assert blocks.operand_shapes == ((4, 16, 4), (4, 4, 16), (4, 16, 16))
    assert KINDS["NV_MMA_SYNC_F32_16x8x16_F16"].lane_shapes == ((4, 2), (2, 2), (2, 2))
    # Pairs of lanes that would hold the same eight rows of A have half of each.
    assert KINDS["VDMFMA_F32_8x16x64x2_F16"].lane_shapes == ((8,), (16,), (2,))
    scaled = KINDS["MFMA_SCALE_F32_16x16x128_B32"]
    assert scaled.operand_shapes == ((16, 4, 32), (4, 32, 16), (16, 4), (4, 16), (16, 16))
    assert scaled.lane_shapes == ((32,), (32,), (1,), (1,), (4,))
    assert KINDS["NV_WMMA_F16_16x16x16_F16"].lane_shapes is None
