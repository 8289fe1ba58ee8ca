"""Custom forms that MLIR writes by hand: vector.contract, vector.outerproduct and vector.mask."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NoReturn

from halfulp.interp.declare.declarations import CustomForm, OpDefinition, Trait
from halfulp.interp.declare.operands import SEGMENTS, move_inherent, operand_sizes
from halfulp.interp.dialects.vector.moves import ITERATOR_TYPE, scalable_dimensions, vector_of
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.affine_expressions import AffineConstant, Dimension
from halfulp.interp.ir.attributes import (
    AffineMapAttr,
    ArrayAttr,
    DenseArrayAttr,
    DictionaryAttr,
    IntegerAttr,
    StringAttr,
)
from halfulp.interp.ir.base import Attribute, Type, narrowed
from halfulp.interp.ir.dialect_attributes import EnumAttr
from halfulp.interp.ir.operations import Block, Operation, Region, SSAValue
from halfulp.interp.ir.types import VectorType
from halfulp.interp.text.op_parser import OpParser, OpPrinter

_YIELD = "vector.yield"


def into(p: OpParser, definition: OpDefinition, word: str) -> Type:
    """Read ``word`` and the type after it; return the type."""
    p.keyword(definition, word)
    return p.type()


def _names(printer: OpPrinter, values: Sequence[SSAValue]) -> str:
    return ", ".join(map(printer.name, values))


# --- contract ---------------------------------------------------------------------------------------------------------


def _parse_contract(p: OpParser, at: int, definition: OpDefinition) -> Operation:
    prefix = f"custom op '{definition.name}' "
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
    flags = shown.get("fastmath")
    if isinstance(flags, EnumAttr) and not flags.value:
        del shown["fastmath"]
    iterators = narrowed(shown["iterator_types"], ArrayAttr)
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
    """Return the type of a product. For a scalar on the right, it is the type of the left side."""
    sides = [left, right] if isinstance(right, VectorType) else [left]
    shape = tuple(side.shape[0] if side.shape else 1 for side in sides)
    return vector_of(shape, left.element, tuple((*scalable_dimensions(side), False)[0] for side in sides))


def _parse_outer(p: OpParser, at: int, definition: OpDefinition) -> Operation:
    prefix = f"custom op '{definition.name}' "
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


def _parse_mask(p: OpParser, at: int, definition: OpDefinition) -> Operation:
    operands = [p.operand_token()]
    if p.take(","):
        operands.append(p.operand_token())
    region = _terminated(p, p.region(definition.name), at)
    entries: dict[str, Attribute] = dict(p.optional_dictionary())
    p.expect(":")
    mask = p.type()
    results = p.function_results() if p.take("->") else ()
    if len(operands) > 1 and not results:
        p.wrong(definition.name, "expects a result if passthru operand is provided", at)
    values = [p.use(token, kind) for token, kind in zip(operands, (mask, *results[:1]), strict=False)]
    return p.placed(Operation(definition.name, definition, values, results, {}, entries, [region]), at)


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


CONTRACT = CustomForm(_parse_contract, _print_contract)
OUTER_PRODUCT = CustomForm(_parse_outer, _print_outer)
MASK = CustomForm(_parse_mask, _print_mask)


# --- transfer forms ---------------------------------------------------------------------------------------------------
#
# Custom forms of vector.transfer_read and vector.transfer_write, which MLIR writes by hand.
#
# The map that takes the last dimensions in order, and dimensions that are all possibly out of bounds, are not written.
# The type of a mask follows from the vector and the map.

_FALSE, _TRUE = IntegerAttr(0, ty.I1), IntegerAttr(1, ty.I1)

# --- maps and masks ---------------------------------------------------------------------------------------------------


def minor_identity(dimensions: int, results: int) -> AffineMapAttr:
    """Return the map from ``dimensions`` dimensions to the last ``results`` of them, in order."""
    return AffineMapAttr(dimensions, 0, tuple(Dimension(dimensions - results + k) for k in range(results)))


def is_minor_identity(map_: AffineMapAttr) -> bool:
    """Tell whether a map returns the last dimensions, in order. As in MLIR, it must have no symbols."""
    return map_.dimensions >= len(map_.results) and map_ == minor_identity(map_.dimensions, len(map_.results))


def mask_type(vector: ty.VectorType, map_: AffineMapAttr) -> ty.VectorType:
    """Return the type of the mask of a transfer. It has a dimension for each dimension of the source that the map uses,
    in the order of the source.
    """
    axes = mask_axes(map_)
    flags = scalable_dimensions(vector)
    shape = tuple(vector.shape[axis] for axis in axes) or (1,)
    return vector_of(shape, ty.I1, tuple(flags[axis] for axis in axes))


def mask_axes(map_: AffineMapAttr) -> list[int]:
    """Return, for each axis of a mask, the axis of the vector that it belongs to."""
    taken = {expr.position: axis for axis, expr in enumerate(map_.results) if isinstance(expr, Dimension)}
    return [taken[position] for position in sorted(taken)]


def _default_map(source: Type, vector: ty.VectorType) -> AffineMapAttr | None:
    """Return the map that applies if an op has none; None if the source has too few dimensions."""
    rank = len(ty.shape_of(source) or ())
    element = ty.element_type(source)
    results = len(vector.shape) - (len(element.shape) if isinstance(element, ty.VectorType) else 0)
    return None if rank < results else minor_identity(rank, results)


# --- reading ----------------------------------------------------------------------------------------------------------


class _Reading:
    """The parts of a transfer as they are read; ``data`` is the padding of a read, the vector of a write."""

    def __init__(self, p: OpParser, definition: OpDefinition) -> None:
        self.p = p
        self.definition = definition
        self.reads = definition.name == "vector.transfer_read"
        self.mask: int | None = None
        if not self.reads:
            self.data = p.operand_token()
            p.expect(",")
        self.source = p.operand_token()
        p.expect("[")
        self.indices = p.operand_tokens()
        p.expect("]")
        if self.reads:
            p.expect(",")
            self.data = p.operand_token()
        if p.take(","):
            self.mask = p.operand_token()
        self.attributes: dict[str, Attribute] = dict(p.optional_dictionary())
        self.types_at = p.pos
        p.expect(":")
        types = p.type_list()
        if len(types) != 2:
            self.fail("requires two types")
        shaped, vector = types if self.reads else reversed(types)
        if not self.reads and not isinstance(vector, ty.VectorType):
            self.fail("requires vector type")
        if not isinstance(shaped, ty.MemRefType | ty.TensorType) or shaped.shape is None:
            self.fail("requires memref or ranked tensor type")
        if not isinstance(vector, ty.VectorType):
            self.fail("requires vector type")
        self.shaped: ty.MemRefType | ty.TensorType = shaped
        self.vector: ty.VectorType = vector

    def fail(self, message: str, token: int | None = None) -> NoReturn:
        """Raise ParseError, at the types unless a token is given."""
        self.p.wrong(self.definition.name, message, self.types_at if token is None else token)

    def map(self) -> AffineMapAttr:
        """Return the map, and note what the form leaves out."""
        written = self.attributes.get("permutation_map") or _default_map(self.shaped, self.vector)
        if written is None:
            self.fail("expected a custom permutation_map when rank(source) != rank(destination)")
        if not isinstance(written, AffineMapAttr):
            self.fail("invalid kind of attribute specified")
        self.attributes["permutation_map"] = written
        if "in_bounds" not in self.attributes:
            self.attributes["in_bounds"] = ArrayAttr((_FALSE,) * len(written.results))
        return written

    def operands(self, map_: AffineMapAttr) -> list[SSAValue]:
        """Return the values; the mask has the type that follows from the map."""
        p = self.p
        source = [p.use(self.source, self.shaped), *(p.use(token, ty.INDEX) for token in self.indices)]
        if self.reads:
            values = [*source, p.use(self.data, self.shaped.element)]
        else:
            values = [p.use(self.data, self.vector), *source]
        if self.mask is not None:
            if self.reads and isinstance(self.shaped.element, ty.VectorType):
                self.fail("does not support masks with vector element type", self.mask)
            if len(map_.results) != len(self.vector.shape):
                self.fail("expected the same rank for the vector and the results of the permutation map")
            values.append(p.use(self.mask, mask_type(self.vector, map_)))
        return values


def _parse(p: OpParser, at: int, definition: OpDefinition) -> Operation:
    read = _Reading(p, definition)
    values = read.operands(read.map())
    counts = (1, len(read.indices), 1) if read.reads else (1, 1, len(read.indices))
    segments = DenseArrayAttr(ty.I32, (*counts, int(read.mask is not None)))
    results: list[Type] = []
    if read.reads or isinstance(read.shaped, ty.TensorType):
        results.append(read.vector if read.reads else read.shaped)
    properties: dict[str, Attribute] = {SEGMENTS: segments}
    move_inherent(definition, properties, read.attributes)
    return p.placed(Operation(definition.name, definition, values, results, properties, read.attributes), at)


# --- printing ---------------------------------------------------------------------------------------------------------


def _print(printer: OpPrinter, operation: Operation) -> str:
    assert operation.definition is not None
    names = [printer.name(value) for value in operation.operands]
    first, second, third, masks = operand_sizes(operation, operation.definition) or (1, 1, 1, 0)
    reads = operation.name == "vector.transfer_read"
    if reads:
        text = f" {names[0]}[{', '.join(names[1 : 1 + second])}], {names[1 + second]}"
    else:
        text = f" {names[0]}, {names[1]}[{', '.join(names[2 : 2 + third])}]"
    if masks:
        text += f", {names[first + second + third]}"
    shown = {name: value for name, value in operation.properties.items() if name != SEGMENTS}
    map_, bounds = shown.get("permutation_map"), shown.get("in_bounds")
    if isinstance(map_, AffineMapAttr) and is_minor_identity(map_):
        del shown["permutation_map"]
    if isinstance(bounds, ArrayAttr) and _TRUE not in bounds.elements:
        del shown["in_bounds"]
    shown |= operation.attributes
    if shown:
        text += f" {printer.dictionary(shown)}"
    result = operation.results[0].type if reads else operation.operands[1].type
    return f"{text} : {printer.type(operation.operands[0].type)}, {printer.type(result)}"


TRANSFER = CustomForm(_parse, _print)


# --- transfer rules ---------------------------------------------------------------------------------------------------
#
# Verification of vector.transfer_read and vector.transfer_write, in MLIR's order.


def parts(op: Operation) -> tuple[int, int, int, int | None]:
    """Return the numbers of the operands: the source, the first index, the padding or vector, and the mask, if any."""
    assert op.definition is not None
    sizes = operand_sizes(op, op.definition) or [1, 1, 1, 0]
    reads = op.name == "vector.transfer_read"
    mask = len(op.operands) - 1 if sizes[3] else None
    return (0, 1, 1 + sizes[1], mask) if reads else (1, 2, 0, mask)


def indices_of(op: Operation) -> int:
    """Return the number of index operands."""
    mask = parts(op)[3]
    return len(op.operands) - 2 - (mask is not None)


def verify(op: Operation) -> str | None:
    """Return what is wrong with the indices, types, map, mask or bounds of a transfer, or None."""
    source, _, data, mask = parts(op)
    shaped = op.operands[source].type
    reads = op.name == "vector.transfer_read"
    vector = op.results[0].type if reads else op.operands[data].type
    map_ = op.prop("permutation_map", AffineMapAttr)
    bounds = op.prop("in_bounds", ArrayAttr)
    assert isinstance(vector, ty.VectorType)
    shape = ty.shape_of(shaped)
    rank = len(shape or ())
    if indices_of(op) != rank:
        return f"requires {rank} indices"
    if not reads and any(isinstance(expr, AffineConstant) and not expr.value for expr in map_.results):
        return "should not have broadcast dimensions"
    if not isinstance(shaped, ty.MemRefType | ty.TensorType) or shape is None:
        return "requires source to be a memref or ranked tensor type"
    problem = _verify_types(shaped.element, vector, map_, mask is not None)
    if problem:
        return problem
    if map_.symbols:
        return "requires permutation_map without symbols"
    if map_.dimensions != rank:
        return "requires a permutation_map with input dims of the same rank as the source type"
    if mask is not None:
        given, inferred = op.operands[mask].type, mask_type(vector, map_)
        if given != inferred:
            return f"inferred mask type ('{inferred}') and mask operand type ('{given}') don't match"
    if len(bounds.elements) != len(map_.results):
        return (
            f"expects the in_bounds attr of same rank as permutation_map results: {map_} vs inBounds of size: "
            f"{len(bounds.elements)}"
        )
    if reads and op.operands[data].type != shaped.element:
        if isinstance(shaped.element, ty.VectorType):
            return "requires source element type and padding type to match."
        return "requires formal padding and source of the same elemental type"
    return _verify_map(map_)


def _verify_types(element: ty.Type, vector: ty.VectorType, map_: AffineMapAttr, masked: bool) -> str | None:
    wrong_rank = "requires a permutation_map with result dims of the same rank as the vector type"
    size = (ty.element_width(vector.element) or 0) * (vector.shape[-1] if vector.shape else 1)
    if not isinstance(element, ty.VectorType):
        if size % (ty.element_width(element) or 1):
            return (
                "requires the bitwidth of the minor 1-D vector to be an integral multiple of the bitwidth of the "
                "source element type"
            )
        return wrong_rank if len(map_.results) != len(vector.shape) else None
    if size % ((ty.element_width(element.element) or 1) * (element.shape[-1] if element.shape else 1)):
        return (
            "requires the bitwidth of the minor 1-D vector to be an integral multiple of the bitwidth of the minor "
            "1-D vector of the source"
        )
    if len(element.shape) > len(vector.shape):
        return "requires source vector element and vector result ranks to match."
    if len(map_.results) != len(vector.shape) - len(element.shape):
        return wrong_rank
    return "does not support masks with vector element type" if masked else None


def _verify_map(map_: AffineMapAttr) -> str | None:
    seen: set[int] = set()
    for expr in map_.results:
        if isinstance(expr, AffineConstant) and not expr.value:
            continue
        if not isinstance(expr, Dimension):
            return (
                "requires a projected permutation_map (at most one dim or the zero constant can appear in each result)"
            )
        if expr.position in seen:
            return "requires a permutation_map that is a permutation (found one dim used more than once)"
        seen.add(expr.position)
    return None
