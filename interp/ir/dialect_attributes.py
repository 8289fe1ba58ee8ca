"""Attributes that dialects declare: enums, and attributes with parameters. Each refers to its definition."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property, reduce
from operator import or_
from typing import Any, NamedTuple

from halfulp.interp.ir import attributes as at
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.base import Attribute, CallSiteLoc, FusedLoc, NameLoc, Type, UnknownLoc, immutable


@dataclass(frozen=True, eq=False, slots=True)
class EnumDefinition:
    """An enum attribute. The custom form of an op shows it as a keyword; the generic form shows it as an integer or as
    ``#dialect.mnemonic<…>``.

    ``storage_width``: the width of the IntegerAttr that has its value (predicates, rounding modes); None for an
    attribute of the dialect with the name ``mnemonic`` (``arith.fastmath``).
    ``flags``: True if the cases are bits, which are written as a list joined by ``separator``.
    ``code``: the number of the attribute in bytecode; None if bytecode has it as text.
    """

    name: str
    cases: Mapping[str, int]
    storage_width: int | None = None
    mnemonic: str | None = None
    flags: bool = False
    separator: str = ","
    bare: bool = False
    code: int | None = None
    names: Mapping[int, str] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "names", {value: name for name, value in self.cases.items()})

    @property
    def description(self) -> str:
        """The words by which an error message describes the attribute."""
        if self.storage_width is None or self.flags:
            return self.name
        values = ", ".join(str(value) for value in self.cases.values())
        return f"allowed {self.storage_width}-bit signless integer cases: {values}"

    def spell(self, value: int) -> str:
        """Return the keyword of ``value``, or the joined keywords of its flags."""
        if not self.flags or value in self.names:
            return self.names[value]
        return self.separator.join(
            name for name, bit in self.cases.items() if bit and bit & (bit - 1) == 0 and value & bit
        )

    def attribute(self, value: int) -> Attribute:
        """Return the attribute that holds ``value`` in an op's properties."""
        if self.storage_width is None:
            return EnumAttr(self, value)
        return at.IntegerAttr(value, ty.IntegerType(self.storage_width))

    def accepts(self, attribute: Attribute) -> bool:
        """Tell whether ``attribute`` has a case of this enum."""
        if isinstance(attribute, EnumAttr):
            return attribute.definition is self
        if self.storage_width is None or not isinstance(attribute, at.IntegerAttr):
            return False
        known = attribute.value in self.names
        if self.flags and attribute.value > 0:
            known = not attribute.value & ~reduce(or_, self.cases.values())
        return attribute.type == ty.IntegerType(self.storage_width) and known


@immutable
class EnumAttr(Attribute):
    """An enum attribute that belongs to a dialect: ``#arith.fastmath<nnan,contract>``."""

    definition: EnumDefinition
    value: int

    @property
    def keywords(self) -> str:
        """The text in a custom form: the keyword, or the flags joined."""
        return self.definition.spell(self.value)

    def spell(self, names: Mapping[object, str]) -> str:
        """Return the text ``#dialect.mnemonic<keywords>``, without brackets if there are no keywords."""
        keywords = self.keywords
        if self.definition.bare:
            dialect, _, mnemonic = str(self.definition.mnemonic).partition(".")
            return f"#{dialect}<{mnemonic} {keywords}>"
        return f"#{self.definition.mnemonic}<{keywords}>" if keywords else f"#{self.definition.mnemonic}"


@dataclass(frozen=True, eq=False, slots=True)
class ParameterKind:
    """A kind of parameter, with its text form. ``read``: reads the parameter with a parser that is at its start.
    ``spell``: returns the text of a value, from the value and the aliases. ``accepts``: tells whether an attribute that
    was not read from text may be the value.
    """

    read: Callable[[Any], Any]
    spell: Callable[[Any, Mapping[object, str]], str]
    accepts: Callable[[Any], bool] = lambda value: True


@dataclass(frozen=True, eq=False, slots=True)
class Parameter:
    """A named parameter of an attribute. A parameter with a default may be left out, and is not printed when it equals
    the default, unless it is ``shown``. ``encoded``: the word for the form that it has in bytecode, if the attribute
    has a code there;
    ``since``: the version of MLIR whose bytecode is the first to hold it.
    """

    name: str
    kind: ParameterKind
    optional: bool = False
    default: Any = None
    encoded: str = ""
    since: int = 0
    shown: bool = False


class ParameterForm(NamedTuple):
    """The text form of the parameters of an attribute, after its mnemonic. ``read``: reads them with a parser and
    returns the values. ``spell``: returns their text, from the attribute and the aliases.
    """

    read: Callable[[Any], tuple[Any, ...]]
    spell: Callable[[DialectAttr, Mapping[object, str]], str]


@dataclass(frozen=True, eq=False, slots=True)
class AttributeDefinition:
    """The definition of an attribute of a dialect, ``#dialect.mnemonic<…>``.

    ``form``: compiled from MLIR's declarative notation (`halfulp.interp.declare.parameters`).
    ``verify``: a function that returns the message of an error, or None.
    ``verify_encoding``: the same, for the attribute as the encoding of a tensor type, which is the second argument.
    ``alias``: the name of the aliases that MLIR prints for this attribute, if it prints any.
    ``interfaces``: the roles of the attribute, each a word such as ``pipeline``.
    ``code``: the number of the attribute in bytecode; None if bytecode has it as text.
    ``until``: the version of MLIR from which bytecode has the attribute in a form that halfulp does not know.
    ``longer``: the definition of the attribute with more parameters, if bytecode gives it another number then.
    """

    name: str
    form: ParameterForm
    parameters: tuple[Parameter, ...] = ()
    verify: Callable[[DialectAttr], str | None] | None = None
    verify_encoding: Callable[[DialectAttr, ty.TensorType], str | None] | None = None
    alias: str | None = None
    interfaces: frozenset[str] = frozenset()
    code: int | None = None
    until: int | None = None
    longer: AttributeDefinition | None = None

    @property
    def dialect(self) -> str:
        """The part of the name before the first dot."""
        return self.name.partition(".")[0]

    def attribute(self, values: tuple[Any, ...]) -> DialectAttr:
        """Return the attribute with these values: that of ``longer`` if there are more values than parameters."""
        if self.longer is not None and len(values) > len(self.parameters):
            return DialectAttr(self.longer, values)
        return DialectAttr(self, values)


@immutable
class DialectAttr(Attribute):
    """An attribute that a dialect declares with parameters: ``#dialect.mnemonic<…>``. ``values``: one per parameter, in
    the order of the declaration.
    """

    definition: AttributeDefinition
    values: tuple[Any, ...]

    def __getitem__(self, name: str) -> Any:
        """Return the value of a parameter. Raises KeyError."""
        for parameter, value in zip(self.definition.parameters, self.values, strict=True):
            if parameter.name == name:
                return value
        raise KeyError(name)

    @cached_property
    def parts(self) -> tuple[Attribute | Type, ...]:
        """The attributes and types among the values, and in the lists among these."""
        flat = (part for value in self.values for part in (value if isinstance(value, tuple) else (value,)))
        return tuple(part for part in flat if isinstance(part, Attribute | Type))

    def spell(self, names: Mapping[object, str]) -> str:
        """Return the text ``#dialect.mnemonic`` and the parameters; if these have no brackets, ``#dialect<mnemonic
        parameters>``.
        """
        parameters = self.spell_parameters(names)
        if parameters and parameters[0] != "<":
            return f"#{self.definition.name.replace('.', '<', 1)} {parameters}>"
        return f"#{self.definition.name}{parameters}"

    def spell_parameters(self, names: Mapping[object, str]) -> str:
        """Return the text of the parameters without the mnemonic, as they are written in places where the kind of
        attribute is known.
        """
        return self.definition.form.spell(self, names)


# --- nested -----------------------------------------------------------------------------------------------------------
#
# Walk over the attributes and types inside others.


_ELEMENTS = at.DenseElementsAttr, at.DenseStringAttr, at.SparseElementsAttr, at.DenseResourceAttr
_PARTS: Mapping[type, tuple[str, ...]] = {
    at.ArrayAttr: ("elements",),
    **dict.fromkeys((at.TypeAttr, at.IntegerAttr, at.StringAttr, *_ELEMENTS), ("type",)),
    at.OpaqueAttr: ("inner", "type"),
    at.DistinctAttr: ("attribute",),
    CallSiteLoc: ("callee", "caller"),
    FusedLoc: ("metadata", "locations"),
    ty.OpaqueType: ("inner",),
    ty.FunctionType: ("inputs", "results"),
    ty.TupleType: ("elements",),
    ty.ComplexType: ("element",),
    ty.VectorType: ("element",),
    ty.TensorType: ("element", "encoding"),
    ty.MemRefType: ("element", "layout", "memory_space"),
}
"""The fields of attributes and types that have others inside, in the order of printing. None is not a part."""


def parts(thing: Attribute | Type) -> Iterator[Attribute | Type]:
    """Yield the attributes and types that are directly inside an attribute or a type, in the order of printing."""
    if isinstance(thing, at.DictionaryAttr):
        yield from (value for _, value in thing.entries)
    elif isinstance(thing, DialectAttr | ty.DialectType):
        yield from thing.parts
    elif isinstance(thing, NameLoc):
        if thing.child != UnknownLoc():
            yield thing.child
    else:
        for field_name in _PARTS.get(type(thing), ()):
            held = getattr(thing, field_name)
            if isinstance(held, tuple):
                yield from held
            elif held is not None:
                yield held


def nested_size(thing: Attribute | Type, known: dict[int, int]) -> int:
    """Return the number of attributes and types that would be printed for an attribute or a type. ``known``: sizes that
    were found before, by the ``id`` of objects that stay alive.

    An alias can be used several times, so the full text of a short file can have any length. This function counts
    without making the text.
    """
    number = known.get(id(thing))
    if number is None:
        number = known[id(thing)] = 1 + sum(nested_size(part, known) for part in parts(thing))
    return number
