"""The corpus: small MLIR modules that show every production of the language, and the recorded answers of mlir-opt 22.

The modules are in ``corpus/``, sorted by what they show: ``attributes/``, ``types/``, ``syntax/``, ``ops/<dialect>/``;
``invalid/`` holds modules that must be rejected, ``newer/`` features that came after MLIR 22. A file holds several
modules between lines ``// -----``; ``syntax/generic.mlir#3`` is the name of the fourth module of a file.

    PYTHONPATH=tests python -m corpora.corpus

prints the number of modules that use each production and each part of each op.
"""

import argparse
import gzip
import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from corpora.text_coverage import Facts, report

from halfulp.interp.ir.errors import HalfulpError
from halfulp.interp.loading import parse_module

FOLDER = Path(__file__).parent / "corpus"
RECORDED = Path(__file__).parent / "recorded" / "mlir_opt_22.json.gz"
SEPARATOR = "\n// -----\n"


@dataclass(frozen=True, slots=True)
class CorpusEntry:
    """One module: its file (relative to ``corpus/``), its number in the file, and its text."""

    file: str
    index: int
    text: str

    @property
    def name(self) -> str:
        """Return ``file#index``."""
        return f"{self.file}#{self.index}"

    @property
    def invalid(self) -> bool:
        """Tell whether the module must be rejected."""
        return self.file.startswith("invalid/")

    @property
    def newer(self) -> bool:
        """Tell whether the module uses something newer than MLIR 22."""
        return self.file.startswith("newer/")


@dataclass(frozen=True, slots=True)
class CorpusRecord:
    """The answer of mlir-opt for a module: the text of each form, or line, column and message of the first error."""

    digest: str
    printed: Mapping[str, str] = field(default_factory=dict)
    error: tuple[int, int, str] | None = None

    def to_json(self) -> dict[str, Any]:
        """Return plain data, without empty fields."""
        return {"digest": self.digest, **({"error": list(self.error)} if self.error else {"printed": self.printed})}


def digest(text: str) -> str:
    """Return a short fingerprint of a module, which tells whether a record still belongs to it."""
    return hashlib.sha256(text.encode("utf-8")).hexdigest()[:12]


@cache
def entries() -> tuple[CorpusEntry, ...]:
    """Return every module of the corpus, sorted by file."""
    found = []
    for path in sorted(FOLDER.rglob("*.mlir")):
        # Read as bytes: line ends are part of some modules.
        text = path.read_bytes().decode("utf-8").removesuffix("\n")
        file = path.relative_to(FOLDER).as_posix()
        found += [CorpusEntry(file, index, part + "\n") for index, part in enumerate(text.split(SEPARATOR))]
    return tuple(found)


@cache
def recorded() -> Mapping[str, CorpusRecord]:
    """Return the answers of mlir-opt 22 by the names of the modules."""
    modules = json.loads(gzip.decompress(RECORDED.read_bytes()))["modules"]
    return {
        name: CorpusRecord(row["digest"], row.get("printed", {}), tuple(row["error"]) if "error" in row else None)
        for name, row in modules.items()
    }


def main() -> None:
    """Print the coverage of the corpus."""
    parser = argparse.ArgumentParser(
        prog="python -m corpora.corpus",
        description="Print how many modules use each production and op.",
    )
    parser.parse_args()
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


# --- deviations -------------------------------------------------------------------------------------------------------
#
# Modules of the corpus that halfulp treats differently from mlir-opt 22: on purpose, or not yet correctly.
#
# Tests check every row: they fail for a module in the table that is treated as mlir-opt treats it, and for a module
# treated differently that is not in the table.

_WIDE = "mlir-opt prints a decimal that it reads back, through f64, as another number: halfulp prints the bits"
_INFINITE = "a literal beyond f64 overflows as any other does; mlir-opt makes it 0 (LLVM issue 185351)"
_UNKNOWN_DIALECT = "halfulp keeps what it does not know: the dialect may be one that MLIR knows and allows here"

# Deliberate: the reason.
DELIBERATE: Mapping[str, str] = {
    "attributes/dense_array.mlir#13": _WIDE,
    "attributes/dense_elements.mlir#15": _WIDE,
    "attributes/float.mlir#0": _INFINITE,
    "attributes/float.mlir#2": _INFINITE,
    "attributes/float.mlir#4": _INFINITE,
    "attributes/float.mlir#35": _WIDE,
    "attributes/symbol.mlir#6": "an empty name prints as it is written; mlir-opt cannot read what it prints for it",
    "invalid/attributes.mlir#13": "mlir-opt takes the parts of a complex number for two numbers",
    "invalid/types.mlir#32": _UNKNOWN_DIALECT,
    "invalid/types.mlir#39": _UNKNOWN_DIALECT,
    "types/builtin.mlir#33": "mlir-opt drops the brackets around a type that it then cannot read",
    "syntax/lenient.mlir#6": "no grammar has a comma there; mlir-opt steps over it",
    "invalid/math.mlir#16": "flags of math.isnan stand here in MLIR 24",
    "invalid/verify.mlir#140": "halfulp runs casts of unranked tensors; the verifier of MLIR 22 rejects them",
    "syntax/lenient.mlir#7": "mlir-opt 22 prints the storage type si8 as i8, which it holds for another type",
    "syntax/lenient.mlir#10": "mlir-opt drops the high bits of a case value that does not fit the flag",
    "syntax/lenient.mlir#17": "mlir-opt drops a property that the op does not have",
}

# Not yet correct: what is wrong.
EXPECTED_FAILURES: Mapping[str, str] = {}
