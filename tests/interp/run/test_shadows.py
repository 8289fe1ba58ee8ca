"""The shadows of runs: each encloses the exact number, ops round correctly, and what is not known is said."""

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from amounts import thinned
from flint import arb
from shadow_programs import (
    BITS,
    EXACT,
    OPPOSITES,
    PREDICATES,
    Numbers,
    ShadowProgram,
    Step,
    ball,
    is_finite,
    number_of,
    random_program,
    run_with_shadows,
    scalar,
)

import halfulp as hu
from halfulp.fp_formats.reals.functions import bits_of_precision
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.base import FileLineCol
from halfulp.interp.run.shadow_loops import ShadowFigures
from halfulp.interp.run.shadows import Shadows, error_in_ulp, shadow_of


def outside(program: ShadowProgram) -> tuple[list[str], int]:
    """Run a program; return what its shadows claim wrongly, and how many numbers they know."""
    results, shadows = run_with_shadows(program.text, *program.arguments)
    exact, wrong, known = program.exact(results), [], 0
    for k, (value, truth) in enumerate(zip(results, exact, strict=True)):
        shadow, numbers = shadow_of(value), number_of(value)
        assert shadow is not None
        for place in np.ndindex(program.shape):
            error, radius = float(shadow.error[place]), float(shadow.radius[place])
            if not np.isfinite(radius) or not is_finite(numbers[place]):
                continue
            known += 1
            with bits_of_precision(BITS):
                whole = ball(numbers[place]) + arb(error, radius)
                if not truth[place].is_finite() or not whole.overlaps(truth[place]):
                    wrong.append(
                        f"{program.steps[k]} {place}: {numbers[place]} {error} {radius} {truth[place].str(20)}"
                    )
    return wrong + wrong_figures(program, results, exact, shadows), known


def wrong_figures(
    program: ShadowProgram, results: Sequence[hu.Value], exact: Sequence[Numbers], shadows: Shadows
) -> list[str]:
    """Return which figures of ops are not those of the exact numbers: own errors, and decisions."""
    values, wrong = [number_of(value) for value in (*program.arguments, *results)], []
    spoiled, count = [value.poisoned for value in results], len(program.arguments)
    truths = [{place: ball(number) for place, number in np.ndenumerate(each)} for each in values[:count]] + list(exact)
    for (op, _), figures in shadows.figures.items():
        place = op.location
        assert isinstance(place, FileLineCol)
        number = place.line - 2
        step = program.steps[number]
        with bits_of_precision(BITS):
            if isinstance(op.results[0].type, ty.FloatType | ty.TensorType) and op.name == step.name:
                given = [values[k] for k in step.operands]
                wrong += wrong_own_error(program, step, given, values[count + number], spoiled[number], figures)
            elif op.name in ("arith.cmpf", "arith.fptosi"):
                given, true = ([each[k] for k in step.operands] for each in (values, truths))
                wrong += wrong_decisions(program, step, given, true, spoiled[number], figures)
    return wrong


def wrong_own_error(
    program: ShadowProgram, step: Step, given: Sequence[Any], result: Any, spoiled: Any, figures: ShadowFigures
) -> list[str]:
    fmt = hu.float_format(step.type)
    operands = [{place: ball(number) for place, number in np.ndenumerate(each)} for each in given]
    rounded = program.of_step(step, operands, given)
    errors, limits = [0.0], [0.0]
    top = Fraction(hu.Value.from_bits(fmt.max_code, step.type).item())
    largest = ball(top)
    for place, number in np.ndenumerate(result):
        if is_finite(number) and rounded[place].is_finite() and not spoiled[place]:
            exact, power = rounded[place].mid().man_exp()
            ulp = ulp_at(fmt, min(abs(Fraction(int(exact)) * Fraction(2) ** int(power)), top))
            error = abs(rounded[place] - ball(number)) / ball(ulp)
            if error.rad() > 1e-9:
                continue  # an angle on the cut
            errors.append(float(error.mid()))
            if abs(rounded[place]) <= largest:  # else the format may saturate
                limits.append(errors[-1])
    found, most = figures.own.size, max(errors)
    wrong = []
    # What is not known of an error, up to 2**-42 of the result, is not counted.
    if not most * (1 - 1e-6) - 1e-4 <= found <= most * (1 + 1e-9) + 1e-300:
        wrong.append(f"{step}: own error {found}, but it is {most}")
    if step.name in NOT_ROUNDED_ONCE:
        return wrong
    if not max(limits) <= (0.5 if "nearest" in step.mode or not step.mode else 1) * (1 + 1e-9):
        wrong.append(f"{step}: an error of {max(limits)} ulp")
    return wrong


NOT_ROUNDED_ONCE = ("arith.scaling_truncf", "arith.scaling_extf")
"""Ops that round their scale to the format of the result first."""


def ulp_at(fmt: hu.FloatFormat, number: float | Fraction) -> Fraction:
    """Return the ulp of a format at a number."""
    exponent = fmt.emin
    size = abs(Fraction(number))
    if size:
        guess = size.numerator.bit_length() - size.denominator.bit_length()
        exponent = max(exponent, guess - (size < Fraction(2) ** guess))
    return Fraction(2) ** (exponent - fmt.mantissa_bits)


def wrong_decisions(
    program: ShadowProgram,
    step: Step,
    given: Sequence[Any],
    exact: Sequence[Numbers],
    spoiled: Any,
    figures: ShadowFigures,
) -> list[str]:
    """Count what the exact run decides otherwise: certainly, and perhaps."""
    certain = possible = 0
    for place in np.ndindex(program.shape):
        numbers, truths = [each[place] for each in given], [each[place] for each in exact]
        if spoiled[place] or not all(map(is_finite, numbers)):
            possible += 1
        elif step.name == "arith.select":
            answer = PREDICATES[step.mode](*map(ball, numbers[:2]))
            other = (OPPOSITES if answer else PREDICATES)[step.mode](*truths[:2])
            same = (PREDICATES if answer else OPPOSITES)[step.mode](*truths[:2])
            certain, possible = certain + other, possible + (not same)
        else:
            cut, number = EXACT["math.trunc"](truths[0]), int(numbers[0])
            same = bool(cut == number)
            certain, possible = certain + bool(cut != number), possible + (not same)
    if figures.otherwise <= possible and certain <= figures.otherwise + figures.undecided:
        return []
    return [f"{step}: otherwise {figures.otherwise}, undecided {figures.undecided}: {certain} to {possible}"]


@pytest.mark.long
@pytest.mark.parametrize("first", range(0, 400, 50))
def test_enclosures(first: int) -> None:
    known = 0
    for seed in range(first, first + 50):
        wrong, count = outside(random_program(seed, rational=seed % 2 == 0))
        assert not wrong, (seed, wrong[:3])
        known += count
    assert known > 300


@pytest.mark.exhaustive
@pytest.mark.parametrize("first", range(10_000, 110_000, 2_000))
def test_enclosures_of_many(first: int) -> None:
    for seed in range(first, first + 2_000):
        wrong, _ = outside(random_program(seed, rational=seed % 2 == 0))
        assert not wrong, (seed, wrong[:3])


# --- scalars and arrays -----------------------------------------------------------------------------------------------

SCALAR_OPS = [
    *[(f"arith.{name}", "T, T", "T") for name in ("addf", "subf", "mulf", "divf", "remf", "maximumf", "minnumf")],
    *[(f"math.{name}", "T", "T") for name in ("sqrt", "exp", "roundeven", "absf")],
    ("math.fma", "T, T, T", "T"),
    ("arith.truncf", "T", "f8E5M2"),
    ("arith.extf", "T", "f64"),
    ("arith.fptosi", "T", "i16"),
]


@pytest.mark.parametrize("kind", thinned(["bf16", "f16", "f32"], 3))
@pytest.mark.parametrize(("name", "operands", "result"), SCALAR_OPS)
def test_a_scalar_is_a_tensor_of_one_element(name: str, operands: str, result: str, kind: str) -> None:
    """The one goes by scalar functions, the other by arrays. The first op makes numbers that are not exact."""
    count = operands.count("T")
    passed = ", ".join(["%w", "%y", "%z"][:count])
    types = ": T" if result == "T" else f": T to {result}"
    text = f"""func.func @f(%x: T, %y: T, %z: T) -> ({result}, T) {{
      %w = arith.addf %x, %y : T
      %r = {name} {passed} {types}
      return %r, %w : {result}, T
    }}"""
    draw = np.random.default_rng(len(name))
    codes = draw.integers(0, 1 << hu.float_format(kind).bits, (6, 3))
    codes[3:, :] = hu.convert(draw.uniform(0.1, 9, (3, 3)), kind).bits
    for row in codes:
        given = [hu.Value.from_bits(int(code), kind) for code in row]
        alone, apart = run_with_shadows(text.replace("T", kind), *given)
        whole = text.replace("T", f"tensor<1x{kind}>").replace(f"({result},", f"(tensor<1x{result}>,")
        whole = whole.replace(f"to {result}", f"to tensor<1x{result}>").replace(
            f": {result},", f": tensor<1x{result}>,"
        )
        arrays, figures = run_with_shadows(whole, *(value.reshape(1) for value in given))
        for one, many in zip(alone, arrays, strict=True):
            assert one == many.reshape(()), row
            assert repr(shadow_of(one)) == repr(shadow_of(many.reshape(()))) or one.poisoned.any(), row
        told = [[each.own.size, each.total.size, each.elements, each.unknown] for each in apart.figures.values()]
        assert told == [[e.own.size, e.total.size, e.elements, e.unknown] for e in figures.figures.values()], row


# --- what is not known is said ----------------------------------------------------------------------------------------


def figures_of(text: str, *arguments: Any, **settings: Any) -> dict[str, Any]:
    """Run a program, and return the figures of its ops by name."""
    _, shadows = run_with_shadows(text, *arguments, **settings)
    return {op.name: figures for (op, _), figures in shadows.figures.items()}


def test_division_by_zero_is_unknown() -> None:
    text = "func.func @f(%x: f32, %y: f32) -> f32 { %0 = arith.divf %x, %y : f32 return %0 : f32 }"
    (result,), shadows = run_with_shadows(text, scalar(1.0), scalar(0.0))
    (found,) = shadows.figures.values()
    assert (found.unknown, found.total.size) == (1, 0.0)
    errors = error_in_ulp(result)
    assert errors is not None
    assert np.isnan(errors[0])


def test_overflow_and_flush_are_counted() -> None:
    text = "func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> { %0 = arith.mulf %x, %x : tensor<4xf32> return %0 : tensor<4xf32> }"
    x = hu.convert(np.array([1e30, 1e-30, 2.0, float("nan")]), "f32")
    found = figures_of(text, x)["arith.mulf"]
    assert (found.overflowed, found.flushed, found.unknown, found.elements) == (1, 1, 2, 4)


LARGEST: dict[str, Fraction | int] = {
    "f8E4M3FN": 448, "f8E4M3FNUZ": 240, "f8E4M3B11FNUZ": 30, "f8E5M2FNUZ": 57344, "f6E2M3FN": Fraction(15, 2),
    "f6E3M2FN": 28, "f4E2M1FN": 6, "f8E8M0FNU": 2**127,
}  # fmt: skip
"""The largest numbers of the formats without infinities, as their specifications have them."""
ULPS: dict[str, Fraction | int] = {
    "f8E4M3FN": 32, "f8E4M3FNUZ": 16, "f8E4M3B11FNUZ": 2, "f8E5M2FNUZ": 8192, "f6E2M3FN": Fraction(1, 2), "f6E3M2FN": 4,
    "f4E2M1FN": 2, "f8E8M0FNU": 2**127,
}  # fmt: skip
"""The steps between numbers just below these."""


@pytest.mark.parametrize("form", ["", "f64"])
@pytest.mark.parametrize("shape", [(), (32,)])
@pytest.mark.parametrize("kind", thinned(LARGEST, 4))
def test_overflow_without_infinities(kind: str, shape: tuple[int, ...], form: str) -> None:
    """What a format has in place of an infinity counts as one: a NaN, or its largest number an ulp or more away."""
    ends = LARGEST[kind], ULPS[kind]
    sizes = [Fraction(ends[0]) + Fraction(k, 4) * ends[1] for k in range(-4, 9)]
    numbers = [sign * size for size in sizes for sign in (1, -1)] + [Fraction(0), Fraction(2) ** 127 * Fraction(3, 2)]
    numbers += [Fraction(1)] * (32 - len(numbers))
    type_ = "f64" if not shape else "tensor<32xf64>"
    narrow = type_.replace("f64", kind)
    text = (
        f"func.func @f(%x: {type_}) -> {narrow} {{ %0 = arith.truncf %x : {type_} to {narrow} return %0 : {narrow} }}"
    )
    given: list[float] = [float(each) for each in numbers]
    assert [Fraction(each) for each in given] == numbers
    values: list[Any] = [given] if shape else list(given)
    for value in values:
        (result,), shadows = run_with_shadows(text, hu.convert(value, "f64"), form=form)
        (found,) = shadows.figures.values()
        expected = 0
        for x, y in zip(np.atleast_1d(value), np.atleast_1d(np.asarray(result.numpy(), np.float64)), strict=True):
            beyond = abs(Fraction(x)) - LARGEST[kind]
            expected += bool(np.isnan(y) and beyond > 0 and (x > 0 or kind != "f8E8M0FNU"))
            expected += bool(abs(y) == LARGEST[kind] and beyond >= ULPS[kind])
        assert found.overflowed == expected, (value, result)


def test_an_invalid_operation_is_no_overflow() -> None:
    """0 / 0 and 1 / 0 are no numbers: the NaN stands for nothing that is too large."""
    t = "tensor<3xf8E4M3FN>"
    text = f"func.func @f(%x: {t}, %y: {t}) -> {t} {{ %0 = arith.divf %x, %y : {t} return %0 : {t} }}"
    given = [hu.convert(each, "f8E4M3FN") for each in ([0.0, 1.0, 448.0], [0.0, 0.0, 0.5])]
    _, shadows = run_with_shadows(text, *given)
    (found,) = shadows.figures.values()
    assert (found.overflowed, found.unknown) == (1, 3)


@pytest.mark.parametrize("form", [True, "f64"])
def test_a_signalling_nan_is_no_warning(form: bool | str) -> None:
    type_ = "tensor<2xf32>"
    given = hu.Value.from_bits(np.array([0x7F800001, 0x3F800000], np.uint32), type_)
    text = f"func.func @f(%x: {type_}) -> {type_} {{ %0 = arith.addf %x, %x : {type_} return %0 : {type_} }}"
    trace = hu.trace(text, given, shadow=form)
    assert trace.errors is not None
    assert trace.errors.ops[0].unknown == 1


def test_poison_is_not_counted() -> None:
    text = """func.func @f(%x: tensor<2xf32>) -> tensor<2xf32> {
      %0 = arith.mulf %x, %x fastmath<nnan> : tensor<2xf32>
      return %0 : tensor<2xf32> }"""
    (result,), shadows = run_with_shadows(text, hu.convert(np.array([float("nan"), 3.0]), "f32"))
    (found,) = shadows.figures.values()
    assert found.unknown == 0
    errors = error_in_ulp(result)
    assert errors is not None
    assert np.isnan(errors[0]).tolist() == [True, False]


def test_decisions_of_the_exact_run() -> None:
    """In f32 0.1 + 0.2 is the f32 0.3 plus an ulp, or equal to it: its exact sum is neither."""
    text = """func.func @f(%a: f32, %b: f32, %c: f32) -> i1 {
      %0 = arith.addf %a, %b : f32
      %1 = arith.cmpf oeq, %0, %c : f32
      return %1 : i1 }"""
    a, b = scalar(0.1), scalar(0.2)
    found = figures_of(text, a, b, scalar(float(np.float32(0.1) + np.float32(0.2))))["arith.cmpf"]
    assert (found.otherwise, found.undecided) == (1, 0)
    assert figures_of(text, a, b, scalar(0.5))["arith.cmpf"].otherwise == 0


def test_conversion_to_an_integer_that_the_exact_run_decides_otherwise() -> None:
    """3 times the f32 1/3, which is above 1/3, is rounded to 1 from above; minus 1/3 of an ulp it is below 1."""
    text = """func.func @f(%a: f32, %b: f32) -> i32 {
      %0 = arith.mulf %a, %b : f32
      %1 = arith.fptosi %0 : f32 to i32
      return %1 : i32 }"""
    below = np.nextafter(np.float32(1) / np.float32(3), np.float32(0))
    found = figures_of(text, hu.convert(below, "f32"), scalar(3.0))["arith.fptosi"]
    exact = int(float(below) * 3)
    computed = int(np.float32(below) * np.float32(3))
    assert (found.otherwise, found.undecided) == (int(exact != computed), 0)
    assert figures_of(text, scalar(2.5), scalar(1.0))["arith.fptosi"].otherwise == 0


def test_cancellation_and_absorption() -> None:
    text = """func.func @f(%a: f32, %b: f32) -> f32 { %0 = arith.subf %a, %b : f32 return %0 : f32 }"""
    assert figures_of(text, scalar(1.0), scalar(1 - 2.0**-10))["arith.subf"].cancelled == 10
    assert figures_of(text, scalar(1.0), scalar(1.0))["arith.subf"].cancelled == 24
    assert figures_of(text, scalar(1e10), scalar(1e-10))["arith.subf"].absorbed == 1
    assert figures_of(text, scalar(3.0), scalar(1.0))["arith.subf"].cancelled == 0


@pytest.mark.parametrize("type_", ["f64", "tensor<1xf64>"])
def test_what_only_looks_like_cancellation_or_absorption(type_: str) -> None:
    """The quotient of 2**10 - 2**-43 and 1 is below 2**10, though its logarithm is rounded to 10; and of 2 - 1 both
    terms matter, though it is one of the operands.
    """
    text = (
        f"func.func @f(%a: {type_}, %b: {type_}) -> {type_} {{ %0 = arith.subf %a, %b : {type_} return %0 : {type_} }}"
    )
    shape = () if type_ == "f64" else (1,)
    large, two, one = (hu.convert(np.full(shape, each), "f64") for each in (2.0**10 - 2.0**-43, 2.0, 1.0))
    less = hu.convert(np.full(shape, 2.0**10 - 1 - 2.0**-43), "f64")
    assert figures_of(text, large, less)["arith.subf"].cancelled == 9
    assert figures_of(text, two, one)["arith.subf"].absorbed == 0


def test_bits_of_other_numbers_are_unknown() -> None:
    """Half of an inexact f64, read as an f32, is not the f64."""
    text = """func.func @f(%x: f64) -> (f32, f64) {
      %c1 = llvm.mlir.constant(1 : i64) : i64
      %p = llvm.alloca %c1 x f64 : (i64) -> !llvm.ptr
      %0 = arith.divf %x, %x : f64
      %1 = arith.mulf %x, %x : f64
      llvm.store %1, %p : f64, !llvm.ptr
      %2 = llvm.load %p : !llvm.ptr -> f32
      %3 = llvm.load %p : !llvm.ptr -> f64
      return %2, %3 : f32, f64 }"""
    (half, whole), _ = run_with_shadows(text, scalar(0.1, "f64"))
    (one, other) = shadow_of(half), shadow_of(whole)
    assert one is not None
    assert other is not None
    assert np.isinf(one.radius)
    assert other.error != 0
    assert other.radius < 1e-30


def test_integers_are_exact() -> None:
    """i64 to f32: the own error is that of the whole integer, also beyond 2**53."""
    text = "func.func @f(%n: i64) -> f64 { %0 = arith.sitofp %n : i64 to f64 return %0 : f64 }"
    number = 2**53 + 1
    (result,), shadows = run_with_shadows(text, hu.Value.from_bits(np.uint64(number), "i64"))
    (found,) = shadows.figures.values()
    assert found.own.size == pytest.approx(0.5)
    shadow = shadow_of(result)
    assert shadow is not None
    assert shadow.error == 1.0


def test_infinities_that_programs_spell_are_exact() -> None:
    """A maximum begins at -inf, and exp of a masked element is 0: neither is an error."""
    text = """func.func @f(%x: tensor<3xf32>) -> (f32, tensor<3xf32>) {
      %low = arith.constant 0xFF800000 : f32
      %masked = arith.constant dense<[0.0, 0xFF800000, 0.0]> : tensor<3xf32>
      %0 = arith.addf %x, %masked : tensor<3xf32>
      %1 = math.exp %0 : tensor<3xf32>
      %2 = tensor.empty() : tensor<f32>
      %3 = linalg.fill ins(%low : f32) outs(%2 : tensor<f32>) -> tensor<f32>
      %4 = linalg.reduce { arith.maximumf } ins(%0 : tensor<3xf32>) outs(%3 : tensor<f32>) dimensions = [0]
      %5 = tensor.extract %4[] : tensor<f32>
      return %5, %1 : f32, tensor<3xf32> }"""
    (largest, exponentials), shadows = run_with_shadows(text, hu.convert(np.array([0.5, 0.25, 0.125]), "f32"))
    assert all(found.unknown == 0 for found in shadows.figures.values())
    errors = error_in_ulp(largest)
    assert errors is not None
    assert errors[0] == 0.0
    shadow = shadow_of(exponentials)
    assert shadow is not None
    assert (shadow.error[1], shadow.radius[1]) == (0.0, 0.0)


def test_wide_formats_are_unknown_and_said() -> None:
    text = "func.func @f(%x: f128) -> f128 { %0 = arith.mulf %x, %x : f128 return %0 : f128 }"
    found = figures_of(text, scalar(0.1, "f128"))["arith.mulf"]
    assert (found.unknown, found.elements) == (1, 1)


def test_batches_are_refused() -> None:
    module = hu.parse("func.func @f(%x: f32) -> f32 { %0 = arith.mulf %x, %x : f32 return %0 : f32 }")
    with pytest.raises(hu.Unsupported, match="cannot also run with exact real numbers"):
        hu.trace(module, np.ones(4, np.float32), shadow=True, batch=True)
