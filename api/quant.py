"""Quantised types, scales for them, and the requantisation of accumulators, bit for bit as libraries do it."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from halfulp.fp_formats.aliases import did_you_mean, with_hint
from halfulp.interp.ir import types as ty
from halfulp.interp.values.coerce import as_type
from halfulp.interp.values.value import Value
from halfulp.measuring.scales import suggest_scale
from halfulp.quantizing.blocks import hadamard
from halfulp.quantizing.packed import pack, unpack
from halfulp.quantizing.types import quantized_type as type
from halfulp.semantics import requantization
from halfulp.semantics.requantization import RULES, Target

__all__ = ["hadamard", "multiplier", "pack", "requantize", "suggest_scale", "type", "unpack"]


def requantize(
    x: Any,
    multiplier: Any,
    shift: Any,
    rule: str = "gemmlowp",
    *,
    to: Any = "i8",
    input_zero_point: int = 0,
    output_zero_point: int = 0,
    axis: int | None = None,
) -> Value:
    """Scale integer accumulators by ``multiplier`` and ``shift``, add a zero point, clamp, and return a `Value`.

    ``x``: an array or `Value` of signed integers: i32 accumulators (i48 for the rule "tosa-16").
    ``multiplier``, ``shift``: integers, or arrays with one integer for each index along the dimension ``axis``;
    `hu.quant.multiplier` makes them from a scale. A positive shift is to the left; but in the rules of TOSA it is to
    the right, and from 2 to 62.
    ``rule``: "gemmlowp" (also of TensorFlow Lite), "tflite-single", "cmsis-nn", "cmsis-nn-single", "tosa",
    "tosa-double" or "tosa-16". The page on quantising has the table.
    ``to``: the integer type of the result, up to 32 bits; its signedness gives the limits: i8 is signed, ui8 unsigned.
    ``input_zero_point``: subtracted before scaling.
    ``output_zero_point``: added after scaling, before the clamp.

        hu.quant.requantize(acc, *hu.quant.multiplier(0.0042), "cmsis-nn", output_zero_point=-5)

    Raises ValueError for an unknown rule, for shapes that do not match, and if the library leaves a result undefined
    (an operand out of range, an overflow of i32). The message names the first such element.
    """
    if rule not in RULES:
        message = f"rule is {rule!r}, but must be one of {', '.join(RULES)}"
        raise ValueError(with_hint(message, did_you_mean(rule, RULES)))
    target = as_type(to)
    if not isinstance(target, ty.IntegerType) or not 1 <= target.width <= 32:
        raise ValueError(f"to is '{target}', but must be an integer type of 1 to 32 bits")
    numbers = _integers("x", x)
    factors, shifts = (
        _along(name, _integers(name, given), numbers.shape, axis)
        for name, given in (("multiplier", multiplier), ("shift", shift))
    )
    stored = Target(target.width, target.signedness != "unsigned", input_zero_point, output_zero_point)
    clamped, wrong = requantization.requantized(RULES[rule], numbers, factors, shifts, stored)
    requantization.check(RULES[rule], (numbers - input_zero_point, factors, shifts), wrong)
    codes = (clamped & (1 << target.width) - 1).astype(np.uint64)
    whole = ty.TensorType(numbers.shape, target) if numbers.shape else target
    width = 8 if target.width <= 8 else 16 if target.width <= 16 else 32
    return Value.from_bits(codes.astype(f"u{width // 8}"), whole)


def multiplier(scale: float) -> tuple[int, int]:
    """Return the multiplier and the shift of a scale, as TensorFlow Lite's QuantizeMultiplier does: scale is about
    multiplier * 2**(shift - 31). A scale below 2**-32 gives (0, 0).

        >>> hu.quant.multiplier(0.75)
        (1610612736, 0)

    For TOSA's rules, the shift is 31 minus the returned one. Raises ValueError for a scale that is negative, not
    finite, or at least 2**30.
    """
    return requantization.multiplier_of(float(scale))


def _integers(name: str, given: Any) -> npt.NDArray[np.int64]:
    if isinstance(given, Value):
        if not isinstance(given.element_type, ty.IntegerType | ty.IndexType) or given.poison is not None:
            raise ValueError(f"{name} is '{given.type}', but must have integers without poison")
        given = given.tolist()
    array = np.asarray(given)
    if array.dtype.kind not in "iu" and not (array.dtype == object and all(isinstance(x, int) for x in array.flat)):
        raise ValueError(f"{name} has elements of {array.dtype}, but must have integers")
    if array.size and not -(1 << 62) <= int(array.min()) <= int(array.max()) < 1 << 62:
        raise ValueError(f"{name} has a number of more than 62 bits")
    return array.astype(np.int64)


def _along(name: str, given: npt.NDArray[np.int64], shape: tuple[int, ...], axis: int | None) -> npt.NDArray[np.int64]:
    """Broadcast to ``shape`` one integer, or one integer for each index of the dimension ``axis``."""
    if given.ndim == 0:
        return np.broadcast_to(given, shape)
    if axis is None or not -len(shape) <= axis < len(shape):
        raise ValueError(f"{name} has several elements: give axis=…, a dimension of {shape}")
    axis %= len(shape)
    if given.shape != (shape[axis],):
        raise ValueError(f"{name} has the shape {given.shape}, but dimension {axis} of x has {shape[axis]} positions")
    return np.broadcast_to(given.reshape([-1 if k == axis else 1 for k in range(len(shape))]), shape)
