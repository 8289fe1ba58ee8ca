"""Elementary functions as sums of two f64: within the margin of Arb's results."""

import numpy as np
import pytest
from amounts import amounts, thinned
from flint import arb

from halfulp.fp_formats.reals.functions import FUNCTIONS, bits_of_precision
from halfulp.semantics.double_functions import DOUBLES, FARTHEST, MARGIN, Double


@pytest.mark.parametrize("name", thinned(DOUBLES, 3))
@pytest.mark.parametrize("count", amounts(600, long=20_000))
def test_results_lie_within_the_margin(name: str, count: int) -> None:
    """Operands of f32 and f64 of all sizes, near 0, near 1 and near both ends, with and without a lower part."""
    rng = np.random.default_rng(7)
    least, most = FARTHEST[name]
    wide = rng.choice([-1, 1], count) * 2.0 ** rng.uniform(-40, 9.4, count)
    x = np.concatenate([wide, rng.normal(size=count), 1 + rng.normal(size=count) * 2.0 ** rng.uniform(-50, -1, count)])
    x = np.concatenate([x, x.astype(np.float32), [least * 0.999, most * 0.999, 0.5, 1.0 + 2.0**-52, 1 - 2.0**-53, 2.0]])
    if least > 0:
        x = np.concatenate([np.abs(x), 2.0 ** rng.uniform(-899, 899, count)])
    x = x[(x > max(least, -0.999 if name == "log1p" else least)) & (x < most) & (x != 0)]
    low = x * 2.0**-54 * rng.uniform(-1, 1, x.size) * (rng.random(x.size) < 0.5)
    with np.errstate(all="ignore"):
        found = DOUBLES[name](Double(x, low))
    with bits_of_precision(300):
        for operand, rest, high, lower in zip(x, low, *found, strict=True):
            exact = FUNCTIONS[name].ball(arb(float(operand)) + arb(float(rest)))
            if exact == 0:
                assert high == lower == 0
            else:
                apart = abs((arb(float(high)) + arb(float(lower)) - exact) / exact)
                assert apart < MARGIN / 4, (name, operand, rest, high, float(apart.mid()))
