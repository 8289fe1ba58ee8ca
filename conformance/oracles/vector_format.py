"""The vector format: what halfulp writes for a program that computes one op, and what the program prints. The same data
can be in NumPy's .npz files.
"""

from __future__ import annotations

import io
import json
import os
import shlex
import shutil
import string
import zipfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from halfulp.conformance.comparing.op_case import OpCase, op_case
from halfulp.conformance.comparing.refinement import differing
from halfulp.conformance.oracles.oracle import Answer, OracleError, Status, Unavailable, unanswered
from halfulp.conformance.oracles.tool import Tool
from halfulp.fp_formats.formats import Codes, code_shape, codes_to_ints, ints_to_codes, storage_dtype
from halfulp.interp.ir.errors import HalfulpError, TypeMismatch
from halfulp.interp.ir.types import width_of

VERSION = 1
WORDS: Mapping[str, Status] = {"poison": Status.POISON, "trap": Status.TRAP, "-": Status.UNANSWERED}
"""The words that may replace the codes of one element's results."""

_HEX = frozenset(string.hexdigits)

NPZ_BYTES = 1 << 30
"""Most bytes of memory for the arrays of one .npz file."""

Header = dict[str, Any]


def header_of(case: OpCase) -> Header:
    """Return the header that identifies a case in both forms of the format."""
    return {
        "op": case.op,
        "operands": list(case.operands),
        "results": list(case.results),
        "properties": dict(case.properties),
    }


def without_shape(case: OpCase) -> str | None:
    """Return why the format cannot hold a case: its parameters along an axis do not apply to single elements. None if
    it can.
    """
    return "the vector format has no shapes, but a quantised type has an axis" if case.is_along_an_axis else None


def request(case: OpCase, inputs: Sequence[Codes]) -> str:
    """Return the lines that a program reads: a header, then the operands' codes of each element."""
    columns = [_hex(codes, width) for codes, width in zip(inputs, case.operand_widths, strict=True)]
    header = {"version": VERSION, **header_of(case), "count": len(columns[0])}
    return "\n".join([json.dumps(header, default=str), *map(" ".join, zip(*columns, strict=True)), ""])


def _hex(codes: Codes, width: int) -> list[str]:
    digits = max(1, -(-width // 4))
    return [f"{code:0{digits}x}" for code in codes_to_ints(codes, width)]


def read_answers(case: OpCase, inputs: Sequence[Codes], text: str) -> tuple[Answer, ...]:
    """Read the answers that a program printed: a line per element with the codes of its results, or one of `WORDS`.

    Raises OracleError ("garbage") for anything else.
    """
    shape = case.shape(inputs)
    lines = text.splitlines()
    count = int(np.prod(shape, dtype=np.int64))
    if len(lines) != count:
        raise OracleError("garbage", f"the program wrote {len(lines)} lines of results for {count} elements")
    widths = [width_of(type_) for type_ in case.result_types]
    status = np.zeros(count, np.uint8)
    rows: list[tuple[int, ...]] = []
    for number, line in enumerate(lines):
        if line.strip() in WORDS:
            status[number] = WORDS[line.strip()]
            rows.append((0,) * len(widths))
        else:
            rows.append(_codes_of_line(line, widths, number))
    statuses = status.reshape(shape) if status.any() else None
    columns = list(zip(*rows, strict=True)) or [()] * len(widths)
    why = "the program gave no answer"
    return tuple(
        Answer(ints_to_codes(column, width, shape), statuses, why)
        for column, width in zip(columns, widths, strict=True)
    )


def _codes_of_line(line: str, widths: Sequence[int], number: int) -> tuple[int, ...]:
    words = line.split()
    digits = [word.removeprefix("0x") for word in words]
    codes = [int(word, 16) for word in digits] if all(map(_HEX.issuperset, digits)) and all(digits) else []
    if len(codes) != len(widths) or any(code >> width for code, width in zip(codes, widths, strict=True)):
        expected = " and ".join(f"a code of {width} bits" for width in widths)
        raise OracleError("garbage", f"result {number + 1} is {line[:80]!r}, but must be {expected} in hexadecimal")
    return tuple(codes)


# --- files ------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Record:
    """The results of one case for given operands: codes per operand and result, a `Status` per element or None."""

    case: OpCase
    operands: tuple[Codes, ...]
    results: tuple[Codes, ...]
    status: Codes | None = None


def save_records(path: str | Path, records: Iterable[Record], tool: str, version: str) -> None:
    """Write an .npz file: an array ``header`` (JSON as UTF-8 bytes), and for case k the arrays ``k/operand0`` …,
    ``k/result0`` …, and ``k/status`` if some element has no value.
    """
    arrays: dict[str, Any] = {}
    cases = []
    for k, record in enumerate(records):
        cases.append(header_of(record.case))
        arrays |= {f"{k}/operand{n}": codes for n, codes in enumerate(record.operands)}
        arrays |= {f"{k}/result{n}": codes for n, codes in enumerate(record.results)}
        if record.status is not None:
            arrays[f"{k}/status"] = record.status
    header = json.dumps({"version": VERSION, "tool": tool, "tool_version": version, "tasks": cases}, default=str)
    np.savez_compressed(path, header=np.frombuffer(header.encode(), np.uint8), **arrays)


@dataclass(frozen=True)
class Recording:
    """A file of records. Records are read when they are needed, and their size is bounded. ``headers``: the header of
    each record; ``cases``: the numbers of the records of a case, by `key_of`.
    """

    tool: str
    version: str
    headers: Sequence[Header]
    cases: Mapping[str, Sequence[int]]
    path: str
    data: bytes

    def distinct_cases(self) -> list[OpCase]:
        """Return the cases in the file, each once. Raises OracleError ("garbage") for a malformed one."""
        return [self._case(numbers[0]) for numbers in self.cases.values()]

    def _case(self, number: int) -> OpCase:
        header = self.headers[number]
        try:
            operands, results, properties = header["operands"], header["results"], header["properties"]
            made = op_case(header["op"], operands, results[0], **properties)
            if list(made.results) != results or list(made.operands) != operands:
                raise TypeMismatch(f"it has the types {made}")
        except (HalfulpError, ValueError, TypeError, KeyError, IndexError, AttributeError) as error:
            raise OracleError("garbage", f"{self.path}: task {number} is malformed: {error}") from None
        return made

    def record(self, case: OpCase) -> Record | None:
        """Return all records of a case as one, in the order of the file; None if there is none.

        Raises OracleError ("garbage"), also if the same operands have different results.
        """
        numbers = self.cases.get(key_of(header_of(case)))
        if numbers is None:
            return None
        parts = [self._part(case, number) for number in numbers]
        statuses = [np.zeros(len(p.operands[0]), np.uint8) if p.status is None else p.status for p in parts]
        whole = Record(
            case,
            tuple(np.concatenate(columns) for columns in zip(*(part.operands for part in parts), strict=True)),
            tuple(np.concatenate(columns) for columns in zip(*(part.results for part in parts), strict=True)),
            np.concatenate(statuses) if any(part.status is not None for part in parts) else None,
        )
        pair = _contradiction(whole)
        if pair is not None:
            places = [(number, k) for number, status in zip(numbers, statuses, strict=True) for k in range(len(status))]
            one, other = (f"element {places[k][1]} of task {places[k][0]}" for k in pair)
            raise OracleError(
                "garbage", f"{self.path}: {one} and {other} have the same operands, but different results"
            )
        return whole

    def _part(self, case: OpCase, number: int) -> Record:
        with _opened(self.path, self.data) as arrays:
            operands = tuple(
                _array(arrays, f"{number}/operand{n}", width, self.path) for n, width in enumerate(case.operand_widths)
            )
            results = tuple(
                _array(arrays, f"{number}/result{n}", width_of(type_), self.path)
                for n, type_ in enumerate(case.result_types)
            )
            status = _array(arrays, f"{number}/status", 2, self.path) if f"{number}/status" in arrays else None
        if len({len(codes) for codes in (*operands, *results, *([] if status is None else [status]))}) != 1:
            raise OracleError("garbage", f"{self.path}: the arrays of {case} have different lengths")
        return Record(case, operands, results, status)


def key_of(header: Mapping[str, Any]) -> str:
    """Return the part of a header that is the same for all records of one case."""
    return json.dumps(
        [header[name] for name in ("op", "operands", "results", "properties")], sort_keys=True, default=str
    )


def load_recording(path: str) -> Recording:
    """Read the header of a file.

    Raises OSError if it cannot be read, OracleError ("garbage") if it is malformed.
    """
    with open(path, "rb") as file:
        data = file.read(NPZ_BYTES + 1)
    if len(data) > NPZ_BYTES:
        raise OracleError("garbage", f"{path} has more than {NPZ_BYTES} bytes")
    with _opened(path, data) as arrays:
        try:
            header = json.loads(_array(arrays, "header", 8, path).tobytes().decode())
            if header["version"] != VERSION:
                raise OracleError("garbage", f"{path} has version {header['version']!r}, not {VERSION}")
            headers = list(header["tasks"])
            cases: dict[str, list[int]] = {}
            for number, named in enumerate(headers):
                cases.setdefault(key_of(named), []).append(number)
            return Recording(str(header["tool"]), str(header["tool_version"]), headers, cases, path, data)
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            raise OracleError("garbage", f"{path} has no valid header: {error!r}") from None


@contextmanager
def _opened(path: str, data: bytes) -> Iterator[Any]:
    """Yield the arrays of an .npz file. Objects in it are never unpickled, because that could run code."""
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            size = sum(member.file_size for member in archive.infolist())
        if size > NPZ_BYTES:
            raise OracleError("garbage", f"{path} would take {size} bytes, more than {NPZ_BYTES}")
        arrays = np.load(io.BytesIO(data), allow_pickle=False)
    except (ValueError, OSError, EOFError, zipfile.BadZipFile, NotImplementedError) as error:
        raise OracleError("garbage", f"{path} is not an .npz file: {error}") from None
    with arrays:
        yield arrays


def _array(arrays: Any, name: str, width: int, path: str) -> Codes:
    """Return an array of codes, of the element type and shape that the width requires. Raises OracleError."""
    try:
        array = arrays[name]
    except Exception as error:  # zlib, zipfile and NumPy raise different exceptions
        raise OracleError("garbage", f"{path}: no array {name}: {error}") from None
    if not isinstance(array, np.ndarray) or array.dtype != storage_dtype(width):
        raise OracleError("garbage", f"{path}: {name} is not an array of {storage_dtype(width)}")
    if array.shape != code_shape(array.shape[:1], width):
        raise OracleError("garbage", f"{path}: {name} has the shape {array.shape}")
    limbs = array if array.ndim == 1 else array[:, -1]
    spare = width % 64 if width > 64 else width
    if spare < 8 * array.dtype.itemsize and spare and bool((limbs >> spare).any()):
        raise OracleError("garbage", f"{path}: {name} holds codes of more than {width} bits")
    return array


def _contradiction(record: Record) -> tuple[int, int] | None:
    """Find two elements with the same operands and different results. An unanswered element contradicts nothing."""
    count = len(record.operands[0])
    status = np.zeros(count, np.uint8) if record.status is None else record.status
    answered = np.flatnonzero(status != Status.UNANSWERED)
    rows = _rows(record.operands, record.case.operand_widths, (count,))[answered]
    order = answered[np.argsort(rows, kind="stable")]
    rows = np.sort(rows, kind="stable")
    same = rows[1:] == rows[:-1]
    one, other = order[:-1][same], order[1:][same]
    differs = status[one] != status[other]
    for type_, codes in zip(record.case.result_types, record.results, strict=True):
        differs |= differing(type_, codes[one], codes[other]) & (status[one] == Status.VALUE)
    found = np.flatnonzero(differs)
    return (int(one[found[0]]), int(other[found[0]])) if len(found) else None


def look_up(record: Record, inputs: Sequence[Codes]) -> tuple[Answer, ...]:
    """Return the recorded answers for operands in any order. Operands without a record are unanswered."""
    case = record.case
    shape = case.shape(inputs)
    widths = case.operand_widths
    known = _rows(record.operands, widths, (len(record.operands[0]),))
    asked = _rows(inputs, widths, shape)
    order = np.argsort(known, kind="stable")
    if record.status is not None:  # for equal operands, prefer a record with an answer
        order = order[record.status[order] != Status.UNANSWERED]
    if not len(order):
        return unanswered(case, inputs, "the file has no such operands")
    place = np.minimum(np.searchsorted(known[order], asked), len(order) - 1)
    found = order[place]
    status = np.zeros(len(asked), np.uint8) if record.status is None else record.status[found]
    status = np.where(known[found] == asked, status, np.uint8(Status.UNANSWERED)).reshape(shape)
    answers = []
    for codes, type_ in zip(record.results, case.result_types, strict=True):
        bits = codes[found].reshape(code_shape(shape, width_of(type_)))
        answers.append(Answer(bits, status if status.any() else None, "the file has no such operands"))
    return tuple(answers)


def _rows(columns: Sequence[Codes], widths: Sequence[int], shape: tuple[int, ...]) -> Any:
    """Return the operands of each element as one string of bytes, to compare and sort."""
    count = int(np.prod(shape, dtype=np.int64))
    parts = [
        np.ascontiguousarray(codes.reshape(code_shape((count,), width))).view(np.uint8).reshape(count, -1)
        for codes, width in zip(columns, widths, strict=True)
    ]
    rows = np.ascontiguousarray(np.concatenate(parts, axis=1))
    return rows.view(np.dtype((np.void, rows.shape[1]))).ravel()


# --- command ----------------------------------------------------------------------------------------------------------
#
# Ask any program that reads operands in the vector format and prints results: ``command=PROGRAM ARGUMENTS``.

SECONDS = 60.0


class Command:
    """A program, started once for each case. It prints ``-`` if it has no answer."""

    name = "command"
    profile = "spec"
    version = "unknown"

    def __init__(self, spelling: str, seconds: float = SECONDS) -> None:
        try:
            words = shlex.split(spelling)
        except ValueError as error:
            raise Unavailable(f"{spelling!r} is not a command: {error}") from None
        if not words:
            raise Unavailable("command needs a program: command=PROGRAM ARGUMENTS")
        path = shutil.which(words[0])
        if path is None:
            raise Unavailable(f"{words[0]} is not on PATH")
        self._tool = Tool(os.path.abspath(path), self.version)
        self._arguments = words[1:]
        self._seconds = seconds

    def refuses(self, case: OpCase) -> str | None:
        """Return a reason for quantised types with parameters along an axis; else None."""
        return without_shape(case)

    def evaluate(self, case: OpCase, inputs: Sequence[Codes]) -> tuple[Answer, ...]:
        """Run the program once for all elements."""
        try:
            printed = self._tool.run(self._arguments, request(case, inputs), self._seconds)
        except OracleError as error:
            if error.kind == "refusal":  # a program of this format declines by printing -
                raise OracleError("crash", str(error).partition(": ")[2]) from None
            raise
        return read_answers(case, inputs, printed)


# --- npz --------------------------------------------------------------------------------------------------------------
#
# Results that were recorded in a file of the vector format: ``npz=FILE``.

PIECE = 1 << 19
"""Number of elements of a record that are compared at once."""


class Npz:
    """The results in a file. Operands without a result in the file are unanswered. For a malformed file, every case
    fails.
    """

    name = "npz"
    profile = "spec"

    def __init__(self, path: str) -> None:
        self._failure: OracleError | None = None
        self._recording: Recording | None = None
        self._latest: tuple[OpCase, Record | None] | None = None
        self.version = "unknown"
        try:
            self._recording = load_recording(path)
            self.version = f"{self._recording.tool} {self._recording.version}"
        except OSError as error:
            raise Unavailable(f"{path} cannot be read: {error.strerror}") from None
        except OracleError as error:
            self._failure = error

    def refuses(self, case: OpCase) -> str | None:
        """Return a reason for cases without results in the file and cases that the format cannot hold; else None."""
        if self._recording is None:
            return None
        if key_of(header_of(case)) not in self._recording.cases:
            return f"the file has no results of {case}"
        return without_shape(case)

    def cases(self) -> Sequence[OpCase]:
        """Return the cases of the file, each once."""
        return self._opened().distinct_cases()

    def inputs(self, case: OpCase) -> Iterator[tuple[Codes, ...]] | None:
        """Yield the operands of all records of a case, in the order of the file."""
        try:
            record = None if self.refuses(case) is not None else self._record(case)
        except OracleError:
            return None
        return None if record is None else _pieces(record)

    def evaluate(self, case: OpCase, inputs: Sequence[Codes]) -> tuple[Answer, ...]:
        """Return the recorded results of these operands."""
        record = self._record(case)
        return unanswered(case, inputs, "not recorded") if record is None else look_up(record, inputs)

    def _opened(self) -> Recording:
        if self._recording is None:
            assert self._failure is not None
            raise OracleError("garbage", str(self._failure).partition(": ")[2])
        return self._recording

    def _record(self, case: OpCase) -> Record | None:
        if self._latest is None or self._latest[0] != case:
            self._latest = case, self._opened().record(case)
        return self._latest[1]


def _pieces(record: Record) -> Iterator[tuple[Codes, ...]]:
    for start in range(0, max(1, len(record.operands[0])), PIECE):
        yield tuple(codes[start : start + PIECE] for codes in record.operands)
