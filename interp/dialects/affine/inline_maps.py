"""Affine maps that are written over values, ``%i + 1, symbol(%n)``, and over lists of values, ``#map(%i)[%n]``."""

from __future__ import annotations

import re
from collections.abc import Sequence

from halfulp.interp.ir.affine_expressions import AffineExpr, Dimension, Symbol, spell
from halfulp.interp.ir.attributes import AffineMapAttr
from halfulp.interp.ir.operations import SSAValue
from halfulp.interp.ir.types import INDEX
from halfulp.interp.text.affine_parser import AffineParser
from halfulp.interp.text.op_parser import OpParser
from halfulp.interp.text.op_printer import OpPrinter

_PLACE = re.compile(r"\b([ds])(\d+)\b")


class _OverValues(AffineParser):
    """A parser of expressions whose operands are values. ``found``: the tokens of dimensions and of symbols."""

    def __init__(self, parser: OpParser) -> None:
        super().__init__(parser)
        self._parser = parser
        self.found: dict[type[AffineExpr], dict[str, int]] = {Dimension: {}, Symbol: {}}

    def _operand(self, left: AffineExpr | None) -> AffineExpr:
        parser = self._parser
        token = parser.tokens[parser.pos]
        if token[:1] == "%":
            return self._value(Dimension)
        if token == "symbol" and parser.tokens[parser.pos + 1] == "(":
            parser.pos += 2
            value = self._value(Symbol)
            parser.expect(")")
            return value
        return super()._operand(left)

    def _value(self, kind: type[Dimension] | type[Symbol]) -> AffineExpr:
        at = self._parser.operand_token()
        named = self.found[kind]
        name = self._parser.tokens[at]
        numbers = list(named)
        if name not in named:
            named[name] = at
            numbers.append(name)
        return kind(numbers.index(name))


def read_inline(p: OpParser, end: str = "]") -> tuple[AffineMapAttr, list[int]]:
    """Read expressions up to the token ``end``, and return their map and the tokens of its operands."""
    inner = _OverValues(p)
    if not p.take(end):
        inner.results.append(inner.expression())
        while p.take(","):
            inner.results.append(inner.expression())
        p.expect(end)
    dimensions, symbols = inner.found[Dimension], inner.found[Symbol]
    map_ = AffineMapAttr(len(dimensions), len(symbols), tuple(inner.results))
    return map_, [*dimensions.values(), *symbols.values()]


def print_inline(printer: OpPrinter, map_: AffineMapAttr, operands: Sequence[SSAValue]) -> str:
    """Print the expressions of a map over its operands."""

    def name(found: re.Match[str]) -> str:
        number = int(found[2])
        if found[1] == "d":
            return printer.name(operands[number])
        return f"symbol({printer.name(operands[map_.dimensions + number])})"

    return ", ".join(_PLACE.sub(name, spell(result)) for result in map_.results)


def read_place(p: OpParser) -> tuple[AffineMapAttr, list[int]]:
    """Read ``[%i + 1, %j]``, the indices of an element, and return their map and the tokens of its operands."""
    if not p.take("["):
        p.wrong_token("expected '[' in affine map")
    return read_inline(p)


def read_lists(p: OpParser) -> tuple[list[int], int]:
    """Read ``(%dimensions)[%symbols]`` and return the tokens, and the number of dimensions."""
    p.expect("(")
    tokens = p.operand_tokens()
    p.expect(")")
    dimensions = len(tokens)
    if p.take("["):
        tokens += p.operand_tokens()
        p.expect("]")
    return tokens, dimensions


def print_lists(printer: OpPrinter, dimensions: int, operands: Sequence[SSAValue]) -> str:
    """Print ``(%dimensions)[%symbols]``; no brackets without symbols."""
    names = [printer.name(value) for value in operands]
    symbols = f"[{', '.join(names[dimensions:])}]" if len(names) > dimensions else ""
    return f"({', '.join(names[:dimensions])}){symbols}"


def used(p: OpParser, tokens: Sequence[int]) -> list[SSAValue]:
    """Return the index values of some tokens."""
    return [p.use(token, INDEX) for token in tokens]


def read_groups(p: OpParser, word: str) -> tuple[AffineMapAttr, list[int], list[int]]:
    """Read ``(%i + 1, max(%j, 3))``: expressions of values, several in one place behind ``word``. Return their map, the
    tokens of its operands, and the number of results in each place.
    """
    inner = _OverValues(p)
    sizes: list[int] = []
    p.expect("(")
    while p.tokens[p.pos] != ")":
        before = len(inner.results)
        if p.take(word):
            p.expect("(")
            if p.tokens[p.pos] != ")":
                inner.results.append(inner.expression())
            while p.take(","):
                inner.results.append(inner.expression())
            p.expect(")")
        else:
            inner.results.append(inner.expression())
        sizes.append(len(inner.results) - before)
        if not p.take(","):
            break
    p.expect(")")
    dimensions, symbols = inner.found[Dimension], inner.found[Symbol]
    map_ = AffineMapAttr(len(dimensions), len(symbols), tuple(inner.results))
    return map_, [*dimensions.values(), *symbols.values()], sizes


def inline_group(
    printer: OpPrinter, map_: AffineMapAttr, results: Sequence[AffineExpr], operands: Sequence[SSAValue]
) -> str:
    """Print some results of a map over its operands."""
    return print_inline(printer, AffineMapAttr(map_.dimensions, map_.symbols, tuple(results)), operands)
