"""Reports on results of a device for regression tests: JUnit XML, annotations, and a file of the failing rows."""

from __future__ import annotations

import io
import re
from xml.etree import ElementTree

from halfulp.conformance.vectors.columns import VectorSet
from halfulp.conformance.vectors.compressed import MARKS, compressing, plain_name
from halfulp.conformance.vectors.formats import format_named, format_of_file, write_vectors
from halfulp.conformance.vectors.formats.format import Format
from halfulp.conformance.vectors.packing import FORMAT_NAMES
from halfulp.golden.report import Report
from halfulp.interp.ir.errors import InputError, plural

MOST_FAILING = 1 << 16
"""The most failing rows that are stored for a file."""

_NOT_IN_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""Characters that XML 1.0 cannot have."""


def junit(name: str, report: Report | None, error: str = "") -> str:
    """Return the result of a check as JUnit XML with one test case. ``report``: None if an ``error`` prevented it. A
    row that differs makes the test case fail; a problem that ends the check is an error of the test case.
    """
    problem = error or ("" if report is None or report.problem is None else str(report.problem))
    failed = report is not None and bool(report.differing)
    counts = {"tests": "1", "failures": str(int(failed)), "errors": str(int(bool(problem) and not failed))}
    suites = ElementTree.Element("testsuites", counts)
    suite = ElementTree.SubElement(suites, "testsuite", {"name": "halfulp vectors check", **counts})
    case = ElementTree.SubElement(suite, "testcase", {"classname": "halfulp.vectors", "name": _xml(name)})
    text = "" if report is None else str(report)
    if failed and report is not None:
        told = ElementTree.SubElement(case, "failure", {"message": _xml(summary(report)), "type": "rows differ"})
        told.text = _xml(text)
    elif problem:
        told = ElementTree.SubElement(case, "error", {"message": _xml(problem.splitlines()[0]), "type": "problem"})
        told.text = _xml("\n".join(filter(None, (text, error))))
    else:
        ElementTree.SubElement(case, "system-out").text = _xml(text)
    ElementTree.indent(suites)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ElementTree.tostring(suites, "unicode") + "\n"


def _xml(text: str) -> str:
    return _NOT_IN_XML.sub("\ufffd", text)


def summary(report: Report) -> str:
    """Return the result in one line: the numbers of rows, and the likeliest cause that no equal row refutes."""
    if not report.differing:
        return (
            str(report.problem).splitlines()[0]
            if report.problem is not None
            else f"{plural(report.rows, 'row')}, none differs"
        )
    found, why = report.found, ""
    if found.explanations and (best := found.explanations[0]).leads:
        some = "" if best.rows == found.examined else f"{best.rows:,} of {found.examined:,} tried by "
        why = f": {some}{best.name}"
    rows = plural(report.rows, "row")
    return f"{report.differing:,} of {rows} differ{why}"


def annotation(name: str, report: Report | None, error: str = "") -> str:
    """Return the result as a command of GitHub Actions, which shows it beside the run: an error, or a notice if all is
    equal. It has the line of the first row that differs, in formats of lines.
    """
    level = "notice" if report is not None and report.equal else "error"
    line = next((one.line for one in report.mismatches), None) if report is not None else None
    places = {"file": name, **({} if line is None else {"line": str(line)}), "title": "halfulp vectors check"}
    told = summary(report) if report is not None else error
    spelled = ",".join(f"{key}={_escaped(value, ':,')}" for key, value in places.items())
    return f"::{level} {spelled}::{_escaped(told)}"


def _escaped(text: str, more: str = "") -> str:
    return "".join(f"%{ord(each):02X}" if each in f"%\r\n{more}" else each for each in text)


def format_of_failing(path: str) -> Format:
    """Return the format that the ending of the file of failing rows names. Raises InputError if it names none."""
    format = format_of_file(plain_name(path))
    if format is None:
        raise InputError(f"--failing={path}: the ending must be that of a format: {', '.join(FORMAT_NAMES)}")
    return format


def failing_rows(report: Report, path: str) -> bytes:
    """Return a file of the rows that differ, with their operands and the expected results, as a set of vectors in the
    format that the ending of ``path`` names.

    Raises InputError for an ending that names no format, and what the format raises.
    """
    format = format_of_failing(path)
    computation, sink = report.computation, io.BytesIO()
    columns = computation.inputs + computation.outputs
    kept = [k for k, column in enumerate(columns) if column.role in format_named(format.name).carries]
    chunks = [tuple(chunk[k] for k in kept) for chunk in report.found.failing]
    vectors = VectorSet(tuple(columns[k] for k in kept), chunks, sum(len(chunk[0]) for chunk in chunks))
    ending = next((ending for ending in MARKS if path.endswith(ending)), "")
    with compressing(sink, ending, path) as file:
        write_vectors(vectors, file, format.name, "canonical")
    return sink.getvalue()
