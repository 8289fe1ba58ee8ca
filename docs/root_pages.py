"""A hook of MkDocs: add pages from the root of the repository, and the explore page, to the site.

Links between these pages and the pages in docs/ work in the repository and in the site. A link to another file is plain
text in the site, because the site does not contain that file. The explore page is made while the site is built.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File

from halfulp.explorer.notebook import page as explore_page

ROOT = Path(__file__).parent.parent
PAGES = {"ARCHITECTURE.md": "architecture.md", "CONTRIBUTING.md": "contributing.md"}
"""The pages, with their names in the site."""

EXPLORE_PAGE = "explore-page.html"
EMBEDDED = f"""\
<iframe class="explore" src="{EXPLORE_PAGE}" title="The explore page" data-theme="follow"></iframe>

<a href="{EXPLORE_PAGE}" target="_blank">Open the explore page by itself</a>
"""
"""What stands in the site in place of the comment of this name."""
_PLACE = "<!-- the explore page -->"

_LINK = re.compile(r"\[([^\]]*)\]\(([^)#]*)(#[^)]*)?\)")


def on_files(files: Any, config: Any) -> Any:
    """Add the pages to the files of the site."""
    for name, page in PAGES.items():
        text = (ROOT / name).read_text(encoding="utf-8")
        files.append(File.generated(config, page, content=_LINK.sub(_from_root, text)))
    files.append(File.generated(config, EXPLORE_PAGE, content=explore_page()))
    return files


def on_page_markdown(markdown: str, page: Any, config: Any, files: Any) -> str:
    """Let the links of a page to these pages lead to their place in the site, and embed the explore page."""
    for name, there in PAGES.items():
        markdown = markdown.replace(f"](../{name}", f"]({there}")
    return markdown.replace(_PLACE, EMBEDDED)


def _from_root(link: re.Match[str]) -> str:
    """Return a link of a page in the root as the site needs it."""
    text, target, anchor = link[1], link[2], link[3] or ""
    if target in PAGES:
        return f"[{text}]({PAGES[target]}{anchor})"
    if target.startswith("docs/"):
        return f"[{text}]({target.removeprefix('docs/')}{anchor})"
    return link[0] if not target or target.startswith("https:") else text
