"""`explain` against brute force: neighbours by listing all values, rules by exact comparison with the midpoint."""

import json
import random
from bisect import bisect
from decimal import Decimal
from fractions import Fraction
from functools import cache
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from amounts import thinned
from hypothesis import example, given
from hypothesis import strategies as st
from tables import each_row

import halfulp as hu
from halfulp.explanations.explaining import explain
from halfulp.explanations.rounding import StochasticExplanation, discarded_fraction
from halfulp.fp_formats import scalar
from halfulp.fp_formats.formats import FORMATS, FloatFormat, NanEncoding
from halfulp.fp_formats.spelling import bits_text, decimal_text, fraction_text
from halfulp.number_reader import MODES

SMALL = [fmt.name for fmt in FORMATS.values() if fmt.bits <= 8]


@cache
def values(name: str) -> dict[Fraction, int]:
    """Return every finite value of a small format with its (positive, for zero) code, in order, from the field
    definitions.
    """
    fmt = FORMATS[name]
    found: dict[Fraction, int] = {}
    for code in range(1 << fmt.bits):
        negative = fmt.signed and code >> (fmt.bits - 1)
        field = code >> fmt.mantissa_bits & ((1 << fmt.exponent_bits) - 1)
        fraction = code & ((1 << fmt.mantissa_bits) - 1)
        top = field == (1 << fmt.exponent_bits) - 1
        if fmt.nan is NanEncoding.IEEE and top:
            continue
        if fmt.nan is NanEncoding.ALL_ONES and top and fraction == (1 << fmt.mantissa_bits) - 1:
            continue
        if fmt.nan is NanEncoding.NEGATIVE_ZERO and code == 1 << (fmt.bits - 1):
            continue
        if field or not fmt.zero:
            magnitude = Fraction(fraction + (1 << fmt.mantissa_bits)) * Fraction(2) ** (
                field - fmt.bias - fmt.mantissa_bits
            )
        else:
            magnitude = Fraction(fraction) * Fraction(2) ** (1 - fmt.bias - fmt.mantissa_bits)
        found.setdefault(-magnitude if negative else magnitude, code)
    return dict(sorted(found.items()))


@cache
def samples(name: str) -> list[Fraction]:
    """Values, midpoints and other points between all neighbours of a format, and points beyond its ends."""
    known = list(values(name))
    points = set(known)
    for low, high in pairwise(known):
        points |= {(low + high) / 2, (3 * low + high) / 4, (low + 9 * high) / 10}
    top, step = known[-1], known[-1] - known[-2]
    beyond = {top + step / 4, top + step / 2, top + step * 3 / 4, top + step, 3 * top}
    points |= beyond | {-x for x in beyond} | {Fraction(1, 10**50), Fraction(-1, 10**50)}
    return sorted(points)


@pytest.mark.long
@pytest.mark.parametrize("name", SMALL)
def test_neighbours_midpoint_and_error(name: str) -> None:
    known = values(name)
    rng = random.Random(name)
    for exact in rng.sample(samples(name), 60):
        explanation = explain(exact, name)
        below = [x for x in known if x < exact]
        above = [x for x in known if x > exact]
        assert explanation.exact == exact
        assert explanation.below == (known[below[-1]] if below else None)
        assert explanation.above == (known[above[0]] if above else None)
        if below and above and exact not in known:
            assert explanation.midpoint == (below[-1] + above[0]) / 2
            for rounded in explanation.modes.values():
                if rounded.value is not None:
                    assert rounded.error == (rounded.value - exact) / (above[0] - below[-1])
        if exact in known:
            assert explanation.midpoint is None
            assert explanation.result.error == 0
        str(explanation)


@pytest.mark.parametrize("name", thinned(SMALL, 4))
@pytest.mark.parametrize("mode", MODES)
def test_rules_between_neighbours(name: str, mode: str) -> None:
    """Between two finite values the rule follows from where the exact value lies, and so does the result."""
    known = values(name)
    bounds = list(known)
    fmt = FORMATS[name]
    rng = random.Random(name + mode)
    inner = [x for x in samples(name) if bounds[0] < x < bounds[-1] and x not in known and (x > 0 or fmt.signed)]
    for exact in rng.sample(inner, 30):
        place = bisect(bounds, exact)
        low, high = bounds[place - 1], bounds[place]
        explanation = explain(exact, name, mode)
        rule = explanation.rule
        if mode in ("downward", "upward", "toward_zero"):
            up = mode == "upward" or (mode == "toward_zero" and exact < 0)
            assert rule.startswith("toward zero" if mode == "toward_zero" else f"{mode}: ")
        elif exact == (low + high) / 2:
            assert rule.startswith("a tie")
            inward, outward = (low, high) if exact > 0 else (high, low)
            even = known[inward] % 2 == 0 and fmt.mantissa_bits > 0
            up = (inward if mode == "to_nearest_even" and even else outward) == high
            expected = "every significand is odd" if not fmt.mantissa_bits else "the even significand"
            assert ("away from zero" if mode == "to_nearest_away" else expected) in rule
        else:
            up = exact > (low + high) / 2
            assert "nearer" in rule
        assert explanation.result.value == (high if up else low)
        assert f"the value {'above' if up else 'below'}" in rule


# SEMANTICS "Known answers" and "Rounding: the one rule", worked out by hand: text, type, mode, code (None: poison), words.
RULES = [
    ("464", "f8E4M3FN", "to_nearest_even", 0x7E, "a tie: to the even significand: the largest finite value"),
    ("464", "f8E4M3FN", "to_nearest_away", 0x7F, "a tie: away from zero: overflow; f8E4M3FN has no infinities: NaN"),
    ("465", "f8E4M3FN", "to_nearest_even", 0x7F, "it would round to 480 or more, which does not exist"),
    ("465", "f8E4M3FN", "toward_zero", 0x7E, "toward zero: the largest finite value"),
    ("-465", "f8E4M3FN", "to_nearest_even", 0xFF, "NaN, of the same sign"),
    ("0.0146484375", "f8E4M3FN", "to_nearest_even", 0x08, "a tie: to the even significand: the value above"),
    ("100", "f4E2M1FN", "upward", 0x7, "neither infinities nor NaN: the largest finite value"),
    ("100", "f4E2M1FN", "downward", 0x7, "downward: toward -infinity: the largest finite value"),
    (
        "6.5",
        "f4E2M1FN",
        "to_nearest_even",
        0x7,
        "nearer to it than to 8, which does not exist: the largest finite value",
    ),
    ("7", "f4E2M1FN", "to_nearest_even", 0x7, "a tie: to the even significand: overflow; f4E2M1FN has neither"),
    ("-6.5", "f4E2M1FN", "downward", 0xF, "downward: toward -infinity: overflow; f4E2M1FN has neither"),
    ("inf", "f6E3M2FN", "to_nearest_even", 0x1F, "infinity: f6E3M2FN has neither"),
    ("-inf", "f8E5M2", "to_nearest_even", 0xFC, "infinity stays infinity"),
    ("inf", "f8E4M3FNUZ", "to_nearest_even", 0x80, "has no infinities: NaN"),
    ("nan", "f4E2M1FN", "to_nearest_even", None, "NaN is not representable in f4E2M1FN: poison"),
    ("nan", "f8E5M2FNUZ", "to_nearest_even", 0x80, "the one NaN of f8E5M2FNUZ"),
    ("-nan", "f8E4M3FN", "to_nearest_even", 0xFF, "its sign is kept"),
    (
        "f8E8M0FNU=0xFF",
        "f16",
        "to_nearest_even",
        0x7E00,
        "the NaN of f8E8M0FNU has neither sign nor payload: a positive",
    ),
    ("f80=0xBFFF0000000000000001", "f16", "to_nearest_even", 0x7E00, "an invalid encoding of f80 counts as"),
    ("f32=0x7F800001", "f16", "to_nearest_even", 0x7E00, "quieted, sign kept, payload"),
    ("1.5", "f8E8M0FNU", "to_nearest_even", 0x80, "every significand is odd, so away from zero"),
    ("0", "f8E8M0FNU", "downward", 0x00, "has no zero: the smallest value, in every mode"),
    ("-1", "f8E8M0FNU", "to_nearest_even", 0xFF, "has no negative values: NaN"),
    ("-inf", "f8E8M0FNU", "to_nearest_even", 0xFF, "has no negative values: NaN"),
    ("1e-45", "f8E8M0FNU", "upward", 0x00, "below the smallest value of f8E8M0FNU"),
    ("-0.0", "f8E4M3FNUZ", "to_nearest_even", 0x00, "has no -0: +0"),
    ("-0.0", "f8E4M3FN", "to_nearest_even", 0x80, "nothing is rounded"),
    ("1e300", "f32", "to_nearest_even", 0x7F800000, "overflow; infinity"),
    ("0x7D", "f8E5M2", "to_nearest_even", 0x7D, "a bit pattern is not rounded"),
    ("16777217", "f32", "to_nearest_even", 0x4B800000, "a tie"),
]


@pytest.mark.parametrize(("text", "name", "mode", "code", "words"), RULES)
def test_rule_in_words(text: str, name: str, mode: str, code: int | None, words: str) -> None:
    explanation = explain(text, name, mode)
    assert explanation.result.code == code
    assert words in explanation.rule
    assert explanation.rule in str(explanation)


def test_a_format_with_neither_sign_nor_nan() -> None:
    fmt = FloatFormat("u6", 3, 3, 3, signed=False, infinities=False, nan=hu.register.NanEncoding.NONE)
    for text in ("-1", "-inf"):
        explanation = explain(text, fmt)
        assert explanation.result.code is None
        assert explanation.rule == "u6 has no negative values: NaN. NaN is not representable in u6: poison"


def test_the_whole_text() -> None:
    """0.3 is 3/10; in f8E4M3FN the step between 1/4 and 1/2 is 1/32."""
    assert str(explain("0.3", "f8E4M3FN")).splitlines() == [
        "0.3 in f8E4M3FN, to_nearest_even, profile spec",
        "",
        "given     0.3",
        "exact     0.3 = 3/10",
        "result    0x2A  0 0101 010",
        "          sign 0, exponent 0101 (2^-2), significand 010",
        "value     0.3125 = 5/16 = 5 * 2^-4",
        "          1.010 * 2^-2 in binary",
        "flags     inexact",
        "",
        "below     0x29  0 0101 001  0.28125",
        "midpoint  0.296875  (between 0x29 and 0x2A; the exact value lies above it)",
        "above     0x2A  0 0101 010  0.3125",
        "",
        "rule      to nearest: the value above is nearer",
        "error     +0.4 ulp; an ulp is 0.03125 here",
        "          +0.0416666... relative",
        "",
        "mode             code  value    error in ulp  flags",
        "to_nearest_even  0x2A  0.3125   +0.4          inexact",
        "downward         0x29  0.28125  -0.6          inexact",
        "upward           0x2A  0.3125   +0.4          inexact",
        "toward_zero      0x29  0.28125  -0.6          inexact",
        "to_nearest_away  0x2A  0.3125   +0.4          inexact",
        "",
        "profiles  all of them give this",
    ]


@each_row(
    (0.1, Fraction(3602879701896397, 36028797018963968)),
    ("1/3", Fraction(1, 3)),
    (Fraction(-2, 7), Fraction(-2, 7)),
    (Decimal("0.1"), Fraction(1, 10)),
    (np.float32(0.1), Fraction(13421773, 134217728)),
    (np.int8(-5), Fraction(-5)),
    (2**200 + 1, Fraction(2**200 + 1)),
    ("bf16=0x3F81", Fraction(129, 128)),
    (hu.Value.from_bits(0x3F81, "bf16"), Fraction(129, 128)),
    (" 0x2A ", Fraction(5, 16)),
)
def test_what_is_rounded(value: object, exact: Fraction) -> None:
    assert explain(value, "f8E4M3FN").exact == exact


def test_modes_agree_with_convert() -> None:
    rng = np.random.default_rng(7)
    numbers = rng.normal(size=20) * 10.0 ** rng.integers(-6, 6, 20)
    for name in ("f8E5M2", "bf16", "f16", "tf32", "f128"):
        for number in numbers:
            for mode, rounded in explain(float(number), name).modes.items():
                converted = hu.convert(float(number), to=name, rounding=mode, type="f64")
                assert hu.Value.from_bits([rounded.code], name).bits.ravel().tolist() == converted.bits.ravel().tolist()


@each_row(
    ("0", "f8E8M0FNU", "ml_dtypes", 0xFF, "gives 0xFF instead of 0x00: zero_to_zeroless=nan"),
    ("1000", "f8E4M3FN", "ocp-saturate", 0x7E, "gives 0x7E instead of 0x7F: conversion_overflow=saturate"),
    ("nan", "f4E2M1FN", "mlir22-fold", 0x0, "gives 0x0 instead of poison: nan_to_nanless=zero"),
    # f32 would round up to the tie -432, which goes to the even significand.
    ("f64=-431.99999999999994", "f8E4M3FN", "ml_dtypes", 0xFE, "instead of 0xFD: wide_source=through_f32"),
    ("1e-45", "f32", "spec,denormals=flush_results", 0, "denormals=flush_results"),
    ("1", "f32", "ml_dtypes", 0x3F800000, ""),
)
def test_where_a_profile_departs(value: str, name: str, profile: str, code: int, words: str) -> None:
    explanation = explain(value, name, profile=profile)
    assert explanation.result.code == code
    assert words in explanation.profile_rule
    assert bool(words) == bool(explanation.profile_rule)


@each_row(
    ("abc", "f32", "to_nearest_even", hu.errors.InputError),
    ("1/0", "f32", "to_nearest_even", hu.errors.InputError),
    ("\u0663", "f32", "to_nearest_even", hu.errors.InputError),  # a digit, but none of MLIR's
    ("0x100", "f8E5M2", "to_nearest_even", hu.errors.InputError),
    ("9" * 100_001, "f32", "to_nearest_even", hu.errors.InputError),
    (True, "f32", "to_nearest_even", hu.errors.InputError),
    ({1.0}, "f32", "to_nearest_even", hu.errors.InputError),
    (Decimal("1e999999"), "f32", "to_nearest_even", hu.errors.InputError),
    ("f4E2M1FN=poison", "f32", "to_nearest_even", hu.errors.InputError),
    ("1", "f32", "half_up", hu.errors.InputError),
    ("1", "i32", "to_nearest_even", hu.Unsupported),
    ("1", "tensor<4xf32>", "to_nearest_even", hu.Unsupported),
    ("1", "f33", "to_nearest_even", hu.errors.ParseError),
    ("1", "f32 f32", "to_nearest_even", hu.errors.ParseError),
)
def test_what_cannot_be_explained(value: object, name: str, rounding: str, error: type[Exception]) -> None:
    with pytest.raises(error):
        explain(value, name, rounding)


def test_a_format_of_ones_own() -> None:
    fmt = FloatFormat("p3109", 4, 3, 8, nan=NanEncoding.NEGATIVE_ZERO)
    explanation = explain(0.3, fmt)
    assert explanation.result.value == Fraction(5, 16)
    assert "infinity" in explain("inf", fmt).rule


def test_numbers_that_python_does_not_spell() -> None:
    for number in (10**5000, Fraction(10**5000, 3), Fraction(1, 3**9000), 2**20000, Fraction(2) ** -16494):
        text = str(explain(number, "f128"))
        assert len(text) < 20_000
        assert ("1 * 2^20000" in text) == (number == 2**20000)


def test_numbers_as_text() -> None:
    assert decimal_text(Fraction(1, 3), 20) == "0.3333333333..."
    assert decimal_text(Fraction(-5, 16)) == "-0.3125"
    assert decimal_text(Fraction(2) ** -16494, 20).endswith("...e-4966")
    assert decimal_text(Fraction(10) ** 30) == "1e+30"
    assert fraction_text(Fraction(3, 2**100)) == "3 * 2^-100"
    assert fraction_text(Fraction(3 * 2**100)) == "3 * 2^100"
    assert fraction_text(Fraction(1, 3 * 2**100)) == str(Fraction(1, 3 * 2**100))
    assert bits_text(FORMATS["f80"], 0x3FFF8000000000000000) == f"0 011111111111111 1 {'0' * 63}"
    assert bits_text(FORMATS["f8E8M0FNU"], 0x80) == "10000000"


# --- stochastic -------------------------------------------------------------------------------------------------------
#
# Explanations of stochastic rounding against `hu.convert` and `hu.eval` on all random bits.

NUMBERS = (0.3, -0.3, 0.1, 1.0, 0.0, -0.0, 465.0, -1000.0, 1e-5, 2.0**-10, 447.0, 449.0, np.inf, np.nan)


def code_of(value: Any) -> int | None:
    return None if value.poisoned.any() else int(value.bits)


@pytest.mark.parametrize("name", thinned(["f8E4M3FN", "f8E5M2", "f4E2M1FN", "f8E8M0FNU", "f8E4M3FNUZ", "f16"], 3))
def test_every_random_byte(name: str) -> None:
    """The result of each byte is that of `hu.convert`, and the probability counts these bytes."""
    for x in NUMBERS:
        whole = hu.convert(np.full(256, x), name, rounding="stochastic", random=np.arange(256, dtype=np.uint8))
        explained = hu.explain(x, name, rounding="stochastic", bits=8)
        away = 0
        for drawn in (0, 1, 5, 76, 77, 128, 153, 154, 200, 254, 255):
            one = hu.explain(x, name, rounding="stochastic", random=np.uint8(drawn))
            assert one.result is not None
            expected = None if whole.poisoned[drawn] else int(whole.bits[drawn])
            assert one.result.code == expected, (name, x, drawn)
            assert one.probability == explained.probability
        codes = [None if lost else int(code) for code, lost in zip(whole.bits, whole.poisoned, strict=True)]
        if explained.toward != explained.away:
            away = codes.count(explained.away.code)
            assert explained.probability == Fraction(away, 256)
            assert codes.count(explained.toward.code) == 256 - away
        else:
            assert set(codes) == {explained.toward.code}


@pytest.mark.long
@given(st.floats(allow_nan=False, allow_infinity=False), st.sampled_from(list(FORMATS.values())))
@example(x=0.875, fmt=FORMATS["f4E2M1FN"])  # away from zero it is tiny or not, by the bits
def test_the_fraction(x: float, fmt: Any) -> None:
    """With infinitely many bits the probability is the distance from the value nearer to zero, over the distance."""
    if not fmt.signed or not fmt.zero or abs(Fraction(x)) > (scalar.value(fmt, fmt.max_code) or 0):
        return
    exact = Fraction(x)
    explained = hu.explain(x, fmt, rounding="stochastic")
    assert explained.fraction == discarded_fraction(fmt, exact)
    toward, away = explained.toward.value, explained.away.value
    if not explained.fraction:
        assert toward == away == exact
        return
    assert abs(toward) < abs(exact) < abs(away)
    assert explained.probability == (exact - toward) / (away - toward)
    # Stochastic rounding is unbiased: the mean of the outcomes is the exact value.
    assert (1 - explained.probability) * toward + explained.probability * away == exact


@pytest.mark.parametrize("op", thinned(["arith.addf", "arith.subf", "arith.mulf", "arith.divf"], 2))
def test_ops(op: str) -> None:
    for x, y in ((1.4, 2.2), (0.1, 0.3), (440, 30), (1, 3), (0, 0), (-1.5, 0.375)):
        operands = [hu.convert(z, "f8E4M3FN") for z in (x, y)]
        for drawn in (0, 77, 128, 255):
            bits = np.array(drawn, np.uint8)
            found = hu.eval(op, *operands, rounding="stochastic", random=bits)
            explained = hu.explain_op(op, x, y, type="f8E4M3FN", rounding="stochastic", random=bits)
            assert explained.result is not None
            assert explained.result.code == code_of(found), (op, x, y, drawn)


def test_casts_and_words() -> None:
    found = hu.eval("arith.truncf", np.float32(0.3), to="f8E4M3FN", rounding="stochastic", random=np.array(9, np.uint8))
    explained = hu.explain_op("arith.truncf", 0.3, type="f32", to="f8E4M3FN", rounding="stochastic", random=9, bits=8)
    assert explained.result is not None
    assert explained.result.code == int(found.bits)
    text = str(explained)
    assert "9 / 2^8 = 0.03515625 is less than 0.60000038146" in text
    assert ": away from zero" in text
    assert "probability 77/128 = 0.6015625" in text  # 154 of 256 numbers are below 0.6
    html = explained._repr_html_()
    for name, line in explained.lines:
        assert name in html
        assert line in html
    assert json.loads(json.dumps(explained.to_dict()))["probability"] == "77/128"


def test_tie_by_hand() -> None:
    """1.0625 lies halfway between 1 and 1.125: with 4 random bits 8 of 16 numbers are below one half."""
    explained = hu.explain("1.0625", "f8E4M3FN", rounding="stochastic", bits=4)
    assert isinstance(explained, StochasticExplanation)
    assert (explained.fraction, explained.probability) == (Fraction(1, 2), Fraction(1, 2))
    assert (explained.toward.value, explained.away.value) == (1, Fraction(9, 8))
    assert explained.result is None
    third = hu.explain(Fraction(13, 12), "f8E4M3FN", rounding="stochastic", bits=4)  # 2/3 of the way: 11 of 16
    assert (third.fraction, third.probability) == (Fraction(2, 3), Fraction(11, 16))


def test_exact_results_need_no_bits() -> None:
    explained = hu.explain(1.0, "f8E4M3FN", rounding="stochastic")
    assert explained.result is not None
    assert explained.result.value == 1
    assert "nothing is rounded" in str(explained)
    bits = hu.explain("0x08 : f8E4M3FN", rounding="stochastic").result
    assert bits is not None
    assert bits.code == 8


@pytest.mark.parametrize("bits", ["given", "complement"])
@pytest.mark.parametrize("rule", thinned(["less", "p3109_a", "p3109_b", "p3109_c"], 3))
def test_rules(rule: str, bits: str) -> None:
    """The probability counts the bytes that go away from zero, and the decision in words is that of `hu.convert`."""
    profile = hu.Profile(stochastic=rule, stochastic_bits=bits)
    every = np.arange(256, dtype=np.uint8)
    for x in (0.3, -1.1, 1 + 45 / 4096, 1 + 43 / 4096, 2.0**-12, 465.0):
        whole = hu.convert(np.full(256, x), "f8E4M3FN", rounding="stochastic", random=every, profile=profile)
        explained = hu.explain(x, "f8E4M3FN", rounding="stochastic", bits=8, profile=profile)
        away = whole.bits == explained.away.code
        assert (away | (whole.bits == explained.toward.code)).all()
        assert explained.probability == Fraction(int(away.sum()), 256)
        assert f"for {away.sum()} of 256 numbers" in explained.rule
        for drawn in (0, 51, 52, 128, 204, 205, 254, 255):
            one = hu.explain(x, "f8E4M3FN", rounding="stochastic", random=np.uint8(drawn), profile=profile)
            assert one.result is not None
            assert one.result.code == whole.bits[drawn]
            assert one.rule.endswith("away from zero" if away[drawn] else "toward zero")


def test_rules_by_hand() -> None:
    """16 f is 1/2 for 1 + 1/256, 3/2 for 1 + 3/256, and 32/3 for 13/12."""
    for rule, counts in {
        "less": (1, 2, 11),
        "p3109_a": (0, 1, 10),
        "p3109_b": (1, 2, 11),
        "p3109_c": (0, 2, 11),
    }.items():
        profile = hu.Profile(stochastic=rule)
        numbers = (Fraction(257, 256), Fraction(259, 256), Fraction(13, 12))
        found = [hu.explain(x, "f8E4M3FN", rounding="stochastic", bits=4, profile=profile) for x in numbers]
        assert [each.probability * 16 for each in found] == list(counts), rule
    words = hu.explain(
        Fraction(13, 12), "f8E4M3FN", rounding="SR", random=5, bits=4, profile="spec,stochastic=p3109_a"
    ).rule
    assert words == "floor(0.666666666666... * 2^4) + 5 = 15 is less than 2^4: toward zero"
    inverted = "spec,stochastic=p3109_b,stochastic_bits=complement"
    words = hu.explain(Fraction(13, 12), "f8E4M3FN", rounding="SR", random=5, bits=4, profile=inverted).rule
    assert words == "floor(0.666666666666... * 2^4 + 1/2) + (2^4 - 1 - 5) = 21 is at least 2^4: away from zero"
    words = hu.explain(Fraction(13, 12), "f8E4M3FN", rounding="SR", profile=inverted).rule
    assert words.startswith(
        "away from zero if 0.666666666666... plus (1 minus the random number from 0 to 1) is at least"
    )


@pytest.mark.parametrize("profile", ["ocp-saturate", "mlir22-fold"])
def test_profiles(profile: str) -> None:
    for x in (0.3, 465.0, 1000.0):
        for drawn in (0, 255):
            found = hu.convert(x, "f8E4M3FN", rounding="stochastic", random=np.array(drawn, np.uint8), profile=profile)
            explained = hu.explain(x, "f8E4M3FN", rounding="stochastic", profile=profile, random=np.uint8(drawn))
            assert explained.result is not None
            assert explained.result.code == code_of(found)


def test_a_profile_with_several_roundings() -> None:
    with pytest.raises(hu.Unsupported, match="several times"):
        hu.explain(1 / 3, "f8E4M3FN", rounding="stochastic", profile="ml_dtypes")


@each_row(
    ({"random": 5}, "without a width"),
    ({"random": 256, "bits": 8}, "0 to 255"),
    ({"random": -1, "bits": 8}, "0 to 255"),
    ({"random": 0.5, "bits": 8}, "unsigned integer"),
    ({"random": np.int8(5)}, "unsigned integer"),
    ({"bits": 0}, "1 to 64"),
    ({"bits": 65}, "1 to 64"),
)
def test_wrong_random_bits(how: dict[str, Any], words: str) -> None:
    with pytest.raises(hu.errors.InputError, match=words):
        hu.explain(0.3, "f8E4M3FN", rounding="stochastic", **how)


def test_random_bits_of_another_rounding() -> None:
    for call in (
        lambda: hu.explain(0.3, "f8E4M3FN", random=np.uint8(5)),
        lambda: hu.explain_op("arith.addf", 1, 2, type="f16", bits=8),
    ):
        with pytest.raises(hu.errors.InputError, match="stochastic"):
            call()
    with pytest.raises(hu.Unsupported, match="has no stochastic rounding"):
        hu.explain_op("arith.remf", 1, 2, type="f16", rounding="stochastic")
