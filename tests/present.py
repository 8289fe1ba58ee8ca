"""What a test has reason to find: it fails where there is nothing."""

from typing import TypeVar

T = TypeVar("T")


def present(found: T | None) -> T:
    """Return what is not None."""
    assert found is not None
    return found
