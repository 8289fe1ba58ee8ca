"""What the tests of the page of ``halfulp formats --explore`` do to it and ask of it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from halfulp.fp_formats.formats import FloatFormat

if TYPE_CHECKING:
    from playwright.sync_api import Page


def text(view: Page, selector: str) -> str:
    return " ".join(view.locator(selector).inner_text().split())


def outcome(view: Page) -> str:
    """Return the result that the page shows: code, value, rule."""
    return text(view, "#outcome")


def choose(view: Page, format_: str, number: str, mode: str = "to_nearest_even") -> None:
    view.select_option("#format", format_)
    view.select_option("#mode", mode)
    view.fill("#number", number)


def bits(view: Page) -> str:
    return "".join(view.locator("#bits button").all_inner_texts())


def ask(view: Page, function: str, fmt: FloatFormat, given: list[Any]) -> Any:
    """Return the answer of a function of the page. Text is faster to transfer than the long lists of playwright."""
    whole = f"(text) => JSON.stringify(({function})(...JSON.parse(text)))"
    return json.loads(view.evaluate(whole, json.dumps([fmt.name, given])))
