"""The datapath of a unit, and faults inside of it. From a fault follow the results of a unit whose numbers are wrong
before they are rounded.

A unit reads its operands as exact numbers, makes terms of them (a product, an addend), adds the terms, and rounds the
sum once. A `Fault` changes the numbers at one of these places. If the change has no effect, the unit gives the right
result. So each row confirms a fault, refutes it, or says nothing about it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
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


# --- kinds of units ---------------------------------------------------------------------------------------------------

SUMS = frozenset({"add", "subtract", "multiply-add"})
PRODUCTS = frozenset({"multiply"})
ROUNDED = SUMS | PRODUCTS | {"divide", "square root", "convert", "from integer", "to integer"}
FLOATS = ROUNDED - {"from integer"}
FUSED = frozenset({"multiply-add"})
TWO_TERMS = SUMS - FUSED
TO_FLOATS = ROUNDED - {"to integer"}

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
    inexact = Flags.INEXACT if any(each.fault.inexact for each in faults) else 0
    rows: list[int] = []
    made: list[scalar.Result] = []
    for k, row in enumerate(rows_of(unit, inputs)):
        if row is not None:
            result = _with_faults(unit, row, at)
            if result is not None:
                rows.append(k)
                made.append(result._replace(flags=result.flags | inexact) if inexact else result)
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
    return _packed(unit, _signed_zero(unit, terms, total) if changed else total)


def _signed_zero(unit: Unit, terms: Numbers, total: ExactResult) -> ExactResult:
    if total.significand or len(terms) < 2:
        return total
    signs = {term.sign for term in terms}
    return total._replace(sign=signs.pop() if len(signs) == 1 else int(unit.rounding == Rounding.DOWNWARD))


def result_of(unit: Unit, numbers: Numbers) -> scalar.Result | None:
    """Return what a unit gives for operands that are these numbers; None if they give no number."""
    terms = terms_of(unit.case, numbers)
    return None if terms is None else _packed(unit, _signed_zero(unit, terms, exact_sum(terms)))


def _packed(unit: Unit, number: ExactResult) -> scalar.Result | None:
    """Round a number to a code; None if the result has no code, or is out of range of an integer."""
    target = unit.case.target
    if isinstance(target, Integer):
        kept, inexact = scalar.round_to_integer(number.sign, number.significand, -number.exponent, unit.rounding, None)
        kept = -kept if number.sign else kept
        fits = target.lowest <= kept <= target.highest
        return scalar.Result(kept & (1 << target.width) - 1, Flags.INEXACT * inexact) if fits else None
    made = scalar.round_pack(target, *number, unit.rounding, unit.policy, None, unit.saturates)
    return None if made.poison else made


# --- alignment --------------------------------------------------------------------------------------------------------


class Aligned(NamedTuple):
    """The smaller of two terms: its place, by how much it is shifted right, and the exponent of the last place."""

    place: int
    shift: int
    lowest: int


@lru_cache(maxsize=1 << 12)
def _alignment(one: ExactResult, other: ExactResult, widths: tuple[int, ...], precision: int) -> Aligned:
    place, shift = 0, one.exponent + widths[0] - other.exponent - widths[1]
    if shift:
        place = int(shift > 0)
    else:
        low = min(one.exponent, other.exponent)
        place = int(other.significand << other.exponent - low <= one.significand << one.exponent - low)
    highest = max(one.exponent + widths[0], other.exponent + widths[1])
    return Aligned(place, abs(shift), highest - (precision - 1))


def aligned(unit: Unit, terms: Numbers) -> Aligned | None:
    """Return the terms of a sum aligned by their exponent fields, as hardware does it; None for a zero."""
    one, other = terms
    if not one.significand or not other.significand:
        return None
    return _alignment(one, other, unit.case.fractions, unit.precision)
