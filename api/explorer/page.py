"""The text of the page: template, style, script and tables put together."""

from __future__ import annotations

import base64
import hashlib
import json
from importlib import resources

from halfulp.explorer.decisions import tables
from halfulp.release import VERSION
from halfulp.semantics.profile import SEMANTICS_VERSION


def _source(name: str) -> str:
    return resources.files("halfulp.explorer").joinpath(name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    """Return the name of a script or style in a content security policy that allows nothing else."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def page() -> str:
    """Return the whole page, the same text every time. It needs nothing beside itself, and its policy allows it nothing
    else.
    """
    style = f"\n{_source('page.css')}"
    script = f"\n{_source('lookup.js')}\n{_source('view.js')}"
    # A script element has no entities, and only "<" could end it.
    data = json.dumps(tables(), ensure_ascii=True, separators=(",", ":")).replace("<", "\\u003c")
    policy = f"default-src 'none'; script-src {_hash(script)}; style-src {_hash(style)}; base-uri 'none'"
    parts = {
        "policy": f"{policy}; form-action 'none'",
        "style": style,
        "version": f"halfulp {VERSION}, semantics {SEMANTICS_VERSION}",
        "tables": data,
        "script": script,
    }
    text = _source("page.html")
    for name, part in parts.items():
        text = text.replace("{{" + name + "}}", part)
    return text
