"""A hook of MkDocs: add pages from the root of the repository to the site.

Links between these pages and the pages in docs/ work in the repository and in the site. A link to another file is plain
text in the site, because the site does not contain that file.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File

ROOT = Path(__file__).parent.parent
PAGES = {"ARCHITECTURE.md": "architecture.md", "CONTRIBUTING.md": "contributing.md"}
"""The pages, with their names in the site."""

_LINK = re.compile(r"\[([^\]]*)\]\(([^)#]*)(#[^)]*)?\)")


def on_files(files: Any, config: Any) -> Any:
    """Add the pages to the files of the site."""
    for name, page in PAGES.items():
        text = (ROOT / name).read_text(encoding="utf-8")
        files.append(File.generated(config, page, content=_LINK.sub(_from_root, text)))
    return files


def on_page_markdown(markdown: str, page: Any, config: Any, files: Any) -> str:
    """Let the links of a page to these pages lead to their place in the site."""
    for name, there in PAGES.items():
        markdown = markdown.replace(f"](../{name}", f"]({there}")
    return markdown


def _from_root(link: re.Match[str]) -> str:
    """Return a link of a page in the root as the site needs it."""
    text, target, anchor = link[1], link[2], link[3] or ""
    if target in PAGES:
        return f"[{text}]({PAGES[target]}{anchor})"
    if target.startswith("docs/"):
        return f"[{text}]({target.removeprefix('docs/')}{anchor})"
    return link[0] if not target or target.startswith("https:") else text
