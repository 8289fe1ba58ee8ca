"""The page of ``halfulp formats --explore`` in headless Chromium, from a file: its arithmetic against the specification, and what
clicks and keys do.

The screenshots go to build/explore, which git ignores; HALFULP_SCREENSHOTS names another folder.
"""

from __future__ import annotations

import os
import random
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from explorer_page import around, ask, bits, choose, outcome, places, text
from float_samples import interesting, one_code
from tree import ROOT

from halfulp.explanations.explaining import explain
from halfulp.fp_formats import scalar
from halfulp.fp_formats.formats import FORMATS, FloatFormat
from halfulp.fp_formats.spelling import binary_text, decimal_text, hex_text, number_text, signed_text, value_text
from halfulp.interp.ir.errors import InputError
from halfulp.number_reader import MODES
from halfulp.texts import flags_text

if TYPE_CHECKING:
    from playwright.sync_api import BrowserContext, Page

pytestmark = pytest.mark.chromium

SCREENSHOTS = Path(os.environ.get("HALFULP_SCREENSHOTS", ROOT / "build" / "explore"))
KINDS = ("finite", "inf", "nan", "signalling nan")  # as scalar numbers them


# --- the arithmetic of the script -------------------------------------------------------------------------------------

UNPACKED = """(name, codes) => codes.map((code) => {
  const x = unpack(FORMATS.get(name), BigInt(code));
  return x.kind === "finite" ? `${x.kind} ${x.sign} ${x.significand} ${x.exponent}` : `${x.kind} ${x.sign}`;
})"""

TEXTS = """(name, codes) => codes.map((code) => {
  const [format, bits] = [FORMATS.get(name), BigInt(code)];
  const finite = unpack(format, bits).kind === "finite";
  return [hexText(format, bits), valueText(format, bits), finite ? binaryText(format, bits) : "",
          finite ? numberText(valueOf(format, bits)) : ""];
})"""

ROUNDED = """(name, numbers) => numbers.map(([sign, n, d]) => {
  const exact = { n: sign ? -BigInt(n) : BigInt(n), d: BigInt(d) };
  const results = rounded(FORMATS.get(name), { kind: "finite", sign, exact, code: null });
  return results.map(({ code, flags, rule }) => [code === null ? null : code.toString(16), flags, rule]);
})"""

EXPLAINED = """(name, texts) => texts.map((typed) => {
  const format = FORMATS.get(name);
  let found;
  try {
    found = explanation(format, typed);
  } catch (error) {
    return error.message;
  }
  const hex = (code) => (code === null ? null : hexText(format, code));
  const number = (value) => (value === null ? null : numberText(value));
  return {
    reading: found.given.reading,
    exact: number(found.given.exact),
    below: hex(found.below),
    above: hex(found.above),
    midpoint: number(found.midpoint),
    ulp: number(found.ulp),
    results: found.results.map(({ code, value, flags, rule, error }) => [
      hex(code), number(value), flagsText(flags), rule, error === null ? null : signedText(error),
    ]),
  };
})"""


def unpacked(fmt: FloatFormat, code: int) -> str:
    x = scalar.unpack(fmt, code)
    if x.kind == scalar.FINITE:
        return f"finite {x.sign} {x.significand} {x.exponent}"
    return f"{KINDS[x.kind]} {x.sign}"


def sampled_codes(fmt: FloatFormat, count: int) -> list[int]:
    draw = random.Random(fmt.name)
    return interesting(fmt) + [one_code(fmt, draw) for _ in range(count)]


@pytest.mark.parametrize("fmt", FORMATS.values(), ids=str)
def test_codes_are_taken_apart_as_the_specification_does(fmt: FloatFormat, shared: Page) -> None:
    codes = list(range(1 << fmt.bits)) if fmt.bits <= 16 else sampled_codes(fmt, 2000)
    assert ask(shared, UNPACKED, fmt, list(map(hex, codes))) == [unpacked(fmt, code) for code in codes]
    some = codes if fmt.bits <= 8 else sampled_codes(fmt, 100)
    expected = []
    for code in some:
        value = scalar.value(fmt, code)
        finite = value is not None
        texts = [binary_text(fmt, code) if finite else "", number_text(value) if value is not None else ""]
        expected.append([hex_text(fmt, code), value_text(fmt, code), *texts])
    assert ask(shared, TEXTS, fmt, list(map(hex, some))) == expected


def numbers(fmt: FloatFormat) -> list[Fraction]:
    """Return positive and negative numbers: around values, and rationals whose denominators are not powers of two."""
    draw = random.Random(fmt.name)
    near = [number for _, _, number in around(fmt, places(fmt, 130 if fmt.bits <= 64 else 40))]
    odd = [number * Fraction(draw.randrange(1, 1 << 40), draw.randrange(1, 1 << 40)) for number in near[::7]]
    beneath = [Fraction(2) ** (fmt.emin - fmt.mantissa_bits) * Fraction(k, 96) for k in range(1, 200)]
    return [sign * number for number in near + odd + beneath for sign in (1, -1)]


@pytest.mark.parametrize("fmt", FORMATS.values(), ids=str)
def test_roundings_are_those_of_the_specification(fmt: FloatFormat, shared: Page) -> None:
    given = numbers(fmt)
    assert len(given) > 600
    answers = ask(shared, ROUNDED, fmt, [[int(x < 0), hex(abs(x.numerator)), hex(x.denominator)] for x in given])
    for number, answer in zip(given, answers, strict=True):
        for mode, (code, flags, _) in zip(MODES.values(), answer, strict=True):
            expected = scalar.from_fraction(fmt, number, mode)
            got = scalar.Result(0 if code is None else int(code, 16), flags, code is None)
            assert got == expected, (fmt.name, mode, decimal_text(number))


def typed(fmt: FloatFormat) -> list[str]:
    """Numbers as they are typed: all kinds, and some that are none."""
    draw = random.Random(fmt.name)
    largest, smallest = scalar.value(fmt, fmt.max_code), Fraction(2) ** (fmt.emin - fmt.mantissa_bits)
    assert largest is not None
    texts = ["0", "-0", "0.0e999999999", "1", "4.25", "-4.25", "464", "465", "3", "0.1", ".5", "5.", "1E3", "+1e-3"]
    texts += ["nan", "-nan", "NaN", "inf", "-Inf", "+inf", "1e400", "-1e400", "1e-400", "1e999999999", "2.5e-324"]
    texts += ["1/3", "-2/3", "+7 / 5", "0/5", "-0/1", "6/4", "1e309", "123456789012345678901234567890"]
    texts += ["", "x", "1/0", "0x", "--1", "1e", "infinity", "0x1.8p3", "1" * 5000, hex(1 << fmt.bits)]
    texts += [hex_text(fmt, code) for code in sampled_codes(fmt, 20)]
    texts += [repr(draw.uniform(-9, 9)), repr(draw.uniform(-9, 9) * 1e-5), repr(draw.expovariate(1e-4))]
    if fmt.bits <= 64:
        around_ends = [largest * part for part in (Fraction(1), Fraction(101, 100), Fraction(3, 2))]
        around_ends += [smallest * Fraction(k, 4) for k in range(1, 9)]
        texts += [f"{sign}{x.numerator}/{x.denominator}" for x in around_ends for sign in ("", "-")]
    return texts


def explained(fmt: FloatFormat, given: str) -> Any:
    try:
        found = {mode: explain(given, fmt, mode) for mode in MODES}
    except InputError as error:
        return error.message

    def number(value: Fraction | None) -> str | None:
        return None if value is None else number_text(value)

    def code(value: int | None) -> str | None:
        return None if value is None else hex_text(fmt, value)

    first = found["to_nearest_even"]
    return {
        "reading": first.reading,
        "exact": number(first.exact),
        "below": code(first.below),
        "above": code(first.above),
        "midpoint": number(first.midpoint),
        "ulp": number(first.ulp),
        "results": [
            [
                code(r.code),
                number(r.value),
                flags_text(r.flags),
                e.rule,
                None if r.error is None else signed_text(r.error),
            ]
            for e in found.values()
            for r in (e.result,)
        ],
    }


@pytest.mark.parametrize("fmt", FORMATS.values(), ids=str)
def test_what_is_typed_is_explained_as_halfulp_explains_it(fmt: FloatFormat, shared: Page) -> None:
    texts = typed(fmt)
    for given, answer in zip(texts, ask(shared, EXPLAINED, fmt, texts), strict=True):
        assert answer == explained(fmt, given), given


# --- clicks and keys --------------------------------------------------------------------------------------------------


def test_numbers_are_typed(view: Page) -> None:
    assert outcome(view) == "0x2A = 0.3125 to nearest: the value above is nearer"
    view.fill("#number", "465")
    beyond = "beyond the largest finite value 448; "
    overflow = "it would round to 480 or more, which does not exist: overflow; f8E4M3FN has no infinities: NaN"
    assert outcome(view) == f"0x7F = nan {beyond}{overflow}, of the same sign"
    view.fill("#number", "464")
    assert outcome(view) == f"0x7E = 448 {beyond}a tie: to the even significand: the largest finite value"
    view.fill("#number", "4.25")
    assert outcome(view) == "0x48 = 4 a tie: to the even significand: the value below"
    assert text(view, ".labels .middle") == "midpoint 4.25 the number is on it"
    view.select_option("#mode", "to_nearest_away")
    assert outcome(view) == "0x49 = 4.5 a tie: away from zero: the value above"
    assert text(view, ".labels .chosen") == "above 0x49 4.5 the result"
    assert view.locator("#modes tr").count() == 5
    assert text(view, "#modes [aria-current]").startswith("▸to_nearest_away 0x49 4.5 +0.5 inexact")


def test_bits_are_clicked(view: Page) -> None:
    assert bits(view) == "00101010"
    view.click("#bits button >> nth=0")
    assert view.input_value("#number") == "0xAA"
    assert outcome(view) == "0xAA = -0.3125 a bit pattern is not rounded"
    view.click("#bits button >> nth=7")
    assert bits(view) == "10101011"
    assert outcome(view).startswith("0xAB = -0.34375 ")
    pressed = [view.get_attribute(f"#bits button >> nth={i}", "aria-pressed") == "true" for i in range(8)]
    assert pressed == [digit == "1" for digit in "10101011"]
    # Another format takes over the value that the bits stand for, rounded.
    view.select_option("#format", "f4E2M1FN")
    assert view.input_value("#number") == "-0.34375"
    assert outcome(view).startswith("0x9 = -0.5 ")


@pytest.mark.parametrize(
    ("name", "code", "carried"),
    [
        ("f64", "0x3FD3333333333333", "0.299999999999999988897769753748434595763683319091796875"),
        ("f128", "0x3FFF0000000000000000000000000001", f"{2**112 + 1}/{2**112}"),
        ("f128", "0x00000000000000000000000000000001", "0x00000000000000000000000000000001"),
        ("f80", "0x80000000000000000000", "-0"),
        ("f32", "0xFF800001", "-nan"),
        ("f32", "0x7F800000", "inf"),
    ],
)
def test_another_format_takes_over_the_exact_value_of_bits(name: str, code: str, carried: str, view: Page) -> None:
    choose(view, name, code)
    view.select_option("#format", "f8E5M2")
    assert view.input_value("#number") == carried


@pytest.mark.parametrize("name", FORMATS)
def test_every_bit_of_every_format_flips(name: str, shared: Page) -> None:
    choose(shared, name, "0x0")
    fmt = FORMATS[name]
    flipped = shared.evaluate(
        """() => [...document.querySelectorAll("#bits button")].map((button) => {
          button.click();
          return document.getElementById("hex").textContent;
        })"""
    )
    ones = (1 << fmt.bits) - 1
    assert flipped == [hex_text(fmt, ones >> (fmt.bits - 1 - i) << (fmt.bits - 1 - i)) for i in range(fmt.bits)]


def test_poison_has_no_bits(view: Page) -> None:
    choose(view, "f4E2M1FN", "nan")
    assert outcome(view) == "poison NaN is not representable in f4E2M1FN: poison"
    assert bits(view) == "????"
    view.click("#bits button >> nth=3")
    assert outcome(view).startswith("0x1 = 0.5 ")


def test_what_is_no_number_is_said(view: Page) -> None:
    view.fill("#number", "1/0")
    assert text(view, "#wrong") == "'1/0' divides by zero"
    assert view.get_attribute("#number", "aria-invalid") == "true"
    assert not view.is_visible("#outcome")
    view.fill("#number", "1")
    assert text(view, "#outcome").startswith("0x38 = 1 ")
    assert view.get_attribute("#number", "aria-invalid") is None
    assert not view.is_visible("#wrong")


RESULTS = ("#outcome", "#line", "#facts", "#modes", "#chances", "#drawn", "#pair", "#operands")


@pytest.mark.parametrize(
    ("control", "typed", "says"),
    [
        ("number", "1/0", "'1/0' divides by zero"),
        ("number", "", "'' is not a number"),
        ("number", "0x1.8", "'0x1.8' is not a number"),
        ("number", "0x1p99999999999", "the exponent of 0x1p99999999999 is too large"),
        ("number", "0x100", "the bit pattern 0x100 does not fit the 8 bits of f8E4M3FN"),
        ("other", "x", "'x' is not a number"),
        ("random", "256", "the random bits 256 do not fit 8 bits"),
        ("random", "-1", "the random bits '-1' are not an unsigned integer"),
        ("random", "1" * 500, "are not an unsigned integer"),
    ],
)
def test_no_stale_result_stands_beside_an_error(control: str, typed: str, says: str, view: Page) -> None:
    view.select_option("#beside", "f8E5M2")
    view.select_option("#operation", "addf")
    choose(view, "f8E4M3FN", "0.3", "stochastic")
    assert outcome(view).endswith("value above") or outcome(view).endswith("value below")
    assert all(view.is_visible(part) for part in RESULTS)
    before = view.input_value(f"#{control}")
    view.fill(f"#{control}", typed)
    assert says in text(view, "#wrong")
    # Neither on the screen nor anywhere in the document, as a reader that sees no styles finds it.
    assert not view.is_visible("#result")
    assert [(view.text_content(part) or "").strip() for part in RESULTS] == [""] * len(RESULTS)
    assert view.locator("#codes [aria-current]").count() == 0
    invalid = [name for name in ("number", "other", "random") if view.get_attribute(f"#{name}", "aria-invalid")]
    assert invalid == [control]
    view.fill(f"#{control}", before)
    assert not view.is_visible("#wrong")
    assert all(view.is_visible(part) for part in RESULTS)
    assert view.locator("[aria-invalid]").count() == 0


def test_a_defect_leaves_no_result_either(context: BrowserContext, address: str) -> None:
    view = context.new_page()
    view.goto(address)
    view.evaluate("() => { TABLES.modes = null; }")
    view.fill("#number", "1")
    assert text(view, "#wrong").startswith("a defect of this page: ")
    assert not view.is_visible("#result")


@pytest.mark.parametrize(
    ("number", "rule"),
    [
        ("-1e-400", "to nearest: the value above is nearer"),
        ("1e-400", "to nearest: the value below is nearer"),
        ("0.3125000000000000000000000000000000000000000001", "to nearest: the value below is nearer"),
        ("4.25000000000000000000000000000000000000000000000000000000001", "to nearest: the value above is nearer"),
    ],
)
def test_a_decimal_is_read_exactly(number: str, rule: str, view: Page) -> None:
    view.fill("#number", number)
    assert rule in outcome(view)
    assert "nothing is rounded" not in text(view, "#result")
    assert " exactly " in f" {text(view, '#facts')} "


def test_two_numbers_are_added(view: Page) -> None:
    view.select_option("#operation", "addf")
    choose(view, "f8E4M3FN", "1.4")
    view.fill("#other", "2.2")
    assert outcome(view) == (
        "1.4 is rounded to 0x3B = 1.375 + 2.2 is rounded to 0x41 = 2.25 = exactly 3.625 "
        "0x46 = 3.5 a tie: to the even significand: the value below"
    )
    view.select_option("#operation", "divf")
    view.fill("#other", "-0")
    assert outcome(view).endswith("0xFF = -nan division by zero: f8E4M3FN has no infinities: NaN, of the same sign")
    assert text(view, "#line") == "No number is rounded here."
    choose(view, "f4E2M1FN", "nan")
    assert outcome(view).endswith("poison an operand is poison (NaN is not representable in f4E2M1FN: poison)")
    # A bit that is clicked is a number by itself.
    choose(view, "f8E4M3FN", "1")
    view.fill("#other", "2")
    view.click("#bits button >> nth=0")
    assert view.input_value("#operation") == ""
    assert not view.is_visible("#other")
    assert outcome(view) == "0xB0 = -0.5 a bit pattern is not rounded"


def test_random_bits_decide(view: Page) -> None:
    choose(view, "f8E5M2", "11/10", "stochastic")  # 2/5 of the way from 1 to 1.25
    view.fill("#random", "102")
    assert outcome(view) == (
        "0x3D = 1.25 the random bits are less than the discarded fraction: away from zero, so the value above"
    )
    assert text(view, "#drawn") == "102 of 256 is 0.3984375: less than the discarded fraction 0.4, so away from zero."
    assert (
        text(view, "#chances")
        == "▸away from zero 0x3D 1.25 2/5 = 40 % 103 of 256 toward zero 0x3C 1 3/5 = 60 % 153 of 256"
    )
    view.fill("#random", "0x67")
    assert outcome(view).startswith("0x3C = 1 ")
    assert text(view, "#chances [aria-current]").startswith("▸toward zero")
    view.select_option("#width", "64")
    assert outcome(view).startswith("0x3D = 1.25 ")
    drawn = set()
    for _ in range(4):
        view.click("#draw")
        drawn.add(int(view.input_value("#random")))
    assert len(drawn) == 4
    assert max(drawn) >> 40
    view.fill("#number", "1")
    assert text(view, "#drawn") == "Every draw gives the same result: nothing is left to chance."
    view.fill("#number", "0x3C")
    assert outcome(view).endswith("a bit pattern is not rounded")
    assert text(view, "#drawn").startswith("Every draw")


def test_two_formats_stand_side_by_side(view: Page) -> None:
    choose(view, "f8E4M3FN", "0.3")
    assert not view.is_visible("#pair")
    view.select_option("#beside", "f8E5M2")
    assert text(view, ".pair thead") == "f8E4M3FN f8E5M2"
    rows = [row.split("\n") for row in view.locator("#pair tr").all_inner_texts()]
    by_name = {view.locator("#pair th").nth(i).inner_text(): i for i in range(len(rows))}
    assert [name.split()[0] for name in by_name][:4] == ["code", "bits", "value", "hexadecimal"]
    cells = view.locator("#pair tr").evaluate_all(
        "(rows) => rows.map((row) => [row.className, ...[...row.children].map((cell) => cell.textContent)])"
    )
    found = {name.split(" ≠")[0]: (kind, a, b) for kind, name, a, b in cells}
    assert found["code"] == ("different", "0x2A", "0x35")
    assert found["bits"] == ("different", "0 0101 010", "0 01101 01")
    assert found["value"] == ("", "0.3125", "0.3125")
    assert found["hexadecimal"] == ("", "0x1.4p-2", "0x1.4p-2")
    assert all((kind == "different") == (a != b) for kind, a, b in found.values())
    # Bits are those of the first format; the second gets their value.
    view.fill("#number", "0x7F")
    assert view.locator("#pair td").nth(1).inner_text() == "0x7F"
    view.fill("#number", "0x38")
    assert view.locator("#pair td").nth(1).inner_text() == "0x3C"
    # Each format rounds the operands itself.
    view.select_option("#operation", "addf")
    choose(view, "bf16", "0.1")
    view.select_option("#beside", "f16")
    assert view.locator("#pair td").nth(1).inner_text() == "0x34CC"
    view.select_option("#beside", "")
    assert not view.is_visible("#pair")


def test_steps_of_one_ulp(view: Page) -> None:
    choose(view, "f8E4M3FN", "0.3")
    view.click("#number-up")
    assert view.input_value("#number") == "0x2A"
    view.focus("#number")
    view.keyboard.press("ArrowDown")
    assert view.input_value("#number") == "0x29"
    assert outcome(view).startswith("0x29 = 0.28125 ")
    choose(view, "f8E4M3FN", "448")
    assert view.get_attribute("#number-up", "aria-disabled") == "true"
    view.click("#number-up", force=True)  # a click on a button without effect
    assert view.input_value("#number") == "448"
    choose(view, "f8E5M2", "57344")
    view.click("#number-up")
    assert outcome(view).startswith("0x7C = inf ")
    choose(view, "f8E5M2", "0x81")
    view.click("#number-up")
    assert outcome(view).startswith("0x80 = -0 ")
    view.select_option("#operation", "mulf")
    view.fill("#other", "1")
    view.click("#other-down")
    assert view.input_value("#other") == "0x3B"


def test_hexadecimal_floats_are_read_and_shown(view: Page) -> None:
    choose(view, "f8E4M3FN", "-0x1.8p-3")
    assert outcome(view) == "0xA4 = -0.1875 the value is exact in this format: nothing is rounded"
    assert "hexadecimal -0x1.8p-3 in binary" in text(view, "#facts")
    view.fill("#number", "0x.1P+3")
    assert outcome(view).startswith("0x30 = 0.5 ")
    view.fill("#number", "0x1p-20000")
    assert outcome(view).startswith("0x00 = 0 to nearest")
    assert "exactly 2.51238805769874458518" in text(view, "#facts")


def test_codes_and_neighbours_are_clicked(view: Page) -> None:
    assert view.locator("#codes button").count() == 256
    view.click("#codes button >> nth=127")
    assert outcome(view) == "0x7F = nan a bit pattern is not rounded"
    assert view.locator("#codes [aria-current]").get_attribute("aria-label") == "0x7F: nan"
    view.fill("#number", "0.3")
    view.click("#line button.below")
    assert outcome(view).startswith("0x29 = 0.28125 ")
    choose(view, "bf16", "1")
    assert view.locator("#codes button").count() == 0
    assert not view.is_visible("#all")


def test_a_view_is_linked_by_its_address(view: Page, address: str) -> None:
    choose(view, "bf16", "1/3", "upward")
    linked = view.evaluate("location.href")
    assert linked.startswith(f"{address}#")
    before = outcome(view)
    view.goto("about:blank")
    view.goto(linked)
    assert outcome(view) == before
    assert view.input_value("#mode") == "upward"
    # A link within the page, and an address that names nothing known.
    view.click("text=465 in f8E4M3FN")
    view.wait_for_function("document.getElementById('hex').textContent === '0x7F'")  # the page hears of it later
    assert outcome(view).startswith("0x7F = nan ")
    view.evaluate("location.hash = '#format=f7&mode=up&number=2'")
    view.wait_for_function("document.getElementById('hex').textContent === '0x40'")
    view.goto("about:blank")  # the next line of the fixture counts what was asked for
    view.goto(address)


def test_the_keyboard_alone_suffices(view: Page) -> None:
    press = view.keyboard.press
    press("Tab")
    assert focused(view) == "format"
    press("Home")
    assert view.input_value("#format") == "f4E2M1FN"
    for _ in range(list(FORMATS).index("f8E4M3FN")):
        press("ArrowDown")
    press("Tab")
    assert focused(view) == "number"
    press("Control+a")
    view.keyboard.type("4.25")
    for name in ("number: one ulp down", "number: one ulp up", "operation", "mode"):
        press("Tab")
        assert focused(view) == name
    press("ArrowDown")
    assert view.input_value("#mode") == "downward"
    press("End")
    assert view.input_value("#mode") == "stochastic"
    press("ArrowUp")
    assert view.input_value("#mode") == "to_nearest_away"
    assert outcome(view).startswith("0x49 = 4.5 ")
    while focused(view) != "sign, bit 7":
        press("Tab")
    press("ArrowRight")
    assert focused(view) == "exponent 3, bit 6"
    assert view.evaluate("getComputedStyle(document.activeElement).outlineStyle") == "solid"
    press("End")
    press("Space")
    assert outcome(view).startswith("0x48 = 4 ")
    assert focused(view) == "significand 0, bit 0"
    press("Home")
    press("Enter")
    assert outcome(view).startswith("0xC8 = -4 ")
    press("Tab")  # all bits are one stop
    press("Enter")  # the neighbour below
    assert outcome(view).startswith("0xC9 = -4.5 ")
    for _ in range(10):
        if focused(view).startswith("0xC9: "):
            break
        press("Tab")
    press("ArrowLeft")
    press("ArrowUp")
    assert focused(view) == "0xB8: -1"
    press("Space")
    assert outcome(view).startswith("0xB8 = -1 ")
    assert focused(view) == "0xB8: -1"


def focused(view: Page) -> str:
    """Return the element that has the focus: its label, or its id."""
    found: str = view.evaluate("document.activeElement.getAttribute('aria-label') || document.activeElement.id")
    return found


# --- looks ------------------------------------------------------------------------------------------------------------

NEAR = (
    ("f8E4M3FN", "4.25"), ("f8E4M3FN", "465"), ("f8E4M3FN", "-1e9"), ("f8E4M3FN", "0x7E"), ("f8E4M3FN", "0"),
    ("f8E4M3FN", "4.0000001"), ("f8E4M3FN", "4.2499999"), ("f8E4M3FN", "4.4999999"), ("f8E8M0FNU", "1e-40"),
    ("f8E8M0FNU", "-3"), ("f64", "0.1"), ("f64", "1/3"), ("f128", "1/3"), ("f128", "-1e-320"), ("f80", "1e300"),
)  # fmt: skip

OVERLAPS = """() => {
  const boxes = [...document.querySelectorAll(".pin .given, #line svg, .labels > *")].map((found) => {
    const { left, right, top, bottom } = found.getBoundingClientRect();
    return { name: found.getAttribute("class") || found.tagName, left, right, top, bottom };
  });
  const wrong = [];
  boxes.forEach((a, i) => {
    if (a.left < 0 || a.right > innerWidth) wrong.push(`${a.name} leaves the page`);
    for (const b of boxes.slice(i + 1)) {
      const apart = a.right <= b.left + 1 || b.right <= a.left + 1 || a.bottom <= b.top + 1 || b.bottom <= a.top + 1;
      if (!apart) wrong.push(`${a.name} and ${b.name}`);
    }
  });
  for (const found of document.querySelectorAll("main *")) {
    const inside = found.closest("svg, select, option, #codes, .axis, .unseen");
    if (!inside && found.scrollWidth > found.clientWidth + 1 && getComputedStyle(found).display !== "inline") {
      wrong.push(`${found.tagName} ${found.className} is too narrow`);
    }
  }
  if (document.documentElement.scrollWidth > innerWidth) wrong.push("the page is too wide");
  return wrong;
}"""


@pytest.mark.parametrize("width", [390, 600, 1200])
def test_nothing_overlaps(width: int, view: Page) -> None:
    view.set_viewport_size({"width": width, "height": 900})
    for name, number in NEAR:
        choose(view, name, number)
        assert view.evaluate(OVERLAPS) == [], (name, number)
    view.select_option("#beside", "f64")
    view.select_option("#operation", "divf")
    view.fill("#other", "3")
    for name, number in NEAR:
        choose(view, name, number, "stochastic")
        assert view.evaluate(OVERLAPS) == [], (name, number)


@pytest.mark.parametrize("width", [390, 600, 1198, 1200])
def test_every_code_fits_its_box(width: int, view: Page) -> None:
    view.set_viewport_size({"width": width, "height": 900})
    for fmt in FORMATS.values():
        if fmt.bits <= 8:
            choose(view, fmt.name, "1")
            assert view.locator("#codes button").count() == 1 << fmt.bits
            wide = """() => [...document.querySelectorAll("#codes button")]
              .filter((cell) => [...cell.children].some((part) => part.offsetWidth > cell.clientWidth))
              .map((cell) => cell.textContent)"""
            assert view.evaluate(wide) == []


CONTRASTS = """() => {
  const channel = (c) => (c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4);
  const canvas = new OffscreenCanvas(1, 1).getContext("2d", { willReadFrequently: true });
  const light = (colour) => {
    canvas.fillStyle = colour;
    canvas.fillRect(0, 0, 1, 1);
    const [r, g, b] = canvas.getImageData(0, 0, 1, 1).data;
    return 0.2126 * channel(r / 255) + 0.7152 * channel(g / 255) + 0.0722 * channel(b / 255);
  };
  const back = (found) => {
    const colour = getComputedStyle(found).backgroundColor;
    return colour === "rgba(0, 0, 0, 0)" && found.parentElement ? back(found.parentElement) : colour;
  };
  const contrasts = [...document.querySelectorAll("main *:not(option)")]
    .filter((found) => [...found.childNodes].some((node) => node.nodeType === 3 && node.data.trim()))
    .map((found) => {
      const [a, b] = [light(getComputedStyle(found).color), light(back(found))];
      return [(Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05), found.outerHTML.slice(0, 80)];
    });
  return contrasts.sort((a, b) => a[0] - b[0])[0];
}"""


@pytest.mark.parametrize("width", [390, 1200])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_light_and_dark_are_legible(scheme: Any, width: int, view: Page) -> None:
    view.emulate_media(color_scheme=scheme)
    view.set_viewport_size({"width": width, "height": 900})
    view.select_option("#beside", "f16")
    view.select_option("#operation", "addf")
    choose(view, "f8E4M3FN", "4.3", "stochastic")
    background = view.evaluate("getComputedStyle(document.body).backgroundColor")
    assert (background == "rgb(255, 255, 255)") == (scheme == "light")
    # As the WCAG ask of text, AA.
    worst, where = view.evaluate(CONTRASTS)
    assert worst >= 4.5, where
    SCREENSHOTS.mkdir(parents=True, exist_ok=True)
    target = SCREENSHOTS / f"{scheme}-{width}.png"
    view.screenshot(path=target, full_page=True)
    print(f"screenshot: {target}")
    assert target.stat().st_size > 20_000
