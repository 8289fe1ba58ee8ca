"""The numbers that the attributes, types, names of ops, values and resources of a module get in a file.

Numbers are varints, so the most used things come first; among numbers of equally many bytes, the things of one dialect
are together. The order is MLIR's, so that the same module makes the same file.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property, lru_cache
from itertools import pairwise
from operator import attrgetter
from typing import Any, NamedTuple

from halfulp.interp.bytecode import encoding
from halfulp.interp.bytecode.codes import ATTRIBUTE_CODES, TYPE_CODES
from halfulp.interp.bytecode.encoding import varint
from halfulp.interp.bytecode.fields import (
    ATTRIBUTE,
    BOOL,
    OPTIONAL_ATTRIBUTE,
    VARINT,
    Code,
    CodeSink,
    CodeSource,
    Field,
    Present,
    ResourceKey,
    Thing,
    attribute_of,
    list_of,
    optional,
    read_bits,
    write_bits,
)
from halfulp.interp.bytecode.vhlo_codes import FIELDS as VHLO_FIELDS
from halfulp.interp.declare.declarations import OpDefinition, Schema, Trait
from halfulp.interp.declare.operands import SEGMENTS, all_operands, plain_names, renewed
from halfulp.interp.ir import attributes as at
from halfulp.interp.ir.attributes import Attribute, DenseArrayAttr, StringAttr
from halfulp.interp.ir.base import FileLineCol, Position
from halfulp.interp.ir.dialect_attributes import AttributeDefinition, DialectAttr, EnumAttr, EnumDefinition
from halfulp.interp.ir.dialect_attributes import parts as nested_parts
from halfulp.interp.ir.errors import Unsupported
from halfulp.interp.ir.operations import Block, BlockArgument, Module, Operation, OpResult, Region, SSAValue
from halfulp.interp.ir.types import I32, DialectType, F, FloatType, OpaqueType
from halfulp.interp.text.printer import NAMES

# --- declared codes ---------------------------------------------------------------------------------------------------
#
# The encoding of the attributes that dialects declare, from their definitions.


def _list(element: Field) -> Field:
    """Return the field of a list. An empty list is absent."""
    several = optional(list_of(element))
    return Field(
        lambda source, before: several.read(source, before) or (),
        lambda sink, value, before: several.write(sink, value or None, before),
    )


def _write_text(sink: CodeSink, value: StringAttr, before: tuple[Any, ...]) -> None:
    if value.type is not None:
        raise Unsupported(f"bytecode cannot hold the type of {value} in debug information", hint="leave the type out")
    sink.string(value.value)


def _read_optional_number(source: CodeSource, before: tuple[Any, ...]) -> int | None:
    value, present = source.cursor.flagged()
    return value if present else None


def _write_optional_number(sink: CodeSink, value: int | None, before: tuple[Any, ...]) -> None:
    sink.varint(0 if value is None else value << 1 | 1)


_SEVERAL = list_of(ATTRIBUTE)


def _read_array(source: CodeSource, before: tuple[Any, ...]) -> tuple[Attribute, ...]:
    elements: tuple[Attribute, ...] = _ARRAY.read(source, before).elements
    return elements


_ARRAY = attribute_of(at.ArrayAttr)
_FIELDS: Mapping[str, Field] = {
    "attribute": ATTRIBUTE,
    "optional": OPTIONAL_ATTRIBUTE,
    "list": _list(OPTIONAL_ATTRIBUTE),
    "boolean": BOOL,
    "number": VARINT,
    "optional number": Field(_read_optional_number, _write_optional_number),
    "numbers": _list(VARINT),
    "text": Field(lambda source, _: StringAttr(source.string()), _write_text),
    "f64": Field(
        lambda source, _: at.FloatAttr(read_bits(source.cursor, 64), F("f64")),
        lambda sink, value, _: write_bits(sink, value.code, 64),
    ),
    "elements of an array": Field(
        lambda source, before: at.ArrayAttr(_SEVERAL.read(source, before)),
        lambda sink, value, before: _SEVERAL.write(sink, value.elements, before),
    ),
    "array": Field(_read_array, lambda sink, value, _: sink.attribute(at.ArrayAttr(value))),
    "attribute after a flag": optional(ATTRIBUTE),
    **VHLO_FIELDS,
}
"""How bytecode holds a parameter, by the word in its declaration."""


@lru_cache(maxsize=256)
def code_of(definition: AttributeDefinition | EnumDefinition, schema: Schema) -> Code:
    """Return the row of the table of codes for an attribute of a dialect, in a version of MLIR. Raises Unsupported if
    its code is not known.
    """
    assert definition.code is not None
    if isinstance(definition, EnumDefinition):
        cases, make_case = definition.names, definition.attribute
        return Code(
            definition.code,
            EnumAttr,
            (VARINT,),
            lambda value: make_case(value) if value in cases else None,
            lambda attribute: (attribute.value,),
        )
    if definition.until is not None and schema >= definition.until:
        raise Unsupported(f"halfulp cannot write #{definition.name} as bytecode of {NAMES[schema]}", hint="use text")
    held = tuple(parameter for parameter in definition.parameters if parameter.since <= schema)

    def make(*values: Any) -> DialectAttr:
        given = dict(zip(held, values, strict=True))
        return DialectAttr(
            definition, tuple(given.get(parameter, parameter.default) for parameter in definition.parameters)
        )

    def take(attribute: DialectAttr) -> tuple[Any, ...]:
        given = dict(zip(definition.parameters, attribute.values, strict=True))
        for parameter, value in given.items():
            if parameter.since > schema and value != parameter.default:
                raise Unsupported(
                    f"the bytecode of {NAMES[schema]} cannot hold '{parameter.name}' of #{definition.name}",
                    hint=f"leave '{parameter.name}' out, or write text",
                )
        return tuple(given[parameter] for parameter in held)

    return Code(definition.code, DialectAttr, tuple(_FIELDS[parameter.encoded] for parameter in held), make, take)


def write_declared(sink: CodeSink, attribute: DialectAttr | EnumAttr) -> None:
    """Write the code of an attribute and its parameters. Raises Unsupported for what the version of MLIR does not
    have.
    """
    code = code_of(attribute.definition, sink.schema)
    values = code.take(attribute)
    assert values is not None
    code.write(sink, values)


# --- properties -------------------------------------------------------------------------------------------------------
#
# The layout of an op's inherent attributes in bytecode, from its declaration.
#
# Each is the number of an attribute, in the order of their names. An optional one has a bit that tells whether it is
# there. Flags follow, a byte each, and then what MLIR keeps as plain numbers. The numbers of operands per declared
# operand, and of results per declared result, where an op stores them, come last as plain integers since version 6;
# before, they are attributes among the others.

MAX_SPARSE_POSITION = 256
"""The position from which MLIR writes every number of operands."""


class Layout(NamedTuple):
    """The layout of an op's properties in bytecode: first the properties, by name and whether they are required; then
    the properties that are lists of numbers of operands or results, with the length of each. In between, the names of
    the flags and of the plain numbers.
    """

    fields: tuple[tuple[str, bool], ...]
    segments: tuple[tuple[str, int], ...] = ()
    flags: tuple[str, ...] = ()
    numbers: tuple[str, ...] = ()


_LAST = frozenset(("dlti",))  # so that the builds at hand, which do not have it, read the properties before it


@lru_cache(maxsize=4096)
def _late_names(definition: OpDefinition) -> frozenset[str]:
    """Return the properties that not all builds have, and that none has as an attribute like any other."""
    return frozenset(prop.name for prop in definition.properties if prop.late and not prop.plain)


@lru_cache(maxsize=4096)
def layout_of(definition: OpDefinition, schema: Schema, version: int, late: bool = False) -> Layout:
    """Return the layout of an op's properties that MLIR of this schema writes, in this version of the
    bytecode format. ``late``: with the properties that some builds of the schema's version do not have.
    """
    fields = [
        (prop.name, not prop.optional and prop.default is None)
        for prop in definition.properties
        if prop.is_in(schema) and late >= prop.late and not prop.flag and not prop.number and not prop.groups
    ]
    flags = tuple(prop.name for prop in definition.properties if prop.flag)
    numbers = tuple(prop.name for prop in definition.properties if prop.number)
    segments = [(prop.name, prop.groups) for prop in definition.properties if prop.groups]
    if Trait.ATTR_SIZED_OPERAND_SEGMENTS in definition.traits:
        segments.insert(0, (SEGMENTS, len(definition.operands)))
    if version < encoding.SEGMENT_ARRAYS:
        fields += [(name, True) for name, _ in segments]
        segments = []
    fields.sort(key=lambda field: (field[0] in _LAST, field))
    return Layout(tuple(fields), tuple(segments), flags, numbers)


def read_segments(cursor: encoding.ByteCursor, count: int) -> DenseArrayAttr:
    """Read ``count`` numbers of operands. The file holds all of them, or only those that are not 0, with their
    positions in the low bits.
    """
    start = cursor.pos
    length, sparse = cursor.flagged()
    if length > count:
        cursor.fail(f"{length} numbers of operands, but the op has {count}", start)
    if not sparse:
        sizes = [cursor.varint() for _ in range(length)]
        if length != count:
            cursor.fail(f"{length} numbers of operands, but the op has {count}", start)
    else:
        sizes = [0] * count
        bits = cursor.varint() if length else 0
        if bits > 8:
            cursor.fail(f"positions have {bits} bits, but the limit is 8", start)
        for _ in range(length):
            value = cursor.varint()
            position = value & (1 << bits) - 1
            if position >= count:
                cursor.fail(f"a number for operand {position}, but the op has {count} operands", start)
            sizes[position] = value >> bits
    if any(size >= 1 << 31 for size in sizes):
        cursor.fail("a number of operands has more than 31 bits", start)
    return DenseArrayAttr(I32, tuple(sizes))


def segments_of(sizes: Attribute | None) -> bytes:
    """Return the bytes of numbers of operands, as `read_segments` reads them. MLIR omits the zeros if at least half of
    the numbers are zero.
    """
    assert isinstance(sizes, DenseArrayAttr)
    numbers = sizes.values
    present = [(position, size) for position, size in enumerate(numbers) if size]
    last = present[-1][0] if present else 0
    emitter = encoding.Emitter()
    if last > MAX_SPARSE_POSITION or len(present) > len(numbers) // 2:
        emitter.flagged(len(numbers), False)
        for size in numbers:
            emitter.varint(size)
        return bytes(emitter.data)
    emitter.flagged(len(present), True)
    if present:
        bits = last.bit_length()
        emitter.varint(bits)
        for position, size in present:
            emitter.varint(size << bits | position)
    return bytes(emitter.data)


# --- numbering --------------------------------------------------------------------------------------------------------


class NumberedEntry:
    """An object that gets a number after all its uses are counted. ``code``: the number as it is written.

    ``parts``: the encoding of an attribute or a type: bytes, strings of the string section, and entries. ``encoded``:
    the parts follow its code; otherwise they are its text.
    """

    __slots__ = ("code", "dialect", "encoded", "number", "parts", "refs")

    def __init__(self, dialect: int, parts: list[Any], encoded: bool) -> None:
        self.dialect = dialect
        self.parts = parts
        self.encoded = encoded
        self.refs = 1
        self.number = 0
        self.code = b""


class NameEntry(NumberedEntry):
    """The name of an op. ``layout``: the layout of its native properties; None if it has none. ``plain``: properties
    that the schema has as plain attributes; ``renewed``: those that it has as a value of another property.
    """

    __slots__ = ("definition", "layout", "mnemonic", "plain", "renewed")

    def __init__(
        self,
        dialect: int,
        mnemonic: str,
        definition: OpDefinition | None,
        layout: Layout | None,
        plain: frozenset[str],
        schema: Schema,
    ) -> None:
        super().__init__(dialect, [], True)
        self.mnemonic = mnemonic
        self.definition = definition
        self.layout = layout
        self.plain = plain
        self.renewed = {} if definition is None else renewed(definition, schema)


# The entry of each property, None for an absent one; then the bytes of the numbers of operands.
Properties = tuple[NumberedEntry | bytes | None, ...]


class OpRecord(NamedTuple):
    """The parts of an op that are written, besides its operands, successors and regions."""

    op: Operation
    name: NameEntry
    location: NumberedEntry
    attributes: NumberedEntry | None
    properties: Properties | None
    types: Sequence[NumberedEntry]


class _Flagged:
    """A part of an encoding: the number of an entry above a bit that is set."""

    __slots__ = ("_entry",)

    def __init__(self, entry: NumberedEntry) -> None:
        self._entry = entry

    @property
    def code(self) -> bytes:
        """The number as it is written."""
        return varint(self._entry.number << 1 | 1)


BUILTIN = "builtin"
_PLACE = ATTRIBUTE_CODES["builtin"].by_kind[FileLineCol][0]
_HOMES = {
    kind: dialect
    for codecs in (ATTRIBUTE_CODES, TYPE_CODES)
    for dialect, codec in codecs.items()
    for kind in codec.by_kind
}


def _key(thing: Thing) -> Thing | Position:
    """Return the key of an entry. A location is found by its parts, so that the locations of ops need not be made."""
    return (thing.file, thing.line, thing.column) if isinstance(thing, FileLineCol) else thing


class Numbering:
    """The numbers of everything in a module.

    ``dialects`` maps a dialect to its number. ``names``, ``attributes`` and ``types`` are in the order of their
    numbers. ``values`` and ``blocks`` map to a number as it is written, ``sizes`` maps a region to its number of
    values, ``records`` a block to its ops, ``arguments`` a block argument to its type and location. ``resources``:
    those that are referred to, in the order of their numbers. ``isolated``: ops whose regions use nothing from outside.
    """

    def __init__(self, module: Module, version: int, schema: Schema) -> None:
        self._module = module
        self.version = version
        self.schema = schema
        self.dialects: dict[str, int] = {}
        self.attributes: list[NumberedEntry] = []
        self.types: list[NumberedEntry] = []
        self.values: dict[SSAValue, bytes] = {}
        self.blocks: dict[Block, bytes] = {}
        self.sizes: dict[Region, int] = {}
        self.records: dict[Block, list[OpRecord]] = {}
        self.arguments: dict[BlockArgument, tuple[NumberedEntry, NumberedEntry]] = {}
        self.resources: dict[str, NumberedEntry] = {}
        self.isolated = isolated_ops(module.operation)
        self.codes = encoding.Varints()
        self._names: dict[str, NameEntry] = {}
        self._entries: dict[Thing | Position, NumberedEntry] = {}
        # By identity, for parts of the module, which stay alive: faster than comparing and hashing.
        self._known: dict[int, NumberedEntry] = {}
        self._recorder = CodeSink(schema, self.codes)
        self._next_value = 0
        self._number_ops(module.operation)
        self.names = list(self._names.values())
        for entries in (self.attributes, self.names, self.types):
            _assign(entries, self.codes)
        self._assign_resources(module.resources.dialect.get(BUILTIN, {}))

    # The order in which MLIR numbers things.

    def _number_ops(self, top: Operation) -> None:
        """Number the top op, then region after region, the last one found first."""
        self.top = self._record(top)
        waiting: list[tuple[Region, int]] = []
        self._regions_of(top, waiting)
        while waiting:
            region, self._next_value = waiting.pop()
            first = self._next_value
            for number, block in enumerate(region.blocks):
                self.blocks[block] = varint(number)
                self._number_block(block)
            self.sizes[region] = self._next_value - first
            for block in region.blocks:
                for operation in block.operations:
                    if operation.regions:
                        self._regions_of(operation, waiting)

    def _regions_of(self, operation: Operation, waiting: list[tuple[Region, int]]) -> None:
        first = 0 if operation in self.isolated else self._next_value
        waiting += [(region, first) for region in operation.regions]

    def _number_block(self, block: Block) -> None:
        for argument in block.arguments:
            self.values[argument] = self.codes[self._next_value]
            self._next_value += 1
            location = self.entry(argument.location)
            self.arguments[argument] = self.member(argument.type), location
        record = self._record
        self.records[block] = [record(operation) for operation in block.operations]

    def _record(self, operation: Operation) -> OpRecord:
        name = self._names.get(operation.name)
        if name is None:
            name = self._new_name(operation)
        else:
            name.refs += 1
        types = []
        for result in operation.results:
            self.values[result] = self.codes[self._next_value]
            self._next_value += 1
            types.append(self.member(result.type))
        attributes = None
        if operation.attributes or name.layout is None or name.plain:
            attributes = self._dictionary(operation, name)
        properties: Properties | None = None
        if name.layout is not None:
            properties = self._properties(operation, name, name.layout)
        elif operation.raw_properties is not None:
            self._check_raw(operation)
            properties = (self.member(operation.raw_properties),)
        location = self.entry(operation.place)
        return OpRecord(operation, name, location, attributes, properties, types)

    def _check_raw(self, operation: Operation) -> None:
        if self.version < encoding.NATIVE_PROPERTIES:
            raise Unsupported(
                f"bytecode version {self.version} cannot hold the properties of the unregistered op '{operation.name}'",
                location=operation.location,
                op=operation.name,
                hint=f"write version {encoding.NATIVE_PROPERTIES} or a later one",
            )

    def _new_name(self, operation: Operation) -> NameEntry:
        dialect, _, mnemonic = operation.name.partition(".")
        definition = operation.definition
        layout = None
        if definition is not None and definition.has_properties and self.version >= encoding.NATIVE_PROPERTIES:
            layout = layout_of(definition, self.schema, self.version, operation.name in self._use_late)
            if layout == Layout(()):
                # All its properties are newer than the schema.
                layout = None
        plain: frozenset[str] = frozenset()
        if definition is not None:
            plain = plain_names(definition, self.schema, operation.name in self._use_late)
        entry = NameEntry(self._dialect(dialect), mnemonic, definition, layout, plain, self.schema)
        self._names[operation.name] = entry
        return entry

    @cached_property
    def _use_late(self) -> frozenset[str]:
        """The names of ops that have a property which some builds of the version do not have in any form."""
        if self.schema == min(Schema):
            return frozenset()
        return frozenset(
            op.name
            for op in self._module.walk()
            if op.definition is not None and op.properties.keys() & _late_names(op.definition)
        )

    def _dictionary(self, operation: Operation, name: NameEntry) -> NumberedEntry | None:
        """Return the attributes without their own layout. In old versions these are all attributes."""
        attributes: Mapping[str, at.Attribute] = operation.attributes
        if operation.properties and name.layout is None:
            assert name.definition is not None
            new = {prop.name for prop in name.definition.properties if prop.since > self.schema} - name.plain
            values = self._renewed(operation, name)
            attributes = {**{key: value for key, value in values.items() if key not in new}, **attributes}
        else:
            plain = {key: operation.properties[key] for key in name.plain & operation.properties.keys()}
            attributes = {**plain, **attributes}
        return self.entry(at.DictionaryAttr.of(attributes)) if attributes else None

    def _renewed(self, operation: Operation, name: NameEntry) -> Mapping[str, at.Attribute]:
        """Return the properties of an op under the names of the schema."""
        values: Mapping[str, at.Attribute] = operation.properties
        for old, (new, attribute) in name.renewed.items():
            if old in values:
                values = {**{key: value for key, value in values.items() if key != old}, new: attribute}
        return values

    def _properties(self, operation: Operation, name: NameEntry, layout: Layout) -> Properties:
        values = self._renewed(operation, name)
        found: list[NumberedEntry | bytes | None] = []
        for key, required in layout.fields:
            attribute = values.get(key)
            if attribute is None and required:
                raise Unsupported(
                    f"'{operation.name}' has no '{key}', which bytecode must have",
                    location=operation.location,
                    op=operation.name,
                )
            found.append(None if attribute is None else self.member(attribute))
        tail = bytes(isinstance(values.get(key), at.UnitAttr) for key in layout.flags)
        for key in layout.numbers:
            number = values.get(key)
            tail += varint(number.value if isinstance(number, at.IntegerAttr) else 0)
        if layout.segments or layout.flags or layout.numbers:
            found.append(b"".join((tail, *(segments_of(values.get(key)) for key, _ in layout.segments))))
        return tuple(found)

    # Attributes, types and dialects.

    def _dialect(self, name: str) -> int:
        return self.dialects.setdefault(name, len(self.dialects))

    def member(self, thing: Thing) -> NumberedEntry:
        """Return the entry of an attribute or a type that an object of the module holds, and count one more use of it.
        Such a thing is found by its identity, which is faster than `entry`.
        """
        found = self._known.get(id(thing))
        if found is None:
            found = self._known[id(thing)] = self.entry(thing)
        else:
            found.refs += 1
        return found

    def entry(self, thing: Thing | Position) -> NumberedEntry:
        """Return the entry of an attribute or a type, and count one more use of it. The parts of a new one are numbered
        right after it.
        """
        key = thing if isinstance(thing, tuple) else _key(thing)
        found = self._entries.get(key)
        if found is not None:
            found.refs += 1
            return found
        made = self._new(key)
        stack = [(made.parts, enumerate(made.parts))]
        while stack:
            parts, rest = stack[-1]
            for position, part in rest:
                if part.__class__ is bytes or part.__class__ is str:
                    continue
                if part.__class__ is ResourceKey:
                    parts[position] = self._resource(part.key)
                    continue
                optional = part.__class__ is Present
                key = _key(part.attribute if optional else part)
                found = self._entries.get(key)
                if found is None:
                    inner = self._new(key)
                    parts[position] = _Flagged(inner) if optional else inner
                    stack.append((inner.parts, enumerate(inner.parts)))
                    break
                found.refs += 1
                parts[position] = _Flagged(found) if optional else found
            else:
                stack.pop()
        return made

    def _new(self, key: Thing | Position) -> NumberedEntry:
        """Make the entry of something, or of a location with these parts. Its parts are not numbered yet."""
        if isinstance(key, tuple):
            _PLACE.write(self._recorder, key)
            made = self._entries[key] = NumberedEntry(self._dialect(BUILTIN), self._recorder.take(), True)
            self.attributes.append(made)
            return made
        codecs, entries = (
            (ATTRIBUTE_CODES, self.attributes) if isinstance(key, at.Attribute) else (TYPE_CODES, self.types)
        )
        dialect = _dialect_of(key)
        codec = codecs.get(dialect)
        if isinstance(key, DialectAttr | EnumAttr) and key.definition.code is not None:
            encoded = True
            write_declared(self._recorder, key)
        else:
            encoded = codec is not None and codec.write(self._recorder, key)
        made = self._entries[key] = NumberedEntry(self._dialect(dialect), self._recorder.take(), encoded)
        entries.append(made)
        if not encoded:
            made.parts = [key.spell(at.Names(self.schema < Schema.LLVM24)).encode("utf-8", "surrogateescape") + b"\0"]
            for resource in _resources_in(key):
                self._resource(resource)
        return made

    def _resource(self, key: str) -> NumberedEntry:
        self._dialect(BUILTIN)
        return self.resources.setdefault(key, NumberedEntry(0, [], True))

    def _assign_resources(self, data: Mapping[str, object]) -> None:
        """Number the resources; those that have data come first."""
        for number, key in enumerate(sorted(self.resources, key=lambda key: key not in data)):
            entry = self.resources[key]
            entry.number, entry.code = number, varint(number)
        self.resources = dict(sorted(self.resources.items(), key=lambda item: item[1].number))


def _dialect_of(thing: Thing) -> str:
    """Return the dialect that an attribute or a type belongs to."""
    if isinstance(thing, at.OpaqueAttr | OpaqueType | DialectType):
        return thing.dialect
    if isinstance(thing, FloatType) and not thing.builtin:
        return "halfulp"
    if isinstance(thing, DialectAttr):
        return thing.definition.dialect
    if isinstance(thing, EnumAttr):
        assert thing.definition.mnemonic is not None
        return thing.definition.mnemonic.partition(".")[0]
    return _HOMES.get(type(thing), BUILTIN)


def _resources_in(thing: Thing) -> Iterator[str]:
    """Yield the keys of the resources that the text of something names."""
    stack = [thing]
    while stack:
        inner = stack.pop()
        if isinstance(inner, at.DenseResourceAttr):
            yield inner.key
        stack += reversed(list(nested_parts(inner)))


def _assign(entries: list[Any], codes: encoding.Varints) -> None:
    """Sort entries, and number them.

    The most used come first. Numbers that take equally many bytes form a run. In a run, the things of a dialect are
    together; the run begins with the dialect that ended the run before.
    """
    entries.sort(key=attrgetter("refs"), reverse=True)
    start = size = first = 0
    for length in range(1, 9):
        # MLIR subtracts the size of the run before, not the sum of all: from the third run on, runs are too long.
        size = (1 << 7 * length) - size
        run = entries[start : start + size]
        if len({entry.dialect for entry in run}) > 1:
            run.sort(key=attrgetter("dialect"))
            run.sort(key=lambda entry, first=first: entry.dialect != first)  # type: ignore[misc]
            entries[start : start + size] = run
        if not run:
            break
        first = run[-1].dialect
        start += size
    for number, entry in enumerate(entries):
        entry.number, entry.code = number, codes[number]


# --- isolation --------------------------------------------------------------------------------------------------------


class _Open:
    """An op whose regions are being walked. ``unresolved``: it is not known yet whether values from outside are used by
    the op, or by an op around it that its trait does not isolate.
    """

    __slots__ = ("isolated", "op", "ops", "unresolved")

    def __init__(self, op: Operation) -> None:
        self.op = op
        self.isolated = True
        self.unresolved = op.definition is None or Trait.ISOLATED_FROM_ABOVE not in op.definition.traits
        self.ops = iter(op.children)


def isolated_ops(top: Operation) -> set[Operation]:
    """Return the ops with regions that use no value from outside them."""
    isolated: set[Operation] = set()
    stack = [_Open(top)] if top.regions else []
    while stack:
        frame = stack[-1]
        for operation in frame.ops:
            if frame.unresolved:
                _mark_uses(operation, stack)
            if operation.regions:
                stack.append(_Open(operation))
                break
        else:
            stack.pop()
            if frame.isolated:
                isolated.add(frame.op)
    return isolated


def _mark_uses(operation: Operation, stack: list[_Open]) -> None:
    """Mark the ops around an op that are not isolated, because its operands come from outside them."""
    parent = _region_of_block(operation.parent)
    for operand in all_operands(operation):
        block = operand.owner.parent if isinstance(operand, OpResult) else None
        if isinstance(operand, BlockArgument):
            block = operand.block
        region = _region_of_block(block)
        if region is parent:
            continue
        container = None if region is None else region.parent
        for frame in reversed(stack):
            if not frame.unresolved or frame.op is container:
                break
            frame.isolated = False


def _region_of_block(block: Block | None) -> Region | None:
    return None if block is None else block.parent


# --- the orders of uses -----------------------------------------------------------------------------------------------


def use_orders(module: Module) -> dict[SSAValue, tuple[int, ...]]:
    """Return the orders in which MLIR keeps the uses of values, for each value whose uses are not in the order of the
    text from last to first.

    An order lists the positions of the uses, the last use first. MLIR puts each new use in front. When it reads text,
    it makes an op after the ops in its regions. The uses before the definition of a value are moved to it one by one,
    and so end up in reverse order.
    """
    if module.use_orders is not None:
        return _still_valid(module)
    uses: dict[SSAValue, list[int]] = {}
    number = 0
    top = module.operation
    stack: list[tuple[Operation, int, Iterator[Block]]] = [(top, number, iter(top.blocks))]
    running: list[Iterator[Operation]] = [iter(())]
    while stack:
        owner, owner_number, blocks = stack[-1]
        for operation in running[-1]:
            number += 1
            if operation.regions:
                stack.append((operation, number, iter(operation.blocks)))
                running.append(iter(()))
                break
            _use(operation, number, uses)
        else:
            block = next(blocks, None)
            if block is None:
                stack.pop()
                running.pop()
                _use(owner, owner_number, uses)
            else:
                _define(block.arguments, uses)
                running[-1] = iter(block.operations)
    return {
        value: order_of(places)
        for value, places in uses.items()
        if len(places) > 1 and any(one > two for one, two in pairwise(places))
    }


def _use(operation: Operation, number: int, uses: dict[SSAValue, list[int]]) -> None:
    """Record the uses of an op's operands. Then reverse the uses of its results that come before the op."""
    place = number << 32
    for value in all_operands(operation) if operation.successors else operation.operands:
        if value in uses:
            uses[value].append(place)
        else:
            uses[value] = [place]
        place += 1
    for result in operation.results:
        if result in uses:
            uses[result].reverse()


def _define(values: Sequence[SSAValue], uses: dict[SSAValue, list[int]]) -> None:
    for value in values:
        if value in uses:
            uses[value].reverse()


def order_of(places: list[int]) -> tuple[int, ...]:
    """Return the order of the uses at ``places``, the oldest first."""
    return tuple(index for index, _ in sorted(enumerate(reversed(places)), key=lambda use: -use[1]))


def _still_valid(module: Module) -> dict[SSAValue, tuple[int, ...]]:
    """Return the orders that were read, for the values that still have the same number of uses."""
    orders = module.use_orders
    if not orders:
        return {}
    count = dict.fromkeys(orders, 0)
    for operation in module.walk():
        for value in all_operands(operation):
            if value in count:
                count[value] += 1
    return {value: order for value, order in orders.items() if len(order) == count[value]}


def map_order(keys: Sequence[int]) -> list[int]:
    """Return ascending keys in the order in which LLVM's DenseMap of unsigned integers iterates over them.

    The number of buckets is a power of two and doubles when three quarters are full. A key belongs in the bucket whose
    number is 37 times its value. If that is taken, the next one is tried that is 1 further on, then 2 from there, then
    3, and so on.
    """
    buckets: list[int | None] = []
    for count, key in enumerate(keys, 1):
        if count * 4 >= len(buckets) * 3:
            held = [other for other in buckets if other is not None]
            buckets = [None] * max(64, 2 * len(buckets))
            for other in held:
                _insert(buckets, other)
        _insert(buckets, key)
    return [key for key in buckets if key is not None]


def _insert(buckets: list[int | None], key: int) -> None:
    place, step = key * 37 % len(buckets), 1
    while buckets[place] is not None:
        place, step = (place + step) % len(buckets), step + 1
    buckets[place] = key
