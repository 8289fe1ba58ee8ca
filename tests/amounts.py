"""The sizes of samples: small in every run, larger with `make test-long`, everything with `make test-exhaustive`."""

from typing import Any

import pytest

_ABSENT: Any = object()


def amounts(part: Any, whole: Any = _ABSENT, *, long: Any = _ABSENT) -> list[Any]:
    """Return the values of a parameter: ``part`` in every run, ``long`` in the long one, ``whole`` in the exhaustive one."""
    larger = ((long, pytest.mark.long), (whole, pytest.mark.exhaustive))
    return [part, *(pytest.param(amount, marks=mark) for amount, mark in larger if amount is not _ABSENT)]
