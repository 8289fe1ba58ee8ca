"""halfulp fuzz: the programs that a pass is given, what is counted, and what is found."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from command_calls import Command
from fake_mlir_opt import FakeOpt

from halfulp.conformance.oracles.iree import converter
from halfulp.conformance.oracles.tool import PassPipeline, Tool, find_mlir_opt
from halfulp.conformance.whole_programs.generator.structured import STARTS, programs_from
from halfulp.conformance.whole_programs.pass_claims import ALL_CLAIMS, CLAIMS, IREE_CLAIMS, claim_named, claims_of


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
    wrong = fake_opt("sed 's/arith.addi/arith.subi/; s/arith.xori/arith.ori/; s/arith.addf/arith.subf/'")
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


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "missing: give one of --against, --pass-pipeline, --stages and --pass"),
        (["--pass=cse", "--from=nowhere"], "there are no programs 'nowhere': choose of mixed, structured, generalized"),
    ],
)
def test_wrong_use(command: Command, arguments: list[str], message: str) -> None:
    code, out, err = command("fuzz", *arguments)
    assert (code, out) == (2, "")
    assert message in err


def test_a_pass_that_does_not_exist(fake_opt: FakeOpt, command: Command) -> None:
    code, _, err = command("fuzz", "--pass=no", fake_opt("echo \"'no' is no pass\" >&2; exit 1"))
    assert code == 2
    assert "'no' is no pass" in err


@pytest.mark.mlir
@pytest.mark.parametrize("start", STARTS)
def test_programs_of_each_start(start: str) -> None:
    tool = find_mlir_opt()
    found = programs_from(start, tool)
    programs = list(found.kind.functions(1, 3, 0))
    assert len(programs) >= 2
    assert len(programs) + found.not_lowered.total() == 3
    again = list(programs_from(start, tool).kind.functions(1, 1, 1))
    assert [str(op.name) for op in programs[1].module.walk()] == [str(op.name) for op in again[0].module.walk()]


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
    (row,) = [line for line in Path("page.md").read_text(encoding="utf-8").splitlines() if line.startswith("| `cse`")]
    assert row.endswith(f"| {record['not lowered']} |")


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
