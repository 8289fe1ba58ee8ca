"""The operands of one source as a table: drawn by position, or read from a file in order or at random places."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from math import prod

import numpy as np
import numpy.typing as npt

from halfulp.conformance.vectors.rows import ENDLESS, Rows, of_tuples
from halfulp.conformance.vectors.stimulus.arrays import Stored, named_array, read_arrays
from halfulp.conformance.vectors.stimulus.elements import (
    ENDINGS,
    codes_of_elements,
    rounded_numbers,
    rows_of_text,
    width_in_bits,
)
from halfulp.conformance.vectors.stimulus.grammar import Distributed, File
from halfulp.fp_formats.formats import Codes, code_shape
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.errors import HalfulpError, InputError, TypeMismatch
from halfulp.semantics.random_sources import words

STREAM = 1 << 42
"""The first of the Philox streams of these operands: other operands and random bits have lower ones."""

OF_A_PART, OF_AN_OPERAND = 1 << 20, 4
"""The streams of each part of a mixture, and of each of its operands: numbers, factors of blocks, places."""

SPREAD, BLOCK = 8, 32
"""What the scales of an op on scaled elements take, unless a distribution says otherwise."""


@dataclass(frozen=True)
class Group:
    """Operands that go by one name: one column, or all elements of an argument. ``first``: the place of the first."""

    name: str
    first: int
    names: tuple[str, ...]
    types: tuple[ty.Type, ...]

    @property
    def shape(self) -> tuple[int, ...]:
        """Return the shape of a row: that of the argument, which its last element tells, as in ``a_3_7``."""
        if not self.name:
            return (len(self.names),)
        return tuple(int(index) + 1 for index in self.names[-1].removeprefix(self.name).split("_")[1:])

    def flat(self, shape: tuple[int, ...]) -> bool:
        """Tell whether an array of this shape has rows of this group: of its shape, or with all elements side by side.

        The same number of elements in another shape, such as that of the transposed matrix, is not enough.
        """
        return shape[1:] in ((len(self.names),), self.shape)

    @property
    def wanted(self) -> str | None:
        """Return the hint for another shape; None where that says nothing more."""
        return f"a row has the shape {list(self.shape)}" if len(self.shape) > 1 else None


def repeated_rows(make: Callable[[int, int], tuple[Codes, ...]], rows: int) -> Callable[[int, int], tuple[Codes, ...]]:
    """Return a table in which so many consecutive rows are one row of another table."""
    if rows == 1:
        return make

    def repeated(start: int, stop: int) -> tuple[Codes, ...]:
        first = start // rows
        made = make(first, -(-stop // rows))
        return tuple(np.repeat(codes, rows, axis=0)[start - first * rows :][: stop - start] for codes in made)

    return repeated


def widths_of(types: Sequence[ty.Type]) -> tuple[int, ...]:
    """Return the widths of operands in bits."""
    return tuple(map(width_in_bits, types))


def exponents(seed: int, stream: int, block: int, spread: int, start: int, stop: int) -> npt.NDArray[np.int64]:
    """Return for some rows the exponent of their block: from -spread to spread, as good as even."""
    first = start // block
    drawn = words(seed, stream, first, -(-stop // block) - first) % np.uint64(2 * spread + 1)
    each = np.repeat(drawn.astype(np.int64) - spread, block)
    return each[start - first * block :][: stop - start]


def distributed_rows(source: Distributed, group: Group, seed: int, stream: int) -> Rows:
    """Return numbers of a distribution for each operand of a group."""

    def make(start: int, stop: int) -> tuple[Codes, ...]:
        columns = []
        for k, type_ in enumerate(group.types):
            own = stream + OF_AN_OPERAND * (group.first + k)
            numbers = source.distribution.draw(seed, own, start, stop - start)
            if source.block is not None and source.spread is not None:
                numbers = np.ldexp(numbers, exponents(seed, own + 1, source.block, source.spread, start, stop))
            columns.append(rounded_numbers(numbers, type_, source.fitting))
        return tuple(columns)

    return Rows(widths_of(group.types), ENDLESS, repeated_rows(make, source.hold))


def drawn_with_scales(
    source: Distributed, group: Group, divides: bool, seed: int, stream: int, size: int | None
) -> Rows:
    """Return elements of a distribution and the scales of their blocks, 2^k. ``divides``: an element is divided by its
    scale, so it is multiplied by it before. ``size``: the elements of a block; None: those of the source.
    """
    if source.hold != 1:
        raise InputError("hold goes with one operand; the scales of these operands are shared by a block")
    if size is not None and source.block not in (None, size):
        raise InputError(f"the blocks have {size} rows, but block={source.block} is given")
    block, spread = source.block or size or BLOCK, SPREAD if source.spread is None else source.spread

    def make(start: int, stop: int) -> tuple[Codes, ...]:
        powers = exponents(seed, stream + 1, block, spread, start, stop)
        numbers = source.distribution.draw(seed, stream, start, stop - start)
        elements = rounded_numbers(np.ldexp(numbers, powers) if divides else numbers, group.types[0], source.fitting)
        return elements, rounded_numbers(np.ldexp(1.0, powers), group.types[1], source.fitting)

    return Rows(widths_of(group.types), ENDLESS, make)


@dataclass(frozen=True)
class _Elements:
    """Elements of a file for the columns of a group: rows along the first axis, columns along the second."""

    stored: Stored
    what: str

    def rows(self, group: Group) -> tuple[npt.NDArray[np.generic], int]:
        """Return the elements with an axis of rows and one of columns, and the number of rows. Raises TypeMismatch."""
        array, columns = self.stored.array, len(group.types)
        limbs = code_shape((), width_in_bits(group.types[0])) if self._raw else ()
        if limbs and array.shape[-1:] != limbs:
            raise TypeMismatch(f"{self.what}: raw bits of {group.types[0]} have a last axis of {limbs[0]} limbs, "
                               f"but the shape is {list(array.shape)}")  # fmt: skip
        shape = array.shape[: array.ndim - len(limbs)]
        if not prod(shape):
            raise InputError(f"{self.what} has no elements: its shape is {list(array.shape)}")
        if columns == 1:
            flat = array.reshape(-1, 1, *limbs)
        elif group.flat(shape):
            flat = array.reshape(shape[0], columns, *limbs)
        else:
            raise TypeMismatch(f"{self.what} has the shape {list(array.shape)}, but a row has {columns} operands: "
                               f"{_few(group.names)}", hint=group.wanted)  # fmt: skip
        return flat, len(flat)

    @property
    def _raw(self) -> bool:
        return self.stored.format is None and self.stored.array.dtype.kind == "u"


def _few(names: Sequence[str]) -> str:
    return ", ".join(names[:6]) + (" ..." if len(names) > 6 else "")


@contextmanager
def _about(what: str) -> Iterator[None]:
    try:
        yield
    except HalfulpError as error:
        if what not in error.message:
            error.message = f"{what}: {error.message}"
            error.args = (error.message,)
        raise


Index = slice | npt.NDArray[np.int64]


@dataclass(frozen=True)
class _Table:
    """Rows that exist already: ``at`` returns those of a range, or at some places."""

    widths: tuple[int, ...]
    count: int
    at: Callable[[Index], tuple[Codes, ...]]

    def rows(self, sample: bool, hold: int, seed: int, stream: int) -> Rows:
        """Return the rows in order, or at random places."""

        def in_order(start: int, stop: int) -> tuple[Codes, ...]:
            return self.at(slice(start, stop))

        def at_random(start: int, stop: int) -> tuple[Codes, ...]:
            return self.at(_places(seed, stream, self.count, start, stop))

        count = ENDLESS if sample else self.count * hold
        return Rows(self.widths, count, repeated_rows(at_random if sample else in_order, hold))


def _places(seed: int, stream: int, count: int, start: int, stop: int) -> npt.NDArray[np.int64]:
    return (words(seed, stream, start, stop - start) % np.uint64(count)).astype(np.int64)


def from_file(source: File, group: Group, groups: Sequence[Group], seed: int, stream: int) -> Rows:
    """Return rows of a file for a group of operands. ``groups``: those whose arrays the file may hold by name: where
    ``group`` is all operands together, each of them, and else only this one.

    Raises InputError for a file that cannot be read or lacks an array, TypeMismatch for elements that do not fit.
    """
    stream += OF_AN_OPERAND * group.first + 2
    if os.path.splitext(source.path)[1].lower() in ENDINGS:
        return _of_text(source, group).rows(source.sample, source.hold, seed, stream)
    fields = _fields(source, groups) if source.array is None else None
    if fields is not None:
        table = _side_by_side(
            source, [_of_elements(source, *each) for each in zip(fields, groups, strict=True)], groups
        )
        return table.rows(source.sample, source.hold, seed, stream)
    what = f"'{source.path}'" + (f", array '{source.array}'" if source.array is not None else "")
    elements = _Elements(named_array(source.path, source.array), what)
    if source.sample:
        return _sampled_elements(source, elements, group, seed, stream)
    if len(groups) > 1 and elements.stored.array.ndim != 2:
        raise InputError(
            f"{what} is one array, but the operands are {', '.join(group.name for group in groups)}",
            hint="name the operand: a=FILE;b=...; or take elements at random places: FILE:sample",
        )
    return _of_elements(source, elements, group).rows(False, source.hold, seed, stream)


def _of_text(source: File, group: Group) -> _Table:
    if source.array is not None:
        raise InputError(f"'{source.path}' is text, which has no arrays")
    listed = rows_of_text(source.path, group.names, group.types, source.fitting)
    rows = of_tuples([tuple(row) for row in listed], widths_of(group.types))
    columns = rows.make(0, rows.count)
    return _Table(rows.widths, rows.count, lambda index: tuple(codes[index] for codes in columns))


def _side_by_side(source: File, tables: Sequence[_Table], groups: Sequence[Group]) -> _Table:
    if len({table.count for table in tables}) > 1:
        told = ", ".join(f"{group.name} {table.count:,}" for group, table in zip(groups, tables, strict=True))
        raise InputError(f"'{source.path}': the arrays have different numbers of rows: {told}")
    widths = tuple(width for table in tables for width in table.widths)
    return _Table(widths, tables[0].count, lambda index: tuple(codes for table in tables for codes in table.at(index)))


def _fields(source: File, groups: Sequence[Group]) -> list[_Elements] | None:
    """Return the arrays that go by the names of the operands; None for a file with one array. Raises InputError where
    one of several is missing.
    """
    present: Mapping[str, Callable[[], Stored]] = read_arrays(source.path)
    if list(present) == [""]:
        array = present[""]().array
        if array.dtype.names is None:
            return None
        present = {name: partial(Stored, array[name]) for name in array.dtype.names}
    missing = [group.name for group in groups if group.name not in present]
    if missing and len(present) == 1:
        return None
    if missing:
        listed = ", ".join(list(present)[:8]) + (" ..." if len(present) > 8 else "")
        raise InputError(
            f"'{source.path}' has no array '{missing[0]}' for this operand: it has {listed}",
            hint="array=NAME names one, as in a=FILE:array=NAME",
        )
    return [_Elements(present[group.name](), f"'{source.path}', array '{group.name}'") for group in groups]


def _of_elements(source: File, elements: _Elements, group: Group) -> _Table:
    array, count = elements.rows(group)

    def at(index: Index) -> tuple[Codes, ...]:
        part = np.asarray(array[index])
        first = index.start if isinstance(index, slice) else index
        with _about(elements.what):
            return tuple(
                codes_of_elements(part[:, k], elements.stored.format, type_, source.fitting, first)
                for k, type_ in enumerate(group.types)
            )

    at(slice(0, 1))  # a wrong type is found before anything is written
    return _Table(widths_of(group.types), count, at)


def _sampled_elements(source: File, elements: _Elements, group: Group, seed: int, stream: int) -> Rows:
    """Return elements of an array at random places, other ones for each operand."""
    tables = [
        _of_elements(source, elements, Group(group.name, group.first + k, (name,), (type_,)))
        for k, (name, type_) in enumerate(zip(group.names, group.types, strict=True))
    ]
    each = [table.rows(True, source.hold, seed, stream + OF_AN_OPERAND * k) for k, table in enumerate(tables)]
    return Rows(widths_of(group.types), ENDLESS, lambda start, stop: tuple(rows.make(start, stop)[0] for rows in each))
