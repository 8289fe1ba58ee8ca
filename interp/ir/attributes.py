"""MLIR's attributes: frozen, hashable, equal by value. ``str(attribute)`` is the spelling mlir-opt prints.

Elements are codes, as everywhere in halfulp: raw bit patterns, zero-extended, in the smallest of uint8/16/32/64 that
holds the width. Wider elements have one more trailing axis of uint64 limbs, least significant first.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from math import prod

import numpy as np

from halfulp.fp_formats.formats import Codes
from halfulp.interp.ir import base
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.affine_expressions import AffineExpr, Dimension
from halfulp.interp.ir.affine_expressions import spell as spell_affine
from halfulp.interp.ir.base import Attribute as Attribute


@base.immutable
class UnitAttr(Attribute):
    """``unit``: an attribute that has no value. Only its presence has a meaning."""

    def spell(self, names: Mapping[object, str]) -> str:
        """Return the text ``unit``."""
        return "unit"


@base.immutable
class IntegerAttr(Attribute):
    """An integer: ``5 : i32``, ``true``. ``value`` is the printed number: signed unless the type is unsigned; i1: 0 or
    1.
    """

    value: int
    type: ty.Type

    @property
    def code(self) -> int:
        """The bit pattern (an index has 64 bits)."""
        width = self.type.width if isinstance(self.type, ty.IntegerType) else ty.INDEX_WIDTH
        return self.value & ((1 << width) - 1)

    def spell(self, names: Mapping[object, str]) -> str:
        """Return the text ``true``, ``false``, or the value with its type."""
        if self.type == ty.I1:
            return "true" if self.value else "false"
        return f"{base.decimal_text(self.value)} : {self.type.spell(names)}"

    def spell_untyped(self, names: Mapping[object, str] = base.NO_NAMES) -> str:
        """Return the text of an i64 without its type."""
        return str(self.value) if self.type == ty.I64 else self.spell_nested(names)


def BoolAttr(value: bool) -> IntegerAttr:
    """Return the attribute ``true`` or ``false``."""
    return IntegerAttr(int(value), ty.I1)


def integer_of_code(code: int, type: ty.Type) -> int:
    """Return the number that MLIR prints for a bit pattern: signed unless the type is unsigned; an i1 is 0 or 1."""
    width = type.width if isinstance(type, ty.IntegerType) else ty.INDEX_WIDTH
    unsigned = isinstance(type, ty.IntegerType) and (type.signedness == "unsigned" or type == ty.I1)
    return code if unsigned or not width or not code >> (width - 1) else code - (1 << width)


@base.immutable
class FloatAttr(Attribute):
    """``1.0 : f32``: a float attribute. It is stored as its bit pattern."""

    code: int
    type: ty.FloatType

    def spell(self, names: Mapping[object, str]) -> str:
        """Return the text of the literal with its type."""
        return f"{base.spell_float(self.type.format, self.code)} : {self.type.spell(names)}"

    def spell_untyped(self, names: Mapping[object, str] = base.NO_NAMES) -> str:
        """Return the text of an f64 without its type, unless it is a NaN or an infinity: its bits alone would be an
        integer.
        """
        if self.type.format.name == "f64":
            spelling = base.spell_float(self.type.format, self.code)
            return self.spell(names) if spelling.startswith("0x") else spelling
        return self.spell_nested(names)


@base.immutable
class StringAttr(Attribute):
    """``"text"``, possibly with a type. Bytes that are not UTF-8 are surrogates in ``value`` (``surrogateescape``)."""

    value: str
    type: ty.Type | None = None

    @property
    def data(self) -> bytes:
        """The bytes of the string."""
        return self.value.encode("utf-8", "surrogateescape")

    def spell(self, names: Mapping[object, str]) -> str:
        """Return the text of the literal, with its type if it has one."""
        return base.quoted(self.value) if self.type is None else f"{base.quoted(self.value)} : {self.type.spell(names)}"


@base.immutable
class ArrayAttr(Attribute):
    """An array of attributes: ``[a, b]``."""

    elements: tuple[Attribute, ...]

    def spell(self, names: Mapping[object, str]) -> str:
        """Return the text of the elements in square brackets."""
        return f"[{', '.join(element.spell_untyped(names) for element in self.elements)}]"


@base.immutable
class DictionaryAttr(Attribute):
    """``{name = value}``: entries sorted by name, each name once."""

    entries: tuple[tuple[str, Attribute], ...]

    @classmethod
    def of(cls, entries: Mapping[str, Attribute]) -> DictionaryAttr:
        """Return the dictionary of a mapping, sorted by name."""
        return cls(tuple(sorted(entries.items(), key=lambda entry: entry[0].encode("utf-8", "surrogateescape"))))

    @cached_property
    def mapping(self) -> Mapping[str, Attribute]:
        """The entries by name."""
        return dict(self.entries)

    def spell(self, names: Mapping[object, str]) -> str:
        """Return the text of the entries in braces; the value ``unit`` is left out."""
        return spell_dictionary(self.mapping, names)


def spell_dictionary(entries: Mapping[str, Attribute], names: Mapping[object, str]) -> str:
    """Return the text ``{name = value, …}`` of entries that are in order; the value ``unit`` is left out."""
    return f"{{{', '.join(_entry(name, value, names) for name, value in entries.items())}}}"


def _entry(name: str, value: Attribute, names: Mapping[object, str]) -> str:
    key = name if base.is_bare_identifier(name) else base.quoted(name)
    return key if isinstance(value, UnitAttr) else f"{key} = {value.spell_nested(names)}"


@base.immutable
class TypeAttr(Attribute):
    """A type as an attribute."""

    type: ty.Type

    def spell(self, names: Mapping[object, str]) -> str:
        """Return the text of the type."""
        return names.get(self.type) or self.type.spell(names)


@base.immutable
class SymbolRefAttr(Attribute):
    """A reference to a symbol by its path: ``@root::@nested``."""

    root: str
    nested: tuple[str, ...] = ()

    def spell(self, names: Mapping[object, str]) -> str:
        """Return the text of the names, joined by ``::``."""
        return "::".join(base.spell_symbol(name) for name in (self.root, *self.nested))


ElementsType = ty.TensorType | ty.VectorType | ty.MemRefType


def constant_codes(codes: Codes) -> Codes:
    """Copy an array into immutable bytes. Views of it can then be given to users, because ``setflags(write=True)``
    fails for all of them.
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
        """Return the codes in the type's full shape: a read-only view, broadcast without a copy for a splat."""
        return np.broadcast_to(self.codes, self._shape + self.element_shape)

    def _key(self) -> tuple[object, ...]:
        return self.type, self.splat, self.codes.tobytes()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, DenseElementsAttr) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def spell(self, names: Mapping[object, str]) -> str:
        """Return the text ``dense<…> : type``. More than a hundred elements become a string of hexadecimal digits."""
        packed = not isinstance(names, Names) or names.packed
        return f"dense<{self.literal_or_blob(packed)}> : {self.type.spell(names)}"

    def spell_nested(self, names: Mapping[object, str]) -> str:
        """Return the text of the elements. Unlike the text of other nested attributes it is never an alias: elements
        have none, and a search for one would hash all of them.
        """
        return self.spell(names)

    def literal_or_blob(self, packed: bool) -> str:
        """Return the text of the elements between ``<`` and ``>`` as mlir-opt prints it: literals, or one blob in
        hexadecimal. ``packed``: see `blob`.
        """
        if self.splat or self.codes.size // max(1, prod(self.element_shape)) <= MAX_PLAIN_ELEMENTS:
            return self.literal()
        return f'"0x{self.blob(packed).hex().upper()}"'

    def literal(self) -> str:
        """Return the text of the elements between ``<`` and ``>`` as literals: one literal for a splat, no text without
        elements.
        """
        if not self.codes.size:
            return ""
        element = self.type.element
        flat = self.codes.reshape(-1, *self.element_shape)
        texts = list(_element_texts(element, flat))
        return texts[0] if self.splat else base.nest(texts, self._shape)

    def blob(self, packed: bool) -> bytes:
        """Return the elements as MLIR stores them, each in whole bytes, little-endian. ``packed``: eight i1 share a
        byte.
        """
        element = self.type.element
        if element == ty.I1:
            bits = self.codes.reshape(-1)
            return np.packbits(bits, bitorder="little").tobytes() if packed else bits.tobytes()
        width = ty.width_of(element.element if isinstance(element, ty.ComplexType) else element)
        limbs = self.codes.shape[-1] if width > 64 else 1
        rows = np.ascontiguousarray(self.codes.astype(self.codes.dtype.newbyteorder("<"))).view(np.uint8)
        rows = rows.reshape(-1, limbs * self.codes.dtype.itemsize)
        return rows[:, : -(-width // 8)].tobytes()


# More elements than this are printed as one string of hexadecimal digits.
MAX_PLAIN_ELEMENTS = 100

# The mark for a value in a static list of sizes: the code of the smallest 64-bit integer.
DYNAMIC = 1 << 63


def _element_texts(element: ty.Type, flat: Codes) -> Iterator[str]:
    """Return the text of each code along the first axis."""
    if isinstance(element, ty.ComplexType):
        parts = list(_element_texts(element.element, flat.reshape(-1, *flat.shape[2:])))
        return (f"({re},{im})" for re, im in zip(parts[::2], parts[1::2], strict=True))
    codes = python_codes(flat, wide=flat.ndim > 1)
    if isinstance(element, ty.FloatType):
        format = element.format
        return (base.spell_float(format, code) for code in codes)
    if element == ty.I1:
        return ("true" if code else "false" for code in codes)
    return (base.decimal_text(integer_of_code(code, element)) for code in codes)


def python_codes(flat: Codes, wide: bool) -> list[int]:
    """Return the codes along the first axis as Python integers; ``wide``: the second axis holds limbs."""
    if not wide:
        codes: list[int] = flat.tolist()
        return codes
    return [int.from_bytes(row.astype("<u8").tobytes(), "little") for row in flat]


@base.immutable
class DenseStringAttr(Attribute):
    """``dense<…>`` of strings, in a tensor of any element type; one value for a splat."""

    type: ElementsType
    values: tuple[str, ...]
    splat: bool = False

    def spell(self, names: Mapping[object, str]) -> str:
        """Return the text ``dense<…> : type``."""
        return f"dense<{self.literal()}> : {self.type.spell(names)}"

    def literal(self) -> str:
        """Return the text of the strings between ``<`` and ``>``: one string for a splat, no text without elements."""
        texts = [base.quoted(value) for value in self.values]
        shape = tuple(size for size in self.type.shape or () if size is not None)
        return texts[0] if self.splat else base.nest(texts, shape) if texts else ""


@base.immutable
class SparseElementsAttr(Attribute):
    """``sparse<indices, values> : type``: coordinates, one row per value; every other element is zero."""

    type: ElementsType
    indices: DenseElementsAttr
    values: DenseElementsAttr | DenseStringAttr

    def spell(self, names: Mapping[object, str]) -> str:
        """Return the text ``sparse<…> : type``."""
        packed = not isinstance(names, Names) or names.packed
        values = self.values
        text = values.literal_or_blob(packed) if isinstance(values, DenseElementsAttr) else values.literal()
        literal = f"{self.indices.literal()}, {text}" if self.indices.codes.size else ""
        return f"sparse<{literal}> : {self.type.spell(names)}"


@base.immutable
class DenseArrayAttr(Attribute):
    """``array<i32: 1, 2>``: ``codes`` as Python integers (bit patterns) of the element type."""

    element: ty.Type
    codes: tuple[int, ...]

    def spell(self, names: Mapping[object, str]) -> str:
        """Return the text ``array<type: values>``."""
        values = f": {self.values_text()}" if self.codes else ""
        return f"array<{self.element.spell(names)}{values}>"

    def values_text(self) -> str:
        """Return the text of the values, joined by commas."""
        element = self.element
        if isinstance(element, ty.FloatType):
            return ", ".join(base.spell_float(element.format, code) for code in self.codes)
        if element == ty.I1:
            return ", ".join("true" if code else "false" for code in self.codes)
        return ", ".join(str(integer_of_code(code, element)) for code in self.codes)

    @property
    def values(self) -> tuple[int, ...]:
        """The numbers, for an integer element type."""
        return self._values

    @cached_property
    def _values(self) -> tuple[int, ...]:
        return tuple([integer_of_code(code, self.element) for code in self.codes])


@base.immutable
class DenseResourceAttr(Attribute):
    """``dense_resource<key> : type``: elements kept in the file's resource section under ``key``."""

    key: str
    type: ElementsType

    def spell(self, names: Mapping[object, str]) -> str:
        """Return the text ``dense_resource<key> : type``."""
        key = self.key if base.is_bare_identifier(self.key) else base.quoted(self.key)
        return f"dense_resource<{key}> : {self.type.spell(names)}"


@base.immutable
class AffineMapAttr(Attribute):
    """``affine_map<(d0)[s0] -> (d0 + s0)>``: the numbers of dimensions and symbols, and the results."""

    dimensions: int
    symbols: int
    results: tuple[AffineExpr, ...]

    @property
    def is_identity(self) -> bool:
        """Whether the map returns its dimensions in order. As in MLIR, symbols do not matter."""
        return self.results == tuple(Dimension(position) for position in range(self.dimensions))

    def spell(self, names: Mapping[object, str]) -> str:
        """Return the text ``affine_map<…>``."""
        results = ", ".join(spell_affine(result) for result in self.results)
        return f"affine_map<{_affine_inputs(self.dimensions, self.symbols)} -> ({results})>"


def map_of(rank: int, results: Iterable[AffineExpr]) -> AffineMapAttr:
    """Return the affine map from ``rank`` dimensions to these expressions."""
    return AffineMapAttr(rank, 0, tuple(results))


def projection(rank: int, axes: Iterable[int]) -> AffineMapAttr:
    """Return the affine map from ``rank`` dimensions to those of ``axes``."""
    return map_of(rank, map(Dimension, axes))


def identity_map(rank: int) -> AffineMapAttr:
    """Return the affine map from ``rank`` dimensions to themselves."""
    return projection(rank, range(rank))


@base.immutable
class IntegerSetAttr(Attribute):
    """``affine_set<(d0) : (d0 - 2 >= 0)>``: constraints, each an expression that is equal to zero (True) or at least
    zero.
    """

    dimensions: int
    symbols: int
    constraints: tuple[tuple[AffineExpr, bool], ...]

    def spell(self, names: Mapping[object, str]) -> str:
        """Return the text ``affine_set<…>``."""
        texts = (f"{spell_affine(expr)} {'==' if equal else '>='} 0" for expr, equal in self.constraints)
        return f"affine_set<{_affine_inputs(self.dimensions, self.symbols)} : ({', '.join(texts)})>"


def _affine_inputs(dimensions: int, symbols: int) -> str:
    """Return the text of the inputs of a map: ``(d0, d1)[s0]``."""
    named = f"[{', '.join(f's{number}' for number in range(symbols))}]" if symbols else ""
    return f"({', '.join(f'd{number}' for number in range(dimensions))}){named}"


@base.immutable
class StridedLayoutAttr(Attribute):
    """The layout of a memref by strides: ``strided<[strides], offset: n>``; None stands for ``?``."""

    strides: tuple[int | None, ...]
    offset: int | None = 0

    def spell(self, names: Mapping[object, str]) -> str:
        """Return the text ``strided<…>``; an offset of 0 is left out."""
        strides = ", ".join("?" if stride is None else str(stride) for stride in self.strides)
        offset = "" if self.offset == 0 else f", offset: {'?' if self.offset is None else self.offset}"
        return f"strided<[{strides}]{offset}>"


@dataclass(frozen=True, eq=False)
class DistinctAttr(Attribute):
    """A distinct attribute, which is equal only to itself: ``distinct[id]<attribute>``."""

    attribute: Attribute
    id: int = field(default=0)

    def __eq__(self, other: object) -> bool:
        return self is other

    def __hash__(self) -> int:
        return id(self)

    def spell(self, names: Mapping[object, str]) -> str:
        """Return the text ``distinct[id]<attribute>``; the attribute ``unit`` is left out. The printer gives the ids,
        in the order of printing.
        """
        number = names.number(self) if isinstance(names, Names) else self.id
        inner = "" if isinstance(self.attribute, UnitAttr) else self.attribute.spell_nested(names)
        return f"distinct[{number}]<{inner}>"


class Names(dict[object, str]):
    """The aliases of one printed module, and the numbers of its distinct attributes in the order of printing.

    ``packed``: blobs of i1 hold eight elements in a byte, as in MLIR 22.
    """

    def __init__(self, packed: bool = True) -> None:
        super().__init__()
        self.packed = packed
        self._numbers: dict[DistinctAttr, int] = {}

    @property
    def numbered(self) -> bool:
        """True if a distinct attribute was printed."""
        return bool(self._numbers)

    def number(self, distinct: DistinctAttr) -> int:
        """Return the number of a distinct attribute."""
        return self._numbers.setdefault(distinct, len(self._numbers))


@base.immutable
class OpaqueAttr(Attribute):
    """An attribute of a dialect that is not registered, as it was written: ``#dialect.body`` or ``#dialect<body>``.

    ``body``: the text after the dialect's name, with its dot or bracket. ``type``: the type written after it, if any.
    ``inner``: the attributes and types that the marks in the text stand for.
    """

    dialect: str
    body: str
    type: ty.Type | None = None
    inner: tuple[Attribute | ty.Type, ...] = ()

    def spell(self, names: Mapping[object, str]) -> str:
        """Return the text of the attribute as it was written."""
        type = "" if self.type is None else f" : {self.type.spell(names)}"
        return f"#{self.dialect}{base.filled(self.body, self.inner, names)}{type}"
