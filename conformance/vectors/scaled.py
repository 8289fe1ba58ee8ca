"""Operands that belong to one block, drawn together: an element and the scale of its block, or all elements of a block.

Elements and scales that are drawn alone give products and quotients far outside of a narrow format: nearly all results
are zero or the largest value. Here one of the two operands gets the exponent that brings the result into its format.
Likewise the elements of a block whose scale comes from the largest of them get exponents near that of the first one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import prod
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from halfulp.conformance.comparing.op_case import OpCase
from halfulp.conformance.vectors.rows import Rows
from halfulp.fp_formats.codes import LIMB_BITS, Codes
from halfulp.fp_formats.formats import FORMATS, FloatFormat
from halfulp.interp.dialects.halfulp.blocks import asked
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.operations import Operation
from halfulp.interp.values.block_quantizing import split

DIVIDES = {"arith.scaling_extf": False, "arith.scaling_truncf": True}
"""The ops; True: the element is divided by its scale."""

_ALONE = 8
"""One element in so many keeps its exponent: infinities, NaN, zeros and results out of range stay among the rows."""


def drawn_together(case: OpCase, rows: Rows) -> Rows:
    """Return the rows of a case of `DIVIDES` with suitable exponents. Those of scales depend on the scale alone, so
    blocks still share theirs. Scales of other formats than f8E8M0FNU stay, and so do elements of more than 64 bits.
    """
    element, scale, result = (_format(type_) for type_ in (*case.operand_types, case.result_types[0]))
    if element.bits > LIMB_BITS:
        return rows
    low, high = _range(result)
    if DIVIDES[case.op]:
        reached = element.emin - low, element.emax - high
    else:
        reached = low - element.emin, high - element.emax

    def make(start: int, stop: int) -> tuple[Codes, ...]:
        elements, scales = rows.make(start, stop)
        if scale == FORMATS["f8E8M0FNU"]:
            scales = _scales(scales, reached)
        if DIVIDES[case.op]:
            elements = _elements(element, elements, _exponents(scale, scales), (low, high))
        return elements, scales

    return replace(rows, make=make)


class DrawnBlock(NamedTuple):
    """The columns of the elements of one block, their format, and the binades that are quantised to other values than
    zero.
    """

    columns: tuple[int, ...]
    fmt: FloatFormat
    binades: int


def drawn_blocks(function: Operation) -> tuple[DrawnBlock, ...]:
    """Return the blocks of a function's arguments that halfulp.quantize_blocks gets; each element is a column."""
    found: list[DrawnBlock] = []
    position = 0
    for argument in function.regions[0].blocks[0].arguments:
        shape = tuple(size or 0 for size in ty.shape_of(argument.type) or ())
        columns = np.arange(position, position + prod(shape)).reshape(shape)
        for op in function.walk():
            if op.name == "halfulp.quantize_blocks" and op.operands[0] is argument:
                wanted, source = asked(op), ty.element_type(argument.type)
                assert isinstance(source, ty.FloatType)
                rows = split(columns, wanted.axis, wanted.block).reshape(-1, wanted.block).tolist()
                found += [DrawnBlock(tuple(row), source.format, _binades(op.results[0].type)) for row in rows]
        position += columns.size
    return tuple(found)


def _binades(type_: ty.Type) -> int:
    result = ty.element_type(type_)
    if not isinstance(result, ty.FloatType):
        return ty.width_of(result) - 1
    low, high = _range(result.format)
    return high - low


def blocks_drawn_together(rows: Rows, blocks: Sequence[DrawnBlock]) -> Rows:
    """Return the rows in which the elements of a block have exponents up to one above that of the first one."""

    def make(start: int, stop: int) -> tuple[Codes, ...]:
        made = list(rows.make(start, stop))
        for columns, fmt, binades in blocks:
            first = made[columns[0]]
            # Some rows stay as they are.
            alone = (first & first.dtype.type(_ALONE - 1)) == 0
            for column in columns[1:]:
                moved = _moved(fmt, made[column], _exponents(fmt, first), (-binades, 1))
                made[column] = np.where(alone, made[column], moved)
        return tuple(made)

    return replace(rows, make=make)


def _format(type_: ty.Type) -> FloatFormat:
    assert isinstance(type_, ty.FloatType)
    return type_.format


def _exponents(fmt: FloatFormat, codes: Codes) -> npt.NDArray[np.int64]:
    """Return the exponents of some codes; those of subnormals, infinities and NaNs are near theirs."""
    last = codes[..., -1] if fmt.bits > LIMB_BITS else codes
    shift = (fmt.mantissa_bits + fmt.explicit_integer_bit) % LIMB_BITS
    fields = (last >> last.dtype.type(shift)).astype(np.int64) & (1 << fmt.exponent_bits) - 1
    return np.asarray(fields - fmt.bias)


def _range(fmt: FloatFormat) -> tuple[int, int]:
    """Return the exponents of results, from those that round to zero to those that overflow."""
    return fmt.emin - fmt.mantissa_bits - 1, fmt.emax + 1


def _elements(fmt: FloatFormat, codes: Codes, scales: npt.NDArray[np.int64], range_: tuple[int, int]) -> Codes:
    """Return elements whose quotients by scales of these exponents have exponents within a range; some stay."""
    # The low bits of the fraction decide, as good as at random.
    alone = (codes & codes.dtype.type(_ALONE - 1)) == 0
    return np.where(alone, codes, _moved(fmt, codes, scales, range_))


def _moved(fmt: FloatFormat, codes: Codes, scales: npt.NDArray[np.int64], range_: tuple[int, int]) -> Codes:
    """Return codes with exponents within a range from others."""
    low, high = range_
    mask = (1 << fmt.exponent_bits) - 1
    drawn = _exponents(fmt, codes) + fmt.bias
    fields = np.clip(scales + low + drawn % (high - low + 1) + fmt.bias, 0, mask - 1)
    kept = codes & codes.dtype.type(~(mask << fmt.mantissa_bits) & fmt.code_mask)
    return np.asarray(kept | fields.astype(codes.dtype) << codes.dtype.type(fmt.mantissa_bits))


def _scales(codes: Codes, range_: tuple[int, int]) -> Codes:
    """Return powers of two with exponents within a range; the two first and the two last codes stay."""
    low, high = max(min(range_), -125), min(max(range_), 126)
    wide = codes.astype(np.int64)
    moved = low + wide % (high - low + 1) + 127
    return np.where((wide < 2) | (wide > 253), codes, moved.astype(codes.dtype))
