"""The table of known divergences: every row predicts what its example says, and real tools do what it says."""

from __future__ import annotations

import numpy as np
import pytest

from halfulp.conformance.check import code_at, compare
from halfulp.conformance.compare import Verdict, verdicts
from halfulp.conformance.divergences import Divergence, Example, divergences
from halfulp.conformance.oracles import ORACLES, TAKES_ARGUMENT, oracle
from halfulp.conformance.oracles.oracle import Answer, Status, Unavailable
from halfulp.conformance.task import reference, task
from halfulp.interp.values import element_width
from halfulp.semantics.codes import ints_to_codes

ROWS = divergences()


def example_of(row):
    example = row.example
    types = example.types[0] if len(example.types) == 1 else list(example.types)
    asked = task(example.op, types, example.to, **dict(example.properties))
    inputs = tuple(
        ints_to_codes([code], width, (1,)) for code, width in zip(example.operands, asked.operand_widths, strict=True)
    )
    return asked, inputs


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_a_row_predicts_its_example(row):
    asked, inputs = example_of(row)
    width = element_width(asked.result_types[0])
    right = reference(asked, inputs)
    assert code_at(right.bits[0], width, (0,)) == row.example.expected
    predicted = row.predict(asked, inputs, right)
    if predicted.poison is None:
        assert code_at(predicted.bits[0], width, (0,)) == row.example.actual
    # The difference is one that refinement does not allow: else the row would excuse nothing.
    traps = predicted.undefined is not None and predicted.undefined.any()
    status = Status.TRAP if traps else Status.VALUE if predicted.poison is None else Status.POISON
    spoiled = np.array([status], np.uint8)
    answer = Answer(ints_to_codes([row.example.actual], width, (1,)), spoiled)
    assert verdicts(asked.result_types[0], right, 0, answer).tolist() == [Verdict.MISMATCH]
    for tool in row.tools:
        assert tool in ORACLES
        assert row.applies(tool, row.versions[0], asked)
        assert not row.applies(tool, "0.0", asked)


@pytest.mark.mlir
@pytest.mark.parametrize(
    ("tool", "row"), [(tool, row) for row in ROWS for tool in row.tools], ids=lambda x: getattr(x, "name", x)
)
def test_the_tool_does_what_the_row_says(tool, row):
    try:
        asked_of = oracle(tool)
    except Unavailable as reason:
        pytest.skip(f"{tool}: {reason}")
    asked, inputs = example_of(row)
    assert asked_of.refuses(asked) is None
    answers = asked_of.evaluate(asked, inputs)
    tally = compare(asked, inputs, reference(asked, inputs), answers, [row])
    assert tally.known[row.name] == 1, (tally, answers)


def test_names_are_unique():
    assert len({row.name for row in ROWS}) == len(ROWS)
    assert {tool for row in ROWS for tool in row.tools} <= set(ORACLES) - TAKES_ARGUMENT


def test_a_row_needs_exactly_one_prediction():
    example = Example("arith.addf", ("f32",), (0, 0), 0, 1)
    for fields in ({}, {"profile": "spec", "formula": "negated_f80"}, {"formula": "no such"}):
        with pytest.raises(ValueError, match="divergence x"):
            Divergence("x", ("apfloat",), ("22",), ("*",), "why", example, **fields)


def test_a_row_that_no_longer_reproduces_is_noticed():
    row = next(row for row in ROWS if row.name == "x / 0 in f4 and f6 is zero")
    asked, inputs = example_of(row)
    right = reference(asked, inputs)
    tally = compare(asked, inputs, right, (Answer(right.bits[0]),), [row])
    assert (tally.known.total(), tally.reformed[row.name], tally.equal) == (0, 1, 1)
