"""Terms of the smt dialect: truth tables by hand, divisions with the arithmetic shown, lookups, and what is refused."""

import math
from ctypes import c_int64
from fractions import Fraction
from itertools import product
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from halfulp.semantics.smt import (
    CHOICES,
    MAX_BITS,
    MAX_REASONS,
    MODELS,
    OPS,
    SmtModel,
    Term,
    Unknown,
    as_model,
    compare,
    integer,
    lookup,
)

SMT, SOLVER, IREE = MODELS["smt"], MODELS["solver"], MODELS["iree"]
MIN, MAX = -(1 << 63), (1 << 63) - 1
U = Unknown(("a",))
T, F = True, False


def op(name: str, *terms: Term, model: SmtModel = SMT) -> Term:
    return OPS[name](terms, model)


def known(term: Term) -> int | bool | None:
    """Return a term with None for any unknown one."""
    return None if isinstance(term, Unknown) else term


# --- truth values -----------------------------------------------------------------------------------------------------

# Rows and columns: true, false, unknown.
TABLES: dict[str, list[list[Term]]] = {
    "and": [[T, F, U], [F, F, F], [U, F, U]],
    "or": [[T, T, T], [T, F, U], [T, U, U]],
    "xor": [[F, T, U], [T, F, U], [U, U, U]],
    "implies": [[T, F, U], [T, T, T], [T, U, U]],
    "eq": [[T, F, U], [F, T, U], [U, U, U]],
    "distinct": [[F, T, U], [T, F, U], [U, U, U]],
}


@pytest.mark.parametrize("name", TABLES)
def test_truth_tables(name: str) -> None:
    terms: list[tuple[int, Term]] = list(enumerate([T, F, U]))
    for (i, a), (j, b) in product(terms, terms):
        assert op(name, a, b) == TABLES[name][i][j], (a, b)


def test_not() -> None:
    assert [op("not", a) for a in (T, F, U)] == [F, T, U]


@pytest.mark.parametrize(
    ("name", "terms", "expected"),
    [
        ("and", (), T),
        ("or", (), F),
        ("xor", (), F),
        ("and", (T, T, T), T),
        ("and", (U, T, F), F),
        ("or", (F, F, F), F),
        ("or", (U, F, T), T),
        # As (a xor b) xor c.
        ("xor", (T, T, T), T),
        ("xor", (T, F, T), F),
        ("eq", (5, 5, 5), T),
        ("eq", (5, 5, 6), F),
        # Strict, though 5 and 6 already differ.
        ("eq", (5, 6, U), U),
        ("distinct", (1, 2, 3), T),
        # Neighbours differ, but the first and the last do not.
        ("distinct", (1, 2, 1), F),
        ("distinct", (1, 1, U), U),
    ],
)
def test_of_several_operands(name: str, terms: tuple[Term, ...], expected: Term) -> None:
    assert op(name, *terms) == expected


@pytest.mark.parametrize(
    ("terms", "expected"),
    [
        ((T, 1, 2), 1),
        ((F, 1, 2), 2),
        ((U, 1, 2), U),
        # Strict in the condition, though both are the same.
        ((U, 1, 1), U),
        ((T, 1, U), 1),
        ((F, 1, U), U),
        ((T, F, T), F),
    ],
)
def test_ite(terms: tuple[Term, ...], expected: Term) -> None:
    assert op("ite", *terms) == expected
    assert op("ite", *terms, model=IREE) == expected


def test_iree_does_not_compare_truth_values() -> None:
    assert op("eq", T, T, model=IREE) == Unknown(("IREE's evaluator does not compare truth values",))
    assert op("eq", 1, 1, model=IREE) is True


# --- integers ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("predicate", "expected"), [(0, [T, F, F]), (1, [T, T, F]), (2, [F, F, T]), (3, [F, T, T])])
def test_comparisons(predicate: int, expected: list[bool]) -> None:
    """lt, le, gt, ge of 1, 2, 3 and 2."""
    assert [compare(predicate, (a, 2), SMT) for a in (1, 2, 3)] == expected
    assert compare(predicate, (U, 2), SMT) == compare(predicate, (2, U), SMT) == U


@pytest.mark.parametrize("name", ["int.add", "int.mul", "int.sub", "int.div", "int.mod"])
def test_arithmetic_is_strict(name: str) -> None:
    for model in MODELS.values():
        # A product is unknown even where the other factor is 0.
        assert op(name, 0, U, model=model) == op(name, U, 1, model=model) == U
        assert op(name, U, Unknown(("b",)), model=model) == Unknown(("a", "b"))
        assert op(name, U, U, model=model) == U


def test_sums_and_products_of_any_number() -> None:
    assert op("int.add", 7) == op("int.mul", 7) == 7
    assert (op("int.add", 1, 2, 3, 4), op("int.mul", 1, 2, 3, 4)) == (10, 24)
    assert (op("int.sub", 3, 5), op("int.abs", -3), op("int.abs", 3), op("int.abs", U)) == (-2, 3, 3, U)
    # No term of SMT-LIB; IREE's evaluator reads an operand that is not there.
    for model in MODELS.values():
        assert op("int.add", model=model) == Unknown(("a sum of no operands has no value",))
        assert op("int.mul", model=model) == Unknown(("a product of no operands has no value",))


# a, b; SMT-LIB: a = b q + r with 0 <= r < |b|; C++: q = a / b toward zero, r = a - b q has the sign of a.
DIVISIONS = [
    (7, 2, (3, 1), (3, 1)),
    # -7 = 2 * -4 + 1, but -7 / 2 = -3.5 is -3 toward zero, and -7 - 2 * -3 = -1.
    (-7, 2, (-4, 1), (-3, -1)),
    # 7 = -2 * -3 + 1 in both.
    (7, -2, (-3, 1), (-3, 1)),
    # -7 = -2 * 4 + 1, but 3.5 is 3 toward zero, and -7 - -2 * 3 = -1.
    (-7, -2, (4, 1), (3, -1)),
    (6, 3, (2, 0), (2, 0)),
    (-6, 3, (-2, 0), (-2, 0)),
    (-6, -3, (2, 0), (2, 0)),
    (0, -5, (0, 0), (0, 0)),
    # -1 = 16 * -1 + 15: a remainder of 15, or of -1.
    (-1, 16, (-1, 15), (0, -1)),
    (MIN, 2, (-(1 << 62), 0), (-(1 << 62), 0)),
    (MIN, 1, (MIN, 0), (MIN, 0)),
    # The quotient 2^63 is no int64: the processor stops IREE.
    (MIN, -1, (1 << 63, 0), (None, None)),
    (5, 0, (None, None), (None, None)),
    (0, 0, (None, None), (None, None)),
]


@pytest.mark.parametrize(("a", "b", "euclidean", "truncating"), DIVISIONS)
def test_divisions(a: int, b: int, euclidean: Any, truncating: Any) -> None:
    for model, expected in ((SMT, euclidean), (SOLVER, euclidean), (IREE, truncating)):
        assert (known(op("int.div", a, b, model=model)), known(op("int.mod", a, b, model=model))) == expected


def test_why_a_division_has_no_value() -> None:
    assert op("int.mod", 12, 0) == Unknown(("12 mod 0 has no value",))
    assert op("int.div", MIN, -1, model=IREE) == Unknown((f"{MIN} div -1 overflows",))


@given(st.integers(), st.integers().filter(bool))
def test_division_by_the_definition_of_smt_lib(a: int, b: int) -> None:
    quotient = math.floor(Fraction(a, b)) if b > 0 else math.ceil(Fraction(a, b))
    assert (op("int.div", a, b), op("int.mod", a, b)) == (quotient, a - b * quotient)


int64 = st.one_of(st.integers(MIN, MAX), st.sampled_from([MIN, MAX, -1, 0, 1]))


@given(int64, int64)
def test_int64_wraps_as_c_does(a: int, b: int) -> None:
    assert op("int.add", a, b, model=IREE) == c_int64(a + b).value
    assert op("int.sub", a, b, model=IREE) == c_int64(a - b).value
    assert op("int.mul", a, b, model=IREE) == c_int64(a * b).value
    if b and (a, b) != (MIN, -1):
        quotient = math.trunc(Fraction(a, b))
        assert (op("int.div", a, b, model=IREE), op("int.mod", a, b, model=IREE)) == (quotient, a - b * quotient)


@pytest.mark.parametrize(
    ("value", "wrapped"), [(1 << 63, MIN), ((1 << 64) - 1, -1), (1 << 64, 0), (MIN - 1, MAX), (-(1 << 65) - 8, -8)]
)
def test_constants_are_unbounded_or_wrap(value: int, wrapped: int) -> None:
    assert integer(value, SMT) == value
    assert integer(value, IREE) == wrapped


def test_numbers_do_not_grow_without_end() -> None:
    term: Term = 3
    for _ in range(100):
        term = op("int.mul", term, term)
    assert term == Unknown((f"a number has more than {MAX_BITS} bits",))
    assert known(op("int.add", *[1 << (MAX_BITS - 1)] * 2)) is None
    assert op("int.mul", 1 << (MAX_BITS - 2), 2) == 1 << (MAX_BITS - 1)
    # Wrapping needs no limit: 3^(2^100) modulo 2^64 is odd.
    term = 3
    for _ in range(100):
        term = op("int.mul", term, term, model=IREE)
    assert isinstance(term, int)
    assert term % 2 == 1


def test_reasons_are_kept_once_each_and_not_without_end() -> None:
    reasons = [Unknown((f"r{number}",)) for number in range(40)]
    term = op("int.add", *reasons, *reasons)
    assert isinstance(term, Unknown)
    assert term.because == tuple(f"r{number}" for number in range(MAX_REASONS))


# --- lookups and models -----------------------------------------------------------------------------------------------


def test_lookup() -> None:
    """The document's table."""
    keys, values = (3, 7, 12), (16, 32, 64)
    for model in MODELS.values():
        assert [lookup(keys, values, key, model) for key in keys] == [16, 32, 64]
        assert lookup(keys, values, U, model) == U
    assert lookup(keys, values, 5, SMT) == lookup(keys, values, 5, IREE) == Unknown(("5 is not a key of the lookup",))
    # ite(5 = 3, 16, ite(5 = 7, 32, 64))
    assert lookup(keys, values, 5, SOLVER) == 64
    assert lookup(keys, values, 5, as_model("iree,lookup_miss=last")) == 64
    # A value of 0 is one.
    assert lookup((1,), (0,), 1, SMT) == 0


def test_models_by_name_and_choice() -> None:
    assert as_model("smt") == SmtModel() == as_model(SmtModel())
    assert as_model("smt,lookup_miss=last") == SOLVER
    assert as_model("smt,arithmetic=int64,ops=iree,configuration=required") == IREE
    for model in MODELS.values():
        assert all(getattr(model, field) in choices for field, choices in CHOICES.items())


@pytest.mark.parametrize(
    ("spelling", "message"),
    [
        ("z3", "the model is 'z3', but must be one of smt, solver, iree"),
        ("", "the model is '', but must be one of"),
        ("smt,lookup_miss", "'lookup_miss' is not field=value; the fields are arithmetic, lookup_miss, ops"),
        ("smt,division=smt", "'division=smt' is not field=value"),
        ("smt,lookup_miss=first", "lookup_miss is 'first', but must be one of unknown, last"),
    ],
)
def test_models_that_do_not_exist(spelling: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        as_model(spelling)
