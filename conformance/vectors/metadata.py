"""The JSON document beside a file of vectors: everything needed to read it, check it and make it again.

``metadata.schema.json`` is its JSON schema (draft 2020-12). The text is deterministic: keys are sorted, and there is no
time stamp.
"""

from __future__ import annotations

import io
import json
import os
import platform
import re
import stat
import sys
import zipfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache
from importlib import resources
from importlib.metadata import version
from itertools import chain
from pathlib import Path
from typing import Any, BinaryIO, cast

import numpy as np

from halfulp.conformance.comparing.divergences import divergences
from halfulp.conformance.files import json_of
from halfulp.conformance.vectors.columns import (
    Chunk,
    Column,
    Role,
    VectorSet,
    check_columns,
    columns_from_text,
    fixed_format_of,
    format_of,
    ignoring,
    root_of,
)
from halfulp.conformance.vectors.compressed import expanded, is_compressed, plain_name
from halfulp.conformance.vectors.computation import Computation, OpComputation
from halfulp.conformance.vectors.formats import format_named, format_of_file
from halfulp.conformance.vectors.formats.format import Format, Notes, Options, Written, seekable
from halfulp.conformance.vectors.formats.npz import HEADER
from halfulp.conformance.vectors.formats.text import MARK, digits, spelled
from halfulp.conformance.vectors.packing import CONTAINERS, FORMAT_NAMES, Blocks, Packing, Unmarked
from halfulp.fp_formats import scalar
from halfulp.fp_formats.aliases import did_you_mean
from halfulp.fp_formats.formats import codes_to_ints
from halfulp.fp_formats.policy import Flags
from halfulp.interp.ir.errors import InputError
from halfulp.semantics import SEMANTICS_VERSION, fixed_point
from halfulp.semantics.profile import PROFILE_FIELDS, Profile

SCHEMA_VERSION = 1

METADATA, MERGED = "metadata.json", "sweep.runs"
"""The file names of a sweep's document, and of its shards' tables of runs merged into one."""

Document = dict[str, Any]


@cache
def schema() -> Document:
    """Return the JSON schema of the document."""
    text = resources.files(__package__).joinpath("metadata.schema.json").read_text(encoding="utf-8")
    loaded: Document = json.loads(text)
    return loaded


@dataclass(frozen=True)
class VectorFile:
    """A file of a set, as the metadata describes it: its format, its name without folders (None for a pipe), and the
    packing of its elements.
    """

    format: str
    name: str | None = None
    packing: Packing = CONTAINERS

    def to_json(self) -> Document:
        """Return the file as the document holds it."""
        named = {} if self.name is None else {"name": self.name}
        packed = {} if self.packing == CONTAINERS else {"packing": self.packing.to_json()}
        return {"format": self.format, **named, **packed}


def described_profile(profile: Profile) -> Document:
    """Return a profile with all its fields for the metadata, since its name may have another meaning in another
    version.
    """
    return {"name": profile.name, "fields": {name: getattr(profile, name) for name in PROFILE_FIELDS}}


def _divergences(computation: Computation) -> list[Document]:
    """Return the names of known divergences of real tools that can show in results of an op."""
    case = computation.case if isinstance(computation, OpComputation) else None
    return (
        []
        if case is None
        else [
            {"name": row.name, "tools": list(row.tools), "why": row.why}
            for row in divergences()
            if row.tools and row.is_about(case)
        ]
    )


def document(
    written: Written,
    files: Sequence[VectorFile],
    computation: Computation,
    inputs: Document,
    *,
    unmarked: Unmarked = "refuse",
    anchors: Sequence[Document] = (),
    any_nan: bool = False,
    blocks: Blocks | None = None,
    undefined: int = 0,
) -> Document:
    """Return the document of a written set. ``inputs``: the description of its operands. ``any_nan``: a checker accepts
    any NaN if a result is a NaN. ``undefined``: the number of rows that were left out for undefined behaviour.
    """
    profile = computation.profile
    roles = {column.role for column in written.columns}
    flags = {"tininess": profile.tininess, **{str(flag.name).lower(): int(flag) for flag in Flags}}
    optional = {
        "dropped": written.dropped or None,
        "undefined": undefined or None,
        "blocks": None if blocks is None else blocks.to_json(),
        "divergences": _divergences(computation) or None,
    }
    return {
        "schema_version": SCHEMA_VERSION,
        "generator": {"name": "halfulp", "version": version("halfulp"), "semantics_version": SEMANTICS_VERSION},
        "environment": {
            "python": platform.python_version(),
            "numpy": np.__version__,
            "machine": platform.machine(),
            "system": platform.system(),
        },
        "source": computation.source(),
        "profile": described_profile(profile),
        "inputs": inputs,
        "count": written.count,
        "columns": [column.to_json() for column in written.columns],
        "flags": flags if Role.FLAGS in roles else None,
        "nan": {"result": profile.nan_result, "accept": "any" if any_nan else "exact"},
        "poison": {"encoding": _encoding(roles, files, unmarked)},
        "files": [file.to_json() for file in files],
        "sha256": written.digest,
        "anchors": list(anchors),
        **{key: value for key, value in optional.items() if value is not None},
    }


WITH_X = frozenset({"readmemh", "sv"})
"""Formats that write X for digits without a significant bit."""


def _encoding(roles: set[Role], files: Sequence[VectorFile], unmarked: Unmarked) -> str:
    if not roles & {Role.POISON, Role.OPEN}:
        return unmarked
    return "columns and X digits" if all(file.format in WITH_X for file in files) else "columns"


def to_text(data: Document) -> str:
    """Return the document as text: sorted keys, two spaces of indentation, a line feed at the end."""
    return json.dumps(data, indent=2, sort_keys=True, ensure_ascii=False) + "\n"


# --- reading ----------------------------------------------------------------------------------------------------------

_NEEDED: Mapping[str, type] = {
    "count": int,
    "columns": list,
    "files": list,
    "sha256": str,
    "source": dict,
    "profile": dict,
}


def from_text(text: str | bytes, file: str = "<metadata>") -> Document:
    """Read a document, and check what reading the vectors needs. Raises InputError naming the file."""
    data = json_of(text, file, "write the set again with halfulp vectors make, or give its own file of metadata")
    if not isinstance(data, dict) or "schema_version" not in data:
        raise InputError(f"{file} is not the metadata of a vector set")
    if data["schema_version"] != SCHEMA_VERSION:
        raise InputError(
            f"{file}: version {data['schema_version']!r} of the metadata is not supported, only {SCHEMA_VERSION}"
        )
    for key, kind in _NEEDED.items():
        if not isinstance(data.get(key), kind) or isinstance(data[key], bool):
            raise InputError(f"{file}: '{key}' is missing, or not a {kind.__name__}")
    for listed in data["files"]:
        name = listed.get("name", "x") if isinstance(listed, dict) else None
        if not isinstance(name, str) or not name or not isinstance(listed.get("format"), str):
            raise InputError(f"{file}: {listed!r} in 'files' does not give a file's name and format")
    return data


def of_file(data: Document, name: str) -> Document:
    """Return the metadata of one file of the set: for a shard of a sweep, a document with the shard's own count, digest
    and rows; for any other file, that of the whole set.
    """
    shards = data.get("shards")
    if not isinstance(shards, list):
        return data
    named = [shard for shard in shards if isinstance(shard, dict) and shard.get("file") == name]
    if not named:
        return data
    shard = named[0]
    own = {key: value for key, value in data.items() if key not in ("shards", "dropped", "undefined", "anchors")}
    if not all(isinstance(shard.get(key), kind) for key, kind in _OF_A_SHARD.items()):
        raise InputError(f"the metadata does not fully describe the shard '{name}'")
    # For tables of runs, the document describes the merged table, not the shards.
    files = [file for file in data["files"] if isinstance(file, dict)]
    described = [file for file in files if file.get("name") == name] or [{**file, "name": name} for file in files[:1]]
    return {
        **own,
        "files": described,
        "count": shard["count"],
        "sha256": shard["sha256"],
        "shard": {
            "index": shard["index"],
            "of": len(shards),
            **{k: shard[k] for k in ("rows", "leaves") if k in shard},
        },
        **({"dropped": shard["dropped"]} if shard["dropped"] else {}),
        "anchors": [],
    }


def leaves_of(data: Document) -> Iterator[int]:
    """Return the rows of each leaf of the digest of a document, in order; none for a digest without leaves.

    Raises InputError for a malformed description.
    """
    size = data.get("leaf_rows")
    if size is None:
        return iter(())
    counts: list[Iterable[int]] = []
    try:
        for shard in data.get("shards") or [data["shard"]]:
            start, stop = shard["rows"]
            counts.append(shard.get("leaves") or _leaves(range(start, stop, size)))
        return chain.from_iterable(counts)
    except (TypeError, ValueError, LookupError, AttributeError):
        raise InputError("the metadata does not say which rows its shard has") from None


def _leaves(starts: range) -> Iterator[int]:
    return (min(starts.step, starts.stop - start) for start in starts)


def parts_of(data: Document) -> list[Document]:
    """Return the documents of a sweep's shards, as `of_file` gives them, in their order; for any other set, its own
    document.

    Raises InputError if the digest of the whole is not that of these shards.
    """
    shards = data.get("shards")
    if not isinstance(shards, list):
        return [data]
    parts = [of_file(data, shard["file"]) for shard in shards if isinstance(shard, dict) and "file" in shard]
    if root_of(part["sha256"] for part in parts) != data["sha256"]:
        raise InputError("the digest of the metadata is not that of its shards")
    return parts


_OF_A_SHARD: Mapping[str, type] = {"index": int, "rows": list, "count": int, "dropped": int, "sha256": str}


def columns_of(data: Document) -> tuple[Column, ...]:
    """Return the columns of the set. Raises InputError for a malformed description."""
    return columns_from_text(json.dumps(data["columns"]))


def packing_of(data: Document, name: str | None = None) -> Packing:
    """Return the packing of the file with that name, else of the first file that gives one."""
    files = [file for file in data["files"] if isinstance(file, dict)]
    named = [file for file in files if isinstance(file.get("name"), str)]
    own = [file for file in named if name is not None and plain_name(file["name"]) == plain_name(name)] or files
    try:
        return next((Packing(**file["packing"]) for file in own if "packing" in file), CONTAINERS)
    except (TypeError, ValueError) as error:
        raise InputError(f"the metadata does not describe a packing: {error}") from None


def blocks_of(data: Document) -> Blocks | None:
    """Return the columns of a ``bin`` file that are stored in blocks; None without blocks. Raises InputError for a
    malformed description.
    """
    try:
        blocks = Blocks(**data["blocks"]) if "blocks" in data else None
    except TypeError as error:
        raise InputError(f"the metadata does not describe blocks: {error}") from None
    if blocks is not None and not (
        all(isinstance(text, str) for text in (blocks.element, blocks.scale, blocks.scales))
        and type(blocks.elements) is int
    ):
        raise InputError(f"the metadata does not describe blocks: {data['blocks']!r}")
    return blocks


def options_of(data: Document, name: str | None = None) -> Options:
    """Return the options that read a file of the set: the file with that name, else the first one."""
    return Options(packing=packing_of(data, name), count=data["count"], blocks=blocks_of(data))


def data_file(path: Path, data: Document) -> tuple[Path, str] | None:
    """Find a data file of the set whose metadata is ``path``, and its format; None if none lies beside it.

    Raises InputError for metadata that names files outside of its folder.
    """
    files = [(file["name"], file["format"]) for file in data["files"] if file.get("name") is not None]
    if any(Path(name).name != name for name, _ in files):
        raise InputError(f"{path}: the metadata names files outside of its folder")
    there = [(path.with_name(name), format) for name, format in files]
    return next(((file, format) for file, format in there if file.is_file()), None)


# --- anchors ----------------------------------------------------------------------------------------------------------


class Anchors:
    """Two or three rows that a person can check. They are recorded while the chunks of a set pass: the first row, the
    first row with a finite result other than 0 (an inexact one if there are flags), and the last row.
    """

    def __init__(self, columns: Sequence[Column]) -> None:
        self._columns = tuple(columns)
        self._first: tuple[int, Chunk] | None = None
        self._number: tuple[int, Chunk] | None = None
        self._last: tuple[int, Chunk] | None = None

    def watch(self, chunks: Iterable[Chunk]) -> Iterator[Chunk]:
        """Yield the same chunks, and record the rows."""
        done = 0
        for chunk in chunks:
            rows = len(chunk[0])
            if rows:
                self._first = self._first or (0, _row(chunk, 0))
                if self._number is None:
                    found = next((k for k in range(min(rows, LOOKED_AT)) if self._is_number(_row(chunk, k))), None)
                    self._number = None if found is None else (done + found, _row(chunk, found))
                self._last = (done + rows - 1, _row(chunk, rows - 1))
            yield chunk
            done += rows

    def _is_number(self, row: Chunk) -> bool:
        for column, codes in zip(self._columns, row, strict=True):
            code = codes_to_ints(codes, column.width)[0]
            if (column.role is Role.POISON and code) or (column.role is Role.FLAGS and not code & Flags.INEXACT):
                return False
            if column.role is Role.RESULT:
                fmt = format_of(column)
                number = Fraction(code) if fmt is None else scalar.value(fmt, code)
                if not number:
                    return False
        return True

    def rows(self) -> list[Document]:
        """Return the rows, in their order, as the document holds them."""
        found = {row[0]: row[1] for row in (self._first, self._number, self._last) if row is not None}
        return [self._anchor(number, found[number]) for number in sorted(found)]

    def _anchor(self, number: int, row: Chunk) -> Document:
        codes = {c.name: "0x" + spelled(part, c.width)[0] for c, part in zip(self._columns, row, strict=True)}
        values = {
            column.name: value_text(column, codes_to_ints(part, column.width)[0])
            for column, part in zip(self._columns, row, strict=True)
            if column.role in (Role.OPERAND, Role.RESULT)
        }
        return {"row": number, "codes": codes, "values": values}


LOOKED_AT = 64
"""The number of rows at the start of each chunk that are searched for such a number."""

_SHORT = 24


def _row(chunk: Chunk, k: int) -> Chunk:
    return tuple(codes[k : k + 1].copy() for codes in chunk)


def value_text(column: Column, code: int) -> str:
    """Return the text of the value of a code: a float as the exact number, in decimal if that is short, else as ``m
    * 2^e``; so is a number in fixed point; anything else as an integer in two's complement and, if that differs, also
    as an unsigned one.
    """
    fixed = fixed_format_of(column)
    if fixed is not None:
        exact = fixed_point.value(fixed, code)
        return ("-" if exact < 0 else "") + _exact(abs(exact))
    fmt = format_of(column)
    if fmt is not None:
        number = scalar.value(fmt, code)
        sign = "-" if fmt.signed and code >> (fmt.bits - 1) else ""
        if number is None:
            return "nan" if fmt.is_nan(code) else f"{sign}inf"
        return sign + _exact(abs(number))
    negative = code - (1 << column.width)
    return f"{negative} ({code} unsigned)" if column.width and code >> (column.width - 1) else str(code)


def _exact(number: Fraction) -> str:
    """Return the text of a number that is an integer times a power of two, not negative."""
    places = number.denominator.bit_length() - 1
    if places <= _SHORT and number < 10**_SHORT:
        digits = str(number.numerator * 5**places).rjust(places + 1, "0")
        text = f"{digits[: len(digits) - places]}.{digits[len(digits) - places :]}".rstrip("0")
        if len(text) <= _SHORT:
            return text + "0" if text.endswith(".") else text
    exponent = (number.numerator & -number.numerator).bit_length() - 1 - places
    return f"{number.numerator >> max(exponent + places, 0)} * 2^{exponent}"


# --- opening ----------------------------------------------------------------------------------------------------------
#
# Open a file of vectors, recognise its format, and find its columns.

HEAD = 1 << 16
"""The bytes from which a format is recognised."""
FORMATS_WITH_NAMES = ("csv", "jsonl", "npy", "npz")
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
    """A context manager that opens a file, and gives it with its first bytes; for a compressed file both are of its
    content.
    """
    with _opened(path) as (file, head):
        if not is_compressed(head):
            yield file, head
            return
        inside = expanded(file, head, "<stdin>" if path == "-" else path)
        head = inside.read(HEAD)
        yield cast("BinaryIO", io.BufferedReader(_Peeked(head, inside), 1 << 20)), head


@contextmanager
def _opened(path: str) -> Iterator[tuple[BinaryIO, bytes]]:
    if path == "-":
        head = sys.stdin.buffer.read(HEAD)
        yield cast("BinaryIO", io.BufferedReader(_Peeked(head, sys.stdin.buffer), 1 << 20)), head
        return
    try:
        file = Path(path).open("rb")  # noqa: SIM115
        mode = os.fstat(file.fileno()).st_mode
        # A device such as /dev/zero never ends, and a terminal does.
        if not (stat.S_ISREG(mode) or stat.S_ISFIFO(mode) or file.isatty()):
            file.close()
            raise InputError(f"cannot read {path!r}: it is not a regular file")
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
    """Raise InputError for a file that cannot be read. A caller uses it first, so that this error is raised before any
    other.
    """
    # A pipe or a terminal can be read only once.
    if path != "-" and not Path(path).is_fifo() and not Path(path).is_char_device():
        with opened(path):
            pass


def format_of_vectors(path: str, head: bytes) -> Format:
    """Choose the format of a file by its name, else by its content. Raise InputError if no format fits."""
    named = None if path == "-" else format_of_file(plain_name(path))
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
    options = Options() if asked.document is None else options_of(asked.document, plain_name(Path(name).name))
    options = replace(options, file=name, notes=notes)
    try:
        if format_.name == "npz":
            file = cast("BinaryIO", seekable(file))
        names = _names(file, head, format_)
        if columns is not None:
            return format_.read(file, _named_columns(columns, asked.computation), options)
        if names is None:
            return format_.read(file, None, options)
        found = _columns(head, names, format_, asked, flags)
        if format_.name in FORMATS_WITH_NAMES:
            notes.skipped = _skipped(name, names, asked.computation)
        return format_.read(file, found, options)
    except OSError as error:
        raise InputError(f"cannot read {name!r}: {error.strerror}") from None


def _names(file: BinaryIO, head: bytes, format_: Format) -> frozenset[str] | None:
    """Return the names that a file has beside its vectors; None if it describes its columns."""
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
    line = head if format_.name == "npy" else head.partition(b"\n")[0]
    return frozenset(filter(None, _NAMES.get(format_.name, _ANY_NAME).findall(line.decode("latin-1"))))


_ANY_NAME = re.compile("[A-Za-z_][A-Za-z0-9_]*")
_NAMES = {
    "csv": re.compile(r'(?:^|,)\s*"?([^",\r\n]*[^",\s])'),
    "jsonl": re.compile(r'"([^"]*)"\s*:'),
    "npy": re.compile(r"\('([^']*)',"),
}
"""The names in the first line of formats whose files name their columns."""


def _skipped(file: str, names: frozenset[str], computation: Computation) -> tuple[str, ...]:
    """Return the names in a file that are not columns. Raise InputError if one of them is nearly the name of a column
    that the file lacks, because a misspelt column would not be compared.
    """
    known = {column.name for column in (*computation.inputs, *computation.outputs, *ignoring(computation.outputs))}
    for name in sorted(names - known):
        hint = did_you_mean(name, known - names)
        if hint is not None:
            raise InputError(
                f"{file}: there is no column '{name}' in what is computed", hint=f"{hint} --columns names those to read"
            )
    return tuple(sorted(names - known))


def _named_columns(given: str, computation: Computation) -> tuple[Column, ...]:
    """Return the columns of these names. Raise InputError."""
    by_name = {column.name: column for column in (*computation.inputs, *computation.outputs)}
    by_name |= {column.name: column for column in ignoring(computation.outputs)}
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
    known = (*computation.inputs, *computation.outputs) if asked.document is None else columns_of(asked.document)
    columns = tuple(column for column in known if column.role in format_.carries)
    if flags is False:
        columns = tuple(column for column in columns if column.role is not Role.FLAGS)
    if format_.name in FORMATS_WITH_NAMES:
        marks = (Role.FLAGS, Role.POISON, Role.OPEN)
        found = tuple(column for column in columns if column.role not in marks or column.name in names)
        return found + tuple(column for column in ignoring(computation.outputs) if column.name in names)
    if format_.name in WORDS:
        first = _FIRST_WORD.search(head)
        bare = tuple(column for column in columns if column.role not in (Role.POISON, Role.OPEN))
        if first is not None and len(first[1]) == sum(digits(column.width) for column in bare):
            return bare
    return columns
