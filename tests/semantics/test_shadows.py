"""Shadows: the exact number lies inside each, and what a correctly rounded op loses is at most half an ulp."""

import itertools
import random
from collections.abc import Callable, Mapping
from fractions import Fraction
from inspect import signature
from itertools import product
from math import ceil, floor, fmod, isqrt, trunc
from typing import NamedTuple

import numpy as np
import pytest
from amounts import amounts, thinned
from flint import arb

from halfulp.fp_formats import scalar
from halfulp.fp_formats.formats import FORMATS, FloatFormat
from halfulp.fp_formats.paths.margins import APPROXIMATIONS
from halfulp.fp_formats.reals.functions import FUNCTIONS, bits_of_precision
from halfulp.fp_formats.reals.functions_of_two import FUNCTIONS_OF_TWO
from halfulp.fp_formats.scalar import RD, RNA, RNE, RU, RZ
from halfulp.semantics.ball_rules import BALLS, FEWEST, SLOPES, covers
from halfulp.semantics.shadows import Errors, Shadow, Shadowed, errors, exact, order

NAMES = ("f4E2M1FN", "f6E3M2FN", "f8E4M3FN", "f8E5M2", "bf16", "f16", "tf32", "f32", "f64")
MODES = (RNE, RU, RD, RZ, RNA)
LONG = 4000
"""Bits of a fraction that is replaced by bounds."""
BITS = 2000
"""Relative bits of such bounds."""


class Interval(NamedTuple):
    """Bounds of an exact number; None for a number that no real one is."""

    low: Fraction
    high: Fraction


def interval(low: Fraction, high: Fraction) -> Interval:
    """Return bounds of moderate length around others."""
    if max(low.denominator.bit_length(), high.denominator.bit_length()) < LONG:
        return Interval(low, high)
    largest = max(abs(low), abs(high))
    shift = BITS + largest.denominator.bit_length() - largest.numerator.bit_length()
    step = Fraction(1, 1 << shift) if shift >= 0 else Fraction(1 << -shift)
    return Interval((low / step).__floor__() * step, (high / step).__ceil__() * step)


def _sum(x: Interval, y: Interval) -> Interval:
    return interval(x.low + y.low, x.high + y.high)


def _opposite(x: Interval) -> Interval:
    return Interval(-x.high, -x.low)


def _product(x: Interval, y: Interval) -> Interval:
    ends = [a * b for a in x for b in y]
    return interval(min(ends), max(ends))


def _quotient(x: Interval, y: Interval) -> Interval | None:
    if y.low <= 0 <= y.high:
        return None
    ends = [a / b for a in x for b in y]
    return interval(min(ends), max(ends))


def _root(x: Interval) -> Interval | None:
    return None if x.low < 0 else interval(_root_of(x.low)[0], _root_of(x.high)[1])


def _root_of(x: Fraction) -> tuple[Fraction, Fraction]:
    """Return bounds of a root, equal ones if it is rational."""
    product = x.numerator * x.denominator
    if isqrt(product) ** 2 == product:
        return (Fraction(isqrt(product), x.denominator),) * 2
    scale = 1 << BITS
    least = isqrt(product * scale * scale)
    return Fraction(least, scale * x.denominator), Fraction(least + 1, scale * x.denominator)


def _magnitude(x: Interval) -> Interval:
    if x.low >= 0:
        return x
    return _opposite(x) if x.high <= 0 else Interval(Fraction(0), max(-x.low, x.high))


def _largest(x: Interval, y: Interval) -> Interval:
    return Interval(max(x.low, y.low), max(x.high, y.high))


def _least(x: Interval, y: Interval) -> Interval:
    return Interval(min(x.low, y.low), min(x.high, y.high))


class Op(NamedTuple):
    """How many operands an op has, its result in bits, and its exact result."""

    arity: int
    compute: Callable[..., scalar.Result]
    exactly: Callable[..., Interval | None]


def _rounded_root(fmt: FloatFormat, code: int, mode: int) -> scalar.Result:
    x = scalar.value(fmt, code)
    if x is None or x < 0:
        return scalar.divide(fmt, 0, 0, mode)
    return scalar.from_fraction(fmt, _root_of(x)[0], mode)


OPS: Mapping[str, Op] = {
    "square root": Op(1, _rounded_root, _root),
    "maximum": Op(2, lambda fmt, a, b, mode: scalar.maximum(fmt, a, b), _largest),
    "minimum": Op(2, lambda fmt, a, b, mode: scalar.minimum(fmt, a, b), _least),
    "fma": Op(3, scalar.fma, lambda x, y, z: _sum(_product(x, y), z)),
    "negate": Op(1, lambda fmt, code, mode: scalar.negate(fmt, code), _opposite),
    "absolute": Op(1, lambda fmt, code, mode: scalar.Result(code & ((1 << fmt.bits - 1) - 1), 0), _magnitude),
    "add": Op(2, scalar.add, _sum),
    "subtract": Op(2, scalar.subtract, lambda x, y: _sum(x, _opposite(y))),
    "multiply": Op(2, scalar.multiply, _product),
    "divide": Op(2, scalar.divide, _quotient),
}


class Lane(NamedTuple):
    """A number of one lane: its code, and what it exactly is."""

    code: int
    exactly: Interval | None


class Row(NamedTuple):
    """A number of the program in all lanes."""

    fmt: FloatFormat
    lanes: list[Lane]
    shadowed: Shadowed


def value_of(fmt: FloatFormat, code: int) -> float:
    """Return the value of a code; NaN for an infinity or NaN."""
    found = scalar.value(fmt, code)
    return float("nan") if found is None else float(found)


def argument(fmt: FloatFormat, rng: random.Random, count: int) -> Row:
    ordinary = rng.random() < 0.7
    lanes: list[Lane] = []
    while len(lanes) < count:
        if ordinary:
            code = scalar.from_fraction(fmt, Fraction(rng.uniform(-4, 4)), RNE).code
        else:
            code = rng.randrange(1 << fmt.bits)
        found = scalar.value(fmt, code)
        lanes.append(Lane(code, None if found is None else Interval(found, found)))
    shadowed = exact([value_of(fmt, lane.code) for lane in lanes])
    return Row(fmt, lanes, shadowed)


def inside(exactly: Interval | None, value: float, error: float, radius: float) -> bool:
    """Tell whether an exact number lies in its ball."""
    if radius == np.inf:
        return True
    if exactly is None:
        return False
    middle = Fraction(value) + Fraction(error)
    return middle - Fraction(radius) <= exactly.low and exactly.high <= middle + Fraction(radius)


def step(rows: list[Row], rng: random.Random) -> tuple[Row, Errors]:
    """Run one op on numbers of a program, check its own error, and return its result."""
    if rng.random() < 0.15:
        source = rng.choice(rows)
        target = FORMATS[rng.choice(NAMES)]
        mode = rng.choice(MODES)
        return result(target, "convert", [source], lambda code: scalar.convert(source.fmt, target, code, mode), mode)
    first = rng.choice(rows)
    others = [row for row in rows if row.fmt is first.fmt]
    name = rng.choice(list(OPS))
    mode = rng.choice(MODES)
    operands = [first, *(rng.choice(others) for _ in range(OPS[name].arity - 1))]
    return result(first.fmt, name, operands, lambda *codes: OPS[name].compute(first.fmt, *codes, mode), mode)


def result(
    fmt: FloatFormat, name: str, operands: list[Row], compute: Callable[..., scalar.Result], mode: int
) -> tuple[Row, Errors]:
    exactly = OPS[name].exactly if name in OPS else _same
    lanes, owns = [], []
    for each in zip(*(row.lanes for row in operands), strict=True):
        code = compute(*(lane.code for lane in each)).code
        lanes.append(Lane(code, _applied(exactly, [lane.exactly for lane in each])))
        numbers = [scalar.value(row.fmt, lane.code) for row, lane in zip(operands, each, strict=True)]
        owns.append(_applied(exactly, [None if number is None else Interval(number, number) for number in numbers]))
    values = np.array([value_of(fmt, lane.code) for lane in lanes])
    found = errors(name, values, *(row.shadowed for row in operands))
    for lane, own, value, error, radius in zip(lanes, owns, values, *found.own, strict=True):
        if not np.isfinite(value):
            assert radius == np.inf
            continue
        assert inside(own, value, error, radius), (name, fmt.name, own, value, error, radius)
        if radius < np.inf and own is not None:
            assert_rounded(fmt, mode, lane.code, abs(error) - radius, own)
    for lane, value, error, radius in zip(lanes, values, *found.total, strict=True):
        right = not np.isfinite(value) or inside(lane.exactly, value, error, radius)
        assert right, (name, fmt.name, lane, value, error, radius)
    return Row(fmt, lanes, Shadowed(values, *found.total)), found


def _same(x: Interval) -> Interval:
    return x


def _applied(exactly: Callable[..., Interval | None], operands: list[Interval | None]) -> Interval | None:
    return None if None in operands else exactly(*operands)


def assert_rounded(fmt: FloatFormat, mode: int, code: int, error: float, own: Interval) -> None:
    """The error of a correctly rounded op is at most half an ulp, or one in directed modes, if nothing overflows."""
    magnitude = code & ((1 << fmt.bits - 1) - 1)
    values = [
        scalar.value(fmt, each) for each in (magnitude - 1, magnitude, magnitude + 1) if 0 <= each < 1 << fmt.bits - 1
    ]
    finite = [value for value in values if value is not None]
    ulp = max(abs(one - other) for one, other in itertools.pairwise(finite))
    if abs(own.low) <= finite[-1]:  # else it overflows
        assert Fraction(error) <= ulp * (Fraction(1, 2) if mode in (RNE, RNA) else 1), (fmt.name, code, error, own)


@pytest.mark.long
@pytest.mark.parametrize("programs", amounts(2, 2000, long=5))
def test_the_exact_number_lies_inside(programs: int) -> None:
    """Random programs of 1 to 50 ops, each on 50 inputs, in formats of 4 to 64 bits and all modes."""
    rng = random.Random(programs)
    known = 0
    for _ in range(programs):
        formats = [FORMATS[name] for name in rng.choices(NAMES, k=2)]
        rows = [argument(rng.choice(formats), rng, 50) for _ in range(3)]
        for _ in range(rng.randint(1, 50)):
            row, found = step(rows, rng)
            rows.append(row)
            known += int(np.isfinite(found.total.radius).sum())
    assert known > 100 * programs


def ulps(shadow: Shadow, ulp: float) -> list[float]:
    return [float(error / ulp) for error in shadow.error]


def test_a_wrong_result_shows_its_error() -> None:
    """1/3 and sqrt(2) in f32, a code too large; 0.1 + 0.2 in f64, whose error is known exactly."""
    third = np.float32(1) / np.float32(3)
    wrong = np.nextafter(third, np.float32(1))
    found = errors("divide", [third, wrong], exact([1.0, 1.0]), exact([3.0, 3.0]))
    assert ulps(found.own, 2.0**-25) == pytest.approx([-1 / 3, -4 / 3])
    root = np.float32(2) ** np.float32(0.5)
    (error,) = errors("square root", [root], exact([2.0])).own.error
    assert error == pytest.approx(float(np.sqrt(np.float64(2)) - np.float64(root)), rel=1e-6)
    (error,) = errors("add", [0.1 + 0.2], exact([0.1]), exact([0.2])).own.error
    assert Fraction(error) == Fraction(0.1) + Fraction(0.2) - Fraction(0.1 + 0.2)


def test_errors_go_on() -> None:
    """(x + 1) - x at x = 2**24 in f32 is 0, and should be 1."""
    x, one = exact([2.0**24]), exact([1.0])
    total = errors("add", [2.0**24], x, one).total
    assert list(total.error) == [1.0]
    last = errors("subtract", [0.0], Shadowed(x.value, *total), x)
    assert list(last.own.error) == [0.0]
    assert list(last.total.error) == [1.0]
    assert last.total.radius[0] < 1e-10


@pytest.mark.parametrize(
    ("name", "result", "operands"),
    [
        ("divide", [np.inf], [exact([1.0]), exact([0.0])]),
        ("divide", [1.0], [exact([1.0]), Shadowed(np.array([1.0]), np.array([0.0]), np.array([2.0]))]),
        ("square root", [np.nan], [exact([-1.0])]),
        ("square root", [0.0], [Shadowed(np.array([0.0]), np.array([0.0]), np.array([1e-9]))]),
        ("add", [np.nan], [exact([np.nan]), exact([1.0])]),
        ("multiply", [np.inf], [exact([1e200]), exact([1e200])]),
        ("add", [1.0], [Shadowed(np.array([1.0]), np.array([0.0]), np.array([np.inf])), exact([0.0])]),
    ],
)
def test_unknown_is_not_exact(name: str, result: list[float], operands: list[Shadowed]) -> None:
    assert errors(name, result, *operands).total.radius[0] == np.inf


def test_radii_are_small_where_the_problem_is_well_conditioned() -> None:
    """The radius grows with the condition number: of a sum of n numbers with one sign it is 1."""
    numbers = np.random.default_rng(1).random((1000, 200)).astype(np.float32)
    total, shadow = numbers[0], exact(numbers[0])
    for row in numbers[1:]:
        total = total + row
        shadow = Shadowed(total.astype(np.float64), *errors("add", total, shadow, exact(row)).total)
    ulp = np.spacing(total).astype(np.float64)
    exactly = numbers.astype(np.float64).sum(0)
    assert np.all(np.abs(shadow.value + shadow.error - exactly) <= shadow.radius + 1e-10)
    assert np.all(shadow.radius < 1e-9 * ulp)
    assert np.all(np.abs(shadow.error) > 0)


@pytest.mark.parametrize(
    "name", thinned(["exp", "expm1", "log", "sin", "tanh", "rsqrt", "cbrt", "erf", "atan2", "powf", "hypot"], 3)
)
def test_functions(name: str) -> None:
    """At 2,000 bits the exact result lies inside, of exact operands and of ends of their balls."""
    rng = random.Random(name)
    of_two = name in FUNCTIONS_OF_TWO
    ball: Callable[..., arb] = (FUNCTIONS_OF_TWO if of_two else FUNCTIONS)[name].ball
    for _ in range(100):
        operands = []
        for _ in range(1 + of_two):
            value = np.float64(np.float32(rng.uniform(0.1, 6)))
            error, radius = rng.uniform(-1e-7, 1e-7), 1e-9 * rng.random()
            operands.append(Shadowed(np.array([value]), np.array([error]), np.array([radius])))
        values = [arb(float(each.value[0])) for each in operands]
        result = np.float64(np.float32(float(ball(*values))))
        found = errors(name, [result], *operands)
        with bits_of_precision(2000):
            assert _holds(found.own, ball(*values) - float(result))
            for side in (-1, 0, 1):
                ends = [arb(float(v[0])) + float(e[0]) + side * arb(float(r[0])) for v, e, r, _ in operands]
                assert _holds(found.total, ball(*ends) - float(result))
        assert found.total.radius[0] < 1e-4
        assert abs(found.own.error[0]) <= np.spacing(abs(np.float32(result))) / 2


def _holds(shadow: Shadow, number: arb) -> bool:
    return bool(abs(number - float(shadow.error[0])) <= arb(float(shadow.radius[0])))


def test_order() -> None:
    x = Shadowed(
        np.array([1.0, 1.0, 1.0, 1.0, np.nan]), np.array([0.0, 0.0, 1e-20, 1e-20, 0.0]), np.array([0, 0, 0, 1e-19, 0])
    )
    y = exact([2.0, 1.0, 1.0, 1.0, 1.0])
    sign, known = order(x, y)
    assert sign[:3].tolist() == [-1, 0, 1]
    assert known.tolist() == [True, True, True, False, False]


# --- shadow margins ---------------------------------------------------------------------------------------------------
#
# The errors of elementary functions by margins: exact numbers lie inside, and no function is left out silently.

POSITIVE = ("log", "log2", "log10", "log1p", "rsqrt")
COUNT = 2_000


@pytest.mark.parametrize("name", thinned(SLOPES, 3))
def test_enclosures(name: str) -> None:
    draw = np.random.default_rng(sum(map(ord, name)))
    value = (draw.uniform(-3, 3, COUNT) * 10.0 ** draw.integers(-6, 2, COUNT)).astype(np.float32).astype(np.float64)
    if name in POSITIVE:
        value = np.abs(value)
    error = value * draw.uniform(-1, 1, COUNT) * 10.0 ** draw.integers(-9, -2, COUNT)
    radius = np.abs(error) * 10.0 ** draw.integers(-12, -1, COUNT)
    with np.errstate(all="ignore"):
        result = APPROXIMATIONS[name].function(value).astype(np.float32).astype(np.float64)
    found = errors(name, result, Shadowed(value, error, radius, narrow=True))
    ball, known = FUNCTIONS[name].ball, 0
    with bits_of_precision(400):
        for k in range(COUNT):
            own, total = (arb(shadow.error[k], shadow.radius[k]) for shadow in found)
            if np.isfinite(found.own.radius[k]):
                assert own.overlaps(ball(arb(value[k])) - result[k]), (name, k)
            if np.isfinite(found.total.radius[k]):
                known += 1
                for side in (-1, 0, 1):
                    exact = ball(arb(value[k]) + arb(error[k]) + side * arb(radius[k])) - result[k]
                    assert total.overlaps(exact), (name, k, side)
    assert known > COUNT * 0.9


def test_small_arrays_are_left_to_balls() -> None:
    assert covers("exp", FEWEST)
    assert not covers("exp", FEWEST - 1)
    assert not covers("tgamma", FEWEST)


def test_exact_operands_have_no_other_error() -> None:
    value = np.linspace(0.5, 1, FEWEST)
    found = errors("exp", np.exp(value), Shadowed(value, np.zeros(FEWEST), np.zeros(FEWEST), narrow=True))
    assert np.array_equal(found.own.error, found.total.error)


# --- ball rules -------------------------------------------------------------------------------------------------------
#
# The balls of ops: what is not known stays so, and remainders are exact.

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
@pytest.mark.parametrize("name", thinned(ROUNDED, 3))
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
