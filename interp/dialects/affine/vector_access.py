"""affine.vector_load, affine.vector_store and affine.prefetch: memory at indices that are affine expressions."""

from __future__ import annotations

from typing import Any

from halfulp.interp.declare.declarations import CustomForm, CustomParse, OpDefinition
from halfulp.interp.dialects.affine import access
from halfulp.interp.dialects.affine.inline_maps import print_inline, read_place, used
from halfulp.interp.dialects.affine.symbols import misused, usable
from halfulp.interp.dialects.memref import evaluate as memory
from halfulp.interp.ir.attributes import AffineMapAttr, BoolAttr, IntegerAttr
from halfulp.interp.ir.base import Attribute, Type
from halfulp.interp.ir.operations import Operation
from halfulp.interp.ir.types import I32, MemRefType, VectorType, element_type, shape_of
from halfulp.interp.run.frames import Function, Run
from halfulp.interp.run.settings import Settings
from halfulp.interp.text.op_parser import OpParser
from halfulp.interp.text.op_printer import OpPrinter

# --- forms ------------------------------------------------------------------------------------------------------------


def memref_type(p: OpParser) -> MemRefType:
    """Read the type of a ranked memref."""
    at = p.pos
    type_ = p.type()
    if not isinstance(type_, MemRefType) or type_.shape is None:
        p.error(f"invalid kind of type specified: expected builtin.memref, but found '{type_}'", at)
    return type_


def _parser(definition: OpDefinition) -> CustomParse:
    stores = not definition.results

    def parse(p: OpParser, at: int) -> Operation:
        value = p.operand_token() if stores else None
        if stores:
            p.expect(",")
        base = p.operand_token()
        map_, tokens = read_place(p)
        attributes = p.optional_dictionary()
        p.expect(":")
        type_ = memref_type(p)
        p.expect(",")
        at_vector = p.pos
        vector: Type = p.type()
        if not isinstance(vector, VectorType):
            p.error(
                f"custom op '{definition.name}' invalid kind of type specified: expected builtin.vector, but found "
                f"'{vector}'",
                at_vector,
            )
        operands = [p.use(base, type_), *used(p, tokens)]
        if value is not None:
            operands.insert(0, p.use(value, vector))
        results = () if stores else (vector,)
        return p.placed(Operation(definition.name, definition, operands, results, {"map": map_}, attributes), at)

    return parse


def _element(printer: OpPrinter, op: Operation, which: int) -> str:
    map_ = op.properties["map"]
    assert isinstance(map_, AffineMapAttr)
    return f"{printer.name(op.operands[which])}[{print_inline(printer, map_, op.operands[which + 1 :])}]"


def _print(printer: OpPrinter, op: Operation) -> str:
    which = 0 if op.results else 1
    vector = (op.results or op.operands)[0].type
    text = f" {printer.name(op.operands[0])}," if which else ""
    text += f" {_element(printer, op, which)}"
    text += f" {printer.dictionary(op.attributes)}" if op.attributes else ""
    return f"{text} : {printer.type(op.operands[which].type)}, {printer.type(vector)}"


def _prefetch_parser(definition: OpDefinition) -> CustomParse:
    prefix = f"custom op '{definition.name}'"

    def parse(p: OpParser, at: int) -> Operation:
        base = p.operand_token()
        map_, tokens = read_place(p)
        p.expect(",")
        access_word = p.tokens[p.pos]
        p.pos += 1
        p.expect(",")
        p.keyword(definition, "locality")
        p.expect("<")
        locality = p.attribute(I32)
        p.expect(">")
        p.expect(",")
        cache = p.tokens[p.pos]
        p.pos += 1
        attributes = p.optional_dictionary()
        p.expect(":")
        type_ = memref_type(p)
        if access_word not in ("read", "write"):
            p.error(f"{prefix} rw specifier has to be 'read' or 'write'", at)
        if cache not in ("data", "instr"):
            p.error(f"{prefix} cache type has to be 'data' or 'instr'", at)
        properties: dict[str, Attribute] = {
            "isDataCache": BoolAttr(cache == "data"),
            "isWrite": BoolAttr(access_word == "write"),
            "localityHint": locality,
            "map": map_,
        }
        operands = [p.use(base, type_), *used(p, tokens)]
        return p.placed(Operation(definition.name, definition, operands, (), properties, attributes), at)

    return parse


def _print_prefetch(printer: OpPrinter, op: Operation) -> str:
    numbers = [op.properties[name] for name in ("isWrite", "localityHint", "isDataCache")]
    write, locality, data = (number.value for number in numbers if isinstance(number, IntegerAttr))
    text = f" {_element(printer, op, 0)}, {'write' if write else 'read'}, locality<{locality}>, "
    text += "data" if data else "instr"
    text += f" {printer.dictionary(op.attributes)}" if op.attributes else ""
    return f"{text} : {printer.type(op.operands[0].type)}"


FORM = CustomForm(_parser, _print)
PREFETCH = CustomForm(_prefetch_parser, _print_prefetch)

# --- rules ------------------------------------------------------------------------------------------------------------


def verify(op: Operation) -> str | None:
    """Check that the map fits the memref and the operands, and the element types each other."""
    which = 0 if op.results else 1
    problem = _verify_map(op, which, "")
    if problem:
        return problem
    vector = (op.results or op.operands)[0].type
    if element_type(op.operands[which].type) != element_type(vector):
        return "requires memref and vector types of the same elemental type"
    return None


def verify_prefetch(op: Operation) -> str | None:
    """Check that the map fits the memref and the operands."""
    return _verify_map(op, 0, "affine.prefetch ")


def _verify_map(op: Operation, which: int, name: str) -> str | None:
    map_ = op.properties["map"]
    assert isinstance(map_, AffineMapAttr)
    if len(map_.results) != len(shape_of(op.operands[which].type) or ()):
        return f"{name}affine map num results must equal memref rank"
    if map_.dimensions + map_.symbols != len(op.operands) - which - 1:
        return "expects as many subscripts as affine map inputs"
    if name:
        valid = all(map(usable, op.operands[1:]))
        return None if valid else "index must be a valid dimension or symbol identifier"
    return misused(op.operands[which + 1 :], map_.dimensions)


# --- evaluation -------------------------------------------------------------------------------------------------------


def load(op: Operation, settings: Settings) -> Function:
    """Return the function of affine.vector_load."""
    inner, places = memory.load_vector(op, settings), access.indices(op, 1, settings)
    return lambda run, slots: inner(run, (slots[0], *places(slots)))


def store(op: Operation, settings: Settings) -> Function:
    """Return the function of affine.vector_store."""
    inner, places = memory.store_vector(op, settings), access.indices(op, 2, settings)

    def put(run: Run, slots: tuple[Any, ...]) -> tuple[Any, ...]:
        return inner(run, (slots[0], slots[1], *places(slots)))

    return put


def prefetch(op: Operation, settings: Settings) -> Function:
    """Return the function of affine.prefetch, which does nothing: a hint may name a place outside of memory."""
    return lambda run, slots: ()
