"""The page of ``halfulp formats --explore`` in headless Chromium, from a file."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest
from conftest import BROWSER_MILLISECONDS

from halfulp.explorer.notebook import page as page_text

if TYPE_CHECKING:
    from playwright.sync_api import Browser, BrowserContext, Page


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Return the page as a file, in a folder with a space in its name."""
    path = tmp_path_factory.mktemp("explore page") / "page.html"
    path.write_bytes(page_text().encode())
    return path.as_uri()


@pytest.fixture
def view(context: BrowserContext, address: str) -> Iterator[Page]:
    """Open the page. It must request nothing but itself, and every error must be reported."""
    opened = context.new_page()
    asked: list[str] = []
    wrong: list[str] = []
    opened.on("request", lambda request: asked.append(request.url))
    opened.on("console", lambda message: wrong.append(message.text))
    opened.on("pageerror", lambda error: wrong.append(str(error)))
    opened.goto(address)
    yield opened
    assert {url.partition("#")[0] for url in asked} == {address}
    assert wrong == []


@pytest.fixture(scope="module")
def shared(browser: Browser, address: str) -> Iterator[Page]:
    """Provide the page, for tests that do not need it as it opens."""
    with browser.new_page() as opened:
        opened.set_default_timeout(BROWSER_MILLISECONDS)
        opened.goto(address)
        yield opened
