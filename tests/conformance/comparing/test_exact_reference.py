"""Which of two results is nearer to the truth: against fractions, in every place that says it."""

from __future__ import annotations

import json
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import halfulp as hu
from halfulp.conformance.comparing.op_case import op_case
from halfulp.conformance.comparing.refinement import Mismatch, Truth, truth_of_op
from halfulp.conformance.oracles.oracle import Status
from halfulp.fp_formats import scalar
from halfulp.fp_formats.formats import FORMATS

F16 = FORMATS["f16"]
FINITE = st.integers(0, 0xFFFF).filter(lambda code: scalar.value(F16, code) is not None)


def truth(op: str, types: str, operands: tuple[int, ...], expected: int, got: int | None) -> Truth | None:
    return truth_of_op(op_case(op, types), Mismatch((), 0, operands, expected, got, Status.VALUE, None))


@given(FINITE, FINITE, FINITE, FINITE)
def test_distances_are_those_of_fractions(a: int, b: int, expected: int, got: int) -> None:
    x, y, one, other = (scalar.value(F16, code) for code in (a, b, expected, got))
    assert x is not None and y is not None and one is not None and other is not None  # noqa: PT018
    found = truth("arith.addf", "f16", (a, b), expected, got)
    exact = x + y
    away = abs(one - exact), abs(other - exact)
    if away == (0, 0):
        assert found is None
        return
    assert found is not None
    assert found.exact == float(exact)
    exponent = max(int(np.floor(np.log2(abs(float(exact))))), -14) if exact else -14
    ulp = Fraction(2) ** (exponent - 10)
    assert (found.expected, found.got) == tuple(float(each / ulp) for each in away)
    assert found.nearer == ("" if away[0] == away[1] else "expected" if away[0] < away[1] else "got")


def test_what_has_no_exact_number() -> None:
    one = 0x3C00
    assert truth("arith.divf", "f16", (one, 0), 0x7C00, one) is None
    assert truth("arith.addf", "f16", (0x7E00, one), 0x7E00, one) is None
    assert truth("arith.addi", "i16", (1, 1), 2, 3) is None
    assert truth("arith.addf", "f16", (0x8000, 0x8000), 0x8000, 0) is None


def test_a_result_that_is_no_finite_number_is_the_farther_one() -> None:
    found = truth("math.exp", "f16", (0x4980,), 0x78D2, 0x7C00)  # exp(11) is 59874.1417151978...
    assert found is not None
    assert found.exact == pytest.approx(59874.14171519782)
    assert found.nearer == "expected"
    assert found.text("ours", "theirs").endswith("theirs no finite number; ours is nearer")
    poison = truth("math.exp", "f16", (0x4980,), 0x7C00, None)
    assert poison is not None
    assert poison.nearer == ""


BEFORE = """func.func @f(%x: f32, %m: memref<2xf32>) -> f32 {
  %c1 = arith.constant 1 : index
  %tenth = arith.constant 0.1 : f32
  %0 = arith.divf %x, %tenth : f32
  memref.store %0, %m[%c1] : memref<2xf32>
  return %0 : f32
}"""
AFTER = BEFORE.replace("arith.constant 0.1", "arith.constant 10.0").replace("divf", "mulf")


def quotient() -> tuple[float, float, float]:
    """Return 1.3 by 0.1 in reals, and how many ulps 12.999999 and 13 are away: both numbers are those of f32."""
    x, tenth = (Fraction(float(np.float32(each))) for each in (1.3, 0.1))
    exact, ulp = x / tenth, Fraction(1, 2**20)
    below = Fraction(float(np.nextafter(np.float32(13), np.float32(0))))
    return float(exact), float((exact - below) / ulp), float((13 - exact) / ulp)


def test_bisect_says_how_far_each_stage_is() -> None:
    exact, before, after = quotient()
    found = hu.bisect(BEFORE, 1.3, np.zeros(2, np.float32), stages=[BEFORE.replace("%0", "%quotient"), AFTER])
    assert [one.truth is None for one in found.results] == [True, True, False]
    guilty = found.results[2].truth
    assert guilty is not None
    assert (guilty.exact, guilty.nearer) == (exact, "expected")
    assert (guilty.expected, guilty.got) == (pytest.approx(before), pytest.approx(after))
    assert f"from the truth {before:.3g} ulp before, {after:.3g} ulp after" in str(found)
    assert str(found).splitlines()[-1].startswith("first difference: after stage 2")


def test_diff_says_which_version_is_nearer(tmp_path: Any, capsys: pytest.CaptureFixture[str]) -> None:
    from halfulp.command.main import main

    exact, before, after = quotient()
    names = [str(tmp_path / name) for name in ("a.mlir", "b.mlir")]
    for name, text in zip(names, (BEFORE, AFTER), strict=True):
        with open(name, "w", encoding="utf-8") as file:
            file.write(text)
    given_ = ["--input=f32=1.3", "--input=2xf32=0 0"]
    assert main(["diff", *names, *given_]) == 1
    said = f"  exactly {exact:.17g}; from the exact number: before {before:.3g} ulp, after {after:.3g} ulp; before is nearer"
    assert said in capsys.readouterr().out
    assert main(["diff", *names, *given_, "--json"]) == 1
    (example,) = json.loads(capsys.readouterr().out)["counterexamples"]
    assert example["truth"]["exact"] == exact
    assert example["truth"]["nearer"] == "expected"
