"""Declarations of ops: one row each, from which the parser, printer, verifier, bytecode layout and dispatch derive.

A dialect file (``interp/dialects/``) reads like a table of the dialect's document; users declare their own ops with the
same calls. Names of traits, constraints and the assembly notation are MLIR's own (``OpBase.td``, "Operation Definition
Specification" in MLIR's documentation), so that a declaration can be compared with the upstream one line by line.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum, IntEnum
from typing import Any, NamedTuple

from halfulp.interp.declare.parameters import compile_form
from halfulp.interp.declare.type_rules import TypeRule, same_type
from halfulp.interp.ir.attributes import Attribute
from halfulp.interp.ir.dialect_attributes import AttributeDefinition, EnumDefinition
from halfulp.interp.ir.types import Type

# An op (`halfulp.interp.ir.operations.Operation`) refers to its definition, so that this file cannot name its class.
# Nor can it name those of the parser (`halfulp.interp.text.op_parser.OpParser`) and of the printer
# (`halfulp.interp.text.op_printer.OpPrinter`), which look at definitions.
Op = Any
OpParser = Any
OpPrinter = Any


class Schema(IntEnum):
    """The MLIR version whose ops, properties and spellings a text or bytecode file uses."""

    MLIR22 = 22
    LLVM24 = 24


class Trait(Enum):
    """The traits of MLIR's ops that decide how an op is read, verified or run."""

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
    """The class of a type in MLIR (``builtin.vector``), which a custom form that writes the type requires."""

    name: str
    accepts: Callable[[Type], bool]


@dataclass(frozen=True, slots=True)
class TypeConstraint:
    """A predicate on types with MLIR's description of it, as diagnostics print it ("must be floating-point-like").

    ``kind``: the class of the type in MLIR's declaration, if any. ``builds``: the only type that is accepted, which the
    text need not name. For builtin types it is found without ``builds``.
    """

    description: str
    accepts: Callable[[Type], bool]
    kind: TypeKind | None = None
    builds: Type | None = None


class Arity(Enum):
    """The number of values that an operand, result or successor of a declaration stands for."""

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
    """A predicate on attributes with MLIR's description of it. ``first``: the character with which each of them begins,
    if there is one.
    """

    description: str
    accepts: Callable[[Attribute], bool]
    first: str = ""


@dataclass(frozen=True, slots=True)
class Property:
    """An inherent attribute of an op. In bytecode the properties are in alphabetical order of their names.

    ``default``: what an absent property means: the value of an enum, or an attribute. It is always stored, printed in
    the generic form, and left out in the custom form. ``optional``: it may be absent. ``elided``: the value that the
    custom form leaves out of its dictionary, since an absent property means the same. ``since``: the schema that
    introduced it. ``flag``: MLIR keeps it as a truth value and not as an attribute: ``unit`` if it is true, else
    ``false``. It is always stored. ``number``: MLIR keeps it as a number and not as an attribute. It has a ``default``.
    """

    name: str
    kind: EnumDefinition | AttributeConstraint
    optional: bool = False
    default: int | Attribute | None = None
    elided: Attribute | None = None
    since: Schema = Schema.MLIR22
    flag: bool = False
    number: bool = False

    @property
    def implied(self) -> Attribute | None:
        """The attribute that an absent property means; None where it means nothing."""
        if self.default is None or isinstance(self.default, Attribute):
            return self.default
        assert isinstance(self.kind, EnumDefinition)
        return self.kind.attribute(self.default)


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


CustomParse = Callable[[OpParser, int], Op]
CustomPrint = Callable[[OpPrinter, Op], str]


class CustomForm(NamedTuple):
    """A hand-written custom form.

    ``parser`` takes the declaration and returns a function that reads the op behind its name; this takes the parser and
    the token of the name. ``print`` returns the text behind the name.
    """

    parser: Callable[[OpDefinition], CustomParse]
    print: CustomPrint


class Unprefixed(str):
    """A verifier's message that MLIR prints without ``'dialect.op' op`` in front."""

    __slots__ = ()


@dataclass(frozen=True, eq=False)
class OpDefinition:
    """The declaration of one op.

    ``assembly``: MLIR's declarative notation. ``custom``: a hand-written pair of parser and printer instead. With
    neither, the op has only its generic form. ``verify`` returns a message (MLIR's wording, without the "'op' op " in
    front, which is added unless the message is `Unprefixed`) or None. ``verify_regions`` does the same after the inside
    of the op was verified. ``verify_symbols`` raises VerifyError for a wrong use of the symbols in reach.
    ``named_results``: the printed names of the results (``%low, %high``), or a function of the op that returns them;
    None means "one more of the same name", and the empty tuple means numbers. ``named_arguments``: a function of the op
    that returns the printed names of the arguments of its entry blocks. ``implicit_terminator``: the op that may be
    left out at the end of a region. ``evaluate``: one of the evaluator classes of `halfulp.interp.run.evaluators`,
    or None: executing the op is `Unsupported`. ``default_dialect``: the dialect whose ops may be written without its
    name inside the regions. ``assume``: for an op that is made without text (`interp.declare.build`). It takes the
    properties and the number of operands, adds the properties that may be left out there, and returns the operands'
    element types as far as they follow. ``choices``: properties that MLIR's op does not have: a program cannot state
    them, but an op that is made without text can (``rounding=`` of `halfulp.eval`).
    """

    name: str
    assembly: str | None = None
    custom: CustomForm | None = None
    operands: tuple[Slot, ...] = ()
    results: tuple[Slot, ...] = ()
    properties: tuple[Property, ...] = ()
    regions: tuple[RegionSlot, ...] = ()
    successors: tuple[SuccessorSlot, ...] = ()
    traits: frozenset[Trait] = frozenset()
    type_rules: tuple[TypeRule, ...] = ()
    verify: Callable[[Op], str | None] | None = None
    verify_regions: Callable[[Op], str | None] | None = None
    verify_symbols: Callable[[Op, Mapping[str, Op]], None] | None = None
    evaluate: Any = None
    named_results: tuple[str, ...] | Callable[[Op], tuple[str | None, ...]] = ()
    named_arguments: Callable[[Op], Sequence[str]] | None = None
    implicit_terminator: str | None = None
    since: Schema = Schema.MLIR22
    default_dialect: str = ""
    assume: Callable[[dict[str, Attribute], int], Sequence[Type]] | None = None
    choices: tuple[Property, ...] = ()

    @property
    def dialect(self) -> str:
        """The part of the name before the first dot."""
        return self.name.partition(".")[0]

    @property
    def has_properties(self) -> bool:
        """Tell whether the op has inherent attributes."""
        return bool(self.properties) or Trait.ATTR_SIZED_OPERAND_SEGMENTS in self.traits

    def property_named(self, name: str) -> Property | None:
        """Return the declared property of that name, if any."""
        return next((prop for prop in self.properties if prop.name == name), None)


class Dialect:
    """A named table of ops and attributes, with the parsers of the dialect's own types.

    ``types`` maps a mnemonic (``uniform``) to a function that parses the text after it; see `halfulp.interp.text`.
    The ops of a dialect without a name are functions, which only `Registry.lookup` knows.
    ``partial``: the dialect has more ops and attributes than are declared here. They are kept as if the dialect were
    not registered.
    """

    def __init__(self, name: str, partial: bool = False) -> None:
        self.name = name
        self.partial = partial
        self.ops: dict[str, OpDefinition] = {}
        self.enums: dict[str, EnumDefinition] = {}
        self.attributes: dict[str, AttributeDefinition] = {}
        self.types: dict[str, Callable[..., Type]] = {}

    def op(self, mnemonic: str, assembly: str | None = None, **declaration: Any) -> OpDefinition:
        """Declare an op. ``operands`` and ``results`` may be a mapping from name to constraint.

        Raises ValueError when the dialect already has an op of that name.
        """
        name = f"{self.name}.{mnemonic}" if self.name else mnemonic
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
        """Register an enum attribute of the dialect, spelled ``#dialect.mnemonic<…>``."""
        assert definition.mnemonic is not None
        self.enums[definition.mnemonic.partition(".")[2]] = definition
        return definition

    def attribute(self, mnemonic: str, assembly: str = "", **declaration: Any) -> AttributeDefinition:
        """Declare an attribute. ``interfaces`` may be any collection of words."""
        interfaces = frozenset(declaration.pop("interfaces", ()))
        form = compile_form(assembly, declaration.get("parameters", ()))
        name = f"{self.name}.{mnemonic}"
        definition = AttributeDefinition(name=name, form=form, interfaces=interfaces, **declaration)
        self.attributes[mnemonic] = definition
        return definition


def _rules_of_traits(traits: frozenset[Trait], declaration: Mapping[str, Any]) -> tuple[TypeRule, ...]:
    operands = [slot.name for slot in declaration["operands"]]
    results = [slot.name for slot in declaration["results"]]
    rules = []
    if Trait.SAME_OPERANDS_AND_RESULT_TYPE in traits:
        rules.append(same_type(*operands, *results, message="requires the same type for all operands and results"))
    if Trait.SAME_TYPE_OPERANDS in traits:
        rules.append(same_type(*operands, message="requires all operands to have the same type"))
    return tuple(rules)
