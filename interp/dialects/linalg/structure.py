"""The structure of a structured op: its operands, their maps into the iteration space, its iterators and its body.

Each op of this kind, whether its maps stand in the text or follow from its name, gives its structure by one function
of the table `STRUCTURES`. Verification and evaluation read nothing else.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import chain
from typing import NamedTuple

from halfulp.interp.declare.declarations import Unprefixed
from halfulp.interp.declare.operands import SEGMENTS
from halfulp.interp.ir import attributes as at
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.affine_expressions import Dimension, evaluated, spell
from halfulp.interp.ir.base import NO_NAMES, narrowed
from halfulp.interp.ir.dialect_attributes import EnumAttr
from halfulp.interp.ir.operations import Block, Operation, SSAValue

PARALLEL, REDUCTION = 0, 1


def has_elements(type_: ty.Type) -> bool:
    """Tell whether a body gets the elements of an operand of this type: those of a ranked tensor or memref."""
    return isinstance(type_, ty.MemRefType | ty.TensorType) and type_.shape is not None


def type_in_body(type_: ty.Type) -> ty.Type:
    """Return the type of the body's argument for an operand of this type."""
    return ty.element_type(type_) if has_elements(type_) else type_


class Structure(NamedTuple):
    """The structure of an op.

    ``maps``: from a point of the iteration space to the indices of an element, one for each operand, inputs first.
    ``iterators``: PARALLEL or REDUCTION, one for each dimension of the space. ``block``: the body. Its arguments are an
    element of each operand, and its terminator gives the new element of each init.
    """

    maps: tuple[at.AffineMapAttr, ...]
    iterators: tuple[int, ...]
    inputs: Sequence[SSAValue]
    inits: Sequence[SSAValue]
    block: Block

    @property
    def operands(self) -> Sequence[SSAValue]:
        """All operands, inputs first."""
        return (*self.inputs, *self.inits)


Maps = Callable[[Operation], tuple[at.AffineMapAttr, ...]]
Iterators = Callable[[Operation], tuple[int, ...]]
Reader = tuple[Maps, Iterators]

STRUCTURES: dict[str, Reader] = {}
"""The functions that give the maps and the iterators of an op, by its name."""


INITS: dict[str, Callable[[Operation], int]] = {}
"""The functions that count the inits of an op without a property that does, by its name; others have one."""


def is_structured(op: Operation | None) -> bool:
    """Tell whether an op is a structured one."""
    return op is not None and op.name in STRUCTURES


def inputs_and_inits(op: Operation) -> tuple[Sequence[SSAValue], Sequence[SSAValue]]:
    """Return the operands that are only read, and those that are also written."""
    sizes = op.properties.get(SEGMENTS)
    if isinstance(sizes, at.DenseArrayAttr):
        inputs = sizes.values[0]
    else:
        inputs = len(op.operands) - (INITS[op.name](op) if op.name in INITS else 1)
    return op.operands[:inputs], op.operands[inputs:]


def maps_of(op: Operation) -> tuple[at.AffineMapAttr, ...]:
    """Return the maps of a structured op."""
    return STRUCTURES[op.name][0](op)


def iterators_of(op: Operation) -> tuple[int, ...]:
    """Return the iterators of a structured op."""
    return STRUCTURES[op.name][1](op)


def structure_of(op: Operation) -> Structure:
    """Return the structure of a verified structured op."""
    return Structure(maps_of(op), iterators_of(op), *inputs_and_inits(op), op.regions[0].blocks[0])


def written_maps(op: Operation) -> tuple[at.AffineMapAttr, ...]:
    """Return the maps that the property ``indexing_maps`` has; none if it is absent."""
    maps = op.properties.get("indexing_maps")
    elements = maps.elements if isinstance(maps, at.ArrayAttr) else ()
    return tuple(each for each in elements if isinstance(each, at.AffineMapAttr))


def written_iterators(op: Operation) -> tuple[int, ...]:
    """Return the iterators that the property ``iterator_types`` has."""
    iterators = narrowed(op.properties["iterator_types"], at.ArrayAttr)
    return tuple(each.value for each in iterators.elements if isinstance(each, EnumAttr))


# --- rules ------------------------------------------------------------------------------------------------------------
#
# The rules of structured ops, in MLIR's words (`LinalgInterfaces.cpp`, `DestinationStyleOpInterface.cpp`).


def loop_of(maps: Sequence[at.AffineMapAttr]) -> list[tuple[int, int] | None]:
    """Return, for each dimension of the iteration space, the operand and the axis that give its size: the first whose
    index is just that dimension. None if there are none.
    """
    loops: list[tuple[int, int] | None] = [None] * max([map_.dimensions for map_ in maps], default=0)
    for operand, map_ in enumerate(maps):
        for axis, expr in enumerate(map_.results):
            if isinstance(expr, Dimension) and loops[expr.position] is None:
                loops[expr.position] = operand, axis
    return loops


def _shape(value: SSAValue) -> tuple[int | None, ...]:
    return (has_elements(value.type) and ty.shape_of(value.type)) or ()


def verify_blocks(op: Operation) -> str | None:
    """Check that the region of a structured op has no second block."""
    for number, region in enumerate(op.regions):
        if len(region.blocks) > 1:
            return f"expects region #{number} to have 0 or 1 blocks"
    return None


def verify_structured(op: Operation) -> str | None:
    """Check operands, results, maps and the body of a structured op."""
    _, inits = inputs_and_inits(op)
    return (
        verify_destinations(op, inits)
        or _pure_semantics(op, inits)
        or _maps_fit(op)
        or _loops_fit(op)
        or _body_fits(op)
    )


def verify_destinations(op: Operation, inits: Sequence[SSAValue]) -> str | None:
    """Check that the op has a result of the same type for each init that is a tensor."""
    first = len(op.operands) - len(inits)
    tensors = []
    for number, value in enumerate(inits, first):
        if isinstance(value.type, ty.TensorType):
            tensors.append((number, value))
        elif not isinstance(value.type, ty.MemRefType):
            return f"expected that operand #{number} is a tensor or a memref"
    if len(op.results) != len(tensors):
        return (
            f"expected the number of tensor results ({len(op.results)}) to be equal to the number of output tensors "
            f"({len(tensors)})"
        )
    for (number, value), result in zip(tensors, op.results, strict=True):
        if value.type != result.type:
            return (
                f"expected type of operand #{number} ('{value.type}') to match type of corresponding result "
                f"('{result.type}')"
            )
    return None


def _pure_semantics(op: Operation, inits: Sequence[SSAValue]) -> str | None:
    kinds = {
        isinstance(value.type, ty.TensorType)
        for value in op.operands
        if isinstance(value.type, ty.TensorType | ty.MemRefType)
    }
    return "expected to have pure tensor or buffer semantics" if len(kinds) > 1 else None


def _maps_fit(op: Operation) -> str | None:
    maps = maps_of(op)
    if len(maps) != len(op.operands):
        return (
            f"expected the number of indexing_map ({len(maps)}) to be equal to the number of input/output operands "
            f"({len(op.operands)})"
        )
    for number, (map_, value) in enumerate(zip(maps, op.operands, strict=True)):
        if map_.symbols:
            return f"unexpected symbols in indexing_map #{number}"
        rank = len(_shape(value))
        if len(map_.results) != rank:
            return (
                f"expected operand #{number} rank ({rank}) to match the result rank of indexing_map "
                f"({len(map_.results)})"
            )
    loops = loop_of(maps)
    if None in loops:
        inputs = ", ".join(f"d{number}" for number in range(len(loops)))
        results = ", ".join(spell(expr) for expr in chain.from_iterable(map_.results for map_ in maps))
        return f"invalid indexing maps are non-invertible: (({inputs}) -> ({results}))"
    sizes = [_shape(op.operands[loop[0]])[loop[1]] for loop in loops if loop is not None]
    known = [size for size in sizes if size is not None]
    return _shapes_fit(op, maps, known) if len(known) == len(sizes) else None


def _shapes_fit(op: Operation, maps: Sequence[at.AffineMapAttr], sizes: Sequence[int]) -> str | None:
    """Check the first and the last index of each axis."""
    first, last = [0] * len(sizes), [size - 1 for size in sizes]
    for number, (map_, value) in enumerate(zip(maps, op.operands, strict=True)):
        for axis, (expr, size) in enumerate(zip(map_.results, _shape(value), strict=False)):
            if not size:
                continue
            try:
                ends = evaluated(expr, first), evaluated(expr, last)
            except ZeroDivisionError:
                return f"indexing_map #{number} divides by zero"
            needed = max(ends) + 1
            if min(ends) < 0:
                return f"unexpected result less than 0 at expression #{axis} in {_spell(map_)}"
            what = f"inferred input/output operand #{number} has shape's dimension #{axis} to be"
            if isinstance(expr, Dimension) and needed != size:
                return f"{what} {needed}, but found {size}"
            if needed > size:
                return f"{what} greater than or equal to {needed}, but found {size}"
    return None


def _spell(map_: at.AffineMapAttr) -> str:
    return map_.spell(NO_NAMES).removeprefix("affine_map<").removesuffix(">")


def _loops_fit(op: Operation) -> str | None:
    loops = len(iterators_of(op))
    for number, map_ in enumerate(maps_of(op)):
        if map_.dimensions != loops:
            return f"expected indexing_map #{number} to have {loops} dim(s) to match the number of loops"
    return None


def _body_fits(op: Operation) -> str | None:
    if len(op.regions) != 1 or len(op.regions[0].blocks) != 1:
        return "expects to have 1 region with 1 block"
    arguments = op.regions[0].blocks[0].arguments
    if len(arguments) != len(op.operands):
        return "expected as many non-induction variable region arguments as the number of input/output operands"
    for number, (value, argument) in enumerate(zip(op.operands, arguments, strict=True)):
        if type_in_body(value.type) != argument.type:
            return (
                f"expected type of bb argument #{number} ('{argument.type}') to match element or self type of the "
                f"corresponding operand ('{type_in_body(value.type)}')"
            )
    return None


def verify_yield(op: Operation) -> str | None:
    """Check that linalg.yield gives an element of each init of the structured op around it."""
    parent = op.parent_op
    if parent is None or len(parent.regions) != 1 or not parent.regions[0].blocks:
        return "expected single non-empty parent region"
    if not is_structured(parent):
        return "expected parent op with LinalgOp interface"
    _, inits = inputs_and_inits(parent)
    if len(op.operands) != len(inits):
        return (
            f"expected number of yield values ({len(op.operands)}) to match the number of inits / outs operands of the "
            f"enclosing LinalgOp ({len(inits)})"
        )
    for number, (value, init) in enumerate(zip(op.operands, inits, strict=True), 1):
        if value.type != type_in_body(init.type):
            return (
                f"type of yield operand {number} ('{value.type}') doesn't match the element type of the enclosing "
                f"linalg.generic op ('{type_in_body(init.type)}')"
            )
    return None


def verify_index(op: Operation) -> str | None:
    """Check that linalg.index names a dimension of the structured op around it."""
    parent = op.parent_op
    if not is_structured(parent):
        return "expected parent op with LinalgOp interface"
    assert parent is not None
    dim, loops = narrowed(op.properties["dim"], at.IntegerAttr), len(iterators_of(parent))
    if dim.value >= loops:
        return f"expected dim ({dim.value}) to be lower than the number of loops ({loops}) of the enclosing LinalgOp"
    return None


def verify_fill(op: Operation) -> str | None:
    """Check that the value of a fill has the type of the elements that it writes."""
    inputs, inits = inputs_and_inits(op)
    if len(inputs) == 1 and len(inits) == 1:
        if isinstance(inputs[0].type, ty.MemRefType | ty.TensorType):
            return Unprefixed("expected op with scalar input")
        value, element = inputs[0].type, type_in_body(inits[0].type)
        if value != element:
            return f"expected fill value type ('{value}') to match output element type ('{element}')"
    return verify_blocks(op)
