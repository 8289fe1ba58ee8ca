"""Many rules at once give what the models give for each, where they say that their results are certain."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from halfulp.fp_formats.formats import FORMATS, Codes
from halfulp.semantics.matrix_units.accumulator import KEPT, Accumulator
from halfulp.semantics.matrix_units.aligned_sums import fits
from halfulp.semantics.matrix_units.kinds import TileOp
from halfulp.semantics.matrix_units.many_rules import ManyRules, takes
from halfulp.semantics.matrix_units.models import multiply_accumulate

TYPES = (("f16", "f32", 8), ("f8E4M3FN", "f16", 5), ("bf16", "bf16", 4), ("tf32", "f32", 3), ("f8E5M2", "f32", 6))
MODES = ("to_nearest_even", "downward", "upward", "toward_zero", "to_nearest_away", "to_odd")
ROWS = 40


def some_codes(type: str, shape: tuple[int, ...], dice: np.random.Generator) -> Codes:
    """Return finite codes, most of them some binades from 1, and some zeros, subnormals and large numbers."""
    fmt = FORMATS[type]
    one = (fmt.emin * -1 + 1) << fmt.mantissa_bits  # the exponent field of 1
    spread = dice.choice([1, 3, 9], shape[:1] + (1,) * (len(shape) - 1))
    near = (
        one
        + (dice.integers(-spread, spread, shape) << fmt.mantissa_bits)
        + dice.integers(1 << 30, size=shape) % (1 << fmt.mantissa_bits)
    )
    codes = np.where(dice.random(shape) < 0.15, dice.integers(0, 1 << fmt.mantissa_bits, shape), near)
    codes = np.where(dice.random(shape) < 0.15, 0, np.clip(codes, 0, fmt.max_code))
    large = (dice.random(shape[:1] + (1,) * (len(shape) - 1)) < 0.3) & (dice.random(shape) < 0.7)
    codes = np.where(large, fmt.max_code - codes % (4 << fmt.mantissa_bits), codes)
    signs = dice.integers(0, 2, shape) * (fmt.sign_mask or 0)
    return np.asarray((codes | signs).astype(fmt.storage_dtype))


def structure(dice: random.Random, k: int) -> Accumulator:
    """Return any structure of additions."""
    tree, c = (
        dice.choice(("flat", "even_odd", "neighbours", "halves", "sequential")),
        dice.choice(("with", "last", "end")),
    )
    partial = dice.choice((KEPT, MODES[0]))
    group = dice.choice((0, 0, *range(1, k)))
    return Accumulator(
        tree=tree, c="last" if tree == "even_odd" else c, partial=partial, group=group,
        order=dice.choice((0, *range(1, k))) if group else 0, flush=dice.random() < 0.3,
        products="rounded" if partial != KEPT and dice.random() < 0.4 else "exact",
        product_overflow=dice.random() < 0.3,
    )  # fmt: skip


def columns_of(dice: random.Random, rule: Accumulator, op: TileOp, count: int) -> dict[str, list[Any]]:
    """Return fields of rules that go together."""
    found: dict[str, list[Any]] = {}
    for _ in range(count):
        exact = dice.random() < 0.25
        each: dict[str, Any] = {
            "bits": None if exact else dice.choice((0, 3, 8, 13, 24, 30)),
            "guard": 0 if exact or rule.c != "last" else dice.choice((0, 0, 2, 5)),
            "shifter": None if exact else dice.choice((None, None, 0, 4, 20)),
            "c_shifter": None if exact else dice.choice((None, None, 1, 9)),
            "zero_exponent": None if exact else dice.choice((None, None, -20, 0, 3)),
            "partial": KEPT if rule.partial == KEPT else dice.choice(MODES),
            "fraction": dice.choice((None, None, 1, FORMATS[op.d].mantissa_bits - 1)),
            "overflow": dice.choice(("default", "infinity", "saturate")),
            "zero": dice.choice(("ieee", "sum", "positive")),
            "nan": dice.choice(("default", "ones")),
            **{name: dice.choice(MODES) for name in ("cut", "cut_sums", "rounding")},
        }
        for name, value in each.items():
            found.setdefault(name, []).append(value)
    return found


@pytest.mark.parametrize("count", [8, pytest.param(300, marks=pytest.mark.long)])
def test_many_rules_are_as_each(count: int) -> None:
    dice, compared, open_ = random.Random(count), 0, 0
    for seed in range(count):
        type, acc, k = TYPES[seed % len(TYPES)]
        op = TileOp("dot products", type, type, acc, acc, (1, 1, k), 1)
        assert takes(op)
        rng = np.random.default_rng(seed)
        a, b = (some_codes(type, (ROWS, k), rng) for _ in range(2))
        c = some_codes(acc, (ROWS,), rng)
        rule = structure(dice, k)
        columns = columns_of(dice, rule, op, 4)
        codes, certain = ManyRules(op, a, b, c).codes(rule, columns)
        for number in range(4):
            each = replace(rule, **{name: values[number] for name, values in columns.items()})
            assert each.bits is None or fits(each, op)
            wanted = multiply_accumulate(each, op, a[:, None, :], b[:, :, None], c[:, None, None])[:, 0, 0]
            sure = certain[number]
            assert (codes[number] == wanted)[sure].all(), (
                each.text,
                op,
                np.flatnonzero((codes[number] != wanted) & sure),
            )
            compared, open_ = compared + ROWS, open_ + int((~sure).sum())
    assert open_ < compared / 4
