"""The container of a bytecode file: its sections and its strings."""

from __future__ import annotations

import re

from halfulp.interp.bytecode.encoding import MAGIC, MAX_VERSION, ByteCursor, Section
from halfulp.interp.declare.declarations import Schema

_AT_TOP = frozenset(Section) - {Section.DIALECT_VERSIONS}


class Container:
    """The sections of a file, and its strings."""

    def __init__(self, data: bytes | memoryview) -> None:
        cursor = ByteCursor(data)
        if bytes(cursor.take(min(4, cursor.left))) != MAGIC:
            cursor.fail("not MLIR bytecode: it does not begin with 4D 4C EF 52", 0)
        self.cursor = cursor
        self.version = cursor.varint()
        if self.version > MAX_VERSION:
            cursor.fail(f"version {self.version} is not supported: the newest is {MAX_VERSION}", 4)
        self.producer = cursor.terminated().decode("utf-8", "replace")
        self.sections: dict[Section, ByteCursor] = {}
        while cursor.left:
            start = cursor.pos
            number, content = cursor.section()
            if number not in _AT_TOP:
                cursor.fail(f"unknown section {number}", start)
            if number in self.sections:
                cursor.fail(f"the section {Section(number).name} occurs twice", start)
            self.sections[Section(number)] = content
        self.strings = _strings(self.section(Section.STRING))

    def section(self, number: Section) -> ByteCursor:
        """Return a cursor at the start of a section. Raises BytecodeError where the section is missing."""
        found = self.sections.get(number)
        if found is None:
            self.cursor.fail(f"the section {number.name} is missing")
        return ByteCursor(found.data, found.pos, found.end)

    def string(self, cursor: ByteCursor) -> str:
        """Read the number of a string, and return the string."""
        start = cursor.pos
        number = cursor.varint()
        if number >= len(self.strings):
            cursor.fail(f"string {number} does not exist: there are {len(self.strings)}", start)
        return self.strings[number]


def _strings(cursor: ByteCursor) -> list[str]:
    """Read the strings: first their sizes in reverse order, then their bytes."""
    sizes = [cursor.varint() for _ in range(cursor.count())]
    strings = []
    for size in reversed(sizes):
        start = cursor.pos
        text = bytes(cursor.take(size))
        if not text or text[-1]:
            cursor.fail("a string does not end", start)
        strings.append(text[:-1].decode("utf-8", "surrogateescape"))
    cursor.finish("the string section")
    return strings


def schema_of(producer: str) -> Schema | None:
    """Return the schema of the files of a producer such as ``MLIR22.1.8``; None where the name does not tell it."""
    found = re.match(r"(?:MLIR|LLVM)(\d{1,9})(?!\d)", producer)
    return None if found is None else Schema.LLVM24 if int(found[1]) > Schema.MLIR22 else Schema.MLIR22
