"""The text of regular files: rows of hexadecimal digits between fixed characters, written and read by whole columns.

A `Row` is the form of one vector: fixed bytes and `Hex` fields. All rows of a set have one length, so that a column is
a strided view of the text, and tables convert between bytes and digits. Other lines (comments, other spacing) are read
one by one by a function of the format.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import IO, Any, BinaryIO, ClassVar

import numpy as np
import numpy.typing as npt

from halfulp.conformance.vectors.columns import (
    Chunk,
    Column,
    Role,
    VectorSet,
    by_row,
    columns_from_text,
    columns_to_text,
    marks_of,
    results_of,
)
from halfulp.conformance.vectors.formats import format as formats
from halfulp.conformance.vectors.formats.format import EVERY_ROLE, Format, Options, malformed
from halfulp.fp_formats.formats import Codes, code_shape, codes_to_ints, ints_to_codes, storage_dtype
from halfulp.interp.ir.errors import InputError

BLOCK = 1 << 15
"""Number of rows that are made or read at once: their text stays in the cache."""

FEWEST = 1 << 5
"""Least number of rows that are examined as a block."""

SLOW_LINES = 1 << 12
"""Most lines that are read one by one before regular rows are looked for again."""

MARK = "halfulp-columns: "
"""The text before the description of the columns in a comment."""

_UNKNOWN = 0x100
_X = ord("X")


@dataclass(frozen=True)
class Hex:
    """A field of a row: the bits ``low`` up to ``low + bits`` of column number ``column``, in upper-case hexadecimal
    with all digits.
    """

    column: int
    low: int
    bits: int

    @property
    def digits(self) -> int:
        """Return the number of characters of the field: at least one."""
        return digits(self.bits)


Row = Sequence[bytes | Hex]


def digits(width: int) -> int:
    """Return the number of hexadecimal digits of a code."""
    return max(1, -(-width // 4))


def whole_code(columns: Sequence[Column], position: int) -> Hex:
    """Return the field that holds a column's whole code."""
    return Hex(position, 0, columns[position].width)


def whole_codes(columns: Sequence[Column], between: bytes = b"", before: bytes = b"") -> Row:
    """Return the fields of all columns, with fixed bytes ``between`` them and ``before`` each."""
    row: list[bytes | Hex] = []
    for position in range(len(columns)):
        row += [(between if position else b"") + before, whole_code(columns, position)]
    return row


@cache
def _two_digits() -> npt.NDArray[np.uint16]:
    """Return the two characters of a byte, in the order that they have in memory."""
    return np.frombuffer(b"".join(b"%02X" % byte for byte in range(256)), np.uint16)


@cache
def _one_digit() -> npt.NDArray[np.uint8]:
    return np.frombuffer(b"0123456789ABCDEF" * 16, np.uint8)


@cache
def _two_values() -> npt.NDArray[np.uint16]:
    """Return a table that gives, for two characters in the order of memory, the byte that they spell, or `_UNKNOWN`."""
    table = np.full(1 << 16, _UNKNOWN, np.uint16)
    for spelled in (b"%X%X", b"%x%x", b"%X%x", b"%x%X"):
        for byte in range(256):
            table[np.frombuffer(spelled % (byte >> 4, byte & 15), np.uint16)] = byte
    return table


@cache
def _one_value() -> npt.NDArray[np.uint16]:
    table = np.full(256, _UNKNOWN, np.uint16)
    for value in range(16):
        table[list(b"%X%x" % (value, value))] = value
    return table


@dataclass(frozen=True)
class _Piece:
    """One byte of a column, and the place of its one or two digits in the row."""

    column: int
    byte: int
    offset: int
    size: int


class RowText:
    """The text of rows: see the module. ``dont_care``: digits without a significant bit are written as X.

    A digit does not count if the result is poison, or if all its bits are unspecified.
    """

    def __init__(self, columns: Sequence[Column], row: Row, dont_care: bool = False) -> None:
        self.columns = tuple(columns)
        self.dont_care = dont_care
        self.template = b"".join(part if isinstance(part, bytes) else b"0" * part.digits for part in row)
        self.length = len(self.template)
        self._pieces: list[_Piece] = []
        self._fields: list[tuple[Hex, int]] = []
        self._literals: list[tuple[int, Any]] = []
        offset = 0
        for part in row:
            if isinstance(part, bytes):
                self._literals += _in_words(part, offset)
                offset += len(part)
                continue
            self._fields.append((part, offset))
            end = offset + part.digits
            for k in range(-(-part.digits // 2)):
                start = max(offset, end - 2 * k - 2)
                self._pieces.append(_Piece(part.column, part.low // 8 + k, start, end - 2 * k - start))
            offset = end
        self._room = bytearray(self.template * BLOCK)

    def encode(self, chunk: Chunk) -> Iterator[memoryview]:
        """Yield the rows of a chunk as text. Each step overwrites the text of the step before."""
        for start in range(0, len(chunk[0]), BLOCK):
            part = tuple(codes[start : start + BLOCK] for codes in chunk)
            rows = len(part[0])
            stored = [_stored_bytes(codes) for codes in part]
            for piece in self._pieces:
                table: Any = _two_digits() if piece.size == 2 else _one_digit()
                self._view(self._room, piece, rows)[:] = np.take(table, stored[piece.column][:, piece.byte])
            if self.dont_care:
                self._mark(part, np.frombuffer(self._room, np.uint8)[: rows * self.length].reshape(rows, self.length))
            yield memoryview(self._room)[: rows * self.length]

    def _view(self, text: Any, piece: _Piece, rows: int) -> npt.NDArray[Any]:
        dtype = np.dtype(np.uint16 if piece.size == 2 else np.uint8)
        return np.ndarray((rows,), dtype, text, piece.offset, (self.length,))

    def _mark(self, chunk: Chunk, text: npt.NDArray[np.uint8]) -> None:
        for field, rows, open_digits in self._free_digits(chunk):
            start = next(offset for own, offset in self._fields if own is field)
            block = text[rows, start : start + field.digits]
            block[open_digits] = _X
            text[rows, start : start + field.digits] = block

    def _free_digits(self, chunk: Chunk) -> Iterator[tuple[Hex, npt.NDArray[np.intp], npt.NDArray[np.bool_]]]:
        """Return, for each field of a result, the rows that have digits without a significant bit, and these digits."""
        for column, codes in zip(self.columns, chunk, strict=True):
            if column.role not in (Role.POISON, Role.OPEN) or not codes.any():
                continue
            rows = np.flatnonzero(by_row(codes != 0))
            about = results_of(self.columns, column)
            for field, _ in self._fields:
                if field.column not in about:
                    continue
                if column.role is Role.POISON:
                    yield field, rows, np.ones((len(rows), field.digits), np.bool_)
                    continue
                bits = np.unpackbits(_stored_bytes(codes[rows]), axis=1, bitorder="little")
                own = np.ones((len(rows), field.digits * 4), np.uint8)
                own[:, : field.bits] = bits[:, field.low : field.low + field.bits]
                every = np.logical_and.reduce(own.reshape(len(rows), field.digits, 4), axis=2)
                yield field, rows, every[:, ::-1]

    def decode(self, text: bytes | bytearray, rows: int) -> tuple[Chunk, int]:
        """Read the text of ``rows`` rows. Return a chunk, and the number of rows at its start that are well-formed; the
        other rows of the chunk have no meaning.
        """
        grid = np.frombuffer(text, np.uint8, rows * self.length).reshape(rows, self.length)
        bad: npt.NDArray[np.bool_] = np.zeros(rows, np.bool_)
        for offset, word in self._literals:
            differs = np.not_equal(np.ndarray((rows,), word.dtype, text, offset, (self.length,)), word)
            if differs.any():
                bad |= differs
        stored = [
            np.zeros((rows, column.bytes), np.uint8) if column.bytes > 1 else np.empty((rows, 1), np.uint8)
            for column in self.columns
        ]
        unknown: list[_Piece] = []
        read = set[tuple[int, int]]()
        for piece in self._pieces:
            table = _two_values() if piece.size == 2 else _one_value()
            values = np.take(table, self._view(text, piece, rows))
            if values.max(initial=0) >= _UNKNOWN:
                unknown.append(piece)
            kept = stored[piece.column][:, piece.byte]
            if (piece.column, piece.byte) in read:  # a field that the row repeats
                bad |= kept != values
            read.add((piece.column, piece.byte))
            kept[:] = values
        chunk = tuple(_from_bytes(part, column.width) for part, column in zip(stored, self.columns, strict=True))
        if unknown:
            bad |= self._strange(grid, chunk, unknown, stored)
            chunk = tuple(_from_bytes(part, column.width) for part, column in zip(stored, self.columns, strict=True))
        for column, codes in zip(self.columns, chunk, strict=True):
            wide = formats.too_wide(codes, column.width)
            if wide is not None:
                bad |= wide
        return chunk, int(np.argmax(bad)) if bad.any() else rows

    def _strange(
        self, grid: npt.NDArray[np.uint8], chunk: Chunk, unknown: Sequence[_Piece], stored: Sequence[Codes]
    ) -> npt.NDArray[np.bool_]:
        """Return the rows with a character that is neither a digit nor an X without significant bits; the latter are
        read as 0.
        """
        allowed = np.zeros(grid.shape, np.bool_)
        if self.dont_care:
            for field, rows, free in self._free_digits(chunk):
                start = next(offset for own, offset in self._fields if own is field)
                allowed[rows, start : start + field.digits] |= free
        zeroed = np.where(allowed & ((grid == _X) | (grid == ord("x"))), ord("0"), grid).astype(np.uint8)
        bad = np.zeros(len(grid), np.bool_)
        for piece in unknown:
            table = _two_values() if piece.size == 2 else _one_value()
            values = np.take(table, self._view(zeroed, piece, len(grid)))
            bad |= values >= _UNKNOWN
            stored[piece.column][:, piece.byte] = values
        return bad


def _in_words(fixed: bytes, offset: int) -> Iterator[tuple[int, Any]]:
    """Return fixed bytes as unsigned integers of up to 8 bytes, each with its place, so that few comparisons check many
    bytes.
    """
    place = 0
    while place < len(fixed):
        size = next(size for size in (8, 4, 2, 1) if size <= len(fixed) - place)
        yield offset + place, np.frombuffer(fixed, f"u{size}", 1, place)[0]
        place += size


def _stored_bytes(codes: Codes) -> npt.NDArray[np.uint8]:
    """Return the bytes of each code, the least significant first: shape (rows, bytes)."""
    little = np.ascontiguousarray(codes, codes.dtype.newbyteorder("<"))
    size = little.dtype.itemsize * (codes.shape[1] if codes.ndim > 1 else 1)
    return little.view(np.uint8).reshape(len(codes), size)


def _from_bytes(data: npt.NDArray[np.uint8], width: int) -> Codes:
    dtype = storage_dtype(width)
    codes = data.view(dtype.newbyteorder("<")).astype(dtype, copy=False)
    return codes.reshape(code_shape((len(data),), width))


# --- files ------------------------------------------------------------------------------------------------------------


def described(columns: Sequence[Column]) -> str:
    """Return the text of a comment that describes the columns. `find_columns` reads it."""
    return MARK + columns_to_text(columns)


_DESCRIBED = re.compile(re.escape(MARK.encode()) + rb"(\[.*\])")

HEAD = 1 << 16
"""Number of bytes at the start of a file in which the description of its columns is looked for."""


def find_columns(head: bytes) -> tuple[Column, ...] | None:
    """Return the columns that a comment in the first bytes of a file describes; None if there is none."""
    found = _DESCRIBED.search(head)
    return columns_from_text(found[1]) if found else None


def described_source(
    file: BinaryIO, columns: tuple[Column, ...] | None, format: str, options: Options
) -> tuple[LineSource, tuple[Column, ...]]:
    """Return the lines of a file, and its columns: ``columns``, or those that a comment of the file describes.

    Raises InputError if there are none, or if both exist and differ.
    """
    source = LineSource(file)
    source.fill(HEAD)
    return source, formats.same_columns(columns, find_columns(source.data[:HEAD]), format, options)


def write_rows(vectors: VectorSet, file: IO[bytes], row: Row, dont_care: bool = False, skip: int = 0) -> int:
    """Write every row, and return the number of rows. ``skip``: the number of bytes at the start of the whole text that
    are not written.
    """
    text, count = RowText(vectors.columns, row, dont_care), 0
    for chunk in vectors:
        for block in text.encode(chunk):
            file.write(block[skip:])
            skip = 0
        count += len(chunk[0])
    return count


class Lines(ABC):
    """The reader of lines that are not regular rows, with its state."""

    #: Whether a file tells the number of its rows.
    ends: ClassVar[bool] = False

    def __init__(self, columns: tuple[Column, ...]) -> None:
        self.columns = columns
        #: The number of rows that the file tells; None until it is told.
        self.count: int | None = None
        #: Whether the last line that was read is inside of a row, which then has more lines than one.
        self.inside = False

    @abstractmethod
    def read(self, text: str, done: int) -> Iterable[Sequence[str]]:
        """Return the rows of a line, one word per column; none for a comment. ``done``: the number of rows before it.

        Raises ValueError with what is wrong in the line.
        """


class LineSource:
    """The lines of a file with their numbers, read in blocks; CR LF counts as LF."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._held = b""
        self.data = b""
        self.line = 1
        self.ended = False

    def fill(self, size: int) -> None:
        """Read until at least ``size`` bytes are there, or the file ends."""
        while len(self.data) < size and not self.ended:
            read = self._file.read(max(size, 1 << 16))
            self.ended = not read
            read = self._held + read
            self._held = b"\r" if read.endswith(b"\r") and not self.ended else b""
            self.data += read[: len(read) - len(self._held)].replace(b"\r\n", b"\n")

    def drop(self, size: int, lines: int) -> None:
        """Consume the first ``size`` bytes, which hold that many lines."""
        self.data = self.data[size:]
        self.line += lines


def read_rows(
    source: LineSource,
    columns: tuple[Column, ...],
    row: Row,
    line: Lines,
    options: Options,
    dont_care: bool = False,
) -> Iterator[Chunk]:
    """Yield the rows from here to the end of a file. ``row`` must match one whole line.

    Raises InputError if the file states another number of rows, or none although it should, and after `MOST_WITHOUT`
    lines without a row.
    """
    text = RowText(columns, row, dont_care)
    lines_of_row = text.template.count(b"\n")
    most = rows = min(BLOCK, options.rows)
    slowly, done, without = 1, 0, 0
    while True:
        source.fill(rows * text.length)
        here = min(rows, len(source.data) // text.length)
        # One row first: if the block does not begin with a row, most of it would be read for nothing.
        good = here and text.decode(source.data, 1)[1]
        if good:
            chunk, good = text.decode(source.data, here)
            if options.notes is not None:
                options.notes.stand(done, source.line, lines_of_row)
            yield tuple(codes[:good] for codes in chunk)
            # If other lines come between, little is read twice.
            rows = min(most, 2 * rows if good == rows else max(2 * good, FEWEST))
            source.drop(good * text.length, good * lines_of_row)
            done, slowly, without = done + good, 1, 0
            continue
        if not source.data:
            break
        chunk, skipped, lines = _line_by_line(source, columns, line, options, done, slowly, dont_care)
        for start in range(0, len(chunk[0]), rows):
            yield tuple(codes[start : start + rows] for codes in chunk)
        source.drop(skipped, lines)
        done, slowly = done + len(chunk[0]), min(2 * slowly, SLOW_LINES)
        without = 0 if len(chunk[0]) else without + lines
        if without > MOST_WITHOUT:
            raise malformed(f"more than {MOST_WITHOUT} lines in succession without a row", options, source.line)
    if line.ends and line.count is None:
        raise malformed("the file ends too early", options, source.line)
    if line.ends and line.count != done:
        raise malformed(f"{done} rows in a file that should have {line.count}", options, source.line)


LONGEST = 1 << 20
"""Most bytes of a line that is read."""

MOST_WITHOUT = 1 << 20
"""Most comments and empty lines between two rows: a small compressed file may expand to many more."""


def _line_by_line(
    source: LineSource,
    columns: tuple[Column, ...],
    line: Lines,
    options: Options,
    done: int,
    most: int,
    dont_care: bool,
) -> tuple[Chunk, int, int]:
    """Return the rows of the next lines, read one by one, and the number of bytes and lines that they take."""
    words: list[Sequence[str]] = []
    numbers: list[int] = []
    place = lines = 0
    # Regular rows are looked for only where a row begins.
    while lines < most + line.inside * (len(columns) + 1):
        end = source.data.find(b"\n", place)
        if end < 0 and not source.ended:
            if len(source.data) - place > LONGEST:
                raise malformed(f"the line is longer than {LONGEST} bytes", options, source.line + lines)
            if lines:
                break
            source.fill(len(source.data) + LONGEST)
            continue
        if end < 0 and place == len(source.data):
            break
        stop = len(source.data) if end < 0 else end
        content = source.data[place:stop].decode("utf-8", "replace").strip()
        try:
            found = list(line.read(content, done + len(words)))
        except ValueError as error:
            raise malformed(f"{error!s}: {content[:80]!r}", options, source.line + lines) from None
        words += found
        numbers += [source.line + lines] * len(found)
        place, lines = stop + (end >= 0), lines + 1
    if options.notes is not None:
        for k, number in enumerate(numbers):
            # With several rows in a line, or several lines in a row, the last line is recorded.
            options.notes.stand(done + k, number, 1)
    return _rows(words, numbers, columns, options, dont_care, done), place, lines


def _rows(
    words: Sequence[Sequence[str]],
    numbers: Sequence[int],
    columns: tuple[Column, ...],
    options: Options,
    dont_care: bool,
    done: int,
) -> Chunk:
    codes: list[list[int]] = [[] for _ in columns]
    unknown: list[list[int]] = [[] for _ in columns]
    for own, number in zip(words, numbers, strict=True):
        if len(own) != len(columns):
            raise malformed(f"{len(own)} words for {len(columns)} columns", options, number)
        for k, (word, column) in enumerate(zip(own, columns, strict=True)):
            may = column.role is Role.RESULT and dont_care
            if options.notes is not None and column.role in (Role.RESULT, Role.FLAGS):
                may, word = True, word.translate(_Z_TO_X)
            code = _code(word.translate(_X_TO_0) if may else word)
            if code is None or code >> column.width:
                message = f"{word[:80]!r} is not a code of {column.width} bits in hexadecimal, for '{column.name}'"
                raise malformed(message, options, number)
            codes[k].append(code)
            unknown[k].append(int(word.translate(_ONLY_X), 16) if may else 0)
    marks = marks_of(columns)
    for k, column in enumerate(columns):
        if not any(unknown[k]):
            continue
        own_marks = [place for place, results in marks if k in results]
        for row, mask in enumerate(unknown[k]):
            mask &= (1 << column.width) - 1
            if not mask or not mask & ~_free(columns, codes, own_marks, column, row):
                continue
            if options.notes is not None:
                options.notes.unknown.setdefault(done + row, {})[column.name] = words[row][k]
            else:
                raise malformed(
                    f"'{column.name}' has an X, but is neither poison nor unspecified there", options, numbers[row]
                )
    return tuple(ints_to_codes(own, column.width, (len(words),)) for own, column in zip(codes, columns, strict=True))


_HEX = re.compile(r"[0-9A-Fa-f]+")
_Z_TO_X = str.maketrans("Zz", "XX")
_X_TO_0 = str.maketrans("Xx", "00")
_ONLY_X = str.maketrans({**dict.fromkeys("0123456789abcdefABCDEF", "0"), "X": "f", "x": "f"})


def _code(word: str) -> int | None:
    return int(word, 16) if _HEX.fullmatch(word) else None


def _free(
    columns: Sequence[Column], codes: Sequence[Sequence[int]], marks: Sequence[int], result: Column, row: int
) -> int:
    """Return the bits of a result that do not count. ``marks``: its columns of poison and of unspecified bits."""
    free = 0
    for k in marks:
        if columns[k].role is Role.OPEN:
            free |= codes[k][row]
        elif codes[k][row]:
            free |= (1 << result.width) - 1
    return free


def spelled(codes: Codes, width: int) -> list[str]:
    """Return codes as words of upper-case hexadecimal digits, with all digits of the width."""
    return [f"{code:0{digits(width)}X}" for code in codes_to_ints(codes, width)]


# --- numbering --------------------------------------------------------------------------------------------------------
#
# Number the rows, for formats that write a number in front of each row.

INDEX = Column("halfulp_index", 32, "i32", Role.OPERAND)

MOST = (1 << 31) - 1
"""Most rows that an ``int`` can count."""


def numbered(vectors: VectorSet) -> VectorSet:
    """Return the set with a column `INDEX` in front, which numbers the rows. Its chunks raise InputError for too many
    rows.
    """

    def chunks() -> Iterator[Chunk]:
        done = 0
        for chunk in vectors:
            rows = len(chunk[0])
            if done + rows > MOST:
                raise InputError(f"this format has a number for each vector, so a file can have at most {MOST} vectors")
            yield (np.arange(done, done + rows, dtype=np.uint32), *chunk)
            done += rows

    return VectorSet((INDEX, *vectors.columns), chunks())


def without_numbers(chunks: Iterable[Chunk], options: Options) -> Iterator[Chunk]:
    """Yield the chunks without the numbers that `numbered` put in front. Raises InputError unless these count up from
    0.
    """
    done = 0
    for chunk in chunks:
        rows = len(chunk[0])
        if (chunk[0] != np.arange(done, done + rows)).any():
            raise malformed(f"the numbers of rows {done} to {done + rows - 1} do not count up from 0", options)
        yield chunk[1:]
        done += rows


# --- formats ----------------------------------------------------------------------------------------------------------


def text_format(
    name: str,
    suffix: str,
    row: Callable[[Sequence[Column]], Row],
    lines: Callable[[tuple[Column, ...]], Lines],
    head: Callable[[Sequence[Column]], str] = lambda columns: "",
    write: Callable[[VectorSet, BinaryIO, Options], None] | None = None,
    *,
    carries: frozenset[Role] = EVERY_ROLE,
    describes: bool = False,
    dont_care: bool = False,
    numbers: bool = False,
) -> Format:
    """Return a format of rows of text. ``row``: the form of a row; ``lines``: the reader of other lines.

    ``head``: the text before the rows; or ``write`` writes a whole file. ``dont_care``: as for `RowText`. ``numbers``:
    the rows that ``row`` and ``lines`` get have `INDEX` in front.
    """

    def plain_write(vectors: VectorSet, file: BinaryIO, options: Options) -> None:
        file.write(head(vectors.columns).encode())
        write_rows(vectors, file, row(vectors.columns), dont_care)

    def read(file: BinaryIO, columns: tuple[Column, ...] | None, options: Options) -> VectorSet:
        if describes:
            source, known = described_source(file, columns, name, options)
        else:
            source, known = LineSource(file), formats.required_columns(columns, name, options)
        written = (INDEX, *known) if numbers else known
        rows = read_rows(source, written, row(written), lines(written), options, dont_care)
        return VectorSet(known, without_numbers(rows, options) if numbers else rows)

    return Format(name, suffix, write or plain_write, read, carries, describes)
