"""The affine dialect (`AffineOps.td`): loops, conditions and memory whose indices are affine expressions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from halfulp.fp_formats.paths.words import Word
from halfulp.interp.declare import declarations as d
from halfulp.interp.declare.operands import operand_groups
from halfulp.interp.dialects.affine import indexing, loops, parallel, symbols
from halfulp.interp.dialects.affine.formulas import apply_kernel, formula_of
from halfulp.interp.dialects.elementwise import ATOMIC_KIND
from halfulp.interp.dialects.memref import evaluate as memref
from halfulp.interp.dialects.memref import in_lanes as memref_in_lanes
from halfulp.interp.dialects.memref.ops import MEMREF, access
from halfulp.interp.dialects.regions import declare_yield
from halfulp.interp.dialects.scf.forms import either, yielded
from halfulp.interp.ir.affine_expressions import AffineConstant, Dimension, Symbol
from halfulp.interp.ir.attributes import (
    AffineMapAttr,
    ArrayAttr,
    BoolAttr,
    DenseElementsAttr,
    IntegerAttr,
    IntegerSetAttr,
    UnitAttr,
)
from halfulp.interp.ir.base import Attribute
from halfulp.interp.ir.errors import VerifyError
from halfulp.interp.ir.operations import Operation, SSAValue
from halfulp.interp.ir.types import I32, INDEX, MemRefType, element_type
from halfulp.interp.run.evaluators import Elementwise, OnFrames, OnValues
from halfulp.interp.run.settings import Settings
from halfulp.interp.text.op_parser import OpParser, OpPrinter
from halfulp.semantics.kernel import Kernel

if TYPE_CHECKING:
    from halfulp.interp.run.compiled.lowering import FunctionLowering

# --- dma --------------------------------------------------------------------------------------------------------------
#
# affine.dma_start and affine.dma_wait, which are read, verified and printed: nothing says when a transfer happens.
#
# Their maps are plain attributes in MLIR 22. Their own forms leave them out of the dictionary.

_MAPS = tuple(
    d.Property(name, d.AFFINE_MAP_ATTR, since=d.Schema.LLVM24, plain=True) for name in ("src_map", "dst_map", "tag_map")
)
_Place = tuple[int, AffineMapAttr, list[int]]

# --- forms ------------------------------------------------------------------------------------------------------------


def _read_place(p: OpParser) -> _Place:
    base = p.operand_token()
    return base, *symbols.read_place(p)


def _parse_dma(p: OpParser, at: int, definition: d.OpDefinition) -> Operation:
    starts = definition.name == "affine.dma_start"
    prefix = f"custom op '{definition.name}'"
    places = [_read_place(p)]
    for _ in range(2 if starts else 0):
        p.expect(",")
        places.append(_read_place(p))
    p.expect(",")
    count = p.operand_token()
    strides = p.operand_tokens() if p.take(",") else []
    if strides and (len(strides) != 2 or not starts):
        p.error(f"{prefix} expected two stride related operands", at)
    p.expect(":")
    types = p.type_list()
    if len(types) != len(places):
        p.error(f"{prefix} expected {'three types' if starts else 'one type'}", at)
    operands: list[SSAValue] = []
    maps: dict[str, Attribute] = {}
    for prop, (base, map_, tokens), type_ in zip(definition.properties, places, types, strict=True):
        operands += [p.use(base, type_), *symbols.used(p, tokens)]
        maps[prop.name] = map_
    operands += symbols.used(p, [count, *strides])
    return p.placed(Operation(definition.name, definition, operands, (), maps), at)


def _places(op: Operation) -> list[tuple[AffineMapAttr, list[SSAValue]]] | None:
    """Return, for each place, the map and the operands, the memref first; None if the operands do not fit."""
    found = []
    start = 0
    for prop in _MAPS if op.name == "affine.dma_start" else _MAPS[2:]:
        map_ = op.properties.get(prop.name)
        if not isinstance(map_, AffineMapAttr):
            return None
        end = start + 1 + map_.dimensions + map_.symbols
        found.append((map_, op.operands[start:end]))
        start = end
    return found if start < len(op.operands) else None


def _print_dma(printer: OpPrinter, op: Operation) -> str:
    places = _places(op) or []
    texts = [
        f"{printer.name(operands[0])}[{symbols.print_inline(printer, map_, operands[1:])}]" for map_, operands in places
    ]
    rest: Sequence[SSAValue] = op.operands[sum(len(operands) for _, operands in places) :]
    texts += map(printer.name, rest)
    types = ", ".join(printer.type(operands[0].type) for _, operands in places)
    return f" {', '.join(texts)} : {types}"


DMA = d.CustomForm(_parse_dma, _print_dma)

# --- rules ------------------------------------------------------------------------------------------------------------


def verify_start(op: Operation) -> str | None:
    """Return what is wrong with the operands of affine.dma_start, which are one list, or None."""
    places = _places(op)
    if places is None:
        return "incorrect number of operands"
    for word, (_, operands) in zip(("source", "destination", "tag"), places, strict=True):
        if not isinstance(operands[0].type, MemRefType):
            return f"expected DMA {word} to be of memref type"
    for word, (_, operands) in zip(("src", "dst", "tag"), places, strict=True):
        if any(value.type != INDEX for value in operands[1:]):
            return f"{word} index to dma_start must have 'index' type"
        if not all(map(symbols.usable, operands[1:])):
            return f"{word} index must be a valid dimension or symbol identifier"
    rest = len(op.operands) - sum(len(operands) for _, operands in places)
    return None if rest in (1, 3) else "incorrect number of operands"


def verify_wait(op: Operation) -> str | None:
    """Return what is wrong with the operands of affine.dma_wait, or None."""
    places = _places(op)
    if places is None or not isinstance(places[0][1][0].type, MemRefType):
        return "expected DMA tag to be of memref type"
    if any(value.type != INDEX for value in places[0][1][1:]):
        return "index to dma_wait must have 'index' type"
    if not all(map(symbols.usable, places[0][1][1:])):
        return "index must be a valid dimension or symbol identifier"
    return None


# --- forms ------------------------------------------------------------------------------------------------------------
#
# The custom forms of affine.apply, affine.min and affine.max, which MLIR writes by hand.


def _parse_map(p: OpParser, at: int, definition: d.OpDefinition) -> Operation:
    """Read ``#map(%dimensions)[%symbols]``. Only affine.apply has as many results as the map."""
    by_map = definition.name == "affine.apply"
    at_map = p.pos
    map_ = p.attribute()
    if not isinstance(map_, AffineMapAttr):
        p.error("invalid kind of attribute specified", at_map)
    tokens, dimensions = symbols.read_lists(p)
    if by_map and (dimensions, len(tokens) - dimensions) != (map_.dimensions, map_.symbols):
        p.wrong(definition.name, "dimension or symbol index mismatch", at)
    results = (INDEX,) * (len(map_.results) if by_map else 1)
    operands = symbols.used(p, tokens)
    properties: dict[str, Attribute] = {"map": map_}
    return p.placed(Operation(definition.name, definition, operands, results, properties, p.optional_dictionary()), at)


def _print_map(printer: OpPrinter, operation: Operation) -> str:
    map_ = operation.prop("map", AffineMapAttr)
    text = f" {printer.attribute(map_)}{symbols.print_lists(printer, map_.dimensions, operation.operands)}"
    return text + (f" {printer.dictionary(operation.attributes)}" if operation.attributes else "")


MAP = d.CustomForm(_parse_map, _print_map)


# --- words ------------------------------------------------------------------------------------------------------------
#
# The affine ops that compiled code covers, on machine words.


def results_of(low: FunctionLowering, map_: AffineMapAttr, operands: Sequence[Word]) -> list[Word]:
    """Make the machine code of the results of a map, and return them as words. The code stops if a result is not a
    number.
    """
    found = []
    for result in map_.results:
        if isinstance(result, AffineConstant):
            found.append(low.emit.number(result.value))
        elif isinstance(result, Dimension | Symbol):
            found.append(operands[result.position + (map_.dimensions if isinstance(result, Symbol) else 0)])
        else:
            found += low.combined(apply_kernel(formula_of(map_, result, low.settings), 64), operands)
    return found


def memory(op: Operation, low: FunctionLowering) -> None:
    """Make the machine code of affine.load or affine.store."""
    map_ = op.prop("map", AffineMapAttr)
    access(op, low, results_of(low, map_, low.words(op.operands[1 if op.results else 2 :])))


def extreme(words: Sequence[Word], smallest: bool) -> Word:
    """Make the machine code of the smallest or the largest of some signed numbers, and return the word."""
    found, *rest = words
    for word in rest:
        first = word.less(found, signed=True) if smallest else found.less(word, signed=True)
        found = first.choose(word, found)
    return found


def loop(op: Operation, low: FunctionLowering) -> None:
    """Make the machine code of affine.for: it runs from the largest lower bound to below the smallest upper bound."""
    first, last, initial = operand_groups(op)
    bounds = []
    for name, operands, smallest in (("lowerBoundMap", first, False), ("upperBoundMap", last, True)):
        map_ = op.prop(name, AffineMapAttr)
        bounds.append(extreme(results_of(low, map_, low.words(operands)), smallest))
    begin, end = bounds
    low.counted(op, begin, end, begin.of(op.number("step")), low.items(initial))


def choice(op: Operation, low: FunctionLowering) -> None:
    """Make the machine code of affine.if: it runs the first region if all constraints hold."""
    condition = op.prop("condition", IntegerSetAttr)
    values = AffineMapAttr(condition.dimensions, condition.symbols, tuple(each for each, _ in condition.constraints))
    holds = low.emit.number(1, 1)
    for value, (_, equal) in zip(results_of(low, values, low.words(op.operands)), condition.constraints, strict=True):
        holds = holds & (value.equals(0) if equal else ~value.less(0, signed=True))
    either(op, low, holds)


# --- ops --------------------------------------------------------------------------------------------------------------

affine = d.Dialect("affine")


_GROUPS = d.AttributeConstraint(
    "32-bit signless integer elements attribute",
    lambda attribute: isinstance(attribute, DenseElementsAttr) and attribute.type.element == I32,
)
_INTEGERS = d.AttributeConstraint(
    "64-bit integer array attribute",
    lambda attribute: isinstance(attribute, ArrayAttr) and all(map(d.INTEGER_64_ATTR.accepts, attribute.elements)),
)
_REDUCTIONS = d.AttributeConstraint(
    "Reduction ops",
    lambda attribute: isinstance(attribute, ArrayAttr) and all(map(ATOMIC_KIND.accepts, attribute.elements)),
)
_LOCALITY = d.AttributeConstraint(
    "32-bit signless integer attribute whose minimum value is 0 whose maximum value is 3",
    lambda attribute: isinstance(attribute, IntegerAttr) and attribute.type == I32 and 0 <= attribute.value <= 3,
)
_FLAG = d.AttributeConstraint(
    "unit attribute", lambda attribute: isinstance(attribute, UnitAttr) or d.BOOL_ATTR.accepts(attribute)
)


def _apply(op: Operation, settings: Settings) -> Kernel:
    map_ = op.prop("map", AffineMapAttr)
    return apply_kernel(formula_of(map_, map_.results[0], settings), settings.index_width)


def _verify(op: Operation) -> str | None:
    map = op.prop("map", AffineMapAttr)
    if len(op.operands) != map.dimensions + map.symbols:
        return "operand count and affine map dimension and symbol count must match"
    if len(map.results) != 1:
        return "mapping must produce one value"
    if any(symbols.dimension_as_symbol(symbol) for symbol in op.operands[map.dimensions :]):
        raise VerifyError(
            "dimensional operand cannot be used as a symbol", location=op.position or op.location, op=op.name
        )
    return None


affine.op(
    "apply",
    custom=MAP,
    operands=(d.variadic("mapOperands", d.INDEX),),
    results={"result": d.INDEX},
    properties=(d.Property("map", d.AFFINE_MAP_ATTR),),
    verify=_verify,
    evaluate=Elementwise(_apply),
)
for _name, _smallest in (("min", True), ("max", False)):
    affine.op(
        _name,
        custom=MAP,
        operands=(d.variadic("operands", d.INDEX),),
        results={"result": d.INDEX},
        properties=(d.Property("map", d.AFFINE_MAP_ATTR),),
        verify=indexing.verify_map,
        evaluate=Elementwise(indexing.extreme(_smallest)),
    )
_AT_MAP = "$memref `` custom<AffineMapOfSSAIds>($indices, $map) attr-dict `:` type($memref)"
_MAP = d.Property("map", d.AFFINE_MAP_ATTR)
_ALIGNMENT = d.Property("alignment", d.INTEGER_64_ATTR, optional=True, since=d.Schema.LLVM24, late=True, plain=True)
_INDICES = d.variadic("indices", d.INDEX)

affine.op(
    "load",
    _AT_MAP,
    operands=(d.Slot("memref", MEMREF), _INDICES),
    results={"result": d.ANY},
    properties=(_MAP, _ALIGNMENT),
    type_rules=(d.inferred_type("result", "memref", element_type),),
    verify=symbols.verify,
    evaluate=symbols.at_map(memref.load, 1, memory, memref_in_lanes.load),
)
affine.op(
    "store",
    f"$value `,` {_AT_MAP}",
    operands=(d.Slot("value", d.ANY), d.Slot("memref", MEMREF), _INDICES),
    properties=(_MAP, _ALIGNMENT),
    type_rules=(d.inferred_type("value", "memref", element_type),),
    verify=symbols.verify,
    evaluate=symbols.at_map(memref.store, 2, memory, memref_in_lanes.store),
)
affine.op(
    "vector_load",
    f"{_AT_MAP} `,` type($result)",
    operands=(d.Slot("memref", MEMREF), _INDICES),
    results={"result": d.VECTOR},
    properties=(_MAP, _ALIGNMENT),
    verify=symbols.verify,
    evaluate=symbols.at_map(memref.load_vector, 1),
)
affine.op(
    "vector_store",
    f"$value `,` {_AT_MAP} `,` type($value)",
    operands=(d.Slot("value", d.VECTOR), d.Slot("memref", MEMREF), _INDICES),
    properties=(_MAP, _ALIGNMENT),
    verify=symbols.verify,
    evaluate=symbols.at_map(memref.store_vector, 2),
)
affine.op(
    "for",
    custom=loops.FORM,
    operands=(
        d.variadic("lowerBoundOperands", d.INDEX),
        d.variadic("upperBoundOperands", d.INDEX),
        d.variadic("inits", d.ANY),
    ),
    results=(d.variadic("results", d.ANY),),
    properties=(
        d.Property("lowerBoundMap", d.AFFINE_MAP_ATTR),
        d.Property("step", d.INDEX_ATTR),
        d.Property("upperBoundMap", d.AFFINE_MAP_ATTR),
    ),
    regions=(d.RegionSlot("region"),),
    traits=(d.Trait.ATTR_SIZED_OPERAND_SEGMENTS,),
    verify=loops.verify,
    verify_regions=loops.verify_body,
    implicit_terminator="affine.yield",
    evaluate=OnFrames(loops.evaluate, in_lanes=loops.evaluate_in_lanes, words=loop),
)
affine.op(
    "if",
    custom=indexing.IF_FORM,
    operands=(d.variadic("operands", d.INDEX),),
    results=(d.variadic("results", d.ANY),),
    properties=(d.Property("condition", d.INTEGER_SET_ATTR),),
    regions=(d.RegionSlot("thenRegion"), d.RegionSlot("elseRegion")),
    verify=indexing.verify_if,
    implicit_terminator="affine.yield",
    evaluate=OnFrames(indexing.run_if, in_lanes=indexing.run_if_in_lanes, words=choice),
)
declare_yield(affine, verify=parallel.verify_yield, words=yielded)
affine.op(
    "parallel",
    custom=parallel.FORM,
    operands=(d.variadic("mapOperands", d.INDEX),),
    results=(d.variadic("results", d.ANY),),
    properties=(
        d.Property("lowerBoundsGroups", _GROUPS),
        d.Property("lowerBoundsMap", d.AFFINE_MAP_ATTR),
        d.Property("reductions", _REDUCTIONS),
        d.Property("steps", _INTEGERS),
        d.Property("upperBoundsGroups", _GROUPS),
        d.Property("upperBoundsMap", d.AFFINE_MAP_ATTR),
    ),
    regions=(d.RegionSlot("region"),),
    traits=(d.Trait.SINGLE_BLOCK,),
    verify=parallel.verify,
    implicit_terminator="affine.yield",
    evaluate=OnFrames(parallel.evaluate, no_lanes=True),
)

# --- hints and transfers ----------------------------------------------------------------------------------------------

affine.op(
    "prefetch",
    "$memref `` custom<AffineMapOfSSAIds>($indices, $map) `,` custom<Hint>($isWrite, $localityHint, $isDataCache) "
    "attr-dict `:` type($memref)",
    operands=(d.Slot("memref", MEMREF), _INDICES),
    properties=(
        d.Property("isDataCache", d.BOOL_ATTR),
        d.Property("isWrite", d.BOOL_ATTR),
        d.Property("localityHint", _LOCALITY),
        _MAP,
    ),
    verify=indexing.verify_prefetch,
    # A hint may name a place outside of memory.
    evaluate=OnValues(lambda op, settings: lambda run, slots: (), raw=True),
)
affine.op(
    "dma_start",
    custom=DMA,
    operands=(d.variadic("operands", d.ANY),),
    properties=_MAPS,
    verify=verify_start,
)
affine.op(
    "dma_wait",
    custom=DMA,
    operands=(d.variadic("operands", d.ANY),),
    properties=_MAPS[2:],
    verify=verify_wait,
)

# --- digits -----------------------------------------------------------------------------------------------------------

affine.op(
    "linearize_index",
    "(`disjoint` $disjoint^)? ` ` `[` $multi_index `]` `by` custom<DynamicIndexTuple>($dynamic_basis, $static_basis) "
    "attr-dict `:` type($linear_index)",
    operands=(d.variadic("multi_index", d.INDEX), d.variadic("dynamic_basis", d.INDEX)),
    results={"linear_index": d.INDEX},
    properties=(
        d.Property("disjoint", _FLAG, optional=True, flag=True, elided=BoolAttr(False)),
        d.Property("static_basis", d.INTEGER_64_ARRAY_ATTR),
    ),
    traits=(d.Trait.ATTR_SIZED_OPERAND_SEGMENTS,),
    verify=indexing.verify_linearize,
    evaluate=OnValues(indexing.linearize),
)
affine.op(
    "delinearize_index",
    "$linear_index `into` custom<DynamicIndexTuple>($dynamic_basis, $static_basis) attr-dict `:` type($multi_index)",
    operands=(d.Slot("linear_index", d.INDEX), d.variadic("dynamic_basis", d.INDEX)),
    results=(d.variadic("multi_index", d.INDEX),),
    properties=(d.Property("static_basis", d.INTEGER_64_ARRAY_ATTR),),
    verify=indexing.verify_delinearize,
    evaluate=OnValues(indexing.delinearize),
)
