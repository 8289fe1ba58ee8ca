"""diff, reduce and fuzz on the command line: outputs, exit codes, and what they say of wrong use."""

import json
import re
from collections.abc import Sequence
from pathlib import Path
from xml.etree import ElementTree

import pytest
from amounts import thinned
from fake_oracle import FakeOracle
from tables import each_row

import halfulp as hu
import halfulp.conformance.oracles as oracles
from halfulp.command import main as cli
from halfulp.command.console import ranked
from halfulp.conformance.oracles.oracle import ClosedProgram, Oracle, OracleError, Reply, Unavailable

PROGRAM = """\
func.func @main(%a: f32, %b: f32) -> f32 {
  %0 = arith.subf %a, %b : f32
  %1 = arith.mulf %0, %0 : f32
  return %1 : f32
}
"""

LARGE = """\
func.func @main(%a: tensor<100000x100000xf32>) -> tensor<100000x100000xf32> {
  return %a : tensor<100000x100000xf32>
}
"""

OFTEN_WRONG = {
    f"arith.{op}": f"arith.{other}"
    for op, other in {
        "addi": "subi",
        "subi": "addi",
        "muli": "addi",
        "ori": "andi",
        "andi": "xori",
        "xori": "ori",
    }.items()
}

FAKES = {
    "right": lambda: FakeOracle(),
    "wrong": lambda: FakeOracle(exchanged={"arith.subf": "arith.addf"}),
    "twice": lambda: FakeOracle(exchanged=OFTEN_WRONG),
    "silent": lambda: FakeOracle(refused=("arith.subf",)),
    "hanging": lambda: FakeOracle(fails=("arith.subf", OracleError("hang", "it did not end in 1 s"))),
}


@pytest.fixture(autouse=True)
def fakes(monkeypatch: pytest.MonkeyPatch) -> None:
    def oracle(name: str, mlir: str | None = None) -> Oracle:
        if name == "absent":
            raise Unavailable("it is not on PATH")
        if name == "exact":
            return real(name, mlir)
        if name not in FAKES:
            raise ValueError(f"unknown oracle {name!r}")
        made = FAKES[name]()
        made.name = name
        return made

    real = oracles.oracle
    monkeypatch.setattr("halfulp.command.programs.oracle", oracle)


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.chdir(tmp_path)
    Path("p.mlir").write_text(PROGRAM, encoding="utf-8")
    Path("same.mlir").write_text(PROGRAM.replace("%1", "%x"), encoding="utf-8")
    Path("renamed.mlir").write_text(PROGRAM.replace("@main", "@other"), encoding="utf-8")
    Path("large.mlir").write_text(LARGE, encoding="utf-8")
    Path("other.mlir").write_text(PROGRAM.replace("subf", "addf"), encoding="utf-8")
    return "p.mlir"


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    code = cli.main(arguments)
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def test_diff_by_an_oracle_that_is_right(file: str, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, "diff", file, "--against", "right", "--input=f32=3", "--input=f32=1")
    assert (code, out) == (0, "right 1.0: 1 input; elements: 1 equal\n")


def test_diff_by_an_oracle_that_is_wrong(file: str, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, "diff", file, "--against", "right,wrong", "--input=f32=3", "--input=f32=1")
    assert code == 1
    assert "p.mlir:2:8: error: arith.subf f32 differs by wrong\n" in out
    assert "  expected: 0x40000000 (2)\n  got:      0x40800000 (4), 8388608 ulps away\n" in out


def test_a_junit_file_has_a_case_for_each_oracle(file: str, capsys: pytest.CaptureFixture[str]) -> None:
    command = ["diff", file, "--against", "right,wrong,silent", "--input=f32=3", "--input=f32=1", "--junit=found.xml"]
    assert run(capsys, *command)[0] == 1
    (suite,) = ElementTree.parse("found.xml").getroot()
    cases = {case.attrib["name"]: [child.tag for child in case] for case in suite}
    assert cases == {"right": ["system-out"], "wrong": ["failure"], "silent": ["skipped"]}
    assert run(capsys, "diff", file, "none.mlir", "--junit=found.xml")[0] == 2
    assert len(ElementTree.parse("found.xml").getroot().findall("testsuite/testcase/error")) == 1


def test_diff_as_json_is_one_object_a_line(file: str, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, "diff", file, "--against", "right,wrong", "-n", "40", "--json")
    right, wrong = (json.loads(line) for line in out.splitlines())
    assert code == 1
    assert right["elements"]["equal"] + right["elements"].get("open", 0) == right["inputs"] == 40
    assert wrong["differences"][0]["location"] == "p.mlir:2:8"
    assert wrong["differences"][0]["op"] == "arith.subf"


def test_made_up_inputs_are_those_of_the_seed(file: str, capsys: pytest.CaptureFixture[str]) -> None:
    outputs = [run(capsys, "diff", file, "--against", "wrong", "-n", "20", f"--seed={seed}")[1] for seed in (1, 1, 2)]
    assert outputs[0] == outputs[1] != outputs[2]


@each_row(
    (["p.mlir"], 2, "missing: give one of --against, a second file and --pass-pipeline"),
    (["p.mlir", "same.mlir", "--against", "right"], 2, "give only one of --against,"),
    (["p.mlir", "--against", "nobody"], 2, "unknown oracle 'nobody'"),
    (["p.mlir", "--against", "absent"], 2, "absent: it is not on PATH"),
    (["p.mlir", "--against", ""], 2, "unknown oracle ''"),
    (["p.mlir", "--against", "right", "--input=f32=1"], 2, "takes 2 arguments (f32, f32), but 1 is given"),
    (["p.mlir", "--against", "right", "--function=f"], 2, "there is no function 'f'"),
    (["none.mlir", "--against", "right"], 2, "cannot read 'none.mlir'"),
    (["p.mlir", "same.mlir", "--function=f"], 2, "there is no function @f"),
    (["large.mlir", "--against", "right"], 3, "are too many to generate"),
)
def test_wrong_use_of_diff(
    arguments: list[str], code: int, message: str, file: str, capsys: pytest.CaptureFixture[str]
) -> None:
    found, out, err = run(capsys, "diff", *arguments)
    assert (found, out) == (code, "")
    assert message in err


@pytest.mark.long
@pytest.mark.parametrize(
    ("names", "code"),
    thinned([("right,absent", 2), ("absent,wrong", 1), ("silent,right", 0), ("absent", 2)], 2, rows=True),
)
def test_an_absent_oracle_is_no_agreement_but_others_are_asked(
    file: str, names: str, code: int, capsys: pytest.CaptureFixture[str]
) -> None:
    found, out, err = run(capsys, "diff", file, "--against", names, "-n", "40")
    assert found == code
    assert ("absent: it is not on PATH" in err) is ("absent" in names)
    assert all((name in out) is (name != "absent") for name in names.split(","))
    fuzzed, _, err = run(capsys, "fuzz", "--against", names.replace("wrong", "right"), "-n", "2", "--no-reduce")
    assert fuzzed == (2 if "absent" in names else 0)


def test_an_oracle_of_single_ops_runs_programs(file: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(capsys, "diff", file, "--against", "exact", "-n", "20")[:2] == (
        0,
        f"exact {hu.semantics_version}: 20 inputs; elements: 20 equal\n",
    )
    code, out, _ = run(capsys, "fuzz", "--against", "exact", "-n", "10")
    assert code == 0
    assert "0 UNEXPLAINED" in out


def test_versions_of_which_nothing_can_be_compared(file: str, capsys: pytest.CaptureFixture[str]) -> None:
    body = "  %c = arith.constant 0 : i4\n  %0 = arith.divui %a, %c : i4\n  return %0 : i4\n}\n"
    Path("undefined.mlir").write_text(f"func.func @f(%a: i4) -> i4 {{\n{body}", encoding="utf-8")
    code, out, _ = run(capsys, "diff", "undefined.mlir", "undefined.mlir")
    assert code == 3
    assert out.startswith("@f: nothing was compared (16 inputs)\n")


@each_row(([], 3), ([3, 3], 3), ([3, 0], 0), ([0, 2, 3], 2), ([2, 1, 0], 1), ([0], 0), ([2], 2))
def test_a_difference_outweighs_a_failure_and_both_outweigh_agreement(codes: list[int], code: int) -> None:
    assert ranked(codes) == code


def test_no_answer_is_no_agreement(file: str, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, "diff", file, "--against", "silent", "-n", "2")
    assert (code, out) == (3, "silent 1.0: 2 inputs; elements: 2 unanswered\n  unanswered: arith.subf is unknown (2)\n")
    code, out, _ = run(capsys, "diff", file, "--against", "hanging", "-n", "2")
    assert code == 2
    assert "  failed: hang: it did not end in 1 s\n" in out


def test_diff_of_two_versions(file: str, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, "diff", file, "same.mlir", "-n", "100")
    assert code == 0
    assert out.startswith("@main: tested (100 inputs); elements: ")
    code, out, _ = run(capsys, "diff", file, "other.mlir", "--input=f32=3", "--input=f32=1")
    assert (code, out) == (
        1,
        "@main: differs for 1 of 1 input; elements: 1 different\n"
        "other.mlir:1:1: error: @main gives a result that is not allowed\n"
        "  argument 0: f32=3\n"
        "  argument 1: f32=1\n"
        "  before:   0x40800000 (4)\n"
        "  after:    0x41800000 (16), 16777216 ulps away\n"
        "  exactly 4; from the exact number: before 0 ulp, after 2.52e+07 ulp; before is nearer\n",
    )
    code, out, _ = run(capsys, "diff", file, "other.mlir", "--json", "--input=f32=3", "--input=f32=1")
    assert json.loads(out)["counterexamples"][0]["expected"] == "0x40800000"


@pytest.mark.mlir
def test_diff_with_what_mlir_opt_makes_of_it(file: str, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, "diff", file, "--pass-pipeline", "builtin.module(canonicalize,cse)", "-n", "50")
    assert code == 0
    version, result = out.splitlines()
    assert re.fullmatch(r"mlir-opt\S* \d+\.\d+\.\S+: builtin\.module\(canonicalize,cse\)", version)
    assert result.startswith("@main: tested (50 inputs); elements: ")
    Path("casts.mlir").write_text(
        "func.func @f(%x: index) -> index {\n"
        "  %0 = arith.index_cast %x : index to i8\n"
        "  %1 = arith.index_cast %0 : i8 to index\n"
        "  return %1 : index\n"
        "}\n",
        encoding="utf-8",
    )
    # https://github.com/llvm/llvm-project/issues/90296: both casts are dropped
    pipeline = "builtin.module(canonicalize)"
    command = ["diff", "casts.mlir", "--pass-pipeline", pipeline, "--input=index=256"]
    code, out, _ = run(capsys, *command)
    assert code == 0
    assert "  known divergence: two index casts are taken for none (1 input)\n" in out
    code, out, _ = run(capsys, *command, "--no-known")
    assert code == 1
    assert "  before:   0x0000000000000000 (0)\n  after:    0x0000000000000100 (256)\n" in out
    code, out, err = run(capsys, "diff", file, "--pass-pipeline", "builtin.module(nothing)")
    assert (code, out) == (2, "")
    assert "'nothing' does not refer to a registered pass" in err


def test_reduce_prints_a_program_that_shows_the_difference(file: str, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = run(capsys, "reduce", file, "--against", "wrong", "-n", "20", "-o", "small.mlir")
    assert (code, out) == (0, "")
    assert "programs tried" in err
    small = Path("small.mlir").read_text(encoding="utf-8")
    assert small.startswith("// arith.subf f32 differs by wrong 1.0 from halfulp ")
    assert "arith.mulf" not in small
    command = next(line for line in small.splitlines() if line.startswith("// reproduce: halfulp "))
    assert command == "// reproduce: halfulp diff small.mlir --function=main --against wrong"
    assert run(capsys, *command.split()[3:])[0] == 1
    assert not list(Path().glob(".*.tmp"))


def test_reduce_by_a_script(file: str, capsys: pytest.CaptureFixture[str]) -> None:
    script = Path("test.sh")
    script.write_text("#!/bin/sh\ngrep -q arith.mulf $1\n", encoding="utf-8")
    script.chmod(0o755)
    code, out, _ = run(capsys, "reduce", file, "--test", "test.sh", "--input=f32=3", "--input=f32=1")
    assert code == 0
    assert "arith.mulf" in out
    assert "arith.subf" not in out
    code, out, _ = run(capsys, "reduce", file, "--test", "test.sh")
    assert code == 0
    assert "func.func @main(%arg0: f32) -> f32" in out  # without inputs, the arguments stay
    assert "arith.mulf %arg0, %arg0" in out
    assert "arith.subf" not in out
    script.write_text("#!/bin/sh\nexit 1\n", encoding="utf-8")
    code, out, err = run(capsys, "reduce", file, "--test", "test.sh")
    assert (code, out) == (3, "")
    assert "does not accept the program" in err


def test_reduce_by_a_script_without_inputs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    text = "func.func @f(%a: i32, %b: i32) -> i32 {\n  %0 = arith.divsi %a, %b : i32\n  return %0 : i32\n}\n"
    Path("f.mlir").write_text(text, encoding="utf-8")
    assert run(capsys, "reduce", "f.mlir", "--test", "true")[:2] == (
        0,
        "func.func @f(%arg0: i32) -> i32 {\n  return %arg0 : i32\n}\n",
    )
    # An op that is undefined for every input leaves no values to cut at. It is not an error.
    undefined = text.replace("%a, %b", "%a, %zero").replace("  %0", "  %zero = arith.constant 0 : i32\n  %0")
    Path("f.mlir").write_text(undefined, encoding="utf-8")
    assert run(capsys, "reduce", "f.mlir", "--test", "true")[0] == 0


@pytest.mark.parametrize("command", [["diff", "m.mlir", "--against=fake"], ["reduce", "m.mlir", "--test=true"]])
@pytest.mark.parametrize("given", [[], ["--input=2xi8=1 2"]])
def test_programs_on_memory_are_not_compared(
    command: list[str],
    given: list[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("m.mlir").write_text("func.func @f(%m: memref<2xi8>) { return }")
    assert cli.main([*command, *given]) == 3
    assert "@f has an argument of type 'memref<2xi8>', but only programs on scalars" in capsys.readouterr().err


@each_row(
    ([], 2, "missing: give one of --against, --pass-pipeline and --test"),
    (["--against", "right"], 3, "nothing differs from right"),
    (["--against", "right,wrong"], 2, "takes only one oracle"),
    (["--test", "./nothing.sh"], 2, "cannot run './nothing.sh'"),
)
def test_wrong_use_of_reduce(
    arguments: list[str], code: int, message: str, file: str, capsys: pytest.CaptureFixture[str]
) -> None:
    found, out, err = run(capsys, "reduce", file, *arguments)
    assert (found, out) == (code, "")
    assert message in err


@pytest.mark.long
def test_fuzz_reports_counts_and_reduces_failures(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, "fuzz", "--against", "right", "-n", "20", "--seed", "3")
    assert code == 0
    assert out.startswith("20 programs of seed 3, ")
    assert " 0 UNEXPLAINED\n" in out
    code, out, _ = run(capsys, "fuzz", "--against", "wrong", "-n", "100", "--seed", "3", "--max-failures", "1")
    assert code == 1
    assert "arith.subf" in out
    assert " of seed 3\n" in out
    assert "// reproduce: halfulp diff reduced.mlir --function=main" in out


@pytest.mark.long
def test_fuzz_reduces_the_failure_that_it_prints(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, "fuzz", "--against", "twice", "-n", "200", "--seed", "3", "--max-failures", "8")
    assert code == 1
    failures = re.findall(r"^(\S+) .* differs by twice in program (\d+) .*$", out, re.MULTILINE)
    reduced = re.findall(r"^// (\S+) .* differs by twice", out, re.MULTILINE)
    assert [op for op, _ in failures] == reduced
    assert len(set(reduced)) > 2
    numbers = [number for _, number in failures]
    assert len(set(numbers)) < len(numbers)  # a program with two failures


class Interrupted(FakeOracle):
    """An oracle that is wrong, and is interrupted at the third batch of programs."""

    batches = 0

    def run(self, programs: Sequence[ClosedProgram]) -> list[Reply]:
        self.batches += 1
        if self.batches == 3:
            raise KeyboardInterrupt
        return list(super().run(programs))


@pytest.mark.long
def test_an_interrupted_fuzz_says_what_it_found(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(FAKES, "interrupted", lambda: Interrupted(exchanged=OFTEN_WRONG))
    monkeypatch.setattr("halfulp.conformance.whole_programs.fuzz.BATCH", 20)
    command = ["fuzz", "--against", "interrupted", "-n", "2000", "--seed", "3", "--max-failures", "100"]
    code, out, _ = run(capsys, *command)
    assert code == 130
    assert out.startswith("40 programs of seed 3, ")
    assert out.partition("\n")[0].endswith("; interrupted")
    assert " differs by interrupted in program " in out
    code, out, _ = run(capsys, *command, "--json")
    assert (code, json.loads(out)["programs"], json.loads(out)["interrupted"]) == (130, 40, True)


def test_fuzz_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, "fuzz", "--against", "right,silent", "-n", "10", "--json")
    assert code == 0
    right, silent = json.loads(out)["oracles"]
    assert right["elements"]["unexplained"] == 0
    assert sum(right["results"].values()) > sum(silent["results"].values()) > 0 or not silent["not supported"]
