"""Open a file of vectors, recognise its format, and find its columns."""

from __future__ import annotations

import io
import re
import sys
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, BinaryIO, cast

from halfulp.conformance.vectors import metadata
from halfulp.conformance.vectors.columns import Column, Role, VectorSet, check_columns
from halfulp.conformance.vectors.computation import Computation
from halfulp.conformance.vectors.formats import format_named, format_of_file
from halfulp.conformance.vectors.formats.format import Format, Notes, Options, seekable
from halfulp.conformance.vectors.formats.npz import HEADER
from halfulp.conformance.vectors.formats.text import MARK, digits
from halfulp.conformance.vectors.metadata import Document
from halfulp.conformance.vectors.names import FORMAT_NAMES
from halfulp.fp_formats.suggestions import did_you_mean
from halfulp.interp.ir.errors import InputError

HEAD = 1 << 16
"""The bytes from which a format is recognised."""
NAMED = ("csv", "jsonl", "npy", "npz")
"""Formats whose files name their columns at the start."""
WORDS = ("readmemh", "coe")
"""Formats whose word length tells whether there are columns for poison and unspecified bits."""
_FIRST_WORD = re.compile(rb"(?:^|[\n=])[ \t]*([0-9A-Fa-fXxZz]+)[ \t]*[,;\r\n]")
_WORDS = re.compile(rb"\s*[0-9A-Fa-fXxZz]+([ \t]+[0-9A-Fa-fXxZz]+)+[ \t]*\r?\n?")
_SIGNS: tuple[tuple[str, re.Pattern[bytes]], ...] = (
    ("npz", re.compile(rb"PK\x03\x04")),
    ("npy", re.compile(rb"\x93NUMPY")),
    ("sv", re.compile(rb"(//.*\n|\s)*package ")),
    ("c", re.compile(rb"(//.*\n|\s)*#ifndef ")),
    ("mlir", re.compile(rb"(//.*\n|\s)*func\.func ")),
    ("coe", re.compile(rb"(;.*\n|\s)*memory_initialization_radix")),
    ("runs", re.compile(rb"# halfulp-columns")),
    ("jsonl", re.compile(rb"\s*\{")),
    ("testfloat", _WORDS),
    ("csv", re.compile(rb"\s*\"?[A-Za-z_][A-Za-z0-9_]*\"?\s*,")),
    ("readmemh", re.compile(rb"\s*(//|/\*|@[0-9A-Fa-f]+\s|[0-9A-Fa-fXxZz_]+\s*(\n|//|$))")),
)
"""The start of each format, the surest first; ``bin`` has none."""


@dataclass(frozen=True)
class CheckedAgainst:
    """The computation that a file is compared with. ``document``: the metadata; ``metadata``: its name."""

    computation: Computation
    document: Document | None = None
    metadata: str = ""


class _Peeked(io.RawIOBase):
    """A stream that cannot seek, with the bytes that were read put back in front."""

    def __init__(self, head: bytes, rest: BinaryIO) -> None:
        super().__init__()
        self._head, self._rest = head, rest

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        data = self._head[: len(buffer)] or self._rest.read(len(buffer))
        self._head = self._head[len(data) :]
        buffer[: len(data)] = data
        return len(data)


@contextmanager
def opened(path: str) -> Iterator[tuple[BinaryIO, bytes]]:
    """Open a file, and read its first bytes."""
    if path == "-":
        head = sys.stdin.buffer.read(HEAD)
        yield cast("BinaryIO", io.BufferedReader(_Peeked(head, sys.stdin.buffer), 1 << 20)), head
        return
    try:
        file = Path(path).open("rb")  # noqa: SIM115
        head = file.read(HEAD)
    except OSError as error:
        raise InputError(f"cannot read {path!r}: {error.strerror}") from None
    with file:
        if file.seekable():
            file.seek(0)
            yield file, head
        else:
            yield cast("BinaryIO", io.BufferedReader(_Peeked(head, file), 1 << 20)), head


def see(path: str) -> None:
    """Raise InputError for a file that cannot be read, before any other error."""
    # A pipe or a terminal can be read only once.
    if path != "-" and not Path(path).is_fifo() and not Path(path).is_char_device():
        with opened(path):
            pass


def format_of_vectors(path: str, head: bytes) -> Format:
    """Choose the format of a file by its name, else by its content. Raise InputError where none fits."""
    named = None if path == "-" else format_of_file(path)
    if named is not None:
        return named
    found = next((name for name, sign in _SIGNS if sign.match(head)), None)
    if found is None:
        what = "is empty" if not head else "is in no format that could be recognised"
        raise InputError(f"{path}: the file {what}", hint=f"give --format, one of {', '.join(FORMAT_NAMES)}")
    return format_named(found)


def vectors_of(
    path: str,
    file: BinaryIO,
    head: bytes,
    format_: Format,
    asked: CheckedAgainst,
    notes: Notes,
    *,
    columns: str | None = None,
    flags: bool | None = None,
) -> VectorSet:
    """Read the rows of an opened file, by the columns of the file, of the metadata or of the computation.

    ``columns``: the names of the columns, with commas. ``flags``: False for a file without exception flags.
    """
    name = "<stdin>" if path == "-" else path
    options = Options() if asked.document is None else metadata.options_of(asked.document, Path(name).name)
    options = replace(options, file=name, notes=notes)
    try:
        if format_.name == "npz":
            file = cast("BinaryIO", seekable(file))
        names = _names(file, head, format_)
        if columns is not None:
            return format_.read(file, _named_columns(columns, asked.computation), options)
        return format_.read(file, None if names is None else _columns(head, names, format_, asked, flags), options)
    except OSError as error:
        raise InputError(f"cannot read {name!r}: {error.strerror}") from None


def _names(file: BinaryIO, head: bytes, format_: Format) -> frozenset[str] | None:
    """Return the names that a file has beside its vectors; None where it describes its columns."""
    if format_.name == "npz":
        try:
            with zipfile.ZipFile(file) as archive:
                names = frozenset(name.removesuffix(".npy") for name in archive.namelist())
        except (zipfile.BadZipFile, ValueError, NotImplementedError):
            return None
        finally:
            file.seek(0)
        return None if HEADER in names else names
    if format_.describes and MARK.encode() in head:
        return None
    return frozenset(re.findall(r"[A-Za-z_][A-Za-z0-9_]*", head.partition(b"\n")[0].decode("latin-1")))


def _named_columns(given: str, computation: Computation) -> tuple[Column, ...]:
    """Return the columns of these names. Raise InputError."""
    by_name = {column.name: column for column in (*computation.inputs, *computation.outputs)}
    names = [name.strip() for name in given.split(",")]
    unknown = next((name for name in names if name not in by_name), None)
    if unknown is not None:
        raise InputError(
            f"--columns: there is no column '{unknown}'; there are {', '.join(by_name)}",
            hint=did_you_mean(unknown, by_name),
        )
    columns = tuple(by_name[name] for name in names)
    try:
        check_columns(columns)
    except ValueError as error:
        raise InputError(f"--columns: {error}") from None
    return columns


def _columns(
    head: bytes, names: frozenset[str], format_: Format, asked: CheckedAgainst, flags: bool | None
) -> tuple[Column, ...]:
    """Return the columns of a file that does not describe them. ``names``: the names in the file."""
    computation = asked.computation
    known = (
        (*computation.inputs, *computation.outputs) if asked.document is None else metadata.columns_of(asked.document)
    )
    columns = tuple(column for column in known if column.role in format_.carries)
    if flags is False:
        columns = tuple(column for column in columns if column.role is not Role.FLAGS)
    if format_.name in NAMED:
        marks = (Role.FLAGS, Role.POISON, Role.OPEN)
        return tuple(column for column in columns if column.role not in marks or column.name in names)
    if format_.name in WORDS:
        first = _FIRST_WORD.search(head)
        bare = tuple(column for column in columns if column.role not in (Role.POISON, Role.OPEN))
        if first is not None and len(first[1]) == sum(digits(column.width) for column in bare):
            return bare
    return columns
