"""The reader of MLIR bytecode, versions 0 to 6: it makes the same module as the text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from halfulp.interp.bytecode import encoding
from halfulp.interp.bytecode.index import Container, FileIndex, Likeness, OpName, schema_of
from halfulp.interp.declare.declarations import Schema
from halfulp.interp.declare.operands import is_inherent, move_inherent, split_successor_operands
from halfulp.interp.declare.registry import Registry, default_registry
from halfulp.interp.gc_pause import PausedCollector
from halfulp.interp.ir import attributes as at
from halfulp.interp.ir.base import Location, Place, UnknownLoc
from halfulp.interp.ir.errors import BytecodeError
from halfulp.interp.ir.operations import SKIPPED, Block, Module, Operation, Region, SSAValue, read_operation
from halfulp.interp.ir.types import Type
from halfulp.interp.text.lexer import MAX_NESTING

# --- body -------------------------------------------------------------------------------------------------------------
#
# The ops of a bytecode file, in their blocks and regions.

_ATTRIBUTES, _RESULTS, _OPERANDS, _SUCCESSORS, _REGIONS, _USE_LISTS, _PROPERTIES = map(int, encoding.OpMask)
_UNLIKE: tuple[int, dict[bytes, Likeness]] = (0, {})
# The most bytes by which ops are known to be like another one: they are copied for each op.
_LONGEST_LIKE = 64
# The attributes of ops without any, which share them.
_NO_ATTRIBUTES: dict[str, at.Attribute] = {}
_UNKNOWN_PARTS = 0xFF & ~sum(encoding.OpMask)


class _Forward(SSAValue):
    """A placeholder for a value that is used before it is defined."""

    __slots__ = ("offset", "value")

    def __init__(self, offset: int) -> None:
        self.offset = offset
        self.value: SSAValue | None = None


class _Scope:
    """The values of an isolated region, and of the regions inside it, by their numbers. ``pending``: lists of operands
    with values that were not defined yet.
    """

    __slots__ = ("pending", "values")

    def __init__(self) -> None:
        self.values: list[Any] = []
        self.pending: list[list[SSAValue]] = []

    def resolve(self) -> None:
        """Replace the placeholders by their values, which are all defined by now."""
        for operands in self.pending:
            for index, operand in enumerate(operands):
                if isinstance(operand, _Forward):
                    assert operand.value is not None
                    operands[index] = operand.value


class _Regions:
    """The regions of an op being read: how many are left, and the position in the present one.

    ``isolated``: the regions have their own numbers of values and, in newer versions, their own section. ``base``: the
    number of values before the present region. ``end``: the number of values with it.
    """

    def __init__(self, op: Operation, left: int, cursor: encoding.ByteCursor, scope: _Scope, isolated: bool) -> None:
        self.op = op
        self.left = left
        self.cursor = cursor
        self.scope = scope
        self.isolated = isolated
        self.blocks: list[Block] = []
        self.next_block = self.ops = 0
        self.base = self.end = self.next_value = len(scope.values)


class Body:
    """A reader of the ops. It has its own stack, so that deep nesting does not exhaust the stack of Python.

    ``skip_unknown``: whether properties of an unknown layout are skipped.
    """

    def __init__(self, index: FileIndex, skip_unknown: bool = False) -> None:
        self.index = index
        self.skip_unknown = skip_unknown
        self.version = index.version
        self.stack: list[_Regions] = []
        self.orders: dict[SSAValue, tuple[tuple[int, ...], bool, int]] = {}
        self.promised = 0

    def _promise(self, cursor: encoding.ByteCursor, count: int, what: str, start: int) -> None:
        """Count announced values, blocks and regions. Raises BytecodeError if there are more than the file has
        bytes.
        """
        self.promised += count
        if self.promised > len(cursor.data):
            cursor.fail(f"{count} {what} cannot be in a file of {len(cursor.data)} bytes", start)

    def top(self, cursor: encoding.ByteCursor) -> Operation:
        """Read the only op of the outermost section, with everything that is in it, and return it."""
        start = cursor.pos
        count, has_arguments = cursor.flagged()
        if count != 1 or has_arguments:
            cursor.fail("the file must hold one op", start)
        frame = _Regions(Operation("file"), 0, cursor, _Scope(), True)
        block = Block()
        frame.blocks, frame.next_block, frame.ops = [block], 1, 1
        # No region announces the number of results of the one op.
        frame.end = -1
        self.stack.append(frame)
        while self.stack:
            self._advance(self.stack[-1])
        operation = block.operations[0]
        operation.parent = None
        self._keep_orders(operation, cursor)
        if operation.name == "builtin.module":
            return operation
        definition = self.index.registry.find("builtin.module")
        around = Operation("builtin.module", definition, regions=[Region([Block()])])
        around.regions[0].blocks[0].append(operation)
        return around

    def _advance(self, frame: _Regions) -> None:
        """Read the next part: ops, a block, a region, or the end."""
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
                    if self.version >= encoding.ISOLATED_SECTIONS or len(self.stack) == 1:
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
        """End a region: its values go out of reach."""
        if frame.end >= 0:
            if frame.next_value != frame.end:
                defined, said = frame.next_value - frame.base, frame.end - frame.base
                frame.cursor.fail(f"a region of '{frame.op.name}' has {defined} values, but the file announces {said}")
            del frame.scope.values[frame.base :]
        frame.blocks = []

    def _block(self, frame: _Regions) -> None:
        file_index, cursor = self.index, frame.cursor
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
            if self.version >= encoding.ELIDED_LOCATIONS:
                number, placed = number >> 1, bool(number & 1)
            type = file_index.type_at(cursor.below(number, len(file_index.types), "type", start))
            argument = block.add_argument(type, None, self._location(cursor) if placed else UnknownLoc())
            self._define(frame, argument)
        if self.version >= encoding.USE_LISTS:
            start = cursor.pos
            mask = cursor.byte()
            if mask & ~encoding.OpMask.USE_LISTS:
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
            frame.cursor.fail(f"a region of '{frame.op.name}' has more values than the file announces")

    def _location(self, cursor: encoding.ByteCursor) -> Place:
        start = cursor.pos
        return self._location_at(cursor.varint(), cursor, start)

    def _location_at(self, number: int, cursor: encoding.ByteCursor, start: int) -> Place:
        index = self.index
        cursor.below(number, len(index.attributes), "attribute", start)
        found = index.position_at(number) or index.attribute_at(number)
        if not isinstance(found, Location | tuple):
            cursor.fail(f"expected a location, found {type(found).__name__}", start)
        index.places[number] = found
        return found

    def _ops(self, frame: _Regions) -> None:
        """Read ops up to the end of the block, or to one that has regions.

        Small integers, which are nearly all, are read here and not by the cursor; the cursor has the position only
        while something else is read. Bytes behind the end of the section may be looked at, but an op that reaches them
        is an error.
        """
        cursor = frame.cursor
        try:
            self._op_after_op(frame)
        except IndexError:
            cursor.fail("unexpected end of the section in an op", cursor.end)

    def _op_after_op(self, frame: _Regions) -> None:
        file_index, cursor, scope = self.index, frame.cursor, frame.scope
        data, end, pos = cursor.data, cursor.end, cursor.pos
        long, fail, values = cursor.varint_at, cursor.fail, scope.values
        names, types, places = file_index.ops, file_index.types, file_index.places
        position_at = file_index.position_at
        native = self.version >= encoding.NATIVE_PROPERTIES
        block = frame.blocks[frame.next_block - 1]
        operations = block.operations
        left, next_value, last = frame.ops, frame.next_value, frame.end
        while left:
            left -= 1
            start = pos
            number = data[pos]
            if number & 1:
                number >>= 1
                pos += 1
            else:
                number, pos = long(pos)
            if number >= len(names):
                fail(f"op name {number} does not exist: there are {len(names)}", start)
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
            elif number & 2:
                number = (number | data[pos + 1] << 8) >> 2
                pos += 2
            elif number & 4:
                number = (number | data[pos + 1] << 8 | data[pos + 2] << 16) >> 3
                pos += 3
            else:
                number, pos = long(pos)
            place: Place | None = None
            if number < len(places):
                place = places[number]
                if place is None:
                    place = position_at(number)
            if place is None:
                place = self._location_at(number, cursor, at_part)

            attributes = _NO_ATTRIBUTES
            properties: dict[str, at.Attribute]
            result_types: list[Type]
            raw = None
            shares = True
            size, codes = name.like.get(mask) or _UNLIKE
            like = codes.get(bytes(data[pos : pos + size]))
            if like is not None and pos + size <= end:
                properties, result_types, count = like
                pos += size
            else:
                if mask & _ATTRIBUTES:
                    cursor.pos = pos
                    attributes = self._attributes(cursor, name)
                    pos = cursor.pos
                first = pos
                known = None
                if mask & _PROPERTIES and name.registered and native:
                    at_part = pos
                    number, pos = long(pos)
                    known = name.known.get(number)
                    if known is None:
                        pos = at_part
                if known is not None:
                    properties = known
                elif name.plain and not mask & _PROPERTIES:
                    properties = _NO_ATTRIBUTES
                else:
                    cursor.pos = pos
                    attributes = attributes.copy()
                    properties, raw = self._properties(cursor, name, attributes, mask)
                    pos = cursor.pos
                    shares = False

                result_types = []
                if mask & _RESULTS:
                    count, pos = long(pos)
                    if count > end - pos:
                        fail(f"op '{name.name}': {count} results cannot be in the {end - pos} bytes that are left", pos)
                    for _ in range(count):
                        at_part = pos
                        number, pos = long(pos)
                        if number >= len(types):
                            fail(f"type {number} does not exist: there are {len(types)}", at_part)
                        found = types[number]
                        result_types.append(found if isinstance(found, Type) else file_index.type_at(number))

                count = 0
                if mask & _OPERANDS:
                    count, pos = long(pos)
                if shares and not mask & _ATTRIBUTES and pos - first <= _LONGEST_LIKE:
                    properties = properties.copy()
                    size, codes = name.like.setdefault(mask, (pos - first, {}))
                    if size == pos - first:
                        codes[bytes(data[first:pos])] = properties, result_types, count

            operands: list[SSAValue] = []
            waiting = False
            if count:
                if count > end - pos:
                    fail(f"op '{name.name}': {count} operands cannot be in the {end - pos} bytes that are left", pos)
                for _ in range(count):
                    at_part = pos
                    number = data[pos]
                    if number & 1:
                        number >>= 1
                        pos += 1
                    elif number & 2:
                        number = (number | data[pos + 1] << 8) >> 2
                        pos += 2
                    elif number & 4:
                        number = (number | data[pos + 1] << 8 | data[pos + 2] << 16) >> 3
                        pos += 3
                    else:
                        number, pos = long(pos)
                    if number >= len(values):
                        fail(f"op '{name.name}': value {number} does not exist: there are {len(values)}", at_part)
                    value = values[number]
                    if value is None:
                        value = values[number] = _Forward(at_part)
                    if value.__class__ is _Forward:
                        waiting = True
                    operands.append(value)

            operation = read_operation(
                name.name, name.definition, operands, result_types, properties, attributes, place, None, -1, block
            )
            operation.shares = shares
            if raw is not None:
                operation.raw_properties = raw
            if waiting:
                scope.pending.append(operands)
            cursor.pos = pos
            if mask & _SUCCESSORS:
                operation.successors = self._successors(frame, name)
                parts = split_successor_operands(operation)
                if waiting:
                    scope.pending += parts
            for result in operation.results:
                if next_value < last and values[next_value] is None:
                    values[next_value] = result
                else:
                    frame.next_value = next_value
                    self._define(frame, result)
                next_value += 1
            if mask & _USE_LISTS:
                self._use_orders(cursor, operation.results)
            operations.append(operation)
            if mask & _REGIONS:
                frame.ops, frame.next_value = left, next_value
                self._open(frame, operation)
                return
            pos = cursor.pos
            if pos > end:
                fail(f"op '{name.name}' goes beyond its section", start)
        frame.ops, frame.next_value = left, next_value

    def _attributes(self, cursor: encoding.ByteCursor, name: OpName) -> dict[str, at.Attribute]:
        start = cursor.pos
        file_index = self.index
        dictionary = file_index.attribute_at(cursor.number(len(file_index.attributes), "attribute"))
        if not isinstance(dictionary, at.DictionaryAttr):
            cursor.fail(f"op '{name.name}': its attributes are not a dictionary", start)
        file_index.spend(len(dictionary.entries), start)
        return dict(dictionary.entries)

    def _properties(
        self, cursor: encoding.ByteCursor, name: OpName, attributes: dict[str, at.Attribute], mask: int
    ) -> tuple[dict[str, at.Attribute], at.Attribute | None]:
        """Return the inherent attributes of an op, and the attribute that an unregistered op has in their place."""
        definition = name.definition
        properties: dict[str, at.Attribute] = {}
        raw = None
        start = cursor.pos
        if mask & _PROPERTIES:
            number = cursor.varint()
            if self.version < encoding.NATIVE_PROPERTIES:
                cursor.fail(f"op '{name.name}': version {self.version} has no properties", start)
            if not name.registered:
                raw = self.index.raw_properties(number, cursor, start)
            elif definition is None and self.skip_unknown:
                attributes[SKIPPED] = at.StringAttr(self.index.skipped_properties(number, cursor, start))
            elif definition is None:
                cursor.fail(
                    f"op '{name.name}': halfulp does not know the layout of its properties; versions up to 4 have none",
                    start,
                )
            else:
                properties = self.index.properties_of(name, number, cursor, start)
                for attribute in attributes:
                    if is_inherent(definition, attribute, self.index.schema, name.late):
                        cursor.fail(
                            f"op '{name.name}': '{attribute}' is among the attributes, but belongs to the properties",
                            start,
                        )
                if attributes:  # Some are properties in other builds and versions.
                    move_inherent(definition, properties, attributes)
                return properties, None
        if definition is not None:
            if isinstance(raw, at.DictionaryAttr) and not attributes.keys() & raw.mapping.keys():
                self.index.spend(len(raw.entries), start)
                attributes.update(raw.entries)
            elif raw is not None:
                cursor.fail(f"op '{name.name}': {raw} cannot be its properties", start)
            if attributes or definition.has_properties:
                move_inherent(definition, properties, attributes)
            return properties, None
        return properties, raw

    def _successors(self, frame: _Regions, name: OpName) -> list[tuple[Block, list[SSAValue]]]:
        cursor = frame.cursor
        successors: list[tuple[Block, list[SSAValue]]] = []
        for _ in range(cursor.count()):
            number = cursor.number(len(frame.blocks), f"op '{name.name}': block")
            successors.append((frame.blocks[number], []))
        return successors

    def _open(self, frame: _Regions, operation: Operation) -> None:
        """Enter the regions of an op."""
        cursor = frame.cursor
        start = cursor.pos
        count, isolated = cursor.flagged()
        self._promise(cursor, count, "regions", start)
        if len(self.stack) > MAX_NESTING:
            cursor.fail(f"regions are nested more than {MAX_NESTING} deep", start)
        operation.regions = regions = [Region() for _ in range(count)]
        for region in regions:
            region.parent = operation
        if isolated and self.version >= encoding.ISOLATED_SECTIONS:
            start = cursor.pos
            kind, cursor = cursor.section()
            if kind != encoding.Section.IR:
                cursor.fail(f"expected regions, found section {kind}", start)
        self.stack.append(_Regions(operation, count, cursor, _Scope() if isolated else frame.scope, isolated))

    # The orders of uses.

    def _use_orders(self, cursor: encoding.ByteCursor, values: Sequence[SSAValue]) -> None:
        """Read in which order the uses of some values are, if it is not the order of their places."""
        count = 1 if len(values) == 1 else cursor.count()
        for _ in range(count):
            start = cursor.pos
            index = 0 if len(values) == 1 else cursor.varint()
            if index >= len(values):
                cursor.fail(f"an order of uses is for value {index}, but there are {len(values)} values", start)
            size, pairs = cursor.flagged()
            if size > cursor.left:
                cursor.fail(f"{size} uses cannot be in the {cursor.left} bytes that are left", start)
            if values[index] in self.orders:
                cursor.fail(f"value {index} has two orders of uses", start)
            self.orders[values[index]] = tuple([cursor.varint() for _ in range(size)]), pairs, start

    def _keep_orders(self, operation: Operation, cursor: encoding.ByteCursor) -> None:
        """Expand the orders, which list only what differs, and check all of them."""
        if not self.orders:
            return
        uses = dict.fromkeys(self.orders, 0)
        for inner in operation.walk():
            for value in inner.used_values:
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
                cursor.fail(f"the order of {uses[value]} uses is not a permutation of them", start)
            self.index.use_orders[value] = tuple(order)


# --- reader -----------------------------------------------------------------------------------------------------------


def read_unverified(
    data: bytes | memoryview,
    filename: str = "<bytecode>",
    allow_unregistered: bool = True,
    registry: Registry | None = None,
    schema: Schema | None = None,
    skip_unknown: bool = False,
) -> Module:
    """Read a file of MLIR bytecode; the rules of the ops are not checked (`halfulp.interp.loading` does).

    The parameters are those of `halfulp.interp.loading.read_bytecode`. Raises BytecodeError with an offset.
    """
    with PausedCollector():
        try:
            file = Container(data)
            known = schema or schema_of(file.producer)
            chosen = registry or registry_of(file)
            try:
                module = read_as(file, known or Schema.MLIR22, chosen, allow_unregistered, skip_unknown)
            except BytecodeError:
                if known is not None or _is_portable(file):
                    raise
                module = read_as(file, Schema.LLVM24, chosen, allow_unregistered, skip_unknown)
        except BytecodeError as error:
            error.filename = filename
            raise
        if registry is None and _is_portable(file):
            from halfulp.interp.bytecode.portable import of_vhlo

            return of_vhlo(module)
        return module


def _is_portable(file: Container) -> bool:
    return "vhlo" in file.strings


def registry_of(file: Container) -> Registry:
    """Return the known dialects; for a portable artifact of StableHLO, with VHLO."""
    if not _is_portable(file):
        return default_registry()
    from halfulp.interp.bytecode import portable

    return portable.registry()


def read_as(
    file: Container, schema: Schema, registry: Registry, allow_unregistered: bool, skip_unknown: bool = False
) -> Module:
    """Return the module of a file, read as MLIR of this schema writes it. It is not verified."""
    index = FileIndex(file, schema, registry, allow_unregistered)
    try:
        index.read()
        operation = Body(index, skip_unknown).top(index.file.section(encoding.Section.IR))
        index.read_rest()
    except RecursionError:
        # Python's limit was reached before ours.
        index.cursor.fail("attributes and types are nested too deep")
    module = Module(operation, None, index.resources)
    module.use_orders = index.use_orders
    module.dialect_versions = index.dialect_versions
    return module
