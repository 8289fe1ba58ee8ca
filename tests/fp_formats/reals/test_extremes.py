"""Arguments at the ends of the widest formats, next to poles, limits and rational results: bounded time, right bits.

The expected results come from first terms of series and from MPFR at a precision that shows the difference.
"""

import random
import time
from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any

import gmpy2
import pytest
from amounts import amounts
from mpfr import MPFR, MPFR_OF_TWO
from present import present
from tables import each_row

from halfulp.fp_formats import scalar
from halfulp.fp_formats.formats import FORMATS, FloatFormat, codes_to_ints, ints_to_codes
from halfulp.fp_formats.paths import elementary
from halfulp.fp_formats.policy import Flags, FloatPolicy, Rounding
from halfulp.fp_formats.reals.elementary import binary, of_integer, unary
from halfulp.fp_formats.reals.functions import FUNCTIONS
from halfulp.fp_formats.reals.functions_of_two import FUNCTIONS_OF_TWO

F128 = FORMATS["f128"]
TINY = FloatFormat("the smallest numbers", 15, 112, 65536)
LARGE = FloatFormat("the largest numbers", 15, 112, -65536)
WIDEST = (F128, TINY, LARGE)
MODES = list(Rounding)[:5]
SECONDS = 1.0
"""So long one result may take: the slowest takes about 0.1 s, on a machine with other work more."""


def ends(fmt: FloatFormat, count: int, seed: str) -> list[int]:
    """Return codes of all magnitudes: subnormals, the ends of the exponents, around 1, short and long significands."""
    draw = random.Random(seed + fmt.name)
    top = (1 << fmt.exponent_bits) - 2
    steps = (-300, -113, -112, -60, -20, -4, -1, 0, 1, 4, 6, 7, 10, 15, 16, 17, 18, 60, 112, 113)
    around = [fmt.bias + step for step in steps if 0 <= fmt.bias + step <= top]
    codes = []
    for _ in range(count):
        field = draw.choice((0, 1, top, draw.choice(around or [top // 2]), draw.randrange(top + 1)))
        fraction = draw.choice((0, 1, fmt.fraction_mask, 1 << fmt.mantissa_bits - 1, draw.getrandbits(112)))
        codes.append(draw.getrandbits(1) << fmt.bits - 1 | field << fmt.mantissa_bits | fraction)
    return codes


@pytest.fixture
def in_time() -> Iterator[Callable[..., Any]]:
    """A function that calls another, and keeps the longest time of a call."""
    longest = (0.0, "")

    def call(function: Callable[..., Any], *arguments: Any) -> Any:
        nonlocal longest
        start = time.process_time()
        found = function(*arguments)
        longest = max(longest, (time.process_time() - start, repr(arguments)))
        return found

    yield call
    assert longest[0] < SECONDS, longest


def compare_times(fmt: FloatFormat, count: int, in_time: Callable[..., Any]) -> None:
    for name in FUNCTIONS:
        for code in ends(fmt, count, name):
            in_time(unary, name, fmt, code)
    for name in (*FUNCTIONS_OF_TWO, "powf"):
        for a, b in zip(ends(fmt, count, name), ends(fmt, count, name + "b"), strict=True):
            if name != "rootn":
                in_time(binary, name, fmt, a, b)
        if name in ("powf", "rootn"):
            degrees = (
                0,
                1,
                -1,
                2,
                -2,
                3,
                16383,
                -16494,
                -(1 << 31),
                (1 << 31) - 1,
                -(1 << 63),
                (1 << 63) - 1,
                1 << 999,
            )
            for code, n in zip(ends(fmt, count, name), degrees * count, strict=False):
                in_time(of_integer, name, fmt, code, n)


@pytest.mark.long
@pytest.mark.parametrize("fmt", WIDEST, ids=str)
@pytest.mark.parametrize("count", amounts(12, 1_500))
def test_each_result_of_the_widest_formats_takes_bounded_time(
    fmt: FloatFormat, count: int, in_time: Callable[..., Any]
) -> None:
    compare_times(fmt, count, in_time)


def fraction_of(number: Any) -> Fraction:
    return Fraction(*map(int, number.as_integer_ratio()))


def of(fmt: FloatFormat, number: Fraction) -> int:
    """Return the code of a number that the format has."""
    found = scalar.from_fraction(fmt, number)
    assert not found.flags
    return found.code


SMALLEST = Fraction(2) ** -16494
EPSILON = Fraction(2) ** -112
NEXT_TO: list[tuple[str, Fraction, Fraction, int]] = [
    # A function, an argument of f128, a rational number, and the side of it on which the result lies: by its series.
    ("tgamma", SMALLEST * 4096, 1 / SMALLEST / 4096, -1),
    ("tgamma", -SMALLEST * 4096, -1 / SMALLEST / 4096, -1),
    ("tgamma", Fraction(2) ** -200, Fraction(2) ** 200, -1),
    ("tgamma", -(Fraction(2) ** -200), -(Fraction(2) ** 200), -1),
    ("sigmoid", SMALLEST, Fraction(1, 2), 1),
    ("sigmoid", -SMALLEST, Fraction(1, 2), -1),
    ("silu", SMALLEST, SMALLEST / 2, 1),
    ("silu", -SMALLEST, -SMALLEST / 2, 1),
    ("silu", Fraction(2) ** -8000, Fraction(2) ** -8001, 1),
    ("gelu", SMALLEST, SMALLEST / 2, 1),
    ("gelu", -SMALLEST, -SMALLEST / 2, 1),
    ("gelu_tanh", SMALLEST, SMALLEST / 2, 1),
    ("gelu", Fraction(1 << 14), Fraction(1 << 14), -1),
    ("gelu_tanh", Fraction(127), Fraction(127), -1),
    ("gelu_tanh", Fraction(1 << 16000), Fraction(1 << 16000), -1),
    ("mish", Fraction(1 << 16000), Fraction(1 << 16000), -1),
    ("softplus", Fraction(1 << 16000), Fraction(1 << 16000), 1),
    ("erfc", SMALLEST, Fraction(1), -1),
    ("erfc", -SMALLEST, Fraction(1), 1),
    ("erfc", Fraction(-200), Fraction(2), -1),
    ("erf", Fraction(200), Fraction(1), -1),
    ("erf", Fraction(-200), Fraction(-1), 1),
    ("tanh", Fraction(200), Fraction(1), -1),
    ("expm1", Fraction(-200), Fraction(-1), 1),
    ("expm1", -SMALLEST, -SMALLEST, 1),
    ("log1p", SMALLEST, SMALLEST, -1),
    ("log1p", -SMALLEST, -SMALLEST, -1),
    ("sin", SMALLEST, SMALLEST, -1),
    ("asin", -SMALLEST, -SMALLEST, -1),
    ("exp", -SMALLEST, Fraction(1), -1),
    ("exp10", SMALLEST, Fraction(1), 1),
    ("cos", SMALLEST, Fraction(1), -1),
    ("cospi", SMALLEST, Fraction(1), -1),
    ("cosh", SMALLEST, Fraction(1), 1),
]


@each_row(*((*row, mode) for row in NEXT_TO for mode in MODES))
def test_results_next_to_rational_numbers_lie_on_their_side(
    name: str, x: Fraction, limit: Fraction, side: int, mode: Rounding
) -> None:
    """They round like the rational number with a little more or less."""
    wanted = scalar.from_fraction(F128, limit + side * abs(limit) * Fraction(2) ** -400, mode)
    assert unary(name, F128, of(F128, x), mode) == wanted


def test_gamma_between_its_poles_and_far_below() -> None:
    """The sign alternates, also where the result is less than the smallest number."""
    for n in range(1, 40):
        for step in (Fraction(1, 2), Fraction(1, 1 << 80), 1 - Fraction(1, 1 << 80)):
            found = unary("tgamma", F128, of(F128, -n + step), Rounding.TOWARD_ZERO)
            assert found.code >> 127 == n % 2, (n, step)
    for x, code in ((-Fraction(131073) + Fraction(1, 2), 1 << 127 | 1), (-Fraction(1 << 100) + Fraction(1, 2), 0)):
        found = unary("tgamma", F128, of(F128, x), Rounding.DOWNWARD)
        assert (found.code, found.flags) == (code, Flags.INEXACT | Flags.UNDERFLOW)
    assert unary("tgamma", F128, of(F128, -Fraction(1 << 113))).flags == Flags.INVALID
    assert unary("lgamma", F128, of(F128, -Fraction(1 << 113))).flags == Flags.DIVIDE_BY_ZERO
    assert unary("lgamma", F128, F128.max_code).flags == Flags.OVERFLOW | Flags.INEXACT


HARD_PAIRS: list[tuple[str, Fraction, Fraction]] = [
    ("powf", 1 + EPSILON, Fraction(1 << 125)),
    ("powf", 1 + EPSILON, -Fraction(1 << 125)),
    ("powf", 1 - EPSILON / 2, Fraction(1 << 126)),
    ("powf", 1 + EPSILON, SMALLEST),
    ("powf", 1 - EPSILON / 2, Fraction(1 << 16000)),
    ("powf", 1 + EPSILON, Fraction(1 << 16000)),
    ("powf", -1 - EPSILON, Fraction(3)),
    ("powf", SMALLEST, SMALLEST),
    ("powf", SMALLEST, Fraction(1, 2)),
    ("powf", Fraction(3), Fraction(-10406)),
    ("powf", Fraction(5), Fraction(48)),
    ("powf", Fraction(5), Fraction(49)),
    ("powf", Fraction(9, 4), Fraction(5, 2)),
    ("hypot", SMALLEST, SMALLEST),
    ("hypot", SMALLEST * 3, SMALLEST * 4),
    ("hypot", Fraction(1 << 16383), Fraction(1 << 16383)),
    ("hypot", Fraction(1 << 16383), SMALLEST),
    ("hypot", Fraction(1), Fraction(2) ** -57),
    ("hypot", Fraction(1), Fraction(2) ** -56),
    ("atan2", SMALLEST, Fraction(1 << 16383)),
    ("atan2", SMALLEST, -Fraction(1 << 16383)),
    ("atan2", -Fraction(1 << 16383), -SMALLEST),
    ("atan2", SMALLEST * 3, Fraction(3, 4)),
    ("atan2", Fraction(3), Fraction(1 << 60)),
]


@pytest.mark.parametrize(("name", "x", "y"), HARD_PAIRS)
def test_hard_pairs_are_rounded_as_mpfr_says(name: str, x: Fraction, y: Fraction) -> None:
    """MPFR rounds to more bits than f128 has, to odd: this rounds on like the exact result."""
    for mode in MODES:
        ends_ = []
        for direction in (gmpy2.RoundDown, gmpy2.RoundUp):
            with gmpy2.context(precision=180, emin=-(1 << 29), emax=1 << 29, round=direction):
                operands = [gmpy2.mpfr(gmpy2.mpq(each.numerator, each.denominator)) for each in (x, y)]
                ends_.append(MPFR_OF_TWO[name](*operands))
        low, high = ends_
        if gmpy2.is_infinite(high) or (low != high and (low == 0 or high == 0)):
            sign = int(high <= 0)
            large = bool(gmpy2.is_infinite(high) or gmpy2.is_infinite(low))
            wanted = scalar.from_fraction(F128, (-1) ** sign * Fraction(2) ** (20000 if large else -20000), mode)
        elif abs(high) > 2**20000:
            wanted = scalar.from_fraction(F128, Fraction(2) ** 20000, mode)
        elif abs(high) < gmpy2.mpfr(2) ** -20000:
            wanted = scalar.from_fraction(F128, Fraction(2) ** -20000 * (1 if high > 0 else -1), mode)
        else:
            wanted = scalar.from_fraction(F128, (fraction_of(low) + fraction_of(high)) / 2, mode)
        found = binary(name, F128, of(F128, x), of(F128, y), mode)
        assert found == wanted, (mode, hex(found.code), hex(wanted.code))


@pytest.mark.parametrize("name", ["sin", "cos", "tan"])
def test_huge_angles_are_rounded_as_mpfr_says(name: str) -> None:
    draw = random.Random(name)
    codes = [F128.max_code, *(draw.randrange(0x6000, 0x7FFF) << 112 | draw.getrandbits(112) for _ in range(4))]
    for code in codes:
        exact = present(scalar.value(F128, code))
        with gmpy2.context(precision=17000, emax=1 << 20):
            argument = gmpy2.mpfr(exact.numerator)
        with gmpy2.context(precision=400):
            wanted = scalar.from_fraction(F128, fraction_of(MPFR[name](argument)))
        assert unary(name, F128, code) == wanted


def test_roots_of_degrees_at_the_ends() -> None:
    two, minus_eight = of(F128, Fraction(2)), of(F128, Fraction(-8))
    one = of(F128, Fraction(1))
    assert of_integer("rootn", F128, two, 0).flags == Flags.INVALID
    assert of_integer("rootn", F128, two, 1) == scalar.Result(two)
    assert of_integer("rootn", F128, two, -1) == scalar.Result(of(F128, Fraction(1, 2)))
    assert of_integer("rootn", F128, minus_eight, 3) == scalar.Result(of(F128, Fraction(-2)))
    assert of_integer("rootn", F128, minus_eight, -3) == scalar.Result(of(F128, Fraction(-1, 2)))
    assert of_integer("rootn", F128, minus_eight, -(1 << 31)).flags == Flags.INVALID
    for n, step in ((-(1 << 31), 0), ((1 << 31) - 1, 1)):
        found = of_integer("rootn", FORMATS["bf16"], 0x4000, n, Rounding.UPWARD)
        assert found == scalar.Result(0x3F80 + step, int(Flags.INEXACT))
    assert of_integer("powf", F128, one, -(1 << 63)) == scalar.Result(one)
    assert of_integer("powf", F128, 0, -3) == scalar.Result(F128.infinity_code or 0, int(Flags.DIVIDE_BY_ZERO))
    assert of_integer("powf", F128, 1 << 127, -3).code == 1 << 127 | (F128.infinity_code or 0)


@pytest.mark.parametrize("fmt", [FORMATS["f16"], FORMATS["f32"], FORMATS["f64"]], ids=str)
def test_tininess_is_told_before_or_after_rounding(fmt: FloatFormat) -> None:
    """Just below the least normal number, a result is tiny before rounding; after it only if it stays below.

    sin(x) lies below x, tan(x) above it, by less than any bit of the format.
    """
    least, sine = fmt.min_normal_code, "sin"
    before, after = FloatPolicy(tininess="before"), FloatPolicy(tininess="after")
    assert unary(sine, fmt, least, Rounding.TO_NEAREST_EVEN, before) == (least, Flags.INEXACT | Flags.UNDERFLOW, False)
    assert unary(sine, fmt, least, Rounding.TO_NEAREST_EVEN, after) == (least, Flags.INEXACT, False)
    down = unary(sine, fmt, least, Rounding.DOWNWARD, after)
    assert down == (least - 1, Flags.INEXACT | Flags.UNDERFLOW, False)
    assert unary("tan", fmt, least, Rounding.DOWNWARD, before) == (least, Flags.INEXACT, False)
    assert unary("tan", fmt, 1, Rounding.UPWARD) == (2, Flags.INEXACT | Flags.UNDERFLOW, False)


@pytest.mark.parametrize("fmt", [FORMATS["f16"], FORMATS["f80"], FORMATS["f128"]], ids=str)
def test_signalling_nans_prevail_over_the_rules_for_nans(fmt: FloatFormat) -> None:
    """IEEE 754-2019, 9.2.1: powf(x, 0) is 1 and hypot(inf, x) is inf for a quiet NaN, not for a signalling one."""
    infinity, nan = fmt.infinity_code or 0, fmt.nan_code or 0
    signalling = infinity | 1
    one = scalar.from_integer(fmt, 1).code
    quiet_result, loud = scalar.Result(nan | 1), int(Flags.INVALID)
    for name, a, b, wanted in (
        ("powf", signalling, 0, quiet_result),
        ("powf", one, signalling, quiet_result),
        ("hypot", infinity, signalling, quiet_result),
        ("hypot", signalling, infinity, quiet_result),
    ):
        for paths in (False, True):
            assert by_either(paths, name, fmt, a, b) == wanted._replace(flags=loud), (name, paths)
    for name, a, b, code in (("powf", nan, 0, one), ("powf", one, nan, one), ("hypot", infinity, nan, infinity)):
        for paths in (False, True):
            assert by_either(paths, name, fmt, a, b) == scalar.Result(code), (name, paths)
    assert of_integer("powf", fmt, signalling, 0) == quiet_result._replace(flags=loud)
    assert of_integer("powf", fmt, nan, 0) == scalar.Result(one)


def by_either(paths: bool, name: str, fmt: FloatFormat, a: int, b: int) -> scalar.Result:
    """Return a result of the specification, or of the array paths for many elements."""
    if not paths:
        return binary(name, fmt, a, b)
    x, y = (ints_to_codes([code] * 100, fmt.bits, (100,)) for code in (a, b))
    found = elementary.binary(name, fmt, x, y, want_flags=True)
    assert found.flags is not None
    return scalar.Result(codes_to_ints(found.codes, fmt.bits)[0], int(found.flags[0]))
