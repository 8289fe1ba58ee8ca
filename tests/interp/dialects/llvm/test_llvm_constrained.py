"""Strict floating point of the llvm dialect: each op rounds in the mode that it names, and functions say what happens to
subnormals.
"""

from collections.abc import Callable
from fractions import Fraction
from math import ceil, floor, isqrt, trunc
from typing import Any

import numpy as np
import pytest
from tables import each_row

import halfulp as hu
from halfulp.conformance.oracles.mlir_opt import find_mlir_opt
from halfulp.conformance.whole_programs.text_check import read_there
from halfulp.fp_formats import scalar
from halfulp.fp_formats.formats import FORMATS
from halfulp.fp_formats.policy import Rounding
from halfulp.interp.declare.declarations import Schema
from halfulp.interp.loading import parse_module
from halfulp.interp.text.printer import print_module

POLICIES = {
    "dynamic": "TO_NEAREST_EVEN", "tonearest": "TO_NEAREST_EVEN", "downward": "DOWNWARD", "upward": "UPWARD",
    "towardzero": "TOWARD_ZERO", "tonearestaway": "TO_NEAREST_AWAY",
}  # fmt: skip
MODES = tuple(POLICIES)


def constrained(op: str, *arguments: Any, types: str, result: str, text: str) -> Any:
    """Run one op. ``text``: what follows its name."""
    given = ", ".join(f"%{name}: {type_}" for name, type_ in zip("abc", types.split(), strict=False))
    made = hu.run(
        f"llvm.func @f({given}) -> {result} {{\n  %r = llvm.intr.experimental.constrained.{op} {text}\n"
        f"  llvm.return %r : {result}\n}}",
        *arguments,
    )
    return made[0].numpy()


def rounded(exact: Fraction, mode: str) -> np.float32:
    """Round a number that f32 has no code for: to one of its two neighbours."""
    near = np.float32(float(exact))
    low = near if Fraction(float(near)) < exact else np.nextafter(near, np.float32(-np.inf))
    high = np.nextafter(low, np.float32(np.inf))
    below, above = exact - Fraction(float(low)), Fraction(float(high)) - exact
    if mode in ("downward", "upward"):
        return low if mode == "downward" else high
    if mode == "towardzero":
        return low if exact > 0 else high
    if below != above:
        return low if below < above else high
    if mode == "tonearestaway":
        return high if exact > 0 else low
    return low if not low.view(np.uint32) & 1 else high


A, B, C = (np.float32(number) for number in (1.1, -3.3, 2.0**-30))
HALF = np.float32(1 + 2.0**-23), np.float32(2.0**-24)  # the sum is a tie


@each_row(*MODES)
def test_arithmetic_rounds_in_its_mode(mode: str) -> None:
    a, b, c = (Fraction(float(number)) for number in (A, B, C))
    for op, exact in {"fadd": a + b, "fsub": a - b, "fmul": a * b, "fdiv": a / b}.items():
        made = constrained(op, A, B, types="f32 f32", result="f32", text=f"%a, %b {mode} strict : f32")
        assert made == rounded(exact, mode), op
    tie = sum((Fraction(float(number)) for number in HALF), Fraction(0))
    for sign in (1, -1):
        signed = [np.float32(sign) * number for number in HALF]
        made = constrained("fadd", *signed, types="f32 f32", result="f32", text=f"%a, %b {mode} ignore : f32")
        assert made == rounded(sign * tie, mode)
    made = constrained("fma", A, B, C, types="f32 f32 f32", result="f32", text=f"%a, %b, %c {mode} maytrap : f32")
    assert made == rounded(a * b + c, mode)
    root = Fraction(isqrt(2 << 200), 1 << 100)  # no tie is near the root of 2
    made = constrained("sqrt", np.float32(2), types="f32", result="f32", text=f"%a {mode} ignore : f32")
    assert made == rounded(root, mode)


@each_row(*MODES)
def test_conversions_round_in_their_mode(mode: str) -> None:
    made = constrained("fptrunc", 0.1, types="f64", result="f32", text=f"%a {mode} ignore : f64 to f32")
    assert made == rounded(Fraction(0.1), mode)
    for number in (16777217, -16777217):
        given = np.int32(number)
        made = constrained("sitofp", given, types="i32", result="f32", text=f"%a {mode} ignore : i32 to f32")
        assert made == rounded(Fraction(number), mode)
    made = constrained(
        "uitofp", np.uint32(0xFFFFFFFF), types="i32", result="f32", text=f"%a {mode} ignore : i32 to f32"
    )
    assert made == rounded(Fraction(0xFFFFFFFF), mode)
    integers = {"downward": [-3, 2, 2], "upward": [-2, 3, 3], "towardzero": [-2, 2, 2], "tonearestaway": [-3, 3, 3]}
    for op in ("rint", "nearbyint"):
        for x, integer in zip((-2.5, 2.5, 2.75), integers.get(mode, [-2, 2, 3]), strict=True):
            made = constrained(op, x, types="f64", result="f64", text=f"%a {mode} ignore : f64")
            assert made == integer, (op, x)


ROUNDED_TO: dict[str, Callable[[Fraction], int]] = {
    "downward": floor,
    "upward": ceil,
    "towardzero": trunc,
    "dynamic": round,
    "tonearest": round,
}
"""Python's functions that round an exact number to an integer."""


def away(exact: Fraction) -> int:
    return int(abs(exact) + Fraction(1, 2)) * (1 if exact > 0 else -1)


@each_row(*MODES)
def test_integers_are_rounded_in_their_mode(mode: str) -> None:
    numbers = [-3.5, -2.5, -0.5, -0.25, 0.5, 1.5, 2.5, 2.25, 126.75, -128.25]
    rounded_to = ROUNDED_TO.get(mode, away)
    for op in ("lrint", "llrint"):
        types, result = "vector<10xf64>", "vector<10xi16>"
        text = f"%a {mode} strict : {types} to {result}"
        made = constrained(op, np.array(numbers), types=types, result=result, text=text)
        assert made.view(np.int16).tolist() == [rounded_to(Fraction(number)) for number in numbers], op
    below = hu.run(
        f"llvm.func @f(%a: f32) -> i8 {{\n  %r = llvm.intr.experimental.constrained.lrint %a {mode} ignore : f32 to i8\n"
        "  llvm.return %r : i8\n}",
        np.float32(127.5),
    )[0]
    assert below.poisoned == (rounded_to(Fraction(255, 2)) > 127)


def test_ties_are_rounded_away_from_zero() -> None:
    for op in ("lround", "llround"):
        for form in (
            f"llvm.intr.experimental.constrained.{op} %a ignore : f32 to i32",
            f"llvm.intr.{op}(%a) : (f32) -> i32",
        ):
            text = f"llvm.func @f(%a: f32) -> i32 {{\n  %r = {form}\n  llvm.return %r : i32\n}}"
            made = [
                int(hu.run(text, np.float32(number))[0].numpy().view(np.int32)) for number in (2.5, -2.5, 0.25, -0.5)
            ]
            assert made == [3, -3, 0, -1]
    text = "llvm.func @f(%a: f32) -> i64 {\n  %r = llvm.intr.lrint(%a) : (f32) -> i64\n  llvm.return %r : i64\n}"
    assert int(hu.run(text, np.float32(2.5))[0].numpy()) == 2


@each_row(*MODES)
def test_products_with_powers_of_two_are_rounded_once(mode: str) -> None:
    """All numbers of f16 have 16 bits, so the exact products are computed for some of them with many powers."""
    fmt, draw = FORMATS["f16"], np.random.default_rng(44)
    codes = draw.integers(0, 1 << 16, 2000).astype(np.uint16)
    powers = draw.integers(-45, 45, codes.size).astype(np.int8)
    powers[:4] = [127, -128, 127, -128]
    types, result = f"vector<{codes.size}xf16> vector<{codes.size}xi8>", f"vector<{codes.size}xf16>"
    text = f"%a, %b {mode} strict : ({types.replace(' ', ', ')}) -> {result}"
    made = constrained("ldexp", codes.view(np.float16), powers, types=types, result=result, text=text)
    rounding = Rounding[POLICIES[mode]]
    for code, power, found in zip(codes, powers, made.view(np.uint16), strict=True):
        number = scalar.value(fmt, int(code))
        if number is None:
            assert np.isnan(found.view(np.float16)) == fmt.is_nan(int(code))
            assert fmt.is_nan(int(code)) or found == code
        elif not number:
            assert found == code
        else:
            exact = number * Fraction(2) ** int(power)
            assert found == scalar.from_fraction(fmt, exact, rounding).code, (hex(code), power)


def test_a_power_has_any_width() -> None:
    for width, power, expected in ((1, -1, 0.75), (64, -(2**62), 0.0), (64, 2**62, np.inf), (100, 2**98, np.inf)):
        for shape in ("f32", "vector<2xf32>"):
            text = (
                f"llvm.func @f(%a: {shape}, %b: i{width}) -> {shape} {{\n"
                f"  %r = llvm.intr.ldexp(%a, %b) : ({shape}, i{width}) -> {shape}\n  llvm.return %r : {shape}\n}}"
            )
            given = np.float32(1.5) if shape == "f32" else np.array([1.5, 1.5], np.float32)
            assert np.all(hu.run(text, given, power)[0].numpy() == expected), (width, power)
    text = "%a, %b upward strict : (f64, i32) -> f64"
    exact, near = Fraction(1.1) ** 2, float(Fraction(1.1) ** 2)
    above = near if Fraction(near) > exact else np.nextafter(near, np.inf)
    assert constrained("powi", 1.1, np.int32(2), types="f64 i32", result="f64", text=text) == above


def test_a_function_says_what_these_ops_do_with_subnormals() -> None:
    for attributes, integer, large, small in (
        ("", 1, 2.0**-20, 2.0**-140),
        (' attributes {denormal_fp_math = "preserve-sign"}', 0, 0.0, 0.0),
    ):
        for op, operands, result, text, expected in (
            ("lrint", (2.0**-140, np.int32(0)), "i32", "%a upward ignore : f32 to i32", integer),
            ("ldexp", (2.0**-140, np.int32(120)), "f32", "%a, %b tonearest ignore : (f32, i32) -> f32", large),
            ("ldexp", (2.0**-120, np.int32(-20)), "f32", "%a, %b tonearest ignore : (f32, i32) -> f32", small),
        ):
            made = hu.run(
                f"llvm.func @f(%a: f32, %b: i32) -> {result}{attributes} {{\n"
                f"  %r = llvm.intr.experimental.constrained.{op} {text}\n  llvm.return %r : {result}\n}}",
                np.float32(operands[0]),
                operands[1],
            )
            assert made[0].numpy() == expected, (op, attributes)


def test_types_that_do_not_fit_are_refused() -> None:
    for form in (
        "lrint %a tonearest ignore : f64 to f32",
        "llround %a ignore : f64 to vector<2xi32>",
        "ldexp %a, %a tonearest ignore : (f64, f64) -> f64",
        "powi %a, %b tonearest ignore : (f64, i32) -> f32",
    ):
        text = f"llvm.func @f(%a: f64, %b: i32) {{\n  %r = llvm.intr.experimental.constrained.{form}\n  llvm.return\n}}"
        with pytest.raises(hu.Unsupported, match="halfulp does not run llvm.intr.experimental.constrained"):
            hu.run(text, 1.0, np.int32(1))


def test_ops_without_a_mode() -> None:
    assert constrained("fpext", A, types="f32", result="f64", text="%a strict : f32 to f64") == float(A)
    assert constrained("fptosi", -2.9, types="f64", result="i8", text="%a ignore : f64 to i8") == -2
    assert constrained("floor", -2.5, types="f64", result="f64", text="%a ignore : f64") == -3
    for op in ("fcmp", "fcmps"):
        nan = constrained(op, np.nan, 1.0, types="f64 f64", result="i1", text="uno %a, %b strict : f64")
        less = constrained(op, 1.0, 1.0, types="f64 f64", result="i1", text="olt %a, %b strict : f64")
        assert (bool(nan), bool(less)) == (True, False)


TEXT = """module {
  llvm.func @f(%arg0: f64, %arg1: vector<4xf64>, %arg2: i32) {
    %0 = llvm.intr.experimental.constrained.fptrunc %arg0 upward strict : f64 to f32
    %1 = llvm.intr.experimental.constrained.fpext %0 maytrap : f32 to f64
    %2 = llvm.intr.experimental.constrained.fptoui %arg0 ignore : f64 to i8
    %3 = llvm.intr.experimental.constrained.fptrunc %arg1 dynamic ignore : vector<4xf64> to vector<4xf32>
    %4 = llvm.intr.experimental.constrained.fadd %arg0, %1 downward ignore : f64
    %5 = llvm.intr.experimental.constrained.fcmp ogt %arg0, %1 ignore : f64
    %6 = llvm.intr.experimental.constrained.fma %arg0, %1, %1 towardzero ignore {fastmathFlags = #llvm.fastmath<nnan>} : f64
    %7 = llvm.intr.experimental.constrained.sitofp %arg2 tonearestaway ignore : i32 to f32
    %8 = llvm.intr.experimental.constrained.fcmps uno %arg1, %arg1 strict : vector<4xf64>
    %9 = llvm.intr.experimental.constrained.maximum %arg1, %arg1 ignore : vector<4xf64>
    %10 = llvm.intr.experimental.constrained.ldexp %arg1, %arg2 upward ignore : (vector<4xf64>, i32) -> vector<4xf64>
    %11 = llvm.intr.experimental.constrained.powi %arg0, %arg2 tonearest strict : (f64, i32) -> f64
    %12 = llvm.intr.experimental.constrained.lrint %arg0 downward strict : f64 to i16
    %13 = llvm.intr.experimental.constrained.llround %arg1 maytrap : vector<4xf64> to vector<4xi16>
    %14 = llvm.intr.llround(%arg0) : (f64) -> i32
    llvm.return
  }
}
"""


@pytest.mark.torch_mlir
def test_mlir_24_prints_them_alike() -> None:
    there = read_there(find_mlir_opt("24"), TEXT)
    module = parse_module(TEXT)
    for form, printed in there.printed.items():
        assert print_module(module, generic=form == "generic", schema=Schema.LLVM24).strip() == printed.strip()
        assert print_module(parse_module(printed), schema=Schema.LLVM24) == TEXT


def test_mlir_22_has_only_some_conversions() -> None:
    lines = TEXT.splitlines(keepends=True)
    older = "".join([*lines[:4], lines[5], lines[9], *lines[-3:]])
    assert print_module(parse_module(older), schema=Schema.MLIR22).count("constrained") == 4
    with pytest.raises(hu.Unsupported, match="constrained.fptoui' does not exist in MLIR 22"):
        print_module(parse_module(TEXT), schema=Schema.MLIR22)


def environment(output: str, input: str, f32_output: str, f32_input: str) -> str:
    return (
        f"denormal_fpenv = #llvm.denormal_fpenv<default_output_mode = {output}, default_input_mode = {input}, "
        f"float_output_mode = {f32_output}, float_input_mode = {f32_input}>"
    )


SMALL, TINY = -(2.0**-140), -(2.0**-1060)  # subnormal in f32 and in f64


@each_row(
    ("", (SMALL, SMALL), (TINY, TINY)),
    ('denormal_fp_math = "preserve-sign"', (-0.0, -0.0), (-0.0, -0.0)),
    ('denormal_fp_math = "positive-zero,ieee"', (0.0, 0.0), (0.0, 0.0)),
    ('denormal_fp_math_f32 = "ieee,positive-zero"', (0.0, SMALL), (TINY, TINY)),
    ('denormal_fp_math = "preserve-sign", denormal_fp_math_f32 = "ieee"', (SMALL, SMALL), (-0.0, -0.0)),
    ('denormal_fp_math = "positive-zero", denormal_fp_math_f32 = "dynamic"', (SMALL, SMALL), (0.0, 0.0)),
    ('denormal_fp_math = "preserve-sign,", denormal_fp_math_f32 = ""', (SMALL, SMALL), (-0.0, -0.0)),
    ('denormal_fp_math = "dynamic"', (SMALL, SMALL), (TINY, TINY)),
    ('passthrough = ["strictfp", ["denormal-fp-math-f32", "preserve-sign"]]', (-0.0, -0.0), (TINY, TINY)),
    (environment("ieee", "ieee", "preservesign", "preservesign"), (-0.0, -0.0), (TINY, TINY)),
    (environment("positivezero", "positivezero", "ieee", "ieee"), (SMALL, SMALL), (0.0, 0.0)),
    (environment("dynamic", "dynamic", "ieee", "preservesign"), (-0.0, SMALL), (TINY, TINY)),
)
def test_a_function_says_what_happens_to_subnormals(
    attributes: str, f32: tuple[float, float], f64: tuple[float, float]
) -> None:
    """The results of 1 * a subnormal number, and of a product of two normal numbers that is subnormal."""
    for type_, subnormal, factors, expected in (
        ("f32", SMALL, (-(2.0**-70), 2.0**-70), f32),
        ("f64", TINY, (-(2.0**-530), 2.0**-530), f64),
    ):
        text = (
            f"llvm.func @f(%a: {type_}, %b: {type_}) -> {type_} attributes {{{attributes}}} {{\n"
            f"  %r = llvm.fmul %a, %b : {type_}\n  llvm.return %r : {type_}\n}}"
        )
        for operands, exact in zip(((1.0, subnormal), factors), expected, strict=True):
            made = float(hu.run(text, *operands)[0].numpy())
            assert (made, np.signbit(made)) == (exact, np.signbit(exact)), (type_, operands)


@each_row(
    ('denormal_fp_math = "positive-zero,preserve-sign"', "the modes 'positive-zero', 'preserve-sign' of"),
    ('denormal_fp_math = "flush"', "the modes 'flush' of"),
    ('denormal_fp_math = "positive-zero, ieee"', "the modes 'positive-zero', ' ieee' of"),
    ('denormal_fp_math = "ieee,ieee,ieee"', "the modes 'ieee', 'ieee,ieee' of"),
    (environment("ieee", "ieee", "dynamic", "ieee"), "the modes 'dynamic', 'ieee' of"),
    (environment("invalid", "invalid", "ieee", "ieee"), "the modes 'invalid' of"),
)
def test_modes_without_a_profile_are_refused(attributes: str, words: str) -> None:
    with pytest.raises(hu.Unsupported, match=words):
        hu.run(f"llvm.func @f() attributes {{{attributes}}} {{ llvm.return }}")
