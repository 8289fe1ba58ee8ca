"""The custom forms of affine.apply, affine.min and affine.max, which MLIR writes by hand."""

from __future__ import annotations

from collections.abc import Callable

from halfulp.interp.declare.declarations import CustomForm, CustomParse, OpDefinition
from halfulp.interp.dialects.affine.inline_maps import print_lists, read_lists, used
from halfulp.interp.ir.attributes import AffineMapAttr
from halfulp.interp.ir.base import Attribute
from halfulp.interp.ir.operations import Operation
from halfulp.interp.ir.types import INDEX
from halfulp.interp.text.op_parser import OpParser
from halfulp.interp.text.op_printer import OpPrinter


def _parser(by_map: bool) -> Callable[[OpDefinition], CustomParse]:
    """Return the parser of ``#map(%dimensions)[%symbols]``. ``by_map``: the op has as many results as the map."""

    def parser(definition: OpDefinition) -> CustomParse:
        def parse(p: OpParser, at: int) -> Operation:
            at_map = p.pos
            map_ = p.attribute()
            if not isinstance(map_, AffineMapAttr):
                p.error("invalid kind of attribute specified", at_map)
            tokens, dimensions = read_lists(p)
            if by_map and (dimensions, len(tokens) - dimensions) != (map_.dimensions, map_.symbols):
                p.error(f"custom op '{definition.name}' dimension or symbol index mismatch", at)
            results = (INDEX,) * (len(map_.results) if by_map else 1)
            operands = used(p, tokens)
            properties: dict[str, Attribute] = {"map": map_}
            return p.placed(
                Operation(definition.name, definition, operands, results, properties, p.optional_dictionary()), at
            )

        return parse

    return parser


def _print(printer: OpPrinter, operation: Operation) -> str:
    map_ = operation.properties["map"]
    assert isinstance(map_, AffineMapAttr)
    text = f" {printer.attribute(map_)}{print_lists(printer, map_.dimensions, operation.operands)}"
    return text + (f" {printer.dictionary(operation.attributes)}" if operation.attributes else "")


APPLY = CustomForm(_parser(by_map=True), _print)
EXTREME = CustomForm(_parser(by_map=False), _print)
