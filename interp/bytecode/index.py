"""The parts of a bytecode file other than the ops: names, attributes, types, resources and properties.

The size of the file bounds everything: a count that the remaining bytes cannot hold is an error, and so are attributes
that contain themselves. Nothing is dropped: bytes that are left over or unknown are an error that names the op and the
offset.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

from halfulp.interp.bytecode.codes import ATTRIBUTE_CODES, ATTRIBUTES, TYPE_CODES, UNSUPPORTED
from halfulp.interp.bytecode.encoding import (
    DIALECT_VERSIONS,
    ELIDED_LOCATIONS,
    MAX_VERSION,
    NATIVE_PROPERTIES,
    ByteCursor,
    ResourceKind,
    Section,
    varint,
)
from halfulp.interp.bytecode.fields import Codec, Thing, boolean
from halfulp.interp.bytecode.numbering import code_of, layout_of, read_segments
from halfulp.interp.declare.declarations import OpDefinition, Schema
from halfulp.interp.declare.operands import add_defaults, renewed
from halfulp.interp.declare.registry import Registry
from halfulp.interp.ir import attributes as at
from halfulp.interp.ir.base import FileLineCol, Place, UnknownLoc
from halfulp.interp.ir.blobs import MAGIC
from halfulp.interp.ir.dialect_attributes import EnumDefinition, parts
from halfulp.interp.ir.errors import BytecodeError, HalfulpError
from halfulp.interp.ir.operations import Blob, Resources, SSAValue
from halfulp.interp.ir.types import FloatType, IndexType, IntegerType, Type
from halfulp.interp.text.lexer import MAX_NESTING
from halfulp.interp.text.parser import parse_attribute, parse_type

# --- container --------------------------------------------------------------------------------------------------------
#
# The container of a bytecode file: its sections and its strings.

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
        """Return a cursor at the start of a section. Raises BytecodeError if the section is missing."""
        found = self.sections.get(number)
        if found is None:
            self.cursor.fail(f"the section {number.name} is missing")
        return ByteCursor(found.data, found.pos, found.end)

    def string(self, cursor: ByteCursor) -> str:
        """Read the number of a string, and return the string."""
        return self.strings[cursor.number(len(self.strings), "string")]


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
    """Return the schema of the files of a producer such as ``MLIR22.1.8``; None if the name does not tell it."""
    found = re.match(r"(?:MLIR|LLVM)(\d{1,9})(?!\d)", producer)
    return None if found is None else Schema.LLVM24 if int(found[1]) > Schema.MLIR22 else Schema.MLIR22


# --- index ------------------------------------------------------------------------------------------------------------

MAX_UNWRITTEN = 1 << 19, 8
"""The most things that may be made without a byte of the file for each: a fixed number, and a number per byte. Such
things are the numbers of a splat, or the entries of a dictionary that many ops share.
"""

MAX_SHARED = 1 << 16
"""The most attributes and types that one may contain beyond the bytes of the file; shared ones count each time."""

# An attribute or a type that is not read yet: its dialect, its start and end, and True if it is not text.
ThingEntry = tuple[str, int, int, bool]


Likeness = tuple[dict[str, at.Attribute], list[Type], int]
"""What ops with the same bytes have in common: the properties, the types of the results, and the number of operands."""


@dataclass(slots=True)
class OpName:
    """An op's name. ``registered``: its properties have a native layout.

    ``plain``: it has no properties. ``known``: the properties that were read, by their numbers. ``like``: for each
    combination of parts that an op may have: the number of bytes between location and operands of the first op that has
    it, and the parts that these bytes encode. ``late``: its properties are laid out with the late ones.
    """

    name: str
    dialect: str
    registered: bool
    definition: OpDefinition | None
    plain: bool
    late: bool = False
    known: dict[int, dict[str, at.Attribute]] = field(default_factory=dict)
    like: dict[int, tuple[int, dict[bytes, Likeness]]] = field(default_factory=dict)


_BUSY = object()
_COLLISION = 8  # the cost of comparing two things, in things made
# Classes without parts. Most attributes of a file are of the first one.
_LEAVES = frozenset((FileLineCol, UnknownLoc, at.UnitAttr, at.FloatAttr, IntegerType, FloatType, IndexType))
_AHEAD = 256  # the most positions that are read at once
_FILE_LINE_COL = varint(next(code.number for code in ATTRIBUTES if code.kind is FileLineCol))[0]


class FileIndex:
    """The parts of a file other than the ops; each is read at its first use.

    It is the `fields.CodeSource` of the attributes and types in it.
    """

    def __init__(self, file: Container, schema: Schema, registry: Registry, allow_unregistered: bool) -> None:
        self.file = file
        self.version = file.version
        self.schema = schema
        self.registry = registry
        self.allow_unregistered = allow_unregistered
        self.resources = Resources()
        self.keys: list[str] = []
        self.named_resources: list[tuple[str, str, bool]] = []
        self.use_orders: dict[SSAValue, tuple[int, ...]] = {}
        self.dialect_versions: dict[str, bytes] = {}
        self.dialects: list[str] = []
        self.ops: list[OpName] = []
        self.attributes: list[Any] = []
        # By the number of an attribute: the place that it was found to be, of an op or of an argument.
        self.places: list[Place | None] = []
        self.types: list[Any] = []
        self.properties: list[ByteCursor] = []
        self.used_properties: set[int] = set()
        self.cursor = file.cursor
        self.depth = 0
        # By id; each value has the thing itself, so that no other thing gets its id.
        self.sizes: dict[int, tuple[int, int, Thing]] = {}
        # By hash. A file can choose numbers with equal hashes, so that comparisons must be counted.
        self.unique: dict[int, list[Thing]] = {}
        self.unwritten = 0
        self.most_unwritten = MAX_UNWRITTEN[0] + MAX_UNWRITTEN[1] * len(file.cursor.data)

    def read(self) -> None:
        """Read the names, the places of attributes, types and properties, and the resources."""
        self._dialects(self.file.section(Section.DIALECT))
        self._entries(self.file.section(Section.ATTR_TYPE_OFFSET), self.file.section(Section.ATTR_TYPE))
        self._resources()
        if self.version >= NATIVE_PROPERTIES:
            self._properties(self.file.section(Section.PROPERTIES))
        elif (unknown := self.file.sections.get(Section.PROPERTIES)) is not None:
            unknown.fail(f"version {self.version} has no section of properties")

    def read_rest(self) -> None:
        """Read the attributes and types that no op uses. Raises BytecodeError for properties that no op has."""
        for number, place in enumerate(self.places):
            if place is None:
                self.attribute_at(number)
        for number in range(len(self.types)):
            self.type_at(number)
        for number, content in enumerate(self.properties):
            if number not in self.used_properties:
                content.fail(f"no op has the properties {number}")

    # Dialects and the names of ops.

    def _dialects(self, cursor: ByteCursor) -> None:
        for _ in range(cursor.count()):
            if self.version < DIALECT_VERSIONS:
                self.dialects.append(self.file.string(cursor))
                continue
            start = cursor.pos
            number, versioned = cursor.flagged()
            self.dialects.append(self.file.strings[cursor.below(number, len(self.file.strings), "string", start)])
            if versioned:
                start = cursor.pos
                kind, version = cursor.section()
                if kind != Section.DIALECT_VERSIONS:
                    cursor.fail(f"expected the version of a dialect, found section {kind}", start)
                self.dialect_versions[self.dialects[-1]] = bytes(version.take(version.left))
        total = cursor.count() if self.version >= ELIDED_LOCATIONS else None
        while cursor.left:
            dialect = self._dialect(cursor)
            for _ in range(cursor.count()):
                self.ops.append(self._op_name(cursor, dialect))
        if total is not None and total != len(self.ops):
            cursor.fail(f"{len(self.ops)} names of ops, but the file announces {total}")

    def _dialect(self, cursor: ByteCursor) -> str:
        return self.dialects[cursor.number(len(self.dialects), "dialect")]

    def _op_name(self, cursor: ByteCursor, dialect: str) -> OpName:
        start = cursor.pos
        number, registered = cursor.flagged() if self.version >= NATIVE_PROPERTIES else (cursor.varint(), False)
        mnemonic = self.file.strings[cursor.below(number, len(self.file.strings), "string", start)]
        name = f"{dialect}.{mnemonic}" if mnemonic else dialect
        definition = self.registry.find(name)
        if definition is None:
            self._check_unregistered(cursor, name, dialect, start)
        return OpName(name, dialect, registered, definition, definition is None or not definition.has_properties)

    def _check_unregistered(self, cursor: ByteCursor, name: str, dialect: str, start: int) -> None:
        if not name or "\0" in name:
            cursor.fail(f"{name!r} cannot be the name of an op", start)
        if self.registry.is_complete(dialect) and name != dialect:
            cursor.fail(f"op '{name}' of dialect '{dialect}' is unknown", start)
        if not self.allow_unregistered:
            cursor.fail(f"op '{name}' is of a dialect that is not registered", start)

    # Attributes and types.

    def _entries(self, cursor: ByteCursor, data: ByteCursor) -> None:
        counts = cursor.count(), cursor.count()
        start = data.pos
        sizes, end = cursor.data, cursor.end
        for entries, count in zip((self.attributes, self.types), counts, strict=True):
            while len(entries) < count:
                dialect = self._dialect(cursor)
                at_count = cursor.pos
                group = cursor.count()
                if group > count - len(entries):
                    cursor.fail(f"{len(entries) + group} entries, but the file announces {count}", at_count)
                pos = cursor.pos
                for _ in range(group):
                    at_size = pos
                    # Nearly all sizes are small.
                    if pos < end and sizes[pos] & 1:
                        size = sizes[pos] >> 1
                        pos += 1
                    else:
                        cursor.pos = pos
                        size = cursor.varint()
                        pos = cursor.pos
                    encoded, size = bool(size & 1), size >> 1
                    if size > data.end - start:
                        cursor.fail(f"an entry of {size} bytes, but only {data.end - start} are left", at_size)
                    entries.append((dialect, start, start + size, encoded))
                    start += size
                cursor.pos = pos
        self.places = [None] * len(self.attributes)
        cursor.finish("the sizes of attributes and types")
        if start != data.end:
            data.fail(f"{data.end - start} bytes are left over in the section of attributes and types", start)

    def attribute(self) -> at.Attribute:
        """Read the number of an attribute, and return the attribute."""
        return self.attribute_at(self.cursor.number(len(self.attributes), "attribute"))

    def optional_attribute(self) -> at.Attribute | None:
        """Read the number of an attribute that may be absent, and return the attribute."""
        start = self.cursor.pos
        number, present = self.cursor.flagged()
        if not present:
            return None
        return self.attribute_at(self.cursor.below(number, len(self.attributes), "attribute", start))

    def type(self) -> Type:
        """Read the number of a type, and return the type."""
        return self.type_at(self.cursor.number(len(self.types), "type"))

    def string(self) -> str:
        """Read the number of a string, and return the string."""
        return self.file.string(self.cursor)

    def resource(self) -> str:
        """Read the number of a dialect resource, and return its key."""
        return self.keys[self.cursor.number(len(self.keys), "resource")]

    def spend(self, count: int, offset: int | None = None) -> None:
        """Count ``count`` objects for which the file has no bytes of their own. Raises BytecodeError if all these
        objects together are too many.
        """
        self.unwritten += count
        if self.unwritten > self.most_unwritten:
            self.cursor.fail(
                f"the file announces more than {self.most_unwritten} objects that take no byte of it", offset
            )

    def attribute_at(self, number: int) -> at.Attribute:
        """Return an attribute by its number."""
        found = self.attributes[number]
        if isinstance(found, at.Attribute):
            return found
        made = self._thing(self.attributes, number, ATTRIBUTE_CODES, "attribute")
        assert isinstance(made, at.Attribute)
        return made

    def position_at(self, number: int) -> Place | None:
        """Return the position in a source file that the attribute with this number encodes, and store it; None if the
        attribute is not a position.

        Most attributes of a bytecode file are positions in one source file, and ops use them in order. Therefore
        positions have code of their own here, which also reads and stores the positions that follow this one.
        """
        entry = self.attributes[number]
        if entry.__class__ is not tuple or entry[0] != "builtin" or not entry[3]:
            return None
        data, start = self.cursor.data, entry[1]
        if entry[2] - start < 4 or data[start] != _FILE_LINE_COL:
            return None
        try:
            name, _ = self.cursor.varint_at(start + 1)
        except IndexError:
            return None
        if name >= len(self.attributes):
            return None
        file = self.attributes[name]
        if file.__class__ is tuple:
            file = self.attribute_at(name)
        if not isinstance(file, at.StringAttr):
            return None
        self._keep_positions(number, name, file.value)
        return self.places[number]

    def _keep_positions(self, first: int, name: int, file: str) -> None:
        """Keep positions from an attribute on, up to the first attribute that is not a position or is in another file
        than ``name``.
        """
        data, places, read = self.cursor.data, self.places, self.cursor.varint_at
        for number in range(first, min(first + _AHEAD, len(places))):
            entry = self.attributes[number]
            if entry.__class__ is not tuple or places[number] is not None:
                return
            dialect, pos, end, encoded = entry
            if dialect != "builtin" or not encoded or end - pos < 4 or data[pos] != _FILE_LINE_COL:
                return
            try:
                # The file and the column are small numbers in most cases, and the line is one of two bytes.
                byte = data[pos + 1]
                known, pos = (byte >> 1, pos + 2) if byte & 1 else read(pos + 1)
                byte = data[pos]
                if byte & 3 == 2:
                    line, pos = (byte | data[pos + 1] << 8) >> 2, pos + 2
                else:
                    line, pos = read(pos)
                byte = data[pos]
                column, pos = (byte >> 1, pos + 1) if byte & 1 else read(pos)
            except IndexError:
                return
            if pos != end or known != name or line >> 32 or column >> 32:
                return
            places[number] = file, line, column

    def type_at(self, number: int) -> Type:
        """Return a type by its number."""
        found = self.types[number]
        if isinstance(found, Type):
            return found
        made = self._thing(self.types, number, TYPE_CODES, "type")
        assert isinstance(made, Type)
        return made

    def _thing(self, things: list[Any], number: int, codecs: dict[str, Codec], what: str) -> Thing:
        """Return the attribute or type of an entry. It is read at its first use and then stored."""
        entry = things[number]
        if entry is _BUSY:
            self.cursor.fail(f"{what} {number} contains itself")
        things[number] = _BUSY
        outer, self.cursor = self.cursor, ByteCursor(self.cursor.data, entry[1], entry[2])
        self.depth += 1
        if self.depth > MAX_NESTING:
            self.cursor.fail(f"attributes and types are nested more than {MAX_NESTING} deep")
        made = self._encoded(entry, codecs, what) if entry[3] else self._text(what)
        self.cursor.finish(f"{what} {number}")
        if type(made) not in _LEAVES:
            size, depth, _ = self._measure(made)
            if size > MAX_SHARED + len(self.cursor.data):
                self.cursor.fail(f"{what} {number} contains more than {size} nested attributes and types", entry[1])
            if depth > MAX_NESTING:
                self.cursor.fail(f"attributes and types are nested more than {MAX_NESTING} deep", entry[1])
            made = self._only(made)
        self.cursor = outer
        self.depth -= 1
        things[number] = made
        return made

    def _only(self, thing: Thing) -> Thing:
        """Return the first attribute or type that is equal to this one. Equal things are then one object, so that
        comparing large ones takes no time.
        """
        same = self.unique.setdefault(hash(thing), [])
        for other in same:
            if other == thing:
                return other
            self.spend(_COLLISION)
        same.append(thing)
        return thing

    def _measure(self, thing: Thing) -> tuple[int, int, Thing]:
        """Count the attributes and types of something as if each were written out. Return the count and the depth."""
        size, depth = 1, 0
        for part in parts(thing):
            inner = self.sizes.get(id(part)) or self._measure(part)
            size += inner[0]
            depth = max(depth, inner[1])
        self.sizes[id(thing)] = measured = size, depth + 1, thing
        return measured

    def _encoded(self, entry: ThingEntry, codecs: dict[str, Codec], what: str) -> Thing:
        number = self.cursor.varint()
        codec = codecs.get(entry[0])
        code = None if codec is None else codec.by_number.get(number)
        if codec is None and what == "attribute":
            definition = self.registry.attribute_of_code(entry[0], number)
            code = None if definition is None else code_of(definition, self.schema)
        if code is None:
            named = f" ({UNSUPPORTED[what, entry[0], number]})" if (what, entry[0], number) in UNSUPPORTED else ""
            self.cursor.fail(f"unknown code {number}{named} of a {what} of dialect '{entry[0]}'", entry[1])
        if code.since > self.schema:
            name = f"{what} code {number} of dialect '{entry[0]}'"
            self.cursor.fail(f"{name} does not exist in the schema {self.schema.name}", entry[1])
        return code.read(self)

    def _text(self, what: str) -> Thing:
        start = self.cursor.pos
        text = self.cursor.terminated()
        try:
            spelled = text.decode("utf-8")
            return (
                parse_attribute(spelled, registry=self.registry)
                if what == "attribute"
                else parse_type(spelled, registry=self.registry)
            )
        except UnicodeDecodeError:
            self.cursor.fail(f"a {what} is not UTF-8", start)
        except HalfulpError as error:
            self.cursor.fail(f"a {what} as text, {spelled[:60]!r}: {error.message}", start)

    # Resources.

    def _resources(self) -> None:
        if Section.RESOURCE_OFFSET not in self.file.sections:
            if Section.RESOURCE in self.file.sections:
                self.file.section(Section.RESOURCE_OFFSET)
            return
        offsets, data = self.file.section(Section.RESOURCE_OFFSET), self.file.section(Section.RESOURCE)
        for _ in range(offsets.count()):
            name = self.file.string(offsets)
            keys = self._resource_group(offsets, data, self.resources.external.setdefault(name, {}))
            self.named_resources += [(name, key, True) for key in keys]
        while offsets.left:
            start = offsets.pos
            name = self._dialect(offsets)
            group = self.resources.dialect.setdefault(name, {})
            keys = self._resource_group(offsets, data, group)
            # As in text: of the known dialects only builtin has resources, and they are blobs.
            if keys and name != "builtin":
                offsets.fail(f"unexpected resources of dialect '{name}'", start)
            for key, entry in group.items():
                if not isinstance(entry, Blob):
                    offsets.fail(f"resource '{key}' of dialect '{name}' is not a blob", start)
            self.keys += keys
            self.named_resources += [(name, key, False) for key in keys]
        data.finish("the resource section")

    def _resource_group(self, offsets: ByteCursor, data: ByteCursor, group: dict[str, Any]) -> list[str]:
        """Read a group of resources. Returns all its keys, also of resources without a value."""
        keys, seen = [], set(group)
        for _ in range(offsets.count(3)):
            key = self.file.string(offsets)
            start = offsets.pos
            size = offsets.varint()
            kind = offsets.byte()
            if size > data.left:
                offsets.fail(f"a resource of {size} bytes, but only {data.left} are left", start)
            if key in seen:
                offsets.fail(f"the resource '{key}' occurs twice", start)
            if kind > max(ResourceKind):
                offsets.fail(f"unknown kind {kind} of a resource", start)
            seen.add(key)
            keys.append(key)
            if not size:
                continue  # declared only
            entry = ByteCursor(data.data, data.pos, data.pos + size)
            group[key] = self._resource(entry, kind)
            entry.finish(f"resource '{key}'")
            data.pos += size
        return keys

    def _resource(self, cursor: ByteCursor, kind: int) -> Blob | bool | str:
        if kind == ResourceKind.BLOB:
            alignment = cursor.varint()
            size = cursor.varint()
            cursor.align(alignment)
            return Blob(cursor.take(size), alignment)
        if kind == ResourceKind.BOOL:
            return boolean(cursor)
        return self.file.string(cursor)

    # Properties.

    def _properties(self, cursor: ByteCursor) -> None:
        for _ in range(cursor.count()):
            size = cursor.varint()
            start = cursor.pos
            cursor.take(size)
            self.properties.append(ByteCursor(cursor.data, start, cursor.pos))
        cursor.finish("the properties")

    def properties_of(self, op: OpName, number: int, cursor: ByteCursor, start: int) -> dict[str, at.Attribute]:
        """Return the properties of a registered op. ``number``: the number of the properties in the file."""
        known = op.known.get(number)
        if known is None:
            known = op.known[number] = self._native(op, number, cursor, start)
        return known.copy()

    def _native(self, op: OpName, number: int, cursor: ByteCursor, start: int) -> dict[str, at.Attribute]:
        definition = op.definition
        assert definition is not None
        outer, self.cursor = self.cursor, self._blob(number, cursor, start)
        try:
            properties = self._laid_out(op, definition, op.late)
        except BytecodeError as error:
            # Builds of one version differ. The number of properties tells which layout it is, since each one is at
            # least a number.
            if op.known or self.schema == min(Schema) or not any(prop.late for prop in definition.properties):
                raise
            self.cursor = self._blob(number, cursor, start)
            try:
                properties = self._laid_out(op, definition, late=True)
            except BytecodeError:
                raise error from None
            op.late = True
        for old, (new, attribute) in renewed(definition, self.schema).items():
            if properties.get(new) == attribute:
                del properties[new]
                properties[old] = at.UnitAttr()
        add_defaults(definition, properties)
        self.cursor = outer
        return properties

    def _laid_out(self, op: OpName, definition: OpDefinition, late: bool) -> dict[str, at.Attribute]:
        """Read all properties of an op at the cursor, in the layout with or without the late ones."""
        content = self.cursor
        begin = content.pos
        fields, segments, flags, numbers = layout_of(definition, self.schema, self.version, late)
        properties: dict[str, at.Attribute] = {}
        try:
            for name, required in fields:
                attribute = self.attribute() if required else self.optional_attribute()
                if attribute is not None:
                    properties[name] = attribute
            for name in flags:
                properties[name] = at.UnitAttr() if content.byte() else at.BoolAttr(False)
            for name in numbers:
                properties[name] = self._number(definition, name)
            for name, count in segments:
                properties[name] = read_segments(content, count)
        except BytecodeError as error:
            error.message = f"properties of op '{op.name}', read as {self.schema.name} writes them: {error.message}"
            raise
        if content.left:
            content.fail(
                f"properties of op '{op.name}': {content.left} of {content.end - begin} bytes are left over as "
                f"{self.schema.name} writes them"
            )
        return properties

    def _number(self, definition: OpDefinition, name: str) -> at.Attribute:
        """Read the number of a case of an enum, or of several flags."""
        start = self.cursor.pos
        value = self.cursor.varint()
        prop = definition.property_named(name)
        assert prop is not None
        assert isinstance(prop.kind, EnumDefinition)
        attribute = prop.kind.attribute(value)
        if not prop.kind.accepts(attribute):
            self.cursor.fail(f"{value} is not a value of '{name}'", start)
        return attribute

    def _blob(self, number: int, cursor: ByteCursor, start: int) -> ByteCursor:
        content = self.properties[cursor.below(number, len(self.properties), "properties", start)]
        self.used_properties.add(number)
        return ByteCursor(content.data, content.pos, content.end)

    def skipped_properties(self, number: int, cursor: ByteCursor, start: int) -> str:
        """Return the bytes of properties in hexadecimal, for an op whose properties have an unknown layout."""
        content = self._blob(number, cursor, start)
        return bytes(content.data[content.pos : content.end]).hex()

    def raw_properties(self, number: int, cursor: ByteCursor, start: int) -> at.Attribute:
        """Return the attribute that holds all properties of an op that was not registered."""
        outer, self.cursor = self.cursor, self._blob(number, cursor, start)
        attribute = self.attribute()
        self.cursor.finish("properties of an unregistered op")
        self.cursor = outer
        return attribute
