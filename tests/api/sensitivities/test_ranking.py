"""`rank`: costs by exact fractions, values in loops and calls, batches beside single runs, and what was not tried."""

from __future__ import annotations

from fractions import Fraction
from math import inf, log10
from typing import Any

import numpy as np
import pytest
from amounts import thinned
from tables import each_row

import halfulp as hu
from halfulp.sensitivities import placing

MATVEC = """func.func @f(%w: tensor<2x2xf32> loc("p['w']"), %x: tensor<2xf32> loc("x")) -> tensor<2xf32> {
  %zero = arith.constant dense<0.0> : tensor<2xf32>
  %y = linalg.matvec ins(%w, %x : tensor<2x2xf32>, tensor<2xf32>) outs(%zero : tensor<2xf32>) -> tensor<2xf32>
  return %y : tensor<2xf32>
}"""


@pytest.mark.parametrize("metric", ["ulp", "sqnr", "relative", "absolute"])
def test_each_value_alone_by_each_metric(metric: Any) -> None:
    # f8E4M3FN has a spacing of 1/8 in [1, 2), of 1/4 in [2, 4), and 2 and 4 themselves; ties go to even.
    w, x = np.array([[1.0625, 2], [0, 4]], np.float32), np.array([1, 1], np.float32)
    exact = [Fraction(49, 16), Fraction(4)]
    lost = Fraction(1, 16)  # of w, 1.0625 -> 1; of y, 3.0625 -> 3
    size: Any = {
        "ulp": lost / Fraction(2) ** -22,
        "sqnr": 10 * log10(sum(each**2 for each in exact) / lost**2),
        "relative": lost / max(exact),
        "absolute": lost,
    }[metric]
    none = inf if metric == "sqnr" else 0
    found = hu.rank(MATVEC, w, x, formats="f8E4M3FN", metric=metric)
    rows = {row.name: (row.kind, row.op, row.format, row.axis, row.size, row.result, row.line) for row in found}
    assert rows == {
        "p['w']": ("weight", "", "f8E4M3FN", None, pytest.approx(float(size)), "result[0]", 3),
        "linalg.matvec of p['w']": ("op", "linalg.matvec", *rows["p['w']"][2:]),
        "x": ("input", "", "f8E4M3FN", None, none, "result[0]", 3),
    }
    assert [row.name for row in found][-1] == "x"
    assert found.notes == ("constants of one number stay as they are: 1",)
    head, columns, first, *_ = str(found).splitlines()
    assert head == "results of @f with one value in a format, beside those of the program as it is"
    assert columns.split() == ["SQNR" if metric == "sqnr" else "error", "kind", "name", "op", "format", "line", "place"]
    assert "p[&#x27;w&#x27;]" in found._repr_html_()
    assert first.strip().split("  ")[0] in found._repr_html_()


def test_blocks_lie_along_the_axis_that_is_summed_up() -> None:
    text = """func.func @f(%x: tensor<1x32xf32>, %w: tensor<32x2xf32>) -> tensor<1x2xf32> {
      %zero = arith.constant dense<0.0> : tensor<1x2xf32>
      %y = linalg.matmul ins(%x, %w : tensor<1x32xf32>, tensor<32x2xf32>) outs(%zero : tensor<1x2xf32>) -> tensor<1x2xf32>
      return %y : tensor<1x2xf32>
    }"""
    # OCP MX 1.0: the scale is 2^(floor(log2(amax)) - 2), of the first column 1, of the second 1/8. In f4E2M1FN 0.25 is
    # a tie between 0 and 0.5, and becomes 0; 0.25 / (1/8) is 2. Along the other axis, 0.25 would stay everywhere.
    w = np.full((32, 2), 0.25, np.float32)
    w[0] = 4, 0.5
    found = hu.rank(text, np.ones((1, 32), np.float32), w, formats=["mxfp4", ("f4E2M1FN", "floor")])
    exact, lost = [4 + 31 * 0.25, 0.5 + 31 * 0.25], 31 * 0.25
    rows = [row for row in found if row.name == "%w"]
    assert [(row.format, row.axis) for row in rows] == [("mxfp4", 0), ("f4E2M1FN/floor", 0)]
    assert [row.size for row in rows] == [pytest.approx(10 * log10((exact[0] ** 2 + exact[1] ** 2) / lost**2))] * 2
    assert {row.axis for row in found if row.name == "%x"} == {1}
    assert "mxfp4: blocks of f4E2M1FN, recipe floor" in str(found)


def test_the_axis_behind_a_transposition() -> None:
    text = """func.func @f(%x: tensor<1x32xf32>, %w: tensor<2x32xf32>) -> tensor<1x2xf32> {
      %zero = arith.constant dense<0.0> : tensor<1x2xf32>
      %e = tensor.empty() : tensor<32x2xf32>
      %t = linalg.transpose ins(%w : tensor<2x32xf32>) outs(%e : tensor<32x2xf32>) permutation = [1, 0]
      %y = linalg.matmul ins(%x, %t : tensor<1x32xf32>, tensor<32x2xf32>) outs(%zero : tensor<1x2xf32>) -> tensor<1x2xf32>
      return %y : tensor<1x2xf32>
    }"""
    found = hu.rank(text, np.ones((1, 32), np.float32), np.ones((2, 32), np.float32), formats="mxfp8")
    assert {(row.name, row.axis) for row in found} == {("%x", 1), ("%w", 1), ("linalg.matmul", 1)}


CONTRACTED = """func.func @f(%a: vector<{a}>, %b: vector<{b}>, %c: vector<2x3xf32>) -> vector<2x3xf32> {{
  {before}
  %r = vector.contract {{indexing_maps = [affine_map<(i, j, k) -> ({left})>, affine_map<(i, j, k) -> ({right})>,
      affine_map<(i, j, k) -> (i, j)>], iterator_types = ["parallel", "parallel", "reduction"],
      kind = #vector.kind<add>}} %a, {by}, %c : vector<{a}>, vector<{kept}> into vector<2x3xf32>
  return %r : vector<2x3xf32>
}}"""
TRANSPOSED = "%t = vector.transpose %b, [1, 0] : vector<3x4xf32> to vector<4x3xf32>"


@each_row(
    ("2x4xf32", "4x3xf32", "i, k", "k, j", "", "%b", "4x3xf32", {"%a": 1, "%b": 0, "%c": 1}),
    ("4x2xf32", "3x4xf32", "k, i", "j, k", "", "%b", "3x4xf32", {"%a": 0, "%b": 1, "%c": 1}),
    ("2x4xf32", "3x4xf32", "i, k", "k, j", TRANSPOSED, "%t", "4x3xf32", {"%a": 1, "%b": 1, "%c": 1}),
)
def test_the_axis_of_both_sides_of_a_contraction_of_vectors(
    a: str, b: str, left: str, right: str, before: str, by: str, kept: str, axes: dict[str, int]
) -> None:
    text = CONTRACTED.format(a=a, b=b, left=left, right=right, before=before, by=by, kept=kept)
    given = [np.ones([int(size) for size in type_.split("x")[:2]], np.float32) for type_ in (a, b, "2x3xf32")]
    found = hu.rank(text, *given, formats="mxfp8")
    assert {row.name: row.axis for row in found if row.kind == "input"} == axes


LOOP = """func.func @f(%x: f32, %n: index) -> f32 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f32
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%sum = %zero) -> (f32) {
    %a = arith.addf %sum, %x : f32
    %b = func.call @g(%a) : (f32) -> f32
    scf.yield %b : f32
  }
  return %r : f32
}
func.func private @g(%v: f32) -> f32 {
  %half = arith.constant 0.5 : f32
  %m = arith.mulf %v, %half : f32
  %d = arith.addf %m, %m : f32
  return %d : f32
}"""


def test_a_value_in_a_loop_and_in_a_call_changes_in_each_run() -> None:
    # f4E2M1FN has 0 0.5 1 1.5 2 3 4 6: a sum of halves stops at 2, since 2.5 is a tie, and 2 even; 0.25 becomes 0.
    found = hu.rank(LOOP, np.float32(0.5), 40, formats="f4E2M1FN", metric="absolute")
    sizes = {(row.op, row.line): row.size for row in found}
    assert sizes == {("arith.addf", 6): 18, ("arith.mulf", 14): 20, ("arith.addf", 15): 18, ("", 6): 0}


MIXED = """func.func @f(%x: tensor<4x8xf32>, %y: tensor<8x4xbf16>, %s: f32) -> (tensor<4x4xf32>, tensor<8x4xbf16>) {
  %k = arith.constant dense<[[1.0, 2.5], [3.25, 1000.0]]> : tensor<2x2xf32>
  %a = tensor.extract_slice %k[0, 1] [2, 1] [1, 1] : tensor<2x2xf32> to tensor<2xf32>
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %first = tensor.extract %a[%c0] : tensor<2xf32>
  %last = tensor.extract %a[%c1] : tensor<2xf32>
  %t = arith.mulf %s, %first : f32
  %zero = arith.constant dense<0.0> : tensor<4x4xf32>
  %big = tensor.splat %t : tensor<8x4xf32>
  %wide = arith.extf %y : tensor<8x4xbf16> to tensor<8x4xf32>
  %e = math.exp %wide : tensor<8x4xf32>
  %p = arith.mulf %e, %big : tensor<8x4xf32>
  %less = arith.cmpf olt, %t, %last : f32
  %q = scf.if %less -> (tensor<8x4xf32>) {
    %r = arith.divf %p, %e : tensor<8x4xf32>
    scf.yield %r : tensor<8x4xf32>
  } else {
    scf.yield %p : tensor<8x4xf32>
  }
  %z = linalg.matmul ins(%x, %q : tensor<4x8xf32>, tensor<8x4xf32>) outs(%zero : tensor<4x4xf32>) -> tensor<4x4xf32>
  %n = arith.truncf %p : tensor<8x4xf32> to tensor<8x4xbf16>
  return %z, %n : tensor<4x4xf32>, tensor<8x4xbf16>
}"""


@pytest.mark.long
@pytest.mark.parametrize("metric", thinned(["sqnr", "ulp"], 2))
def test_batches_give_what_single_runs_give(metric: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(7)
    given = (
        rng.normal(size=(4, 8)).astype(np.float32),
        hu.convert(rng.normal(size=(8, 4)) * 3, "bf16"),
        np.float32(300.0),
    )
    formats = ["f8E4M3FN", "f8E5M2", "mxfp8", "mxfp6_e2m3", "mxint8", "nvfp4", "f4E2M1FN"]
    together = hu.rank(MIXED, *given, formats=formats, metric=metric)
    monkeypatch.setattr(placing, "_MOST_BYTES", 0)
    alone = hu.rank(MIXED, *given, formats=formats, metric=metric)
    assert together.rows == alone.rows
    assert together.notes == alone.notes
    assert len(together) > 40
    assert {row.result for row in together} == {"result[0]", "result[1]"}
    only = hu.rank(MIXED, *given, formats=formats, metric=metric, result=1)
    assert {row.result for row in only} == {"result[1]"}


def test_numbers_that_become_infinite_come_first() -> None:
    # 500 is beyond 464, half a step above the largest number of f8E4M3FN, and becomes NaN; 300 becomes 288 or 320.
    text = """func.func @f(%x: tensor<3xf32>, %y: tensor<3xf32>) -> tensor<3xf32> {
      %z = arith.subf %x, %y : tensor<3xf32>
      return %z : tensor<3xf32>
    }"""
    x, y = np.array([500, 465, np.inf], np.float32), np.array([300, 0, 0], np.float32)
    found = hu.rank(text, x, y, formats="f8E4M3FN")
    assert [(row.name, row.lost) for row in found] == [("%x", 2), ("arith.subf", 1), ("%y", 0)]
    assert str(found).splitlines()[2].split()[:3] == ["2", "not", "finite"]
    assert found.notes == (
        "1 of 3 elements of the results are infinite, NaN or poison in the program as it is: they do not count",
    )


def test_what_is_not_tried_has_a_reason() -> None:
    text = """func.func @f(%m: memref<2xf32>, %x: f32) -> f32 {
      %c0 = arith.constant 0 : index
      %one = arith.constant 1.0 : f32
      %y = arith.addf %x, %one : f32
      memref.store %y, %m[%c0] : memref<2xf32>
      linalg.exp ins(%m : memref<2xf32>) outs(%m : memref<2xf32>)
      %g = memref.get_global @g : memref<2xf32>
      linalg.map { arith.addf } ins(%m, %g : memref<2xf32>, memref<2xf32>) outs(%m : memref<2xf32>)
      return %y : f32
    }
    memref.global constant @g : memref<2xf32> = dense<[1.0, 2.0]>"""
    memory = hu.Buffer.from_numpy(np.zeros(2, np.float32))
    found = hu.rank(text, memory, np.float32(1 / 3), formats=["f64", "mxfp4", "bf16"])
    assert {(row.name, row.format) for row in found} == {("%x", "bf16"), ("arith.addf", "bf16")}
    assert {row.result for row in found} <= {"result[0]", "argument[0]"}
    assert memory.load().tolist() == [0, 0]
    assert set(found.notes) == {
        "%m: the memory of an argument stays in its type",
        "constants of one number stay as they are: 1",
        "linalg.exp (%m): it writes into memory, which stays in its type",
        "arith.addf (%m): it writes into memory, which stays in its type",
        "%g: the memory of a global stays in its type",
        "f64 has all numbers of 2 values: it changes nothing there",
        "mxfp4 has blocks: it does not take 2 values of one number",
    }


@pytest.mark.parametrize(
    ("keywords", "message"),
    [
        ({"formats": "mxfp5"}, "mxfp5"),
        ({"formats": "mxfp6"}, "f6E2M3FN"),
        ({"formats": [("f8E4M3FN", "nvfp4")]}, "f8E4M3FN/nvfp4: the recipe nvfp4 does not take elements"),
        ({"formats": [("f8E4M3FN", "rcel")]}, "recipe is 'rcel'"),
        ({"metric": "snr"}, "metric is 'snr'"),
        ({"result": 3}, "no float result"),
    ],
)
def test_names_that_do_not_exist(keywords: dict[str, Any], message: str) -> None:
    with pytest.raises(hu.errors.InputError) as caught:
        hu.rank(MATVEC, np.ones((2, 2), np.float32), np.ones(2, np.float32), **keywords)
    assert message in str(caught.value)


def test_a_batch_and_other_names_of_arguments() -> None:
    with pytest.raises(hu.Unsupported, match="batch=True cannot be used here"):
        hu.rank(MATVEC, 1, 1, batch=True)
    with pytest.raises(TypeError, match="write formats="):
        hu.rank(MATVEC, 1, 1, dtypes=["bf16"])  # type: ignore[call-arg]
