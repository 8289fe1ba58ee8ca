"""Elementary functions on arrays of codes, by one ball of fixed precision for each element.

This settles all but a few results of formats of every width. `halfulp.fp_formats.reals.elementary` computes the rest:
special operands, and results whose ball holds a rounding boundary, which most exact ones are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from flint import acb, arb

from halfulp.fp_formats.exact import conversions, core
from halfulp.fp_formats.exact.core import ArrayResult, Packed, RoundingOptions, Wide, equal, widen
from halfulp.fp_formats.exact.encoding import round_pack
from halfulp.fp_formats.formats import FORMATS, Codes, FloatFormat, Mask, ints_to_codes, limbs_to_ints, signed_integers
from halfulp.fp_formats.policy import SPEC, FloatPolicy
from halfulp.fp_formats.reals.functions import FUNCTIONS, bits_of_precision, exact_ball
from halfulp.fp_formats.reals.functions_of_two import FUNCTIONS_OF_TWO
from halfulp.fp_formats.scalar import RNE

_F64 = FORMATS["f64"]
_LONGEST = 126
"""Bits of the longest significand that `round_pack` takes."""
_BELOW_GRID = 43
"""Bits of a significand below the grid of its rounding boundaries, where there is room: so few results lie close."""
_SPARE = 16
"""Bits of a ball beyond those of the significand that is taken from it."""
_EXACT = 1 << 62
"""The accuracy of a ball without a radius: it is the result itself, also on the grid."""


class Settled(NamedTuple):
    """Results of one dimension, and the mask of those that are determined. The other results have no meaning."""

    result: ArrayResult
    mask: Mask


def unary(
    name: str,
    src: FloatFormat,
    a: Codes,
    rounding: int = RNE,
    policy: FloatPolicy = SPEC,
    dst: FloatFormat | None = None,
    want_flags: bool = False,
) -> Settled:
    """Return what `halfulp.fp_formats.reals.elementary.unary` returns, for codes of one dimension."""
    function = FUNCTIONS[name].ball
    balls, known = operands(src, a, policy)
    return settled(lambda: map(function, balls), known, rounding, policy, dst or src, want_flags)


def binary(
    name: str,
    fmt: FloatFormat,
    a: Codes,
    b: Codes,
    rounding: int = RNE,
    policy: FloatPolicy = SPEC,
    dst: FloatFormat | None = None,
    want_flags: bool = False,
) -> Settled:
    """Return what `halfulp.fp_formats.reals.elementary.binary` returns, for codes of one dimension and one length."""
    function = FUNCTIONS_OF_TWO[name].ball
    first, finite = operands(fmt, a, policy)
    second, other = operands(fmt, b, policy)
    return settled(lambda: map(function, first, second), finite & other, rounding, policy, dst or fmt, want_flags)


def of_integer(
    name: str,
    fmt: FloatFormat,
    a: Codes,
    n: Codes,
    width: int,
    rounding: int = RNE,
    policy: FloatPolicy = SPEC,
    dst: FloatFormat | None = None,
    want_flags: bool = False,
) -> Settled:
    """Return what `halfulp.fp_formats.reals.elementary.of_integer` returns, for codes of one dimension and one length.

    ``n``: codes of signed integers of ``width`` bits, from 1 to 64.
    """
    function = FUNCTIONS_OF_TWO[name].ball
    integers = signed_integers(n, width)
    balls, finite = operands(fmt, a, policy)
    known = finite & (integers != 0)
    if name == "rootn":
        known &= (integers % 2 != 0) | ~_negative(fmt, a)
    # Where nothing is known, any degree serves.
    degrees = map(arb, np.where(known, integers, 1).tolist())
    return settled(lambda: map(function, balls, degrees), known, rounding, policy, dst or fmt, want_flags)


def of_complex(
    ball: Callable[..., acb], fmt: FloatFormat, *numbers: Codes, policy: FloatPolicy = SPEC
) -> tuple[Codes, Mask]:
    """Return the codes of a function of complex numbers, and the mask of the results that are determined. The last axis
    of ``numbers`` holds the real and the imaginary part.

    ``ball``: a function from balls of numbers that are not on the axes to a ball of the result.
    """
    parts = [operands(fmt, np.ascontiguousarray(each[:, k]), policy) for each in numbers for k in (0, 1)]
    known = np.logical_and.reduce([finite for _, finite in parts])
    rows = [map(acb, one, other) for (one, _), (other, _) in zip(parts[::2], parts[1::2], strict=True)]
    found: list[acb] = []

    def real() -> Iterable[arb]:
        found.extend(map(ball, *rows))
        return [each.real for each in found]

    one = settled(real, known, RNE, policy, fmt, False)
    other = settled(lambda: [each.imag for each in found], known, RNE, policy, fmt, False)
    return np.stack([one.result.codes, other.result.codes], axis=-1), one.mask & other.mask


def _negative(fmt: FloatFormat, codes: Codes) -> Mask:
    negative: Mask = core.sign_of(fmt, core.lift(fmt, codes, fmt.limbs == 2)) != 0
    return negative


def operands(fmt: FloatFormat, codes: Codes, policy: FloatPolicy) -> tuple[list[arb], Mask]:
    """Return operands as exact balls, and the mask of the finite ones other than zero; the balls of the other operands
    have no meaning.
    """
    options = RoundingOptions(RNE, policy, False)
    (lifted,) = core.operands(fmt, options, codes)
    special = core.specials_of(fmt, lifted)
    known: Mask = ~equal(core.magnitude_of(fmt, lifted), 0) if fmt.zero else np.ones(len(codes), np.bool_)
    if special is not None:
        known &= ~special
    least = fmt.emin - fmt.mantissa_bits
    if fmt.precision <= _F64.precision and fmt.emax <= _F64.emax and least >= _F64.emin - _F64.mantissa_bits:
        # Flushed operands are zeros, which are not known.
        numbers = codes if fmt == _F64 else conversions.convert(fmt, _F64, codes).codes
        return list(map(arb, np.where(known, numbers, np.uint64(0)).view(np.float64).tolist())), known
    signs, significands, exponents = core.unpack(fmt, lifted)
    pair = widen(significands)
    magnitudes = limbs_to_ints(np.stack([pair.lo, pair.hi], axis=-1))
    return [
        exact_ball(-magnitude if sign else magnitude, exponent)
        for sign, magnitude, exponent in zip(signs.tolist(), magnitudes, exponents.tolist(), strict=True)
    ], known


def settled(
    balls: Callable[[], Iterable[arb]],
    known: Mask,
    rounding: int,
    policy: FloatPolicy,
    dst: FloatFormat,
    want_flags: bool,
) -> Settled:
    """Round the results that balls determine: if all numbers of a ball round alike, its midpoint is rounded.

    ``balls``: gives a ball for each element. ``known``: the mask of the elements whose balls have a meaning.
    """
    bits = min(_LONGEST, dst.precision + 2 + _BELOW_GRID)
    least, most = dst.emin - 2 * bits, dst.emax + 2
    signs: list[bool] = []
    significands: list[int] = []
    exponents: list[int] = []
    accuracies: list[int] = []
    with bits_of_precision(bits + _SPARE):
        for ball in balls():
            accuracy = ball.rel_accuracy_bits()
            if accuracy < bits // 2 or not ball.is_finite():
                signs.append(False)
                significands.append(0)
                exponents.append(0)
                accuracies.append(0)
                continue
            long, at = ball.mid().man_exp()
            significand, exponent = int(long), int(at)
            signs.append(significand < 0)
            magnitude = abs(significand)
            excess = magnitude.bit_length() - bits
            kept = magnitude >> excess if excess >= 0 else magnitude << -excess
            if accuracy > _LONGEST + _SPARE and ball.is_exact():
                accuracy = _EXACT
                if excess > 0 and kept << excess != magnitude:
                    kept |= 1  # stands for the bits that are cut off
            significands.append(kept)
            # Further out all results round alike, and the exponents fit their fields.
            exponents.append(max(least, min(most, exponent + excess)))
            accuracies.append(accuracy)
    whole = ints_to_codes(significands, 128, (len(significands),))
    mask = known & _apart(whole, np.array(accuracies, np.int64), bits, dst)
    return Settled(_rounded(np.array(signs, np.uint64), whole, exponents, rounding, policy, dst, want_flags), mask)


def _apart(significands: Codes, accuracies: npt.NDArray[np.int64], bits: int, dst: FloatFormat) -> Mask:
    """Tell which significands lie further from the grid of rounding boundaries than the radius of their balls.

    The grid has one bit for midpoints and one more than needed. At subnormal results it is finer than needed.
    """
    below = bits - dst.precision - 2
    rest = (significands[:, 0] & np.uint64((1 << below) - 1)).astype(np.int64)
    # The radius is below 2**(bits - accuracy - 1); one more unit for the bits that are cut off.
    radius = (np.int64(1) << np.clip(bits - accuracies, 0, below)) + 1
    apart = (rest > radius) & (rest < (1 << below) - radius) | (accuracies == _EXACT)
    found: Mask = apart & (significands[:, 1] | significands[:, 0] != 0)
    return found


def _rounded(
    signs: npt.NDArray[np.uint64],
    significands: Codes,
    exponents: list[int],
    rounding: int,
    policy: FloatPolicy,
    dst: FloatFormat,
    want_flags: bool,
) -> ArrayResult:
    def kernel(options: RoundingOptions, sign: Codes, significand: Codes, exponent: Codes) -> Packed:
        pair = Wide(significand[:, 1].copy(), significand[:, 0].copy())
        return round_pack(dst, sign, pair, exponent.view(np.int64), options)

    options = core.rounding_options(rounding, policy, None, want_flags)
    places = np.array(exponents, np.int64).view(np.uint64)
    return core.run(kernel, options, dst.bits, (signs, 64), (significands, 128), (places, 64))
