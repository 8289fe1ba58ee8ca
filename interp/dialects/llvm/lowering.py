"""Numbers and vectors in the form that they have in the llvm dialect.

There, a vector of several dimensions is an array of vectors, a vector without dimensions has one element, and a complex
number is a struct of its parts. `lowered_type` returns the type, `lowered` the content of a slot for a value, and
`raised` the value again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from math import prod
from typing import Any, NamedTuple

import numpy as np

from halfulp.interp.dialects.llvm import types as llvm
from halfulp.interp.dialects.llvm.access import accessible
from halfulp.interp.dialects.llvm.intrinsics import check_size, copy_bytes, made_by
from halfulp.interp.dialects.llvm.memory import MALLOC_ALIGNMENT, NULL, Memory, Pointer, part_types
from halfulp.interp.dialects.llvm.memory_encoding import contents_of
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.errors import Unsupported
from halfulp.interp.ir.operations import Operation, undefined
from halfulp.interp.run.frames import Run, lift, lower, number
from halfulp.interp.values.elements import common_origins, joined, moved
from halfulp.interp.values.lanes import lanes_of
from halfulp.interp.values.value import Value, retyped
from halfulp.semantics.kernel import merged_ids

# --- library ----------------------------------------------------------------------------------------------------------
#
# The functions that lowered programs declare and call: those of C's memory, and mlir-runner's copy of memrefs.
#
# The functions of a table take the op of the call, the run and what the slots of the operands hold, and return the
# results. A declaration fits if its types are those of the function.

Slots = Sequence[Any]
Call = Callable[[Operation, Run, Slots], tuple[Any, ...]]
_HEAP = "llvm heap"


class LibraryFunction(NamedTuple):
    """A function of a library: its type, and the Python function that computes it."""

    type: llvm.FunctionType
    call: Call


def _heap(run: Run) -> set[Memory]:
    """Return the allocations of the heap that have not been freed, which the program may pass to free."""
    heap: set[Memory] = run.kept.setdefault(_HEAP, set())
    return heap


def allocate(op: Operation, run: Run, name: str, size: int, alignment: int, zeroed: bool = False) -> Pointer:
    """Return a pointer to new memory of the heap."""
    check_size(op, size, run.settings)
    memory = Memory(made_by(op, name), size, alignment, run.origins, written=zeroed)
    _heap(run).add(memory)
    return Pointer(memory, 0)


def count_of(op: Operation, run: Run, slot: Any) -> int:
    """Return the operand of type i64 in a slot as a number, which is a size or a count. Raises UndefinedBehavior for
    poison.
    """
    return number(slot, ty.I64, op, "size", run.settings, signed=False)


def _malloc(op: Operation, run: Run, slots: Slots) -> tuple[Any, ...]:
    return (allocate(op, run, "malloc", count_of(op, run, slots[0]), MALLOC_ALIGNMENT),)


def _calloc(op: Operation, run: Run, slots: Slots) -> tuple[Any, ...]:
    size = prod(count_of(op, run, slot) for slot in slots)
    return (allocate(op, run, "calloc", size, MALLOC_ALIGNMENT, zeroed=True),)


def _aligned_alloc(op: Operation, run: Run, slots: Slots) -> tuple[Any, ...]:
    alignment, size = (count_of(op, run, slot) for slot in slots)
    if alignment <= 0 or alignment & (alignment - 1):
        raise undefined(op, f"the alignment {alignment} is not a power of two")
    return (allocate(op, run, "aligned_alloc", size, max(alignment, MALLOC_ALIGNMENT)),)


def release(op: Operation, run: Run, slots: Slots) -> tuple[Any, ...]:
    """Free the memory that malloc or a similar function returned. A null pointer is ignored. Return no results."""
    (slot,) = slots
    if slot == NULL:
        return ()
    memory, offset = accessible(op, run, slot, 0)
    if memory not in _heap(run):
        raise undefined(op, f"the memory is from {memory.source}, not from malloc")
    if offset:
        raise undefined(op, f"the pointer is {offset} bytes after the start of what {memory.source} returned")
    _heap(run).remove(memory)
    memory.release(made_by(op, "free"))
    return ()


# --- memrefs ----------------------------------------------------------------------------------------------------------

_PTR, _I64 = llvm.POINTER, ty.I64
_UNRANKED = llvm.StructType(body=(_I64, _PTR))


class Descriptor(NamedTuple):
    """A memref in a lowered program: the pointer to its allocation, the pointer to its elements, and its layout."""

    allocated: Any
    aligned: Any
    offset: int
    sizes: tuple[int, ...]
    strides: tuple[int, ...]


def descriptor_type(rank: int) -> llvm.StructType:
    """Return the type of the descriptor of a memref of some rank."""
    numbers = llvm.ArrayType(size=rank, element=_I64)
    return llvm.StructType(body=(_PTR, _PTR, _I64, *((numbers, numbers) if rank else ())))


def descriptor_of(op: Operation, value: Any, rank: int) -> Descriptor:
    """Return the descriptor in a struct of `descriptor_type`. Raises UndefinedBehavior for poison."""
    found = descriptor_in(value, rank)
    if found is None:
        raise undefined(op, "a number of the descriptor of a memref is poison")
    return found


def descriptor_in(value: Any, rank: int) -> Descriptor | None:
    """Return the descriptor in a slot of `descriptor_type`; None if a number in it is poison."""
    parts = [*value, (), ()] if not rank else list(value)
    numbers = [parts[2], *parts[3], *parts[4]]
    if any(each.__class__ is not int for each in numbers):
        return None
    signed = [(each ^ 1 << 63) - (1 << 63) for each in numbers]
    return Descriptor(parts[0], parts[1], signed[0], tuple(signed[1 : rank + 1]), tuple(signed[rank + 1 :]))


def read_value(op: Operation, run: Run, slot: Any, type_: ty.Type, size: int) -> Any:
    """Return the value of a type at a pointer."""
    memory, at = accessible(op, run, slot, size)
    return contents_of(type_)[0](run, memory, at)


def unranked_at(op: Operation, run: Run, slot: Any) -> Descriptor:
    """Return the descriptor of the unranked memref at a pointer."""
    rank, inner = read_value(op, run, slot, _UNRANKED, 16)
    if rank.__class__ is not int:
        raise undefined(op, "the rank of a memref is poison")
    return descriptor_at(op, run, inner, rank)


def descriptor_at(op: Operation, run: Run, slot: Any, rank: int) -> Descriptor:
    """Return the descriptor of a memref of some rank at a pointer."""
    return descriptor_of(op, read_value(op, run, slot, descriptor_type(rank), 24 + 16 * rank), rank)


def places_of(memref: Descriptor, size: int) -> list[int]:
    """Return for each element of a memref, in row-major order, its distance in bytes from the aligned pointer.
    ``size``: the bytes of an element.
    """
    places = [memref.offset * size]
    for count, stride in zip(memref.sizes, memref.strides, strict=True):
        places = [place + index * stride * size for place in places for index in range(count)]
    return places


def _copy_memref(op: Operation, run: Run, slots: Slots) -> tuple[Any, ...]:
    """Copy the elements of one unranked memref to another, as mlir-runner's library does."""
    size = count_of(op, run, slots[0])
    source, target = unranked_at(op, run, slots[1]), unranked_at(op, run, slots[2])
    if source.sizes != target.sizes:
        raise undefined(op, f"the shapes are {list(source.sizes)} and {list(target.sizes)}")
    for first, into in zip(places_of(source, size), places_of(target, size), strict=True):
        memory, at = accessible(op, run, _moved(target.aligned, into), size, write=True, what="the target")
        origin = accessible(op, run, _moved(source.aligned, first), size, what="the source")
        copy_bytes(run, Pointer(memory, at), origin, size)
    return ()


def _moved(slot: Any, by: int) -> Any:
    return Pointer(slot.memory, slot.offset + by) if slot.__class__ is Pointer else slot


# --- the table --------------------------------------------------------------------------------------------------------


def _function(result: ty.Type, *inputs: ty.Type) -> llvm.FunctionType:
    return llvm.FunctionType(result=result, inputs=inputs)


FUNCTIONS: Mapping[str, LibraryFunction] = {
    "malloc": LibraryFunction(_function(_PTR, _I64), _malloc),
    "calloc": LibraryFunction(_function(_PTR, _I64, _I64), _calloc),
    "aligned_alloc": LibraryFunction(_function(_PTR, _I64, _I64), _aligned_alloc),
    "free": LibraryFunction(_function(llvm.VOID, _PTR), release),
    "memrefCopy": LibraryFunction(_function(llvm.VOID, _I64, _PTR, _PTR), _copy_memref),
}


# --- lowering ---------------------------------------------------------------------------------------------------------


def lowered_type(type_: ty.Type) -> ty.Type:
    """Return the type of the llvm dialect for a number, a complex number or a vector. Raises Unsupported."""
    if isinstance(type_, ty.IndexType):
        return ty.I64
    if isinstance(type_, ty.ComplexType):
        part = lowered_type(type_.element)
        return llvm.StructType(body=(part, part))
    if isinstance(type_, ty.VectorType) and not any(type_.scalable):
        *outer, last = type_.shape or (1,)
        inner: ty.Type = ty.VectorType((last,), lowered_type(type_.element))
        for size in reversed(outer):
            inner = llvm.ArrayType(size=size, element=inner)
        return inner
    if isinstance(type_, ty.IntegerType):
        return ty.IntegerType(type_.width)
    if isinstance(type_, ty.FloatType):
        return type_ if llvm.is_float(type_) else ty.IntegerType(ty.width_of(type_))
    raise Unsupported(f"values of type '{type_}' are not passed to functions of the llvm dialect")


def lowered(value: Value) -> Any:
    """Return the content of a slot of the lowered type for a value. Raises Unsupported."""
    return _lowered(value, lowered_type(value.type))


def _lowered(value: Value, type_: ty.Type) -> Any:
    if isinstance(type_, llvm.ArrayType):
        return tuple([_lowered(lanes_of(value, place), type_.element) for place in range(type_.size)])
    if isinstance(type_, llvm.StructType):
        parts = enumerate(part_types(type_) or ())
        return tuple([lower(Value(part, value.bits[k], value.poison, value.open, value.origins)) for k, part in parts])
    return lower(_shaped(value, type_))


def _shaped(value: Value, type_: ty.Type) -> Value:
    """Return the same elements as a value of another type, whose shape may differ."""
    shape = type_.shape if isinstance(type_, ty.VectorType) else ()
    found = moved(value, lambda array: array.reshape(shape))
    return retyped(found, type_)


def raised(slot: Any, type_: ty.Type) -> Value:
    """Return a value from the content of a slot of its lowered type. Raises Unsupported."""
    leaves = list(_leaves(slot, lowered_type(type_)))
    if isinstance(type_, ty.ComplexType):
        poisons, origins = common_origins(leaves)
        bits = np.stack([leaf.bits for leaf in leaves])
        return Value(type_, bits, merged_ids(poisons, ()), _mark_of_both(leaves), origins)
    return _shaped(joined(leaves, np.stack), type_)


def _mark_of_both(parts: list[Value]) -> Any:
    """Return the mark of a complex number: everything that is unspecified in its parts, or the later id of a
    recorder.
    """
    marks = [part.open for part in parts if part.open is not None]
    if not marks:
        return None
    return (np.bitwise_or if marks[0].dtype == np.uint8 else np.maximum).reduce(marks)


def _leaves(slot: Any, type_: ty.Type) -> Iterator[Value]:
    """Yield the numbers and vectors in a nest of structs and arrays."""
    parts = part_types(type_)
    if parts is None:
        yield lift(slot, type_)
        return
    for inner, part in zip(slot, parts, strict=True):
        yield from _leaves(inner, part)
