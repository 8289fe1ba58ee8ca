"""What happens to an error on the command line: JSON for other programs, and mlir-opt's way of testing errors.

``--verify-diagnostics`` reads what is expected from comments, as mlir-opt does:

    // expected-error @+1 {{part of the message}}
    // expected-note-re @below {{a {{pattern}}}}

``@+N``, ``@-N``, ``@below`` (the next line without such a comment), ``@above`` and no mark (the line itself) say where.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass

from halfulp.interp.errors import HalfulpError
from halfulp.interp.locations import Location, file_position

_EXPECTED = re.compile(
    r"expected-(error|note|remark|warning)(-re)? *(@[+-]\d{1,9}|@above|@below|@unknown)? *\{\{(.*)\}\}[ \t]*$"
)


def as_json(error: HalfulpError) -> str:
    """One line of JSON: file, line, column, severity, message, the notes likewise, and the hint."""
    record: dict[str, object] = _record(error.location, "error", error.message)
    record["notes"] = [_record(location, "note", text) for location, text in error.notes]
    record["hint"] = error.hint
    return json.dumps(record, ensure_ascii=True)


def _record(location: Location | None, severity: str, message: str) -> dict[str, object]:
    place = None if location is None else file_position(location)
    file, line, column = (None, None, None) if place is None else (place.file, place.line, place.column)
    return {"file": file, "line": line, "column": column, "severity": severity, "message": message}


@dataclass(frozen=True, slots=True)
class Expectation:
    """A diagnostic that a comment asks for; ``line`` is None for one without a place."""

    severity: str
    line: int | None
    text: str
    pattern: re.Pattern[str]

    def matches(self, severity: str, line: int | None, message: str) -> bool:
        """Whether a diagnostic is the one asked for."""
        return (severity, line) == (self.severity, self.line) and self.pattern.search(message) is not None


def expectations(text: str) -> list[Expectation]:
    """Those of a text, in order."""
    found: list[Expectation] = []
    below: list[tuple[str, re.Pattern[str], str]] = []
    last_plain = 0
    for number, line in enumerate(text.split("\n"), 1):
        match = _EXPECTED.search(line.rstrip("\r"))
        if match is None:
            found += [Expectation(severity, number, text_, pattern) for severity, pattern, text_ in below]
            below.clear()
            last_plain = number
            continue
        severity, is_pattern, where, wanted = match.groups()
        pattern = _pattern(wanted) if is_pattern else re.compile(re.escape(wanted))
        if where == "@below":
            below.append((severity, pattern, wanted))
            continue
        at: int | None = number
        if where == "@above":
            at = last_plain
        elif where == "@unknown":
            at = None
        elif where:
            at = number + int(where[1:])
        found.append(Expectation(severity, at, wanted, pattern))
    return found


def _pattern(text: str) -> re.Pattern[str]:
    """Plain text with regular expressions in double braces."""
    parts = re.split(r"\{\{(.*?)\}\}", text)
    return re.compile("".join(f"(?:{part})" if index % 2 else re.escape(part) for index, part in enumerate(parts)))


def unmet(wanted: list[Expectation], error: HalfulpError | None) -> Iterator[str]:
    """What differs between the diagnostics a text asks for and the error it gave, as messages."""
    left = list(wanted)
    produced: list[tuple[str, Location | None, str]] = []
    if error is not None:
        produced = [("error", error.location, error.message), *(("note", *note) for note in error.notes)]
    for severity, location, message in produced:
        place = None if location is None else file_position(location)
        line = None if place is None else place.line
        met = next((one for one in left if one.matches(severity, line, message)), None)
        if met is not None:
            left.remove(met)
        elif severity != "note" or any(one.severity == "note" for one in wanted):
            where = "" if place is None else f"{place.file}:{place.line}:{place.column}: "
            yield f"{where}error: unexpected {severity}: {message}"
    for one in left:
        where = "" if one.line is None else f"line {one.line}: "
        yield f'{where}error: expected {one.severity} "{one.text}" was not produced'
