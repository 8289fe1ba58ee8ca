"""The table of matrix-unit kinds: each layout covers its tile, and lanes hold what IREE 3.13 says they hold."""

from __future__ import annotations

from collections import Counter
from itertools import product
from math import prod

import pytest

from halfulp.semantics.mma_kinds import Layout, mma_kinds


def coordinates(layout: Layout, lane: int) -> list[tuple[int, ...]]:
    """Where the elements of one lane stand in the tile, written out from the definition of a layout."""
    axes = []
    for o_count, threads, stride, e_count in zip(
        layout.outer, layout.thread, layout.strides, layout.element, strict=True
    ):
        thread = lane // stride % threads if stride else 0
        axes.append([(o * threads + thread) * e_count + e for o in range(o_count) for e in range(e_count)])
    return list(product(*axes))


def test_there_are_as_many_kinds_as_iree_has() -> None:
    assert Counter(kind.family for kind in mma_kinds().values()) == {"mma": 98, "virtual": 18, "scaled": 2}
    assert sum(kind.layouts is None for kind in mma_kinds().values()) == 2


@pytest.mark.parametrize("kind", [kind for kind in mma_kinds().values() if kind.layouts], ids=lambda kind: kind.name)
def test_each_layout_covers_its_tile_evenly(kind) -> None:  # type: ignore[no-untyped-def]
    for layout, shape in zip(kind.layouts, kind.tile_shapes, strict=True):
        assert layout.shape == shape
        held = Counter(place for lane in range(kind.lanes) for place in coordinates(layout, lane))
        assert set(held) == set(product(*map(range, shape)))
        assert set(held.values()) == {kind.lanes * layout.per_lane // prod(shape)}


def test_kinds_by_hand() -> None:
    kind = mma_kinds()["MFMA_F32_32x32x8_F16"]
    assert (kind.types, kind.shape, kind.blocks, kind.lanes) == (("f16", "f16", "f32"), (32, 32, 8), 0, 64)
    assert kind.lane_shapes == ((4,), (4,), (16,))
    assert kind.layouts is not None
    # The accumulator: a lane's column is lane % 32; its rows come in four groups of four, eight apart.
    assert coordinates(kind.layouts[2], 33)[:5] == [(4, 1), (5, 1), (6, 1), (7, 1), (12, 1)]
    mixed = mma_kinds()["MFMA_F32_16x16x128_F8E4M3FN_F8E5M2"]
    assert mixed.types == ("f8E4M3FN", "f8E5M2", "f32")
    blocks = mma_kinds()["MFMA_I32_16x16x4x4B_I8"]
    assert blocks.tile_shapes == ((4, 16, 4), (4, 4, 16), (4, 16, 16))
    assert mma_kinds()["NV_MMA_SYNC_F32_16x8x16_F16"].lane_shapes == ((4, 2), (2, 2), (2, 2))
    # Pairs of lanes that would hold the same eight rows of A have half of each.
    assert mma_kinds()["VDMFMA_F32_8x16x64x2_F16"].lane_shapes == ((8,), (16,), (2,))
    scaled = mma_kinds()["MFMA_SCALE_F32_16x16x128_B32"]
    assert scaled.tile_shapes == ((16, 4, 32), (4, 32, 16), (16, 4), (4, 16), (16, 16))
    assert scaled.lane_shapes == ((32,), (32,), (1,), (1,), (4,))
    assert mma_kinds()["NV_WMMA_F16_16x16x16_F16"].lane_shapes is None
