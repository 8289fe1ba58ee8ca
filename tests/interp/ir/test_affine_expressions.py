"""Affine expressions: what building simplifies keeps its value, and what is printed reads back to the same map."""

from __future__ import annotations

import hypothesis
import hypothesis.strategies as st
import pytest

from halfulp.interp.ir import affine_expressions as affine
from halfulp.interp.ir.affine_expressions import AffineConstant, AffineExpr, Binary, Dimension, Symbol
from halfulp.interp.ir.attributes import AffineMapAttr, IntegerSetAttr
from halfulp.interp.ir.errors import ParseError
from halfulp.interp.text.affine_parser import MAX_DEPTH
from halfulp.interp.text.parser import parse_attribute

Tree = tuple[str, "Tree", "Tree"] | AffineExpr

LEAVES = st.one_of(
    st.integers(0, 2).map(Dimension), st.integers(0, 1).map(Symbol), st.integers(-12, 12).map(AffineConstant)
)
TREES: st.SearchStrategy[Tree] = st.recursive(
    LEAVES, lambda inner: st.tuples(st.sampled_from(sorted(affine.OPERATORS)), inner, inner), max_leaves=10
)
VALUES = {Dimension(0): 7, Dimension(1): -4, Dimension(2): 30, Symbol(0): 5, Symbol(1): 3}


def evaluate(tree: Tree) -> int:
    """Return the exact value of an unsimplified expression. Raises ZeroDivisionError."""
    if isinstance(tree, Binary):
        tree = (tree.operator, tree.lhs, tree.rhs)
    if isinstance(tree, AffineConstant):
        return tree.value
    if isinstance(tree, AffineExpr):
        return VALUES[tree]
    operator, left, right = tree[0], evaluate(tree[1]), evaluate(tree[2])
    match operator:
        case "+":
            return left + right
        case "-":
            return left - right
        case "*":
            return left * right
        case "floordiv":
            return left // right
        case "ceildiv":
            return -(-left // right)
    if right < 0:
        raise ZeroDivisionError
    return left % right


def build(tree: Tree) -> AffineExpr | None:
    """Return the simplified expression; None for one that is not affine."""
    if isinstance(tree, AffineExpr):
        return tree
    left, right = build(tree[1]), build(tree[2])
    if left is None or right is None:
        return None
    if not (right.symbolic or (left.symbolic and tree[0] == "*") or tree[0] in "+-"):
        return None
    return affine.OPERATORS[tree[0]](left, right)


@hypothesis.given(TREES)
def test_simplifying_keeps_the_value(tree: Tree) -> None:
    built = build(tree)
    hypothesis.assume(built is not None)
    assert built is not None
    try:
        expected = evaluate(tree)
    except ZeroDivisionError:
        hypothesis.reject()
    assert evaluate(built) == expected


@hypothesis.given(st.lists(TREES, max_size=3))
def test_what_is_printed_reads_back(trees: list[Tree]) -> None:
    built = [build(tree) for tree in trees]
    results = tuple(expr for expr in built if expr is not None)
    for attribute in (
        AffineMapAttr(3, 2, results),
        IntegerSetAttr(3, 2, tuple((expr, True) for expr in results) or ((AffineConstant(0), True),)),
    ):
        again = parse_attribute(str(attribute))
        assert str(again) == str(attribute)
        assert parse_attribute(str(again)) == again


def test_maps_are_equal_by_what_they_compute() -> None:
    one, other = (
        parse_attribute(f"affine_map<({a}, {b})[{c}] -> ({a} + {c} + {b} * 2)>") for a, b, c in ("xyz", "ijN")
    )
    assert one == other
    assert hash(one) == hash(other)
    assert parse_attribute("affine_map<(x) -> (x)>") != parse_attribute("affine_map<(x)[s] -> (x)>")


def test_nesting_is_limited() -> None:
    summands = " + ".join(f"d0 mod {n}" for n in range(2, MAX_DEPTH + 2))
    assert str(parse_attribute(f"affine_map<(d0) -> ({summands})>")).count("mod") == MAX_DEPTH
    for text in (f"{summands} + d0 mod 999 + d0 mod 998", "(" * 5000 + "d0", "-" * 5000 + "d0"):
        with pytest.raises(ParseError, match="nest"):
            parse_attribute(f"affine_map<(d0) -> ({text})>")


def test_an_undeclared_name_has_a_hint() -> None:
    with pytest.raises(ParseError) as caught:
        parse_attribute("affine_map<(row, column) -> (row, colum)>")
    assert caught.value.hint == "did you mean `column`?"
