"""The corpus: small MLIR modules that show every production of the language, and what mlir-opt 22 made of them.

The modules stand in ``corpus/``, sorted by what they show: ``attributes/``, ``types/``, ``syntax/``,
``ops/<dialect>/``; ``invalid/`` holds what must be rejected, ``newer/`` what MLIR has learned since version 22. A file
holds several modules between lines ``// -----``; ``syntax/generic.mlir#3`` is the name of the fourth module of a file.

    python -m halfulp.conformance.corpora.corpus

prints how many modules use each production and each part of each op.
"""

from __future__ import annotations

import gzip
import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent / "corpus"
RECORDED = Path(__file__).parent / "recorded" / "mlir_opt_22.json.gz"
SEPARATOR = "\n// -----\n"


@dataclass(frozen=True, slots=True)
class Entry:
    """One module: the file it is from (relative to ``corpus/``), its number in it, and its text."""

    file: str
    index: int
    text: str

    @property
    def name(self) -> str:
        """``file#index``."""
        return f"{self.file}#{self.index}"

    @property
    def invalid(self) -> bool:
        """Whether the module must be rejected."""
        return self.file.startswith("invalid/")

    @property
    def newer(self) -> bool:
        """Whether the module shows what MLIR 22 does not know."""
        return self.file.startswith("newer/")


@dataclass(frozen=True, slots=True)
class Record:
    """What mlir-opt made of a module: the text of each form, or line, column and message of the first error."""

    digest: str
    printed: Mapping[str, str] = field(default_factory=dict)
    error: tuple[int, int, str] | None = None

    def to_json(self) -> dict[str, Any]:
        """As plain data, without what is empty."""
        return {"digest": self.digest, **({"error": list(self.error)} if self.error else {"printed": self.printed})}


def digest(text: str) -> str:
    """A short fingerprint of a module, which tells whether a record is still about it."""
    return hashlib.sha256(text.encode("utf-8")).hexdigest()[:12]


@cache
def entries() -> tuple[Entry, ...]:
    """Every module of the corpus, sorted by file."""
    found = []
    for path in sorted(FOLDER.rglob("*.mlir")):
        # Bytes: line ends are part of some modules.
        text = path.read_bytes().decode("utf-8").removesuffix("\n")
        file = path.relative_to(FOLDER).as_posix()
        found += [Entry(file, index, part + "\n") for index, part in enumerate(text.split(SEPARATOR))]
    return tuple(found)


@cache
def recorded() -> Mapping[str, Record]:
    """What mlir-opt 22 made of the modules, by name."""
    modules = json.loads(gzip.decompress(RECORDED.read_bytes()))["modules"]
    return {
        name: Record(row["digest"], row.get("printed", {}), tuple(row["error"]) if "error" in row else None)
        for name, row in modules.items()
    }


def main() -> None:
    """Print what the corpus shows."""
    from halfulp.conformance.corpora.text_coverage import Facts, report
    from halfulp.interp.ir.errors import HalfulpError
    from halfulp.interp.text.parser import parse_module

    modules = []
    for entry in entries():
        if not entry.invalid:
            try:
                modules.append(Facts(parse_module(entry.text, entry.name), entry.text))
            except HalfulpError as error:
                print(f"not counted, since it is rejected: {error}")
    print(report(modules))


if __name__ == "__main__":
    main()
