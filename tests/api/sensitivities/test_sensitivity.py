"""hu.sensitivity: planted causes of errors are ranked first, with the errors that exact arithmetic gives."""

import json
import math
import random
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from amounts import amounts, thinned
from tree import ROOT

import halfulp as hu
from halfulp.interp.run.attribution import Attribution
from halfulp.measuring import metrics
from halfulp.sensitivities import reference

QUADRATIC = ROOT / "examples" / "quadratic.mlir"
SUM = """
func.func @sum(%n: index) -> f32 {
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


def in_ulp(number: Any, exact: Fraction, ulp: Fraction) -> float:
    return float(abs(Fraction(float(number)) - exact) / ulp)


# --- planted causes ---------------------------------------------------------------------------------------------------


def test_a_sum_of_tenths_gets_better_in_f64() -> None:
    found = hu.sensitivity(SUM, 1000)
    (row,) = found.rows
    total, wide = np.float32(0), np.float64(0)
    for _ in range(1000):
        total, wide = total + np.float32(0.1), wide + np.float64(np.float32(0.1))
    exact, ulp = 1000 * Fraction(float(np.float32(0.1))), Fraction(1, 1 << 17)  # of 100, in [64, 128)
    assert row.before == pytest.approx(in_ulp(total, exact, ulp))
    assert row.after == pytest.approx(in_ulp(np.float32(wide), exact, ulp))
    assert row.effect == row.after - row.before
    assert (row.op, row.line, row.was, row.to, row.result) == ("arith.addf", 8, "f32", "f64", "result[0]")
    assert row.moved == pytest.approx(float(abs(Fraction(float(total)) - Fraction(float(np.float32(wide)))) / ulp))
    assert row.advice == "accumulate arith.addf (line 8) in f64: error 125 ulp -> 0.195 ulp"
    assert found.best is row
    assert found.errors["result[0]"].ulp == row.before
    # What the row shows is what its program gives.
    (result,) = hu.run(row.program, 1000)
    assert result.item() == float(np.float32(wide))
    assert "iter_args(%arg2 = %0) -> (f64)" in row.program


@pytest.mark.long
def test_an_f16_accumulator_in_an_f32_program_is_ranked_first() -> None:
    text = """
    func.func @dot(%x: tensor<256xf32>, %y: tensor<256xf32>) -> f32 {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %n = arith.constant 256 : index
      %z = arith.constant 0.0 : f16
      %r = scf.for %i = %c0 to %n step %c1 iter_args(%s = %z) -> (f16) {
        %a = tensor.extract %x[%i] : tensor<256xf32>
        %b = tensor.extract %y[%i] : tensor<256xf32>
        %c = arith.mulf %a, %b : f32
        %d = arith.truncf %c : f32 to f16
        %t = arith.addf %s, %d : f16
        scf.yield %t : f16
      }
      %w = arith.extf %r : f16 to f32
      %m = math.sqrt %w : f32
      return %m : f32
    }"""
    for seed in range(3):
        x, y = np.random.default_rng(seed).uniform(0.5, 1, (2, 256)).astype(np.float32)
        found = hu.sensitivity(text, x, y)
        assert [(row.line, row.to) for row in found.rows[:2]] == [(12, "f32"), (12, "f64")]
        assert found.rows[0].advice.startswith("accumulate arith.addf (line 12) in f32: error ")
        assert found.rows[0].after < found.rows[0].before / 50
        total = np.float32(0)
        for term in x * y:
            total += np.float32(np.float16(term))
        # The whole way of the sum is in f32, also behind the loop.
        assert hu.run(found.rows[0].program, x, y)[0].item() == float(np.sqrt(total))


def planted_program(draw: random.Random) -> tuple[str, int, list[float]]:
    """Return a chain of sums and products of positive numbers in f32, of which one result is rounded to f16: the text,
    the line of that rounding, and the arguments.
    """
    lines, last = [], "%x"
    place = draw.randrange(12)
    for number in range(12):
        op, other = draw.choice(["arith.addf", "arith.mulf"]), draw.choice(["%x", "%y", last])
        lines.append(f"  %{number} = {op} {last}, {other} : f32")
        last = f"%{number}"
        if number == place:
            lines += [f"  %h = arith.truncf {last} : f32 to f16", "  %w = arith.extf %h : f16 to f32"]
            last = "%w"
    text = "\n".join(["func.func @f(%x: f32, %y: f32) -> f32 {", *lines, f"  return {last} : f32", "}"])
    return text, place + 3, [draw.uniform(0.7, 1.2), draw.uniform(0.7, 1.2)]


@pytest.mark.parametrize("count", amounts(4, 500, long=20))
def test_a_planted_rounding_to_f16_is_ranked_first(count: int) -> None:
    right = 0
    for seed in range(count):
        text, line, (x, y) = planted_program(random.Random(seed))
        first = hu.sensitivity(text, np.float32(x), np.float32(y), formats=["f64"]).rows[0]
        right += (first.line, first.op) == (line, "arith.truncf")
    assert right == count


def test_the_cause_of_cancellation_is_ranked_first() -> None:
    found = hu.sensitivity(QUADRATIC, 1.0, 1000.0, 1.0, formats=["f64"])
    first = found.rows[0]
    assert (first.line, first.op, first.result) == (11, "math.sqrt", "result[0]")
    root = math.isqrt((1000**2 - 4) << 200)  # 100 more bits
    exact = (Fraction(root, 1 << 100) - 1000) / 2
    ulp = Fraction(1, 1 << 33)  # of 0.001, in [2^-10, 2^-9)
    (value, _) = hu.run(QUADRATIC, 1.0, 1000.0, 1.0)
    assert first.before == pytest.approx(in_ulp(value.item(), exact, ulp))
    assert first.after < 0.5
    assert all(row.effect == 0 for row in found.rows[1:])


CAST_BEFORE_MATMUL = """func.func @f(%p: tensor<4x64xf32>, %v: tensor<64x8xbf16>) -> tensor<4x8xbf16> {
  %z = arith.constant 0.0 : bf16
  %e = tensor.empty() : tensor<4x8xbf16>
  %i = linalg.fill ins(%z : bf16) outs(%e : tensor<4x8xbf16>) -> tensor<4x8xbf16>
  %pb = arith.truncf %p : tensor<4x64xf32> to tensor<4x64xbf16>
  %o = linalg.matmul ins(%pb, %v : tensor<4x64xbf16>, tensor<64x8xbf16>) outs(%i : tensor<4x8xbf16>) -> tensor<4x8xbf16>
  return %o : tensor<4x8xbf16>
}"""


def test_a_cast_before_a_matmul_is_not_credited_with_the_accumulator() -> None:
    random, narrow = np.random.default_rng(0), ml_dtypes.bfloat16
    p, v = random.uniform(0.5, 1.5, (4, 64)).astype(np.float32), random.uniform(0.5, 1.5, (64, 8)).astype(narrow)
    found = hu.sensitivity(CAST_BEFORE_MATMUL, p, hu.Value.from_numpy(v), formats=["f32"])
    exact = p.astype(np.float64) @ v.astype(np.float64)

    def error_of_matmul(left: Any) -> float:
        total = np.zeros((4, 8))
        for k in range(64):
            product = np.multiply.outer(np.float64(left[:, k]), np.float64(v[k])).astype(narrow)
            total = (total + product.astype(np.float64)).astype(narrow).astype(np.float64)
        return float(np.max(np.abs((total - exact) / np.exp2(np.floor(np.log2(exact)) - 7))))

    rows = {row.op: row for row in found}
    assert found.rows[0].op == "linalg.matmul"
    assert rows["arith.truncf"].before == pytest.approx(error_of_matmul(p.astype(narrow)))
    assert rows["arith.truncf"].after == pytest.approx(error_of_matmul(p))
    assert rows["linalg.matmul"].after < 0.6


# --- many elements ----------------------------------------------------------------------------------------------------

CHAIN = """func.func @f(%x: tensor<{n}xf32>) -> tensor<{n}xf32> {{
  %c = arith.constant dense<0.7> : tensor<{n}xf32>
  %y0 = arith.truncf %x : tensor<{n}xf32> to tensor<{n}xbf16>
{steps}
  %w = arith.extf %y6 : tensor<{n}xbf16> to tensor<{n}xf32>
  %r = arith.subf %w, %c : tensor<{n}xf32>
  return %r : tensor<{n}xf32>
}}"""
STEP = """  %t{k} = math.tanh %y{k} : tensor<{n}xbf16>
  %p{k} = arith.mulf %t{k}, %y{k} : tensor<{n}xbf16>
  %n{k} = arith.negf %y{k} : tensor<{n}xbf16>
  %e{k} = math.exp %n{k} : tensor<{n}xbf16>
  %y{next} = arith.addf %p{k}, %e{k} : tensor<{n}xbf16>"""


def chain_of(n: int) -> str:
    return CHAIN.format(n=n, steps="\n".join(STEP.format(k=k, next=k + 1, n=n) for k in range(6)))


@pytest.mark.long
@pytest.mark.parametrize("n", [64, 200])
def test_the_largest_error_of_many_elements_is_found(n: int) -> None:
    x = np.linspace(-1, 1, n, dtype=np.float32)
    found = hu.sensitivity(chain_of(n), x, formats=["f32"])
    (result,) = hu.run(chain_of(n), x)
    y = x.astype(np.float64)
    for _ in range(6):
        y = np.tanh(y) * y + np.exp(-y)
    exact = y - np.float64(np.float32(0.7))  # right to 2^-49: the errors are of 2^-6
    errors = np.abs(result.numpy() - exact) / np.exp2(np.floor(np.log2(np.abs(exact))) - 23)
    assert found.unknown == 0
    assert found.errors["result[0]"].element == (int(errors.argmax()),)
    assert found.errors["result[0]"].ulp == pytest.approx(float(errors.max()), rel=2**-20)


def test_few_histories_are_read_of_many_numbers(monkeypatch: pytest.MonkeyPatch) -> None:
    read = 0

    def counted(*given: Any) -> Any:
        nonlocal read
        read += 1
        return Attribution(*given)

    monkeypatch.setattr(reference, "Attribution", counted)
    text = """func.func @f(%x: tensor<84x16xf32>, %y: tensor<16x108xf32>) -> tensor<84x108xf32> {
      %z = arith.constant 0.0 : f32
      %e = tensor.empty() : tensor<84x108xf32>
      %i = linalg.fill ins(%z : f32) outs(%e : tensor<84x108xf32>) -> tensor<84x108xf32>
      %o = linalg.matmul ins(%x, %y : tensor<84x16xf32>, tensor<16x108xf32>) outs(%i : tensor<84x108xf32>) -> tensor<84x108xf32>
      %r = math.exp %o : tensor<84x108xf32>
      return %r : tensor<84x108xf32>
    }"""
    random = np.random.default_rng(1)
    x, y = (random.normal(size=shape).astype(np.float32) for shape in ((84, 16), (16, 108)))
    found = hu.sensitivity(text, x, y, formats=["bf16", "f64"])
    assert found.elements == 9072
    assert found.unknown == 0
    assert read <= 8
    exact, (result,) = np.exp(x.astype(np.float64) @ y.astype(np.float64)), hu.run(text, x, y)
    errors = np.abs(result.numpy() - exact) / np.exp2(np.floor(np.log2(exact)) - 23)
    assert found.errors["result[0]"].ulp == pytest.approx(float(errors.max()), rel=2**-16)


@pytest.mark.long
def test_numbers_that_nobody_knows_closely_are_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reference, "_MOST_NUMBERS", 0)
    monkeypatch.setattr(reference, "_RELATIVELY_CLOSE", 0.0)
    monkeypatch.setattr(reference, "_CLOSE", 2.0**-60)
    found = hu.sensitivity(chain_of(8), np.linspace(-1, 1, 8, dtype=np.float32), formats=["f32"])
    (note,) = [each for each in found.notes if each.startswith("errors are known up to ")]
    assert note.endswith(" ulp: more digits need too long histories")


# --- metrics ----------------------------------------------------------------------------------------------------------


def by_metric(metric: str, result: Any, exact: Any) -> float:
    error = np.float64(result) - exact
    if metric == "sqnr":
        return float(10 * np.log10(np.sum(exact**2) / np.sum(error**2)))
    return float(np.abs(error).max() / (np.abs(exact).max() if metric == "relative" else 1))


@pytest.mark.long
@pytest.mark.parametrize("metric", thinned(["sqnr", "relative", "absolute"], 3))
def test_metrics(metric: Any) -> None:
    x = np.linspace(-1, 1, 33, dtype=np.float32)
    found = hu.sensitivity(chain_of(33), x, formats=["f32", "f8E4M3FN"], metric=metric)
    y = x.astype(np.float64)
    for _ in range(6):
        y = np.tanh(y) * y + np.exp(-y)
    exact = y - np.float64(np.float32(0.7))
    before = by_metric(metric, hu.run(chain_of(33), x)[0].numpy(), exact)
    for row in found.rows[:6]:
        assert row.before == pytest.approx(before, rel=1e-6)
        assert row.after == pytest.approx(by_metric(metric, hu.run(row.program, x)[0].numpy(), exact), rel=1e-6)
        gain = row.after > row.before if metric == "sqnr" else row.after < row.before
        assert (row.effect < 0) == gain
    assert [abs(row.effect) for row in found] == sorted((abs(row.effect) for row in found), reverse=True)
    best = found.best
    assert best is not None
    assert best.after == (max if metric == "sqnr" else min)(row.after for row in found)
    head = str(found).splitlines()[0]
    place = "" if metric == "sqnr" else " ["
    assert head.startswith("SQNR of result[0]: " if metric == "sqnr" else "error of result[0]: ")
    assert place in head
    assert best.advice in str(found)
    assert found.as_json()["metric"] == metric
    assert found.plot(dark=False).axes[0].get_xlabel() == metrics.MEASURES[metric].axis


def test_an_overflow_and_no_error_by_sqnr() -> None:
    text = """func.func @f(%x: f16) -> f16 {
      %y = arith.mulf %x, %x : f16
      %r = math.sqrt %y : f16
      return %r : f16
    }"""
    found = hu.sensitivity(text, np.float16(1000), formats=["f32"], metric="sqnr")
    assert (found.rows[0].before, found.rows[0].after, found.rows[0].effect) == (-math.inf, math.inf, -math.inf)
    assert found.rows[0].advice == "compute arith.mulf (line 2) in f32: SQNR -inf dB -> inf dB"


# --- other changes ----------------------------------------------------------------------------------------------------

TWO = """func.func @f(%a: f32, %b: f32) -> f32 {
  %0 = arith.addf %a, %b : f32
  %1 = math.absf %0 : f32
  %2 = math.sqrt %1 : f32
  %3 = arith.mulf %2, %2 : f32
  return %1 : f32
}"""


def test_modes_and_profiles_of_a_program_that_rounds_stochastically() -> None:
    # A register of ones that go round and round: the random bits are always the largest, so that nothing rounds away.
    options: Any = {"profile": "spec,program_rounding=stochastic", "random": "lfsr:width=16,taps=16,seed=0xFFFF"}
    given = np.float32(1), np.float32(2.0**-24 + 2.0**-30)
    modes = ["to_nearest_even", "toward_zero"]
    found = hu.sensitivity(TWO, *given, formats=(), modes=modes, profiles=["spec"], **options)
    rows = {(row.line, row.was, row.to): row for row in found.rows if row.sort == "rounding"}
    assert set(rows) == {(line, "stochastic", mode) for line in (2, 5) for mode in modes}
    # The sum is 2^-1 + 2^-7 ulp above 1: away from zero to nearest, and down with these bits.
    nearest = rows[2, "stochastic", "to_nearest_even"]
    assert (nearest.before, nearest.after) == (0.5 + 2.0**-7, 0.5 - 2.0**-7)
    (whole,) = [row for row in found.rows if row.sort == "profile"]
    assert (whole.was, whole.to, whole.after) == ("stochastic", "to_nearest_even", 0.5 - 2.0**-7)
    assert any("new random bits" in note for note in found.notes)


def test_rounding_modes() -> None:
    found = hu.sensitivity(TWO, np.float32(1), np.float32(2.0**-30), formats=(), modes=["up", "downward"])
    up, *rest = found.rows
    assert (up.sort, up.line, up.was, up.to) == ("rounding", 2, "to_nearest_even", "upward")
    # Of 1 + 2^-30, with an ulp of 2^-23: 1 is below it by 2^-7 ulp, and the next number above.
    assert (up.before, up.after, up.moved) == (2.0**-7, 1 - 2.0**-7, 1.0)
    assert up.advice == "compute arith.addf (line 2) with the rounding upward costs: error 0.00781 ulp -> 0.992 ulp"
    assert {(row.line, row.to, row.effect) for row in rest} == {
        (2, "downward", 0),
        (5, "upward", 0),
        (5, "downward", 0),
    }
    assert found.notes == ("no rounding mode can be given to math.sqrt (1)",)
    (result,) = hu.run(up.program, np.float32(1), np.float32(2.0**-30))
    assert result.item() == 1 + 2.0**-23
    assert len(hu.sensitivity(TWO, np.float32(1), np.float32(1), formats=(), modes=True)) == 8
    assert len(hu.sensitivity(TWO, np.float32(1), np.float32(1), formats=(), modes=False)) == 0


def test_orders_of_reductions() -> None:
    text = """func.func @f(%x: tensor<8xf16>, %o: tensor<f16>) -> tensor<f16> {
      %r = linalg.reduce { arith.addf } ins(%x : tensor<8xf16>) outs(%o : tensor<f16>) dimensions = [0]
      return %r : tensor<f16>
    }"""
    # One after the other, each 1 is absorbed by 2048; their pairs are not.
    x = np.array([2048, 1, 1, 1, 1, 1, 1, 1], np.float16)
    found = hu.sensitivity(text, x, np.zeros((), np.float16), formats=(), orders=["exact", "pairwise"])
    rows = {row.to: row for row in found}
    # 2055 has the neighbours 2054 and 2056, with an ulp of 2.
    assert (rows["exact"].before, rows["exact"].after) == (3.5, 0.5)
    assert rows["pairwise"].after <= 1
    assert rows["exact"].settings == (("profile", "spec,reduction_order=exact"),)
    (result,) = hu.run(rows["exact"].program, x, np.zeros((), np.float16), profile="spec,reduction_order=exact")
    assert result.item() == 2056
    assert rows["exact"].advice == "add in all reductions in the order exact: error 3.5 ulp -> 0.5 ulp"
    accumulator = hu.sensitivity(text, x, np.zeros((), np.float16), formats="f32").rows[0]
    assert (accumulator.before, accumulator.after) == (3.5, 0.5)


def test_profiles_as_a_whole_and_field_by_field() -> None:
    text = "func.func @f(%a: f32, %b: f32) -> f32 { %r = arith.mulf %a, %b : f32 return %r : f32 }"
    given = np.float32(2.0**-100), np.float32(2.0**-30)
    found = hu.sensitivity(text, *given, formats=(), profiles=["spec,denormals=flush_results,integer_flags=ignored"])
    rows = {row.what: row for row in found}
    assert set(rows) == {"the whole profile", "denormals", "integer_flags"}
    # 2^-130 is a subnormal number, of steps of 2^-149.
    assert (rows["denormals"].before, rows["denormals"].after) == (0, 2.0**19)
    assert rows["the whole profile"].after == 2.0**19
    assert rows["integer_flags"].moved == 0
    assert rows["denormals"].advice.startswith("run with denormals=flush_results costs: error 0 ulp -> 524,288 ulp")


def test_models_of_tile_operations_are_ranked_by_how_far_results_move() -> None:
    tile = """
#one = affine_map<() -> ()>
func.func @f(%a: tensor<16x16xf16>, %b: tensor<16x8xf16>, %c: tensor<16x8xf32>) -> tensor<16x8xf32> {
  %d = iree_codegen.inner_tiled ins(%a, %b) outs(%c) {
    indexing_maps = [#one, #one, #one],
    iterator_types = [],
    kind = #iree_gpu.mma_layout<NV_MMA_SYNC_F32_16x8x16_F16>,
    semantics = #iree_gpu.mma_semantics<distributed = false, opaque = false>
  } : tensor<16x16xf16>, tensor<16x8xf16> into tensor<16x8xf32>
  return %d : tensor<16x8xf32>
}"""
    a, b, c = np.zeros((16, 16), "f2"), np.zeros((16, 8), "f2"), np.zeros((16, 8), "f4")
    a[0], b[:, 0] = [2048] + [0.125] * 15, [2048] + [1] * 15  # 2^22, and 15 times 1/8
    found = hu.sensitivity(tile, a, b, c, models=["ieee", "chip:ampere"])
    assert {row.sort for row in found} == {"model"}
    for row in found:
        (one,), (two,) = (hu.run(tile, a, b, c, mma=model) for model in ("exact", row.to))
        assert row.moved == np.max(np.abs(one.numpy() - two.numpy())) / 2.0**-1  # the ulp of 2^22
    assert [row.moved for row in found] == sorted((row.moved for row in found), reverse=True)
    assert any("its kind names the formats" in note for note in found.notes)


def test_kinds_and_tensors() -> None:
    by_kind = hu.sensitivity(QUADRATIC, 1.0, 1000.0, 1.0, formats=["f64"], by="kind")
    assert by_kind.rows[0].what == "all math.sqrt (1 op)"
    assert {row.what: row.count for row in by_kind}["all arith.mulf (4 ops)"] == 4
    text = """func.func @f(%x: f32) -> f32 {
      %c = arith.constant 0.1 : f32
      %r = arith.mulf %x, %c : f32
      return %r : f32
    }"""
    found = hu.sensitivity(text, np.float32(3), formats=["bf16", "f64"], by="tensor")
    tenth = np.float32(0.1)
    narrow = Fraction(205, 2048)  # the number of bf16 next to 0.1
    exact, ulp = 3 * Fraction(float(tenth)), Fraction(1, 1 << 25)
    rows = {row.advice.partition(" in ")[0]: row for row in found if row.to == "bf16"}
    assert rows["keep %c (line 2)"].after == pytest.approx(float(abs(3 * narrow - exact) / ulp))
    assert rows["keep %x"].moved == 0  # 3 is a number of bf16
    assert rows["keep %x"].advice == "keep %x in bf16: no result changes"
    assert "f64 changes nothing for 2 arguments and constants: they are exact already" in found.notes


def test_a_cycle_of_several_ops() -> None:
    text = """func.func @f(%x: f16, %n: index) -> f16 {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %d = arith.constant 0.9 : f16
      %r = scf.for %i = %c0 to %n step %c1 iter_args(%s = %x) -> (f16) {
        %a = arith.mulf %s, %d : f16
        %b = arith.addf %a, %x : f16
        scf.yield %b : f16
      }
      return %r : f16
    }"""
    found = hu.sensitivity(text, np.float16(0.37), 7, formats=["f64"])
    (cycle,) = [row for row in found if row.count == 2]
    assert cycle.what == "carried from trip to trip: arith.mulf (line 6) and arith.addf (line 7)"
    x, d = Fraction(float(np.float16(0.37))), Fraction(float(np.float16(0.9)))
    total, wide = x, np.float64(np.float16(0.37))
    for _ in range(7):
        total, wide = total * d + x, wide * np.float64(np.float16(0.9)) + np.float64(np.float16(0.37))
    assert cycle.after == pytest.approx(in_ulp(np.float16(wide), total, Fraction(1, 1 << 9)))


def test_an_overflow_is_an_infinite_error() -> None:
    text = """func.func @f(%x: f16) -> f16 {
      %y = arith.mulf %x, %x : f16
      %r = math.sqrt %y : f16
      return %r : f16
    }"""
    found = hu.sensitivity(text, np.float16(1000), formats=["f32"])
    assert (found.rows[0].line, found.rows[0].before, found.rows[0].after) == (2, math.inf, 0)
    assert found.rows[0].effect == -math.inf
    assert found.rows[0].advice == "compute arith.mulf (line 2) in f32: error inf ulp -> 0 ulp"
    assert json.loads(json.dumps(found.as_json()))["rows"][0]["before"] == "inf"


# --- what is looked at ------------------------------------------------------------------------------------------------


def test_results_memory_and_functions() -> None:
    text = """
    func.func @f(%x: f32, %m: memref<1xf32>) -> f32 {
      %c0 = arith.constant 0 : index
      %s = call @g(%x) : (f32) -> f32
      %t = arith.mulf %x, %x : f32
      memref.store %t, %m[%c0] : memref<1xf32>
      return %s : f32
    }
    func.func private @g(%x: f32) -> f32 {
      %y = arith.divf %x, %x : f32
      %z = math.exp %y : f32
      return %z : f32
    }
    func.func private @unused(%x: f32) -> f32 {
      %y = math.exp %x : f32
      return %y : f32
    }"""
    memory = hu.Buffer.from_numpy(np.array([5.0], np.float32)) if hasattr(hu.Buffer, "from_numpy") else [5.0]
    found = hu.sensitivity(text, 0.3, memory, formats=["bf16"], function="f")
    assert sorted(row.line for row in found if row.line) == [5, 10, 11]
    assert set(found.errors) == {"result[0]", "argument[1]"}
    only = hu.sensitivity(text, 0.3, memory, formats=["bf16"], function="f", result="argument[1]")
    assert {row.result for row in only} == {"argument[1]"}
    assert only.rows[0].line == 5
    assert {row.result for row in hu.sensitivity(text, 0.3, memory, function="f", result=0)} == {"result[0]"}


def test_what_cannot_be_changed_or_measured_is_said() -> None:
    text = """func.func @f(%x: f32, %y: f128, %z: f32) -> (f32, f128) {
      %c = complex.create %z, %z : complex<f32>
      %re = complex.re %c : complex<f32>
      %s = arith.addf %x, %re : f32
      %p = arith.cmpf olt, %s, %x : f32
      %w = arith.mulf %y, %y : f128
      return %s, %w : f32, f128
    }"""
    found = hu.sensitivity(text, 1.5, hu.convert(0.1, "f128"), 2.5, formats=["f64"])
    notes = " ".join(found.notes)
    assert "result[1] is not measured: no f64 holds all numbers of its type" in notes
    assert "complex.create: complex numbers keep their format" in notes
    assert "complex.re: " in notes
    assert "arith.cmpf (<string>:5:" in notes
    assert "a change may take other branches" in notes
    for each in found.notes:
        assert f"note: {each}" in str(found)


def test_vectors_that_print_print_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    text = "func.func @f(%x: f32) -> f32 { vector.print %x : f32 %r = arith.addf %x, %x : f32 return %r : f32 }"
    hu.sensitivity(text, 1.0)
    assert capsys.readouterr().out == ""


@pytest.mark.long
def test_text_html_json_and_picture() -> None:
    found = hu.sensitivity(QUADRATIC, 1.0, 1000.0, 1.0, formats=["f64", "f16"], modes=True)
    lines = str(found).splitlines()
    assert lines[0] == "error of result[0]: 60,809 ulp"
    assert lines[2].split() == ["before", "after", "moved", "line", "change", "what"]
    assert f"  and {len(found) - 20} changes with less effect" in lines
    assert "best: compute math.sqrt (line 11) in f64: error 60,809 ulp -> 0.182 ulp" in lines
    assert repr(found) == str(found)
    html = found._repr_html_()
    assert "Sensitivity of @roots" in html
    assert "%root = math.sqrt %d : f32" in html
    read = json.loads(json.dumps(found.as_json()))
    assert [row["line"] for row in read["rows"]] == [row.line for row in found.rows]
    assert {"before", "after", "moved", "advice", "was", "to", "settings"} <= set(read["rows"][0])
    figure = found.plot(dark=False)
    (axes,) = figure.axes
    labels = [label.get_text() for label in axes.get_yticklabels()]
    assert len(labels) == 15
    sqrt = next(k for k, row in enumerate(found.rows) if (row.line, row.to) == (11, "f64"))
    assert labels[sqrt] == "line 11: %root = math.sqrt %d : f32 → f64"
    points = [
        np.asarray(line.get_xdata()) for line in axes.lines if np.asarray(line.get_ydata()).tolist() == [sqrt] * 2
    ]
    assert points[0].tolist() == [found.rows[sqrt].before, found.rows[sqrt].after]


def test_nothing_to_draw() -> None:
    text = "func.func @f(%x: f32) -> f32 { return %x : f32 }"
    found = hu.sensitivity(text, 1.0)
    assert str(found) == "error of result[0]: 0 ulp\nnothing was changed"
    with pytest.raises(hu.errors.InputError, match="no change with a known error"):
        found.plot()


IDENTITY = "func.func @f(%x: f32) -> f32 { return %x : f32 }"
WRONG: Sequence[tuple[dict[str, Any], str]] = (
    ({"formats": ["f33"]}, "unknown float format 'f33'"),
    ({"by": "line"}, "by is 'line', but must be one of op, kind, tensor"),
    ({"modes": ["sideways"]}, "rounding is 'sideways'"),
    ({"modes": ["stochastic"]}, "ops cannot round in the mode stochastic"),
    ({"profiles": ["mlir"]}, "unknown profile 'mlir'"),
    ({"orders": ["pairwse"]}, r"'pairwse' is not a known order of reductions.*did you mean `pairwise`"),
    ({"models": ["chip:hoper"]}, "models of tile operations: unknown model 'chip:hoper'; choose one of exact"),
    ({"metric": "snr"}, "metric is 'snr', but must be one of ulp, sqnr, relative, absolute"),
    ({"result": 1}, r"no float result result\[1\]"),
    ({"result": "argument[0]"}, r"no float result argument\[0\]"),
)


@pytest.mark.parametrize(("given", "message"), WRONG, ids=[str(given) for given, _ in WRONG])
def test_wrong_choices(given: dict[str, Any], message: str) -> None:
    with pytest.raises(hu.errors.InputError, match=message):
        hu.sensitivity(IDENTITY, 1.0, **given)


def test_wrong_programs() -> None:
    with pytest.raises(hu.errors.InputError, match="no result of floats"):
        hu.sensitivity("func.func @f(%x: i32) -> i32 { return %x : i32 }", 1)
    with pytest.raises(hu.Unsupported, match="batch"):
        hu.sensitivity(IDENTITY, np.ones(3, np.float32), batch=True)
    with pytest.raises(hu.TypeMismatch):
        hu.sensitivity(IDENTITY, np.ones(3, np.float32))
