"""The source tree, for the tests that check it: the file of each module, and what pyproject.toml says."""

import tomllib
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent

# The folders that install, as import names, lowest first: each may import itself and what stands before it.
LAYERS = {
    "fp_formats": "halfulp.fp_formats",
    "semantics": "halfulp.semantics",
    "interp": "halfulp.interp",
    "conformance": "halfulp.conformance",
    "api": "halfulp",
}


def pyproject() -> dict[str, Any]:
    """Return the parsed pyproject.toml."""
    return tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def package_files(root: Path = ROOT) -> dict[str, Path]:
    """Return every file of the five folders, Python or data, by the path at which it is to be installed
    (``halfulp/...``).
    """
    return {
        f"{package.replace('.', '/')}/{path.relative_to(root / folder).as_posix()}": path
        for folder, package in LAYERS.items()
        for path in sorted((root / folder).rglob("*"))
        if path.is_file() and "__pycache__" not in path.parts
    }


def modules_of(files: dict[str, Path]) -> dict[str, Path]:
    """Name the modules among these files as Python imports them."""
    return {
        name.removesuffix(".py").removesuffix("/__init__").replace("/", "."): path
        for name, path in files.items()
        if name.endswith(".py")
    }


def modules(root: Path = ROOT) -> dict[str, Path]:
    """Return every module of the five folders by its import name."""
    return modules_of(package_files(root))
