"""Error bounds: what lies within one is counted, everything else stays unexplained."""

from __future__ import annotations

import numpy as np
import pytest

from halfulp.conformance.comparing.check import ErrorBound, compare, error_bounds
from halfulp.conformance.comparing.op_case import op_case, reference
from halfulp.conformance.oracles import ORACLES
from halfulp.conformance.oracles.oracle import Answer, Status
from halfulp.fp_formats.formats import FORMATS, Codes

CASE = op_case("arith.addf", "f16")
INPUTS = (np.array([0x3C00, 0x3C00, 0x7C00, 0x8000, 0x7E01], np.uint16), np.array([0x3C00, 0, 0, 0x8000, 0], np.uint16))
RIGHT = reference(CASE, INPUTS)
"""2, 1, infinity, -0 and a NaN."""


def bound(ulps: int = 2, special: int = 0) -> ErrorBound:
    return ErrorBound("tool", ("1",), "arith.addf", "f16", ulps, special, "a test")


def known(row: ErrorBound, answer: Codes, status: list[int] | None = None) -> tuple[int, int, int]:
    """Return the elements within the bound, those with known special values, and the unexplained ones."""
    given = Answer(answer, None if status is None else np.array(status, np.uint8))
    tally = compare(CASE, INPUTS, RIGHT, (given,), [row])
    return tally.known[row.name], tally.known[row.special_name], tally.unexplained


def moved(*steps: int) -> Codes:
    codes: Codes = (RIGHT.bits[0].astype(np.int64) + np.array(steps)).astype(np.uint16)
    return codes


@pytest.mark.parametrize(
    ("steps", "found"),
    [
        ((0, 0, 0, 0, 0), (0, 0, 0)),
        ((1, -2, 0, 0, 0), (2, 0, 0)),
        ((3, -2, 0, 0, 0), (1, 0, 1)),
        ((0, 0, -1, 0, 0), (1, 0, 0)),  # the largest value instead of infinity
        ((0, 0, 1, 0, 0), (0, 0, 1)),  # a NaN instead of infinity
        ((0, 0, 0, -0x8000, 0), (0, 0, 1)),  # +0 instead of -0
    ],
)
def test_only_results_within_the_bound_are_known(steps: tuple[int, ...], found: tuple[int, int, int]) -> None:
    assert known(bound(), moved(*steps)) == found


def test_special_values_are_known_if_the_row_has_their_number() -> None:
    answer = moved(5, 0, 1, -0x8000, 0)
    assert known(bound(), answer) == (0, 0, 3)
    assert known(bound(special=1), answer) == (0, 2, 1)


def test_poison_and_traps_are_never_known() -> None:
    assert known(bound(special=9), moved(1, 0, 0, 0, 0), [Status.POISON, Status.TRAP, 0, 0, 0]) == (0, 0, 2)


def test_rows_apply_to_their_tool_version_op_and_type() -> None:
    row = bound()
    assert row.applies("tool", "1.2", CASE)
    assert not row.applies("other", "1.2", CASE)
    assert not row.applies("tool", "2.0", CASE)
    assert not row.applies("tool", "1.2", op_case("arith.subf", "f16"))
    assert not row.applies("tool", "1.2", op_case("arith.addf", "bf16"))


def test_rows_name_oracles_and_ops() -> None:
    rows = error_bounds()
    assert len({(row.tool, row.op, row.type) for row in rows}) == len(rows)
    for row in rows:
        assert row.tool in ORACLES
        assert row.type in FORMATS
        assert row.ulps >= 0
        assert row.why
