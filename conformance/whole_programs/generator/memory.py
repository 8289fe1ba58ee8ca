"""Ways to continue a program with memory: buffers that are filled first, loads and stores inside their bounds."""

from __future__ import annotations

from itertools import product

from halfulp.conformance.whole_programs.generator.grower import Grower, Row, Unfit
from halfulp.interp.ir import attributes as at
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.operations import SSAValue

SHAPES = ((), (1,), (2,), (4,), (2, 2))


def rows() -> list[Row]:
    """Return the rows of this file."""
    return [
        Row("memref.alloca", "memory", 2.0, _allocate),
        Row("memref.load", "memory", 3.0, _load),
        Row("memref.store", "memory", 3.0, _store),
        Row("vector.load", "memory", 0.7, _vector_load),
        Row("vector.store", "memory", 0.7, _vector_store),
    ]


def _allocate(grower: Grower) -> None:
    """Make a buffer, and store to every element."""
    if grower.loops:
        raise Unfit  # a buffer for each round makes long runs, and nothing else
    rng = grower.rng
    type_ = ty.MemRefType(rng.choice(SHAPES), rng.choice(grower.plan.palette.elements))
    name = rng.choice(("memref.alloca", "memref.alloc"))
    buffer = grower.result(name, [], type_, operandSegmentSizes=at.DenseArrayAttr(ty.I32, (0, 0)))
    for place in product(*(range(size) for size in _sizes(buffer))):
        indices = [grower.number(ty.INDEX, index) for index in place]
        grower.append("memref.store", [grower.value(type_.element), buffer, *indices])


def _sizes(buffer: SSAValue) -> tuple[int, ...]:
    return tuple(size or 0 for size in ty.shape_of(buffer.type) or ())


def _buffer(grower: Grower) -> SSAValue:
    if not grower.memory:
        raise Unfit
    return grower.rng.choice(grower.memory)


def load(grower: Grower, buffer: SSAValue) -> SSAValue:
    """Append a load from any place of a buffer."""
    indices = [grower.position(size) for size in _sizes(buffer)]
    return grower.result("memref.load", [buffer, *indices], ty.element_type(buffer.type))


def _load(grower: Grower) -> None:
    load(grower, _buffer(grower))


def _store(grower: Grower) -> None:
    buffer = _buffer(grower)
    indices = [grower.position(size) for size in _sizes(buffer)]
    grower.append("memref.store", [grower.value(ty.element_type(buffer.type)), buffer, *indices])


def _part(grower: Grower) -> tuple[SSAValue, list[SSAValue], ty.VectorType]:
    """Choose a place in a buffer, and the type of the vector there."""
    buffer = _buffer(grower)
    sizes, element = _sizes(buffer), ty.element_type(buffer.type)
    if not sizes or isinstance(element, ty.IndexType):
        raise Unfit
    length = grower.rng.randint(1, sizes[-1])
    indices = [grower.position(size) for size in (*sizes[:-1], sizes[-1] - length + 1)]
    return buffer, indices, ty.VectorType((length,), element)


def _vector_load(grower: Grower) -> None:
    buffer, indices, type_ = _part(grower)
    grower.append("vector.load", [buffer, *indices], [type_])


def _vector_store(grower: Grower) -> None:
    buffer, indices, type_ = _part(grower)
    grower.append("vector.store", [grower.value(type_), buffer, *indices])
