"""Explanations of arrays: rows, counts, the worst elements, bounds, and broadcasting."""

import json
from collections import Counter
from fractions import Fraction
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import halfulp as hu
from halfulp.explanations.tables import kind_of
from halfulp.fp_formats import scalar
from halfulp.fp_formats.formats import FORMATS
from halfulp.fp_formats.policy import Rounding

MODES = ("to_nearest_even", "downward", "upward", "toward_zero", "to_nearest_away")


@pytest.mark.long
@pytest.mark.parametrize("name", ["f4E2M1FN", "f8E4M3FN", "f8E5M2", "f8E8M0FNU", "f8E4M3FNUZ", "bf16", "f16"])
@pytest.mark.parametrize("rounding", MODES)
def test_the_counts_of_the_whole_are_those_of_the_elements(name: str, rounding: str) -> None:
    """The counts come from arrays of f64; for each element alone they come from fractions."""
    rng = np.random.default_rng(len(name))
    numbers = np.concatenate(
        [
            rng.normal(size=40) * 10.0 ** rng.integers(-6, 6, 40),
            [0.0, -0.0, 1.0, 1.0625, 3.0, 5.0, 464.0, -464.0, 1e300, 5e-324, -5e-324, np.inf, -np.inf, np.nan],
        ]
    ).astype(np.float64)
    table = hu.explain(numbers, name, rounding)
    assert table.counts == Counter(kind_of(one) for one in table)
    assert table.counted == numbers.size == sum(table.counts.values())
    for one, number in zip(table, numbers, strict=True):
        assert str(one).splitlines()[3:] == str(hu.explain(float(number), name, rounding)).splitlines()[3:]


def test_results_are_those_of_convert() -> None:
    numbers = np.linspace(-500, 500, 60)
    table = hu.explain(numbers, "f8E4M3FN")
    codes = hu.convert(numbers, "f8E4M3FN").bits.tolist()
    assert [one.result.code for one in table] == codes
    assert [row["code"] for row in table.to_dict()["rows"]] == [f"0x{code:02X}" for code in codes[:12]]


@pytest.mark.parametrize(
    "given",
    [
        [0.1, 0.2, 0.3],
        (0.1, 0.2, 0.3),
        np.array([0.1, 0.2, 0.3]),
        np.array([0.1, 0.2, 0.3], ">f8"),
        hu.Value.from_numpy(np.array([0.1, 0.2, 0.3])),
    ],
)
def test_kinds_of_input(given: Any) -> None:
    table = hu.explain(given, "f8E4M3FN")
    assert len(table) == 3
    assert [one.result.code for one in table] == [0x1D, 0x25, 0x2A]
    assert table[-1].result.value == Fraction(5, 16)
    assert table[2].modes


def test_exact_inputs_and_wide_types() -> None:
    table = hu.explain(["0.1", Fraction(1, 3), 2], "f16")
    assert table[1].exact == Fraction(1, 3)
    wide = hu.explain(hu.convert([1.5, 2.5], "f128"), "f8E4M3FN")
    assert [one.result.value for one in wide] == [Fraction(3, 2), Fraction(5, 2)]
    assert hu.explain(np.array([1 << 60, (1 << 60) + 1]), "f64")[1].exact == (1 << 60) + 1
    assert hu.explain(np.array([200, 100], np.uint8), "f16")[0].exact == 200
    small = hu.explain(np.array([1.5, 2], ml_dtypes.float8_e4m3fn), "f4E2M1FN")
    assert [one.result.value for one in small] == [Fraction(3, 2), 2]


@pytest.mark.torch
def test_torch() -> None:
    torch = pytest.importorskip("torch")
    tensor = torch.tensor([0.1, 0.3], dtype=torch.float32)
    assert [one.result.code for one in hu.explain(tensor, "f8E4M3FN")] == [0x1D, 0x2A]
    assert hu.explain(tensor[1], "f8E4M3FN").result.code == 0x2A
    assert hu.explain_op("arith.addf", tensor.to(torch.bfloat16), 1, type="f16").shape == (2,)


def test_texts_types_and_refusals() -> None:
    table = hu.explain(["0x7F", "nan", "f32=0.5"], "f8E4M3FN")
    assert [one.result.code for one in table] == [0x7F, 0x7F, 0x30]
    assert hu.explain([0.3, 1], "f8E4M3FN", type="bf16")[0].exact == hu.explain(0.3, "bf16").result.value
    with pytest.raises(hu.errors.InputError, match="masked"):
        hu.explain(np.ma.array([1.0, 2.0], mask=[True, False]), "f16")
    with pytest.raises(hu.TypeMismatch):
        hu.explain([[1.0], [1.0, 2.0]], "f16")
    with pytest.raises(hu.TypeMismatch, match="NoneType is not a number"):
        hu.explain([None], "f16")
    with pytest.raises(hu.errors.InputError, match="'x' is not a number"):
        hu.explain(["x"], "f16")


def test_wide_types_are_counted_one_by_one() -> None:
    table = hu.explain(hu.convert(np.linspace(0, 1, 3000), "f128"), "f16")
    assert (table.counted, table.size) == (200, 3000)
    assert table[2999].result.value == 1
    assert hu.explain(np.arange(3000, dtype=np.int64), "f128").counts == {"exact": 200}


def test_poison() -> None:
    value = hu.convert([1.0, np.nan, 3.0], "f4E2M1FN")
    table = hu.explain(value, "f16")
    assert table.counts == {"exact": 2, "poison": 1}
    assert table.rows[2][1] == "poison"
    assert "NaN is not representable in f4E2M1FN" in str(table)
    assert table[0].result.value == 1
    with pytest.raises(hu.errors.InputError, match="poison"):
        table[1]
    added = hu.explain_op("arith.addf", value, 1, type="f4E2M1FN")
    assert added.counts["poison"] == 1
    assert added[2].result == hu.eval("arith.addf", 3, 1, type="f4E2M1FN").bits
    with pytest.raises(hu.errors.InputError, match="poison"):
        added[1]


def test_shapes_and_indices() -> None:
    table = hu.explain(np.arange(6.0).reshape(2, 3) / 7, "f8E4M3FN")
    assert table.shape == (2, 3)
    assert table[1, 2].exact == Fraction(5 / 7)
    assert table[-1, -1].exact == Fraction(5 / 7)
    for wrong in (0, (0, 3), (2, 0), (0, slice(None)), (-3, 0)):
        with pytest.raises(IndexError):
            table[wrong]
    assert str(hu.explain(np.zeros(0), "f16")).startswith("0 numbers in f16")


def test_large_arrays_are_summarised() -> None:
    numbers = np.random.default_rng(5).normal(size=200_000)
    numbers[[777, 1234]] = 1e6, np.nan
    table = hu.explain(numbers, "f8E4M3FN")
    text = str(table)
    assert len(text.splitlines()) < 40
    assert len(table._repr_html_()) < 30_000
    assert sum(table.counts.values()) == table.counted == 200_000
    assert table.worst[0] == (777,)
    result = hu.convert(numbers, "f8E4M3FN")
    exact = int(np.count_nonzero(np.asarray(result.numpy(), np.float64) == numbers))
    assert table.counts.get("exact", 0) == exact
    for index in table.worst[1:]:
        assert abs(table[index].result.error) > Fraction(49, 100)


def test_the_worst_come_first() -> None:
    numbers = np.array([1.0, 1.03, 1.06, 1.0624] + [1.0] * 40)
    table = hu.explain(numbers, "f8E4M3FN")
    assert table.worst == ((3,), (2,), (1,))
    errors = [abs(table[index].result.error) for index in table.worst]
    assert errors == sorted(errors, reverse=True)


def test_ops_broadcast() -> None:
    table = hu.explain_op("arith.mulf", [[1.5], [0.3]], [1.5, 2, 3], type="f8E4M3FN")
    assert table.shape == (2, 3)
    for i, x in enumerate((1.5, 0.3)):
        for j, y in enumerate((1.5, 2, 3)):
            assert str(table[i, j]) == str(hu.explain_op("arith.mulf", x, y, type="f8E4M3FN"))
    with pytest.raises(hu.errors.InputError, match="do not broadcast"):
        hu.explain_op("arith.mulf", [1, 2], [1, 2, 3], type="f16")


def test_ops_on_integers() -> None:
    table = hu.explain_op("arith.divsi", np.array([7, -128, 5], np.int8), [2, -1, 0], type="i8")
    assert table.counts == {"a rounded quotient": 1, "undefined behaviour": 2}
    assert table[1].undefined
    assert table[0].result == 3
    large = hu.explain_op("arith.addi", np.arange(1000, dtype=np.int16), 1, type="i16")
    assert (large.counted, large.counts) == (200, {"exact": 200})
    assert "of the first 200 of 1,000 elements" in str(large)
    assert large[999].result == 1000
    assert hu.explain_op("arith.addui_extended", [200, 1], [100, 1], type="i8").counts == {"wrapped": 1, "exact": 1}
    assert hu.explain_op("arith.addi", [-128, 1], -128, type="i8").counts == {"wrapped": 1, "exact": 1}
    assert hu.explain_op("arith.fptosi", [1.5, 2], to="i8").counts == {"other results": 2}
    assert hu.explain_op("arith.divsi", [7, 6], 2, type="i8", exact=True).counts == {"poison": 1, "exact": 1}
    assert hu.explain_op("arith.divf", [1.0, 0.0, 6.0], [0.0, 0.0, 3.0], type="f16").counts == {
        "other results": 1,
        "NaN": 1,
        "exact": 1,
    }


def test_stochastic_tables() -> None:
    random = np.array([0, 255, 100], np.uint8)
    table = hu.explain([0.1, 0.2, 0.3], "f8E4M3FN", rounding="stochastic", random=random)
    expected = hu.convert([0.1, 0.2, 0.3], "f8E4M3FN", rounding="stochastic", random=random)
    assert [one.result.code for one in table] == expected.bits.tolist()
    with pytest.raises(hu.errors.InputError, match="one unsigned integer for each element"):
        hu.explain([0.1, 0.2, 0.3], "f8E4M3FN", rounding="stochastic", random=random[:2])
    assert "probability of away" in str(hu.explain([0.1], "f8E4M3FN", rounding="stochastic"))


def test_records_and_html() -> None:
    table = hu.explain([0.1, 448.0, 1000.0], "f8E4M3FN")
    record = json.loads(json.dumps(table.to_dict()))
    assert record["shape"] == [3]
    assert record["rows"][1]["error in ulp"] == "0"
    html = table._repr_html_()
    for row in table.rows:
        for cell in row:
            assert cell in html
    assert "<script>" not in hu.explain(["1/3"], hu.FloatFormat("<script>", 4, 3, 7))._repr_html_()
    largest = scalar.value(FORMATS["f8E4M3FN"], 0x7E)
    assert table[1].result.value == largest
    assert Rounding.TO_NEAREST_EVEN.spelling in table.title
