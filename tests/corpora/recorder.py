"""Record what mlir-opt 22 prints for every module of the corpus, or why it rejects the module.

    PYTHONPATH=tests python -m corpora.recorder [--all]

rewrites ``recorded/mlir_opt_22.json.gz``, for the modules that have changed or for all of them: the four forms that
mlir-opt prints of a module, or where and why it rejects the module. mlir-opt reads the module from standard input,
which it calls ``<stdin>``. Modules of ``newer/`` are not recorded, since MLIR 22 does not know their features.
"""

import argparse
import gzip
import json
import os
import re
import subprocess
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor

from corpora.corpus import RECORDED, CorpusEntry, CorpusRecord, digest, entries, recorded

TOOL = os.environ.get("HALFULP_MLIR_OPT", "mlir-opt-22")
FLAGS = ("--allow-unregistered-dialect",)
FORMS: Mapping[str, tuple[str, ...]] = {
    "custom": (),
    "generic": ("--mlir-print-op-generic",),
    "custom_debug": ("--mlir-print-debuginfo",),
    "generic_debug": ("--mlir-print-op-generic", "--mlir-print-debuginfo"),
}
_DIAGNOSTIC = re.compile(r"^<stdin>:(\d+):(\d+): error: (.*)", re.MULTILINE)
# For a storage type that is not an integer, mlir-opt prints uninitialised memory: another number in each run.
_RANDOM = re.compile(r"(?<=illegal storage type size: )\d{4,}")


def record(text: str) -> CorpusRecord:
    """Return the four forms, or ``error``: line, column and message of the first error.

    Raises RuntimeError if mlir-opt fails without the location of the error.
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
            return CorpusRecord(digest(text), error=(int(diagnostic[1]), int(diagnostic[2]), message))
        printed[form] = done.stdout.decode("utf-8")
    return CorpusRecord(digest(text), printed=printed)


def _record(entry: CorpusEntry, known: CorpusRecord | None) -> CorpusRecord:
    return known if known is not None and known.digest == digest(entry.text) else record(entry.text)


def main() -> None:
    """Write the record."""
    parser = argparse.ArgumentParser(
        prog="python -m corpora.recorder",
        description="Record what mlir-opt 22 makes of the corpus.",
    )
    parser.add_argument("--all", action="store_true", help="every module, not only those that have changed")
    asked = parser.parse_args()
    known = {} if asked.all or not RECORDED.exists() else recorded()
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
