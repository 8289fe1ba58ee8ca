"""Counterexamples: inputs for which a second version does what the first does not allow; as text and as data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from halfulp.conformance.comparing.exact_reference import Truth, record_of
from halfulp.conformance.comparing.refinement import Mismatch, ulps_away
from halfulp.conformance.whole_programs.difference_text import code_text, element_text, given_text
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.errors import HalfulpError
from halfulp.interp.ir.operations import Operation
from halfulp.interp.values.printing import spell_value
from halfulp.interp.values.value import Value

MOST_TEXT = 200
"""Most characters of a printed text that are shown."""


@dataclass(frozen=True)
class Counterexample:
    """Arguments for which the second version does what the first does not allow.

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
    """Describe a counterexample for people; its place is the function in the second version.

    ``source``: the text of the second version, whose line is shown.
    """
    mismatch, type_ = found.mismatch, found.type
    where = "" if mismatch is None or mismatch.element == () else element_text(mismatch)
    what = f"@{function.symbol_name} may not do this{where}"
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
    """Spell a text in quotes, cut if it is long."""
    return repr(text) if len(text) <= MOST_TEXT else f"{text[:MOST_TEXT]!r} ..."


def counterexample_record(found: Counterexample) -> dict[str, Any]:
    """Describe a counterexample as data for JSON."""
    record: dict[str, Any] = {"arguments": [spell_value(value) for value in found.arguments]}
    mismatch = found.mismatch
    if found.trap:
        expected = [spell_value(value) for value in found.expected]
        return record | {"expected": expected, "got": "no value", "why": found.trap}
    if found.texts is not None:
        record |= {"printed before": found.texts[0], "printed after": found.texts[1]}
    if mismatch is None:
        return record
    return record | {
        "output": found.output,
        "result": mismatch.result,
        "element": list(mismatch.element),
        "type": str(found.type),
        "expected": f"0x{mismatch.expected:X}",
        "got": mismatch.status.name.lower() if mismatch.actual is None else f"0x{mismatch.actual:X}",
        "ulps": None if found.type is None else ulps_away(found.type, mismatch),
        "truth": record_of(found.truth),
    }
