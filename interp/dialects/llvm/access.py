"""Loads, stores and addresses of the llvm dialect.

These accesses are undefined behaviour: outside of an allocation, through a pointer without an allocation, to freed
memory, at an address that is not a multiple of the alignment, through a poison pointer; and writes to constant memory.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from struct import Struct
from typing import Any, NamedTuple

import numpy as np

from halfulp.interp.dialects.elementwise import is_power_of_two
from halfulp.interp.dialects.llvm import memory as mem
from halfulp.interp.dialects.llvm import memory_encoding
from halfulp.interp.dialects.llvm import types as llvm
from halfulp.interp.dialects.llvm.forms import DYNAMIC
from halfulp.interp.dialects.llvm.memory_encoding import contents_of
from halfulp.interp.ir import attributes as at
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.base import narrowed
from halfulp.interp.ir.operations import Operation, undefined, unsupported
from halfulp.interp.run.frames import Function, Run, lift
from halfulp.interp.run.settings import Settings
from halfulp.interp.values.value import Value

Slots = Sequence[Any]
_WORDS = {8: Struct("<B"), 16: Struct("<H"), 32: Struct("<I"), 64: Struct("<Q")}
"""How numbers that fill their bytes are read and written at once."""


def one_pointer(op: Operation, type_: ty.Type) -> None:
    """Raise Unsupported for vectors of pointers."""
    if isinstance(type_, ty.VectorType) and isinstance(type_.element, llvm.PointerType):
        raise unsupported(op, "halfulp does not run vectors of pointers")


def lane_of(run: Run, vector: Value, lane: int) -> Any:
    """Return one element of a vector of pointers or of numbers of at most 64 bits, as a slot holds it."""
    if vector.poison is not None and vector.poison[lane]:
        return mem.poison_of(vector.element_type, int(vector.poison[lane]), run)
    code = vector.bits[lane]
    return code if code.__class__ is mem.Pointer else int(code)


def _of_lanes(run: Run, type_: ty.Type, slots: Sequence[Any]) -> Value:
    """Return a vector of pointers."""
    held = np.empty(len(slots), object)
    ids = np.zeros(len(slots), np.uint16)
    for lane, slot in enumerate(slots):
        if slot.__class__ is mem.Pointer:
            held[lane] = slot
        else:
            held[lane], ids[lane] = mem.NULL, int(slot.poison)
    return Value(type_, held, ids if ids.any() else None, None, run.origins if ids.any() else None)


# --- what may be accessed ---------------------------------------------------------------------------------------------


def described(run: Run, pointer: mem.Pointer) -> str:
    """Return a text that describes where a pointer points, for an error."""
    memory, offset = pointer
    if memory is mem.NOWHERE:
        return f"the address {mem.address_of(run, pointer):#x}" if offset else "null"
    return f"byte {offset} of the {memory.size} bytes of {memory.source}"


def accessible(
    op: Operation, run: Run, slot: Any, size: int, alignment: int = 1, write: bool = False, what: str = "the pointer"
) -> mem.Pointer:
    """Return the pointer in a slot, after a check that ``size`` bytes may be accessed through it. Raises
    UndefinedBehavior if they may not. ``what``: the name of the pointer in the error.
    """
    if slot.__class__ is not mem.Pointer:
        raise undefined(op, f"{what} is poison: {slot.origin()}")
    pointer: mem.Pointer = slot
    reason = inaccessible(run, pointer, size, what) or unaligned(
        run, pointer, alignment, f"an access that is aligned to {alignment} bytes"
    )
    if reason is not None:
        raise undefined(op, reason)
    if write and pointer.memory.constant:
        raise undefined(op, f"the memory of {pointer.memory.source} is constant, but is written")
    return pointer


def inaccessible(run: Run, pointer: mem.Pointer, size: int, what: str = "the pointer") -> str | None:
    """Return why ``size`` bytes may not be accessed through a pointer; None if they may be. ``what``: the name of the
    pointer.
    """
    memory, offset = pointer
    if memory.freed is not None:
        return f"{what} is to {described(run, pointer)}, which was freed by {memory.freed}"
    if memory.function is not None:
        return f"{what} is to a function: {described(run, pointer)}"
    if offset < 0 or offset + size > memory.size:
        reason = "belongs to no allocation" if memory is mem.NOWHERE else "leaves the allocation"
        return f"an access of {size} bytes at {described(run, pointer)} {reason}"
    return None


def unaligned(run: Run, pointer: mem.Pointer, alignment: int, what: str) -> str | None:
    """Return the text of an error if a pointer is perhaps not a multiple of an alignment; None if it certainly is."""
    memory, offset = pointer
    start = offset if memory is mem.NOWHERE else memory.alignment + offset
    if not start % alignment:
        return None
    return f"{what} is at {described(run, pointer)}, whose alignment is {start & -start}"


def alignment_of(op: Operation, type_: ty.Type) -> int:
    """Return the alignment of an access: the alignment that the op states, else that of the type."""
    stated = op.properties.get("alignment")
    return stated.value if isinstance(stated, at.IntegerAttr) and stated.value else memory_encoding.alignment_of(type_)


def pointer_alignment(op: Operation, operand: int) -> int:
    """Return the alignment that the attribute of an argument states; 1 without one. Raises Unsupported."""
    given = op.properties.get("arg_attrs")
    attributes = given.elements[operand : operand + 1] if isinstance(given, at.ArrayAttr) else ()
    mapping = attributes[0].mapping if attributes and isinstance(attributes[0], at.DictionaryAttr) else {}
    stated = mapping.get("llvm.align")
    if not isinstance(stated, at.IntegerAttr):
        return 1
    if not is_power_of_two(stated.value):
        raise unsupported(op, f"halfulp does not run 'align' of {stated.value} bytes")
    return stated.value


def _word(type_: ty.Type) -> Struct | None:
    return _WORDS.get(memory_encoding.bits_of(type_)) if isinstance(type_, ty.IntegerType | ty.FloatType) else None


def load(op: Operation, settings: Settings) -> Function:
    """Return the function that runs llvm.load. A clean number is returned as an integer, and not as a `Value`."""
    type_ = op.results[0].type
    alignment, size = alignment_of(op, type_), memory_encoding.stored_bytes(type_)
    read, word, low = contents_of(type_)[0], _word(type_), alignment - 1
    aligned = not alignment & low

    def load_any(run: Run, slots: Slots) -> tuple[Any, ...]:
        memory, place = accessible(op, run, slots[0], size, alignment)
        return (read(run, memory, place),)

    if word is None or not aligned:
        return load_any
    unpack = word.unpack_from

    def load_word(run: Run, slots: Slots) -> tuple[Any, ...]:
        pointer = slots[0]
        if pointer.__class__ is mem.Pointer:
            memory, place = pointer
            inside = 0 <= place <= memory.end - size and not memory.alignment + place & low
            if inside and memory.open is None and not unpack(memory.lost, place)[0]:
                return unpack(memory.data, place)
        return load_any(run, slots)

    return load_word


def store(op: Operation, settings: Settings) -> Function:
    """Return the function that runs llvm.store."""
    type_ = op.operands[0].type
    alignment, size = alignment_of(op, type_), memory_encoding.stored_bytes(type_)
    write, word, low = contents_of(type_)[1], _word(type_), alignment - 1
    aligned = not alignment & low

    def store_any(run: Run, slots: Slots) -> tuple[Any, ...]:
        memory, place = accessible(op, run, slots[1], size, alignment, write=True)
        write(run, memory, place, slots[0])
        return ()

    if word is None or not aligned:
        return store_any
    pack = word.pack_into

    def store_word(run: Run, slots: Slots) -> tuple[Any, ...]:
        value, pointer = slots
        if value.__class__ is int and pointer.__class__ is mem.Pointer:
            memory, place = pointer
            inside = 0 <= place <= memory.end - size and not memory.alignment + place & low
            if inside and memory.open is None and not memory.constant:
                pack(memory.data, place, value)
                pack(memory.lost, place, 0)
                return ()
        return store_any(run, slots)

    return store_word


# --- addresses --------------------------------------------------------------------------------------------------------

_INBOUNDS, _NUSW, _NUW = 1, 2, 4
_FAR = 1 << 62
"""Offsets up to here are added without a thought of 2**64."""


def _signed(code: int) -> int:
    return (code + (1 << 63) & mem.ADDRESS_MASK) - (1 << 63)


class _Step(NamedTuple):
    """What one index of getelementptr adds: ``fixed`` bytes, or ``scale`` bytes times the number in the operand with
    the number ``operand``, which has ``width`` bits.
    """

    fixed: int = 0
    operand: int = 0
    width: int = 0
    scale: int = 1


def _steps(op: Operation) -> list[_Step]:
    """Return the steps of getelementptr in their order."""
    raw = op.prop("rawConstantIndices", at.DenseArrayAttr)
    element = op.prop("elem_type", at.TypeAttr)
    type_, scale = element.type, memory_encoding.size_of(element.type)
    steps: list[_Step] = []
    operand = 0
    for depth, index in enumerate(raw.values):
        if depth:
            if isinstance(type_, llvm.StructType):
                steps.append(_Step(memory_encoding.offsets_of(type_)[index]))
                type_ = (type_.body or ())[index]
                continue
            assert isinstance(type_, llvm.ArrayType | ty.VectorType)
            type_ = type_.element
            scale = memory_encoding.size_of(type_)
        if index == DYNAMIC:
            operand += 1
            steps.append(_Step(0, operand, ty.width_of(ty.element_type(op.operands[operand].type)), scale))
        else:
            steps.append(_Step(index * scale))
    return steps


def element_pointer(op: Operation, settings: Settings) -> Function:
    """Return the function that runs getelementptr. With inbounds, a pointer that leaves its allocation is poison, even
    if a later index brings it back. With nusw and nuw, a pointer whose computation wraps is poison.
    """
    if isinstance(op.results[0].type, ty.VectorType):
        return _element_pointers(op, settings)
    return _element_pointer(op, settings)


def _element_pointers(op: Operation, settings: Settings) -> Function:
    """Return the function that runs getelementptr for a vector of pointers. An operand that is not a vector is used for
    all of them.
    """
    type_, one = narrowed(op.results[0].type, ty.VectorType), _element_pointer(op, settings)
    (count,) = type_.shape

    def addresses(run: Run, slots: Slots) -> tuple[Any, ...]:
        vectors = [isinstance(value.type, ty.VectorType) for value in op.operands]
        found = []
        for lane in range(count):
            each = [lane_of(run, slot, lane) if vector else slot for slot, vector in zip(slots, vectors, strict=True)]
            found.append(one(run, tuple(each))[0])
        return (_of_lanes(run, type_, found),)

    return addresses


def _element_pointer(op: Operation, settings: Settings) -> Function:
    """Return the function that runs getelementptr on one pointer and one number for each index."""
    strict = op.number("noWrapFlags") if settings.profile.keeps_integer_flags else 0
    steps = _steps(op)
    moving = [step for step in steps if step.operand]
    start, backward = sum(step.fixed for step in steps), any(step.fixed < 0 for step in steps)
    type_ = ty.element_type(op.results[0].type)

    def any_address(run: Run, slots: Slots) -> tuple[Any, ...]:
        for slot in slots:
            if slot.__class__ is not int and slot.__class__ is not mem.Pointer:
                given: Value = slot
                if given.poison is not None:
                    return (mem.poison_of(type_, int(given.poison), run),)
        pointer: mem.Pointer = slots[0]
        terms = [
            (_number(slots[step.operand], step), step.scale) if step.operand else (step.fixed, 1) for step in steps
        ]
        reason = _wraps(run, pointer, terms, strict)
        total = _signed(sum(_signed(index) * scale for index, scale in terms))
        moved = mem.Pointer(pointer.memory, _signed(pointer.offset + total))
        if reason is None and strict & _INBOUNDS:
            reason = _leaves(run, pointer, terms)
        if reason is not None:
            return (mem.poison_of(type_, mem.born(op, run, reason), run),)
        return (moved,)

    if not moving:

        def constant_address(run: Run, slots: Slots) -> tuple[Any, ...]:
            pointer = slots[0]
            if pointer.__class__ is mem.Pointer:
                memory, offset = pointer
                if 0 <= offset <= memory.end and 0 <= offset + start <= memory.end and not backward:
                    return (mem.Pointer(memory, offset + start),)
            return any_address(run, slots)

        return constant_address
    if len(steps) > 1:
        return any_address
    ((_, _, width, scale),) = steps
    half, whole = 1 << width >> 1, 1 << width

    def address(run: Run, slots: Slots) -> tuple[Any, ...]:
        pointer, index = slots
        if pointer.__class__ is mem.Pointer and index.__class__ is int:
            memory, offset = pointer
            if index < half:
                offset += index * scale
                if pointer[1] >= 0 and offset <= (memory.end if strict else _FAR):
                    return (_new(mem.Pointer, (memory, offset)),)
            elif not strict:
                offset += (index - whole) * scale
                if -_FAR < offset < _FAR:
                    return (mem.Pointer(memory, offset),)
        return any_address(run, slots)

    return address


_new: Callable[..., mem.Pointer] = tuple.__new__
"""Makes a `Pointer` in half of the time."""


def _number(slot: Any, step: _Step) -> int:
    """Return the index in a slot, read as signed."""
    code = slot if slot.__class__ is int else int(lift(slot, ty.I64).bits)
    half = 1 << step.width >> 1
    return (code ^ half) - half


def _leaves(run: Run, pointer: mem.Pointer, terms: Sequence[tuple[int, int]]) -> str | None:
    """Say which step of an address breaks the rule of inbounds; None if none does. Steps of 0 bytes are always allowed.

    Source: LLVM's language reference, getelementptr: the pointer "must remain in bounds" at each addition.
    """
    memory, offset = pointer
    moved, usable = offset, memory is not mem.NOWHERE and memory.freed is None
    for index, scale in terms:
        moved += index * scale
        if moved != offset and not (usable and 0 <= offset <= memory.size and 0 <= moved <= memory.size):
            return f"inbounds: the pointer moves from {described(run, pointer)} by {moved - offset} bytes"
    return None


def _wraps(run: Run, pointer: mem.Pointer, terms: Sequence[tuple[int, int]], strict: int) -> str | None:
    """Say which rule of nusw or nuw an address breaks; None if it breaks none."""
    if not strict:
        return None
    signed = unsigned = 0
    for index, scale in terms:
        product, plain = index * scale, (index & mem.ADDRESS_MASK) * scale
        signed, unsigned = signed + product, unsigned + plain
        for number in (product, signed) if strict & _NUSW else ():
            if not -(1 << 63) <= number < 1 << 63:
                return f"nusw: {number} bytes do not fit in a signed number of 64 bits"
        for number in (plain, unsigned) if strict & _NUW else ():
            if number > mem.ADDRESS_MASK:
                return f"nuw: {number} bytes do not fit in an unsigned number of 64 bits"
    address = mem.address_of(run, pointer)
    if strict & _NUSW and not 0 <= address + signed <= mem.ADDRESS_MASK:
        return f"nusw: {described(run, pointer)} and {signed} bytes wrap around"
    if strict & _NUW and address + unsigned > mem.ADDRESS_MASK:
        return f"nuw: {described(run, pointer)} and {signed} bytes wrap around"
    return None


# --- integers and comparisons -----------------------------------------------------------------------------------------


def to_integer(op: Operation, settings: Settings) -> Function:
    """Return the function that runs ptrtoint: the address, truncated or extended with zeros."""
    one_pointer(op, op.operands[0].type)
    type_ = op.results[0].type
    mask = (1 << ty.width_of(type_)) - 1

    def convert(run: Run, slots: Slots) -> tuple[Any, ...]:
        (slot,) = slots
        if slot.__class__ is mem.Pointer:
            return (mem.address_of(run, slot) & mask,)
        return (mem.poison_of(type_, int(slot.poison), run),)

    return convert


def to_pointer(op: Operation, settings: Settings) -> Function:
    """Return the function that runs inttoptr: a pointer into the allocation at that address, if the program asked for
    an address of it before.
    """
    type_, given = op.results[0].type, op.operands[0].type
    one_pointer(op, type_)

    def convert(run: Run, slots: Slots) -> tuple[Any, ...]:
        (slot,) = slots
        if slot.__class__ is int:
            return (mem.pointer_at(run, slot & mem.ADDRESS_MASK),)
        value: Value = lift(slot, given)
        if value.poison is not None:
            return (mem.poison_of(type_, int(value.poison), run),)
        return (mem.pointer_at(run, int(np.ravel(value.bits)[0])),)

    return convert


_COMPARED: Mapping[int, Callable[[int, int], bool]] = dict(
    enumerate((operator.eq, operator.ne, operator.lt, operator.le, operator.gt, operator.ge))
)
"""Comparisons by the number of the signed predicate; the unsigned ones are 4 higher, except eq and ne."""


def compare(op: Operation, settings: Settings) -> Function:
    """Return the function that runs icmp of pointers: it compares their addresses."""
    one_pointer(op, op.operands[0].type)
    predicate = op.prop("predicate", at.IntegerAttr)
    signed = predicate.value < 6
    holds = _COMPARED[predicate.value if signed else predicate.value - 4]

    def comparing(run: Run, slots: Slots) -> tuple[Any, ...]:
        for slot in slots:
            if slot.__class__ is not mem.Pointer:
                return (mem.poison_of(ty.I1, int(slot.poison), run),)
        addresses = [mem.address_of(run, slot) for slot in slots]
        if signed:
            addresses = [_signed(address) for address in addresses]
        return (int(holds(*addresses)),)

    return comparing
