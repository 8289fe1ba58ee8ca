"""AMD's .coe: the initial content of a block memory, a word per vector as in ``readmemh``, without X digits."""

from __future__ import annotations

from typing import BinaryIO

from halfulp.conformance.vectors.columns import Column, VectorSet
from halfulp.conformance.vectors.formats import text as texts
from halfulp.conformance.vectors.formats.format import Format, Options
from halfulp.conformance.vectors.formats.readmemh import fields, split_word, word


def write(vectors: VectorSet, file: BinaryIO, options: Options) -> None:
    """Write comments, the radix and the words; a semicolon follows the last one."""
    head = [texts.described(vectors.columns), *fields(vectors.columns)]
    file.write("".join(f"; {line}\n" for line in head).encode())
    file.write(b"memory_initialization_radix=16;\nmemory_initialization_vector=\n")
    texts.write_rows(vectors, file, [b",\n", *word(vectors.columns)], skip=2)
    file.write(b";\n")


def read(file: BinaryIO, columns: tuple[Column, ...] | None, options: Options) -> VectorSet:
    """Read the words of a file of radix 16, one or more in a line, between commas or spaces."""
    source, known = texts.described_source(file, columns, "coe", options)
    count: int | None = None

    def line(text: str, done: int) -> list[list[str]]:
        nonlocal count
        if text.startswith(";") and text.strip("; ") and not done:
            return []
        name, equals, value = text.replace(" ", "").lower().partition("=")
        if equals and name == "memory_initialization_radix":
            if value != "16;":
                raise ValueError("the radix must be 16")
            return []
        if equals and name != "memory_initialization_vector":
            raise ValueError("neither a radix nor a vector")
        text = text.partition("=")[2] if equals else text
        words = [split_word(part, known) for part in text.removesuffix(";").replace(",", " ").split()]
        if text.endswith(";"):
            count = done + len(words)
        return words

    rows = texts.read_rows(source, known, [*word(known), b",\n"], line, options)
    return VectorSet(known, texts.complete(rows, lambda: count, source, options))


FORMAT = Format("coe", ".coe", write, read, describes=True)
