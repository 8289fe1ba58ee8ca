"""How an op is declared: one row from which its parser, printer, verifier, bytecode layout and dispatch all come.

A dialect file (``interp/dialects/``) reads like a table of the dialect's document; users declare their own ops with the
same calls. Names of traits, constraints and the assembly notation are MLIR's own (``OpBase.td``, "Operation Definition
Specification" in MLIR's documentation), so that a declaration can be compared with the upstream one line by line.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum, IntEnum
from importlib import import_module
from typing import TYPE_CHECKING, Any

from halfulp.interp.ir.errors import Unsupported, did_you_mean

if TYPE_CHECKING:
    from halfulp.interp.ir.attributes import Attribute, DialectAttr
    from halfulp.interp.ir.operations import Operation
    from halfulp.interp.ir.types import Type
    from halfulp.interp.text.assembly import CustomForm


class Schema(IntEnum):
    """The MLIR version whose ops, properties and spellings a text or bytecode file uses."""

    MLIR22 = 22
    LLVM24 = 24


class Trait(Enum):
    """MLIR's op traits, as far as they decide how an op is read, verified or run."""

    ELEMENTWISE = "Elementwise"
    COMMUTATIVE = "Commutative"
    IDEMPOTENT = "Idempotent"
    SAME_OPERANDS_AND_RESULT_TYPE = "SameOperandsAndResultType"
    SAME_OPERANDS_AND_RESULT_SHAPE = "SameOperandsAndResultShape"
    SAME_TYPE_OPERANDS = "SameTypeOperands"
    CONSTANT_LIKE = "ConstantLike"
    TERMINATOR = "IsTerminator"
    RETURN_LIKE = "ReturnLike"
    ISOLATED_FROM_ABOVE = "IsolatedFromAbove"
    SYMBOL = "Symbol"
    SYMBOL_TABLE = "SymbolTable"
    NO_TERMINATOR = "NoTerminator"
    SINGLE_BLOCK = "SingleBlock"
    GRAPH_REGION = "HasOnlyGraphRegion"
    ATTR_SIZED_OPERAND_SEGMENTS = "AttrSizedOperandSegments"


@dataclass(frozen=True, slots=True)
class TypeKind:
    """The class of a type in MLIR (``builtin.vector``): a custom form that writes the type admits no other there."""

    name: str
    accepts: Callable[[Type], bool]


@dataclass(frozen=True, slots=True)
class TypeConstraint:
    """A predicate on types with MLIR's description of it, as diagnostics print it ("must be floating-point-like").

    ``kind``: the class MLIR's declaration gives the type, if any. ``builds``: the one type there is, which the text
    then need not name; builtin ones are found without.
    """

    description: str
    accepts: Callable[[Type], bool]
    kind: TypeKind | None = None
    builds: Type | None = None


class Arity(Enum):
    """How many values one operand, result or successor of a declaration stands for."""

    ONE = "one"
    OPTIONAL = "optional"
    VARIADIC = "variadic"


@dataclass(frozen=True, slots=True)
class Slot:
    """A named operand or result."""

    name: str
    constraint: TypeConstraint
    arity: Arity = Arity.ONE


@dataclass(frozen=True, slots=True)
class AttributeConstraint:
    """A predicate on attributes with MLIR's description of it."""

    description: str
    accepts: Callable[[Attribute], bool]


@dataclass(frozen=True, eq=False, slots=True)
class EnumDefinition:
    """An enum attribute: keywords in the custom form of an op, an integer or ``#dialect.mnemonic<…>`` in the generic
    form.

    ``storage_width`` is the width of the IntegerAttr that holds it (predicates, rounding modes), or None for an
    attribute of the dialect's own, named by ``mnemonic`` (``arith.fastmath``). ``flags``: the cases are bits, written
    as a list joined by ``separator``.
    """

    name: str
    cases: Mapping[str, int]
    storage_width: int | None = None
    mnemonic: str | None = None
    flags: bool = False
    separator: str = ","
    names: Mapping[int, str] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "names", {value: name for name, value in self.cases.items()})

    @property
    def description(self) -> str:
        """What a diagnostic says the attribute must be."""
        if self.storage_width is None:
            return self.name
        values = ", ".join(str(value) for value in self.cases.values())
        return f"allowed {self.storage_width}-bit signless integer cases: {values}"

    def spell(self, value: int) -> str:
        """The keyword, or the joined keywords, for ``value``."""
        if not self.flags or value in self.names:
            return self.names[value]
        return self.separator.join(
            name for name, bit in self.cases.items() if bit and bit & (bit - 1) == 0 and value & bit
        )

    def attribute(self, value: int) -> Attribute:
        """The attribute that holds ``value`` in an op's properties."""
        from halfulp.interp.ir.attributes import EnumAttr, IntegerAttr
        from halfulp.interp.ir.types import IntegerType

        if self.storage_width is None:
            return EnumAttr(self, value)
        return IntegerAttr(value, IntegerType(self.storage_width))

    def accepts(self, attribute: Attribute) -> bool:
        """Whether ``attribute`` holds a case of this enum."""
        from halfulp.interp.ir.attributes import EnumAttr, IntegerAttr
        from halfulp.interp.ir.types import IntegerType

        if isinstance(attribute, EnumAttr):
            return attribute.definition is self
        if self.storage_width is None or not isinstance(attribute, IntegerAttr):
            return False
        return attribute.type == IntegerType(self.storage_width) and attribute.value in self.names


@dataclass(frozen=True, eq=False, slots=True)
class ParameterKind:
    """How a parameter of an attribute is written: ``read`` takes the parser at it, ``spell`` its value and the aliases
    there are.
    """

    read: Callable[[Any], Any]
    spell: Callable[[Any, Mapping[object, str]], str]


@dataclass(frozen=True, eq=False, slots=True)
class Parameter:
    """A named parameter of an attribute. One with a default may be left out, and is not printed where it has it."""

    name: str
    kind: ParameterKind
    optional: bool = False
    default: Any = None


@dataclass(frozen=True, eq=False, slots=True)
class AttributeDefinition:
    """An attribute of a dialect, ``#dialect.mnemonic<…>``.

    ``assembly`` is MLIR's declarative notation of what follows the mnemonic, in which ``custom<Struct>()`` stands for
    ``name = value`` of all parameters. ``verify`` returns a message or None. ``alias``: the name MLIR gives aliases of
    it, where it makes some. ``interfaces``: what it can be used as, by the words of those who ask.
    """

    name: str
    assembly: str = ""
    parameters: tuple[Parameter, ...] = ()
    verify: Callable[[DialectAttr], str | None] | None = None
    alias: str | None = None
    interfaces: frozenset[str] = frozenset()

    @property
    def dialect(self) -> str:
        """The part of the name before the first dot."""
        return self.name.partition(".")[0]


@dataclass(frozen=True, slots=True)
class Property:
    """An inherent attribute of an op. In bytecode the properties stand in alphabetical order of their names.

    ``default``: the enum value an absent property means; it is always stored, printed in the generic form, elided in
    the custom form. ``optional``: may be absent. ``elided``: what the custom form leaves out of its dictionary, since
    an absent one means the same. ``since``: the schema that introduced it.
    """

    name: str
    kind: EnumDefinition | AttributeConstraint
    optional: bool = False
    default: int | None = None
    elided: Attribute | None = None
    since: Schema = Schema.MLIR22


@dataclass(frozen=True, slots=True)
class TypeRule:
    """An equation between the types of an op's operands and results (`AllTypesMatch`, `TypesMatchWith`).

    Both functions see a mapping from slot name to type (a tuple of types for a variadic slot) and the op's properties.
    ``solve`` adds the types that follow from those present; ``holds`` is the verifier's question; ``message`` its
    answer, MLIR's own.
    """

    message: str
    solve: Callable[[dict[str, Any], Mapping[str, Attribute]], None]
    holds: Callable[[Mapping[str, Any], Mapping[str, Attribute]], bool]


@dataclass(frozen=True, slots=True)
class RegionSlot:
    """A named region."""

    name: str
    arity: Arity = Arity.ONE


@dataclass(frozen=True, slots=True)
class SuccessorSlot:
    """A named successor block."""

    name: str
    arity: Arity = Arity.ONE


class Unprefixed(str):
    """A verifier's message that MLIR prints without ``'dialect.op' op`` in front."""

    __slots__ = ()


@dataclass(frozen=True, eq=False)
class OpDefinition:
    """Everything halfulp knows of one op.

    ``assembly`` is MLIR's declarative notation; ``custom`` is a hand-written parse/print pair instead, or its name;
    with neither, the op has only its generic form. ``verify`` returns a message (MLIR's wording, without the "'op' op "
    in front; `Unprefixed` where MLIR has none) or None; ``verify_regions`` does so after what is inside the op was
    verified.
    ``named_results``: what the printer calls the results (``%low, %high``), or what tells it for an op, where None
    stands for "one more of the same name" and the empty tuple for numbers. ``implicit_terminator``: the op that may be
    left out at the end of a region.
    ``evaluate`` is one of the evaluator classes of `halfulp.interp.run.executor`, or None: executing the op is
    `Unsupported`.
    ``assume``: of an op that is made without text (`interp.declare.build`), given its properties and the number of its
    operands: adds the properties that may be left out there, and returns the operands' element types, as far as they
    follow.
    """

    name: str
    assembly: str | None = None
    custom: str | CustomForm | None = None
    operands: tuple[Slot, ...] = ()
    results: tuple[Slot, ...] = ()
    properties: tuple[Property, ...] = ()
    regions: tuple[RegionSlot, ...] = ()
    successors: tuple[SuccessorSlot, ...] = ()
    traits: frozenset[Trait] = frozenset()
    type_rules: tuple[TypeRule, ...] = ()
    verify: Callable[[Operation], str | None] | None = None
    verify_regions: Callable[[Operation], str | None] | None = None
    evaluate: Any = None
    named_results: tuple[str, ...] | Callable[[Operation], tuple[str | None, ...]] = ()
    implicit_terminator: str | None = None
    since: Schema = Schema.MLIR22
    assume: Callable[[dict[str, Attribute], int], Sequence[Type]] | None = None

    @property
    def dialect(self) -> str:
        """The part of the name before the first dot."""
        return self.name.partition(".")[0]

    @property
    def has_properties(self) -> bool:
        """Whether the op has inherent attributes at all."""
        return bool(self.properties) or Trait.ATTR_SIZED_OPERAND_SEGMENTS in self.traits

    def property_named(self, name: str) -> Property | None:
        """The declared property of that name, if any."""
        return next((prop for prop in self.properties if prop.name == name), None)


class Dialect:
    """A named table of ops, attributes and hooks for the dialect's own types.

    ``types`` maps a mnemonic (``uniform``) to a function that parses what follows it; see `halfulp.interp.text`.
    ``partial``: the dialect has more than is declared here, which is kept as if the dialect were not registered.
    """

    def __init__(self, name: str, partial: bool = False) -> None:
        self.name = name
        self.partial = partial
        self.ops: dict[str, OpDefinition] = {}
        self.enums: dict[str, EnumDefinition] = {}
        self.attributes: dict[str, AttributeDefinition] = {}
        self.types: dict[str, Callable[..., Type]] = {}

    def op(self, mnemonic: str, assembly: str | None = None, **declaration: Any) -> OpDefinition:
        """Declare an op. ``operands`` and ``results`` may be given as a mapping from name to constraint.

        Raises ValueError when the dialect already has an op of that name.
        """
        name = f"{self.name}.{mnemonic}"
        if name in self.ops:
            raise ValueError(f"op {name} is already registered")
        for key in ("operands", "results"):
            slots = declaration.get(key, ())
            if isinstance(slots, Mapping):
                slots = tuple(Slot(slot, constraint) for slot, constraint in slots.items())
            declaration[key] = tuple(slots)
        traits = frozenset(declaration.pop("traits", ()))
        rules = tuple(declaration.pop("type_rules", ())) + _rules_of_traits(traits, declaration)
        definition = OpDefinition(name=name, assembly=assembly, traits=traits, type_rules=rules, **declaration)
        self.ops[name] = definition
        return definition

    def enum(self, definition: EnumDefinition) -> EnumDefinition:
        """Register an enum attribute of the dialect's own, spelled ``#dialect.mnemonic<…>``."""
        assert definition.mnemonic is not None
        self.enums[definition.mnemonic.partition(".")[2]] = definition
        return definition

    def attribute(self, mnemonic: str, assembly: str = "", **declaration: Any) -> AttributeDefinition:
        """Declare an attribute. ``interfaces`` may be any collection of words."""
        interfaces = frozenset(declaration.pop("interfaces", ()))
        name = f"{self.name}.{mnemonic}"
        definition = AttributeDefinition(name=name, assembly=assembly, interfaces=interfaces, **declaration)
        self.attributes[mnemonic] = definition
        return definition


class Dialects(Mapping[str, Dialect]):
    """Dialects by name. Those of ``modules``, which maps a name to the module that defines a variable of that name, are
    imported when somebody asks for them.
    """

    def __init__(self, modules: Mapping[str, str]) -> None:
        self._modules = modules
        self._loaded: dict[str, Dialect] = {}

    def __getitem__(self, name: str) -> Dialect:
        known = self._loaded.get(name)
        if known is None:
            known = self._loaded[name] = getattr(import_module(self._modules[name]), name)
        return known

    def get(self, name: str, default: Any = None) -> Any:
        """The dialect of that name; ``default`` where there is none."""
        known = self._loaded.get(name)
        return known or (self[name] if name in self._modules else default)

    def __contains__(self, name: object) -> bool:
        return name in self._loaded or name in self._modules

    def __iter__(self) -> Iterator[str]:
        yield from self._loaded
        yield from [name for name in self._modules if name not in self._loaded]

    def __len__(self) -> int:
        return len(self._loaded.keys() | self._modules.keys())

    def add(self, dialect: Dialect) -> Dialect:
        """The dialect of that name, which is ``dialect`` if there was none."""
        present: Dialect = self.get(dialect.name) or self._loaded.setdefault(dialect.name, dialect)
        return present


class Registry:
    """The dialects that parsing, verifying and running know. `default_registry()` holds the built-in ones.

    ``modules``: dialects to import on demand, see `Dialects`.
    """

    def __init__(self, dialects: Iterable[Dialect] = (), modules: Mapping[str, str] | None = None) -> None:
        self.dialects = Dialects(modules or {})
        for dialect in dialects:
            self.register(dialect)

    def register(self, dialect: Dialect) -> None:
        """Add a dialect; an existing one of that name gains the new ops. Raises ValueError when an op is there
        already.
        """
        present = self.dialects.add(dialect)
        if present is dialect:
            return
        clash = present.ops.keys() & dialect.ops.keys()
        if clash:
            raise ValueError(f"op {min(clash)} is already registered")
        present.ops.update(dialect.ops)
        present.enums.update(dialect.enums)
        present.attributes.update(dialect.attributes)
        present.types.update(dialect.types)

    def find(self, name: str) -> OpDefinition | None:
        """The declaration of the op of that full name."""
        dialect = self.dialects.get(name.partition(".")[0])
        return None if dialect is None else dialect.ops.get(name)

    def is_complete(self, dialect: str) -> bool:
        """Whether all ops of the dialect of that name are known, so that another one is an error."""
        known = self.dialects.get(dialect)
        return known is not None and not known.partial

    def require(self, name: str) -> OpDefinition:
        """The same. Raises Unsupported where there is none."""
        found = self.find(name)
        if found is None:
            known = (op for dialect in self.dialects.values() for op in dialect.ops)
            raise Unsupported(f"no op named '{name}' is registered", hint=did_you_mean(name, known))
        return found


_default: Registry | None = None


def default_registry() -> Registry:
    """The registry with the built-in dialects, built on first use."""
    global _default
    if _default is None:
        from halfulp.interp.dialects import BUILT_IN, ON_DEMAND

        _default = Registry(BUILT_IN, ON_DEMAND)
    return _default


def same_type(*names: str, message: str | None = None) -> TypeRule:
    """All the named slots have one type (`AllTypesMatch`)."""

    def solve(types: dict[str, Any], properties: Mapping[str, Attribute]) -> None:
        known = next((types[name] for name in names if name in types), None)
        if known is not None:
            for name in names:
                types.setdefault(name, known)

    def holds(types: Mapping[str, Any], properties: Mapping[str, Attribute]) -> bool:
        return all(types[name] == types[names[0]] for name in names[1:])

    return TypeRule(message or f"failed to verify that all of {{{', '.join(names)}}} have same type", solve, holds)


def derived_type(name: str, source: str, derive: Callable[[Type], Type], message: str) -> TypeRule:
    """The type of slot ``name`` is ``derive`` of the type of ``source`` (`TypesMatchWith`)."""

    def solve(types: dict[str, Any], properties: Mapping[str, Attribute]) -> None:
        if source in types:
            types.setdefault(name, derive(types[source]))

    def holds(types: Mapping[str, Any], properties: Mapping[str, Attribute]) -> bool:
        return bool(types[name] == derive(types[source]))

    return TypeRule(message, solve, holds)


def type_of_property(name: str, prop: str, message: str) -> TypeRule:
    """The type of slot ``name`` is the type of the attribute ``prop`` (`arith.constant`)."""

    def solve(types: dict[str, Any], properties: Mapping[str, Attribute]) -> None:
        if prop in properties:
            types.setdefault(name, getattr(properties[prop], "type", None))

    def holds(types: Mapping[str, Any], properties: Mapping[str, Attribute]) -> bool:
        return bool(types[name] == getattr(properties[prop], "type", None))

    return TypeRule(message, solve, holds)


def _rules_of_traits(traits: frozenset[Trait], declaration: Mapping[str, Any]) -> tuple[TypeRule, ...]:
    operands = [slot.name for slot in declaration["operands"]]
    results = [slot.name for slot in declaration["results"]]
    rules = []
    if Trait.SAME_OPERANDS_AND_RESULT_TYPE in traits:
        rules.append(same_type(*operands, *results, message="requires the same type for all operands and results"))
    if Trait.SAME_TYPE_OPERANDS in traits:
        rules.append(same_type(*operands, message="requires all operands to have the same type"))
    return tuple(rules)
