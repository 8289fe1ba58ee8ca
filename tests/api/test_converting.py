"""`convert`: between element types, rounding once."""

import subprocess
import sys
from decimal import Decimal
from fractions import Fraction
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from amounts import thinned
from bitstring import BitArray, Bits
from tables import each_row

import halfulp as hu
from halfulp.fp_formats.formats import codes_to_ints


def test_convert_between_floats_and_integers() -> None:
    x = np.array([464.0, 465.0, -465.0])
    assert hu.convert(x, "f8E4M3FN").bits.tolist() == [0x7E, 0x7F, 0xFF]
    assert hu.convert(x, to="f8E4M3FN", rounding="toward_zero").bits.tolist() == [0x7E, 0x7E, 0xFE]
    assert hu.convert(x, "f8E4M3FN", profile="ocp-saturate").bits.tolist() == [0x7E, 0x7E, 0xFE]
    assert hu.convert(16777217, "f32").numpy().item() == 16777216.0
    assert hu.convert(np.array([3.7, -3.7]), "i8").numpy().tolist() == [3, -3]
    assert hu.convert(np.array([3.7, -3.7]), "i8", rounding="to_nearest_even").numpy().tolist() == [4, -4]
    assert hu.convert(np.array([300.0, 1.0]), "i8").poisoned.tolist() == [True, False]
    assert hu.convert(np.array([255], np.uint8), "f32", type="ui8").numpy().tolist() == [255.0]
    value = hu.convert([1.0, 2.0], "bf16")
    assert str(hu.convert(value, "f32").type) == "tensor<2xf32>"
    assert hu.convert(np.array([np.nan], np.float32), "f4E2M1FN").origin(0) is not None


def test_convert_from_raw_bits_of_wide_types() -> None:
    one = hu.Value.from_bits(0x3FFF8000000000000000, "f80")
    assert hu.convert(one, "f128").bits.tolist() == [0, 0x3FFF << 48]
    limbs = np.array([[1 << 63, 0x3FFF], [0, 0]], np.uint64)
    assert hu.convert(limbs, "f32", type="f80").numpy().tolist() == [1.0, 0.0]


def test_convert_says_what_is_wrong() -> None:
    with pytest.raises(hu.TypeMismatch, match="cannot convert 'i8' to 'index'"):
        hu.convert(np.int8(1), "index")
    with pytest.raises(ValueError, match="rounding is 'half_up', but must be one of to_nearest_even"):
        hu.convert(1.0, "f16", rounding="half_up")
    with pytest.raises(hu.errors.InputError, match="stochastic rounding needs seed=…, rng=…, or random=…"):
        hu.convert(1.0, "f16", rounding="stochastic")
    with pytest.raises(hu.TypeMismatch, match="unsigned integers of shape"):
        hu.convert([1.0, 2.0], "f16", rounding="stochastic", random=np.zeros(3, np.uint8))
    with pytest.raises(hu.errors.ParseError):
        hu.convert(1.0, "f7")


def test_stochastic_rounding_compares_the_bits_given_with_the_fraction() -> None:
    # 1 + 1/32 lies a quarter of the way from 1 to 1.125 in f8E4M3FN.
    random = np.arange(256, dtype=np.uint8)
    result = hu.convert(np.full(256, 1 + 1 / 32, np.float32), "f8E4M3FN", rounding="stochastic", random=random)
    assert (result.bits == 0x39).tolist() == [r < 64 for r in range(256)]
    x = np.full(256, 1.0, np.float32)
    y = np.full(256, 2.0**-25, np.float32)
    total = hu.eval("arith.addf", x, y, rounding="stochastic", random=random)
    assert np.count_nonzero(total.numpy() > 1) == 64


def test_unsigned_arrays_convert_as_unsigned_numbers() -> None:
    assert hu.convert(np.array([255], np.uint8), "f32").numpy().tolist() == [255.0]
    assert hu.convert(np.array([True, False]), "f32").numpy().tolist() == [1.0, 0.0]
    assert hu.convert(np.array([-1], np.int8), "f32").numpy().tolist() == [-1.0]


def test_convert_heeds_the_container_it_is_asked_for() -> None:
    assert str(hu.convert([1.0, 2.0], "vector<2xf16>").type) == "vector<2xf16>"
    with pytest.raises(hu.TypeMismatch, match="shape 2 is not of type 'tensor<3xf16>'"):
        hu.convert([1.0, 2.0], "tensor<3xf16>")


def test_a_float_format_of_ones_own() -> None:
    fmt = hu.FloatFormat(
        "f8E5M3",
        exponent_bits=5,
        mantissa_bits=3,
        bias=15,
        signed=False,
        infinities=False,
        nan=hu.register.NanEncoding.ALL_ONES,
    )
    x = hu.convert([1.3, 1e9, 0.0, -1.0], to=fmt)
    assert repr(x) == "Value(4xf8E5M3=1.25 nan 0 nan)"
    assert repr(hu.eval("arith.addf", x, x)) == "Value(4xf8E5M3=2.5 nan 0 nan)"


# --- options ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("rounding", [None, "nearest", "toward_zero"])
@pytest.mark.parametrize("option", ["random", "rng", "seed"])
def test_random_bits_without_stochastic_rounding_are_refused(rounding: str | None, option: str) -> None:
    given: dict[str, Any] = {"random": np.uint32(5), "rng": np.random.default_rng(1), "seed": 0}
    with pytest.raises(hu.errors.InputError, match=f"{option} is given, but the rounding is not stochastic"):
        hu.convert(0.3, "f8E4M3FN", rounding=rounding, **{option: given[option]})
    with pytest.raises(hu.errors.InputError, match=f"{option} is given, but the rounding is not stochastic"):
        hu.eval("arith.addf", 1.0, 2.0, type="f32", **{option: given[option]})


def test_only_one_source_of_random_bits() -> None:
    with pytest.raises(hu.errors.InputError, match="rng and seed are given"):
        hu.convert(0.3, "bf16", rounding="stochastic", rng=np.random.default_rng(1), seed=1)
    for seed in (-1, 1 << 64, 1.5, True, "1"):
        with pytest.raises(hu.errors.InputError, match="must be an integer from 0"):
            hu.convert(0.3, "bf16", rounding="stochastic", seed=seed)  # type: ignore[arg-type]
    with pytest.raises(hu.errors.InputError, match=r"rng is of type int, .*\n.*seed="):
        hu.convert(0.3, "bf16", rounding="stochastic", rng=5)  # type: ignore[arg-type]


def test_a_seed_is_the_key_of_philox_with_32_bits_for_each_element() -> None:
    x = np.linspace(-3, 3, 35).reshape(5, 7)
    words = np.random.Philox(key=9).random_raw(18)
    bits = np.array([half for word in words.tolist() for half in (word & 0xFFFFFFFF, word >> 32)][:35], np.uint32)
    expected = hu.convert(x, "f8E5M2", rounding="stochastic", random=bits.reshape(5, 7))
    assert hu.convert(x, "f8E5M2", rounding="SR", seed=9) == expected
    assert hu.convert(x, "f8E5M2", rounding="SR", seed=10) != expected
    total = hu.eval("arith.addf", x, x, rounding="stochastic", seed=9)
    assert total == hu.eval("arith.addf", x, x, rounding="stochastic", random=bits.reshape(5, 7))


def test_a_generator_draws_32_bits_for_each_element() -> None:
    x = np.linspace(-3, 3, 35).reshape(5, 7)
    bits = np.random.default_rng(4).integers(0, 1 << 32, (5, 7), np.uint32)
    expected = hu.convert(x, "f8E5M2", rounding="stochastic", random=bits)
    rng = np.random.default_rng(4)
    assert hu.convert(x, "f8E5M2", rounding="stochastic", rng=rng) == expected
    assert hu.convert(x, "f8E5M2", rounding="stochastic", rng=rng) != expected  # the generator has moved on


def test_stochastic_rounding_of_integers_and_exact_numbers() -> None:
    random = np.arange(256, dtype=np.uint8)
    quarter = {"i64": np.full(256, 33), "exact": [Fraction(33)] * 256}
    for x in quarter.values():
        result = hu.convert(x, "f8E5M2", rounding="stochastic", random=random)  # 33 lies an eighth above 32
        assert result.numpy().astype(float).tolist() == [40.0 if r < 32 else 32.0 for r in range(256)]
    with pytest.raises(hu.TypeMismatch, match="stochastic rounding"):
        hu.convert(1.5, "i8", rounding="stochastic", seed=1)


def test_saturate_is_a_field_of_the_profile() -> None:
    x = [1e9, -1e9, np.inf, np.nan, 1.0]
    expected = hu.convert(x, "f8E4M3FN", profile="spec,conversion_overflow=saturate")
    assert hu.convert(x, "f8E4M3FN", saturate=True) == expected
    assert expected.numpy().astype(float).tolist()[:3] == [448.0, -448.0, 448.0]
    assert hu.convert(x, "f8E4M3FN", saturate=False) == hu.convert(x, "f8E4M3FN")
    with hu.profile("mlir22-fold"):
        assert hu.convert(x, "f4E2M1FN", saturate=True) == hu.convert(
            x, "f4E2M1FN", profile="mlir22-fold,conversion_overflow=saturate"
        )
    assert hu.convert(x, "f8E4M3FN", saturate=True, profile="ocp-saturate") == expected
    with pytest.raises(hu.errors.InputError, match="saturate=True, but the profile says conversion_overflow=format"):
        hu.convert(x, "f8E4M3FN", saturate=True, profile="spec")
    with pytest.raises(hu.errors.InputError, match="saturate=False, but the profile says conversion_overflow=saturate"):
        hu.convert(x, "f8E4M3FN", saturate=False, profile="ocp-saturate")
    with pytest.raises(
        hu.errors.InputError, match=r"saturate is for float types, not for 'i8'\nhint: .*float_to_int=saturate"
    ):
        hu.convert(x, "i8", saturate=True)
    for number in (Fraction(10**400), 10**400, "1e400", Decimal("-1e400")):
        assert abs(hu.convert(number, "f16", saturate=True).item()) == 65504.0


# --- integers to integers ---------------------------------------------------------------------------------------------

INTEGERS = ("i1", "i3", "i8", "ui8", "si16", "i16", "ui32", "i64", "ui64", "i65", "ui100", "i128")


def _numbers_of(type_: str) -> list[int]:
    """All of up to 8 bits, and the corners of wider types."""
    width, unsigned = int(type_.lstrip("usi")), type_ == "i1" or type_[0] == "u"
    low, high = (0, (1 << width) - 1) if unsigned else (-(1 << width - 1), (1 << width - 1) - 1)
    if width <= 8:
        return list(range(low, high + 1))
    near = [0, 1, 2, 127, 128, 255, 256, 32767, 32768, 65535, 1 << 31, 1 << 32, (1 << 63) - 1, 1 << 63, (1 << 64) - 1]
    return [n for n in (low, low + 1, *(-n for n in near), *near, high - 1, high) if low <= n <= high]


@pytest.mark.parametrize("to", thinned(INTEGERS, 3))
@pytest.mark.parametrize("from_", thinned(INTEGERS, 2))
def test_integers_to_integers(from_: str, to: str) -> None:
    numbers, target = _numbers_of(from_), _numbers_of(to)
    low, high = min(target), max(target)
    width, wide = int(from_.lstrip("usi")), int(to.lstrip("usi"))
    x = hu.Value.from_bits([n & ((1 << width) - 1) for n in numbers], from_)
    fits = [low <= n <= high for n in numbers]
    mask = (1 << wide) - 1

    def codes(value: hu.Value) -> list[int]:
        return codes_to_ints(value.bits, wide)

    assert codes(hu.convert(x, to, overflow="wrap")) == [n & mask for n in numbers]
    assert codes(hu.convert(x, to, overflow="saturate")) == [min(max(n, low), high) & mask for n in numbers]
    poison = hu.convert(x, to, overflow="poison")
    assert poison.poisoned.tolist() == [not fit for fit in fits]
    assert [c for c, fit in zip(codes(poison), fits, strict=True) if fit] == [
        n & mask for n, fit in zip(numbers, fits, strict=True) if fit
    ]
    for n, fit in zip(numbers, fits, strict=True):
        scalar = hu.Value.from_bits(n & ((1 << width) - 1), from_)
        assert hu.convert(scalar, to, overflow="poison").poisoned.item() != fit
        if fit:
            assert codes_to_ints(hu.convert(scalar, to).bits[np.newaxis], wide) == [n & mask]
    if all(fits):
        assert codes(hu.convert(x, to)) == [n & mask for n in numbers]
    else:
        first = fits.index(False)
        with pytest.raises(
            hu.TypeMismatch, match=rf"element \[{first}\] is {numbers[first]}, which '{to}' does not have"
        ):
            hu.convert(x, to)


def test_integers_that_do_not_fit_are_refused_with_the_choices() -> None:
    with pytest.raises(hu.TypeMismatch) as raised:
        hu.convert(np.array([[1, 2], [3, 300]]), "ui8")
    assert "element [1, 1] is 300, which 'ui8' does not have: its numbers are 0 to 255" in str(raised.value)
    assert 'overflow="wrap", overflow="saturate", overflow="poison"' in str(raised.value)
    for overflow, expected in (("wrap", 44), ("saturate", 255)):
        assert hu.convert(300, "ui8", overflow=overflow).item() == expected  # type: ignore[arg-type]
    assert hu.convert(10**30, "ui8", overflow="saturate").item() == 255
    with pytest.raises(hu.TypeMismatch, match="the number is 10{30}, which 'ui8' does not have"):
        hu.convert(10**30, "ui8")
    with pytest.raises(hu.TypeMismatch, match="an integer of 332193 bits"):
        hu.convert(10**100000, "ui8")
    with pytest.raises(hu.errors.InputError, match="overflow is 'clip', but must be one of wrap, saturate, poison"):
        hu.convert(300, "i8", overflow="clip")  # type: ignore[arg-type]
    for x, to in ((1.0, "i8"), (1, "f32"), (Fraction(1, 2), "f32")):
        with pytest.raises(hu.errors.InputError, match="overflow is for conversions from integers to integers"):
            hu.convert(x, to, overflow="wrap")
    poisoned = hu.convert([np.nan, 1.0], "i32")
    assert hu.convert(poisoned, "i8").poisoned.tolist() == [True, False]


def test_poison_keeps_its_origin_through_conversions() -> None:
    first = hu.convert([np.nan, 1.0], "f4E2M1FN")
    second = hu.convert(hu.convert(first, "f32"), "i8")
    assert second.origin(0) == first.origin(0)
    assert hu.convert(second, "i3").origin(0) == first.origin(0)


def test_other_names_of_arguments() -> None:
    for given, ours in (("dtype", "to"), ("mode", "rounding"), ("generator", "rng")):
        with pytest.raises(TypeError, match=rf"convert\(\) has no argument '{given}'; write {ours}=…"):
            hu.convert(1.0, **{given: "f32"})  # type: ignore[arg-type]


def test_astype_ignores_no_option() -> None:
    floats, integers = hu.convert([1.03, 2.0], "f32"), hu.convert([1, 200], "i16")
    random = np.zeros(2, np.uint8)
    for value, to in ((floats, "bf16"), (floats, "f32"), (integers, "i32")):
        with pytest.raises(hu.errors.InputError, match="random is given, but the rounding is not stochastic"):
            value.astype(to, random=random)
    with pytest.raises(hu.errors.InputError, match="overflow is for conversions from integers to integers"):
        floats.astype("i8", overflow="wrap")
    with pytest.raises(hu.TypeMismatch, match="with stochastic rounding"):
        integers.astype("i8", "stochastic", random=random)
    assert floats.astype("f8E4M3FN", "SR", random=random) == hu.convert(
        floats, "f8E4M3FN", rounding="SR", random=random
    )
    with pytest.raises(hu.TypeMismatch, match=r"element \[1\] is 200, which 'i8' does not have"):
        integers.astype("i8")
    assert integers.astype("int8", overflow="saturate") == hu.convert(integers, "i8", overflow="saturate")


def test_values_of_unsigned_arrays_convert_as_their_numbers() -> None:
    value = hu.Value.from_numpy(np.array([200], np.uint8))
    for convert in (lambda to: hu.convert(value, to), value.astype):
        assert convert("f32").item() == 200.0
        assert convert("i16").item() == 200
        with pytest.raises(hu.TypeMismatch, match="is 200, which 'si8' does not have"):
            convert("si8")


def test_one_bit_is_zero_or_one_in_both_directions() -> None:
    assert hu.convert([0.0, 1.0, 0.9], "i1").tolist() == [False, True, False]
    assert hu.convert([2.0, -1.0], "i1").poisoned.all()
    assert hu.convert([0.0, 1.0], "i1").astype("f32").tolist() == [0.0, 1.0]
    assert hu.eval("arith.sitofp", hu.convert([0.0, 1.0], "i1"), to="f32").tolist() == [0.0, -1.0]


def test_integers_that_are_read_as_unsigned_do_not_become_negative() -> None:
    value = hu.Value.from_numpy(np.array([200], np.uint8))
    for convert in (lambda: value.astype("i8"), lambda: hu.convert(value, "i8")):
        with pytest.raises(hu.TypeMismatch, match="200, which 'i8' does not have"):
            convert()
    assert value.astype("i8", overflow="wrap").tolist() == [-56]


# --- evaluating -------------------------------------------------------------------------------------------------------
#
# `eval`: one op without MLIR.


def test_eval_of_one_op() -> None:
    assert int(hu.eval("arith.addf", 1.375, 2.25, type="f8E4M3FN").bits) == 0x46
    x = np.array([1.0, np.nan], np.float32)
    result = hu.eval("arith.addf", x, x, fastmath="nnan")
    assert result.poisoned.tolist() == [False, True]
    low, high = hu.eval("arith.mului_extended", 200, 200, type="i8")
    assert [int(low.bits), int(high.bits)] == [200 * 200 & 255, 200 * 200 >> 8]


@each_row(
    ("arith.cmpi", (np.array([1, 2]), np.array([2, 1])), {"predicate": "slt"}, [True, False]),
    ("arith.truncf", (np.array([465.0, 1.0], np.float32),), {"to": "f8E4M3FN", "rounding": "toward_zero"}, [448, 1]),
    ("arith.select", (np.array([True, False]), np.array([1.0, 2.0]), np.array([3.0, 4.0])), {}, [1.0, 4.0]),
    ("arith.extf", (np.array([1.5], ml_dtypes.bfloat16),), {"to": "f64"}, [1.5]),
    ("arith.addi", (1, 2), {"type": "index"}, 3),
    ("arith.select", (True, 1, 2), {"type": "i8"}, 1),
    ("math.fpowi", (-2.0, 3), {"type": "bf16"}, -8.0),
    ("math.fpowi", (2.0, np.int64(-3)), {"type": "f32"}, 0.125),
    ("rootn", ([27.0, -8.0], [3, 3]), {"type": "f8E4M3FN"}, [3.0, -2.0]),
    ("arith.divui", (6, 3), {"type": "i8", "exact": True}, 2),
    ("arith.addi", (5, 3), {"type": "i8", "overflow": "nsw,nuw"}, 8),
    ("quant.qcast", (np.array([1.0, 3.0], np.float32),), {"to": "!quant.uniform<i8:f32, 0.5:1>"}, [3, 7]),
    ("arith.flush_denormals", (1e-45,), {"type": "f32"}, 0.0),
)
def test_eval_infers_types_and_takes_properties(op: str, operands: Any, options: Any, expected: Any) -> None:
    assert hu.eval(op, *operands, **options).numpy().tolist() == expected


def test_eval_says_what_is_wrong() -> None:
    with pytest.raises(hu.Unsupported, match="no op named 'arith.nonsense'"):
        hu.eval("arith.nonsense", 1)
    with pytest.raises(hu.Unsupported, match=r"'func.return' cannot be run alone"):
        hu.eval("func.return", 1, type="i8")
    with pytest.raises(hu.errors.VerifyError, match="floating-point-like"):
        hu.eval("arith.addf", 1, 2, type="i32")
    with pytest.raises(hu.errors.VerifyError, match=r"has no property 'fastmath'; it has overflowFlags"):
        hu.eval("arith.addi", 1, 2, type="i32", fastmath="nnan")
    with pytest.raises(
        hu.errors.VerifyError, match=r"predicate of 'arith.cmpi' is 'lt', but must be one of eq, ne, slt"
    ):
        hu.eval("arith.cmpi", 1, 2, type="i32", predicate="lt")
    with pytest.raises(hu.TypeMismatch, match=r"does not follow from its operands"):
        hu.eval("arith.truncf", 1.0, type="f32")
    with pytest.raises(hu.errors.VerifyError, match="cast incompatible"):
        hu.eval("arith.truncf", 1.0, type="f32", to="f64")
    with pytest.raises(hu.TypeMismatch, match="2 types are given for 1"):
        hu.eval("arith.negf", 1.0, type=["f32", "f32"])
    with pytest.raises(hu.errors.VerifyError, match="predicate"):
        hu.eval("arith.cmpi", 1, 2, type="i32")
    with pytest.raises(hu.HalfulpError):
        hu.eval("arith.addf", 1.0, type="f32")
    with pytest.raises(hu.UndefinedBehavior, match="division by zero"):
        hu.eval("arith.divsi", 1, 0, type="i8")


def test_a_number_beside_a_value_is_told_of_its_type() -> None:
    value = hu.convert(1.5, "bf16")
    with pytest.raises(hu.errors.VerifyError, match=r"(?s)hint: 1 is 'i64' here: give type=\"bf16\", or one type"):
        hu.eval("arith.addf", value, 1)
    assert hu.eval("arith.addf", value, 1, type="bf16") == hu.convert(2.5, "bf16")
    with pytest.raises(hu.errors.VerifyError, match=r"hint: an op takes operands of one shape: np\.full\(\(2,\), 1\)"):
        hu.eval("arith.addf", hu.convert([1.5, 2.5], "bf16"), 1, type="bf16")


INEXACT, UNDERFLOW, OVERFLOW, DIVIDE_BY_ZERO, INVALID = 1, 2, 4, 8, 16


@each_row(
    ("arith.addf", ([1.0, 65504.0], [2.0**-11, 65504.0]), {"type": "f16"}, [INEXACT, OVERFLOW | INEXACT]),
    ("arith.divf", ([1.0, 0.0, 6.0], [0.0, 0.0, 3.0]), {"type": "f32"}, [DIVIDE_BY_ZERO, INVALID, 0]),
    ("arith.mulf", ([2.0**-14, 2.0**-14], [2.0**-14, 0.5]), {"type": "f16"}, [UNDERFLOW | INEXACT, 0]),
    ("math.sqrt", ([-1.0, 2.0],), {"type": "bf16"}, [INVALID, INEXACT]),
    ("math.exp", ([0.0, 1.0],), {"type": "bf16"}, [0, INEXACT]),
    ("arith.truncf", ([1.0, 1.0 + 2.0**-20],), {"type": "f32", "to": "f16"}, [0, INEXACT]),
    ("arith.fptosi", ([2.5, 300.0],), {"type": "f16", "to": "i8"}, [INEXACT, 0]),  # poison has no flags
    ("fmadd", ([448.0], [448.0], [0.5]), {"type": ["f8E4M3FN", "f8E4M3FN", "f32"]}, [0]),
)
def test_flags_of_one_op(op: str, operands: Any, options: Any, expected: Any) -> None:
    result, flags = hu.eval(op, *operands, flags=True, **options)
    assert result == hu.eval(op, *operands, **options)
    assert flags.dtype == np.uint8
    if op == "arith.fptosi":  # an invalid conversion is poison; a profile gives it a number and a flag
        assert result.poisoned.tolist() == [False, True]
        saturated = hu.eval(op, *operands, flags=True, profile="riscv", **options)
        assert (saturated[0].tolist(), saturated[1].tolist()) == ([2, 127], [INEXACT, INVALID])
    assert flags.tolist()[:1] == expected[:1]
    if op != "arith.fptosi":
        assert flags.tolist() == expected
    for k in range(len(operands[0])):  # one element has its own way
        one = [operand[k] for operand in operands]
        alone, flag = hu.eval(op, *one, flags=True, **options)
        assert (alone.shape, flag.shape, int(flag)) == ((), (), flags[k])
        assert int(alone.bits) == int(result.bits[k])


def test_poison_has_no_flags() -> None:
    poisoned = hu.eval("arith.fptosi", [2.5, 300.0], type="f16", to="i8")
    _, flags = hu.eval("fcvt_from_si", poisoned, to="f8E4M3FN", flags=True)
    assert flags.tolist() == [0, 0]
    x = hu.eval("arith.divf", [1.0, np.nan], [3.0, 3.0], type="f32", fastmath="nnan")
    assert hu.eval("arith.divf", x, x, flags=True)[1].tolist()[1] == 0


def test_flags_of_stochastic_rounding() -> None:
    result, flags = hu.eval(
        "arith.mulf", [1.5, 1.0], [1.1, 1.0], type="bf16", rounding="stochastic", seed=3, flags=True
    )
    assert flags.tolist() == [INEXACT, 0]
    assert result.shape == (2,)


def test_flags_that_are_not_there() -> None:
    for op, operands in (("arith.addi", (1, 2)), ("arith.select", (True, 1, 2))):
        with pytest.raises(hu.Unsupported, match=f"'{op}' has no exception flags"):
            hu.eval(op, *operands, type="i8", flags=True)


# --- single bit patterns ----------------------------------------------------------------------------------------------


def test_bits_are_converted_from_their_type() -> None:
    for bits in (Bits("0x7e"), BitArray("0b01111110")):
        found = hu.convert(bits, to="f32", type="f8E4M3FN")
        assert found == hu.Value.from_bits(0x43E00000, "f32")  # 448
        assert found.bitstring().hex == "43e00000"
    assert hu.convert(Bits("0xff"), to="f32", type="i8").item() == -1.0
    assert hu.convert(Bits("0x3fff8000000000000000"), to="f16", type="f80").bitstring().hex == "3c00"
    nan = hu.convert(Bits("0x7f"), to="f4E2M1FN", type="f8E4M3FN")
    with pytest.raises(ValueError, match="the element is poison: .*NaN"):
        nan.bitstring()


@each_row(
    (Bits("0x7e"), None, "bitstring.Bits has no element type"),
    (Bits("0x7e"), "f16", "bits: .* has 8 bits, but 16 are needed"),
    ("0x7e", "f8E4M3FN", "bits are given by hu.Value.from_bits"),
    ("0x7e", None, "bits are given by hu.Value.from_bits"),
)
def test_what_is_refused(x: object, type_: str | None, message: str) -> None:
    with pytest.raises(hu.TypeMismatch, match=message):
        hu.convert(x, to="f32", type=type_)


@pytest.mark.long
def test_bitstring_is_loaded_when_it_is_used() -> None:
    script = (
        "import sys, halfulp as hu\n"
        "x = hu.eval('arith.addf', hu.convert(1.5, 'f8E4M3FN'), hu.Value.from_bits('0x38', 'f8E4M3FN'))\n"
        "print('bitstring' in sys.modules, x.bitstring().hex, 'bitstring' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "42", "True"]
