"""The blocks of gguf beside what the package gguf 0.19 makes of them, and by hand."""

import zlib

import numpy as np
from tables import each_row

from halfulp.quantizing.packed import PackedBlocks
from halfulp.semantics.gguf_blocks import BLOCK_TYPES

# The sums (CRC-32) of what gguf 0.19 gives for 256 blocks of random bytes, with 0x7FC00000 for each NaN.
RECORDED = (
    ("Q4_0", 0x28535EB8),
    ("Q4_1", 0xB213FEC8),
    ("Q5_0", 0xE2976E75),
    ("Q5_1", 0xCB15CEE7),
    ("Q8_0", 0x8662097D),
    ("Q2_K", 0xF1BE7527),
    ("Q3_K", 0x195E53CC),
    ("Q4_K", 0x60AF398F),
    ("Q5_K", 0x883DB8A7),
    ("Q6_K", 0xE1776CFC),
    ("MXFP4", 0x62910C33),
    ("NVFP4", 0x53BAC9AB),
)


def test_all_types_are_recorded() -> None:
    assert [name for name, _ in RECORDED] == list(BLOCK_TYPES)


@each_row(*RECORDED)
def test_random_blocks_give_what_gguf_gives(name: str, recorded: int) -> None:
    row = BLOCK_TYPES[name]
    raw = np.random.default_rng(row.code).integers(0, 256, (256, row.bytes), dtype=np.uint8)
    blocks = PackedBlocks.from_bytes(name, raw.reshape(-1), (256, row.size))
    assert zlib.crc32(blocks.dequantize().bits.tobytes()) == recorded


def test_the_parts_of_a_block_of_q4_k() -> None:
    scales = bytes([1, 2, 3, 4, 5, 6, 7, 8, 0x21, 0x43, 0x65, 0x87])  # of the last four: scale 1, minimum 2, and so on
    elements = bytes(range(16)) * 8
    raw = np.frombuffer(np.array([0.5, 0.25], np.float16).tobytes() + scales + elements, np.uint8)
    found = PackedBlocks.from_bytes("Q4_K", raw, (1, 256))
    assert str(found) == (
        "PackedBlocks: 1x256 of Q4_K: elements of i4, scales of i6, mins of i6, super_scales of f16, super_mins of f16"
    )
    parts = {name: part.numpy().ravel().tolist() for name, part in found.parts.items()}
    assert parts["scales"] == [1, 2, 3, 4, 1, 3, 5, 7]
    assert parts["mins"] == [5, 6, 7, 8, 2, 4, 6, 8]
    assert (parts["super_scales"], parts["super_mins"]) == ([0.5], [0.25])
    assert parts["elements"][:34] == [*range(16), *range(16), 0, 0]
    assert found.dequantize().numpy().ravel()[:3].tolist() == [0.5 * k - 1.25 for k in range(3)]
