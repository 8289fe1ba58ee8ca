"""Values: immutable, equal by type, bits and poison, made of arrays, and given back as arrays."""

import pickle
from fractions import Fraction
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from amounts import amounts, thinned
from bitstring import BitArray, Bits
from tables import each_row

from halfulp.fp_formats import scalar
from halfulp.fp_formats.aliases import DTYPE_NAMES
from halfulp.fp_formats.formats import FORMATS, FloatFormat, codes_to_ints
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.errors import InputError, TypeMismatch, Unsupported
from halfulp.interp.loading import parse_module
from halfulp.interp.text.printer import print_module
from halfulp.interp.values.coerce import as_type
from halfulp.interp.values.parsing import parse_element, parse_value
from halfulp.interp.values.spelling import spell_element
from halfulp.interp.values.value import Value, to_elements, to_value
from halfulp.running import run
from halfulp.semantics.kernel import Origin, Origins


def poisoned(mask: list[bool], bits: list[int]) -> Value:
    origins = Origins()
    ids = np.where(mask, np.uint16(origins.id_of(Origin("op", "here", "why"))), np.uint16(0)).astype(np.uint16)
    return Value(as_type(f"tensor<{len(bits)}xi8>"), np.array(bits, np.uint8), ids, None, origins)


def test_a_value_cannot_be_changed() -> None:
    value = Value.from_numpy(np.arange(3, dtype=np.int32))
    with pytest.raises(AttributeError, match="immutable"):
        value.type = ty.I1
    with pytest.raises(ValueError, match="read-only"):
        value.bits[0] = 1
    with pytest.raises(ValueError, match="read-only"):
        value.numpy()[0] = 1


def test_an_identity_function_does_not_hand_out_the_callers_array() -> None:
    x = np.arange(4, dtype=np.float32)
    (y,) = run("func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> { return %x : tensor<4xf32> }", x)
    assert not np.may_share_memory(y.bits, x)
    assert x.flags.writeable
    x[0] = 7
    assert y.numpy().tolist() == [0, 1, 2, 3]
    with pytest.raises(ValueError, match="read-only"):
        y.numpy()[0] = 1


def test_results_that_are_constants_are_read_only() -> None:
    (y,) = run(
        "func.func @main() -> tensor<4xi8> { %c = arith.constant dense<3> : tensor<4xi8>\n return %c : tensor<4xi8> }"
    )
    assert y.numpy().tolist() == [3, 3, 3, 3]
    assert not y.bits.flags.writeable


def test_equality_is_of_type_poison_and_bits_outside_poison() -> None:
    assert poisoned([True, False], [1, 2]) == poisoned([True, False], [9, 2])
    assert poisoned([True, False], [1, 2]) != poisoned([False, True], [1, 2])
    assert poisoned([False, False], [1, 2]) == Value.from_bits([1, 2], "i8")
    assert Value.from_bits([1, 2], "i8") != Value.from_bits([1, 2], "si8")
    assert Value.from_bits([1, 2], "i8") != Value.from_bits([[1, 2]], "i8")
    nan = Value.from_bits(0x7FC00001, "f32")
    assert nan == Value.from_bits(0x7FC00001, "f32")
    assert nan != Value.from_bits(0x7FC00000, "f32")
    wide = Value.from_bits(np.array([[1, 2], [3, 4]], np.uint64), "i128")
    assert wide == Value.from_bits([1 + (2 << 64), 3 + (4 << 64)], "i128")
    assert hash(poisoned([True, False], [1, 2])) == hash(poisoned([True, False], [9, 2]))


@each_row(
    Value.from_numpy(np.float32(1.5)),
    Value.from_bits(np.array([[1, 2]], np.uint64), "f80"),
    poisoned([True, False], [1, 2]),
    Value.from_bits(5, "!quant.uniform<i8:f32, 2.0>"),
)
def test_pickle_keeps_everything(value: Value) -> None:
    copy = pickle.loads(pickle.dumps(value))
    assert copy == value
    assert copy.poisoned.tolist() == value.poisoned.tolist()
    if value.poison is not None:
        assert copy.origin(0) == value.origin(0)
    assert not copy.bits.flags.writeable


# --- natural arrays ---------------------------------------------------------------------------------------------------

NATURAL = [
    ("i1", [0, 1], np.bool_, [False, True]),
    ("i8", [255, 1], np.int8, [-1, 1]),
    ("ui8", [255, 1], np.uint8, [255, 1]),
    ("si16", [65535, 1], np.int16, [-1, 1]),
    ("i4", [15, 7], ml_dtypes.int4, [-1, 7]),
    ("ui4", [15, 7], ml_dtypes.uint4, [15, 7]),
    ("i3", [7, 3], np.int8, [-1, 3]),
    ("i24", [0xFFFFFF, 1], np.int32, [-1, 1]),
    ("i0", [0, 0], np.uint8, [0, 0]),
    ("index", [2**64 - 1, 3], np.int64, [-1, 3]),
    ("f32", [0x3F800000, 0x80000000], np.float32, [1.0, -0.0]),
    ("f16", [0x3C00, 0xFC00], np.float16, [1.0, -np.inf]),
    ("bf16", [0x3F80, 0x4000], ml_dtypes.bfloat16, [1.0, 2.0]),
    ("tf32", [0x3F800000 >> 13, 0x40000000 >> 13], np.float32, [1.0, 2.0]),
    ("f8E4M3FN", [0x38, 0xB8], ml_dtypes.float8_e4m3fn, [1.0, -1.0]),
    ("f8E8M0FNU", [127, 128], ml_dtypes.float8_e8m0fnu, [1.0, 2.0]),
    ("f6E2M3FN", [8, 40], ml_dtypes.float6_e2m3fn, [1.0, -1.0]),
    ("f4E2M1FN", [2, 15], ml_dtypes.float4_e2m1fn, [1.0, -6.0]),
    ("!quant.uniform<i8:f32, 2.0>", [255, 1], np.int8, [-1, 1]),
    ("!quant.uniform<u8:f32, 2.0>", [255, 1], np.uint8, [255, 1]),
]


@pytest.mark.parametrize(("spelling", "bits", "dtype", "numbers"), NATURAL, ids=[row[0] for row in NATURAL])
def test_natural_arrays(spelling: str, bits: list[int], dtype: Any, numbers: list[Any]) -> None:
    array = Value.from_bits(bits, spelling).numpy()
    assert array.dtype == np.dtype(dtype)
    assert [float(x) for x in array] == [float(x) for x in numbers]
    assert np.asarray(Value.from_bits(bits, spelling)).dtype == array.dtype
    if spelling not in ("i3", "i24", "i0", "tf32"):  # these have no dtype of their own
        assert to_value(array, as_type(f"tensor<2x{spelling}>")).bits.tolist() == bits


@pytest.mark.added
@pytest.mark.parametrize("name", [name for name, fmt in FORMATS.items() if fmt.bits <= 16])
def test_every_code_of_a_small_format_survives_its_natural_array(name: str) -> None:
    """A format that NumPy has no dtype for (`DTYPE_NAMES` of fp_formats/aliases.py) says so, and has its codes only."""
    fmt = FORMATS[name]
    codes = np.arange(1 << fmt.bits).astype(fmt.storage_dtype)
    value = Value.from_bits(codes, name)
    if name not in DTYPE_NAMES:
        with pytest.raises(TypeMismatch, match="NumPy has no dtype"):
            value.numpy()
        np.testing.assert_array_equal(value.bits, codes)
        return
    assert Value.from_numpy(value.numpy()) == value


def test_wide_integers_are_python_integers() -> None:
    value = Value.from_bits([1, (1 << 128) - 1], "i128")
    assert value.numpy().tolist() == [1, -1]
    assert Value.from_bits([(1 << 128) - 1], "ui128").numpy().tolist() == [(1 << 128) - 1]
    assert to_value(value.numpy(), as_type("tensor<2xi128>")) == value
    (doubled,) = run(
        "func.func @main(%a: tensor<2xi128>) -> tensor<2xi128> { %0 = arith.addi %a, %a : tensor<2xi128>\n return %0 : tensor<2xi128> }",
        value,
    )
    assert doubled.numpy().tolist() == [2, -2]


def test_array_protocol() -> None:
    value = Value.from_numpy(np.array([1, 2], np.int32))
    assert np.asarray(value, dtype=np.float64).tolist() == [1.0, 2.0]
    copy = np.array(value, copy=True)
    copy[0] = 9
    assert value.numpy().tolist() == [1, 2]
    with pytest.raises(ValueError, match="a copy is needed"):
        value.__array__(np.float64, copy=False)
    assert np.may_share_memory(np.asarray(value), value.bits)


def test_inputs_of_the_right_dtype_are_not_copied() -> None:
    x = np.arange(4, dtype=np.float32)
    assert np.may_share_memory(to_value(x, as_type("tensor<4xf32>")).bits, x)
    assert x.flags.writeable


# --- inputs that do not fit -------------------------------------------------------------------------------------------


@each_row(
    (np.zeros(4, np.float64), "tensor<4xf32>", "expected 'tensor<4xf32>', got an array of dtype float64"),
    (np.zeros(4, np.uint32), "tensor<4xf32>", "got an array of dtype uint32"),
    (np.zeros(4, np.int16), "tensor<4xi8>", "got an array of dtype int16"),
    (np.zeros(3, np.float32), "tensor<4xf32>", "a value of shape 3 is not of type 'tensor<4xf32>'"),
    (np.zeros((2, 2), np.float32), "tensor<4xf32>", "got an array of shape 2x2"),
    (np.zeros(4, np.float32), "f32", "got an array of shape 4"),
    (1.5, "tensor<4xf32>", "got the number 1.5"),
    (1.5, "i32", "got the float 1.5"),
    (True, "f32", "got True"),
    (128 * 2, "i8", "256 is outside the range of 'i8', -128 to 255"),
    (-1, "ui8", "-1 is outside the range of 'ui8', 0 to 255"),
    (np.zeros((4, 3), np.uint64), "tensor<4xf80>", "expected 'tensor<4xf80>'"),
    (np.array([16], np.uint8), "tensor<1xi3>", "bit pattern 0x10 does not fit the 3 bits"),
    (np.array(["a"]), "tensor<1xf32>", "got an array of dtype <U1"),
    (Value.from_bits(1, "i8"), "i16", "expected 'i16', got 'i8'"),
    (np.zeros(4, ">f8"), "tensor<4xf32>", "got an array of dtype float64"),
)
def test_inputs_that_do_not_fit_are_refused(data: Any, spelling: str, message: str) -> None:
    with pytest.raises(TypeMismatch, match=r"^error: argument 0: ") as caught:
        to_value(data, as_type(spelling), "argument 0")
    assert message in str(caught.value)


def test_raw_bits_are_checked() -> None:
    for bits, spelling in ((16, "f4E2M1FN"), (2, "i1"), (-1, "i8"), (1 << 80, "f80"), (1.0, "f32")):
        with pytest.raises(TypeMismatch):
            Value.from_bits(bits, spelling)
    with pytest.raises(Unsupported):
        Value.from_bits(0, "none")
    with pytest.raises(TypeMismatch):
        Value.from_bits([1, 2, 3], "tensor<2xi8>")


def test_python_floats_round_as_literals_do() -> None:
    assert int(to_value(0.1, as_type("f32")).bits) == 0x3DCCCCCD
    assert int(to_value(465.0, as_type("f8E4M3FN")).bits) == 0x7F
    assert int(to_value(-1, as_type("i1")).bits) == 1


def test_item_and_len() -> None:
    assert Value.from_bits(3, "i8").item() == 3
    with pytest.raises(ValueError, match="poison"):
        poisoned([True], [1]).item()
    assert len(Value.from_bits([1, 2], "i8")) == 2
    with pytest.raises(TypeError):
        len(Value.from_bits(1, "i8"))


# --- nothing changes silently -----------------------------------------------------------------------------------------


def test_numbers_that_a_float_type_does_not_have_are_refused() -> None:
    for number, spelling, message in (
        (float("nan"), "f4E2M1FN", "f4E2M1FN has no NaN"),
        (-1.0, "f8E8M0FNU", "f8E8M0FNU has no negative values: -1.0"),
        (-3, "f8E8M0FNU", "f8E8M0FNU has no negative values: -3"),
    ):
        with pytest.raises(TypeMismatch, match=message):
            Value.from_numpy(number, spelling)


def test_python_integers_are_rounded_once() -> None:
    number = 2**60 + 2**36 + 1  # through f64 it would be a tie
    assert int(Value.from_numpy(number, "f32").bits) == 0x5D800001
    assert Value.from_numpy(2**53 + 1, "f128").bits.tolist() == [1 << 59, 0x4034 << 48]
    assert int(Value.from_numpy(10**400, "f32").bits) == 0x7F800000


def test_bits_that_a_dtype_ignores_do_not_get_in() -> None:
    f4 = np.array([0xF1, 0x0F], np.uint8).view(ml_dtypes.float4_e2m1fn)
    assert Value.from_numpy(f4).bits.tolist() == [0x1, 0xF]
    true = np.array([2, 1, 0], np.uint8).view(np.bool_)
    assert Value.from_numpy(true).bits.tolist() == [1, 1, 0]


def test_from_numpy_copies_and_masks_cannot_be_written() -> None:
    array = np.zeros(2, np.float32)
    value = Value.from_numpy(array)
    array[0] = 9
    assert value.numpy().tolist() == [0, 0]
    lost = poisoned([True, False], [1, 2])
    assert lost.poison is not None
    with pytest.raises(ValueError, match="read-only"):
        lost.poison[0] = 0


def test_values_without_elements_have_a_spelling() -> None:
    assert repr(Value.from_numpy(np.zeros((2, 0, 3), np.float32))) == "Value(2x0x3xf32=)"


def test_integers_of_any_number_of_digits() -> None:
    value = Value.from_bits((1 << 20000) - 1 - 10**6000, "i20000")
    assert repr(value) == f"Value(i20000=-1{'0' * 5999}1)"
    ones = "1" * 5000
    text = f"func.func @f() -> i20000 {{ %0 = arith.constant {ones} : i20000\n return %0 : i20000 }}"
    (result,) = run(text)
    assert repr(result) == f"Value(i20000={ones})"
    assert f"arith.constant {ones} : i20000" in print_module(parse_module(text))
    with pytest.raises(TypeMismatch, match=r"the number is outside the range of 'i128', -2\^127 to 2\^128 - 1"):
        to_value(1 << 20000, as_type("i128"))


# --- values with elements of a type -----------------------------------------------------------------------------------


@each_row(
    (np.array([1, 200], np.uint8), None, "tensor<2xui8>"),
    (np.array([True, False]), None, "tensor<2xui1>"),
    (np.array([1, -2], np.int16), None, "tensor<2xi16>"),
    (1.5, None, "f64"),
    (3, None, "i64"),
    (np.float32(2), None, "f32"),
    (np.array([1.5, 2], np.float32), "f32", "tensor<2xf32>"),
    (2.5, "f8E5M2", "f8E5M2"),
    (np.zeros((3, 2), np.uint64), "f128", "tensor<3xf128>"),
    (np.zeros((2, 2), np.int8), "vector<2x2xi8>", "vector<2x2xi8>"),
)
def test_elements_of_a_type_make_a_tensor_or_a_scalar(data: Any, type_: str | None, spelled: str) -> None:
    value = to_elements(data, None if type_ is None else as_type(type_))
    assert str(value.type) == spelled
    assert to_elements(value, None) is value
    if type_ is None:
        assert value.numpy().tolist() == np.asarray(data).tolist()


def test_elements_are_not_copied_and_must_fit() -> None:
    x = np.array([1.5, 2], np.float32)
    assert np.shares_memory(to_elements(x, None).bits, x)
    with pytest.raises(TypeMismatch, match="no MLIR type corresponds to dtype complex64"):
        to_elements(np.zeros(2, np.complex64), None)
    with pytest.raises(TypeMismatch, match="operand 0 of arith.addf: expected 'tensor<2xf16>'"):
        to_elements(x, as_type("f16"), "operand 0 of arith.addf")


@each_row(
    # 1.453125 * 2^18, 1023.5 * 2^6, 1.83964... * 2^26: NumPy's float32 of the last one is exactly this integer.
    (0x48BA, "bf16", "380928"),
    (0xC8BA, "bf16", "-380928"),
    (0x7BFF, "f16", "65504"),
    (0x4CEB79A3, "f32", "123456792"),
    (0x4B7FFFFF, "f32", "16777215"),
    (172, "f8E8M0FNU", str(2**45)),
    (0x59B1, "bf16", str(0xB1 << 45)),  # 177 * 2^45 = 6227620798332928, of sixteen digits
    (0x5A0E, "bf16", "1e+16"),  # 142 * 2^46 = 9992361673228288: with an exponent, as before
    (0x433FFFFFFFFFFFFF, "f64", str(2**53 - 1)),
    (0x4341C37937E08000, "f64", "1e+16"),
    (0x3DCD, "bf16", "0.1"),
    (0x4122, "bf16", "10.1"),
)
def test_an_integer_without_an_exponent_has_all_its_digits(code: int, type_: str, text: str) -> None:
    value = Value.from_bits(code, type_)
    assert str(value) == repr(value) == f"Value({type_}={text})"
    assert parse_value(value.type, text) == value


def codes_of(fmt: FloatFormat, step: int) -> range:
    """Return all codes of a format of up to 8 bits, and each ``step``-th one of a wider format."""
    return range(0, 1 << fmt.bits, step if fmt.bits > 8 else 1)


@pytest.mark.parametrize("step", amounts(19, long=1))
@pytest.mark.parametrize("type_", ["bf16", "f16", "f8E5M2", "f8E8M0FNU"])
def test_all_numbers_without_an_exponent_are_exact_or_fractions(type_: str, step: int) -> None:
    for code in codes_of(FORMATS[type_], step):
        text = spell_element(as_type(type_), code)
        if "e" not in text and text.lstrip("-").isdigit():
            assert Fraction(text) == scalar.value(FORMATS[type_], code), hex(code)


def test_a_negative_nan_is_printed_as_such() -> None:
    rows = {
        "f8E4M3FN": 0xFF,
        "f32": 0xFFC00000,
        "bf16": 0xFFC0,
        "f64": 0xFFF8 << 48,
        "f16": 0xFE00,
        "f80": 0xFFFFC << 60,
    }
    for type_, code in rows.items():
        value = Value.from_bits(code, type_)
        assert str(value) == f"Value({type_}=-nan)"
        assert parse_value(value.type, "-nan") == parse_value(value.type, "-NaN") == value
    # A payload, and a signalling NaN, stay as codes.
    for type_, code in (("f32", 0xFFC00001), ("f32", 0x7FC00001), ("f32", 0xFF800001), ("f8E5M2", 0xFD)):
        assert parse_value(as_type(type_), str(Value.from_bits(code, type_))[6:-1].partition("=")[2]).bits == code
        assert f"=0x{code:X}" in str(Value.from_bits(code, type_))
    # The one NaN of these has no sign: its code is that of -0 elsewhere, or the format has no sign.
    for type_, code in (("f8E4M3FNUZ", 0x80), ("f8E8M0FNU", 0xFF)):
        assert str(Value.from_bits(code, type_)) == f"Value({type_}=nan)"
        with pytest.raises(InputError, match=f"{type_} has no -nan"):
            parse_value(as_type(type_), "-nan")


@pytest.mark.parametrize("step", amounts(19, long=1))
@pytest.mark.parametrize("type_", thinned([name for name, fmt in FORMATS.items() if fmt.bits <= 16], 3))
def test_what_is_printed_reads_back(type_: str, step: int) -> None:
    element = as_type(type_)
    for code in codes_of(FORMATS[type_], step):
        assert parse_element(element, spell_element(element, code)) == code


# --- single bit patterns ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", FORMATS)
def test_round_trips(name: str) -> None:
    fmt = FORMATS[name]
    step = max(1, fmt.code_mask // 255)
    patterns = [Bits(uint=code, length=fmt.bits) for code in range(0, fmt.code_mask + 1, step)]
    value = Value.from_bits(patterns, name)
    assert value.shape == (len(patterns),)
    assert [value.bitstring(k) for k in range(len(patterns))] == patterns
    assert value == Value.from_bits([f"0b{pattern.bin}" for pattern in patterns], name)
    sign, exponent, significand = fmt.fields(codes_to_ints(value.bits, fmt.bits)[-1])
    assert sign + exponent + significand == value.bitstring(-1)


@each_row(
    ("i1", "0b1"), ("i4", "0x9"), ("i6", "0x3F"), ("i64", "0x8000_0000_0000_0001"), ("i100", "0x8" + "0" * 24),
    ("index", "0x00000000000000ff"), ("!quant.uniform<i8:f32, 1.0>", "0xfe"),
)  # fmt: skip
def test_scalars_of_other_types(spelling: str, pattern: str) -> None:
    value = Value.from_bits(pattern, spelling)
    assert value.shape == ()
    whole = value.bitstring()
    assert value == Value.from_bits(whole, spelling) == Value.from_bits(BitArray(whole), spelling)
    assert whole.bin[0] == ("0" if spelling == "index" else "1")


def test_a_width_of_zero() -> None:
    value = Value.from_bits(Bits(), "i0")
    assert value.bitstring() == Bits()


def test_shapes_and_indices() -> None:
    value = Value.from_bits([["0x7E", Bits("0x01")], [2, "0b0 0000 011"]], "f8E4M3FN")
    assert str(value.type) == "tensor<2x2xf8E4M3FN>"
    assert value.bits.tolist() == [[0x7E, 1], [2, 3]]
    assert value.bitstring(1, 0).hex == "02"
    assert Value.from_bits(["0x7E"] * 2, "vector<2xf8E4M3FN>").bitstring(1).hex == "7e"
    for index in ((), (1,), (0, 1, 0)):
        with pytest.raises(IndexError, match=f"a value of shape 2x2 takes 2 indices, not {len(index)}"):
            value.bitstring(*index)
    with pytest.raises(IndexError, match="out of bounds"):
        value.bitstring(0, 2)


@each_row(
    ("0x7", "bits: '0x7' is not a pattern of 8 bits, which has 2 hexadecimal digits"),
    ("0b111111111", "is not a pattern of 8 bits, which has 8 binary digits"),
    ("126", "bits: '126' is not a bit pattern: write all bits as 0b… or as 0x…"),
    ([1, "1.5"], "bits: '1.5' is not a bit pattern"),
    (Bits("0x123"), "has 12 bits, but 8 are needed"),
    (np.array(["0x7e"]), "integers"),
)
def test_wrong_patterns(bits: object, message: str) -> None:
    with pytest.raises(TypeMismatch, match=message):
        Value.from_bits(bits, "f8E4M3FN")  # type: ignore[arg-type]


def test_poison_has_no_bits() -> None:
    origins = Origins()
    ids = np.array([0, origins.id_of(Origin("arith.addi", "here", "signed overflow"))], np.uint16)
    value = Value(as_type("tensor<2xi8>"), np.array([5, 6], np.uint8), ids, None, origins)
    assert value.bitstring(0).uint == 5
    with pytest.raises(ValueError, match=r"^the element is poison: .*signed overflow"):
        value.bitstring(1)


def test_elements_without_bits() -> None:
    value = Value(as_type("complex<f32>"), np.zeros(2, np.uint32))
    with pytest.raises(Unsupported, match="'complex<f32>' has no bit pattern"):
        value.bitstring()
