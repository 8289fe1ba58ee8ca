"""Implementations with planted errors: every figure of `hu.accuracy` is compared with one that was counted by hand."""

import ctypes
import math
import re
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from present import present

import halfulp as hu
from halfulp.conformance.accuracy.tally import HISTOGRAM
from halfulp.interp.ir.errors import InputError, Unsupported

F8 = np.dtype(ml_dtypes.float8_e5m2)
CODES = np.arange(256, dtype=np.uint8)
Array = np.ndarray[Any, np.dtype[Any]]


def tanh(x: Array) -> Array:
    """Round tanh as f64 has it to f8E5M2: far from every midpoint, so correctly rounded."""
    return np.tanh(x.astype(np.float64)).astype(x.dtype)


def changed(function: Callable[[Array], Array], **codes: int) -> Callable[[Array], Array]:
    """Return a function with other results at some arguments: ``x3c=0x40`` gives 0x40 at 0x3C."""

    def planted(x: Array) -> Array:
        found = function(x).copy().view(np.uint8)
        for name, code in codes.items():
            found[x.view(np.uint8) == int(name[1:], 16)] = code
        return found.view(x.dtype)

    return planted


def ulps(x: float, result: float, exact: float) -> float:
    """Return the error of a result of f8E5M2 in ulp, by the definition."""
    if abs(exact) == 1:  # of tanh: the real result lies below 1, where the ulp is half as large
        exact = math.copysign(math.nextafter(1, 0), exact)
    exponent = max(math.frexp(exact)[1] - 1, -14) if exact else -14
    return (result - exact) / 2.0 ** (min(exponent, 15) - 2)


def test_right_results() -> None:
    found = hu.accuracy("tanh", "f8E5M2", tanh)
    assert (found.wrong, found.wrong_special, found.compared, found.all) == (0, 0, 256, True)
    assert found.correct
    assert found.tally.finite == 248
    numbers = [float(x) for x in CODES.view(F8) if math.isfinite(x)]
    expected = [abs(ulps(x, float(F8.type(math.tanh(x))), math.tanh(x))) for x in numbers]
    assert found.max_ulp == pytest.approx(max(expected), rel=1e-8)
    assert found.tally.mean_ulp == pytest.approx(sum(expected) / len(expected), rel=1e-8)
    assert found.tally.measured == 248  # the finite arguments
    assert found.tally.order.number == 0
    assert found.tally.neighbours == 249
    kind, broken = found.tally.symmetry or ("", None)
    assert (kind, found.tally.mirrored) == ("odd", 125)
    assert broken is not None
    assert broken.number == 0


def test_a_polynomial() -> None:
    def cubic(x: Array) -> Array:
        wide = x.astype(np.float64)
        with np.errstate(invalid="ignore"):
            return (wide - wide**3 / 3).astype(x.dtype)

    found = hu.accuracy("tanh", "f8E5M2", cubic)
    wrong, special, errors = 0, 0, []
    for x in CODES.view(F8):
        if math.isnan(x):
            continue
        exact, right = math.tanh(float(x)), float(F8.type(math.tanh(float(x))))
        result = float(cubic(np.array([x], F8))[0])
        if math.isfinite(result) and (result or right or x.tobytes() == b"\0"):
            errors.append(abs(ulps(float(x), result, exact)))
            wrong += result != right
        else:
            special += 1
    assert (found.wrong, found.wrong_special) == (wrong, special)
    assert wrong > 40
    assert special > 20
    assert found.max_ulp == pytest.approx(max(errors), rel=1e-8)
    counts = [sum(low < e <= high for e in errors) for low, high in zip((-1.0, *HISTOGRAM), HISTOGRAM, strict=False)]
    assert [count for _, count in found.histogram] == counts[: len(found.histogram)]
    assert sum(counts) == sum(count for _, count in found.histogram)
    kappas = [each.kappa for each in found.intervals if each.kappa is not None]
    assert max(kappas) == found.max_ulp
    assert sum(each.wrong for each in found.intervals) == wrong + special - 2  # without the infinities


def test_one_spot() -> None:
    # tanh(1) = 0.7616 rounds to 0.75 (0x3A); the next values are 0.875 and 1.0.
    found = hu.accuracy("tanh", "f8E5M2", changed(tanh, x3c=0x3C))
    assert (found.wrong, found.wrong_special) == (1, 0)
    assert found.tally.worst is not None
    assert found.tally.worst.operands == (0x3C,)
    assert (found.tally.worst.result, found.tally.worst.expected) == (0x3C, 0x3A)
    assert found.max_ulp == pytest.approx((1 - math.tanh(1)) / 0.125, rel=1e-8)
    # tanh(1.25) = 0.848 rounds to 0.875, and is now below its neighbour's result; so tanh(1) breaks the symmetry, too.
    assert found.tally.order.number == 1
    assert found.tally.symmetry is not None
    assert found.tally.symmetry[1].number == 1
    assert found.within(2)
    assert not found.within(1)
    assert "not 0.75" in repr(found)


@pytest.mark.parametrize(
    ("codes", "kinds"),
    [
        ({"x80": 0x00}, {"wrong sign of a zero": 1}),
        ({"x7c": 0x7E, "xfc": 0x7E}, {"NaN for a number": 2}),
        ({"x7d": 0x00, "x7e": 0x7C}, {"a number for NaN": 1, "an infinity for NaN": 1}),
        ({"x7b": 0x7C}, {"an infinity for a number": 1}),
    ],
)
def test_special_values(codes: dict[str, int], kinds: dict[str, int]) -> None:
    found = hu.accuracy("tanh", "f8E5M2", changed(tanh, **codes))
    assert {name: count.number for name, count in found.tally.special.items()} == kinds
    assert found.wrong == 0
    assert found.wrong_special == sum(kinds.values())
    assert not found.within(1e9)


def test_signs_and_kinds_of_infinities() -> None:
    def reciprocal(x: Array) -> Array:
        with np.errstate(divide="ignore"):
            return (1 / x.astype(np.float64)).astype(x.dtype)

    right = hu.accuracy("reciprocal", "f8E5M2", reciprocal)
    assert right.correct
    found = hu.accuracy("reciprocal", "f8E5M2", changed(reciprocal, x80=0x7C, x00=0x7E))
    assert {name: count.number for name, count in found.tally.special.items()} == {
        "NaN for an infinity": 1,
        "wrong sign of an infinity": 1,
    }


@pytest.mark.long
def test_a_wrong_number_at_an_infinity_is_a_wrong_special_value() -> None:
    def nearly(x: Array) -> Array:
        with np.errstate(over="ignore"):
            right = np.exp(x.astype(np.float64)).astype(np.float16)
        return np.where(x == -np.inf, np.float16(1), right)

    found = hu.accuracy("exp", "f16", nearly)
    assert found.wrong == 0
    assert {kind: count.number for kind, count in found.tally.special.items()} == {"another number at an infinity": 1}
    assert found.max_ulp <= 0.5


def test_flushed_results_are_counted() -> None:
    def flushing(x: Array) -> Array:
        found = tanh(x)
        small = (found.view(np.uint8) & 0x7F) < 4
        return np.where(small, found.view(np.uint8) & 0x80, found.view(np.uint8)).astype(np.uint8).view(x.dtype)

    found = hu.accuracy("tanh", "f8E5M2", flushing)
    assert (found.wrong, found.tally.flushed) == (6, 6)
    # The exact result lies just below three subnormal steps.
    assert found.max_ulp == pytest.approx(3, rel=1e-4)


def test_what_a_profile_makes_correct_is_no_error() -> None:
    def flushing(x: Array) -> Array:
        def flushed(codes: Array) -> Array:
            return np.where((codes & 0x7F) < 4, codes & 0x80, codes).astype(np.uint8)

        return flushed(tanh(flushed(x.view(np.uint8)).view(F8)).view(np.uint8)).view(F8)

    strict = hu.accuracy("tanh", "f8E5M2", flushing)
    assert (strict.wrong, strict.tally.flushed) == (6, 6)
    found = hu.accuracy("tanh", "f8E5M2", flushing, profile="spec,denormals=flush_both")
    assert found.correct
    assert found.max_ulp <= 0.5
    # f4E2M1FN saturates: 8 becomes 6, which is correct.
    assert hu.accuracy("arith.mulf", "f4E2M1FN", "ml_dtypes").max_ulp <= 0.5


def test_a_second_measurement_is_independent_of_the_first() -> None:
    first = hu.accuracy("tanh", "f8E5M2", changed(tanh, x3c=0x3C))
    assert hu.accuracy("tanh", "f8E5M2", tanh).correct
    again = hu.accuracy("tanh", "f8E5M2", changed(tanh, x3c=0x3C))
    assert (first.wrong, first.max_ulp, first.histogram) == (again.wrong, again.max_ulp, again.histogram)


def test_a_function_may_work_in_place() -> None:
    def in_place(x: Array) -> Array:
        x[:] = tanh(x)
        return x

    assert hu.accuracy("tanh", "f8E5M2", in_place).correct


def test_at_the_overflow_an_infinity_stands_for_the_next_value() -> None:
    # f8E5M2 ends at 57344, its next value would be 65536; from 61440 on the right result is infinity.
    def largest(x: Array) -> Array:
        return np.full(len(x), 0x7B, np.uint8).view(F8)

    def infinite(x: Array) -> Array:
        return np.full(len(x), 0x7C, np.uint8).view(F8)

    def cast(to: Callable[[Array], Array], low: float, high: float) -> Any:
        return hu.accuracy("arith.truncf", "bf16", to, to="f8E5M2", range=(low, high))

    below = cast(largest, 57344, 65280)  # steps of 256
    assert (below.compared, below.wrong, below.wrong_special) == (32, 16, 0)
    assert below.max_ulp == (65280 - 57344) / 8192
    above = cast(infinite, 57344, 65280)
    assert (above.compared, above.wrong, above.wrong_special) == (32, 16, 0)
    assert above.max_ulp == 1
    beyond = cast(largest, 65280, 66048)
    assert (beyond.wrong, beyond.wrong_special) == (1, 3 - 1)
    assert list(beyond.tally.special) == ["a number for an infinity"]


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda x: np.tanh(x.astype(np.float32)), "returned float32, but must return float8_e5m2"),
        (lambda x: tanh(x)[:-1], r"returned shape \(255,\), but its arguments have \(256,\)"),
        (lambda x: tanh(x).reshape(2, 128), r"returned shape \(2, 128\)"),
        (lambda x: 1 / 0, "raised ZeroDivisionError: division by zero"),
        (lambda x: hu.convert(np.float32(x), "f16"), "returned 'f16', but must return 'f8E5M2'"),
        (lambda x: None, r"returned shape \(\)"),
    ],
)
def test_functions_that_do_not_fit(function: Callable[[Array], Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        hu.accuracy("tanh", "f8E5M2", function)


def test_values_go_in_and_out_where_there_is_no_dtype() -> None:
    found = hu.accuracy("arith.negf", "tf32", lambda x: -x, n=100)
    assert found.correct
    assert found.compared > 100


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        (("exq", "bf16", "numpy"), Unsupported, "no op named 'exq'"),
        (("exp", "bf16", "nunpy"), InputError, "unknown implementation 'nunpy'"),
        (("exp", "i8", "numpy"), hu.HalfulpError, "must be floating-point-like"),
        (("arith.cmpf", "f32", "numpy"), hu.HalfulpError, "predicate"),
        (("arith.addi", "i8", "numpy"), Unsupported, "one result of a float type"),
        (("exp", "bf16", "numpy"), Unsupported, "numpy has no bf16"),
        (("sigmoid", "f32", "numpy"), Unsupported, "numpy has no function for sigmoid"),
        (("sigmoid", "f32", "mlir-native"), Unsupported, "MLIR has no op for sigmoid|mlir-opt-22"),
        (("exp", "f32", "./no.so:expf"), Unsupported, "no.so does not exist"),
        (("exp", "f32", "./no.so"), InputError, r"write \./no\.so:SYMBOL, "),
        (("exp", "f32", "./no.so:expf:form"), InputError, "no.so:SYMBOL:codes"),
        (("exp", "f32", "halfulp_has_no_such:f"), InputError, "No module named"),
        (("exp", "f32", "math:f"), InputError, "has no attribute 'f'"),
        (("exp", "f32", "math:pi"), InputError, "is not a function"),
    ],
)
def test_wrong_use(arguments: tuple[str, str, str], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        hu.accuracy(*arguments)


def test_choices_that_do_not_exist() -> None:
    choices: tuple[tuple[tuple[str, str], dict[str, Any], str], ...] = (
        (("exp", "f64"), {"exhaustive": True}, r"2\*\*64 arguments are too many"),
        (("exp", "f32"), {"range": (1, 0)}, "its first number must not be larger than its last one"),
        (("exp", "f32"), {"range": (1, "inf")}, "not a finite number"),
        (("arith.addf", "f32"), {"range": (0, 1)}, "a range needs one operand"),
        (("exp", "f32"), {"rounding": "stochastic"}, "stochastic"),
    )
    for arguments, choice, message in choices:
        with pytest.raises(InputError, match=message):
            hu.accuracy(*arguments, "numpy", **choice)


# --- wide formats and several operands --------------------------------------------------------------------------------


def test_errors_in_f64_are_exact() -> None:
    # Each sum is one ulp too large: the errors are those of fractions.
    def above(x: Array, y: Array) -> Array:
        return np.asarray(np.nextafter(x + y, np.inf))

    asked: list[tuple[Array, Array]] = []

    def recorded(x: Array, y: Array) -> Array:
        asked.append((x, y))
        return above(x, y)

    found = hu.accuracy("arith.addf", "f64", recorded, n=300)
    worst = Fraction(0)
    for x, y in zip(*asked[0], strict=True):
        with np.errstate(all="ignore"):
            result, right = above(x, y), x + y
        if not all(map(math.isfinite, (x, y, result, right))):
            continue
        exact = Fraction(float(x)) + Fraction(float(y))
        unit = Fraction(math.ulp(float(right)))
        if abs(Fraction(float(right))) > abs(exact) and math.frexp(float(right))[0] in (0.5, -0.5):
            unit /= 2
        worst = max(worst, abs(Fraction(float(result)) - exact) / unit)
    assert found.max_ulp == pytest.approx(float(worst), rel=2.0**-28)
    assert found.max_ulp > 1


def test_all_pairs_of_a_small_format() -> None:
    def product(x: Array, y: Array) -> Array:
        found = (x.astype(np.float32) * y.astype(np.float32)).astype(x.dtype).view(np.uint8).copy()
        found[(x.view(np.uint8) == 0x3C) & (y.view(np.uint8) == 0x3C)] += 1  # 1 * 1 = 1.25
        return found.view(x.dtype)

    found = hu.accuracy("mulf", "f8E5M2", product)
    assert (found.compared, found.wrong, found.wrong_special, found.max_ulp) == (65536, 1, 0, 1)
    assert found.tally.worst is not None
    assert found.tally.worst.operands == (0x3C, 0x3C)
    assert found.tally.neighbours == 0
    assert found.tally.symmetry is None


def test_rounding_modes() -> None:
    def truncated(x: Array) -> Array:
        return (x.view(np.uint32) >> 16).astype(np.uint16).view(ml_dtypes.bfloat16)

    found = hu.accuracy("truncf", "f32", truncated, to="bf16", rounding="toward_zero", range=(1, 1.01))
    assert found.correct
    assert 0.99 < found.max_ulp < 1
    nearest = hu.accuracy("truncf", "f32", truncated, to="bf16", range=(1, 1.0078125))
    # Of the 2**16 values from 1 up to the next one of bf16, those above the middle are wrong; the end is right.
    assert (nearest.compared, nearest.wrong) == (65537, 32767)


# --- libraries --------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def libm() -> str:
    """Return the path of the C library of mathematics."""
    ctypes.CDLL("libm.so.6")
    maps = Path("/proc/self/maps").read_text(encoding="utf-8")
    return next(line.split()[-1] for line in maps.splitlines() if re.search(r"/libm[.-]", line))


@pytest.fixture(scope="module")
def libc() -> str:
    """Return the path of the C library."""
    maps = Path("/proc/self/maps").read_text(encoding="utf-8")
    return next(line.split()[-1] for line in maps.splitlines() if re.search(r"/libc[.-]", line))


@pytest.mark.long
def test_symbols_of_a_library(libm: str) -> None:
    found = hu.accuracy("sqrt", "f32", f"{libm}:sqrtf", n=200)
    assert found.correct
    assert found.compared > 500
    assert hu.accuracy("sqrt", "f64", f"{libm}:sqrt", n=200).correct
    assert hu.accuracy("sqrt", "f80", f"{libm}:sqrtl", n=50).correct
    two = hu.accuracy("hypot", "f32", f"{libm}:hypotf", n=200)
    assert two.max_ulp < 1
    absolute = hu.accuracy("tanh", "f32", f"{libm}:fabsf", n=200)
    assert absolute.tally.special["wrong sign of a zero"].number == 1
    assert absolute.tally.symmetry is not None
    assert absolute.tally.symmetry[0] == "odd"
    # Each pair but that of zero and the NaNs breaks the symmetry: fabs(-x) is fabs(x). Zeros have signs, too.
    assert absolute.tally.symmetry[1].number == absolute.tally.mirrored


@pytest.mark.long
def test_a_function_on_codes(libc: str) -> None:
    # htons swaps the bytes of a code; 16-bit integers go in and out.
    found = hu.accuracy("arith.negf", "bf16", f"{libc}:htons:codes", n=100)
    swapped = [(c >> 8 | c << 8) & 0xFFFF for c in range(1 << 16)]
    worst = present(found.tally.worst)
    assert worst.result == swapped[worst.operands[0]]


@pytest.mark.long
def test_crashes_and_hangs_end_with_an_error(libc: str) -> None:
    with pytest.raises(Unsupported, match=r"abort crashed \(SIGABRT\) at the argument 0x"):
        hu.accuracy("exp", "f32", f"{libc}:abort", n=10)
    with pytest.raises(Unsupported, match=r"pause did not end in 0.5 s at the argument 0x"):
        hu.accuracy("exp", "f32", f"{libc}:pause", n=10, time_limit=0.5)
    with pytest.raises(Unsupported, match="exit:codes ended the process at the argument 0x00"):
        hu.accuracy("negf", "f8E5M2", f"{libc}:exit:codes")
    with pytest.raises(Unsupported, match="undefined symbol: halfulp_nothing"):
        hu.accuracy("exp", "f32", f"{libc}:halfulp_nothing", n=10)
    with pytest.raises(Unsupported, match="C has no type f8E5M2: write .*:codes"):
        hu.accuracy("exp", "f8E5M2", f"{libc}:abs")
