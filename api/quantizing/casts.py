"""Quantise and dequantise arrays by a type of the quant dialect, with the kernels of quant.qcast and quant.dcast."""

from __future__ import annotations

from typing import Any

import numpy as np

from halfulp.converting import convert
from halfulp.fp_formats.paths import cpu
from halfulp.fp_formats.policy import as_rounding
from halfulp.inputs import as_value
from halfulp.interp.dialects.quant.ops import quantization_of, verify_container
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.errors import TypeMismatch
from halfulp.interp.values.coerce import as_type
from halfulp.interp.values.element_layout import numeric
from halfulp.interp.values.elementwise import applied
from halfulp.interp.values.value import Value, to_value
from halfulp.quantizing.blocks import BlockQuantized
from halfulp.quantizing.inputs import float_value
from halfulp.quantizing.types import Blocks, quantized
from halfulp.semantics import quant
from halfulp.semantics.profile import PROFILE_FIELDS, Profile, as_profile


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
    """Quantise an array and return a `Value` whose elements have the type `quantized` makes of the same arguments.

    ``x``: an array or `Value` of floats, a list or a number.
    ``scale``: as in `quantized`; or the type itself, or its text. ``type``: the same, by name.
    ``expressed``: the float type that is computed in. An array must have it; lists and numbers are rounded to it once,
    and to f64 without it.
    ``axis``, ``block``: as in `quantized`; a negative axis counts from the end.
    ``rounding``: the rounding to an integer, in place of that of the profile (to nearest even).

    The result is that of quant.qcast: x / scale, plus the zero point, each rounded in the expressed type; then rounded
    to an integer, saturating. NaN is poison.

        hu.quantize(np.float32([0.5, -1.25]), 0.01, 3)
        hu.quantize(weights, scales, axis=0, storage="i4")

    Raises TypeMismatch if ``x`` has another type than the expressed one, or a shape that the scales do not fit, and
    the errors of `quantized`.
    """
    cpu.check()
    given = scale if type is None and isinstance(scale, ty.Type | str) else type
    if given is None and scale is None:
        raise TypeError("quantize needs scale=…, or the type that hu.quantized makes")
    if given is not None:
        element = as_type(given)
        if not isinstance(element, ty.QuantizedType):
            raise TypeError(
                f"quantize needs a scale beside the type '{element}': hu.quantize(x, scale, storage=…), or the type "
                f"that hu.quantized makes"
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
            raise TypeError(f"the type says it already: leave {names} out, or build another type with hu.quantized")
    else:
        floats = float_value(x, literals=expressed or "f64")
        counted = axis if axis is None or axis >= 0 else axis + len(floats.shape)
        element = quantized(
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
    """Return the float values of a quantised `Value`, or of what `quantize_blocks` returns.

    ``type``: the quantised type of stored integers, if ``q`` is an array or a list of them. A signless `Value` of the
    storage type's width holds their bits.

    The result is that of quant.dcast: (stored - zero point) * scale, each step rounded in the expressed type.

        hu.dequantize(hu.quantize(x, 0.01))
        hu.dequantize(np.int8([1, 2]), hu.quantized("i8", "f32", scale=0.5))

    Raises TypeMismatch for a value of another type, an integer that the storage type does not have, or a shape that
    the scales do not fit.
    """
    cpu.check()
    if isinstance(q, BlockQuantized):
        if type is not None:
            raise TypeError("the blocks know their type: leave type out; q.dequantize(to) gives another float type")
        return q.dequantize()
    if type is not None:
        q = _stored(q, as_type(type))
    if not isinstance(q, Value) or not isinstance(q.element_type, ty.UniformQuantizedType):
        found = f"'{q.type}'" if isinstance(q, Value) else np.asarray(q).dtype
        raise TypeMismatch(
            f"dequantize: q has the type {found}, which is not quantised",
            hint="give type=…, the type that hu.quantized makes",
        )
    element = q.element_type
    result = ty.with_element(q.type, element.expressed)
    return _cast(quant.dcast, "quant.dcast", q, result, element, as_profile(profile))


def _stored(q: Any, element: ty.Type) -> Value:
    """Return stored integers as elements of a quantised type. Raises TypeMismatch for those that it does not have."""
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


def _cast(
    kernel: quant.QuantKernel, name: str, value: Value, result: ty.Type, element: ty.Type, profile: Profile
) -> Value:
    container = ty.with_element(value.type, element)
    problem = verify_container(container)
    if problem is not None:
        raise TypeMismatch(f"{name.replace('quant.', '')}: {problem}")
    return applied(name, kernel(quantization_of(element), profile), (value,), result)
