"""affine.load and affine.store: memory at indices that are affine expressions of values."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from halfulp.interp.declare.declarations import CustomForm, CustomParse, OpDefinition
from halfulp.interp.dialects.affine.formulas import apply_kernel, formula_of
from halfulp.interp.dialects.affine.inline_maps import print_inline, read_place, used
from halfulp.interp.dialects.affine.symbols import misused
from halfulp.interp.dialects.indices import numbers, undefined
from halfulp.interp.dialects.memref import evaluate as memory
from halfulp.interp.ir.affine_expressions import AffineExpr, Dimension, Symbol
from halfulp.interp.ir.attributes import AffineMapAttr
from halfulp.interp.ir.operations import Operation
from halfulp.interp.ir.types import MemRefType, element_type, shape_of
from halfulp.interp.run.frames import Function, Run
from halfulp.interp.run.settings import Settings
from halfulp.interp.text.op_parser import OpParser
from halfulp.interp.text.op_printer import OpPrinter

# --- forms ------------------------------------------------------------------------------------------------------------


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
        at_type = p.pos
        type_ = p.type()
        if not isinstance(type_, MemRefType) or type_.shape is None:
            p.error(f"invalid kind of type specified: expected builtin.memref, but found '{type_}'", at_type)
        operands = [p.use(base, type_), *used(p, tokens)]
        if value is not None:
            operands.insert(0, p.use(value, type_.element))
        results = () if stores else (type_.element,)
        return p.placed(Operation(definition.name, definition, operands, results, {"map": map_}, attributes), at)

    return parse


def _print(printer: OpPrinter, op: Operation) -> str:
    which = _memory(op)
    map_ = op.properties["map"]
    assert isinstance(map_, AffineMapAttr)
    base = op.operands[which]
    text = f" {printer.name(op.operands[0])}," if which else ""
    text += f" {printer.name(base)}[{print_inline(printer, map_, op.operands[which + 1 :])}]"
    text += f" {printer.dictionary(op.attributes)}" if op.attributes else ""
    return f"{text} : {printer.type(base.type)}"


FORM = CustomForm(_parser, _print)

# --- rules ------------------------------------------------------------------------------------------------------------


def _memory(op: Operation) -> int:
    """Return the number of the operand that is the memref."""
    return 0 if op.results else 1


def verify(op: Operation) -> str | None:
    """Check that the map fits the memref and the operands."""
    which = _memory(op)
    map_, rank = op.properties["map"], len(shape_of(op.operands[which].type) or ())
    if which and op.operands[0].type != element_type(op.operands[1].type):
        return "value to store must have the same type as memref element type"
    assert isinstance(map_, AffineMapAttr)
    if len(map_.results) != rank:
        return f"affine map num results must equal memref rank: expected {rank}, got {len(map_.results)}"
    indices = op.operands[which + 1 :]
    if map_.dimensions + map_.symbols != len(indices):
        return "expects as many subscripts as affine map inputs"
    return misused(indices, map_.dimensions)


# --- evaluation -------------------------------------------------------------------------------------------------------

Index = Callable[[Sequence[Any]], Any]


def indices(op: Operation, first: int, settings: Settings) -> Callable[[Sequence[Any]], tuple[Any, ...]]:
    """Return the function from slots to the indices of an access: codes.

    ``first``: the number of the first operand of the map. A result that is no number (poison) is undefined behaviour.
    """
    map_ = op.properties["map"]
    assert isinstance(map_, AffineMapAttr)
    each = [_index(op, map_, result, first, settings) for result in map_.results]
    return lambda slots: tuple([index(slots) for index in each])


def _index(op: Operation, map_: AffineMapAttr, result: AffineExpr, first: int, settings: Settings) -> Index:
    if isinstance(result, Dimension | Symbol):
        place = first + result.position + (map_.dimensions if isinstance(result, Symbol) else 0)
        return lambda slots: slots[place]
    kernel = apply_kernel(formula_of(map_, result, settings), settings.index_width)
    mask = (1 << settings.index_width) - 1

    def computed(slots: Sequence[Any]) -> int:
        codes = slots[first:]
        if any(code.__class__ is not int for code in codes):
            codes = [number & mask for number in numbers(op, codes, settings)]
        found = kernel.scalar(*codes)
        if found.__class__ is not int:
            raise undefined(op, f"an index of the map is not a number: {getattr(found, 'reason', found)}")
        return found

    return computed


def load(op: Operation, settings: Settings) -> Function:
    """Return the function of affine.load."""
    inner, places = memory.load(op, settings), indices(op, 1, settings)
    return lambda run, slots: inner(run, (slots[0], *places(slots)))


def store(op: Operation, settings: Settings) -> Function:
    """Return the function of affine.store."""
    inner, places = memory.store(op, settings), indices(op, 2, settings)

    def put(run: Run, slots: tuple[Any, ...]) -> tuple[Any, ...]:
        return inner(run, (slots[0], slots[1], *places(slots)))

    return put
