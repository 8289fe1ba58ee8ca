"""Ops in fixed point: their exact results, and the causes that may explain wrong results of a unit."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from halfulp.conformance.comparing.op_case import OpCase, op_case
from halfulp.conformance.vectors.columns import Chunk, Role
from halfulp.conformance.vectors.computation import Computed, OpComputation
from halfulp.conformance.vectors.device import Cause, computing, through
from halfulp.conformance.vectors.intermediate import fixed_formats
from halfulp.fp_formats import scalar
from halfulp.fp_formats.formats import codes_to_ints
from halfulp.interp.dialects.math.functions import FIXED_ARITHMETIC, IN_FIXED_POINT
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.errors import plural
from halfulp.semantics import fixed_point
from halfulp.semantics.fixed_point import OVERFLOWS, QUANTIZATIONS, FixedFormat, Integers

POWERS = 8
"""Powers of two that are tried as factors reach from 2**-8 to 2**8."""

MOST_PLACES = 80
"""The most places of an exact result that are tried as the last or the first one."""


class Exact(NamedTuple):
    """Exact results: integers of a format that holds all of them, and the format of the result."""

    integers: Integers
    format: FixedFormat
    target: FixedFormat


def exact_of(case: OpCase, inputs: Chunk) -> Exact | None:
    """Return the exact results of an op whose operands and result are all in fixed point; None for any other."""
    *operands, target = fixed_formats(case)
    sources = [each for each in operands if each is not None]
    if target is None or len(sources) < len(operands):
        return None
    numbers = [fixed_point.integers_of(fmt, codes) for fmt, codes in zip(sources, inputs, strict=False)]
    return Exact(*_exact(case.op, sources, numbers), target)


def _exact(op: str, sources: Sequence[FixedFormat], numbers: Sequence[Integers]) -> tuple[Integers, FixedFormat]:
    operation = FIXED_ARITHMETIC.get(op)
    if operation is None:
        return numbers[0], sources[0]
    one, other = sources
    held = fixed_point.FORMATS_OF_RESULTS[operation](one, other)
    return fixed_point.exact(operation, numbers[0], numbers[1], (one, other)), held


def exact_in_fixed_point(case: OpCase, operands: tuple[int, ...]) -> Fraction | None:
    """Return the exact result of an op in fixed point; None for another op, and if it is not a number."""
    if case.op not in IN_FIXED_POINT:
        return None
    sources = [fmt for fmt in fixed_formats(case)[:-1] if fmt is not None]
    if not sources:
        (type_,) = case.operand_types
        return scalar.value(type_.format, operands[0]) if isinstance(type_, ty.FloatType) else None
    numbers = [fixed_point.integer_of(fmt, code) for fmt, code in zip(sources, operands, strict=False)]
    units, held = _exact(case.op, sources, numbers)
    return Fraction(units * held.unit)


def fixed_point_faults(computation: OpComputation) -> Iterator[Cause]:
    """Yield the causes of differences that are possible for a unit in fixed point."""
    *operands, target = fixed_formats(computation.case)
    if target is None and not any(operands):
        return
    for place, own in enumerate(operands):
        if own is not None:
            name = computation.inputs[place].name
            yield computing(
                f"{name} read as {'unsigned' if own.signed else 'signed'}",
                partial(_retyped, place, lambda fmt: replace(fmt, signed=not fmt.signed)),
            )
    if target is not None:
        yield from _modes(target)
        yield from _powers(computation, operands)
        yield from _steps(computation)


def _modes(own: FixedFormat) -> Iterator[Cause]:
    for field, table in (("rounding", QUANTIZATIONS), ("overflow", OVERFLOWS)):
        for mode in table:
            if mode != getattr(own, field):
                change = partial(_with_mode, field, mode)
                yield computing(f"{mode} in place of {getattr(own, field)}", partial(_retyped, -1, change))


def _with_mode(field: str, mode: str, fmt: FixedFormat) -> FixedFormat:
    changed: dict[str, Any] = {field: mode}
    return replace(fmt, **changed)


def _powers(computation: OpComputation, operands: list[FixedFormat | None]) -> Iterator[Cause]:
    """Yield results and operands whose point is elsewhere; operands that are added with their last places together."""
    near = [power for size in range(1, POWERS + 1) for power in (-size, size)]
    names = [column.name for column, own in zip(computation.inputs, operands, strict=False) if own is not None]
    sums = computation.case.op in ("fixed_add", "fixed_sub")
    for power in near:
        whose = f"the point of the result {_places_off(-power)}"
        if names:
            read = f"the point of {(' and ' if sums else ' or ').join(names)} {_places_off(power)}"
            whose = f"{read}, or {whose}; no row tells which"
        name = f"the exact result times 2^{power} ({whose})"
        yield computing(name, partial(_retyped, -1, partial(_moved, -power)))
    if not sums:
        return
    one, other = (fmt.fraction_bits if fmt is not None else 0 for fmt in operands)
    for place, apart in ((0, one - other), (1, other - one)):
        for power in dict.fromkeys([*near, apart] if apart else near):
            name = f"{computation.inputs[place].name} times 2^{power} (its point {_places_off(power)})"
            yield computing(name, partial(_retyped, place, partial(_moved, power)))


def _places_off(power: int) -> str:
    """Return where the point of numbers is that are read 2^power times as large."""
    return f"{plural(abs(power), 'place')} too far {'right' if power > 0 else 'left'}"


def _moved(power: int, fmt: FixedFormat) -> FixedFormat:
    return replace(fmt, integer_bits=fmt.integer_bits + power)


def _retyped(place: int, change: Callable[[FixedFormat], FixedFormat], computation: OpComputation) -> OpComputation:
    """Return the computation with another format of one operand, or of the result (-1)."""
    case = computation.case
    formats = fixed_formats(case)
    own = formats[place]
    if own is None:
        raise ValueError("there is no format in fixed point")
    types = [*case.operands, case.results[0]]
    types[place] = str(ty.FixedType(change(own)))
    return replace(computation, case=op_case(case.op, types[:-1], types[-1], **dict(case.properties)))


# --- steps ------------------------------------------------------------------------------------------------------------

Step = Callable[[Exact], Integers]
"""Another way from exact results to integers of the target."""


def _steps(computation: OpComputation) -> Iterator[Cause]:
    probe = exact_of(computation.case, tuple(np.zeros(0, np.uint64) for _ in computation.inputs))
    if probe is not None:
        held, target = probe.format, probe.target
        for bits in _between(target.fraction_bits, held.fraction_bits):
            yield _step(f"the exact result cut to {bits} fraction bits before it is rounded", partial(_cut, bits))
        for bits in reversed(_between(1, held.integer_bits)):
            yield _step(f"the exact result wraps at {bits} integer bits", partial(_wrapped, bits))
        yield from _rounded_operands(computation, target)
    if _saturates(computation.case):
        yield _step("the range compared before rounding", _early_range)
        for name, low in (("the largest", False), ("the smallest", True)):
            yield _step(f"no saturation to {name} value", partial(_one_end, low))
        yield _step("the largest value in place of the smallest where it saturates", _largest)


def _saturates(case: OpCase) -> bool:
    """Tell whether the result of an op is in fixed point and does not wrap."""
    target = fixed_formats(case)[-1]
    return target is not None and target.overflow != "AC_WRAP"


def _between(low: int, high: int) -> range:
    return range(low, min(high, low + MOST_PLACES))


def _step(name: str, step: Step) -> Cause:
    def datapath(computation: Any, inputs: Chunk) -> Computed | None:
        found = exact_of(computation.case, inputs) or _of_floats(computation.case, inputs)
        if found is None:
            return None
        result = fixed_point.codes_of(found.target, np.asarray(step(found)))
        marks = np.zeros(len(result), np.uint8)
        return Computed(tuple(result if one.role is Role.RESULT else marks for one in computation.outputs))

    return through(name, datapath)


def _of_floats(case: OpCase, inputs: Chunk) -> Exact | None:
    """Return floats as integers with two more places than the result, the last one for all that follow."""
    (type_,), target = case.operand_types, fixed_formats(case)[-1]
    if target is None or not isinstance(type_, ty.FloatType):
        return None
    values = (scalar.value(type_.format, code) for code in codes_to_ints(inputs[0], type_.format.bits))
    places = target.fraction_bits + 2
    units = [fixed_point.with_sticky(Fraction(value or 0), places) for value in values]
    widest = max([target.width, *(unit.bit_length() for unit in units)]) + 2
    return Exact(np.array(units, object), FixedFormat(widest, widest - places), target)


def _down(integers: Integers, width: int, shift: int, mode: str) -> Integers:
    return fixed_point.rounded(fixed_point.roomy(integers, max(width, abs(shift) + 1)), shift, mode)


def _cut(bits: int, found: Exact) -> Integers:
    cut = _down(found.integers, found.format.width, found.format.fraction_bits - bits, "AC_TRN")
    return fixed_point.quantize(cut, bits, found.target)


def _wrapped(bits: int, found: Exact) -> Integers:
    own, target = found.format, found.target
    held = FixedFormat(bits + own.fraction_bits, bits, own.signed)
    return fixed_point.converted(fixed_point.fitted(found.integers, held), held, target)


def _rounded(found: Exact) -> tuple[Integers, Integers]:
    """Return the numbers in the places of the target, rounded and cut."""
    shift = found.format.fraction_bits - found.target.fraction_bits
    width = found.format.width + max(-shift, 0)
    one, other = (_down(found.integers, width, shift, mode) for mode in (found.target.rounding, "AC_TRN"))
    return one, other


def _wraps(numbers: Integers, target: FixedFormat) -> Integers:
    return fixed_point.fitted(numbers, replace(target, overflow="AC_WRAP"))


def _early_range(found: Exact) -> Integers:
    numbers, cut = _rounded(found)
    inside = (cut >= found.target.lowest) & (cut <= found.target.highest)
    return np.where(inside, _wraps(numbers, found.target), fixed_point.fitted(numbers, found.target))


def _one_end(low: bool, found: Exact) -> Integers:
    numbers, _ = _rounded(found)
    end = numbers < found.target.lowest if low else numbers > found.target.highest
    return np.where(end, _wraps(numbers, found.target), fixed_point.fitted(numbers, found.target))


def _largest(found: Exact) -> Integers:
    numbers, _ = _rounded(found)
    made = fixed_point.fitted(numbers, found.target)
    return np.where(numbers < found.target.lowest, found.target.highest, made)


def _rounded_operands(computation: OpComputation, target: FixedFormat) -> Iterator[Cause]:
    """Yield operands that are brought to the places of the result first."""
    formats = [fmt for fmt in fixed_formats(computation.case)[:-1] if fmt is not None]
    if computation.case.op not in FIXED_ARITHMETIC or all(f.fraction_bits <= target.fraction_bits for f in formats):
        return
    for mode in dict.fromkeys(("AC_TRN", target.rounding)):
        name = f"operands rounded to {target.fraction_bits} fraction bits first, by {mode}"
        yield through(name, partial(_first, formats, target.fraction_bits, mode))


def _widened(fmt: FixedFormat) -> FixedFormat:
    return replace(fmt, width=fmt.width + 1, integer_bits=fmt.integer_bits + 1)


def _first(formats: list[FixedFormat], bits: int, mode: str, computation: OpComputation, inputs: Chunk) -> Computed:
    """Round the operands, which may carry into one more bit before the point."""
    made = []
    for place, (fmt, codes) in enumerate(zip(formats, inputs, strict=True)):
        shift = max(fmt.fraction_bits - bits, 0)
        numbers = _down(fixed_point.integers_of(fmt, codes), fmt.width + 1, shift, mode)
        made.append(fixed_point.codes_of(_widened(fmt), numbers << shift))
        computation = _retyped(place, _widened, computation)
    return computation.compute(tuple(made))
