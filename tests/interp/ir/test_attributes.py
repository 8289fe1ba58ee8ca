"""Attributes: every literal to its bits, and back."""

import pickle
from fractions import Fraction

import hypothesis
import hypothesis.strategies as st
import numpy as np
import pytest
from tables import each_row

from halfulp.fp_formats.formats import FORMATS, FloatFormat
from halfulp.interp.ir import affine_expressions as affine
from halfulp.interp.ir.affine_expressions import AffineConstant, AffineExpr, Binary, Dimension, Symbol
from halfulp.interp.ir.attributes import (
    AffineMapAttr,
    Attribute,
    BoolAttr,
    DenseArrayAttr,
    DenseElementsAttr,
    DenseStringAttr,
    DictionaryAttr,
    FloatAttr,
    IntegerAttr,
    IntegerSetAttr,
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
from halfulp.interp.text.affine_parser import MAX_DEPTH
from halfulp.interp.text.parser import parse_attribute, parse_type


@each_row(
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
)
def test_value(text: str, attribute: Attribute) -> None:
    assert parse_attribute(text) == attribute
    assert parse_attribute(str(attribute) if not text.startswith("loc") else f"loc({attribute})") == attribute
    assert pickle.loads(pickle.dumps(attribute)) == attribute


@each_row(
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


@each_row(
    (0x3F8CCCCD, "1.100000e+00"),
    (0x3F9E0651, "1.23456776"),
    (0x4B800000, "0x4B800000"),
    (0x7F800000, "0x7F800000"),
    (0xFFC00000, "0xFFC00000"),
    (0x80000000, "-0.000000e+00"),
    (0x00000001, "1.401300e-45"),
)
def test_spelling_of_f32(code: int, text: str) -> None:
    """As mlir-opt 22 printed them."""
    assert spell_float(FORMATS["f32"], code) == text


# --- types ------------------------------------------------------------------------------------------------------------
#
# Types: spelling, equality, the rules of quantised types.

SPELLINGS = [
    *FORMATS, "i0", "i1", "si7", "ui1024", "i16777215", "index", "none", "complex<f32>", "tuple<>",
    "tuple<i1, tuple<f32>>", "() -> ()", "(i32, f32) -> (i32, f32)", "((i32) -> f32) -> i1", "(i32) -> ((f32) -> f32)",
    "tensor<f32>", "tensor<0x4x?xbf16>", "tensor<*xf8E8M0FNU>", 'tensor<2xf32, "encoding">',
    "tensor<2xvector<[4]x2xf32>>", "vector<f32>", "vector<2x[4]xi8>", "memref<?xf32, strided<[?], offset: 3>, 2 : i32>",
    "memref<*xf32, 1>", "!quant.uniform<i8:f32, 2.000000e+00:-5>",
    "!quant.uniform<u4<1:7>:f16:1, {1.000000e+00,2.000000e+00:3}>",
    "!quant.uniform<i8:f32:{0:1, 1:2}, {{2.000000e+00, 3.000000e+00:4}}>", "!quant.any<i8<-16:7>>",
    "!quant.calibrated<f32<-1.000000e+00:1.000000e+00>>", "!other.type<a, [b -> c]>", '!other<"anything">',
]  # fmt: skip


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


@each_row(
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
        UniformQuantizedType(8, True, -128, 127, F("f32"), (1.0,), (0,), storage_type_sign="signed"),
    ),
    ("!quant.uniform<i1:f32, 1.0>", UniformQuantizedType(1, True, -1, 0, F("f32"), (1.0,), (0,))),
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


@each_row(
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


@each_row(
    ("!quant.uniform<i8:f16, 70000.0>", ("7.000000e+04", "6.550400e+04")),
    ("!quant.uniform<i8:f16, 1.0e-8>", ("1.000000e-08", "5.960464e-08")),
    ("!quant.uniform<i8:f32, 0.0>", ("0.000000e+00", "1.401298e-45")),
    ("!quant.uniform<i8:f32, -1.0>", ("-1.000000e+00",)),
    ("!quant.uniform<i8:f8E8M0FNU, 1.0e-39>", ("1.000000e-39", "5.877472e-39")),
    ("!quant.uniform<i8<-129:5>:f32, 1.0>", ("-129", "-128")),
    ("!quant.uniform<u8<0:256>:f32, 1.0>", ("256", "255")),
    ("!quant.uniform<i33:f32, 1.0>", ("33",)),
    ("!quant.uniform<i8:f32:{0:2, 0:2}, {{1.0}}>", ("0",)),
    ("!quant.calibrated<f32<1.0:0.5>>", ("1.000000e+00", "5.000000e-01")),
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


# --- affine expressions -----------------------------------------------------------------------------------------------
#
# Affine expressions: what building simplifies keeps its value, and what is printed reads back to the same map.

Tree = tuple[str, "Tree", "Tree"] | AffineExpr

LEAVES = st.one_of(
    st.integers(0, 2).map(Dimension), st.integers(0, 1).map(Symbol), st.integers(-12, 12).map(AffineConstant)
)
TREES: st.SearchStrategy[Tree] = st.recursive(
    LEAVES, lambda inner: st.tuples(st.sampled_from(sorted(affine.OPERATORS)), inner, inner), max_leaves=10
)
VALUES = {Dimension(0): 7, Dimension(1): -4, Dimension(2): 30, Symbol(0): 5, Symbol(1): 3}


def evaluate(tree: Tree) -> int:
    """Return the exact value of an unsimplified expression. Raises ZeroDivisionError."""
    if isinstance(tree, Binary):
        tree = (tree.operator, tree.lhs, tree.rhs)
    if isinstance(tree, AffineConstant):
        return tree.value
    if isinstance(tree, AffineExpr):
        return VALUES[tree]
    operator, left, right = tree[0], evaluate(tree[1]), evaluate(tree[2])
    match operator:
        case "+":
            return left + right
        case "-":
            return left - right
        case "*":
            return left * right
        case "floordiv":
            return left // right
        case "ceildiv":
            return -(-left // right)
    if right < 0:
        raise ZeroDivisionError
    return left % right


def build(tree: Tree) -> AffineExpr | None:
    """Return the simplified expression; None for one that is not affine."""
    if isinstance(tree, AffineExpr):
        return tree
    left, right = build(tree[1]), build(tree[2])
    if left is None or right is None:
        return None
    if not (right.symbolic or (left.symbolic and tree[0] == "*") or tree[0] in "+-"):
        return None
    return affine.OPERATORS[tree[0]](left, right)


@hypothesis.given(TREES)
def test_simplifying_keeps_the_value(tree: Tree) -> None:
    built = build(tree)
    hypothesis.assume(built is not None)
    assert built is not None
    try:
        expected = evaluate(tree)
    except ZeroDivisionError:
        hypothesis.reject()
    assert evaluate(built) == expected


@hypothesis.given(st.lists(TREES, max_size=3))
def test_what_is_printed_reads_back(trees: list[Tree]) -> None:
    built = [build(tree) for tree in trees]
    results = tuple(expr for expr in built if expr is not None)
    for attribute in (
        AffineMapAttr(3, 2, results),
        IntegerSetAttr(3, 2, tuple((expr, True) for expr in results) or ((AffineConstant(0), True),)),
    ):
        again = parse_attribute(str(attribute))
        assert str(again) == str(attribute)
        assert parse_attribute(str(again)) == again


def test_maps_are_equal_by_what_they_compute() -> None:
    one, other = (
        parse_attribute(f"affine_map<({a}, {b})[{c}] -> ({a} + {c} + {b} * 2)>") for a, b, c in ("xyz", "ijN")
    )
    assert one == other
    assert hash(one) == hash(other)
    assert parse_attribute("affine_map<(x) -> (x)>") != parse_attribute("affine_map<(x)[s] -> (x)>")


def test_nesting_is_limited() -> None:
    summands = " + ".join(f"d0 mod {n}" for n in range(2, MAX_DEPTH + 2))
    assert str(parse_attribute(f"affine_map<(d0) -> ({summands})>")).count("mod") == MAX_DEPTH
    for text in (f"{summands} + d0 mod 999 + d0 mod 998", "(" * 5000 + "d0", "-" * 5000 + "d0"):
        with pytest.raises(ParseError, match="nest"):
            parse_attribute(f"affine_map<(d0) -> ({text})>")


def test_an_undeclared_name_has_a_hint() -> None:
    with pytest.raises(ParseError) as caught:
        parse_attribute("affine_map<(row, column) -> (row, colum)>")
    assert caught.value.hint == "did you mean `column`?"
