"""`hu.quant.pack`: blocks as ggml makes them."""

import zlib
from typing import Any

import numpy as np
import pytest
from tables import each_row

import halfulp as hu

# Sums (CRC-32) of the codes of all parts that gguf 0.19 makes of the array below; of the types with blocks of 256, those
# of quantize_row_q*_K_ref of ggml (October 2026), compiled by gcc with -ffp-contract=off.
RECORDED = (
    ("Q4_0", 0x69A24ABF),
    ("Q4_1", 0x5A7CE31C),
    ("Q5_0", 0xA88C9DE4),
    ("Q5_1", 0x9AB2F887),
    ("Q8_0", 0xB4218CC2),
    ("Q2_K", 0xABC9678E),
    ("Q3_K", 0xE0DD08C6),
    ("Q4_K", 0xD053EB14),
    ("Q5_K", 0x72BBCCD3),
    ("Q6_K", 0x26D3B883),
)


@each_row(*RECORDED)
def test_what_gguf_makes(format: str, recorded: int) -> None:
    size = 256 if format.endswith("K") else 32
    x = (np.random.default_rng(12).standard_normal((64, size)) * np.exp2(np.arange(64) % 17 - 8)[:, None]).astype(
        np.float32
    )
    x[:8], x[8] = np.random.default_rng(13).integers(-17, 17, (8, size)) / 2, 0
    if size == 256:
        x[9, :64], x[10] = 0, np.abs(x[10])
    found = hu.quant.pack(x, format)
    assert zlib.crc32(b"".join(part.bits.tobytes() for part in found.parts.values())) == recorded


def test_a_block_by_hand() -> None:
    x = hu.convert([[-8.0, 7.0, 0.5, -0.5, 3.25] + [0.0] * 27], "bf16")
    found = hu.quant.pack(x, "Q4_0")  # the scale is 1: an element is floor(x + 8.5) - 8
    assert found.scales.tolist() == [[1.0]]
    assert found.elements.tolist()[0][:6] == [-8, 7, 1, 0, 3, 0]
    assert hu.dequantize(found) == found.dequantize()
    assert found.dequantize().numpy()[0, :3].tolist() == [-8.0, 7.0, 1.0]


ONES = np.ones((2, 32), np.float32)
REFUSED = (
    (ONES, "IQ4_NL", ValueError, "must be one of Q4_0, Q4_1, Q5_0, Q5_1, Q8_0, Q2_K, Q3_K, Q4_K, Q5_K, Q6_K"),
    (ONES, "Q4_K", ValueError, "must be a multiple of 256"),
    (ONES[:, :31], "Q4_0", ValueError, "must be a multiple of 32"),
    (ONES[0, 0], "Q4_0", ValueError, "must be a multiple of 32"),
    (ONES * np.float32(np.inf), "Q8_0", ValueError, "not finite"),
    (ONES * np.float32(2.0**-119), "Q8_0", ValueError, "no magnitude of at least"),
    (ONES.astype(np.float64), "Q8_0", hu.TypeMismatch, "does not have every value of 'f64'"),
    (ONES.astype(np.int8), "Q8_0", hu.TypeMismatch, "must have floats"),
)


@each_row(*REFUSED)
def test_refused(x: Any, format: str, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        hu.quant.pack(x, format)
