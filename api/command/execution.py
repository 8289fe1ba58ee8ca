"""Execute a command, and report the error that ends it."""

from __future__ import annotations

import json
import re
import sys
import warnings
from dataclasses import dataclass
from functools import partial
from typing import Any, TextIO

import halfulp
from halfulp.command.console import say
from halfulp.command.option import Command
from halfulp.inputs import MAX_FILE_BYTES
from halfulp.interp.ir.base import FileLineCol, Location, UnknownLoc, file_position
from halfulp.interp.ir.errors import BytecodeError, DocumentWarning, HalfulpError, InputError, ParseError, UnknownOp
from halfulp.interp.ir.operations import Module
from halfulp.interp.loading import InputPart, parse_module, parse_without, read_bytecode, split_input
from halfulp.loading import decode_text, is_bytecode, language_in, language_of, open_file, unwrapped
from halfulp.semantics.profile import SPEC, profile

# --- diagnostics ------------------------------------------------------------------------------------------------------
#
# Errors as JSON for other programs, and tests of errors by comments as in mlir-opt.
#
# ``--verify-diagnostics`` reads what is expected from comments, as mlir-opt does:
#
#     // expected-error @+1 {{part of the message}}
#     // expected-note-re @below {{a {{pattern}}}}
#
# ``@+N``, ``@-N``, ``@below`` (the next line without such a comment), ``@above`` and no mark (the line itself) say
# where. As in mlir-opt, one comment stands for any number of equal diagnostics, and may be in another part of a split
# file.

_EXPECTED = re.compile(
    r"expected-(error|note|remark|warning)(-re)? *(@[+-]\d{1,9}|@above|@below|@unknown)? *\{\{(.*)\}\}[ \t]*$"
)


def error_record(error: HalfulpError) -> dict[str, object]:
    """Return an error for JSON: file, line, column, severity, message, its code, the notes likewise, and the hint; for
    bytecode also the offset of the wrong byte.
    """
    record: dict[str, object] = _record(error.location, "error", error.message)
    record["code"] = error.code
    record["notes"] = [_record(location, "note", text) for location, text in error.notes]
    record["hint"] = error.hint
    if isinstance(error, BytecodeError):
        record |= {"file": error.filename, "offset": error.offset}
    return record


def _record(location: Location | None, severity: str, message: str) -> dict[str, object]:
    place = None if location is None else file_position(location)
    file, line, column = (None, None, None) if place is None else (place.file, place.line, place.column)
    return {"file": file, "line": line, "column": column, "severity": severity, "message": message}


@dataclass(eq=False, slots=True)
class Expectation:
    """A diagnostic that a comment in a test file expects (``// expected-error``).

    ``line``: the line at which it is expected; None for one without a place. ``place``: that of the comment. ``met``:
    whether the diagnostic occurred.
    """

    severity: str
    line: int | None
    text: str
    pattern: re.Pattern[str]
    place: FileLineCol
    met: bool = False


def expectations(text: str, filename: str) -> list[Expectation]:
    """Read the expectations of a text, in the order of the lines they point at. Raise ParseError for an invalid
    pattern.
    """
    found: list[Expectation] = []
    below: list[partial[Expectation]] = []
    last_plain = 0
    for number, line in enumerate(text.split("\n"), 1):
        match = _EXPECTED.search(line.rstrip("\r"))
        if match is None:
            found += [expected(line=number) for expected in below]
            below.clear()
            last_plain = number
            continue
        severity, is_pattern, where, wanted = match.groups()
        place = FileLineCol(filename, number, len(line[: match.start()].encode("utf-8", "replace")) + 1)
        pattern = _pattern(wanted, place) if is_pattern else re.compile(re.escape(wanted))
        expected = partial(Expectation, severity, text=wanted, pattern=pattern, place=place)
        if where == "@below":
            below.append(expected)
        elif where == "@unknown":
            found.append(expected(line=None))
        else:
            relative = int(where[1:]) if where and where != "@above" else 0
            found.append(expected(line=last_plain if where == "@above" else number + relative))
    # At the end of a text there is no line below.
    return found + [expected(line=0) for expected in below]


def _pattern(text: str, place: FileLineCol) -> re.Pattern[str]:
    """Compile plain text with regular expressions in double braces."""
    parts = re.split(r"\{\{(.*?)\}\}", text)
    if any("{{" in part for part in parts[::2]):
        raise ParseError("found start of regex with no end '}}'", location=place)
    try:
        return re.compile("".join(f"(?:{part})" if index % 2 else re.escape(part) for index, part in enumerate(parts)))
    except re.error as error:
        raise ParseError(f"invalid regex: {error}", location=place) from None


class DiagnosticsChecker:
    """A comparison of the errors of a file with those that its comments expect. Every difference is reported as an
    error.
    """

    def __init__(self, text: str, filename: str) -> None:
        self.filename = filename
        self.expected = expectations(text, filename)

    def unexpected(self, error: HalfulpError) -> list[HalfulpError]:
        """Return the parts of an error and its notes that no comment expects."""
        produced = [("error", error.location, error.message), *(("note", *note) for note in error.notes)]
        return [wrong for one in produced if (wrong := self._compare(*one)) is not None]

    def _compare(self, severity: str, location: Location | None, message: str) -> HalfulpError | None:
        place = None if location is None else file_position(location)
        if place is not None and place.file != self.filename:
            near = []
        else:
            line = None if place is None else place.line
            near = [one for one in self.expected if one.line == line and one.pattern.search(message)]
        for one in near:
            if one.severity == severity:
                one.met = True
                return None
        if near:
            wrong = f"'{severity}' diagnostic emitted when expecting a '{near[-1].severity}'"
            return HalfulpError(wrong, location=near[-1].place)
        return HalfulpError(f"unexpected {severity}: {message}", location=location)

    def unmet(self) -> list[HalfulpError]:
        """Return an error for each comment whose diagnostic did not occur, in order."""
        left = sorted((one for one in self.expected if not one.met), key=lambda one: (one.place.line, one.place.column))
        return [
            HalfulpError(f'expected {one.severity} "{one.text}" was not produced', location=one.place) for one in left
        ]


# --- sources ----------------------------------------------------------------------------------------------------------
#
# Read files for commands, and print errors that point into them.


class Sources(dict[str, str]):
    """The texts that were read, by the file name in their locations, and whether errors are printed as JSON."""

    def __init__(self, json: bool = False) -> None:
        super().__init__()
        self.json = json


def report(error: HalfulpError, sources: Sources) -> int:
    """Print an error with its source line, and return its exit code."""
    if isinstance(error.location, UnknownLoc):
        error.location = None
    say(json.dumps(error_record(error)) if sources.json else rendered(error, sources))
    return error.exit_code


def rendered(error: HalfulpError, sources: Sources) -> str:
    """Return the text of an error with its source line."""
    if isinstance(error.location, UnknownLoc):
        error.location = None
    places = [file_position(place) for place in (error.location, *(place for place, _ in error.notes)) if place]
    files = {place.file for place in places if place is not None}
    # A location may name a file that was not read.
    return error.render(sources.get(files.pop()) if len(files) == 1 else None)


@dataclass(frozen=True)
class ProgramSource:
    """An MLIR file: its name, its bytes, and its text, None for bytecode."""

    name: str
    data: bytes | memoryview
    text: str | None

    def parts(self, split: bool) -> list[InputPart | None]:
        """Split a text at lines ``// -----``, or return it as one part. Bytecode is one part, None."""
        if self.text is None:
            return [None]
        return list(split_input(self.text)) if split else [InputPart(self.text)]

    def module(self, part: InputPart | None = None, allow_unregistered: bool = True) -> Module:
        """Return the module of a part, or of the whole file. Raise HalfulpError."""
        if self.text is None:
            return read_bytecode(self.data, self.name, allow_unregistered)
        part = part or InputPart(self.text)
        return parse_module(part.text, self.name, allow_unregistered=allow_unregistered, start=part.start)

    def program(self, part: InputPart | None = None) -> Module:
        """Return the module of a part, or of the whole file, to run it. IREE's compiler lowers a program of the torch
        dialect; a note says so. Parts whose form is unknown are skipped if at least one function is left. Raise
        HalfulpError.
        """
        if self.text is None:
            return read_bytecode(self.data, self.name, skip_unknown=True)
        given = part or InputPart(self.text)
        try:
            module = self.module(part)
            language = language_in(module)
        except UnknownOp as error:
            language = language_of(error.op)
            if language is None:
                return parse_without(error, given.text, self.name, given.start)
        if language is None:
            return module
        say(f"note: {self.name} is {language}: IREE's compiler lowers it to linalg, which may change its numerics")
        # Lines keep their numbers.
        return halfulp.from_stablehlo("\n" * (given.start[0] - 1) + given.text, name=self.name, lower="iree")


def read(path: str, sources: Sources) -> ProgramSource:
    """Read an MLIR file, and note its text in ``sources``. Raise HalfulpError."""
    data: bytes | memoryview
    if path == "-":
        name, data = "<stdin>", sys.stdin.buffer.read(MAX_FILE_BYTES + 1)
        if len(data) > MAX_FILE_BYTES:
            raise InputError(f"the standard input is larger than {MAX_FILE_BYTES} bytes")
    else:
        name, data = path, open_file(path)
    data = unwrapped(data)
    if is_bytecode(data):
        return ProgramSource(name, data, None)
    sources[name] = decode_text(data)
    return ProgramSource(name, data, sources[name])


# --- execution --------------------------------------------------------------------------------------------------------


def execute(command: Command, arguments: Any) -> int:
    """Execute a command with its options, and return the exit code."""
    sources = Sources(json=getattr(arguments, "diagnostics", "text") == "json")
    # A command means the same inside of any `profile` block: --profile alone chooses.
    with profile(SPEC), warnings.catch_warnings():
        warnings.simplefilter("always", DocumentWarning)
        warnings.showwarning = _show
        try:
            return command.execute(arguments, sources)
        except HalfulpError as error:
            return report(error, sources)


def _show(
    message: Warning | str,
    category: type[Warning],
    filename: str,
    lineno: int,
    file: TextIO | None = None,
    line: str | None = None,
) -> None:
    """Print a warning. One about a program or a slow way to compute is printed as it is; any other with its place in
    Python.
    """
    from halfulp.fp_formats.paths.disk import FallbackWarning  # which few commands load

    spoken = isinstance(message, DocumentWarning | FallbackWarning)
    place = "" if spoken else f"{filename}:{lineno}: {category.__name__}: "
    say(f"{place}{message}")
