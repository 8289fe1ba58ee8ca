"""Refinement, verdict by verdict, on cases written out by hand."""

import json
from collections import Counter
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from present import present

import halfulp as hu
from halfulp.conformance.comparing.check import Tally, check, compare
from halfulp.conformance.comparing.op_case import OpCase, Reference, op_case, reference
from halfulp.conformance.comparing.refinement import (
    Mismatch,
    Truth,
    Verdict,
    truth_of_op,
    ulp_distance,
    verdicts,
    worst,
)
from halfulp.conformance.oracles.oracle import Answer, OracleError, Status
from halfulp.fp_formats import scalar
from halfulp.fp_formats.formats import FORMATS, Codes, Mask
from halfulp.interp.values.coerce import as_type
from halfulp.semantics.kernel import Open

F16 = as_type("f16")
NAN, SIGN, VALUE = Open.NAN.value, Open.SIGN.value, Open.VALUE.value
QNAN, SNAN, INF, ZERO, MINUS_ZERO, ONE = 0x7E00, 0xFC01, 0x7C00, 0x0000, 0x8000, 0x3C00


def codes(*values: int) -> Codes:
    return np.array(values, np.uint16)


def mask(*values: bool) -> Mask:
    return np.array(values, np.bool_)


@pytest.mark.parametrize(
    ("expected", "opened", "actual", "verdict"),
    [
        (ONE, 0, ONE, Verdict.EQUAL),
        (ONE, 0, ONE + 1, Verdict.MISMATCH),
        (QNAN, 0, SNAN, Verdict.MISMATCH),
        (QNAN, NAN, SNAN, Verdict.OPEN),
        (QNAN, NAN, QNAN, Verdict.EQUAL),
        (QNAN, NAN, INF, Verdict.MISMATCH),
        (ONE, NAN, SNAN, Verdict.MISMATCH),  # open to any NaN, but it is none
        (ZERO, SIGN, MINUS_ZERO, Verdict.OPEN),
        (ZERO, 0, MINUS_ZERO, Verdict.MISMATCH),
        (ZERO, SIGN, ONE, Verdict.MISMATCH),
        (INF, SIGN, INF | 0x8000, Verdict.OPEN),
        (INF, 0, INF | 0x8000, Verdict.MISMATCH),
        (ONE, SIGN, ONE | 0x8000, Verdict.MISMATCH),
        (ONE, VALUE, ONE + 3, Verdict.APART),
        (ONE, VALUE, ONE, Verdict.EQUAL),
    ],
)
def test_open_results(expected: int, opened: int, actual: int, verdict: Verdict) -> None:
    right = Reference((codes(expected),), open=np.array([opened], np.uint8))
    assert verdicts(F16, right, 0, Answer(codes(actual))).tolist() == [verdict]


@pytest.mark.parametrize(
    ("poison", "undefined", "status", "verdict"),
    [
        (False, False, Status.VALUE, Verdict.EQUAL),
        (False, False, Status.POISON, Verdict.MISMATCH),
        (False, False, Status.TRAP, Verdict.MISMATCH),
        (False, False, Status.UNANSWERED, Verdict.UNANSWERED),
        (True, False, Status.VALUE, Verdict.OPEN),
        (True, False, Status.POISON, Verdict.OPEN),
        (True, False, Status.TRAP, Verdict.MISMATCH),
        (True, False, Status.UNANSWERED, Verdict.UNANSWERED),
        (False, True, Status.VALUE, Verdict.OPEN),
        (False, True, Status.POISON, Verdict.OPEN),
        (False, True, Status.TRAP, Verdict.OPEN),
        (False, True, Status.UNANSWERED, Verdict.UNANSWERED),
    ],
)
def test_poison_and_traps(poison: bool, undefined: bool, status: Status, verdict: Verdict) -> None:
    right = Reference((codes(ONE),), mask(poison), mask(undefined))
    answer = Answer(codes(ONE), np.array([status], np.uint8))
    assert verdicts(F16, right, 0, answer).tolist() == [verdict]


def test_wide_elements_are_compared_whole() -> None:
    wide = as_type("i128")
    one = np.array([[1, 2], [1, 2]], np.uint64)
    other = np.array([[1, 2], [1, 3]], np.uint64)
    assert verdicts(wide, Reference((one,)), 0, Answer(other)).tolist() == [Verdict.EQUAL, Verdict.MISMATCH]


@pytest.mark.parametrize(
    ("type_", "one", "other", "ulps"),
    [
        ("f16", 0x3C00, 0x3C02, 2),
        ("f16", 0x0001, 0x8001, 2),  # the smallest subnormals of both signs: 0 lies between
        ("f16", 0x0000, 0x8000, 0),
        ("f16", 0x7BFF, 0x7C00, 1),
        ("f16", 0x7E00, 0x3C00, None),
        ("f8E4M3FNUZ", 0x80, 0x00, None),
        ("f8E8M0FNU", 0x00, 0xFE, 254),
        ("f80", (0x3FFE << 64) | 0xFFFFFFFFFFFFFFFF, (0x3FFF << 64) | 1 << 63, 1),
        ("i8", 0x01, 0xFF, 2),
        ("i8", 0x7F, 0x80, 1),
        ("i128", 0, 5, 5),
    ],
)
def test_distances(type_: str, one: int, other: int, ulps: int | None) -> None:
    assert ulp_distance(as_type(type_), one, other) == ulps
    assert ulp_distance(as_type(type_), other, one) == ulps


def test_the_worst_mismatch() -> None:
    def found(ulps: int | None) -> Mismatch:
        return Mismatch((0,), 0, (), 0, 0, Status.VALUE, ulps)

    assert worst([found(1), found(7), found(3)]) == found(7)
    assert worst([found(9), found(None)]) == found(None)
    assert worst([]) is None


class Fake:
    """An oracle that gives prepared answers, or raises one."""

    name = "fake"
    profile = "spec"
    version = "1"

    def __init__(self, *answers: Any) -> None:
        self.answers = answers

    def refuses(self, case: OpCase) -> str | None:
        return None

    def evaluate(self, case: OpCase, inputs: Sequence[Codes]) -> tuple[Answer, ...]:
        for answer in self.answers:
            if isinstance(answer, Exception):
                raise answer
        return self.answers


def test_a_tally_counts_each_element_once() -> None:
    asked = op_case("arith.divsi", "i8")
    inputs = (np.array([7, 7, 8, 9, 0x80], np.uint8), np.array([2, 0, 2, 3, 0xFF], np.uint8))
    answer = Answer(np.array([3, 7, 5, 0, 0], np.uint8), np.array([0, 0, 0, 3, 2], np.uint8), "not asked")
    tally = check(Fake(answer), asked, inputs)
    assert (tally.equal, tally.open, tally.unexplained, tally.unanswered, tally.undefined) == (1, 2, 1, 1, 1)
    assert tally.compared == 4
    assert tally.refusals == {"not asked": 1}
    ((_, mismatch),) = tally.mismatches
    assert (mismatch.operands, mismatch.expected, mismatch.actual, mismatch.ulps) == ((8, 2), 4, 5, 1)


@pytest.mark.parametrize("kind", ["crash", "hang", "garbage"])
def test_a_failing_oracle_never_agrees(kind: str) -> None:
    asked = op_case("arith.addi", "i8")
    tally = check(Fake(OracleError(kind, "as told")), asked, (codes(1).astype(np.uint8),) * 2)
    assert (tally.compared, tally.unanswered, tally.clean) == (0, 1, False)
    assert kind in tally.failures[0]


EIGHT = np.arange(8, dtype=np.uint8)
NO_ANSWERS = {
    "no answers": (),
    "two answers": (Answer(EIGHT), Answer(EIGHT)),
    "one code for all": (Answer(EIGHT[:1]),),
    "a code without an axis": (Answer(np.array(0, np.uint8)),),
    "too many": (Answer(np.zeros(9, np.uint8)),),
    "another dtype": (Answer(EIGHT.astype(np.uint16)),),
    "signed codes": (Answer(EIGHT.astype(np.int8)),),
    "codes too wide": (Answer(EIGHT + np.uint8(128)),),
    "one status for all": (Answer(EIGHT, np.zeros(1, np.uint8)),),
    "statuses of another dtype": (Answer(EIGHT, np.zeros(8, np.int64)),),
    "a status that is none": (Answer(EIGHT, np.full(8, 4, np.uint8)),),
}


@pytest.mark.parametrize("name", NO_ANSWERS)
def test_what_is_no_answer_is_a_failure(name: str) -> None:
    asked = op_case("arith.addi", "i7")
    tally = check(Fake(*NO_ANSWERS[name]), asked, (EIGHT, np.zeros(8, np.uint8)))
    assert (tally.compared, tally.unanswered, len(tally.failures)) == (0, 8, 1)
    assert "garbage" in tally.failures[0]


def test_wide_answers_have_their_limbs() -> None:
    asked = op_case("arith.addi", "i100")
    right = np.ones((3, 2), np.uint64)
    inputs = (right, np.zeros((3, 2), np.uint64))
    assert check(Fake(Answer(right)), asked, inputs).equal == 3
    assert check(Fake(Answer(right[:, :1])), asked, inputs).failures
    assert check(Fake(Answer(right << np.uint64(36))), asked, inputs).failures


def test_what_was_answered_is_known_by_element() -> None:
    asked = op_case("arith.addi", "i7")
    status = np.array([0, 3, 3, 0, 1, 2, 0, 3], np.uint8)
    tally = check(Fake(Answer(EIGHT, status)), asked, (EIGHT, np.zeros(8, np.uint8)))
    assert tally.answered is not None
    assert tally.answered.tolist() == [True, False, False, True, True, True, True, False]


def test_shown_mismatches_hold_the_first_and_the_worst() -> None:
    asked = op_case("arith.addi", "i16")
    inputs = (np.arange(50, dtype=np.uint16), np.zeros(50, np.uint16))
    wrong = inputs[0] + np.uint16(1)
    wrong[30] = 1000
    shown = [found for _, found in compare(asked, inputs, reference(asked, inputs), (Answer(wrong),)).mismatches]
    assert [found.element for found in shown] == [(0,), (1,), (2,), (3,), (30,)]
    assert shown[-1].ulps == 970


def test_tallies_add_up() -> None:
    one = Tally(equal=1, known=Counter(a=2))
    one.add(Tally(equal=2, unexplained=3, failures=["x"]))
    assert (one.equal, one.unexplained, one.failures, one.known["a"], one.compared) == (3, 3, ["x"], 2, 8)


# --- exact reference --------------------------------------------------------------------------------------------------
#
# Which of two results is nearer to the truth: against fractions, in every place that says it.

EXACT_REFERENCE_F16 = FORMATS["f16"]
FINITE = st.integers(0, 0xFFFF).filter(lambda code: scalar.value(EXACT_REFERENCE_F16, code) is not None)


def truth(op: str, types: str, operands: tuple[int, ...], expected: int, got: int | None) -> Truth | None:
    return truth_of_op(op_case(op, types), Mismatch((), 0, operands, expected, got, Status.VALUE, None))


@given(FINITE, FINITE, FINITE, FINITE)
def test_distances_are_those_of_fractions(a: int, b: int, expected: int, got: int) -> None:
    x, y, one, other = (scalar.value(EXACT_REFERENCE_F16, code) for code in (a, b, expected, got))
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
    poison = present(truth("math.exp", "f16", (0x4980,), 0x7C00, None))
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
    guilty = present(found.results[2].truth)
    assert (guilty.exact, guilty.nearer) == (exact, "expected")
    assert (guilty.expected, guilty.got) == (pytest.approx(before), pytest.approx(after))
    assert f"from the exact result {before:.3g} ulp before, {after:.3g} ulp after" in str(found)
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
