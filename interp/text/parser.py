"""Operations, blocks, regions and whole files from text.

Custom forms are read by closures that `halfulp.interp.text.assembly` compiles from each op's declaration; the few
ops whose syntax MLIR writes by hand are read by `halfulp.interp.text.custom`.
"""

from __future__ import annotations

import gc
import re
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple, NoReturn, TypeVar

from halfulp.interp.declare.declarations import OpDefinition, Registry, Schema, default_registry
from halfulp.interp.declare.operands import add_defaults, is_inherent, move_inherent, split_successor_operands
from halfulp.interp.ir.attributes import Attribute, DictionaryAttr
from halfulp.interp.ir.errors import ParseError, did_you_mean
from halfulp.interp.ir.locations import Location
from halfulp.interp.ir.operations import (
    Blob,
    Block,
    BlockArgument,
    Module,
    Operation,
    OpResult,
    Region,
    Resource,
    Resources,
    Source,
    SSAValue,
    Successor,
)
from halfulp.interp.ir.types import FunctionType, Type
from halfulp.interp.text.assembly import CustomParse, compile_parser
from halfulp.interp.text.attribute_parser import AttributeParser
from halfulp.interp.text.nested import nested_size

# The dialect whose ops may be written without its name inside the regions of an op.
DEFAULT_DIALECTS = {"builtin.module": "builtin", "func.func": "func"}


# How much larger than the whole file an alias may be once the aliases in it are written out.
MAX_ALIAS_SIZE = 1 << 16

T = TypeVar("T")

# What ends a list of operations.
_ENDS = frozenset(("}", "^", "#", "!", ""))


class Forward(SSAValue):
    """A value used before its definition was read; ``token`` is its first use."""

    __slots__ = ("target", "token")

    def __init__(self, type: Type, token: int) -> None:
        super().__init__(type)
        self.token = token
        self.target: SSAValue | None = None


class Argument:
    """A named argument of a region, as a custom form reads it before the region itself."""

    __slots__ = ("location", "token", "type")

    def __init__(self, token: int, type: Type, location: Location | int | None) -> None:
        self.token = token
        self.type = type
        self.location = location


# The properties or the type of an op, in tokens, that are remembered for the next op of its name.
_MAX_REMEMBERED = 100


class _Met:
    """What is known of an operation from its quoted name on, and how the last one of that name went on."""

    __slots__ = ("definition", "name", "properties", "property_tokens", "type", "type_tokens")

    def __init__(self, name: str, definition: OpDefinition | None) -> None:
        self.name = name
        self.definition = definition
        self.property_tokens: list[str] = []
        self.properties: dict[str, Attribute] = {}
        self.type_tokens: list[str] = []
        self.type = FunctionType((), ())


class Parser(AttributeParser):
    """Reads a file. The names in reach are in ``values``; those of an inner region are removed when it ends."""

    def __init__(self, text: str, filename: str, registry: Registry, allow_unregistered: bool) -> None:
        super().__init__(text, filename, registry, allow_unregistered)
        self.values: dict[str, SSAValue] = {}
        self.forward: dict[str, Forward] = {}
        # Lists of operands that hold a `Forward`, to be put right at the end of the scope.
        self.pending: list[list[SSAValue]] = []
        self.blocks: dict[str, Block] = {}
        self.undefined_blocks: dict[str, int] = {}
        self.default_dialect = "builtin"
        self.custom: dict[str, CustomParse] = {}
        self.met: dict[str, _Met] = {}
        # Locations given by an alias that is not defined yet.
        self.deferred_locations: list[tuple[Operation | BlockArgument, int]] = []
        self.resources = Resources()
        self.sizes: dict[int, int] = {}

    # Values.

    def use(self, token: int, type: Type) -> SSAValue:
        """The value named by a token, of the given type; a `Forward` where it is not defined yet."""
        name = self.tokens[token]
        value = self.values.get(name)
        if value is None:
            value = self._undefined(name, token, type)
        known = value.type
        if known is not type and known != type:
            self._wrong_use(name, token, type, value)
        return value

    def _undefined(self, name: str, token: int, type: Type) -> SSAValue:
        base, _, number = name.partition("#")
        if number:
            first = self.values.get(base)
            if first is not None and int(number):
                self.error("reference to invalid result number", token)
            if int(number) == 0:
                name = base
        value = self.values.get(name)
        if value is not None:
            return value
        forward = self.forward.get(name)
        if forward is None:
            forward = self.forward[name] = Forward(type, token)
        return forward

    def _wrong_use(self, name: str, token: int, type: Type, value: SSAValue) -> NoReturn:
        base = name.partition("#")[0]
        where = self.source.at_token(value.token) if isinstance(value, Forward) else self._defined_at(value)
        self.error(
            f"use of value '{base}' expects different type than prior uses: '{type}' vs '{value.type}'",
            token,
            notes=[(where, "prior use here")],
        )

    def _defined_at(self, value: SSAValue) -> Location | None:
        """Where a value in reach got its name: found again from the tokens, since only errors ask."""
        name = next((name for name, known in self.values.items() if known is value), None)
        if name is None:
            return None
        base = name.partition("#")[0]
        if isinstance(value, OpResult) and value.owner.source is self.source:
            index = value.owner.token
            while index > 0 and self.tokens[index] != base:
                index -= 1
        elif isinstance(value, BlockArgument):
            index = value.token
        else:
            index = self.tokens.index(base)
        return self.source.at_token(index)

    def define(self, name: str, value: SSAValue, token: int) -> None:
        """Give a value its name. Raises ParseError where the name is taken."""
        known = self.values.get(name)
        if known is not None:
            self.error(
                f"redefinition of SSA value '{name}'",
                token,
                notes=[(self._defined_at(known), "previously defined here")],
            )
        if self.forward:
            forward = self.forward.pop(name, None)
            if forward is not None:
                forward.target = value
                if forward.type != value.type:
                    self.error(
                        f"definition of SSA value '{name}' has type '{value.type}'",
                        token,
                        notes=[
                            (self.source.at_token(forward.token), f"previously used here with type '{forward.type}'")
                        ],
                    )
        self.values[name] = value

    def operand_token(self) -> int:
        """Step over an SSA name; its token."""
        at = self.pos
        if self.tokens[at][:1] != "%" or len(self.tokens[at]) < 2:
            self.wrong_token("expected SSA operand")
        self.pos = at + 1
        return at

    def operand_tokens(self) -> list[int]:
        """SSA names separated by commas, possibly none."""
        if self.tokens[self.pos][:1] != "%":
            return []
        found = [self.operand_token()]
        while self.take(","):
            found.append(self.operand_token())
        return found

    def end_scope(self) -> None:
        """Put forward references right; raise ParseError for a name that never came."""
        if self.forward:
            first = min(self.forward.values(), key=lambda forward: forward.token)
            name = self.tokens[first.token]
            # The names of the function are gone by now: look for a near one among those written before.
            written = (token for token in reversed(self.tokens[: first.token]) if token[:1] == "%")
            hint = did_you_mean(name, (token for token in written if token not in self.forward))
            self.error("use of undeclared SSA value name", first.token, hint=hint)
        for operands in self.pending:
            for index, value in enumerate(operands):
                if isinstance(value, Forward):
                    assert value.target is not None
                    operands[index] = value.target
        self.pending.clear()

    # Operations.

    def operations(self, block: Block) -> None:
        """Operations up to a ``}``, a block label, the definition of an alias or the end of the file."""
        tokens = self.tokens
        custom = self.custom
        append = block.operations.append
        while True:
            start = self.pos
            token = tokens[start]
            first = token[:1]
            if first == "%" and token != "%":
                self._bound_operation(block, start, token)
                continue
            if first in _ENDS or token == "{-#":
                return
            parse = custom.get(token)
            if parse is not None:
                self.pos = start + 1
                operation = parse(self, start)
                if tokens[self.pos] == "loc":
                    self.trailing_location(operation)
                operation.parent = block
                append(operation)
                continue
            append(self.operation(block))

    def _bound_operation(self, block: Block, start: int, name: str) -> None:
        tokens = self.tokens
        if tokens[start + 1] == "=":
            at = start + 2
            parse = self.custom.get(tokens[at])
            self.pos = at
            if parse is None:
                operation = self._uncached(at)
            else:
                self.pos = at + 1
                operation = parse(self, at)
            if tokens[self.pos] == "loc":
                self.trailing_location(operation)
            operation.parent = block
            block.operations.append(operation)
            results = operation.results
            if len(results) == 1:
                if self.forward or name in self.values:
                    self.define(name, results[0], start)
                else:
                    self.values[name] = results[0]
                results[0].name = name[1:]
                return
            self._bind(operation, [(name, 1, start)])
            return
        bindings = self._result_names()
        self.expect("=", "expected '=' after SSA name")
        operation = self._uncached(self.pos)
        if tokens[self.pos] == "loc":
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
        """One operation that binds no results."""
        operation = self._uncached(self.pos)
        if self.tokens[self.pos] == "loc":
            self.trailing_location(operation)
        operation.parent = block
        return operation

    def _uncached(self, at: int) -> Operation:
        """An operation whose name was not met before, or in generic form."""
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
            self.error(f"custom op '{name}' has no custom assembly form", at)
        # An abbreviated name means another op in a region of another dialect.
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
        if "." in token and dialect not in self.registry.dialects:
            self.error(
                f"Dialect `{dialect}' not found for custom op '{token}'",
                at,
                hint=did_you_mean(dialect, self.registry.dialects),
            )
        tried = "" if "." in token else f" (tried '{name}' as well)"
        known = self.registry.dialects.get(name.partition(".")[0])
        ops = () if known is None else known.ops if "." in token else [op.partition(".")[2] for op in known.ops]
        hint = did_you_mean(token, ops)
        if hint is None and known is not None and known.partial:
            # The real dialect may well have it.
            hint = f"of '{known.name}' halfulp knows a part; any op is read in generic form (--mlir-print-op-generic)"
        self.error(f"custom op '{token}' is unknown{tried}", at, hint=hint)

    def trailing_location(self, target: Operation | BlockArgument) -> None:
        """``loc(…)`` after an operation or an argument."""
        location = self.deferrable_location()
        if isinstance(location, int):
            self.deferred_locations.append((target, location))
        else:
            target.location = location

    def deferrable_location(self) -> Location | int:
        """``loc(…)``; the token of an alias that is not defined yet."""
        tokens = self.tokens
        at = self.pos + 2
        token = tokens[at]
        if tokens[self.pos + 1] == "(" and token[:1] == "#" and token not in self.attributes and tokens[at + 1] == ")":
            if "." in token:
                self.error("expected location, but found dialect attribute", at)
            self.pos = at + 2
            return at
        return self.location()

    # The generic form.

    def generic(self, at: int) -> Operation:
        """What follows the quoted name: operands, successors, properties, regions, attributes and the types."""
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

    def placed(self, operation: Operation, at: int) -> Operation:
        """An op that begins at the token ``at``. Of its operands, those that are defined further on are put in then."""
        operation.source = self.source
        operation.token = at
        if self.forward:
            self.pending.append(operation.operands)
        return operation

    def _first_met(self, at: int) -> _Met:
        """What the quoted name of an operation says."""
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
        """``<…>``: the properties, whether the defaults of absent ones are among them already, and the attribute that
        stands there where the op has none of its own, or it is no dictionary.
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
        """Raise ParseError for what stands in ``<…>`` instead of properties of a registered op."""
        wrong = "expected DictionaryAttr to set" if definition.has_properties else "this operation does not support"
        self.error(f"invalid properties {attribute} for op {definition.name}: {wrong} properties", at)

    def _generic_type(self, met: _Met) -> FunctionType:
        at = self.pos
        known = met.type_tokens
        if known and self.tokens[at : at + len(known)] == known:
            self.pos += len(known)
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
                hint=did_you_mean(name, self.registry.dialects[dialect].ops),
            )
        if not self.allow_unregistered:
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
        successors: list[Successor] = [(self.successor_block(), [])]
        while self.take(","):
            successors.append((self.successor_block(), []))
        self.expect("]", "expected ']'")
        return successors

    def _generic_regions(self, name: str) -> list[Region]:
        regions: list[Region] = []
        if not self.take("("):
            return regions
        while True:
            # Names are abbreviated as around the op: only custom forms have a dialect of their own.
            regions.append(self.region(name, dialect=self.default_dialect))
            if not self.take(","):
                break
        self.expect(")", "expected ')' to end region list")
        return regions

    # Regions and blocks.

    def successor_block(self) -> Block:
        """A block named as a successor."""
        at = self.pos
        token = self.tokens[at]
        if token[:1] != "^" or len(token) < 2:
            self.wrong_token("expected block name")
        self.pos += 1
        block = self.blocks.get(token)
        if block is None:
            block = self.blocks[token] = Block(label=token[1:])
            self.undefined_blocks[token] = at
        return block

    def region(self, owner: str, arguments: Sequence[Argument] = (), dialect: str | None = None) -> Region:
        """``{ blocks }``; ``owner`` is the op's name, ``arguments`` those of the entry block that were read before
        it, ``dialect`` the one whose ops are abbreviated in it, if not the owner's. The names around it are in reach
        even in a function, which may not use them: that is verified.
        """
        self.expect("{", "expected '{' to begin a region")
        self.enter()
        saved = self.blocks, self.undefined_blocks, self.default_dialect
        self.blocks, self.undefined_blocks = {}, {}
        self.default_dialect = DEFAULT_DIALECTS.get(owner, "") if dialect is None else dialect
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
            if self.tokens[self.pos] != ")":
                self._block_argument(block)
                while self.take(","):
                    self._block_argument(block)
            self.expect(")")
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
        """Everything up to the end: aliases, operations and the resource section."""
        top = Block()
        while self.tokens[self.pos]:
            token = self.tokens[self.pos]
            if token[0] == "#" and len(token) > 1 and token != "#-}":
                self._attribute_alias(token)
            elif token[0] == "!" and len(token) > 1:
                self._type_alias(token)
            elif token == "{-#":
                self._resource_section()
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

    def _resource_section(self) -> None:
        self.pos += 1
        sections = {"dialect_resources": self.resources.dialect, "external_resources": self.resources.external}
        while not self.take("#-}"):
            key = self.tokens[self.pos]
            section = sections.get(key)
            if not (key[:1].isalpha() or key[:1] == "_"):
                self.wrong_token("expected identifier key in file metadata dictionary")
            if section is None:
                self.error(f"unknown key '{key}' in file metadata dictionary", hint=did_you_mean(key, sections))
            self.pos += 1
            self.expect(":")
            self._resource_groups(section, key == "dialect_resources")
            if not self.take(",") and self.tokens[self.pos] != "#-}":
                self.wrong_token("expected '#-}'")

    def _resource_groups(self, section: dict[str, dict[str, Resource]], of_dialects: bool) -> None:
        self.expect("{")
        while not self.take("}"):
            at = self.pos
            name = self.resource_key("expected identifier key for 'resource' entry")
            if of_dialects and name not in self.registry.dialects:
                self.error(f"dialect '{name}' is unknown", at)
            group = section.setdefault(name, {})
            self.expect(":")
            self.expect("{")
            while not self.take("}"):
                if of_dialects and name != "builtin":
                    self.error(f"unexpected 'resource' section for dialect '{name}'")
                key = self.resource_key("expected identifier key for 'resource' entry")
                self.expect(":")
                at = self.pos
                group[key] = self._resource(key)
                if of_dialects and not isinstance(group[key], Blob):
                    self.error(f"expected hex string blob for key '{key}'", at)
                if not self.take(",") and self.tokens[self.pos] != "}":
                    self.wrong_token("expected '}'")
            if not self.take(",") and self.tokens[self.pos] != "}":
                self.wrong_token("expected '}'")

    def _resource(self, key: str) -> Resource:
        token = self.tokens[self.pos]
        if token in ("true", "false"):
            self.pos += 1
            return token == "true"
        at = self.pos
        if token[:1] != '"':
            self.error(f"expected hex string blob for key '{key}'")
        text = self.string()
        if not text.startswith("0x"):
            return text
        try:
            data = bytes.fromhex(text[2:])
        except ValueError:
            self.error(f"expected hex string blob for key '{key}'", at)
        if len(data) < 4:
            self.error(f"expected hex string blob for key '{key}' to encode alignment in first 4 bytes", at)
        alignment = int.from_bytes(data[:4], "little")
        if not alignment or alignment & (alignment - 1):
            self.error(
                f"expected hex string blob for key '{key}' to encode alignment in first 4 bytes, but got "
                f"non-power-of-2 value: {alignment}",
                at,
            )
        return Blob(data[4:], alignment)


def parse_module(
    text: str | bytes,
    filename: str = "<string>",
    allow_unregistered: bool = True,
    registry: Registry | None = None,
    verify: bool = True,
    schema: Schema = Schema.MLIR22,
    start: tuple[int, int] = (1, 1),
) -> Module:
    """Read a file of MLIR text. Several top-level operations, or none, stand in an implicit module.

    ``allow_unregistered``: keep operations, types and attributes of dialects that ``registry`` does not have.
    ``verify``: check the rules of the language and of the ops. ``schema``: the version whose layout of i1 blobs the
    text uses (all else is told apart by itself). ``start``: the line and column at which the text begins in its file.
    Raises ParseError and VerifyError.
    """
    parser = _parser(text, filename, allow_unregistered, registry, start)
    parser.schema = schema
    collecting = gc.isenabled()
    # A million small objects and no garbage: the collector would only go over them again and again.
    gc.disable()
    try:
        module = _guarded(parser, parser.file)
        if verify:
            from halfulp.interp.verifier import verify as verify_module

            verify_module(module)
        return module
    finally:
        if collecting:
            gc.enable()


def parse_type(text: str, registry: Registry | None = None) -> Type:
    """Read a type. Raises ParseError."""
    parser = _parser(text, "<type>", True, registry)
    return _guarded(parser, lambda: _whole(parser, parser.type))


def parse_attribute(text: str, type: Type | None = None, registry: Registry | None = None) -> Attribute:
    """Read an attribute; ``type`` is that of a literal written without one. Raises ParseError."""
    parser = _parser(text, "<attribute>", True, registry)
    return _guarded(parser, lambda: _whole(parser, lambda: parser.attribute(type)))


class Part(NamedTuple):
    """A part of a file, and the line and column (in bytes) at which it begins."""

    text: str
    start: tuple[int, int] = (1, 1)


def split_input(text: str) -> Iterator[Part]:
    """The parts of a text between the markers ``// -----``, as mlir-opt finds them: anywhere in a line, what follows in
    the line being part of the next part, but not before a zero, nor at the very end.
    """
    begin, line, column = 0, 1, 1
    for marker in re.finditer(r"// -----(?=[^0])", text):
        yield Part(text[begin : marker.start()], (line, column))
        passed = text[begin : marker.end()]
        newlines = passed.count("\n")
        last = len(passed[passed.rfind("\n") + 1 :].encode("utf-8", "replace"))
        line, column = line + newlines, last + (1 if newlines else column)
        begin = marker.end()
    yield Part(text[begin:], (line, column))


def _parser(
    text: str | bytes,
    filename: str,
    allow_unregistered: bool,
    registry: Registry | None,
    start: tuple[int, int] = (1, 1),
) -> Parser:
    decoded = _decoded(text, filename) if isinstance(text, bytes) else text
    for wrong, what in (("\0", "unexpected character: NUL"), (_not_unicode(decoded), "invalid UTF-8")):
        if wrong and wrong in decoded:
            source = Source(decoded, filename, lambda _: (), start)
            raise ParseError(what, location=source.at_offset(decoded.index(wrong)))
    parser = Parser(decoded, filename, registry or default_registry(), allow_unregistered)
    parser.source.start = start
    return parser


def _decoded(data: bytes, filename: str) -> str:
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        source = Source(data[: error.start].decode("utf-8"), filename, lambda _: ())
        raise ParseError("invalid UTF-8", location=source.at_offset(error.start)) from None


def _not_unicode(text: str) -> str:
    """The first lone surrogate of a text, if it has one."""
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
    """Turn Python's own limit on recursion, when the caller is deep in it already, into an error of ours."""
    try:
        return read()
    except RecursionError:
        raise ParseError("nesting is too deep", location=parser.source.at_token(parser.pos)) from None
