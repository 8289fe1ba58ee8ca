"""By what halfulp computes: by machine code from the first element and op on, as it does after some work."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from halfulp.fp_formats.paths import compiled

BACKEND = "llvm"


@contextmanager
def machine_code() -> Iterator[None]:
    """Compute by machine code, where llvmlite is installed."""
    before = compiled.backend()
    if compiled.installed():
        compiled.use(BACKEND)
    try:
        yield
    finally:
        compiled.use(before)
