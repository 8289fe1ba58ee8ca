"""The errors of elementary functions by margins: exact numbers lie inside, and no function is left out silently."""

from __future__ import annotations

import numpy as np
import pytest
from flint import arb

from halfulp.fp_formats.paths.margins import APPROXIMATIONS
from halfulp.fp_formats.reals.functions import FUNCTIONS, bits_of_precision
from halfulp.semantics.ball_rules import FEWEST, SLOPES, covers
from halfulp.semantics.shadows import Shadowed, errors

POSITIVE = ("log", "log2", "log10", "log1p", "rsqrt")
COUNT = 2_000


@pytest.mark.parametrize("name", SLOPES)
def test_enclosures(name: str) -> None:
    draw = np.random.default_rng(sum(map(ord, name)))
    value = (draw.uniform(-3, 3, COUNT) * 10.0 ** draw.integers(-6, 2, COUNT)).astype(np.float32).astype(np.float64)
    if name in POSITIVE:
        value = np.abs(value)
    error = value * draw.uniform(-1, 1, COUNT) * 10.0 ** draw.integers(-9, -2, COUNT)
    radius = np.abs(error) * 10.0 ** draw.integers(-12, -1, COUNT)
    with np.errstate(all="ignore"):
        result = APPROXIMATIONS[name].function(value).astype(np.float32).astype(np.float64)
    found = errors(name, result, Shadowed(value, error, radius, narrow=True))
    ball, known = FUNCTIONS[name].ball, 0
    with bits_of_precision(400):
        for k in range(COUNT):
            own, total = (arb(shadow.error[k], shadow.radius[k]) for shadow in found)
            if np.isfinite(found.own.radius[k]):
                assert own.overlaps(ball(arb(value[k])) - result[k]), (name, k)
            if np.isfinite(found.total.radius[k]):
                known += 1
                for side in (-1, 0, 1):
                    exact = ball(arb(value[k]) + arb(error[k]) + side * arb(radius[k])) - result[k]
                    assert total.overlaps(exact), (name, k, side)
    assert known > COUNT * 0.9


def test_small_arrays_are_left_to_balls() -> None:
    assert covers("exp", FEWEST)
    assert not covers("exp", FEWEST - 1)
    assert not covers("tgamma", FEWEST)


def test_exact_operands_have_no_other_error() -> None:
    value = np.linspace(0.5, 1, FEWEST)
    found = errors("exp", np.exp(value), Shadowed(value, np.zeros(FEWEST), np.zeros(FEWEST), narrow=True))
    assert np.array_equal(found.own.error, found.total.error)
