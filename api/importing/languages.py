"""The dialects of programs that halfulp does not run as they are: IREE's compiler lowers them first."""

from __future__ import annotations

from collections.abc import Mapping

from halfulp.interp.ir.operations import Module

LANGUAGES: Mapping[str, str] = {
    "chlo": "StableHLO",
    "stablehlo": "StableHLO",
    "torch": "a program of the torch dialect",
}
"""The dialects, and the name of the language of each."""


def language_of(op: str | None) -> str | None:
    """Return the name of the language of an op of this name; None for an op of another dialect."""
    return None if op is None else LANGUAGES.get(op.partition(".")[0])


def language_in(module: Module) -> str | None:
    """Return the name of the language that a module has ops of; None if it has none."""
    return next((found for op in module.walk() if (found := language_of(op.name))), None)
