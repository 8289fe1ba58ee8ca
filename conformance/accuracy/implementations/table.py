"""Find the implementation that a text or a Python function names."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import Any

from halfulp.conformance.accuracy.implementations.by_arrays import (
    Jax,
    MlDtypes,
    NumPy,
    PythonFunction,
    Torch,
    named_function,
)
from halfulp.conformance.accuracy.implementations.by_libc import ByLlvmLibc
from halfulp.conformance.accuracy.implementations.by_libraries import SECONDS, library_named
from halfulp.conformance.accuracy.implementations.by_oracles import ByOracle
from halfulp.conformance.accuracy.implementations.interface import Implementation
from halfulp.conformance.oracles import ORACLES, TAKES_ARGUMENT
from halfulp.fp_formats.suggestions import did_you_mean
from halfulp.interp.ir.errors import InputError

_ARRAYS: Mapping[str, Callable[[], Implementation]] = {
    "numpy": NumPy,
    "ml_dtypes": MlDtypes,
    "torch": Torch,
    "jax": Jax,
    "llvm-libc": ByLlvmLibc,
}
_NOT_FLOATS = frozenset({"exact", "mlir-quant", "npz"})
NAMES: tuple[str, ...] = (*_ARRAYS, *(name for name in ORACLES if name not in {*_ARRAYS, *_NOT_FLOATS, "command"}))
"""The implementations with a name; beside them, anybody's code and files are measured."""
LIBRARIES = (".so", ".dylib", ".dll")


def implementation(against: str | Callable[..., Any], seconds: float = SECONDS) -> Implementation:
    """Return the implementation that ``against`` names.

    One of `NAMES`; ``command=PROGRAM`` as for ``halfulp verify``; ``PATH:SYMBOL`` of a shared library;
    ``module:function`` of Python; or a Python function itself. ``seconds``: the time limit of a library. Raises
    Unavailable with what to install, and InputError for anything else.
    """
    if not isinstance(against, str):
        return PythonFunction(against, getattr(against, "__name__", "the function"))
    head, equals, _ = against.partition("=")
    if against in _ARRAYS:
        return _ARRAYS[against]()
    if against in NAMES or (equals and head in TAKES_ARGUMENT):
        return ByOracle(against)
    path, colon, _ = against.partition(":")
    if colon and (os.path.basename(path).partition(".so")[1] or path.endswith(LIBRARIES)):
        try:
            return library_named(against, seconds)
        except ValueError as error:
            raise InputError(str(error)) from None
    if colon:
        return named_function(against)
    others = "a library's symbol ./lib.so:expf, a Python function module:function, or a file, but it does not exist"
    hint = did_you_mean(against, NAMES)
    raise InputError(f"unknown implementation {against!r}; there are {', '.join(NAMES)}, {others}", hint=hint)
