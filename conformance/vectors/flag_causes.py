"""Causes in when a device raises its flags: one in the place of another, wrong tests of underflow and of ranges."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from halfulp.conformance.comparing.op_case import op_case
from halfulp.conformance.vectors.columns import Chunk, Column, Role
from halfulp.conformance.vectors.computation import Computation, Computed, OpComputation
from halfulp.conformance.vectors.device import Cause, through, writing
from halfulp.conformance.vectors.encodings import flag_name
from halfulp.fp_formats.codes import Codes, Mask
from halfulp.fp_formats.formats import FORMATS
from halfulp.fp_formats.policy import Flags
from halfulp.interp.ir.types import width_of

CONFUSED = (
    (Flags.OVERFLOW, Flags.INVALID),
    (Flags.INVALID, Flags.OVERFLOW),
    (Flags.DIVIDE_BY_ZERO, Flags.INVALID),
    (Flags.INVALID, Flags.DIVIDE_BY_ZERO),
    (Flags.UNDERFLOW, Flags.OVERFLOW),
    (Flags.OVERFLOW, Flags.UNDERFLOW),
)
"""Flags, and others that a device may raise in their place."""


def other_flags(computation: Computation) -> Iterator[Cause]:
    """Yield a flag that is raised in the place of another, and underflow that is told by the rounded result."""
    roles = [column.role for column in computation.outputs]
    if Role.FLAGS not in roles:
        return
    for flag, other in CONFUSED:
        yield writing(f"the flag {flag_name(other)} in place of {flag_name(flag)}", partial(_confused, flag, other))
    if roles.count(Role.RESULT) == 1 and any(map(_keeps_subnormals, computation.outputs)):
        yield writing("underflow raised only where the rounded result is subnormal or zero", _underflow_by_result)


def _confused(flag: Flags, other: Flags, columns: Sequence[Column], outputs: Chunk) -> Chunk:
    def moved(codes: Codes) -> Codes:
        return np.where(codes & flag != 0, codes & np.uint8(0x1F ^ flag) | np.uint8(other), codes)

    return _flags_changed(columns, outputs, moved)


def _flags_changed(columns: Sequence[Column], outputs: Chunk, change: Callable[[Codes], Codes]) -> Chunk:
    return tuple(
        change(codes) if column.role is Role.FLAGS else codes for column, codes in zip(columns, outputs, strict=True)
    )


def _keeps_subnormals(column: Column) -> bool:
    fmt = FORMATS.get(column.type)
    return column.role is Role.RESULT and fmt is not None and fmt.zero and fmt.bits <= 64 and fmt.mantissa_bits > 0


def _underflow_by_result(columns: Sequence[Column], outputs: Chunk) -> Chunk:
    place = next(k for k, column in enumerate(columns) if column.role is Role.RESULT)
    fmt, codes = FORMATS[columns[place].type], outputs[place]
    exponents = ((1 << fmt.bits) - 1) & ~(fmt.sign_mask or 0) & -(1 << fmt.mantissa_bits)
    small = codes & codes.dtype.type(exponents) == 0

    def told(flags: Codes) -> Codes:
        raised = small & (flags & Flags.INEXACT != 0)
        return flags & np.uint8(0x1F ^ Flags.UNDERFLOW) | np.where(raised, np.uint8(Flags.UNDERFLOW), np.uint8(0))

    return _flags_changed(columns, outputs, told)


# --- the range of an integer ------------------------------------------------------------------------------------------

_TO_INTEGER = {
    "arith.fptosi": "fcvt_to_si",
    "arith.fptoui": "fcvt_to_ui",
    "fcvt_to_si": "fcvt_to_si",
    "fcvt_to_ui": "fcvt_to_ui",
}


def integer_ranges(computation: Computation) -> Iterator[Cause]:
    """Yield conversions to integers that compare the operand with the range before they round it, or that lose the bit
    into which the rounding of a negative operand carries.
    """
    if not isinstance(computation, OpComputation) or computation.case.op not in _TO_INTEGER:
        return
    width = width_of(computation.case.result_types[0])
    yield through("the lower bound compared before rounding", partial(_before_rounding, False))
    yield through("both bounds compared before rounding", partial(_before_rounding, True))
    if _TO_INTEGER[computation.case.op] == "fcvt_to_ui" and width < 62:
        yield through(f"numbers that round to -2^{width} taken as 0", _carry_lost)


def _before_rounding(both: bool, computation: Computation, inputs: Chunk) -> Computed | None:
    """Rounded away from zero, an operand is outside of the range if and only if it is so before rounding."""
    if not isinstance(computation, OpComputation):
        return None
    own, negative = computation.compute(inputs), _negative(computation, inputs[0])
    for mode, where in (("downward", negative), ("upward", ~negative)):
        if both or mode == "downward":
            outward = _rounded(computation, mode).compute(inputs)
            own = _chosen(where & _raises(computation, outward, Flags.INVALID), outward, own)
    return own


def _carry_lost(computation: Computation, inputs: Chunk) -> Computed | None:
    if not isinstance(computation, OpComputation):
        return None
    own, width = computation.compute(inputs), width_of(computation.case.result_types[0])
    mode = dict(computation.case.properties).get("rounding", computation.profile.to_integer_rounding)
    rounded, cut = (_wider(computation, f"i{width + 2}", mode, inputs) for mode in (mode, "toward_zero"))
    carried = (rounded == 3 << width) & (cut == (3 << width) + 1)  # -2^width, and one more
    zero = Computed(
        tuple(
            np.full_like(codes, Flags.INEXACT if column.role is Role.FLAGS else 0)
            for column, codes in zip(computation.outputs, own.outputs, strict=True)
        )
    )
    return _chosen(carried, zero, own)


def _wider(computation: OpComputation, type_: str, mode: str, inputs: Chunk) -> Codes:
    """Return the operands as signed integers of another type."""
    case = op_case("fcvt_to_si", computation.case.operands, type_, rounding=mode)
    return replace(computation, case=case).compute(inputs).outputs[0]


def _rounded(computation: OpComputation, mode: str) -> OpComputation:
    case = computation.case
    return replace(computation, case=op_case(_TO_INTEGER[case.op], case.operands, case.results[0], rounding=mode))


def _negative(computation: OpComputation, codes: Codes) -> Mask:
    fmt = FORMATS[computation.case.operands[0]]
    return np.asarray(codes & codes.dtype.type(fmt.sign_mask or 0) != 0)


def _raises(computation: OpComputation, made: Computed, flag: Flags) -> Mask:
    flags = (
        codes for column, codes in zip(computation.outputs, made.outputs, strict=True) if column.role is Role.FLAGS
    )
    return next((codes & flag != 0 for codes in flags), np.zeros(len(made.outputs[0]), np.bool_))


def _chosen(where: Mask, one: Computed, other: Computed) -> Computed:
    pairs = zip(one.outputs, other.outputs, strict=True)
    return Computed(tuple(np.where(where, first, second) for first, second in pairs), other.undefined)
