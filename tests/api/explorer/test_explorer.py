"""The tables of ``halfulp formats --explore`` against the specification, the page's text, and the command.

test_explorer_browser.py runs the page itself.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from amounts import amounts, thinned
from command import halfulp
from explorer_functions import STORED, text
from explorer_page import around, ask, choose, code_at, outcome, places
from explorer_page import text as shown

from halfulp.explanations.explaining import explain
from halfulp.explanations.rules import rounding_rule
from halfulp.explorer.decisions import FUNCTIONS, results_of, small_formats, tables
from halfulp.explorer.notebook import page
from halfulp.fp_formats import scalar
from halfulp.fp_formats.formats import FORMATS, FloatFormat
from halfulp.fp_formats.policy import Flags, Rounding
from halfulp.number_reader import MODES

if TYPE_CHECKING:
    from playwright.sync_api import Page

F64 = FORMATS["f64"]


@cache
def rows() -> dict[str, Any]:
    """Return the tables as the page reads them, by format."""
    read = json.loads(json.dumps(tables()))
    for row in read["formats"]:
        row["outcomes"] = [(result, flags, read["rules"][rule]) for result, flags, rule in row["outcomes"]]
    return {row["name"]: row for row in read["formats"]}


def looked_up(fmt: FloatFormat, sign: int, magnitude: int, part: Fraction) -> list[tuple[int | None, int, str]]:
    """Code, flags and rule by mode, and after them those of the three ways of stochastic rounding, as the page finds
    them for what lies ``part`` of the way after a magnitude.
    """
    row = rows()[fmt.name]
    if not part:
        found = row["special"]["exact"][sign]
    else:
        region = next(region for region in row["regions"] if magnitude <= int(region["last"], 16))
        position = sum((4 * part >= cut) + (4 * part > cut) for cut in region["cuts"])
        found = region["outcomes"][magnitude & 1][position][sign]
    return [explorer_outcome(fmt, number, sign, magnitude) for number in found]


def explorer_outcome(fmt: FloatFormat, number: int, sign: int = 0, magnitude: int = 0) -> tuple[int | None, int, str]:
    result, flags, rule = rows()[fmt.name]["outcomes"][number]
    names = {"lower": code_at(fmt, sign, magnitude), "upper": code_at(fmt, sign, magnitude + 1), "poison": None}
    return (names[result] if result in names else int(result, 16)), flags, rule


def specified(fmt: FloatFormat, number: Fraction, midpoint: Fraction | None) -> list[tuple[int | None, int, str]]:
    results = [scalar.from_fraction(fmt, number, mode) for mode in MODES.values()]
    return [
        (None if r.poison else r.code, r.flags, rounding_rule(fmt, number, False, mode, r.code, midpoint))
        for mode, r in zip(MODES.values(), results, strict=True)
    ]


def drawn(
    row: list[tuple[int | None, int, str]], part: Fraction, random: tuple[int, int]
) -> tuple[int | None, int, str]:
    """Return the result of stochastic rounding, as the page chooses it."""
    share = Fraction(random[0], 1 << random[1])
    return row[7] if share >= part else row[5] if share < 2 * part - 1 else row[6]


def draws(part: Fraction) -> list[tuple[int, int]]:
    """Return random bits: the ends of two widths, and what is beside the fractions that decide."""
    near = [int(fraction % 1 * (1 << 16)) for fraction in (part, 2 * part)]
    return [(255, 8), *((value, 16) for value in {0, *near, *(value - 1 for value in near)} if value >= 0)]


def check_draws(fmt: FloatFormat, number: Fraction, part: Fraction, row: list[tuple[int | None, int, str]]) -> None:
    for random in draws(part):
        expected = scalar.from_fraction(fmt, number, Rounding.STOCHASTIC, random=random)
        code, flags, rule = drawn(row, part, random)
        assert (code, flags) == (None if expected.poison else expected.code, expected.flags), (number, random)
        if "random bits" in rule:
            away = Fraction(random[0], 1 << random[1]) < part
            assert ("not less" in rule) != away
            assert part < 1


def check_magnitudes(fmt: FloatFormat, magnitudes: list[int]) -> int:
    checked = 0
    for magnitude, part, number in around(fmt, magnitudes):
        unit = Fraction(2) ** scalar.unpack(fmt, fmt.from_magnitude(magnitude)).exponent
        midpoint = number + (Fraction(1, 2) - part) * unit if part else None
        for sign, signed in enumerate((number, -number)):
            middle = midpoint if midpoint is None or not sign else -midpoint
            row = looked_up(fmt, sign, magnitude, part)
            assert row[:5] == specified(fmt, signed, middle), (fmt.name, magnitude, part)
            check_draws(fmt, signed, part, row)
            checked += 1
    return checked


@pytest.mark.long
@pytest.mark.parametrize("fmt", FORMATS.values(), ids=str)
@pytest.mark.parametrize("part", amounts(5, 1))
def test_the_tables_say_what_the_specification_says(fmt: FloatFormat, part: int) -> None:
    # Without a part, all magnitudes of formats of up to 8 bits.
    assert check_magnitudes(fmt, places(fmt, (300 if fmt.bits <= 8 else 24 if fmt.bits > 64 else 80) // part)) > 100


@pytest.mark.exhaustive
@pytest.mark.parametrize("fmt", [fmt for fmt in FORMATS.values() if fmt.bits <= 16], ids=str)
def test_the_tables_say_what_the_specification_says_after_every_value(fmt: FloatFormat) -> None:
    check_magnitudes(fmt, list(range(fmt.max_magnitude + 1)))


@pytest.mark.long
@pytest.mark.parametrize("fmt", thinned(FORMATS.values(), 4), ids=str)
def test_what_is_no_number_other_than_zero(fmt: FloatFormat) -> None:
    special = rows()[fmt.name]["special"]
    for name, bare in (("nan", "nan"), ("inf", "inf"), ("zero", "0")):
        for sign, spelled in enumerate((bare, f"-{bare}")):
            assert len(special[name][sign]) == 8
            assert {special[name][sign][index] for index in (5, 6, 7)} == {special[name][sign][0]}
            for mode, number in zip(MODES, special[name][sign], strict=False):
                explanation = explain(spelled, fmt, mode)
                result = explanation.result
                assert result.flags is not None
                assert explorer_outcome(fmt, number) == (result.code, int(result.flags), explanation.rule)
    assert ("below" in special) == (not fmt.zero)
    if not fmt.zero:
        smallest = Fraction(2) ** fmt.emin
        for part in (Fraction(1, 10**9), Fraction(1, 2), Fraction(3, 4), 1 - Fraction(1, 10**9)):
            for sign, number in enumerate((smallest * part, -smallest * part)):
                row = [explorer_outcome(fmt, index) for index in special["below"][sign]]
                assert row[:5] == specified(fmt, number, None)
                assert row[5:] == row[:1] * 3
                for random in ((0, 8), (255, 8)):
                    expected = scalar.from_fraction(fmt, number, Rounding.STOCHASTIC, random=random)
                    assert row[5][:2] == (expected.code, expected.flags)


@pytest.mark.long
def test_flags_have_the_bits_that_the_page_names() -> None:
    script = page()
    named = re.search(r"const FLAG_NAMES = (\[.*?\]);", script, re.DOTALL)
    assert named is not None
    pairs = json.loads(re.sub(r",\s*\]", "]", named[1]))
    assert pairs == [[int(flag), (flag.name or "").lower().replace("_", " ")] for flag in Flags]


# --- the page ---------------------------------------------------------------------------------------------------------


@pytest.mark.long
def test_the_page_needs_nothing_beside_itself() -> None:
    text = page()
    assert len(text.encode()) < 300_000
    names = r"http://www\.w3\.org/2000/svg"  # a name space: nothing is fetched
    assert re.findall(r"\w+://\S*", re.sub(names, "", text)) == []
    assert re.findall(r"<(?:link|img|iframe|object|embed|base)\b|\bsrc\s*=|url\(|@import", text) == []
    assert re.findall(r"\b(?:fetch|import|XMLHttpRequest|WebSocket|sendBeacon|eval|innerHTML)\b", text) == []
    assert set(re.findall(r'href="([^"])', text)) == {"#"}
    assert re.findall(r"\{\{\w+\}\}", text) == []
    assert "default-src 'none'" in text


@pytest.mark.long
def test_the_page_is_the_same_every_time() -> None:
    # In other processes, too: no order of a set or a dictionary of hashes is in it.
    script = "import sys; from halfulp.explorer.notebook import page; sys.stdout.buffer.write(page().encode())"
    for seed in ("1", "2"):
        environment = {**os.environ, "PYTHONHASHSEED": seed}
        done = subprocess.run([sys.executable, "-I", "-c", script], env=environment, capture_output=True, check=True)
        assert done.stdout == page().encode()


# --- the command ------------------------------------------------------------------------------------------------------


@pytest.mark.long
def test_the_command_writes_the_page(tmp_path: Path) -> None:
    made = halfulp("formats", "--explore", "-o", "page.html", cwd=tmp_path)
    assert (made.code, made.out, made.err) == (0, "", "")
    assert (tmp_path / "page.html").read_bytes() == page().encode()
    assert [path.name for path in tmp_path.iterdir()] == ["page.html"]
    assert halfulp("formats", "--explore", "-o", "-", environment={"PYTHONIOENCODING": "ascii"}).out == page()


@pytest.mark.long
def test_the_command_says_what_is_wrong(tmp_path: Path) -> None:
    refused = halfulp("formats", "--explore", "-o", "no/such/folder.html", cwd=tmp_path)
    assert (refused.code, refused.out) == (2, "")
    assert refused.err.startswith("error: cannot write 'no/such/folder.html': ")
    missing = halfulp("formats", "--explore")
    assert missing.code == 2
    assert "-o" in missing.err


# --- explorer functions -----------------------------------------------------------------------------------------------
#
# The elementary functions of the explore page, in headless Chromium, against halfulp.

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
