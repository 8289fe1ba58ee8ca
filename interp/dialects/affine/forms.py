"""The custom form of `affine.apply`, which MLIR writes by hand."""

from __future__ import annotations

from halfulp.interp.declare.declarations import CustomForm, CustomParse, OpDefinition
from halfulp.interp.ir.attributes import AffineMapAttr
from halfulp.interp.ir.operations import Operation
from halfulp.interp.ir.types import INDEX
from halfulp.interp.text.op_parser import OpParser
from halfulp.interp.text.op_printer import OpPrinter


def _discardable(printer: OpPrinter, operation: Operation) -> str:
    return f" {printer.dictionary(operation.attributes)}" if operation.attributes else ""


def _apply_parser(definition: OpDefinition) -> CustomParse:
    """Read ``#map(%dimensions)[%symbols]``."""

    def parse(p: OpParser, at: int) -> Operation:
        at_map = p.pos
        map = p.attribute()
        if not isinstance(map, AffineMapAttr):
            p.error("invalid kind of attribute specified", at_map)
        p.expect("(")
        tokens = p.operand_tokens()
        p.expect(")")
        dimensions = len(tokens)
        if p.take("["):
            tokens += p.operand_tokens()
            p.expect("]")
        if dimensions != map.dimensions or len(tokens) - dimensions != map.symbols:
            p.error(f"custom op '{definition.name}' dimension or symbol index mismatch", at)
        operands = [p.use(token, INDEX) for token in tokens]
        results = (INDEX,) * len(map.results)
        return p.placed(
            Operation(definition.name, definition, operands, results, {"map": map}, p.optional_dictionary()), at
        )

    return parse


def _print_apply(printer: OpPrinter, operation: Operation) -> str:
    """Print what `_apply_parser` reads."""
    map = operation.properties["map"]
    assert isinstance(map, AffineMapAttr)
    names = [printer.name(value) for value in operation.operands]
    symbols = f"[{', '.join(names[map.dimensions :])}]" if len(names) > map.dimensions else ""
    return f" {printer.attribute(map)}({', '.join(names[: map.dimensions])}){symbols}{_discardable(printer, operation)}"


APPLY = CustomForm(_apply_parser, _print_apply)
