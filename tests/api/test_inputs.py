"""Inputs of every kind: each is taken exactly and rounded once, as the scalar specification rounds its exact value."""

import time
import warnings
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from itertools import product
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from amounts import thinned
from hypothesis import given, settings
from hypothesis import strategies as st
from tables import each_row

import halfulp as hu
from halfulp.fp_formats import scalar
from halfulp.fp_formats.formats import FORMATS, FloatFormat, codes_to_ints
from halfulp.fp_formats.policy import SPEC, Rounding
from halfulp.inputs import as_value
from halfulp.interp.ir.types import FloatType
from halfulp.semantics.profile import as_profile

MODES = list(Rounding)[:5]
THIRD = Fraction(1, 3)


def code(value: hu.Value) -> int:
    """Return the code of the one element."""
    element = value.element_type
    assert isinstance(element, FloatType)
    assert value.poison is None
    return codes_to_ints(value.bits[np.newaxis], element.format.bits)[0]


def exact(fmt: FloatFormat, number: Fraction, mode: Rounding, negative_zero: bool = False) -> int:
    """Return the code that the specification gives."""
    if not number and negative_zero:
        return scalar.encode_zero(fmt, 1, SPEC).code
    return scalar.from_fraction(fmt, number, mode).code


# --- exact numbers ----------------------------------------------------------------------------------------------------


@pytest.mark.long
@pytest.mark.parametrize("name", FORMATS)
@settings(max_examples=60)
@given(
    st.fractions()
    | st.builds(
        lambda n, d, e: Fraction(n, d) * Fraction(2) ** e, *(st.integers(1, 999),) * 2, st.integers(-17000, 17000)
    ),
    st.sampled_from(MODES),
)
def test_fractions_are_rounded_once(name: str, number: Fraction, mode: Rounding) -> None:
    assert code(hu.convert(number, name, rounding=mode.spelling)) == exact(FORMATS[name], number, mode)


@pytest.mark.long
@pytest.mark.parametrize("name", FORMATS)
@settings(max_examples=60)
@given(
    st.sampled_from(["", "-"]),
    st.integers(0, 10**60),
    st.integers(0, 40),
    st.integers(-5100, 5100),
    st.sampled_from(MODES),
)
def test_decimals_and_text_are_rounded_once(
    name: str, sign: str, digits: int, point: int, power: int, mode: Rounding
) -> None:
    text = f"{digits:041d}"
    text = f"{sign}{text[: len(text) - point]}.{text[len(text) - point :]}e{power}"
    number = Fraction(text)
    expected = exact(FORMATS[name], number, mode, negative_zero=bool(sign))
    assert code(hu.convert(text, name, rounding=mode.spelling)) == expected
    assert code(hu.convert(Decimal(text), name, rounding=mode.spelling)) == expected


@pytest.mark.long
@settings(max_examples=200)
@given(st.floats(allow_nan=False, allow_infinity=False), st.sampled_from(sorted(FORMATS)), st.sampled_from(MODES))
def test_hexadecimal_text_is_what_python_writes(number: float, name: str, mode: Rounding) -> None:
    assert hu.convert(number.hex(), name, rounding=mode.spelling) == hu.convert(number, name, rounding=mode.spelling)
    assert hu.convert(repr(number), "f64").item() == number


@pytest.mark.long
@settings(max_examples=200)
@given(st.integers() | st.integers(-(10**400), 10**400), st.sampled_from(sorted(FORMATS)), st.sampled_from(MODES))
def test_integers_of_any_size(number: int, name: str, mode: Rounding) -> None:
    expected = exact(FORMATS[name], Fraction(number), mode)
    for x in (number, str(number), Decimal(number), Fraction(number), [number], [[Fraction(number)]]):
        result = hu.convert(x, name, rounding=mode.spelling)
        assert codes_to_ints(result.bits.reshape(-1, *result.bits.shape[len(result.shape) :]), FORMATS[name].bits) == [
            expected
        ]


@settings(max_examples=50)
@given(st.fractions(-300, 300) | st.integers(-600, 600).map(lambda n: Fraction(n, 2)), st.sampled_from(MODES))
def test_fractions_become_integers(number: Fraction, mode: Rounding) -> None:
    below = number.numerator // number.denominator
    rest = number - below
    rounded = {
        Rounding.DOWNWARD: below,
        Rounding.UPWARD: below + (rest > 0),
        Rounding.TOWARD_ZERO: int(number),
        Rounding.TO_NEAREST_EVEN: round(number),
        Rounding.TO_NEAREST_AWAY: below + (rest > Fraction(1, 2) or (rest == Fraction(1, 2) and number > 0)),
    }[mode]
    result = hu.convert(number, "i8", rounding=mode.spelling)
    if -128 <= rounded <= 127:
        assert result.item() == rounded
    else:
        assert result.poisoned.all()
        saturated = hu.convert(number, "i8", rounding=mode.spelling, profile="spec,float_to_int=saturate")
        assert saturated.item() == (-128 if rounded < 0 else 127)


SPECIAL = ["inf", "-inf", "nan", "-nan", "Infinity", "+inf", "NaN", " -infinity "]


@each_row(*product(FORMATS, SPECIAL))
def test_special_text(name: str, text: str) -> None:
    assert hu.convert(text, name) == hu.convert(float(text), name)
    assert hu.convert(Decimal(text.strip()), name) == hu.convert(float(text), name)


def test_signed_zeros() -> None:
    for text in ("-0", "-0.0", "-0e5", "-.0", "-0x0p0", "-0/7"):
        assert code(hu.convert(text, "f16")) == 0x8000, text
    assert code(hu.convert(Decimal("-0"), "f16")) == 0x8000
    assert code(hu.convert("0", "f16")) == code(hu.convert("+0.0", "f16")) == 0
    assert code(hu.convert("-0", "f8E4M3FNUZ")) == 0
    assert code(hu.convert("-1e-400", "f16")) == 0x8000
    assert code(hu.convert("-1e-400", "f16", rounding="down")) == 0x8001


def test_text_is_exact_where_a_literal_of_mlir_is_not() -> None:
    # A literal goes through f64 first, so that its 53 bits are all that f128 gets.
    literal, text = hu.convert(0.1, "f128"), hu.convert("0.1", "f128")
    assert text != literal
    assert code(text) == exact(FORMATS["f128"], Fraction(1, 10), Rounding.TO_NEAREST_EVEN)
    assert code(literal) == exact(FORMATS["f128"], Fraction(0.1), Rounding.TO_NEAREST_EVEN)
    assert hu.convert("0.1", "f128", type="f64") == literal


@each_row("", " ", "x", "1.2.3", "1e", "0x", "0x1", "0x7F", "0b11", "0xp3", "0x.p1", "1/0", "1/", "1_000", "\u0663", "infx", "--1",
     "1e5e5", "nan(1)", "1,5", "f32=1")  # fmt: skip
def test_text_that_is_not_a_number(text: str) -> None:
    with pytest.raises(hu.TypeMismatch, match="not a number|divides by zero"):
        hu.convert(text, "f32")
    with pytest.raises(hu.TypeMismatch, match=r"x, element \[1\]: "):
        hu.convert(["1", text], "f32")


# --- hostile inputs ---------------------------------------------------------------------------------------------------

HOSTILE: dict[str, tuple[Any, str | None]] = {
    "large exponent": ("1e999999999", "inf"),
    "exponent of a thousand digits": ("1e" + "9" * 1000, "inf"),
    "small exponent": ("1e-999999999", "tiny"),
    "hexadecimal exponent": ("0x1p999999999999", "inf"),
    "small hexadecimal exponent": ("0x1p-999999999999", "tiny"),
    "large decimal": (Decimal("1e1000000000"), "inf"),
    "small decimal": (Decimal("1e-1000000000"), "tiny"),
    "large integer": (10**100000, "inf"),
    "fraction with a huge denominator": (Fraction(1, 10**100000), "tiny"),
    "fraction with a huge numerator": (Fraction(10**100000 + 1, 3), "inf"),
    "many digits": ("0." + "0" * 50000 + "1" * 40000, "tiny"),
    "zero with a large exponent": ("0e999999999", "zero"),
    "text of 10 MB": ("1" * 10_000_000, None),
    "text of 10 MB that is not a number": ("x" * 10_000_000, None),
    "decimal of a million digits": (Decimal("1" * 1_000_000), None),
}


@pytest.mark.parametrize("name", ["f8E5M2", "f64", "f128"])
@pytest.mark.parametrize("what", thinned(HOSTILE, 2))
def test_hostile_numbers_take_little_time(what: str, name: str) -> None:
    number, expected = HOSTILE[what]
    start = time.process_time()
    if expected is None:
        with pytest.raises(hu.TypeMismatch, match="is too long; at most 100000 are read") as raised:
            hu.convert(number, name)
        assert len(str(raised.value)) < 300
    else:
        fmt = FORMATS[name]
        down, nearest, up = (code(hu.convert(number, name, rounding=mode)) for mode in ("down", "nearest", "up"))
        ends = {"inf": (fmt.max_code, fmt.infinity_code, fmt.infinity_code), "tiny": (0, 0, 1), "zero": (0, 0, 0)}
        assert (down, nearest, up) == ends[expected]
    assert time.process_time() - start < 5


def test_numbers_beyond_all_formats_become_integers_by_the_rule() -> None:
    for number in ("1e999999999", Decimal("1e1000000000"), "0x1p999999999"):
        assert hu.convert(number, "i8").poisoned.all()
        assert hu.convert(number, "i8", profile="spec,float_to_int=saturate").item() == 127
        assert hu.convert(number, "i8", profile="spec,float_to_int=modular").item() == 0
    assert hu.convert("1e-999999999", "i8", rounding="up").item() == 1


# --- arrays -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8", "i2", "i4", "i8", "u2", "u4", "u8"])
def test_arrays_of_any_byte_order_and_stride(dtype: str) -> None:
    native = np.arange(24).reshape(4, 6).astype(dtype)
    for array in (native.astype(f">{dtype}"), native.astype(f"<{dtype}"), np.asfortranarray(native)):
        assert hu.convert(array, "f32") == hu.convert(native, "f32")
        assert hu.convert(array[::2, ::-3], "f32") == hu.convert(np.ascontiguousarray(native[::2, ::-3]), "f32")
        assert hu.Value.from_numpy(array) == hu.Value.from_numpy(native)


LONG = np.finfo(np.longdouble).nmant


@pytest.mark.skipif(LONG not in (63, 112), reason="longdouble is f64 here")
def test_long_doubles_are_taken_exactly() -> None:
    name = {63: "f80", 112: "f128"}[LONG]
    numbers = [np.longdouble(text) for text in ("0.1", "-1e4000", "1", "-0")]
    array = np.array([*numbers, np.longdouble(2) ** -16440, np.inf, -np.inf], np.longdouble)
    value = hu.Value.from_numpy(array)
    assert str(value.element_type) == name
    fmt = FORMATS[name]
    for number, found in zip(array, codes_to_ints(value.bits, fmt.bits), strict=True):
        if np.isfinite(number):
            assert scalar.value(fmt, found) == Fraction(*number.as_integer_ratio())
            assert bool(found >> (fmt.bits - 1)) == np.signbit(number)
        else:
            assert fmt.is_infinite(found)
    several = array[::-2].reshape(2, 2)
    assert hu.convert(several.T, "f64") == hu.convert(several.T.copy(), "f64")
    assert hu.convert(np.longdouble("0.1"), "f128") != hu.convert(0.1, "f128")
    assert hu.convert([np.longdouble("0.1"), "0.5"], name) == hu.convert(np.array(["0.1", "0.5"], np.longdouble), name)
    assert np.isnan(hu.convert(np.longdouble("nan"), "f32").item())


def test_lists_are_taken_exactly() -> None:
    big = (1 << 53) + 1
    first, _ = codes_to_ints(hu.convert([big, 0.5], "f128").bits, 128)
    assert first == exact(FORMATS["f128"], Fraction(big), Rounding.TO_NEAREST_EVEN)
    mixed = [1, 0.1, "0.1", Fraction(1, 10), Decimal("0.1"), 10**30, np.float32(0.1), ml_dtypes.bfloat16(0.1)]
    numbers = [Fraction(1), Fraction(0.1), *[Fraction(1, 10)] * 3, Fraction(10**30)]
    numbers += [Fraction(float(np.float32(0.1))), Fraction(float(ml_dtypes.bfloat16(0.1)))]
    for name in ("f8E4M3FN", "f64", "f128"):
        result = hu.convert([mixed, mixed[::-1]], name, rounding="up")
        assert result.shape == (2, 8)
        codes = codes_to_ints(result.bits, FORMATS[name].bits)
        expected = [exact(FORMATS[name], number, Rounding.UPWARD) for number in numbers]
        assert codes == expected + expected[::-1]
    assert hu.convert([-1, 1 << 63], "f64").numpy().tolist() == [-1.0, 2.0**63]
    assert hu.convert([], "f32").shape == (0,)
    assert hu.convert(np.array(["0.1", "1/3"]), "f32") == hu.convert(["0.1", THIRD], "f32")
    with pytest.raises(hu.TypeMismatch, match="must be an array"):
        hu.convert([[1], [2, 3]], "f32")


@each_row(
    (1j, "complex numbers have no element type.*\n.*x.real"),
    (np.zeros(2, np.complex64), "complex"),
    (None, "NoneType is not a number"),
    ([1.0, None], r"element \[1\]: NoneType is not a number"),
    ({"a": 1}, "dict is not a number"),
    (np.zeros(2, "M8[s]"), "no MLIR type corresponds to dtype datetime64"),
    (np.zeros(2, [("a", "f4")]), "no MLIR type corresponds to dtype"),
    (b"1", "no MLIR type corresponds to dtype"),
)
def test_what_is_not_a_number(x: object, message: str) -> None:
    with pytest.raises(hu.TypeMismatch, match=f"(?s){message}"):
        hu.convert(x, "f32")


def test_masked_arrays() -> None:
    x = np.ma.masked_array([[1.0, 2.0], [3.0, 4.0]], [[False, True], [False, False]])
    takers: list[Callable[[Any], object]] = [
        lambda x: hu.convert(x, "f16"),
        hu.Value.from_numpy,
        lambda x: hu.eval("arith.negf", x),
        lambda x: hu.eval("arith.negf", x, type="f64"),
        lambda x: hu.run("func.func @f(%x: tensor<2x2xf64>) -> tensor<2x2xf64> { return %x : tensor<2x2xf64> }", x),
        as_value,
    ]
    for take in takers:
        with pytest.raises(hu.errors.InputError, match="1 of 4 elements are masked"):
            take(x)
        take(np.ma.masked_array([[1.0, 2.0], [3.0, 4.0]]))  # nothing is masked
    result = hu.convert(x, "f16", masked="poison")
    assert result.poisoned.tolist() == [[False, True], [False, False]]
    assert "masked in the given array" in str(result.origin(0, 1))
    assert hu.convert(x, "f16", type="f64", masked="poison").poisoned.tolist() == result.poisoned.tolist()
    assert hu.convert(np.ma.masked, "f16", masked="poison").poisoned.item()
    with pytest.raises(hu.errors.InputError, match="masked elements"):
        hu.convert([1.0, np.ma.masked], "f16")
    with pytest.raises(ValueError, match="masked is 'drop', but must be None or 'poison'"):
        hu.convert(x, "f16", masked="drop")  # type: ignore[arg-type]


def test_objects_with_an_array() -> None:
    class Series:
        def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray[Any, Any]:
            return np.array([0.5, 1.5], np.float32)

    assert hu.convert(Series(), "f16").numpy().tolist() == [0.5, 1.5]


# --- a given type -----------------------------------------------------------------------------------------------------


def test_numbers_take_the_type_of_an_op() -> None:
    for x in (0.1, "0.1", Decimal("0.1"), Fraction(1, 10)):
        total = hu.eval("arith.addf", x, "1/3", type="f8E4M3FN")
        assert total == hu.eval("arith.addf", hu.convert(x, "f8E4M3FN"), hu.convert(THIRD, "f8E4M3FN"))
    assert hu.eval("arith.addf", [0.1, 0.2], ["0.1", 1], type="bfloat16") == hu.eval(
        "arith.addf", hu.convert([0.1, 0.2], "bf16"), hu.convert(["0.1", 1], "bf16")
    )
    assert hu.eval("arith.addi", [1, 255], [2, -1], type="i8").bits.tolist() == [3, 254]
    assert hu.eval("arith.addi", [10**20], [1], type="i128").numpy().tolist() == [10**20 + 1]


@each_row(
    ([1.0, float("nan")], "f4E2M1FN", "f4E2M1FN has no NaN"),
    (["nan"], "f4E2M1FN", "f4E2M1FN has no NaN"),
    ([1.0, -1.0], "f8E8M0FNU", "f8E8M0FNU has no negative values"),
    (["-1"], "f8E8M0FNU", "f8E8M0FNU has no negative values"),
    ([1.0], "i8", "'i8' takes only integers"),
    ([THIRD], "i8", "'i8' takes only integers"),
    ([1, 256], "i8", "256 is outside the range of 'i8', -128 to 255"),
    ([1, 10**30], "i8", "outside the range of 'i8', -128 to 255"),
    ([-1], "ui8", "-1 is outside the range of 'ui8', 0 to 255"),
    ([200], "si8", "200 is outside the range of 'si8', -128 to 127"),
    ([1.0, 2.0], "tensor<3xf32>", "a value of shape 2 is not of type 'tensor<3xf32>'"),
    (np.array([1.0]), "f32", "got an array of dtype float64"),
)
def test_what_a_type_does_not_have(x: object, type: str, message: str) -> None:
    with pytest.raises(hu.TypeMismatch, match=message):
        as_value(x, type)


def test_exact_numbers_need_a_type() -> None:
    for x in (THIRD, "0.1", 1 << 64, [THIRD]):
        with pytest.raises(hu.TypeMismatch, match="exact numbers have no type"):
            as_value(x)


# --- torch ------------------------------------------------------------------------------------------------------------


@pytest.mark.torch
@each_row(
    ("float8_e4m3fn", "f8E4M3FN"),
    ("float8_e4m3fnuz", "f8E4M3FNUZ"),
    ("float8_e5m2", "f8E5M2"),
    ("float8_e5m2fnuz", "f8E5M2FNUZ"),
    ("float8_e8m0fnu", "f8E8M0FNU"),
)
def test_8_bit_floats_of_torch(torch_name: str, name: str) -> None:
    import torch

    codes = np.arange(256, dtype=np.uint8).reshape(16, 16)
    tensor = torch.from_numpy(codes).view(getattr(torch, torch_name))
    value = hu.Value.from_numpy(tensor)
    assert str(value.element_type) == name
    assert np.array_equal(value.bits, codes)
    assert hu.convert(tensor.T, "f32") == hu.convert(hu.Value.from_bits(codes.T, name), "f32")
    widened = tensor.to(torch.float32).numpy()  # torch's own values
    ours = hu.convert(tensor, "f32").numpy()
    assert np.array_equal(widened, ours, equal_nan=True)


@pytest.mark.torch
def test_16_bit_floats_of_torch() -> None:
    import torch

    codes = np.arange(1 << 16, dtype=np.uint16).reshape(256, 256)
    for dtype, name in ((torch.bfloat16, "bf16"), (torch.float16, "f16")):
        tensor = torch.from_numpy(codes.view(np.int16)).view(dtype)
        for given_, expected in ((tensor, codes), (tensor.T[::3], codes.T[::3])):
            value = hu.Value.from_numpy(given_)
            assert str(value.element_type) == name
            assert np.array_equal(value.bits, expected)


@pytest.mark.torch
def test_packed_pairs_of_torch() -> None:
    import torch

    codes = np.arange(256, dtype=np.uint8).reshape(2, 128)
    value = hu.Value.from_numpy(torch.from_numpy(codes).view(torch.float4_e2m1fn_x2))
    assert str(value.type) == "tensor<2x256xf4E2M1FN>"
    assert np.array_equal(value.bits[:, ::2], codes & 15)
    assert np.array_equal(value.bits[:, 1::2], codes >> 4)


@pytest.mark.torch
def test_other_tensors() -> None:
    import torch

    for name in (
        "float32", "float64", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "bool",
    ):  # fmt: skip
        tensor = torch.tensor([[0, 1], [3, 2]]).to(getattr(torch, name))
        assert hu.convert(tensor, "f32") == hu.convert(tensor.numpy(), "f32")
        assert hu.Value.from_numpy(tensor.T) == hu.Value.from_numpy(tensor.numpy().T)
    weights = torch.nn.Parameter(torch.tensor([0.1, 0.2]))
    assert hu.convert(weights, torch.bfloat16) == hu.convert(np.array([0.1, 0.2], np.float32), "bf16")
    assert hu.convert(torch.tensor(0.5), "f16").item() == 0.5
    assert hu.eval("arith.negf", weights.to(torch.bfloat16)).numpy().tolist() == [-0.10009765625, -0.2001953125]
    (same,) = hu.run("func.func @f(%x: tensor<2xf32>) -> tensor<2xf32> { return %x : tensor<2xf32> }", weights)
    assert same == hu.Value.from_numpy(weights)


@pytest.mark.torch
def test_tensors_that_are_refused() -> None:
    import torch

    refused = (
        (torch.ones(2, device="meta"), "has no values"),
        (torch.eye(3).to_sparse(), "has the layout torch.sparse_coo"),
        (torch.ones(2, dtype=torch.complex64), "is complex"),
    )
    for tensor, message in refused:
        with pytest.raises(hu.TypeMismatch, match=f"the tensor {message}.*\n.*give x"):
            hu.convert(tensor, "f16")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        quantized = torch.quantize_per_tensor(torch.ones(2), 0.1, 0, torch.qint8)
    with pytest.raises(hu.TypeMismatch, match=r"is quantized.*\n.*x.int_repr"):
        hu.convert(quantized, "f16")


def test_decimals_that_are_not_numbers() -> None:
    for text in ("NaN", "-NaN", "sNaN", "-sNaN123", "NaN7"):
        result = hu.convert(Decimal(text), "f16")
        assert code(result) & 0x7E00 == 0x7E00  # quiet
        assert bool(code(result) >> 15) == text.startswith("-")
    assert hu.convert(Decimal("sNaN"), "f4E2M1FN").poisoned.item()


def test_other_rational_numbers() -> None:
    gmpy2: Any = pytest.importorskip("gmpy2")
    assert hu.convert(gmpy2.mpq(1, 3), "f128") == hu.convert(THIRD, "f128")
    assert hu.convert([gmpy2.mpq(1, 3)], "f16") == hu.convert([THIRD], "f16")


# --- names of rounding modes ------------------------------------------------------------------------------------------


@pytest.mark.long
@each_row(("RNE", "to_nearest_even"), ("up", "upward"), ("floor", "downward"), ("RZ", "toward_zero"))
def test_other_names_of_modes_wherever_a_mode_is_taken(name: str, mode: str) -> None:
    x = np.array([0.3, -0.3])
    assert hu.convert(x, "bf16", rounding=name) == hu.convert(x, "bf16", rounding=mode)
    assert hu.convert(x, "bf16").astype("f8E5M2", name) == hu.convert(x, "bf16").astype("f8E5M2", mode)
    expected = hu.eval("arith.truncf", x, to="bf16", rounding=mode)
    assert hu.eval("arith.truncf", x, to="bfloat16", rounding=name) == expected
    assert hu.eval("arith.truncf", x, to="bfloat16", roundingmode=name) == expected
    assert str(hu.explain(0.3, "bfloat16", name)) == str(hu.explain(0.3, "bf16", mode))
    explained = [str(hu.explain_op("arith.truncf", 0.3, to="bf16", rounding=each)) for each in (name, mode)]
    assert explained[0] == explained[1]
    assert as_profile(f"spec,qcast_rounding={name}") == as_profile(f"spec,qcast_rounding={mode}")
    for refused in ("half_up", "RTN", "nearly"):
        for error, call in (
            (ValueError, lambda refused=refused: hu.convert(x, "bf16", rounding=refused)),
            (hu.errors.VerifyError, lambda refused=refused: hu.eval("arith.truncf", x, to="bf16", rounding=refused)),
            (hu.errors.InputError, lambda refused=refused: hu.explain(0.3, "bf16", refused)),
        ):
            with pytest.raises(error, match=f"rounding is '{refused}', but must be one of to_nearest_even"):
                call()
