"""How closely runs know exact numbers: enclosures, and radii that grow with the condition number and no faster."""

import sys
from fractions import Fraction

import pytest
from amounts import thinned
from documents import DOCS

import halfulp as hu

sys.path.insert(0, str(DOCS))

import ball_widths  # type: ignore[import-not-found]

CASES = [(name, number) for name, (_, _, numbers) in ball_widths.FAMILIES.items() for number in numbers]


@pytest.mark.parametrize(("family", "number"), thinned(CASES, 4, rows=True))
def test_radii_and_condition_numbers(family: str, number: int) -> None:
    make, kind, _ = ball_widths.FAMILIES[family]
    problem = make(kind, number)
    known = ball_widths.run(problem)
    precision = hu.float_format(kind).precision
    assert abs(known.value + known.error - problem.exact) <= known.radius
    # The rounding errors of the ops, each of at most half an ulp, grow by no more than the condition number.
    bound = problem.ops * problem.condition * abs(problem.exact) * Fraction(1, 2**precision)
    assert abs(known.error) <= bound * 2
    # Of each error 53 bits are known.
    assert known.radius <= bound * Fraction(1, 2**53)


def test_harder_problems_are_harder() -> None:
    """The condition numbers of a family grow: else the bounds above say nothing."""
    for make, kind, numbers in ball_widths.FAMILIES.values():
        conditions = [make(kind, number).condition for number in numbers]
        assert conditions == sorted(conditions)
        assert conditions[-1] > 2**5 * conditions[0]
