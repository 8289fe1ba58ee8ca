"""halfulp.requantize: integers to narrower integers in programs, by every way of running."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import halfulp as hu
from halfulp.semantics.requantization import RULES, Target, requantized

RNG = np.random.default_rng(7)


def _program(rule: str, attributes: str = "", kind: str = "", x: str = "i32", to: str = "i8") -> str:
    def of(element: str, kind: str = kind) -> str:
        return f"{kind}{element}>" if kind else element

    return f"""
    func.func @main(%x: {of(x)}, %m: i32, %s: i8) -> {of(to)} {{
      %r = halfulp.requantize %x, %m, %s {{rule = "{rule}"{attributes}}} : {of(x)}, i32, i8 to {of(to)}
      return %r : {of(to)}
    }}"""


def _rounded(number: Fraction, away: bool) -> int:
    """Round to nearest, ties away from zero or upward."""
    if away and number < 0:
        return -_rounded(-number, away)
    return (number + Fraction(1, 2)).__floor__()


@pytest.mark.parametrize("how", ["text", "generic", "bytecode"])
def test_by_exact_arithmetic(how: str) -> None:
    # One rounding, ties upward (TOSA), then the zero point and the clamp to i8.
    attributes = ", input_zero_point = 3 : i64, output_zero_point = -5 : i64"
    module = hu.load(_program("tosa", attributes, "tensor<4x?x"))
    if how != "text":
        module = hu.load(hu.write_bytecode(module) if how == "bytecode" else hu.print_module(module, generic=True))
    assert "halfulp.requantize %arg0, %arg1, %arg2 {input_zero_point = 3 : i64" in hu.print_module(module)
    x = RNG.integers(-(1 << 20), 1 << 20, (4, 9)).astype(np.int32)
    multiplier, shift = 1288490189, 44
    (found,) = hu.run(module, x, multiplier, shift)
    for number, code in zip(x.flat, found.bits.flat, strict=True):
        scaled = _rounded(Fraction((int(number) - 3) * multiplier, 1 << shift), away=False)
        assert np.uint8(code).view(np.int8) == max(-128, min(127, scaled - 5))


def test_two_roundings_of_gemmlowp() -> None:
    # SaturatingRoundingDoublingHighMul rounds ties upward, RoundingDivideByPOT ties away from zero.
    x = RNG.integers(-(1 << 20), 1 << 20, 50).astype(np.int32)
    multiplier, shift = 1717986918, -12
    (found,) = hu.run(_program("gemmlowp", kind="vector<50x", to="i16"), x, multiplier, shift)
    for number, code in zip(x.tolist(), found.bits.view(np.int16).tolist(), strict=True):
        product = _rounded(Fraction(number * multiplier, 1 << 31), away=False)
        assert code == _rounded(Fraction(product, 1 << 12), away=True)


def test_unsigned_and_a_multiplier_for_each_element() -> None:
    text = """
    func.func @main(%x: tensor<3xi32>, %m: tensor<3xi32>, %s: tensor<3xi8>) -> tensor<3xi8> {
      %r = halfulp.requantize %x, %m, %s {rule = "tosa", output_zero_point = 128, unsigned}
        : tensor<3xi32>, tensor<3xi32>, tensor<3xi8> to tensor<3xi8>
      return %r : tensor<3xi8>
    }""".replace("128,", "128 : i64,")
    given = (
        np.array([100, -7, 5000], np.int32),
        np.array([1 << 30, 3 << 29, 1 << 30], np.int32),
        np.array([30, 31, 30], np.int8),
    )
    (found,) = hu.run(text, *given)
    assert found.bits.tolist() == [228, 128 - 5, 255]  # -7 * 3/4 = -5.25


CHANNELS = """
#whole = affine_map<(i, j) -> (i, j)>
#channel = affine_map<(i, j) -> (j)>
func.func @main(%x: tensor<50x3xi32>, %m: tensor<3xi32>, %s: tensor<3xi8>, %o: tensor<50x3xi8>) -> tensor<50x3xi8> {
  %r = linalg.generic {indexing_maps = [#whole, #channel, #channel, #whole], iterator_types = ["parallel", "parallel"]}
      ins(%x, %m, %s : tensor<50x3xi32>, tensor<3xi32>, tensor<3xi8>) outs(%o : tensor<50x3xi8>) {
  ^bb0(%a: i32, %b: i32, %c: i8, %d: i8):
    %q = halfulp.requantize %a, %b, %c {rule = "cmsis-nn"} : i32, i32, i8 to i8
    linalg.yield %q : i8
  } -> tensor<50x3xi8>
  return %r : tensor<50x3xi8>
}
"""


def test_channels_in_the_body_of_a_structured_op() -> None:
    x = RNG.integers(-(1 << 16), 1 << 16, (50, 3)).astype(np.int32)
    multipliers, shifts = zip(*[hu.quant.multiplier(scale) for scale in (0.0012, 0.0007, 0.002)], strict=True)
    (found,) = hu.run(
        CHANNELS, x, np.array(multipliers, np.int32), np.array(shifts, np.int8), np.zeros((50, 3), np.int8)
    )
    assert found == hu.quant.requantize(x, multipliers, shifts, "cmsis-nn", axis=1)


@pytest.mark.parametrize("rule", RULES)
def test_machine_code_gives_the_same(rule: str) -> None:
    lanes = 1 << 16
    row = RULES[rule]

    def drawn(least: int, most: int) -> Any:
        edges = np.array([each for each in (least, least + 1, -1, 0, 1, most - 1, most) if least <= each <= most])
        wide = RNG.integers(least, most, lanes, endpoint=True) >> RNG.integers(0, 30, lanes)
        return np.where(RNG.random(lanes) < 0.1, RNG.choice(edges, lanes), np.clip(wide, least, most))

    width = 48 if rule == "tosa-16" else 32
    x, m, s = drawn(*row.inputs), drawn(*row.multipliers), drawn(*row.shifts)
    text = f"""
    func.func @main(%x: i48, %m: i32, %s: i8) -> i12 {{
      %t = arith.trunci %x : i48 to i{width}
      %r = halfulp.requantize %t, %m, %s {{rule = "{rule}", output_zero_point = 9 : i64}} : i{width}, i32, i8 to i12
      return %r : i12
    }}""".replace("arith.trunci %x : i48 to i48", "arith.addi %x, %x : i48")
    double = 2 if width == 48 else 1
    x = x // double
    codes = hu.Value.from_bits((x & (1 << 48) - 1).astype(np.uint64), "i48")
    (found,) = hu.run(text, codes, m.astype(np.int32), s.astype(np.int8), batch=True, on_ub="poison")
    expected, wrong = requantized(row, x * double, m, s, Target(12, output_zero_point=9))
    undefined = np.logical_or.reduce(wrong)
    assert np.array_equal(found.poisoned, undefined)
    assert 0 < undefined.sum() < lanes or rule == "cmsis-nn-single"
    assert np.array_equal(found.bits[~undefined], (expected[~undefined] & 0xFFF).astype(np.uint16))


ERRORS = {
    '{rule = "gemmlop"} : i32, i32, i8 to i8': r"rule is 'gemmlop', but must be one of .*did you mean `gemmlowp`",
    '{rule = "tosa"} : i64, i32, i8 to i8': "takes integers of 1 to 48 bits, but the input has 'i64'",
    '{rule = "tosa"} : i32, i32, i8 to i33': "makes integers of 1 to 32 bits",
    '{rule = "tosa"} : tensor<3xi32>, tensor<2xi32>, i8 to tensor<3xi8>': "the same shape",
    '{rule = "tosa"} : i32, tensor<2xi32>, i8 to i8': "non-scalar",
    '{rule = "tosa"} : tensor<3xi32>, i32, i8 to tensor<4xi8>': "same shape",
    '{rule = "tosa", input_zero_point = 4294967296 : i64} : i32, i32, i8 to i8': "must be a number of i32",
    "{} : i32, i32, i8 to i8": "requires attribute 'rule'",
}


@pytest.mark.parametrize("rest", ERRORS)
def test_errors(rest: str) -> None:
    given, result = rest.split(" : ")[-1].split(" to ")
    x, m, s = given.split(", ")
    with pytest.raises(hu.VerifyError, match=ERRORS[rest]):
        hu.load(f"""func.func @main(%x: {x}, %m: {m}, %s: {s}) -> {result} {{
          %r = halfulp.requantize %x, %m, %s {rest}
          return %r : {result}
        }}""")


def test_undefined_behaviour_names_the_element() -> None:
    module = hu.load(_program("tosa", kind="tensor<3x"))
    with pytest.raises(hu.UndefinedBehavior, match=r"shift must lie in 2\.\.62.*shift = 1") as raised:
        hu.run(module, np.array([1, 2, 3], np.int32), 1 << 30, 1)
    assert "element [0]" in str(raised.value)
