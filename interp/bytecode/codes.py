"""How attributes and types are encoded: one row for each code of builtin and quant, read and written by its fields.

What has no row, such as everything of other dialects, stands as text in a file. Codes and fields are those of MLIR's
BuiltinDialectBytecode.td and QuantDialectBytecode.td.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from math import ldexp, prod
from typing import Any, NamedTuple, Protocol

from halfulp.fp_formats.scalar import FINITE, RNE, from_fraction, unpack
from halfulp.interp.bytecode.encoding import Cursor
from halfulp.interp.bytecode.rules import MAX_RANK, wrong
from halfulp.interp.declare.declarations import Schema
from halfulp.interp.ir import affine_expressions as affine
from halfulp.interp.ir import attributes as at
from halfulp.interp.ir import locations as loc
from halfulp.interp.ir import types as ty
from halfulp.interp.text.affine_parser import MAX_DEPTH
from halfulp.interp.text.attribute_parser import elements_of_blob, store_codes

Thing = at.Attribute | ty.Type
_DYNAMIC = -(1 << 63)
_MASK = (1 << 64) - 1


class Source(Protocol):
    """Where a row reads from."""

    cursor: Cursor
    schema: Schema

    def attribute(self) -> at.Attribute:
        """The attribute whose number comes next."""

    def type(self) -> ty.Type:
        """The type whose number comes next."""

    def string(self) -> str:
        """The string whose number comes next."""

    def resource(self) -> str:
        """The key of the dialect resource whose number comes next."""

    def spend(self, count: int) -> None:
        """Count things that are made without a byte of the file for each; an error where they are too many for it."""


class Sink(Protocol):
    """Where a row writes to; to number what is inside, one that only minds attributes, types and resources."""

    schema: Schema

    def attribute(self, attribute: at.Attribute) -> None:
        """The number of an attribute."""

    def type(self, type: ty.Type) -> None:
        """The number of a type."""

    def string(self, text: str) -> None:
        """The number of a string."""

    def resource(self, key: str) -> None:
        """The number of a dialect resource."""

    def byte(self, value: int) -> None:
        """One byte."""

    def varint(self, value: int) -> None:
        """An unsigned integer of up to 64 bits."""

    def svarint(self, value: int) -> None:
        """A signed integer of up to 64 bits."""

    def blob(self, data: bytes) -> None:
        """The number of bytes, and these."""


class Field(NamedTuple):
    """A part of an encoding; ``read`` gets the values of the fields before it, ``write`` those of all fields."""

    read: Callable[[Source, tuple[Any, ...]], Any]
    write: Callable[[Sink, Any, tuple[Any, ...]], object]


@dataclass(frozen=True)
class Code:
    """A row: ``take`` gives the values of the fields of an object, None where the row does not fit; ``make`` the object
    of such values, None where there is none.
    """

    number: int
    kind: type
    fields: tuple[Field, ...]
    make: Callable[..., Thing | None]
    take: Callable[[Any], tuple[Any, ...] | None]
    since: Schema = Schema.MLIR22

    def read(self, source: Source) -> Thing:
        """The object; the code itself has been read."""
        start = source.cursor.pos
        values: tuple[Any, ...] = ()
        for field in self.fields:
            values = (*values, field.read(source, values))
        thing = self.make(*values)
        if thing is None:
            source.cursor.fail(f"no {self.kind.__name__} can be made of what is encoded", start)
        problem = wrong(thing)
        if problem is not None:
            source.cursor.fail(f"{self.kind.__name__}: {problem}", start)
        return thing

    def write(self, sink: Sink, values: tuple[Any, ...]) -> None:
        """The code and the fields."""
        sink.varint(self.number)
        for field, value in zip(self.fields, values, strict=True):
            field.write(sink, value, values)


# --- fields -----------------------------------------------------------------------------------------------------------


VARINT = Field(lambda source, _: source.cursor.varint(), lambda sink, value, _: sink.varint(value))
SVARINT = Field(lambda source, _: source.cursor.svarint(), lambda sink, value, _: sink.svarint(value))
STRING = Field(lambda source, _: source.string(), lambda sink, value, _: sink.string(value))
ATTRIBUTE = Field(lambda source, _: source.attribute(), lambda sink, value, _: sink.attribute(value))
TYPE = Field(lambda source, _: source.type(), lambda sink, value, _: sink.type(value))
RESOURCE = Field(lambda source, _: source.resource(), lambda sink, value, _: sink.resource(value))


def boolean(cursor: Cursor) -> bool:
    """A byte that is 0 or 1."""
    value = cursor.byte()
    if value > 1:
        cursor.fail(f"{value} is no truth value", cursor.pos - 1)
    return bool(value)


BOOL = Field(lambda source, _: boolean(source.cursor), lambda sink, value, _: sink.byte(int(value)))


def optional(field: Field) -> Field:
    """Whether there is a value, and if so, that."""

    def read(source: Source, before: tuple[Any, ...]) -> Any:
        return field.read(source, before) if boolean(source.cursor) else None

    def write(sink: Sink, value: Any, before: tuple[Any, ...]) -> None:
        sink.byte(int(value is not None))
        if value is not None:
            field.write(sink, value, before)

    return Field(read, write)


def list_of(field: Field) -> Field:
    """A number of elements, then these."""

    def read(source: Source, before: tuple[Any, ...]) -> tuple[Any, ...]:
        return tuple([field.read(source, before) for _ in range(source.cursor.count())])

    def write(sink: Sink, values: tuple[Any, ...], before: tuple[Any, ...]) -> None:
        sink.varint(len(values))
        for value in values:
            field.write(sink, value, before)

    return Field(read, write)


def pair_of(first: Field, second: Field) -> Field:
    """Two fields, one after the other."""

    def write(sink: Sink, value: tuple[Any, Any], before: tuple[Any, ...]) -> None:
        first.write(sink, value[0], before)
        second.write(sink, value[1], before)

    return Field(lambda source, before: (first.read(source, before), second.read(source, before)), write)


def attribute_of(kind: type) -> Field:
    """An attribute of that class."""

    def read(source: Source, before: tuple[Any, ...]) -> at.Attribute:
        start = source.cursor.pos
        attribute = source.attribute()
        if not isinstance(attribute, kind):
            source.cursor.fail(f"{kind.__name__} expected, found {type(attribute).__name__}", start)
        return attribute

    return Field(read, ATTRIBUTE.write)


LOCATION = attribute_of(loc.Location)
_STRING_ATTR = attribute_of(at.StringAttr)


@lru_cache(maxsize=1024)
def _string_attribute(text: str) -> at.StringAttr:
    return at.StringAttr(text)


def _read_name(source: Source, before: tuple[Any, ...]) -> str:
    start = source.cursor.pos
    name: at.StringAttr = _STRING_ATTR.read(source, before)
    if name.type is not None:
        source.cursor.fail(f"a name with a type: {name}", start)
    return name.value


# The text of a string attribute without a type.
NAME = Field(
    _read_name,
    lambda sink, value, _: sink.attribute(_string_attribute(value)),
)


def _read_blob(source: Source, before: tuple[Any, ...]) -> bytes:
    return bytes(source.cursor.take(source.cursor.varint()))


BLOB = Field(_read_blob, lambda sink, value, _: sink.blob(value))


def _width(type: ty.Type) -> int | None:
    """Bits of a number of that type."""
    if isinstance(type, ty.IntegerType):
        return type.width
    if isinstance(type, ty.FloatType):
        return type.format.bits
    return at.INDEX_WIDTH if isinstance(type, ty.IndexType) else None


def read_bits(cursor: Cursor, width: int) -> int:
    """A bit pattern of known width: one byte, an integer of 64 bits, or as many of these as have a bit set."""
    start = cursor.pos
    if width <= 8:
        code = cursor.byte()
    elif width <= 64:
        code = cursor.svarint()
        if -(1 << 63) <= code < 0 and (width == 64 or code >> (width - 1) == -1):
            code += 1 << width
    else:
        words = cursor.count()
        if words * 64 > width + 63:
            cursor.fail(f"{words} words are more than {width} bits", start)
        data = b"".join([(cursor.svarint() & _MASK).to_bytes(8, "little") for _ in range(words)])
        code = int.from_bytes(data, "little")
    if code >> width:
        cursor.fail(f"a number of more than {width} bits", start)
    return code


def write_bits(sink: Sink, code: int, width: int) -> None:
    """See `read_bits`."""
    if width <= 8:
        sink.byte(code)
    elif width <= 64:
        sink.svarint(_signed(code))
    else:
        words = max(1, (code.bit_length() + 63) // 64)
        sink.varint(words)
        for index in range(words):
            sink.svarint(_signed(code >> (64 * index) & _MASK))


def _signed(word: int) -> int:
    return word - (1 << 64) if word >> 63 else word


def _read_code(source: Source, before: tuple[Any, ...]) -> int:
    width = _width(before[0])
    if width is None:
        source.cursor.fail(f"no number has type '{before[0]}'")
    return read_bits(source.cursor, width)


def _write_code(sink: Sink, code: int, before: tuple[Any, ...]) -> None:
    width = _width(before[0])
    assert width is not None
    write_bits(sink, code, width)


# A bit pattern of the type before it.
CODE = Field(_read_code, _write_code)
# An f64, as its bits.
DOUBLE = Field(
    lambda source, _: struct.unpack("<d", struct.pack("<Q", read_bits(source.cursor, 64)))[0],
    lambda sink, value, _: write_bits(sink, struct.unpack("<Q", struct.pack("<d", value))[0], 64),
)
_SIZE = Field(
    lambda source, _: None if (size := source.cursor.svarint()) == _DYNAMIC else size,
    lambda sink, value, _: sink.svarint(_DYNAMIC if value is None else value),
)
SHAPE = list_of(_SIZE)


# --- affine expressions -----------------------------------------------------------------------------------------------


_OPERATORS = {3: "+", 4: "*", 5: "mod", 6: "floordiv", 7: "ceildiv"}
_NUMBERS = {operator: number for number, operator in _OPERATORS.items()}
_BUILD: Mapping[str, Callable[[affine.AffineExpr, affine.AffineExpr], affine.AffineExpr]] = {
    "+": affine.add,
    "*": affine.multiply,
    "mod": affine.modulo,
    "floordiv": affine.floordiv,
    "ceildiv": affine.ceildiv,
}


_dimension = lru_cache(maxsize=MAX_RANK)(affine.Dimension)


def _read_affine(source: Source, before: tuple[Any, ...], depth: int = 0) -> affine.AffineExpr:
    cursor = source.cursor
    start = cursor.pos
    kind = cursor.varint()
    if depth > MAX_DEPTH:
        cursor.fail(f"an affine expression is nested more than {MAX_DEPTH} deep", start)
    if kind in (0, 1):
        position = cursor.varint()
        if position >= before[kind]:
            cursor.fail(f"{'symbol' if kind else 'dimension'} {position} of {before[kind]}", start)
        return affine.Symbol(position) if kind else _dimension(position)
    if kind == 2:
        return affine.Constant(cursor.svarint())
    if kind not in _OPERATORS:
        cursor.fail(f"unknown affine expression {kind}", start)
    left = _read_affine(source, before, depth + 1)
    made = _BUILD[_OPERATORS[kind]](left, _read_affine(source, before, depth + 1))
    # What is wide in the file may be deep once it is simplified.
    if made.depth > MAX_DEPTH:
        cursor.fail(f"an affine expression is nested more than {MAX_DEPTH} deep", start)
    return made


def _write_affine(sink: Sink, expr: affine.AffineExpr, before: tuple[Any, ...]) -> None:
    if isinstance(expr, affine.Dimension | affine.Symbol):
        sink.varint(int(isinstance(expr, affine.Symbol)))
        sink.varint(expr.position)
    elif isinstance(expr, affine.Constant):
        sink.varint(2)
        sink.svarint(expr.value)
    else:
        assert isinstance(expr, affine.Binary)
        sink.varint(_NUMBERS[expr.operator])
        _write_affine(sink, expr.lhs, before)
        _write_affine(sink, expr.rhs, before)


EXPRESSION = Field(_read_affine, _write_affine)

_IDENTITY, _PERMUTATION, _PROJECTION, _GENERAL = range(4)


@lru_cache(maxsize=64)
def _identity(rank: int) -> at.AffineMapAttr:
    return at.AffineMapAttr(rank, 0, tuple(_dimension(position) for position in range(rank)))


def _read_map(source: Source, before: tuple[Any, ...]) -> at.AffineMapAttr:
    """The number of dimensions with the kind of the map below it, and what that kind needs."""
    cursor = source.cursor
    start = cursor.pos
    head = cursor.varint()
    dimensions, kind = head >> 2, head & 3
    symbols = cursor.varint() if kind == _GENERAL else 0
    if max(dimensions, symbols) > MAX_RANK:
        cursor.fail(f"a map of {max(dimensions, symbols)} dimensions or symbols", start)
    source.spend(dimensions + symbols)
    if kind == _GENERAL:
        exprs = [_read_affine(source, (dimensions, symbols)) for _ in range(cursor.count())]
        return at.AffineMapAttr(dimensions, symbols, tuple(exprs))
    if kind == _IDENTITY:
        return _identity(dimensions)
    positions = [cursor.varint() for _ in range(cursor.count() if kind == _PROJECTION else dimensions)]
    if any(position >= dimensions for position in positions):
        cursor.fail(f"dimension {max(positions)} of {dimensions}", start)
    return at.AffineMapAttr(dimensions, symbols, tuple(_dimension(position) for position in positions))


def _write_map(sink: Sink, value: at.AffineMapAttr, before: tuple[Any, ...]) -> None:
    positions = [result.position for result in value.results if isinstance(result, affine.Dimension)]
    plain = not value.symbols and len(positions) == len(value.results) == len(set(positions))
    if not plain:
        kind = _GENERAL
    elif len(positions) < value.dimensions:
        kind = _PROJECTION
    else:
        kind = _IDENTITY if value.is_identity else _PERMUTATION
    sink.varint(value.dimensions << 2 | kind)
    if kind == _GENERAL:
        sink.varint(value.symbols)
        sink.varint(len(value.results))
        for result in value.results:
            _write_affine(sink, result, ())
        return
    if kind == _PROJECTION:
        sink.varint(len(positions))
    for position in positions if kind != _IDENTITY else ():
        sink.varint(position)


def _read_names(source: Source, before: tuple[Any, ...]) -> int:
    count = source.cursor.varint()
    source.spend(min(count, MAX_RANK))
    return count


# A number of dimensions or symbols, each of which has a name in the text.
_NAMES = Field(_read_names, VARINT.write)
# An affine map.
MAP = Field(_read_map, _write_map)


def _read_flags(source: Source, before: tuple[Any, ...]) -> tuple[bool, ...]:
    return tuple([boolean(source.cursor) for _ in before[-1]])


def _write_flags(sink: Sink, values: tuple[bool, ...], before: tuple[Any, ...]) -> None:
    for value in values:
        sink.byte(int(value))


# A truth value for each element of the list before it.
FLAGS = Field(_read_flags, _write_flags)


# --- elements ---------------------------------------------------------------------------------------------------------


# The size of an array without elements, leaving aside its zeros, and the dimensions that an array may have beside those
# of an element.
_MAX_EMPTY = 1 << 16
_MAX_ARRAY_RANK = 60


def _container(source: Source, before: tuple[Any, ...]) -> Any:
    type = before[0]
    count = ty.element_count(type)
    if not isinstance(type, ty.ShapedType) or count is None:
        source.cursor.fail(f"no elements can have type '{type}'")
    rank = len(type.shape or ())
    if rank > _MAX_ARRAY_RANK or (not count and prod(size for size in type.shape or () if size) > _MAX_EMPTY):
        source.cursor.fail(f"no array has a shape of {rank} dimensions like that", source.cursor.pos)
    return type


def _read_elements(source: Source, before: tuple[Any, ...]) -> at.DenseElementsAttr:
    type = _container(source, before)
    start = source.cursor.pos
    data = _read_blob(source, before)
    scalar = type.element.element if isinstance(type.element, ty.ComplexType) else type.element
    width = _width(scalar)
    if width == 0:
        source.spend(ty.element_count(type) or 0)
    elements = None if width is None else elements_of_blob(data, type)
    if elements is None:
        source.cursor.fail(f"{len(data)} bytes do not make elements of '{type}'", start)
    return elements


def _write_elements(sink: Sink, value: at.DenseElementsAttr, before: tuple[Any, ...]) -> None:
    if value.type.element == ty.I1 and (value.splat or value.codes.size == 1):
        sink.blob(b"\xff" if value.codes.any() else b"\0")
    else:
        sink.blob(value.blob(packed=True))


# Elements of the type before it, as MLIR 22 keeps them in memory: newer MLIR still packs i1 in files.
ELEMENTS = Field(_read_elements, _write_elements)


def _read_strings(source: Source, before: tuple[Any, ...]) -> tuple[str, ...]:
    elements = ty.element_count(_container(source, before)) or 0
    count = 1 if before[1] else elements
    if count > source.cursor.left:
        source.cursor.fail(f"{count} strings cannot be in the {source.cursor.left} bytes that are left")
    return tuple([source.string() for _ in range(count)])


def _write_strings(sink: Sink, values: tuple[str, ...], before: tuple[Any, ...]) -> None:
    for value in values:
        sink.string(value)


# As many strings as the type before it has elements, or one for all.
STRINGS = Field(_read_strings, _write_strings)


def _read_array_codes(source: Source, before: tuple[Any, ...]) -> tuple[int, ...]:
    element, count = before
    start = source.cursor.pos
    data = _read_blob(source, before)
    width = _width(element)
    size = None if width is None else 1 if width == 1 else width // 8
    if size is None or (size * 8 < (width or 0) and width != 1) or len(data) != size * count:
        source.cursor.fail(f"{len(data)} bytes do not make {count} elements of '{element}'", start)
    if width == 1 and data.translate(None, b"\0\1"):
        source.cursor.fail("a truth value that is neither 0 nor 1", start)
    return tuple([int.from_bytes(data[at : at + size], "little") for at in range(0, len(data), size)])


def _write_array_codes(sink: Sink, codes: tuple[int, ...], before: tuple[Any, ...]) -> None:
    size = max(1, (_width(before[0]) or 0) // 8)
    sink.blob(b"".join([code.to_bytes(size, "little") for code in codes]))


ARRAY_CODES = Field(_read_array_codes, _write_array_codes)


# --- attributes -------------------------------------------------------------------------------------------------------


def _range(file: str, numbers: tuple[int, ...]) -> loc.Location | None:
    match numbers:
        case (line,):
            return loc.FileRange(file, line, 0, line, 0)
        case (line, column):
            return loc.FileRange(file, line, column, line, column)
        case (line, column, end):
            return loc.FileRange(file, line, column, line, end)
        case (line, column, end_line, end):
            return loc.FileRange(file, line, column, end_line, end)
    return None


def _range_numbers(place: loc.FileRange) -> tuple[Any, ...]:
    if (place.line, place.column) == (place.end_line, place.end_column):
        return place.file, (place.line, place.column) if place.column else (place.line,)
    if place.line == place.end_line:
        return place.file, (place.line, place.column, place.end_column)
    return place.file, (place.line, place.column, place.end_line, place.end_column)


def _unless(wrong: Callable[[Any], bool], take: Callable[[Any], tuple[Any, ...]]) -> Callable[[Any], Any]:
    """A `Code.take` for objects of which something does not hold."""
    return lambda thing: None if wrong(thing) else take(thing)


def _dictionary(entries: tuple[tuple[str, at.Attribute], ...]) -> at.DictionaryAttr | None:
    return at.DictionaryAttr.of(dict(entries)) if len({name for name, _ in entries}) == len(entries) else None


def _number(type: ty.Type, code: int) -> at.Attribute | None:
    return at.IntegerAttr(at.integer_of_code(code, type), type) if not isinstance(type, ty.FloatType) else None


ATTRIBUTES = (
    Code(0, at.ArrayAttr, (list_of(ATTRIBUTE),), at.ArrayAttr, lambda a: (a.elements,)),
    Code(1, at.DictionaryAttr, (list_of(pair_of(NAME, ATTRIBUTE)),), _dictionary, lambda a: (a.entries,)),
    Code(2, at.StringAttr, (STRING,), at.StringAttr, _unless(lambda a: a.type is not None, lambda a: (a.value,))),
    Code(3, at.StringAttr, (STRING, TYPE), at.StringAttr, lambda a: (a.value, a.type)),
    Code(4, at.SymbolRefAttr, (NAME,), at.SymbolRefAttr, _unless(lambda a: a.nested, lambda a: (a.root,))),
    Code(
        5,
        at.SymbolRefAttr,
        (NAME, list_of(attribute_of(at.SymbolRefAttr))),
        lambda root, nested: (
            None if any(n.nested for n in nested) else at.SymbolRefAttr(root, tuple(n.root for n in nested))
        ),
        lambda a: (a.root, tuple(at.SymbolRefAttr(name) for name in a.nested)),
    ),
    Code(6, at.TypeAttr, (TYPE,), at.TypeAttr, lambda a: (a.type,)),
    Code(7, at.UnitAttr, (), at.UnitAttr, lambda a: ()),
    Code(8, at.IntegerAttr, (TYPE, CODE), _number, lambda a: (a.type, a.code)),
    Code(
        9,
        at.FloatAttr,
        (TYPE, CODE),
        lambda type, code: at.FloatAttr(code, type) if isinstance(type, ty.FloatType) else None,
        lambda a: (a.type, a.code),
    ),
    Code(10, loc.CallSiteLoc, (LOCATION, LOCATION), loc.CallSiteLoc, lambda a: (a.callee, a.caller)),
    Code(11, loc.FileLineCol, (NAME, VARINT, VARINT), loc.FileLineCol, lambda a: (a.file, a.line, a.column)),
    Code(
        12,
        loc.FusedLoc,
        (list_of(LOCATION),),
        loc.FusedLoc,
        _unless(lambda a: a.metadata is not None, lambda a: (a.locations,)),
    ),
    Code(13, loc.FusedLoc, (list_of(LOCATION), ATTRIBUTE), loc.FusedLoc, lambda a: (a.locations, a.metadata)),
    Code(14, loc.NameLoc, (NAME, LOCATION), loc.NameLoc, lambda a: (a.name, a.child)),
    Code(15, loc.UnknownLoc, (), loc.UnknownLoc, lambda a: ()),
    Code(
        16,
        at.DenseResourceAttr,
        (TYPE, RESOURCE),
        lambda type, key: at.DenseResourceAttr(key, type) if isinstance(type, ty.ShapedType) else None,
        lambda a: (a.type, a.key),
    ),
    Code(
        17,
        at.DenseArrayAttr,
        (TYPE, VARINT, ARRAY_CODES),
        lambda element, _, codes: at.DenseArrayAttr(element, codes),
        lambda a: (a.element, len(a.codes), a.codes),
    ),
    Code(18, at.DenseElementsAttr, (TYPE, ELEMENTS), lambda _, elements: elements, lambda a: (a.type, a)),
    Code(
        19,
        at.DenseStringAttr,
        (TYPE, VARINT, STRINGS),
        lambda type, splat, values: at.DenseStringAttr(type, values, bool(splat)),
        lambda a: (a.type, int(a.splat), a.values),
    ),
    Code(
        20,
        at.SparseElementsAttr,
        (TYPE, attribute_of(at.DenseElementsAttr), ATTRIBUTE),
        lambda type, indices, values: (
            at.SparseElementsAttr(type, indices, values)
            if isinstance(values, at.DenseElementsAttr | at.DenseStringAttr) and isinstance(type, ty.ShapedType)
            else None
        ),
        lambda a: (a.type, a.indices, a.values),
    ),
    Code(21, at.DistinctAttr, (ATTRIBUTE,), at.DistinctAttr, lambda a: (a.attribute,)),
    Code(22, loc.FileRange, (NAME, list_of(VARINT)), _range, _range_numbers),
    Code(23, at.AffineMapAttr, (MAP,), lambda made: made, lambda a: (a,), Schema.LLVM24),
    Code(
        24,
        at.IntegerSetAttr,
        (_NAMES, _NAMES, list_of(EXPRESSION), FLAGS),
        lambda dimensions, symbols, exprs, equal: at.IntegerSetAttr(
            dimensions, symbols, tuple(zip(exprs, equal, strict=True))
        ),
        lambda a: (a.dimensions, a.symbols, *(zip(*a.constraints, strict=True) if a.constraints else ((), ()))),
        Schema.LLVM24,
    ),
    Code(
        25,
        at.StridedLayoutAttr,
        (_SIZE, SHAPE),
        lambda offset, strides: at.StridedLayoutAttr(strides, offset),
        lambda a: (a.offset, a.strides),
        Schema.LLVM24,
    ),
)


# --- types ------------------------------------------------------------------------------------------------------------


_SIGNS: tuple[ty.Signedness, ...] = ("signless", "signed", "unsigned")


def _integer(value: int) -> ty.Type | None:
    width, sign = value >> 2, value & 3
    return ty.IntegerType(width, _SIGNS[sign]) if sign < 3 and width <= ty.MAX_INTEGER_WIDTH else None


def _float(number: int, name: str, since: Schema = Schema.MLIR22) -> Code:
    made = ty.F(name)
    return Code(number, ty.FloatType, (), lambda: made, lambda t: () if t.format.name == name else None, since)


def _memref(shape: ty.Shape, element: ty.Type, layout: at.Attribute, space: at.Attribute | None = None) -> ty.Type:
    return ty.MemRefType(shape, element, None if layout == _identity(len(shape)) else layout, space)


def _vector(shape: ty.Shape, element: ty.Type, scalable: tuple[bool, ...] = ()) -> ty.Type | None:
    sizes = tuple(size for size in shape if size is not None and size > 0)
    if len(sizes) != len(shape) or (scalable and len(scalable) != len(shape)):
        return None
    return ty.VectorType(sizes, element, scalable)


def _layout(type: Any) -> at.Attribute:
    return type.layout or _identity(len(type.shape))


def _ranked(take: Callable[[Any], tuple[Any, ...]], other: str, present: bool) -> Callable[[Any], Any]:
    return lambda t: take(t) if t.shape is not None and (getattr(t, other) is not None) is present else None


def _unranked(take: Callable[[Any], tuple[Any, ...]], other: str, present: bool) -> Callable[[Any], Any]:
    return lambda t: take(t) if t.shape is None and (getattr(t, other) is not None) is present else None


TYPES = (
    Code(0, ty.IntegerType, (VARINT,), _integer, lambda t: (t.width << 2 | _SIGNS.index(t.signedness),)),
    Code(1, ty.IndexType, (), ty.IndexType, lambda t: ()),
    Code(2, ty.FunctionType, (list_of(TYPE), list_of(TYPE)), ty.FunctionType, lambda t: (t.inputs, t.results)),
    *(_float(3 + index, name) for index, name in enumerate(("bf16", "f16", "f32", "f64", "f80", "f128"))),
    Code(9, ty.ComplexType, (TYPE,), ty.ComplexType, lambda t: (t.element,)),
    Code(
        10,
        ty.MemRefType,
        (SHAPE, TYPE, ATTRIBUTE),
        _memref,
        _ranked(lambda t: (t.shape, t.element, _layout(t)), "memory_space", False),
    ),
    Code(
        11,
        ty.MemRefType,
        (ATTRIBUTE, SHAPE, TYPE, ATTRIBUTE),
        lambda space, shape, element, layout: _memref(shape, element, layout, space),
        _ranked(lambda t: (t.memory_space, t.shape, t.element, _layout(t)), "memory_space", True),
    ),
    Code(12, ty.NoneType, (), ty.NoneType, lambda t: ()),
    Code(13, ty.TensorType, (SHAPE, TYPE), ty.TensorType, _ranked(lambda t: (t.shape, t.element), "encoding", False)),
    Code(
        14,
        ty.TensorType,
        (ATTRIBUTE, SHAPE, TYPE),
        lambda encoding, shape, element: ty.TensorType(shape, element, encoding),
        _ranked(lambda t: (t.encoding, t.shape, t.element), "encoding", True),
    ),
    Code(15, ty.TupleType, (list_of(TYPE),), ty.TupleType, lambda t: (t.elements,)),
    Code(
        16,
        ty.MemRefType,
        (TYPE,),
        lambda element: ty.MemRefType(None, element),
        _unranked(lambda t: (t.element,), "memory_space", False),
    ),
    Code(
        17,
        ty.MemRefType,
        (ATTRIBUTE, TYPE),
        lambda space, element: ty.MemRefType(None, element, None, space),
        _unranked(lambda t: (t.memory_space, t.element), "memory_space", True),
    ),
    Code(
        18,
        ty.TensorType,
        (TYPE,),
        lambda element: ty.TensorType(None, element),
        _unranked(lambda t: (t.element,), "encoding", False),
    ),
    Code(19, ty.VectorType, (SHAPE, TYPE), _vector, _unless(lambda t: t.scalable, lambda t: (t.shape, t.element))),
    Code(
        20,
        ty.VectorType,
        (list_of(BOOL), SHAPE, TYPE),
        lambda scalable, shape, element: _vector(shape, element, scalable),
        lambda t: (t.scalable, t.shape, t.element),
    ),
    *(
        _float(21 + index, name, Schema.LLVM24)
        for index, name in enumerate(
            (
                *("tf32", "f8E5M2", "f8E4M3", "f8E4M3FN", "f8E5M2FNUZ", "f8E4M3FNUZ", "f8E4M3B11FNUZ", "f8E3M4"),
                *("f4E2M1FN", "f6E2M3FN", "f6E3M2FN", "f8E8M0FNU"),
            )
        )
    ),
)


# --- quant ------------------------------------------------------------------------------------------------------------


class _Storage(NamedTuple):
    """How numbers are stored; ``special``: the type of newer MLIR's other storage."""

    width: int
    signed: bool
    special: ty.Type | None


def _storage(flags: int, storage: ty.Type) -> _Storage | None:
    stored = storage.storage if isinstance(storage, ty.QuantileType) else storage
    special = None if isinstance(storage, ty.IntegerType) else storage
    if flags > 1 or not isinstance(stored, ty.IntegerType | ty.FloatType):
        return None
    width = stored.format.bits if isinstance(stored, ty.FloatType) else stored.width
    if isinstance(stored, ty.FloatType) and width > 8:
        return None
    return _Storage(width, bool(flags), special)


def _any_quantized(
    flags: int, storage: ty.Type, least: int, most: int, expressed: ty.Type | None = None
) -> ty.Type | None:
    head = _storage(flags, storage)
    if head is None:
        return None
    return ty.AnyQuantizedType(head.width, head.signed, least, most, expressed, head.special)


def _head(t: ty.UniformQuantizedType | ty.AnyQuantizedType) -> tuple[int, ty.Type]:
    return int(t.storage_signed), t.storage or ty.IntegerType(t.storage_width)


def _quantized(
    number: int,
    kind: type,
    fields: tuple[Field, ...],
    make: Callable[..., ty.Type | None],
    take: Callable[[Any], tuple[Any, ...]],
    holds: Callable[[Any], bool],
) -> tuple[Code, Code]:
    """The rows of a code for types that store integers, and for those that newer MLIR has besides."""

    def of(special: bool) -> Callable[[Any], tuple[Any, ...] | None]:
        return lambda t: take(t) if holds(t) and (t.storage is not None) is special else None

    head = (VARINT, TYPE)
    return (
        Code(number, kind, (*head, *fields), make, of(False)),
        Code(number, kind, (*head, *fields), make, of(True), Schema.LLVM24),
    )


def _per_layer(
    flags: int, storage: ty.Type, expressed: ty.Type, scale: float, point: int, least: int, most: int
) -> ty.Type | None:
    head = _storage(flags, storage)
    if head is None:
        return None
    return ty.UniformQuantizedType(
        head.width, head.signed, least, most, expressed, (scale,), (point,), storage=head.special
    )


def _per_axis(
    flags: int,
    storage: ty.Type,
    expressed: ty.Type,
    axis: int,
    least: int,
    most: int,
    scales: tuple[float, ...],
    points: tuple[int, ...],
) -> ty.Type | None:
    head = _storage(flags, storage)
    if head is None or len(scales) != len(points):
        return None
    return ty.UniformQuantizedType(
        head.width, head.signed, least, most, expressed, scales, points, axis, storage=head.special
    )


def _per_block(
    flags: int,
    storage: ty.Type,
    expressed: ty.Type,
    least: int,
    most: int,
    axes: tuple[int, ...],
    sizes: tuple[int, ...],
    scales: at.DenseElementsAttr,
    points: at.DenseElementsAttr,
) -> ty.Type | None:
    head = _storage(flags, storage)
    numbers = _doubles(scales)
    shape = scales.type.shape
    if head is None or head.special is not None or numbers is None or shape is None or len(axes) != len(sizes):
        return None
    if points.type.shape != shape or not isinstance(points.type.element, ty.IntegerType):
        return None
    width = points.type.element.width
    half = 1 << width >> 1 if head.signed else 0
    zeros = tuple(
        ((code + half) & ((1 << width) - 1)) - half for code in at.python_codes(points.array().reshape(-1), False)
    )
    blocks = tuple(zip(axes, sizes, strict=True))
    parameters = tuple(size or 0 for size in shape)
    return ty.UniformQuantizedType(
        head.width, head.signed, least, most, expressed, numbers, zeros, None, blocks, parameters
    )


def _quantile(
    storage: ty.Type, element: ty.Type, values: tuple[float, ...], least: int | None, most: int | None
) -> ty.Type | None:
    if (least is None) is not (most is None):
        return None
    return ty.QuantileType(storage, element, values, None if least is None or most is None else (least, most))


def _read_parameters(source: Source, before: tuple[Any, ...]) -> at.DenseElementsAttr:
    elements: at.DenseElementsAttr = _DENSE.read(source, before)
    # Each type has numbers of its own of what others may share.
    source.spend(_PARAMETER * (ty.element_count(elements.type) or 0))
    return elements


_DENSE = attribute_of(at.DenseElementsAttr)
_PARAMETER = 4  # as costly as so many other things
# The scales or the zero points of a type.
_PARAMETERS = Field(_read_parameters, ATTRIBUTE.write)


def _doubles(scales: at.DenseElementsAttr) -> tuple[float, ...] | None:
    element = scales.type.element
    if not isinstance(element, ty.FloatType) or element.format.limbs > 1:
        return None
    codes = scales.array().reshape(-1).tolist()
    values = {code: unpack(element.format, code) for code in set(codes)}
    if any(value.kind != FINITE for value in values.values()):
        return None
    numbers = {code: ldexp(-x.significand if x.sign else x.significand, x.exponent) for code, x in values.items()}
    return tuple([numbers[code] for code in codes])


def _blocks(t: ty.UniformQuantizedType) -> tuple[Any, ...]:
    assert t.block_sizes is not None
    assert isinstance(t.expressed, ty.FloatType)
    storage = ty.IntegerType(t.storage_width)
    codes = [from_fraction(t.expressed.format, Fraction(scale), RNE).code for scale in t.scales]
    zeros = [point & (1 << t.storage_width) - 1 for point in t.zero_points]
    axes, sizes = zip(*t.block_sizes, strict=True) if t.block_sizes else ((), ())
    scales = _elements(t.parameter_shape, t.expressed, codes)
    return (
        *_head(t),
        t.expressed,
        t.storage_min,
        t.storage_max,
        axes,
        sizes,
        scales,
        _elements(t.parameter_shape, storage, zeros),
    )


def _elements(shape: tuple[int, ...], element: ty.Type, codes: list[int]) -> at.DenseElementsAttr:
    splat = len(set(codes)) == 1
    stored = store_codes(codes[:1] if splat else codes, element)
    return at.DenseElementsAttr(ty.TensorType(shape, element), stored.reshape(() if splat else shape), splat)


_BOUNDS = (SVARINT, SVARINT)

QUANT_TYPES = (
    *_quantized(
        1,
        ty.AnyQuantizedType,
        _BOUNDS,
        _any_quantized,
        lambda t: (*_head(t), t.storage_min, t.storage_max),
        lambda t: t.expressed is None,
    ),
    *_quantized(
        2,
        ty.AnyQuantizedType,
        (TYPE, *_BOUNDS),
        lambda flags, storage, expressed, least, most: _any_quantized(flags, storage, least, most, expressed),
        lambda t: (*_head(t), t.expressed, t.storage_min, t.storage_max),
        lambda t: t.expressed is not None,
    ),
    Code(
        3,
        ty.CalibratedQuantizedType,
        (TYPE, DOUBLE, DOUBLE),
        ty.CalibratedQuantizedType,
        lambda t: (t.expressed, t.minimum, t.maximum),
    ),
    *_quantized(
        4,
        ty.UniformQuantizedType,
        (TYPE, DOUBLE, SVARINT, *_BOUNDS),
        _per_layer,
        lambda t: (*_head(t), t.expressed, t.scales[0], t.zero_points[0], t.storage_min, t.storage_max),
        lambda t: t.axis is None and t.block_sizes is None,
    ),
    *_quantized(
        5,
        ty.UniformQuantizedType,
        (TYPE, VARINT, *_BOUNDS, list_of(DOUBLE), list_of(SVARINT)),
        _per_axis,
        lambda t: (*_head(t), t.expressed, t.axis, t.storage_min, t.storage_max, t.scales, t.zero_points),
        lambda t: t.axis is not None,
    ),
    # A type that stores floats in blocks crashes newer MLIR, so that nobody knows its encoding.
    _quantized(
        6,
        ty.UniformQuantizedType,
        (
            *(TYPE, *_BOUNDS, list_of(SVARINT), list_of(SVARINT)),
            *(_PARAMETERS, _PARAMETERS),
        ),
        _per_block,
        _blocks,
        lambda t: t.block_sizes is not None,
    )[0],
    Code(
        7,
        ty.QuantileType,
        (TYPE, TYPE, list_of(DOUBLE), optional(SVARINT), optional(SVARINT)),
        _quantile,
        lambda t: (t.storage, t.element, t.values, *(t.bounds or (None, None))),
        Schema.LLVM24,
    ),
)


# --- the tables -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Codec:
    """The codes of a dialect's attributes or types."""

    by_number: dict[int, Code]
    by_kind: dict[type, tuple[Code, ...]]

    def write(self, sink: Sink, thing: Thing) -> bool:
        """Write an attribute or a type; False, and nothing written, where there is no code for it."""
        for code in self.by_kind.get(type(thing), ()):
            if code.since <= sink.schema and (values := code.take(thing)) is not None:
                code.write(sink, values)
                return True
        return False


def _codec(codes: tuple[Code, ...]) -> Codec:
    kinds = {code.kind for code in codes}
    # Of rows with one number, which differ in what they take only, the first is that of the oldest schema.
    return Codec(
        {code.number: code for code in reversed(codes)},
        {kind: tuple(c for c in codes if c.kind is kind) for kind in kinds},
    )


ATTRIBUTE_CODES = {"builtin": _codec(ATTRIBUTES)}
TYPE_CODES = {"builtin": _codec(TYPES), "quant": _codec(QUANT_TYPES)}

# Codes of things that halfulp does not have.
UNSUPPORTED: Mapping[tuple[str, str, int], str] = {("type", "builtin", 33): "token"}
