"""The versions of halfulp and of its semantics."""

from __future__ import annotations

from halfulp.release import VERSION
from halfulp.semantics.profile import SEMANTICS_VERSION


def version_text() -> str:
    """Return the versions as reports and ``--version`` have them."""
    return f"halfulp {VERSION} (semantics {SEMANTICS_VERSION})"
