"""Run the commands of docs/findings.md with several versions of MLIR, and record which of them still have the bug.

PYTHONPATH=tests python -m corpora.findings
"""

import contextlib
import io
import json
import re
import shlex
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from documents import DOCS, commands

from halfulp.command import main as cli
from halfulp.conformance.oracles.mlir_opt import find_mlir_opt

RECORDED = Path(__file__).parent / "recorded" / "findings.json"
NEWER = "24"
"""The MLIR, as `--mlir` names it, that runs each command beside the one that the page shows."""


@dataclass(frozen=True)
class Seen:
    """A program of the page: the passes, and what each version does with it: "wrong", "crash", "invalid op", "right",
    "no such pass", "not compared" or "refused".
    """

    program: str
    passes: str
    versions: Mapping[str, str]


def programs(text: str) -> dict[str, str]:
    """Return the programs of the page by their names."""
    return dict(re.findall(r"^```mlir\n// (\S+)\n(.*?)^```", text, re.DOTALL | re.MULTILINE))


def shown_by_mlir_opt() -> list[tuple[str, str]]:
    """Return the commands of the page that run passes of mlir-opt 22, and what they print."""
    return [
        (line, printed)
        for line, printed in commands(DOCS / "findings.md")
        if "--pass-pipeline" in line and "--mlir-opt=" not in line and "--mlir=" not in line
    ]


def outcome(line: str, folder: Path, mlir: str | None = None) -> str:
    """Run a command in a folder that has the programs. ``mlir``: which MLIR runs the passes instead."""
    said = io.StringIO()
    arguments = shlex.split(line) + ([f"--mlir={mlir}"] if mlir else [])
    with contextlib.chdir(folder), contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
        code = cli.main(arguments)
    return named(code, said.getvalue())


def named(code: int, said: str) -> str:
    """Name the result of a command by its exit code and its output."""
    if "does not refer to a registered pass" in said:
        return "no such pass"
    if code == 1:
        return "crash" if " crashed" in said else "invalid op" if "made an invalid op" in said else "wrong"
    return {0: "right", 3: "not compared"}.get(code, "refused")


def write_programs(folder: Path) -> None:
    """Write the programs of the page into a folder."""
    for name, text in programs((DOCS / "findings.md").read_text(encoding="utf-8")).items():
        (folder / name).write_text(f"// {name}\n{text}", encoding="utf-8")


def found() -> list[Seen]:
    """Run all commands. What the page shows for MLIR 22.1.8, its own test repeats."""
    version = find_mlir_opt(NEWER).version
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        write_programs(Path(folder))
        for line, printed in shown_by_mlir_opt():
            name = shlex.split(line)[1]
            pipeline = shlex.split(line.partition("--pass-pipeline")[2].lstrip("= "))[0]
            versions = {"22.1.8": named(1, printed), version: outcome(line, Path(folder), NEWER)}
            rows.append(Seen(name, pipeline.removeprefix("builtin.module(").removesuffix(")"), versions))
    return rows


def recorded() -> list[Seen]:
    """Return the recorded results."""
    return [Seen(**row) for row in json.loads(RECORDED.read_text(encoding="utf-8"))]


def table(rows: Sequence[Seen]) -> list[str]:
    """Return the results as a table: the versions in which each finding was seen first and last, and which fixed it."""
    names = list(dict.fromkeys(name for row in rows for name in row.versions))
    lines = [f"| program | passes | {' | '.join(names)} | seen in | fixed in |", "|---" * (len(names) + 4) + "|"]
    for row in rows:
        bad = [name for name, what in row.versions.items() if what in ("wrong", "crash", "invalid op")]
        fixed = next((name for name, what in row.versions.items() if what == "right"), "")
        seen = bad[0] if bad[:1] == bad[-1:] else f"{bad[0]} to {bad[-1]}"
        results = " | ".join(row.versions.get(name, "") for name in names)
        lines.append(f"| `{row.program}` | `{row.passes}` | {results} | {seen} | {fixed} |")
    return lines


def main() -> int:
    """Record the results."""
    rows = ",\n".join(json.dumps(asdict(row)) for row in found())
    RECORDED.write_text(f"[\n{rows}\n]\n", encoding="utf-8")
    print("\n".join(table(recorded())))
    return 0


if __name__ == "__main__":
    sys.exit(main())
