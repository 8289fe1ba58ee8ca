"""Operands of casts to and from quantised types: the boundaries between stored integers, for every parameter.

The parameters of a type lie along an axis or in blocks, so an operand's place matters. Rows come in periods, one row
for each place: row ``i`` belongs to channel ``i % channels``, or in blocks to element ``i % elements`` of the tensor in
row-major order. `shaped` reshapes such a column for the case.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from halfulp.conformance.comparing.op_case import OpCase
from halfulp.conformance.vectors.philox import Dice, uniform
from halfulp.conformance.vectors.rows import Rows
from halfulp.conformance.vectors.testfloat_levels import FloatKind, IntegerKind, Level
from halfulp.fp_formats import scalar
from halfulp.fp_formats.codes import LIMB_BITS, Codes, ints_to_codes, storage_dtype
from halfulp.fp_formats.formats import FloatFormat
from halfulp.interp.ir import types as ty

EVERY_BITS = 8
"""Most bits of stored integers that level 2 takes all; for stored operands, also level 1."""


def quantised_type(case: OpCase) -> ty.UniformQuantizedType | None:
    """Return the quantised type that a case casts to or from, if any."""
    for type_ in (*case.operand_types, *case.result_types):
        if isinstance(type_, ty.UniformQuantizedType):
            return type_
    return None


def places(type_: ty.UniformQuantizedType) -> list[int]:
    """Return the number of the parameter that applies to each row of a period."""
    if type_.block_sizes is None:
        return list(range(len(type_.scales)))
    sizes = dict(type_.block_sizes)
    shape = tuple(blocks * sizes.get(axis, 1) for axis, blocks in enumerate(type_.parameter_shape))
    parameters = np.arange(len(type_.scales)).reshape(type_.parameter_shape)
    index = np.indices(shape)
    block = tuple(index[axis] // sizes.get(axis, 1) for axis in range(len(shape)))
    flat: list[int] = parameters[block].reshape(-1).tolist()
    return flat


def period(case: OpCase) -> int:
    """Return the number of rows after which parameters repeat: 1 unless they lie along an axis or per block."""
    type_ = quantised_type(case)
    return 1 if type_ is None else len(places(type_))


def has_blocks(case: OpCase) -> bool:
    """Tell whether a case has parameters per block, so that its tensors have exactly one period."""
    type_ = quantised_type(case)
    return type_ is not None and type_.block_sizes is not None


def shaped(case: OpCase, column: Codes) -> Codes:
    """Return a column of whole periods in the shape of the case's tensors: for blocks one period, else any number."""
    type_ = quantised_type(case)
    limbs = column.shape[1:]
    if type_ is None or (type_.axis is None and type_.block_sizes is None):
        return column
    if type_.block_sizes is not None:
        sizes = dict(type_.block_sizes)
        shape = tuple(blocks * sizes.get(axis, 1) for axis, blocks in enumerate(type_.parameter_shape))
        return column.reshape(shape + limbs)
    rows = column.reshape((-1, len(type_.scales), *limbs))
    if not type_.axis:
        return np.ascontiguousarray(np.swapaxes(rows, 0, 1))
    return rows.reshape((1,) * (type_.axis - 1) + rows.shape)


def flat(case: OpCase, tensor: Codes, width: int) -> Codes:
    """Return the column of a tensor of codes of ``width`` bits: the inverse of `shaped`."""
    type_ = quantised_type(case)
    limbs = tensor.shape[-1:] if width > LIMB_BITS else ()
    if type_ is not None and type_.axis == 0:
        tensor = np.ascontiguousarray(np.swapaxes(tensor, 0, 1))
    return tensor.reshape((-1, *limbs))


def corner_rows(case: OpCase, type_: ty.UniformQuantizedType, level: Level, seed: int = 0) -> Rows:
    """Return the corners of each parameter side by side. A parameter with fewer corners than another repeats them."""
    source, width = case.operand_types[0], case.operand_widths[0]
    lists = [_corners(source, type_, parameter, level, seed) for parameter in range(len(type_.scales))]
    return _side_by_side([lists[place] for place in places(type_)], width)


def every_row(case: OpCase, type_: ty.UniformQuantizedType) -> Rows:
    """Return every operand for every parameter."""
    width, period = case.operand_widths[0], len(places(type_))

    def make(start: int, stop: int) -> tuple[Codes, ...]:
        index = np.arange(start, stop, dtype=np.int64) // period
        return (index.astype(storage_dtype(width)),)

    return Rows((width,), (1 << width) * period, make, period)


def uniform_rows(case: OpCase, type_: ty.UniformQuantizedType, count: int, seed: int = 0) -> Rows:
    """Return at least ``count`` uniform operands, in whole periods."""
    width, period = case.operand_widths[0], len(places(type_))
    whole = -(-count // period) * period
    return Rows((width,), whole, lambda start, stop: (uniform(seed, 0, width, start, stop - start),), period)


def _side_by_side(lists: Sequence[Sequence[int]], width: int) -> Rows:
    most, period = max(map(len, lists)), len(lists)
    padded = [[codes[k % len(codes)] for k in range(most)] for codes in lists]
    table = ints_to_codes([codes[k] for k in range(most) for codes in padded], width, (most * period,))
    return Rows((width,), most * period, lambda start, stop: (table[start:stop],), period)


def _corners(source: ty.Type, type_: ty.UniformQuantizedType, parameter: int, level: Level, seed: int) -> list[int]:
    if isinstance(source, ty.FloatType):
        kind = FloatKind(source.format)
        if type_.storage is not None:  # not integers: a table, or floats
            return kind.corners(level, True)
        codes = expressed_corners(source.format, type_, parameter, level, seed)
        return list(dict.fromkeys([*codes, *kind.corners(1, False)]))
    width = type_.storage_width
    if width <= EVERY_BITS or type_.storage is not None:
        return list(range(1 << width))
    mask = (1 << width) - 1
    near = (type_.zero_points[parameter], type_.storage_min, type_.storage_max)
    codes = [number + step & mask for number in near for step in range(-2, 3)]
    return list(dict.fromkeys([*codes, *IntegerKind(width).corners(level, True)]))


def expressed_corners(
    fmt: FloatFormat, type_: ty.UniformQuantizedType, parameter: int, level: Level, seed: int = 0
) -> list[int]:
    """Return real numbers at stored integers and midway between two, as codes with their neighbours, and some in
    between.

    The integers are those around the clamp edges and the zero point, and those that represent numbers around 0; in
    level 2 all integers of up to 8 bits, or 256 random ones.
    """
    scale = scalar.value(fmt, scalar.from_fraction(fmt, Fraction(type_.scales[parameter])).code)
    zero = type_.zero_points[parameter]
    if scale is None:
        return []
    dice = Dice(seed, parameter | 1 << 34)
    chosen = {edge + step for edge in (type_.storage_min, type_.storage_max, zero, 0) for step in range(-3, 4)}
    span = type_.storage_max - type_.storage_min
    if level == 2:
        few = span < 1 << EVERY_BITS
        chosen |= {type_.storage_min + (k if few else dice.below(span + 1)) for k in range(min(span + 1, 256))}
    reach = 1 if level == 1 else 2
    codes = []
    for stored in sorted(chosen):
        for number in (Fraction(stored), stored + Fraction(1, 2)):
            middle = scalar.from_fraction(fmt, (number - zero) * scale)
            codes += [neighbour(fmt, middle.code, step) for step in range(-reach, reach + 1)]
        between = stored + Fraction(dice.below(64), 64)
        codes.append(scalar.from_fraction(fmt, (between - zero) * scale).code)
    return list(dict.fromkeys(codes))


def neighbour(fmt: FloatFormat, code: int, steps: int) -> int:
    """Return the value that many steps above a finite one. The ends of the range, NaN and infinities stay unchanged."""
    kind, sign, _, _ = scalar.unpack(fmt, code)
    if kind != scalar.FINITE:
        return code
    position = code & fmt.magnitude_mask
    if fmt.explicit_integer_bit:
        position = code >> fmt.precision << fmt.mantissa_bits & fmt.magnitude_mask | code & fmt.fraction_mask
    moved = (-position if sign else position) + steps
    if moved < 0 and not fmt.signed:
        return code
    magnitude = fmt.from_magnitude(min(abs(moved), fmt.max_magnitude))
    return magnitude | (fmt.sign_mask or 0) * (moved < 0)
