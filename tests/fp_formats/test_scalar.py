"""The scalar specification against known answers and against rounding by search among all values of a format."""

import bisect
import math
import random
import struct
from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import cache
from itertools import product

import pytest
from amounts import amounts, thinned
from float_samples import SMALL
from hypothesis import given
from hypothesis import strategies as st
from present import present

from halfulp.fp_formats import scalar
from halfulp.fp_formats.exact import conversions
from halfulp.fp_formats.formats import FORMATS, FloatFormat, NanEncoding, codes_to_ints, ints_to_codes
from halfulp.fp_formats.paths import fast
from halfulp.fp_formats.policy import SPEC, Flags, FloatPolicy, Rounding

F32, F64, F80, F16, BF16 = (FORMATS[name] for name in ("f32", "f64", "f80", "f16", "bf16"))
FN, E8M0, F4 = FORMATS["f8E4M3FN"], FORMATS["f8E8M0FNU"], FORMATS["f4E2M1FN"]
FNUZ = FORMATS["f8E4M3FNUZ"]
MODES = tuple(Rounding)[:5]
RNE, RD, RU, RZ, RNA = MODES


def code(fmt: FloatFormat, number: float | Fraction | str, rounding: Rounding = RNE) -> int:
    return scalar.from_fraction(fmt, Fraction(number), rounding).code


def through(src: FloatFormat, dst: FloatFormat, number: float, rounding: Rounding = RNE) -> int:
    return scalar.convert(src, dst, code(src, number), rounding).code


# Known answers, checked by hand.


@pytest.mark.parametrize(
    ("number", "rounding", "result"),
    [(464, RNE, 0x7E), (465, RNE, 0x7F), (465, RZ, 0x7E), (-465, RNE, 0xFF), (0.0146484375, RNE, 0x08)],
)
def test_f32_to_f8e4m3fn(number: float, rounding: Rounding, result: int) -> None:
    assert through(F32, FN, number, rounding) == result


def test_known_answers() -> None:
    assert scalar.value(FN, scalar.add(FN, code(FN, "1.4"), code(FN, "2.2")).code) == Fraction(7, 2)
    assert [scalar.value(F4, through(F32, F4, number)) for number in (1.25, 2.5, 5.0)] == [1, 2, 4]
    assert scalar.value(FN, through(F64, FN, -431.99999999999994)) == -416
    twice = scalar.convert(F64, FN, code(F64, -431.99999999999994), policy=FloatPolicy(wide_source="through_f32"))
    assert scalar.value(FN, twice.code) == -448
    assert scalar.multiply(BF16, 0x3F81, 0x3FC0).code == 0x3FC2
    assert scalar.value(FORMATS["f8E5M2"], scalar.convert(FORMATS["f6E2M3FN"], FORMATS["f8E5M2"], 0x09).code) == 1
    sixteen = code(FORMATS["f6E3M2FN"], 16)
    assert scalar.convert(FORMATS["f6E3M2FN"], FORMATS["f8E3M4"], sixteen).code == FORMATS["f8E3M4"].infinity_code
    assert scalar.add(F16, code(F16, 32768), 1, RU).code == 0x7801
    assert scalar.remainder(F32, code(F32, 7), code(F32, 4)).code == code(F32, 3)
    assert scalar.remainder(F32, code(F32, -4), code(F32, 2)).code == 0x80000000
    assert scalar.from_integer(F32, 16777217).code == 0x4B800000
    assert scalar.to_integer(F32, code(F32, 3.5), 32, True).code == 3
    assert scalar.value(F32, scalar.from_integer(F32, -1).code) == -1


def test_e8m0() -> None:
    assert [code(E8M0, number) for number in (1.5, 3, 0, -1, 2**128)] == [0x80, 0x81, 0x00, 0xFF, 0xFF]
    assert [code(E8M0, 2**128, mode) for mode in (RZ, RD, RU, RNA)] == [0xFE, 0xFE, 0xFF, 0xFF]
    assert [code(E8M0, Fraction(2) ** -130, mode) for mode in MODES] == [0] * 5
    assert scalar.value(F32, scalar.convert(E8M0, F32, 0).code) == Fraction(2) ** -127
    assert scalar.convert(E8M0, F32, 0xFF).code == 0x7FC00000
    assert [scalar.negate(E8M0, a).code for a in (0, 127, 254, 255)] == [0xFF] * 4
    assert scalar.remainder(E8M0, 128, 127).code == 0
    assert scalar.subtract(E8M0, 127, 127, RD).code == 0
    for special in (F32.infinity_code, F32.nan_code):
        assert scalar.convert(F32, E8M0, special or 0).code == 0xFF


def test_signs_of_zero() -> None:
    plus, minus, one = 0, 0x80000000, code(F32, 1)
    for mode in MODES:
        mixed = minus if mode is RD else plus
        assert scalar.add(F32, minus, minus, mode).code == minus
        assert scalar.add(F32, plus, minus, mode).code == mixed
        assert scalar.subtract(F32, one, one, mode).code == mixed
        assert scalar.add(F32, plus, plus, mode).code == plus
        assert scalar.multiply(F32, plus, one | minus, mode).code == minus
    assert scalar.convert(F32, FNUZ, minus) == scalar.Result(0)
    assert scalar.convert(F32, FNUZ, 0x80000001) == scalar.Result(0, Flags.UNDERFLOW | Flags.INEXACT)
    assert scalar.maximum(F32, plus, minus).code == scalar.maximum(F32, minus, plus).code == plus
    assert scalar.minimum_number(F32, plus, minus).code == scalar.minimum(F32, minus, plus).code == minus


def test_nan_rules() -> None:
    quiet, signalling, other = 0xFFC12345, 0x7F812345, 0x7FC00777
    one, infinity = code(F32, 1), 0x7F800000
    assert scalar.add(F32, quiet, signalling) == scalar.Result(quiet, Flags.INVALID)
    assert scalar.add(F32, signalling, quiet) == scalar.Result(signalling | 0x400000, Flags.INVALID)
    assert scalar.subtract(F32, one, quiet) == scalar.Result(quiet)
    assert scalar.maximum(F32, one, other) == scalar.Result(other)
    assert scalar.maximum_number(F32, one, signalling) == scalar.Result(one, Flags.INVALID)
    assert scalar.maximum_number(F32, quiet, signalling) == scalar.Result(signalling | 0x400000, Flags.INVALID)
    assert scalar.negate(F32, signalling).code == 0xFF812345
    generated = scalar.Result(0x7FC00000, Flags.INVALID)
    assert scalar.multiply(F32, 0, infinity) == scalar.subtract(F32, infinity, infinity) == generated
    assert scalar.divide(F32, 0, 0x80000000) == scalar.remainder(F32, one, 0) == generated
    assert scalar.remainder(F32, infinity, one) == generated
    assert scalar.remainder(F32, one, infinity) == scalar.Result(one)
    assert scalar.convert(FN, F32, 0x7F).code == 0x7FF00000
    assert scalar.convert(FN, F32, 0xFF).code == 0xFFF00000
    assert scalar.convert(FORMATS["f8E5M2"], F32, 0x7D) == scalar.Result(0x7FE00000, Flags.INVALID)
    assert scalar.convert(FNUZ, F32, 0x80) == scalar.Result(0x7FC00000)
    assert scalar.negate(FNUZ, 0x80).code == 0x80
    assert scalar.negate(FNUZ, 0).code == 0


def test_nan_and_infinity_without_a_code() -> None:
    assert scalar.convert(F32, F4, 0x7FC00000) == scalar.Result(0, Flags.INVALID, True)
    assert scalar.divide(F4, 0, 0) == scalar.remainder(F4, 2, 0) == scalar.Result(0, Flags.INVALID, True)
    assert scalar.divide(F4, 2, 8) == scalar.Result(0xF, Flags.DIVIDE_BY_ZERO)
    assert scalar.convert(F32, F4, 0xFF800000) == scalar.Result(0xF, Flags.OVERFLOW | Flags.INEXACT)
    assert scalar.convert(F32, FN, 0xFF800000) == scalar.Result(0xFF, Flags.OVERFLOW | Flags.INEXACT)
    assert scalar.divide(FN, 0x38, 0x80) == scalar.Result(0xFF, Flags.DIVIDE_BY_ZERO)
    assert [scalar.convert(F32, F4, code(F32, 100), mode).code for mode in MODES] == [7] * 5


def test_x87_operands() -> None:
    one, default = code(F80, 1), 0x7FFFC000000000000000
    for invalid in (0x4000 << 64 | 5, 0x7FFF << 64, 0xFFFF << 64 | 1 << 62):
        for operands in ((invalid, one), (one, invalid)):
            assert scalar.add(F80, *operands) == scalar.Result(default, Flags.INVALID)
            assert scalar.compare(F80, 14, *operands)
        assert scalar.convert(F80, F32, invalid) == scalar.Result(0x7FC00000, Flags.INVALID)
        assert scalar.negate(F80, invalid).code == invalid ^ 1 << 79
    pseudo_denormal = 3 << 62
    assert scalar.add(F80, pseudo_denormal, 0).code == 1 << 64 | pseudo_denormal
    assert scalar.maximum(F80, pseudo_denormal, 0).code == 1 << 64 | pseudo_denormal
    assert scalar.negate(F80, pseudo_denormal).code == pseudo_denormal | 1 << 79


def test_float_to_integer() -> None:
    def to(number: float, width: int, signed: bool, choice: str = "poison", mode: Rounding = RZ) -> scalar.Result:
        policy = FloatPolicy(float_to_int=choice)
        return scalar.to_integer(F64, struct.unpack("<Q", struct.pack("<d", number))[0], width, signed, mode, policy)

    poison = scalar.Result(0, Flags.INVALID, True)
    assert to(-0.9, 8, False) == scalar.Result(0, Flags.INEXACT)
    assert to(1.0, 1, True) == to(128.0, 8, True) == to(-1.0, 8, False) == to(math.nan, 8, True) == poison
    assert to(-128.9, 8, True) == scalar.Result(0x80, Flags.INEXACT)
    assert to(-128.9, 8, True, mode=RNE) == poison
    assert to(2.5, 8, True, mode=RNE).code == 2
    assert to(2.5, 8, True, mode=RNA).code == 3
    assert to(-2.5, 8, True, mode=RD).code == 0xFD
    for choice, nan, high, low in (
        ("saturate", 0, 127, 128),
        ("saturate_nan_max", 127, 127, 128),
        ("saturate_nan_top", 128, 127, 128),
        ("modular", 0, 44, 212),
    ):
        assert to(math.nan, 8, True, choice) == scalar.Result(nan, Flags.INVALID)
        assert to(300.5, 8, True, choice) == scalar.Result(high, Flags.INVALID)
        assert to(-300.5, 8, True, choice) == scalar.Result(low, Flags.INVALID)
    assert to(math.inf, 8, True, "modular").code == 0
    assert to(-math.inf, 8, True, "saturate").code == 128
    assert to(0.5, 0, True) == scalar.Result(0, Flags.INEXACT)
    assert to(1.0, 0, True).poison


def test_integers_of_any_width() -> None:
    assert scalar.value(F64, scalar.from_integer(F64, 2**1023 + 1).code) == 2**1023
    assert scalar.from_integer(F64, 2**1024).code == F64.infinity_code
    assert scalar.from_integer(F4, -(2**1000)) == scalar.Result(0xF, Flags.OVERFLOW | Flags.INEXACT)
    f128 = FORMATS["f128"]
    huge = scalar.from_integer(f128, 2**1023 + 1).code
    assert scalar.to_integer(f128, huge, 1024, False).code == 2**1023
    assert scalar.convert(f128, F4, 1) == scalar.Result(0, Flags.UNDERFLOW | Flags.INEXACT)


def test_flags() -> None:
    inexact, underflow = int(Flags.INEXACT), int(Flags.UNDERFLOW | Flags.INEXACT)
    smallest_normal, half, nearly_one = F32.min_normal_code, code(F32, 0.5), code(F32, 1 - 2**-24)
    assert scalar.add(F32, code(F32, 1), 1).flags == inexact
    assert scalar.multiply(F32, smallest_normal, half).flags == 0  # exact, though subnormal
    assert scalar.multiply(F32, smallest_normal | 1, half).flags == underflow
    # From just below the smallest normal value: tiny, unless rounding with an unbounded exponent reaches that value.
    assert scalar.multiply(F32, smallest_normal, nearly_one) == scalar.Result(smallest_normal, underflow)
    above = scalar.convert(F64, F32, code(F64, Fraction(2) ** -126 * (1 - Fraction(1, 2**30))))
    assert above == scalar.Result(smallest_normal, inexact)
    before = FloatPolicy(tininess="before")
    assert scalar.convert(F64, F32, code(F64, Fraction(2) ** -126 * (1 - Fraction(1, 2**30))), RNE, before).flags == 3
    assert scalar.multiply(F32, F32.max_code, code(F32, 2), RZ) == scalar.Result(F32.max_code, 5)
    assert scalar.divide(F32, code(F32, 1), 0).flags == Flags.DIVIDE_BY_ZERO


def test_policies() -> None:
    def result(policy: FloatPolicy, src: FloatFormat, dst: FloatFormat, a: int) -> scalar.Result:
        return scalar.convert(src, dst, a, RNE, policy)

    saturate = FloatPolicy(conversion_overflow="saturate")
    for dst, largest in ((FN, 0x7E), (E8M0, 0xFE), (F16, 0x7BFF), (F4, 7)):
        assert result(saturate, F32, dst, 0x7F800000).code == largest
        assert result(saturate, F32, dst, F32.max_code).code == largest
    assert result(saturate, F32, FN, 0x7FC00000).code == 0x7F
    assert scalar.add(FN, 0x7E, 0x7E, RNE, saturate).code == 0x7F
    for choice, codes in (("zero", (0, 8)), ("zero_inverted", (8, 0)), ("max", (7, 7))):
        policy = FloatPolicy(nan_to_nanless=choice)
        assert tuple(result(policy, F32, F4, nan).code for nan in (0x7FC00000, 0xFFC00000)) == codes
    sign_bit = FloatPolicy(negative_to_unsigned="sign_bit")
    assert [result(sign_bit, F32, E8M0, code(F32, x)).code for x in (-1, -0.5)] == [0xFF, 0xFE]
    assert result(FloatPolicy(zero_to_zeroless="nan"), F32, E8M0, 0).code == 0xFF
    widened = FloatPolicy(zeroless_nan_widened="infinity")
    assert result(widened, E8M0, F32, 0xFF).code == 0x7F800000
    assert result(widened, E8M0, FN, 0xFF).code == 0x7F
    quieted = FloatPolicy(number_of_signalling="quieted")
    assert scalar.maximum_number(F32, 0x7F800001, code(F32, 1), quieted).code == 0x7FC00001
    assert scalar.maximum_number(F32, 0x7FC00001, code(F32, 1), quieted).code == code(F32, 1)
    nans = {"payload": 0x7FC00001, "canonical": 0x7FC00000, "canonical_signed": 0x7FC00000, "negative": 0x7FC00001}
    generated = {"payload": 0x7FC00000, "canonical": 0x7FC00000, "canonical_signed": 0xFFC00000, "negative": 0xFFC00000}
    for choice, expected in nans.items():
        policy = FloatPolicy(nan_result=choice)
        assert scalar.add(F32, 0, 0x7F800001, RNE, policy).code == expected
        assert scalar.divide(F32, 0, 0, RNE, policy).code == generated[choice]
    tiny, one = 0x80000001, code(F32, 1)
    assert scalar.add(F32, tiny, tiny, RNE, FloatPolicy(denormals="flush_operands")).code == 0x80000000
    assert scalar.multiply(F32, tiny, one, RNE, FloatPolicy(denormals="flush_results")).code == 0x80000000
    positive = FloatPolicy(denormals="flush_both", denormal_zero="positive")
    assert scalar.multiply(F32, tiny, one, RNE, positive).code == 0
    assert scalar.flush(F32, tiny).code == 0x80000000
    assert scalar.flush(FNUZ, 0x81).code == 0
    assert scalar.flush(E8M0, 0).code == 0


def test_stochastic_needs_bits_and_is_a_threshold() -> None:
    value = code(F32, 1 + 2**-9)  # a quarter of the way between two bf16 values
    with pytest.raises(ValueError, match="random bits"):
        scalar.convert(F32, BF16, value, Rounding.STOCHASTIC)
    up = [scalar.convert(F32, BF16, value, Rounding.STOCHASTIC, SPEC, (bits, 8)).code == 0x3F81 for bits in range(256)]
    assert up == [bits < 64 for bits in range(256)]
    third = [
        scalar.divide(F16, code(F16, 1), code(F16, 3), 5, SPEC, (bits, 16)).code & 1 for bits in range(0, 65536, 997)
    ]
    assert set(third) == {0, 1}


# Rounding by search: independent of how scalar.py rounds and encodes.


@cache
def positive_values(fmt: FloatFormat) -> list[Fraction]:
    """Values of the codes 0, 1, 2, ... up to the largest finite one, and what the next code would be worth."""
    values = []
    for magnitude in range(1 << (fmt.bits - fmt.signed)):
        exponent, fraction = divmod(magnitude, 1 << fmt.mantissa_bits)
        if exponent or not fmt.zero:
            significand, power = (1 << fmt.mantissa_bits) + fraction, exponent
        else:
            significand, power = fraction, 1
        values.append(significand * Fraction(2) ** (power - fmt.bias - fmt.mantissa_bits))
    codes = (1 << (fmt.bits - fmt.signed)) - 1
    if fmt.nan is NanEncoding.IEEE:
        largest = codes - (1 << fmt.mantissa_bits)
    else:
        largest = codes - (fmt.nan is NanEncoding.ALL_ONES) - fmt.infinities
    ulp = values[largest] - values[largest - 1] if fmt.mantissa_bits else values[largest]
    return [*values[: largest + 1], values[largest] + ulp]


def search(fmt: FloatFormat, exact: Fraction, negative_zero: bool, rounding: Rounding) -> int | None:
    """Return the code that the definitions of the format and of the mode give; None: poison."""
    negative = exact < 0 or (exact == 0 and negative_zero)
    sign = 1 << (fmt.bits - 1) if fmt.signed and negative else 0
    if not fmt.signed and exact < 0:
        return fmt.nan_code
    values, magnitude = positive_values(fmt), abs(exact)
    index = bisect.bisect_left(values, magnitude)
    outward = rounding == (RD if negative else RU)
    if index < len(values) and values[index] == magnitude:
        pass
    elif index == 0:  # below the smallest value of a format without zero
        index = 0
    elif index < len(values):
        low, high = magnitude - values[index - 1], values[index] - magnitude
        if rounding in (RNE, RNA):
            # Without a fraction every significand but zero's is 1, and odd.
            even = index % 2 == 0 if fmt.mantissa_bits else index > 1 or not fmt.zero
            up = high < low or (low == high and (even or rounding == RNA))
        else:
            up = outward
        index -= not up
    if index >= len(values) - 1:  # overflow
        largest = len(values) - 2
        if not (outward or rounding in (RNE, RNA)) or (fmt.nan is NanEncoding.NONE and not fmt.infinities):
            index = largest
        elif fmt.infinities:
            return sign | largest + 1
        else:
            return fmt.nan_code if fmt.nan is NanEncoding.NEGATIVE_ZERO else sign | (fmt.nan_code or 0)
    if index == 0 and fmt.zero and fmt.nan is NanEncoding.NEGATIVE_ZERO:
        sign = 0
    return sign | index


def value_of(fmt: FloatFormat, a: int) -> tuple[Fraction, bool] | None:
    """Return the value and the sign of a finite code."""
    negative = fmt.signed and bool(a >> (fmt.bits - 1))
    if a == fmt.nan_code:
        return None
    magnitude = a & ((1 << (fmt.bits - fmt.signed)) - 1)
    if magnitude >= len(positive_values(fmt)) - 1:
        return None
    finite = positive_values(fmt)[magnitude]
    return (-finite if negative else finite), negative


def exact_result(
    op: str, x: tuple[Fraction, bool], y: tuple[Fraction, bool], mode: Rounding
) -> tuple[Fraction, bool] | None:
    """Return the exact real result of finite operands, and the sign that it has if it is zero."""
    (a, a_negative), (b, b_negative) = x, y
    if op == "subtract":
        b, b_negative = -b, not b_negative
    if op in ("add", "subtract"):
        return a + b, a_negative if a_negative == b_negative else mode is RD
    if op == "multiply":
        return a * b, a_negative != b_negative
    if b == 0:
        return None
    return (a / b, a_negative != b_negative) if op == "divide" else (a - b * math.trunc(a / b), a_negative)


def check_arithmetic(fmt: FloatFormat, cases: Iterator[tuple[int, int]]) -> int:
    checked = 0
    for a, b in cases:
        x, y = value_of(fmt, a), value_of(fmt, b)
        if x is None or y is None:
            continue
        for op in ("add", "subtract", "multiply", "divide", "remainder"):
            for mode in MODES:
                expected = exact_result(op, x, y, mode)
                if expected is None:
                    continue
                result = getattr(scalar, op)(fmt, a, b, mode)
                assert result.code == search(fmt, *expected, mode), (fmt.name, op, hex(a), hex(b), mode.name)
                checked += 1
    return checked


def check_conversions(src: FloatFormat, dst: FloatFormat, sample: list[int]) -> int:
    checked = 0
    for a in sample:
        x = value_of(src, a)
        if x is None:
            continue
        for mode in MODES:
            result = scalar.convert(src, dst, a, mode)
            assert result.code == search(dst, *x, mode), (src.name, dst.name, hex(a), mode.name)
            checked += 1
    return checked


@pytest.mark.parametrize("fmt", thinned(SMALL, 4), ids=str)
@pytest.mark.parametrize("count", amounts(400, None))
def test_arithmetic_by_search(fmt: FloatFormat, count: int | None) -> None:
    """``count``: of pairs, None for all."""
    every, rng = range(1 << fmt.bits), random.Random(fmt.name)
    cases = product(every, every) if count is None else ((rng.choice(every), rng.choice(every)) for _ in range(count))
    assert check_arithmetic(fmt, iter(cases)) > 5000


@pytest.mark.parametrize("dst", thinned(SMALL, 3), ids=str)
@pytest.mark.parametrize("count", amounts(60, 256))
def test_conversions_by_search(dst: FloatFormat, count: int) -> None:
    rng = random.Random(dst.name)
    for src in SMALL:
        assert check_conversions(src, dst, rng.sample(range(1 << src.bits), min(count, 1 << src.bits))) > 0


@given(st.fractions(), st.sampled_from(SMALL), st.sampled_from(MODES))
def test_rationals_by_search(number: Fraction, fmt: FloatFormat, mode: Rounding) -> None:
    assert scalar.from_fraction(fmt, number, mode).code == search(fmt, number, False, mode)


@st.composite
def user_formats(draw: st.DrawFn) -> FloatFormat:
    """Any valid format of up to 10 bits with a zero."""
    nan = draw(st.sampled_from(NanEncoding))
    signed = True if nan is NanEncoding.NEGATIVE_ZERO else draw(st.booleans())
    infinities = True if nan is NanEncoding.IEEE else draw(st.booleans())
    exponent_bits, mantissa_bits = draw(st.integers(2, 5)), draw(st.integers(1 if nan is NanEncoding.IEEE else 0, 4))
    bias = draw(st.integers(-3, 20))
    return FloatFormat("drawn", exponent_bits, mantissa_bits, bias, signed, infinities, nan)


@given(st.fractions(), user_formats(), st.sampled_from(MODES))
def test_user_formats_by_search(number: Fraction, fmt: FloatFormat, mode: Rounding) -> None:
    result = scalar.from_fraction(fmt, number, mode)
    expected = search(fmt, number, False, mode)
    assert (None if result.poison else result.code) == expected
    finite = value_of(fmt, result.code)
    assert result.poison or scalar.value(fmt, result.code) == (finite and finite[0])


@given(st.floats(), st.floats())
def test_f64_is_the_machine(x: float, y: float) -> None:
    """Python's own floats are IEEE binary64 to nearest even; NaN results are ours."""
    a, b = (struct.unpack("<Q", struct.pack("<d", number))[0] for number in (x, y))
    results = [(scalar.add, x + y), (scalar.subtract, x - y), (scalar.multiply, x * y)]
    if y:
        results += [(scalar.divide, x / y)]
    if y and not math.isinf(x):
        results += [(scalar.remainder, math.fmod(x, y))]
    for operation, result in results:
        if not math.isnan(result):
            assert operation(F64, a, b).code == struct.unpack("<Q", struct.pack("<d", result))[0]
    holds = (False, x == y, x > y, x >= y, x < y, x <= y, x < y or x > y, x == x and y == y)
    for predicate, ordered in enumerate(holds):
        assert scalar.compare(F64, predicate, a, b) == ordered
        opposite = 15 - predicate
        if predicate not in (0, 7):
            continue
        assert scalar.compare(F64, 14 if predicate == 7 else opposite, a, b) == (not ordered)


@pytest.mark.parametrize(
    "fmt", [FORMATS[name] for name in ("f4E2M1FN", "f8E4M3FN", "f8E5M2", "f8E8M0FNU", "f16")], ids=str
)
def test_to_odd_takes_the_odd_neighbour(fmt: FloatFormat) -> None:
    """Between two positive values: the one whose code is odd; in f8E8M0FNU, whose significand is always odd, that below."""
    for code in range(0, fmt.max_code, 1 if fmt.bits <= 8 else 7):
        low, high = present(scalar.value(fmt, code)), present(scalar.value(fmt, code + 1))
        odd = code if code & 1 else code + 1
        want = odd if fmt.mantissa_bits else code
        for part in (Fraction(1, 1000), Fraction(1, 2), Fraction(999, 1000)):
            found = scalar.from_fraction(fmt, low + (high - low) * part, Rounding.TO_ODD)
            assert found.code == want, (code, part)
        assert scalar.from_fraction(fmt, low, Rounding.TO_ODD).code == code
    if fmt.zero:
        assert scalar.from_fraction(fmt, Fraction(1, 10**60), Rounding.TO_ODD).code == 1
    largest = present(scalar.value(fmt, fmt.max_code))
    over = scalar.from_fraction(fmt, largest * 3, Rounding.TO_ODD)
    assert (over.code, over.flags) == (fmt.max_code, int(Flags.OVERFLOW | Flags.INEXACT))


# --- to integral ------------------------------------------------------------------------------------------------------
#
# Rounding to integers of the same format: the specification against fractions, and arrays against the specification.

INTEGER_OF: dict[Rounding, Callable[[Fraction], int]] = {
    Rounding.TO_NEAREST_EVEN: round,
    Rounding.DOWNWARD: math.floor,
    Rounding.UPWARD: math.ceil,
    Rounding.TOWARD_ZERO: math.trunc,
    Rounding.TO_NEAREST_AWAY: lambda x: (-1 if x < 0 else 1) * math.floor(abs(x) + Fraction(1, 2)),
    Rounding.TO_ODD: lambda x: int(x) if x == int(x) else math.floor(x) | 1,
}
POLICIES = (FloatPolicy(), FloatPolicy(denormals="flush_both", nan_result="canonical"))


@cache
def codes_of(fmt: FloatFormat) -> list[int]:
    """Return all codes of a format of up to 8 bits; of others, special ones, and some next to integers and halves."""
    if fmt.bits <= 8:
        return list(range(1 << fmt.bits))
    rng = random.Random(fmt.name)
    codes = [0, 1, fmt.max_code, fmt.min_normal_code, fmt.infinity_code or 0, fmt.nan_code or 0]
    codes += [rng.getrandbits(fmt.bits) for _ in range(20)]
    for number in (0, 1, 2, 3, 5, 1 << fmt.precision - 1, (1 << fmt.precision) - 1):
        for quarter in range(4):
            x = number + Fraction(quarter, 4)
            codes += [scalar.from_fraction(fmt, x, mode).code for mode in (Rounding.DOWNWARD, Rounding.UPWARD)]
            codes += [code + 1 for code in codes[-1:] if code < fmt.max_code]
    if fmt.signed:
        codes += [code ^ (fmt.sign_mask or 0) for code in codes]
    return codes


@pytest.mark.parametrize("fmt", thinned(FORMATS.values(), 4), ids=lambda fmt: fmt.name)
def test_the_specification_gives_the_integer(fmt: FloatFormat) -> None:
    for code in codes_of(fmt):
        value = scalar.value(fmt, code)
        for mode in MODES:
            found = scalar.to_integral(fmt, code, mode)
            if value is None:
                quiet = scalar.convert(fmt, fmt, code)
                assert found == quiet
                continue
            wanted = INTEGER_OF[mode](value)
            assert found == scalar.from_fraction(fmt, Fraction(wanted)) or not wanted
            if not wanted:
                sign = code >> fmt.bits - 1 if fmt.signed else 0
                assert found == scalar.encode_zero(fmt, sign, FloatPolicy())


def test_only_two_formats_end_before_the_integer() -> None:
    over = {
        fmt.name
        for fmt in FORMATS.values()
        for code in codes_of(fmt)
        if scalar.to_integral(fmt, code, Rounding.UPWARD).flags & scalar.OVERFLOW
    }
    assert over == {"f6E2M3FN", "f8E3M4"}


@pytest.mark.parametrize("fmt", thinned(FORMATS.values(), 4), ids=lambda fmt: fmt.name)
def test_arrays_are_the_specification(fmt: FloatFormat) -> None:
    codes = codes_of(fmt)
    array = ints_to_codes(codes, fmt.bits, (len(codes),))
    for mode in MODES:
        for policy in POLICIES:
            wanted = [scalar.to_integral(fmt, code, mode, policy) for code in codes]
            found = conversions.to_integral(fmt, array, mode, policy, want_flags=True)
            assert codes_to_ints(found.codes, fmt.bits) == [each.code for each in wanted]
            assert found.flags is not None
            assert found.flags.tolist() == [each.flags for each in wanted]
            quick = fast.to_integral(fmt, array, mode, policy)
            assert codes_to_ints(quick.codes, fmt.bits) == [each.code for each in wanted]
