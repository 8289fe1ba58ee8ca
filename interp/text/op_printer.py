"""The printer that forms of ops use: names of values and blocks, types, attributes, locations and regions."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from halfulp.interp.ir.attributes import (
    AffineMapAttr,
    DistinctAttr,
    FloatAttr,
    IntegerSetAttr,
    OpaqueAttr,
    UnitAttr,
)
from halfulp.interp.ir.base import Attribute, Type
from halfulp.interp.ir.dialect_attributes import DialectAttr
from halfulp.interp.ir.literals import is_bare_identifier, quoted
from halfulp.interp.ir.locations import FileLineCol, Location
from halfulp.interp.ir.nested import parts
from halfulp.interp.ir.operations import Block, BlockArgument, Operation, Region, SSAValue
from halfulp.interp.ir.types import IntegerType, TupleType

# MLIR gives a tuple type an alias when it has more elements than this.
_LONG_TUPLE = 16
# Attributes of MLIR that halfulp does not declare, and the names of their aliases.
_OPAQUE_ALIASES = {"sparse_tensor.encoding": "sparse", "ml_program.extern": "extern"}
# Attributes and types without parts that could have an alias.
_PLAIN = (FloatAttr, IntegerType, UnitAttr)


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
        return key if isinstance(value, UnitAttr) else f"{key} = {self.attribute(value)}"

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
        """Print `` loc(…)`` behind an operation, where debug information is printed."""
        if not self.debug_info:
            return ""
        self._note(location, deferrable=True)
        return f" loc({self.names.get(location) or location.inner(self.names)})"

    def location_of_argument(self, argument: BlockArgument) -> str:
        """Print `` loc(…)`` behind a block argument. As in MLIR, its alias is counted and defined, but not used."""
        if not self.debug_info:
            return ""
        location = argument.location
        self._note(location)
        return f" loc({location.inner(self.names)})"

    # Operations and regions.

    def unbound(self, operation: Operation) -> str:
        """Print an operation without its results and location, as ops do that print the ops inside them in line."""
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


PrintOp = Callable[[OpPrinter, Operation], str]


def alias_of(thing: Attribute | Type) -> str | None:
    """Return the name of the aliases of something, or None where MLIR prints it in place."""
    if isinstance(thing, AffineMapAttr):
        return "map"
    if isinstance(thing, IntegerSetAttr):
        return "set"
    if isinstance(thing, DistinctAttr):
        return None if isinstance(thing.attribute, UnitAttr) else "distinct"
    if isinstance(thing, DialectAttr):
        return thing.definition.alias
    if isinstance(thing, OpaqueAttr):
        return _OPAQUE_ALIASES.get(f"{thing.dialect}{thing.body.partition('<')[0]}")
    if isinstance(thing, Location):
        return "loc"
    if isinstance(thing, TupleType):
        return "tuple" if len(thing.elements) > _LONG_TUPLE else None
    return None
