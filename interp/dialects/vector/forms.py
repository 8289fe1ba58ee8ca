"""Custom forms that MLIR writes by hand: vector.contract, vector.outerproduct and vector.mask."""

from __future__ import annotations

from collections.abc import Sequence

from halfulp.interp.declare.declarations import CustomForm, CustomParse, OpDefinition, Trait
from halfulp.interp.declare.operands import move_inherent
from halfulp.interp.dialects.vector.attributes import ITERATOR_TYPE, scalable_dimensions, vector_of
from halfulp.interp.ir.attributes import ArrayAttr, DictionaryAttr, StringAttr
from halfulp.interp.ir.base import Attribute, Type
from halfulp.interp.ir.dialect_attributes import EnumAttr
from halfulp.interp.ir.operations import Block, Operation, Region, SSAValue
from halfulp.interp.ir.types import VectorType
from halfulp.interp.text.op_parser import OpParser
from halfulp.interp.text.op_printer import OpPrinter

_TRAITS = ("indexing_maps", "iterator_types", "kind")
_YIELD = "vector.yield"


def into(p: OpParser, definition: OpDefinition, word: str) -> Type:
    """Read a word and the type behind it."""
    p.keyword(definition, word)
    return p.type()


def _names(printer: OpPrinter, values: Sequence[SSAValue]) -> str:
    return ", ".join(map(printer.name, values))


# --- contract ---------------------------------------------------------------------------------------------------------


def _contract_parser(definition: OpDefinition) -> CustomParse:
    prefix = f"custom op '{definition.name}' "

    def parse(p: OpParser, at: int) -> Operation:
        start = p.pos
        trait = p.attribute()
        if not isinstance(trait, DictionaryAttr):
            p.error(f"{prefix}invalid kind of attribute specified", start)
        entries = dict(trait.entries)
        entries["iterator_types"] = _iterators(p, prefix, start, entries.get("iterator_types"))
        operands = [p.operand_token()]
        for _ in range(2):
            p.expect(",")
            operands.append(p.operand_token())
        masks = []
        while p.take(","):
            masks.append(p.operand_token())
        if p.tokens[p.pos] == "{":
            p.dictionary(entries)
        p.expect(":")
        types = p.type_list()
        result = into(p, definition, "into")
        if len(types) < 2:
            p.error(f"{prefix}expected two types", at)
        values = [p.use(token, kind) for token, kind in zip(operands, (*types[:2], result), strict=True)]
        if masks:
            p.error(f"{prefix}expected zero or exactly 2 vector mask operands", at)
        properties: dict[str, Attribute] = {}
        move_inherent(definition, properties, entries)
        return p.placed(Operation(definition.name, definition, values, [result], properties, entries), at)

    return parse


def _iterators(p: OpParser, prefix: str, start: int, written: Attribute | None) -> ArrayAttr:
    """Return iterator types, which the custom form writes as strings, as attributes of their own."""
    if not isinstance(written, ArrayAttr):
        p.error(f'{prefix}expected "iterator_types" array attribute', start)
    found = []
    for word in written.elements:
        if not isinstance(word, StringAttr):
            p.error(f"{prefix}the iterator types are strings here", start)
        if word.value not in ITERATOR_TYPE.cases:
            p.error(f"{prefix}unexpected iterator_type ({word.value})", start)
        found.append(ITERATOR_TYPE.attribute(ITERATOR_TYPE.cases[word.value]))
    return ArrayAttr(tuple(found))


def _print_contract(printer: OpPrinter, operation: Operation) -> str:
    shown: dict[str, Attribute] = dict(operation.properties)
    iterators = shown["iterator_types"]
    assert isinstance(iterators, ArrayAttr)
    shown["iterator_types"] = ArrayAttr(
        tuple(StringAttr(each.keywords) for each in iterators.elements if isinstance(each, EnumAttr))
    )
    text = f" {printer.dictionary(shown)} {_names(printer, operation.operands)}"
    if operation.attributes:
        text += f" {printer.dictionary(operation.attributes)}"
    left, right, _ = (printer.type(value.type) for value in operation.operands)
    return f"{text} : {left}, {right} into {printer.type(operation.results[0].type)}"


# --- outerproduct -----------------------------------------------------------------------------------------------------


def _outer_type(left: VectorType, right: Type) -> VectorType:
    """Return the type of a product; for a scalar on the right that of the left side."""
    sides = [left, right] if isinstance(right, VectorType) else [left]
    shape = tuple(side.shape[0] if side.shape else 1 for side in sides)
    return vector_of(shape, left.element, tuple((*scalable_dimensions(side), False)[0] for side in sides))


def _outer_parser(definition: OpDefinition) -> CustomParse:
    prefix = f"custom op '{definition.name}' "

    def parse(p: OpParser, at: int) -> Operation:
        operands = p.operand_tokens()
        entries: dict[str, Attribute] = dict(p.optional_dictionary())
        p.expect(":")
        left = p.type()
        p.expect(",")
        right = p.type()
        if len(operands) < 2:
            p.error(f"{prefix}expected at least 2 operands", at)
        if not isinstance(left, VectorType):
            p.error(f"{prefix}expected vector type for operand #1", at)
        result = _outer_type(left, right)
        values = [p.use(token, kind) for token, kind in zip(operands, (left, right, result), strict=False)]
        properties: dict[str, Attribute] = {}
        move_inherent(definition, properties, entries)
        return p.placed(Operation(definition.name, definition, values, [result], properties, entries), at)

    return parse


def _print_outer(printer: OpPrinter, operation: Operation) -> str:
    text = f" {_names(printer, operation.operands)}"
    if len(operation.operands) > 2:
        # As in MLIR, attributes are printed only behind the third operand.
        text += f" {printer.dictionary({**operation.properties, **operation.attributes})}"
    return f"{text} : {', '.join(printer.type(value.type) for value in operation.operands[:2])}"


# --- mask -------------------------------------------------------------------------------------------------------------


def _terminated(p: OpParser, region: Region, at: int) -> Region:
    """Add the terminator that returns the results of the only op in a region, if there is none."""
    if not region.blocks or not region.blocks[0].operations:
        return p.terminated(region, _YIELD, at)
    block = region.blocks[0]
    last = block.operations[-1]
    if last.name == _YIELD:
        return region
    values: list[SSAValue] = list(last.results) if len(block.operations) == 1 else []
    if (
        values
        or len(block.operations) != 1
        or last.definition is None
        or Trait.TERMINATOR not in last.definition.traits
    ):
        block.append(p.placed(Operation(_YIELD, p.registry.find(_YIELD), values), at))
    return region


def _mask_parser(definition: OpDefinition) -> CustomParse:
    def parse(p: OpParser, at: int) -> Operation:
        operands = [p.operand_token()]
        if p.take(","):
            operands.append(p.operand_token())
        region = _terminated(p, p.region(definition.name), at)
        entries: dict[str, Attribute] = dict(p.optional_dictionary())
        p.expect(":")
        mask = p.type()
        results = p.function_results() if p.take("->") else ()
        if len(operands) > 1 and not results:
            p.error(f"custom op '{definition.name}' expects a result if passthru operand is provided", at)
        values = [p.use(token, kind) for token, kind in zip(operands, (mask, *results[:1]), strict=False)]
        return p.placed(Operation(definition.name, definition, values, results, {}, entries, [region]), at)

    return parse


def _print_mask(printer: OpPrinter, operation: Operation) -> str:
    block: Block = operation.regions[0].blocks[0]
    inner = printer.unbound(block.operations[0]) if block.operations else ""
    text = f" {_names(printer, operation.operands)} {{ {inner} }}"
    if operation.attributes:
        text += f" {printer.dictionary(operation.attributes)}"
    text += f" : {printer.type(operation.operands[0].type)}"
    if operation.results:
        text += f" -> {', '.join(printer.type(result.type) for result in operation.results)}"
    return text


CONTRACT = CustomForm(_contract_parser, _print_contract)
OUTER_PRODUCT = CustomForm(_outer_parser, _print_outer)
MASK = CustomForm(_mask_parser, _print_mask)
