"""Quantised elements in StableHLO. The expected integers come from exact fractions and the text of the specification."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
import pytest
from amounts import amounts
from stablehlo_quantized import Program, tensor
from stablehlo_reference import Reference

import halfulp as hu

# --- the specification, in fractions ----------------------------------------------------------------------------------

PRECISIONS = {"f32": (24, 127), "f16": (11, 15), "bf16": (8, 127)}
"""The bits of a significand, and the largest exponent."""


def nearest_even(number: Fraction) -> int:
    """Round to an integer: Python's rounding of fractions is to nearest, ties to even."""
    return round(number)


def rounded(number: Fraction, format: str) -> Fraction:
    """Round to nearest even in a format. A number that would overflow stays what it is: it is clamped later."""
    precision, largest = PRECISIONS[format]
    if not number:
        return number
    exponent = len(bin(int(abs(number)))) - 3 if abs(number) >= 1 else -1
    while abs(number) < Fraction(2) ** exponent:
        exponent -= 1
    unit = Fraction(2) ** (max(exponent, 1 - largest) - precision + 1)
    return nearest_even(number / unit) * unit


class Quantized(NamedTuple):
    """A type with one scale."""

    storage: str
    expressed: str
    scale: str
    point: int = 0
    bounds: tuple[int, int] | None = None

    @property
    def text(self) -> str:
        bounds = "" if self.bounds is None else f"<{self.bounds[0]}:{self.bounds[1]}>"
        return f"!quant.uniform<{self.storage}{bounds}:{self.expressed}, {self.scale}:{self.point}>"

    @property
    def range(self) -> tuple[int, int]:
        width = int(self.storage.lstrip("ui"))
        half = 0 if self.storage[0] == "u" else 1 << width - 1
        return -half, (1 << width) - half - 1

    @property
    def factor(self) -> Fraction:
        return self.near(Fraction(float(self.scale)))

    def near(self, number: Fraction) -> Fraction:
        return rounded(number, self.expressed)

    def number(self, stored: int) -> Fraction:
        """dequantize"""
        return self.near(self.near(Fraction(stored - self.point)) * self.factor)

    def stored(self, number: Fraction) -> int:
        """quantize"""
        least, most = (self.near(Fraction(each)) for each in self.bounds or self.range)
        shifted = self.near(self.near(number / self.factor) + self.near(Fraction(self.point)))
        found = nearest_even(min(max(shifted, least), most))
        return min(max(found, self.range[0]), self.range[1])


I8 = Quantized("i8", "f32", "0.1", 5)
OTHER = Quantized("i8", "f32", "0.037", -20)
TYPES = (
    I8, OTHER, Quantized("i8", "f32", "0.5", 0, (-100, 90)), Quantized("ui8", "f32", "0.0039", 128),
    Quantized("i2", "f32", "0.7", -1), Quantized("ui4", "f32", "1.5", 3), Quantized("i16", "f32", "0.001", -1000),
    Quantized("i32", "f32", "1.0e-5", 77), Quantized("i32", "f32", "0.25", 2147483647, (-100000001, 2147483647)),
    Quantized("i8", "bf16", "0.1", 100), Quantized("i8", "f16", "0.3", -100), Quantized("i16", "bf16", "0.25", 301, (-999, 301)),
    Quantized("i16", "f16", "0.01", 12345),
)  # fmt: skip


def codes(q: Quantized, draw: random.Random, count: int) -> list[int]:
    least, most = q.range
    if most - least < 256:
        return list(range(least, most + 1))
    return [least, most, q.point, *(draw.randint(least, most) for _ in range(count))]


def integers(q: Quantized, stored: Sequence[Any]) -> hu.Value:
    """Return stored integers as a value."""
    numbers = np.array(stored)
    width = int(q.storage.lstrip("ui"))
    dtype = np.dtype(f"{'u' if q.storage[0] == 'u' else ''}int{max(width, 8)}")
    found = numbers.astype(dtype)
    bits = found.view(f"u{found.itemsize}") & np.array((1 << width) - 1, f"u{found.itemsize}")
    return hu.Value.from_bits(bits, tensor(numbers.shape, q.text))


def run(text: str, *arguments: Any, **options: Any) -> list[Any]:
    return [each.tolist() for each in hu.run(text, *arguments, **options)]


def casts(q: Quantized, n: int) -> str:
    numbers, stored = tensor((n,), q.expressed), tensor((n,), q.text)
    return f"""func.func @main(%a: {numbers}, %b: {stored}) -> ({stored}, {numbers}) {{
      %q = stablehlo.uniform_quantize %a : ({numbers}) -> {stored}
      %d = stablehlo.uniform_dequantize %b : ({stored}) -> {numbers}
      return %q, %d : {stored}, {numbers} }}"""


@pytest.mark.long
def test_casts_of_each_storage_type() -> None:
    draw = random.Random(1)
    failures = []
    for q in TYPES:
        stored = codes(q, draw, 60)
        # Numbers near the bounds, between two integers, and far outside.
        given = [q.near(q.number(code) + Fraction(draw.uniform(-1, 1)) * q.factor) for code in stored]
        given += [q.near(Fraction(2) ** 12 * q.factor * sign) for sign in (1, -1)]
        stored += [0, 0]
        a = hu.Value.from_numpy(np.array([float(each) for each in given], np.float32), "f32")
        a = hu.convert(a, q.expressed)
        found, numbers = hu.run(casts(q, len(given)), a, integers(q, stored))
        expected = [q.stored(each) for each in given]
        if found.numpy().tolist() != expected:
            failures.append((q, "quantize"))
        if [Fraction(float(each)) for each in hu.convert(numbers, "f64").tolist()] != [
            q.number(code) for code in stored
        ]:
            failures.append((q, "dequantize"))
    assert not failures


def test_special_numbers() -> None:
    a = np.array([np.inf, -np.inf, np.nan, 1e38, -0.0], np.float32)
    rows = ((I8, [127, -128, 0, 127, 5]), (Quantized("ui8", "f32", "0.1", 9, (3, 200)), [200, 3, 0, 200, 9]))
    for q, expected in rows:
        assert run(casts(q, 5), a, integers(q, [0] * 5))[0] == expected


# --- ops --------------------------------------------------------------------------------------------------------------


def away(number: Fraction) -> Fraction:
    return Fraction((number > 0) - (number < 0)) * Fraction(int(abs(number) + Fraction(1, 2)))


UNARY: dict[str, Callable[[Fraction], Fraction]] = {
    "abs": abs, "negate": lambda x: -x, "ceil": lambda x: Fraction(-(-x // 1)), "floor": lambda x: Fraction(x // 1),
    "sign": lambda x: Fraction((x > 0) - (x < 0)), "round_nearest_even": lambda x: Fraction(nearest_even(x)),
    "round_nearest_afz": away,
}  # fmt: skip
BINARY: dict[str, Callable[[Fraction, Fraction], Fraction]] = {
    "add": lambda x, y: x + y, "subtract": lambda x, y: x - y, "multiply": lambda x, y: x * y,
    "maximum": max, "minimum": min, "divide": lambda x, y: x / y if y else Fraction(0),
}  # fmt: skip
PAIRS = ((I8, I8), (I8, OTHER), (Quantized("i16", "f32", "0.001", -1000), Quantized("i16", "f32", "0.03", 7)))


@pytest.mark.long
def test_elementwise_ops_compute_in_the_expressed_type() -> None:
    draw = random.Random(2)
    failures = []
    for q, made in PAIRS:
        stored = codes(q, draw, 200)
        given, result = tensor((len(stored),), q.text), tensor((len(stored),), made.text)
        for name, function in UNARY.items():
            text = f"func.func @main(%a: {given}) -> {result} {{ %r = stablehlo.{name} %a : ({given}) -> {result} return %r : {result} }}"
            if run(text, integers(q, stored))[0] != [made.stored(q.near(function(q.number(code)))) for code in stored]:
                failures.append((name, q, made))
        others = draw.choices([code for code in stored if code != q.point], k=len(stored))
        for op, combine in BINARY.items():
            text = f"func.func @main(%a: {given}, %b: {given}) -> {result} {{ %r = stablehlo.{op} %a, %b : ({given}, {given}) -> {result} return %r : {result} }}"
            expected = [
                made.stored(q.near(combine(q.number(a), q.number(b)))) for a, b in zip(stored, others, strict=True)
            ]
            if run(text, integers(q, stored), integers(q, others))[0] != expected:
                failures.append((op, q, made))
    assert not failures


def test_ops_with_rules_of_their_own() -> None:
    q, r = tensor((3,), I8.text), tensor((3,), OTHER.text)
    bits = tensor((3,), "i1")
    text = f"""func.func @main(%p: {bits}, %a: {q}, %b: {q}) -> ({r}, {bits}, {bits}, {q}, {tensor((4,), I8.text)}, {r}) {{
      %0 = stablehlo.select %p, %a, %b : ({bits}, {q}, {q}) -> {r}
      %1 = stablehlo.compare LT, %a, %b : ({q}, {q}) -> {bits}
      %2 = stablehlo.is_finite %a : ({q}) -> {bits}
      %3 = stablehlo.clamp %a, %b, %a : {q}
      %4 = stablehlo.iota dim = 0 : {tensor((4,), I8.text)}
      %5 = stablehlo.uniform_quantize %b : ({q}) -> {r}
      return %0, %1, %2, %3, %4, %5 : {r}, {bits}, {bits}, {q}, {tensor((4,), I8.text)}, {r} }}"""
    a, b = [-1, 7, 12], [3, -50, 120]
    found = run(text, np.array([True, False, True]), np.array(a, np.int8), np.array(b, np.int8))
    requantized = [OTHER.stored(I8.number(each)) for each in (-1, -50, 12)]
    assert found == [
        requantized, [True, False, True], [True] * 3, a, [5, 15, 25, 35],
        [OTHER.stored(I8.number(each)) for each in b],
    ]  # fmt: skip


CHANNELS = (I8, OTHER, Quantized("i8", "f32", "0.25", 0))


def by_axis(channels: Sequence[Quantized], axis: int) -> str:
    first = channels[0]
    return f"!quant.uniform<{first.storage}:{first.expressed}:{axis}, {{{','.join(f'{q.scale}:{q.point}' for q in channels)}}}>"


def test_scales_of_channels() -> None:
    draw = random.Random(3)
    a, b = ([[draw.randint(-128, 127) for _ in range(3)] for _ in range(4)] for _ in range(2))
    text = f"""func.func @main(%a: tensor<4x3x{by_axis(CHANNELS, 1)}>, %b: tensor<4x3x{I8.text}>) -> (tensor<4x3x{by_axis(CHANNELS, 1)}>, tensor<4x3x{I8.text}>, tensor<3x4x{by_axis(CHANNELS, 0)}>) {{
      %0 = stablehlo.add %a, %b : (tensor<4x3x{by_axis(CHANNELS, 1)}>, tensor<4x3x{I8.text}>) -> tensor<4x3x{by_axis(CHANNELS, 1)}>
      %1 = stablehlo.uniform_quantize %a : (tensor<4x3x{by_axis(CHANNELS, 1)}>) -> tensor<4x3x{I8.text}>
      %2 = stablehlo.transpose %a, dims = [1, 0] : (tensor<4x3x{by_axis(CHANNELS, 1)}>) -> tensor<3x4x{by_axis(CHANNELS, 0)}>
      return %0, %1, %2 : tensor<4x3x{by_axis(CHANNELS, 1)}>, tensor<4x3x{I8.text}>, tensor<3x4x{by_axis(CHANNELS, 0)}> }}"""
    total, one, moved = run(text, np.array(a, np.int8), np.array(b, np.int8))
    assert total == [
        [q.stored(q.near(q.number(x) + I8.number(y))) for q, x, y in zip(CHANNELS, *rows, strict=True)]
        for rows in zip(a, b, strict=True)
    ]
    assert one == [[I8.stored(q.number(x)) for q, x in zip(CHANNELS, row, strict=True)] for row in a]
    assert moved == [list(column) for column in zip(*a, strict=True)]


def test_a_trace_says_how_many_bits_a_quantised_sum_loses() -> None:
    type_ = tensor((3,), I8.text)
    text = f"func.func @main(%a: {type_}) -> {type_} {{ %r = stablehlo.subtract %a, %a : {type_} return %r : {type_} }}"
    traced = hu.trace(text, np.array([1, 50, -7], np.int8), shadow=True)
    assert traced.results[0].tolist() == [I8.point] * 3
    assert "a sum lost 8 leading bits" in str(traced)


BLOCKS = (
    (Quantized("i8", "f32", "0.1", 5), Quantized("i8", "f32", "0.5")),
    (OTHER, Quantized("i8", "f32", "2.0", -128)),
)
"""Four types, one for each block of 2x3 elements of a tensor of 4x6."""


def of_blocks() -> str:
    rows = ", ".join(f"{{{', '.join(f'{q.scale}:{q.point}' for q in row)}}}" for row in BLOCKS)
    return tensor((4, 6), f"!quant.uniform<i8:f32:{{0:2,1:3}}, {{{rows}}}>")


def each_by_block(of: Callable[..., Any], *arguments: Any) -> list[list[Any]]:
    """Apply a function to the type of each element and to its codes."""
    return [
        [of(BLOCKS[i // 2][j // 3], *(int(codes[i, j]) for codes in arguments)) for j in range(6)] for i in range(4)
    ]


def test_scales_of_blocks_are_an_extension() -> None:
    given, numbers, plain, bits = of_blocks(), tensor((4, 6), "f32"), tensor((4, 6), OTHER.text), tensor((4, 6), "i1")
    function = f"""func.func @main(%a: {given}, %b: {given}) -> ({numbers}, {given}, {plain}, {given}, {bits}, {given}, {bits}, {given}) {{
      %0 = stablehlo.uniform_dequantize %a : ({given}) -> {numbers}
      %1 = stablehlo.uniform_quantize %0 : ({numbers}) -> {given}
      %2 = stablehlo.uniform_quantize %a : ({given}) -> {plain}
      %3 = stablehlo.multiply %a, %b : {given}
      %4 = stablehlo.compare LT, %a, %b : ({given}, {given}) -> {bits}
      %5 = stablehlo.select %4, %a, %b : {bits}, {given}
      %6 = stablehlo.is_finite %a : ({given}) -> {bits}
      %7 = stablehlo.constant() <{{value = dense<7> : tensor<4x6xi8>}}> : () -> {given}
      return %0, %1, %2, %3, %4, %5, %6, %7 : {numbers}, {given}, {plain}, {given}, {bits}, {given}, {bits}, {given} }}"""
    with pytest.raises(hu.errors.VerifyError, match="sub-channel") as caught:
        hu.load(function)
    assert "module attributes {halfulp.sub_channel}" in str(caught.value)
    program = f"module attributes {{halfulp.sub_channel}} {{ {function} }}"
    draw = np.random.default_rng(3)
    a, b = (draw.integers(-128, 128, (4, 6)) for _ in range(2))
    less = each_by_block(lambda q, x, y: q.number(x) < q.number(y), a, b)
    expected: list[Any] = [
        each_by_block(lambda q, x: float(q.number(x)), a),
        a.tolist(),
        each_by_block(lambda q, x: OTHER.stored(q.number(x)), a),
        each_by_block(lambda q, x, y: q.stored(q.near(q.number(x) * q.number(y))), a, b),
        less,
        np.where(less, a, b).tolist(),
        [[True] * 6] * 4,
        [[7] * 6] * 4,
    ]
    for profile in ("stablehlo", "stablehlo-interpreter"):
        assert run(program, np.int8(a), np.int8(b), profile=profile) == expected
    # Ops that move elements reject these types.
    moved = program.replace("stablehlo.constant()", '"stablehlo.reverse"(%a)').replace("() -> ", f"({given}) -> ")
    with pytest.raises(hu.errors.VerifyError, match="must be ranked tensor of"):
        hu.load(moved.replace("value = dense<7> : tensor<4x6xi8>", "dimensions = array<i64: 0>"))


def test_lanes_of_a_batch() -> None:
    """The axis of the scales is that of a lane."""
    x, w, sums_ = (
        f"tensor<{shape}x{element}>"
        for shape, element in (("2x3", I8.text), ("3x3", by_axis(WEIGHTS, 1)), ("2x3", by_axis(SUMS, 1)))
    )
    text = f"""func.func @main(%a: tensor<2x3xf32>, %b: tensor<3x3xf32>) -> tensor<2x3xf32> {{
      %0 = stablehlo.uniform_quantize %a : (tensor<2x3xf32>) -> {x}
      %1 = stablehlo.uniform_quantize %b : (tensor<3x3xf32>) -> {w}
      %2 = stablehlo.dot_general %0, %1, contracting_dims = [1] x [0] : ({x}, {w}) -> {sums_}
      %3 = stablehlo.uniform_dequantize %2 : ({sums_}) -> tensor<2x3xf32>
      return %3 : tensor<2x3xf32> }}"""
    draw = np.random.default_rng(5)
    a, b = draw.normal(size=(3, 2, 3)).astype(np.float32), draw.normal(size=(3, 3, 3)).astype(np.float32)
    for profile in ("stablehlo", "stablehlo-interpreter"):
        (found,) = hu.run(text, a, b, batch=True, profile=profile)
        assert found.numpy().tolist() == [run(text, x, y, profile=profile)[0] for x, y in zip(a, b, strict=True)]


WEIGHTS = tuple(Quantized("i8", "f32", scale) for scale in ("0.02", "0.5", "0.013"))
SUMS = tuple(Quantized("i32", "f32", scale) for scale in ("0.001", "0.02", "0.0005"))


def sums(left: Sequence[Fraction], columns: Sequence[Sequence[Fraction]]) -> list[Fraction]:
    """Multiply and add in f32, in order."""
    found = []
    for column in columns:
        total = Fraction(0)
        for one, other in zip(left, column, strict=True):
            total = rounded(total + rounded(one * other, "f32"), "f32")
        found.append(total)
    return found


def test_products_of_matrices() -> None:
    draw = random.Random(4)
    a = [[draw.randint(-128, 127) for _ in range(5)] for _ in range(2)]
    b = [[draw.randint(-128, 127) for _ in range(3)] for _ in range(5)]
    x = [[Fraction(draw.randint(-4096, 4096), 1024) for _ in range(5)] for _ in range(2)]
    dims = "contracting_dims = [1] x [0]"
    text = f"""func.func @main(%a: tensor<2x5x{I8.text}>, %b: tensor<5x3x{by_axis(WEIGHTS, 1)}>, %x: tensor<2x5xf32>) -> (tensor<2x3x{by_axis(SUMS, 1)}>, tensor<2x3xf32>, tensor<1x2x1x3x{by_axis(SUMS, 3)}>) {{
      %0 = stablehlo.dot_general %a, %b, {dims} : (tensor<2x5x{I8.text}>, tensor<5x3x{by_axis(WEIGHTS, 1)}>) -> tensor<2x3x{by_axis(SUMS, 1)}>
      %1 = stablehlo.dot_general %x, %b, {dims} : (tensor<2x5xf32>, tensor<5x3x{by_axis(WEIGHTS, 1)}>) -> tensor<2x3xf32>
      %i = stablehlo.reshape %a : (tensor<2x5x{I8.text}>) -> tensor<1x2x1x5x{I8.text}>
      %k = stablehlo.reshape %b : (tensor<5x3x{by_axis(WEIGHTS, 1)}>) -> tensor<1x1x5x3x{by_axis(WEIGHTS, 3)}>
      %2 = stablehlo.convolution(%i, %k) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {{}} {{batch_group_count = 1 : i64, feature_group_count = 1 : i64}} : (tensor<1x2x1x5x{I8.text}>, tensor<1x1x5x3x{by_axis(WEIGHTS, 3)}>) -> tensor<1x2x1x3x{by_axis(SUMS, 3)}>
      return %0, %1, %2 : tensor<2x3x{by_axis(SUMS, 1)}>, tensor<2x3xf32>, tensor<1x2x1x3x{by_axis(SUMS, 3)}> }}"""
    columns = [[q.number(row[k]) for row in b] for k, q in enumerate(WEIGHTS)]
    expected = [
        [q.stored(each) for q, each in zip(SUMS, sums([I8.number(n) for n in row], columns), strict=True)] for row in a
    ]
    whole, hybrid, convolved = run(text, np.array(a, np.int8), np.array(b, np.int8), np.array(x, np.float32))
    assert whole == expected
    assert [[Fraction(each) for each in row] for row in hybrid] == [sums(row, columns) for row in x]
    assert convolved[0] == [[row] for row in expected]


def test_a_body_combines_quantised_elements() -> None:
    whole, one = tensor((4,), I8.text), tensor((), I8.text)
    text = f"""func.func @main(%a: {whole}, %i: {one}) -> {one} {{
      %r = stablehlo.reduce(%a init: %i) applies stablehlo.multiply across dimensions = [0] : ({whole}, {one}) -> {one}
      return %r : {one} }}"""
    numbers = [17, 3, -9, 30]
    # The body has the accumulator first, and each result is quantised.
    expected = 25
    for each in numbers:
        expected = I8.stored(I8.near(I8.number(expected) * I8.number(each)))
    assert run(text, np.array(numbers, np.int8), np.int8(25)) == [expected]


# --- StableHLO's interpreter ------------------------------------------------------------------------------------------


class Row(NamedTuple):
    """An op on stored integers, and its results by the specification and by StableHLO's interpreter 1.17 and 1.22."""

    op: str
    types: tuple[str, ...]
    given: tuple[list[int], ...]
    spec: list[int]
    interpreter: list[int]


SMALL, WEIGHT = Quantized("i8", "f32", "0.01"), Quantized("i8", "f32", "0.02")
DOT = "dot_general %a, %b, contracting_dims = [0] x [0]"
ROWS = (
    # -10.5 and -0.2 of the new scale: each operand is rounded to it before they are added.
    Row("add %a, %b", (I8.text, I8.text, OTHER.text), ([-100, -3, 7, 60], [3, 11, -40, 90]), [-128, -25, -128, 127], [-128, -26, -128, 127]),
    Row("uniform_quantize %a", (I8.text, "!quant.uniform<i8:f32, 0.2>"), ([-104, -84, -52, -16, -8],), [-55, -45, -29, -11, -7], [-54, -44, -28, -10, -6]),
    # The interpreter does not look at the scale of the result.
    Row("select %p, %a, %b", (I8.text, I8.text, OTHER.text), ([-100, -3, 7, 60], [3, 11, -40, 90]), [-128, -4, -15, 127], [-100, 11, 7, 90]),
    # 54.7 is 2,571 steps of 0.02, which the interpreter cuts to 8 bits.
    Row(DOT, (I8.text, WEIGHT.text, SMALL.text), ([100, 90, -80], [127, 90, -100]), [127], [11]),
    Row(DOT, (I8.text, WEIGHT.text, "!quant.uniform<i32:f32, 0.07:9>"), ([100, 90, -80], [127, 90, -100]), [815], [815]),
)  # fmt: skip


def closed(row: Row) -> str:
    """Return the program of a row without arguments, whose result is stored integers."""
    *operands, made = row.types
    shapes = [(len(each),) for each in row.given]
    result = () if row.op == DOT else shapes[0]
    lines = ["%p = stablehlo.constant dense<[true, false, true, false]> : tensor<4xi1>"]
    types = ["tensor<4xi1>"] * row.op.startswith("select")
    for name, shape, element, numbers in zip("ab", shapes, operands, row.given, strict=False):
        types.append(tensor(shape, element))
        lines += [
            f"%{name}0 = stablehlo.constant dense<{numbers}> : {tensor(shape, 'i8')}",
            f"%{name} = stablehlo.bitcast_convert %{name}0 : ({tensor(shape, 'i8')}) -> {types[-1]}",
        ]
    whole, bits = (tensor(result, each) for each in (made, "i32" if "i32" in made else "i8"))
    lines += [
        f"%r = stablehlo.{row.op} : ({', '.join(types)}) -> {whole}",
        f"%z = stablehlo.bitcast_convert %r : ({whole}) -> {bits}",
        f"return %z : {bits}",
    ]
    body = " ".join(f"{line}\n" for line in lines)
    return f"func.func @main() -> {bits} {{ {body} }}"


def test_the_profile_of_the_interpreter_computes_on_stored_integers() -> None:
    for row in ROWS:
        for profile, expected in (("stablehlo", row.spec), ("stablehlo-interpreter", row.interpreter)):
            (found,) = hu.run(closed(row), profile=profile)
            assert found.numpy().reshape(-1).tolist() == expected, (row.op, profile)


@pytest.mark.jax
def test_rows_are_those_of_the_interpreter(reference: Reference) -> None:
    for row in ROWS:
        found = reference.results(closed(row))
        mask = 0xFFFFFFFF if "i32" in row.types[-1] else 0xFF
        assert found == [[number & mask for number in row.interpreter]], row.op


@pytest.mark.jax
@pytest.mark.parametrize("seeds", amounts(range(15), range(10_000), long=range(500)), ids=str)
def test_random_programs_give_the_bits_of_the_interpreter(reference: Reference, seeds: range) -> None:
    """The convolution of jaxlib 0.10.2 cuts products to the storage type, so that only one of 32 bits is compared; that
    of 0.12 does not.
    """
    failures, answered = [], 0
    for seed in seeds:
        text = Program(seed, convolved=("i32",)).text
        expected = reference.results(text)
        if expected is not None:
            answered += 1
            found = [value.bits.reshape(-1).tolist() for value in hu.run(text, profile="stablehlo-interpreter")]
            if found != expected:
                failures.append(seed)
    assert not failures
    assert answered > 0.9 * len(seeds)
