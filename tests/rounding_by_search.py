"""Rounding by a search among all numbers of a format of up to 16 bits, which shares no code with halfulp's rounding.

An exact result is given as a float that lies between the same boundaries (values and midpoints of the format): itself, if
it has at most 50 bits; otherwise any number between its neighbours of 50 bits.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from halfulp.fp_formats import scalar
from halfulp.fp_formats.formats import FloatFormat
from halfulp.fp_formats.policy import Rounding

Reals = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]
NAN = -1
"""Stands for each NaN, and for poison in a format without NaN."""


class Searched:
    """A format as the sorted list of its numbers that are not negative, with their codes."""

    def __init__(self, fmt: FloatFormat) -> None:
        self.fmt = fmt
        codes = range(1 << fmt.bits - fmt.signed)
        found = [(value, code) for code in codes if (value := scalar.value(fmt, code)) is not None]
        assert found == sorted(found)
        self.numbers: Reals = np.array([float(value) for value, _ in found])
        self.largest = found[-1][1]

    def operand(self, code: int) -> float:
        """Return the number of a code, as a float."""
        exact = scalar.value(self.fmt, code)
        if exact is not None:
            return float(exact) if exact or not code else -0.0
        if not self.fmt.is_infinite(code):
            return np.nan
        return -np.inf if code & (self.fmt.sign_mask or 0) else np.inf

    def infinity(self, negative: Any) -> Integers:
        """Return the codes that stand for infinities; ``negative``: which are below zero."""
        fmt = self.fmt
        if fmt.infinity_code is None and fmt.nan_code is not None:
            return np.full(np.shape(negative), NAN)
        code = self.largest if fmt.infinity_code is None else fmt.infinity_code
        return np.where(negative, NAN if not fmt.signed else code | 1 << fmt.bits - 1, code)

    def rounded(self, exact: Reals, mode: Rounding) -> Integers:
        """Return codes, `NAN` for NaN. Infinities are exact; what is merely large is finite."""
        fmt, negative, magnitude = self.fmt, np.signbit(exact), np.abs(exact)
        below = np.maximum(np.searchsorted(self.numbers, magnitude, "right") - 1, 0)
        beyond = 2 * self.numbers[-1] - self.numbers[-2] if fmt.mantissa_bits else 2 * self.numbers[-1]
        steps = np.append(self.numbers, beyond)
        low, high = steps[below], steps[below + 1]
        middle = (low + high) / 2
        # The only significand of a format without mantissa is odd.
        odd = (below % 2 == 1) | (fmt.mantissa_bits == 0)
        up = {
            Rounding.TO_NEAREST_EVEN: (magnitude > middle) | ((magnitude == middle) & odd),
            Rounding.TO_NEAREST_AWAY: magnitude >= middle,
            Rounding.TOWARD_ZERO: np.zeros_like(negative),
            Rounding.UPWARD: ~negative,
            Rounding.DOWNWARD: negative,
        }[mode]
        index = below + (up & (magnitude > low))
        overflow = index > self.largest
        sign = np.where(negative & fmt.signed, 1 << fmt.bits - 1, 0)
        codes = index | np.where((index == 0) & (not fmt.has_negative_zero), 0, sign)
        if not fmt.signed:
            codes = np.where(negative & (magnitude > 0), NAN, codes)
        codes = np.where(overflow, self.infinity(negative), codes)
        codes = np.where(np.isinf(exact), self.infinity(negative), codes)
        found: Integers = np.where(np.isnan(exact), NAN, codes)
        return found

    def plain(self, codes: npt.NDArray[Any], poison: npt.NDArray[np.bool_] | None) -> Integers:
        """Return results of halfulp with `NAN` in the place of NaNs and of poison."""
        kinds = np.array([self.fmt.is_nan(code) for code in range(1 << self.fmt.bits)])
        nan = kinds[codes] if poison is None else kinds[codes] | poison
        plain: Integers = np.where(nan, NAN, codes.astype(np.int64))
        return plain
