"""The text of the page: template, style, scripts and tables put together."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Mapping
from functools import cache
from importlib import resources
from types import MappingProxyType
from typing import Any

from halfulp.explorer.decisions import tables
from halfulp.release import VERSION
from halfulp.semantics.profile import SEMANTICS_VERSION

START: Mapping[str, str] = MappingProxyType(
    {
        "format": "f8E4M3FN",
        "number": "0.3",
        "mode": "to_nearest_even",
        "operation": "",
        "other": "0.2",
        "beside": "",
        "random": "128",
        "width": "8",
    }
)
"""What the controls hold at first. The names are those of the page's address, too."""
_SCRIPTS = ("lookup.js", "functions.js", "arithmetic.js", "view.js", "panels.js", "controls.js")


def _source(name: str) -> str:
    return resources.files("halfulp.explorer").joinpath(name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    """Return the name of a script or style in a content security policy that allows nothing else."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def _json(data: Any) -> str:
    # A script element has no entities, and only "<" could end it.
    return json.dumps(data, ensure_ascii=True, separators=(",", ":")).replace("<", "\\u003c")


@cache
def _parts() -> Mapping[str, str]:
    style = f"\n{_source('page.css')}"
    script = "\n" + "\n".join(map(_source, _SCRIPTS))
    policy = f"default-src 'none'; script-src {_hash(script)}; style-src {_hash(style)}; base-uri 'none'"
    return {
        "policy": f"{policy}; form-action 'none'",
        "style": style,
        "version": f"halfulp {VERSION}, semantics {SEMANTICS_VERSION}",
        "tables": _json({**tables(), "functions": json.loads(_source("functions.json"))}),
        "script": script,
    }


def page(start: Mapping[str, str] = START) -> str:
    """Return the whole page, the same text every time. It needs nothing beside itself, and its policy allows it nothing
    else.

    ``start``: what the controls hold at first, as far as it is not that of `START`.
    """
    parts = {**_parts(), "start": _json({**START, **start})}
    return re.sub(r"\{\{(\w+)\}\}", lambda name: parts[name[1]], _source("page.html"))
