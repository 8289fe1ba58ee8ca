"""Recipes beside the references of the projects that they come from, and by hand: NVFP4 and FP8 in blocks."""

import zlib

import numpy as np
import numpy.typing as npt
import pytest
from tables import each_row

import halfulp as hu

# Sums (CRC-32) of the elements, one in a byte, and of the scales that NVFP4QuantizerRef of TransformerEngine (August
# 2026) makes of the array below, in blocks of 1 x 16; of 16 x 16; and with a scale for each row.
RECORDED = (
    ("nvfp4-te 16x16", 0x8DB640C2, 0xA101785B),
    ("nvfp4-te rows", 0xE45DA41E, 0x996C7411),
    ("nvfp4-4over6-mae", 0xBE24119D, 0x5A3D749C),
    ("nvfp4-4over6-mae-f16", 0xBE24119D, 0x5A3D749C),
    ("nvfp4-4over6-mae-256", 0xB5666994, 0x3F9F98D0),
    ("nvfp4-4over6-mae-256-f16", 0xB5666994, 0x3F9F98D0),
    ("nvfp4-4over6-mse", 0xA7612010, 0xA47F8639),
    ("nvfp4-4over6-mse-f16", 0xA7612010, 0xA47F8639),
    ("nvfp4-4over6-mse-256", 0xE3910F38, 0xCDE43F3F),
    ("nvfp4-4over6-mse-256-f16", 0xE3910F38, 0xCDE43F3F),
    ("nvfp4-4over6-mae 16x16", 0x58EAAA38, 0x32166B3F),
    ("nvfp4-4over6-mse-f16 16x16", 0xA7E5E1B9, 0x618C30BB),
    ("nvfp4-4over6-mse-256 16x16", 0x7DA6042D, 0x0FBDE41B),
    ("nvfp4-4over6-mae-256-f16 16x16", 0xCFEF665D, 0xA29D6819),
)


def numbers() -> npt.NDArray[np.float32]:
    x = np.random.default_rng(46).standard_normal((64, 256)) * np.exp2(np.arange(64) % 9 - 4)[:, None]
    x[1], x[2], x[3] = 0, np.arange(256) / 8, np.tile([4, -4, 3, 2] * 4, 16)
    return x.astype(np.float32)


@each_row(*RECORDED)
def test_what_transformer_engine_gives(recipe: str, elements: int, scales: int) -> None:
    name, _, how = recipe.partition(" ")
    block, scale = (16, 16) if how == "16x16" else None, how if how == "rows" else "amax"
    found = hu.quantize_blocks(numbers(), recipe=name, block=block, tensor_scale=scale)
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


def test_random_bits_of_the_scale() -> None:
    # The sums are those of FBGEMM's py_quantize_mx4 (August 2026), with these numbers in place of its random ones.
    random = np.random.default_rng(49).integers(0, 1 << 31, (64, 8), np.uint32)
    found = hu.quantize_blocks(numbers(), recipe="stochastic", rounding="to_nearest_away", random=random)
    assert zlib.crc32(found.elements.bits.tobytes()) == 0x59AF5013
    assert zlib.crc32(found.scales.bits.tobytes()) == 0x86CE8AEC
    # The significand 1.5 needs all 22 bits, or half a unit of the last place more; 1.75 needs half of them. The
    # largest f32 and zeros stay as they are.
    x = np.array([6, np.nextafter(np.float32(6), np.float32(8)), 7, 3.4e38, 0, 4], np.float32)[:, None]
    for low, raised in ((0, 0), (1 << 21, 1), ((1 << 22) - 1, 2)):
        bits = np.full((6, 1), low | 5 << 22, np.uint32)
        scales = hu.quantize_blocks(x, recipe="stochastic", block=1, random=bits).scales
        above = [1, 2 if raised > 1 else 1, 2 if raised else 1]
        assert scales.tolist() == [[each] for each in (*above, 2.0**125, 2.0**-127, 1)]


def test_random_bits_are_for_the_recipe_that_takes_them() -> None:
    x = np.ones((2, 64), np.float32)
    one = hu.quantize_blocks(x, recipe="stochastic", seed=7)
    assert one.scales == hu.quantize_blocks(x, recipe="stochastic", seed=7).scales
    for arguments, message in (
        ({"recipe": "stochastic"}, "needs seed="),
        ({"recipe": "stochastic", "random": np.zeros((2, 2), np.uint16)}, "integers of 16 bits"),
        ({"recipe": "stochastic", "seed": 1, "to": "f8E5M2"}, "does not take elements"),
        ({"seed": 1}, "takes no random bits"),
    ):
        with pytest.raises(ValueError, match=message):
            hu.quantize_blocks(x, **arguments)


# Sums of what NVFP4QuantizerRef._apply_rht of TransformerEngine (August 2026, PyTorch on a CPU) makes of `numbers`.
@each_row(("te", "f32", 0xC0E4A8AA), ("te", "bf16", 0x5310FCDB), (None, "f32", 0xFD9F5322), (None, "bf16", 0xEEE71AE6))
def test_the_hadamard_transform_of_transformer_engine(signs: str | None, type: str, recorded: int) -> None:
    found = hu.quant.hadamard(hu.convert(numbers(), type), signs)
    assert zlib.crc32(found.bits.tobytes()) == recorded


def test_the_hadamard_transform_by_hand() -> None:
    x = np.random.default_rng(3).integers(-64, 64, (2, 64, 3)).astype(np.float32)
    signs = np.random.default_rng(4).choice([-1, 1], 16)
    found = hu.quant.hadamard(x, signs, axis=1)
    for block, column in ((0, 0), (3, 2)):
        given = x[1, 16 * block : 16 * block + 16, column]
        for j in range(16):
            exact = sum(int(given[i]) * int(signs[i]) * (-1) ** (i & j).bit_count() for i in range(16))
            assert found.numpy()[1, 16 * block + j, column] == exact / 4
    assert np.array_equal(hu.quant.hadamard(found, signs, axis=1, inverse=True).numpy(), x)
    # The products are 2^25, 2, 2 and 2. In order, each 2 is lost at a tie; the exact sum is a tie that goes up.
    big = np.array([2**26, 4, 4, 4], np.float32)
    order = {each: hu.quant.hadamard(big, [1, 1, 1, 1], order=each).tolist()[0] for each in ("sequential", "exact")}
    assert order == {"sequential": 2.0**25, "exact": 2.0**25 + 8}
    for wrong, message in (("t", "signs is 't'"), ([1, 2, 1, 1], "other numbers"), ([1] * 8, "power of four")):
        with pytest.raises(ValueError, match=message):
            hu.quant.hadamard(big, wrong)
    with pytest.raises(ValueError, match="not a multiple of 16"):
        hu.quant.hadamard(big)
    with pytest.raises(ValueError, match="axis is 1"):
        hu.quant.hadamard(big, axis=1)


def test_no_calibrated_scale() -> None:
    with pytest.raises(ValueError, match="leave tensor_scale=… out"):
        hu.quantize_blocks(np.ones(16, np.float32), recipe="nvfp4-4over6-mae", tensor_scale=0.5)


# Sums of the elements and of the scales, in f32, of the array below: "fp8-te" by BlockwiseQuantizerReference of
# TransformerEngine, "fp8-torchao" by torch_blockwise_scale_act_quant_lhs and torch_blockwise_scale_weight_quant of
# torchao, "fp8-deepgemm" by per_block_cast_to_fp8 of DeepGEMM. "fp8-deepseek", "fp8-vllm" and "fp8-flashinfer" are
# kernels: their steps in torch.
FP8 = (
    ("fp8-te", "f8E4M3FN", None, 0x71F471F8, 0x0F85F540),
    ("fp8-te", "f8E4M3FN", (128, 128), 0x1BC425BF, 0xAFE079D3),
    ("fp8-te", "f8E5M2", None, 0x26A8FD44, 0xF7D823C6),
    ("fp8-te", "f8E5M2", (128, 128), 0xD5B20DFE, 0x5E59CF67),
    ("fp8-te-pow2", "f8E4M3FN", None, 0x6DBD791D, 0x8DD6095F),
    ("fp8-te-pow2", "f8E4M3FN", (128, 128), 0x13DE60B5, 0xC60F74EC),
    ("fp8-te-pow2", "f8E5M2", None, 0x348CC211, 0x1EE9B988),
    ("fp8-te-pow2", "f8E5M2", (128, 128), 0xDEB7EF3D, 0x6DB90B39),
    ("fp8-deepseek", "f8E4M3FN", None, 0xF19B7225, 0x84E33C37),
    ("fp8-deepseek", "f8E4M3FN", (128, 128), 0xA6261A12, 0xB777C753),
    ("fp8-deepseek-ue8m0", "f8E4M3FN", None, 0xE9AA9D3B, 0xEF51F2D7),
    ("fp8-vllm", "f8E4M3FN", None, 0x1867E880, 0x3DFA5D5B),
    ("fp8-vllm-ue8m0", "f8E4M3FN", None, 0xE9AA9D3B, 0xFDE3BEBC),
    ("fp8-flashinfer", "f8E4M3FN", None, 0x606E1B2C, 0x3DFA5D5B),
    ("fp8-deepgemm", "f8E4M3FN", (128, 128), 0xA6261A12, 0xB777C753),
    ("fp8-torchao", "f8E4M3FN", None, 0x40D8D5FF, 0x6FC4C87A),
    ("fp8-torchao", "f8E4M3FN", (128, 128), 0xA6261A12, 0x6F5F8A13),
)


@each_row(*FP8)
def test_fp8_in_blocks(recipe: str, to: str, block: tuple[int, int] | None, elements: int, scales: int) -> None:
    x = (np.random.default_rng(48).standard_normal((256, 512)) * np.exp2(np.arange(256) % 31 - 15)[:, None]).astype(
        np.float32
    )
    x[1, :128], x[2, :128], x[3, :128] = 0, 448, 1e-30
    x[:128, 128:256] *= np.float32(2.0**-120)
    x = (x.view(np.uint32) & np.uint32(0xFFFC0000)).view(np.float32)
    found = hu.quantize_blocks(x, to, recipe, block=block)
    assert zlib.crc32(found.elements.bits.tobytes()) == elements
    assert zlib.crc32(found.scales.bits.tobytes()) == scales


def test_the_steps_of_fp8_part_beside_a_tie() -> None:
    # The scale is 4608, and -100 is a tie, which is rounded to 96. (1 / amax) * 448 is above 1 / 4608: 104.
    x = np.zeros((1, 128), np.float32)
    x[0, :2] = 2064384, -460800
    found = {
        name: hu.quantize_blocks(x, "f8E4M3FN", f"fp8-{name}").elements.tolist()[0][1] for name in ("vllm", "deepgemm")
    }
    assert found == {"vllm": -96, "deepgemm": -104}


def test_the_inputs_that_are_not_finite() -> None:
    x = np.ones((2, 128), np.float32)
    x[:, 0] = np.nan, np.inf
    for recipe in (
        "fp8-te",
        "fp8-te-pow2",
        "fp8-deepseek",
        "fp8-deepgemm",
        "fp8-vllm",
        "fp8-flashinfer",
        "fp8-torchao",
    ):
        found = hu.quantize_blocks(x, recipe=recipe)  # by default, elements of f8E4M3FN
        elements = found.elements.numpy().astype(np.float32)
        assert np.isnan(elements[0]).all(), recipe
        assert np.isnan(elements[1, 0]), recipe
        assert (elements[1, 1:] == 0).all(), recipe
        assert str(found.scales) == "Value(2x1xf32=[nan][inf])", recipe
