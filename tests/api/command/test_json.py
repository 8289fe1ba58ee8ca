"""What commands print with --json: objects of the schema in the package."""

import json
from importlib.resources import files
from pathlib import Path
from typing import Any

import jsonschema
import numpy as np
import pytest
from command import Command
from tables import each_row

import halfulp as hu
from halfulp.command.records import number_record, value_record

SCHEMA = json.loads((files("halfulp.command") / "output.schema.json").read_text())
DIVIDE = """\
func.func @f(%a: tensor<2xi8>, %m: memref<2xf32>) -> tensor<2xi8> {
  %c = arith.constant dense<[2, 0]> : tensor<2xi8>
  %0 = arith.divsi %a, %c : tensor<2xi8>
  return %0 : tensor<2xi8>
}
func.func private @g(%a: i8) -> i8 {
  %0 = arith.addi %a, %a : i8
  return %0 : i8
}
"""


def checked(name: str, text: str) -> Any:
    """Return the object that a command printed, after a check against the schema. All but files are one line."""
    assert text.count("\n") == 1 or name == "vectors coverage report"
    found = json.loads(text)
    jsonschema.Draft202012Validator({**SCHEMA, "$ref": f"#/$defs/{name}"}).validate(found)
    return found


COMMANDS = (
    ("eval", "eval arith.addf --input=2xf32=[1,nan] --input=2xf32=[0.5,1] --flags"),
    ("run", "run f.mlir --input=2xi8=[4,7] --input=2xf32=[1,2] --on-ub=poison"),
    ("run", "run f.mlir --input=2xi8=[4,7] --input=2xf32=[1,2] --on-ub=poison --output=@y.npy"),
    ("trace", "run --trace f.mlir --input=2xi8=[4,7] --input=2xf32=[1,2] --on-ub=poison"),
    ("explain", "explain 0.1 f8E4M3FN"),
    ("explain", "explain nan f16"),
    ("explain", "explain arith.mulf f32 3 0.1"),
    ("explain", "explain arith.addi i8 100 100"),
    ("explain", "explain --list"),
    ("formats", "formats"),
    ("formats", "formats f4E2M1FN"),
    ("formats explore", "formats --explore -o explore.html"),
    ("cache", "cache"),
    ("translate", "translate f.mlir"),
    ("translate", "translate f.mlir --emit-bytecode -o f.mlirbc"),
    ("vectors make", "vectors make arith.addf --type=f4E2M1FN --models=list"),
    ("vectors make", "vectors make arith.addf --type=f4E2M1FN --out=set --format=csv"),
    ("vectors make", "vectors make arith.addf --type=f16 --out=set --format=dpi"),
    ("vectors make", "vectors make --changed=old/addf_f4E2M1FN.json"),
    ("vectors check", "vectors check old/addf_f4E2M1FN.tv"),
    ("vectors coverage report", "vectors coverage report old/covered.json"),
)
SLOWER = (
    ("vectors sweep", "vectors sweep arith.addf --type=f4E2M1FN --out=sweep"),
    ("vectors sweep", "vectors sweep arith.addf --type=f4E2M1FN --out=sweep --shard=0/2"),
    ("reduce", "reduce f.mlir --test=./accepts --function=g"),
    ("reduce", "reduce f.mlir --test=./accepts --function=g -o g.mlir"),
    ("run", "run f.mlir --function=g --input=1 --flags"),
    ("run", "run f.mlir --function=g --input=1 --shadow"),
    ("trace", "run --trace f.mlir --function=g --input=1 --shadow"),
    ("eval", "eval complex.create --input=f32=1 --input=f32=2"),
)


@pytest.fixture
def command(capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Command:
    """Run halfulp in a folder with a program."""
    monkeypatch.chdir(tmp_path)
    Path("f.mlir").write_text(DIVIDE)
    Path("accepts").write_text("#!/bin/sh\nexit 0\n")
    Path("accepts").chmod(0o755)
    found = Command(capsys)
    old = ("--type=f4E2M1FN", "--out=old", "--coverage-file=old/covered.json", "-n", "16")
    assert found("vectors", "make", "arith.addf", *old)[0] == 0
    return found


@each_row(*COMMANDS)
def test_objects_follow_the_schema(name: str, line: str, command: Command) -> None:
    code, out, err = command(*line.split(), "--json")
    assert code == 0, err
    checked(name, out)


@pytest.mark.long
@each_row(*SLOWER)
def test_more_objects_follow_the_schema(name: str, line: str, command: Command) -> None:
    code, out, err = command(*line.split(), "--json")
    assert code == 0, err
    checked(name, out)


def test_results_of_a_run(command: Command) -> None:
    given = ("--input=2xi8=[4,7]", "--input=2xf32=[1,2]", "--on-ub=poison", "--json")
    code, out, _ = command("run", "f.mlir", *given, "--expected-output=2xi8=[3,1]")
    found = checked("run", out)
    origin = {"op": "arith.divsi", "location": "f.mlir:3:8", "reason": "undefined behaviour: division by zero"}
    assert code == 1
    assert found["memory"] == [
        {
            "name": "argument[1]",
            "type": "tensor<2xf32>",
            "shape": [2],
            "bits": ["0x3F800000", "0x40000000"],
            "values": [1, 2],
            "poison": [],
        }
    ]
    assert found["results"] == [
        {
            "name": "result[0]",
            "type": "tensor<2xi8>",
            "shape": [2],
            "bits": ["0x02", None],
            "values": [2, None],
            "poison": [{**origin, "element": [1], "elements": [[1]]}],
            "differences": [
                "2 of 2 elements differ",
                "[0]: expected 3 (0x03), got 2 (0x02)",
                "[1]: expected 1 (0x01), got poison",
            ],
        }
    ]


def test_an_error_in_a_trace_keeps_its_steps(command: Command) -> None:
    code, out, err = command("run", "--trace", "f.mlir", "--input=2xi8=[4,7]", "--input=2xf32=[1,2]", "--json")
    found = checked("trace", out)
    assert (code, found["results"]) == (4, [])
    assert "division by zero" in found["trace"]["error"]
    assert "division by zero" in err


NUMBERS: tuple[tuple[hu.Value, Any], ...] = (
    (hu.convert([0.1, -0.0, float("nan"), float("-inf")], "f32"), [0.10000000149011612, -0.0, "nan", "-inf"]),
    (hu.convert(["0.1", 0.5], "f80"), ["0.1000000000000000000014", 0.5]),
    (hu.Value.from_numpy(np.array([2**53, 2**53 + 1, -1], np.int64)), [2**53, str(2**53 + 1), -1]),
    (hu.Value.from_bits([[0, 1]], "i1"), [[False, True]]),
    (hu.convert(2.5, "bf16"), 2.5),
    (hu.convert(np.zeros((2, 0, 3), np.float32), "f32"), [[], []]),
)


@each_row(*NUMBERS)
def test_numbers_are_exact_or_text(value: hu.Value, numbers: Any) -> None:
    found = value_record(value)["values"]
    assert json.dumps(found) == json.dumps(numbers)
    assert number_record(None) is None


def test_modules_with_errors(command: Command) -> None:
    Path("two.mlir").write_text("func.func @f() {\n  return\n}\n// -----\nfunc.func @g() {\n  retur\n}\n")
    code, out, err = command("translate", "two.mlir", "--split-input-file", "--json", "-o", "out.mlir")
    found = checked("translate", out)
    assert (code, found["file"], Path("out.mlir").exists(), "two.mlir:6:3" in err) == (2, None, False, True)
    assert [(each["place"], len(each["errors"])) for each in found["modules"]] == [("two.mlir:1", 0), ("two.mlir:4", 1)]
    assert [found["modules"][1]["errors"][0][key] for key in ("file", "line", "column")] == ["two.mlir", 6, 3]


def test_rows_that_differ_by_nan_and_infinity(command: Command) -> None:
    Path("r.tv").write_text("7C00 7C00 7C01 00\n7BFF 7BFF 7E00 05\n")
    code, out, err = command(
        "vectors", "check", "r.tv", "--op=arith.addf", "--type=f16", "--json", "--format=testfloat"
    )
    assert (code, err) == (1, "")
    assert checked("vectors check", out)["differing"] == 2
