"""The iteration space of a structured op at run time: its sizes, and operands as arrays over it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import product
from math import prod
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from halfulp.interp.dialects.structured.structure import loop_of
from halfulp.interp.ir import attributes as at
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.affine_expressions import AffineConstant, AffineExpr, Binary, Dimension, evaluated, linear
from halfulp.interp.ir.errors import UndefinedBehavior
from halfulp.interp.ir.operations import Operation, undefined
from halfulp.interp.run.frames import Lanes, in_lanes
from halfulp.interp.values.value import Value

Block = tuple[slice, ...]
"""A part of the space: a range of indices for each dimension, in the order of the arrays' axes."""

AT_ONCE = 1 << 18  # indices that are checked together
INDEX_BOUND = 1 << 62
"""A bound on indices: what may lie beyond it is computed on Python integers."""


def checked_sizes(
    op: Operation, maps: Sequence[at.AffineMapAttr], shapes: Sequence[tuple[int, ...]], lanes: Lanes | None
) -> tuple[int, ...]:
    """Return the sizes of the iteration space for operands of these shapes. ``lanes``: the lanes of a batch, in all of
    which the shapes are the same.

    Raises UndefinedBehavior if shapes do not fit each other, or if a map leads outside of its operand.
    """
    try:
        return _sizes(op, maps, shapes)
    except UndefinedBehavior as error:
        raise in_lanes(error, lanes) from None


def _sizes(op: Operation, maps: Sequence[at.AffineMapAttr], shapes: Sequence[tuple[int, ...]]) -> tuple[int, ...]:
    loops = loop_of(maps)
    sizes = tuple([shapes[loop[0]][loop[1]] for loop in loops if loop is not None])
    for operand, (map_, shape) in enumerate(zip(maps, shapes, strict=True)):
        for axis, (expr, size) in enumerate(zip(map_.results, shape, strict=False)):
            if isinstance(expr, Dimension):
                if sizes[expr.position] != size:
                    raise _conflict(op, loops[expr.position], (operand, axis), sizes[expr.position], size)
            elif 0 not in sizes:
                _check_range(op, operand, axis, expr, sizes, size)
    return sizes


def _conflict(op: Operation, first: tuple[int, int] | None, second: tuple[int, int], one: int, other: int) -> Exception:
    assert first is not None
    return undefined(
        op,
        f"operands have different shapes at run time: dimension {first[1]} of operand #{first[0]} has {one} elements, "
        f"and dimension {second[1]} of operand #{second[0]} has {other}",
    )


def _check_range(op: Operation, operand: int, axis: int, expr: AffineExpr, sizes: tuple[int, ...], size: int) -> None:
    """Raise UndefinedBehavior unless an index lies inside its operand at all points."""
    terms = linear(expr, len(sizes))
    if terms is not None and terms[1] is not None:
        ends = [(factor or 0) * (count - 1) for factor, count in zip(terms[0], sizes, strict=True)]
        low, high = terms[1] + sum(min(0, end) for end in ends), terms[1] + sum(max(0, end) for end in ends)
        if low >= 0 and high < size:
            return
        point = [count - 1 if (end < 0) == (low < 0) and end else 0 for end, count in zip(ends, sizes, strict=True)]
        index = low if low < 0 else high
    else:
        try:
            low, high = _range(expr, sizes)
            if low >= 0 and high < size:
                return
            found = _outside(expr, sizes, size)
        except ZeroDivisionError:
            raise undefined(op, f"the map of operand #{operand} divides by zero") from None
        if found is None:
            return
        index, point = found
    raise undefined(
        op,
        f"index {index} is outside dimension {axis} of operand #{operand}, which has {size} elements, at iteration "
        f"{point}",
    )


def _range(expr: AffineExpr, sizes: tuple[int, ...]) -> tuple[int, int]:
    """Return bounds on the values of an expression; the expression need not reach them. Raises ZeroDivisionError."""
    if isinstance(expr, Dimension):
        return 0, sizes[expr.position] - 1
    if not isinstance(expr, Binary):
        value = evaluated(expr, ())
        return value, value
    one, other = _range(expr.lhs, sizes), _range(expr.rhs, sizes)
    if expr.operator == "mod" and other[0] > 0:
        return (0, other[1] - 1) if one[0] < 0 or one[1] >= other[0] else one
    ends = [evaluated(Binary(expr.operator, AffineConstant(a), AffineConstant(b)), ()) for a in one for b in other]
    return min(ends), max(ends)


def _outside(expr: AffineExpr, sizes: tuple[int, ...], size: int) -> tuple[int, list[int]] | None:
    """Return the first index that is not below a size, and its point; None if there is none."""
    used = sorted(dimensions_of(expr))
    for block in blocks([sizes[d] for d in used], AT_ONCE):
        grids = np.meshgrid(*(np.arange(part.start, part.stop) for part in block), indexing="ij", sparse=True)
        shape = tuple([part.stop - part.start for part in block])
        found = np.broadcast_to(_values(expr, dict(zip(used, grids, strict=True)), sizes), shape)
        wrong = (found < 0) | (found >= size)
        if wrong.any():
            place = np.unravel_index(int(np.argmax(wrong)), shape)
            point = [0] * len(sizes)
            for dimension, part, index in zip(used, block, place, strict=True):
                point[dimension] = part.start + int(index)
            return int(found[place]), point
    return None


def dimensions_of(expr: AffineExpr) -> set[int]:
    """Return the dimensions that an expression depends on."""
    if isinstance(expr, Binary):
        return dimensions_of(expr.lhs) | dimensions_of(expr.rhs)
    return {expr.position} if isinstance(expr, Dimension) else set()


def _values(expr: AffineExpr, grids: dict[int, Any], sizes: tuple[int, ...]) -> Any:
    """Return the values of an expression on arrays of indices, exactly."""
    exact = _largest(expr, sizes) >= INDEX_BOUND
    given = [grids.get(d, 0) for d in range(len(sizes))]
    if exact:
        given = [np.asarray(each, object) for each in given]
    return evaluated(expr, given)


def _largest(expr: AffineExpr, sizes: tuple[int, ...]) -> int:
    """Return a bound on the magnitude of an expression and of all its parts. Raises ZeroDivisionError."""
    if isinstance(expr, Dimension):
        return sizes[expr.position]
    if not isinstance(expr, Binary):
        return abs(int(evaluated(expr, ())))
    one, other = _largest(expr.lhs, sizes), _largest(expr.rhs, sizes)
    if expr.operator not in ("+", "*") and not other:
        raise ZeroDivisionError
    return one * other if expr.operator == "*" else one + other + 1


class Space(NamedTuple):
    """The sizes of an iteration space, and the order of its dimensions as axes of arrays.

    ``lanes``: the number of lanes that the first axis goes over, or 0 if there is no such axis.
    """

    sizes: tuple[int, ...]
    order: tuple[int, ...]
    lanes: int = 0

    @property
    def lead(self) -> int:
        """1 if the first axis goes over lanes, else 0."""
        return 1 if self.lanes else 0


class View:
    """An operand as an array over the space: an axis for each dimension, of size 1 if the map does not use the
    dimension.
    """

    __slots__ = ("_arrays", "_indices", "_map", "_space", "_type", "_value")

    def __init__(self, value: Value, map_: at.AffineMapAttr, space: Space) -> None:
        self._type = ty.element_type(value.type)
        self._space = space
        self._map = map_
        self._value = value
        terms = [linear(expr, len(space.sizes)) for expr in map_.results]
        self._arrays: list[Any] | None = None
        if all(term is not None and term[1] is not None for term in terms):
            over = value.ndim - len(map_.results)
            self._arrays = [
                None if array is None else _strided(array, over, terms, space)
                for array in (value.bits, value.poison, value.open)
            ]

    def block(self, block: Block) -> Value:
        """Return the elements at a part of the space, ``block``, as a value."""
        bits, poison, open_ = self._gathered(block) if self._arrays is None else self._sliced(block)
        if poison is not None and not poison.any():
            poison = None
        return Value(self._type, bits, poison, open_, None if poison is None else self._value.origins)

    def _sliced(self, block: Block) -> list[Any]:
        assert self._arrays is not None
        bits = self._arrays[0]
        lead = self._space.lead
        part = (slice(None),) * lead + tuple(
            [slice(None) if bits.shape[axis] == 1 else range_ for axis, range_ in enumerate(block, lead)]
        )
        return [None if array is None else array[part] for array in self._arrays]

    def _gathered(self, block: Block) -> list[Any]:
        sizes, order = self._space.sizes, self._space.order
        grids: dict[int, Any] = {}
        for axis, (dimension, range_) in enumerate(zip(order, block, strict=True)):
            shape = [1] * len(order)
            shape[axis] = -1
            grids[dimension] = np.arange(range_.start, range_.stop).reshape(shape)
        rank = (1,) * len(order)
        each = [np.asarray(_values(expr, grids, sizes)).astype(np.intp) for expr in self._map.results]
        indices = tuple([index if index.ndim else index.reshape(rank) for index in each])
        over = self._value.ndim - len(indices)
        whole = (slice(None),) * over + indices
        value = self._value
        found = [None if array is None else array[whole] for array in (value.bits, value.poison, value.open)]
        if self._space.lead and not over:
            found = [None if array is None else array[np.newaxis] for array in found]
        return found


def _strided(array: npt.NDArray[Any], over: int, terms: Sequence[Any], space: Space) -> npt.NDArray[Any]:
    """Return the elements of an array over the space, without a copy: each index is a sum of dimensions times factors.

    ``over``: 1 if the first axis of the array goes over lanes.
    """
    rank = len(terms)
    trailing = array.shape[over + rank :]
    used = [any(factors[d] for factors, _ in terms) for d in space.order]
    shape = [space.sizes[d] if use else 1 for d, use in zip(space.order, used, strict=True)]
    own = array.strides[over : over + rank]
    strides = [
        sum(factors[d] * stride for (factors, _), stride in zip(terms, own, strict=True)) if size > 1 else 0
        for d, size in zip(space.order, shape, strict=True)
    ]
    lanes = array.shape[:over] or (1,) * space.lead
    lane_strides = array.strides[:over] or (0,) * space.lead
    if 0 in shape or 0 in array.shape:
        return np.empty((*lanes, *shape, *trailing), array.dtype)
    start = (slice(None),) * over + tuple([slice(constant, constant + 1) for _, constant in terms])
    return np.lib.stride_tricks.as_strided(
        array[start],
        (*lanes, *shape, *trailing),
        (*lane_strides, *strides, *array.strides[over + rank :]),
        writeable=False,
    )


def blocks(sizes: Sequence[int], most: int) -> Iterable[Block]:
    """Divide a space into blocks of at most ``most`` points. Return them in lexicographic order; the points of a block
    follow each other in that order too.
    """
    if 0 in sizes:
        return ()
    if prod(sizes) <= most:
        return (tuple([slice(0, size) for size in sizes]),)
    # The first dimension after which all fits is cut; those before it take one index at a time.
    inner, cut = 1, len(sizes) - 1
    while cut > 0 and inner * sizes[cut] <= most:
        inner *= sizes[cut]
        cut -= 1
    step = max(1, most // inner)
    ranges = [[slice(index, index + 1) for index in range(size)] for size in sizes[:cut]]
    ranges.append([slice(start, min(start + step, sizes[cut])) for start in range(0, sizes[cut], step)])
    return product(*ranges, *([slice(0, size)] for size in sizes[cut + 1 :]))
