"""Vectors, checks and sweeps of elementary functions, as a team that builds an exp unit uses them."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

import gmpy2
import numpy as np
import pytest
from command import halfulp
from tree import ROOT

from halfulp.fp_formats import scalar
from halfulp.fp_formats.formats import FORMATS

BF16 = FORMATS["bf16"]
ROUNDING = {"to_nearest_even": gmpy2.RoundToNearest, "upward": gmpy2.RoundUp, "toward_zero": gmpy2.RoundToZero}


def made(folder: Path, *arguments: str) -> Path:
    """Return the only data file that ``halfulp vectors make`` writes into a folder."""
    done = halfulp("vectors", "make", *arguments, "--out", str(folder))
    assert done.code == 0, done.err
    (path,) = (path for path in folder.iterdir() if path.suffix != ".json")
    return path


def exp_by_mpfr(code: int, rounding: str) -> int:
    """Return exp of a finite bf16, rounded to bf16 by MPFR."""
    value = scalar.value(BF16, code)
    assert value is not None
    context = gmpy2.context(precision=8, emin=-132, emax=128, subnormalize=True, round=ROUNDING[rounding])
    with gmpy2.context(precision=200):
        operand = gmpy2.mpfr(gmpy2.mpq(value.numerator, value.denominator))
    with context:
        found = gmpy2.exp(operand)
    return int(np.float32(float(found)).view(np.uint32)) >> 16


@pytest.fixture(scope="module")
def exp_of_bf16(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return made(tmp_path_factory.mktemp("exp"), "math.exp", "--type=bf16", "--level=exhaustive", "--format=csv")


def test_every_exp_of_bf16_is_that_of_mpfr(exp_of_bf16: Path) -> None:
    rows = [line.split(",") for line in exp_of_bf16.read_text().splitlines()[1:]]
    assert len(rows) == 1 << 16
    for operand, result, _ in rows[::7]:
        code = int(operand, 16)
        if scalar.value(BF16, code) is not None:
            assert int(result, 16) == exp_by_mpfr(code, "to_nearest_even"), operand


def test_the_right_file_passes(exp_of_bf16: Path) -> None:
    done = halfulp("vectors", "check", str(exp_of_bf16))
    assert done.code == 0
    assert "math.exp bf16: 65,536 rows, none differs" in done.out


@pytest.mark.long
def test_one_wrong_bit_is_found(exp_of_bf16: Path, tmp_path: Path) -> None:
    lines = exp_of_bf16.read_text().splitlines()
    place = next(k for k, line in enumerate(lines) if line.startswith("0x3FAB,"))
    assert lines[place] == "0x3FAB,0x4073,0x01"
    lines[place] = "0x3FAB,0x4072,0x01"
    path = tmp_path / "unit.csv"
    path.write_text("\n".join(lines) + "\n")
    done = halfulp("vectors", "check", str(path), "--op", "math.exp", "--type", "bf16")
    assert done.code == 1
    assert f"unit.csv: row {place - 1}, line {place + 1}: math.exp bf16" in done.out
    assert "1.3359375" in done.out
    assert "3.796875" in done.out
    assert "3.78125" in done.out
    assert "off by one ulp toward zero, bit 0 alone" in done.out
    assert "65,536 rows, 1 differs" in done.out


def test_a_unit_that_truncates_is_recognised(tmp_path: Path) -> None:
    path = made(tmp_path, "math.exp", "--type=f8E5M2", "--rounding=toward_zero", "--level=exhaustive", "--format=csv")
    done = halfulp("vectors", "check", str(path), "--op", "math.exp", "--type", "f8E5M2")
    assert done.code == 1
    assert "are what rounding=toward_zero gives" in done.out


@pytest.mark.parametrize("format", ["runs", "npz"])
def test_each_format_carries_functions(format: str, tmp_path: Path) -> None:
    path = made(tmp_path, "sigmoid", "--type=f8E4M3FN", "--level=exhaustive", f"--format={format}")
    done = halfulp("vectors", "check", str(path))
    assert done.code == 0, done.out + done.err
    assert "none differs" in done.out


def test_models_and_hard_cases_of_the_command(tmp_path: Path) -> None:
    listed = halfulp("vectors", "make", "rsqrt", "--type=f8E5M2", "--models=list")
    assert listed.code == 0
    assert [line.split()[0] for line in listed.out.splitlines()] == ["B1", "B9", "F1", "F2", "F4"]
    path = made(tmp_path, "rsqrt", "--type=f8E5M2", "--models=F4", "--level=hard", "-n", "20", "--format=csv")
    rows = path.read_text().splitlines()[1:]
    assert len(rows) == 2 + 20
    assert rows[0].endswith(",0x00")  # exact
    assert all(row.endswith("0x01") for row in rows[2:])  # inexact
    assert halfulp("vectors", "check", str(path)).code == 0
    data = json.loads(next(tmp_path.glob("*.json")).read_text())
    assert data["inputs"]["level"] == "hard"
    assert data["source"]["op"] == "math.rsqrt"


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (("arith.addf", "--type=f32", "--level=hard"), 3, "the level 'hard' is about elementary functions"),
        (("math.absf", "--type=f32", "--level=hard"), 3, "the level 'hard' is about elementary functions"),
        (("rsqrt", "--type=f8E5M2", "--models=F3"), 2, "F3 does not apply to math.rsqrt f8E5M2"),
        (("sigmoid", "--type=f8E4M3FN", "--format=mlir"), 2, "MLIR has no op for sigmoid"),
        (("math.exp", "--type=f8E5M2", "--format=mlir", "--rounding=upward"), 2, "math.exp has no rounding in MLIR"),
    ],
)
def test_what_cannot_be_made(arguments: tuple[str, ...], code: int, message: str) -> None:
    done = halfulp("vectors", "make", *arguments)
    assert done.code == code
    assert message in done.err


def test_a_sweep_of_a_function_goes_on(tmp_path: Path) -> None:
    command = (
        "vectors",
        "sweep",
        "exp10",
        "--type=bf16",
        "--level=exhaustive",
        "--format=bin",
        "--out",
        str(tmp_path / "sweep"),
    )
    first = halfulp(*command)
    assert first.code == 0, first.err
    again = halfulp(*command)
    assert "1 of 1 shard existed already" in again.err
    assert again.out == first.out


@pytest.mark.long
@pytest.mark.parametrize(("part", "count"), [("functions", 5), ("operands", 2)])
def test_the_examples_of_the_page(part: str, count: int, tmp_path: Path) -> None:
    text = (ROOT / "docs" / "vector-files.md").read_text(encoding="utf-8")
    (example,) = re.findall(rf"<!-- {part} -->\n\n```console\n(.*?)```", text, re.DOTALL)
    commands = re.findall(r"^\$ halfulp (.*)\n((?:(?!\$).*\n)*)", example, re.MULTILINE)
    assert len(commands) == count
    for command, printed in commands:
        done = halfulp(*shlex.split(command), cwd=tmp_path)
        assert (done.code, done.out + done.err) == (0, printed)
