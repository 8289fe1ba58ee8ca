"""The settings of compiled code: whether arrays and programs become machine code, and on how many threads it runs.

The environment variable HALFULP_BACKEND, or `use`, chooses the backend: ``auto`` (machine code where llvmlite is
installed and it saves time), ``numpy`` (never) or ``llvm`` (from the first element and op on). HALFULP_THREADS, or
`use_threads`, sets the number of threads that machine code uses; without it OMP_NUM_THREADS does. Results are the same.
"""

from __future__ import annotations

import os
from functools import cache
from importlib.util import find_spec

from halfulp.fp_formats.paths import cpu

BACKENDS = ("auto", "numpy", "llvm")
VARIABLE = "HALFULP_BACKEND"
THREADS, _ALL_THREADS = "HALFULP_THREADS", "OMP_NUM_THREADS"
_USUAL, _MOST = 4, 1024
"""The most threads where nobody sets their number, and at all."""


@cache
def installed() -> bool:
    """Tell whether llvmlite is there: on CPython it comes with halfulp."""
    try:
        return find_spec("llvmlite") is not None
    except ValueError:  # the entry of sys.modules is None, which forbids the import
        return False


def _checked(backend: str, what: str) -> str:
    if backend == "numba":
        raise ValueError(f"{what} is 'numba', which is called 'llvm' since machine code is made by llvmlite")
    if backend not in BACKENDS:
        raise ValueError(f"{what} is {backend!r}, but must be one of {', '.join(BACKENDS)}")
    if backend == "llvm" and not installed():
        raise ValueError(f"{what} is 'llvm', but llvmlite is not installed: pip install llvmlite")
    return backend


_backend = _checked(os.environ.get(VARIABLE) or "auto", VARIABLE)


def backend() -> str:
    """Return the chosen backend, one of `BACKENDS`."""
    return _backend


def use(backend: str) -> None:
    """Choose the backend from now on, for all threads.

    Raises ValueError for a backend that is not among `BACKENDS` or not installed.
    """
    global _backend
    _backend = _checked(backend, "the backend")


def _number_of_threads() -> int:
    asked = os.environ.get(THREADS)
    if asked:
        if not _is_number(asked):
            raise ValueError(f"{THREADS} is {asked!r}, but must be a number of threads, from 1 to {_MOST}")
        return int(asked)
    first = os.environ.get(_ALL_THREADS, "").partition(",")[0].strip()
    return int(first) if _is_number(first) else min(cpu.cores(), _USUAL)


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdecimal() and len(text) < 5 and 0 < int(text) <= _MOST


_threads = _number_of_threads()


def threads() -> int:
    """Return the number of threads that machine code uses, with the one that calls it."""
    return _threads


def use_threads(count: int) -> None:
    """Set the number of threads from now on: for example 1, where other processes share the work already.

    Raises ValueError for a number that is not from 1 to 1024.
    """
    global _threads
    if not 0 < count <= _MOST:
        raise ValueError(f"there cannot be {count} threads, only 1 to {_MOST}")
    _threads = count
