"""Read ``linalg.generic`` as elementwise ops over its iteration space, from the text that MLIR prints.

If no dimension is a reduction, each point is independent of the others. The op then is its body on tensors with the
shape of the space: each operand is first moved to the axes of the space, and the result back. So the ops of the body
run together with the same ops of other programs.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from halfulp.interp.ir import types as ty
from halfulp.interp.values.value import Value

MOVED = "halfulp.moved"
"""The name of an op that moves an operand to the axes of a space."""

_GENERIC = re.compile(
    r" <\{indexing_maps = \[(.*)\], iterator_types = \[([^\]]*)\], "
    r"operandSegmentSizes = array<i32: \d+, (\d+)>\}> \(\{\n"
    r"    \^bb0\((.*)\):\n(.*)\n    \}\) : .*",
    re.DOTALL,
)
_MAP = re.compile(r"affine_map<\(([^()]*)\) -> \(([^()]*)\)>")
_SHAPED = re.compile(r"tensor<((?:\d+x)+)(\w+)>")
_TYPES = re.compile(r"(.*) : \((\w+(?:, \w+)*)\) -> (\w+)")
_SCALAR = re.compile(r"()(\w+)")

Axes = tuple[int, ...]
"""For each axis of an operand, the dimension of the space that it follows; -1 for the constant index 0."""


class Generic(NamedTuple):
    """A ``linalg.generic`` without reductions.

    ``shape``: of the space, as in types, such as "3x7x". ``axes``: of each operand. ``back``: for each result, the
    dimensions of the space in the order of its axes. ``arguments``: the names of the block's arguments. ``body``: its
    lines.
    """

    shape: str
    axes: tuple[Axes, ...]
    back: tuple[Axes, ...]
    arguments: tuple[str, ...]
    body: list[str]
    used: str


def generic_of(rest: str, inputs: tuple[str, ...], outputs: tuple[str, ...]) -> Generic | None:
    """Read what follows the operands of a ``linalg.generic``; None if it has reductions, other maps than dimensions and
    zeros, dynamic shapes, no dimensions, or indices of points as values.

    ``inputs``, ``outputs``: the types of its operands and results.
    """
    found = _GENERIC.fullmatch(rest)
    if found is None:
        return None
    maps, iterators, results, arguments, body = found.groups()
    if '"linalg.index"' in body:
        return None
    space = _space(maps, iterators, int(results), inputs)
    if space is None or len(outputs) != int(results):
        return None
    names = tuple(each.partition(":")[0] for each in arguments.split(", "))
    return Generic(*space, names, body.split("\n"), body) if len(names) == len(inputs) else None


@lru_cache(maxsize=4096)
def _space(
    maps: str, iterators: str, results: int, types: tuple[str, ...]
) -> tuple[str, tuple[Axes, ...], tuple[Axes, ...]] | None:
    read = _MAP.findall(maps)
    kinds = iterators.split(", ")
    if len(read) != len(types) or any(kind != "#linalg.iterator_type<parallel>" for kind in kinds):
        return None
    sizes: dict[int, int] = {}
    every: list[Axes] = []
    for (dims, indices), type_ in zip(read, types, strict=True):
        names = [*dims.split(", "), "0"]
        shaped = _SHAPED.fullmatch(type_) or _SCALAR.fullmatch(type_)
        given = indices.split(", ") if indices else []
        if shaped is None or not set(given).issubset(names) or len(names) != len(kinds) + 1:
            return None
        axes = tuple([names.index(each) if each != "0" else -1 for each in given])
        used = [axis for axis in axes if axis >= 0]
        shape = [int(each) for each in shaped[1].split("x")[:-1]]
        if len(shape) != len(axes) or len(set(used)) != len(used) or 0 in shape:
            return None
        if any(sizes.setdefault(axis, size) != size for axis, size in zip(axes, shape, strict=True) if axis >= 0):
            return None
        every.append(axes)
    back = every[-results:] if results else []
    if sizes.keys() != set(range(len(kinds))) or any(-1 in axes or len(axes) != len(kinds) for axes in back):
        return None
    return "".join(f"{sizes[axis]}x" for axis in range(len(kinds))), tuple(every), tuple(back)


def moved_text(axes: Axes, shape: str, source: str) -> str | None:
    """Return what follows the operand of an op `MOVED`; None if it already has the axes of the space. ``source``: the
    type of the operand.
    """
    shaped = _SHAPED.fullmatch(source)
    element = source if shaped is None else shaped[2]
    if shaped is not None and shaped[1] == shape and axes == tuple(range(len(axes))):
        return None
    return f" {','.join(map(str, axes))} {shape} : ({source}) -> tensor<{shape}{element}>"


def inverse(back: Axes, shape: str) -> tuple[Axes, str]:
    """Return the axes with which a value over a space moves to a result, and the shape of the result. ``back``: as in
    `Generic`.
    """
    sizes = shape.split("x")
    return tuple([back.index(axis) for axis in range(len(back))]), "".join(f"{sizes[axis]}x" for axis in back)


def on_tensors(rest: str, shape: str) -> str | None:
    """Return what follows the operands of an op on scalars, for tensors of a shape; None if a type has another form."""
    found = _TYPES.fullmatch(rest)
    if found is None:
        return None
    before, inputs, output = found.groups()
    given = ", ".join(f"tensor<{shape}{each}>" for each in inputs.split(", "))
    return f"{before} : ({given}) -> tensor<{shape}{output}>"


def moved(rest: str, value: Value) -> Value:
    """Return the operand of an op `MOVED`, over lanes, over the space. ``rest``: as `moved_text` returns it."""
    axes, shape = _parsed(rest)
    places = [axis for axis in axes if axis >= 0]
    own = tuple([size if axis in places else 1 for axis, size in enumerate(shape)])
    part = (slice(None), *(slice(None) if axis >= 0 else 0 for axis in axes))
    order = [1 + places.index(axis) for axis in sorted(places)]
    if order == sorted(order) and own == value.shape[1:] == shape:
        return value

    def put(array: Any) -> Any:
        if array is None:
            return None
        taken = array[part]
        rank = 1 + len(order)
        taken = taken.transpose(0, *order, *range(rank, taken.ndim))
        lanes, trailing = taken.shape[0], taken.shape[rank:]
        return np.broadcast_to(taken.reshape(lanes, *own, *trailing), (lanes, *shape, *trailing))

    type_ = ty.TensorType(shape, value.element_type)
    return Value(type_, put(value.bits), put(value.poison), put(value.open), value.origins)


@lru_cache(maxsize=4096)
def _parsed(rest: str) -> tuple[Axes, tuple[int, ...]]:
    _, axes, shape, _ = rest.split(" ", 3)
    return (
        tuple([int(axis) for axis in axes.split(",")] if axes else []),
        tuple([int(size) for size in shape.split("x")[:-1]]),
    )
