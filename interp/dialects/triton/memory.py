"""Memory of kernels: pointers as codes, and accesses through tensors of them.

The code of a pointer has two words: the byte offset, and the number of an allocation in the table of the launch, 0 for
none. An access is undefined outside of its allocation, at an offset that is not a multiple of the size of the element,
through a poison pointer, and with a poison mask. An element that the mask leaves out touches nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from math import prod
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from halfulp.fp_formats.formats import Codes, Mask
from halfulp.interp.dialects.elementwise import COMBINING, elementwise_op
from halfulp.interp.dialects.llvm import memory as mem
from halfulp.interp.dialects.triton import forms
from halfulp.interp.dialects.triton.types import PointerType
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.errors import HalfulpError, UndefinedBehavior, spell_place
from halfulp.interp.ir.operations import Operation, undefined, unsupported
from halfulp.interp.ir.types import code_layout
from halfulp.interp.run.evaluators import evaluator_of
from halfulp.interp.run.frames import Run
from halfulp.interp.run.settings import Settings
from halfulp.interp.values.lanes import alike, over_lanes, repeated
from halfulp.interp.values.value import Value
from halfulp.semantics.kernel import Kernel, Open, Origin, Origins, first_place

_TABLE = "memory of a kernel"
_WIDTHS = (1, 8, 16, 32, 64)
"""The widths of elements in memory, in bits."""


class Program(NamedTuple):
    """A program of a grid: its place, the sizes of the grid, and its number in the order of execution. Of programs that
    run together (`halfulp.interp.dialects.triton.together`) it is the first one.
    """

    place: tuple[int, int, int]
    grid: tuple[int, int, int]
    number: int


class Apart(HalfulpError):
    """Programs cannot run together: they have to run one after the other, which gives the results and the errors."""


class Programs(NamedTuple):
    """Some programs that run together: their numbers, counted from the first one, and how many elements of an access
    each has, which lie one after the other; 0 if all have the same elements.
    """

    numbers: npt.NDArray[np.intp]
    each: int

    def of(self, positions: Index) -> npt.NDArray[np.intp]:
        """Return the programs of some elements; all programs if they have the same elements."""
        return self.numbers[_as_array(positions) // self.each] if self.each else self.numbers


class Interval(NamedTuple):
    """The least and the greatest byte of an allocation that each of some programs accesses."""

    least: npt.NDArray[np.int64]
    greatest: npt.NDArray[np.int64]


class Log:
    """What programs that run together do to memory: it can be undone, and tells whether one of them may have accessed
    what another one writes.

    ``first``, ``count``: the number of the first program, and how many they are. ``both``: the numbers of the
    allocations of which the log keeps intervals, since programs of the launch both read and write them.
    """

    def __init__(self, first: int, count: int, both: set[int]) -> None:
        self.first, self.count, self.both = first, count, both
        self._before: list[tuple[npt.NDArray[Any], Index, npt.NDArray[Any]]] = []
        self._read: set[int] = set()
        self._written: set[int] = set()
        self._intervals: dict[int, Interval] = {}

    def access(self, part: _Part, programs: Programs, size: int, writes: bool) -> None:
        """Note an access of elements of ``size`` bytes."""
        (self._written if writes else self._read).add(part.number)
        if part.number not in self.both:
            return
        known = self._intervals.get(part.number)
        if known is None:
            most = np.iinfo(np.int64)
            known = Interval(np.full(self.count, most.max), np.full(self.count, most.min))
            self._intervals[part.number] = known
        places = _as_array(part.places) * size
        numbers = programs.of(part.positions)
        least, greatest = (places, places) if programs.each else (places.min(), places.max())
        np.minimum.at(known.least, numbers, least)
        np.maximum.at(known.greatest, numbers, greatest + size - 1)

    def keep(self, array: npt.NDArray[Any], index: Index) -> None:
        """Keep elements of an array before they change."""
        self._before.append((array, index, array[index].copy()))

    def undo(self) -> None:
        """Restore all elements that changed."""
        for array, index, before in reversed(self._before):
            array[index] = before

    def check(self) -> None:
        """Raise Apart if a program may have accessed what another one wrote."""
        mixed = self._read & self._written
        fresh = mixed - self.both
        self.both |= mixed
        for number in mixed:
            least, greatest = self._intervals.get(number, (None, None))
            if number in fresh or least is None or greatest is None:
                raise Apart("the programs read and write one allocation")
            order = np.argsort(least, kind="stable")
            if (greatest[order][:-1] >= least[order][1:]).any():
                raise Apart("programs may read what others write")


class Numbered(mem.Memory):
    """An allocation of which only the numbers of its elements count (`halfulp.interp.dialects.triton.planning`).
    ``each``: the bytes of an element.
    """

    __slots__ = ("each", "numbers")

    def __init__(self, source: str, numbers: npt.NDArray[np.uint64], each: int, origins: Origins) -> None:
        super().__init__(source, 0, mem.CALLER_ALIGNMENT, origins, written=True)
        self.size = self.end = len(numbers) * each
        self.numbers = numbers
        self.each = each


class Shared:
    """What the programs of a launch share.

    ``memories``: the allocations, by number less one. ``writers``: for each of them the number of the program that
    last wrote a byte without an atomic op, -1 for none; it is kept if there is more than one program. ``log``: what
    programs that run together do to memory; None while they run one after the other. ``synchronized``: whether an
    atomic or volatile op ran, so that programs may wait for each other.
    """

    def __init__(self, several: bool) -> None:
        self.memories: list[mem.Memory] = []
        self.writers: list[npt.NDArray[np.int32]] = []
        self.log: Log | None = None
        self.synchronized = False
        self._several = several
        self._readers: dict[int, npt.NDArray[np.int32]] = {}
        self._changed: dict[int, npt.NDArray[np.bool_]] = {}

    def add(self, memory: mem.Memory) -> int:
        """Return the number of an allocation."""
        self.memories.append(memory)
        self.writers.append(np.full(memory.size if self._several else 0, -1, np.int32))
        return len(self.memories)

    def readers(self, number: int) -> npt.NDArray[np.int32]:
        """Return for each byte of an allocation the program that read it, -1 for none, and -2 less the first one's
        number for several.
        """
        if number not in self._readers:
            self._readers[number] = np.full(len(self.writers[number - 1]), -1, np.int32)
        return self._readers[number]

    def changed(self, number: int) -> npt.NDArray[np.bool_]:
        """Return for each byte of an allocation whether a write changed it."""
        if number not in self._changed:
            self._changed[number] = np.zeros(len(self.writers[number - 1]), bool)
        return self._changed[number]

    def number_of(self, memory: mem.Memory) -> int:
        """Return the number of an allocation, 0 for none."""
        return next((number for number, known in enumerate(self.memories, 1) if known is memory), 0)


def begin(run: Run, shared: Shared, program: Program) -> None:
    """Note what belongs to the run of one program."""
    run.kept[_TABLE] = shared, program


def shared_of(run: Run) -> Shared:
    """Return what the programs share; nothing for a function that is called alone."""
    return _state(run)[0]


def program_of(run: Run) -> Program:
    """Return the program that runs."""
    return _state(run)[1]


def places_of(run: Run) -> npt.NDArray[np.uint32]:
    """Return the places of the programs that run together, [programs, 3]."""
    shared, program = _state(run)
    assert shared.log is not None
    x, y, _ = program.grid
    numbers = program.number + np.arange(shared.log.count)
    return np.stack([numbers % x, numbers // x % y, numbers // (x * y)], axis=1).astype(np.uint32)


def _state(run: Run) -> tuple[Shared, Program]:
    state: tuple[Shared, Program] | None = run.kept.get(_TABLE)
    if state is None:
        state = run.kept[_TABLE] = Shared(False), Program((0, 0, 0), (1, 1, 1), 0)
    return state


def code_of(number: int, offset: int = 0) -> Codes:
    """Return the code of a pointer."""
    return np.array([offset & mem.ADDRESS_MASK, number], np.uint64)


def allocated(op: Operation, run: Run, size: int, type_: ty.Type) -> Value:
    """Return a pointer to new memory of the program."""
    shared = shared_of(run)
    made = mem.Memory(f"{op.name} at {spell_place(op.location)}", size, mem.CALLER_ALIGNMENT, run.origins)
    return Value(type_, code_of(shared.add(made)))


# --- places -----------------------------------------------------------------------------------------------------------


Index = npt.NDArray[np.intp] | slice
"""An index of elements: their places, or a range of them, which takes less time."""


class _Part(NamedTuple):
    """The accessed elements of one allocation: its number and memory, the positions of the elements, and their places
    in the memory, in elements.
    """

    number: int
    memory: mem.Memory
    positions: Index
    places: Index


def _as_array(index: Index) -> npt.NDArray[np.intp]:
    return np.arange(index.start, index.stop) if isinstance(index, slice) else index


def _as_range(places: npt.NDArray[np.intp]) -> Index:
    """Return the places as a range if they follow one another."""
    first, count = int(places[0]), len(places)
    if int(places[-1]) - first != count - 1 or (count > 2 and (places[1:] - places[:-1] != 1).any()):
        return places
    return slice(first, first + count)


class Access:
    """The accesses of an op through a pointer, or through each pointer of a tensor, to elements of one type."""

    def __init__(self, op: Operation, pointer: ty.Type, settings: Settings) -> None:
        self.op = op
        element = ty.element_type(pointer)
        assert isinstance(element, PointerType)
        self.element = element.element
        if ty.element_width(self.element) not in _WIDTHS:
            raise unsupported(op, f"memory of elements of type '{self.element}' is not run")
        self.dtype, _ = code_layout(self.element)
        self.size = self.dtype.itemsize
        self.settings = settings
        self._synchronizes = "atomic" in op.name or op.properties.get("isVolatile") == forms.TRUE

    def active(self, pointers: Value, mask: Value | None) -> Index:
        """Return the positions of the elements that are accessed, in row-major order. Raises UndefinedBehavior."""
        count = prod(pointers.shape)
        found: Index = slice(0, count)
        if mask is not None:
            if mask.poison is not None:
                raise self._at(pointers.shape, mask.poisoned.reshape(-1), f"the mask is poison: {_origin(mask)}")
            if not mask.bits.all():
                found = np.flatnonzero(mask.bits)
        if pointers.poison is not None:
            spoiled = np.zeros(count, bool)
            spoiled[found] = pointers.poison.reshape(-1)[found] != 0
            if spoiled.any():
                raise self._at(pointers.shape, spoiled, f"the pointer is poison: {_origin(pointers, spoiled)}")
        return found

    def parts(self, run: Run, pointers: Value, active: Index, writes: bool = False) -> Iterator[_Part]:
        """Yield the accessed elements of each allocation. Raises UndefinedBehavior."""
        codes = pointers.bits.reshape(-1, 2)
        codes = codes if isinstance(active, slice) else codes[active]
        numbers, offsets = codes[:, 1], codes[:, 0]
        if not len(numbers):
            return
        shared = shared_of(run)
        shared.synchronized |= self._synchronizes
        several = (numbers != numbers[0]).any()
        for number in np.unique(numbers) if several else numbers[:1]:
            memory = shared.memories[int(number) - 1] if number else mem.NOWHERE
            positions, places = active, offsets
            if several:
                own = np.flatnonzero(numbers == number)
                positions, places = _as_array(active)[own], offsets[own]
            if int(places.max()) > memory.size - self.size:
                outside = places > np.uint64(max(memory.size - self.size, 0))
                if memory.size < self.size:
                    outside[:] = True
                raise self._wrong(pointers.shape, positions, outside, places, memory, "is outside of")
            rest = np.uint64(self.size - 1)
            if np.bitwise_or.reduce(places) & rest:
                wrong = places & rest != 0
                raise self._wrong(pointers.shape, positions, wrong, places, memory, "is misaligned in")
            if writes and memory.constant:
                all_ = np.ones(len(places), bool)
                raise self._wrong(pointers.shape, positions, all_, places, memory, "must not be written in")
            steps = (places >> np.uint64(self.size.bit_length() - 1)).view(np.int64)
            part = _Part(int(number), memory, positions, _as_range(steps))
            if shared.log is not None:
                shared.log.access(part, _programs(run, pointers), self.size, writes)
            yield part

    def elements(self, memory: mem.Memory, dtype: np.dtype[Any]) -> Codes:
        """Return the codes of an allocation, writable. ``dtype``: that of the elements that are loaded or stored, which
        may be their numbers.
        """
        if isinstance(memory, Numbered):
            if memory.each != self.size or memory.numbers.dtype != dtype or self.element == ty.I1:
                raise Apart("elements are accessed as others")
            return memory.numbers
        if dtype != self.dtype:
            raise Apart("the elements of this memory have no numbers")
        whole = memory.size - memory.size % self.size
        codes: Codes = np.frombuffer(memory.data, np.uint8)[:whole].view(self.dtype)
        return codes

    def bytes_at(self, places: Index) -> npt.NDArray[np.intp]:
        """Return the places of the bytes of elements, [elements, bytes]."""
        return _as_array(places)[:, np.newaxis] * self.size + np.arange(self.size)

    def first_bytes(self, places: Index) -> Index:
        """Return the places of the first bytes of elements."""
        if isinstance(places, slice):
            return slice(places.start * self.size, places.stop * self.size, self.size)
        return places * self.size

    def _wrong(
        self,
        shape: tuple[int, ...],
        positions: Index,
        wrong: Mask,
        offsets: Codes,
        memory: mem.Memory,
        how: str,
    ) -> UndefinedBehavior:
        first = int(np.argmax(wrong))
        offset = int(offsets[first].astype(np.int64))
        every = np.zeros(prod(shape), bool)
        every[_as_array(positions)[wrong]] = True
        held = f"the {memory.size} bytes of {memory.source}" if memory is not mem.NOWHERE else "memory: null"
        return self._at(shape, every, f"byte {offset}, an element of {self.size} bytes, {how} {held}")

    def _at(self, shape: tuple[int, ...], wrong: Mask, message: str) -> UndefinedBehavior:
        where = first_place(wrong.reshape(shape)) if shape else ()
        count = f", the first of {np.count_nonzero(wrong)}" if np.count_nonzero(wrong) > 1 else ""
        return undefined(self.op, f"{message}{f' (element {[int(k) for k in where]}{count})' if where else ''}")

    def conflict(
        self, shape: tuple[int, ...], part: _Part, wrong: Mask, memory: mem.Memory, message: str
    ) -> UndefinedBehavior:
        """Return the error of elements that are written twice with different bits. ``wrong``: which ones of the part.
        The message ends with the byte of the first one.
        """
        every = np.zeros(prod(shape), bool)
        every[_as_array(part.positions)[wrong]] = True
        byte = int(_as_array(part.places)[np.argmax(wrong)]) * self.size
        return self._at(shape, every, f"{message} to byte {byte} of {memory.source}")


def _origin(value: Value, where: Mask | None = None) -> str:
    mask = value.poisoned if where is None else where.reshape(value.shape)
    return str(value.origin(*(first_place(mask) if value.shape else ())))


# --- loads ------------------------------------------------------------------------------------------------------------


LEFT_OUT = "the mask leaves the element out, and no other value is given"
"""Why an element of a load is poison."""


def load(access: Access, run: Run, pointers: Value, mask: Value | None, other: Value | None, type_: ty.Type) -> Value:
    """Return what is loaded. Elements that the mask leaves out are those of ``other``, else as the profile says. Raises
    UndefinedBehavior for a race.
    """
    lead = 0
    if run.lanes is not None:
        pointers, mask, other = _over_lanes(pointers, mask, other)
        lead = int(pointers.over_lanes)
    active = access.active(pointers, mask)
    shape, count = pointers.shape, prod(pointers.shape)
    whole = isinstance(active, slice)
    dtype, _ = code_layout(ty.element_type(type_))
    bits = (np.empty if whole else np.zeros)(count, dtype)
    ids: Any = None
    marks: Any = None
    if not whole and other is not None:
        bits[:] = other.bits.reshape(-1)
        ids = None if other.poison is None else other.poison.reshape(-1).copy()
        marks = None if other.open is None else np.array(np.broadcast_to(other.open, shape)).reshape(-1)
        for each in (ids, marks):
            if each is not None:
                each[active] = 0
    elif not whole and access.settings.profile.masked_load == "poison":
        ids = np.zeros(count, np.uint16)
        left = np.ones(count, bool)
        left[active] = False
        origin = Origin(
            access.op.name,
            spell_place(access.op.location),
            LEFT_OUT,
            first_place(left.reshape(shape))[lead:] if shape else (),
        )
        ids[left] = run.origins.id_of(origin)
        for listener in access.settings.listeners:
            listener.poison_born(access.op, origin, int(np.count_nonzero(left)))
    for part in access.parts(run, pointers, active):
        _, memory, positions, places = part
        _note_reader(access, run, pointers, part)
        bits[positions] = access.elements(memory, dtype)[places]
        if memory.ids is not None:
            if run.lanes is not None:
                raise Apart("an argument is poison")
            memory.adopted(run.origins)
            lost = np.frombuffer(memory.lost, np.uint8)[access.bytes_at(places)].any(axis=1)
            if lost.any():
                ids = np.zeros(count, np.uint16) if ids is None else ids
                ids[positions] = np.where(lost, memory.ids[access.first_bytes(places)], 0)
        if memory.open is not None:
            marks = np.zeros(count, memory.open.dtype) if marks is None else marks
            marks[positions] = memory.open[access.first_bytes(places)]
    if access.element == ty.I1:
        bits &= np.uint8(1)
    if marks is not None and access.settings.recorder is None and not marks.any():
        marks = None
    if ids is not None and not ids.any():
        ids = None
    return Value(
        type_,
        bits.reshape(shape),
        None if ids is None else ids.reshape(shape),
        marks if marks is None else marks.reshape(shape),
        None if ids is None else run.origins,
    )


# --- stores -----------------------------------------------------------------------------------------------------------


def store(access: Access, run: Run, pointers: Value, value: Value, mask: Value | None) -> None:
    """Store the elements that the mask does not leave out. Raises UndefinedBehavior for a race."""
    if run.lanes is not None:
        pointers, given, mask = _over_lanes(pointers, value, mask, len(run.lanes))
        assert given is not None
        value = given
    active = access.active(pointers, mask)
    codes = value.bits.reshape(-1)
    shared, program = _state(run)
    log = shared.log
    for part in access.parts(run, pointers, active, writes=True):
        number, memory, positions, places = part
        elements, new = access.elements(memory, codes.dtype), codes[positions]
        writers = shared.writers[number - 1]
        if len(writers):
            firsts = access.first_bytes(places)
            before = writers[firsts]
            own: Any = program.number
            if log is not None:
                own = log.first + _programs(run, pointers).of(positions)
            other = (before >= 0) & (before != own)
            if other.any():
                raced = other & (elements[places] != new)
                if raced.any():
                    which = int(before[np.argmax(raced)])
                    message = f"a race: program {which} wrote other bits"
                    raise access.conflict(pointers.shape, part, raced, memory, message)
                if log is not None and (before[other] >= log.first).any():
                    raise Apart("two programs write one byte")
            _check_readers(access, shared, pointers, part, own, elements[places] != new)
            _note_writer(access, log, writers, places, own)
            if log is not None and (writers[firsts] != own).any():
                raise Apart("two programs write one byte")
        if log is not None:
            log.keep(elements, places)
        elements[places] = new
        # A range has each place once.
        differs = np.zeros(1, bool) if isinstance(places, slice) else elements[places] != new
        if differs.any():
            message = "two elements are stored with different bits"
            raise access.conflict(pointers.shape, part, differs, memory, message)
        _mark(access, run, part, value)


def _note_reader(access: Access, run: Run, pointers: Value, part: _Part) -> None:
    """Note which programs read elements. Raises UndefinedBehavior if one reads what another one changed."""
    shared, program = _state(run)
    number, memory, positions, places = part
    if not _may_race(shared, part):
        return
    own: Any = program.number
    if shared.log is not None:
        own = shared.log.first + _programs(run, pointers).of(positions)
    firsts = access.first_bytes(places)
    before = shared.writers[number - 1][firsts]
    raced = (before >= 0) & (before != own) & shared.changed(number)[firsts]
    if raced.any():
        message = f"a race: a read after program {int(before[np.argmax(raced)])} has written other bits"
        raise access.conflict(pointers.shape, part, raced, memory, message)
    readers = shared.readers(number)
    known = readers[firsts]
    if shared.log is not None:
        shared.log.keep(readers, firsts)
    readers[firsts] = np.where((known == -1) | (known == own), own, np.where(known < 0, known, -2 - known))


def _check_readers(access: Access, shared: Shared, pointers: Value, part: _Part, own: Any, changes: Mask) -> None:
    """Raise UndefinedBehavior if a program changes what another one has read. ``changes``: which elements change."""
    number, memory, _, places = part
    if not _may_race(shared, part):
        return
    firsts = access.first_bytes(places)
    known = shared.readers(number)[firsts]
    raced = (known != -1) & (known != own) & changes
    if raced.any():
        which = int(known[np.argmax(raced)])
        message = f"a race: program {which if which >= 0 else -2 - which} has read other bits before the write"
        raise access.conflict(pointers.shape, part, raced, memory, message)
    changed = shared.changed(number)
    if shared.log is not None:
        shared.log.keep(changed, firsts)
    changed[firsts] = changes | (changed[firsts] & (shared.writers[number - 1][firsts] == own))


def _may_race(shared: Shared, part: _Part) -> bool:
    """Tell whether reads of an allocation are noted: not if programs may wait for each other, and not while they run
    together and only read or only write it.
    """
    several = len(shared.writers[part.number - 1]) and not part.memory.constant
    return bool(several) and not shared.synchronized and (shared.log is None or part.number in shared.log.both)


def _programs(run: Run, pointers: Value) -> Programs:
    assert run.lanes is not None
    return Programs(run.lanes.numbers, prod(pointers.shape[1:]) if pointers.over_lanes else 0)


def _over_lanes(
    pointers: Value, first: Value | None, second: Value | None, lanes: int = 0
) -> tuple[Value, Value | None, Value | None]:
    """Return the operands of an access of programs that run together, alike. ``lanes``: how many programs there are if
    the access is to be one of each of them.
    """
    given = [value for value in (pointers, first, second) if value is not None]
    if lanes and not any(map(over_lanes, given)):
        given[0] = repeated(pointers, lanes)
    same = iter(alike(*given))
    return next(same), None if first is None else next(same), None if second is None else next(same)


def _note_writer(
    access: Access, log: Log | None, writers: npt.NDArray[np.int32], places: Index, own: int | npt.NDArray[np.intp]
) -> None:
    """Note which programs write the bytes of elements."""
    if isinstance(places, slice):
        where: Index = slice(places.start * access.size, places.stop * access.size)
        numbers = own if isinstance(own, int) else np.repeat(own, access.size)
    else:
        where = access.bytes_at(places)
        numbers = own if isinstance(own, int) else own[:, np.newaxis]
    if log is not None:
        log.keep(writers, where)
    writers[where] = numbers


def _mark(access: Access, run: Run, part: _Part, value: Value) -> None:
    """Note the poison and the marks of stored elements."""
    _, memory, positions, places = part
    lost = None if value.poison is None else value.poison.reshape(-1)[positions]
    lost = lost if lost is not None and lost.any() else None
    if lost is not None or memory.ids is not None:
        if run.lanes is not None:
            raise Apart("poison is stored")
        ids = memory.ids_to_write(run.origins)
        stored = 0 if lost is None else lost[:, np.newaxis]
        where = access.bytes_at(places)
        ids[where] = stored
        np.frombuffer(memory.lost, np.uint8)[where] = np.where(np.asarray(stored) != 0, 0xFF, 0)
    if value.open is not None or memory.open is not None:
        if run.lanes is not None:
            raise Apart("marks are stored")
        marks = 0 if value.open is None else np.broadcast_to(value.open, value.shape).reshape(-1)[positions]
        if memory.open is None:
            memory.open = np.zeros(memory.size, np.asarray(marks).dtype)
        memory.open[access.first_bytes(places)] = marks


# --- atomics ----------------------------------------------------------------------------------------------------------

_RMW = {
    "and": "andi", "or": "ori", "xor": "xori", "add": "addi", "fadd": "addf", "max": "maxs", "min": "mins",
    "umax": "maxu", "umin": "minu",
}  # fmt: skip
"""The ways of atomic_rmw to combine, by those of arith; ``exch`` takes the new value."""


def combining_kernel(op: Operation, kind: str, element: ty.Type, settings: Settings) -> Kernel | None:
    """Return the kernel of old and given code by which an atomic op makes the new code; None for the given code. Raises
    Unsupported for a kind that is not defined for the elements: only ``fadd`` combines floats.
    """
    if kind == "exch":
        return None
    if isinstance(element, ty.FloatType) != (kind == "fadd"):
        raise unsupported(op, f"'{kind}' does not combine elements of type '{element}'")
    inner = elementwise_op(COMBINING[_RMW[kind]].op, (element, element), element)
    kernel: Kernel = evaluator_of(inner).build(inner, settings)
    return kernel


def combining(op: Operation, kind: str, element: ty.Type, settings: Settings) -> Callable[[int, int], int]:
    """Return the function of old and given code by which an atomic op makes the new code, as `combining_kernel`."""
    kernel = combining_kernel(op, kind, element, settings)
    if kernel is None:
        return lambda old, given: given

    def combine(old: int, given: int) -> int:
        found = kernel.scalar(old, given)
        assert isinstance(found, int)
        return found

    return combine


def kind_of(op: Operation) -> str:
    """Return the property ``atomic_rmw_op`` of an atomic op."""
    prop = op.definition.property_named("atomic_rmw_op") if op.definition is not None else None
    assert prop is not None
    kind: str = prop.kind.names[op.number("atomic_rmw_op")]  # type: ignore[union-attr]
    return kind


def combining_of(op: Operation, type_: ty.Type, settings: Settings) -> tuple[Update, bool]:
    """Return the function by which an atomic op with the property ``atomic_rmw_op`` makes new codes, and whether the
    results depend on the order of the updates.
    """
    kind = kind_of(op)
    combine = combining(op, kind, ty.element_type(type_), settings)
    return lambda old, given: combine(old, given[0]), kind in ("fadd", "exch")


Update = Callable[[int, Sequence[int]], int]
"""Makes the new code from the old one and those of the other operands."""


def update(
    access: Access,
    run: Run,
    pointers: Value,
    operands: Sequence[Value],
    mask: Value | None,
    type_: ty.Type,
    combine: Update,
    inexact: bool,
) -> Value:
    """Replace elements in row-major order, and return what was there before. ``inexact``: whether the result depends
    on the order, which the language leaves open. It is open too if an operand is.
    """
    active = access.active(pointers, mask)
    shape, count = pointers.shape, prod(pointers.shape)
    spoiled = next((value for value in operands if value.poison is not None), None)
    if spoiled is not None and spoiled.poison is not None and (spoiled.poison.reshape(-1)[active] != 0).any():
        raise undefined(access.op, f"an operand of an atomic op is poison: {_origin(spoiled)}")
    bits = np.zeros(count, access.dtype)
    given = [value.bits.reshape(-1) for value in operands]
    where: dict[int, tuple[Codes, int, mem.Memory]] = {}
    for _, memory, positions, places in access.parts(run, pointers, active, writes=True):
        if memory.ids is not None and np.frombuffer(memory.lost, np.uint8)[access.bytes_at(places)].any():
            raise undefined(access.op, f"an atomic op reads poison of {memory.source}")
        elements = access.elements(memory, access.dtype)
        pairs = zip(_as_array(positions).tolist(), _as_array(places).tolist(), strict=True)
        where.update((each, (elements, place, memory)) for each, place in pairs)
    unsure = np.full(count, inexact)
    for value in operands:
        if value.open is not None:
            own = np.broadcast_to(np.asarray(value.open), shape).reshape(-1)
            unsure |= own & np.uint8(Open.VALUE.value) != 0
    for each in _as_array(active).tolist():
        elements, place, memory = where[each]
        old = int(elements[place])
        bits[each] = old
        elements[place] = combine(old, [int(codes[each]) for codes in given])
        if unsure[each] and access.settings.track_open:
            if memory.open is None:
                memory.open = np.zeros(memory.size, np.uint8)
            memory.open[place * access.size] |= Open.VALUE.value
    marks = None
    if access.settings.track_open:
        marks = np.full(shape, Open.VALUE.value, np.uint8)
    return Value(type_, bits.reshape(shape), None, marks)


# --- addresses --------------------------------------------------------------------------------------------------------


def addresses(run: Run, pointers: Value, type_: ty.Type) -> Value:
    """Return the addresses of pointers."""
    codes = pointers.bits.reshape(-1, 2)
    memories = shared_of(run).memories
    bases = {
        int(number): mem.address_of(run, mem.Pointer(memories[int(number) - 1], 0) if number else mem.NULL)
        for number in np.unique(codes[:, 1])
    }
    starts = np.array([bases[int(number)] for number in codes[:, 1]], np.uint64)
    with np.errstate(over="ignore"):
        bits = (codes[:, 0] + starts).reshape(pointers.shape)
    return Value(type_, bits, pointers.poison, pointers.open, pointers.origins)


def pointers_at(run: Run, value: Value, type_: ty.Type) -> Value:
    """Return the pointers with some addresses, into allocations of which the program asked for an address before."""
    shared = shared_of(run)
    bits = np.zeros((*value.shape, 2), np.uint64)
    flat = bits.reshape(-1, 2)
    for number, address in enumerate(value.bits.reshape(-1)):
        memory, offset = mem.pointer_at(run, int(address))
        flat[number] = offset & mem.ADDRESS_MASK, shared.number_of(memory)
    return Value(type_, bits, value.poison, value.open, value.origins)
