"""The evaluation of `iree_codegen.inner_tiled`: tiles are taken out of the operands, multiplied and added, and put
back.

Loops that the accumulator's map does not have are reductions: their points run in increasing row-major order, each with
the accumulator that the point before computed. All other points are computed together.

The model of `semantics.matrix_units` that ``Settings.mma`` names computes a tile. The dialect's document leaves two
things unspecified. First, a tile of another rank or shape than the kind's (``opaque`` allows both) has the same
elements in row-major order, of the permuted tile where there is a permutation of its rank. Second, ``distributed``
types are those of one lane, which has no result by itself. In a batch (`interp.run.batch`) the lanes form subgroups,
one after the other, and the lanes of a subgroup execute the op together; it is undefined where some of them do not
execute it. Without a batch, the first parallel loop in all maps is the one over the lanes. If the types are not
distributed, the lanes of a batch are one more parallel loop.

The document allows memrefs as operands; iree-opt 3.13 refuses them. Memrefs of strided layouts are read and, as output,
updated in place. Two cases are refused because their meaning is not known: an input in the memory of the output, where
it is open which points see which writes, and a swizzled memref, whose tiles have no known place.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import product
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt

from halfulp.fp_formats.formats import Codes
from halfulp.interp.dialects import iree_gpu
from halfulp.interp.dialects.elements import Function, Operands
from halfulp.interp.dialects.linalg.declaring import ITERATOR_TYPE
from halfulp.interp.dialects.memref.evaluate import living
from halfulp.interp.ir import attributes as at
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.affine_expressions import Dimension
from halfulp.interp.ir.dialect_attributes import DialectAttr, EnumAttr
from halfulp.interp.ir.errors import HalfulpError, Unsupported
from halfulp.interp.ir.operations import Operation, undefined
from halfulp.interp.ir.types import spell_shape
from halfulp.interp.run.batch.frames import joined
from halfulp.interp.run.frames import Lanes, Run, in_lanes
from halfulp.interp.run.settings import Settings
from halfulp.interp.values.buffers import Buffer
from halfulp.interp.values.lanes import lanes_of, over_lanes, repeated
from halfulp.interp.values.memref_layout import is_injective
from halfulp.interp.values.value import Value
from halfulp.semantics.kernel import Open
from halfulp.semantics.matrix_units.kinds import LaneLayout, TileKind, TileOp, distribute, gather, holds, operation_of
from halfulp.semantics.matrix_units.models import Unpublished, multiply_accumulate, rule_of, supports

Array = npt.NDArray[Any]
Shape = tuple[int, ...]

_REDUCTION = ITERATOR_TYPE.cases["reduction"]
ELEMENTS_AT_ONCE = 1 << 22
"""The most elements of tiles that lanes of a batch multiply together."""


@dataclass(frozen=True, slots=True)
class TilePart:
    """The layout of the tiles in an operand.

    ``loops``: the loops of its outer axes. ``inner``: the shape of its tile (of one lane's share if there is a
    ``layout``), permuted. ``order``: the axes of ``inner`` in the kind's order. ``matrix``: the shape in which tiles
    are multiplied.
    """

    loops: Shape
    inner: Shape
    order: Shape
    matrix: Shape
    layout: LaneLayout | None

    def tiles(self, array: Array, loops: int, lane_loop: int | None) -> Array:
        """Return the tiles [loops…, *matrix] of an operand's array. A loop that the operand does not have gets an axis
        of length 1. The axis of the loop over lanes becomes a part of the tiles.
        """
        tiles = self.shares(array, loops, lane_loop)
        if self.layout is not None:
            tiles, loops = gather(tiles, self.layout), loops - 1
        return tiles.reshape(*tiles.shape[:loops], *self.matrix)

    def shares(self, array: Array, loops: int, lane_loop: int | None) -> Array:
        """Return the tiles of an operand's array as the lanes hold them: with lanes, [other loops…, lanes,
        registers].
        """
        rank = len(self.loops)
        array = array.reshape(*array.shape[:rank], *self.inner)
        places = sorted(range(rank), key=self.loops.__getitem__)
        array = array.transpose(*places, *(rank + axis for axis in self.order))
        array = np.expand_dims(array, tuple(loop for loop in range(loops) if loop not in self.loops))
        if self.layout is None or lane_loop is None:
            return array
        return np.moveaxis(array.reshape(*array.shape[:loops], self.layout.registers), lane_loop, loops - 1)


@dataclass(frozen=True, slots=True)
class TilePlan:
    """The parts of an op that are known before it runs. ``parts``: A, B, the scales if there are any, C.

    ``around``: the number of loops around the loops of the op. In a batch there is one over the lanes, or one over the
    subgroups and one over their lanes.
    """

    kind: TileKind
    operation: TileOp
    parts: tuple[TilePart, ...]
    loops: int
    lane_loop: int | None
    around: int = 0

    def elements(self, bounds: Shape) -> int:
        """Return the elements of all tiles that are multiplied at one point of the reductions."""
        parallel = prod(size for loop, size in enumerate(bounds) if loop not in _reductions(self))
        return parallel * sum(prod(part.matrix) for part in self.parts)

    def bounds(self, op: Operation, operands: Sequence[Value]) -> Shape:
        """Return the number of iterations of each loop.

        Raises UndefinedBehavior if operands give a loop different numbers of iterations, Unsupported if a tile has
        another number of elements than the kind requires, or if the loop over lanes does not have one trip for each
        lane of the kind.
        """
        sizes: dict[int, int] = {}
        for part, value in zip(self.parts, operands, strict=True):
            rank = len(part.loops)
            if prod(value.shape[rank:]) != prod(part.inner):
                raise Unsupported(
                    f"{self.kind.name} cannot be used with a tile of shape {spell_shape(value.shape[rank:])}"
                )
            for loop, size in zip(part.loops, value.shape[:rank], strict=True):
                if sizes.setdefault(loop, size) != size:
                    raise undefined(
                        op,
                        f"loop d{loop - self.around} runs over {sizes[loop]} tiles of one operand, {size} of another",
                    )
        if self.lane_loop is not None and sizes[self.lane_loop] != self.kind.lanes:
            raise Unsupported(
                f"{self.kind.name} is distributed over {self.kind.lanes} lanes, but loop d{self.lane_loop}, the first "
                f"parallel one of all operands, runs over {sizes[self.lane_loop]}"
            )
        return tuple(sizes[loop] for loop in range(self.loops) if loop != self.lane_loop)


def inner_tiled(op: Operation, settings: Settings) -> Function:
    """Return the function that runs an inner_tiled op. Raises Unsupported for kinds without a layout or model."""
    plan = _plan(op, settings.model)
    in_memory = [isinstance(value.type, ty.MemRefType) for value in op.operands]

    def run_tiles(run: Run, operands: Sequence[Any]) -> tuple[Any, ...]:
        values: list[Value] = [
            _read(op, number, operand, run) if held else operand
            for number, (operand, held) in enumerate(zip(operands, in_memory, strict=True))
        ]
        *inputs, output = operands
        if not in_memory[-1]:
            return (_computed(op, plan, settings.model, run, values),)
        _check_apart(inputs if prod(plan.bounds(op, values)) > 1 else (), output)
        output.store(_computed(op, plan, settings.model, run, values))
        return ()

    return run_tiles


def _read(op: Operation, number: int, operand: Any, run: Run) -> Value:
    buffer = living(op, operand, number)
    if buffer.swizzle is not None:
        raise Unsupported(f"operand #{number} is swizzled memory, which tiles cannot be read from")
    return buffer.load(origins=run.origins)


def _check_apart(inputs: Sequence[Value | Buffer], output: Buffer) -> None:
    """Raise Unsupported if elements of the output share memory with each other, or with the inputs."""
    written = output.places()
    if output.mapped is not None or not is_injective(output.shape, output.strides):
        raise Unsupported("elements of the output lie at the same place in memory")
    for number, operand in enumerate(inputs):
        if not isinstance(operand, Buffer) or operand.allocation is not output.allocation:
            continue
        if np.intersect1d(operand.places(), written).size:
            raise Unsupported(
                f"input #{number} and the output share memory: the order in which points change it is not known"
            )


def inner_tiled_in_lanes(op: Operation, settings: Settings) -> Function | None:
    """Return the function that runs an inner_tiled op in a batch; None if each lane computes the op without
    the others.
    """
    if iree_gpu.kind_of(op.properties["kind"]) is None:
        return None
    if _is(op, "distributed"):
        return _by_subgroups(op, settings)
    in_memory = any(isinstance(value.type, ty.MemRefType) for value in op.operands)
    return None if in_memory else _of_whole_tiles(op, settings)


def _of_whole_tiles(op: Operation, settings: Settings) -> Function:
    """Return the function that runs an op on whole tiles: the lanes are one more parallel loop."""
    alone, types = inner_tiled(op, settings), [result.type for result in op.results]

    def together(run: Run, operands: Operands) -> tuple[Any, ...]:
        *inputs, output = operands
        over = tuple(map(over_lanes, inputs))
        if not any((*over, over_lanes(output))):
            return run.each(alone, operands, types)
        assert run.lanes is not None
        count = len(run.lanes)
        values = [*inputs, output if over_lanes(output) else repeated(output, count)]
        plan = _plan(op, settings.model, [(0,) if own else () for own in (*over, True)])
        try:
            size = max(1, ELEMENTS_AT_ONCE * count // max(1, plan.elements(plan.bounds(op, values))))
            if size >= count:
                return (_computed(op, plan, settings.model, run, values),)
            parts: list[tuple[npt.NDArray[np.intp], Value]] = []
            for start in range(0, count, size):
                lanes = np.arange(start, min(start + size, count))
                some = [lanes_of(value, lanes) if over_lanes(value) else value for value in values]
                parts.append((lanes, _computed(op, plan, settings.model, run, some)))
        except HalfulpError:
            return run.each(alone, operands, types)  # the error names the lanes in which it happened
        return (joined(parts, count, types[0], run),)

    return together


def _by_subgroups(op: Operation, settings: Settings) -> Function:
    """Return the function that runs a distributed op, which the lanes of a subgroup compute together."""
    plan = _plan(op, settings.model, [(0, 1)] * len(op.operands), lane_loop=1)
    size = plan.kind.lanes

    def together(run: Run, operands: Operands) -> tuple[Any, ...]:
        assert run.lanes is not None
        _check_subgroups(op, plan.kind, run.lanes)
        count = len(run.lanes)

        def grouped(value: Value) -> Value:
            return _reshaped(value if over_lanes(value) else repeated(value, count), (count // size, size))

        result = _computed(op, plan, settings.model, run, [grouped(value) for value in operands])
        return (_reshaped(result, (count,), 2),)

    return together


def _reshaped(value: Value, lead: Shape, axes: int = 1) -> Value:
    """Return a value with other leading axes in place of its first ones."""

    def reshaped(array: Array | None) -> Any:
        return None if array is None else array.reshape(*lead, *array.shape[axes:])

    return Value(value.type, reshaped(value.bits), reshaped(value.poison), reshaped(value.open), value.origins)


def _check_subgroups(op: Operation, kind: TileKind, lanes: Lanes) -> None:
    """Raise UndefinedBehavior if lanes of a subgroup are missing."""
    groups = lanes.numbers // kind.lanes
    present, counts = np.unique(groups, return_counts=True)
    fewer = counts < kind.lanes
    if fewer.any():
        first = int(np.argmax(fewer))
        report = undefined(
            op,
            f"{kind.name} needs all {kind.lanes} lanes of a subgroup together, but only {counts[first]} of "
            f"subgroup {present[first]} reach it",
        )
        if lanes.total % kind.lanes:
            report.hint = f"the batch has {lanes.total} lanes: give it a multiple of {kind.lanes}"
        raise in_lanes(report, lanes, np.isin(groups, present[fewer]))


def _computed(op: Operation, plan: TilePlan, model: str, run: Run, operands: Sequence[Value]) -> Value:
    """Return the result of an op whose operands have an axis for each loop of their map; loops around the op come
    first.
    """
    bounds = plan.bounds(op, operands)
    operands = _alike_in_copies(plan, operands)
    compute = partial(multiply_accumulate, model, plan.operation)
    try:
        bits = _accumulated(plan, bounds, compute, [_clean(value) for value in operands])
    except Unpublished as error:
        raise _unpublished(error) from None
    shape = operands[-1].shape
    # No element of C is in two lanes, so that its place in C is its place in the result.
    places = _tiles(plan, -1, np.arange(prod(shape)).reshape(shape)).reshape(-1)

    def put_back(tiles: Array) -> Array:
        array = np.empty(prod(shape), tiles.dtype)
        array[places] = tiles.reshape(-1)
        return array.reshape(shape)

    codes = put_back(bits)
    ids = _reached(plan, bounds, [value.poison for value in operands])
    tracked = run.settings.track_open
    open_ = _reached(
        plan,
        bounds,
        [None if v.open is None or not tracked else np.where(v.open, np.uint8(Open.VALUE.value), 0) for v in operands],
    )
    poison = None if ids is None or not ids.any() else put_back(ids)
    if poison is not None:
        codes[poison != 0] = 0
    reached = None if open_ is None else put_back(open_.astype(np.uint8))
    return Value(operands[-1].type, codes, poison, reached, None if poison is None else run.origins)


def _unpublished(error: Unpublished) -> Unsupported:
    return Unsupported(str(error), hint=error.hint)


def _clean(value: Value) -> Codes:
    """Return the codes with zeros under poison, so that the bits there do not change the result."""
    if value.poison is None:
        return value.bits
    return np.asarray(np.where(value.poison != 0, value.bits.dtype.type(0), value.bits))


def _alike_in_copies(plan: TilePlan, operands: Sequence[Value]) -> list[Value]:
    """Return the operands with equal marks of poison and unspecified bits on all copies of an element in the lanes.

    Raises Unsupported if the copies have different marks.
    """
    agreed = []
    for number, (part, value) in enumerate(zip(plan.parts, operands, strict=True)):
        layout, lanes = part.layout, plan.kind.lanes
        if layout is not None and lanes * layout.registers > prod(layout.shape):
            places = part.shares(np.arange(prod(value.shape)).reshape(value.shape), plan.loops, plan.lane_loop)
            poison, open_ = (_most(marks, places, layout) for marks in (value.poison, value.open))
            value = Value(value.type, value.bits, poison, open_, value.origins)
            held = _clean(value).reshape(-1)[places]
            if not np.array_equal(distribute(gather(held, layout), layout, lanes), held):
                raise Unsupported(
                    f"lanes of {plan.kind.name} have different values for the same element of operand #{number}"
                )
        agreed.append(value)
    return agreed


def _most(marks: Array | None, places: Array, layout: LaneLayout) -> Any:
    """Return, for each element, the largest mark of its copies. ``places``: the positions of the lanes' elements among
    all marks.
    """
    if marks is None:
        return None
    held = marks.reshape(-1)[places]
    *lead, lanes, registers = held.shape
    tiles = np.zeros((prod(layout.shape), prod(lead)), marks.dtype)
    np.maximum.at(tiles, layout.positions(lanes).reshape(-1), held.reshape(-1, lanes * registers).T)
    merged = np.empty(marks.size, marks.dtype)
    merged[places] = distribute(tiles.T.reshape(*lead, *layout.shape), layout, lanes)
    return merged.reshape(marks.shape)


def _tiles(plan: TilePlan, number: int, array: Array) -> Array:
    return plan.parts[number].tiles(array, plan.loops, plan.lane_loop)


def _accumulated(plan: TilePlan, bounds: Shape, compute: Callable[..., Codes], operands: Sequence[Codes]) -> Codes:
    """Return C's tiles after all points."""
    *inputs, acc = [_tiles(plan, number, codes) for number, codes in enumerate(operands)]
    loops = len(bounds)
    lead = acc.shape[:loops]
    reductions = _reductions(plan)
    for point in product(*(range(bounds[loop]) for loop in reductions)):
        place: list[slice] = [slice(None)] * loops
        at_point = []
        for tiles in inputs:
            for loop, number in zip(reductions, point, strict=True):
                place[loop] = slice(number, number + 1) if tiles.shape[loop] > 1 else slice(None)
            at_point.append(np.broadcast_to(tiles[tuple(place)], lead + tiles.shape[loops:]))
        a, b, *scales = at_point
        acc = compute(a, b, acc, *scales)
    return acc


def _reductions(plan: TilePlan) -> Shape:
    """Return the loops that C does not have, counted without the loop over the lanes."""
    every = [loop for loop in range(plan.loops) if loop != plan.lane_loop]
    return tuple(number for number, loop in enumerate(every) if loop not in plan.parts[-1].loops)


def _reached(plan: TilePlan, bounds: Shape, marks: Sequence[Array | None]) -> Array | None:
    """Return, for each element of C, the largest mark on its row of A, on its column of B, and on itself."""
    if all(mark is None for mark in marks):
        return None
    reductions = _reductions(plan)
    lead = tuple(1 if loop in reductions else size for loop, size in enumerate(bounds))
    merged: Array = np.zeros(lead + plan.parts[-1].matrix, np.uint16)
    for number, mark in enumerate(marks):
        if mark is None:
            continue
        tiles = _tiles(plan, number, mark)
        if number < len(marks) - 1:
            along_k = tiles.ndim - 1 - number % 2  # the last axis but one for B and its scales
            tiles = tiles.max(axis=(*reductions, along_k), keepdims=True, initial=0)
        merged = np.maximum(merged, tiles)
    return merged


# --- what the attributes say ------------------------------------------------------------------------------------------


def _is(op: Operation, flag: str) -> bool:
    """Return a flag of the semantics of a known kind."""
    semantics = op.prop("semantics", DialectAttr)
    return bool(semantics[flag])


def _plan(op: Operation, model: str, around: Sequence[Shape] | None = None, lane_loop: int | None = None) -> TilePlan:
    """Return what is known about an op before it runs. ``around``: in a batch, the loops around the op that each
    operand has. ``lane_loop``: the loop over the lanes of a subgroup.
    """
    attribute = op.properties["kind"]
    kind = iree_gpu.kind_of(attribute)
    if kind is None or not isinstance(attribute, DialectAttr):
        raise Unsupported(f"the result of {attribute} is not known")
    elements = [ty.element_type(value.type) for value in op.operands]
    operation = _operation(kind, elements)
    try:
        rule_of(model, operation)
    except Unpublished as error:
        raise _unpublished(error) from None
    except ValueError as error:
        raise Unsupported(f"{operation.name}: {error}") from None
    if not supports(model, operation):
        raise _unpublished(Unpublished(model, operation.name))
    loops = _loops(op)
    ranks = [len(dims) for dims in loops]
    more = 0 if around is None else len(around[-1])
    if around is not None:
        loops = [(*own, *(dim + more for dim in dims)) for own, dims in zip(around, loops, strict=True)]
    elif _is(op, "distributed"):
        lane_loop = _loop_over_lanes(kind, op, loops)
    layouts = _layouts(kind, attribute["col_major"]) if lane_loop is not None else (None,) * len(loops)
    matrices = _matrices(kind)
    shapes = kind.lane_shapes if lane_loop is not None else kind.operand_shapes
    assert shapes is not None
    permutations = op.properties.get("permutations")
    parts = []
    for number, (dims, shape, matrix, layout) in enumerate(zip(loops, shapes, matrices, layouts, strict=True)):
        given = permutations.elements[number] if isinstance(permutations, at.ArrayAttr) else None
        own = (ty.shape_of(op.operands[number].type) or ())[ranks[number] :]
        order = _permutation(given, shape, own, _is(op, "opaque"))
        inner = tuple(shape[axis] for axis in order)
        inverse = tuple(order.index(axis) for axis in range(len(order)))
        parts.append(TilePart(dims, inner, inverse, matrix, layout))
    return TilePlan(kind, operation, tuple(parts), len(_iterators(op)) + more, lane_loop, more)


def _operation(kind: TileKind, elements: Sequence[ty.Type]) -> TileOp:
    if kind.block is None:
        return operation_of(kind)
    names = [element.format.name if isinstance(element, ty.FloatType) else str(element) for element in elements]
    floats, acc = all(isinstance(element, ty.FloatType) for element in elements), kind.types[2]
    if not floats or names[-1] != acc or not all(holds(acc, name) for name in names[:2]):
        raise Unsupported(
            f"{kind.name} takes floats whose values {acc} has, and an accumulator of {acc}, but has {', '.join(names)}"
        )
    return operation_of(kind, names[0], names[1], names[2])


def _iterators(op: Operation) -> tuple[int, ...]:
    iterators = op.prop("iterator_types", at.ArrayAttr)
    return tuple(entry.value for entry in iterators.elements if isinstance(entry, EnumAttr))


def _loops(op: Operation) -> list[Shape]:
    """Return the loops of each operand's outer axes."""
    maps = op.prop("indexing_maps", at.ArrayAttr)
    loops = [
        tuple(result.position for result in map.results if isinstance(result, Dimension))
        for map in maps.elements
        if isinstance(map, at.AffineMapAttr)
    ]
    for loop, iterator in enumerate(_iterators(op)):
        if iterator != _REDUCTION and loop not in loops[-1]:
            raise Unsupported(
                f"the points of the parallel loop d{loop} write to the same tile, in an order that is not defined"
            )
    return loops


def _loop_over_lanes(kind: TileKind, op: Operation, loops: Sequence[Shape]) -> int:
    for loop, iterator in enumerate(_iterators(op)):
        if iterator != _REDUCTION and all(loop in dims for dims in loops):
            return loop
    others = kind.lanes - 1
    raise Unsupported(
        f"one lane's share of {kind.name} has no result without those of the other {others} lanes",
        hint="run all lanes as a batch (batch=True, --batch), or give them a parallel loop in the maps of all operands",
    )


def _layouts(kind: TileKind, col_major: bool) -> tuple[LaneLayout, ...]:
    """Return the layouts in the lanes. ``col_major`` exchanges the axes of C, which only a square tile allows."""
    if kind.layouts is None:
        raise Unsupported(f"the elements that the lanes of {kind.name} hold are not known")
    *inputs, acc = kind.layouts
    if col_major and acc.transposed.shape != acc.shape:
        raise Unsupported(f"{kind.name} has no layout with col_major: its C is not square")
    return (*inputs, acc.transposed if col_major else acc)


def _matrices(kind: TileKind) -> tuple[Shape, ...]:
    """Return the shapes in which tiles are multiplied: those of the kind, with K in one axis."""
    m, n, k = kind.shape
    if kind.block is None:
        return kind.operand_shapes
    return (m, k), (k, n), *kind.operand_shapes[2:]


def _permutation(given: at.Attribute | None, shape: Shape, own: Sequence[int | None], opaque: bool) -> Shape:
    """Return the permutation of a tile's axes, or none if the tile has another rank: then only axes of size 1 move."""
    none = tuple(range(len(shape)))
    if not isinstance(given, at.DenseArrayAttr):
        return none
    order = tuple(given.values)
    if len(order) == len(shape):
        return order
    moved = [axis for axis in order if own[order.index(axis)] != 1]
    if not opaque and moved != sorted(moved):
        raise Unsupported(f"the permutation has {len(order)} axes, but the tile {spell_shape(shape)} has {len(shape)}")
    return none
