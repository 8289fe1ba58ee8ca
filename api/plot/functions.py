"""Draw an elementary function as a format has it, and the errors of an implementation in ulp."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from halfulp.conformance.accuracy.errors import errors_in_ulp
from halfulp.conformance.accuracy.implementations.table import implementation
from halfulp.conformance.accuracy.questions import Question, question
from halfulp.conformance.oracles.oracle import OracleError, Status
from halfulp.explanations.given import mode_named
from halfulp.explanations.rounding_steps import count, ranks_between
from halfulp.fp_formats.codes import Codes, ints_to_codes
from halfulp.fp_formats.exact import comparisons
from halfulp.fp_formats.formats import FORMATS, FloatFormat
from halfulp.fp_formats.paths.fast_conversions import convert
from halfulp.fp_formats.policy import Rounding, as_rounding
from halfulp.fp_formats.steps import code_at
from halfulp.interp.ir.errors import InputError, Unsupported
from halfulp.plot.coordinates import Number, as_float, window
from halfulp.plot.figures import Style, chosen_style, drawing, figure_of, new_panels, set_title

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MOST_ARGUMENTS = 1 << 17
"""The largest number of arguments of a function's picture."""
_MOST_DOTS, _PARTS, _CURVE = 2000, 480, 512
_LINEAR = 16  # ulp: larger errors need a logarithmic axis
_F64 = FORMATS["f64"]
Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class _Results:
    """The results of an implementation: as numbers, and their errors in ulp; NaN where there is none."""

    label: str
    numbers: Floats
    errors: Floats


def function(
    op: str,
    type: str,
    low: Number,
    high: Number,
    rounding: str = "to_nearest_even",
    *,
    against: str | Callable[..., Any] | None = None,
    log: bool = False,
    dark: bool | None = None,
) -> Figure:
    """Draw a function of one argument between ``low`` and ``high``: its curve, its results, and errors in ulp.

    ``op``, ``type``: as for `halfulp.accuracy`, of at most 32 bits. ``against``: an implementation, as for
    `halfulp.accuracy`: a Python function on arrays, ``"numpy"``, a symbol of a library … Its results and errors stand
    beside those of the function rounded once. ``log``: give the arguments a logarithmic axis; they must be positive.

    Above: the curve of the real function, and for each value of the type the result, as a staircase that changes in the
    middle between two values. Below: the errors of the results, result minus exact value, in ulp. More than 2,000
    errors are drawn as the smallest and the largest one of each part of the axis. Each value of the type is an
    argument: nothing is sampled.

    Raises InputError for a function of two arguments, for more than `MOST_ARGUMENTS` values, and what
    `halfulp.accuracy` raises.
    """
    asked = question(op, type, rounding=as_rounding(mode_named(rounding)))
    fmt = _format(asked)
    ends = window(low, high)
    if log and ends[0] <= 0:
        raise InputError(f"low is {low}, but the axis is logarithmic: it must be positive")
    codes = _arguments(fmt, ends)
    arguments = _numbers(fmt, codes)
    style = chosen_style(dark)
    found = [_rounded_once(asked, codes), *([] if against is None else [_of(asked, codes, against)])]
    with drawing():
        above, below = new_panels(style, 5.2, [3, 2])
        if log:
            below.set_xscale("log", base=2)
        _draw_curve(above, style, asked, ends, log)
        for k, results in enumerate(found):
            look: dict[str, Any] = {"color": style.series[k], "linewidth": 2.4 - 1.2 * k}
            above.step(arguments, results.numbers, where="mid", label=results.label, **look)
            _draw_errors(below, style.series[k], 4.5 - 2 * k, arguments, results.errors, log)
        _finish(above, below, style, found)
        mode = "" if asked.rounding is Rounding.TO_NEAREST_EVEN else f", {asked.rounding.spelling}"
        set_title(above, style, f"{op} in {type}{mode}, {len(codes):,} arguments", own=True)
        figure_of(above).legend(
            loc="outside lower left", ncols=1, fontsize=8, frameon=False, labelcolor=style.text, handlelength=4
        )
        return figure_of(above)


def _format(asked: Question) -> FloatFormat:
    fmt = asked.argument
    if fmt is None or fmt != asked.result:
        raise InputError(f"a picture shows a function of one argument in one type, not {asked}")
    if asked.wide != _F64:
        raise InputError(f"{asked}: a picture shows types within f64, of at most {_F64.precision - 29} bits precision")
    return fmt


def _arguments(fmt: FloatFormat, ends: tuple[Fraction, Fraction]) -> Codes:
    ranks = ranks_between(fmt, *ends)
    if not 0 < count(ranks) <= MOST_ARGUMENTS:
        raise InputError(
            f"{fmt.name} has {count(ranks):,} values in this window, but 1 to {MOST_ARGUMENTS:,} are drawn"
        )
    return ints_to_codes([code_at(fmt, rank) for rank in ranks], fmt.bits, (len(ranks),))


def _numbers(fmt: FloatFormat, codes: Codes) -> Floats:
    """Return codes as numbers, NaN for those that are not finite."""
    found = np.asarray(convert(fmt, _F64, codes).codes).view(np.float64)
    return np.where(np.isfinite(found), found, np.nan)


def _results(asked: Question, arguments: Codes, codes: Codes, missing: npt.NDArray[np.bool_] | None) -> _Results:
    fmt = asked.result
    exact = asked.exact((arguments,))
    assert exact is not None
    numbers = _numbers(fmt, codes)
    if missing is not None:
        numbers = np.where(missing, np.nan, numbers)
    reals = exact.view(np.float64)
    measured = np.isfinite(numbers) & np.isfinite(reals)
    return _Results("", numbers, np.where(measured, errors_in_ulp(fmt, _F64, exact, codes), np.nan))


def _rounded_once(asked: Question, arguments: Codes) -> _Results:
    codes, poison = asked.expected((arguments,))
    found = _results(asked, arguments, codes, poison)
    return _Results(f"rounded once: {_worst_text(found.errors)}", found.numbers, found.errors)


def _of(asked: Question, arguments: Codes, against: str | Callable[..., Any]) -> _Results:
    try:
        measured = implementation(against)
        refused = measured.refuses(asked)
        if refused is not None:
            raise Unsupported(f"{measured.name}: {refused}")
        answer = measured.results(asked, (arguments,))
    except OracleError as error:
        raise Unsupported(f"{against}: {error}") from None
    missing = None if answer.status is None else answer.status != Status.VALUE
    found = _results(asked, arguments, answer.bits, missing)
    expected, poison = asked.expected((arguments,))
    same = (answer.bits == expected).all(axis=-1) if asked.result.limbs > 1 else answer.bits == expected
    same |= comparisons.is_nan(asked.result, answer.bits) & comparisons.is_nan(asked.result, expected)
    if poison is not None:
        same |= poison
    wrong = int((~same).sum())
    label = f"{measured.name}: {_worst_text(found.errors)}, {wrong:,} of {len(same):,} not rounded once"
    return _Results(label, found.numbers, found.errors)


def _worst_text(errors: Floats) -> str:
    measured = np.abs(errors[~np.isnan(errors)])
    return f"at most {measured.max():.4g} ulp" if measured.size else "no error to measure"


def _draw_curve(ax: Axes, style: Style, asked: Question, ends: tuple[Fraction, Fraction], log: bool) -> None:
    low, high = map(as_float, ends)
    xs = np.geomspace(low, high, _CURVE) if log else np.linspace(low, high, _CURVE)
    codes, _ = question(asked.name, "f64").expected((xs.view(np.uint64),))
    ax.plot(xs, _numbers(_F64, codes), color=style.faint, linewidth=3.2, alpha=0.6, label="exact")


def _draw_errors(ax: Axes, colour: str, size: float, xs: Floats, errors: Floats, log: bool) -> None:
    if len(xs) <= _MOST_DOTS:
        ax.plot(xs, errors, ".", color=colour, markersize=size)
        return
    edges = np.geomspace(xs[0], xs[-1], _PARTS + 1) if log else np.linspace(xs[0], xs[-1], _PARTS + 1)
    part = np.clip(np.searchsorted(edges, xs, "right") - 1, 0, _PARTS - 1)
    kept = ~np.isnan(errors)
    lowest, highest = np.full(_PARTS, np.inf), np.full(_PARTS, -np.inf)
    np.minimum.at(lowest, part[kept], errors[kept])
    np.maximum.at(highest, part[kept], errors[kept])
    filled = lowest <= highest
    middles = ((edges[:-1] + edges[1:]) / 2)[filled]
    ax.vlines(middles, lowest[filled], highest[filled], colors=colour, linewidth=1.0)
    ax.plot(middles, highest[filled], color=colour, linewidth=0.8)
    ax.plot(middles, lowest[filled], color=colour, linewidth=0.8)


def _finish(above: Axes, below: Axes, style: Style, found: list[_Results]) -> None:
    worst = max((np.nanmax(np.abs(each.errors)) for each in found if not np.isnan(each.errors).all()), default=1.0)
    if worst > _LINEAR:
        below.set_yscale("symlog", base=10, linthresh=1)
    for bound in (-0.5, 0.5):
        below.axhline(bound, color=style.faint, linewidth=0.8, linestyle=(0, (4, 3)))
    above.set_ylabel("result", fontsize=9, color=style.text)
    below.set_ylabel("error in ulp", fontsize=9, color=style.text)
    below.set_xlabel("argument", fontsize=9, color=style.text)
    for ax in (above, below):
        ax.grid(color=style.band, linewidth=0.8)
        ax.set_axisbelow(True)
