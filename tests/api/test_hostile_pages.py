"""No page and no table in a notebook runs a script or loads anything that a program, a name or a value brings."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from html.parser import HTMLParser
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from amounts import thinned

import halfulp as hu
from halfulp.command.main import main
from halfulp.fp_formats.formats import FloatFormat
from halfulp.importing.comparison import Comparison, OutputDistance

if TYPE_CHECKING:
    from playwright.sync_api import BrowserContext
    from playwright.sync_api import Page as BrowserPage

ATTACKS = (
    "\"'></script></title></style></textarea>--><script>window.hacked=1</script>",
    "<img src=x onerror=window.hacked=1>",
    "<svg/onload=window.hacked=1>",
    "\" autofocus onfocus=window.hacked=1 x=\"",
    "javascript:window.hacked=1",
    "{{script}}@DATA@ \\u003cscript>window.hacked=1</script>",
    "<!--<script>",
)  # fmt: skip
HACK = "".join(ATTACKS)


def spelled(text: str) -> str:
    """Return text as a string of MLIR."""
    return '"' + "".join(c if c.isalnum() else f"\\{ord(c):02X}" for c in text) + '"'


S = spelled(HACK)
PROGRAM = f"""\
#l = loc({S}:1:2)
#n = loc({S}(#l))
func.func @{S}(%a: tensor<2xf16> loc(#n)) -> tensor<2xf16> attributes {{a = {S}}} {{
  %c = arith.constant {{note = {S}}} dense<[0.3, 60000.0]> : tensor<2xf16> loc(#l)
  %0 = arith.mulf %a, %c {{note = {S}}} : tensor<2xf16> loc(#n)
  %i = arith.constant dense<99> : tensor<2xi16> loc(#n)
  %p = arith.shli %i, %i : tensor<2xi16> loc(#n)
  %x = arith.bitcast %p : tensor<2xi16> to tensor<2xf16> loc(#n)
  %1 = arith.addf %0, %c : tensor<2xf16> loc(fused<{S}>[#l, #n])
  return %1 : tensor<2xf16> loc(callsite(#n at #l))
}} loc(#n)
"""
POISONED = PROGRAM.replace("return %1", "return %x")
CALLS = f"func.func private @{S}(f32) -> f32\nfunc.func @f(%a: f32) -> f32 {{\n  %0 = call @{S}(%a) : (f32) -> f32\n  return %0 : f32\n}}\n"
X = np.array([1.1, 2.0], np.float16)


def by_command(*words: str) -> Callable[[Path], str]:
    """Return what runs a command on the programs, which writes a page."""

    def page(folder: Path) -> str:
        for name, text in {"a": PROGRAM, "b": PROGRAM.replace("addf", "subf")}.items():
            (folder / f"{name}{HACK.replace('/', '_')[:80]}.mlir").write_text(text)
        a, b = sorted(map(str, folder.glob("*.mlir")))
        out = folder / "page.html"
        main([*(word.replace("A.mlir", a).replace("B.mlir", b) for word in words), f"--html={out}"])
        return out.read_text(encoding="utf-8")

    return page


PAGES: Mapping[str, Callable[[Path], Any]] = {
    "trace": lambda _: hu.trace(PROGRAM, X).html(),
    "trace with errors": lambda _: hu.trace(PROGRAM, X, shadow=True).html(),
    "trace with poison": lambda _: hu.trace(POISONED, X).html(),
    "trace that stops": lambda _: hu.trace(CALLS, 1.0).html(),
    "trace in a notebook": lambda _: hu.trace(POISONED, X, shadow=True)._repr_html_(),
    "trace that stops, in a notebook": lambda _: hu.trace(CALLS, 1.0)._repr_html_(),
    "timeline": lambda _: hu.trace(PROGRAM, X, shadow=True).timeline()._repr_svg_(),
    "poison": lambda _: hu.run(POISONED, X)[0]._repr_html_(),
    "sensitivity": lambda _: hu.sensitivity(PROGRAM, X)._repr_html_(),
    "ranking": lambda _: hu.rank(PROGRAM, X, formats="f8E4M3FN")._repr_html_(),
    "explanation in a notebook": lambda _: hu.explain(0.3, FloatFormat(HACK, 4, 3, 7))._repr_html_(),
    "format": lambda _: FloatFormat(HACK, 4, 3, 7)._repr_html_(),
    "compare": lambda _: Comparison(HACK, hu.parse(PROGRAM), (OutputDistance(HACK, hu.run(POISONED, X)[0], hu.run(PROGRAM, X)[0]),))._repr_html_(),
    "explore": lambda _: hu.explore(0.3, "f16").html,
    "explore with hostile controls": lambda _: type(hu.explore(0.3, "f16"))(dict.fromkeys(hu.explore(0.3, "f16").start, HACK)).html,
    "trace by the command": by_command("run", "A.mlir", "--trace", "--input=2xf16=1.1 2"),
    "bisection": by_command("bisect", "A.mlir", "B.mlir"),
}  # fmt: skip

LOADING = {"src", "srcset", "background", "poster", "data", "action", "formaction", "ping"}


class Page(HTMLParser):
    """What a page has that could run or load: its tags, and attributes that do."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: list[str] = []
        self.active: list[tuple[str, str, str | None]] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        for name, value in attributes:
            link = name in ("href", "xlink:href") and not (value or "").startswith(("#", "https://"))
            if name.startswith("on") or name in LOADING or link or (name == "style" and "url(" in (value or "")):
                self.active.append((tag, name, value))


def built(name: str, folder: Path) -> str:
    text = PAGES[name](folder)
    assert isinstance(text, str)
    return text


@pytest.mark.parametrize("name", thinned(PAGES, 3))
def test_a_page_has_no_element_of_the_program(name: str, tmp_path: Path) -> None:
    text = built(name, tmp_path)
    page = Page(text)
    assert page.active == []
    assert (
        not {"img", "iframe", "object", "embed", "base", "form", "link", "textarea"} & set(page.tags)
        or "explore" in name
    )
    scripts = re.findall(r"<script\b([^>]*)>", text)
    usual = {
        "trace": 2,
        "trace with errors": 2,
        "trace with poison": 2,
        "trace that stops": 2,
        "trace by the command": 2,
    }
    assert len(scripts) == usual.get(name, 3 if "explore" in name else 0)


def urls_asked_by(page: BrowserPage) -> list[str]:
    """Return a list that gets the URL of each request of a page."""
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    return asked


@pytest.mark.chromium
def test_no_page_runs_a_script_of_the_program(context: BrowserContext, tmp_path: Path) -> None:
    for number, name in enumerate(PAGES):
        folder = tmp_path / str(number)
        folder.mkdir()
        file = folder / "shown.html"
        file.write_text(f"<meta charset=utf-8>{built(name, folder)}", encoding="utf-8")
        page = context.new_page()
        asked = urls_asked_by(page)
        page.goto(file.as_uri())
        page.evaluate("document.querySelectorAll('summary, button, .step').forEach(one => one.click())")
        page.wait_for_timeout(50)
        assert page.evaluate("window.hacked") is None, name
        assert [url for url in asked if url != file.as_uri() and not url.startswith("data:")] == [], name
        page.close()
