"""Quantised numbers by their real value: (stored - zero point) * scale, with errors in steps."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from shadow_programs import run_with_shadows, scalar

import halfulp as hu
from halfulp.interp.run.shadow_loops import ShadowFigures
from halfulp.interp.run.shadows import Shadows, shadow_of

LAYER = "!quant.uniform<i8:f32, 0.1:3>"
AXIS = "!quant.uniform<u8:f32:1, {0.1:128, 0.25, 0.003:7}>"
SCALES, POINTS = [Fraction(0.1), Fraction(0.25), Fraction(0.003)], [128, 0, 7]


def there_and_back(type_: str, shape: str) -> str:
    return f"""func.func @f(%x: tensor<{shape}xf32>) -> (tensor<{shape}x{type_}>, tensor<{shape}xf32>) {{
      %0 = quant.qcast %x : tensor<{shape}xf32> to tensor<{shape}x{type_}>
      %1 = quant.dcast %0 : tensor<{shape}x{type_}> to tensor<{shape}xf32>
      return %0, %1 : tensor<{shape}x{type_}>, tensor<{shape}xf32>
    }}"""


def figures(shadows: Shadows) -> dict[str, ShadowFigures]:
    return {op.name: found for (op, _), found in shadows.figures.items()}


@pytest.mark.parametrize(("type_", "scales", "points"), [(LAYER, SCALES[:1] * 3, [3] * 3), (AXIS, SCALES, POINTS)])
def test_errors_of_casts(type_: str, scales: list[Fraction], points: list[int]) -> None:
    draw = np.random.default_rng(len(type_))
    x = (draw.uniform(-1, 1, (50, 3)) * [7, 20, 0.3]).astype(np.float32)
    (stored, back), shadows = run_with_shadows(there_and_back(type_, "50x3"), hu.convert(x, "f32"))
    own_steps = own_ulps = 0.0
    for place in np.ndindex(x.shape):
        code = int(np.asarray(stored.bits)[place])
        code -= 256 * (type_ is LAYER and code >= 128)
        number = (code - points[place[1]]) * scales[place[1]]
        given, result = Fraction(float(x[place])), Fraction(float(back[place].item()))
        for value, exact in ((stored, given - number), (back, given - result)):
            shadow = shadow_of(value)
            assert shadow is not None
            assert abs(exact - Fraction(float(shadow.error[place]))) <= Fraction(float(shadow.radius[place]))
            assert shadow.radius[place] <= 2.0**-50 * (abs(exact) + abs(scales[place[1]]))
        own_steps = max(own_steps, float(abs(given - number) / scales[place[1]]))
        own_ulps = max(own_ulps, float(abs(number - result)) / float(np.spacing(abs(np.float32(float(result))))))
    found = figures(shadows)
    assert found["quant.qcast"].own.size == pytest.approx(own_steps)
    assert found["quant.qcast"].total.size == pytest.approx(own_steps)
    assert found["quant.dcast"].own.size == pytest.approx(own_ulps)
    assert all(each.unknown == 0 for each in found.values())


def test_stored_integers_are_decisions() -> None:
    """0.3 + 0.1 is 0.4 and a little, or less: the nearest integer is 2, for the steps are 0.25 wide."""
    type_ = "!quant.uniform<i8:f32, 0.25>"
    text = f"""func.func @f(%x: f32, %y: f32) -> i8 {{
      %s = arith.addf %x, %y : f32
      %0 = quant.qcast %s : f32 to {type_}
      %1 = quant.scast %0 : {type_} to i8
      return %1 : i8 }}"""
    _, shadows = run_with_shadows(text, scalar(0.3), scalar(0.1))
    assert (figures(shadows)["quant.scast"].otherwise, figures(shadows)["quant.scast"].undecided) == (0, 0)
    # 2**23 + 0.5 is 2**23 in f32, then far too large for the type: the exact run has another number.
    _, shadows = run_with_shadows(text, scalar(2.0**23), scalar(0.5))
    assert (figures(shadows)["quant.scast"].otherwise, figures(shadows)["quant.scast"].undecided) == (1, 0)


def test_integers_as_quantised_numbers_are_exact() -> None:
    text = f"""func.func @f(%n: i8) -> f32 {{
      %0 = quant.scast %n : i8 to {LAYER}
      %1 = quant.dcast %0 : {LAYER} to f32
      return %1 : f32 }}"""
    (result,), shadows = run_with_shadows(text, hu.Value.from_bits(np.uint8(100), "i8"))
    exact = 97 * Fraction(0.1)
    shadow = shadow_of(result)
    assert shadow is not None
    assert abs(exact - Fraction(float(result.item())) - Fraction(float(shadow.error))) <= Fraction(float(shadow.radius))
    assert figures(shadows)["quant.dcast"].unknown == 0


def test_the_way_back_leads_through_quantised_numbers() -> None:
    text = f"""func.func @f(%x: f32) -> f32 {{
      %0 = quant.qcast %x : f32 to {LAYER}
      %1 = quant.dcast %0 : {LAYER} to f32
      return %1 : f32 }}"""
    trace = hu.trace(text, np.float32(0.77), shadow=True)
    assert trace.errors is not None
    (found,) = trace.errors.results
    assert found.exact == float(np.float32(0.77))
    assert [step.op for step in trace.explain_error(0)] == ["quant.dcast", "quant.qcast"]
    assert trace.worst(1)[0].op == "quant.qcast"


def test_the_way_back_leads_through_numbers_whose_scale_belongs_to_a_place() -> None:
    """There no number is known from its code alone."""
    trace = hu.trace(there_and_back(AXIS, "2x3"), np.full((2, 3), 0.77, np.float32), shadow=True)
    assert [step.op for step in trace.explain_error(1, (0, 1))] == ["quant.dcast", "quant.qcast"]
