"""Build the types of the quant dialect from Python numbers."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from halfulp.fp_formats import numbers, scalar
from halfulp.fp_formats.formats import FORMATS, FloatFormat
from halfulp.fp_formats.spelling import number_text
from halfulp.interp.dialects.quant.types import MAX_STORAGE_WIDTH
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.errors import TypeMismatch
from halfulp.interp.values.coerce import as_type, natural_array
from halfulp.interp.values.value import Value

_UNSIGNED = re.compile(r"u(\d+)")

Blocks = Mapping[int, int] | int


def quantized(
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

    ``storage``: an integer type of 1 to 32 bits, as "i8", "u8" or np.uint8; ``expressed``: a float type.
    ``scale``: a number for the whole tensor; with ``axis``, one number for each index of that dimension; with
    ``block``, an array with one number for each block, which has as many dimensions as the tensor. Floats, Fractions,
    arrays and `Value`s: each is rounded once, to nearest even, into the expressed type.
    ``zero_point``: an integer, or an array of them as ``scale``.
    ``block``: the sizes of the blocks by dimension, ``{0: 1, 1: 32}``; or one size, in the dimension ``axis``. A
    dimension that is not named is one block.
    ``min``, ``max``: the smallest and the largest stored integer, if the type has more.

    The text of the type is MLIR's: ``str(type)`` can stand in a program, and parses to an equal type.

        hu.quantized("i8", "f32", scale=0.1, zero_point=-3)
        hu.quantized("u8", "f32", scale=[0.1, 0.2], axis=0)
        hu.quantized("i4", "f16", scale=[[0.5, 0.25]], block={0: 1, 1: 32})

    Raises ValueError for a scale that is not finite and positive, or that the expressed type cannot hold, for a zero
    point or a bound outside the storage type, and for axes and blocks that do not fit; TypeMismatch for other types.
    Source: the document of the quant dialect, "Quantized types".
    """
    width, signed = _storage(storage)
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
    )


def _storage(storage: Any) -> tuple[int, bool]:
    """Return the width and the sign of a storage type; MLIR spells an unsigned one "u8" inside of a quantised type."""
    unsigned = _UNSIGNED.fullmatch(storage) if isinstance(storage, str) else None
    found = ty.IntegerType(int(unsigned[1]), "unsigned") if unsigned else as_type(storage)
    if not isinstance(found, ty.IntegerType):
        raise TypeMismatch(f"the storage type is '{found}', but must be an integer type", hint='as in "i8" or "u8"')
    if not 1 <= found.width <= MAX_STORAGE_WIDTH:
        raise ValueError(f"the storage type '{found}' has {found.width} bits, but must have 1 to {MAX_STORAGE_WIDTH}")
    return found.width, found.signedness != "unsigned"


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
