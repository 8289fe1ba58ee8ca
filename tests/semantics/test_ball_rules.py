"""The balls of ops: what is not known stays so, and remainders are exact."""

from __future__ import annotations

import random
from collections.abc import Callable
from fractions import Fraction
from inspect import signature
from itertools import product
from math import ceil, floor, fmod, trunc

import pytest
from flint import arb

from halfulp.fp_formats.reals.functions import bits_of_precision
from halfulp.semantics.ball_rules import BALLS

NUMBERS = [arb(0), arb(1.5), arb(-1.5), arb(0, 1), arb(1, 1e-9), arb(-1, 1e-9)]


def count_of(name: str) -> int:
    """Return how many operands a rule takes."""
    for count in (1, 2, 3):
        try:
            BALLS[name](*[arb(0.5)] * count)
        except TypeError:
            continue
        return count
    raise AssertionError(f"{name} takes {signature(BALLS[name])}")


@pytest.mark.parametrize("name", BALLS)
def test_of_unknown_numbers_nothing_is_known(name: str) -> None:
    count = count_of(name)
    for place in range(count):
        for others in product(NUMBERS, repeat=count - 1):
            operands = [*others[:place], arb.nan(), *others[place:]]
            assert not BALLS[name](*operands).is_finite(), operands


def test_remainders() -> None:
    """Python's fmod is exact."""
    draw = random.Random(1)
    for _ in range(2_000):
        x, y = (draw.uniform(-1, 1) * 2.0 ** draw.randint(-300, 300) for _ in range(2))
        assert BALLS["remainder"](arb(x), arb(y)) == arb(fmod(x, y)), (x, y)


def test_remainders_of_balls() -> None:
    """Where the quotient may have two whole parts, nothing is known but that the remainder is less than the divisor."""
    with bits_of_precision(100):
        near = BALLS["remainder"](arb(7, 1e-9), arb(2))
        assert near.contains(arb(1))
        assert near.rad() < 1e-8
        either = BALLS["remainder"](arb(6, 1e-9), arb(2))
        for exact in (Fraction(1, 10**9), 2 - Fraction(1, 10**9)):
            assert either.contains(arb(exact.numerator) / arb(exact.denominator))
        assert not BALLS["remainder"](arb(6), arb(0, 1e-30)).is_finite()


def away(x: Fraction) -> int:
    """Round to the nearest integer, of two to that away from zero."""
    return floor(x + Fraction(1, 2)) if x >= 0 else ceil(x - Fraction(1, 2))


ROUNDED: dict[str, Callable[[Fraction], int]] = {
    "floor": floor,
    "ceil": ceil,
    "trunc": trunc,
    "round": away,
    "roundeven": round,
}


@pytest.mark.parametrize("precision", [53, 192])
@pytest.mark.parametrize("name", ROUNDED)
def test_what_a_ball_rounds_to(name: str, precision: int) -> None:
    """A ball around an integer or a tie holds numbers on both sides, however small it is. It may be narrower than the
    last bit of a ball, and its ends may lie beyond.
    """
    wrong: list[tuple[object, ...]] = []
    for halves, exponent in product(range(-9, 10), (1, 2, 30, 52, 53, 54, 190, 191, 192, 193, 194, 400, 1070)):
        middle, radius = Fraction(halves, 2), Fraction(1, 2**exponent)
        with bits_of_precision(precision):
            found = BALLS[name](arb(halves / 2, 2.0**-exponent))
        inside = {ROUNDED[name](middle + side * radius / 2) for side in (-2, -1, 0, 1, 2)}
        if not all(found.contains(arb(number)) for number in inside):
            wrong.append((halves, exponent, str(found), inside))
        if not ROUNDED[name](middle - 2 * radius) - 0.01 <= found <= ROUNDED[name](middle + 2 * radius) + 0.01:
            wrong.append((halves, exponent, f"{found} is wide"))
    assert not wrong
