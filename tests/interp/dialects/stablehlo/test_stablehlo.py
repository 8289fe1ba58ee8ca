"""The ops of StableHLO: their forms, their rules, and what they compute."""

from __future__ import annotations

import math
import random
from itertools import product
from typing import Any

import numpy as np
import pytest
from amounts import thinned
from stablehlo_reference import Reference
from tables import each_row

import halfulp as hu
from halfulp.fp_formats.formats import FORMATS
from halfulp.interp.dialects.stablehlo.elementwise import _BINARY_ROWS, _UNARY_ROWS
from halfulp.interp.ir.errors import HalfulpError
from halfulp.interp.text.printer import print_module
from halfulp.semantics import stablehlo as semantics

VALUES = (
    "%a: tensor<2x3xf32>, %b: tensor<f32>, %v: tensor<3xf32>, %i: tensor<i32>, %p: tensor<2x3xi1>, %u: tensor<3xui8>"
)
COMPLEX = "%c: tensor<2xcomplex<f32>>, %n: tensor<2xi32>"

# Each line is one op, as StableHLO 1.17 prints it.
FORMS = (
    "stablehlo.broadcast_in_dim %v, dims = [1] : (tensor<3xf32>) -> tensor<2x3xf32>",
    "stablehlo.reshape %a : (tensor<2x3xf32>) -> tensor<6xf32>",
    "stablehlo.transpose %a, dims = [1, 0] : (tensor<2x3xf32>) -> tensor<3x2xf32>",
    "stablehlo.reverse %a, dims = [0] : tensor<2x3xf32>",
    "stablehlo.slice %a [0:2, 1:3:2] : (tensor<2x3xf32>) -> tensor<2x1xf32>",
    "stablehlo.pad %a, %b, low = [0, 1], high = [2, -1], interior = [0, 1] : (tensor<2x3xf32>, tensor<f32>) -> tensor<4x5xf32>",
    "stablehlo.concatenate %a, %a, dim = 0 : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<4x3xf32>",
    "stablehlo.iota dim = 0 : tensor<4x3xf32>",
    "stablehlo.dynamic_slice %a, %i, %i, sizes = [1, 2] : (tensor<2x3xf32>, tensor<i32>, tensor<i32>) -> tensor<1x2xf32>",
    "stablehlo.dynamic_update_slice %a, %a, %i, %i : (tensor<2x3xf32>, tensor<2x3xf32>, tensor<i32>, tensor<i32>) -> "
    "tensor<2x3xf32>",
    "stablehlo.clamp %a, %a, %a : tensor<2x3xf32>",
    "stablehlo.add %a, %a : tensor<2x3xf32>",
    "stablehlo.cosine %a : tensor<2x3xf32>",
    "stablehlo.sqrt %a {result_accuracy = #stablehlo.result_accuracy<atol = 0x41E0000000000000, rtol = 1.500000e+00, "
    "mode = #stablehlo.result_accuracy_mode<TOLERANCE>>} : tensor<2x3xf32>",
    "stablehlo.is_finite %a : (tensor<2x3xf32>) -> tensor<2x3xi1>",
    "stablehlo.abs %c : (tensor<2xcomplex<f32>>) -> tensor<2xf32>",
    "stablehlo.convert %u : (tensor<3xui8>) -> tensor<3xf64>",
    "stablehlo.compare EQ, %a, %a, TOTALORDER : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xi1>",
    "stablehlo.select %p, %a, %a : tensor<2x3xi1>, tensor<2x3xf32>",
    "stablehlo.reduce_precision %a, format = e5m10 : tensor<2x3xf32>",
    "stablehlo.reduce(%a init: %b) applies stablehlo.add across dimensions = [1] : (tensor<2x3xf32>, tensor<f32>) -> "
    "tensor<2xf32>",
    "stablehlo.dot_general %a, %a, contracting_dims = [1] x [1], precision = [DEFAULT, HIGHEST] : (tensor<2x3xf32>, "
    "tensor<2x3xf32>) -> tensor<2x2xf32>",
    "stablehlo.dot_general %a, %a, batching_dims = [0] x [0], contracting_dims = [1] x [1], algorithm = "
    "<lhs_precision_type = f32, rhs_precision_type = f32, accumulation_type = f32, lhs_component_count = 1, "
    "rhs_component_count = 1, num_primitive_operations = 1, allow_imprecise_accumulation = false> : (tensor<2x3xf32>, "
    "tensor<2x3xf32>) -> tensor<2xf32>",
    "stablehlo.bitcast_convert %u : (tensor<3xui8>) -> tensor<3xi8>",
    "stablehlo.broadcast %v, sizes = [2] : (tensor<3xf32>) -> tensor<2x3xf32>",
    "stablehlo.dynamic_broadcast_in_dim %v, %n, dims = [1] {known_expanding_dimensions = array<i64: 0>} : "
    "(tensor<3xf32>, tensor<2xi32>) -> tensor<?x3xf32>",
    "stablehlo.dynamic_reshape %a, %n : (tensor<2x3xf32>, tensor<2xi32>) -> tensor<?x?xf32>",
    "stablehlo.uniform_quantize %v : (tensor<3xf32>) -> tensor<3x!quant.uniform<ui8:f32, 5.000000e-01>>",
    "stablehlo.dynamic_iota %n, dim = 1 : (tensor<2xi32>) -> tensor<?x?xf32>",
    "stablehlo.dynamic_pad %a, %b, %n, %n, %n : (tensor<2x3xf32>, tensor<f32>, tensor<2xi32>, tensor<2xi32>, "
    "tensor<2xi32>) -> tensor<?x?xf32>",
    "stablehlo.real_dynamic_slice %a, %n, %n, %n : (tensor<2x3xf32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>) -> "
    "tensor<?x?xf32>",
    "stablehlo.custom_call @x(%a) {api_version = 4 : i32, mhlo.backend_config = {x = 1 : i32}, output_operand_aliases = "
    "[#stablehlo.output_operand_alias<output_tuple_indices = [], operand_index = 0, operand_tuple_indices = []>]} : "
    "(tensor<2x3xf32>) -> tensor<2x3xf32>",
    "chlo.erf %a : tensor<2x3xf32> -> tensor<2x3xf32>",
    "chlo.is_inf %a : tensor<2x3xf32> -> tensor<2x3xi1>",
    "chlo.square %c : tensor<2xcomplex<f32>> -> tensor<2xcomplex<f32>>",
    "chlo.next_after %a, %a : tensor<2x3xf32>, tensor<2x3xf32> -> tensor<2x3xf32>",
)

# What StableHLO 1.17 says, after the place.
ERRORS = (
    ("stablehlo.broadcast_in_dim %v, dims = [5] : (tensor<3xf32>) -> tensor<2x3xf32>",
     "broadcast_dimensions contains invalid value 5 for result with rank 2"),
    ("stablehlo.broadcast_in_dim %v, dims = [0] : (tensor<3xf32>) -> tensor<2x3xf32>",
     "size of operand dimension 0 (3) is not equal to 1 or size of result dimension 0 (2)"),
    ("stablehlo.broadcast_in_dim %a, dims = [0, 0] : (tensor<2x3xf32>) -> tensor<2x3xf32>",
     "broadcast_dimensions should not have duplicates"),
    ("stablehlo.reshape %a : (tensor<2x3xf32>) -> tensor<5xf32>",
     "number of output elements (5) doesn't match expected number of elements (6)"),
    ("stablehlo.transpose %a, dims = [1, 1] : (tensor<2x3xf32>) -> tensor<3x2xf32>",
     "attribute permutation must be a permutation of [0, 1] but got 1, 1"),
    ("stablehlo.reverse %a, dims = [-3] : tensor<2x3xf32>",
     "all dimensions should be non-negative. Got dimension: -3."),
    ("stablehlo.slice %a [-1:2, 1:3:2] : (tensor<2x3xf32>) -> tensor<2x1xf32>",
     "negative start index -1 in dimension 0"),
    ("stablehlo.pad %a, %b, low = [0, 1], high = [2], interior = [0, 1] : (tensor<2x3xf32>, tensor<f32>) -> tensor<4x5xf32>",
     "'stablehlo.pad' op failed to verify that all of {edge_padding_low, edge_padding_high, interior_padding} have same "
     "size"),
    ("stablehlo.pad %a, %b, low = [0, 1], high = [-4, 0], interior = [0, 0] : (tensor<2x3xf32>, tensor<f32>) -> "
     "tensor<4x5xf32>", "Padding result in negative size for dimension 0"),
    ("stablehlo.concatenate %a, %a, dim = 2 : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<4x3xf32>",
     "dimension 2 is out-of-bounds for input rank 2"),
    ("stablehlo.iota dim = -1 : tensor<4x3xf32>",
     "'stablehlo.iota' op attribute 'iota_dimension' failed to satisfy constraint: 64-bit signless integer attribute "
     "whose value is non-negative"),
    ("stablehlo.dynamic_slice %a, %i, %i, sizes = [1, 4] : (tensor<2x3xf32>, tensor<i32>, tensor<i32>) -> "
     "tensor<1x2xf32>", "has slice size 4 greater than dimension size 3 in dimension 1 of operand"),
    ("stablehlo.ceil %u : tensor<3xui8>",
     "'stablehlo.ceil' op operand #0 must be ranked tensor of 4/6/8/16/32/64-bit float or per-tensor integer quantized "
     "values, but got 'tensor<3xui8>'"),
    ('"stablehlo.constant"() <{value = dense<1> : tensor<3xui8>}> : () -> tensor<3x!quant.uniform<u8:f32, 0.5>>',
     "'stablehlo.constant' op inferred type(s) 'tensor<3xui8>' are incompatible with return type(s) of operation "
     "'tensor<3x!quant.uniform<u8:f32, 5.000000e-01>>'"),
    ("stablehlo.uniform_quantize %v : (tensor<3xf32>) -> tensor<3x!quant.uniform<si8:f32, 0.5>>",
     "'stablehlo.uniform_quantize' op result #0 must be ranked tensor of per-tensor integer quantized or per-axis integer "
     "quantized values, but got 'tensor<3x!quant.uniform<si8:f32, 5.000000e-01>>'"),
    ("stablehlo.transpose %a, dims = [1, a] : (tensor<2x3xf32>) -> tensor<3x2xf32>",
     "custom op 'stablehlo.transpose' expected integer value"),
)  # fmt: skip

# What halfulp accepts, rejects or prints otherwise, on purpose: docs/from-jax.md has the reasons. Each row has an op,
# what halfulp says, and what StableHLO prints.
OTHERWISE = (
    ('"stablehlo.reduce"(%v, %b, %b) <{dimensions = array<i64: 0>}> ({ ^bb0(%x: tensor<f32>, %y: tensor<f32>): '
     "stablehlo.return %x : tensor<f32> }) : (tensor<3xf32>, tensor<f32>, tensor<f32>) -> tensor<f32>",
     "'stablehlo.reduce' op has 3 operands, but 'inputs' and 'init_values' need the same number of operands each",
     "stablehlo.reduce(%arg2 init: %arg1) across dimensions = [0] : (tensor<3xf32>, tensor<f32>, tensor<f32>)"),
    ('"t.r"() : () -> tensor<2xf32, #sparse_tensor.encoding<{ map = (d0) -> (d0 : compressed) }>>',
     '"t.r"() : () -> tensor<2xf32, #sparse>',
     '"t.r"() : () -> tensor<2xf32, #sparse_tensor.encoding<{ map = (d0) -> (d0 : compressed) }>>'),
    ('"check.expect_eq"(%v, %v) : (tensor<3xf32>, tensor<3xf32>) -> ()',
     "check.expect_eq(%arg2, %arg2) : tensor<3xf32>",
     '"check.expect_eq"(%arg2, %arg2) : (tensor<3xf32>, tensor<3xf32>) -> ()'),
)  # fmt: skip


def module(line: str) -> str:
    return f"func.func @f({VALUES}, {COMPLEX}) {{\n  %0 = {line}\n  return\n}}"


@each_row(*FORMS)
def test_an_op_is_printed_as_it_was_read(line: str) -> None:
    names = dict(zip("abvipucn", (f"arg{k}" for k in range(8)), strict=True))
    expected = line
    for name, new in names.items():
        expected = expected.replace(f"%{name}", f"%{new}")
    assert f"    %0 = {expected}\n" in print_module(hu.load(module(line)))


@each_row(*ERRORS)
def test_a_wrong_op_is_told_in_the_words_of_stablehlo(line: str, message: str) -> None:
    with pytest.raises(HalfulpError) as caught:
        hu.load(module(line))
    assert message in str(caught.value)


def answer(text: str) -> str:
    try:
        return print_module(hu.load(text))
    except HalfulpError as error:
        return error.message


def other_module(line: str) -> str:
    return module(line).replace("%0 = " if "-> ()" in line else "", "")


@each_row(*OTHERWISE)
def test_text_that_is_treated_otherwise(line: str, ours: str, theirs: str) -> None:
    said = answer(other_module(line))
    assert ours in said
    assert theirs not in said


@pytest.mark.jax
def test_stablehlo_itself_prints_and_says_the_same(reference: Reference) -> None:
    for line in FORMS:
        assert reference.printed(module(line)) == print_module(hu.load(module(line)))
    for line, message in ERRORS:
        said = reference.error(module(line))
        assert said is not None
        assert said == message
    # The process rejects the dialects of the other rows.
    line, _, theirs = OTHERWISE[0]
    assert theirs in (reference.printed(other_module(line)) or "")


# --- elements ---------------------------------------------------------------------------------------------------------


def bits(type_: str) -> int:
    return FORMATS[type_].bits if type_ in FORMATS else int(type_.lstrip("ui"))


def dense(codes: Any, type_: str) -> str:
    """Return the text of a constant of these codes."""
    width = bits(type_)
    codes = [int(code) for code in codes]
    if type_ == "i1":
        texts = ["true" if code else "false" for code in codes]
    elif type_[0] in "fb":
        texts = [f"0x{code:0{max(1, width // 4)}X}" for code in codes]
    else:
        texts = [str(code - (1 << width) if type_[0] == "i" and code >> width - 1 else code) for code in codes]
    return f"dense<[{', '.join(texts)}]> : tensor<{len(codes)}x{type_}>"


def program(op: str, type_: str, operands: Any, result: str, attributes: str = "", more: tuple[str, ...] = ()) -> str:
    """Return a module whose @main applies an op to constants. ``more``: types to which the result is bit-cast or
    converted, one after the other.
    """
    count = len(operands[0])
    lines = [f"%a{k} = stablehlo.constant {dense(codes, type_)}" for k, codes in enumerate(operands)]
    names, types = (
        ", ".join(f"%a{k}" for k in range(len(operands))),
        ", ".join([f"tensor<{count}x{type_}>"] * len(operands)),
    )
    lines.append(f'%r0 = "stablehlo.{op}"({names}) {attributes} : ({types}) -> tensor<{count}x{result}>')
    last = result
    for number, (how, each) in enumerate((step.split() for step in more), 1):
        lines.append(
            f"%r{number} = stablehlo.{how} %r{number - 1} : (tensor<{count}x{last}>) -> tensor<{count}x{each}>"
        )
        last = each
    body = "\n  ".join(lines)
    return (
        f"func.func @main() -> tensor<{count}x{last}> {{\n  {body}\n  return %r{len(more)} : tensor<{count}x{last}>\n}}"
    )


def test_total_order() -> None:
    """-NaN < -inf < -0 < 0 < inf < NaN, and NaNs by their payloads."""
    order = [*range(0xFF, 0x7F, -1), *range(0x80)]
    rank = {code: place for place, code in enumerate(order)}
    rows = [(a, b) for a in order[::5] for b in order]
    attributes = (
        "{comparison_direction = #stablehlo<comparison_direction LT>, compare_type = #stablehlo<comparison_type "
        "TOTALORDER>}"
    )
    (found,) = hu.run(program("compare", "f8E5M2", [[a for a, _ in rows], [b for _, b in rows]], "i1", attributes))
    assert found.bits.tolist() == [int(rank[a] < rank[b]) for a, b in rows]


SMALL = ("f8E4M3FN", "f8E5M2", "f8E4M3FNUZ", "f8E3M4", "f8E4M3")
WRONG = {("ceil", "f8E3M4"), ("floor", "f8E3M4"), ("round_nearest_afz", "f8E3M4"), ("round_nearest_even", "f8E3M4")}
"""Pairs for which StableHLO 1.17's own interpreter gives NaN for ordinary numbers."""


@pytest.mark.jax
@pytest.mark.parametrize("type_", thinned(SMALL, 2))
def test_floats_are_those_of_the_reference(reference: Reference, type_: str) -> None:
    """All operands; pairs are a sample. A NaN has the sign that each implementation gives it."""
    fmt, dice = FORMATS[type_], random.Random(type_)
    pairs = dice.sample([(a, b) for a in range(256) for b in range(256)], 2000)
    for op in sorted({*_UNARY_ROWS, *_BINARY_ROWS} - {"real", "imag", "is_finite", "logistic"}):
        letters = _UNARY_ROWS[op][0] if op in _UNARY_ROWS else _BINARY_ROWS[op][0]
        if "F" not in letters or (op, type_) in WRONG:
            continue
        columns = [range(256)] if op in _UNARY_ROWS else [[a for a, _ in pairs], [b for _, b in pairs]]
        expected = reference.results(program(op, type_, columns, type_, more=("bitcast_convert ui8",)))
        (found,) = hu.run(program(op, type_, columns, type_))
        assert expected is not None, op
        for row, code, got in zip(zip(*columns, strict=True), expected[0], found.bits.tolist(), strict=True):
            if op == "power" and any(fmt.is_signalling(each) for each in row):
                assert fmt.is_nan(got)  # IEEE 754's 1 to a signalling NaN is a NaN, C's is 1
                continue
            assert got == code or (fmt.is_nan(got) and fmt.is_nan(code)), (op, row)


# --- structure --------------------------------------------------------------------------------------------------------


def body(op: str, type_: str = "f32") -> str:
    return (
        f"({{ ^bb0(%x: tensor<{type_}>, %y: tensor<{type_}>): %z = stablehlo.{op} %x, %y : tensor<{type_}> "
        f"stablehlo.return %z : tensor<{type_}> }})"
    )


def test_a_sum_goes_in_row_major_order() -> None:
    """In f16, 2048 + 1 is 2048: the order decides."""
    text = """func.func @f(%a: tensor<2x3x2xf16>, %b: tensor<f16>) -> tensor<3xf16> {
      %r = stablehlo.reduce(%a init: %b) applies stablehlo.add across dimensions = [0, 2] :
        (tensor<2x3x2xf16>, tensor<f16>) -> tensor<3xf16>
      return %r : tensor<3xf16> }"""
    a = np.zeros((2, 3, 2), np.float16)
    a[0, 0], a[1, 0] = [1, 2048], [1, 1]
    a[0, 1], a[1, 1] = [2048, 1], [1, 1]
    a[0, 2], a[1, 2] = [1, 1], [1, 2048]
    (found,) = hu.run(text, a, np.float16(1))
    expected = []
    for column in range(3):
        total = np.float16(1)
        for k, m in product(range(2), range(2)):
            total = np.float16(total + a[k, column, m])
        expected.append(total)
    assert found.numpy().tolist() == expected


@each_row("sequential", "pairwise", "exact")
def test_the_order_of_sums_is_that_of_the_profile(order: str) -> None:
    """The field `reduction_order` gives what `halfulp.sum` gives in that order, also after products of factors."""
    profile, dice = hu.Profile(reduction_order=order), np.random.default_rng(3)
    for type_ in ("f32", "bf16", "f8E5M2"):
        a, ones = hu.convert(dice.standard_normal((7, 37)) * 4, type_), hu.convert(np.ones(37), type_)
        text = f"""func.func @f(%a: tensor<7x37x{type_}>, %b: tensor<37x{type_}>, %z: tensor<{type_}>)
            -> (tensor<7x{type_}>, tensor<7x{type_}>) {{
          %r = stablehlo.reduce(%a init: %z) applies stablehlo.add across dimensions = [1] :
            (tensor<7x37x{type_}>, tensor<{type_}>) -> tensor<7x{type_}>
          %s = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] :
            (tensor<7x37x{type_}>, tensor<37x{type_}>) -> tensor<7x{type_}>
          return %r, %s : tensor<7x{type_}>, tensor<7x{type_}> }}"""
        expected = hu.sum(a, axis=1, acc=type_, order=order)
        for found in hu.run(text, a, ones, hu.convert(0, type_), profile=profile):
            assert np.array_equal(found.bits, expected.bits), type_


def test_a_reduction_of_two_arrays_finds_the_largest_and_its_place() -> None:
    text = """func.func @f(%a: tensor<2x5xf32>, %i: tensor<2x5xi32>, %x: tensor<f32>, %j: tensor<i32>)
        -> (tensor<2xf32>, tensor<2xi32>) {
      %s:2 = stablehlo.reduce(%a init: %x), (%i init: %j) across dimensions = [1] :
        (tensor<2x5xf32>, tensor<2x5xi32>, tensor<f32>, tensor<i32>) -> (tensor<2xf32>, tensor<2xi32>)
       reducer(%p: tensor<f32>, %q: tensor<f32>) (%u: tensor<i32>, %v: tensor<i32>) {
        %less = stablehlo.compare LT, %p, %q : (tensor<f32>, tensor<f32>) -> tensor<i1>
        %one = stablehlo.select %less, %q, %p : tensor<i1>, tensor<f32>
        %two = stablehlo.select %less, %v, %u : tensor<i1>, tensor<i32>
        stablehlo.return %one, %two : tensor<f32>, tensor<i32>
       }
      return %s#0, %s#1 : tensor<2xf32>, tensor<2xi32> }"""
    a = np.array([[1, 5, 2, 5, 0], [7, 3, 7, 1, 2]], np.float32)
    values, places = hu.run(text, a, np.tile(np.arange(5, dtype=np.int32), (2, 1)), np.float32(-np.inf), np.int32(-1))
    assert values.numpy().tolist() == [5, 7]
    assert places.numpy().tolist() == [1, 0]


def test_dot_general_sums_in_the_type_of_the_result() -> None:
    """f8 to f16: the products and sums are those of NumPy's float16, one after the other."""
    dice = np.random.default_rng(1)
    a, b = (
        hu.convert(dice.standard_normal((2, 3, 5)), "f8E4M3FN"),
        hu.convert(dice.standard_normal((2, 5, 4)), "f8E4M3FN"),
    )
    text = """func.func @f(%a: tensor<2x3x5xf8E4M3FN>, %b: tensor<2x5x4xf8E4M3FN>) -> tensor<2x3x4xf16> {
      %r = stablehlo.dot_general %a, %b, batching_dims = [0] x [0], contracting_dims = [2] x [1] :
        (tensor<2x3x5xf8E4M3FN>, tensor<2x5x4xf8E4M3FN>) -> tensor<2x3x4xf16>
      return %r : tensor<2x3x4xf16> }"""
    (found,) = hu.run(text, a, b)
    x, y = (hu.convert(each, "f16").numpy() for each in (a, b))
    total = np.zeros((2, 3, 4), np.float16)
    for k in range(5):
        total = total + x[:, :, k, None] * y[:, None, k, :]
    assert np.array_equal(found.numpy(), total)


def convolution(
    a: Any, b: Any, strides: Any, low: Any, places: Any, dilation: Any, base: Any, groups: int, batches: int
) -> Any:
    """Return a convolution of NHWC by HWIO, each sum in f32 from the first place of the window on."""
    n, height, width, _ = a.shape
    features = b.shape[3]
    found = np.zeros((n // batches, *places, features), np.float32)
    for image, y, x, out in product(range(n // batches), range(places[0]), range(places[1]), range(features)):
        total = np.float32(0)
        group = out * groups // features
        row = image + (out * batches // features) * (n // batches)
        for ky, kx, k in product(*map(range, b.shape[:3])):
            py, px = y * strides[0] + ky * dilation[0] - low[0], x * strides[1] + kx * dilation[1] - low[1]
            if py % base[0] == 0 and px % base[1] == 0 and 0 <= py < height * base[0] and 0 <= px < width * base[1]:
                value = a[row, py // base[0], px // base[1], group * b.shape[2] + k]
                total = np.float32(total + value * b[ky, kx, k, out])
        found[image, y, x, out] = total
    return found


@each_row(
    ((1, 1), (1, 1), (0, 0), (5, 6), (1, 1), (1, 1), 1, 1),
    ((2, 1), (1, 0), (1, 2), (3, 5), (1, 2), (1, 1), 1, 1),
    ((1, 2), (2, 2), (0, 1), (6, 4), (2, 1), (1, 1), 2, 1),
    ((1, 1), (0, 0), (0, 0), (8, 10), (1, 1), (2, 2), 1, 1),
    ((1, 1), (0, 0), (0, 0), (4, 5), (1, 1), (1, 1), 1, 2),
)
def test_convolutions(
    strides: Any, low: Any, high: Any, places: Any, dilation: Any, base: Any, groups: int, batches: int
) -> None:
    dice = np.random.default_rng(2)
    a = dice.standard_normal((2, 5, 6, 4), np.float32)
    b = dice.standard_normal((2, 2, 4 // groups, 4), np.float32)
    whole = tuple(
        ((size - 1) * each + 1 + below + above - (1 * far + 1)) // step + 1
        for size, each, below, above, far, step in zip((5, 6), base, low, high, dilation, strides, strict=True)
    )
    result = f"tensor<{2 // batches}x{whole[0]}x{whole[1]}x4xf32>"
    text = f"""func.func @f(%a: tensor<2x5x6x4xf32>, %b: tensor<2x2x{4 // groups}x4xf32>) -> {result} {{
      %r = stablehlo.convolution(%a, %b) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {{
        stride = {list(strides)}, pad = [[{low[0]}, {high[0]}], [{low[1]}, {high[1]}]], lhs_dilate = {list(base)},
        rhs_dilate = {list(dilation)}}} {{batch_group_count = {batches} : i64, feature_group_count = {groups} : i64}} :
        (tensor<2x5x6x4xf32>, tensor<2x2x{4 // groups}x4xf32>) -> {result}
      return %r : {result} }}"""
    (found,) = hu.run(text, a, b)
    assert np.array_equal(found.numpy(), convolution(a, b, strides, low, whole, dilation, base, groups, batches))


def test_windows_of_a_padded_array() -> None:
    """The init is in each padded place, and at the start."""
    text = f"""func.func @f(%a: tensor<3x2xi32>, %b: tensor<i32>) -> tensor<2x2xi32> {{
      %r = "stablehlo.reduce_window"(%a, %b) <{{window_dimensions = array<i64: 2, 1>, window_strides = array<i64: 4, 1>,
        base_dilations = array<i64: 2, 1>, window_dilations = array<i64: 3, 1>,
        padding = dense<[[2, 1], [0, 0]]> : tensor<2x2xi64>}}> {body("add", "i32")}
        : (tensor<3x2xi32>, tensor<i32>) -> tensor<2x2xi32>
      return %r : tensor<2x2xi32> }}"""
    (found,) = hu.run(text, np.array([[1, 2], [3, 4], [5, 6]], np.int32), np.int32(1000))
    # Rows 2, 4 and 6 of eight have the numbers; windows begin at rows 0 and 4, and take each third row.
    assert found.numpy().tolist() == [[3000, 3000], [2003, 2004]]


@each_row((2, 3), (40, 3))
def test_bodies_use_values_from_outside_in_a_batch(rows: int, columns: int) -> None:
    """The value differs from lane to lane; few and many results go different ways."""
    text = f"""func.func @f(%a: tensor<{rows}x{columns}xi32>, %z: tensor<i32>, %c: tensor<i32>) -> (tensor<{rows}xi32>, tensor<{rows}xi32>) {{
      %r = stablehlo.reduce(%a init: %z) across dimensions = [1] : (tensor<{rows}x{columns}xi32>, tensor<i32>) -> tensor<{rows}xi32>
       reducer(%x: tensor<i32>, %y: tensor<i32>) {{
        %d = stablehlo.subtract %x, %c : tensor<i32>
        %e = stablehlo.multiply %d, %y : tensor<i32>
        stablehlo.return %e : tensor<i32>
      }}
      %s = stablehlo.reduce(%a init: %z) across dimensions = [1] : (tensor<{rows}x{columns}xi32>, tensor<i32>) -> tensor<{rows}xi32>
       reducer(%x: tensor<i32>, %y: tensor<i32>) {{
        stablehlo.return %c : tensor<i32>
      }}
      return %r, %s : tensor<{rows}xi32>, tensor<{rows}xi32> }}"""
    dice = np.random.default_rng(rows)
    a, z, c = (dice.integers(-9, 9, shape, np.int32) for shape in ((3, rows, columns), (3,), (3,)))
    one, other = hu.run(text, a, z, c, batch=True)
    total = np.repeat(z[:, np.newaxis], rows, 1)
    for column in range(columns):
        total = (total - c[:, np.newaxis]) * a[:, :, column]
    assert np.array_equal(one.numpy(), total)
    assert np.array_equal(other.numpy(), np.repeat(c[:, np.newaxis], rows, 1))


def test_a_batch_of_bounds_and_of_bits() -> None:
    """Each lane has its own bounds, which stand for all elements; the axis over lanes is none of the bits."""
    text = """func.func @f(%a: tensor<2x3xf32>, %l: tensor<f32>, %h: tensor<f32>) -> (tensor<2x3xf32>, tensor<2x3x4xi8>, tensor<2xcomplex<f32>>) {
      %c = stablehlo.clamp %l, %a, %h : (tensor<f32>, tensor<2x3xf32>, tensor<f32>) -> tensor<2x3xf32>
      %b = stablehlo.bitcast_convert %a : (tensor<2x3xf32>) -> tensor<2x3x4xi8>
      %p = stablehlo.slice %a [0:2, 0:1] : (tensor<2x3xf32>) -> tensor<2x1xf32>
      %q = stablehlo.reshape %p : (tensor<2x1xf32>) -> tensor<2xf32>
      %z = stablehlo.complex %q, %q : tensor<2xcomplex<f32>>
      return %c, %b, %z : tensor<2x3xf32>, tensor<2x3x4xi8>, tensor<2xcomplex<f32>> }"""
    a = np.random.default_rng(1).standard_normal((4, 2, 3), np.float32)
    low, high = np.array([-1, 0, 0.5, -0.25], np.float32), np.array([1, 0.5, 2, 0.25], np.float32)
    limited, parts, _ = hu.run(text, a, low, high, batch=True)
    expected = np.clip(a, low[:, None, None], high[:, None, None])
    assert np.array_equal(limited.numpy(), expected)
    assert np.array_equal(parts.numpy(), a.view(np.int8).reshape(4, 2, 3, 4))
    (same, _, _) = hu.run(text, a, low[0], high, batch=True)
    assert np.array_equal(same.numpy(), np.clip(a, low[0], high[:, None, None]))


def test_poison_that_decides_is_told_with_its_origin() -> None:
    """Division by zero makes one key, and one index, poison; a payload may be."""
    text = """func.func @f(%a: tensor<3xi32>, %b: tensor<3xi32>) -> tensor<3xi32> {{
      %d = stablehlo.divide %a, %b : tensor<3xi32>
      {} return %r : tensor<3xi32> }}"""
    less = """({ ^bb0(%x: tensor<i32>, %y: tensor<i32>, %u: tensor<i32>, %v: tensor<i32>):
      %w = stablehlo.compare GT, %x, %y : (tensor<i32>, tensor<i32>) -> tensor<i1> stablehlo.return %w : tensor<i1> })"""
    types = "(tensor<3xi32>, tensor<3xi32>) -> (tensor<3xi32>, tensor<3xi32>)"
    by_key = f'%r, %s = "stablehlo.sort"(%d, %a) <{{dimension = 0 : i64}}> {less} : {types}'
    by_other = f'%s, %r = "stablehlo.sort"(%a, %d) <{{dimension = 0 : i64}}> {less} : {types}'
    taken = """%r = "stablehlo.gather"(%a, %d) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [0],
      start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1>}> :
      (tensor<3xi32>, tensor<3xi32>) -> tensor<3xi32>"""
    a, b = np.array([1, 2, 3], np.int32), np.array([1, 0, 2], np.int32)
    for line, message in ((by_key, "a comparison is poison: .*divide"), (taken, "an index is poison: .*divide")):
        with pytest.raises(hu.UndefinedBehavior, match=message):
            hu.run(text.format(line), a, b, on_ub="poison")
    (found,) = hu.run(text.format(by_other), a, b, on_ub="poison")
    assert found.poisoned.tolist() == [False, True, False]
    assert [int(found.bits[0]), int(found.bits[2])] == [1, 1]


def test_padding_that_cuts_off_more_than_there_is_leaves_no_window() -> None:
    text = f"""func.func @f(%a: tensor<5xi32>, %b: tensor<i32>) -> tensor<0xi32> {{
      %r = "stablehlo.reduce_window"(%a, %b) <{{window_dimensions = array<i64: 2>,
        padding = dense<-3> : tensor<1x2xi64>}}> {body("add", "i32")} : (tensor<5xi32>, tensor<i32>) -> tensor<0xi32>
      return %r : tensor<0xi32> }}"""
    (found,) = hu.run(text, np.zeros(5, np.int32), np.int32(0))
    assert found.shape == (0,)


def test_gather_from_one_element_and_to_one_element() -> None:
    text = """func.func @f(%a: tensor<i32>, %i: tensor<3x0xi64>, %v: tensor<5xi32>, %j: tensor<1xi64>) -> (tensor<3xi32>, tensor<i32>) {
      %g = "stablehlo.gather"(%a, %i) <{dimension_numbers = #stablehlo.gather<index_vector_dim = 1>,
        slice_sizes = array<i64>}> : (tensor<i32>, tensor<3x0xi64>) -> tensor<3xi32>
      %h = "stablehlo.gather"(%v, %j) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [0],
        start_index_map = [0]>, slice_sizes = array<i64: 1>}> : (tensor<5xi32>, tensor<1xi64>) -> tensor<i32>
      return %g, %h : tensor<3xi32>, tensor<i32> }"""
    one, other = hu.run(text, np.int32(7), np.zeros((3, 0), np.int64), np.arange(5, dtype=np.int32), np.array([3]))
    assert (one.numpy().tolist(), int(other.numpy())) == ([7, 7, 7], 3)


def test_gather_takes_slices_that_are_moved_inside() -> None:
    text = """func.func @f(%a: tensor<3x4x2xi32>, %i: tensor<2x3x2xi64>) -> tensor<2x3x2x2xi32> {
      %g = "stablehlo.gather"(%a, %i) <{dimension_numbers = #stablehlo.gather<offset_dims = [2, 3],
        collapsed_slice_dims = [0], start_index_map = [1, 0], index_vector_dim = 2>, slice_sizes = array<i64: 1, 2, 2>}>
        : (tensor<3x4x2xi32>, tensor<2x3x2xi64>) -> tensor<2x3x2x2xi32>
      return %g : tensor<2x3x2x2xi32> }"""
    a = np.arange(24, dtype=np.int32).reshape(3, 4, 2)
    i = np.array([[[0, 0], [1, 0], [2, 1]], [[0, 1], [1, 1], [9, -9]]], np.int64)
    (found,) = hu.run(text, a, i)
    for p, q in product(range(2), range(3)):
        column, row = min(max(i[p, q, 0], 0), 2), min(max(i[p, q, 1], 0), 2)
        assert np.array_equal(found.numpy()[p, q], a[row, column : column + 2])


def test_shapes_may_be_operands() -> None:
    text = """func.func @f(%v: tensor<3xi32>, %n: tensor<2xi64>, %z: tensor<i32>, %low: tensor<2xi64>, %one: tensor<2xi64>)
        -> (tensor<?x?xi32>, tensor<?x?xi32>, tensor<?x?xi32>, tensor<?x?xi32>, tensor<?x?xf32>) {
      %b = stablehlo.dynamic_broadcast_in_dim %v, %n, dims = [1] : (tensor<3xi32>, tensor<2xi64>) -> tensor<?x?xi32>
      %p = stablehlo.dynamic_pad %b, %z, %low, %one, %one : (tensor<?x?xi32>, tensor<i32>, tensor<2xi64>, tensor<2xi64>,
        tensor<2xi64>) -> tensor<?x?xi32>
      %two = stablehlo.add %one, %one : tensor<2xi64>
      %s = stablehlo.real_dynamic_slice %b, %low, %n, %two : (tensor<?x?xi32>, tensor<2xi64>, tensor<2xi64>,
        tensor<2xi64>) -> tensor<?x?xi32>
      %turned = stablehlo.reverse %n, dims = [0] : tensor<2xi64>
      %r = stablehlo.dynamic_reshape %b, %turned : (tensor<?x?xi32>, tensor<2xi64>) -> tensor<?x?xi32>
      %i = stablehlo.dynamic_iota %n, dim = 0 : (tensor<2xi64>) -> tensor<?x?xf32>
      return %b, %p, %s, %r, %i : tensor<?x?xi32>, tensor<?x?xi32>, tensor<?x?xi32>, tensor<?x?xi32>, tensor<?x?xf32> }"""
    v, module_ = np.array([1, 2, 3], np.int32), hu.load(text)
    given = [np.array(each, np.int64) for each in ([2, 3], [0, 1], [1, 1])]
    wide, padded, part, turned, counted = hu.run(module_, v, given[0], np.int32(9), *given[1:])
    rows = np.tile(v, (2, 1))
    assert np.array_equal(wide.numpy(), rows)
    expected = np.full((4, 7), 9)
    expected[0:3:2, 1:6:2] = rows
    assert np.array_equal(padded.numpy(), expected)
    assert np.array_equal(part.numpy(), rows[0:2:2, 1:3:2])
    assert np.array_equal(turned.numpy(), rows.reshape(3, 2))
    assert counted.numpy().tolist() == [[0, 0, 0], [1, 1, 1]]
    for shape, why in (([2, 4], "3 cannot be broadcast to 2x4"), ([-1, 3], r"the shape \[-1, 3\] has a negative size")):
        with pytest.raises(hu.UndefinedBehavior, match=why):
            hu.run(module_, v, np.array(shape, np.int64), np.int32(9), *given[1:])


def test_gather_of_one_element() -> None:
    text = """func.func @f(%a: tensor<4xi32>, %i: tensor<1xi32>) -> tensor<i32> {
      %g = "stablehlo.gather"(%a, %i) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [0],
        start_index_map = [0]>, slice_sizes = array<i64: 1>}> : (tensor<4xi32>, tensor<1xi32>) -> tensor<i32>
      return %g : tensor<i32> }"""
    (found,) = hu.run(text, np.array([5, 6, 7, 8], np.int32), np.array([2], np.int32))
    assert int(found.numpy()) == 7


def test_scatter_applies_updates_one_after_the_other() -> None:
    """Each update of one place gets what the one before left there; an element outside is left out alone."""
    text = f"""func.func @f(%a: tensor<4xf16>, %i: tensor<5x1xi32>, %u: tensor<5x2xf16>) -> tensor<4xf16> {{
      %s = "stablehlo.scatter"(%a, %i, %u) <{{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1],
        scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}}> {body("add", "f16")}
        : (tensor<4xf16>, tensor<5x1xi32>, tensor<5x2xf16>) -> tensor<4xf16>
      return %s : tensor<4xf16> }}"""
    a, i = np.array([2048, 0, 1, 2], np.float16), np.array([[0], [0], [3], [-1], [0]], np.int32)
    u = np.array([[1, 10], [1, 20], [5, 99], [77, 2], [3, 4]], np.float16)
    (found,) = hu.run(text, a, i, u)
    expected = a.copy()
    for (start,), update in zip(i, u, strict=True):
        for k in range(2):
            if 0 <= start + k < 4:
                expected[start + k] = np.float16(expected[start + k] + update[k])
    assert found.numpy().tolist() == expected.tolist()


@each_row(1, 2, 7, 64, 1000)
def test_a_sort_is_stable(size: int) -> None:
    """By the magnitude of numbers alone, so that many are equal."""
    text = f"""func.func @f(%a: tensor<3x{size}xi32>, %b: tensor<3x{size}xi32>) -> (tensor<3x{size}xi32>, tensor<3x{size}xi32>) {{
      %s:2 = "stablehlo.sort"(%a, %b) <{{dimension = 1 : i64, is_stable = true}}> ({{
        ^bb0(%p: tensor<i32>, %q: tensor<i32>, %r: tensor<i32>, %t: tensor<i32>):
        %x = stablehlo.abs %p : tensor<i32>
        %y = stablehlo.abs %q : tensor<i32>
        %z = stablehlo.compare GT, %x, %y : (tensor<i32>, tensor<i32>) -> tensor<i1>
        stablehlo.return %z : tensor<i1>
      }}) : (tensor<3x{size}xi32>, tensor<3x{size}xi32>) -> (tensor<3x{size}xi32>, tensor<3x{size}xi32>)
      return %s#0, %s#1 : tensor<3x{size}xi32>, tensor<3x{size}xi32> }}"""
    a = np.random.default_rng(size).integers(-9, 9, (3, size), np.int32)
    b = np.tile(np.arange(size, dtype=np.int32), (3, 1))
    keys, places = hu.run(text, a, b)
    order = np.argsort(-np.abs(a), axis=1, kind="stable")
    assert np.array_equal(places.numpy(), order)
    assert np.array_equal(keys.numpy(), np.take_along_axis(a, order, 1))


SORTED_AS_JAX_DOES = """%zero = stablehlo.constant dense<0.0> : tensor<f32>
        %nan = stablehlo.constant dense<0x7FC00000> : tensor<f32>
        %e = stablehlo.compare EQ, %p, %zero : (tensor<f32>, tensor<f32>) -> tensor<i1>
        %g = stablehlo.select %e, %zero, %p : tensor<i1>, tensor<f32>
        %h = stablehlo.compare NE, %p, %p : (tensor<f32>, tensor<f32>) -> tensor<i1>
        %x = stablehlo.select %h, %nan, %g : tensor<i1>, tensor<f32>
        %j = stablehlo.compare EQ, %q, %zero : (tensor<f32>, tensor<f32>) -> tensor<i1>
        %k = stablehlo.select %j, %zero, %q : tensor<i1>, tensor<f32>
        %l = stablehlo.compare NE, %q, %q : (tensor<f32>, tensor<f32>) -> tensor<i1>
        %y = stablehlo.select %l, %nan, %k : tensor<i1>, tensor<f32>
        %z = stablehlo.compare LT, %x, %y, TOTALORDER : (tensor<f32>, tensor<f32>) -> tensor<i1>"""
BY_TWO_KEYS = """%x = stablehlo.abs %p : tensor<f32>
        %y = stablehlo.abs %q : tensor<f32>
        %m = stablehlo.compare GT, %r, %t : (tensor<i32>, tensor<i32>) -> tensor<i1>
        %l = stablehlo.compare LT, %x, %y : (tensor<f32>, tensor<f32>) -> tensor<i1>
        %e = stablehlo.compare EQ, %x, %y : (tensor<f32>, tensor<f32>) -> tensor<i1>
        %n = stablehlo.and %e, %m : tensor<i1>
        %z = stablehlo.or %l, %n : tensor<i1>"""
COMPARATORS = {
    "compare LT, %p, %q": lambda a, k: a, "compare LT, %q, %p": lambda a, k: -a, "compare GT, %p, %q": lambda a, k: -a,
    "compare LT, %p, %q, TOTALORDER": lambda a, k: (a, math.copysign(1, a)), SORTED_AS_JAX_DOES: lambda a, k: a,
    BY_TWO_KEYS: lambda a, k: (abs(a), -k), BY_TWO_KEYS.replace("GT, %r, %t", "LT, %r, %t"): lambda a, k: (abs(a), k),
}  # fmt: skip


@each_row(*COMPARATORS)
def test_a_sort_by_functions_of_the_elements(comparator: str) -> None:
    """Numbers in a few values, with zeros of both signs and subnormals; also with a NaN, which JAX puts last."""
    dice = random.Random(comparator)
    line = (
        comparator if "\n" in comparator else f"%z = stablehlo.{comparator} : (tensor<f32>, tensor<f32>) -> tensor<i1>"
    )
    text = f"""func.func @f(%a: tensor<61xf32>, %b: tensor<61xi32>) -> (tensor<61xf32>, tensor<61xi32>) {{
      %s:2 = "stablehlo.sort"(%a, %b) <{{dimension = 0 : i64}}> ({{
        ^bb0(%p: tensor<f32>, %q: tensor<f32>, %r: tensor<i32>, %t: tensor<i32>):
        {line}
        stablehlo.return %z : tensor<i1>
      }}) : (tensor<61xf32>, tensor<61xi32>) -> (tensor<61xf32>, tensor<61xi32>)
      return %s#0, %s#1 : tensor<61xf32>, tensor<61xi32> }}"""
    numbers = [dice.choice((0.0, -0.0, 1.5, -2.0, 1e-40, -1e-45, math.inf, -math.inf)) for _ in range(60)]
    _, places = hu.run(text, np.array([*numbers, 3], np.float32), np.arange(61, dtype=np.int32))
    key: Any = COMPARATORS[comparator]
    assert places.numpy().tolist() == sorted(range(61), key=lambda k: key([*numbers, 3.0][k], k))
    if comparator == SORTED_AS_JAX_DOES:
        _, places = hu.run(text, np.array([math.nan, *numbers], np.float32), np.arange(61, dtype=np.int32))
        assert places.numpy().tolist() == [*(k + 1 for k in sorted(range(60), key=numbers.__getitem__)), 0]


def test_a_sort_with_numbers_that_are_not_ordered() -> None:
    """A comparator of an element with an element of another array has no keys; neither have NaNs. Each pair is merged."""
    text = """func.func @f(%a: tensor<2xf32>, %b: tensor<2xf32>) -> (tensor<2xf32>, tensor<2xf32>) {
      %s:2 = "stablehlo.sort"(%a, %b) <{dimension = 0 : i64}> ({
        ^bb0(%p: tensor<f32>, %q: tensor<f32>, %r: tensor<f32>, %t: tensor<f32>):
        %z = stablehlo.compare GT, %p, %t : (tensor<f32>, tensor<f32>) -> tensor<i1>
        stablehlo.return %z : tensor<i1>
      }) : (tensor<2xf32>, tensor<2xf32>) -> (tensor<2xf32>, tensor<2xf32>)
      return %s#0, %s#1 : tensor<2xf32>, tensor<2xf32> }"""
    found, _ = hu.run(text, np.array([1, 5], np.float32), np.array([4, 0], np.float32))
    assert found.numpy().tolist() == [5, 1]  # 5 is greater than 4
    found, _ = hu.run(
        text.replace("%p, %t", "%p, %q"), np.array([math.nan, 5], np.float32), np.array([4, 0], np.float32)
    )
    assert found.numpy().tolist()[1] == 5


@each_row("f32", "f64", "i8", "ui4", "f16")
def test_scatter_of_sums_and_of_elements(type_: str) -> None:
    """Forty sums at five places, one after the other, in the type; also with a NaN. A body that returns its second
    argument leaves the last element there.
    """
    dice = np.random.default_rng(2)
    places = dice.integers(-1, 6, 40, np.int32)
    texts = [
        f"""func.func @f(%a: tensor<6x{type_}>, %i: tensor<40x1xi32>, %u: tensor<40x{type_}>) -> tensor<6x{type_}> {{
      %s = "stablehlo.scatter"(%a, %i, %u) <{{scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0],
        scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}}> {each}
        : (tensor<6x{type_}>, tensor<40x1xi32>, tensor<40x{type_}>) -> tensor<6x{type_}>
      return %s : tensor<6x{type_}> }}"""
        for each in (body("add", type_), body("add", type_).replace("return %z", "return %y"))
    ]
    width = bits(type_)
    a: Any
    u: Any
    for nan in (False, True) if type_[0] == "f" else (False,):
        if type_[0] == "f":
            a, u = (dice.standard_normal(count) for count in (6, 40))
            u[places.tolist().index(3)] = np.nan if nan else 1
            a, u = (hu.convert(each, type_).numpy() for each in (a, u))
        else:
            a, u = (dice.integers(0, 1 << width, count).astype(np.uint8) for count in (6, 40))
        summed, last = a.copy(), a.copy()
        for place, new in zip(places, u, strict=True):
            if place >= 0:
                total = summed[place] + new if type_[0] == "f" else (int(summed[place]) + int(new)) % (1 << width)
                summed[place], last[place] = total, new
        given = [hu.Value.from_bits(each.view(f"u{each.itemsize}"), f"tensor<{each.size}x{type_}>") for each in (a, u)]
        for text, expected in zip(texts, (summed, last), strict=True):
            (found,) = hu.run(text, given[0], places[:, None], given[1])
            same = found.bits == expected.view(found.bits.dtype)
            assert (same | (expected != expected)).all(), (found, expected)


def test_a_body_may_call_functions() -> None:
    text = """func.func @f(%a: tensor<4xi32>, %b: tensor<i32>) -> tensor<i32> {
      %r = "stablehlo.reduce"(%a, %b) <{dimensions = array<i64: 0>}> ({ ^bb0(%x: tensor<i32>, %y: tensor<i32>):
        %z = func.call @twice_and_more(%x, %y) : (tensor<i32>, tensor<i32>) -> tensor<i32>
        stablehlo.return %z : tensor<i32> }) : (tensor<4xi32>, tensor<i32>) -> tensor<i32>
      return %r : tensor<i32> }
    func.func private @twice_and_more(%x: tensor<i32>, %y: tensor<i32>) -> tensor<i32> {
      %t = func.call @twice(%x) : (tensor<i32>) -> tensor<i32>
      %s = stablehlo.add %t, %y : tensor<i32>
      return %s : tensor<i32> }
    func.func private @twice(%x: tensor<i32>) -> tensor<i32> {
      %s = stablehlo.add %x, %x : tensor<i32>
      return %s : tensor<i32> }"""
    (found,) = hu.run(text, np.array([1, 2, 3, 4], np.int32), np.int32(5), function="f")
    assert int(found.numpy()) == (((5 * 2 + 1) * 2 + 2) * 2 + 3) * 2 + 4


def test_calls_in_a_body_are_bounded() -> None:
    """Each function calls the next one twice: a million calls of the last one."""
    functions = "\n".join(
        f"""func.func private @f{k}(%x: tensor<i32>) -> tensor<i32> {{
          %a = func.call @f{k + 1}(%x) : (tensor<i32>) -> tensor<i32>
          %b = func.call @f{k + 1}(%a) : (tensor<i32>) -> tensor<i32>
          return %b : tensor<i32> }}"""
        for k in range(20)
    )
    text = f"""func.func @main(%a: tensor<4xi32>, %b: tensor<i32>) -> tensor<i32> {{
      %r = "stablehlo.reduce"(%a, %b) <{{dimensions = array<i64: 0>}}> ({{ ^bb0(%x: tensor<i32>, %y: tensor<i32>):
        %z = func.call @f0(%x) : (tensor<i32>) -> tensor<i32>
        stablehlo.return %z : tensor<i32> }}) : (tensor<4xi32>, tensor<i32>) -> tensor<i32>
      return %r : tensor<i32> }}
    {functions}
    func.func private @f20(%x: tensor<i32>) -> tensor<i32> {{ return %x : tensor<i32> }}"""
    with pytest.raises(hu.Unsupported, match="or more than 200 functions"):
        hu.run(text, np.array([1, 2, 3, 4], np.int32), np.int32(5), function="main")


def test_select_and_scatter_is_the_gradient_of_a_pool() -> None:
    """Padding is never chosen, and of equal elements the first one wins."""
    text = """func.func @f(%a: tensor<5xf32>, %s: tensor<3xf32>, %b: tensor<f32>) -> tensor<5xf32> {
      %r = "stablehlo.select_and_scatter"(%a, %s, %b) <{window_dimensions = array<i64: 3>,
        window_strides = array<i64: 2>, padding = dense<[[1, 1]]> : tensor<1x2xi64>}> ({
        ^bb0(%x: tensor<f32>, %y: tensor<f32>):
        %z = stablehlo.compare GE, %x, %y : (tensor<f32>, tensor<f32>) -> tensor<i1>
        stablehlo.return %z : tensor<i1>
      }, {
        ^bb0(%x: tensor<f32>, %y: tensor<f32>):
        %z = stablehlo.add %x, %y : tensor<f32>
        stablehlo.return %z : tensor<f32>
      }) : (tensor<5xf32>, tensor<3xf32>, tensor<f32>) -> tensor<5xf32>
      return %r : tensor<5xf32> }"""
    a, s = np.array([-5, -1, -1, -1, -7], np.float32), np.array([10, 20, 30], np.float32)
    (found,) = hu.run(text, a, s, np.float32(100))
    assert found.numpy().tolist() == [100, 130, 100, 130, 100]


def test_control_flow() -> None:
    text = """func.func @f(%n: tensor<i32>, %x: tensor<f32>) -> (tensor<i32>, tensor<f32>, tensor<f32>) {
      %one = stablehlo.constant dense<1> : tensor<i32>
      %zero = stablehlo.constant dense<0> : tensor<i32>
      %r:2 = stablehlo.while(%k = %zero, %y = %x) : tensor<i32>, tensor<f32>
      cond {
        %less = stablehlo.compare LT, %k, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
        stablehlo.return %less : tensor<i1>
      } do {
        %next = stablehlo.add %k, %one : tensor<i32>
        %double = stablehlo.add %y, %y : tensor<f32>
        stablehlo.return %next, %double : tensor<i32>, tensor<f32>
      }
      %c = "stablehlo.case"(%n) ({ stablehlo.return %x : tensor<f32> }, {
        %m = stablehlo.negate %x : tensor<f32>
        stablehlo.return %m : tensor<f32>
      }) : (tensor<i32>) -> tensor<f32>
      return %r#0, %r#1, %c : tensor<i32>, tensor<f32>, tensor<f32> }"""
    module_ = hu.load(text)
    for n, power_, case in ((0, 1, 1), (1, 2, -1), (5, 32, -1), (-3, 1, -1)):
        trips, value, chosen = hu.run(module_, np.int32(n), np.float32(1.5))
        assert (int(trips.numpy()), float(value.numpy()), float(chosen.numpy())) == (
            max(n, 0),
            1.5 * power_,
            1.5 * case,
        )


def test_what_is_not_evaluated_yet_is_said() -> None:
    type_ = "tensor<complex<f32>>"
    text = (
        f"func.func @f(%a: {type_}) -> {type_} {{ %r = chlo.bessel_i1e %a : {type_} -> {type_} return %r : {type_} }}"
    )
    with pytest.raises(
        hu.Unsupported, match="halfulp does not evaluate 'chlo.bessel_i1e' on elements of type 'complex<f32>' yet"
    ):
        hu.run(text, np.complex64(1))
    text = "func.func @f() { stablehlo.custom_call @mine() : () -> () return }"
    with pytest.raises(hu.Unsupported, match="halfulp does not know the function @mine"):
        hu.run(text)


def test_the_largest_elements_and_their_places() -> None:
    """NaN is above infinity, and of equal elements the first one comes first."""
    text = """func.func @f(%a: tensor<2x5xf32>, %b: tensor<4xui8>)
        -> (tensor<2x3xf32>, tensor<2x3xi32>, tensor<2xui8>, tensor<2xi32>) {
      %v, %i = chlo.top_k(%a, k = 3) : tensor<2x5xf32> -> (tensor<2x3xf32>, tensor<2x3xi32>)
      %w, %j = chlo.top_k(%b, k = 2) : tensor<4xui8> -> (tensor<2xui8>, tensor<2xi32>)
      return %v, %i, %w, %j : tensor<2x3xf32>, tensor<2x3xi32>, tensor<2xui8>, tensor<2xi32> }"""
    a = np.array([[1, 7, 3, 7, -2], [0.0, -0.0, np.nan, -np.inf, np.inf]], np.float32)
    values, places, small, order = hu.run(text, a, np.array([3, 200, 100, 200], np.uint8))
    assert places.numpy().tolist() == [[1, 3, 2], [2, 4, 0]]
    assert np.array_equal(values.bits, np.take_along_axis(a.view(np.uint32), places.numpy(), 1))
    assert (small.numpy().tolist(), order.numpy().tolist()) == ([200, 200], [1, 3])


def test_the_next_number_is_that_of_c() -> None:
    dice = np.random.default_rng(3)
    a = np.concatenate(
        [dice.standard_normal(50).astype(np.float32), np.array([0, -0.0, 1e-45, -1e-45, 3e38, 0, 5, -0.0], np.float32)]
    )
    b = np.concatenate(
        [dice.standard_normal(50).astype(np.float32), np.array([1, -1, -1, 1, np.inf, -0.0, 5, 0], np.float32)]
    )
    text = """func.func @f(%a: tensor<58xf32>, %b: tensor<58xf32>) -> tensor<58xf32> {
      %r = chlo.next_after %a, %b : tensor<58xf32>, tensor<58xf32> -> tensor<58xf32> return %r : tensor<58xf32> }"""
    (found,) = hu.run(text, a, b)
    assert np.array_equal(found.bits, np.nextafter(a, b).view(np.uint32))
    fmt = FORMATS["f8E5M2"]
    kernel = semantics.next_after(fmt)
    pairs = [(x, y) for x in range(0, 256, 3) for y in range(256)]
    (codes,) = kernel.array(*(np.array(each, np.uint8) for each in zip(*pairs, strict=True))).results
    assert codes.tolist() == [kernel.scalar(x, y) for x, y in pairs]


def test_complex_numbers() -> None:
    """A product has four products, each rounded; the absolute value is rounded once."""
    text = """func.func @f(%a: tensor<2xcomplex<f32>>, %b: tensor<2xcomplex<f32>>) -> (tensor<2xcomplex<f32>>, tensor<2xf32>) {
      %p = stablehlo.multiply %a, %b : tensor<2xcomplex<f32>>
      %m = stablehlo.abs %a : (tensor<2xcomplex<f32>>) -> tensor<2xf32>
      return %p, %m : tensor<2xcomplex<f32>>, tensor<2xf32> }"""
    a, b = np.array([3 + 4j, 1.1 - 0.3j], np.complex64), np.array([1 - 2j, 0.7 + 1e-3j], np.complex64)
    product_, size = hu.run(text, a, b)
    real, imaginary = a.real * b.real - a.imag * b.imag, a.real * b.imag + a.imag * b.real
    assert np.array_equal(product_.numpy(), real + 1j * imaginary)
    assert size.numpy()[0] == 5
    assert size.numpy()[1] == np.float32(math.hypot(float(a[1].real), float(a[1].imag)))
