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

from halfulp.conformance.oracles.oracle import Answer, Status
from halfulp.conformance.task import Reference
from halfulp.fp_formats import scalar
from halfulp.fp_formats.formats import FloatFormat
from halfulp.interp import types as ty
from halfulp.interp.values import element_width
from halfulp.semantics import floats
from halfulp.semantics.codes import element_shape
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
