"""affine.dma_start and affine.dma_wait, which are read, verified and printed: nothing says when a transfer happens.

Their maps are attributes in the dictionary, which their own forms leave out.
"""

from __future__ import annotations

from collections.abc import Sequence

from halfulp.interp.declare.declarations import CustomForm, CustomParse, OpDefinition
from halfulp.interp.dialects.affine.inline_maps import print_inline, read_place, used
from halfulp.interp.dialects.affine.symbols import usable
from halfulp.interp.ir.attributes import AffineMapAttr
from halfulp.interp.ir.base import Attribute
from halfulp.interp.ir.operations import Operation, SSAValue
from halfulp.interp.ir.types import INDEX, MemRefType
from halfulp.interp.text.op_parser import OpParser
from halfulp.interp.text.op_printer import OpPrinter

_MAPS = ("src_map", "dst_map", "tag_map")
_Place = tuple[int, AffineMapAttr, list[int]]

# --- forms ------------------------------------------------------------------------------------------------------------


def _read_place(p: OpParser) -> _Place:
    base = p.operand_token()
    return base, *read_place(p)


def _parser(definition: OpDefinition) -> CustomParse:
    starts = definition.name == "affine.dma_start"
    prefix = f"custom op '{definition.name}'"

    def parse(p: OpParser, at: int) -> Operation:
        places = [_read_place(p)]
        for _ in range(2 if starts else 0):
            p.expect(",")
            places.append(_read_place(p))
        p.expect(",")
        count = p.operand_token()
        strides = p.operand_tokens() if p.take(",") else []
        if strides and (len(strides) != 2 or not starts):
            p.error(f"{prefix} expected two stride related operands", at)
        attributes: dict[str, Attribute] = dict(p.optional_dictionary())
        p.expect(":")
        types = p.type_list()
        if len(types) != len(places):
            p.error(f"{prefix} expected {'three types' if starts else 'one type'}", at)
        operands: list[SSAValue] = []
        for name, (base, map_, tokens), type_ in zip(_MAPS if starts else _MAPS[2:], places, types, strict=True):
            operands += [p.use(base, type_), *used(p, tokens)]
            attributes[name] = map_
        operands += used(p, [count, *strides])
        return p.placed(Operation(definition.name, definition, operands, (), {}, attributes), at)

    return parse


def _places(op: Operation) -> list[tuple[AffineMapAttr, list[SSAValue]]] | None:
    """Return the map and the operands, the memref first, of each place; None where they do not fit."""
    found = []
    start = 0
    for name in _MAPS if op.name == "affine.dma_start" else _MAPS[2:]:
        map_ = op.attributes.get(name)
        if not isinstance(map_, AffineMapAttr):
            return None
        end = start + 1 + map_.dimensions + map_.symbols
        found.append((map_, op.operands[start:end]))
        start = end
    return found if start < len(op.operands) else None


def _print(printer: OpPrinter, op: Operation) -> str:
    places = _places(op) or []
    texts = [f"{printer.name(operands[0])}[{print_inline(printer, map_, operands[1:])}]" for map_, operands in places]
    rest: Sequence[SSAValue] = op.operands[sum(len(operands) for _, operands in places) :]
    texts += map(printer.name, rest)
    types = ", ".join(printer.type(operands[0].type) for _, operands in places)
    return f" {', '.join(texts)} : {types}"


START = CustomForm(_parser, _print)
WAIT = CustomForm(_parser, _print)

# --- rules ------------------------------------------------------------------------------------------------------------


def verify_start(op: Operation) -> str | None:
    """Check the operands of affine.dma_start, which are one list."""
    places = _places(op)
    if places is None:
        return "incorrect number of operands"
    for word, (_, operands) in zip(("source", "destination", "tag"), places, strict=True):
        if not isinstance(operands[0].type, MemRefType):
            return f"expected DMA {word} to be of memref type"
    for word, (_, operands) in zip(("src", "dst", "tag"), places, strict=True):
        if any(value.type != INDEX for value in operands[1:]):
            return f"{word} index to dma_start must have 'index' type"
        if not all(map(usable, operands[1:])):
            return f"{word} index must be a valid dimension or symbol identifier"
    rest = len(op.operands) - sum(len(operands) for _, operands in places)
    return None if rest in (1, 3) else "incorrect number of operands"


def verify_wait(op: Operation) -> str | None:
    """Check the operands of affine.dma_wait."""
    places = _places(op)
    if places is None or not isinstance(places[0][1][0].type, MemRefType):
        return "expected DMA tag to be of memref type"
    if any(value.type != INDEX for value in places[0][1][1:]):
        return "index to dma_wait must have 'index' type"
    if not all(map(usable, places[0][1][1:])):
        return "index must be a valid dimension or symbol identifier"
    return None
