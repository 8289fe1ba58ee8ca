"""Operations whose operands and result have formats of their own: the specification against fractions, arrays against
the specification.
"""

import random
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from amounts import amounts, thinned
from float_samples import codes as sample_codes
from float_samples import to_array

from halfulp.fp_formats import mixed, scalar
from halfulp.fp_formats.exact import comparisons
from halfulp.fp_formats.formats import FORMATS, FloatFormat, codes_to_ints
from halfulp.fp_formats.policy import POLICY_FIELDS, SPEC, FloatPolicy, Rounding

F32 = FORMATS["f32"]
MODES = (*tuple(Rounding)[:5], Rounding.TO_ODD)
TRIPLES = (
    ("f8E4M3FN", "f8E4M3FN", "f32"),
    ("f8E5M2", "f8E4M3FN", "f16"),
    ("f8E4M3FNUZ", "f8E5M2FNUZ", "f32"),
    ("f4E2M1FN", "f8E8M0FNU", "bf16"),
    ("bf16", "bf16", "f32"),
    ("f16", "f16", "f32"),
    ("f32", "f32", "f32"),
    ("f16", "f32", "f8E4M3FN"),
    ("f32", "f32", "f64"),
    ("f64", "bf16", "f80"),
    ("f64", "f64", "f32"),
    ("f64", "f64", "f64"),
)
POLICIES = (
    SPEC,
    *(FloatPolicy(**{field: value}) for field, choice in POLICY_FIELDS.items() for value in choice.values[1:]),
)


def rows_of(formats: tuple[FloatFormat, ...], count: int, seed: int) -> list[tuple[int, ...]]:
    columns = [sample_codes(fmt, count, seed + number) for number, fmt in enumerate(formats)]
    return list(zip(*columns, strict=True))


def exactly(name: str, values: list[Fraction]) -> Fraction | None:
    """Return what an operation means; None for a division by zero."""
    x, y = values[0], values[1]
    if name in mixed.FUSED:
        z = values[2]
        return {"fma": x * y + z, "fmsub": x * y - z, "fnmsub": z - x * y, "fnmadd": -(x * y) - z}[name]
    if name == "divide":
        return x / y if y else None
    return {"add": x + y, "subtract": x - y, "multiply": x * y}[name]


def formats_of(name: str, triple: tuple[str, str, str]) -> tuple[tuple[FloatFormat, ...], FloatFormat]:
    a, b, c = (FORMATS[each] for each in triple)
    return ((a, b, c) if name in mixed.FUSED else (a, b)), c


@pytest.mark.parametrize("name", mixed.OPERATIONS)
@pytest.mark.parametrize("triple", TRIPLES, ids="-".join)
@pytest.mark.parametrize("count", amounts(40, long=200))
def test_numbers_are_rounded_once(name: str, triple: tuple[str, str, str], count: int) -> None:
    """Exact results that are not zero; `scalar.from_fraction` rounds them and knows nothing of the operation."""
    sources, dst = formats_of(name, triple)
    for number, row in enumerate(rows_of(sources, count, 3)):
        values = [scalar.value(fmt, code) for fmt, code in zip(sources, row, strict=True)]
        if any(value is None for value in values):
            continue
        exact = exactly(name, [value for value in values if value is not None])
        if exact:
            mode = MODES[number % len(MODES)]
            want = scalar.from_fraction(dst, exact, mode)
            assert mixed.operate(name, sources, dst, row, mode) == want, (row, mode)


@pytest.mark.parametrize("name", ["add", "subtract", "multiply", "divide", "fma"])
@pytest.mark.parametrize("type_", ["f8E5M2", "f8E4M3FN", "f16", "f32"])
@pytest.mark.parametrize("count", amounts(20, long=100))
def test_one_format_is_the_operation_of_the_format(name: str, type_: str, count: int) -> None:
    fmt = FORMATS[type_]
    sources = (fmt,) * mixed.OPERATIONS[name].operands
    for mode in MODES:
        for row in rows_of(sources, count, 5):
            assert mixed.operate(name, sources, fmt, row, mode) == getattr(scalar, name)(fmt, *row, mode)


def check(
    name: str,
    sources: tuple[FloatFormat, ...],
    dst: FloatFormat,
    rows: list[tuple[int, ...]],
    mode: Rounding,
    policy: FloatPolicy = SPEC,
    width: int = 0,
) -> None:
    columns = [to_array(fmt, list(column)) for fmt, column in zip(sources, zip(*rows, strict=True), strict=True)]
    rng = random.Random(width)
    drawn = [rng.getrandbits(width) for _ in rows]
    noise: Any = (np.array(drawn, np.uint64), width) if width else None
    bits = [(value, width) if width else None for value in drawn]
    want = [mixed.operate(name, sources, dst, row, mode, policy, r) for row, r in zip(rows, bits, strict=True)]
    got = comparisons.operate(name, sources, dst, columns, mode, policy, noise, want_flags=True)
    assert got.flags is not None
    poison = [False] * len(rows) if got.poison is None else got.poison.tolist()
    actual = list(zip(codes_to_ints(got.codes, dst.bits), got.flags.tolist(), poison, strict=True))
    wrong = [(row, w, g) for row, w, g in zip(rows, want, actual, strict=True) if tuple(w) != g]
    assert not wrong, (name, mode, policy, len(wrong), wrong[:3])


@pytest.mark.parametrize("name", mixed.OPERATIONS)
@pytest.mark.parametrize("triple", thinned(TRIPLES, 3), ids="-".join)
@pytest.mark.parametrize("count", amounts(12, 5_000))
def test_arrays(name: str, triple: tuple[str, str, str], count: int) -> None:
    sources, dst = formats_of(name, triple)
    rows = rows_of(sources, count, 7)
    for mode in MODES:
        check(name, sources, dst, rows, mode)
    for rule in POLICY_FIELDS["stochastic"].values:
        for width in (1, 16, 40):
            check(name, sources, dst, rows[:40], Rounding.STOCHASTIC, FloatPolicy(stochastic=rule), width)


@pytest.mark.parametrize("policy", thinned(POLICIES, 5), ids=str)
@pytest.mark.parametrize("count", amounts(5, 400))
def test_arrays_under_policies(policy: FloatPolicy, count: int) -> None:
    for number, triple in enumerate(TRIPLES):
        for name in ("fma", "fnmsub", "multiply", "divide", "add"):
            sources, dst = formats_of(name, triple)
            check(name, sources, dst, rows_of(sources, count, 11), MODES[number % len(MODES)], policy)


@pytest.mark.exhaustive
def test_every_triple_of_f4_with_a_float_of_8_bits() -> None:
    f4, f8 = FORMATS["f4E2M1FN"], FORMATS["f8E5M2"]
    rows: list[tuple[int, ...]] = [(a, b, c) for a in range(16) for b in range(16) for c in range(256)]
    for name in mixed.FUSED:
        for mode in MODES:
            check(name, (f4, f4, f8), f8, rows, mode)


def test_signs_of_zeros_and_nans_in_the_negated_forms() -> None:
    one, minus_one, nan = 0x3F80_0000, 0xBF80_0000, 0xFFC0_0001
    zeros = {"fma": 0, "fmsub": 0, "fnmsub": 0, "fnmadd": 1 << 31}
    for name, code in zeros.items():
        assert mixed.operate(name, (F32,) * 3, F32, (0, one, 0)).code == (code if name == "fnmadd" else 0)
        # The sign of a NaN operand stays, whatever is negated.
        assert mixed.operate(name, (F32,) * 3, F32, (nan, one, one)).code == nan
        assert mixed.operate(name, (F32,) * 3, F32, (one, minus_one, nan)).code == nan
