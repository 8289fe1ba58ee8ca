"""MLIR's attributes: frozen, hashable, equal by value. ``str(attribute)`` is the spelling mlir-opt prints.

Elements are codes, as everywhere in halfulp: raw bit patterns, zero-extended, in the smallest of uint8/16/32/64 that
holds the width; wider elements have one more trailing axis of uint64 limbs, least significant first.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from halfulp.interp.ir.affine_expressions import AffineExpr, Dimension
from halfulp.interp.ir.affine_expressions import spell as spell_affine
from halfulp.interp.ir.literals import decimal_text, is_bare_identifier, quoted, spell_float, spell_symbol
from halfulp.interp.ir.types import (
    I1,
    I64,
    ComplexType,
    FloatType,
    IntegerType,
    MemRefType,
    TensorType,
    Type,
    VectorType,
    fields_only,
    immutable,
)

if TYPE_CHECKING:
    from halfulp.interp.declare.declarations import AttributeDefinition, EnumDefinition

Codes = npt.NDArray[Any]
_NO_NAMES: Mapping[object, str] = {}

INDEX_WIDTH = 64


@immutable
class Attribute:
    """The base of all attributes."""

    __getstate__ = fields_only

    def spell(self, names: Mapping[object, str]) -> str:
        """The spelling, with those attributes inside that ``names`` has an alias for spelled by it."""
        raise NotImplementedError

    def __str__(self) -> str:
        return self.spell(_NO_NAMES)


@immutable
class UnitAttr(Attribute):
    """``unit``: an attribute that says something by being there."""

    def spell(self, names: Mapping[object, str]) -> str:
        """``unit``."""
        return "unit"


@immutable
class IntegerAttr(Attribute):
    """``5 : i32``, ``true``. ``value`` is the number MLIR prints: signed unless the type is unsigned; i1 is 0 or 1."""

    value: int
    type: Type

    @property
    def code(self) -> int:
        """The bit pattern (an index has 64 bits)."""
        width = self.type.width if isinstance(self.type, IntegerType) else INDEX_WIDTH
        return self.value & ((1 << width) - 1)

    def spell(self, names: Mapping[object, str]) -> str:
        """``true``, ``false``, or the value with its type."""
        if self.type == I1:
            return "true" if self.value else "false"
        return f"{decimal_text(self.value)} : {self.type.spell(names)}"


def BoolAttr(value: bool) -> IntegerAttr:
    """``true`` or ``false``."""
    return IntegerAttr(int(value), I1)


def integer_of_code(code: int, type: Type) -> int:
    """The number MLIR prints for a bit pattern of ``type``: signed unless unsigned; i1 is 0 or 1; index is signed."""
    width = type.width if isinstance(type, IntegerType) else INDEX_WIDTH
    unsigned = isinstance(type, IntegerType) and (type.signedness == "unsigned" or type == I1)
    return code if unsigned or not width or not code >> (width - 1) else code - (1 << width)


@immutable
class FloatAttr(Attribute):
    """``1.0 : f32``: a bit pattern of a float type."""

    code: int
    type: FloatType

    def spell(self, names: Mapping[object, str]) -> str:
        """The literal with its type."""
        return f"{spell_float(self.type.format, self.code)} : {self.type.spell(names)}"


@immutable
class StringAttr(Attribute):
    """``"text"``, possibly typed. Bytes that are not UTF-8 are surrogates in ``value`` (``surrogateescape``)."""

    value: str
    type: Type | None = None

    @property
    def data(self) -> bytes:
        """The bytes of the string."""
        return self.value.encode("utf-8", "surrogateescape")

    def spell(self, names: Mapping[object, str]) -> str:
        """The literal, with its type if it has one."""
        return quoted(self.value) if self.type is None else f"{quoted(self.value)} : {self.type.spell(names)}"


@immutable
class ArrayAttr(Attribute):
    """``[a, b]``."""

    elements: tuple[Attribute, ...]

    def spell(self, names: Mapping[object, str]) -> str:
        """The elements in square brackets."""
        return f"[{', '.join(spell_untyped(element, names) for element in self.elements)}]"


@immutable
class DictionaryAttr(Attribute):
    """``{name = value}``: entries sorted by name, each name once."""

    entries: tuple[tuple[str, Attribute], ...]

    @classmethod
    def of(cls, entries: Mapping[str, Attribute]) -> DictionaryAttr:
        """The dictionary of a mapping, sorted."""
        return cls(tuple(sorted(entries.items(), key=lambda entry: entry[0].encode("utf-8", "surrogateescape"))))

    @cached_property
    def mapping(self) -> Mapping[str, Attribute]:
        """The entries by name."""
        return dict(self.entries)

    def spell(self, names: Mapping[object, str]) -> str:
        """The entries in braces; the value ``unit`` is elided."""
        return spell_dictionary(self.mapping, names)


def spell_dictionary(entries: Mapping[str, Attribute], names: Mapping[object, str]) -> str:
    """``{name = value, …}`` of entries already in order; the value ``unit`` is elided."""
    return f"{{{', '.join(_entry(name, value, names) for name, value in entries.items())}}}"


def _entry(name: str, value: Attribute, names: Mapping[object, str]) -> str:
    key = name if is_bare_identifier(name) else quoted(name)
    return key if isinstance(value, UnitAttr) else f"{key} = {spell_nested(value, names)}"


@immutable
class TypeAttr(Attribute):
    """A type as an attribute."""

    type: Type

    def spell(self, names: Mapping[object, str]) -> str:
        """The type."""
        return names.get(self.type) or self.type.spell(names)


@immutable
class SymbolRefAttr(Attribute):
    """``@root::@nested``."""

    root: str
    nested: tuple[str, ...] = ()

    def spell(self, names: Mapping[object, str]) -> str:
        """The names joined by ``::``."""
        return "::".join(spell_symbol(name) for name in (self.root, *self.nested))


@immutable
class EnumAttr(Attribute):
    """An enum attribute of a dialect's own: ``#arith.fastmath<nnan,contract>``."""

    definition: EnumDefinition
    value: int

    @property
    def keywords(self) -> str:
        """What a custom form prints: the keyword, or the flags joined."""
        return self.definition.spell(self.value)

    def spell(self, names: Mapping[object, str]) -> str:
        """``#dialect.mnemonic<keywords>``, without brackets where there is no keyword."""
        keywords = self.keywords
        return f"#{self.definition.mnemonic}<{keywords}>" if keywords else f"#{self.definition.mnemonic}"


@immutable
class DialectAttr(Attribute):
    """An attribute that a dialect declares with parameters: ``#dialect.mnemonic<…>``. ``values``: one per parameter, in
    the order of the declaration.
    """

    definition: AttributeDefinition
    values: tuple[Any, ...]

    def __getitem__(self, name: str) -> Any:
        """The value of a parameter. Raises KeyError."""
        for parameter, value in zip(self.definition.parameters, self.values, strict=True):
            if parameter.name == name:
                return value
        raise KeyError(name)

    @cached_property
    def parts(self) -> tuple[Attribute | Type, ...]:
        """The attributes and types among the values."""
        return tuple(value for value in self.values if isinstance(value, Attribute | Type))

    def spell(self, names: Mapping[object, str]) -> str:
        """``#dialect.mnemonic`` and the parameters."""
        return f"#{self.definition.name}{self.spell_parameters(names)}"

    def spell_parameters(self, names: Mapping[object, str]) -> str:
        """What follows the mnemonic; all there is where the kind of attribute is known."""
        from halfulp.interp.text.parameters import compile_speller

        return compile_speller(self.definition)(self, names)


ElementsType = TensorType | VectorType | MemRefType


def constant_codes(codes: Codes) -> Codes:
    """A copy of an array that nobody can make writable, since it lies in immutable bytes: views of it may be handed
    out, and ``setflags(write=True)`` fails on all of them.
    """
    return np.ndarray(codes.shape, codes.dtype, codes.tobytes())


@dataclass(frozen=True, eq=False)
class DenseElementsAttr(Attribute):
    """``dense<…>`` of integers, index, floats or complex numbers of these, in a statically shaped tensor or vector.

    ``codes``: read-only codes, row-major, of the type's shape; of shape () for a splat. A complex element has one
    more axis of two (real, imaginary) before the axis of limbs.
    """

    type: ElementsType
    codes: Codes
    splat: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "codes", constant_codes(self.codes))

    @property
    def element_shape(self) -> tuple[int, ...]:
        """The trailing axes of one element: () for a code, (2,) complex, (limbs,) wide, (2, limbs) wide complex."""
        return self.codes.shape if self.splat else self.codes.shape[len(self._shape) :]

    @property
    def _shape(self) -> tuple[int, ...]:
        return tuple(size for size in self.type.shape or () if size is not None)

    def array(self) -> Codes:
        """The codes in the type's full shape: a read-only view, broadcast without a copy for a splat."""
        return np.broadcast_to(self.codes, self._shape + self.element_shape)

    def _key(self) -> tuple[object, ...]:
        return self.type, self.splat, self.codes.tobytes()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, DenseElementsAttr) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def spell(self, names: Mapping[object, str]) -> str:
        """``dense<…> : type``; more than a hundred elements as a string of hexadecimal digits."""
        packed = not isinstance(names, Names) or names.packed
        return f"dense<{self.literal_or_blob(packed)}> : {self.type.spell(names)}"

    def literal_or_blob(self, packed: bool) -> str:
        """What mlir-opt prints between the brackets."""
        if self.splat or self.codes.size // max(1, prod(self.element_shape)) <= MAX_PLAIN_ELEMENTS:
            return self.literal()
        return f'"0x{self.blob(packed).hex().upper()}"'

    def literal(self) -> str:
        """What stands between the brackets: one element for a splat, nothing where there are no elements."""
        if not self.codes.size:
            return ""
        element = self.type.element
        flat = self.codes.reshape(-1, *self.element_shape)
        texts = list(_element_texts(element, flat))
        return texts[0] if self.splat else nest(texts, self._shape)

    def blob(self, packed: bool) -> bytes:
        """The elements as MLIR keeps them, each in whole bytes, little-endian; i1 eight to the byte if ``packed``."""
        element = self.type.element
        if element == I1:
            bits = self.codes.reshape(-1)
            return np.packbits(bits, bitorder="little").tobytes() if packed else bits.tobytes()
        scalar = element.element if isinstance(element, ComplexType) else element
        width = INDEX_WIDTH
        if isinstance(scalar, IntegerType):
            width = scalar.width
        elif isinstance(scalar, FloatType):
            width = scalar.format.bits
        limbs = self.codes.shape[-1] if width > 64 else 1
        rows = np.ascontiguousarray(self.codes.astype(self.codes.dtype.newbyteorder("<"))).view(np.uint8)
        rows = rows.reshape(-1, limbs * self.codes.dtype.itemsize)
        return rows[:, : -(-width // 8)].tobytes()


# More elements than this are printed as one string of hexadecimal digits.
MAX_PLAIN_ELEMENTS = 100


def _element_texts(element: Type, flat: Codes) -> Iterator[str]:
    """The spelling of each code along the first axis."""
    if isinstance(element, ComplexType):
        parts = list(_element_texts(element.element, flat.reshape(-1, *flat.shape[2:])))
        return (f"({re},{im})" for re, im in zip(parts[::2], parts[1::2], strict=True))
    codes = python_codes(flat, wide=flat.ndim > 1)
    if isinstance(element, FloatType):
        format = element.format
        return (spell_float(format, code) for code in codes)
    if element == I1:
        return ("true" if code else "false" for code in codes)
    return (decimal_text(integer_of_code(code, element)) for code in codes)


def python_codes(flat: Codes, wide: bool) -> list[int]:
    """The codes along the first axis as Python integers; ``wide``: the second axis holds limbs."""
    if not wide:
        codes: list[int] = flat.tolist()
        return codes
    return [int.from_bytes(row.astype("<u8").tobytes(), "little") for row in flat]


def nest(texts: list[str], shape: tuple[int, ...]) -> str:
    """Row-major texts in nested square brackets; a single text bare for shape ()."""
    for size in reversed(shape):
        texts = [f"[{', '.join(texts[i : i + size])}]" for i in range(0, len(texts), size)]
    return texts[0]


@immutable
class DenseStringAttr(Attribute):
    """``dense<…>`` of strings, in a tensor of any element type; one value for a splat."""

    type: ElementsType
    values: tuple[str, ...]
    splat: bool = False

    def spell(self, names: Mapping[object, str]) -> str:
        """``dense<…> : type``."""
        return f"dense<{self.literal()}> : {self.type.spell(names)}"

    def literal(self) -> str:
        """What stands between the brackets: one string for a splat, nothing where there are no elements."""
        texts = [quoted(value) for value in self.values]
        shape = tuple(size for size in self.type.shape or () if size is not None)
        return texts[0] if self.splat else nest(texts, shape) if texts else ""


@immutable
class SparseElementsAttr(Attribute):
    """``sparse<indices, values> : type``: coordinates, one row per value; every other element is zero."""

    type: ElementsType
    indices: DenseElementsAttr
    values: DenseElementsAttr | DenseStringAttr

    def spell(self, names: Mapping[object, str]) -> str:
        """``sparse<…> : type``."""
        packed = not isinstance(names, Names) or names.packed
        values = self.values
        text = values.literal_or_blob(packed) if isinstance(values, DenseElementsAttr) else values.literal()
        literal = f"{self.indices.literal()}, {text}" if self.indices.codes.size else ""
        return f"sparse<{literal}> : {self.type.spell(names)}"


@immutable
class DenseArrayAttr(Attribute):
    """``array<i32: 1, 2>``: ``codes`` as Python integers (bit patterns) of the element type."""

    element: Type
    codes: tuple[int, ...]

    def spell(self, names: Mapping[object, str]) -> str:
        """``array<type: values>``."""
        values = f": {self.values_text()}" if self.codes else ""
        return f"array<{self.element.spell(names)}{values}>"

    def values_text(self) -> str:
        """The values joined by commas."""
        element = self.element
        if isinstance(element, FloatType):
            return ", ".join(spell_float(element.format, code) for code in self.codes)
        if element == I1:
            return ", ".join("true" if code else "false" for code in self.codes)
        return ", ".join(str(integer_of_code(code, element)) for code in self.codes)

    @property
    def values(self) -> tuple[int, ...]:
        """The numbers, for an integer element type."""
        return tuple(integer_of_code(code, self.element) for code in self.codes)


@immutable
class DenseResourceAttr(Attribute):
    """``dense_resource<key> : type``: elements kept in the file's resource section under ``key``."""

    key: str
    type: ElementsType

    def spell(self, names: Mapping[object, str]) -> str:
        """``dense_resource<key> : type``."""
        key = self.key if is_bare_identifier(self.key) else quoted(self.key)
        return f"dense_resource<{key}> : {self.type.spell(names)}"


@immutable
class AffineMapAttr(Attribute):
    """``affine_map<(d0)[s0] -> (d0 + s0)>``: so many dimensions and symbols, and the results."""

    dimensions: int
    symbols: int
    results: tuple[AffineExpr, ...]

    @property
    def is_identity(self) -> bool:
        """Whether the map returns its dimensions in order. (MLIR does not ask about symbols.)"""
        return self.results == tuple(Dimension(position) for position in range(self.dimensions))

    def spell(self, names: Mapping[object, str]) -> str:
        """``affine_map<…>``."""
        results = ", ".join(spell_affine(result) for result in self.results)
        return f"affine_map<{_affine_inputs(self.dimensions, self.symbols)} -> ({results})>"


@immutable
class IntegerSetAttr(Attribute):
    """``affine_set<(d0) : (d0 - 2 >= 0)>``: constraints, each an expression that is zero (True) or at least zero."""

    dimensions: int
    symbols: int
    constraints: tuple[tuple[AffineExpr, bool], ...]

    def spell(self, names: Mapping[object, str]) -> str:
        """``affine_set<…>``."""
        texts = (f"{spell_affine(expr)} {'==' if equal else '>='} 0" for expr, equal in self.constraints)
        return f"affine_set<{_affine_inputs(self.dimensions, self.symbols)} : ({', '.join(texts)})>"


def _affine_inputs(dimensions: int, symbols: int) -> str:
    """``(d0, d1)[s0]``."""
    named = f"[{', '.join(f's{number}' for number in range(symbols))}]" if symbols else ""
    return f"({', '.join(f'd{number}' for number in range(dimensions))}){named}"


@immutable
class StridedLayoutAttr(Attribute):
    """``strided<[strides], offset: n>``; None stands for ``?``."""

    strides: tuple[int | None, ...]
    offset: int | None = 0

    def spell(self, names: Mapping[object, str]) -> str:
        """``strided<…>``; an offset of 0 is elided."""
        strides = ", ".join("?" if stride is None else str(stride) for stride in self.strides)
        offset = "" if self.offset == 0 else f", offset: {'?' if self.offset is None else self.offset}"
        return f"strided<[{strides}]{offset}>"


@dataclass(frozen=True, eq=False)
class DistinctAttr(Attribute):
    """``distinct[id]<attribute>``: equal only to itself."""

    attribute: Attribute
    id: int = field(default=0)

    def __eq__(self, other: object) -> bool:
        return self is other

    def __hash__(self) -> int:
        return id(self)

    def spell(self, names: Mapping[object, str]) -> str:
        """``distinct[id]<attribute>``; the attribute ``unit`` is elided. A printer numbers them as they come."""
        number = names.number(self) if isinstance(names, Names) else self.id
        inner = "" if isinstance(self.attribute, UnitAttr) else spell_nested(self.attribute, names)
        return f"distinct[{number}]<{inner}>"


class Names(dict[object, str]):
    """The aliases of one printed module, and the numbers of its distinct attributes, in the order they are met.

    ``packed``: blobs of i1 hold eight elements to the byte, as MLIR 22 has them.
    """

    def __init__(self, packed: bool = True) -> None:
        super().__init__()
        self.packed = packed
        self._numbers: dict[DistinctAttr, int] = {}

    def number(self, distinct: DistinctAttr) -> int:
        """The number of a distinct attribute."""
        return self._numbers.setdefault(distinct, len(self._numbers))


@immutable
class OpaqueAttr(Attribute):
    """An attribute of a dialect that is not registered, kept as written: ``#dialect.body`` or ``#dialect<body>``.

    ``body`` is what follows the dialect's name, with its dot or bracket. ``type`` is the type written after it, if any.
    """

    dialect: str
    body: str
    type: Type | None = None

    def spell(self, names: Mapping[object, str]) -> str:
        """As it was written."""
        type = "" if self.type is None else f" : {self.type.spell(names)}"
        return f"#{self.dialect}{self.body}{type}"


def spell_untyped(attribute: Attribute, names: Mapping[object, str] = _NO_NAMES) -> str:
    """The spelling where the type of an i64 or f64 literal goes without saying: in arrays and as a memory space."""
    if isinstance(attribute, IntegerAttr) and attribute.type == I64:
        return str(attribute.value)
    if isinstance(attribute, FloatAttr) and attribute.type.format.name == "f64":
        spelling = spell_float(attribute.type.format, attribute.code)
        # Bits without a type would be an integer.
        return attribute.spell(names) if spelling.startswith("0x") else spelling
    return spell_nested(attribute, names)


def spell_nested(attribute: Attribute, names: Mapping[object, str]) -> str:
    """The spelling of an attribute inside another: its alias, if it has one."""
    # A DenseElementsAttr hashes all its bytes, and never has an alias.
    if names and not isinstance(attribute, DenseElementsAttr):
        return names.get(attribute) or attribute.spell(names)
    return attribute.spell(names)
