"""The sizes of samples: a part by default, everything with `make test-exhaustive`."""

from __future__ import annotations

from typing import Any

import pytest


def amounts(part: Any, whole: Any) -> list[Any]:
    """Return the values of a parameter: ``part`` for every run, and ``whole`` for the exhaustive one alone."""
    return [part, pytest.param(whole, marks=pytest.mark.exhaustive)]
