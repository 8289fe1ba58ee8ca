"""The corpus of IREE's codegen dialect, and the recorded answers of iree-opt 3.13.

    PYTHONPATH=tests python -m corpora.corpus_iree

rewrites ``recorded/iree_opt_3_13.json.gz``, and

    PYTHONPATH=tests python -m corpora.corpus_iree FOLDER

runs the tests of IREE in a checkout: what iree-opt prints of them in generic form is read, printed, and given back to
iree-opt, which must print the same again. The modules are in ``corpus_iree/``, several to a file between lines ``//
-----``: ``attributes`` and ``ops`` hold modules that iree-opt accepts, ``invalid`` modules that it must reject,
``document`` the examples of the dialect's document in its own syntax, which iree-opt may reject. For these the record
says whether iree-opt accepts what halfulp prints for them.
"""

import argparse
import gzip
import json
import os
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from shutil import which
from typing import Any

from corpora.corpus import SEPARATOR, CorpusEntry, CorpusRecord, digest

from halfulp.interp.declare.declarations import Schema
from halfulp.interp.ir.errors import HalfulpError
from halfulp.interp.loading import parse_module
from halfulp.interp.text.printer import print_module

FOLDER = Path(__file__).parent / "corpus_iree"
RECORDED = Path(__file__).parent / "recorded" / "iree_opt_3_13.json.gz"
FORMS: Mapping[str, tuple[str, ...]] = {"custom": (), "generic": ("--mlir-print-op-generic",)}
SECONDS = 60.0
_DIAGNOSTIC = re.compile(r"^<stdin>:(\d+):(\d+): error: (.*)", re.MULTILINE)


def find_iree_opt() -> str | None:
    """Return the path of iree-opt: ``HALFULP_IREE_OPT``, the one on PATH, or the one of the package
    iree-base-compiler.
    """
    named = os.environ.get("HALFULP_IREE_OPT") or which("iree-opt")
    if named:
        return named
    spec = find_spec("iree.compiler") if find_spec("iree") else None
    found = Path(spec.origin).parent / "_mlir_libs" / "iree-opt" if spec and spec.origin else None
    return str(found) if found is not None and found.is_file() else None


@cache
def entries() -> tuple[CorpusEntry, ...]:
    """Return every module, sorted by file."""
    found = []
    for path in sorted(FOLDER.glob("*.mlir")):
        text = path.read_text(encoding="utf-8").removesuffix("\n")
        found += [CorpusEntry(path.name, index, part + "\n") for index, part in enumerate(text.split(SEPARATOR))]
    return tuple(found)


def is_of_document(entry: CorpusEntry) -> bool:
    """Tell whether a module is in the document's syntax."""
    return entry.file == "document.mlir"


def asked_text(entry: CorpusEntry) -> str:
    """Return the text that iree-opt is given for a module: its own, or what halfulp prints for the
    document's syntax.
    """
    if not is_of_document(entry):
        return entry.text
    return print_module(parse_module(entry.text, "<stdin>"), schema=Schema.LLVM24)


def record(tool: str, text: str) -> CorpusRecord:
    """Record what iree-opt prints, or where and why it rejects the text. Raises RuntimeError where it says neither."""
    printed: dict[str, str] = {}
    for form, arguments in FORMS.items():
        done = subprocess.run(
            [tool, *arguments], input=text.encode("utf-8"), capture_output=True, check=False, timeout=SECONDS
        )
        if done.returncode:
            said = done.stderr.decode("utf-8", "replace")
            diagnostic = _DIAGNOSTIC.search(said)
            if diagnostic is None:
                raise RuntimeError(f"{tool} ended with {done.returncode} and no place of an error:\n{text}\n{said}")
            return CorpusRecord(digest(text), error=(int(diagnostic[1]), int(diagnostic[2]), diagnostic[3]))
        printed[form] = done.stdout.decode("utf-8")
    return CorpusRecord(digest(text), printed=printed)


@cache
def recorded() -> Mapping[str, CorpusRecord]:
    """Return the record of each module, by its name."""
    data: Mapping[str, Mapping[str, Any]] = json.loads(gzip.decompress(RECORDED.read_bytes()))
    return {
        name: CorpusRecord(row["digest"], row.get("printed", {}), tuple(row["error"]) if "error" in row else None)
        for name, row in data.items()
    }


_OURS = re.compile(r"\biree_(codegen|gpu|cpu)\.|\bsmt\.")
_BETWEEN_MODULES = re.compile(r"^// -----.*$", re.MULTILINE)


def modules_below(folder: Path) -> Iterator[CorpusEntry]:
    """Yield the modules of all tests in a folder that use the dialects."""
    for path in sorted(folder.rglob("*.mlir")):
        parts = _BETWEEN_MODULES.split(path.read_text(encoding="utf-8", errors="replace"))
        name = str(path.relative_to(folder))
        yield from (CorpusEntry(name, index, part) for index, part in enumerate(parts) if _OURS.search(part))


def goes_around(tool: str, text: str) -> str:
    """Send a module through halfulp and back to iree-opt in generic form. Return "the same" or what went wrong; "not
    taken" where iree-opt rejects the module itself.
    """

    def printed(given: str, *arguments: str) -> str | None:
        done = subprocess.run(
            [tool, "--mlir-print-local-scope", *arguments], input=given.encode(), capture_output=True, timeout=SECONDS
        )
        return None if done.returncode else done.stdout.decode()

    before, generic = printed(text), printed(text, *FORMS["generic"])
    if before is None or generic is None:
        return "not taken"
    try:
        after = printed(print_module(parse_module(generic, "<stdin>"), schema=Schema.LLVM24))
    except HalfulpError as error:
        return str(error)
    return "the same" if after == before else "refused" if after is None else "different"


def go_around(tool: str, folder: Path) -> int:
    """Print the result of each module in a folder that does not come back the same, and the counts. Return 1 if there
    is one.
    """
    found = list(modules_below(folder))
    with ThreadPoolExecutor() as pool:
        outcomes = list(pool.map(lambda entry: goes_around(tool, entry.text), found))
    expected = ("the same", "not taken")
    for entry, outcome in zip(found, outcomes, strict=True):
        if outcome not in expected:
            print(f"{entry.name}: {outcome}")
    counts = Counter(outcome if outcome in expected else "otherwise" for outcome in outcomes)
    print(", ".join(f"{name}: {counts[name]}" for name in (*expected, "otherwise")))
    return int(counts["otherwise"] > 0)


def main(arguments: list[str]) -> int:
    """Record every module again; with a folder, check the tests in it instead."""
    parser = argparse.ArgumentParser(
        prog="python -m corpora.corpus_iree",
        description="Record what iree-opt makes of its corpus.",
    )
    parser.add_argument("folder", nargs="?", type=Path, help="a checkout of IREE: go through its tests instead")
    folder = parser.parse_args(arguments).folder
    tool = find_iree_opt()
    if tool is None:
        raise SystemExit("iree-opt is not installed (package iree-base-compiler); HALFULP_IREE_OPT names one")
    if folder is not None:
        return go_around(tool, folder)
    with ThreadPoolExecutor(2) as pool:
        records = list(pool.map(lambda entry: record(tool, asked_text(entry)), entries()))
    rows = {entry.name: made.to_json() for entry, made in zip(entries(), records, strict=True)}
    text = json.dumps(rows, indent=0, ensure_ascii=False)
    RECORDED.write_bytes(gzip.compress(text.encode("utf-8"), mtime=0))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
