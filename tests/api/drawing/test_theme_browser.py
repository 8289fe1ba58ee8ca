"""Pictures and tables in headless Chromium, on pages as notebooks and documentation make them, light and dark.

The screenshots go to build/plot, which git ignores; HALFULP_SCREENSHOTS names another folder.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from tree import ROOT

import halfulp as hu
from halfulp.drawing.figures import DARK, LIGHT

if TYPE_CHECKING:
    from playwright.sync_api import BrowserContext

pytestmark = pytest.mark.chromium

SCREENSHOTS = Path(os.environ.get("HALFULP_SCREENSHOTS", ROOT / "build" / "plot"))
# The attribute that a page has, the scheme of the system, and what is seen.
PAGES = {
    "plain-light": ("", "light", LIGHT),
    "plain-dark": ("", "dark", DARK),
    "jupyterlab-dark": ('data-jp-theme-light="false"', "light", DARK),
    "jupyterlab-light": ('data-jp-theme-light="true"', "dark", LIGHT),
    "vscode-dark": ('class="vscode-dark"', "light", DARK),
    "mkdocs-dark": ('data-md-color-scheme="slate"', "light", DARK),
}


def rgb(colour: str) -> str:
    return f"rgb({', '.join(str(int(colour[k : k + 2], 16)) for k in (1, 3, 5))})"


@pytest.mark.parametrize("name", PAGES)
def test_the_theme_of_the_page_decides(name: str, context: BrowserContext, tmp_path: Path) -> None:
    attribute, scheme, style = PAGES[name]
    x = (np.random.default_rng(0).standard_t(4, 4000) * 0.05).astype(np.float32)
    compared = hu.compare_formats(x, ["f4E2M1FN", "f8E4M3FN", "f8E5M2", "bf16"], scale="max")
    figures: list[Any] = [compared.plot(), hu.plot.staircase("f4E2M1FN", 0, 6)]
    shown = "".join(figure._repr_html_() for figure in figures)
    text = f"background:{style.background};color:{style.text}"
    page_text = f'<meta charset="utf-8"><body {attribute} style="{text}">{compared._repr_html_()}{shown}'
    (tmp_path / "page.html").write_text(page_text, encoding="utf-8")
    page = context.new_page()
    page.set_viewport_size({"width": 640, "height": 1300})
    page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
    page.goto((tmp_path / "page.html").as_uri())
    fills = page.evaluate(
        "[...document.querySelectorAll('.hfpicture svg')].map(svg =>"
        " [...new Set([...svg.querySelectorAll('[style*=fill], [style*=stroke]')].flatMap(e =>"
        " [getComputedStyle(e).fill, getComputedStyle(e).stroke]))])"
    )
    assert len(fills) == len(figures)
    other = LIGHT if style is DARK else DARK
    for colours in fills:
        assert {rgb(style.background), rgb(style.series[0]), rgb(style.series[1])} <= set(colours)
        assert rgb(other.background) not in colours
    assert page.evaluate("[...document.querySelectorAll('.hfpicture img')].map(e => getComputedStyle(e).display)") == [
        "none"
    ] * len(figures)
    widths = page.evaluate("[...document.querySelectorAll('.hfpicture svg')].map(e => e.getBoundingClientRect().width)")
    assert all(width <= 624 for width in widths)
    SCREENSHOTS.mkdir(parents=True, exist_ok=True)
    page.screenshot(path=SCREENSHOTS / f"{name}.png", full_page=True)


def test_marks_in_tables_follow_the_page(context: BrowserContext) -> None:
    page = context.new_page()
    for attribute, colour in (("true", "#0072B2"), ("false", "#56B4E9")):
        shown = hu.explain(0.3, "f8E4M3FN")._repr_html_()
        page.set_content(f'<body data-jp-theme-light="{attribute}">{shown}')
        found = page.evaluate("getComputedStyle(document.querySelector('.hfp .exponent')).borderTopColor")
        assert found == rgb(colour)
