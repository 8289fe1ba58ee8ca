"""The results of a comparison for CI: a JUnit file, a SARIF file, and annotations of GitHub Actions."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any
from xml.etree import ElementTree

from halfulp.command.console import DIFFERENT, SUCCESS, UNSUPPORTED, say
from halfulp.described import flag, option
from halfulp.inputs import write_file
from halfulp.interp.ir.base import FileLineCol
from halfulp.interp.ir.errors import UNPRINTABLE
from halfulp.release import VERSION

_ELEMENTS = {DIFFERENT: "failure", UNSUPPORTED: "skipped"}
_COUNTED = {"failure": "failures", "skipped": "skipped", "error": "errors"}
_LEVELS = {DIFFERENT: "error", UNSUPPORTED: "warning"}
_RULES = {
    DIFFERENT: ("different", "The second version gives results that the language does not allow."),
    UNSUPPORTED: ("not-compared", "Nothing was compared."),
}
_FAILED = ("not-checked", "The check could not be done.")
SARIF_VERSION = "2.1.0"
_SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"


@dataclass(frozen=True, kw_only=True)
class ReportOptions:
    """The options that ask for reports for CI."""

    junit: str | None = option("FILE", "write the results as a JUnit file, for CI")
    sarif: str | None = option("FILE", "write what is not equal as a SARIF 2.1.0 file, for code scanning")
    github: bool = flag("print the results also as annotations of GitHub Actions")


@dataclass(frozen=True)
class Checked:
    """One comparison: its name, its place in the first version, its exit code, and its text for people."""

    name: str
    place: FileLineCol | None
    code: int
    text: str


def write_ci_reports(file: str, checked: Sequence[Checked], arguments: ReportOptions) -> None:
    """Write the files and the annotations that the options ask for. ``file``: the first version."""
    if arguments.junit is not None:
        write_file(arguments.junit, junit(file, checked))
    if arguments.sarif is not None:
        write_file(arguments.sarif, sarif(file, checked))
    if arguments.github:
        for line in github_lines(checked):
            say(line)


def junit(file: str, checked: Sequence[Checked]) -> bytes:
    """Return a JUnit file with one test case for each comparison."""
    kinds = [_ELEMENTS.get(one.code, "error") for one in checked if one.code != SUCCESS]
    counts = {_COUNTED[kind]: str(count) for kind, count in Counter(kinds).items()}
    totals = {"tests": str(len(checked)), "failures": "0", "errors": "0", "skipped": "0"} | counts
    suites = ElementTree.Element("testsuites", totals)
    suite = ElementTree.SubElement(suites, "testsuite", {"name": _plain(file)} | totals)
    for one in checked:
        case = ElementTree.SubElement(suite, "testcase", {"classname": _plain(file), "name": _plain(one.name)})
        if one.code == SUCCESS:
            ElementTree.SubElement(case, "system-out").text = _plain(one.text)
        else:
            message = {"message": _plain(one.text.partition("\n")[0])}
            ElementTree.SubElement(case, _ELEMENTS.get(one.code, "error"), message).text = _plain(one.text)
    ElementTree.indent(suites)
    data: bytes = ElementTree.tostring(suites, "utf-8", xml_declaration=True)
    return data + b"\n"


def sarif(file: str, checked: Sequence[Checked]) -> bytes:
    """Return a SARIF 2.1.0 file with a result for each comparison that is not equal."""
    rules = [*_RULES.values(), _FAILED]
    driver = {
        "name": "halfulp",
        "version": VERSION,
        "rules": [{"id": name, "shortDescription": {"text": text}} for name, text in rules],
    }
    results = [_sarif_result(file, one) for one in checked if one.code != SUCCESS]
    whole = {
        "$schema": _SCHEMA,
        "version": SARIF_VERSION,
        "runs": [{"tool": {"driver": driver}, "columnKind": "utf16CodeUnits", "results": results}],
    }
    return json.dumps(whole, indent=2).encode() + b"\n"


def _sarif_result(file: str, one: Checked) -> dict[str, Any]:
    location: dict[str, Any] = {"artifactLocation": {"uri": _uri(file if one.place is None else one.place.file)}}
    if one.place is not None and one.place.line:
        location["region"] = {"startLine": one.place.line, "startColumn": max(one.place.column, 1)}
    return {
        "ruleId": _RULES.get(one.code, _FAILED)[0],
        "level": _LEVELS.get(one.code, "error"),
        "message": {"text": f"{one.name}: {_plain(one.text)}"},
        "locations": [{"physicalLocation": location}],
    }


def _uri(file: str) -> str:
    """Return the name of a file as a URI reference, relative if the name is."""
    path = PurePath(file)
    return path.as_uri() if path.is_absolute() else path.as_posix().translate(_QUOTED)


_QUOTED = str.maketrans({character: f"%{ord(character):02X}" for character in ' "#%<>?[]^`{|}\\:'})


def github_lines(checked: Sequence[Checked]) -> Iterator[str]:
    """Yield a workflow command of GitHub Actions for each comparison that is not equal."""
    for one in checked:
        if one.code == SUCCESS:
            continue
        place = one.place
        fields = {} if place is None else {"file": place.file, "line": place.line, "col": place.column}
        spelled = ",".join(f"{name}={_escaped(str(value), ':,')}" for name, value in fields.items())
        yield f"::{_LEVELS.get(one.code, 'error')}{' ' * bool(spelled)}{spelled}::{_escaped(one.text)}"


def _escaped(text: str, more: str = "") -> str:
    for character in ("%", "\r", "\n", *more):
        text = text.replace(character, f"%{ord(character):02X}")
    return text


def _plain(text: str) -> str:
    """Replace the characters that XML cannot contain."""
    return text.translate(UNPRINTABLE).translate(dict.fromkeys((0xFFFE, 0xFFFF), "\N{REPLACEMENT CHARACTER}"))
