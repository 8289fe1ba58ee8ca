"""Folds whose steps a recorder gets all at once: what it knows of them is what it knows of them one by one."""

from collections.abc import Callable
from fractions import Fraction
from functools import reduce
from typing import Any

import numpy as np
import pytest
from amounts import thinned
from shadow_programs import run_with_shadows

import halfulp as hu
from halfulp.interp.run import folding
from halfulp.interp.run.shadow_loops import ShadowFigures
from halfulp.interp.run.shadows import shadow_of

EXACT: dict[str, Callable[[Fraction, Fraction], Fraction]] = {
    "arith.addf": lambda a, b: a + b,
    "arith.mulf": lambda a, b: a * b,
    "arith.maximumf": max,
    "arith.minimumf": min,
    "arith.maxnumf": max,
}
COUNTS = ("elements", "absorbed", "overflowed", "flushed", "unknown", "cancelled", "wrapped")
STEPS, LANES = 37, 3
FORMATS = ("f32", "f64", "f16", "bf16", "f8E5M2", "f6E3M2FN")


def program(op: str, kind: str, first: float, steps: int = STEPS) -> str:
    """Return a fold of thirds of the elements of an argument."""
    rows, lanes = f"tensor<{steps}x{LANES}x{kind}>", f"tensor<{LANES}x{kind}>"
    return f"""func.func @f(%x: {rows}) -> {lanes} {{
      %three = arith.constant dense<3.0> : {rows}
      %y = arith.divf %x, %three : {rows}
      %z = arith.constant dense<{first}> : {lanes}
      %r = linalg.reduce {{ {op} }} ins(%y : {rows}) outs(%z : {lanes}) dimensions = [0]
      return %r : {lanes} }}"""


def numbers(op: str, kind: str, steps: int = STEPS) -> hu.Value:
    draw = np.random.default_rng(len(op) + len(kind))
    spread = draw.normal(size=(steps, LANES))
    return hu.convert(3 + spread / 8 if op == "arith.mulf" else spread, kind)


def one_by_one(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(folding, "FEWEST_STEPS", 1 << 30)


def fold_figures(shadows: Any) -> ShadowFigures:
    (found,) = [figures for (_, around), figures in shadows.figures.items() if around.name == "linalg.reduce"]
    return found  # type: ignore[no-any-return]


@pytest.mark.parametrize("together", [folding.RECORDED, 7 * LANES])
@pytest.mark.parametrize("kind", thinned(FORMATS, 4))
@pytest.mark.parametrize("op", EXACT)
def test_folds(op: str, kind: str, together: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """The exact result, by fractions, is in each ball; marks and figures are those of single steps."""
    monkeypatch.setattr(folding, "RECORDED", together)
    x = numbers(op, kind)
    text = program(op, kind, first := 1.0 if op == "arith.mulf" else -0.0 if op == "arith.addf" else -0.25)
    (result,), shadows = run_with_shadows(text, x)
    at_once = fold_figures(shadows)
    with monkeypatch.context() as patch:
        one_by_one(patch)
        (other,), shadows = run_with_shadows(text, x)
    in_steps = fold_figures(shadows)
    assert np.array_equal(result.bits, other.bits)
    assert [getattr(at_once, name) for name in COUNTS] == [getattr(in_steps, name) for name in COUNTS]
    for name in ("own", "total", "relative"):
        one, two = getattr(at_once, name), getattr(in_steps, name)
        assert one.size == pytest.approx(two.size, rel=1e-9)
        assert (one.place is None) == (two.place is None)
        assert one.place is None or one.place[0] in range(LANES)
    found, expected = shadow_of(result), shadow_of(other)
    assert found is not None
    assert expected is not None
    given, values = np.asarray(x.numpy(), np.float64), np.asarray(result.numpy(), np.float64)
    for lane in range(LANES):
        terms = [Fraction(first), *(Fraction(each) / 3 for each in given[:, lane].tolist())]
        exact = reduce(EXACT[op], terms)
        error = Fraction(float(found.error[lane])) + Fraction(float(values[lane])) - exact
        if not np.isfinite(found.radius[lane]):
            assert not np.isfinite(expected.radius[lane])
            continue
        assert abs(error) <= Fraction(float(found.radius[lane]))
        assert found.radius[lane] <= 2 * expected.radius[lane] + 2.0**-46 * abs(found.error[lane])


@pytest.mark.parametrize("form", ["f64", "f128"])
@pytest.mark.parametrize("op", thinned(EXACT, 3))
def test_folds_beside_a_wider_format(op: str, form: str, monkeypatch: pytest.MonkeyPatch) -> None:
    x, text = numbers(op, "f32"), program(op, "f32", 1.0 if op == "arith.mulf" else -0.25)
    _, shadows = run_with_shadows(text, x, form=form)
    one_by_one(monkeypatch)
    _, others = run_with_shadows(text, x, form=form)
    at_once, in_steps = fold_figures(shadows), fold_figures(others)
    assert [getattr(at_once, name) for name in COUNTS] == [getattr(in_steps, name) for name in COUNTS]
    assert at_once.total.size == pytest.approx(in_steps.total.size, rel=1e-6)
    assert at_once.own.size == pytest.approx(in_steps.own.size, rel=1e-6)


@pytest.mark.parametrize(
    ("op", "kind", "x", "unknown"),
    [
        # Neighbours overflow here, and those in sequence do not.
        ("arith.mulf", "f32", [1e-30, 1e30, 1e30, 1e-30, *[1.0] * 12], 0),
        ("arith.addf", "f32", [-3e38, 3e38, 3e38, -3e38, *[1.0] * 12], 0),
        ("arith.addf", "f32", [3e38] * 16, 1),
        ("arith.addf", "f32", [*[1.0] * 15, float("nan")], 1),
        ("arith.maximumf", "f32", [*[1.0] * 15, float("inf")], 0),
        ("arith.maxnumf", "f32", [*[1.0] * 15, float("nan")], 0),
        ("arith.addf", "f128", [0.1] * 16, 1),
        ("arith.addf", "f64", [0.1] * 16, 0),
    ],
)
def test_what_is_unknown(op: str, kind: str, x: list[float], unknown: int, monkeypatch: pytest.MonkeyPatch) -> None:
    rows, one = f"tensor<{len(x)}x{kind}>", f"tensor<{kind}>"
    text = f"""func.func @f(%x: {rows}) -> {one} {{
      %z = arith.constant dense<{1.0 if op == "arith.mulf" else 0.0}> : {one}
      %r = linalg.reduce {{ {op} }} ins(%x : {rows}) outs(%z : {one}) dimensions = [0]
      return %r : {one} }}"""
    counts = []
    for way in (lambda patch: None, one_by_one):
        with monkeypatch.context() as patch:
            way(patch)
            (result,), shadows = run_with_shadows(text, hu.convert(x, kind))
        shadow, found = shadow_of(result), fold_figures(shadows)
        assert shadow is not None
        assert np.isinf(shadow.radius) == unknown
        counts.append([getattr(found, name) for name in COUNTS])
    assert counts[0] == counts[1]


@pytest.mark.parametrize("op", ["arith.addi", "arith.muli", "arith.andi", "arith.maxsi"])
@pytest.mark.parametrize("late", [False, True])
def test_integers(op: str, late: bool) -> None:
    """An integer is the exact one, unless a step before it wrapped, or the last one."""
    steps = 40
    x = np.ones(steps, np.int64) * (-1 if op == "arith.muli" else 3)
    x[steps - 1 if late else 5] = 127
    x[3] = 2
    text = f"""func.func @f(%x: tensor<{steps}xi8>) -> tensor<f32> {{
      %z = arith.constant dense<1> : tensor<i8>
      %r = linalg.reduce {{ {op} }} ins(%x : tensor<{steps}xi8>) outs(%z : tensor<i8>) dimensions = [0]
      %f = arith.sitofp %r : tensor<i8> to tensor<f32>
      return %f : tensor<f32> }}"""
    ways: dict[str, Callable[[int, int], int]] = {
        "arith.addi": lambda a, b: a + b,
        "arith.muli": lambda a, b: a * b,
        "arith.andi": lambda a, b: a & b,
        "arith.maxsi": max,
    }
    whole = ways[op]
    accumulator, left = 1, 0
    for each in x.tolist():
        number = whole(accumulator, each)
        accumulator = (number + 128) % 256 - 128
        left += number != accumulator
    (result,), shadows = run_with_shadows(text, hu.Value.from_bits(x.astype(np.uint8), f"tensor<{steps}xi8>"))
    shadow = shadow_of(result)
    assert shadow is not None
    assert result.numpy() == accumulator
    assert np.isinf(shadow.radius) == (left > 0)
    assert sum(figures.wrapped for figures in shadows.figures.values()) == left


def test_the_ranking_of_a_fold(monkeypatch: pytest.MonkeyPatch) -> None:
    """What ops bring to a sum does not depend on how its steps were recorded, and its story adds up."""
    text = program("arith.addf", "bf16", 0.0)
    x = numbers("arith.addf", "bf16")
    trace = hu.trace(text, x, shadow=True)
    effects = {op.op: (op.effect_ulp, op.share) for op in trace.worst()}
    story = trace.explain_error(0, (1,))
    assert story[0].brings == pytest.approx(story[0].own + sum(brings for _, brings in story[0].operands))
    one_by_one(monkeypatch)
    other = hu.trace(text, x, shadow=True)
    for op in other.worst():
        assert effects[op.op] == (pytest.approx(op.effect_ulp), pytest.approx(op.share))
    assert other.explain_error(0, (1,))[0].brings == pytest.approx(story[0].brings)


def test_a_long_sum_of_tenths() -> None:
    """100,000 times the f32 nearest to 0.1: the sum of a program that the ranking names as the only cause."""
    count = 100_000
    text = f"""func.func @f(%x: tensor<{count}xf32>) -> tensor<f32> {{
      %z = arith.constant dense<0.0> : tensor<f32>
      %r = linalg.reduce {{ arith.addf }} ins(%x : tensor<{count}xf32>) outs(%z : tensor<f32>) dimensions = [0]
      return %r : tensor<f32> }}"""
    trace = hu.trace(text, np.full(count, 0.1, np.float32), shadow=True)
    assert trace.errors is not None
    (result,) = trace.errors.results
    exact = count * Fraction(float(np.float32(0.1)))
    in_sequence = np.add.accumulate(np.full(count, 0.1, np.float32))[-1]
    assert (result.value, result.exact) == (float(in_sequence), float(exact))
    assert result.ulp == pytest.approx(
        float((Fraction(result.value) - exact) / Fraction(np.spacing(in_sequence).item()))
    )
    (op,) = trace.worst()
    assert (op.share, op.elements, op.effect_ulp) == (pytest.approx(1), count, pytest.approx(result.ulp))
