"""The interface of a file format of vectors: the roles it can carry, a writer and a reader."""

from __future__ import annotations

import shutil
import sys
import tempfile
from bisect import bisect_right
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import IO, Any, BinaryIO

import numpy as np
import numpy.typing as npt

from halfulp.conformance.vectors.columns import Chunk, Column, Role, TreeDigest, VectorSet, by_row, results_of, settled
from halfulp.conformance.vectors.packing import CONTAINERS, UNMARKED, Blocks, Packing, Unmarked
from halfulp.fp_formats.formats import LIMB_BITS, Codes, limb_count
from halfulp.interp.ir.base import FileLineCol
from halfulp.interp.ir.errors import InputError

EVERY_ROLE = frozenset(Role)

SPOOLED = 1 << 24
"""Bytes that are kept in memory before they go to a temporary file, where a format needs them in another order."""


@dataclass
class Notes:
    """What a reader of lines records: the lines of rows, and the X and Z digits of results.

    ``unknown``: the words of results and flags with an X or Z in a significant bit (or where the file does not say that
    the bit is insignificant), by the number of the row and the column's name. Each such digit was read as 0.
    ``skipped``: the named columns of the file that are not read.
    """

    unknown: dict[int, dict[str, str]] = field(default_factory=dict)
    skipped: tuple[str, ...] = ()
    _places: list[tuple[int, int, int]] = field(default_factory=list)

    def stand(self, row: int, line: int, lines: int) -> None:
        """Record that from this row on each row takes ``lines`` lines, and that its first line is ``line``, counted
        from 1.
        """
        if self._places:
            first, start, step = self._places[-1]
            if step == lines and start + (row - first) * step == line:
                return
        self._places.append((row, line, lines))

    def line_of(self, row: int) -> int | None:
        """Return the line in which a row begins; None in a format without lines, and for rows that were forgotten."""
        place = bisect_right(self._places, (row, sys.maxsize, 0)) - 1
        if place < 0:
            return None
        first, start, step = self._places[place]
        return start + (row - first) * step

    def forget(self, row: int) -> None:
        """Drop the records of the rows before this one."""
        place = bisect_right(self._places, (row, sys.maxsize, 0)) - 1
        del self._places[: max(place, 0)]
        for old in [known for known in self.unknown if known < row]:
            del self.unknown[old]


@dataclass(frozen=True)
class Options:
    """Options of a file format.

    ``name``: the name of the vectors in C and SystemVerilog, an identifier. ``packing``: the packing of ``bin``.
    ``count``: the number of rows of a file that is read; only ``bin`` needs it, if densely packed or in blocks.
    ``file``: the file's name in errors. ``rows``: the largest number of rows in a chunk that is read. ``function``:
    MLIR text of the ``@eval`` that ``mlir`` checks. ``notes``: where a reader of lines records its notes; without it,
    an X in a significant bit is an error. ``blocks``: the operands of ``bin`` that are stored in blocks.
    """

    name: str = "vectors"
    packing: Packing = CONTAINERS
    count: int | None = None
    file: str = "<vectors>"
    rows: int = 1 << 16
    function: str | None = None
    notes: Notes | None = None
    blocks: Blocks | None = None

    def __post_init__(self) -> None:
        if not (self.name.isidentifier() and self.name.isascii()):
            raise ValueError(f"the name of the vectors must be an identifier, not {self.name!r}")


@dataclass(frozen=True)
class Format:
    """A file format. ``carries``: the roles it has a place for. ``describes``: its files describe their columns.

    ``write(vectors, file, options)`` writes a set whose roles it carries; ``read(file, columns, options)`` gives the
    set in a file, as a stream. ``columns``: None if the file describes itself. A malformed file raises InputError, with
    the line if the format has lines.
    """

    name: str
    suffix: str
    write: Callable[[VectorSet, BinaryIO, Options], None]
    read: Callable[[BinaryIO, tuple[Column, ...] | None, Options], VectorSet]
    carries: frozenset[Role] = EVERY_ROLE
    describes: bool = False


@dataclass
class Written:
    """The content of a written file: its columns, its rows, the rows left out, the digest of the columns, and the rows
    of the leaves of that digest if it has leaves.
    """

    columns: tuple[Column, ...]
    count: int = 0
    dropped: int = 0
    digest: str = ""
    leaves: tuple[int, ...] = ()


class Unsayable(InputError):
    """The error for a row with poison or unspecified bits for which a format has no place."""

    code = "not-storable"
    advice = "Choose a format that has a place for such rows, or leave them out by the option that the message names."


@dataclass
class SetInFormat:
    """A set as a format carries it: without the columns that the format has no place for.

    Each chunk is counted and hashed as it passes. ``leaves``: each chunk is a leaf of the digest (`TreeDigest`).
    """

    vectors: VectorSet
    format: Format
    unmarked: Unmarked
    leaves: bool = False
    written: Written = field(init=False)

    def __post_init__(self) -> None:
        if self.unmarked not in UNMARKED:
            raise ValueError(f"poison is {self.unmarked!r}, but must be one of {', '.join(UNMARKED)}")
        columns = self.vectors.columns
        self._kept = [k for k, column in enumerate(columns) if column.role in self.format.carries]
        self._marks = [k for k, c in enumerate(columns) if c.role in (Role.POISON, Role.OPEN) and k not in self._kept]
        missing = [columns[k].name for k in range(len(columns)) if k not in self._kept and k not in self._marks]
        if missing:
            raise InputError(f"the format '{self.format.name}' has no place for {', '.join(missing)}")
        self.written = Written(tuple(columns[k] for k in self._kept))

    def set(self) -> VectorSet:
        """Return the set to write. `written` is complete as soon as its chunks have been read."""
        exact = not (self._marks and self.unmarked == "drop")
        return VectorSet(
            self.written.columns, self._chunks(), self.vectors.count if exact else None, self.vectors.description
        )

    def _chunks(self) -> Iterator[Chunk]:
        digest = TreeDigest(self.written.columns)
        for chunk in self.vectors:
            kept = tuple(chunk[k] for k in self._kept)
            if self._marks:
                kept = self._without_marks(chunk, kept, digest.count)
            digest.update(kept)
            if self.leaves:
                digest.end_leaf()
            yield kept
        self.written.count, self.written.digest = digest.count, digest.hexdigest()
        self.written.leaves = tuple(digest.counts)

    def _without_marks(self, chunk: Chunk, kept: Chunk, before: int) -> Chunk:
        columns = self.vectors.columns
        marked = np.zeros(len(chunk[0]), np.bool_)
        for k in self._marks:
            marked |= by_row(chunk[k] != 0)
        if not marked.any():
            return kept
        if self.unmarked == "drop":
            self.written.dropped += int(marked.sum())
            return tuple(codes[~marked] for codes in kept)
        if self.unmarked == "refuse":
            row = int(marked.argmax())
            name = next(columns[k] for k in self._marks if chunk[k][row].any())
            about = ", ".join(columns[k].name for k in results_of(columns, name))
            what = "is poison" if name.role is Role.POISON else "has open bits"
            raise Unsayable(
                f"row {before + self.written.dropped + row}: '{about}' {what}, which the format '{self.format.name}' "
                "cannot express",
                hint="poison=drop leaves such rows out, poison=canonical writes 0 for poison and the result of the "
                "profile for open bits; or choose a format with columns for them",
            )
        poison = tuple(k for k in range(len(columns)) if columns[k].role is not Role.OPEN)
        zeroed = settled([columns[k] for k in poison], tuple(chunk[k] for k in poison))
        return tuple(zeroed[poison.index(k)] for k in self._kept)


class _Copy(tempfile.SpooledTemporaryFile[bytes]):
    """A temporary file that closes when the stream over it is dropped: a reader may stop anywhere."""

    def __del__(self) -> None:
        self.close()


def seekable(file: BinaryIO) -> IO[bytes]:
    """Return the file itself, or for a pipe a temporary file with the rest of its content."""
    if file.seekable():
        return file
    copy = _Copy(SPOOLED)
    shutil.copyfileobj(file, copy, 1 << 20)
    copy.seek(0)
    return copy


def spool() -> IO[bytes]:
    """Return a temporary file that stays in memory while it is small."""
    return tempfile.SpooledTemporaryFile(SPOOLED)


def required_columns(columns: tuple[Column, ...] | None, format: str, options: Options) -> tuple[Column, ...]:
    """Return the columns. Raises InputError if neither the caller nor the file gives them."""
    if columns is None:
        raise InputError(
            f"{options.file}: a file in the format '{format}' does not describe its columns",
            hint="give the metadata written beside it, or the columns",
        )
    return columns


def same_columns(
    given: tuple[Column, ...] | None, found: tuple[Column, ...] | None, format: str, options: Options
) -> tuple[Column, ...]:
    """Return the columns of a file. ``given``: those of the caller; ``found``: those that the file describes. Raises
    InputError if both exist and differ.
    """
    if given is not None and found is not None and given != found:
        raise InputError(
            f"{options.file}: the file has the columns {_spelled(found)}, but the expected ones are {_spelled(given)}"
        )
    return required_columns(given if found is None else found, format, options)


def _spelled(columns: tuple[Column, ...]) -> str:
    return ", ".join(f"{column.name}: {column.type} ({column.role.value})" for column in columns)


def malformed(message: str, options: Options, line: int | None = None) -> InputError:
    """Return the error for a malformed file, at a line counted from 1."""
    if line is None:
        return InputError(f"{options.file}: {message}")
    return InputError(message, location=FileLineCol(options.file, line, 1))


def with_file(options: Options, file: Any) -> Options:
    """Return the options with the file's own name for errors, if it has a name and the options have none."""
    name = getattr(file, "name", None)
    return replace(options, file=name) if options.file == Options.file and isinstance(name, str) else options


def too_wide(codes: Codes, width: int) -> npt.NDArray[np.bool_] | None:
    """Return a mask of the rows whose code has bits above its width; None if there are none."""
    top = codes[:, -1] if codes.ndim > 1 else codes
    used = width - LIMB_BITS * (limb_count(width) - 1)
    if used >= top.dtype.itemsize * 8 or top.max(initial=0) < 1 << used:
        return None
    return np.greater(top, (1 << used) - 1)
