"""Errors beside exact reals: known stories with their textbook numbers, planted errors, and the way back of an error."""

from dataclasses import replace
from fractions import Fraction
from math import exp, isfinite
from pathlib import Path
from time import perf_counter
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
from amounts import thinned
from tables import each_row

import halfulp as hu
from halfulp.fp_formats import scalar
from halfulp.fp_formats.formats import FORMATS
from halfulp.fp_formats.neighbours import ulp_at
from halfulp.fp_formats.policy import Flags
from halfulp.interp.run import attribution
from halfulp.interp.run.compiler import FunctionCompiler
from halfulp.semantics.kernel import Outcome
from halfulp.traces import error_report
from halfulp.traces.error_text import known_text
from halfulp.traces.record import timeline

# --- known stories ----------------------------------------------------------------------------------------------------

MULLER = """func.func @f(%n: index) -> f64 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %x0 = arith.constant 4.0 : f64
  %x1 = arith.constant 4.25 : f64
  %c108 = arith.constant 108.0 : f64
  %c815 = arith.constant 815.0 : f64
  %c1500 = arith.constant 1500.0 : f64
  %r:2 = scf.for %i = %c0 to %n step %c1 iter_args(%p = %x0, %q = %x1) -> (f64, f64) {
    %0 = arith.divf %c1500, %p : f64
    %1 = arith.subf %c815, %0 : f64
    %2 = arith.divf %1, %q : f64
    %3 = arith.subf %c108, %2 : f64
    scf.yield %q, %3 : f64, f64
  }
  return %r#1 : f64
}"""


def test_mullers_recurrence_converges_to_the_wrong_limit() -> None:
    """Muller, Handbook of Floating-Point Arithmetic, 1.3.2.1 in Kahan's form: it tends to 5, but computers say 100."""
    x, y = Fraction(4), Fraction(17, 4)
    for _ in range(40):
        x, y = y, 108 - (815 - 1500 / x) / y
    trace = hu.trace(MULLER, 40, shadow=True)
    assert trace.errors is not None
    (found,) = trace.errors.results
    assert found.value == 100
    assert found.exact == float(y)
    assert abs(found.exact - 5) < 0.01
    assert trace.worst(1)[0].op == "arith.divf"


RUMP = """func.func @f(%a: f64, %b: f64) -> f64 {
  %c1 = arith.constant 333.75 : f64
  %c2 = arith.constant 11.0 : f64
  %c3 = arith.constant 121.0 : f64
  %c4 = arith.constant 2.0 : f64
  %c5 = arith.constant 5.5 : f64
  %a2 = arith.mulf %a, %a : f64
  %b2 = arith.mulf %b, %b : f64
  %b4 = arith.mulf %b2, %b2 : f64
  %b6 = arith.mulf %b4, %b2 : f64
  %b8 = arith.mulf %b4, %b4 : f64
  %0 = arith.mulf %c1, %b6 : f64
  %1 = arith.mulf %c2, %a2 : f64
  %2 = arith.mulf %1, %b2 : f64
  %3 = arith.subf %2, %b6 : f64
  %4 = arith.mulf %c3, %b4 : f64
  %5 = arith.subf %3, %4 : f64
  %6 = arith.subf %5, %c4 : f64
  %7 = arith.mulf %a2, %6 : f64
  %8 = arith.mulf %c5, %b8 : f64
  %9 = arith.addf %0, %7 : f64
  %10 = arith.addf %9, %8 : f64
  %11 = arith.mulf %c4, %b : f64
  %12 = arith.divf %a, %11 : f64
  %13 = arith.addf %10, %12 : f64
  return %13 : f64
}"""


def test_rumps_polynomial() -> None:
    """Rump (1988): 333.75 b^6 + a^2 (11 a^2 b^2 - b^6 - 121 b^4 - 2) + 5.5 b^8 + a / (2 b) at 77617, 33096."""
    trace = hu.trace(RUMP, 77617.0, 33096.0, shadow=True)
    assert trace.errors is not None
    (found,) = trace.errors.results
    assert found.exact == -54767 / 66192  # -0.827396...
    assert abs(found.value) > 1e20


SUM = """func.func @f(%n: index) -> f32 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f32
  %tenth = arith.constant 0.1 : f32
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%sum = %zero) -> (f32) {
    %0 = arith.addf %sum, %tenth : f32
    scf.yield %0 : f32
  }
  return %r : f32
}"""


@pytest.mark.parametrize("count", [1_000, pytest.param(1_000_000, marks=pytest.mark.exhaustive)])
def test_sum_of_tenths(count: int) -> None:
    """A million tenths are 100958.34 in f32."""
    computed = np.float32(0)
    for _ in range(count):
        computed += np.float32(0.1)
    (result, report) = beside(SUM, count)
    found = report.results[0]
    assert result.item() == found.value == float(computed)
    assert found.exact == pytest.approx(float(np.float32(0.1)) * count, rel=1e-15)
    if count == 1_000_000:
        assert found.value == 100958.34375
        assert round(found.exact, 2) == 100000.0


def beside(text: str, *arguments: Any) -> tuple[hu.Value, Any]:
    trace = hu.trace(text, *arguments, shadow=True, n=10)
    assert trace.errors is not None
    return trace.results[0], trace.errors


HERON = """func.func @heron(%a: f32, %b: f32, %c: f32) -> f32 {
  %half = arith.constant 0.5 : f32
  %0 = arith.addf %a, %b : f32
  %1 = arith.addf %0, %c : f32
  %s = arith.mulf %1, %half : f32
  %sa = arith.subf %s, %a : f32
  %sb = arith.subf %s, %b : f32
  %sc = arith.subf %s, %c : f32
  %2 = arith.mulf %s, %sa : f32
  %3 = arith.mulf %2, %sb : f32
  %4 = arith.mulf %3, %sc : f32
  %5 = math.sqrt %4 : f32
  return %5 : f32
}"""
KAHAN = """func.func @kahan(%a: f32, %b: f32, %c: f32) -> f32 {
  %quarter = arith.constant 0.25 : f32
  %0 = arith.addf %b, %c : f32
  %1 = arith.addf %a, %0 : f32
  %2 = arith.subf %a, %b : f32
  %3 = arith.subf %c, %2 : f32
  %4 = arith.addf %c, %2 : f32
  %5 = arith.subf %b, %c : f32
  %6 = arith.addf %a, %5 : f32
  %7 = arith.mulf %1, %3 : f32
  %8 = arith.mulf %7, %4 : f32
  %9 = arith.mulf %8, %6 : f32
  %10 = math.sqrt %9 : f32
  %11 = arith.mulf %10, %quarter : f32
  return %11 : f32
}"""


def test_area_of_a_needle_triangle() -> None:
    """Kahan, "Miscalculating Area and Angles of a Needle-like Triangle": sides 100000, 99999.99979, 0.00029 have the
    area 10.0 where f64 computes 9.999999809638329, and Heron's formula in f32 loses all digits; his never does.
    """
    sides = [float(np.float32(each)) for each in (9.0, 8.999998, 4e-6)]
    a, b, c = map(Fraction, sides)
    s = (a + b + c) / 2
    area = float(s * (s - a) * (s - b) * (s - c)) ** 0.5
    _, heron = beside(HERON, *map(np.float32, sides))
    _, kahan = beside(KAHAN, *map(np.float32, sides))
    assert heron.results[0].exact == pytest.approx(area, rel=1e-12)
    assert kahan.results[0].exact == pytest.approx(area, rel=1e-12)
    assert abs(heron.results[0].ulp) > 1e5
    assert abs(kahan.results[0].ulp) < 5
    assert heron.worst(1)[0].op == "arith.addf"


QUADRATIC = """func.func @f(%a: f32, %b: f32, %c: f32) -> (f32, f32) {
  %two = arith.constant 2.0 : f32
  %four = arith.constant 4.0 : f32
  %bb = arith.mulf %b, %b : f32
  %ac = arith.mulf %a, %c : f32
  %ac4 = arith.mulf %four, %ac : f32
  %d = arith.subf %bb, %ac4 : f32
  %root = math.sqrt %d : f32
  %n = arith.negf %b : f32
  %a2 = arith.mulf %two, %a : f32
  %0 = arith.addf %n, %root : f32
  %1 = arith.subf %n, %root : f32
  %x = arith.divf %0, %a2 : f32
  %y = arith.divf %1, %a2 : f32
  return %x, %y : f32, f32
}"""


def test_quadratic_formula_cancels_in_one_root() -> None:
    """x^2 + 1000 x + 1: one root is -0.001000001, of which the formula keeps two digits; the other is exact to an ulp."""
    trace = hu.trace(QUADRATIC, np.float32(1), np.float32(1000), np.float32(1), shadow=True)
    assert trace.errors is not None
    small, large = trace.errors.results
    assert small.exact == pytest.approx(-0.001000001000002, rel=1e-12)
    assert small.relative > 1e-3
    assert abs(large.ulp) < 1
    assert trace.worst(1)[0].op == "math.sqrt"
    story = trace.explain_error(0)
    assert [step.op for step in story][:3] == ["arith.divf", "arith.addf", "math.sqrt"]
    assert trace.errors.error_of(0).ulp == pytest.approx(story[0].brings, rel=1e-9)


SOFTMAX = """func.func @f(%x: tensor<3xf16>) -> tensor<3xf16> {
  %0 = math.exp %x : tensor<3xf16>
  %zero = arith.constant 0.0 : f16
  %e = tensor.empty() : tensor<f16>
  %f = linalg.fill ins(%zero : f16) outs(%e : tensor<f16>) -> tensor<f16>
  %s = linalg.reduce { arith.addf } ins(%0 : tensor<3xf16>) outs(%f : tensor<f16>) dimensions = [0]
  %b = tensor.empty() : tensor<3xf16>
  %t = linalg.broadcast ins(%s : tensor<f16>) outs(%b : tensor<3xf16>) dimensions = [0]
  %r = arith.divf %0, %t : tensor<3xf16>
  return %r : tensor<3xf16>
}"""


def test_softmax_without_subtraction_of_the_maximum_overflows() -> None:
    """exp(12) is no f16: the result is NaN, and the trace says where the numbers left the format."""
    trace = hu.trace(SOFTMAX, hu.convert(np.array([12.0, 11.0, 10.0]), "f16"), shadow=True)
    assert trace.errors is not None
    by_op = {one.op: one for one in trace.errors.ops}
    assert by_op["math.exp"].overflowed == 1
    assert by_op["arith.divf"].unknown > 0
    # Two of the three elements are 0, whose exact numbers the history has all the same.
    exact = [exp(x) / (exp(12) + exp(11) + exp(10)) for x in (12, 11, 10)]
    found = trace.errors.error_of(0, (1,))
    assert found.value == 0
    assert found.exact == pytest.approx(exact[1], rel=1e-6)


# --- planted errors ---------------------------------------------------------------------------------------------------


def chain(draw: np.random.Generator) -> tuple[list[str], int]:
    """Return a chain of additions and multiplications in f32, and the number of its ops."""
    count = int(draw.integers(3, 12))
    ops = draw.choice(["arith.addf", "arith.mulf"], count)
    return [f"  %{k + 2} = {op} %{k + 1}, %0 : f32" for k, op in enumerate(ops)], count


def program(lines: list[str], last: str) -> str:
    return "\n".join(["func.func @f(%0: f32, %1: f32) -> f32 {", *lines, f"  return {last} : f32", "}"])


def arguments(draw: np.random.Generator) -> list[hu.Value]:
    return [hu.convert(float(draw.uniform(1.01, 1.1)), "f32"), hu.convert(float(draw.uniform(1, 2)), "f32")]


@pytest.mark.parametrize("first", range(0, 34, 17))
def test_a_planted_double_rounding_is_first(first: int) -> None:
    for seed in range(first, first + 17):
        draw = np.random.default_rng(seed)
        lines, count = chain(draw)
        at = int(draw.integers(0, count))
        made, line = f"%{at + 2}", "  %w = arith.extf %h : f16 to f32"
        lines[at + 1 :] = [text.replace(f" {made},", " %w,") for text in lines[at + 1 :]]
        lines[at + 1 : at + 1] = [f"  %h = arith.truncf {made} : f32 to f16", line]
        last = "%w" if at == count - 1 else f"%{count + 1}"
        text, given = program(lines, last), arguments(draw)
        trace = hu.trace(text, *given, shadow=True)
        found = trace.worst(2)
        if abs(found[0].effect_ulp) < 100:  # the f16 happened to be near: nothing was planted
            continue
        assert found[0].op == "arith.truncf", (seed, found)
        assert abs(found[0].effect_ulp) > 4 * abs(found[1].effect_ulp)


@pytest.mark.long
@pytest.mark.parametrize("first", range(100, 133, 11))
def test_a_planted_accumulator_is_first(first: int) -> None:
    """A sum of f32 in f16."""
    text = """func.func @f(%x: tensor<64xf32>, %y: tensor<64xf32>) -> f32 {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c64 = arith.constant 64 : index
      %zero = arith.constant 0.0 : f16
      %s = scf.for %i = %c0 to %c64 step %c1 iter_args(%sum = %zero) -> (f16) {
        %a = tensor.extract %x[%i] : tensor<64xf32>
        %b = tensor.extract %y[%i] : tensor<64xf32>
        %p = arith.mulf %a, %b : f32
        %w = arith.extf %sum : f16 to f32
        %t = arith.addf %w, %p : f32
        %n = arith.truncf %t : f32 to f16
        scf.yield %n : f16
      }
      %r = arith.extf %s : f16 to f32
      return %r : f32
    }"""
    module = hu.parse(text)
    for seed in range(first, first + 11):
        draw = np.random.default_rng(seed)
        x, y = (hu.convert(draw.uniform(0.5, 1, 64), "f32") for _ in range(2))
        found = hu.trace(module, x, y, shadow=True).worst(2)
        assert found[0].op == "arith.truncf", (seed, found)
        assert abs(found[0].effect_ulp) > 4 * abs(found[1].effect_ulp)


@pytest.mark.parametrize("first", range(200, 233, 11))
def test_a_planted_wrong_constant_is_first(monkeypatch: pytest.MonkeyPatch, first: int) -> None:
    """An exp that computes 2^(1.442 x): its constant has four digits."""

    def wrong(codes: Any) -> Outcome:
        x = codes.view(np.float32).astype(np.float64)
        return Outcome((np.exp2(1.442 * x).astype(np.float32).view(np.uint32),))

    kernel_of = FunctionCompiler.kernel

    def kernel(self: Any, op: Any, evaluator: Any) -> Any:
        found = kernel_of(self, op, evaluator)
        return replace(found, array=wrong) if op.name == "math.exp" else found

    monkeypatch.setattr(FunctionCompiler, "kernel", kernel)
    for seed in range(first, first + 11):
        draw = np.random.default_rng(seed)
        lines, count = chain(draw)
        at = int(draw.integers(0, count))
        made = f"%{at + 2}"
        lines[at + 1 :] = [text.replace(f" {made},", " %w,") for text in lines[at + 1 :]]
        lines[at + 1 : at + 1] = [f"  %v = arith.mulf {made}, %0 : f32", "  %w = math.exp %v : f32"]
        last = "%w" if at == count - 1 else f"%{count + 1}"
        found = hu.trace(program(lines, last), *arguments(draw), shadow=True).worst(2)
        if not isfinite(found[0].effect_ulp) or abs(found[0].effect_ulp) < 100:
            continue
        assert found[0].op == "math.exp", (seed, found)
        assert abs(found[0].effect_ulp) > 4 * abs(found[1].effect_ulp)


# --- the report -------------------------------------------------------------------------------------------------------

DOTS = """func.func @f(%x: tensor<4x8xf32>, %y: tensor<8x4xf32>) -> tensor<4x4xf32> {
  %c = arith.constant dense<0.0> : tensor<4x4xf32>
  %0 = linalg.matmul ins(%x, %y : tensor<4x8xf32>, tensor<8x4xf32>) outs(%c : tensor<4x4xf32>) -> tensor<4x4xf32>
  return %0 : tensor<4x4xf32>
}"""


def test_parts_of_a_story_add_up() -> None:
    draw = np.random.default_rng(1)
    x, y = (draw.uniform(-1, 1, shape).astype(np.float32) for shape in ((4, 8), (8, 4)))
    trace = hu.trace(DOTS, x, y, shadow=True)
    assert trace.errors is not None
    (found,) = trace.errors.results
    assert found.element is not None
    row, column = found.element
    exact = sum(
        (Fraction(float(a)) * Fraction(float(b)) for a, b in zip(x[row], y[:, column], strict=True)), Fraction(0)
    )
    assert found.exact == float(exact)
    assert sum(one.effect_ulp for one in trace.worst(99)) == pytest.approx(found.ulp, rel=1e-9)
    for step in trace.explain_error(0, found.element):
        assert step.own + sum(brings for _, brings in step.operands) == pytest.approx(step.brings, rel=1e-6, abs=1e-9)
        assert step.line == 3
        assert "of %0 = linalg.matmul" in step.source


def test_memory_has_errors() -> None:
    text = """func.func @f(%m: memref<2xf32>) {
      %c0 = arith.constant 0 : index
      %0 = memref.load %m[%c0] : memref<2xf32>
      %1 = arith.divf %0, %0 : f32
      %2 = arith.mulf %0, %0 : f32
      memref.store %2, %m[%c0] : memref<2xf32>
      return
    }"""
    buffer = hu.Buffer.from_numpy(np.array([0.1, 0.2], np.float32))
    trace = hu.trace(text, buffer, shadow=True)
    assert trace.errors is not None
    (found,) = trace.errors.results
    assert (found.name, found.element) == ("argument[0]", (0,))
    assert found.exact == float(Fraction(float(np.float32(0.1))) ** 2)
    assert buffer.load().open is None
    assert trace.worst(1)[0].op == "arith.mulf"
    # The history is that of the first run, though memory holds something else now.
    assert trace.explain_error("argument[0]")[0].value == found.value


def test_wide_formats_by_their_history() -> None:
    text = "func.func @f(%x: f128, %y: f128) -> f128 { %0 = arith.divf %x, %y : f128 return %0 : f128 }"
    trace = hu.trace(text, hu.convert(1.0, "f128"), hu.convert(3.0, "f128"), shadow=True)
    assert trace.errors is not None
    (found,) = trace.errors.results
    assert found.ulp == pytest.approx(-1 / 3)  # 1/3 is 0.0101...01 01 in binary: what is cut is a third of an ulp
    assert found.unknown == 0
    (op,) = trace.worst()
    assert (op.own_ulp, op.share) == (pytest.approx(1 / 3), 1)
    assert np.isnan(op.total_ulp)  # beside the number itself there is no shadow


def test_what_is_unknown_is_not_zero() -> None:
    text = "func.func @f(%x: f32, %y: f32) -> f32 { %0 = arith.divf %x, %y : f32 return %0 : f32 }"
    trace = hu.trace(text, np.float32(1), np.float32(0), shadow=True)
    (op,) = trace.worst()
    assert all(map(np.isnan, (op.own_ulp, op.total_ulp, op.relative)))
    assert op.unknown == 1


def test_what_cannot_be_asked() -> None:
    text = """func.func @f(%x: tensor<2xf32>) -> tensor<2xf32> {
      %c = arith.constant dense<1> : tensor<2xi32>
      %0 = arith.mulf %x, %x : tensor<2xf32>
      %1 = arith.mulf %0, %x : tensor<2xf32>
      %2 = arith.bitcast %1 : tensor<2xf32> to tensor<2xi32>
      %3 = arith.addi %2, %c : tensor<2xi32>
      %4 = arith.bitcast %3 : tensor<2xi32> to tensor<2xf32>
      return %4 : tensor<2xf32>
    }"""
    x = np.full(2, 0.1, np.float32)
    with pytest.raises(ValueError, match="shadow=True"):
        hu.trace(text, x).worst()
    trace = hu.trace(text, x, shadow=True)
    with pytest.raises(hu.Unsupported, match="the exact number of .* is not known"):
        trace.explain_error()
    with pytest.raises(hu.errors.InputError, match=r"no float result result\[1\]"):
        trace.explain_error(1)
    with pytest.raises(hu.errors.InputError, match=r"no element \[5\]"):
        trace.explain_error(0, (5,))


def test_results_carry_no_marks() -> None:
    trace = hu.trace(DOTS, np.ones((4, 8), np.float32), np.ones((8, 4), np.float32), shadow=True)
    assert trace.results[0].open is None
    assert trace.errors is not None
    assert trace.errors.results[0].ulp == 0
    assert "error of result[0]: tensor<4x4xf32>: exact" in str(trace)


def test_a_run_that_stops_keeps_its_figures() -> None:
    text = """func.func @f(%x: f32, %n: i32) -> f32 {
      %0 = arith.mulf %x, %x : f32
      %1 = arith.divsi %n, %n : i32
      return %0 : f32
    }"""
    trace = hu.trace(text, np.float32(0.1), np.int32(0), shadow=True)
    assert isinstance(trace.error, hu.UndefinedBehavior)
    assert trace.errors is not None
    assert trace.errors.results == ()
    assert [one.op for one in trace.worst()] == ["arith.mulf"]


# --- the picture ------------------------------------------------------------------------------------------------------


def test_the_timeline_draws_each_step_with_an_error() -> None:
    trace = hu.trace(MULLER, 12, shadow=True)
    drawing = timeline(trace.steps)
    root = ElementTree.fromstring(drawing)
    marks = [node for node in root.iter() if node.get("data-jump")]
    wrong = [step for step in trace.steps if step.errors is not None]
    assert [int(node.get("data-jump", 0)) for node in marks] == [step.number for step in wrong]
    for node, step in zip(marks, wrong, strict=True):
        assert step.errors is not None
        circles = [child for child in node if child.tag.endswith("circle")]
        assert len(circles) == (step.errors.total.size > 0)
    # The error of the recurrence grows: the last point stands higher than the first.
    heights = [float(child.get("cy", 0)) for node in marks for child in node if child.tag.endswith("circle")]
    assert heights[-1] < heights[0]


@pytest.mark.long
def test_the_timeline_of_a_long_run_stays_small() -> None:
    trace = hu.trace(MULLER, 1000, shadow=True)
    root = ElementTree.fromstring(timeline(trace.steps))
    assert 200 < sum(node.get("data-jump") is not None for node in root.iter()) <= 330


def test_the_picture_is_kept_in_a_file(tmp_path: Path) -> None:
    picture = hu.trace(MULLER, 12, shadow=True).timeline()
    picture.save(tmp_path / "errors.svg")
    assert (tmp_path / "errors.svg").read_text(encoding="utf-8") == picture.svg == picture._repr_svg_()
    with pytest.raises(hu.errors.InputError):
        picture.save(tmp_path / "nowhere" / "errors.svg")
    with pytest.raises(ValueError, match="no shadows"):
        hu.trace(MULLER, 2).timeline()


def test_a_run_without_errors_has_no_picture() -> None:
    trace = hu.trace("func.func @f(%x: f32) -> f32 { %0 = arith.addf %x, %x : f32 return %0 : f32 }", 1.0, shadow=True)
    assert timeline(trace.steps) == ""
    assert "<svg" not in trace.html()
    assert "error of result[0]: f32: exact" in trace.html()
    assert "<details" not in hu.trace(MULLER, 2).html().partition("<script")[0]


def test_the_picture_shows_text_of_the_program_as_text() -> None:
    text = MULLER.replace("arith.divf %c1500, %p : f64", "arith.divf %c1500, %p : f64 // </title><script>")
    trace = hu.trace(text, 3, shadow=True)
    assert "<script>" not in timeline(trace.steps)
    ElementTree.fromstring(timeline(trace.steps))


# --- ops that compute with ops of their own ---------------------------------------------------------------------------

CONTRACT = """func.func @f(%a: vector<4x4xf16>, %b: vector<4x4xf16>, %c: vector<4x4xf32>) -> vector<4x4xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c5 = arith.constant 5 : index
  %r = scf.for %i = %c0 to %c5 step %c1 iter_args(%x = %c) -> (vector<4x4xf32>) {
    %0 = vector.contract {indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>,
      affine_map<(m, n, k) -> (m, n)>], iterator_types = ["parallel", "parallel", "reduction"],
      kind = #vector.kind<add>} %a, %b, %x : vector<4x4xf16>, vector<4x4xf16> into vector<4x4xf32>
    scf.yield %0 : vector<4x4xf32>
  }
  return %r : vector<4x4xf32>
}"""
OUTER_PRODUCT = """func.func @f(%a: vector<4xf16>, %b: vector<4xf16>, %c: vector<4x4xf16>) -> vector<4x4xf16> {
  %s = vector.reduction <add>, %a : vector<4xf16> into f16
  %v = vector.broadcast %s : f16 to vector<4xf16>
  %r = vector.outerproduct %v, %b, %c {kind = #vector.kind<add>} : vector<4xf16>, vector<4xf16>
  return %r : vector<4x4xf16>
}"""
SOFTMAX_OP = """func.func @f(%x: tensor<2x4xf16>) -> tensor<2x4xf16> {
  %e = tensor.empty() : tensor<2x4xf16>
  %0 = linalg.softmax dimension(1) ins(%x : tensor<2x4xf16>) outs(%e : tensor<2x4xf16>) -> tensor<2x4xf16>
  return %0 : tensor<2x4xf16>
}"""
ATOMIC = """func.func @f(%a: memref<8xf16>, %m: memref<1xf16>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  scf.for %i = %c0 to %c8 step %c1 {
    %x = memref.load %a[%i] : memref<8xf16>
    %0 = memref.atomic_rmw addf %x, %m[%c0] : (f16, memref<1xf16>) -> f16
  }
  return
}"""


@each_row(
    (CONTRACT, [(4, 4), (4, 4), (4, 4, "f32")], 6),
    (OUTER_PRODUCT, [(4,), (4,), (4, 4)], 2),
    (SOFTMAX_OP, [(2, 4)], 3),
    (ATOMIC, [(8,), (1,)], 7),
)
def test_shares_of_ops_that_others_compute_with_add_up(text: str, shapes: list[Any], line: int) -> None:
    draw = np.random.default_rng(1)
    given = [hu.convert(draw.normal(size=each[:2] if each[-1] == "f32" else each), "f32" if each[-1] == "f32" else "f16")
             for each in shapes]  # fmt: skip
    trace = hu.trace(text, *given, shadow=True, n=10)
    report = trace.errors
    assert report is not None
    assert report.largest is not None
    ops = report.worst()
    assert report.largest.ulp != 0
    assert sum(one.effect_ulp for one in ops) == pytest.approx(report.largest.ulp, rel=1e-12)
    assert ops[0].line == line
    assert len({(one.op, one.line) for one in ops}) == len(ops)


def test_integers_bring_no_error() -> None:
    """6 * 6 / 7 is cut to 5, as in this run; then 5 * 1.1 is rounded."""
    text = """func.func @f(%x: f32, %i: i32) -> f32 {
      %c = arith.constant 7.0 : f32
      %0 = arith.muli %i, %i : i32
      %1 = arith.sitofp %0 : i32 to f32
      %2 = arith.divf %1, %c : f32
      %3 = arith.fptosi %2 : f32 to i32
      %4 = arith.sitofp %3 : i32 to f32
      %5 = arith.mulf %4, %x : f32
      return %5 : f32
    }"""
    x = np.float32(1.1)
    trace = hu.trace(text, x, np.int32(6), shadow=True)
    (worst, *others) = trace.worst(5)
    error = Fraction(float(np.float32(5) * x)) - 5 * Fraction(float(x))
    assert (worst.op, worst.effect_ulp, worst.share) == ("arith.mulf", float(error * 2**21), 1)
    assert not any(one.effect_ulp for one in others)
    assert [(step.op, step.brings, step.own) for step in trace.explain_error()] == [
        ("arith.mulf", worst.effect_ulp, worst.effect_ulp)
    ]


def test_the_way_back_of_a_nan_ends_where_finite_numbers_overflowed() -> None:
    """exp(12) is 162754.79, more than f16 holds; inf / inf is NaN, and the exact quotient 1 / (1 + e^-3 + e^-4)."""
    text = """func.func @f(%x: f16, %y: f16, %z: f16) -> f16 {
      %0 = math.exp %x : f16
      %1 = math.exp %y : f16
      %2 = math.exp %z : f16
      %3 = arith.addf %1, %2 : f16
      %4 = arith.addf %3, %0 : f16
      %5 = arith.divf %0, %4 : f16
      return %5 : f16
    }"""
    trace = hu.trace(text, np.float16(12), np.float16(9), np.float16(8), shadow=True)
    steps = trace.explain_error()
    assert [(step.op, step.line) for step in steps] == [("arith.divf", 7), ("math.exp", 2)]
    assert [step.exact for step in steps] == pytest.approx([1 / (1 + exp(-3) + exp(-4)), exp(12)], rel=1e-14)
    assert [[name for name, _ in step.operands] for step in steps] == [["%0", "%4"], []]
    # A finite number that an infinity made wrong: 1 / inf.
    text = text.replace("%5 = arith.divf %0, %4", "%5 = arith.divf %1, %4")
    steps = hu.trace(text, np.float16(12), np.float16(9), np.float16(8), shadow=True).explain_error()
    assert [(step.op, step.line) for step in steps] == [("arith.divf", 7), ("arith.addf", 6), ("math.exp", 2)]


def test_the_way_back_of_what_is_infinite_from_the_start() -> None:
    text = "func.func @f(%x: f32) -> f32 { %0 = arith.addf %x, %x : f32 return %0 : f32 }"
    (step,) = hu.trace(text, np.float32(np.inf), shadow=True).explain_error()
    assert (step.value, step.exact, [name for name, _ in step.operands]) == (np.inf, np.inf, ["%x", "%x"])


def test_a_run_too_long_for_a_ranking_keeps_its_errors(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(attribution, "MOST_NUMBERS", 5)
    _, report = beside(SUM, 10)
    assert f"no ranking of ops: the history of this number has more than {5} numbers" in str(report)
    assert str(report).startswith("error of result[0]: f32: error ")
    found = report.as_json()
    assert (found["results"][0]["ulp"], found["ops"][0]["effect_ulp"]) == (report.results[0].ulp, None)
    with pytest.raises(hu.errors.LimitExceeded):
        report.worst()


def test_a_flushed_sum_is_no_cancellation() -> None:
    """The difference of two numbers near the least normal one is subnormal, and becomes 0: nothing else is said."""
    t = "tensor<2xf32>"
    text = f"func.func @f(%x: {t}, %y: {t}) -> {t} {{ %0 = arith.subf %x, %y : {t} return %0 : {t} }}"
    profile = hu.Profile(base="spec", denormals="flush_results")
    least = np.float32(2.0**-126)
    for x, y in (([1.5, 0.0], [1.0, 0.5]), ([1.5, 1.0], [1.0, 1.0])):
        trace = hu.trace(
            text, np.array(x, np.float32) * least, np.array(y, np.float32) * least, shadow=True, profile=profile
        )
        (op,) = trace.worst()
        flushed = sum(a != b for a, b in zip(x, y, strict=True))
        assert (op.flushed, op.absorbed, op.relative) == (flushed, 0, 1.0)  # all of the exact number is lost
        # Only two equal numbers cancel: all 24 bits.
        assert op.cancelled == (24 if 1.0 in x else 0)
    scalars = text.replace(t, "f32")
    trace = hu.trace(scalars, np.float32(1.5) * least, least, shadow=True, profile=profile)
    (op,) = trace.worst()
    assert (op.flushed, op.absorbed, op.cancelled, op.relative) == (1, 0, 0, 1.0)


def test_stories_have_no_negative_zeros_and_name_all_values() -> None:
    text = """func.func @f(%x: tensor<1x3xf32>, %y: tensor<3x1xf32>) -> tensor<1x1xf32> {
      %z = arith.constant dense<0.0> : tensor<1x1xf32>
      %0 = linalg.matmul ins(%x, %y : tensor<1x3xf32>, tensor<3x1xf32>) outs(%z : tensor<1x1xf32>) -> tensor<1x1xf32>
      return %0 : tensor<1x1xf32> }"""
    given = [np.array(each, np.float32) for each in ([[0.1, 0.2, 0.5]], [[0.3], [0.4], [0.5]])]
    trace = hu.trace(text, *given, shadow=True)
    story = trace.explain_error()
    parts = [(step.brings, step.own, *(brings for _, brings in step.operands)) for step in story]
    assert not any(np.signbit(part) and part == 0 for step in parts for part in step)
    assert any(part == 0 for step in parts for part in step)
    # The products are no values of the text: their op is named.
    assert [name for name, _ in story[0].operands] == ["%arg2", "arith.mulf"]


# --- flag report ------------------------------------------------------------------------------------------------------
#
# The exception flags of programs against those of single ops and of exact arithmetic.

F16 = FORMATS["f16"]

CHAIN = """func.func @f(%x: tensor<5xf16>, %y: tensor<5xf16>) -> tensor<5xf16> {
  %0 = arith.mulf %x, %y : tensor<5xf16>
  %1 = arith.divf %0, %y : tensor<5xf16>
  %2 = math.sqrt %1 : tensor<5xf16>
  %3 = arith.addf %x, %y fastmath<nnan> : tensor<5xf16>
  %4 = arith.subf %3, %3 : tensor<5xf16>
  return %2 : tensor<5xf16>
}
"""


def test_each_op_raises_what_it_raises_alone() -> None:
    x = np.array([1.1, 300.0, 0.0, 2.0**-20, np.nan], np.float16)
    y = np.array([1.3, 301.0, 0.0, 2.0**-20, 1.0], np.float16)
    report = hu.exception_flags(CHAIN, x, y)
    product, first = hu.eval("arith.mulf", x, y, flags=True)
    quotient, second = hu.eval("arith.divf", product, y, flags=True)
    root, third = hu.eval("math.sqrt", quotient, flags=True)
    assert report.results == (root,)
    expected = [first, second, third]
    for op, flags in zip(report.ops, expected, strict=False):
        assert op.elements == 5
        counts = {str(flag.name).lower().replace("_", " "): int((flags & flag != 0).sum()) for flag in Flags}
        assert op.counts == counts, op.op
        assert op.flags == Flags(int(np.bitwise_or.reduce(flags)))
    assert [op.line for op in report.ops] == [2, 3, 4, 5, 6]
    # The sum with a NaN is poison under nnan, and a poison operand raises nothing.
    assert not report.ops[4].flags
    assert report.flags == Flags.INEXACT | Flags.UNDERFLOW | Flags.OVERFLOW | Flags.INVALID
    assert report.unknown == ()


@pytest.mark.long
@pytest.mark.parametrize("name", thinned(["f8E4M3FN", "bf16", "f32", "f64", "f80", "f128"], 4))
def test_single_numbers_raise_what_elements_raise(name: str) -> None:
    """A scalar run asks the scalar implementations of the kernels, a tensor of one element the arrays."""
    scalars = f"""func.func @f(%x: {name}, %y: {name}) -> i1 {{
  %0 = arith.addf %x, %y fastmath<ninf> : {name}
  %1 = arith.divf %x, %0 : {name}
  %2 = math.fma %0, %1, %y : {name}
  %3 = math.sqrt %2 : {name}
  %4 = arith.fptosi %3 : {name} to i8
  %5 = arith.sitofp %4 : i8 to {name}
  %6 = arith.cmpf olt, %5, %x : {name}
  return %6 : i1
}}
"""
    elements = scalars.replace(name, f"tensor<1x{name}>").replace("i1", "tensor<1xi1>").replace("i8", "tensor<1xi8>")
    fmt = FORMATS[name]
    assert fmt.nan_code is not None
    codes = [fmt.max_code, 1, scalar.from_fraction(fmt, Fraction(1)).code, 0, fmt.nan_code]
    for x in codes:
        for y in codes:
            one = hu.exception_flags(scalars, *(hu.Value.from_bits(code, name) for code in (x, y)))
            array = hu.exception_flags(elements, *(hu.Value.from_bits([code], f"tensor<1x{name}>") for code in (x, y)))
            assert [(op.elements, op.counts) for op in one.ops] == [(op.elements, op.counts) for op in array.ops]
            assert one.flags == array.flags


def test_steps_of_a_reduction() -> None:
    """The flags of the sum 1 + 2**-11 + 65504 + 65504, each step rounded, by exact arithmetic."""
    numbers = [1.0, 2.0**-11, 65504.0, 65504.0]
    program = """func.func @f(%x: tensor<4xf16>, %s: tensor<f16>) -> tensor<f16> {
  %0 = linalg.reduce ins(%x : tensor<4xf16>) outs(%s : tensor<f16>) dimensions = [0] (%a: f16, %b: f16) {
    %1 = arith.addf %a, %b : f16
    linalg.yield %1 : f16
  }
  return %0 : tensor<f16>
}
"""
    report = hu.exception_flags(program, np.array(numbers, np.float16), np.float16(0))
    total, counts = Fraction(0), {"inexact": 0, "overflow": 0}
    for number in numbers:
        rounded = scalar.from_fraction(F16, total + Fraction(number))
        counts["inexact"] += bool(rounded.flags & Flags.INEXACT)
        counts["overflow"] += bool(rounded.flags & Flags.OVERFLOW)
        value = scalar.value(F16, rounded.code)
        if value is None:
            break
        total = value
    (op,) = report.ops
    assert (op.elements, op.counts["inexact"], op.counts["overflow"]) == (4, counts["inexact"], counts["overflow"])
    assert counts == {"inexact": 3, "overflow": 1}
    assert report.flags == Flags.INEXACT | Flags.OVERFLOW


def test_a_long_sum_counts_each_of_its_steps() -> None:
    """Long folds are recorded in blocks of steps."""
    program = """func.func @f(%x: tensor<500xf16>, %s: tensor<f16>) -> tensor<f16> {
  %0 = linalg.reduce ins(%x : tensor<500xf16>) outs(%s : tensor<f16>) dimensions = [0] (%a: f16, %b: f16) {
    %1 = arith.addf %a, %b : f16
    linalg.yield %1 : f16
  }
  return %0 : tensor<f16>
}
"""
    x = np.random.default_rng(3).normal(0, 3, 500).astype(np.float16)
    report = hu.exception_flags(program, x, np.float16(0))
    code, inexact = 0, 0
    for each in x.view(np.uint16).tolist():
        step = scalar.add(F16, code, each)
        code, inexact = step.code, inexact + bool(step.flags & Flags.INEXACT)
    (op,) = report.ops
    assert (op.elements, op.counts["inexact"], op.flags) == (500, inexact, Flags.INEXACT)
    assert int(report.results[0].bits) == code
    assert 0 < inexact < 500


def test_flags_in_loops_and_memory() -> None:
    program = """func.func @f(%m: memref<3xf32>, %n: index) -> f32 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f32
  %s = scf.for %i = %c0 to %n step %c1 iter_args(%t = %zero) -> f32 {
    %v = memref.load %m[%i] : memref<3xf32>
    %u = arith.addf %t, %v : f32
    memref.store %u, %m[%i] : memref<3xf32>
    scf.yield %u : f32
  }
  return %s : f32
}
"""
    memory = hu.Buffer.from_numpy(np.array([1.0, 2.0**-30, 0.5], np.float32), "memref<3xf32>")
    report = hu.exception_flags(program, memory, 3)
    (op,) = report.ops
    assert (op.elements, op.counts["inexact"]) == (3, 1)
    assert memory.numpy().tolist() == [1.0, 1.0, 1.5]
    assert "flags: inexact" in str(report)
    assert hu.run(program, memory, 3)[0].numpy() == 3.5  # its memory is as before


def test_a_conversion_out_of_range_is_invalid_though_its_result_is_poison() -> None:
    program = "func.func @f(%x: f32) -> i8 {\n  %0 = arith.fptosi %x : f32 to i8\n  return %0 : i8\n}\n"
    report = hu.exception_flags(program, np.float32(1e6))
    assert report.flags == Flags.INVALID
    assert report.results[0].poisoned
    assert hu.exception_flags(program, np.float32(1.5)).flags == Flags.INEXACT


def test_what_is_not_known_is_named() -> None:
    program = """func.func private @mine(f32) -> f32
func.func @f(%x: f32) -> f32 {
  %0 = call @mine(%x) : (f32) -> f32
  %1 = arith.addf %0, %0 : f32
  return %1 : f32
}
"""
    report = hu.exception_flags(program, np.float32(0.1), function="f", externals={"mine": lambda x: x})
    assert "mine" in " ".join(report.unknown)
    assert "not known: the flags of" in str(report)
    with pytest.raises(hu.Unsupported, match="a batch does not report exception flags"):
        hu.exception_flags(CHAIN, np.zeros((2, 5), np.float16), np.zeros((2, 5), np.float16), batch=True)


# --- one measure ------------------------------------------------------------------------------------------------------

ROUNDED_DIFFERENCE = """func.func @f(%a: f32, %b: f32) -> bf16 {
  %0 = arith.truncf %a : f32 to bf16
  %1 = arith.truncf %b : f32 to bf16
  %2 = arith.subf %0, %1 : bf16
  return %2 : bf16
}"""


@pytest.mark.parametrize("shadow", [True, "f64", "f128"])
@pytest.mark.parametrize(
    ("a", "b"),
    [
        (1.0039, 0.99999),
        (1.0, 1.00390625),
        (3.0, 1.0078125),
        (1.00390625, 1.0),
        (1.001, 1.002),
        (2.0, 2**-9),
        (1.0, 0.3),
    ],
)
def test_an_error_counts_in_ulp_of_the_exact_number_everywhere(a: float, b: float, shadow: bool | str) -> None:
    """Also where the result is 0, and where one of the two numbers is a power of two."""
    a, b = float(np.float32(a)), float(np.float32(b))
    exact = Fraction(a) - Fraction(b)
    (value,) = hu.run(ROUNDED_DIFFERENCE, np.float32(a), np.float32(b))
    want = (Fraction(float(value)) - exact) / ulp_at(FORMATS["bf16"], exact)
    trace = hu.trace(ROUNDED_DIFFERENCE, np.float32(a), np.float32(b), shadow=shadow)
    assert trace.errors is not None
    (result,) = trace.errors.results
    # The plain shadows have less than the last bits of their tag.
    close: dict[str, Any] = {} if shadow is True else {"rel": 2.0**-45}
    assert (result.ulp, result.error) == pytest.approx((float(want), float(Fraction(float(value)) - exact)), **close)
    assert result.ulp == pytest.approx(hu.error(value, reference=exact).ulp, **close)
    assert result.relative == pytest.approx(float(abs(Fraction(float(value)) - exact) / abs(exact)), **close)
    assert trace.errors.ops[-1].total_ulp == pytest.approx(abs(result.ulp), **close)
    if shadow is True and result.ulp:
        assert hu.program_accuracy(ROUNDED_DIFFERENCE, np.float32(a), np.float32(b)).runs[0].max_ulp == abs(result.ulp)
        assert sum(op.effect_ulp for op in trace.worst()) == pytest.approx(result.ulp, rel=1e-12)


@pytest.mark.parametrize("shadow", [True, "f64", "f128"])
def test_rankings_do_not_chase_zeros(shadow: bool | str) -> None:
    """An ulp of 0 is the least subnormal number: one rounding error there would count 2**100 times as much."""
    t = "tensor<4xf32>"
    text = f"""func.func @f(%x: {t}, %y: {t}, %z: {t}) -> {t} {{
      %0 = arith.addf %x, %y : {t}
      %1 = arith.subf %0, %x : {t}
      %2 = arith.subf %1, %z : {t}
      return %2 : {t}
    }}"""
    x, y = np.array([1, 1, 1, 64], np.float32), np.array([0.1, 0.2, 0.3, 0.7], np.float32)
    z = np.array([0, 0.2, 0, 0], np.float32)
    trace = hu.trace(text, x, y, z, shadow=shadow)
    assert trace.errors is not None
    zero = trace.errors.error_of(0, (1,))
    assert (abs(zero.exact) < 1e-20, abs(zero.error) > 1e-9, abs(zero.ulp) > 1e12) == (True, True, True)
    (result,) = trace.errors.results
    # The error of 64 + 0.7 is the largest, also beside that of the number which should be 0.
    assert result.element == (3,)


def test_an_error_of_a_zero_is_not_hidden() -> None:
    """It counts in ulp of the largest number of the result."""
    t = "tensor<2xf16>"
    text = f"""func.func @f(%x: {t}, %y: {t}) -> {t} {{
      %0 = arith.divf %x, %y : {t}
      %1 = arith.mulf %0, %y : {t}
      %2 = arith.subf %1, %x : {t}
      %s = arith.constant dense<[1.0, 1000.0]> : {t}
      %c = arith.constant dense<[0.1, 0.0]> : {t}
      %3 = arith.mulf %2, %s : {t}
      %4 = arith.addf %3, %c : {t}
      return %4 : {t}
    }}"""
    trace = hu.trace(text, np.array([1, 1], np.float16), np.array([1, 11], np.float16), shadow=True)
    assert trace.errors is not None
    (result,) = trace.errors.results
    assert (result.element, result.exact) == ((1,), 0.0)
    assert abs(result.value) > 0.4


def test_an_error_beyond_the_largest_number_counts_in_its_last_ulp() -> None:
    profile = hu.Profile(base="spec", conversion_overflow="saturate")
    text = "func.func @f(%x: f32) -> f8E4M3FN { %0 = arith.truncf %x : f32 to f8E4M3FN return %0 : f8E4M3FN }"
    errors = hu.trace(text, 1000.0, shadow=True, profile=profile).errors
    assert errors is not None
    (result,) = errors.results
    assert (result.value, result.ulp) == (448.0, (448 - 1000) / 32)


# --- what is no number comes first ------------------------------------------------------------------------------------

SPECIAL = """func.func @f(%x: {t}, %y: {t}) -> {t} {{
  %0 = math.exp %x : {t}
  %1 = arith.mulf %0, %y : {t}
  %2 = arith.{op} : {t}
  return %2 : {t}
}}"""


@pytest.mark.parametrize("shadow", [True, "f64", "f128"])
@pytest.mark.parametrize(
    ("op", "x", "y", "said"),
    [
        ("divf %1, %0", [1, 2, 12, -3], [0.1, 0.2, 0.3, 0.4], "[2] is NaN; largest error "),
        ("divf %1, %0", [12, 2, 12, -3], [0.1, 0.2, 0.3, 0.4], "2 elements are NaN, the first [0]; largest error "),
        ("mulf %1, %y", [1, 2, 12, 3], [1, 0.1, 0.2, 0.3], "[2] is infinite; largest error "),
        ("mulf %1, %y", [1, 2, 12, 3], [1, np.nan, 0.2, 0.3], "[1] is NaN; [2] is infinite; largest error "),
        ("mulf %1, %y fastmath<nnan>", [1, 2, 3, 4], [1, np.nan, 0.2, 0.3], "[1] is poison; largest error "),
        ("subf %1, %1", [12, 0, 12, 0], [1, 1, 1, 1], "2 elements are NaN, the first [0]; "),
    ],
)
def test_what_is_no_number_is_said_first(
    op: str, x: list[float], y: list[float], said: str, shadow: bool | str
) -> None:
    t = "tensor<4xf16>"
    trace = hu.trace(SPECIAL.format(t=t, op=op), np.array(x, np.float16), np.array(y, np.float16), shadow=shadow)
    beside = "" if shadow is True else f", beside {shadow}"
    first = str(trace.errors).splitlines()[0]
    assert first.startswith(f"error of result[0]{beside}: {t}: {said}")
    if any(each == 12 for each in x):
        assert "overflowed" in str(trace.errors).splitlines()[1]


@pytest.mark.parametrize(("x", "said"), [(12.0, "is infinite; "), (np.nan, "is NaN; ")])
def test_a_scalar_that_is_no_number_is_said_first(x: float, said: str) -> None:
    text = "func.func @f(%x: f16) -> f16 { %0 = arith.subf %x, %x : f16 %1 = math.exp %x : f16 %2 = arith.addf %0, %1 : f16 return %2 : f16 }"
    errors = hu.trace(text, np.float16(x), shadow="f64").errors
    assert errors is not None
    assert str(errors).startswith(f"error of result[0], beside f64: f16: {said}nothing is known of the exact number")
    assert errors.results[0].special == ((said.split()[1].strip(";"), 1, ()),)


def test_an_element_that_overflowed_to_the_largest_number_is_said_first() -> None:
    profile = hu.Profile(base="spec", conversion_overflow="saturate")
    t, s = "tensor<2x2xf32>", "tensor<2x2xf8E4M3FN>"
    text = f"func.func @f(%x: {t}) -> {s} {{ %0 = arith.truncf %x : {t} to {s} return %0 : {s} }}"
    x = np.array([[1.3, 460], [448, -1000]], np.float32)
    errors = hu.trace(text, x, shadow=True, profile=profile).errors
    assert str(errors).startswith(f"error of result[0]: {s}: [1, 1] overflowed; largest error 17.2 ulp at [1, 1]")
    assert "1 element overflowed" in str(errors).splitlines()[1]


def test_an_infinity_that_is_exact_is_no_error() -> None:
    text = "func.func @f(%x: tensor<2xf32>) -> tensor<2xf32> { %0 = arith.addf %x, %x : tensor<2xf32> return %0 : tensor<2xf32> }"
    errors = hu.trace(text, np.array([-np.inf, 1], np.float32), shadow=True).errors
    assert errors is not None
    (result,) = errors.results
    assert (result.special, result.ulp, result.unknown) == ((), 0, 0)


@pytest.mark.long
def test_the_ranking_of_a_long_history_is_quick_and_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """A layer of 100,000 products: they took a minute, and again for each call."""
    t = "tensor<32x100xf32>"
    text = f"""func.func @f(%a: tensor<32x32xf32>, %b: tensor<32x100xf32>) -> tensor<f32> {{
      %z = arith.constant dense<0.0> : {t}
      %0 = linalg.matmul ins(%a, %b : tensor<32x32xf32>, tensor<32x100xf32>) outs(%z : {t}) -> {t}
      %1 = math.exp %0 : {t}
      %s = arith.constant dense<0.0> : tensor<f32>
      %2 = linalg.reduce {{ arith.addf }} ins(%1 : {t}) outs(%s : tensor<f32>) dimensions = [0, 1]
      return %2 : tensor<f32>
    }}"""
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=(32, 32)).astype(np.float32), rng.normal(size=(32, 100)).astype(np.float32)
    trace = hu.trace(text, a, b, shadow=True)
    begun = perf_counter()
    found = trace.worst()
    assert perf_counter() - begun < 30  # one second, on a machine that does nothing else
    assert trace.errors is not None
    (result,) = trace.errors.results
    assert sum(op.effect_ulp for op in found) == pytest.approx(result.ulp, rel=1e-6)
    assert [step.op for step in trace.explain_error()][:2] == ["arith.addf", "math.exp"]
    monkeypatch.setattr(error_report, "_attributed", None)  # nothing is computed again
    assert trace.worst() == found
    assert "ops whose own errors make that of result[0]" in str(trace.errors)


SQUARES = """func.func @f(%x: tensor<2xf64>, %y: tensor<2xf32>, %z: tensor<2xf16>) -> (tensor<2xf64>, tensor<2xf32>, tensor<2xf16>) {
  %a = arith.mulf %x, %x : tensor<2xf64>
  %b = arith.mulf %y, %y : tensor<2xf32>
  %c = arith.mulf %z, %z : tensor<2xf16>
  return %a, %b, %c : tensor<2xf64>, tensor<2xf32>, tensor<2xf16>
}"""


@pytest.mark.parametrize("metric", ["ulp", "sqnr", "relative", "absolute"])
def test_the_metric_chooses_the_result_and_the_element(metric: Any) -> None:
    given: tuple[Any, ...] = (
        np.array([1 + 2.0**-27, 1.5], np.float64),  # 1 + 2^-26 + 2^-54: 0.25 ulp
        # 1 + 2^-11 + 2^-24: half an ulp, but one is large
        np.array([(1 + 2.0**-12) * 2**40, 1 + 2.0**-12], np.float32),
        np.array([1 + 2.0**-7, (1 + 2.0**-9) * 2**7], np.float16),  # 1 + 2^-6 + 2^-14: 2^-4 ulp, and 2^-8 ulp of 2^14
    )
    sizes = {}
    for line, (values, bits) in enumerate(zip(given, (52, 23, 10), strict=True), 2):
        exact = [Fraction(float(each)) ** 2 for each in values]
        ulps = [Fraction(2) ** (-bits + (0 if each < 2 else 14 if each < 2**20 else 80)) for each in exact]
        errors = [abs(each - round(each / ulp) * ulp) for each, ulp in zip(exact, ulps, strict=True)]
        noise = sum(each**2 for each in errors) / sum(each**2 for each in exact)
        for k, (error, ulp) in enumerate(zip(errors, ulps, strict=True)):
            key = {"ulp": error / ulp, "sqnr": noise, "relative": error / max(exact), "absolute": error}[metric]
            sizes[key, error] = line, f"result[{line - 2}]", (k,)
    line, name, element = sizes[max(sizes)]
    trace = hu.trace(SQUARES, *given, shadow=True)
    assert trace.errors is not None
    largest = trace.errors.largest_by(metric)
    assert largest is not None
    assert (largest.name, largest.element) == (name, element)
    assert trace.worst(1, metric=metric)[0].line == line
    with pytest.raises(hu.errors.InputError, match="metric is 'snr', but must be one of ulp, sqnr, relative"):
        trace.worst(metric="snr")  # type: ignore[arg-type]


# --- digits that are known --------------------------------------------------------------------------------------------


@each_row(
    (-0.00017314792256354207, 0.0013, "0 ± 0.0015"),
    (1.23456789, 0.002, "1.23 ± 0.0066"),
    (1.23456789, 1e-30, "1.2345678899999999"),
    (0.1, 0.0, "0.10000000000000001"),
    (1 / 3, 3e-16, "0.333333333333333"),
    (-1234.5, 40.0, "-1.2e+03 ± 75"),
    (0.0, 2e-20, "0 ± 2e-20"),
    (0.0, 0.0, "0"),
    (5e-324, 5e-324, "0 ± 9.9e-324"),
)
def test_no_digit_is_shown_that_is_not_known(number: float, radius: float, text: str) -> None:
    """The digits are those down to the place that a radius reaches, and the bound holds what they lack."""
    assert known_text(number, radius) == text
    shown, _, lacks = text.partition(" ± ")
    if lacks:
        assert abs(Fraction(number) - Fraction(shown)) + Fraction(radius) <= Fraction(lacks)


def test_an_error_that_is_less_than_its_radius_is_unknown() -> None:
    """The cosines of numbers of 10^36, of which f64 does not know the error to an integer; balls know it for one."""
    t = "tensor<3xf32>"
    text = f"""func.func @f(%x: {t}) -> {t} {{
      %0 = arith.mulf %x, %x : {t} %1 = math.exp %0 : {t} %2 = arith.mulf %1, %1 : {t} %3 = arith.mulf %2, %2 : {t}
      %4 = math.cos %3 : {t} return %4 : {t}
    }}"""
    errors = hu.trace(text, np.array([4.61, 4.62, 4.63], np.float32), shadow=True).errors
    assert errors is not None
    (result,) = errors.results
    assert (result.unknown, result.elements) == (2, 3)
    assert result.radius < 1e-15
    assert "; nothing is known of 2 elements" in str(errors)


# --- notebooks --------------------------------------------------------------------------------------------------------


def test_errors_rankings_and_modules_show_themselves() -> None:
    module = hu.load(
        """func.func @f(%a: f16, %b: f16) -> f16 {
  %q = arith.divf %a, %b : f16
  %s = arith.addf %q, %a : f16 // <b>
  return %s : f16
}
func.func private @other()"""
    )
    traced = hu.trace(module, np.float16(1), np.float16(3), function="f", shadow=True)
    errors = traced.errors
    assert errors is not None
    assert repr(errors) == str(errors)
    assert "error of result[0]" in errors._repr_html_()
    worst = traced.worst()
    assert isinstance(worst, list)
    head, *rows = str(worst).splitlines()
    assert head.split("  ")[0] == "ulp of it"
    assert all("arith." in row for row in rows)
    assert len(rows) == len(worst) == 2
    assert repr(worst) == str(worst)
    assert "&lt;b&gt;" in worst._repr_html_()
    assert "<b>" not in worst._repr_html_()
    assert str(traced.worst(0)) == ""
    assert repr(module) == "<Module <string>: @f, @other>"
    page = module._repr_html_()
    assert "&lt;Module &lt;string&gt;: @f, @other&gt;" in page
    assert "// &lt;b&gt;" in page
    long = hu.load("\n".join(f"func.func private @f{k}()" for k in range(300)))
    assert repr(long) == "<Module <string>: @f0, @f1, @f2, @f3, @f4, and 295 more>"
    assert "... 100 more lines" in long._repr_html_()
    assert repr(hu.load("")) == "<Module <string>: no functions>"
