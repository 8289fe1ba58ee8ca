"""Attributes: every literal to its bits, and back."""

from __future__ import annotations

import pickle
from fractions import Fraction

import hypothesis
import hypothesis.strategies as st
import numpy as np
import pytest

from halfulp.fp_formats.formats import FORMATS
from halfulp.interp.ir.attributes import (
    Attribute,
    BoolAttr,
    DenseArrayAttr,
    DenseElementsAttr,
    DenseStringAttr,
    DictionaryAttr,
    FloatAttr,
    IntegerAttr,
    SparseElementsAttr,
    StringAttr,
    SymbolRefAttr,
    TypeAttr,
    UnitAttr,
    integer_of_code,
)
from halfulp.interp.ir.base import (
    CallSiteLoc,
    FileLineCol,
    FileRange,
    FusedLoc,
    NameLoc,
    UnknownLoc,
    file_position,
    read_decimal,
    spell_float,
)
from halfulp.interp.ir.types import F, FloatType, IndexType, IntegerType, TensorType
from halfulp.interp.text.parser import parse_attribute


@pytest.mark.parametrize(
    ("text", "attribute"),
    [
        ("5", IntegerAttr(5, IntegerType(64))),
        ("-5 : i8", IntegerAttr(-5, IntegerType(8))),
        ("255 : i8", IntegerAttr(-1, IntegerType(8))),
        ("255 : ui8", IntegerAttr(255, IntegerType(8, "unsigned"))),
        ("0x80 : i8", IntegerAttr(-128, IntegerType(8))),
        ("-8 : si4", IntegerAttr(-8, IntegerType(4, "signed"))),
        ("true", BoolAttr(True)),
        ("-1 : i1", BoolAttr(True)),
        ("0 : i0", IntegerAttr(0, IntegerType(0))),
        ("-3 : index", IntegerAttr(-3, IndexType())),
        ("1.0", FloatAttr(0x3FF0000000000000, F("f64"))),
        ("-0.0 : f32", FloatAttr(0x80000000, F("f32"))),
        ("0x7FA00001 : f32", FloatAttr(0x7FA00001, F("f32"))),
        ("1.0e39 : f32", FloatAttr(0x7F800000, F("f32"))),
        ("1000.0 : f8E4M3FN", FloatAttr(0x7F, F("f8E4M3FN"))),
        ("100.0 : f4E2M1FN", FloatAttr(0x7, F("f4E2M1FN"))),
        ("1.000488281250000001 : f16", FloatAttr(0x3C00, F("f16"))),
        ("0.1 : f128", FloatAttr(0x3FFB999999999999A000000000000000, F("f128"))),
        ('"a\\0A\\22\\FF"', StringAttr('a\n"\udcff')),
        ('"typed" : i32', StringAttr("typed", IntegerType(32))),
        ("unit", UnitAttr()),
        ("{b, a = 1 : i8}", DictionaryAttr((("a", IntegerAttr(1, IntegerType(8))), ("b", UnitAttr())))),
        ('@a::@"b c"::@d', SymbolRefAttr("a", ("b c", "d"))),
        ("tensor<2xf32>", TypeAttr(TensorType((2,), F("f32")))),
        ("array<i8: -1, 2>", DenseArrayAttr(IntegerType(8), (255, 2))),
        ("array<f32: 1.0, 0x7FC00000>", DenseArrayAttr(F("f32"), (0x3F800000, 0x7FC00000))),
        ("array<i1: true, false>", DenseArrayAttr(IntegerType(1), (1, 0))),
        ("loc(unknown)", UnknownLoc()),
        ('loc("f":3:7)', FileLineCol("f", 3, 7)),
        ('loc("f":3:7 to :9)', FileRange("f", 3, 7, 3, 9)),
        ('loc("f":3:7 to 5:9)', FileRange("f", 3, 7, 5, 9)),
        ('loc("n"("f":3:7))', NameLoc("n", FileLineCol("f", 3, 7))),
        ('loc(callsite("a" at "b"))', CallSiteLoc(NameLoc("a"), NameLoc("b"))),
        ('loc(fused<"m">["a", "b"])', FusedLoc((NameLoc("a"), NameLoc("b")), StringAttr("m"))),
        ('loc(fused["a", "a"])', NameLoc("a")),
        ("loc(fused[])", UnknownLoc()),
    ],
)
def test_value(text: str, attribute: Attribute) -> None:
    assert parse_attribute(text) == attribute
    assert parse_attribute(str(attribute) if not text.startswith("loc") else f"loc({attribute})") == attribute
    assert pickle.loads(pickle.dumps(attribute)) == attribute


@pytest.mark.parametrize(
    ("text", "codes", "splat"),
    [
        ("dense<[1, -1]> : tensor<2xi8>", [1, 255], False),
        ("dense<[[1, 2], [3, 4]]> : tensor<2x2xi4>", [[1, 2], [3, 4]], False),
        ("dense<7> : tensor<2x2xi16>", 7, True),
        ("dense<[7, 7]> : tensor<2xi16>", 7, True),
        ("dense<[true, false]> : tensor<2xi1>", [1, 0], False),
        ('dense<"0x05"> : tensor<3xi1>', [1, 0, 1], False),
        ('dense<"0xFF"> : tensor<3xi1>', 1, True),
        ('dense<"0x0102FF"> : tensor<3xi8>', [1, 2, 255], False),
        ('dense<"0x0F01"> : tensor<2xf4E2M1FN>', [15, 1], False),
        ('dense<"0x34127856"> : tensor<2xbf16>', [0x1234, 0x5678], False),
        ('dense<"0x563412000000"> : tensor<2xtf32>', [0x23456, 0], False),
        ("dense<[1.0, 0x7FA00001]> : tensor<2xf32>", [0x3F800000, 0x7FA00001], False),
        ("dense<[-1, 2]> : tensor<2xindex>", [2**64 - 1, 2], False),
        ("dense<[(1, 2), (3, -1)]> : tensor<2xcomplex<i8>>", [[1, 2], [3, 255]], False),
        ("dense<(1.0, 2.0)> : tensor<2xcomplex<f16>>", [0x3C00, 0x4000], True),
        ("dense<[1, -1]> : tensor<2xi128>", [[1, 0], [2**64 - 1, 2**64 - 1]], False),
        ('dense<"0x0000000000000080FF3F"> : tensor<4xf80>', [0x8000000000000000, 0x3FFF], True),
        ("dense<> : tensor<0x3xf32>", np.zeros((0, 3)), False),
    ],
)
def test_dense_elements(text: str, codes: object, splat: bool) -> None:
    attribute = parse_attribute(text)
    assert isinstance(attribute, DenseElementsAttr)
    assert attribute.splat == splat
    assert attribute.codes.tolist() == np.asarray(codes, object).tolist()
    shape = attribute.type.shape
    assert shape is not None
    assert attribute.array().shape[: len(shape)] == shape
    assert not attribute.codes.flags.writeable
    assert not attribute.array().flags.writeable
    assert parse_attribute(str(attribute)) == attribute
    assert pickle.loads(pickle.dumps(attribute)) == attribute


def test_dense_storage() -> None:
    for text, dtype in (("i4", "u1"), ("i9", "u2"), ("tf32", "u4"), ("i33", "u8"), ("index", "u8"), ("i0", "u1")):
        attribute = parse_attribute(f"dense<0{'.0' if text == 'tf32' else ''}> : tensor<3x{text}>")
        assert isinstance(attribute, DenseElementsAttr)
        assert attribute.codes.dtype == np.dtype(dtype)


def test_a_splat_of_any_size_costs_nothing() -> None:
    attribute = parse_attribute("dense<1.5> : tensor<1000000000000xf32>")
    assert isinstance(attribute, DenseElementsAttr)
    assert attribute.codes.size == 1
    assert attribute.array().shape == (10**12,)


def test_strings_in_elements() -> None:
    attribute = parse_attribute('dense<["a", "b"]> : tensor<2x!other.string>')
    assert isinstance(attribute, DenseStringAttr)
    assert attribute.values == ("a", "b")
    assert str(attribute) == 'dense<["a", "b"]> : tensor<2x!other.string>'


def test_sparse_elements() -> None:
    attribute = parse_attribute("sparse<[[0, 0], [1, 2]], [1, 5]> : tensor<3x4xi32>")
    assert isinstance(attribute, SparseElementsAttr)
    assert attribute.indices.array().tolist() == [[0, 0], [1, 2]]
    assert isinstance(attribute.values, DenseElementsAttr)
    assert attribute.values.array().tolist() == [1, 5]


def test_a_type_can_be_given_from_outside() -> None:
    assert parse_attribute("1.5", F("f16")) == FloatAttr(0x3E00, F("f16"))
    assert parse_attribute("[1, 2]") != parse_attribute("[1, 3]")


def test_integers_and_their_codes() -> None:
    for type in (IntegerType(8), IntegerType(8, "signed"), IntegerType(8, "unsigned"), IntegerType(1), IndexType()):
        for code in (0, 1, 127, 128, 255):
            if isinstance(type, IntegerType) and code >> type.width:
                continue
            assert IntegerAttr(integer_of_code(code, type), type).code == code


def test_the_file_position_inside_a_location() -> None:
    location = CallSiteLoc(NameLoc("n", FusedLoc((UnknownLoc(), FileRange("f", 1, 2, 3, 4)))), FileLineCol("g", 5, 6))
    assert file_position(location) == FileLineCol("f", 1, 2)
    assert file_position(NameLoc("n")) is None


@hypothesis.given(st.text(), st.binary())
def test_any_string_survives(text: str, data: bytes) -> None:
    hypothesis.assume(not any(0xD800 <= ord(char) <= 0xDFFF for char in text))
    for value in (text, data.decode("utf-8", "surrogateescape")):
        attribute = StringAttr(value)
        again = parse_attribute(str(attribute))
        assert isinstance(again, StringAttr)
        assert again.data == attribute.data


@hypothesis.given(st.sampled_from(sorted(FORMATS)), st.integers(0, 2**128 - 1))
def test_any_float_code_survives(name: str, bits: int) -> None:
    format = FORMATS[name]
    attribute = FloatAttr(bits & ((1 << format.bits) - 1), FloatType(format))
    assert parse_attribute(str(attribute)) == attribute


@hypothesis.given(st.floats(allow_nan=False, allow_infinity=False))
def test_a_decimal_goes_through_f64(number: float) -> None:
    exact = Fraction(number)
    code = read_decimal(FORMATS["f64"], f"{number:.17e}")
    assert spell_float(FORMATS["f64"], code)
    # f32: NumPy's own rounding of the double is to nearest even.
    with np.errstate(over="ignore"):
        expected = int(np.array(number).astype(np.float32).view(np.uint32))
    assert read_decimal(FORMATS["f32"], f"{number:.17e}") == expected
    assert Fraction(float(f"{number:.17e}")) == exact


@pytest.mark.parametrize(
    ("code", "text"),
    [
        (0x3F8CCCCD, "1.100000e+00"),
        (0x3F9E0651, "1.23456776"),
        (0x4B800000, "0x4B800000"),
        (0x7F800000, "0x7F800000"),
        (0xFFC00000, "0xFFC00000"),
        (0x80000000, "-0.000000e+00"),
        (0x00000001, "1.401300e-45"),
    ],
)
def test_spelling_of_f32(code: int, text: str) -> None:
    """As mlir-opt 22 printed them."""
    assert spell_float(FORMATS["f32"], code) == text
