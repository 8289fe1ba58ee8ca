"""Causes at the ends of a range: exponents wrap around, a range ends at another number or is compared before rounding,
and integers out of range wrap, or are clamped to the bounds of another type.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial

import numpy as np

from halfulp.conformance.comparing.op_case import op_case
from halfulp.conformance.vectors.columns import Chunk, Role, format_of
from halfulp.conformance.vectors.computation import Computed, OpComputation
from halfulp.conformance.vectors.datapaths import TO_FLOATS, Same, Unit, outputs_of, rows_of, unit_of
from halfulp.conformance.vectors.delivered import (
    Delivered,
    magnitudes,
    most_frequent,
    result_format,
    ruled,
    signed,
)
from halfulp.conformance.vectors.device import Cause, chosen, of_flags, through
from halfulp.conformance.vectors.intermediate import ExactResult
from halfulp.conformance.vectors.sampling import Sample
from halfulp.fp_formats import scalar
from halfulp.fp_formats.formats import FORMATS, LIMB_BITS, Codes, FloatFormat, Mask, ints_to_codes
from halfulp.fp_formats.neighbours import signs
from halfulp.fp_formats.policy import Flags
from halfulp.fp_formats.spelling import hexadecimal
from halfulp.interp.ir.types import width_of
from halfulp.semantics import floats

# --- floats -----------------------------------------------------------------------------------------------------------


def wrapped_exponents(computation: OpComputation) -> Iterator[Cause]:
    """Yield the causes that the exponent field wraps around where a result is too large or too small, and that a field
    of only ones, which is that of infinities, is given with a fraction.
    """
    unit = unit_of(computation)
    if unit is None or unit.case.kind not in TO_FLOATS or not isinstance(unit.case.target, FloatFormat):
        return
    fmt = unit.case.target
    if fmt.explicit_integer_bit or not fmt.zero or fmt.bits > LIMB_BITS:
        return
    for about, above, below in (
        ("large", True, False),
        ("small", False, True),
        ("large or too small", True, True),
    ):
        yield through(
            f"the exponent wraps around where a result is too {about}", partial(_wrapped, above, below, False)
        )
    if fmt.infinities:
        yield through("the exponent field of infinities taken as that of numbers", partial(_wrapped, True, False, True))


def other_ranges(computation: OpComputation, sample: Sample) -> Iterator[Cause]:
    """Yield the causes that numbers overflow that are above the largest one before they are rounded, and that results
    overflow, or become the largest one, that are above another number; the sample tells this number.
    """
    unit, fmt = unit_of(computation), format_of(computation.outputs[0])
    if unit is None or fmt is None or unit.case.kind not in TO_FLOATS or fmt.bits > LIMB_BITS:
        return
    yield through("the range compared before rounding", _out_of_range_before)
    rows = Delivered(computation.inputs, sample.inputs, computation.outputs, sample.expected)
    size, got = magnitudes(fmt, rows.codes), magnitudes(fmt, sample.actual[rows.place])
    over = _overflow(fmt, unit, 0).code, _overflow(fmt, unit, 1).code
    beyond = np.where(rows.negative, *(got.dtype.type(code & fmt.code_mask >> fmt.signed) for code in over[::-1]))
    finite = sample.differs & (size <= fmt.max_magnitude)
    sent = finite & (got == beyond)
    if sent.any():
        limit = int(size[sent].min()) - 1
        name = f"results above {hexadecimal(limit, fmt.bits)} taken as out of range"
        yield through(name, partial(_out_of_range_above, limit, None))
    clamped = most_frequent(got[sample.differs & (size > got)])
    if clamped is not None and clamped <= fmt.max_magnitude:
        name = f"results above {hexadecimal(clamped, fmt.bits)} replaced by it, with their sign"
        yield through(name, partial(_out_of_range_above, clamped, clamped))


def _overflow(fmt: FloatFormat, unit: Unit, sign: int) -> scalar.Result:
    return scalar.round_pack(fmt, sign, 1, fmt.emax + 1, unit.rounding, unit.policy, None, unit.saturates)


def _out_of_range_before(computation: OpComputation, inputs: Chunk) -> Computed:
    unit, own = unit_of(computation), outputs_of(computation, Same(inputs))
    rows = Delivered(computation.inputs, inputs, computation.outputs, own.outputs)
    fmt = rows.fmt
    if unit is None or fmt is None:
        return own
    where = magnitudes(fmt, rows.codes) == fmt.max_magnitude
    _, _, most, exponent = scalar.unpack(fmt, fmt.max_magnitude)
    exact = rows_of(unit, inputs)
    for k in np.flatnonzero(where).tolist():
        row = exact[k]
        low = 0 if row is None else min(exponent, row.exact.exponent)
        where[k] = row is not None and row.exact.significand << row.exact.exponent - low > most << exponent - low
    return _overflowing(fmt, unit, rows, own, where, None)


def _out_of_range_above(limit: int, code: int | None, computation: OpComputation, inputs: Chunk) -> Computed:
    unit, own = unit_of(computation), outputs_of(computation, Same(inputs))
    rows = Delivered(computation.inputs, inputs, computation.outputs, own.outputs)
    if unit is None or rows.fmt is None:
        return own
    above = ~rows.nan_operand & ~rows.infinite_operand & ~rows.raised(Flags.INVALID)
    if code is not None or not rows.fmt.infinities:
        above |= rows.raised(Flags.OVERFLOW)
    above &= magnitudes(rows.fmt, rows.codes) > limit
    return _overflowing(rows.fmt, unit, rows, own, above, code)


def _overflowing(
    fmt: FloatFormat, unit: Unit, rows: Delivered, own: Computed, where: Mask, code: int | None
) -> Computed:
    """Give a code with the sign of the result, or what overflow gives, where a mask says."""
    kind = rows.codes.dtype.type
    ends = [_overflow(fmt, unit, sign) for sign in (0, 1)]
    codes = [kind(end.code if code is None else code | (fmt.sign_mask or 0) * sign) for sign, end in enumerate(ends)]
    made = np.where(where, np.where(rows.negative, codes[1], codes[0]), rows.codes)
    flags = np.where(where, rows.flags | np.uint8(ends[0].flags), rows.flags).astype(np.uint8)
    kept = tuple(
        made if k == rows.place else flags if of_flags(column) else given
        for k, (column, given) in enumerate(zip(rows.outputs, own.outputs, strict=True))
    )
    return Computed(kept, own.undefined)


def _wrapped(above: bool, below: bool, first: bool, computation: OpComputation, inputs: Chunk) -> Computed | None:
    """Round results beyond the range without a bound of the exponent. ``first``: only those one place above."""
    unit = unit_of(computation)
    fmt = None if unit is None else unit.case.target
    if unit is None or not isinstance(fmt, FloatFormat):
        return None
    own = outputs_of(computation, Same(inputs))
    outputs = [codes.copy() for codes in own.outputs]
    place = next(k for k, column in enumerate(computation.outputs) if column.role is Role.RESULT)
    rows: list[int] = []
    made: list[int] = []
    for k, row in enumerate(rows_of(unit, inputs)):
        if row is None or not row.exact.significand:
            continue
        lead = row.exact.lead
        if fmt.emin <= lead < fmt.emax:
            continue
        size, every = _unbounded(fmt, unit, row.exact), fmt.code_mask >> fmt.signed
        over = lead >= fmt.emax and fmt.max_magnitude < size <= (every if first else size)
        if (over and above) or (lead < fmt.emin and below):
            rows.append(k)
            made.append(size & every | (fmt.sign_mask or 0) * row.exact.sign)
    outputs[place][rows] = ints_to_codes(made, fmt.bits, (len(rows),))
    for column, flags in zip(computation.outputs, outputs, strict=True):
        if first and of_flags(column):  # the unit takes them as in range
            flags[rows] &= np.uint8(0x1F ^ Flags.OVERFLOW)
    return Computed(tuple(outputs), own.undefined)


def _unbounded(fmt: FloatFormat, unit: Unit, number: ExactResult) -> int:
    """Return the magnitude of a rounded number, whose exponent field has as many bits as it needs, or is negative."""
    shift = number.lead - fmt.mantissa_bits - number.exponent
    if shift > 0:
        kept, _ = scalar.round_to_integer(number.sign, number.significand, shift, unit.rounding, None)
    else:
        kept = number.significand << -shift
    return (number.lead + fmt.bias - 1 << fmt.mantissa_bits) + kept


# --- integers ---------------------------------------------------------------------------------------------------------

_TO_INTEGER = {
    "arith.fptosi": "fcvt_to_si",
    "arith.fptoui": "fcvt_to_ui",
    "fcvt_to_si": "fcvt_to_si",
    "fcvt_to_ui": "fcvt_to_ui",
}


def integer_ranges(computation: OpComputation) -> Iterator[Cause]:
    """Yield conversions to integers that compare the operand with the range before they round it, or that lose the bit
    into which the rounding of a negative operand carries.
    """
    if computation.case.op in _FROM_SIGNED:
        lowest = 1 << computation.inputs[0].width - 1
        rule = partial(signed, _sign_bit(computation), partial(_of_code, lowest), 0)
        yield ruled("the smallest integer taken as positive", computation, rule)
    if computation.case.op not in _TO_INTEGER:
        return
    for about in ("wrap", "are taken as positive") if _TO_INTEGER[computation.case.op] == "fcvt_to_ui" else ():
        yield through(f"negative numbers {about}", partial(_negatives, about == "wrap"))
    yield through("numbers out of range wrap", _low_bits)
    width = width_of(computation.case.result_types[0])
    for about, low, high in _other_ranges(width, _TO_INTEGER[computation.case.op] == "fcvt_to_si"):
        yield through(f"the range of integers taken as {about}", partial(_in_range, low, high))
    yield through("the lower bound compared before rounding", partial(_before_rounding, False))
    yield through("both bounds compared before rounding", partial(_before_rounding, True))
    if _TO_INTEGER[computation.case.op] == "fcvt_to_ui" and width < 62:
        yield through(f"numbers that round to -2^{width} taken as 0", _carry_lost)


_FROM_SIGNED = ("arith.sitofp", "fcvt_from_si")


def _sign_bit(computation: OpComputation) -> int:
    fmt = result_format(computation)
    return (fmt.sign_mask or 0) if fmt is not None else 0


def _of_code(code: int, rows: Delivered) -> Mask:
    return np.asarray(rows.given[0] == code)


def _other_ranges(width: int, signed: bool) -> Iterator[tuple[str, int, int]]:
    """Yield ranges that may be taken for that of an integer type: in words, and their bounds."""
    if not 1 < width < 62:
        return
    half = 1 << width - 1
    if signed:
        yield f"-{half - 1:,} to {half - 1:,}", 1 - half, half - 1
        yield f"that of unsigned integers above 0, up to {2 * half - 1:,}", -half, 2 * half - 1
    else:
        yield f"that of signed integers above 0, up to {half - 1:,}", 0, half - 1


def _in_range(low: int, high: int, computation: OpComputation, inputs: Chunk) -> Computed:
    """Convert numbers, and clamp them to a range; what is beyond it raises invalid."""
    own, width = computation.compute(inputs), width_of(computation.case.result_types[0])
    fmt = FORMATS[computation.case.operands[0]]
    mode = dict(computation.case.properties).get("rounding", computation.profile.to_integer_rounding)
    wide = replace(computation, case=op_case("fcvt_to_si", computation.case.operands, "i64", rounding=mode))
    outputs = wide.compute(inputs).outputs
    rows = Delivered(computation.inputs, inputs, wide.outputs, outputs)
    numbers = outputs[rows.place].view(np.int64)
    clamped = np.clip(numbers, low, high)
    made = (clamped & (1 << width) - 1).astype(own.outputs[0].dtype)
    raised = np.where(clamped == numbers, rows.flags, np.uint8(Flags.INVALID)).astype(np.uint8)
    kept = tuple(
        made if column.role is Role.RESULT else raised if of_flags(column) else codes
        for column, codes in zip(computation.outputs, own.outputs, strict=True)
    )
    return chosen(floats.is_nan(fmt, inputs[0]), own, Computed(kept))


def _negatives(wrap: bool, computation: OpComputation, inputs: Chunk) -> Computed | None:
    """Convert negative numbers to unsigned integers modulo 2^width, or their magnitudes."""
    fmt = FORMATS[computation.case.operands[0]]
    below = signs(fmt, inputs[0]) & ~floats.is_nan(fmt, inputs[0])
    if wrap:
        return _low_bits(computation, inputs, below)
    positive = inputs[0] & inputs[0].dtype.type(fmt.code_mask >> fmt.signed)
    return chosen(below, computation.compute((positive,)), computation.compute(inputs))


def _low_bits(computation: OpComputation, inputs: Chunk, where: Mask | None = None) -> Computed | None:
    """Give the lowest bits of the integer, with the flags of those that fit."""
    fmt, width = FORMATS[computation.case.operands[0]], width_of(computation.case.result_types[0])
    if width > 31:
        return None
    own = computation.compute(inputs)
    mode = dict(computation.case.properties).get("rounding", computation.profile.to_integer_rounding)
    case = op_case("fcvt_to_si", computation.case.operands, "i64", rounding=mode)
    wide = replace(computation, case=case)
    outputs = wide.compute(inputs).outputs
    fits = magnitudes(fmt, inputs[0]) <= fmt.max_magnitude
    rows = Delivered(computation.inputs, inputs, wide.outputs, outputs)
    fits &= ~rows.raised(Flags.INVALID)
    kept = tuple(
        (outputs[rows.place] & np.uint64((1 << width) - 1)).astype(codes.dtype)
        if column.role is Role.RESULT
        else rows.flags
        if of_flags(column)
        else codes
        for column, codes in zip(computation.outputs, own.outputs, strict=True)
    )
    return chosen(fits if where is None else fits & where, Computed(kept), own)


def _before_rounding(both: bool, computation: OpComputation, inputs: Chunk) -> Computed:
    """For rounding away from zero: an operand is outside of the range if and only if it is outside before rounding."""
    own, negative = computation.compute(inputs), signs(FORMATS[computation.case.operands[0]], inputs[0])
    for mode, where in (("downward", negative), ("upward", ~negative)):
        if both or mode == "downward":
            outward = _rounded(computation, mode).compute(inputs)
            invalid = Delivered(computation.inputs, inputs, computation.outputs, outward.outputs).raised(Flags.INVALID)
            own = chosen(where & invalid, outward, own)
    return own


def _carry_lost(computation: OpComputation, inputs: Chunk) -> Computed:
    own, width = computation.compute(inputs), width_of(computation.case.result_types[0])
    mode = dict(computation.case.properties).get("rounding", computation.profile.to_integer_rounding)
    rounded, cut = (_wider(computation, f"i{width + 2}", mode, inputs) for mode in (mode, "toward_zero"))
    carried = (rounded == 3 << width) & (cut == (3 << width) + 1)  # -2^width, and one more
    zero = tuple(
        np.full_like(codes, Flags.INEXACT if column.role is Role.FLAGS else 0)
        for column, codes in zip(computation.outputs, own.outputs, strict=True)
    )
    return chosen(carried, Computed(zero), own)


def _wider(computation: OpComputation, type_: str, mode: str, inputs: Chunk) -> Codes:
    """Return the operands as signed integers of another type."""
    case = op_case("fcvt_to_si", computation.case.operands, type_, rounding=mode)
    return replace(computation, case=case).compute(inputs).outputs[0]


def _rounded(computation: OpComputation, mode: str) -> OpComputation:
    case = computation.case
    return replace(computation, case=op_case(_TO_INTEGER[case.op], case.operands, case.results[0], rounding=mode))
