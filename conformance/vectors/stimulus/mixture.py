"""Operands of one's own for a computation, as tables of rows.

A source gives one table: drawn by position, or read from a file in order or at random places. A mixture makes one
table of the sources of its parts.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from math import lcm, prod
from typing import Any

import numpy as np
import numpy.typing as npt

from halfulp.conformance.comparing.op_case import OpCase
from halfulp.conformance.vectors import op_inputs, testfloat_levels
from halfulp.conformance.vectors.columns import Column
from halfulp.conformance.vectors.op_inputs import chosen_models, kinds_of, redrawn_rows, rows_of_case, rows_of_models
from halfulp.conformance.vectors.rows import (
    DIVIDES,
    ENDLESS,
    Rows,
    drawn_together,
    interleaved,
    of_tuples,
    repeating,
    spread,
    turns_in,
)
from halfulp.conformance.vectors.stimulus import grammar
from halfulp.conformance.vectors.stimulus.arrays import Stored, digest_of, named_array, read_arrays
from halfulp.conformance.vectors.stimulus.elements import (
    ENDINGS,
    codes_of_elements,
    rounded_numbers,
    rows_of_text,
    width_in_bits,
)
from halfulp.conformance.vectors.stimulus.grammar import ArrayInMemory, Distributed, File, Level, Models, Part, Source
from halfulp.conformance.vectors.testfloat_levels import STREAMS
from halfulp.fp_formats.formats import Codes, code_shape
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.errors import HalfulpError, InputError, TypeMismatch, Unsupported
from halfulp.semantics.random_sources import words

# --- tables -----------------------------------------------------------------------------------------------------------

STREAM = 1 << 42
"""The first of the Philox streams of these operands: other operands and random bits have lower ones."""

OF_A_PART, OF_AN_OPERAND = 1 << 20, 4
"""The streams of each part of a mixture, and of each of its operands: numbers, factors of blocks, places."""

SPREAD, BLOCK = 8, 32
"""What the scales of an op on scaled elements take, unless a distribution says otherwise."""


@dataclass(frozen=True)
class Group:
    """Operands that share a name: one column, or all elements of an argument. ``first``: the position of the first
    column.
    """

    name: str
    first: int
    names: tuple[str, ...]
    types: tuple[ty.Type, ...]

    @property
    def shape(self) -> tuple[int, ...]:
        """Return the shape of the argument that a row holds; the name of its last element tells it, as in ``a_3_7``."""
        if not self.name:
            return (len(self.names),)
        return tuple(int(index) + 1 for index in self.names[-1].removeprefix(self.name).split("_")[1:])

    def flat(self, shape: tuple[int, ...]) -> bool:
        """Tell whether the rows of an array are rows of this group: of the argument's shape, or with all elements side
        by side.

        The same number of elements in another shape, such as that of the transposed matrix, is not enough.
        """
        return shape[1:] in ((len(self.names),), self.shape)

    @property
    def wanted(self) -> str | None:
        """Return a hint that says which shape is expected; None if it would add nothing."""
        return f"a row has the shape {list(self.shape)}" if len(self.shape) > 1 else None


def repeated_rows(make: Callable[[int, int], tuple[Codes, ...]], rows: int) -> Callable[[int, int], tuple[Codes, ...]]:
    """Return a table in which each row of another table is repeated. ``rows``: the number of times."""
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
    """Return, for some rows, the exponent of their block: from -spread to spread, almost uniform."""
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
    """Return elements of a distribution with the scales of their blocks, which are 2^k. ``divides``: the op divides an
    element by its scale, so the element is multiplied by the scale first. ``size``: the number of elements of a block;
    None: that of the source.
    """
    if source.hold != 1:
        raise InputError("hold can be used only with one operand; the scales of these operands are shared by a block")
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
        raw = self.stored.format is None and array.dtype.kind == "u"
        limbs = code_shape((), width_in_bits(group.types[0])) if raw else ()
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


def _few(names: Sequence[str], most: int = 6) -> str:
    return ", ".join(names[:most]) + (" ..." if len(names) > most else "")


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
    """Return rows of a file for a group of operands. ``groups``: the groups whose arrays the file may hold by name: all
    groups if ``group`` is all operands together, else only this one.

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
    """Return the arrays that go by the names of the operands; None for a file with one array. Raises InputError if one
    of several is missing.
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
        raise InputError(
            f"'{source.path}' has no array '{missing[0]}' for this operand: it has {_few(list(present), 8)}",
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
    """Return elements of an array at random places, which differ from operand to operand."""
    tables = [
        _of_elements(source, elements, Group(group.name, group.first + k, (name,), (type_,)))
        for k, (name, type_) in enumerate(zip(group.names, group.types, strict=True))
    ]
    each = [table.rows(True, source.hold, seed, stream + OF_AN_OPERAND * k) for k, table in enumerate(tables)]
    return Rows(widths_of(group.types), ENDLESS, lambda start, stop: tuple(rows.make(start, stop)[0] for rows in each))


# --- mixture ----------------------------------------------------------------------------------------------------------

MOST_PARTS = 64
"""The most parts of a mixture."""

MOST_TURNS = 10_000
"""The most units after which the turns of the parts repeat."""

_INDICES = re.compile(r"(?:_\d+)+$", re.ASCII)


@dataclass(frozen=True)
class Target:
    """The operands for which rows are made: their columns and types. ``case``: the case, if they are those
    of one op.
    """

    columns: tuple[Column, ...]
    types: tuple[ty.Type, ...]
    case: OpCase | None = None

    @cached_property
    def groups(self) -> tuple[Group, ...]:
        """Return the operands by name; the elements of an argument share a name."""
        names = [_INDICES.sub("", column.name) for column in self.columns]
        found = []
        for name in dict.fromkeys(names):
            places = [k for k, other in enumerate(names) if other == name]
            first, last = places[0], places[-1] + 1
            columns = tuple(column.name for column in self.columns[first:last])
            found.append(Group(name, first, columns, self.types[first:last]))
        return tuple(found)

    @property
    def whole(self) -> Group:
        """Return all operands as one group."""
        return Group("", 0, tuple(column.name for column in self.columns), self.types)


@dataclass(frozen=True)
class Mixture:
    """Operands of the user's own: see `grammar`. It can be pickled; files are read where rows are made.

    ``files``: the SHA-256 of each file by the path in the text. ``folder``: where files are looked for if they are not
    at their paths. ``arrays``: the codes that were given in memory, one array for each column of an operand, by digest.
    """

    text: str
    files: Mapping[str, str] = field(default_factory=dict, hash=False)
    folder: str = ""
    arrays: Mapping[str, tuple[Codes, ...]] = field(default_factory=dict, hash=False, compare=False, repr=False)

    @classmethod
    def named(cls, text: str, arrays: Mapping[str, tuple[Codes, ...]] | None = None) -> Mixture:
        """Return the mixture of a text, with the digests of its files as they are now. Raises InputError."""
        return cls(text, grammar.each_file(grammar.parts_of(text), digest_of), "", arrays or {})

    @cached_property
    def parts(self) -> tuple[Part, ...]:
        """Return the parts. Raises InputError."""
        found = grammar.parts_of(self.text)
        if len(found) > MOST_PARTS:
            raise InputError(f"a mixture of {len(found)} parts is too long: {MOST_PARTS} at most")
        return found

    @property
    def models(self) -> tuple[str, ...]:
        """Return the names of the models in it, each once."""
        sources = (source for part in self.parts for source in part.sources.values())
        return tuple(dict.fromkeys(name for source in sources if isinstance(source, Models) for name in source.names))

    @cached_property
    def _places(self) -> dict[str, str]:
        return {path: self._found(path) for path in grammar.each_file(self.parts, str)}

    def _found(self, path: str) -> str:
        """Return where a file is, unchanged. Raises InputError."""
        wanted = self.files.get(path)
        beside = os.path.join(self.folder, os.path.basename(path))
        there = [place for place in dict.fromkeys((path, beside)) if os.path.isfile(place)]
        if not there:
            raise InputError(
                f"the operands come from '{path}', which does not exist",
                hint=None if wanted is None else f"its SHA-256 is {wanted}",
            )
        right = next((place for place in there if wanted in (None, digest_of(place))), None)
        if right is None:
            raise InputError(
                f"'{there[0]}' is not the file that the operands came from: its SHA-256 is {digest_of(there[0])}, not "
                f"{wanted}"
            )
        return right

    # --- rows ---------------------------------------------------------------------------------------------------------

    def rows(self, target: Target, seed: int, count: int | None, block: int | None = None) -> Rows:
        """Return the operands of a computation.

        ``count``: the number of rows; None: all rows of the only part, if that has an end. ``block``: consecutive rows
        that share their scale. Raises InputError for sources that do not fit the computation, for files, and for
        operands without a count; Unsupported for types without operands.
        """
        case, unit = target.case, block or 1
        if case is not None and op_inputs.quantised_type(case) is not None:
            raise Unsupported(
                "for an op on quantised types, operands come only from a level",
                hint="give a level (--level), and no operands of your own",
            )
        tables = [
            self._part(part, target, seed, STREAM + OF_A_PART * number, block) for number, part in enumerate(self.parts)
        ]
        if count is None:
            if len(tables) > 1 or tables[0].count >= ENDLESS:
                raise InputError("these operands need a count", hint="-n says how many rows; in Python, n")
            count = tables[0].count
        elif len(tables) == 1:
            count = min(count, tables[0].count)
        count = -(-count // unit) * unit
        if len(tables) == 1:
            rows = repeating(tables[0], count)
            return Rows(rows.widths, count, rows.make, unit)
        return interleaved(tables, self.turns, count, unit)

    @cached_property
    def turns(self) -> tuple[int, ...]:
        """Return the number of units that each part has in one cycle of turns. Raises InputError for shares of too many
        digits.
        """
        shares = [part.share / 100 for part in self.parts]
        cycle = lcm(*(share.denominator for share in shares))
        if cycle > MOST_TURNS:
            raise InputError(
                f"the shares have too many digits: they need a pattern of {cycle:,} rows, but at most "
                f"{MOST_TURNS:,} are "
                "possible"
            )
        return tuple(int(share * cycle) for share in shares)

    def _part(self, part: Part, target: Target, seed: int, stream: int, block: int | None) -> Rows:
        try:
            if "" in part.sources:
                return self._all(part.sources[""], target, seed, stream, block)
            return self._each(part.sources, target, seed, stream, block)
        except HalfulpError as error:
            if len(self.parts) > 1 and error.location is None:
                error.message = f"'{part.text}': {error.message}"
                error.args = (error.message,)
            raise
        except ValueError as error:
            raise InputError(f"'{part.text}': {error}") from None

    def _all(self, source: Source, target: Target, seed: int, stream: int, block: int | None) -> Rows:
        """Return rows of a source for all operands together."""
        case, whole = target.case, target.whole
        scaled = case is not None and case.op in DIVIDES
        match source:
            case Models():
                if case is None:
                    raise InputError("the models are for the rounding of one op, not for programs and tiles")
                if block is not None:
                    raise InputError("the models do not support blocks that share a scale", hint="ask for a level")
                return spread(rows_of_models(case, chosen_models(case, source.names or ("all",)), seed, source.each))
            case Level("hard") | Level("exhaustive") if case is not None:
                return rows_of_case(case, source.name, seed)  # type: ignore[arg-type]
            case Level():
                rows = _level(source.name, target, whole, seed, stream)
                return _in_blocks(drawn_together(case, rows) if case is not None and scaled else rows, block)
            case Distributed() if case is not None and scaled:
                return drawn_with_scales(source, whole, DIVIDES[case.op], seed, stream, block)
            case Distributed():
                return distributed_rows(source, whole, seed, stream)
            case File():
                rows = from_file(self._here(source), whole, target.groups, seed, stream)
                return _in_blocks(rows, block) if source.sample else rows
            case ArrayInMemory():
                raise InputError("an array must be given for one operand: operands={'a': array}")

    def _each(self, sources: Mapping[str, Source], target: Target, seed: int, stream: int, block: int | None) -> Rows:
        """Return rows with a source for each operand."""
        names = [group.name for group in target.groups]
        unknown, missing = [name for name in sources if name not in names], [n for n in names if n not in sources]
        if unknown or missing:
            told = f"there is no operand '{unknown[0]}'" if unknown else f"the operand '{missing[0]}' has no source"
            raise InputError(f"{told}: the operands are {', '.join(names)}",
                             hint=None if unknown else f"a level is one, too: {missing[0]}=weighted")  # fmt: skip
        tables = []
        for place, group in enumerate(target.groups):
            rows = self._one(sources[group.name], target, group, seed, stream)
            # Rows that share their scale share one draw of it.
            shared = block is not None and place == 1 and rows.count >= ENDLESS
            tables.append(replace(rows, make=repeated_rows(rows.make, block)) if shared and block is not None else rows)
        finite = {group.name: rows.count for group, rows in zip(target.groups, tables, strict=True)
                  if rows.count < ENDLESS}  # fmt: skip
        if len(set(finite.values())) > 1:
            told = ", ".join(f"{name} has {rows:,}" for name, rows in finite.items())
            raise InputError(f"the operands have different numbers of rows: {told}",
                             hint="sample takes elements at random places")  # fmt: skip

        def make(start: int, stop: int) -> tuple[Codes, ...]:
            return tuple(codes for rows in tables for codes in rows.make(start, stop))

        return Rows(widths_of(target.types), min(finite.values(), default=ENDLESS), make)

    def _one(self, source: Source, target: Target, group: Group, seed: int, stream: int) -> Rows:
        """Return rows of a source for one operand."""
        match source:
            case Level("hard") | Level("exhaustive") | Models():
                raise InputError(
                    f"operand '{group.name}': models, 'hard' and 'exhaustive' can be used only for all operands "
                    "together"
                )
            case Level():
                return _level(source.name, target, group, seed, stream)
            case Distributed():
                return distributed_rows(source, group, seed, stream)
            case File():
                return from_file(self._here(source), group, (group,), seed, stream)
            case ArrayInMemory():
                columns = self.arrays.get(source.sha256)
                if columns is None:
                    raise InputError(
                        f"the operand '{group.name}' was given in memory, so it cannot be made again: its SHA-256 is "
                        f"{source.sha256}"
                    )
                return Rows(widths_of(group.types), len(columns[0]),
                            lambda start, stop: tuple(codes[start:stop] for codes in columns))  # fmt: skip

    def _here(self, source: File) -> File:
        return replace(source, path=self._places[source.path])

    # --- metadata -----------------------------------------------------------------------------------------------------

    def to_json(self, count: int, block: int | None = None) -> dict[str, Any]:
        """Return the mixture for the metadata: its text, the digests of its files, and the rows of each part among
        ``count``.
        """
        document: dict[str, Any] = {"text": self.text}
        if self.files:
            document["files"] = [{"name": name, "sha256": digest} for name, digest in self.files.items()]
        if len(self.parts) > 1:
            counted = turns_in(self.turns, count, block or 1)
            document["parts"] = [
                {"operands": part.text, "percent": int(share) if share.denominator == 1 else float(share), "rows": rows}
                for part, share, rows in zip(self.parts, (part.share for part in self.parts), counted, strict=True)
            ]
        return document

    @classmethod
    def from_json(cls, data: Any, folder: str) -> Mixture:
        """Return the mixture of the metadata, or of a text alone. ``folder``: that of the metadata. Raises InputError
        for anything else.
        """
        try:
            text = data if isinstance(data, str) else data["text"]
            known = {} if isinstance(data, str) else data.get("files", ())
            digests = {str(file["name"]): str(file["sha256"]) for file in known}
        except (TypeError, KeyError, AttributeError):
            text, digests = None, {}
        if not isinstance(text, str):
            raise InputError("the operands are not described by a text and files")
        bare = cls(text, digests, folder)
        return replace(
            bare, files=grammar.each_file(bare.parts, lambda path: digests.get(path) or digest_of(bare._found(path)))
        )


def _level(name: str, target: Target, group: Group, seed: int, stream: int) -> Rows:
    """Return random operands of a level: uniform, TestFloat's mixture, or half of them corners."""
    kinds = kinds_of(target.types, target.case)[group.first :][: len(group.types)]
    first = stream + OF_AN_OPERAND * group.first
    assert OF_AN_OPERAND == STREAMS
    if name == "random":
        return testfloat_levels.uniform_rows(widths_of(group.types), ENDLESS, seed, first)

    def drawn(seed: int) -> Rows:
        if name == "weighted":
            return testfloat_levels.weighted_rows(kinds, ENDLESS, seed, first)
        return testfloat_levels.drawn_corners(kinds, 1 if name == "1" else 2, ENDLESS, seed, first)

    whole = len(group.types) == len(target.types)
    return drawn(seed) if target.case is None or not whole else redrawn_rows(target.case, seed, drawn)


def _in_blocks(rows: Rows, block: int | None) -> Rows:
    """Return rows of an element and a scale in which each block has one scale, that of one row."""
    if block is None:
        return rows
    scales = repeated_rows(lambda start, stop: rows.make(start, stop)[1:], block)
    return replace(rows, make=lambda start, stop: (rows.make(start, stop)[0], *scales(start, stop)))
