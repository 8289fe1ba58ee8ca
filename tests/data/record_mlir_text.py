"""Record what mlir-opt 22 prints, or says, for each attribute of attributes.txt and each module of modules.mlir.

    python tests/data/record_mlir_text.py

rewrites mlir_text.json: per source the custom form, the generic form, both with debug information, or the first line of the
error. The file on standard input is called <stdin> in it.
"""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

HERE = Path(__file__).parent
TOOL = "mlir-opt-22"
FLAGS = ["--allow-unregistered-dialect"]
FORMS = {
    "custom": [],
    "generic": ["--mlir-print-op-generic"],
    "custom_debug": ["--mlir-print-debuginfo"],
    "generic_debug": ["--mlir-print-op-generic", "--mlir-print-debuginfo"],
}


def sources() -> list[str]:
    """Return the texts given to mlir-opt: each attribute on an op of an unregistered dialect, then the modules."""
    attributes = (HERE / "attributes.txt").read_text(encoding="utf-8").splitlines()
    modules = (HERE / "modules.mlir").read_text(encoding="utf-8").rstrip("\n").split("\n// -----\n")
    return [f'"test.op"() {{a = {attribute}}} : () -> ()\n' for attribute in attributes] + modules


def record(source: str) -> dict[str, str]:
    """Return the output of mlir-opt for one source."""
    found = {}
    for form, flags in FORMS.items():
        done = subprocess.run([TOOL, *FLAGS, *flags], input=source, capture_output=True, encoding="utf-8", check=False)
        if done.returncode:
            return {"error": done.stderr.splitlines()[0]}
        found[form] = done.stdout
    return found


def main() -> None:
    """Write mlir_text.json."""
    version = subprocess.run([TOOL, "--version"], capture_output=True, encoding="utf-8", check=True).stdout
    header = {
        "command": f"{TOOL} {' '.join(FLAGS)} [{' | '.join(' '.join(flags) for flags in FORMS.values() if flags)}]",
        "version": next(line.strip() for line in version.splitlines() if "LLVM version" in line),
        "results": [record(source) for source in sources()],
    }
    (HERE / "mlir_text.json").write_text(json.dumps(header, indent=0, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
