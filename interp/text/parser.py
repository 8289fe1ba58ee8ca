"""Operations, blocks, regions and whole files from text.

Custom forms are read by closures that `halfulp.interp.text.assembly` compiles from each op's declaration, or that the
declaration gives.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NoReturn, TypeVar

from halfulp.fp_formats.aliases import did_you_mean
from halfulp.interp.declare import registry as registries
from halfulp.interp.declare.declarations import OpDefinition, Schema
from halfulp.interp.declare.operands import add_defaults, is_inherent, move_inherent, split_successor_operands
from halfulp.interp.gc_pause import PausedCollector
from halfulp.interp.ir.attributes import Attribute, DictionaryAttr
from halfulp.interp.ir.base import Location, Source
from halfulp.interp.ir.dialect_attributes import nested_size
from halfulp.interp.ir.errors import ParseError, UnknownOp
from halfulp.interp.ir.operations import (
    Blob,
    Block,
    Module,
    Operation,
    Region,
    Resource,
    Resources,
    Successor,
    read_operation,
)
from halfulp.interp.ir.types import FunctionType, Type
from halfulp.interp.text.assembly import compile_parser
from halfulp.interp.text.lexer import Pattern
from halfulp.interp.text.op_parser import Argument, Forward, OpParser, ParseOp
from halfulp.interp.text.type_parser import TypeParser

# --- repeated ops -----------------------------------------------------------------------------------------------------
#
# Ops on lines that are like an earlier one except for the names of values.
#
# The general parser reads the op on the first of such lines. Its result, apart from the operands, is kept for the next
# lines: it depends on the text of the line and on the types of the values. A line that differs in anything is read by
# the general parser from its first token.


def _behind(tokens: Sequence[str], place: int) -> str:
    """Return the token after an op as patterns store it: the token itself, but ``%`` for the name of the only result of
    the next op.
    """
    token = tokens[place]
    return "%" if token[:1] == "%" and tokens[place + 1] == "=" else token


def remember(p: OpParser, pattern: Pattern, operation: Operation, line: Sequence[str], place: int) -> None:
    """Record in the pattern of a line that the line is the op that was just read. This is done only if the line has
    nothing else, and each name in it, except that of the result, is one operand. ``line``: the tokens of the line.
    ``place``: the index of the token with the op's name.
    """
    tokens, values, source = p.tokens, p.values, p.source
    if (
        operation.source is not source
        or operation.regions
        or operation.successors
        or operation.raw_properties is not None
        or len(operation.results) != place // 2
        # An abbreviated name stands for another op in another region.
        or not ("." in line[place] or line[place][:1] == '"')
    ):
        return
    names = pattern.names[place // 2 :]
    given = [values.get(line[name]) for name in names]
    places = {value: index for index, value in enumerate(given)}
    order = [places[operand] for operand in operation.operands if operand in places]
    # An operand that is given twice does not show its place.
    if sorted(order) != [*range(len(names))] or len(order) != len(operation.operands):
        return
    width, depth = pattern.width, p.depth
    expected = [(names[index], operand.type) for index, operand in zip(order, operation.operands, strict=True)]
    name, definition, location = operation.name, operation.definition, operation._location
    result_types = tuple(result.type for result in operation.results)
    properties, attributes = operation.properties.copy(), operation.attributes.copy()
    # A custom form may read a value that is given twice in another way: an affine map has one symbol for it.
    by_hand = definition is not None and (definition.custom is not None or "custom<" in (definition.assembly or ""))
    is_distinct = by_hand and len(names) > 1
    after = pattern.after
    after.add(_behind(tokens, p.pos))

    def again(start: int, block: Block) -> bool:
        end = start + width
        behind = tokens[end]
        if (_behind(tokens, end) if behind[:1] == "%" else behind) not in after:
            return False
        operands = []
        for index, type in expected:
            value = values.get(tokens[start + index])
            if value is None or (value.type is not type and value.type != type):
                return False
            operands.append(value)
        if p.depth > depth or (is_distinct and len({*operands}) < len(operands)):
            return False
        p.pos = end
        operation = read_operation(
            name, definition, operands, result_types, properties, attributes, location, source, start + place, block
        )
        block.operations.append(operation)
        if behind == "loc":
            p.trailing_location(operation)
        if place:
            token = tokens[start]
            result = operation.results[0]
            if p.forward or token in values:
                p.define(token, result, start)
            else:
                values[token] = result
            result.name = token[1:]
        return True

    pattern.again = again


# --- resource parser --------------------------------------------------------------------------------------------------
#
# The resource section of a file, ``{-# … #-}``, from text.


def read_resources(p: TypeParser, resources: Resources) -> None:
    """Read the section that begins here into ``resources``."""
    p.pos += 1
    sections = {"dialect_resources": resources.dialect, "external_resources": resources.external}
    for _ in p.entries("#-}"):
        key = p.tokens[p.pos]
        section = sections.get(key)
        if not (key[:1].isalpha() or key[:1] == "_"):
            p.wrong_token("expected identifier key in file metadata dictionary")
        if section is None:
            p.error(f"unknown key '{key}' in file metadata dictionary", hint=did_you_mean(key, sections))
        p.pos += 1
        p.expect(":")
        _resource_groups(p, section, key == "dialect_resources")


def _resource_groups(p: TypeParser, section: dict[str, dict[str, Resource]], of_dialects: bool) -> None:
    p.expect("{")
    for _ in p.entries("}"):
        at = p.pos
        name = p.resource_key("expected identifier key for 'resource' entry")
        if of_dialects and name not in p.registry.dialects:
            p.error(f"dialect '{name}' is unknown", at)
        group = section.setdefault(name, {})
        p.expect(":")
        p.expect("{")
        for _ in p.entries("}"):
            if of_dialects and name != "builtin":
                p.error(f"unexpected 'resource' section for dialect '{name}'")
            key = p.resource_key("expected identifier key for 'resource' entry")
            p.expect(":")
            at = p.pos
            group[key] = _resource(p, key)
            if of_dialects and not isinstance(group[key], Blob):
                p.error(f"expected hex string blob for key '{key}'", at)


def _resource(p: TypeParser, key: str) -> Resource:
    token = p.tokens[p.pos]
    if token in ("true", "false"):
        p.pos += 1
        return token == "true"
    at = p.pos
    if token[:1] != '"':
        p.error(f"expected hex string blob for key '{key}'")
    text = p.string()
    if not text.startswith("0x"):
        return text
    try:
        data = bytes.fromhex(text[2:])
    except ValueError:
        p.error(f"expected hex string blob for key '{key}'", at)
    if len(data) < 4:
        p.error(f"expected hex string blob for key '{key}' to encode alignment in first 4 bytes", at)
    alignment = int.from_bytes(data[:4], "little")
    if not alignment or alignment & (alignment - 1):
        p.error(
            f"expected hex string blob for key '{key}' to encode alignment in first 4 bytes, but got "
            f"non-power-of-2 value: {alignment}",
            at,
        )
    return Blob(data[4:], alignment)


# --- parser -----------------------------------------------------------------------------------------------------------

# How much larger than the whole file an alias may be when the aliases in it are expanded.
MAX_ALIAS_SIZE = 1 << 16

T = TypeVar("T")

# The tokens that end a list of operations.
_ENDS = frozenset(("}", "^", "#", "!", ""))


# The most tokens of an op's properties or type that are kept for the next op of its name.
_MAX_REMEMBERED = 100


class _Met:
    """An operation known by its quoted name, with the properties and the type of the last operation of that name."""

    __slots__ = ("definition", "name", "properties", "property_tokens", "type", "type_tokens")

    def __init__(self, name: str, definition: OpDefinition | None) -> None:
        self.name = name
        self.definition = definition
        self.property_tokens: list[str] = []
        self.properties: dict[str, Attribute] = {}
        self.type_tokens: list[str] = []
        self.type = FunctionType((), ())


class Parser(OpParser):
    """A parser of whole files."""

    def __init__(self, text: str, filename: str, registry: registries.Registry, allow_unregistered: bool) -> None:
        super().__init__(text, filename, registry, allow_unregistered)
        self.default_dialect = "builtin"
        self.custom: dict[str, ParseOp] = {}
        self.met: dict[str, _Met] = {}
        self.resources = Resources()
        self.sizes: dict[int, int] = {}

    # Operations.

    def operations(self, block: Block) -> None:
        """Read operations up to a ``}``, a block label, the definition of an alias or the end of the file."""
        tokens, repeated = self.tokens, self.repeated
        append = block.operations.append
        while True:
            start = self.pos
            pattern = repeated.get(start - self.added)
            if pattern is not None and pattern.again is not None and pattern.again(start, block):
                continue
            token = tokens[start]
            first = token[:1]
            # Most operations bind one result.
            bound = first == "%" and tokens[start + 1] == "=" and token != "%"
            if not bound and first == "%" and token != "%":
                self._bound_operation(block)
                continue
            if first in _ENDS or token == "{-#":
                return
            at = start + 2 if bound else start
            if pattern is None:
                operation = self._unlike(at)
                if tokens[self.pos] == "loc":
                    self.trailing_location(operation)
            else:
                operation = self._first_of(pattern, start, at)
            operation.parent = block
            append(operation)
            if not bound:
                continue
            if len(operation.results) != 1:
                self._bind(operation, [(token, 1, start)])
                continue
            self.define(token, operation.results[0], start)
            operation.results[0].name = token[1:]

    def _first_of(self, pattern: Pattern, start: int, at: int) -> Operation:
        """Read the operation whose name is at a token, at the start of a line, and remember it for later lines that
        look the same.
        """
        line = self.tokens[start : start + pattern.width]
        end = start - self.added + pattern.width
        operation = self._unlike(at)
        if self.pos - self.added == end:
            remember(self, pattern, operation, line, at - start)
        if self.tokens[self.pos] == "loc":
            self.trailing_location(operation)
            if self.pos - self.added == end and not self._is_deferred(operation):
                remember(self, pattern, operation, line, at - start)
        return operation

    def _is_deferred(self, operation: Operation) -> bool:
        """Tell whether the location of the op that was just read is not known yet."""
        return bool(self.deferred_locations) and self.deferred_locations[-1][0] is operation

    def _unlike(self, at: int) -> Operation:
        """Read the operation whose name is at a token, without using an earlier one that looks the same."""
        parse = self.custom.get(self.tokens[at])
        if parse is None:
            self.pos = at
            return self._uncached(at)
        self.pos = at + 1
        return parse(self, at)

    def _bound_operation(self, block: Block) -> None:
        """Read an operation that binds several names, or one name to several results."""
        bindings = self._result_names()
        self.expect("=", "expected '=' after SSA name")
        operation = self._uncached(self.pos)
        if self.tokens[self.pos] == "loc":
            self.trailing_location(operation)
        operation.parent = block
        block.operations.append(operation)
        self._bind(operation, bindings)

    def _result_names(self) -> list[tuple[str, int, int]]:
        bindings = []
        while True:
            at = self.operand_token()
            count = 1
            if self.take(":"):
                token = self.tokens[self.pos]
                if not token.isdigit() or len(token) > 9:
                    self.wrong_token("expected integer number of results")
                count = int(token)
                if count < 1:
                    self.error("expected named operation to have at least 1 result")
                self.pos += 1
            bindings.append((self.tokens[at], count, at))
            if not self.take(","):
                return bindings

    def _bind(self, operation: Operation, bindings: list[tuple[str, int, int]]) -> None:
        results = operation.results
        count = sum(size for _, size, _ in bindings)
        if not results:
            self.error("cannot name an operation with no results", bindings[0][2])
        if count != len(results):
            self.error(f"operation defines {len(results)} results but was provided {count} to bind", bindings[0][2])
        index = 0
        for name, size, token in bindings:
            for offset in range(size):
                self.define(name if offset == 0 else f"{name}#{offset}", results[index], token)
                results[index].name = name[1:]
                if size > 1 and offset == 0:
                    self.values[f"{name}#0"] = results[index]
                index += 1

    def operation(self, block: Block | None = None) -> Operation:
        """Read one operation that has no names of results in front, and return it."""
        operation = self._uncached(self.pos)
        if self.tokens[self.pos] == "loc":
            self.trailing_location(operation)
        operation.parent = block
        return operation

    def _uncached(self, at: int) -> Operation:
        """Read an operation in generic form, or in a custom form that is used for the first time."""
        token = self.tokens[at]
        if token[:1] == '"' and len(token) > 1:
            self.pos = at + 1
            return self.generic(at)
        if not (token[:1].isalpha() or token[:1] == "_") or token[-1:] == ">":
            self.wrong_token("expected operation name in quotes")
        definition, name = self._definition(token)
        if definition is None:
            self._unknown(token, name, at)
        parse = compile_parser(definition)
        if parse is None:
            self.wrong(name, "has no custom assembly form", at)
        # An abbreviated name stands for another op in a region of another dialect.
        if "." in token:
            self.custom[token] = parse
        self.pos = at + 1
        return parse(self, at)

    def _definition(self, token: str) -> tuple[OpDefinition | None, str]:
        definition = self.registry.find(token) if "." in token else None
        name = token
        if definition is None and "." not in token:
            name = f"{self.default_dialect}.{token}"
            definition = self.registry.find(name)
        return definition, name

    def _unknown(self, token: str, name: str, at: int) -> NoReturn:
        dialect = token.partition(".")[0]
        dialects = self.registry.dialects
        kind: type[ParseError] = ParseError
        if "." in token and dialect not in dialects:
            # A dialect of MLIR is not misspelled.
            near = None if registries.is_upstream(token) else did_you_mean(dialect, dialects)
            kind = ParseError if near else UnknownOp
            missing = f"Dialect `{dialect}' not found for custom op '{token}'"
            self.error(missing, at, hint=near or registries.unknown_dialect(dialect, dialects), kind=kind, op=token)
        tried = "" if "." in token else f" (tried '{name}' as well)"
        known = dialects.get(name.partition(".")[0])
        if "." in token:
            hint = registries.op_hint(token, dialects)
        else:
            mnemonics = () if known is None else [op.partition(".")[2] for op in known.ops]
            hint = did_you_mean(token, mnemonics, registries.number_family)
        if hint is None and known is not None and known.partial:
            # The real dialect may have it.
            kind = UnknownOp
            part = f"halfulp knows only some ops of '{known.name}'"
            hint = f"{part}; it reads every op in generic form (--mlir-print-op-generic)"
        self.error(f"custom op '{token}' is unknown{tried}", at, hint=hint, kind=kind, op=name)

    # The generic form.

    def generic(self, at: int) -> Operation:
        """Read the rest of a generic form: operands, successors, properties, regions, attributes and the types."""
        tokens = self.tokens
        met = self.met.get(tokens[at])
        if met is None:
            met = self.met[tokens[at]] = self._first_met(at)
        definition = met.definition
        self.expect("(", "expected '(' to start operand list")
        operand_tokens = self.operand_tokens()
        self.expect(")", "expected ')' to end operand list")
        successors = self._generic_successors() if tokens[self.pos] == "[" else []
        properties, whole, raw = self._generic_properties(met) if tokens[self.pos] == "<" else ({}, False, None)
        regions = self._generic_regions(met.name) if tokens[self.pos] == "(" else []
        attributes: dict[str, Attribute] = {}
        if tokens[self.pos] == "{":
            self.dictionary(attributes)
        if tokens[self.pos] != ":":
            self.expect(":", "expected ':' followed by operation type")
        self.pos += 1
        at_type = self.pos
        type = self._generic_type(met)
        if len(type.inputs) != len(operand_tokens):
            plural = "" if len(operand_tokens) == 1 else "s"
            self.error(f"expected {len(operand_tokens)} operand type{plural} but had {len(type.inputs)}", at_type)
        operands = [self.use(token, input) for token, input in zip(operand_tokens, type.inputs, strict=True)]
        if definition is not None and raw is not None:
            self._refuse_properties(definition, raw, at)
        if definition is not None and (attributes or not whole):
            move_inherent(definition, properties, attributes)
        operation = Operation(met.name, definition, operands, type.results, properties, attributes, regions, successors)
        operation.raw_properties = raw
        self.placed(operation, at)
        if successors:
            parts = split_successor_operands(operation)
            if self.forward:
                self.pending += parts
        return operation

    def _first_met(self, at: int) -> _Met:
        """Return the op that a quoted name stands for."""
        name = self.string_of(self.tokens[at], at)
        if not name:
            self.error("empty operation name is invalid", at)
        if "\0" in name:
            self.error("null character not allowed in operation name", at)
        definition = self.registry.find(name)
        if definition is None:
            self._check_unregistered(name, at)
        return _Met(name, definition)

    def _generic_properties(self, met: _Met) -> tuple[dict[str, Attribute], bool, Attribute | None]:
        """Read ``<…>``. Returns the properties, whether they include the defaults of absent ones, and the attribute
        itself if the op has no properties of its own or the attribute is not a dictionary.
        """
        tokens = self.tokens
        at = self.pos
        known = met.property_tokens
        if known and tokens[at : at + len(known)] == known:
            self.pos += len(known)
            return met.properties.copy(), True, None
        self.pos += 1
        attribute = self.attribute()
        self.expect(">", "expected '>' to close properties")
        definition = met.definition
        if definition is None or not definition.has_properties or not isinstance(attribute, DictionaryAttr):
            return {}, False, attribute
        properties = dict(attribute.entries)
        self._check_properties(definition, properties, at + 1)
        if self.pos - at <= _MAX_REMEMBERED:
            add_defaults(definition, properties)
            met.property_tokens = tokens[at : self.pos]
            met.properties = properties.copy()
            return properties, True, None
        return properties, False, None

    def _refuse_properties(self, definition: OpDefinition, attribute: Attribute, at: int) -> NoReturn:
        """Raise ParseError for an attribute in ``<…>`` that cannot be the properties of a registered op."""
        wrong = "expected DictionaryAttr to set" if definition.has_properties else "this operation does not support"
        self.error(f"invalid properties {attribute} for op {definition.name}: {wrong} properties", at)

    def _generic_type(self, met: _Met) -> FunctionType:
        at = self.pos
        known = met.type_tokens
        after = at + len(known)
        # A type of a dialect may go on: !llvm.ptr<3> begins as !llvm.ptr.
        if known and self.tokens[at:after] == known and self.tokens[after] != "<":
            self.pos = after
            return met.type
        type = self.type()
        if not isinstance(type, FunctionType):
            self.error("expected function type", at)
        if self.pos - at <= _MAX_REMEMBERED:
            met.type_tokens, met.type = self.tokens[at : self.pos], type
        return type

    def _check_unregistered(self, name: str, at: int) -> None:
        dialect, _, mnemonic = name.partition(".")
        if mnemonic and self.registry.is_complete(dialect):
            self.error(
                f"unregistered operation '{name}' found in dialect ('{dialect}') that does not allow unknown "
                "operations",
                at,
                hint=registries.op_hint(name, self.registry.dialects),
            )
        if not self.allow_unregistered and not registries.is_upstream(name):
            self.error_at_offset(
                "operation being parsed with an unregistered dialect. If this is intended, please use "
                "-allow-unregistered-dialect with the MLIR tool used",
                self.offset(self.pos),
            )

    def _check_properties(self, definition: OpDefinition, properties: dict[str, Attribute], at: int) -> None:
        for name in properties:
            if not is_inherent(definition, name):
                names = [prop.name for prop in definition.properties]
                self.error(f"'{definition.name}' op has no property '{name}'", at, hint=did_you_mean(name, names))

    def _generic_successors(self) -> list[Successor]:
        if not self.take("["):
            return []
        blocks = self.separated(self.successor_block)
        self.expect("]", "expected ']'")
        return [(block, []) for block in blocks]

    def _generic_regions(self, name: str) -> list[Region]:
        if not self.take("("):
            return []
        # Names are abbreviated as outside of the op: only custom forms change the default dialect.
        regions = self.separated(lambda: self.region(name, dialect=self.default_dialect))
        self.expect(")", "expected ')' to end region list")
        return regions

    # Regions and blocks.

    def region(self, owner: str, arguments: Sequence[Argument] = (), dialect: str | None = None) -> Region:
        """Read a region; see `OpParser.region`. The names around it are in reach even in a function; the verifier
        checks that a function does not use them.
        """
        self.expect("{", "expected '{' to begin a region")
        self.enter()
        saved = self.blocks, self.undefined_blocks, self.default_dialect
        self.blocks, self.undefined_blocks = {}, {}
        if dialect is None:
            definition = self.registry.find(owner)
            dialect = "" if definition is None else definition.default_dialect
        self.default_dialect = dialect
        mark = len(self.values)
        region = Region()
        if arguments or not (self.tokens[self.pos] == "}" or self.tokens[self.pos][:1] == "^"):
            self._entry_block(region, arguments)
        while self.tokens[self.pos][:1] == "^" and len(self.tokens[self.pos]) > 1:
            self._block(region)
        if self.tokens[self.pos] != "}":
            self.wrong_token("expected operation name in quotes")
        if self.undefined_blocks:
            first = min(self.undefined_blocks.values())
            known = (name for name in self.blocks if name not in self.undefined_blocks)
            self.error("reference to an undefined block", first, hint=did_you_mean(self.tokens[first], known))
        self.pos += 1
        values = self.values
        while len(values) > mark:
            values.popitem()
        self.blocks, self.undefined_blocks, self.default_dialect = saved
        self.leave()
        return region

    def _entry_block(self, region: Region, arguments: Sequence[Argument]) -> None:
        block = Block()
        region.append(block)
        for argument in arguments:
            name = self.tokens[argument.token]
            known = self.values.get(name) or self.forward.get(name)
            if known is not None:
                where = self.source.at_token(known.token) if isinstance(known, Forward) else self._defined_at(known)
                self.error(
                    f"region entry argument '{name}' is already in use",
                    argument.token,
                    notes=[(where, "previously referenced here")],
                )
            value = block.add_argument(argument.type, name[1:])
            value.token = argument.token
            self.define(name, value, argument.token)
            if isinstance(argument.location, int):
                self.deferred_locations.append((value, argument.location))
            elif isinstance(argument.location, Location):
                value.location = argument.location
        if arguments and self.tokens[self.pos][:1] == "^":
            self.error("invalid block name in region with named arguments")
        self.operations(block)

    def _block(self, region: Region) -> None:
        at = self.pos
        label = self.tokens[at]
        self.pos += 1
        block = self.blocks.get(label)
        if block is None:
            block = self.blocks[label] = Block(label=label[1:])
        elif self.undefined_blocks.pop(label, None) is None:
            self.error(f"redefinition of block '{label}'", at)
        region.append(block)
        if self.take("("):
            self.until(")", lambda: self._block_argument(block))
        self.expect(":", "expected ':' after block name")
        self.operations(block)

    def _block_argument(self, block: Block) -> None:
        at = self.operand_token()
        self.expect(":", "expected ':' and type for SSA operand")
        value = block.add_argument(self.type(), self.tokens[at][1:])
        value.token = at
        self.define(self.tokens[at], value, at)
        if self.tokens[self.pos] == "loc":
            self.trailing_location(value)

    # Files.

    def file(self) -> Module:
        """Read everything up to the end: aliases, operations and the resource section."""
        top = Block()
        while self.tokens[self.pos]:
            token = self.tokens[self.pos]
            if token[0] == "#" and len(token) > 1 and token != "#-}":
                self._attribute_alias(token)
            elif token[0] == "!" and len(token) > 1:
                self._type_alias(token)
            elif token == "{-#":
                read_resources(self, self.resources)
            else:
                before = self.pos
                self.operations(top)
                if self.pos == before or self.tokens[self.pos][:1] in ("}", "^"):
                    self.wrong_token("expected operation name in quotes")
        if self.undefined_blocks:
            self.error("reference to an undefined block", min(self.undefined_blocks.values()))
        self.end_scope()
        for target, token_index in self.deferred_locations:
            location = self.attributes.get(self.tokens[token_index])
            if location is None:
                self.error("operation location alias was never defined", token_index)
            if not isinstance(location, Location):
                self.error(f"expected location, but found '{location}'", token_index)
            target.location = location
        # What was remembered refers to the parser, which would stay in memory with all tokens.
        self.repeated.clear()
        operation = self._top_level(top)
        return Module(operation, self.source, self.resources)

    def _top_level(self, top: Block) -> Operation:
        if len(top.operations) == 1 and top.operations[0].name == "builtin.module":
            operation = top.operations[0]
            operation.parent = None
            return operation
        definition = self.registry.find("builtin.module")
        body = Block()
        module = Operation("builtin.module", definition, regions=[Region([body])], location=self.source.whole)
        for operation in top.operations:
            body.append(operation)
        return module

    def _attribute_alias(self, token: str) -> None:
        at = self.pos
        if token in self.attributes:
            self.error(f"redefinition of attribute alias id '{token[1:]}'")
        if "." in token:
            self.error("attribute names with a '.' are reserved for dialect-defined names")
        self.pos += 1
        self.expect("=", "expected '=' in attribute alias definition")
        attribute = self.attribute()
        self._check_size(attribute, at)
        self.attributes[self.tokens[at]] = attribute

    def _check_size(self, thing: Attribute | Type, at: int) -> None:
        limit = MAX_ALIAS_SIZE + len(self.tokens)
        if nested_size(thing, self.sizes) > limit:
            self.error(f"the alias stands for more than {limit} nested attributes and types", at)

    def _type_alias(self, token: str) -> None:
        if token in self.types:
            self.error(f"redefinition of type alias id '{token[1:]}'")
        if "." in token:
            self.error("type names with a '.' are reserved for dialect-defined names")
        at = self.pos
        self.pos += 1
        self.expect("=", "expected '=' in type alias definition")
        type = self.type()
        self._check_size(type, at)
        self.types[token] = type


def parse_unverified(
    text: str | bytes,
    filename: str = "<string>",
    allow_unregistered: bool = True,
    registry: registries.Registry | None = None,
    schema: Schema = Schema.MLIR22,
    start: tuple[int, int] = (1, 1),
    kind: type[Parser] = Parser,
    exact_decimals: bool = False,
) -> Module:
    """Read a file of MLIR text; the rules of the ops are not checked (`halfulp.interp.loading` does).

    The parameters are those of `halfulp.interp.loading.parse_module`. ``kind``: the class of the parser. Raises
    ParseError.
    """
    parser = _parser(text, filename, allow_unregistered, registry, start, kind)
    parser.schema, parser.exact_decimals = schema, exact_decimals
    with PausedCollector():
        return _guarded(parser, parser.file)


def parse_type(text: str, registry: registries.Registry | None = None) -> Type:
    """Read a type. Raises ParseError."""
    parser = _parser(text, "<type>", True, registry)
    return _guarded(parser, lambda: _whole(parser, parser.type))


def parse_attribute(text: str, type: Type | None = None, registry: registries.Registry | None = None) -> Attribute:
    """Read an attribute; ``type`` is that of a literal written without one. Raises ParseError."""
    parser = _parser(text, "<attribute>", True, registry)
    return _guarded(parser, lambda: _whole(parser, lambda: parser.attribute(type)))


_BINARY = (
    "a binary file is MLIR bytecode or a file of jax.export; this is neither, or it is cut short or damaged; "
    "hu.open_tensors opens files of tensors"
)
"""A hint for a text with bytes that no text has."""


def _parser(
    text: str | bytes,
    filename: str,
    allow_unregistered: bool,
    registry: registries.Registry | None,
    start: tuple[int, int] = (1, 1),
    kind: type[Parser] = Parser,
) -> Parser:
    decoded = _decoded(text, filename) if isinstance(text, bytes) else text
    for wrong, what, hint in (
        ("\0", "unexpected character: NUL", _BINARY),
        (_not_unicode(decoded), "invalid UTF-8", None),
    ):
        if wrong and wrong in decoded:
            source = Source(decoded, filename, lambda _: [], start)
            raise ParseError(what, location=source.at_offset(decoded.index(wrong)), hint=hint)
    parser = kind(decoded, filename, registry or registries.default_registry(), allow_unregistered)
    parser.source.start = start
    return parser


def _decoded(data: bytes, filename: str) -> str:
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        source = Source(data[: error.start].decode("utf-8"), filename, lambda _: [])
        raise ParseError("invalid UTF-8", location=source.at_offset(error.start)) from None


def _not_unicode(text: str) -> str:
    """Return the first lone surrogate of a text, or the empty text."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError as error:
        return text[error.start]
    return ""


def _whole(parser: Parser, read: Callable[[], T]) -> T:
    result = read()
    if parser.tokens[parser.pos]:
        parser.error("expected the end of the text")
    return result


def _guarded(parser: Parser, read: Callable[[], T]) -> T:
    """Call ``read``. Raises ParseError if Python's recursion limit is reached because the caller is already deep
    in it.
    """
    try:
        return read()
    except RecursionError:
        raise ParseError("nesting is too deep", location=parser.source.at_token(parser.pos)) from None
