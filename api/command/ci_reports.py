"""The results of a comparison for CI: a JUnit file, and annotations of GitHub Actions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from xml.etree import ElementTree

from halfulp.command.console import DIFFERENT, SUCCESS, UNSUPPORTED, say
from halfulp.command.options.diff import DiffArguments
from halfulp.inputs import write_file
from halfulp.interp.ir.base import FileLineCol
from halfulp.interp.ir.errors import UNPRINTABLE

_ELEMENTS = {DIFFERENT: "failure", UNSUPPORTED: "skipped"}
_COUNTED = {"failure": "failures", "skipped": "skipped", "error": "errors"}
_LEVELS = {DIFFERENT: "error", UNSUPPORTED: "warning"}


@dataclass(frozen=True)
class Checked:
    """One comparison: what was compared, its place in the first version, its exit code, and its text for people."""

    name: str
    place: FileLineCol | None
    code: int
    text: str


def deliver(checked: Sequence[Checked], arguments: DiffArguments) -> None:
    """Write the JUnit file and the annotations that the options ask for."""
    if arguments.junit is not None:
        write_file(arguments.junit, junit(arguments.file, checked))
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
