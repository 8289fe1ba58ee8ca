"""Numbers in fixed point, rounded, limited, added and multiplied as ac_fixed and SystemC do."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from halfulp.interp.ir import types as ty
from halfulp.interp.values.value import Value
from halfulp.quantizing.blocks import float_value
from halfulp.semantics import fixed_point
from halfulp.semantics.fixed_point import FixedFormat

__all__ = ["FixedArray", "FixedFormat", "array"]


@dataclass(frozen=True, eq=False)
class FixedArray:
    """Numbers in fixed point: `integers` times ``format.unit``.

    ``integers``: an array of int64, or of Python integers for wider formats; they are the values of the codes in two's
    complement. ``+``, ``-`` and ``*`` of two `FixedArray`s are exact: the result has the format that ac_fixed defines
    for it. `to` converts to a format with its rounding and overflow.
    """

    format: FixedFormat
    integers: npt.NDArray[Any]

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the numbers."""
        return self.integers.shape

    @property
    def codes(self) -> npt.NDArray[Any]:
        """The bit patterns as unsigned integers: of uint64, or of Python integers for more than 64 bits."""
        wide = self.integers.astype(object) & (1 << self.format.width) - 1
        return wide if self.format.width > 64 else np.asarray(wide, np.uint64)

    def to(self, format: FixedFormat) -> FixedArray:
        """Convert the numbers to a format, whose modes round them and bring them into its range."""
        return _fixed(format, fixed_point.converted(self.integers, self.format, format))

    def _exact(self) -> npt.NDArray[Any]:
        return np.asarray(self.integers.astype(object) * self.format.unit, object)

    def fractions(self) -> Any:
        """Return the exact values as nested lists of `Fraction`s; the value of a scalar as one `Fraction`."""
        values: Any = self._exact().tolist()
        return values

    def numpy(self) -> npt.NDArray[np.float64]:
        """Return the values as f64. Raises ValueError if f64 cannot represent all of them; use `fractions` then."""
        exact = self._exact()
        found = exact.astype(np.float64)
        if any(Fraction(float(x)) != y for x, y in zip(found.flat, exact.flat, strict=True)):
            raise ValueError(f"f64 cannot represent all values of {self.format}: use fractions()")
        return found

    def __neg__(self) -> FixedArray:
        return _fixed(fixed_point.negated_format(self.format), -fixed_point.roomy(self.integers, self.format.width + 1))

    def __add__(self, other: FixedArray) -> FixedArray:
        return self._exactly("add", other)

    def __sub__(self, other: FixedArray) -> FixedArray:
        return self._exactly("subtract", other)

    def __mul__(self, other: FixedArray) -> FixedArray:
        return self._exactly("multiply", other)

    def _exactly(self, operation: str, other: FixedArray) -> FixedArray:
        if not isinstance(other, FixedArray):
            return NotImplemented
        formats = self.format, other.format
        found = fixed_point.exact(operation, self.integers, other.integers, formats)
        return _fixed(fixed_point.FORMATS_OF_RESULTS[operation](*formats), found)

    def __repr__(self) -> str:
        texts = [f"{float(x):g}" for x in self._exact().flat]
        shown = " ".join(texts[:60]) + (" ..." if len(texts) > 60 else "")
        head = "".join(f"{size}x" for size in self.shape)
        return f"FixedArray({head}{self.format}={shown})"


def _fixed(fmt: FixedFormat, integers: Any) -> FixedArray:
    found = np.asarray(integers, object if fmt.width > fixed_point.INT64 else np.int64)
    found.setflags(write=False)
    return FixedArray(fmt, found)


def array(x: Any, to: FixedFormat, type: Any = None) -> FixedArray:
    """Convert numbers to fixed point: each exact number is rounded once, by the modes of the format.

    ``x``: an array or `Value` of floats or integers; `Fraction`s, alone or in lists; or a `FixedArray`.
    ``type``: the element type of ``x``, if its dtype is not enough.

        hu.fixed.array([0.3, -1.7], hu.fixed.FixedFormat(8, 4, rounding="AC_RND_CONV", overflow="AC_SAT"))

    Raises ValueError for an infinity or a NaN, and for poison.
    """
    if isinstance(x, FixedArray):
        return x.to(to)
    if _are_fractions(x):
        exact = np.array(x, object)
        return _fixed(to, _each(exact, lambda number: fixed_point.of_fraction(Fraction(number), to)))
    if isinstance(x, Value) and x.poison is not None:
        raise ValueError("the value has poison, which a number in fixed point cannot be")
    if isinstance(x, Value) and isinstance(x.element_type, ty.IntegerType):
        x = np.array(x.tolist(), object)
    plain = None if isinstance(x, Value) or type is not None else np.asarray(x)
    if plain is not None and plain.dtype.kind in "iubO":
        return _fixed(
            to, _each(plain.astype(object), lambda number: fixed_point.of_fraction(Fraction(int(number)), to))
        )
    value = float_value(x, type)
    return _fixed(to, fixed_point.of_floats(ty.float_format(value.element_type), value.bits, to))


def _each(numbers: npt.NDArray[Any], compute: Any) -> npt.NDArray[Any]:
    return np.array([compute(number) for number in numbers.flat], object).reshape(numbers.shape)


def _are_fractions(x: Any) -> bool:
    while isinstance(x, Sequence) and not isinstance(x, str) and len(x):
        x = x[0]
    return isinstance(x, Fraction)
