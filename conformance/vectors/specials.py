"""Causes in how a unit treats signs, infinities, NaNs and the ends of the range: they are misread, an invalid operation
has a fixed result, or numbers are compared as integers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from halfulp.conformance.comparing.op_case import op_case
from halfulp.conformance.vectors.columns import Chunk, Column, Role, format_of
from halfulp.conformance.vectors.computation import Computed, OpComputation
from halfulp.conformance.vectors.datapaths import (
    SUMS,
    TO_FLOATS,
    Same,
    outputs_of,
    result_of,
    rows_of,
    unit_of,
)
from halfulp.conformance.vectors.delivered import Delivered, magnitudes, most_frequent
from halfulp.conformance.vectors.device import Cause, Stage, chosen, of_flags, reading, through, writing
from halfulp.conformance.vectors.intermediate import ExactResult, model_case_of, pieces
from halfulp.conformance.vectors.sampling import Sample
from halfulp.fp_formats import scalar
from halfulp.fp_formats.formats import LIMB_BITS, Codes, FloatFormat, Mask, codes_to_ints
from halfulp.fp_formats.neighbours import signs
from halfulp.fp_formats.policy import Flags
from halfulp.fp_formats.spelling import hexadecimal
from halfulp.semantics import floats

# --- operands ---------------------------------------------------------------------------------------------------------


def _formats(computation: OpComputation) -> list[FloatFormat | None]:
    """Return the format of each operand; None for other types, and for codes of several limbs."""
    found = (format_of(column) for column in computation.inputs if column.role is Role.OPERAND)
    return [fmt if fmt is not None and fmt.bits <= LIMB_BITS else None for fmt in found]


def misread_operands(computation: OpComputation) -> Iterator[Cause]:
    """Yield the causes that operands are read without their signs, that infinities or NaNs are read as numbers or as
    each other, and that the sign of a product or quotient is not that of its operands together.
    """
    formats = _formats(computation)
    signed = [k for k, fmt in enumerate(formats) if fmt is not None and fmt.signed]
    names = [column.name for column in computation.inputs]
    kind = _kind(computation)
    for places in [[k] for k in signed] + ([signed] if len(signed) > 1 else []):
        told = names[places[0]] if len(places) == 1 else "the operands"
        whose = "its sign" if len(places) == 1 else "their signs"
        for but, tests in list(_BUT.items())[:2]:
            name = f"{told} without {whose}{but}"
            yield _read(name, formats, places, partial(_unsigned, kind != "square root", tests))
    special = [k for k, fmt in enumerate(formats) if fmt is not None and fmt.infinities]
    if special and len(special) == len(formats):
        for what, recode in _SPECIALS.items():
            yield _read(what, formats, special, recode)
        if unit_of(computation) is not None:
            for about, infinities, nans in _AS_NUMBERS:
                yield through(f"{about} taken as numbers", partial(_as_numbers, infinities, nans))
    if kind in ("multiply", "divide", "multiply-add") and len(signed) == len(formats):
        for told, sign in _SIGNS.items():
            name = f"the sign of {'products' if kind != 'divide' else 'quotients'} {told}"
            for but, tests in _BUT.items():
                read = partial(_with_sign, formats[:2], sign, tests)
                yield reading(name + but, Stage.COMPUTATION, read)


Test = Callable[[FloatFormat, Codes], Mask]
Recode = Callable[[FloatFormat, Codes], Codes]


def _read(name: str, formats: Sequence[FloatFormat | None], places: Sequence[int], recode: Recode) -> Cause:
    def read(inputs: Chunk) -> Chunk:
        return tuple(
            recode(fmt, codes).astype(codes.dtype) if fmt is not None and k in places else codes
            for k, (fmt, codes) in enumerate(zip((*formats, *[None] * len(inputs)), inputs, strict=False))
        )

    return reading(name, Stage.COMPUTATION, read)


def _unsigned(zeros: bool, but: Sequence[Test], fmt: FloatFormat, codes: Codes) -> Codes:
    keeps = np.logical_or.reduce([test(fmt, codes) for test in but]) | (floats.is_zero(fmt, codes) & (not zeros))
    return np.where(keeps, codes, magnitudes(fmt, codes))


def _moved_to(test: Test, code: Callable[[FloatFormat], int]) -> Recode:
    """Return the change of the codes that pass a test to another code, with their signs."""

    def recode(fmt: FloatFormat, codes: Codes) -> Codes:
        kind = codes.dtype.type
        return np.where(test(fmt, codes), codes & kind(fmt.sign_mask or 0) | kind(code(fmt)), codes)

    return recode


_SPECIALS: Mapping[str, Recode] = {
    "NaN operands taken as infinities": _moved_to(floats.is_nan, lambda fmt: fmt.max_magnitude + 1),
    "NaN operands taken as zero": _moved_to(floats.is_nan, lambda fmt: 0),
    "infinite operands taken as NaN": _moved_to(floats.is_infinite, lambda fmt: fmt.nan_code or 0),
    "infinite operands taken as the largest number": _moved_to(floats.is_infinite, lambda fmt: fmt.max_magnitude),
}

_AS_NUMBERS = (("infinities", True, False), ("NaNs", False, True), ("infinities and NaNs", True, True))


def _as_numbers(infinities: bool, nans: bool, computation: OpComputation, inputs: Chunk) -> Computed | None:
    """Compute rows with codes of the largest exponent field as if it were that of numbers."""
    unit, formats = unit_of(computation), _formats(computation)
    if unit is None or any(fmt is None for fmt in formats):
        return None
    given = [(fmt, codes) for fmt, codes in zip(formats, inputs, strict=False) if fmt is not None]
    tests = [(floats.is_infinite(fmt, codes), floats.is_nan(fmt, codes)) for fmt, codes in given]
    taken = np.logical_or.reduce([infinite & infinities | nan & nans for infinite, nan in tests])
    left = np.logical_or.reduce([infinite & (not infinities) | nan & (not nans) for infinite, nan in tests])
    rows = np.flatnonzero(taken & ~left)
    largest = _moved_to(
        lambda fmt, codes: floats.is_infinite(fmt, codes) & infinities | floats.is_nan(fmt, codes) & nans,
        lambda fmt: fmt.max_magnitude,
    )
    # Beside another special operand, it only counts that this one is a number.
    own = outputs_of(computation, Same(tuple(largest(fmt, codes).astype(codes.dtype) for fmt, codes in given)))
    outputs = [codes.copy() for codes in own.outputs]
    columns = [codes_to_ints(codes[rows], fmt.bits) for fmt, codes in given]
    place = next(k for k, column in enumerate(computation.outputs) if column.role is Role.RESULT)
    for k, codes in zip(rows.tolist(), zip(*columns, strict=True), strict=True):
        numbers = tuple(_number(fmt, code) for (fmt, _), code in zip(given, codes, strict=True))
        made = result_of(unit, numbers)
        if made is not None:
            outputs[place][k] = made.code
            for column, flags in zip(computation.outputs, outputs, strict=True):
                if of_flags(column):
                    flags[k] = made.flags
    return Computed(tuple(outputs), own.undefined)


def _number(fmt: FloatFormat, code: int) -> ExactResult:
    """Return the number that a code would have if its exponent field were not special."""
    kind, sign, significand, exponent = scalar.unpack(fmt, code)
    if kind == scalar.FINITE:
        return ExactResult(sign, significand, exponent)
    negative = int(bool(code & (fmt.sign_mask or 0)))
    significand = 1 << fmt.mantissa_bits | code & fmt.fraction_mask
    return ExactResult(negative, significand, fmt.emax + 1 - fmt.mantissa_bits)


_SIGNS: Mapping[str, Callable[[Mask, Mask], Mask]] = {
    "that of a": lambda a, b: a,
    "that of b": lambda a, b: b,
    "the OR of their operands' signs": lambda a, b: a | b,
    "the AND of their operands' signs": lambda a, b: a & b,
    "always +": lambda a, b: a & ~a,
    "always -": lambda a, b: a | ~a,
    "the opposite one": lambda a, b: ~(a ^ b),
}


_BUT: Mapping[str, tuple[Test, ...]] = {
    "": (floats.is_nan,),
    ", except for infinities": (floats.is_nan, floats.is_infinite),
    ", except for infinities and zeros": (floats.is_nan, floats.is_infinite, floats.is_zero),
}
"""Operands whose rows have the right sign, because a unit finds the results of these elsewhere."""


def _with_sign(
    formats: Sequence[FloatFormat | None],
    sign: Callable[[Mask, Mask], Mask],
    but: Sequence[Test],
    inputs: Chunk,
) -> Chunk:
    """Give the first factor the sign of the product, and the second one none."""
    one, other = formats
    if one is None or other is None:
        return inputs
    a, b, *others = inputs
    negative = sign(signs(one, a), signs(other, b))
    plain = ~np.logical_or.reduce([test(fmt, codes) for test in but for fmt, codes in ((one, a), (other, b))])
    first = magnitudes(one, a) | np.where(negative, a.dtype.type(one.sign_mask or 0), a.dtype.type(0))
    return (np.where(plain, first, a), np.where(plain, magnitudes(other, b), b), *others)


def _kind(computation: OpComputation) -> str:
    unit = unit_of(computation)
    if unit is not None:
        return unit.case.kind
    case = model_case_of(computation.case)
    return "" if case is None else case.kind


# --- results of a class of operands -----------------------------------------------------------------------------------


def fixed_results(computation: OpComputation, sample: Sample) -> Iterator[Cause]:
    """Yield the causes that rows of a class, such as infinity minus infinity, have one fixed code as their result. The
    code is taken from the sample.
    """
    rows = Delivered(computation.inputs, sample.inputs, computation.outputs, sample.expected)
    column = computation.outputs[rows.place]
    if column.width > LIMB_BITS:
        return
    fmt, actual = rows.fmt, sample.actual[rows.place]
    for about, where in _classes(computation).items():
        wrong = where(rows) & sample.differs & (actual != rows.codes)
        code = most_frequent(actual[wrong])
        if code is None or (fmt is not None and bool(floats.is_nan(fmt, np.array([code], actual.dtype))[0])):
            continue
        options: list[tuple[int, str, Sign | None]] = [(code, "", None)]
        if fmt is not None and fmt.signed:
            size = most_frequent(magnitudes(fmt, actual[wrong])) or 0
            known = [one for one in _SIGNS_OF_FIXED.items() if len(_formats(computation)) > 1 or one[1] not in _OF_TWO]
            options += [(size, f" with {told}", sign) for told, sign in known]
        for size, told, sign in options:
            for flagged in (True, False) if any(map(of_flags, computation.outputs)) else (True,):
                name = f"{about} gives {hexadecimal(size, column.width)}{told}{'' if flagged else ', and no flag'}"
                yield _fixed(name, computation, where, size, sign, flagged)


Sign = Callable[[Delivered], Mask]
Where = Callable[[Delivered], Mask]


def _classes(computation: OpComputation) -> dict[str, Where]:
    """Return the classes of operands that a unit must detect, as words and a test."""
    kind = _kind(computation)
    found: dict[str, Where] = {}
    if kind in SUMS:
        found["infinity minus infinity"] = lambda rows: _invalid(rows) & ~_zero_operand(rows)
    if kind in ("multiply", "multiply-add"):
        found["infinity times zero"] = lambda rows: _invalid(rows) & _zero_operand(rows)
    if kind == "divide":
        found["0/0"] = lambda rows: _invalid(rows) & _zero_operand(rows)
        found["infinity divided by infinity"] = lambda rows: _invalid(rows) & ~_zero_operand(rows)
        found["a number divided by zero"] = lambda rows: (
            rows.of_operands(floats.is_zero)[1] & rows.infinite & ~rows.infinite_operand
        )
    if kind == "square root":
        found["the square root of a negative number"] = _invalid
    if kind == "from integer":
        found["0"] = lambda rows: np.asarray(rows.given[0] == 0)
    if kind == "multiply-add":
        found["a product of zero"] = lambda rows: (
            (rows.of_operands(floats.is_zero)[0] | rows.of_operands(floats.is_zero)[1]) & ~rows.nan
        )
    if kind in ("add", "subtract"):
        for k, name in enumerate("ab"):
            found[f"zero as {name}"] = partial(_zero_as, k)
    if kind != "from integer":
        found["a NaN operand"] = lambda rows: rows.nan_operand
        found["an infinite operand"] = lambda rows: rows.infinite_operand & ~rows.nan_operand
        found["a zero operand"] = lambda rows: _zero_operand(rows) & ~rows.nan_operand & ~rows.infinite_operand
    fmt = format_of(computation.outputs[0])
    if fmt is not None and kind in TO_FLOATS and fmt.bits <= LIMB_BITS and fmt.exponent_bits > 1:
        ends = {"largest": fmt.max_magnitude, "smallest normal": fmt.min_normal_magnitude}
        for told, size in ends.items():
            found[f"a result of the {told} exponent"] = partial(_of_field, fmt, size >> fmt.mantissa_bits)
    return found


def _of_field(fmt: FloatFormat, field: int, rows: Delivered) -> Mask:
    size = magnitudes(fmt, rows.codes)
    return np.asarray((size >> size.dtype.type(fmt.mantissa_bits) == field) & (size <= fmt.max_magnitude))


def _zero_as(place: int, rows: Delivered) -> Mask:
    return rows.of_operands(floats.is_zero)[place] & ~rows.nan_operand & ~rows.infinite_operand


def _invalid(rows: Delivered) -> Mask:
    return rows.nan & ~rows.nan_operand


def _zero_operand(rows: Delivered) -> Mask:
    return np.asarray(np.logical_or.reduce(rows.of_operands(floats.is_zero)))


def _of_product(rows: Delivered) -> Mask:
    one, other, *_ = rows.of_operands(signs)
    return one ^ other


_SIGNS_OF_FIXED: Mapping[str, Sign] = {
    "its sign": lambda rows: rows.negative,
    "the sign of the product": _of_product,
    "the sign of a": lambda rows: rows.of_operands(signs)[0],
}
_OF_TWO = (_of_product,)


def _fixed(name: str, computation: OpComputation, where: Where, code: int, sign: Sign | None, flagged: bool) -> Cause:
    def write(columns: Sequence[Column], outputs: Chunk, inputs: Chunk) -> Chunk:
        rows = Delivered(computation.inputs, inputs, columns, outputs)
        kind, bit = rows.codes.dtype.type, 0 if rows.fmt is None else rows.fmt.sign_mask or 0
        made = np.full_like(rows.codes, code)
        if sign is not None:
            made = made | np.where(sign(rows), kind(bit), kind(0))
        applies = where(rows)
        made, flags = np.where(applies, made, rows.codes), rows.flags * (flagged | ~applies)
        return tuple(
            made if k == rows.place else flags.astype(np.uint8) if of_flags(column) else codes
            for k, (column, codes) in enumerate(zip(columns, outputs, strict=True))
        )

    return replace(writing(name, write), stage=Stage.COMPUTATION)


# --- subnormal results ----------------------------------------------------------------------------------------------


def flushed_to_plus(computation: OpComputation) -> Iterator[Cause]:
    """Yield the cause that subnormal results become +0, while other zeros have their signs. A profile says how all
    zeros of flushes are signed, also those that rounding gives.
    """
    unit = unit_of(computation)
    if unit is not None and isinstance(unit.case.target, FloatFormat) and unit.case.target.has_negative_zero:
        yield through("subnormal results taken as +0", _flushed_to_plus)


def _flushed_to_plus(computation: OpComputation, inputs: Chunk) -> Computed:
    own = outputs_of(computation, Same(inputs))
    rows = Delivered(computation.inputs, inputs, computation.outputs, own.outputs)
    raised = np.uint8(Flags.UNDERFLOW | Flags.INEXACT)
    outputs = tuple(
        np.where(rows.subnormal, np.zeros_like(codes) if k == rows.place else codes | raised, codes)
        if k == rows.place or of_flags(column)
        else codes
        for k, (column, codes) in enumerate(zip(computation.outputs, own.outputs, strict=True))
    )
    return Computed(outputs, own.undefined)


# --- comparisons ------------------------------------------------------------------------------------------------------

_DUALS = {
    "arith.maximumf": "arith.minimumf",
    "arith.maxnumf": "arith.minnumf",
}
_DUALS |= {other: op for op, other in _DUALS.items()}


def compared_as_integers(computation: OpComputation) -> Iterator[Cause]:
    """Yield the causes that the codes of floats are compared as integers, signed or unsigned, or that zeros of
    different signs are different.
    """
    formats = _formats(computation)
    if _kind(computation) != "compare" or any(fmt is None or not fmt.signed for fmt in formats):
        return
    for told, both in (("signed", True), ("unsigned", False)):
        yield through(f"codes compared as {told} integers", partial(_as_integers, both))
    smallest = _moved_to(lambda fmt, codes: floats.is_zero(fmt, codes) & signs(fmt, codes), lambda fmt: 1)
    yield _read("-0 taken as less than +0", formats, range(len(formats)), smallest)


def _as_integers(both: bool, computation: OpComputation, inputs: Chunk) -> Computed | None:
    """Reverse the order of negative numbers: where both are negative, or, of unsigned integers, where one is."""
    (a, b), own = inputs[:2], outputs_of(computation, Same(inputs))
    one, other = _formats(computation)[:2]
    if one is None or other is None:
        return None
    low, high = signs(one, a), signs(other, b)
    where = (low & high if both else low | high) & ~(floats.is_nan(one, a) | floats.is_nan(other, b))
    case = computation.case
    if case.op in _DUALS:
        dual = replace(computation, case=op_case(_DUALS[case.op], case.operands, **dict(case.properties)))
        return chosen(where, dual.compute(inputs), own)
    return chosen(where, computation.compute((b, a, *inputs[2:])), own)


# --- flags ------------------------------------------------------------------------------------------------------------


def inexact_of_some_bits(computation: OpComputation) -> Iterator[Cause]:
    """Yield the causes that the flag inexact comes from the guard bit alone, or from the bits after it alone; underflow
    stays, or is raised with inexact alone.
    """
    unit = unit_of(computation)
    if unit is not None and any(map(of_flags, computation.outputs)):
        for told, guard in (("where the guard bit is set", True), ("for the bits after the guard bit", False)):
            for flags, lost in (("inexact", Flags.INEXACT), ("inexact and underflow", Flags.INEXACT | Flags.UNDERFLOW)):
                yield through(f"{flags} raised only {told}", partial(_inexact_of, guard, lost))
        yield through("inexact not raised where overflow cuts no bit", _exact_overflow)


def _inexact_of(guard: bool, lost: Flags, computation: OpComputation, inputs: Chunk) -> Computed | None:
    unit = unit_of(computation)
    place = next((k for k, column in enumerate(computation.outputs) if of_flags(column)), None)
    if unit is None or place is None:
        return None
    own = outputs_of(computation, Same(inputs))
    flags = own.outputs[place].copy()
    inexact = (flags & np.uint8(Flags.INEXACT) != 0) & (flags & np.uint8(Flags.OVERFLOW) == 0)
    exact = rows_of(unit, inputs)
    for k in np.flatnonzero(inexact).tolist():
        row = exact[k]
        if row is None or not row.exact.significand:
            continue
        parts = pieces(unit.case.target, row.exact)
        if not (parts.guard if guard else parts.sticky):
            flags[k] &= np.uint8(0x1F ^ lost)
    return Computed(tuple(flags if k == place else codes for k, codes in enumerate(own.outputs)), own.undefined)


def _exact_overflow(computation: OpComputation, inputs: Chunk) -> Computed | None:
    unit, own = unit_of(computation), outputs_of(computation, Same(inputs))
    place = next(k for k, column in enumerate(computation.outputs) if of_flags(column))
    if unit is None:
        return None
    flags = own.outputs[place].copy()
    exact = rows_of(unit, inputs)
    for k in np.flatnonzero(flags & np.uint8(Flags.OVERFLOW) != 0).tolist():
        row = exact[k]
        if row is not None and not pieces(unit.case.target, row.exact).rest:
            flags[k] &= np.uint8(0x1F ^ Flags.INEXACT)
    return Computed(tuple(flags if k == place else codes for k, codes in enumerate(own.outputs)), own.undefined)
