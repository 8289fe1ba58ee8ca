"""``halfulp check-vectors``: a file of vectors, or what a device printed, held to what it must be."""

from __future__ import annotations

import argparse
import io
import json
import os
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, cast

from halfulp.command.common import (
    DIFFERENT,
    EXIT_CODES,
    SUCCESS,
    Sources,
    positive,
    progress_bar,
    report,
    say,
    write,
)
from halfulp.command.recipe import FIELDS, add_subject_options, subject_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from halfulp.conformance.vectors.check import Check, Explanation, Mismatch
    from halfulp.conformance.vectors.columns import Chunk, Column, VectorSet
    from halfulp.conformance.vectors.computation import Subject
    from halfulp.conformance.vectors.formats.format import Format, Notes
    from halfulp.conformance.vectors.metadata import Document

_ABOUT = """\
Read a file of vectors in any of the formats, compute every row again, and show the first row that differs:

  halfulp check-vectors addf.tv                                    with addf.json beside it
  ./testbench | halfulp check-vectors - --metadata addf.json --format testfloat
  testfloat_gen f16_add | halfulp check-vectors - --format testfloat --op arith.addf --type f16
  halfulp check-vectors out.hex --op program.mlir --function f --columns arg0,arg1,result

The metadata names the computation, or --op with the options below. The columns are those that the file describes, else
those of the metadata, else the operands, results and flags of the op (--no-flags: without flags).
"""

SEVERAL_NAMES = 6
"""Alternatives named for one row, at most."""

MOST_COLUMNS = 32
"""Operands of a row that are told, at most; where there are more outputs, only those that differ are told."""

SEVERAL_LINES = 5
"""Alternatives and remarks told of all rows together, at most."""

_FOR_OP = ("type", "source", "attr", "rounding", "random_bits", "function", "keep_ub", *FIELDS)
_SPELLED = {"source": "--from"}


def register(commands: Any, style: dict[str, Any]) -> None:
    """Add the command to the parser of the command line."""
    parser = commands.add_parser(
        "check-vectors", help="check the results of a device", description=_ABOUT, epilog=EXIT_CODES, **style
    )
    add = parser.add_argument
    add("file", metavar="FILE", help="the file to check, or - for the standard input")
    add("--format", metavar="NAME", help="the format of the file (default: by its name, else by its content)")
    add("--metadata", metavar="FILE.json", help="the metadata of the file (default: the name of the file with .json)")
    add("--op", metavar="OP|FILE.mlir", help="the computation, if there is no metadata")
    add(
        "--columns",
        metavar="NAME[,NAME...]",
        help="the columns of the file, if some are missing; with metadata, even all operands can be missing",
    )
    add("--nan", choices=("exact", "any"), help="any: accept every NaN if a NaN is expected (default: by the metadata)")
    add("--ignore-flags", action="store_true", help="do not compare the flags in the file")
    add("--partial", action="store_true", help="allow fewer rows than in the metadata, and other rows")
    add(
        "--max", type=positive, default=1, metavar="N", help="the number of different rows to show in full (default: 1)"
    )
    add("--json", action="store_true", help="print one JSON object")
    add_subject_options(parser.add_argument_group("the computation"))
    parser.set_defaults(command=check_vectors)


def check_vectors(arguments: argparse.Namespace) -> int:
    """The command; returns its exit code."""
    from halfulp.interp.ir.errors import HalfulpError

    sources = Sources(arguments)
    try:
        return _check(arguments, sources)
    except HalfulpError as error:
        if arguments.json:
            write(json.dumps({"file": arguments.file, "equal": False, "problem": str(error)}) + "\n")
        return report(error, sources)


# --- what is asked ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Asked:
    """What a file is held to. ``document``: the metadata; ``metadata``: its name."""

    subject: Subject
    document: Document | None = None
    metadata: str = ""


def _check(arguments: argparse.Namespace, sources: Sources) -> int:
    from halfulp.conformance.vectors.check import Checker
    from halfulp.conformance.vectors.columns import Role
    from halfulp.conformance.vectors.formats.format import Notes

    _see(arguments.file)
    asked = _asked(arguments, sources)
    notes = Notes()
    with _opened(arguments.file) as (file, head):
        format_ = _format(arguments, head)
        vectors = _vectors(file, head, format_, asked, arguments, notes)
        document = asked.document
        checker = Checker(
            asked.subject,
            vectors.columns,
            any_nan=_any_nan(arguments, document),
            ignored=frozenset({Role.FLAGS} if arguments.ignore_flags else ()),
            notes=notes,
            foreseen=_foreseen(asked),
            most=arguments.max,
        )
        if checker.period > 1 and document is not None and document.get("dropped"):
            from halfulp.interp.ir.errors import Unsupported

            raise Unsupported("rows were left out of the set, so that it is not known which parameters apply to a row")
        with progress_bar("rows") as progress:
            total = None if document is None else document["count"]
            found = checker.read(vectors, lambda rows: progress(rows, _total(file, rows, total)))
    _judge_count(found, checker.period, asked, arguments)
    golden = document is not None and found.digest == document["sha256"] and not found.problem
    if arguments.json:
        write(json.dumps(_as_json(found, checker.subject, format_.name, golden, arguments)) + "\n")
    else:
        write("".join(f"{line}\n" for line in _lines(found, checker.subject, golden, arguments)))
    sys.stdout.flush()
    if found.strayed is not None and found.reordered:
        order = f"the rows are in another order than in {asked.metadata}"
        say(f"note: {arguments.file}: from row {found.strayed} on, {order}")
    elif found.strayed is not None and found.problem is None:
        say(f"note: {arguments.file}: {_strayed(found, asked)}")
    if found.problem is not None:
        if " words for " in found.problem.message:
            names = ", ".join(column.name for column in vectors.columns)
            found.problem.hint = f"the columns are {names}; --no-flags or --columns says that some are not there"
        code = report(found.problem, sources)
        return DIFFERENT if found.differing else code
    return DIFFERENT if found.differing else SUCCESS


def _asked(arguments: argparse.Namespace, sources: Sources) -> _Asked:
    """What the options or the metadata say is computed. Raises InputError where neither does."""
    from halfulp.conformance.vectors import metadata
    from halfulp.conformance.vectors.recipe import profile_of
    from halfulp.conformance.vectors.recipe import subject_of as subject_of_source
    from halfulp.interp.ir.errors import HalfulpError, InputError

    if arguments.op is not None:
        if arguments.metadata is not None:
            raise InputError("--op and --metadata both say what is computed: give one of them")
        if arguments.op == arguments.file == "-":
            raise InputError("both the program and the vectors are to come from the standard input")
        return _Asked(subject_of(arguments.op, arguments, sources))
    given = [name for name in _FOR_OP if getattr(arguments, name)] + ["profile"] * (arguments.profile != "spec")
    if given:
        option = _SPELLED.get(given[0], "--" + given[0].replace("_", "-"))
        raise InputError(f"{option} goes with --op; without it, the metadata says what is computed")
    path = arguments.metadata or _beside(arguments.file)
    if path is None:
        raise InputError(
            f"{arguments.file}: nothing says what is computed",
            hint="give --metadata FILE.json, or the op: --op arith.addf --type f16",
        )
    data = metadata.of_file(metadata.from_text(_bytes_of(path), path), Path(arguments.file).name)
    try:
        options = data.get("inputs", {}).get("options", {})
        subject = subject_of_source(data["source"], profile_of(data["profile"]), options)
    except HalfulpError:
        raise
    except (LookupError, TypeError, ValueError, AttributeError, OverflowError) as error:
        raise InputError(f"{path}: the metadata does not say what is computed: {error!r}") from None
    return _Asked(subject, data, path)


def _bytes_of(path: str) -> bytes:
    from halfulp.interp.ir.errors import InputError

    try:
        return Path(path).read_bytes()
    except OSError as error:
        raise InputError(f"cannot read {path!r}: {error.strerror}") from None


def _beside(path: str) -> str | None:
    """The metadata of a file: its name with .json in place of its ending, or behind it; of a shard its sweep's."""
    from halfulp.conformance.vectors.metadata import MERGED, METADATA

    if path == "-":
        return None
    places = [str(Path(path).with_suffix(".json")) if Path(path).name else path, f"{path}.json"]
    of_sweep = str(Path(path).parent / METADATA)
    # sweep.json beside sweep.runs says how the sweep is made, not what came of it.
    places.insert(0 if Path(path).name == MERGED else len(places), of_sweep)
    return next((place for place in places if place != path and os.path.isfile(place)), None)


def _any_nan(arguments: argparse.Namespace, document: Document | None) -> bool:
    if arguments.nan is not None or document is None:
        return bool(arguments.nan == "any")
    nan = document.get("nan")
    return isinstance(nan, dict) and nan.get("accept") == "any"


def _foreseen(asked: _Asked) -> Iterable[Chunk] | None:
    """The rows of the set as its metadata makes them; None where it does not say how, or rows were left out."""
    from halfulp.conformance.vectors.recipe import recipe_of, rows_of
    from halfulp.interp.ir.errors import HalfulpError

    document = asked.document
    if document is None or document.get("dropped"):
        return None
    try:
        recipe = recipe_of(document, asked.metadata)
        start, stop = rows_of(document, recipe)
        # The first rows show whether a document that someone wrote makes any.
        recipe.given(start, min(stop, start + recipe.step))
        return recipe.chunks(start, stop)
    except (HalfulpError, LookupError, ValueError, TypeError, AttributeError, OverflowError):
        return None


def _judge_count(found: Check, period: int, asked: _Asked, arguments: argparse.Namespace) -> None:
    """Note as the problem of the file that it has other rows than it must have, or none."""
    from halfulp.interp.ir.errors import InputError

    count = None if asked.document is None else asked.document["count"]
    problem, hint = None, None
    if found.problem is not None:
        return
    if not found.compared:
        problem = "nothing was compared: every row has undefined behaviour" if found.rows else "the file has no rows"
    elif count is not None and (found.rows > count or (found.rows < count and not arguments.partial)):
        problem = f"the file has {found.rows:,} rows, but {asked.metadata} tells of {count:,}"
        hint = "--partial accepts fewer rows" if found.rows < count else None
    elif found.rows % period and not arguments.partial:
        problem = (
            f"{found.rows:,} rows, but parameters repeat after {period}: the last {found.rows % period} lack others"
        )
        hint = "--partial accepts them"
    elif found.strayed is not None and not found.reordered and not arguments.partial:
        problem, hint = _strayed(found, asked), "--partial accepts other operands too"
    if problem is not None:
        found.problem = InputError(f"{arguments.file}: {problem}", hint=hint)


def _strayed(found: Check, asked: _Asked) -> str:
    return f"from row {found.strayed} on, the operands are not those of {asked.metadata}"


# --- reading ----------------------------------------------------------------------------------------------------------

HEAD = 1 << 16
"""Bytes by which a format is recognised."""


class _Peeked(io.RawIOBase):
    """A stream that cannot go back, with what was read of it put in front again."""

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
def _opened(path: str) -> Iterator[tuple[BinaryIO, bytes]]:
    """The file, and its first bytes."""
    from halfulp.interp.ir.errors import InputError

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


def _see(path: str) -> None:
    """Raise InputError for a file that cannot be read, before anything else is found wrong."""
    # What a pipe or a terminal says is read only once.
    if path != "-" and not Path(path).is_fifo() and not Path(path).is_char_device():
        with _opened(path):
            pass


def _total(file: BinaryIO, rows: int, count: int | None) -> int:
    """How many rows the progress bar counts to: as the metadata says, else as the size of the file lets expect."""
    if count is not None:
        return count
    if not file.seekable() or file.closed:
        return rows
    size = os.fstat(file.fileno()).st_size
    return max(rows, rows * size // max(file.tell(), 1))


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
"""How the content of each format begins, the surest first; ``bin`` has no sign."""


def _format(arguments: argparse.Namespace, head: bytes) -> Format:
    from halfulp.conformance.vectors.formats import NAMES, format_named, format_of_file
    from halfulp.interp.ir.errors import InputError

    if arguments.format is not None:
        return format_named(arguments.format)
    named = None if arguments.file == "-" else format_of_file(arguments.file)
    if named is not None:
        return named
    found = next((name for name, sign in _SIGNS if sign.match(head)), None)
    if found is None:
        what = "is empty" if not head else "is in no format that could be recognised"
        raise InputError(f"{arguments.file}: the file {what}", hint=f"give --format, one of {', '.join(NAMES)}")
    return format_named(found)


def _vectors(
    file: BinaryIO, head: bytes, format_: Format, asked: _Asked, arguments: argparse.Namespace, notes: Notes
) -> VectorSet:
    """The rows of the file, by the columns that it, the metadata or the subject has."""
    from halfulp.conformance.vectors import metadata
    from halfulp.conformance.vectors.formats.format import Options, seekable
    from halfulp.interp.ir.errors import InputError

    name = "<stdin>" if arguments.file == "-" else arguments.file
    options = Options() if asked.document is None else metadata.options_of(asked.document, Path(name).name)
    options = replace(options, file=name, notes=notes)
    try:
        if format_.name == "npz":
            file = cast("BinaryIO", seekable(file))
        names = _names(file, head, format_)
        described = names is None and arguments.columns is None
        return format_.read(file, None if described else _columns(head, names, format_, asked, arguments), options)
    except OSError as error:
        raise InputError(f"cannot read {name!r}: {error.strerror}") from None


def _names(file: BinaryIO, head: bytes, format_: Format) -> frozenset[str] | None:
    """The names that stand in a file beside its vectors; None where it describes its columns."""
    import zipfile

    from halfulp.conformance.vectors.formats.npz import HEADER
    from halfulp.conformance.vectors.formats.text import MARK

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


def _columns(
    head: bytes, names: frozenset[str] | None, format_: Format, asked: _Asked, arguments: argparse.Namespace
) -> tuple[Column, ...]:
    """The columns of a file that does not describe them; ``names``: those that stand in it."""
    from halfulp.conformance.vectors import metadata
    from halfulp.conformance.vectors.columns import Role, check_columns
    from halfulp.conformance.vectors.formats.text import digits
    from halfulp.interp.ir.errors import InputError, did_you_mean

    subject = asked.subject
    known = (*subject.inputs, *subject.outputs) if asked.document is None else metadata.columns_of(asked.document)
    if arguments.columns is not None:
        by_name = {column.name: column for column in (*subject.inputs, *subject.outputs)}
        given = [name.strip() for name in arguments.columns.split(",")]
        unknown = next((name for name in given if name not in by_name), None)
        if unknown is not None:
            raise InputError(
                f"--columns: there is no column '{unknown}'; there are {', '.join(by_name)}",
                hint=did_you_mean(unknown, by_name),
            )
        columns = tuple(by_name[name] for name in given)
        try:
            check_columns(columns)
        except ValueError as error:
            raise InputError(f"--columns: {error}") from None
        return columns
    columns = tuple(column for column in known if column.role in format_.carries)
    if arguments.flags is False:
        columns = tuple(column for column in columns if column.role is not Role.FLAGS)
    if format_.name in NAMED:
        marks = (Role.FLAGS, Role.POISON, Role.OPEN)
        return tuple(column for column in columns if column.role not in marks or column.name in (names or ()))
    if format_.name in WORDS:
        first = _FIRST_WORD.search(head)
        bare = tuple(column for column in columns if column.role not in (Role.POISON, Role.OPEN))
        if first is not None and len(first[1]) == sum(digits(column.width) for column in bare):
            return bare
    return columns


NAMED = ("csv", "jsonl", "npy", "npz")
"""Formats whose files name their columns at the beginning."""

WORDS = ("readmemh", "coe")
"""Formats of words whose length says whether there are columns for poison and open bits."""

_FIRST_WORD = re.compile(rb"(?:^|[\n=])[ \t]*([0-9A-Fa-fXxZz]+)[ \t]*[,;\r\n]")


# --- telling ----------------------------------------------------------------------------------------------------------


def _what(subject: Subject) -> str:
    from halfulp.conformance.vectors.computation import OpSubject

    asked = str(subject.task) if isinstance(subject, OpSubject) else f"@{subject.source()['function']}"
    if isinstance(subject, OpSubject) and subject.random_bits is not None:
        asked += f", {subject.random_bits} random bits"
    return asked if subject.profile.name == "spec" else f"{asked}, profile {subject.profile.name}"


def _lines(found: Check, subject: Subject, golden: bool, arguments: argparse.Namespace) -> list[str]:
    """The report in words."""
    lines = []
    for mismatch in found.mismatches:
        lines += [*_mismatch_lines(mismatch, subject, arguments), ""]
    if found.differing:
        lines += _explanation_lines(found)
    rows = f"{found.rows:,} rows" if found.problem is None else f"{found.rows:,} rows were read"
    counts = [rows, f"{found.differing:,} differ{'s'[: found.differing == 1]}" if found.differing else "none differs"]
    if found.poison:
        counts.append(f"{found.poison:,} poison, of which results count for nothing")
    if found.undefined:
        counts.append(f"{found.undefined:,} not compared: undefined behaviour")
    if found.unknown:
        counts.append(f"{found.unknown:,} with an X or Z")
    if found.rows:
        lines.append(f"{_what(subject)}: {'; '.join([', '.join(counts[:2]), *counts[2:]])}")
    if golden:
        lines.append("this is the golden file, unchanged")
    return lines


def _mismatch_lines(mismatch: Mismatch, subject: Subject, arguments: argparse.Namespace) -> list[str]:
    from halfulp.conformance.vectors.columns import Role
    from halfulp.explanations.rounding import table_lines
    from halfulp.fp_formats.spelling import decimal_text

    line = "" if mismatch.line is None else f", line {mismatch.line}"
    table: list[tuple[str, ...]] = []
    for column, code in list(zip(subject.inputs, mismatch.inputs, strict=True))[:MOST_COLUMNS]:
        table.append((column.name, *_cells(column, code)))
    left_out = len(subject.inputs) - len(table)
    brief = len(subject.outputs) > MOST_COLUMNS
    if mismatch.exact is not None:
        texts = filter(None, dict.fromkeys([decimal_text(mismatch.exact), _fraction_text(mismatch.exact)]))
        table.append(("exact", " = ".join(texts), "", ""))
    notes = []
    for k, column in enumerate(subject.outputs):
        wrong = column.name in mismatch.columns
        if not wrong and (brief or column.role in (Role.POISON, Role.OPEN)):
            continue
        several = len([other for other in subject.outputs if other.role is column.role]) > 1
        own = f" {column.name}" if several or column.role is not Role.RESULT else ""
        table.append((f"expected{own}", *_cells(column, mismatch.expected[k])))
        got = mismatch.got[k]
        if got is not None:
            table.append((f"got{own}", *_cells(column, got)))
        if wrong:
            told = list(mismatch.remarks[mismatch.columns.index(column.name)])
            told += _distance(column, mismatch.expected[k], got)
            notes.append((f"{column.name}:", ", ".join(told)))
            if told[0] == "another NaN":
                notes.append(("", "--nan=any would accept it"))
    lines = [f"{arguments.file}: row {mismatch.row}{line}: {_what(subject)}"]
    texts_only = [row for row in table if row[0] == "exact"]
    cells = table_lines([row for row in table if row[0] != "exact"])
    width = max(len(row[0]) for row in table)
    for row in texts_only:
        cells.insert(len(subject.inputs) - left_out, f"{'exact'.ljust(width)}  {row[1]}")
    lines += [f"  {cell}" for cell in cells]
    if left_out:
        lines.append(f"  and {left_out} operands more")
    lines += [f"  {' '.join(note).strip()}" for note in notes]
    rule = _rule(mismatch, subject)
    if rule:
        lines.append(f"  rule: {rule}")
    if mismatch.as_if:
        more = len(mismatch.as_if) - SEVERAL_NAMES
        names = [*mismatch.as_if[:SEVERAL_NAMES], *([f"{more} more"] if more > 0 else [])]
        lines.append(f"  got is what this gives: {', '.join(names)}")
    return lines


def _cells(column: Column, code: int | str) -> tuple[str, str, str]:
    """A code in hexadecimal, in binary where its bits have fields, and what it stands for."""
    from halfulp.conformance.vectors.check import format_of
    from halfulp.conformance.vectors.columns import Role
    from halfulp.conformance.vectors.formats.text import digits
    from halfulp.explanations.rounding import flags_text
    from halfulp.fp_formats.policy import Flags
    from halfulp.fp_formats.spelling import bits_text, value_text

    if isinstance(code, str):
        return code, "", "unknown: X or Z"
    spelled = f"0x{code:0{digits(column.width)}X}"
    if column.role is Role.FLAGS:
        return spelled, "", flags_text(Flags(code))
    fmt = format_of(column)
    if fmt is not None:
        return spelled, bits_text(fmt, code), value_text(fmt, code)
    if column.role is not Role.OPERAND and column.role is not Role.RESULT:
        return spelled, "", ""
    negative = column.width > 1 and code >> (column.width - 1)
    return spelled, "", f"{code - (1 << column.width)} ({code} unsigned)" if negative else str(code)


def _distance(column: Column, expected: int, got: int | str | None) -> list[str]:
    """How far apart two results are, and which single bit makes the difference."""
    from halfulp.conformance.comparing.compare import ulp_distance
    from halfulp.conformance.vectors.check import format_of, type_of
    from halfulp.conformance.vectors.columns import Role

    if not isinstance(got, int) or column.role is not Role.RESULT:
        return []
    told = []
    type_ = type_of(column)
    steps = None if type_ is None else ulp_distance(type_, expected, got)
    fmt = format_of(column)
    if steps and steps > 1:
        told.append(f"{steps:,} {'ulp' if fmt is not None else 'apart'}")
    different = expected ^ got
    if not different & (different - 1):
        told.append(f"bit {different.bit_length() - 1} alone")
    return told


LONGEST_FRACTION = 100
"""Characters of a fraction, above which only its decimals are told."""


def _fraction_text(number: Fraction) -> str:
    """``38633472/833``, or with odd numbers and a power of two where that is shorter; empty where both are too long."""
    numerator, denominator = abs(number.numerator), number.denominator
    up, down = ((part & -part).bit_length() - 1 if part else 0 for part in (numerator, denominator))
    odd = Fraction(number.numerator >> up, denominator >> down)
    texts = str(number), f"{odd} * 2^{up - down}"
    shortest = min(texts, key=len)
    return shortest if len(shortest) <= LONGEST_FRACTION else ""


def _rule(mismatch: Mismatch, subject: Subject) -> str:
    """Which rule of rounding gave the expected result, where its result and no flag differs."""
    from halfulp.conformance.vectors.check import format_of
    from halfulp.conformance.vectors.computation import OpSubject
    from halfulp.explanations.rounding import MODES, explain

    if not mismatch.exact or not isinstance(subject, OpSubject) or subject.random_bits is not None:
        return ""
    column = subject.outputs[0]
    fmt = format_of(column)
    mode = dict(subject.task.properties).get("rounding", "to_nearest_even")
    if fmt is None or mode not in MODES or column.name not in mismatch.columns:
        return ""
    told = explain(Fraction(mismatch.exact), fmt, mode)
    return told.rule if told.result.code == mismatch.expected[0] else ""


def _explanation_lines(found: Check) -> list[str]:
    """What is true of all the rows that differ."""
    of = found.examined
    if not of or found.differing == 1:
        return []
    first = "first " if of < found.differing else ""

    def share(count: int) -> str:
        if count == of:
            return f"all of the first {of:,} rows that differ" if first else f"all {of:,} rows that differ"
        return f"{count:,} of the {first}{of:,} rows that differ"

    lines = []
    best = found.explanations[:1]
    perfect = bool(best) and (best[0].rows, best[0].equal) == (of, found.controls)
    for told in found.explanations[:SEVERAL_LINES]:
        if perfect and (told.rows, told.equal) != (of, found.controls):
            break
        verb = "is" if told.rows == 1 else "are"
        lines.append(f"{share(told.rows)} {verb} what {told.name} gives{_controls(told, found)}")
    kinds = sorted(found.kinds.items(), key=lambda item: -item[1])[:SEVERAL_LINES]
    lines += [f"{share(count)}: {kind}" for kind, count in kinds]
    return [*lines, ""]


def _controls(told: Explanation, found: Check) -> str:
    """Whether an alternative is right of equal rows too."""
    if told.equal == found.controls:
        return f", as in all {found.controls:,} equal rows tried" if found.controls else ""
    return f", but not in {found.controls - told.equal:,} of {found.controls:,} equal rows tried"


def _as_json(
    found: Check, subject: Subject, format_: str, golden: bool, arguments: argparse.Namespace
) -> dict[str, Any]:
    """The report as one JSON object."""

    def spelled(columns: Iterable[Column], codes: Iterable[int | str | None]) -> dict[str, str]:
        return {
            column.name: _cells(column, code)[0]
            for column, code in zip(columns, codes, strict=True)
            if code is not None
        }

    return {
        "file": arguments.file,
        "format": format_,
        "what": _what(subject),
        "rows": found.rows,
        "compared": found.compared,
        "differing": found.differing,
        "unknown": found.unknown,
        "poison": found.poison,
        "undefined": found.undefined,
        "equal": not found.differing and found.problem is None,
        "golden": golden,
        "strayed": found.strayed,
        "reordered": found.reordered,
        "problem": None if found.problem is None else str(found.problem),
        "mismatches": [
            {
                "row": mismatch.row,
                "line": mismatch.line,
                "inputs": spelled(subject.inputs, mismatch.inputs),
                "expected": spelled(subject.outputs, mismatch.expected),
                "got": spelled(subject.outputs, mismatch.got),
                "exact": None if mismatch.exact is None else str(mismatch.exact),
                "wrong": dict(zip(mismatch.columns, map(list, mismatch.remarks), strict=True)),
                "as_if": list(mismatch.as_if),
            }
            for mismatch in found.mismatches
        ],
        "examined": found.examined,
        "controls": found.controls,
        "explanations": [{"name": told.name, "rows": told.rows, "equal": told.equal} for told in found.explanations],
        "kinds": found.kinds,
    }
