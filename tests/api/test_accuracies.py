"""Pictures of functions: the staircase, the errors of an implementation, refusals."""

from fractions import Fraction
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from tables import each_row

import halfulp as hu
from halfulp.fp_formats import scalar
from halfulp.fp_formats.formats import FORMATS
from halfulp.fp_formats.reals import elementary
from halfulp.interp.ir.errors import InputError, Unsupported


def lines(figure: Any, panel: int) -> dict[str, Any]:
    return {line.get_label(): line for line in figure.axes[panel].lines}


def two_in_place_of_tanh(x: Any) -> Any:
    return np.full_like(x, 2)


def test_a_staircase_has_each_value_of_the_type() -> None:
    fmt = FORMATS["f8E4M3FN"]
    figure = hu.plot.function("tanh", "f8E4M3FN", -2, 2, "upward")
    (label, line) = next((label, line) for label, line in lines(figure, 0).items() if label.startswith("rounded once"))
    xs, ys = line.get_data()
    assert len(xs) == 129  # zero, and 64 values of each sign up to 2
    for x, y in zip(xs.tolist(), ys.tolist(), strict=True):
        code = scalar.from_fraction(fmt, Fraction(x)).code
        assert y == scalar.value(fmt, elementary.unary("tanh", fmt, code, rounding=2).code)
    assert line.get_drawstyle() == "steps-mid"
    assert "at most 1 ulp" in label
    assert figure.get_suptitle() == "tanh in f8E4M3FN, upward, 129 arguments"


def test_errors_of_an_implementation() -> None:
    figure = hu.plot.function("tanh", "bf16", 1, 2, against=two_in_place_of_tanh)
    label = "two_in_place_of_tanh: at most 317 ulp, 129 of 129 not rounded once"
    assert label in lines(figure, 0)
    drawn: list[Any] = [line.get_data() for line in figure.axes[1].lines]
    dots = [data for data in drawn if len(data[0]) == 129]
    exact, wrong = (np.asarray(ys) for _, ys in dots)
    assert np.abs(exact).max() <= 0.5
    # At 1: 2 - tanh(1) over 2**-8, an ulp of bf16 below 1.
    assert wrong[0] == pytest.approx((2 - np.tanh(1.0)) * 2**8, rel=1e-12)
    assert figure.axes[1].get_yscale() == "symlog"


def test_a_correct_implementation_has_no_wrong_results() -> None:
    figure = hu.plot.function("log", "f8E5M2", 0, 4, against="ml_dtypes", dark=True)
    assert any("0 of 69 not rounded once" in label for label in lines(figure, 0))


def test_many_errors_are_drawn_as_ranges() -> None:
    def linear(x: Any) -> Any:
        return x.astype(np.float32).astype(ml_dtypes.bfloat16)

    figure = hu.plot.function("tanh", "bf16", 2.0**-40, 4, against=linear, log=True)
    assert figure.axes[1].get_xscale() == "log"
    collection: Any = figure.axes[1].collections[-1]
    ranges = collection.get_segments()
    assert 100 < len(ranges) <= 480
    largest = max(float(end) for segment in ranges for end in segment[:, 1])
    assert largest == pytest.approx((4 - np.tanh(4.0)) * 2**8, rel=1e-6)


@pytest.mark.long
@each_row(
    (("tanh", "bf16", 2, 1), "low must be less"),
    (("tanh", "f32", 0, 1), "1 to 131,072 can be drawn: change low and high"),
    (("tanh", "f64", 0, 1), "a picture shows only types whose values f64 has"),
    (("atan2", "f16", 0, 1), "a function of one float argument"),
    (("tanh", "f16", 0, 1, "nonsense"), "nonsense"),
)
def test_refusals(arguments: tuple[Any, ...], message: str) -> None:
    with pytest.raises(InputError, match=message):
        hu.plot.function(*arguments)


@pytest.mark.long
def test_refusals_of_implementations_and_axes(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="it must be positive"):
        hu.plot.function("tanh", "bf16", 0, 1, log=True)
    with pytest.raises((InputError, Unsupported), match="tanhh"):
        hu.plot.function("tanhh", "f16", 0, 1)
    with pytest.raises(Unsupported, match="numpy"):
        hu.plot.function("sigmoid", "f16", 0, 1, against="numpy")
    hu.plot.save(hu.plot.function("exp", "f4E2M1FN", -2, 2), tmp_path / "exp.svg")
    assert (tmp_path / "exp.svg").stat().st_size > 5000
