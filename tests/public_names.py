"""The type stub of the package, from its table of public names: run this file to write ``api/__init__.pyi``."""

from pathlib import Path

import halfulp as hu

STUB = Path(__file__).parents[1] / "api" / "__init__.pyi"


def stub() -> str:
    """Return the text of the stub: one import for each public name, and ``__all__``."""
    homes = [(name, *hu._home(name)) for name in hu._EXPORTS]
    imports = [
        (*module.rsplit(".", 1), name) if not attribute else (module, attribute, name)
        for name, module, attribute in homes
    ]
    # As ruff sorts them: by module, then constants, classes, functions.
    imports.sort(key=lambda row: (row[0], not row[1].isupper(), row[1][0].islower(), row[1]))
    lines = [
        "# Made from the table of public names in __init__.py by tests/public_names.py.",
        "",
        "from collections.abc import Mapping",
        "",
        *(f"from {module} import {imported} as {name}" for module, imported, name in imports),
        "",
        "__version__: str",
        "_EXPORTS: Mapping[str, str]",
        "",
        "def _home(name: str) -> tuple[str, str]: ...",
        "",
        "__all__ = [",
        *(f'    "{name}",' for name in sorted(hu._EXPORTS)),
        "]",
    ]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    STUB.write_text(stub(), encoding="utf-8")
