"""The ops of tosa that change the type of elements: cast, rescale, and casts from and to blocks that share a scale."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from halfulp.fp_formats.formats import Codes
from halfulp.fp_formats.policy import Rounding
from halfulp.interp.declare import declarations as d
from halfulp.interp.dialects.elementwise import sizes_agree
from halfulp.interp.dialects.tosa.attributes import BLOCK_SIZE, ROUNDING_MODE, flag
from halfulp.interp.dialects.tosa.blocks import block_size, cast_from, cast_to
from halfulp.interp.dialects.tosa.evaluating import Element, elementwise, unsupported
from halfulp.interp.dialects.tosa.forms import PLAIN, Form
from halfulp.interp.dialects.tosa.rules import declare, resolvable, same_shapes, truth, zero_point
from halfulp.interp.dialects.tosa.types import (
    AT_LEAST_1D,
    MULTIPLIERS,
    MX_SCALES,
    MX_VALUES,
    SCALAR_INT_OR_FLOAT,
    SHIFTS,
    TENSOR,
    has_width,
    shape,
    stored,
)
from halfulp.interp.ir import attributes as at
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.dialect_attributes import EnumAttr
from halfulp.interp.ir.errors import Unsupported
from halfulp.interp.ir.operations import Operation, SSAValue
from halfulp.interp.run.evaluators import Elementwise, OnValues
from halfulp.interp.run.settings import Settings
from halfulp.semantics import casts, tosa
from halfulp.semantics.integer_kernels import Reading
from halfulp.semantics.kernel import Kernel, Open

_NEAREST = Rounding.TO_NEAREST_EVEN

# --- cast -------------------------------------------------------------------------------------------------------------


def _cast(op: Operation, settings: Settings) -> Kernel:
    source, target = (Element(ty.element_type(value.type), settings.profile) for value in (*op.operands, *op.results))
    if not source.kind or not target.kind:
        raise unsupported(op, source.type if not source.kind else target.type)
    reading = None if source.kind == "f" else source.reading
    if reading is not None and truth(op, "input_unsigned"):
        reading = Reading(reading.width, False)
    if target.kind == "b":
        return tosa.to_bool(source.format if reading is None else reading, settings.profile)
    if target.kind == "f":
        if reading is None:
            return casts.convert(source.format, target.format, _NEAREST, 0, settings.profile)
        return casts.from_integer(reading.width, reading.signed, target.format, settings.profile)
    if reading is None:
        return tosa.to_integer(source.format, target.width, settings.profile)
    return tosa.between_integers(reading, target.width)


declare(
    "cast",
    PLAIN,
    same_shapes,
    resolvable,
    operands={"input": TENSOR},
    results={"output": TENSOR},
    properties=(
        d.Property(
            "input_unsigned", d.BOOL_ATTR, optional=True, elided=at.BoolAttr(False), since=d.Schema.LLVM24, late=True
        ),
    ),
    evaluate=Elementwise(_cast),
)

# --- rescale ----------------------------------------------------------------------------------------------------------


def _zero_point(op: Operation, value: SSAValue, name: str) -> str | None:
    unsigned = truth(op, f"{name}_unsigned")
    zero = zero_point(value, signed=not unsigned)
    element = ty.element_type(value.type)
    if not zero or has_width(element, 8):
        return None
    if not (has_width(element, 16) and unsigned):
        return f"expect {name}_zp of 0, got {zero}"
    return None if zero == 1 << 15 else f"expect {name}_zp of 0 or 32768 for unsigned int16 {name}, got {zero}"


def _same_width(value: SSAValue, zero: SSAValue, name: str) -> str | None:
    one, other = stored(value.type), stored(zero.type)
    if isinstance(one, ty.IntegerType) and isinstance(other, ty.IntegerType) and one.width == other.width:
        return None
    return f"expected {name} and {name}_zp to both be integer of the same bitwidth, but got '{one}' vs. '{other}'"


def _rescaled(op: Operation) -> str | None:
    value, multiplier, shift, zero, zero_out = op.operands
    (result,) = op.results
    for name, tensor in (("input", value), ("output", result)):
        if not isinstance(stored(tensor.type), ty.IntegerType):
            return f"expect {name} to have integer element type, got '{stored(tensor.type)}'"
    found = _same_width(value, zero, "input") or _same_width(result, zero_out, "output")
    found = found or _zero_point(op, zero, "input") or _zero_point(op, zero_out, "output")
    if found is not None:
        return found
    wide, element = truth(op, "scale32"), ty.element_type(multiplier.type)
    if not has_width(element, 32 if wide else 16):
        words = (
            "i32 element type for multiplier for scale32=true"
            if wide
            else ("i16 element type for multiplier for scale32=false")
        )
        return f"expect {words}, got '{element}'"
    sizes = shape(value)
    if sizes is None:
        return None
    channels: int | None = 1
    if truth(op, "per_channel"):
        if not sizes:
            return "requires input to be at least rank 1 when per_channel is true, but got rank 0"
        channels = sizes[-1]
    for name, tensor in (("multiplier", multiplier), ("shift", shift)):
        given = shape(tensor)
        if given is not None and given[0] is not None and given[0] != channels:
            wanted = -(1 << 63) if channels is None else channels
            return f"expect shape of {{ {wanted} }} for {name} input, got {{ {given[0]} }}"
    return None


def _any_value(codes: tuple[Codes, ...], results: tuple[Codes, ...]) -> Any:
    return np.full(results[0].shape, Open.VALUE.value, np.uint8)


def _rescale(op: Operation, settings: Settings) -> Kernel:
    """Return the kernel that scales integers. Each index of the last axis may have a multiplier and a shift."""
    value_type, result = op.operands[0].type, op.results[0].type
    readings = []
    for type_, name in ((value_type, "input"), (result, "output")):
        element = ty.element_type(type_)
        if not isinstance(element, ty.IntegerType):
            raise unsupported(op, element)
        if truth(op, f"{name}_unsigned") and element.width in (32, 48):
            raise Unsupported(
                f"the specification has no 'tosa.rescale' with unsigned integers of {element.width} bits",
                location=op.location, op=op.name,
            )  # fmt: skip
        unsigned = truth(op, f"{name}_unsigned") or element.signedness == "unsigned"
        readings.append(Reading(element.width, not unsigned))
    wide, rounding = truth(op, "scale32"), op.prop("rounding_mode", EnumAttr).keywords
    if not wide and rounding == "DOUBLE_ROUND":
        raise Unsupported(
            "the specification has no 'tosa.rescale' with DOUBLE_ROUND and scale32 = false",
            location=op.location, op=op.name,
        )  # fmt: skip
    kernel = tosa.rescale(*readings, wide, rounding == "DOUBLE_ROUND")
    if rounding == "INEXACT_ROUND":
        # The pseudo code is that of SINGLE_ROUND, but an implementation may differ from it.
        kernel = replace(kernel, open=_any_value, opens=Open.VALUE.value)
    return kernel


declare(
    "rescale",
    Form(bare="rounding_mode"),
    resolvable,
    _rescaled,
    operands={
        "input": TENSOR, "multiplier": MULTIPLIERS, "shift": SHIFTS, "input_zp": SCALAR_INT_OR_FLOAT,
        "output_zp": SCALAR_INT_OR_FLOAT,
    },
    results={"output": TENSOR},
    properties=(
        flag("input_unsigned"), flag("output_unsigned"), flag("per_channel"),
        d.Property("rounding_mode", ROUNDING_MODE), flag("scale32"),
    ),
    evaluate=elementwise(_rescale, alone=4),
)  # fmt: skip

# --- blocks -----------------------------------------------------------------------------------------------------------

BLOCKS = d.Property("block_size", BLOCK_SIZE)


def _blocks_fit(op: Operation, data: SSAValue, scale: SSAValue, side: str) -> str | None:
    """Say what is wrong with the shape of the scales of a tensor, or return None. ``side``: input or output."""
    sizes, scales, block = shape(data), shape(scale), block_size(op)
    if sizes is None or scales is None:
        return None
    if len(sizes) != len(scales) or not sizes_agree(sizes[:-1], scales[:-1]):
        return (
            f"require compatible shapes for {side}_data ('{data.type}') and {side}_scale ('{scale.type}') except for "
            "the last dimension"
        )
    last = sizes[-1]
    if last is not None and not sizes_agree((last // block,), scales[-1:]):
        return (
            f"expect last dimension of {side}_scale ({scales[-1]}) to be equal to last dimension of {side}_data / "
            f"block_size ({last // block})"
        )
    return None


def _divided(op: Operation) -> str | None:
    data, made = op.operands[0], op.results[0]
    if not sizes_agree(shape(data), shape(made)):
        return f"require compatible shapes for input_data ('{data.type}') and output_data ('{made.type}')"
    sizes, block = shape(data), block_size(op)
    if sizes is not None and sizes[-1] is not None and sizes[-1] % block:
        return f"expect last dimension of input_data ({sizes[-1]}) to be divisible by block_size ({block})"
    return None


BLOCK_FORM = Form(bare="block_size")
declare(
    "cast_from_block_scaled",
    BLOCK_FORM,
    resolvable,
    _divided,
    lambda op: _blocks_fit(op, op.operands[0], op.operands[1], "input"),
    operands={"input_data": MX_VALUES, "input_scale": MX_SCALES},
    results={"output_data": AT_LEAST_1D},
    properties=(BLOCKS,),
    evaluate=OnValues(cast_from),
)
declare(
    "cast_to_block_scaled",
    BLOCK_FORM,
    resolvable,
    _divided,
    lambda op: _blocks_fit(op, op.results[0], op.results[1], "output"),
    operands={"input_data": AT_LEAST_1D},
    results={"output_data": MX_VALUES, "output_scale": MX_SCALES},
    properties=(BLOCKS,),
    named_results=("output_data", "output_scale"),
    evaluate=OnValues(cast_to),
)
