"""The reader of formulas: precedence, exact numbers, and errors at their places."""

from __future__ import annotations

from fractions import Fraction

import pytest

from halfulp.fp_formats.reals.expressions import Program
from halfulp.fp_formats.reals.formulas import DEEPEST, LONGEST_TEXT, FormulaError, parse

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


def test_long_sums_and_long_numbers_are_read() -> None:
    assert value("+".join(["x"] * 4000)) == 12000
    assert value("9" * 9000) == 10**9000 - 1
