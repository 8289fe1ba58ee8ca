"""The models of multiply-adds, against integers: what their rows hit, and what no operands of small formats hit.

A number is held as an integer times a power of two that is small enough for all numbers of a case; so nothing here is
rounded, and nothing of the models is used but the names of their buckets.
"""

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import product

import pytest
from amounts import thinned
from present import present

from halfulp.conformance.comparing.op_case import OpCase, op_case
from halfulp.conformance.vectors.intermediate import ModelCase, model_case_of
from halfulp.conformance.vectors.models.model import fill
from halfulp.conformance.vectors.models.table import MODELS, models_for
from halfulp.conformance.vectors.op_inputs import filled_models
from halfulp.fp_formats import scalar
from halfulp.fp_formats.formats import FORMATS, FloatFormat

Bucket = tuple[str | int, ...]
NEGATES = {"fmadd": (1, 1), "fmsub": (1, -1), "fnmsub": (-1, 1), "fnmadd": (-1, -1)}
"""The signs of product and addend, as RISC-V defines its instructions."""

OWN = ("B3", "B14", "B16", "B17", "B18", "M1")


def asked(op: str, *types: str) -> tuple[OpCase, ModelCase]:
    case = op_case(op, list(types), types[-1]) if op != "math.fma" else op_case(op, types[0])
    found = present(model_case_of(case))
    return case, found


class Sums:
    """The sums of a case, as integers in units of ``2**-places``, and the buckets that they fall in."""

    def __init__(self, op: str, types: Sequence[str]) -> None:
        self.formats = [FORMATS[name] for name in types]
        self.target = self.formats[2]
        self.signs = NEGATES.get(op, (1, 1))
        exponents = [fmt.emin - fmt.mantissa_bits for fmt in self.formats]
        self.places = 8 - min(exponents[0] + exponents[1], exponents[2], 0)
        self.near = max(min(fmt.precision for fmt in self.formats[:2]) - 1, 1)
        most = present(scalar.value(self.target, self.target.max_code))
        self.largest, self.ulp = (
            self.integer(most),
            self.integer(Fraction(2) ** (self.target.emax - self.target.mantissa_bits)),
        )

    def integer(self, number: Fraction) -> int:
        scaled = number * Fraction(2) ** self.places
        assert scaled.denominator == 1
        return scaled.numerator

    def lead(self, number: int) -> int:
        return abs(number).bit_length() - 1 - self.places

    def unit(self, number: int) -> int:
        """Return the last bit that the target keeps of a number, as an integer; 0 for less than the unit."""
        place = max(self.lead(number), self.target.emin) - self.target.mantissa_bits + self.places
        return 1 << place if place >= 0 else 0

    def tail(self, number: int) -> tuple[int, int, int]:
        """Return the last kept bit, the guard and the sticky bit."""
        unit = self.unit(number)
        if not unit:
            return 0, 0, 0
        kept, rest = divmod(abs(number), unit)
        return kept & 1, int(2 * rest >= unit), int(2 * rest % unit != 0)

    def buckets(self, name: str, p: int, c: int, exponents: tuple[int, int]) -> Iterator[Bucket]:
        """Yield the buckets of a product and an addend, as they count in the sum. ``exponents``: those that align."""
        total, target = p + c, self.target
        effect = "sum" if (p < 0) == (c < 0) else "difference"
        if name == "B3" and total:
            yield ("-" if total < 0 else "+", *self.tail(total))
        if not (p and c):
            return
        if name == "B14":
            one, other, addend = self.formats
            low, high = (
                -max(one.precision + other.precision, target.precision) - 1,
                max(addend.precision, target.precision) + 1,
            )
            shift = exponents[1] - exponents[0]
            yield "shift", "less" if shift < low else "more" if shift > high else shift
        if not total:
            return
        moved = self.lead(total) - max(self.lead(p), self.lead(c))
        if name == "B16":
            yield "moved", moved
        if name == "B17" and self.lead(total) < target.emin:
            yield "subnormal", self.lead(total), moved
        if name == "B18":
            yield from self._undone(p, total)
        if name == "M1" and self.lead(total) <= target.emax:
            unit = self.unit(c)
            if not unit or c % unit:
                return
            ratio = Fraction(abs(p), unit)
            size = "subnormal" if self.lead(total) < target.emin else "normal"
            for centre, told in ((Fraction(1, 2), "1/2"), (Fraction(1), "1")):
                reach = centre / 2**self.near
                if abs(ratio - centre) <= reach and ratio != centre + reach:
                    place = told if ratio == centre else f"above {told}" if ratio > centre else f"below {told}"
                    yield effect, abs(c) // unit & 1, place, size

    def _undone(self, p: int, total: int) -> Iterator[Bucket]:
        tail, sign = self.tail(p), "-" if p < 0 else "+"
        within = abs(total) <= self.largest
        if any(tail[1:]) and not any(self.tail(total)[1:]) and within:
            yield "exact", *tail
        over = abs(p) // self.ulp - self.largest // self.ulp
        if over > 0 and within:
            yield "overflow", sign, min(over, 4)
        if self.lead(p) < self.target.emin <= self.lead(total):
            lowest = self.target.emin - (self.target.mantissa_bits if self.target.zero else 0)
            yield "underflow", sign, "below all" if self.lead(p) < lowest else self.target.emin - self.lead(p)

    def of_row(self, name: str, row: Sequence[int]) -> set[Bucket]:
        values = [scalar.value(fmt, code) for fmt, code in zip(self.formats, row, strict=True)]
        if None in values:
            return set()
        a, b, c = (value for value in values if value is not None)
        aligned = [
            max(floor_log2(abs(x)), fmt.emin) if x else 0 for x, fmt in zip((a, b, c), self.formats, strict=True)
        ]
        p = self.integer(self.signs[0] * a * b)
        return set(self.buckets(name, p, self.integer(self.signs[1] * c), (aligned[0] + aligned[1], aligned[2])))

    def reached(self, name: str) -> set[Bucket]:
        """Return the buckets of all operands. Different operands of one product are tried once."""
        numbers = [[(value, max(floor_log2(abs(value)), fmt.emin) if value else 0)
                    for value in every(fmt)] for fmt in self.formats]  # fmt: skip
        products = {(self.integer(self.signs[0] * x * y), e + f) for (x, e), (y, f) in product(*numbers[:2])}
        addends = {(self.integer(self.signs[1] * z), e) for z, e in numbers[2]}
        return {bucket for (p, e), (c, f) in product(products, addends) for bucket in self.buckets(name, p, c, (e, f))}


def every(fmt: FloatFormat) -> set[Fraction]:
    values = (scalar.value(fmt, code) for code in range(1 << fmt.bits))
    return {value for value in values if value is not None}


def floor_log2(number: Fraction) -> int:
    exponent = 0
    while number >= Fraction(2) ** (exponent + 1):
        exponent += 1
    while number < Fraction(2) ** exponent:
        exponent -= 1
    return exponent


MIXTURES = [
    ("math.fma", "bf16"),
    ("math.fma", "f16"),
    ("math.fma", "f8E4M3FN"),
    ("math.fma", "f8E5M2FNUZ"),
    ("fmadd", "f8E4M3FN", "f8E4M3FN", "f32"),
    ("fmsub", "f8E5M2", "f8E4M3FN", "f16"),
    ("fnmadd", "bf16", "bf16", "f32"),
    ("fnmsub", "f4E2M1FN", "f8E8M0FNU", "bf16"),
    ("fmadd", "f16", "f16", "bf16"),
    ("fmadd", "f4E2M1FN", "f4E2M1FN", "f6E3M2FN"),
]


EMPTY: Mapping[tuple[str, ...], Mapping[str, set[Bucket]]] = {
    ("math.fma", "f8E5M2FNUZ"): {"B18": {("exact", 0, 1, 1), ("exact", 1, 1, 1)}}
}
"""Buckets that no operands hit, as the test of all operands shows: products of three bits by three bits are few."""


def all_types(types: Sequence[str]) -> list[str]:
    return list(types) if len(types) == 3 else [types[0]] * 3


QUICK = (("math.fma", "f8E4M3FN"), ("math.fma", "f8E5M2FNUZ"), ("fmadd", "f8E4M3FN", "f8E4M3FN", "f32"))


@pytest.mark.long
@pytest.mark.parametrize(
    "mixture",
    [pytest.param(mixture, marks=[] if mixture in QUICK else pytest.mark.exhaustive) for mixture in MIXTURES],
    ids=" ".join,
)
def test_rows_hit_what_they_are_said_to_hit(mixture: tuple[str, ...]) -> None:
    """Every bucket that a model calls hit is hit by its rows, and every row hits nothing else."""
    op, *types = mixture
    _, case = asked(op, *types)
    sums = Sums(op, all_types(types))
    for name in OWN:
        model = MODELS[name]
        if model not in models_for(case):
            continue
        made = fill(model, case)
        hit = {bucket for row in made.rows for bucket in sums.of_row(name, row)}
        assert hit & set(made.hits) == {bucket for bucket, rows in made.hits.items() if rows}, name
        for row in made.rows:
            assert sums.of_row(name, row) == set(model.fits(case, row)), (name, row)
        assert made.proven or set(made.empty) == EMPTY.get(mixture, {}).get(name, set()), (name, made.empty)
        assert made.rows, name


SMALL = [
    ("fmadd", "f4E2M1FN", "f4E2M1FN", "f4E2M1FN"),
    ("fnmsub", "f4E2M1FN", "f4E2M1FN", "f6E3M2FN"),
    ("fmadd", "f6E2M3FN", "f4E2M1FN", "f4E2M1FN"),
]
EIGHT = [("math.fma", "f6E2M3FN"), ("math.fma", "f6E3M2FN"), ("math.fma", "f8E4M3FN"), ("math.fma", "f8E5M2"),
         ("math.fma", "f8E5M2FNUZ"), ("math.fma", "f8E3M4"), ("math.fma", "f8E4M3FNUZ"),
         ("fmadd", "f8E5M2", "f8E4M3FN", "f8E4M3FN"), ("fmadd", "f4E2M1FN", "f4E2M1FN", "f8E4M3FN")]  # fmt: skip


@pytest.mark.long
@pytest.mark.parametrize(
    "mixture",
    [SMALL[0], *(pytest.param(mixture, marks=pytest.mark.exhaustive) for mixture in (*SMALL[1:], *EIGHT))],
    ids=" ".join,
)
def test_all_operands_of_small_formats_hit_no_other_bucket(mixture: tuple[str, ...]) -> None:
    """Each bucket that any operands hit is declared, but for B17 of results that round to zero, and is hit by rows."""
    op, *types = mixture
    _, case = asked(op, *types)
    sums = Sums(op, all_types(types))
    for name in OWN:
        reached = sums.reached(name)
        if name == "B17":  # results below the smallest value are those of B6
            lowest = sums.target.emin - sums.target.mantissa_bits
            reached = {bucket for bucket in reached if int(bucket[1]) >= lowest}
        model = MODELS[name]
        made = fill(model, case) if model in models_for(case) else None
        hit = set() if made is None else {bucket for bucket, rows in made.hits.items() if rows}
        assert hit == reached, name


def tie(fmt: FloatFormat, real: Fraction) -> bool:
    lead = max(floor_log2(abs(real)), fmt.emin)
    return abs(real) / Fraction(2) ** (lead - fmt.mantissa_bits) % 1 == Fraction(1, 2)


@pytest.mark.parametrize("mixture", thinned(MIXTURES[:8], 3), ids=" ".join)
def test_ties_and_hard_cases_are_there(mixture: tuple[str, ...]) -> None:
    """M1 has ties of both signs and both last bits, and B16 cancellations as deep as the formats allow."""
    op, *types = mixture
    case, found = asked(op, *types)
    formats = [FORMATS[name] for name in all_types(types)]
    signs = NEGATES.get(op, (1, 1))

    def real(row: Sequence[int]) -> Fraction:
        a, b, c = (scalar.value(fmt, code) for fmt, code in zip(formats, row, strict=True))
        assert a is not None and b is not None and c is not None  # noqa: PT018
        return signs[0] * a * b + signs[1] * c

    _, filled = filled_models(case, ["M1", "B16"])
    ties = [row for row in filled["M1"].rows if real(row) and tie(formats[2], real(row))]
    assert len(ties) >= 4
    deepest = min(int(bucket[1]) for bucket, rows in filled["B16"].hits.items() if rows)
    assert deepest == -max(formats[0].precision + formats[1].precision - 1, formats[2].precision)
    assert str(found)


@pytest.mark.parametrize(
    ("op", "sign"), [("fmadd", (1, 1)), ("fmsub", (1, -1)), ("fnmsub", (-1, 1)), ("fnmadd", (-1, -1))]
)
def test_negated_forms_have_their_own_signs(op: str, sign: tuple[int, int]) -> None:
    """The results of B3's rows are what their buckets say, for the sum that the instruction computes."""
    _, case = asked(op, "f8E4M3FN", "f8E4M3FN", "f8E4M3FN")
    sums = Sums(op, ["f8E4M3FN"] * 3)
    assert sums.signs == sign
    made = fill(MODELS["B3"], case)
    assert not made.empty
    for row in made.rows:
        assert sums.of_row("B3", row) == set(MODELS["B3"].fits(case, row))


APPLYING: dict[tuple[str, ...], str] = {
    ("math.fma", "f16"): "B1 B2 B3 B4 B5 B6 B7 B8 B9 B14 B15 B16 B17 B18 M1",
    ("fmadd", "f8E4M3FN", "f8E4M3FN", "f32"): "B1 B2 B3 B4 B5 B7 B8 B9 B14 B15 B16 M1",
    ("fadd", "f16", "f16", "f16"): "B1 B2 B3 B4 B5 B7 B8 B9 B10 B11 B12 B13",
}


@pytest.mark.parametrize("mixture", list(APPLYING), ids=" ".join)
def test_models_that_apply(mixture: tuple[str, ...]) -> None:
    op, *types = mixture
    case = op_case(op, types[0]) if op == "math.fma" else op_case(op, types[:2] if op == "fadd" else types, types[-1])
    found = present(model_case_of(case))
    assert " ".join(model.name for model in models_for(found)) == APPLYING[mixture]
