"""The structure of a structured op: its operands, their maps into the iteration space, its iterators and its body.

For each op of this kind, one function of the table `STRUCTURES` returns its structure, whether its maps are in the text
or follow from its name. Verification and evaluation read nothing else.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from halfulp.interp.declare.operands import SEGMENTS
from halfulp.interp.ir import attributes as at
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.affine_expressions import Dimension
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
    element of each operand, and its terminator gives the new element of each init. ``elements``: the arguments
    of the body in the order of the operands, if the body has them in another order or lacks some; otherwise empty.
    """

    maps: tuple[at.AffineMapAttr, ...]
    iterators: tuple[int, ...]
    inputs: Sequence[SSAValue]
    inits: Sequence[SSAValue]
    block: Block
    elements: Sequence[SSAValue] = ()

    @property
    def arguments(self) -> Sequence[SSAValue]:
        """The values of the body that stand for the elements of the operands, in the order of the operands."""
        return self.elements or self.block.arguments

    @property
    def operands(self) -> Sequence[SSAValue]:
        """All operands, inputs first."""
        return (*self.inputs, *self.inits)


def is_point(type_: ty.Type) -> bool:
    """Tell whether a value of this type belongs to one point of a space: a scalar, or a tensor without dimensions."""
    return not isinstance(type_, ty.ShapedType) or (isinstance(type_, ty.TensorType) and type_.shape == ())


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
    iterators = op.prop("iterator_types", at.ArrayAttr)
    return tuple(each.value for each in iterators.elements if isinstance(each, EnumAttr))


def loop_of(maps: Sequence[at.AffineMapAttr]) -> list[tuple[int, int] | None]:
    """Return, for each dimension of the iteration space, the operand and the axis that give its size: the first axis
    whose index is this dimension alone. None for a dimension without one.
    """
    loops: list[tuple[int, int] | None] = [None] * max([map_.dimensions for map_ in maps], default=0)
    for operand, map_ in enumerate(maps):
        for axis, expr in enumerate(map_.results):
            if isinstance(expr, Dimension) and loops[expr.position] is None:
                loops[expr.position] = operand, axis
    return loops
