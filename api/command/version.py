"""The versions of halfulp and of its semantics."""

from __future__ import annotations

from importlib.metadata import version

from halfulp.semantics.profile import SEMANTICS_VERSION


def version_text() -> str:
    """Return the versions as reports and ``--version`` have them."""
    return f"halfulp {version('halfulp')} (semantics {SEMANTICS_VERSION})"
