"""halfulp run --shadow, run --trace --shadow and explain error: what they print and write, and what they refuse."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from command_calls import Command
from tree import ROOT

QUADRATIC = str(ROOT / "examples" / "quadratic.mlir")
SOFTMAX = str(ROOT / "examples" / "softmax.mlir")
ROOTS = ("--input=1", "--input=1000", "--input=1")
INTEGERS = "func.func @f(%x: i32, %m: memref<2xf32>) -> i32 { return %x : i32 }"


def test_run_says_how_far_results_are_and_why(command: Command) -> None:
    code, plain, _ = command("run", QUADRATIC, *ROOTS)
    assert code == 0
    code, out, err = command("run", "--shadow", QUADRATIC, *ROOTS)
    assert (code, err) == (0, "")
    assert out.startswith(plain)
    errors = out[len(plain) :].splitlines()
    # The lesser root of x^2 + 1000 x + 1 by exact arithmetic.
    assert errors[0].endswith("exactly -0.0010000010000020001")
    assert "math.sqrt" in errors[4]
    assert errors[-1].endswith("a sum lost 18 leading bits")


def test_trace_shows_the_errors_of_each_step(command: Command, write: Any) -> None:
    code, out, _ = command("run", "--trace", "--shadow", QUADRATIC, *ROOTS)
    assert code == 0
    assert "error: own 0.232 ulp, in all 0.232 ulp" in out
    assert "ops whose own errors make that of result[0]:" in out
    _, without, _ = command("run", "--trace", QUADRATIC, *ROOTS)
    assert "ulp" not in without
    write("x.mlir", INTEGERS)
    code, _, _ = command(
        "run", "--trace", "--shadow", "--html=page.html", "--npz=values", SOFTMAX, "--input=4xf16=12 11 10 9"
    )
    assert code == 0
    page = Path("page.html").read_text(encoding="utf-8")
    assert "<summary>errors</summary><svg" in page
    assert "[0] is nan, exactly 0.64391425988797235" in page
    index = json.loads(Path("values/index.json").read_text(encoding="utf-8"))
    (result,) = index["errors"]["results"]
    assert (result["value"], result["exact"], result["unknown"]) == (None, pytest.approx(0.64391425988797235), 3)
    assert [op["op"] for op in index["errors"]["ops"]].count("math.exp") == 1
    (exp,) = (step for step in index["steps"] if step["op"] == "math.exp")
    assert exp["errors"]["overflowed"] == 1
    # exp(10) is 22026.465794806718, of which f16 has 22032, with an ulp of 16: the infinity beside it hides no error.
    assert exp["errors"]["own"]["size"] == pytest.approx((22032 - 22026.465794806718) / 16)
    assert exp["errors"]["own"]["place"] == [2]


def test_the_way_back_of_an_error(command: Command) -> None:
    code, out, _ = command("explain", "error", QUADRATIC, *ROOTS)
    assert code == 0
    lines = out.splitlines()
    assert lines[0].startswith("result[0]: f32: error -60,809 ulp")
    assert [line for line in lines if line.startswith("line")][-1].startswith("line 11: %root = math.sqrt")
    code, out, _ = command("explain", "error", QUADRATIC, *ROOTS, "--result=1", "--json")
    assert code == 0
    story = json.loads(out)
    assert story["end"]["name"] == "result[1]"
    assert abs(story["end"]["ulp"]) < 0.5
    first = story["steps"][0]
    assert first["brings"] == pytest.approx(story["end"]["ulp"])
    assert first["brings"] == pytest.approx(first["own"] + sum(part for _, part in first["operands"]), abs=1e-3)


@pytest.mark.parametrize(
    ("given", "code", "message"),
    [
        ((QUADRATIC, *ROOTS, "--result=2"), 2, "the run has no float result result[2]"),
        ((QUADRATIC, *ROOTS, "--element=1"), 2, "it has no element [1]"),
        ((QUADRATIC, *ROOTS, "--element=a"), 2, "--element: 'a' is no list of integers"),
        ((SOFTMAX, "--input=4xf16=1 2 3 4", "--element=4"), 2, "it has no element [4]"),
        ((SOFTMAX, "--input=4xf16=poison 2 3 4", "--element=0"), 3, "nothing is known of the exact number"),
        (("x.mlir", "--input=1", "--input=2xf32=1 2", "--result=0"), 2, "it has argument[1]"),
        ((SOFTMAX, "--input=4xf16=1 2 3 4", "--forbid-poison"), 2, "--forbid-poison"),
        (("missing.mlir",), 2, "missing.mlir"),
    ],
)
def test_what_cannot_be_explained(
    given: tuple[str, ...], code: int, message: str, command: Command, write: Any
) -> None:
    write("x.mlir", INTEGERS)
    found, out, err = command("explain", "error", *given)
    assert (found, out) == (code, "")
    assert message in err


def test_an_argument_needs_no_explanation(command: Command, write: Any) -> None:
    write("x.mlir", INTEGERS)
    code, out, _ = command("explain", "error", "x.mlir", "--input=1", "--input=2xf32=1 2", "--result=argument[1]")
    assert code == 0
    assert "no op computed it" in out


@pytest.mark.parametrize("wider", ["f64", "f128"])
def test_a_wider_format_may_stand_for_the_reals(wider: str, command: Command) -> None:
    code, out, _ = command("run", f"--shadow-in={wider}", QUADRATIC, *ROOTS)
    assert code == 0
    assert f"error of result[0], beside {wider}: f32: error -60,809 ulp" in out
    assert f", in {wider} -0.0010000010" in out
    assert "exactly" not in out
    code, out, _ = command("run", "--trace", f"--shadow-in={wider}", QUADRATIC, *ROOTS)
    assert code == 0
    assert f"beside {wider}" in out


def test_an_element_that_was_asked_for_has_not_the_largest_error(command: Command) -> None:
    given = ("explain", "error", SOFTMAX, "--input=4xf16=1.1 2.3 5.7 -4.2")
    _, largest, _ = command(*given)
    _, chosen, _ = command(*given, "--element=0")
    assert "largest error" in largest.splitlines()[0]
    assert " at [0]" in chosen.splitlines()[0]
    assert "largest" not in chosen
