"""`hu.round`: against the named functions, against mpmath and rational arithmetic, and its errors."""

import itertools
import math
import random
import re
import time
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import mpmath
import numpy as np
import pytest
from amounts import thinned
from tables import each_row

import halfulp as hu
from halfulp.exact_reals.rows import NAMED_ROWS
from halfulp.fp_formats import scalar
from halfulp.fp_formats.formats import FORMATS, FloatFormat
from halfulp.fp_formats.paths import elementary
from halfulp.fp_formats.policy import SPEC, Rounding, as_rounding
from halfulp.fp_formats.reals import expressions
from halfulp.fp_formats.reals.functions import FUNCTIONS
from halfulp.interp.ir.types import FloatType

MODES = list(Rounding)[:5]
MY12 = hu.FloatFormat("my12", exponent_bits=4, mantissa_bits=7, bias=5)
FORMATS_OF_RESULTS = [*FORMATS.values(), MY12]


def samples(fmt: FloatFormat, count: int, seed: int) -> list[int]:
    """Return codes at random, of all codes and of values near 1, and the ends."""
    pick = random.Random(f"{fmt.name} {seed}")
    ends = [0, fmt.max_code, 1, *(code for code in (fmt.infinity_code, fmt.nan_code) if code is not None)]
    near_one = scalar.from_fraction(fmt, Fraction(1)).code
    found = [pick.randrange(1 << fmt.bits) for _ in range(count)]
    found += [(near_one + pick.randrange(-9, 10)) % (1 << fmt.bits) for _ in range(count)]
    return [*ends, *found]


def column(fmt: FloatFormat, codes: list[int]) -> hu.Value:
    return hu.Value.from_bits(codes, FloatType(fmt))


def codes_of(value: hu.Value) -> list[int]:
    fmt = value.element_type.format  # type: ignore[attr-defined]
    return [int(text, 16) for text in _hexadecimal(value, fmt)]


def _hexadecimal(value: hu.Value, fmt: FloatFormat) -> list[str]:
    bits = np.asarray(value.bits)
    if fmt.bits <= 64:
        return [f"{int(code):x}" for code in bits.reshape(-1)]
    return [f"{int(high) << 64 | int(low):x}" for low, high in bits.reshape(-1, 2)]


# --- against the named functions --------------------------------------------------------------------------------------

WRITTEN = {
    "tanh": "(exp(x) - exp(-x)) / (exp(x) + exp(-x))",
    "sigmoid": "1 / (1 + exp(-x))",
    "silu": "x / (1 + exp(-x))",
    "softplus": "log(1 + exp(x))",
    "gelu": "x / 2 * (1 + erf(x / sqrt(2)))",
    "expm1": "exp(x) - 1",
    "logit": "log(x / (1 - x))",
    "asinh": "log(x + sqrt(x * x + 1))",
}
"""Functions by formulas that cancel, overflow or swallow small terms if they are computed with floats."""
RANGES = {"tanh": 1e30, "sigmoid": 1e30, "silu": 1e30, "softplus": 1e30, "gelu": 12.0, "expm1": 1e30, "asinh": 1e8}


@pytest.mark.parametrize("name", thinned(FUNCTIONS, 4))
def test_names_and_formulas_of_one_function_are_that_function(name: str) -> None:
    codes = np.arange(0, 1 << 16, 1999, dtype=np.uint16)
    x = hu.Value.from_bits(codes, "bf16")
    for mode in (Rounding.TO_NEAREST_EVEN, Rounding.DOWNWARD):
        expected = elementary.unary(name, FORMATS["bf16"], codes, mode).codes
        assert (np.asarray(hu.round(f"{name}(x)", x, rounding=mode).bits) == expected).all()
    assert hu.round(name, x) == hu.round(lambda x: getattr(x, name)(), x)


@pytest.mark.parametrize("name", WRITTEN)
@pytest.mark.parametrize("mode", MODES)
def test_formulas_that_cancel_give_the_function(name: str, mode: Rounding) -> None:
    codes = np.arange(7, 1 << 16, 2603, dtype=np.uint16)
    values = hu.Value.from_bits(codes, "bf16").numpy().astype(np.float64)
    finite = np.isfinite(values) & (np.abs(values) < RANGES.get(name, 1.0)) & (np.abs(values) > 1e-30)
    codes = codes[finite]
    found = hu.round(WRITTEN[name], hu.Value.from_bits(codes, "bf16"), rounding=mode)
    assert (np.asarray(found.bits) == elementary.unary(name, FORMATS["bf16"], codes, mode).codes).all()


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("mode", MODES)
def test_every_code_of_bf16_is_that_of_the_function(name: str, mode: Rounding) -> None:
    codes = np.arange(1 << 16, dtype=np.uint16)
    found = hu.round(f"{name}(x)", hu.Value.from_bits(codes, "bf16"), rounding=mode)
    assert (np.asarray(found.bits) == elementary.unary(name, FORMATS["bf16"], codes, mode).codes).all()


# --- against rational arithmetic and mpmath ---------------------------------------------------------------------------

RATIONAL: dict[str, Callable[[Fraction], Fraction]] = {
    "x*x": lambda x: x * x,
    "x/3*3": lambda x: x,
    "(x+1)-x": lambda x: Fraction(1),
    "x + 0.1": lambda x: x + Fraction(1, 10),
    "(x + 1/1024)*1.5 - x": lambda x: x / 2 + Fraction(3, 2048),
    "sqrt(x*x)": abs,
    "exp(log(abs(x)))": abs,
    "sqrt(abs(x))**2": abs,
}


@pytest.mark.parametrize("fmt", thinned(FORMATS_OF_RESULTS, 4), ids=str)
def test_rational_results_are_rounded_as_fractions(fmt: FloatFormat) -> None:
    for number, (text, function) in enumerate(RATIONAL.items()):
        codes = samples(fmt, 6, number)
        mode = MODES[number % len(MODES)]
        found = codes_of(hu.round(text, column(fmt, codes), rounding=mode))
        for code, result in zip(codes, found, strict=True):
            x = scalar.value(fmt, code)
            if x is None or not x or not function(x):
                continue
            assert result == scalar.from_fraction(fmt, function(x), mode).code, (text, hex(code))


IRRATIONAL: dict[str, Callable[[Any], Any]] = {
    "x / (1 + exp(-x))": lambda x: x / (1 + mpmath.exp(-x)),
    "sin(x)*exp(-x*x/2)": lambda x: mpmath.sin(x) * mpmath.exp(-x * x / 2),
    "x**(1/3) + pi": lambda x: mpmath.nan if x < 0 else mpmath.cbrt(x) + mpmath.pi,
    "sqrt(x**2 + 1) - x": lambda x: mpmath.sqrt(x**2 + 1) - x,
    "max(x, e) * atan2(x, 2)": lambda x: max(x, mpmath.e) * mpmath.atan2(x, 2),
}


@pytest.mark.parametrize("fmt", thinned(FORMATS_OF_RESULTS, 4), ids=str)
def test_irrational_results_are_rounded_as_mpmath_says(fmt: FloatFormat) -> None:
    for number, (text, function) in enumerate(IRRATIONAL.items()):
        codes = samples(fmt, 4, number + 100)
        mode = MODES[number % len(MODES)]
        found = codes_of(hu.round(text, column(fmt, codes), rounding=mode))
        for code, result in zip(codes, found, strict=True):
            x = scalar.value(fmt, code)
            if x is None or not x or not Fraction(1, 1 << 40) < abs(x) < 1 << 10:
                continue
            with mpmath.workprec(3200):
                exact = function(mpmath.mpf(x.numerator) / x.denominator)
                if mpmath.isnan(exact):
                    continue
                sign, significand, exponent, _ = exact._mpf_
            expected = scalar.round_pack(fmt, sign, int(significand), int(exponent), mode, SPEC)
            assert result == expected.code, (text, hex(code))


def test_midpoints_are_exact() -> None:
    x = hu.Value.from_bits(np.arange(0x3F80, 0x3FC0, dtype=np.uint16), "bf16")
    for mode in MODES:  # x + half an ulp is a midpoint, and exp(log(...)) of it as well
        for text in ("x + 1/256", "exp(log(x + 1/256))"):
            codes = codes_of(hu.round(text, x, rounding=mode))
            for code, found in zip(codes_of(x), codes, strict=True):
                exact = (scalar.value(FORMATS["bf16"], code) or 0) + Fraction(1, 256)
                assert found == scalar.from_fraction(FORMATS["bf16"], exact, mode).code


# --- special values ---------------------------------------------------------------------------------------------------


@each_row(
    ("x - x", 1.0, "+0"),
    ("x - x", math.inf, "nan"),
    ("-(x - x)", 1.0, "-0"),
    ("x", -0.0, "-0"),
    ("x * 0", -1.0, "-0"),
    ("1 / x", -0.0, "-inf"),
    ("x / (1 + exp(-x))", math.inf, "inf"),
    ("1 / (1 + exp(-x))", -math.inf, "+0"),
    ("log(x)", -1.0, "nan"),
    ("log(x)", 0.0, "-inf"),
    ("exp(exp(exp(x)))", 100.0, "inf"),
    ("exp(-exp(exp(x)))", 100.0, "+0"),
    ("x**2", -math.inf, "inf"),
    ("x**-3", -math.inf, "-0"),
    ("max(x, 0)", -0.0, "+0"),
    ("abs(x)", -math.inf, "inf"),
    ("1 - tanh(x)", 1e20, "+0"),
    ("x + 1", math.nan, "nan"),
    ("x**0", math.nan, "nan"),  # a NaN argument: the function is not called
)
def test_zeros_and_infinities(text: str, x: float, expected: str) -> None:
    found = float(hu.round(text, x).numpy())
    assert expected == ("nan" if math.isnan(found) else f"{found:+.0f}" if not found else f"{found}")


def test_downward_a_difference_of_equals_is_minus_zero() -> None:
    found = hu.round("x - x", 1.0, rounding="downward")
    assert math.copysign(1, float(found.numpy())) == -1


def test_results_beyond_the_range_by_mode() -> None:
    x = hu.convert([1e10, -1e10], "f32")
    for mode, low, high in (("upward", 0.0, math.inf), ("downward", 0.0, 57344.0), ("to_nearest_even", 0.0, math.inf)):
        found = hu.round("exp(x)", x, to="f8E5M2", rounding=mode).numpy().astype(float)
        assert found[0] == high
        assert found[1] == (2.0**-16 if mode == "upward" else low)


def test_nan_payloads_poison_and_formats_without_nan() -> None:
    x = hu.Value.from_bits(np.array([0x7FC1, 0xFFC2, 0x7F81], np.uint16), "bf16")
    assert codes_of(hu.round("x + 1", x)) == [0x7FC1, 0xFFC2, 0x7FC1]
    found = hu.round("log(x)", hu.convert([-1.0, 1.0], "f32"), to="f4E2M1FN")
    assert found.poisoned.tolist() == [True, False]
    assert "f4E2M1FN" in str(found.origin(0))
    again = hu.round("x + y", found, hu.convert([1.0, 1.0], "f32"), to="f32")
    assert again.poisoned.tolist() == [True, False]
    assert str(again.origin(0)) == str(found.origin(0))
    assert again[1].item() == 1.0


def test_an_unsigned_format() -> None:
    x = hu.convert([0.5, 1.0, 4.0], "f8E8M0FNU")
    assert hu.round("x * 3", x).tolist() == [2.0, 4.0, 16.0]
    assert codes_of(hu.round("-x", x)) == [0xFF] * 3
    assert codes_of(hu.round("x - x", x)) == [0] * 3


# --- inputs -----------------------------------------------------------------------------------------------------------


def test_arguments_broadcast_and_are_taken_exactly() -> None:
    x = hu.convert([[1.0], [2.0]], "bf16")
    y = np.array([1, 2, 3])
    found = hu.round("x / y", x, y)
    assert found.shape == (2, 3)
    assert found == hu.convert([[Fraction(a, b) for b in (1, 2, 3)] for a in (1, 2)], "bf16")
    assert hu.round("x + y", Fraction(1, 3), "1/6", to="f16").item() == 0.5
    assert hu.round(lambda x, y: x - y, 2**70 + 1, 2**70, to="f16").item() == 1.0
    assert hu.round("x", np.zeros((0, 3), np.float32)).shape == (0, 3)
    assert hu.round("x*y*z", 2.0, 3, 4).item() == 24


def test_numpy_functions_and_python_numbers_in_a_function() -> None:
    def f(x: Any) -> Any:
        return np.exp(x) + np.arctan2(x, 2) * np.float64(0.5) + np.sqrt(np.square(x) + 1) - np.maximum(0, x) ** 0.5

    text = "exp(x) + atan2(x, 2)/2 + sqrt(x*x + 1) - max(0, x)**0.5"
    x = hu.convert([0.25, 1.0, 3.0], "bf16")
    assert hu.round(f, x, to="f64") == hu.round(text, x, to="f64")
    assert hu.round(lambda x: 0.1 * x, 1.0).item() == 0.1
    assert hu.round(lambda x: 0.1 - x / 10, 1.0).item() == float(Fraction(0.1) - Fraction(1, 10))


def test_functions_that_compare_are_called_for_each_distinct_element() -> None:
    seen = []

    def relu(x: Any) -> Any:
        seen.append(x)
        return x if x > 0 else 0

    x = hu.convert([-1.0, 2.0, 2.0, -1.0, 0.5, math.nan], "bf16")
    assert hu.round(relu, x).tolist()[:5] == [0.0, 2.0, 2.0, 0.0, 0.5]
    assert len(seen) <= 6
    assert hu.round(lambda x: x if x.exp() > Fraction(272, 100) else -x, [1.0, 1.001], to="f32").tolist()[0] == -1.0


# --- errors -----------------------------------------------------------------------------------------------------------


class Counter:
    def __init__(self) -> None:
        self.count = 0

    def __call__(self, x: Any) -> Any:
        self.count += 1
        return x * self.count

    def comparing(self, x: Any) -> Any:
        return self(x) if x > 0 else x


def raising(x: Any) -> Any:
    raise KeyError("k")


@each_row(
    (math.exp, hu.errors.InputError, "np.exp(x)"),
    (lambda x: float(x), hu.errors.InputError, "cannot become a float"),
    (lambda x: None, hu.TypeMismatch, "return statement"),
    (lambda x: 0.5, hu.TypeMismatch, "hu.Real"),
    (lambda x: [x], hu.TypeMismatch, "of type list"),
    (lambda x: x > 0, hu.TypeMismatch, "1 if x > 0 else 0"),
    (lambda x: 1j * x, hu.errors.InputError, "complex"),
    (lambda x: np.array([1.0]), hu.TypeMismatch, "ndarray"),
    (lambda x, y: x, hu.TypeMismatch, "1 argument"),
    (lambda: 1, hu.TypeMismatch, "1 argument"),
    (raising, hu.errors.InputError, "KeyError"),
    (lambda x: x.tahn(), hu.errors.InputError, "`tanh`"),
    (lambda x: [].index(x), hu.errors.InputError, "raised"),
    (lambda x: np.logaddexp(x, 1), hu.errors.InputError, "not a function of exact reals"),
    (lambda x: 1 if x else 0, hu.errors.InputError, "x != 0"),
    (Counter(), hu.errors.InputError, "called again"),
    (Counter().comparing, hu.errors.InputError, "called again"),
    (lambda x: x * random.random(), hu.errors.InputError, "called again"),
    (lambda x: x if (-x).log() > 0 else 1, hu.errors.InputError, "NaN"),
    (5, hu.TypeMismatch, "type int"),
    ("x +", hu.errors.ParseError, "<formula>:1:4"),
    ("1 +\n tahn(x)", hu.errors.ParseError, "<formula>:2:2"),
    ("x + y", hu.errors.ParseError, "unknown name 'y'"),
    ("hypot", hu.TypeMismatch, "takes 2"),
    ("sin(x)**2 + cos(x)**2", hu.errors.LimitExceeded, "element [1], x = 2"),
    ("x - x*exp(sqrt(2) - sqrt(8)/2)", hu.errors.LimitExceeded, "bits"),
    (
        lambda x: 1 if x * Fraction(1, 2) * hu.Real.pi == (x * hu.Real.pi) / 2 else x,
        hu.errors.LimitExceeded,
        "compares",
    ),
)
def test_errors_say_what_to_do_and_come_soon(f: Any, error: type[Exception], part: str) -> None:
    start = time.process_time()
    with pytest.raises(error, match=re.escape(part)):
        hu.round(f, [math.nan, 2.0], to="bf16")
    assert time.process_time() - start < 10


def test_a_function_of_too_many_operations(monkeypatch: pytest.MonkeyPatch) -> None:
    def long(x: Any) -> Any:
        for _ in range(1000):
            x = x + 1 / x
        return x

    hu.round(long, 1.0)
    monkeypatch.setattr(expressions, "MOST_STEPS", 1999)
    with pytest.raises(hu.errors.LimitExceeded, match="1999 operations"):
        hu.round(long, 1.0)


@each_row(
    (([1, 2],), {}, TypeError, "so the type of the result is not known"),
    ((np.zeros(2, np.float32), hu.convert([1.0, 2.0], "bf16")), {}, TypeError, "'f32' and 'bf16'"),
    ((np.zeros(2), np.zeros(3)), {}, TypeError, "broadcast"),
    ((1.0,), {"rounding": "stochastic"}, ValueError, "stochastically"),
    ((1.0,), {"to": "i8"}, TypeError, "i8"),
    ((1.0, 2.0, 3.0, 4.0), {}, TypeError, "Python function"),
    (("a",), {"to": "f32"}, TypeError, "not a number"),
)
def test_wrong_inputs(arguments: tuple[Any, ...], options: dict[str, Any], error: type[Exception], part: str) -> None:
    names = itertools.islice("xyz", len(arguments))
    with pytest.raises(error, match=re.escape(part)):
        hu.round("+".join(names), *arguments, **options)


# --- round rows -------------------------------------------------------------------------------------------------------
#
# `hu.round_rows`: the named functions of rows against mpmath, special rows, functions of users, and errors.

Row = list[Any]


def mean(row: Row) -> Any:
    return mpmath.fsum(row) / len(row)


def variance(row: Row) -> Any:
    return mean([(x - mean(row)) ** 2 for x in row])


EPS = Fraction(1, 100000)
REFERENCES: dict[str, Callable[[Row], Row]] = {
    "softmax": lambda row: [mpmath.exp(x) / mpmath.fsum(map(mpmath.exp, row)) for x in row],
    "log_softmax": lambda row: [x - mpmath.log(mpmath.fsum(map(mpmath.exp, row))) for x in row],
    "logsumexp": lambda row: [mpmath.log(mpmath.fsum(map(mpmath.exp, row)))],
    "layer_norm": lambda row: [(x - mean(row)) / mpmath.sqrt(variance(row) + mpmath.mpf(1) / 100000) for x in row],
    "rms_norm": lambda row: [x / mpmath.sqrt(mean([y * y for y in row]) + mpmath.mpf(1) / 100000) for x in row],
    "mean": lambda row: [mean(row)],
    "var": lambda row: [variance(row)],
    "std": lambda row: [mpmath.sqrt(variance(row))],
    "l2_norm": lambda row: [mpmath.sqrt(mpmath.fsum(x * x for x in row))],
}


def codes(value: hu.Value) -> list[int]:
    return [int(code) for code in np.asarray(value.bits).reshape(-1)]


@pytest.mark.parametrize("name", thinned(NAMED_ROWS, 4))
@pytest.mark.parametrize("mode", ["to_nearest_even", "downward", "upward"])
def test_named_functions_are_rounded_as_mpmath_says(name: str, mode: str) -> None:
    rows = np.random.default_rng(7).normal(size=(3, 7)).astype(np.float32) * 5
    rows[1] *= 20  # differences of hundreds
    eps = EPS if NAMED_ROWS[name].takes_eps else None
    for to in ("bf16", "f32", "f8E4M3FN"):
        found = codes(hu.round_rows(name, rows, to=to, rounding=mode, eps=eps))
        expected = []
        for row in rows.tolist():
            with mpmath.workprec(3000):
                exact = REFERENCES[name]([mpmath.mpf(x) for x in row])
                for number in exact:
                    sign, significand, exponent, _ = number._mpf_
                    packed = scalar.round_pack(
                        FORMATS[to], sign, int(significand), int(exponent), as_rounding(mode), SPEC
                    )
                    expected.append(packed.code)
        assert found == expected


def test_exact_rows() -> None:
    x = np.array([[1, 2, 3, 4], [5, 5, 5, 5], [0, 0, 3, 4]], np.float32)
    assert hu.round_rows("mean", x).tolist() == [2.5, 5.0, 1.75]
    assert hu.round_rows("var", x).tolist() == [1.25, 0.0, 3.1875]
    assert hu.round_rows("l2_norm", x[1:]).tolist() == [10.0, 5.0]
    assert hu.round_rows("softmax", x[1]).tolist() == [0.25] * 4
    assert hu.round_rows("layer_norm", x[1], eps=1).tolist() == [0.0] * 4
    assert hu.round_rows("softmax", x[0:1], rounding=Rounding.UPWARD).shape == (1, 4)


def test_masked_and_far_rows() -> None:
    minus = -np.inf
    x = np.array([[0, minus, 0], [1e30, 0, minus], [minus] * 3, [np.inf, 0, 0], [np.nan, 1, 2]], np.float32)
    found = hu.round_rows("softmax", x).numpy()
    assert found[0].tolist() == [0.5, 0.0, 0.5]
    assert found[1].tolist() == [1.0, 0.0, 0.0]
    assert np.isnan(found[2:]).all(axis=1).tolist() == [True, True, True]
    down = hu.round_rows("softmax", x[1, :2], rounding="downward").numpy()
    assert down.tolist() == [float(np.nextafter(np.float32(1), np.float32(0))), 0.0]
    assert hu.round_rows("logsumexp", x[:2], rounding="downward").tolist()[1] == float(np.float32(1e30))


def test_axes_poison_and_wide_formats() -> None:
    x = np.arange(24, dtype=np.float64).reshape(2, 3, 4)
    assert hu.round_rows("mean", x, axis=1) == hu.round_rows("mean", np.moveaxis(x, 1, -1))
    softmax = hu.round_rows("softmax", x, axis=0)
    assert softmax.shape == x.shape
    assert softmax.numpy()[:, 1, 2].tolist() == hu.round_rows("softmax", x[:, 1, 2]).tolist()
    lost = hu.convert([[1.0, np.nan], [1.0, 1.0]], "f4E2M1FN")
    found = hu.round_rows("softmax", lost, to="f16")
    assert found.poisoned.tolist() == [[True, True], [False, False]]
    assert found.origin(0, 1) == lost.origin(0, 1)
    wide = hu.round_rows("std", hu.convert([[1.0, 3.0]], "f128"))
    assert (str(wide.element_type), wide.item()) == ("f128", 1.0)
    assert hu.round_rows("mean", np.zeros((0, 3), np.float32)).shape == (0,)
    assert hu.round_rows("softmax", [[1, 2]], to="bf16").shape == (1, 2)


def test_functions_of_users() -> None:
    x = hu.convert([[3.0, 1.0, 2.0], [-1.0, 4.0, 4.0]], "bf16")
    assert hu.round_rows(sorted, x).tolist() == [[1.0, 2.0, 3.0], [-1.0, 4.0, 4.0]]
    assert hu.round_rows(max, x).tolist() == [3.0, 4.0]
    assert hu.round_rows(lambda row: np.sum(np.square(row)).sqrt(), x, to="f64") == hu.round_rows(
        "l2_norm", x, to="f64"
    )
    assert hu.round_rows(lambda row: [row[0] / 3, 7], x).shape == (2, 2)


@each_row(
    ("sofmax", [[1.0]], {}, ValueError, "`softmax`"),
    ("softmax", [[1.0]], {"eps": 1}, ValueError, "no eps"),
    (max, [[1.0]], {"eps": 1}, ValueError, "into the function"),
    ("softmax", 1.0, {}, TypeError, "hu.round"),
    ("softmax", [[1.0]], {"axis": 2}, np.exceptions.AxisError, "axis 2"),
    ("softmax", np.zeros((2, 0)), {}, ValueError, "without elements"),
    (lambda row: 0.5, [[1.0]], {}, TypeError, "hu.Real"),
    (lambda row: row[:1] if row[0] > 0 else row, [[1.0, 2.0], [-1.0, 2.0]], {}, ValueError, "for another row"),
    (lambda row: row[0] if row[0] > 0 else row, [[1.0, 2.0], [-1.0, 2.0]], {}, ValueError, "a real for another"),
    (lambda row: max(row), [[np.nan, 2.0]], {}, ValueError, "a function that compares needs a row without them"),
    (
        lambda row: row[0].sin() ** 2 + row[0].cos() ** 2,
        [[0.0], [1.0]],
        {},
        hu.errors.LimitExceeded,
        "row [1], result 0",
    ),
    (7, [[1.0]], {}, TypeError, "softmax"),
)
def test_errors(f: Any, x: Any, options: dict[str, Any], error: type[Exception], part: str) -> None:
    with pytest.raises(error, match=re.escape(part)):
        hu.round_rows(f, x, **options)
