"""The total error of an op against the exact function of its operands as typed."""

from __future__ import annotations

import operator
from decimal import Decimal
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import halfulp as hu
from halfulp.fp_formats.formats import FORMATS
from halfulp.fp_formats.neighbours import ulp_at

FUNCTIONS: dict[str, Any] = {
    "arith.addf": operator.add,
    "arith.subf": operator.sub,
    "arith.mulf": operator.mul,
    "arith.divf": operator.truediv,
}


def test_a_tenth_and_a_fifth() -> None:
    """By hand: 0.1 -> 13/128 and 0.2 -> 13/64 in f8E4M3FN; their sum 39/128 -> 5/16; an ulp at 0.3 is 1/32."""
    explanation = hu.explain_op("arith.addf", "0.1", "0.2", type="f8E4M3FN")
    total = explanation.total
    assert total is not None
    assert total.real == Fraction(3, 10)
    assert total.error == Fraction(5, 16) - Fraction(3, 10)
    assert total.in_ulp == Fraction(2, 5)
    assert total.relative == Fraction(1, 24)
    assert total.parts == (
        ("the op itself", Fraction(1, 128)),
        ("rounding lhs", Fraction(13, 128) - Fraction(1, 10)),
        ("rounding rhs", Fraction(13, 64) - Fraction(1, 5)),
    )
    text = str(explanation)
    assert "total     +0.4 ulp against 0.3, as given; an ulp is 0.03125 there" in text
    assert "+0.25 ulp by the op itself; +0.05 ulp by rounding lhs; +0.1 ulp by rounding rhs" in text
    assert "+0.4 ulp against 0.3, as given" in explanation._repr_html_()


@given(
    st.sampled_from(list(FUNCTIONS)),
    st.decimals(-100, 100, places=3),
    st.decimals(-100, 100, places=3),
    st.sampled_from(["f8E4M3FN", "f16", "bf16", "f32"]),
)
def test_the_parts_add_up(op: str, x: Decimal, y: Decimal, name: str) -> None:
    explanation = hu.explain_op(op, str(x), str(y), type=name)
    total = explanation.total
    assert total is not None
    assume(total.real is not None and (op != "arith.divf" or y))
    exact = FUNCTIONS[op](Fraction(x), Fraction(y))
    assert explanation.rounding is not None
    value = explanation.rounding.result.value
    assert value is not None
    assert total.real == exact
    assert total.error == value - exact == sum(part for _, part in total.parts)
    assert total.ulp == ulp_at(FORMATS[name], exact)
    # The op itself rounds the exact function of the operands as the op gets them.
    first, second = (operand.value for operand in explanation.operands)
    assert total.parts[0][1] == value - FUNCTIONS[op](first, second)


def test_what_was_typed() -> None:
    typed = hu.explain_op("arith.addf", 0.1, Fraction(1, 3), type="f16").total
    assert typed is not None
    assert typed.real == Fraction(0.1) + Fraction(1, 3)  # a float is its binary value
    decimals = hu.explain_op("arith.addf", Decimal("0.1"), "1/3", type="f16").total
    assert decimals is not None
    assert decimals.real == Fraction(1, 10) + Fraction(1, 3)
    own = hu.explain_op("arith.truncf", "f32=0.1", to="f16").total
    assert own is not None
    assert own.real == Fraction(1, 10)
    assert [name for name, _ in own.parts] == ["the op itself", "rounding in"]


def test_nothing_is_shown_without_rounded_operands() -> None:
    explanation = hu.explain_op("arith.addf", 1.375, 2.25, type="f8E4M3FN")
    assert explanation.total is not None
    assert not explanation.total.shown
    assert "total" not in str(explanation)


@pytest.mark.parametrize(
    ("op", "operands", "words"),
    [
        ("arith.maximumf", ("0.1", "0.2"), "not rational"),
        ("arith.addf", ("0.1", "inf"), "not a finite number"),
        ("arith.divf", ("0.1", "0"), "not a finite number"),
        ("arith.divf", ("0.1", "1e-9"), "not a finite number"),
    ],
)
def test_where_it_is_not_given(op: str, operands: tuple[str, ...], words: str) -> None:
    explanation = hu.explain_op(op, *operands, type="f8E4M3FN")
    assert explanation.total is not None
    assert explanation.total.real is None
    assert words in explanation.total.reason
    assert "total     error not given: " in str(explanation)
