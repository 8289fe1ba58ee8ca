"""The page about what was found in MLIR: its programs still differ, and its table of LLVM's tests is whole."""

import os
import re
import shlex
import signal
import subprocess
from collections import Counter
from pathlib import Path

import pytest
from corpora import findings
from corpora.pass_results import COMPARED, OUTCOMES, recorded, summarised, table
from documents import DOCS, commands

from halfulp.command import main as cli
from halfulp.conformance.oracles.iree import converter
from halfulp.conformance.oracles.mlir_opt import find_mlir_opt
from halfulp.conformance.whole_programs.pass_differences import resembled, symptoms
from halfulp.interp.loading import parse_module

TEXT = (DOCS / "findings.md").read_text(encoding="utf-8")
PROGRAMS = dict(re.findall(r"^```mlir\n// (\S+)\n(.*?)^```", TEXT, re.DOTALL | re.MULTILINE))
COMMANDS = commands(DOCS / "findings.md")


IREE_OPT = "--mlir-opt=iree-opt"


def needing(line: str) -> pytest.MarkDecorator:
    """Return the mark of the program that a command needs."""
    if "--mlir=24" in line:
        return pytest.mark.torch_mlir
    return pytest.mark.iree if IREE_OPT in line else pytest.mark.mlir


@pytest.mark.parametrize(
    ("line", "printed"),
    [pytest.param(*command, marks=needing(command[0]), id=shlex.split(command[0])[1]) for command in COMMANDS],
)
def test_a_finding_is_found(
    line: str, printed: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    if IREE_OPT in line:
        monkeypatch.setenv("PATH", str(Path(converter().path).parent), prepend=os.pathsep)
    for name, text in PROGRAMS.items():
        (tmp_path / name).write_text(f"// {name}\n{text}")
    code = cli.main(shlex.split(line))
    captured = capsys.readouterr()
    assert (code, captured.out + captured.err) == (1, printed)


def test_a_report_names_the_finding_that_a_program_resembles() -> None:
    for line, printed in findings.shown_by_mlir_opt():
        section = TEXT[: TEXT.index(line)].rpartition("\n## ")[2].splitlines()[0]
        anchor = re.sub(r"[^a-z0-9 -]", "", section.lower()).replace(" ", "-")
        row = next(row for row in symptoms() if f"(#{anchor})" in row.what)
        if row.ops and " crashed (" not in printed:
            module = parse_module(PROGRAMS[shlex.split(line)[1]], skip_unknown=True)
            names = {op.name for op in module.walk()}
            assert not any(map(names.isdisjoint, row.ops)), f"{row.what} has other ops than its program"
    assert resembled({"canonicalize"}, parse_module("func.func @f(%x: i8) -> i8 { return %x : i8 }")) is None
    (row,) = (row for row in symptoms() if "#216315" in row.upstream)
    assert str(row) == (
        "a truncation keeps its flag (docs/findings.md#a-truncation-keeps-its-flag): "
        "https://github.com/llvm/llvm-project/issues/216315"
    )


@pytest.mark.torch_mlir
@pytest.mark.parametrize(
    "row", findings.recorded()[:: 1 if os.environ.get("HALFULP_LONG") else 8], ids=lambda row: row.program
)
def test_a_newer_version_does_what_the_table_says(row: findings.Seen, tmp_path: Path) -> None:
    findings.write_programs(tmp_path)
    (line, *_) = (line for line, _ in findings.shown_by_mlir_opt() if shlex.split(line)[1] == row.program)
    version = find_mlir_opt(findings.NEWER).version
    assert findings.outcome(line, tmp_path, findings.NEWER) == row.versions[version]


def test_the_table_of_versions_has_every_command() -> None:
    assert [row.program for row in findings.recorded()] == [shlex.split(x)[1] for x, _ in findings.shown_by_mlir_opt()]
    rows = [
        findings.Seen("a.mlir", "p", {"22": "wrong", "24": "wrong"}),
        findings.Seen("b.mlir", "q", {"22": "crash", "24": "right"}),
    ]
    assert findings.table(rows)[2:] == [
        "| `a.mlir` | `p` | wrong | wrong | 22 to 24 |  |",
        "| `b.mlir` | `q` | crash | right | 22 | 24 |",
    ]


CRASHES = [(line, printed) for line, printed in COMMANDS if " crashed (signal " in printed]


@pytest.mark.mlir
@pytest.mark.parametrize(("line", "printed"), CRASHES)
def test_bisect_finds_a_pass_that_crashes(
    line: str, printed: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    command, name, *options = shlex.split(line)
    assert (command, len(CRASHES)) == ("diff", 4)
    (tmp_path / name).write_text(f"// {name}\n{PROGRAMS[name]}")
    assert cli.main(["bisect", name, *options]) == 1
    said = printed.removeprefix("error: ")
    assert capsys.readouterr().out.endswith(f"  CRASHED: {said}{said}")


NEWER = {
    "masked_unit.mlir": ("canonicalize", 1),
    "masked_one.mlir": ("canonicalize", 1),
    "flattened_mask.mlir": ("flatten-memref", 0),
    "tiled.mlir": ("func.func(affine-loop-tile{tile-size=2})", 1),
    "forall.mlir": ("canonicalize", 1),
    "specialized.mlir": ("func.func(linalg-specialize-generic-ops)", 1),
    "unrolled.mlir": ("func.func(affine-loop-unroll{unroll-factor=4 unroll-up-to-factor=true})", 1),
}
"""The programs that iree-opt runs through the same passes, and the exit codes: 1 is wrong, or a crash."""


@pytest.mark.iree
@pytest.mark.parametrize("name", NEWER)
def test_the_table_of_newer_versions_is_right(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], iree_opt: str
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / name).write_text(PROGRAMS[name])
    passes, code = NEWER[name]
    assert cli.main(["diff", name, f"--mlir-opt={iree_opt}", f"--pass-pipeline=builtin.module({passes})"]) == code
    captured = capsys.readouterr()
    assert "24.0.0git" in captured.out + captured.err
    crashed = re.search(r" crashed \(signal \d+\).*, in the pass ([\w-]+)$", captured.err, re.MULTILINE)
    assert crashed is None or crashed[1] in passes
    (*_, row) = (line for line in TEXT.splitlines() if line.startswith(f"| `{name}` |"))
    assert row.split("|")[3].strip() == ("crash" if crashed else ("right", "wrong")[code])


BY_TOOLS = {
    "unsigned.mlir": (0, "      %1 = arith.extsi %in : i8 to i32\n      %2 = arith.extsi %in_0 : i8 to i32\n"),
    "ceiling.mlir": (0, "3074457345618258602\n"),
    "negative.mlir": (-signal.SIGSEGV, ""),
    "double.mlir": (1, ""),
    "always.mlir": (-signal.SIGSEGV, ""),
    "index.mlir": (-signal.SIGSEGV, ""),
    "view.mlir": (-signal.SIGSEGV, ""),
    "branch.mlir": (-signal.SIGSEGV, ""),
    "unused.mlir": (-signal.SIGSEGV, ""),
    "conditional.mlir": (-signal.SIGSEGV, ""),
    "endless.mlir": (124, ""),
    "reshapes.mlir": (124, ""),
}
"""Programs that the page gives to the real tools: the exit code of the last one, and what is printed."""


@pytest.mark.mlir
@pytest.mark.parametrize("name", BY_TOOLS)
def test_a_finding_is_found_by_the_tools(name: str, tmp_path: Path) -> None:
    (script,) = [
        block
        for block in re.findall(r"(?:^ {4}.*\n)+", TEXT, re.MULTILINE)
        if re.search(rf"\b{re.escape(name)}\b", block)
    ]
    (tmp_path / name).write_text(PROGRAMS[name])
    done = subprocess.run(["bash", "-c", script], cwd=tmp_path, capture_output=True, text=True, check=False, timeout=60)
    assert (done.returncode, done.stdout) == BY_TOOLS[name], done.stderr


def test_every_program_of_the_page_has_a_command() -> None:
    named = {word for line, _ in COMMANDS for word in shlex.split(line) if word.endswith(".mlir")}
    assert named | BY_TOOLS.keys() == set(PROGRAMS)
    assert len(COMMANDS) >= 12


def test_every_difference_has_a_decision() -> None:
    rows = re.findall(r"^\| `(\S+\.mlir)` \| (\d+) \| (.+) \|$", TEXT, re.MULTILINE)
    differing: Counter[str] = Counter()
    for result in recorded():
        differing[result.test] += result.outcomes.get("differs", 0)
    assert {test: int(count) for test, count, _ in rows} == {test: n for test, n in differing.items() if n}
    assert all(len(result.differing) == result.outcomes.get("differs", 0) for result in recorded())


def test_enough_was_compared_and_nothing_crashed() -> None:
    total: Counter[str] = Counter()
    for result in recorded():
        total.update(result.outcomes)
    assert set(total) <= set(OUTCOMES)
    assert sum(total[outcome] for outcome in COMPARED) >= 1600
    assert total["crash"] == total["timeout"] == 0


def test_the_table_counts_the_cases_of_each_dialect() -> None:
    cases = [
        {"test": "A/x.mlir", "command": "-cse", "function": "f", "outcome": "proven"},
        {"test": "A/x.mlir", "command": "-cse", "function": "g", "outcome": "differs"},
        {"test": "B/y.mlir", "command": "", "function": "h", "outcome": "silent"},
    ]
    results = summarised(cases)
    assert [(row.test, dict(row.outcomes), row.differing) for row in results] == [
        ("A/x.mlir", {"proven": 1, "differs": 1}, ("g",)),
        ("B/y.mlir", {"silent": 1}, ()),
    ]
    assert table(results)[2:] == [
        "| A | 2 | 2 | 1 | 1 | 0 | 0 | 0 |",
        "| B | 1 | 0 | 0 | 0 | 1 | 0 | 0 |",
        "| all | 3 | 2 | 1 | 1 | 1 | 0 | 0 |",
    ]
