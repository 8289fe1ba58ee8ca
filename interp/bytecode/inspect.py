"""Summaries of bytecode files without their modules: sections, dialects, names, resources."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict, dataclass, field
from typing import Any

from halfulp.interp.bytecode.encoding import ByteCursor
from halfulp.interp.bytecode.index import Container, FileIndex, schema_of
from halfulp.interp.bytecode.reader import read_as, registry_of
from halfulp.interp.declare.declarations import Schema
from halfulp.interp.declare.registry import Registry, default_registry
from halfulp.interp.ir.errors import BytecodeError
from halfulp.interp.ir.operations import Blob, Resource


@dataclass(frozen=True, slots=True)
class DialectSummary:
    """A dialect in a file: the numbers of its op names, attributes and types, how many of the attributes and types are
    text, and its version in hexadecimal.
    """

    name: str
    ops: int
    attributes: int
    types: int
    as_text: int
    version: str | None


@dataclass(frozen=True, slots=True)
class ResourceEntry:
    """A resource of a dialect or, if ``external``, of a tool. ``kind``: blob, bool, string, or declared (without a
    value). ``size``: the bytes of a blob or string. ``alignment``: the alignment of a blob. Both are None for other
    kinds.
    """

    group: str
    key: str
    external: bool
    kind: str
    size: int | None
    alignment: int | None


@dataclass(slots=True)
class Summary:
    """The contents of a file. ``sections``: name, offset and size of each, in order. ``ops``: how many ops have each
    name. ``problem``: why the module cannot be read, so that some counts are missing; None if it can be read.
    """

    size: int
    version: int
    producer: str
    schema: Schema | None
    sections: list[tuple[str, int, int]] = field(default_factory=list)
    dialects: list[DialectSummary] = field(default_factory=list)
    ops: Counter[str] = field(default_factory=Counter)
    strings: int = 0
    string_bytes: int = 0
    resources: list[ResourceEntry] = field(default_factory=list)
    problem: BytecodeError | None = None

    def as_json(self) -> dict[str, Any]:
        """Return the summary as plain data."""
        return {
            "size": self.size,
            "version": self.version,
            "producer": self.producer,
            "schema": None if self.schema is None else self.schema.name,
            "sections": [{"name": name, "offset": offset, "size": size} for name, offset, size in self.sections],
            "dialects": [asdict(dialect) for dialect in self.dialects],
            "ops": dict(self.ops.most_common()),
            "strings": {"count": self.strings, "bytes": self.string_bytes},
            "resources": [asdict(entry) for entry in self.resources],
            "error": None if self.problem is None else str(self.problem),
        }


def inspect(data: bytes | memoryview, filename: str = "<bytecode>", registry: Registry | None = None) -> Summary:
    """Summarise a file. Raises BytecodeError if its container cannot be read; see `Summary.problem`."""
    try:
        file = Container(data)
    except BytecodeError as error:
        error.filename = filename
        raise
    summary = Summary(len(data), file.version, file.producer, schema_of(file.producer))
    for section, content in file.sections.items():
        summary.sections.append((section.name, content.pos, content.left))
    summary.strings = len(file.strings)
    summary.string_bytes = sum(len(text.encode("utf-8", "surrogateescape")) for text in file.strings)
    registry = registry or registry_of(file)
    schemas = (summary.schema,) if summary.schema is not None else tuple(Schema)
    for schema in schemas:
        index = FileIndex(file, schema, registry, allow_unregistered=True)
        summary.problem = _describe(index, summary, filename)
        if summary.problem is None:
            break
    return summary


def _describe(index: FileIndex, summary: Summary, filename: str) -> BytecodeError | None:
    """Add the contents of the index to the summary. Returns the error that stopped the reading, if any."""
    try:
        index.read()
        _list(index, summary)
        module = read_as(index.file, index.schema, index.registry, allow_unregistered=True)
    except BytecodeError as error:
        error.filename = filename
        return error
    summary.ops = Counter(op.name for op in module.walk())
    return None


def _list(index: FileIndex, summary: Summary) -> None:
    ops = Counter(name.dialect for name in index.ops)
    entries = Counter((kind, entry[0]) for kind, things in _things(index) for entry in things)
    texts = Counter(entry[0] for _, things in _things(index) for entry in things if not entry[3])
    versions = {name: version.hex() for name, version in index.dialect_versions.items()}
    summary.dialects = [
        DialectSummary(
            name, ops[name], entries["attribute", name], entries["type", name], texts[name], versions.get(name)
        )
        for name in index.dialects
    ]
    summary.resources = []
    for group, key, external in index.named_resources:
        known = (index.resources.external if external else index.resources.dialect)[group]
        summary.resources.append(_resource(group, key, external, known.get(key)))


def _resource(group: str, key: str, external: bool, entry: Resource | None) -> ResourceEntry:
    if isinstance(entry, Blob):
        return ResourceEntry(group, key, external, "blob", len(entry.data), entry.alignment)
    if isinstance(entry, str):
        return ResourceEntry(group, key, external, "string", len(entry.encode("utf-8", "surrogateescape")), None)
    return ResourceEntry(group, key, external, "declared" if entry is None else "bool", None, None)


def _things(index: FileIndex) -> tuple[tuple[str, list[Any]], tuple[str, list[Any]]]:
    """Return the attributes and types of a file that are not read yet."""
    return ("attribute", index.attributes), ("type", index.types)


def codes_of(data: bytes | memoryview) -> set[tuple[str, str, int | str]]:
    """Return the codes that a file uses: attribute or type, dialect, and the number, or "text"."""
    file = Container(data)
    index = FileIndex(file, schema_of(file.producer) or Schema.LLVM24, default_registry(), allow_unregistered=True)
    index.read()
    found: set[tuple[str, str, int | str]] = set()
    for kind, things in _things(index):
        for dialect, start, end, encoded in things:
            found.add((kind, dialect, ByteCursor(data, start, end).varint() if encoded else "text"))
    return found
