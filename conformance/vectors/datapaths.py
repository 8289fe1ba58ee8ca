"""Faults inside of a datapath, as a table. From a fault follow the results of a unit whose numbers are wrong before
they are rounded.

A unit reads its operands as exact numbers, makes terms of them (a product, an addend), adds the terms, and rounds the
sum once. A `Fault` changes the numbers at one of these places. If the change has no effect, the unit gives the right
result. So each row confirms a fault, refutes it, or says nothing about it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from enum import IntEnum
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from halfulp.conformance.vectors.columns import Chunk, Role, by_row
from halfulp.conformance.vectors.computation import Computed, OpComputation
from halfulp.conformance.vectors.intermediate import (
    ExactResult,
    Integer,
    ModelCase,
    Numeric,
    exact_sum,
    model_case_of,
    operand,
    pieces,
    terms_of,
)
from halfulp.conformance.vectors.sampling import Sample
from halfulp.fp_formats import scalar
from halfulp.fp_formats.formats import FloatFormat, codes_to_ints, ints_to_codes
from halfulp.fp_formats.policy import Flags, FloatPolicy, Rounding, as_rounding

Numbers = tuple[ExactResult, ...]


class Unit(NamedTuple):
    """What a fault must know about a unit: its case, its rounding mode and its policy."""

    case: ModelCase
    rounding: Rounding
    policy: FloatPolicy
    #: Whether overflow gives the largest finite value.
    saturates: bool

    @property
    def precision(self) -> int:
        """The number of bits of a significand of the result; for integers, of the operand."""
        target = self.case.target
        return (self.case.float_source if isinstance(target, Integer) else target).precision


class Place(IntEnum):
    """The place of a fault in a unit."""

    OPERANDS = 0
    TERMS = 1
    SUM = 2


Edit = Callable[[Unit, Numbers, Any], Numbers]
Values = Callable[[Unit, Sample], Iterable[tuple[Any, Sequence[object]]]]
"""The values of the parameter of a fault, each with the words that its name says of it. A sample of rows may tell."""


@dataclass(frozen=True)
class Fault:
    """A row of the table of faults.

    ``name``: with ``{}`` for the text of the parameter. ``place``: the numbers that it changes. ``edit``: the change.
    The sum is one number. ``kinds``: the kinds of a `ModelCase` that can have it. ``values``: those of its parameter.
    ``inexact``: True if the result counts as inexact when the fault changes a number. ``carries``: True if it changes
    only sums whose leading bit is above those of the terms.
    """

    name: str
    place: Place
    kinds: frozenset[str]
    edit: Edit
    values: Values = lambda unit, sample: [(None, ())]
    inexact: bool = False
    carries: bool = False


class Planted(NamedTuple):
    """A fault with a value of its parameter."""

    fault: Fault
    value: Any


# --- rows -------------------------------------------------------------------------------------------------------------

_KINDS = {
    "fcvt": "convert",
    "fcvt_to_si": "to integer",
    "fcvt_to_ui": "to integer",
    "fcvt_from_si": "from integer",
    "fcvt_from_ui": "from integer",
    "math.sqrt": "square root",
    "fsqrt": "square root",
}
"""Ops whose kind here is not that of `model_case_of`."""


@lru_cache(maxsize=64)
def unit_of(computation: OpComputation) -> Unit | None:
    """Return the unit of an op; None if its steps are not known."""
    own, profile = computation.case, computation.profile
    case = model_case_of(own)
    if case is None or computation.random_bits is not None:
        return None
    kind = _KINDS.get(own.op, case.kind)

    def seen(type_: Numeric) -> Numeric:
        return Integer(type_.width, False) if isinstance(type_, Integer) and own.op.endswith("_ui") else type_

    case = replace(case, kind=kind, sources=tuple(map(seen, case.sources)), target=seen(case.target))
    if kind not in ROUNDED:
        return None
    converts = kind in ("convert", "from integer", "to integer")
    policy = profile.conversions if converts else profile.arithmetic
    given = dict(own.properties).get("rounding", dict(own.properties).get("roundingmode"))
    if given is None and kind == "to integer":
        given = profile.to_integer_rounding if own.op.startswith("arith.") else None
    saturates = False
    if isinstance(case.target, FloatFormat):
        rule = policy.conversion_saturation if converts else policy.arithmetic_saturation
        saturates = rule(case.target).numbers
    return Unit(case, as_rounding(given or Rounding.TO_NEAREST_EVEN), policy, saturates)


class _Row(NamedTuple):
    operands: Numbers
    terms: Numbers
    exact: ExactResult


class Same:
    """Inputs that can be keys of a cache: two objects are equal if all bits of the inputs are equal."""

    def __init__(self, inputs: Chunk) -> None:
        self.inputs = inputs
        self._key = tuple(codes.tobytes() for codes in inputs)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Same) and self._key == other._key

    def __hash__(self) -> int:
        return hash(self._key)


@lru_cache(maxsize=16)
def outputs_of(computation: Any, inputs: Same) -> Computed:
    """Return the outputs of a computation, and keep them, because most causes only change these outputs."""
    made: Computed = computation.compute(inputs.inputs)
    return made


@lru_cache(maxsize=8)
def _rows(case: ModelCase, inputs: Same) -> list[_Row | None]:
    columns = (codes_to_ints(codes, fmt.bits) for codes, fmt in zip(inputs.inputs, case.sources, strict=True))
    return [_row(case, codes) for codes in zip(*columns, strict=True)]


def _row(case: ModelCase, codes: tuple[int, ...]) -> _Row | None:
    read = (operand(source, code) for source, code in zip(case.sources, codes, strict=True))
    numbers = tuple(number for number in read if number is not None)
    terms = terms_of(case, numbers) if len(numbers) == len(codes) else None
    return None if terms is None else _Row(numbers, terms, exact_sum(terms))


def rows_of(unit: Unit, inputs: Chunk) -> list[_Row | None]:
    """Return the operands and the exact result of each row; None if there is none."""
    return _rows(unit.case, Same(inputs[: len(unit.case.sources)]))


def computed(computation: OpComputation, faults: Sequence[Planted], inputs: Chunk) -> Computed | None:
    """Return the outputs of a computation with some faults; None if the faults do not apply."""
    unit = unit_of(computation)
    roles = [column.role for column in computation.outputs]
    if unit is None or roles[0] is not Role.RESULT or any(unit.case.kind not in each.fault.kinds for each in faults):
        return None
    own = outputs_of(computation, Same(inputs))
    at = [[each for each in faults if each.fault.place is place] for place in Place]
    rows: list[int] = []
    made: list[scalar.Result] = []
    for k, row in enumerate(rows_of(unit, inputs)):
        if row is not None:
            result = _with_faults(unit, row, at)
            if result is not None:
                rows.append(k)
                made.append(result)
    if not rows:
        return own
    outputs = [codes.copy() for codes in own.outputs]
    width = computation.outputs[0].width
    changed = ints_to_codes([result.code for result in made], width, (len(rows),))
    if Role.FLAGS in roles:
        # What is tiny is found beside the rounding of a sum: where that gives the same code, it is as it was.
        place = roles.index(Role.FLAGS)
        right, flags = own.outputs[place][rows], np.array([result.flags for result in made], np.uint8)
        same = (len(at[Place.SUM]) == len(faults)) & ~by_row(changed != outputs[0][rows]) & (flags & Flags.INEXACT != 0)
        outputs[place][rows] = np.where(same, right, flags)
    outputs[0][rows] = changed
    return Computed(tuple(outputs), own.undefined)


def _with_faults(unit: Unit, row: _Row, at: Sequence[Sequence[Planted]]) -> scalar.Result | None:
    """Return what a unit gives for a row if its faults change a number."""
    numbers = row.operands
    for fault, value in at[Place.OPERANDS]:
        numbers = fault.edit(unit, numbers, value)
    terms: Numbers | None = row.terms if numbers is row.operands else terms_of(unit.case, numbers)
    if terms is None:
        return None
    for fault, value in at[Place.TERMS]:
        terms = fault.edit(unit, terms, value)
    changed = terms != row.terms
    total = exact_sum(terms) if changed else row.exact
    for fault, value in at[Place.SUM]:
        (total,) = fault.edit(unit, (total,), value)
    if total == row.exact and not (changed and not total.significand):  # of a zero, the terms tell the sign
        return None
    if not total.significand and changed and len(terms) > 1:
        signs = {term.sign for term in terms}
        total = total._replace(sign=signs.pop() if len(signs) == 1 else int(unit.rounding == Rounding.DOWNWARD))
    made = _packed(unit, total)
    inexact = any(each.fault.inexact for faults in at for each in faults)
    return made._replace(flags=made.flags | Flags.INEXACT) if inexact and made is not None else made


def _packed(unit: Unit, number: ExactResult) -> scalar.Result | None:
    """Round a number to a code; None if the result is no code, or out of range of an integer."""
    target = unit.case.target
    if isinstance(target, Integer):
        kept, inexact = scalar.round_to_integer(number.sign, number.significand, -number.exponent, unit.rounding, None)
        kept = -kept if number.sign else kept
        fits = target.lowest <= kept <= target.highest
        return scalar.Result(kept & (1 << target.width) - 1, Flags.INEXACT * inexact) if fits else None
    made = scalar.round_pack(target, *number, unit.rounding, unit.policy, None, unit.saturates)
    return None if made.poison else made


# --- edits ------------------------------------------------------------------------------------------------------------


def _each(edit: Callable[[FloatFormat, ExactResult], ExactResult]) -> Edit:
    """Return the edit of all operands, or of the one whose place is the value."""

    def edited(unit: Unit, numbers: Numbers, which: int | None) -> Numbers:
        made = tuple(
            edit(fmt, number) if which in (None, k) and isinstance(fmt, FloatFormat) and fmt.zero else number
            for k, (fmt, number) in enumerate(zip(unit.case.sources, numbers, strict=True))
        )
        return numbers if made == numbers else made

    return edited


def _which(unit: Unit, sample: Sample | None = None) -> Iterator[tuple[int | None, tuple[str]]]:
    if len(unit.case.sources) > 1:
        yield None, ("",)
    yield from ((k, (f" of {'abc'[k]}" if len(unit.case.sources) > 1 else "",)) for k in range(len(unit.case.sources)))


def _subnormal(fmt: FloatFormat, number: ExactResult) -> bool:
    return number.significand >> fmt.mantissa_bits == 0


def _implicit(kinds: tuple[bool, bool], lower: int) -> Edit:
    """Put the leading bit before fractions of exponent field 0, of zeros and of subnormals. ``lower``: 1 if the
    exponent is that of field 0, not that of field 1.
    """

    def edit(fmt: FloatFormat, number: ExactResult) -> ExactResult:
        if not _subnormal(fmt, number) or not kinds[number.significand > 0]:
            return number
        lowest = fmt.emin - fmt.mantissa_bits - lower
        return ExactResult(number.sign, number.significand | 1 << fmt.mantissa_bits, lowest)

    return _each(edit)


def _scaled(unit: Unit, numbers: Numbers, value: tuple[int, int]) -> Numbers:
    which, power = value
    return tuple(
        number._replace(exponent=number.exponent + power) if k == which and number.significand else number
        for k, number in enumerate(numbers)
    )


FARTHEST_POWERS = (1, -1, 2, -2)
"""The powers of two that are tried where the sample shows none."""


def powers_of(target: Numeric, sample: Sample, columns: int = 1) -> list[int]:
    """Return exponents of powers of two by which results of the device differ from the right ones: the most frequent
    exponents first, then the nearest others.
    """
    found: Counter[int] = Counter()
    for own, expected in list(zip(sample.actual, sample.expected, strict=True))[:columns]:
        wrong = sample.differs & (own != expected)
        pairs = [
            [operand(target, code) for code in codes_to_ints(codes[wrong][: 512 // columns], target.bits)]
            for codes in (own, expected)
        ]
        for got, right in zip(*pairs, strict=True):
            if got and right and got.significand and right.significand:
                power = got.lead - right.lead
                one, other = (number.significand << 4096 - number.significand.bit_length() for number in (got, right))
                if one == other and power:
                    found[power] += 1
    return list(dict.fromkeys([*(power for power, _ in found.most_common(3)), *FARTHEST_POWERS]))


def bias_off(power: int) -> str:
    """Return by how much a bias is wrong that makes the numbers read with it 2^power times as large."""
    return f"a bias {abs(power)} too {'small' if power > 0 else 'large'}"


_BIASES_OF_RESULTS = {
    "add": "a and b read with {}, or the result written with {other}",
    "subtract": "a and b read with {}, or the result written with {other}",
    "multiply": "a or b read with {}, or the result written with {other}",
    "divide": "a read with {}, b read with {other}, or the result written with {other}",
    "square root": "a read with {twice}, or the result written with {other}",
    "convert": "a read with {}, or the result written with {other}",
    "multiply-add": "c and one of a and b read with {}, or the result written with {other}",
    "from integer": "the result written with {other}",
}
"""Whose bias multiplies the exact result of an op by a power of two: no row tells the biases of one text apart."""


def _powers_of_operands(unit: Unit, sample: Sample) -> Iterator[tuple[tuple[int, int], tuple[str, str]]]:
    """Yield powers of operands that are not those of the result; of a multiply-add, those of the addend, because those
    of a factor are the product's.
    """
    for power in powers_of(unit.case.target, sample):
        for k in range(len(unit.case.sources)):
            if k == 2 if unit.case.kind in _FUSED else power % 2 or unit.case.kind != "square root":
                yield (k, power), ("abc"[k], f"{power} (read with {bias_off(power)})")


def _powers_of_products(unit: Unit, sample: Sample) -> Iterator[tuple[tuple[int, int], tuple[str]]]:
    for power in powers_of(unit.case.target, sample):
        yield (0, power), (f"{power} (a or b read with {bias_off(power)}; no row tells which)",)


def _powers_of_results(unit: Unit, sample: Sample) -> Iterator[tuple[tuple[int, int], tuple[str]]]:
    told = _BIASES_OF_RESULTS[unit.case.kind]
    for power in powers_of(unit.case.target, sample):
        whose = told.format(bias_off(power), other=bias_off(-power), twice=bias_off(2 * power))
        yield (0, power), (f"{power} ({whose}{'; no row tells which' if ' or ' in whose else ''})",)


def _rounded_product(unit: Unit, terms: Numbers, mode: Rounding | None) -> Numbers:
    fmt = unit.case.target
    assert isinstance(fmt, FloatFormat)
    product, addend = terms
    made = scalar.round_pack(fmt, *product, unit.rounding if mode is None else mode, unit.policy)
    kind, sign, significand, exponent = scalar.unpack(fmt, made.code)
    return (ExactResult(sign, significand, exponent), addend) if kind == scalar.FINITE else terms


FEWER, MORE = 6, 4
"""The accumulators that are tried: from so many bits below the precision of the format to so many above it."""


def _cut(unit: Unit, terms: Numbers, bits: int) -> Numbers:
    """Cut each term toward zero to the bits of the largest one."""
    leads = [term.lead for term in terms if term.significand]
    lowest = max(leads, default=0) - bits + 1
    return tuple(_without(term, lowest, lowest - term.exponent) for term in terms)


def _without(number: ExactResult, end: int, count: int) -> ExactResult:
    """Clear ``count`` bits of a number, those below 2**end."""
    begin, stop = max(end - count - number.exponent, 0), end - number.exponent
    if count <= 0 or stop <= begin:
        return number
    return number._replace(significand=number.significand & ~((1 << stop) - (1 << begin)))


def _accumulators(unit: Unit, sample: Sample) -> Iterator[tuple[int, tuple[object, ...]]]:
    for bits in range(max(1, unit.precision - FEWER), unit.precision + MORE + 1):
        yield bits, (bits, "s"[: bits > 1])


class _Aligned(NamedTuple):
    """The smaller of two terms: its place, by how much it is shifted right, and the exponent of the last place."""

    place: int
    shift: int
    lowest: int


@lru_cache(maxsize=1 << 12)
def _alignment(one: ExactResult, other: ExactResult, widths: tuple[int, ...], precision: int) -> _Aligned:
    place, shift = 0, one.exponent + widths[0] - other.exponent - widths[1]
    if shift:
        place = int(shift > 0)
    else:
        low = min(one.exponent, other.exponent)
        place = int(other.significand << other.exponent - low <= one.significand << one.exponent - low)
    highest = max(one.exponent + widths[0], other.exponent + widths[1])
    return _Aligned(place, abs(shift), highest - (precision - 1))


def aligned(unit: Unit, terms: Numbers) -> _Aligned | None:
    """Return the terms of a sum aligned by their exponent fields, as hardware does it; None for a zero."""
    one, other = terms
    if not one.significand or not other.significand:
        return None
    return _alignment(one, other, unit.case.fractions, unit.precision)


def _aligning(edit: Callable[[ExactResult, _Aligned, Any], ExactResult]) -> Edit:
    """Return the edit of the smaller term."""

    def edited(unit: Unit, terms: Numbers, value: Any) -> Numbers:
        found = aligned(unit, terms)
        if found is None:
            return terms
        made = list(terms)
        made[found.place] = edit(made[found.place], found, value)
        return tuple(made)

    return edited


def _moved(term: ExactResult, places: int) -> ExactResult:
    return term._replace(exponent=term.exponent + places)


def _dropped_bit(term: ExactResult, aligned: _Aligned, value: tuple[int, int | None]) -> ExactResult:
    place, shift = value
    return term if shift not in (None, aligned.shift) else _without(term, aligned.lowest - place + 1, 1)


_BITS = ("guard", "round", "third")


def _dropped_bits(unit: Unit, sample: Sample) -> Iterator[tuple[tuple[int, int | None], tuple[str, str]]]:
    """Always, and at the shift that all rows have that differ, if there is one."""
    shifts: Counter[int] = Counter()
    for row in rows_of(unit, tuple(codes[sample.differs & sample.values][:64] for codes in sample.inputs)):
        found = None if row is None else aligned(unit, terms_of(unit.case, row.operands) or ())
        if found is not None:
            shifts[found.shift] += 1
    for place, name in enumerate(_BITS, 1):
        yield (place, None), (name, "")
        for shift, count in shifts.most_common(2):
            if 2 * count > shifts.total():
                yield (place, shift), (name, f" where exponents differ by {shift}")


def _shifts(unit: Unit, sample: Sample) -> Iterator[tuple[int, tuple[int]]]:
    most = 2 * unit.precision + 4 if unit.case.kind == "multiply-add" else unit.precision + 4
    return ((places, (places,)) for places in range(1, most + 1))


def _shift_widths(unit: Unit, sample: Sample) -> Iterator[tuple[int, tuple[int]]]:
    return ((bits, (bits,)) for bits in range(2, (2 * unit.precision).bit_length() + 1))


def _below(clears: Callable[[int, int], tuple[int, int]]) -> Edit:
    """Return the edit that clears bits of the sum after the guard bit. ``clears``: of the number of these bits and the
    value, the bits that stay first, and those that are cleared then.
    """

    def edited(unit: Unit, total: Numbers, value: int) -> Numbers:
        (number,) = total
        if not number.significand:
            return total
        parts = pieces(unit.case.target, number)
        if parts.shift < 1:
            return total
        kept, count = clears(parts.shift - 1, value)
        return (_without(number, parts.lowest - 1 - kept, count),)

    return edited


def _guard(unit: Unit, total: Numbers, value: None) -> Numbers:
    (number,) = total
    if not number.significand:
        return total
    parts = pieces(unit.case.target, number)
    return (_without(number, parts.lowest, 1),) if parts.shift else total


def _sticky_bits(unit: Unit, sample: Sample) -> Iterator[tuple[int, tuple[object, ...]]]:
    most = unit.precision if unit.case.kind in ("divide", "square root") else unit.case.extra
    if unit.case.kind in SUMS:
        most = unit.precision + 2
    for bits in range(1, max(min(most, 64), 3)):
        yield bits, (f"bit{'s'[: bits > 1]}" if bits == 1 else f"{bits} bits",)


def _gaps_of_sticky_bits(unit: Unit, sample: Sample) -> Iterator[tuple[int, tuple[object, ...]]]:
    return ((bits, (bits, "s"[: bits > 1])) for bits in range(1, unit.precision))


def _summed(edit: Callable[[Unit, ExactResult, int, Any], ExactResult]) -> Edit:
    """Return the edit of the sum of the terms, or of a product: it is told where the leading bit of the largest term
    is, if neither carries nor cancels.
    """

    def edited(unit: Unit, terms: Numbers, value: Any) -> Numbers:
        places = [
            term.exponent + width for term, width in zip(terms, unit.case.fractions, strict=True) if term.significand
        ]
        total = exact_sum(terms)
        if not places or not total.significand:
            return terms
        made = edit(unit, total, max(places), value)
        return terms if made == total else (made,)

    return edited


def _with_bit(number: ExactResult, exponent: int) -> ExactResult:
    """Return a number with the bit 2**exponent, which is above its last one, set."""
    return number._replace(significand=number.significand | 1 << exponent - number.exponent)


def _sticky_before_shift(unit: Unit, total: ExactResult, lead: int, value: None) -> ExactResult:
    parts = pieces(unit.case.target, total)
    return _without(total, parts.lowest - 1, 1) if total.lead > lead and parts.shift > 1 else total


def _sticky_anded(unit: Unit, total: ExactResult, lead: int, value: None) -> ExactResult:
    """Lose the bits after the round bit where the carry shifts them out, but for the first of them beside a later
    one.
    """
    end = lead - unit.precision
    low = total.significand & (1 << max(end - total.exponent, 0)) - 1
    if total.lead <= lead or not low:
        return total
    first = 1 << end - total.exponent - 1
    return total if low > first else _without(total, end, end - total.exponent)


def _one_too_high(unit: Unit, total: ExactResult, lead: int, most: int | None) -> ExactResult:
    """Leave the leading one, which the implicit bit hides, as the first bit of the fraction."""
    emin = unit.case.float_source.emin
    cancels = total.lead < lead if most is None else lead - most <= total.lead < lead
    return _with_bit(total, total.lead + 1) if cancels and total.lead >= emin else total


def _leading_zeros_off(unit: Unit, total: ExactResult, lead: int, power: int) -> ExactResult:
    return _moved(total, power) if total.lead < lead and total.lead >= unit.case.float_source.emin else total


def _carry_not_shifted(unit: Unit, total: ExactResult, lead: int, value: None) -> ExactResult:
    """Lose the carry, which the implicit bit of the place below hides."""
    if total.lead <= lead:
        return total
    rest = total.significand & ~(1 << total.lead - total.exponent)
    return _with_bit(total._replace(significand=rest), lead)


def _carry_not_counted(unit: Unit, total: ExactResult, lead: int, value: None) -> ExactResult:
    return _moved(total, -1) if total.lead > lead else total


def _sign_of(unit: Unit, terms: Numbers, value: tuple[int, bool]) -> Numbers:
    """Give a difference the sign of one term, always or where the exponents are equal."""
    place, equal = value
    found = aligned(unit, terms)
    if found is None or terms[0].sign == terms[1].sign or (equal and found.shift):
        return terms
    total = exact_sum(terms)
    return terms if total.sign == terms[place].sign else (total._replace(sign=terms[place].sign),)


def _signs_of_terms(unit: Unit, sample: Sample) -> Iterator[tuple[tuple[int, bool], tuple[str, str]]]:
    names = ("the product", "the addend") if unit.case.kind == "multiply-add" else ("a", "b")
    for place, name in enumerate(names):
        for equal in (False, True):
            yield (place, equal), (name, " where exponents are equal" if equal else "")


def _negated(unit: Unit, terms: Numbers, place: int) -> Numbers:
    return tuple(term._replace(sign=term.sign ^ (k == place)) for k, term in enumerate(terms))


def _magnitudes_added(unit: Unit, terms: Numbers, value: None) -> Numbers:
    found = aligned(unit, terms)
    if found is None or terms[0].sign == terms[1].sign:
        return terms
    return _negated(unit, terms, found.place)


def _cut_product(unit: Unit, terms: Numbers, bits: int) -> Numbers:
    product, addend = terms
    end = product.lead - bits + 1
    return (_without(product, end, end - product.exponent), addend) if product.significand else terms


def _bits_of_products(unit: Unit, sample: Sample) -> Iterator[tuple[int, tuple[object, ...]]]:
    return ((bits, (bits,)) for bits in range(max(2, unit.precision - 2), 2 * unit.precision))


_TIES: dict[str, Callable[[int, int], bool]] = {
    "toward zero": lambda sign, odd: False,
    "upward": lambda sign, odd: not sign,
    "downward": lambda sign, odd: bool(sign),
    "to odd": lambda sign, odd: not odd,
}


def _ties(unit: Unit, total: Numbers, way: str) -> Numbers:
    """Move ties off the middle."""
    (number,) = total
    if not number.significand:
        return total
    parts = pieces(unit.case.target, number)
    if not parts.shift or parts.rest != 1 << parts.shift - 1:
        return total
    away = 1 if _TIES[way](number.sign, parts.kept & 1) else -1
    return (ExactResult(number.sign, (number.significand << 2) + away, number.exponent - 2),)


def _ways_of_ties(unit: Unit, sample: Sample) -> Iterator[tuple[str, tuple[str]]]:
    if unit.rounding in (Rounding.TO_NEAREST_EVEN, Rounding.TO_NEAREST_AWAY):
        yield from ((way, (way,)) for way in _TIES)


def _subnormal_results(edit: Callable[[FloatFormat, ExactResult, Any], ExactResult]) -> Edit:
    """Return the edit of a number below the normal ones."""

    def edited(unit: Unit, total: Numbers, value: Any) -> Numbers:
        (number,), fmt = total, unit.case.target
        tiny = isinstance(fmt, FloatFormat) and fmt.zero and number.significand and number.lead < fmt.emin
        return (edit(fmt, number, value),) if tiny and isinstance(fmt, FloatFormat) else total

    return edited


def _not_shifted(fmt: FloatFormat, number: ExactResult, value: None) -> ExactResult:
    """Put the fraction of a normalized number beside the exponent field 0."""
    fraction = number.significand & ~(1 << number.lead - number.exponent)
    return ExactResult(number.sign, fraction, number.exponent + fmt.emin - number.lead)


def _one_off(unit: Unit, sample: Sample) -> Iterator[tuple[int, tuple[int]]]:
    return ((power, (power,)) for power in (1, -1))


# --- the table --------------------------------------------------------------------------------------------------------

SUMS = frozenset({"add", "subtract", "multiply-add"})
PRODUCTS = frozenset({"multiply"})
ROUNDED = SUMS | PRODUCTS | {"divide", "square root", "convert", "from integer", "to integer"}
FLOATS = ROUNDED - {"from integer"}
_FUSED = frozenset({"multiply-add"})
_TWO_TERMS = SUMS - _FUSED
_TO_FLOATS = ROUNDED - {"to integer"}

_READ_WITH_A_BIT = {"subnormals": (False, True), "zeros": (True, False), "zeros and subnormals": (True, True)}

FAULTS: tuple[Fault, ...] = (
    Fault(
        "subnormals{} taken as zero", Place.OPERANDS, FLOATS,
        _each(lambda fmt, number: number._replace(significand=0) if _subnormal(fmt, number) else number), _which,
    ),
    *(
        Fault(f"{what}{{}} with the implicit bit{exponent}", Place.OPERANDS, FLOATS, _implicit(kinds, lower), _which)
        for what, kinds in _READ_WITH_A_BIT.items()
        for exponent, lower in (("", 0), (" and the exponent of field 0", 1))
    ),
    Fault(
        "subnormals{} with the exponent of field 0", Place.OPERANDS, FLOATS,
        _each(lambda fmt, number: _moved(number, -1) if _subnormal(fmt, number) and number.significand else number),
        _which,
    ),
    Fault(
        "normal numbers{} without the implicit bit", Place.OPERANDS, FLOATS,
        _each(lambda fmt, number: number._replace(significand=number.significand & ~(1 << fmt.mantissa_bits))), _which,
    ),
    Fault("{} times 2^{}", Place.OPERANDS, FLOATS - {"multiply", "divide", "convert"}, _scaled, _powers_of_operands),
    Fault("the product times 2^{}", Place.TERMS, _FUSED, _scaled, _powers_of_products),
    Fault("the product rounded before the sum", Place.TERMS, _FUSED, _rounded_product),
    Fault(
        "the product cut before the sum", Place.TERMS, _FUSED, _rounded_product,
        lambda unit, sample: [(Rounding.TOWARD_ZERO, ())] if unit.rounding != Rounding.TOWARD_ZERO else [],
    ),
    Fault("an accumulator of {} bit{}", Place.TERMS, SUMS | {"multiply"}, _cut, _accumulators, inexact=True),
    Fault(
        "an accumulator of {} bit{}, and nothing inexact in what it cuts",
        Place.TERMS, SUMS | {"multiply"}, _cut, _accumulators,
    ),
    Fault(
        "the {} bit of the smaller term dropped{}", Place.TERMS, SUMS, _aligning(_dropped_bit), _dropped_bits,
    ),
    Fault(
        "no alignment by more than {} places", Place.TERMS, SUMS,
        _aligning(lambda term, aligned, most: _moved(term, max(aligned.shift - most, 0))), _shifts,
    ),
    Fault(
        "terms dropped that are aligned by more than {} places", Place.TERMS, SUMS,
        _aligning(lambda term, aligned, most: term._replace(significand=0) if aligned.shift > most else term), _shifts,
    ),
    Fault(
        "alignment by the last {} bits of the difference of exponents", Place.TERMS, SUMS,
        _aligning(lambda term, aligned, bits: _moved(term, aligned.shift >> bits << bits)), _shift_widths,
    ),
    Fault("the sticky bit lost", Place.SUM, ROUNDED, _below(lambda bits, value: (0, bits))),
    Fault(
        "the sticky bit of the first {} alone", Place.SUM, ROUNDED,
        _below(lambda bits, value: (value, bits - value)), _sticky_bits,
    ),
    Fault(
        "the sticky bit without the first {}", Place.SUM, ROUNDED,
        _below(lambda bits, value: (0, min(value, bits))), _sticky_bits,
    ),
    Fault(
        "the sticky bit without the last {}", Place.SUM, ROUNDED,
        _below(lambda bits, value: (max(bits - value, 0), min(value, bits))), _sticky_bits,
    ),
    Fault(
        "the sticky bit without {} bit{} after the round bit", Place.SUM, SUMS | PRODUCTS,
        _below(lambda bits, value: (1, min(value, bits - 1))), _gaps_of_sticky_bits,
    ),
    Fault("the guard bit lost", Place.SUM, ROUNDED, _guard),
    Fault("ties {}", Place.SUM, ROUNDED, _ties, _ways_of_ties),
    Fault(
        "the sticky bit without the bit that a carry shifts out", Place.TERMS, SUMS | PRODUCTS,
        _summed(_sticky_before_shift), carries=True,
    ),
    Fault(
        "the bits that a carry shifts out ANDed, not ORed, into the sticky bit", Place.TERMS, _TWO_TERMS,
        _summed(_sticky_anded), carries=True,
    ),
    Fault(
        "the leading bit one place too high where a sum cancels{}", Place.TERMS, SUMS, _summed(_one_too_high),
        lambda unit, sample: [(None, ("",)), (1, (" by one place",))],
    ),
    Fault("cancelled sums times 2^{}", Place.TERMS, SUMS, _summed(_leading_zeros_off), _one_off),
    Fault("a carry not shifted in", Place.TERMS, SUMS | PRODUCTS, _summed(_carry_not_shifted), carries=True),
    Fault(
        "a carry not counted in the exponent", Place.TERMS, SUMS | PRODUCTS, _summed(_carry_not_counted), carries=True
    ),
    Fault("the sign of differences that of {}{}", Place.TERMS, SUMS, _sign_of, _signs_of_terms),
    Fault(
        "the {} negated", Place.TERMS, _FUSED, _negated, lambda unit, sample: [(0, ("product",)), (1, ("addend",))],
    ),
    Fault("magnitudes added where they are subtracted", Place.TERMS, SUMS, _magnitudes_added),
    Fault("the product cut to {} bits", Place.TERMS, _FUSED, _cut_product, _bits_of_products),
    Fault(
        "subnormal results times 2^{}", Place.SUM, _TO_FLOATS,
        _subnormal_results(lambda fmt, number, power: _moved(number, power)), _one_off,
    ),
    Fault(
        "the smallest normal number in place of subnormal results", Place.SUM, _TO_FLOATS,
        _subnormal_results(lambda fmt, number, value: ExactResult(number.sign, 1, fmt.emin)), inexact=True,
    ),
    Fault("subnormal results not shifted to their exponent", Place.SUM, _TO_FLOATS, _subnormal_results(_not_shifted)),
    Fault("the exact result times 2^{}", Place.SUM, _TO_FLOATS, _scaled, _powers_of_results),
)  # fmt: skip
"""What may go wrong with the numbers of a unit; of what fits alike, the first is named first."""


def faults_of(computation: OpComputation, sample: Sample) -> Iterator[tuple[str, Planted]]:
    """Yield the faults that a computation can have, with the values of their parameters, and their names."""
    unit = unit_of(computation)
    for fault in FAULTS if unit is not None else ():
        if unit is not None and unit.case.kind in fault.kinds:
            for value, words in fault.values(unit, sample):
                yield fault.name.format(*words), Planted(fault, value)
