"""The codes of quantized types, as in MLIR's QuantDialectBytecode.td."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from math import ldexp
from typing import Any, NamedTuple

from halfulp.fp_formats.formats import ints_to_codes
from halfulp.fp_formats.scalar import FINITE, RNE, from_fraction, unpack
from halfulp.interp.bytecode.fields import (
    ATTRIBUTE,
    DOUBLE,
    SVARINT,
    TYPE,
    VARINT,
    Code,
    CodeSource,
    Field,
    attribute_of,
    list_of,
    optional,
)
from halfulp.interp.declare.declarations import Schema
from halfulp.interp.ir import attributes as at
from halfulp.interp.ir import types as ty


class _EncodedStorage(NamedTuple):
    """The storage of a quantised type. ``special``: the type that newer MLIR stores instead of an integer.
    ``type_sign``: that of the integer type.
    """

    width: int
    signed: bool
    special: ty.Type | None
    type_sign: ty.Signedness


def _storage(flags: int, storage: ty.Type) -> _EncodedStorage | None:
    stored = storage.storage if isinstance(storage, ty.QuantileType) else storage
    special = None if isinstance(storage, ty.IntegerType) else storage
    if flags > 1 or not isinstance(stored, ty.IntegerType | ty.FloatType):
        return None
    width = stored.format.bits if isinstance(stored, ty.FloatType) else stored.width
    if isinstance(stored, ty.FloatType) and width > 8:
        return None
    type_sign: ty.Signedness = storage.signedness if isinstance(storage, ty.IntegerType) else "signless"
    return _EncodedStorage(width, bool(flags), special, type_sign)


def _any_quantized(
    flags: int, storage: ty.Type, least: int, most: int, expressed: ty.Type | None = None
) -> ty.Type | None:
    head = _storage(flags, storage)
    if head is None:
        return None
    return ty.AnyQuantizedType(head.width, head.signed, least, most, expressed, head.special, head.type_sign)


def _head(t: ty.UniformQuantizedType | ty.AnyQuantizedType) -> tuple[int, ty.Type]:
    return int(t.storage_signed), ty.storage_type(t)


def _quantized(
    number: int,
    kind: type,
    fields: tuple[Field, ...],
    make: Callable[..., ty.Type | None],
    take: Callable[[Any], tuple[Any, ...]],
    holds: Callable[[Any], bool],
) -> tuple[Code, Code]:
    """Return the rows of a code: one for types that store integers, and one for other types, which only newer
    MLIR has.
    """

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
        head.width,
        head.signed,
        least,
        most,
        expressed,
        (scale,),
        (point,),
        storage=head.special,
        storage_type_sign=head.type_sign,
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
        head.width,
        head.signed,
        least,
        most,
        expressed,
        scales,
        points,
        axis,
        storage=head.special,
        storage_type_sign=head.type_sign,
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
        head.width,
        head.signed,
        least,
        most,
        expressed,
        numbers,
        zeros,
        None,
        blocks,
        parameters,
        storage_type_sign=head.type_sign,
    )


def _quantile(
    storage: ty.Type, element: ty.Type, values: tuple[float, ...], least: int | None, most: int | None
) -> ty.Type | None:
    if (least is None) is not (most is None):
        return None
    return ty.QuantileType(storage, element, values, None if least is None or most is None else (least, most))


def _read_parameters(source: CodeSource, before: tuple[Any, ...]) -> at.DenseElementsAttr:
    elements: at.DenseElementsAttr = _DENSE.read(source, before)
    # Each type has its own numbers, though their elements may be shared.
    source.spend(_PARAMETER * (ty.element_count(elements.type) or 0))
    return elements


_DENSE = attribute_of(at.DenseElementsAttr)
_PARAMETER = 4  # the cost of one number, in things
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
    storage = ty.IntegerType(t.storage_width)
    codes = [from_fraction(ty.float_format(t.expressed), Fraction(scale), RNE).code for scale in t.scales]
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
    stored = ints_to_codes(codes[:1] if splat else codes, ty.width_of(element), () if splat else shape)
    return at.DenseElementsAttr(ty.TensorType(shape, element), stored, splat)


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
    # Newer MLIR crashes on a type that stores floats in blocks, so its encoding is not known.
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
