"""Reads MLIR bytecode, versions 0 to 6, into a module: the same as its text gives.

Everything is bounded by the size of the file: a count that the bytes left cannot hold is an error, and so are nested
attributes that go in circles. Nothing is dropped: what is left over, or not known, is an error that names the op and
the offset.
"""

from __future__ import annotations

import gc
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from halfulp.interp.bytecode.codes import ATTRIBUTE_CODES, ATTRIBUTES, TYPE_CODES, UNSUPPORTED, Codec, Thing, boolean
from halfulp.interp.bytecode.encoding import (
    DIALECT_VERSIONS,
    ELIDED_LOCATIONS,
    ISOLATED_SECTIONS,
    MAGIC,
    MAX_VERSION,
    NATIVE_PROPERTIES,
    USE_LISTS,
    Cursor,
    OpMask,
    ResourceKind,
    Section,
    varint,
)
from halfulp.interp.bytecode.properties import layout_of, read_segments
from halfulp.interp.declare.declarations import OpDefinition, Registry, Schema, default_registry
from halfulp.interp.declare.operands import SEGMENTS, add_defaults, is_inherent, move_inherent, split_successor_operands
from halfulp.interp.ir import attributes as at
from halfulp.interp.ir.errors import BytecodeError, HalfulpError
from halfulp.interp.ir.locations import FileLineCol, Location, UnknownLoc, file_position
from halfulp.interp.ir.operations import Blob, Block, Module, Operation, Region, Resources, SSAValue
from halfulp.interp.ir.types import FloatType, IndexType, IntegerType, Type
from halfulp.interp.text.cursor import MAX_NESTING
from halfulp.interp.text.nested import parts

MAX_UNWRITTEN = 1 << 19, 8
"""How many things a file may have made without a byte for each, such as the numbers of a splat, or the entries of a
dictionary for each further op that has it: so many, and so many more for each byte.
"""

MAX_SHARED = 1 << 16
"""How many attributes and types one may stand for beyond the bytes of the file: shared ones count each time."""

# An attribute or a type that is not read yet: its dialect, where it lies, and whether it is encoded or text.
Entry = tuple[str, int, int, bool]


@dataclass(slots=True)
class OpName:
    """An op's name; ``registered``: its properties have a native layout.

    ``plain``: without properties. ``known``: the properties met so far by their numbers.
    """

    name: str
    dialect: str
    registered: bool
    definition: OpDefinition | None
    plain: bool
    known: dict[int, dict[str, at.Attribute]]


class _Forward(SSAValue):
    """Stands for a value that is used before it is defined."""

    __slots__ = ("offset", "value")

    def __init__(self, offset: int) -> None:
        self.offset = offset
        self.value: SSAValue | None = None


_BUSY = object()
_COLLISION = 8  # Comparing two things is as costly as making so many.
# What stands for itself alone; most attributes of a file are places.
_LEAVES = frozenset((FileLineCol, UnknownLoc, at.UnitAttr, at.FloatAttr, IntegerType, FloatType, IndexType))
_ATTRIBUTES, _RESULTS, _OPERANDS, _SUCCESSORS, _REGIONS, _USE_LISTS, _PROPERTIES = map(int, OpMask)
_FILE_LINE_COL = varint(next(code.number for code in ATTRIBUTES if code.kind is FileLineCol))[0]
_UNKNOWN_PARTS = 0xFF & ~sum(OpMask)
_AT_TOP = frozenset(Section) - {Section.DIALECT_VERSIONS}


class File:
    """The container: the sections of a file, and its strings."""

    def __init__(self, data: bytes | memoryview) -> None:
        cursor = Cursor(data)
        if bytes(cursor.take(min(4, cursor.left))) != MAGIC:
            cursor.fail("no MLIR bytecode: it does not begin with 4D 4C EF 52", 0)
        self.cursor = cursor
        self.version = cursor.varint()
        if self.version > MAX_VERSION:
            cursor.fail(f"version {self.version} is newer than {MAX_VERSION}", 4)
        self.producer = cursor.terminated().decode("utf-8", "replace")
        self.sections: dict[Section, Cursor] = {}
        while cursor.left:
            start = cursor.pos
            number, content = cursor.section()
            if number not in _AT_TOP:
                cursor.fail(f"unknown section {number}", start)
            if number in self.sections:
                cursor.fail(f"a second section {Section(number).name}", start)
            self.sections[Section(number)] = content
        self.strings = _strings(self.section(Section.STRING))

    def section(self, number: Section) -> Cursor:
        """A cursor at the start of a section that must be there."""
        found = self.sections.get(number)
        if found is None:
            self.cursor.fail(f"the section {number.name} is missing")
        return Cursor(found.data, found.pos, found.end)

    def string(self, cursor: Cursor) -> str:
        """A string by its number."""
        start = cursor.pos
        number = cursor.varint()
        if number >= len(self.strings):
            cursor.fail(f"string {number} of {len(self.strings)}", start)
        return self.strings[number]


def _strings(cursor: Cursor) -> list[str]:
    """The sizes are in reverse order, the bytes behind them."""
    sizes = [cursor.varint() for _ in range(cursor.count())]
    strings = []
    for size in reversed(sizes):
        start = cursor.pos
        text = bytes(cursor.take(size))
        if not text or text[-1]:
            cursor.fail("a string without its end", start)
        strings.append(text[:-1].decode("utf-8", "surrogateescape"))
    cursor.finish("the string section")
    return strings


def schema_of(producer: str) -> Schema | None:
    """The schema that a producer writes: ``MLIR22.1.8``; None for one that does not say."""
    found = re.match(r"(?:MLIR|LLVM)(\d{1,9})(?!\d)", producer)
    return None if found is None else Schema.LLVM24 if int(found[1]) > Schema.MLIR22 else Schema.MLIR22


class Reader:
    """Reads one file. It is the `codes.Source` of the attributes and types in it."""

    def __init__(self, file: File, schema: Schema, registry: Registry, allow_unregistered: bool) -> None:
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
        self.types: list[Any] = []
        self.properties: list[Cursor] = []
        self.used_properties: set[int] = set()
        self.cursor = file.cursor
        self.depth = 0
        # Each with the thing itself, so that its id stays its own.
        self.sizes: dict[int, tuple[int, int, Thing]] = {}
        # By hash: numbers that Python hashes alike can be chosen, so that looking through them must be counted.
        self.unique: dict[int, list[Thing]] = {}
        self.unwritten = 0
        self.most_unwritten = MAX_UNWRITTEN[0] + MAX_UNWRITTEN[1] * len(file.cursor.data)

    def index(self) -> None:
        """What stands beside the ops: names, where attributes and types lie, resources, where properties lie."""
        self._dialects(self.file.section(Section.DIALECT))
        self._entries(self.file.section(Section.ATTR_TYPE_OFFSET), self.file.section(Section.ATTR_TYPE))
        self._resources()
        if self.version >= NATIVE_PROPERTIES:
            self._properties(self.file.section(Section.PROPERTIES))
        elif (unknown := self.file.sections.get(Section.PROPERTIES)) is not None:
            unknown.fail(f"a section of properties in version {self.version}")

    def module(self) -> Module:
        """The whole file."""
        self.index()
        operation = Body(self).top(self.file.section(Section.IR))
        for index in range(len(self.attributes)):
            self.attribute_at(index)
        for index in range(len(self.types)):
            self.type_at(index)
        for number, content in enumerate(self.properties):
            if number not in self.used_properties:
                content.fail(f"properties {number} are of no op")
        module = Module(operation, None, self.resources)
        module.use_orders = self.use_orders
        module.dialect_versions = self.dialect_versions
        return module

    # Dialects and the names of ops.

    def _dialects(self, cursor: Cursor) -> None:
        for _ in range(cursor.count()):
            if self.version < DIALECT_VERSIONS:
                self.dialects.append(self.file.string(cursor))
                continue
            start = cursor.pos
            number, versioned = cursor.flagged()
            if number >= len(self.file.strings):
                cursor.fail(f"string {number} of {len(self.file.strings)}", start)
            self.dialects.append(self.file.strings[number])
            if versioned:
                start = cursor.pos
                kind, version = cursor.section()
                if kind != Section.DIALECT_VERSIONS:
                    cursor.fail(f"a section {kind} instead of the version of a dialect", start)
                self.dialect_versions[self.dialects[-1]] = bytes(version.take(version.left))
        total = cursor.count() if self.version >= ELIDED_LOCATIONS else None
        while cursor.left:
            dialect = self._dialect(cursor)
            for _ in range(cursor.count()):
                self.ops.append(self._op_name(cursor, dialect))
        if total is not None and total != len(self.ops):
            cursor.fail(f"{len(self.ops)} names of ops, {total} are said to be there")

    def _dialect(self, cursor: Cursor) -> str:
        start = cursor.pos
        number = cursor.varint()
        if number >= len(self.dialects):
            cursor.fail(f"dialect {number} of {len(self.dialects)}", start)
        return self.dialects[number]

    def _op_name(self, cursor: Cursor, dialect: str) -> OpName:
        start = cursor.pos
        number, registered = cursor.flagged() if self.version >= NATIVE_PROPERTIES else (cursor.varint(), False)
        if number >= len(self.file.strings):
            cursor.fail(f"string {number} of {len(self.file.strings)}", start)
        mnemonic = self.file.strings[number]
        name = f"{dialect}.{mnemonic}" if mnemonic else dialect
        definition = self.registry.find(name)
        if definition is None:
            self._check_unregistered(cursor, name, dialect, start)
        return OpName(name, dialect, registered, definition, definition is None or not definition.has_properties, {})

    def _check_unregistered(self, cursor: Cursor, name: str, dialect: str, start: int) -> None:
        if not name or "\0" in name:
            cursor.fail(f"{name!r} is no name of an op", start)
        if self.registry.is_complete(dialect) and name != dialect:
            cursor.fail(f"op '{name}' of dialect '{dialect}' is unknown", start)
        if not self.allow_unregistered:
            cursor.fail(f"op '{name}' is of a dialect that is not registered", start)

    # Attributes and types.

    def _entries(self, cursor: Cursor, data: Cursor) -> None:
        counts = cursor.count(), cursor.count()
        start = data.pos
        for entries, count in zip((self.attributes, self.types), counts, strict=True):
            while len(entries) < count:
                dialect = self._dialect(cursor)
                at_count = cursor.pos
                group = cursor.count()
                if group > count - len(entries):
                    cursor.fail(f"{len(entries) + group} entries, {count} are said to be there", at_count)
                for _ in range(group):
                    at_size = cursor.pos
                    size, encoded = cursor.flagged()
                    if size > data.end - start:
                        cursor.fail(f"an entry of {size} bytes, {data.end - start} are left", at_size)
                    entries.append((dialect, start, start + size, encoded))
                    start += size
        cursor.finish("the sizes of attributes and types")
        if start != data.end:
            data.fail(f"{data.end - start} bytes too many in the section of attributes and types", start)

    def attribute(self) -> at.Attribute:
        """The attribute whose number comes next."""
        start = self.cursor.pos
        number = self.cursor.varint()
        if number >= len(self.attributes):
            self.cursor.fail(f"attribute {number} of {len(self.attributes)}", start)
        return self.attribute_at(number)

    def type(self) -> Type:
        """The type whose number comes next."""
        start = self.cursor.pos
        number = self.cursor.varint()
        if number >= len(self.types):
            self.cursor.fail(f"type {number} of {len(self.types)}", start)
        return self.type_at(number)

    def string(self) -> str:
        """The string whose number comes next."""
        return self.file.string(self.cursor)

    def resource(self) -> str:
        """The key of the dialect resource whose number comes next."""
        start = self.cursor.pos
        number = self.cursor.varint()
        if number >= len(self.keys):
            self.cursor.fail(f"resource {number} of {len(self.keys)}", start)
        return self.keys[number]

    def spend(self, count: int, offset: int | None = None) -> None:
        """Count things that are made without a byte of the file for each; an error where they are too many for it."""
        self.unwritten += count
        if self.unwritten > self.most_unwritten:
            self.cursor.fail(f"more than {self.most_unwritten} things for which the file has no bytes", offset)

    def attribute_at(self, number: int) -> at.Attribute:
        """An attribute by its number."""
        found = self.attributes[number]
        if isinstance(found, at.Attribute):
            return found
        made = self._thing(self.attributes, number, ATTRIBUTE_CODES, "attribute")
        assert isinstance(made, at.Attribute)
        return made

    def file_position_at(self, number: int) -> FileLineCol | None:
        """A plain place in a file by its number, None for anything else: most attributes of a file are such, so that
        they are read by less than their row of the table asks for.
        """
        entry = self.attributes[number]
        if entry.__class__ is not tuple:
            return None
        dialect, pos, end, encoded = entry
        if dialect != "builtin" or not encoded or end - pos < 4 or self.cursor.data[pos] != _FILE_LINE_COL:
            return None
        read = self.cursor.varint_at
        name, pos = read(pos + 1)
        line, pos = read(pos)
        column, pos = read(pos)
        if pos != end or name >= len(self.attributes) or line >> 32 or column >> 32:
            return None
        file = self.attribute_at(name)
        if not isinstance(file, at.StringAttr):
            return None
        made = self.attributes[number] = FileLineCol(file.value, line, column)
        return made

    def type_at(self, number: int) -> Type:
        """A type by its number."""
        found = self.types[number]
        if isinstance(found, Type):
            return found
        made = self._thing(self.types, number, TYPE_CODES, "type")
        assert isinstance(made, Type)
        return made

    def _thing(self, things: list[Any], number: int, codecs: dict[str, Codec], what: str) -> Thing:
        """Read an entry and keep what it stands for in its place."""
        entry = things[number]
        if entry is _BUSY:
            self.cursor.fail(f"{what} {number} contains itself")
        things[number] = _BUSY
        outer, self.cursor = self.cursor, Cursor(self.cursor.data, entry[1], entry[2])
        self.depth += 1
        if self.depth > MAX_NESTING:
            self.cursor.fail(f"attributes and types are nested more than {MAX_NESTING} deep")
        made = self._encoded(entry, codecs, what) if entry[3] else self._text(what)
        self.cursor.finish(f"{what} {number}")
        if type(made) not in _LEAVES:
            size, depth, _ = self._measure(made)
            if size > MAX_SHARED + len(self.cursor.data):
                self.cursor.fail(f"{what} {number} stands for more than {size} nested attributes and types", entry[1])
            if depth > MAX_NESTING:
                self.cursor.fail(f"attributes and types are nested more than {MAX_NESTING} deep", entry[1])
            made = self._only(made)
        self.cursor = outer
        self.depth -= 1
        things[number] = made
        return made

    def _only(self, thing: Thing) -> Thing:
        """The first thing that is equal: as one object, what is large compares with itself at once."""
        same = self.unique.setdefault(hash(thing), [])
        for other in same:
            if other == thing:
                return other
            self.spend(_COLLISION)
        same.append(thing)
        return thing

    def _measure(self, thing: Thing) -> tuple[int, int, Thing]:
        """How many attributes and types something stands for where each is written out, and how deep they nest."""
        size, depth = 1, 0
        for part in parts(thing):
            inner = self.sizes.get(id(part)) or self._measure(part)
            size += inner[0]
            depth = max(depth, inner[1])
        self.sizes[id(thing)] = measured = size, depth + 1, thing
        return measured

    def _encoded(self, entry: Entry, codecs: dict[str, Codec], what: str) -> Thing:
        number = self.cursor.varint()
        codec = codecs.get(entry[0])
        code = None if codec is None else codec.by_number.get(number)
        if code is None:
            named = f" ({UNSUPPORTED[what, entry[0], number]})" if (what, entry[0], number) in UNSUPPORTED else ""
            self.cursor.fail(f"unknown code {number}{named} of a {what} of dialect '{entry[0]}'", entry[1])
        if code.since > self.schema:
            name = f"{what} code {number} of dialect '{entry[0]}'"
            self.cursor.fail(f"{name} does not exist in the schema {self.schema.name}", entry[1])
        return code.read(self)

    def _text(self, what: str) -> Thing:
        from halfulp.interp.text.parser import parse_attribute, parse_type

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
            self.cursor.fail(f"a {what} that is no UTF-8", start)
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
            # As in text: of the dialects that halfulp knows, builtin has resources, and these are blobs.
            if keys and name != "builtin":
                offsets.fail(f"unexpected resources of dialect '{name}'", start)
            for key, entry in group.items():
                if not isinstance(entry, Blob):
                    offsets.fail(f"resource '{key}' of dialect '{name}' is no blob", start)
            self.keys += keys
            self.named_resources += [(name, key, False) for key in keys]
        data.finish("the resource section")

    def _resource_group(self, offsets: Cursor, data: Cursor, group: dict[str, Any]) -> list[str]:
        """Read a group of resources; all its keys, those without a value too."""
        keys, seen = [], set(group)
        for _ in range(offsets.count(3)):
            key = self.file.string(offsets)
            start = offsets.pos
            size = offsets.varint()
            kind = offsets.byte()
            if size > data.left:
                offsets.fail(f"a resource of {size} bytes, {data.left} are left", start)
            if key in seen:
                offsets.fail(f"a second resource '{key}'", start)
            if kind > max(ResourceKind):
                offsets.fail(f"unknown kind {kind} of a resource", start)
            seen.add(key)
            keys.append(key)
            if not size:
                continue  # declared only
            entry = Cursor(data.data, data.pos, data.pos + size)
            group[key] = self._resource(entry, kind)
            entry.finish(f"resource '{key}'")
            data.pos += size
        return keys

    def _resource(self, cursor: Cursor, kind: int) -> Blob | bool | str:
        if kind == ResourceKind.BLOB:
            alignment = cursor.varint()
            size = cursor.varint()
            cursor.align(alignment)
            return Blob(cursor.take(size), alignment)
        if kind == ResourceKind.BOOL:
            return boolean(cursor)
        return self.file.string(cursor)

    # Properties.

    def _properties(self, cursor: Cursor) -> None:
        for _ in range(cursor.count()):
            size = cursor.varint()
            start = cursor.pos
            cursor.take(size)
            self.properties.append(Cursor(cursor.data, start, cursor.pos))
        cursor.finish("the properties")

    def properties_of(self, op: OpName, number: int, cursor: Cursor, start: int) -> dict[str, at.Attribute]:
        """The properties of a registered op, by their number."""
        known = op.known.get(number)
        if known is None:
            known = op.known[number] = self._native(op, number, cursor, start)
        return known.copy()

    def _native(self, op: OpName, number: int, cursor: Cursor, start: int) -> dict[str, at.Attribute]:
        definition = op.definition
        assert definition is not None
        outer, self.cursor = self.cursor, self._blob(number, cursor, start)
        content = self.cursor
        begin = content.pos
        fields, segments = layout_of(definition, self.schema, self.version)
        properties: dict[str, at.Attribute] = {}
        try:
            for name, required in fields:
                if required:
                    properties[name] = self.attribute()
                    continue
                at_number = content.pos
                index, present = content.flagged()
                if present:
                    if index >= len(self.attributes):
                        content.fail(f"attribute {index} of {len(self.attributes)}", at_number)
                    properties[name] = self.attribute_at(index)
            if segments is not None:
                properties[SEGMENTS] = read_segments(content, segments)
        except BytecodeError as error:
            error.message = f"properties of op '{op.name}', read as {self.schema.name} writes them: {error.message}"
            raise
        if content.left:
            content.fail(
                f"properties of op '{op.name}': {content.left} of {content.end - begin} bytes are left over as "
                f"{self.schema.name} writes them"
            )
        add_defaults(definition, properties)
        self.cursor = outer
        return properties

    def _blob(self, number: int, cursor: Cursor, start: int) -> Cursor:
        if number >= len(self.properties):
            cursor.fail(f"properties {number} of {len(self.properties)}", start)
        content = self.properties[number]
        self.used_properties.add(number)
        return Cursor(content.data, content.pos, content.end)

    def raw_properties(self, number: int, cursor: Cursor, start: int) -> at.Attribute:
        """The one attribute that holds the properties of an op that was not registered."""
        outer, self.cursor = self.cursor, self._blob(number, cursor, start)
        attribute = self.attribute()
        self.cursor.finish("properties of an unregistered op")
        self.cursor = outer
        return attribute


class _Scope:
    """The values of an isolated region, and of those inside it, by their numbers; ``pending``: lists of operands in
    which values stand that were not defined yet.
    """

    __slots__ = ("pending", "values")

    def __init__(self) -> None:
        self.values: list[Any] = []
        self.pending: list[list[SSAValue]] = []

    def resolve(self) -> None:
        """Put values in the places that wait for them: all are defined by now."""
        for operands in self.pending:
            for index, operand in enumerate(operands):
                if isinstance(operand, _Forward):
                    assert operand.value is not None
                    operands[index] = operand.value


class _Regions:
    """The regions of an op being read: how many are left, and where in one of them we are.

    ``isolated``: they have numbers of values, and in newer versions a section, of their own. ``base``: how many values
    there were before the present region. ``end``: how many there are with it.
    """

    __slots__ = (
        "base",
        "blocks",
        "cursor",
        "end",
        "isolated",
        "left",
        "next_block",
        "next_value",
        "op",
        "ops",
        "scope",
    )

    def __init__(self, op: Operation, left: int, cursor: Cursor, scope: _Scope, isolated: bool) -> None:
        self.op = op
        self.left = left
        self.cursor = cursor
        self.scope = scope
        self.isolated = isolated
        self.blocks: list[Block] = []
        self.next_block = self.ops = 0
        self.base = self.end = self.next_value = len(scope.values)


class Body:
    """Reads the ops, with a stack of its own, so that a deep file takes none of Python's."""

    def __init__(self, reader: Reader) -> None:
        self.reader = reader
        self.version = reader.version
        self.stack: list[_Regions] = []
        self.orders: dict[SSAValue, tuple[tuple[int, ...], bool, int]] = {}
        self.promised = 0

    def _promise(self, cursor: Cursor, count: int, what: str, start: int) -> None:
        """Count values, blocks and regions that are still to come: each takes a byte of the file."""
        self.promised += count
        if self.promised > len(cursor.data):
            cursor.fail(f"{count} {what} cannot be in a file of {len(cursor.data)} bytes", start)

    def top(self, cursor: Cursor) -> Operation:
        """The one op of the outermost section, with all that is in it."""
        start = cursor.pos
        count, has_arguments = cursor.flagged()
        if count != 1 or has_arguments:
            cursor.fail("the file must hold one op", start)
        frame = _Regions(Operation("file"), 0, cursor, _Scope(), True)
        block = Block()
        frame.blocks, frame.next_block, frame.ops = [block], 1, 1
        # The results of the one op have no region that says how many they are.
        frame.end = -1
        self.stack.append(frame)
        while self.stack:
            self._advance(self.stack[-1])
        operation = block.operations[0]
        operation.parent = None
        self._keep_orders(operation, cursor)
        if operation.name == "builtin.module":
            return operation
        definition = self.reader.registry.find("builtin.module")
        around = Operation("builtin.module", definition, regions=[Region([Block()])])
        around.regions[0].blocks[0].append(operation)
        return around

    def _advance(self, frame: _Regions) -> None:
        """Read what comes next: ops, a block, a region, or nothing more."""
        if frame.ops:
            self._ops(frame)
        elif frame.next_block < len(frame.blocks):
            self._block(frame)
        else:
            if frame.blocks:
                self._close(frame)
            if frame.left:
                self._region(frame)
            else:
                if frame.isolated:
                    frame.scope.resolve()
                    if self.version >= ISOLATED_SECTIONS or len(self.stack) == 1:
                        frame.cursor.finish(f"the regions of '{frame.op.name}'")
                self.stack.pop()

    def _region(self, frame: _Regions) -> None:
        cursor = frame.cursor
        frame.left -= 1
        region = frame.op.regions[len(frame.op.regions) - 1 - frame.left]
        start = cursor.pos
        blocks = cursor.count()
        if not blocks:
            return
        size = cursor.count()
        self._promise(cursor, blocks + size, "blocks and values", start)
        values = frame.scope.values
        frame.base = frame.next_value = len(values)
        values.extend([None] * size)
        frame.end = len(values)
        frame.blocks = [Block() for _ in range(blocks)]
        for block in frame.blocks:
            region.append(block)
        frame.next_block = 0

    def _close(self, frame: _Regions) -> None:
        """The end of a region: its values are out of reach."""
        if frame.end >= 0:
            if frame.next_value != frame.end:
                defined, said = frame.next_value - frame.base, frame.end - frame.base
                frame.cursor.fail(f"a region of '{frame.op.name}' with {defined} values, {said} are said to be there")
            del frame.scope.values[frame.base :]
        frame.blocks = []

    def _block(self, frame: _Regions) -> None:
        reader, cursor = self.reader, frame.cursor
        block = frame.blocks[frame.next_block]
        frame.next_block += 1
        start = cursor.pos
        frame.ops, has_arguments = cursor.flagged()
        if frame.ops * 3 > cursor.left:
            cursor.fail(f"{frame.ops} ops cannot be in the {cursor.left} bytes that are left", start)
        if not has_arguments:
            return
        for _ in range(cursor.count()):
            start = cursor.pos
            number = cursor.varint()
            placed = True
            if self.version >= ELIDED_LOCATIONS:
                number, placed = number >> 1, bool(number & 1)
            if number >= len(reader.types):
                cursor.fail(f"type {number} of {len(reader.types)}", start)
            argument = block.add_argument(reader.type_at(number))
            argument.location = self._location(cursor) if placed else UnknownLoc()
            self._define(frame, argument)
        if self.version >= USE_LISTS:
            start = cursor.pos
            mask = cursor.byte()
            if mask & ~OpMask.USE_LISTS:
                cursor.fail(f"unknown parts {mask:#x} of a block", start)
            if mask:
                self._use_orders(cursor, block.arguments)

    def _define(self, frame: _Regions, value: SSAValue) -> None:
        values, number = frame.scope.values, frame.next_value
        frame.next_value = number + 1
        if number < frame.end:
            known = values[number]
            values[number] = value
            if known is not None:
                known.value = value
        elif frame.end >= 0:
            frame.cursor.fail(f"more values in a region of '{frame.op.name}' than are said to be there")

    def _location(self, cursor: Cursor) -> Location:
        start = cursor.pos
        return self._location_at(cursor.varint(), cursor, start)

    def _location_at(self, number: int, cursor: Cursor, start: int) -> Location:
        attributes = self.reader.attributes
        if number >= len(attributes):
            cursor.fail(f"attribute {number} of {len(attributes)}", start)
        found: object = self.reader.file_position_at(number) or self.reader.attribute_at(number)
        if not isinstance(found, Location):
            cursor.fail(f"a location expected, found {type(found).__name__}", start)
        return found

    def _ops(self, frame: _Regions) -> None:
        """Read ops up to the end of the block, or to one that has regions.

        Small integers, nearly all there are, are read here and not by the cursor, which has the position only while
        something else is read. What lies behind the end of the section may be looked at, but no op with it passes.
        """
        cursor = frame.cursor
        try:
            self._op_after_op(frame)
        except IndexError:
            cursor.fail("unexpected end of the section in an op", cursor.end)

    def _op_after_op(self, frame: _Regions) -> None:
        reader, cursor, scope = self.reader, frame.cursor, frame.scope
        data, end, pos = cursor.data, cursor.end, cursor.pos
        long, fail, values = cursor.varint_at, cursor.fail, scope.values
        names, types, attributes_by_number = reader.ops, reader.types, reader.attributes
        native = self.version >= NATIVE_PROPERTIES
        block = frame.blocks[frame.next_block - 1]
        operations = block.operations
        while frame.ops:
            frame.ops -= 1
            start = pos
            number = data[pos]
            if number & 1:
                number >>= 1
                pos += 1
            else:
                number, pos = long(pos)
            if number >= len(names):
                fail(f"op name {number} of {len(names)}", start)
            name = names[number]
            mask = data[pos]
            pos += 1
            if mask & _UNKNOWN_PARTS:
                fail(f"op '{name.name}': unknown parts {mask:#x}", pos - 1)

            at_part = pos
            number = data[pos]
            if number & 1:
                number >>= 1
                pos += 1
            else:
                number, pos = long(pos)
            location = attributes_by_number[number] if number < len(attributes_by_number) else None
            if not isinstance(location, Location):
                location = self._location_at(number, cursor, at_part)

            attributes: dict[str, at.Attribute] = {}
            if mask & _ATTRIBUTES:
                cursor.pos = pos
                attributes = self._attributes(cursor, name)
                pos = cursor.pos
            properties: dict[str, at.Attribute]
            raw = None
            known = None
            if mask & _PROPERTIES and name.registered and native:
                at_part = pos
                number = data[pos]
                if number & 1:
                    number >>= 1
                    pos += 1
                else:
                    number, pos = long(pos)
                known = name.known.get(number)
                if known is None:
                    pos = at_part
            if known is not None:
                properties = known.copy()
            elif name.plain and not mask & _PROPERTIES:
                properties = {}
            else:
                cursor.pos = pos
                properties, raw = self._properties(cursor, name, attributes, mask)
                pos = cursor.pos

            result_types = []
            if mask & _RESULTS:
                count = data[pos]
                if count & 1:
                    count >>= 1
                    pos += 1
                else:
                    count, pos = long(pos)
                if count > end - pos:
                    fail(f"op '{name.name}': {count} results cannot be in the {end - pos} bytes that are left", pos)
                for _ in range(count):
                    at_part = pos
                    number = data[pos]
                    if number & 1:
                        number >>= 1
                        pos += 1
                    else:
                        number, pos = long(pos)
                    if number >= len(types):
                        fail(f"type {number} of {len(types)}", at_part)
                    found = types[number]
                    result_types.append(found if isinstance(found, Type) else reader.type_at(number))

            operands: list[SSAValue] = []
            waiting = False
            if mask & _OPERANDS:
                count = data[pos]
                if count & 1:
                    count >>= 1
                    pos += 1
                else:
                    count, pos = long(pos)
                if count > end - pos:
                    fail(f"op '{name.name}': {count} operands cannot be in the {end - pos} bytes that are left", pos)
                for _ in range(count):
                    at_part = pos
                    number = data[pos]
                    if number & 1:
                        number >>= 1
                        pos += 1
                    else:
                        number, pos = long(pos)
                    if number >= len(values):
                        fail(f"op '{name.name}': value {number} of {len(values)}", at_part)
                    value = values[number]
                    if value is None:
                        value = values[number] = _Forward(at_part)
                    if value.__class__ is _Forward:
                        waiting = True
                    operands.append(value)

            operation = Operation(name.name, name.definition, operands, result_types, properties, attributes)
            operation.location = location
            operation.raw_properties = raw
            operation.parent = block
            lists = [operands]
            cursor.pos = pos
            if mask & _SUCCESSORS:
                operation.successors = self._successors(frame, name)
                lists += split_successor_operands(operation)
            if waiting:
                scope.pending += lists
            for result in operation.results:
                self._define(frame, result)
            if mask & _USE_LISTS:
                self._use_orders(cursor, operation.results)
            operations.append(operation)
            if mask & _REGIONS:
                self._open(frame, operation)
                return
            pos = cursor.pos
            if pos > end:
                fail(f"op '{name.name}' goes beyond its section", start)

    def _attributes(self, cursor: Cursor, name: OpName) -> dict[str, at.Attribute]:
        start = cursor.pos
        reader = self.reader
        number = cursor.varint()
        if number >= len(reader.attributes):
            cursor.fail(f"attribute {number} of {len(reader.attributes)}", start)
        dictionary = reader.attribute_at(number)
        if not isinstance(dictionary, at.DictionaryAttr):
            cursor.fail(f"op '{name.name}': attributes that are no dictionary", start)
        reader.spend(len(dictionary.entries), start)
        return dict(dictionary.entries)

    def _properties(
        self, cursor: Cursor, name: OpName, attributes: dict[str, at.Attribute], mask: int
    ) -> tuple[dict[str, at.Attribute], at.Attribute | None]:
        """The inherent attributes of an op, and what an unregistered one has in their place."""
        definition = name.definition
        properties: dict[str, at.Attribute] = {}
        raw = None
        start = cursor.pos
        if mask & _PROPERTIES:
            number = cursor.varint()
            if self.version < NATIVE_PROPERTIES:
                cursor.fail(f"op '{name.name}': properties in version {self.version}", start)
            if not name.registered:
                raw = self.reader.raw_properties(number, cursor, start)
            elif definition is None:
                cursor.fail(
                    f"op '{name.name}': halfulp does not know the layout of its properties; versions up to 4 have none",
                    start,
                )
            else:
                for attribute in attributes:
                    if is_inherent(definition, attribute):
                        cursor.fail(f"op '{name.name}': '{attribute}' beside the properties it belongs to", start)
                return self.reader.properties_of(name, number, cursor, start), None
        if definition is not None:
            if isinstance(raw, at.DictionaryAttr) and not attributes.keys() & raw.mapping.keys():
                self.reader.spend(len(raw.entries), start)
                attributes.update(raw.entries)
            elif raw is not None:
                cursor.fail(f"op '{name.name}': {raw} are no properties", start)
            if attributes or definition.has_properties:
                move_inherent(definition, properties, attributes)
            return properties, None
        return properties, raw

    def _successors(self, frame: _Regions, name: OpName) -> list[tuple[Block, list[SSAValue]]]:
        cursor = frame.cursor
        successors: list[tuple[Block, list[SSAValue]]] = []
        for _ in range(cursor.count()):
            start = cursor.pos
            number = cursor.varint()
            if number >= len(frame.blocks):
                cursor.fail(f"op '{name.name}': block {number} of {len(frame.blocks)}", start)
            successors.append((frame.blocks[number], []))
        return successors

    def _open(self, frame: _Regions, operation: Operation) -> None:
        """Go into the regions of an op."""
        cursor = frame.cursor
        start = cursor.pos
        count, isolated = cursor.flagged()
        self._promise(cursor, count, "regions", start)
        if len(self.stack) > MAX_NESTING:
            cursor.fail(f"regions are nested more than {MAX_NESTING} deep", start)
        operation.regions = regions = [Region() for _ in range(count)]
        for region in regions:
            region.parent = operation
        if isolated and self.version >= ISOLATED_SECTIONS:
            start = cursor.pos
            kind, cursor = cursor.section()
            if kind != Section.IR:
                cursor.fail(f"a section {kind} instead of regions", start)
        self.stack.append(_Regions(operation, count, cursor, _Scope() if isolated else frame.scope, isolated))

    # The orders of uses.

    def _use_orders(self, cursor: Cursor, values: Sequence[SSAValue]) -> None:
        """How the uses of some values are ordered, other than by their places."""
        count = 1 if len(values) == 1 else cursor.count()
        for _ in range(count):
            start = cursor.pos
            index = 0 if len(values) == 1 else cursor.varint()
            if index >= len(values):
                cursor.fail(f"an order of uses for value {index} of {len(values)}", start)
            size, pairs = cursor.flagged()
            if size > cursor.left:
                cursor.fail(f"{size} uses cannot be in the {cursor.left} bytes that are left", start)
            if values[index] in self.orders:
                cursor.fail(f"a second order of uses for value {index}", start)
            self.orders[values[index]] = tuple([cursor.varint() for _ in range(size)]), pairs, start

    def _keep_orders(self, operation: Operation, cursor: Cursor) -> None:
        """Write out those orders that are given by what differs, and check them all."""
        if not self.orders:
            return
        uses = dict.fromkeys(self.orders, 0)
        for inner in operation.walk():
            for value in (*inner.operands, *(value for _, passed in inner.successors for value in passed)):
                if value in uses:
                    uses[value] += 1
        for value, (numbers, pairs, start) in self.orders.items():
            order = list(range(uses[value])) if pairs else list(numbers)
            known = True
            for number, place in zip(numbers[::2], numbers[1::2], strict=False) if pairs else ():
                known = known and place < len(order)
                if known:
                    order[place] = number
            if not known or sorted(order) != list(range(uses[value])) or (pairs and len(numbers) % 2):
                cursor.fail(f"an order of {uses[value]} uses that is none", start)
            self.reader.use_orders[value] = tuple(order)


def read_bytecode(
    data: bytes | memoryview,
    filename: str = "<bytecode>",
    allow_unregistered: bool = True,
    registry: Registry | None = None,
    verify: bool = True,
    schema: Schema | None = None,
) -> Module:
    """Read a file of MLIR bytecode, versions 0 to 6.

    ``schema``: the version of MLIR whose ops and codes it uses; None for what its producer says, and where that says
    nothing, the first with which everything fits. ``allow_unregistered``: keep ops of dialects that ``registry`` does
    not have. ``verify``: check the rules of the language and of the ops. Resources are views of ``data``.

    Raises BytecodeError with an offset, and VerifyError.
    """
    collecting = gc.isenabled()
    gc.disable()
    try:
        module = _read(data, filename, allow_unregistered, registry or default_registry(), schema)
        if verify:
            from halfulp.interp.verifier import verify as verify_module

            try:
                verify_module(module)
            except HalfulpError as error:
                # Places are those of the text that the file was made from, if it says any.
                if error.location is None or file_position(error.location) is None:
                    error.location = None
                error.notes += ((None, f"the module was read from {filename}"),)
                raise
        return module
    finally:
        if collecting:
            gc.enable()


def _read(
    data: bytes | memoryview, filename: str, allow_unregistered: bool, registry: Registry, schema: Schema | None
) -> Module:
    try:
        file = File(data)
        schema = schema or schema_of(file.producer)
        if schema is not None:
            return read_as(file, schema, registry, allow_unregistered)
        try:
            return read_as(file, Schema.MLIR22, registry, allow_unregistered)
        except BytecodeError:
            return read_as(file, Schema.LLVM24, registry, allow_unregistered)
    except BytecodeError as error:
        error.filename = filename
        raise


def read_as(file: File, schema: Schema, registry: Registry, allow_unregistered: bool) -> Module:
    """The module of a file that a certain schema fits; not verified."""
    reader = Reader(file, schema, registry, allow_unregistered)
    try:
        return reader.module()
    except RecursionError:
        # Python's limit, where it is met before ours.
        reader.cursor.fail("attributes and types are nested too deep")
