"""halfulp fuzz: the programs that a pass is given, what is counted, and what is found."""

import json
import re
from pathlib import Path

import pytest
from command import Command
from fake_mlir_opt import FakeOpt
from tables import each_row

from halfulp.command import fuzz
from halfulp.command import main as cli
from halfulp.conformance.oracles.iree import converter
from halfulp.conformance.oracles.mlir_opt import find_mlir_opt
from halfulp.conformance.oracles.tool import PassPipeline, Tool
from halfulp.conformance.whole_programs.generator.kinds import SEEDS, STARTS, programs_from
from halfulp.conformance.whole_programs.pass_claims import ALL_CLAIMS, CLAIMS, IREE_CLAIMS, claim_named, claims_of

# --- pass fuzz --------------------------------------------------------------------------------------------------------
#
# fuzz and reduce with passes on the command line: counts, findings, files, and what they say of wrong use.

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
    assert "--mlir=" in err


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
    assert re.search(
        r"^// halfulp \S+ \(semantics \d+\), mlir-opt\S* \S+; (MLIR 24|torch-mlir 24\.\S+:) ", out, re.MULTILINE
    )
    assert re.search(r"^// resembles .*\(docs/findings\.md#\S+\): (no public|https:)", out, re.MULTILINE)
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
    code, _, err = run(capsys, "reduce", str(program), "--pass-pipeline", NARROWING, "--mlir=22", "-o", str(small))
    assert code == 0, err
    text = small.read_text()
    assert f"--pass-pipeline='{NARROWING}' --mlir=22\n" in text
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


# --- validate ---------------------------------------------------------------------------------------------------------


def test_claims_name_starts_that_exist() -> None:
    assert len(CLAIMS) > 80
    assert len(IREE_CLAIMS) > 60
    assert not CLAIMS.keys() & IREE_CLAIMS.keys()
    for name, claim in ALL_CLAIMS.items():
        assert claim.name.partition("{")[0] == name
        assert claim.starts
        assert set(claim.starts) <= set(STARTS)


def test_a_pass_may_have_options_and_need_not_be_known() -> None:
    tile = claim_named("affine-loop-tile{tile-size=4}")
    assert tile.pipeline == "builtin.module(func.func(affine-loop-tile{tile-size=4}))"
    assert tile.starts == CLAIMS["affine-loop-tile"].starts
    assert claim_named("arith-expand").name.startswith("arith-expand{include")
    assert claim_named("my-pass").pipeline == "builtin.module(my-pass)"


def test_all_is_what_the_program_has() -> None:
    assert claims_of(Tool("/bin/mlir-opt-22", "22.1.8")) == tuple(CLAIMS.values())
    assert claims_of(Tool("/somewhere/iree-opt", "24.0.0git")) == tuple(IREE_CLAIMS.values())


def test_a_pass_that_keeps_all_programs_shows_nothing(fake_opt: FakeOpt, command: Command) -> None:
    code, out, _ = command("fuzz", "--pass=cse", "--from=mixed", "-n", "5", fake_opt("cat"), "--json")
    assert code == 3
    record = json.loads(out)
    assert (record["pass"], record["from"], record["programs"], record["unchanged"]) == ("cse", "mixed", 5, 5)


@pytest.mark.long
def test_a_wrong_pass_is_found(fake_opt: FakeOpt, command: Command) -> None:
    sed = "sed 's/arith.addi/arith.subi/; s/arith.xori/arith.ori/; s/arith.addf/arith.subf/'"
    wrong = fake_opt(f'case "$*" in *cse*) {sed};; *) cat;; esac')
    arguments = ["fuzz", "--pass=cse", "--from=structured", "-n", "30", "--no-reduce", "-o", "passes.md", wrong]
    code, out, _ = command(*arguments)
    assert code == 1
    first, *rest = out.splitlines()
    assert first.startswith("cse, structured: 30 programs: ")
    assert " different" in first
    assert next(line for line in rest if line.startswith("program ")).endswith(" of seed 1 differs")
    text = Path("passes.md").read_text(encoding="utf-8")
    assert "\n| `cse` | structured | 30 | " in text


def test_a_crash_is_found(fake_opt: FakeOpt, command: Command) -> None:
    crash = fake_opt('case "$(cat)" in *func.func*) kill -SEGV $$;; *) echo "module {}";; esac')
    code, out, _ = command("fuzz", "--pass=cse", "--from=mixed", "-n", "2", "--no-reduce", crash)
    assert code == 2
    assert "cse, mixed: 2 programs: 2 crashed" in out


@each_row(
    ([], "missing: give one of --against, --pass-pipeline, --stages and --pass"),
    (
        ["--pass=cse", "--from=nowhere"],
        "there is no kind of programs 'nowhere': choose one of mixed, structured, generalized",
    ),
)
def test_wrong_use(arguments: list[str], message: str, command: Command) -> None:
    code, out, err = command("fuzz", *arguments)
    assert (code, out) == (2, "")
    assert message in err


def test_a_pass_that_does_not_exist(fake_opt: FakeOpt, command: Command) -> None:
    code, _, err = command("fuzz", "--pass=no", fake_opt("echo \"'no' is no pass\" >&2; exit 1"))
    assert code == 2
    assert "'no' is no pass" in err


def test_files_of_programs_need_a_start_that_reads_them(command: Command) -> None:
    code, out, err = command("fuzz", "--pass=cse", "--from=structured", "--seeds=a.mlir")
    assert (code, out) == (2, "")
    assert "--seeds can be used only with --from=mutated" in err


@pytest.mark.mlir
@pytest.mark.parametrize("start", STARTS)
def test_programs_of_each_start(start: str) -> None:
    tool = find_mlir_opt()
    found = programs_from(start, tool)
    programs = list(found.kind.functions(1, 3, 0))
    assert len(programs) >= 2
    assert len(programs) + found.not_lowered.total() == 3
    place = int(start not in SEEDS)  # what is changed depends on the programs before
    again = list(programs_from(start, tool).kind.functions(1, 1, place))
    assert [str(op.name) for op in programs[place].module.walk()] == [str(op.name) for op in again[0].module.walk()]


@pytest.mark.long
def test_programs_that_are_not_lowered_are_counted(
    fake_opt: FakeOpt, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    no_fills = """case "$*" in *one-shot*) ;; *) exec cat;; esac
    text=$(cat)
    case "$text" in *linalg.fill*) echo "<stdin>:1:1: error: no fill" >&2; exit 1;; *) echo "$text";; esac"""
    tool = fake_opt(no_fills)
    monkeypatch.setenv("HALFULP_MLIR_OPT", tool.removeprefix("--mlir-opt="))
    arguments = ["fuzz", "--pass=cse", "--from=loops", "-n", "12", tool, "-o", "page.md"]
    _, out, _ = command(*arguments, "--json")
    record = json.loads(out)
    assert record["programs"] + record["not lowered"] == 12
    assert record["not lowered"] > 0
    _, out, _ = command(*arguments)
    assert f"{record['not lowered']} not lowered" in out
    assert f": no fill ({record['not lowered']} programs)" in out
    lines = Path("page.md").read_text(encoding="utf-8").splitlines()
    names, row = (
        next(line for line in lines if line.startswith(start)).split(" | ") for start in ("| pass", "| `cse`")
    )
    assert row[names.index("not lowered")] == str(record["not lowered"])


@pytest.mark.mlir
def test_a_pass_keeps_its_claim(command: Command) -> None:
    code, out, _ = command("fuzz", "--pass=canonicalize", "--from=affine", "--from=structured", "-n", "20")
    assert code == 0
    assert [line.partition(":")[0] for line in out.splitlines()] == ["canonicalize, affine", "canonicalize, structured"]


def test_the_page_has_what_ran_if_a_later_pass_fails(fake_opt: FakeOpt, command: Command) -> None:
    tool = fake_opt('case "$*" in *sccp*) echo "error: no such pass" >&2; exit 1;; *) cat;; esac')
    code, _, err = command("fuzz", "--pass=cse", "--pass=sccp", "--from=mixed", "-n", "3", tool, "-o", "page.md")
    assert (code, "no such pass" in err) == (2, True)
    assert "| `cse` | mixed | 3 | 3 |" in Path("page.md").read_text(encoding="utf-8")


@pytest.mark.mlir
@pytest.mark.parametrize("name", CLAIMS)
def test_mlir_opt_takes_the_pipeline_of_every_claim(name: str) -> None:
    PassPipeline(find_mlir_opt(), CLAIMS[name].pipeline).apply("func.func @f() {\n  return\n}\n")


@pytest.mark.iree
def test_iree_opt_takes_the_pipelines_of_all_claims() -> None:
    passes = [claim.pipeline.removeprefix("builtin.module(").removesuffix(")") for claim in IREE_CLAIMS.values()]
    text = "func.func @f() {\n  return\n}\n"
    after = PassPipeline(converter(), f"builtin.module({','.join(passes)})").apply(text)
    assert "func.func @f() {" in after


@pytest.mark.torch_mlir
def test_a_pass_that_the_mlir_does_not_have_is_one_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    passes = ("linalg-detensorize", "cse")
    monkeypatch.setattr(fuzz, "claims_of", lambda tool: tuple(map(claim_named, passes)))
    code, out, err = run(capsys, "fuzz", "--pass=all", "--from=mutated", "--mlir=24", "-n", "20")
    assert (code, out.count("cse, mutated: ")) == (0, 1)
    assert err.startswith("linalg-detensorize, mutated: ")
    assert "does not refer to a registered pass" in err
