"""``halfulp vectors make --changed``: old sets beside what this version computes."""

import json
import re
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

import gmpy2
import numpy as np
import pytest
from command import halfulp
from tables import each_row
from tree import ROOT
from vector_files import VECTOR_SETS_ADDF, changed, edited, made, run

from halfulp.conformance.comparing.op_case import op_case
from halfulp.conformance.vectors.computation import OpComputation
from halfulp.conformance.vectors.recipe import Recipe
from halfulp.conformance.vectors.shards.directory import SweepPlan
from halfulp.conformance.vectors.shards.shard import sweep_shards
from halfulp.fp_formats import scalar
from halfulp.fp_formats.formats import FORMATS


@pytest.mark.long
def test_an_old_set_that_has_not_changed(tmp_path: Path) -> None:
    for number, arguments in enumerate(
        [
            (*VECTOR_SETS_ADDF, "--format", "npz,testfloat"),
            ("vectors", "make", "arith.fptosi", "--from", "f16", "--type", "i8", "--poison", "drop"),
            (
                "vectors", "make", "arith.fptosi", "--from", "f16", "--type", "i8", "--poison", "canonical", "--format",
                "csv",
            ),
            ("vectors", "make", "arith.divsi", "--type", "i8", "--format", "sv", "-n", "900"),
        ]
    ):  # fmt: skip
        document = made(tmp_path / str(number), *arguments)
        (path,) = (tmp_path / str(number)).glob("*.json")
        done = changed(str(path))
        assert (done.code, done.out, done.err) == (0, "", f"0 of {document['count']} vectors change\n")
        for file in document["files"]:
            assert changed(str(path), str(path.parent / file["name"])).code == 0
            (path.parent / file["name"]).unlink()
        done = changed(str(path))
        assert (done.code, "only digests can be compared: equal" in done.err) == (0, True)


def test_rows_that_change(tmp_path: Path) -> None:
    made(tmp_path, "vectors", "make", "arith.mulf", "--type", "f8E4M3FN", "--format", "testfloat")
    path = tmp_path / "mulf_f8E4M3FN.json"
    other = edited(path, lambda data: data["profile"]["fields"].update(tininess="before"), "other.json")
    done = changed(other, "--format", "jsonl")
    assert done.code == 1
    rows = [json.loads(line) for line in done.out.splitlines()]
    assert done.err == f"{len(rows)} of 38400 vectors change\n"
    before = (tmp_path / "mulf_f8E4M3FN.tv").read_text().splitlines()
    now = run("vectors", "make", "arith.mulf", "--type", "f8E4M3FN", "--tininess=before").out.splitlines()
    differing = [k for k, (one, two) in enumerate(zip(before, now, strict=True)) if one != two]
    assert [row["row"] for row in rows] == differing
    for row in rows:
        words = [int(code, 16) for code in (*row["given"].values(), *row["new"].values())]
        assert words == [int(word, 16) for word in now[row["row"]].split()]
    text = changed(other).out.splitlines()
    first = rows[0]
    assert text[0] == (
        f"row {first['row']}: a={first['given']['a']} b={first['given']['b']}: flags "
        f"{first['old']['flags']} -> {first['new']['flags']}"
    )
    (tmp_path / "mulf_f8E4M3FN.tv").unlink()
    assert (changed(other).code, changed(str(path)).code) == (1, 0)


def test_rows_that_are_poison_no_longer_or_now(tmp_path: Path) -> None:
    fptosi = ("vectors", "make", "arith.fptosi", "--from", "f16", "--type", "i8")
    counts = {}
    for name, more in {"npz": (), "drop": ("--poison", "drop"), "canonical": ("--poison", "canonical")}.items():
        made(tmp_path / name, *fptosi, "--format", "npz" if name == "npz" else "testfloat", *more)
        path = tmp_path / name / "fptosi_f16_to_i8.json"
        other = edited(path, lambda data: data["profile"]["fields"].update(float_to_int="saturate"), "other.json")
        done = changed(other)
        counts[name] = len(done.out.splitlines())
        assert done.code == 1
        if name == "drop":
            assert all(
                line.startswith("a new row: ") and "result left out -> 0x" in line for line in done.out.splitlines()
            )
        if name == "npz":
            assert all("poison 0x1 -> 0x0" in line for line in done.out.splitlines())
    # A canonical 0 that now is the saturated result 0 has not changed, as far as the file tells.
    assert counts["npz"] == counts["drop"] > counts["canonical"] > 0
    made(tmp_path / "now", *fptosi, "--float-to-int=saturate")
    path = tmp_path / "now" / "fptosi_f16_to_i8.json"
    other = edited(path, lambda data: data["profile"]["fields"].update(float_to_int="poison"), "other.json")
    done = changed(other)
    assert (done.code, len(done.out.splitlines())) == (1, counts["npz"])
    assert all("poison 0x0 -> 0x1" in line for line in done.out.splitlines())
    (tmp_path / "now" / "fptosi_f16_to_i8.tv").unlink()
    done = changed(other)
    assert (done.code, "they differ" in done.err) == (1, True)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda data: data["files"][0].update(format=0), "does not give a file's name and format"),
        (lambda data: data["files"][0].pop("format"), "does not give a file's name and format"),
        (lambda data: data["files"][0].update(name=""), "does not give a file's name and format"),
        (lambda data: data.update(files=[None]), "does not give a file's name and format"),
        (lambda data: data["blocks"].update(elements={"a": 1}), "the metadata does not describe blocks"),
        (lambda data: data["blocks"].update(element=[1]), "the metadata does not describe blocks"),
        (lambda data: data["inputs"]["options"].update(block="x"), "block is 'x'"),
        (lambda data: data["inputs"].update(seed=-1), "seed is -1"),
    ],
)
def test_metadata_that_makes_no_sense(change: Callable[[dict[str, Any]], object], message: str, tmp_path: Path) -> None:
    scaled = ("vectors", "make", "arith.scaling_extf", "--from", "f4E2M1FN,f8E8M0FNU", "--type", "f32", "--mx", "first")
    made(tmp_path, *scaled, "-n", "64", "--format", "bin", "--name", "v")
    done = changed(edited(tmp_path / "v.json", change, "other.json"))
    assert (done.code, done.out) == (2, "")
    assert message in done.err


@pytest.mark.parametrize("poison", [None, {}, {"encoding": []}, {"encoding": {"a": 1}}])
def test_metadata_that_says_nothing_of_poison(poison: object, tmp_path: Path) -> None:
    made(tmp_path, *VECTOR_SETS_ADDF, "-n", "64", "--name", "v")
    assert changed(edited(tmp_path / "v.json", lambda data: data.update(poison=poison), "other.json")).code == 0


@pytest.fixture(params=["npz", "testfloat", "runs"])
def swept(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """Return a sweep in four shards of four leaves."""
    recipe = Recipe(OpComputation(op_case("arith.truncf", "bf16", "f8E4M3FN"), flags=False), "exhaustive")
    sweep_shards(SweepPlan(recipe, request.param, shard_rows=1 << 14, leaf_rows=1 << 12), tmp_path)
    return tmp_path / "metadata.json"


def test_sweeps_that_have_not_changed(swept: Path) -> None:
    shards = json.loads(swept.read_text(encoding="utf-8"))["shards"]
    done = changed(str(swept))
    assert (done.code, done.out, done.err) == (0, "", "0 of 65536 vectors change\n")
    done = changed(str(swept), str(swept.parent / shards[1]["file"]))
    assert (done.code, done.out, done.err) == (0, "", "0 of 16384 vectors change\n")
    (swept.parent / shards[0]["file"]).unlink()
    done = changed(str(swept))
    told = "1 of 4 shards do not lie beside it, so only digests can be compared: equal\n0 of 49152 vectors change\n"
    assert (done.code, done.out, done.err) == (0, "", told)
    for shard in shards[1:]:
        (swept.parent / shard["file"]).unlink()
    done = changed(str(swept))
    told = "no data file lies beside it, so only digests can be compared: equal\n"
    assert (done.code, done.out, done.err) == (0, "", told)


def test_rows_of_sweeps_that_change(swept: Path) -> None:
    other = edited(swept, lambda data: data["profile"]["fields"].update(nan_result="canonical"), "other.json")
    shards = json.loads(swept.read_text(encoding="utf-8"))["shards"]
    done = changed(other, "--format", "jsonl")
    # The NaNs of bf16 with a sign are the last 127 codes of all.
    assert (done.code, done.err) == (1, "127 of 65536 vectors change\n")
    rows = [json.loads(line) for line in done.out.splitlines()]
    assert [(row["file"], row["row"], row["given"]) for row in rows] == [
        (shards[3]["file"], code - 0xC000, {"a": f"0x{code:X}"}) for code in range(0xFF81, 1 << 16)
    ]
    assert changed(other).out.startswith(f"{shards[3]['file']}: row 16257: a=0xFF81: result 0xFF (nan) -> 0x7F (nan)\n")
    assert changed(other, str(swept.parent / shards[2]["file"])).code == 0
    done = changed(other, str(swept.parent / shards[3]["file"]))
    assert (done.code, done.err) == (1, "127 of 16384 vectors change\n")
    (swept.parent / shards[3]["file"]).unlink()
    done = changed(other)
    assert (done.code, "1 of 4 shards do not lie beside it" in done.err, "they differ" in done.err) == (1, True, True)


def test_sweeps_that_cannot_be_compared(swept: Path) -> None:
    done = changed(str(swept), str(swept.parent / "sweep.runs"))
    assert (done.code, "is not one of the sweep's shards" in done.err) == (2, True)
    name = json.loads(swept.read_text(encoding="utf-8"))["shards"][2]["file"]
    changes: dict[str, Callable[[dict[str, Any]], object]] = {
        "the digest of the metadata is not that of its shards": lambda data: data["shards"].pop(),
        "the metadata names rows 32768 to 99999": lambda data: data["shards"][2].update(rows=[1 << 15, 99999]),
        "does not say which rows its shard has": lambda data: data["shards"][2].update(rows=[1 << 15, "x"]),
    }
    for message, change in changes.items():
        other = edited(swept, change, "other.json")
        for file in ((), (str(swept.parent / name),)) if "rows" in message else ((),):
            done = changed(other, *file)
            assert (done.code, done.out, message in done.err) == (2, "", True)


def test_old_sets_that_cannot_be_compared(tmp_path: Path) -> None:
    made(tmp_path, *VECTOR_SETS_ADDF, "-n", "100")
    path, data = tmp_path / "addf_f8E4M3FN.json", tmp_path / "addf_f8E4M3FN.tv"
    seeded = edited(path, lambda document: document["inputs"].update(seed=1), "seed.json")
    done = changed(seeded)
    assert (done.code, "row 0 of the old set has other operands than this version makes" in done.err) == (2, True)
    outside = edited(path, lambda document: document["files"][0].update(name="../x.tv"), "outside.json")
    assert (changed(outside).code, "outside of its folder" in changed(outside).err) == (2, True)
    lines = data.read_text().splitlines()
    data.write_text("\n".join(["00 00 00 00", *lines[1:]]) + "\n")
    done = changed(str(path))
    assert (done.code, "not the vectors of the metadata" in done.err) == (2, True)
    assert changed(str(data)).code == 2
    assert changed(str(path), str(tmp_path / "missing.tv")).code == 2


# --- function vectors -------------------------------------------------------------------------------------------------
#
# Vectors, checks and sweeps of elementary functions, as a team that builds an exp unit uses them.

BF16 = FORMATS["bf16"]
ROUNDING = {"to_nearest_even": gmpy2.RoundToNearest, "upward": gmpy2.RoundUp, "toward_zero": gmpy2.RoundToZero}


def function_vectors_made(folder: Path, *arguments: str) -> Path:
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
    return function_vectors_made(
        tmp_path_factory.mktemp("exp"), "math.exp", "--type=bf16", "--level=exhaustive", "--format=csv"
    )


@pytest.mark.long
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


@pytest.mark.long
def test_a_unit_that_truncates_is_recognised(tmp_path: Path) -> None:
    path = function_vectors_made(
        tmp_path, "math.exp", "--type=f8E5M2", "--rounding=toward_zero", "--level=exhaustive", "--format=csv"
    )
    done = halfulp("vectors", "check", str(path), "--op", "math.exp", "--type", "f8E5M2")
    assert done.code == 1
    assert "are what rounding=toward_zero gives" in done.out


@pytest.mark.long
@pytest.mark.parametrize("format", ["runs", "npz"])
def test_each_format_carries_functions(format: str, tmp_path: Path) -> None:
    path = function_vectors_made(tmp_path, "sigmoid", "--type=f8E4M3FN", "--level=exhaustive", f"--format={format}")
    done = halfulp("vectors", "check", str(path))
    assert done.code == 0, done.out + done.err
    assert "none differs" in done.out


@pytest.mark.long
def test_models_and_hard_cases_of_the_command(tmp_path: Path) -> None:
    listed = halfulp("vectors", "make", "rsqrt", "--type=f8E5M2", "--models=list")
    assert listed.code == 0
    assert [line.split()[0] for line in listed.out.splitlines()] == ["B1", "B9", "F1", "F2", "F4"]
    path = function_vectors_made(
        tmp_path, "rsqrt", "--type=f8E5M2", "--models=F4", "--level=hard", "-n", "20", "--format=csv"
    )
    rows = path.read_text().splitlines()[1:]
    assert len(rows) == 2 + 20
    assert rows[0].endswith(",0x00")  # exact
    assert all(row.endswith("0x01") for row in rows[2:])  # inexact
    assert halfulp("vectors", "check", str(path)).code == 0
    data = json.loads(next(tmp_path.glob("*.json")).read_text())
    assert data["inputs"]["level"] == "hard"
    assert data["source"]["op"] == "math.rsqrt"


@pytest.mark.long
@each_row(
    (("arith.addf", "--type=f32", "--level=hard"), 3, "the level 'hard' is for elementary functions"),
    (("math.absf", "--type=f32", "--level=hard"), 3, "the level 'hard' is for elementary functions"),
    (("rsqrt", "--type=f8E5M2", "--models=F3"), 2, "F3 does not apply to math.rsqrt f8E5M2"),
    (("sigmoid", "--type=f8E4M3FN", "--format=mlir"), 2, "MLIR has no op for sigmoid"),
    (("math.exp", "--type=f8E5M2", "--format=mlir", "--rounding=upward"), 2, "math.exp has no rounding in MLIR"),
)
def test_what_cannot_be_made(arguments: tuple[str, ...], code: int, message: str) -> None:
    done = halfulp("vectors", "make", *arguments)
    assert done.code == code
    assert message in done.err


@pytest.mark.long
def test_a_sweep_of_a_function_goes_on(tmp_path: Path) -> None:
    command = (
        "vectors", "sweep", "exp10", "--type=bf16", "--level=exhaustive", "--format=bin", "--out",
        str(tmp_path / "sweep"),
    )  # fmt: skip
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
