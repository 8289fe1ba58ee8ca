"""Custom forms of vector.transfer_read and vector.transfer_write, which MLIR writes by hand.

The map that takes the last dimensions in order, and dimensions that are all possibly out of bounds, are not written.
The type of a mask follows from the vector and the map.
"""

from __future__ import annotations

from typing import NoReturn

from halfulp.interp.declare.declarations import CustomForm, CustomParse, OpDefinition
from halfulp.interp.declare.operands import SEGMENTS, move_inherent, operand_sizes
from halfulp.interp.dialects.vector.attributes import scalable_dimensions, vector_of
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.affine_expressions import Dimension
from halfulp.interp.ir.attributes import AffineMapAttr, ArrayAttr, DenseArrayAttr, IntegerAttr
from halfulp.interp.ir.base import Attribute, Type
from halfulp.interp.ir.operations import Operation, SSAValue
from halfulp.interp.text.op_parser import OpParser
from halfulp.interp.text.op_printer import OpPrinter

_FALSE, _TRUE = IntegerAttr(0, ty.I1), IntegerAttr(1, ty.I1)

# --- maps and masks ---------------------------------------------------------------------------------------------------


def minor_identity(dimensions: int, results: int) -> AffineMapAttr:
    """Return the map of the last dimensions, in order."""
    return AffineMapAttr(dimensions, 0, tuple(Dimension(dimensions - results + k) for k in range(results)))


def is_minor_identity(map_: AffineMapAttr) -> bool:
    """Tell whether a map is that of the last dimensions, in order. (As in MLIR, it has no symbols.)"""
    return map_.dimensions >= len(map_.results) and map_ == minor_identity(map_.dimensions, len(map_.results))


def mask_type(vector: ty.VectorType, map_: AffineMapAttr) -> ty.VectorType:
    """Return the type of the mask of a transfer: a dimension for each one of the source that the map takes, in the
    order of the source.
    """
    axes = mask_axes(map_)
    flags = scalable_dimensions(vector)
    shape = tuple(vector.shape[axis] for axis in axes) or (1,)
    return vector_of(shape, ty.I1, tuple(flags[axis] for axis in axes))


def mask_axes(map_: AffineMapAttr) -> list[int]:
    """Return for each axis of a mask the axis of the vector that it belongs to."""
    taken = {expr.position: axis for axis, expr in enumerate(map_.results) if isinstance(expr, Dimension)}
    return [taken[position] for position in sorted(taken)]


def _default_map(source: Type, vector: ty.VectorType) -> AffineMapAttr | None:
    """Return the map that a form without one means; None where the source has too few dimensions."""
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
        self.p.error(f"custom op '{self.definition.name}' {message}", self.types_at if token is None else token)

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
        """Return the values, the mask with the type that follows."""
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


def _parser(definition: OpDefinition) -> CustomParse:
    def parse(p: OpParser, at: int) -> Operation:
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

    return parse


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


TRANSFER = CustomForm(_parser, _print)
