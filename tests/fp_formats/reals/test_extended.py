"""Exact numbers of expressions: IEEE's zeros and infinities, enclosures beside balls, and what is known next to them."""

from __future__ import annotations

import random
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import flint
import pytest
from flint import arb

from halfulp.fp_formats.reals import applying, expressions
from halfulp.fp_formats.reals.expressions import Program, Real, argument
from halfulp.fp_formats.reals.extended import (
    NAN,
    Above,
    Enclosed,
    Number,
    add,
    ball_of,
    ball_of_fraction,
    divide,
    multiply,
    negate,
    order,
    sign_of,
    subtract,
)
from halfulp.fp_formats.reals.functions import SPECIALS, Near, Unsettled, bits_of_precision, exact_ball

ZERO, MINUS_ZERO, INF, MINUS_INF = (SPECIALS[name] for name in ("0", "-0", "inf", "-inf"))
POLE, MINUS_POLE = SPECIALS["pole"], SPECIALS["-pole"]
ONE, TWO = Fraction(1), Fraction(2)


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        (lambda: add(ZERO, MINUS_ZERO, False), ZERO),
        (lambda: add(ZERO, MINUS_ZERO, True), MINUS_ZERO),
        (lambda: add(MINUS_ZERO, MINUS_ZERO, False), MINUS_ZERO),
        (lambda: subtract(ONE, ONE, False), ZERO),
        (lambda: subtract(ONE, ONE, True), MINUS_ZERO),
        (lambda: add(INF, MINUS_INF, False), NAN),
        (lambda: add(INF, Fraction(-5), False), INF),
        (lambda: multiply(INF, ZERO), NAN),
        (lambda: multiply(INF, -ONE), MINUS_INF),
        (lambda: multiply(MINUS_ZERO, -ONE), ZERO),
        (lambda: divide(ONE, MINUS_ZERO), MINUS_POLE),
        (lambda: divide(-ONE, MINUS_ZERO), POLE),
        (lambda: divide(ZERO, MINUS_ZERO), NAN),
        (lambda: divide(INF, INF), NAN),
        (lambda: divide(-ONE, INF), MINUS_ZERO),
        (lambda: divide(MINUS_INF, ZERO), MINUS_INF),
        (lambda: negate(NAN), NAN),
        (lambda: applying.of_one("exp", MINUS_INF), ZERO),
        (lambda: applying.of_one("log", Fraction(-1)), NAN),
        (lambda: applying.of_one("log", ZERO), MINUS_POLE),
        (lambda: applying.of_one("sqrt", MINUS_ZERO), MINUS_ZERO),
        (lambda: applying.of_one("atanh", ONE), POLE),
        (lambda: applying.of_one("rsqrt", Fraction(4, 9)), Fraction(3, 2)),
        (lambda: applying.power(NAN, ZERO), ONE),
        (lambda: applying.power(Fraction(-2), Fraction(1, 2)), NAN),
        (lambda: applying.power(Fraction(-2), Fraction(-3)), Fraction(-1, 8)),
        (lambda: applying.power(MINUS_ZERO, Fraction(-3)), MINUS_POLE),
        (lambda: applying.power(Fraction(4, 9), Fraction(3, 2)), Fraction(8, 27)),
    ],
)
def test_zeros_infinities_and_poles_go_by_ieee(found: Callable[[], Number], expected: Number) -> None:
    assert found() == expected


@pytest.mark.parametrize(
    ("name", "inverse"), [(name, inverse) for name, inverse in applying.INVERSES.items()] + [("sqrt", "")]
)
def test_a_function_of_its_inverse_is_exact(name: str, inverse: str) -> None:
    x = Fraction(5, 4) if inverse in ("acosh", "log", "log2", "log10") else Fraction(1, 3)
    if name == "sqrt":
        root = applying.of_one("sqrt", TWO)
        assert multiply(root, root) == TWO
        return
    found = applying.of_one(name, applying.of_one(inverse, x))
    assert found == x


def holds(x: Enclosed) -> bool | None:
    """Tell whether a ball of 3,000 bits agrees with what is known beside the balls; None if it does not decide that."""
    about = x.about
    with bits_of_precision(3000):
        ball = x.ball()
        if isinstance(about, Above):
            low, rest, high = exact_ball(1, about.exponent), ball * about.sign, arb.pos_inf()
        else:
            assert isinstance(about, Near)
            rest = (ball - ball_of_fraction(about.value)) * about.direction
            low, high = arb(0), exact_ball(1, about.distance)
        if rest > low and rest < high:
            return True
        return False if rest <= low or rest >= high else None


def numbers(seed: int) -> list[Number]:
    """Return numbers with neighbours, and some that are huge, tiny or rational."""
    pick = random.Random(seed)
    found: list[Number] = [Fraction(pick.randint(1, 50), pick.randint(1, 9)) * pick.choice((1, -1)) for _ in range(3)]
    for _ in range(3):
        t = Fraction(pick.randint(20, 400))
        tiny = applying.of_one("exp", -t)
        found += [tiny, negate(tiny), applying.of_one("tanh", t * pick.choice((1, -1)))]
        found.append(add(found[0], pick.choice((tiny, negate(tiny))), False))
        found.append(applying.of_one("sin", Fraction(1, 1 << pick.randint(8, 90))))
        found.append(applying.of_one("exp", t * 3))
    return found


@pytest.mark.parametrize("seed", range(4))
def test_what_is_known_beside_balls_is_true(seed: int) -> None:
    known = numbers(seed)
    checked = 0
    operations: list[Callable[[Any, Any], Number]] = [
        lambda x, y: expressions.add(x, y, False), lambda x, y: expressions.subtract(x, y, False),
        expressions.multiply, expressions.divide,
    ]  # fmt: skip
    pick = random.Random(seed)
    for _ in range(400):
        operation = pick.choice(operations)
        made = operation(pick.choice(known), pick.choice(known))
        if isinstance(made, Enclosed) and pick.random() < 0.3:
            name = pick.choice(("exp", "log1p", "tanh", "sin", "cos", "sqrt", "log", "sigmoid", "erf", "cosh", "rsqrt"))
            with bits_of_precision(256):
                safe = made.ball().is_finite() and (name not in ("log1p", "sqrt", "log", "rsqrt") or made.ball() > 0)
            made = applying.of_one(name, made) if safe else made
        if isinstance(made, Enclosed) and made.about is not None:
            agrees = holds(made)
            assert agrees is not False
            checked += agrees is True
    assert checked > 100


def test_order_and_sign_are_exact() -> None:
    third = Fraction(1, 3)
    assert order(applying.of_one("exp", third), Fraction(1)) > 0
    assert order(INF, Fraction(10**9)) > 0 > order(MINUS_INF, INF)
    assert order(ZERO, MINUS_ZERO) == 0
    assert sign_of(subtract(applying.of_one("exp", Fraction(1, 10**300)), ONE, False)) == 1  # type: ignore[arg-type]
    pi = Enclosed(arb.pi)
    with pytest.raises(Unsettled):
        order(multiply(pi, TWO), add(pi, Enclosed(arb.pi), False))


def test_a_deep_expression_needs_no_recursion() -> None:
    x = argument(0)
    total = x
    for _ in range(2000):
        total = total + x.exp()
    (found,) = Program.of([total], 1).numbers([ONE], False)
    assert isinstance(found, Enclosed)
    assert found.ball().contains(1 + 2000 * arb(1).exp())
    assert flint.ctx.prec == 53


def test_reals_are_not_floats() -> None:
    x = Real("0.1")
    casts: tuple[Callable[[Any], Any], ...] = (float, int, complex, bool)
    for cast in casts:
        with pytest.raises(TypeError):
            cast(x)
    assert x == Fraction(1, 10)
    assert x != 0.1
    assert Real.pi > 3 > Real.e
    assert ball_of(Fraction(1, 2)) == 0.5
