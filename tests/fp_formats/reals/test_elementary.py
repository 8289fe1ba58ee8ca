"""Elementary functions of every code of the small formats, and of samples of the wide ones, against MPFR."""

import itertools
import math
import random
from collections.abc import Callable, Iterable
from fractions import Fraction
from functools import partial
from typing import Any

import gmpy2
import mpmath
import numpy as np
import pytest
from amounts import amounts, thinned
from flint import arb
from mpfr import MPFR, MPFR_OF_TWO
from present import present
from tables import each_row

from halfulp.fp_formats import scalar
from halfulp.fp_formats.formats import FORMATS, FloatFormat
from halfulp.fp_formats.neighbours import code_at, rank_of, ulp_at
from halfulp.fp_formats.policy import SPEC, Rounding
from halfulp.fp_formats.reals import hard_cases
from halfulp.fp_formats.reals.elementary import binary, grid_of, of_integer, unary
from halfulp.fp_formats.reals.expressions import Program
from halfulp.fp_formats.reals.formulas import DEEPEST, LONGEST_TEXT, FormulaError, parse
from halfulp.fp_formats.reals.functions import (
    FUNCTIONS,
    Function,
    Near,
    Unsettled,
    cell_near,
    cell_of_ball,
    exact_ball,
    exponent_of,
)
from halfulp.fp_formats.reals.functions_of_two import FUNCTIONS_OF_TWO

MODES = list(Rounding)[:5]
SMALL = [name for name, fmt in FORMATS.items() if fmt.bits <= 8]


def exact_operand(fmt: FloatFormat, code: int) -> Any:
    """Return a code as MPFR's number, exactly."""
    x = scalar.unpack(fmt, code)
    if x.kind >= scalar.QUIET_NAN:
        return gmpy2.nan()
    with gmpy2.context(gmpy2.get_context(), precision=fmt.precision + 2):
        number = gmpy2.inf() if x.kind == scalar.INFINITE else gmpy2.mpfr(gmpy2.mpz(x.significand))
        number = gmpy2.mul_2exp(number, x.exponent) if x.exponent >= 0 else gmpy2.div_2exp(number, -x.exponent)
        return -number if x.sign else number


def ends(function: Callable[..., Any], operands: Iterable[Any], precision: int) -> tuple[Any, Any]:
    """Return MPFR's results rounded down and up: equal where exact."""
    found = []
    for mode in (gmpy2.RoundDown, gmpy2.RoundUp):
        with gmpy2.context(precision=precision, emax=1 << 19, emin=-(1 << 19), round=mode):
            found.append(function(*operands))
    return found[0], found[1]


def expected(fmt: FloatFormat, function: Callable[..., Any], operands: list[Any], mode: Rounding) -> int | str:
    """Return the code to which MPFR's result rounds; for a NaN, ``nan``.

    MPFR rounds correctly: where its results rounded down and up differ, they are adjacent, and the exact one lies between
    them. No boundary of the format does, so that their midpoint rounds alike.
    """
    low, high = ends(function, operands, fmt.precision + 40)
    if gmpy2.is_nan(low):
        return "nan"
    if gmpy2.is_infinite(low) and gmpy2.is_infinite(high):
        sign = int(low < 0)
        return scalar.encode_infinity(fmt, sign, 0, "max").code if fmt.signed or not sign else "nan"
    if low == high == 0:
        return scalar.encode_zero(fmt, int(gmpy2.is_signed(low)), SPEC).code
    if gmpy2.is_infinite(low) or gmpy2.is_infinite(high):  # larger than MPFR's largest number
        return scalar.round_pack(fmt, int(high < 0), 1, 1 << 18, mode, SPEC).code
    if low == 0 or high == 0:  # smaller than its smallest
        return scalar.round_pack(fmt, int(low < 0), 1, -(1 << 18), mode, SPEC).code
    exact = [Fraction(*map(int, end.as_integer_ratio())) for end in (low, high)]
    return scalar.from_fraction(fmt, (exact[0] + exact[1]) / 2, mode).code


def check(fmt: FloatFormat, name: str, found: scalar.Result, wanted: int | str, what: object) -> None:
    if wanted == "nan":
        assert found.poison or fmt.is_nan(found.code), (fmt.name, name, what, hex(found.code))
    else:
        assert found.code == wanted, (fmt.name, name, what, hex(found.code), hex(int(wanted)))


def samples(fmt: FloatFormat, count: int) -> list[int]:
    """Return every code of a small format; of a wide one special codes, ordinary numbers and random codes."""
    if fmt.bits <= 8:
        return list(range(1 << fmt.bits))
    draw = random.Random(fmt.name)
    ordinary = [
        scalar.from_fraction(fmt, Fraction(draw.randint(-400, 400), draw.choice((1, 4, 100, 1000)))).code
        for _ in range(count)
    ]
    near_one = [scalar.from_integer(fmt, 1).code + step for step in (-2, -1, 0, 1, 2)]
    edges = [0, 1, 2, fmt.min_normal_code - 1, fmt.min_normal_code, fmt.max_code]
    edges += [fmt.infinity_code or 0, fmt.nan_code or 0]
    codes = [*ordinary, *near_one, *edges, *(draw.getrandbits(fmt.bits) for _ in range(count))]
    return [*codes, *(code | (fmt.sign_mask or 0) for code in (*near_one, *edges))]


@each_row(*MPFR)
@pytest.mark.parametrize("fmt", [FORMATS[name] for name in SMALL], ids=str)
@pytest.mark.parametrize("step", amounts(7, long=1))
def test_every_code_of_a_small_format_is_rounded_as_mpfr_says(name: str, fmt: FloatFormat, step: int) -> None:
    """In every run each seventh code, of another remainder for each function."""
    for code in samples(fmt, 0)[len(name) % step :: step]:
        mode = MODES[code % len(MODES)]
        if name == "rsqrt" and fmt.is_zero(code):
            continue  # IEEE keeps the sign of the pole, MPFR does not
        wanted = expected(fmt, MPFR[name], [exact_operand(fmt, code)], mode)
        check(fmt, name, unary(name, fmt, code, mode), wanted, (hex(code), mode))


@pytest.mark.parametrize("name", thinned(MPFR, 2))
@pytest.mark.parametrize(
    "fmt", thinned([FORMATS[name] for name in ("bf16", "f16", "f32", "f64", "f80", "f128")], 3), ids=str
)
@pytest.mark.parametrize("count", amounts(2, 1_000))
def test_samples_of_a_wide_format_are_rounded_as_mpfr_says(fmt: FloatFormat, name: str, count: int) -> None:
    for code in samples(fmt, count):
        if (name == "rsqrt" and fmt.is_zero(code)) or fmt.is_invalid(code):
            continue
        for mode in MODES:
            wanted = expected(fmt, MPFR[name], [exact_operand(fmt, code)], mode)
            check(fmt, name, unary(name, fmt, code, mode), wanted, (hex(code), mode))


@pytest.mark.parametrize("name", thinned(MPFR_OF_TWO, 4))
@pytest.mark.parametrize(
    "fmt", [FORMATS[name] for name in ("f4E2M1FN", "f8E4M3FN", "bf16", "f16", "f32", "f64", "f80", "f128")], ids=str
)
@pytest.mark.parametrize("count", amounts(90, 10_000, long=250))
def test_functions_of_two_arguments_are_rounded_as_mpfr_says(fmt: FloatFormat, name: str, count: int) -> None:
    codes = [code for code in samples(fmt, 20) if not fmt.is_invalid(code)]
    draw = random.Random(name)
    for a, b in ((draw.choice(codes), draw.choice(codes)) for _ in range(count)):
        mode = draw.choice(MODES)
        operands = [exact_operand(fmt, a), exact_operand(fmt, b)]
        wanted = expected(fmt, MPFR_OF_TWO[name], operands, mode)
        check(fmt, name, binary(name, fmt, a, b, mode), wanted, (hex(a), hex(b), mode))


@pytest.mark.parametrize("fmt", [FORMATS[name] for name in ("f8E5M2", "bf16", "f64")], ids=str)
def test_integer_powers_and_roots_are_rounded_as_mpfr_says(fmt: FloatFormat) -> None:
    draw = random.Random(7)
    for code in samples(fmt, 60):
        n, mode = draw.choice((-7, -2, -1, 1, 2, 3, 4, 10, 101)), draw.choice(MODES)
        x = exact_operand(fmt, code)
        if fmt.is_nan(code):
            continue
        power = expected(fmt, lambda x, n=n: x ** gmpy2.mpz(n), [x], mode)
        check(fmt, "pown", of_integer("powf", fmt, code, n, mode), power, (hex(code), n, mode))
        if n > 0:
            root = expected(fmt, lambda x, n=n: gmpy2.rootn(x, n), [x], mode)
            check(fmt, "rootn", of_integer("rootn", fmt, code, n, mode), root, (hex(code), n, mode))


def composed(precision: int) -> dict[str, Callable[[Any], Any]]:
    """Return functions that MPFR lacks, made of those that it has, to be evaluated at a high precision."""
    one, pi = gmpy2.mpfr(1), gmpy2.const_pi(precision)

    def sigmoid(x: Any) -> Any:
        return one / (one + gmpy2.exp(-x))

    def softplus(x: Any) -> Any:
        return gmpy2.log1p(gmpy2.exp(x))

    def inner(x: Any) -> Any:
        return gmpy2.sqrt(2 / pi) * (x + gmpy2.mpfr(44715) / 1000000 * x * x * x)

    return {
        "sinpi": lambda x: gmpy2.sin(pi * x),
        "cospi": lambda x: gmpy2.cos(pi * x),
        "sigmoid": sigmoid,
        "silu": lambda x: x * sigmoid(x),
        "gelu": lambda x: x / 2 * gmpy2.erfc(-x / gmpy2.sqrt(gmpy2.mpfr(2))),
        "gelu_tanh": lambda x: x / (one + gmpy2.exp(-2 * inner(x))),
        "softplus": softplus,
        "mish": lambda x: x * gmpy2.tanh(softplus(x)),
        "logit": lambda x: gmpy2.log(x / (one - x)),
        "digamma": gmpy2.digamma,
        "erfinv": _by_mpmath(mpmath.erfinv),
        "bessel_i1e": _by_mpmath(lambda x: mpmath.exp(-abs(x)) * mpmath.besseli(1, x)),
    }


def _by_mpmath(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Return a function of mpmath on numbers of gmpy2, with 1,000 bits."""

    def of_number(x: Any) -> Any:
        with mpmath.workprec(1000):
            found = function(mpmath.mpf(x))
            return gmpy2.mpfr(int(mpmath.sign(found)) * found.man) * gmpy2.mpfr(2) ** found.exp  # man has no sign

    return of_number


@pytest.mark.parametrize("name", thinned(composed(53), 4))
@pytest.mark.parametrize("fmt", [FORMATS[name] for name in ("f8E4M3FN", "bf16", "f32", "f64", "f80", "f128")], ids=str)
@pytest.mark.parametrize("count", amounts(4, 1_000, long=40))
def test_functions_that_mpfr_lacks_are_rounded_as_its_parts_say(fmt: FloatFormat, name: str, count: int) -> None:
    """At 5,000 bits, all that is lost lies far below the last bit: the arguments are no larger than 24."""
    compared = 0
    for code in samples(fmt, count)[:: 7 if fmt.bits == 8 and count < 40 else 1]:
        exact = scalar.value(fmt, code)
        if not exact or abs(exact) > 24 or exponent_of(exact) < -200 or FUNCTIONS[name].exact(exact) is not None:
            continue
        low, high = FUNCTIONS[name].limits.domain
        if (low is not None and exact < low) or (high is not None and exact > high):
            continue
        operand = exact_operand(fmt, code)
        with gmpy2.context(precision=5000, emax=1 << 30, emin=-(1 << 30)):
            found = composed(5000)[name](operand)
            number = Fraction(*map(int, found.as_integer_ratio()))
        mode = MODES[code % len(MODES)]
        wanted = scalar.from_fraction(fmt, number, mode).code
        check(fmt, name, unary(name, fmt, code, mode), wanted, (hex(code), mode))
        compared += 1
    assert compared > count // 8


@pytest.mark.parametrize("function", thinned(FUNCTIONS.values(), 4), ids=lambda row: row.name)
def test_what_is_known_near_zero_and_far_out_agrees_with_balls(function: Function) -> None:
    """Both ways lead to one cell of the grid, wherever both are open."""
    draw, fmt, agreed = random.Random(function.name), FORMATS["bf16"], 0
    for _ in range(400):
        scale = Fraction(2) ** draw.randint(-40, 7)
        x = Fraction(draw.randint(1 << 23, (1 << 24) - 1), 1 << 23) * scale * draw.choice((1, -1))
        low, high = function.limits.domain
        if (low is not None and x <= low) or (high is not None and x >= high) or function.exact(x) is not None:
            continue
        known = function.far(x)
        near = cell_near(known, grid_of(fmt)) if isinstance(known, Near) else None
        if near is None:
            continue
        twos = x.denominator.bit_length() - 1
        ball = cell_of_ball(partial(function.ball, exact_ball(x.numerator, -twos)), grid_of(fmt))
        results = {scalar.round_pack(fmt, sign, 2 * floor + 1, e - 1, 0, SPEC) for sign, floor, e in (near, ball)}
        assert len(results) == 1, (function.name, x, near, ball)
        agreed += 1
    assert agreed > 20 or function.far(Fraction(1, 1 << 30)) is None


def test_a_result_that_no_ball_settles_is_an_error() -> None:
    with pytest.raises(Unsettled, match="a ball of 4096 bits does not settle the result"):
        cell_of_ball(lambda: arb(3).sqrt() * arb(3).sqrt(), grid_of(FORMATS["f32"]), 4096)


def test_every_function_has_an_oracle_or_is_named() -> None:
    assert set(FUNCTIONS) == MPFR.keys() | composed(53).keys()
    assert set(FUNCTIONS_OF_TWO) == MPFR_OF_TWO.keys() | {"rootn", "polygamma", "zeta"}


@pytest.mark.parametrize("type_", ["bf16", "f64"])
def test_sums_of_powers_are_those_of_mpmath(type_: str) -> None:
    fmt, compared = FORMATS[type_], 0
    powers = (1.125, 2.0, 3.0, 4.0, 70.0)
    numbers = (0.0625, 1.0, 1.5, 300.0, -0.5, -3.25)
    for x, q in itertools.product(powers, numbers):
        if q < 0 and x != int(x):
            continue
        for name in ("zeta", "polygamma"):
            order = x - 1 if name == "polygamma" else x
            if order != int(order) and name == "polygamma":
                continue
            with mpmath.workdps(120):
                number = mpmath.zeta(x, q) if q > 0 else _sum_below(x, q)
                if name == "polygamma":
                    number = mpmath.digamma(q) if order == 0 else (-1) ** int(x) * mpmath.factorial(order) * number
                man, exp = int(number.man), number.exp
            exact = (-1 if number < 0 else 1) * abs(man) * Fraction(2) ** exp
            codes = [scalar.from_fraction(fmt, Fraction(each), Rounding.TO_NEAREST_EVEN).code for each in (order, q)]
            wanted = scalar.from_fraction(fmt, exact, Rounding.TO_NEAREST_EVEN).code
            if [scalar.value(fmt, code) for code in codes] == [order, q]:
                assert binary(name, fmt, codes[0], codes[1]).code == wanted, (name, order, q)
                compared += 1
    assert compared > 30


def _sum_below(x: float, q: float) -> Any:
    count = math.ceil(-q)
    return sum((mpmath.mpf(q) + k) ** -int(x) for k in range(count)) + mpmath.zeta(x, q + count)


@pytest.mark.parametrize(
    ("name", "first", "second", "expected"),
    [
        ("zeta", 1.0, 2.0, "inf"), ("zeta", 0.5, 2.0, "nan"), ("zeta", 2.0, 0.0, "inf"), ("zeta", 3.0, -2.0, "nan"),
        ("zeta", 2.5, -0.5, "nan"), ("zeta", 2.0, "inf", "0"), ("zeta", "inf", 1.0, "1"), ("zeta", "inf", 0.5, "inf"),
        ("zeta", 200.0, 1.0, "1"), ("polygamma", 0.0, -1.0, "nan"), ("polygamma", 1.0, -1.0, "inf"),
        ("polygamma", 2.0, 0.0, "nan"), ("polygamma", 1.5, 2.0, "nan"), ("polygamma", -1.0, 2.0, "nan"),
        ("polygamma", 1.0, "inf", "0"), ("polygamma", 2.0, "inf", "-0"), ("polygamma", 0.0, "inf", "inf"),
    ],
)  # fmt: skip
def test_special_cases_of_sums_of_powers(name: str, first: float | str, second: float | str, expected: str) -> None:
    fmt = FORMATS["f64"]
    codes = [int(np.float64(each).view(np.uint64)) for each in (first, second)]
    found, wanted = (
        np.uint64(code).view(np.float64)
        for code in (binary(name, fmt, codes[0], codes[1]).code, int(np.float64(expected).view(np.uint64)))
    )
    assert found == wanted or (np.isnan(found) and np.isnan(wanted))
    assert np.signbit(found) == np.signbit(wanted)


@pytest.mark.parametrize("q", [0.5, 0.125, -0.75, -1.5, -3.25, -2.125, -1.99609375, -0.0009765625])
def test_a_sum_of_large_powers_is_next_to_a_power_of_two(q: float) -> None:
    for x in (65, 66, 257):
        known = FUNCTIONS_OF_TWO["zeta"].far(Fraction(x), Fraction(q))
        if known is None:  # the largest terms cancel
            assert (x % 2, q) == (1, -1.5)
            continue
        assert isinstance(known, Near)
        start = Fraction(q)
        rest = sum((start + k) ** -x for k in range(40)) - known.value
        ends = rest, rest + (start + 40) ** -x * (1 + (start + 40) / (x - 1))
        assert all(0 < known.direction * end < Fraction(2) ** known.distance for end in ends), (x, q)


# --- formulas ---------------------------------------------------------------------------------------------------------
#
# The reader of formulas: precedence, exact numbers, and errors at their places.

VALUES = {"x": Fraction(3), "y": Fraction(-1, 2)}


def value(text: str) -> object:
    return Program.of([parse(text, tuple(VALUES))], 2).numbers(tuple(VALUES.values()), False)[0]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1 + 2 * x", Fraction(7)),
        ("-x**2", Fraction(-9)),
        ("2**3**2", Fraction(512)),
        ("2**-x", Fraction(1, 8)),
        ("1 - 2 - x", Fraction(-4)),
        ("12 / 2 / x", Fraction(2)),
        ("-(x + y) * 2", Fraction(-5)),
        ("--x", Fraction(3)),
        ("x * -y", Fraction(3, 2)),
        ("-x * y", Fraction(3, 2)),
        ("0.1", Fraction(1, 10)),
        ("1.5e-3", Fraction(3, 2000)),
        (".5", Fraction(1, 2)),
        ("0x1.8p-3", Fraction(3, 16)),
        ("0xFF", Fraction(255)),
        ("abs(y) + max(x, 4) + min(x, y)", Fraction(4)),
        ("sqrt(9/4)", Fraction(3, 2)),
        ("hypot(x, 4)", Fraction(5)),
        ("\n x\t* 2 ", Fraction(6)),
        ("8**(1/3)", Fraction(2)),
        ("log10(1/1000) + log2(8) + exp10(-1)", Fraction(1, 10)),
        ("sinpi(x/18) + cospi(1/3)", Fraction(1)),
    ],
)
def test_formulas_have_the_values_of_arithmetic(text: str, expected: Fraction) -> None:
    assert value(text) == expected


@pytest.mark.parametrize(
    ("text", "place", "part"),
    [
        ("", 0, "empty"),
        ("x +", 3, "the end"),
        ("x ^ 2", 2, "**"),
        ("x < 2", 2, "Python function"),
        ("(x", 2, "expected ')'"),
        ("x)", 1, "expected an operator"),
        ("2 x", 2, "*"),
        ("x(2)", 0, "x * "),
        ("w + 1", 0, "unknown name 'w'"),
        ("1 + tahn(x)", 4, "`tanh`"),
        ("tanh + 1", 0, "tanh(…)"),
        ("atan2(x)", 0, "takes 2 arguments"),
        ("exp()", 4, "expected a number"),
        ("1e99999", 0, "at most"),
        ("__import__('os')", 11, "not part"),
        ("x.exp()", 1, "not part"),
        ("x @ y", 2, "not part"),
        ("(" * 5000 + "x", DEEPEST, "nested"),
        ("-" * 5000 + "x", DEEPEST, "nested"),
        ("x**" * 3000 + "x", None, "nested"),
        ("x+" * LONGEST_TEXT, LONGEST_TEXT, "too long"),
    ],
)
def test_errors_name_their_place(text: str, place: int | None, part: str) -> None:
    with pytest.raises(FormulaError) as caught:
        parse(text, ("x", "y"))
    assert place is None or caught.value.place == place
    assert part in f"{caught.value} {caught.value.hint}"


@pytest.mark.long
def test_long_sums_and_long_numbers_are_read() -> None:
    assert value("+".join(["x"] * 4000)) == 12000
    assert value("9" * 9000) == 10**9000 - 1


# --- hard cases -------------------------------------------------------------------------------------------------------
#
# Hard cases: distances from boundaries against MPFR, searches against enumeration and published worst cases.

DRAW = random.Random(1).randrange


def operand(fmt: FloatFormat, code: int) -> gmpy2.mpfr:
    """Return a code as MPFR's number of the context's precision, an infinity as NaN."""
    value = scalar.value(fmt, code)
    return gmpy2.nan() if value is None else gmpy2.mpfr(gmpy2.mpq(value.numerator, value.denominator))


def halves_by_mpfr(name: str, fmt: FloatFormat, code: int) -> Fraction | None:
    """Return a result in half ulps, by MPFR with 600 bits; None for one that is not a finite number other than 0."""
    with gmpy2.context(precision=600, emin=-(1 << 19), emax=1 << 19):
        found = getattr(gmpy2, name)(operand(fmt, code))
    if not gmpy2.is_finite(found) or not found:
        return None
    numerator, denominator = found.as_integer_ratio()
    number = Fraction(int(numerator), int(denominator))
    return abs(number) / (ulp_at(fmt, abs(number)) / 2)


@pytest.mark.parametrize(("name", "kind"), [("exp", "f8E5M2"), ("log", "bf16"), ("sin", "f32"), ("tanh", "f64")])
def test_distances_against_mpfr(name: str, kind: str) -> None:
    fmt, seen = FORMATS[kind], 0
    for code in (DRAW(1 << fmt.bits) for _ in range(200)):
        found, halves = hard_cases.distance(name, [fmt], [code], fmt), halves_by_mpfr(name, fmt, code)
        if found is None or halves is None:
            continue
        boundary = round(halves)
        seen += 1
        assert abs(found.ulps - abs(halves - boundary) / 2) <= Fraction(1, 1 << hard_cases.depth_of(fmt))
        if abs(halves - boundary) > Fraction(1, 1 << hard_cases.depth_of(fmt)):
            assert (found.midpoint, found.beyond) == (boundary % 2 == 1, halves > boundary)
    assert seen > 20


def test_results_without_a_distance() -> None:
    bf16, unsigned = FORMATS["bf16"], FORMATS["f8E8M0FNU"]
    one, nan, huge = 0x3F80, 0x7FC1, 0x7F00
    assert hard_cases.distance("log2", [bf16], [one], bf16) is None  # zero
    assert hard_cases.distance("sqrt", [bf16], [one], bf16) is None  # a value
    assert hard_cases.distance("exp", [bf16], [nan], bf16) is None
    assert hard_cases.distance("exp", [bf16], [huge], bf16) is None  # overflow
    assert hard_cases.distance("log", [bf16], [0x3F00], unsigned) is None  # negative
    assert hard_cases.distance("powf", [bf16, None], [one + 1, 3], bf16) is not None


def test_overflow_begins_at_the_midpoint_beyond_the_largest_value() -> None:
    f16 = FORMATS["f16"]
    last = next(
        code for code in range(0x4900, 0x7C00) if scalar.value(f16, code + 1) and not finite("exp", f16, code + 1)
    )
    assert hard_cases.distance("exp", [f16], [last], f16) is not None
    assert hard_cases.distance("exp", [f16], [last + 1], f16) is None


def finite(name: str, fmt: FloatFormat, code: int) -> bool:
    halves = halves_by_mpfr(name, fmt, code)
    return halves is not None and halves < 2 * (2 << fmt.mantissa_bits) - 1


def test_euclid_against_enumeration() -> None:
    draw = random.Random(2)
    for _ in range(2000):
        modulus, count = draw.randint(2, 200), draw.randint(1, 60)
        step, start, width = draw.randint(-500, 500), draw.randint(-300, 300), draw.randint(0, modulus - 1)
        wanted = [k for k in range(count) if (start + step * k) % modulus <= width][:3]
        assert list(hard_cases.multiples_within(step, start, modulus, width, count, 3)) == wanted


@pytest.mark.parametrize("name", ["exp", "tanh", "rsqrt"])
def test_a_search_of_a_small_format_sees_every_argument(name: str) -> None:
    fmt = FORMATS["f8E4M3"]
    every = [
        hard_cases.HardCase(code, near)
        for code in range(256)
        if (near := hard_cases.distance(name, [fmt], [code], fmt))
    ]
    assert hard_cases.search(name, fmt, fmt, DRAW) == sorted(every, key=lambda case: (case.distance.ulps, case.code))
    assert every


@pytest.mark.parametrize(("name", "bits"), [("exp", 10), ("log", 14), ("sin", 10)])
def test_a_search_of_f32_finds_cases_as_hard_as_chance_has_them(name: str, bits: int) -> None:
    fmt = FORMATS["f32"]
    found = hard_cases.search(name, fmt, fmt, DRAW, intervals=64)
    for midpoint in (False, True):
        assert any(case.distance.ulps < Fraction(1, 1 << bits) for case in found if case.distance.midpoint == midpoint)
    for case in found[:: len(found) // 20]:
        halves = present(halves_by_mpfr(name, fmt, case.code))
        assert abs(case.distance.ulps - abs(halves - round(halves)) / 2) <= Fraction(1, 1 << hard_cases.depth_of(fmt))


@pytest.mark.parametrize(
    ("name", "argument", "bits"),
    [("log", "0x1.62A88613629B6p678", 65), ("exp2", "0x1.E4596526BF94Dp-10", 60)],
)
def test_an_interval_holds_the_published_worst_case(name: str, argument: str, bits: int) -> None:
    """Lefèvre and Muller's worst cases of binary64, among 2**17 arguments."""
    fmt = FORMATS["f64"]
    rank = present(rank_of(fmt, scalar.from_fraction(fmt, Fraction(float.fromhex(argument))).code))
    ranks = list(hard_cases.near_boundaries(name, fmt, fmt, rank - 50_000, 1 << 17))
    assert rank in ranks
    near = present(hard_cases.distance(name, [fmt], [code_at(fmt, rank)], fmt))
    assert Fraction(1, 1 << bits + 1) < near.ulps < Fraction(1, 1 << bits)


def test_the_double_nearest_to_a_multiple_of_half_pi() -> None:
    """6381956970095103 * 2**797: Kahan's, and J.-M. Muller's "Elementary Functions"."""
    fmt = FORMATS["f64"]
    code = scalar.from_fraction(fmt, Fraction(6381956970095103 << 797)).code
    assert code in hard_cases.near_quarter_turns(fmt, 849)
    part = present(hard_cases.from_quarter_turns(fmt, code))
    assert Fraction(1, 1 << 62) < part < Fraction(1, 1 << 61)


def test_multiples_of_half_pi_against_enumeration() -> None:
    fmt, exponent = FORMATS["bf16"], 5
    binade = range((exponent + fmt.bias) << 7, (exponent + fmt.bias + 1) << 7)
    parts = {code: hard_cases.from_quarter_turns(fmt, code) for code in binade}
    near = [code for code, part in parts.items() if part is not None and part <= Fraction(2, 128)]
    assert hard_cases.near_quarter_turns(fmt, exponent, most=len(near) + 1) == near
    assert near
    with gmpy2.context(precision=200):
        for code in binade[::7]:
            turns = operand(fmt, code) * 2 / gmpy2.const_pi()
            assert abs(float(parts[code] or 2) - float(abs(turns - gmpy2.rint(turns)))) < 1e-9
