"""The description of rows that differ and that no cause explains: what their operands and results have in common."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from halfulp.conformance.vectors.columns import Chunk, Column, Role, format_of
from halfulp.conformance.vectors.computation import Computation, OpComputation
from halfulp.conformance.vectors.datapaths import aligned, rows_of, unit_of
from halfulp.conformance.vectors.device import flag_name
from halfulp.conformance.vectors.intermediate import ExactResult, pieces, terms_of
from halfulp.conformance.vectors.sampling import Sample
from halfulp.fp_formats.formats import LIMB_BITS, Codes, FloatFormat, Mask, codes_to_ints
from halfulp.fp_formats.policy import Flags
from halfulp.semantics import floats

MOST = 3
"""Most features of a description."""

FEWER = 0.5
"""A further feature must leave at most this share of the equal rows."""

FEW_CODES = 3
"""So many codes of an operand are listed, if all rows that differ have one of them."""


class Feature(NamedTuple):
    """A test of rows, in words that follow "rows that differ have", and the rows that pass it."""

    words: str
    holds: Mask


def _classes(fmt: FloatFormat, codes: Codes) -> Iterator[tuple[str, Mask]]:
    size = codes & codes.dtype.type(fmt.code_mask >> fmt.signed)
    nan, infinite, zero = (test(fmt, codes) for test in (floats.is_nan, floats.is_infinite, floats.is_zero))
    small = size < fmt.min_normal_magnitude
    yield "NaN", nan
    yield "infinite", infinite
    yield "zero", zero
    yield "subnormal", small & ~zero & ~nan
    normal = ~(small | nan | infinite)
    field = size >> size.dtype.type(fmt.mantissa_bits)
    yield "a number of the smallest exponent", (field == fmt.min_normal_magnitude >> fmt.mantissa_bits) & normal
    yield "a number of the largest exponent", (field == fmt.max_magnitude >> fmt.mantissa_bits) & normal
    yield "a power of two", (size & size.dtype.type(fmt.fraction_mask) == 0) & normal


def _normalized_fraction(fmt: FloatFormat, codes: Codes) -> Codes:
    """Return the fractions of numbers, also of subnormals after their leading bit."""
    kind = codes.dtype.type
    made = codes & kind(fmt.fraction_mask)
    small = codes & kind(fmt.code_mask >> fmt.signed) < kind(fmt.min_normal_magnitude)
    for _ in range(fmt.mantissa_bits):
        made = np.where(small & (made >> kind(fmt.mantissa_bits) == 0), made << kind(1), made)
    found: Codes = made & kind(fmt.fraction_mask)
    return found


def _floats(columns: Sequence[Column], chunk: Chunk, role: Role) -> list[tuple[Column, FloatFormat, Codes]]:
    found = []
    for column, codes in zip(columns, chunk, strict=False):
        fmt = format_of(column) if column.role is role else None
        if fmt is not None and fmt.bits <= LIMB_BITS:
            found.append((column, fmt, codes))
    return found


def features(computation: Computation, sample: Sample) -> Iterator[Feature]:
    """Yield the features that rows of a computation can have."""
    operands = _floats(computation.inputs, sample.inputs, Role.OPERAND)
    by_class: dict[str, list[Mask]] = {}
    for column, fmt, codes in operands:
        for told, mask in _classes(fmt, codes):
            by_class.setdefault(told, []).append(mask)
            if len(operands) <= FEW_CODES:
                yield Feature(f"{column.name} {told}", mask)
                yield Feature(f"{column.name} not {told}", ~mask)
        if len(operands) <= FEW_CODES and fmt.mantissa_bits > 1:
            fields = {"fraction": codes & codes.dtype.type(fmt.fraction_mask)}
            for about, field in (fields | {"normalized fraction": _normalized_fraction(fmt, codes)}).items():
                low, high = int(field[sample.differs].min()), int(field[sample.differs].max())
                told = f"a {about} of {column.name} from {low:#X} to {high:#X}".replace("0X", "0x")
                yield Feature(told, (field >= low) & (field <= high))
        if fmt.signed and len(operands) <= FEW_CODES:
            negative: Mask = codes & codes.dtype.type(fmt.sign_mask or 0) != 0
            yield Feature(f"{column.name} negative", negative)
            yield Feature(f"{column.name} positive", ~negative)
    for told, masks in by_class.items() if len(operands) > 1 else ():
        counted = np.sum(masks, axis=0)
        yield Feature(f"an operand {told}", counted > 0)
        yield Feature(f"exactly one operand {told}", counted == 1)
        yield Feature(f"no operand {told}", counted == 0)
    yield from _scale_codes(computation, sample)
    yield from _exponents(computation, sample)
    for column, fmt, codes in _floats(computation.outputs, sample.expected, Role.RESULT)[:1]:
        for told, mask in _classes(fmt, codes):
            yield Feature(f"{column.name} {told}", mask)
    for column, codes in zip(computation.outputs, sample.expected, strict=True):
        for flag in Flags if column.role is Role.FLAGS else ():
            raised = codes & np.uint8(flag) != 0
            yield Feature(f"the flag {flag_name(flag)} expected", raised)
            yield Feature(f"the flag {flag_name(flag)} not expected", ~raised)


def _scale_codes(computation: Computation, sample: Sample) -> Iterator[Feature]:
    """Yield operands, or scales together, that have one of few codes in all rows that differ."""
    groups: dict[str, list[Codes]] = {}
    for column, codes in zip(computation.inputs, sample.inputs, strict=False):
        if column.width <= LIMB_BITS:
            groups.setdefault("a scale" if column.name.startswith("scale") else column.name, []).append(codes)
    if len(groups) > FEW_CODES + 1:
        groups = {name: columns for name, columns in groups.items() if name == "a scale"}
    for name, columns in groups.items():
        chosen: list[int] = []
        left = sample.differs.copy()
        while left.any() and len(chosen) < FEW_CODES:
            found, counts = np.unique(np.concatenate([codes[left] for codes in columns]), return_counts=True)
            best = int(found[counts.argmax()])
            chosen.append(best)
            left &= ~np.any([codes == best for codes in columns], axis=0)
        if not left.any():
            told = " or ".join(f"{code:#X}".replace("0X", "0x") for code in sorted(chosen))
            yield Feature(f"{name} {told}", np.any([np.isin(codes, chosen) for codes in columns], axis=0))


def _exponents(computation: Computation, sample: Sample) -> Iterator[Feature]:
    """Yield differences of the exponents of the two terms of a sum: the one, the least and the most of all rows that
    differ; and whether magnitudes are subtracted.
    """
    unit = unit_of(computation) if isinstance(computation, OpComputation) else None
    if unit is None or unit.case.kind not in ("add", "subtract", "multiply-add"):
        return
    shifts, opposite = np.full(len(sample.differs), -1, np.int64), np.zeros(len(sample.differs), np.bool_)
    for k in np.argsort(~sample.differs, kind="stable").tolist():
        (row,) = rows_of(unit, tuple(codes[k : k + 1] for codes in sample.inputs))
        terms = None if row is None else terms_of(unit.case, row.operands)
        found = None if terms is None else aligned(unit, terms)
        if terms is not None and found is not None:
            shifts[k], opposite[k] = found.shift, terms[0].sign != terms[1].sign
        elif sample.differs[k]:
            return  # a row without two terms differs: the terms tell nothing of all
    own = shifts[sample.differs]
    low, high = int(own.min()), int(own.max())
    yield Feature(f"exponents that differ by {low}", shifts == low)
    yield Feature(f"exponents that differ by {low} or more", shifts >= low)
    yield Feature(f"exponents that differ by {high} or less", (shifts <= high) & (shifts >= 0))
    yield Feature("terms of opposite signs", opposite)
    yield Feature("terms of one sign", ~opposite & (shifts >= 0))


def describe(computation: Computation, sample: Sample) -> list[str]:
    """Return texts about a sample: the features that its differing rows have in common, and the smallest of these rows
    with its steps.
    """
    wrong, equal = sample.differs, sample.control
    known = list(features(computation, sample))
    chosen: list[Feature] = []
    left = equal.copy()
    everywhere = [each for each in known if not (wrong & ~each.holds).any()]
    while everywhere and len(chosen) < MOST and left.any():
        best = min(everywhere, key=lambda each: int((left & each.holds).sum()))
        remaining = left & best.holds
        if remaining.sum() > FEWER * left.sum():
            break
        chosen.append(best)
        left = remaining
    lines = []
    count, of = int(wrong.sum()), int(equal.sum())
    if chosen:
        words = ", ".join(each.words for each in chosen)
        alike = f"so have {int(left.sum()):,} of {of:,} equal rows"
        lines.append(f"all {count:,} rows tried that differ have {words}; {alike}")
    elif known:
        # Nothing is common to all: what tells most of them from equal rows.
        best = max(known, key=lambda each: _share(each.holds, wrong) - _share(each.holds, equal))
        having = int((best.holds & wrong).sum())
        share = f"all {count:,}" if having == count else f"{having:,} of the {count:,}"
        lines.append(
            f"{share} rows tried that differ have {best.words}; so have "
            f"{int((best.holds & equal).sum()):,} of {of:,} equal rows"
        )
    return [*lines, *_smallest(computation, sample)]


def _share(mask: Mask, of: Mask) -> float:
    return int((mask & of).sum()) / max(int(of.sum()), 1)


def _smallest(computation: Computation, sample: Sample) -> Iterator[str]:
    """Yield the row that differs whose operands have the fewest bits set, with the steps of the right unit."""
    places = np.flatnonzero(sample.differs)
    if not len(places) or not isinstance(computation, OpComputation):
        return
    pairs = zip(computation.inputs, sample.inputs, strict=False)
    columns = [codes_to_ints(codes[places], column.width) for column, codes in pairs]
    sizes = [sum(code.bit_count() for code in row) for row in zip(*columns, strict=True)]
    k = int(places[int(np.argmin(sizes))])

    def spelled(about: Sequence[Column], chunk: Chunk) -> str:
        told = []
        for column, array in zip(about, chunk, strict=False):
            (code,) = codes_to_ints(array[k : k + 1], column.width)
            told.append(f"{column.name} 0x{code:0{-(-column.width // 4)}X}")
        return ", ".join(told)

    yield f"the smallest: row {int(sample.numbers[k]):,}, {spelled(computation.inputs, sample.inputs)}"
    unit = unit_of(computation)
    (row,) = rows_of(unit, tuple(codes[k : k + 1] for codes in sample.inputs)) if unit is not None else (None,)
    if unit is not None and row is not None:
        terms = terms_of(unit.case, row.operands) or ()
        if len(terms) > 1:
            yield f"  terms: {' and '.join(map(_written, terms))}"
        parts = pieces(unit.case.target, row.exact)
        bits = f"guard {parts.guard}, sticky {parts.sticky}"
        yield f"  exact: {_written(row.exact)}, kept {parts.kept:#x} * 2^{parts.lowest}, {bits}"
    right, given = (spelled(computation.outputs, chunk) for chunk in (sample.expected, sample.actual))
    yield f"  right: {right}; given: {given}"


def _written(number: ExactResult) -> str:
    return f"{'-' if number.sign else '+'}{number.significand:#x} * 2^{number.exponent}"
