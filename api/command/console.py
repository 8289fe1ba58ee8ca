"""Exit codes, writing to stdout and stderr, and a progress bar for long work."""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from errno import EBADF
from typing import Any, TextIO

SUCCESS, DIFFERENT, WRONG_USE, UNSUPPORTED, UNDEFINED = 0, 1, 2, 3, 4

EXIT_CODES = """\
exit codes: 0 fine or equal, 1 values differ, 2 usage, parse, verify or I-O error, 3 unsupported,
            4 undefined behaviour or forbidden poison
"""


def write(text: str) -> None:
    """Write to stdout. Characters that its encoding lacks, or that a terminal may take as a command, are written with
    backslashes: they may come from a program. Raise OSError if stdout is closed.
    """
    if sys.stdout is None:
        raise OSError(EBADF, "the standard output is closed")
    sys.stdout.write(_escaped(text))


def _escaped(text: str) -> str:
    from halfulp.interp.ir.errors import ESCAPED

    encoding = sys.stdout.encoding or "utf-8"
    return text.translate(ESCAPED).encode(encoding, "backslashreplace").decode(encoding)


COLOURS = {"red": 31, "green": 32, "cyan": 36}
"""The colours of a terminal by name, with their codes."""


def write_coloured(text: str, patterns: Iterable[str], colours: Mapping[str, str]) -> None:
    """Write to stdout as `write` does. On a terminal, each named group of the patterns has its colour.

    The variables NO_COLOR, FORCE_COLOR and TERM have their usual meaning.
    """
    if sys.stdout is None or not _has_colours(sys.stdout):
        return write(text)
    sys.stdout.write(_coloured(_escaped(text), patterns, colours))
    return None


def _has_colours(stream: TextIO) -> bool:
    if os.environ.get("NO_COLOR") or os.environ.get("TERM", "") in ("dumb", "unknown"):
        return False
    return bool(os.environ.get("FORCE_COLOR")) or stream.isatty()


def _coloured(text: str, patterns: Iterable[str], colours: Mapping[str, str]) -> str:
    """Return a text in which the named groups of patterns have codes of colours; the first of groups that overlap."""
    places: list[tuple[int, int, int]] = []
    for pattern in patterns:
        for found in re.finditer(pattern, text):
            for name, part in found.groupdict().items():
                if part:
                    places.append((*found.span(name), COLOURS[colours[name]]))
    parts, at = [], 0
    for start, end, code in sorted(places):
        if start >= at:
            parts += [text[at:start], f"\x1b[{code}m{text[start:end]}\x1b[0m"]
            at = end
    return "".join([*parts, text[at:]])


def put(record: Mapping[str, Any]) -> None:
    """Write one object of JSON to stdout, as a line."""
    write(json.dumps(record, ensure_ascii=True, allow_nan=False) + "\n")


def say(line: str) -> None:
    """Write a line to stderr. Characters that a terminal may take as a command are replaced by others. On a terminal,
    the kind of a message has a colour.
    """
    from halfulp.interp.ir.errors import UNPRINTABLE

    encoding = sys.stderr.encoding or "utf-8"
    text = line.translate(UNPRINTABLE).encode(encoding, "replace").decode(encoding)
    if _has_colours(sys.stderr):
        text = _coloured(text, [_MESSAGE], {"error": "red", "hint": "green", "note": "cyan"})
    sys.stderr.write(text + "\n")


_MESSAGE = r"(?m)^(?:.+?:\d+:\d+: |halfulp: )?(?:(?P<error>(?:internal )?error)|(?P<hint>hint)|(?P<note>note)):"
"""The words at the start of lines of a message."""


def fail(message: str) -> int:
    """Print an error about wrong use of the command, and return its exit code."""
    say(f"error: {message}")
    return WRONG_USE


def need_one(names: str, given: int) -> int:
    """Print an error that asks for exactly one of several arguments, if none or too many are given. Return the exit
    code.
    """
    return fail(f"{'give only one' if given else 'missing: give one'} of {names}")


def worst(codes: Iterable[int]) -> int:
    """Return the exit code for several runs: the largest of their codes."""
    return max(codes, default=SUCCESS)


def ranked(codes: Iterable[int], require_all: bool = False) -> int:
    """Return the exit code of several comparisons together.

    It is DIFFERENT if any differs, else WRONG_USE if any failed, else SUCCESS if any was compared, else UNSUPPORTED:
    nothing was compared. ``require_all``: UNSUPPORTED if any was not compared.
    """
    given = set(codes)
    order = (DIFFERENT, WRONG_USE, *((UNSUPPORTED,) if require_all else ()), SUCCESS)
    return next((code for code in order if code in given), UNSUPPORTED)


# --- progress ---------------------------------------------------------------------------------------------------------
#
# A progress bar for long work.


def _scaled(number: float) -> str:
    """Return the text of a number with three digits, and a letter for thousands, millions or billions."""
    for limit, letter in ((1e9, " G"), (1e6, " M"), (1e3, " k")):
        if number >= limit:
            return f"{number / limit:.3g}{letter}"
    return f"{number:.3g}"


@contextmanager
def progress_bar(unit: str) -> Iterator[Callable[[int, int], object]]:
    """A context manager that shows a progress bar on a terminal; in a pipe it shows nothing. It gives a function that
    is called with the numbers of units that are done and of all units. ``unit``: the name of a unit, for the rate.
    """
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
