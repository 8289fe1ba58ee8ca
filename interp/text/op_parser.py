"""The parts of the parser that the forms of ops use: values, blocks and regions."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NoReturn

from halfulp.fp_formats.aliases import did_you_mean
from halfulp.interp.declare.declarations import OpDefinition, Trait
from halfulp.interp.declare.registry import Registry
from halfulp.interp.ir import attributes
from halfulp.interp.ir.base import Attribute, FileLineCol, Location, Type, is_bare_identifier, quoted
from halfulp.interp.ir.dialect_attributes import DialectAttr, parts
from halfulp.interp.ir.operations import Block, BlockArgument, Operation, OpResult, Region, SSAValue
from halfulp.interp.ir.types import I64, IntegerType, TupleType
from halfulp.interp.text.attribute_parser import AttributeParser


class Forward(SSAValue):
    """A value used before its definition was read; ``token`` is its first use."""

    __slots__ = ("target", "token")

    def __init__(self, type: Type, token: int) -> None:
        super().__init__(type)
        self.token = token
        self.target: SSAValue | None = None


class Argument:
    """A named argument of a region that a custom form reads before the region itself."""

    __slots__ = ("location", "token", "type")

    def __init__(self, token: int, type: Type, location: Location | int | None) -> None:
        self.token = token
        self.type = type
        self.location = location


class OpParser(AttributeParser):
    """A parser of the parts of ops. ``values``: the values by name that the text may use at this point; the names of a
    region are removed at its end.
    """

    def __init__(self, text: str, filename: str, registry: Registry, allow_unregistered: bool) -> None:
        super().__init__(text, filename, registry, allow_unregistered)
        self.values: dict[str, SSAValue] = {}
        self.forward: dict[str, Forward] = {}
        # Lists of operands that hold a `Forward`, to be completed at the end of the scope.
        self.pending: list[list[SSAValue]] = []
        self.blocks: dict[str, Block] = {}
        self.undefined_blocks: dict[str, int] = {}
        # Locations given by an alias that is not defined yet.
        self.deferred_locations: list[tuple[Operation | BlockArgument, int]] = []

    # Values.

    def wrong(self, op: str, message: str, token: int | None = None, hint: str | None = None) -> NoReturn:
        """Raise ParseError for the text of the custom form of an op, in MLIR's words."""
        self.error(f"custom op '{op}' {message}", token, hint=hint)

    def uses(self, op: str, tokens: Sequence[int], types: Sequence[Type], at: int | None = None) -> list[SSAValue]:
        """Return the values that tokens name, which must have these types, for an op. ``at``: the token that the error
        names if there are more or fewer types.
        """
        if len(tokens) != len(types):
            self.check_count(op, tokens, types, at)
        return [self.use(token, type) for token, type in zip(tokens, types, strict=True)]

    def check_count(self, op: str, tokens: Sequence[int], types: Sequence[Type], at: int | None = None) -> None:
        """Raise ParseError at a token unless there is a type for each operand of an op."""
        if len(tokens) != len(types):
            self.wrong(
                op, f"number of operands and types do not match: got {len(tokens)} operands and {len(types)} types", at
            )

    def use(self, token: int, type: Type) -> SSAValue:
        """Return the value that a token names. It must have this type. If it is not defined yet, return a `Forward`."""
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
        """Return the place where a value in reach got its name. It is searched in the tokens, since only errors need
        it.
        """
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
        """Give a value its name. Raises ParseError if the name is already used."""
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
                        f"definition of SSA value '{name if '#' in name else f'{name}#0'}' has type '{value.type}'",
                        token,
                        notes=[
                            (self.source.at_token(forward.token), f"previously used here with type '{forward.type}'")
                        ],
                    )
        self.values[name] = value

    def operand_token(self) -> int:
        """Read the name of an operand and return the index of its token."""
        at = self.pos
        if self.tokens[at][:1] != "%" or len(self.tokens[at]) < 2:
            self.wrong_token("expected SSA operand")
        self.pos = at + 1
        return at

    def operand_tokens(self) -> list[int]:
        """Read the names of operands with commas between them, possibly none, and return the indices of
        their tokens.
        """
        if self.tokens[self.pos][:1] != "%":
            return []
        found = [self.operand_token()]
        while self.take(","):
            found.append(self.operand_token())
        return found

    def argument_token(self) -> int:
        """Read the name of an argument of a region, and return the index of its token."""
        return self.unnumbered(self.operand_token())

    def unnumbered(self, token: int) -> int:
        """Return the index of an argument's token. Raises ParseError for the name of one of many results."""
        place = self.tokens[token].find("#")
        if place >= 0:
            self.error_at_offset("result number not allowed in argument list", self.offset(token) + place)
        return token

    def end_scope(self) -> None:
        """Replace forward references by their values. Raises ParseError for a name that was never defined."""
        if self.forward:
            first = min(self.forward.values(), key=lambda forward: forward.token)
            name = self.tokens[first.token]
            # The names of the function are already removed: look for a near one among those written before.
            written = (token for token in reversed(self.tokens[: first.token]) if token[:1] == "%")
            hint = did_you_mean(name, (token for token in written if token not in self.forward))
            self.error("use of undeclared SSA value name", first.token, hint=hint)
        for operands in self.pending:
            for index, value in enumerate(operands):
                if isinstance(value, Forward):
                    assert value.target is not None
                    operands[index] = value.target
        self.pending.clear()

    def placed(self, operation: Operation, at: int) -> Operation:
        """Record the place of an op, which begins at the token ``at``, and return the op. Operands that are not defined
        yet are replaced at the end of the region.
        """
        operation.source = self.source
        operation.token = at
        if self.forward:
            self.pending.append(operation.operands)
        return operation

    # Locations.

    def trailing_location(self, target: Operation | BlockArgument) -> None:
        """Read ``loc(…)`` after an operation or an argument."""
        location = self.deferrable_location()
        if isinstance(location, int):
            self.deferred_locations.append((target, location))
        else:
            target.location = location

    def deferrable_location(self) -> Location | int:
        """Read ``loc(…)`` and return the location. For an alias that is not defined yet, return the index
        of its token.
        """
        tokens = self.tokens
        at = self.pos + 2
        token = tokens[at]
        if tokens[self.pos + 1] == "(" and token[:1] == "#" and token not in self.attributes and tokens[at + 1] == ")":
            if "." in token:
                self.error("expected location, but found dialect attribute", at)
            self.pos = at + 2
            return at
        return self.location()

    # Blocks.

    def successor_block(self) -> Block:
        """Read the name of a block as a successor."""
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

    # Regions.

    def region(self, owner: str, arguments: Sequence[Argument] = (), dialect: str | None = None) -> Region:
        """Read ``{ blocks }``.

        ``owner``: the op's name. ``arguments``: the arguments of the entry block that were read before it. ``dialect``:
        the dialect whose ops are abbreviated in it, if it is not that of the owner.
        """
        raise NotImplementedError

    def terminated(self, region: Region, name: str, at: int) -> Region:
        """Add a terminator to a region that has none, and return the region. ``name``: the name of the op. ``at``: the
        token of the op around the region, which gives the location.
        """
        if not region.blocks:
            region.append(Block())
        block = region.blocks[-1]
        last = block.operations[-1].definition if block.operations else None
        if last is None or Trait.TERMINATOR not in last.traits:
            terminator = Operation(name, self.registry.find(name))
            terminator.source = self.source
            terminator.token = at
            block.append(terminator)
        return region

    # Words and dictionaries of custom forms.

    def keyword(self, definition: OpDefinition, word: str) -> None:
        """Read a word of a custom form. Raises ParseError if the token is not this word."""
        if not self.take(word):
            self.wrong(definition.name, f"expected '{word}'")

    def optional_dictionary(self) -> dict[str, Attribute]:
        """Read ``{name = value, …}``, if it is there."""
        return self.dictionary() if self.tokens[self.pos] == "{" else {}


ParseOp = Callable[[OpParser, int], Operation]


# --- op printer -------------------------------------------------------------------------------------------------------
#
# The printer that forms of ops use: names of values and blocks, types, attributes, locations and regions.

# MLIR gives a tuple type an alias when it has more elements than this.
_LONG_TUPLE = 16
# Attributes of MLIR that halfulp does not declare, and the names of their aliases.
_OPAQUE_ALIASES = {"sparse_tensor.encoding": "sparse", "ml_program.extern": "extern"}
# Attributes and types without parts that could have an alias.
_PLAIN = (attributes.FloatAttr, IntegerType, attributes.UnitAttr)


class OpPrinter:
    """A printer of the parts of ops. ``names`` has the aliases of attributes and types. ``newer``: for LLVM 24."""

    def __init__(self, debug_info: bool, names: Mapping[object, str], newer: bool = False) -> None:
        self.debug_info = debug_info
        self.names = names
        self.newer = newer
        self.values: dict[SSAValue, str] = {}
        self.labels: dict[Block, str] = {}
        self.indent = ""
        # Things that may need an alias, in the order of printing; True if the alias may be at the end of the file.
        self.seen: dict[Attribute | Type, bool] = {}
        self._types: dict[Type, str] = {}

    def name(self, value: SSAValue) -> str:
        """Return the name of a value, with its ``%``."""
        return self.values[value]

    def label(self, block: Block) -> str:
        """Return the name of a block, with its ``^``."""
        return self.labels[block]

    # Types and attributes.

    def type(self, type: Type) -> str:
        """Print a type, by its alias if it has one."""
        known = self._types.get(type)
        if known is None:
            self._note(type)
            known = self._types[type] = self.names.get(type) or type.spell(self.names)
        return known

    def attribute(self, attribute: Attribute) -> str:
        """Print an attribute, by its alias if it has one."""
        self._note(attribute)
        return attribute.spell_nested(self.names)

    def dictionary(self, entries: Mapping[str, Attribute]) -> str:
        """Print ``{name = value}``, sorted by name."""
        names = sorted(entries, key=lambda name: name.encode("utf-8", "surrogateescape"))
        return f"{{{', '.join(self._entry(name, entries[name]) for name in names)}}}"

    def _entry(self, name: str, value: Attribute) -> str:
        key = name if is_bare_identifier(name) else quoted(name)
        return key if isinstance(value, attributes.UnitAttr) else f"{key} = {self.attribute(value)}"

    def _note(self, thing: Attribute | Type, deferrable: bool = False) -> None:
        """Record what may need an alias in something that is about to be printed, innermost first."""
        if isinstance(thing, _PLAIN):
            return
        if isinstance(thing, FileLineCol):
            self.seen[thing] = self.seen.get(thing, True) and deferrable
            return
        for part in parts(thing):
            self._note(part, deferrable)
        if alias_of(thing) is not None:
            self.seen[thing] = self.seen.get(thing, True) and deferrable

    # Locations.

    def location(self, location: Location) -> str:
        """Print `` loc(…)`` after an operation, if debug information is printed."""
        if not self.debug_info:
            return ""
        self._note(location, deferrable=True)
        return f" loc({self.names.get(location) or location.inner(self.names)})"

    def location_of_argument(self, argument: BlockArgument) -> str:
        """Print `` loc(…)`` after a block argument. As in MLIR, its alias is counted and defined, but not used."""
        if not self.debug_info:
            return ""
        location = argument.location
        self._note(location)
        return f" loc({location.inner(self.names)})"

    # Operations and regions.

    def unbound(self, operation: Operation) -> str:
        """Print an operation without its results and location. Ops that print their inner ops in line use this."""
        raise NotImplementedError

    def region(
        self,
        region: Region,
        owner: Operation,
        entry_arguments: bool = True,
        header: bool = False,
        terminators: bool = True,
    ) -> str:
        """Print ``{ … }`` over several lines.

        ``header``: label even an empty entry block, as the generic form does. ``terminators``: False leaves out the
        terminator of the entry block.
        """
        raise NotImplementedError


PrintOp = Callable[[OpPrinter, Operation], str | None]


def alias_of(thing: Attribute | Type) -> str | None:
    """Return the name that MLIR gives to aliases of an attribute or a type; None if MLIR prints it without an alias."""
    if isinstance(thing, attributes.AffineMapAttr):
        return "map"
    if isinstance(thing, attributes.IntegerSetAttr):
        return "set"
    if isinstance(thing, attributes.DistinctAttr):
        return None if isinstance(thing.attribute, attributes.UnitAttr) else "distinct"
    if isinstance(thing, DialectAttr):
        return thing.definition.alias
    if isinstance(thing, attributes.OpaqueAttr):
        return _OPAQUE_ALIASES.get(f"{thing.dialect}{thing.body.partition('<')[0]}")
    if isinstance(thing, Location):
        return "loc"
    if isinstance(thing, TupleType):
        return "tuple" if len(thing.elements) > _LONG_TUPLE else None
    return None


# --- mixed lists ------------------------------------------------------------------------------------------------------
#
# Lists of numbers some of which are values: ``[%a, 2]``. A list of codes has a mark for each value.


def read_mixed(
    p: OpParser, brackets: str = "[]", message: str = "expected SSA value or integer"
) -> tuple[list[int], attributes.DenseArrayAttr]:
    """Read a list of integers and values, such as ``[1, %a]``. Return the indices of the tokens of the values, and the
    attribute with the integers, which has a placeholder for each value. Brackets around an integer mean nothing here:
    MLIR reads the sizes of scalable vectors by the same function.
    """
    names: list[int] = []
    codes: list[int] = []
    p.expect(brackets[0])
    while p.tokens[p.pos] != brackets[1]:
        if p.tokens[p.pos][:1] == "%":
            names.append(p.operand_token())
            codes.append(attributes.DYNAMIC)
        else:
            bracketed = p.take("[")
            codes.append(p.integer(message) & ((1 << 64) - 1))
            if bracketed:
                p.expect("]", "expected ']' in dynamic index list")
        if not p.take(","):
            break
    p.expect(brackets[1])
    return names, attributes.DenseArrayAttr(I64, tuple(codes))


def print_mixed(
    printer: OpPrinter, numbers: attributes.DenseArrayAttr, values: Iterable[SSAValue], brackets: Sequence[str] = "[]"
) -> str:
    """Return the text of a list that `read_mixed` reads."""
    given = iter(values)
    texts = (
        printer.name(next(given)) if code == attributes.DYNAMIC else str(number)
        for code, number in zip(numbers.codes, numbers.values, strict=True)
    )
    return f"{brackets[0]}{', '.join(texts)}{brackets[1]}"
