"""The IR in memory: operations in blocks in regions, as MLIR has them. Mutable and lean.

Values know their definition, not their uses. An operation knows the token it was read from; its line and column are
computed on demand.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any, Protocol, TypeVar

from halfulp.interp.declare.declarations import OpDefinition, Trait, Unprefixed
from halfulp.interp.declare.registry import SYMBOL_TABLES
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.attributes import DenseArrayAttr, DictionaryAttr, IntegerAttr, StringAttr, SymbolRefAttr
from halfulp.interp.ir.base import (
    Attribute,
    FileLineCol,
    Location,
    NameLoc,
    Place,
    Source,
    Type,
    UnknownLoc,
    is_bare_identifier,
    location_at,
)
from halfulp.interp.ir.errors import UNPRINTABLE, UndefinedBehavior, Unsupported, VerifyError


class SSAValue:
    """A value: the result of an operation or the argument of a block. ``name`` is a hint without its ``%``."""

    __slots__ = ("name", "type")

    def __init__(self, type: Type, name: str | None = None) -> None:
        self.type: Type = type
        self.name: str | None = name

    @property
    def label(self) -> str | None:
        """The name of the value in the source of the program; None if it has no name."""
        return None


class OpResult(SSAValue):
    """Result number ``index`` of the operation ``owner``."""

    __slots__ = ("index", "owner")

    def __init__(self, type: Type, owner: Operation, index: int, name: str | None = None) -> None:
        self.type: Type = type
        self.name: str | None = name
        self.owner: Operation = owner
        self.index: int = index

    @property
    def label(self) -> str | None:
        """The name in ``loc("…")`` of a constant, such as ``up.weight`` of ONNX; None if there is none."""
        return None if self.owner.operands else _name_alone(self.owner.location)


class BlockArgument(SSAValue):
    """Argument number ``index`` of ``block``."""

    __slots__ = ("_location", "block", "index", "token")

    def __init__(
        self, type: Type, block: Block, index: int, name: str | None = None, location: Place | None = None
    ) -> None:
        self.type: Type = type
        self.name: str | None = name
        self.block: Block = block
        self.index: int = index
        self.token: int = -1
        self._location = location

    @property
    def location(self) -> Location:
        """The location in ``loc(…)``, or else the place where the parser read the name."""
        if self._location is not None:
            self._location = found = location_at(self._location)
            return found
        owner = None if self.block.parent is None else self.block.parent.parent
        source = None if owner is None else owner.source
        return UnknownLoc() if source is None or self.token < 0 else source.at_token(self.token)

    @location.setter
    def location(self, location: Location) -> None:
        self._location = location

    @property
    def label(self) -> str | None:
        """The name in ``loc("…")``, such as ``p['layers'][0]['wq']`` of JAX, or in ``loc("x_ptr"("kernel.py":3:1))``,
        such as that of an argument of Triton; None if there is none.
        """
        location = self.location
        if isinstance(location, NameLoc) and isinstance(location.child, FileLineCol):
            return location.name if is_bare_identifier(location.name) else None
        return _name_alone(location)

    def take_location_of(self, value: SSAValue) -> None:
        """Set the location to that of another value."""
        origin = value.owner if isinstance(value, OpResult) else value
        if isinstance(origin, BlockArgument | Operation):
            self.token, self._location = origin.token, origin._location


def _name_alone(location: Location) -> str | None:
    """Return the name of a location that has nothing else; None of any other."""
    return location.name if isinstance(location, NameLoc) and location.child == UnknownLoc() else None


Successor = tuple["Block", list[SSAValue]]
AttributeKind = TypeVar("AttributeKind", bound=Attribute)

VISIBILITIES = ("public", "private", "nested")

SKIPPED = "halfulp.skipped"
"""The attribute of an op that stands for what was skipped: its text, or the bytes of its properties in hexadecimal."""


class Operation:
    """One operation.

    ``properties`` has the inherent attributes, ``attributes`` the discardable ones. ``definition`` is None for an
    operation of an unregistered dialect. For such an operation it is not known which attributes are inherent. Therefore
    all are in ``attributes``, and the attribute in ``<…>`` is in ``raw_properties`` (None if the text has none). Each
    successor is a block with the values for its arguments; in MLIR these values are operands of the op, here they are
    separate.

    Ops that were read from equal text share their dictionaries: if ``shares`` is True, nothing may change
    ``read_properties`` and ``read_attributes``. ``properties`` and ``attributes`` first give the op its own copies,
    which may be changed.
    """

    __slots__ = (
        "_location",
        "definition",
        "name",
        "operands",
        "parent",
        "raw_properties",
        "read_attributes",
        "read_properties",
        "regions",
        "results",
        "shares",
        "source",
        "successors",
        "token",
    )

    def __init__(
        self,
        name: str,
        definition: OpDefinition | None = None,
        operands: list[SSAValue] | None = None,
        result_types: Sequence[Type] = (),
        properties: dict[str, Attribute] | None = None,
        attributes: dict[str, Attribute] | None = None,
        regions: Sequence[Region] = (),
        successors: Sequence[Successor] = (),
        location: Place | None = None,
    ) -> None:
        self.name: str = name
        self.definition: OpDefinition | None = definition
        self.operands: list[SSAValue] = [] if operands is None else operands
        self.results: tuple[OpResult, ...] = (
            (OpResult(result_types[0], self, 0),)
            if len(result_types) == 1
            else tuple([OpResult(type, self, index) for index, type in enumerate(result_types)])
        )
        self.read_properties: dict[str, Attribute] = {} if properties is None else properties
        self.raw_properties: Attribute | None = None
        self.read_attributes: dict[str, Attribute] = {} if attributes is None else attributes
        self.shares: bool = False
        self.regions: Sequence[Region] = regions
        for region in regions:
            region.parent = self
        self.successors: Sequence[Successor] = successors
        self.parent: Block | None = None
        self.source: Source | None = None
        self.token: int = -1
        self._location = location

    @property
    def properties(self) -> dict[str, Attribute]:
        """The inherent attributes."""
        if self.shares:
            self._divide()
        return self.read_properties

    @properties.setter
    def properties(self, properties: dict[str, Attribute]) -> None:
        if self.shares:
            self._divide()
        self.read_properties = properties

    @property
    def attributes(self) -> dict[str, Attribute]:
        """The discardable attributes."""
        if self.shares:
            self._divide()
        return self.read_attributes

    @attributes.setter
    def attributes(self, attributes: dict[str, Attribute]) -> None:
        if self.shares:
            self._divide()
        self.read_attributes = attributes

    def prop(self, name: str, kind: type[AttributeKind]) -> AttributeKind:
        """Return a property that the declaration of the op requires. ``kind``: the class of the property."""
        found = self.properties[name]
        assert isinstance(found, kind)
        return found

    def number(self, name: str) -> int:
        """Return the number of a property that is an integer."""
        return self.prop(name, IntegerAttr).value

    def numbers(self, name: str) -> tuple[int, ...]:
        """Return the numbers of a property that is a dense array."""
        return self.prop(name, DenseArrayAttr).values

    def _divide(self) -> None:
        """Give the op dictionaries of its own, which no other op shares."""
        self.read_properties = self.read_properties.copy()
        self.read_attributes = self.read_attributes.copy()
        self.shares = False

    @property
    def position(self) -> FileLineCol | None:
        """The place where the parser read the op's name; None for an op that was not parsed."""
        return None if self.source is None else self.source.at_token(self.token)

    @property
    def location(self) -> Location:
        """The location in ``loc(…)``, or else the position."""
        if self._location is not None:
            self._location = found = location_at(self._location)
            return found
        return self.position or UnknownLoc()

    @location.setter
    def location(self, location: Location) -> None:
        self._location = location

    @property
    def place(self) -> Place:
        """The location. If it is the position, it is a tuple of file, line and column, which is faster to make."""
        if self._location is not None:
            return self._location
        if self.source is None:
            return UnknownLoc()
        return self.source.place_of_token(self.token)

    @property
    def parent_op(self) -> Operation | None:
        """The operation whose region this one is in."""
        region = None if self.parent is None else self.parent.parent
        return None if region is None else region.parent

    @property
    def symbol_name(self) -> str | None:
        """The value of ``sym_name``, for an op that defines a symbol."""
        name = self.read_properties.get("sym_name") or self.read_attributes.get("sym_name")
        if isinstance(self.raw_properties, DictionaryAttr):
            name = self.raw_properties.mapping.get("sym_name", name)
        return name.value if isinstance(name, StringAttr) else None

    def rule_broken(
        self, message: str, notes: Sequence[tuple[Location | None, str]] = (), hint: str | None = None
    ) -> VerifyError:
        """Return the error for a rule that the op breaks. Its message begins with ``'NAME' op``, unless ``message`` is
        `Unprefixed`.
        """
        text = message if isinstance(message, Unprefixed) else f"'{self.name}' op {message}"
        return VerifyError(text, location=self.position or self.location, op=self.name, notes=notes, hint=hint)

    @property
    def blocks(self) -> list[Block]:
        """The blocks of all regions."""
        return [block for region in self.regions for block in region.blocks]

    @property
    def children(self) -> list[Operation]:
        """The operations directly inside this one."""
        return [operation for block in self.blocks for operation in block.operations]

    @property
    def types(self) -> list[Type]:
        """The types of the operands, then those of the results."""
        return [value.type for value in (*self.operands, *self.results)]

    @property
    def used_values(self) -> list[SSAValue]:
        """The operands, then the values that are passed to successors."""
        return [*self.operands, *(value for _, passed in self.successors for value in passed)]

    def walk(self) -> Iterator[Operation]:
        """Yield this operation, then all those inside it, in the order of the text."""
        stack: list[Iterator[Operation]] = [iter((self,))]
        while stack:
            operation = next(stack[-1], None)
            if operation is None:
                stack.pop()
                continue
            yield operation
            if operation.regions:
                stack.append(iter(operation.children))


_new = object.__new__


def read_operation(
    name: str,
    definition: OpDefinition | None,
    operands: list[SSAValue],
    result_types: Sequence[Type],
    properties: dict[str, Attribute],
    attributes: dict[str, Attribute],
    location: Place | None,
    source: Source | None,
    token: int,
    parent: Block,
) -> Operation:
    """Return an operation without regions and successors, as `Operation` makes it. It shares its dictionaries.

    The readers call this for most ops: it takes half of the time of the constructors, since it does not call them.
    """
    operation = _new(Operation)
    operation.name = name
    operation.definition = definition
    operation.operands = operands
    operation.read_properties = properties
    operation.raw_properties = None
    operation.read_attributes = attributes
    operation.shares = True
    operation.regions = ()
    operation.successors = ()
    operation.parent = parent
    operation.source = source
    operation.token = token
    operation._location = location
    if len(result_types) == 1:
        result = _new(OpResult)
        result.type = result_types[0]
        result.name = None
        result.owner = operation
        result.index = 0
        operation.results = (result,)
    else:
        operation.results = tuple([OpResult(type, operation, index) for index, type in enumerate(result_types)])
    return operation


class Block:
    """A list of operations with arguments. ``label``: the name it was read with, without its ``^``."""

    __slots__ = ("arguments", "label", "operations", "parent")

    def __init__(
        self,
        arguments: list[BlockArgument] | None = None,
        operations: list[Operation] | None = None,
        label: str | None = None,
    ) -> None:
        self.arguments: list[BlockArgument] = [] if arguments is None else arguments
        self.operations: list[Operation] = [] if operations is None else operations
        self.label: str | None = label
        self.parent: Region | None = None

    def add_argument(self, type: Type, name: str | None = None, location: Place | None = None) -> BlockArgument:
        """Append an argument."""
        argument = BlockArgument(type, self, len(self.arguments), name, location)
        self.arguments.append(argument)
        return argument

    def append(self, operation: Operation) -> None:
        """Append an operation."""
        operation.parent = self
        self.operations.append(operation)


class Region:
    """A list of blocks; the first is the entry."""

    __slots__ = ("blocks", "parent")

    def __init__(self, blocks: list[Block] | None = None) -> None:
        self.blocks: list[Block] = [] if blocks is None else blocks
        self.parent: Operation | None = None
        for block in self.blocks:
            block.parent = self

    def append(self, block: Block) -> None:
        """Append a block."""
        block.parent = self
        self.blocks.append(block)


@dataclass(frozen=True, slots=True)
class Blob:
    """Bytes that a file stores in addition to the program, and the alignment of their address.

    ``data`` may be a view of a mapped file, which stays mapped as long as the view lives.
    """

    data: bytes | memoryview
    alignment: int


Resource = Blob | bool | str


class Resources:
    """The ``{-# … #-}`` section of a file.

    ``dialect`` maps a dialect and a key to an entry, ``external`` a tool's name and a key.
    """

    def __init__(self) -> None:
        self.dialect: dict[str, dict[str, Resource]] = {}
        self.external: dict[str, dict[str, Resource]] = {}

    def __bool__(self) -> bool:
        return bool(self.dialect or self.external)

    def blob(self, key: str) -> bytes | memoryview | None:
        """Return the bytes of ``dense_resource<key>``; None if there is no such blob."""
        entry = self.dialect.get("builtin", {}).get(key)
        return entry.data if isinstance(entry, Blob) else None


_MOST_NAMES, _MOST_LINES, _LONGEST = 5, 200, 400
"""How much of a module is shown: names, lines, and characters of a line."""


class Module:
    """A parsed file: its top-level operation, a ``builtin.module``, and the data of the whole file.

    ``use_orders``: from a bytecode file: the orders of the uses of values, if they differ from the order in the file.
    None for text.
    ``dialect_versions``: from a bytecode file: the version of each dialect, as bytes that only the dialect understands.
    Empty for text.
    ``programs``: the programs compiled from the module. They refer to the module, and are stored here so that they are
    freed together with it.
    """

    def __init__(self, operation: Operation, source: Source | None = None, resources: Resources | None = None) -> None:
        self.operation = operation
        self.source = source
        self.resources: Resources = resources or Resources()
        self.use_orders: dict[SSAValue, tuple[int, ...]] | None = None
        self.dialect_versions: dict[str, bytes] = {}
        self.programs: dict[Any, Any] = {}

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "programs": {}}

    def __repr__(self) -> str:
        names = [f"@{op.symbol_name}" for op in self.body if op.symbol_name is not None]
        more = f", and {len(names) - _MOST_NAMES:,} more" if len(names) > _MOST_NAMES else ""
        return f"<Module {self.filename}: {', '.join(names[:_MOST_NAMES]) or 'no functions'}{more}>".translate(
            UNPRINTABLE
        )

    def _repr_html_(self) -> str:
        text = (self.text or "").translate(UNPRINTABLE)
        lines = text.splitlines()
        more = f"\n... {len(lines) - _MOST_LINES:,} more lines" if len(lines) > _MOST_LINES else ""
        shown = "\n".join(line if len(line) <= _LONGEST else f"{line[:_LONGEST]}..." for line in lines[:_MOST_LINES])
        return f"<div><b>{escape(repr(self))}</b><pre>{escape(shown)}{more}</pre></div>"

    @property
    def text(self) -> str | None:
        """The text of the module; None if it was not read from text."""
        return None if self.source is None else self.source.text

    @property
    def filename(self) -> str:
        """The name of the file."""
        return "<memory>" if self.source is None else self.source.filename

    @property
    def body(self) -> list[Operation]:
        """The top-level operations."""
        return self.operation.regions[0].blocks[0].operations

    def walk(self) -> Iterator[Operation]:
        """Yield every operation, the module first, in the order of the text."""
        return self.operation.walk()

    def lookup(self, symbol: SymbolRefAttr | str, scope: Operation | None = None) -> Operation | None:
        """Return the operation that a symbol names, seen from inside ``scope`` (by default the top level), or None.

        A string may be ``name`` or ``@a::@b``. The root is looked up in the nearest symbol table around ``scope``, as
        in MLIR's `lookupNearestSymbolFrom`.
        """
        path = _symbol_path(symbol)
        table = self.operation if scope is None else nearest_symbol_table(scope)
        found: Operation | None = table
        for name in path:
            if found is None:
                return None
            found = symbols_of(found).get(name)
        return found


def nearest_symbol_table(operation: Operation) -> Operation:
    """Return the closest operation at or around ``operation`` that has a symbol table; if there is none, the outermost
    op.
    """
    current = operation
    while not is_symbol_table(current):
        parent = current.parent_op
        if parent is None:
            return current
        current = parent
    return current


def is_symbol_table(operation: Operation) -> bool:
    """Tell whether the symbols in the operation's region can be looked up in it."""
    definition = operation.definition
    return operation.name in SYMBOL_TABLES if definition is None else Trait.SYMBOL_TABLE in definition.traits


def symbols_of(table: Operation) -> Mapping[str, Operation]:
    """Return the operations directly inside ``table`` that define a symbol, by name; if a name occurs twice, the first
    one.
    """
    symbols: dict[str, Operation] = {}
    for operation in table.children:
        name = operation.symbol_name
        if name is not None:
            symbols.setdefault(name, operation)
    return symbols


def captured(op: Operation) -> list[SSAValue]:
    """Return the values from outside that an op reads, its operands first, each once."""
    inside: set[SSAValue] = set()
    used: dict[SSAValue, None] = {}
    for inner in op.walk():
        inside.update(inner.results)
        for block in inner.blocks:
            inside.update(block.arguments)
        used.update(dict.fromkeys(inner.used_values))
    return [value for value in used if value not in inside]


def _symbol_path(symbol: SymbolRefAttr | str) -> tuple[str, ...]:
    if isinstance(symbol, SymbolRefAttr):
        return (symbol.root, *symbol.nested)
    return tuple(part.removeprefix("@") for part in symbol.split("::"))


# --- signature --------------------------------------------------------------------------------------------------------
#
# Argument and result types of functions.

FUNCTIONS = ("func.func", "llvm.func", "tt.func")
"""The ops that can be run by name."""


class _FunctionType(Protocol):
    """The type of a function of any dialect."""

    @property
    def inputs(self) -> tuple[ty.Type, ...]:
        """The types of the arguments."""

    @property
    def results(self) -> tuple[ty.Type, ...]:
        """The types of the results."""


def argument_types(function: Operation) -> tuple[ty.Type, ...]:
    """Return the argument types of a function, or of the region of another op that runs by itself."""
    return _function_type(function).inputs


def result_types(function: Operation) -> tuple[ty.Type, ...]:
    """Return the result types of a function, or those that the region of another op yields."""
    return _function_type(function).results


def _function_type(function: Operation) -> _FunctionType:
    attribute = function.properties.get("function_type")
    if attribute is None:
        block = function.regions[0].blocks[0]
        arguments, yielded = block.arguments, block.operations[-1].operands
        return ty.FunctionType(tuple([value.type for value in arguments]), tuple([value.type for value in yielded]))
    type_: _FunctionType = getattr(attribute, "type", None)  # type: ignore[assignment]
    assert type_ is not None
    return type_


Rule = Callable[[Operation], str | None]
"""A rule of the verifier: it returns an error message, or None if the op obeys it."""


def all_of(*rules: Rule) -> Rule:
    """Return the rule that an op obeys all these rules. The message is that of the first one that it breaks."""
    return lambda op: next((broken for rule in rules if (broken := rule(op)) is not None), None)


def undefined(op: Operation, message: str) -> UndefinedBehavior:
    """Return the error for an op whose behaviour is undefined for its operands."""
    return UndefinedBehavior(f"{op.name}: undefined behaviour: {message}", location=op.location, op=op.name)


def unsupported(op: Operation, message: str, hint: str | None = None) -> Unsupported:
    """Return the error for an op that halfulp does not run in this form."""
    return Unsupported(f"{op.name}: {message}", location=op.location, op=op.name, hint=hint)
