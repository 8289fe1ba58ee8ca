"""Inputs for which a second version of a function has results that the first does not allow, as text and as data."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from halfulp.conformance.comparing.refinement import Mismatch, Truth, record_of, ulps_away
from halfulp.conformance.whole_programs.diff import Difference
from halfulp.conformance.whole_programs.op_search import Finding
from halfulp.fp_formats.spelling import hexadecimal
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.errors import HalfulpError, spell_place
from halfulp.interp.ir.operations import Operation
from halfulp.interp.ir.types import width_of
from halfulp.interp.values.spelling import spell_element, spell_value
from halfulp.interp.values.value import Value

# --- difference text --------------------------------------------------------------------------------------------------
#
# Differences as text for people, as records for JSON, and as the comments above a reduced program.


def code_text(type_: ty.Type, code: int) -> str:
    """Return the text of a code as its bits, and its value if that adds something: ``0x3C70 (0.0146)``."""
    raw, text = hexadecimal(code, width_of(type_)), spell_element(type_, code)
    return raw if text == raw else f"{raw} ({text})"


def given_text(type_: ty.Type, mismatch: Mismatch) -> str:
    """Return the text of the oracle's result: bits and distance, or poison or a trap."""
    if mismatch.actual is None:
        return mismatch.status.name.lower() + (f": {mismatch.why}" if mismatch.why else "")
    ulps = ulps_away(type_, mismatch)
    away = f", {ulps} ulp{'s'[: ulps != 1]} away" if ulps else ""
    return code_text(type_, mismatch.actual) + away


def element_text(mismatch: Mismatch) -> str:
    """Return the text of the place of a mismatch, `` at element [1, 2]``; the empty string for a scalar."""
    return f" at element {list(mismatch.element)}" if mismatch.element else ""


def operand_lines(finding: Finding) -> list[str]:
    """Return the operands of the differing element, or the whole operands if the op is not a case."""
    if finding.case is None or not finding.mismatch.operands:
        return [f"operand {number}: {spell_value(value, limit=16)}" for number, value in enumerate(finding.operands)]
    pairs = zip(finding.case.operand_types, finding.mismatch.operands, strict=True)
    return [f"operand {number}: {code_text(type_, code)}" for number, (type_, code) in enumerate(pairs)]


def difference_lines(difference: Difference, oracle: str) -> list[str]:
    """Return lines that describe a difference for people: the place, the op, its operands, the expected result and the
    oracle's.
    """
    finding, mismatch, type_ = difference.finding, difference.mismatch, difference.type
    where = None
    if finding is not None:
        mismatch, type_, where = finding.mismatch, finding.type, finding.op.location
    what = "the results differ" if finding is None else f"{finding.title} differs"
    severity = HalfulpError(f"{what} by {oracle}{element_text(mismatch)}", location=where)
    text = difference.program.module.text
    lines = severity.render(text).split("\n")
    if finding is None:
        lines.append(f"  result {mismatch.result}; no single op explains it")
    else:
        lines += [f"  {line}" for line in operand_lines(finding)]
        if finding.op.results[1:]:
            lines.append(f"  result {mismatch.result}")
    lines += [f"  expected: {code_text(type_, mismatch.expected)}", f"  got:      {given_text(type_, mismatch)}"]
    if difference.truth is not None:
        lines.append(f"  {difference.truth.text('expected', 'got')}")
    if finding is not None and finding.note:
        lines.append(f"  note: {finding.note}")
    if difference.known:
        lines.append(f"  known: {'; '.join(difference.known)}")
    return lines


def difference_record(difference: Difference) -> dict[str, Any]:
    """Return a difference as data for JSON."""
    finding, mismatch, type_ = difference.finding, difference.mismatch, difference.type
    record: dict[str, Any] = {"input": difference.index}
    if finding is not None:
        mismatch, type_ = finding.mismatch, finding.type
        record |= {
            "op": finding.op.name,
            "task": finding.title,
            "location": spell_place(finding.op.location),
            "operands": [f"0x{code:X}" for code in mismatch.operands],
        }
    return record | {"known": list(difference.known)} | _mismatch_record(mismatch, type_, difference.truth)


def _mismatch_record(mismatch: Mismatch, type_: ty.Type | None, truth: Truth | None) -> dict[str, Any]:
    return {
        "result": mismatch.result,
        "element": list(mismatch.element),
        "type": str(type_),
        "expected": f"0x{mismatch.expected:X}",
        "got": mismatch.status.name.lower() if mismatch.actual is None else f"0x{mismatch.actual:X}",
        "ulps": None if type_ is None else ulps_away(type_, mismatch),
        "truth": record_of(truth),
        **({"why": mismatch.why} if mismatch.why else {}),
    }


def header(difference: Difference, oracle: str, version: str, halfulp: str) -> Iterator[str]:
    """Yield the comments above a reduced program: what differs, the expected result and the oracle's."""
    finding, mismatch, type_ = difference.finding, difference.mismatch, difference.type
    what = "the results differ" if finding is None else f"{finding.title} differs"
    if finding is not None:
        mismatch, type_ = finding.mismatch, finding.type
    yield f"// {what} by {oracle} {version} from {halfulp}"
    if finding is not None and finding.case is not None and mismatch.operands:
        pairs = zip(finding.case.operand_types, mismatch.operands, strict=True)
        yield f"// operands: {', '.join(code_text(kind, code) for kind, code in pairs)}"
    yield f"// expected: {code_text(type_, mismatch.expected)}"
    yield f"// got:      {given_text(type_, mismatch)}"
    if difference.known:
        yield f"// known:    {'; '.join(difference.known)}"


# --- counterexamples --------------------------------------------------------------------------------------------------

MOST_TEXT = 200
"""Most characters of a printed text that are shown."""


@dataclass(frozen=True)
class Counterexample:
    """Arguments for which the second version has an outcome that the first does not allow.

    ``mismatch``: the first element that differs, of output number ``mismatch.result``, or of the printed values; its
    type is ``type``. ``trap``: why the second version has no such output: it has undefined behaviour, does not end, or
    has another shape. ``texts``: what both print, if that differs. ``outputs``: the names of the outputs.
    ``expected``: the outputs of the first version. ``truth``: which of the two elements is nearer to the exact number.
    """

    arguments: tuple[Value, ...] = ()
    mismatch: Mismatch | None = None
    type: ty.Type | None = None
    trap: str = ""
    texts: tuple[str, str] | None = None
    outputs: tuple[str, ...] = ()
    expected: tuple[Value, ...] = ()
    truth: Truth | None = None

    @property
    def output(self) -> str:
        """The name of the output that differs; "" if there is none."""
        if self.mismatch is None or self.texts is not None:
            return "" if self.texts is None else "the printed text"
        return self.outputs[self.mismatch.result]


def counterexample_lines(function: Operation, found: Counterexample, source: str | None = None) -> list[str]:
    """Return lines that describe a counterexample for people. Its place is the function in the second version.

    ``source``: the text of the second version; the line of the function is shown.
    """
    mismatch, type_ = found.mismatch, found.type
    where = "" if mismatch is None or mismatch.element == () else element_text(mismatch)
    what = f"@{function.symbol_name} gives a result that is not allowed{where}"
    lines = [HalfulpError(what, location=function.location).render(source)]
    lines += [f"  argument {number}: {spell_value(value, limit=16)}" for number, value in enumerate(found.arguments)]
    if found.trap:
        values = [spell_value(value, limit=16) for value in found.expected]
        return [*lines, f"  before:   {', '.join(values) or 'it returns'}", f"  after:    {found.trap}"]
    if found.texts is not None:
        lines += [f"  printed before: {_cut(found.texts[0])}", f"  printed after:  {_cut(found.texts[1])}"]
        if mismatch is not None:
            lines.append(f"  printed value {mismatch.result}")
    elif len(found.outputs) > 1 or not found.output.startswith("result"):
        lines.append(f"  {found.output}")
    if mismatch is None or type_ is None:
        return lines
    return [
        *lines,
        f"  before:   {code_text(type_, mismatch.expected)}",
        f"  after:    {given_text(type_, mismatch)}",
        *([] if found.truth is None else [f"  {found.truth.text('before', 'after')}"]),
    ]


def _cut(text: str) -> str:
    """Return a text in quotes, cut if it is long."""
    return repr(text) if len(text) <= MOST_TEXT else f"{text[:MOST_TEXT]!r} ..."


def counterexample_record(found: Counterexample) -> dict[str, Any]:
    """Return a counterexample as data for JSON."""
    record: dict[str, Any] = {"arguments": [spell_value(value) for value in found.arguments]}
    mismatch = found.mismatch
    if found.trap:
        expected = [spell_value(value) for value in found.expected]
        return record | {"expected": expected, "got": "no value", "why": found.trap}
    if found.texts is not None:
        record |= {"printed before": found.texts[0], "printed after": found.texts[1]}
    if mismatch is None:
        return record
    return record | {"output": found.output} | _mismatch_record(mismatch, found.type, found.truth)
