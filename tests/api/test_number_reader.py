"""The reader of numbers: each spelling of a number gives the same bits wherever a user can write it."""

import decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from amounts import thinned
from command import Command
from tables import each_row

import halfulp as hu
from halfulp.fp_formats.formats import FORMATS
from halfulp.fp_formats.numbers import (
    MOST_DIGITS,
    code_of_text,
    exact_number,
    fraction_of,
    is_too_large,
    round_to_format,
)

FORMATS_TRIED = ("f4E2M1FN", "f8E4M3FN", "f8E5M2", "bf16", "f16", "f32", "f64", "f80", "f128")
SPELLINGS = [
    "0.1", "-0.1", "+.5", "5.", "1E3", "2.5e-324", "1e-40", "-0", "-0.0", "3", "-3", "1/3", "-2 / 3", "0x1.8p-3",
    "-0X.8P1", "0x1.999999999999999999999999999ap-4", "123456789012345678901234567890", "0." + "1" * 5000, "inf",
    "-inf", "infinity", "-Infinity", "nan",
]  # fmt: skip
"""Untyped text."""


def code(value: hu.Value) -> int:
    words = value.bits.ravel().tolist()
    return sum(int(word) << 64 * k for k, word in enumerate(words))


@pytest.mark.parametrize("text", thinned(SPELLINGS, 4), ids=lambda text: text[:20])
@pytest.mark.parametrize("name", FORMATS_TRIED)
def test_each_entry_point_reads_the_same_bits(name: str, text: str) -> None:
    fmt = FORMATS[name]
    result = round_to_format(fmt, exact_number(text))
    if result.poison:  # a NaN in f4E2M1FN
        assert hu.convert(text, name).poisoned
        assert hu.explain(text, name).result.code is None
        return
    assert code(hu.convert(text, name)) == result.code
    assert code(hu.convert([text], name)) == result.code
    assert hu.explain(text, name).result.code == result.code
    assert hu.explain([text, "1"], name)[0].result.code == result.code
    (operand,) = hu.explain_op("arith.negf", text, type=name).operands
    assert operand.code == result.code
    negated = hu.eval("arith.negf", text, type=name)
    assert hu.explain_op("arith.negf", text, type=name).result == code(negated)


def test_a_decimal_of_f128_is_exact_unless_it_is_a_literal_of_mlir(capsys: pytest.CaptureFixture[str]) -> None:
    command = Command(capsys)
    exactly = 0x3FFB999999999999999999999999999A
    through_f64 = 0x3FFB999999999999A000000000000000
    assert hu.explain("0.1", "f128").result.code == exactly
    assert code(hu.convert("0.1", "f128")) == exactly
    assert command("explain", "0.1", "f128")[1].count(f"0x{exactly:X}") >= 1
    assert hu.explain("0.1 : f128").result.code == through_f64
    assert hu.explain("f128=0.1").result.code == through_f64
    assert hu.explain_op("arith.negf", "f128=0.1").operands[0].code == through_f64
    module = "func.func @f() -> f128 { %0 = arith.constant 0.1 : f128 return %0 : f128 }"
    assert code(hu.run(module)[0]) == through_f64
    assert command("eval", "arith.negf", "--input=f128=0.1")[1].strip().endswith("f128=-0.1")


@each_row(
    (decimal.Decimal("0.1"), Fraction(1, 10)),
    (Fraction(1, 3), Fraction(1, 3)),
    (7, Fraction(7)),
    (0.1, Fraction(0.1)),
    (np.float32(0.1), Fraction(float(np.float32(0.1)))),
    (np.int8(-3), Fraction(-3)),
    (ml_dtypes.bfloat16(0.1), Fraction(float(ml_dtypes.bfloat16(0.1)))),
)
def test_numbers_that_are_no_text(given: Any, exact: Fraction) -> None:
    assert fraction_of(exact_number(given)) == exact
    for name in ("f8E5M2", "bf16", "f64", "f128"):
        expected = round_to_format(FORMATS[name], exact_number(exact)).code
        assert code(hu.convert(given, name)) == expected
        assert hu.explain(given, name).result.code == expected


def test_rows_of_operands_are_read_so_too(tmp_path: Path) -> None:
    rows = tmp_path / "rows.txt"
    texts = ["0.1", "1/3", "0x1.8p-3", "-Infinity", "0x3F80_0000"]
    rows.write_text("\n".join(texts))
    made = hu.vectors("arith.negf", type="f32", operands=f"{rows}:round")
    got = [code(vector.operands[0]) for vector in made]
    assert got == [0x3F800000 if "_" in text else code(hu.convert(text, "f32")) for text in texts]


def test_the_bits_of_text() -> None:
    assert [code_of_text(text) for text in ("0x7F", "0X3f80_0000", "0x", "0x_", "7F", "-0x7F", "0x1p3")] == [
        0x7F, 0x3F800000, None, None, None, None, None
    ]  # fmt: skip


@pytest.mark.parametrize("text", ["1e999999999", "-1e-999999999", "0x1p200000", "1e40000"])
def test_a_number_beyond_all_formats_has_no_explanation(text: str) -> None:
    assert is_too_large(exact_number(text))
    with pytest.raises(hu.errors.InputError, match="the exponent of .* is too large"):
        hu.explain(text, "f32")


def test_the_longest_text() -> None:
    assert hu.explain("1" * 5000, "f32").result.code == 0x7F800000
    for read in (hu.explain, hu.convert):
        with pytest.raises(
            (hu.errors.InputError, hu.TypeMismatch), match=f"a number of {MOST_DIGITS + 1} characters is too long"
        ):
            read("1" * (MOST_DIGITS + 1), "f32")


@pytest.mark.parametrize("literal", [False, True])
def test_a_literal_rounds_to_f64_first(literal: bool) -> None:
    tie = "1.00390625000000000000000001"  # above the middle between two numbers of bf16
    number = exact_number(tie, literal=literal)
    assert round_to_format(FORMATS["bf16"], number).code == (0x3F80 if literal else 0x3F81)
