"""The balls of ops: what is not known stays so, and remainders are exact."""

from __future__ import annotations

import random
from fractions import Fraction
from inspect import signature
from itertools import product
from math import fmod

import pytest
from flint import arb

from halfulp.fp_formats.reals.enclosing import bits_of_precision
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
