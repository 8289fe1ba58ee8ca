"""Kernels of the folder data/triton: each result lies within the bound of its formats of the formula in float64, and
the kernels that were compiled for a chip give its bits.
"""

from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from tables import each_row
from triton_programs import PROGRAMS, arguments

import halfulp as hu

Floats = npt.NDArray[np.float64]
F32, BF16, E4M3 = 2.0**-24, 2.0**-8, 2.0**-4
"""Half of the distance to the next number, as a part of the number."""


@cache
def launched(name: str, form: str = "ttir") -> Mapping[str, npt.NDArray[Any]]:
    """Run a kernel in one of its forms and return its arrays."""
    given, grid = arguments(name)
    hu.run(hu.load(PROGRAMS / f"{name}.{form}"), *given.values(), grid=grid)
    return {name: each for name, each in given.items() if isinstance(each, np.ndarray)}


def wide(name: str) -> Mapping[str, npt.NDArray[Any]]:
    """Return the inputs and the results in float64."""
    return dict(np.load(PROGRAMS / f"{name}.npz"))


def _zero(data: Mapping[str, Any], result: Floats) -> Floats:
    return np.zeros_like(result)


def _part(*units: float) -> Callable[[Mapping[str, Any], Floats], Floats]:
    return lambda data, result: sum(units) * np.abs(result)


def _sum(axis: int) -> Callable[[Mapping[str, Any], Floats], Floats]:
    """A sum of n numbers adds (n - 1) times the unit of the sum of their magnitudes."""

    def bound(data: Mapping[str, Any], result: Floats) -> Floats:
        terms = np.abs(data["in_x"].astype(np.float64).reshape(32, 64))
        found: Floats = (terms.shape[axis] - 1) * F32 * terms.sum(axis=axis)
        return found

    return bound


def _normalized(data: Mapping[str, Any], result: Floats) -> Floats:
    """Sums of 512 numbers or fewer, and some ten ops: no number is larger than twice the largest result."""
    return np.full_like(result, 2 * (512 + 10) * F32 * np.abs(result).max())


ROWS = (
    ("add_mask", "z", _part(F32)),
    ("argmax_rows", "i", _zero),
    ("argmax_rows", "v", _zero),
    ("histogram_atomic", "counts", _zero),
    ("histogram_atomic", "sums", _zero),
    ("int8_matmul_requant", "c", _zero),
    ("stochastic_round", "y", _zero),
    ("stochastic_round", "u", _part(F32)),
    ("fp8_group_quant", "s", _part(F32)),
    ("fp8_group_quant_fnuz", "s", _part(F32)),
    # The scale is rounded too, and a quotient near a tie may go to the other side.
    ("fp8_group_quant", "q", lambda data, result: (E4M3 + 2 * F32) * np.abs(result) + 2.0**-10),
    ("fp8_group_quant_fnuz", "q", lambda data, result: (E4M3 + 2 * F32) * np.abs(result) + 2.0**-11),
    ("tile_sums", "rows", _sum(1)),
    ("tile_sums", "columns", _sum(0)),
    # A sum of 1,000 terms, and what exp, the differences and the division add.
    ("softmax_bf16", "y", _part(BF16, 1.01 * 1010 * F32)),
    ("layer_norm_fwd", "y", _normalized),
    ("layer_norm_dx", "dx", _normalized),
    # The sum is exact in each step; the ops of gelu add some units of f32, of numbers up to 1 + abs(result).
    ("matmul_bias_gelu", "c", lambda data, result: BF16 * np.abs(result) + 16 * F32 * (1 + np.abs(result))),
)


@each_row(*ROWS)
def test_results_are_near_float64(name: str, result: str, bound: Callable[..., Floats]) -> None:
    got, data = launched(name)[result].astype(np.float64), wide(name)
    expected = data[f"wide_{result}"].astype(np.float64).reshape(got.shape)
    excess = np.abs(got - expected) - bound(data, expected)
    assert excess.max() <= 0, excess.max()


# What no order of additions and no approximate instruction decides is known for both chips.
@each_row(
    ("add_mask", "z"),
    ("argmax_rows", "i"),
    ("argmax_rows", "v"),
    ("histogram_atomic", "counts"),
    ("histogram_atomic", "sums"),
    ("int8_matmul_requant", "c"),
    ("stochastic_round", "y"),
    ("stochastic_round", "u"),
)
def test_determined_bits_are_those_of_the_chips(name: str, result: str) -> None:
    got, data = launched(name)[result], wide(name)
    for chip in ("cuda90", "gfx942"):
        expected = data[f"{chip}_{result}"]
        assert np.array_equal(got.view(expected.dtype).reshape(expected.shape), expected)


CHIPS = ("cuda90", "gfx942")


def known_bits(name: str, chip: str) -> dict[str, npt.NDArray[Any]]:
    """Return the results of a kernel on a chip, as far as they are known."""
    return {key.removeprefix(f"{chip}_"): bits for key, bits in wide(name).items() if key.startswith(f"{chip}_")}


def check_chips(name: str) -> None:
    """Compare the results of a kernel that was compiled for chips with their bits."""
    known = {chip: bits for chip in CHIPS if (bits := known_bits(name, chip))}
    assert known
    for chip, results in known.items():
        got = launched(name, f"{chip}.ttgir")
        for result, right in results.items():
            assert np.array_equal(got[result].view(right.dtype).reshape(right.shape), right), (chip, result)


@each_row(
    "add_mask", "argmax_rows", "cumsum_rows", "fp8_group_quant", "histogram_atomic", "int8_matmul_requant",
    "matmul_f32_ieee", "persistent_matmul", "sum_squares_128", "tile_sums",
)  # fmt: skip
def test_targets_give_the_bits_of_the_chips(name: str) -> None:
    check_chips(name)


@pytest.mark.long
@each_row(
    "dot_scaled_mxfp4", "dot_scaled_mxfp8_mxfp4", "fp8_block_matmul", "fp8_group_quant_fnuz", "matmul_f16",
    "matmul_f32_bf16x6", "stochastic_round", "sum_squares",
)  # fmt: skip
def test_other_targets_give_the_bits_of_the_chips(name: str) -> None:
    check_chips(name)


def test_more_warps_may_add_in_another_order() -> None:
    text = (PROGRAMS / "tile_sums.cuda90.ttgir").read_text()
    more = text.replace("warpsPerCTA = [4", "warpsPerCTA = [8").replace('num-warps" = 4', 'num-warps" = 8')
    first, second = hu.parse(text), hu.parse(more)
    # A row lies in one warp; a column is added over the registers of a thread, its lanes and the warps.
    found = hu.same_order(first, second)
    assert [each[:2] for each in found.outputs] == [("argument 1", True), ("argument 2", False)]
    assert found.same is False
    assert hu.same_order(text, first).same is True
    with pytest.raises(hu.errors.InputError, match="a module has none"):
        hu.same_order(text, "func.func @f() { return }")
    sums = []
    for module in (first, second):
        arrays = np.array(wide("tile_sums")["in_x"]), np.zeros(32, np.float32), np.zeros(64, np.float32)
        hu.run(module, *arrays, grid=1)
        sums.append(arrays)
    assert np.array_equal(sums[0][1], sums[1][1])
    assert not np.array_equal(sums[0][2], sums[1][2])


def test_integers_are_the_same_in_tensor_memory() -> None:
    # Sums of integers are exact on each chip, and the product and the sum behind them are one fused multiply-add.
    got = launched("int8_matmul_requant", "cuda100.ttgir")
    for result, bits in known_bits("int8_matmul_requant", "cuda90").items():
        assert np.array_equal(got[result], bits)


def test_sums_that_depend_on_a_race_are_open() -> None:
    """Products are fused into the first additions, so the lanes of a warp disagree: in three rows of 32 it is seen."""
    data = wide("sum_squares_128")
    sums = hu.Buffer.from_numpy(np.zeros(32, np.float32))
    kernel = hu.load(PROGRAMS / "sum_squares_128.cuda90.ttgir")
    hu.run(kernel, data["in_x"], sums, 128, grid=32, track_open=True)
    got = sums.load()
    possible = data["cuda90any_s"].view(np.uint32)
    assert (got.bits == possible).all(axis=1).any()
    several = (possible != possible[0]).any(axis=0)
    assert got.open is not None
    assert several.sum() == 3
    assert (got.open[several] != 0).all()
    # The lanes of different warps may win: this makes one more row open.
    assert np.count_nonzero(got.open) <= 4
    # Without fusion all lanes have the same sum.
    hu.run(kernel, data["in_x"], sums, 128, grid=32, track_open=True, fp_fusion="off")
    plain = sums.load()
    assert plain.open is None or not plain.open.any()
