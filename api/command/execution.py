"""Execute a command, and report the error that ends it."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from halfulp.command.sources import Sources, report
from halfulp.interp.ir.errors import HalfulpError


def execute(name: str, arguments: Any) -> int:
    """Execute the command of this name with its options, and return the exit code."""
    sources = Sources(json=getattr(arguments, "diagnostics", "text") == "json")
    try:
        code: int = import_module(f"halfulp.command.{name.replace('-', '_')}").execute(arguments, sources)
    except HalfulpError as error:
        return report(error, sources)
    return code
