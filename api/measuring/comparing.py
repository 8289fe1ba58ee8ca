"""Compare formats on the same numbers: `compare_formats`."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from halfulp.explanations.given import format_of
from halfulp.fp_formats.formats import FloatFormat
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.errors import InputError
from halfulp.measuring.compared import ComparedFormat, ComparedFormats
from halfulp.measuring.scales import CRITERIA, floats_of, scaled_error, suggest_scale
from halfulp.measuring.spacing import TypeName
from halfulp.plot.comparison import comparison

if TYPE_CHECKING:
    from matplotlib.figure import Figure


class FormatComparison(ComparedFormats):
    """A table of formats and their errors on the same numbers, with a picture."""

    def plot(self, *, dark: bool | None = None) -> Figure:
        """Draw the numbers as a histogram, the values of each format, and the error by format and magnitude."""
        return comparison(self, dark=dark)


def compare_formats(
    x: Any, formats: TypeName | Iterable[TypeName], *, scale: float | str = 1.0, **conversion: Any
) -> FormatComparison:
    """Compare float types on the same numbers: SQNR, errors in ulp, saturated and flushed elements.

    ``x``: an array, numbers or a `Value`. ``formats``: float types. ``scale``: a number by which ``x`` is divided
    before each rounding, or a criterion of `halfulp.suggest_scale`, such as ``"max"``, by which each format gets its
    own scale. The other keywords are those of `halfulp.convert`, such as ``rounding`` and ``profile``.

    The result is a table with a row for each format. ``comparison["bf16"]`` is the report of one format, as
    `halfulp.error` returns it; ``to_dict()`` gives numbers, ``plot()`` a picture (it needs matplotlib).

        >>> hu.compare_formats(np.float32([0.1, 0.2, 300]), ["f8E4M3FN", "bf16"])["bf16"].max_ulp
        0.1999969482421875

    Raises InputError for no format, a scale that is not positive or an unknown criterion, TypeMismatch for numbers that
    f64 does not hold, ValueError for poison; and what `halfulp.suggest_scale` raises.
    """
    several = [formats] if isinstance(formats, str | FloatFormat | ty.Type) else list(formats)
    chosen = list(dict.fromkeys(format_of(fmt) for fmt in several))
    if not chosen:
        raise InputError("compare_formats: no format is given")
    numbers = floats_of(x, "compare_formats")
    if isinstance(scale, str):
        scales = [suggest_scale(numbers, fmt, scale, **conversion).scale for fmt in chosen]
    else:
        if not 0 < scale < math.inf:
            raise InputError(f"scale is {scale!r}, but must be positive and finite, or one of {', '.join(CRITERIA)}")
        scales = [float(scale)] * len(chosen)
    return FormatComparison(
        numbers,
        tuple(
            ComparedFormat(each, scaled_error(numbers, fmt, each, conversion))
            for fmt, each in zip(chosen, scales, strict=True)
        ),
    )
