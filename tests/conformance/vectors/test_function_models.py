"""Models of elementary functions: what they claim of their rows is computed again by MPFR, or known from elsewhere."""

from __future__ import annotations

from fractions import Fraction

import gmpy2
import pytest

from halfulp.conformance.vectors.intermediate import Integer, ModelCase
from halfulp.conformance.vectors.models.functions import MODELS, hardest
from halfulp.conformance.vectors.models.model import Filled, coverage, fill
from halfulp.conformance.vectors.models.table import models_for
from halfulp.fp_formats import scalar
from halfulp.fp_formats.formats import FORMATS, FloatFormat
from halfulp.fp_formats.neighbours import ulp_at
from halfulp.fp_formats.reals import elementary

F32, F64, BF16 = FORMATS["f32"], FORMATS["f64"], FORMATS["bf16"]

F1, F2, F3, F4, F5, F6 = MODELS


def case(name: str, *types: str) -> ModelCase:
    sources = tuple(FORMATS[word] if word in FORMATS else Integer(int(word[1:]), True) for word in types)
    kinds = ["function", "function of two", "function of an integer"]
    kind = kinds[0 if len(sources) == 1 else 1 + isinstance(sources[1], Integer)]
    return ModelCase(kind, sources, sources[0], name)


def halves(function: str, fmt: FloatFormat, *codes: int) -> Fraction:
    """Return a result in half ulps, with its sign, by MPFR."""
    numbers = [scalar.value(fmt, code) for code in codes]
    with gmpy2.context(precision=1200, emin=-(1 << 19), emax=1 << 19):
        operands = [gmpy2.mpfr(gmpy2.mpq(n.numerator, n.denominator)) for n in numbers if n is not None]
        found = operands[0] ** operands[1] if function == "powf" else getattr(gmpy2, function)(*operands)
    numerator, denominator = found.as_integer_ratio()
    number = Fraction(int(numerator), int(denominator))
    return number / (ulp_at(fmt, abs(number)) / 2)


@pytest.mark.long
@pytest.mark.parametrize(
    ("name", "types", "models"),
    [
        ("exp", ["f32"], "B1 B9 F1 F2 F4 F5"),
        pytest.param("sin", ["f32"], "B1 B9 F1 F2 F3 F5", marks=pytest.mark.exhaustive),
        ("rsqrt", ["f8E5M2"], "B1 B9 F1 F2 F4"),
        ("powf", ["f32", "f32"], "B1 F1 F2 F4 F5"),
        pytest.param("powf", ["f16", "i32"], "F1 F2 F4 F5 F6", marks=pytest.mark.exhaustive),
        pytest.param("atan2", ["f8E4M3", "f8E4M3"], "B1 F1 F2 F5", marks=pytest.mark.exhaustive),
    ],
)
def test_models_fill_their_buckets(name: str, types: list[str], models: str) -> None:
    asked = case(name, *types)
    applying = models_for(asked)
    assert " ".join(model.name for model in applying) == models
    for model in applying:
        made = fill(model, asked)
        assert made.empty == []
        assert coverage(model, asked, made.rows) == made.hits


@pytest.mark.parametrize(("name", "types"), [("exp", ["f32"]), ("log", ["f64"]), ("powf", ["f32", "f32"])])
def test_hard_cases_are_where_they_are_said_to_be(name: str, types: list[str]) -> None:
    asked = case(name, *types)
    fmt = asked.float_source
    for row in fill(F1, asked).rows:
        for sign, _, side, boundary in F1.fits(asked, row):
            found = halves(name, fmt, *row)
            nearest = round(found)
            assert abs(found - nearest) < Fraction(1, 1 << 6)
            assert boundary == ("a midpoint" if nearest % 2 else "a value")
            assert sign == "-+"[found > 0]
            assert side == ("above" if abs(found) > abs(nearest) else "below")


def test_hard_cases_come_in_turns() -> None:
    rows = hardest(case("exp", "f8E5M2"), 12)
    places = [tuple(F1.fits(case("exp", "f8E5M2"), row)) for row in rows]
    assert len(set(rows)) == len(rows) == 12
    assert len(set(places[:4])) >= 3


def test_thresholds_of_exp() -> None:
    """The last arguments before overflow and underflow of binary32: glibc's and CORE-MATH's thresholds."""
    rows = set(fill(F2, case("exp", "f32")).rows)
    overflow = scalar.from_fraction(F32, Fraction(float.fromhex("0x1.62e42ep+6"))).code
    underflow = scalar.from_fraction(F32, Fraction(float.fromhex("-0x1.9fe368p+6"))).code
    assert {(overflow,), (overflow + 1,), (underflow,), (underflow + 1,)} <= rows


def test_subnormal_results_of_each_leading_bit() -> None:
    made = fill(F5, case("exp", "f32"))
    leads = {str(bucket[2]) for bucket in made.hits} | {str(bucket[0]) for bucket in made.hits}
    assert leads == {"other", *(f"+2^{e}" for e in range(-149, -126))}
    for row in made.rows:
        results = [elementary.unary("exp", F32, row[0] + step).code for step in (-1, 0, 1)]
        assert any(F32.is_subnormal(code) for code in results)


def test_arguments_next_to_multiples_of_half_pi() -> None:
    made = fill(F3, case("cos", "f64"))
    assert len(made.hits) > 50
    with gmpy2.context(precision=1400):
        for row in made.rows:
            number = scalar.value(F64, row[0])
            assert number is not None
            turns = gmpy2.mpfr(gmpy2.mpq(number.numerator, number.denominator)) * 2 / gmpy2.const_pi()
            assert abs(turns - gmpy2.rint(turns)) < 2**-50


def test_exact_powers() -> None:
    made = fill(F4, case("powf", "f32", "f32"))
    assert set(made.hits) == {("+", "a value"), ("-", "a value"), ("+", "a midpoint")}
    for row in made.rows:
        assert halves("powf", F32, *row).denominator == 1


def test_special_integers() -> None:
    made: Filled = fill(F6, case("powf", "bf16", "i8"))
    exponents = {row[1] for row in made.rows}
    assert exponents == {0, 1, 2, 3, 0xFF, 0xFE, 0xFD, 0x80, 0x7F}
    assert {row[0] for row in made.rows if BF16.is_infinite(row[0])} == {0x7F80, 0xFF80}


def test_every_step_of_a_small_format_is_found() -> None:
    fmt = FORMATS["f8E4M3"]
    rows = set(fill(F2, case("exp", "f8E4M3")).rows)
    classes = [scalar.unpack(fmt, elementary.unary("exp", fmt, code).code) for code in range(0x78)]
    infinite = [found.kind == scalar.INFINITE for found in classes]
    first = infinite.index(True)
    assert {(first - 1,), (first,)} <= rows
