"""Record what mlir-opt 22 makes of every module of the corpus.

    python -m halfulp.conformance.corpora.recorder [--all]

rewrites ``recorded/mlir_opt_22.json.gz``, for the modules that have changed or for all of them: per module the four
forms mlir-opt prints, or where and why it rejects the module. The module stands on standard input, which mlir-opt calls
``<stdin>``. Modules of ``newer/`` are not recorded: MLIR 22 does not know what they show.
"""

from __future__ import annotations

import gzip
import json
import os
import re
import subprocess
import sys
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor

from halfulp.conformance.corpora.corpus import RECORDED, Entry, Record, digest, entries, recorded

TOOL = os.environ.get("HALFULP_MLIR_OPT", "mlir-opt-22")
FLAGS = ("--allow-unregistered-dialect",)
FORMS: Mapping[str, tuple[str, ...]] = {
    "custom": (),
    "generic": ("--mlir-print-op-generic",),
    "custom_debug": ("--mlir-print-debuginfo",),
    "generic_debug": ("--mlir-print-op-generic", "--mlir-print-debuginfo"),
}
_DIAGNOSTIC = re.compile(r"^<stdin>:(\d+):(\d+): error: (.*)", re.MULTILINE)
# Of a storage type that is no integer mlir-opt prints what happens to stand in memory: another number in each run.
_RANDOM = re.compile(r"(?<=illegal storage type size: )\d{4,}")


def record(text: str) -> Record:
    """The four forms, or ``error``: line, column and message of the first error.

    Raises RuntimeError when mlir-opt ends without saying where the error is.
    """
    printed: dict[str, str] = {}
    for form, arguments in FORMS.items():
        done = subprocess.run(
            [TOOL, *FLAGS, *arguments], input=text.encode("utf-8"), capture_output=True, check=False, timeout=60
        )
        if done.returncode:
            said = done.stderr.decode("utf-8", "replace")
            diagnostic = _DIAGNOSTIC.search(said)
            if diagnostic is None:
                raise RuntimeError(f"{TOOL} ended with {done.returncode} and no place of an error:\n{text}\n{said}")
            message = _RANDOM.sub("?", diagnostic[3])
            return Record(digest(text), error=(int(diagnostic[1]), int(diagnostic[2]), message))
        printed[form] = done.stdout.decode("utf-8")
    return Record(digest(text), printed=printed)


def _record(entry: Entry, known: Record | None) -> Record:
    return known if known is not None and known.digest == digest(entry.text) else record(entry.text)


def main() -> None:
    """Write the record."""
    known = {} if "--all" in sys.argv[1:] or not RECORDED.exists() else recorded()
    version = subprocess.run([TOOL, "--version"], capture_output=True, encoding="utf-8", check=True).stdout
    wanted = [entry for entry in entries() if not entry.newer]
    with ThreadPoolExecutor(2) as pool:
        records = list(pool.map(lambda entry: _record(entry, known.get(entry.name)), wanted))
    data = {
        "command": f"{TOOL} {' '.join(FLAGS)} with each of {[list(flags) for flags in FORMS.values()]} < module",
        "version": next(line.strip() for line in version.splitlines() if "LLVM version" in line),
        "modules": {entry.name: found.to_json() for entry, found in zip(wanted, records, strict=True)},
    }
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"))
    RECORDED.write_bytes(gzip.compress(text.encode("utf-8"), mtime=0))
    rejected = sum(found.error is not None for found in records)
    print(f"{len(records)} modules, {rejected} of them rejected, {RECORDED.stat().st_size} bytes")


if __name__ == "__main__":
    main()
