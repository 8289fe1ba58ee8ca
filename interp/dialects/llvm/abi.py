"""How lowered functions take and return memrefs: the arguments of an llvm.func for values of the types that it had
before its lowering.

MLIR lowers a function of memrefs (or of tensors, bufferised before) by one of a few conventions, the rows of
`CONVENTIONS`. From the type that the function had, `convention_of` finds the one that its llvm.func follows; then
`Convention.enter` turns values into arguments, and `Entered.leave` turns what was returned into values again:

    how = convention_of(source_type, lowered)          # source_type: (tensor<2x3xf32>) -> tensor<2x3xf32>
    entered = how.enter(values)                        # Values, or Buffers for memrefs
    results = entered.leave(program.run(lowered, entered.arguments))

The memory of an argument begins at a multiple of 64 bytes. What the function stored in the memory of a `Buffer` is in
the buffer after `leave`. A float type that LLVM lacks becomes an integer type of the same width in the llvm.func.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from math import prod
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from halfulp.interp.dialects.func.runner import INTERFACE
from halfulp.interp.dialects.llvm import memory_encoding
from halfulp.interp.dialects.llvm import types as llvm
from halfulp.interp.dialects.llvm.function_forms import function_type
from halfulp.interp.dialects.llvm.lowering import (
    Descriptor,
    descriptor_in,
    descriptor_type,
    lowered,
    lowered_type,
    raised,
)
from halfulp.interp.dialects.llvm.memory import CALLER_ALIGNMENT, Memory, Pointer, address_after
from halfulp.interp.dialects.llvm.memory_encoding import contents_of
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.errors import UndefinedBehavior, Unsupported
from halfulp.interp.ir.operations import Operation
from halfulp.interp.ir.types import code_layout
from halfulp.interp.run.frames import Run
from halfulp.interp.run.settings import Settings
from halfulp.interp.values.buffers import Allocation, Buffer, buffer_of, of_bytes
from halfulp.interp.values.memref_layout import spanned
from halfulp.interp.values.value import Value
from halfulp.semantics.kernel import Origins

Bytes = npt.NDArray[np.uint8]
_FIRST_ADDRESS = 1 << 44


# --- types ------------------------------------------------------------------------------------------------------------


def is_memory(type_: ty.Type) -> bool:
    """Tell whether values of a type are in memory once they are lowered."""
    return isinstance(type_, ty.MemRefType | ty.TensorType)


def _rank(type_: ty.Type) -> int:
    shape = ty.shape_of(type_)
    if shape is None:
        raise Unsupported(f"values of type '{type_}' are not passed to functions of the llvm dialect")
    return len(shape)


def _expanded(type_: ty.Type) -> tuple[ty.Type, ...]:
    return (llvm.POINTER, llvm.POINTER, *(ty.I64,) * (1 + 2 * _rank(type_))) if is_memory(type_) else _one(type_)


def _one(type_: ty.Type) -> tuple[ty.Type, ...]:
    return (lowered_type(type_),)


def _pointed(type_: ty.Type) -> tuple[ty.Type, ...]:
    return (llvm.POINTER,) if is_memory(type_) else _one(type_)


def _described(type_: ty.Type) -> ty.Type:
    return descriptor_type(_rank(type_)) if is_memory(type_) else lowered_type(type_)


# --- memory -----------------------------------------------------------------------------------------------------------


class _Element(NamedTuple):
    """How the codes of one element lie in memory: units of ``size`` bytes, each ``step`` after the one before."""

    units: int
    size: int
    step: int

    @property
    def whole(self) -> int:
        """The bytes of one element."""
        return self.units * self.step


def _element_of(type_: ty.Type) -> _Element:
    if isinstance(type_, ty.VectorType):
        unit = _element_of(type_.element)
        count = prod(type_.shape)
        if unit.size != unit.step or count * unit.step != memory_encoding.size_of(lowered_type(type_)):
            raise Unsupported(f"memory of elements of type '{type_}' is not passed to functions of the llvm dialect")
        return _Element(count * unit.units, unit.size, unit.step)
    if isinstance(type_, ty.ComplexType):
        unit = _element_of(type_.element)
        return _Element(2, unit.size, unit.step)
    lowered = lowered_type(type_)
    return _Element(1, memory_encoding.stored_bytes(lowered), memory_encoding.size_of(lowered))


def _to_bytes(allocation: Allocation, element: ty.Type) -> Memory:
    """Return new memory with the contents of an allocation."""
    how, count = _element_of(element), len(allocation)
    words: Bytes = np.ascontiguousarray(allocation.bits).reshape(count * how.units, -1).view(np.uint8)
    origins = Origins() if allocation.origins is None else allocation.origins
    memory = Memory("an argument", count * how.whole, CALLER_ALIGNMENT, origins, written=True)
    spread = np.zeros((count * how.units, how.step), np.uint8)
    spread[:, : how.size] = words[:, : how.size]
    memory.data[:] = spread.tobytes()
    if allocation.poison is not None:
        ids = _per_byte(allocation.poison, how, count)
        memory.lost[:] = np.where(ids != 0, np.uint8(255), np.uint8(0)).tobytes()
        memory.ids = ids.copy()
    if allocation.open is not None:
        memory.open = _per_byte(allocation.open, how, count).copy()
    return memory


def _per_byte(mask: Any, how: _Element, count: int) -> Any:
    """Return a mask of elements, or of the numbers in them, for each byte."""
    each = mask.reshape(count, -1)
    return np.repeat(each, how.whole // each.shape[1], axis=1).reshape(-1)


def _number_of(element: ty.Type) -> ty.Type:
    number = ty.number_type(element)
    return number.element if isinstance(number, ty.ComplexType) else number


def loaded(memref: Descriptor, type_: ty.Type, what: str) -> Value:
    """Return the elements of a memref that a function returned, or that an argument is.

    Raises UndefinedBehavior, in which ``what`` names the memref, if the elements are not in memory.
    """
    pointer, element = memref.aligned, ty.element_type(type_)
    if pointer.__class__ is not Pointer:
        raise UndefinedBehavior(f"{what}: the pointer is poison: {pointer.origin()}")
    memory: Memory = pointer.memory
    how, shape = _element_of(element), memref.sizes
    if memory.freed is not None:
        raise UndefinedBehavior(f"{what}: {memory.source} was freed by {memory.freed}")
    low, high = spanned(shape, memref.strides, memref.offset)
    first = pointer.offset + low * how.whole
    negative = min(shape, default=0) < 0
    if prod(shape) and (negative or first < 0 or pointer.offset + high * how.whole > memory.size):
        raise UndefinedBehavior(f"{what} leaves the {memory.size} bytes of {memory.source}")
    places = np.array(memref.offset, np.int64)
    for size, stride in zip(shape, memref.strides, strict=True):
        places = places[..., np.newaxis] + np.arange(size, dtype=np.int64) * stride
    starts = places[..., np.newaxis] * how.whole + pointer.offset + np.arange(how.units) * how.step
    index = starts[..., np.newaxis] + np.arange(how.size)
    dtype, trailing = code_layout(element)
    words = np.zeros((*starts.shape, dtype.itemsize * max(prod(trailing) // how.units, 1)), np.uint8)
    words[..., : how.size] = np.frombuffer(memory.data[:], np.uint8)[index]
    bits = words.view(dtype).reshape((*shape, *trailing))
    width = ty.width_of(_number_of(element))
    if width < 8 * dtype.itemsize:
        bits = bits & dtype.type((1 << width) - 1)
    whole = (*shape, *(element.shape if isinstance(element, ty.VectorType) else ()))
    lost = np.frombuffer(memory.lost[:], np.uint8)[index]
    poison = open_ = None
    if lost.any():
        ids: Any = np.full(index.shape, memory.unwritten, np.uint16) if memory.ids is None else memory.ids[index]
        ids = np.where(lost != 0, np.where(ids == 0, memory.unwritten, ids), 0).astype(np.uint16)
        poison = ids.reshape(*whole, -1).max(-1)
    if memory.open is not None:
        open_ = of_bytes(memory.open[index].reshape(*whole, -1))
    held = ty.contents_type(ty.MemRefType(shape, element))
    return Value(held, bits, poison, open_, None if poison is None else memory.origins)


# --- conventions ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Convention:
    """The convention by which a lowered function takes arguments and returns results of the types that it had before.

    ``name``: for messages. ``source``: the type that the function had. ``take``: the types of the arguments that stand
    for one argument of that function. ``by_descriptor``: a memref is a pointer to its descriptor, and a result that is
    a struct goes to memory that the first argument names. ``out``: the results are memory that the last arguments name.
    """

    name: str
    source: ty.FunctionType
    take: Callable[[ty.Type], tuple[ty.Type, ...]]
    by_descriptor: bool = False
    out: bool = False

    @property
    def together(self) -> ty.Type:
        """The type of all results as one value."""
        results = tuple(_described(type_) for type_ in self.source.results)
        if len(results) > 1:
            return llvm.StructType(body=results)
        return results[0] if results else llvm.VOID

    @property
    def type(self) -> llvm.FunctionType:
        """The type of the llvm.func."""
        together: ty.Type = llvm.VOID if self.out else self.together
        taken = [each for type_ in self.source.inputs for each in self.take(type_)]
        if self.out:
            taken += [each for type_ in self.source.results for each in self.take(type_)]
        elif self._through_memory(together):
            taken, together = [llvm.POINTER, *taken], llvm.VOID
        return llvm.FunctionType(result=together, inputs=tuple(taken))

    def _through_memory(self, result: ty.Type) -> bool:
        return self.by_descriptor and isinstance(result, llvm.StructType)

    def enter(self, values: Sequence[Value | Buffer]) -> Entered:
        """Return the arguments for some values of the earlier types."""
        entered = Entered(self)
        types = list(self.source.inputs)
        given: list[Value | Buffer] = list(values)
        if self.out:
            types += self.source.results
            given += [_unwritten(type_) for type_ in self.source.results]
        elif self._through_memory(self.together):
            size = memory_encoding.size_of(self.together)
            entered.result = entered.placed(Memory("the result", size, CALLER_ALIGNMENT, None))
            entered.arguments.append(entered.result)
        for value, type_ in zip(given, types, strict=True):
            entered.add(value, type_)
        return entered


@dataclass
class Entered:
    """The arguments of one call, as slots hold them, and the memory that they name."""

    how: Convention
    arguments: list[Any] = field(default_factory=list)
    memrefs: list[tuple[Buffer, Descriptor]] = field(default_factory=list)
    result: Pointer | None = None
    _end: int = _FIRST_ADDRESS

    def add(self, value: Value | Buffer, type_: ty.Type) -> None:
        """Add the arguments for one value."""
        if not is_memory(type_):
            assert isinstance(value, Value)
            self.arguments.append(lowered(value))
            return
        if isinstance(value, Buffer):
            buffer = value
        else:
            memref = type_ if isinstance(type_, ty.MemRefType) else ty.MemRefType(value.shape, value.element_type)
            buffer = buffer_of(value, memref, "the argument")
        if buffer.mapped is not None:
            raise Unsupported(f"memrefs of layout '{buffer.mapped.map}' are not passed to lowered functions")
        known = next((each for other, each in self.memrefs if other.allocation is buffer.allocation), None)
        start = self.placed(_to_bytes(buffer.allocation, buffer.type.element)) if known is None else known.aligned
        memref_value = Descriptor(start, start, buffer.offset, buffer.shape, buffer.strides)
        self.memrefs.append((buffer, memref_value))
        self.arguments += self._passed(memref_value, type_)

    def placed(self, memory: Memory) -> Pointer:
        """Give memory an address, which is the same in each run, and return a pointer to its start."""
        memory.start = address_after(self._end, memory.alignment)
        self._end = memory.start + memory.size
        return Pointer(memory, 0)

    def _passed(self, memref: Descriptor, type_: ty.Type) -> Iterator[Any]:
        numbers = [number & ((1 << 64) - 1) for number in (memref.offset, *memref.sizes, *memref.strides)]
        parts = [memref.allocated, memref.aligned, *numbers]
        if self.how.by_descriptor:
            held = descriptor_type(len(memref.sizes))
            memory = Memory("a descriptor", memory_encoding.size_of(held), CALLER_ALIGNMENT, None, written=True)
            shaped = parts[:3]
            if memref.sizes:
                shaped += [tuple(parts[3 : 3 + len(memref.sizes)]), tuple(parts[3 + len(memref.sizes) :])]
            contents_of(held)[1](Run(Settings()), memory, 0, shaped)
            yield self.placed(memory)
        else:
            yield from parts[: len(self.how.take(type_))]

    def leave(self, returned: Sequence[Any]) -> tuple[Value, ...]:
        """Return the results of a call that returned these values. Memory of arguments is copied back into its
        buffers.
        """
        types = self.how.source.results
        if self.result is not None:
            returned = [contents_of(self.how.together)[0](Run(Settings()), self.result.memory, 0)]
        if self.how.out:
            own = self.memrefs[len(self.memrefs) - len(types) :]
            results = [loaded(memref, type_, "the result") for (_, memref), type_ in zip(own, types, strict=True)]
        else:
            results = list(self._results(returned, types))
        for buffer, memref in self.memrefs:
            _give_back(buffer, memref)
        return tuple(results)

    def _results(self, returned: Sequence[Any], types: Sequence[ty.Type]) -> Iterator[Value]:
        if not types:
            return
        parts = returned[0] if len(types) > 1 else (returned[0],)
        for number, (part, type_) in enumerate(zip(parts, types, strict=True)):
            what = f"result {number}"
            if is_memory(type_):
                yield loaded(_descriptor(part, _rank(type_), what), type_, what)
            else:
                yield raised(part, type_)


def _descriptor(slot: Any, rank: int, what: str) -> Descriptor:
    found = descriptor_in(slot, rank)
    if found is None:
        raise UndefinedBehavior(f"{what}: a number of the descriptor is poison")
    return found


def _unwritten(type_: ty.Type) -> Buffer:
    shape = ty.shape_of(type_)
    if shape is None or None in shape:
        raise Unsupported(f"memory for a result of type '{type_}' has no size")
    sizes = tuple(size or 0 for size in shape)
    return Buffer.allocate(ty.MemRefType(sizes, ty.element_type(type_)), sizes)


def _give_back(buffer: Buffer, memref: Descriptor) -> None:
    """Put what memory holds after a call into the buffer that it was made from."""
    if not buffer.allocation.constant:
        buffer.store(loaded(memref, buffer.type, "the argument"))


CONVENTIONS: tuple[tuple[str, Callable[[ty.Type], tuple[ty.Type, ...]], bool, bool], ...] = (
    ("descriptors in pieces", _expanded, False, False),
    ("descriptors in pieces, results in the last arguments", _expanded, False, True),
    ("bare pointers", _pointed, False, False),
    ("bare pointers, results in the last arguments", _pointed, False, True),
    ("pointers to descriptors", _pointed, True, False),
)
"""The name, the types of the arguments for one value, and `Convention.by_descriptor` and `Convention.out`."""


def convention_of(source: ty.FunctionType, function: Operation) -> Convention:
    """Return the convention by which an llvm.func takes values of the types that it had before its lowering. Raises
    Unsupported.
    """
    type_ = function_type(function)
    wrapped = (function.symbol_name or "").startswith(INTERFACE)
    for name, take, by_descriptor, out in CONVENTIONS:
        found = Convention(name, source, take, by_descriptor, out)
        if by_descriptor == wrapped and found.type == type_:
            return found
    raise Unsupported(
        f"@{function.symbol_name} of type '{type_}' follows no convention for '{source}'",
        location=function.location,
        hint="known are: " + "; ".join(name for name, *_ in CONVENTIONS),
    )
