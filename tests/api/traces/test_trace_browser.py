"""The page of a trace in headless Chromium, from a file: what clicks and keys do, and that large pages stay usable.

The screenshots go to build/trace, which git ignores; HALFULP_SCREENSHOTS names another folder.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from tree import ROOT

import halfulp as hu
from halfulp.traces.record import Trace

if TYPE_CHECKING:
    from playwright.sync_api import BrowserContext, Page

pytestmark = pytest.mark.chromium

SCREENSHOTS = Path(os.environ.get("HALFULP_SCREENSHOTS", ROOT / "build" / "trace"))

PROGRAM = """// </script><script>document.title = "attacked"</script>
func.func private @half(%x: i8) -> i8 {
  %two = arith.constant 2 : i8
  %h = arith.divsi %x, %two : i8
  return %h : i8
}
func.func @main(%n: index, %y: i8) -> i8 {
  %0 = arith.constant 0 : index
  %1 = arith.constant 1 : index
  %c = arith.constant 30 : i8
  %r = scf.for %i = %0 to %n step %1 iter_args(%s = %y) -> i8 {
    %t = arith.addi %s, %c overflow<nsw> : i8
    %h = func.call @half(%t) : (i8) -> i8
    %d = arith.addi %h, %h : i8
    scf.yield %d : i8
  }
  %q = arith.divsi %c, %r : i8
  return %q : i8
}
"""


def straight(ops: int) -> str:
    """Return a program of so many ops, in the middle of which poison is born."""
    middle = f"  %p = arith.fptosi %v{ops // 2} : tensor<8xf32> to tensor<8xi8>\n"
    lines = [f"  %v{k + 1} = arith.mulf %v{k}, %v{k} : tensor<8xf32>\n" for k in range(ops)]
    lines.insert(ops // 2 + 1, middle)
    return f"func.func @f(%v0: tensor<8xf32>) -> tensor<8xf32> {{\n{''.join(lines)}  return %v{ops} : tensor<8xf32>\n}}"


@pytest.fixture
def opened(context: BrowserContext, tmp_path: Path) -> Iterator[Callable[..., Page]]:
    """Open the page of a trace. It must request nothing but itself, and every error must be reported."""
    file = tmp_path / "page.html"
    asked: list[str] = []
    wrong: list[str] = []

    def open_(trace: Trace) -> Page:
        file.write_text(trace.html(), encoding="utf-8")
        page = context.new_page()
        page.set_viewport_size({"width": 1200, "height": 800})
        page.on("request", lambda request: asked.append(request.url))
        page.on("console", lambda message: wrong.append(message.text))
        page.on("pageerror", lambda error: wrong.append(str(error)))
        page.goto(file.as_uri())
        return page

    yield open_
    assert set(asked) == {file.as_uri()}
    assert wrong == []


@pytest.fixture
def page(opened: Callable[..., Page]) -> Page:
    return opened(hu.trace(PROGRAM, 6, 1))


def numbers(page: Page) -> list[int]:
    """Return the steps that are shown."""
    return [int(text) for text in page.locator(".step .no").all_text_contents()]


def chosen(page: Page) -> int:
    return int(page.locator(".step.chosen .no").inner_text())


def in_view(page: Page, selector: str) -> bool:
    """Tell whether an element is visible in its pane, after the page has finished its scrolling of four frames."""
    script = """async node => {
      for (let frame = 0; frame < 10; frame++) await new Promise(requestAnimationFrame);
      const own = node.getBoundingClientRect(), pane = node.closest('.pane').getBoundingClientRect();
      return own.top >= pane.top - 1 && own.bottom <= pane.bottom + 1;
    }"""
    found: bool = page.locator(selector).evaluate(script)
    return found


def test_a_click_on_a_line_shows_its_steps(page: Page) -> None:
    everything = numbers(page)
    assert everything == list(range(1, len(everything) + 1))
    page.locator(".line.ran", has_text="overflow<nsw>").click()
    assert page.locator("#filter").input_value() == "line:12"
    assert set(page.locator(".step .head code").all_text_contents()) == {"%t = arith.addi %s, %c overflow<nsw> : i8"}
    assert len(numbers(page)) == 6
    page.keyboard.press("Escape")
    assert numbers(page) == everything
    assert page.title() == "@main: <string>"


def test_the_filter_finds_ops_values_and_poison(page: Page) -> None:
    page.keyboard.press("/")
    page.keyboard.type("func.call")
    assert len(numbers(page)) == 12  # six calls and their ends
    page.locator("#filter").fill("poison half")
    assert page.locator(".step").count() == page.locator(".step:has(.value.poison)").count() > 0
    page.locator("#filter").fill("line:12 90")
    assert page.locator("#count").inner_text().startswith("2 of ")
    page.locator("#filter").fill("nothing like it")
    assert numbers(page) == []


def test_keys_alone_find_the_birth_of_poison(page: Page) -> None:
    page.keyboard.press("p")
    birth = chosen(page)
    assert "poison is born here: signed overflow with nsw" in page.locator(".step.chosen").inner_text()
    assert page.locator(".line.cursor .no").inner_text() == "12"
    assert in_view(page, ".step.chosen")
    page.keyboard.press("p")
    assert "division by zero" in page.locator(".step.chosen .stop").inner_text()
    page.keyboard.press("P")
    assert chosen(page) == birth
    page.keyboard.press("ArrowDown")
    assert chosen(page) == birth + 1
    page.keyboard.press("End")
    jump = page.locator(f".step [data-jump='{birth}']").last
    jump.click()
    assert chosen(page) == birth
    page.keyboard.press("Home")
    assert chosen(page) == 1
    # Tab leads to the source as well; there, arrows walk the lines that ran.
    page.locator("#source").focus()
    page.keyboard.press("Home")
    page.keyboard.press("ArrowDown")
    assert page.locator(".line.cursor .no").inner_text() == "4"
    page.keyboard.press("Enter")
    assert page.locator("#filter").input_value() == "line:4"


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1200, 600])
def test_nothing_overlaps_or_is_cut(page: Page, width: int, scheme: Any) -> None:
    page.set_viewport_size({"width": width, "height": 800})
    page.emulate_media(color_scheme=scheme)
    page.keyboard.press("p")
    assert in_view(page, ".step.chosen")
    SCREENSHOTS.mkdir(parents=True, exist_ok=True)
    page.screenshot(path=SCREENSHOTS / f"{width}-{scheme}.png")
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    overlaps = """nodes => nodes.filter(node => {
      const boxes = [...node.children].map(child => child.getBoundingClientRect());
      return boxes.some((box, place) => place && box.left < boxes[place - 1].right - 1);
    }).length"""
    assert page.locator(".line").evaluate_all(overlaps) == 0


@pytest.mark.parametrize("ops", [1000, pytest.param(10_000, marks=pytest.mark.exhaustive)])
def test_pages_of_many_ops_stay_usable(opened: Callable[..., Page], ops: int) -> None:
    trace = hu.trace(straight(ops), np.array([0.5, 1, -1, np.nan, 0, 0.99, 1.0001, 2], np.float32), n=20_000)
    if ops == 1000:
        assert len(trace.html()) < 1_000_000
    page = opened(trace)
    assert page.locator(".step").count() >= 200
    page.keyboard.press("p")
    assert chosen(page) == ops // 2 + 2
    assert in_view(page, ".step.chosen")
    page.keyboard.press("End")
    assert chosen(page) == ops + 2
    assert in_view(page, ".step.chosen")
    page.locator("#filter").fill(f"line:{ops}")
    assert numbers(page) == [ops - 1]


@pytest.mark.parametrize("width", [1200, 600])
def test_the_picture_of_errors_leads_to_steps(opened: Callable[..., Page], width: int) -> None:
    text = (ROOT / "examples" / "quadratic.mlir").read_text(encoding="utf-8")
    page = opened(hu.trace(text, 1, 1000, 1, shadow=True))
    page.set_viewport_size({"width": width, "height": 800})
    assert "error -60,809 ulp" in page.locator(".errors pre").inner_text()
    mark = page.locator(".errors [data-jump]", has=page.locator("circle")).first
    step = int(mark.get_attribute("data-jump") or 0)
    mark.locator("circle").click()
    assert chosen(page) == step
    assert "error: own" in page.locator(".step.chosen .note").inner_text()
    page.locator("#filter").fill("leading bits")
    assert len(numbers(page)) == 1
    page.locator(".errors summary").click()
    assert not page.locator(".errors pre").is_visible()
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    SCREENSHOTS.mkdir(parents=True, exist_ok=True)
    page.screenshot(path=SCREENSHOTS / f"errors-{width}.png")
