"""Bands: what an op of PyTorch may return, by any order of additions, contraction and documented approximation.

A band is the exact result of an op on its operands, with a radius: the error that rounding in the type of the
computation can cause, added up step by step as in any analysis of rounding errors. A sum of n numbers has the radius
n·u / (1 - n·u) · Σ|x|, which holds for every order and for fused products (N. Higham, Accuracy and Stability of
Numerical Algorithms, sections 3.1 and 4.2). The centers are computed in a type that is wider than that of the
computation by 29 bits (f64 for f32; 11 for f64), whose own errors are part of the radius.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]
Axes = int | tuple[int, ...] | None

TINY = {8: 2.0**-126, 11: 2.0**-14, 24: 2.0**-126, 53: 2.0**-1022}
"""The smallest normal number of a type of the computation, by its digits: what a result may lose if it underflows."""
_WIDE = {8: np.float64, 11: np.float64, 24: np.float64, 53: np.longdouble}
_NONE = np.zeros(())
"""The radius of exact numbers."""
_SLACK = 1 + 2.0**-20
"""For terms of second order and for the errors of the centers."""


def gamma(count: float, unit: float) -> float:
    """Return the relative error bound of so many roundings of a unit each; infinite if they may lose every digit."""
    return count * unit / (1 - count * unit) if count * unit < 1 else np.inf


def can_hold(digits: int) -> bool:
    """Tell whether this machine has a wider type for computations with so many digits."""
    return digits < 53 or bool(np.finfo(np.longdouble).nmant >= 63)


@dataclass(frozen=True, eq=False)
class Band:
    """Numbers with a radius each, in a computation with so many ``digits``: 24 for f32, 53 for f64, 8 and 11
    for bf16 and f16.

    ``mid``: the exact numbers. ``rad``: how far a computed number may be from them; without axes if they are exact.
    ``flushed``: a product of matrices may take 0 for their subnormal numbers, and for the subnormal products and sums.
    """

    mid: Array
    rad: Array
    digits: int
    flushed: bool = False

    @staticmethod
    def of(numbers: Any, digits: int, flushed: bool = False) -> Band:
        """Return exact numbers."""
        return Band(np.asarray(numbers, _WIDE[digits]), np.zeros((), _WIDE[digits]), digits, flushed)

    @property
    def unit(self) -> float:
        """The largest relative error of one rounding."""
        return 2.0**-self.digits

    @property
    def size(self) -> Array:
        """The largest magnitudes."""
        size: Array = np.abs(self.mid) + self.rad
        return size

    def like(self, mid: Array, rad: Array) -> Band:
        """Return other numbers of the same computation."""
        return Band(mid, rad, self.digits)

    def _made(self, mid: Array, rad: Array, roundings: float = 1) -> Band:
        """Return a result that is rounded: its radius grows by so many units of it."""
        grown = np.abs(mid) * (roundings * self.unit * _SLACK)
        grown += rad * ((1 + roundings * self.unit) * _SLACK) + max(TINY[self.digits] * self.unit, 5e-324)
        return Band(mid, grown, self.digits)

    @property
    def known(self) -> bool:
        """Tell whether all radii are 0."""
        return not self.rad.ndim and not self.rad

    def _other(self, other: Band | float) -> Band:
        if isinstance(other, Band):
            return other
        # A constant may be rounded to the type of the computation before.
        rounds = self.digits <= 24 and float(np.float32(other)) != other and abs(other) != np.inf
        found = self.like(np.asarray(other, self.mid.dtype), _NONE)
        return found.within(self.unit * abs(other)) if rounds else found

    def rounded(self, roundings: float = 1) -> Band:
        """Return the numbers after so many more roundings."""
        return self._made(self.mid, self.rad, roundings)

    def within(self, absolute: float | Array) -> Band:
        """Return the numbers with a larger radius."""
        return replace(self, rad=self.rad + absolute)

    def __add__(self, other: Band | float) -> Band:
        other = self._other(other)
        return self._made(self.mid + other.mid, self.rad + other.rad)

    def __sub__(self, other: Band | float) -> Band:
        other = self._other(other)
        return self._made(self.mid - other.mid, self.rad + other.rad)

    def __rsub__(self, other: float) -> Band:
        return self._other(other) - self

    def __neg__(self) -> Band:
        return self.like(-self.mid, self.rad)

    def __mul__(self, other: Band | float) -> Band:
        other = self._other(other)
        rad = _NONE
        if not other.known:
            rad = np.abs(self.mid) * other.rad
        if not self.known:
            rad = rad + (np.abs(other.mid) + other.rad) * self.rad
        return self._made(self.mid * other.mid, rad)

    __radd__, __rmul__ = __add__, __mul__

    def __truediv__(self, other: Band | float) -> Band:
        other = self._other(other)
        mid = self.mid / other.mid
        if self.known and other.known:
            return self._made(mid, _NONE)
        least = np.abs(other.mid) - other.rad
        if least.min(initial=1) > 0:
            return self._made(mid, (self.rad + np.abs(mid) * other.rad) / least)
        rad = np.where(least > 0, (self.rad + np.abs(mid) * other.rad) / np.where(least > 0, least, 1), np.inf)
        return self._made(mid, np.where((other.rad == 0) & (self.rad == 0), 0, rad))

    def __rtruediv__(self, other: float) -> Band:
        return self._other(other) / self

    def function(self, f: Callable[[Array], Array], slope: Callable[[Array], Array] | float, ulps: float) -> Band:
        """Return a function of the numbers, that is computed with an error of so many ulp. ``slope``: the largest
        derivative around a number: of the number, or everywhere.
        """
        mid, rad = f(self.mid), self.rad
        if not self.known:
            largest = slope(self.mid) if callable(slope) else slope
            rad = np.where(rad == 0, 0, np.minimum(largest, 1e300) * rad)
        return self._made(mid, rad, 2 * ulps)  # an ulp is up to two units

    def exp(self, ulps: float = 1) -> Band:
        """Return the exponential."""
        mid = np.exp(self.mid)
        if self.known:
            rad = _NONE
        elif self.rad.max(initial=0) <= 1:  # exp(r) - 1 is then at most r + r²
            rad = mid * (self.rad + self.rad * self.rad)
        else:
            rad = np.where(self.rad == 0, 0, mid * np.expm1(self.rad))
        return self._made(mid, rad + TINY[self.digits], 2 * ulps)  # small results may become 0

    def log(self, ulps: float = 1) -> Band:
        """Return the natural logarithm."""
        rad, least = self.rad, self.mid - self.rad
        if not self.known or not least.min(initial=1) > 0:
            rad = np.where(least > 0, rad / np.where(least > 0, least, 1), np.inf)
        return self._made(np.log(self.mid), rad, 2 * ulps)

    def tanh(self, ulps: float = 1) -> Band:
        """Return the hyperbolic tangent."""
        return self.function(np.tanh, 1.0, ulps)

    def sigmoid(self) -> Band:
        """Return 1 / (1 + exp(-x)), computed like this."""
        return 1.0 / ((-self).exp() + 1.0)

    def sqrt(self) -> Band:
        """Return the square root."""
        mid = np.sqrt(self.mid)
        if self.known:
            return self._made(mid, _NONE, 2)
        rad = np.where(self.rad == 0, 0, np.minimum(self.rad / np.where(mid > 0, mid, 1), np.sqrt(self.rad)))
        return self._made(mid, np.where(mid > 0, rad, np.sqrt(self.rad)), 2)  # 1 ulp, as oneMKL computes arrays

    def sum(self, axes: Axes = None, keepdims: bool = False, more: int = 0) -> Band:
        """Return the sum over axes, in any order. ``more``: roundings of each term beside those of the sum."""
        mid = np.sum(self.mid, axis=axes, keepdims=keepdims)
        count = self.mid.size // max(mid.size, 1)
        rad = np.sum(self.rad, axis=axes, keepdims=keepdims) if self.rad.ndim else self.rad * count
        total = np.sum(np.abs(self.mid), axis=axes, keepdims=keepdims) + rad
        tiny = count * TINY[self.digits] * self.unit if more else 0
        return Band(mid, (rad + gamma(max(count - 1, 0) + more, self.unit) * total + tiny) * _SLACK, self.digits)

    def cumsum(self, axis: int) -> Band:
        """Return the sums of the numbers up to each, in any order."""
        mid = np.cumsum(self.mid, axis=axis)
        rad = np.cumsum(np.broadcast_to(self.rad, self.mid.shape), axis=axis)
        total = np.cumsum(np.abs(self.mid), axis=axis) + rad
        count = self.mid.shape[axis] if self.mid.ndim else 1
        return Band(mid, (rad + gamma(count, self.unit) * total) * _SLACK, self.digits)

    def mean(self, axes: Axes = None, keepdims: bool = False) -> Band:
        """Return the mean over axes: a sum, and a division or a product by the rounded inverse."""
        total = self.sum(axes, keepdims)
        count = self.mid.size // max(total.mid.size, 1)
        return (total * (1.0 / count if count else np.nan)).rounded()

    def __matmul__(self, other: Band) -> Band:
        mid = self.mid @ other.mid
        count, tiny = self.mid.shape[-1], TINY[self.digits]
        flushed = self.flushed or other.flushed
        rad = gamma(count, self.unit) * (self.size @ other.size) + count * tiny * (2 if flushed else self.unit)
        one, two = (each._subnormal() if flushed else None for each in (self, other))
        if one is not None:
            rad = rad + one @ other.size
        if two is not None:
            rad = rad + self.size @ two
        if self.rad.any():
            rad = rad + np.broadcast_to(self.rad, self.mid.shape) @ other.size
        if other.rad.any():
            rad = rad + np.abs(self.mid) @ np.broadcast_to(other.rad, other.mid.shape)
        return Band(mid, rad * _SLACK, self.digits)

    def _subnormal(self) -> Array | None:
        """Return the magnitudes of the subnormal numbers, and 0 for others; None if all are 0."""
        size = np.abs(self.mid)
        small = size < TINY[self.digits]
        return np.where(small, size, 0) if (small & (size > 0)).any() else None

    def apply(self, move: Callable[[Array], Array]) -> Band:
        """Return the numbers moved: reshaped, transposed, chosen."""
        rad = self.rad if not self.rad.ndim else move(np.broadcast_to(self.rad, self.mid.shape))
        return replace(self, mid=move(self.mid), rad=rad)

    def where(self, condition: Array, other: Band | float) -> Band:
        """Return these numbers where a condition holds, and others elsewhere."""
        other = self._other(other)
        rad = _NONE if self.known and other.known else np.where(condition, self.rad, other.rad)
        return self.like(np.where(condition, self.mid, other.mid), rad)


class Centers(Band):
    """Numbers without radii, which cost less to compute: most results that are rounded to 16 bits are as near to them
    as that rounding allows.
    """

    @staticmethod
    def of(numbers: Any, digits: int, flushed: bool = False) -> Centers:
        """Return exact numbers."""
        return Centers(np.asarray(numbers, _WIDE[digits]), _NONE, digits, flushed)

    def like(self, mid: Array, rad: Array) -> Centers:
        """Return other numbers of the same computation."""
        return Centers(mid, _NONE, self.digits)

    def _made(self, mid: Array, rad: Array, roundings: float = 1) -> Centers:
        return Centers(mid, _NONE, self.digits)

    def within(self, absolute: float | Array) -> Centers:
        """Return the numbers as they are."""
        return self

    def sum(self, axes: Axes = None, keepdims: bool = False, more: int = 0) -> Centers:
        """Return the sum over axes."""
        return self.like(np.sum(self.mid, axis=axes, keepdims=keepdims), _NONE)

    def __matmul__(self, other: Band) -> Centers:
        return self.like(self.mid @ other.mid, _NONE)
