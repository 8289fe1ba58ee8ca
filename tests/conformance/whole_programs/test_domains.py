"""The codes of which arguments are made, with and without assumptions."""

from __future__ import annotations

import random
from fractions import Fraction

import pytest

import halfulp as hu
from halfulp.conformance.whole_programs.domains import (
    ODD_TRIPS,
    TRIPS,
    assumptions_of,
    between,
    every_code,
    parse_assumption,
    trip_counts,
)
from halfulp.fp_formats import scalar
from halfulp.fp_formats.formats import FORMATS
from halfulp.interp.ir import types as ty
from halfulp.interp.values.coerce import as_type


def codes(type_: str, text: str) -> list[int]:
    """Return all codes of an assumption."""
    domain = between(as_type(type_), parse_assumption(f"%0 in {text}"))
    assert domain.size is not None
    found = [domain.code(number) for number in range(domain.size)]
    assert set(domain.corners) | set(domain.usual) <= set(found)
    rng = random.Random(1)
    assert {domain.draw(rng) for _ in range(100)} <= set(found)
    return found


@pytest.mark.parametrize(
    ("type_", "text", "found"),
    [
        ("i8", "[0, 3]", [0, 1, 2, 3]),
        ("i8", "[-2, 1]", [0xFE, 0xFF, 0, 1]),
        ("i8", "[126, 129]", [126, 127, 128, 129]),  # a signless type has unsigned numbers too
        ("si8", "[126, 129]", [126, 127]),
        ("ui8", "[-3, 1]", [0, 1]),
        ("i1", "[1, 1]", [1]),
        ("i8", "[0.5, 2.5]", [1, 2]),
        ("index", "[-1, 0]", [(1 << 64) - 1, 0]),
        ("i128", "[-1, 0]", [(1 << 128) - 1, 0]),
    ],
)
def test_integers_of_a_range(type_: str, text: str, found: list[int]) -> None:
    assert codes(type_, text) == found


def test_a_range_of_all_integers_has_each_code_once() -> None:
    assert sorted(codes("i8", "[-128, 255]")) == list(range(256))


@pytest.mark.parametrize("name", [name for name, fmt in FORMATS.items() if fmt.bits <= 8])
@pytest.mark.parametrize(
    ("low", "high"), [("-1.5", "2"), ("0", "3"), ("0.3", "0.7"), ("-100", "-0.1"), ("-1e9", "1e9")]
)
def test_floats_of_a_range_are_all_finite_codes_in_it(name: str, low: str, high: str) -> None:
    fmt = FORMATS[name]
    bounds = Fraction(low), Fraction(high)
    expected = []
    for code in range(fmt.code_mask + 1):
        value = scalar.value(fmt, code)
        negative_zero = fmt.is_zero(code) and code != 0
        if value is not None and bounds[0] <= value <= bounds[1] and not (negative_zero and bounds[0] == 0):
            expected.append(code)
    if not expected:
        with pytest.raises(hu.errors.InputError, match="no value of type"):
            codes(name, f"[{low}, {high}]")
        return
    found = codes(name, f"[{low}, {high}]")
    assert sorted(found) == expected
    values = [scalar.value(fmt, code) or Fraction(0) for code in found]
    assert values == sorted(values)


@pytest.mark.parametrize("name", ["f16", "f32", "f64", "f80", "f128"])
def test_wide_floats_of_a_range_begin_and_end_inside(name: str) -> None:
    fmt = FORMATS[name]
    domain = between(ty.FloatType(fmt), parse_assumption("%x in [-0.1, 3]"))
    assert domain.size is not None
    ends = [scalar.value(fmt, domain.code(number)) for number in (0, domain.size - 1)]
    assert ends[1] == 3
    assert ends[0] is not None
    assert Fraction(-1, 10) <= ends[0] < Fraction(-99, 1000)
    rng = random.Random(2)
    for _ in range(200):
        value = scalar.value(fmt, domain.draw(rng))
        assert value is not None
        assert Fraction(-1, 10) <= value <= 3


@pytest.mark.parametrize("text", ["", "%0", "%0 in", "%0 in [1]", "%0 in [1, x]", "%0 in [nan, 1]", "%0 in [2, 1]"])
def test_texts_that_are_no_assumption(text: str) -> None:
    with pytest.raises(hu.errors.InputError, match="is not an assumption"):
        parse_assumption(text)


def test_assumptions_are_spelled_as_they_are_read() -> None:
    for text in ("%0 in [0, 10]", "%a.b in [-1.5, 2]", "%arg0 in [-3, -3]"):
        assert str(parse_assumption(text)) == text
    assert parse_assumption("x in [0,1]") == parse_assumption(" %x  in [ 0 , 1.0 ] ")


def test_the_attribute_is_a_list_of_strings() -> None:
    text = "func.func @f(%a: i8) attributes {{halfulp.assume = {0}}} {{ return }}"

    def found(attribute: str) -> list[str]:
        return list(map(str, assumptions_of(hu.parse(text.format(attribute)).body[0])))

    assert found('["%a in [0, 1]", "%0 in [2, 3]"]') == ["%a in [0, 1]", "%0 in [2, 3]"]
    assert found('"%a in [0, 1]"') == ["%a in [0, 1]"]
    with pytest.raises(hu.errors.InputError, match=r"the attribute halfulp.assume is \[1\]"):
        found("[1]")


def test_trips_are_few_except_of_narrow_types() -> None:
    rng = random.Random(3)
    domain = trip_counts(ty.INDEX)
    assert domain.size is None
    drawn = {domain.draw(rng) for _ in range(2000)}
    assert drawn == {number & ((1 << 64) - 1) for number in (*TRIPS, *ODD_TRIPS)}
    assert trip_counts(as_type("i8")) is every_code(as_type("i8"))


def test_an_index_is_often_small() -> None:
    rng = random.Random(4)
    drawn = [every_code(ty.INDEX).draw(rng) for _ in range(1000)]
    assert sum(code <= 16 for code in drawn) > 450
    assert any(code > 1 << 62 for code in drawn)
