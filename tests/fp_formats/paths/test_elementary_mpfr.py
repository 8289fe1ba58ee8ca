"""Every code of f16 and bf16 against MPFR, which computes in the format itself: its precision, its subnormals.

MPFR has four of the five modes. Ties away from zero differ from ties to even only where the exact result lies halfway
between two neighbours: where one bit more makes it exact.
"""

import gmpy2
import numpy as np
import numpy.typing as npt
import pytest
from mpfr import MPFR, MPFR_MODES

from halfulp.fp_formats.exact import conversions
from halfulp.fp_formats.formats import FORMATS, Codes, FloatFormat
from halfulp.fp_formats.paths import elementary
from halfulp.fp_formats.policy import Rounding

Reals = npt.NDArray[np.float64]


def numbers(fmt: FloatFormat) -> tuple[Codes, Reals]:
    """Return every code that is not a NaN, with its number."""
    codes = np.arange(1 << fmt.bits, dtype=fmt.storage_dtype)
    reals = values(fmt, codes)
    return codes[~np.isnan(reals)], reals[~np.isnan(reals)]


def values(fmt: FloatFormat, codes: Codes) -> Reals:
    return conversions.convert(fmt, FORMATS["f64"], codes).codes.view(np.float64)


def by_mpfr(name: str, fmt: FloatFormat, operands: Reals, mode: int, more_bits: int = 0) -> Reals:
    """Return MPFR's results in the format, or in one with more bits of precision."""
    with gmpy2.context(
        precision=fmt.precision + more_bits,
        emin=fmt.emin - fmt.mantissa_bits + 1 - more_bits,
        emax=fmt.emax + 1,
        subnormalize=True,
        round=mode,
    ):
        function = MPFR[name]
        return np.array([float(function(gmpy2.mpfr(x))) for x in operands.tolist()])


def away(name: str, fmt: FloatFormat, operands: Reals) -> Reals:
    """Return MPFR's results to nearest, ties away from zero."""
    nearest = by_mpfr(name, fmt, operands, gmpy2.RoundToNearest)
    low, high = (by_mpfr(name, fmt, operands, mode) for mode in (gmpy2.RoundDown, gmpy2.RoundUp))
    finer = [by_mpfr(name, fmt, operands, mode, 1) for mode in (gmpy2.RoundDown, gmpy2.RoundUp)]
    tie = (low != high) & (finer[0] == finer[1]) & np.isfinite(finer[0])
    return np.where(tie, np.where(np.signbit(low), low, high), nearest)


def assert_alike(name: str, fmt: FloatFormat, mode: Rounding) -> None:
    codes, operands = numbers(fmt)
    wanted = away(name, fmt, operands) if mode not in MPFR_MODES else by_mpfr(name, fmt, operands, MPFR_MODES[mode])
    found = values(fmt, elementary.unary(name, fmt, codes, mode).codes)
    alike = (np.isnan(wanted) & np.isnan(found)) | (wanted.view(np.uint64) == found.view(np.uint64))
    if name == "rsqrt":  # IEEE keeps the sign of the pole at -0, MPFR does not
        alike |= (operands == 0) & np.signbit(operands)
    wrong = np.flatnonzero(~alike)
    assert not wrong.size, [
        (hex(codes[k]), float(operands[k]), float(wanted[k]), float(found[k])) for k in wrong[:5].tolist()
    ]


@pytest.mark.long
@pytest.mark.parametrize("name", MPFR)
@pytest.mark.parametrize("format_name", ["f16", "bf16"])
def test_every_code_to_nearest(name: str, format_name: str) -> None:
    assert_alike(name, FORMATS[format_name], Rounding.TO_NEAREST_EVEN)


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", MPFR)
@pytest.mark.parametrize("format_name", ["f16", "bf16"])
@pytest.mark.parametrize("mode", list(Rounding)[1:5], ids=str)
def test_every_code_in_the_other_modes(name: str, format_name: str, mode: Rounding) -> None:
    assert_alike(name, FORMATS[format_name], mode)
