"""The recipes "4 over 6" of NVFP4 beside TransformerEngine's reference, and by hand."""

import zlib

import numpy as np
import pytest
from tables import each_row

import halfulp as hu

# Sums (CRC-32) of the elements, one in a byte, and of the scales that NVFP4QuantizerRef of TransformerEngine (August
# 2026) makes of the array below, in blocks of 1 x 16.
RECORDED = (
    ("nvfp4-4over6-mae", 0xBE24119D, 0x5A3D749C),
    ("nvfp4-4over6-mae-f16", 0xBE24119D, 0x5A3D749C),
    ("nvfp4-4over6-mae-256", 0xB5666994, 0x3F9F98D0),
    ("nvfp4-4over6-mae-256-f16", 0xB5666994, 0x3F9F98D0),
    ("nvfp4-4over6-mse", 0xA7612010, 0xA47F8639),
    ("nvfp4-4over6-mse-f16", 0xA7612010, 0xA47F8639),
    ("nvfp4-4over6-mse-256", 0xE3910F38, 0xCDE43F3F),
    ("nvfp4-4over6-mse-256-f16", 0xE3910F38, 0xCDE43F3F),
)


@each_row(*RECORDED)
def test_what_transformer_engine_gives(recipe: str, elements: int, scales: int) -> None:
    x = (np.random.default_rng(46).standard_normal((64, 256)) * np.exp2(np.arange(64) % 9 - 4)[:, None]).astype(
        np.float32
    )
    x[1], x[2], x[3] = 0, np.arange(256) / 8, np.tile([4, -4, 3, 2] * 4, 16)
    found = hu.quantize_blocks(x, recipe=recipe)
    assert zlib.crc32(found.elements.bits.tobytes()) == elements
    assert zlib.crc32(found.scales.bits.tobytes()) == scales


@pytest.mark.parametrize("error", ["mae", "mse"])
def test_a_block_whose_numbers_are_exact_beside_4(error: str) -> None:
    # With e = 1, the scale of the first block is 448. That of the second is 1 for 6, where 4.5 is a tie between two
    # elements, or 1.5 for 4, where all numbers are exact.
    x = np.zeros((2, 16), np.float32)
    x[0, 0], x[1, :4] = 2688, (6, 4.5, 3, 1.5)
    found = hu.quantize_blocks(x, recipe=f"nvfp4-4over6-{error}")
    assert found.scales.tolist() == [[448.0], [1.5]]
    assert found.elements.tolist()[1][:4] == [4.0, 3.0, 2.0, 1.0]
    assert np.array_equal(found.dequantize().numpy(), x)
    assert hu.quantize_blocks(x, recipe="nvfp4-te").elements.tolist()[1][:4] == [6.0, 4.0, 3.0, 1.5]


def test_no_calibrated_scale() -> None:
    with pytest.raises(ValueError, match="leave tensor_scale=… out"):
        hu.quantize_blocks(np.ones(16, np.float32), recipe="nvfp4-4over6-mae", tensor_scale=0.5)
