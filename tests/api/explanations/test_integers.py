"""`explain_op` on integer ops: the story on exact integers against the kernel, on every operand of small types."""

import re
from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest
from amounts import amounts, thinned
from hypothesis import given, settings
from hypothesis import strategies as st

import halfulp as hu
from halfulp.explanations.explaining import explain_op
from halfulp.explanations.integer_explainers import BINARY, CASTS
from halfulp.explanations.records import OpExplanation
from halfulp.fp_formats.formats import codes_to_ints
from halfulp.interp.ir.types import width_of
from halfulp.interp.values.value import Value
from halfulp.semantics.profile import PROFILES

OVERFLOW = {"addi", "subi", "muli", "shli"}
EXACT = {"divsi", "divui", "shrsi", "shrui"}
PREDICATES = ("eq", "ne", "slt", "sle", "sgt", "sge", "ult", "ule", "ugt", "uge")
SHARED: dict[str, tuple[str, ...]] = {"overflow": ("nsw", "nuw", "nsw,nuw")}


def flags_of(op: str) -> list[dict[str, Any]]:
    name = op.removeprefix("arith.")
    if name == "cmpi":
        return [{"predicate": predicate} for predicate in PREDICATES]
    if name in OVERFLOW or name == "trunci":
        return [{}, *({"overflow": flags} for flags in SHARED["overflow"])]
    if name in EXACT:
        return [{}, {"exact": True}]
    return [{}, {"nneg": True}] if name in ("extui", "index_castui") else [{}]


def signed(code: int, width: int) -> int:
    return code - (1 << width) if width and code >> (width - 1) else code


def of(code: int, type_: str) -> Value:
    return hu.Value.from_bits(np.array(code, object), type_) if type_ != "index" else Value.from_bits(code, type_)


def evaluated(op: str, codes: tuple[int, ...], type_: str, to: str | None, how: dict[str, Any]) -> Any:
    """Return the results of `hu.eval` as codes, ``"poison"`` or ``"undefined"``."""
    try:
        found = hu.eval(op, *(of(code, type_) for code in codes), to=to, **how)
    except hu.UndefinedBehavior:
        return "undefined"
    values = found if isinstance(found, tuple) else (found,)
    if any(value.poison is not None for value in values):
        return "poison"
    widths = [width_of(value.type) for value in values]
    shaped = (value.bits.reshape((1, *value.bits.shape)) for value in values)
    return tuple(codes_to_ints(bits, width)[0] for bits, width in zip(shaped, widths, strict=True))


def check(op: str, codes: tuple[int, ...], type_: str, to: str | None, how: dict[str, Any]) -> OpExplanation:
    """Assert that the explanation has the result of `hu.eval`, and that its exact integer gives that result."""
    width = 64 if type_ == "index" else int(type_[1:])
    explanation = explain_op(op, *(of(code, type_) for code in codes), type=type_, to=to, **how)
    assert isinstance(explanation, OpExplanation)
    expected, where = evaluated(op, codes, type_, to, how), f"{op} {codes} {type_} {to} {how}"
    text = str(explanation)
    assert explanation.undefined == (expected == "undefined"), where
    if expected == "undefined":
        assert explanation.rule.endswith(": undefined behaviour"), where
        assert "the behaviour is undefined" in text, where
    elif expected == "poison":
        assert explanation.result is None, where
        assert explanation.rule.endswith(": poison"), where
    else:
        assert tuple(each.code for each in explanation.results) == expected, where
        assert "poison" not in explanation.rule, where
        because(op, explanation, codes, width, expected, where)
    return explanation


def because(
    op: str, explanation: OpExplanation, codes: tuple[int, ...], width: int, results: tuple[int, ...], where: str
) -> None:
    """Check by Python's integers that the exact number of the story gives the result."""
    name, exact = op.removeprefix("arith."), explanation.exact
    if name in ("andi", "ori", "xori"):
        function = {"andi": int.__and__, "ori": int.__or__, "xori": int.__xor__}[name]
        assert results == (function(*codes),), where
        return
    assert exact is not None, where
    if name.endswith("extended"):
        mask = (1 << width) - 1
        high = int(exact) >> width & (mask if name.startswith("mul") else 1)
        assert name.startswith("mul") or explanation.rule.endswith(f"the second result is {results[1]}"), where
        assert results == (int(exact) & mask, high), where
        return
    rounded = (
        exact.__ceil__() if name.startswith("ceil") else exact.__trunc__() if name == "divsi" else exact.__floor__()
    )
    to_width = width_of(explanation.type)
    assert rounded & ((1 << to_width) - 1) == results[0], where
    x, y = (signed(code, width) for code in (codes * 2)[:2])
    stated = {"addi": x + y, "subi": x - y, "muli": x * y, "maxsi": max(x, y), "minsi": min(x, y)}
    if name in stated:
        assert exact == stated[name], where
    if name in ("divsi", "floordivsi", "ceildivsi"):
        assert exact == Fraction(x, y), where


def conditions(op: str, codes: tuple[int, ...], width: int, to: int, how: dict[str, Any]) -> Iterator[bool]:
    """Yield, for each flag, whether its condition fails: by Python's integers."""
    name, (a, b) = op.removeprefix("arith."), (codes * 2)[:2]
    function = {"addi": int.__add__, "subi": int.__sub__, "muli": int.__mul__}.get(name)
    if name == "shli":
        function = lambda x, y: x << (y if y >= 0 else y + (1 << width))  # noqa: E731
    if name == "trunci":
        function, width = (lambda x, y: x), width
    for flag in str(how.get("overflow", "")).split(","):
        if flag and function is not None:
            x, y = (signed(a, width), signed(b, width)) if flag == "nsw" else (a, b)
            low, high = (-(1 << to >> 1), (1 << to >> 1) - 1) if flag == "nsw" else (0, (1 << to) - 1)
            yield not low <= function(x, y) <= high


@pytest.mark.long
@pytest.mark.parametrize("width", [1, 2, 3])
@pytest.mark.parametrize("op", BINARY)
def test_every_pair_of_small_types(op: str, width: int) -> None:
    for how in flags_of(op):
        for codes in product(range(1 << width), repeat=2):
            explanation = check(op, codes, f"i{width}", None, how)
            if op.removeprefix("arith.") in OVERFLOW and codes[1] < width:
                failed = any(conditions(op, codes, width, width, how))
                assert (explanation.result is None) == failed, (op, codes, how)


@pytest.mark.parametrize(
    "columns", amounts(((0, 1, 7, 8, 15), (0, 3, 8, 15)), (range(16), range(16))), ids=["some", "all"]
)
@pytest.mark.parametrize("op", thinned(BINARY, 4))
def test_pairs_of_four_bits(op: str, columns: tuple[Sequence[int], Sequence[int]]) -> None:
    for how in flags_of(op):
        for codes in product(*columns):
            check(op, codes, "i4", None, how)


@pytest.mark.long
@pytest.mark.parametrize("op", CASTS)
def test_casts(op: str) -> None:
    pairs = [("i4", "i1"), ("i4", "i3"), ("i8", "i4")] if op == "arith.trunci" else [("i1", "i4"), ("i4", "i8")]
    pairs = [("i4", "index"), ("index", "i4")] if "index" in op else pairs
    for (source, to), how in product(pairs, flags_of(op)):
        size = 4 if source == "index" else int(source[1:])
        wide = [*range(1 << size), *([(1 << 64) - 1, 1 << 63] if source == "index" else [])]
        for code in wide:
            explanation = check(op, (code,), source, to, how)
            if op == "arith.trunci":
                failed = any(conditions(op, (code,), size, int(to[1:]), how))
                assert (explanation.result is None) == failed


@pytest.mark.long
@pytest.mark.parametrize("op", BINARY)
@settings(max_examples=12, deadline=None)
@given(data=st.data())
def test_wide_types(op: str, data: Any) -> None:
    width = data.draw(st.sampled_from([8, 16, 32, 33, 64, 65, 128]))
    edges = st.sampled_from([0, 1, (1 << width) - 1, 1 << (width - 1), (1 << (width - 1)) - 1])
    codes = data.draw(st.tuples(*[st.integers(0, (1 << width) - 1) | edges | st.integers(0, width + 1)] * 2))
    check(op, codes, f"i{width}", None, data.draw(st.sampled_from(flags_of(op))))


@pytest.mark.parametrize("profile", PROFILES)
def test_profiles(profile: str) -> None:
    """Other profiles ignore flags; several results and undefined behaviour are the same in all."""
    explanation = explain_op("arith.addi", 100, 100, type="i8", overflow="nsw", profile=profile)
    expected = hu.eval("arith.addi", 100, 100, type="i8", overflow="nsw", profile=profile)
    assert (explanation.result is None) == bool(expected.poisoned)
    for x, y in ((200, 100), (255, 255)):
        found = hu.eval("arith.addui_extended", of(x, "i8"), of(y, "i8"), profile=profile)
        table = explain_op("arith.addui_extended", of(x, "i8"), of(y, "i8"), profile=profile)
        assert [row.code for row in table.results] == [int(each.bits) for each in found]
    with pytest.raises(hu.UndefinedBehavior):
        hu.eval("arith.divsi", -128, -1, type="i8", profile=profile)


# By hand: the arith document, and two's complement.
STORIES = [
    ("arith.addi", (100, 100), {}, 0xC8, "signed: 100 + 100 = 200, outside -128 to 127: it wraps, - 2^8 = -56"),
    ("arith.addi", (100, 100), {}, 0xC8, "unsigned: 100 + 100 = 200, within 0 to 255"),
    ("arith.addi", (-1, 1), {}, 0, "bits: 1 | 0000_0000: the bits before the bar are cut"),
    (
        "arith.addi",
        (100, 100),
        {"overflow": "nsw"},
        None,
        "nsw: the signed result must fit: 200 is outside -128 to 127",
    ),
    ("arith.subi", (0, 1), {"overflow": "nuw"}, None, "unsigned: 0 - 1 = -1, outside 0 to 255: it wraps, + 2^8 = 255"),
    ("arith.muli", (100, 7), {}, 0xBC, "signed: 100 * 7 = 700, outside -128 to 127: it wraps, - 3 * 2^8 = -68"),
    ("arith.divsi", (7, -2), {}, 0xFD, "signed: 7 / -2 = -7/2, toward zero: -3"),
    ("arith.divsi", (7, -2), {"exact": True}, None, "exact: the remainder must be 0: it is 1"),
    ("arith.floordivsi", (7, -2), {}, 0xFC, "signed: 7 / -2 = -7/2, down: -4"),
    ("arith.ceildivsi", (7, -2), {}, 0xFD, "signed: 7 / -2 = -7/2, up: -3"),
    ("arith.remsi", (-7, 2), {}, 0xFF, "remainder: -7 - -3 * 2 = -1"),
    ("arith.shrsi", (-7, 1), {}, 0xFC, "signed: -7 / 2^1 = -7/2, down: -4"),
    ("arith.shrui", (-7, 1), {}, 0x7C, "bits: 111_1100 | 1: the bits behind the bar are shifted out; zeros move in"),
    ("arith.andi", (12, 10), {}, 8, "lhs: 0000_1100"),
    ("arith.maxui", (-1, 1), {}, 0xFF, "unsigned: 255 and 1"),
]


@pytest.mark.parametrize(("op", "operands", "how", "code", "row"), STORIES)
def test_stories(op: str, operands: tuple[int, int], how: dict[str, Any], code: int | None, row: str) -> None:
    explanation = explain_op(op, *operands, type="i8", **how)
    assert explanation.result == code
    assert row in [f"{name}: {text}" for name, text in explanation.story]
    name, _, text = row.partition(": ")
    assert re.search(rf"^{name} +{re.escape(text)}$", str(explanation), re.MULTILINE)
    assert text.replace("&", "&amp;") in explanation._repr_html_()


def test_rules() -> None:
    assert explain_op("arith.divsi", 1, 0, type="i8").rule == "division by zero: undefined behaviour"
    overflow = explain_op("arith.divsi", -128, -1, type="i8")
    assert overflow.rule == (
        "signed division overflow (minimum value divided by -1): 128 is outside -128 to 127: undefined behaviour"
    )
    assert explain_op("arith.shli", 1, 8, type="i8").rule == (
        "shift amount is not less than the bit width: 8, and the width is 8: poison"
    )
    assert explain_op("arith.cmpi", -1, 1, type="i8", predicate="ult").rule == "255 is not less than 1: false"
    assert explain_op("arith.cmpi", -1, 1, type="i8", predicate="slt").rule == "-1 is less than 1: true"


def test_operands_in_all_readings() -> None:
    lines = str(explain_op("arith.addi", -56, "0x0F", type="i8")).splitlines()
    assert "lhs       -56 signed, 200 unsigned = 0xC8 = 0b1100_1000" in lines
    assert "rhs       15 = 0x0F = 0b0000_1111" in lines
    assert str(explain_op("arith.addi", "poison", 1, type="i8")).count("an operand is poison") == 1
    huge = str(explain_op("arith.muli", of((1 << 20000) - 3, "i20000"), of(5, "i20000"), type="i20000"))
    assert "0x" in huge
