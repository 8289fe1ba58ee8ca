"""The results of a comparison for CI: a JUnit file, a SARIF file, and annotations of GitHub Actions."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any, NamedTuple
from xml.etree import ElementTree

from halfulp.command.console import DIFFERENT, SUCCESS, UNSUPPORTED, WRONG_USE, say
from halfulp.described import flag, option
from halfulp.inputs import write_file
from halfulp.interp.ir.base import FileLineCol
from halfulp.interp.ir.errors import UNPRINTABLE, HalfulpError
from halfulp.release import VERSION

_ELEMENTS = {DIFFERENT: "failure", UNSUPPORTED: "skipped"}
_COUNTED = {"failure": "failures", "skipped": "skipped", "error": "errors"}
_LEVELS = {DIFFERENT: "error", UNSUPPORTED: "warning"}


class Rule(NamedTuple):
    """What a result that is not equal is: its stable name, what it means, and what to do."""

    name: str
    meaning: str
    advice: str


RULES: Mapping[int, Rule] = {
    DIFFERENT: Rule(
        "different",
        "The second version gives results that the language does not allow.",
        "Find the op by halfulp bisect, and make the program smaller by halfulp reduce.",
    ),
    UNSUPPORTED: Rule("not-compared", "Nothing was compared.", "The message says why: give other inputs or tools."),
    WRONG_USE: Rule("not-checked", "The check could not be done.", "The message says why."),
}
"""What a comparison finds, by its exit code. An error has the rule of its class instead."""


def rule_of(kind: type[HalfulpError]) -> Rule:
    """Return the rule of a kind of error."""
    meaning = " ".join((kind.__doc__ or kind.code).partition("\n\n")[0].split())
    return Rule(kind.code, meaning, kind.advice)


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
    """One comparison: its name, its place in the first version, its exit code, its text for people, and the class of
    the error that ended it; None if it was not ended by one.
    """

    name: str
    place: FileLineCol | None
    code: int
    text: str
    error: type[HalfulpError] | None = None

    @property
    def rule(self) -> Rule:
        """The rule of a result that is not equal."""
        return RULES.get(self.code, RULES[WRONG_USE]) if self.error is None else rule_of(self.error)


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
            message = {"message": _plain(one.text.partition("\n")[0]), "type": one.rule.name}
            ElementTree.SubElement(case, _ELEMENTS.get(one.code, "error"), message).text = _plain(one.text)
    ElementTree.indent(suites)
    data: bytes = ElementTree.tostring(suites, "utf-8", xml_declaration=True)
    return data + b"\n"


def sarif(file: str, checked: Sequence[Checked]) -> bytes:
    """Return a SARIF 2.1.0 file with a result for each comparison that is not equal."""
    unequal = [one for one in checked if one.code != SUCCESS]
    rules = dict.fromkeys((*RULES.values(), *(one.rule for one in unequal)))
    driver = {
        "name": "halfulp",
        "version": VERSION,
        "rules": [
            {"id": rule.name, "shortDescription": {"text": rule.meaning}, "help": {"text": rule.advice}}
            for rule in rules
        ],
    }
    results = [_sarif_result(file, one) for one in unequal]
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
        "ruleId": one.rule.name,
        "level": _LEVELS.get(one.code, "error"),
        "message": {"text": _plain(one.text if one.text.startswith(one.name) else f"{one.name}: {one.text}")},
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
