"""Elementary functions of one argument on arrays of codes: rounded from f64 where a margin settles them.

The specification computes the rest: special operands, exact results, what lies next to a rounding boundary.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from halfulp.fp_formats.codes import Codes, Mask
from halfulp.fp_formats.exact import conversions
from halfulp.fp_formats.exact.core import ArrayResult
from halfulp.fp_formats.formats import FORMATS, FloatFormat
from halfulp.fp_formats.paths.margins import APPROXIMATIONS, FARTHEST, LONGEST_MANTISSA, Reals, fits, settled
from halfulp.fp_formats.policy import FloatPolicy

Specification = Callable[[Codes], ArrayResult]
_F64 = FORMATS["f64"]


def applies(src: FloatFormat, dst: FloatFormat) -> bool:
    """Tell whether margins settle most results of a format that are rounded to ``dst``."""
    return src.bits <= 32 and dst.mantissa_bits <= LONGEST_MANTISSA and fits(dst)


def unary(
    name: str,
    src: FloatFormat,
    a: Codes,
    rounding: int,
    policy: FloatPolicy,
    dst: FloatFormat,
    specification: Specification,
) -> ArrayResult:
    """Return a function of a row of codes, with flags. ``specification`` computes the elements that are not settled."""
    row = APPROXIMATIONS[name]
    x = conversions.convert(src, _F64, a).codes.view(np.float64)
    ordinary = np.flatnonzero(_ordinary(src, x, policy))
    y = row.near(x[ordinary])
    outside = np.isnan(y)
    certain = settled(y, row.margin, dst) & ~outside
    unknown = np.ones(a.size, np.bool_)
    unknown[ordinary] = ~certain & ~outside
    rounded = conversions.round_f64(dst, y[certain].view(np.uint64), rounding, policy, want_flags=True)
    parts = [(ordinary[certain], rounded)]
    if outside.any():  # one result for all
        first = ordinary[outside]
        parts.append((first, specification(a[first[:1]])))
    rest = np.flatnonzero(unknown)
    parts.append((rest, specification(a[rest])))
    return _joined(a.size, dst, parts)


def _ordinary(src: FloatFormat, x: Reals, policy: FloatPolicy) -> Mask:
    """Tell which operands the claims of margins are about."""
    magnitude = np.absolute(x)
    least = 2.0**src.emin if policy.flushing(src).operands and fits(src) else 2.0**-FARTHEST
    found: Mask = (magnitude >= least) & (magnitude < 2.0**FARTHEST)
    return found


def _joined(size: int, dst: FloatFormat, parts: list[tuple[Codes, ArrayResult]]) -> ArrayResult:
    codes, flags = np.zeros(size, dst.storage_dtype), np.zeros(size, np.uint8)
    poison = np.zeros(size, np.bool_)
    for where, part in parts:
        assert part.flags is not None
        codes[where], flags[where] = part.codes, part.flags
        if part.poison is not None:
            poison[where] = part.poison
    return ArrayResult(codes, poison if poison.any() else None, flags)
