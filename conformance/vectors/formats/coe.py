"""AMD's .coe format: the initial content of a block memory. It has one word for each vector, as in ``readmemh``, but
without X digits.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import BinaryIO

from halfulp.conformance.vectors.columns import Column, VectorSet
from halfulp.conformance.vectors.formats import text as texts
from halfulp.conformance.vectors.formats.format import Options
from halfulp.conformance.vectors.formats.readmemh import comments, split_word


def _row(columns: Sequence[Column]) -> texts.Row:
    return [*texts.whole_codes(columns), b",\n"]


class _Lines(texts.Lines):
    """The reader of a file of radix 16: one or more words in a line, between commas or spaces; a semicolon ends
    them.
    """

    ends = True

    def read(self, text: str, done: int) -> list[list[str]]:
        if text.startswith(";") and text.strip("; ") and not done:
            return []
        name, equals, value = text.replace(" ", "").lower().partition("=")
        if equals and name == "memory_initialization_radix":
            if value != "16;":
                raise ValueError("the radix must be 16")
            return []
        if equals and name != "memory_initialization_vector":
            raise ValueError("the line has neither a radix nor a vector")
        text = text.partition("=")[2] if equals else text
        words = [split_word(part, self.columns) for part in text.removesuffix(";").replace(",", " ").split()]
        if text.endswith(";"):
            self.count = done + len(words)
        return words


def _write(vectors: VectorSet, file: BinaryIO, options: Options) -> None:
    """Write comments, the radix and the words; a semicolon follows the last one."""
    file.write(comments(vectors.columns, ";").encode())
    file.write(b"memory_initialization_radix=16;\nmemory_initialization_vector=\n")
    texts.write_rows(vectors, file, [b",\n", *texts.whole_codes(vectors.columns)], skip=2)
    file.write(b";\n")


FORMAT = texts.text_format("coe", ".coe", _row, _Lines, write=_write, describes=True)
