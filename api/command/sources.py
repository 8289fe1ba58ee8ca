"""Read files for commands, and print errors that point into them."""

from __future__ import annotations

import sys
from dataclasses import dataclass

import halfulp
from halfulp.command.console import say
from halfulp.command.diagnostics import as_json
from halfulp.inputs import MAX_FILE_BYTES
from halfulp.interp.ir.base import UnknownLoc, file_position
from halfulp.interp.ir.errors import HalfulpError, InputError, UnknownOp
from halfulp.interp.ir.operations import Module
from halfulp.interp.loading import parse_module, parse_without, read_bytecode
from halfulp.interp.text.skipping import InputPart, split_input
from halfulp.loading import decode_text, is_bytecode, language_in, language_of, open_file


class Sources(dict[str, str]):
    """The texts that were read, by the file name in their locations, and whether errors are printed as JSON."""

    def __init__(self, json: bool = False) -> None:
        super().__init__()
        self.json = json


def report(error: HalfulpError, sources: Sources) -> int:
    """Print an error with its source line, and return its exit code."""
    if isinstance(error.location, UnknownLoc):
        error.location = None
    say(as_json(error) if sources.json else rendered(error, sources))
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
        """Return the module of a part, or of the whole file, to run it. IREE's compiler lowers one in StableHLO; a note
        says so. Parts of an unknown form are skipped, if a function is left. Raise HalfulpError.
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
        return halfulp.from_stablehlo("\n" * (given.start[0] - 1) + given.text, name=self.name)


def read(path: str, sources: Sources) -> ProgramSource:
    """Read an MLIR file, and note its text in ``sources``. Raise HalfulpError."""
    data: bytes | memoryview
    if path == "-":
        name, data = "<stdin>", sys.stdin.buffer.read(MAX_FILE_BYTES + 1)
        if len(data) > MAX_FILE_BYTES:
            raise InputError(f"the standard input is larger than {MAX_FILE_BYTES} bytes")
    else:
        name, data = path, open_file(path)
    if is_bytecode(data):
        return ProgramSource(name, data, None)
    sources[name] = decode_text(data)
    return ProgramSource(name, data, sources[name])
