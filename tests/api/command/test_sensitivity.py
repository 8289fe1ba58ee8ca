"""halfulp sensitivity: what it prints and writes, and what it refuses."""

import json
from pathlib import Path
from typing import Any

import pytest
from command import Command
from tables import each_row
from tree import ROOT

import halfulp as hu

QUADRATIC = str(ROOT / "examples" / "quadratic.mlir")
ROOTS = ("--input=1", "--input=1000", "--input=1")
BEST = "compute math.sqrt (line 11) in f64: error 60,809 ulp -> 0.182 ulp"


def test_the_ranking_as_text(command: Command) -> None:
    code, out, err = command("sensitivity", QUADRATIC, *ROOTS)
    assert (code, err) == (0, "")
    lines = out.splitlines()
    assert lines[:2] == ["error of result[0]: 60,809 ulp", "error of result[1]: 0.384 ulp"]
    assert lines[3].split()[:7] == ["60,809", "0.182", "60,809", "11", "f32", "->", "f64"]
    assert lines[-1] == f"best: {BEST}"


def test_the_ranking_as_json(command: Command) -> None:
    code, out, _ = command(
        "sensitivity", QUADRATIC, *ROOTS, "--formats=f64, bf16", "--by=kind", "--modes=up", "--json", "--result=0"
    )
    assert code == 0
    found = json.loads(out)
    assert list(found["errors"]) == ["result[0]"]
    sorts = [(row["sort"], row["to"]) for row in found["rows"]]
    assert set(sorts) == {("format", "f64"), ("format", "bf16"), ("rounding", "upward")}
    assert {row["what"] for row in found["rows"]} >= {"all arith.mulf (4 ops)", "all math.sqrt (1 op)"}
    assert BEST.replace("math.sqrt (line 11)", "all math.sqrt (1 op)") in [row["advice"] for row in found["rows"]]


def test_all_modes_and_settings(command: Command) -> None:
    settings = ("--try-profile=iree-3.13", "--try-profile=spec,extrema=selected", "--orders=exact", "--models=ieee")
    code, out, _ = command("sensitivity", QUADRATIC, *ROOTS, "--formats=", "--modes", *settings, "--json")
    assert code == 0
    rows = json.loads(out)["rows"]
    assert {row["to"] for row in rows if row["sort"] == "rounding"} == {
        "downward", "upward", "toward_zero", "to_nearest_away"
    }  # fmt: skip
    assert [row["what"] for row in rows if row["sort"] == "whole profile"] == ["the whole profile"]
    (extrema,) = [row for row in rows if row["to"] == "selected"]
    assert extrema["settings"] == {"profile": "spec,extrema=selected"}
    assert [row["settings"] for row in rows if row["sort"] == "model"] == [{"mma": "ieee"}]


@pytest.mark.long
def test_the_best_program_and_the_picture(command: Command, write: Any) -> None:
    write("x.mlir", "func.func @f(%x: f32) -> f32 { return %x : f32 }")
    code, _, err = command("sensitivity", QUADRATIC, *ROOTS, "--best=best.mlir", "--plot=ranking.svg")
    assert (code, err) == (0, "")
    result, _ = hu.run("best.mlir", 1.0, 1000.0, 1.0)
    assert result.item() == pytest.approx(-0.0010000010000020001, rel=2**-24)
    assert Path("ranking.svg").read_text(encoding="utf-8").startswith("<?xml")
    code, _, err = command("sensitivity", "x.mlir", "--input=1", "--best=none.mlir")
    assert (code, err) == (0, "note: no change reduces an error: none.mlir is not written\n")
    assert not Path("none.mlir").exists()


@each_row(
    (("--formats=f33",), 2, "unknown float format 'f33'"),
    (("--by=line",), 2, "invalid choice: 'line'"),
    (("--modes=sideways",), 2, "rounding is 'sideways'"),
    (("--try-profile=x",), 2, "unknown profile 'x'"),
    (("--orders=x",), 2, "'x' is not a known order of reductions"),
    (("--models=x",), 2, "models of tile operations: unknown model 'x'; choose one of exact"),
    (("--result=3",), 2, "no float result result[3]"),
    (("--plot=x.pdf",), 2, "a picture's name ends in .svg or .png"),
    (("--batch",), 2, "--batch"),
    (("--output=@y.npy",), 2, "--output"),
    (("--input=1",), 2, "4 are given"),
)
def test_wrong_options(given: tuple[str, ...], code: int, message: str, command: Command) -> None:
    found, out, err = command("sensitivity", QUADRATIC, *ROOTS, *given)
    assert (found, out) == (code, "")
    assert message in err
