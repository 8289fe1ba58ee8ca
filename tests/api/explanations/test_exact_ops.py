"""Explanations of the exact ops of math: the words beside the results of `hu.eval`."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import pytest

import halfulp as hu
from halfulp.explanations.float_explainers import EXACT_OPS
from halfulp.explanations.op import OpExplanation
from halfulp.fp_formats import scalar
from halfulp.fp_formats.formats import FORMATS

FLOATS = ("-2.5", "-0.5", "-0", "0", "0.5", "1", "1.5", "3.5", "448", "nan")
INTEGERS = ("-128", "-3", "-1", "0", "1", "2", "7")
F8 = FORMATS["f8E4M3FN"]


def explained(op: str, *operands: str, type_: str) -> OpExplanation:
    found = hu.explain_op(op, *operands, type=type_)
    assert isinstance(found, OpExplanation)
    return found


def value_of(found: OpExplanation) -> Fraction | None:
    assert found.result is not None
    return scalar.value(F8, found.result)


@pytest.mark.parametrize("op", [f"math.{name}" for name in ("ceil", "floor", "round", "roundeven", "trunc", "absf")])
def test_the_exact_value_is_the_result(op: str) -> None:
    for operand in FLOATS:
        found = explained(op, operand, type_="f8E4M3FN")
        assert found.exact == value_of(found), (op, operand)
        assert found.rule


@pytest.mark.parametrize(
    ("op", "words"),
    [
        ("ceil", "toward +infinity: 3"),
        ("floor", "toward -infinity: 2"),
        ("round", "to nearest, ties away from zero: 3"),
        ("roundeven", "to nearest, ties to even: 2"),
        ("trunc", "toward zero: 2"),
    ],
)
def test_directions(op: str, words: str) -> None:
    assert explained(f"math.{op}", "2.5", type_="f32").rule == words
    assert explained(op, "2", type_="f32").rule == "2 is an integer"
    assert "with the sign of the operand" in explained(op, "-0", type_="f32").rule


def test_an_integer_beyond_the_format_overflows() -> None:
    found = explained("math.ceil", "7.5", type_="f6E2M3FN")
    assert found.rule.startswith("beyond the largest finite value 7.5; it would round to 8 or more")
    assert found.rounding is not None
    assert found.rounding.exact == 8


@pytest.mark.parametrize("op", ["isnan", "isinf", "isfinite", "isnormal"])
def test_classes(op: str) -> None:
    for operand in ("0", "-1", "inf", "nan", "1e-40"):
        found = explained(op, operand, type_="f32")
        assert found.rule.endswith(": true" if found.result else ": false")


def test_fma_is_one_rounding() -> None:
    found = explained("math.fma", "1.5", "1.25", "-1.75", type_="f8E4M3FN")
    assert found.rounding is not None
    assert found.rounding.exact == Fraction(1, 8)
    for a, b, c in product(("-0.5", "-0", "0", "448"), ("-2.5", "1"), ("-0.5", "-0", "0", "1")):
        found = explained("fma", a, b, c, type_="f8E4M3FN")
        rounding = found.rounding
        assert rounding is not None
        if rounding.exact is not None and found.result is not None:
            assert found.result == scalar.from_fraction(F8, rounding.exact).code or not rounding.exact
            zero = ("-0" if found.result >> 7 else "+0") if not rounding.exact else ""
            assert found.rule.endswith(zero)
    assert "zero times infinity" in explained("fma", "0", "inf", "1", type_="f32").rule
    assert "infinities of different signs" in explained("fma", "1", "inf", "-inf", type_="f32").rule


def test_copysign_and_clamp() -> None:
    assert explained("math.copysign", "3", "-0", type_="f32").rule == "the magnitude of 3 with the negative sign of -0"
    assert "the larger of that and min, 0" in explained("math.clampf", "-3", "0", "1", type_="f32").rule
    assert explained("math.clampf", "-3", "0", "1", type_="f32").result == 0


def test_integers() -> None:
    for op, operand in product(("absi", "ctlz", "cttz", "ctpop"), INTEGERS):
        found = explained(f"math.{op}", operand, type_="i8")
        assert found.result is not None
        if op != "absi":
            assert found.rule.startswith(f"{found.result} ")
        else:
            assert found.exact == found.result - (256 if found.result > 127 else 0)
    assert explained("math.ipowi", "3", "5", type_="i8").rule == "3 to the power 5, modulo 2^8"
    assert explained("math.ipowi", "0", "-1", type_="i8").undefined


def test_each_exact_op_is_explained() -> None:
    assert len(EXACT_OPS) == 5 + 4 + 4 + 5
