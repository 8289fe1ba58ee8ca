"""The ops of the memref dialect that make memory, free it, or state or return a fact about it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from math import prod
from typing import Any, NamedTuple

from halfulp.interp.dialects.arith.constants import attribute_value
from halfulp.interp.dialects.memref.evaluate import buffer_in, living
from halfulp.interp.dialects.slices import numbers
from halfulp.interp.ir import attributes as at
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.base import narrowed
from halfulp.interp.ir.errors import TypeMismatch, Unsupported, spell_place
from halfulp.interp.ir.operations import Operation, undefined
from halfulp.interp.run.evaluators import Compiler, passing
from halfulp.interp.run.frames import Action, Function, Run
from halfulp.interp.run.settings import Settings, check_allocation
from halfulp.interp.values.buffers import Allocation, Buffer, Bytes, bytes_of, laid_out
from halfulp.interp.values.memref_layout import MapLayout
from halfulp.interp.values.value import Value
from halfulp.semantics.kernel import Origin

# --- global memory ----------------------------------------------------------------------------------------------------
#
# memref.get_global: the memory of memref.global. Each run begins with the initial values.

Slots = Sequence[Any]


def get(op: Operation, compiler: Compiler) -> Function:
    """Return the function that runs memref.get_global. Raises Unsupported for memory that the module only declares."""
    name = op.prop("name", at.SymbolRefAttr)
    found = compiler.module.lookup(name, op)
    assert found is not None
    type_, initial = narrowed(op.results[0].type, ty.MemRefType), found.properties.get("initial_value")
    if initial is None:
        raise Unsupported(f"'{name}' is declared, but its memory is defined nowhere", location=op.location, op=op.name)
    shape = ty.static_shape(type_)
    check_allocation(type_, (laid_out(type_, shape)[2],), compiler.settings)
    tensor = ty.TensorType(shape, type_.element)
    value = None if isinstance(initial, at.UnitAttr) else attribute_value(initial, tensor, found, compiler)
    source = f"memref.global {name}"
    constant = "constant" in found.properties

    def get_global(run: Run, slots: Slots) -> tuple[Any, ...]:
        buffer = run.kept.get(found)
        if buffer is None:
            buffer = run.kept[found] = _initialized(found, type_, shape, value, source, run)
            if constant:
                buffer.allocation.freeze()
        return (buffer,)

    return get_global


def _initialized(
    found: Operation, type_: ty.MemRefType, shape: tuple[int, ...], value: Value | None, source: str, run: Run
) -> Buffer:
    buffer = Buffer.allocate(type_, shape, source)
    reason = f"an element of {source} was never written"
    if value is None or not buffer.is_contiguous:
        buffer.allocation.spoil(Origin(found.name, spell_place(found.location), reason, (0,) * len(shape)), run.origins)
    if value is not None:
        buffer.store(value, run.origins)
    return buffer


# --- memory -----------------------------------------------------------------------------------------------------------

C_LIBRARY = ("malloc", "aligned_alloc")
"""How sources of memory begin that a lowered memref.alloc has."""
FREED_BY_DEALLOC = ("memref.alloc", "memref.realloc", "bufferization.clone", "bufferization.to_buffer")
"""What makes memory that memref.dealloc frees."""
_PAGE = 4096


class Plan(NamedTuple):
    """New memory: the shape and layout of the memref, the places that it takes, and the origin of its poison."""

    shape: tuple[int, ...]
    strides: tuple[int, ...]
    offset: int
    size: int
    mapped: MapLayout | None
    origin: Origin


def planned(
    op: Operation, type_: ty.MemRefType, shape: tuple[int, ...], symbols: Sequence[int], settings: Settings
) -> Plan:
    """Return the shape, the layout and the size of new memory, as a `Plan`. ``symbols``: the values of the symbols of
    the layout. Raises UndefinedBehavior, LimitExceeded.
    """
    if any(size < 0 for size in shape):
        raise undefined(op, f"the shape {list(shape)} has a negative size")
    check_allocation(type_, shape, settings)
    try:
        layout = laid_out(type_, shape, symbols)
    except TypeMismatch as error:
        raise undefined(op, error.message) from None
    strides, offset, size, mapped = layout
    check_allocation(type_, (size,), settings)
    reason = f"an element of {op.name} was never written"
    origin = Origin(op.name, spell_place(op.location), reason, (0,) * len(shape))
    return Plan(shape, strides, offset, size, mapped, origin)


def fresh(op: Operation, type_: ty.MemRefType, plan: Plan, run: Run, settings: Settings) -> Buffer:
    """Return a buffer over new memory, in which every element is poison until it is written."""
    memory = Allocation(type_.element, plan.size, op.name)
    memory.spoil(plan.origin, run.origins)
    for listener in settings.listeners if 0 not in plan.shape else ():
        listener.poison_born(op, plan.origin, prod(plan.shape))
    return Buffer(type_, memory, plan.offset, plan.shape, plan.strides, mapped=plan.mapped)


def allocated_type(op: Operation) -> ty.MemRefType:
    """Return the type of the memref that an op allocates."""
    return narrowed(op.results[0].type, ty.MemRefType)


def plans_of(op: Operation, settings: Settings) -> Callable[..., Plan]:
    """Return a function from the operands of memref.alloc (the dynamic sizes, then the symbols of the layout) to its
    plan. The function keeps some plans, since an op in a loop makes the same memory again.
    """
    type_ = allocated_type(op)

    @lru_cache(maxsize=4)
    def plan_of(*given: int) -> Plan:
        sizes = iter(given)
        shape = tuple([next(sizes) if size is None else size for size in type_.shape or ()])
        return planned(op, type_, shape, list(sizes), settings)

    return plan_of


def allocate(op: Operation, settings: Settings) -> Function:
    """Return the function that runs memref.alloc and memref.alloca. New memory is poison until it is written.

    The memory of memref.alloca lives on after its function has returned, as long as something refers to it.
    """
    type_, plan_of = allocated_type(op), plans_of(op, settings)

    def make(run: Run, slots: Slots) -> tuple[Any, ...]:
        return (fresh(op, type_, plan_of(*numbers(op, slots, settings)), run, settings),)

    return make


def scope(op: Operation, compiler: Compiler) -> Action:
    """Return the action that runs memref.alloca_scope: its region runs once."""
    return passing((), compiler.region(op.regions[0], compiler.resume(op)))


def freeing(op: Operation) -> str:
    """Return a text that names the op that frees memory, and its place."""
    place = spell_place(op.location)
    return f"{op.name}{f' at {place}' if place else ''}"


def give_back(op: Operation, buffer: Buffer) -> None:
    """Free the memory of a buffer. Raises UndefinedBehavior if memref.alloc did not make it."""
    memory = buffer.allocation
    if memory.source.startswith(C_LIBRARY):
        raise Unsupported(f"memref.dealloc does not free memory from {memory.source}: lower it to llvm, too")
    if memory.source not in FREED_BY_DEALLOC:
        raise undefined(op, f"the memory is from {memory.source}, not from memref.alloc")
    if buffer.is_view:
        raise undefined(op, f"the memref is a part of what {memory.source} returned")
    memory.freed = freeing(op)


def free(op: Operation, settings: Settings) -> Function:
    """Return the function that runs memref.dealloc. It frees, once, what memref.alloc returned, even after a cast."""

    def release(run: Run, slots: Slots) -> tuple[Any, ...]:
        give_back(op, living(op, slots[0], 0))
        return ()

    return release


def reallocate(op: Operation, settings: Settings) -> Function:
    """Return the function that runs memref.realloc: new memory with a copy of the elements. The old memory is freed."""
    type_ = allocated_type(op)
    (known,) = type_.shape or ()

    def move(run: Run, slots: Slots) -> tuple[Any, ...]:
        (size,) = (known,) if known is not None else numbers(op, slots[1:], settings)
        old = living(op, slots[0], 0)
        made = fresh(op, type_, planned(op, type_, (size,), (), settings), run, settings)
        kept = (min(size, old.shape[0]),)
        part = ty.MemRefType(kept, type_.element)
        elements = old.part(part, old.offset, kept, old.strides).load(origins=run.origins)
        give_back(op, old)
        made.part(part, 0, kept, (1,)).store(elements, run.origins)
        return (made,)

    return move


def assume_alignment(op: Operation, settings: Settings) -> Function:
    """Return the function that runs memref.assume_alignment. All memory begins at an aligned address, so only the
    offset decides.
    """
    alignment = op.number("alignment")

    def check(run: Run, slots: Slots) -> tuple[Any, ...]:
        buffer = buffer_in(op, slots[0], 0)
        start = buffer.offset * bytes_of(buffer.type.element)
        if start % alignment:
            raise undefined(
                op, f"the memref begins at byte {start} of its memory, but must begin at a multiple of {alignment}"
            )
        return (buffer,)

    return check


def distinct(op: Operation, settings: Settings) -> Function:
    """Return the function that runs memref.distinct_objects. Two operands that share memory are undefined behaviour."""

    def check(run: Run, slots: Slots) -> tuple[Any, ...]:
        buffers = [buffer_in(op, slot, which) for which, slot in enumerate(slots)]
        seen: dict[int, int] = {}
        for which, buffer in enumerate(buffers):
            other = seen.setdefault(id(buffer.allocation.root), which)
            if other != which:
                raise undefined(op, f"operands {other} and {which} are parts of the same memory")
        return tuple(buffers)

    return check


# --- addresses --------------------------------------------------------------------------------------------------------


def address_of(run: Run, memory: Allocation) -> int:
    """Return the artificial address of memory: each piece of memory whose address a run uses gets a new page."""
    if isinstance(memory, Bytes):
        return address_of(run, memory.root) + memory.first
    table = run.kept.setdefault("addresses", {})
    known = table.get(memory)
    if known is None:
        last, size = run.kept.get("last address", (0, _PAGE))
        known = table[memory] = last + max(-(-size // _PAGE), 1) * _PAGE
        run.kept["last address"] = known, memory.bits.nbytes
    return int(known)


def address(op: Operation, settings: Settings) -> Function:
    """Return the function that runs memref.extract_aligned_pointer_as_index: the address without the offset.

    The addresses are artificial, and the same in each run.
    """
    mask = (1 << settings.index_width) - 1

    def extract(run: Run, slots: Slots) -> tuple[Any, ...]:
        return (address_of(run, buffer_in(op, slots[0], 0).allocation) & mask,)

    return extract
