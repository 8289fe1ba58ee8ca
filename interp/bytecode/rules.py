"""Rules of attributes and types that their encoding does not enforce: those that the text parser checks."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from math import isfinite
from typing import Any

from halfulp.fp_formats.scalar import value as value_of
from halfulp.interp.dialects.quant.types import MAX_STORAGE_WIDTH
from halfulp.interp.ir import attributes as at
from halfulp.interp.ir import locations as loc
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.dialect_attributes import DialectAttr
from halfulp.interp.text.type_parser import SPACES, is_element

MAX_RANK = 1 << 12
"""The most dimensions or symbols of an affine map: a byte of a file may stand for so many names in its text."""

_WORD = 1 << 32


def wrong(thing: Any) -> str | None:
    """Return what is wrong with an attribute or a type, apart from what is inside it, or None."""
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
    assert isinstance(t.expressed, ty.FloatType)
    format = t.expressed.format
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


def _dictionary(a: at.DictionaryAttr) -> str | None:
    return None if all(name for name, _ in a.entries) else "an entry without a name"


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
    """Return a rule for the lines and columns of those names."""

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
    at.DictionaryAttr: _dictionary,
    at.SparseElementsAttr: _sparse,
    loc.FileLineCol: _numbers("line", "column"),
    loc.FileRange: _numbers("line", "column", "end_line", "end_column"),
}
