"""What the commands of the command line share: exit codes, reading files, and saying what is wrong."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from halfulp.interp.ir.errors import HalfulpError
    from halfulp.interp.ir.operations import Module
    from halfulp.interp.text.parser import Part
    from halfulp.semantics.profile import Profile

SUCCESS, DIFFERENT, WRONG_USE, UNSUPPORTED, UNDEFINED = 0, 1, 2, 3, 4

EXIT_CODES = """\
exit codes: 0 fine or equal, 1 values differ, 2 usage, parse, verify or I-O error, 3 unsupported,
            4 undefined behaviour or forbidden poison
"""


def write(text: str) -> None:
    """Write to stdout; what its encoding lacks is written with backslashes."""
    encoding = sys.stdout.encoding or "utf-8"
    sys.stdout.write(text.encode(encoding, "backslashreplace").decode(encoding))


# A file that is no text may be quoted in an error: nothing in it may reach a terminal as a command. One character each,
# so that carets stay in place.
_SURROGATES = range(0xD800, 0xE000)
UNPRINTABLE = dict.fromkeys((*range(9), *range(11, 32), *range(127, 160), *_SURROGATES), "\N{REPLACEMENT CHARACTER}")


def say(line: str) -> None:
    """Write a line to stderr; what cannot be shown on a terminal is replaced."""
    encoding = sys.stderr.encoding or "utf-8"
    sys.stderr.write(line.translate(UNPRINTABLE).encode(encoding, "replace").decode(encoding) + "\n")


def fail(message: str) -> int:
    """Print an error of use, and return its exit code."""
    say(f"error: {message}")
    return WRONG_USE


class Sources(dict[str, str]):
    """The texts that were read, by the name their locations carry, and whether errors are printed as JSON."""

    def __init__(self, arguments: argparse.Namespace) -> None:
        super().__init__()
        self.json = getattr(arguments, "diagnostics", "text") == "json"


def report(error: HalfulpError, sources: Sources) -> int:
    """Print an error with its source line, and return its exit code."""
    from halfulp.interp.ir.locations import UnknownLoc, file_position

    if isinstance(error.location, UnknownLoc):
        error.location = None
    if sources.json:
        from halfulp.command.diagnostics import as_json

        say(as_json(error))
        return error.exit_code
    places = [file_position(place) for place in (error.location, *(place for place, _ in error.notes)) if place]
    files = {place.file for place in places if place is not None}
    # A location may name another file than the one that was read.
    say(error.render(sources.get(files.pop()) if len(files) == 1 else None))
    return error.exit_code


def worst(codes: Iterable[int]) -> int:
    """The exit code of several runs together."""
    return max(codes, default=SUCCESS)


def ranked(codes: Iterable[int]) -> int:
    """The exit code of several comparisons together: a difference outweighs a failure, and both outweigh agreement.

    DIFFERENT if any differs, else WRONG_USE if any failed or could not be asked, else SUCCESS if any was compared, else
    UNSUPPORTED: nothing was.
    """
    given = set(codes)
    return next((code for code in (DIFFERENT, WRONG_USE, SUCCESS) if code in given), UNSUPPORTED)


@dataclass(frozen=True)
class Program:
    """An MLIR file: its name, its bytes, and its text, None for bytecode."""

    name: str
    data: bytes | memoryview
    text: str | None

    def parts(self, split: bool) -> list[Part | None]:
        """The parts of a text between lines ``// -----``, or all of it as one; bytecode is one, None."""
        from halfulp.interp.text.parser import Part, split_input

        if self.text is None:
            return [None]
        return list(split_input(self.text)) if split else [Part(self.text)]

    def module(self, part: Part | None = None, allow_unregistered: bool = True) -> Module:
        """The module of a part, or of all. Raises HalfulpError."""
        if self.text is None:
            from halfulp.interp.bytecode.reader import read_bytecode

            return read_bytecode(self.data, self.name, allow_unregistered)
        from halfulp.interp.text.parser import Part, parse_module

        part = part or Part(self.text)
        return parse_module(part.text, self.name, allow_unregistered=allow_unregistered, start=part.start)


def read(path: str, sources: Sources) -> Program:
    """An MLIR file; a text is noted in ``sources``. Raises HalfulpError."""
    from halfulp.interp.ir.errors import InputError
    from halfulp.runtime import MAX_FILE_BYTES, decode_text, is_bytecode, open_file

    data: bytes | memoryview
    if path == "-":
        name, data = "<stdin>", sys.stdin.buffer.read(MAX_FILE_BYTES + 1)
        if len(data) > MAX_FILE_BYTES:
            raise InputError(f"the standard input is larger than {MAX_FILE_BYTES} bytes")
    else:
        name, data = path, open_file(path)
    if is_bytecode(data):
        return Program(name, data, None)
    sources[name] = decode_text(data)
    return Program(name, data, sources[name])


def profile_named(spelling: str) -> Profile:
    """The profile that an option names. Raises InputError."""
    from halfulp.interp.ir.errors import InputError
    from halfulp.semantics.profile import as_profile

    try:
        return as_profile(spelling)
    except ValueError as error:
        raise InputError(f"--profile: {error}") from None


def positive(text: str) -> int:
    """A positive number of an option. Raises argparse.ArgumentTypeError."""
    number = int(text) if text.isascii() and text.isdecimal() and len(text) < 20 else 0
    if number < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is no positive number")
    return number


def diagnostics_option(parser: argparse.ArgumentParser) -> None:
    """``--diagnostics``, for commands whose errors `Sources` tells."""
    parser.add_argument(
        "--diagnostics",
        choices=("text", "json"),
        default="text",
        help="print errors as text, or as one JSON object per line",
    )


def properties_of(op: str, given: Sequence[str], sources: Sources) -> dict[str, Any]:
    """The keywords of ``--attr``: a name alone is true; what is no keyword of an enum is read as an MLIR attribute."""
    from halfulp.command.values import naming
    from halfulp.interp.declare.build import property_of
    from halfulp.interp.declare.declarations import EnumDefinition, default_registry
    from halfulp.interp.ir.errors import InputError
    from halfulp.interp.text.parser import parse_attribute

    definition = default_registry().find(op)
    keywords: dict[str, Any] = {}
    for text in given:
        name, equals, value = text.partition("=")
        name = name.strip()
        if not name:
            raise InputError(f"--attr={text}: write --attr NAME or --attr NAME=VALUE")
        if name in keywords:
            raise InputError(f"--attr {name} is given twice")
        declared = None if definition is None else property_of(definition, name)
        if not equals or value == "true":
            keywords[name] = True
        elif value == "false":
            keywords[name] = False
        elif declared is None or isinstance(declared.kind, EnumDefinition):
            keywords[name] = value
        else:
            with naming(f"<attr {name}>", value, sources):
                keywords[name] = parse_attribute(value)
    return keywords


def _scaled(number: float) -> str:
    """A number to three digits, with a letter for thousands, millions, billions."""
    for limit, letter in ((1e9, " G"), (1e6, " M"), (1e3, " k")):
        if number >= limit:
            return f"{number / limit:.3g}{letter}"
    return f"{number:.3g}"


@contextmanager
def progress_bar(unit: str) -> Iterator[Callable[[int, int], object]]:
    """A progress bar on a terminal, counting ``unit``, with their rate and the time left; nothing in a pipe."""
    if not sys.stderr.isatty():
        yield lambda done, total: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, ProgressColumn, Task, TimeRemainingColumn
    from rich.text import Text

    class Rate(ProgressColumn):
        def render(self, task: Task) -> Text:
            speed = task.finished_speed or task.speed or (task.completed / task.elapsed if task.elapsed else 0)
            return Text(f"{_scaled(speed)} {unit}/s" if speed else "")

    columns = (BarColumn(), MofNCompleteColumn(), Rate(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True)) as bar:
        row = bar.add_task(unit)
        yield lambda done, total: bar.update(row, completed=done, total=total)
