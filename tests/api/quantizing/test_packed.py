"""`hu.quant.pack` and `hu.quant.unpack`: blocks as ggml makes them, and groups as AWQ and GPTQ store them."""

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


# Sums (CRC-32) of the weights that dequantize_gemm of AutoAWQ (May 2025) and QuantLinear of AutoGPTQ (April 2025, in
# PyTorch) make of the arrays below.
GROUPS = (
    ("awq", 4, "f16", 0x501620E5),
    ("awq", 4, "bf16", 0x08D43B76),
    ("gptq", 2, "f16", 0xEF187A30),
    ("gptq", 3, "f16", 0x2B6E9087),
    ("gptq", 4, "bf16", 0xB8D3087F),
    ("gptq", 8, "f32", 0x728193BB),
)


@each_row(*GROUPS)
def test_what_awq_and_gptq_give(layout: str, bits: int, type: str, recorded: int) -> None:
    rng = np.random.default_rng(48)
    words = (128, 8) if layout == "awq" else (4 * bits, 64)
    qweight = rng.integers(0, 1 << 32, words, np.uint32).view(np.int32)
    qzeros = rng.integers(0, 1 << 32, (4, 2 * bits), np.uint32).view(np.int32)
    scales = rng.standard_normal((4, 64)).astype(np.float32)
    scales.view(np.uint32)[...] &= np.uint32(0xFFFE0000)
    g_idx = rng.integers(0, 4, 128).astype(np.int32) if layout == "gptq" else None
    found = hu.quant.unpack(layout, qweight, qzeros, hu.convert(scales, type), g_idx=g_idx, bits=bits)
    assert zlib.crc32(found.dequantize().bits.tobytes()) == recorded
    assert hu.dequantize(found) == found.dequantize()


WORD = np.array([[0x76543210]], np.int32)
SCALES = np.full((1, 8), 0.5, np.float16)


def test_groups_by_hand() -> None:
    awq = hu.quant.unpack("awq", WORD, WORD, SCALES)
    assert awq.elements.tolist() == awq.zero_points.tolist() == [[0, 4, 1, 5, 2, 6, 3, 7]]
    assert repr(awq) == "PackedGroups: 1x8 of i4, scales of f16, 1 groups, layout awq"
    gptq = hu.quant.unpack("gptq", np.repeat(WORD, 8, 1), np.array([[-1]], np.int32), SCALES)
    assert gptq.zero_points.tolist() == [[16] * 8]  # as stored, less one
    assert gptq.dequantize().tolist() == [[(each - 16) / 2] * 8 for each in range(8)]
    plain = hu.quant.unpack("gptq-v2", np.repeat(WORD, 8, 1), np.array([[-1]], np.int32), SCALES)
    assert plain.zero_points.tolist() == [[15] * 8]
    # Two groups of four inputs, and columns for eight.
    gemv = hu.quant.unpack(
        "awq-gemv", WORD, np.array([[0x32]], np.int32), np.array([[2, 4, *[9] * 6]], np.float16), group_size=4
    )
    assert gemv.dequantize().tolist() == [[-4.0, -2.0, 0.0, 2.0, 4.0, 8.0, 12.0, 16.0]]
    # 3 bits: the eleventh integer has its lowest two bits in the first word, and the third one in the second word.
    words = np.array([[-1 << 30], [1], [0]], np.int32).repeat(32, 1)
    three = hu.quant.unpack("gptq", words, np.zeros((1, 3), np.int32), np.ones((1, 32), np.float16), bits=3)
    assert [row[0] for row in three.elements.tolist()] == [7 if place == 10 else 0 for place in range(32)]


WRONG_GROUPS: tuple[tuple[Any, ...], ...] = (
    (("awk", WORD, WORD, SCALES), {}, ValueError, "did you mean `awq`"),
    (("awq", WORD, WORD, SCALES), {"bits": 3}, ValueError, "has 4"),
    (("awq", WORD, WORD, SCALES[:, :4]), {}, ValueError, "the shapes do not agree"),
    (("awq", WORD, WORD, SCALES), {"g_idx": [1]}, ValueError, "g_idx has 1 to 1, but there are 1 groups"),
    (("awq", WORD, WORD, SCALES), {"g_idx": [0, 0]}, ValueError, "one integer for each of the 1 inputs"),
    (("awq", WORD, WORD, SCALES), {"g_idx": [0.0]}, ValueError, "but is 'tensor<1xf64>'"),
    (("awq", WORD, WORD, SCALES), {"g_idx": np.zeros(1, bool)}, ValueError, "one integer for each"),
    (("awq", WORD, WORD, SCALES), {"g_idx": [0], "group_size": 1}, ValueError, "both given"),
    (("awq-gemv", WORD, WORD, SCALES), {}, ValueError, "needs group_size"),
    (("awq", WORD, WORD, SCALES.repeat(3, 0)), {}, ValueError, "does not divide 1 inputs"),
    (("gptq", WORD, WORD, SCALES), {"bits": 3}, ValueError, "integers of 3 bits"),
    (("awq", SCALES, WORD, SCALES), {}, hu.TypeMismatch, "must be an array of i32"),
    (("awq-gemv", WORD, WORD, SCALES[0]), {"group_size": 1}, ValueError, "but must have two dimensions"),
    (("awq", WORD, WORD, SCALES), {"bits": 4.0}, TypeError, "bits is 4.0, but must be an integer"),
    (("awq", WORD, WORD, SCALES), {"group_size": 1.0}, TypeError, "group_size is 1.0, but must be an integer"),
    ((None, WORD, WORD, SCALES), {}, ValueError, "layout is 'None', but must be one of awq"),
    (("gptq", WORD[:0], WORD[:0], SCALES[:0]), {}, ValueError, "does not divide 0 inputs"),
    (("awq", WORD, WORD, SCALES.astype(np.int32)), {}, hu.TypeMismatch, "scales has elements of 'i32'"),
    (("awq", WORD, WORD, SCALES.astype(np.float64)), {}, hu.TypeMismatch, "must have f16, bf16 or f32"),
)


@each_row(*WRONG_GROUPS)
def test_refused_groups(given: Any, options: dict[str, Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        hu.quant.unpack(*given, **options)
