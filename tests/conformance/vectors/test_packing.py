"""Elements packed into bytes, and blocks with their scales."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from vector_files import random_chunk

from halfulp.conformance.vectors.columns import (
    Column,
    Role,
)
from halfulp.conformance.vectors.packing import (
    CONTAINERS,
    BlockLayout,
    Packing,
    pack,
    pack_blocks,
    unpack,
    unpack_blocks,
)
from halfulp.fp_formats.formats import codes_to_ints


def test_packing_by_hand() -> None:
    low, high = Packing(dense=True), Packing(dense=True, first="high")
    f4, f6 = np.array([1, 2, 0xF], np.uint8), np.array([1, 2, 3, 4], np.uint8)
    assert pack(f4, 4, low).tobytes().hex() == "210f"
    assert pack(f4, 4, high).tobytes().hex() == "12f0"
    assert pack(f6, 6, low).tobytes().hex() == "813010"
    assert pack(f6, 6, high).tobytes().hex() == "0420c4"
    assert pack(f6, 6, CONTAINERS).tobytes().hex() == "01020304"
    assert pack(np.array([0x123, 0x456], np.uint16), 12, low).tobytes().hex() == "236145"
    assert pack(np.array([0x123, 0x456], np.uint16), 12, high).tobytes().hex() == "123456"
    with pytest.raises(ValueError, match="3 elements of 6 bits take 3 bytes, not 2"):
        unpack(np.zeros(2, np.uint8), 6, 3, low)
    with pytest.raises(ValueError, match="low or the high bits, not 'middle'"):
        Packing(True, "middle")  # type: ignore[arg-type]


@settings(max_examples=100, deadline=None)
@given(st.integers(1, 130), st.integers(0, 20), st.sampled_from(["low", "high"]), st.integers(0, 1 << 30))
def test_dense_packing_is_one_long_integer(width: int, count: int, first: Any, seed: int) -> None:
    codes = random_chunk((Column("a", width, "i", Role.OPERAND),), count, seed)[0]
    ints = codes_to_ints(codes, width)
    size = -(-width * count // 8)
    if first == "low":
        expected = sum(code << (width * k) for k, code in enumerate(ints)).to_bytes(size, "little")
    else:
        number = sum(code << (width * (count - 1 - k)) for k, code in enumerate(ints))
        expected = (number << (8 * size - width * count)).to_bytes(size, "big")
    packing = Packing(True, first)
    data = pack(codes, width, packing)
    assert data.tobytes() == expected
    assert packing.size(width, count) == size
    assert codes_to_ints(unpack(data, width, count, packing), width) == ints
    plain = pack(codes, width, CONTAINERS)
    assert len(plain) == CONTAINERS.size(width, count)
    assert codes_to_ints(unpack(plain, width, count, CONTAINERS), width) == ints


@pytest.mark.parametrize(
    ("scales", "expected"),
    [("separate", ["214305 876509", "7f80"]), ("first", ["7f214305 80876509"]), ("last", ["2143057f 87650980"])],
)
def test_blocks_keep_their_scales_where_asked(scales: Any, expected: list[str]) -> None:
    layout = BlockLayout(4, elements=5, scales=scales)
    elements = np.array([[1, 2, 3, 4, 5], [7, 8, 5, 6, 9]], np.uint8)
    parts = pack_blocks(np.array([0x7F, 0x80], np.uint8), elements, layout)
    assert [part.tobytes() for part in parts] == [bytes.fromhex(part) for part in expected]
    back_scales, back = unpack_blocks(parts, 2, layout)
    assert back_scales.tolist() == [0x7F, 0x80]
    assert back.tolist() == elements.tolist()
    with pytest.raises(ValueError, match="3 blocks take"):
        unpack_blocks(parts, 3, layout)


@settings(max_examples=50, deadline=None)
@given(
    st.sampled_from([4, 6, 8, 5, 16]), st.sampled_from([1, 3, 16, 32]), st.sampled_from(["separate", "first", "last"]),
    st.sampled_from([Packing(), Packing(True), Packing(True, "high")]), st.integers(0, 5), st.integers(0, 1 << 30),
)  # fmt: skip
def test_blocks_come_back(width: int, size: int, scales: Any, packing: Packing, blocks: int, seed: int) -> None:
    layout = BlockLayout(width, size, 8, scales, packing)
    columns = (Column("e", width, "i", Role.OPERAND), Column("s", 8, "i8", Role.OPERAND))
    elements = random_chunk(columns, blocks * size, seed)[0].reshape(blocks, size)
    own = random_chunk(columns, blocks, seed)[1]
    parts = pack_blocks(own, elements, layout)
    assert sum(len(part) for part in parts) == blocks * (layout.element_bytes + 1)
    back_scales, back = unpack_blocks(parts, blocks, layout)
    assert (back_scales.tolist(), back.tolist()) == (own.tolist(), elements.tolist())


def test_blocks_of_wrong_shape_or_layout_are_refused() -> None:
    with pytest.raises(ValueError, match="2 scales need elements of shape"):
        pack_blocks(np.zeros(2, np.uint8), np.zeros((2, 31), np.uint8), BlockLayout(4))
    for wrong in ({"scales": "middle"}, {"elements": 0}, {"width": 0}, {"scale_width": 65}):
        with pytest.raises(ValueError, match="scales are|a block has"):
            BlockLayout(**{"width": 4, **wrong})  # type: ignore[arg-type]
