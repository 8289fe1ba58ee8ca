"""Build the types of the quant dialect from Python numbers."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from halfulp.converting import convert
from halfulp.fp_formats import numbers, scalar
from halfulp.fp_formats.formats import FORMATS, FloatFormat
from halfulp.fp_formats.paths import llvm
from halfulp.fp_formats.policy import as_rounding
from halfulp.fp_formats.spelling import number_text
from halfulp.inputs import as_value, names_arguments
from halfulp.interp.dialects.quant.ops import MAX_STORAGE_WIDTH, quantization_of, verify_container
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.errors import TypeMismatch
from halfulp.interp.ir.types import numeric
from halfulp.interp.values.coerce import as_type, natural_array
from halfulp.interp.values.elements import applied
from halfulp.interp.values.value import Value, to_value
from halfulp.quantizing.blocks import BlockQuantized, float_value
from halfulp.quantizing.packed import PackedBlocks, PackedGroups
from halfulp.semantics import quant
from halfulp.semantics.profile import PROFILE_FIELDS, Profile, as_profile

_UNSIGNED = re.compile(r"u(\d+)")

Blocks = Mapping[int, int] | int


def quantized_type(
    storage: Any = "i8",
    expressed: Any = "f32",
    *,
    scale: Any,
    zero_point: Any = 0,
    axis: int | None = None,
    block: Blocks | None = None,
    min: int | None = None,
    max: int | None = None,
) -> ty.UniformQuantizedType:
    """Return the type ``!quant.uniform<…>`` with these scales: expressed = (stored - zero point) * scale.

    ``storage``: an integer type of 1 to 32 bits, as "i8", "u8" or np.uint8; ``expressed``: a float type. In MLIR,
    "u8" and "ui8" are two types with the same numbers, and so are "i8" and "si8".
    ``scale``: a number for the whole tensor; with ``axis``, one number for each index of that dimension; with
    ``block``, an array with one number for each block, which has as many dimensions as the tensor. The numbers may be
    floats, Fractions, arrays or `Value`s; each number is rounded once, to nearest even, to the expressed type.
    ``zero_point``: an integer, or an array of integers in the shape of ``scale``.
    ``block``: the size of a block in each dimension, ``{0: 1, 1: 32}``; or one size, for the dimension ``axis``. In a
    dimension that is not named, one block has all elements.
    ``min``, ``max``: the smallest and the largest stored integer, if not all integers of the storage type are used.

    ``str(type)`` is the text of the type in MLIR: a program can use it, and parsing it gives an equal type.

        hu.quant.type("i8", "f32", scale=0.1, zero_point=-3)
        hu.quant.type("u8", "f32", scale=[0.1, 0.2], axis=0)
        hu.quant.type("i4", "f16", scale=[[0.5, 0.25]], block={0: 1, 1: 32})

    Raises ValueError for a scale that is not finite and positive or that the expressed type cannot represent, for a
    zero point or a bound outside the storage type, and for axes and blocks that do not match the scales; TypeMismatch
    for other types. Source: the document of the quant dialect, "Quantized types".
    """
    width, signed, sign = _storage(storage)
    float_type = as_type(expressed)
    if not isinstance(float_type, ty.FloatType):
        raise TypeMismatch(f"the expressed type is '{float_type}', but must be a float type", hint='as in "f32"')
    lowest, highest = ty.storage_bounds(width, signed)
    low, high = _bounds(min, max, lowest, highest)
    scales, points = _arrays(scale, zero_point)
    blocks = _block_sizes(block, axis, scales.ndim)
    _check_ranks(scales, axis, blocks)
    return ty.UniformQuantizedType(
        width,
        signed,
        low,
        high,
        float_type,
        tuple(_rounded(number, float_type.format) for number in scales.ravel()),
        tuple(_zero_point(point, lowest, highest) for point in points.ravel()),
        axis if blocks is None else None,
        blocks,
        () if blocks is None else scales.shape,
        storage_type_sign=sign,
    )


def _storage(storage: Any) -> tuple[int, bool, ty.Signedness]:
    """Return the width of a storage type, whether its numbers are signed, and the sign that the type itself has: that
    of NumPy's types, and of "u8" inside of a quantised type, has none.
    """
    unsigned = _UNSIGNED.fullmatch(storage) if isinstance(storage, str) else None
    found = ty.IntegerType(int(unsigned[1]), "unsigned") if unsigned else as_type(storage)
    if not isinstance(found, ty.IntegerType):
        raise TypeMismatch(f"the storage type is '{found}', but must be an integer type", hint='as in "i8" or "u8"')
    if not 1 <= found.width <= MAX_STORAGE_WIDTH:
        raise ValueError(f"the storage type '{found}' has {found.width} bits, but must have 1 to {MAX_STORAGE_WIDTH}")
    own = unsigned is None and isinstance(storage, str | ty.Type)
    return found.width, found.signedness != "unsigned", found.signedness if own else "signless"


def _bounds(low: int | None, high: int | None, lowest: int, highest: int) -> tuple[int, int]:
    found = lowest if low is None else int(low), highest if high is None else int(high)
    for name, bound in zip(("min", "max"), found, strict=True):
        if not lowest <= bound <= highest:
            raise ValueError(f"{name} is {bound}, but the storage type holds {lowest} to {highest}")
    if found[0] >= found[1]:
        raise ValueError(f"min is {found[0]} and max is {found[1]}, but min must be below max")
    return found


def _arrays(scale: Any, zero_point: Any) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
    """Return scales and zero points as arrays of one shape."""
    scales, points = _numbers(scale, "scale"), _numbers(zero_point, "zero_point")
    if points.shape not in ((), scales.shape):
        raise ValueError(f"zero_point has the shape {points.shape}, but scale has {scales.shape}")
    return scales, np.broadcast_to(points, scales.shape)


def _numbers(given: Any, what: str) -> npt.NDArray[Any]:
    if isinstance(given, Value):
        if given.poison is not None:
            raise ValueError(f"{what} has poison")
        return natural_array(given.element_type, given.bits)
    if type(given).__module__.partition(".")[0] == "torch":
        given = given.detach().cpu().numpy()
    found = np.asarray(given)
    if found.dtype.kind in "USb":
        raise TypeMismatch(f"{what} is {given!r}, but must be a number or an array of numbers")
    return found


def _block_sizes(block: Blocks | None, axis: int | None, rank: int) -> tuple[tuple[int, int], ...] | None:
    if block is None:
        return None
    if not isinstance(block, Mapping):
        if axis is None:
            raise ValueError(f"block is {block}: give axis=… too, the dimension of the blocks, or block={{axis: size}}")
        block = {axis: block}
    elif axis is not None:
        raise ValueError(f"block is {dict(block)} and names its dimensions, so axis={axis} must be left out")
    for dimension, size in block.items():
        if not 0 <= dimension < rank:
            raise ValueError(
                f"block names dimension {dimension}, but scale has the {rank} dimensions of the tensor: give an array "
                f"with one scale for each block"
            )
        if size < 1:
            raise ValueError(f"the block size {size} of dimension {dimension} must be positive")
    return tuple((int(dimension), int(size)) for dimension, size in block.items())


def _check_ranks(scales: npt.NDArray[Any], axis: int | None, blocks: tuple[tuple[int, int], ...] | None) -> None:
    if not scales.size:
        raise ValueError("scale is empty")
    if blocks is not None:
        return
    if axis is None and scales.ndim:
        raise ValueError(f"scale has the shape {scales.shape}: give axis=… for channels, or block={{axis: size}}")
    if axis is not None and scales.ndim != 1:
        raise ValueError(f"scale has the shape {scales.shape}, but axis={axis} needs one scale for each index")
    if axis is not None and axis < 0:
        raise ValueError(f"axis is {axis}, but a type does not know the rank of its tensors: count from the front")


def _rounded(number: Any, fmt: FloatFormat) -> float:
    """Round a scale once into a format, and return it as the f64 that the type holds."""
    exact = numbers.fraction_of(numbers.exact_number(number))
    if exact is None:
        raise ValueError(f"a scale is {float(number)}, but must be finite")
    if exact <= 0:
        raise ValueError(f"a scale is {number}, but must be positive")
    # A scale of a format wider than f64 is held by the type as f64.
    held = fmt if fmt.precision <= 53 and fmt.emax <= 1023 else FORMATS["f64"]
    value = scalar.value(held, scalar.from_fraction(held, exact).code)
    if not value:
        smallest, largest = (scalar.value(held, code) for code in (int(held.zero), held.max_code))
        assert smallest is not None
        assert largest is not None
        shown = f"{number_text(smallest)} to {number_text(largest)}"
        raise ValueError(f"the scale {number} is outside the positive values of {held.name}, {shown}")
    return float(value)


def _zero_point(point: Any, lowest: int, highest: int) -> int:
    if int(point) != point:
        raise ValueError(f"a zero point is {point}, but must be an integer")
    if not lowest <= point <= highest:
        raise ValueError(f"the zero point {int(point)} is outside the storage type, which holds {lowest} to {highest}")
    return int(point)


# --- casts ------------------------------------------------------------------------------------------------------------
#
# Quantise and dequantise arrays by a type of the quant dialect, with the kernels of quant.qcast and quant.dcast.


@names_arguments
def quantize(
    x: Any,
    scale: Any = None,
    zero_point: Any = 0,
    *,
    storage: Any = "i8",
    expressed: Any = None,
    axis: int | None = None,
    block: Blocks | None = None,
    min: int | None = None,
    max: int | None = None,
    type: Any = None,
    rounding: str | None = None,
    profile: Profile | str | None = None,
) -> Value:
    """Quantise an array. Return a `Value` whose element type is the one that `quant.type` makes from the same
    arguments.

    ``x``: an array or `Value` of floats, a list or a number.
    ``scale``: as in `quant.type`; or a quantised type, or the text of one.
    ``type``: a quantised type or its text, instead of ``scale``.
    ``expressed``: the float type in which the op computes. An array must have this type. Lists and numbers are rounded
    to it once; without it they are f64.
    ``axis``, ``block``: as in `quant.type`; a negative axis counts from the end.
    ``rounding``: the rounding to an integer; by default that of the profile (to nearest even).

    The result is that of quant.qcast: x / scale is rounded to the expressed type; the zero point is added, and the sum
    is rounded to the expressed type; then the sum is rounded to an integer, which saturates. NaN becomes poison.

        hu.quantize(np.float32([0.5, -1.25]), 0.01, 3)
        hu.quantize(weights, scales, axis=0, storage="i4")

    Raises TypeMismatch if the type of ``x`` is not the expressed type, or if the scales do not match the shape of
    ``x``; and the errors of `quant.type`.
    """
    llvm.check()
    given = scale if type is None and isinstance(scale, ty.Type | str) else type
    if given is None and scale is None:
        raise TypeError("quantize needs scale=…, or the type that hu.quant.type makes")
    if given is not None:
        element = as_type(given)
        if not isinstance(element, ty.QuantizedType):
            raise TypeError(
                f"quantize needs a scale beside the type '{element}': hu.quantize(x, scale, storage=…), or the type "
                f"that hu.quant.type makes; hu.quant.suggest_scale finds one, hu.quantize_blocks one for each block"
            )
        optional = {"expressed": expressed, "axis": axis, "block": block, "min": min, "max": max}
        others = {
            "scale": type is not None and scale is not None,
            "zero_point": not (isinstance(zero_point, int) and zero_point == 0),
            "storage": storage != "i8",
            **{name: value is not None for name, value in optional.items()},
        }
        if any(others.values()):
            names = ", ".join(name for name, present in others.items() if present)
            raise TypeError(
                f"the quantized type already has {names}: leave them out, or build another type with hu.quant.type"
            )
    else:
        floats = float_value(x, literals=expressed or "f64")
        counted = axis if axis is None or axis >= 0 else axis + len(floats.shape)
        element = quantized_type(
            storage,
            floats.element_type if expressed is None else expressed,
            scale=scale,
            zero_point=zero_point,
            axis=counted,
            block=block,
            min=min,
            max=max,
        )
    quantization = quantization_of(element)
    value = float_value(x, literals=ty.FloatType(quantization.expressed))
    if value.element_type != ty.FloatType(quantization.expressed):
        raise TypeMismatch(
            f"quantize: x has elements of '{value.element_type}', but the type expresses '{quantization.expressed}'",
            hint=f'round them first: hu.convert(x, "{quantization.expressed}")',
        )
    chosen = as_profile(profile)
    if rounding is not None:
        fields = {field: getattr(chosen, field) for field in PROFILE_FIELDS}
        chosen = Profile(base=chosen.base, **(fields | {"qcast_rounding": as_rounding(rounding).spelling}))
    return _cast(quant.qcast, "quant.qcast", value, ty.with_element(value.type, element), element, chosen)


def dequantize(q: Any, type: Any = None, *, profile: Profile | str | None = None) -> Value:
    """Return the float values of a quantised `Value`, of a result of `quantize_blocks`, or of packed weights.

    ``type``: the quantised type, if ``q`` is an array or a list of stored integers. ``q`` may also be a signless
    `Value` with the bits of the stored integers, in the width of the storage type.

    The result is that of quant.dcast: (stored - zero point) * scale, each step rounded in the expressed type.

        hu.dequantize(hu.quantize(x, 0.01))
        hu.dequantize(np.int8([1, 2]), hu.quant.type("i8", "f32", scale=0.5))

    Raises TypeMismatch for a value of another type, for an integer that the storage type does not have, and if the
    scales do not match the shape.
    """
    llvm.check()
    if isinstance(q, PackedBlocks | PackedGroups):
        return q.dequantize()
    if isinstance(q, BlockQuantized):
        if type is not None:
            raise TypeError(
                "type=… cannot be used with blocks, which have their own type; q.dequantize(to) gives another "
                "float type"
            )
        return q.dequantize()
    if type is not None:
        q = _stored(q, as_type(type))
    if not isinstance(q, Value) or not isinstance(q.element_type, ty.UniformQuantizedType):
        found = f"'{q.type}'" if isinstance(q, Value) else np.asarray(q).dtype
        raise TypeMismatch(
            f"dequantize: q has the type {found}, which is not quantised",
            hint="give type=…, the type that hu.quant.type makes",
        )
    element = q.element_type
    result = ty.with_element(q.type, element.expressed)
    return _cast(quant.dcast, "quant.dcast", q, result, element, as_profile(profile))


def _stored(q: Any, element: ty.Type) -> Value:
    """Return stored integers as elements of a quantised type. Raises TypeMismatch for integers that it does not
    have.
    """
    storage = numeric(element)
    if isinstance(q, Value) and isinstance(q.element_type, ty.QuantizedType):
        return to_value(q, ty.with_element(q.type, element), "q")
    given = as_value(q, what="q")
    if not isinstance(given.element_type, ty.IntegerType):
        raise TypeMismatch(
            f"dequantize: q has elements of '{given.element_type}', but '{element}' stores integers",
            hint="hu.quantize(x, type) makes them; hu.Value.from_bits(bits, type) takes raw bits",
        )
    bits = isinstance(q, Value) and given.element_type == ty.IntegerType(ty.width_of(storage))
    value = given if bits else convert(given, storage)
    return Value(ty.with_element(value.type, element), value.bits, value.poison, value.open, value.origins)


def _fitting_blocks(shape: Sequence[int], element: ty.Type) -> str | None:
    """Return the argument ``block=`` that gives a type one scale for each block of a tensor; None if there is none."""
    scales = element.parameter_shape if isinstance(element, ty.UniformQuantizedType) else ()
    if (
        not scales
        or len(scales) != len(shape)
        or any(not count or size % count for size, count in zip(shape, scales, strict=True))
    ):
        return None
    blocks = {axis: size // count for axis, (size, count) in enumerate(zip(shape, scales, strict=True)) if count > 1}
    return f"for these scales, write block={blocks}; a dimension that block does not name is one block"


def _cast(
    kernel: quant.QuantKernel, name: str, value: Value, result: ty.Type, element: ty.Type, profile: Profile
) -> Value:
    container = ty.with_element(value.type, element)
    problem = verify_container(container)
    if problem is not None:
        raise TypeMismatch(f"{name.replace('quant.', '')}: {problem}", hint=_fitting_blocks(value.shape, element))
    return applied(name, kernel(quantization_of(element), profile), (value,), result)
