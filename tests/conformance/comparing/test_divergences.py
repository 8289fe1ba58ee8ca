"""The table of known divergences: every row predicts its example, and real tools do what the row says."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
import pytest
from amounts import thinned
from present import present

from halfulp.conformance.comparing import divergences as module
from halfulp.conformance.comparing.check import compare, error_bounds
from halfulp.conformance.comparing.divergences import QUIRKS, Divergence, Example, cancellations, divergences, in_range
from halfulp.conformance.comparing.inputs import sampled_inputs
from halfulp.conformance.comparing.op_case import OpCase, Reference, op_case, reference
from halfulp.conformance.comparing.refinement import Verdict, code_at, verdicts
from halfulp.conformance.oracles import ORACLES, TAKES_ARGUMENT, oracle
from halfulp.conformance.oracles.oracle import Answer, Status, Unavailable, unanswered
from halfulp.fp_formats.formats import Codes, Mask, codes_to_ints, ints_to_codes
from halfulp.interp.ir.types import element_width

ROWS = divergences()


def example_of(row: Divergence) -> tuple[OpCase, tuple[Codes, ...]]:
    example = row.example
    types = example.types[0] if len(example.types) == 1 else list(example.types)
    asked = op_case(example.op, types, example.to, **dict(example.properties))
    inputs = tuple(
        ints_to_codes([code], width, (1,)) for code, width in zip(example.operands, asked.operand_widths, strict=True)
    )
    return asked, inputs


def result_width(asked: OpCase) -> int:
    """Return the bits of a code of the result."""
    return present(element_width(asked.result_types[0]))


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_a_row_predicts_its_example(row: Divergence) -> None:
    asked, inputs = example_of(row)
    width = result_width(asked)
    right = reference(asked, inputs)
    assert code_at(right.bits[0], width, (0,)) == row.example.expected
    predicted, answer, wrong = predicted_answer(row, asked, inputs, right)
    poisoned = predicted.poison is not None and bool(predicted.poison.all())
    assert (None if poisoned else code_at(predicted.bits[0], width, (0,))) == row.example.actual
    # The difference is one that refinement does not allow: else the row would excuse nothing.
    assert answer.status is not None
    assert wrong.tolist() == [True]
    assert row.tools or row.passes
    for tool in row.tools:
        assert tool in ORACLES
        assert row.applies(tool, row.versions.removeprefix(">=").partition(",")[0], asked)
        assert not row.applies(tool, "0.0", asked)


def predicted_answer(
    row: Divergence, asked: OpCase, inputs: Sequence[Codes], right: Reference
) -> tuple[Reference, Answer, Mask]:
    """Return the answer of a tool that does what the row says, and a mask of where it is wrong."""
    predicted = row.predict(asked, inputs, right)
    status = np.zeros(asked.shape(inputs), np.uint8)
    for mask, kind in ((predicted.trap, Status.TRAP), (predicted.poison, Status.POISON)):
        if mask is not None:
            status[mask] = kind
    answer = Answer(predicted.bits[0], status)
    return predicted, answer, verdicts(asked.result_types[0], right, 0, answer) == Verdict.MISMATCH


def example_and_samples(row: Divergence, count: int = 300) -> tuple[OpCase, tuple[Codes, ...]]:
    asked, inputs = example_of(row)
    samples = sampled_inputs(asked, count)
    return asked, tuple(np.concatenate(columns) for columns in zip(inputs, samples, strict=True))


@pytest.mark.parametrize("row", thinned(ROWS, 4), ids=lambda row: row.name)
def test_only_the_predicted_bits_are_known(row: Divergence) -> None:
    asked, inputs = example_and_samples(row)
    right = reference(asked, inputs)
    predicted, answer, wrong = predicted_answer(row, asked, inputs, right)
    tally = compare(asked, inputs, right, (answer,), [row])
    assert tally.known[row.name] == wrong.sum() > 0
    any_bits = predicted.undetermined
    width = result_width(asked)
    for bit in {0, width // 2, width - 1}:
        mask = ints_to_codes([1 << bit], width, (1,))
        flipped = Answer(answer.bits ^ mask, answer.status)
        without_bits = wrong & (answer.status != Status.VALUE)
        if any_bits is not None:
            still = verdicts(asked.result_types[0], right, 0, flipped) == Verdict.MISMATCH
            without_bits |= any_bits & still & (flipped.status == Status.VALUE)
        assert compare(asked, inputs, right, (flipped,), [row]).known[row.name] == without_bits.sum()
    assert answer.status is not None
    for status in Status:
        given = Answer(answer.bits, np.full_like(answer.status, status))
        expected = int((wrong & (answer.status == status)).sum())
        assert compare(asked, inputs, right, (given,), [row]).known[row.name] == expected, status


@pytest.mark.parametrize("row", [row for row in ROWS if row.tools], ids=lambda row: row.name)
def test_no_row_of_a_tool_knows_by_poison(row: Divergence) -> None:
    asked, inputs = example_and_samples(row)
    right = reference(asked, inputs)
    predicted = row.predict(asked, inputs, right)
    for mask, allowed in ((predicted.poison, right.poison), (predicted.undefined, right.undefined)):
        assert mask is None or not (mask if allowed is None else mask & ~allowed).any()


def test_any_bits_are_known_where_a_tool_does_not_determine_them() -> None:
    row = next(row for row in ROWS if row.formula == "divided_by_zero")
    asked = op_case("arith.divf", "f4E2M1FN")
    # 2/0, 2/-0, 0/0, 2/1: only the first two are infinite, and each is wrong except for the largest number.
    inputs = (np.array([4, 4, 0, 4], np.uint8), np.array([0, 8, 0, 2], np.uint8))
    right = reference(asked, inputs)
    for code in range(16):
        tally = compare(asked, inputs, right, (Answer(np.full(4, code, np.uint8)),), [row])
        assert tally.known[row.name] == 2 - (code in (7, 15))
        assert (tally.unexplained, tally.reformed.total()) == (int(code != 4), 0)
    poison = Answer(np.full(4, 4, np.uint8), np.full(4, Status.POISON, np.uint8))
    assert not compare(asked, inputs, right, (poison,), [row]).known


def test_a_trap_is_known_only_where_it_is_one() -> None:
    row = next(row for row in ROWS if row.formula == "trapped_remainder")
    asked, inputs = example_of(row)
    right = reference(asked, inputs)
    wrong = Answer(np.array([12345], np.uint32))
    tally = compare(asked, inputs, right, (wrong,), [row])
    assert (tally.known.total(), tally.unexplained) == (0, 1)
    trap = Answer(wrong.bits, np.array([Status.TRAP], np.uint8))
    assert compare(asked, inputs, right, (trap,), [row]).known[row.name] == 1
    assert compare(asked, inputs, right, (Answer(right.bits[0]),), [row]).reformed[row.name] == 1


@pytest.mark.parametrize("shown", ["f80", "f16"])
def test_one_of_two_zeros_in_any_width(shown: str) -> None:
    asked = op_case("arith.maximumf", shown)
    width = result_width(asked)
    zeros, sign = [0, 1 << (width - 1), 0], 1 << (width - 1)
    inputs = (ints_to_codes(zeros, width, (3,)), ints_to_codes([sign, 0, 1], width, (3,)))
    predicted = QUIRKS["second_of_zeros"](asked, inputs, reference(asked, inputs))
    assert codes_to_ints(predicted.bits[0], width) == [sign, 0, 1]


def test_nothing_is_predicted_where_nothing_was_answered() -> None:
    asked = op_case("arith.addi", "i8")
    inputs = (np.arange(4, dtype=np.uint8),) * 2

    class Untouchable(Divergence):
        def predict(self, *_: object) -> NoReturn:
            pytest.fail("predicted for nothing")

    example = Example("arith.addi", ("i8",), (0, 0), 0, 1)
    row = Untouchable("untouchable", ("apfloat",), ">=22", ("*",), "why", example, profile="spec")
    tally = compare(asked, inputs, reference(asked, inputs), unanswered(asked, inputs, "no"), [row])
    assert (tally.unanswered, tally.compared) == (4, 0)


@pytest.mark.mlir
@pytest.mark.parametrize(
    ("tool", "row"), [(tool, row) for row in ROWS for tool in row.tools], ids=lambda x: getattr(x, "name", x)
)
def test_the_tool_does_what_the_row_says(tool: str, row: Divergence) -> None:
    try:
        asked_of = oracle(tool)
    except Unavailable as reason:
        pytest.skip(f"{tool}: {reason}")
    asked, inputs = example_of(row)
    assert asked_of.refuses(asked) is None
    # An element that does no harm goes first: a tool that never comes through has crashed, not trapped.
    harmless = [ints_to_codes([1], width, (1,)) for width in asked.operand_widths]
    together = [np.concatenate(columns) for columns in zip(harmless, inputs, strict=True)]
    answers = [
        Answer(answer.bits[1:], None if answer.status is None else answer.status[1:])
        for answer in asked_of.evaluate(asked, together)
    ]
    tally = compare(asked, inputs, reference(asked, inputs), answers, [row])
    assert tally.known[row.name] == 1, (tally, answers)


def test_names_are_unique() -> None:
    assert len({row.name for row in ROWS}) == len(ROWS)
    assert {tool for row in ROWS for tool in row.tools} <= set(ORACLES) - TAKES_ARGUMENT


def test_a_row_needs_exactly_one_prediction() -> None:
    example = Example("arith.addf", ("f32",), (0, 0), 0, 1)
    wrong: tuple[dict[str, Any], ...] = ({}, {"profile": "spec", "formula": "negated_f80"}, {"formula": "no such"})
    for fields in wrong:
        with pytest.raises(ValueError, match="divergence x"):
            Divergence("x", ("apfloat",), ">=22", ("*",), "why", example, **fields)


@pytest.mark.parametrize(
    ("version", "inside"),
    [
        ("21.1.8", False),
        ("22", True),
        ("22.1.8", True),
        ("23.1.4", True),
        ("24.0.0git", False),
        ("220", False),
        ("", False),
    ],
)
def test_versions_in_a_range(version: str, inside: bool) -> None:
    assert in_range(version, ">=22,<24") is inside


def test_an_open_range_contains_all_newer_versions() -> None:
    assert in_range("99.1.0git", ">=22")
    assert in_range("0.10.1", ">=0.5")
    assert not in_range("0.4.9", ">=0.5")
    assert in_range("22.1", "<22.1.1")
    assert not in_range("22.1.1", "<22.1.1")
    assert in_range("22", ">=22.0.0")
    for wrong in ("22", ">=22 ,<23", ">22", "", ">=22,", ">=x"):
        with pytest.raises(ValueError, match="a range of versions is written as"):
            in_range("22.1.8", wrong)


def test_each_row_has_a_range_from_a_version_on() -> None:
    for table in (ROWS, cancellations(), error_bounds()):
        for versions in [row.versions for row in table]:
            assert versions.startswith(">=")
            assert in_range(versions[2:].partition(",")[0], versions)


def test_pinning_changes_counts_and_nothing_else(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before, copy = module.FILE.read_text(encoding="utf-8"), tmp_path / "divergences.toml"
    copy.write_text(before, encoding="utf-8")
    monkeypatch.setattr(module, "FILE", copy)
    module.pin("sampled", {"mlir-fold": {}})
    zeros = re.sub(r'^(sampled = .*"mlir-fold" = )\d+', r"\g<1>0", before, flags=re.MULTILINE)
    assert copy.read_text(encoding="utf-8") == zeros != before
    sampled = {row.name: row.sampled["mlir-fold"] for row in ROWS if "mlir-fold" in row.sampled}
    module.pin("sampled", {"mlir-fold": sampled})
    assert copy.read_text(encoding="utf-8") == before


def test_a_row_that_no_longer_reproduces_is_noticed() -> None:
    row = next(row for row in ROWS if row.name == "x / 0 in f4 and f6 is zero")
    asked, inputs = example_of(row)
    right = reference(asked, inputs)
    tally = compare(asked, inputs, right, (Answer(right.bits[0]),), [row])
    assert (tally.known.total(), tally.reformed[row.name], tally.equal) == (0, 1, 1)
