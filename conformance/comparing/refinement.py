"""Refinement: what another implementation, or a later version of a program, may do with what the language says.

Everything that compares asks this module: single ops, whole programs against a tool, two versions of a program, the
stages of a compilation, random programs, the reducer, and the solver, whose terms say the same for all inputs at once.
The *reference* is the first version, or halfulp itself. Each element of each result is judged by itself:

=============  =====================================================  ==============================================
verdict        the element of the reference                           that of the other
=============  =====================================================  ==============================================
identical      a value                                                the same bits
refined        undefined                                              anything, a trap too
refined        poison                                                 any bits or poison, but no trap
refined        a NaN whose bits are open (`Open.NAN`)                 any NaN
refined        a zero or infinity whose sign is open (`Open.SIGN`)    the same with either sign
permitted      a number that a flag of the op leaves open             any value: neither equal nor wrong
               (`Open.VALUE`: reassoc, contract, arcp, afn)
approximation  a value                                                wrong, but within an `ErrorBound` of the tool
known          a value                                                wrong, and exactly what a `Divergence` predicts
different      a value                                                other bits, poison, or a trap
no answer      anything                                               nothing: it counts for nothing
=============  =====================================================  ==============================================

`verdicts` decides the rows but for two: `check.compare` sorts what is wrong into approximations, known divergences and
the rest. A program that is undefined for an input allows anything for it, so its elements are not judged at all. The
relation has a direction. If the *other* leaves bits unspecified that the reference does not, a third tool may choose
wrong ones though ours agree: `loosened` counts these, and nothing is proven then. Memory after a run and what a program
prints are results like others.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from enum import IntEnum
from typing import Any

import numpy as np
import numpy.typing as npt

from halfulp.conformance.comparing.op_case import Reference
from halfulp.conformance.oracles.oracle import Answer, OracleError, Status
from halfulp.fp_formats.codes import (
    LIMB_BITS,
    Codes,
    Mask,
    code_shape,
    codes_to_ints,
    element_shape,
    limb_count,
    storage_dtype,
)
from halfulp.fp_formats.formats import FloatFormat
from halfulp.fp_formats.ulps import steps_apart
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.types import element_width, width_of
from halfulp.interp.values.value import Value
from halfulp.semantics import floats
from halfulp.semantics.kernel import Open

Verdicts = npt.NDArray[np.uint8]


class Verdict(IntEnum):
    """The verdict on one element of an answer."""

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

    Bits that the language leaves unspecified are not unspecified in a prediction. Where the op has undefined behaviour
    and the prediction names no trap, nothing counts as predicted.
    """
    status = np.full(element_shape(answer.bits, width_of(type_)), Status.VALUE, np.uint8)
    if answer.status is not None:
        status = answer.status
    said = ~differing(type_, predicted.bits[index], answer.bits) & (status == Status.VALUE)
    for mask, kind in ((predicted.poison, Status.POISON), (predicted.undefined, None), (predicted.trap, Status.TRAP)):
        if mask is not None:
            said = np.where(mask, status == kind if kind is not None else np.False_, said)
    return np.asarray(said)


def garbled(type_: ty.Type, shape: tuple[int, ...], answer: Answer) -> str | None:
    """Say what is wrong with the form of an answer for elements of this type and shape; None where it is right.

    Codes have the dtype and limbs of their width and no bits above it; there is one `Status` for each element. Without
    this check, NumPy would broadcast a single result to all elements and count it as many agreements.
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

    ``ulps``: the number of steps between neighbouring values, for integers and numbers; None where one side has no
    value.
    """

    element: tuple[int, ...]
    result: int
    operands: tuple[int, ...]
    expected: int
    actual: int | None
    status: Status
    ulps: int | None


def ulps_away(type_: ty.Type, mismatch: Mismatch) -> int | None:
    """Return the distance of a mismatch in ulps, which only floats have."""
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
    """Return the places of the elements that a mask names, in order."""
    return [tuple(map(int, place)) for place in np.argwhere(mask)]


# --- results as values ------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Judged:
    """One result that was compared."""

    #: The number of the result.
    index: int
    #: What the reference has.
    value: Value
    #: What the other has.
    answer: Answer
    #: A `Verdict` for each element.
    verdicts: Verdicts

    @property
    def wrong(self) -> Mask:
        """The elements that are different."""
        return np.asarray(self.verdicts == Verdict.MISMATCH)

    @property
    def doubtful(self) -> Mask:
        """The elements that are different, or that only a flag permits."""
        return np.asarray(self.wrong | (self.verdicts == Verdict.APART))

    @property
    def first(self) -> Mismatch | None:
        """The first element that is different."""
        return next((self.mismatch(place) for place in places_of(self.wrong)[:1]), None)

    def count(self, counts: Counter[Verdict]) -> None:
        """Add the verdicts to counts."""
        for verdict in Verdict:
            counts[verdict] += int(np.count_nonzero(self.verdicts == verdict))

    def mismatch(self, place: tuple[int, ...]) -> Mismatch:
        """Return what differs in an element."""
        return mismatch_at(self.value.element_type, self.value.bits, self.answer, self.index, place)

    def mismatch_in_lane(self, place: tuple[int, ...]) -> Mismatch:
        """Return what differs in an element over lanes; the lane is left out of its place."""
        return replace(self.mismatch(place), element=place[1:])


def judged(value: Value, other: Value | Answer, index: int = 0) -> Judged:
    """Judge one result. ``other``: what another implementation or another version has."""
    answer = answer_of(other) if isinstance(other, Value) else other
    expected = Reference((value.bits,), None if value.poison is None else value.poisoned, None, value.open)
    return Judged(index, value, answer, np.asarray(verdicts(value.element_type, expected, 0, answer)))


def judge(expected: Sequence[Value], answers: Sequence[Answer]) -> list[Judged]:
    """Judge all results. Raise OracleError for answers that `require_answers` refuses."""
    require_answers([value.element_type for value in expected], [value.shape for value in expected], answers)
    return [judged(value, answer, index) for index, (value, answer) in enumerate(zip(expected, answers, strict=True))]


def first_mismatches(results: Iterable[Judged]) -> list[tuple[Mismatch, ty.Type]]:
    """Return the first differing element of each result that differs, with its type."""
    return [(found, one.value.element_type) for one in results if (found := one.first) is not None]


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
    """Count the elements that the language leaves unspecified in the second version, in a way that the first does not
    allow: another tool may choose other bits than ours.
    """
    if two.open is None:
        return 0
    opened: Any = two.open
    allowed: Any = np.zeros_like(opened) if one.open is None else one.open
    more = (opened & ~allowed != 0) & (allowed & Open.VALUE.value == 0)
    return int(np.count_nonzero(more if one.poison is None else more & ~one.poisoned))
