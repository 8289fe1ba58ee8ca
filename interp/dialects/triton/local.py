"""Memory of a block: the blocks of shared memory, their views, and the copies between them and global memory.

A slot of type ``!ttg.memdesc`` holds a `Block`: arrays that views of one allocation share. Layouts of shared memory
change no value, so a block is held in the order of its shape. Copies that run beside the program, barriers and tokens
are done at once: a program without races has the same values. Where partitions wait for each other, barriers count
(`halfulp.interp.dialects.triton.partitions`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import prod
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from halfulp.interp.dialects.elements import Function, Operands, picked, poison_ids
from halfulp.interp.dialects.elementwise import elementwise_step
from halfulp.interp.dialects.triton import descriptors, memory
from halfulp.interp.dialects.triton.rules import optional, order_of, sizes_of
from halfulp.interp.dialects.triton.targets import target_of
from halfulp.interp.dialects.triton.types import ASYNC_TOKEN, DescriptorType, MemDescType, PointerType, pointer_to
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.base import narrowed
from halfulp.interp.ir.dialect_attributes import EnumAttr
from halfulp.interp.ir.operations import Operation, undefined, unsupported
from halfulp.interp.ir.types import code_layout
from halfulp.interp.run.evaluators import OnValues
from halfulp.interp.run.frames import Run, lift
from halfulp.interp.run.settings import Settings, check_allocation
from halfulp.interp.values.lanes import alike
from halfulp.interp.values.value import Value, retyped

# --- blocks -----------------------------------------------------------------------------------------------------------


class Block(NamedTuple):
    """A block of shared memory, or a view of a part of one: its codes, the ids of its poison, and its marks."""

    bits: npt.NDArray[Any]
    poison: npt.NDArray[np.uint16]
    open: npt.NDArray[Any]

    def viewed(self, view: Callable[[npt.NDArray[Any], tuple[int, ...]], npt.NDArray[Any]]) -> Block:
        """Return a view. ``view``: is called with each array and the shape of an element in it."""
        trailing = self.bits.shape[self.poison.ndim :]
        return Block(view(self.bits, trailing), view(self.poison, ()), view(self.open, ()))

    def load(self, run: Run, type_: ty.Type) -> Value:
        """Return the elements as a value of a type of the same shape."""
        poison = self.poison.copy() if self.poison.any() else None
        marks = self.open.copy() if self.open.any() else None
        return Value(type_, self.bits.copy(), poison, marks, None if poison is None else run.origins)

    def store(self, value: Value) -> None:
        """Replace all elements."""
        self.bits[...] = value.bits
        self.poison[...] = 0 if value.poison is None else value.poison
        self.open[...] = 0 if value.open is None else value.open


class Token(NamedTuple):
    """A token of copies, which have ended already."""


TOKEN = Token()


def _allocated(op: Operation, run: Run, settings: Settings, type_: MemDescType) -> Block:
    """Return a new block, which is poison: nothing was stored in it."""
    dtype, trailing = code_layout(type_.element)
    check_allocation(type_, type_.shape, settings)
    marks = np.uint8 if settings.recorder is None else settings.recorder.mark_type
    ids = poison_ids(op, run, settings, np.ones(type_.shape, np.bool_), "nothing was stored in the block")
    return Block(np.zeros(type_.shape + trailing, dtype), ids, np.zeros(type_.shape, marks))


def memory_block(op: Operation, slot: Any) -> Block:
    """Return the block in a slot. Raises UndefinedBehavior for poison."""
    if isinstance(slot, Value):
        raise undefined(op, f"the block of memory is poison: {slot.origin()}")
    assert isinstance(slot, Block)
    return slot


def read_slot(op: Operation, run: Run, slot: Any, type_: ty.Type) -> Value:
    """Return the content of a slot as a value: the elements of a tensor, or of a block of memory."""
    if isinstance(type_, MemDescType):
        return memory_block(op, slot).load(run, ty.TensorType(type_.shape, type_.element))
    value: Value = lift(slot, type_)
    return value


def element_of(type_: ty.Type) -> ty.Type:
    """Return the type of the elements of a tensor, or of a block of memory."""
    return type_.element if isinstance(type_, MemDescType) else ty.element_type(type_)


def shape_of(type_: ty.Type) -> tuple[int, ...]:
    """Return the shape of a tensor, or of a block of memory."""
    return type_.shape if isinstance(type_, MemDescType) else sizes_of(type_)


OnSlots = Callable[[Run, Sequence[Any]], tuple[Any, ...]]


def _raw(build: Callable[[Operation, Settings], OnSlots]) -> OnValues:
    return OnValues(build, raw=True, no_lanes=True)


def _memory_of(type_: ty.Type) -> MemDescType:
    assert isinstance(type_, MemDescType)
    return type_


def _alloc(op: Operation, settings: Settings) -> OnSlots:
    type_ = _memory_of(op.results[0].type)

    def alloc(run: Run, slots: Sequence[Any]) -> tuple[Any, ...]:
        if not slots:
            return (_allocated(op, run, settings, type_),)
        value: Value = lift(slots[0], op.operands[0].type)
        marks = np.uint8 if value.open is None else value.open.dtype
        dtype, trailing = code_layout(type_.element)
        made = Block(
            np.zeros(type_.shape + trailing, dtype), np.zeros(type_.shape, np.uint16), np.zeros(type_.shape, marks)
        )
        made.store(value)
        return (made,)

    return alloc


def _load(op: Operation, settings: Settings) -> OnSlots:
    type_ = op.results[0].type
    return lambda run, slots: (memory_block(op, slots[0]).load(run, type_),)


def _store(op: Operation, settings: Settings) -> OnSlots:
    def store(run: Run, slots: Sequence[Any]) -> tuple[Any, ...]:
        memory_block(op, slots[1]).store(lift(slots[0], op.operands[0].type))
        return ()

    return store


# --- views ------------------------------------------------------------------------------------------------------------


def _index(op: Operation, settings: Settings) -> OnSlots:
    count = _memory_of(op.operands[0].type).shape[0]

    def index(run: Run, slots: Sequence[Any]) -> tuple[Any, ...]:
        place = descriptors.number(op, slots[1], ty.I32, "the index")
        if not 0 <= place < count:
            raise undefined(op, f"the index {place} is outside of the {count} blocks")
        return (memory_block(op, slots[0]).viewed(lambda array, trailing: array[place]),)

    return index


def _subslice(op: Operation, settings: Settings) -> OnSlots:
    offsets = [int(start) for start in op.numbers("offsets")]
    part = tuple(
        [slice(start, start + size) for start, size in zip(offsets, _memory_of(op.results[0].type).shape, strict=True)]
    )
    return lambda run, slots: (memory_block(op, slots[0]).viewed(lambda array, trailing: array[part]),)


def _trans(op: Operation, settings: Settings) -> OnSlots:
    order = order_of(op)

    def move(array: npt.NDArray[Any], trailing: tuple[int, ...]) -> npt.NDArray[Any]:
        return array.transpose(*order, *range(len(order), array.ndim))

    return lambda run, slots: (memory_block(op, slots[0]).viewed(move),)


def _reshape(op: Operation, settings: Settings) -> OnSlots:
    source, target = (_memory_of(value.type) for value in (op.operands[0], op.results[0]))
    if source.element != target.element or prod(source.shape) != prod(target.shape):
        raise unsupported(op, f"a block of type '{source}' is not read as one of type '{target}'")

    def move(array: npt.NDArray[Any], trailing: tuple[int, ...]) -> npt.NDArray[Any]:
        view = array.view()
        try:
            view.shape = target.shape + trailing
        except AttributeError:
            raise unsupported(op, "the elements of the block do not lie one after the other") from None
        return view

    return lambda run, slots: (memory_block(op, slots[0]).viewed(move),)


# --- copies -----------------------------------------------------------------------------------------------------------


def _copy(op: Operation, settings: Settings) -> OnSlots:
    type_ = op.operands[0].type
    access = memory.Access(op, type_, settings)
    loaded = ty.TensorType(sizes_of(type_), element_of(op.operands[1].type))

    def copy(run: Run, slots: Sequence[Any]) -> tuple[Any, ...]:
        given = [lift(slot, value.type) for slot, value in zip(slots, op.operands, strict=True)]
        pointers, block, mask, other = optional(op, given)
        assert pointers is not None
        memory_block(op, block).store(memory.load(access, run, pointers, mask, other, loaded))
        return (TOKEN,)

    return copy


def _buffered(op: Operation, place: int) -> Callable[[Run, Sequence[Any]], tuple[Value, list[Any]]]:
    """Return the function that gives the pointers of an access to a buffer, and the operands by their places.
    ``place``: that of the base.
    """
    base = narrowed(op.operands[place].type, PointerType)
    size = max(ty.width_of(base.element) // 8, 1)
    shape = sizes_of(op.operands[place + 1].type)
    type_ = pointer_to(ty.TensorType(shape, base.element))

    def pointers(run: Run, operands: Sequence[Any]) -> tuple[Value, list[Any]]:
        given = optional(op, operands)
        first, offsets = given[place], given[place + 1]
        assert first is not None
        assert offsets is not None
        first, offsets = alike(first, offsets)
        bits = np.empty((*offsets.shape, 2), np.uint64)
        bits[...] = first.bits.reshape(*first.shape, *(1,) * len(shape), 2)
        with np.errstate(over="ignore"):
            bits[..., 0] += (offsets.bits.view(np.int32).astype(np.int64) * size).view(np.uint64)
        poison = offsets.poison
        if first.poison is not None:
            poison = np.full(offsets.shape, first.poison.max(), np.uint16)
        return Value(type_, bits, poison, None, None if poison is None else run.origins), given

    return pointers


def _buffer_load(op: Operation, settings: Settings) -> Function:
    type_ = op.results[0].type
    access = memory.Access(op, op.operands[0].type, settings)
    pointers = _buffered(op, 0)
    zeros = Value(type_, np.zeros(sizes_of(type_), code_layout(ty.element_type(type_))[0]))

    def load(run: Run, operands: Operands) -> tuple[Any, ...]:
        where, (_, _, _, mask, other) = pointers(run, operands)
        # An element that the mask leaves out is read outside of the buffer, where there are zeros.
        return (memory.load(access, run, where, mask, zeros if other is None else other, type_),)

    return load


def _buffer_store(op: Operation, settings: Settings) -> Function:
    access = memory.Access(op, op.operands[1].type, settings)
    pointers = _buffered(op, 1)

    def store(run: Run, operands: Operands) -> tuple[Any, ...]:
        where, (value, _, _, _, mask) = pointers(run, operands)
        memory.store(access, run, where, value, mask)
        return ()

    return store


def _buffer_rmw(op: Operation, settings: Settings) -> Function:
    access = memory.Access(op, op.operands[0].type, settings)
    combine, inexact = memory.combining_of(op, op.operands[2].type, settings)
    pointers = _buffered(op, 0)

    def update(run: Run, operands: Operands) -> tuple[Any, ...]:
        where, (_, _, value, _, mask) = pointers(run, operands)
        return (memory.update(access, run, where, [value], mask, op.results[0].type, combine, inexact),)

    return update


def _copy_of_buffer(op: Operation, settings: Settings) -> OnSlots:
    """The copy of amdg.buffer_load_to_local, whose first operand is the block."""
    access = memory.Access(op, op.operands[1].type, settings)
    pointers = _buffered(op, 1)

    def copy(run: Run, slots: Sequence[Any]) -> tuple[Any, ...]:
        given = [lift(slot, value.type) for slot, value in zip(slots, op.operands, strict=True)]
        where, (block, _, _, mask, other, _) = pointers(run, given)
        type_ = ty.TensorType(where.shape, element_of(op.operands[0].type))
        zeros = Value(type_, np.zeros(where.shape, code_layout(type_.element)[0]))
        loaded = memory.load(access, run, where, mask, zeros if other is None else other, type_)
        memory_block(op, block).store(loaded)
        return (TOKEN,)

    return copy


# --- tensor memory ----------------------------------------------------------------------------------------------------


def _tensor_alloc(op: Operation, settings: Settings) -> OnSlots:
    alloc = _alloc(op, settings)
    return lambda run, slots: (*alloc(run, slots), *(TOKEN,) * (len(op.results) - 1))


def _tensor_load(op: Operation, settings: Settings) -> OnSlots:
    load, tokens = _load(op, settings), (TOKEN,) * sum(value.type == ASYNC_TOKEN for value in op.results)
    if "redOp" not in op.properties:
        return lambda run, slots: (*load(run, slots), *tokens)
    reduce = _extreme_of_rows(op, settings)

    def load_and_reduce(run: Run, slots: Sequence[Any]) -> tuple[Any, ...]:
        (value,) = load(run, slots)
        return (value, *tokens, reduce(run, value))

    return load_and_reduce


_MIN, _REDUCES = 1, "cuda:103"
_OF_NUMBERS, _OR_NAN = ("arith.minnumf", "arith.maxnumf"), ("arith.minimumf", "arith.maximumf")


def _extreme_of_rows(op: Operation, settings: Settings) -> Callable[[Run, Value], Value]:
    """Return the function for the least or the largest element of each row (`tcgen05.ld.red`): of the magnitudes with
    ``abs``; NaNs are left out unless ``NaN`` is set.
    """
    whole, type_ = op.results[0].type, op.results[-1].type
    element = ty.element_type(whole)
    if element != ty.F("f32"):
        raise unsupported(op, f"a load that reduces elements of type '{element}' is not run")
    target = target_of(op)
    if target is not None and target.name != _REDUCES:
        raise unsupported(
            op, f"{target.name} has no instruction that loads and reduces (tcgen05.ld.red): {_REDUCES} has"
        )
    names = _OR_NAN if "NaN" in op.properties and op.number("NaN") else _OF_NUMBERS
    combine = elementwise_step(op, names[op.prop("redOp", EnumAttr).value != _MIN], (type_, type_), type_, settings)
    magnitude = elementwise_step(op, "math.absf", (whole,), whole, settings)
    absolute = "abs" in op.properties and op.number("abs")

    def reduce(run: Run, value: Value) -> Value:
        (value,) = magnitude.run(run, (value,)) if absolute else (value,)
        columns = [picked(value, (slice(None), column), type_) for column in range(value.shape[1])]
        found = columns[0]
        for column in columns[1:]:
            (found,) = combine.run(run, (found, column))
        return found

    return reduce


def _tensor_store(op: Operation, settings: Settings) -> OnSlots:
    def store(run: Run, slots: Sequence[Any]) -> tuple[Any, ...]:
        block, value, predicate = slots[0], slots[-2], slots[-1]
        if descriptors.number(op, predicate, ty.I1, "the predicate"):
            memory_block(op, block).store(lift(value, op.operands[-2].type))
        return (TOKEN,) * len(op.results)

    return store


def _tensor_copy(op: Operation, settings: Settings) -> OnSlots:
    source, target = (_memory_of(value.type) for value in op.operands[:2])
    if (source.shape, source.element) != (target.shape, target.element):
        raise unsupported(op, f"a copy of '{source}' to '{target}' is not run")

    def copy(run: Run, slots: Sequence[Any]) -> tuple[Any, ...]:
        memory_block(op, slots[1]).store(read_slot(op, run, slots[0], source))
        return ()

    return copy


def _tensor_slice(op: Operation, settings: Settings) -> OnSlots:
    dim, offset = op.number("dim"), op.number("offset")
    part = (*(slice(None),) * dim, slice(offset, offset + _memory_of(op.results[0].type).shape[dim]))
    return lambda run, slots: (memory_block(op, slots[0]).viewed(lambda array, trailing: array[part]),)


# --- TMA --------------------------------------------------------------------------------------------------------------

_DESCRIPTORS = "descriptors of tensors in memory"
_NAN_FILL = 1


def _scratch(op: Operation, settings: Settings) -> OnSlots:
    size = op.number("nbytes")
    return lambda run, slots: (memory.allocated(op, run, size, op.results[0].type),)


def _numbers(op: Operation, slots: Sequence[Any], first: int) -> list[int]:
    operands = zip(slots[first:], op.operands[first:], strict=True)
    return [descriptors.number(op, slot, value.type, "a size or a stride") for slot, value in operands]


def _create(op: Operation, settings: Settings) -> OnSlots:
    """The sizes of a map begin with the dimension that changes fastest, whose stride is one element."""
    pointed = narrowed(op.operands[1].type, PointerType)
    size = max(ty.width_of(pointed.element) // 8, 1)
    segments = op.numbers("operandSegmentSizes") if "operandSegmentSizes" in op.properties else ()
    rank = int(segments[2]) if segments else (len(op.operands) - 1) // 4

    def create(run: Run, slots: Sequence[Any]) -> tuple[Any, ...]:
        where, base = (
            descriptors.number(op, slot, value.type, "a pointer")
            for slot, value in zip(slots[:2], op.operands[:2], strict=True)
        )
        numbers = _numbers(op, slots, 2)
        sizes, strides = numbers[rank : 2 * rank], numbers[2 * rank : 3 * rank - 1]
        if any(stride % size for stride in strides) or any(step != 1 for step in numbers[3 * rank - 1 :]):
            raise unsupported(op, f"strides of {strides} bytes are not run for elements of {size} bytes")
        steps = [1, *(stride // size for stride in strides)]
        kept = run.kept.setdefault(_DESCRIPTORS, {})
        kept[where] = descriptors.at(base, sizes[::-1], steps[::-1], op.number("fill_mode") == _NAN_FILL)
        return ()

    return create


def _reinterpret(op: Operation, settings: Settings) -> OnSlots:
    def find(run: Run, slots: Sequence[Any]) -> tuple[Any, ...]:
        where = descriptors.number(op, slots[0], op.operands[0].type, "the pointer")
        found = run.kept.get(_DESCRIPTORS, {}).get(where)
        if found is None:
            raise unsupported(op, "no descriptor was made at this place of memory by the program")
        return (found,)

    return find


def segmented(op: Operation, slots: Sequence[Any]) -> list[list[Any]]:
    """Return the slots by the operands that they belong to."""
    found, start = [], 0
    for count in op.numbers("operandSegmentSizes"):
        found.append(list(slots[start : start + int(count)]))
        start += int(count)
    return found


def block_type(op: Operation) -> MemDescType:
    """Return the type of the block that a copy fills: the last one among the operands."""
    return [value.type for value in op.operands if isinstance(value.type, MemDescType)][-1]


def _tma_load(op: Operation, settings: Settings) -> OnSlots:
    type_ = narrowed(op.operands[0].type, DescriptorType)
    load = descriptors.block_loader(op, type_, block_type(op).element, settings)

    def copy(run: Run, slots: Sequence[Any]) -> tuple[Any, ...]:
        (tensor,), coordinates, offsets, _, (block,), (predicate,) = segmented(op, slots)
        if offsets:
            raise unsupported(op, "a copy of a window of an image is not run")
        if descriptors.number(op, predicate, ty.I1, "the predicate"):
            loaded, target = load(run, tensor, coordinates), memory_block(op, block)
            target.viewed(lambda array, trailing: array.reshape(type_.shape + trailing)).store(loaded)
        return ()

    return copy


def _tma_store(op: Operation, settings: Settings) -> OnSlots:
    type_ = narrowed(op.operands[0].type, DescriptorType)
    store = descriptors.block_storer(op, type_, settings)
    held = ty.TensorType(type_.shape, block_type(op).element)

    def copy(run: Run, slots: Sequence[Any]) -> tuple[Any, ...]:
        tensor, *coordinates, block = slots
        value = memory_block(op, block).load(run, held)
        store(run, tensor, coordinates, value)
        return ()

    return copy


# --- tables -----------------------------------------------------------------------------------------------------------


def _same(op: Operation, settings: Settings) -> OnSlots:
    return lambda run, slots: tuple(slots)


_NOTHING = _raw(lambda op, settings: lambda run, slots: ())
_TOKEN = _raw(lambda op, settings: lambda run, slots: (TOKEN,))
WITHOUT_VALUES = (_NOTHING, _TOKEN)
"""The evaluators of ops that neither read nor write elements."""


def _converted(op: Operation, settings: Settings) -> Function:
    """The elements of a tensor do not change with the layout."""
    type_ = op.results[0].type

    def convert(run: Run, operands: Operands) -> tuple[Any, ...]:
        (value,) = operands
        return (retyped(value, type_),)

    return convert


CONVERTED = OnValues(_converted, in_lanes=_converted)

OF_TTG: Mapping[str, Any] = {
    "convert_layout": CONVERTED,
    "async_wait": _TOKEN,
    "async_commit_group": _TOKEN,
    "async_copy_global_to_local": _raw(_copy),
    "local_alloc": _raw(_alloc),
    "local_dealloc": _NOTHING,
    "local_load": _raw(_load),
    "local_store": _raw(_store),
    "memdesc_index": _raw(_index),
    "memdesc_subslice": _raw(_subslice),
    "memdesc_trans": _raw(_trans),
    "memdesc_reshape": _raw(_reshape),
    "memdesc_reinterpret": _raw(_reshape),
    "global_scratch_alloc": _raw(_scratch),
    "barrier": _NOTHING,
}
"""The evaluators of the ops of ttg on memory and layouts."""

OF_TTNG: Mapping[str, Any] = {
    "warp_group_dot_wait": _raw(_same),
    "tensormap_create": _raw(_create),
    "reinterpret_tensor_descriptor": _raw(_reinterpret),
    "async_tma_copy_global_to_local": _raw(_tma_load),
    "async_tma_copy_local_to_global": _raw(_tma_store),
    "tmem_alloc": _raw(_tensor_alloc),
    "tmem_load": _raw(_tensor_load),
    "tmem_store": _raw(_tensor_store),
    "tmem_copy": _raw(_tensor_copy),
    "tmem_subslice": _raw(_tensor_slice),
} | dict.fromkeys(
    (
        "init_barrier", "inval_barrier", "barrier_expect", "wait_barrier", "arrive_barrier", "fence_async_shared",
        "fence_mbarrier_init_release_cluster", "cluster_barrier", "async_copy_mbarrier_arrive", "async_tma_store_wait",
        "tensormap_fenceproxy_acquire", "tmem_wait", "tc_gen5_commit",
    ),
    _NOTHING,
)  # fmt: skip
"""The evaluators of the ops of ttng on memory and barriers."""

OF_AMDG: Mapping[str, Any] = {
    "buffer_load": OnValues(_buffer_load, in_lanes=_buffer_load),
    "buffer_store": OnValues(_buffer_store, in_lanes=_buffer_store),
    "buffer_atomic_rmw": OnValues(_buffer_rmw),
    "buffer_load_to_local": _raw(_copy_of_buffer),
    "async_wait": _TOKEN,
    "in_thread_transpose": CONVERTED,
    "local_load_packed_transposed": _raw(_load),
}
"""The evaluators of the ops of amdg on memory."""

OF_ROCDL: Mapping[str, Any] = dict.fromkeys(("s.setprio", "s.barrier", "sched.barrier"), _NOTHING)
"""The evaluators of the ops of rocdl that stand in TTGIR."""
