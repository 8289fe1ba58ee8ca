"""The profile and the properties that options name."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from halfulp.command.sources import Sources
from halfulp.command.values import naming
from halfulp.interp.declare.build import property_of
from halfulp.interp.declare.registry import default_registry
from halfulp.interp.ir.dialect_attributes import EnumDefinition
from halfulp.interp.ir.errors import InputError
from halfulp.interp.text.parser import parse_attribute
from halfulp.semantics.profile import Profile, as_profile
from halfulp.semantics.random_sources import source_of


def profile_named(spelling: str) -> Profile:
    """Return the profile that an option names. Raise InputError for an unknown one."""
    try:
        return as_profile(spelling)
    except ValueError as error:
        raise InputError(f"--profile: {error}") from None


def model_of(spelling: str) -> str:
    """Return the model of tile operations that ``--mma`` names. Raise InputError for an unknown one."""
    if spelling == "exact":
        return spelling
    from halfulp.semantics.matrix_units.chips import as_model, model_hint

    try:
        return as_model(spelling)
    except ValueError as error:
        raise InputError(f"--mma: {error}", hint=model_hint(spelling)) from None


def source_of_bits(spelling: str) -> str:
    """Return the whole text of the source of random bits of ``--random``. Raise InputError for an unknown one."""
    try:
        return source_of(spelling).text
    except ValueError as error:
        raise InputError(f"--random={spelling}: {error}") from None


def properties_of(op: str, given: Sequence[str], sources: Sources) -> dict[str, Any]:
    """Read the keywords of ``--attr``: a name alone is true; a value that is not a keyword of an enum is an MLIR
    attribute.
    """
    definition = default_registry().lookup(op)
    keywords: dict[str, Any] = {}
    for text in given:
        name, equals, value = text.partition("=")
        name = name.strip()
        if not name:
            raise InputError(f"--attr={text}: write --attr NAME or --attr NAME=VALUE")
        if name in keywords:
            raise InputError(f"--attr {name} is given twice")
        declared = None if definition is None else property_of(definition, name)
        if not equals or value == "true":
            keywords[name] = True
        elif value == "false":
            keywords[name] = False
        elif declared is None or isinstance(declared.kind, EnumDefinition):
            keywords[name] = value
        else:
            with naming(f"<attr {name}>", value, sources):
                keywords[name] = parse_attribute(value)
    return keywords
