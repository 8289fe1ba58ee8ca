"""The writer of MLIR bytecode, versions 0 to 6: for MLIR 22, the very bytes that mlir-opt 22 writes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain, groupby
from operator import attrgetter
from typing import NamedTuple, TypeVar

from halfulp.interp.bytecode import encoding
from halfulp.interp.bytecode.numbering import (
    BUILTIN,
    Layout,
    NameEntry,
    NumberedEntry,
    Numbering,
    OpRecord,
    Properties,
    map_order,
    use_orders,
)
from halfulp.interp.declare.declarations import Schema
from halfulp.interp.declare.operands import all_operands
from halfulp.interp.gc_pause import PausedCollector
from halfulp.interp.ir.base import UnknownLoc, narrowed
from halfulp.interp.ir.blobs import MAGIC
from halfulp.interp.ir.errors import InputError, LimitExceeded
from halfulp.interp.ir.operations import Blob, Block, Module, Operation, Resource, SSAValue
from halfulp.interp.text.printer import check_schema

PRODUCERS = {Schema.MLIR22: "MLIR22-halfulp", Schema.LLVM24: "MLIR24-halfulp"}
"""The producers that are named by default. The number is that of the schema with which a file must be read."""

_BYTES = tuple(bytes((value,)) for value in range(256))
AnyEntry = TypeVar("AnyEntry", bound=NumberedEntry)


class Strings(dict[str, int]):
    """Strings with their numbers, in the order of first use."""

    def __missing__(self, text: str) -> int:
        number = self[text] = len(self)
        return number

    def section(self) -> encoding.Emitter:
        """Write the sizes in reverse order, then the strings."""
        emitter = encoding.Emitter()
        emitter.varint(len(self))
        encoded = [text.encode("utf-8", "surrogateescape") + b"\0" for text in self]
        for data in reversed(encoded):
            emitter.varint(len(data))
        emitter.data += b"".join(encoded)
        return emitter


class Writer:
    """A writer of one module."""

    def __init__(self, module: Module, version: int, schema: Schema) -> None:
        self.module = module
        self.version = version
        self.numbering = Numbering(module, version, schema)
        self.orders = use_orders(module) if version >= encoding.USE_LISTS else {}
        self.codes = self.numbering.codes
        self.strings = Strings()
        self.properties: dict[bytes, bytes] = {}
        self.known_properties: dict[tuple[NameEntry, Properties], bytes] = {}

    def file(self, producer: str) -> bytes:
        """Write the whole file."""
        file = encoding.Emitter()
        file.data += MAGIC + encoding.varint(self.version) + producer.encode("utf-8", "surrogateescape") + b"\0"
        file.section(encoding.Section.DIALECT, self._dialects())
        offsets, things = self._things()
        file.section(encoding.Section.ATTR_TYPE_OFFSET, offsets)
        file.section(encoding.Section.ATTR_TYPE, things)
        file.section(encoding.Section.IR, self._ops())
        offsets, data = self._resources()
        file.section(encoding.Section.RESOURCE_OFFSET, offsets)
        file.section(encoding.Section.RESOURCE, data)
        file.section(encoding.Section.STRING, self.strings.section())
        if self.version >= encoding.NATIVE_PROPERTIES:
            properties = encoding.Emitter()
            properties.varint(len(self.properties))
            for blob in self.properties:
                properties.varint(len(blob))
                properties.data += blob
            file.section(encoding.Section.PROPERTIES, properties)
        return bytes(file.data)

    # Dialects, attributes and types.

    def _dialects(self) -> encoding.Emitter:
        emitter, numbering, strings = encoding.Emitter(), self.numbering, self.strings
        emitter.varint(len(numbering.dialects))
        for dialect in numbering.dialects:
            if self.version < encoding.DIALECT_VERSIONS:
                emitter.varint(strings[dialect])
                continue
            version = self.module.dialect_versions.get(dialect)
            emitter.flagged(strings[dialect], version is not None)
            if version is not None:
                content = encoding.Emitter()
                content.data += version
                emitter.section(encoding.Section.DIALECT_VERSIONS, content)
        if self.version >= encoding.ELIDED_LOCATIONS:
            emitter.varint(len(numbering.names))
        for name in _grouped(emitter, numbering.names):
            if self.version >= encoding.NATIVE_PROPERTIES:
                emitter.flagged(strings[name.mnemonic], name.definition is not None)
            else:
                emitter.varint(strings[name.mnemonic])
        return emitter

    def _things(self) -> tuple[encoding.Emitter, encoding.Emitter]:
        """Write the sizes of attributes and types, then the attributes and types."""
        offsets, things = encoding.Emitter(), encoding.Emitter()
        strings, codes, data = self.strings, self.codes, things.data
        offsets.varint(len(self.numbering.attributes))
        offsets.varint(len(self.numbering.types))
        for entries in (self.numbering.attributes, self.numbering.types):
            for entry in _grouped(offsets, entries):
                start = len(data)
                for part in entry.parts:
                    if part.__class__ is bytes:
                        data += part
                    elif part.__class__ is str:
                        data += codes[strings[part]]
                    else:
                        data += part.code
                offsets.data += codes[(len(data) - start) << 1 | entry.encoded]
        return offsets, things

    # Ops.

    def _ops(self) -> encoding.Emitter:
        """Write the outermost section: one op with all that is in it. Its own stack allows deep nesting."""
        out: list[bytes] = [encoding.varint(1 << 1)]
        self._op(self.numbering.top, out)
        stack = [self._open(self.numbering.top.op, out)]
        while stack:
            frame = stack[-1]
            record = next(frame.ops, None)
            if record is None:
                stack.pop()
                if frame.out is not frame.outer:
                    content = b"".join(frame.out)
                    frame.outer.extend((_BYTES[encoding.Section.IR], encoding.varint(len(content)), content))
            else:
                self._op(record, frame.out)
                stack.append(self._open(record.op, frame.out))
        emitter = encoding.Emitter()
        emitter.data += b"".join(out)
        return emitter

    def _open(self, operation: Operation, outer: list[bytes]) -> _Frame:
        """Begin the regions of an op, in their own section if they use nothing from outside."""
        isolated = operation in self.numbering.isolated
        outer.append(encoding.varint(len(operation.regions) << 1 | isolated))
        out: list[bytes] = [] if isolated and self.version >= encoding.ISOLATED_SECTIONS else outer
        return _Frame(self._nested(operation, out), out, outer)

    def _nested(self, operation: Operation, out: list[bytes]) -> Iterator[OpRecord]:
        """Write the regions of an op up to each op that has regions itself, and yield that op."""
        for region in operation.regions:
            out.append(encoding.varint(len(region.blocks)))
            if region.blocks:
                out.append(encoding.varint(self.numbering.sizes[region]))
            for block in region.blocks:
                self._block(block, out)
                for record in self.numbering.records[block]:
                    if record.op.regions:
                        yield record
                    else:
                        self._op(record, out)

    def _block(self, block: Block, out: list[bytes]) -> None:
        arguments = block.arguments
        out.append(encoding.varint(len(block.operations) << 1 | bool(arguments)))
        if not arguments:
            return
        out.append(encoding.varint(len(arguments)))
        for argument in arguments:
            type, location = self.numbering.arguments[argument]
            if self.version < encoding.ELIDED_LOCATIONS:
                out += (type.code, location.code)
            elif isinstance(argument.location, UnknownLoc):
                out.append(encoding.varint(type.number << 1))
            else:
                out += (encoding.varint(type.number << 1 | 1), location.code)
        if self.version >= encoding.USE_LISTS:
            orders = self._use_lists(arguments)
            out += (_BYTES[encoding.OpMask.USE_LISTS], orders) if orders else (_BYTES[0],)

    def _op(self, record: OpRecord, out: list[bytes]) -> None:
        """Write an op without its regions."""
        operation, name, location, attributes, properties, types = record
        codes = self.codes
        mask = encoding.OpMask.REGIONS if operation.regions else 0
        out.append(name.code)
        at_mask = len(out)
        out.append(b"")
        out.append(location.code)
        if attributes is not None:
            mask |= encoding.OpMask.ATTRIBUTES
            out.append(attributes.code)
        if properties is not None:
            mask |= encoding.OpMask.PROPERTIES
            out.append(self._properties(name, properties))
        if types:
            mask |= encoding.OpMask.RESULTS
            out.append(codes[len(types)])
            out += [type.code for type in types]
        operands = all_operands(operation) if operation.successors else operation.operands
        if operands:
            mask |= encoding.OpMask.OPERANDS
            values = self.numbering.values
            out.append(codes[len(operands)])
            out += [values[operand] for operand in operands]
        if operation.successors:
            mask |= encoding.OpMask.SUCCESSORS
            out.append(encoding.varint(len(operation.successors)))
            out += [self.numbering.blocks[block] for block, _ in operation.successors]
        if self.orders and (orders := self._use_lists(operation.results)):
            mask |= encoding.OpMask.USE_LISTS
            out.append(orders)
        out[at_mask] = _BYTES[mask]

    def _properties(self, name: NameEntry, properties: Properties) -> bytes:
        """Return the number of the properties of an op; equal bytes are written once."""
        known = self.known_properties.get((name, properties))
        if known is None:
            blob = _blob(name.layout, properties)
            known = self.properties.setdefault(blob, encoding.varint(len(self.properties)))
            self.known_properties[name, properties] = known
        return known

    def _use_lists(self, values: Sequence[SSAValue]) -> bytes:
        """Write the orders of the uses of some values, for values whose order is not that of the places."""
        orders = {index: self.orders[value] for index, value in enumerate(values) if value in self.orders}
        if not orders:
            return b""
        emitter = encoding.Emitter()
        if len(values) > 1:
            emitter.varint(len(orders))
        for index in map_order(list(orders)):
            order = orders[index]
            moved = [(use, place) for place, use in enumerate(order) if use != place]
            pairs = len(moved) < len(order) // 2
            if len(values) > 1:
                emitter.varint(index)
            emitter.flagged(len(moved) * 2 if pairs else len(order), pairs)
            for number in chain.from_iterable(moved) if pairs else order:
                emitter.varint(number)
        return bytes(emitter.data)

    # Resources.

    def _resources(self) -> tuple[encoding.Emitter, encoding.Emitter]:
        """Write the names and sizes of resources, and their data."""
        offsets, data = encoding.Emitter(), encoding.Emitter()
        external = self.module.resources.external
        offsets.varint(len(external))
        for name, entries in external.items():
            # The strings that are entries come before the names.
            sizes = [self._resource(data, entry) for entry in entries.values()]
            offsets.varint(self.strings[name])
            self._group(offsets, list(zip(entries, entries.values(), sizes, strict=True)))
        used = self.numbering.resources
        if used:
            known = self.module.resources.dialect.get(BUILTIN, {})
            rows = [(key, known.get(key), self._resource(data, known.get(key))) for key in used]
            offsets.varint(self.numbering.dialects[BUILTIN])
            self._group(offsets, rows)
        return offsets, data

    def _group(self, offsets: encoding.Emitter, rows: Sequence[tuple[str, Resource | None, int]]) -> None:
        offsets.varint(len(rows))
        for key, entry, size in rows:
            offsets.varint(self.strings[key])
            offsets.varint(size)
            offsets.byte(_kind(entry))

    def _resource(self, data: encoding.Emitter, entry: Resource | None) -> int:
        """Write an entry, or nothing for None, and return its number of bytes."""
        start = len(data.data)
        if isinstance(entry, Blob):
            data.varint(entry.alignment)
            data.varint(len(entry.data))
            data.align(entry.alignment)
            data.data += entry.data
        elif isinstance(entry, bool):
            data.byte(entry)
        elif entry is not None:
            data.varint(self.strings[entry])
        return len(data.data) - start


class _Frame(NamedTuple):
    """The regions of an op being written: its ops with regions that are still to come, the output, and the state around
    it.
    """

    ops: Iterator[OpRecord]
    out: list[bytes]
    outer: list[bytes]


def _kind(entry: Resource | None) -> encoding.ResourceKind:
    """Return the kind of a resource; one that is only declared counts as a blob."""
    if isinstance(entry, bool):
        return encoding.ResourceKind.BOOL
    return encoding.ResourceKind.STRING if isinstance(entry, str) else encoding.ResourceKind.BLOB


def _blob(layout: Layout | None, properties: Properties) -> bytes:
    """Write properties by the layout of the op; an unregistered op has one attribute instead."""
    fields = (("", True),) if layout is None else layout.fields
    emitter = encoding.Emitter()
    for (_, required), entry in zip(fields, properties, strict=False):
        assert not isinstance(entry, bytes)
        if entry is None:
            emitter.varint(0)
        elif required:
            emitter.varint(entry.number)
        else:
            emitter.flagged(entry.number, True)
    segments = narrowed(properties[-1] if len(properties) > len(fields) else b"", bytes)
    return bytes(emitter.data) + segments


def _grouped(emitter: encoding.Emitter, entries: Sequence[AnyEntry]) -> Iterator[AnyEntry]:
    """Yield entries. The dialect and the length of a run of one dialect are written before its first entry."""
    for dialect, group in groupby(entries, key=attrgetter("dialect")):
        members = list(group)
        emitter.varint(dialect)
        emitter.varint(len(members))
        yield from members


def write_bytecode(
    module: Module, version: int = encoding.MAX_VERSION, schema: Schema = Schema.MLIR22, producer: str | None = None
) -> bytes:
    """Write a module as MLIR bytecode. The same module gives the same bytes.

    ``version``: that of the format, 0 to 6. ``schema``: the MLIR whose ops and codes are used. MLIR 22 and newer MLIR
    do not read each other's versions 5 and 6; both read version 4. ``producer``: the name of the writing program, by
    default one that tells the schema, which `halfulp.interp.bytecode.reader` uses.

    Raises InputError for a version that does not exist, and Unsupported for a thing that the schema or the version does
    not have.
    """
    if not 0 <= version <= encoding.MAX_VERSION:
        raise InputError(f"bytecode version {version} does not exist: it must be from 0 to {encoding.MAX_VERSION}")
    producer = PRODUCERS[schema] if producer is None else producer
    if "\0" in producer:
        raise InputError(f"the producer {producer!r} has a zero byte in it, which would end it")
    try:
        with PausedCollector():
            if schema < Schema.LLVM24:
                check_schema(module, schema)
            return Writer(module, version, schema).file(producer)
    except RecursionError:
        raise LimitExceeded("attributes or types are nested too deep to be written") from None
