"""The sizes of samples: small in every run, larger with `make test-long`, everything with `make test-exhaustive`."""

from collections.abc import Iterable
from typing import Any

import pytest

_ABSENT: Any = object()


def amounts(part: Any, whole: Any = _ABSENT, *, long: Any = _ABSENT) -> list[Any]:
    """Return the values of a parameter: ``part`` in every run, ``long`` in the long one, ``whole`` in the exhaustive one."""
    larger = ((long, pytest.mark.long), (whole, pytest.mark.exhaustive))
    return [part, *(pytest.param(amount, marks=mark) for amount, mark in larger if amount is not _ABSENT)]


def thinned(values: Iterable[Any], every: int, *, rows: bool = False, mark: Any = pytest.mark.long) -> list[Any]:
    """Return the values of a parameter: one in ``every`` in every run, the others in the long one.

    ``rows``: a value is a tuple with one for each of several parameters. ``mark``: that of the others.
    """
    return [
        value
        if number % every == 0 or hasattr(value, "marks")
        else pytest.param(*(value if rows else (value,)), marks=mark)
        for number, value in enumerate(values)
    ]
