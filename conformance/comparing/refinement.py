"""Compare by refinement: another tool may choose what the reference leaves unspecified; all other bits
must be equal.
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
from halfulp.fp_formats.codes import LIMB_BITS, Codes, Mask, code_shape, element_shape, limb_count, storage_dtype
from halfulp.fp_formats.formats import FloatFormat
from halfulp.fp_formats.ulps import steps_apart
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.types import element_width, width_of
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
