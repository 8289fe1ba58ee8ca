"""Affine expressions and maps as fields of an encoding."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any

from halfulp.interp.bytecode.fields import VARINT, CodeSink, CodeSource, Field
from halfulp.interp.bytecode.rules import MAX_RANK
from halfulp.interp.ir import affine_expressions as affine
from halfulp.interp.ir import attributes as at
from halfulp.interp.text.affine_parser import MAX_DEPTH

_OPERATORS = {3: "+", 4: "*", 5: "mod", 6: "floordiv", 7: "ceildiv"}
_NUMBERS = {operator: number for number, operator in _OPERATORS.items()}
_BUILD: Mapping[str, Callable[[affine.AffineExpr, affine.AffineExpr], affine.AffineExpr]] = {
    "+": affine.add,
    "*": affine.multiply,
    "mod": affine.modulo,
    "floordiv": affine.floordiv,
    "ceildiv": affine.ceildiv,
}


dimension = lru_cache(maxsize=MAX_RANK)(affine.Dimension)


def _read_affine(source: CodeSource, before: tuple[Any, ...], depth: int = 0) -> affine.AffineExpr:
    cursor = source.cursor
    start = cursor.pos
    kind = cursor.varint()
    if depth > MAX_DEPTH:
        cursor.fail(f"an affine expression is nested more than {MAX_DEPTH} deep", start)
    if kind in (0, 1):
        position = cursor.varint()
        if position >= before[kind]:
            what = "symbol" if kind else "dimension"
            cursor.fail(f"{what} {position} does not exist: there are {before[kind]}", start)
        return affine.Symbol(position) if kind else dimension(position)
    if kind == 2:
        return affine.AffineConstant(cursor.svarint())
    if kind not in _OPERATORS:
        cursor.fail(f"unknown affine expression {kind}", start)
    left = _read_affine(source, before, depth + 1)
    made = _BUILD[_OPERATORS[kind]](left, _read_affine(source, before, depth + 1))
    # An expression that is wide in the file may be deep when it is simplified.
    if made.depth > MAX_DEPTH:
        cursor.fail(f"an affine expression is nested more than {MAX_DEPTH} deep", start)
    return made


def _write_affine(sink: CodeSink, expr: affine.AffineExpr, before: tuple[Any, ...]) -> None:
    if isinstance(expr, affine.Dimension | affine.Symbol):
        sink.varint(int(isinstance(expr, affine.Symbol)))
        sink.varint(expr.position)
    elif isinstance(expr, affine.AffineConstant):
        sink.varint(2)
        sink.svarint(expr.value)
    else:
        assert isinstance(expr, affine.Binary)
        sink.varint(_NUMBERS[expr.operator])
        _write_affine(sink, expr.lhs, before)
        _write_affine(sink, expr.rhs, before)


EXPRESSION = Field(_read_affine, _write_affine)

_IDENTITY, _PERMUTATION, _PROJECTION, _GENERAL = range(4)


@lru_cache(maxsize=64)
def identity_map(rank: int) -> at.AffineMapAttr:
    """Return the map that returns its dimensions in order."""
    return at.AffineMapAttr(rank, 0, tuple(dimension(position) for position in range(rank)))


def _read_map(source: CodeSource, before: tuple[Any, ...]) -> at.AffineMapAttr:
    """Read the number of dimensions, with the kind of the map in its low bits, and then what that kind needs."""
    cursor = source.cursor
    start = cursor.pos
    head = cursor.varint()
    dimensions, kind = head >> 2, head & 3
    symbols = cursor.varint() if kind == _GENERAL else 0
    if max(dimensions, symbols) > MAX_RANK:
        cursor.fail(f"a map has {max(dimensions, symbols)} dimensions or symbols, but the limit is {MAX_RANK}", start)
    source.spend(dimensions + symbols)
    if kind == _GENERAL:
        exprs = [_read_affine(source, (dimensions, symbols)) for _ in range(cursor.count())]
        return at.AffineMapAttr(dimensions, symbols, tuple(exprs))
    if kind == _IDENTITY:
        return identity_map(dimensions)
    positions = [cursor.varint() for _ in range(cursor.count() if kind == _PROJECTION else dimensions)]
    if any(position >= dimensions for position in positions):
        cursor.fail(f"dimension {max(positions)} does not exist: there are {dimensions}", start)
    return at.AffineMapAttr(dimensions, symbols, tuple(dimension(position) for position in positions))


def _write_map(sink: CodeSink, value: at.AffineMapAttr, before: tuple[Any, ...]) -> None:
    positions = [result.position for result in value.results if isinstance(result, affine.Dimension)]
    plain = not value.symbols and len(positions) == len(value.results) == len(set(positions))
    if not plain:
        kind = _GENERAL
    elif len(positions) < value.dimensions:
        kind = _PROJECTION
    else:
        kind = _IDENTITY if value.is_identity else _PERMUTATION
    sink.varint(value.dimensions << 2 | kind)
    if kind == _GENERAL:
        sink.varint(value.symbols)
        sink.varint(len(value.results))
        for result in value.results:
            _write_affine(sink, result, ())
        return
    if kind == _PROJECTION:
        sink.varint(len(positions))
    for position in positions if kind != _IDENTITY else ():
        sink.varint(position)


def _read_names(source: CodeSource, before: tuple[Any, ...]) -> int:
    count = source.cursor.varint()
    source.spend(min(count, MAX_RANK))
    return count


# A number of dimensions or symbols, each of which has a name in the text.
NAMES = Field(_read_names, VARINT.write)
# An affine map.
MAP = Field(_read_map, _write_map)
