"""Distances of results: figures by hand for two given results, and the metrics of hu.compare."""

import json
import math
from importlib import import_module
from types import SimpleNamespace
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import halfulp as hu
from halfulp.fp_formats.neighbours import FloatSums
from halfulp.importing.comparison import Comparison, OutputDistance, _comparison
from halfulp.importing.lowering import Traced
from halfulp.running import CallKeywords, run_options

OURS = np.array([1.0, -2.0, 0.0018310546875, 3.0])
JAX = np.array([1.0, -2.015625, -0.000892639160156, 3.0])


def output(metric: str = "ulp", exact: FloatSums | None = None) -> OutputDistance:
    ours, jax = (hu.Value.from_numpy(each.astype(ml_dtypes.bfloat16)) for each in (OURS, JAX))
    return OutputDistance("", ours, jax, "JAX", metric, lambda: exact)


def test_a_number_next_to_0_is_far_in_ulp_and_near_in_the_tensor() -> None:
    ours, jax = OURS.astype(ml_dtypes.bfloat16).astype(np.float64), JAX.astype(ml_dtypes.bfloat16).astype(np.float64)
    found, difference = output(), np.abs(ours - jax)
    assert found.max_ulp > 30_000
    assert found.farthest == (2,)
    assert output("sqnr").farthest == output("absolute").farthest == (1,)
    assert found.relative == difference.max() / 3
    assert found.sqnr == pytest.approx(10 * np.log10(np.sum(ours**2) / np.sum(difference**2)))
    assert found.nearer() == "not known"
    assert found.to_exact is None


@pytest.mark.parametrize(("factor", "nearer"), [("0.797724", "not known"), ("0.797885", "both exact")])
def test_exact_numbers_of_a_wrong_lowering_say_nothing(factor: str, nearer: str) -> None:
    text = f"""func.func @main(%x: f64) -> f64 {{
      %c = arith.constant {factor} : f64
      %y = arith.mulf %x, %c : f64
      return %y : f64
    }}"""
    module = hu.parse(text)
    (value,) = hu.run(module, 1.0)
    options = run_options("compare", CallKeywords, {})
    (found,) = _comparison("f", module, (1.0,), options, [("", value, value)], "torch", "ulp").outputs
    assert found.nearer() == nearer


def test_who_is_nearer_to_the_exact_numbers() -> None:
    exact = FloatSums(np.array([1.0, -2.0, math.nan, 3.0]), np.array([0.0, -0.001, 0.0, 0.0]))
    found = output("ulp", exact)
    signal, jax = 1 + 2.001**2 + 9, float(ml_dtypes.bfloat16(-2.015625))
    expected = [10 * math.log10(signal / error**2) for error in (0.001, jax + 2.001)]
    assert found.to_exact == pytest.approx(tuple(expected))
    assert found.nearer() == f"halfulp ({expected[0]:.1f} dB to {expected[1]:.1f})"
    text = repr(Comparison("f", hu.load("module {}"), (found,)))
    assert all(each in text for each in ("SQNR", "relative", "nearer", found.nearer()))


def test_what_has_no_sqnr() -> None:
    integers = hu.Value.from_numpy(np.array([1, 2], np.int32))
    found = OutputDistance("", integers, integers)
    assert (found.sqnr, found.relative) == (pytest.approx(math.nan, nan_ok=True),) * 2
    one, two = (hu.Value.from_numpy(np.array([x, np.nan, np.inf], np.float32)) for x in (1, np.nan))
    same, other = OutputDistance("", one, one), OutputDistance("", one, two)
    assert (same.sqnr, same.relative) == (math.inf, 0.0)
    assert (other.sqnr, other.relative) == (-math.inf, math.inf)
    read = json.loads(json.dumps(Comparison("f", hu.load("module {}"), (same, other)).to_dict(), allow_nan=False))
    assert read["outputs"][0]["sqnr"] == "inf"


def test_a_metric_that_does_not_exist() -> None:
    with pytest.raises(hu.errors.InputError, match="metric is 'snr', but must be one of ulp, sqnr, relative, absolute"):
        hu.compare(lambda x: x, np.ones(2, np.float32), metric="snr")  # type: ignore[arg-type]


# --- the cells of hu.compare in the table of docs/differential-testing.md ---------------------------------------------

NOTHING = "nothing was compared"
CELLS = {
    # ours, as the program without arguments that gives it; the other one; elements that differ; words; words that lack
    "nothing": ("tensor.empty() : tensor<0xf32>", [], 0, NOTHING, "inf dB"),
    "poison": ("tensor.empty() : tensor<2xf32>", [0, 1], 2, "an element of tensor.empty was never written", "dB"),
    "only poison": ("tensor.empty() : tensor<2xf32>", [0, 1], 2, NOTHING, "dB"),
    "open NaNs": ("arith.constant dense<0x7FC00001> : tensor<2xf32>", [math.nan] * 2, 0, " 0 ", NOTHING),
    "open zeros": ("arith.constant dense<[0.0, 1.0]> : tensor<2xf32>", [-0.0, 1], 1, "[0] 0, JAX -0", NOTHING),
    "permitted": ("arith.constant dense<[1.0, 2.0]> : tensor<2xf32>", [1, 3], 1, "[1] 2, JAX 3", NOTHING),
}


@pytest.mark.parametrize(("made", "jax", "different", "words", "lack"), CELLS.values(), ids=CELLS)
def test_the_verdicts_of_a_comparison(made: str, jax: list[float], different: int, words: str, lack: str) -> None:
    type_ = made.rpartition(" : ")[2]
    (ours,) = hu.run(f"func.func @f() -> {type_} {{ %r = {made} return %r : {type_} }}")
    found = Comparison(
        "f", hu.load("module {}"), (OutputDistance("", ours, hu.Value.from_numpy(np.array(jax, np.float32))),)
    )
    assert found.different == different
    for text in (repr(found), found._repr_html_()):
        assert words in text
        assert lack not in text
        assert "equal" not in text
        assert "both exact" not in text


def test_a_function_without_results_compares_nothing() -> None:
    assert repr(Comparison("f", hu.load("module {}"), ())).endswith(NOTHING)


@pytest.mark.jax
def test_the_parts_of_complex_numbers_are_two_outputs() -> None:
    def f(a: Any, b: Any) -> Any:
        lax: Any = import_module("jax.lax")
        return {"sum": lax.complex(a, b) + lax.complex(b, a), "real": a}

    a, b = np.array([1, 0.5], np.float32), np.array([-2, np.inf], np.float32)
    found = hu.compare(f, a, b)
    assert [output.name for output in found.outputs] == ["['real']", "['sum'].real", "['sum'].imag"]
    assert found.different == 0
    assert [output.ours.tolist() for output in found.outputs[1:]] == [[-1, np.inf]] * 2


@pytest.mark.jax
@pytest.mark.parametrize(
    ("body", "error", "words"),
    [
        ("arith.divsi %x, %z : tensor<1xi32>", hu.errors.UndefinedBehavior, "division by zero"),
        ('"x.y"(%x) : (tensor<1xi32>) -> tensor<1xi32>', hu.errors.Unsupported, "x.y"),
    ],
)
def test_undefined_and_refused_functions_are_errors(
    monkeypatch: pytest.MonkeyPatch, body: str, error: type[Exception], words: str
) -> None:
    text = f"""func.func @f(%x: tensor<1xi32>) -> tensor<1xi32> {{
      %z = arith.constant dense<0> : tensor<1xi32>
      %r = {body}
      return %r : tensor<1xi32>
    }}"""
    traced = Traced("f", SimpleNamespace(args_info=0), hu.load(text))
    monkeypatch.setattr("halfulp.importing.comparison.traced", lambda f, args, lower: traced)
    with pytest.raises(error, match=words):
        hu.compare(lambda x: x, np.ones(1, np.int32))
