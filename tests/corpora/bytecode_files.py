"""Bytecode that real tools wrote for modules of the corpus, recorded for machines without MLIR.

    PYTHONPATH=tests python -m corpora.bytecode_files

rewrites ``recorded/bytecode.json.gz``: modules that together use every code of an attribute or a type, orders of uses,
resources, unregistered ops and branches, each as mlir-opt 22 writes it in every version of the format, and, with those
of ``newer/``, as iree-opt (LLVM 24) writes it. The tools read the module from standard input, which both call
``<stdin>``.
"""

import argparse
import base64
import gzip
import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache, partial

from corpora.corpus import RECORDED, CorpusEntry, entries, recorded
from corpora.corpus_iree import find_iree_opt

from halfulp.interp.bytecode.encoding import MAX_VERSION
from halfulp.interp.bytecode.inspect import codes_of
from halfulp.interp.loading import read_bytecode

# Modules that mlir-opt and halfulp already read differently as text, so that their bytecode differs; the reasons
# are those of `deviations.DELIBERATE`.
READ_OTHERWISE = frozenset(
    (
        *(f"attributes/float.mlir#{number}" for number in (0, 2, 4)),
        *(f"syntax/lenient.mlir#{number}" for number in (6, 10, 17)),
        "types/builtin.mlir#33",
    )
)

FILES = RECORDED.parent / "bytecode.json.gz"
VERSIONS = range(MAX_VERSION + 1)


@dataclass(frozen=True, slots=True)
class BytecodeFile:
    """One file: the corpus module it was made from, the tool, and the version of the format."""

    entry: str
    tool: str
    version: int
    data: bytes


@cache
def recorded_files() -> tuple[BytecodeFile, ...]:
    """Return every recorded file."""
    rows = json.loads(gzip.decompress(FILES.read_bytes()))["files"]
    return tuple(BytecodeFile(name, tool, version, base64.b64decode(data)) for name, tool, version, data in rows)


def emit(tool: str, text: str, version: int = MAX_VERSION, arguments: Sequence[str] = ()) -> bytes:
    """Return the bytecode that a tool like mlir-opt writes for a module. Raises RuntimeError with its error text."""
    command = [tool, "--allow-unregistered-dialect", "--emit-bytecode", f"--emit-bytecode-version={version}"]
    done = subprocess.run(
        [*command, *arguments], input=text.encode("utf-8"), capture_output=True, check=False, timeout=60
    )
    if done.returncode:
        raise RuntimeError(done.stderr.decode("utf-8", "replace"))
    return done.stdout


def valid_entries() -> list[CorpusEntry]:
    """Return the modules that mlir-opt 22 accepts and reads as halfulp does."""
    return [
        entry
        for entry in entries()
        if not (entry.invalid or entry.newer or recorded()[entry.name].error) and entry.name not in READ_OTHERWISE
    ]


def facts(data: bytes) -> set[object]:
    """Return what a file exercises: its codes, and the other features that a reader must know."""
    module = read_bytecode(data)
    found: set[object] = set(codes_of(data))
    found |= {"use orders"} if module.use_orders else set()
    found |= {("resource", type(entry)) for group in module.resources.dialect.values() for entry in group.values()}
    found |= {("resource", type(entry)) for group in module.resources.external.values() for entry in group.values()}
    for op in module.walk():
        found |= {"successors"} if op.successors else set()
        found |= {("unregistered", bool(op.regions))} if op.definition is None else set()
        found |= {"raw properties"} if op.raw_properties is not None else set()
        found |= {"blocks"} if any(len(region.blocks) > 1 for region in op.regions) else set()
    return found


def covering(files: Mapping[str, set[object]]) -> list[str]:
    """Return the names of files that together show everything that all files show, chosen greedily."""
    chosen = []
    missing = set().union(*files.values())
    while missing:
        best = max(files, key=lambda name: len(files[name] & missing))
        chosen.append(best)
        missing -= files[best]
    return sorted(chosen)


def _newer(tool: str, by_name: Mapping[str, CorpusEntry], name: str) -> bytes | None:
    """Return the bytecode that a newer MLIR writes for a module; None where it rejects the module."""
    try:
        return emit(tool, by_name[name].text)
    except RuntimeError:
        return None


def main() -> int:
    """Record the files. Return 1 if iree-opt is missing."""
    parser = argparse.ArgumentParser(
        prog="python -m corpora.bytecode_files",
        description="Record the bytecode that real tools write.",
    )
    parser.parse_args()
    tool, iree = os.environ.get("HALFULP_MLIR_OPT", "mlir-opt-22"), find_iree_opt()
    if iree is None:
        print("iree-opt is not installed", file=sys.stderr)
        return 1
    by_name = {entry.name: entry for entry in entries()}
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        names = [entry.name for entry in valid_entries()]
        found = dict(zip(names, pool.map(lambda name: facts(emit(tool, by_name[name].text)), names), strict=True))
        rows = []
        for name in covering(found):
            text = by_name[name].text
            rows += [(name, "mlir-opt 22", version, emit(tool, text, version)) for version in VERSIONS]
        # Newer MLIR has other codes of attributes and types, and other properties of the ops in newer/.
        shown = ("attributes/", "types/", "newer/")
        names = [name for name in by_name if name.startswith(shown) and name not in READ_OTHERWISE]
        newer = dict(zip(names, pool.map(partial(_newer, iree, by_name), names), strict=True))
    written = {name: data for name, data in newer.items() if data is not None}
    chosen = {*covering({name: facts(data) for name, data in written.items()})}
    rows += [
        (name, "iree-opt", MAX_VERSION, data)
        for name, data in written.items()
        if name in chosen or name.startswith("newer/")
    ]
    files = [[name, made_by, version, base64.b64encode(data).decode()] for name, made_by, version, data in rows]
    text = json.dumps({"files": files}, separators=(",", ":"))
    FILES.write_bytes(gzip.compress(text.encode(), mtime=0))
    print(f"{len(rows)} files, {sum(len(data) for *_, data in rows)} bytes, {FILES.stat().st_size} compressed")
    return 0


if __name__ == "__main__":
    sys.exit(main())
