"""`hu.round_rows`: the named functions of rows against mpmath, special rows, functions of users, and errors."""

from __future__ import annotations

import re
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import mpmath
import numpy as np
import pytest

import halfulp as hu
from halfulp.exact_reals.rows import NAMED_ROWS
from halfulp.fp_formats import scalar
from halfulp.fp_formats.formats import FORMATS
from halfulp.fp_formats.policy import SPEC, Rounding, as_rounding

Row = list[Any]


def mean(row: Row) -> Any:
    return mpmath.fsum(row) / len(row)


def variance(row: Row) -> Any:
    return mean([(x - mean(row)) ** 2 for x in row])


EPS = Fraction(1, 100000)
REFERENCES: dict[str, Callable[[Row], Row]] = {
    "softmax": lambda row: [mpmath.exp(x) / mpmath.fsum(map(mpmath.exp, row)) for x in row],
    "log_softmax": lambda row: [x - mpmath.log(mpmath.fsum(map(mpmath.exp, row))) for x in row],
    "logsumexp": lambda row: [mpmath.log(mpmath.fsum(map(mpmath.exp, row)))],
    "layer_norm": lambda row: [(x - mean(row)) / mpmath.sqrt(variance(row) + mpmath.mpf(1) / 100000) for x in row],
    "rms_norm": lambda row: [x / mpmath.sqrt(mean([y * y for y in row]) + mpmath.mpf(1) / 100000) for x in row],
    "mean": lambda row: [mean(row)],
    "var": lambda row: [variance(row)],
    "std": lambda row: [mpmath.sqrt(variance(row))],
    "l2_norm": lambda row: [mpmath.sqrt(mpmath.fsum(x * x for x in row))],
}


def codes(value: hu.Value) -> list[int]:
    return [int(code) for code in np.asarray(value.bits).reshape(-1)]


@pytest.mark.parametrize("name", NAMED_ROWS)
@pytest.mark.parametrize("mode", ["to_nearest_even", "downward", "upward"])
def test_named_functions_are_rounded_as_mpmath_says(name: str, mode: str) -> None:
    rows = np.random.default_rng(7).normal(size=(3, 7)).astype(np.float32) * 5
    rows[1] *= 20  # differences of hundreds
    eps = EPS if NAMED_ROWS[name].takes_eps else None
    for to in ("bf16", "f32", "f8E4M3FN"):
        found = codes(hu.round_rows(name, rows, to=to, rounding=mode, eps=eps))
        expected = []
        for row in rows.tolist():
            with mpmath.workprec(3000):
                exact = REFERENCES[name]([mpmath.mpf(x) for x in row])
                for number in exact:
                    sign, significand, exponent, _ = number._mpf_
                    packed = scalar.round_pack(
                        FORMATS[to], sign, int(significand), int(exponent), as_rounding(mode), SPEC
                    )
                    expected.append(packed.code)
        assert found == expected


def test_exact_rows() -> None:
    x = np.array([[1, 2, 3, 4], [5, 5, 5, 5], [0, 0, 3, 4]], np.float32)
    assert hu.round_rows("mean", x).tolist() == [2.5, 5.0, 1.75]
    assert hu.round_rows("var", x).tolist() == [1.25, 0.0, 3.1875]
    assert hu.round_rows("l2_norm", x[1:]).tolist() == [10.0, 5.0]
    assert hu.round_rows("softmax", x[1]).tolist() == [0.25] * 4
    assert hu.round_rows("layer_norm", x[1], eps=1).tolist() == [0.0] * 4
    assert hu.round_rows("softmax", x[0:1], rounding=Rounding.UPWARD).shape == (1, 4)


def test_masked_and_far_rows() -> None:
    minus = -np.inf
    x = np.array([[0, minus, 0], [1e30, 0, minus], [minus] * 3, [np.inf, 0, 0], [np.nan, 1, 2]], np.float32)
    found = hu.round_rows("softmax", x).numpy()
    assert found[0].tolist() == [0.5, 0.0, 0.5]
    assert found[1].tolist() == [1.0, 0.0, 0.0]
    assert np.isnan(found[2:]).all(axis=1).tolist() == [True, True, True]
    down = hu.round_rows("softmax", x[1, :2], rounding="downward").numpy()
    assert down.tolist() == [float(np.nextafter(np.float32(1), np.float32(0))), 0.0]
    assert hu.round_rows("logsumexp", x[:2], rounding="downward").tolist()[1] == float(np.float32(1e30))


def test_axes_poison_and_wide_formats() -> None:
    x = np.arange(24, dtype=np.float64).reshape(2, 3, 4)
    assert hu.round_rows("mean", x, axis=1) == hu.round_rows("mean", np.moveaxis(x, 1, -1))
    softmax = hu.round_rows("softmax", x, axis=0)
    assert softmax.shape == x.shape
    assert softmax.numpy()[:, 1, 2].tolist() == hu.round_rows("softmax", x[:, 1, 2]).tolist()
    lost = hu.convert([[1.0, np.nan], [1.0, 1.0]], "f4E2M1FN")
    found = hu.round_rows("softmax", lost, to="f16")
    assert found.poisoned.tolist() == [[True, True], [False, False]]
    assert found.origin(0, 1) == lost.origin(0, 1)
    wide = hu.round_rows("std", hu.convert([[1.0, 3.0]], "f128"))
    assert (str(wide.element_type), wide.item()) == ("f128", 1.0)
    assert hu.round_rows("mean", np.zeros((0, 3), np.float32)).shape == (0,)
    assert hu.round_rows("softmax", [[1, 2]], to="bf16").shape == (1, 2)


def test_functions_of_users() -> None:
    x = hu.convert([[3.0, 1.0, 2.0], [-1.0, 4.0, 4.0]], "bf16")
    assert hu.round_rows(sorted, x).tolist() == [[1.0, 2.0, 3.0], [-1.0, 4.0, 4.0]]
    assert hu.round_rows(max, x).tolist() == [3.0, 4.0]
    assert hu.round_rows(lambda row: np.sum(np.square(row)).sqrt(), x, to="f64") == hu.round_rows(
        "l2_norm", x, to="f64"
    )
    assert hu.round_rows(lambda row: [row[0] / 3, 7], x).shape == (2, 2)


@pytest.mark.parametrize(
    ("f", "x", "options", "error", "part"),
    [
        ("sofmax", [[1.0]], {}, ValueError, "`softmax`"),
        ("softmax", [[1.0]], {"eps": 1}, ValueError, "no eps"),
        (max, [[1.0]], {"eps": 1}, ValueError, "into the function"),
        ("softmax", 1.0, {}, TypeError, "hu.round"),
        ("softmax", [[1.0]], {"axis": 2}, np.exceptions.AxisError, "axis 2"),
        ("softmax", np.zeros((2, 0)), {}, ValueError, "without elements"),
        (lambda row: 0.5, [[1.0]], {}, TypeError, "hu.Real"),
        (lambda row: row[:1] if row[0] > 0 else row, [[1.0, 2.0], [-1.0, 2.0]], {}, ValueError, "for another row"),
        (lambda row: row[0] if row[0] > 0 else row, [[1.0, 2.0], [-1.0, 2.0]], {}, ValueError, "a real for another"),
        (lambda row: max(row), [[np.nan, 2.0]], {}, ValueError, "cannot be called"),
        (
            lambda row: row[0].sin() ** 2 + row[0].cos() ** 2,
            [[0.0], [1.0]],
            {},
            hu.errors.LimitExceeded,
            "row [1], result 0",
        ),
        (7, [[1.0]], {}, TypeError, "softmax"),
    ],
)
def test_errors(f: Any, x: Any, options: dict[str, Any], error: type[Exception], part: str) -> None:
    with pytest.raises(error, match=re.escape(part)):
        hu.round_rows(f, x, **options)
