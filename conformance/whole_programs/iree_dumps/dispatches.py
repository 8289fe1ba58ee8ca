"""Convert a dispatch of IREE to a function that takes its bindings as memory and runs its workgroups in order.

The first part replaces ops of IREE: the tensors of dispatches become memory of a static shape, of which parts are
loaded and stored.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from itertools import product
from math import prod

from halfulp.interp.declare.operands import SEGMENTS
from halfulp.interp.declare.registry import default_registry
from halfulp.interp.ir import attributes as at
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.base import Attribute, narrowed
from halfulp.interp.ir.errors import Unsupported
from halfulp.interp.ir.operations import Block, BlockArgument, Operation, OpResult, Region, SSAValue
from halfulp.interp.text.parser import parse_type

# --- ops in place of those of IREE ------------------------------------------------------------------------------------


def build_op(
    name: str,
    op: Operation,
    operands: Sequence[SSAValue] = (),
    results: Sequence[ty.Type] = (),
    properties: Mapping[str, Attribute] | None = None,
    regions: Sequence[Region] = (),
) -> Operation:
    """Return a new op at the location of ``op``."""
    definition = default_registry().find(name)
    return Operation(
        name,
        definition,
        list(operands),
        list(results),
        dict(properties or {}),
        regions=list(regions),
        location=op.location,
    )


def function_of(
    name: str, region: Region, like: Operation, results: Sequence[ty.Type] = (), private: bool = False
) -> Operation:
    """Return a new function with this body, at the location of ``like``."""
    inputs = tuple(argument.type for argument in region.blocks[0].arguments)
    properties: dict[str, Attribute] = {
        "sym_name": at.StringAttr(name),
        "function_type": at.TypeAttr(ty.FunctionType(inputs, tuple(results))),
    }
    if private:
        properties["sym_visibility"] = at.StringAttr("private")
    return build_op("func.func", like, properties=properties, regions=[region])


def inherent(op: Operation) -> Mapping[str, Attribute]:
    """Return the properties of an op of IREE, whether halfulp has a declaration of it or not."""
    given = op.raw_properties
    raw = given.mapping if isinstance(given, at.DictionaryAttr) else {}
    return {**op.attributes, **op.properties, **raw}


def segments(op: Operation) -> tuple[list[SSAValue], ...]:
    """Return the operands of an op by the groups that it declares."""
    sizes = narrowed(inherent(op)["operandSegmentSizes"], at.DenseArrayAttr)
    operands, found = list(op.operands), []
    for size in sizes.values:
        found.append(operands[: int(size)])
        del operands[: int(size)]
    return tuple(found)


def number(attribute: Attribute | None) -> int | None:
    """Return the number in an attribute; None if it is not a number."""
    return attribute.value if isinstance(attribute, at.IntegerAttr) else None


def numbers(attribute: Attribute | None) -> tuple[int, ...]:
    """Return the numbers of an array."""
    assert isinstance(attribute, at.DenseArrayAttr)
    return tuple(int(value) for value in attribute.values)


def index_constant(value: int, op: Operation) -> Operation:
    """Return a new constant of type index at the location of ``op``."""
    return build_op("arith.constant", op, results=[ty.INDEX], properties={"value": at.IntegerAttr(value, ty.INDEX)})


def replace_values(function: Operation, instead: Mapping[SSAValue, SSAValue]) -> None:
    """Replace the values that are keys of ``instead`` by its values, in all ops inside a function."""

    def now(value: SSAValue) -> SSAValue:
        while value in instead:
            value = instead[value]
        return value

    for op in function.walk():
        op.operands[:] = [now(value) for value in op.operands]
        op.successors = [(target, [now(value) for value in values]) for target, values in op.successors]


def blocks_of(function: Operation) -> list[Block]:
    """Return all blocks inside an op."""
    return [block for op in function.walk() for block in op.blocks]


def put(block: Block, operations: Sequence[Operation]) -> None:
    """Replace all operations of a block by these."""
    block.operations[:] = operations
    for op in operations:
        op.parent = block


# --- tensors ----------------------------------------------------------------------------------------------------------

_TENSOR = re.compile(r"!iree_tensor_ext\.dispatch\.tensor<\w+:(.*)>")
_PLACES = ("static_offsets", "static_sizes", "static_strides")


def memory_of(type_: ty.Type) -> ty.MemRefType | None:
    """Return the type of the memory that holds a tensor of a dispatch; None for a type that is not such a tensor, and
    for dynamic sizes.
    """
    found = _TENSOR.fullmatch(str(type_)) if isinstance(type_, ty.OpaqueType) else None
    tensor = None if found is None else parse_type(found[1])
    if not isinstance(tensor, ty.TensorType) or tensor.encoding is not None:
        return None
    return _memory(tensor) if tensor.shape is not None and None not in tensor.shape else None


def _memory(tensor: ty.TensorType) -> ty.MemRefType:
    return ty.MemRefType(tensor.shape, tensor.element)


def _tensor(memory: ty.Type) -> ty.TensorType:
    assert isinstance(memory, ty.MemRefType)
    return ty.TensorType(memory.shape, memory.element)


def loaded(op: Operation) -> list[Operation]:
    """Return ops that load the same as iree_tensor_ext.dispatch.tensor.load. Its source is already memory."""
    (source,), dims, *places = segments(op)
    if dims or not isinstance(source.type, ty.MemRefType):
        return [op]
    whole = load_whole(source, op)
    if _is_whole(op, source.type):
        return [whole]
    part = build_op(
        "tensor.extract_slice",
        op,
        [whole.results[0], *(value for group in places for value in group)],
        [op.results[0].type],
        {**_places(op), SEGMENTS: _sizes(1, *map(len, places))},
    )
    return [whole, part]


def stored(op: Operation) -> list[Operation]:
    """Return ops that store the same as iree_tensor_ext.dispatch.tensor.store. Its target is already memory."""
    (value,), (target,), dims, *places = segments(op)
    if dims or not isinstance(target.type, ty.MemRefType):
        return [op]
    if _is_whole(op, target.type):
        return [store_whole(value, target, op)]
    whole = load_whole(target, op)
    part = build_op(
        "tensor.insert_slice",
        op,
        [value, whole.results[0], *(each for group in places for each in group)],
        [whole.results[0].type],
        {**_places(op), SEGMENTS: _sizes(1, 1, *map(len, places))},
    )
    return [whole, part, store_whole(part.results[0], target, op)]


def load_whole(memory: SSAValue, op: Operation) -> Operation:
    """Return the op that loads all of some memory."""
    return build_op("iree_codegen.load_from_buffer", op, [memory], [_tensor(memory.type)])


def store_whole(tensor: SSAValue, memory: SSAValue, op: Operation) -> Operation:
    """Return the op that stores a tensor into memory."""
    return build_op("iree_codegen.store_to_buffer", op, [tensor, memory])


def allocated(tensor: ty.Type, op: Operation) -> Operation | None:
    """Return the op that allocates memory for a tensor; None for dynamic sizes, and for another type."""
    if not isinstance(tensor, ty.TensorType) or tensor.encoding is not None:
        return None
    if tensor.shape is None or None in tensor.shape:
        return None
    return build_op("memref.alloc", op, results=[_memory(tensor)], properties={SEGMENTS: _sizes(0, 0)})


def _is_whole(op: Operation, memory: ty.MemRefType) -> bool:
    offsets, sizes, strides = (numbers(inherent(op)[name]) for name in _PLACES)
    return not any(offsets) and sizes == memory.shape and all(stride == 1 for stride in strides)


def _places(op: Operation) -> dict[str, Attribute]:
    given = inherent(op)
    return {name: given[name] for name in _PLACES}


def _sizes(*counts: int) -> at.DenseArrayAttr:
    return at.DenseArrayAttr(ty.IntegerType(32), counts)


# --- dispatches -------------------------------------------------------------------------------------------------------

MOST_WORKGROUPS = 4096
"""The most workgroups of a dispatch that run."""

Counts = tuple[int, int, int]
"""The number of workgroups along x, y and z."""

_VIEWS = ("hal.interface.binding.subspan", "stream.binding.subspan")
_HINT = "iree_codegen.workgroup_count_hint"
_IDS = "hal.interface.workgroup.id"
_COUNTS = "hal.interface.workgroup.count"
_CONSTANT = "hal.interface.constant.load"
_OFFSETS = frozenset({_CONSTANT, "util.assume.int", "arith.index_castui", "arith.index_cast"})
"""The ops that compute where a tensor is in its binding. Only the tensor matters here."""


def plain_dispatch(op: Operation, counts: Counts | None) -> list[Operation]:
    """Convert the function of a dispatch to plain functions, and change it. The first one runs all workgroups.

    Its arguments are the memory of each tensor that the dispatch reads or writes. They are in the order of the
    bindings; tensors of one binding are in the order of their offsets. If an offset is not a constant, the order is
    that in which the dispatch names the tensors. Each tensor has its own memory. ``counts``: the numbers of workgroups,
    None if they are not known. Raises Unsupported if the conversion is not possible.
    """
    _bind(op)
    for block in blocks_of(op):
        put(block, [new for each in block.operations for new in _rewritten(each)])
    remove_unused(op, _OFFSETS)
    _drop_unused(op.regions[0].blocks[0], op)
    name = op.symbol_name or ""
    ids = [each for each in op.walk() if each.name in (_IDS, _COUNTS)]
    region = op.regions[0]
    if not ids:
        plain = function_of(name, region, op)
        plain.attributes.update(op.attributes)
        return [plain]
    if counts is None:
        raise Unsupported(f"the number of workgroups of @{name} is not known", location=op.location)
    given = _take_workgroup(op, ids)
    body = function_of(f"{name}$workgroup", region, op, private=True)
    body.attributes.update(op.attributes)
    return [_all_workgroups(name, body, counts, given), body]


def hinted_counts(op: Operation) -> Counts | None:
    """Return the numbers of workgroups that hints in a function, or in the region of an export, give as constants; None
    if they do not.
    """
    found = [each for each in op.walk() if each.name == _HINT]
    known = [tuple(numbers(inherent(each)["static_sizes"])) for each in found if not each.operands]
    if not known or len(known) != len(found):
        return None
    padded = [(*sizes, 1, 1, 1)[:3] for sizes in known]
    x, y, z = (max(sizes[axis] for sizes in padded) for axis in range(3))
    return x, y, z


def stated_counts(op: Operation) -> Counts | None:
    """Return the numbers of workgroups that the region of an export returns as constants; None if it does not."""
    last = op.regions[0].blocks[0].operations[-1] if op.regions and op.regions[0].blocks else None
    if last is None or len(last.operands) != 3:
        return None
    found = [_constant(value) for value in last.operands]
    x, y, z = found
    return None if x is None or y is None or z is None else (x, y, z)


def _constant(value: SSAValue) -> int | None:
    owner = value.owner if isinstance(value, OpResult) else None
    return number(owner.properties.get("value")) if owner is not None and owner.name == "arith.constant" else None


# --- bindings ---------------------------------------------------------------------------------------------------------


def _bind(op: Operation) -> None:
    """Let the function take memory in place of its bindings."""
    entry = op.regions[0].blocks[0]
    instead: dict[SSAValue, SSAValue] = {}
    arguments, entry.arguments[:] = list(entry.arguments), []
    others = []
    for argument in arguments:
        memory = memory_of(argument.type)
        if memory is not None:
            instead[argument] = entry.add_argument(memory, argument.name)
        elif str(argument.type) != "!stream.binding":
            others.append(argument)
    taken: dict[tuple[object, ...], BlockArgument] = {}
    before = len(entry.arguments)
    for block in blocks_of(op):
        kept = []
        for each in block.operations:
            if each.name not in _VIEWS:
                kept.append(each)
                continue
            view = each.results[0]
            seen = memory_of(view.type) or view.type
            if not isinstance(seen, ty.MemRefType) or len(each.operands) > 1 + (each.name == _VIEWS[1]):
                raise Unsupported(f"{each.name} of type '{view.type}' has dynamic sizes", location=each.location)
            key = _place(each, arguments)
            if key not in taken:
                taken[key] = entry.add_argument(seen, view.name)
            if taken[key].type != seen:
                raise Unsupported(
                    f"{each.name}: one place has the types '{taken[key].type}' and '{seen}'", location=each.location
                )
            instead[view] = taken[key]
        put(block, kept)
    _refuse_overlaps(taken, op)
    entry.arguments[before:] = _in_order(taken)
    for argument in others:
        instead[argument] = entry.add_argument(argument.type, argument.name)
    instead |= _constants(op, entry)
    replace_values(op, instead)


def _constants(op: Operation, entry: Block) -> dict[SSAValue, SSAValue]:
    """Let the function take the constants of its dispatch as arguments, and return the argument for each load."""
    loads = [each for each in op.walk() if each.name == _CONSTANT]
    ordinals = sorted({(number(inherent(each).get("ordinal")) or 0, str(each.results[0].type)) for each in loads})
    types = {(ordinal, str(each.results[0].type)): each.results[0].type for each in loads for ordinal, _ in ordinals}
    taken = {key: entry.add_argument(types[key]) for key in ordinals}
    return {
        each.results[0]: taken[number(inherent(each).get("ordinal")) or 0, str(each.results[0].type)] for each in loads
    }


def _place(view: Operation, arguments: Sequence[SSAValue]) -> tuple[object, ...]:
    """Return a key for the memory of a view: the binding, and the offset in it."""
    if view.name == _VIEWS[1]:
        binding: object = arguments.index(view.operands[0]) if view.operands[0] in arguments else view.operands[0]
        offset = view.operands[1]
    else:
        binding = number(inherent(view).get("binding"))
        if not view.operands:
            return binding, 0
        offset = view.operands[0]
    known = _constant(offset)
    return binding, offset if known is None else known


def _in_order(taken: Mapping[tuple[object, ...], BlockArgument]) -> list[BlockArgument]:
    """Return the memory in an order that passes do not change: a pass may name the bindings in another order."""
    keys = list(taken)
    if all(isinstance(binding, int) for binding, _ in keys):
        moving = {binding for binding, offset in keys if not isinstance(offset, int)}
        keys.sort(key=lambda key: (key[0], 0 if key[0] in moving else key[1]))
    return [taken[key] for key in keys]


def _refuse_overlaps(taken: Mapping[tuple[object, ...], BlockArgument], op: Operation) -> None:
    """Raise Unsupported if two views of one binding have bytes in common."""
    spans = []
    for (binding, offset), value in taken.items():
        memory = narrowed(value.type, ty.MemRefType)
        size = prod(each or 0 for each in memory.shape or ()) * -(-ty.width_of(memory.element) // 8)
        if isinstance(offset, int):
            spans.append((binding, offset, offset + size))
    for number_, (one, start, end) in enumerate(spans):
        if any(one == two and start < last and first < end for two, first, last in spans[:number_]):
            raise Unsupported("two views of one binding overlap", location=op.location)


def _rewritten(op: Operation) -> list[Operation]:
    if op.name == "iree_tensor_ext.dispatch.tensor.load":
        new = loaded(op)
    elif op.name == "iree_tensor_ext.dispatch.tensor.store":
        new = stored(op)
    elif op.name == _HINT and not op.operands:
        return []
    else:
        return [op]
    if op.results and new[-1] is not op:
        _take_over(new[-1], op)
    return new


def _take_over(new: Operation, old: Operation) -> None:
    """Let the results of a new op be the values of the old one, so that no use changes."""
    for result, value in zip(list(new.results), old.results, strict=True):
        assert isinstance(value, OpResult)
        assert result.type == value.type
        value.owner = new
    new.results = old.results


def remove_unused(op: Operation, names: Collection[str]) -> None:
    """Remove ops with these names inside an op, if nothing uses their results."""
    while True:
        used = _used(op)
        removed = False
        for block in blocks_of(op):
            kept = [each for each in block.operations if each.name not in names or not used.isdisjoint(each.results)]
            removed |= len(kept) < len(block.operations)
            put(block, kept)
        if not removed:
            return


def _drop_unused(entry: Block, op: Operation) -> None:
    """Remove arguments that were only used to compute offsets."""
    used = _used(op)
    entry.arguments[:] = [each for each in entry.arguments if isinstance(each.type, ty.MemRefType) or each in used]
    for index, argument in enumerate(entry.arguments):
        argument.index = index


def _used(op: Operation) -> set[SSAValue]:
    used = {value for each in op.walk() for value in each.operands}
    return used | {value for each in op.walk() for _, passed in each.successors for value in passed}


# --- workgroups -------------------------------------------------------------------------------------------------------


def _take_workgroup(op: Operation, ids: Sequence[Operation]) -> list[tuple[str, int]]:
    """Let the function take the numbers of the workgroup as arguments, and return which it takes."""
    entry = op.regions[0].blocks[0]
    wanted = sorted({(each.name, number(inherent(each)["dimension"]) or 0) for each in ids})
    values = {key: entry.add_argument(ty.INDEX) for key in wanted}
    instead: dict[SSAValue, SSAValue] = {
        each.results[0]: values[each.name, number(inherent(each)["dimension"]) or 0] for each in ids
    }
    for block in blocks_of(op):
        put(block, [each for each in block.operations if each not in ids])
    replace_values(op, instead)
    return wanted


def _all_workgroups(name: str, body: Operation, counts: Counts, given: Sequence[tuple[str, int]]) -> Operation:
    """Return the function that calls the body for each workgroup; the last number changes slowest."""
    if prod(counts) > MOST_WORKGROUPS:
        raise Unsupported(f"@{name} has {prod(counts)} workgroups; at most {MOST_WORKGROUPS}")
    inner = body.regions[0].blocks[0].arguments
    block = Block()
    taken = [block.add_argument(each.type, each.name) for each in inner[: len(inner) - len(given)]]
    for z, y, x in product(*map(range, reversed(counts))):
        place = {_IDS: (x, y, z), _COUNTS: counts}
        constants = [index_constant(place[what][axis], body) for what, axis in given]
        operands = [*taken, *(each.results[0] for each in constants)]
        callee = at.SymbolRefAttr(body.symbol_name or "")
        put(
            block, [*block.operations, *constants, build_op("func.call", body, operands, properties={"callee": callee})]
        )
    block.append(build_op("func.return", body))
    return function_of(name, Region([block]), body)
