"""Exact numbers of expressions: IEEE's zeros and infinities, enclosures beside balls, and what is known next to them."""

import random
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from typing import Any

import flint
import numpy as np
import pytest
from amounts import thinned
from flint import arb

from halfulp.fp_formats.exact import conversions
from halfulp.fp_formats.formats import FORMATS, Codes, FloatFormat, codes_to_ints, ints_to_codes
from halfulp.fp_formats.policy import SPEC, Rounding
from halfulp.fp_formats.reals import arrays, elementary, expressions, extended
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
from halfulp.fp_formats.reals.functions import FUNCTIONS, SPECIALS, Near, Unsettled, bits_of_precision, exact_ball

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
        (lambda: extended.of_one("exp", MINUS_INF), ZERO),
        (lambda: extended.of_one("log", Fraction(-1)), NAN),
        (lambda: extended.of_one("log", ZERO), MINUS_POLE),
        (lambda: extended.of_one("sqrt", MINUS_ZERO), MINUS_ZERO),
        (lambda: extended.of_one("atanh", ONE), POLE),
        (lambda: extended.of_one("rsqrt", Fraction(4, 9)), Fraction(3, 2)),
        (lambda: extended.power(NAN, ZERO), ONE),
        (lambda: extended.power(Fraction(-2), Fraction(1, 2)), NAN),
        (lambda: extended.power(Fraction(-2), Fraction(-3)), Fraction(-1, 8)),
        (lambda: extended.power(MINUS_ZERO, Fraction(-3)), MINUS_POLE),
        (lambda: extended.power(Fraction(4, 9), Fraction(3, 2)), Fraction(8, 27)),
    ],
)
def test_zeros_infinities_and_poles_go_by_ieee(found: Callable[[], Number], expected: Number) -> None:
    assert found() == expected


@pytest.mark.parametrize(
    ("name", "inverse"), [(name, inverse) for name, inverse in extended.INVERSES.items()] + [("sqrt", "")]
)
def test_a_function_of_its_inverse_is_exact(name: str, inverse: str) -> None:
    x = Fraction(5, 4) if inverse in ("acosh", "log", "log2", "log10") else Fraction(1, 3)
    if name == "sqrt":
        root = extended.of_one("sqrt", TWO)
        assert multiply(root, root) == TWO
        return
    found = extended.of_one(name, extended.of_one(inverse, x))
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
        tiny = extended.of_one("exp", -t)
        found += [tiny, negate(tiny), extended.of_one("tanh", t * pick.choice((1, -1)))]
        found.append(add(found[0], pick.choice((tiny, negate(tiny))), False))
        found.append(extended.of_one("sin", Fraction(1, 1 << pick.randint(8, 90))))
        found.append(extended.of_one("exp", t * 3))
    return found


@pytest.mark.parametrize("seed", thinned(range(4), 2))
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
            made = extended.of_one(name, made) if safe else made
        if isinstance(made, Enclosed) and made.about is not None:
            agrees = holds(made)
            assert agrees is not False
            checked += agrees is True
    assert checked > 100


def test_order_and_sign_are_exact() -> None:
    third = Fraction(1, 3)
    assert order(extended.of_one("exp", third), Fraction(1)) > 0
    assert order(INF, Fraction(10**9)) > 0 > order(MINUS_INF, INF)
    assert order(ZERO, MINUS_ZERO) == 0
    assert sign_of(subtract(extended.of_one("exp", Fraction(1, 10**300)), ONE, False)) == 1  # type: ignore[arg-type]
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


# --- arrays -----------------------------------------------------------------------------------------------------------
#
# What one ball settles equals the specification, in every mode and with its flags; hardly anything else is left.

WIDE = ("f32", "f64", "f80", "f128")
MODES = list(Rounding)[:5]


def some_codes(fmt: FloatFormat, count: int, seed: int, spread: int) -> tuple[list[int], Codes]:
    """Return codes of numbers between 2**-spread and 2**spread, every fourth one anywhere in the format."""
    draw = np.random.default_rng(seed)
    codes = []
    for k in range(count):
        fraction = int.from_bytes(draw.bytes(16), "little") & fmt.fraction_mask
        exponent = (
            int(draw.integers(-spread, spread)) + fmt.bias if k % 4 else int(draw.integers(1 << fmt.exponent_bits))
        )
        integer_bit = int(fmt.explicit_integer_bit and exponent > 0)
        field = exponent << fmt.explicit_integer_bit | integer_bit
        codes.append(int(draw.integers(2)) << fmt.bits - 1 | field << fmt.mantissa_bits | fraction)
    return codes, ints_to_codes(codes, fmt.bits, (count,))


def assert_equal(settled: arrays.Settled, expected: list[Any], fmt: FloatFormat) -> None:
    assert settled.result.flags is not None
    found = zip(codes_to_ints(settled.result.codes, fmt.bits), settled.result.flags.tolist(), strict=True)
    for (code, flags), mask, right in zip(found, settled.mask.tolist(), expected, strict=True):
        if mask:
            assert (code, flags) == (right.code, right.flags)


@pytest.mark.parametrize("name", thinned(FUNCTIONS, 4))
@pytest.mark.parametrize("format_name", WIDE)
def test_functions_of_one_argument(name: str, format_name: str) -> None:
    fmt = FORMATS[format_name]
    codes, array = some_codes(fmt, 12, len(name) + ord(name[-1]), 8)
    for mode in MODES:
        settled = arrays.unary(name, fmt, array, mode, SPEC, None, True)
        assert_equal(settled, [elementary.unary(name, fmt, code, mode) for code in codes], fmt)


@pytest.mark.parametrize("name", ["atan2", "hypot", "powf"])
@pytest.mark.parametrize("format_name", thinned(WIDE, 4))
def test_functions_of_two_arguments(name: str, format_name: str) -> None:
    fmt = FORMATS[format_name]
    (xs, first), (ys, second) = some_codes(fmt, 24, 1, 4), some_codes(fmt, 24, 2, 4)
    for mode in MODES:
        settled = arrays.binary(name, fmt, first, second, mode, SPEC, None, True)
        expected = [elementary.binary(name, fmt, x, y, mode) for x, y in zip(xs, ys, strict=True)]
        assert_equal(settled, expected, fmt)


@pytest.mark.parametrize("name", ["powf", "rootn"])
@pytest.mark.parametrize("format_name", thinned(WIDE, 3))
def test_functions_of_an_integer(name: str, format_name: str) -> None:
    fmt, width = FORMATS[format_name], 17
    xs, first = some_codes(fmt, 24, 1, 4)
    degrees = [0, 1, -1, 2, -2, 3, -3, 5, -(1 << 16), (1 << 16) - 1, 7, -8] * 2
    second = np.array(degrees).astype(np.uint32) & np.uint32((1 << width) - 1)
    for mode in MODES:
        settled = arrays.of_integer(name, fmt, first, second, width, mode, SPEC, None, True)
        expected = [elementary.of_integer(name, fmt, x, n, mode) for x, n in zip(xs, degrees, strict=True)]
        assert_equal(settled, expected, fmt)
        assert settled.mask.sum() >= 10


@pytest.mark.parametrize("format_name", thinned(WIDE, 2))
def test_hardly_anything_is_left(format_name: str) -> None:
    fmt = FORMATS[format_name]
    _, array = some_codes(fmt, 2000, 5, 2)
    usual = np.arange(2000) % 4 != 0
    for name in ("exp", "sin", "tanh", "erf"):
        assert arrays.unary(name, fmt, array[usual]).mask.mean() > 0.98


def test_exact_balls_settle_exact_results() -> None:
    codes = np.array([1.0, 4.0, 2.0, 0.0, np.inf, -1.0, np.nan]).view(np.uint64)
    assert arrays.unary("sqrt", FORMATS["f64"], codes).mask.tolist() == [True, True, True, False, False, False, False]
    assert not arrays.unary("log2", FORMATS["f64"], codes[:2]).mask.any()
    assert not arrays.unary("log", FORMATS["f64"], codes[:1]).mask.any()


EXACT_POWERS = (
    *((3, 2), (-3, 3), (2, -3), (-0.5, -7), (9, 0.5), (2.25, 1.5), (-7, 1), (3, 30), (2**13 + 1, 4)),
    (-2, 0.5),
)


@pytest.mark.parametrize("format_name", ["f64", "f80", "f128"])
def test_exact_powers_and_long_squares(format_name: str) -> None:
    fmt, f64 = FORMATS[format_name], FORMATS["f64"]
    bases = [base for base, _ in EXACT_POWERS] + [1 + 2.0**-26, 1 + 2.0**-27 + 2.0**-52, -(2.0**-530) * (1 + 2.0**-30)]
    exponents = [exponent for _, exponent in EXACT_POWERS] + [2, 2, 2]
    codes = [np.array(row, np.float64).view(np.uint64) for row in (bases, exponents)]
    first, second = (conversions.convert(f64, fmt, row).codes for row in codes)
    pairs = list(zip(codes_to_ints(first, fmt.bits), codes_to_ints(second, fmt.bits), strict=True))
    for mode in MODES:
        settled = arrays.binary("powf", fmt, first, second, mode, SPEC, None, True)
        assert settled.mask.tolist() == [pair != EXACT_POWERS[-1] for pair in zip(bases, exponents, strict=True)]
        assert_equal(settled, [elementary.binary("powf", fmt, x, y, mode) for x, y in pairs], fmt)


def test_results_far_beyond_the_format() -> None:
    """The exponent of this gamma has more bits than a code of f128."""
    fmt = FORMATS["f128"]
    code = (fmt.bias + 600) << fmt.mantissa_bits
    settled = arrays.unary("tgamma", fmt, ints_to_codes([code], 128, (1,)))
    assert settled.mask.all()
    assert codes_to_ints(settled.result.codes, 128) == [fmt.infinity_code]


def test_threads_do_not_change_the_precision_of_others() -> None:
    before = flint.ctx.prec
    formats = [FORMATS[name] for name in WIDE] * 2
    work = [(fmt, some_codes(fmt, 300, 5, 2)[1]) for fmt in formats]
    alone = [arrays.unary("sin", fmt, codes) for fmt, codes in work]
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        with ThreadPoolExecutor(4) as pool:
            together = list(pool.map(lambda item: arrays.unary("sin", *item), work))
    finally:
        sys.setswitchinterval(interval)
    for one, other in zip(alone, together, strict=True):
        assert (one.mask == other.mask).all()
        assert (one.result.codes == other.result.codes).all()
    assert flint.ctx.prec == before
