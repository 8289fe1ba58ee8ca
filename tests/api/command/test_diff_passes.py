"""diff --pass-pipeline: the mlir-opt that runs, its messages, and exit codes."""

from __future__ import annotations

import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from halfulp.command import main as cli

PIPELINE = "--pass-pipeline=builtin.module(canonicalize)"

TWICE = """\
func.func @f(%x: i8) -> i8 {
  %0 = arith.addi %x, %x : i8
  return %0 : i8
}
"""

FakeOpt = Callable[[str], str]


@pytest.fixture
def fake_opt(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FakeOpt:
    """Make an mlir-opt from the body of a shell script, and return the option that names it. `f.mlir` is `TWICE`."""
    monkeypatch.chdir(tmp_path)
    Path("f.mlir").write_text(TWICE, encoding="utf-8")

    def make(body: str) -> str:
        path = tmp_path / "my-opt"
        version = 'if [ "$1" = --version ]; then echo "LLVM version 99.1.0git"; exit 0; fi'
        path.write_text(f"#!/bin/sh\n{version}\n{body}\n", encoding="utf-8")
        path.chmod(path.stat().st_mode | stat.S_IXUSR)
        return f"--mlir-opt={path}"

    return make


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    code = cli.main(arguments)
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def test_a_build_of_any_version_runs_the_passes(fake_opt: FakeOpt, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, "diff", "f.mlir", PIPELINE, fake_opt("cat"))
    assert code == 0
    assert out.startswith("my-opt 99.1.0git: builtin.module(canonicalize)\n@f: every input, 256 inputs; elements: ")
    code, out, _ = run(capsys, "diff", "f.mlir", PIPELINE, fake_opt("sed s/addi/muli/"))
    assert code == 1
    assert "  argument 0: i8=1\n  before:   0x02 (2)\n  after:    0x01 (1)" in out


def test_errors_of_the_build_point_into_the_file(fake_opt: FakeOpt, capsys: pytest.CaptureFixture[str]) -> None:
    option = fake_opt("echo '<stdin>:2:8: error: no such op' >&2; exit 1")
    code, out, err = run(capsys, "diff", "f.mlir", PIPELINE, option)
    assert (code, out) == (2, "")
    assert err.startswith("f.mlir:2:8: error: my-opt 99.1.0git: no such op\n  %0 = arith.addi %x, %x : i8\n")
    code, out, err = run(capsys, "diff", "f.mlir", PIPELINE, fake_opt("kill -SEGV $$"))
    assert (code, out, err) == (2, "", "error: my-opt 99.1.0git crashed (signal 11)\n")


def test_a_build_needs_passes(fake_opt: FakeOpt, capsys: pytest.CaptureFixture[str]) -> None:
    code, _, err = run(capsys, "diff", "f.mlir", "f.mlir", fake_opt("cat"))
    assert (code, err) == (2, "error: --mlir-opt goes with --pass-pipeline\n")
    code, _, err = run(capsys, "diff", "f.mlir", PIPELINE, "--mlir-opt=/nowhere/opt")
    assert code == 2
    assert err == "error: /nowhere/opt is not on PATH\nhint: --mlir-opt=PATH names another program\n"


@pytest.mark.mlir
def test_a_form_that_halfulp_does_not_know_is_read(fake_opt: FakeOpt, capsys: pytest.CaptureFixture[str]) -> None:
    fake_opt("exit 1")
    beside = 'func.func private @beside() {\n  %0 = "shape.const_size"() {value = 3 : index} : () -> !shape.size\n  return\n}\n'
    Path("f.mlir").write_text(TWICE + beside, encoding="utf-8")
    code, out, err = run(capsys, "diff", "f.mlir", "--pass-pipeline=builtin.module(loop-invariant-code-motion)")
    assert (code, err) == (0, "")
    assert out.endswith("@f: every input, 256 inputs; elements: 256 equal\n")
