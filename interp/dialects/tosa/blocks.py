"""How ops of tosa on blocks that share a scale run."""

from __future__ import annotations

from typing import Any

import numpy as np

from halfulp.fp_formats import scalar
from halfulp.fp_formats.formats import Codes, FloatFormat, storage_dtype
from halfulp.fp_formats.policy import Rounding
from halfulp.interp.dialects.elements import Function, Operands, picked
from halfulp.interp.dialects.stablehlo.windows import Window
from halfulp.interp.dialects.tosa.evaluating import checked, unsupported
from halfulp.interp.dialects.tosa.images import Arithmetic, all_open, all_poison, made_value
from halfulp.interp.dialects.tosa.products import known_sizes
from halfulp.interp.dialects.tosa.types import MXINT8
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.dialect_attributes import EnumAttr
from halfulp.interp.ir.operations import Operation
from halfulp.interp.run.frames import Run
from halfulp.interp.run.settings import Settings
from halfulp.semantics import casts
from halfulp.semantics.profile import Profile

_NEAREST = Rounding.TO_NEAREST_EVEN
_F32, _F64 = (ty.F(name) for name in ("f32", "f64"))


def block_size(op: Operation) -> int:
    """Return the number of elements of a block."""
    return op.prop("block_size", EnumAttr).value


def _converted(op: Operation, codes: Codes, source: ty.Type, target: ty.FloatType, profile: Profile) -> Codes:
    """Return elements in another format; those of mxint8 are multiples of 1/64. Raises Unsupported."""
    if source == MXINT8:
        found = codes.view(np.int8).astype(np.float64) / 64
        return _converted(op, found.view(np.uint64), _F64, target, profile)
    if not isinstance(source, ty.FloatType):
        raise unsupported(op, source)
    if source == target:
        return codes
    return casts.convert(source.format, target.format, _NEAREST, 0, profile).array(codes).results[0]


def _format(op: Operation, type_: ty.Type) -> ty.FloatType:
    """Return the element type of a tensor of floats. Raises Unsupported."""
    element = ty.element_type(type_)
    if not isinstance(element, ty.FloatType):
        raise unsupported(op, element)
    return element


# --- casts ------------------------------------------------------------------------------------------------------------


def cast_from(op: Operation, settings: Settings) -> Function:
    """Return the function that multiplies the elements of blocks by their scales in f32, and rounds the products."""
    block, target = block_size(op), _format(op, op.results[0].type)
    profile, unit = settings.profile, Arithmetic(_F32.format, settings.profile)
    types = [ty.element_type(value.type) for value in op.operands]

    def run_op(run: Run, operands: Operands) -> tuple[Any, ...]:
        data, scales = (
            _converted(op, value.bits, type_, _F32, profile) for value, type_ in zip(operands, types, strict=True)
        )
        shape = operands[0].shape
        made = checked(op, shape, settings)
        products = unit.multiply(data, np.repeat(scales, block, axis=-1))
        bits = _converted(op, products, _F32, target, profile)
        repeated = picked(operands[1], (..., np.repeat(np.arange(scales.shape[-1]), block)), op.operands[1].type)
        poison, open_ = (each((operands[0], repeated), shape, len(shape)) for each in (all_poison, all_open))
        return (made_value(run, made, bits, poison, open_, Arithmetic(target.format, profile)),)

    return run_op


def _largest(fmt: FloatFormat) -> float:
    """Return the number up to which numbers round to the largest one of a format: half a unit above it."""
    most = float(scalar.number(scalar.unpack(fmt, fmt.max_code)))
    exponent = int(np.floor(np.log2(most)))
    return float(most + 0.5 * 2.0 ** (exponent - fmt.mantissa_bits))


def scale_exponents(largest: Any, fmt: FloatFormat) -> Any:
    """Return the exponents of the scales of blocks (calc_block_scale). ``largest``: the largest magnitude of each, in
    f64, positive and finite.
    """
    end = _largest(fmt)
    # The quotient may be rounded to a power of two: the comparison is exact.
    exponents = np.floor(np.log2(largest / end)).astype(np.int64)
    exponents += np.ldexp(end, exponents + 1) <= largest
    exponents -= np.ldexp(end, exponents) > largest
    if fmt.name == "f8E4M3FN":
        exponents += np.ldexp(end, exponents) < largest
    else:
        exponents += 1
    return np.clip(exponents, -127, 127)


def cast_to(op: Operation, settings: Settings) -> Function:
    """Return the function that gives each block a scale and divides its elements by it, rounded once."""
    block, source = block_size(op), _format(op, op.operands[0].type)
    target = _format(op, op.results[0].type)
    profile = settings.profile

    def run_op(run: Run, operands: Operands) -> tuple[Any, ...]:
        (value,) = operands
        shape = value.shape
        scale_shape = (*shape[:-1], shape[-1] // block)
        types = [checked(op, each, settings, number) for number, each in enumerate((shape, scale_shape))]
        numbers = _converted(op, value.bits, source, _F64, profile).view(np.float64)
        rows = numbers.reshape(*scale_shape, block)
        largest = np.abs(rows).max(axis=-1)  # NaN if one of the block is
        finite = np.isfinite(largest) & (largest > 0)
        exponents = np.where(finite, scale_exponents(np.where(finite, largest, 1.0), target.format), -127)
        scales = np.where(np.isfinite(largest), exponents + 127, 255).astype(np.uint8)
        with np.errstate(invalid="ignore"):
            divided = np.where(
                np.isfinite(largest)[..., np.newaxis], np.ldexp(rows, -exponents[..., np.newaxis]), np.nan
            )
        bits = _converted(op, divided.view(np.uint64).reshape(shape), _F64, target, profile)
        in_rows = tuple([picked(value, (..., slice(at, None, block)), value.type) for at in range(block)])
        poison, open_ = (each(in_rows, scale_shape, len(scale_shape)) for each in (all_poison, all_open))
        whole = [None if mask is None else np.repeat(mask, block, axis=-1) for mask in (poison, open_)]
        data = made_value(run, types[0], bits, whole[0], whole[1], Arithmetic(target.format, profile))
        return data, made_value(run, types[1], scales, poison, open_)

    return run_op


# --- products ---------------------------------------------------------------------------------------------------------


def matmul_t(op: Operation, settings: Settings) -> Function:
    """Return the function of the product with a transposed matrix: in each block the products are summed in order, the
    sum is multiplied by the product of both scales, and the blocks are summed in order.
    """
    block, target = block_size(op), _format(op, op.results[0].type)
    profile, unit = settings.profile, Arithmetic(target.format, settings.profile)
    types = [ty.element_type(value.type) for value in op.operands]

    def run_op(run: Run, operands: Operands) -> tuple[Any, ...]:
        one, one_scale, other, other_scale = (
            _converted(op, value.bits, type_, target, profile) for value, type_ in zip(operands, types, strict=True)
        )
        rows, columns = one[:, :, np.newaxis], other[:, np.newaxis]
        scales = unit.multiply(one_scale[:, :, np.newaxis], other_scale[:, np.newaxis])
        count, height, width = one.shape[0], one.shape[1], other.shape[1]
        shape = (count, height, width)
        made = checked(op, shape, settings)
        total = np.zeros(shape, storage_dtype(target.format.bits))
        for start in range(0, one.shape[2], block):
            part = np.zeros(shape, total.dtype)
            for place in range(start, start + block):
                part = unit.add(part, unit.multiply(rows[..., place], columns[..., place]))
            total = unit.add(total, unit.multiply(part, scales[..., start // block]))
        poison, open_ = (each(operands, shape, 0) for each in (all_poison, all_open))
        return (made_value(run, made, total, poison, open_, unit),)

    return run_op


def conv2d(op: Operation, settings: Settings) -> Function:
    """Return the function of a convolution: at each place of the window that is inside of the input, each block is
    added as in `matmul_t`. The scales of the input are those of the elements, as in Arm's reference model; the pseudo
    code reads them at the first place of the window.
    """
    block, target = block_size(op), _format(op, op.results[0].type)
    profile, unit = settings.profile, Arithmetic(target.format, settings.profile)
    types = [ty.element_type(value.type) for value in op.operands[:5]]
    pads, strides, dilations = (known_sizes(op, name) for name in ("pad", "stride", "dilation"))

    def run_op(run: Run, operands: Operands) -> tuple[Any, ...]:
        one, one_scale, other, other_scale, bias = (
            _converted(op, value.bits, type_, target, profile)
            for value, type_ in zip(operands, types, strict=False)
        )  # fmt: skip
        kernel = other.shape[1:3]
        window = Window(tuple(kernel), strides, (1, 1), dilations, pads[::2], pads[1::2])
        sides = window.places(one.shape[1:3])
        shape = (one.shape[0], *sides, other.shape[0])
        made = checked(op, shape, settings)
        total = np.zeros(shape, storage_dtype(target.format.bits))
        for place in np.ndindex(kernel):
            read = [
                np.arange(sides[axis]) * strides[axis] + place[axis] * dilations[axis] - pads[2 * axis]
                for axis in (0, 1)
            ]
            inside = [(each >= 0) & (each < one.shape[1 + axis]) for axis, each in enumerate(read)]
            rows, columns = (each.clip(0, one.shape[1 + axis] - 1) for axis, each in enumerate(read))
            index = (slice(None), rows[:, np.newaxis], columns[np.newaxis])
            data, weights = one[index][..., np.newaxis, :], other[:, *place]
            scales = unit.multiply(one_scale[index][..., np.newaxis, :], other_scale[:, *place])
            found = total
            for start in range(0, one.shape[3], block):
                part = np.zeros(shape, total.dtype)
                for channel in range(start, start + block):
                    part = unit.add(part, unit.multiply(data[..., channel], weights[..., channel]))
                found = unit.add(found, unit.multiply(part, scales[..., start // block]))
            total = np.where(np.outer(*inside)[:, :, np.newaxis], found, total)
        total = unit.add(total, np.broadcast_to(bias, shape))
        poison, open_ = (each(operands[:5], shape, 0) for each in (all_poison, all_open))
        return (made_value(run, made, total, poison, open_, unit),)

    return run_op
