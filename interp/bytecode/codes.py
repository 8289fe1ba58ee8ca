"""The encoding of builtin attributes and types: one row for each code, read and written by its fields.

Attributes and types without a row, such as those of other dialects except quant, are text in a file. Codes and fields
are those of MLIR's BuiltinDialectBytecode.td.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any

from halfulp.interp.bytecode.fields import (
    ARRAY_CODES,
    ATTRIBUTE,
    BOOL,
    CODE,
    ELEMENTS,
    FLAGS,
    LOCATION,
    MAX_RANK,
    NAME,
    RESOURCE,
    SHAPE,
    SIZE,
    STRING,
    STRINGS,
    TYPE,
    VARINT,
    Code,
    CodeSink,
    CodeSource,
    Field,
    attribute_of,
    codec_of,
    list_of,
    pair_of,
)
from halfulp.interp.bytecode.quant_codes import QUANT_TYPES
from halfulp.interp.bytecode.vhlo_codes import TYPES as VHLO_TYPES
from halfulp.interp.bytecode.vhlo_codes import future_of
from halfulp.interp.declare.declarations import Schema
from halfulp.interp.ir import affine_expressions as affine
from halfulp.interp.ir import attributes as at
from halfulp.interp.ir import base as loc
from halfulp.interp.ir import types as ty
from halfulp.interp.text.affine_parser import MAX_DEPTH

# --- affine fields ----------------------------------------------------------------------------------------------------
#
# Affine expressions and maps as fields of an encoding.

_OPERATORS = {3: "+", 4: "*", 5: "mod", 6: "floordiv", 7: "ceildiv"}
_NUMBERS = {operator: number for number, operator in _OPERATORS.items()}

dimension = lru_cache(maxsize=MAX_RANK)(affine.Dimension)


def _read_affine(source: CodeSource, before: tuple[Any, ...], depth: int = 0) -> affine.AffineExpr:
    cursor = source.cursor
    start = cursor.pos
    kind = cursor.varint()
    if depth > MAX_DEPTH:
        cursor.fail(f"an affine expression is nested more than {MAX_DEPTH} deep", start)
    if kind in (0, 1):
        position = cursor.below(cursor.varint(), before[kind], "symbol" if kind else "dimension", start)
        return affine.Symbol(position) if kind else dimension(position)
    if kind == 2:
        return affine.AffineConstant(cursor.svarint())
    if kind not in _OPERATORS:
        cursor.fail(f"unknown affine expression {kind}", start)
    left = _read_affine(source, before, depth + 1)
    made = affine.OPERATORS[_OPERATORS[kind]](left, _read_affine(source, before, depth + 1))
    # An expression that is wide in the file may be deep when it is simplified.
    if made.depth > MAX_DEPTH:
        cursor.fail(f"an affine expression is nested more than {MAX_DEPTH} deep", start)
    return made


def _write_affine(sink: CodeSink, expr: affine.AffineExpr, before: tuple[Any, ...]) -> None:
    if isinstance(expr, affine.Dimension | affine.Symbol):
        sink.varint(int(isinstance(expr, affine.Symbol)))
        sink.varint(expr.position)
    elif isinstance(expr, affine.AffineConstant):
        sink.varint(2)
        sink.svarint(expr.value)
    else:
        assert isinstance(expr, affine.Binary)
        sink.varint(_NUMBERS[expr.operator])
        _write_affine(sink, expr.lhs, before)
        _write_affine(sink, expr.rhs, before)


EXPRESSION = Field(_read_affine, _write_affine)

_IDENTITY, _PERMUTATION, _PROJECTION, _GENERAL = range(4)


def _read_map(source: CodeSource, before: tuple[Any, ...]) -> at.AffineMapAttr:
    """Read the number of dimensions, with the kind of the map in its low bits, and then what that kind needs."""
    cursor = source.cursor
    start = cursor.pos
    head = cursor.varint()
    dimensions, kind = head >> 2, head & 3
    symbols = cursor.varint() if kind == _GENERAL else 0
    if max(dimensions, symbols) > MAX_RANK:
        cursor.fail(f"a map has {max(dimensions, symbols)} dimensions or symbols, but the limit is {MAX_RANK}", start)
    source.spend(dimensions + symbols)
    if kind == _GENERAL:
        exprs = [_read_affine(source, (dimensions, symbols)) for _ in range(cursor.count())]
        return at.AffineMapAttr(dimensions, symbols, tuple(exprs))
    if kind == _IDENTITY:
        return at.identity_map(dimensions)
    positions = [cursor.varint() for _ in range(cursor.count() if kind == _PROJECTION else dimensions)]
    cursor.below(max(positions, default=-1), dimensions, "dimension", start)
    return at.AffineMapAttr(dimensions, symbols, tuple(dimension(position) for position in positions))


def _write_map(sink: CodeSink, value: at.AffineMapAttr, before: tuple[Any, ...]) -> None:
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


def _read_names(source: CodeSource, before: tuple[Any, ...]) -> int:
    count = source.cursor.varint()
    source.spend(min(count, MAX_RANK))
    return count


# A number of dimensions or symbols, each of which has a name in the text.
NAMES = Field(_read_names, VARINT.write)
# An affine map.
MAP = Field(_read_map, _write_map)


# --- codes ------------------------------------------------------------------------------------------------------------

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
    """Return a `Code.take` that returns None for objects that ``wrong`` accepts."""
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
        (NAMES, NAMES, list_of(EXPRESSION), FLAGS),
        lambda dimensions, symbols, exprs, equal: at.IntegerSetAttr(
            dimensions, symbols, tuple(zip(exprs, equal, strict=True))
        ),
        lambda a: (a.dimensions, a.symbols, *(zip(*a.constraints, strict=True) if a.constraints else ((), ()))),
        Schema.LLVM24,
    ),
    Code(
        25,
        at.StridedLayoutAttr,
        (SIZE, SHAPE),
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
    return ty.MemRefType(shape, element, None if layout == at.identity_map(len(shape)) else layout, space)


def _vector(shape: ty.Shape, element: ty.Type, scalable: tuple[bool, ...] = ()) -> ty.Type | None:
    sizes = tuple(size for size in shape if size is not None and size > 0)
    if len(sizes) != len(shape) or (scalable and len(scalable) != len(shape)):
        return None
    return ty.VectorType(sizes, element, scalable)


def _layout(type: Any) -> at.Attribute:
    return type.layout or at.identity_map(len(type.shape))


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


def _token(type: ty.DialectType) -> tuple[Any, ...] | None:
    return () if type.mnemonic == "token" else None


# A future is written as text.
_STABLEHLO_TYPES = (
    Code(0, ty.DialectType, (), lambda: ty.DialectType("stablehlo", "token"), _token),
    Code(1, ty.DialectType, (list_of(TYPE),), future_of, lambda t: None),
)


# --- the tables -------------------------------------------------------------------------------------------------------

ATTRIBUTE_CODES = {"builtin": codec_of(ATTRIBUTES)}
TYPE_CODES = {
    "builtin": codec_of(TYPES),
    "quant": codec_of(QUANT_TYPES),
    "stablehlo": codec_of(_STABLEHLO_TYPES),
    "vhlo": codec_of(VHLO_TYPES),
}

# Names of codes that halfulp does not support.
UNSUPPORTED: Mapping[tuple[str, str, int], str] = {("type", "builtin", 33): "token"}
