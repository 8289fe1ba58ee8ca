"""By what halfulp computes: by machine code from the first element and op on, as it does after some work."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from halfulp.fp_formats.paths import llvm

BACKEND = "llvm"


@contextmanager
def machine_code() -> Iterator[None]:
    """Compute by machine code, where llvmlite is installed."""
    before = llvm.backend()
    if llvm.installed():
        llvm.use(BACKEND)
    try:
        yield
    finally:
        llvm.use(before)
