"""Execute a command, and report the error that ends it."""

from __future__ import annotations

import warnings
from importlib import import_module
from typing import Any, TextIO

from halfulp.command.console import say
from halfulp.command.sources import Sources, report
from halfulp.interp.ir.errors import DocumentWarning, HalfulpError
from halfulp.semantics.profile import SPEC, profile


def execute(name: str, arguments: Any) -> int:
    """Execute the command of this name with its options, and return the exit code."""
    sources = Sources(json=getattr(arguments, "diagnostics", "text") == "json")
    # A command means the same inside of any `profile` block: --profile alone chooses.
    with profile(SPEC), warnings.catch_warnings():
        warnings.simplefilter("always", DocumentWarning)
        warnings.showwarning = _show
        try:
            code: int = import_module(f"halfulp.command.{name.replace('-', '_')}").execute(arguments, sources)
        except HalfulpError as error:
            return report(error, sources)
    return code


def _show(
    message: Warning | str,
    category: type[Warning],
    filename: str,
    lineno: int,
    file: TextIO | None = None,
    line: str | None = None,
) -> None:
    """Print a warning: one about a program as it is, any other with the place in Python."""
    place = "" if isinstance(message, DocumentWarning) else f"{filename}:{lineno}: {category.__name__}: "
    say(f"{place}{message}")
