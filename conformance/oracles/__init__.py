"""The oracles by their names on the command line; each is loaded when it is first used."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module

from halfulp.conformance.oracles.oracle import Oracle

_CLASSES: Mapping[str, tuple[str, str]] = {
    "exact": ("exact", "ExactOracle"),
    "apfloat": ("apfloat", "APFloatOracle"),
    "mlir-expand": ("mlir_expand", "MlirExpand"),
    "mlir-native": ("mlir_native", "MlirNative"),
    "mlir-math-llvm": ("mlir_math", "MlirMathLlvm"),
    "mlir-math-expand": ("mlir_math", "MlirMathExpand"),
    "mlir-math-funcs": ("mlir_math", "MlirMathFuncs"),
    "mlir-math-apfloat": ("mlir_math", "MlirMathApfloat"),
    "mlir-math-polynomial": ("mlir_math", "MlirMathPolynomial"),
    "mlir-runtime": ("mlir_runtime", "MlirRuntime"),
    "mlir-fold": ("mlir_fold", "MlirFold"),
    "mlir-quant": ("mlir_quant", "MlirQuant"),
    "ml_dtypes": ("ml_dtypes", "MlDtypes"),
    "iree": ("iree", "Iree"),
    "npz": ("npz", "Npz"),
    "command": ("command", "Command"),
}
"""Name -> module in this package, class."""

ORACLES: tuple[str, ...] = tuple(_CLASSES)
TAKES_ARGUMENT = frozenset({"npz", "command"})
"""Oracles that need an argument: ``npz=results.npz``, ``command=./program``."""


def oracle(spelling: str) -> Oracle:
    """Return the oracle of that name. ``name=argument`` passes an argument, as in ``npz=results.npz``.

    Raises Unavailable where the tool is missing or of the wrong version, ValueError for an unknown name.
    """
    name, equals, argument = spelling.partition("=")
    if name not in _CLASSES:
        raise ValueError(f"unknown oracle {name!r}; the oracles are {', '.join(_CLASSES)}")
    if (name in TAKES_ARGUMENT) != bool(argument):
        raise ValueError(f"write {name}=..." if name in TAKES_ARGUMENT else f"{name} takes no argument")
    module, cls = _CLASSES[name]
    made: Oracle = getattr(import_module(f"{__name__}.{module}"), cls)(*([argument] if equals else []))
    return made
