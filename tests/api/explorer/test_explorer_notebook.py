"""``hu.explore``: what the controls of the page hold at first, and the page in a notebook, a file and a browser."""

from __future__ import annotations

import html
import re
import webbrowser
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from tables import each_row

import halfulp as hu
from halfulp.explorer.notebook import START, page
from halfulp.fp_formats.formats import FORMATS
from halfulp.number_reader import read_text

if TYPE_CHECKING:
    from playwright.sync_api import BrowserContext

F128_ABOVE_ONE = hu.Value.from_bits(np.array([1, 0x3FFF << 48], np.uint64), "f128")


@each_row(
    # a number, a type, and the text that stands for it
    ("0.3", "f8E4M3FN", "0.3"),
    (0.3, "f8E4M3FN", "0.299999999999999988897769753748434595763683319091796875"),
    (" 1/3 ", "bf16", "1/3"),
    ("0x7E", "f8E4M3FN", "0x7E"),
    ("0x1.8p-3", "f16", "0x1.8p-3"),
    ("f32=0.1", "f16", "0.100000001490116119384765625"),
    (Fraction(3, 10), "f16", "3/10"),
    (Fraction(-3, 8), "f16", "-0.375"),
    (Decimal("0.1"), "f16", "1/10"),
    (5, "f16", "5"),
    (1e22, "f32", "1e+22"),
    # A decimal of more than 60 digits is a hexadecimal float.
    (0.3e-9, "f32", "0x1.49da7e361ce4cp-32"),
    (2**70 + 1, "f128", "1.180591620717411303425e+21"),
    (np.float32(0.1), "f16", "0.100000001490116119384765625"),
    (np.float16(np.nan), "f16", "nan"),
    (-0.0, "f16", "-0"),
    (float("-inf"), "f16", "-inf"),
    (hu.convert(-0.0, "f32"), "f16", "-0"),
    (hu.convert(0.1, "f8E5M2"), "f8E5M2", "0x2E"),
    (hu.convert(0.1, "f80"), "f80", "0x3FFBCCCCCCCCCCCCD000"),
    (F128_ABOVE_ONE, "f64", "0x10000000000000000000000000001p-112"),
)
def test_a_number_is_spelled_so_that_the_page_reads_the_same(number: Any, type_: str, text: str) -> None:
    start = hu.explore(number, type_).start
    assert start["number"] == text
    fmt = FORMATS[type_]
    assert hu.explain(text, fmt).result == hu.explain(number, fmt).result
    exact = read_text(text, fmt).exact
    assert exact == hu.explain(number, fmt).exact


def test_what_is_asked_stands_in_the_controls() -> None:
    assert dict(hu.explore().start) == {name: START[name] for name in ("format", "number", "mode")}
    made = hu.explore("0.1", "bfloat16", "SR", op="+", other=Fraction(1, 3), beside="float16", random=np.uint16(7))
    assert dict(made.start) == {
        "format": "bf16", "number": "0.1", "mode": "stochastic", "operation": "addf", "other": "1/3", "beside": "f16",
        "random": "7", "width": "16",
    }  # fmt: skip
    assert hu.explore(hu.convert(1.0, "bf16")).start["format"] == "bf16"
    for op in ("-", "subf", "arith.subf", "subtract"):
        assert hu.explore(1, "f16", op=op, other=2).start["operation"] == "subf"


@each_row(
    (([1, 2], "f16"), {}, hu.errors.InputError, "one number, not an array of shape \\(2,\\)"),
    ((hu.convert([1, 2], "f16"),), {}, hu.errors.InputError, "one number"),
    (("one", "f16"), {}, hu.errors.InputError, "'one' is not a number"),
    (("0x100", "f8E5M2"), {}, hu.errors.InputError, "does not fit the 8 bits"),
    ((1, "f7"), {}, ValueError, "f7"),
    ((1, hu.FloatFormat("my6", 3, 2, 3)), {}, hu.Unsupported, "no format 'my6'"),
    ((1, "f16", "sideways"), {}, ValueError, "sideways"),
    ((1, "f16"), {"op": "pow", "other": 2}, ValueError, "addf"),
    ((1, "f16"), {"op": "+"}, hu.errors.InputError, "go together"),
    ((1, "f16"), {"other": 2}, hu.errors.InputError, "go together"),
    ((1, "f16"), {"random": np.uint8(3)}, hu.errors.InputError, "rounding='stochastic'"),
    ((1, "f16", "stochastic"), {"random": 3}, hu.TypeMismatch, "unsigned NumPy integer"),
    ((1, "f16", "stochastic"), {"random": np.int8(3)}, hu.TypeMismatch, "unsigned NumPy integer"),
)
def test_what_cannot_be_shown_is_refused(
    arguments: tuple[Any, ...], named: dict[str, Any], error: type[Exception], says: str
) -> None:
    with pytest.raises(error, match=says):
        hu.explore(*arguments, **named)


def test_the_page_is_framed_saved_and_opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = hu.explore(Fraction(1, 3), "f16", beside="bf16")
    assert made.html == page(made.start)
    frame = re.fullmatch(r"<iframe ([^<>]*)srcdoc='([^']*)'></iframe>", made._repr_html_())
    assert frame is not None
    assert html.unescape(frame[2]) == made.html
    assert "title='" in frame[1]
    made.save(tmp_path / "page.html")
    assert (tmp_path / "page.html").read_text(encoding="utf-8") == made.html
    with pytest.raises(hu.errors.InputError, match="cannot write"):
        made.save(tmp_path / "no" / "page.html")
    asked: list[str] = []
    monkeypatch.setattr(webbrowser, "open", asked.append)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    path = made.open()
    assert asked == [path.as_uri()]
    assert path.read_text(encoding="utf-8") == made.html


def test_no_text_ends_the_script() -> None:
    # A fraction with spaces is the only text that is not made of digits and letters; and still nothing can break out.
    text = page({"number": "</script><script>{{tables}}"})
    assert text.count("<script") == 3
    assert "\\u003c/script>\\u003cscript>{{tables}}" in text


@pytest.mark.chromium
@pytest.mark.parametrize("theme", ["dark", "light"])
def test_the_frame_works_in_a_notebook_and_follows_its_theme(
    theme: str, context: BrowserContext, tmp_path: Path
) -> None:
    text, back = ("#eee", "#111") if theme == "dark" else ("#111", "#fff")
    cell = hu.explore("1/3", "f16", "stochastic", op="*", other=3, beside="bf16", random=np.uint16(9))._repr_html_()
    notebook = tmp_path / "notebook.html"
    notebook.write_text(f"<body style='color: {text}; background: {back}'><div>{cell}</div>", encoding="utf-8")
    view = context.new_page()
    wrong: list[str] = []
    asked: list[str] = []
    view.on("request", lambda request: asked.append(request.url))
    view.on("pageerror", lambda error: wrong.append(str(error)))
    view.emulate_media(color_scheme="light" if theme == "dark" else "dark")
    view.goto(notebook.as_uri())
    frame = view.frame_locator("iframe")
    held = {name: frame.locator(f"#{name}").input_value() for name in START}
    assert held == {
        "format": "f16", "number": "1/3", "mode": "stochastic", "operation": "mulf", "other": "3", "beside": "bf16",
        "random": "9", "width": "16",
    }  # fmt: skip
    result = frame.locator("#hex")
    assert result.inner_text() == "0x3C00"  # a half is discarded, and 9 of 65536 is less
    # A link within the page stays within it.
    frame.get_by_role("link", name="465 in f8E4M3FN").click()
    assert result.inner_text() == "0x7F"
    back_of_page = frame.locator("body").evaluate("(body) => getComputedStyle(body).backgroundColor")
    assert (back_of_page == "rgb(23, 25, 28)") == (theme == "dark")
    assert set(asked) <= {notebook.as_uri(), "about:srcdoc"}
    assert wrong == []
