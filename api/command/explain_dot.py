"""``halfulp explain-dot``: explain one element of a matrix product on a real chip."""

from __future__ import annotations

import re
from typing import Any

from halfulp.command.console import SUCCESS, write
from halfulp.command.options.explain_dot import ExplainDotArguments
from halfulp.command.sources import Sources
from halfulp.command.values import read_npy
from halfulp.explanations.dot import explain_dot
from halfulp.inputs import read_file, write_file
from halfulp.interp.ir.errors import InputError

_REPEATED = re.compile(r"([^*]+)\*(\d{1,18})", re.ASCII)
_MOST = 1 << 16


def _values(text: str | None, name: str) -> Any:
    """Return the numbers of an option, each as text, or the array of a file."""
    if text is None:
        return None
    if text.startswith("@"):
        return read_npy(read_file(text[1:]), text[1:])
    numbers: list[str] = []
    for word in re.split(r"[\s,]+", text.strip()):
        repeated = _REPEATED.fullmatch(word)
        number, times = (repeated[1], int(repeated[2])) if repeated else (word, 1)
        if len(numbers) + times > _MOST:
            raise InputError(f"--{name} has more than {_MOST} values")
        numbers += [number] * times
    return numbers


def execute(arguments: ExplainDotArguments, sources: Sources) -> int:
    """Execute the command, and return its exit code. Raise HalfulpError."""
    given = arguments
    row, column, addend, *scales = [
        _values(getattr(given, name), name.replace("_", "-")) for name in ("a", "b", "c", "scale_a", "scale_b")
    ]
    if isinstance(addend, list):
        if len(addend) != 1:
            raise InputError(f"--c is one number, not {len(addend)}")
        (addend,) = addend
    explanation = explain_dot(
        given.kind,
        row,
        column,
        addend,
        given.mma,
        element=given.element,
        scale_a=scales[0],
        scale_b=scales[1],
        a_type=given.a_type,
        b_type=given.b_type,
    )
    if given.html is not None:
        write_file(given.html, explanation.html().encode("utf-8"))
    if given.html is None:
        write(f"{explanation}\n")
    return SUCCESS
