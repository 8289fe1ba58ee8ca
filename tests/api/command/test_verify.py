"""``halfulp verify`` as its users see it, against oracles that are always there."""

import json
import math
from importlib.resources import files
from pathlib import Path
from typing import Any

import jsonschema
import ml_dtypes
import numpy as np
import pytest
from command import Command, halfulp
from tables import each_row
from tree import ROOT

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


@pytest.mark.long
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


@pytest.mark.long
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
@each_row(
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
    (("verify", "--against", "exact", "--type", "f32"), 2, "--type can be used only with an op"),
    (("verify", "--against", "exact", "--no-known"), 2, "--no-known can be used only with an op"),
    (("verify", "--against", "exact", "--from", "f32"), 2, "--from can be used only with an op"),
    (("verify", "--against", "exact", "-n", "5"), 2, "-n can be used only with an op"),
    (("verify", "arith.addf", "--type", "f32", "-o", "x.md"), 2, "-o can be used only without an op"),
    (("verify", "arith.addf", "--type", "f32", "--level", "full"), 2, "--level can be used only without an op"),
    (("verify", "arith.addf", "--type", "f32", "--fail-under", "nan"), 2, "not a percentage"),
    (("verify", "arith.addf", "--type", "f32", "--bits", "99"), 2, "too many"),
    (("verify", "arith.addi", "--type", "i1000000", "--against", "exact"), 3, "fewer inputs with -n"),
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


@pytest.mark.long
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


@pytest.mark.long
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


# --- accuracy ---------------------------------------------------------------------------------------------------------
#
# ``halfulp verify --ulp`` as its users see it.

EXACT = ("verify", "--ulp", "exp", "--type", "f8E5M2", "--against", "ml_dtypes")
TRUNCATING = ("verify", "--ulp", "truncf", "--from", "f16", "--type", "f8E5M2", "--against")


def test_a_report_and_its_exit_codes() -> None:
    done = halfulp(*EXACT)
    assert (done.code, done.err) == (0, "")
    lines = done.out.splitlines()
    assert lines[0].startswith("exp f8E5M2 against ml_dtypes ")
    assert lines[0].endswith(": all 256 arguments")
    assert lines[1].split(maxsplit=3)[-1] == "0 of 248 finite arguments"
    assert any("largest error (κ)" in line for line in lines)


@pytest.mark.long
def test_json_in_accuracy() -> None:
    done = halfulp(*EXACT, "--json", "--max-ulp", "0.5")
    assert done.code == 0
    found = json.loads(done.out)
    assert (found["schema"], found["compared"], found["wrong"], found["wrong_special"]) == (1, 256, 0, 0)
    assert found["max_ulp"] <= 0.5
    assert found["max_ulp_allowed"] == 0.5
    schema = files("halfulp.conformance.accuracy").joinpath("accuracy.schema.json").read_text(encoding="utf-8")
    jsonschema.validate(found, json.loads(schema))
    wrong = halfulp(
        "verify", "--ulp", "arith.addf", "--type", "f32", "--against", "ml_dtypes", "--samples", "50", "--json"
    )
    jsonschema.validate(json.loads(wrong.out), json.loads(schema))
    codes = np.arange(256, dtype=np.uint8).view(ml_dtypes.float8_e5m2).astype(np.float64)
    # From there on the result is infinity.
    numbers = sum(-math.inf < x <= math.log(61440) for x in codes.tolist())
    assert sum(each["count"] for each in found["histogram"]) == numbers


@pytest.mark.long
@each_row(
    (("exp", "--type", "f32"), 2, "--against"),
    (("exq", "--type", "f32", "--against", "numpy"), 3, "no op named 'exq'"),
    (("exp", "--type", "f33", "--against", "numpy"), 2, "f33"),
    (("exp", "--type", "f32", "--against", "numpy", "--range", "1"), 2, "write LOW:HIGH"),
    (("exp", "--type", "f32", "--against", "numpy", "--max-ulp=-1"), 2, "is not a number of ulp"),
    (("exp", "--type", "f32", "--against", "numpy", "--rounding=sideways"), 2, "--rounding"),
    (("exp", "--type", "bf16", "--against", "numpy"), 3, "numpy has no bf16"),
    (("exp", "--type", "f32", "--against", "./no.so:f"), 3, "no.so does not exist"),
)
def test_errors(words: tuple[str, ...], code: int, message: str) -> None:
    done = halfulp("verify", "--ulp", *words)
    assert (done.code, done.out) == (code, "")
    assert message in done.err


def test_differences_and_the_gate(tmp_path: Path) -> None:
    # bf16 by cutting f32: every result below the real one, by less than an ulp.
    (tmp_path / "codes.txt").write_text("".join(f"{code >> 1 << 1:x}\n" for code in range(256)))
    words = ("verify", "--ulp", "arith.negf", "--type", "f8E5M2", "--against", str(tmp_path / "codes.txt"))
    done = halfulp(*words)
    assert done.code == 1
    assert "wrong special values" in done.out
    gated = halfulp(*words, "--max-ulp=1000")
    assert gated.code == 1
    assert gated.out.splitlines()[-1] == "NOT within 1000 ulp"


@pytest.mark.long
def test_a_picture(tmp_path: Path) -> None:
    path = tmp_path / "errors.svg"
    done = halfulp(*EXACT, "--plot", str(path), "--dark")
    assert done.code == 0
    assert path.read_text(encoding="utf-8").startswith("<?xml")
    assert halfulp(*EXACT, "--plot", str(tmp_path / "errors.gif")).code == 2


@pytest.mark.mlir
def test_arguments_without_an_answer_keep_the_gate_shut() -> None:
    done = halfulp(
        "verify", "--ulp", "arith.truncf", "--from", "f32", "--type", "bf16", "--against", "mlir-fold", "--samples", "5"
    )
    assert done.code == 3
    assert "arguments have no answer" in done.err


# --- program accuracy -------------------------------------------------------------------------------------------------
#
# halfulp verify --ulp of programs: what it prints, and what it refuses.


def test_the_command(command: Command) -> None:
    program = str(ROOT / "examples" / "attention.mlir")
    code, out, err = command("verify", "--ulp", program, "--samples=3")
    assert (code, err) == (0, "")
    assert out.startswith("@attention: 3 inputs\n")
    code, out, _ = command("verify", "--ulp", program, "--samples=3", "--json")
    (run,) = json.loads(out)["runs"]
    assert (run["name"], run["elements"]) == ("halfulp", 96)
    assert sum(each["count"] for each in run["histogram"]) == 96
    assert command("verify", "--ulp", program, "--samples=3", "--max-ulp=1e6")[0] == 0
    assert command("verify", "--ulp", program, "--samples=3", "--max-ulp=0.1")[0] == 1


@each_row(
    (("{}", "--type=f32"), 2, "--type cannot be used with a program"),
    (("{}", "--against=nobody"), 2, "unknown oracle 'nobody'"),
    (("{}", "--input=1", "--input=2"), 2, "@softmax"),
    (("exp", "--type=f16"), 2, "missing --against: a function"),
    (("exp", "--type=f16", "--against=numpy", "--input=1"), 2, "--input can be used only with a program"),
    (("missing.mlir",), 2, "cannot read 'missing.mlir'"),
)
def test_wrong_use_in_program_accuracy(given: tuple[str, ...], code: int, message: str, command: Command) -> None:
    softmax = str(ROOT / "examples" / "softmax.mlir")
    found, _, err = command("verify", "--ulp", *(each.format(softmax) for each in given))
    assert found == code
    assert message in err


def test_memory_is_refused(command: Command, tmp_path: Any) -> None:
    path = tmp_path / "m.mlir"
    path.write_text("func.func @f(%m: memref<2xf32>) { return }")
    code, _, err = command("verify", "--ulp", str(path))
    assert code == 3
    assert "has a memref argument" in err
