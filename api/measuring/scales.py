"""Scales: the number by which an array is divided before it is rounded to a narrow format."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from html import escape
from typing import Any

import numpy as np
import numpy.typing as npt

from halfulp.fp_formats import scalar
from halfulp.fp_formats.formats import FloatFormat
from halfulp.fp_formats.neighbours import floor_exponent
from halfulp.fp_formats.spelling import fragment, table, table_lines, title
from halfulp.interp.ir.errors import InputError, TypeMismatch
from halfulp.measuring.errors import ErrorReport, decibels_text, error, without_nan
from halfulp.measuring.spacing import TypeName
from halfulp.number_reader import format_of
from halfulp.reals import reals_of, refuse_poison

Floats = npt.NDArray[np.float64]
_SMALLEST, _LARGEST = 2.0**-1022, 2.0**1022


def floats_of(x: Any, what: str) -> Floats:
    """Return numbers as f64, exactly. Raises TypeMismatch for numbers that f64 does not hold, ValueError for poison."""
    refuse_poison(x, what)
    reals = reals_of(x)
    if reals.dtype != np.float64:
        floats = np.array([float(number) for number in reals.reshape(-1).tolist()]).reshape(reals.shape)
        if any(map(_differ, floats.reshape(-1).tolist(), reals.reshape(-1).tolist())):
            raise TypeMismatch(f"{what}: some numbers do not fit in f64", hint='round them: hu.convert(x, "f64")')
        return floats
    return reals


def _differ(number: float, exact: Fraction | float) -> bool:
    return math.isfinite(number) and Fraction(number) != exact


def scaled_error(numbers: Floats, fmt: FloatFormat, scale: float, conversion: Mapping[str, Any]) -> ErrorReport:
    """Return the errors of rounding ``numbers / scale`` to a format.

    The quotients are f64 numbers: exact for a power of two, else rounded to nearest with a relative error of at most
    2**-53.
    """
    if scale == 1:
        return error(numbers, fmt, **conversion)
    with np.errstate(all="ignore"):
        return error(numbers / scale, fmt, **conversion)


@dataclass(frozen=True, repr=False)
class SuggestedScale:
    """A scale: divide the numbers by it before they are rounded, and multiply the results by it.

    ``scale``: the scale; ``float(suggestion)`` returns it, too.
    ``criterion``: how it was chosen.
    ``format``: the target.
    ``amax``: the largest magnitude of the numbers.
    ``report``: the errors of the scaled numbers.
    ``tried``: pairs of a scale and its SQNR in dB, in the order of the search. The SQNR is None if a number became
    infinity or NaN at this scale.
    """

    scale: float
    criterion: str
    format: FloatFormat
    amax: float
    report: ErrorReport
    tried: tuple[tuple[float, float | None], ...]

    def __float__(self) -> float:
        return self.scale

    def rows(self) -> list[tuple[str, str]]:
        """Return the scale and its errors as names and texts."""
        mantissa, exponent = math.frexp(self.scale)
        power = f" = 2^{exponent - 1}" if mantissa == 0.5 else ""
        f = self.report.figures
        return [
            ("scale", f"{self.scale!r}{power}"),
            ("criterion", f"{self.criterion}: {CRITERIA[self.criterion].meaning}"),
            ("largest magnitude", f"{self.amax:.9g}, scaled {self.amax / self.scale:.9g}"),
            ("SQNR", decibels_text(f.sqnr)),
            ("error in ulp", f"max {f.max_ulp:.6g}, mean {f.mean_ulp:.6g}"),
            ("counts", f"{f.saturated:,} saturated, {f.flushed:,} flushed, {f.subnormal:,} subnormal"),
            ("scales tried", f"{len(self.tried):,}"),
        ]

    def __repr__(self) -> str:
        return "\n".join([f"Scale for {self.format.name}", *table_lines(self.rows())])

    def _repr_html_(self) -> str:
        heading = title(f"Scale for {self.format.name}")
        return fragment(heading, table([(name, escape(text)) for name, text in self.rows()], named=True))

    def to_dict(self) -> dict[str, Any]:
        """Return the scale and its errors as numbers for JSON."""
        return {
            "scale": self.scale,
            "criterion": self.criterion,
            "amax": self.amax,
            "error": self.report.to_dict(),
            "tried": [[scale, None if sqnr is None else without_nan(sqnr)] for scale, sqnr in self.tried],
        }


@dataclass
class _Search:
    """The scales that were tried for some numbers, and the best of them."""

    numbers: Floats
    format: FloatFormat
    conversion: Mapping[str, Any]
    tried: dict[float, float | None] = field(default_factory=dict)
    best: tuple[float, ErrorReport] | None = None
    overflows: float = 0.0
    """The largest scale at which a number is known to overflow. At all smaller scales it overflows, too."""

    def try_all(self, scales: Iterable[float]) -> None:
        """Try scales in this order. A later one must be better than an earlier one to replace it."""
        for scale in scales:
            if scale in self.tried or scale <= self.overflows or not _SMALLEST <= scale <= _LARGEST:
                continue
            report = scaled_error(self.numbers, self.format, scale, self.conversion)
            lost = report.figures.measured < report.figures.elements
            self.tried[scale] = None if lost else report.figures.sqnr
            if lost:
                self.overflows = max(self.overflows, scale)
            elif self.best is None or report.figures.sqnr > self.best[1].figures.sqnr:
                self.best = scale, report

    @property
    def scale(self) -> float:
        """The best scale. Raises InputError if a number overflows at every scale that was tried."""
        if self.best is None:
            hint = "choose another format, or saturate=True"
            name = self.format.name
            raise InputError(f"no scale that was tried gives a finite {name} for every number", hint=hint)
        return self.best[0]


def _largest(fmt: FloatFormat) -> Fraction:
    """Return the largest value of a format; for formats with a larger range than f64, that of f64, because the
    quotients are f64 numbers.
    """
    value = scalar.value(fmt, fmt.max_code)
    assert value is not None
    return min(value, Fraction(sys.float_info.max))


def _to_the_top(fmt: FloatFormat, amax: float) -> float:
    """Return the smallest f64 by which ``amax`` can be divided without exceeding the largest value."""
    exact = Fraction(amax) / _largest(fmt)
    scale = max(float(exact), _SMALLEST)
    return scale if Fraction(scale) >= exact else math.nextafter(scale, math.inf)


def _power_to_the_top(fmt: FloatFormat, amax: float) -> float:
    exact = Fraction(amax) / _largest(fmt)
    exponent = floor_exponent(exact)
    return 2.0 ** max(exponent + (Fraction(2) ** exponent < exact), -1022)


_OCTAVES = tuple(sorted(range(-16, 2), key=lambda k: (abs(k), k)))
_STEPS = tuple(sorted(range(-8, 9), key=lambda k: (abs(k), k)))


def _search_octaves(search: _Search, first: float) -> None:
    """Try a scale, and then this scale times powers of two from 2**-16 to 2, from the middle outward."""
    search.try_all(first * 2.0**k for k in _OCTAVES)


def _search_finely(search: _Search, first: float) -> None:
    """Try 2**(k/8) times the best scale, then 2**(k/64) times the best of those."""
    _search_octaves(search, first)
    for parts in (8, 64):
        best = search.scale
        search.try_all(best * 2.0 ** (k / parts) for k in _STEPS)


@dataclass(frozen=True)
class Criterion:
    """A way to choose a scale: a function for the first scale, and the search that begins with it."""

    meaning: str
    first: Callable[[FloatFormat, float], float]
    search: Callable[[_Search, float], None]


def _only(search: _Search, first: float) -> None:
    search.try_all([first])


CRITERIA: Mapping[str, Criterion] = {
    "max": Criterion("the largest magnitude becomes the largest value", _to_the_top, _only),
    "max_power_of_two": Criterion(
        "the smallest power of two at which nothing exceeds the largest value", _power_to_the_top, _only
    ),
    "mse": Criterion(
        "the smallest mean square error of the scales tried, which is the largest SQNR", _to_the_top, _search_finely
    ),
    "mse_power_of_two": Criterion(
        "the power of two with the smallest mean square error", _power_to_the_top, _search_octaves
    ),
}
"""The ways to choose a scale."""
_SAME = {"sqnr": "mse", "sqnr_power_of_two": "mse_power_of_two", "amax": "max", "amax_power_of_two": "max_power_of_two"}


def suggest_scale(x: Any, to: TypeName, criterion: str = "max", **conversion: Any) -> SuggestedScale:
    """Suggest a scale for rounding ``x / scale`` to a float type.

    ``x``: an array, numbers or a `Value`, finite and not all 0.
    ``to``: a float type. ``criterion``:

    - ``"max"``: the largest magnitude of ``x`` becomes the largest value of the type (for f80 and f128: the largest
      value of f64). The scale is the smallest f64 at which no quotient exceeds that value.
    - ``"max_power_of_two"``: the smallest power of two at which no quotient exceeds the largest value.
    - ``"mse"`` or ``"sqnr"``: the smallest mean square error that a search finds. A better scale may exist between the
      steps of the search, mostly if ``x`` has few numbers. The search is always the same: the scale of ``"max"`` times
      each power of two from 2 to 2**-16; then the scales around the best one, in steps of 2**(1/8), then in steps of
      2**(1/64). If scales are equally good, the first one is chosen. A scale at which a number becomes infinity or NaN
      is never chosen. Therefore a scale at which numbers saturate needs a conversion that saturates
      (``saturate=True``), or a type with neither infinity nor NaN.
    - ``"mse_power_of_two"`` or ``"sqnr_power_of_two"``: the best of the powers of two in the same range.

    The other keywords, such as ``rounding``, are those of `halfulp.convert`. The quotients ``x / scale`` are first
    rounded to f64; for a power of two this is exact.

    The result has ``scale`` (``float(…)`` returns it, too), ``report``, the errors at this scale, and ``tried``, all
    scales of the search.

        >>> float(hu.quant.suggest_scale(np.float32([0.1, -7]), "f8E4M3FN", "max_power_of_two"))
        0.015625

    Raises InputError for NaN and infinities, if there are no numbers or only zeros, for an unknown criterion, and if a
    number becomes infinity or NaN at every scale (for example a negative number in an unsigned type); TypeMismatch for
    numbers that f64 cannot represent; ValueError for poison.
    """
    name = _SAME.get(criterion, criterion)
    if name not in CRITERIA:
        raise InputError(f"criterion is {criterion!r}, but must be one of {', '.join(CRITERIA)}")
    chosen, numbers, rule = format_of(to), floats_of(x, "suggest_scale"), CRITERIA[name]
    if not numbers.size:
        raise InputError("suggest_scale: there are no numbers")
    amax = float(np.abs(numbers).max())
    if not math.isfinite(amax):
        lost = int(numbers.size - np.isfinite(numbers).sum())
        hint = "leave them out: x[np.isfinite(x)]"
        raise InputError(f"suggest_scale: {lost:,} of {numbers.size:,} numbers are NaN or infinite", hint=hint)
    if not amax:
        raise InputError("suggest_scale: all numbers are 0, so every scale is as good as any other", hint="use 1.0")
    search = _Search(numbers, chosen, conversion)
    rule.search(search, rule.first(chosen, amax))
    scale = search.scale
    assert search.best is not None
    return SuggestedScale(scale, name, chosen, amax, search.best[1], tuple(search.tried.items()))
