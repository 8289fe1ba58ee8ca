"""Vectors of programs that round stochastically: the number of each row's run is a column."""

from __future__ import annotations

import pickle
from pathlib import Path

import numpy as np
import pytest

import halfulp as hu
from halfulp.command.main import main
from halfulp.conformance.vectors.computation import ProgramComputation
from halfulp.conformance.vectors.recipe import Recipe
from halfulp.semantics.profile import as_profile

TEXT = """
func.func @f(%x: f32, %y: f16, %n: i2) -> f16 {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %end = arith.index_castui %n : i2 to index
  %start = arith.truncf %x : f32 to f16
  %r = scf.for %i = %zero to %end step %one iter_args(%a = %start) -> f16 {
    %b = arith.addf %a, %y : f16
    scf.yield %b : f16
  }
  return %r : f16
}
"""
TENSORS = """
func.func @f(%x: tensor<3xf32>) -> (tensor<3xf16>, f16) {
  %a = arith.truncf %x : tensor<3xf32> to tensor<3xf16>
  %start = tensor.empty() : tensor<f16>
  %zero = arith.constant 0.0 : f16
  %filled = linalg.fill ins(%zero : f16) outs(%start : tensor<f16>) -> tensor<f16>
  %sum = linalg.reduce { arith.addf } ins(%a : tensor<3xf16>) outs(%filled : tensor<f16>) dimensions = [0]
  %s = tensor.extract %sum[] : tensor<f16>
  return %a, %s : tensor<3xf16>, f16
}
"""
PROFILE = "spec,program_rounding=stochastic"


def _recipe(text: str, random: str) -> Recipe:
    return Recipe(ProgramComputation(text, "f", "f.mlir", as_profile(PROFILE), random=random), "weighted", count=200)


@pytest.mark.parametrize("text", [TEXT, TENSORS], ids=["branches", "tensors"])
@pytest.mark.parametrize("random", ["philox:seed=5", "lfsr:width=16,taps=16+14+13+11,seed=0xACE1"])
def test_each_row_is_a_run_of_its_number(text: str, random: str) -> None:
    recipe = _recipe(text, random)
    numbered = random.startswith("philox")
    names = [column.name for column in recipe.computation.inputs]
    assert (names[-1] == "random") == numbered
    (rows,) = list(recipe.chunks())
    operands = len(names) - numbered
    module, kinds = hu.parse(text), recipe.computation.operand_types
    for row in range(0, len(rows[0]), 9):
        given = [hu.Value.from_bits(column[row], kind) for column, kind in zip(rows, kinds, strict=False)]
        if text is TENSORS:
            given = [hu.Value.from_bits(np.array([column[row] for column in rows[:3]]), "f32")]
        run = f"{random},run={rows[operands][row]}" if numbered else random
        found = hu.run(module, *given, profile=PROFILE, random=run)
        bits = np.concatenate([np.atleast_1d(value.bits) for value in found])
        assert bits.tolist() == [column[row] for column in rows[len(names) : len(names) + bits.size]]


def test_parts_make_the_same_rows() -> None:
    recipe = _recipe(TEXT, "philox:seed=5,bits=9")
    whole = list(recipe.vectors(size=1000).chunks)
    parts = list(pickle.loads(pickle.dumps(recipe)).vectors(size=7).chunks)
    for column, *pieces in zip(whole[0], *parts, strict=True):
        assert np.array_equal(column, np.concatenate(pieces))


def test_files_are_checked_and_made_again(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    program = tmp_path / "f.mlir"
    program.write_text(TEXT)
    options = [f"--profile={PROFILE}", "--random=philox:seed=4", "--level=weighted", "-n", "300"]
    assert main(["vectors", "make", str(program), *options, "--format=csv", "--out", str(tmp_path / "out")]) == 0
    (file,) = (tmp_path / "out").glob("*.csv")
    assert main(["vectors", "check", str(file)]) == 0
    assert "300 rows, none differs" in capsys.readouterr().out
    lines = file.read_text().split("\n")
    # Another run of the same row rounds in another way, somewhere.
    changed = [lines[0], *[line.replace(f",{line.split(',')[3]},", ",0x00000000,") for line in lines[1:] if line]]
    file.write_text("\n".join([*changed, ""]))
    assert main(["vectors", "check", str(file)]) == 1
    sweep = tmp_path / "sweep"
    assert (
        main(["vectors", "sweep", str(program), *options, "--out", str(sweep), "--workers=1", "--shard-rows=64"]) == 0
    )


def test_python_and_errors(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    made = hu.vectors(TEXT, level="weighted", n=50, profile=PROFILE, random="philox:seed=4")
    row = made[3]
    assert row.random is not None
    with pytest.raises(hu.errors.InputError, match="has no random bits"):
        hu.vectors(TEXT, profile=PROFILE)
    with pytest.raises(hu.errors.InputError, match="does not round stochastically"):
        hu.vectors(TEXT, random="philox:seed=4")
    with pytest.raises(hu.errors.InputError, match="random goes with a program"):
        hu.vectors("arith.addf", "f16", random="philox:seed=4")
    assert main(["vectors", "make", "arith.addf", "--type=f16", "--random=philox:seed=1"]) == 2
    program = tmp_path / "f.mlir"
    program.write_text(TEXT)
    assert main(["vectors", "make", str(program), f"--profile={PROFILE}", "--random=philox"]) == 2
    assert "--random=philox: philox needs seed" in capsys.readouterr().err
