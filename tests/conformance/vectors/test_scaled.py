"""Elements and scales that are drawn together: results fill their format, and blocks share their scale."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from halfulp.conformance.comparing.op_case import op_case
from halfulp.conformance.vectors.columns import Role
from halfulp.conformance.vectors.computation import OpComputation
from halfulp.conformance.vectors.recipe import Recipe
from halfulp.fp_formats.formats import FORMATS

CASES = (
    ("arith.scaling_truncf", "f32", "f4E2M1FN"),
    ("arith.scaling_truncf", "bf16", "f8E4M3FN"),
    ("arith.scaling_truncf", "f16", "f6E3M2FN"),
    ("arith.scaling_truncf", "f64", "f8E5M2"),
    ("arith.scaling_extf", "f4E2M1FN", "f16"),
    ("arith.scaling_extf", "f8E5M2", "f16"),
    ("arith.scaling_extf", "f8E4M3FN", "f32"),
)


def recipe(case: tuple[str, str, str], level: Any, block: int | None, scale: str = "f8E8M0FNU") -> Recipe:
    op, source, target = case
    return Recipe(OpComputation(op_case(op, [source, scale], target)), level, seed=3, count=20_000, block=block)


@pytest.mark.parametrize("block", [None, 32])
@pytest.mark.parametrize("level", ["1", "random", "weighted"])
@pytest.mark.parametrize("case", CASES, ids="-".join)
def test_results_fill_their_format(case: tuple[str, str, str], level: Any, block: int | None) -> None:
    """Drawn alone, 76 to 98 % of the results were zero or the largest value."""
    fmt = FORMATS[case[2]]
    made = recipe(case, level, block)
    place = next(k for k, column in enumerate(made.columns) if column.role is Role.RESULT)
    results = np.concatenate([chunk[place] for chunk in made.chunks()])
    magnitudes = results & results.dtype.type(fmt.code_mask ^ (fmt.sign_mask or 0))
    extreme = float(((magnitudes == 0) | (magnitudes >= fmt.max_code)).mean())
    # Of the 8 magnitudes of f4E2M1FN, these are 2.
    assert 0 < extreme < (0.45 if fmt.bits == 4 else 0.35)
    if fmt.bits <= 8:
        numbers = np.unique(magnitudes[magnitudes <= fmt.max_code])
        # In level 1 the first rows have few different elements.
        assert numbers.size >= (0.5 if level == "1" else 0.8) * (fmt.max_code + 1)


@pytest.mark.parametrize("level", ["1", "random"])
@pytest.mark.parametrize("case", CASES, ids="-".join)
def test_rows_of_a_block_share_their_scale(case: tuple[str, str, str], level: Any) -> None:
    _, scales, *_ = next(iter(recipe(case, level, 32).chunks()))
    blocks = scales.reshape(-1, 32)
    assert (blocks == blocks[:, :1]).all()
    assert np.unique(blocks[:, 0]).size > 10


def test_what_stays() -> None:
    """Every combination is every combination."""
    everything = Recipe(OpComputation(op_case("arith.scaling_extf", ["f4E2M1FN", "f8E8M0FNU"], "f32")), "exhaustive")
    (chunk,) = everything.chunks()
    assert np.unique(chunk[0].astype(int) << 8 | chunk[1]).size == 1 << 12
