"""``halfulp verify --ulp`` as its users see it."""

from __future__ import annotations

import json
import math
from importlib.resources import files
from pathlib import Path

import jsonschema
import ml_dtypes
import numpy as np
import pytest
from command import halfulp

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


def test_json() -> None:
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
@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (("exp", "--type", "f32"), 2, "--against"),
        (("exq", "--type", "f32", "--against", "numpy"), 3, "no op named 'exq'"),
        (("exp", "--type", "f33", "--against", "numpy"), 2, "f33"),
        (("exp", "--type", "f32", "--against", "numpy", "--range", "1"), 2, "write LOW:HIGH"),
        (("exp", "--type", "f32", "--against", "numpy", "--max-ulp=-1"), 2, "is not a number of ulp"),
        (("exp", "--type", "f32", "--against", "numpy", "--rounding=sideways"), 2, "--rounding"),
        (("exp", "--type", "bf16", "--against", "numpy"), 3, "numpy has no bf16"),
        (("exp", "--type", "f32", "--against", "./no.so:f"), 3, "no.so does not exist"),
    ],
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
