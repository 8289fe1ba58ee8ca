"""The elementary functions of the explore page, in headless Chromium, against halfulp."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import numpy as np
import pytest
from explorer_functions import STORED, text
from explorer_page import ask, choose, outcome
from explorer_page import text as shown

from halfulp.explorer.decisions import FUNCTIONS, results_of, small_formats
from halfulp.fp_formats.formats import FORMATS, FloatFormat

if TYPE_CHECKING:
    from playwright.sync_api import Page

APPLIED = """(name, [functions]) => functions.map((operation) => {
  const format = FORMATS.get(name);
  return Array.from({ length: 1 << format.bits }, (_, code) => {
    const made = applied(format, operation, { code: BigInt(code), rule: "" });
    return rounded(format, made).map(({ code, flags }) => [code === null ? null : Number(code), flags]);
  });
})"""


@pytest.mark.chromium
@pytest.mark.parametrize("fmt", small_formats(), ids=str)
def test_every_result_in_every_mode_is_that_of_halfulp(fmt: FloatFormat, shared: Page) -> None:
    for name, got in zip(FUNCTIONS, ask(shared, APPLIED, fmt, [list(FUNCTIONS)]), strict=True):
        expected = [[list(result) for result in row] for row in results_of(name, fmt)]
        assert len(got) == 1 << fmt.bits
        wrong = [(hex(code), *pair) for code, pair in enumerate(zip(got, expected, strict=True)) if pair[0] != pair[1]]
        assert wrong == [], (name, len(wrong), wrong[:5])


@pytest.mark.exhaustive
def test_the_stored_tables_are_those_that_halfulp_makes() -> None:
    assert STORED.read_text(encoding="utf-8") == text()


@pytest.mark.added
def test_the_stored_tables_are_complete() -> None:
    stored = json.loads(STORED.read_text(encoding="utf-8"))
    again = "run `python tests/explorer_functions.py`"
    assert tuple(stored["functions"]) == FUNCTIONS, again
    assert list(stored["formats"]) == [fmt.name for fmt in small_formats()], again
    assert STORED.stat().st_size < 100_000


@pytest.mark.chromium
def test_a_function_is_shown(view: Page) -> None:
    view.set_viewport_size({"width": 390, "height": 900})
    choose(view, "f8E4M3FN", "2")
    view.select_option("#operation", "exp")
    assert outcome(view).startswith("exp 2 is 0x40 = 2 0x4F = 7.5 ")
    assert "between 7 (0x4E) and 7.5 (0x4F), above the midpoint 7.25" in shown(view, "#line")
    assert not view.is_visible("#other-controls")
    assert "from a table that halfulp made of exp" in shown(view, "#facts")
    assert view.evaluate("document.documentElement.scrollWidth") <= 390
    # -1 / 3 lies between -0.34375 and -0.3125, nearer to the first.
    choose(view, "f8E4M3FN", "-3", "upward")
    view.select_option("#operation", "reciprocal")
    assert "0xAA = -0.3125 " in outcome(view)
    assert "below the midpoint -0.328125" in shown(view, "#line")
    choose(view, "f8E4M3FN", "-3", "stochastic")
    assert "the five other modes" in shown(view, "#wrong")
    choose(view, "bf16", "-3")
    assert 'hu.explain_op("reciprocal", …, type="bf16")' in shown(view, "#wrong")
    assert not view.is_visible("#result")


def test_f64_holds_the_midpoints_of_the_formats() -> None:
    # So a number between two f64s is on no midpoint.
    for fmt in small_formats():
        assert fmt.mantissa_bits + 2 < FORMATS["f64"].mantissa_bits
        assert np.ldexp(1.0, fmt.emin - fmt.mantissa_bits - 2) > 0
