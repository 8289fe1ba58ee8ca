"""By what halfulp computes: NumPy alone, or also the loops that the extra ``fast`` compiles."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec

from benchmarks.rows import Absent
from halfulp.fp_formats.paths import compiled

NUMPY, NUMBA = BACKENDS = ("numpy", "numba")


def named(group: str, by: str) -> str:
    """Return the title of the group of rows for a backend."""
    return group if by == NUMPY else f"{group}, compiled"


@contextmanager
def backend(name: str) -> Iterator[None]:
    """Compute by this backend. Raises Absent where it is not installed."""
    if name == NUMBA and find_spec("numba") is None:
        raise Absent("numba is not installed")
    before = compiled.backend()
    compiled.use(name)
    try:
        yield
    finally:
        compiled.use(before)
