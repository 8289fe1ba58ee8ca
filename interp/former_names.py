"""The modules that pickles of halfulp 0.1 name: they find their classes in the modules of today.

A pickle names a class by its module. Values, types, attributes, buffers and errors are pickled into files and sent to
other processes, so pickles that were made before the modules moved must still load. New code imports no former name.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from importlib import import_module
from types import ModuleType
from typing import Any

_PLACES = {
    "affine": ("ir.affine_expressions",),
    "attributes": ("ir.attributes", "ir.dialect_attributes"),
    "buffers": ("values.buffers",),
    "dialect": ("declare.declarations", "ir.dialect_attributes"),
    "errors": ("ir.errors",),
    "locations": ("ir.locations",),
    "types": ("ir.types",),
}


def finding_in(*places: str) -> Callable[[str], Any]:
    """Make the ``__getattr__`` of a former module. It loads the present modules when a name is used."""

    def find(name: str) -> Any:
        for place in () if name.startswith("__") else places:
            module = import_module(f"halfulp.interp.{place}")
            if name in vars(module):
                return getattr(module, name)
        raise AttributeError(f"no module of halfulp.interp has a former name {name!r}")

    return find


def register() -> None:
    """Make the former modules importable, without loading any module of today."""
    for former, places in _PLACES.items():
        module = ModuleType(f"halfulp.interp.{former}", f"The former name of {' and '.join(places)}, for pickles.")
        vars(module)["__getattr__"] = finding_in(*places)
        sys.modules[module.__name__] = module
