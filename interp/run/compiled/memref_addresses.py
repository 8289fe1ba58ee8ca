"""Memrefs inside of compiled code: addresses, sizes and strides."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from halfulp.fp_formats.paths.emitter import Emitter, natural
from halfulp.fp_formats.paths.words import Word
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.types import element_width
from halfulp.interp.run.compiled.limits import NotCompiled
from halfulp.interp.values.memref_layout import is_mapped


def rank_of(type_: ty.MemRefType) -> int:
    """Return the rank of a memref that code can address. Raises NotCompiled for any other."""
    width = element_width(type_.element) if not isinstance(type_.element, ty.ShapedType) else None
    scalar = isinstance(type_.element, ty.IntegerType | ty.FloatType | ty.IndexType)
    if type_.shape is None or not scalar or width is None or not 0 < width <= 64 or is_mapped(type_):
        raise NotCompiled(f"memory of type '{type_}'")
    return len(type_.shape)


@dataclass(frozen=True, slots=True)
class Memref:
    """A memref inside of code. Its offset, sizes and strides count elements."""

    emit: Emitter
    type: ty.MemRefType
    #: The address of its memory.
    base: Any
    #: The address of the poison of its memory; 0 for memory without.
    poison: Any
    offset: Word
    sizes: tuple[Word, ...]
    strides: tuple[Word, ...]
    #: A word of one bit, 1 if the memory must not be written.
    constant: Any

    @staticmethod
    def of(emit: Emitter, type_: ty.MemRefType, parts: Sequence[Any]) -> Memref:
        """Make a memref of its `parts`. Sizes that the type knows are constants."""
        base, poison, constant, offset, *rest = parts
        rank = len(rest) // 2
        assert type_.shape is not None
        sizes = tuple(
            emit.word(held) if size is None else emit.number(size)
            for held, size in zip(rest[:rank], type_.shape, strict=True)
        )
        return Memref(emit, type_, base, poison, emit.word(offset), sizes, tuple(map(emit.word, rest[rank:])), constant)

    def parts(self) -> list[Any]:
        """Return the parts in which a memref is passed, as `of` takes them."""
        numbers = (self.offset, *self.sizes, *self.strides)
        return [self.base, self.poison, self.constant, *(number.held for number in numbers)]

    def index(self, indices: Sequence[Word]) -> Word:
        """Return the place of an element in memory. The run stops where an index is outside."""
        for index, size in zip(indices, self.sizes, strict=True):
            # A negative index is a large code.
            self.emit.stop_if((~index.less(size, signed=False)).held)
        return self.start(indices)

    def start(self, indices: Sequence[Word]) -> Word:
        """Return the place of what indices name, which may be outside."""
        place = self.offset
        for index, stride in zip(indices, self.strides, strict=True):
            place = place + index * stride
        return place

    def moved(self, place: Word, steps: Sequence[tuple[int, int]]) -> Word:
        """Return a place that lies so many elements further on. ``steps``: for some dimensions, their numbers."""
        for dimension, count in steps:
            place = place + self.strides[dimension] * count
        return place

    def load(self, place: Word, width: int) -> Word:
        """Return the element at a place in memory. The run stops where it is poison."""
        emit = self.emit
        with self._where_poison_may_be():
            emit.stop_if(emit.relation("!=", emit.load(self.poison, place.held, 16), emit.constant(0, 16)))
        return emit.word(emit.load(self.base, place.held, natural(width))).resized(width)

    def store(self, place: Word, value: Word) -> None:
        """Write the element at a place in memory. The run stops where that is constant."""
        emit = self.emit
        emit.stop_if(self.constant)
        with self._where_poison_may_be():
            emit.store(self.poison, place.held, emit.constant(0, 16))
        emit.store(self.base, place.held, value.resized(natural(value.width)).held)

    @contextmanager
    def _where_poison_may_be(self) -> Iterator[None]:
        """Make instructions that run only if the memory has a mask of poison."""
        emit = self.emit
        masked, on = emit.label(), emit.label()
        known = emit.builder.icmp_unsigned("!=", self.poison, emit.ir.Constant(emit.pointer, None))
        emit.branch(known, masked, on)
        emit.begin(masked)
        yield
        emit.jump(on)
        emit.begin(on)
