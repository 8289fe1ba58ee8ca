"""What a run does not know of exact numbers is said: infinities, NaNs, bits of numbers, decisions, what is outside."""

from fractions import Fraction
from math import atan, inf, nan
from typing import Any

import numpy as np
import pytest
from shadow_programs import run_with_shadows, scalar
from tables import each_row

import halfulp as hu
from halfulp.interp.run.shadow_loops import ShadowFigures, WorstElement
from halfulp.interp.run.shadows import Shadows, shadow_of
from halfulp.semantics.profile import Profile

THIRD = """%one = arith.constant 1.0 : f32
  %three = arith.constant 3.0 : f32
  %third = arith.divf %one, %three : f32
"""
ERROR_OF_THIRD = float(Fraction(1, 3) - Fraction(float(np.float32(1) / np.float32(3))))
NOTHING, UNKNOWN = "exact", "unknown"


def said(text: str, *arguments: Any, **settings: Any) -> list[str | float]:
    """Run the body of a function of %x; return the error of each result, or that it is exact, or unknown."""
    results, _ = run_with_shadows(text, *arguments, **settings)
    found: list[str | float] = []
    for value in results:
        shadow = shadow_of(value)
        assert shadow is not None
        for error, radius in zip(shadow.error.reshape(-1), shadow.radius.reshape(-1), strict=True):
            known: Any = NOTHING if not error and not radius else pytest.approx(float(error), rel=1e-15)
            found.append(known if np.isfinite(radius) else UNKNOWN)
    return found


def body(ops: str, results: str, types: str) -> str:
    return f"func.func @f(%x: f32) -> ({types}) {{\n  {THIRD}  {ops}\n  return {results} : {types}\n}}"


def decisions(text: str, *arguments: Any, **settings: Any) -> tuple[int, int]:
    """Run a program; return how many branches the exact run takes differently, and how many it may."""
    _, shadows = run_with_shadows(text, *arguments, **settings)
    figures = shadows.figures.values()
    return sum(each.otherwise for each in figures), sum(each.undecided for each in figures)


# --- infinities and NaNs ----------------------------------------------------------------------------------------------


@each_row(
    ("%0 = arith.subf %x, %x : f32", inf, UNKNOWN),
    ("%z = arith.constant 0.0 : f32 %0 = arith.mulf %x, %z : f32", inf, UNKNOWN),
    ("%y = arith.mulf %x, %x : f32 %0 = arith.divf %one, %y : f32", 1e30, UNKNOWN),
    ("%y = arith.mulf %x, %x : f32 %0 = arith.minimumf %one, %y : f32", 1e30, UNKNOWN),
    ("%y = arith.mulf %x, %x : f32 %0 = math.exp %y : f32", -1e30, UNKNOWN),
    ("%0 = arith.divf %one, %x : f32", inf, NOTHING),
    ("%0 = arith.minimumf %third, %x : f32", inf, ERROR_OF_THIRD),
    ("%0 = arith.maximumf %third, %x : f32", nan, UNKNOWN),
    ("%0 = arith.maxnumf %x, %third : f32", nan, ERROR_OF_THIRD),
    ("%y = arith.subf %x, %x : f32 %0 = arith.maxnumf %y, %third : f32", inf, UNKNOWN),
    ("%0 = math.clampf %third to [%n, %x] : f32", inf, ERROR_OF_THIRD),
    ("%0 = math.copysign %third, %n : f32", inf, -ERROR_OF_THIRD),
    ("%y = arith.subf %x, %x : f32 %0 = math.copysign %third, %y : f32", inf, UNKNOWN),
    ("%0 = math.tanh %x : f32", inf, NOTHING),
    ("%0 = math.exp %n : f32", inf, NOTHING),
    ("%h = arith.truncf %n : f32 to f6E3M2FN %0 = arith.extf %h : f6E3M2FN to f32", inf, UNKNOWN),
)
def test_infinities_and_nans(ops: str, x: float, expected: str | float) -> None:
    """An infinity of a program is exact, and so is a limit there. What overflowed is unknown, and all that follows."""
    (found,) = said(body(f"%n = arith.negf %x : f32 {ops}", "%0", "f32"), scalar(x))
    assert found == expected


def test_the_limit_of_a_function_is_not_the_result() -> None:
    """The arc tangent of infinity is half of pi, which no f32 is."""
    (found,) = said(body("%0 = math.atan %x : f32", "%0", "f32"), scalar(inf))
    assert found == pytest.approx(2 * atan(1) - float(np.float32(2 * atan(1))), rel=1e-6)


def test_a_nan_hides_no_error_of_another_element() -> None:
    worst = WorstElement()
    worst.take_block(np.array([0.25, nan, 0.5, 0.125]), (4,), 0)
    assert (worst.size, worst.place) == (0.5, (2,))
    text = "func.func @f(%x: tensor<2xf32>, %y: tensor<2xf32>) -> tensor<2xf32> { %0 = arith.divf %x, %y : tensor<2xf32> return %0 : tensor<2xf32> }"
    _, shadows = run_with_shadows(text, hu.convert([0.0, 1.0], "f32"), hu.convert([0.0, 3.0], "f32"))
    (found,) = shadows.figures.values()
    assert (found.unknown, found.own.size) == (1, pytest.approx(1 / 3))


def test_an_error_below_the_least_f64_is_not_lost() -> None:
    """exp(-888) / -888, which f16 takes for 0: neither is 0, also where an f64 has no such number."""
    text = "func.func @f(%x: f16) -> f16 { %0 = math.exp %x : f16 %1 = arith.divf %0, %x : f16 %2 = arith.divf %1, %x : f16 return %2 : f16 }"
    (found,) = run_with_shadows(text, scalar(-888.0, "f16"))[0]
    shadow = shadow_of(found)
    assert shadow is not None
    assert shadow.radius > 0


# --- bits -------------------------------------------------------------------------------------------------------------

CAST = "%i = arith.bitcast %third : f32 to i32"
BACK = "%0 = arith.bitcast %j : i32 to f32"
ALLOCA = "%c1 = llvm.mlir.constant(1 : i64) : i64 %p = llvm.alloca %c1 x f32 : (i64) -> !llvm.ptr"
VIEWS = """%c0 = arith.constant 0 : index
  %m = memref.alloc() : memref<8xi8>
  %v = memref.view %m[%c0][] : memref<8xi8> to memref<2xf32>
  %w = memref.view %m[%c0][] : memref<8xi8> to memref<2xi32>
  memref.store %third, %v[%c0] : memref<2xf32>
  %i = memref.load %w[%c0] : memref<2xi32>"""


@each_row(
    (f"{CAST} %0 = arith.bitcast %i : i32 to f32", ERROR_OF_THIRD),
    (f"{CAST} %m = arith.constant 2147483647 : i32 %j = arith.andi %i, %m : i32 {BACK}", UNKNOWN),
    (f"{CAST} %0 = arith.sitofp %i : i32 to f32", UNKNOWN),
    ("%i = arith.bitcast %x : f32 to i32 %m = arith.constant 1 : i32 %j = arith.shrui %i, %m : i32 " + BACK, NOTHING),
    (f"{CAST} {ALLOCA} llvm.store %i, %p : i32, !llvm.ptr %0 = llvm.load %p : !llvm.ptr -> f32", ERROR_OF_THIRD),
    (
        f"{CAST} {ALLOCA} %m = arith.constant 1 : i32 %j = arith.xori %i, %m : i32 "
        "llvm.store %j, %p : i32, !llvm.ptr %0 = llvm.load %p : !llvm.ptr -> f32",
        UNKNOWN
    ),
    (f"{VIEWS} memref.store %i, %w[%c0] : memref<2xi32> %0 = memref.load %v[%c0] : memref<2xf32>", ERROR_OF_THIRD),
    (
        f"{VIEWS} %k = arith.constant 1 : i32 %j = arith.addi %i, %k : i32 "
        "memref.store %j, %w[%c0] : memref<2xi32> %0 = memref.load %v[%c0] : memref<2xf32>",
        UNKNOWN
    ),
)  # fmt: skip
def test_bits(ops: str, expected: str | float) -> None:
    """Bits of an inexact number are that number once they are read as such; what integer ops make of them is
    unknown. Bits of an exact number are exact.
    """
    (found,) = said(body(ops, "%0", "f32"), scalar(1.5))
    assert found == expected


@each_row(
    "%0 = arith.cmpi sgt, %i, %c : i32",
    "%0 = arith.trunci %i : i32 to i1",
    "%a = arith.andi %i, %c : i32 %k = arith.index_cast %a : i32 to index %e = arith.constant dense<true> : tensor<4xi1> "
    "%0 = tensor.extract %e[%k] : tensor<4xi1>",
)
def test_decisions_by_bits_are_undecided(ops: str) -> None:
    text = body(f"%c = arith.constant 3 : i32 {VIEWS} {ops}", "%0", "i1")
    assert decisions(text, scalar(1.5)) == (0, 1)


def test_the_way_back_leads_through_bit_casts() -> None:
    text = body(f"{CAST} %j = arith.bitcast %i : i32 to f32 %0 = arith.mulf %j, %three : f32", "%0", "f32")
    trace = hu.trace(text, np.float32(1), shadow=True)
    effects = {op.op: op.effect_ulp for op in trace.worst(4)}
    # 1/3 in f32 is too large by a third of its ulp, 2**-25; three times that is half of the ulp of 1, 2**-24.
    own = (Fraction(float(np.float32(1) / np.float32(3))) - Fraction(1, 3)) * 3 / Fraction(1, 2**23)
    assert effects["arith.divf"] == pytest.approx(float(own))


# --- integers ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("number", "expected"), [(1000.0, (1, 0)), (100.0, (0, 0)), (nan, (0, 1)), (-inf, (0, 1))])
def test_a_saturated_conversion_is_no_exact_one(number: float, expected: tuple[int, int]) -> None:
    text = "func.func @f(%x: f32) -> i8 { %0 = arith.fptosi %x : f32 to i8 return %0 : i8 }"
    assert decisions(text, scalar(number), profile=Profile(base="spec", float_to_int="saturate")) == expected


def test_trip_counts_by_numbers_are_undecided() -> None:
    """Three thirds are 1, of which a conversion makes 1 or 0."""
    text = body(
        """%s = arith.mulf %third, %three : f32
  %n = arith.fptosi %s : f32 to i32
  %k = arith.index_cast %n : i32 to index
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %0 = scf.for %i = %c0 to %k step %c1 iter_args(%a = %x) -> f32 {
    %b = arith.addf %a, %third : f32
    scf.yield %b : f32
  }""",
        "%0",
        "f32",
    )
    assert decisions(text, scalar(1.0)) == (0, 1)


# --- the outside ------------------------------------------------------------------------------------------------------


def test_what_the_outside_gives_is_unknown() -> None:
    text = """func.func private @g(f32) -> (f32, i32)
    func.func @f(%x: f32) -> (f32, f32) {
      %0:2 = func.call @g(%x) : (f32) -> (f32, i32)
      %1 = arith.sitofp %0#1 : i32 to f32
      return %0#0, %1 : f32, f32 }"""
    assert said(text, scalar(1.0), externals={"g": lambda x: (x, np.int32(3))}) == [UNKNOWN, UNKNOWN]


def test_softmax_begins_at_a_nan() -> None:
    """linalg.softmax looks for the largest element by arith.maxnumf, from a NaN on, as MLIR's decomposition does."""
    text = """func.func @f(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
      %e = tensor.empty() : tensor<2x3xf32>
      %0 = linalg.softmax dimension(1) ins(%x : tensor<2x3xf32>) outs(%e : tensor<2x3xf32>) -> tensor<2x3xf32>
      return %0 : tensor<2x3xf32> }"""
    x = np.array([[1.0, 2.0, 3.5], [-1.0, 0.25, 0.5]], np.float32)
    (result,), _ = run_with_shadows(text, hu.convert(x, "f32"))
    shadow = shadow_of(result)
    assert shadow is not None
    exact = np.exp(x.astype(np.float64)) / np.exp(x.astype(np.float64)).sum(1, keepdims=True)
    assert np.allclose(np.asarray(result.numpy(), np.float64) + shadow.error, exact, rtol=1e-14)
    assert (shadow.radius < 1e-20).all()


# --- shadows of quantized ---------------------------------------------------------------------------------------------
#
# Quantised numbers by their real value: (stored - zero point) * scale, with errors in steps.

LAYER = "!quant.uniform<i8:f32, 0.1:3>"
AXIS = "!quant.uniform<u8:f32:1, {0.1:128, 0.25, 0.003:7}>"
SCALES, POINTS = [Fraction(0.1), Fraction(0.25), Fraction(0.003)], [128, 0, 7]


def there_and_back(type_: str, shape: str) -> str:
    return f"""func.func @f(%x: tensor<{shape}xf32>) -> (tensor<{shape}x{type_}>, tensor<{shape}xf32>) {{
      %0 = quant.qcast %x : tensor<{shape}xf32> to tensor<{shape}x{type_}>
      %1 = quant.dcast %0 : tensor<{shape}x{type_}> to tensor<{shape}xf32>
      return %0, %1 : tensor<{shape}x{type_}>, tensor<{shape}xf32>
    }}"""


def figures(shadows: Shadows) -> dict[str, ShadowFigures]:
    return {op.name: found for (op, _), found in shadows.figures.items()}


@pytest.mark.parametrize(("type_", "scales", "points"), [(LAYER, SCALES[:1] * 3, [3] * 3), (AXIS, SCALES, POINTS)])
def test_errors_of_casts(type_: str, scales: list[Fraction], points: list[int]) -> None:
    draw = np.random.default_rng(len(type_))
    x = (draw.uniform(-1, 1, (50, 3)) * [7, 20, 0.3]).astype(np.float32)
    (stored, back), shadows = run_with_shadows(there_and_back(type_, "50x3"), hu.convert(x, "f32"))
    own_steps = own_ulps = 0.0
    for place in np.ndindex(x.shape):
        code = int(np.asarray(stored.bits)[place])
        code -= 256 * (type_ is LAYER and code >= 128)
        number = (code - points[place[1]]) * scales[place[1]]
        given, result = Fraction(float(x[place])), Fraction(float(back[place].item()))
        for value, exact in ((stored, given - number), (back, given - result)):
            shadow = shadow_of(value)
            assert shadow is not None
            assert abs(exact - Fraction(float(shadow.error[place]))) <= Fraction(float(shadow.radius[place]))
            assert shadow.radius[place] <= 2.0**-50 * (abs(exact) + abs(scales[place[1]]))
        own_steps = max(own_steps, float(abs(given - number) / scales[place[1]]))
        own_ulps = max(own_ulps, float(abs(number - result)) / float(np.spacing(abs(np.float32(float(result))))))
    found = figures(shadows)
    assert found["quant.qcast"].own.size == pytest.approx(own_steps)
    assert found["quant.qcast"].total.size == pytest.approx(own_steps)
    assert found["quant.dcast"].own.size == pytest.approx(own_ulps)
    assert all(each.unknown == 0 for each in found.values())


def test_stored_integers_are_decisions() -> None:
    """0.3 + 0.1 is 0.4 and a little, or less: the nearest integer is 2, for the steps are 0.25 wide."""
    type_ = "!quant.uniform<i8:f32, 0.25>"
    text = f"""func.func @f(%x: f32, %y: f32) -> i8 {{
      %s = arith.addf %x, %y : f32
      %0 = quant.qcast %s : f32 to {type_}
      %1 = quant.scast %0 : {type_} to i8
      return %1 : i8 }}"""
    _, shadows = run_with_shadows(text, scalar(0.3), scalar(0.1))
    assert (figures(shadows)["quant.scast"].otherwise, figures(shadows)["quant.scast"].undecided) == (0, 0)
    # 2**23 + 0.5 is 2**23 in f32, then far too large for the type: the exact run has another number.
    _, shadows = run_with_shadows(text, scalar(2.0**23), scalar(0.5))
    assert (figures(shadows)["quant.scast"].otherwise, figures(shadows)["quant.scast"].undecided) == (1, 0)


def test_integers_as_quantised_numbers_are_exact() -> None:
    text = f"""func.func @f(%n: i8) -> f32 {{
      %0 = quant.scast %n : i8 to {LAYER}
      %1 = quant.dcast %0 : {LAYER} to f32
      return %1 : f32 }}"""
    (result,), shadows = run_with_shadows(text, hu.Value.from_bits(np.uint8(100), "i8"))
    exact = 97 * Fraction(0.1)
    shadow = shadow_of(result)
    assert shadow is not None
    assert abs(exact - Fraction(float(result.item())) - Fraction(float(shadow.error))) <= Fraction(float(shadow.radius))
    assert figures(shadows)["quant.dcast"].unknown == 0


def test_the_way_back_leads_through_quantised_numbers() -> None:
    text = f"""func.func @f(%x: f32) -> f32 {{
      %0 = quant.qcast %x : f32 to {LAYER}
      %1 = quant.dcast %0 : {LAYER} to f32
      return %1 : f32 }}"""
    trace = hu.trace(text, np.float32(0.77), shadow=True)
    assert trace.errors is not None
    (found,) = trace.errors.results
    assert found.exact == float(np.float32(0.77))
    assert [step.op for step in trace.explain_error(0)] == ["quant.dcast", "quant.qcast"]
    assert trace.worst(1)[0].op == "quant.qcast"


def test_the_way_back_leads_through_numbers_whose_scale_belongs_to_a_place() -> None:
    """There no number is known from its code alone."""
    trace = hu.trace(there_and_back(AXIS, "2x3"), np.full((2, 3), 0.77, np.float32), shadow=True)
    assert [step.op for step in trace.explain_error(1, (0, 1))] == ["quant.dcast", "quant.qcast"]
