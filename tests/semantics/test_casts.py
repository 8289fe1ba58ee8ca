"""Conversions between element types: exactness, ranges, bit casts and stochastic rounding."""

import itertools
import math
import random
from collections import Counter
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from amounts import amounts, thinned
from float_samples import NAN, Number, interesting, neighbours, number_of
from float_samples import codes as sample_codes
from op_implementations import Outcome, check, outcomes_of, value
from present import present
from tables import wrongly_verified

import halfulp as hu
from halfulp.fp_formats.formats import FORMATS, FloatFormat

E8M0 = FORMATS["f8E8M0FNU"]
POISON: Outcome = "poison"


def on_tensor(
    op: str, source: str, target: str, codes: list[int], profile: Any = "spec", **given: Any
) -> list[Outcome]:
    argument = value(codes, f"tensor<{len(codes)}x{source}>", (len(codes),))
    return outcomes_of(hu.eval(op, argument, to=target, profile=profile, **given))


# --- extf: which conversions to a wider type are exact ----------------------------------------------------------------


def values_of(fmt: FloatFormat) -> set[Number]:
    codes = range(1 << fmt.bits) if fmt.bits <= 8 else interesting(fmt)
    return {number_of(fmt, code) for code in codes}


def holds(fmt: FloatFormat, number: Number) -> bool:
    """Tell whether a format has a code for a number, by a search among its values."""
    if isinstance(number, str):
        return fmt.infinities if number != NAN else fmt.nan_code is not None
    if fmt == E8M0:
        return number > 0 and number in {Fraction(2) ** e for e in range(-127, 128)}
    return neighbours(fmt)(number) == number


def inexact_pairs() -> dict[tuple[str, str], set[str]]:
    """Pairs of a narrower and a wider type that lose values or signs of zero, with how."""
    found: dict[tuple[str, str], set[str]] = {}
    for source, target in itertools.product(FORMATS.values(), repeat=2):
        if source.bits >= target.bits:
            continue
        how = set()
        for number in values_of(source):
            if not holds(target, number):
                lost = "value" if isinstance(number, Fraction) else number
                how.add("sign or zero" if lost == "value" and target == E8M0 else lost)
        if source.has_negative_zero and not target.has_negative_zero:
            how.add("-0")
        if how:
            found[source.name, target.name] = how
    return found


INEXACT = {
    # Finite values that the wider type lacks.
    ("f6E2M3FN", "f8E5M2"): {"value"},
    ("f6E2M3FN", "f8E5M2FNUZ"): {"value", "-0"},
    ("f6E3M2FN", "f8E3M4"): {"value"},
    ("f8E8M0FNU", "f16"): {"value"},
    # No sign and no zero.
    **{(f"f{k}", "f8E8M0FNU"): {"sign or zero", "-0"} for k in ("4E2M1FN", "6E2M3FN", "6E3M2FN")},
    # -0 becomes +0.
    **{(f"f{s}", f"f8{t}"): {"-0"} for s in ("4E2M1FN", "6E3M2FN") for t in ("E4M3FNUZ", "E4M3B11FNUZ", "E5M2FNUZ")},
    **{("f6E2M3FN", f"f8{t}"): {"-0"} for t in ("E4M3FNUZ", "E4M3B11FNUZ")},
}


@pytest.mark.long
def test_which_extensions_are_exact() -> None:
    assert inexact_pairs() == INEXACT


@pytest.mark.long
def test_every_extension() -> None:
    """Every value of every narrower type in every wider one: the nearest value there, found by looking for it."""
    cases = 0
    for source, target in itertools.product(FORMATS.values(), repeat=2):
        if source.bits >= target.bits or target == E8M0:
            continue
        codes = list(range(1 << source.bits)) if source.bits <= 8 else sample_codes(source, 60, 1) + interesting(source)
        found = on_tensor("arith.extf", source.name, target.name, codes)
        for code, got in zip(codes, found, strict=True):
            number = number_of(source, code)
            assert isinstance(got, int)
            assert number_of(target, got) == neighbours(target)(number), (source.name, target.name, hex(code))
            if number == 0 and target.has_negative_zero:
                negative = source.signed and code >> (source.bits - 1)
                assert got >> (target.bits - 1) == negative
            cases += 1
    assert cases > 15_000


def test_extensions_that_lose_something() -> None:
    check("arith.extf %a : {0} to {r}", ["f6E2M3FN"], ["f8E5M2"], [[0x09, 0x0F, 0x1F]], [0x3C, 0x40, 0x48])
    check("arith.extf %a : {0} to {r}", ["f6E3M2FN"], ["f8E3M4"], [[0x1B, 0x1C, 0x3F]], [0x6C, 0x70, 0xF0])
    # f8E8M0FNU to f16: 2**15 is the largest, 2**-24 the smallest, 2**-25 a tie with zero.
    scales = [127 + 15, 127 + 16, 127 - 24, 127 - 25, 0, 0xFF]
    check("arith.extf %a : {0} to {r}", ["f8E8M0FNU"], ["f16"], [scales], [0x7800, 0x7C00, 0x0001, 0, 0, 0x7E00])
    check("arith.extf %a : {0} to {r}", ["f4E2M1FN"], ["f8E8M0FNU"], [[0, 8, 1, 3, 9]], [0, 0, 126, 128, 0xFF])
    check("arith.extf %a : {0} to {r}", ["f4E2M1FN"], ["f8E4M3FNUZ"], [[8, 10]], [0x00, 0xC0])


@pytest.mark.parametrize("nanless", ["f4E2M1FN", "f6E2M3FN", "f6E3M2FN"])
def test_nan_into_a_format_without_nan_is_poison(nanless: str) -> None:
    for source in ("f32", "f8E5M2", "f8E4M3FNUZ", "f80"):
        fmt = FORMATS[source]
        assert fmt.nan_code is not None
        check("arith.truncf %a : {0} to {r}", [source], [nanless], [[fmt.nan_code, 0]], [POISON, 0])
        found = hu.eval("arith.truncf", value([fmt.nan_code], source, ()), to=nanless)
        origin = present(found.origin())
        assert origin.reason == f"NaN is not representable in {nanless}"


def test_convertf_keeps_the_width() -> None:
    # 1.0, then 2**-133, which only bf16 has: RNE and RU in f16.
    check("arith.convertf %a : {0} to {r}", ["bf16"], ["f16"], [[0x3F80, 0x0001, 0x7F80]], [0x3C00, 0, 0x7C00])
    check("arith.convertf %a upward : {0} to {r}", ["bf16"], ["f16"], [[0x0001, 0x8001]], [0x0001, 0x8000])
    check("arith.convertf %a : {0} to {r}", ["f8E4M3FN"], ["f8E4M3FNUZ"], [[0x38, 0x80, 0xFF]], [0x40, 0x00, 0x80])
    for refused in ("f16", "f32"):
        with pytest.raises(hu.errors.VerifyError):
            hu.eval("arith.convertf", value([0], "f16", ()), to=refused)


# --- integers ---------------------------------------------------------------------------------------------------------


def integer_range(width: int, signed: bool) -> tuple[int, int]:
    half = 1 << width >> 1
    return (-half, half - 1) if signed and width else (0, (1 << width) - 1)


def expected_integer(number: Number, width: int, signed: bool) -> Outcome:
    if isinstance(number, str):
        return POISON
    low, high = integer_range(width, signed)
    truncated = int(number)
    return truncated & ((1 << width) - 1) if low <= truncated <= high else POISON


@pytest.mark.parametrize("signed", [True, False], ids=["fptosi", "fptoui"])
@pytest.mark.parametrize(
    "source", thinned(["f32", "f64", "f80", "f128", "bf16", "f8E5M2", "f8E4M3FNUZ", "f6E3M2FN", "f8E8M0FNU"], 3)
)
@pytest.mark.parametrize(
    "widths",
    amounts((0, 1, 8, 24, 31, 33, 64, 128), (0, 1, 2, 7, 8, 15, 16, 24, 31, 32, 33, 53, 63, 64, 65, 100, 127, 128)),
    ids=len,
)
def test_floats_to_integers_of_every_width(source: str, signed: bool, widths: tuple[int, ...]) -> None:
    """Widths 0 to 128 at the ends of the range, by halves; the rest of the format's corners."""
    fmt = FORMATS[source]
    for width in widths:
        low, high = integer_range(width, signed)
        codes = sample_codes(fmt, 10, width) + interesting(fmt)
        if fmt != E8M0:
            ends = [Fraction(n) + Fraction(k, 2) for n in (low, high, 0) for k in range(-3, 4)]
            for end in ends:
                index = min(neighbours(fmt).index(abs(end)), fmt.max_magnitude - 1)
                codes += [fmt.from_magnitude(index + k) | (fmt.sign_mask or 0 if end < 0 else 0) for k in (0, 1)]
        want = [expected_integer(number_of(fmt, code), width, signed) for code in codes]
        op = "arith.fptosi" if signed else "arith.fptoui"
        assert on_tensor(op, source, f"i{width}", codes) == want, width
        for code, expected in list(zip(codes, want, strict=True))[::7]:
            assert outcomes_of(hu.eval(op, value([code], source, ()), to=f"i{width}")) == [expected]


def test_ends_of_ranges() -> None:
    def f32(number: float) -> int:
        return int(np.float32(number).view(np.uint32))

    unsigned, signed = "arith.fptoui %a : {0} to {r}", "arith.fptosi %a : {0} to {r}"
    rows = [-0.9, -1.0, 255.99, 256.0, -0.0]
    check(unsigned, ["f32"], ["i8"], [[f32(n) for n in rows]], [0, POISON, 255, POISON, 0])
    check(signed, ["f32"], ["i1"], [[f32(n) for n in (1.0, 0.99, -1.0, -1.99, -2.0)]], [POISON, 0, 1, 1, POISON])
    check(unsigned, ["f32"], ["i1"], [[f32(n) for n in (1.0, 1.99, 2.0, -0.99)]], [1, 1, POISON, 0])
    check(signed, ["f32"], ["i0"], [[f32(n) for n in (0.0, 0.99, 1.0)]], [0, 0, POISON])
    origin = present(hu.eval("arith.fptosi", 3e9, type="f32", to="i32").origin())
    assert origin.reason == "NaN, infinity or a value outside the range of a signed i32"


@pytest.mark.long
@pytest.mark.parametrize("signed", [True, False], ids=["sitofp", "uitofp"])
@pytest.mark.parametrize("target", [name for name in FORMATS if name != "f8E8M0FNU"])
def test_integers_to_floats(target: str, signed: bool) -> None:
    fmt = FORMATS[target]
    rng = random.Random(target)
    for width in (1, 2, 4, 8, 16, 24, 32, 53, 64, 65, 127, 128, 129, 300):
        low, high = integer_range(width, signed)
        numbers = {low, high, 0, high - 1, high // 2, high // 3} | {rng.randint(low, high) for _ in range(8)}
        for power in range(0, width, 5):  # near ties of the format
            numbers |= {(1 << power) * ((2 << fmt.precision) + 1) >> 1, (1 << power) - 1}
        given = sorted(n for n in numbers if low <= n <= high)
        codes = [n & ((1 << width) - 1) for n in given]
        found = on_tensor("arith.sitofp" if signed else "arith.uitofp", f"i{width}", target, codes)
        for number, got in zip(given, found, strict=True):
            assert isinstance(got, int)
            assert number_of(fmt, got) == neighbours(fmt)(Fraction(number)), (width, number)


def test_small_integers() -> None:
    check("arith.sitofp %a : {0} to {r}", ["i1"], ["f16"], [[0, 1]], [0, 0xBC00])
    check("arith.uitofp %a : {0} to {r}", ["i1"], ["f16"], [[0, 1]], [0, 0x3C00])
    check("arith.uitofp %a : {0} to {r}", ["i0"], ["f16"], [[0, 0]], [0, 0])
    check("arith.sitofp %a : {0} to {r}", ["i8"], ["f8E8M0FNU"], [[0, 1, 3, 0xFF]], [0, 127, 129, 0xFF])


@pytest.mark.parametrize("width", [1, 8, 32, 64, 128])
def test_nneg(width: int) -> None:
    half = 1 << (width - 1)
    codes = [0, half - 1, half, 2 * half - 1]
    plain = on_tensor("arith.uitofp", f"i{width}", "f128", codes)
    marked = on_tensor("arith.uitofp", f"i{width}", "f128", codes, nneg=True)
    assert marked == [plain[0], plain[1], POISON, POISON]
    body = "arith.uitofp %a nneg : {0} to {r}"
    check(body, [f"i{width}"], ["f128"], [codes], marked)
    assert on_tensor("arith.uitofp", f"i{width}", "f128", codes, profile="mlir22-fold", nneg=True) == plain


# --- bitcast ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", thinned(FORMATS, 4))
@pytest.mark.parametrize("step", amounts(5, 1))
def test_bitcast_moves_bits_unchanged(name: str, step: int) -> None:
    fmt = FORMATS[name]
    codes = list(range(0, 1 << fmt.bits, step)) if fmt.bits <= 8 else interesting(fmt) + sample_codes(fmt, 40, 3)
    # Signalling NaNs and f80's invalid operands are among them.
    assert any(fmt.is_signalling(code) for code in codes) or not fmt.quiet_bit
    containers = ("tensor", "vector", "unranked tensor")
    check("arith.bitcast %a : {0} to {r}", [name], [f"i{fmt.bits}"], [codes], codes, containers=containers)
    check("arith.bitcast %a : {0} to {r}", [f"i{fmt.bits}"], [name], [codes], codes, containers=containers)


def test_bitcast_of_the_odd_widths() -> None:
    for source, target, code in (
        ("tf32", "i19", 0x7FFFF),
        ("f80", "i80", 0x0000_8000_0000_0000_0000),  # a pseudo-denormal stays one
        ("i128", "f128", 0x7FFF_0000_0000_0000_0000_0000_0000_0001),
        ("bf16", "f16", 0x7F81),
    ):
        check("arith.bitcast %a : {0} to {r}", [source], [target], [[code, 0]], [code, 0])
    for source, target in (("tf32", "i32"), ("f80", "i128"), ("index", "i64"), ("i64", "index")):
        with pytest.raises(hu.errors.VerifyError):
            hu.eval("arith.bitcast", value([0], source, ()), to=target)


# --- stochastic rounding ----------------------------------------------------------------------------------------------


def test_stochastic_conversion_is_unbiased_over_all_random_values() -> None:
    """Every 8-bit random value once: as many go up as the discarded fraction says, to the nearest whole one above."""
    low, high = 0x3F80_0000, 0x3F90_0000  # 1 and 1.125: neighbours in f8E4M3FN, whose codes are 0x38 and 0x39
    random_values = np.arange(256, dtype=np.uint8)
    for fraction in (0, 1, 2, 77, 128, 255):
        x = np.full(256, low + (high - low) * fraction // 256, np.uint32).view(np.float32)
        for sign in (0, 1):
            given = -x if sign else x
            found = hu.convert(given, "f8E4M3FN", rounding="stochastic", random=random_values)
            again = hu.eval("arith.truncf", given, to="f8E4M3FN", rounding="stochastic", random=random_values)
            assert found == again == hu.convert(given, "f8E4M3FN", rounding="stochastic", random=random_values)
            assert Counter(outcomes_of(found)) == +Counter(
                {0x39 | sign << 7: fraction, 0x38 | sign << 7: 256 - fraction}
            )
            ups = [(code & 0x7F) == 0x39 for code in outcomes_of(found)]  # type: ignore[operator]
            assert ups == [r < fraction for r in range(256)]


@pytest.mark.parametrize("width", [8, 16, 32, 64])
def test_stochastic_rounding_of_every_width(width: int) -> None:
    """A random value below the fraction goes up, one at it or above does not."""
    fraction = Fraction(5, 8)
    threshold = int(fraction * (1 << width))
    dtype = np.dtype(f"u{width // 8}")
    random_values = np.array([0, threshold - 1, threshold, (1 << width) - 1], dtype)
    x = np.full(4, 1.0 + float(fraction) * 2.0**-7)
    found = outcomes_of(hu.convert(x, "bf16", rounding="stochastic", random=random_values))
    assert found == [0x3F81, 0x3F81, 0x3F80, 0x3F80]


def f16_of(number: float) -> int:
    return int(np.float16(number).view(np.uint16))


def test_stochastic_arithmetic_is_unbiased_over_all_random_values() -> None:
    one = 0x3C00  # f16
    random_values = np.arange(256, dtype=np.uint8)
    # The exact result lies at this fraction between two neighbours of f16 around one or three.
    cases = {
        "arith.addf": (one, f16_of(2.0**-12), Fraction(1, 4), one),
        "arith.subf": (f16_of(1 + 2.0**-10), f16_of(2.0**-12), Fraction(3, 4), one),
        "arith.mulf": (f16_of(1 + 2.0**-10), f16_of(1.5), Fraction(1, 2), f16_of(1.5) + 1),
        "arith.divf": (one, f16_of(3.0), Fraction(1, 3), f16_of(1 / 3)),
    }
    for op, (a, b, fraction, low) in cases.items():
        arguments = [value([code] * 256, "tensor<256xf16>", (256,)) for code in (a, b)]
        found = hu.eval(op, *arguments, rounding="stochastic", random=random_values)
        ups = math.ceil(fraction * 256)  # r / 256 < fraction
        assert Counter(outcomes_of(found)) == Counter({low + 1: ups, low: 256 - ups}), op


def test_stochastic_rounding_of_subnormals_and_overflow() -> None:
    random_values = np.arange(256, dtype=np.uint8)
    tiny = np.full(256, 2.0**-9 * 0.25, np.float32)  # a quarter of f8E4M3FN's smallest value
    assert Counter(outcomes_of(hu.convert(tiny, "f8E4M3FN", rounding="stochastic", random=random_values))) == {
        0: 192,
        1: 64,
    }
    large = np.full(256, 456.0, np.float32)  # a quarter of the way from 448 to 480, which is NaN
    found = hu.convert(large, "f8E4M3FN", rounding="stochastic", random=random_values)
    assert Counter(outcomes_of(found)) == {0x7E: 192, 0x7F: 64}


def test_stochastic_rounding_needs_random_bits() -> None:
    x = np.array([1.0, 2.0], np.float32)
    with pytest.raises(hu.errors.InputError, match="random"):
        hu.convert(x, "bf16", rounding="stochastic")
    with pytest.raises(hu.TypeMismatch, match="random"):
        hu.convert(x, "bf16", rounding="stochastic", random=np.zeros(3, np.uint8))
    with pytest.raises(hu.TypeMismatch, match="random"):
        hu.convert(x, "bf16", rounding="stochastic", random=np.zeros(2, np.int8))


# --- shapes of casts --------------------------------------------------------------------------------------------------
#
# The verifier of the casts of arith: which containers go together. The mlir test asks mlir-opt for the same words.

CASTS = {
    "arith.extf": ("f16", "f32"),
    "arith.truncf": ("f32", "f16"),
    "arith.extsi": ("i8", "i32"),
    "arith.extui": ("i8", "i32"),
    "arith.trunci": ("i32", "i8"),
    "arith.sitofp": ("i32", "f32"),
    "arith.uitofp": ("i32", "f32"),
    "arith.fptosi": ("f32", "i32"),
    "arith.fptoui": ("f32", "i32"),
    "arith.bitcast": ("i32", "f32"),
    "arith.index_cast": ("index", "i32"),
    "arith.index_castui": ("index", "i32"),
}
SHAPE = "requires the same shape for all operands and results"
DIMENSIONS = "failed to verify that input and output have the same tensor dimensions"
INCOMPATIBLE = "are cast incompatible"
ALIKE = "all non-scalar operands/results must have the same shape and base type"
CONTAINERS = (
    # What holds the operand and the result, and what is wrong with them: MLIR's words.
    ("vector<2x{}>", "vector<2x{}>", None),
    ("vector<2x{}>", "vector<3x{}>", SHAPE),
    ("vector<2x{}>", "vector<[2]x{}>", SHAPE),
    ("vector<2x{}>", "vector<2x1x{}>", SHAPE),
    ("vector<2x{}>", "{}", SHAPE),
    ("{}", "vector<2x{}>", SHAPE),
    ("tensor<2x{}>", "tensor<3x{}>", DIMENSIONS),
    ("tensor<2x{}>", "tensor<?x{}>", DIMENSIONS),
    ("tensor<2x{}>", "{}", DIMENSIONS),
    ("{}", "tensor<2x{}>", DIMENSIONS),
    ("{}", "tensor<{}>", SHAPE),
    ("vector<2x{}>", "tensor<2x{}>", DIMENSIONS),
    ("vector<{}>", "tensor<{}>", ALIKE),
    ("tensor<2x{}, 1 : i32>", "tensor<2x{}, 1 : i32>", None),
    ("tensor<2x{}, 1 : i32>", "tensor<2x{}>", INCOMPATIBLE),
)
KIND_OF_MEMREF = "memref of signless-integer"
SCALAR = "if a result is non-scalar, then at least one operand must be non-scalar"
MEMREFS = (
    # The same, for the casts that take a memref.
    ("memref<2x{}>", "memref<2x{}, 1>", None),
    ("memref<2x{}>", "memref<2x{}, strided<[1], offset: ?>>", None),
    ("memref<?x{}>", "memref<2x{}>", None),
    ("memref<2x{}>", "memref<3x{}>", SHAPE),
    ("memref<2x{}>", "memref<2x2x{}>", SHAPE),
    ("memref<2x{}>", "{}", SHAPE),
    ("memref<2x{}>", "memref<*x{}>", KIND_OF_MEMREF),
    ("memref<*x{}>", "memref<*x{}>", KIND_OF_MEMREF),
    ("memref<2x{}>", "vector<2x{}>", SCALAR),
    ("memref<{}>", "tensor<{}>", SCALAR),
)
ON_MEMREFS = ("arith.bitcast", "arith.index_cast", "arith.index_castui")
ROWS = [(op, *row) for op in CASTS for row in CONTAINERS] + [(op, *row) for op in ON_MEMREFS for row in MEMREFS]


def program(op: str, source: str, target: str) -> str:
    given, made = (c.format(e) for c, e in zip((source, target), CASTS[op], strict=True))
    return f"func.func @f(%x: {given}) {{\n  %y = {op} %x : {given} to {made}\n  return\n}}\n"


def test_containers_of_casts() -> None:
    assert wrongly_verified(hu.load, ((program(*row[:3]), row[3]) for row in ROWS)) == []


@pytest.mark.exhaustive
@pytest.mark.mlir
def test_real_mlir_agrees_on_containers(mlir_opt: Any) -> None:
    assert wrongly_verified(mlir_opt, ((program(*row[:3]), row[3]) for row in ROWS)) == []


@pytest.mark.parametrize("target", ["memref<2xf32, 1>", "memref<2xf32, strided<[1], offset: ?>>"])
def test_memory_is_recast_into_another_space_or_layout(target: str) -> None:
    text = f"""func.func @f(%x: memref<?xi32>) -> f32 {{
  %one = arith.constant 1 : index
  %view = arith.bitcast %x : memref<?xi32> to {target}
  %y = memref.load %view[%one] : {target}
  return %y : f32
}}"""
    (found,) = hu.run(text, np.array([0, 0x3FC0_0000], np.int32))
    assert found.item() == 1.5
    with pytest.raises(hu.UndefinedBehavior, match="size 3"):
        hu.run(text, np.zeros(3, np.int32))
