"""Types: spelling, equality, the rules of quantised types."""

from __future__ import annotations

import pickle

import pytest

from halfulp.fp_formats.formats import FORMATS, FloatFormat
from halfulp.interp.ir.errors import ParseError, VerifyError
from halfulp.interp.ir.types import (
    F,
    FloatType,
    FunctionType,
    IndexType,
    IntegerType,
    OpaqueType,
    TensorType,
    Type,
    UniformQuantizedType,
    VectorType,
    check_quantized_container,
    check_quantized_scalar,
    element_count,
    element_type,
    is_dynamic,
    shape_of,
    with_element,
)
from halfulp.interp.text.parser import parse_type

SPELLINGS = [
    *FORMATS,
    "i0",
    "i1",
    "si7",
    "ui1024",
    "i16777215",
    "index",
    "none",
    "complex<f32>",
    "tuple<>",
    "tuple<i1, tuple<f32>>",
    "() -> ()",
    "(i32, f32) -> (i32, f32)",
    "((i32) -> f32) -> i1",
    "(i32) -> ((f32) -> f32)",
    "tensor<f32>",
    "tensor<0x4x?xbf16>",
    "tensor<*xf8E8M0FNU>",
    'tensor<2xf32, "encoding">',
    "tensor<2xvector<[4]x2xf32>>",
    "vector<f32>",
    "vector<2x[4]xi8>",
    "memref<?xf32, strided<[?], offset: 3>, 2 : i32>",
    "memref<*xf32, 1>",
    "!quant.uniform<i8:f32, 2.000000e+00:-5>",
    "!quant.uniform<u4<1:7>:f16:1, {1.000000e+00,2.000000e+00:3}>",
    "!quant.uniform<i8:f32:{0:1, 1:2}, {{2.000000e+00, 3.000000e+00:4}}>",
    "!quant.any<i8<-16:7>>",
    "!quant.calibrated<f32<-1.000000e+00:1.000000e+00>>",
    "!other.type<a, [b -> c]>",
    '!other<"anything">',
]


@pytest.mark.parametrize("text", SPELLINGS)
def test_a_type_is_what_its_spelling_says(text: str) -> None:
    type = parse_type(text)
    assert str(type) == text
    assert parse_type(text) == type
    assert hash(parse_type(text)) == hash(type)
    assert pickle.loads(pickle.dumps(type)) == type


def test_types_differ_where_they_differ() -> None:
    types = [parse_type(text) for text in SPELLINGS]
    assert len(set(types)) == len(types)


def test_pickles_carry_no_hash() -> None:
    type = parse_type("tensor<4xf32>")
    hash(type)
    str(type)
    assert b"_hash" not in pickle.dumps(type)


@pytest.mark.parametrize(
    ("text", "type"),
    [
        ("tensor< 2 x ? x3 xf32>", TensorType((2, None, 3), F("f32"))),
        ("tensor<0x4xf32>", TensorType((0, 4), F("f32"))),
        ("tensor<*xi1>", TensorType(None, IntegerType(1))),
        ("vector<4x[2]xui8>", VectorType((4, 2), IntegerType(8, "unsigned"), (False, True))),
        ("vector<4xf32>", VectorType((4,), F("f32"))),
        ("(index) -> ()", FunctionType((IndexType(),), ())),
        ("!a.b<c>", OpaqueType("a", ".b<c>")),
        ("!a<b>", OpaqueType("a", ".b")),
        (
            "!quant.uniform<si8:f32, 0x3FF0000000000000>",
            UniformQuantizedType(8, True, -128, 127, F("f32"), (1.0,), (0,)),
        ),
        ("!quant.uniform<i1:f32, 1.0>", UniformQuantizedType(1, True, -1, 0, F("f32"), (1.0,), (0,))),
    ],
)
def test_fields(text: str, type: Type) -> None:
    assert parse_type(text) == type


def test_sub_channel_parameters_are_row_major_and_rounded() -> None:
    type = parse_type("!quant.uniform<i8:f16:{0:1, 1:2}, {{0.1:1, 2.0}, {3.0:3, 4.0}, {5.0, 6.0:6}}>")
    assert isinstance(type, UniformQuantizedType)
    assert type.parameter_shape == (3, 2)
    # 0.1 to nearest in binary16: 1638/16384.
    assert type.scales == (1638 / 16384, 2.0, 3.0, 4.0, 5.0, 6.0)
    assert type.zero_points == (1, 0, 3, 0, 0, 6)
    assert type.block_sizes == ((0, 1), (1, 2))
    assert type.axis is None


def test_a_user_format_makes_a_type() -> None:
    tiny = FloatFormat("f5E2M2", 2, 2, 1)
    assert str(FloatType(tiny)) == '!halfulp.float<"f5E2M2", exponent = 2, mantissa = 2, bias = 1>'
    assert FloatType(tiny) != F("f16")


def test_helpers() -> None:
    tensor = parse_type("tensor<2x?xf32>")
    assert element_type(tensor) == F("f32")
    assert element_type(F("f32")) == F("f32")
    assert shape_of(tensor) == (2, None)
    assert shape_of(F("f32")) == ()
    assert with_element(tensor, IntegerType(1)) == parse_type("tensor<2x?xi1>")
    assert with_element(F("f32"), IntegerType(1)) == IntegerType(1)
    assert with_element(parse_type("vector<[4]xf32>"), IntegerType(8)) == parse_type("vector<[4]xi8>")
    assert is_dynamic(tensor)
    assert is_dynamic(parse_type("tensor<*xf32>"))
    assert not is_dynamic(F("f32"))
    assert element_count(parse_type("tensor<2x0x3xf32>")) == 0
    assert element_count(parse_type("tensor<2x3xf32>")) == 6
    assert element_count(F("f32")) == 1
    assert element_count(tensor) is None


CHANNELS = "!quant.uniform<i8:f32:1, {1.0, 2.0, 3.0}>"
BLOCKS = "!quant.uniform<i8:f32:{0:2, 1:1}, {{1.0, 2.0}, {3.0, 4.0}}>"


@pytest.mark.parametrize(
    ("text", "shape", "numbers"),
    [
        (CHANNELS, (5, 3), None),
        (CHANNELS, (None, None), None),
        (CHANNELS, None, None),
        (CHANNELS, (3,), ("1", "1")),
        (CHANNELS, (5, 4), ("4", "3")),
        (BLOCKS, (4, 2), None),
        (BLOCKS, (None, 2), None),
        (BLOCKS, None, ()),
        (BLOCKS, (4,), ("2", "1")),
        (BLOCKS, (5, 2), ("5", "2")),
        (BLOCKS, (1, 2), ("2", "1")),
        (BLOCKS, (6, 2), ("2", "3")),
        (BLOCKS, (4, 3), ("2", "3")),
        ("!quant.uniform<i8:f32:{7:2}, {{1.0}}>", (4, 4), ("7", "2")),
        ("!quant.uniform<i8:f32:{}, {{1.0}}>", (4, 4), None),
        ("!quant.uniform<i8:f32, 1.0>", (4, 4), None),
    ],
)
def test_a_container_must_fit_its_quantised_elements(
    text: str, shape: tuple[int | None, ...] | None, numbers: tuple[str, ...] | None
) -> None:
    message = check_quantized_container(parse_type(text), shape)
    if numbers is None:
        assert message is None
    else:
        assert message is not None
        assert all(number in message for number in numbers), message


def test_a_scalar_is_quantised_per_layer_only() -> None:
    assert check_quantized_scalar(parse_type("!quant.uniform<i8:f32, 1.0>")) is None
    assert check_quantized_scalar(parse_type(CHANNELS)) is not None
    assert check_quantized_scalar(parse_type(BLOCKS)) is not None


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("!quant.uniform<i8:f16, 70000.0>", ("7.000000e+04", "6.550400e+04")),
        ("!quant.uniform<i8:f16, 1.0e-8>", ("1.000000e-08", "5.960460e-08")),
        ("!quant.uniform<i8:f32, 0.0>", ("0.000000e+00", "1.401300e-45")),
        ("!quant.uniform<i8:f32, -1.0>", ("-1.000000e+00",)),
        ("!quant.uniform<i8:f8E8M0FNU, 1.0e-39>", ("1.000000e-39", "5.877470e-39")),
        ("!quant.uniform<i8<-129:5>:f32, 1.0>", ("-129", "-128")),
        ("!quant.uniform<u8<0:256>:f32, 1.0>", ("256", "255")),
        ("!quant.uniform<i33:f32, 1.0>", ("33",)),
        ("!quant.uniform<i8:f32:{0:2, 0:2}, {{1.0}}>", ("0",)),
        ("!quant.calibrated<f32<1.0:0.5>>", ("1.000000e+00", "5.000000e-01")),
    ],
)
def test_a_quantised_type_names_both_numbers_of_a_broken_rule(text: str, numbers: tuple[str, ...]) -> None:
    with pytest.raises((ParseError, VerifyError)) as caught:
        parse_type(text)
    assert all(number in caught.value.message for number in numbers), caught.value.message


def test_the_smallest_and_largest_scales_are_allowed() -> None:
    assert parse_type("!quant.uniform<i8:f64, 5.0e-324>") == UniformQuantizedType(
        8, True, -128, 127, F("f64"), (5e-324,), (0,)
    )
    assert parse_type("!quant.uniform<i8:f16, 65504.0>")
