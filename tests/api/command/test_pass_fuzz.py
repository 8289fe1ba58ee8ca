"""fuzz and reduce with passes on the command line: counts, findings, files, and what they say of wrong use."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from halfulp.command import main as cli
from halfulp.conformance.oracles.tool import find_mlir_opt

NARROWING = "builtin.module(func.func(arith-int-range-narrowing{int-bitwidths-supported=8,16,32}))"

NARROWED = """\
func.func @f(%a: i32, %b: i32) -> (i1, i32) {
  %c63 = arith.constant 63 : i32
  %c128 = arith.constant 128 : i32
  %c100 = arith.constant 100 : i32
  %0 = arith.andi %a, %c63 : i32
  %1 = arith.addi %0, %c128 : i32
  %2 = arith.cmpi slt, %1, %c100 : i32
  %3 = arith.muli %a, %b : i32
  return %2, %3 : i1, i32
}
"""


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    code = cli.main(arguments)
    return code, *capsys.readouterr()


CRASHES = """\
func.func @f(%a: i8, %b: i8) -> (i8, i1, i8) {
  %p = ub.poison : i8
  %0, %1 = arith.addui_extended %p, %p : i8, i1
  %2 = arith.subi %a, %b : i8
  return %0, %1, %2 : i8, i1, i8
}
"""
"""A module on which the canonicaliser of MLIR 22 crashes."""


@pytest.mark.parametrize("command", [("fuzz",), ("reduce", "f.mlir"), ("fuzz", "--against", "exact")])
def test_what_to_test_must_be_said_once(command: tuple[str, ...], capsys: pytest.CaptureFixture[str]) -> None:
    more = ("--pass-pipeline", "builtin.module()") if len(command) > 2 else ()
    code, _, err = run(capsys, *command, *more)
    assert code == 2
    assert "--against" in err
    assert "give only one of" in err or "missing: give one of" in err


def test_a_missing_mlir_opt_is_an_error(capsys: pytest.CaptureFixture[str]) -> None:
    code, _, err = run(capsys, "fuzz", "--pass-pipeline", "builtin.module()", "--mlir-opt", "/nowhere/mlir-opt")
    assert code == 2
    assert "--mlir-opt=PATH" in err


@pytest.mark.mlir
def test_a_pass_that_does_not_exist_is_an_error(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = run(capsys, "fuzz", "--pass-pipeline", "builtin.module(nope)", "-n", "3")
    assert (code, out) == (2, "")
    assert "'nope' does not refer to a registered pass or pass pipeline" in err


@pytest.mark.mlir
def test_programs_and_counts_of_a_pass(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    where = tmp_path / "programs"
    passes = ("--pass-pipeline", "builtin.module(cse)")
    code, out, _ = run(capsys, "fuzz", *passes, "-n", "30", "--emit", str(where), "--statistics")
    assert code == 0
    assert out.startswith("builtin.module(cse) of mlir-opt")
    assert "30 programs" in out
    assert "arith.constant" in out
    assert len(list(where.glob("seed1-0000[0-9][0-9].mlir"))) == 30
    assert (where / "seed1-000003.after.mlir").read_text().startswith(("module", "#map"))
    code, out, _ = run(capsys, "fuzz", *passes, "-n", "30", "--json")
    record = json.loads(out)
    assert record["programs"] == 30 == record["unchanged"] + record["changed"]
    assert record["changed"] == record["equal"] + record["undefined"] + sum(record["skipped"].values())
    assert record["ops"]["func.func"]["programs"] == 30


@pytest.mark.mlir
def test_findings_are_reduced_and_can_be_made_again(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, "fuzz", "--pass-pipeline", NARROWING, "-n", "200", "--max-failures", "1")
    assert code == 1
    assert "1 differing" in out
    assert "reproduce: halfulp diff reduced.mlir" in out
    program = tmp_path / "reduced.mlir"
    program.write_text(out[out.index("\nfunc.func @f") :])
    (command,) = [line for line in out.splitlines() if "reproduce:" in line]
    inputs = [word.strip('"') for word in command.split() if "--input" in word]
    code, out, _ = run(capsys, "diff", str(program), *inputs, "--pass-pipeline", NARROWING)
    assert code == 1, out


@pytest.mark.mlir
def test_a_program_is_reduced_with_the_arguments_that_show_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    program, small = tmp_path / "f.mlir", tmp_path / "small.mlir"
    program.write_text(NARROWED)
    code, _, err = run(capsys, "reduce", str(program), "--pass-pipeline", NARROWING, "-o", str(small))
    assert code == 0, err
    text = small.read_text()
    assert "muli" not in text
    assert "arith.cmpi slt" in text
    assert text.count("%0 =") == text.count("%1 =") == 1
    assert "%2 =" not in text
    code, _, _ = run(capsys, "reduce", str(program), "--pass-pipeline", "builtin.module(cse)")
    assert code == 3


@pytest.mark.mlir
def test_a_crash_of_mlir_opt_is_reduced(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    program = tmp_path / "f.mlir"
    program.write_text(CRASHES)
    code, out, err = run(capsys, "reduce", str(program), "--pass-pipeline", "builtin.module(canonicalize)")
    assert code == 0, err
    assert "crashed" in out
    assert "subi" not in out
    assert "addui_extended" in out


@pytest.mark.mlir
def test_the_signed_comparison_that_22_1_8_narrows_is_found_reduced_and_reported(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    if not find_mlir_opt().version.endswith("22.1.8"):
        pytest.skip("later versions may be right")
    code, out, _ = run(capsys, "fuzz", "--pass-pipeline", NARROWING, "--first", "225", "-n", "1")
    assert code == 1
    text = out[out.index("\nfunc.func @f") :]
    assert "arith.cmpi slt" in text
    assert len(text.strip().splitlines()) <= 7
    program, report = tmp_path / "f.mlir", tmp_path / "report.md"
    program.write_text(text)
    code, _, err = run(capsys, "diff", str(program), "--pass-pipeline", NARROWING, "--report", str(report))
    assert code == 1
    assert "mlir-runner prints both results" in err
    assert "vector.print" in report.read_text()
