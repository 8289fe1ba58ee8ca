"""What all imports of programs share: optional packages, and modules with the places and names that users know."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from importlib.util import find_spec
from typing import Any

import numpy.typing as npt

from halfulp.interp.ir.attributes import DenseElementsAttr, DenseResourceAttr
from halfulp.interp.ir.base import CallSiteLoc, Location, NameLoc, UnknownLoc, file_position
from halfulp.interp.ir.errors import Unsupported
from halfulp.interp.ir.operations import Module
from halfulp.interp.text.printer import print_module
from halfulp.loading import load_named
from halfulp.running import find_entry

# --- packages ---------------------------------------------------------------------------------------------------------
#
# The optional packages that imports of programs need.

INSTALL: Mapping[str, str] = {
    "iree.compiler": "pip install 'iree-base-compiler==3.13.*'",
    "jax": "pip install 'jax>=0.5'",
    "onnx": "pip install 'onnx>=1.16'",
    "onnxscript": "pip install onnxscript",
    "torch": "pip install 'torch>=2.7'",
    "torch_mlir": "pip install --no-deps 'torch-mlir>=20260901'",
    "triton": "pip install triton==3.9.0",
}
"""The command that installs each package."""


def require(package: str, what: str) -> None:
    """Raise Unsupported, with the command that installs the package, if it is absent. ``what``: what needs it."""
    try:
        found = find_spec(package)
    except ModuleNotFoundError:  # the package around it is absent
        found = None
    if found is None:
        raise Unsupported(f"{what} needs the Python package {package}, which is not installed", hint=INSTALL[package])


# --- places -----------------------------------------------------------------------------------------------------------


def as_printed(module: Module, of_user: Callable[[Location], Location] | None = None) -> Module:
    """Return a module whose text is what users print, and not that of a tool with its locations. Its ops and arguments
    keep their locations, without the calls inside halfulp.

    ``of_user``: makes the location that users see of that of a tool.
    """
    shown = of_user or without_own_calls
    found = load_named(print_module(module), module.filename)
    for op, original in zip(found.walk(), module.walk(), strict=True):
        # An op of a body that is written as one name has the place of the op around it.
        placed = original if original.location != original.position else original.parent_op or original
        op.location = shown(placed.location)
        for block, source in zip(op.blocks, original.blocks, strict=True):
            for argument, named in zip(block.arguments, source.arguments, strict=True):
                argument.location = shown(named.location)
    return found


OWN = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "")
"""The folder of halfulp's own files, which JAX takes for the callers of a function."""


def without_own_calls(location: Location, folders: tuple[str, ...] = (OWN,)) -> Location:
    """Return a location without the calls of functions in some folders: those inside halfulp."""
    if isinstance(location, NameLoc):
        return NameLoc(location.name, without_own_calls(location.child, folders))
    if not isinstance(location, CallSiteLoc):
        return location
    callee, caller = (without_own_calls(each, folders) for each in (location.callee, location.caller))
    place = file_position(callee)
    return caller if place is not None and place.file.startswith(folders) else CallSiteLoc(callee, caller)


# --- names ------------------------------------------------------------------------------------------------------------


def name_constants(module: Module, weights: Mapping[str, npt.NDArray[Any]]) -> None:
    """Give the constants of a module the names of weights, which have the same shape and bytes."""
    names: dict[tuple[tuple[int | None, ...], bytes], list[str]] = {}
    for name, weight in weights.items():
        names.setdefault((weight.shape, weight.tobytes()), []).append(name)
    for op in module.walk():
        value = op.properties.get("value", op.properties.get("values"))
        if op.name in _CONSTANTS and isinstance(value, DenseElementsAttr | DenseResourceAttr):
            data = (
                module.resources.blob(value.key)
                if isinstance(value, DenseResourceAttr)
                else DenseElementsAttr(value.type, value.array()).blob(packed=False)
            )
            found = names.get((tuple(value.type.shape or ()), bytes(data or b"")))
            if found is not None:
                op.location = NameLoc(", ".join(found), UnknownLoc())


_CONSTANTS = ("arith.constant", "stablehlo.constant", "tosa.const")


def name_arguments(module: Module, names: Sequence[str]) -> None:
    """Give the arguments of a module's function their names, if there is one for each."""
    arguments = find_entry(module).regions[0].blocks[0].arguments
    if len(names) == len(arguments):
        for argument, name in zip(arguments, names, strict=True):
            argument.location = NameLoc(name, UnknownLoc())
