"""Buffers: memrefs at run time. Also memory that is seen in another way: bytes as elements of any type, vectors as
other vectors.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from itertools import zip_longest
from math import prod
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from halfulp.fp_formats.formats import Codes
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.errors import HalfulpError, LimitExceeded, TypeMismatch, UndefinedBehavior, Unsupported
from halfulp.interp.ir.types import code_layout, element_width, shape_conflict, spell_shape
from halfulp.interp.values import memref_layout
from halfulp.interp.values.coerce import as_array, as_type
from halfulp.interp.values.elements import Marks
from halfulp.interp.values.spelling import spell_value
from halfulp.interp.values.value import Value, to_value
from halfulp.semantics.kernel import Origin, Origins, PoisonIds

MOST_BYTES = 1 << 28
"""The memory that one buffer may take unless a limit is given."""

CALLER = "the caller"
"""The source of memory that comes from outside the program."""

GAP = Origin("memory", "", "an element of memory between those of a buffer was never written")
"""The origin of poison in memory from outside."""


def vector_shape(element: ty.Type) -> tuple[int, ...]:
    """Return the shape of an element of memory that is a vector; () for any other."""
    return element.shape if isinstance(element, ty.VectorType) else ()


class Allocation:
    """A piece of memory that several buffers may view.

    bits: the codes of all elements, writable; one-dimensional, except for the axes of one element. poison: None, or the
    ids of the origins in the table ``origins``. open: None, or the mask of unspecified elements. source: the op that
    made it. freed: the op that freed it and its place; None while it can be used. constant: True if it must not be
    written. inner: the shape of an element that is a vector, else (); masks have these axes too. There is at least one
    element, so that the first place of an empty buffer lies inside.
    """

    __slots__ = ("bits", "constant", "freed", "inner", "log", "open", "origins", "poison", "source")

    def __init__(self, element: ty.Type, size: int, source: str = CALLER) -> None:
        scalable = isinstance(element, ty.VectorType) and any(element.scalable)
        if element_width(ty.number_type(element)) is None or scalable:
            raise Unsupported(f"halfulp does not run memory with elements of type '{element}'")
        dtype, trailing = code_layout(element)
        self.inner: tuple[int, ...] = vector_shape(element)
        self.bits: Codes = np.zeros((max(size, 1), *trailing), dtype)
        self.poison: PoisonIds | None = None
        self.open: Marks | None = None
        self.origins: Origins | None = None
        self.source: str = source
        self.freed: str | None = None
        self.log: WriteLog | None = None
        self.constant: bool = False

    def __setstate__(self, state: tuple[None, dict[str, Any]]) -> None:
        """Restore memory, also from a pickle without the later slots."""
        for name, value in ({"constant": False, "inner": (), "log": None} | state[1]).items():
            setattr(self, name, value)

    def __len__(self) -> int:
        return len(self.bits)

    @property
    def root(self) -> Allocation:
        """The memory itself; for a view of bytes, the memory of these bytes."""
        return self

    def freeze(self) -> None:
        """Forbid writes to the memory from now on."""
        self.constant = True
        self.bits.flags.writeable = False

    def spoil(self, origin: Origin, origins: Origins) -> None:
        """Make every element poison."""
        self.origins = origins
        self.poison = np.full((len(self), *self.inner), origins.id_of(origin), np.uint16)

    def adopted(self, origins: Origins) -> None:
        """From now on, use ``origins`` as the table of the ids of poison. All ids of one run have one table."""
        if self.poison is not None and self.origins is not None:
            self.poison = origins.adopt(self.poison, self.origins)
        self.origins = origins

    def ids_of(self, value: Value) -> PoisonIds | None:
        """Return the poison of a value with ids of this memory's table."""
        if value.poison is None or value.origins is self.origins:
            return value.poison
        if self.origins is None:
            self.origins = Origins()
        return value.poison if value.origins is None else self.origins.adopt(value.poison, value.origins)


@dataclass(frozen=True, slots=True, eq=False)
class Buffer:
    """A memref at run time: a strided view of memory that other buffers may view as well.

    ``offset`` and ``strides`` count elements of the ``allocation``; strides may be 0 or negative. ``swizzle``: the rule
    that moves the elements in memory, for the ops that load from the result of a swizzle hint or store to it
    (`halfulp.interp.values.memref_layout`). It needs a contiguous buffer. ``is_view``: True for a part of another
    buffer. ``mapped``: the places of the elements in memory, if strides cannot describe them; ``offset`` and
    ``strides`` then describe the array of these places.

    `from_numpy` makes a buffer from an array or value; `load` and `numpy` read it. After a run with the buffer as an
    argument, it has the elements that the program stored. Two runs must not use one buffer at the same time.

    Raises ValueError for elements outside the allocation.
    """

    type: ty.MemRefType
    allocation: Allocation
    offset: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    swizzle: memref_layout.Swizzle | None = None
    is_view: bool = False
    mapped: memref_layout.MapLayout | None = None

    def __setstate__(self, state: Sequence[Any]) -> None:
        """Restore a buffer, also one that was pickled before it had all of these fields."""
        for field, value in zip_longest(fields(self), state):
            object.__setattr__(self, field.name, value)

    def __post_init__(self) -> None:
        low, high = memref_layout.spanned(self.shape, self.strides, self.offset)
        if self.mapped is not None:
            low, high = 0, self.mapped.size
        if low < 0 or high > len(self.allocation):
            raise ValueError(
                f"the buffer has elements {low} to {high - 1} of memory with only {len(self.allocation)} elements"
            )

    @classmethod
    def allocate(
        cls, type_: ty.MemRefType, shape: tuple[int, ...], source: str = CALLER, symbols: Sequence[int] = ()
    ) -> Buffer:
        """Make a buffer with new memory, which is filled with zeros and exactly as large as the layout needs.

        ``symbols``: the dynamic numbers of the layout, as for `chosen_layout`. Raises Unsupported for layouts and
        elements that halfulp does not run.
        """
        strides, offset, size, mapped = laid_out(type_, shape, symbols)
        memory = Allocation(type_.element, size, source)
        return cls(type_, memory, offset, shape, strides, mapped=mapped)

    @classmethod
    def from_numpy(
        cls, data: npt.ArrayLike | Value | Buffer, type: ty.Type | str | None = None, *, max_bytes: int = MOST_BYTES
    ) -> Buffer:
        """Make a buffer with a copy of an array or value, or of the elements of another buffer.

        ``type``: the type of the memref with its layout (``"memref<2x3xf32, strided<[8, 1]>>"``), or of its elements;
        without it the type of the dtype or of the value. Elements lie one after the other if the layout has no strides;
        memory between elements is poison.
        ``max_bytes``: the limit on the memory.

        Raises TypeMismatch if dtype, shape or layout do not fit; Unsupported; LimitExceeded.
        """
        parsed = None if type is None else as_type(type)
        data = data.load() if isinstance(data, Buffer) else data
        if parsed is None:
            data = data if isinstance(data, Value) else Value.from_numpy(data)
            parsed = ty.MemRefType(data.shape, data.element_type)
        elif not isinstance(parsed, ty.ShapedType):
            parsed = ty.MemRefType(_shape_of(data, parsed), parsed)
        if not isinstance(parsed, ty.MemRefType):
            raise TypeMismatch(f"the buffer: '{parsed}' is neither a memref nor an element type")
        return buffer_of(data, parsed, "the buffer", max_bytes)

    @property
    def layout(self) -> tuple[tuple[int, ...], int]:
        """The strides and the offset."""
        return self.strides, self.offset

    @property
    def is_contiguous(self) -> bool:
        """True if the elements lie one after the other, the last index running fastest."""
        return self.strides == memref_layout.row_major(self.shape) and self.mapped is None

    def conflict(self, type_: ty.MemRefType) -> str | None:
        """Return why this buffer does not have a type with the same elements; None if it has."""
        return memref_layout.layout_conflict(type_, self.shape, self.layout, self.mapped)

    def as_type(self, type_: ty.MemRefType) -> Buffer:
        """Return the same view of the memory with another type, and without the swizzle."""
        return replace(self, type=type_, swizzle=None)

    def view(self) -> Codes:
        """Return the codes as a strided, writable view of the memory; if the layout has no strides, return a copy."""
        return self._strided(self.allocation.bits)

    @property
    def _steps(self) -> tuple[int, ...]:
        """The strides, with 0 for dimensions of at most one element, where ``strides`` may have any number."""
        return tuple([stride if size > 1 else 0 for size, stride in zip(self.shape, self.strides, strict=True)])

    @property
    def _start(self) -> int:
        """The offset; 0 if there are no elements, where ``offset`` may have any number."""
        return 0 if 0 in self.shape else self.offset

    def _strided(self, memory: npt.NDArray[Any]) -> npt.NDArray[Any]:
        shape = self.shape + memory.shape[1:]
        if 0 in self.shape:
            return np.empty(shape, memory.dtype)
        if self.mapped is not None:
            return np.asarray(memory[self.mapped.places])
        element = memory.strides[0]
        strides = tuple([stride * element for stride in self._steps]) + memory.strides[1:]
        # NumPy checks once more that all of it lies inside.
        return np.ndarray(shape, memory.dtype, memory, self.offset * element, strides)

    def places(self) -> npt.NDArray[np.int64]:
        """Return the place of each element in memory, counted in elements."""
        if self.mapped is not None:
            return self.mapped.places
        places = np.array(self._start, np.int64)
        for size, stride in zip(self.shape, self._steps, strict=True):
            places = places[..., np.newaxis] + np.arange(size, dtype=np.int64) * stride
        return places

    def places_at(self, indices: Sequence[Any]) -> npt.NDArray[np.int64]:
        """Return the places of the elements at some indices. The index in each dimension is a number, or an array of
        numbers, inside the shape.
        """
        if self.mapped is not None:
            return np.asarray(self.mapped.places[tuple(indices)])
        places = np.asarray(self._start, np.int64)
        for index, stride in zip(indices, self._steps, strict=True):
            places = places + index * stride
        return places

    def part(
        self, type_: ty.MemRefType, start: int, shape: tuple[int, ...], strides: tuple[int, ...], is_view: bool = True
    ) -> Buffer:
        """Return another view of the same memory, which begins at ``start`` and is not swizzled."""
        return Buffer(type_, self.allocation, start, shape, strides, None, is_view)

    def load(self, type: ty.Type | None = None, origins: Origins | None = None) -> Value:
        """Return a copy of the elements as a tensor, or as a value of ``type``.

        ``origins``: the table for the poison of the value; None for that of the memory.

        Raises UndefinedBehavior if the memory was freed.
        """
        memory = self._alive()
        if origins is not None and memory.origins is not origins:
            memory.adopted(origins)
        type = ty.contents_type(self.type, self.shape) if type is None else type
        poison = _masked(memory, memory.poison, self._strided)
        return Value(
            type,
            self.view().copy(),
            poison,
            _masked(memory, memory.open, self._strided),
            None if poison is None else memory.origins,
        )

    def first(self, count: int) -> Value:
        """Return a copy of the first ``count`` elements in row-major order as a tensor of rank 1; of all, if there are
        fewer.
        """
        numbers = np.unravel_index(np.arange(min(count, prod(self.shape))), self.shape)
        where = np.atleast_1d(self.places_at(numbers))
        memory = self._alive()
        return load_at(memory, where, ty.contents_type(self.type, (len(where),)), memory.origins or Origins())

    def poisoned(self) -> int:
        """Return the number of elements that are poison."""
        memory = self._alive()
        found = _masked(memory, memory.poison, self._strided)
        return 0 if found is None else int(np.count_nonzero(found))

    def numpy(self, *, poison: float | str = "raise", signed: bool | None = None) -> npt.NDArray[Any]:
        """Return a copy of the elements as an array of their dtype in NumPy or ml_dtypes.

        The options and errors are those of `Value.numpy`: an element that was never written is poison.
        """
        return self.load().numpy(poison=poison, signed=signed)

    def __array__(self, dtype: npt.DTypeLike | None = None, copy: bool | None = None) -> npt.NDArray[Any]:
        if copy is False:
            raise ValueError("the elements of a buffer are always copied: leave out copy=False")
        return self.load().__array__(dtype)

    def __array_ufunc__(self, called: np.ufunc, method: str, *operands: Any, **keywords: Any) -> Any:
        """Compute with the elements as a `Value`, as its ufuncs do."""
        return getattr(called, method)(*_loaded(operands), **keywords)

    def __array_function__(
        self, called: Callable[..., Any], types: Any, arguments: tuple[Any, ...], keywords: dict[str, Any]
    ) -> Any:
        """Call a function of NumPy with the elements as a `Value`."""
        return called(*_loaded(arguments), **{name: _loaded(each) for name, each in keywords.items()})

    def store(self, value: Value | Buffer | npt.ArrayLike, origins: Origins | None = None) -> None:
        """Store all elements of a value, array or buffer of the same shape in this buffer.

        If elements of the buffer share a place, the last one in row-major order stays. ``origins``: the table for
        poison in memory; None for that of the memory.

        Raises TypeMismatch for another shape or element type, UndefinedBehavior if the memory was freed.
        """
        held = ty.contents_type(self.type, self.shape)
        value = value.load() if isinstance(value, Buffer) else value
        if not isinstance(value, Value):
            value = _values_of(value, ty.MemRefType(self.shape, self.type.element), "what is stored")
        if value.shape != held.shape:
            raise TypeMismatch(
                f"a value of shape {spell_shape(value.shape)} does not fit a buffer of shape {spell_shape(self.shape)}"
            )
        if value.element_type != held.element:
            raise TypeMismatch(f"elements of type '{value.element_type}' do not fit a buffer of '{self.type.element}'")
        memory = self._alive()
        if self.mapped is not None or not memref_layout.is_injective(self.shape, self.strides):
            store_at(memory, self.places(), value, origins)
            return

        _write(memory, value, self._strided, ..., origins)

    def _alive(self) -> Allocation:
        memory = self.allocation
        if memory.freed is not None:
            raise UndefinedBehavior(f"the memory was freed by {memory.freed}")
        return memory

    def __repr__(self) -> str:
        held = "freed" if self.allocation.freed is not None else spell_value(self.load(), limit=60)
        return f"Buffer({self.type}, {held})"


def _loaded(given: Any) -> Any:
    """Return the arguments of a call of NumPy, with values in place of buffers."""
    if isinstance(given, Buffer):
        return given.load()
    return type(given)(map(_loaded, given)) if type(given) in (list, tuple) else given


def _masked(memory: Allocation, mask: Any, taken: Any) -> Any:
    """Copy part of a mask; None if nothing in it is set. If a mask has a row of bytes for each element, the bytes are
    joined.
    """
    if mask is None:
        return None
    part = taken(mask)
    if not part.any():
        return None
    if mask.ndim == 1 + len(memory.inner):
        return part.copy()
    return of_bytes(part)


def _agreed(marks: npt.NDArray[Any], unknown: complex) -> npt.NDArray[Any]:
    """Return the marks on which all bytes of each element agree; for bytes of several numbers, a mark that belongs to
    no number.
    """
    first = marks[..., 0]
    return np.where((marks == first[..., np.newaxis]).all(-1), first, marks.dtype.type(unknown))


_OF_BYTES: Mapping[np.dtype[Any], Callable[[npt.NDArray[Any]], npt.NDArray[Any]]] = {
    np.dtype(np.uint16): lambda ids: np.asarray(ids.max(-1)),
    np.dtype(np.uint8): lambda marks: np.asarray(np.bitwise_or.reduce(marks, -1)),
    np.dtype(np.int64): lambda ids: _agreed(ids, -1),
    np.dtype(np.complex128): lambda shadows: _agreed(shadows, complex(0, np.inf)),
    np.dtype(np.float64): lambda errors: _agreed(errors, np.nan),
}
"""What becomes of the marks of the bytes of an element: poison, unspecified elements, lineage, shadows."""


def of_bytes(marks: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return the marks of elements. ``marks``: those of the bytes of each element, along the last axis."""
    return _OF_BYTES[marks.dtype](marks)


def load_at(memory: Allocation, places: npt.NDArray[np.int64], type_: ty.Type, origins: Origins) -> Value:
    """Return a copy of the elements at these places of memory as a value of ``type_``. The memory must not have been
    freed. ``origins``: the table for the ids of poison.
    """
    if memory.origins is not origins:
        memory.adopted(origins)

    def taken(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
        return np.asarray(array.take(places, 0))  # a copy, also of one element of several words

    poison, open_ = _masked(memory, memory.poison, taken), _masked(memory, memory.open, taken)
    return Value(type_, taken(memory.bits), poison, open_, None if poison is None else origins)


def store_at(
    memory: Allocation,
    places: npt.NDArray[np.int64],
    value: Value,
    origins: Origins | None = None,
    atomic: bool = False,
) -> None:
    """Write the elements of a value to some places of memory that was not freed.

    If a place occurs several times, the last element stays. ``origins``: as for `Buffer.store`. ``atomic``: the write
    is not logged in a parallel loop.
    """

    _write(memory, value, _whole, places, origins, not atomic)


View = Callable[[npt.NDArray[Any]], npt.NDArray[Any]]


class WriteLog(Protocol):
    """A log of the elements that are written while a parallel loop runs."""

    def note(self, view: View, index: Any, differs: Any) -> None:
        """Record that elements are written, ``view(array)[index]`` of an array over the memory. ``differs``: the
        elements whose bits change.
        """


def _whole(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    return array


def _write(
    memory: Allocation, value: Value, view: View, index: Any, origins: Origins | None, logged: bool = True
) -> None:
    """Write the codes, the poison and the open mask of a value to ``view(array)[index]`` of each array of the memory.

    Raises UndefinedBehavior for constant memory.
    """
    if memory.constant:
        raise UndefinedBehavior(f"undefined behaviour: the memory of {memory.source} is constant, but is written")
    if origins is not None and memory.origins is not origins:
        memory.adopted(origins)
    ids = memory.ids_of(value)
    if logged and memory.log is not None:
        memory.log.note(view, index, _changes(memory, value, ids, view, index))
    view(memory.bits)[index] = value.bits
    memory.poison = _with_mask(memory, memory.poison, ids, view, index)
    memory.open = _with_mask(memory, memory.open, value.open, view, index)


def _changes(memory: Allocation, value: Value, ids: PoisonIds | None, view: View, index: Any) -> npt.NDArray[np.bool_]:
    """Return the elements whose bits change, or that are poison only before or only after."""
    different = np.asarray(view(memory.bits)[index] != value.bits)
    different = np.asarray(different.reshape((*value.shape, -1)).any(-1))
    before = False if memory.poison is None else view(memory.poison)[index] != 0
    before = before if np.ndim(before) <= len(value.shape) else np.asarray(before).any(-1)
    return np.asarray(different | (before != (False if ids is None else ids != 0)))


def _with_mask(memory: Allocation, mask: Any, part: Any, view: View, index: Any) -> Any:
    if part is None and mask is None:
        return None
    if mask is None:
        mask = np.zeros((len(memory), *memory.inner), part.dtype)
    elif part is not None and mask.dtype != part.dtype:
        mask = mask.astype(part.dtype)  # nothing was marked
    rows = mask.ndim > 1 + len(memory.inner)
    view(mask)[index] = 0 if part is None else part[..., np.newaxis] if rows else part
    return mask


# --- the boundary -----------------------------------------------------------------------------------------------------


def _shape_of(data: Any, element: ty.Type) -> tuple[int, ...]:
    """Return the shape of data for elements of a type, without the axis of limbs."""
    if isinstance(data, Value):
        return data.shape
    array = as_array(data, "the buffer")
    trailing = len(code_layout(element)[1]) if array.dtype == np.uint64 else 0
    return array.shape[: array.ndim - trailing]


def laid_out(
    type_: ty.MemRefType, shape: tuple[int, ...], symbols: Sequence[int] = ()
) -> tuple[tuple[int, ...], int, int, memref_layout.MapLayout | None]:
    """Choose the layout of new memory of a type: the strides, the offset, the size, and the map, if there is one.

    The parameters and errors are those of `chosen_layout`.
    """
    if memref_layout.is_mapped(type_):
        mapped = memref_layout.map_layout(type_, shape, symbols)
        return memref_layout.row_major(shape), 0, mapped.size, mapped
    strides, offset = memref_layout.chosen_layout(type_, shape, symbols)
    return strides, offset, memref_layout.spanned(shape, strides, offset)[1], None


def buffer_of(data: Any, type_: ty.MemRefType, what: str, max_bytes: int = MOST_BYTES) -> Buffer:
    """Make a buffer of a type with a copy of an array or value; ``what`` names it in errors.

    Raises TypeMismatch, Unsupported, LimitExceeded.
    """
    value = _values_of(data, type_, what)
    shape = value.shape[: len(value.shape) - len(vector_shape(type_.element))]
    try:
        strides, offset, high, mapped = laid_out(type_, shape)
    except HalfulpError as error:
        error.message = f"{what}: {error.message}"
        raise
    dtype, trailing = code_layout(type_.element)
    size = high * prod(trailing) * dtype.itemsize
    # An element that stands for many takes memory only here.
    bits = value.bits
    held = prod(count for count, step in zip(bits.shape, bits.strides, strict=True) if step) * bits.itemsize
    if size > max(max_bytes, held):
        raise LimitExceeded(
            f"{what}: the layout of '{type_}' spans {size} bytes; the limit is {max_bytes}",
            hint="raise the limit with max_bytes (--max-bytes)",
        )
    memory = Allocation(type_.element, high)
    if len(memory) > prod(shape):
        memory.spoil(GAP, Origins())
    buffer = Buffer(type_, memory, offset, shape, strides, mapped=mapped)
    buffer.store(value)
    if (mapped is not None or not memref_layout.is_injective(shape, strides)) and buffer.load(value.type) != value:
        raise TypeMismatch(
            f"{what}: '{type_}' puts several elements at one place, but the elements given for it differ"
        )
    return buffer


def _values_of(data: Any, type_: ty.MemRefType, what: str) -> Value:
    """Return data for a memref as a tensor; a value stays as it is."""
    tensor = ty.contents_type(type_)
    if not isinstance(data, Value):
        number = tensor.shape == () and isinstance(data, bool | int | float)
        try:
            return to_value(data, type_.element if number else tensor, what)
        except HalfulpError as error:
            error.message = error.message.replace(f"'{tensor}'", f"'{type_}'")
            raise
    conflict = shape_conflict(tensor, data.shape)
    if data.element_type != tensor.element:
        raise TypeMismatch(f"{what}: expected '{type_}', got '{data.type}'")
    if conflict:
        raise TypeMismatch(f"{what}: a value of shape {spell_shape(data.shape)} is not of type '{type_}'")
    return data


def to_argument(
    data: Any,
    type_: ty.Type,
    what: str,
    vscale: int | None = None,
    copy: bool = False,
    max_bytes: int = MOST_BYTES,
) -> Value | Buffer:
    """Return ``data`` as an argument of a program: a `Buffer` for a memref, else a `Value`; ``what`` names it.

    A buffer must fit the type, layout included, and is shared with the program; anything else is copied into a new
    buffer. Raises TypeMismatch, Unsupported, LimitExceeded.
    """
    if isinstance(type_, ty.MemRefType):
        return _given(data, type_, what) if isinstance(data, Buffer) else buffer_of(data, type_, what, max_bytes)
    if isinstance(data, Buffer):
        raise TypeMismatch(f"{what}: expected '{type_}', got a buffer of type '{data.type}'")
    return to_value(data, type_, what, vscale, copy)


def _given(buffer: Buffer, type_: ty.MemRefType, what: str) -> Buffer:
    if buffer.type.element != type_.element or buffer.type.memory_space not in (None, type_.memory_space):
        raise TypeMismatch(f"{what}: expected '{type_}', got a buffer of type '{buffer.type}'")
    conflict = buffer.conflict(type_)
    if conflict:
        raise TypeMismatch(f"{what}: {conflict}")
    return buffer if buffer.type == type_ else replace(buffer, type=type_)


# --- memory views -----------------------------------------------------------------------------------------------------
#
# Memory seen in another way: bytes as any elements, vectors as other vectors or numbers, all of it from a place on.


def bytes_of(element: ty.Type) -> int:
    """Return the number of bytes that an element takes in memory."""
    dtype, trailing = code_layout(element)
    return dtype.itemsize * prod(trailing)


class _Seen(Allocation):
    """Memory that shows another piece of memory, with its elements grouped in another way."""

    __slots__ = ("_base",)

    def __init__(self, base: Allocation) -> None:
        self._base = base
        self.log = None

    def _mask(self, mask: Any) -> Any:
        """Return a mask of the other memory as a writable view with a row for each element of this memory."""
        raise NotImplementedError

    @property
    def poison(self) -> Any:
        """The ids of the origins."""
        return None if self._base.poison is None else self._mask(self._base.poison)

    @poison.setter
    def poison(self, mask: Any) -> None:
        if self._base.poison is None:
            if mask is None:
                return
            self._base.poison = np.zeros((len(self._base), *self._base.inner), np.uint16)
        self.poison[...] = 0 if mask is None else mask

    @property
    def open(self) -> Any:
        """The mask of unspecified elements."""
        return None if self._base.open is None else self._mask(self._base.open)

    @open.setter
    def open(self, mask: Any) -> None:
        if mask is not None:
            if self._base.open is None:
                self._base.open = np.zeros((len(self._base), *self._base.inner), mask.dtype)
            elif self._base.open.dtype != mask.dtype:
                self._base.open = self._base.open.astype(mask.dtype)  # nothing was marked
            self.open[...] = mask

    @property
    def origins(self) -> Origins | None:
        """The table of the ids."""
        return self._base.origins

    @origins.setter
    def origins(self, origins: Origins | None) -> None:
        self._base.origins = origins

    @property
    def freed(self) -> str | None:  # type: ignore[override]
        """The op that freed the memory and its place; None while it can be used."""
        return self._base.freed

    @property
    def source(self) -> str:  # type: ignore[override]
        """The op that made the memory."""
        return self._base.source

    @property
    def constant(self) -> bool:  # type: ignore[override]
        """True if the memory must not be written."""
        return self._base.constant

    @property
    def root(self) -> Allocation:
        """The allocation itself, which is not a view."""
        return self._base.root

    def adopted(self, origins: Origins) -> None:
        """Use this table for the origins of poison from now on."""
        self._base.adopted(origins)


class Bytes(_Seen):
    """A part of memory of bytes, read and written as elements of another type.

    The masks of the memory have an entry for each byte; the masks here have a row of such entries for each element. An
    element is poison if one of its bytes is poison, and a write of the element writes the whole row. ``first``: the
    first byte of the memory.
    """

    __slots__ = ("_rows", "first")

    first: int

    def __init__(self, base: Allocation, first: int, element: ty.Type, count: int) -> None:
        """Make a view of ``count`` elements from the byte ``first`` of ``base``.

        Raises Unsupported for elements whose bytes have spare bits.
        """
        size = bytes_of(element)
        number = ty.number_type(element)
        width = 0 if isinstance(element, ty.VectorType) else ty.element_width(number) or 0
        if width * (1 + isinstance(element, ty.ComplexType)) != size * 8:
            raise Unsupported(f"halfulp does not run memory of bytes as elements of type '{element}'")
        if isinstance(base, Bytes):
            first += base.first
            base = base._base
        super().__init__(base)
        self.first = first
        self.inner = ()
        self._rows = (count, size)
        dtype, trailing = code_layout(element)
        self.bits = self._part(base.bits).view(dtype).reshape(count, *trailing)
        # The masks exist from now on, so that no element is read or written without them.
        if base.poison is None:
            base.poison = np.zeros(len(base), np.uint16)
        if base.open is None:
            base.open = np.zeros(len(base), np.uint8)

    def _part(self, array: Any) -> Any:
        count, size = self._rows
        return array[self.first : self.first + count * size]

    def _mask(self, mask: Any) -> Any:
        return self._part(mask).reshape(self._rows)


class Regrouped(_Seen):
    """Memory of vectors whose numbers are regrouped into other vectors, or into single numbers."""

    __slots__ = ()

    def __init__(self, base: Allocation, inner: tuple[int, ...]) -> None:
        super().__init__(base)
        self.inner = inner
        self.bits = base.bits.reshape(-1, *inner, *base.bits.shape[1 + len(base.inner) :])

    def _mask(self, mask: Any) -> Any:
        return mask.reshape(-1, *self.inner)


class MemoryFrom(_Seen):
    """A part of memory that begins at one of its elements."""

    __slots__ = ("_first",)

    def __init__(self, base: Allocation, first: int) -> None:
        super().__init__(base)
        self.inner = base.inner
        self.bits = base.bits[first:]
        self._first = first

    def _mask(self, mask: Any) -> Any:
        return mask[self._first :]


def copies_of(arguments: Sequence[Any]) -> list[Any]:
    """Return arguments with copies of their memory, in which two arguments with the same memory have the same again."""
    memo: dict[int, Any] = {}
    known: dict[int, Any] = {}
    copies = []
    for each in arguments:
        if isinstance(each, Buffer):
            memory = each.allocation
            copied = known.setdefault(int(memory.bits.__array_interface__["data"][0]), copy.deepcopy(memory, memo))
            memo.setdefault(id(memory), copied)
            each = copy.deepcopy(each, {**memo, id(memory): copied})
        copies.append(each)
    return copies
