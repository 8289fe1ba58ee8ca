"""Rules between the types of an op's operands and results, from which types that are not written follow."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from halfulp.interp.ir.base import Attribute, Type
from halfulp.interp.ir.types import element_type


@dataclass(frozen=True, slots=True)
class TypeRule:
    """An equation between the types of an op's operands and results (`AllTypesMatch`, `TypesMatchWith`).

    Both functions get a mapping from slot name to type (a tuple of types for a variadic slot) and the op's properties.
    ``solve`` adds the types that follow from those present. ``holds`` tells whether the types fit; ``message`` is the
    verifier's error otherwise, in MLIR's words.
    """

    message: str
    solve: Callable[[dict[str, Any], Mapping[str, Attribute]], None]
    holds: Callable[[Mapping[str, Any], Mapping[str, Attribute]], bool]


def same_type(*names: str, message: str | None = None) -> TypeRule:
    """Require one type of all the named slots (`AllTypesMatch`)."""

    def solve(types: dict[str, Any], properties: Mapping[str, Attribute]) -> None:
        known = next((types[name] for name in names if name in types), None)
        if known is not None:
            for name in names:
                types.setdefault(name, known)

    def holds(types: Mapping[str, Any], properties: Mapping[str, Attribute]) -> bool:
        return all(types[name] == types[names[0]] for name in names[1:])

    return TypeRule(message or f"failed to verify that all of {{{', '.join(names)}}} have same type", solve, holds)


def same_element(one: str, other: str, what: str) -> TypeRule:
    """Require one element type of two slots. ``what``: the words of MLIR for them."""

    def holds(types: Mapping[str, Any], properties: Mapping[str, Attribute]) -> bool:
        return bool(element_type(types[one]) == element_type(types[other]))

    return TypeRule(f"failed to verify that {what} have same element type", lambda types, properties: None, holds)


def derived_type(name: str, source: str, derive: Callable[[Type], Type], message: str) -> TypeRule:
    """Require that the type of slot ``name`` is ``derive`` of the type of ``source`` (`TypesMatchWith`)."""

    def solve(types: dict[str, Any], properties: Mapping[str, Attribute]) -> None:
        if source in types:
            types.setdefault(name, derive(types[source]))

    def holds(types: Mapping[str, Any], properties: Mapping[str, Attribute]) -> bool:
        return bool(types[name] == derive(types[source]))

    return TypeRule(message, solve, holds)


def type_of_property(name: str, prop: str, message: str) -> TypeRule:
    """Require that the type of slot ``name`` is the type of the attribute ``prop`` (`arith.constant`)."""

    def solve(types: dict[str, Any], properties: Mapping[str, Attribute]) -> None:
        if prop in properties:
            types.setdefault(name, getattr(properties[prop], "type", None))

    def holds(types: Mapping[str, Any], properties: Mapping[str, Attribute]) -> bool:
        return bool(types[name] == getattr(properties[prop], "type", None))

    return TypeRule(message, solve, holds)


class Repeated(Sequence[Type]):
    """A sequence of one type, however long: a short text may need 2^63 elements."""

    def __init__(self, type_: Type, count: int) -> None:
        self.type = type_
        self._size = min(count, sys.maxsize)

    def __len__(self) -> int:
        return self._size

    def __getitem__(self, index: Any) -> Any:
        if not -self._size <= index < self._size:
            raise IndexError(index)
        return self.type
