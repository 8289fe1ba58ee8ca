"""Operand bundles: lists of values with a tag that a call or an assumption carries; the form of llvm.intr.assume."""

from __future__ import annotations

from halfulp.interp.declare.declarations import CustomForm, CustomParse, OpDefinition
from halfulp.interp.dialects.cf.forms import typed_operands
from halfulp.interp.dialects.llvm.forms import completed, print_dictionary, read_dictionary
from halfulp.interp.ir.attributes import ArrayAttr, DenseArrayAttr, StringAttr
from halfulp.interp.ir.base import Attribute
from halfulp.interp.ir.literals import quoted
from halfulp.interp.ir.operations import Operation, SSAValue
from halfulp.interp.ir.types import I32
from halfulp.interp.text.op_parser import OpParser
from halfulp.interp.text.op_printer import OpPrinter


def read_bundles(p: OpParser) -> tuple[list[list[SSAValue]], list[Attribute]]:
    """Read optional operand bundles, and return their values and their tags."""
    bundles: list[list[SSAValue]] = []
    tags: list[Attribute] = []
    if not p.take("["):
        return bundles, tags
    while tags or p.tokens[p.pos] != "]":
        tags.append(StringAttr(p.string()))
        p.expect("(")
        tokens, types = typed_operands(p)
        if len(tokens) != len(types):
            p.error(
                f"expected {len(tokens)} types for operand bundle operands for operand bundle #{len(bundles)}, but "
                f"actually got {len(types)}",
            )
        bundles.append([p.use(token, type) for token, type in zip(tokens, types, strict=True)])
        if not p.take(","):
            break
    p.expect("]")
    return bundles, tags


def bundles_of(op: Operation, values: list[SSAValue]) -> list[tuple[str, list[SSAValue]]]:
    """Return the tag and the values of each bundle of an op, whose values are these."""
    sizes, tags = op.properties.get("op_bundle_sizes"), op.properties.get("op_bundle_tags")
    if not isinstance(sizes, DenseArrayAttr) or not isinstance(tags, ArrayAttr):
        return []
    found = []
    for size, tag in zip(sizes.values, tags.elements, strict=True):
        assert isinstance(tag, StringAttr)
        found.append((tag.value, values[:size]))
        values = values[size:]
    return found


def print_bundles(printer: OpPrinter, op: Operation, values: list[SSAValue]) -> str:
    """Print the operand bundles of an op, whose values these are."""
    texts = []
    for tag, bundle in bundles_of(op, values):
        names = ", ".join(printer.name(value) for value in bundle)
        types = ", ".join(printer.type(value.type) for value in bundle)
        texts.append(f"{quoted(tag)}({f'{names} : {types}' if bundle else ''})")
    return f" [{', '.join(texts)}]" if texts else ""


# --- assumptions ------------------------------------------------------------------------------------------------------


def _assume_parser(definition: OpDefinition) -> CustomParse:
    """Read ``%condition ["tag"(%a : type)] : i1 {…}``."""

    def parse(p: OpParser, at: int) -> Operation:
        condition = p.operand_token()
        bundles, tags = read_bundles(p)
        properties: dict[str, Attribute] = {}
        if tags:
            properties["op_bundle_tags"] = ArrayAttr(tuple(tags))
        properties["op_bundle_sizes"] = DenseArrayAttr(I32, tuple(len(bundle) for bundle in bundles))
        p.expect(":")
        type_ = p.type()
        attributes = read_dictionary(p, definition, properties)
        operands = [p.use(condition, type_), *(value for bundle in bundles for value in bundle)]
        return completed(p, Operation(definition.name, definition, operands, (), properties, attributes), at)

    return parse


def _print_assume(printer: OpPrinter, op: Operation) -> str:
    condition, *passed = op.operands
    bundles = print_bundles(printer, op, passed)
    if not bundles and "op_bundle_tags" in op.properties:
        bundles = " "  # as mlir-opt prints an empty list
    extra = print_dictionary(printer, op, ("op_bundle_sizes", "op_bundle_tags"))
    return f" {printer.name(condition)}{bundles} : {printer.type(condition.type)}{extra}"


ASSUME = CustomForm(_assume_parser, _print_assume)
