"""The version of the installed package, and the version of its semantics."""

from __future__ import annotations

from importlib.metadata import version

from halfulp.semantics import SEMANTICS_VERSION

VERSION = version("halfulp")
"""The version, as in ``pip show halfulp``."""


def version_text() -> str:
    """Return the text of the versions that reports and ``halfulp --version`` show."""
    return f"halfulp {VERSION} (semantics {SEMANTICS_VERSION})"
