"""The errors of halfulp. Each carries the place where it happened, the op, and the values that caused it.

``str(error)`` reads ``file:line:col: error: message``; `HalfulpError.render` adds the source line and a caret under the
column, as compilers do. ``exit_code`` is what the command line exits with. ``code`` is the stable name of the kind of
error: JSON, SARIF and JUnit files have it, and docs/error-codes.md has a section for it.
"""

from __future__ import annotations

import traceback
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from halfulp.interp.ir.base import FileLineCol, Location, UnknownLoc, file_position

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt


class DocumentWarning(UserWarning):
    """The warning for a program that breaks a rule of a dialect's document, but that MLIR accepts: ``file:line:col:
    warning: message``.
    """

    def __init__(self, message: str, location: Location | None) -> None:
        super().__init__(_line(location, "warning", message))


class ScaleWarning(DocumentWarning):
    """The warning that an op treats a scale as its document says, but perhaps not as users expect."""


class HalfulpError(Exception):
    """The base class of the errors of halfulp.

    ``location``: the place in the source, or None.
    ``op``: the name of the op, or None.
    ``values``: the values that caused the error, as given.
    ``notes``: pairs of a location (or None) and a text.
    ``hint``: a suggestion, or None.
    ``lanes``: in a batch, the numbers of the affected lanes, in ascending order. None: all lanes are affected, or the
    run is not a batch.

    Each class has a ``code``, the stable name of this kind of error, and ``advice``, a sentence that says what to do.
    """

    code: ClassVar[str] = "error"
    advice: ClassVar[str] = "Read the message, which names the place and the values."
    exit_code = 2

    def __init__(
        self,
        message: str,
        *,
        location: Location | None = None,
        op: str | None = None,
        values: Iterable[Any] = (),
        notes: Iterable[tuple[Location | None, str]] = (),
        hint: str | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.location = location
        self.op = op
        self.values: tuple[Any, ...] = tuple(values)
        self.notes: tuple[tuple[Location | None, str], ...] = tuple(notes)
        self.hint = hint
        self.lanes: npt.NDArray[np.intp] | None = None

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuild, (type(self), self.message, self.__dict__)

    def _first_line(self) -> str:
        return _line(self.location, "error", self.message)

    def __str__(self) -> str:
        lines = [self._first_line()]
        lines += [_line(location, "note", text) for location, text in self.notes]
        if self.hint:
            lines.append(f"hint: {self.hint}")
        return "\n".join(lines)

    def render(self, source: str | None = None) -> str:
        """Return the message. If the place is in ``source``, the text of the file, its line and a caret are added."""
        lines = [self._first_line(), *_excerpt(self.location, source)]
        for location, text in self.notes:
            lines += [_line(location, "note", text), *_excerpt(location, source)]
        if self.hint:
            lines.append(f"hint: {self.hint}")
        return "\n".join(lines)


class ParseError(HalfulpError):
    """The error for a text that is not MLIR, or that uses a name that does not exist."""

    code = "parse"
    advice = "Correct the text at this place. If a name is misspelt, the hint has the name that is near it."


class UnknownOp(ParseError):
    """An op in custom form that MLIR may have, but halfulp does not know."""

    code = "unknown-op"
    advice = (
        "Give the program in the generic form, as mlir-opt -mlir-print-op-generic prints it, or lower the op to one "
        "that halfulp knows."
    )
    exit_code = 3


class VerifyError(HalfulpError):
    """The error for MLIR that breaks a rule of the language or of an op."""

    code = "verify"
    advice = "Correct the op at this place. The rule is one of MLIR, so mlir-opt refuses the op too."


class TypeMismatch(HalfulpError, TypeError):
    """The error for an input that does not have the type that the function needs. It is also a ``TypeError``."""

    code = "type-mismatch"
    advice = "Give a value of the type that the message names; hu.convert converts numbers to it."


class InputError(HalfulpError, ValueError):
    """The error for an input that cannot be read: a file, a literal or an option. It is also a ``ValueError``."""

    code = "input"
    advice = "Correct the file, the literal or the option that the message names."


class BytecodeError(HalfulpError):
    """An error in a bytecode file: ``file.mlirbc: error: … (at byte 12)``.

    ``filename``: the name of the file, or None.
    ``offset``: the byte at which the error was found, from the start of the file, or None.
    """

    code = "bytecode"
    advice = "The file is damaged at this byte: write it again, with mlir-opt --emit-bytecode or halfulp translate."

    def __init__(self, message: str, *, offset: int | None = None, filename: str | None = None, **more: Any) -> None:
        super().__init__(message, **more)
        self.offset = offset
        self.filename = filename

    def _first_line(self) -> str:
        where = "" if self.filename is None else f"{self.filename}: "
        at = "" if self.offset is None else f" (at byte {self.offset})"
        return f"{where}error: {self.message}{at}"


class LimitExceeded(HalfulpError):
    """The error for a limit on nesting, steps, depth or memory. The run stops when it reaches the limit."""

    code = "limit"
    advice = "Give a smaller program or smaller inputs, or raise the limit that the message names."
    exit_code = 3


class OutOfSteps(LimitExceeded):
    """The error for a run that has reached its limit of ops; it may be endless."""

    code = "steps"
    advice = "Check that the loops end, or raise the limit: max_steps in Python, --max-steps on the command line."


class Unsupported(HalfulpError):
    """The error for valid MLIR that halfulp does not execute."""

    code = "unsupported"
    advice = "Lower the program to ops that halfulp runs, or choose the setting that the message names."
    exit_code = 3


class UndefinedBehavior(HalfulpError):
    """The error for a program whose behaviour is undefined for these inputs."""

    code = "undefined-behavior"
    advice = "Correct the program, or give inputs for which the op is defined. Compiled code may do anything here."
    exit_code = 4


class AssertionFailed(HalfulpError):
    """The error for a cf.assert whose condition is false."""

    code = "assertion"
    advice = "The program says that these inputs are wrong: give others, or correct the condition."
    exit_code = 4


def _rebuild(kind: type[HalfulpError], message: str, state: dict[str, Any]) -> HalfulpError:
    error = kind(message)
    error.__dict__.update(state)
    return error


def _line(location: Location | None, severity: str, text: str) -> str:
    if location is None or isinstance(location, UnknownLoc):
        return f"{severity}: {text}"
    return f"{spell_place(location) or location}: {severity}: {text}"


def spell_place(location: Location) -> str:
    """Return the text ``file:line:col`` of the first file position in a location; empty if it has none."""
    place = file_position(location)
    return f"{place.file}:{place.line}:{place.column}" if place else ""


def _excerpt(location: Location | None, source: str | None) -> list[str]:
    place: FileLineCol | None = None if location is None or source is None else file_position(location)
    if place is None or source is None:
        return []
    lines = source.split("\n")
    if not 1 <= place.line <= len(lines):
        return []
    line = lines[place.line - 1].rstrip("\r")
    # Columns count bytes. A tab keeps its width above the caret; a very long line is cut around the column.
    before = line.encode("utf-8", "replace")[: max(0, place.column - 1)]
    column = len(before.decode("utf-8", "replace"))
    start = max(0, column - 200)
    shown = line[start : start + 400]
    margin = "".join("\t" if char == "\t" else " " for char in shown[: column - start])
    return [shown, f"{margin}^"]


# --- counts -----------------------------------------------------------------------------------------------------------
#
# Spell counts of things in messages.


def plural(count: int, what: str) -> str:
    """Return the text of a number of things, such as ``1 element`` or ``2 elements``."""
    return f"{count:,} {what}{'s'[: count != 1]}"


def are_given(count: int) -> str:
    """Return a text for an error such as ``2 are given``. ``count``: the number of values."""
    return f"{count:,} {'is' if count == 1 else 'are'} given"


def wrong_count(name: str, what: str, types: Sequence[Any], given: int) -> str:
    """Return the text of an error for a wrong number of values, with the types that are expected."""
    listed = f" ({', '.join(map(str, types))})" if types else ""
    return f"{name} takes {plural(len(types), what)}{listed}, but {are_given(given)}"


def internal_error(error: Exception) -> str:
    """Return one line about an exception that halfulp does not raise on purpose: where, which one, and its message."""
    *_, frame = traceback.extract_tb(error.__traceback__)
    what, where = " ".join(str(error).split()), f"{frame.name} of {Path(frame.filename).name}"
    return f"internal error in {where}: {type(error).__name__}: {what}; please report it"


# --- printable --------------------------------------------------------------------------------------------------------
#
# Text that a terminal shows, and never takes as a command.

_SURROGATES = range(0xD800, 0xE000)
_CONTROLS = (*range(9), *range(11, 32), *range(127, 160))
# Marks that change the direction of text, and separators of lines: with them a line may read as another one.
_DIRECTIONS = (0x061C, 0x200E, 0x200F, *range(0x2028, 0x202F), *range(0x2066, 0x206A))
UNPRINTABLE: Mapping[int, str] = dict.fromkeys((*_CONTROLS, *_DIRECTIONS, *_SURROGATES), "\N{REPLACEMENT CHARACTER}")
"""A replacement for each character that a terminal may take as a command, for `str.translate`.

A file that is not text may be quoted in an error. Each character is replaced by one, so that carets stay in place.
"""

ESCAPED: Mapping[int, str] = {code: chr(code).encode("unicode_escape").decode() for code in (*_CONTROLS, *_DIRECTIONS)}
"""The same characters with backslashes, except for surrogates: results stay apart."""


@contextmanager
def prefixed(name: str) -> Iterator[None]:
    """Put ``name``, such as that of a file, before the message of an error that does not begin with it."""
    try:
        yield
    except HalfulpError as error:
        if not error.message.startswith(name):
            error.message = f"{name}: {error.message}"
        raise
