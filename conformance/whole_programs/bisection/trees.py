"""Sums and products, taken apart: their terms, and the ops between them and the result."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from typing import NamedTuple

from halfulp.conformance.whole_programs.bisection.histories import (
    ADD,
    CAST,
    DIVIDE,
    FUSED,
    MULTIPLY,
    NEGATE,
    SUBTRACT,
    History,
    Number,
    role_of,
)
from halfulp.interp.run.lineage import Node


class Term(NamedTuple):
    """A term of a sum: a number, or the product of the two factors of a fused multiply-add, added or subtracted."""

    sign: int
    factors: tuple[Number, ...]


class Tree:
    """A sum or a product, taken apart: its terms, and the ops between them and the result. ``sign``: that of a product,
    whose factors have none.

    ``inner``: tells whether an op below the root is a part of it. ``is_term``: tells whether a term is taken as a
    whole.
    """

    def __init__(
        self,
        history: History,
        root: Number,
        kind: str,
        inner: Callable[[Node], bool],
        is_term: Callable[[Term], bool] = lambda term: False,
    ) -> None:
        self.kind = kind
        self.terms: list[Term] = []
        self.nodes: list[Node] = []
        self.casts: Counter[tuple[str, str]] = Counter()
        self.sign = 1
        self._postfix: list[Term | str | None] = []  # None combines the two before it; a text is a conversion
        stack: list[Term | str | None] = [Term(1, (root,))]
        while stack:
            term = stack.pop()
            if not isinstance(term, Term):
                self._postfix.append(term)
                continue
            if kind == MULTIPLY:
                self.sign *= term.sign
                term = Term(1, term.factors)
            made = history.made(term.factors[0]) if len(term.factors) == 1 else None
            parts = None
            if isinstance(made, Node) and not made.poison and (not self.nodes or (not is_term(term) and inner(made))):
                parts = _parts(made, term.sign, kind)
            elif self.nodes and not isinstance(made, Node):
                is_term(term)
            if parts is None or not isinstance(made, Node):
                self.terms.append(term)
                self._postfix.append(term)
                continue
            self.nodes.append(made)
            if role_of(made) == CAST:
                self.casts[str(made.operands[0].type), str(made.type)] += 1
                stack.append(f"to {made.type}")
            stack += [None] * (len(parts) - 1)
            stack += reversed(parts)

    def shape(self, places: Mapping[int, int], shapes: dict[object, int], casts: bool = False) -> int | None:
        """Return a number for the order of the ops, the same for the same order, where the order of two operands does
        not matter. ``places``: the numbers of the terms; others add nothing. ``shapes``: the numbers known so far.
        ``casts``: conversions count too.
        """
        stack: list[int | None] = []
        for term in self._postfix:
            if isinstance(term, str):
                if casts and stack[-1] is not None:
                    stack.append(shapes.setdefault((term, stack.pop()), len(shapes)))
                continue
            if term is not None:
                place = places.get(id(term))
                stack.append(None if place is None else shapes.setdefault(("term", place), len(shapes)))
                continue
            two, one = stack.pop(), stack.pop()
            if one is None or two is None:
                stack.append(two if one is None else one)
            else:
                stack.append(shapes.setdefault((min(one, two), max(one, two)), len(shapes)))
        return stack[-1]


KINDS: Mapping[str, str] = {
    ADD: ADD, SUBTRACT: ADD, FUSED: ADD, MULTIPLY: MULTIPLY, CAST: CAST, NEGATE: NEGATE, DIVIDE: DIVIDE, "": ""
}  # fmt: skip


def _parts(node: Node, sign: int, kind: str) -> list[Term] | None:
    """Return the terms of one op of a sum or a product; None for an op that is not part of one."""
    role = role_of(node)
    if KINDS[role] not in (kind, CAST, NEGATE):
        return None
    numbers = node.operands
    if role == FUSED:
        return [Term(sign, numbers[:2]), Term(sign, numbers[2:])]
    signs = {SUBTRACT: (sign, -sign), NEGATE: (-sign,), MULTIPLY: (sign, 1)}.get(role, (sign,) * len(numbers))
    return [Term(each, (number,)) for each, number in zip(signs, numbers, strict=True)]
