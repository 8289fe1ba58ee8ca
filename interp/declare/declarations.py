"""Declarations of ops: one row each, from which the parser, printer, verifier, bytecode layout and dispatch derive.

A dialect file (``interp/dialects/``) reads like a table of the dialect's document; users declare their own ops with the
same calls. Names of traits, constraints and the assembly notation are MLIR's own (``OpBase.td``, "Operation Definition
Specification" in MLIR's documentation), so that a declaration can be compared with the upstream one line by line.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum, IntEnum
from functools import cache
from typing import Any, NamedTuple

from halfulp.interp.declare.parameters import compile_form
from halfulp.interp.ir import attributes as at
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.base import Attribute, Type, spell_symbol
from halfulp.interp.ir.dialect_attributes import AttributeDefinition, EnumDefinition, ParameterKind
from halfulp.interp.ir.types import element_type

# --- type rules -------------------------------------------------------------------------------------------------------
#
# Rules between the types of an op's operands and results, from which types that are not written follow.


@dataclass(frozen=True, slots=True)
class TypeRule:
    """An equation between the types of an op's operands and results (`AllTypesMatch`, `TypesMatchWith`).

    Both functions get a mapping from slot name to type (a tuple of types for a variadic slot) and the op's properties.
    ``solve`` adds the types that the known types determine. ``holds`` tells whether the types satisfy the
    equation. ``message``: the error of the verifier if they do not, in MLIR's words.
    """

    message: str
    solve: Callable[[dict[str, Any], Mapping[str, Attribute]], None]
    holds: Callable[[Mapping[str, Any], Mapping[str, Attribute]], bool]


def same_type(*names: str, message: str | None = None) -> TypeRule:
    """Return the rule that all the named slots have the same type (`AllTypesMatch`)."""

    def solve(types: dict[str, Any], properties: Mapping[str, Attribute]) -> None:
        known = next((types[name] for name in names if name in types), None)
        if known is not None:
            for name in names:
                types.setdefault(name, known)

    def holds(types: Mapping[str, Any], properties: Mapping[str, Attribute]) -> bool:
        return all(types[name] == types[names[0]] for name in names[1:])

    return TypeRule(message or f"failed to verify that all of {{{', '.join(names)}}} have same type", solve, holds)


def same_element(one: str, other: str, what: str) -> TypeRule:
    """Return the rule that two slots have the same element type. ``what``: the words of MLIR for them."""

    def holds(types: Mapping[str, Any], properties: Mapping[str, Attribute]) -> bool:
        return bool(element_type(types[one]) == element_type(types[other]))

    return TypeRule(f"failed to verify that {what} have same element type", lambda types, properties: None, holds)


def derived_type(name: str, source: str, derive: Callable[[Type], Type], message: str) -> TypeRule:
    """Return the rule that the type of slot ``name`` is the result of ``derive`` for the type of slot ``source``
    (`TypesMatchWith`). ``message``: the verifier's error.
    """

    def solve(types: dict[str, Any], properties: Mapping[str, Attribute]) -> None:
        if source in types:
            types.setdefault(name, derive(types[source]))

    def holds(types: Mapping[str, Any], properties: Mapping[str, Attribute]) -> bool:
        return bool(types[name] == derive(types[source]))

    return TypeRule(message, solve, holds)


def inferred_type(name: str, source: str, derive: Callable[[Any], Any]) -> TypeRule:
    """Return the rule that infers the type of slot ``name`` from that of slot ``source`` if the text does not write it.
    It accepts any type, since the op's verifier checks the type.
    """
    return replace(derived_type(name, source, derive, ""), holds=lambda types, properties: True)


def type_of_property(name: str, prop: str, message: str) -> TypeRule:
    """Return the rule that the type of slot ``name`` is the type of the attribute ``prop`` (`arith.constant`)."""

    def solve(types: dict[str, Any], properties: Mapping[str, Attribute]) -> None:
        if prop in properties:
            types.setdefault(name, getattr(properties[prop], "type", None))

    def holds(types: Mapping[str, Any], properties: Mapping[str, Attribute]) -> bool:
        return bool(types[name] == getattr(properties[prop], "type", None))

    return TypeRule(message, solve, holds)


def inferred_type_of_property(name: str, prop: str) -> TypeRule:
    """Return the rule that infers the type of slot ``name`` from the attribute ``prop`` if the text does not write it.
    It accepts any type, since the op's verifier checks the type.
    """
    return replace(type_of_property(name, prop, ""), holds=lambda types, properties: True)


class Repeated(Sequence[Type]):
    """A sequence of any length whose elements all have the same type, stored once: a short text may need 2^63
    elements.
    """

    def __init__(self, type_: Type, count: int) -> None:
        self.type = type_
        self._size = min(count, sys.maxsize)

    def __len__(self) -> int:
        return self._size

    def __getitem__(self, index: Any) -> Any:
        if not -self._size <= index < self._size:
            raise IndexError(index)
        return self.type


# --- declarations -----------------------------------------------------------------------------------------------------

# An op (`halfulp.interp.ir.operations.Operation`) refers to its definition, so that this file cannot name its class.
# Nor can it name those of the parser (`halfulp.interp.text.op_parser.OpParser`) and of the printer
# (`halfulp.interp.text.op_parser.OpPrinter`), which look at definitions.
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
    """The class of a type in MLIR (``builtin.vector``). A custom form that writes the type requires this class."""

    name: str
    accepts: Callable[[Type], bool]


@dataclass(frozen=True, slots=True)
class Extension:
    """Types that MLIR rejects, and halfulp accepts in a module that asks for them.

    ``attribute``: the name of the attribute by which an op around the op asks for them.
    ``hint``: what a rejection says beside MLIR's words.
    """

    attribute: str
    accepts: Callable[[Type], bool]
    hint: str


@dataclass(frozen=True, slots=True)
class TypeConstraint:
    """A predicate on types with MLIR's description of it, as diagnostics print it ("must be floating-point-like").

    ``kind``: the class of the type in MLIR's declaration, if any.
    ``builds``: the only type that is accepted; the text need not name it. For builtin types it is found without
    ``builds``.
    ``extension``: types that are also accepted in modules that ask for them.
    """

    description: str
    accepts: Callable[[Type], bool]
    kind: TypeKind | None = None
    builds: Type | None = None
    extension: Extension | None = None


class Arity(Enum):
    """The number of values that a declared operand, result or successor may have."""

    ONE = "one"
    OPTIONAL = "optional"
    VARIADIC = "variadic"


@dataclass(frozen=True, slots=True)
class Slot:
    """A named operand or result in the declaration of an op."""

    name: str
    constraint: TypeConstraint
    arity: Arity = Arity.ONE


def variadic(name: str, constraint: TypeConstraint) -> Slot:
    """Return the slot of any number of operands or results."""
    return Slot(name, constraint, Arity.VARIADIC)


def optional(name: str, constraint: TypeConstraint) -> Slot:
    """Return the slot of one operand or result that may be left out."""
    return Slot(name, constraint, Arity.OPTIONAL)


@dataclass(frozen=True, slots=True)
class AttributeConstraint:
    """A predicate on attributes with MLIR's description of it."""

    description: str
    accepts: Callable[[Attribute], bool]
    #: The character with which the text of each accepted attribute begins; "" if there are several.
    first: str = ""
    #: How a custom form writes an accepted attribute; None: like any other attribute.
    form: ParameterKind | None = None


@dataclass(frozen=True, slots=True)
class Property:
    """An inherent attribute of an op. In bytecode the properties are in alphabetical order of their names.

    ``default``: the value of an absent property: the value of an enum, or an attribute. The property is always stored;
    the generic form prints the default, and the custom form omits it.
    ``optional``: True if the property may be absent.
    ``elided``: the value that the custom form leaves out of its dictionary, since an absent property means the same.
    ``since``: the schema that introduced it. ``until``: the first schema that does not have it any more; None if all
    later ones have it. There it is an attribute like any other, or the value ``renewed`` of a property of another name.
    ``plain``: True if MLIR before ``since`` has it as an attribute like any other, with the same effect on results:
    none. If it is False, this MLIR must not be given the property, since it would ignore it.
    ``flag``: True if MLIR stores the property as a truth value and not as an attribute: it is ``unit`` for true, else
    ``false``. It is always stored.
    ``number``: True if MLIR stores the property as a number and not as an attribute. It has a ``default``.
    ``groups``: the number of declared results, if the property says how many results each of them has.
    ``late``: True if builds of the schema's version are in use that do not have the property. Their bytecode is read,
    and is written where no op of the name has the property.
    """

    name: str
    kind: EnumDefinition | AttributeConstraint
    optional: bool = False
    default: int | Attribute | None = None
    elided: Attribute | None = None
    since: Schema = Schema.MLIR22
    until: Schema | None = None
    renewed: tuple[str, Attribute] | None = None
    flag: bool = False
    number: bool = False
    groups: int = 0
    late: bool = False
    plain: bool = False
    #: The attribute that an absent property means; None if it means nothing.
    implied: Attribute | None = field(init=False)

    def __post_init__(self) -> None:
        implied = self.default
        if isinstance(implied, int):
            assert isinstance(self.kind, EnumDefinition)
            implied = self.kind.attribute(implied)
        object.__setattr__(self, "implied", implied)

    def is_in(self, schema: Schema) -> bool:
        """Tell whether MLIR of this schema has the property."""
        return self.since <= schema and (self.until is None or schema < self.until)

    def is_attribute_in(self, schema: Schema) -> bool:
        """Tell whether MLIR of this schema has the property as an attribute like any other."""
        return (self.plain and schema < self.since) or (
            self.until is not None and self.until <= schema and self.renewed is None
        )


@dataclass(frozen=True, slots=True)
class RegionSlot:
    """A named region in the declaration of an op."""

    name: str
    arity: Arity = Arity.ONE


@dataclass(frozen=True, slots=True)
class SuccessorSlot:
    """A named successor block in the declaration of an op."""

    name: str
    arity: Arity = Arity.ONE


CustomPrint = Callable[[OpPrinter, Op], str | None]


class CustomForm(NamedTuple):
    """A hand-written custom form.

    ``parse`` reads the op after its name; it takes the parser, the token of the name and the declaration. ``print``
    returns the text after the name, or None if the op is printed in generic form.
    """

    parse: Callable[[OpParser, int, OpDefinition], Op]
    print: CustomPrint


class Unprefixed(str):
    """A verifier's message that MLIR prints without ``'dialect.op' op`` in front."""

    __slots__ = ()


AttributeRule = Callable[[Any, str, Attribute], str | None]
"""Returns what is wrong with an attribute of an op, as a verifier does: None, or the message."""


@dataclass(frozen=True, eq=False)
class OpDefinition:
    """The declaration of one op.

    ``assembly``: MLIR's declarative notation.
    ``custom``: a hand-written pair of parser and printer instead. With neither, the op has only its generic form.
    ``verify``: a function that returns None, or the message of an error in MLIR's words. "'NAME' op " is put before the
    message, unless it is `Unprefixed`.
    ``verify_regions``: the same, but it is called after the regions of the op were verified.
    ``verify_symbols``: a function that raises VerifyError for a wrong use of symbols.
    ``named_results``: the printed names of the results (``%low, %high``), or a function of the op that returns them. A
    result whose name is None shares the name of the result before it. The empty tuple means that results get numbers.
    ``named_arguments``: a function of the op that returns the printed names of the arguments of its entry blocks.
    ``implicit_terminator``: the op that may be left out at the end of a region.
    ``evaluate``: one of the evaluator classes of `halfulp.interp.run.evaluators`; None if the op cannot be executed
    (`Unsupported`).
    ``default_dialect``: the dialect whose ops may be written without its name inside the regions.
    ``assume``: a function for an op that is made without text (`interp.declare.build`). It gets the properties and the
    number of operands. It adds the properties that may be omitted, and returns the element types of the operands that
    the properties determine.
    ``choices``: properties that MLIR's op does not have: a program cannot have them, but an op that is made without
    text can (``rounding=`` of `halfulp.eval`).
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
        """Whether the op has inherent attributes."""
        return bool(self.properties) or Trait.ATTR_SIZED_OPERAND_SEGMENTS in self.traits

    def property_named(self, name: str) -> Property | None:
        """Return the declared property of that name, if any."""
        return next((prop for prop in self.properties if prop.name == name), None)


class Dialect:
    """A dialect: its name, its ops and attributes, and the parsers of its types.

    ``types`` maps a mnemonic (``uniform``) to a function that parses the text after it; see `halfulp.interp.text`. If
    the name of the dialect is empty, its ops are functions such as "sigmoid", which only `Registry.lookup` finds.
    ``partial``: the dialect has more ops and attributes than are declared here. Such ops and attributes are kept as
    those of an unregistered dialect. ``no_type``, ``no_attribute``: the dialect's own words for a type and for an
    attribute that it does not have. ``attribute_rule``, ``argument_rule``: the rules for discardable attributes of the
    dialect on any op, and on an argument of a function; each is given the op, and the attribute with its full name.
    """

    def __init__(self, name: str, partial: bool = False, no_type: str = "", no_attribute: str = "") -> None:
        self.name = name
        self.partial = partial
        self.no_type = no_type or f"dialect '{name}' has no type '{{mnemonic}}'"
        self.no_attribute = no_attribute or f"unknown attribute `{{mnemonic}}` in dialect `{name}`"
        self.ops: dict[str, OpDefinition] = {}
        self.enums: dict[str, EnumDefinition] = {}
        self.attributes: dict[str, AttributeDefinition] = {}
        self.types: dict[str, Callable[..., Type]] = {}
        self.attribute_rule: AttributeRule | None = None
        self.argument_rule: AttributeRule | None = None

    def op(self, mnemonic: str, assembly: str | None = None, **declaration: Any) -> OpDefinition:
        """Declare an op. ``operands`` and ``results`` may be mappings from names to constraints.

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
        """Declare an enum attribute of the dialect, ``#dialect.mnemonic<…>``."""
        assert definition.mnemonic is not None
        self.enums[definition.mnemonic.partition(".")[2]] = definition
        return definition

    def attribute(self, mnemonic: str, assembly: str = "", **declaration: Any) -> AttributeDefinition:
        """Declare an attribute. ``interfaces`` is a collection of words, the roles of the attribute."""
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


# --- constraints ------------------------------------------------------------------------------------------------------
#
# Type and attribute constraints that the dialects share, with MLIR's descriptions (`CommonTypeConstraints.td`).


def _is_float(type_: ty.Type) -> bool:
    return isinstance(type_, ty.FloatType)


def _is_signless_or_index(type_: ty.Type) -> bool:
    return ty.is_signless(type_) or isinstance(type_, ty.IndexType)


def _is_bool(type_: ty.Type) -> bool:
    return type_ == ty.I1


def _like(test: Callable[[ty.Type], bool]) -> Callable[[ty.Type], bool]:
    """Return a test for a type itself, or a vector or tensor of it."""

    def accepts(type_: ty.Type) -> bool:
        return test(type_.element if isinstance(type_, ty.VectorType | ty.TensorType) else type_)

    return accepts


def _like_or_memref(test: Callable[[ty.Type], bool]) -> Callable[[ty.Type], bool]:
    def accepts(type_: ty.Type) -> bool:
        unranked = isinstance(type_, ty.MemRefType) and type_.shape is None
        return not unranked and test(ty.element_type(type_))

    return accepts


def _scalar_or_tensor(test: Callable[[ty.Type], bool]) -> Callable[[ty.Type], bool]:
    def accepts(type_: ty.Type) -> bool:
        return test(type_.element if isinstance(type_, ty.TensorType) else type_)

    return accepts


def _is_quantized(type_: ty.Type) -> bool:
    return isinstance(type_, ty.UniformQuantizedType | ty.AnyQuantizedType | ty.CalibratedQuantizedType)


def _is_function(type_: ty.Type) -> bool:
    return isinstance(type_, ty.FunctionType)


_RANKED = TypeKind("builtin.tensor", lambda type_: isinstance(type_, ty.TensorType) and type_.shape is not None)
_TENSOR = TypeKind("", lambda type_: isinstance(type_, ty.TensorType))
_VECTOR = TypeKind("builtin.vector", lambda type_: isinstance(type_, ty.VectorType))
_FUNCTION = TypeKind("builtin.function", _is_function)

MEMREF_KIND = TypeKind("builtin.memref", lambda type_: isinstance(type_, ty.MemRefType) and type_.shape is not None)

ANY = TypeConstraint("any type", lambda type_: True)
INTEGER_OR_INDEX = TypeConstraint("signless integer or index", _is_signless_or_index)
SHAPED = TypeConstraint("shaped of any type values", lambda type_: isinstance(type_, ty.ShapedType))
INTEGER = TypeConstraint("integer", lambda type_: isinstance(type_, ty.IntegerType))
BOOL = TypeConstraint("1-bit signless integer", _is_bool)
FUNCTION = TypeConstraint("function type", _is_function, _FUNCTION)
FLOAT_LIKE = TypeConstraint("floating-point-like", _like(_is_float))
INTEGER_LIKE = TypeConstraint("signless-integer-like", _like(_is_signless_or_index))
FIXED_WIDTH_INTEGER_LIKE = TypeConstraint("signless-fixed-width-integer-like", _like(ty.is_signless))
BOOL_LIKE = TypeConstraint("bool-like", _like(_is_bool))
BITCASTABLE = TypeConstraint(
    "signless-integer-or-float-like or memref of signless-integer or float",
    _like_or_memref(lambda type_: ty.is_signless(type_) or _is_float(type_)),
)
INDEX_CASTABLE = TypeConstraint(
    "signless-integer-like or memref of signless-integer", _like_or_memref(_is_signless_or_index)
)
INDEX = TypeConstraint("index", lambda type_: isinstance(type_, ty.IndexType))
TENSOR = TypeConstraint("tensor of any type values", lambda type_: isinstance(type_, ty.TensorType), _TENSOR)
RANKED_TENSOR = TypeConstraint(
    "ranked tensor of any type values",
    lambda type_: isinstance(type_, ty.TensorType) and type_.shape is not None,
    _RANKED,
)
NON_ZERO_RANK_TENSOR = TypeConstraint(
    "non-0-ranked or unranked tensor", lambda type_: isinstance(type_, ty.TensorType) and type_.shape != (), _TENSOR
)
STATIC_TENSOR = TypeConstraint(
    "statically shaped tensor of any type values",
    lambda type_: isinstance(type_, ty.TensorType) and ty.element_count(type_) is not None,
    _RANKED,
)
VECTOR = TypeConstraint("vector of any type values", lambda type_: isinstance(type_, ty.VectorType), _VECTOR)
# MLIR describes it by nothing.
PRINTABLE = TypeConstraint(
    "",
    lambda type_: isinstance(
        type_.element if isinstance(type_, ty.VectorType) else type_, ty.IntegerType | ty.IndexType | ty.FloatType
    ),
)
FLOAT_OR_TENSOR = TypeConstraint("scalar or tensor of floating-point", _scalar_or_tensor(_is_float))
QUANTIZED_OR_TENSOR = TypeConstraint("scalar or tensor of quantized type", _scalar_or_tensor(_is_quantized))
STORAGE_OR_TENSOR = TypeConstraint(
    "scalar or tensor of signless integer or quantized type",
    _scalar_or_tensor(lambda type_: ty.is_signless(type_) or _is_quantized(type_)),
)


def _of(*kinds: type[at.Attribute]) -> Callable[[at.Attribute], bool]:
    return lambda attribute: isinstance(attribute, kinds)


def _array_of(kind: type[at.Attribute]) -> Callable[[at.Attribute], bool]:
    return lambda attribute: (
        isinstance(attribute, at.ArrayAttr) and all(isinstance(e, kind) for e in attribute.elements)
    )


def _dense_array_of(element: ty.Type) -> Callable[[at.Attribute], bool]:
    return lambda attribute: isinstance(attribute, at.DenseArrayAttr) and attribute.element == element


def _number_of(type_: ty.Type) -> Callable[[at.Attribute], bool]:
    return lambda attribute: isinstance(attribute, at.IntegerAttr) and attribute.type == type_


def _is_function_type(attribute: at.Attribute) -> bool:
    return isinstance(attribute, at.TypeAttr) and isinstance(attribute.type, ty.FunctionType)


def _is_typed(attribute: at.Attribute) -> bool:
    return isinstance(getattr(attribute, "type", None), ty.Type) and not isinstance(attribute, at.TypeAttr)


UNIT_ATTR = AttributeConstraint("unit attribute", _of(at.UnitAttr))
BOOL_ATTR = AttributeConstraint("bool attribute", _number_of(ty.I1))
STRING_ATTR = AttributeConstraint("string attribute", _of(at.StringAttr))
SYMBOL_NAME_ATTR = replace(
    STRING_ATTR,
    first="@",
    form=ParameterKind(lambda p: at.StringAttr(p.symbol()), lambda name, names: spell_symbol(name.value)),
)
"""The name of a symbol, which custom forms write with its ``@``."""
SYMBOL_REF_ATTR = AttributeConstraint("symbol reference attribute", _of(at.SymbolRefAttr))
FLAT_SYMBOL_REF_ATTR = AttributeConstraint(
    "flat symbol reference attribute",
    lambda attribute: isinstance(attribute, at.SymbolRefAttr) and not attribute.nested,
)
FUNCTION_TYPE_ATTR = AttributeConstraint("type attribute of function type", _is_function_type)
DICTIONARY_ARRAY_ATTR = AttributeConstraint("Array of dictionary attributes", _array_of(at.DictionaryAttr))
TYPED_ATTR = AttributeConstraint("TypedAttr instance", _is_typed)
INTEGER_ELEMENTS_ATTR = AttributeConstraint("integer elements attribute", _of(at.DenseElementsAttr))
POSITION_ARRAY_ATTR = AttributeConstraint("i64 dense array attribute", _of(at.DenseArrayAttr))
INTEGER_ARRAY_ATTR = AttributeConstraint("i32 dense array attribute", _dense_array_of(ty.I32))
INTEGER_64_ARRAY_ATTR = AttributeConstraint("i64 dense array attribute", _dense_array_of(ty.I64))
INTEGER_64_ATTR = AttributeConstraint("64-bit signless integer attribute", _number_of(ty.I64))
NON_NEGATIVE_ATTR = AttributeConstraint(
    "64-bit signless integer attribute whose minimum value is 0",
    lambda attribute: isinstance(attribute, at.IntegerAttr) and attribute.type == ty.I64 and attribute.value >= 0,
)
INDEX_ATTR = AttributeConstraint("index attribute", _number_of(ty.INDEX))


def array_of_enum(description: str, enum: EnumDefinition) -> AttributeConstraint:
    """Return the constraint for an array of cases of an enum."""
    return AttributeConstraint(
        description,
        lambda attribute: isinstance(attribute, at.ArrayAttr) and all(map(enum.accepts, attribute.elements)),
    )


AFFINE_MAP_ATTR = AttributeConstraint("AffineMap attribute", _of(at.AffineMapAttr))
INTEGER_SET_ATTR = AttributeConstraint("IntegerSet attribute", _of(at.IntegerSetAttr))
AFFINE_MAP_ARRAY_ATTR = AttributeConstraint("indexing affine maps", _array_of(at.AffineMapAttr))
ARRAY_ATTR = AttributeConstraint("array attribute", _of(at.ArrayAttr))
DICTIONARY_ATTR = AttributeConstraint("dictionary of named attribute values", _of(at.DictionaryAttr))
ANY_ATTR = AttributeConstraint("any attribute", lambda attribute: True)

_SAMPLES = (ty.I1, ty.I32, ty.I64, ty.INDEX, ty.F("f32"), ty.F("f64"))


@cache
def only_type(constraint: TypeConstraint) -> ty.Type | None:
    """Return the only type that a constraint allows, or None: an operand of such a type needs no type in the text."""
    if constraint.builds is not None:
        return constraint.builds
    accepted = [type for type in _SAMPLES if constraint.accepts(type)]
    if len(accepted) != 1 or "like" in constraint.description or constraint.accepts(ty.TensorType((1,), accepted[0])):
        return None
    return accepted[0]
