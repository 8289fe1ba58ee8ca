"""One code of an encoding: its number, the class of what it encodes, and its fields."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from halfulp.interp.bytecode.fields import CodeSink, CodeSource, Field, Thing
from halfulp.interp.bytecode.rules import wrong
from halfulp.interp.declare.declarations import Schema


@dataclass(frozen=True)
class Code:
    """A row. ``take`` returns the values of an object's fields, or None where the row does not fit the object. ``make``
    returns the object of such values, or None where they make none.
    """

    number: int
    kind: type
    fields: tuple[Field, ...]
    make: Callable[..., Thing | None]
    take: Callable[[Any], tuple[Any, ...] | None]
    since: Schema = Schema.MLIR22

    def read(self, source: CodeSource) -> Thing:
        """Read the object; the code itself has been read."""
        start = source.cursor.pos
        values: tuple[Any, ...] = ()
        for field in self.fields:
            values = (*values, field.read(source, values))
        thing = self.make(*values)
        if thing is None:
            source.cursor.fail(f"the encoded values do not make a {self.kind.__name__}", start)
        problem = wrong(thing)
        if problem is not None:
            source.cursor.fail(f"{self.kind.__name__}: {problem}", start)
        return thing

    def write(self, sink: CodeSink, values: tuple[Any, ...]) -> None:
        """Write the code and the fields."""
        sink.varint(self.number)
        for field, value in zip(self.fields, values, strict=True):
            field.write(sink, value, values)


@dataclass(frozen=True)
class Codec:
    """The codes of a dialect's attributes or types."""

    by_number: dict[int, Code]
    by_kind: dict[type, tuple[Code, ...]]

    def write(self, sink: CodeSink, thing: Thing) -> bool:
        """Write an attribute or a type. Returns False, with nothing written, where there is no code for it."""
        for code in self.by_kind.get(type(thing), ()):
            if code.since <= sink.schema and (values := code.take(thing)) is not None:
                code.write(sink, values)
                return True
        return False


def codec_of(codes: tuple[Code, ...]) -> Codec:
    """Return the rows by number and by class."""
    kinds = {code.kind for code in codes}
    # Of several rows with one number, the first is that of the oldest schema; they differ only in ``take``.
    return Codec(
        {code.number: code for code in reversed(codes)},
        {kind: tuple(c for c in codes if c.kind is kind) for kind in kinds},
    )
