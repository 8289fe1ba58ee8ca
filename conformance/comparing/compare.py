"""Comparison by refinement: what the reference leaves open, another tool may fill in; all else must be equal, bit for
bit.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Any

import numpy as np
import numpy.typing as npt

from halfulp.conformance.comparing.op_case import Reference
from halfulp.conformance.oracles.oracle import Answer, OracleError, Status
from halfulp.fp_formats import scalar
from halfulp.fp_formats.codes import LIMB_BITS, code_shape, element_shape, limb_count, storage_dtype
from halfulp.fp_formats.formats import FloatFormat
from halfulp.interp.ir import types as ty
from halfulp.interp.values.value import element_width
from halfulp.semantics import floats
from halfulp.semantics.kernel import Codes, Mask, Open

Verdicts = npt.NDArray[np.uint8]


class Verdict(IntEnum):
    """How one element of an answer relates to the reference."""

    EQUAL = 0
    OPEN = 1  # allowed: the language leaves this much open, or gives the element no value at all
    APART = 2  # marked open by reassoc, contract, arcp or afn, and different: neither equal nor a mismatch
    UNANSWERED = 3
    MISMATCH = 4


def differing(type_: ty.Type, one: Codes, other: Codes) -> Mask:
    """Where the codes of two arrays of one element type differ."""
    different: Mask = np.not_equal(one, other)
    limbs = different.ndim - len(element_shape(one, element_width(type_) or 0))
    return np.asarray(different.any(axis=-1)) if limbs else different


def verdicts(type_: ty.Type, expected: Reference, index: int, answer: Answer) -> Verdicts:
    """One `Verdict` per element of result number ``index``, whose element type is ``type_``."""
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
        # Where the reference has a value, poison and traps are none.
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
    """Where result number ``index`` is what a prediction says: its very bits, or poison or a trap where it says so.

    What the language leaves open of a value is not open in a prediction. Where that gives executing the op no meaning
    and tells of no trap, it says nothing.
    """
    status = np.full(element_shape(answer.bits, element_width(type_) or 0), Status.VALUE, np.uint8)
    if answer.status is not None:
        status = answer.status
    said = ~differing(type_, predicted.bits[index], answer.bits) & (status == Status.VALUE)
    for mask, kind in ((predicted.poison, Status.POISON), (predicted.undefined, None), (predicted.trap, Status.TRAP)):
        if mask is not None:
            said = np.where(mask, status == kind if kind is not None else np.False_, said)
    return np.asarray(said)


def garbled(type_: ty.Type, shape: tuple[int, ...], answer: Answer) -> str | None:
    """What is wrong with the form of an answer for elements of this type and shape, or None.

    Codes have the dtype and limbs of their width and no bits above it, statuses are those of `Status`: one for each
    element. Without this, NumPy would repeat a single result for all elements, and take it for as many agreements.
    """
    width = element_width(type_) or 0
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
    """Raises OracleError ("garbage") unless there is one answer for each result, and none is `garbled`."""
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
    """One element that is wrong: operand codes, what was expected (None: trap or the like), what the oracle gave.

    ``ulps``: the distance in steps between neighbouring values, for integers and numbers; None where one has no value.
    """

    element: tuple[int, ...]
    result: int
    operands: tuple[int, ...]
    expected: int
    actual: int | None
    status: Status
    ulps: int | None


def ulp_distance(type_: ty.Type, one: int, other: int) -> int | None:
    """Steps from one code to the other along the values of the type; None where either is NaN or has no order."""
    if isinstance(type_, ty.FloatType):
        places = [_place(type_.format, code) for code in (one, other)]
        return None if None in places else abs(places[0] - places[1])  # type: ignore[operator]
    width = element_width(type_)
    if width is None:
        return None
    distance = abs(one - other)  # a signless integer has neighbours across both ends of its range
    return min(distance, (1 << width) - distance)


def _place(fmt: FloatFormat, code: int) -> int | None:
    """The place of a code in the order of the format's values; both zeros stand at 0."""
    if scalar.unpack(fmt, code).kind >= scalar.QUIET_NAN:
        return None
    magnitude = code & (fmt.code_mask >> fmt.signed)
    if fmt.explicit_integer_bit:
        field, significand = divmod(magnitude, 1 << fmt.precision)
        magnitude = (field << fmt.mantissa_bits) + (significand & ~(bool(field) << fmt.mantissa_bits))
    return -magnitude if fmt.sign_mask and code & fmt.sign_mask else magnitude


def worst(found: Sequence[Mismatch]) -> Mismatch | None:
    """The mismatch farthest from the truth; one without a distance counts as farther than any with."""
    return max(found, key=lambda mismatch: (mismatch.ulps is None, mismatch.ulps or 0), default=None)
