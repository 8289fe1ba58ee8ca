"""Explanations of stochastic rounding against `hu.convert` and `hu.eval` on all random bits."""

from __future__ import annotations

import json
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import halfulp as hu
from halfulp.explanations.rounding import StochasticExplanation, discarded_fraction
from halfulp.fp_formats import scalar
from halfulp.fp_formats.formats import FORMATS

NUMBERS = (0.3, -0.3, 0.1, 1.0, 0.0, -0.0, 465.0, -1000.0, 1e-5, 2.0**-10, 447.0, 449.0, np.inf, np.nan)


def code_of(value: Any) -> int | None:
    return None if value.poisoned.any() else int(value.bits)


@pytest.mark.parametrize("name", ["f8E4M3FN", "f8E5M2", "f4E2M1FN", "f8E8M0FNU", "f8E4M3FNUZ", "f16"])
def test_every_random_byte(name: str) -> None:
    """The result of each byte is that of `hu.convert`, and the probability counts these bytes."""
    for x in NUMBERS:
        whole = hu.convert(np.full(256, x), name, rounding="stochastic", random=np.arange(256, dtype=np.uint8))
        explained = hu.explain(x, name, rounding="stochastic", bits=8)
        away = 0
        for random in (0, 1, 5, 76, 77, 128, 153, 154, 200, 254, 255):
            one = hu.explain(x, name, rounding="stochastic", random=np.uint8(random))
            assert one.result is not None
            expected = None if whole.poisoned[random] else int(whole.bits[random])
            assert one.result.code == expected, (name, x, random)
            assert one.probability == explained.probability
        codes = [None if lost else int(code) for code, lost in zip(whole.bits, whole.poisoned, strict=True)]
        if explained.toward != explained.away:
            away = codes.count(explained.away.code)
            assert explained.probability == Fraction(away, 256)
            assert codes.count(explained.toward.code) == 256 - away
        else:
            assert set(codes) == {explained.toward.code}


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


@pytest.mark.parametrize("op", ["arith.addf", "arith.subf", "arith.mulf", "arith.divf"])
def test_ops(op: str) -> None:
    for x, y in ((1.4, 2.2), (0.1, 0.3), (440, 30), (1, 3), (0, 0), (-1.5, 0.375)):
        operands = [hu.convert(z, "f8E4M3FN") for z in (x, y)]
        for random in (0, 77, 128, 255):
            bits = np.array(random, np.uint8)
            found = hu.eval(op, *operands, rounding="stochastic", random=bits)
            explained = hu.explain_op(op, x, y, type="f8E4M3FN", rounding="stochastic", random=bits)
            assert explained.result is not None
            assert explained.result.code == code_of(found), (op, x, y, random)


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
@pytest.mark.parametrize("rule", ["less", "p3109_a", "p3109_b", "p3109_c"])
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
        for random in (0, 51, 52, 128, 204, 205, 254, 255):
            one = hu.explain(x, "f8E4M3FN", rounding="stochastic", random=np.uint8(random), profile=profile)
            assert one.result is not None
            assert one.result.code == whole.bits[random]
            assert one.rule.endswith("away from zero" if away[random] else "toward zero")


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
        for random in (0, 255):
            found = hu.convert(x, "f8E4M3FN", rounding="stochastic", random=np.array(random, np.uint8), profile=profile)
            explained = hu.explain(x, "f8E4M3FN", rounding="stochastic", profile=profile, random=np.uint8(random))
            assert explained.result is not None
            assert explained.result.code == code_of(found)


def test_a_profile_with_several_roundings() -> None:
    with pytest.raises(hu.Unsupported, match="several roundings"):
        hu.explain(1 / 3, "f8E4M3FN", rounding="stochastic", profile="ml_dtypes")


@pytest.mark.parametrize(
    ("how", "words"),
    [
        ({"random": 5}, "without a width"),
        ({"random": 256, "bits": 8}, "0 to 255"),
        ({"random": -1, "bits": 8}, "0 to 255"),
        ({"random": 0.5, "bits": 8}, "unsigned integer"),
        ({"random": np.int8(5)}, "unsigned integer"),
        ({"bits": 0}, "1 to 64"),
        ({"bits": 65}, "1 to 64"),
    ],
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
