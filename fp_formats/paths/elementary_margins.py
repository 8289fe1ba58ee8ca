"""Elementary functions of one argument on arrays of codes: rounded from f64 where a margin settles them.

The specification computes the rest: special operands, exact results, what lies next to a rounding boundary.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from halfulp.fp_formats.exact import conversions
from halfulp.fp_formats.exact.core import ArrayResult
from halfulp.fp_formats.exact.encoding import round_f64
from halfulp.fp_formats.formats import FORMATS, Codes, FloatFormat, Mask
from halfulp.fp_formats.paths.error_free import Index
from halfulp.fp_formats.paths.margins import APPROXIMATIONS, FARTHEST, LONGEST_MANTISSA, Reals, fits, settled
from halfulp.fp_formats.paths.tables import CHUNK
from halfulp.fp_formats.policy import FloatPolicy

Specification = Callable[[Codes], ArrayResult]
_F64 = FORMATS["f64"]


def applies(src: FloatFormat, dst: FloatFormat) -> bool:
    """Tell whether margins settle most results of a format that are rounded to ``dst``."""
    return src.bits <= 32 and fits(src) and dst.mantissa_bits <= LONGEST_MANTISSA and fits(dst)


def unary(
    name: str,
    src: FloatFormat,
    a: Codes,
    rounding: int,
    policy: FloatPolicy,
    dst: FloatFormat,
    specification: Specification,
) -> ArrayResult:
    """Return a function of codes, with flags. ``specification`` computes the elements that are not settled."""
    flat = a.reshape(-1)
    codes, flags = np.empty(a.size, dst.storage_dtype), np.empty(a.size, np.uint8)
    poison = np.zeros(a.size, np.bool_)
    for start in range(0, a.size, CHUNK):
        part = slice(start, start + CHUNK)
        found = _unary(name, src, flat[part], rounding, policy, dst, specification)
        put(ArrayResult(codes, poison, flags), part, found, slice(None))
    shaped = ArrayResult(codes.reshape(a.shape), poison.reshape(a.shape), flags.reshape(a.shape))
    return shaped if poison.any() else shaped._replace(poison=None)


def _unary(
    name: str,
    src: FloatFormat,
    a: Codes,
    rounding: int,
    policy: FloatPolicy,
    dst: FloatFormat,
    specification: Specification,
) -> ArrayResult:
    row = APPROXIMATIONS[name]
    x = conversions.convert(src, _F64, a).codes.view(np.float64)
    usual = np.flatnonzero(ordinary(x, least_operand(src, policy)))
    y = row.near(x[usual])
    outside = np.isnan(y)
    certain = settled(y, row.margin, dst) & ~outside
    rounded = round_f64(dst, y[certain].view(np.uint64), rounding, policy, want_flags=True)
    # The others, one of those that are alike: all outside of the domain are.
    other = usual[~certain]
    alike = np.where(outside[~certain], np.nan, row.alike(x[other]))
    _, first, which = np.unique(alike.view(np.uint64), return_index=True, return_inverse=True)
    special = np.ones(a.size, np.bool_)
    special[usual] = False
    apart = np.flatnonzero(special)
    codes, same = np.unique(a[apart], return_inverse=True)
    found = specification(np.concatenate((a[other[first]], codes)))
    result = ArrayResult(np.empty(a.size, dst.storage_dtype), np.zeros(a.size, np.bool_), np.empty(a.size, np.uint8))
    put(result, usual[certain], rounded, slice(None))
    put(result, other, found, which)
    put(result, apart, found, first.size + same)
    return result


def least_operand(fmt: FloatFormat, policy: FloatPolicy) -> float:
    """Return the magnitude below which an operand other than zero is not itself."""
    return 2.0**fmt.emin if policy.flushing(fmt).operands else 0.0


def ordinary(x: Reals, least: float) -> Mask:
    """Tell which operands the claims of margins are about. ``least``: as `least_operand` returns it."""
    magnitude = np.absolute(x)
    found: Mask = (magnitude >= max(least, 2.0**-FARTHEST)) & (magnitude < 2.0**FARTHEST)
    return found


def put(result: ArrayResult, where: Index | slice, part: ArrayResult, which: Index | slice) -> None:
    """Write some elements of a part to these places of a result."""
    for whole, each in zip(result, part, strict=True):
        if whole is not None and each is not None:
            whole[where] = each[which]
