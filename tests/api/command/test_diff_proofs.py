"""`halfulp diff` with proofs: the verdict of each function, and what is counted."""

import json
import re
from collections.abc import Callable
from typing import Any

import pytest
from command import Command
from documents import DOCS
from tree import ROOT

from halfulp.conformance.proving import proof, solving, walk
from halfulp.conformance.proving.proof import Decision, Proof

Diff = Callable[..., tuple[int, str]]

AVERAGE = """func.func @average(%a: i32, %b: i32) -> i32 {
  %one = arith.constant 1 : i32
  %x = arith.andi %a, %b : i32
  %y = arith.xori %a, %b : i32
  %z = arith.shrui %y, %one : i32
  %r = arith.addi %x, %z : i32
  return %r : i32
}
"""
AVERAGE_BY_OR = """func.func @average(%a: i32, %b: i32) -> i32 {
  %one = arith.constant 1 : i32
  %x = arith.ori %a, %b : i32
  %y = arith.xori %a, %b : i32
  %z = arith.shrui %y, %one : i32
  %w = arith.subi %y, %z : i32
  %r = arith.subi %x, %w : i32
  return %r : i32
}
"""
ONE_VALUE = """func.func @one(%a: i32) -> i1 {
  %c = arith.constant 123456789 : i32
  %r = arith.cmpi eq, %a, %c : i32
  return %r : i1
}
"""
NO_VALUE = "func.func @one(%a: i32) -> i1 {\n  %r = arith.constant false\n  return %r : i1\n}\n"
SQUARES = """func.func @hard(%a: i64, %b: i64) -> i64 {
  %x = arith.muli %a, %a : i64
  %y = arith.muli %b, %b : i64
  %r = arith.subi %x, %y : i64
  return %r : i64
}
"""
FACTORED = """func.func @hard(%a: i64, %b: i64) -> i64 {
  %x = arith.addi %a, %b : i64
  %y = arith.subi %a, %b : i64
  %r = arith.muli %x, %y : i64
  return %r : i64
}
"""
WIDE_FLOAT = "func.func @float(%a: f32) -> f32 {\n  %r = arith.addf %a, %a : f32\n  return %r : f32\n}\n"


@pytest.fixture
def diff(command: Command, write: Any) -> Diff:
    """Return what compares two texts: the exit code, and what is printed."""

    def diff(before: str, after: str, *options: str) -> tuple[int, str]:
        files = write("a.mlir", before), write("b.mlir", after)
        code, out, err = command("diff", *files, *options)
        return code, out + err

    return diff


@pytest.fixture
def _without_z3(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> None:
        raise ModuleNotFoundError(name)

    solving._module.cache_clear()
    monkeypatch.setattr(solving, "import_module", missing)
    monkeypatch.setattr(solving, "find_spec", lambda name: None)


@pytest.mark.usefixtures("_without_z3")
def test_without_z3_a_verdict_on_samples_is_tested(diff: Diff) -> None:
    assert diff(AVERAGE, AVERAGE_BY_OR, "-n", "50") == (0, "@average: tested (50 inputs); elements: 50 equal\n")
    assert diff(AVERAGE, AVERAGE_BY_OR, "-n", "50", "--prove-seconds=0")[0] == 0
    code, out = diff(AVERAGE, AVERAGE_BY_OR, "--prove-seconds=3")
    assert code == 2
    assert "a proof needs z3, which is not installed" in out
    assert "pip install '.[prove]'" in out


@pytest.mark.parametrize("seconds", ["-1", "nan", "inf", "five", "1e9"])
def test_the_time_is_a_number_of_seconds(diff: Diff, seconds: str) -> None:
    code, out = diff(AVERAGE, AVERAGE, f"--prove-seconds={seconds}")
    assert code == 2
    assert f"'{seconds}' is not a number of seconds" in out


@pytest.mark.z3
class TestWithZ3:
    def test_a_proof_is_the_verdict(self, diff: Diff) -> None:
        proven = (0, "@average: proven (solver), 50 inputs; elements: 50 equal\n")
        assert diff(AVERAGE, AVERAGE_BY_OR, "-n", "50") == proven
        assert diff(AVERAGE, AVERAGE_BY_OR, "-n", "50", "--prove-seconds=0") == (
            0,
            "@average: tested (50 inputs); elements: 50 equal\n",
        )

    def test_the_example_of_the_page(self, command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.chdir(ROOT)
        page = (DOCS / "differential-testing.md").read_text(encoding="utf-8")
        (shown,) = re.findall(r"```text\n\$ halfulp (diff examples/mid.*)\n([^`]*)```", page)
        assert command(*shown[0].split()) == (0, shown[1], "")

    def test_an_input_that_the_solver_finds_is_a_difference(self, diff: Diff) -> None:
        code, out = diff(ONE_VALUE, NO_VALUE, "-n", "50")
        assert code == 1
        assert out == (
            "@one: differs for 1 of 51 inputs; elements: 50 equal, 1 different\n"
            "b.mlir:1:1: error: @one gives a result that is not allowed\n"
            "  argument 0: i32=123456789\n"
            "  before:   0x1 (true)\n"
            "  after:    0x0 (false)\n"
        )

    def test_every_decision_is_counted(self, diff: Diff) -> None:
        before = AVERAGE + SQUARES + WIDE_FLOAT + ONE_VALUE
        after = AVERAGE_BY_OR + FACTORED + WIDE_FLOAT + NO_VALUE
        code, out = diff(before, after, "-n", "50", "--prove-seconds=1")
        assert code == 1
        lines = out.splitlines()
        assert lines[0] == "@average: proven (solver), 50 inputs; elements: 50 equal"
        assert lines[1:3] == [
            "@hard: tested (50 inputs); elements: 50 equal",
            "  no proof: the solver gave no answer within 1 s",
        ]
        assert lines[3:5] == [
            "@float: tested (50 inputs); elements: 50 equal",
            "  no proof: the proof does not cover arithmetic on 'f32'",
        ]
        assert lines[5].startswith("@one: differs for 1 of 51 inputs")
        assert lines[-1] == "solver: 1 proven, 1 unknown, 1 not provable, 1 different"

    def test_the_record_has_the_decision(self, diff: Diff) -> None:
        before, after = AVERAGE + WIDE_FLOAT, AVERAGE_BY_OR + WIDE_FLOAT
        code, out = diff(before, after, "-n", "50", "--json")
        assert code == 0
        first, second = map(json.loads, out.splitlines())
        assert (first["basis"], first["solver"], first["unproven"]) == ("proven (solver)", "proven", None)
        assert (second["basis"], second["solver"]) == ("tested", "not provable")
        assert second["unproven"] == "the proof does not cover arithmetic on 'f32'"

    def test_all_inputs_of_a_narrow_function_need_no_solver(self, diff: Diff, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(proof, "prove", None)
        narrow = AVERAGE.replace("i32", "i4")
        assert diff(narrow, AVERAGE_BY_OR.replace("i32", "i4"))[1].startswith("@average: proven (every input)")

    def test_a_given_input_is_no_proof(self, diff: Diff) -> None:
        code, out = diff(AVERAGE, AVERAGE_BY_OR, "--input=i32=3", "--input=i32=5")
        assert (code, out) == (0, "@average: tested (1 input); elements: 1 equal\n")

    def test_a_range_is_part_of_the_proof(self, diff: Diff) -> None:
        signed = "func.func @f(%a: i32, %b: i32) -> i1 {\n%r = arith.cmpi slt, %a, %b : i32\nreturn %r : i1\n}"
        unsigned = signed.replace("slt", "ult")
        assert diff(signed, unsigned)[0] == 1
        positive = ["--assume=%0 in [0, 2147483647]", "--assume=%b in [0, 1000]"]
        code, out = diff(signed, unsigned, *positive, "-n", "50")
        assert code == 0
        assert out == (
            "@f: proven (solver), 50 inputs; elements: 50 equal\n  assumed: %0 in [0, 2147483647], %b in [0, 1000]\n"
        )
        assert diff(signed, unsigned, "--assume=%0 in [-1, 2147483647]", "--assume=%b in [0, 1000]")[0] == 1

    def test_what_is_assumed_about_a_float_is_not_proven(self, diff: Diff) -> None:
        text = "func.func @f(%a: f16, %b: f16) -> f16 {\n%r = arith.addf %a, %b : f16\nreturn %r : f16\n}"
        assert "proven (solver)" in diff(text, text)[1]
        assert (
            "does not cover assumptions about floats"
            in diff(text, text, "--assume=%a in [0, 1]", "--prove-seconds=5")[1]
        )

    def test_halves_of_a_wide_integer_are_proven(self, diff: Diff) -> None:
        wide = "func.func @f(%a: i64, %b: i64) -> i64 {\n%r = arith.xori %a, %b : i64\nreturn %r : i64\n}"
        halves = wide.replace("i64", "vector<2xi32>")
        code, out = diff(wide, halves, "-n", "50")
        assert code == 0
        assert out.startswith("@f: proven (solver), 50 inputs")
        code, out = diff(wide, halves.replace("xori", "addi"), "-n", "50")
        assert code == 1

    def test_no_proof_is_claimed_for_one_size_of_scalable_vectors(self, diff: Diff) -> None:
        text = "func.func @f(%a: vector<[4]xi32>) -> vector<[4]xi32> {\nreturn %a : vector<[4]xi32>\n}"
        code, out = diff(text, text, "--vscale=2", "-n", "5", "--prove-seconds=5")
        assert code == 0
        assert out.startswith("@f: tested (5 inputs); elements: 40 equal\n")
        assert "no proof: the size of 'vector<[4]xi32>' is not known" in out

    def test_an_undefined_function_is_not_proven(self, diff: Diff) -> None:
        text = "func.func @f(%a: i32) -> i32 {\n%k = arith.constant 0 : i32\n%r = arith.divui %a, %k : i32\nreturn %r : i32\n}"
        code, out = diff(text, text, "--prove-seconds=5")
        assert code == 3
        assert "no proof: the first version is undefined for every input" in out

    def test_a_proof_that_samples_contradict_is_not_asked_for(
        self, diff: Diff, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(proof, "prove", lambda *arguments: Proof(Decision.PROVEN))
        wrong = AVERAGE.replace("addi", "subi")
        code, out = diff(AVERAGE, wrong, "-n", "50")
        assert code == 1
        assert "proven" not in out

    def test_a_solver_that_a_run_contradicts_is_an_internal_error(
        self, diff: Diff, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setitem(walk.ROWS, "arith.ori", walk.ROWS["arith.andi"])
        code, out = diff(AVERAGE, AVERAGE_BY_OR, "-n", "50")
        assert code == 70
        assert "internal error: SolverDisagrees: the solver found that @average differs for these arguments" in out

    @pytest.mark.mlir
    def test_a_pass_is_proven(self, command: Command, write: Any) -> None:
        text = "func.func @f(%a: i64, %b: i64) -> i64 {\n%r = arith.ceildivsi %a, %b : i64\nreturn %r : i64\n}"
        file = write("p.mlir", text)
        code, out, _ = command("diff", file, "--pass-pipeline=builtin.module(arith-expand)", "--prove-seconds=120")
        assert code == 0
        assert "@f: proven (solver)" in out
