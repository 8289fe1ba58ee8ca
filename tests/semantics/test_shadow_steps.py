"""Functions that jump or choose: their shadows hold what both ends of an operand give."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from math import ceil, floor

import numpy as np
import pytest

from halfulp.semantics.judging import STEPS
from halfulp.semantics.shadows import Shadow, Shadowed, errors


def away(x: Fraction) -> int:
    return floor(x + Fraction(1, 2)) if x >= 0 else ceil(x - Fraction(1, 2))


JUMPS: dict[str, Callable[[Fraction], int]] = {
    "floor": floor,
    "ceil": ceil,
    "trunc": int,
    "round": away,
    "roundeven": round,
}


def holds(shadow: Shadow, place: int, exact: Fraction) -> bool:
    error, radius = (float(np.broadcast_to(part, (COUNT,))[place]) for part in shadow)
    return not np.isfinite(radius) or abs(exact - Fraction(error)) <= Fraction(radius)


COUNT = 3_000


@pytest.mark.long
@pytest.mark.parametrize("name", JUMPS)
def test_jumps(name: str) -> None:
    draw = np.random.default_rng(len(name))
    value = np.concatenate([draw.uniform(-4, 4, COUNT // 2), draw.integers(-9, 9, COUNT // 2) / 2])
    value[:100] *= 2.0 ** draw.integers(0, 60, 100)
    error = draw.choice([0.0, 1e-30, -1e-30, 0.25, -0.5, 1e-9, -3.0], COUNT)
    radius = draw.choice([0.0, 0.0, 1e-31, 1e-12, 0.3], COUNT)
    jump = JUMPS[name]
    result = np.array([float(jump(Fraction(x))) for x in value])
    result[::50] += 1  # a result may be wrong
    found = errors(name, result, Shadowed(value, error, radius), rules=STEPS)
    for k in range(COUNT):
        assert holds(found.own, k, jump(Fraction(value[k])) - Fraction(result[k]))
        for side in (-1, 0, 1):
            exact = Fraction(value[k]) + Fraction(error[k]) + side * Fraction(radius[k])
            assert holds(found.total, k, jump(exact) - Fraction(result[k])), (name, value[k], error[k], radius[k], side)
    exactly = (error == 0) & (radius == 0)
    assert (found.total.radius[exactly] == 0).all()


def test_copysign_and_clamp() -> None:
    draw = np.random.default_rng(7)
    x, y, low, high = (draw.uniform(-2, 2, COUNT) for _ in range(4))
    parts = [(draw.choice([0.0, 0.5, -1.5, 1e-20], COUNT), draw.choice([0.0, 0.25, 1e-21], COUNT)) for _ in range(3)]
    a, b, c = (Shadowed(value, *part) for value, part in zip((x, y, high), parts, strict=True))
    signed = errors("copysign", np.copysign(x, y), a, b, rules=STEPS)
    clamped = errors("clamp", np.maximum(np.minimum(x, high), low), a, Shadowed(low, *parts[1]), c, rules=STEPS)
    for k in range(COUNT):
        ends = [
            [Fraction(each.value[k]) + Fraction(each.error[k]) + side * Fraction(each.radius[k]) for side in (-1, 1)]
            for each in (a, b, c)
        ]
        least, most = [
            Fraction(low[k]) + Fraction(parts[1][0][k]) + side * Fraction(parts[1][1][k]) for side in (-1, 1)
        ]
        for u in ends[0]:
            for v in ends[1]:
                exact = abs(u) if v > 0 else -abs(u)
                assert v == 0 or holds(signed.total, k, exact - Fraction(np.copysign(x[k], y[k])))
            for top in ends[2]:
                for bottom in (least, most):
                    exact = max(min(u, top), bottom)
                    assert holds(clamped.total, k, exact - Fraction(max(min(x[k], high[k]), low[k])))
