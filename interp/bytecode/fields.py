"""The fields of an encoding: functions that read each field from a bytecode file and write it to one."""

from __future__ import annotations

import struct
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from math import isfinite, prod
from typing import Any, NamedTuple, Protocol

from halfulp.fp_formats.scalar import value as value_of
from halfulp.interp.bytecode.encoding import ByteCursor, Varints, zigzag
from halfulp.interp.declare.declarations import Schema
from halfulp.interp.dialects.quant.ops import MAX_STORAGE_WIDTH
from halfulp.interp.ir import attributes as at
from halfulp.interp.ir import base as loc
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.blobs import elements_of_blob
from halfulp.interp.ir.dialect_attributes import DialectAttr
from halfulp.interp.text.type_parser import SPACES, is_element

Thing = at.Attribute | ty.Type
_DYNAMIC = -(1 << 63)
_MASK = (1 << 64) - 1


class CodeSource(Protocol):
    """The source from which a `Code` reads the fields of an attribute or a type."""

    cursor: ByteCursor
    schema: Schema

    def attribute(self) -> at.Attribute:
        """Read the number of an attribute, and return the attribute."""

    def optional_attribute(self) -> at.Attribute | None:
        """Read the number of an attribute that may be absent, and return the attribute."""

    def type(self) -> ty.Type:
        """Read the number of a type, and return the type."""

    def string(self) -> str:
        """Read the number of a string, and return the string."""

    def resource(self) -> str:
        """Read the number of a dialect resource, and return its key."""

    def spend(self, count: int) -> None:
        """Count ``count`` objects for which the file has no bytes of their own. Raises BytecodeError if all these
        objects together are too many.
        """


class ResourceKey(NamedTuple):
    """The key of a dialect resource, in place of its number."""

    key: str


class Present(NamedTuple):
    """An optional attribute that is present."""

    attribute: at.Attribute


class CodeSink:
    """The sink to which a `Code` writes. It records what is written, with attributes and types in place of their
    numbers.

    ``attribute``, ``type``, ``string``: record the number of an attribute, of a type or of a string.
    """

    def __init__(self, schema: Schema, codes: Varints) -> None:
        self.schema = schema
        self._codes = codes
        self._parts: list[Any] = []

    def _add(self, part: Any) -> None:
        self._parts.append(part)

    attribute = type = string = _add

    def optional_attribute(self, attribute: at.Attribute | None) -> None:
        """Record the number of an attribute that may be absent."""
        self._parts.append(self._codes[0] if attribute is None else Present(attribute))

    def resource(self, key: str) -> None:
        """Record the number of a dialect resource."""
        self._parts.append(ResourceKey(key))

    def byte(self, value: int) -> None:
        """Record one byte."""
        self._parts.append(bytes((value,)))

    def varint(self, value: int) -> None:
        """Record an unsigned integer of up to 64 bits."""
        self._parts.append(self._codes[value])

    def svarint(self, value: int) -> None:
        """Record a signed integer of up to 64 bits."""
        self._parts.append(self._codes[zigzag(value)])

    def blob(self, data: bytes) -> None:
        """Record the number of bytes, and then the bytes."""
        self._parts += (self._codes[len(data)], data)

    def take(self) -> list[Any]:
        """Return the parts that were recorded since the last call."""
        parts, self._parts = self._parts, []
        return parts


class Field(NamedTuple):
    """A part of an encoding: a function that reads it and one that writes it. ``read`` also gets the values of the
    fields before it, ``write`` those of all fields.
    """

    read: Callable[[CodeSource, tuple[Any, ...]], Any]
    write: Callable[[CodeSink, Any, tuple[Any, ...]], object]


VARINT = Field(lambda source, _: source.cursor.varint(), lambda sink, value, _: sink.varint(value))
SVARINT = Field(lambda source, _: source.cursor.svarint(), lambda sink, value, _: sink.svarint(value))
STRING = Field(lambda source, _: source.string(), lambda sink, value, _: sink.string(value))
ATTRIBUTE = Field(lambda source, _: source.attribute(), lambda sink, value, _: sink.attribute(value))
OPTIONAL_ATTRIBUTE = Field(
    lambda source, _: source.optional_attribute(), lambda sink, value, _: sink.optional_attribute(value)
)
TYPE = Field(lambda source, _: source.type(), lambda sink, value, _: sink.type(value))
RESOURCE = Field(lambda source, _: source.resource(), lambda sink, value, _: sink.resource(value))


def boolean(cursor: ByteCursor) -> bool:
    """Read a byte that is 0 or 1."""
    value = cursor.byte()
    if value > 1:
        cursor.fail(f"{value} is not a truth value (0 or 1)", cursor.pos - 1)
    return bool(value)


BOOL = Field(lambda source, _: boolean(source.cursor), lambda sink, value, _: sink.byte(int(value)))


def optional(field: Field) -> Field:
    """Return the field of an optional value: a byte that tells whether there is one, then the value."""

    def read(source: CodeSource, before: tuple[Any, ...]) -> Any:
        return field.read(source, before) if boolean(source.cursor) else None

    def write(sink: CodeSink, value: Any, before: tuple[Any, ...]) -> None:
        sink.byte(int(value is not None))
        if value is not None:
            field.write(sink, value, before)

    return Field(read, write)


def list_of(field: Field) -> Field:
    """Return the field of a list: the number of elements, then the elements."""

    def read(source: CodeSource, before: tuple[Any, ...]) -> tuple[Any, ...]:
        return tuple([field.read(source, before) for _ in range(source.cursor.count())])

    def write(sink: CodeSink, values: tuple[Any, ...], before: tuple[Any, ...]) -> None:
        sink.varint(len(values))
        for value in values:
            field.write(sink, value, before)

    return Field(read, write)


def pair_of(first: Field, second: Field) -> Field:
    """Return the field of a pair: two fields, one after the other."""

    def write(sink: CodeSink, value: tuple[Any, Any], before: tuple[Any, ...]) -> None:
        first.write(sink, value[0], before)
        second.write(sink, value[1], before)

    return Field(lambda source, before: (first.read(source, before), second.read(source, before)), write)


def attribute_of(kind: type) -> Field:
    """Return the field of an attribute of that class."""

    def read(source: CodeSource, before: tuple[Any, ...]) -> at.Attribute:
        start = source.cursor.pos
        attribute = source.attribute()
        if not isinstance(attribute, kind):
            source.cursor.fail(f"expected {kind.__name__}, found {type(attribute).__name__}", start)
        return attribute

    return Field(read, ATTRIBUTE.write)


LOCATION = attribute_of(loc.Location)
_STRING_ATTR = attribute_of(at.StringAttr)


@lru_cache(maxsize=1024)
def _string_attribute(text: str) -> at.StringAttr:
    return at.StringAttr(text)


def _read_name(source: CodeSource, before: tuple[Any, ...]) -> str:
    start = source.cursor.pos
    name: at.StringAttr = _STRING_ATTR.read(source, before)
    if name.type is not None:
        source.cursor.fail(f"a name must not have a type: {name}", start)
    return name.value


# The text of a string attribute without a type.
NAME = Field(
    _read_name,
    lambda sink, value, _: sink.attribute(_string_attribute(value)),
)


def read_blob(source: CodeSource, before: tuple[Any, ...]) -> bytes:
    """Read a number of bytes, and then the bytes."""
    return bytes(source.cursor.take(source.cursor.varint()))


BLOB = Field(read_blob, lambda sink, value, _: sink.blob(value))


def bits_of(type: ty.Type) -> int | None:
    """Return the number of bits of a number of that type; None for a type whose values are not numbers."""
    if isinstance(type, ty.IntegerType):
        return type.width
    if isinstance(type, ty.FloatType):
        return type.format.bits
    return ty.INDEX_WIDTH if isinstance(type, ty.IndexType) else None


def read_bits(cursor: ByteCursor, width: int) -> int:
    """Read a bit pattern of known width: one byte, an integer of 64 bits, or several of these up to the highest set
    bit.
    """
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


def write_bits(sink: CodeSink, code: int, width: int) -> None:
    """Write a bit pattern as `read_bits` reads it."""
    if width <= 8:
        sink.byte(code)
    elif width <= 64:
        sink.svarint(code - (1 << 64) if code >> 63 else code)
    else:
        words = max(1, (code.bit_length() + 63) // 64)
        sink.varint(words)
        for word in struct.unpack(f"<{words}q", code.to_bytes(8 * words, "little")):
            sink.svarint(word)


def _read_code(source: CodeSource, before: tuple[Any, ...]) -> int:
    width = bits_of(before[0])
    if width is None:
        source.cursor.fail(f"type '{before[0]}' has no numbers")
    return read_bits(source.cursor, width)


def _write_code(sink: CodeSink, code: int, before: tuple[Any, ...]) -> None:
    width = bits_of(before[0])
    assert width is not None
    write_bits(sink, code, width)


# A bit pattern of the type before it.
CODE = Field(_read_code, _write_code)
# An f64, as its bits.
DOUBLE = Field(
    lambda source, _: struct.unpack("<d", struct.pack("<Q", read_bits(source.cursor, 64)))[0],
    lambda sink, value, _: write_bits(sink, struct.unpack("<Q", struct.pack("<d", value))[0], 64),
)
SIZE = Field(
    lambda source, _: None if (size := source.cursor.svarint()) == _DYNAMIC else size,
    lambda sink, value, _: sink.svarint(_DYNAMIC if value is None else value),
)
SHAPE = list_of(SIZE)


def _write_flags(sink: CodeSink, values: tuple[bool, ...], before: tuple[Any, ...]) -> None:
    for value in values:
        sink.byte(int(value))


# A truth value for each element of the list before it.
FLAGS = Field(lambda source, before: tuple([boolean(source.cursor) for _ in before[-1]]), _write_flags)


# --- elements ---------------------------------------------------------------------------------------------------------


# The largest product of the other sizes of an array without elements, and the most dimensions of an array beside those
# of an element.
_MAX_EMPTY = 1 << 16
_MAX_ARRAY_RANK = 60


def _container(source: CodeSource, before: tuple[Any, ...]) -> Any:
    type = before[0]
    count = ty.element_count(type)
    if not isinstance(type, ty.ShapedType) or count is None:
        source.cursor.fail(f"'{type}' cannot be the type of elements")
    rank = len(type.shape or ())
    if rank > _MAX_ARRAY_RANK or (not count and prod(size for size in type.shape or () if size) > _MAX_EMPTY):
        source.cursor.fail(f"an array cannot have this shape of {rank} dimensions", source.cursor.pos)
    return type


def read_elements(source: CodeSource, before: tuple[Any, ...]) -> at.DenseElementsAttr:
    """Read the elements of an attribute, as MLIR 22 stores them in memory. Their type is the last value in
    ``before``.
    """
    type = _container(source, before)
    start = source.cursor.pos
    data = read_blob(source, before)
    scalar = type.element.element if isinstance(type.element, ty.ComplexType) else type.element
    width = bits_of(scalar)
    if width == 0:
        source.spend(ty.element_count(type) or 0)
    elements = None if width is None else elements_of_blob(data, type)
    if elements is None:
        source.cursor.fail(f"{len(data)} bytes do not make elements of '{type}'", start)
    return elements


def write_elements(sink: CodeSink, value: at.DenseElementsAttr, before: tuple[Any, ...]) -> None:
    """Write elements as `read_elements` reads them."""
    if value.type.element == ty.I1 and (value.splat or value.codes.size == 1):
        sink.blob(b"\xff" if value.codes.any() else b"\0")
    else:
        sink.blob(value.blob(packed=True))


# Elements of the type before it, as MLIR 22 stores them in memory: newer MLIR still packs i1 in files.
ELEMENTS = Field(read_elements, write_elements)


def _read_strings(source: CodeSource, before: tuple[Any, ...]) -> tuple[str, ...]:
    elements = ty.element_count(_container(source, before)) or 0
    count = 1 if before[1] else elements
    if count > source.cursor.left:
        source.cursor.fail(f"{count} strings cannot be in the {source.cursor.left} bytes that are left")
    return tuple([source.string() for _ in range(count)])


def _write_strings(sink: CodeSink, values: tuple[str, ...], before: tuple[Any, ...]) -> None:
    for value in values:
        sink.string(value)


# As many strings as the type before it has elements, or one for all.
STRINGS = Field(_read_strings, _write_strings)


def _read_array_codes(source: CodeSource, before: tuple[Any, ...]) -> tuple[int, ...]:
    element, count = before
    start = source.cursor.pos
    data = read_blob(source, before)
    width = bits_of(element)
    size = None if width is None else 1 if width == 1 else width // 8
    if size is None or (size * 8 < (width or 0) and width != 1) or len(data) != size * count:
        source.cursor.fail(f"{len(data)} bytes do not make {count} elements of '{element}'", start)
    if width == 1 and data.translate(None, b"\0\1"):
        source.cursor.fail("a truth value that is neither 0 nor 1", start)
    return tuple([int.from_bytes(data[at : at + size], "little") for at in range(0, len(data), size)])


def _write_array_codes(sink: CodeSink, codes: tuple[int, ...], before: tuple[Any, ...]) -> None:
    size = max(1, (bits_of(before[0]) or 0) // 8)
    sink.blob(b"".join([code.to_bytes(size, "little") for code in codes]))


ARRAY_CODES = Field(_read_array_codes, _write_array_codes)


# --- rules ------------------------------------------------------------------------------------------------------------
#
# Rules of attributes and types that their encoding does not enforce: those that the text parser checks.

MAX_RANK = 1 << 12
"""The most dimensions or symbols of an affine map: a byte of a file may stand for so many names in its text."""

_WORD = 1 << 32


def wrong(thing: Any) -> str | None:
    """Return what is wrong with an attribute or a type, as text; None if nothing is. The attributes and types in it are
    not checked.
    """
    rule = _RULES.get(type(thing))
    return None if rule is None else rule(thing)


def _declared(attribute: DialectAttr) -> str | None:
    """Return what is wrong with the parameters of an attribute that a dialect declares."""
    definition = attribute.definition
    for parameter, value in zip(definition.parameters, attribute.values, strict=True):
        absent = parameter.optional and value == parameter.default
        if not absent and not parameter.kind.accepts(value):
            return f"#{definition.name} has no '{parameter.name}' that is {value}"
    return None if definition.verify is None else definition.verify(attribute)


def _shape(shape: ty.Shape | None) -> str | None:
    return next((f"a dimension of {size}" for size in shape or () if size is not None and size < 0), None)


def _element(kind: str) -> Callable[[Any], str | None]:
    return lambda t: None if is_element(kind, t.element) else f"'{t.element}' cannot be the element type of a {kind}"


def _tensor(t: ty.TensorType) -> str | None:
    return _element("tensor")(t) or _shape(t.shape)


def _memref(t: ty.MemRefType) -> str | None:
    layout, space = t.layout, t.memory_space
    rank = len(t.shape or ())
    if isinstance(layout, at.AffineMapAttr) and layout.dimensions != rank:
        return f"a layout of {layout.dimensions} dimensions for rank {rank}"
    if isinstance(layout, at.StridedLayoutAttr) and len(layout.strides) != rank:
        return f"{len(layout.strides)} strides for rank {rank}"
    if layout is not None and not isinstance(layout, at.AffineMapAttr | at.StridedLayoutAttr):
        return f"{layout} is not a layout"
    if space is not None and (not isinstance(space, SPACES) or (isinstance(space, at.IntegerAttr) and not space.value)):
        return f"{space} is not a memory space"
    return _element("memref")(t) or _shape(t.shape)


def _complex(t: ty.ComplexType) -> str | None:
    return None if isinstance(t.element, ty.FloatType | ty.IntegerType) else f"complex numbers of '{t.element}'"


def _stored(t: ty.UniformQuantizedType | ty.AnyQuantizedType) -> str | None:
    if not 1 <= t.storage_width <= MAX_STORAGE_WIDTH:
        return f"numbers stored in {t.storage_width} bits"
    if t.storage_type_sign == ("unsigned" if t.storage_signed else "signed"):
        return f"{'signed' if t.storage_signed else 'unsigned'} numbers stored as '{ty.storage_type(t)}'"
    low, high = _bounds(t)
    if not low <= t.storage_min < t.storage_max <= high:
        return f"stored numbers from {t.storage_min} to {t.storage_max}, where the type has {low} to {high}"
    if t.expressed is not None and not isinstance(t.expressed, ty.FloatType):
        return f"'{t.expressed}' as expressed type"
    return None


def _bounds(t: ty.UniformQuantizedType | ty.AnyQuantizedType) -> tuple[int, int]:
    if t.storage is not None:
        return ty.special_storage_bounds(t.storage)
    return ty.storage_bounds(t.storage_width, t.storage_signed)


def _ends(numbers: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return the smallest and the largest stored number."""
    return (min(numbers), max(numbers)) if numbers else ()


def _uniform(t: ty.UniformQuantizedType) -> str | None:
    if (problem := _stored(t)) is not None:
        return problem
    format = ty.float_format(t.expressed)
    smallest, largest = (value_of(format, code) for code in (int(format.zero), format.max_code))
    assert smallest is not None
    assert largest is not None
    outside = [scale for scale in t.scales if not isfinite(scale)]
    for scale in outside or _ends(t.scales):
        if outside or not smallest <= Fraction(scale) <= largest:
            return f"scale {scale}, out of the range of '{t.expressed}'"
    # MLIR keeps a zero point in 64 bits, and in the bits of the storage type in sub-channel types.
    low, high = _bounds(t) if t.block_sizes is not None else (-(1 << 63), (1 << 63) - 1)
    for point in _ends(t.zero_points):
        if not low <= point <= high:
            return f"zero point {point}, outside {low} to {high}"
    blocks = t.block_sizes or ()
    if (t.axis or 0) < 0 or any(axis < 0 for axis, _ in blocks):
        return "a negative axis"
    if len({axis for axis, _ in blocks}) != len(blocks):
        return "block sizes with an axis twice"
    if not t.scales or any(size <= 0 for _, size in blocks):
        return "no scales" if not t.scales else "a block of no elements"
    return None


def _quantile(t: ty.QuantileType) -> str | None:
    for part in (t.storage, t.element):
        if not isinstance(part, ty.IntegerType | ty.FloatType):
            return f"'{part}' in a quantile type"
    return None if t.values else "a quantile type without values"


def _calibrated(t: ty.CalibratedQuantizedType) -> str | None:
    if not isinstance(t.expressed, ty.FloatType):
        return f"'{t.expressed}' as expressed type"
    return None if t.minimum < t.maximum else f"calibrated from {t.minimum} to {t.maximum}"


def _map(a: at.AffineMapAttr | at.IntegerSetAttr) -> str | None:
    most = max(a.dimensions, a.symbols)
    return None if most <= MAX_RANK else f"{most} dimensions or symbols of a map"


def _sparse(a: at.SparseElementsAttr) -> str | None:
    shape = a.type.shape
    if shape is None or None in shape or not isinstance(a.type, ty.TensorType | ty.VectorType):
        return f"elements of '{a.type}'"
    rows = a.indices.type.shape
    count = a.values.type.shape
    # In MLIR the coordinates of a single element, or of rank 1, are a list.
    if a.indices.type.element != ty.I64 or a.values.type.element != a.type.element or rows is None or count is None:
        return f"indices '{a.indices.type}' and values '{a.values.type}' of '{a.type}'"
    if len(count) != 1 or rows not in ((count[0], len(shape)), count if len(shape) == 1 else ()):
        return f"indices '{a.indices.type}' and values '{a.values.type}' of '{a.type}'"
    codes = a.indices.codes.reshape(-1, 1 if a.indices.splat else max(1, len(shape)))
    for axis, size in enumerate(shape):
        column = codes[:, 0 if a.indices.splat else axis]
        if size is not None and column.size and int(column.max()) >= size:
            return f"a coordinate {int(column.max())} of {size}"
    return None


def _numbers(*names: str) -> Callable[[Any], str | None]:
    """Return a check of the lines and columns in these fields: it returns the first that is too large, as text."""

    def rule(place: Any) -> str | None:
        for name in names:
            if getattr(place, name) >= _WORD:
                return f"{name} {getattr(place, name)}"
        return None

    return rule


_RULES: dict[type, Callable[[Any], str | None]] = {
    DialectAttr: _declared,
    ty.VectorType: _element("vector"),
    ty.TensorType: _tensor,
    ty.MemRefType: _memref,
    ty.ComplexType: _complex,
    ty.UniformQuantizedType: _uniform,
    ty.AnyQuantizedType: _stored,
    ty.CalibratedQuantizedType: _calibrated,
    ty.QuantileType: _quantile,
    at.AffineMapAttr: _map,
    at.IntegerSetAttr: _map,
    at.DictionaryAttr: lambda a: None if all(name for name, _ in a.entries) else "an entry without a name",
    at.SparseElementsAttr: _sparse,
    loc.FileLineCol: _numbers("line", "column"),
    loc.FileRange: _numbers("line", "column", "end_line", "end_column"),
}


# --- code -------------------------------------------------------------------------------------------------------------
#
# One code of an encoding: its number, the class of what it encodes, and its fields.


@dataclass(frozen=True)
class Code:
    """A row of a table: how bytecode encodes attributes or types of a class. ``take`` returns the values of an object's
    fields, or None if the row does not fit the object. ``make`` returns the object with such values, or None if there
    is not such an object.
    """

    number: int
    kind: type
    fields: tuple[Field, ...]
    make: Callable[..., Thing | None]
    take: Callable[[Any], tuple[Any, ...] | None]
    since: Schema = Schema.MLIR22

    def read(self, source: CodeSource) -> Thing:
        """Read the fields that follow the number of the row, and return the object."""
        start = source.cursor.pos
        values: tuple[Any, ...] = ()
        for field in self.fields:
            values = (*values, field.read(source, values))
        thing = self.make(*values)
        if thing is None:
            source.cursor.fail(f"the encoded values do not make a {self.kind.__name__}", start)
        problem = wrong(thing)
        if problem is not None:
            source.cursor.fail(f"{self.kind.__name__}: {problem}", start)
        return thing

    def write(self, sink: CodeSink, values: tuple[Any, ...]) -> None:
        """Write the code and the fields."""
        sink.varint(self.number)
        for field, value in zip(self.fields, values, strict=True):
            field.write(sink, value, values)


@dataclass(frozen=True)
class Codec:
    """The codes of a dialect's attributes or types."""

    by_number: dict[int, Code]
    by_kind: dict[type, tuple[Code, ...]]

    def write(self, sink: CodeSink, thing: Thing) -> bool:
        """Write an attribute or a type. Returns False, with nothing written, if there is no code for it."""
        for code in self.by_kind.get(type(thing), ()):
            if code.since <= sink.schema and (values := code.take(thing)) is not None:
                code.write(sink, values)
                return True
        return False


def codec_of(codes: tuple[Code, ...]) -> Codec:
    """Return the codec that has these rows."""
    kinds = {code.kind for code in codes}
    # Of several rows with one number, the first is that of the oldest schema; they differ only in ``take``.
    return Codec(
        {code.number: code for code in reversed(codes)},
        {kind: tuple(c for c in codes if c.kind is kind) for kind in kinds},
    )
