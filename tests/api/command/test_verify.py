"""``halfulp verify`` as its users see it, against oracles that are always there."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from command import halfulp

from halfulp.conformance.comparing.op_case import op_case, reference
from halfulp.conformance.oracles.vector_format import Record, save_records

TRUNCATION = ("verify", "arith.truncf", "--from", "f64", "--type", "f8E4M3FN", "--against", "ml_dtypes", "-n", "500")


def test_every_input_of_a_small_space() -> None:
    done = halfulp("verify", "arith.addf", "--type", "f4E2M1FN", "--against", "exact", "--coverage")
    assert (done.code, done.err) == (0, "")
    lines = done.out.splitlines()
    assert lines[0].endswith("every input:")
    assert [line.split(maxsplit=1) for line in lines[1:4]] == [
        ["256", "compared"],
        ["256", "equal"],
        ["0", "UNEXPLAINED"],
    ]
    assert "16 of 16 combinations of operand classes (100%)" in lines[4]


def test_known_divergences_are_named_and_can_be_ignored() -> None:
    known = halfulp(*TRUNCATION)
    assert known.code == 0
    assert "known: rounded to f32 first" in known.out
    (profiles,) = [line for line in known.out.splitlines() if "what these profiles give" in line]
    assert "ml_dtypes" in profiles
    ignored = halfulp(*TRUNCATION, "--no-known")
    assert ignored.code == 1
    # The operand of SEMANTICS' own example is a double just below a tie; a mismatch shows bits, values and distance.
    mismatches = [line for line in ignored.out.splitlines() if "expected" in line]
    assert mismatches
    assert all(line.lstrip().startswith("0x") and "ulp away" in line and "exactly" in line for line in mismatches)


def test_json() -> None:
    done = halfulp(*TRUNCATION, "--no-known", "--json")
    assert done.code == 1
    data = json.loads(done.out)
    assert (data["op"], data["operands"], data["results"]) == ("arith.truncf", ["f64"], ["f8E4M3FN"])
    assert data["oracle"] == "ml_dtypes"
    assert data["compared"] == data["equal"] + data["open"] + data["unexplained"]
    assert "ml_dtypes" in data["profiles"]
    assert {"operands", "expected", "actual", "ulps"} <= data["mismatches"][0].keys()
    assert all(code.startswith("0x") for code in data["mismatches"][0]["operands"])


def test_a_profile_instead_of_the_reference() -> None:
    done = halfulp(*TRUNCATION, "--no-known", "--profile", "ml_dtypes")
    assert done.code == 0
    assert " 0 UNEXPLAINED" in done.out


def test_attributes_and_types_of_several_operands() -> None:
    done = halfulp("verify", "arith.scaling_truncf", "--from", "bf16,f8E8M0FNU", "--type", "f4E2M1FN",
                   "--attr", "rounding=upward", "--against", "exact", "-n", "200", "--bits", "16")  # fmt: skip
    assert done.code == 0
    assert done.out.startswith("arith.scaling_truncf bf16, f8E8M0FNU -> f4E2M1FN rounding=upward against exact")
    quantized = "!quant.uniform<i8:f32:1, {0.5:3, 0.25}>"
    done = halfulp("verify", "quant.qcast", "--from", "f32", "--type", quantized, "--against", "exact", "-n", "100")
    assert done.code == 3  # exact has no answer along an axis
    assert "unanswered" in done.out


@pytest.mark.long
@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (("verify", "arith.addf"), 2, "give --type"),
        (("verify", "arith.nope", "--type", "f32"), 3, "no op named 'arith.nope'"),
        (("verify", "arith.addf", "--type", "f32", "--against", "nobody"), 2, "unknown oracle 'nobody'"),
        (("verify", "arith.addf", "--type", "f32", "--against", "npz"), 2, "write npz="),
        (("verify", "arith.addf", "--type", "f32,f32,f32", "--against", "exact"), 2, "3 types are given"),
        (("verify", "arith.addf", "--type", "i8", "--against", "exact"), 2, "floating-point-like"),
        (("verify", "arith.extf", "--from", "f32", "--type", "f16", "--against", "exact"), 2, "cast incompatible"),
        (("verify", "arith.addf", "--type", "f99", "--against", "exact"), 2, "<type>:1:1: error"),
        (("verify", "arith.addf", "--type", "f32", "--against", "exact", "--profile", "x"), 2, "unknown profile"),
        (("verify", "--against", "nobody"), 2, "unknown oracle"),
        (("verify", "--against", "exact", "--type", "f32"), 2, "--type goes with an op"),
        (("verify", "--against", "exact", "--no-known"), 2, "--no-known goes with an op"),
        (("verify", "--against", "exact", "--from", "f32"), 2, "--from goes with an op"),
        (("verify", "--against", "exact", "-n", "5"), 2, "-n goes with an op"),
        (("verify", "arith.addf", "--type", "f32", "-o", "x.md"), 2, "-o goes with no op"),
        (("verify", "arith.addf", "--type", "f32", "--level", "full"), 2, "--level goes with no op"),
        (("verify", "arith.addf", "--type", "f32", "--fail-under", "nan"), 2, "not a percentage"),
        (("verify", "arith.addf", "--type", "f32", "--bits", "99"), 2, "too many"),
        (("verify", "arith.addi", "--type", "i1000000", "--against", "exact"), 3, "fewer inputs with -n"),
    ],
)
def test_wrong_use(arguments: tuple[str, ...], code: int, message: str) -> None:
    done = halfulp(*arguments)
    assert done.code == code
    assert message in done.err
    assert "Traceback" not in done.err


@pytest.mark.long
def test_an_oracle_that_is_not_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HALFULP_MLIR_OPT", "/nowhere/mlir-opt")
    done = halfulp("verify", "arith.addf", "--type", "f4E2M1FN", "--against", "mlir-fold")
    assert done.code == 2
    assert "HALFULP_MLIR_OPT: /nowhere/mlir-opt is not a program that can be run" in done.err
    everything = halfulp("verify", "--against", "ml_dtypes,mlir-fold", "--jobs", "1")
    assert everything.code == 2
    assert "error: mlir-fold: HALFULP_MLIR_OPT: /nowhere/mlir-opt is not a program that can be run" in everything.err
    both = halfulp("verify", "arith.addf", "--type", "f4E2M1FN", "--against", "exact,mlir-fold")
    assert both.code == 2
    assert " 256 equal" in both.out


def test_coverage_can_be_required() -> None:
    arguments = ("verify", "arith.addf", "--type", "f32", "--against", "exact", "-n", "20", "--coverage")
    assert halfulp(*arguments).code == 0
    assert halfulp(*arguments, "--fail-under", "100").code == 1
    assert halfulp(*arguments[:-3], "-n", "100", "--fail-under", "100").code == 0


@pytest.mark.long
def test_everything_to_a_report(tmp_path: Path) -> None:
    report = tmp_path / "report.md"
    done = halfulp("verify", "--against", "ml_dtypes", "--jobs", "1", "-o", str(report))
    assert done.code == 0
    assert " 0 UNEXPLAINED" in done.err
    text = report.read_text()
    assert "0 unexplained" in text
    assert "| `ml_dtypes` |" in text
    assert list(tmp_path.iterdir()) == [report]


def test_a_report_that_cannot_be_written(tmp_path: Path) -> None:
    done = halfulp("verify", "--against", "ml_dtypes", "--jobs", "1", "-o", str(tmp_path / "no" / "report.md"))
    assert done.code == 2
    # Nothing was asked before: it would have been said.
    assert done.err == f"error: cannot write '{tmp_path / 'no' / 'report.md'}': No such file or directory\n"


@pytest.mark.long
def test_all_cases_of_a_file_of_results(tmp_path: Path) -> None:
    records = []
    for op in ("addi", "muli"):
        asked = op_case(f"arith.{op}", "i64")
        operands = tuple(np.arange(5, 25, dtype=np.uint64) * np.uint64(k) for k in (982451653, 57885161))
        records.append(Record(asked, operands, reference(asked, operands).bits))
    path = tmp_path / "results.npz"
    save_records(path, records, "mine", "1")
    done = halfulp("verify", "--against", f"npz={path}")
    assert (done.code, done.err) == (0, "")
    assert done.out.count("20 compared") == done.out.count("20 equal") == 2
    records[1].results[0][7] ^= np.uint64(1)
    save_records(path, records, "mine", "1")
    done = halfulp("verify", "--against", f"npz={path}", "-o", str(tmp_path / "report.txt"))
    assert (done.code, done.out) == (1, "")
    assert "1 UNEXPLAINED" in (tmp_path / "report.txt").read_text()
    alone = halfulp("verify", "arith.muli", "--type", "i64", "--against", f"npz={path}")
    assert (alone.code, "1 UNEXPLAINED" in alone.out) == (1, True)
    path.write_bytes(b"no file of results")
    done = halfulp("verify", "--against", f"npz={path}")
    assert (done.code, "garbage" in done.err) == (2, True)
    for other in ("command=cat", f"npz={path},exact"):
        assert halfulp("verify", "--against", other).code == 2
