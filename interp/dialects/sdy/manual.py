"""sdy.manual_computation: a program for each device of a mesh, on its own parts of the arrays.

Each operand is cut along the axes that its sharding names for a dimension, the body runs once for each device, and the
results are put together again. The devices are the partitions of a grid, so that StableHLO's collective ops work as
they do in `interpreter.run_parallel`. A device along an axis that the op does not compute by hand has the same parts as
its neighbours there.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise, product
from math import prod
from typing import Any, NamedTuple

import numpy as np

from halfulp.interp.dialects.elements import combined, picked
from halfulp.interp.dialects.sdy.attributes import UNREDUCED, text_of
from halfulp.interp.dialects.stablehlo.grid import begun, in_turn
from halfulp.interp.ir import attributes as at
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.base import quoted
from halfulp.interp.ir.dialect_attributes import DialectAttr
from halfulp.interp.ir.errors import Unsupported
from halfulp.interp.ir.operations import Operation, undefined
from halfulp.interp.run.evaluators import Compiler
from halfulp.interp.run.frames import Action, Frame, Run, Segment, lift, lower
from halfulp.interp.values.value import Value, retyped

_MOST_DEVICES = 1 << 16
Find = Callable[[at.SymbolRefAttr], Operation | None]
Places = tuple[int, ...]
"""The places of a device along the axes of a mesh."""

# --- meshes and shardings ---------------------------------------------------------------------------------------------


class Mesh(NamedTuple):
    """The names and sizes of the axes of a mesh, and the number of the device at each place, row-major; () if these are
    in order.
    """

    sizes: dict[str, int]
    numbers: tuple[int, ...]

    @property
    def devices(self) -> Sequence[int]:
        """The number of the device at each place."""
        return self.numbers if self.sizes and self.numbers else range(prod(self.sizes.values()))

    @property
    def places(self) -> list[Places]:
        """The places of the devices."""
        return list(product(*map(range, self.sizes.values())))


def _mesh_of(sharding: DialectAttr, find: Find) -> Mesh | None:
    found: Any = sharding["mesh_or_ref"]
    if isinstance(found, at.SymbolRefAttr):
        holder = find(found)
        found = None if holder is None or holder.name != "sdy.mesh" else holder.properties["mesh"]
    if not isinstance(found, DialectAttr):
        return None
    sizes = {axis["name"]: axis["size"] for axis in found["axes"]}
    return Mesh(sizes, tuple(found["device_ids"]))


def _shardings(op: Operation, name: str) -> tuple[DialectAttr, ...]:
    found = op.prop(name, DialectAttr)
    shardings: tuple[DialectAttr, ...] = found["shardings"]
    return shardings


def _axes(op: Operation) -> tuple[str, ...]:
    found = op.prop("manual_axes", DialectAttr)
    return tuple(axis.value for axis in found["value"])


class _Cut(NamedTuple):
    """A part of an axis by which a dimension is cut: the axis, the product of the parts before it, and its size."""

    axis: str
    before: int
    size: int


def _cuts(sharding: DialectAttr, mesh: Mesh, axes: Sequence[str]) -> list[list[_Cut]]:
    """Return for each dimension how the axes that are computed by hand cut it, the outermost first."""
    made = []
    for dimension in sharding["dim_shardings"]:
        cuts = []
        for axis in dimension["axes"]:
            part, name = axis["sub_axis_info"], axis["name"]
            if name in axes:
                whole = (1, mesh.sizes[name]) if part is None else (part["pre_size"], part["size"])
                cuts.append(_Cut(name, *whole))
        made.append(cuts)
    return made


def _counts(cuts: Sequence[Sequence[_Cut]]) -> tuple[int, ...]:
    """Return the number of parts of each dimension."""
    return tuple(prod(cut.size for cut in each) for each in cuts)


def _part_of(cuts: Sequence[Sequence[_Cut]], mesh: Mesh, places: Places) -> tuple[int, ...]:
    """Return the number of the part of each dimension that the device at ``places`` has."""
    at_axis = dict(zip(mesh.sizes, places, strict=True))
    numbers = []
    for each in cuts:
        number = 0
        for axis, before, size in each:
            number = number * size + at_axis[axis] // (mesh.sizes[axis] // (before * size)) % size
        numbers.append(number)
    return tuple(numbers)


# --- verifier ---------------------------------------------------------------------------------------------------------


def verify_shardings(op: Operation, symbols: Mapping[str, Operation]) -> None:
    """Check the shardings of a manual computation. Raises VerifyError in Shardy's words."""
    block = op.regions[0].blocks[0]
    axes = _axes(op)
    find: Find = lambda name: symbols.get(name.root)  # noqa: E731
    last = block.operations[-1].operands
    for what, name, values, local in (
        ("operand", "in_shardings", op.operands, block.arguments),
        ("result", "out_shardings", op.results, last),
    ):
        types = [value.type for value in values]
        problem = _problem(what, _shardings(op, name), types, [value.type for value in local], axes, find)
        if problem is not None:
            raise op.rule_broken(problem)
    for name in _bound_around(op) & {*axes}:
        raise op.rule_broken(f'operates on axis "{name}" which is already bound by a parent sdy.manual_computation op')
    shardings = [*_shardings(op, "in_shardings"), *_shardings(op, "out_shardings")]
    meshes = [mesh for each in shardings if (mesh := _mesh_of(each, find)) is not None and mesh.sizes]
    if axes and shardings and (not meshes or any(mesh != meshes[0] for mesh in meshes)):
        raise op.rule_broken("all in and out shardings must be bound to the same mesh or an empty mesh.")
    unknown = [axis for axis in axes if meshes and axis not in meshes[0].sizes]
    if unknown:
        raise op.rule_broken(f'unknown manual axis: "{unknown[0]}"')


def _bound_around(op: Operation) -> set[str]:
    found: set[str] = set()
    around = op.parent_op
    while around is not None:
        if around.name == op.name:
            found.update(_axes(around))
        around = around.parent_op
    return found


def _problem(
    what: str,
    shardings: Sequence[DialectAttr],
    types: Sequence[ty.Type],
    local: Sequence[ty.Type],
    axes: Sequence[str],
    find: Find,
) -> str | None:
    """Return what is wrong with the shardings of the operands or the results, or None. ``what``: operand or result.
    ``types``: those of the whole values. ``local``: those in the body.
    """
    if len(shardings) != len(types):
        return f"{what} shardings don't match number of values: {len(shardings)} shardings vs {len(types)} values"
    for number, (sharding, type_) in enumerate(zip(shardings, types, strict=True)):
        wrong = _problem_of_sharding(sharding, type_, find)
        if wrong is not None:
            return f"{what} {f'{number} ' if len(types) > 1 else ''}- {wrong}"
    if len(types) != len(local):
        return (
            f"number of op {what}s and region {what}s must match. Op has {len(types)} op {what}s and {len(local)} "
            f"region {what}s"
        )
    for number, (sharding, type_, part) in enumerate(zip(shardings, types, local, strict=True)):
        for dimension, each in enumerate(sharding["dim_shardings"]):
            order = [(axis["name"] in axes, axis) for axis in each["axes"]]
            for (manual_before, before), (manual, axis) in pairwise(order):
                if manual and not manual_before:
                    return (
                        f"{what} sharding at index {number} must have all manual axes come before free axes in its "
                        f"dimension sharding at index {dimension}. Saw manual axis {text_of(axis)} after free axis "
                        f"{text_of(before)}"
                    )
        mesh = _mesh_of(sharding, find)
        if not isinstance(type_, ty.TensorType) or type_.shape is None or mesh is None:
            continue
        sizes: list[int | None] = []
        for size, count in zip(type_.shape, _counts(_cuts(sharding, mesh, axes)), strict=True):
            if size is not None and size % count:
                return f"{what} dimension size {size} is not divisible by the manual axes size {count}"
            sizes.append(None if size is None else size // count)
        expected = ty.TensorType(tuple(sizes), type_.element)
        if expected != part:
            return (
                f"{what} shape, corresponding sharding, and region {what} shape at index {number} must match. Expected "
                f"local shape '{expected}', actual local shape '{part}'"
            )
    return None


def _problem_of_sharding(sharding: DialectAttr, type_: ty.Type, find: Find) -> str | None:
    mesh, dimensions = _mesh_of(sharding, find), sharding["dim_shardings"]
    if mesh is None:
        return f"unknown mesh: {sharding['mesh_or_ref']}"
    if not isinstance(type_, ty.TensorType):
        wrong = dimensions or any(sharding.values[2:])
        return (
            "non-shaped tensors can only have a sharding with rank 0 and no replicated or unreduced axes. "
            f"type: '{type_}', sharding: {sharding}"
            if wrong
            else None
        )
    if type_.shape is None:
        return f"only ranked tensors can have a sharding. type: '{type_}'"
    if not mesh.sizes:
        wrong = dimensions or any(sharding.values[2:])
        return (
            "a maximal sharding can only have a sharding with rank 0 and no replicated or unreduced axes."
            if wrong
            else None
        )
    if len(dimensions) != len(type_.shape):
        return f"sharding doesn't match tensor rank: {len(dimensions)} != {len(type_.shape)}"
    axes = [axis for each in dimensions for axis in each["axes"]]
    return _problem_of_axes([*axes, *(axis for other in sharding.values[2:] for axis in other)], mesh)


def _problem_of_axes(axes: Sequence[DialectAttr], mesh: Mesh) -> str | None:
    """Return what is wrong with the axes of a sharding, and with the parts of them."""
    parts: dict[str, list[tuple[int, int, str]]] = {}
    seen: set[str] = set()
    for axis in axes:
        name, part, text = axis["name"], axis["sub_axis_info"], text_of(axis)
        if name not in mesh.sizes:
            return f'unknown axis name: "{name}"'
        if text in seen:
            return f"duplicate axis ref: {text}"
        seen.add(text)
        if part is not None:
            parts.setdefault(name, []).append((part["pre_size"], part["size"], text))
    for name, found in parts.items():
        whole, end, last = mesh.sizes[name], 1, ""
        if quoted(name) in seen:
            return f'both sub-axis and full-axis are used for axis name: "{name}"'
        for before, size, text in sorted(found):
            if before < 1:
                return f"sub-axis pre-size must be at least 1: {text}"
            if size <= 1:
                return f"sub-axis sizes must be greater than 1: {text}"
            if whole % (before * size):
                return (
                    f"sub-axis next pre-size {before * size} doesn't divide the size of the full axis {whole}: {text}"
                )
            if size == whole:
                return f"sub-axis size is equal to the full axis size: {text}"
            if end > before:
                return f"overlapping sub-axes: {last}, {text}"
            end, last = before * size, text
    return None


# --- evaluation -------------------------------------------------------------------------------------------------------


def _refusal(op: Operation, message: str) -> Unsupported:
    return Unsupported(f"'{op.name}' {message}", location=op.location, op=op.name)


def compute_by_hand(op: Operation, compiler: Compiler) -> Action:
    """Return the action that runs sdy.manual_computation."""
    axes, given, made = _axes(op), _shardings(op, "in_shardings"), _shardings(op, "out_shardings")
    for each in (*given, *made):
        if each.definition is UNREDUCED:
            raise _refusal(op, f"has values that are not reduced, which halfulp does not compute: {each}")
    if _bound_around(op):
        raise _refusal(
            op,
            "stands inside of another one; halfulp runs one at a time: name all axes in the outer one",
        )
    meshes = (_mesh_of(each, lambda name: compiler.module.lookup(name, op)) for each in (*given, *made))
    mesh = next((each for each in meshes if each is not None and each.sizes), Mesh({}, ()))
    if len(mesh.devices) > _MOST_DEVICES:
        raise _refusal(op, f"runs on {len(mesh.devices)} devices; halfulp computes at most {_MOST_DEVICES} one by one")
    operands, results, after = compiler.slots(op.operands), compiler.slots(op.results), compiler.after()
    cuts_given, cuts_made = ([_cuts(each, mesh, axes) for each in shardings] for shardings in (given, made))
    block = op.regions[0].blocks[0]
    places = mesh.places
    held = [tuple(compiler.hidden_slot() for _ in results) for _ in places]
    local = [value.type for value in block.operations[-1].operands]

    def start(frame: Frame) -> Segment:
        run: Run = frame.slots[0]
        grid, code = begun(frame, op, 1, len(places)), compiler.code_of(op)
        wholes = [lift(frame.slots[slot], value.type) for slot, value in zip(operands, op.operands, strict=True)]
        order = sorted(range(len(places)), key=mesh.devices.__getitem__)
        for place in order:
            root = compiler.new_frame(code, run, frame, held[place], op)
            for slot, whole, cuts, argument in zip(
                code.entry.arguments, wholes, cuts_given, block.arguments, strict=True
            ):
                root.slots[slot] = lower(_part(op, whole, cuts, _part_of(cuts, mesh, places[place]), argument.type))
            grid.roots[id(root)] = 0, mesh.devices[place]
            grid.ready.append(root)
        return schedule

    def end(frame: Frame) -> Segment:
        for number, (slot, result) in enumerate(zip(results, op.results, strict=True)):
            cuts = cuts_made[number]
            parts = [lift(frame.slots[each[number]], local[number]) for each in held]
            numbers = [_part_of(cuts, mesh, each) for each in places]
            frame.slots[slot] = lower(_whole(op, frame.slots[0], number, numbers, parts, cuts, result.type))
        for each in held:
            for slot in each:
                frame.slots[slot] = None
        return after

    schedule = in_turn(op, end)
    return start


def _part(op: Operation, whole: Any, cuts: Sequence[Sequence[_Cut]], numbers: Sequence[int], type_: ty.Type) -> Any:
    """Return the part of an operand that a device has. ``numbers``: the number of this part along each dimension."""
    counts = _counts(cuts)
    if not isinstance(whole, Value) or all(count == 1 for count in counts):
        return whole
    index = []
    for size, count, number in zip(whole.shape, counts, numbers, strict=True):
        if size % count:
            raise undefined(op, f"a dimension of size {size} cannot be cut into {count} parts")
        index.append(slice(size // count * number, size // count * (number + 1)))
    return picked(whole, tuple(index), type_)


def _whole(
    op: Operation,
    run: Run,
    result: int,
    numbers: Sequence[tuple[int, ...]],
    parts: Sequence[Any],
    cuts: Sequence[Sequence[_Cut]],
    type_: ty.Type,
) -> Any:
    """Return a result from what all devices made of it. ``numbers``: for each device, the number of its part along each
    dimension. Raises UndefinedBehavior if two devices differ in the same part.
    """
    first: dict[tuple[int, ...], int] = {}
    for device, number in enumerate(numbers):
        known = first.setdefault(number, device)
        if known != device and not _same(parts[known], parts[device]):
            raise undefined(
                op,
                f"result {result} is the same on the devices at places {known} and {device} of the mesh by its "
                "sharding, but they computed different values",
            )
    counts = _counts(cuts)
    if not isinstance(parts[0], Value) or all(count == 1 for count in counts):
        return parts[0] if not isinstance(parts[0], Value) else retyped(parts[0], type_)
    chosen = [parts[first[number]] for number in product(*map(range, counts))]

    def join(arrays: Sequence[Any]) -> Any:
        row = list(arrays)
        for axis in reversed(range(len(counts))):
            row = [np.concatenate(row[k : k + counts[axis]], axis=axis) for k in range(0, len(row), counts[axis])]
        return row[0]

    return combined(run, chosen, type_, join)


def _same(one: Any, other: Any) -> bool:
    if not isinstance(one, Value):
        return True
    first, second = (np.zeros(one.shape, bool) if each.poison is None else each.poison for each in (one, other))
    return np.array_equal(one.bits, other.bits) and np.array_equal(first, second)
