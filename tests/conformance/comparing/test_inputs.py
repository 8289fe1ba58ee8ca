"""The operands of cases, and their coverage."""

from fractions import Fraction

import numpy as np
import pytest

from halfulp.conformance.comparing.inputs import (
    FLOAT_CLASSES,
    INTEGER_CLASSES,
    corner_codes,
    covered,
    digest,
    every_input,
    exact_value,
    inputs_for,
    is_exhaustive,
    operand_classes,
    sampled_inputs,
    tie,
)
from halfulp.conformance.comparing.op_case import op_case
from halfulp.fp_formats import scalar
from halfulp.fp_formats.formats import FORMATS
from halfulp.interp.ir.types import FloatType
from halfulp.interp.values.coerce import as_type


def test_small_spaces_are_enumerated() -> None:
    asked = op_case("arith.scaling_extf", ["f4E2M1FN", "f8E8M0FNU"], "bf16")
    assert is_exhaustive(asked)
    first, second = every_input(asked)
    assert len({*zip(first.tolist(), second.tolist(), strict=True)}) == len(first) == 1 << 12
    assert not is_exhaustive(op_case("arith.addf", "f16"))
    assert not is_exhaustive(op_case("quant.qcast", "f16", "!quant.uniform<i8:f16:0, {0.5, 0.25}>"))


@pytest.mark.parametrize("op", ["addf", "remf"])
@pytest.mark.parametrize("name", list(FORMATS))
def test_samples_meet_every_combination_of_classes(name: str, op: str) -> None:
    asked = op_case(f"arith.{op}", name)
    found = covered(asked, sampled_inputs(asked, 100))
    assert found.percent == 100.0


@pytest.mark.parametrize("width", [1, 2, 3, 8, 64, 65, 128])
def test_integer_samples_meet_every_combination_of_classes(width: int) -> None:
    asked = op_case("arith.addi", f"i{width}")
    assert covered(asked, sampled_inputs(asked, 100)).percent == 100.0


@pytest.mark.parametrize("name", ["f16", "f80"])
def test_what_was_not_answered_is_not_covered(name: str) -> None:
    asked = op_case("arith.addf", name)
    inputs = sampled_inputs(asked, 400)
    answered = np.arange(400) % 7 == 0
    found = covered(asked, inputs, True, answered)
    alone = covered(asked, [codes[answered] for codes in inputs], True)
    assert (found.combinations, found.outcomes) == (alone.combinations, alone.outcomes)
    assert (found.exhaustive, alone.exhaustive) == (False, True)
    nothing = covered(asked, inputs, True, np.zeros(400, np.bool_))
    assert (nothing.percent, +nothing.outcomes) == (0.0, {})


def test_large_spaces_come_in_chunks() -> None:
    chunks = list(inputs_for(op_case("arith.addf", "f8E4M3FN"), 0))
    assert [len(first) for first, _ in chunks] == [1 << 16]
    chunks = list(inputs_for(op_case("arith.truncf", "tf32", "f16"), 0))
    assert [len(codes) for (codes,) in chunks] == [1 << 19]
    sampled = list(inputs_for(op_case("arith.negf", "f32"), (1 << 19) + 5))
    assert [len(codes) for (codes,) in sampled] == [1 << 19, 5]


def test_samples_are_reproducible() -> None:
    asked = op_case("arith.truncf", "f32", "f8E4M3FN")
    assert digest(sampled_inputs(asked, 300, 1)) == digest(sampled_inputs(asked, 300, 1))
    assert digest(sampled_inputs(asked, 300, 1)) != digest(sampled_inputs(asked, 300, 2))
    assert [codes.shape for (codes,) in inputs_for(asked, 300)] == [(300,)]


def test_quantised_operands_have_a_shape_their_type_can_have() -> None:
    asked = op_case("quant.qcast", "f32", "!quant.uniform<i8:f32:{0:1, 1:128}, {{0.5:3, 0.25}, {1.0:-7, 3.0}}>")
    assert [codes.shape for codes in sampled_inputs(asked, 100)] == [(2, 256)]
    along = op_case("quant.qcast", "f32", "!quant.uniform<i8:f32:1, {0.5:3, 0.25, 1.0}>")
    assert [codes.shape for codes in sampled_inputs(along, 100)] == [(33, 3)]


def test_conversions_are_asked_ties() -> None:
    # 464 lies midway between 448 and what would be 480; 465 is above it.
    codes = corner_codes(as_type("f32"), op_case("arith.truncf", "f32", "f8E4M3FN"))
    smallest_tie = np.array([2.0**-10], np.float32).view(np.uint32)[0]
    assert int(smallest_tie) in codes
    outcomes = covered(op_case("arith.truncf", "f32", "f8E4M3FN"), (np.array(codes, np.uint32),)).outcomes
    assert all(
        outcomes[name] for name in ("exact", "inexact", "tie up", "tie down", "overflow", "underflow", "invalid")
    )


# f8E4M3FN by hand: 0x00 zero, 0x07 the largest subnormal, 0x08 the smallest normal, 0x7E the largest value, 0x7F NaN.
@pytest.mark.parametrize(
    ("type_", "code", "name"),
    [
        ("f8E4M3FN", 0x80, "zero"),
        ("f8E4M3FN", 0x07, "subnormal"),
        ("f8E4M3FN", 0x88, "normal"),
        ("f8E4M3FN", 0xFE, "max"),
        ("f8E4M3FN", 0x7F, "quiet NaN"),
        ("f8E5M2", 0xFC, "infinity"),
        ("f8E5M2", 0x7D, "signalling NaN"),
        ("f8E8M0FNU", 0x00, "normal"),
        ("f8E8M0FNU", 0xFF, "quiet NaN"),
        ("f4E2M1FN", 0x1, "subnormal"),
        ("f32", 0x7F7FFFFF, "max"),
        ("f32", 0x007FFFFF, "subnormal"),
        ("f32", 0x7F800001, "signalling NaN"),
    ],
)  # fmt: skip
def test_float_classes(type_: str, code: int, name: str) -> None:
    format_ = as_type(type_)
    assert isinstance(format_, FloatType)
    codes = np.array([code], format_.format.storage_dtype)
    assert FLOAT_CLASSES[int(operand_classes(format_, codes)[0])] == name


@pytest.mark.parametrize(
    ("code", "name"),
    [(0, "0"), (1, "1"), (0xFF, "-1"), (0x80, "signed min"), (0x7F, "signed max"), (9, "positive"), (0x90, "negative")],
)
def test_integer_classes(code: int, name: str) -> None:
    assert INTEGER_CLASSES[int(operand_classes(as_type("i8"), np.array([code], np.uint8))[0])] == name


def test_exact_values() -> None:
    assert exact_value(op_case("arith.divf", "f8E4M3FN"), (0x38, 0x44)) == Fraction(1, 3)
    assert exact_value(op_case("arith.remf", "f32"), (0xC0E00000, 0x40800000)) == -3  # -7 rem 4
    assert exact_value(op_case("arith.divf", "f8E4M3FN"), (0x38, 0x00)) is None
    assert exact_value(op_case("arith.sitofp", "i8", "f32"), (0xFF,)) == -1
    assert exact_value(op_case("arith.uitofp", "i8", "f32"), (0xFF,)) == 255
    assert exact_value(op_case("arith.addf", "f8E4M3FN"), (0x7F, 0x38)) is None


@pytest.mark.parametrize(
    ("number", "side"), [(Fraction(17, 16), -1), (Fraction(19, 16), 1), (Fraction(9, 8), 0), (Fraction(18, 17), 0)]
)
def test_ties(number: Fraction, side: int) -> None:
    # Neighbours of 1 in f8E4M3FN lie 1/8 apart: 17/16 goes down to 1, whose significand is even, 19/16 up to 10/8.
    fmt = FORMATS["f8E4M3FN"]
    assert tie(fmt, number, scalar.from_fraction(fmt, number).code) == side
    assert tie(fmt, -number, scalar.from_fraction(fmt, -number).code) == side
