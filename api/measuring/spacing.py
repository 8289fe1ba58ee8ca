"""The spacing of a format: ulps, the next value up and down, the values around a number, all values."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from halfulp.fp_formats import neighbours as around
from halfulp.fp_formats import scalar
from halfulp.fp_formats.exact.encoding import ulp_exponents
from halfulp.fp_formats.formats import Codes, FloatFormat, codes_to_ints, ints_to_codes
from halfulp.fp_formats.neighbours import Reals, ulp_at, within_f64
from halfulp.fp_formats.paths import fast
from halfulp.fp_formats.spelling import decimal_text, value_text
from halfulp.inputs import as_value, names_arguments
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.errors import InputError, TypeMismatch
from halfulp.interp.values.value import Value
from halfulp.number_reader import format_of, read_number
from halfulp.reals import reals_of, refuse_poison

TypeName = str | FloatFormat | ty.Type
_MOST_BITS = 16


def float_value(x: Any, type: TypeName | None, what: str) -> Value:
    """Return ``x`` as a value of a float type: of its own type, of the type of its dtype, or of ``type``. Raises
    TypeMismatch.
    """
    value = as_value(x, None if isinstance(x, Value) else type, what=what)
    if not isinstance(value.element_type, ty.FloatType):
        hint = f'round them to a float type: {what}(hu.convert(x, "f32"))'
        raise TypeMismatch(f"{what}: expected floats, got '{value.element_type}'", hint=hint)
    if type is not None and value.element_type.format != format_of(type):
        hint = "use hu.convert(x, to=…) to round it to another type"
        raise TypeMismatch(f"{what}: expected '{format_of(type)}', got '{value.element_type}'", hint=hint)
    return value


# --- ulp --------------------------------------------------------------------------------------------------------------


@names_arguments
def ulp(x: Any, type: TypeName | None = None) -> Any:
    """Return the ulp of a format at ``x``: the distance between neighbouring values of the format there, a power of
    two.

    ``x``: a number, an array or a `Value`, taken exactly.
    ``type``: a float type; by default the type of ``x`` (f64 for a Python float).

    The result is exact: a float; for an array, an array of f64 in its shape. For formats with a larger range than f64
    (f80, f128) it is a Fraction, or an object array of Fractions. An ulp is the distance between the two values around
    ``x``. If ``x`` is a value of the format, its ulp is the distance to the next value away from zero; at a power of
    two this is the larger of its two distances. At 0 and among the subnormal values, an ulp is the smallest subnormal
    value. At the largest value and beyond, it is the distance between the two largest values. NaN gives NaN, and
    infinities give infinity, as in `math.ulp`.

        >>> hu.ulp(1.0), hu.ulp(1.0, "bf16"), hu.ulp(300, "f8E4M3FN")
        (2.220446049250313e-16, 0.0078125, 32.0)

    Raises TypeMismatch if ``x`` has no float type and none is given, ValueError for poison.
    """
    refuse_poison(x, "ulp")
    if type is None:
        x = float_value(x, None, "hu.ulp")
        chosen = ty.float_format(x.type)
    else:
        chosen = format_of(type)
    reals = reals_of(x)
    found = ulps_of(chosen, reals)
    return found if reals.ndim else found.item()


def ulps_of(fmt: FloatFormat, reals: Reals) -> Reals:
    """Return the ulp at each number, as f64 if the format's range is within that of f64, else as Fractions."""
    if reals.dtype == np.float64 and within_f64(fmt):
        with np.errstate(invalid="ignore"):
            units = np.ldexp(1.0, ulp_exponents(fmt, reals.reshape(-1))).reshape(reals.shape)
        finite = np.isfinite(reals)
        return units if finite.all() else np.where(finite, units, np.abs(reals))
    found = np.empty(reals.shape, object)
    flat = found.reshape(-1)
    for place, number in enumerate(reals.reshape(-1).tolist()):
        flat[place] = ulp_at(fmt, Fraction(number)) if np.isfinite(float_or_sign(number)) else abs(number)
    return found.astype(np.float64) if within_f64(fmt) else found


def float_or_sign(number: Fraction | float) -> float:
    """Return a float unchanged, and 0 for a Fraction. The result is used only to recognise NaN and infinities."""
    return number if isinstance(number, float) else 0.0


# --- the next value ---------------------------------------------------------------------------------------------------


@names_arguments
def next_up(x: Any, type: TypeName | None = None) -> Value:
    """Return the next value above each element: IEEE 754-2019's nextUp.

    ``x``: a `Value`, an array or a number of a float type.
    ``type``: the type of a number without one. A Python number is rounded once to ``type``; nothing else is rounded.

    The result has the type and shape of ``x``. The negative value nearest to zero gives -0 (+0 in formats without -0).
    Both zeros give the smallest positive value. The largest value gives infinity; in a format without infinities it
    gives NaN, and in a format with neither it gives itself, as in LLVM's APFloat. Infinity gives infinity, and
    -infinity gives the most negative value. A NaN is quieted. A poison element stays poison.

        >>> hu.next_up(1.0, "bf16")
        Value(bf16=1.01)

    Raises TypeMismatch for elements that are not floats.
    """
    return _stepped(x, type, down=False)


@names_arguments
def next_down(x: Any, type: TypeName | None = None) -> Value:
    """Return the next value below each element: IEEE 754-2019's nextDown, the mirror image of `next_up`.

    In an unsigned format, the smallest value gives NaN; if the format has no NaN, it gives itself.

        >>> hu.next_down(1.0, "bf16")
        Value(bf16=0.996)

    Raises TypeMismatch for elements that are not floats.
    """
    return _stepped(x, type, down=True)


def _stepped(x: Any, type: TypeName | None, down: bool) -> Value:
    value = float_value(x, type, "hu.next_down" if down else "hu.next_up")
    found = fast.next_codes(ty.float_format(value.type), np.asarray(value.bits), down)
    return Value(value.type, found.codes, value.poison, value.open, value.origins)


# --- the values around a number ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Surroundings:
    """The values of a format around a number.

    ``exact``: the number.
    ``format``: the format.
    ``below``, ``above``: the next finite values strictly below and above, as scalar `Value`s; None if there is none.
    ``is_value``: the number is itself a value of the format.
    ``position``: the exact position of the number between ``below`` (0) and ``above`` (1); None if one of them does not
    exist.

    Iteration gives ``below`` and ``above``.
    """

    exact: Fraction
    format: FloatFormat
    below: Value | None
    above: Value | None
    is_value: bool
    position: Fraction | None

    def __iter__(self) -> Iterator[Value | None]:
        return iter((self.below, self.above))

    def __repr__(self) -> str:
        digits = 40 if self.format.bits <= 64 else 80
        below, above = (
            "nothing" if end is None else value_text(self.format, codes_to_ints(end.bits, self.format.bits)[0], digits)
            for end in (self.below, self.above)
        )
        middle = f"{decimal_text(self.exact, digits)}{' (a value)' if self.is_value else ''}"
        where = "" if self.position is None else f", at {decimal_text(self.position, 8)} of the way"
        return f"<{self.format.name}: {below} < {middle} < {above}{where}>"


@names_arguments
def neighbours(x: Any, type: TypeName) -> Surroundings:
    """Return the finite values of a format strictly below and above a real number, and the position of the number
    between them.

    ``x``: a finite number, a `fractions.Fraction` or `decimal.Decimal`, a scalar `Value`, or text as `hu.explain` takes
    it; it is not rounded.
    ``type``: a float type.

    The result has ``below``, ``above``, ``is_value`` and ``position``.

        >>> hu.neighbours("3/10", "f8E4M3FN")
        <f8E4M3FN: 0.28125 < 0.3 < 0.3125, at 0.6 of the way>

    Raises InputError for NaN, infinities and poison, and for an ``x`` that is not one number.
    """
    chosen = format_of(type)
    number = read_number(x, chosen)
    if number.exact is None:
        hint = "use hu.next_up or hu.next_down for the values beside an infinity"
        raise InputError(f"{number.text} has no neighbours: it is not a finite number", hint=hint)
    place = around.neighbours(chosen, number.exact)
    ends = [None if code is None else scalar.value(chosen, code) for code in place[:2]]
    below, above = (
        None if code is None else Value(ty.FloatType(chosen), ints_to_codes([code], chosen.bits, ()))
        for code in place[:2]
    )
    position = None
    if ends[0] is not None and ends[1] is not None:
        position = (number.exact - ends[0]) / (ends[1] - ends[0])
    return Surroundings(number.exact, chosen, below, above, place.exact, position)


# --- all values -------------------------------------------------------------------------------------------------------


@names_arguments
def all_values(type: TypeName, order: str = "value") -> Value:
    """Return every code of a format of at most 16 bits, each once, as a one-dimensional `Value`.

    ``order``: ``"value"`` (from -infinity to infinity, -0 before +0, NaNs last, in the order of their codes) or
    ``"code"`` (from 0).

        >>> hu.all_values("f4E2M1FN")
        Value(16xf4E2M1FN=-6 -4 -3 -2 -1.5 -1 -0.5 -0 0 0.5 1 1.5 2 3 4 6)

    Raises InputError for a wider format, and for any other order.
    """
    chosen = format_of(type)
    if chosen.bits > _MOST_BITS:
        hint = "use hu.next_up from a value on, or hu.plot.number_line for a window"
        raise InputError(
            f"{chosen.name} has 2**{chosen.bits} codes; all_values takes up to {_MOST_BITS} bits", hint=hint
        )
    if order not in ("value", "code"):
        raise InputError(f"order is {order!r}, but must be 'value' or 'code'")
    codes = np.arange(1 << chosen.bits, dtype=chosen.storage_dtype)
    if order == "value":
        codes = codes[np.argsort(_sort_keys(chosen, codes), kind="stable")]
    return Value(ty.TensorType(codes.shape, ty.FloatType(chosen)), codes)


def _sort_keys(fmt: FloatFormat, codes: Codes) -> npt.NDArray[np.int64]:
    """Return numbers that sort codes by their values; a NaN gets the largest number."""
    wide = codes.astype(np.int64)
    if fmt.sign_mask is not None:
        magnitude = wide & (fmt.sign_mask - 1)
        wide = np.where(wide & fmt.sign_mask, -1 - magnitude, magnitude)
    nans = np.array([fmt.is_nan(code) for code in codes.tolist()])
    return np.where(nans, 1 << fmt.bits, wide)
