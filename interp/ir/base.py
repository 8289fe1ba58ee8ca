"""The base classes of types and attributes, and how their instances are frozen, hashed and pickled."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TypeVar, dataclass_transform

Frozen = TypeVar("Frozen")

NO_NAMES: Mapping[object, str] = {}


@dataclass_transform(frozen_default=True)
def immutable(cls: type[Frozen]) -> type[Frozen]:
    """Make a class a frozen dataclass that computes its hash once, since types and attributes are often looked up."""
    made = dataclass(frozen=True)(cls)
    compute = made.__hash__

    def cached_hash(self: object) -> int:
        known: int | None = self.__dict__.get("_hash")
        if known is None:
            known = self.__dict__["_hash"] = compute(self)
        return known

    made.__hash__ = cached_hash  # type: ignore[method-assign]
    return made


def fields_only(self: object) -> dict[str, object]:
    """Return the state to pickle: the fields alone, since cached hashes of strings differ between processes."""
    return {name: value for name, value in self.__dict__.items() if not name.startswith("_")}


@immutable
class Type:
    """The base of all types."""

    __getstate__ = fields_only

    def spell(self, names: Mapping[object, str]) -> str:
        """Spell the type; parts of it that have an alias in ``names`` are spelled by the alias."""
        raise NotImplementedError

    @cached_property
    def _spelling(self) -> str:
        return self.spell(NO_NAMES)

    def __str__(self) -> str:
        return self._spelling


@immutable
class Attribute:
    """The base of all attributes."""

    __getstate__ = fields_only

    def spell(self, names: Mapping[object, str]) -> str:
        """Spell the attribute; parts of it that have an alias in ``names`` are spelled by the alias."""
        raise NotImplementedError

    def spell_nested(self, names: Mapping[object, str]) -> str:
        """Spell the attribute inside another: by its alias, if it has one."""
        return (names and names.get(self)) or self.spell(names)

    def spell_untyped(self, names: Mapping[object, str] = NO_NAMES) -> str:
        """Spell the attribute where the type of an i64 or f64 literal is implied: in arrays and as a memory space."""
        return self.spell_nested(names)

    def __str__(self) -> str:
        return self.spell(NO_NAMES)


MARK = "\0"
"""The mark in the text of an opaque attribute or type for an attribute or type in it that was written by an alias."""


def filled(text: str, inner: Sequence[Attribute | Type], names: Mapping[object, str]) -> str:
    """Return a text with the attributes and types in place of its marks: by their aliases, if they have one."""
    if not inner:
        return text
    first, *rest = text.split(MARK)
    return first + "".join(
        (names.get(thing) or thing.spell(names)) + part for thing, part in zip(inner, rest, strict=True)
    )
