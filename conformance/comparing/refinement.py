"""Refinement: which results another implementation, or a later version of a program, may give.

All comparisons use this module: those of single ops, whole programs against a tool, two versions of a program, the
stages of a compilation, random programs, the reducer, and the solver, whose terms say the same for all inputs at once.
The *reference* is the first version, or halfulp itself. Each element of each result is judged by itself:

=============  =====================================================  ==============================================
verdict        the element of the reference                           that of the other =============
=====================================================  ============================================== identical      a
value                                                the same bits refined        undefined
anything, a trap too refined        poison                                                 any bits or poison, but no
trap refined        a NaN whose bits are open (`Open.NAN`)                 any NaN refined        a zero or infinity
whose sign is open (`Open.SIGN`)    the same with either sign permitted      a number that a flag of the op leaves open
any value: neither equal nor wrong
               (`Open.VALUE`: reassoc, contract, arcp, afn)
approximation  a value                                                wrong, but within an `ErrorBound` of the tool
known          a value                                                wrong, and exactly what a `Divergence` predicts
different      a value                                                other bits, poison, or a trap no answer
anything                                               nothing: it counts for nothing =============
=====================================================  ==============================================

`verdicts` decides all rows except two: `check.compare` divides wrong elements into approximations, known divergences
and others. If a program is undefined for an input, any result is allowed, so its elements are not judged at all. It
matters which program is the reference. If the other program leaves bits unspecified that the reference specifies, a
third tool may choose wrong bits for it, although the two programs agree here. `loosened` counts these elements; if
there are any, nothing is proven. Memory after a run and what a program prints are results like others.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from enum import IntEnum
from math import inf, isfinite
from typing import Any

import numpy as np
import numpy.typing as npt
from flint import arb

from halfulp.conformance.comparing.op_case import OpCase, Reference
from halfulp.conformance.oracles.oracle import Answer, OracleError, Status
from halfulp.fp_formats.formats import (
    LIMB_BITS,
    Codes,
    FloatFormat,
    Mask,
    code_shape,
    codes_to_ints,
    element_shape,
    limb_count,
    storage_dtype,
)
from halfulp.fp_formats.neighbours import steps_apart, ulp_of_float
from halfulp.fp_formats.reals.functions import bits_of_precision
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.errors import HalfulpError, plural, spell_place
from halfulp.interp.ir.types import element_width, width_of
from halfulp.interp.run.attribution import Attribution, value_of
from halfulp.interp.run.lineage import Lineage
from halfulp.interp.values.value import Value
from halfulp.semantics import floats
from halfulp.semantics.ball_rules import BALLS
from halfulp.semantics.kernel import Computes, Open
from halfulp.semantics.profile import SPEC, Profile

Verdicts = npt.NDArray[np.uint8]


class Verdict(IntEnum):
    """How one element of an answer compares with the result of the interpreter."""

    EQUAL = 0
    OPEN = 1  # allowed: the language leaves these bits unspecified, or the element has no value
    APART = 2  # unspecified by reassoc, contract, arcp or afn, and different: neither equal nor a mismatch
    UNANSWERED = 3
    MISMATCH = 4


def differing(type_: ty.Type, one: Codes, other: Codes) -> Mask:
    """Return a mask of the elements in which two arrays of codes of one type differ."""
    different: Mask = np.not_equal(one, other)
    limbs = different.ndim - len(element_shape(one, width_of(type_)))
    return np.asarray(different.any(axis=-1)) if limbs else different


def verdicts(type_: ty.Type, expected: Reference, index: int, answer: Answer) -> Verdicts:
    """Return one `Verdict` per element of result number ``index``, whose element type is ``type_``."""
    bits = expected.bits[index]
    different = differing(type_, bits, answer.bits)
    verdict = np.where(different, np.uint8(Verdict.MISMATCH), np.uint8(Verdict.EQUAL))
    allowed = np.zeros(different.shape, np.bool_)
    if expected.open is not None and different.any():
        if isinstance(type_, ty.FloatType):
            allowed |= _allowed_float(type_.format, bits, answer.bits, expected.open)
        apart = different & ~allowed & (expected.open & Open.VALUE.value != 0)
        verdict[apart] = Verdict.APART
        verdict[different & allowed] = Verdict.OPEN
    if answer.status is not None:
        # Poison and traps are mismatches where the reference has a value.
        verdict[(answer.status == Status.POISON) | (answer.status == Status.TRAP)] = Verdict.MISMATCH
    if expected.poison is not None:
        trapped = np.False_ if answer.status is None else answer.status == Status.TRAP
        verdict[expected.poison & ~trapped] = Verdict.OPEN
    if expected.undefined is not None:
        verdict[expected.undefined] = Verdict.OPEN
    if answer.status is not None:
        verdict[answer.status == Status.UNANSWERED] = Verdict.UNANSWERED
    return verdict


def foreseen(type_: ty.Type, predicted: Reference, index: int, answer: Answer) -> Mask:
    """Return a mask of the elements of result ``index`` that are exactly as predicted: the same bits, poison or a trap.

    A prediction specifies all bits, also those that the language leaves unspecified, except of elements that the tool
    does not determine: any value is as predicted there. If the op has undefined behaviour and the prediction names no
    trap, nothing counts as predicted.
    """
    status = np.full(element_shape(answer.bits, width_of(type_)), Status.VALUE, np.uint8)
    if answer.status is not None:
        status = answer.status
    said = ~differing(type_, predicted.bits[index], answer.bits)
    if predicted.undetermined is not None:
        said |= predicted.undetermined
    said &= status == Status.VALUE
    for mask, kind in ((predicted.poison, Status.POISON), (predicted.undefined, None), (predicted.trap, Status.TRAP)):
        if mask is not None:
            said = np.where(mask, status == kind if kind is not None else np.False_, said)
    return np.asarray(said)


def garbled(type_: ty.Type, shape: tuple[int, ...], answer: Answer) -> str | None:
    """Return what is wrong with the form of an answer for elements of this type and shape; None if it is right.

    Codes must have the dtype and limbs of their width and no bits above it, and there must be one `Status` for each
    element. Without this check, NumPy would broadcast a single result to all elements and count it as many agreements.
    """
    width = width_of(type_)
    bits, status = np.asarray(answer.bits), answer.status
    if bits.dtype != storage_dtype(width):
        return f"codes of dtype {bits.dtype} where {storage_dtype(width)} is expected"
    if bits.shape != code_shape(shape, width):
        return f"a result of shape {bits.shape} where {code_shape(shape, width)} is expected"
    if status is not None:
        if status.dtype != np.uint8 or status.shape != shape:
            return f"statuses of dtype {status.dtype} and shape {status.shape} where uint8 and {shape} are expected"
        if status.size and status.max() > max(Status):
            return f"a status of {status.max()}"
    top = bits[..., -1] if width > LIMB_BITS else bits
    spare = width - LIMB_BITS * (limb_count(width) - 1)
    if spare < 8 * bits.dtype.itemsize:
        excess = top >> top.dtype.type(spare) != 0
        if (excess if status is None else excess & (status == Status.VALUE)).any():
            return f"codes of more than {width} bits"
    return None


def require_answers(types: Sequence[ty.Type], shapes: Sequence[tuple[int, ...]], answers: Sequence[Answer]) -> None:
    """Raise OracleError ("garbage") unless there is one answer for each result, and none is `garbled`."""
    if len(answers) != len(types):
        raise OracleError("garbage", f"{len(answers)} results where {len(types)} are expected")
    for index, (type_, shape, answer) in enumerate(zip(types, shapes, answers, strict=True)):
        wrong = garbled(type_, shape, answer)
        if wrong is not None:
            raise OracleError("garbage", f"result {index}: {wrong}")


def _allowed_float(fmt: FloatFormat, expected: Codes, actual: Codes, opened: Any) -> Mask:
    nans = (opened & Open.NAN.value != 0) & floats.is_nan(fmt, expected) & floats.is_nan(fmt, actual)
    signs = opened & Open.SIGN.value != 0
    signless = [test(fmt, expected) & test(fmt, actual) for test in (floats.is_zero, floats.is_infinite)]
    allowed: Mask = nans | (signs & (signless[0] | signless[1]))
    return allowed


@dataclass(frozen=True)
class Mismatch:
    """One wrong element: the operand codes, the expected code, and the oracle's code (None: poison or a trap).

    ``ulps``: the number of steps between neighbouring values, for integers and numbers; None if one side has no
    value. ``why``: the origin of poison, if it is known.
    """

    element: tuple[int, ...]
    result: int
    operands: tuple[int, ...]
    expected: int
    actual: int | None
    status: Status
    ulps: int | None
    why: str = ""


def ulps_away(type_: ty.Type, mismatch: Mismatch) -> int | None:
    """Return the distance of a mismatch in ulps; None if the type is not a float type."""
    return mismatch.ulps if isinstance(type_, ty.FloatType) else None


def ulp_distance(type_: ty.Type, one: int, other: int) -> int | None:
    """Return the number of steps between two codes along the values of the type; None for NaN and for types without an
    order.
    """
    kind = type_.format if isinstance(type_, ty.FloatType) else element_width(type_)
    return None if kind is None else steps_apart(kind, one, other)


def worst(found: Sequence[Mismatch]) -> Mismatch | None:
    """Return the mismatch with the largest error. One without a distance counts as larger than any with a distance."""
    return max(found, key=lambda mismatch: (mismatch.ulps is None, mismatch.ulps or 0), default=None)


def code_at(codes: Codes, width: int, element: tuple[int, ...]) -> int:
    """Return the code of one element as a Python integer."""
    return codes_to_ints(np.asarray(codes[element]), width)[0]


def mismatch_at(
    type_: ty.Type,
    expected: Codes,
    answer: Answer,
    result: int,
    element: tuple[int, ...],
    operands: tuple[int, ...] = (),
) -> Mismatch:
    """Return one differing element of result number ``result``, whose codes should be ``expected``."""
    width = width_of(type_)
    status = Status.VALUE if answer.status is None else Status(int(answer.status[element]))
    right, given = code_at(expected, width, element), code_at(answer.bits, width, element)
    if status is not Status.VALUE:
        return Mismatch(element, result, operands, right, None, status, None)
    return Mismatch(element, result, operands, right, given, status, ulp_distance(type_, right, given))


def places_of(mask: Mask) -> list[tuple[int, ...]]:
    """Return the indices of the elements that a mask selects, in row-major order."""
    return [tuple(map(int, place)) for place in np.argwhere(mask)]


# --- results as values ------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Judged:
    """One result that was compared, with a verdict on each element."""

    #: The number of the result.
    index: int
    #: The result of the reference.
    value: Value
    #: The answer of the other.
    answer: Answer
    #: A `Verdict` for each element.
    verdicts: Verdicts
    #: The answer as a value, if it is a value: it has the origins of its poison.
    other: Value | None = None

    @property
    def wrong(self) -> Mask:
        """A mask of the elements that are different."""
        return np.asarray(self.verdicts == Verdict.MISMATCH)

    @property
    def doubtful(self) -> Mask:
        """A mask of the elements that are different, or that are allowed only because a flag permits it."""
        return np.asarray(self.wrong | (self.verdicts == Verdict.APART))

    @property
    def first(self) -> Mismatch | None:
        """The first element that is different; None if there is none."""
        return next((self.mismatch(place) for place in places_of(self.wrong)[:1]), None)

    def count(self, counts: Counter[Verdict]) -> None:
        """Add the number of each verdict to ``counts``."""
        for verdict in Verdict:
            counts[verdict] += int(np.count_nonzero(self.verdicts == verdict))

    def mismatch(self, place: tuple[int, ...]) -> Mismatch:
        """Return the mismatch of one element."""
        found = mismatch_at(self.value.element_type, self.value.bits, self.answer, self.index, place)
        origin = None if self.other is None else self.other.origin(*place)
        return found if origin is None else replace(found, why=str(replace(origin, element=())))

    def mismatch_in_lane(self, place: tuple[int, ...]) -> Mismatch:
        """Return the mismatch of one element over lanes. The place of the element is given without the lane."""
        return replace(self.mismatch(place), element=place[1:])


def judged(value: Value, other: Value | Answer, index: int = 0) -> Judged:
    """Compare one result with that of another implementation or another version, and return the verdicts. ``index``:
    the number of the result.
    """
    answer = answer_of(other) if isinstance(other, Value) else other
    expected = Reference((value.bits,), None if value.poison is None else value.poisoned, None, value.open)
    kept = other if isinstance(other, Value) else None
    return Judged(index, value, answer, np.asarray(verdicts(value.element_type, expected, 0, answer)), kept)


def judge(expected: Sequence[Value], answers: Sequence[Answer]) -> list[Judged]:
    """Compare all results, and return the verdicts. Raises OracleError for answers that `require_answers` refuses."""
    require_answers([value.element_type for value in expected], [value.shape for value in expected], answers)
    return [judged(value, answer, index) for index, (value, answer) in enumerate(zip(expected, answers, strict=True))]


def first_mismatches(results: Iterable[Judged]) -> list[tuple[Mismatch, ty.Type]]:
    """Return the first differing element of each result that differs, with its type."""
    return [(found, one.value.element_type) for one in results if (found := one.first) is not None]


class Reasons:
    """The reasons why the reference has no value: for each op and place, the first reason and its number of
    occurrences.
    """

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()
        self._first: dict[tuple[str | None, str], str] = {}

    def add_error(self, error: HalfulpError, count: int = 1) -> None:
        """Count runs that ended with this error. ``count``: their number."""
        place = "" if error.location is None else spell_place(error.location)
        self.counts[self._first.setdefault((error.op, place), reason_of(error))] += count

    def add_poison(self, value: Value) -> None:
        """Count the elements of a value that are poison."""
        if value.poison is None or value.origins is None:
            return
        for identity, count in zip(*np.unique(value.poison, return_counts=True), strict=True):
            if identity:  # the element of an origin is that of the whole batch
                self.counts[str(replace(value.origins[int(identity)], element=()))] += int(count)

    def lines(self, what: str, unit: str) -> Iterator[str]:
        """Yield ``WHAT REASON (N UNITS)`` for each reason, the most frequent first."""
        return (f"{what} {why} ({plural(count, unit)})" for why, count in self.counts.most_common())


def reason_of(error: HalfulpError) -> str:
    """Return the message of an error with its op and its place."""
    place = "" if error.location is None else spell_place(error.location)
    op = "" if error.op is None or error.message.startswith(f"{error.op}:") else error.op
    message = _LANES.sub("", error.message)
    where = " at ".join(filter(None, (op, place))) if op else f"at {place}" if place else ""
    return f"{message} ({where})" if where else message


_LANES = re.compile(r" \(lane \d+; \d+ of \d+ lanes\)$")
"""The text that a run in lanes appends to a message. It is removed, because readers know inputs and not lanes."""


def answer_of(value: Value) -> Answer:
    """Return a value as an answer."""
    status = None if value.poison is None else value.poisoned.astype(np.uint8) * np.uint8(Status.POISON)
    return Answer(value.bits, status)


def identical(one: Value, two: Value) -> bool:
    """Tell whether two values have poison in the same places, and the same bits in all others."""
    if one.shape != two.shape or not np.array_equal(one.poisoned, two.poisoned):
        return False
    kept = ~one.poisoned
    return bool(np.array_equal(one.bits[kept], two.bits[kept]))


def loosened(one: Value, two: Value) -> int:
    """Return the number of elements for which the language allows bits in the second version that it does not allow in
    the first. There another tool may choose bits that the first version does not allow.
    """
    if two.open is None:
        return 0
    opened: Any = two.open
    allowed: Any = np.zeros_like(opened) if one.open is None else one.open
    more = (opened & ~allowed != 0) & (allowed & Open.VALUE.value == 0)
    return int(np.count_nonzero(more if one.poison is None else more & ~one.poisoned))


# --- exact reference --------------------------------------------------------------------------------------------------
#
# Which of two results is nearer to the truth: to what exact real arithmetic gives for the same numbers.

_BITS = 512
"""The precision of the balls of ops, in bits. If cancellation loses more bits, the exact number is not known."""
_MOST_BITS = 8192
"""The precision, in bits, of differences from an exact number: at least that of its ball."""


@dataclass(frozen=True)
class Truth:
    """The exact number for two results. ``exact``: the f64 nearest to it. ``expected``, ``got``: the distance of each
    result from it in ulp of the exact number; infinite for a result that is not a finite number. ``nearer``: which of
    them is nearer, "" if neither is.
    """

    exact: float
    expected: float
    got: float
    nearer: str

    def text(self, expected: str, got: str) -> str:
        """Return a text that says which of two results is nearer to the exact number. ``expected``, ``got``: their
        names.
        """
        return f"exactly {self.exact:.17g}; {self.distances(expected, got)}"

    def distances(self, expected: str, got: str) -> str:
        """Return a text that says how far both results are from the exact number, and which is nearer. ``expected``,
        ``got``: their names.
        """
        names = {"expected": expected, "got": got, "": "neither"}
        texts = [ulps_text(self.expected), ulps_text(self.got)]
        if self.nearer and texts[0] == texts[1]:
            texts = [ulps_text(size, 17) for size in (self.expected, self.got)]
        sizes = f"{expected} {texts[0]}, {got} {texts[1]}"
        return f"from the exact number: {sizes}; {names[self.nearer]} is nearer"


def record_of(truth: Truth | None) -> dict[str, object] | None:
    """Return a `Truth` as fields for JSON. An infinity becomes None, since JSON has no infinities. Return None for
    None.
    """
    if truth is None:
        return None
    sizes = {"expected": truth.expected, "got": truth.got}
    return {
        "exact": truth.exact,
        "ulps": {name: size if isfinite(size) else None for name, size in sizes.items()},
        "nearer": truth.nearer or None,
    }


def ulps_text(size: float, digits: int = 3) -> str:
    """Return the text of a distance in ulp."""
    return f"{size:.{digits}g} ulp" if isfinite(size) else "no finite number"


def truth_of_op(case: OpCase, mismatch: Mismatch, profile: Profile = SPEC) -> Truth | None:
    """Return the exact number for one element of an op, as a `Truth`; None if the op has no exact number, or it is not
    known.
    """
    try:
        meaning = case.kernel((), profile).real
    except HalfulpError:
        return None
    if (
        not isinstance(meaning, Computes)
        or meaning.rule not in BALLS
        or len(meaning.operands) != len(mismatch.operands)
        or not isinstance(meaning.result, FloatFormat)
    ):
        return None
    with bits_of_precision(_BITS):
        operands = (value_of(kind, code) for kind, code in zip(meaning.operands, mismatch.operands, strict=True))
        return _truth(BALLS[meaning.rule](*operands), meaning.result, mismatch)


def truth_of_run(lineage: Lineage, outputs: Sequence[Value], mismatch: Mismatch) -> Truth | None:
    """Return the exact number for one element of the results of a run, as a `Truth`; None if it is not a float, or
    nothing is known about it.

    ``outputs``: the outputs of the run that gave the expected result, with the ids of ``lineage``. The element may lack
    axes of size 1 that an output begins with.
    """
    value = outputs[mismatch.result]
    place = (0,) * (len(value.shape) - len(mismatch.element)) + mismatch.element
    exact = exact_number(lineage, value, place)
    return None if exact is None else _truth(exact, value.element_type.format, mismatch)  # type: ignore[attr-defined]


def exact_number(lineage: Lineage, value: Value, place: tuple[int, ...]) -> arb | None:
    """Return a ball with the exact number of one element of the results of a run, with the ids of ``lineage``; None if
    it is not a float, or nothing is known about it.
    """
    element = value.element_type
    if not isinstance(element, ty.FloatType):
        return None
    code = codes_to_ints(np.asarray(value.bits[place]), ty.width_of(element))[0]
    try:
        found = Attribution(lineage, 0 if value.open is None else int(value.open[place]), element, code)
    except HalfulpError:  # a history that is too long
        return None
    if found.end is not None:
        exact = found.end.exact
    elif found.is_unknown:
        return None
    else:
        exact = value_of(element.format, code)
    return exact if exact.is_finite() else None


def distance_of(exact: arb, number: float) -> float:
    """Return an exact number minus another one."""
    with bits_of_precision(_MOST_BITS):
        return float((exact - number).mid())


def _truth(exact: arb, fmt: FloatFormat, mismatch: Mismatch) -> Truth | None:
    """Judge the two results by a ball that holds the exact number; None if the ball is too wide to tell, or if both
    results equal the exact number.
    """
    if not exact.is_finite():
        return None
    with bits_of_precision(_MOST_BITS):
        return _judged(exact, fmt, mismatch)


def _judged(exact: arb, fmt: FloatFormat, mismatch: Mismatch) -> Truth | None:
    number = float(exact.mid())
    ulp = ulp_of_float(fmt, number)
    if not float(exact.rad()) < ulp / 1024:
        return None
    expected, got = (_distance(exact, fmt, code) for code in (mismatch.expected, mismatch.actual))
    if expected == 0 and got == 0:  # zeros of two signs, or two codes of one number
        return None
    nearer = "expected" if expected < got else "got" if got < expected else ""
    from_expected, from_got = (float(each.mid()) / ulp if each.is_finite() else inf for each in (expected, got))
    return Truth(number, from_expected, from_got, nearer)


def _distance(exact: arb, fmt: FloatFormat, code: int | None) -> arb:
    value = arb.nan() if code is None else value_of(fmt, code)
    return abs(exact - value) if value.is_finite() else arb.pos_inf()
