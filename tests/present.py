"""Return a value that must not be None: the test fails if it is."""

from typing import TypeVar

T = TypeVar("T")


def present(found: T | None) -> T:
    """Return what is not None."""
    assert found is not None
    return found
