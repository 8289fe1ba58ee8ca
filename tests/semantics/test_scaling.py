"""Block scaling: arith.scaling_extf and arith.scaling_truncf, in the steps of their document and exactly."""

import math
import random
import warnings
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from amounts import amounts, thinned
from float_samples import NAN, Number, interesting, neighbours, number_of
from float_samples import codes as sample_codes
from op_implementations import Outcome, check, outcomes_of, value
from present import present
from tables import wrongly_verified

import halfulp as hu
from halfulp.fp_formats import scalar
from halfulp.fp_formats.exact import conversions
from halfulp.fp_formats.formats import FORMATS, Codes, FloatFormat, codes_to_ints
from halfulp.fp_formats.policy import Rounding
from halfulp.semantics import block_scaling as bs
from halfulp.semantics import casts
from halfulp.semantics.profile import PROFILES, Profile

E8M0 = FORMATS["f8E8M0FNU"]
SMALL = [fmt for fmt in FORMATS.values() if fmt.bits <= 8]
POISON: Outcome = "poison"


def test_scaling_examples_in_f16() -> None:
    """0.0 * 2**16, 0.5 * 2**16 and 6.0 * 2**-25: what the op's text says, and what the OCP format means."""
    rows = [[0x0, 0x1, 0x7], [127 + 16, 127 + 16, 127 - 25]]
    body = "arith.scaling_extf %a, %b : {0}, {1} to {r}"
    step_by_step = [0x7E00, 0x7C00, 0x0000]
    exactly = [0x0000, 0x7800, 0x0003]
    check(body, ["f4E2M1FN", "f8E8M0FNU"], ["f16"], rows, step_by_step)
    check(body, ["f4E2M1FN", "f8E8M0FNU"], ["f16"], rows, exactly, profile="spec,scaling=exact")


def power_of(scale: FloatFormat, code: int) -> Number:
    """Return the scale as f8E8M0FNU: the nearest power of two, ties to the larger (the significand is always odd)."""
    number = number_of(scale, code)
    if number == NAN or isinstance(number, str) or number < 0:
        return NAN
    if number <= Fraction(2) ** -127:
        return Fraction(2) ** -127
    exponent = math.floor(math.log2(number.numerator) - math.log2(number.denominator)) + 1
    while Fraction(2) ** exponent > number:
        exponent -= 1
    if number >= 3 * Fraction(2) ** (exponent - 1):
        exponent += 1
    return Fraction(2) ** exponent if exponent <= 127 else NAN


def in_format(fmt: FloatFormat, number: Number) -> Number:
    return neighbours(fmt)(number)


def times(a: Number, b: Number, divide: bool) -> Number:
    """Return a product or quotient by a scale, which may be NaN, infinite or zero. A zero scale is +0."""
    if NAN in (a, b):
        return NAN
    infinite = isinstance(a, str), isinstance(b, str)
    sign = math.prod(-1 if (each[0] == "-" if isinstance(each, str) else each < 0) else 1 for each in (a, b))
    infinity = "+inf" if sign > 0 else "-inf"
    if divide:
        if infinite[1] or b == 0:
            ends = Fraction(0) if infinite[1] else infinity
            return NAN if (infinite[0] if infinite[1] else a == 0) else ends
        return infinity if infinite[0] else a / b  # type: ignore[operator]
    if True in infinite:
        return NAN if 0 in (a, b) else infinity
    return a * b  # type: ignore[operator]


@pytest.mark.parametrize("scale", thinned(["f8E8M0FNU", "f32", "f8E5M2", "f16", "f64", "f80"], 3))
@pytest.mark.parametrize("target", ["f16", "bf16", "f32", "f64"])
@pytest.mark.parametrize("count", amounts(10, 40))
def test_scaling_extf_step_by_step(scale: str, target: str, count: int) -> None:
    wide = FORMATS[target]
    fmt = FORMATS[scale]
    rng = random.Random(f"{scale} {target}")
    for source in (f for f in SMALL if f.bits < wide.bits and f != E8M0):
        columns: list[list[int]] = [[], []]
        for _ in range(count):
            columns[0].append(rng.randrange(1 << source.bits))
            columns[1].append(sample_codes(fmt, 1, rng.randrange(10**6))[0])
        for mode in ("document", "exact"):
            found = scaled("arith.scaling_extf", columns, (source.name, scale, target), mode)
            for a, s, got in zip(*columns, found, strict=True):
                x, power = number_of(source, a), power_of(fmt, s)
                if mode == "document":
                    want = in_format(wide, times(in_format(wide, x), in_format(wide, power), divide=False))
                else:
                    want = in_format(wide, times(x, number_of(fmt, s), divide=False))
                assert isinstance(got, int)
                assert number_of(wide, got) == want, (source.name, mode, hex(a), hex(s))


@pytest.mark.parametrize("source", thinned(["f16", "bf16", "f32", "f80"], 2))
@pytest.mark.parametrize("target", thinned(["f4E2M1FN", "f6E3M2FN", "f8E4M3FN", "f8E5M2", "f8E5M2FNUZ"], 2))
def test_scaling_truncf_step_by_step(source: str, target: str) -> None:
    wide, narrow = FORMATS[source], FORMATS[target]
    rng = random.Random(f"{source} {target}")
    columns: list[list[int]] = [[], []]
    for _ in range(150):
        a = sample_codes(wide, 1, rng.randrange(10**6))[0]
        number = number_of(wide, a)
        near = 127  # a scale that brings the quotient near the target's range, or any
        if isinstance(number, Fraction) and number:
            near += number.numerator.bit_length() - number.denominator.bit_length() + rng.randint(-4, 4)
        columns[0].append(a)
        columns[1].append(near if 0 <= near < 255 and rng.random() < 0.8 else rng.randrange(256))
    for mode in ("document", "exact"):
        found = scaled("arith.scaling_truncf", columns, (source, "f8E8M0FNU", target), mode)
        for a, s, got in zip(*columns, found, strict=True):
            x, power = number_of(wide, a), number_of(E8M0, s)
            if mode == "document":
                quotient = in_format(wide, times(x, in_format(wide, power), divide=True))
            else:
                quotient = times(x, power, divide=True)
            lost = quotient == NAN and narrow.nan_code is None
            if lost:
                assert got == POISON
                continue
            want = in_format(narrow, quotient)
            if isinstance(quotient, str) and quotient != NAN and not narrow.infinities:
                largest = neighbours(narrow).largest
                want = NAN if narrow.nan_code is not None else largest if quotient == "+inf" else -largest
            assert isinstance(got, int)
            assert number_of(narrow, got) == want, (mode, hex(a), hex(s))


@pytest.mark.parametrize("scale", thinned(["f8E4M3FN", "f8E5M2", "bf16", "f32"], 3))
@pytest.mark.parametrize(("source", "target"), [("f32", "f4E2M1FN"), ("f32", "f8E4M3FN"), ("f16", "f8E5M2")])
def test_exact_scaling_truncf_divides_by_the_scale_itself(source: str, scale: str, target: str) -> None:
    wide, fmt, narrow = FORMATS[source], FORMATS[scale], FORMATS[target]
    columns = [sample_codes(wide, 200, 1), sample_codes(fmt, 200, 2)]
    found = scaled("arith.scaling_truncf", columns, (source, scale, target), "exact")
    compared = 0
    for a, s, got in zip(*columns, found, strict=True):
        x, divisor = number_of(wide, a), number_of(fmt, s)
        if isinstance(x, str) or isinstance(divisor, str) or not divisor:
            continue
        compared += 1
        assert isinstance(got, int)
        assert number_of(narrow, got) == in_format(narrow, x / divisor), (hex(a), hex(s))
    assert compared > 50


def test_the_scales_of_nvfp4() -> None:
    """2 * 1.5 is 3; with the scale rounded to a power of two, as the op's text says, it is 4. -1 is no scale there."""
    rows = [[0x4, 0x4], [0x3C, 0xB8]]  # 2 and 2; 1.5 and -1
    body = "arith.scaling_extf %a, %b : {0}, {1} to {r}"
    types = ["f4E2M1FN", "f8E4M3FN"]
    check(body, types, ["f32"], rows, [0x4040_0000, 0xC000_0000], profile="spec,scaling=exact")
    check(body, types, ["f32"], rows, [0x4080_0000, 0x7FC0_0000])
    # Zero and NaN as scales: 2 * 0 = 0, 2 / 0 = infinity, or the NaN of f8E4M3FN.
    check(body, types, ["f32"], [[0x4, 0x4], [0x00, 0x7F]], [0, 0x7FF0_0000], profile="spec,scaling=exact")
    body = "arith.scaling_truncf %a, %b : {0}, {1} to {r}"
    rows = [[0x4000_0000, 0], [0, 0]]
    check(body, ["f32", "f8E4M3FN"], ["f8E5M2"], rows, [0x7C, 0x7E], profile="spec,scaling=exact")


SCALED = """func.func @f(%x: tensor<3xf4E2M1FN>, %s: tensor<3xf8E4M3FN>) -> tensor<3xf32> {
  %y = arith.scaling_extf %x, %s : tensor<3xf4E2M1FN>, tensor<3xf8E4M3FN> to tensor<3xf32>
  return %y : tensor<3xf32>
}"""


def test_a_rounded_scale_is_told_once_with_its_place() -> None:
    elements = value([0x4] * 3, "tensor<3xf4E2M1FN>", (3,))
    powers, other = (value(codes, "tensor<3xf8E4M3FN>", (3,)) for codes in ([0x38, 0, 0xB8], [0x38, 0x3C, 0x44]))
    module = hu.parse(SCALED, "scaled.mlir")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        hu.run(module, elements, powers)  # powers of two, zero and a negative scale are none of these
        assert not caught
        for _ in range(3):
            hu.run(module, elements, other)
        hu.run(module, elements, other, profile="spec,scaling=exact")
    (told,) = caught
    assert issubclass(told.category, hu.errors.DocumentWarning)
    assert str(told.message) == (
        "scaled.mlir:2:8: warning: arith.scaling_extf: the scale 1.5 is not a power of two: this op rounds it to f8E8M0FNU,"
        ' as its document says, here to 2; profile="spec,scaling=exact" takes it as it is (NVFP4)'
    )


def scaled(op: str, columns: list[list[int]], types: tuple[str, str, str], mode: str, **given: Any) -> list[Outcome]:
    arguments = [
        value(column, f"tensor<{len(column)}x{type_}>", (len(column),))
        for column, type_ in zip(columns, types, strict=False)
    ]
    return outcomes_of(hu.eval(op, *arguments, to=types[2], profile=hu.Profile(scaling=mode), **given))


def test_scaling_truncf_rounds_its_last_step_in_the_mode() -> None:
    # 1 + 2**-23 divided by 1, to f8E5M2; and 1.125 divided by 2: halfway between 0.5 and 0.625.
    one = 0x3F80_0001
    rows = [[one, one | 1 << 31, 0x3F90_0000], [127, 127, 128]]
    modes = {
        "to_nearest_even": [0x3C, 0xBC, 0x38],
        "upward": [0x3D, 0xBC, 0x39],
        "downward": [0x3C, 0xBD, 0x38],
        "toward_zero": [0x3C, 0xBC, 0x38],
        "to_nearest_away": [0x3C, 0xBC, 0x39],
    }
    for mode, want in modes.items():
        body = f"arith.scaling_truncf %a, %b {mode} : {{0}}, {{1}} to {{r}}"
        check(body, ["f32", "f8E8M0FNU"], ["f8E5M2"], rows, want)
        check(body, ["f32", "f8E8M0FNU"], ["f8E5M2"], rows, want, "spec,scaling=exact")


def test_the_division_of_scaling_truncf_always_rounds_to_nearest() -> None:
    # 2**-149 / 2 is a tie with zero in f32: the quotient is 0 before the mode has a say; exactly, upward gives 2**-16.
    body = "arith.scaling_truncf %a, %b upward : {0}, {1} to {r}"
    check(body, ["f32", "f8E8M0FNU"], ["f8E5M2"], [[1, 3], [128, 128]], [0x00, 0x01])
    check(body, ["f32", "f8E8M0FNU"], ["f8E5M2"], [[1, 3], [128, 128]], [0x01, 0x01], "spec,scaling=exact")


@pytest.mark.parametrize("mode", ["document", "exact"])
def test_a_scalar_scale_is_broadcast(mode: str) -> None:
    text = """func.func @f(%x: tensor<2x3xf4E2M1FN>, %s: {0}) -> tensor<2x3xf16> {{
  %y = arith.scaling_extf %x, %s : tensor<2x3xf4E2M1FN>, {0} to tensor<2x3xf16>
  return %y : tensor<2x3xf16>
}}
"""
    x = value([0, 1, 2, 3, 9, 15], "tensor<2x3xf4E2M1FN>", (2, 3))
    for scale, code in (("f8E8M0FNU", 128), ("f32", 0x4000_0000), ("f80", 0x4000_8000_0000_0000_0000)):
        (found,) = hu.run(text.format(scale), x, value([code], scale, ()), profile=hu.Profile(scaling=mode))
        np.testing.assert_array_equal(found.numpy(), np.array([[0, 1, 2], [3, -1, -12]], np.float16))
    (found,) = hu.run(text.format("f8E8M0FNU"), x, value([255], "f8E8M0FNU", ()), profile=hu.Profile(scaling=mode))
    assert outcomes_of(found) == [0x7E00] * 6


SHAPES = (
    # Types of operand, scale and result, and what is wrong with them.
    ("tensor<2x{}>", "{}", "tensor<2x{}>", None),
    ("tensor<2x{}>", "tensor<2x{}>", "tensor<2x{}>", None),
    ("tensor<2x{}>", "tensor<?x{}>", "tensor<2x{}>", None),
    ("tensor<2x{}>", "tensor<{}>", "tensor<2x{}>", "same shape and base type"),
    ("tensor<2x{}>", "tensor<3x{}>", "tensor<2x{}>", "same shape and base type"),
    ("tensor<2x{}>", "tensor<*x{}>", "tensor<2x{}>", "same shape and base type"),
    ("tensor<2x{}>", "vector<2x{}>", "tensor<2x{}>", "same shape and base type"),
    ("tensor<2x{}>", "tensor<2x{}>", "vector<2x{}>", "same tensor dimensions"),
    ("{}", "tensor<2x{}>", "{}", "at least one non-scalar result"),
    ("tensor<2x{}>", "tensor<2x{}>", "tensor<?x{}>", "same tensor dimensions"),
    ("{}", "{}", "vector<2x{}>", "are cast incompatible"),
    ("vector<2x{}>", "vector<2x{}>", "vector<3x{}>", "are cast incompatible"),
    ("vector<2x{}>", "{}", "{}", "are cast incompatible"),
    ("tensor<2x{}, 1 : i32>", "{}", "tensor<2x{}>", "are cast incompatible"),
    ("vector<2x{}>", "vector<[2]x{}>", "vector<2x{}>", "same shape and base type"),
)


def scaling_program(containers: tuple[str, str, str]) -> str:
    source, scale, target = (c.format(e) for c, e in zip(containers, ("f4E2M1FN", "f8E8M0FNU", "f16"), strict=True))
    body = f"  %y = arith.scaling_extf %x, %s : {source}, {scale} to {target}\n  return %y : {target}\n"
    return f"func.func @f(%x: {source}, %s: {scale}) -> {target} {{\n{body}}}\n"


def test_shapes_of_scaling() -> None:
    assert wrongly_verified(hu.load, ((scaling_program(row[:3]), row[3]) for row in SHAPES)) == []


@pytest.mark.mlir
def test_real_mlir_agrees_on_shapes_of_scaling(mlir_opt: Any) -> None:
    assert wrongly_verified(mlir_opt, ((scaling_program(row[:3]), row[3]) for row in SHAPES)) == []


def test_unranked_tensors_scale() -> None:
    """MLIR 22 refuses unranked tensors in every cast of arith: it compares dimensions that are not there."""
    program = scaling_program(("tensor<*x{}>",) * 3)
    x = value([2, 4], "tensor<*xf4E2M1FN>", (2,))
    (found,) = hu.run(program, x, value([128, 127], "tensor<*xf8E8M0FNU>", (2,)))
    np.testing.assert_array_equal(found.numpy(), [2.0, 2.0])


def test_dynamic_shapes_of_scaling_are_checked_at_run_time() -> None:
    program = scaling_program(("tensor<?x{}>", "tensor<?x{}>", "tensor<?x{}>"))
    x = value([1, 2], "tensor<?xf4E2M1FN>", (2,))
    for count in (1, 3):  # never NumPy's broadcasting
        with pytest.raises(hu.UndefinedBehavior, match=f"'2' and '{count}'"):
            hu.run(program, x, value([127] * count, "tensor<?xf8E8M0FNU>", (count,)))


@pytest.mark.parametrize("mode", ["document", "exact"])
def test_nan_scale_in_a_format_without_nan_is_poison(mode: str) -> None:
    rows = [[0x3C00, 0x7E00, 0x3C00], [255, 127, 127]]
    found = scaled("arith.scaling_truncf", rows, ("f16", "f8E8M0FNU", "f4E2M1FN"), mode)
    assert found == [POISON, POISON, 2]
    body = "arith.scaling_truncf %a, %b : {0}, {1} to {r}"
    check(body, ["f16", "f8E8M0FNU"], ["f4E2M1FN"], rows, found, f"spec,scaling={mode}")


def test_scaling_keeps_the_first_nan() -> None:
    for mode in ("document", "exact"):
        rows = [[0xFD, 0x38, 0xFD], [127, 255, 255]]
        found = scaled("arith.scaling_extf", rows, ("f8E5M2", "f8E8M0FNU", "f32"), mode)
        assert found == [0xFFE0_0000, 0x7FC0_0000, 0xFFE0_0000]


def test_scaling_with_fastmath() -> None:
    rows = [[0x38, 0x38, 0x7C], [127, 255, 127]]
    types = ("f8E5M2", "f8E8M0FNU", "f32")
    clean = 0x3F00_0000
    assert scaled("arith.scaling_extf", rows, types, "document", fastmath="nnan") == [clean, POISON, 0x7F80_0000]
    assert scaled("arith.scaling_extf", rows, types, "document", fastmath="ninf") == [clean, 0x7FC0_0000, POISON]


@pytest.mark.parametrize("name", ["f64", "f80", "f128"])
def test_exact_scaling_reaches_the_ends_of_wide_formats(name: str) -> None:
    """No intermediate format: the largest value over 2**127, and the smallest over 2**-127."""
    fmt = FORMATS[name]
    largest, smallest = neighbours(fmt).largest, neighbours(fmt).magnitude(1)
    narrow = FORMATS["f32"]
    target = "f32" if name == "f64" else "f64"
    narrow = FORMATS[target]
    rows = [[fmt.max_code, 1, 1, fmt.max_code, fmt.min_normal_code], [254, 0, 254, 0, 0]]
    found = scaled("arith.scaling_truncf", rows, (name, "f8E8M0FNU", target), "exact")
    low, high = Fraction(2) ** -127, Fraction(2) ** 127
    normal = number_of(fmt, fmt.min_normal_code)
    assert isinstance(normal, Fraction)
    want = [largest / high, smallest / low, smallest / high, largest / low, normal / low]
    assert [number_of(narrow, got) for got in found] == [neighbours(narrow)(w) for w in want]  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "source", thinned(["f4E2M1FN", "f8E4M3FN", "f16", "f32", "f64", "f80", "f128", "f8E8M0FNU"], 4)
)
@pytest.mark.parametrize("target", ["f4E2M1FN", "f8E5M2FNUZ", "f16", "f32", "f80", "f128", "f8E8M0FNU"])
def test_conversion_times_a_power_of_two(source: str, target: str) -> None:
    """`exact.convert` and `scalar.convert` with exponents: alike in every mode, and right in RNE."""
    src, dst = FORMATS[source], FORMATS[target]
    codes = interesting(src) + sample_codes(src, 30, 9)
    codes = codes * 3
    rng = random.Random(4)
    exponents = [rng.choice([0, 1, -1, 127, -127, rng.randint(-40, 40)]) for _ in codes]
    array = value(codes, f"tensor<{len(codes)}x{source}>", (len(codes),)).bits
    for mode in (m for m in Rounding if m is not Rounding.STOCHASTIC):
        found = conversions.convert(src, dst, array, mode, exponent=np.array(exponents, np.int64), want_flags=True)
        got = codes_to_ints(found.codes, dst.bits)
        for k, (code, exponent) in enumerate(zip(codes, exponents, strict=True)):
            one = scalar.convert(src, dst, code, mode, exponent=exponent)
            assert found.flags is not None
            lost = found.poison is not None and bool(found.poison[k])
            assert (got[k], int(found.flags[k]), lost) == one, (hex(code), exponent)
            number = number_of(src, code)
            if mode is Rounding.TO_NEAREST_EVEN and isinstance(number, Fraction) and dst != E8M0:
                assert number_of(dst, got[k]) == neighbours(dst)(number * Fraction(2) ** exponent)


def test_two_nans_scaled_exactly_give_the_first() -> None:
    profile = Profile(base="spec", scaling="exact")
    f16, e8m0 = FORMATS["f16"], FORMATS["f8E8M0FNU"]
    for factory, target in ((casts.scaling_extf, FORMATS["f32"]), (casts.scaling_truncf, FORMATS["f8E5M2"])):
        kernel = factory(f16, e8m0, target, Rounding.TO_NEAREST_EVEN, 0, profile)
        for code in (0xFE01, 0x7D00, 0x3C00):  # a negative NaN, a signalling one, 1.0
            for scale in (0xFF, 127):
                (result,) = kernel.array(np.array([code], np.uint16), np.array([scale], np.uint8)).results
                assert result.tolist() == [kernel.scalar(code, scale)]
        first = convert_code(f16, target, 0xFE01)
        assert kernel.scalar(0xFE01, 0xFF) == first


def convert_code(source: FloatFormat, target: FloatFormat, code: int) -> int:
    return scalar.convert(source, target, code).code


# --- block scaling ----------------------------------------------------------------------------------------------------
#
# Recipes of block scaling against exact arithmetic on fractions, and against NumPy's f32 for the chains of NVFP4.

MX = [name for name, recipe in bs.RECIPES.items() if recipe.raises is not None and not recipe.noise]
FLOATS = [name for name in bs.MX_ELEMENTS if name != "i8"]
SATURATING = PROFILES["ocp-saturate"].conversions
F32 = FORMATS["f32"]
Floats = npt.NDArray[np.float32]


def exponent_of(number: Fraction) -> int:
    """Return floor(log2(number)), by comparison of integers."""
    found = number.numerator.bit_length() - number.denominator.bit_length()
    return found - (number < Fraction(2) ** found)


def exact_exponent(recipe: str, amax: Fraction, element: bs.Element) -> int:
    """Return the exponent of a scale by the words of each recipe."""
    if amax == 0:
        return -127
    mantissa_bits, emax = element.mantissa_bits, element.emax
    match recipe:
        case "floor":
            found = exponent_of(amax) - emax
        case "ceil":
            found = exponent_of(amax) + (amax != Fraction(2) ** exponent_of(amax)) - emax
        case "even":
            unit = Fraction(2) ** (exponent_of(amax) - mantissa_bits)
            found = exponent_of(round(amax / unit) * unit) - emax
        case "rceil":
            if isinstance(element, FloatFormat):
                largest = present(scalar.value(element, element.max_code))
            else:
                largest = Fraction(127, 64)
            ratio = amax / largest
            found = exponent_of(ratio) + (ratio != Fraction(2) ** exponent_of(ratio))
        case _:
            raise AssertionError(recipe)
    return max(found, -127)


def exact_element(number: float, exponent: int, element: bs.Element, rounding: Rounding) -> int:
    """Return the code of number / 2**exponent, rounded once and saturating."""
    quotient = Fraction(number) / Fraction(2) ** exponent
    if isinstance(element, FloatFormat):
        if quotient == 0:
            return 1 << (element.bits - 1) if np.signbit(number) else 0
        return scalar.from_fraction(element, quotient, rounding, SATURATING).code
    below = (quotient * 64).__floor__()
    rest = quotient * 64 - below
    up = {
        Rounding.TO_NEAREST_EVEN: rest > Fraction(1, 2) or (rest == Fraction(1, 2) and below % 2 == 1),
        Rounding.TO_NEAREST_AWAY: rest > Fraction(1, 2) or (rest == Fraction(1, 2) and quotient > 0),
        Rounding.TOWARD_ZERO: rest > 0 and quotient < 0,
        Rounding.DOWNWARD: False,
        Rounding.UPWARD: rest > 0,
    }[rounding]
    return min(max(below + up, -127), 127) & 0xFF


def difficult(element: bs.Element, rng: np.random.Generator) -> Floats:
    """Return blocks of 8: any bits, ties of the element type, thresholds of each recipe, subnormals, zeros."""
    bits = rng.integers(0, 1 << 32, (60, 8), dtype=np.uint32)
    anything = np.where((bits >> 23) & 0xFF == 0xFF, bits & np.uint32(0xFF7FFFFF), bits).view(np.float32)
    step = 2.0**-element.mantissa_bits
    tops = np.array([1, 1.5, 1.75, 1.875, 127 / 64, 2 - step / 2, 2 - step / 4], np.float32)
    tops = np.concatenate([tops, np.nextafter(tops, np.float32(0)), np.nextafter(tops, np.float32(3))])
    ties = rng.integers(-64, 65, (len(tops) * 6, 8)).astype(np.float32) / 64
    ties[:, 0] = np.tile(tops, 6)
    scaled = np.ldexp(ties, np.repeat([-140, -126, -20, 0, 20, 126], len(tops))[:, None])
    small = (rng.integers(0, 1 << 23, (20, 8), dtype=np.uint32) >> rng.integers(0, 23, (20, 1)).astype(np.uint32)).view(
        np.float32
    )
    zeros = np.array([[0.0, -0.0] * 4], np.float32)
    return np.concatenate([anything, scaled, small, zeros]).astype(np.float32)


@pytest.mark.parametrize("name", thinned(list(bs.MX_ELEMENTS), 4))
@pytest.mark.parametrize("recipe", MX)
def test_mx_recipes_are_their_words_in_exact_arithmetic(recipe: str, name: str) -> None:
    element = bs.MX_ELEMENTS[name]
    x = difficult(element, np.random.default_rng(7))
    found = bs.quantize(x.view(np.uint32), F32, element, bs.RECIPES[recipe])
    for row, scale, codes in zip(x, found.scales, found.elements, strict=True):
        exponent = exact_exponent(recipe, max(abs(Fraction(float(number))) for number in row), element)
        if exponent > 127:
            # MXINT8 in the recipe ceil, above 2^127: no scale is large enough.
            assert (int(scale), codes.tolist()) == (0xFF, [0] * len(row)), row
            continue
        assert int(scale) == exponent + 127, row
        expected = [exact_element(float(number), exponent, element, Rounding.TO_NEAREST_EVEN) for number in row]
        assert codes.tolist() == expected, row


@pytest.mark.parametrize("name", thinned(list(bs.MX_ELEMENTS), 4))
@pytest.mark.parametrize(
    "rounding", [Rounding.DOWNWARD, Rounding.UPWARD, Rounding.TOWARD_ZERO, Rounding.TO_NEAREST_AWAY]
)
def test_elements_are_rounded_in_the_given_mode(name: str, rounding: Rounding) -> None:
    element = bs.MX_ELEMENTS[name]
    x = difficult(element, np.random.default_rng(8))
    # A quotient that f32 and f64 have no value for still rounds up.
    x[0] = [2.0**120, 1e-45, -1e-45, 0, -0.0, 1, -1, 3]
    found = bs.quantize(x.view(np.uint32), F32, element, bs.RECIPES["floor"], rounding)
    for row, scale, codes in zip(x, found.scales, found.elements, strict=True):
        expected = [exact_element(float(number), int(scale) - 127, element, rounding) for number in row]
        assert codes.tolist() == expected, row


def test_f64_goes_beyond_the_range_of_f32() -> None:
    element = FORMATS["f4E2M1FN"]
    x = np.array([[2.0**-140, 2.0**-300], [2.0**129, 3.0], [2.0**130, 1.0], [1e-308, 5e-324]])
    found = bs.quantize(x.view(np.uint64), FORMATS["f64"], element, bs.RECIPES["floor"])
    # 2^130 / 4 is above the largest scale, so the scale is NaN; f4E2M1FN has none, so the codes are 0.
    assert found.scales.tolist() == [0, 254, 255, 0]
    assert found.elements.tolist() == [[0, 0], [6, 0], [0, 0], [0, 0]]
    upward = bs.quantize(x.view(np.uint64), FORMATS["f64"], element, bs.RECIPES["floor"], Rounding.UPWARD)
    assert upward.elements.tolist() == [[1, 1], [6, 1], [0, 0], [1, 1]]


@pytest.mark.parametrize("recipe", MX)
@pytest.mark.parametrize("name", FLOATS)
def test_nan_and_infinity_make_the_scale_nan(recipe: str, name: str) -> None:
    element = FORMATS[name]
    x = np.array([[1, np.nan, 2], [np.inf, 1, 2], [-np.inf, 1, 2], [1, 2, 3]], np.float32)
    found = bs.quantize(x.view(np.uint32), F32, element, bs.RECIPES[recipe])
    assert found.scales[:3].tolist() == [0xFF] * 3
    assert found.scales[3] != 0xFF
    nan = element.nan_code or 0
    assert found.elements[:3].tolist() == [[nan] * 3] * 3
    values = bs.dequantize(found, element, bs.E8M0, F32).view(np.float32)
    assert np.isnan(values).tolist() == [[True] * 3] * 3 + [[False] * 3]


def test_known_blocks_of_mxfp4() -> None:
    """By hand: amax 5 is in [4, 8), so the scale is 1; 5 is a tie of 4 and 6, 2.5 of 2 and 3, 0.25 of 0 and 0.5."""
    x = np.array([[5, 2.5, 0.25, -0.75, -0.0, 7, -7, 0.5]], np.float32)
    found = bs.quantize(x.view(np.uint32), F32, FORMATS["f4E2M1FN"], bs.RECIPES["floor"])
    assert found.scales.tolist() == [127]
    assert found.elements.tolist() == [[0x6, 0x4, 0x0, 0xA, 0x8, 0x7, 0xF, 0x1]]
    # Even: 7 is a tie of 6 and 8, which goes to 8 = 2^3, so the scale is 2. Rceil: 7 / 6 > 1, so it is 2 as well.
    for recipe in ("even", "rceil", "ceil"):
        assert bs.quantize(x.view(np.uint32), F32, FORMATS["f4E2M1FN"], bs.RECIPES[recipe]).scales.tolist() == [128]


def nvfp4(x: Floats, order: str) -> tuple[Any, Floats, Floats]:
    """Return the tensor scale, the scales before f8E4M3FN, and a function of the scales to quotients, by NumPy."""
    one, block = np.float32(1), np.abs(x).max(axis=-1)
    with np.errstate(all="ignore"):
        if order == "nvfp4":
            tensor = block.max() / np.float32(2688)
            return tensor, np.clip(block / np.float32(6) / tensor, np.float32(2**-6), np.float32(448)), one / tensor
        encode = np.minimum(np.float32(2688) / block.max(), np.finfo(np.float32).max)
        tensor = one / encode
        return tensor, np.minimum(block * (encode * (one / np.float32(6))), np.float32(448)), tensor


@pytest.mark.parametrize("order", ["nvfp4", "nvfp4-te"])
@pytest.mark.parametrize("magnitude", [1, 1e-20, 1e30])
def test_nvfp4_is_a_chain_of_f32_operations(order: str, magnitude: float) -> None:
    rng = np.random.default_rng(3)
    x = (rng.standard_normal((64, 16)) * np.exp2(rng.integers(-9, 1, (64, 1))) * magnitude).astype(np.float32)
    x[5], x[6, 3] = 0, -0.0
    found = bs.quantize(x.view(np.uint32), F32, bs.F4, bs.RECIPES[order])
    tensor, scales, factor = nvfp4(x, order)
    assert found.tensor_scale is not None
    assert found.tensor_scale.view(np.float32) == tensor
    codes = [scalar.convert(F32, bs.F8, int(code)).code for code in scales.astype(np.float32).view(np.uint32)]
    assert found.scales.tolist() == codes
    held = np.array([float(scalar.value(bs.F8, code) or 0) for code in codes], np.float32)
    with np.errstate(all="ignore"):
        if order == "nvfp4":
            factors = factor / held
        else:
            factors = np.minimum(np.float32(1) / (held * factor), np.finfo(np.float32).max)
    quotients: Codes = (x * factors[:, None]).view(np.uint32)
    elements = [[scalar.convert(F32, bs.F4, int(code)).code for code in row] for row in quotients]
    assert found.elements.tolist() == elements


def test_nvfp4_of_zeros_is_zeros() -> None:
    x = np.zeros((2, 16), np.float32)
    x[0, 1] = -0.0
    for order in ("nvfp4", "nvfp4-te"):
        found = bs.quantize(x.view(np.uint32), F32, bs.F4, bs.RECIPES[order])
        values = bs.dequantize(found, bs.F4, bs.F8, F32).view(np.float32)
        assert not values.any()
        assert found.elements[0, 1] == 8
        assert np.count_nonzero(found.elements) == 1


def test_a_nan_in_one_level_spoils_its_block_only() -> None:
    x = np.ones((2, 16), np.float32)
    x[0, 3] = np.nan
    found = bs.quantize(x.view(np.uint32), F32, bs.F4, bs.RECIPES["nvfp4"], two_levels=False)
    assert found.tensor_scale is None
    values = bs.dequantize(found, bs.F4, bs.F8, F32).view(np.float32)
    assert np.isnan(values[0]).all()
    assert not np.isnan(values[1]).any()


@pytest.mark.parametrize("name", thinned(list(bs.MX_ELEMENTS), 2))
def test_dequantize_is_the_exact_product_rounded_once(name: str) -> None:
    element = bs.MX_ELEMENTS[name]
    codes = np.arange(1 << element.bits, dtype=np.uint8)
    if isinstance(element, bs.FixedPoint):
        exact = [Fraction(int(code.view(np.int8)), 64) for code in codes]
    else:
        codes = np.array([code for code in codes if scalar.value(element, int(code)) is not None], np.uint8)
        exact = [scalar.value(element, int(code)) or Fraction(0) for code in codes]
    for scale in (0, 1, 100, 127, 254):
        blocks = bs.Blocks(codes[None], np.array([scale], np.uint8))
        for target in ("f32", "bf16", "f16"):
            found = bs.dequantize(blocks, element, bs.E8M0, FORMATS[target])[0]
            for code, number, result in zip(codes, exact, found, strict=True):
                product = number * Fraction(2) ** (scale - 127)
                negative = number == 0 and isinstance(element, FloatFormat) and int(code) >> (element.bits - 1)
                expected = scalar.from_fraction(FORMATS[target], product).code if product else 0
                assert int(result) == (1 << (FORMATS[target].bits - 1) if negative else expected)


def test_the_names_of_recipes() -> None:
    assert bs.recipe_named("mx") is bs.RECIPES["floor"]
    with pytest.raises(ValueError, match="must be one of mx, floor, ceil, even, rceil, stochastic, nvfp4, nvfp4-te"):
        bs.recipe_named("round")
