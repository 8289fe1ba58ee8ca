"""The parts of a text that holds several modules."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple


class InputPart(NamedTuple):
    """A part of a file, and the line and column (in bytes) at which it begins."""

    text: str
    start: tuple[int, int] = (1, 1)


def split_input(text: str) -> Iterator[InputPart]:
    """The parts of a text between the markers ``// -----``, as mlir-opt finds them: anywhere in a line, what follows in
    the line being part of the next part, but not before a zero, nor at the very end.
    """
    begin, line, column = 0, 1, 1
    for marker in re.finditer(r"// -----(?=[^0])", text):
        yield InputPart(text[begin : marker.start()], (line, column))
        passed = text[begin : marker.end()]
        newlines = passed.count("\n")
        last = len(passed[passed.rfind("\n") + 1 :].encode("utf-8", "replace"))
        line, column = line + newlines, last + (1 if newlines else column)
        begin = marker.end()
    yield InputPart(text[begin:], (line, column))
