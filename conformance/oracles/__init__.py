"""The oracles by their names on the command line; each is loaded when it is first used."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import import_module

from halfulp.conformance.oracles.oracle import Oracle
from halfulp.interp.ir.errors import InputError

_CLASSES: Mapping[str, tuple[str, str]] = {
    "exact": ("libraries", "ExactOracle"),
    "apfloat": ("apfloat", "APFloatOracle"),
    "mlir-expand": ("jit", "MlirExpand"),
    "mlir-native": ("jit", "MlirNative"),
    "mlir-math-llvm": ("jit", "MlirMath"),
    "mlir-math-expand": ("jit", "MlirMath"),
    "mlir-math-funcs": ("jit", "MlirMath"),
    "mlir-math-apfloat": ("jit", "MlirMath"),
    "mlir-math-polynomial": ("jit", "MlirMath"),
    "mlir-runtime": ("jit", "MlirRuntime"),
    "mlir-fold": ("mlir_fold", "MlirFold"),
    "mlir-quant": ("mlir_fold", "MlirQuant"),
    "ml_dtypes": ("libraries", "MlDtypes"),
    "iree": ("iree", "Iree"),
    "tosa": ("tosa_model", "TosaModel"),
    "npz": ("vector_format", "Npz"),
    "command": ("vector_format", "Command"),
}
"""Name -> module in this package, class."""

ORACLES: tuple[str, ...] = tuple(_CLASSES)
TAKES_ARGUMENT = frozenset({"npz", "command"})
"""Oracles that need an argument: ``npz=results.npz``, ``command=./program``."""


TAKES_MLIR = frozenset(
    {"mlir-fold", "mlir-native", "mlir-expand", "mlir-math-llvm", "mlir-math-expand", "mlir-math-funcs"}
)
"""Oracles that bindings of MLIR can answer, and mlir-fold any mlir-opt; the others named ``mlir-`` need MLIR 22."""


def check_mlir(names: Sequence[str]) -> None:
    """Raise InputError if none of the oracles takes the MLIR that --mlir names."""
    if not TAKES_MLIR & set(names):
        raise InputError(f"--mlir is for {', '.join(sorted(TAKES_MLIR))} only")


def oracle(spelling: str, mlir: str | None = None) -> Oracle:
    """Return the oracle of that name. ``name=argument`` passes an argument, as in ``npz=results.npz``. ``mlir``: the
    mlir-opt of the oracles of `TAKES_MLIR`, for `find_mlir_opt`.

    Raises Unavailable if the tool is missing or of the wrong version, ValueError for an unknown name.
    """
    name, equals, argument = spelling.partition("=")
    if name not in _CLASSES:
        raise ValueError(f"unknown oracle {name!r}; the oracles are {', '.join(_CLASSES)}")
    if (name in TAKES_ARGUMENT) != bool(argument):
        raise ValueError(f"write {name}=..." if name in TAKES_ARGUMENT else f"{name} takes no argument")
    module, cls = _CLASSES[name]
    # One class has several names, and differs by them.
    arguments: list[str | None] = [argument] if equals else [name] if cls == "MlirMath" else []
    arguments += [mlir] if name in TAKES_MLIR else []
    made: Oracle = getattr(import_module(f"{__name__}.{module}"), cls)(*arguments)
    return made
