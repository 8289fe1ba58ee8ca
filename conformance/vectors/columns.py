"""A set of vectors, independent of its file: columns of codes, a stream of chunks, and the digest of both.

Codes are unsigned arrays of the storage dtype of their width, with a trailing axis of uint64 limbs above 64 bits. A
chunk is a tuple of such arrays, one per column, all with one element axis of the same length.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from functools import cache
from typing import Any

import numpy as np

from halfulp.conformance.files import fault_of_json
from halfulp.fp_formats.formats import Codes, FloatFormat, Mask, code_shape, limb_count, storage_dtype
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.errors import HalfulpError, InputError
from halfulp.interp.text.parser import parse_type
from halfulp.semantics.fixed_point import FixedFormat

Chunk = tuple[Codes, ...]

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")

FLAG_BITS = 5


class Role(Enum):
    """The meaning of a column. The members are in the order that the columns of a set must have."""

    OPERAND = "operand"
    RANDOM = "random"
    """The random bits for stochastic rounding."""
    RESULT = "result"
    FLAGS = "flags"
    """Five bits, TestFloat's and RISC-V's: invalid 0x10, division by zero 8, overflow 4, underflow 2, inexact 1."""
    POISON = "poison"
    """One bit: the result is poison, so that hardware may return anything."""
    OPEN = "open"
    """The bits of the result that are unspecified: where one is set, either value of that bit is right."""
    IGNORE = "ignore"
    """Written by whoever made the file: bits of a result or of the flags that are not compared in a row; or one bit,
    for the whole row. halfulp makes no such column.
    """


_ORDER = {role: position for position, role in enumerate(Role)}


@dataclass(frozen=True)
class Column:
    """A column: ``name`` (an identifier), ``width`` in bits, ``type`` as MLIR spells it, ``role``.

    ``of``: for a POISON or OPEN column, the name of its RESULT; empty for the only result, or for a POISON column of
    all results. Raises ValueError for a name that is not an identifier, and for a negative width.
    """

    name: str
    width: int
    type: str
    role: Role
    of: str = ""

    def __post_init__(self) -> None:
        if not _NAME.fullmatch(self.name):
            raise ValueError(f"the name of a column must be an identifier, not {self.name!r}")
        if self.width < 0:
            raise ValueError(f"column {self.name!r}: the width {self.width} is negative")

    @property
    def bytes(self) -> int:
        """The number of bytes that one code takes in memory."""
        return storage_dtype(self.width).itemsize * limb_count(self.width)

    @property
    def role_in_words(self) -> str:
        """The role as text, with the name of the result that the column belongs to: ``poison of result0``."""
        return f"{self.role.value} of {self.of}" if self.of else self.role.value

    def to_json(self) -> dict[str, Any]:
        """Return the column as JSON data."""
        about = {"of": self.of} if self.of else {}
        return {"name": self.name, "width": self.width, "type": self.type, "role": self.role.value, **about}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Column:
        """Return the column of JSON data that `to_json` gave. Raises InputError for anything else."""
        try:
            return cls(data["name"], int(data["width"]), data["type"], Role(data["role"]), data.get("of", ""))
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise InputError(f"{data!r} does not describe a column: {error}") from None


@cache
def type_of(column: Column) -> ty.Type | None:
    """Return the type of a column; None if its spelling is not an MLIR type."""
    try:
        return parse_type(column.type)
    except (HalfulpError, ValueError):
        return None


def format_of(column: Column) -> FloatFormat | None:
    """Return the float format of a column; None for other types."""
    type_ = type_of(column)
    return type_.format if isinstance(type_, ty.FloatType) else None


def fixed_format_of(column: Column) -> FixedFormat | None:
    """Return the format of a column in fixed point; None for other types."""
    type_ = type_of(column)
    return type_.format if isinstance(type_, ty.FixedType) else None


def by_row(mask: Mask) -> Mask:
    """Return a mask of the rows in which any element of ``mask`` is True. Its first axis counts the rows; the others
    may be limbs.
    """
    return np.asarray(mask.any(axis=1)) if mask.ndim > 1 else mask


def columns_to_text(columns: Sequence[Column]) -> str:
    """Return columns as one line of JSON, which `columns_from_text` reads."""
    return json.dumps([column.to_json() for column in columns])


def columns_from_text(text: str | bytes) -> tuple[Column, ...]:
    """Return the columns of a line that `columns_to_text` gave. Raises InputError for anything else."""
    try:
        data = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InputError(f"the description of the columns is not JSON: {fault_of_json(error)}") from None
    if not isinstance(data, list):
        raise InputError("the description of the columns is not a list")
    columns = tuple(map(Column.from_json, data))
    try:
        check_columns(columns)
    except ValueError as error:
        raise InputError(str(error)) from None
    return columns


def results_of(columns: Sequence[Column], column: Column) -> tuple[int, ...]:
    """Return the positions of the RESULT columns that a POISON or OPEN column belongs to."""
    return tuple(k for k, c in enumerate(columns) if c.role is Role.RESULT and column.of in ("", c.name))


def marks_of(columns: Sequence[Column]) -> list[tuple[int, tuple[int, ...]]]:
    """Return the position of each POISON and OPEN column, with those of `results_of`."""
    results = {column.name: k for k, column in enumerate(columns) if column.role is Role.RESULT}
    every = tuple(results.values())
    return [
        (k, (results[column.of],) if column.of in results else () if column.of else every)
        for k, column in enumerate(columns)
        if column.role in (Role.POISON, Role.OPEN)
    ]


IGNORE = "ignore"


def ignoring(outputs: Sequence[Column]) -> tuple[Column, ...]:
    """Return the additional columns that a file may have, to say what must not be compared in a row: ``ignore``, one
    bit for the whole row; and ``ignore_NAME`` for each result and for the flags, with a bit for each bit of that
    column.
    """
    whole = Column(IGNORE, 1, "i1", Role.IGNORE)
    about = (column for column in outputs if column.role in (Role.RESULT, Role.FLAGS))
    each = (Column(f"{IGNORE}_{one.name}", one.width, f"i{one.width}", Role.IGNORE, one.name) for one in about)
    return (whole, *each)


def check_columns(columns: Sequence[Column]) -> None:
    """Raise ValueError if columns are not in the order of `Role`, share a name, or do not fit their results."""
    names = [column.name for column in columns]
    if not columns:
        raise ValueError("a vector set needs a column")
    if len(set(names)) < len(names):
        raise ValueError(f"two columns have the same name: {', '.join(names)}")
    if sorted(columns, key=lambda column: _ORDER[column.role]) != list(columns):
        raise ValueError(f"the columns must be ordered as {', '.join(role.value for role in Role)}")
    for place, about in marks_of(columns):
        column, widths = columns[place], {columns[k].width for k in about}
        if not about or (column.role is Role.OPEN and len(about) > 1):
            raise ValueError(f"column {column.name!r} must name its result")
        if column.width != 1 if column.role is Role.POISON else {column.width} != widths:
            raise ValueError(f"column {column.name!r} has {column.width} bits, which does not fit its result")
    known = {column.name: column for column in columns if column.role in (Role.RESULT, Role.FLAGS)}
    for column in columns:
        if column.role is Role.IGNORE and column.of:
            about_it = known.get(column.of)
            if about_it is None or about_it.width != column.width:
                raise ValueError(
                    f"column {column.name!r} must have the width of a result or of the flags, '{column.of}'"
                )
        elif column.role is Role.IGNORE and column.width != 1:
            raise ValueError(f"column {column.name!r} has {column.width} bits, but one bit is for a whole row")
        if column.role is Role.FLAGS and column.width != FLAG_BITS:
            raise ValueError(f"column {column.name!r} has {column.width} bits, but there are {FLAG_BITS} flags")


@dataclass
class VectorSet:
    """A set of vectors: ``columns``, and ``chunks``, which may be a stream that can be read once only.

    ``count``: the number of rows, if it is known beforehand. ``description``: what the metadata says of the set beside
    its columns. Iterating gives the chunks, each checked. Raises ValueError for columns that do not make a set
    (`check_columns`).
    """

    columns: tuple[Column, ...]
    chunks: Iterable[Chunk]
    count: int | None = None
    description: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        check_columns(self.columns)

    def __iter__(self) -> Iterator[Chunk]:
        for chunk in self.chunks:
            rows = len(chunk[0])
            for column, codes in zip(self.columns, chunk, strict=True):
                dtype, shape = storage_dtype(column.width), code_shape((rows,), column.width)
                if codes.dtype != dtype or codes.shape != shape:
                    found = f"{codes.dtype}{list(codes.shape)}"
                    raise ValueError(f"column {column.name!r} has codes of {found}, not {dtype}{list(shape)}")
            yield chunk

    def gather(self) -> Chunk:
        """Return all rows as one chunk: for sets that fit into memory."""
        return joined(self.columns, list(self))

    def digest(self) -> str:
        """Return the SHA-256 of the decoded columns: see `Digest`."""
        digest = Digest(self.columns)
        for chunk in self:
            digest.update(chunk)
        return digest.hexdigest()


def joined(columns: Sequence[Column], chunks: Sequence[Chunk]) -> Chunk:
    """Join chunks into a single one."""
    if len(chunks) == 1:
        return chunks[0]
    empty = tuple(np.zeros(code_shape((0,), column.width), storage_dtype(column.width)) for column in columns)
    return tuple(np.concatenate(parts) for parts in zip(*(chunks or [empty]), strict=True))


def rechunked(columns: Sequence[Column], chunks: Iterable[Chunk], rows: int) -> Iterator[Chunk]:
    """Yield the same rows in chunks of exactly ``rows``; only the last one may be shorter, and it is not empty."""
    pending: list[Chunk] = []
    have = 0
    for chunk in chunks:
        start = 0
        while have + len(chunk[0]) - start >= rows:
            stop = start + rows - have
            yield joined(columns, [*pending, tuple(codes[start:stop] for codes in chunk)])
            pending, have, start = [], 0, stop
        if start < len(chunk[0]):
            pending.append(tuple(codes[start:] for codes in chunk))
            have += len(chunk[0]) - start
    if have:
        yield joined(columns, pending)


def settled(columns: Sequence[Column], chunk: Chunk) -> Chunk:
    """Return a chunk in which poison results and unspecified bits of results are 0, so that the remaining bits can be
    compared with another result.
    """
    made = list(chunk)
    for place, about in marks_of(columns):
        codes = chunk[place]
        if codes.any():
            for k in about:
                if columns[place].role is Role.OPEN:
                    made[k] = made[k] & ~codes
                else:
                    made[k] = made[k].copy()
                    made[k][codes != 0] = 0
    return tuple(made)


class Digest:
    """The SHA-256 of the decoded columns of a set; it depends neither on the file format nor on the chunks.

    Each column is hashed by itself, as little-endian codes of its storage dtype (limbs the least significant first),
    after `settled`. The digest is the hash of the columns' description as JSON (`columns_to_text`), a line feed, the
    number of rows in decimal, and, each after a line feed, the columns' hashes in hexadecimal.
    """

    def __init__(self, columns: Sequence[Column]) -> None:
        self.columns = tuple(columns)
        self.count = 0
        self._hashes = [hashlib.sha256() for _ in columns]

    def update(self, chunk: Chunk) -> None:
        """Add the next rows."""
        self.count += len(chunk[0])
        for hashed, codes in zip(self._hashes, settled(self.columns, chunk), strict=True):
            hashed.update(
                np.ascontiguousarray(codes, codes.dtype.newbyteorder("<")).data.cast("B") if codes.size else b""
            )

    def hexdigest(self) -> str:
        """Return the digest of all rows so far."""
        lines = [columns_to_text(self.columns), str(self.count), *(hashed.hexdigest() for hashed in self._hashes)]
        return hashlib.sha256("\n".join(lines).encode()).hexdigest()


class TreeDigest:
    """The digest of a set that is divided into leaves: the root of the hash tree (`root_of`) over their `Digest`s.

    ``leaves``: the number of rows of each leaf. Without it, calls of `end_leaf` say where each leaf ends. With one
    leaf, the digest is that of `Digest`. ``counts``: the rows of the leaves that have ended.
    """

    def __init__(self, columns: Sequence[Column], leaves: Iterable[int] = ()) -> None:
        self.columns = tuple(columns)
        self.count = 0
        self.counts: list[int] = []
        self._sizes = iter(leaves)
        self._digests: list[str] = []
        self._leaf = Digest(self.columns)
        self._size = next(self._sizes, None)

    def update(self, chunk: Chunk) -> None:
        """Add the next rows."""
        start, rows = 0, len(chunk[0])
        self.count += rows
        while start < rows:
            stop = rows if self._size is None else min(rows, start + self._size - self._leaf.count)
            self._leaf.update(tuple(codes[start:stop] for codes in chunk))
            start = stop
            self._end_full_leaves()

    def end_leaf(self) -> None:
        """End the leaf that has the last rows; the next rows belong to another one."""
        self._digests.append(self._leaf.hexdigest())
        self.counts.append(self._leaf.count)
        self._leaf = Digest(self.columns)

    def _end_full_leaves(self) -> None:
        while self._size is not None and self._leaf.count == self._size:
            self.end_leaf()
            self._size = next(self._sizes, None)

    def hexdigest(self) -> str:
        """Return the digest of all rows so far."""
        self._end_full_leaves()
        begun = [self._leaf.hexdigest()] if self._leaf.count or not self._digests else []
        return root_of([*self._digests, *begun])


def root_of(digests: Iterable[str]) -> str:
    """Return the root of the hash tree over some digests in hexadecimal.

    Each pair of neighbours is replaced by one digest: the SHA-256 of both, separated by a line feed. If one is left
    over at the end, it stays as it is. This repeats until one is left. So the root over the nodes of any level is the
    root over the leaves. Without digests it is the SHA-256 of nothing.
    """
    level = list(digests)
    if not level:
        return hashlib.sha256().hexdigest()
    while len(level) > 1:
        pairs = [level[k : k + 2] for k in range(0, len(level), 2)]
        level = [hashlib.sha256("\n".join(pair).encode()).hexdigest() if len(pair) > 1 else pair[0] for pair in pairs]
    return level[0]
