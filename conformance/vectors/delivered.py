"""Causes in what a device delivers: wrong carries, signs of zeros and infinities, NaNs, bounds, flags, and entries of a
table.

The number is right before it is rounded. The wrong result or flag follows from the operands and the right outputs of
its row; it is computed on whole arrays.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache, partial
from itertools import combinations

import numpy as np

from halfulp.conformance.comparing.op_case import op_case
from halfulp.conformance.vectors.columns import Chunk, Column, Role, format_of
from halfulp.conformance.vectors.computation import Computation, Computed, OpComputation
from halfulp.conformance.vectors.datapaths import SUMS, Same, Unit, outputs_of, rows_of, unit_of
from halfulp.conformance.vectors.device import (
    Cause,
    Stage,
    changed,
    chosen,
    flag_name,
    of_flags,
    through,
    writing,
)
from halfulp.conformance.vectors.faults import bias_off, powers_of
from halfulp.conformance.vectors.sampling import Sample
from halfulp.fp_formats import scalar
from halfulp.fp_formats.formats import LIMB_BITS, Codes, FloatFormat, Mask
from halfulp.fp_formats.neighbours import signs
from halfulp.fp_formats.policy import Flags, Rounding
from halfulp.fp_formats.spelling import hexadecimal
from halfulp.semantics import floats

# --- rows -------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Delivered:
    """Rows with their right outputs, and the properties of them that rules use."""

    inputs: Sequence[Column]
    given: Chunk
    outputs: Sequence[Column]
    made: Chunk

    @cached_property
    def place(self) -> int:
        """The position of the first result."""
        return next(k for k, column in enumerate(self.outputs) if column.role is Role.RESULT)

    @property
    def codes(self) -> Codes:
        """The codes of the first result."""
        return self.made[self.place]

    @cached_property
    def fmt(self) -> FloatFormat | None:
        """The format of the first result; None for other types, and for codes of several limbs."""
        fmt = format_of(self.outputs[self.place])
        return fmt if fmt is not None and fmt.bits <= LIMB_BITS else None

    @cached_property
    def flags(self) -> Codes:
        """The flags; none are raised in outputs without flags."""
        found = (codes for column, codes in zip(self.outputs, self.made, strict=True) if column.role is Role.FLAGS)
        return next(found, np.zeros(len(self.codes), np.uint8))

    def raised(self, flag: Flags) -> Mask:
        """Return a mask of the rows whose right outputs have this flag."""
        return np.asarray(self.flags & np.uint8(flag) != 0)

    def _of_result(self, test: Callable[[FloatFormat, Codes], Mask]) -> Mask:
        none: Mask = np.zeros(len(self.codes), np.bool_)
        return none if self.fmt is None else test(self.fmt, self.codes)

    @cached_property
    def zero(self) -> Mask:
        """Rows whose result is zero."""
        return self._of_result(floats.is_zero)

    @cached_property
    def infinite(self) -> Mask:
        """Rows whose result is infinite."""
        return self._of_result(floats.is_infinite)

    @cached_property
    def nan(self) -> Mask:
        """Rows whose result is NaN."""
        return self._of_result(floats.is_nan)

    @cached_property
    def subnormal(self) -> Mask:
        """Rows whose result is subnormal."""
        return self._of_result(lambda fmt, codes: magnitudes(fmt, codes) < fmt.min_normal_magnitude) & ~self.zero

    @cached_property
    def negative(self) -> Mask:
        """Rows whose result has the sign bit."""
        return self._of_result(signs)

    def of_operands(self, test: Callable[[FloatFormat, Codes], Mask]) -> list[Mask]:
        """Return for each operand a mask of the rows in which it passes a test; for an operand that is not a float, no
        row passes.
        """
        none = np.zeros(len(self.codes), np.bool_)
        formats = [format_of(column) if column.role is Role.OPERAND else None for column in self.inputs]
        return [
            none if fmt is None or fmt.bits > LIMB_BITS else test(fmt, codes)
            for fmt, codes in zip(formats, self.given, strict=False)
        ]

    @cached_property
    def nan_operand(self) -> Mask:
        """Rows with a NaN operand."""
        return np.asarray(np.logical_or.reduce(self.of_operands(floats.is_nan)))

    @cached_property
    def infinite_operand(self) -> Mask:
        """Rows with an infinite operand."""
        return np.asarray(np.logical_or.reduce(self.of_operands(floats.is_infinite)))

    @cached_property
    def signalling_operand(self) -> Mask:
        """Rows with a signalling NaN operand."""
        return np.asarray(np.logical_or.reduce(self.of_operands(_is_signalling)))


def magnitudes(fmt: FloatFormat, codes: Codes) -> Codes:
    """Return codes without their signs."""
    made: Codes = codes & codes.dtype.type(fmt.code_mask >> fmt.signed)
    return made


def _is_signalling(fmt: FloatFormat, codes: Codes) -> Mask:
    quiet = codes.dtype.type(fmt.quiet_bit or 0)
    return floats.is_nan(fmt, codes) & (codes & quiet == 0) if fmt.quiet_bit else np.zeros(len(codes), np.bool_)


Rule = Callable[[Delivered], Codes]


def ruled(name: str, computation: Computation, rule: Rule, role: Role = Role.RESULT) -> Cause:
    """Return the cause by which the first result, or the flags, are what a rule says."""

    def write(columns: Sequence[Column], outputs: Chunk, inputs: Chunk) -> Chunk:
        rows = Delivered(computation.inputs, inputs, columns, outputs)
        place = next(k for k, column in enumerate(columns) if column.role is role)
        made = rule(rows).astype(outputs[place].dtype)
        return tuple(made if k == place else codes for k, codes in enumerate(outputs))

    return replace(writing(name, write), stage=Stage.COMPUTATION)


def _of_sample(computation: Computation, sample: Sample) -> Delivered:
    return Delivered(computation.inputs, sample.inputs, computation.outputs, sample.expected)


def result_format(computation: Computation) -> FloatFormat | None:
    """Return the format of the first result; None for other types, and for codes of several limbs."""
    column = next((column for column in computation.outputs if column.role is Role.RESULT), None)
    fmt = None if column is None else format_of(column)
    return fmt if fmt is not None and fmt.bits <= LIMB_BITS else None


def most_frequent(codes: Codes) -> int | None:
    """Return the most frequent of these codes; None if there is none."""
    found, counts = np.unique(codes, return_counts=True)
    return int(found[counts.argmax()]) if len(found) else None


def _made(computation: OpComputation, inputs: Chunk) -> Computed:
    """Return the outputs of a computation that several causes change, and store them."""
    return outputs_of(computation, Same(inputs))


@lru_cache(maxsize=64)
def _in_mode(computation: OpComputation, mode: str) -> OpComputation:
    case = computation.case
    properties = {**dict(case.properties), "rounding": mode}
    return replace(computation, case=op_case(case.op, case.operands, case.results[0], **properties))


# --- carries ----------------------------------------------------------------------------------------------------------


def carries(computation: OpComputation) -> Iterator[Cause]:
    """Yield the causes that a carry of rounding out of the fraction does not reach the exponent: for normal numbers,
    for numbers that round to the smallest normal number, or for both.
    """
    fmt = result_format(computation)
    if unit_of(computation) is None or fmt is None or not fmt.mantissa_bits or not fmt.zero:
        return
    for about, normal, smallest in (
        ("into the smallest normal number", False, True),
        ("out of rounding", True, True),
        ("out of rounding normal numbers", True, False),
    ):
        yield through(f"the carry {about} lost", partial(_uncarried, fmt, normal, smallest, False))
        yield through(f"numbers cut where the carry {about} is due", partial(_uncarried, fmt, normal, smallest, True))


def _uncarried(
    fmt: FloatFormat, normal: bool, smallest: bool, cuts: bool, computation: OpComputation, inputs: Chunk
) -> Computed:
    own, cut = _made(computation, inputs), _made(_in_mode(computation, "toward_zero"), inputs)
    codes, lower = own.outputs[0], cut.outputs[0]
    size, less = magnitudes(fmt, codes), magnitudes(fmt, lower)
    first = size == fmt.min_normal_magnitude
    carried = (size > less) & (size & size.dtype.type(fmt.fraction_mask) == 0) & (size >= fmt.min_normal_magnitude)
    carried &= (first & smallest) | (~first & normal)
    unit = unit_of(computation)
    rows = [] if unit is None else rows_of(unit, inputs)
    for k in np.flatnonzero(carried & (size > fmt.max_magnitude)).tolist():
        # Only numbers below the next power of two become infinite by a carry.
        row = rows[k]
        carried[k] = row is not None and row.exact.lead <= fmt.emax
    made = lower if cuts else codes - codes.dtype.type(1 << fmt.mantissa_bits)
    return Computed((np.where(carried, made, codes), *own.outputs[1:]), own.undefined)


# --- roundings and overflow of some results ---------------------------------------------------------------------------

_MODES = ("to_nearest_even", "toward_zero", "upward", "downward", "to_nearest_away")


def roundings_of_some(computation: OpComputation) -> Iterator[Cause]:
    """Yield the causes that another rounding mode is used for results of one sign or for subnormal results; that
    results that round to infinity become the largest value; and that the overflow flag is missing if only the rounding
    overflows.
    """
    unit = unit_of(computation)
    if unit is None:
        return
    for mode in _MODES:
        if mode != str(unit.rounding.name).lower():
            for about in ("negative", "positive") if unit.case.target.signed else ():
                yield through(f"rounding={mode} for {about} results", partial(_rounded_otherwise, mode, about))
            if isinstance(unit.case.target, FloatFormat):
                yield through(f"rounding={mode} for subnormal results", partial(_rounded_otherwise, mode, "subnormal"))
    if isinstance(unit.case.target, FloatFormat):
        for about, flags in (
            ("results cut that round above the largest number", False),
            ("overflow not raised where it comes from rounding", True),
        ):
            yield through(about, partial(_compared_before, flags, False))
        if not unit.case.target.infinities:  # of others, all that rounding makes too large carries
            yield through("overflow not raised where it comes from a carry", partial(_compared_before, True, True))


def _rounded_otherwise(mode: str, about: str, computation: OpComputation, inputs: Chunk) -> Computed:
    own, other = _made(computation, inputs), _made(_in_mode(computation, mode), inputs)
    rows = Delivered(computation.inputs, inputs, computation.outputs, own.outputs)
    if about == "subnormal":
        least = 0 if rows.fmt is None else rows.fmt.min_normal_magnitude
        if rows.fmt is None or not least:
            return own
        cut = _made(_in_mode(computation, "toward_zero"), inputs).outputs[0]
        where = magnitudes(rows.fmt, cut) < least
    else:
        width = computation.outputs[rows.place].width
        negative = rows.codes >> rows.codes.dtype.type(width - 1) != 0
        if rows.fmt is None:  # what rounds to 0 has the sign of the operand
            negative = rows.of_operands(signs)[0]
        where = negative if about == "negative" else ~negative
        if rows.fmt is not None:  # the sign of a cancelled sum is a rule of its own
            where &= ~(rows.zero & floats.is_zero(rows.fmt, other.outputs[rows.place]))
    return chosen(where, other, own)


def _compared_before(flags: bool, carries: bool, computation: OpComputation, inputs: Chunk) -> Computed | None:
    """Take numbers below the power of two above the largest number as in range; if ``carries``, those that round to
    it.
    """
    own, cut = _made(computation, inputs), _made(_in_mode(computation, "toward_zero"), inputs)
    rows, unit = Delivered(computation.inputs, inputs, computation.outputs, own.outputs), unit_of(computation)
    if unit is None or rows.fmt is None or (flags and not any(map(of_flags, rows.outputs))):
        return None
    carried = rows.raised(Flags.OVERFLOW) if flags else rows.infinite
    exact = rows_of(unit, inputs)
    where = carried.copy()
    for k in np.flatnonzero(carried).tolist():
        row = exact[k]
        where[k] = row is not None and row.exact.significand > 0 and row.exact.lead <= rows.fmt.emax
        if carries and where[k] and row is not None:
            shift = row.exact.lead - rows.fmt.mantissa_bits - row.exact.exponent
            size, _ = scalar.round_to_integer(row.exact.sign, row.exact.significand, max(shift, 0), unit.rounding, None)
            where[k] = shift > 0 and size >> rows.fmt.precision > 0
    if not flags:
        return chosen(where, cut, own)
    kept = tuple(
        np.where(where, codes & np.uint8(0x1F ^ Flags.OVERFLOW), codes) if of_flags(column) else codes
        for column, codes in zip(rows.outputs, own.outputs, strict=True)
    )
    return Computed(kept, own.undefined)


# --- zeros, infinities, powers of two ---------------------------------------------------------------------------------


def zero_signs(computation: Computation) -> Iterator[Cause]:
    """Yield the causes that zeros have other signs: all zeros, or only those of sums that cancel, of sums of zeros, or
    of both.
    """
    fmt, unit = result_format(computation), None
    alike: list[int] = []
    if isinstance(computation, OpComputation):
        unit, target = unit_of(computation), computation.case.results[0]
        alike = [k for k, type_ in enumerate(computation.case.operands) if type_ == target]
    if fmt is None or not fmt.has_negative_zero:
        return
    bit = fmt.sign_mask or 0
    wheres: dict[str, Callable[[Delivered], Mask]] = {"zeros": lambda rows: rows.zero}
    if unit is not None and unit.case.kind in SUMS:
        wheres = {
            "cancelled sums": lambda rows: _exactly_zero(unit, rows) & ~_zero_term(rows),
            "sums of zeros": lambda rows: _exactly_zero(unit, rows) & _zero_term(rows),
            **wheres,
            "exact zeros": partial(_exactly_zero, unit),
        }
    for about, where in wheres.items():
        for value, told in ((0, "+"), (bit, "-")):
            yield ruled(f"the sign of {about} always {told}", computation, partial(signed, bit, where, value))
        for k in alike if len(alike) > 1 else ():
            yield ruled(f"the sign of {about} that of {'abc'[k]}", computation, partial(_signed_as, bit, where, k))
        for mode in ("to_nearest_even", "downward") if about in ("sums of zeros", "exact zeros") else ():
            if not isinstance(computation, OpComputation) or unit is None:
                continue
            if (unit.rounding == Rounding.DOWNWARD) == (mode == "to_nearest_even"):
                rule = partial(_signed_in_mode, bit, where, _in_mode(computation, mode))
                yield ruled(f"the sign of {about} that of rounding={mode}", computation, rule)


def _exactly_zero(unit: Unit, rows: Delivered) -> Mask:
    """Return the rows whose result is zero, because the sum of the operands is zero before it is rounded."""
    where = rows.zero.copy()
    exact = rows_of(unit, tuple(codes[where] for codes in rows.given))
    where[where] = [row is not None and not row.exact.significand for row in exact]
    return where


def _signed_in_mode(bit: int, where: Callable[[Delivered], Mask], other: OpComputation, rows: Delivered) -> Codes:
    kind = rows.codes.dtype.type
    return np.where(where(rows), rows.codes & ~kind(bit) | other.compute(rows.given).outputs[0] & kind(bit), rows.codes)


def infinity_signs(computation: Computation) -> Iterator[Cause]:
    """Yield the causes that all infinities of the first result have the same sign."""
    fmt = result_format(computation)
    if fmt is not None and fmt.infinities and fmt.signed:
        bit = fmt.sign_mask or 0
        for value, told in ((0, "+"), (bit, "-")):
            rule = partial(signed, bit, lambda rows: rows.infinite, value)
            yield ruled(f"the sign of infinities always {told}", computation, rule)


def _zero_term(rows: Delivered) -> Mask:
    zeros = rows.of_operands(floats.is_zero)
    return np.asarray(np.logical_or.reduce(zeros))


def signed(bit: int, where: Callable[[Delivered], Mask], value: int, rows: Delivered) -> Codes:
    """Return the codes of results, with a sign bit of this value where a test of rows says."""
    kind = rows.codes.dtype.type
    return np.where(where(rows), rows.codes & ~kind(bit) | kind(value), rows.codes)


def _signed_as(bit: int, where: Callable[[Delivered], Mask], operand: int, rows: Delivered) -> Codes:
    kind = rows.codes.dtype.type
    return np.where(where(rows), rows.codes & ~kind(bit) | rows.given[operand] & kind(bit), rows.codes)


def exponents(computation: OpComputation, sample: Sample) -> Iterator[Cause]:
    """Yield the causes that the exponent field of results is wrong by a fixed number after rounding."""
    fmt, unit = result_format(computation), unit_of(computation)
    if fmt is not None and unit is not None:
        for power in powers_of(fmt, sample):
            about = f"the rounded result times 2^{power} (written with {bias_off(-power)} after rounding)"
            write = partial(_moved, computation, fmt, unit, power)
            yield replace(writing(about, write), stage=Stage.COMPUTATION)


def _moved(
    computation: Computation,
    fmt: FloatFormat,
    unit: Unit,
    power: int,
    columns: Sequence[Column],
    outputs: Chunk,
    inputs: Chunk,
) -> Chunk:
    """Add to the exponent field. What leaves the range is 0, or overflows in the mode of the unit."""
    rows = Delivered(computation.inputs, inputs, columns, outputs)
    size = magnitudes(fmt, rows.codes).astype(np.int64)
    counts = (size > 0) & (size <= fmt.max_magnitude)
    moved = np.maximum(size + (power << fmt.mantissa_bits), 0)
    made = rows.codes & rows.codes.dtype.type(fmt.sign_mask or 0) | moved.astype(rows.codes.dtype)
    over, flags = counts & (moved > fmt.max_magnitude), rows.flags
    for sign, where in enumerate((over & ~rows.negative, over & rows.negative)):
        result = scalar.round_pack(fmt, sign, 1, fmt.emax + 1, unit.rounding, unit.policy, None, unit.saturates)
        made, flags = np.where(where, made.dtype.type(result.code), made), np.where(where, result.flags, flags)
    made = np.where(counts, made, rows.codes)
    return tuple(
        made if k == rows.place else flags.astype(np.uint8) if of_flags(column) else codes
        for k, (column, codes) in enumerate(zip(columns, outputs, strict=True))
    )


# --- NaNs -------------------------------------------------------------------------------------------------------------


def other_nans(computation: OpComputation) -> Iterator[Cause]:
    """Yield the causes that a NaN operand takes precedence over others, stays signalling, or loses its sign."""
    fmt = result_format(computation)
    source = format_of(computation.inputs[0])
    if fmt is not None and source is not None and source != fmt and len(computation.inputs) == 1:
        nans = fmt.quiet_bit and fmt.infinities and source.quiet_bit and source.bits <= LIMB_BITS
        name = "NaN operands cut or filled up, and not made quiet"
        yield from [ruled(name, computation, partial(_nan_cut, source, fmt))] if nans else []
    if (
        fmt is None
        or not fmt.quiet_bit
        or any(type_ != computation.case.results[0] for type_ in computation.case.operands)
    ):
        return
    count = len(computation.case.operands)
    for first in range(1, count):
        order = [first, *(k for k in range(count) if k != first)]
        chosen_nan = partial(_nan_of, fmt, order, fmt.quiet_bit)
        yield ruled(f"the NaN {'abc'[first]} before others", computation, chosen_nan)
    if count == 3:
        yield ruled("the last NaN operand", computation, partial(_nan_of, fmt, [2, 1, 0], fmt.quiet_bit))
    yield ruled("NaN operands that stay signalling", computation, partial(_nan_of, fmt, list(range(count)), 0))
    yield ruled("NaN operands without their payload", computation, partial(_without_payload, fmt))
    for about, bit in (("+", 0), ("-", fmt.sign_mask or 0)):
        yield ruled(
            f"the sign of NaN always {about}",
            computation,
            partial(signed, fmt.sign_mask or 0, lambda rows: rows.nan, bit),
        )


def _nan_cut(source: FloatFormat, fmt: FloatFormat, rows: Delivered) -> Codes:
    """Keep the leading bits of the fraction: if they are 0, the code is that of an infinity."""
    given, kind = rows.given[0].astype(np.uint64), rows.codes.dtype.type
    fraction, by = given & np.uint64(source.fraction_mask), source.mantissa_bits - fmt.mantissa_bits
    kept = fraction >> np.uint64(by) if by > 0 else fraction << np.uint64(-by)
    sign = np.where(signs(source, rows.given[0]), kind(fmt.sign_mask or 0), kind(0))
    made = kept.astype(kind) | kind(fmt.max_magnitude + 1) | sign
    return np.where(floats.is_nan(source, rows.given[0]), made, rows.codes)


def _without_payload(fmt: FloatFormat, rows: Delivered) -> Codes:
    kind = rows.codes.dtype.type
    bare = rows.codes & kind(fmt.sign_mask or 0) | kind(fmt.nan_code or 0)
    return np.where(rows.nan & rows.nan_operand, bare, rows.codes)


def _nan_of(fmt: FloatFormat, order: Sequence[int], quiet: int, rows: Delivered) -> Codes:
    made = rows.codes
    for k in reversed(order):
        nan = floats.is_nan(fmt, rows.given[k]) & rows.nan
        made = np.where(nan, rows.given[k] | made.dtype.type(quiet), made)
    return made


def constant_nans(computation: Computation, sample: Sample) -> Iterator[Cause]:
    """Yield the causes that the device gives one fixed NaN, the one that it gives most often: for all NaNs of a result,
    or only for those of invalid operations, of signalling operands, or of quiet operands.
    """
    results = [k for k, column in enumerate(computation.outputs) if column.role is Role.RESULT]
    rows = _of_sample(computation, sample)
    for k in results:
        column, fmt = computation.outputs[k], format_of(computation.outputs[k])
        if fmt is None or fmt.bits > LIMB_BITS:
            continue
        expected, actual = sample.expected[k], sample.actual[k]
        nans = sample.differs & floats.is_nan(fmt, expected) & floats.is_nan(fmt, actual)
        for about, where in _NANS.items() if isinstance(computation, OpComputation) else [("", None)]:
            code = most_frequent(actual[nans if where is None else nans & where(rows)])
            if code is not None:
                place = f" in {column.name}" if len(results) > 1 else ""
                told = f"NaN{about} always {hexadecimal(code, fmt.bits)}{place}"
                write = partial(_with_nan, fmt, column.name, code, where, computation.inputs)
                yield replace(writing(told, write), stage=Stage.COMPUTATION)


_NANS: dict[str, Callable[[Delivered], Mask] | None] = {
    " of invalid operations": lambda rows: ~rows.nan_operand,
    " of signalling operands": lambda rows: rows.signalling_operand,
    " of quiet operands": lambda rows: rows.nan_operand & ~rows.signalling_operand,
    "": None,
}


def _with_nan(
    fmt: FloatFormat,
    name: str,
    code: int,
    where: Callable[[Delivered], Mask] | None,
    given: Sequence[Column],
    columns: Sequence[Column],
    outputs: Chunk,
    inputs: Chunk,
) -> Chunk:
    applies = True if where is None else where(Delivered(given, inputs, columns, outputs))

    def one(codes: Codes, width: int) -> Codes:
        return np.where(floats.is_nan(fmt, codes) & applies, codes.dtype.type(code), codes)

    return changed(lambda column: column.name == name, one, columns, outputs)


# --- bounds -----------------------------------------------------------------------------------------------------------


def bounds(computation: OpComputation, sample: Sample) -> Iterator[Cause]:
    """Yield the causes that the device gives fixed codes for results out of range, and for NaN in conversions to
    integers. The codes are taken from the sample.
    """
    rows = _of_sample(computation, sample)
    column = computation.outputs[rows.place]
    if column.width > LIMB_BITS:
        return
    wheres = _beyond(computation, rows)
    found: dict[str, int] = {}
    for about, where in wheres.items():
        actual = sample.actual[rows.place]
        code = most_frequent(actual[where & sample.differs & (actual != rows.codes)])
        if code is not None:
            found[about] = code
    together = [about for about in found if "finit" not in about or about.startswith("overflow")]
    for part in (together, *([about] for about in found if [about] != together)):
        if part:
            name = " and ".join(f"{about} gives {hexadecimal(found[about], column.width)}" for about in part)
            yield ruled(name, computation, partial(_beyond_as, computation, {about: found[about] for about in part}))


def _beyond(computation: OpComputation, rows: Delivered) -> dict[str, Mask]:
    fmt = rows.fmt
    if fmt is not None:
        flagged = any(map(of_flags, rows.outputs))
        over = rows.raised(Flags.OVERFLOW) if flagged else rows.infinite & ~rows.infinite_operand
        return {"overflow above": over & ~rows.negative, "overflow below": over & rows.negative}
    source = format_of(computation.inputs[0])
    if source is None or source.bits > LIMB_BITS:
        return {}
    if not any(map(of_flags, rows.outputs)):  # flags tell what is out of range, also where they are not compared
        with_all = replace(computation, flags=True)
        rows = replace(rows, outputs=with_all.outputs, made=outputs_of(with_all, Same(rows.given)).outputs)
    if not any(map(of_flags, rows.outputs)):
        return {}
    nan, low = floats.is_nan(source, rows.given[0]), signs(source, rows.given[0])
    out, infinite = rows.raised(Flags.INVALID) & ~nan, floats.is_infinite(source, rows.given[0])
    return {
        "a number too large": out & ~low,
        "a number too small": out & low,
        "NaN": nan,
        "a finite number too large": out & ~low & ~infinite,
        "a finite number too small": out & low & ~infinite,
        "+infinity": infinite & ~low,
        "-infinity": infinite & low,
    }


def _beyond_as(computation: OpComputation, codes: dict[str, int], rows: Delivered) -> Codes:
    made = rows.codes
    for about, where in _beyond(computation, rows).items():
        if about in codes:
            made = np.where(where, made.dtype.type(codes[about]), made)
    return made


# --- entries of a table -----------------------------------------------------------------------------------------------


def entries(computation: OpComputation, sample: Sample) -> Iterator[Cause]:
    """Yield the causes that results are wrong by a fixed number for a range of the operand: of its code, its magnitude
    or its fraction.
    """
    column = computation.inputs[0]
    rows = _of_sample(computation, sample)
    if len(computation.inputs) > 1 or max(column.width, computation.outputs[rows.place].width) > LIMB_BITS:
        return
    actual, wrong = sample.actual[rows.place], sample.differs & sample.values
    off = most_frequent((actual - rows.codes)[wrong])
    if off is None:
        return
    fmt = format_of(column)
    spaces = {"the operand": (1 << column.width) - 1}
    if fmt is not None:
        spaces |= {"the magnitude of the operand": fmt.code_mask >> fmt.signed, "its fraction": fmt.fraction_mask}
    half = 1 << computation.outputs[rows.place].width
    told = off if 2 * off <= half else off - half
    for about, mask in spaces.items():
        index = sample.inputs[0] & sample.inputs[0].dtype.type(mask)
        low, high = int(index[wrong].min()), int(index[wrong].max())
        if wrong.sum() > 1 and (low, high) != (int(index.min()), int(index.max())):
            name = f"{about} from {low:#X} to {high:#X} looked up {told:+d} off".replace("0X", "0x")
            yield replace(ruled(name, computation, partial(_off, mask, low, high, off)), stage=Stage.TABLE)


def _off(mask: int, low: int, high: int, off: int, rows: Delivered) -> Codes:
    index = rows.given[0] & rows.given[0].dtype.type(mask)
    return np.where((index >= low) & (index <= high), rows.codes + rows.codes.dtype.type(off), rows.codes)


# --- flags ------------------------------------------------------------------------------------------------------------

_I, _U, _O, _Z, _V = Flags
FLAG_RULES: tuple[tuple[str, Flags, Callable[[Delivered], Mask]], ...] = (
    ("the flag invalid for every NaN operand", _V, lambda rows: rows.raised(_V) | rows.nan_operand),
    ("the flag invalid for every NaN result", _V, lambda rows: rows.raised(_V) | rows.nan),
    ("the flag invalid never for signalling NaNs", _V, lambda rows: rows.raised(_V) & ~rows.signalling_operand),
    ("the flag invalid for signalling NaNs alone", _V, lambda rows: rows.raised(_V) & rows.signalling_operand),
    (
        "the flag invalid for every negative operand", _V,
        lambda rows: rows.raised(_V) | rows.of_operands(signs)[0] & ~rows.nan_operand,
    ),
    ("the flag invalid for infinite operands", _V, lambda rows: rows.raised(_V) | rows.infinite_operand),
    ("the flag inexact with invalid", _I, lambda rows: rows.raised(_I) | rows.raised(_V)),
    ("overflow raised for infinite operands too", _O, lambda rows: rows.raised(_O) | rows.infinite),
    ("overflow raised only where the result is infinite", _O, lambda rows: rows.raised(_O) & rows.infinite),
    ("underflow raised only where the result is zero", _U, lambda rows: rows.raised(_U) & rows.zero),
    (
        "underflow raised only where the rounded result is subnormal or zero", _U,
        lambda rows: (rows.subnormal | rows.zero) & rows.raised(_I),
    ),
    (
        "underflow raised only where the rounded result is subnormal", _U,
        lambda rows: rows.subnormal & rows.raised(_I),
    ),
    ("underflow raised for exact subnormal results too", _U, lambda rows: rows.raised(_U) | rows.subnormal),
    ("inexact not raised with overflow", _I, lambda rows: rows.raised(_I) & ~rows.raised(_O)),
    ("inexact not raised with underflow", _I, lambda rows: rows.raised(_I) & ~rows.raised(_U)),
    ("division by zero raised for 0/0 too", _Z, lambda rows: rows.raised(_Z) | rows.raised(_V) & _zero_term(rows)),
)  # fmt: skip
"""Rules of flags that devices have: the name, the flag, and the rows in which it is raised."""


def flag_rules(computation: OpComputation) -> Iterator[Cause]:
    """Yield the causes that flags follow another rule, and that they are those of the product of a multiply-add."""
    if not any(map(of_flags, computation.outputs)):
        return
    fmt = result_format(computation)
    for name, flag, raised in FLAG_RULES:
        if fmt is not None or flag is Flags.INVALID:
            yield ruled(name, computation, partial(_by_rule, flag, raised), Role.FLAGS)
    if computation.case.op in _PRODUCTS and len(set(computation.case.operands)) == 1:
        yield through("the flags of the product alone", _flags_of_product)


_PRODUCTS = {"math.fma": "arith.mulf", "fmadd": "fmul", "fmsub": "fmul"}


def _by_rule(flag: Flags, raised: Callable[[Delivered], Mask], rows: Delivered) -> Codes:
    return rows.flags & np.uint8(0x1F ^ flag) | np.where(raised(rows), np.uint8(flag), np.uint8(0))


def _flags_of_product(computation: OpComputation, inputs: Chunk) -> Computed:
    case = computation.case
    product = replace(computation, case=op_case(_PRODUCTS[case.op], case.operands[:2], **dict(case.properties)))
    own, other = computation.compute(inputs), product.compute(inputs[:2])
    pairs = zip(computation.outputs, own.outputs, strict=True)
    flags = next(codes for column, codes in zip(product.outputs, other.outputs, strict=True) if of_flags(column))
    return Computed(tuple(flags if of_flags(column) else codes for column, codes in pairs), own.undefined)


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
    """Yield a cause for each pair in `CONFUSED`: the device raises the second flag in place of the first one; and for
    each two flags, that they are exchanged.
    """
    roles = [column.role for column in computation.outputs]
    if Role.FLAGS not in roles:
        return
    for flag, other in CONFUSED:
        yield writing(f"the flag {flag_name(other)} in place of {flag_name(flag)}", partial(_confused, flag, other))
    for flag, other in combinations(Flags, 2):
        exchanged = partial(_flags_exchanged, flag, other)
        yield writing(f"the flags {flag_name(flag)} and {flag_name(other)} exchanged", exchanged)


def _flags_exchanged(one: Flags, other: Flags, columns: Sequence[Column], outputs: Chunk, inputs: Chunk) -> Chunk:
    def exchanged(codes: Codes, width: int) -> Codes:
        differ = (codes & one != 0) ^ (codes & other != 0)
        return np.where(differ, codes ^ np.uint8(one | other), codes)

    return changed(of_flags, exchanged, columns, outputs)


def _confused(flag: Flags, other: Flags, columns: Sequence[Column], outputs: Chunk, inputs: Chunk) -> Chunk:
    def moved(codes: Codes, width: int) -> Codes:
        return np.where(codes & flag != 0, codes & np.uint8(0x1F ^ flag) | np.uint8(other), codes)

    return changed(of_flags, moved, columns, outputs)
