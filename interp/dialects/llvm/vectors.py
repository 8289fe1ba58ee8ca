"""The llvm dialect's ops on vectors: elements, shuffles, reductions, and masked access of memory.

An element at a place outside of a vector is poison, as LLVM says. Elements that a mask leaves out are not accessed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from halfulp.fp_formats.formats import codes_to_ints
from halfulp.interp.dialects.arith.ops import FASTMATH
from halfulp.interp.dialects.elements import picked, poisoned, repeated, replaced, stacked
from halfulp.interp.dialects.llvm import memory_encoding
from halfulp.interp.dialects.llvm.access import accessible, alignment_of, lane_of, one_pointer, pointer_alignment
from halfulp.interp.dialects.llvm.kernels import fastmath_of
from halfulp.interp.dialects.llvm.memory import Pointer, born, poison_of
from halfulp.interp.dialects.llvm.memory_encoding import contents_of
from halfulp.interp.dialects.vector import moves
from halfulp.interp.dialects.vector.moves import integers, static_shape
from halfulp.interp.dialects.vector.reductions import Combination
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.errors import Unsupported
from halfulp.interp.ir.operations import Operation, undefined, unsupported
from halfulp.interp.run.frames import Function, Run, lift, lower
from halfulp.interp.run.settings import Settings
from halfulp.interp.values.value import Value, retyped

Slots = Sequence[Any]


# --- elements ---------------------------------------------------------------------------------------------------------


def _place(position: Value, vector: Value) -> tuple[int, ...] | None:
    """Return the index of an element; None for one outside, or for poison."""
    if position.poison is not None:
        return None
    (index,) = codes_to_ints(position.bits, ty.width_of(position.type))
    return (index,) if index < vector.shape[0] else None


_OUTSIDE = "the position is poison, or outside of the vector"


def extract(op: Operation, settings: Settings) -> Function:
    """Return the function that runs extractelement."""
    type_ = op.results[0].type
    one_pointer(op, op.operands[0].type)

    def take(run: Run, operands: Slots) -> tuple[Any, ...]:
        vector, position = operands
        place = _place(position, vector)
        if place is None:
            return (poisoned(op, run, settings, type_, _OUTSIDE),)
        return (picked(vector, place, type_),)

    return take


def insert(op: Operation, settings: Settings) -> Function:
    """Return the function that runs insertelement."""
    type_ = op.results[0].type
    one_pointer(op, type_)

    def put(run: Run, operands: Slots) -> tuple[Any, ...]:
        vector, value, position = operands
        place = _place(position, vector)
        if place is None:
            return (poisoned(op, run, settings, type_, _OUTSIDE),)
        return (replaced(run, vector, place, value),)

    return put


def shuffle(op: Operation, settings: Settings) -> Function:
    """Return the function that runs shufflevector. A place of -1 in the mask is poison. Scalable vectors have only
    zeros in the mask, which repeat the first element. Raises Unsupported for a result that is not as long as the mask,
    and for an index outside both vectors: MLIR accepts them, LLVM does not.
    """
    source, type_ = op.operands[0].type, op.results[0].type
    assert isinstance(source, ty.VectorType)
    one_pointer(op, type_)
    mask = integers(op.properties["mask"])
    if type_ != ty.VectorType((len(mask),), source.element, source.scalable):
        raise unsupported(op, f"the shuffle of '{source}' by a mask of {len(mask)} places does not give '{type_}'")
    if source.scalable:
        shape = static_shape(type_, settings)
        return lambda run, operands: (repeated(picked(operands[0], (0,), source.element), shape, type_),)
    count = 2 * (ty.element_count(op.operands[0].type) or 0)
    outside = next((place for place in mask if not -1 <= place < count), None)
    if outside is not None:
        raise unsupported(op, f"the place {outside} in the mask is outside of the {count} elements of both vectors")
    return moves.shuffle(op, settings)


def vscale(op: Operation, settings: Settings) -> Function:
    """Return the function that runs vscale, the factor in the sizes of scalable vectors; it is poison if the result
    type cannot represent it.
    """
    type_ = op.results[0].type
    if not isinstance(type_, ty.IntegerType):
        raise Unsupported(f"halfulp does not run {op.name} of type '{type_}'", location=op.location, op=op.name)

    def multiple(run: Run, slots: Slots) -> tuple[Any, ...]:
        found = moves.vscale_of(op, settings)
        if found.bit_length() > type_.width:
            return (poison_of(type_, born(op, run, f"{found} has more than {type_.width} bits"), run),)
        return (found,)

    return multiple


# --- reductions -------------------------------------------------------------------------------------------------------

_KINDS: Mapping[str, str] = {
    **{name: name for name in ("add", "mul", "and", "or", "xor")},
    "smax": "maxsi", "smin": "minsi", "umax": "maxui", "umin": "minui",
    "fadd": "add", "fmul": "mul", "fmax": "maxnumf", "fmin": "minnumf", "fmaximum": "maximumf",
    "fminimum": "minimumf",
}  # fmt: skip
"""The kinds of the vector dialect by the last words of the intrinsics."""
_REASSOC = 1


def reduce(op: Operation, settings: Settings) -> Function:
    """Return the function that runs a reduction: it takes the start value, if there is one, and then the elements from
    first to last. Only the flag ``reassoc`` permits another order.
    """
    type_, kind = op.results[0].type, _KINDS[op.name.rpartition(".")[2]]
    flags = fastmath_of(op) if isinstance(type_, ty.FloatType) else 0
    properties = {"fastmath": FASTMATH.attribute(flags)} if isinstance(type_, ty.FloatType) else {}
    order = settings.profile.reduction_order if flags & _REASSOC else "sequential"
    combination = Combination(op, kind, type_, settings, order, properties)

    def reduced(run: Run, operands: Slots) -> tuple[Any, ...]:
        *start, vector = operands
        rows = Value(
            ty.TensorType(vector.shape, vector.element_type), vector.bits, vector.poison, vector.open, vector.origins
        )
        found = combination.fold(run, start[0] if start else None, rows)
        return (retyped(found, type_),)

    return reduced


# --- masked access ----------------------------------------------------------------------------------------------------


def _lanes(op: Operation, run: Run, slot: Any, type_: ty.Type) -> npt.NDArray[np.intp]:
    """Return the places that a mask names. Raises UndefinedBehavior for poison."""
    mask: Value = lift(slot, type_)
    if mask.poison is not None:
        raise undefined(op, f"the mask is poison: {mask.origin(*np.argwhere(mask.poisoned)[0])}")
    return np.flatnonzero(mask.bits)


_PACKED = {"llvm.intr.masked.expandload": 0, "llvm.intr.masked.compressstore": 1}
"""The ops whose elements lie one after the other in memory, with the number of their pointer."""


class _Lanes:
    """The elements of vectors of one type in memory, one by one.

    Elements of fewer bits than a byte take one byte each, as in LLVM's expansion of masked access
    (ScalarizeMaskedMemIntrin in LLVM 22, at -O0 and -O2 on x86). In vectors that are loaded whole they follow each
    other bit by bit.
    """

    def __init__(self, op: Operation, type_: ty.Type) -> None:
        self.element = ty.element_type(type_)
        self.step = memory_encoding.size_of(self.element)
        self.size = memory_encoding.stored_bytes(self.element)
        self.read, self.write = contents_of(self.element)
        self.packed = op.name in _PACKED
        self.alignment = pointer_alignment(op, _PACKED[op.name]) if self.packed else alignment_of(op, self.element)
        if self.size != self.step:
            raise unsupported(op, f"halfulp does not run vectors of '{self.element}'")
        types = op.types
        vectors = [each for each in types if isinstance(each, ty.VectorType)]
        if len({(each.shape, each.scalable) for each in vectors}) > 1 or (op.results and {*types[2:]} != {type_}):
            spelt = ", ".join(f"'{each}'" for each in vectors)
            raise unsupported(op, f"the vectors {spelt} do not fit")

    def places(self, op: Operation, run: Run, slot: Any, lanes: Sequence[int], write: bool = False) -> list[Pointer]:
        """Return the places of some elements, from one pointer or from one for each. Elements of a packed access lie
        one after the other.
        """
        if self.packed:
            lanes = range(len(lanes))
        if isinstance(slot, Value) and slot.shape:
            found = [lane_of(run, slot, lane) for lane in lanes]
            return [accessible(op, run, each, self.size, self.alignment, write) for each in found]
        if not len(lanes):
            return []
        if slot.__class__ is not Pointer:
            return [accessible(op, run, slot, 0)]
        memory, start = slot
        aligned = accessible(op, run, Pointer(memory, start + lanes[0] * self.step), self.size, 1, write)
        if (memory.alignment + start) % self.alignment:
            accessible(op, run, Pointer(memory, start), 0, self.alignment, write)
        rest = [Pointer(memory, start + lane * self.step) for lane in lanes[1:]]
        return [aligned, *(accessible(op, run, each, self.size, 1, write) for each in rest)]


def load(op: Operation, settings: Settings) -> Function:
    """Return the function that runs masked.load, masked.gather and masked.expandload. Lanes that are left out have the
    elements of the last operand.
    """
    type_, mask_type = op.results[0].type, op.operands[1].type
    each = _Lanes(op, type_)

    def load_lanes(run: Run, slots: Slots) -> tuple[Any, ...]:
        lanes = _lanes(op, run, slots[1], mask_type).tolist()
        if len(slots) > 2:
            whole: Value = lift(slots[2], type_)
        else:
            whole = poisoned(op, run, settings, type_, "the mask leaves the element out")
        if not lanes:
            return (whole,)
        places = each.places(op, run, slots[0], lanes)
        found = tuple([lift(each.read(run, memory, at), each.element) for memory, at in places])
        part = stacked(run, found, (len(lanes),), ty.VectorType((len(lanes),), each.element))
        return (replaced(run, whole, (np.array(lanes),), part),)

    return load_lanes


def store(op: Operation, settings: Settings) -> Function:
    """Return the function that runs masked.store, masked.scatter and masked.compressstore. If several lanes write to
    one place, the last one stays.
    """
    type_, mask_type = op.operands[0].type, op.operands[2].type
    each = _Lanes(op, type_)

    def store_lanes(run: Run, slots: Slots) -> tuple[Any, ...]:
        lanes = _lanes(op, run, slots[2], mask_type).tolist()
        value: Value = lift(slots[0], type_)
        places = each.places(op, run, slots[1], lanes, write=True)
        for lane, (memory, at) in zip(lanes, places, strict=True):
            each.write(run, memory, at, lower(picked(value, (lane,), each.element)))
        return ()

    return store_lanes
