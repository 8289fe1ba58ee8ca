"""One row alone has the outputs that it has in an array, and buckets are counted as they are hit."""

from __future__ import annotations

from typing import Any

import pytest

import halfulp as hu
from halfulp.conformance.comparing.op_case import op_case
from halfulp.conformance.vectors.columns import Role
from halfulp.conformance.vectors.intermediate import model_case_of
from halfulp.conformance.vectors.models.model import coverage
from halfulp.conformance.vectors.models.running import RunningCoverage
from halfulp.conformance.vectors.models.table import MODELS
from halfulp.conformance.vectors.row_check import _scalar_function, one_row_function
from halfulp.fp_formats.formats import codes_to_ints
from halfulp.golden.vectors import Vectors

CASES: list[tuple[str, Any, dict[str, Any]]] = [
    ("arith.addf", "f8E4M3FN", {}),
    ("arith.subf", "f8E5M2", {"rounding": "upward"}),
    ("arith.mulf", "f6E3M2FN", {}),
    ("arith.divf", "f16", {"profile": "spec,denormals=flush_both"}),
    ("arith.divf", "f4E2M1FN", {}),
    ("arith.remf", "bf16", {}),
    ("math.fma", "f8E4M3FN", {"rounding": "downward"}),
    ("arith.maximumf", "f8E4M3FN", {}),
    ("arith.minimumf", "f16", {}),
    ("math.clampf", "f8E4M3FN", {}),
    ("arith.negf", "f8E8M0FNU", {}),
    ("arith.cmpf", "f8E5M2", {"predicate": "ole"}),
    ("arith.truncf", "f32", {"to": "f8E4M3FN", "rounding": "toward_zero"}),
    ("arith.extf", "f8E5M2", {"to": "f16"}),
    ("arith.sitofp", "i16", {"to": "f8E4M3FN"}),
    ("arith.uitofp", "i8", {"to": "f4E2M1FN"}),
    ("arith.fptosi", "f16", {"to": "i8"}),
    ("arith.fptoui", "f16", {"to": "i8", "profile": "spec,float_to_int=saturate"}),
    ("math.sqrt", "f8E4M3FN", {}),
    ("math.tanh", "f16", {}),
    ("math.roundeven", "bf16", {}),
    ("arith.addf", "f80", {}),
    ("arith.addf", "f8E4M3FN", {"fastmath": "nnan"}),
    ("arith.divsi", "i8", {"keep_ub": True}),
    ("arith.addi", "i8", {"overflow": "nsw"}),
    ("arith.mulsi_extended", "i8", {}),
]
BY_ARRAYS: list[tuple[str, Any, dict[str, Any]]] = [
    ("arith.addf", "f8E4M3FN", {"fastmath": "nsz"}),
    ("arith.minnumf", "f16", {}),
    ("arith.truncf", "f32", {"to": "f8E4M3FN", "rounding": "stochastic", "random_bits": 4}),
    ("func.func @f(%x: f16) -> f16 { %0 = math.exp %x : f16 return %0 : f16 }", None, {}),
]


def outputs(vectors: Vectors) -> list[tuple[tuple[int, ...], tuple[int, ...]]]:
    """Return the codes of the inputs and the outputs of each row."""
    columns = [
        codes_to_ints(codes, column.width)
        for codes, column in zip(vectors.columns_as_codes.values(), vectors.columns, strict=True)
    ]
    inputs = len(vectors.computation.inputs)
    return [(row[:inputs], row[inputs:]) for row in zip(*columns, strict=True)]


@pytest.mark.parametrize(("op", "type", "options"), CASES + BY_ARRAYS, ids=lambda part: str(part).partition("(")[0])
def test_a_row_alone_is_the_row_of_an_array(op: str, type: Any, options: dict[str, Any]) -> None:
    vectors = hu.vectors(op, type, level="weighted", n=400, seed=5, **options)
    function = one_row_function(vectors.computation)
    roles = [column.role for column in vectors.computation.outputs]
    for inputs, expected in outputs(vectors):
        found = function(inputs)
        assert not found.undefined or vectors.computation.keep_ub
        poison = any(code for code, role in zip(expected, roles, strict=True) if role is Role.POISON)
        for role, code, right in zip(roles, found.outputs, expected, strict=True):
            if role is Role.POISON or not poison:
                assert code == right, (inputs, found, expected)


@pytest.mark.parametrize(("op", "type", "options"), CASES[:21])
def test_most_ops_need_no_arrays(op: str, type: Any, options: dict[str, Any]) -> None:
    computation = hu.vectors(op, type, n=1, **options).computation
    assert op == "math.clampf" or _scalar_function(computation) is not None  # type: ignore[arg-type]


def test_undefined_behaviour_is_told() -> None:
    function = one_row_function(hu.vectors("arith.divsi", "i8").computation)
    assert function((7, 0)).undefined
    assert function((0x80, 0xFF)).undefined  # -128 / -1
    assert function((7, 0xFE)) == ((0xFD,), False)  # 7 / -2 = -3


@pytest.mark.parametrize(
    ("op", "type", "to"),
    [("arith.addf", "f8E4M3FN", None), ("arith.truncf", "f16", "f8E5M2"), ("math.tanh", "f8E4M3FN", None)],
)
def test_running_coverage_hits_what_a_count_of_all_rows_hits(op: str, type: str, to: str | None) -> None:
    case = op_case(op, type, to)
    model_case = model_case_of(case)
    assert model_case is not None
    rows = [row[: len(case.operands)] for row, _ in outputs(hu.vectors(op, type, to=to, level="weighted", n=300))]
    running = RunningCoverage(case, ["all"])
    for start in range(0, 300, 70):
        running.take(rows[start : start + 70])
    for found in running.models:
        counted = coverage(MODELS[found.model.name], model_case, rows)
        assert {bucket for bucket, count in counted.items() if count} == set(found.hit)
        assert {bucket for bucket, count in counted.items() if not count} == set(found.missing)
    assert not running.complete


def test_coverage_becomes_complete_with_the_rows_of_the_model() -> None:
    vectors = hu.vectors("arith.mulf", "bf16", models=["B3"])
    running = RunningCoverage(op_case("arith.mulf", "bf16"), ["B3"])
    assert not running.complete
    assert "B3        0 of 16" in str(running)
    assert "not hit: + 0 0 0; + 0 0 1" in str(running)
    running.take([row for row, _ in outputs(vectors)])
    assert running.complete
    assert str(running).startswith("B3       16 of 16")
    with pytest.raises(hu.errors.InputError, match="F1 does not apply"):
        RunningCoverage(op_case("arith.mulf", "bf16"), ["F1"])
