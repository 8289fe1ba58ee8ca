"""Elementary functions of two arguments on arrays of codes: rounded from f64 where a margin settles them.

The method is that of `margins`. Exact results, which lie next to rounding boundaries more often than others, are found
in f64 too. The specification computes the rest, once for equal pairs of operands.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np
import numpy.typing as npt

from halfulp.fp_formats.exact import conversions
from halfulp.fp_formats.exact.core import ArrayResult
from halfulp.fp_formats.exact.encoding import round_f64
from halfulp.fp_formats.formats import FORMATS, Codes, FloatFormat, Mask, signed_integers
from halfulp.fp_formats.paths import margins
from halfulp.fp_formats.paths.domains import NATIVE
from halfulp.fp_formats.paths.error_free import Index
from halfulp.fp_formats.paths.margins import ordinary
from halfulp.fp_formats.policy import FloatPolicy

Specification = Callable[[Codes, Codes], ArrayResult]

_F64 = FORMATS["f64"]
_LONGEST_INTEGER = _F64.precision
_SQUARABLE = _F64.precision // 2  # bits of precision of numbers with an exact square
_BELOW_SQUARABLE = np.uint64((1 << _F64.precision - _SQUARABLE) - 1)
_MOST_ROOTS = 5  # of a significand of 24 bits: the next square root is 1 or not rational
_EXACT_INTEGERS = 1 << _F64.precision
_NONE = np.nan
_ALONE, _OUTSIDE = -1, -2  # labels of pairs; the others are not negative
_CLASSES = 32
CHUNK = 1 << 14  # pairs: the temporaries of one chunk stay in the second-level cache


@dataclass(frozen=True)
class PairApproximation(margins.Approximation):
    """An approximation of a function of two operands, which are the rows of one array.

    ``exact``: a function of the operands and the approximations; it gives the results that are known to be exact
    numbers of f64, and NaN for the others. ``zeros``: the error is also below the margin for operands that are zero.
    """

    exact: Callable[[margins.Reals, margins.Reals], margins.Reals] = lambda x, y: np.full(y.shape, _NONE)
    zeros: bool = False


# --- exact results ----------------------------------------------------------------------------------------------------


def _squarable(x: margins.Reals) -> Mask:
    found: Mask = (x.view(np.uint64) & _BELOW_SQUARABLE) == 0
    return found


def _integer_powers(x: margins.Reals, n: margins.Reals) -> margins.Reals:
    """Return x**n for integers n where it is a number of f64, found by integers; NaN elsewhere."""
    fraction, exponent = np.frexp(np.absolute(x))
    significand = np.ldexp(fraction, _LONGEST_INTEGER).astype(np.int64)
    lowest = significand & -significand
    odd = significand // np.maximum(lowest, 1)
    exponent = exponent - np.frexp(odd.astype(np.float64))[1]
    places = exponent * n  # the power of two; exact, or far too large
    short = (np.frexp(odd.astype(np.float64))[1] * n <= _LONGEST_INTEGER) & (n >= 0)
    known = (np.rint(n) == n) & ((odd == 1) | short) & (np.absolute(places) < margins.FARTHEST)
    power = np.where(known & (odd != 1), n, 0).astype(np.int64)
    magnitude = np.ldexp((odd**power).astype(np.float64), np.where(known, places, 0).astype(np.int64))
    signed = np.where((x < 0) & (np.fmod(n, 2) != 0), -magnitude, magnitude)
    return np.where(known, signed, _NONE)


def _exact_powers(pair: margins.Reals, y: margins.Reals) -> margins.Reals:
    """Return x**(n / 2**k), the n-th power of an exact root."""
    base, exponent = pair
    for _ in range(_MOST_ROOTS):
        whole = np.rint(exponent) == exponent
        if whole.all():
            break
        root = np.sqrt(np.where(whole, 1, base))
        rational = _squarable(root) & (root * root == base)
        base = np.where(whole, base, np.where(rational, root, _NONE))
        exponent = np.where(whole, exponent, 2 * exponent)
    known = np.isfinite(base)
    return np.where(known, _integer_powers(np.where(known, base, 1), exponent), _NONE)


def _exact_roots(pair: margins.Reals, y: margins.Reals) -> margins.Reals:
    """Return the approximation without its last bits, if the n-th power of this is the operand."""
    x, n = pair
    bits = y.view(np.uint64)
    half = np.uint64(1 << 25)
    short = ((bits + half) & ~np.uint64(2 * half - 1)).view(np.float64)
    usable = np.isfinite(short) & (short != 0)
    short = np.where(usable, short, 1)
    power = _integer_powers(np.where(n < 0, 1 / short, short), np.absolute(n))
    inverse = (n > 0) | (np.frexp(np.absolute(short))[0] == 0.5)  # 1 / short is exact
    return np.where(usable & inverse & (power == x), short, _NONE)


def _exact_distances(pair: margins.Reals, y: margins.Reals) -> margins.Reals:
    """Return approximations whose square is exactly the sum of the squares of the operands."""
    x, z = np.square(pair)
    total = x + z
    long, short = np.maximum(x, z), np.minimum(x, z)
    found = _squarable(y) & (y * y == total) & (total - long == short)
    return np.where(found, y, _NONE)


# --- the table --------------------------------------------------------------------------------------------------------


def _distance(pair: margins.Reals) -> margins.Reals:
    # Squares of formats of up to 32 bits are exact, and in the range of f64.
    x, z = pair
    distance: margins.Reals = np.sqrt(x * x + z * z)
    return distance


def _root(pair: margins.Reals) -> margins.Reals:
    x, n = pair
    magnitude = np.power(np.absolute(x), 1 / n)
    odd = np.fmod(n, 2) != 0
    return np.where(x < 0, np.where(odd, -magnitude, _NONE), magnitude)


def _flat_angle(pair: margins.Reals) -> margins.Reals:
    """Return y / x for angles near the positive axis: the angle is a little less."""
    y, x = pair
    return np.where(x > 0, y / x, 0)


def _base_beyond_one(pair: margins.Reals) -> Mask:
    found: Mask = (np.absolute(pair[0]) > 1) == (pair[1] > 0)
    return found


def _one(pair: margins.Reals) -> margins.Reals:
    """Return 1, which no power other than those of 1 and -1 reaches; 0 for powers of these."""
    return np.where(np.absolute(pair[0]) == 1, 0, 1)


def _longer_side(pair: margins.Reals) -> margins.Reals:
    """Return the longer side, which is shorter than the hypotenuse; 0 where the other side is zero."""
    magnitude = np.absolute(pair)
    return np.where(magnitude.min(axis=0) == 0, 0, magnitude.max(axis=0))


_POWER = margins.Side(_one, _base_beyond_one)

PAIRS: Mapping[str, PairApproximation] = MappingProxyType(
    {
        "atan2": PairApproximation(lambda pair: np.arctan2(pair[0], pair[1]), (margins.Side(_flat_angle, False),)),
        "hypot": PairApproximation(
            _distance,
            (margins.Side(_longer_side, True),),
            exact=_exact_distances,
            zeros=True,
        ),
        "powf": PairApproximation(
            lambda pair: np.power(pair[0], pair[1]), (_POWER,), overflows=True, underflows=True, exact=_exact_powers
        ),
        "rootn": PairApproximation(_root, (_POWER,), exact=_exact_roots),
    }
)
"""The functions of two arguments, by the names of `halfulp.fp_formats.reals`."""


# --- the path ---------------------------------------------------------------------------------------------------------


def applies(fmt: FloatFormat, dst: FloatFormat) -> bool:
    """Tell whether margins settle most results of operands of a format that are rounded to ``dst``."""
    squares = fmt.precision <= _SQUARABLE and max(fmt.mantissa_bits - fmt.emin, fmt.emax) < margins.FARTHEST // 2
    return fmt.bits <= 32 and squares and dst.mantissa_bits <= margins.LONGEST_MANTISSA and margins.fits(dst)


def binary(
    name: str,
    fmt: FloatFormat,
    a: Codes,
    b: Codes,
    rounding: int,
    policy: FloatPolicy,
    dst: FloatFormat,
    specification: Specification,
) -> ArrayResult:
    """Return the results of a function for two arrays of codes, of one dimension and one length, with flags.
    ``specification`` computes the elements that no margin settles.
    """
    row, least = PAIRS[name], margins.least_operand(fmt, policy)

    def chunk(x: Codes, z: Codes) -> tuple[margins.Reals, Mask]:
        pair = np.stack([_numbers(fmt, x), _numbers(fmt, z)])
        first, second = (ordinary(each, least) for each in pair)
        if not row.zeros:
            return pair, first & second
        return pair, (first | (pair[0] == 0)) & (second | (pair[1] == 0)) & (first | second)

    return _of_pairs(row, chunk, least, a, b, rounding, policy, dst, specification)


def of_integer(
    name: str,
    fmt: FloatFormat,
    a: Codes,
    n: Codes,
    width: int,
    rounding: int,
    policy: FloatPolicy,
    dst: FloatFormat,
    specification: Specification,
) -> ArrayResult:
    """Return ``powf`` or ``rootn`` of codes and of signed integers of ``width`` bits (1 to 64), given as codes, with
    flags. Both arrays have one dimension and one length. ``specification`` computes the elements that no margin
    settles.
    """
    row, least = PAIRS[name], margins.least_operand(fmt, policy)

    def chunk(x: Codes, k: Codes) -> tuple[margins.Reals, Mask]:
        first = _numbers(fmt, x)
        integers = signed_integers(k, width)
        numbers = np.where(np.absolute(integers) <= _EXACT_INTEGERS, integers.astype(np.float64), _NONE)
        return np.stack([first, numbers]), ordinary(first, least) & (np.absolute(numbers) > 0)

    return _of_pairs(row, chunk, least, a, n, rounding, policy, dst, specification)


def _numbers(fmt: FloatFormat, codes: Codes) -> margins.Reals:
    if fmt in NATIVE:
        with np.errstate(invalid="ignore"):
            return codes.view(NATIVE[fmt]).astype(np.float64)
    numbers: margins.Reals = conversions.convert(fmt, _F64, codes).codes.view(np.float64)
    return numbers


def _of_pairs(
    row: PairApproximation,
    chunk: Callable[[Codes, Codes], tuple[margins.Reals, Mask]],
    least: float,
    a: Codes,
    b: Codes,
    rounding: int,
    policy: FloatPolicy,
    dst: FloatFormat,
    specification: Specification,
) -> ArrayResult:
    """Return the results of two rows. ``chunk``: a function that returns, for parts of the rows, the operands and the
    mask of ordinary ones.
    """
    result = ArrayResult(np.empty(a.size, dst.storage_dtype), np.zeros(a.size, np.bool_), np.empty(a.size, np.uint8))
    rest, labels = [], []
    for start in range(0, a.size, CHUNK):
        part = slice(start, start + CHUNK)
        pair, ordinary = chunk(a[part], b[part])
        y, certain = _settled(row, pair, ordinary, dst)
        rounded = round_f64(dst, y[certain].view(np.uint64), rounding, policy, want_flags=True)
        margins.put(result, start + np.flatnonzero(certain), rounded, slice(None))
        others = np.flatnonzero(~certain)
        rest.append(start + others)
        outside = np.where(np.isnan(y[others]), _OUTSIDE, _ALONE)
        labels.append(np.where(ordinary[others], outside, _labels(pair[:, others], least)))
    where, label = np.concatenate(rest), np.concatenate(labels)
    first, which = _different(a[where], b[where], label)
    margins.put(result, where, specification(a[where[first]], b[where[first]]), which)
    return result if result.poison is not None and result.poison.any() else result._replace(poison=None)


def _settled(
    row: PairApproximation, pair: margins.Reals, ordinary: Mask, dst: FloatFormat
) -> tuple[margins.Reals, Mask]:
    """Return numbers that round like the results, and the mask of those that do; NaN outside of the domain."""
    places = np.flatnonzero(ordinary)
    operands = pair[:, places]
    near = row.near(operands)
    certain = margins.settled(near, row.margin, dst) & ~np.isnan(near)
    unsure = np.flatnonzero(~certain & ~np.isnan(near))
    with np.errstate(all="ignore"):
        some = operands[:, unsure]
        exact = row.exact(some, row.function(some))
    known = np.isfinite(exact) & (exact != 0)
    near[unsure[known]] = exact[known]
    certain[unsure[known]] = True
    y, mask = np.zeros(ordinary.shape), np.zeros(ordinary.shape, np.bool_)
    y[places], mask[places] = near, certain
    return y, mask


def _labels(pair: margins.Reals, least: float) -> npt.NDArray[np.int64]:
    """Return equal numbers for pairs with the same result; _ALONE for pairs about which nothing is known.

    If one operand is zero or infinite, the classes of both decide: the sign, whether the magnitude is below, at or
    above 1, and the parity.
    """
    with np.errstate(all="ignore"):
        magnitude = np.absolute(pair)
        size = (magnitude > 0).astype(np.int64) + (magnitude >= 1) + (magnitude > 1) + (magnitude == np.inf)
        parity = np.where(np.rint(magnitude) == magnitude, np.fmod(magnitude, 2) == 1, 2)
        classes = (size * 3 + parity) * 2 + np.signbit(pair)
        special = ((magnitude == 0) | (magnitude == np.inf)).any(axis=0)
        special &= ~(np.isnan(pair) | ((magnitude > 0) & (magnitude < least))).any(axis=0)
    return np.where(special, classes[0] * _CLASSES + classes[1], _ALONE)


def _different(a: Codes, b: Codes, labels: npt.NDArray[np.int64]) -> tuple[Index, Index]:
    """Return where each of the different pairs occurs first, and which of them each pair is."""
    shared = labels != _ALONE
    first_code, second_code = (np.where(shared, 0, each.astype(np.uint64)) for each in (a, b))
    order = np.lexsort((second_code, first_code, labels))
    columns = np.stack([labels.view(np.uint64)[order], first_code[order], second_code[order]])
    fresh = np.ones(order.size, np.bool_)
    fresh[1:] = (columns[:, 1:] != columns[:, :-1]).any(axis=0)
    which = np.empty(order.size, np.intp)
    which[order] = np.cumsum(fresh) - 1
    return order[fresh], which
