"""One run of compiled code: the memory that it may use, and its calls of Python functions."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from halfulp.fp_formats.formats import codes_to_ints, ints_to_codes
from halfulp.interp.ir import types as ty
from halfulp.interp.run.frames import Run
from halfulp.interp.run.settings import Settings
from halfulp.interp.values.buffers import Allocation, Buffer
from halfulp.interp.values.value import Value
from halfulp.semantics.kernel import Origin

MOST_BYTES = 1 << 26
"""The memory that one run of compiled code may keep to its end, which the executor lets go as soon as possible."""

HostFunction = Callable[..., Any]
"""A function of a `Context` and words that returns a word or a tuple of them, or anything else to stop the run."""


_SIGN = 1 << 63


def is_plain(buffer: Buffer) -> bool:
    """Tell whether machine code can address the memory of a buffer."""
    memory = buffer.allocation
    usual = type(memory) is Allocation and memory.freed is None and memory.open is None and memory.log is None
    shaped = memory.bits.ndim == 1 and not memory.inner and buffer.swizzle is None and buffer.mapped is None
    return usual and shaped and memory.bits.flags.c_contiguous


def parts_of_buffer(buffer: Buffer, addresses: tuple[Any, ...]) -> list[Any]:
    """Return the words that describe a buffer. ``addresses``: the addresses of its memory."""
    numbers = (buffer.offset, *buffer.shape, *buffer.strides)
    return [*addresses, *(number & ((1 << 64) - 1) for number in numbers)]


def address_of(array: npt.NDArray[Any]) -> int:
    """Return the address of an array's memory. NumPy's ``ctypes.data`` takes microseconds."""
    address: int = array.__array_interface__["data"][0]
    return address


def is_clean(value: Value) -> bool:
    """Tell whether no element of a value is poison, and none is unspecified."""
    return value.poison is None and value.open is None


def words_of(value: Value, settings: Settings) -> list[int]:
    """Return the codes of the elements of a value."""
    return codes_to_ints(np.ravel(value.bits), settings.width(value.element_type))


def masks_of(slots: Sequence[Any]) -> list[Any]:
    """Return the masks of the memory of buffers among slots."""
    memories = [slot.allocation for slot in slots if isinstance(slot, Buffer)]
    return [mask for memory in memories for mask in (memory.poison, memory.open)]


class Context:
    """One run of compiled code: its memory by address, and the functions of Python that it calls by number."""

    def __init__(self, run: Run, functions: Sequence[HostFunction]) -> None:
        self.run = run
        self.functions = functions
        self.allocations: dict[int, Allocation] = {}
        self._freed: list[Allocation] = []
        self.interrupted: BaseException | None = None
        self._left = MOST_BYTES

    def addresses(self, memory: Allocation) -> tuple[Any, ...]:
        """Return the addresses of the codes of memory and of its poison (0 if there is none), and whether the memory
        must not be written. The memory is kept alive.
        """
        base = address_of(memory.bits)
        self.allocations[base] = memory
        return base, 0 if memory.poison is None else address_of(memory.poison), int(memory.constant)

    def memory(self, base: Any) -> Allocation:
        """Return the memory whose codes are at this address."""
        return self.allocations[base]

    def made(self, memory: Allocation) -> tuple[Any, ...]:
        """Return the `addresses` of new memory, which stays alive. Raises MemoryError as `count` does."""
        self.count(memory)
        return self.addresses(memory)

    def count(self, memory: Allocation) -> None:
        """Add the size of memory to the bytes that are kept alive until the end of the run. Raises MemoryError if the
        sum exceeds `MOST_BYTES`.
        """
        self._left -= memory.bits.nbytes
        if self._left < 0:
            raise MemoryError

    def slot(self, type_: ty.Type, words: Sequence[Any]) -> Any:
        """Return a value in the form that slots of the executor hold. ``words``: the words of its elements."""
        if isinstance(type_, ty.MemRefType):
            return self.buffer(type_, words)
        if isinstance(type_, ty.VectorType):
            width = self.run.settings.width(type_.element)
            return Value(type_, ints_to_codes(list(words), width, type_.shape))
        return words[0]

    def buffer(self, type_: ty.MemRefType, words: Sequence[Any]) -> Buffer:
        """Return a memref as a buffer. ``words``: the words that describe it."""
        base, _, _, offset, *rest = words
        numbers = tuple((code ^ _SIGN) - _SIGN for code in rest)
        rank = len(numbers) // 2
        return Buffer(type_, self.allocations[base], (offset ^ _SIGN) - _SIGN, numbers[:rank], numbers[rank:])

    def words(self, slots: Sequence[Any]) -> tuple[Any, ...] | None:
        """Return the contents of slots of the executor as words. Return None if a slot is not clean, or is memory that
        machine code cannot address.
        """
        found: list[Any] = []
        for slot in slots:
            if slot.__class__ is int:
                found.append(slot)
            elif isinstance(slot, Value) and is_clean(slot):
                found += words_of(slot, self.run.settings)
            elif isinstance(slot, Buffer) and is_plain(slot):
                found += self.parts(slot)
            else:
                return None
        return tuple(found)

    def parts(self, buffer: Buffer) -> list[Any]:
        """Return the words that describe a buffer, whose memory may be new to this run."""
        known = address_of(buffer.allocation.bits) in self.allocations
        return parts_of_buffer(buffer, (self.addresses if known else self.made)(buffer.allocation))

    def free(self, by: str, base: Any) -> tuple[int, ...] | None:
        """Mark memory as freed. It becomes poison, so an op that reads it stops the run; `untouched` tells whether it
        was written later. Return None for memory that was freed before. ``by``: the op that frees it and its place, as
        text.
        """
        memory = self.memory(base)
        assert memory.poison is not None
        if memory.freed is not None:
            return None
        memory.poison[...] = memory.poison.max() or self.run.origins.id_of(Origin(by, "", "freed", ()))
        memory.freed = by
        self._freed.append(memory)
        return ()

    def untouched(self) -> bool:
        """Tell whether no memory was written after it was freed."""
        return all(memory.poison is not None and bool(np.all(memory.poison)) for memory in self._freed)

    def ended(self) -> None:
        """Raise the exception that interrupted the run, if there was one."""
        if self.interrupted is not None:
            raise self.interrupted

    def way_back(self) -> Callable[[Any], int]:
        """Return the function that machine code calls with an array of words: the number of a Python function, the
        count of its operands, and these. It writes the results of the function to the same array, and returns 0, or 1
        to stop the run. `ended` raises an interrupt that happened meanwhile.

        No exception may leave the function. Python raises an interrupt where a function begins, outside of each ``try``
        in it; but a generator continues inside one.
        """
        calls = self._calls()
        next(calls)
        return calls.send

    def _calls(self) -> Generator[int, Any, None]:
        status = 0
        while True:
            try:
                while True:
                    words = yield status
                    status = 1 if self.interrupted is not None else self._call(words)
            except GeneratorExit:
                return
            except BaseException as error:
                self.interrupted, status = error, 1

    def _call(self, words: Any) -> int:
        function, count = self.functions[words[0]], words[1]
        try:
            found = function(self, *[words[2 + place] for place in range(count)])
        except Exception:
            # The executor says what is wrong.
            return 1
        if found.__class__ is int:
            words[0] = found
            return 0
        if found.__class__ is not tuple:
            return 1
        for place, word in enumerate(found):
            words[place] = word
        return 0
