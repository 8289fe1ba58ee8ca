"""The custom form of `bufferization.alloc_tensor`, which MLIR writes by hand."""

from __future__ import annotations

from halfulp.interp.declare.declarations import CustomForm, CustomParse, OpDefinition
from halfulp.interp.declare.operands import SEGMENTS, move_inherent, operand_sizes
from halfulp.interp.ir.attributes import DenseArrayAttr
from halfulp.interp.ir.base import Attribute
from halfulp.interp.ir.operations import Operation
from halfulp.interp.ir.types import I32, INDEX, TensorType
from halfulp.interp.text.op_parser import OpParser
from halfulp.interp.text.op_printer import OpPrinter


def _parser(definition: OpDefinition) -> CustomParse:
    def parse(p: OpParser, at: int) -> Operation:
        p.expect("(")
        sizes = p.operand_tokens()
        p.expect(")")
        copied: list[int] = []
        if p.take("copy"):
            p.expect("(")
            copied.append(p.operand_token())
            p.expect(")")
        hint: list[int] = []
        if p.take("size_hint"):
            p.expect("=")
            hint.append(p.operand_token())
        attributes: dict[str, Attribute] = p.optional_dictionary()
        p.expect(":")
        at_type = p.pos
        type_ = p.type()
        if not isinstance(type_, TensorType):
            p.error(f"custom op '{definition.name}' invalid kind of type specified", at_type)
        operands = [p.use(token, INDEX) for token in sizes]
        operands += [p.use(token, type_) for token in copied]
        operands += [p.use(token, INDEX) for token in hint]
        properties: dict[str, Attribute] = {SEGMENTS: DenseArrayAttr(I32, (len(sizes), len(copied), len(hint)))}
        move_inherent(definition, properties, attributes)
        return p.placed(Operation(definition.name, definition, operands, (type_,), properties, attributes), at)

    return parse


def _print(printer: OpPrinter, operation: Operation) -> str:
    assert operation.definition is not None
    sizes, copied, hint = operand_sizes(operation, operation.definition) or (0, 0, 0)
    names = [printer.name(value) for value in operation.operands]
    text = f"({', '.join(names[:sizes])})"
    if copied:
        text += f" copy({names[sizes]})"
    if hint:
        text += f" size_hint={names[-1]}"
    shown = dict(operation.attributes)
    shown |= {name: value for name, value in operation.properties.items() if name != SEGMENTS}
    dictionary = f" {printer.dictionary(shown)}" if shown else ""
    return f"{text}{dictionary} : {printer.type(operation.results[0].type)}"


ALLOC_TENSOR = CustomForm(_parser, _print)
