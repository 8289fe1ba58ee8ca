"""Choose how halfulp computes in measurements: with machine code from the first element on. In normal use, it changes
to machine code after some work.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from halfulp.fp_formats.paths import llvm

BACKEND = "llvm"


@contextmanager
def machine_code() -> Iterator[None]:
    """Compute with machine code inside the block, if llvmlite is installed."""
    before = llvm.backend()
    if llvm.installed():
        llvm.use(BACKEND)
    try:
        yield
    finally:
        llvm.use(before)
