"""The optional packages that imports of programs need."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.util import find_spec

from halfulp.interp.ir.errors import Unsupported

INSTALL: Mapping[str, str] = {
    "iree.compiler": "pip install 'iree-base-compiler==3.13.*'",
    "jax": "pip install 'jax>=0.5'",
    "onnx": "pip install 'onnx>=1.16'",
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
