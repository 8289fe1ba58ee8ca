"""MLIR's types: frozen, hashable, equal by value. ``str(type)`` is the spelling mlir-opt prints.

A shape is a tuple of dimensions, None for a dynamic one (``?``); a shape of None is an unranked type.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from math import prod
from typing import Any, ClassVar, Literal

import numpy as np

from halfulp.fp_formats.formats import (
    BUILTIN_FORMATS,
    FORMATS,
    OTHER_FORMATS,
    Codes,
    FloatFormat,
    NanEncoding,
    limb_count,
    p3109_format,
    storage_dtype,
)
from halfulp.fp_formats.scalar import value
from halfulp.interp.ir.base import Attribute, filled, immutable, narrowed, nest, quoted, spell_double, spell_rounded
from halfulp.interp.ir.base import Type as Type
from halfulp.interp.ir.errors import Unsupported
from halfulp.semantics.fixed_point import FixedFormat

Shape = tuple[int | None, ...]
Signedness = Literal["signless", "signed", "unsigned"]

_BRACES = ("{", "}")
_PREFIX: Mapping[str, str] = {"signless": "i", "signed": "si", "unsigned": "ui"}

MAX_INTEGER_WIDTH = (1 << 24) - 1
INDEX_WIDTH = 64


@immutable
class IntegerType(Type):
    """An integer type: ``i32``, ``si8``, ``ui4``. ``width``: the bits, 0 to 2^24 - 1."""

    width: int
    signedness: Signedness = "signless"

    def spell(self, names: Mapping[object, str]) -> str:
        """Return the text ``i``, ``si`` or ``ui`` and the width."""
        return f"{_PREFIX[self.signedness]}{self.width}"


@immutable
class IndexType(Type):
    """``index``: a signless integer of the machine's width."""

    def spell(self, names: Mapping[object, str]) -> str:
        """Return the text ``index``."""
        return "index"


@immutable
class NoneType(Type):
    """``none``: a type with one value."""

    def spell(self, names: Mapping[object, str]) -> str:
        """Return the text ``none``."""
        return "none"


FLOAT_NUMBERS: Mapping[str, str] = {"exponent": "exponent_bits", "mantissa": "mantissa_bits", "bias": "bias"}
"""The numbers of a format's own definition in text, and the fields of `FloatFormat` that they are."""
FLOAT_FLAGS: Mapping[str, tuple[str, bool]] = {
    "unsigned": ("signed", False),
    "finite": ("infinities", False),
    "no_zero": ("zero", False),
    "integer_bit": ("explicit_integer_bit", True),
    "even_code": ("even_code", True),
}
"""The words of a definition in text, with the field and the value that each one stands for."""
NAN_WORDS: Mapping[str, NanEncoding] = {each.name.lower(): each for each in NanEncoding}
"""The words for the NaNs of a format."""


@immutable
class FloatType(Type):
    """A float type. ``format``: the format, which determines everything else."""

    format: FloatFormat

    @property
    def builtin(self) -> bool:
        """True for a type of MLIR, False for one that only halfulp has a spelling for."""
        return BUILTIN_FORMATS.get(self.format.name) == self.format

    def spell(self, names: Mapping[object, str]) -> str:
        """Return the text of the name of the format, or ``!halfulp.float<…>`` for one that is not MLIR's."""
        return self.format.name if self.builtin else _spell_own(self.format)


@lru_cache(maxsize=256)
def _spell_own(fmt: FloatFormat) -> str:
    """Return the text of a format that is not MLIR's: by its name if every halfulp knows it, else with its fields."""
    if OTHER_FORMATS.get(fmt.name) == fmt or _is_p3109(fmt):
        return f"!halfulp.float<{quoted(fmt.name)}>"
    fields = [quoted(fmt.name), *(f"{word} = {getattr(fmt, field)}" for word, field in FLOAT_NUMBERS.items())]
    fields += [word for word, (field, value) in FLOAT_FLAGS.items() if getattr(fmt, field) is value]
    if fmt.nan is not NanEncoding.IEEE:
        fields.append(f"nan = {fmt.nan.name.lower()}")
    return f"!halfulp.float<{', '.join(fields)}>"


def _is_p3109(fmt: FloatFormat) -> bool:
    try:
        return p3109_format(fmt.name) == fmt
    except ValueError:
        return False


@immutable
class ComplexType(Type):
    """A complex type: ``complex<element>``."""

    element: Type

    def spell(self, names: Mapping[object, str]) -> str:
        """Return the text ``complex<…>``."""
        return f"complex<{self.element.spell(names)}>"


@immutable
class TupleType(Type):
    """A tuple type: ``tuple<…>``."""

    elements: tuple[Type, ...]

    def spell(self, names: Mapping[object, str]) -> str:
        """Return the text ``tuple<…>``."""
        return f"tuple<{_list(self.elements, names)}>"


@immutable
class FunctionType(Type):
    """A function type: ``(inputs) -> results``."""

    inputs: tuple[Type, ...]
    results: tuple[Type, ...]

    def spell(self, names: Mapping[object, str]) -> str:
        """Return the text of the inputs in parentheses. One result has no parentheses, unless it is a function type."""
        results = _list(self.results, names)
        if len(self.results) != 1 or isinstance(self.results[0], FunctionType):
            results = f"({results})"
        return f"({_list(self.inputs, names)}) -> {results}"


@immutable
class VectorType(Type):
    """A vector type: ``vector<2x[4]xf32>``; ``scalable`` holds one bool per dimension (empty: none is scalable)."""

    shape: tuple[int, ...]
    element: Type
    scalable: tuple[bool, ...] = ()

    def __post_init__(self) -> None:
        if self.scalable and not any(self.scalable):
            object.__setattr__(self, "scalable", ())

    def spell(self, names: Mapping[object, str]) -> str:
        """Return the text ``vector<…>`` with scalable dimensions in square brackets."""
        flags = self.scalable or (False,) * len(self.shape)
        dims = "".join(f"[{size}]x" if flag else f"{size}x" for size, flag in zip(self.shape, flags, strict=True))
        return f"vector<{dims}{self.element.spell(names)}>"


@immutable
class TensorType(Type):
    """A tensor type: ``tensor<2x?xf32, encoding>``; ``shape`` None is ``tensor<*xf32>``."""

    shape: Shape | None
    element: Type
    encoding: Attribute | None = None

    def spell(self, names: Mapping[object, str]) -> str:
        """Return the text ``tensor<…>``."""
        encoding = "" if self.encoding is None else f", {self.encoding.spell_nested(names)}"
        return f"tensor<{_dimensions(self.shape)}{self.element.spell(names)}{encoding}>"


@immutable
class MemRefType(Type):
    """A memref type: ``memref<2x?xf32, layout, space>``; ``shape`` None is unranked. An identity layout is None."""

    shape: Shape | None
    element: Type
    layout: Attribute | None = None
    memory_space: Attribute | None = None

    def spell(self, names: Mapping[object, str]) -> str:
        """Return the text ``memref<…>``."""
        layout = "" if self.layout is None else f", {self.layout.spell_nested(names)}"
        space = "" if self.memory_space is None else f", {self.memory_space.spell_untyped(names)}"
        return f"memref<{_dimensions(self.shape)}{self.element.spell(names)}{layout}{space}>"


@immutable
class OpaqueType(Type):
    """A type of a dialect that is not registered, kept as written: ``!dialect.body`` or ``!dialect<body>``.

    ``body``: the text after the dialect's name, with its dot or bracket. ``inner``: the attributes and types that the
    marks in it stand for.
    """

    dialect: str
    body: str
    inner: tuple[Attribute | Type, ...] = ()

    def spell(self, names: Mapping[object, str]) -> str:
        """Return the text of the type as it was written."""
        return f"!{self.dialect}{filled(self.body, self.inner, names)}"


@immutable
class DialectType(Type):
    """A type that a dialect declares: ``!dialect.mnemonic``. Subclasses have parameters.

    ``width``: the bits of the code of a value; None if values have no code.
    """

    width: ClassVar[int | None] = None

    dialect: str
    mnemonic: str

    @property
    def parts(self) -> tuple[Attribute | Type, ...]:
        """The attributes and types among its parameters."""
        return ()

    @property
    def pointee(self) -> Type | None:
        """The type of the elements to which a pointer points; None for other types. A caller gives their memory."""
        return None

    def spell(self, names: Mapping[object, str]) -> str:
        """Return the text ``!dialect.mnemonic``."""
        return f"!{self.dialect}.{self.mnemonic}"


def is_memory(type_: Type) -> bool:
    """Tell whether a caller gives memory for a type: for a memref, and for a pointer whose elements are known."""
    return isinstance(type_, MemRefType) or (isinstance(type_, DialectType) and type_.pointee is not None)


def is_place(type_: Type) -> bool:
    """Tell whether values of a type say where something is: an index, or what a dialect uses as a pointer."""
    return isinstance(type_, IndexType | DialectType)


def is_discrete(type_: Type) -> bool:
    """Tell whether values of a type are integers or places, which no op rounds."""
    return isinstance(type_, IntegerType) or is_place(type_)


@immutable
class FixedType(Type):
    """``!halfulp.fixed<8, 4, true, AC_RND, AC_SAT>``: a fixed-point type. ``format``: the format, which determines
    everything else.
    """

    format: FixedFormat

    def spell(self, names: Mapping[object, str]) -> str:
        """Return the text ``!halfulp.fixed<…>``, with the parameters in the order of ac_fixed."""
        return f"!halfulp.fixed<{self.format.parameters}>"


@immutable
class UniformQuantizedType(Type):
    """``!quant.uniform<…>``: stored integers that represent real numbers, expressed = (stored - zero point) * scale.

    Per layer: ``axis`` and ``block_sizes`` are None, and there is one scale. Per channel: ``axis`` is set, and there is
    one scale per index of it. Sub-channel: ``block_sizes`` has (axis, size) pairs, and the scales form an array of
    ``parameter_shape``, row-major. ``scales``: the literals' values as f64 (sub-channel: rounded to the expressed type,
    as MLIR does). ``storage``: None for integers; newer MLIR also stores a float type or a `QuantileType`, whose bounds
    are integers. ``storage_type_sign``: the signedness of the integer type, since MLIR distinguishes the storage types
    `u8` (stored in an `i8`) and `ui8`, and `i8` and `si8`.
    """

    storage_width: int
    storage_signed: bool
    storage_min: int
    storage_max: int
    expressed: Type
    scales: tuple[float, ...]
    zero_points: tuple[int, ...]
    axis: int | None = None
    block_sizes: tuple[tuple[int, int], ...] | None = None
    parameter_shape: tuple[int, ...] = ()
    storage: Type | None = None
    storage_type_sign: Signedness = "signless"

    @property
    def along_axes(self) -> bool:
        """Whether the scale of an element depends on its place in the tensor."""
        return self.axis is not None or self.block_sizes is not None

    def spell(self, names: Mapping[object, str]) -> str:
        """Return the text ``!quant.uniform<…>``; storage bounds that are the whole range are left out."""
        head = f"{_storage(self)}:{self.expressed.spell(names)}"
        scales = [spell_double(scale) for scale in self.scales]
        if self.block_sizes is not None and isinstance(self.expressed, FloatType):
            scales = [spell_rounded(scale, self.expressed.format) for scale in self.scales]
        zeros = self.zero_points
        if self.block_sizes is not None:
            # MLIR prints these as signed numbers of the storage type's width.
            half = 1 << self.storage_width >> 1
            zeros = tuple([(zero + half) % (2 * half) - half for zero in zeros])
        pairs = [f"{scale}:{zero}" if zero else scale for scale, zero in zip(scales, zeros, strict=True)]
        if self.block_sizes is not None:
            blocks = ", ".join(f"{axis}:{size}" for axis, size in self.block_sizes)
            return f"!quant.uniform<{head}:{{{blocks}}}, {nest(pairs, self.parameter_shape, _BRACES)}>"
        if self.axis is not None:
            return f"!quant.uniform<{head}:{self.axis}, {{{','.join(pairs)}}}>"
        return f"!quant.uniform<{head}, {pairs[0]}>"


@immutable
class QuantileType(Type):
    """``!quant.quantile<ui4:f16, {-1.0, 0.0, 1.0}, <0:2>>`` of newer MLIR: stored integers are indices of a table.

    ``values``: the table as f64, of numbers of type ``element``; ``bounds``: the smallest and the largest index, if
    given.
    """

    storage: Type
    element: Type
    values: tuple[float, ...]
    bounds: tuple[int, int] | None = None

    def spell(self, names: Mapping[object, str]) -> str:
        """Return the text ``!quant.quantile<…>``."""
        values = ",".join(spell_double(value) for value in self.values)
        bounds = "" if self.bounds is None else f", <{self.bounds[0]}:{self.bounds[1]}>"
        return f"!quant.quantile<{self.storage.spell(names)}:{self.element.spell(names)}, {{{values}}}{bounds}>"


@immutable
class AnyQuantizedType(Type):
    """``!quant.any<i8<-16:7>:f32>``: stored integers of unknown scale; ``expressed`` may be None. The other fields are
    those of `UniformQuantizedType`.
    """

    storage_width: int
    storage_signed: bool
    storage_min: int
    storage_max: int
    expressed: Type | None = None
    storage: Type | None = None
    storage_type_sign: Signedness = "signless"

    def spell(self, names: Mapping[object, str]) -> str:
        """Return the text ``!quant.any<…>``."""
        expressed = "" if self.expressed is None else f":{self.expressed.spell(names)}"
        return f"!quant.any<{_storage(self)}{expressed}>"


@immutable
class CalibratedQuantizedType(Type):
    """``!quant.calibrated<f32<-0.998:1.2321>>``: a float type with the range its values were seen in."""

    expressed: Type
    minimum: float
    maximum: float

    def spell(self, names: Mapping[object, str]) -> str:
        """Return the text ``!quant.calibrated<…>``."""
        bounds = f"{spell_double(self.minimum)}:{spell_double(self.maximum)}"
        return f"!quant.calibrated<{self.expressed.spell(names)}<{bounds}>>"


QuantizedType = UniformQuantizedType | AnyQuantizedType | CalibratedQuantizedType
ShapedType = VectorType | TensorType | MemRefType


def storage_type(type: UniformQuantizedType | AnyQuantizedType) -> Type:
    """Return the type in which a quantised element is stored. For ``u8`` this is ``i8``, which has no signedness."""
    return type.storage or IntegerType(type.storage_width, type.storage_type_sign)


def F(name: str) -> FloatType:
    """Return the float type with this MLIR name. Raises KeyError for a name that is not known."""
    return FloatType(FORMATS[name])


I1 = IntegerType(1)
I32 = IntegerType(32)
I64 = IntegerType(64)
INDEX = IndexType()


def element_type(type: Type) -> Type:
    """Return the element type of a vector, tensor or memref; any other type itself."""
    return type.element if isinstance(type, ShapedType) else type


def is_signless(type: Type) -> bool:
    """Tell whether a type is that of a signless integer."""
    return isinstance(type, IntegerType) and type.signedness == "signless"


def float_format(type: Type) -> FloatFormat:
    """Return the format of a float type, or of the elements of a vector, tensor or memref of floats."""
    element = narrowed(element_type(type), FloatType)
    return element.format


def number_type(element: Type) -> Type:
    """Return the type of the numbers of which an element of memory consists: for a vector or a complex number, the type
    of its parts.
    """
    element = element.element if isinstance(element, VectorType) else element
    return element.element if isinstance(element, ComplexType) else element


def contents_type(type: MemRefType, shape: Shape | None = None) -> TensorType:
    """Return the type of a tensor with the elements of a memref, perhaps of another ``shape``. Vectors become
    dimensions.
    """
    shape = type.shape if shape is None else shape
    if not isinstance(type.element, VectorType) or shape is None:
        return TensorType(shape, type.element)
    return TensorType((*shape, *type.element.shape), type.element.element)


def element_width(element: Type) -> int | None:
    """Return the number of bits of one element's code; None for element types with which halfulp does not compute."""
    match element:
        case IntegerType():
            return element.width
        case IndexType():
            return INDEX_WIDTH
        case FloatType():
            return element.format.bits
        case FixedType():
            return element.format.width
        case DialectType():
            return element.width
        case UniformQuantizedType() | AnyQuantizedType():
            return element.storage_width
    return None


def width_of(element: Type) -> int:
    """Return the number of bits of one element's code. Raises Unsupported for an element type that has no code."""
    width = element_width(element)
    if width is None:
        raise Unsupported(f"halfulp cannot compute with values of type '{element}'")
    return width


def shape_of(type: Type) -> Shape | None:
    """Return the shape of a vector, tensor or memref (None: unranked); () for any other type."""
    return type.shape if isinstance(type, ShapedType) else ()


def with_element(type: Type, element: Type) -> Type:
    """Return the same container with another element type, or ``element`` itself for a type that is not a container."""
    return replace(type, element=element) if isinstance(type, ShapedType) else element


def is_dynamic(type: Type) -> bool:
    """Tell whether the shape is unranked or has a ``?``."""
    shape = shape_of(type)
    return shape is None or None in shape


def element_count(type: Type) -> int | None:
    """Count the elements of a statically shaped type (1 for a scalar); None for a dynamic one."""
    shape = shape_of(type)
    if shape is None:
        return None
    return prod(size for size in shape if size is not None) if None not in shape else None


def storage_bounds(width: int, signed: bool) -> tuple[int, int]:
    """Return the smallest and the largest integer of a quantised storage type."""
    return (-(1 << width - 1), (1 << width - 1) - 1) if signed else (0, (1 << width) - 1)


def special_storage_bounds(storage: Type) -> tuple[int, int]:
    """Return the smallest and the largest number that can be stored: for a float type as whole numbers, for a
    `QuantileType` as indices.
    """
    if isinstance(storage, FloatType):
        largest = value(storage.format, storage.format.max_code)
        assert largest is not None
        return -int(largest) if storage.format.signed else 0, int(largest)
    assert isinstance(storage, QuantileType)
    return storage.bounds or (0, len(storage.values) - 1)


def check_quantized_container(type: Type, shape: Shape | None) -> str | None:
    """Return what is wrong with ``type`` as the element type of a tensor of ``shape``, or None.

    The rules are those of the quant document ("Per-axis quantization integrity") and MLIR 22's for sub-channel
    quantisation. A rule that needs the size of a dynamic dimension or of an unranked shape (None) is not checked: call
    again with the actual shape. ``shape`` () means a rank-0 tensor; `check_quantized_scalar` checks a scalar.
    """
    if not isinstance(type, UniformQuantizedType):
        return None
    if type.axis is not None:
        return _check_channels(type, type.axis, shape)
    if type.block_sizes is not None:
        return _check_blocks(type, type.block_sizes, shape)
    return None


def check_quantized_scalar(type: Type) -> str | None:
    """Return what is wrong with ``type`` as the type of a scalar, or None."""
    if isinstance(type, UniformQuantizedType):
        if type.axis is not None:
            return "scalar types may not use per-axis quantization"
        if type.block_sizes is not None:
            return "scalar types may not use sub-channel quantization"
    return None


def _check_channels(type: UniformQuantizedType, axis: int, shape: Shape | None) -> str | None:
    if shape is None:
        return None
    if axis >= len(shape):
        return f"quantized dimension {axis} must be less than tensor rank {len(shape)}"
    size = shape[axis]
    if size is not None and size != len(type.scales):
        return (
            f"quantized dimension size does not match number of scales: "
            f"dimension {axis} has size {size}, the type has {len(type.scales)} scales"
        )
    return None


def _check_blocks(type: UniformQuantizedType, blocks: tuple[tuple[int, int], ...], shape: Shape | None) -> str | None:
    if shape is None:
        return "tensor containing the sub-channel quantized type must be ranked"
    if len(type.parameter_shape) != len(shape):
        return f"rank of scales {len(type.parameter_shape)} must match the rank of the tensor {len(shape)}"
    for axis, size in blocks:
        if axis >= len(shape):
            return f"quantized dimension {axis} must be less than tensor rank {len(shape)}"
        dimension = shape[axis]
        if dimension is not None and size > dimension:
            return f"block size {size} must not exceed dimension {axis} of size {dimension}"
        if dimension is not None and dimension % size:
            return f"tensor dimension size {dimension} at axis {axis} must be divisible by the block size {size}"
    sizes = dict(blocks)
    for axis, (dimension, count) in enumerate(zip(shape, type.parameter_shape, strict=True)):
        if dimension is None:
            continue
        expected = dimension // sizes[axis] if axis in sizes else min(dimension, 1)
        if count != expected:
            return f"dimension {axis} of the scales has size {count}, the tensor and its block sizes need {expected}"
    return None


def _list(types: tuple[Type, ...], names: Mapping[object, str]) -> str:
    return ", ".join(names.get(type) or type.spell(names) for type in types)


def _dimensions(shape: Shape | None) -> str:
    return "*x" if shape is None else "".join("?x" if size is None else f"{size}x" for size in shape)


def _storage(type: UniformQuantizedType | AnyQuantizedType) -> str:
    bounds = (type.storage_min, type.storage_max)
    name = str(storage_type(type))
    if type.storage is not None:
        whole = special_storage_bounds(type.storage)
    else:
        if name.startswith("i") and not type.storage_signed:
            name = f"u{type.storage_width}"
        whole = storage_bounds(type.storage_width, type.storage_signed)
    if bounds == whole:
        return name
    return f"{name}<{bounds[0]}:{bounds[1]}>"


# --- layout -----------------------------------------------------------------------------------------------------------
#
# How values of a type are stored: dtypes and shapes.
#
# A code is the raw bit pattern of an element: unsigned, zero-extended, in the smallest of uint8/16/32/64 that holds it.
# Elements wider than 64 bits have one more trailing axis of uint64 limbs, least significant first. A complex element
# has a trailing axis of two (real, imaginary) before the limbs. Elements that are carried but not computed with
# (strings, opaque attributes) are an object array.

MAX_RANK = 62
"""NumPy's limit of 64 axes, less those that one element may take: real and imaginary part, and limbs."""
_MAX_ARRAY_BYTES = (1 << 63) - 1
_WIDEST = 1 << 8
"""At least the bytes of one element, whatever its type."""


Layout = tuple[np.dtype[Any], tuple[int, ...]]


def code_layout(element: Type) -> Layout:
    """Return the storage dtype of an element type's codes and the trailing axes of one element. In memory an element
    may be a vector.
    """
    # Kept in the type: each value is asked for it several times, and to look up the type takes longer.
    known: Layout | None = element.__dict__.get("_layout")
    if known is None:
        known = element.__dict__["_layout"] = _code_layout(element)
    return known


def _code_layout(element: Type) -> Layout:
    if isinstance(element, ComplexType):
        dtype, limbs = code_layout(element.element)
        return dtype, (2, *limbs)
    if isinstance(element, VectorType) and not any(element.scalable):
        dtype, limbs = code_layout(element.element)
        return dtype, (*element.shape, *limbs)
    width = element_width(element)
    if width is None:
        return np.dtype(object), ()
    count = limb_count(width)
    return storage_dtype(width), () if count == 1 else (count,)


def has_layout(type_: Type, codes: Codes) -> bool:
    """Tell whether an array has the dtype and the trailing axes of codes of a type."""
    dtype, trailing = code_layout(element_type(type_))
    return codes.dtype == dtype and (not trailing or codes.shape[-len(trailing) :] == trailing)


def shape_of_codes(codes: Codes, element: Type) -> tuple[int, ...]:
    """Return the shape of an array of codes in elements: without the trailing axes of one element."""
    return codes.shape[: codes.ndim - len(code_layout(element)[1])]


def numeric(element: Type) -> Type:
    """Return the integer type in which a quantised element is stored; any other element type itself."""
    if isinstance(element, UniformQuantizedType | AnyQuantizedType):
        return IntegerType(element.storage_width, "signed" if element.storage_signed else "unsigned")
    return element


def is_unsigned(element: Type) -> bool:
    """Tell whether the type says that its integers are unsigned."""
    if isinstance(element, UniformQuantizedType):
        return not element.storage_signed
    return isinstance(element, IntegerType) and element.signedness == "unsigned"


def static_shape(type: Type) -> tuple[int, ...]:
    """Return the sizes of a vector, tensor or memref, 0 for one that is not known; () for any other type."""
    return tuple([size or 0 for size in shape_of(type) or ()])


def runtime_shape(type_: Type, vscale: int | None = None) -> tuple[int | None, ...] | None:
    """Return the shape of a type's values. It is () for a scalar; a dimension that is not known is None. Return None in
    place of a shape if the type is unranked.

    Raises Unsupported for a scalable vector without ``vscale``.
    """
    if isinstance(type_, VectorType):
        if not any(type_.scalable):
            return type_.shape
        if vscale is None:
            raise Unsupported(
                f"the number of elements of '{type_}' depends on the machine", hint="give vscale=N (--vscale=N)"
            )
        return tuple(n * vscale if scales else n for n, scales in zip(type_.shape, type_.scalable, strict=True))
    return shape_of(type_)


def fixed_type(type_: Type, vscale: int | None) -> Type:
    """Return the type of a scalable vector with the sizes that it has for this ``vscale``; any other type stays as it
    is.
    """
    if not isinstance(type_, VectorType) or not type_.scalable:
        return type_
    return VectorType(tuple(size or 0 for size in runtime_shape(type_, vscale) or ()), type_.element)


def shape_conflict(type_: Type, shape: tuple[int, ...], vscale: int | None = None) -> str | None:
    """Return why a value of this shape cannot have this type; None if it can.

    The text names both shapes, or both numbers of a quantisation rule.
    """
    expected = runtime_shape(type_, vscale)
    if expected is not None and (
        len(expected) != len(shape) or any(e is not None and e != n for e, n in zip(expected, shape, strict=True))
    ):
        return f"a value of shape {spell_shape(shape)} is not of type '{type_}'"
    element = element_type(type_)
    return check_quantized_container(element, shape) if isinstance(element, UniformQuantizedType) else None


def shape_problem(shape: Sequence[int]) -> str | None:
    """Return why NumPy cannot make an array of this shape, even if no memory is needed; None if it can."""
    if len(shape) > MAX_RANK:
        return f"has {len(shape)} dimensions; the limit is {MAX_RANK}"
    # Dimensions of size 0 do not count.
    if prod([size for size in shape if size]) > _MAX_ARRAY_BYTES // _WIDEST:
        return f"has the shape {spell_shape(tuple(shape))}, too large for any array"
    return None


def concrete(type_: Type, shape: tuple[int, ...]) -> Type:
    """Return a tensor type with the shape ``shape`` in place of its dynamic dimensions."""
    return replace(type_, shape=shape) if isinstance(type_, TensorType) and type_.shape != shape else type_


def spell_shape(shape: tuple[int, ...]) -> str:
    """Return the text of a shape as MLIR does between the angle brackets: ``2x3``; ``scalar`` for rank 0."""
    return "x".join(map(str, shape)) or "scalar"
