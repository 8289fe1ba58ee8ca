"""Parts of tensors and memrefs, given by offsets, sizes and strides. Each of these numbers is in the text or is an
operand.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from halfulp.interp.declare import declarations as d
from halfulp.interp.ir import attributes as at
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.attributes import IntegerAttr
from halfulp.interp.ir.operations import Operation, OpResult, SSAValue, undefined
from halfulp.interp.ir.types import spell_shape
from halfulp.interp.run.frames import lift
from halfulp.interp.run.settings import Settings

# --- indices ----------------------------------------------------------------------------------------------------------
#
# Index operands, constants among them, and positions in a shape.

DYNAMIC = -(1 << 63)
"""The mark in a list of static numbers for one that an operand gives."""


def constant(value: SSAValue) -> int | None:
    """Return the number that an `arith.constant` makes; None for any other value."""
    if not isinstance(value, OpResult) or value.owner.name != "arith.constant":
        return None
    found = value.owner.properties.get("value")
    return found.value if isinstance(found, IntegerAttr) else None


def numbers(op: Operation, slots: Sequence[Any], settings: Settings, signed: bool = True) -> tuple[int, ...]:
    """Return index operands, as slots hold them, as numbers. Raises UndefinedBehavior for poison."""
    half = 1 << (settings.index_width - 1) if signed else 0
    result = []
    for slot in slots:
        code = slot
        if code.__class__ is not int:
            value = lift(slot, ty.INDEX)
            if value.poison is not None:
                raise undefined(op, f"an index is poison: {value.origin()}")
            code = int(value.bits)
        result.append(code - 2 * half if code & half else code)
    return tuple(result)


def element_at(op: Operation, shape: tuple[int, ...], indices: tuple[int, ...]) -> tuple[int, ...]:
    """Return the indices if they lie inside the shape. Raises UndefinedBehavior."""
    if len(indices) != len(shape) or any(not 0 <= k < n for k, n in zip(indices, shape, strict=True)):
        raise undefined(op, f"index {list(indices)} is outside the shape {spell_shape(shape)}")
    return indices


# --- slices -----------------------------------------------------------------------------------------------------------

LISTS = ("offsets", "sizes", "strides")
OPERANDS = tuple(d.variadic(name, d.INDEX) for name in LISTS)
PROPERTIES = tuple(d.Property(f"static_{name}", d.INTEGER_64_ARRAY_ATTR) for name in LISTS)
FORM = " ".join(f"custom<DynamicIndexList>(${name}, $static_{name})" for name in LISTS)


class Written(NamedTuple):
    """The offsets, sizes and strides of a slice as they are in the text. A number that an operand gives is None."""

    offsets: tuple[int | None, ...]
    sizes: tuple[int | None, ...]
    strides: tuple[int | None, ...]


class Part(NamedTuple):
    """The offsets, sizes and strides of a slice at run time. The slice lies inside its source."""

    offsets: tuple[int, ...]
    sizes: tuple[int, ...]
    strides: tuple[int, ...]

    @property
    def place(self) -> tuple[Any, ...]:
        """The part as an index of NumPy. A stride may be negative, or 0, so that an element occurs several times."""
        axes = list(zip(*self, strict=True))
        if any(count > 1 and not step for _, count, step in axes):
            return np.ix_(*(start + step * np.arange(count) for start, count, step in axes))
        return tuple([_slice(*axis) for axis in axes])


def _slice(start: int, count: int, step: int) -> slice:
    if count < 2:
        return slice(start, start + count)
    stop = start + count * step
    return slice(start, stop if stop >= 0 else None, step)


def static_numbers(op: Operation, name: str) -> tuple[int | None, ...]:
    """Return the numbers of a list of a view; None for a number that an operand gives."""
    written = op.prop(f"static_{name}", at.DenseArrayAttr)
    return tuple(None if number == DYNAMIC else number for number in written.values)


def out_of_bounds(axis: int, size: int, start: int, count: int, step: int) -> str | None:
    """Return why a part does not lie inside one dimension, in the words of the verifier, or None."""
    if start < 0:
        return f"expected offsets to be non-negative, but got {start}"
    if count < 0:
        return f"expected sizes to be non-negative, but got {count}"
    if not count:
        return None
    if start >= size:
        return f"offset {axis} is out-of-bounds: {start} >= {size}"
    last = start + (count - 1) * step
    if last < 0:
        return f"slice along dimension {axis} runs out-of-bounds: {last} < 0"
    return f"slice along dimension {axis} runs out-of-bounds: {last} >= {size}" if last >= size else None


def offsets(op: Operation) -> dict[int, int]:
    """Return a mapping from the number of an operand to an axis, for each offset that is an operand. The operands for
    offsets come before those for sizes and strides.
    """
    axes = [axis for axis, number in enumerate(static_numbers(op, "offsets")) if number is None]
    first = len(op.operands) - sum(static_numbers(op, name).count(None) for name in LISTS)
    return {first + place: axis for place, axis in enumerate(axes)}


def written(op: Operation) -> Written:
    """Return the offsets, sizes and strides of an op as they are in its text."""
    return Written(*(static_numbers(op, name) for name in LISTS))


def verify_written(lists: Written, rank: int, given: Sequence[int], one_offset: bool = False) -> str | None:
    """Return what is wrong with the lengths of the lists, in MLIR's words, or None. ``rank``: the rank of the source.
    ``given``: the number of operands for each list. ``one_offset``: the op has one offset, whatever the rank
    (memref.reinterpret_cast).
    """
    offsets, sizes, strides = map(len, lists)
    if offsets != sizes and not (one_offset and offsets == 1):
        return _unequal("offsets", offsets, "sizes", sizes)
    if sizes != strides:
        return _unequal("sizes", sizes, "strides", strides)
    ranks = (1 if one_offset else rank, rank, rank)
    for word, each, count, wanted in zip(("offset", "size", "stride"), lists, given, ranks, strict=True):
        if len(each) != wanted:
            return d.Unprefixed(f"expected {wanted} {word} values, got {len(each)}")
        if count != each.count(None):
            return d.Unprefixed(
                f"expected the number of '{word}s' to match the number of dynamic entries in 'static_{word}s' "
                f"({count} vs {each.count(None)})"
            )
    for word, each in (("offsets", lists.offsets), ("sizes", lists.sizes)):
        negative = next((number for number in each if number is not None and number < 0), None)
        if negative is not None:
            return d.Unprefixed(f"expected {word} to be non-negative, but got {negative}")
    return None


def _unequal(one: str, first: int, other: str, second: int) -> str:
    return d.Unprefixed(
        f"expected mixed {one} rank to match mixed {other} rank ({first} vs {second}) so the rank of the result type "
        "is well-formed."
    )


def verify_inside(lists: Written, shape: Sequence[int | None]) -> str | None:
    """Return, in MLIR's words, why a part cannot lie inside a shape; None if it can."""
    for axis, (size, start, count, step) in enumerate(zip(shape, *lists, strict=True)):
        if size is None or start is None:
            continue
        if start >= size:
            return d.Unprefixed(f"offset {axis} is out-of-bounds: {start} >= {size}")
        # As in MLIR, a part that begins in front of the shape is found when it runs.
        if count is None or step is None:
            continue
        if (last := start + (count - 1) * step) >= size:
            return d.Unprefixed(f"slice along dimension {axis} runs out-of-bounds: {last} >= {size}")
    return None


def part_of(op: Operation, lists: Written, operands: Sequence[Any], shape: Sequence[int], settings: Settings) -> Part:
    """Return the slice of an op, with the values of operands filled in. Raises UndefinedBehavior for a slice that is
    not inside the shape.
    """
    given: Iterator[int] = iter(numbers(op, operands, settings))
    part = Part(*(tuple([next(given) if number is None else number for number in each]) for each in lists))
    for axis, (size, start, count, step) in enumerate(zip(shape, *part, strict=True)):
        problem = out_of_bounds(axis, size, start, count, step)
        if problem:
            raise undefined(op, problem)
    return part


def kept_axes(sizes: Sequence[int | None], reduced: Sequence[int | None]) -> tuple[int, ...] | None:
    """Return the axes that remain after dimensions of size 1 were dropped so that the sizes are those of ``reduced``.

    None if that is not possible. If there are several ways, the first axes that fit remain, as in MLIR.
    """
    kept: list[int] = []
    for axis, size in enumerate(sizes):
        if len(kept) < len(reduced) and size == reduced[len(kept)]:
            kept.append(axis)
        elif size != 1:
            return None
    return tuple(kept) if len(kept) == len(reduced) else None
