"""TOSA: the forms and rules of MLIR, and the pseudo code of the specification, computed again on Python integers."""

import re
from collections.abc import Callable, Sequence
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tables import each_row

import halfulp as hu
from halfulp.command.main import main
from halfulp.interp.declare.declarations import Schema
from halfulp.interp.text.printer import print_module

# --- text -------------------------------------------------------------------------------------------------------------

_CONST_8 = '%z = "tosa.const"() <{values = dense<0> : tensor<1xi8>}> : () -> tensor<1xi8>'


def _function(line: str, arguments: str) -> str:
    return f"func.func @f({arguments}) {{\n{line}\nreturn\n}}\n"


@each_row(
    (
        "%0 = tosa.argmax %a {axis = 1 : i32, nan_mode = IGNORE} : (tensor<4x8xf32>) -> tensor<4xi32>",
        "%0 = tosa.argmax %arg0 axis(1) nan_mode<IGNORE> : (tensor<4x8xf32>) -> tensor<4xi32>",
        "%a: tensor<4x8xf32>",
    ),
    (
        "%0 = tosa.clamp %a {max_val = 6.000000e+00 : f32, min_val = 0.000000e+00 : f32} : "
        "(tensor<4xf32>) -> tensor<4xf32>",
        "%0 = tosa.clamp %arg0 min_val(0.000000e+00 : f32) max_val(6.000000e+00 : f32) : "
        "(tensor<4xf32>) -> tensor<4xf32>",
        "%a: tensor<4xf32>",
    ),
    (
        _CONST_8.replace("%z", "%0"),
        "%0 = tosa.const  values(dense<0> : tensor<1xi8>) : () -> tensor<1xi8>",
        "",
    ),
    (
        "%output_real, %output_imag = tosa.rfft2d %a : (tensor<1x4x8xf32>) -> (tensor<1x4x5xf32>, tensor<1x4x5xf32>)",
        "%output_real, %output_imag = tosa.rfft2d %arg0  : "
        "(tensor<1x4x8xf32>) -> (tensor<1x4x5xf32>, tensor<1x4x5xf32>)",
        "%a: tensor<1x4x8xf32>",
    ),
)
def test_both_forms_are_read(dictionary: str, clauses: str, arguments: str) -> None:
    # The first lines are those of mlir-opt 22.1.8 and the wheel of 24, the second ones of IREE 3.13's 24.
    module = hu.parse(_function(dictionary, arguments))
    lines = [print_module(module, schema=schema).splitlines()[2].strip() for schema in Schema]
    assert lines == [dictionary.replace("%a ", "%arg0 ")] * 2
    assert print_module(hu.parse(_function(clauses.replace("%arg0", "%a"), arguments))) == print_module(module)


@each_row(
    (
        "%0 = tosa.reduce_sum %a {axis = 2 : i32} : (tensor<2x3xf32>) -> tensor<2x1xf32>",
        "%a: tensor<2x3xf32>",
        "expect input tensor rank (2) to be larger than reduce axis (2)",
    ),
    (
        "%0 = tosa.add %a, %b : (tensor<2x3xf32>, tensor<2x2xf32>) -> tensor<2x3xf32>",
        "%a: tensor<2x3xf32>, %b: tensor<2x2xf32>",
        "operands don't have broadcast-compatible shapes",
    ),
    (
        "%0 = tosa.max_pool2d %a {kernel = array<i64: 2, 2>, pad = array<i64: 0, 0, 0, 0>, stride = array<i64: 2, 2>} "
        ": (tensor<1x5x4x1xf32>) -> tensor<1x2x2x1xf32>",
        "%a: tensor<1x5x4x1xf32>",
        "expected input_height + pad_top + pad_bottom - kernel_y to be wholly divisible by stride_y, got "
        "(5 + 0 + 0 - 2) / 2",
    ),
    (
        "%0 = tosa.reshape %a, %b : (tensor<2x3xf32>, !tosa.shape<1>) -> tensor<6xf32>",
        "%a: tensor<2x3xf32>, %b: !tosa.shape<1>",
        "shape operand is not compile time resolvable",
    ),
    (
        "%0 = tosa.clamp %a {max_val = 1 : i8, min_val = 2 : i8} : (tensor<4xi8>) -> tensor<4xi8>",
        "%a: tensor<4xi8>",
        "expected min_val <= max_val, got min_val=2 : i8, max_val=1 : i8",
    ),
)
def test_the_rules_are_those_of_mlir(line: str, arguments: str, message: str) -> None:
    with pytest.raises(hu.VerifyError) as broken:
        hu.parse(_function(line, arguments))
    assert broken.value.message.partition(" op ")[2] == message


@each_row("{", "{nan_mode", "{nan_mode =", "{nan_mode = PROPAGATE", "{axis = 1 : i32,")
def test_a_text_may_end_in_a_dictionary(end: str) -> None:
    with pytest.raises(hu.ParseError):
        hu.parse(f"func.func @f(%a: tensor<4x8xf32>) {{\n%0 = tosa.argmax %a {end}")


# --- numbers ----------------------------------------------------------------------------------------------------------


def _run(text: str, *arguments: Any, **options: Any) -> list[Any]:
    return [value.numpy() for value in hu.run(hu.parse(text), *arguments, **options)]


def _scaled(value: int, multiplier: int, shift: int, double: bool) -> int:
    """Return apply_scale_32 of the specification."""
    rounding = 1 << shift - 1
    if double and shift > 31:
        rounding += 1 << 30 if value >= 0 else -(1 << 30)
    return value * multiplier + rounding >> shift


def test_choices_keep_marks_and_poison_amounts_are_undefined() -> None:
    # The sign and the payload of the NaN that truncf gives are open, so they are open after the choice.
    text = """func.func @f(%x: tensor<2xf32>, %c: tensor<2xi1>) -> tensor<2xf16> {
  %y = arith.truncf %x : tensor<2xf32> to tensor<2xf16>
  %z = arith.constant dense<1.0> : tensor<2xf16>
  %0 = tosa.select %c, %y, %z : (tensor<2xi1>, tensor<2xf16>, tensor<2xf16>) -> tensor<2xf16>
  return %0 : tensor<2xf16>
}"""
    after = text.replace("tosa.select %c, %y, %z : (tensor<2xi1>, tensor<2xf16>, tensor<2xf16>) -> tensor<2xf16>",
                         "arith.select %c, %y, %z : tensor<2xi1>, tensor<2xf16>")  # fmt: skip
    given = np.array([np.nan, 2.0], np.float32), np.array([True, False])
    (found, other) = (hu.run(hu.parse(each), *given, track_open=True)[0].open for each in (text, after))
    assert found is not None
    assert other is not None
    assert found.tolist() == other.tolist()
    assert (found != 0).tolist() == [True, False]
    # Poison may be any amount, also one that the specification forbids.
    for op in "logical_left_shift", "logical_right_shift", "arithmetic_right_shift":
        shift = f"""func.func @f(%x: tensor<2xi16>) -> tensor<2xi16> {{
  %p = ub.poison : tensor<2xi16>
  %0 = tosa.{op} %x, %p {"{round = true}" if op.startswith("arith") else ""} : (tensor<2xi16>, tensor<2xi16>) -> tensor<2xi16>
  return %0 : tensor<2xi16>
}}"""
        with pytest.raises(hu.UndefinedBehavior, match="0 <= value2"):
            _run(shift, np.ones(2, np.int16))


@pytest.mark.parametrize("name", ["f80", "f128"])
def test_floats_of_more_than_64_bits_have_constants(name: str) -> None:
    text = f"""func.func @f(%x: tensor<3x{name}>) -> (tensor<3x{name}>, tensor<3x{name}>) {{
  %0 = tosa.clamp %x {{min_val = -1.0 : {name}, max_val = 6.0 : {name}}} : (tensor<3x{name}>) -> tensor<3x{name}>
  %1 = tosa.reciprocal %x : (tensor<3x{name}>) -> tensor<3x{name}>
  return %0, %1 : tensor<3x{name}>, tensor<3x{name}>
}}"""
    clamped, inverse = hu.run(hu.parse(text), hu.convert([-2.0, 4.0, 8.0], name))
    assert (clamped.tolist(), inverse.tolist()) == ([-1.0, 4.0, 6.0], [-0.5, 0.25, 0.125])


@pytest.mark.parametrize("double", [False, True])
def test_apply_scale_serves_for_every_product_that_is_shifted(double: bool) -> None:
    # LLVM lowers `mul` with its shift, and multipliers of either sign, to this op; so do its lowerings to arith compute.
    text = """func.func @f(%x: tensor<?xi32>, %m: tensor<?xi32>, %s: tensor<?xi8>) -> tensor<?xi32> {
  %0 = tosa.apply_scale %x, %m, %s {rounding_mode = MODE} : (tensor<?xi32>, tensor<?xi32>, tensor<?xi8>) -> tensor<?xi32>
  return %0 : tensor<?xi32>
}""".replace("MODE", "DOUBLE_ROUND" if double else "SINGLE_ROUND")
    ends = (-(1 << 31), -5, -1, 0, 1, 6, (1 << 31) - 1)
    rows = [(x, m, s) for x in ends for m in ends for s in (0, 1, 2, 31, 32, 33, 62, 63)]
    given = [np.array(numbers) for numbers in zip(*rows, strict=True)]
    (found,) = _run(text, given[0].astype(np.int32), given[1].astype(np.int32), given[2].astype(np.int8))
    exact = [_scaled(x, m, s, double) if s else x * m for x, m, s in rows]
    assert found.tolist() == [(each + (1 << 31)) % (1 << 32) - (1 << 31) for each in exact]
    with pytest.raises(hu.UndefinedBehavior, match="shift <= 63"):
        _run(text, np.ones(1, np.int32), np.ones(1, np.int32), np.full(1, 64, np.int8))


_RESCALE = """
func.func @f(%x: tensor<3x4x{source}>, %m: tensor<4x{factor}>, %s: tensor<4xi8>) -> tensor<3x4x{target}> {{
  %in = "tosa.const"() <{{values = dense<{zero}> : tensor<1x{source}>}}> : () -> tensor<1x{source}>
  %out = "tosa.const"() <{{values = dense<{zero_out}> : tensor<1x{target}>}}> : () -> tensor<1x{target}>
  %0 = tosa.rescale %x, %m, %s, %in, %out {{input_unsigned = {unsigned}, output_unsigned = {unsigned_out},
    per_channel = true, rounding_mode = {mode}, scale32 = {wide}}} :
    (tensor<3x4x{source}>, tensor<4x{factor}>, tensor<4xi8>, tensor<1x{source}>, tensor<1x{target}>) ->
    tensor<3x4x{target}>
  return %0 : tensor<3x4x{target}>
}}
"""


@each_row(
    ("i32", "i8", "i32", 0, -5, False, False, "SINGLE_ROUND"),
    ("i32", "i8", "i32", 0, 7, False, False, "DOUBLE_ROUND"),
    ("i8", "i32", "i32", -3, 0, False, False, "SINGLE_ROUND"),
    ("i8", "i16", "i16", 200, 0, True, False, "SINGLE_ROUND"),
    ("i16", "i8", "i32", 0, 9, False, True, "SINGLE_ROUND"),
    ("i16", "i16", "i16", 0, -32768, False, True, "SINGLE_ROUND"),
)
def test_rescale_is_the_pseudo_code(
    source: str, target: str, factor: str, zero: int, zero_out: int, unsigned: bool, unsigned_out: bool, mode: str
) -> None:
    bits, made, wide = int(source[1:]), int(target[1:]), factor == "i32"
    rng = np.random.default_rng(bits * made)
    low, high = (0, 1 << bits) if unsigned else (-(1 << min(bits, 20) - 1), 1 << min(bits, 20) - 1)
    numbers = rng.integers(low, high, (3, 4))
    multipliers = rng.integers(1 << (29 if wide else 13), 1 << (30 if wide else 14), 4)
    shifts = np.array([35, 31, 38, 33]) if wide else np.array([16, 18, 15, 20])
    text = _RESCALE.format(
        source=source, target=target, factor=factor, zero=zero - (zero >> 7 << 8 if zero > 127 else 0),
        zero_out=zero_out, unsigned=str(unsigned).lower(), unsigned_out=str(unsigned_out).lower(), mode=mode,
        wide=str(wide).lower(),
    )  # fmt: skip
    given = numbers.astype(f"i{bits // 8}"), multipliers.astype(f"i{4 if wide else 2}"), shifts.astype(np.int8)
    (found,) = _run(text, *given)
    ends = (0, (1 << made) - 1) if unsigned_out else (-(1 << made - 1), (1 << made - 1) - 1)
    offset = zero_out & 0xFFFF if unsigned_out and made == 16 else zero_out
    for (row, column), number in np.ndenumerate(numbers):
        result = _scaled(int(number) - zero, int(multipliers[column]), int(shifts[column]), mode == "DOUBLE_ROUND")
        expected = min(max(result + offset, ends[0]), ends[1])
        assert int(found[row, column]) & (1 << made) - 1 == expected & (1 << made) - 1


@each_row((1 << 40) + 12345, -(1 << 47), (1 << 48) - 1)
def test_products_of_more_than_64_bits_are_exact(number: int) -> None:
    text = _RESCALE.format(
        source="i64", target="i32", factor="i32", zero=0, zero_out=0, unsigned="false", unsigned_out="false",
        mode="SINGLE_ROUND", wide="true",
    )  # fmt: skip
    multiplier, shift = (1 << 30) + 7, 52
    given = np.full((3, 4), number), np.full(4, multiplier, np.int32), np.full(4, shift, np.int8)
    (found,) = _run(text, *given)
    assert set(found.reshape(-1).tolist()) == {_scaled(number, multiplier, shift, False)}


def _small(op: str, element: str, count: int, attributes: str = "", result: str = "") -> str:
    names = ", ".join(f"%a{index}" for index in range(count))
    types = ", ".join([f"tensor<?x{element}>"] * count)
    arguments = ", ".join(f"%a{index}: tensor<?x{element}>" for index in range(count))
    made = f"tensor<?x{result or element}>"
    return (
        f"func.func @f({arguments}) -> {made} {{\n%0 = tosa.{op} {names} {attributes} : ({types}) -> {made}\n"
        f"return %0 : {made}\n}}"
    )


_BYTES = [(a, b) for a in range(-128, 128) for b in range(8)]


@each_row(
    ("arithmetic_right_shift", "{round = false}", lambda a, b: a >> b),
    ("arithmetic_right_shift", "{round = true}", lambda a, b: (a >> b) + (b > 0 and a >> b - 1 & 1)),
    ("logical_right_shift", "", lambda a, b: (a & 255) >> b),
    ("logical_left_shift", "", lambda a, b: a << b),
    ("maximum", "", max),
    ("bitwise_xor", "", lambda a, b: a ^ b),
)
def test_ops_on_bytes(op: str, attributes: str, expected: Callable[[int, int], int]) -> None:
    one, other = (np.array(each, np.int8) for each in zip(*_BYTES, strict=True))
    (found,) = _run(_small(op, "i8", 2, attributes), one, other)
    assert [int(each) & 255 for each in found] == [expected(a, b) & 255 for a, b in _BYTES]


@each_row(
    ("add", "i32", 2, "", [2**31 - 1], [1]),
    ("sub", "i32", 2, "", [-(2**31)], [1]),
    ("intdiv", "i32", 2, "", [7], [0]),
    ("abs", "i32", 1, "", [-(2**31)]),
    ("logical_left_shift", "i16", 2, "", [1], [16]),
    ("arithmetic_right_shift", "i32", 2, "{round = true}", [1], [-1]),
    ("pow", "f32", 2, "", [-1.0], [2.0]),
    ("pow", "f32", 2, "", [0.0], [0.0]),
)
def test_what_the_specification_requires(op: str, element: str, count: int, attributes: str, *given: Any) -> None:
    dtype = np.float32 if element == "f32" else f"i{int(element[1:]) // 8}"
    if len(given) > count:
        raise AssertionError(given)
    with pytest.raises(hu.UndefinedBehavior, match="REQUIRE"):
        _run(_small(op, element, count, attributes), *[np.array(each, dtype) for each in given])


def test_products_of_i32_are_shifted_with_rounding() -> None:
    text = """func.func @f(%a: tensor<2x1xi32>, %b: tensor<1x3xi32>, %s: tensor<1xi8>) -> tensor<2x3xi32> {
  %0 = tosa.mul %a, %b, %s : (tensor<2x1xi32>, tensor<1x3xi32>, tensor<1xi8>) -> tensor<2x3xi32>
  return %0 : tensor<2x3xi32>
}"""
    for one, other, shift in (([-46341, 1 << 30], [3, -5, 1 << 20], 21), ([-(1 << 31), 9], [-(1 << 31), -4, 2], 63)):
        numbers = np.array([one], np.int32).T, np.array([other], np.int32), np.array([shift], np.int8)
        (found,) = _run(text, *numbers)
        assert found.tolist() == [[a * b + (1 << shift - 1) >> shift for b in other] for a in one]


_CONV = """func.func @f(%x: tensor<1x3x3x2xi8>, %w: tensor<2x2x2x2xi8>, %b: tensor<2xi32>) -> tensor<1x4x2x2xi32> {
  %z = "tosa.const"() <{values = dense<-3> : tensor<1xi8>}> : () -> tensor<1xi8>
  %0 = tosa.conv2d %x, %w, %b, %z, %z {acc_type = i32, dilation = array<i64: 1, 1>, pad = array<i64: 1, 1, 0, 0>,
    stride = array<i64: 1, 1>} : (tensor<1x3x3x2xi8>, tensor<2x2x2x2xi8>, tensor<2xi32>, tensor<1xi8>, tensor<1xi8>)
    -> tensor<1x4x2x2xi32>
  return %0 : tensor<1x4x2x2xi32>
}"""


def test_a_convolution_leaves_the_padding_out() -> None:
    rng = np.random.default_rng(1)
    x, w = (rng.integers(-128, 128, shape).astype(np.int8) for shape in ((1, 3, 3, 2), (2, 2, 2, 2)))
    bias = np.array([10, -7], np.int32)
    (found,) = _run(_CONV, x, w, bias)
    for oy, ox, channel in product(range(4), range(2), range(2)):
        total = int(bias[channel])
        for ky, kx, feature in product(range(2), repeat=3):
            if 0 <= oy + ky - 1 < 3:
                pair = int(x[0, oy + ky - 1, ox + kx, feature]), int(w[channel, ky, kx, feature])
                total += (pair[0] + 3) * (pair[1] + 3)
        assert found[0, oy, ox, channel] == total


def test_an_infinite_weight_beside_the_padding_changes_nothing() -> None:
    text = """func.func @f(%x: tensor<1x1x1x1xf32>, %w: tensor<1x3x1x1xf32>, %b: tensor<1xf32>) -> tensor<1x1x1x1xf32> {
  %z = "tosa.const"() <{values = dense<0.0> : tensor<1xf32>}> : () -> tensor<1xf32>
  %0 = tosa.conv2d %x, %w, %b, %z, %z {acc_type = f32, dilation = array<i64: 1, 1>, pad = array<i64: 1, 1, 0, 0>,
    stride = array<i64: 1, 1>} : (tensor<1x1x1x1xf32>, tensor<1x3x1x1xf32>, tensor<1xf32>, tensor<1xf32>,
    tensor<1xf32>) -> tensor<1x1x1x1xf32>
  return %0 : tensor<1x1x1x1xf32>
}"""
    weight = np.array([np.inf, 2, np.nan], np.float32).reshape(1, 3, 1, 1)
    (found,) = _run(
        text, np.full((1, 1, 1, 1), 3, np.float32), weight, hu.Value.from_numpy(np.array([0.5], np.float32))
    )
    assert found.item() == 6.5


def _averages(values: Sequence[int]) -> int:
    """Return the average of AVG_POOL2D: by a reciprocal in fixed point."""
    count = len(values)
    bits = (count - 1).bit_length()
    return _scaled(sum(values), (((1 << 30) + 1) << bits) // count, 30 + bits, False)


def test_an_average_counts_the_elements_inside() -> None:
    text = f"""func.func @f(%x: tensor<1x3x3x1xi8>) -> tensor<1x3x3x1xi8> {{
  {_CONST_8}
  %0 = tosa.avg_pool2d %x, %z, %z {{acc_type = i32, kernel = array<i64: 3, 3>, pad = array<i64: 1, 1, 1, 1>,
    stride = array<i64: 1, 1>}} : (tensor<1x3x3x1xi8>, tensor<1xi8>, tensor<1xi8>) -> tensor<1x3x3x1xi8>
  return %0 : tensor<1x3x3x1xi8>
}}"""
    x = np.array([-128, 127, 3, 4, -5, 6, 7, 8, -9], np.int8).reshape(1, 3, 3, 1)
    (found,) = _run(text, x)
    for row, column in product(range(3), repeat=2):
        inside = [
            int(x[0, y, z, 0])
            for y, z in product(range(row - 1, row + 2), range(column - 1, column + 2))
            if 0 <= y < 3 and 0 <= z < 3
        ]
        assert found[0, row, column, 0] == _averages(inside)


def test_pools_read_their_window_from_constant_shapes() -> None:
    text = """func.func @f(%x: tensor<1x2x4x1xi8>) -> tensor<1x1x2x1xi8> {
  %k = tosa.const_shape {values = dense<2> : tensor<2xindex>} : () -> !tosa.shape<2>
  %p = tosa.const_shape {values = dense<0> : tensor<4xindex>} : () -> !tosa.shape<4>
  %0 = tosa.max_pool2d_adaptive %x, %k, %k, %p nan_mode<PROPAGATE> :
    (tensor<1x2x4x1xi8>, !tosa.shape<2>, !tosa.shape<2>, !tosa.shape<4>) -> tensor<1x1x2x1xi8>
  return %0 : tensor<1x1x2x1xi8>
}"""
    (found,) = _run(text, np.array([-9, 4, 8, -3, 7, 2, -1, 5], np.int8).reshape(1, 2, 4, 1))
    assert found.reshape(-1).tolist() == [7, 8]


@each_row(
    ("PROPAGATE", [1.0, np.nan, 7.0, np.nan], np.nan, 1),
    ("IGNORE", [1.0, np.nan, 7.0, np.nan], 7.0, 2),
    ("IGNORE", [np.nan, np.nan, np.nan, np.nan], np.nan, 0),
    ("PROPAGATE", [-np.inf, 7.0, 7.0, 1.0], 7.0, 1),
)
def test_nan_modes(mode: str, row: list[float], largest: float, place: int) -> None:
    text = f"""func.func @f(%x: tensor<4xf32>) -> (tensor<1xf32>, tensor<i32>) {{
  %0 = tosa.reduce_max %x {{axis = 0 : i32, nan_mode = {mode}}} : (tensor<4xf32>) -> tensor<1xf32>
  %1 = tosa.argmax %x {{axis = 0 : i32, nan_mode = {mode}}} : (tensor<4xf32>) -> tensor<i32>
  return %0, %1 : tensor<1xf32>, tensor<i32>
}}"""
    found, index = _run(text, np.array(row, np.float32))
    np.testing.assert_equal((found.item(), index.item()), (largest, place))


def test_tables() -> None:
    text = """func.func @f(%x: tensor<?xi8>, %t: tensor<256xi8>, %y: tensor<?xi16>, %u: tensor<513xi16>)
    -> (tensor<?xi8>, tensor<?xi32>) {
  %0 = tosa.table %x, %t : (tensor<?xi8>, tensor<256xi8>) -> tensor<?xi8>
  %1 = tosa.table %y, %u : (tensor<?xi16>, tensor<513xi16>) -> tensor<?xi32>
  return %0, %1 : tensor<?xi8>, tensor<?xi32>
}"""
    rng = np.random.default_rng(3)
    small, large = rng.integers(-128, 128, 256).astype(np.int8), rng.integers(-9000, 9000, 513).astype(np.int16)
    x, y = np.arange(-128, 128).astype(np.int8), np.array([-32768, -1, 0, 1, 127, 128, 32767], np.int16)
    found, wide = _run(text, x, small, y, large)
    assert found.tolist() == small.tolist()
    expected = []
    for value in y.tolist():
        index, fraction = value + 32768 >> 7, value & 127
        expected.append((int(large[index]) << 7) + (int(large[index + 1]) - int(large[index])) * fraction)
    assert wide.tolist() == expected


def test_casts() -> None:
    text = """func.func @f(%x: tensor<?xf32>) -> (tensor<?xi8>, tensor<?xi1>, tensor<?xf8E4M3FN>) {
  %0 = tosa.cast %x : (tensor<?xf32>) -> tensor<?xi8>
  %1 = tosa.cast %x : (tensor<?xf32>) -> tensor<?xi1>
  %2 = tosa.cast %x : (tensor<?xf32>) -> tensor<?xf8E4M3FN>
  return %0, %1, %2 : tensor<?xi8>, tensor<?xi1>, tensor<?xf8E4M3FN>
}"""
    numbers = np.array([2.5, 3.5, -0.5, 300, -np.inf, -0.0, 464, 465], np.float32)
    whole, truth, small = hu.run(hu.parse(text), numbers)
    assert whole.numpy().tolist() == [2, 4, 0, 127, -128, 0, 127, 127]
    assert truth.numpy().tolist() == [True, True, True, True, True, False, True, True]
    # 464 is a tie that goes to the largest number; 465 is a NaN: the conversion does not saturate.
    assert small.bits.tolist()[-2:] == [0x7E, 0x7F]
    with pytest.raises(hu.UndefinedBehavior, match="NaN"):
        _run(_small("cast", "f32", 1, result="i8"), np.array([np.nan], np.float32))


def test_control_and_variables() -> None:
    text = """
tosa.variable @total = dense<7> : tensor<i32>
func.func @f(%n: tensor<i32>) -> (tensor<i32>, tensor<i32>) {
  %0 = tosa.while_loop (%i = %n) : (tensor<i32>) -> tensor<i32> {
    %c = "tosa.const"() <{values = dense<100> : tensor<i32>}> : () -> tensor<i32>
    %d = tosa.greater %c, %i : (tensor<i32>, tensor<i32>) -> tensor<i1>
    tosa.yield %d : tensor<i1>
  } do {
  ^bb0(%i: tensor<i32>):
    %v = tosa.variable_read @total : tensor<i32>
    %w = tosa.add %v, %i : (tensor<i32>, tensor<i32>) -> tensor<i32>
    tosa.variable_write @total, %w : tensor<i32>
    %b = tosa.add %i, %i : (tensor<i32>, tensor<i32>) -> tensor<i32>
    tosa.yield %b : tensor<i32>
  }
  %1 = tosa.variable_read @total : tensor<i32>
  return %0, %1 : tensor<i32>, tensor<i32>
}"""
    last, total = _run(text, np.array(3, np.int32))
    assert (last, total) == (192, 7 + sum(3 << k for k in range(6)))


def test_a_custom_operator_calls_the_users_function() -> None:
    text = """func.func @f(%x: tensor<2xi32>) -> tensor<2xi32> {
  %0 = tosa.custom %x {domain_name = "d", implementation_attrs = "", operator_name = "twice"} :
    (tensor<2xi32>) -> tensor<2xi32>
  return %0 : tensor<2xi32>
}"""
    (found,) = _run(text, np.array([3, -4], np.int32), externals={"twice": lambda x: x.numpy() * 2})
    assert found.tolist() == [6, -8]
    with pytest.raises(hu.Unsupported, match="twice"):
        _run(text, np.array([3, -4], np.int32))


def test_blocks_share_a_scale() -> None:
    text = """func.func @f(%x: tensor<1x64xf32>) -> (tensor<1x64xf4E2M1FN>, tensor<1x2xf8E8M0FNU>, tensor<1x64xf32>) {
  %d, %s = tosa.cast_to_block_scaled %x {block_size = BLOCK_SIZE_32} :
    (tensor<1x64xf32>) -> (tensor<1x64xf4E2M1FN>, tensor<1x2xf8E8M0FNU>)
  %0 = tosa.cast_from_block_scaled %d, %s {block_size = BLOCK_SIZE_32} :
    (tensor<1x64xf4E2M1FN>, tensor<1x2xf8E8M0FNU>) -> tensor<1x64xf32>
  return %d, %s, %0 : tensor<1x64xf4E2M1FN>, tensor<1x2xf8E8M0FNU>, tensor<1x64xf32>
}"""
    numbers = np.zeros((1, 64), np.float32)
    numbers[0, :4] = 6.99, -1.0, 0.25, 3.0  # below 7 = 6 + half a unit, so the scale is 1
    numbers[0, 32:35] = 7.0, 5.0, -0.5  # 7 would round up: the scale is 2
    _, scales, back = hu.run(hu.parse(text), numbers)
    assert scales.bits.tolist() == [[127, 128]]
    assert back.numpy()[0, :4].tolist() == [6.0, -1.0, 0.0, 3.0]
    assert back.numpy()[0, 32:35].tolist() == [8.0, 4.0, 0.0]


_SCALED = """func.func @f(%a: tensor<1x2x1x32xf8E5M2>, %s: tensor<1x2x1x1xf8E8M0FNU>, %w: tensor<1x2x1x32xf8E5M2>,
                     %t: tensor<{scales}x1xf8E8M0FNU>, %b: tensor<1xf32>) -> tensor<1x2x1x1xf32> {{
  %p = tosa.const_shape {{values = dense<[{pad}]> : tensor<4xindex>}} : () -> !tosa.shape<4>
  %o = tosa.const_shape {{values = dense<1> : tensor<2xindex>}} : () -> !tosa.shape<2>
  %0 = tosa.conv2d_block_scaled %a, %s, %w, %t, %b, %p, %o, %o {{block_size = BLOCK_SIZE_32}} :
    (tensor<1x2x1x32xf8E5M2>, tensor<1x2x1x1xf8E8M0FNU>, tensor<1x2x1x32xf8E5M2>, tensor<{scales}x1xf8E8M0FNU>,
     tensor<1xf32>, !tosa.shape<4>, !tosa.shape<2>, !tosa.shape<2>) -> tensor<1x2x1x1xf32>
  return %0 : tensor<1x2x1x1xf32>
}}"""


def test_a_convolution_of_blocks_has_the_scales_of_its_elements() -> None:
    """The first place of the window is in the padding for the first result: 2 * 3 of the first row, by its scales 4
    and 2 and the second row of the weights; then both rows, the second one with the scale 8.
    """
    given, weights = np.zeros((1, 2, 1, 32)), np.zeros((1, 2, 1, 32))
    given[0, :, 0, 7] = 2, 5
    weights[0, :, 0, 7] = 1, 3
    operands = [hu.convert(given, "f8E5M2"), hu.convert([[[[4.0]], [[8.0]]]], "f8E8M0FNU")]
    operands += [
        hu.convert(weights, "f8E5M2"),
        hu.convert([[[[1.0]], [[2.0]]]], "f8E8M0FNU"),
        hu.Value.from_numpy(np.array([0.5], np.float32)),
    ]
    (found,) = hu.run(_SCALED.format(scales="1x2x1", pad="1, 0, 0, 0"), *operands)
    assert found.numpy().reshape(-1).tolist() == [2 * 3 * 4 * 2 + 0.5, 2 * 1 * 4 * 1 + 5 * 3 * 8 * 2 + 0.5]


@each_row(
    ({"scales": "1x1x1"}, "expected kernel height of weight_scale to match size 2, got 1"),
    ({"pad": "-1, 0, 0, 0"}, "expect all padding values to be >= 0, got -1, 0, 0, 0"),
    ({"pad": "2, 0, 0, 0"}, "calculated output height did not match expected: calculated=3, expected=2"),
)
def test_the_rules_of_a_convolution_of_blocks(changed: dict[str, str], message: str) -> None:
    with pytest.raises(hu.VerifyError) as broken:
        hu.parse(_SCALED.format(**{"scales": "1x2x1", "pad": "1, 0, 0, 0", **changed}))
    assert broken.value.message.partition(" op ")[2] == message


def test_resize_of_integers_is_exact() -> None:
    text = """func.func @f(%x: tensor<1x2x2x1xi8>) -> tensor<1x4x4x1xi32> {
  %s = tosa.const_shape {values = dense<[4, 2, 4, 2]> : tensor<4xindex>} : () -> !tosa.shape<4>
  %o = tosa.const_shape {values = dense<-1> : tensor<2xindex>} : () -> !tosa.shape<2>
  %b = tosa.const_shape {values = dense<1> : tensor<2xindex>} : () -> !tosa.shape<2>
  %0 = tosa.resize %x, %s, %o, %b {mode = BILINEAR} :
    (tensor<1x2x2x1xi8>, !tosa.shape<4>, !tosa.shape<2>, !tosa.shape<2>) -> tensor<1x4x4x1xi32>
  return %0 : tensor<1x4x4x1xi32>
}"""
    (found,) = _run(text, np.array([[10, -20], [30, 40]], np.int8).reshape(1, 2, 2, 1))
    # The distances from the first neighbour are 3 (of the pixel before the first), 1, 3 and 1 quarters.
    rows = [[10, 10 * 3 - 20, 10 - 20 * 3, -20 * 4], [30 * 4, 30 * 3 + 40, 30 + 40 * 3, 40 * 4]]
    rows[0][0] = 40
    expected = [[4 * value for value in rows[0]]]
    expected += [[(4 - k) * a + k * b for a, b in zip(*rows, strict=True)] for k in (1, 3)]
    expected += [[4 * value for value in rows[1]]]
    assert found[0, :, :, 0].tolist() == expected


# --- public reports ---------------------------------------------------------------------------------------------------
#
# What mlir-opt 22.1.8 folds, beside the right value.

_DIVIDED = """func.func @f() -> tensor<1xi32> {
  %0 = "tosa.const"() <{values = dense<0> : tensor<1xi32>}> : () -> tensor<1xi32>
  %1 = tosa.intdiv %0, %0 : (tensor<1xi32>, tensor<1xi32>) -> tensor<1xi32>
  return %1 : tensor<1xi32>
}"""
_RESCALED = """func.func @f(%m: tensor<1xi32>, %s: tensor<1xi8>) -> tensor<1xi64> {
  %0 = "tosa.const"() <{values = dense<1> : tensor<1xi64>}> : () -> tensor<1xi64>
  %1 = "tosa.const"() <{values = dense<0> : tensor<1xi64>}> : () -> tensor<1xi64>
  %2 = tosa.rescale %0, %m, %s, %1, %1 {input_unsigned = true, output_unsigned = true, per_channel = false,
    rounding_mode = DOUBLE_ROUND, scale32 = true} :
    (tensor<1xi64>, tensor<1xi32>, tensor<1xi8>, tensor<1xi64>, tensor<1xi64>) -> tensor<1xi64>
  return %2 : tensor<1xi64>
}"""


def test_folders_that_are_wrong() -> None:
    # https://github.com/llvm/llvm-project/pull/200223: the fold gives 0, but the quotient is undefined.
    with pytest.raises(hu.UndefinedBehavior, match="value2 != 0"):
        _run(_DIVIDED)
    # The lowering loses the multiplier: its operand has no elements.
    assert _run(_BY_ARGUMENT, np.array([40, -7], np.int32), np.array([31], np.int8))[0].tolist() == [20, -3]
    # https://github.com/llvm/llvm-project/issues/224020: the lowering crashes.
    assert _run(_RESCALED, np.array([3 << 29], np.int32), np.array([30], np.int8))[0].tolist() == [2]


_REPORTS = Path(__file__).parents[4] / "examples" / "tosa_folds.mlir"
_TO_LINALG = "func.func(tosa-to-linalg)"


@each_row(
    # Averages with the zero that is padded, rounded up: (0 + 15) / 2, (15 + 8) / 2 and (8 + 3) / 2.
    ("padded_pool", [np.array([15, 8, 3], np.int8).reshape(1, 3, 1, 1)], [8, 12, 6]),
    # inf times the zero that is padded, plus 3; then inf times 3, plus 5.
    (
        "padded_conv",
        [np.array(column, np.float32).reshape(1, 2, 1, 1) for column in ([3, 5], [np.inf, 1])],
        [np.nan, np.inf],
    ),
    ("compared", [], [True]),  # 200 > 100, not -56 > 100
    ("to_bool", [], [True]),  # 10 is not zero, but the last bit of it is
    ("times_zero", [np.array([np.inf], np.float32)], [np.nan]),
    ("clamped", [np.array([np.nan], np.float32)], [-np.inf]),
    ("true_to_float", [], [1]),
    ("shifted", [np.array([100, 0, -1], np.int8)], [100, 0, -1]),
    ("negated", [np.array([-128, 1, 127], np.int8)], [127, -1, -127]),
    # At -1/4 and 9/4 there is only one pixel, and each product has the scale 4.
    (
        "resized",
        [np.array([15, 8, 3], np.int8).reshape(1, 1, 3, 1)],
        [15 * 4, 15 * 3 + 8, 15 + 8 * 3, 8 * 3 + 3, 8 + 3 * 3, 3 * 4],
    ),
    ("greatest", [], [-np.inf]),
)
def test_reported_programs_have_the_right_value(name: str, arguments: list[Any], right: list[float]) -> None:
    (found,) = hu.run(_REPORTS, *arguments, function=name)
    assert np.array_equal(np.asarray(found).reshape(-1), right, equal_nan=True)


@pytest.mark.mlir
@pytest.mark.parametrize(
    ("passes", "wrong"),
    [
        ("canonicalize", {"padded_conv", "compared", "times_zero", "clamped", "true_to_float"}),
        (
            "func.func(tosa-to-linalg-named,tosa-to-linalg)",
            {"compared", "times_zero", "true_to_float", "resized", "greatest"},
        ),
    ],
)
def test_diff_names_the_programs_that_mlir_22_makes_wrong(
    passes: str, wrong: set[str], capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = [
        "diff",
        str(_REPORTS),
        "--mlir=22",
        "--no-known",
        f"--pass-pipeline=builtin.module({passes})",
        "-n",
        "200",
    ]
    assert main(arguments) == 1
    assert set(re.findall(r"^@(\w+): differs", capsys.readouterr().out, re.MULTILINE)) == wrong


_BY_ARGUMENT = """func.func @f(%x: tensor<2xi32>, %s: tensor<1xi8>) -> tensor<2xi8> {
  %m = "tosa.const"() <{values = dense<1073741824> : tensor<1xi32>}> : () -> tensor<1xi32>
  %z = "tosa.const"() <{values = dense<0> : tensor<1xi32>}> : () -> tensor<1xi32>
  %o = "tosa.const"() <{values = dense<0> : tensor<1xi8>}> : () -> tensor<1xi8>
  %0 = tosa.rescale %x, %m, %s, %z, %o {input_unsigned = false, output_unsigned = false, per_channel = false,
    rounding_mode = SINGLE_ROUND, scale32 = true} :
    (tensor<2xi32>, tensor<1xi32>, tensor<1xi8>, tensor<1xi32>, tensor<1xi8>) -> tensor<2xi8>
  return %0 : tensor<2xi8>
}"""
"""A scale of 2^30 / 2^shift, of which only the shift is computed."""


@pytest.mark.mlir
@pytest.mark.parametrize(
    ("text", "passes", "code", "words"),
    [
        (_DIVIDED, "canonicalize", 3, "undefined before, so that anything is allowed: tosa.intdiv"),
        (_BY_ARGUMENT, _TO_LINALG, 1, "dimension 0 of operand #1 has 0"),
        (_RESCALED, _TO_LINALG, 1, "the pass tosa-to-linalg made an invalid op: 'linalg.yield'"),
    ],
)
def test_diff_shows_what_is_wrong(
    text: str, passes: str, code: int, words: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    program = tmp_path / "f.mlir"
    program.write_text(text)
    assert main(["diff", str(program), "--mlir=22", "--no-known", f"--pass-pipeline=builtin.module({passes})"]) == code
    printed = capsys.readouterr()
    assert words in printed.out + printed.err


@pytest.mark.iree
def test_a_build_with_other_forms_gets_what_it_reads(
    iree_opt: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    # Two builds are called 24.0.0git. IREE's reads clauses, and no dictionaries.
    program = tmp_path / "f.mlir"
    program.write_text(_BY_ARGUMENT)
    arguments = [f"--mlir={iree_opt}", "-n", "50", "--pass-pipeline=builtin.module(canonicalize)"]
    assert main(["diff", str(program), *arguments]) == 0
    assert "tested (50 inputs)" in capsys.readouterr().out


def test_an_operand_without_a_rank_may_have_a_wrong_one() -> None:
    transposed = """func.func @f(%x: tensor<*xf32>) -> tensor<*xf32> {
      %y = tosa.transpose %x {perms = array<i32: 1, 0>} : (tensor<*xf32>) -> tensor<*xf32>
      return %y : tensor<*xf32>
    }"""
    assert hu.run(transposed, np.zeros((2, 3), np.float32))[0].shape == (3, 2)
    for shape in ((3,), (2, 3, 4)):
        with pytest.raises(hu.UndefinedBehavior, match=f"the input has rank {len(shape)}, not 2"):
            hu.run(transposed, np.zeros(shape, np.float32))
    convolved = """func.func @f(%x: tensor<*xf32>, %w: tensor<1x1x1x1xf32>, %b: tensor<1xf32>) -> tensor<*xf32> {
      %z = "tosa.const"() <{values = dense<0.0> : tensor<1xf32>}> : () -> tensor<1xf32>
      %y = tosa.conv2d %x, %w, %b, %z, %z {acc_type = f32, dilation = array<i64: 1, 1>, pad = array<i64: 0, 0, 0, 0>, stride = array<i64: 1, 1>}
        : (tensor<*xf32>, tensor<1x1x1x1xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>) -> tensor<*xf32>
      return %y : tensor<*xf32>
    }"""
    ones = np.ones((1, 1, 1, 1), np.float32), np.ones(1, np.float32)
    assert hu.run(convolved, np.ones((1, 1, 1, 1), np.float32), *ones)[0].item() == 2
    with pytest.raises(hu.UndefinedBehavior, match="the input has rank 2, not 4"):
        hu.run(convolved, np.ones((1, 1), np.float32), *ones)


def test_either_zero_is_right_in_sums_and_products() -> None:
    text = """func.func @f(%a: tensor<2xf32>, %b: tensor<2xf32>) -> (tensor<2xf32>, tensor<2xf32>, tensor<1xf32>) {
      %s = "tosa.const"() {values = dense<0> : tensor<1xi8>} : () -> tensor<1xi8>
      %0 = tosa.add %a, %b : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
      %1 = tosa.mul %a, %b, %s : (tensor<2xf32>, tensor<2xf32>, tensor<1xi8>) -> tensor<2xf32>
      %2 = tosa.reduce_sum %0 {axis = 0 : i32} : (tensor<2xf32>) -> tensor<1xf32>
      return %0, %1, %2 : tensor<2xf32>, tensor<2xf32>, tensor<1xf32>
    }"""
    zero, one = np.array([-0.0, 1.0], np.float32), np.array([0.0, -1.0], np.float32)
    got = hu.run(text, zero, one, track_open=True)
    marks = [None if value.open is None else value.open.astype(bool).tolist() for value in got]
    assert marks == [[True, True], [True, False], [True]]


@pytest.mark.parametrize("type_", ["bf16", "f80", "f128"])
def test_reductions_begin_with_a_number_of_the_type(type_: str) -> None:
    """The first number has more than one word in f80 and f128."""
    text = """func.func @f(%a: tensor<?x3xTYPE>) -> tensor<?x1xTYPE> {
      %0 = tosa.reduce_OP %a {axis = 1 : i32} : (tensor<?x3xTYPE>) -> tensor<?x1xTYPE>
      return %0 : tensor<?x1xTYPE>
    }""".replace("TYPE", type_)
    given = hu.convert([[2.0, 3.0, 4.0], [-2.0, -1.0, -5.0]], type_)
    for op, right in (("min", [2, -5]), ("max", [4, -1]), ("product", [24, -10]), ("sum", [9, -8])):
        (found,) = hu.run(text.replace("OP", op), given)
        assert hu.convert(found, "f64").numpy().reshape(-1).tolist() == right


def test_transforms_and_blocks_mark_zeros_and_what_is_open() -> None:
    """Of [1, -1] the transform is [0, 2]; of [y, 1] where y is 0 + -0 both results are open. The second block has y."""
    text = """func.func @f(%a: tensor<1x1x2xf32>, %b: tensor<1x1x2xf32>, %x: tensor<1x64xf32>, %y: tensor<1x64xf32>)
        -> (tensor<1x1x2xf32>, tensor<1x1x2xf32>, tensor<1x2xf8E8M0FNU>, tensor<1x64xf32>) {
      %0:2 = tosa.fft2d %a, %b {inverse = false, local_bound = false} :
        (tensor<1x1x2xf32>, tensor<1x1x2xf32>) -> (tensor<1x1x2xf32>, tensor<1x1x2xf32>)
      %1 = tosa.add %a, %b : (tensor<1x1x2xf32>, tensor<1x1x2xf32>) -> tensor<1x1x2xf32>
      %2:2 = tosa.fft2d %1, %b {inverse = false, local_bound = false} :
        (tensor<1x1x2xf32>, tensor<1x1x2xf32>) -> (tensor<1x1x2xf32>, tensor<1x1x2xf32>)
      %3 = tosa.add %x, %y : (tensor<1x64xf32>, tensor<1x64xf32>) -> tensor<1x64xf32>
      %d, %s = tosa.cast_to_block_scaled %3 {block_size = BLOCK_SIZE_32} :
        (tensor<1x64xf32>) -> (tensor<1x64xf4E2M1FN>, tensor<1x2xf8E8M0FNU>)
      %4 = tosa.cast_from_block_scaled %d, %s {block_size = BLOCK_SIZE_32} :
        (tensor<1x64xf4E2M1FN>, tensor<1x2xf8E8M0FNU>) -> tensor<1x64xf32>
      return %0#0, %2#0, %s, %4 : tensor<1x1x2xf32>, tensor<1x1x2xf32>, tensor<1x2xf8E8M0FNU>, tensor<1x64xf32>
    }"""
    blocks = np.ones((1, 64), np.float32)
    blocks[0, 40] = -0.0
    none = np.zeros((1, 1, 2), np.float32)
    for numbers, first, second in (([1, -1], [True, False], [True, False]), ([-0.0, 1], [False, False], [True, True])):
        given = np.array([[numbers]], np.float32), none, blocks, np.abs(0 * blocks)
        got = hu.run(text, *given, track_open=True)
        marks = [np.zeros(value.shape, np.uint8) if value.open is None else value.open for value in got]
        expected = first, second, [False, True], [False] * 32 + [True] * 32
        assert [mask.astype(bool).reshape(-1).tolist() for mask in marks] == list(map(list, expected))


def test_operands_of_unknown_rank_are_checked() -> None:
    text = """func.func @f(%v: tensor<*xi32>, %i: tensor<*xi32>, %g: tensor<*xi32>) -> tensor<*xi32> {
      %0 = tosa.OP : (TYPES) -> tensor<*xi32>
      return %0 : tensor<*xi32>
    }"""
    wide, flat, one = np.zeros((1, 2, 1), np.int32), np.zeros((1, 1), np.int32), np.zeros((), np.int32)
    for call, count in (("scatter %v, %i, %g", 3), ("gather %v, %i", 2)):
        program = text.replace("OP", call).replace("TYPES", ", ".join(["tensor<*xi32>"] * count))
        assert hu.run(program, wide, flat, wide[:, :1])[0].shape in {(1, 2, 1), (1, 1, 1)}
        with pytest.raises(hu.UndefinedBehavior, match="indices has rank 0, not 2"):
            hu.run(program, wide, one, wide)
        with pytest.raises(hu.UndefinedBehavior, match="values has rank 0, not 3"):
            hu.run(program, one, flat, wide)


_OF_UNSIGNED = """%m = "tosa.const"() <{values = dense<1073741824> : tensor<1xi32>}> : () -> tensor<1xi32>
  %s = "tosa.const"() <{values = dense<30> : tensor<1xi8>}> : () -> tensor<1xi8>
  %o = "tosa.const"() <{values = dense<0> : tensor<1xi8>}> : () -> tensor<1xi8>
  %r = tosa.rescale %x, %m, %s, %z, %o {rounding_mode = SINGLE_ROUND, scale32 = true, per_channel = false,
    input_unsigned = true, output_unsigned = false}
    : (T, tensor<1xi32>, tensor<1xi8>, Z, tensor<1xi8>) -> tensor<2xi8>"""
_NEGATED = "%r = tosa.negate %x, %z, %z : (T, Z, Z) -> T"
_MULTIPLIED = "%r = tosa.matmul_t %x, %x, %z, %z : (T, T, Z, Z) -> tensor<1x2x2xi32>"
_POOLED = """%r = tosa.avg_pool2d %x, %z, %z
  {acc_type = f32, kernel = array<i64: 1, 1>, pad = array<i64: 0, 0, 0, 0>, stride = array<i64: 1, 1>} : (T, Z, Z) -> T"""


@each_row(
    (_NEGATED, (2,), np.int8, 3, [5, 4]),
    (_NEGATED, (2,), np.int16, 0, [-1, -2]),
    (_NEGATED, (2,), np.int16, 3, None),
    (_NEGATED, (2,), np.float32, -0.0, [-1, -2]),
    (_NEGATED, (2,), np.float32, 1, None),
    (_MULTIPLIED, (1, 2, 1), np.int16, 1, None),
    (_POOLED, (1, 2, 1, 1), np.float32, 0, [1, 2]),
    (_POOLED, (1, 2, 1, 1), np.float32, 1, None),
    (_OF_UNSIGNED, (2,), np.int16, -32768, [-128, -128]),  # 1 - 32768 and 2 - 32768 saturate
    (_OF_UNSIGNED, (2,), np.int16, 3, None),
)
def test_a_computed_zero_point_is_one_of_the_specification(
    op: str, shape: tuple[int, ...], dtype: Any, zero: float, right: list[float] | None
) -> None:
    # The ERROR_IF of the specification is about constants, and MLIR rejects these.
    element = {np.int8: "i8", np.int16: "i16", np.float32: "f32"}[dtype]
    type_, of_zero = f"tensor<{'x'.join(map(str, shape))}x{element}>", f"tensor<1x{element}>"
    line = re.sub(r"\bT\b", type_, re.sub(r"\bZ\b", of_zero, op))
    result = line.rpartition("-> ")[2]
    program = f"func.func @f(%x: {type_}, %z: {of_zero}) -> {result} {{\n{line}\nreturn %r : {result}\n}}"
    arguments = np.array([1, 2], dtype).reshape(shape), np.array([zero], dtype)
    if right is None:
        with pytest.raises(hu.UndefinedBehavior, match="only i8_t has zero points that are not 0"):
            hu.run(program, *arguments)
    else:
        assert np.asarray(hu.run(program, *arguments)[0]).reshape(-1).tolist() == right
