"""Verification of vector.transfer_read and vector.transfer_write, in MLIR's order."""

from __future__ import annotations

from halfulp.interp.declare.operands import operand_sizes
from halfulp.interp.dialects.vector.transfer_forms import mask_type
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.affine_expressions import AffineConstant, Dimension
from halfulp.interp.ir.attributes import AffineMapAttr, ArrayAttr
from halfulp.interp.ir.operations import Operation


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
    """Check a transfer: indices, types, map, mask and bounds."""
    source, _, data, mask = parts(op)
    shaped = op.operands[source].type
    reads = op.name == "vector.transfer_read"
    vector = op.results[0].type if reads else op.operands[data].type
    map_, bounds = op.properties["permutation_map"], op.properties["in_bounds"]
    assert isinstance(vector, ty.VectorType)
    assert isinstance(map_, AffineMapAttr)
    assert isinstance(bounds, ArrayAttr)
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
