"""The parts of a text that holds several modules."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple


class InputPart(NamedTuple):
    """A part of a file, and the line and column (in bytes) of its beginning."""

    text: str
    start: tuple[int, int] = (1, 1)


def split_input(text: str) -> Iterator[InputPart]:
    """Split a text at the markers ``// -----`` as mlir-opt does. A marker may stand anywhere in a line, and the rest of
    the line belongs to the next part. A marker before a zero, or at the very end, does not count.
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
