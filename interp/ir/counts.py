"""Spell counts of things in messages."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


def plural(count: int, what: str) -> str:
    """Spell a count of things."""
    return f"{count:,} {what}{'s'[: count != 1]}"


def are_given(count: int) -> str:
    """Say how many things are given."""
    return f"{count:,} {'is' if count == 1 else 'are'} given"


def wrong_count(name: str, what: str, types: Sequence[Any], given: int) -> str:
    """Say that something takes values of these types, but another number of them is given."""
    listed = f" ({', '.join(map(str, types))})" if types else ""
    return f"{name} takes {plural(len(types), what)}{listed}, but {are_given(given)}"
